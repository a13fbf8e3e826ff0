//! A client of scenario `schema`: transactions of definitions and rows on tables of its own, with savepoints, pauses and rollbacks. Each stores
//! its number in a common table, and some write a new version of a common mark.

use std::sync::Arc;

use os::{Latch, Os, Rng, WaitType};
use session::SessionShared;

use super::contest::Contender;
use super::ledger::{MarkWrite, SchemaLedger};
use super::model::{Drawer, Tables};
use super::{DATABASE, MARKS, Plan, SHELF, VISITING_MARKS, WIDE};
use crate::client::{Answer, Client};
use crate::nemesis::Trouble;
use crate::teller::{NO_ROOM, RETRYABLE};

/// Longer than the interval of the ghost cleanup.
const NIGHT_NS: u64 = 5_200_000_000;

/// One such client.
pub(crate) struct Author {
    os: Os,
    sessions: SessionShared,
    ledger: Arc<Latch<SchemaLedger>>,
    plan: Plan,
    client: usize,
    rng: Rng,
    drawer: Drawer,
    next_number: i64,
    tables: Arc<Tables>,
}

/// The changes of a transaction so far.
struct Work {
    tables: Tables,
    marks: Vec<MarkWrite>,
    kinds: Vec<&'static str>,
}

/// The outcome of a transaction.
enum Went {
    /// It has ended as intended.
    Well,
    /// It was rolled back; the next one may be tried.
    Back,
    /// The server cannot go on, as planned.
    Down,
}

impl Author {
    pub(crate) fn new(
        os: &Os,
        sessions: &SessionShared,
        ledger: &Arc<Latch<SchemaLedger>>,
        plan: Plan,
        client: usize,
    ) -> Author {
        let (_, tables) = ledger.lock().base(client);
        Author {
            os: os.clone(),
            sessions: sessions.clone(),
            ledger: Arc::clone(ledger),
            plan,
            client,
            rng: os.rng(&format!("author {client}")),
            drawer: Drawer::new(client, plan.generation, plan.is_wild),
            next_number: (plan.generation << 40) | ((client as i64) << 32),
            tables,
        }
    }

    pub(crate) fn run(mut self) {
        let mut client = match Client::connect(&self.sessions, DATABASE) {
            Ok(client) => client,
            Err(_) if self.plan.trouble.makes_errors() => return,
            Err(error) => panic!("logging in: {error:?}"),
        };
        for _ in 0..self.plan.transactions {
            let went = match self.rng.below(12) {
                0 => self.housekeeping(&mut client),
                1 => self.flush_log(&mut client),
                2 | 3 if self.plan.is_wild => self.contest(&mut client),
                4 if self.plan.is_wild => self.wash(&mut client),
                _ => self.transaction(&mut client),
            };
            if matches!(went, Went::Down) {
                break;
            }
            self.pause(1, 4, 5_000_000);
            if self.plan.is_wild && self.rng.chance(1, 10) {
                // Long enough for a ghost cleanup.
                let _ = self.os.sleep(NIGHT_NS, WaitType::SLEEP_TASK);
            }
        }
        client.close();
    }

    /// Competes for the table name that all authors use.
    fn contest(&mut self, client: &mut Client) -> Went {
        let contender = Contender { ledger: &self.ledger, rng: &mut self.rng, os: &self.os };
        match contender.fight(client) {
            Ok(true) => Went::Well,
            Ok(false) => Went::Back,
            Err(answer) => self.tolerate("a fight for a name", &answer),
        }
    }

    fn pause(&mut self, numerator: u64, denominator: u64, most_ns: u64) {
        if self.rng.chance(numerator, denominator) {
            let pause_ns = self.rng.below(most_ns);
            let _ = self.os.sleep(pause_ns, WaitType::SLEEP_TASK);
        }
    }

    fn housekeeping(&mut self, client: &mut Client) -> Went {
        let answer = client.execute("CHECKPOINT");
        if answer.errors.is_empty() { Went::Well } else { self.tolerate("CHECKPOINT", &answer) }
    }

