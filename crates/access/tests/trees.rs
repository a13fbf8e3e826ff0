//! One tree with long keys (many levels, interior splits) against a BTreeMap; rollbacks after others have split the pages;
#![allow(clippy::unwrap_used, reason = "a test")]
//! redo twice; forward and backward ranges; trees that are built from sorted rows; keys that are deleted together.

mod common;

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use common::{Db, Place, begin, create, open};
use hardpan_access::{AccessError, BTreeDef, BTreeKind, BuildFill, Inserted, KeyRange, ScanOptions, UnitId};
use os::sim::{Bug, End, Profile, World};
use os::{Latch, LatchRank, Rng, WaitType};
use pages::{LatchMode, header};
use txn::{CommitMode, IsolationLevel, ResourceManager};

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

/// Runs `body` in a world with a new database.
fn with_db(seed: u64, body: impl FnOnce(Db) + Send + 'static) {
    World::new(seed, Profile::nvme()).run(move |os| body(create(os, &Place::new("/data/t")))).assert_ok();
}

/// Keys of very different lengths, long ones among neighbours that share much.
fn random_key(rng: &mut Rng) -> Vec<u8> {
    let stem = rng.below(12) as u8;
    let length = match rng.below(6) {
        0 => 1500,
        1 => 400,
        _ => rng.below(30) as usize,
    };
    let mut key = vec![stem; length];
    key.extend_from_slice(&(rng.below(60) as u16).to_be_bytes());
    key
}

fn read_range(db: &Db, range: KeyRange, backward: bool) -> Vec<(Vec<u8>, Vec<u8>)> {
    let txn = db.begin();
    let options =
        ScanOptions { backward, isolation: IsolationLevel::ReadUncommitted, ..ScanOptions::default() };
    let mut cursor = db.tree.scan(range, options);
    let mut rows = Vec::new();
    while cursor.next(&txn).expect("a healthy disk") {
        rows.push((cursor.key().to_vec(), cursor.value().to_vec()));
    }
    rows
}

/// Looks up keys together: those of the map and others, few of them or all.
fn check_look_ups(db: &Db, model: &Rows, rng: &mut Rng) {
    for share in [1, 3, 40] {
        let mut keys: Vec<Vec<u8>> = model.keys().filter(|_| rng.chance(1, share)).cloned().collect();
        keys.extend((0..20).map(|_| random_key(rng)));
        keys.sort_unstable();
        let txn = db.begin();
        let mut found = vec![None; keys.len()];
        let mut note = |number: usize, value: &[u8]| found[number] = Some(value.to_vec());
        db.tree
            .get_many(&txn, keys.iter().map(Vec::as_slice), &ScanOptions::default(), &mut note)
            .expect("a healthy disk");
        let expected: Vec<_> = keys.iter().map(|key| model.get(key).cloned()).collect();
        assert_eq!(found, expected, "{} keys of {}", keys.len(), model.len());
    }
}

fn check_against(db: &Db, model: &Rows, rng: &mut Rng) {
    check_look_ups(db, model, rng);
    let rows = db.verify();
    assert_eq!(rows, Ok(model.len() as u64));
    let expected: Vec<_> = model.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    assert_eq!(read_range(db, KeyRange::all(), false), expected);
    for _ in 0..10 {
        let (one, other) = (random_key(rng), random_key(rng));
        let (low, high) = if one < other { (one, other) } else { (other, one) };
        let bounds = [
            (Bound::Included(low.clone()), Bound::Included(high.clone())),
            (Bound::Excluded(low.clone()), Bound::Excluded(high.clone())),
            (Bound::Unbounded, Bound::Excluded(low.clone())),
            (Bound::Excluded(high.clone()), Bound::Unbounded),
        ];
        for (lower, upper) in bounds {
            let mut expected: Vec<_> = match (&lower, &upper) {
                (Bound::Excluded(low), Bound::Excluded(high)) if low == high => Vec::new(),
                _ => {
                    model.range((lower.clone(), upper.clone())).map(|(k, v)| (k.clone(), v.clone())).collect()
                }
            };
            let range = KeyRange { lower: lower.map(Into::into), upper: upper.map(Into::into) };
            assert_eq!(read_range(db, range.clone(), false), expected);
            expected.reverse();
            assert_eq!(read_range(db, range, true), expected);
        }
    }
}

