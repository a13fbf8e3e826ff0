//! The ledger of scenario `log`: attempted and acknowledged work, kept outside the simulated world, so that no crash destroys it.

use std::collections::{BTreeMap, BTreeSet};

use log::Lsn;

/// Record of a log workload over its generations. The number in a record's payload identifies the record.
#[derive(Default)]
pub(crate) struct LogLedger {
    /// Records whose append has begun and that every recovery since then has found.
    pub(crate) intended: BTreeSet<u64>,
    /// Records whose append has returned an address.
    pub(crate) appended: BTreeMap<Lsn, u64>,
    /// Commits whose `harden` returned: must survive.
    pub(crate) acknowledged: BTreeMap<Lsn, u64>,
    /// Commits that did not block their task.
    pub(crate) pending_commits: u64,
    /// Delayed commits that were acknowledged without waiting: may be lost, as a suffix.
    pub(crate) delayed: BTreeMap<Lsn, u64>,
    /// Records below this address may have been truncated, since no reader needs them.
    pub(crate) trimmed: Lsn,
    /// Records that the last recovery found: they are durable from then on.
    pub(crate) recovered: BTreeMap<Lsn, u64>,
    /// The highest acknowledged commit.
    hard: Lsn,
    /// By record: the highest acknowledged commit before its append. Once the record's block is durable, it proves that commit.
    proofs: BTreeMap<Lsn, Lsn>,
}

/// The highest acknowledged commit at the moment when an append begins.
#[derive(Clone, Copy)]
pub(crate) struct Known(Lsn);

impl LogLedger {
    /// The log was closed in an orderly way: all appended records are durable.
    pub(crate) fn acknowledge_all(&mut self) {
        self.acknowledged = self.appended.clone();
    }

    /// Only the process died and its log cache survived: delayed commits survive as well.
    pub(crate) fn acknowledge_delayed(&mut self) {
        let delayed = std::mem::take(&mut self.delayed);
        self.acknowledged.extend(delayed);
    }

    /// An append begins.
    pub(crate) fn intend(&mut self, number: u64) -> Known {
        self.intended.insert(number);
        Known(self.hard)
    }

    /// An append has ended. Its block proves what was known *before* the append. Before its task gets here, the block may have been written and
    /// hardened, and later records of that very block may have been acknowledged, which no block proves then (seed 914402: a bit flipped in the
    /// last block but one, and the last block, completed while both writes were in progress, was expected to prove itself).
    pub(crate) fn note_append(&mut self, lsn: Lsn, number: u64, before: Known) {
        assert!(before.0 < lsn, "{lsn} comes behind all that was acknowledged before it");
        self.appended.insert(lsn, number);
        self.proofs.insert(lsn, before.0);
    }

    /// A commit was acknowledged.
    pub(crate) fn note_acknowledged(&mut self, lsn: Lsn, number: u64) {
        self.acknowledged.insert(lsn, number);
        self.hard = self.hard.max(lsn);
    }

    /// Judges the records read from a log with one flipped bit that recovery did not report: a later durable block proves what was durable when
    /// that block was sealed, so those records must exist. Nothing proves the newest blocks, unless surviving memory does: `is_all_proved`.
    pub(crate) fn judge_damaged(
        &self,
        found: &BTreeMap<Lsn, u64>,
        is_all_proved: bool,
        violations: &mut Vec<String>,
    ) {
        let by_blocks = self.proofs.range(..=self.hard).map(|(_, hard)| *hard).max().unwrap_or(Lsn::NULL);
        let proved = if is_all_proved { Lsn::MAX } else { by_blocks };
        for (lsn, number) in self.acknowledged.range(..=proved).filter(|(lsn, _)| **lsn >= self.trimmed) {
            if found.get(lsn) != Some(number) {
                violations.push(format!(
                    "DAMAGE: record {number} at {lsn} was durable, that can be proved, and nobody says that it is gone"
                ));
            }
        }
        for (lsn, number) in found.iter().filter(|(_, number)| !self.intended.contains(number)) {
            violations.push(format!("PHANTOM: record {number} at {lsn} was never appended"));
        }
    }

