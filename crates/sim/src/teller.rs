//! One client of the SQL workload: transactions that transfer money. Each inserts a row of the history; some also insert rows of a heap, a
//! receipt with an identity value, or a row of a temporary table.

use os::sim::World;
use os::{Latch, Os, Rng, WaitType};
use session::SessionShared;
use std::sync::Arc;

use crate::client::{Answer, Client, number};
use crate::nemesis::{Nemesis, Trouble};
use crate::receipts::Receipts;
use crate::sql_ledger::{ACCOUNTS, SqlLedger, Stage, Transfer};
use crate::survival;
use crate::tickets::{self, Tickets};
use crate::visitor::Visits;

/// Errors that roll back the transaction, which may be retried: deadlock victim, lock time-out.
pub(crate) const RETRYABLE: [i32; 2] = [1205, 1222];
/// Errors of a full disk or log: the transaction must roll back, which needs no room, and the server goes on.
pub(crate) const NO_ROOM: [i32; 3] = [1101, 1105, 9002];

/// Number of draws of the client that only draws from sequences.
pub(crate) const DRAWS: u64 = 60;
/// A life that ends after a draw ends within so many task switches.
const SWITCHES_TO_END: u64 = 300;

/// The plan of one life of the server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) generation: i64,
    /// The log caches of this life survive the process.
    pub(crate) cache_survives: bool,
    pub(crate) clients: i64,
    pub(crate) transactions: u64,
    pub(crate) trouble: Trouble,
    /// Visitors load the log; some tellers leave their commits pending.
    pub(crate) is_crowded: bool,
    /// Number of sequences ([`tickets::KINDS`]) from which tellers draw.
    pub(crate) sequences: usize,
    /// One client only draws from sequences.
    pub(crate) has_drawer: bool,
    /// The life ends soon after so many draws of that client.
    pub(crate) ends_after_draws: Option<u64>,
    /// Every third turn is a checkpoint, so that pages are written soon after their changes.
    pub(crate) checkpoints_often: bool,
    /// Number of writes to tempdb's files before they begin to fail; other databases must not be affected.
    pub(crate) tempdb_fails_after: Option<u64>,
}

/// Ledgers, kept outside the world so that no crash destroys them.
#[derive(Clone)]
pub(crate) struct Ledgers {
    pub(crate) bank: Arc<Latch<SqlLedger>>,
    pub(crate) receipts: Arc<Latch<Receipts>>,
    pub(crate) visits: Arc<Latch<Visits>>,
    pub(crate) tickets: Arc<Latch<Tickets>>,
}

/// One client of the workload.
pub(crate) struct Teller {
    os: Os,
    sessions: SessionShared,
    ledgers: Ledgers,
    plan: Plan,
    rng: Rng,
    next_number: i64,
    /// It has created its temporary table.
    has_scratch: bool,
    /// It leaves commits pending.
    leaves_pending: bool,
    /// Random stream for the draws from sequences: separate, so that the seeds of the corpus keep their meaning.
    ticket_rng: Rng,
}

/// Additional work of a transfer's batch.
#[derive(Clone, Copy)]
struct Extras {
    takes_receipt: bool,
    scratches: bool,
}

impl Teller {
    pub(crate) fn new(
        os: &Os,
        sessions: &SessionShared,
        ledgers: &Ledgers,
        plan: Plan,
        number: i64,
    ) -> Teller {
        let mut rng = os.rng(&format!("client {number}"));
        let leaves_pending = if plan.is_crowded {
            rng.chance(1, 2)
        } else {
            // A stream of its own, so that the seeds of the corpus keep their meaning.
            os.rng(&format!("client {number} defers")).chance(1, 4)
        };
        Teller {
            os: os.clone(),
            sessions: sessions.clone(),
            ledgers: ledgers.clone(),
            plan,
            rng,
            next_number: (plan.generation << 40) | (number << 32),
            has_scratch: false,
            leaves_pending,
            ticket_rng: os.rng(&format!("client {number} tickets")),
        }
    }