fn change(db: &Db, txn: &txn::Transaction, model: &mut Rows, rng: &mut Rng) -> Result<(), AccessError> {
    let key = random_key(rng);
    let value = vec![rng.below(256) as u8; rng.below(700) as usize];
    match (model.contains_key(&key), rng.below(3)) {
        (false, _) => {
            assert!(matches!(db.tree.delete(txn, &key), Err(AccessError::RowGone)));
            assert_eq!(db.tree.insert(txn, &key, &value)?, Inserted::Done);
            model.insert(key, value);
        }
        (true, 0) => {
            db.tree.update(txn, &key, &value)?;
            model.insert(key, value);
        }
        (true, 1) => assert_eq!(db.tree.insert(txn, &key, &value)?, Inserted::Duplicate),
        (true, _) => {
            db.tree.delete(txn, &key)?;
            model.remove(&key);
        }
    }
    Ok(())
}

#[test]
fn a_deep_tree_is_a_sorted_map() {
    for seed in 0..6 {
        with_db(seed, move |db| {
            let mut rng = Rng::named(seed, "deep tree");
            let mut model = Rows::new();
            for round in 0..25 {
                let txn = db.begin();
                let mut after = model.clone();
                for _ in 0..rng.below(80) {
                    change(&db, &txn, &mut after, &mut rng).expect("room");
                }
                if rng.chance(1, 3) {
                    txn.rollback().expect("a healthy disk");
                } else {
                    txn.commit(CommitMode::Delayed).expect("a healthy disk");
                    model = after;
                }
                if round % 5 == 4 {
                    check_against(&db, &model, &mut rng);
                }
                db.access.clean_ghosts(&db.manager, 1000).expect("a healthy disk");
            }
            check_against(&db, &model, &mut rng);
        });
    }
}

/// A leaf whose parent has room for one child more is split while somebody has the root latched.
#[test]
fn most_splits_do_not_wait_for_the_root() {
    with_db(17, |db| {
        // Separators as long as the keys: a few leaves under each parent, and many parents.
        let key = |rng: &mut Rng| {
            let mut key = vec![7; 400];
            key.extend_from_slice(&rng.below(u64::MAX).to_be_bytes());
            key
        };
        let mut rng = db.os.rng("keys");
        let txn = begin(&db);
        for _ in 0..1_500 {
            db.tree.insert(&txn, &key(&mut rng), &[1; 60]).expect("a healthy disk");
        }
        txn.commit(CommitMode::Full).expect("a healthy disk");
        let db = Arc::new(db);
        let root = db.space.fix(db.roots.1, LatchMode::Shared).expect("a healthy disk");
        assert!(header::level(root.page()) >= 2, "parents of leaves are below the root");
        let before = db.access.used_pages(1).expect("a healthy disk");
        let writer = {
            let db = Arc::clone(&db);
            db.os.clone().spawn("writer", move || {
                let txn = begin(&db);
                for _ in 0..100 {
                    db.tree.insert(&txn, &key(&mut rng), &[1; 60]).expect("a healthy disk");
                }
                txn.commit(CommitMode::Full).expect("a healthy disk");
            })
        };
        db.os.sleep(1_000_000_000, WaitType::WAITFOR).expect("nobody interrupts");
        let meanwhile = db.access.used_pages(1).expect("a healthy disk");
        drop(root);
        let _ = writer.join();
        assert!(meanwhile > before, "{before} pages before, {meanwhile} while the root was latched");
        assert_eq!(read_range(&db, KeyRange::all(), false).len(), 1_600);
    });
}

