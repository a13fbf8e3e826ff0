//! Isolation by row and key-range locks, in simulated worlds: which transaction waits, and what it sees (reference 9.1, 9.2).
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use common::{Db, Place, begin, create, keys};
use hardpan_access::{AccessError, Inserted, KeyRange, RowLock, ScanOptions};
use os::sim::{Profile, World};
use os::{JoinHandle, WaitType};
use txn::{CommitMode, IsolationLevel, LockError, LockMode, LockWait, Resource, Transaction};

fn with_rows(seed: u64, body: impl FnOnce(Arc<Db>) + Send + 'static) {
    World::new(seed, Profile::nvme())
        .run(move |os| {
            let db = Arc::new(create(os, &Place::new("/data/t")));
            let txn = begin(&db);
            for key in [10u32, 20, 30, 40] {
                db.tree.insert(&txn, &key.to_be_bytes(), b"old").expect("room");
            }
            txn.commit(CommitMode::Full).expect("a healthy disk");
            body(db);
        })
        .assert_ok();
}

fn at(isolation: IsolationLevel) -> ScanOptions {
    ScanOptions { isolation, ..ScanOptions::default() }
}

fn key(key: u32) -> [u8; 4] {
    key.to_be_bytes()
}

fn spawn(db: &Arc<Db>, body: impl FnOnce(&Db) + Send + 'static) -> JoinHandle {
    let db = Arc::clone(db);
    db.os.clone().spawn("other", move || body(&db))
}

fn pause(db: &Db) {
    db.os.sleep(50_000_000, WaitType::WAITFOR).expect("nobody interrupts");
}

#[test]
fn read_committed_waits_for_a_writer_and_read_uncommitted_does_not() {
    with_rows(1, |db| {
        let writer = begin(&db);
        db.tree.update(&writer, &key(20), b"new").expect("there");
        db.tree.delete(&writer, &key(30)).expect("there");
        db.tree.insert(&writer, &key(25), b"new").expect("room");
        let reader = begin(&db);
        let dirty = keys(&db, &reader, KeyRange::all(), at(IsolationLevel::ReadUncommitted));
        assert_eq!(dirty.expect("no wait"), [10, 20, 25, 40]);
        let hasty = ScanOptions { wait: LockWait::NoWait, ..ScanOptions::default() };
        let refused = keys(&db, &reader, KeyRange::all(), hasty);
        assert!(matches!(refused, Err(AccessError::Lock(LockError::Timeout))), "{refused:?}");
        let past = ScanOptions { skip_locked: true, ..ScanOptions::default() };
        assert_eq!(keys(&db, &reader, KeyRange::all(), past).expect("passes over"), [10, 40]);
        let waiting = spawn(&db, |db| {
            let reader = begin(db);
            let seen = keys(db, &reader, KeyRange::all(), ScanOptions::default()).expect("waits");
            assert_eq!(seen, [10, 20, 30, 40], "the writer rolled back");
        });
        pause(&db);
        writer.rollback().expect("a healthy disk");
        waiting.join().expect("the reader");
    });
}

#[test]
fn repeatable_read_keeps_rows_and_lets_phantoms_in() {
    with_rows(2, |db| {
        let reader = begin(&db);
        let level = at(IsolationLevel::RepeatableRead);
        assert_eq!(keys(&db, &reader, KeyRange::all(), level).expect("no wait"), [10, 20, 30, 40]);
        let changing = spawn(&db, |db| {
            let writer = begin(db);
            assert_eq!(
                db.tree.insert(&writer, &key(15), b"new").expect("no range is locked"),
                Inserted::Done
            );
            writer.commit(CommitMode::Full).expect("a healthy disk");
            let writer = begin(db);
            db.tree.update(&writer, &key(20), b"new").expect("waits for the reader");
            writer.commit(CommitMode::Full).expect("a healthy disk");
        });
        pause(&db);
        let mut value = Vec::new();
        db.tree.get(&reader, &key(20), &level, &mut value).expect("still locked by us");
        assert_eq!(value, b"old");
        assert_eq!(keys(&db, &reader, KeyRange::all(), level).expect("no wait"), [10, 15, 20, 30, 40]);
        reader.commit(CommitMode::Full).expect("nothing to log");
        changing.join().expect("the writer");
    });
}

