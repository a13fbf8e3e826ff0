//! What a snapshot reader sees: every kind of row x change x end of the writer x reader (rules 10 and 11 of visibility.rs), and snapshots
//! under writers that move, delete and insert rows.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use std::collections::BTreeMap;
use std::sync::Arc;

use common::{Db, Place, begin, create};
use hardpan_access::{AccessError, Inserted, KeyRange, Rid, RowLock, ScanOptions};
use os::sim::{Bug, Profile, World};
use txn::{CommitMode, IsolationLevel, LockWait, Snapshot, SnapshotKind, Transaction};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Home {
    Tree,
    Heap,
    Moved,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Change {
    InPlace,
    /// The row moves (on), a leaf is split.
    Growing,
    Insert,
    Delete,
    /// Deleted, and inserted again with the same name (a tree's key).
    DeleteInsert,
    /// Changed and changed back in one transaction.
    Twice,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum ReadPath {
    Scan,
    Page,
    Backward,
    Look,
}

const CHANGES: [Change; 6] =
    [Change::InPlace, Change::Growing, Change::Insert, Change::Delete, Change::DeleteInsert, Change::Twice];
const KEY: [u8; 4] = [0, 0, 0, 20];
const OLD: u8 = b'o';
const NEW: u8 = b'n';
const NEWEST: u8 = b'z';
const FILL: u8 = b'f';

fn commit(txn: Transaction) {
    txn.commit(CommitMode::Full).expect("a healthy disk");
}

fn open(db: &Db, txn: &Transaction) -> Snapshot {
    db.manager.open_snapshot(txn.id(), 51, SnapshotKind::Transaction)
}

fn row(fill: u8, bytes: usize) -> Vec<u8> {
    vec![fill; bytes]
}

fn prepare(db: &Db, home: Home, change: Change) -> Rid {
    let txn = begin(db);
    let mut rid = Rid { page: db.roots.0, slot: 0 };
    match home {
        Home::Tree => {
            for key in [10u32, 30] {
                db.tree.insert(&txn, &key.to_be_bytes(), &row(FILL, 2500)).expect("room");
            }
            if change != Change::Insert {
                db.tree.insert(&txn, &KEY, &row(OLD, 2500)).expect("room");
            }
        }
        Home::Heap | Home::Moved => {
            db.heap.insert(&txn, &row(FILL, 4000)).expect("room");
            if change != Change::Insert {
                rid = db.heap.insert(&txn, &row(OLD, 3000)).expect("room");
            }
            if home == Home::Moved {
                db.heap.update(&txn, rid, &row(OLD, 5000)).expect("moves");
                db.heap.insert(&txn, &row(FILL, 2500)).expect("room");
            }
        }
    }
    commit(txn);
    rid
}

fn make(db: &Db, txn: &Transaction, home: Home, change: Change, rid: Rid, fill: u8) -> Rid {
    let bytes = if change == Change::Growing { 7500 } else { 2500 };
    let new = row(fill, bytes);
    match (home, change) {
        (Home::Tree, Change::Insert) => {
            assert_eq!(db.tree.insert(txn, &KEY, &new).expect("room"), Inserted::Done);
        }
        (Home::Tree, Change::Delete) => db.tree.delete(txn, &KEY).expect("there"),
        (Home::Tree, Change::DeleteInsert) => {
            db.tree.delete(txn, &KEY).expect("there");
            assert_eq!(db.tree.insert(txn, &KEY, &new).expect("room"), Inserted::Done);
        }
        (Home::Tree, Change::Twice) => {
            db.tree.update(txn, &KEY, &row(b'?', 5000)).expect("there");
            db.tree.update(txn, &KEY, &new).expect("there");
        }
        (Home::Tree, _) => db.tree.update(txn, &KEY, &new).expect("there"),
        (_, Change::Insert) => return db.heap.insert(txn, &new).expect("room"),
        (_, Change::Delete) => db.heap.delete(txn, rid).expect("there"),
        (_, Change::Twice | Change::DeleteInsert) => {
            db.heap.update(txn, rid, &row(b'?', 7800)).expect("there");
            db.heap.update(txn, rid, &row(b'?', 60)).expect("there");
            db.heap.update(txn, rid, &new).expect("there");
        }
        (_, _) => db.heap.update(txn, rid, &new).expect("there"),
    }
    rid
}

fn options(snapshot: &Snapshot, path: ReadPath) -> ScanOptions {
    ScanOptions {
        isolation: IsolationLevel::Snapshot,
        snapshot: Some(snapshot.number()),
        backward: path == ReadPath::Backward,
        // A reader that waits has failed.
        wait: LockWait::NoWait,
        ..ScanOptions::default()
    }
}

/// The one byte that the row consists of, as a reader sees it.
fn read(
    db: &Db,
    txn: &Transaction,
    home: Home,
    path: ReadPath,
    rid: Rid,
    options: ScanOptions,
) -> Option<u8> {
    let mut row = Vec::new();
    let mut seen = None;
    let told = "a reader at a snapshot waits for nobody";
    match (home, path) {
        (Home::Tree, ReadPath::Look) => {
            db.tree.get(txn, &KEY, &options, &mut row).expect(told);
            seen = row.first().copied();
        }
        (Home::Tree, _) => {
            let mut cursor = db.tree.scan(KeyRange::all(), options);
            let mut found = 0;
            loop {
                let rows = match path {
                    ReadPath::Page => cursor.next_page(txn).expect(told),
                    _ => usize::from(cursor.next(txn).expect(told)),
                };
                if rows == 0 {
                    break;
                }
                for at in 0..rows {
                    let (key, value) = match path {
                        ReadPath::Page => (cursor.key_at(at), cursor.value_at(at)),
                        _ => (cursor.key(), cursor.value()),
                    };
                    found += 1;
                    assert!(value.iter().all(|byte| *byte == value[0]), "a row is whole");
                    if key == KEY {
                        seen = value.first().copied();
                    }
                }
            }
            assert_eq!(found, 2 + usize::from(seen.is_some()), "nothing else");
        }
        (_, ReadPath::Look) => {
            db.heap.fetch(txn, rid, &options, &mut row).expect(told);
            seen = row.first().copied();
        }
        _ => {
            let mut cursor = db.heap.scan(options);
            while cursor.next(txn).expect(told) {
                assert!(cursor.row().iter().all(|byte| *byte == cursor.row()[0]), "a row is whole");
                if cursor.rid() == rid {
                    seen = cursor.row().first().copied();
                }
            }
        }
    }
    seen
}

fn see_all(db: &Db, home: Home, rid: Rid, snapshot: &Snapshot, expected: Option<u8>, told: &str) {
    let reader = begin(db);
    for path in [ReadPath::Scan, ReadPath::Page, ReadPath::Backward, ReadPath::Look] {
        if home != Home::Tree && matches!(path, ReadPath::Backward | ReadPath::Page) {
            continue;
        }
        let seen = read(db, &reader, home, path, rid, options(snapshot, path));
        assert_eq!(seen, expected, "{told} {path:?}");
    }
    assert!(reader.lock_count() == 1, "{told}: no row is locked");
    reader.rollback().expect("nothing to undo");
}

fn check(db: &Db, home: Home, change: Change, commits: bool) {
    let told = format!("{home:?} {change:?} commits {commits}:");
    db.manager.versions().keep(true);
    let rid = prepare(db, home, change);
    let holder = begin(db);
    let before = if change == Change::Insert { None } else { Some(OLD) };
    let after = if change == Change::Delete { None } else { Some(NEW) };
    let first = open(db, &holder);
    let writer = begin(db);
    let rid = make(db, &writer, home, change, rid, NEW);
    let second = open(db, &holder);
    see_all(db, home, rid, &first, before, &format!("{told} opened before"));
    see_all(db, home, rid, &second, before, &format!("{told} opened during"));
    assert_eq!(
        read(db, &writer, home, ReadPath::Look, rid, options(&first, ReadPath::Look)),
        after,
        "{told} its own"
    );
    match commits {
        true => commit(writer),
        false => writer.rollback().expect("a healthy disk"),
    }
    db.access.clean_ghosts(&db.manager, 64).expect("a healthy disk");
    let third = open(db, &holder);
    let end = if commits { after } else { before };
    see_all(db, home, rid, &first, before, &format!("{told} ended, opened before"));
    see_all(db, home, rid, &second, before, &format!("{told} ended, opened during"));
    see_all(db, home, rid, &third, end, &format!("{told} ended, opened after"));
    // One more change on top, if there is a row.
    if end.is_some() {
        let next = begin(db);
        make(db, &next, home, Change::Growing, rid, NEWEST);
        see_all(db, home, rid, &first, before, &format!("{told} under another"));
        see_all(db, home, rid, &third, end, &format!("{told} under another"));
        commit(next);
        see_all(db, home, rid, &second, before, &format!("{told} behind another"));
        see_all(db, home, rid, &third, end, &format!("{told} behind another"));
    }
    drop((first, second));
    see_all(db, home, rid, &third, end, &format!("{told} the oldest is gone"));
    drop(third);
    assert_eq!(db.manager.versions().figures().versions, 0, "{told} nobody needs any");
    assert_eq!(db.manager.versions().figures().bytes, 0, "{told} nobody needs any");
    db.access.clean_ghosts(&db.manager, 64).expect("a healthy disk");
    assert_eq!(db.access.ghost_pages_waiting(), 0, "{told} ghosts go when nobody can see them");
    holder.rollback().expect("nothing to undo");
    db.verify().expect("sound");
}

#[test]
fn a_snapshot_shows_its_moment_whatever_happens() {
    let mut seed = 0;
    for home in [Home::Tree, Home::Heap, Home::Moved] {
        for change in CHANGES {
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

/// A transaction that changes, or locks to change, a row that another has changed and committed since the snapshot gets a conflict; a rollback is no
/// conflict.
#[test]
fn a_change_over_a_later_commit_is_a_conflict() {
    for (seed, home) in [Home::Tree, Home::Heap, Home::Moved].into_iter().enumerate() {
        for commits in [false, true] {
            World::new(seed as u64 + 50, Profile::nvme())
                .run(move |os| {
                    let db = create(os, &Place::new("/data/t"));
                    db.manager.versions().keep(true);
                    let rid = prepare(&db, home, Change::InPlace);
                    let late = begin(&db);
                    let snapshot = open(&db, &late);
                    late.set_conflicts_above(snapshot.number());
                    let writer = begin(&db);
                    make(&db, &writer, home, Change::InPlace, rid, NEW);
                    match commits {
                        true => commit(writer),
                        false => writer.rollback().expect("a healthy disk"),
                    }
                    let lock = ScanOptions { row_lock: RowLock::Update, ..ScanOptions::default() };
                    let new = row(NEWEST, 2500);
                    let tells = |result: Result<(), AccessError>, what: &str| match commits {
                        true => {
                            assert!(matches!(result, Err(AccessError::UpdateConflict)), "{home:?} {what}")
                        }
                        false => assert!(result.is_ok(), "{home:?} {what}"),
                    };
                    match home {
                        Home::Tree => {
                            tells(db.tree.get(&late, &KEY, &lock, &mut Vec::new()).map(drop), "lock");
                            tells(db.tree.update(&late, &KEY, &new), "update");
                            tells(db.tree.delete(&late, &KEY), "delete");
                        }
                        _ => {
                            tells(db.heap.fetch(&late, rid, &lock, &mut Vec::new()).map(drop), "lock");
                            tells(db.heap.update(&late, rid, &new), "update");
                            tells(db.heap.delete(&late, rid), "delete");
                        }
                    }
                    late.rollback().expect("a healthy disk");
                    drop(snapshot);
                })
                .assert_ok();
        }
    }
}

/// The checks above work: they find versions that are removed too early, and snapshots that see later changes.
#[test]
fn planted_bugs_are_found() {
    for bug in [Bug::VersionFreedTooEarly, Bug::SnapshotSeesLaterCommit] {
        let fails = |seed| {
            let world = World::new(seed, Profile::nvme());
            world.plant(Some(bug));
            !world.run(|os| add_up(&Arc::new(create(os, &Place::new("/data/t"))))).failures.is_empty()
        };
        assert!((0..20).any(fails), "{bug:?} is found");
    }
}

/// Rows with a constant sum, moved to and fro, deleted and inserted under another key: each snapshot computes the sum
/// twice, and finds the same rows both times.
#[test]
fn snapshots_add_up_under_writers() {
    for seed in 0..30 {
        World::new(seed, Profile::nvme())
            .run(|os| add_up(&Arc::new(create(os, &Place::new("/data/t")))))
            .assert_ok();
    }
}

const ACCOUNTS: u32 = 8;
const START: u32 = 1000;

fn account(amount: u32, bytes: usize) -> Vec<u8> {
    let mut row = amount.to_le_bytes().to_vec();
    row.resize(bytes, 0);
    row
}

fn amount_of(row: &[u8]) -> u32 {
    u32::from_le_bytes(*row.first_chunk().expect("four bytes"))
}

fn add_up(db: &Arc<Db>) {
    db.manager.versions().keep(true);
    let txn = begin(db);
    let mut rids = Vec::new();
    for number in 0..ACCOUNTS {
        rids.push(db.heap.insert(&txn, &account(START, 900)).expect("room"));
        db.tree.insert(&txn, &(number * 10).to_be_bytes(), &account(START, 900)).expect("room");
    }
    commit(txn);
    let writers = (0..2u32).map(|task| {
        let (db, rids) = (Arc::clone(db), rids.clone());
        db.os.clone().spawn("writer", move || (0..60).for_each(|round| transfer(&db, &rids, task, round)))
    });
    let writers: Vec<_> = writers.collect();
    for _ in 0..40 {
        let reader = begin(db);
        let snapshot = open(db, &reader);
        let first = read_accounts(db, &reader, &rids, &snapshot);
        db.os.yield_point();
        let again = read_accounts(db, &reader, &rids, &snapshot);
        assert_eq!(first, again, "a snapshot stays as it is");
        assert_eq!(first.0.values().sum::<u32>(), ACCOUNTS * START, "the heap adds up");
        assert_eq!(first.1.values().sum::<u32>(), ACCOUNTS * START, "the tree adds up");
        reader.rollback().expect("nothing to undo");
    }
    writers.into_iter().for_each(|writer| writer.join().expect("ends"));
    assert_eq!(db.manager.versions().figures().versions, 0, "nobody needs any");
    db.verify().expect("sound");
}

fn read_accounts(
    db: &Db,
    reader: &Transaction,
    rids: &[Rid],
    snapshot: &Snapshot,
) -> (BTreeMap<Rid, u32>, BTreeMap<Vec<u8>, u32>) {
    let options = options(snapshot, ReadPath::Scan);
    let (mut heap, mut tree) = (BTreeMap::new(), BTreeMap::new());
    let mut cursor = db.heap.scan(options);
    while cursor.next(reader).expect("waits for nobody") {
        heap.insert(cursor.rid(), amount_of(cursor.row()));
    }
    for rid in rids {
        let mut row = Vec::new();
        let found = db.heap.fetch(reader, *rid, &options, &mut row).expect("waits for nobody");
        assert_eq!(found.then(|| amount_of(&row)), heap.get(rid).copied(), "looked up and scanned");
    }
    let mut cursor = db.tree.scan(KeyRange::all(), options);
    while cursor.next(reader).expect("waits for nobody") {
        tree.insert(cursor.key().to_vec(), amount_of(cursor.value()));
    }
    (heap, tree)
}

/// Transfers an amount between two rows, heap and tree; the tree's second row changes its key.
fn transfer(db: &Db, rids: &[Rid], task: u32, round: u32) {
    let txn = begin(db);
    let done = try_transfer(db, &txn, rids, task, round);
    match (done, round % 4) {
        (Ok(()), 1..) => drop(txn.commit(CommitMode::Delayed).expect("a healthy disk")),
        _ => txn.rollback().expect("a healthy disk"),
    }
    if round.is_multiple_of(3) {
        db.access.clean_ghosts(&db.manager, 8).expect("a healthy disk");
    }
}

fn try_transfer(db: &Db, txn: &Transaction, rids: &[Rid], task: u32, round: u32) -> Result<(), AccessError> {
    let lock = ScanOptions { row_lock: RowLock::Update, ..ScanOptions::default() };
    let count = rids.len();
    let (from, to) = ((round as usize * 3 + task as usize) % count, (round as usize * 5 + 1) % count);
    if from == to {
        return Ok(());
    }
    let bytes = [900, 3500, 1200, 5000][round as usize % 4];
    let mut row = Vec::new();
    if !db.heap.fetch(txn, rids[from], &lock, &mut row)? {
        return Ok(());
    }
    db.heap.update(txn, rids[from], &account(amount_of(&row) - 1, bytes))?;
    row.clear();
    db.heap.fetch(txn, rids[to], &lock, &mut row)?;
    db.heap.update(txn, rids[to], &account(amount_of(&row) + 1, bytes / 2))?;
    // The keys of an account: its number times ten, or that and one.
    let key = |at: usize, odd: u32| (at as u32 * 10 + odd).to_be_bytes();
    for (at, change) in [(from, -1i32), (to, 1)] {
        for odd in [0, 1] {
            row.clear();
            if db.tree.get(txn, &key(at, odd), &lock, &mut row)? {
                let amount = amount_of(&row).checked_add_signed(change).expect("far from nothing");
                if round.is_multiple_of(2) {
                    db.tree.update(txn, &key(at, odd), &account(amount, bytes))?;
                } else {
                    db.tree.delete(txn, &key(at, odd))?;
                    db.tree.insert(txn, &key(at, 1 - odd), &account(amount, bytes / 2))?;
                }
                break;
            }
        }
    }
    Ok(())
}
