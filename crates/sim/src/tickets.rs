//! The oracle of sequences (F11 of the reliability plan): no value comes twice in any life, whatever became of the transaction that drew
//! it, and gaps are no larger than the caches that crashes took.

use std::collections::BTreeSet;

use engine::AHEAD_RANGES_MAX;
use os::Rng;

/// The largest cache that the workload gives a sequence.
const CACHE_MAX: i64 = 5;

/// One sequence: its name, and how many values a crash may take.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    lost_most: i64,
}

/// The sequences of the workload.
pub(crate) const KINDS: [Kind; 2] = [
    Kind { name: "tickets", lost_most: CACHE_MAX },
    Kind { name: "tickets_ahead", lost_most: 2 * AHEAD_RANGES_MAX as i64 * CACHE_MAX },
];

/// The statements that make them.
pub(crate) const SETUP: [&str; 2] = [
    "CREATE SEQUENCE tickets AS bigint START WITH 1 CACHE 3",
    "CREATE SEQUENCE tickets_ahead AS bigint START WITH 1 CACHE 4 WITH (HARDEN_AHEAD = ON)",
];

/// What the clients were given, of each sequence.
#[derive(Default)]
pub(crate) struct Tickets {
    seen: [BTreeSet<i64>; KINDS.len()],
    /// Values that were asked for.
    asked_total: [i64; KINDS.len()],
    lives: i64,
    /// The life in which a value of each was handed out last, and lives that have ended in the middle of a range, as the value behind shows.
    last_life: [i64; KINDS.len()],
    ended_in_range: [u64; KINDS.len()],
    /// What was found wrong.
    pub(crate) wrong: Option<String>,
}

impl Tickets {
    /// Some client is about to ask for so many values.
    pub(crate) fn ask(&mut self, kind: usize, count: i64) {
        self.asked_total[kind] += count;
    }

    /// It was given one. An error's text says what is wrong with it.
    pub(crate) fn hand_out(&mut self, kind: usize, value: i64) -> Result<(), String> {
        let Kind { name, lost_most } = KINDS[kind];
        if !self.seen[kind].insert(value) {
            return Err(format!("REPEAT: value {value} of {name} was handed out before"));
        }
        let before = self.seen[kind].iter().rev().nth(1).copied().unwrap_or(0);
        let is_new_life = std::mem::replace(&mut self.last_life[kind], self.lives) != self.lives;
        self.ended_in_range[kind] += u64::from(is_new_life && value > before + 1);
        let most = self.asked_total[kind] + lost_most * self.lives;
        if value > most {
            return Err(format!(
                "GAP: value {value} of {name}, although {most} is the most that lost caches explain"
            ));
        }
        Ok(())
    }

    /// How often a life of the server has ended in the middle of a range, by sequence.
    pub(crate) fn ended_in_range(&self) -> impl Iterator<Item = (&'static str, u64)> {
        KINDS.iter().map(|kind| kind.name).zip(self.ended_in_range)
    }

    /// A life of the server has ended.
    pub(crate) fn end_life(&mut self) {
        self.lives += 1;
    }
}

/// A batch that draws `count` values of a sequence, in one of the ways that must not matter.
pub(crate) fn batch(rng: &mut Rng, kind: usize, count: i64) -> String {
    let name = KINDS[kind].name;
    let draws = format!("SELECT NEXT VALUE FOR {name}; ").repeat(usize::try_from(count).unwrap_or(1));
    match rng.below(8) {
        0..=3 => draws,
        4 | 5 => format!("BEGIN TRAN; {draws} ROLLBACK"),
        6 => format!("BEGIN TRAN; SAVE TRAN here; {draws} ROLLBACK TRAN here; COMMIT"),
        _ => {
            let end = if rng.chance(1, 2) { "COMMIT" } else { "ROLLBACK" };
            let cache = 1 + rng.below(CACHE_MAX as u64);
            format!("BEGIN TRAN; ALTER SEQUENCE {name} CACHE {cache}; {draws} {end}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_comes_once_and_gaps_are_lost_caches() {
        let mut tickets = Tickets::default();
        tickets.ask(0, 2);
        assert_eq!(tickets.hand_out(0, 1), Ok(()));
        assert!(tickets.hand_out(0, 1).is_err_and(|text| text.starts_with("REPEAT")));
        assert!(tickets.hand_out(0, 3).is_err_and(|text| text.starts_with("GAP")), "nothing was lost yet");
        tickets.end_life();
        tickets.ask(0, 1);
        assert!(tickets.hand_out(0, 1).is_err_and(|text| text.starts_with("REPEAT")), "in a later life, too");
        assert_eq!(tickets.hand_out(0, 8), Ok(()));
        assert!(tickets.hand_out(0, 9).is_err_and(|text| text.starts_with("GAP")));
    }
}
