//! Redo: applies every change since the checkpoint again, in log order; page LSNs show which a page already has.

use std::sync::Arc;

use log::{Log, LogOp, Lsn};

use crate::TxnResult;
use crate::transaction::ResourceManager;

/// The figures of a redo pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RedoStats {
    /// Records handed to the resource manager.
    pub record_count: u64,
}

/// Redoes from `start` (NULL: the oldest record) to the end of the log.
pub fn redo(log: &Arc<Log>, resource_manager: &dyn ResourceManager, start: Lsn) -> TxnResult<RedoStats> {
    let mut stats = RedoStats::default();
    let mut reader = log.read_from(start);
    let mut before = Lsn::NULL;
    while reader.next_block(|lsn, record| -> TxnResult<()> {
        assert!(lsn > before && lsn >= start, "{lsn} comes behind {before}: history is repeated in order");
        before = lsn;
        if !is_machinery(record.header.op) {
            resource_manager.redo(lsn, &record.header, record.payload)?;
            stats.record_count += 1;
        }
        Ok(())
    })? {}
    assert!(before <= log.last(), "{before} was repeated, the log ends with {}", log.last());
    Ok(stats)
}

/// Records of the transactions and checkpoints themselves, which change no page.
fn is_machinery(op: LogOp) -> bool {
    matches!(
        op,
        LogOp::BeginXact
            | LogOp::PrepXact
            | LogOp::CommitXact
            | LogOp::AbortXact
            | LogOp::MarkSavepoint
            | LogOp::BeginCkpt
            | LogOp::XactCkpt
            | LogOp::EndCkpt
    )
}
