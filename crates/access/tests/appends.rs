//! Transactions that append to lists and read them, at three levels, judged by a search for cycles of dependencies (in the manner of Adya,
//! 2000, and of Elle, Kingsbury and Alvaro 2020): the lists at the end tell in which order their elements were written, a list that was
//! read tells whom the reader has seen and whom he has not.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use common::{Db, Place, create};
use hardpan_access::{AccessError, Inserted, RowLock, ScanOptions};
use os::sim::{Bug, Profile, World};
use os::{Latch, LatchRank};
use txn::{CommitMode, IsolationLevel, LockMode, LockWait, Resource, SnapshotKind, Transaction};

const KEYS: u32 = 4;
const TASKS: u32 = 4;
const ROUNDS: u32 = 30;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Level {
    /// Each read by a snapshot of its own, changes by locks.
    CommittedSnapshot,
    Snapshot,
    /// Locks to the end.
    Serializable,
}

/// What a committed transaction has read (key, list) and appended (key, element), in this order.
#[derive(Clone, Debug, Default)]
struct Done {
    reads: Vec<(u32, Vec<u32>)>,
    appends: Vec<(u32, u32)>,
}

#[derive(Default)]
struct History {
    committed: Vec<Done>,
    /// Elements of transactions that were rolled back.
    aborted: BTreeSet<u32>,
}

fn elements(row: &[u8]) -> Vec<u32> {
    row.chunks_exact(4).map(|bytes| u32::from_le_bytes(*bytes.first_chunk().unwrap())).collect()
}

fn begin(db: &Db) -> Transaction {
    let txn = db.begin();
    txn.lock(Resource::Object { database: 5, object: 100 }, LockMode::IX, LockWait::Forever).unwrap();
    txn
}

/// One transaction of a few steps; its steps follow from the task and the round.
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
                done.appends.push((key, element));
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
                    let mut done = Done::default();
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
    judge(level, &history.lock(), &lists)
}

/// Who depends on whom: from, to; by a write or read of what the other has written, or by not having seen it.
#[derive(Default)]
struct Graph {
    seen: Vec<BTreeSet<usize>>,
    unseen: Vec<(usize, usize)>,
}

impl Graph {
    fn reaches(&self, from: usize, to: usize, also_unseen: bool) -> bool {
        let (mut found, mut open) = (BTreeSet::from([from]), vec![from]);
        while let Some(at) = open.pop() {
            let more = self.unseen.iter().filter(|edge| also_unseen && edge.0 == at).map(|edge| edge.1);
            for next in self.seen[at].iter().copied().chain(more) {
                if next == to {
                    return true;
                }
                if found.insert(next) {
                    open.push(next);
                }
            }
        }
        false
    }
}

/// Gives the number of dependencies, or what is wrong.
fn judge(level: Level, history: &History, lists: &BTreeMap<u32, Vec<u32>>) -> Result<u64, String> {
    let mut writers = BTreeMap::new();
    for (at, done) in history.committed.iter().enumerate() {
        for (key, element) in &done.appends {
            writers.insert(*element, at);
            if !lists[key].contains(element) {
                return Err(format!("lost update: {element} of key {key}"));
            }
        }
    }
    let mut graph = Graph { seen: vec![BTreeSet::new(); history.committed.len()], unseen: Vec::new() };
    for list in lists.values() {
        if let Some(element) = list.iter().find(|element| history.aborted.contains(element)) {
            return Err(format!("G1a: {element} was rolled back and stands there"));
        }
        for pair in list.windows(2).filter(|pair| writers[&pair[0]] != writers[&pair[1]]) {
            graph.seen[writers[&pair[0]]].insert(writers[&pair[1]]);
        }
    }
    for (reader, done) in history.committed.iter().enumerate() {
        for (key, read) in &done.reads {
            let list = &lists[key];
            if !list.starts_with(read) {
                return Err(format!("G1: key {key} was {read:?}, which it never was: {list:?}"));
            }
            let before = read.last().map(|element| writers[element]).filter(|writer| *writer != reader);
            let after =
                list.get(read.len()).map(|element| writers[element]).filter(|writer| *writer != reader);
            if let Some(before) = before {
                graph.seen[before].insert(reader);
                // Its last element there, or the reader has looked into the middle of it.
                if after == Some(before) {
                    return Err(format!("G1b: {read:?} ends in the middle of a transaction"));
                }
            }
            graph.unseen.extend(after.map(|after| (reader, after)));
        }
    }
    if let Some(at) = (0..graph.seen.len()).find(|at| graph.reaches(*at, *at, false)) {
        return Err(format!("G1c: transaction {at} depends on itself"));
    }
    if level != Level::CommittedSnapshot {
        let also_unseen = level == Level::Serializable;
        let back = graph.unseen.iter().find(|edge| graph.reaches(edge.1, edge.0, also_unseen));
        if let Some((reader, writer)) = back {
            return Err(format!("G-single or G2: {reader} has not seen {writer}, on whom it depends"));
        }
    }
    Ok(graph.seen.iter().map(|edges| edges.len() as u64).sum())
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

/// No level shows what it forbids, and the histories are worth judging.
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

/// The judge condemns each planted bug within 500 seeds.
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
