//! Competition for a table name in scenario `schema`: authors create, drop and read one common table; some roll back. While no commit is
//! in progress every author must find the last committed state, regardless of uncommitted changes of others.

use std::sync::Arc;

use os::{Latch, Os, Rng, WaitType};

use super::ledger::SchemaLedger;
use crate::client::{Answer, Client};
use crate::teller::RETRYABLE;

/// The known state of the table.
#[derive(Debug, Default)]
pub(crate) struct Contest {
    is_there: bool,
    /// Commits that have ended.
    decided_total: u64,
    /// Commits that were requested and not answered.
    deciding: u64,
}

impl Contest {
    /// Whether it exists, and the count of commits then; `None` while a commit is in progress.
    fn look(&self) -> Option<(bool, u64)> {
        (self.deciding == 0).then_some((self.is_there, self.decided_total))
    }

    fn decided(&mut self, is_there: bool) {
        assert!(self.deciding > 0, "a commit ends that was asked for");
        self.deciding -= 1;
        self.decided_total += 1;
        self.is_there = is_there;
    }

    /// Judges whether a recovered server has the table, and takes its answer as the known state.
    pub(crate) fn judge(&mut self, is_shown: bool) -> Option<String> {
        let is_wrong = self.look().is_some_and(|(is_there, _)| is_there != is_shown);
        *self = Contest { is_there: is_shown, ..Contest::default() };
        is_wrong.then(|| format!("NAME: after recovery the table of all is {}", presence(is_shown)))
    }
}

fn presence(is_there: bool) -> &'static str {
    if is_there { "there" } else { "not there" }
}

/// The attempted statement; each has an error that says whether the name is used or free.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Attempt {
    Create,
    Drop,
    Read,
}

impl Attempt {
    fn sql(self) -> &'static str {
        match self {
            Attempt::Create => "CREATE TABLE contest (n bigint NOT NULL)",
            Attempt::Drop => "DROP TABLE contest",
            Attempt::Read => "SELECT COUNT(*) FROM contest",
        }
    }

    /// Whether the answer shows that the table existed; `None`: it does not show that.
    fn has_found(self, answer: &Answer) -> Option<bool> {
        match (self, answer.error_number()) {
            (Attempt::Create, None) | (Attempt::Drop, Some(3701)) | (Attempt::Read, Some(208)) => Some(false),
            (Attempt::Create, Some(2714)) | (Attempt::Drop | Attempt::Read, None) => Some(true),
            _ => None,
        }
    }
}

/// An author's attempt.
pub(crate) struct Contender<'a> {
    pub(crate) ledger: &'a Arc<Latch<SchemaLedger>>,
    pub(crate) rng: &'a mut Rng,
    pub(crate) os: &'a Os,
}

impl Contender<'_> {
    /// Runs one transaction. True: it has committed a change.
    ///
    /// # Errors
    /// An answer that a healthy disk does not explain.
    pub(crate) fn fight(self, client: &mut Client) -> Result<bool, Answer> {
        let attempt = [Attempt::Create, Attempt::Drop, Attempt::Read][self.rng.below(3) as usize];
        ask(client, "SET XACT_ABORT OFF; SET TRANSACTION ISOLATION LEVEL READ COMMITTED; BEGIN TRAN")?;
        let before = self.ledger.lock().contest.look();
        let answer = client.execute(attempt.sql());
        let found = attempt.has_found(&answer);
        if let Some(found) = found {
            let mut ledger = self.ledger.lock();
            if before == ledger.contest.look() && before.is_some_and(|(is_there, _)| is_there != found) {
                let text = format!(
                    "NAME: {} has found it {}; what was committed is otherwise",
                    attempt.sql(),
                    presence(found)
                );
                ledger.sightings.push(text);
            }
        } else if !answer.error_number().is_some_and(|error| RETRYABLE.contains(&error)) {
            return Err(answer);
        }
        let has_changed = answer.errors.is_empty() && attempt != Attempt::Read;
        // Meanwhile other authors meet the uncommitted change.
        let _ = self.os.sleep(self.rng.below(20_000_000), WaitType::SLEEP_TASK);
        if !has_changed || self.rng.chance(1, 2) {
            return ask(client, "IF @@TRANCOUNT > 0 ROLLBACK TRAN").map(|()| false);
        }
        self.ledger.lock().contest.deciding += 1;
        ask(client, "COMMIT TRAN")?;
        self.ledger.lock().contest.decided(attempt == Attempt::Create);
        Ok(true)
    }
}

fn ask(client: &mut Client, text: &str) -> Result<(), Answer> {
    let answer = client.execute(text);
    if answer.errors.is_empty() { Ok(()) } else { Err(answer) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_being_decided_may_go_either_way() {
        let mut contest = Contest::default();
        assert_eq!(contest.look(), Some((false, 0)));
        assert!(contest.judge(true).is_some(), "nobody has made it");
        contest.deciding += 1;
        assert_eq!(contest.look(), None);
        assert!(contest.judge(false).is_none());
        contest.deciding += 1;
        contest.decided(true);
        assert_eq!(contest.look(), Some((true, 1)));
        assert!(contest.judge(false).is_some(), "it was made for good");
        assert!(contest.judge(false).is_none(), "what was shown counts");
    }
}
