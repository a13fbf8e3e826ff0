//! Sequences: values assigned in memory up to a durable recovery value in the database.
//!
//! Memory holds two numbers, whatever the size of the cache: the value assigned last and how many values are left before the next write
//! of the recovery value (claim 96). The write is a transaction of its own, which no user's rollback undoes, and the log is hardened
//! before the first value of the new range is used (claims 19, 94, 105): a client may have passed its value on.
//!
//! ```text
//!  Ready (left > 0) ──take──► Ready | UsedUp (left = 0)
//!  UsedUp ──need──► Noting ──satisfy──► Ready                       one writes, the others wait for him
//!  Ready | UsedUp ──need_ahead──► Noting ──note_ahead──► with a range ahead      asked for, not waited for: see [`HardenAhead`]
//!  UsedUp with a range ahead ──need──► Noting (waits until it is hard) ──satisfy──► Ready
//! ```
//! After a crash counting continues after the recovery value: at most the cache is lost, and no value is repeated. After a clean close it
//! continues after the value assigned last. tempdb has nothing to recover: nothing is hardened, and one record in
//! [`VOLATILE_NOTES_A_ROW`] is written to its row (claims 116, 117).

use std::sync::Arc;

use access::{RowLock, ScanOptions};
use log::{FlushReason, LogError, Lsn};
use os::sim::{Bug, is_planted};
use os::{WaitOutcome, WaitType};
use txn::{CommitMode, LockMode, TxnOptions};
use types::{Decimal, SqlError, Value};

use crate::catalog::system_tables;
use crate::database::Database;
use crate::db_transaction::DbTransaction;
use crate::error::SqlResult;
use crate::schema::{ObjectDef, ObjectId};
use crate::sequence_def::{AHEAD_RANGES_MAX, Ahead, Need, SequenceCounter, SequenceDef, SequenceRange};
use crate::table::RowChange;

/// HARDEN_AHEAD = NEXT: after a wait all the same, so many ranges are not hardened ahead: the caller's own write is faster.
const RANGES_WITHOUT: u8 = 16;
/// tempdb: the row is written once for so many recovery values.
const VOLATILE_NOTES_A_ROW: u64 = 32;

/// The reason of a flush for a recovery value; its only mention.
const SEQUENCE_CACHE: FlushReason = FlushReason::SequenceCache;

/// The thread that writes a record; if it fails, another may try.
struct Noter<'a> {
    counter: &'a SequenceCounter,
}

impl Drop for Noter<'_> {
    fn drop(&mut self) {
        // A simulated power loss unwinds through this point; no thread reads the state afterwards.
        if !std::thread::panicking() {
            let mut state = self.counter.state.lock();
            assert!(state.is_noting, "one writes at a time");
            state.is_noting = false;
            drop(state);
            self.counter.noted.notify_all();
        }
    }
}

impl DbTransaction {
    /// Locks the sequence against changes until the statement ends.
    ///
    /// # Errors
    /// 1205, 1222; the marker of a stale plan when it has changed.
    pub fn hold_sequence(&self, sequence: &Arc<SequenceDef>) -> SqlResult<()> {
        self.lock_object_for_statement(sequence.object_id, LockMode::SchS, self.lock_wait())?;
        self.check_sequence(sequence)
    }

    /// Locks it until the transaction ends, because a new object refers to it.
    ///
    /// # Errors
    /// As `hold_sequence`.
    pub fn share_sequence(&self, sequence: &Arc<SequenceDef>) -> SqlResult<()> {
        self.lock_object(sequence.object_id, LockMode::SchS)?;
        self.check_sequence(sequence)
    }

    fn check_sequence(&self, sequence: &Arc<SequenceDef>) -> SqlResult<()> {
        match self.database().catalog().object(sequence.object_id) {
            Some(ObjectDef::Sequence(present)) if Arc::ptr_eq(&present, sequence) => Ok(()),
            _ => Err(SqlError::stale_plan()),
        }
    }
}

impl Database {
    /// The next value of a sequence that the caller's statement has locked.
    ///
    /// # Errors
    /// 11728 after the last value; 9001, 9002 when its record cannot be written.
    pub fn next_value(self: &Arc<Self>, sequence: &SequenceDef) -> SqlResult<Value> {
        self.next_range(sequence, 1).map(|range| sequence.value(range.first))
    }

    /// The next `count` values.
    ///
    /// # Errors
    /// 11732 when there are not so many; as `next_value`.
    pub fn next_range(self: &Arc<Self>, sequence: &SequenceDef, count: u64) -> SqlResult<SequenceRange> {
        let counter = &*sequence.counter;
        let mut state = counter.state.lock();
        loop {
            if let Some(range) = state.take(sequence, count) {
                let now_ns = || self.os.clock().monotonic_ns();
                let ahead = if self.is_volatile() { None } else { state.need_ahead(sequence, now_ns) };
                if let Some(Need::Note { count, recovery }) = ahead {
                    state.is_noting = true;
                    drop(state);
                    self.note_ahead(sequence, count, recovery)?;
                }
                return Ok(range);
            }
            if state.is_noting {
                let (again, outcome) = counter.noted.wait(state, WaitType::LATCH_EX, None);
                if outcome == WaitOutcome::Interrupted {
                    return Err(crate::error::interrupted());
                }
                state = again;
                continue;
            }
            let need = state.need(sequence, count)?;
            state.is_noting = true;
            drop(state);
            self.satisfy(sequence, need)?;
            state = counter.state.lock();
        }
    }

