//! Scenario `sql`: sessions move money in mixed durability while checkpoints run and little memory forces pages out; crash,
//! restart, judge; again.
//!
//! Oracles (F1-F4, F7, F9, F10 of the reliability plan): full commits survive, delayed losses are a suffix, no phantom, no
//! torn transaction (balances, heap and index agree with the history), what one recovery shows stays.

use std::sync::{Arc, OnceLock};

use engine::{Instance, InstanceOptions};
use os::sim::{Bug, DiskImage, End, Profile, World};
use os::{Latch, LatchRank, Os, Rng, WaitType};
use session::SessionShared;

use crate::Outcome;
use crate::client::{Answer, Client, shared};
use crate::nemesis::{Nemesis, Trouble};
use crate::sql_ledger::{ACCOUNTS, Found, OPENING_BALANCE, SqlLedger, Stage, Transfer};

const DATA: &str = "/data";
/// Errors after which the statement's transaction is rolled back and may be tried again: deadlock victim, lock time-out.
const RETRYABLE: [i32; 2] = [1205, 1222];
/// Errors of a full disk or log: the transaction must be taken back, which needs no room, and the server goes on.
const NO_ROOM: [i32; 3] = [1101, 1105, 9002];

type Ledger = Arc<Latch<SqlLedger>>;

/// What one life of the server is to do.
#[derive(Clone, Copy, Debug)]
struct Plan {
    generation: i64,
    clients: i64,
    transactions: u64,
    trouble: Trouble,
}

/// Runs the scenario for one seed.
pub(crate) fn run(seed: u64, bug: Option<Bug>) -> Outcome {
    let world = World::with_disk(seed, Profile::drawn(seed), prepared_disk());
    world.plant(bug);
    let mut rng = Rng::named(seed, "sql scenario");
    let ledger: Ledger = Arc::new(Latch::new(LatchRank::Leaf, SqlLedger::default()));
    let mut outcome = Outcome::new(seed);
    let generations = 1 + rng.below(3) as i64;
    for generation in 1..=generations {
        let nemesis = Nemesis::draw(&mut rng, 1_000, 8_000);
        nemesis.arm(&world);
        let trouble = Trouble::draw(&mut rng, 600);
        trouble.arm(&world);
        let plan =
            Plan { generation, clients: 2 + rng.below(5) as i64, transactions: 4 + rng.below(12), trouble };
        outcome.log.push(format!("{plan:?} {nemesis:?}"));
        live(&world, &ledger, plan, &mut outcome);
        Trouble::heal(&world);
        outcome.acknowledged += ledger.lock().acknowledged();
        recover(&world, &ledger, &mut rng, &mut outcome);
        if !outcome.violations.is_empty() {
            break;
        }
    }
    outcome
}

/// A data directory with the bank's database, made once in the process, in a world of its own.
fn prepared_disk() -> DiskImage {
    static PREPARED: OnceLock<DiskImage> = OnceLock::new();
    PREPARED.get_or_init(prepare).clone()
}

fn prepare() -> DiskImage {
    let world = World::new(0, Profile::nvme());
    let report = world.run(|os| {
        let instance = open(os).expect("a first start on a healthy disk");
        let mut client = Client::connect(&shared(&instance), "master").expect("master");
        client.must("CREATE DATABASE bank");
        client.must("ALTER DATABASE bank SET DELAYED_DURABILITY = ALLOWED");
        client.must("USE bank");
        client.must("CREATE TABLE accounts (id int NOT NULL PRIMARY KEY, balance bigint NOT NULL)");
        client.must(
            "CREATE TABLE history (number bigint NOT NULL PRIMARY KEY, source int NOT NULL, target int NOT NULL, \
             amount bigint NOT NULL, heap_rows int NOT NULL, note varchar(400) NOT NULL)",
        );
        client.must("CREATE INDEX by_amount ON history (amount)");
        client.must("CREATE TABLE heap (number bigint NOT NULL, payload varchar(2000) NOT NULL)");
        for id in 0..ACCOUNTS {
            client.must(&format!("INSERT INTO accounts (id, balance) VALUES ({id}, {OPENING_BALANCE})"));
        }
        client.close();
        instance.shutdown();
    });
    report.assert_ok();
    world.disk_image()
}

/// Little memory, so that dirty pages must be written out in the middle of things.
fn open(os: &Os) -> Result<Arc<Instance>, String> {
    let mut options = InstanceOptions::new(DATA);
    options.buffer_pool_bytes = 1 << 20;
    Instance::open(os, &options).map_err(|error| error.to_string())
}

