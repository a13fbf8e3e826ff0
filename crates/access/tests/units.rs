//! Create and drop of heaps and trees, large objects, tempdb's logging, full disks: all with rollback and crash.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use common::{Db, HEAP, Place, TREE, create, open};
use hardpan_access::{
    AccessError, BTree, BTreeDef, BTreeKind, HeapDef, KeyRange, LobPointer, ROW_BYTES_MAX, Rid, RowColumn,
    RowFormat, ScanOptions, UnitId, UnitKind, UnitToVerify, VerifyReport,
};
use os::sim::{Profile, World};
use pages::{FILE_PAGES_MIN, HEADER_BYTES, LatchMode, PageError, PageId, slots};
use txn::{CommitMode, LockError};
use types::{Collation, SqlType, Value};

/// The first map of the first file.
const MAP_PAGE: PageId = PageId { file: 1, page: 1 };

fn with_db(body: impl FnOnce(Db) + Send + 'static) {
    World::new(1, Profile::nvme()).run(move |os| body(create(os, &Place::new("/data/t")))).assert_ok();
}

fn used_pages(db: &Db) -> u64 {
    db.access.used_pages(1).expect("a healthy disk")
}

/// Unit 7, committed.
fn tree_of_500_rows(db: &Db) -> BTree {
    let txn = db.begin();
    let root = db.access.create_btree(&txn, UnitId(7), BTreeKind::Nonclustered).expect("room");
    let tree = db.access.btree(BTreeDef { object: 9, unit: UnitId(7), root });
    for key in 0..500u32 {
        tree.insert(&txn, &key.to_be_bytes(), &[1; 200]).expect("room");
    }
    txn.commit(CommitMode::Full).expect("a healthy disk");
    tree
}

/// Multi-row inserts and deletes in a heap, with one record per page and one for its undo, also into slots that were freed.
#[test]
fn rows_of_a_heap_come_and_go_together() {
    with_db(|db| {
        let count = |context: log::LogContext| {
            let mut reader = db.log.read_from(log::Lsn::NULL);
            let mut count = 0;
            while let Some(record) = reader.next_record().expect("sound") {
                count += usize::from(record.header.context == context);
            }
            count
        };
        let rows: Vec<Vec<u8>> = (0..1_000_u16).map(|n| vec![n as u8; 3 + usize::from(n % 90)]).collect();
        let read = |rids: &[Rid]| {
            let txn = db.begin();
            let options = ScanOptions::default();
            let mut found = 0;
            for (rid, expected) in rids.iter().zip(&rows) {
                let mut row = Vec::new();
                if db.heap.fetch(&txn, *rid, &options, &mut row).expect("sound") {
                    assert!(row.starts_with(expected), "{rid:?}");
                    found += 1;
                }
            }
            txn.commit(CommitMode::Full).expect("nothing to log");
            found
        };
        let txn = db.begin();
        let mut rids = Vec::new();
        db.heap.insert_many(&txn, &rows, &mut rids).expect("room");
        assert_eq!(rids.len(), 1_000);
        let pages = count(log::LogContext::BulkOperationPage);
        assert!(pages > 3 && pages < 12, "a record a page, not one a row: {pages}");
        txn.commit(CommitMode::Full).expect("a healthy disk");
        assert_eq!((read(&rids), db.verify()), (1_000, Ok(1_000)));

        // One of them moves and is deleted with its stub; the others of its page are deleted together.
        let txn = db.begin();
        db.heap.update(&txn, rids[4], &[9; 5_000]).expect("room");
        db.heap.update(&txn, rids[4], &rows[4]).expect("room");
        txn.commit(CommitMode::Full).expect("a healthy disk");
        let txn = db.begin();
        let mut half: Vec<Rid> = rids.iter().copied().step_by(2).rev().collect();
        db.heap.delete_many(&txn, &mut half).expect("they are there");
        let gone = count(log::LogContext::MarkAsGhost);
        assert_eq!(gone, pages, "a record a page");
        let again = db.heap.delete_many(&txn, &mut half[7..9].to_vec());
        assert!(matches!(again, Err(AccessError::RowGone)), "{again:?}");
        let savepoint = txn.savepoint();
        let mut other = Vec::new();
        db.heap.insert_many(&txn, &rows, &mut other).expect("room");
        txn.rollback_to(savepoint).expect("a healthy disk");
        txn.rollback().expect("a healthy disk");
        assert_eq!(count(log::LogContext::MarkAsGhost), 2 * pages, "undone by one record a page");
        assert_eq!((read(&rids), db.verify()), (1_000, Ok(1_000)));

        let txn = db.begin();
        db.heap.delete_many(&txn, &mut half).expect("they are there");
        txn.commit(CommitMode::Full).expect("a healthy disk");
        assert_eq!(read(&rids), 500);
        db.access.clean_ghosts(&db.manager, 100).expect("a healthy disk");
        // The free slots are used again, rows that are too long are refused, those before them are inserted.
        let txn = db.begin();
        let mut again = Vec::new();
        let mut some = rows[..300].to_vec();
        some.push(vec![1; ROW_BYTES_MAX + 1]);
        let error = db.heap.insert_many(&txn, &some, &mut again);
        assert!(matches!(error, Err(AccessError::RowTooLarge { .. })) && again.len() == 300);
        txn.commit(CommitMode::Full).expect("a healthy disk");
        assert_eq!((read(&again), db.verify()), (300, Ok(800)));
        assert_eq!(db.locks.locked_resource_count(), 0);
    });
}

