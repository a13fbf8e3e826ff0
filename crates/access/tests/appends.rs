//! Transactions that append to lists and read them, at three levels; a search for dependency cycles checks the histories (sim's dependencies.rs,
//! which also checks SQL in its scenario `versions`).
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;
#[path = "../../sim/src/dependencies.rs"]
mod dependencies;

use std::collections::BTreeMap;
use std::sync::Arc;

use common::{Db, Place, begin, create};
use dependencies::{Done, History};
use hardpan_access::{AccessError, Inserted, RowLock, ScanOptions};
use os::sim::{Bug, Profile, World};
use os::{Latch, LatchRank};
use txn::{CommitMode, IsolationLevel, SnapshotKind, Transaction};

const KEYS: u32 = 4;
const TASKS: u32 = 4;
const ROUNDS: u32 = 30;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Level {
    /// Reads use snapshots of their own, changes use locks.
    CommittedSnapshot,
    Snapshot,
    /// Locks are held to the end.
    Serializable,
}

impl Level {
    fn promises(self) -> dependencies::Level {
        match self {
            Level::CommittedSnapshot => dependencies::Level::Committed,
            Level::Snapshot => dependencies::Level::Snapshot,
            Level::Serializable => dependencies::Level::Serializable,
        }
    }
}

fn elements(row: &[u8]) -> Vec<u64> {
    row.chunks_exact(4).map(|bytes| u64::from(u32::from_le_bytes(*bytes.first_chunk().unwrap()))).collect()
}

/// One transaction of a few steps, which depend on the task and the round.
#[allow(
    clippy::result_large_err,
    reason = "a transaction that met a conflict goes back to its caller as it is"
)]
fn transact(
    db: &Db,
    level: Level,
    task: u32,
    round: u32,
    done: &mut Done,
) -> Result<Transaction, Transaction> {
    let txn = begin(db);
    let open = |kind| db.manager.open_snapshot(txn.id(), 51, kind);
    let own = (level == Level::Snapshot).then(|| open(SnapshotKind::Transaction));
    if let Some(own) = &own {
        txn.set_conflicts_above(own.number());
    }
    let mut mixed = (task * 7919 + round * 104_729 + 13) ^ (round << 3);
    for step in 0..3 {
        mixed = mixed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let (key, appends) = ((mixed >> 16) % KEYS, (mixed >> 24).is_multiple_of(2));
        let statement = (level == Level::CommittedSnapshot).then(|| open(SnapshotKind::Statement));
        let point = own.as_ref().or(statement.as_ref()).map(|snapshot| snapshot.number());
        let mut options = match level {
            Level::Serializable => {
                ScanOptions { isolation: IsolationLevel::Serializable, ..ScanOptions::default() }
            }
            _ => ScanOptions { snapshot: point, ..ScanOptions::default() },
        };
        if appends && level != Level::Snapshot {
            options = ScanOptions { row_lock: RowLock::Update, snapshot: None, ..options };
        }
        let mut row = Vec::new();
        let bytes = key.to_be_bytes();
        let result = db.tree.get(&txn, &bytes, &options, &mut row).and_then(|_| {
            done.reads.push((key, elements(&row)));
            if appends {
                let element = task * 100_000 + round * 10 + step;
                done.appends.push((key, u64::from(element)));
                row.extend_from_slice(&element.to_le_bytes());
                db.os.yield_point();
                db.tree.update(&txn, &bytes, &row)?;
            }
            Ok(())
        });
        match result {
            Ok(()) => {}
            Err(AccessError::Lock(_) | AccessError::UpdateConflict) => return Err(txn),
            Err(other) => panic!("{other}"),
        }
        db.os.yield_point();
    }
    if round.is_multiple_of(7) { Err(txn) } else { Ok(txn) }
}

fn play(db: &Arc<Db>, level: Level) -> Result<u64, String> {
    db.manager.versions().keep(level != Level::Serializable);
    let txn = begin(db);
    for key in 0..KEYS {
        assert_eq!(db.tree.insert(&txn, &key.to_be_bytes(), &[]).unwrap(), Inserted::Done);
    }
    txn.commit(CommitMode::Full).unwrap();
    let history = Arc::new(Latch::new(LatchRank::Leaf, History::default()));
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| {
            let (db, history) = (Arc::clone(db), Arc::clone(&history));
            db.os.clone().spawn("appender", move || {
                for round in 0..ROUNDS {
                    let mut done = Done::new(level.promises());
                    match transact(&db, level, task, round, &mut done) {
                        Ok(txn) => {
                            txn.commit(CommitMode::Delayed).unwrap();
                            history.lock().committed.push(done);
                        }
                        Err(txn) => {
                            txn.rollback().unwrap();
                            history.lock().aborted.extend(done.appends.iter().map(|append| append.1));
                        }
                    }
                }
            })
        })
        .collect();
    tasks.into_iter().for_each(|task| task.join().unwrap());
    let reader = begin(db);
    let mut lists = BTreeMap::new();
    for key in 0..KEYS {
        let mut row = Vec::new();
        db.tree.get(&reader, &key.to_be_bytes(), &ScanOptions::default(), &mut row).unwrap();
        lists.insert(key, elements(&row));
    }
    reader.rollback().unwrap();
    dependencies::judge(&history.lock(), &lists)
}

fn outcome(seed: u64, level: Level, bug: Option<Bug>) -> Result<u64, String> {
    let told = Arc::new(Latch::new(LatchRank::Leaf, Err("nothing was judged".to_owned())));
    let mine = Arc::clone(&told);
    let world = World::new(seed, Profile::nvme());
    world.plant(bug);
    let report = world.run(move |os| {
        let judged = play(&Arc::new(create(os, &Place::new("/data/t"))), level);
        *mine.lock() = judged;
    });
    let judged = told.lock().clone();
    if report.failures.is_empty() { judged } else { Err(report.failures.join("; ")) }
}

/// No level shows an anomaly that it forbids, and the histories are long enough to matter.
#[test]
fn no_level_shows_a_cycle_that_it_forbids() {
    for level in [Level::CommittedSnapshot, Level::Snapshot, Level::Serializable] {
        let mut dependencies = 0;
        for seed in 0..60 {
            dependencies +=
                outcome(seed, level, None).unwrap_or_else(|wrong| panic!("{level:?}, seed {seed}: {wrong}"));
        }
        assert!(dependencies > 1_000, "{level:?}: {dependencies} dependencies");
    }
}

/// The check finds each planted bug within 500 seeds.
#[test]
fn planted_bugs_are_condemned() {
    for (bug, level) in [
        (Bug::VersionFreedTooEarly, Level::Snapshot),
        (Bug::SnapshotSeesLaterCommit, Level::Snapshot),
        (Bug::LostUpdateUnderSnapshot, Level::Snapshot),
    ] {
        let found =
            (0..500).find_map(|seed| outcome(seed, level, Some(bug)).err().map(|wrong| (seed, wrong)));
        let (seed, wrong) = found.unwrap_or_else(|| panic!("{bug:?} is found within 500 seeds"));
        println!("{bug:?}: seed {seed}: {wrong}");
    }
}
