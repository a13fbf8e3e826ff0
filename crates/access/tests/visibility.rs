//! What a reader sees of a row that another transaction is changing: every kind of row x change x isolation level x reader (visibility.rs).
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use std::sync::Arc;

use common::{Db, Place, begin, create};
use hardpan_access::{
    Accepted, AccessError, AccessResult, Condition, ConditionKind, KeyRange, Rid, RowColumn, RowFormat,
    RowLock, RowTest, ScanOptions, Selection,
};
use os::sim::{Profile, World};
use txn::{CommitMode, IsolationLevel, LockError, LockWait, Resource, Transaction};
use types::{Collation, Length, SqlType, Value};

/// The place of the row that is read.
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
    /// Another row of the page that holds the bytes.
    Neighbour,
}

/// The reader: a cursor row by row, by the page, backward; a look-up, alone or (where no locks are kept) as one of many.
#[derive(Clone, Copy, Debug, PartialEq)]
enum ReadPath {
    Scan,
    Page,
    Backward,
    Look,
    Many,
}

const PATHS: [ReadPath; 5] =
    [ReadPath::Scan, ReadPath::Page, ReadPath::Backward, ReadPath::Look, ReadPath::Many];

impl ReadPath {
    fn is_look(self) -> bool {
        matches!(self, ReadPath::Look | ReadPath::Many)
    }
}

/// The selection of a cursor: every row, or those that satisfy a condition on their bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Pick {
    All,
    Old,
    New,
    Nothing,
}

const CHANGES: [Change; 6] =
    [Change::Nothing, Change::InPlace, Change::Growing, Change::Insert, Change::Delete, Change::Neighbour];
const LEVELS: [IsolationLevel; 4] = [
    IsolationLevel::ReadUncommitted,
    IsolationLevel::ReadCommitted,
    IsolationLevel::RepeatableRead,
    IsolationLevel::Serializable,
];
const KEY: [u8; 4] = [0, 0, 0, 20];
const OLD: u8 = b'o';
const NEW: u8 = b'n';
const FILL: u8 = b'f';

/// The form of the rows: one byte, and padding.
fn format() -> RowFormat {
    let column = |sql_type| RowColumn { sql_type, collation: Collation::default() };
    RowFormat::new(vec![column(SqlType::TinyInt), column(SqlType::VarBinary(Length::N(8000)))])
}

/// A row of so many bytes.
fn row(fill: u8, bytes: usize) -> Vec<u8> {
    let mut row = Vec::new();
    let values = [Value::TinyInt(fill), Value::binary(&vec![fill; bytes - 9])];
    format().encode(&values, bytes, &mut row, &mut |_| panic!("it fits")).expect("it fits");
    assert_eq!(row.len(), bytes);
    row
}

fn fill_of(row: &[u8]) -> Option<u8> {
    row.get(3).copied()
}

impl Pick {
    fn selection(self) -> Selection {
        let value = match self {
            Pick::All => return Selection::default(),
            Pick::Old => OLD,
            Pick::New => NEW,
            Pick::Nothing => b'?',
        };
        let kind = ConditionKind::Compare {
            accepted: Accepted::by(std::cmp::Ordering::is_eq),
            value: Value::TinyInt(value),
            collation: Collation::default(),
        };
        let test = RowTest::new(Arc::new(format()), vec![Condition { column: 0, kind }], false);
        Selection { test: Some(test) }
    }

    fn of(self, seen: Option<u8>) -> Option<u8> {
        seen.filter(|fill| match self {
            Pick::All => true,
            Pick::Old => *fill == OLD,
            Pick::New => *fill == NEW,
            Pick::Nothing => false,
        })
    }
}

fn commit(txn: Transaction) {
    txn.commit(CommitMode::Full).expect("a healthy disk");
}

