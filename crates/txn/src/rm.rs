//! `ResourceManager`: who knows what a log record means. Gray and Reuter's term; `access` implements it.

use log::{Lsn, RecordHeader, TxnId};

use crate::{Transaction, TxnResult};

/// Applies and takes back what it has logged. Rollback, recovery and replicas use the same two calls.
pub trait ResourceManager: Send + Sync {
    /// Does the record's change again unless the page already has it (page LSN >= `lsn`). Called in log order, for every record that is
    /// not of the transaction machinery itself; may be called any number of times for the same record.
    fn redo(&self, lsn: Lsn, header: &RecordHeader, payload: &[u8]) -> TxnResult<()>;

    /// Takes the record's change back, logging that with [`Transaction::append_compensation`] and `header.prev` as the next to undo.
    /// A record with nothing to undo is left alone.
    fn undo(
        &self,
        transaction: &Transaction,
        lsn: Lsn,
        header: &RecordHeader,
        payload: &[u8],
    ) -> TxnResult<()>;

    /// A transaction that had written has ended: committed (its commit record is as durable as its mode asks) or rolled back. Its locks
    /// are still held. The place for what must wait until then, such as giving dropped pages back.
    fn finished(&self, transaction: TxnId, committed: bool) {
        let _ = (transaction, committed);
    }

    /// Has a transaction something that waits for its end? Then `finished` is called only when no snapshot can see what it has changed
    /// any more, and the log that is reserved for it stays so.
    fn waits_for_end(&self, transaction: TxnId) -> bool {
        let _ = transaction;
        false
    }
}
