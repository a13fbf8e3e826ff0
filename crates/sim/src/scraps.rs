//! The scraps of scenario `store`: batches of wide rows that transactions insert into a tree and delete again, so that its leaves empty and are
//! unlinked; and the transaction ids of the log, which must not be reused. The oracle relies on the history.

use std::collections::BTreeMap;

/// A transaction's changes of the scraps, and its id in the log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scrap {
    /// Rows of the batch with the transaction's own number; 0: none.
    pub(crate) added: u64,
    /// The batch that it deleted.
    pub(crate) removed: Option<i64>,
    /// Its id in the log.
    pub(crate) xact: u64,
}

/// Changes by transaction.
#[derive(Default)]
pub(crate) struct Scraps {
    done: BTreeMap<i64, Scrap>,
    /// Rows by batch, as of the last recovery.
    live: BTreeMap<i64, u64>,
    /// The highest transaction id in the log that a recovery has shown.
    durable_xact_max: u64,
}

impl Scraps {
    /// A transaction begins its commit.
    pub(crate) fn note(&mut self, number: i64, scrap: Scrap) {
        assert!(self.done.insert(number, scrap).is_none(), "transaction numbers are used once");
    }

    /// The batches that a teller may delete, with their rows.
    pub(crate) fn batches_of(&self, teller: i64) -> Vec<(i64, u64)> {
        let is_his = |(number, _): &(&i64, &u64)| (**number >> 32) & 0xff == teller;
        self.live.iter().filter(is_his).map(|(number, rows)| (*number, *rows)).collect()
    }

    /// Judges the rows by batch that a recovered store shows with its history, and the id that its next transaction got. What exists
    /// counts as durable from now on.
    pub(crate) fn judge(
        &mut self,
        is_in_history: impl Fn(i64) -> bool,
        shown: &BTreeMap<i64, u64>,
        next_xact: u64,
    ) -> Vec<String> {
        let mut violations = Vec::new();
        let mut expected = std::mem::take(&mut self.live);
        for (number, scrap) in std::mem::take(&mut self.done) {
            if !is_in_history(number) {
                continue;
            }
            self.durable_xact_max = self.durable_xact_max.max(scrap.xact);
            if scrap.added > 0 {
                expected.insert(number, scrap.added);
            }
            if let Some(removed) = scrap.removed {
                expected.remove(&removed);
            }
        }
        if expected != *shown {
            let numbers = expected.keys().chain(shown.keys());
            let differs: Vec<String> = numbers
                .filter(|number| expected.get(number) != shown.get(number))
                .take(4)
                .map(|number| format!("{number}: {:?} of {:?}", shown.get(number), expected.get(number)))
                .collect();
            violations.push(format!("TORN: scraps by transaction {differs:?}"));
        }
        if next_xact <= self.durable_xact_max {
            violations.push(format!(
                "AGAIN: a transaction got number {next_xact}, the log had {} before",
                self.durable_xact_max
            ));
        }
        self.live = shown.clone();
        violations
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(done: &[(i64, Scrap)], shown: &[(i64, u64)], next_xact: u64) -> Vec<String> {
        let mut scraps = Scraps::default();
        done.iter().for_each(|(number, scrap)| scraps.note(*number, *scrap));
        let shown = shown.iter().copied().collect();
        let violations = scraps.judge(|number| number != 3, &shown, next_xact);
        violations.iter().map(|text| text.split(':').next().unwrap_or("").to_owned()).collect()
    }

    #[test]
    fn scraps_follow_the_history() {
        let add = |number, added| (number, Scrap { added, removed: None, xact: number as u64 });
        let remove =
            |number, removed| (number, Scrap { added: 0, removed: Some(removed), xact: number as u64 });
        assert!(after(&[add(1, 5), add(2, 6), remove(4, 1)], &[(2, 6)], 5).is_empty());
        assert_eq!(after(&[add(1, 5), remove(4, 1)], &[(1, 5)], 5), ["TORN"], "taken out, yet there");
        assert_eq!(after(&[add(1, 5)], &[(1, 4)], 5), ["TORN"], "a row is missing");
        assert_eq!(after(&[add(1, 5), add(3, 5)], &[(1, 5), (3, 5)], 5), ["TORN"], "not in the history");
        assert_eq!(after(&[add(4, 5)], &[(4, 5)], 4), ["AGAIN"]);
    }

    #[test]
    fn numbers_stay_used_and_batches_stay() {
        let mut scraps = Scraps::default();
        scraps.note(1 << 32, Scrap { added: 5, removed: None, xact: 9 });
        let shown = BTreeMap::from([(1 << 32, 5)]);
        assert!(scraps.judge(|_| true, &shown, 10).is_empty());
        assert_eq!((scraps.batches_of(1), scraps.batches_of(2)), (vec![(1 << 32, 5)], Vec::new()));
        assert_eq!(scraps.judge(|_| true, &shown, 1).len(), 1, "a later life begins from 1 again");
        assert_eq!(scraps.judge(|_| true, &BTreeMap::new(), 11).len(), 1, "what was shown stays");
    }
}