    /// Judges what recovery found (`found`: address to record number), and takes it as the new durable state.
    pub(crate) fn judge(&mut self, found: &BTreeMap<Lsn, u64>, violations: &mut Vec<String>) {
        let needed = |lsn: &Lsn| *lsn >= self.trimmed;
        for (lsn, number) in self.acknowledged.iter().chain(&self.recovered) {
            if needed(lsn) && found.get(lsn) != Some(number) {
                violations
                    .push(format!("LOST: record {number} at {lsn} was durable, found {:?}", found.get(lsn)));
            }
        }
        for (lsn, number) in found {
            let known = self.appended.get(lsn).is_none_or(|other| other == number);
            if !(self.intended.contains(number) && known) {
                violations.push(format!("PHANTOM: record {number} at {lsn} was never appended there"));
            }
        }
        if let Some((&last, _)) = found.last_key_value() {
            for (lsn, number) in self.appended.range(..=last) {
                if needed(lsn) && !found.contains_key(lsn) {
                    violations
                        .push(format!("HOLE: record {number} at {lsn} is missing below the end {last}"));
                }
            }
        }
        // A record that was lost once must never return.
        self.intended = found.values().copied().collect();
        self.recovered = found.clone();
        self.appended = found.clone();
        self.acknowledged.clear();
        self.proofs.clear();
        self.hard = Lsn::NULL;
        self.delayed.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(ledger: &mut LogLedger, found: &[(u32, u64)]) -> Vec<String> {
        let found = found.iter().map(|&(block, number)| (Lsn::new(1, block, 1), number)).collect();
        let mut violations = Vec::new();
        ledger.judge(&found, &mut violations);
        violations.iter().map(|text| text.split(':').next().unwrap_or("").to_owned()).collect()
    }

    fn three() -> LogLedger {
        let mut ledger = LogLedger::default();
        for number in 1..=3 {
            ledger.intended.insert(number);
            ledger.appended.insert(Lsn::new(1, 16 + number as u32, 1), number);
        }
        ledger.acknowledged.insert(Lsn::new(1, 18, 1), 2);
        ledger
    }

    #[test]
    fn what_later_blocks_prove_is_not_lost_in_silence() {
        let at = |block| Lsn::new(1, block, 1);
        let mut ledger = LogLedger::default();
        for number in 1..=3 {
            let before = ledger.intend(number);
            ledger.note_append(at(16 + number as u32), number, before);
            ledger.note_acknowledged(at(16 + number as u32), number);
        }
        let judged_with = |blocks: &[u32], is_all_proved| {
            let found = blocks.iter().map(|block| (at(*block), u64::from(block - 16))).collect();
            let mut violations = Vec::new();
            ledger.judge_damaged(&found, is_all_proved, &mut violations);
            violations.len()
        };
        let judged = |blocks: &[u32]| judged_with(blocks, false);
        assert_eq!((judged(&[17, 18, 19]), judged(&[17, 18])), (0, 0), "nothing proves the last one");
        assert_eq!((judged(&[17]), judged(&[])), (1, 2), "the third was sealed when the second was hard");
        assert_eq!(
            (judged_with(&[17, 18, 19], true), judged_with(&[17, 18], true)),
            (0, 1),
            "memory proves it"
        );
    }

    /// Two records of one block are appended, the block is written, the second is acknowledged; only then the first one's task continues.
    #[test]
    fn a_block_does_not_prove_itself() {
        let (first, second) = (Lsn::new(1, 17, 1), Lsn::new(1, 17, 2));
        let mut ledger = LogLedger::default();
        let before = [ledger.intend(1), ledger.intend(2)];
        ledger.note_append(second, 2, before[1]);
        ledger.note_acknowledged(second, 2);
        ledger.note_append(first, 1, before[0]);
        let mut violations = Vec::new();
        ledger.judge_damaged(&BTreeMap::new(), false, &mut violations);
        assert_eq!(violations, Vec::<String>::new(), "no block stands behind it");
        let (third, before) = (Lsn::new(1, 18, 1), ledger.intend(3));
        ledger.note_append(third, 3, before);
        ledger.note_acknowledged(third, 3);
        ledger.judge_damaged(&BTreeMap::new(), false, &mut violations);
        assert_eq!(violations.len(), 1, "the block of the third proves the second: {violations:?}");
    }

    #[test]
    fn the_oracle_sees_loss_holes_and_phantoms() {
        assert!(judged(&mut three(), &[(17, 1), (18, 2)]).is_empty(), "losing the delayed suffix is allowed");
        assert!(judged(&mut three(), &[(17, 1), (18, 2), (19, 3)]).is_empty());
        assert_eq!(judged(&mut three(), &[(17, 1)]), ["LOST"]);
        assert_eq!(judged(&mut three(), &[(18, 2), (19, 3)]), ["HOLE"]);
        assert_eq!(judged(&mut three(), &[(17, 1), (18, 2), (19, 9)]), ["PHANTOM"]);
        assert_eq!(judged(&mut three(), &[(17, 1), (18, 2), (19, 1)]), ["PHANTOM"]);
        let mut ledger = three();
        assert!(judged(&mut ledger, &[(17, 1), (18, 2), (19, 3)]).is_empty());
        assert_eq!(judged(&mut ledger, &[(17, 1), (18, 2)]), ["LOST"], "what recovery has shown is durable");
        let mut ledger = three();
        assert!(judged(&mut ledger, &[(17, 1), (18, 2)]).is_empty());
        assert_eq!(judged(&mut ledger, &[(17, 1), (18, 2), (19, 3)]), ["PHANTOM"], "what is gone stays gone");
        let mut ledger = three();
        ledger.delayed.insert(Lsn::new(1, 19, 1), 3);
        ledger.acknowledge_delayed();
        assert_eq!(judged(&mut ledger, &[(17, 1), (18, 2)]), ["LOST"], "the cache outlived the process");
        let mut ledger = three();
        ledger.trimmed = Lsn::new(1, 18, 1);
        assert!(judged(&mut ledger, &[(18, 2), (19, 3)]).is_empty(), "truncated");
    }
}
