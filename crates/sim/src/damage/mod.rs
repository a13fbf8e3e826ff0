//! Scenario `damage`: sessions put rows in and take them out, in a table whose rows have a page each, a heap and one with an index, while checkpoints
//! run and the data files grow; the server dies. Then the disk is damaged: pages of zeros or noise, mostly allocation maps and pages that were
//! changed since the start. Each damaged disk is a world of its own, so that one death is looked at several times; the next life goes on undamaged.
//!
//! In worlds of their own heaps and a data file are made, too, and the server dies or stops; then the disk gives back an allocation map of an earlier
//! time (`disks.rs: with_older_map`). And in some the recovery from the damage is cut off and begun again (`look_behind_cuts`).
//!
//! Oracle: the database is suspect and the reason names a damaged page; or each table is right or refused with an error that says so, before and
//! after others have allocated pages, and what CHECKDB passes is right. Never is a row wrong or missing without a word.

mod disks;
mod tables;

use std::sync::{Arc, OnceLock};

use os::sim::{Bug, DiskImage, Profile, World};
use os::{Latch, LatchRank, Rng};

use self::disks::{Damaged, FILES};
use self::tables::{Ledger, MADE_LATER, PREPARED, Table, open, read, step};
use crate::client::{Client, shared};
use crate::nemesis::Nemesis;
use crate::{Outcome, prepared, survival};

/// Damaged disks of one death.
const TRIALS: u64 = 2;
/// Disks with an older map, of a world that has them.
const OLDER_MAPS: u64 = 3;

/// Runs the scenario for one seed.
pub(crate) fn run(seed: u64, bug: Option<Bug>) -> Outcome {
    let world = World::with_disk(seed, Profile::drawn(seed), prepared_disk());
    world.plant(bug);
    let mut rng = Rng::named(seed, "damage scenario");
    let mut cuts = Rng::named(seed, "damage scenario, recoveries cut off");
    let ledger = ledger_of(PREPARED.map(|name| Table::new(name, true)).to_vec());
    let mut outcome = Outcome::new(seed);
    let lives = 1 + u64::from(rng.chance(1, 4));
    for life in 1..=lives {
        let nemesis = match Nemesis::draw(&mut rng, 500, 5_000) {
            Nemesis::None => Nemesis::PowerOffAtIo(1 + rng.below(500)),
            drawn => drawn,
        };
        let before = world.disk_image();
        outcome.log.push(format!("life {life}, {nemesis:?}"));
        live(&world, &ledger, &Life { nemesis, ..Life::default() }, &mut outcome);
        let tables = ledger.lock().clone();
        for trial in 0..TRIALS {
            let damaged = Damaged::draw(seed ^ (life << 32 | trial << 40), &before, &world, &mut rng);
            look(&damaged, bug, &tables, (&mut cuts, 2), &mut outcome);
        }
        if !outcome.violations.is_empty() || life == lives {
            break;
        }
        // What was acknowledged is there, with what is found of the rest; the next life goes on behind it.
        *ledger.lock() = undamaged(&world, &tables, &mut outcome);
    }
    count(&world, &ledger, &mut outcome);
    if outcome.violations.is_empty() {
        run_with_older_maps(seed, bug, &mut outcome);
    }
    outcome
}

/// Worlds of their own, so that the seeds of the corpus keep their meaning: a life or two, then disks that give back an older allocation map.
fn run_with_older_maps(seed: u64, bug: Option<Bug>, outcome: &mut Outcome) {
    const SALT: u64 = 1 << 50;
    let world = World::with_disk(seed ^ SALT, Profile::drawn(seed), prepared_disk());
    world.plant(bug);
    let mut rng = Rng::named(seed, "damage scenario, older maps");
    let tables = PREPARED.map(|name| Table::new(name, true)).into_iter();
    let ledger = ledger_of(tables.chain(MADE_LATER.map(|name| Table::new(name, false))).collect());
    let (mut times, lives) = (Vec::new(), 1 + rng.below(2));
    for life in 1..=lives {
        times.push(world.disk_image());
        // Where young heaps alone have got pages, they alone are newer than an older map.
        let are_young_alone = rng.chance(1, 2);
        let of_life = Life {
            nemesis: if rng.chance(1, 3) { Nemesis::None } else { Nemesis::draw(&mut rng, 500, 5_000) },
            is_older_map: true,
            clients_from: if are_young_alone { PREPARED.len() } else { 0 },
            adds_file: life == 1 && rng.chance(3, 4),
        };
        outcome.log.push(format!("life {life} before an older map, {of_life:?}"));
        live(&world, &ledger, &of_life, outcome);
        let tables = ledger.lock().clone();
        if life < lives {
            *ledger.lock() = undamaged(&world, &tables, outcome);
        }
    }
    let tables = ledger.lock().clone();
    for trial in 0..OLDER_MAPS {
        let drawn = Damaged::with_older_map(seed ^ SALT ^ trial << 40, &times, &world, &mut rng);
        if let Some(damaged) = drawn.filter(|_| outcome.violations.is_empty()) {
            look(&damaged, bug, &tables, (&mut rng, 1), outcome);
        }
    }
    count(&world, &ledger, outcome);
}