    /// Writes the required record and waits until it is durable.
    fn satisfy(self: &Arc<Self>, sequence: &SequenceDef, need: Need) -> SqlResult<()> {
        let counter = &*sequence.counter;
        let noter = Noter { counter };
        match need {
            Need::Note { count, recovery } => {
                let lsn = self.note_sequence(sequence, recovery)?;
                self.harden_note(lsn, true)?;
                counter.state.lock().make_ready(count, self.os.clock().monotonic_ns());
            }
            Need::Wait(ahead) => {
                let was_late = self.log().hardened() < ahead.lsn;
                os::sim::reach(|| "a sequence goes on in a range that was noted ahead".to_owned());
                self.harden_ahead(ahead.lsn, true)?;
                let mut state = counter.state.lock();
                state.make_ready(ahead.count, self.os.clock().monotonic_ns());
                if was_late {
                    state.ranges = (state.ranges * 2).min(AHEAD_RANGES_MAX);
                    state.without = RANGES_WITHOUT;
                }
            }
        }
        drop(noter);
        Ok(())
    }

    /// Writes the record of the range after the present one and requests its flush.
    fn note_ahead(self: &Arc<Self>, sequence: &SequenceDef, count: u64, recovery: i128) -> SqlResult<()> {
        let counter = &*sequence.counter;
        let noter = Noter { counter };
        let lsn = self.note_sequence(sequence, recovery)?;
        self.harden_ahead(lsn, false)?;
        counter.state.lock().ahead = Some(Ahead { lsn, count });
        drop(noter);
        Ok(())
    }

    /// Requests the flush of the record, and waits for it if `waits`. All of the log before it becomes durable with it (claim 105).
    fn harden_note(&self, lsn: Lsn, waits: bool) -> SqlResult<()> {
        if self.is_volatile() || is_planted(Bug::HandOutBeforeHarden) {
            return Ok(());
        }
        let done = match waits {
            true => self.log().harden(lsn, SEQUENCE_CACHE),
            false => self.log().request_flush(lsn, SEQUENCE_CACHE),
        };
        done.map_err(|error| self.note_failed(error))
    }

    /// Does this for the record of a range ahead.
    fn harden_ahead(&self, lsn: Lsn, waits: bool) -> SqlResult<()> {
        if is_planted(Bug::AheadNotHardened) { Ok(()) } else { self.harden_note(lsn, waits) }
    }

    fn note_failed(&self, error: LogError) -> SqlError {
        if error.is_fatal_to_database() {
            self.suspect(&error.to_string());
        }
        crate::error::sql_error(&error.into(), self.name(), 0)
    }

    /// Writes a recovery value; returns the LSN up to which the log must be hardened.
    fn note_sequence(self: &Arc<Self>, sequence: &SequenceDef, recovery: i128) -> SqlResult<Lsn> {
        let is_row_due = {
            let mut state = sequence.counter.state.lock();
            state.notes += 1;
            !self.is_volatile() || state.notes.is_multiple_of(VOLATILE_NOTES_A_ROW)
        };
        if is_row_due {
            self.write_recovery_value(sequence.counter_id, recovery)?;
        }
        sequence.counter.state.lock().noted = Some(recovery);
        Ok(self.log().last())
    }

    /// A transaction of its own, which no user's rollback undoes.
    pub(crate) fn write_recovery_value(self: &Arc<Self>, counter_id: ObjectId, value: i128) -> SqlResult<()> {
        let own = DbTransaction::new(self.clone(), self.txns.begin(TxnOptions::default()), 0);
        match self.put_recovery_value(&own, counter_id, value) {
            Ok(()) => own.commit(CommitMode::Volatile),
            Err(error) => {
                own.rollback()?;
                Err(error)
            }
        }
    }

    fn put_recovery_value(
        self: &Arc<Self>,
        txn: &DbTransaction,
        counter_id: ObjectId,
        value: i128,
    ) -> SqlResult<()> {
        let table = self.system_table(system_tables::SEQUENCE_VALUES);
        let new = [Value::Int(counter_id), Value::Decimal(Decimal::new(value, 38, 0))];
        let locator = table.key_locator(&new[..1]);
        let options = ScanOptions { row_lock: RowLock::Exclusive, ..ScanOptions::default() };
        let mut old = Vec::new();
        if !table.fetch(txn, &locator, &options, &mut old)? {
            return table.insert(txn, &new);
        }
        let change = RowChange { locator: &locator, old: &old, new: &new, changed: &[1] };
        table.update(txn, change)
    }

    /// A clean close: writes the exact positions, so that the next start leaves no gap.
    pub(crate) fn note_sequence_positions(self: &Arc<Self>) -> SqlResult<()> {
        for object in self.catalog().objects() {
            let ObjectDef::Sequence(sequence) = &object else { continue };
            if let Some(position) = sequence.counter.position() {
                self.write_recovery_value(sequence.counter_id, position)?;
            }
        }
        Ok(())
    }
}
