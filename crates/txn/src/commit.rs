//! `COMMIT`, all steps: commit record, hardening, locks.
//!
//! Full:     append → harden (WRITELOG) → leave the table → release locks. Other transactions see the changes only once they are durable.
//! Delayed:  append → request delayed flush → leave the table → release locks. The log writer drains in the background; a crash before that loses it.
//! Within:   append → harden (WRITELOG), but not beyond a time → leave the table → release locks. Delayed when the time is over.
//! Early:    append → request delayed flush → leave the table → release locks. Hardened before a client gets an acknowledgement or dependent data.
//! Later:    append → (the flush queue) ... waker ... → harden → leave the table → release locks. Full, but no thread blocks
//!           between the two halves, [`Transaction::commit_later`] and [`Transaction::finish_commit`]. In between its state is Committing.
//! Prepared: (prepare.rs: append → harden) ... decided elsewhere ... append → request delayed flush → leave the table → release locks. The decision is durable.
//! Volatile: append → leave the table → release locks. tempdb.
//!
//! A commit that wrote nothing logs nothing and flushes nothing (claim 12).

use std::task::Waker;

use log::records::CommitXact;
use log::{FlushReason, LogOp, Lsn, PendingCommit, RecordBuf, RecordFlags, RecordHeader};
use os::sim::{Bug, is_planted};

use crate::durability::CommitMode;
use crate::state::XactState;
use crate::transaction::Transaction;
use crate::{TxnError, TxnResult};

/// The result of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommitOutcome {
    /// The commit record; NULL when nothing was written. A session that acknowledges only durable commits waits until `hardened` passes it
    /// (its `dep_lsn`).
    pub lsn: Lsn,
    /// Is it already as durable as a full commit promises?
    pub is_hardened: bool,
}

/// The result of [`Transaction::commit_later`].
pub enum CommitProgress {
    /// The transaction has ended.
    Done(CommitOutcome),
    /// Its commit record is being hardened; the transaction keeps its locks until [`Transaction::finish_commit`].
    Pending(PendingCommit),
}

/// A commit of a transaction that only read.
const NOTHING_WRITTEN: CommitOutcome = CommitOutcome { lsn: Lsn::NULL, is_hardened: true };

/// Why a commit flushes; its only mention.
const COMMIT: FlushReason = FlushReason::Commit;

impl Transaction {
    /// Commits and ends the transaction. After an error of the log the outcome is unknown until the database has been recovered.
    /// Interrupts are not served here: a commit, once begun, ends.
    pub fn commit(&self, mode: CommitMode) -> TxnResult<CommitOutcome> {
        let _mask = os::task::mask_interrupts();
        let Some(lsn) = self.log_commit(mode)? else { return Ok(NOTHING_WRITTEN) };
        match mode {
            CommitMode::Full => self.harden_commit(lsn)?,
            CommitMode::Within(wait_ns) => self.harden_commit_within(lsn, wait_ns)?,
            CommitMode::Delayed => self.delay_commit(lsn)?,
            CommitMode::EarlyRelease => self.release_early(lsn),
            CommitMode::Volatile => {}
        }
        Ok(self.acknowledge(lsn, mode))
    }

    /// As [`Transaction::commit`], but a full commit does not block while another thread writes or will write its record: it is then left pending,
    /// and `waker` is called (see [`log::Log::harden_later`]) when [`Transaction::finish_commit`] is to be called.
    pub fn commit_later(&self, mode: CommitMode, waker: &Waker) -> TxnResult<CommitProgress> {
        let _mask = os::task::mask_interrupts();
        if mode != CommitMode::Full {
            return self.commit(mode).map(CommitProgress::Done);
        }
        let Some(lsn) = self.log_commit(mode)? else { return Ok(CommitProgress::Done(NOTHING_WRITTEN)) };
        let begun = self.manager.log().harden_later(lsn, COMMIT, waker);
        if let Some(pending) = begun.map_err(|error| self.fail(error.into()))? {
            assert_eq!(self.state(), XactState::Committing, "it keeps its locks until it is told");
            return Ok(CommitProgress::Pending(pending));
        }
        self.harden_commit(lsn)?;
        Ok(CommitProgress::Done(self.acknowledge(lsn, mode)))
    }

    /// Ends a transaction whose commit is pending; waits if need be. Errors as `commit`.
    pub fn finish_commit(&self, pending: PendingCommit) -> TxnResult<CommitOutcome> {
        let lsn = pending.lsn();
        let _mask = os::task::mask_interrupts();
        self.assert_state(XactState::Committing);
        assert_eq!(lsn, self.entry.last(), "the commit of this transaction");
        self.manager.log().finish_harden(pending).map_err(|error| self.fail(error.into()))?;
        Ok(self.acknowledge(lsn, CommitMode::Full))
    }

    /// Ends a prepared transaction whose commit has been decided, durably, at its decision's home. The commit need not wait for its own record: after
    /// a crash before it is durable, recovery finds the decision again.
    pub fn commit_prepared(&self) -> TxnResult<CommitOutcome> {
        let _mask = os::task::mask_interrupts();
        assert!(self.has_changed_data(), "only changes are prepared");
        self.change_state(XactState::Prepared, XactState::Committing);
        let lsn = self.append_commit(CommitMode::Full)?;
        self.manager.log().request_delayed_flush(lsn);
        Ok(self.acknowledge(lsn, CommitMode::Delayed))
    }

