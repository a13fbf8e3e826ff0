//! The whole engine under power loss: mixed transactions on a table with two indexes, crashes at drawn moments, recoveries that crash
#![allow(clippy::unwrap_used, reason = "a test")]
//! themselves, CREATE and DROP DATABASE cut off anywhere (faults F1-F4, F9, F10).
//!
//! Each worker's transaction inserts a few rows with a common tag, moves a counter row of its own, and sometimes deletes the rows of an
//! earlier one. Afterwards: a transaction is there completely or not at all, every acknowledged fully durable one is there, a worker loses
//! only its last transactions, and both indexes agree.

mod support;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use hardpan_engine::{Database, Instance, RowChange, SqlResult, Table};
use os::sim::{Bug, End, Profile, Report, World};
use os::{Latch, LatchRank, Os, Rng};
use support::{
    NAME, Session, create_database, create_table, find, int, item, items, open, rows, table, try_open,
};

const WORKERS: i32 = 4;
const TRANSACTIONS: i32 = 12;
/// Ids of the workers' counter rows; ordinary rows have higher ones.
const COUNTERS: i32 = 100;

/// The acknowledgements of a worker, kept outside the world.
#[derive(Clone, Copy, Default, Debug)]
struct Told {
    attempted: i64,
    durable: i64,
}

type Ledger = Arc<Latch<[Told; WORKERS as usize]>>;

/// Rows of transaction `number` of `worker`: how many, and their ids.
fn row_count(worker: i32, number: i32) -> i32 {
    1 + (worker * 7 + number * 3) % 4
}

fn row_id(worker: i32, number: i32, at: i32) -> i32 {
    1_000 + (number * WORKERS + worker) * 8 + at
}

fn tag(worker: i32, number: i32) -> i32 {
    worker * 1_000_000 + number
}

/// Every fifth transaction also removes the rows of the one before.
fn removes_previous(number: i32) -> bool {
    number % 5 == 0 && number > 1
}

fn transact(
    os: &Os,
    session: &mut Session,
    table: &Table,
    worker: i32,
    number: i32,
    asked: Option<bool>,
    rng: &mut Rng,
) -> SqlResult<bool> {
    session.set.begin_explicit();
    let work = |session: &mut Session, rng: &mut Rng| -> SqlResult<()> {
        for at in 0..row_count(worker, number) {
            let row = item(row_id(worker, number, at), tag(worker, number), rng.below(300) as usize);
            session.statement(|txn| table.insert(txn, &row))?;
        }
        // A statement that fails half-way changes nothing (2627 on its second row).
        let twice = item(row_id(worker, number, 0), -1, 5);
        let failed = session.statement(|txn| {
            table.insert(txn, &item(900_000 + worker, -1, 5))?;
            table.insert(txn, &twice)
        });
        assert!(failed.is_err_and(|error| error.number == 2627), "the key is there already");
        session.statement(|txn| {
            let (locator, old) = find(txn, table, COUNTERS + worker)?.expect("the counter row is there");
            let mut new = old.clone();
            new[1] = types::Value::Int(number);
            let change = RowChange { locator: &locator, old: &old, new: &new, changed: &[1] };
            table.update(txn, change)
        })?;
        if removes_previous(number) {
            for at in 0..row_count(worker, number - 1) {
                let id = row_id(worker, number - 1, at);
                session.statement(|txn| match find(txn, table, id)? {
                    Some((locator, old)) => table.delete(txn, &locator, &old),
                    None => Ok(()),
                })?;
            }
        }
        Ok(())
    };
    match work(session, rng) {
        Ok(()) => {
            if rng.chance(1, 3) {
                // Its changes are only in memory: a checkpoint that writes them now must write their log first.
                let _ = os.sleep(rng.below(10_000_000), os::WaitType::WAITFOR);
            }
            session.set.commit(asked)?;
            Ok(true)
        }
        Err(error) => {
            session.set.rollback()?;
            if error.number == 1205 { Ok(false) } else { Err(error) }
        }
    }
}

