//! Scenario `versions`: sessions append to lists and read them at every isolation level that gives guarantees, in a database with row versions
//! (READ_COMMITTED_SNAPSHOT changes from life to life); crash, restart, judge; repeat.
//!
//! Oracles (F1 to F4, F9, F21 with versions): a search for dependency cycles over the transactions of all lives (`dependencies.rs`); no
//! commit is lost or torn; all commits are full, so the data that an acknowledged transaction has read, even a read-only one, exists
//! after any crash; without active readers no version is left, and versions never exceed the limit.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use engine::{Database, Instance, InstanceOptions};
use os::sim::{Bug, DiskImage, Profile, World};
use os::{Latch, LatchRank, Os, Rng, WaitType};
use session::SessionShared;

use crate::client::{Answer, Client, number, shared};
use crate::dependencies::{Done, History, Level, judge};
use crate::gaps;
use crate::nemesis::{Nemesis, Trouble};
use crate::recovery::{self, Disturbance};
use crate::{Outcome, prepared, survival};

const DATA: &str = "/data";
/// Tables of the lists: a clustered index, whose rows are also deleted and inserted again, and a heap with an index, whose rows move as they grow.
const TABLES: [&str; 2] = ["sorted", "heaped"];
/// List `key` is row `key` of table `key % 2`.
const KEYS: u32 = 5;
const READ_ALL: &str = "SELECT id, list FROM sorted UNION ALL SELECT id, list FROM heaped";
/// Deadlock victim, lock timeout, update conflict.
const EXPECTED: [i32; 3] = [1205, 1222, 3960];
/// Errors of a snapshot transaction when the store is full: the snapshot was cancelled; a version it needs is missing; no room for versions.
const GIVEN_UP: [i32; 3] = [3966, 3967, 3958];
/// Memory limit of versions in worlds with a small store, and the possible excess: one image per client, and marks without an image.
const SMALL_STORE_BYTES: u64 = 3_000;
const OVERSHOOT_BYTES: u64 = 6_000;
/// The limit in worlds where a transaction that appends to all lists fills the store: a snapshot that waits for one of its rows is cancelled.
const TINY_STORE_BYTES: u64 = 450;

/// The plan of one life of the server.
#[derive(Clone, Copy, Debug)]
struct Plan {
    life: u64,
    clients: u64,
    transactions: u64,
    trouble: Trouble,
    reads_committed_by_snapshot: bool,
    /// The memory limit of versions, where it is small.
    store_bytes: Option<u64>,
}

/// Progress of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Running,
    /// Its commit was requested.
    Committing,
    Committed,
    RolledBack,
}

/// A transaction as far as its client knows.
struct Attempt {
    stage: Stage,
    done: Done,
    /// Reads of single statements that use a statement-level snapshot.
    statements: Vec<Done>,
}

/// Transactions by number, kept outside the world; a final stage never changes.
#[derive(Default)]
struct Ledger {
    attempts: BTreeMap<u64, Attempt>,
    acknowledged: u64,
}

type Shared = Arc<Latch<Ledger>>;

/// Runs the scenario for one seed.
pub(crate) fn run(seed: u64, bug: Option<Bug>) -> Outcome {
    let world = World::with_disk(seed, Profile::drawn(seed), prepared_disk());
    world.plant(bug);
    let mut rng = Rng::named(seed, "versions scenario");
    let ledger: Shared = Arc::new(Latch::new(LatchRank::Leaf, Ledger::default()));
    let mut outcome = Outcome::new(seed);
    let has_small_store = rng.chance(1, 4);
    // A stream of its own, so that seeds keep their meaning.
    let has_tiny_store = Rng::named(seed, "versions tiny store").chance(1, 3);
    let store_bytes = match (has_tiny_store, has_small_store) {
        (true, _) => Some(TINY_STORE_BYTES),
        (false, true) => Some(SMALL_STORE_BYTES),
        (false, false) => None,
    };
    for life in 1..=1 + rng.below(3) {
        let nemesis = Nemesis::draw(&mut rng, 250, 6_000);
        let trouble = if rng.chance(1, 2) { Trouble::None } else { Trouble::draw(&mut rng, 300) };
        let plan = Plan {
            life,
            clients: 2 + rng.below(4),
            transactions: 4 + rng.below(12),
            trouble,
            reads_committed_by_snapshot: rng.chance(1, 2),
            store_bytes,
        };
        outcome.log.push(format!("{plan:?} {nemesis:?}"));
        live(&world, &ledger, plan, nemesis, &mut outcome);
        Trouble::heal(&world);
        recover(&world, &ledger, &mut rng, &mut outcome);
        if !outcome.violations.is_empty() {
            break;
        }
    }
    outcome.acknowledged = ledger.lock().acknowledged;
    outcome.reached = world.reached();
    outcome
}