#[test]
fn emptied_leaves_are_given_back() {
    with_db(1, |db| {
        let txn = db.begin();
        for key in 0..2000u32 {
            db.tree.insert(&txn, &key.to_be_bytes(), &[1; 100]).expect("room");
        }
        txn.commit(CommitMode::Full).expect("a healthy disk");
        let pages = |db: &Db| db.access.verify(&[], false).map(|_| db.space.file_pages(1)).expect("sound");
        let before = pages(&db);
        let txn = db.begin();
        for key in 0..2000u32 {
            db.tree.delete(&txn, &key.to_be_bytes()).expect("it is there");
        }
        db.access.clean_ghosts(&db.manager, 1000).expect("nothing may go yet");
        assert_eq!(db.verify(), Ok(0));
        txn.commit(CommitMode::Full).expect("a healthy disk");
        for _ in 0..3 {
            db.access.clean_ghosts(&db.manager, 1000).expect("a healthy disk");
        }
        assert_eq!(db.verify(), Ok(0));
        let txn = db.begin();
        for key in 0..2000u32 {
            db.tree.insert(&txn, &key.to_be_bytes(), &[2; 100]).expect("room");
        }
        txn.commit(CommitMode::Full).expect("a healthy disk");
        assert_eq!(db.verify(), Ok(2000));
        assert_eq!(pages(&db), before, "the pages given back were used again");
    });
}

/// Rollback finds its rows although another transaction has split and moved them (logical undo).
#[test]
fn undo_after_another_transaction_split_the_pages() {
    with_db(2, |db| {
        let mine = db.begin();
        for key in (0..400u32).step_by(10) {
            db.tree.insert(&mine, &key.to_be_bytes(), &[1; 60]).expect("room");
        }
        mine.commit(CommitMode::Full).expect("a healthy disk");
        let mine = db.begin();
        for key in (0..400u32).step_by(10) {
            match key / 10 % 3 {
                0 => db.tree.delete(&mine, &key.to_be_bytes()).expect("it is there"),
                1 => db.tree.update(&mine, &key.to_be_bytes(), &[2; 3]).expect("it is there"),
                _ => drop(db.tree.insert(&mine, &(key + 5).to_be_bytes(), &[3; 500]).expect("room")),
            }
        }
        let other = db.begin();
        for key in 0..400u32 {
            if key % 5 != 0 {
                db.tree.insert(&other, &key.to_be_bytes(), &[4; 300]).expect("room");
            }
        }
        other.commit(CommitMode::Full).expect("a healthy disk");
        mine.rollback().expect("a healthy disk");
        let rows = read_range(&db, KeyRange::all(), false);
        assert_eq!(rows.len(), 320 + 40);
        for (key, value) in rows {
            let key = u32::from_be_bytes(key.try_into().expect("four bytes"));
            assert_eq!(value, if key % 10 == 0 { vec![1; 60] } else { vec![4; 300] }, "key {key}");
        }
        assert_eq!(db.verify(), Ok(360));
    });
}

/// The space of a shrunk or deleted row is kept until its transaction ends: undo always finds it.
#[test]
fn room_given_up_by_an_open_transaction_is_not_taken() {
    with_db(3, |db| {
        let txn = db.begin();
        let rids: Vec<_> = (0..8).map(|_| db.heap.insert(&txn, &[1; 1000]).expect("room")).collect();
        txn.commit(CommitMode::Full).expect("a healthy disk");
        let mine = db.begin();
        db.heap.delete(&mine, rids[0]).expect("it is there");
        db.heap.update(&mine, rids[1], &[2; 10]).expect("it is there");
        let other = db.begin();
        for _ in 0..20 {
            db.heap.insert(&other, &[3; 700]).expect("room");
        }
        other.commit(CommitMode::Full).expect("a healthy disk");
        mine.rollback().expect("a healthy disk");
        let reader = db.begin();
        for rid in rids {
            let mut row = Vec::new();
            assert!(db.heap.fetch(&reader, rid, &ScanOptions::default(), &mut row).expect("a healthy disk"));
            assert_eq!(row, [1; 1000]);
        }
        assert_eq!(db.verify(), Ok(28));
    });
}