/// Inserts the row, committed, on settled pages; with `Change::Insert` only its neighbours.
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
            let first = db.heap.insert(&txn, &row(FILL, 4000)).expect("room");
            assert_eq!(first.slot, 0);
            if change != Change::Insert {
                rid = db.heap.insert(&txn, &row(OLD, 3000)).expect("room");
                assert_eq!(rid.page, first.page);
            }
            if home == Home::Moved {
                db.heap.update(&txn, rid, &row(OLD, 5000)).expect("moves");
                // On the page beside it, so that it moves on when it grows.
                db.heap.insert(&txn, &row(FILL, 2500)).expect("room");
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
    let row = row(NEW, bytes);
    match (home, change) {
        (_, Change::Nothing) => {}
        (Home::Tree, Change::Neighbour) => {
            db.tree.update(txn, &10u32.to_be_bytes(), &self::row(FILL, 2400)).expect("there");
        }
        (Home::Heap, Change::Neighbour) => {
            let first = Rid { slot: 0, ..rid };
            db.heap.update(txn, first, &self::row(FILL, 3900)).expect("there");
        }
        (Home::Moved, Change::Neighbour) => {
            db.heap.insert(txn, &self::row(FILL, 200)).expect("room beside the moved row");
        }
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
    path: ReadPath,
    rid: Rid,
    options: ScanOptions,
    pick: Pick,
) -> AccessResult<Option<u8>> {
    let options = ScanOptions { backward: path == ReadPath::Backward, ..options };
    let mut row = Vec::new();
    let mut seen = None;
    match (home, path) {
        (Home::Tree, ReadPath::Many) if options.keeps_nothing() => {
            // A key that does not exist among them.
            let keys = [[0, 0, 0, 19], KEY, KEY];
            let mut found = |number: usize, value: &[u8]| {
                assert!(number == 1 || fill_of(value) == seen, "{number}");
                seen = fill_of(value);
            };
            db.tree.get_many(txn, keys.iter().map(|key| &key[..]), &options, &mut found)?;
        }
        (_, ReadPath::Many) if options.keeps_nothing() => {
            let mut found = |_: usize, row: &[u8]| seen = fill_of(row);
            db.heap.fetch_many(txn, [rid, rid].into_iter(), &options, &mut found)?;
        }
        (Home::Tree, ReadPath::Look | ReadPath::Many) => {
            db.tree.get(txn, &KEY, &options, &mut row)?;
            seen = fill_of(&row);
        }
        (Home::Tree, _) => {
            let mut cursor = db.tree.scan(KeyRange::all(), options);
            cursor.select(pick.selection());
            let mut take = |key: &[u8], value: &[u8]| {
                if key == KEY {
                    seen = fill_of(value);
                }
            };
            match path {
                ReadPath::Page => loop {
                    match cursor.next_page(txn)? {
                        0 => break,
                        rows => (0..rows).for_each(|at| take(cursor.key_at(at), cursor.value_at(at))),
                    }
                },
                _ => {
                    while cursor.next(txn)? {
                        take(cursor.key(), cursor.value());
                    }
                }
            }
        }
        (_, ReadPath::Look | ReadPath::Many) => {
            db.heap.fetch(txn, rid, &options, &mut row)?;
            seen = fill_of(&row);
        }
        _ => {
            let mut cursor = db.heap.scan(options);
            cursor.select(pick.selection());
            let mut take = |found: Rid, row: &[u8]| {
                if found == rid {
                    seen = fill_of(row);
                }
            };
            match path {
                ReadPath::Page => loop {
                    match cursor.next_page(txn)? {
                        0 => break,
                        rows => (0..rows).for_each(|at| take(cursor.rid_at(at), cursor.row_at(at))),
                    }
                },
                _ => {
                    while cursor.next(txn)? {
                        take(cursor.rid(), cursor.row());
                    }
                }
            }
        }
    }
    Ok(seen)
}

/// A reader.
#[derive(Clone, Copy, Debug)]
struct Case {
    path: ReadPath,
    pick: Pick,
    options: ScanOptions,
}

fn cases(home: Home) -> Vec<Case> {
    let mut cases = Vec::new();
    for isolation in LEVELS {
        for row_lock in [RowLock::Shared, RowLock::Update, RowLock::Exclusive] {
            for keep_row in [false, true] {
                for path in PATHS.into_iter().filter(|path| home == Home::Tree || *path != ReadPath::Backward)
                {
                    let wait = LockWait::NoWait;
                    let options =
                        ScanOptions { wait, isolation, row_lock, keep_row, ..ScanOptions::default() };
                    for pick in [Pick::All, Pick::Old, Pick::New, Pick::Nothing] {
                        // A look-up takes no condition.
                        if pick == Pick::All || !path.is_look() {
                            cases.push(Case { path, pick, options });
                        }
                    }
                }
            }
        }
    }
    cases
}

/// After a scan: REPEATABLE READ and above hold the row's lock, whether it qualified or not; lower levels hold no lock of a skipped row.
fn assert_kept(reader: &Transaction, lock: &Resource, case: &Case, row: Option<u8>, told: &str) {
    let Some(_) = row else { return };
    let is_kept = reader.held_mode(lock).is_some();
    let keeps = case.options.isolation >= IsolationLevel::RepeatableRead
        || case.options.row_lock == RowLock::Exclusive;
    if keeps {
        assert!(is_kept, "{told}: repeatable");
    } else if !case.path.is_look() && case.pick.of(row).is_none() {
        assert!(!is_kept, "{told}: passed over");
    }
}

fn check(db: &Db, home: Home, change: Change, commits: bool) {
    let rid = prepare(db, home, change);
    let writer = begin(db);
    let rid = make(db, &writer, home, change, rid);
    let before = if change == Change::Insert { None } else { Some(OLD) };
    let after = match change {
        Change::Nothing | Change::Neighbour => Some(OLD),
        Change::Delete => None,
        _ => Some(NEW),
    };
    let lock = match home {
        Home::Tree => db.tree.key_resource(&KEY),
        _ => db.heap.row_resource(rid),
    };
    let each = |has_ended: bool| {
        for case in cases(home) {
            let told = format!("{home:?} {change:?} {case:?} ended {has_ended}");
            let reader = begin(db);
            let seen = read(db, &reader, home, case.path, rid, case.options, case.pick);
            let is_dirty = case.options.isolation == IsolationLevel::ReadUncommitted
                && case.options.row_lock == RowLock::Shared;
            // A scan reads the neighbour, too.
            let is_free = change == Change::Nothing || change == Change::Neighbour && case.path.is_look();
            if has_ended {
                let end = if commits { after } else { before };
                assert_eq!(seen.expect(&told), case.pick.of(end), "{told}");
                assert_kept(&reader, &lock, &case, end, &told);
            } else if is_dirty || is_free {
                assert_eq!(seen.expect(&told), case.pick.of(after), "{told}");
            } else {
                // The condition is evaluated only after the row is visible.
                let refused = matches!(seen, Err(AccessError::Lock(LockError::Timeout)));
                assert!(refused, "{told}: {seen:?}");
                if case.options.isolation != IsolationLevel::Serializable {
                    let past = ScanOptions { skip_locked: true, ..case.options };
                    let left = if change == Change::Neighbour { case.pick.of(after) } else { None };
                    let seen = read(db, &reader, home, case.path, rid, past, case.pick);
                    assert_eq!(seen.expect(&told), left, "{told}");
                }
            }
            reader.rollback().expect("nothing to undo");
        }
    };
    each(false);
    // A transaction sees its own change, whatever it locks.
    for case in cases(home) {
        let seen = read(db, &writer, home, case.path, rid, case.options, case.pick).expect("no wait");
        assert_eq!(seen, case.pick.of(after), "{home:?} {change:?} {case:?}: the writer's own");
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

/// Readers follow a row that is moved to and fro, and never see another row or a half one, whatever they lock.
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