/// A data directory with the lists, made once in the process, in a world of its own.
fn prepared_disk() -> DiskImage {
    static PREPARED: OnceLock<DiskImage> = OnceLock::new();
    PREPARED.get_or_init(prepare).clone()
}

fn prepare() -> DiskImage {
    prepared::disk(open, |mut client, _| {
        client.must("CREATE DATABASE lists");
        client.must("ALTER DATABASE lists SET ALLOW_SNAPSHOT_ISOLATION ON");
        client.must("USE lists");
        client.must("CREATE TABLE sorted (id int NOT NULL PRIMARY KEY, list varchar(7000) NOT NULL)");
        client.must("CREATE TABLE heaped (id int NOT NULL, list varchar(7000) NOT NULL)");
        client.must("CREATE UNIQUE INDEX by_id ON heaped (id)");
        for key in 0..KEYS {
            client.must(&format!("INSERT {} VALUES ({key}, '')", table(key)));
        }
        gaps::SETUP.into_iter().for_each(|text| drop(client.must(text)));
        client.close();
    })
}

fn table(key: u32) -> &'static str {
    TABLES[key as usize % TABLES.len()]
}

/// Opens the instance with little memory, so that pages with versions are written and read again.
fn open(os: &Os) -> Result<Arc<Instance>, String> {
    let options = InstanceOptions { buffer_pool_bytes: 1 << 20, ..InstanceOptions::new(DATA) };
    Instance::open(os, &options).map_err(|error| error.to_string())
}

/// One life of the server: clients work until the nemesis strikes or the work is done.
fn live(world: &World, ledger: &Shared, plan: Plan, nemesis: Nemesis, outcome: &mut Outcome) {
    let (device, ledger) = (world.clone(), Arc::clone(ledger));
    world.disarm();
    let report = world.run(move |os| {
        let instance = open(os).expect("opening what recovery has just opened");
        let sessions = shared(&instance);
        let mut client = Client::connect(&sessions, "master").expect("master");
        let word = if plan.reads_committed_by_snapshot { "ON" } else { "OFF" };
        client.must(&format!("ALTER DATABASE lists SET READ_COMMITTED_SNAPSHOT {word}"));
        client.close();
        let database = instance.database("lists").expect("it is there");
        if let Some(bytes) = plan.store_bytes {
            database.transactions().versions().set_bytes_max(bytes);
        }
        nemesis.arm(&device);
        plan.trouble.arm(&device);
        let start = |number: u64| {
            let appender = Appender {
                os: os.clone(),
                database: Arc::clone(&database),
                ledger: Arc::clone(&ledger),
                plan,
                rng: os.rng(&format!("appender {number}")),
                gap_rng: os.rng(&format!("appender {number} gaps")),
                next_number: (plan.life << 40) | (number << 32),
            };
            let sessions = sessions.clone();
            os.spawn(&format!("appender {number}"), move || appender.run(&sessions))
        };
        for client in (0..plan.clients).map(start).collect::<Vec<_>>() {
            let _ = client.join();
        }
        if !plan.trouble.makes_errors() {
            check_nothing_is_left(&sessions);
        }
        drop(database);
        instance.shutdown();
    });
    outcome.note(&report);
}