fn run_workers(os: &Os, instance: &Arc<Instance>, database: &Arc<Database>, ledger: &Ledger) {
    let items = table(database, "T1").expect("the table survived");
    let mut tasks = Vec::new();
    for worker in 0..WORKERS {
        let (instance, database, items, ledger) =
            (Arc::clone(instance), Arc::clone(database), items.clone(), Arc::clone(ledger));
        let mut rng = os.rng(&format!("worker {worker}"));
        let os2 = os.clone();
        tasks.push(os.spawn(&format!("worker {worker}"), move || {
            let mut session = Session::new(&instance, &database, 51 + worker as i16);
            for _ in 0..TRANSACTIONS {
                let number = {
                    let mut ledger = ledger.lock();
                    let told = &mut ledger[worker as usize];
                    told.attempted += 1;
                    told.attempted
                };
                let full = rng.chance(1, 2);
                let asked = if full { None } else { Some(true) };
                let mut committed = false;
                while !committed {
                    committed = transact(&os2, &mut session, &items, worker, number as i32, asked, &mut rng)
                        .expect("a healthy disk");
                }
                if full {
                    ledger.lock()[worker as usize].durable = number;
                }
            }
        }));
    }
    let database = Arc::clone(database);
    let mut rng = os.rng("checkpoints");
    let os2 = os.clone();
    tasks.push(os.spawn("checkpoints", move || {
        for _ in 0..12 {
            let _ = os2.sleep(rng.below(4_000_000), os::WaitType::CHECKPOINT_QUEUE);
            database.checkpoint().expect("a healthy disk");
        }
    }));
    for task in tasks {
        let _ = task.join();
    }
    assert_eq!(instance.locks().locked_resource_count(), 0, "the lock table is empty at rest");
}

/// The oracle; the state that it has seen becomes the durable past.
fn judge(instance: &Arc<Instance>, database: &Arc<Database>, ledger: &Ledger) {
    let items = table(database, "T1").expect("LOST: the table");
    let mut session = Session::new(instance, database, 98);
    let (by_key, by_tag) = session
        .autocommit(None, |txn| Ok((rows(txn, &items, 1)?, rows(txn, &items, 2)?)))
        .expect("reading goes on");
    let mut sorted = by_tag.clone();
    sorted.sort_by_key(|row| int(row, 0));
    assert_eq!(by_key, sorted, "both indexes hold the same rows");
    let present: BTreeMap<i64, i64> = by_key.iter().map(|row| (int(row, 0), int(row, 1))).collect();
    let mut told = *ledger.lock();
    for worker in 0..WORKERS {
        let counter = present[&i64::from(COUNTERS + worker)];
        let told = &mut told[worker as usize];
        assert!(counter >= told.durable, "LOST: worker {worker} is at {counter}, was told {}", told.durable);
        assert!(counter <= told.attempted, "PHANTOM: worker {worker} is at {counter} of {}", told.attempted);
        for number in 1..=told.attempted as i32 {
            let removed = removes_previous(number + 1) && i64::from(number) < counter;
            let is_there = i64::from(number) <= counter && !removed;
            for at in 0..row_count(worker, number) {
                let found = present.get(&i64::from(row_id(worker, number, at)));
                let expected = is_there.then_some(i64::from(tag(worker, number)));
                assert_eq!(
                    found.copied(),
                    expected,
                    "TORN: worker {worker} at {counter}, transaction {number}, row {at}"
                );
            }
        }
        told.durable = counter;
        // A worker continues counting from the rows found.
        told.attempted = counter;
    }
    assert!(!present.values().any(|&tag| tag == -1), "a failed statement left a row");
    *ledger.lock() = told;
}

fn set_up(world: &World) {
    let report = world.run(|os| {
        let instance = open(os);
        let database = create_database(&instance, NAME).expect("a new database");
        let allowed =
            [hardpan_engine::OptionChange::DelayedDurability(hardpan_engine::DelayedDurability::Allowed)];
        instance.alter_database(NAME, &allowed).expect("ALTER DATABASE SET");
        let items = create_table(&instance, &database, &items("T1"));
        let mut session = Session::new(&instance, &database, 51);
        for worker in 0..WORKERS {
            session
                .autocommit(None, |txn| items.insert(txn, &item(COUNTERS + worker, 0, 0)))
                .expect("a counter row");
        }
        drop(session);
        instance.shutdown();
    });
    report.assert_ok();
}

