//! Rollback: walk the transaction's records backwards, undo each change, log that as a compensation record.
//!
//! A compensation record points behind the record it undid, so a rollback that a crash interrupts continues where it stopped and
//! never undoes twice. A statement's own rollback is a rollback to a savepoint taken before it. Space in the log for all of this was
//! reserved when the changes were made: rollback does not fail on a full log.

use log::records::{AbortXact, MarkSavepoint};
use log::{LogOp, Lsn, RecordBuf, RecordHeader};

use crate::state::XactState;
use crate::transaction::{Transaction, UndoBytes};
use crate::{TxnError, TxnResult};

/// A point of a transaction to roll back to. Setting it costs nothing: it is a position in the transaction's chain of records and in its versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Savepoint {
    lsn: Lsn,
    /// The newest LOP_MARK_SAVEPOINT that is left after a rollback to this point.
    mark: Lsn,
    versions_left: usize,
}

impl Savepoint {
    /// Before the first change.
    pub fn start() -> Savepoint {
        Savepoint { lsn: Lsn::NULL, mark: Lsn::NULL, versions_left: 0 }
    }
}

impl Transaction {
    /// The present point.
    pub fn savepoint(&self) -> Savepoint {
        let (lsn, mark) = (self.entry.last(), self.entry.mark());
        assert!(mark <= lsn, "a mark is one of its records");
        Savepoint { lsn, mark, versions_left: self.versions_left() }
    }

    /// The present point under a name: marked by LOP_MARK_SAVEPOINT, which is neither redone nor undone. A transaction without
    /// log records writes none here: its savepoint is its beginning.
    ///
    /// # Errors
    /// The log is full, or has failed.
    pub fn named_savepoint(&self, name: &str) -> TxnResult<Savepoint> {
        if self.has_changed_data() {
            let mark = MarkSavepoint { name: name.to_owned() };
            let mut record = RecordBuf::from_payload(RecordHeader::new(LogOp::MarkSavepoint), &mark);
            let lsn = self.append(&mut record, UndoBytes::NOTHING)?;
            self.entry.note_mark(lsn);
        }
        let savepoint = self.savepoint();
        assert_eq!(savepoint.lsn, savepoint.mark, "a named savepoint is its mark, or the beginning");
        Ok(savepoint)
    }

    /// Undoes everything after the savepoint; the transaction goes on. Locks stay: the caller may release later ones afterwards
    /// ([`Transaction::unlock_since`]), when all changes are undone.
    pub fn rollback_to(&self, savepoint: Savepoint) -> TxnResult<()> {
        if self.entry.last() == savepoint.lsn {
            // A change that the log refused has stored its version nevertheless.
            self.take_back_versions(savepoint.versions_left);
            return Ok(());
        }
        assert!(savepoint.lsn < self.entry.last(), "a savepoint of this transaction");
        let _mask = os::task::mask_interrupts();
        assert!(savepoint.mark <= savepoint.lsn, "a savepoint keeps no mark behind it");
        self.change_state(XactState::Active, XactState::RollingBack);
        self.undo_down_to(savepoint.lsn, &mut || ())?;
        assert!(!self.entry.last().is_null(), "its begin record stays");
        assert!(self.entry.last() >= savepoint.lsn, "compensation records only add to the chain");
        self.entry.note_rolled_back(savepoint.lsn, savepoint.mark);
        self.take_back_versions(savepoint.versions_left);
        self.change_state(XactState::RollingBack, XactState::Active);
        Ok(())
    }

    /// Undoes everything and ends, also after a failed [`Transaction::rollback_to`]. An error means that storage failed in the middle: the
    /// database needs recovery. The locks then stay until [`Transaction::abandon`], so that no other transaction sees changes that were not undone.
    pub fn rollback(&self) -> TxnResult<()> {
        let _mask = os::task::mask_interrupts();
        let from = self.state();
        if from != XactState::RollingBack {
            self.change_state(from, XactState::RollingBack);
        }
        self.finish_rollback(&mut || ())
    }

    /// Releases the locks of a failed rollback. The database may not acknowledge anything any more when this is called; the entry stays in the
    /// table, so that its log is not truncated.
    pub fn abandon(&self) {
        assert!(
            !self.has_changed_data() || self.manager.oldest_active_id() <= self.id(),
            "its log is kept for recovery"
        );
        self.unlock_unknown();
    }

    /// The second half of a rollback; recovery calls it for the losers.
    pub(crate) fn finish_rollback(&self, undone_one: &mut dyn FnMut()) -> TxnResult<()> {
        self.assert_state(XactState::RollingBack);
        if self.has_changed_data() {
            let undone = self.undo_down_to(Lsn::NULL, undone_one).and_then(|()| {
                let abort = AbortXact { end_time: self.log_time() };
                let mut record = RecordBuf::from_payload(RecordHeader::new(LogOp::AbortXact), &abort);
                self.append_end(&mut record)
            });
            if let Err(error) = undone {
                self.change_state(XactState::RollingBack, XactState::Ended);
                return Err(error);
            }
        }
        self.finish(XactState::RollingBack);
        assert_eq!(self.lock_count(), 0, "a rolled back transaction holds nothing");
        Ok(())
    }

    /// `undone_one` is called after each record that was undone.
    fn undo_down_to(&self, stop: Lsn, undone_one: &mut dyn FnMut()) -> TxnResult<()> {
        // One reader for the whole walk: it keeps the block that it read last.
        let mut reader = self.manager.log().reader();
        let resource_manager = self.manager.resource_manager();
        self.assert_state(XactState::RollingBack);
        assert!(!self.entry.has_ended(), "what has ended in the log is not undone");
        let mut next = self.entry.last();
        let first = next;
        while next > stop {
            let record = reader.read(next)?;
            let header = &record.header;
            assert_eq!(record.lsn, next, "the log gives the record that was asked for");
            if header.txn != self.id() {
                let what =
                    format!("record {next} in the chain of transaction {} is of {}", self.id(), header.txn);
                return Err(TxnError::Corrupt { what });
            }
            let before = next;
            next = if header.is_compensation() { header.undo_next } else { header.prev };
            assert!(next < before, "the chain of a transaction leads back");
            self.entry.note_next_undo(next);
            if header.is_compensation() {
                let place = if before == first { "undo resumes behind" } else { "undo passes" };
                os::sim::reach(|| format!("{place} a compensation record"));
            }
            let is_machinery = matches!(
                header.op,
                LogOp::BeginXact | LogOp::PrepXact | LogOp::MarkSavepoint | LogOp::AbortXact
            );
            if !header.is_compensation() && !is_machinery {
                let newest = self.entry.last();
                resource_manager.undo(self, record.lsn, header, &record.payload)?;
                assert!(
                    self.entry.last() > newest,
                    "each undo leaves a compensation record, so it is done once"
                );
                undone_one();
            }
        }
        Ok(())
    }
}