/// No reader is active: the next commit must leave no version behind.
fn check_nothing_is_left(sessions: &SessionShared) {
    let mut client = Client::connect(sessions, "lists").expect("a healthy server");
    client.must("UPDATE sorted SET list = list WHERE id = 0");
    let answer = client.must("SELECT COUNT(*) FROM sys.dm_tran_version_store");
    let left = number(&answer.rows[0][0]).expect("a count");
    assert_eq!(left, 0, "versions that nobody needs");
    client.close();
}

/// One session that appends and reads.
struct Appender {
    os: Os,
    database: Arc<Database>,
    ledger: Shared,
    plan: Plan,
    rng: Rng,
    /// Random stream for key ranges: separate, so that seeds keep their meaning.
    gap_rng: Rng,
    next_number: u64,
}

impl Appender {
    fn run(mut self, sessions: &SessionShared) {
        let Ok(mut client) = Client::connect(sessions, "lists") else {
            assert!(self.plan.trouble.makes_errors(), "logging in on a healthy disk");
            return;
        };
        for _ in 0..self.plan.transactions {
            if !self.transact(&mut client) || !self.visit_gaps(&mut client) {
                break;
            }
            let bytes = self.database.transactions().versions().figures().bytes;
            let bytes_max = self.plan.store_bytes.map_or(u64::MAX, |most| most + OVERSHOOT_BYTES);
            assert!(bytes <= bytes_max, "{bytes} bytes of versions");
            if self.rng.chance(1, 4) {
                self.pause();
            }
        }
        client.close();
    }

    fn pause(&mut self) {
        let _ = self.os.sleep(self.rng.below(2_000_000), WaitType::SLEEP_TASK);
    }

    /// One transaction of a few steps; false: the server cannot go on, as planned.
    fn transact(&mut self, client: &mut Client) -> bool {
        self.next_number += 16;
        let number = self.next_number;
        let (name, level) = match self.rng.below(8) {
            0 | 1 => ("READ COMMITTED", Level::Committed),
            2 => ("REPEATABLE READ", Level::Serializable),
            3 | 4 => ("SERIALIZABLE", Level::Serializable),
            _ => ("SNAPSHOT", Level::Snapshot),
        };
        let attempt = Attempt { stage: Stage::Running, done: Done::new(level), statements: Vec::new() };
        self.ledger.lock().attempts.insert(number, attempt);
        let begun = client.execute(&format!("SET TRANSACTION ISOLATION LEVEL {name}; BEGIN TRAN"));
        if !begun.errors.is_empty() {
            return self.give_up(client, number, &begun);
        }
        let is_sweep = self.plan.store_bytes == Some(TINY_STORE_BYTES) && self.gap_rng.chance(1, 3);
        let steps = if is_sweep { u64::from(KEYS) } else { 1 + self.rng.below(5) };
        for step in 0..steps {
            let answer = match self.rng.below(7) {
                _ if is_sweep => self.append(client, number, (step as u32, number + step)),
                0 => self.read(client, number, READ_ALL),
                1..=3 => {
                    let key = self.draw_key();
                    let text = format!("SELECT id, list FROM {} WHERE id = {key}", table(key));
                    self.read(client, number, &text)
                }
                _ => {
                    let key = self.draw_key();
                    self.append(client, number, (key, number + step))
                }
            };
            if !answer.errors.is_empty() {
                return self.give_up(client, number, &answer);
            }
            if self.rng.chance(1, 6) || is_sweep {
                self.pause();
            }
        }
        if self.rng.chance(1, 8) {
            let answer = client.execute("ROLLBACK TRAN");
            assert!(answer.errors.is_empty() || self.plan.trouble.makes_errors(), "{}", answer.error_text());
            self.set_stage(number, Stage::RolledBack);
            return answer.errors.is_empty();
        }
        self.set_stage(number, Stage::Committing);
        let answer = client.execute("COMMIT TRAN");
        if !answer.errors.is_empty() {
            assert!(self.plan.trouble.makes_errors(), "a commit on a healthy disk: {}", answer.error_text());
            return false;
        }
        survival::told_by_the_living(&self.os);
        let mut ledger = self.ledger.lock();
        ledger.acknowledged += 1;
        ledger.settle(number, Stage::Committed);
        true
    }

