//! Crash recovery of transactions alone: a store of numbered cells replaces the pages, so that the tests cover the chain of
#![allow(clippy::unwrap_used, reason = "a test")]
//! records, the passes, checkpoints and locks, in simulated worlds that lose power at drawn moments (faults F1, F2, F9).
//!
//! Each worker's transaction sets the worker's own cell to its next number and moves money between two accounts. After every crash: money
//! is neither made nor lost, and each worker's cell holds at least its last acknowledged fully durable number.

mod cells;

use std::sync::Arc;

use cells::{ACCOUNTS, Cells, Disk, START_BALANCE, WORKERS};
use hardpan_txn::recovery::{CheckpointPayment, analyze, redo, undo, write_checkpoint};
use hardpan_txn::{
    CommitMode, LockManager, LockMode, LockWait, ResourceManager, TxnManager, TxnManagerOptions, TxnOptions,
};
use log::{FlushReason, Log, LogOptions, Tail};
use os::sim::{Bug, End, Profile, Report, World};
use os::{Latch, LatchRank, Os, Rng, WaitType};

const LOG_PATH: &str = "/data/cells.ldf";

/// The acknowledgements that the workers got, kept outside the world.
#[derive(Clone, Copy, Default)]
struct Told {
    attempted: i64,
    durable: i64,
}

type Ledger = Arc<Latch<[Told; WORKERS]>>;

struct Database {
    log: Arc<Log>,
    cells: Arc<Cells>,
    manager: Arc<TxnManager>,
    locks: Arc<LockManager>,
}

fn options() -> LogOptions {
    LogOptions { size_bytes: 1 << 20, ..LogOptions::new(LOG_PATH, "cells") }
}

/// Opens and recovers; after a crash in here it is called again.
fn open(os: &Os, disk: &Arc<Disk>) -> Database {
    let (log, tail): (Log, Tail) =
        Log::open(os, &options()).expect("a log that was only cut off can be opened");
    let log = Arc::new(log);
    let analysis = analyze(&log, tail.checkpoint).expect("analysis");
    let locks = LockManager::new(os);
    let manager_options =
        TxnManagerOptions { database_name: "cells".into(), first_txn: analysis.max_txn.0 + 1 };
    let manager = TxnManager::new(os, Arc::clone(&log), Arc::clone(&locks), manager_options);
    let cells = Cells::load(&log, disk);
    manager.attach(Arc::clone(&cells) as Arc<dyn ResourceManager>);
    redo(&log, &*cells, analysis.redo_start).expect("redo");
    let mut told = 0;
    let undone = undo(&manager, &analysis.losers, &mut |stats| {
        assert_eq!(stats.record_count, told + 1, "each record is told of, once");
        told = stats.record_count;
    });
    let undone = undone.expect("undo");
    assert_eq!(undone.record_count, told);
    assert!(manager.active().is_empty());
    let database = Database { log, cells, manager, locks };
    database.checkpoint();
    database
}

impl Database {
    fn checkpoint(&self) {
        let begin = self.manager.begin_checkpoint(CheckpointPayment::Margin).expect("begin of a checkpoint");
        self.cells.write_out(begin);
        let dirty = self.cells.dirty();
        let image = write_checkpoint(&self.manager, begin, &dirty, CheckpointPayment::Margin).expect("image");
        self.log.harden(image.end, FlushReason::Quiesce).expect("a healthy disk");
        self.log.record_checkpoint(begin, image.min).expect("a healthy disk");
        self.manager.oldest_begin();
        self.log.truncate().expect("truncation");
    }

    /// One transaction of a worker; true when it committed.
    fn transact(&self, worker: usize, number: i64, mode: CommitMode, rng: &mut Rng) -> bool {
        let transaction = self.manager.begin(TxnOptions::default());
        let (from, to) = (rng.below(ACCOUNTS as u64) as usize, rng.below(ACCOUNTS as u64) as usize);
        let amount = 1 + rng.below(9) as i64;
        let cells = &self.cells;
        let mut work = || {
            cells.set(&transaction, worker, number)?;
            if rng.chance(1, 3) {
                let savepoint = transaction.savepoint();
                cells.lock_account(&transaction, from)?;
                cells.add(&transaction, WORKERS + from, 1_000_000)?;
                transaction.rollback_to(savepoint)?;
            }
            for (account, amount) in [(from, -amount), (to, amount)] {
                cells.lock_account(&transaction, account)?;
                cells.add(&transaction, WORKERS + account, amount)?;
            }
            Ok::<(), hardpan_txn::TxnError>(())
        };
        let done = work();
        if done.is_err() || rng.chance(1, 6) {
            transaction.rollback().expect("rollback does not fail");
            return false;
        }
        transaction.commit(mode).expect("a healthy disk");
        true
    }
}

