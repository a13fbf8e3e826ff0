//! The oracle of sequences (F11 of the reliability plan): no value comes twice in any life, whether the transaction that drew it committed
//! or not, and gaps are no larger than the caches that crashes lost.

use std::collections::BTreeSet;

use engine::AHEAD_RANGES_MAX;
use os::Rng;

/// One sequence.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    /// Its initial cache, and the largest that the workload sets.
    cache: i64,
    cache_max: i64,
    harden_ahead: &'static str,
}

/// The sequences of the workload. A world has the first [`FEW`], or all of them.
pub(crate) const KINDS: [Kind; 5] = [
    Kind { name: "tickets", cache: 3, cache_max: 5, harden_ahead: "NEXT" },
    Kind { name: "tickets_ahead", cache: 4, cache_max: 5, harden_ahead: "ON" },
    Kind { name: "tickets_alone", cache: 8, cache_max: 12, harden_ahead: "OFF" },
    Kind { name: "tickets_many", cache: 40, cache_max: 50, harden_ahead: "NEXT" },
    Kind { name: "tickets_many_ahead", cache: 20, cache_max: 25, harden_ahead: "ON" },
];
pub(crate) const FEW: usize = 2;

impl Kind {
    /// The CREATE SEQUENCE statement.
    pub(crate) fn definition(&self) -> String {
        let Kind { name, cache, harden_ahead, .. } = self;
        format!(
            "CREATE SEQUENCE {name} AS bigint START WITH 1 CACHE {cache} WITH (HARDEN_AHEAD = {harden_ahead})"
        )
    }

    /// Limit of the values that one crash may lose.
    fn lost_most(&self) -> i64 {
        let ranges = if self.harden_ahead == "ON" { 2 * AHEAD_RANGES_MAX as i64 } else { 1 };
        ranges * self.cache_max
    }
}

/// Values that the clients asked for and received, by sequence.
#[derive(Default)]
pub(crate) struct Tickets {
    seen: [BTreeSet<i64>; KINDS.len()],
    /// Values that were asked for.
    asked_total: [i64; KINDS.len()],
    /// Values of this life that were asked for and have not been received yet.
    unanswered: [i64; KINDS.len()],
    lives: i64,
    /// For each sequence the last life in which a value was received; values requested since then without an answer.
    last_life: [i64; KINDS.len()],
    unknown: [i64; KINDS.len()],
    /// Number of lives that ended inside a range: the first value of a later life skips more than the values asked for.
    ended_in_range: [u64; KINDS.len()],
    /// The first contradiction found.
    pub(crate) wrong: Option<String>,
}

impl Tickets {
    /// A client is about to ask for `count` values.
    pub(crate) fn ask(&mut self, kind: usize, count: i64) {
        self.asked_total[kind] += count;
        self.unanswered[kind] += count;
    }

    /// A client received a value. The error describes a contradiction.
    pub(crate) fn hand_out(&mut self, kind: usize, value: i64) -> Result<(), String> {
        let Kind { name, .. } = KINDS[kind];
        self.unanswered[kind] -= 1;
        if !self.seen[kind].insert(value) {
            return Err(format!("REPEAT: value {value} of {name} was handed out before"));
        }
        let before = self.seen[kind].iter().rev().nth(1).copied().unwrap_or(0);
        let is_new_life = std::mem::replace(&mut self.last_life[kind], self.lives) != self.lives;
        if is_new_life {
            let unknown = std::mem::take(&mut self.unknown[kind]);
            self.ended_in_range[kind] += u64::from(value - before > 1 + unknown);
        }
        let most = self.asked_total[kind] + KINDS[kind].lost_most() * self.lives;
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
        for (unknown, unanswered) in self.unknown.iter_mut().zip(&mut self.unanswered) {
            *unknown += std::mem::take(unanswered);
        }
    }
}

/// A batch that draws `count` values of a sequence, by one of several equivalent statements.
pub(crate) fn batch(rng: &mut Rng, kind: usize, count: i64) -> String {
    let Kind { name, cache_max, .. } = KINDS[kind];
    let draws = format!("SELECT NEXT VALUE FOR {name}; ").repeat(usize::try_from(count).unwrap_or(1));
    match rng.below(8) {
        0..=3 => draws,
        4 | 5 => format!("BEGIN TRAN; {draws} ROLLBACK"),
        6 => format!("BEGIN TRAN; SAVE TRAN here; {draws} ROLLBACK TRAN here; COMMIT"),
        _ => {
            let end = if rng.chance(1, 2) { "COMMIT" } else { "ROLLBACK" };
            let cache = 1 + rng.below(cache_max as u64);
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

    #[test]
    fn a_life_ends_in_a_range_when_more_is_left_out_than_was_asked_for() {
        let mut tickets = Tickets::default();
        let ended = |tickets: &Tickets| tickets.ended_in_range().map(|(_, count)| count).sum::<u64>();
        // Three values were asked for and one was received; the life ended after the third, or during its answer.
        tickets.ask(1, 3);
        tickets.hand_out(1, 1).expect("the first");
        tickets.end_life();
        tickets.ask(1, 1);
        tickets.hand_out(1, 4).expect("the first of the second life");
        assert_eq!(ended(&tickets), 0);
        // A life without an answer shows nothing; its unanswered requests still count.
        tickets.end_life();
        tickets.ask(1, 2);
        tickets.end_life();
        tickets.ask(1, 2);
        tickets.hand_out(1, 8).expect("behind a lost cache");
        assert_eq!(ended(&tickets), 1);
        tickets.hand_out(1, 10).expect("somebody else was given one between");
        assert_eq!(ended(&tickets), 1);
        tickets.end_life();
        tickets.ask(1, 1);
        tickets.hand_out(1, 11).expect("the next");
        assert_eq!(ended(&tickets), 1);
    }
}