    /// Writes a new version of every wide row, then a checkpoint, which has several batches of pages to write.
    fn wash(&mut self, client: &mut Client) -> Went {
        self.next_number += 1;
        let version = self.next_number << 4;
        self.ledger.lock().begin(self.client, self.next_number);
        let changes = format!(
            "SET XACT_ABORT OFF; BEGIN TRAN; UPDATE progress SET number = {} WHERE client = {}; \
             UPDATE wide SET version = {version}",
            self.next_number, self.client
        );
        let answer = client.execute(&changes);
        if !answer.errors.is_empty() {
            return self.give_up(client, &answer);
        }
        let marks = [(WIDE, Some(version))];
        self.ledger.lock().committing(self.client, Arc::clone(&self.tables), &marks, true);
        let answer = client.execute("COMMIT TRAN");
        if !answer.errors.is_empty() {
            return self.tolerate("COMMIT", &answer);
        }
        let mut ledger = self.ledger.lock();
        ledger.acknowledge(self.client, true);
        *ledger.changes.entry("UPDATE of all wide rows").or_default() += 1;
        drop(ledger);
        self.housekeeping(client)
    }

    fn flush_log(&mut self, client: &mut Client) -> Went {
        let called_at = self.ledger.lock().tick();
        let answer = client.execute("EXEC sys.sp_flush_log");
        if !answer.errors.is_empty() {
            return self.tolerate("sp_flush_log", &answer);
        }
        self.ledger.lock().flushed(called_at);
        Went::Well
    }

    fn transaction(&mut self, client: &mut Client) -> Went {
        self.next_number += 1;
        let number = self.next_number;
        self.ledger.lock().begin(self.client, number);
        let mut work = Work { tables: Tables::clone(&self.tables), marks: Vec::new(), kinds: Vec::new() };
        let first = format!(
            "SET XACT_ABORT OFF; BEGIN TRAN; UPDATE progress SET number = {number} WHERE client = {}",
            self.client
        );
        let answer = self.changes(client, &first, &mut work);
        if !answer.errors.is_empty() {
            return self.give_up(client, &answer);
        }
        if self.rng.chance(1, if self.plan.is_wild { 4 } else { 6 }) {
            self.ledger.lock().rolled_back(self.client);
            let answer = client.execute("ROLLBACK TRAN");
            return if answer.errors.is_empty() { Went::Back } else { self.tolerate("ROLLBACK", &answer) };
        }
        let is_full = self.rng.chance(1, 2);
        let commit = if is_full { "COMMIT TRAN" } else { "COMMIT TRAN WITH (DELAYED_DURABILITY = ON)" };
        let after = Arc::new(work.tables);
        self.ledger.lock().committing(self.client, Arc::clone(&after), &work.marks, is_full);
        let answer = client.execute(commit);
        if !answer.errors.is_empty() {
            return self.tolerate("COMMIT", &answer);
        }
        let mut ledger = self.ledger.lock();
        ledger.acknowledge(self.client, is_full);
        work.kinds.iter().for_each(|kind| *ledger.changes.entry(kind).or_default() += 1);
        drop(ledger);
        self.tables = after;
        Went::Well
    }

