//! Log truncation: pins, which keep old log and the lowest of which is MinLSN, and log_reuse_wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use os::{Latch, LatchRank};

use crate::lsn::Lsn;

/// log_reuse_wait: what keeps the log from being reused (reference 1.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum LogReuseWait {
    /// Something can be reused.
    Nothing = 0,
    /// No checkpoint since the last truncation, or the head has not moved beyond a VLF.
    Checkpoint = 1,
    /// Waits for a log backup.
    LogBackup = 2,
    /// A data backup or restore runs.
    ActiveBackupOrRestore = 3,
    /// A transaction is open.
    ActiveTransaction = 4,
    /// Mirroring is behind.
    DatabaseMirroring = 5,
    /// Replication or change capture is behind.
    Replication = 6,
    /// A database snapshot is being made.
    DatabaseSnapshotCreation = 7,
    /// The log is being read.
    LogScan = 8,
    /// A secondary has not applied it.
    AvailabilityReplica = 9,
    /// A dirty page is older than the checkpoint.
    OldestPage = 13,
    /// A transient reason.
    OtherTransient = 14,
    /// Waits for an In-Memory OLTP checkpoint.
    XtpCheckpoint = 16,
}

impl LogReuseWait {
    /// log_reuse_wait_desc.
    pub const fn name(self) -> &'static str {
        match self {
            LogReuseWait::Nothing => "NOTHING",
            LogReuseWait::Checkpoint => "CHECKPOINT",
            LogReuseWait::LogBackup => "LOG_BACKUP",
            LogReuseWait::ActiveBackupOrRestore => "ACTIVE_BACKUP_OR_RESTORE",
            LogReuseWait::ActiveTransaction => "ACTIVE_TRANSACTION",
            LogReuseWait::DatabaseMirroring => "DATABASE_MIRRORING",
            LogReuseWait::Replication => "REPLICATION",
            LogReuseWait::DatabaseSnapshotCreation => "DATABASE_SNAPSHOT_CREATION",
            LogReuseWait::LogScan => "LOG_SCAN",
            LogReuseWait::AvailabilityReplica => "AVAILABILITY_REPLICA",
            LogReuseWait::OldestPage => "OLDEST_PAGE",
            LogReuseWait::OtherTransient => "OTHER_TRANSIENT",
            LogReuseWait::XtpCheckpoint => "XTP_CHECKPOINT",
        }
    }

    pub(crate) fn from_number(number: u8) -> LogReuseWait {
        use LogReuseWait::*;
        let all = [
            Checkpoint,
            LogBackup,
            ActiveBackupOrRestore,
            ActiveTransaction,
            DatabaseMirroring,
            Replication,
            DatabaseSnapshotCreation,
            LogScan,
            AvailabilityReplica,
            OldestPage,
            OtherTransient,
            XtpCheckpoint,
        ];
        all.into_iter().find(|reason| reason.number() == number).unwrap_or(Nothing)
    }

    /// log_reuse_wait.
    pub const fn number(self) -> u8 {
        self as u8
    }
}

#[derive(Debug)]
struct PinCell {
    lsn: AtomicU64,
    reason: LogReuseWait,
    owner: String,
}

/// A pin as views show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinInfo {
    /// Its reason.
    pub reason: LogReuseWait,
    /// Its holder, a description.
    pub owner: String,
    /// The oldest record it needs; `Lsn::MAX`: none at present.
    pub lsn: Lsn,
}

/// Keeps the log from a record on. Dropping it releases the log (at the next truncation).
#[derive(Debug)]
pub struct LogPin {
    cell: Arc<PinCell>,
    table: Arc<PinTable>,
}

impl LogPin {
    /// Needs the log only from `lsn` on (`Lsn::MAX`: nothing for now). Cheap: one atomic store. A move to a lower LSN
    /// is the holder's responsibility: log below the minimum may be gone.
    pub fn move_to(&self, lsn: Lsn) {
        assert!(!lsn.is_null(), "a pin keeps the log from a record on, or nothing");
        self.cell.lsn.store(lsn.raw(), Ordering::Release);
    }