    pub(crate) fn run(mut self) {
        let mut client = match Client::connect(&self.sessions, "bank") {
            Ok(client) => client,
            Err(_) if self.plan.trouble.makes_errors() => return,
            Err(error) => panic!("logging in: {error:?}"),
        };
        if self.leaves_pending {
            client.allow_pending_commits();
        }
        self.prepare_tempdb(&mut client);
        for _ in 0..self.plan.transactions {
            let going = match self.rng.below(16) {
                0 | 1 => self.housekeeping(&mut client, "CHECKPOINT"),
                2 => self.flush_log(&mut client),
                3..=6 if self.plan.checkpoints_often => self.housekeeping(&mut client, "CHECKPOINT"),
                _ => self.transfer(&mut client),
            };
            if !going || !self.draw_tickets(&mut client) {
                break;
            }
            if self.rng.chance(1, 4) {
                let pause_ns = self.rng.below(5_000_000);
                let _ = self.os.sleep(pause_ns, WaitType::SLEEP_TASK);
            }
        }
        // This also covers a client that gives up: its session ends and releases its locks, for which others may wait.
        self.ledgers.visits.lock().pending_commits += client.newly_pending();
        client.close();
    }

    /// Only draws from sequences, and does not commit: only other clients' commits harden the log. Arms the end of the life if the plan
    /// says so.
    pub(crate) fn draw(mut self, world: &World) {
        let mut client = match Client::connect(&self.sessions, "bank") {
            Ok(client) => client,
            Err(_) if self.plan.trouble.makes_errors() => return,
            Err(error) => panic!("logging in: {error:?}"),
        };
        for draw in 0..DRAWS {
            if self.plan.ends_after_draws == Some(draw) {
                let switches = 1 + self.ticket_rng.below(SWITCHES_TO_END);
                let is_killed = self.ticket_rng.chance(1, 3);
                let kind = if is_killed { Nemesis::KillAtSwitch } else { Nemesis::PowerOffAtSwitch };
                kind(switches).arm(world);
            }
            if !self.draw_tickets(&mut client) {
                break;
            }
            if self.ticket_rng.chance(1, 4) {
                let _ = self.os.sleep(self.ticket_rng.below(2_000_000), WaitType::SLEEP_TASK);
            }
        }
        client.close();
    }

    /// Creates a temporary table of the session and a global one; neither may exist before, whatever an earlier life left (F12).
    fn prepare_tempdb(&mut self, client: &mut Client) {
        let own =
            client.execute("CREATE TABLE #scratch (number bigint NOT NULL, filler varchar(900) NOT NULL)");
        self.has_scratch = own.errors.is_empty();
        let table = format!("tempdb.dbo.marks_{}", self.next_number >> 32 & 0xff);
        let global = client.execute(&format!("CREATE TABLE {table} (number bigint NOT NULL)"));
        for answer in [own, global] {
            assert!(
                answer.errors.is_empty() || self.tempdb_may_fail(),
                "making a table in tempdb: {}",
                answer.error_text()
            );
        }
    }

    fn tempdb_may_fail(&self) -> bool {
        self.plan.tempdb_fails_after.is_some() || self.plan.trouble.makes_errors()
    }

    /// False: the server cannot go on, as planned.
    fn housekeeping(&mut self, client: &mut Client, text: &str) -> bool {
        let answer = client.execute(text);
        answer.errors.is_empty() || self.tolerates(text, &answer)
    }

    fn flush_log(&mut self, client: &mut Client) -> bool {
        let called_at = self.ledgers.bank.lock().tick();
        let answer = client.execute("EXEC sys.sp_flush_log");
        if answer.errors.is_empty() {
            self.ledgers.bank.lock().flushed(called_at);
            return true;
        }
        self.tolerates("sp_flush_log", &answer)
    }

