//! Undo: rolls the losers back with the code of an ordinary rollback.

use std::sync::Arc;

use log::{LogReuseWait, Lsn};

use crate::TxnResult;
use crate::loser::Loser;
use crate::state::XactState;
use crate::transaction::TxnManager;

/// The figures of an undo pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UndoStats {
    /// Transactions rolled back.
    pub transaction_count: u64,
    /// Records undone, including those of a transaction whose rollback is not complete.
    pub record_count: u64,
}

/// Rolls the losers back, newest first.
pub fn undo(
    manager: &Arc<TxnManager>,
    losers: &[Loser],
    tell: &mut dyn FnMut(&UndoStats),
) -> TxnResult<UndoStats> {
    let mut stats = UndoStats::default();
    let numbers: std::collections::BTreeSet<u64> = losers.iter().map(|loser| loser.id.0).collect();
    assert_eq!(numbers.len(), losers.len(), "each transaction is undone once");
    let oldest = losers.iter().map(|loser| loser.begin).min().unwrap_or(Lsn::MAX);
    let _pin = manager.log().pin(LogReuseWait::ActiveTransaction, "recovery", oldest);
    for loser in in_order(losers) {
        assert!(!loser.last.is_null(), "a loser has written");
        let transaction = manager.resume(&loser, XactState::RollingBack);
        transaction.finish_rollback(&mut || {
            stats.record_count += 1;
            tell(&stats);
        })?;
        assert_eq!(transaction.state(), XactState::Ended, "a loser's rollback ends it");
        stats.transaction_count += 1;
    }
    assert_eq!(stats.transaction_count, losers.len() as u64, "all of them are undone");
    Ok(stats)
}

fn in_order(losers: &[Loser]) -> Vec<Loser> {
    let mut order = losers.to_vec();
    order.sort_by_key(|loser| std::cmp::Reverse(loser.last));
    assert!(order.is_sorted_by(|one, next| one.last > next.last), "a record is one transaction's newest");
    assert_eq!(order.len(), losers.len(), "all of them are undone");
    order
}

#[cfg(test)]
mod tests {
    use log::TxnId;

    use super::*;

    #[test]
    fn what_is_newer_is_undone_before_what_is_older() {
        let loser = |id| {
            let (begin, last) = (Lsn::new(1, id, 1), Lsn::new(1, 100 + id, 1));
            Loser { id: TxnId(u64::from(id)), begin, last }
        };
        let losers = [loser(20), loser(50), loser(40)];
        let order: Vec<u64> = in_order(&losers).iter().map(|loser| loser.id.0).collect();
        assert_eq!(order, [50, 40, 20]);
    }
}
