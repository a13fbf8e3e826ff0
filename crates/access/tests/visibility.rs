//! What a reader sees of a row that somebody else is changing: every kind of row x change x isolation level x reader (visibility.rs).
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use common::{Db, Place, create};
use hardpan_access::{AccessError, AccessResult, KeyRange, Rid, RowLock, ScanOptions};
use os::sim::{Profile, World};
use txn::{CommitMode, IsolationLevel, LockError, LockMode, LockWait, Resource, Transaction};

/// Where the row lies that is read.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Home {
    Tree,
    Heap,
    /// In a heap, on another page than its address says.
    Moved,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Change {
    Nothing,
    /// Of the same length.
    InPlace,
    /// To a length that its page has no room for: a heap's row moves (on), a leaf is split.
    Growing,
    Insert,
    Delete,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Door {
    Scan,
    Backward,
    Look,
}

const LEVELS: [IsolationLevel; 4] = [
    IsolationLevel::ReadUncommitted,
    IsolationLevel::ReadCommitted,
    IsolationLevel::RepeatableRead,
    IsolationLevel::Serializable,
];
const KEY: [u8; 4] = [0, 0, 0, 20];
const OLD: u8 = b'o';
const NEW: u8 = b'n';

fn begin(db: &Db) -> Transaction {
    let txn = db.begin();
    let object = Resource::Object { database: 5, object: 100 };
    txn.lock(object, LockMode::IX, LockWait::Forever).expect("nobody locks the table");
    txn
}

fn commit(txn: Transaction) {
    txn.commit(CommitMode::Full).expect("a healthy disk");
}

/// Makes the row, decided, on settled pages; with `Change::Insert` only what is around it.
fn prepare(db: &Db, home: Home, change: Change) -> Rid {
    let txn = begin(db);
    let row = |fill: u8, bytes: usize| vec![fill; bytes];
    let mut rid = Rid { page: db.roots.0, slot: 0 };
    match home {
        Home::Tree => {
            for key in [10u32, 30] {
                db.tree.insert(&txn, &key.to_be_bytes(), &row(b'f', 2500)).expect("room");
            }
            if change != Change::Insert {
                db.tree.insert(&txn, &KEY, &row(OLD, 2500)).expect("room");
            }
        }
        Home::Heap | Home::Moved => {
            let first = db.heap.insert(&txn, &row(b'f', 4000)).expect("room");
            assert_eq!(first.slot, 0);
            if change != Change::Insert {
                rid = db.heap.insert(&txn, &row(OLD, 3000)).expect("room");
                assert_eq!(rid.page, first.page);
            }
            if home == Home::Moved {
                db.heap.update(&txn, rid, &row(OLD, 5000)).expect("moves");
                // Beside it, so that it moves on when it grows.
                db.heap.insert(&txn, &row(b'f', 2500)).expect("room");
            }
        }
    }
    commit(txn);
    rid
}

fn make(db: &Db, txn: &Transaction, home: Home, change: Change, rid: Rid) -> Rid {
    let bytes = match (home, change) {
        (Home::Moved, Change::Growing) => 7500,
        (_, Change::Growing) => 5000,
        (Home::Tree, _) => 2500,
        (Home::Heap, _) => 3000,
        (Home::Moved, _) => 5000,
    };
    let row = vec![NEW; bytes];
    match (home, change) {
        (_, Change::Nothing) => {}
        (Home::Tree, Change::Insert) => drop(db.tree.insert(txn, &KEY, &row).expect("room")),
        (Home::Tree, Change::Delete) => db.tree.delete(txn, &KEY).expect("there"),
        (Home::Tree, _) => db.tree.update(txn, &KEY, &row).expect("there"),
        (_, Change::Insert) => return db.heap.insert(txn, &row).expect("room"),
        (_, Change::Delete) => db.heap.delete(txn, rid).expect("there"),
        (_, _) => db.heap.update(txn, rid, &row).expect("there"),
    }
    rid
}

/// The first byte of the row as this reader sees it.
fn read(
    db: &Db,
    txn: &Transaction,
    home: Home,
    door: Door,
    rid: Rid,
    options: ScanOptions,
) -> AccessResult<Option<u8>> {
    let options = ScanOptions { backward: door == Door::Backward, ..options };
    let mut row = Vec::new();
    let mut seen = None;
    match (home, door) {
        (Home::Tree, Door::Look) => {
            db.tree.get(txn, &KEY, &options, &mut row)?;
            seen = row.first().copied();
        }
        (Home::Tree, _) => {
            let mut cursor = db.tree.scan(KeyRange::all(), options);
            while cursor.next(txn)? {
                if cursor.key() == KEY {
                    seen = cursor.value().first().copied();
                }
            }
        }
        (_, Door::Look) => {
            db.heap.fetch(txn, rid, &options, &mut row)?;
            seen = row.first().copied();
        }
        _ => {
            let mut cursor = db.heap.scan(options);
            while cursor.next(txn)? {
                if cursor.rid() == rid {
                    seen = cursor.row().first().copied();
                }
            }
        }
    }
    Ok(seen)
}

fn check(db: &Db, home: Home, change: Change, commits: bool) {
    let rid = prepare(db, home, change);
    let writer = begin(db);
    let rid = make(db, &writer, home, change, rid);
    let before = if change == Change::Insert { None } else { Some(OLD) };
    let after = match change {
        Change::Nothing => Some(OLD),
        Change::Delete => None,
        _ => Some(NEW),
    };
    let each = |wait_for_end: bool| {
        for level in LEVELS {
            for row_lock in [RowLock::Shared, RowLock::Update, RowLock::Exclusive] {
                for keep_row in [false, true] {
                    for door in [Door::Scan, Door::Backward, Door::Look] {
                        if home != Home::Tree && door == Door::Backward {
                            continue;
                        }
                        let options = ScanOptions {
                            wait: LockWait::NoWait,
                            isolation: level,
                            row_lock,
                            keep_row,
                            ..ScanOptions::default()
                        };
                        let told = format!(
                            "{home:?} {change:?} {level:?} {row_lock:?} {keep_row} {door:?} ended {wait_for_end}"
                        );
                        let reader = begin(db);
                        let seen = read(db, &reader, home, door, rid, options);
                        let is_dirty =
                            level == IsolationLevel::ReadUncommitted && row_lock == RowLock::Shared;
                        if wait_for_end {
                            let end = if commits { after } else { before };
                            assert_eq!(seen.expect(&told), end, "{told}");
                        } else if is_dirty || change == Change::Nothing {
                            assert_eq!(seen.expect(&told), after, "{told}");
                        } else {
                            let refused = matches!(seen, Err(AccessError::Lock(LockError::Timeout)));
                            assert!(refused, "{told}: {seen:?}");
                            if level != IsolationLevel::Serializable {
                                let past = ScanOptions { skip_locked: true, ..options };
                                assert_eq!(
                                    read(db, &reader, home, door, rid, past).expect(&told),
                                    None,
                                    "{told}"
                                );
                            }
                        }
                        reader.rollback().expect("nothing to undo");
                    }
                }
            }
        }
        // Whoever changes the row sees his own change.
    };
    each(false);
    for level in LEVELS {
        let own = ScanOptions { isolation: level, ..ScanOptions::default() };
        for door in [Door::Scan, Door::Look] {
            let seen = read(db, &writer, home, door, rid, own).expect("no wait");
            assert_eq!(seen, after, "{home:?} {change:?} {level:?} {door:?}: the writer's own");
        }
    }
    match commits {
        true => commit(writer),
        false => writer.rollback().expect("a healthy disk"),
    }
    each(true);
    db.verify().expect("sound");
}

#[test]
fn nobody_sees_what_is_undecided_and_everybody_what_is_decided() {
    let mut seed = 0;
    for home in [Home::Tree, Home::Heap, Home::Moved] {
        for change in [Change::Nothing, Change::InPlace, Change::Growing, Change::Insert, Change::Delete] {
            if home == Home::Moved && change == Change::Insert {
                continue;
            }
            for commits in [false, true] {
                seed += 1;
                World::new(seed, Profile::nvme())
                    .run(move |os| check(&create(os, &Place::new("/data/t")), home, change, commits))
                    .assert_ok();
            }
        }
    }
}

/// Readers follow a row that is moved to and fro, and never meet another row or half a one, whatever they lock.
#[test]
fn a_moved_row_is_never_mistaken_for_another() {
    for seed in 0..40 {
        World::new(seed, Profile::nvme())
            .run(move |os| {
                let db = std::sync::Arc::new(create(os, &Place::new("/data/t")));
                let txn = begin(&db);
                let fill = |n: u8, bytes: usize| vec![n; bytes];
                let rids: Vec<Rid> =
                    (1..=4).map(|n| db.heap.insert(&txn, &fill(n, 1900)).expect("room")).collect();
                commit(txn);
                let writers = (0..2usize).map(|task| {
                    let (db, rids) = (std::sync::Arc::clone(&db), rids.clone());
                    os.spawn("writer", move || {
                        for round in 0..150usize {
                            let which = (round * 3 + task * 2) % rids.len();
                            let txn = begin(&db);
                            let bytes = [1900, 4100, 2500, 4500, 3100][(round + which) % 5];
                            db.heap.update(&txn, rids[which], &vec![which as u8 + 1; bytes]).expect("there");
                            match round % 5 {
                                0 => txn.rollback().expect("a healthy disk"),
                                _ => drop(txn.commit(CommitMode::Delayed).expect("a healthy disk")),
                            }
                            db.access.clean_ghosts(&db.manager, 8).expect("a healthy disk");
                        }
                    })
                });
                let writers: Vec<_> = writers.collect();
                for round in 0..200usize {
                    let reader = begin(&db);
                    let isolation = LEVELS[round % 3];
                    let options = ScanOptions { isolation, ..ScanOptions::default() };
                    for (which, rid) in rids.iter().enumerate() {
                        let mut row = Vec::new();
                        assert!(db.heap.fetch(&reader, *rid, &options, &mut row).expect("no deadlock"));
                        assert!(
                            row.iter().all(|byte| usize::from(*byte) == which + 1),
                            "row {which} at {isolation:?}"
                        );
                    }
                    reader.rollback().expect("nothing to undo");
                    let reader = begin(&db);
                    let mut cursor = db.heap.scan(options);
                    let mut count = 0;
                    while cursor.next(&reader).expect("no deadlock") {
                        let which = rids.iter().position(|rid| *rid == cursor.rid()).expect("one of ours");
                        assert!(
                            cursor.row().iter().all(|byte| usize::from(*byte) == which + 1),
                            "row {which}"
                        );
                        count += 1;
                    }
                    assert_eq!(count, rids.len(), "at {isolation:?}");
                    reader.rollback().expect("nothing to undo");
                }
                writers.into_iter().for_each(|writer| writer.join().expect("ends"));
                db.verify().expect("sound");
            })
            .assert_ok();
    }
}
