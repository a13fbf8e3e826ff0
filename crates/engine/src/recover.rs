//! Recovery of a database after a crash: analysis, redo, undo, and its messages in the error log.
//!
//! Called by `open.rs` in this order: [`analyze`] as soon as the log is open (it needs no pages), [`redo_and_undo`] once pages and access
//! methods stand, then the catalog is read, what was marked as dropped is freed, and a checkpoint makes the result the next starting point. Every step may be cut off by another
//! crash: nothing of the log is given up before that checkpoint.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use access::AccessMethods;
use log::{Log, Lsn, RecordHeader, Tail};
use os::Os;
use os::sim::{Bug, is_planted};
use pages::FileSpace;
use txn::recovery::{self, Analysis, UndoStats};
use txn::{ResourceManager, Transaction, TxnManager, TxnResult};

use crate::decision::Known;
use crate::error::StorageError;

/// Records between two reads of the clock, and time between two progress messages.
const LOOK_RECORDS: u64 = 4_096;
const TELL_NS: u64 = 2_000_000_000;

/// The parts of the database that recovery needs.
pub(crate) struct Parts<'a> {
    pub(crate) os: &'a Os,
    pub(crate) name: &'a str,
    pub(crate) log: &'a Arc<Log>,
    pub(crate) tail: &'a Tail,
    pub(crate) space: &'a Arc<FileSpace>,
    pub(crate) access: &'a Arc<AccessMethods>,
    pub(crate) txns: &'a Arc<TxnManager>,
}

/// The first pass: the transactions active at the end of the log, where redo starts, and the outcome of transactions in doubt by `known`.
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
        (0..committed)
            .for_each(|_| os::sim::reach(|| "what was in doubt is committed by its decision".to_owned()));
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
    let progress = Progress {
        parts,
        records_total: analysis.record_count,
        losers_total: analysis.losers.len(),
        seen: AtomicU64::new(0),
        told_ns: AtomicU64::new(began_ns),
    };
    let redo = recovery::redo(parts.log, &progress, analysis.redo_start)?;
    if !is_planted(Bug::MapsJudgedAfterCheckpoint) {
        parts.access.refuse_lost_maps_of_redo()?;
    }
    let redone_ns = parts.os.clock().monotonic_ns();
    recovery::commit_decided(parts.txns, &analysis.in_doubt)?;
    let undo = recovery::undo(parts.txns, &analysis.losers, &mut |undo| progress.undone(undo))?;
    assert!(parts.txns.active().is_empty(), "nobody is active after undo");
    if !parts.tail.clean || redo.record_count > 0 {
        let undone_ns = parts.os.clock().monotonic_ns();
        let repaired = parts.space.repaired().len();
        let message = format!(
            "recovery ends: {} records redone in {} ms, {} transactions rolled back in {} ms, {} torn pages repaired",
            redo.record_count,
            (redone_ns - began_ns) / 1_000_000,
            undo.transaction_count,
            (undone_ns - redone_ns) / 1_000_000,
            repaired
        );
        report(parts.name, &message);
    }
    Ok(())
}

/// Passes records on to redo, and reports the progress of redo and undo.
struct Progress<'a> {
    parts: &'a Parts<'a>,
    records_total: u64,
    losers_total: usize,
    seen: AtomicU64,
    told_ns: AtomicU64,
}

impl Progress<'_> {
    /// Is a new progress message due after so many records?
    fn is_to_be_told(&self, records: u64) -> bool {
        if !records.is_multiple_of(LOOK_RECORDS) {
            return false;
        }
        let now_ns = self.parts.os.clock().monotonic_ns();
        let is_due = now_ns.saturating_sub(self.told_ns.load(Relaxed)) >= TELL_NS;
        if is_due {
            self.told_ns.store(now_ns, Relaxed);
        }
        is_due
    }

    fn undone(&self, undo: &UndoStats) {
        if self.is_to_be_told(undo.record_count) {
            let (records, transactions) = (undo.record_count, undo.transaction_count);
            let told = format!(
                "undo goes on: {records} records rolled back, {transactions} of {} transactions done with",
                self.losers_total
            );
            report(self.parts.name, &told);
        }
    }
}

impl ResourceManager for Progress<'_> {
    fn redo(&self, lsn: Lsn, header: &RecordHeader, payload: &[u8]) -> TxnResult<()> {
        self.parts.access.redo(lsn, header, payload)?;
        let seen = self.seen.fetch_add(1, Relaxed) + 1;
        if self.is_to_be_told(seen) {
            let percent = (seen * 100 / self.records_total.max(1)).min(99);
            report(self.parts.name, &format!("redo is {percent} % complete: {seen} records redone"));
        }
        Ok(())
    }

    fn undo(
        &self,
        transaction: &Transaction,
        lsn: Lsn,
        header: &RecordHeader,
        payload: &[u8],
    ) -> TxnResult<()> {
        self.parts.access.undo(transaction, lsn, header, payload)
    }
}

fn report(name: &str, message: &str) {
    os::report::info("recovery", &format!("database {name}: {message}"));
}