/// Redo is idempotent: redo of every record of the log a second time changes nothing.
#[test]
fn redo_twice_is_redo_once() {
    with_db(4, |db| {
        let mut rng = Rng::named(4, "redo twice");
        let mut model = Rows::new();
        for _ in 0..6 {
            let txn = db.begin();
            for _ in 0..40 {
                change(&db, &txn, &mut model, &mut rng).expect("room");
            }
            txn.commit(CommitMode::Full).expect("a healthy disk");
        }
        for _ in 0..2 {
            let mut reader = db.log.read_from(log::Lsn::NULL);
            while let Some(record) = reader.next_record().expect("sound") {
                let is_change = !matches!(
                    record.header.op,
                    log::LogOp::BeginXact
                        | log::LogOp::CommitXact
                        | log::LogOp::BeginCkpt
                        | log::LogOp::XactCkpt
                        | log::LogOp::EndCkpt
                );
                if is_change {
                    db.access.redo(record.lsn, &record.header, &record.payload).expect("redo");
                }
            }
            check_against(&db, &model, &mut rng);
        }
    });
}

/// Redo with nothing on disk but the log: it rebuilds every page, deep splits included; then a second redo over the result.
#[test]
fn the_log_alone_rebuilds_deep_trees() {
    for seed in 0..8 {
        let world = World::new(seed, Profile::drawn(seed));
        let place = Place { pool_bytes: 8 << 20, ..Place::new("/data/t") };
        let model = Arc::new(Latch::new(LatchRank::Leaf, Rows::new()));
        let (place2, model2) = (place.clone(), Arc::clone(&model));
        let report = world.run(move |os| {
            let db = create(os, &place2);
            let mut rng = Rng::named(seed, "rebuild");
            let mut rows = Rows::new();
            for _ in 0..10 {
                let txn = db.begin();
                for _ in 0..40 {
                    change(&db, &txn, &mut rows, &mut rng).expect("room");
                }
                txn.commit(CommitMode::Full).expect("a healthy disk");
                *model2.lock() = rows.clone();
            }
            // Left open: recovery rolls it back.
            let txn = db.begin();
            for _ in 0..60 {
                change(&db, &txn, &mut rows, &mut rng).expect("room");
            }
            db.log.harden(txn.last_lsn(), log::FlushReason::Quiesce).expect("a healthy disk");
        });
        assert_eq!(report.end, End::Returned, "{:?}", report.failures);
        world.power_loss();
        let place2 = place.clone();
        world
            .run(move |os| {
                let db = open(os, &place2);
                let rows = model.lock().clone();
                check_against(&db, &rows, &mut Rng::named(seed, "check"));
            })
            .assert_ok();
    }
}

/// A row so large that it needs a page alone, before all others of its leaf: the left half is empty until the row is inserted. (Seed 15 of the
/// simulation's scenario `schema`: the record of the split was refused.)
#[test]
fn a_wide_row_comes_before_all_others() {
    with_db(5, |db| {
        let txn = db.begin();
        for (key, bytes) in [(2u32, 3_500), (3, 3_500), (1, 7_000), (0, 7_000)] {
            let inserted = db.tree.insert(&txn, &key.to_be_bytes(), &vec![key as u8; bytes]).expect("room");
            assert_eq!(inserted, Inserted::Done, "{key}");
        }
        txn.commit(CommitMode::Full).expect("a healthy disk");
        let txn = db.begin();
        let mut cursor = db.tree.scan(KeyRange::all(), ScanOptions::default());
        for (key, bytes) in [(0u32, 7_000), (1, 7_000), (2, 3_500), (3, 3_500)] {
            assert!(cursor.next(&txn).expect("a healthy disk"), "{key}");
            assert_eq!((cursor.key(), cursor.value().len()), (&key.to_be_bytes()[..], bytes));
        }
        assert_eq!(db.verify(), Ok(4));
    });
}

fn random_rows(rng: &mut Rng, count: u64) -> Rows {
    let mut row = || (random_key(rng), vec![rng.below(256) as u8; rng.below(700) as usize]);
    (0..count).map(|_| row()).collect()
}

