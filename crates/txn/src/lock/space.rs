//! `LockSpace`: the unit that waits for locks and blocks others.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64};

use super::resource::LockWait;

/// One session (with all its transactions in all databases) or one background task. Locks of one space never
/// conflict with each other, and a space is one node of the wait-for graph.
#[derive(Debug)]
pub struct LockSpace {
    id: u64,
    session_id: AtomicU32,
    /// `SET DEADLOCK_PRIORITY`, -10..=10.
    deadlock_priority: AtomicI32,
    /// `SET LOCK_TIMEOUT` in milliseconds, -1 for ever.
    lock_timeout_ms: AtomicI32,
    /// Log bytes of its open transactions: what a rollback would cost.
    log_bytes: AtomicU64,
}

impl LockSpace {
    pub(super) fn new(id: u64, session_id: u32) -> LockSpace {
        assert!(id > 0, "spaces count from 1");
        LockSpace {
            id,
            session_id: AtomicU32::new(session_id),
            deadlock_priority: AtomicI32::new(0),
            lock_timeout_ms: AtomicI32::new(-1),
            log_bytes: AtomicU64::new(0),
        }
    }

    /// Unique while the lock manager lives.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The session's number, 0 for a background task.
    pub fn session_id(&self) -> u32 {
        self.session_id.load(Relaxed)
    }

    /// `SET DEADLOCK_PRIORITY`: -10..=10, lowest is the victim.
    pub fn set_deadlock_priority(&self, priority: i32) {
        assert!((-10..=10).contains(&priority), "deadlock priority {priority}");
        self.deadlock_priority.store(priority, Relaxed);
    }

    /// Present deadlock priority.
    pub fn deadlock_priority(&self) -> i32 {
        let priority = self.deadlock_priority.load(Relaxed);
        assert!((-10..=10).contains(&priority), "deadlock priority {priority}");
        priority
    }

    /// `SET LOCK_TIMEOUT`: milliseconds, -1 waits for ever.
    pub fn set_lock_timeout_ms(&self, timeout_ms: i32) {
        self.lock_timeout_ms.store(timeout_ms.max(-1), Relaxed);
    }

    /// `@@LOCK_TIMEOUT`.
    pub fn lock_timeout_ms(&self) -> i32 {
        let timeout_ms = self.lock_timeout_ms.load(Relaxed);
        assert!(timeout_ms >= -1, "nobody waits longer than for ever");
        timeout_ms
    }

    /// What a rollback would cost.
    pub(super) fn log_bytes(&self) -> u64 {
        self.log_bytes.load(Relaxed)
    }

    /// Only one task uses the space's transactions at a time: one writer, here and below.
    pub(crate) fn add_log_bytes(&self, bytes: u64) {
        assert!(bytes > 0, "a record has bytes");
        self.log_bytes.store(self.log_bytes.load(Relaxed) + bytes, Relaxed);
    }

    pub(crate) fn remove_log_bytes(&self, bytes: u64) {
        let before = self.log_bytes.load(Relaxed);
        assert!(before >= bytes, "a lock space gave back more log bytes than it counted");
        self.log_bytes.store(before - bytes, Relaxed);
    }

    pub(super) fn timeout_ns(&self, wait: LockWait) -> Option<u64> {
        const NS_PER_MS: u64 = 1_000_000;
        match wait {
            LockWait::Forever => None,
            LockWait::NoWait => Some(0),
            LockWait::Milliseconds(ms) => Some(u64::from(ms) * NS_PER_MS),
            LockWait::Session => u64::try_from(self.lock_timeout_ms()).ok().map(|ms| ms * NS_PER_MS),
        }
    }
}