#[test]
fn a_dropped_unit_goes_at_commit_and_stays_at_rollback() {
    with_db(|db| {
        let before = used_pages(&db);
        let root = tree_of_500_rows(&db).def().root;
        let full = used_pages(&db);
        assert!(full > before + 10);
        let txn = db.begin();
        db.access.drop_unit(&txn, UnitId(7)).expect("a healthy disk");
        assert_eq!(used_pages(&db), full, "nothing goes before commit");
        txn.rollback().expect("a healthy disk");
        assert_eq!(used_pages(&db), full);
        let txn = db.begin();
        let mut value = Vec::new();
        let tree = db.access.btree(BTreeDef { object: 9, unit: UnitId(7), root });
        assert!(
            tree.get(&txn, &77u32.to_be_bytes(), &ScanOptions::default(), &mut value).expect("it is back")
        );
        db.access.drop_unit(&txn, UnitId(7)).expect("a healthy disk");
        txn.commit(CommitMode::Full).expect("a healthy disk");
        assert_eq!(used_pages(&db), before);
        assert_eq!(db.verify(), Ok(0));
    });
}

/// A stub that leads to no moved row is damage (824), also for a change without a read before: it would change another row, or none,
/// at that address.
#[test]
fn a_stub_that_leads_elsewhere_is_not_believed_by_a_change() {
    for (flags, what) in [(0, "a row of its own"), (slots::FORWARDED | slots::GHOST, "one that is gone")] {
        with_db(move |db| {
            let txn = db.begin();
            let rid = db.heap.insert(&txn, &[1; 3000]).expect("room");
            db.heap.insert(&txn, &[2; 4500]).expect("room");
            db.heap.update(&txn, rid, &[3; 5000]).expect("room elsewhere");
            txn.commit(CommitMode::Full).expect("a healthy disk");
            let stub = db.space.fix(rid.page, LatchMode::Shared).expect("a healthy disk");
            assert_ne!(slots::flags(stub.page(), rid.slot) & slots::FORWARD, 0, "the row has moved");
            let target = slots::row(stub.page(), rid.slot).and_then(Rid::from_bytes).expect("an address");
            drop(stub);
            let mut page = db.space.fix(target.page, LatchMode::Exclusive).expect("a healthy disk");
            slots::set_flags(page.page_mut(), target.slot, flags);
            drop(page);
            let txn = db.begin();
            let is_damage = |done| matches!(done, Err(AccessError::Corrupt { page, .. }) if page == rid.page);
            assert!(is_damage(db.heap.update(&txn, rid, &[4; 5000])), "UPDATE: {what}");
            assert!(is_damage(db.heap.delete(&txn, rid)), "DELETE: {what}");
            txn.rollback().expect("nothing was changed");
        });
    }
}