    /// The oldest record it needs.
    pub fn lsn(&self) -> Lsn {
        Lsn::from_raw(self.cell.lsn.load(Ordering::Acquire))
    }
}

impl Drop for LogPin {
    fn drop(&mut self) {
        let mut pins = self.table.pins.lock();
        let before = pins.len();
        pins.retain(|cell| !Arc::ptr_eq(cell, &self.cell));
        assert_eq!(pins.len() + 1, before, "a pin is in its table");
    }
}

/// Every pin of a log.
#[derive(Debug)]
pub(crate) struct PinTable {
    pins: Latch<Vec<Arc<PinCell>>>,
}

impl PinTable {
    pub(crate) fn new() -> Arc<PinTable> {
        Arc::new(PinTable { pins: Latch::new(LatchRank::LogPins, Vec::new()) })
    }

    pub(crate) fn pin(self: &Arc<Self>, reason: LogReuseWait, owner: &str, lsn: Lsn) -> LogPin {
        assert!(reason != LogReuseWait::Nothing, "{owner} keeps log for a reason");
        assert!(!owner.is_empty(), "people are told who keeps log");
        assert!(!lsn.is_null(), "a pin keeps the log from a record on, or nothing");
        let cell = Arc::new(PinCell { lsn: AtomicU64::new(lsn.raw()), reason, owner: owner.to_owned() });
        self.pins.lock().push(Arc::clone(&cell));
        LogPin { cell, table: Arc::clone(self) }
    }

    /// The lowest pin and its reason; `None` without any. Among equal pins a checkpoint's is named last, since the next checkpoint moves it.
    pub(crate) fn min(&self) -> Option<(Lsn, LogReuseWait)> {
        let pins = self.pins.lock();
        let all = pins.iter().map(|cell| (Lsn::from_raw(cell.lsn.load(Ordering::Acquire)), cell.reason));
        let lowest = all.min_by_key(|(lsn, reason)| (*lsn, std::cmp::Reverse(*reason)))?;
        (lowest.0 != Lsn::MAX).then_some(lowest)
    }

    /// The lowest pin that has another reason.
    pub(crate) fn min_but(&self, reason: LogReuseWait) -> Option<(Lsn, LogReuseWait)> {
        assert!(reason != LogReuseWait::Nothing, "no pin is without a reason");
        let pins = self.pins.lock();
        let others = pins.iter().filter(|cell| cell.reason != reason);
        others
            .map(|cell| (Lsn::from_raw(cell.lsn.load(Ordering::Acquire)), cell.reason))
            .min_by_key(|pin| pin.0)
    }

    pub(crate) fn infos(&self) -> Vec<PinInfo> {
        let info = |cell: &Arc<PinCell>| PinInfo {
            reason: cell.reason,
            owner: cell.owner.clone(),
            lsn: Lsn::from_raw(cell.lsn.load(Ordering::Acquire)),
        };
        self.pins.lock().iter().map(info).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_pin_gives_the_reason() {
        let table = PinTable::new();
        assert_eq!(table.min(), None);
        let checkpoint = table.pin(LogReuseWait::Checkpoint, "checkpoint", Lsn::new(3, 16, 1));
        let transaction = table.pin(LogReuseWait::ActiveTransaction, "oldest transaction", Lsn::MAX);
        assert_eq!(table.min(), Some((Lsn::new(3, 16, 1), LogReuseWait::Checkpoint)));
        transaction.move_to(Lsn::new(2, 20, 1));
        assert_eq!(table.min(), Some((Lsn::new(2, 20, 1), LogReuseWait::ActiveTransaction)));
        drop(transaction);
        checkpoint.move_to(Lsn::MAX);
        assert_eq!(table.min(), None);
        assert_eq!(table.infos().len(), 1);
        assert_eq!((LogReuseWait::ActiveTransaction.number(), LogReuseWait::OldestPage.number()), (4, 13));
    }
}
