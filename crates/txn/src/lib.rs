//! Locks, the life of a transaction, the durability decision, the recovery passes.
