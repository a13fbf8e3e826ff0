//! The end of analysis: finds the losers that are prepared, and so in doubt.

use std::sync::Arc;

use log::{Log, LogOp};

use super::analysis::InDoubt;
use super::unreadable::{damaged, decode};
use crate::TxnResult;
use crate::loser::Loser;

/// Removes transactions from `losers` whose newest record is LOP_PREP_XACT. One whose rollback had begun is a loser: its rollback was decided.
pub(super) fn take_prepared(log: &Arc<Log>, losers: &mut Vec<Loser>) -> TxnResult<Vec<InDoubt>> {
    let mut in_doubt = Vec::new();
    let mut reader = log.reader();
    let count = losers.len();
    let mut rest = Vec::with_capacity(count);
    for loser in losers.drain(..) {
        let newest = reader.read(loser.last)?;
        if newest.header.txn != loser.id {
            return Err(damaged(&newest, "the newest record of a transaction is another's"));
        }
        if newest.header.op != LogOp::PrepXact {
            rest.push(loser);
            continue;
        }
        in_doubt.push(InDoubt { transaction: loser, prepared: decode(&newest)? });
    }
    assert!(in_doubt.iter().all(|one: &InDoubt| rest.iter().all(|loser| loser.id != one.transaction.id)));
    assert_eq!(count, in_doubt.len() + rest.len(), "each is a loser or in doubt");
    *losers = rest;
    Ok(in_doubt)
}
