//! The physical plan: immutable data, made by the planner and the binder of data changes, read by the executor and by showplan.

pub(crate) mod change;
pub(crate) mod plain;
pub(crate) mod plan;
