//! The ledger of the SQL workload and its oracle: a bank whose transfer history must explain every balance.
//!
//! Time is a stamp: a counter that grows with each event of the workload. If a transaction was acknowledged before another one started,
//! it must be durable when the other one is: losses are a suffix of the commit order.

use std::collections::BTreeMap;

/// Number of accounts of the bank; each begins with [`OPENING_BALANCE`].
pub(crate) const ACCOUNTS: i64 = 16;
/// The initial balance of an account.
pub(crate) const OPENING_BALANCE: i64 = 1_000;

/// The planned effect of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Transfer {
    /// From this account.
    pub(crate) from: i64,
    /// To that one.
    pub(crate) to: i64,
    /// So much.
    pub(crate) amount: i64,
    /// Rows that it inserts into the heap.
    pub(crate) heap_rows: i64,
}

/// Its progress as far as its client knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Its commit has not been requested: it must not exist.
    Open,
    /// Its commit was requested and not answered: it may exist.
    Committing,
    /// Its fully durable commit was acknowledged at this stamp: it must exist.
    Full(u64),
    /// Its delayed commit was acknowledged at this stamp: it may be lost.
    Delayed(u64),
    /// It was rolled back: it must not exist.
    RolledBack,
}

/// One transaction's entry.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) transfer: Transfer,
    pub(crate) started: u64,
    pub(crate) stage: Stage,
}

/// All transactions with their acknowledgements.
#[derive(Default)]
pub(crate) struct SqlLedger {
    pub(crate) entries: BTreeMap<i64, Entry>,
    stamp: u64,
    /// Everything acknowledged before this stamp was hardened by sys.sp_flush_log.
    flushed_before: u64,
}

/// The observed state of a recovered database.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    /// Balance by account.
    pub(crate) balances: BTreeMap<i64, i64>,
    /// Rows of the history by transaction number.
    pub(crate) history: BTreeMap<i64, Transfer>,
    /// Rows of the heap by transaction number.
    pub(crate) heap_rows: BTreeMap<i64, i64>,
    /// Rows of the history counted by its nonclustered index.
    pub(crate) indexed: i64,
}

impl SqlLedger {
    /// The next stamp.
    pub(crate) fn tick(&mut self) -> u64 {
        self.stamp += 1;
        self.stamp
    }

    /// A transaction begins.
    pub(crate) fn begin(&mut self, number: i64, transfer: Transfer) {
        let started = self.tick();
        let entry = Entry { transfer, started, stage: Stage::Open };
        let before = self.entries.insert(number, entry);
        assert!(before.is_none(), "transaction numbers are used once");
    }

    /// Sets the progress of a transaction.
    pub(crate) fn set_stage(&mut self, number: i64, stage: Stage) {
        self.entries.get_mut(&number).expect("it has begun").stage = stage;
    }

    /// Its commit was acknowledged now.
    pub(crate) fn acknowledge(&mut self, number: i64, is_full: bool) {
        let stamp = self.tick();
        self.set_stage(number, if is_full { Stage::Full(stamp) } else { Stage::Delayed(stamp) });
    }

    /// sys.sp_flush_log, called at this stamp, has returned.
    pub(crate) fn flushed(&mut self, called_at: u64) {
        self.flushed_before = self.flushed_before.max(called_at);
    }

    /// The server was stopped in an orderly way: no acknowledged commit may be lost.
    pub(crate) fn drained(&mut self) {
        self.flushed_before = self.tick();
    }

    /// Acknowledged commits so far.
    pub(crate) fn acknowledged(&self) -> u64 {
        let acknowledged = |entry: &&Entry| matches!(entry.stage, Stage::Full(_) | Stage::Delayed(_));
        self.entries.values().filter(acknowledged).count() as u64
    }

    /// Judges what recovery shows: existing transactions count as durable from now on, missing ones as never executed.
    pub(crate) fn judge(&mut self, found: &Found) -> Vec<String> {
        let mut violations = Vec::new();
        self.judge_presence(found, &mut violations);
        judge_consistency(found, &mut violations);
        let stamp = self.tick();
        self.entries.retain(|number, _| found.history.contains_key(number));
        for entry in self.entries.values_mut() {
            entry.stage = Stage::Full(stamp);
        }
        violations
    }

    fn judge_presence(&self, found: &Found, violations: &mut Vec<String>) {
        let present = |number: &&i64| found.history.contains_key(number);
        let survivors = self.entries.keys().filter(present).map(|number| self.entries[number].started);
        let last_start = survivors.max().unwrap_or(0);
        for (number, entry) in &self.entries {
            let row = found.history.get(number);
            match (entry.stage, row) {
                (Stage::Open | Stage::RolledBack, Some(_)) => {
                    violations.push(format!(
                        "PHANTOM: transaction {number} is there, its stage was {:?}",
                        entry.stage
                    ));
                }
                (Stage::Full(_), None) => {
                    violations.push(format!("LOST: transaction {number} was fully durable"))
                }
                (Stage::Delayed(at), None) if at < self.flushed_before => {
                    violations.push(format!(
                        "LOSTD: transaction {number} was acknowledged before a flush of the log"
                    ));
                }
                (Stage::Delayed(at), None) if at < last_start => {
                    violations.push(format!("HOLE: transaction {number} is lost, a later one is there"));
                }
                (_, Some(row)) if *row != entry.transfer => {
                    violations
                        .push(format!("TORN: transaction {number} is {row:?}, was {:?}", entry.transfer));
                }
                _ => {}
            }
        }
        for number in found.history.keys().filter(|number| !self.entries.contains_key(number)) {
            violations.push(format!("PHANTOM: transaction {number} was never begun"));
        }
    }
}