fn ledger_of(tables: Vec<Table>) -> Ledger {
    Arc::new(Latch::new(LatchRank::Leaf, tables))
}

fn count(world: &World, ledger: &Ledger, outcome: &mut Outcome) {
    outcome.acknowledged += ledger.lock().iter().map(|table| table.acknowledged.unsigned_abs()).sum::<u64>();
    for (place, count) in world.reached() {
        *outcome.reached.entry(place).or_default() += count;
    }
}

/// A damaged disk is looked at; one in so many also behind recoveries that are cut off.
fn look(
    damaged: &Damaged,
    bug: Option<Bug>,
    tables: &[Table],
    (rng, one_in): (&mut Rng, u64),
    outcome: &mut Outcome,
) {
    let ios = damaged.look(bug, tables, outcome);
    if outcome.violations.is_empty() && rng.chance(1, one_in) {
        damaged.look_behind_cuts(bug, tables, (ios, rng), outcome);
    }
}

fn prepared_disk() -> DiskImage {
    static PREPARED: OnceLock<DiskImage> = OnceLock::new();
    let make = || {
        prepared::disk(open, |mut client, _| {
            client.must(
                "CREATE DATABASE works ON (NAME = works, FILENAME = '/data/works.mdf', SIZE = 1MB, FILEGROWTH = 256KB), \
                 (NAME = works2, FILENAME = '/data/works2.ndf', SIZE = 512KB, FILEGROWTH = 256KB)",
            );
            client.must("USE works");
            client.must("CREATE TABLE wide (id bigint NOT NULL PRIMARY KEY, v char(5000) NOT NULL)");
            client.must("CREATE TABLE heap (id bigint NOT NULL, v varchar(3000) NOT NULL)");
            client.must("CREATE TABLE narrow (id bigint NOT NULL PRIMARY KEY, v varchar(900) NOT NULL, INDEX by_v (v))");
            client.close();
        })
    };
    PREPARED.get_or_init(make).clone()
}

/// How a life goes and ends.
#[derive(Clone, Copy, Debug)]
struct Life {
    nemesis: Nemesis,
    /// It may end in an orderly stop.
    is_older_map: bool,
    /// The first table that has a client.
    clients_from: usize,
    /// A third data file comes first.
    adds_file: bool,
}

impl Default for Life {
    fn default() -> Life {
        Life { nemesis: Nemesis::None, is_older_map: false, clients_from: 0, adds_file: false }
    }
}

/// One life of the server.
fn live(world: &World, ledger: &Ledger, life: &Life, outcome: &mut Outcome) {
    let (ledger, device, life) = (Arc::clone(ledger), world.clone(), *life);
    world.disarm();
    let report = world.run(move |os| {
        let instance = open(os).unwrap_or_else(|error| panic!("opening what is undamaged: {error}"));
        let sessions = shared(&instance);
        life.nemesis.arm(&device);
        if life.adds_file {
            let mut client = Client::connect(&sessions, "works").expect("works");
            let (path, _) = FILES[FILES.len() - 1];
            client.must(&format!(
                "ALTER DATABASE works ADD FILE (NAME = works3, FILENAME = '{path}', SIZE = 512KB, FILEGROWTH = 256KB)"
            ));
            client.close();
        }
        let at_least = if life.is_older_map { 2 } else { 10 };
        let start = |number: usize| {
            let (sessions, ledger) = (sessions.clone(), Arc::clone(&ledger));
            let rng = os.rng(&format!("stepper {number}"));
            os.spawn(&format!("stepper {number}"), move || step(&sessions, &ledger, number, at_least, rng))
        };
        let clients = life.clients_from..ledger.lock().len();
        for task in clients.map(start).collect::<Vec<_>>() {
            let _ = task.join();
        }
        if life.is_older_map && life.nemesis == Nemesis::None {
            instance.shutdown();
        } else {
            device.power_off();
        }
    });
    outcome.note(&report);
}

/// The same disk without damage: everything is there. The tables as they are shown.
fn undamaged(world: &World, tables: &[Table], outcome: &mut Outcome) -> Vec<Table> {
    Nemesis::None.arm(world);
    let found = Arc::new(Latch::new(LatchRank::Leaf, None));
    let (told, wanted) = (Arc::clone(&found), tables.to_vec());
    let report = world.run(move |os| {
        let shown = open(os).and_then(|instance| {
            let mut client =
                Client::connect(&shared(&instance), "works").map_err(|error| error.message.clone())?;
            let mut shown = Vec::with_capacity(wanted.len());
            for table in &wanted {
                let read = read(&mut client, table)?;
                shown.push(read.ok_or_else(|| format!("{} cannot be read", table.name))?);
            }
            client.close();
            instance.shutdown();
            Ok(shown)
        });
        *told.lock() = Some(shown);
    });
    outcome.note(&report);
    match survival::told_to_the_end(report.end, &found) {
        Some(Ok(shown)) => shown,
        other => {
            outcome.violations.push(format!("UNREADABLE without damage: {other:?}"));
            tables.to_vec()
        }
    }
}
