//! The physical plan: immutable data, made by the planner, read by the executor and by showplan.

pub(crate) mod change;
pub(crate) mod plain;
pub(crate) mod plan;