/// A map that calls a used heap page free leads to its allocation for a row that moves out of it: the row is then not where it was. That is damage,
/// not a panic. (Seed 1201049 of the simulation's scenario `lies`.)
#[test]
fn a_row_whose_page_is_given_to_it_once_more_is_damaged() {
    for has_moved_before in [false, true] {
        let world = World::new(1, Profile::nvme()).run(move |os| {
            let place = Place::new("/data/t");
            let db = create(os, &place);
            let txn = db.begin();
            // A heap that grows latches its first and its last page: the wrong entry is for one between them.
            let fill = || db.heap.insert(&txn, &[9; 8000]).expect("room");
            fill();
            let rid = db.heap.insert(&txn, &[1; 3000]).expect("room");
            db.heap.insert(&txn, &[2; 4500]).expect("room");
            fill();
            if has_moved_before {
                db.heap.update(&txn, rid, &[3; 5000]).expect("room elsewhere");
                db.heap.insert(&txn, &[4; 2900]).expect("room beside it");
                fill();
            }
            txn.commit(CommitMode::Full).expect("a healthy disk");
            db.checkpoint().expect("a healthy disk");
            drop(db);
            // A newly opened database searches for free pages from the first page.
            let db = open(os, &place);
            let mut map = db.space.fix(MAP_PAGE, LatchMode::Exclusive).expect("a healthy disk");
            let entry = HEADER_BYTES + 4 * rid.page.page as usize;
            assert_eq!(map.page()[entry], HEAP.0 as u8, "the entry of its page");
            map.page_mut()[entry..entry + 4].fill(0);
            drop(map);
            let txn = db.begin();
            let done = db.heap.update(&txn, rid, &[5; 8000]);
            assert!(matches!(done, Err(AccessError::Corrupt { page, .. }) if page == rid.page), "{done:?}");
        });
        world.assert_ok();
    }
}

/// Pages whose free was rolled back to a savepoint are not freed at commit, even if another active transaction has marked them meanwhile. (Seed 1700
/// of the simulation's scenario `schema`: a rolled-back ALTER TABLE found its large values overwritten.)
#[test]
fn a_page_kept_by_a_savepoint_is_not_freed_when_somebody_else_has_marked_it() {
    with_db(|db| {
        let txn = db.begin();
        let root = db.access.create_btree(&txn, UnitId(7), BTreeKind::Nonclustered).expect("room");
        let large = db.access.store_lob(&txn, UnitId(7), &[3; 20_000]).expect("room");
        txn.commit(CommitMode::Full).expect("a healthy disk");
        let full = used_pages(&db);
        let first = db.begin();
        let savepoint = first.savepoint();
        db.access.drop_unit(&first, UnitId(7)).expect("a healthy disk");
        first.rollback_to(savepoint).expect("a healthy disk");
        let second = db.begin();
        db.access.drop_unit(&second, UnitId(7)).expect("a healthy disk");
        first.commit(CommitMode::Full).expect("a healthy disk");
        assert_eq!(used_pages(&db), full, "nothing is free before the second one commits");
        second.rollback().expect("a healthy disk");
        assert_eq!(used_pages(&db), full);
        assert_eq!(db.access.load_lob(&large).expect("it is there"), [3; 20_000]);
        let tree = db.access.btree(BTreeDef { object: 9, unit: UnitId(7), root });
        let txn = db.begin();
        tree.insert(&txn, &[1, 2, 3, 4], &[1; 20]).expect("its root is there");
        db.access.drop_unit(&txn, UnitId(7)).expect("a healthy disk");
        txn.commit(CommitMode::Full).expect("a healthy disk");
        assert!(used_pages(&db) < full);
        assert_eq!(db.verify(), Ok(0));
    });
}