    /// Sometimes tests key ranges; false: the server cannot go on, as planned.
    fn visit_gaps(&mut self, client: &mut Client) -> bool {
        if !self.gap_rng.chance(1, 2) {
            return true;
        }
        match gaps::visit(&self.os, client, &mut self.gap_rng) {
            Ok(()) => true,
            Err(answer) => {
                let error = answer.error_number().unwrap_or(0);
                let is_given_up = self.plan.store_bytes.is_some() && GIVEN_UP.contains(&error);
                let is_expected = is_given_up || EXPECTED.contains(&error);
                assert!(is_expected || self.plan.trouble.makes_errors(), "{}", answer.error_text());
                client.execute("IF @@TRANCOUNT > 0 ROLLBACK TRAN").errors.is_empty() && is_expected
            }
        }
    }

    fn draw_key(&mut self) -> u32 {
        self.rng.below(u64::from(KEYS)) as u32
    }

    fn set_stage(&self, number: u64, stage: Stage) {
        self.ledger.lock().settle(number, stage);
    }

    fn read(&self, client: &mut Client, transaction: u64, text: &str) -> Answer {
        let answer = client.execute(text);
        if !answer.errors.is_empty() {
            return answer;
        }
        let mut reads = Vec::new();
        for row in &answer.rows {
            let key = number(&row[0]).expect("a key") as u32;
            reads.push((key, elements(&row[1].as_text().expect("a list"))));
        }
        assert!(reads.len() == 1 || reads.len() == KEYS as usize, "{text}: {} rows", reads.len());
        let mut ledger = self.ledger.lock();
        let attempt = ledger.attempts.get_mut(&transaction).expect("it has begun");
        // Before its own changes, a statement under READ_COMMITTED_SNAPSHOT is like a read-only snapshot transaction.
        let has_snapshot = self.plan.reads_committed_by_snapshot && attempt.done.level == Level::Committed;
        if has_snapshot && attempt.done.appends.is_empty() {
            attempt.statements.push(Done { reads: reads.clone(), ..Done::new(Level::Snapshot) });
        }
        attempt.done.reads.extend(reads);
        drop(ledger);
        answer
    }

    /// Appends an element to a list, in the clustered table sometimes by DELETE and INSERT of the row.
    fn append(&mut self, client: &mut Client, transaction: u64, (key, element): (u32, u64)) -> Answer {
        let (table, is_replaced) = (table(key), self.rng.chance(1, 3) && table(key) == TABLES[0]);
        let mut ledger = self.ledger.lock();
        let attempt = ledger.attempts.get_mut(&transaction).expect("it has begun");
        attempt.done.appends.push((key, element));
        drop(ledger);
        if is_replaced {
            return client.execute(&format!(
                "DECLARE @list varchar(7000) = (SELECT list FROM {table} WITH (UPDLOCK) WHERE id = {key});
                 DELETE {table} WHERE id = {key}; INSERT {table} VALUES ({key}, @list + '{element};')"
            ));
        }
        let hint = ["", "WITH (UPDLOCK)", "WITH (XLOCK, ROWLOCK)", "WITH (HOLDLOCK)"]
            [self.gap_rng.below(4) as usize];
        client.execute(&format!("UPDATE {table} {hint} SET list = list + '{element};' WHERE id = {key}"))
    }

