//! `LogScan`: reads a range of the log, for fn_dblog. It pins the log that it has not read yet, and skips zones that cannot have wanted records.

use std::sync::Arc;

use crate::error::LogError;
use crate::log::Log;
use crate::lsn::{Lsn, TxnId};
use crate::reader::LogReader;
use crate::record::{LogOp, Record, RecordHeader};
use crate::shared::Shared;
use crate::truncate::{LogPin, LogReuseWait};

/// The range to be read, and a filter.
#[derive(Clone, Copy, Debug)]
pub struct ScanRange {
    /// The first record; NULL: the oldest of the active log.
    pub from: Lsn,
    /// The last record; records appended after the scan has begun are not read.
    pub to: Lsn,
    /// Only the records of this transaction.
    pub txn: Option<TxnId>,
}

/// A running scan. Dropping it releases its pin.
pub struct LogScan {
    shared: Arc<Shared>,
    reader: LogReader,
    /// At the block that is being read: later log is kept.
    pin: LogPin,
    range: ScanRange,
    /// Up to here any record may be wanted; only with `ScanRange::txn`.
    zone_end: Lsn,
    is_begun: bool,
    is_done: bool,
}

impl Log {
    /// The oldest record of the active log: no pin needs log below.
    pub fn min(&self) -> Lsn {
        self.shared().positions.min()
    }

    /// Begins to read. Views show `owner` as the holder of the scan's pin (LOG_SCAN).
    ///
    /// # Errors
    /// [`LogError::NotThere`] when `range.from` is not in the active log.
    pub fn scan(&self, owner: &str, range: ScanRange) -> Result<LogScan, LogError> {
        let shared = Arc::clone(self.shared());
        let pin = self.pin(LogReuseWait::LogScan, owner, self.min());
        // A truncation that computed its minimum before the pin was set may have freed more.
        let min = self.min();
        pin.move_to(min);
        let last = self.last();
        if !range.from.is_null() && (range.from < min.block_start() || range.from > last) {
            return Err(LogError::NotThere(range.from));
        }
        let from = if range.from.is_null() { min } else { range.from };
        let range = ScanRange { to: range.to.min(last), ..range };
        assert!(range.to <= last, "a scan ends with what was there when it began");
        let reader = self.read_from(from);
        Ok(LogScan { shared, reader, pin, range, zone_end: from, is_begun: false, is_done: false })
    }
}

/// The result of a step of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanStep {
    /// A record that is wanted; its parts are those of [`LogScan::record`].
    Record(Lsn, RecordHeader),
    /// A record that is not wanted: the caller may check whether to continue.
    PassedOver,
    /// The end.
    End,
}

impl LogScan {
    /// Goes to the next record.
    ///
    /// # Errors
    /// [`LogError::NotThere`] when no record begins at `ScanRange::from`; [`LogError::Corrupt`], [`LogError::Io`], [`LogError::Interrupted`].
    pub fn step(&mut self) -> Result<ScanStep, LogError> {
        if self.is_done || !self.pass_over() {
            return Ok(self.end());
        }
        let found =
            self.reader.next_borrowed().map(|found| found.map(|(lsn, record, _)| (lsn, record.header)));
        let found = match found {
            Ok(found) => found,
            Err(LogError::NotThere(_)) if self.truncated_meanwhile() => return Ok(ScanStep::PassedOver),
            Err(error) => return Err(error),
        };
        let Some((lsn, header)) = found.filter(|found| found.0 <= self.range.to) else {
            return Ok(self.end());
        };
        assert!(lsn >= self.range.from.block_start() && lsn <= self.range.to, "{lsn} belongs to the scan");
        self.is_begun = true;
        if self.pin.lsn() < lsn.block_start() {
            self.pin.move_to(lsn.block_start());
        }
        assert!(self.pin.lsn().block_start() <= lsn, "what is read is kept");
        match self.range.txn {
            Some(txn) if header.txn != txn => return Ok(ScanStep::PassedOver),
            // The end of a transaction is its last record.
            Some(_) => self.is_done = matches!(header.op, LogOp::CommitXact | LogOp::AbortXact),
            None => {}
        }
        Ok(ScanStep::Record(lsn, header))
    }

    fn end(&mut self) -> ScanStep {
        self.is_done = true;
        self.pin.move_to(Lsn::MAX);
        ScanStep::End
    }

    /// The oldest record was truncated while the pin was set: the scan begins at the next oldest.
    fn truncated_meanwhile(&mut self) -> bool {
        let min = self.shared.positions.min();
        assert!(min >= self.pin.lsn() || self.is_begun, "what is pinned is not freed");
        if self.is_begun || !self.range.from.is_null() || min <= self.pin.lsn() {
            return false;
        }
        self.pin.move_to(min);
        self.reader.seek(min);
        self.zone_end = min;
        true
    }

    /// The record of the last step: decoded, and its encoded bytes.
    pub fn record(&self) -> Option<(Record<'_>, &[u8])> {
        self.reader.last_read()
    }

    /// Moves the reader to the next position where records of the wanted transaction may be; false: there is none.
    fn pass_over(&mut self) -> bool {
        let Some(txn) = self.range.txn else { return true };
        let target = self.reader.target();
        if target < self.zone_end {
            return true;
        }
        let cache = self.shared.cache.lock();
        let Some(place) = cache.zones.next_place_of(txn, target) else { return false };
        assert!(place >= target, "a scan goes forward");
        self.zone_end = cache.zones.end_of(place);
        drop(cache);
        if place > target {
            self.reader.seek(place);
        }
        place <= self.range.to
    }
}

impl std::fmt::Debug for LogScan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LogScan").field("range", &self.range).finish_non_exhaustive()
    }
}
