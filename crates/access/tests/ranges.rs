//! Key ranges at SERIALIZABLE, in simulated worlds: a range that a transaction has read does not change for others, whatever the transaction itself
//! changes there, and wherever the pages end.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use std::ops::Bound;
use std::sync::Arc;

use common::{Db, Place, begin, create};
use hardpan_access::{AccessError, AccessResult, Inserted, KeyRange, RowLock, ScanOptions};
use os::WaitType;
use os::sim::{Profile, World};
use txn::{CommitMode, IsolationLevel, LockError, Transaction};

/// The initial keys.
const KEYS: [u32; 5] = [10, 20, 30, 40, 70];
/// The keys that are read.
const READ: std::ops::RangeInclusive<u32> = 15..=60;
/// Two rows fill a leaf.
const LARGE_BYTES: usize = 3_000;

fn with_rows(
    seed: u64,
    keys: &'static [u32],
    value_bytes: usize,
    body: impl FnOnce(Arc<Db>) + Send + 'static,
) {
    World::new(seed, Profile::nvme())
        .run(move |os| {
            let db = Arc::new(create(os, &Place::new("/data/t")));
            let txn = begin(&db);
            for key in keys {
                db.tree.insert(&txn, &key.to_be_bytes(), &vec![1; value_bytes]).expect("room");
            }
            txn.commit(CommitMode::Full).expect("a healthy disk");
            body(db);
        })
        .assert_ok();
}

fn between(lower: u32, upper: u32) -> KeyRange {
    KeyRange {
        lower: Bound::Included(lower.to_be_bytes().as_slice().into()),
        upper: Bound::Included(upper.to_be_bytes().as_slice().into()),
    }
}

fn keys(db: &Db, txn: &Transaction, range: KeyRange, options: ScanOptions) -> AccessResult<Vec<u32>> {
    let mut keys = common::keys(db, txn, range, options)?;
    keys.sort_unstable();
    Ok(keys)
}

/// Can another transaction insert the key now?
fn is_free(db: &Db, key: u32) -> bool {
    let other = begin(db);
    other.space().set_lock_timeout_ms(0);
    let result = db.tree.insert(&other, &key.to_be_bytes(), b"other");
    other.rollback().expect("a healthy disk");
    match result {
        Ok(inserted) => inserted == Inserted::Done,
        Err(AccessError::Lock(LockError::Timeout)) => false,
        Err(error) => panic!("{error}"),
    }
}

/// The same for a key inserted together with others, behind all keys.
fn are_free(db: &Db, keys: &[u32]) -> bool {
    let other = begin(db);
    other.space().set_lock_timeout_ms(0);
    let keys: Vec<[u8; 4]> = keys.iter().map(|key| key.to_be_bytes()).collect();
    let rows = keys.iter().map(|key| (key.as_slice(), b"other".as_slice()));
    let mut inserted = 0;
    let result = db.tree.insert_sorted(&other, rows, &mut inserted);
    other.rollback().expect("a healthy disk");
    result.is_ok()
}