fn work(os: &Os, database: &Arc<Database>, ledger: &Ledger, transactions: u64) {
    let mut tasks = Vec::new();
    for worker in 0..WORKERS {
        let (database, ledger, os2) = (Arc::clone(database), Arc::clone(ledger), os.clone());
        tasks.push(os.spawn(&format!("worker {worker}"), move || {
            let mut rng = os2.rng(&format!("worker {worker}"));
            for _ in 0..transactions {
                let number = {
                    let mut ledger = ledger.lock();
                    ledger[worker].attempted += 1;
                    ledger[worker].attempted
                };
                let mode = if rng.chance(1, 2) { CommitMode::Full } else { CommitMode::Delayed };
                if database.transact(worker, number, mode, &mut rng) && mode == CommitMode::Full {
                    ledger.lock()[worker].durable = number;
                }
            }
        }));
    }
    let (database2, os2) = (Arc::clone(database), os.clone());
    tasks.push(os.spawn("checkpoint", move || {
        let mut rng = os2.rng("checkpoint");
        for _ in 0..6 {
            let _ = os2.sleep(rng.below(4_000_000), WaitType::CHECKPOINT_QUEUE);
            if rng.chance(1, 2) {
                database2.checkpoint();
            } else {
                database2.cells.write_out_some(&mut rng);
            }
        }
    }));
    for task in tasks {
        let _ = task.join();
    }
    assert_eq!(database.locks.locked_resource_count(), 0, "the lock table is empty at rest");
}

fn judge(cells: &Cells, ledger: &Ledger, what: &str) {
    let told = *ledger.lock();
    let values = cells.values();
    let sum: i64 = values[WORKERS..].iter().sum();
    assert_eq!(sum, START_BALANCE * ACCOUNTS as i64, "{what}: money was made or lost: {values:?}");
    for (worker, told) in told.iter().enumerate() {
        let value = values[worker];
        assert!(value >= told.durable, "{what}: LOST {worker}: {value} < {}", told.durable);
        assert!(value <= told.attempted, "{what}: PHANTOM {worker}: {value} > {}", told.attempted);
    }
}

/// One seed: runs and crashes in turn, recoveries that crash themselves, the oracle after each.
fn run_seed(seed: u64, bug: Option<Bug>) -> Result<u64, String> {
    let world = World::new(seed, Profile::drawn(seed));
    world.plant(bug);
    let disk = Disk::new();
    let ledger: Ledger = Arc::new(Latch::new(LatchRank::Leaf, [Told::default(); WORKERS]));
    world
        .run(|os| {
            os.disk().create_dir_all("/data".as_ref()).expect("a healthy disk");
            os.disk().sync_dir("/".as_ref()).expect("a healthy disk");
            Log::create(os, &options()).expect("a new log").close().expect("close");
            os.disk().sync_dir("/data".as_ref()).expect("a healthy disk");
        })
        .assert_ok();
    let mut rng = Rng::named(seed, "recovery test");
    let mut crashes = 0;
    for life in 0..3 {
        world.disarm();
        match rng.below(3) {
            0 => world.power_off_after_ios(1 + rng.below(120)),
            _ => world.power_off_after_switches(1 + rng.below(4_000)),
        }
        let (disk2, ledger2) = (Arc::clone(&disk), Arc::clone(&ledger));
        let report = world.run(move |os| {
            let database = Arc::new(open(os, &disk2));
            judge(&database.cells, &ledger2, "after recovery");
            settle(&database, &ledger2);
            work(os, &database, &ledger2, 25);
            judge(&database.cells, &ledger2, "at rest");
        });
        check(&report)?;
        crashes += u64::from(report.end == End::PowerOff);
        // Recoveries that are interrupted themselves, any number of times.
        for _ in 0..rng.below(4) {
            world.disarm();
            world.power_off_after_ios(1 + rng.below(30));
            let disk2 = Arc::clone(&disk);
            let report = world.run(move |os| drop(open(os, &disk2)));
            check(&report)?;
            crashes += u64::from(report.end == End::PowerOff);
        }
        world.disarm();
        let (disk2, ledger2) = (Arc::clone(&disk), Arc::clone(&ledger));
        let report = world.run(move |os| {
            let database = open(os, &disk2);
            judge(&database.cells, &ledger2, &format!("life {life}"));
            settle(&database, &ledger2);
        });
        check(&report)?;
    }
    Ok(crashes)
}

fn check(report: &Report) -> Result<(), String> {
    if report.end == End::Failed { Err(report.failures.join("; ")) } else { Ok(()) }
}