/// Pages with ghosts become free and are removed before the cleanup reaches them: the code that removes them makes the cleanup forget them, or it
/// would read pages that do not exist.
#[test]
fn the_ghost_cleanup_does_not_come_to_pages_that_are_given_up() {
    for forgets in [true, false] {
        with_db(move |db| {
            let tree = tree_of_500_rows(&db);
            let txn = db.begin();
            for key in 0..400u32 {
                tree.delete(&txn, &key.to_be_bytes()).expect("it is there");
            }
            txn.commit(CommitMode::Full).expect("a healthy disk");
            let txn = db.begin();
            db.access.drop_unit(&txn, UnitId(7)).expect("a healthy disk");
            txn.commit(CommitMode::Full).expect("a healthy disk");
            assert!(db.access.ghost_pages_waiting() > 5);

            let end = db.access.tail_of(1, 0).expect("a healthy disk").end.max(FILE_PAGES_MIN);
            db.space.limit_allocation(1, Some(end)).expect("the file is there");
            if forgets {
                db.access.forget_ghosts(|page| page.page >= end);
            }
            db.checkpoint().expect("a healthy disk");
            assert!(db.space.truncate_file(1, end).expect("a healthy disk"), "nobody has needed room");
            let cleaned = db.access.clean_ghosts(&db.manager, 1_000);
            assert_eq!(cleaned.is_ok(), forgets, "{cleaned:?}");
            if forgets {
                assert_eq!(db.access.ghost_pages_waiting(), 0);
            }
            assert_eq!(db.verify().map(drop), Ok(()));
        });
    }
}

/// A heap is dropped with ghosts on its pages: the later cleanup changes none of them. A free page has no change that is newer than
/// its map's newest. (Seed 53 of scenario `schema`.)
#[test]
fn the_ghost_cleanup_changes_no_page_of_a_dropped_heap() {
    with_db(|db| {
        let txn = db.begin();
        let first_page = db.access.create_heap(&txn, UnitId(8)).expect("room");
        let heap = db.access.heap(HeapDef { object: 9, unit: UnitId(8), first_page });
        let rids: Vec<Rid> = (0..40).map(|_| heap.insert(&txn, &[5; 3000]).expect("room")).collect();
        txn.commit(CommitMode::Full).expect("a healthy disk");
        let txn = db.begin();
        rids.iter().step_by(2).for_each(|rid| heap.delete(&txn, *rid).expect("it is there"));
        txn.commit(CommitMode::Full).expect("a healthy disk");
        let txn = db.begin();
        db.access.drop_unit(&txn, UnitId(8)).expect("a healthy disk");
        txn.commit(CommitMode::Full).expect("a healthy disk");

        let lsn_of = |page: PageId| db.space.fix(page, LatchMode::Shared).expect("a healthy disk").lsn();
        assert!(db.access.clean_ghosts(&db.manager, 1_000).expect("a healthy disk") > 5);
        let newest = rids.iter().map(|rid| lsn_of(rid.page)).max().expect("there are some");
        assert!(newest < lsn_of(MAP_PAGE), "{newest}");
    });
}

/// The ghost cleanup does not unlink a leaf of a tree that a transaction is dropping: the tree can no longer free its page, and the drop
/// would find the page with another owner. (Seed 42 of scenario `schema`.)
#[test]
fn the_ghost_cleanup_gives_no_page_back_that_a_drop_has_marked() {
    for commits in [true, false] {
        with_db(move |db| {
            let before = used_pages(&db);
            let tree = tree_of_500_rows(&db);
            let full = used_pages(&db);
            let txn = db.begin();
            for key in 0..400u32 {
                tree.delete(&txn, &key.to_be_bytes()).expect("it is there");
            }
            txn.commit(CommitMode::Full).expect("a healthy disk");

            let dropping = db.begin();
            db.access.drop_unit(&dropping, UnitId(7)).expect("a healthy disk");
            assert!(db.access.clean_ghosts(&db.manager, 1_000).expect("a healthy disk") > 5);
            assert_eq!(used_pages(&db), full, "nothing goes before the drop commits");
            if commits {
                dropping.commit(CommitMode::Full).expect("a healthy disk");
                assert_eq!(used_pages(&db), before);
            } else {
                dropping.rollback().expect("a healthy disk");
                assert_eq!(used_pages(&db), full, "the empty leaves stay in the tree");
                let txn = db.begin();
                let mut cursor = tree.scan(KeyRange::all(), ScanOptions::default());
                let mut rows = 0;
                while cursor.next(&txn).expect("a healthy disk") {
                    rows += 1;
                }
                assert_eq!(rows, 100);
                for key in 0..400u32 {
                    tree.insert(&txn, &key.to_be_bytes(), &[2; 200]).expect("room");
                }
                db.access.drop_unit(&txn, UnitId(7)).expect("a healthy disk");
                txn.commit(CommitMode::Full).expect("a healthy disk");
                assert_eq!(used_pages(&db), before);
            }
            assert_eq!(db.verify(), Ok(0));
        });
    }
}