    /// Sometimes draws from a sequence; false: the server cannot go on, as planned.
    fn draw_tickets(&mut self, client: &mut Client) -> bool {
        if self.plan.sequences == 0 || self.ticket_rng.chance(1, 3) {
            return true;
        }
        let kind = self.ticket_rng.below(self.plan.sequences as u64) as usize;
        // Sometimes so many that one batch uses several ranges.
        let most = if self.ticket_rng.chance(1, 3) { 30 } else { 4 };
        let count = 1 + self.ticket_rng.below(most) as i64;
        self.ledgers.tickets.lock().ask(kind, count);
        let tickets = Arc::clone(&self.ledgers.tickets);
        let answer = client.execute_before(&tickets::batch(&mut self.ticket_rng, kind, count), move |row| {
            let mut tickets = tickets.lock();
            let value = number(&row[0]).expect("values are numbers");
            let handed_out = tickets.hand_out(kind, value);
            tickets.wrong = tickets.wrong.take().or(handed_out.err());
        });
        let wrong = self.ledgers.tickets.lock().wrong.take();
        if let Some(text) = wrong {
            panic!("{text}");
        }
        if answer.errors.is_empty() {
            return true;
        }
        let error = answer.error_number().unwrap_or(0);
        let is_out_of_room = NO_ROOM.contains(&error) && matches!(self.plan.trouble, Trouble::FullAfter(_));
        if is_out_of_room || RETRYABLE.contains(&error) {
            let rolled_back = client.execute("IF @@TRANCOUNT > 0 ROLLBACK TRAN");
            return rolled_back.errors.is_empty() || self.tolerates("a rollback", &rolled_back);
        }
        self.tolerates("a sequence", &answer)
    }

    /// Transfers money in one transaction; false: the server cannot go on, as planned.
    fn transfer(&mut self, client: &mut Client) -> bool {
        self.next_number += 1;
        let number = self.next_number;
        let transfer = self.draw_transfer();
        self.ledgers.bank.lock().begin(number, transfer.clone());
        let extras = Extras {
            takes_receipt: self.rng.chance(1, 3),
            scratches: self.has_scratch && self.rng.chance(1, 4),
        };
        if extras.takes_receipt {
            self.ledgers.receipts.lock().ask(number);
        }
        let body = self.body(number, &transfer, extras);
        let ending = self.rng.below(8);
        let is_full = self.rng.chance(1, 2);
        let commit = if is_full { "COMMIT TRAN" } else { "COMMIT TRAN WITH (DELAYED_DURABILITY = ON)" };
        let answer = match ending {
            0 => {
                self.set_stage(number, Stage::RolledBack);
                self.ask(client, number, &format!("BEGIN TRAN; {body} ROLLBACK TRAN"))
            }
            1..=3 => {
                self.set_stage(number, Stage::Committing);
                self.ask(client, number, &whole_or_nothing(number, &body, commit))
            }
            _ => {
                let answer = self.ask(client, number, &format!("SET XACT_ABORT OFF; BEGIN TRAN; {body}"));
                if answer.errors.is_empty() {
                    self.set_stage(number, Stage::Committing);
                    client.execute(commit)
                } else {
                    answer
                }
            }
        };
        if answer.errors.is_empty() {
            if self.plan.cache_survives {
                survival::told_by_the_living(&self.os);
            }
            if ending != 0 {
                self.ledgers.bank.lock().acknowledge(number, is_full);
            }
            return true;
        }
        self.give_up(client, number, extras, &answer)
    }

    fn set_stage(&self, number: i64, stage: Stage) {
        self.ledgers.bank.lock().set_stage(number, stage);
    }

    /// Runs a batch whose only row, if any, is the number and stamp of a receipt.
    fn ask(&self, client: &mut Client, number: i64, text: &str) -> Answer {
        let answer = client.execute(text);
        for row in answer.numbers().expect("receipts have numbers") {
            let mut receipts = self.ledgers.receipts.lock();
            let handed_out = receipts.hand_out(number, row[0]).and_then(|()| receipts.hand_out_stamp(row[1]));
            drop(receipts);
            if let Err(text) = handed_out {
                panic!("{text}");
            }
        }
        answer
    }

    /// Handles a transaction that met an error: rolls it back if the server still answers.
    fn give_up(&mut self, client: &mut Client, number: i64, extras: Extras, answer: &Answer) -> bool {
        let error = answer.error_number().unwrap_or(0);
        os::report::info("client", &format!("transaction {number}: {}", answer.error_text()));
        if extras.scratches && self.plan.tempdb_fails_after.is_some() {
            return false;
        }
        let is_out_of_room = NO_ROOM.contains(&error) && matches!(self.plan.trouble, Trouble::FullAfter(_));
        if !(is_out_of_room || RETRYABLE.contains(&error)) {
            return self.tolerates("a transfer", answer);
        }
        let rolled_back = client.execute("IF @@TRANCOUNT > 0 ROLLBACK TRAN");
        assert!(
            rolled_back.errors.is_empty() || !matches!(self.plan.trouble, Trouble::FullAfter(_)),
            "rollback needs no room, yet: {}",
            rolled_back.error_text()
        );
        if rolled_back.errors.is_empty() {
            self.set_stage(number, Stage::RolledBack);
            return true;
        }
        self.tolerates("a rollback", &rolled_back)
    }

