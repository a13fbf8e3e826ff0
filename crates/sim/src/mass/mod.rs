//! Scenario `mass`: transactions that delete many adjacent rows; each owner has a table of its own. Concurrent work: shrinks and
//! ghost cleanup (`files.rs`), a small log that is filled to its last byte (`full_log.rs`), snapshots that need the rows (`snapshots.rs`). Crash,
//! restart, judge; repeat.
//!
//! Oracles (F1 to F4, F9, F10, F21): after any crash each table, read by its rows and by its second index, is as its owner's last acknowledged
//! transaction has left it, or as the unanswered one has; CHECKDB passes. Each kind of world has oracles of its own.

mod files;
mod full_log;
mod ledger;
pub(crate) mod programs;
mod snapshots;

use std::sync::{Arc, OnceLock};

use engine::{Instance, InstanceOptions};
use os::sim::{Bug, DiskImage, Profile, World};
use os::{Latch, LatchRank, Os, Rng, WaitType};
use session::SessionShared;

use self::ledger::{Ledger, Rows, rows_of};
use crate::client::{Client, shared};
use crate::nemesis::Nemesis;
use crate::recovery::{self, Disturbance};
use crate::{Outcome, prepared, survival};

const DATA: &str = "/data";
/// Tables: trees, and a heap with a unique index.
const TABLES: u64 = 3;
/// Initial rows of each: several pages.
const ROWS: i64 = 150;

type Shared = Arc<Latch<Ledger>>;

/// The work concurrent to the deletes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Files,
    FullLog,
    Snapshots,
}

impl Kind {
    const ALL: [Kind; 3] = [Kind::Files, Kind::FullLog, Kind::Snapshots];
}

/// The shared state of a life's tasks.
#[derive(Clone)]
struct Life {
    os: Os,
    world: World,
    sessions: SessionShared,
    ledger: Shared,
    number: i64,
}

/// Runs the scenario for one seed.
pub(crate) fn run(seed: u64, bug: Option<Bug>) -> Outcome {
    let mut rng = Rng::named(seed, "mass scenario");
    let kind = Kind::ALL[rng.below(3) as usize];
    let world = World::with_disk(seed, Profile::drawn(seed), prepared_disk(kind));
    world.plant(bug);
    let first = (1..=ROWS).map(|id| (id, 0)).collect();
    let ledger: Shared = Arc::new(Latch::new(LatchRank::Leaf, Ledger::new(TABLES, &first)));
    let mut outcome = Outcome::new(seed);
    for number in 1..=1 + rng.below(3) as i64 {
        // In worlds with shrinks the workload chooses the moment of the crash.
        let nemesis = match kind {
            Kind::Files => Nemesis::None,
            _ if rng.chance(1, 2) => Nemesis::None,
            _ => Nemesis::draw(&mut rng, 300, 8_000),
        };
        outcome.log.push(format!("{kind:?}, life {number}: {nemesis:?}"));
        live(&world, &ledger, (kind, number), nemesis, &mut outcome);
        recover(&world, &ledger, &mut rng, &mut outcome);
        outcome.violations.append(&mut ledger.lock().sightings);
        if !outcome.violations.is_empty() {
            break;
        }
    }
    outcome.acknowledged = ledger.lock().acknowledged;
    outcome.reached = world.reached();
    outcome
}

/// A disk with the tables, made once in the process for each kind, in a world of its own.
fn prepared_disk(kind: Kind) -> DiskImage {
    static PREPARED: [OnceLock<DiskImage>; 3] = [OnceLock::new(), OnceLock::new(), OnceLock::new()];
    PREPARED[kind as usize].get_or_init(|| prepare(kind)).clone()
}

fn prepare(kind: Kind) -> DiskImage {
    prepared::disk(open, move |mut client, _| {
        let log = match kind {
            Kind::FullLog => "SIZE = 1MB, MAXSIZE = 1MB, FILEGROWTH = 0",
            Kind::Files | Kind::Snapshots => "SIZE = 512KB, FILEGROWTH = 512KB",
        };
        client.must(&format!(
            "CREATE DATABASE mass ON (NAME = mass, FILENAME = '/data/mass.mdf', SIZE = 1MB, FILEGROWTH = 128KB) \
             LOG ON (NAME = mass_log, FILENAME = '/data/mass.ldf', {log})"
        ));
        client.must("ALTER DATABASE mass SET RECOVERY SIMPLE");
        if kind == Kind::Snapshots {
            client.must("ALTER DATABASE mass SET ALLOW_SNAPSHOT_ISOLATION ON");
        }
        client.must("USE mass");
        for table in 0..TABLES {
            let key = if is_heap(table) { "UNIQUE NONCLUSTERED" } else { "PRIMARY KEY" };
            client.must(&format!(
                "CREATE TABLE part{table} (id bigint NOT NULL {key}, stamp bigint NOT NULL, payload char(200) NOT NULL)"
            ));
            client.must(&format!("CREATE INDEX by_stamp ON part{table} (stamp)"));
            client.must(&inserting(table, 0, (1, ROWS)));
        }
        client.must("CREATE TABLE filler (payload varchar(4000) NOT NULL)");
        client.close();
    })
}

fn is_heap(table: u64) -> bool {
    table == TABLES - 1
}

