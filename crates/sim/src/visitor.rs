//! Additional sessions for the SQL workload, which insert one visit after another: so many that the LOG WRITER leads and leaves commits pending.
//!
//! Their oracle: an acknowledged visit stays, no visit exists twice, and no visit exists that was never attempted.

use std::collections::BTreeSet;
use std::sync::Arc;

use os::{Latch, Os, Rng, WaitType};
use session::SessionShared;

use crate::client::Client;
use crate::nemesis::Trouble;

/// Attempted and acknowledged visits, kept outside the world.
#[derive(Default)]
pub(crate) struct Visits {
    tried: BTreeSet<i64>,
    acknowledged: BTreeSet<i64>,
    /// Commits that were left pending, of tellers too.
    pub(crate) pending_commits: u64,
}

impl Visits {
    /// Visits that were acknowledged in the life that has just ended, or shown before.
    pub(crate) fn acknowledged(&self) -> u64 {
        self.acknowledged.len() as u64
    }

    /// Judges the visits that a recovered server shows, and takes them as the durable state.
    pub(crate) fn judge(&mut self, shown: &[i64]) -> Vec<String> {
        let found: BTreeSet<i64> = shown.iter().copied().collect();
        let lost = self.acknowledged.difference(&found).map(|visit| format!("LOST: visit {visit}"));
        let phantoms = found.difference(&self.tried).map(|visit| format!("PHANTOM: visit {visit}"));
        let mut violations: Vec<String> = lost.chain(phantoms).collect();
        if found.len() != shown.len() {
            violations.push(format!("TWICE: {} rows of {} visits", shown.len(), found.len()));
        }
        self.acknowledged = found;
        violations
    }
}

/// One of these sessions.
pub(crate) struct Visitor {
    pub(crate) os: Os,
    pub(crate) sessions: SessionShared,
    pub(crate) visits: Arc<Latch<Visits>>,
    pub(crate) trouble: Trouble,
    pub(crate) rng: Rng,
    pub(crate) next_number: i64,
    pub(crate) count: u64,
}

impl Visitor {
    pub(crate) fn run(mut self) {
        let mut client = match Client::connect(&self.sessions, "bank") {
            Ok(client) => client,
            Err(_) if self.trouble.makes_errors() => return,
            Err(error) => panic!("logging in: {error:?}"),
        };
        if self.rng.chance(3, 4) {
            client.allow_pending_commits();
        }
        for _ in 0..self.count {
            if !self.visit(&mut client) {
                break;
            }
            if self.rng.chance(1, 8) {
                let pause_ns = self.rng.below(300_000);
                let _ = self.os.sleep(pause_ns, WaitType::SLEEP_TASK);
            }
        }
        client.close();
    }

    /// Inserts one row in a transaction of its own, or two rows; false: the server cannot go on, as planned.
    fn visit(&mut self, client: &mut Client) -> bool {
        let count = if self.rng.chance(1, 4) { 2 } else { 1 };
        let numbers: Vec<i64> = (0..count).map(|more| self.next_number + more).collect();
        self.next_number += count;
        self.visits.lock().tried.extend(&numbers);
        let row = |number: &i64| format!("INSERT INTO visits (number) VALUES ({number});");
        let rows: String = numbers.iter().map(row).collect();
        let batches = match self.rng.below(4) {
            // Each row commits by itself; the first is settled before the second begins.
            0 | 1 => vec![rows],
            2 => vec![format!("BEGIN TRAN; {rows} COMMIT TRAN")],
            _ => vec![format!("BEGIN TRAN; {rows}"), "COMMIT TRAN".to_owned()],
        };
        for batch in batches {
            let answer = client.execute(&batch);
            self.visits.lock().pending_commits += client.newly_pending();
            if !answer.errors.is_empty() {
                assert!(self.trouble.makes_errors(), "a visit on a healthy disk: {}", answer.error_text());
                return false;
            }
        }
        self.visits.lock().acknowledged.extend(&numbers);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oracle_sees_losses_phantoms_and_doubles() {
        let mut visits = Visits::default();
        visits.tried.extend([1, 2, 3]);
        visits.acknowledged.extend([1, 2]);
        assert_eq!(visits.judge(&[1, 2]), Vec::<String>::new(), "nobody was promised 3");
        assert_eq!(visits.judge(&[1, 2, 3]), Vec::<String>::new());
        assert_eq!(visits.judge(&[1, 2]), ["LOST: visit 3"], "it was shown");
        assert_eq!(visits.judge(&[1, 2, 4]), ["PHANTOM: visit 4"]);
        assert_eq!(visits.judge(&[1, 2, 4, 2]).len(), 2);
    }
}