/// The reader's changes in the range that it has read.
#[derive(Clone, Copy, Debug)]
enum Own {
    Nothing,
    Insert(&'static [u32]),
    InsertTogether(&'static [u32]),
    /// Deletes one key and inserts another.
    Move(u32, u32),
    InsertAndDelete(u32),
    /// Inserts, and rolls that back.
    InsertAndUndo(u32),
}

impl Own {
    fn change(self, db: &Db, txn: &Transaction, value: &[u8]) {
        let insert = |key: u32| {
            let inserted = db.tree.insert(txn, &key.to_be_bytes(), value).expect("the range is its own");
            assert_eq!(inserted, Inserted::Done);
        };
        match self {
            Own::Nothing => {}
            Own::Insert(keys) => keys.iter().copied().for_each(insert),
            Own::InsertTogether(keys) => {
                let keys: Vec<[u8; 4]> = keys.iter().map(|key| key.to_be_bytes()).collect();
                let rows = keys.iter().map(|key| (key.as_slice(), value));
                db.tree.insert_sorted(txn, rows, &mut 0).expect("the range is its own");
            }
            Own::Move(from, to) => {
                db.tree.delete(txn, &from.to_be_bytes()).expect("there");
                insert(to);
            }
            Own::InsertAndDelete(key) => {
                insert(key);
                db.tree.delete(txn, &key.to_be_bytes()).expect("there");
            }
            Own::InsertAndUndo(key) => {
                let (point, mark) = (txn.savepoint(), txn.lock_mark());
                insert(key);
                txn.rollback_to(point).expect("a healthy disk");
                txn.unlock_since(mark);
            }
        }
    }
}

const CHANGES: [Own; 10] = [
    Own::Nothing,
    Own::Insert(&[50]),
    Own::Insert(&[50, 45, 55, 47, 46]),
    Own::Insert(&[25, 15, 60, 52]),
    Own::InsertTogether(&[41, 44, 50, 59]),
    Own::Move(40, 45),
    Own::Move(70, 50),
    Own::Move(10, 35),
    Own::InsertAndDelete(50),
    Own::InsertAndUndo(50),
];

/// However a range was read and whatever its reader then does in it: no other transaction can insert a key into it; keys far from it are free.
#[test]
fn a_range_stays_its_readers_whatever_he_inserts() {
    for value_bytes in [3, LARGE_BYTES] {
        for row_lock in [RowLock::Shared, RowLock::Update, RowLock::Exclusive] {
            for backward in [false, true] {
                for own in CHANGES {
                    with_rows(1, &KEYS, value_bytes, move |db| {
                        let told =
                            format!("{value_bytes} bytes, {row_lock:?}, backward: {backward}, {own:?}");
                        let isolation = IsolationLevel::Serializable;
                        let options = ScanOptions { isolation, row_lock, backward, ..ScanOptions::default() };
                        let reader = begin(&db);
                        let range = || between(*READ.start(), *READ.end());
                        assert_eq!(keys(&db, &reader, range(), options).expect("alone"), [20, 30, 40]);
                        own.change(&db, &reader, &vec![2; value_bytes]);
                        for key in READ.filter(|key| !KEYS.contains(key)) {
                            assert!(!is_free(&db, key), "{told}: {key}");
                        }
                        assert!(!are_free(&db, &[43, 48]), "{told}: two together");
                        for key in [1, 90, 95] {
                            assert!(is_free(&db, key), "{told}: {key} is far away");
                        }
                        assert!(are_free(&db, &[90, 95]), "{told}: two far away");
                        reader.commit(CommitMode::Full).expect("a healthy disk");
                        assert!(is_free(&db, 51), "{told}: it has ended");
                    });
                }
            }
        }
    }
}

/// The range up to the end of the tree, and an empty tree: the end of the tree bounds the gap.
#[test]
fn the_gap_below_the_end_stays_its_readers() {
    for (there, lower) in [(&[][..], 0u32), (&[10][..], 15), (&[10, 20, 30, 40, 50, 60][..], 45)] {
        for backward in [false, true] {
            with_rows(2, there, LARGE_BYTES, move |db| {
                let isolation = IsolationLevel::Serializable;
                let options = ScanOptions { isolation, backward, ..ScanOptions::default() };
                let from = KeyRange {
                    lower: Bound::Included(lower.to_be_bytes().as_slice().into()),
                    upper: Bound::Unbounded,
                };
                let reader = begin(&db);
                keys(&db, &reader, from.clone(), options).expect("alone");
                for own in [200u32, 100, 300] {
                    db.tree.insert(&reader, &own.to_be_bytes(), b"own").expect("its own range");
                    for key in [lower + 3, 99, 101, 199, 201, 299, 301, 1_000] {
                        assert!(!is_free(&db, key), "{there:?}, backward: {backward}, {own}: {key}");
                    }
                }
                assert!(!are_free(&db, &[400, 401, 402]), "behind all keys, together");
                reader.rollback().expect("a healthy disk");
                assert!(are_free(&db, &[400, 401, 402]));
            });
        }
    }
}

/// Ghosts bound gaps: one that existed when the range was read, and the reader's own.
#[test]
fn ghosts_bound_what_their_reader_keeps() {
    with_rows(3, &KEYS, 3, |db| {
        let txn = begin(&db);
        db.tree.delete(&txn, &50u32.to_be_bytes()).expect_err("not there");
        db.tree.delete(&txn, &70u32.to_be_bytes()).expect("there");
        txn.commit(CommitMode::Full).expect("a healthy disk");
        let reader = begin(&db);
        let options = ScanOptions { isolation: IsolationLevel::Serializable, ..ScanOptions::default() };
        assert_eq!(keys(&db, &reader, between(15, 60), options).expect("alone"), [20, 30, 40]);
        db.tree.insert(&reader, &50u32.to_be_bytes(), b"own").expect("its own");
        db.tree.delete(&reader, &50u32.to_be_bytes()).expect("there");
        db.tree.insert(&reader, &45u32.to_be_bytes(), b"own").expect("its own");
        db.access.clean_ghosts(&db.manager, 100).expect("a healthy disk");
        for key in (41..=69).filter(|key| *key != 45) {
            assert!(!is_free(&db, key), "{key}");
        }
        assert!(is_free(&db, 71));
        reader.commit(CommitMode::Full).expect("a healthy disk");
    });
}

/// A reader reaches a range's end while others insert, delete and roll back around it: it reads the same rows a second time, and a third time
/// after its own insert.
#[test]
fn a_range_is_read_twice_the_same_while_others_insert_at_its_bounds() {
    for value_bytes in [3, LARGE_BYTES] {
        for seed in 0..150 {
            with_rows(seed, &KEYS, value_bytes, move |db| {
                let value = vec![3; value_bytes];
                let tasks: Vec<_> = (0..3u32)
                    .map(|task| {
                        let (value, other) = (value.clone(), Arc::clone(&db));
                        db.os.clone().spawn("other", move || others(&other, task, seed, &value))
                    })
                    .collect();
                for round in 0..8u64 {
                    let backward = (seed + round).is_multiple_of(2);
                    read_twice(
                        &db,
                        round as u32,
                        ScanOptions {
                            isolation: IsolationLevel::Serializable,
                            backward,
                            ..ScanOptions::default()
                        },
                    );
                }
                tasks.into_iter().for_each(|task| task.join().expect("it ends"));
            });
        }
    }
}

fn read_twice(db: &Db, round: u32, options: ScanOptions) {
    let reader = begin(db);
    let range = || between(READ.start() + round, READ.end() - 2 * round);
    let read = |own: &[u32]| -> AccessResult<Vec<u32>> {
        let seen = keys(db, &reader, range(), options)?;
        Ok(seen.into_iter().filter(|key| !own.contains(key)).collect())
    };
    let outcome: AccessResult<()> = (|| {
        let first = read(&[])?;
        db.os.sleep(1_000, WaitType::WAITFOR).expect("nobody interrupts");
        assert_eq!(read(&[])?, first, "round {round}, {options:?}");
        let own = [51, 38].into_iter().filter(|key| !first.contains(key)).collect::<Vec<u32>>();
        for key in &own {
            db.tree.insert(&reader, &key.to_be_bytes(), b"own")?;
        }
        db.os.sleep(1_000, WaitType::WAITFOR).expect("nobody interrupts");
        assert_eq!(read(&own)?, first, "round {round}, {options:?}, with its own");
        Ok(())
    })();
    match outcome {
        Ok(()) | Err(AccessError::Lock(LockError::Deadlock)) => reader.rollback().expect("a healthy disk"),
        Err(error) => panic!("{error}"),
    }
}

/// Inserts and deletes keys around the bounds, and rolls half of the changes back.
fn others(db: &Db, task: u32, seed: u64, value: &[u8]) {
    for turn in 0..12u32 {
        let txn = begin(db);
        let draw = (seed as u32).wrapping_mul(2_654_435_761).wrapping_add(task * 7 + turn * 31);
        let key = [61, 65, 58, 70, 50, 41, 44, 20, 15, 12][draw as usize % 10];
        let outcome = match draw / 16 % 3 {
            0 => db.tree.delete(&txn, &u32::to_be_bytes(key)),
            _ => db.tree.insert(&txn, &u32::to_be_bytes(key), value).map(drop),
        };
        match outcome {
            Ok(()) if (draw / 64).is_multiple_of(2) => {
                let _ = txn.commit(CommitMode::Delayed).expect("a healthy disk");
            }
            Ok(()) | Err(AccessError::RowGone | AccessError::Lock(LockError::Deadlock)) => {
                txn.rollback().expect("a healthy disk");
            }
            Err(error) => panic!("{error}"),
        }
        if turn % 4 == 3 {
            db.access.clean_ghosts(&db.manager, 100).expect("a healthy disk");
        }
    }
}