/// Fills the tree with rows, page by page, with this fill factor.
fn load(db: &Db, txn: &txn::Transaction, rows: &Rows, fill: BuildFill) {
    let mut loader = db.tree.loader(fill).expect("an empty tree");
    for (key, value) in rows {
        assert_eq!(loader.push(txn, key, value).expect("room"), Inserted::Done);
    }
    if let Some((key, _)) = rows.last_key_value() {
        assert_eq!(loader.push(txn, key, b"again").expect("room"), Inserted::Duplicate);
    }
    loader.finish(txn).expect("room");
}

#[test]
fn a_tree_that_is_built_is_a_sorted_map_and_goes_on_as_one() {
    let whole = BuildFill::WHOLE;
    let loose = BuildFill { leaf: 60, above: 30 };
    let least = BuildFill { leaf: 1, above: 1 };
    for (seed, count, fill) in [
        (0, 0, whole),
        (1, 1, least),
        (2, 12, loose),
        (3, 300, least),
        (4, 2_000, whole),
        (5, 2_000, whole),
        (6, 2_000, loose),
        (7, 1_000, least),
    ] {
        with_db(seed, move |db| {
            let mut rng = Rng::named(seed, "built tree");
            let mut model = random_rows(&mut rng, count);
            let txn = db.begin();
            load(&db, &txn, &model, fill);
            txn.commit(CommitMode::Full).expect("a healthy disk");
            check_against(&db, &model, &mut rng);
            assert_eq!(
                db.tree.loader(BuildFill::WHOLE).is_err(),
                !model.is_empty(),
                "only what is empty is built"
            );
            for _ in 0..8 {
                let txn = db.begin();
                for _ in 0..60 {
                    change(&db, &txn, &mut model, &mut rng).expect("room");
                }
                txn.commit(CommitMode::Delayed).expect("a healthy disk");
            }
            check_against(&db, &model, &mut rng);
        });
    }
}

/// The rollback of a transaction that has created and built a tree frees all its pages; so does recovery after a crash at any point.
#[test]
fn a_tree_that_was_being_built_leaves_no_page_behind() {
    for seed in 0..24 {
        let world = World::new(seed, Profile::drawn(seed));
        let place = Place { pool_bytes: 64 * 8192, ..Place::new("/data/t") };
        let place2 = place.clone();
        world.run(move |os| drop(create(os, &place2))).assert_ok();
        if seed % 4 != 0 {
            world.power_off_after_switches(1 + seed * 37);
        }
        let place2 = place.clone();
        let report = world.run(move |os| {
            let db = open(os, &place2);
            let before = db.access.used_pages(1).expect("sound");
            let txn = db.begin();
            let unit = UnitId(3);
            let root = db.access.create_btree(&txn, unit, BTreeKind::Nonclustered).expect("room");
            let tree = db.access.btree(BTreeDef { object: 100, unit, root });
            let mut loader = tree.loader(BuildFill::WHOLE).expect("an empty tree");
            for key in 0..3_000_u32 {
                loader.push(&txn, &key.to_be_bytes(), &[7; 300]).expect("room");
                if key % 500 == 499 {
                    db.checkpoint().expect("a healthy disk");
                }
            }
            loader.finish(&txn).expect("room");
            txn.rollback().expect("a healthy disk");
            assert_eq!(db.access.used_pages(1).expect("sound"), before);
            assert_eq!(db.verify(), Ok(0));
        });
        assert_ne!(report.end, End::Failed, "seed {seed}: {:?}", report.failures);
        world.disarm();
        world.power_loss();
        world.run(move |os| assert_eq!(open(os, &place).verify(), Ok(0))).assert_ok();
    }
}