/// One life of the server: clients work until the nemesis strikes or all is done.
fn live(world: &World, ledger: &Ledger, plan: Plan, outcome: &mut Outcome) {
    let ledger = Arc::clone(ledger);
    let report = world.run(move |os| {
        let instance = match open(os) {
            Ok(instance) => instance,
            Err(_) if plan.trouble.makes_errors() => return,
            Err(error) => panic!("opening what recovery has just opened: {error}"),
        };
        let sessions = shared(&instance);
        let start = |number| {
            let teller = Teller::new(os, &sessions, &ledger, plan, number);
            os.spawn(&format!("client {number}"), move || teller.run())
        };
        for client in (0..plan.clients).map(start).collect::<Vec<_>>() {
            let _ = client.join();
        }
        instance.shutdown();
        if !plan.trouble.makes_errors() {
            // An orderly stop drains.
            ledger.lock().drained();
        }
    });
    outcome.note(&report);
}

/// One client's work.
struct Teller {
    os: Os,
    sessions: SessionShared,
    ledger: Ledger,
    plan: Plan,
    rng: Rng,
    next_number: i64,
}

impl Teller {
    fn new(os: &Os, sessions: &SessionShared, ledger: &Ledger, plan: Plan, number: i64) -> Teller {
        Teller {
            os: os.clone(),
            sessions: sessions.clone(),
            ledger: Arc::clone(ledger),
            plan,
            rng: os.rng(&format!("client {number}")),
            next_number: (plan.generation << 40) | (number << 32),
        }
    }

    fn run(mut self) {
        let mut client = match Client::connect(&self.sessions, "bank") {
            Ok(client) => client,
            Err(_) if self.plan.trouble.makes_errors() => return,
            Err(error) => panic!("logging in: {error:?}"),
        };
        for _ in 0..self.plan.transactions {
            let going = match self.rng.below(16) {
                0 => self.housekeeping(&mut client, "CHECKPOINT"),
                1 => self.flush_log(&mut client),
                _ => self.transfer(&mut client),
            };
            if !going {
                break;
            }
            if self.rng.chance(1, 4) {
                let pause_ns = self.rng.below(5_000_000);
                let _ = self.os.sleep(pause_ns, WaitType::SLEEP_TASK);
            }
        }
        // Also the one who gives up: his connection ends, which gives his locks back. Others may be waiting for them.
        client.close();
    }

    /// False: the server cannot go on, as planned.
    fn housekeeping(&mut self, client: &mut Client, text: &str) -> bool {
        let answer = client.execute(text);
        answer.errors.is_empty() || self.tolerates(text, &answer)
    }

    fn flush_log(&mut self, client: &mut Client) -> bool {
        let called_at = self.ledger.lock().tick();
        let answer = client.execute("EXEC sys.sp_flush_log");
        if answer.errors.is_empty() {
            self.ledger.lock().flushed(called_at);
            return true;
        }
        self.tolerates("sp_flush_log", &answer)
    }

    /// Moves money in one transaction; false: the server cannot go on, as planned.
    fn transfer(&mut self, client: &mut Client) -> bool {
        self.next_number += 1;
        let number = self.next_number;
        let transfer = self.draw_transfer();
        self.ledger.lock().begin(number, transfer.clone());
        let body = self.body(number, &transfer);
        let ending = self.rng.below(8);
        let is_full = self.rng.chance(1, 2);
        let commit = if is_full { "COMMIT TRAN" } else { "COMMIT TRAN WITH (DELAYED_DURABILITY = ON)" };
        let answer = match ending {
            0 => {
                self.ledger.lock().set_stage(number, Stage::RolledBack);
                client.execute(&format!("BEGIN TRAN; {body} ROLLBACK TRAN"))
            }
            1..=3 => {
                self.ledger.lock().set_stage(number, Stage::Committing);
                client.execute(&whole_or_nothing(number, &body, commit))
            }
            _ => {
                let answer = client.execute(&format!("SET XACT_ABORT OFF; BEGIN TRAN; {body}"));
                if answer.errors.is_empty() {
                    self.ledger.lock().set_stage(number, Stage::Committing);
                    client.execute(commit)
                } else {
                    answer
                }
            }
        };
        if answer.errors.is_empty() {
            if ending != 0 {
                self.ledger.lock().acknowledge(number, is_full);
            }
            return true;
        }
        self.give_up(client, number, &answer)
    }

