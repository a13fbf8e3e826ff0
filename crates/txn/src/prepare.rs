//! The first phase of a commit over several databases: everything of the transaction is hard in this one, and it may still go either way.
//!
//! Prepared: append LOP_PREP_XACT → ask for it ... (the other databases meanwhile) ... → harden. It names where the decision is looked up. From then on the transaction changes nothing and keeps
//! its locks; it ends by [`Transaction::commit_prepared`], by `rollback`, or, when nobody can say what was decided, by
//! [`Transaction::leave_in_doubt`]. After a crash it is in doubt: recovery asks for the decision, and none means that it is rolled back
//! (presumed abort), so a decision against it needs no record.

use log::records::PrepXact;
use log::{FlushReason, LogOp, RecordBuf, RecordHeader};
use os::sim::{Bug, is_planted};

use crate::TxnResult;
use crate::state::XactState;
use crate::transaction::Transaction;

/// Why a prepared transaction flushes; its only mention.
const PREPARE: FlushReason = FlushReason::Prepare;

impl Transaction {
    /// Logs that the transaction, which has changed data, is prepared, and has that written without waiting for it:
    /// [`Transaction::finish_prepare`] must follow before anything is decided. After an error of either it is rolled back as ever.
    pub fn prepare(&self, prepared: &PrepXact) -> TxnResult<()> {
        assert!(self.has_changed_data(), "only changes are prepared");
        let _mask = os::task::mask_interrupts();
        self.assert_state(XactState::Active);
        let mut record = RecordBuf::from_payload(RecordHeader::new(LogOp::PrepXact), prepared);
        self.fill_header(&mut record);
        let lsn = self.append_chained(&mut record, Some(0))?;
        assert!(!self.entry.has_ended(), "what is prepared may still go either way");
        assert_eq!(lsn, self.entry.last(), "recovery knows a prepared transaction by its newest record");
        self.change_state(XactState::Active, XactState::Prepared);
        if is_planted(Bug::DecideBeforePrepared) {
            return Ok(());
        }
        Ok(self.manager.log().request_flush(lsn, PREPARE)?)
    }

    /// Returns when the prepared transaction is hard.
    pub fn finish_prepare(&self) -> TxnResult<()> {
        let _mask = os::task::mask_interrupts();
        self.assert_state(XactState::Prepared);
        if is_planted(Bug::DecideBeforePrepared) {
            return Ok(());
        }
        let lsn = self.entry.last();
        self.manager.log().harden(lsn, PREPARE)?;
        assert!(self.manager.log().hardened() >= lsn, "a prepared transaction is hard");
        Ok(())
    }

    /// The decision was made, but nobody can say which until its home has been recovered: the database fails, so that nobody sees the
    /// changes either way, then the locks go. The entry stays in the table, so that nothing of it is truncated.
    pub fn leave_in_doubt(&self, why: &str) {
        self.assert_state(XactState::Prepared);
        self.manager.fail(why);
        self.change_state(XactState::Prepared, XactState::Ended);
        self.unlock_unknown();
    }
}
