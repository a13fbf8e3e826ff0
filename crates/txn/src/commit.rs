//! `COMMIT`, the whole story: commit record, hardening, gates, locks.
//!
//! Full:     append → harden (WRITELOG) → gates → leave the table → release locks. Others see the changes only once they are hard.
//! Delayed:  append → want → leave the table → release locks. The log writer drains in the background; a crash before that undoes it.
//! Volatile: append → leave the table → release locks. tempdb and system transactions.
//!
//! A commit that wrote nothing logs nothing and flushes nothing (claim 12).

use log::records::CommitXact;
use log::{FlushReason, LogOp, Lsn, RecordBuf, RecordFlags, RecordHeader};

use crate::durability::CommitMode;
use crate::transaction::{Transaction, XactState};
use crate::{TxnError, TxnResult};

/// What a commit leaves for the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommitOutcome {
    /// The commit record; NULL when nothing was written. A session that acknowledges only what is hard waits until `hardened` passes it
    /// (its `dep_lsn`).
    pub lsn: Lsn,
    /// Is it already as durable as a full commit promises?
    pub is_hardened: bool,
}

impl Transaction {
    /// Ends the transaction for good. After an error of the log the outcome is unknown until the database has been recovered.
    /// Interrupts are not served here: a commit, once begun, ends.
    pub fn commit(&self, mode: CommitMode) -> TxnResult<CommitOutcome> {
        let _mask = os::task::mask_interrupts();
        self.change_state(XactState::Active, XactState::Committing);
        if !self.has_changed_data() {
            self.finish(XactState::Committing);
            return Ok(CommitOutcome { lsn: Lsn::NULL, is_hardened: true });
        }
        let commit = CommitXact { end_time: self.log_time() };
        let mut record = RecordBuf::from_payload(RecordHeader::new(LogOp::CommitXact), &commit);
        if mode == CommitMode::Delayed {
            record.header.flags = record.header.flags.with(RecordFlags::DELAYED);
        }
        let lsn = self.append_end(&mut record).map_err(|error| self.fail(error))?;
        match mode {
            CommitMode::Full => {
                self.manager
                    .log()
                    .harden(lsn, FlushReason::Commit)
                    .map_err(|error| self.fail(error.into()))?;
                for gate in self.manager.gates() {
                    gate.wait_hardened(lsn).map_err(|error| self.fail(error))?;
                }
            }
            CommitMode::Delayed => self.manager.log().want(lsn),
            CommitMode::Volatile => {}
        }
        assert_eq!(lsn, self.entry.last(), "nothing follows the end record");
        self.change_state(XactState::Committing, XactState::Hardened);
        self.manager.note_committed(&self.entry);
        self.finish(XactState::Hardened);
        Ok(CommitOutcome { lsn, is_hardened: mode == CommitMode::Full })
    }

    /// Leaves the active table, then releases the locks.
    pub(crate) fn finish(&self, from: XactState) {
        self.assert_state(from);
        if self.manager.leave(&self.entry) {
            self.manager.resource_manager().finished(self.id(), from == XactState::Hardened);
        }
        self.manager.note_ended(&self.entry);
        if !self.is_system() {
            self.space().remove_log_bytes(self.entry.bytes());
        }
        self.change_state(from, XactState::Ended);
        self.unlock_all();
    }

    /// The log has failed under a commit: whether it happened is for recovery to say. Locks go, so that others fail instead of waiting;
    /// the entry stays in the table, so that nothing of it is truncated.
    fn fail(&self, error: TxnError) -> TxnError {
        self.change_state(XactState::Committing, XactState::Ended);
        self.unlock_all();
        error
    }
}