fn inserting(table: u64, stamp: i64, (first, last): (i64, i64)) -> String {
    format!(
        "INSERT part{table} SELECT value, {stamp}, 'p' FROM GENERATE_SERIES(CAST({first} AS bigint), CAST({last} AS bigint))"
    )
}

fn open(os: &Os) -> Result<Arc<Instance>, String> {
    let options = InstanceOptions { buffer_pool_bytes: 1 << 20, ..InstanceOptions::new(DATA) };
    Instance::open(os, &options).map_err(|error| error.to_string())
}

/// One life of the server.
fn live(
    world: &World,
    ledger: &Shared,
    (kind, number): (Kind, i64),
    nemesis: Nemesis,
    outcome: &mut Outcome,
) {
    let (device, ledger) = (world.clone(), Arc::clone(ledger));
    world.disarm();
    let report = world.run(move |os| {
        let instance = open(os).expect("opening what recovery has just opened");
        nemesis.arm(&device);
        let sessions = shared(&instance);
        let life = Life { os: os.clone(), world: device, sessions, ledger, number };
        match kind {
            Kind::Files => files::live(&life),
            Kind::FullLog => full_log::live(&life),
            Kind::Snapshots => snapshots::live(&life),
        }
        instance.shutdown();
    });
    outcome.note(&report);
}

impl Life {
    fn connect(&self) -> Client {
        Client::connect(&self.sessions, "mass").expect("logging in on a healthy disk")
    }

    /// Records a violation that a task observed. A task of a dead process records none, since other tasks have unwound in the middle of a change.
    fn sight(&self, what: String) {
        survival::told_by_the_living(&self.os);
        self.ledger.lock().sightings.push(what);
    }

    fn sleep(&self, ns: u64) {
        let _ = self.os.sleep(ns, WaitType::SLEEP_TASK);
    }

    /// Starts a task.
    fn start(&self, name: &str, work: impl FnOnce(&Life, Rng) + Send + 'static) -> os::JoinHandle {
        let (life, rng) = (self.clone(), self.os.rng(name));
        self.os.spawn(name, move || work(&life, rng))
    }
}

/// An owner's transaction.
struct Change {
    table: u64,
    texts: Vec<String>,
    after: Rows,
}

impl Change {
    /// Deletes adjacent rows, half of the time all rows, and may insert some in their place.
    fn draw(rng: &mut Rng, table: u64, stamp: i64, before: &Rows) -> Change {
        let mut change = Change { table, texts: Vec::new(), after: before.clone() };
        let first = 1 + rng.below(ROWS as u64) as i64;
        let (first, last) = if rng.chance(1, 2) { (1, 2 * ROWS) } else { (first, first + ROWS / 2) };
        let hint = ["", " WITH (TABLOCK)", " WITH (PAGLOCK)"][rng.below(3) as usize];
        let is_all = before.keys().all(|id| (first..=last).contains(id));
        change.texts.push(match is_all && rng.chance(1, 2) {
            true => format!("DELETE part{table}{hint}"),
            false => format!("DELETE part{table}{hint} WHERE id BETWEEN {first} AND {last}"),
        });
        change.after.retain(|id, _| !(first..=last).contains(id));
        if rng.chance(1, 2) || change.after.is_empty() && rng.chance(1, 2) {
            let last = last.min(first + ROWS);
            change.texts.push(inserting(table, stamp, (first, last)));
            change.after.extend((first..=last).map(|id| (id, stamp)));
        }
        change
    }
}

/// Restarts and judges what is there.
fn recover(world: &World, ledger: &Shared, rng: &mut Rng, outcome: &mut Outcome) {
    const DISTURBANCE: Disturbance = Disturbance { one_in: 3, ios_max: 150 };
    if let Some(shown) = recovery::recover(world, rng, &DISTURBANCE, outcome, show) {
        outcome.violations.append(&mut ledger.lock().judge(&shown));
    }
}

/// The tables of a recovered server.
fn show(os: &Os) -> Result<Vec<Rows>, String> {
    let instance = open(os)?;
    let mut client =
        Client::connect(&shared(&instance), "mass").map_err(|error| format!("logging in: {error:?}"))?;
    let sound = client.execute("DBCC CHECKDB (mass) WITH NO_INFOMSGS");
    if !sound.errors.is_empty() {
        return Err(sound.error_text());
    }
    let shown = (0..TABLES).map(|table| read(&mut client, table)).collect();
    client.close();
    instance.shutdown();
    shown
}

/// A table, read by its rows and by its second index.
fn read(client: &mut Client, table: u64) -> Result<Rows, String> {
    let mut both = Vec::new();
    for text in [
        format!("SELECT id, stamp FROM part{table} WITH (INDEX(0))"),
        format!("SELECT id, stamp FROM part{table} WITH (INDEX(by_stamp)) WHERE stamp >= 0"),
    ] {
        let answer = client.execute(&text);
        if !answer.errors.is_empty() {
            return Err(format!("{text}: {}", answer.error_text()));
        }
        both.push(rows_of(&answer)?);
    }
    let by_index = both.pop().expect("read twice");
    let rows = both.pop().expect("read twice");
    match rows == by_index {
        true => Ok(rows),
        false => Err(format!("part{table} by its index: {}", ledger::difference(&rows, &by_index))),
    }
}
