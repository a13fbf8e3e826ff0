//! Locks, the life of a transaction, the durability decision, the recovery passes.
pub mod durability;
pub mod lock;