#[test]
fn serializable_ranges_keep_phantoms_out_forward_and_backward() {
    for backward in [false, true] {
        with_rows(3, move |db| {
            let reader = begin(&db);
            let level = ScanOptions { backward, ..at(IsolationLevel::Serializable) };
            let range = || KeyRange {
                lower: std::ops::Bound::Included(key(15).as_slice().into()),
                upper: std::ops::Bound::Included(key(30).as_slice().into()),
            };
            let mut expected = vec![20, 30];
            if backward {
                expected.reverse();
            }
            assert_eq!(keys(&db, &reader, range(), level).expect("no wait"), expected);
            let changing = spawn(&db, |db| {
                let writer = begin(db);
                db.tree.insert(&writer, &key(45), b"new").expect("outside the range");
                writer.commit(CommitMode::Full).expect("a healthy disk");
                for inside in [25, 30] {
                    let writer = begin(db);
                    let _ = db.tree.insert(&writer, &key(inside), b"new").expect("waits for the reader");
                    writer.commit(CommitMode::Full).expect("a healthy disk");
                }
            });
            pause(&db);
            assert_eq!(keys(&db, &reader, range(), level).expect("no wait"), expected, "no phantom");
            reader.commit(CommitMode::Full).expect("nothing to log");
            changing.join().expect("the writer");
            let reader = begin(&db);
            assert_eq!(
                keys(&db, &reader, KeyRange::all(), at(IsolationLevel::ReadCommitted)).expect("no wait"),
                [10, 20, 25, 30, 40, 45]
            );
        });
    }
}

#[test]
fn a_serializable_look_at_nothing_keeps_the_gap_and_the_end() {
    with_rows(4, |db| {
        let reader = begin(&db);
        let level = at(IsolationLevel::Serializable);
        assert_eq!(keys(&db, &reader, KeyRange::exactly(&key(33)), level).expect("no wait"), []);
        let beyond = KeyRange {
            lower: std::ops::Bound::Included(key(50).as_slice().into()),
            upper: std::ops::Bound::Unbounded,
        };
        assert_eq!(keys(&db, &reader, beyond, level).expect("no wait"), []);
        let object = Resource::Object { database: 5, object: 100 };
        for (new, free) in [(5u32, true), (33, false), (60, false)] {
            let writer = db.begin();
            writer.lock(object, LockMode::IX, LockWait::Forever).expect("alone");
            writer.space().set_lock_timeout_ms(0);
            let result = db.tree.insert(&writer, &key(new), b"new");
            assert_eq!(result.is_ok(), free, "key {new}: {result:?}");
            writer.rollback().expect("a healthy disk");
        }
    });
}

/// The cleanup does not remove a ghost that guards a locked range.
#[test]
fn ghosts_under_range_locks_stay() {
    with_rows(5, |db| {
        let txn = begin(&db);
        db.tree.delete(&txn, &key(30)).expect("there");
        txn.commit(CommitMode::Full).expect("a healthy disk");
        let reader = begin(&db);
        let range = KeyRange {
            lower: std::ops::Bound::Included(key(21).as_slice().into()),
            upper: std::ops::Bound::Included(key(29).as_slice().into()),
        };
        assert_eq!(keys(&db, &reader, range, at(IsolationLevel::Serializable)).expect("no wait"), []);
        db.access.clean_ghosts(&db.manager, 100).expect("a healthy disk");
        let writer = begin(&db);
        writer.space().set_lock_timeout_ms(0);
        assert!(matches!(
            db.tree.insert(&writer, &key(25), b"new"),
            Err(AccessError::Lock(LockError::Timeout))
        ));
        writer.rollback().expect("a healthy disk");
    });
}

#[test]
fn an_insert_waits_for_an_undecided_duplicate() {
    for commit in [false, true] {
        with_rows(6, move |db| {
            let first = begin(&db);
            db.tree.insert(&first, &key(50), b"first").expect("room");
            let second = spawn(&db, move |db| {
                let txn = begin(db);
                let result = db.tree.insert(&txn, &key(50), b"second").expect("waits");
                assert_eq!(result, if commit { Inserted::Duplicate } else { Inserted::Done });
                txn.commit(CommitMode::Full).expect("a healthy disk");
            });
            pause(&db);
            if commit {
                first.commit(CommitMode::Full).expect("a healthy disk");
            } else {
                first.rollback().expect("a healthy disk");
            }
            second.join().expect("the second");
        });
    }
}