fn check(report: &Report) -> Result<(), String> {
    if report.end == End::Failed { Err(report.failures.join("; ")) } else { Ok(()) }
}

/// One seed; returns the number of crashes.
fn run_seed(seed: u64, bug: Option<Bug>) -> Result<u64, String> {
    let world = World::new(seed, Profile::drawn(seed));
    set_up(&world);
    world.plant(bug);
    let ledger: Ledger = Arc::new(Latch::new(LatchRank::Leaf, Default::default()));
    let mut rng = Rng::named(seed, "crash test");
    let mut crashes = 0;
    for life in 0..3 {
        world.disarm();
        match rng.below(4) {
            0 => world.kill_after_switches(1 + rng.below(8_000)),
            1 => world.power_off_after_switches(1 + rng.below(8_000)),
            _ => world.power_off_after_ios(1 + rng.below(150)),
        }
        let ledger2 = Arc::clone(&ledger);
        let report = world.run(move |os| {
            let instance = open(os);
            let database = instance.database(NAME).expect("the database is usable after a crash");
            judge(&instance, &database, &ledger2);
            run_workers(os, &instance, &database, &ledger2);
        });
        check(&report).map_err(|failure| format!("life {life}: {failure}"))?;
        crashes += u64::from(report.end != End::Returned);
        for _ in 0..rng.below(3) {
            world.disarm();
            world.power_off_after_ios(1 + rng.below(40));
            let report = world.run(|os| drop(open(os)));
            check(&report).map_err(|failure| format!("recovery: {failure}"))?;
            crashes += u64::from(report.end != End::Returned);
        }
    }
    world.disarm();
    let report = world.run(move |os| {
        let instance = open(os);
        let database = instance.database(NAME).expect("the database is usable after a crash");
        judge(&instance, &database, &ledger);
        instance.shutdown();
    });
    check(&report)?;
    Ok(crashes)
}