/// Only the log is on disk: redo builds each page, and the rows that were deleted together are ghosts again.
fn built_again_by_the_log(seed: u64, bug: Option<Bug>) -> Result<(), String> {
    let world = World::new(seed, Profile::drawn(seed));
    world.plant(bug);
    let place = Place { pool_bytes: 8 << 20, ..Place::new("/data/t") };
    let place2 = place.clone();
    let made = world.run(move |os| {
        let db = create(os, &place2);
        let rows = random_rows(&mut Rng::named(seed, "built by redo"), 600);
        let txn = db.begin();
        load(&db, &txn, &rows, BuildFill::WHOLE);
        let gone: Vec<&Vec<u8>> = rows.keys().step_by(3).collect();
        let mut deleted = 0;
        db.tree.delete_sorted(&txn, &gone, &mut deleted).expect("they are there");
        assert_eq!(deleted, gone.len());
        txn.commit(CommitMode::Full).expect("a healthy disk");
    });
    assert_eq!(made.end, End::Returned, "{:?}", made.failures);
    world.power_loss();
    let report = world.run(move |os| {
        let db = open(os, &place);
        let mut rng = Rng::named(seed, "built by redo");
        let rows = random_rows(&mut rng, 600);
        let left = rows.into_iter().enumerate().filter(|(at, _)| at % 3 != 0).map(|(_, row)| row).collect();
        check_against(&db, &left, &mut rng);
    });
    match report.end {
        End::Returned => Ok(()),
        _ => Err(report.failures.join("; ")),
    }
}

#[test]
fn the_log_alone_builds_a_tree_again() {
    for seed in 0..6 {
        assert_eq!(built_again_by_the_log(seed, None), Ok(()), "seed {seed}");
        let found = built_again_by_the_log(seed, Some(Bug::BuiltPageNotChained));
        assert!(found.is_err(), "seed {seed}: a page that its left neighbour does not know is found");
    }
}

/// The rollback of a multi-key delete restores the keys, although other threads have split the pages meanwhile; a missing key is an error.
#[test]
fn keys_that_are_deleted_together_come_back() {
    with_db(6, |db| {
        let keys = |from: u32, step: usize| -> Vec<[u8; 4]> {
            (from..2_000).step_by(step).map(|key| (key * 10).to_be_bytes()).collect()
        };
        let txn = db.begin();
        for key in keys(0, 1) {
            db.tree.insert(&txn, &key, &[1; 60]).expect("room");
        }
        txn.commit(CommitMode::Full).expect("a healthy disk");
        let records = |db: &Db| {
            let mut reader = db.log.read_from(log::Lsn::NULL);
            let mut count = 0;
            while let Some(record) = reader.next_record().expect("sound") {
                count += usize::from(record.header.context == log::LogContext::MarkAsGhost);
            }
            count
        };
        let mine = db.begin();
        let mut deleted = 0;
        db.tree.delete_sorted(&mine, &keys(0, 2), &mut deleted).expect("they are there");
        assert_eq!(deleted, 1_000);
        let of_many = records(&db);
        assert!(of_many > 0 && of_many < 50, "a record a leaf, not one a row: {of_many}");
        let savepoint = mine.savepoint();
        // The first missing key ends it; those before it are deleted.
        let gone_before = [10_u32, 30, 40, 50].map(u32::to_be_bytes);
        let error = db.tree.delete_sorted(&mine, &gone_before, &mut deleted);
        assert!(matches!(error, Err(AccessError::RowGone)) && deleted == 2, "{deleted}");
        mine.rollback_to(savepoint).expect("a healthy disk");
        let other = db.begin();
        for key in 0..4_000_u32 {
            db.tree.insert(&other, &(key * 5 + 1).to_be_bytes(), &[4; 100]).expect("room");
        }
        other.commit(CommitMode::Full).expect("a healthy disk");
        assert_eq!(db.verify(), Ok(5_000));
        mine.rollback().expect("a healthy disk");
        assert_eq!(db.verify(), Ok(6_000));
        let rows = read_range(&db, KeyRange::all(), false);
        let back = rows.iter().filter(|(_, value)| *value == [1; 60]).count();
        assert_eq!((rows.len(), back), (6_000, 2_000));
        assert_eq!(db.locks.locked_resource_count(), 0);
    });
}

