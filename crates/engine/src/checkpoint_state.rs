//! The checkpoint state of a database.

use std::sync::atomic::AtomicU64;

use os::{Latch, LatchRank};

/// The checkpoint state of a database.
pub(crate) struct CheckpointState {
    /// Held by the running checkpoint.
    pub(crate) running: Latch<()>,
    /// `record_bytes_total` of the log when the last one began.
    pub(crate) log_bytes: AtomicU64,
    /// Transactions begun.
    pub(crate) begun: AtomicU64,
}

impl Default for CheckpointState {
    fn default() -> CheckpointState {
        CheckpointState {
            running: Latch::new(LatchRank::Checkpoint, ()),
            log_bytes: AtomicU64::new(0),
            begun: AtomicU64::new(0),
        }
    }
}