fn seed_count(usual: u64) -> u64 {
    std::env::var("HARDPAN_TEST_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// Claims 1, 4 to 6 and 54 on tables and indexes, in mixed durability.
#[test]
fn every_acknowledged_transaction_survives_and_none_is_torn() {
    let count = seed_count(12);
    let mut crashes = 0;
    for seed in 0..count {
        crashes += run_seed(seed, None).unwrap_or_else(|failure| panic!("seed {seed}: {failure}"));
    }
    assert!(crashes > count, "the seeds must crash often to mean anything: {crashes}");
}

/// The oracle finds the known bugs.
#[test]
fn the_oracle_finds_planted_bugs() {
    for bug in [Bug::AcknowledgeBeforeHarden, Bug::PageBeforeLog] {
        let found = (0..1000).find_map(|seed| run_seed(seed, Some(bug)).err().map(|failure| (seed, failure)));
        let (seed, failure) = found.unwrap_or_else(|| panic!("{bug:?} was not found in 1000 seeds"));
        println!("{bug:?} found at seed {seed}: {failure}");
    }
}

/// Disk operations of opening the instance and then of `work`, on a copy of the world's disk without faults.
fn measure(world: &World, work: fn(&Arc<Instance>)) -> (u64, u64) {
    let copy = World::with_disk(world.seed(), Profile::drawn(world.seed()), world.disk_image());
    let (handle, opened) = (copy.clone(), Arc::new(Latch::new(LatchRank::Leaf, 0)));
    let noted = Arc::clone(&opened);
    let before = copy.io_total();
    let report = copy.run(move |os| {
        let instance = open(os);
        *noted.lock() = handle.io_total();
        work(&instance);
        instance.shutdown();
    });
    report.assert_ok();
    let opened = *opened.lock();
    (opened - before, copy.io_total() - opened)
}

/// Runs `work` on an instance with a power loss at a drawn operation of it; true when it completed nevertheless.
fn cut_off(world: &World, rng: &mut Rng, work: fn(&Arc<Instance>)) -> bool {
    let (opening, working) = measure(world, work);
    // Often in the very first, which decides the state that recovery finds.
    let within = if rng.chance(1, 4) { 1 } else { 1 + rng.below(working) };
    world.power_off_after_ios(opening + within);
    let done = Arc::new(Latch::new(LatchRank::Leaf, false));
    let noted = Arc::clone(&done);
    let report = world.run(move |os| {
        let instance = open(os);
        work(&instance);
        *noted.lock() = true;
        instance.shutdown();
    });
    check(&report).unwrap_or_else(|failure| panic!("seed {}: {failure}", world.seed()));
    world.disarm();
    *done.lock()
}

/// CREATE DATABASE interrupted anywhere: afterwards the database is complete, or it does not exist and can be created.
#[test]
fn a_database_is_created_whole_or_not_at_all() {
    let mut seen = [0u64; 2];
    for seed in 0..seed_count(40) {
        let world = World::new(seed, Profile::drawn(seed));
        world.run(|os| open(os).shutdown()).assert_ok();
        let mut rng = Rng::named(seed, "create database");
        let was_acknowledged = cut_off(&world, &mut rng, |instance| {
            create_database(instance, "late").expect("a healthy disk");
        });
        let is_there = Arc::new(Latch::new(LatchRank::Leaf, false));
        let noted = Arc::clone(&is_there);
        let report = world.run(move |os| {
            let instance = try_open(os).expect("the instance opens after a crash");
            let database = instance.database("late");
            *noted.lock() = database.is_ok();
            let database = match database {
                Ok(database) => database,
                Err(error) => {
                    assert_eq!(error.number, 911, "absent, not damaged: {error}");
                    assert!(!was_acknowledged, "LOST: a database");
                    create_database(&instance, "late").expect("what is absent can be made")
                }
            };
            let made = create_table(&instance, &database, &items("T1"));
            let mut session = Session::new(&instance, &database, 51);
            session.autocommit(None, |txn| made.insert(txn, &item(1, 1, 1))).expect("it works");
            drop(session);
            instance.shutdown();
        });
        check(&report).unwrap_or_else(|failure| panic!("seed {seed}: {failure}"));
        let there = *is_there.lock();
        seen[usize::from(there)] += 1;
    }
    assert!(seen[0] > 0 && seen[1] > 0, "both outcomes are seen: {seen:?}");
}

/// DROP DATABASE interrupted anywhere: afterwards the database is complete, or it is removed with its files.
#[test]
fn a_database_is_dropped_whole_or_not_at_all() {
    let mut seen = [0u64; 2];
    for seed in 0..seed_count(40) {
        let world = World::new(seed, Profile::drawn(seed));
        set_up(&world);
        let mut rng = Rng::named(seed, "drop database");
        let was_acknowledged = cut_off(&world, &mut rng, |instance| {
            instance.drop_database(NAME).expect("a healthy disk");
        });
        let is_there = Arc::new(Latch::new(LatchRank::Leaf, false));
        let noted = Arc::clone(&is_there);
        let report = world.run(move |os| {
            let instance = try_open(os).expect("the instance opens after a crash");
            match instance.database(NAME) {
                Ok(database) => {
                    assert!(!was_acknowledged, "a dropped database came back");
                    let items = table(&database, "T1").expect("its table is whole");
                    assert_eq!(support::all_rows(&instance, &database, &items).len(), WORKERS as usize);
                    *noted.lock() = true;
                }
                Err(error) => assert_eq!(error.number, 911, "absent, not damaged: {error}"),
            }
            instance.shutdown();
        });
        check(&report).unwrap_or_else(|failure| panic!("seed {seed}: {failure}"));
        let there = *is_there.lock();
        seen[usize::from(there)] += 1;
        let left: Vec<_> = world.files().into_iter().filter(|path| is_user_file(path)).collect();
        assert!(there || left.is_empty(), "seed {seed}: files of a dropped database are left: {left:?}");
    }
    assert!(seen[0] > 0 && seen[1] > 0, "both outcomes are seen: {seen:?}");
}

fn is_user_file(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(NAME))
}