    /// Runs the statements of a transaction; returns the answer to the last one.
    fn changes(&mut self, client: &mut Client, first: &str, work: &mut Work) -> Answer {
        let mut answer = client.execute(first);
        let mut saved: Option<(Tables, Vec<MarkWrite>)> = None;
        let is_long = self.rng.chance(1, 5);
        for _ in 0..1 + self.rng.below(if is_long { 12 } else { 5 }) {
            if !answer.errors.is_empty() {
                return answer;
            }
            answer = match self.rng.below(10) {
                0 if saved.is_none() => {
                    saved = Some((work.tables.clone(), work.marks.clone()));
                    client.execute("SAVE TRAN here")
                }
                1..=3 if saved.is_some() => {
                    // The savepoint stays valid: later rollbacks may use it again.
                    if let Some((tables, marks)) = &saved {
                        (work.tables, work.marks) = (tables.clone(), marks.clone());
                    }
                    client.execute("ROLLBACK TRAN here")
                }
                4 => self.mark(client, work),
                5 if self.plan.is_wild => self.mark(client, work),
                _ => {
                    let change = self.drawer.draw(&mut self.rng, &work.tables);
                    let answer = client.execute(&change.sql);
                    if answer.errors.is_empty() {
                        change.apply(&mut work.tables);
                        work.kinds.push(change.kind);
                    } else {
                        os::report::info("author", &change.sql.chars().take(200).collect::<String>());
                    }
                    answer
                }
            };
            if is_long {
                self.pause(1, 2, 30_000_000);
            }
        }
        answer
    }

    /// Writes a new version of one of the marks, which no reader may see before its commit is requested.
    fn mark(&mut self, client: &mut Client, work: &mut Work) -> Answer {
        // Several marks may have one version.
        let version = self.next_number << 4 | (work.marks.len() as i64).min(15);
        let id = self.rng.below(MARKS as u64) as i64;
        let kind = if self.plan.is_wild { self.rng.below(8) } else { 0 };
        if kind <= 2 {
            work.marks.push((id, Some(version)));
            return client.execute(&format!("UPDATE marks SET version = {version} WHERE id = {id}"));
        }
        // Each client inserts its own mark: two inserts of one id would cause error 2627.
        let visitor = VISITING_MARKS + self.client as i64;
        match kind {
            // The new width differs so much that the row moves, moves again, and returns.
            3..=5 => {
                let bytes =
                    [20, 1_500, 2_800, 4_200, 5_800][self.rng.below(5) as usize] + self.rng.below(200);
                let last = (id + self.rng.below(4) as i64).min(MARKS - 1);
                work.marks.extend((id..=last).map(|id| (SHELF + id, Some(version))));
                client.execute(&format!(
                    "UPDATE shelf SET version = {version}, filler = REPLICATE('f', {bytes}) \
                     WHERE id BETWEEN {id} AND {last}"
                ))
            }
            6 => {
                work.marks.push((visitor, None));
                client.execute(&format!("DELETE FROM marks WHERE id = {visitor}"))
            }
            _ => {
                // Also marks that always exist: no reader may see one missing, not even for a moment.
                let id = if self.rng.chance(1, 2) { id } else { visitor };
                work.marks.push((id, Some(version)));
                client.execute(&format!(
                    "DELETE FROM marks WHERE id = {id}; INSERT INTO marks (id, version) VALUES ({id}, {version})"
                ))
            }
        }
    }

    /// Handles a transaction that met an error: rolls it back if the server still answers.
    fn give_up(&mut self, client: &mut Client, answer: &Answer) -> Went {
        let error = answer.error_number().unwrap_or(0);
        os::report::info("author", &format!("transaction {}: {}", self.next_number, answer.error_text()));
        self.ledger.lock().rolled_back(self.client);
        let is_full = matches!(self.plan.trouble, Trouble::FullAfter(_));
        if !(RETRYABLE.contains(&error) || (NO_ROOM.contains(&error) && is_full)) {
            return self.tolerate("a change", answer);
        }
        let rolled_back = client.execute("IF @@TRANCOUNT > 0 ROLLBACK TRAN");
        assert!(
            rolled_back.errors.is_empty() || !is_full,
            "rollback needs no room, yet: {}",
            rolled_back.error_text()
        );
        if rolled_back.errors.is_empty() { Went::Back } else { self.tolerate("a rollback", &rolled_back) }
    }

    /// Panics on errors that a healthy disk does not explain.
    fn tolerate(&self, what: &str, answer: &Answer) -> Went {
        assert!(self.plan.trouble.makes_errors(), "{what} on a healthy disk: {}", answer.error_text());
        Went::Down
    }
}