    /// Logs the commit; nothing for a transaction that wrote nothing, which has ended then.
    fn log_commit(&self, mode: CommitMode) -> TxnResult<Option<Lsn>> {
        self.change_state(XactState::Active, XactState::Committing);
        if !self.has_changed_data() {
            self.finish(XactState::Committing);
            return Ok(None);
        }
        self.append_commit(mode).map(Some)
    }

    fn append_commit(&self, mode: CommitMode) -> TxnResult<Lsn> {
        self.assert_state(XactState::Committing);
        let commit = CommitXact { end_time: self.log_time() };
        let mut record = RecordBuf::from_payload(RecordHeader::new(LogOp::CommitXact), &commit);
        if mode == CommitMode::Delayed {
            record.header.flags = record.header.flags.with(RecordFlags::DELAYED);
        }
        let lsn = self.append_end(&mut record).map_err(|error| self.fail(error))?;
        assert!(self.entry.has_ended(), "a checkpoint counts it as ended from its commit record on");
        Ok(lsn)
    }

    /// Waits until the commit record is durable.
    fn harden_commit(&self, lsn: Lsn) -> TxnResult<()> {
        if is_planted(Bug::SeenBeforeHarden) {
            self.commit_versions();
            self.locks.borrow_mut().unlock_all();
        }
        self.manager.log().harden(lsn, COMMIT).map_err(|error| self.fail(error.into()))
    }

    /// Waits up to `wait_ns`. A commit that is not durable then is at risk like a delayed commit, but does not wait for a bound: its caller is told.
    fn harden_commit_within(&self, lsn: Lsn, wait_ns: u64) -> TxnResult<()> {
        let log = self.manager.log();
        let is_hard =
            log.harden_within(lsn, COMMIT, Some(wait_ns)).map_err(|error| self.fail(error.into()))?;
        assert!(!is_hard || log.hardened() >= lsn, "{lsn} counts as hard and is not");
        if !is_hard {
            log.note_at_risk(lsn, self.entry.bytes());
        }
        Ok(())
    }

    /// The commit may be acknowledged before it is durable, as soon as the bounds on the log at risk allow it.
    fn delay_commit(&self, lsn: Lsn) -> TxnResult<()> {
        assert!(!self.manager.log().is_volatile(), "nothing of a volatile log is ever hard");
        self.manager.log().delay(lsn, self.entry.bytes()).map_err(|error| self.fail(error.into()))
    }

    /// Other transactions may see the commit before it is durable, but their clients may not.
    fn release_early(&self, lsn: Lsn) {
        self.manager.note_early_release(lsn);
        assert!(self.manager.last_early_release() >= lsn, "who sees it finds it noted");
        self.manager.log().request_delayed_flush(lsn);
    }

    /// The commit is as durable as its mode asks: other transactions may see it.
    fn acknowledge(&self, lsn: Lsn, mode: CommitMode) -> CommitOutcome {
        assert_eq!(lsn, self.entry.last(), "nothing follows the end record");
        let log = self.manager.log();
        assert!(
            mode != CommitMode::Full
                || log.hardened() >= lsn
                || log.is_volatile()
                || is_planted(Bug::AcknowledgeBeforeHarden),
            "the commit at {lsn} is acknowledged, {} is hard",
            log.hardened()
        );
        if log.is_volatile() && is_planted(Bug::TempdbDrains) {
            log.request_delayed_flush(lsn);
        }
        self.change_state(XactState::Committing, XactState::Hardened);
        self.manager.note_committed();
        // Before it leaves the active table: a reader that does not find it there finds it among the writers with needed versions.
        if !(is_planted(Bug::SeenBeforeHarden) && mode == CommitMode::Full) {
            self.commit_versions();
        }
        self.finish(XactState::Hardened);
        let is_hardened = mode == CommitMode::Full || (mode != CommitMode::Volatile && log.hardened() >= lsn);
        CommitOutcome { lsn, is_hardened }
    }

    /// Leaves the active table, then releases the locks.
    pub(crate) fn finish(&self, from: XactState) {
        self.assert_state(from);
        assert!(
            !self.has_changed_data() || self.entry.has_ended(),
            "a transaction that wrote ends in the log"
        );
        assert_eq!(self.has_changed_data(), self.entry.bytes() > 0, "what it wrote is counted");
        self.give_up_versions();
        let has_left = self.manager.leave(&self.entry);
        assert_eq!(has_left, self.has_changed_data(), "the table has the transactions that have written");
        assert!(self.manager.oldest_active_id() != self.id(), "readers see that it has ended");
        if !(from == XactState::Hardened && self.leave_end_to_versions()) {
            if has_left {
                self.manager.resource_manager().finished(self.id(), from == XactState::Hardened);
            }
            self.manager.release_reserved(&self.entry);
        }
        self.manager.note_ended();
        self.space().remove_log_bytes(self.entry.bytes());
        self.change_state(from, XactState::Ended);
        self.unlock_all();
    }

    /// Releases the locks of a transaction whose outcome is unknown.
    pub(crate) fn unlock_unknown(&self) {
        assert!(
            self.manager.failure().is_some(),
            "the database fails first, so that nobody sees the changes"
        );
        self.unlock_all();
    }

    /// The log has failed during a commit: recovery decides the outcome, and no session may see it before. The database fails
    /// first, then the locks are released, so that waiters fail; the entry stays in the table, so that its log is not truncated.
    fn fail(&self, error: TxnError) -> TxnError {
        self.manager.fail(&format!("the commit of transaction {} failed: {error}", self.id()));
        self.change_state(XactState::Committing, XactState::Ended);
        self.unlock_unknown();
        assert!(self.manager.oldest_active_id() <= self.id(), "its log is kept for recovery");
        error
    }
}