    /// Handles a transaction that met an error: rolls it back if the server still answers.
    fn give_up(&mut self, client: &mut Client, number: u64, answer: &Answer) -> bool {
        let error = answer.error_number().unwrap_or(0);
        let is_expected =
            EXPECTED.contains(&error) || (self.plan.store_bytes.is_some() && GIVEN_UP.contains(&error));
        assert!(is_expected || self.plan.trouble.makes_errors(), "{}", answer.error_text());
        let rolled_back = client.execute("IF @@TRANCOUNT > 0 ROLLBACK TRAN");
        self.set_stage(number, Stage::RolledBack);
        rolled_back.errors.is_empty() && is_expected
    }
}

fn elements(list: &str) -> Vec<u64> {
    list.split_terminator(';').map(|element| element.parse().expect("a number")).collect()
}

impl Ledger {
    fn settle(&mut self, number: u64, stage: Stage) {
        let attempt = self.attempts.get_mut(&number).expect("it has begun");
        assert!(matches!(attempt.stage, Stage::Running | Stage::Committing), "{number}: {:?}", attempt.stage);
        attempt.stage = stage;
    }

    /// Judges what recovery shows. It decides transactions whose outcome was unknown; all other open ones have ended.
    fn judge(&mut self, lists: &BTreeMap<u32, Vec<u64>>) -> Result<(), String> {
        let is_there =
            |(key, element): &(u32, u64)| lists.get(key).is_some_and(|list| list.contains(element));
        for attempt in self.attempts.values_mut() {
            attempt.stage = match attempt.stage {
                // Whether a read-only transaction was acknowledged is unknown, and it does not matter.
                Stage::Committing if attempt.done.appends.iter().any(is_there) => Stage::Committed,
                Stage::Committed => Stage::Committed,
                Stage::Running | Stage::Committing | Stage::RolledBack => Stage::RolledBack,
            };
        }
        let mut history = History::default();
        for attempt in self.attempts.values() {
            if attempt.stage == Stage::Committed {
                history.committed.push(attempt.done.clone());
                history.committed.extend(attempt.statements.iter().cloned());
            } else {
                history.aborted.extend(attempt.done.appends.iter().map(|append| append.1));
            }
        }
        judge(&history, lists).map(|_| ())
    }

    /// The state that a recovery has shown must last: it counts as one more reader.
    fn note_shown(&mut self, lists: &BTreeMap<u32, Vec<u64>>) {
        let number = self.attempts.last_key_value().map_or(0, |(number, _)| *number) + 1;
        let reads = lists.iter().map(|(key, list)| (*key, list.clone())).collect();
        let done = Done { reads, ..Done::new(Level::Serializable) };
        self.attempts.insert(number, Attempt { stage: Stage::Committed, done, statements: Vec::new() });
    }
}

/// Restarts and judges what is there.
fn recover(world: &World, ledger: &Shared, rng: &mut Rng, outcome: &mut Outcome) {
    const DISTURBANCE: Disturbance = Disturbance { one_in: 3, ios_max: 150 };
    if let Some(lists) = recovery::recover(world, rng, &DISTURBANCE, outcome, show) {
        let mut ledger = ledger.lock();
        outcome.violations.extend(ledger.judge(&lists).err());
        ledger.note_shown(&lists);
    }
}

/// Opens the instance and reads the lists.
fn show(os: &Os) -> Result<BTreeMap<u32, Vec<u64>>, String> {
    let instance = open(os)?;
    let mut client = Client::connect(&shared(&instance), "lists").map_err(|error| format!("{error:?}"))?;
    let mut lists = BTreeMap::new();
    for text in ["DBCC CHECKDB (lists) WITH NO_INFOMSGS", READ_ALL] {
        let answer = client.execute(text);
        if !answer.errors.is_empty() {
            return Err(format!("{text}: {}", answer.error_text()));
        }
        for row in &answer.rows {
            let list = elements(&row[1].as_text().expect("a list"));
            lists.insert(number(&row[0])? as u32, list);
        }
    }
    client.close();
    instance.shutdown();
    if lists.len() == KEYS as usize { Ok(lists) } else { Err(format!("{} lists", lists.len())) }
}