/// A multi-key insert fills leaf after leaf, and its rollback removes the keys although other threads have split the pages meanwhile.
#[test]
fn keys_that_are_inserted_together_go_together() {
    with_db(7, |db| {
        let keys = |from: u32, to: u32| -> Vec<([u8; 4], [u8; 60])> {
            (from..to).map(|key| ((key * 10).to_be_bytes(), [key as u8; 60])).collect()
        };
        let insert = |txn: &txn::Transaction, rows: &[([u8; 4], [u8; 60])]| {
            let mut inserted = 0;
            let each = rows.iter().map(|(key, value)| (key.as_slice(), value.as_slice()));
            (db.tree.insert_sorted(txn, each, &mut inserted).expect("room"), inserted)
        };
        let records = || {
            let mut reader = db.log.read_from(log::Lsn::NULL);
            let (mut single, mut together) = (0, 0);
            while let Some(record) = reader.next_record().expect("sound") {
                let is_insert = record.header.op == log::LogOp::InsertRows;
                let is_together = record.header.context == log::LogContext::BulkOperationPage;
                single += usize::from(is_insert && record.header.context == log::LogContext::Clustered);
                together += usize::from(is_insert && is_together);
            }
            (single, together)
        };
        // Every other one exists before.
        let txn = db.begin();
        let even: Vec<_> = keys(0, 2_000).into_iter().step_by(2).collect();
        assert_eq!(insert(&txn, &even), (Inserted::Done, 1_000));
        txn.commit(CommitMode::Full).expect("a healthy disk");
        let mine = db.begin();
        let odd: Vec<_> = keys(0, 2_000).into_iter().skip(1).step_by(2).collect();
        assert_eq!(insert(&mine, &odd), (Inserted::Done, 1_000));
        let (single, together) = records();
        assert!(together < 60 && single < 60, "a record a leaf, not one a row: {single}, {together}");
        let savepoint = mine.savepoint();
        // The first existing key ends it, those before it are inserted; also a duplicate in the list.
        let some = [keys(2_000, 2_003), keys(2_002, 2_004)].concat();
        assert_eq!(insert(&mine, &some), (Inserted::Duplicate, 3));
        assert_eq!(insert(&mine, &keys(1_999, 2_000)), (Inserted::Duplicate, 0));
        mine.rollback_to(savepoint).expect("a healthy disk");
        let other = db.begin();
        for key in 0..4_000_u32 {
            db.tree.insert(&other, &(key * 5 + 1).to_be_bytes(), &[4; 100]).expect("room");
        }
        other.commit(CommitMode::Full).expect("a healthy disk");
        assert_eq!(db.verify(), Ok(6_000));
        mine.rollback().expect("a healthy disk");
        assert_eq!(db.verify(), Ok(5_000));
        let rows = read_range(&db, KeyRange::all(), false);
        let back = rows.iter().filter(|(_, value)| value.len() == 60).count();
        assert_eq!((rows.len(), back), (5_000, 1_000));
        assert_eq!(db.locks.locked_resource_count(), 0);
    });
}

