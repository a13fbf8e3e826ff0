//! A database after a crash: analysis, redo, undo, and what the user's log says about them.
//!
//! Called by `open.rs` in this order: [`analyze`] as soon as the log is open (it needs no pages), [`redo_and_undo`] once pages and access
//! methods stand, then the catalog is read and a checkpoint makes the result the next starting point. Every step may be cut off by another
//! crash: nothing of the log is given up before that checkpoint.

use std::sync::Arc;

use access::AccessMethods;
use log::{Log, Tail};
use os::Os;
use pages::FileSpace;
use txn::TxnManager;
use txn::recovery::{self, Analysis};

use crate::decision::Known;
use crate::error::StorageError;

/// What recovery works on.
pub(crate) struct Parts<'a> {
    pub(crate) os: &'a Os,
    pub(crate) name: &'a str,
    pub(crate) log: &'a Arc<Log>,
    pub(crate) tail: &'a Tail,
    pub(crate) space: &'a Arc<FileSpace>,
    pub(crate) access: &'a Arc<AccessMethods>,
    pub(crate) txns: &'a Arc<TxnManager>,
}

/// The first pass: who was active at the end of the log, where redo starts, and what `known` says of transactions in doubt.
pub(crate) fn analyze(
    log: &Arc<Log>,
    tail: &Tail,
    name: &str,
    known: &Known,
) -> Result<Analysis, StorageError> {
    let mut analysis = recovery::analyze(log, tail.checkpoint)?;
    let in_doubt = analysis.in_doubt.len();
    analysis.resolve(|prepared| known.is_committed(prepared, name))?;
    if in_doubt > 0 {
        let committed = analysis.in_doubt.len();
        report(
            name,
            &format!(
                "{in_doubt} transactions were in doubt: {committed} are committed, the others rolled back"
            ),
        );
    }
    if !tail.clean {
        let (records, losers) = (analysis.record_count, analysis.losers.len());
        let from = analysis.redo_start;
        report(
            name,
            &format!("recovery begins: {records} log records from {from} on, {losers} transactions to undo"),
        );
    }
    Ok(analysis)
}

/// The second and third pass.
pub(crate) fn redo_and_undo(parts: &Parts, analysis: &Analysis) -> Result<(), StorageError> {
    let began_ns = parts.os.clock().monotonic_ns();
    let redo = recovery::redo(parts.log, &**parts.access, analysis.redo_start)?;
    let redone_ns = parts.os.clock().monotonic_ns();
    recovery::commit_decided(parts.txns, &analysis.in_doubt)?;
    let undo = recovery::undo(parts.txns, &analysis.losers)?;
    assert!(parts.txns.active().is_empty(), "nobody is active after undo");
    parts.access.sweep_pending_frees()?;
    if !parts.tail.clean || redo.record_count > 0 {
        let undone_ns = parts.os.clock().monotonic_ns();
        let repaired = parts.space.repaired().len();
        let message = format!(
            "recovery ends: {} records redone in {} ms, {} transactions and {} system transactions rolled back in {} ms, {} torn pages repaired",
            redo.record_count,
            (redone_ns - began_ns) / 1_000_000,
            undo.transaction_count,
            undo.system_count,
            (undone_ns - redone_ns) / 1_000_000,
            repaired
        );
        report(parts.name, &message);
    }
    Ok(())
}

fn report(name: &str, message: &str) {
    os::report::info("recovery", &format!("database {name}: {message}"));
}