    /// A transaction that met an error: rolled back if the server can still say so.
    fn give_up(&mut self, client: &mut Client, number: i64, answer: &Answer) -> bool {
        let error = answer.error_number().unwrap_or(0);
        os::report::info("client", &format!("transaction {number}: {}", answer.error_text()));
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
            self.ledger.lock().set_stage(number, Stage::RolledBack);
            return true;
        }
        self.tolerates("a rollback", &rolled_back)
    }

    /// Panics on errors that a healthy device does not explain. False: stop, the plan had trouble in store.
    fn tolerates(&self, what: &str, answer: &Answer) -> bool {
        assert!(self.plan.trouble.makes_errors(), "{what} on a healthy disk: {}", answer.error_text());
        false
    }

    fn draw_transfer(&mut self) -> Transfer {
        let from = self.rng.below(ACCOUNTS as u64) as i64;
        let to = (from + 1 + self.rng.below(ACCOUNTS as u64 - 1) as i64) % ACCOUNTS;
        let heap_rows = if self.rng.chance(1, 3) { self.rng.below(6) as i64 } else { 0 };
        Transfer { from, to, amount: 1 + self.rng.below(50) as i64, heap_rows }
    }

    fn body(&mut self, number: i64, transfer: &Transfer) -> String {
        let Transfer { from, to, amount, heap_rows } = transfer;
        // Mostly in the order of the accounts; the rest makes deadlocks.
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
        for _ in 0..*heap_rows {
            let payload = "p".repeat(self.rng.below(2_000) as usize);
            text.push_str(&format!(" INSERT INTO heap (number, payload) VALUES ({number}, '{payload}');"));
        }
        if self.rng.chance(1, 4) {
            // Work that a savepoint takes back.
            text.push_str(
                " SAVE TRAN before; UPDATE accounts SET balance = 0; DELETE FROM heap; ROLLBACK TRAN before;",
            );
        }
        text
    }
}

/// One batch in which an error of a statement leaves nothing behind. Without that the statements after it would still be committed: that
/// is what a batch means (XACT_ABORT OFF).
fn whole_or_nothing(number: i64, body: &str, commit: &str) -> String {
    if number % 2 == 0 {
        return format!("SET XACT_ABORT ON; BEGIN TRAN; {body} {commit}");
    }
    format!(
        "SET XACT_ABORT OFF; BEGIN TRY BEGIN TRAN; {body} {commit}; END TRY \
         BEGIN CATCH IF @@TRANCOUNT > 0 ROLLBACK TRAN; THROW; END CATCH"
    )
}

/// Restarts, possibly crashing in the middle of recovery a few times, and judges what is there.
fn recover(world: &World, ledger: &Ledger, rng: &mut Rng, outcome: &mut Outcome) {
    for attempt in 0..4 {
        let disturbed = attempt < 3 && rng.chance(1, 3);
        let nemesis = if disturbed { Nemesis::PowerOffAtIo(1 + rng.below(150)) } else { Nemesis::None };
        nemesis.arm(world);
        outcome.log.push(format!("recovery {attempt} {nemesis:?}"));
        let found = Arc::new(Latch::new(LatchRank::Leaf, None));
        let answer = Arc::clone(&found);
        let report = world.run(move |os| {
            let shown = show(os);
            *answer.lock() = Some(shown);
        });
        outcome.note(&report);
        let shown = found.lock().take();
        match shown {
            None if report.end == End::PowerOff => continue,
            None => return,
            Some(Err(text)) => outcome.violations.push(format!("UNREADABLE: {text}")),
            Some(Ok(found)) => outcome.violations.extend(ledger.lock().judge(&found)),
        }
        return;
    }
}

/// Opens the instance and reads all that the oracle wants.
fn show(os: &Os) -> Result<Found, String> {
    let instance = open(os)?;
    let mut client = Client::connect(&shared(&instance), "bank").map_err(|error| format!("{error:?}"))?;
    let mut read = |text: &str| {
        let answer = client.execute(text);
        if answer.errors.is_empty() {
            answer.numbers()
        } else {
            Err(format!("{text}: {}", answer.error_text()))
        }
    };
    let mut found = Found::default();
    for row in read("SELECT id, balance FROM accounts")? {
        found.balances.insert(row[0], row[1]);
    }
    for row in read("SELECT number, source, target, amount, heap_rows FROM history")? {
        let transfer = Transfer { from: row[1], to: row[2], amount: row[3], heap_rows: row[4] };
        if found.history.insert(row[0], transfer).is_some() {
            return Err(format!("transaction {} is in the history twice", row[0]));
        }
    }
    for row in read("SELECT number, COUNT(*) FROM heap GROUP BY number")? {
        found.heap_rows.insert(row[0], row[1]);
    }
    found.indexed = read("SELECT COUNT(*) FROM history WHERE amount >= 1")?[0][0];
    client.close();
    instance.shutdown();
    Ok(found)
}