#[test]
fn a_unit_made_by_a_rolled_back_transaction_leaves_no_page() {
    with_db(|db| {
        let before = used_pages(&db);
        let txn = db.begin();
        let first_page = db.access.create_heap(&txn, UnitId(8)).expect("room");
        let heap = db.access.heap(HeapDef { object: 9, unit: UnitId(8), first_page });
        for _ in 0..100 {
            heap.insert(&txn, &[5; 3000]).expect("room");
        }
        txn.rollback().expect("a healthy disk");
        assert_eq!(used_pages(&db), before);
        assert_eq!(db.verify(), Ok(0));
    });
}

/// A crash between the commit of a drop and the freeing of its pages leaks nothing: the next start sweeps.
#[test]
fn pending_frees_survive_a_crash() {
    for cut in 1..12 {
        let world = World::new(cut, Profile::nvme());
        let place = Place::new("/data/t");
        let place2 = place.clone();
        world
            .run(move |os| {
                let db = create(os, &place2);
                let txn = db.begin();
                let first_page = db.access.create_heap(&txn, UnitId(8)).expect("room");
                let heap = db.access.heap(HeapDef { object: 9, unit: UnitId(8), first_page });
                for _ in 0..20 {
                    heap.insert(&txn, &[5; 3000]).expect("room");
                }
                txn.commit(CommitMode::Full).expect("a healthy disk");
                db.checkpoint().expect("a healthy disk");
            })
            .assert_ok();
        world.power_off_after_ios(cut);
        let place2 = place.clone();
        let report = world.run(move |os| {
            let db = open(os, &place2);
            let txn = db.begin();
            db.access.drop_unit(&txn, UnitId(8)).expect("a healthy disk");
            txn.commit(CommitMode::Full).expect("a healthy disk");
            db.checkpoint().expect("a healthy disk");
        });
        assert!(report.failures.is_empty(), "{:?}", report.failures);
        world.disarm();
        let place2 = place.clone();
        world
            .run(move |os| {
                let db = open(os, &place2);
                let used = used_pages(&db);
                assert!(used == 2 || used > 10, "all pages of the unit or none: {used}");
            })
            .assert_ok();
    }
}

#[test]
fn large_objects_come_and_go_with_their_transaction() {
    with_db(|db| {
        let column = |sql_type| RowColumn { sql_type, collation: Collation::DEFAULT };
        let format = RowFormat::new(vec![column(SqlType::Int), column(SqlType::VARBINARY_MAX)]);
        let bytes: Vec<u8> = (0..100_000u32).map(|n| (n % 251) as u8).collect();
        let values = [Value::Int(1), Value::binary(&bytes)];
        let before = used_pages(&db);
        for commit in [false, true] {
            let txn = db.begin();
            let mut row = Vec::new();
            db.access.encode_row(&txn, HEAP, &format, &values, ROW_BYTES_MAX, &mut row).expect("room");
            assert!(row.len() < 60);
            let rid = db.heap.insert(&txn, &row).expect("room");
            let mut back = Vec::new();
            db.access.decode_row(&format, &row, &mut back).expect("sound");
            assert_eq!(back, values);
            assert_eq!(used_pages(&db), before + 13, "100,000 bytes in pieces of 8,086");
            if !commit {
                txn.rollback().expect("a healthy disk");
                assert_eq!(used_pages(&db), before);
                assert!(matches!(
                    db.access.decode_row(&format, &row, &mut back),
                    Ok(()) | Err(AccessError::RowGone)
                ));
                continue;
            }
            txn.commit(CommitMode::Full).expect("a healthy disk");
            assert_eq!(db.verify(), Ok(1));
            let txn = db.begin();
            let savepoint = txn.savepoint();
            db.access.free_row_lobs(&txn, &format, &row).expect("a healthy disk");
            txn.rollback_to(savepoint).expect("a healthy disk");
            txn.commit(CommitMode::Full).expect("a healthy disk");
            db.access.decode_row(&format, &row, &mut back).expect("kept by the rollback");
            let txn = db.begin();
            db.access.free_row_lobs(&txn, &format, &row).expect("a healthy disk");
            db.heap.delete(&txn, rid).expect("it is there");
            txn.commit(CommitMode::Full).expect("a healthy disk");
            assert_eq!(used_pages(&db), before);
        }
        let gone = LobPointer { page: pages::PageId::new(1, 3), bytes: 10, stamp: 1 };
        assert!(matches!(db.access.load_lob(&gone), Err(AccessError::RowGone)));
    });
}

