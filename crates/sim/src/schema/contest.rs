//! Competition for a table name in scenario `schema`: authors create, drop and read one common table; some roll back. While no commit is
//! in progress every author must find the last committed state, regardless of uncommitted changes of others.

use std::sync::Arc;

use os::{Latch, Os, Rng, WaitType};

use super::contest_state::presence;
use super::ledger::SchemaLedger;
use crate::client::{Answer, Client};
use crate::teller::RETRYABLE;

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
        self.ledger.lock().contest.deciding();
        ask(client, "COMMIT TRAN")?;
        self.ledger.lock().contest.decided(attempt == Attempt::Create);
        Ok(true)
    }
}

fn ask(client: &mut Client, text: &str) -> Result<(), Answer> {
    let answer = client.execute(text);
    if answer.errors.is_empty() { Ok(()) } else { Err(answer) }
}