/// The state after recovery is durable, and the next numbers begin above it.
fn settle(database: &Database, ledger: &Ledger) {
    let values = database.cells.values();
    for (worker, told) in ledger.lock().iter_mut().enumerate() {
        told.durable = values[worker];
    }
}

/// Seeds in a usual run; `HARDPAN_TEST_SEEDS` asks for another number.
fn seed_count() -> u64 {
    std::env::var("HARDPAN_TEST_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(30)
}

/// Claims 1, 4 to 6 and 54, without pages and rows: acknowledged transactions are there, uncommitted ones are not, none is incomplete.
#[test]
fn committed_money_survives_every_crash() {
    let count = seed_count();
    let mut crashes = 0;
    for seed in 0..count {
        crashes += run_seed(seed, None).unwrap_or_else(|failure| panic!("seed {seed}: {failure}"));
    }
    assert!(crashes > count, "the seeds must crash often to mean anything: {crashes}");
}

/// The oracle detects the known bugs.
#[test]
fn the_oracle_finds_planted_bugs() {
    for bug in [Bug::AcknowledgeBeforeHarden, Bug::PageBeforeLog] {
        let found = (0..200).find_map(|seed| run_seed(seed, Some(bug)).err().map(|failure| (seed, failure)));
        let (seed, failure) = found.unwrap_or_else(|| panic!("{bug:?} was not found in 200 seeds"));
        println!("{bug:?} found at seed {seed}: {failure}");
    }
}

/// A transaction that only reads and locks leaves no record; one that writes leaves begin, changes, commit (claims 12 and 44).
#[test]
fn readers_log_nothing_and_a_small_change_is_three_records() {
    let world = World::new(1, Profile::nvme());
    world
        .run(|os| {
            os.disk().create_dir_all("/data".as_ref()).expect("a healthy disk");
            Log::create(os, &options()).expect("a new log").close().expect("close");
            let database = open(os, &Disk::new());
            let before = database.log.stats();
            let reader = database.manager.begin(TxnOptions::default());
            let account = cells::account_resource(3);
            reader.lock(account, LockMode::S, LockWait::Forever).expect("nobody else locks");
            let savepoint = reader.savepoint();
            reader.rollback_to(savepoint).expect("nothing to undo");
            assert!(reader.commit(CommitMode::Full).expect("nothing to harden").lsn.is_null());
            let after = database.log.stats();
            assert_eq!(after.records_total, before.records_total);
            assert_eq!(after.flushes_total, before.flushes_total);
            let writer = database.manager.begin(TxnOptions::default());
            database.cells.set(&writer, 0, 7).expect("a change");
            writer.commit(CommitMode::Full).expect("a healthy disk");
            let last = database.log.stats();
            assert_eq!(last.records_total, after.records_total + 3);
            assert_eq!(last.flushes_total, after.flushes_total + 1, "one commit, one flush (claim 11)");
            assert_eq!(database.locks.locked_resource_count(), 0);
        })
        .assert_ok();
}

/// Claims 13 and 14: neither a delayed nor a volatile commit waits for its log.
#[test]
fn delayed_and_volatile_commits_do_not_wait() {
    let world = World::new(2, Profile::constant_latency());
    world
        .run(|os| {
            os.disk().create_dir_all("/data".as_ref()).expect("a healthy disk");
            Log::create(os, &options()).expect("a new log").close().expect("close");
            let database = open(os, &Disk::new());
            database.log.suspend_background_flush(true);
            for mode in [CommitMode::Delayed, CommitMode::Volatile] {
                let before = database.log.stats().flushes_total;
                let began_ns = os.clock().monotonic_ns();
                for number in 0..20 {
                    let writer = database.manager.begin(TxnOptions::default());
                    database.cells.set(&writer, 0, number).expect("a change");
                    let outcome = writer.commit(mode).expect("no wait");
                    assert!(outcome.lsn > database.log.hardened() && !outcome.is_hardened);
                }
                assert_eq!(database.log.stats().flushes_total, before, "{mode:?}");
                assert!(
                    os.clock().monotonic_ns() - began_ns < 170_000,
                    "20 commits took less than one device write"
                );
            }
            // One fully durable commit hardens all before it.
            let writer = database.manager.begin(TxnOptions::default());
            database.cells.set(&writer, 0, 99).expect("a change");
            let before = database.log.stats().flushes_total;
            let outcome = writer.commit(CommitMode::Full).expect("a healthy disk");
            assert!(outcome.lsn <= database.log.hardened());
            assert_eq!(database.log.stats().flushes_total, before + 1);
        })
        .assert_ok();
}
