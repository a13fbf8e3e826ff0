//! The oracle of identity values (F11 of the reliability plan): no value comes twice after its use was acknowledged, gaps stay small.
//!
//! Some transfers insert a receipt: a row whose number comes from an IDENTITY column of a type with a small cache. A value may come again
//! only when its row is gone (rolled back, or a delayed commit that a crash lost) and the server has been restarted.
//! A receipt also has a stamp from a rowversion column. No stamp comes twice, whether its row survives or not, and the stamps of each life are
//! larger than those of earlier lives.

use std::collections::{BTreeMap, BTreeSet};

use crate::sql_ledger::Transfer;

/// Values that a tinyint column reserves ahead (`engine::identity`).
const CACHE: i64 = 10;

/// Receipts that clients asked for and received.
#[derive(Default)]
pub(crate) struct Receipts {
    /// Transactions that asked for a receipt, with its number once it is known.
    asked: BTreeMap<i64, Option<i64>>,
    /// Transaction of each number: all numbers of this life, and those of earlier lives that still exist.
    taken: BTreeMap<i64, i64>,
    asked_total: i64,
    lives: i64,
    /// Stamps that were given, in all lives.
    stamps: BTreeSet<i64>,
    /// The database's last stamp when this life began.
    stamp_floor: i64,
}

impl Receipts {
    /// A transaction is about to ask for a receipt.
    pub(crate) fn ask(&mut self, transaction: i64) {
        self.asked.insert(transaction, None);
        self.asked_total += 1;
    }

    /// It received its receipt's number. The error describes a contradiction.
    pub(crate) fn hand_out(&mut self, transaction: i64, number: i64) -> Result<(), String> {
        self.asked.insert(transaction, Some(number));
        if let Some(other) = self.taken.insert(number, transaction) {
            return Err(format!("REPEAT: receipt {number} for transaction {transaction} is {other}'s"));
        }
        let most = self.asked_total + CACHE * (self.lives + 1);
        if number > most {
            return Err(format!(
                "GAP: receipt {number}, although {most} is the most that lost caches explain"
            ));
        }
        Ok(())
    }

    /// A receipt received a stamp. The error describes a contradiction.
    pub(crate) fn hand_out_stamp(&mut self, stamp: i64) -> Result<(), String> {
        if stamp <= self.stamp_floor {
            return Err(format!("REPEAT: stamp {stamp} in a life that began behind {}", self.stamp_floor));
        }
        if !self.stamps.insert(stamp) {
            return Err(format!("REPEAT: stamp {stamp} was handed out before"));
        }
        Ok(())
    }

    /// Judges the stamp that recovery shows as the database's last (`@@DBTS`).
    pub(crate) fn judge_stamps(&mut self, last: i64) -> Vec<String> {
        let known = self.stamps.last().copied().unwrap_or(0).max(self.stamp_floor);
        self.stamp_floor = last.max(known);
        if last < known {
            return vec![format!("REPEAT: stamps go on behind {last}, although {known} was handed out")];
        }
        Vec::new()
    }

    /// Judges the rows (number, transaction) that recovery shows with the history; a missing number counts as never given.
    pub(crate) fn judge(&mut self, found: &[(i64, i64)], history: &BTreeMap<i64, Transfer>) -> Vec<String> {
        let mut violations = Vec::new();
        let (mut by_number, mut by_transaction) = (BTreeMap::new(), BTreeMap::new());
        for &(number, transaction) in found {
            if let Some(other) = by_number.insert(number, transaction) {
                violations.push(format!("REPEAT: receipt {number} is of {other} and of {transaction}"));
            }
            let is_second = by_transaction.insert(transaction, number).is_some();
            if is_second || !history.contains_key(&transaction) || !self.asked.contains_key(&transaction) {
                violations.push(format!("TORN: receipt {number} of transaction {transaction}"));
            }
        }
        self.asked.retain(|transaction, _| history.contains_key(transaction));
        for (transaction, number) in &self.asked {
            let row = by_transaction.get(transaction);
            if row.is_none_or(|row| number.is_some_and(|number| number != *row)) {
                violations
                    .push(format!("TORN: transaction {transaction} has receipt {row:?}, was {number:?}"));
            }
        }
        self.taken = by_number;
        self.lives += 1;
        violations
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(transactions: &[i64]) -> BTreeMap<i64, Transfer> {
        let transfer = Transfer { from: 0, to: 1, amount: 1, heap_rows: 0 };
        transactions.iter().map(|number| (*number, transfer.clone())).collect()
    }

    fn three() -> Receipts {
        let mut receipts = Receipts::default();
        for transaction in 101..=103 {
            receipts.ask(transaction);
            assert_eq!(receipts.hand_out(transaction, transaction - 100), Ok(()));
        }
        receipts
    }

    fn kinds(violations: &[String]) -> Vec<&str> {
        violations.iter().filter_map(|text| text.split(':').next()).collect()
    }

    #[test]
    fn a_number_comes_again_only_when_its_row_is_gone_and_the_server_was_restarted() {
        let mut receipts = three();
        receipts.ask(104);
        assert!(receipts.hand_out(104, 2).is_err_and(|text| text.starts_with("REPEAT")), "in the same life");
        let mut receipts = three();
        assert!(receipts.judge(&[(1, 101), (2, 102)], &history(&[101, 102])).is_empty());
        receipts.ask(104);
        assert_eq!(receipts.hand_out(104, 3), Ok(()), "103 is gone");
        receipts.ask(105);
        assert!(receipts.hand_out(105, 2).is_err_and(|text| text.starts_with("REPEAT")));
        receipts.ask(106);
        assert!(receipts.hand_out(106, 200).is_err_and(|text| text.starts_with("GAP")));
    }

    #[test]
    fn no_stamp_comes_twice_in_any_life() {
        let mut receipts = Receipts::default();
        assert_eq!(receipts.hand_out_stamp(2_002), Ok(()));
        assert_eq!(receipts.hand_out_stamp(2_001), Ok(()), "sessions are told in any order");
        assert!(receipts.hand_out_stamp(2_002).is_err());
        assert_eq!(receipts.judge_stamps(4_000), Vec::<String>::new());
        assert!(receipts.hand_out_stamp(3_999).is_err(), "a later life has larger ones");
        assert_eq!(receipts.hand_out_stamp(4_001), Ok(()));
        assert_eq!(kinds(&receipts.judge_stamps(4_000)), ["REPEAT"]);
    }

    #[test]
    fn receipts_and_history_belong_together() {
        let whole = [(1, 101), (2, 102), (3, 103)];
        assert!(three().judge(&whole, &history(&[101, 102, 103])).is_empty());
        assert_eq!(
            kinds(&three().judge(&whole, &history(&[101, 102]))),
            ["TORN"],
            "a receipt without history"
        );
        assert_eq!(kinds(&three().judge(&whole[..2], &history(&[101, 102, 103]))), ["TORN"], "none for 103");
        assert_eq!(kinds(&three().judge(&[(1, 101), (1, 102)], &history(&[101, 102]))), ["REPEAT", "TORN"]);
        let other = [(1, 101), (2, 102), (9, 103)];
        assert_eq!(
            kinds(&three().judge(&other, &history(&[101, 102, 103]))),
            ["TORN"],
            "not what it was told"
        );
    }
}