#[test]
fn crossed_updates_end_with_one_victim() {
    with_rows(7, |db| {
        let tasks: Vec<JoinHandle> = [(10u32, 40u32), (40, 10)]
            .into_iter()
            .map(|(one, other)| {
                spawn(&db, move |db| {
                    let txn = begin(db);
                    db.tree.update(&txn, &key(one), b"mine").expect("nobody has it yet");
                    pause(db);
                    match db.tree.update(&txn, &key(other), b"mine") {
                        Ok(()) => drop(txn.commit(CommitMode::Full).expect("a healthy disk")),
                        Err(AccessError::Lock(LockError::Deadlock)) => {
                            txn.rollback().expect("a healthy disk")
                        }
                        Err(other) => panic!("{other}"),
                    }
                })
            })
            .collect();
        tasks.into_iter().for_each(|task| task.join().expect("ends"));
        let reader = begin(&db);
        let mut values = Vec::new();
        for both in [10, 40] {
            db.tree.get(&reader, &key(both), &ScanOptions::default(), &mut values).expect("there");
        }
        assert_eq!(values, b"minemine", "one of the two changed both");
    });
}

#[test]
fn an_update_scan_keeps_what_it_found_and_gives_back_what_does_not_qualify() {
    with_rows(8, |db| {
        let txn = begin(&db);
        let options = ScanOptions { row_lock: RowLock::Update, ..ScanOptions::default() };
        let mut cursor = db.tree.scan(KeyRange::all(), options);
        assert!(cursor.next(&txn).expect("no wait"));
        cursor.release_row(&txn);
        assert!(cursor.next(&txn).expect("no wait"));
        let mode = |k: u32| txn.held_mode(&db.tree.key_resource(&key(k)));
        assert_eq!((mode(10), mode(20), mode(30)), (None, Some(LockMode::U), None));
        db.tree.update(&txn, &key(20), b"new").expect("there");
        assert!(cursor.next(&txn).expect("no wait"));
        assert_eq!((mode(20), mode(30)), (Some(LockMode::X), Some(LockMode::U)));
        assert_eq!(cursor.key(), key(30));
        cursor.release_row(&txn);
        assert_eq!(mode(30), None);
    });
}

/// A transaction that has waited for a row gets it: none waits twice for the same row, however many are queued (by key, by scan, by insert).
#[test]
fn a_row_is_waited_for_once() {
    const TASKS: u64 = 6;
    const ROUNDS: u64 = 8;
    const SEEDS: u64 = 40;
    let total = Arc::new(AtomicU64::new(0));
    for seed in 0..SEEDS {
        let total = Arc::clone(&total);
        with_rows(seed, move |db| {
            let waits = db.os.counters().counter("SQLServer:Locks", "Lock Waits/sec", "Key");
            let before = waits.get();
            let start = |task: u64| {
                spawn(&db, move |db| {
                    for round in 0..ROUNDS {
                        let txn = begin(db);
                        let options = ScanOptions { row_lock: RowLock::Update, ..ScanOptions::default() };
                        if (task + round).is_multiple_of(2) {
                            assert!(
                                db.tree.get(&txn, &key(20), &options, &mut Vec::new()).expect("no deadlock")
                            );
                        } else {
                            let range = KeyRange::exactly(&key(20));
                            let mut cursor = db.tree.scan(range, options);
                            assert!(cursor.next(&txn).expect("no deadlock"));
                        }
                        db.tree.update(&txn, &key(20), &(task * 100 + round).to_be_bytes()).expect("locked");
                        txn.commit(CommitMode::Delayed).expect("a healthy disk");
                    }
                })
            };
            for task in (0..TASKS).map(start).collect::<Vec<_>>() {
                task.join().expect("no task fails");
            }
            let waited = (waits.get() - before) as u64;
            assert!(waited <= TASKS * ROUNDS, "{waited} waits for {} turns", TASKS * ROUNDS);
            total.fetch_add(waited, Relaxed);
        });
    }
    // In a few worlds the transactions run one after the other.
    let total = total.load(Relaxed);
    assert!(
        total > SEEDS * TASKS * ROUNDS / 4,
        "they are in each other's way in many of their turns: {total}"
    );
}

