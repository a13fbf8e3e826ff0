//! The bound tree: what a statement means, with names resolved, types known and conversions explicit. The binder makes it, the planner reads it.

pub mod change;
pub mod coercibility;
pub mod columns;
pub mod convert;
pub mod determinism;
pub mod reads;
pub mod rel_walk;
pub mod tree;
pub mod untyped;
pub mod variable_ranges;
pub mod walk;
