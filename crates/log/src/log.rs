//! `Log`: the door of the crate.

use std::sync::Arc;

use os::Os;

use crate::error::LogError;
use crate::flush::{DelayedFlushPolicy, FlushReason};
use crate::lsn::Lsn;
use crate::options::LogOptions;
use crate::reader::LogReader;
use crate::record::{OwnedRecord, RecordBuf};
use crate::stats::LogStats;
use crate::truncate::{LogPin, LogReuseWait, PinInfo};
use crate::vlf::VlfInfo;

/// The transaction log of one database. Shared by `Arc`; every method takes `&self`.
pub struct Log {
    _private: (),
}

/// What opening a log found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tail {
    /// The newest record; NULL when there is none.
    pub last: Lsn,
    /// Begin of the last completed checkpoint that was recorded; NULL when none was.
    pub checkpoint: Lsn,
    /// The oldest record that was still needed at the last truncation or checkpoint; recovery may read from here on.
    pub min: Lsn,
    /// Whether the log was closed properly (then nothing needs recovery beyond the last checkpoint).
    pub clean: bool,
    /// Bytes of log that were looked at to find its end.
    pub scanned_bytes: u64,
}

impl Log {
    /// Makes a new log file; it must not exist (except for a volatile log, which replaces it).
    pub fn create(os: &Os, options: &LogOptions) -> Result<Log, LogError> {
        let _ = (os, options);
        todo!()
    }

    /// Opens a log: finds its end, begins a new recovery epoch. All that is read back is durable.
    /// Errors: [`LogError::Corrupt`], [`LogError::NotOurs`], [`LogError::Io`].
    pub fn open(os: &Os, options: &LogOptions) -> Result<(Log, Tail), LogError> {
        let _ = (os, options);
        todo!()
    }

    /// Appends a record and returns its address; it is not durable yet. Waits (LOGBUFFER) while the cache is full.
    /// Errors: [`LogError::Full`], [`LogError::Failed`], [`LogError::Closed`].
    pub fn append(&self, record: &RecordBuf) -> Result<Lsn, LogError> {
        self.append_reserving(record, 0)
    }

    /// The same, and keeps `undo_reserve_bytes` of log for undoing it later (the caller's estimate of the compensation
    /// records' payloads; 0 for what is never undone). The caller sums what it reserved and gives it back with
    /// [`Log::release_reservation`] when its transaction has ended.
    pub fn append_reserving(&self, record: &RecordBuf, undo_reserve_bytes: u64) -> Result<Lsn, LogError> {
        let _ = (record, undo_reserve_bytes);
        todo!()
    }

    /// Appends a record for which room was reserved (compensation, abort, commit): never [`LogError::Full`].
    pub fn append_from_reservation(&self, record: &RecordBuf) -> Result<Lsn, LogError> {
        let _ = record;
        todo!()
    }

    /// Gives reserved room back.
    pub fn release_reservation(&self, bytes: u64) {
        let _ = bytes;
        todo!()
    }

    /// Makes everything up to and including the record at `lsn` durable; waits for it (WRITELOG).
    /// Not interruptible: what is on its way to the device cannot be called back.
    pub fn harden(&self, lsn: Lsn, reason: FlushReason) -> Result<(), LogError> {
        let _ = (lsn, reason);
        todo!()
    }

    /// Asks for the same without waiting: delayed commits (drained by policy).
    pub fn want(&self, lsn: Lsn, reason: FlushReason) {
        let _ = (lsn, reason);
        todo!()
    }

    /// The newest record that is durable with all before it: `lsn <= hardened()` means safe.
    pub fn hardened(&self) -> Lsn {
        todo!()
    }

    /// Where the next record goes at the earliest: above every record appended so far.
    pub fn end(&self) -> Lsn {
        todo!()
    }

    /// One record, from the cache or the file. For many, keep a [`LogReader`].
    pub fn read(&self, lsn: Lsn) -> Result<OwnedRecord, LogError> {
        self.reader().read(lsn)
    }

    /// A reader positioned at `lsn` (a record or block address, or NULL: the oldest record there is), going forward.
    pub fn read_from(self: &Arc<Self>, lsn: Lsn) -> LogReader {
        let mut reader = self.reader();
        reader.seek(lsn);
        reader
    }

    /// A reader for any record.
    pub fn reader(&self) -> LogReader {
        todo!()
    }

    /// Keeps the log from `lsn` on, for `reason`; `owner` is shown to people.
    pub fn pin(&self, reason: LogReuseWait, owner: &str, lsn: Lsn) -> LogPin {
        let _ = (reason, owner, lsn);
        todo!()
    }

    /// All pins.
    pub fn pins(&self) -> Vec<PinInfo> {
        todo!()
    }

    /// Durably notes a completed checkpoint: its LOP_BEGIN_CKPT and the oldest record that recovery from it needs. The
    /// log keeps itself from `min` on. Its LOP_END_CKPT must be hardened before.
    pub fn record_checkpoint(&self, begin: Lsn, min: Lsn) -> Result<(), LogError> {
        let _ = (begin, min);
        todo!()
    }

    /// Frees the VLFs that nobody needs; returns MinLSN.
    pub fn truncate(&self) -> Result<Lsn, LogError> {
        todo!()
    }

    /// Why the log could not be truncated further, as of the last [`Log::truncate`].
    pub fn reuse_wait(&self) -> LogReuseWait {
        todo!()
    }

    /// Every VLF in file order.
    pub fn vlfs(&self) -> Vec<VlfInfo> {
        todo!()
    }

    /// Figures for counters and views.
    pub fn stats(&self) -> LogStats {
        todo!()
    }

    /// When delayed commits drain from now on.
    pub fn set_delayed_flush_policy(&self, policy: DelayedFlushPolicy) {
        let _ = policy;
        todo!()
    }

    /// Drains everything, stops the log writer, marks the file as properly closed. Later calls get [`LogError::Closed`].
    pub fn close(&self) -> Result<(), LogError> {
        todo!()
    }
}
