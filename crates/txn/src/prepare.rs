//! The first phase of a commit over several databases: all records of the transaction are durable in this one, and it may still commit or roll back.
//!
//! Prepared: append LOP_PREP_XACT → request a flush ... (the other databases meanwhile) ... → harden. The record names the database with the
//! decision. The transaction then keeps its locks; it ends by [`Transaction::commit_prepared`], `rollback` or, when the decision cannot be found,
//! [`Transaction::leave_in_doubt`]. After a crash it is in doubt: recovery looks up the decision; without one it is rolled back
//! (presumed abort), so a decision to roll back needs no record.

use log::records::PrepXact;
use log::{FlushReason, LogOp, RecordBuf, RecordHeader};
use os::sim::{Bug, is_planted};

use crate::TxnResult;
use crate::state::XactState;
use crate::transaction::Transaction;

/// Why a prepared transaction flushes; its only mention.
const PREPARE: FlushReason = FlushReason::Prepare;

impl Transaction {
    /// Logs that the transaction, which has changed data, is prepared, and requests a flush without waiting for it:
    /// [`Transaction::finish_prepare`] must follow before anything is decided. After an error of either the caller rolls back.
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

    /// Returns when the prepare record is durable.
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

    /// The decision was made, but is unknown until its home database has been recovered: the database fails, so that no session sees the
    /// changes, then the locks are released. The entry stays in the table, so that its log is not truncated.
    pub fn leave_in_doubt(&self, why: &str) {
        self.assert_state(XactState::Prepared);
        assert!(self.has_changed_data(), "only changes are in doubt");
        self.manager.fail(why);
        self.change_state(XactState::Prepared, XactState::Ended);
        self.unlock_unknown();
        assert!(self.manager.oldest_active_id() <= self.id(), "its log is kept for recovery");
    }
}