/// Long operations check for interrupts at each page: structure checks of a heap and a tree, large values, the maps.
#[test]
fn a_check_ends_when_it_is_interrupted() {
    with_db(|db| {
        tree_of_500_rows(&db);
        let column = |sql_type| RowColumn { sql_type, collation: Collation::DEFAULT };
        let format = RowFormat::new(vec![column(SqlType::VARBINARY_MAX)]);
        let txn = db.begin();
        let mut row = Vec::new();
        let long = [Value::binary(&[7; 30_000])];
        db.access.encode_row(&txn, HEAP, &format, &long, ROW_BYTES_MAX, &mut row).expect("room");
        db.heap.insert(&txn, &row).expect("room");
        txn.commit(CommitMode::Full).expect("a healthy disk");
        let pointers = format.lob_pointers(&row).expect("sound");
        assert_eq!(pointers.len(), 1);
        let tree = |unit, page| UnitToVerify { unit, kind: UnitKind::BTree, page };
        let heap = UnitToVerify { unit: HEAP, kind: UnitKind::Heap, page: db.roots.0 };
        let task = os::task::current();
        let ended = |outcome: Result<VerifyReport, AccessError>| {
            matches!(outcome, Err(AccessError::Lock(LockError::Interrupted)))
        };
        for is_asked in [false, true] {
            if is_asked {
                task.interrupt(os::task::InterruptReason::Attention);
            }
            let outcomes = [
                db.access.verify(&[heap], false),
                db.access.verify(&[tree(TREE, db.roots.1)], false),
                db.access.verify(&[], false),
                db.access.verify_lobs(HEAP, &pointers),
                db.access.verify_lobs(HEAP, &[]),
            ];
            task.clear_interrupt();
            assert_eq!(outcomes.map(ended), [is_asked; 5]);
        }
    });
}

/// tempdb logs only the data for undo (claims 82, 83): rollback is exact, records are smaller.
#[test]
fn undo_only_logging_is_smaller_and_rolls_back_exactly() {
    let bytes_of = |volatile: bool| {
        let world = World::new(5, Profile::nvme());
        let result = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
        let result2 = std::sync::Arc::clone(&result);
        world
            .run(move |os| {
                let db = create(os, &Place { volatile, ..Place::new("/data/t") });
                let txn = db.begin();
                for key in 0..300u32 {
                    db.tree.insert(&txn, &key.to_be_bytes(), &[1; 50]).expect("room");
                }
                txn.commit(CommitMode::Volatile).expect("a healthy disk");
                let before = db.log.stats().record_bytes_total;
                let txn = db.begin();
                for key in 0..900u32 {
                    match (key < 300, key % 3) {
                        (true, 0) => db.tree.delete(&txn, &key.to_be_bytes()).expect("there"),
                        (true, _) => db.tree.update(&txn, &key.to_be_bytes(), &[2; 90]).expect("there"),
                        _ => drop(db.tree.insert(&txn, &key.to_be_bytes(), &[3; 90]).expect("room")),
                    }
                }
                let bytes = db.log.stats().record_bytes_total - before;
                result2.store(bytes, std::sync::atomic::Ordering::Relaxed);
                txn.rollback().expect("a healthy disk");
                assert_eq!(db.verify(), Ok(300));
                let txn = db.begin();
                for key in 0..300u32 {
                    let mut value = Vec::new();
                    assert!(
                        db.tree
                            .get(&txn, &key.to_be_bytes(), &ScanOptions::default(), &mut value)
                            .expect("there")
                    );
                    assert_eq!(value, [1; 50]);
                }
            })
            .assert_ok();
        result.load(std::sync::atomic::Ordering::Relaxed)
    };
    let (full, undo_only) = (bytes_of(false), bytes_of(true));
    assert!(undo_only * 2 < full, "{undo_only} bytes in tempdb, {full} in a user database");
}