/// Checks that the history explains the balances, the heap and its own index: transactions are atomic.
fn judge_consistency(found: &Found, violations: &mut Vec<String>) {
    let mut expected: BTreeMap<i64, i64> = (0..ACCOUNTS).map(|id| (id, OPENING_BALANCE)).collect();
    for transfer in found.history.values() {
        *expected.entry(transfer.from).or_default() -= transfer.amount;
        *expected.entry(transfer.to).or_default() += transfer.amount;
    }
    if expected != found.balances {
        violations.push(format!("TORN: balances are {:?}, the history gives {expected:?}", found.balances));
    }
    let heap = |(number, transfer): (&i64, &Transfer)| {
        (transfer.heap_rows > 0).then_some((*number, transfer.heap_rows))
    };
    let expected_heap: BTreeMap<i64, i64> = found.history.iter().filter_map(heap).collect();
    if expected_heap != found.heap_rows {
        let differs = |number: &&i64| expected_heap.get(number) != found.heap_rows.get(number);
        let numbers: Vec<&i64> =
            expected_heap.keys().chain(found.heap_rows.keys()).filter(differs).take(5).collect();
        violations.push(format!("TORN: heap rows differ from the history for transactions {numbers:?}"));
    }
    if found.indexed != found.history.len() as i64 {
        violations.push(format!(
            "INDEX: it counts {} rows, the table {}",
            found.indexed,
            found.history.len()
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Transactions 1 (full), 2 (delayed), 3 (delayed), 4 (committing), 5 (rolled back), one after the other.
    fn five() -> SqlLedger {
        let mut ledger = SqlLedger::default();
        for number in 1..=5 {
            ledger.begin(number, Transfer { from: 0, to: number, amount: 10, heap_rows: number % 2 });
            match number {
                1 => ledger.acknowledge(number, true),
                2 | 3 => ledger.acknowledge(number, false),
                4 => ledger.set_stage(number, Stage::Committing),
                _ => ledger.set_stage(number, Stage::RolledBack),
            }
        }
        ledger
    }

    fn shown(ledger: &SqlLedger, numbers: &[i64]) -> Found {
        let balances = (0..ACCOUNTS).map(|id| (id, OPENING_BALANCE)).collect();
        let mut found = Found { balances, ..Found::default() };
        for number in numbers {
            let transfer = ledger.entries[number].transfer.clone();
            *found.balances.get_mut(&0).unwrap() -= 10;
            *found.balances.get_mut(number).unwrap() += 10;
            if transfer.heap_rows > 0 {
                found.heap_rows.insert(*number, transfer.heap_rows);
            }
            found.history.insert(*number, transfer);
        }
        found.indexed = found.history.len() as i64;
        found
    }

    fn kinds(violations: &[String]) -> Vec<&str> {
        violations.iter().filter_map(|text| text.split(':').next()).collect()
    }

    #[test]
    fn the_oracle_judges_presence() {
        for fine in [&[1][..], &[1, 2], &[1, 2, 3], &[1, 2, 3, 4]] {
            let mut ledger = five();
            let found = shown(&ledger, fine);
            assert!(ledger.judge(&found).is_empty(), "{fine:?}");
        }
        for (numbers, kind) in [(&[][..], "LOST"), (&[1, 3], "HOLE"), (&[1, 2, 3, 5], "PHANTOM")] {
            let mut ledger = five();
            let found = shown(&ledger, numbers);
            assert_eq!(kinds(&ledger.judge(&found)), [kind], "{numbers:?}");
        }
        let mut ledger = five();
        ledger.drained();
        let found = shown(&ledger, &[1]);
        assert_eq!(kinds(&ledger.judge(&found)), ["LOSTD", "LOSTD"]);
    }

    #[test]
    fn the_oracle_judges_wholeness() {
        let mut ledger = five();
        let mut found = shown(&ledger, &[1, 2, 3]);
        *found.balances.get_mut(&2).unwrap() -= 1;
        found.heap_rows.remove(&3);
        found.indexed -= 1;
        assert_eq!(kinds(&ledger.judge(&found)), ["TORN", "TORN", "INDEX"]);
        // The state that one recovery has shown must stay.
        let mut ledger = five();
        let found = shown(&ledger, &[1, 2]);
        assert!(ledger.judge(&found).is_empty());
        let less = shown(&ledger, &[1]);
        assert_eq!(kinds(&ledger.judge(&less)), ["LOST"]);
    }
}