/// At SERIALIZABLE a key that exists needs only its own lock; a key that does not exist needs its gap.
#[test]
fn a_serializable_look_at_one_key_locks_that_key() {
    for (row_lock, mode) in
        [(RowLock::Shared, LockMode::S), (RowLock::Update, LockMode::U), (RowLock::Exclusive, LockMode::X)]
    {
        for backward in [false, true] {
            with_rows(9, move |db| {
                let reader = begin(&db);
                let level = ScanOptions { row_lock, backward, ..at(IsolationLevel::Serializable) };
                let found = keys(&db, &reader, KeyRange::exactly(&key(20)), level).expect("no wait");
                let mut value = Vec::new();
                assert!(db.tree.get(&reader, &key(30), &level, &mut value).expect("no wait"));
                assert_eq!((found, value), (vec![20], b"old".to_vec()));
                let held = |k: u32| reader.held_mode(&db.tree.key_resource(&key(k)));
                assert_eq!([held(10), held(20), held(30), held(40)], [None, Some(mode), Some(mode), None]);
                let writer = begin(&db);
                writer.space().set_lock_timeout_ms(0);
                for free in [15, 25, 35, 45] {
                    db.tree.insert(&writer, &key(free), b"new").expect("no gap is locked");
                }
                assert!(db.tree.delete(&writer, &key(20)).is_err(), "the key stays while it is read");
                writer.rollback().expect("a healthy disk");
                assert_eq!(keys(&db, &reader, KeyRange::exactly(&key(33)), level).expect("no wait"), []);
                let writer = begin(&db);
                writer.space().set_lock_timeout_ms(0);
                assert!(db.tree.insert(&writer, &key(33), b"new").is_err(), "what is not there stays away");
                writer.rollback().expect("a healthy disk");
            });
        }
    }
}

/// The same lock where a ghost has the key: it bounds the gap.
#[test]
fn a_serializable_look_at_a_ghost_keeps_the_key_away() {
    with_rows(10, |db| {
        let txn = begin(&db);
        db.tree.delete(&txn, &key(30)).expect("there");
        txn.commit(CommitMode::Full).expect("a healthy disk");
        let reader = begin(&db);
        let level = at(IsolationLevel::Serializable);
        assert_eq!(keys(&db, &reader, KeyRange::exactly(&key(30)), level).expect("no wait"), []);
        db.access.clean_ghosts(&db.manager, 100).expect("a healthy disk");
        let writer = begin(&db);
        writer.space().set_lock_timeout_ms(0);
        assert!(db.tree.insert(&writer, &key(30), b"new").is_err());
        writer.rollback().expect("a healthy disk");
    });
}

/// Row locks are escalated to a table lock in the middle of a scan for update: from there on rows come page by page, each once, and
/// no other transaction gets any of them.
#[test]
fn a_scan_that_locks_rows_reads_pages_once_the_table_is_locked() {
    with_rows(9, |db| {
        let txn = begin(&db);
        for key in 1_000..9_000u32 {
            db.tree.insert(&txn, &key.to_be_bytes(), b"more").expect("room");
            db.heap.insert(&txn, &key.to_be_bytes()).expect("room");
        }
        txn.commit(CommitMode::Full).expect("a healthy disk");
        let object = Resource::Object { database: 5, object: 100 };
        let options = ScanOptions { row_lock: RowLock::Update, ..ScanOptions::default() };
        let check = |txn: &Transaction, found: &[(u32, usize)], alone: usize| {
            let keys: Vec<u32> = found.iter().map(|(key, _)| *key).collect();
            assert!(keys.is_sorted_by(|one, next| one < next), "each once, in order");
            assert!(found[..alone].iter().all(|(_, together)| *together == 1), "row by row, each locked");
            assert!(
                found[alone + 10..].iter().filter(|(_, together)| *together == 1).count() < 3,
                "by the page"
            );
            assert_eq!(txn.held_mode(&object), Some(LockMode::X));
        };
        let txn = begin(&db);
        let mut cursor = db.tree.scan(KeyRange::all(), options);
        let mut found = Vec::new();
        loop {
            let together = cursor.next_page(&txn).expect("a healthy disk");
            if together == 0 {
                break;
            }
            let key_at = |at| u32::from_be_bytes(cursor.key_at(at).try_into().expect("four bytes"));
            found.extend((0..together).map(|at| (key_at(at), together)));
        }
        assert_eq!(found.len(), 8_004);
        check(&txn, &found, 4_990);
        let other = spawn(&db, |db| {
            let txn = db.begin();
            let error =
                txn.lock(Resource::Object { database: 5, object: 100 }, LockMode::IX, LockWait::NoWait);
            assert_eq!(error, Err(LockError::Timeout));
        });
        other.join().expect("it ends");
        txn.commit(CommitMode::Full).expect("nothing to log");

        let txn = begin(&db);
        let mut cursor = db.heap.scan(options);
        let mut found = Vec::new();
        loop {
            let together = cursor.next_page(&txn).expect("a healthy disk");
            if together == 0 {
                break;
            }
            let key_at = |at| u32::from_be_bytes(*cursor.row_at(at).first_chunk().expect("four bytes"));
            found.extend((0..together).map(|at| (key_at(at), together)));
        }
        assert_eq!(found.len(), 8_000);
        check(&txn, &found, 4_990);
        txn.commit(CommitMode::Full).expect("nothing to log");
    });
}