/// A full disk refuses the insert that needs a new page (1105), keeps the existing rows readable, and works again after space is freed.
#[test]
fn a_full_disk_refuses_growth_and_heals() {
    let world = World::new(6, Profile::nvme());
    let (place, outer) = (Place::new("/data/t"), world.clone());
    world
        .run(move |os| {
            let db = create(os, &place);
            outer.set_capacity_bytes(Some(outer.used_bytes() + 100_000));
            let size = os.disk().open(&place.data(), &os::OpenOptions::default()).expect("there");
            let txn = db.begin();
            let mut rows = 0;
            let error = loop {
                match db.heap.insert(&txn, &[9; 4000]) {
                    Ok(_) => rows += 1,
                    Err(error) => break error,
                }
            };
            assert!(matches!(error, AccessError::Page(PageError::SpaceFull { .. })), "{error}");
            assert_eq!(size.len().expect("length") % 8192, 0, "no half-grown file");
            let mut cursor = db.heap.scan(ScanOptions::default());
            let mut seen = 0;
            while cursor.next(&txn).expect("reads go on") {
                seen += 1;
            }
            assert_eq!(seen, rows);
            outer.set_capacity_bytes(None);
            db.heap.insert(&txn, &[9; 4000]).expect("space has returned");
            txn.commit(CommitMode::Full).expect("a healthy disk");
            assert_eq!(db.verify(), Ok(rows + 1));
        })
        .assert_ok();
}

/// Pages of a file that have no owner: its header, its map and the boot page.
const SYSTEM_PAGES: u64 = 3;

/// Several threads create and drop units; whatever interleaving, every free page is found again before the file grows.
#[test]
fn pages_freed_during_searches_are_found_again() {
    for seed in 0..40 {
        let world = World::new(seed, Profile::nvme());
        world
            .run(move |os| {
                let db = std::sync::Arc::new(create(os, &Place::new("/data/t")));
                let tasks: Vec<_> = (0..3u32)
                    .map(|task| {
                        let db = std::sync::Arc::clone(&db);
                        os.spawn("maker", move || {
                            for round in 0..6 {
                                let txn = db.begin();
                                let units: Vec<UnitId> =
                                    (0..4).map(|n| UnitId(100 + task * 100 + round * 10 + n)).collect();
                                for unit in &units {
                                    db.access.create_heap(&txn, *unit).expect("room");
                                }
                                txn.commit(CommitMode::Delayed).expect("a healthy disk");
                                let txn = db.begin();
                                units
                                    .iter()
                                    .for_each(|unit| db.access.drop_unit(&txn, *unit).expect("it is there"));
                                txn.commit(CommitMode::Delayed).expect("a healthy disk");
                            }
                        })
                    })
                    .collect();
                tasks.into_iter().for_each(|task| task.join().expect("a maker"));
                let (pages, used) = (db.space.file_pages(1), used_pages(&db));
                let txn = db.begin();
                let mut found = 0;
                while db.space.file_pages(1) == pages {
                    db.access.create_heap(&txn, UnitId(1_000 + found)).expect("room");
                    found += 1;
                }
                let free = u64::from(pages) - used - SYSTEM_PAGES;
                assert_eq!(
                    u64::from(found - 1),
                    free,
                    "seed {seed}: free pages are found before the file grows"
                );
                txn.rollback().expect("a healthy disk");
            })
            .assert_ok();
    }
}
