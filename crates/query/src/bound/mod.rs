//! The bound tree: what a statement means, with names resolved, types known and conversions explicit. The binder makes it, the planner reads it.

pub(crate) mod change;
pub(crate) mod coercibility;
pub(crate) mod columns;
pub(crate) mod convert;
pub(crate) mod determinism;
pub(crate) mod reads;
pub(crate) mod rel_walk;
pub(crate) mod tree;
pub(crate) mod untyped;
pub(crate) mod walk;