    /// Panics on errors that a healthy disk does not explain. False: stop, a planned fault has occurred.
    fn tolerates(&self, what: &str, answer: &Answer) -> bool {
        assert!(self.plan.trouble.makes_errors(), "{what} on a healthy disk: {}", answer.error_text());
        false
    }

    fn draw_transfer(&mut self) -> Transfer {
        let from = self.rng.below(ACCOUNTS as u64) as i64;
        let to = (from + 1 + self.rng.below(ACCOUNTS as u64 - 1) as i64) % ACCOUNTS;
        let heap_rows = match self.rng.below(48) {
            0..=15 => self.rng.below(6) as i64,
            // Several log blocks at once, so that some writes are in progress at the same time.
            16 => 40 + self.rng.below(60) as i64,
            _ => 0,
        };
        Transfer { from, to, amount: 1 + self.rng.below(50) as i64, heap_rows }
    }

    fn body(&mut self, number: i64, transfer: &Transfer, extras: Extras) -> String {
        let Transfer { from, to, amount, heap_rows } = transfer;
        // Mostly in the order of the accounts; the other orders cause deadlocks.
        let mut updates = [(*from, -amount), (*to, *amount)];
        if self.rng.chance(3, 4) {
            updates.sort_unstable();
        }
        let update = |(id, change): (i64, i64)| {
            format!("UPDATE accounts SET balance = balance + ({change}) WHERE id = {id};")
        };
        let [first, second] = updates.map(update);
        let note = "n".repeat(self.rng.below(400) as usize);
        let mut text = format!(
            "{first} {second} INSERT INTO history (number, source, target, amount, heap_rows, note) \
             VALUES ({number}, {from}, {to}, {amount}, {heap_rows}, '{note}');"
        );
        if extras.takes_receipt {
            text.push_str(&format!(
                " INSERT INTO receipts (number) OUTPUT inserted.receipt, CAST(inserted.stamp AS bigint) VALUES ({number});"
            ));
        }
        if extras.scratches {
            let filler = "f".repeat(self.rng.below(900) as usize);
            text.push_str(&format!(" INSERT INTO #scratch (number, filler) VALUES ({number}, '{filler}');"));
        }
        text.push_str(&self.pile(number, *heap_rows));
        if self.rng.chance(1, 4) {
            // Work that is rolled back to a savepoint.
            text.push_str(
                " SAVE TRAN before; UPDATE accounts SET balance = 0; DELETE FROM heap; ROLLBACK TRAN before;",
            );
        }
        text
    }

    /// Statements that add rows to the heap: a few of different lengths, or many by a loop.
    fn pile(&mut self, number: i64, rows: i64) -> String {
        if rows > 6 {
            let bytes = 1_000 + self.rng.below(1_000);
            return format!(
                " DECLARE @row int = 0; WHILE @row < {rows} BEGIN INSERT INTO heap (number, payload) \
                 VALUES ({number}, REPLICATE('p', {bytes})); SET @row += 1; END;"
            );
        }
        let mut text = String::new();
        for _ in 0..rows {
            let payload = "p".repeat(self.rng.below(2_000) as usize);
            text.push_str(&format!(" INSERT INTO heap (number, payload) VALUES ({number}, '{payload}');"));
        }
        text
    }
}

/// One batch in which an error of a statement leaves no effect. Without this, the statements after the error would still commit, as a batch
/// does under XACT_ABORT OFF.
fn whole_or_nothing(number: i64, body: &str, commit: &str) -> String {
    if number % 2 == 0 {
        return format!("SET XACT_ABORT ON; BEGIN TRAN; {body} {commit}");
    }
    format!(
        "SET XACT_ABORT OFF; BEGIN TRY BEGIN TRAN; {body} {commit}; END TRY \
         BEGIN CATCH IF @@TRANCOUNT > 0 ROLLBACK TRAN; THROW; END CATCH"
    )
}
