//! The lock manager: one per instance, a hash table in partitions, first come first served with conversions first.
//!
//! A request that cannot be granted queues behind all others (a conversion: behind other conversions); no request overtakes, so none starves.
//! Every wait goes through `os::Signal` with its `LCK_M_*` wait type. Before waiting, the requester searches for a deadlock (see
//! deadlock.rs): a cycle is closed by the last one to join it, so searching once per wait finds every deadlock at once.

mod deadlock;
mod grants;
mod head;
mod held;
mod held_set;
mod manager;
mod modes;
mod resource;
mod row;
mod space;

pub use held::{ESCALATION_RETRY_LOCKS, ESCALATION_THRESHOLD_LOCKS, HeldLocks, LOCK_BYTES, LockMark};
pub use manager::LockManager;
pub use modes::LockMode;
pub(crate) use resource::ResourceKey;
pub use resource::{HASH_END, LockError, LockOwner, LockWait, Resource};
pub use row::{LockRow, RequestStatus};
pub use space::LockSpace;

#[cfg(test)]
mod tests;