/// Power loss during the rollback of a multi-row insert, and during the recovery that undoes it: each row is removed once, and no other.
#[test]
fn undo_goes_on_among_keys_that_were_inserted_together() {
    // Long keys: their compensation records fill several log blocks.
    let long = |key: u32| -> Vec<u8> { [&key.to_be_bytes()[..], &[9; 150]].concat() };
    let mut resumed = 0;
    for seed in 0..20 {
        let world = World::new(seed, Profile::drawn(seed));
        let place = Place::new("/data/t");
        let place2 = place.clone();
        let made = world.run(move |os| {
            let db = create(os, &place2);
            let keys = |step: u32| (0..2_000_u32).filter(move |key| (key % 3 == 0) == (step == 3));
            let insert = |txn: &txn::Transaction, keys: &[Vec<u8>]| {
                let each = keys.iter().map(|key| (key.as_slice(), &[7; 20][..]));
                assert_eq!(db.tree.insert_sorted(txn, each, &mut 0).expect("room"), Inserted::Done);
            };
            let txn = db.begin();
            insert(&txn, &keys(3).map(long).collect::<Vec<_>>());
            txn.commit(CommitMode::Full).expect("a healthy disk");
            let txn = db.begin();
            let new: Vec<Vec<u8>> = keys(1).map(long).collect();
            insert(&txn, &new);
            // Some of them are deleted again, and inserted again over their ghosts.
            db.tree.delete_sorted(&txn, &new[100..140], &mut 0).expect("they are there");
            insert(&txn, &new[100..140]);
            db.log.harden(txn.last_lsn(), log::FlushReason::Quiesce).expect("a healthy disk");
        });
        assert_eq!(made.end, End::Returned, "{:?}", made.failures);
        for round in 0..4 {
            world.disarm();
            world.power_loss();
            // Redo runs before, and reads and writes every page.
            world.power_off_after_ios(1 + (seed * 4 + round) * 7 % 300);
            let place = Place { pool_bytes: 64 * 8192, ..place.clone() };
            let report = world.run(move |os| drop(open(os, &place)));
            assert_ne!(report.end, End::Failed, "seed {seed}: {:?}", report.failures);
        }
        world.disarm();
        world.power_loss();
        let report = world.run(move |os| {
            let db = open(os, &place);
            assert_eq!(db.verify(), Ok(667));
            let left: Vec<Vec<u8>> =
                read_range(&db, KeyRange::all(), false).into_iter().map(|row| row.0).collect();
            let expected: Vec<Vec<u8>> = (0..2_000).step_by(3).map(long).collect();
            assert_eq!(left, expected);
        });
        report.assert_ok();
        resumed += world.reached().get("undo resumes among rows inserted together").copied().unwrap_or(0);
    }
    println!("undo went on among rows inserted together: {resumed}");
    assert!(resumed > 0, "power must go in the middle to mean anything");
}

/// Power loss during the rollback of a multi-row delete, and during the recovery that undoes it: each row is restored once.
#[test]
fn undo_goes_on_among_keys_that_were_deleted_together() {
    let mut resumed = 0;
    for seed in 0..20 {
        let world = World::new(seed, Profile::drawn(seed));
        let place = Place::new("/data/t");
        let rows = |from: u32, to: u32| (from..to).map(|key| (key.to_be_bytes(), [key as u8; 120]));
        let place2 = place.clone();
        let made = world.run(move |os| {
            let db = create(os, &place2);
            let txn = db.begin();
            for (key, value) in rows(0, 2_000) {
                assert_eq!(db.tree.insert(&txn, &key, &value).expect("room"), Inserted::Done);
            }
            txn.commit(CommitMode::Full).expect("a healthy disk");
            let txn = db.begin();
            let keys: Vec<[u8; 4]> = rows(0, 2_000).map(|row| row.0).collect();
            db.tree.delete_sorted(&txn, &keys, &mut 0).expect("they are there");
            // Some of them are inserted again, with other values, and deleted again.
            for (key, _) in rows(100, 140) {
                assert_eq!(db.tree.insert(&txn, &key, b"another").expect("room"), Inserted::Done);
            }
            db.tree.delete_sorted(&txn, &keys[100..140], &mut 0).expect("they are there");
            db.log.harden(txn.last_lsn(), log::FlushReason::Quiesce).expect("a healthy disk");
        });
        assert_eq!(made.end, End::Returned, "{:?}", made.failures);
        for round in 0..4 {
            world.disarm();
            world.power_loss();
            // Recovery writes several log blocks of compensation records.
            world.power_off_after_ios(1 + (seed * 4 + round) % 60);
            let place = Place { pool_bytes: 64 * 8192, ..place.clone() };
            let report = world.run(move |os| drop(open(os, &place)));
            assert_ne!(report.end, End::Failed, "seed {seed}: {:?}", report.failures);
        }
        world.disarm();
        world.power_loss();
        let report = world.run(move |os| {
            let db = open(os, &place);
            assert_eq!(db.verify(), Ok(2_000));
            let expected: Vec<_> =
                rows(0, 2_000).map(|(key, value)| (key.to_vec(), value.to_vec())).collect();
            assert_eq!(read_range(&db, KeyRange::all(), false), expected);
        });
        report.assert_ok();
        resumed += world.reached().get("undo resumes among rows deleted together").copied().unwrap_or(0);
    }
    println!("undo went on among rows deleted together: {resumed}");
    assert!(resumed > 0, "power must go in the middle to mean anything");
}
