//! The physical plan: immutable data, made by the planner, read by the executor and by showplan.

pub mod change;
pub mod plain;
pub mod plan;
mod scan_columns;
