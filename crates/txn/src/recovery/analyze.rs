//! Analysis: reads the log from a checkpoint to its end and finds the losers, the transactions without an end.

use std::sync::Arc;

use log::records::{BeginCkpt, EndCkpt, XactCkpt};
use log::{Log, LogOp, Lsn, RecordHeader, TxnId};
use rustc_hash::FxHashMap;

use super::analysis::Analysis;
use super::prepared::take_prepared;
use super::unreadable::{damaged, decode};
use crate::loser::Loser;
use crate::{TxnError, TxnResult};

/// Reads from the checkpoint with its LOP_BEGIN_CKPT at `checkpoint` (NULL: from the oldest record) to the end.
pub fn analyze(log: &Arc<Log>, checkpoint: Lsn) -> TxnResult<Analysis> {
    let mut pass = Pass::default();
    if !checkpoint.is_null() {
        pass.read_checkpoint(log, checkpoint)?;
    }
    assert!(pass.redo_start <= checkpoint, "redo starts at the checkpoint or before it");
    let mut reader = log.read_from(pass.redo_start);
    let mut before = Lsn::NULL;
    while reader.next_block(|lsn, record| -> TxnResult<()> {
        assert!(
            lsn > before && lsn >= pass.redo_start,
            "{lsn} comes behind {before}: the log is read in order"
        );
        before = lsn;
        pass.record_count += 1;
        pass.note(lsn, &record.header);
        Ok(())
    })? {}
    let mut losers: Vec<Loser> = pass.active.into_values().collect();
    losers.sort_by_key(|loser| loser.id.0);
    if let Some(loser) = losers.iter().find(|loser| loser.begin.is_null() || loser.begin > loser.last) {
        return Err(TxnError::Corrupt {
            what: format!("transaction {} has no beginning in the log", loser.id),
        });
    }
    assert!(losers.iter().all(|loser| loser.id <= pass.max_txn && loser.last <= log.last()));
    assert!(losers.is_sorted_by(|one, next| one.id < next.id), "a transaction is cut off once");
    assert!(before <= log.last(), "{before} was read, the log ends with {}", log.last());
    let in_doubt = take_prepared(log, &mut losers)?;
    Ok(Analysis {
        redo_start: pass.redo_start,
        losers,
        in_doubt,
        max_txn: pass.max_txn,
        record_count: pass.record_count,
    })
}

#[derive(Default)]
struct Pass {
    redo_start: Lsn,
    active: FxHashMap<u64, Loser>,
    max_txn: TxnId,
    record_count: u64,
}

impl Pass {
    /// Finds the checkpoint's own records behind its LOP_BEGIN_CKPT and reads its image.
    fn read_checkpoint(&mut self, log: &Arc<Log>, checkpoint: Lsn) -> TxnResult<()> {
        let mut reader = log.read_from(checkpoint);
        let mut is_begin = true;
        while let Some(record) = reader.next_record()? {
            if is_begin && (record.lsn != checkpoint || record.header.op != LogOp::BeginCkpt) {
                return Err(damaged(&record, "the log's header names a checkpoint that does not begin here"));
            }
            is_begin = false;
            match record.header.op {
                LogOp::BeginCkpt => self.note_number(decode::<BeginCkpt>(&record)?.max_txn),
                LogOp::XactCkpt => self.take_image(decode(&record)?),
                LogOp::EndCkpt => {
                    let end: EndCkpt = decode(&record)?;
                    if end.begin != checkpoint || end.redo_start > checkpoint {
                        return Err(damaged(&record, "the end of another checkpoint"));
                    }
                    self.redo_start = end.redo_start;
                    return Ok(());
                }
                _ => {}
            }
        }
        Err(TxnError::Corrupt { what: format!("the checkpoint at {checkpoint} has no end in the log") })
    }

    fn take_image(&mut self, image: XactCkpt) {
        for xact in image.transactions {
            self.note_number(xact.txn);
            let loser = Loser { id: xact.txn, begin: xact.begin, last: xact.last };
            self.active.insert(xact.txn.0, loser);
        }
    }

    fn note(&mut self, lsn: Lsn, header: &RecordHeader) {
        if header.txn.is_null() {
            return;
        }
        self.note_number(header.txn);
        match header.op {
            LogOp::CommitXact | LogOp::AbortXact => {
                self.active.remove(&header.txn.0);
            }
            _ => {
                let loser = self.active.entry(header.txn.0).or_insert(Loser {
                    id: header.txn,
                    begin: Lsn::NULL,
                    last: Lsn::NULL,
                });
                loser.last = loser.last.max(lsn);
                if header.op == LogOp::BeginXact {
                    loser.begin = lsn;
                }
            }
        }
    }

    fn note_number(&mut self, number: TxnId) {
        self.max_txn = TxnId(self.max_txn.0.max(number.0));
    }
}
