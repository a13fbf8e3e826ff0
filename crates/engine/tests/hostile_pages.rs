//! Pages with a right checksum that lie: of each kind, in the header and in each part of a slot. Whoever reads one is told 824, nothing
//! panics, and the other tables and databases go on.
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use hardpan_engine::{CheckOptions, Database, Instance, RowChange, ScanOptions, SqlResult};
use os::sim::{DiskImage, Profile, World};
use pages::{PAGE_BYTES, PageBytes, PageType, checksum, header, structure};
use support::{NAME, Session, column, create_database, create_table, heap, int, item, items, open};
use types::{SqlType, Value};

/// The database beside the one with the page that lies.
const OTHER: &str = "other";
const ROWS: i32 = 700;

/// `items` (a clustered index of several levels and another one) and `rows` (a heap with large values) in one database, `items` in another.
fn prepared() -> (DiskImage, std::path::PathBuf) {
    let world = World::new(1, Profile::nvme());
    let path = Arc::new(os::Latch::new(os::LatchRank::Leaf, std::path::PathBuf::new()));
    let told = Arc::clone(&path);
    world
        .run(move |os| {
            let instance = open(os);
            let long = column("l", SqlType::VarChar(types::Length::Max), true);
            let columns =
                vec![column("id", SqlType::Int, false), column("v", SqlType::varchar(800), true), long];
            for name in [NAME, OTHER] {
                let database = create_database(&instance, name).unwrap();
                create_table(&instance, &database, &items("items"));
                create_table(&instance, &database, &heap("rows", columns.clone()));
                let mut session = Session::new(&instance, &database, 51);
                fill(&mut session, &database, 0).unwrap();
            }
            *told.lock() = instance.database(NAME).unwrap().space().files()[0].path.clone();
            instance.shutdown();
        })
        .assert_ok();
    let path = path.lock().clone();
    (world.disk_image(), path)
}

fn fill(session: &mut Session, database: &Arc<Database>, first: i32) -> SqlResult<()> {
    let made = support::table(database, "items").unwrap();
    session.autocommit(None, |txn| {
        (first..first + ROWS).try_for_each(|id| made.insert(txn, &item(id, id * 7 % ROWS, 300)).map(|_| ()))
    })?;
    fill_heap(session, database, first)
}

fn fill_heap(session: &mut Session, database: &Arc<Database>, first: i32) -> SqlResult<()> {
    let rows = support::table(database, "rows").unwrap();
    session.autocommit(None, |txn| {
        (first..first + 40).try_for_each(|id| {
            let long = Value::varchar(&"l".repeat(if id % 9 == 0 { 20_000 } else { 3 }));
            rows.insert(txn, &[Value::Int(id), Value::varchar(&"v".repeat(500)), long]).map(|_| ())
        })
    })
}

/// What is done to a page; the checksum is made right afterwards.
type Lie = (&'static str, fn(&mut PageBytes));

/// Lies that every kind of page can tell.
const LIES: &[Lie] = &[
    ("a slot more", |page| page[22] = page[22].wrapping_add(1)),
    ("more slots than fit", |page| page[23] = 9),
    ("the end of the rows lies in the header", |page| page[30..32].copy_from_slice(&40u16.to_le_bytes())),
    ("the end of the rows lies behind the page", |page| page[30..32].copy_from_slice(&9000u16.to_le_bytes())),
    ("a free byte more", |page| page[38] = page[38].wrapping_add(1)),
    ("little is free", |page| page[38..40].copy_from_slice(&3u16.to_le_bytes())),
    ("a free slot more", |page| page[46] = page[46].wrapping_add(1)),
    ("a ghost more", |page| page[56] = page[56].wrapping_add(1)),
    ("a level that no tree has", |page| page[2] = 200),
    ("an unknown type", |page| page[1] = 77),
];

/// Lies of pages with rows: slot 0 is the last four bytes of the page, slot 1 stands before it.
const LIES_OF_SLOTS: &[Lie] = &[
    ("a row lies behind the page", |page| put(page, 4, 8190)),
    ("a row lies in the header", |page| put(page, 4, 20)),
    ("a row is longer than the page", |page| put(page, 2, 8000)),
    ("a row has no bytes", |page| put(page, 2, 0)),
    ("two rows overlap", |page| page.copy_within(PAGE_BYTES - 4..PAGE_BYTES, PAGE_BYTES - 8)),
    ("a slot is free, and nobody counts it", |page| put(page, 4, 0)),
    ("a row is a stub and moved", |page| page[PAGE_BYTES - 1] |= 0x60),
    ("a row is a ghost, and nobody counts it", |page| page[PAGE_BYTES - 1] |= 0x80),
];

fn put(page: &mut PageBytes, from_end: usize, value: u16) {
    page[PAGE_BYTES - from_end..PAGE_BYTES - from_end + 2].copy_from_slice(&value.to_le_bytes());
}

/// Which pages lie: the table that is hurt, and a page of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    FileHeader,
    Boot,
    Map,
    Heap,
    Lob,
    Leaf,
    Interior,
}

impl Kind {
    const ALL: [Kind; 7] =
        [Kind::FileHeader, Kind::Boot, Kind::Map, Kind::Heap, Kind::Lob, Kind::Leaf, Kind::Interior];

    /// The last page of that kind in the file: of a user's table where both have such.
    fn find(self, pages: &[PageBytes]) -> usize {
        let is_it = |page: &&PageBytes| match (header::page_type(page), header::level(page)) {
            (PageType::FileHeader, _) => self == Kind::FileHeader,
            (PageType::Boot, _) => self == Kind::Boot,
            (PageType::AllocationMap, _) => self == Kind::Map,
            (PageType::Heap, _) => self == Kind::Heap,
            (PageType::Lob, _) => self == Kind::Lob,
            (PageType::BTree, 0) => self == Kind::Leaf,
            (PageType::BTree, _) => self == Kind::Interior,
            (PageType::Empty, _) => false,
        };
        pages.len() - 1 - pages.iter().rev().position(|page| is_it(&page)).unwrap()
    }

    fn has_rows(self) -> bool {
        matches!(self, Kind::Heap | Kind::Leaf | Kind::Interior)
    }

    /// A database is not opened without its first page, its boot page and its maps.
    fn lets_open(self) -> bool {
        !matches!(self, Kind::FileHeader | Kind::Boot | Kind::Map)
    }

    /// The table that does not notice.
    fn unhurt(self) -> Option<&'static str> {
        match self {
            Kind::Heap | Kind::Lob => Some("items"),
            Kind::Leaf | Kind::Interior => Some("rows"),
            _ => None,
        }
    }
}

/// Reads and changes everything; the numbers of the errors.
fn work(instance: &Arc<Instance>, database: &Arc<Database>) -> BTreeSet<i32> {
    let mut session = Session::new(instance, database, 60);
    let mut numbers = BTreeSet::new();
    let mut note = |result: SqlResult<()>| numbers.extend(result.err().map(|error| error.number));
    for name in ["items", "rows"] {
        let Some(table) = support::table(database, name) else { continue };
        for index in table.definition().indexes.iter().map(|index| index.index_id) {
            note(session.autocommit(None, |txn| support::rows(txn, &table, index).map(|_| ())));
        }
        let change = |txn: &hardpan_engine::DbTransaction| -> SqlResult<()> {
            let mut cursor =
                table.scan(txn, table.definition().base().index_id, &ScanOptions::default(), None)?;
            let (mut old, mut found) = (Vec::new(), Vec::new());
            while cursor.next(txn, &mut old)? {
                found.push((cursor.locator()?, old.clone()));
            }
            for (locator, old) in &found {
                let mut new = old.clone();
                let at = if name == "items" { 2 } else { 1 };
                new[at] = Value::varchar(&"c".repeat(390));
                if int(old, 0) % 3 == 0 {
                    table.delete(txn, locator, old)?;
                } else {
                    table.update(txn, RowChange { locator, old, new: &new, changed: &[at] })?;
                }
            }
            Ok(())
        };
        note(session.autocommit(None, change));
    }
    note(fill(&mut session, database, 10_000));
    note(fill_heap(&mut session, database, 20_000));
    for table in database.tables() {
        let found =
            session.autocommit(None, |txn| database.check_table(txn, &table, CheckOptions::default()));
        note(found.map(|_| ()));
    }
    numbers
}

/// Does everything about this table work?
fn is_well(instance: &Arc<Instance>, database: &Arc<Database>, name: &str) -> bool {
    let table = support::table(database, name).unwrap();
    let mut session = Session::new(instance, database, 61);
    let found = session
        .autocommit(None, |txn| database.check_table(txn, table.definition(), CheckOptions::default()));
    let count = support::all_rows(instance, database, &table).len();
    let report = found.unwrap().unwrap();
    report.allocation_errors.is_empty() && report.consistency_errors.is_empty() && count >= 27
}

#[test]
fn a_page_that_lies_is_error_824_and_everything_else_goes_on() {
    let (image, path) = prepared();
    let file = World::with_disk(2, Profile::nvme(), image.clone()).file_bytes(&path).unwrap();
    let pages: Vec<PageBytes> = file.chunks_exact(PAGE_BYTES).map(|page| page.try_into().unwrap()).collect();
    let mut count = 0;
    for kind in Kind::ALL {
        let lies = LIES.iter().chain(if kind.has_rows() { LIES_OF_SLOTS } else { &[] });
        for (what, lie) in lies {
            let page = kind.find(&pages);
            let mut bytes = pages[page];
            assert_eq!(structure::verify(&bytes), Ok(()), "{kind:?}, page {page}");
            lie(&mut bytes);
            assert!(structure::verify(&bytes).is_err(), "{kind:?}: {what}: no lie");
            checksum::stamp(&mut bytes);
            try_with(&image, &path, (kind, what), page * PAGE_BYTES, &bytes);
            count += 1;
        }
    }
    assert_eq!(count, Kind::ALL.len() * LIES.len() + 3 * LIES_OF_SLOTS.len());
}

fn try_with(
    image: &DiskImage,
    path: &Path,
    (kind, what): (Kind, &'static str),
    at: usize,
    bytes: &PageBytes,
) {
    let world = World::with_disk(3, Profile::nvme(), image.clone());
    world.corrupt(path, at as u64, bytes);
    let report = world.run(move |os| {
        let instance = open(os);
        if let Ok(database) = instance.database(NAME) {
            assert!(kind.lets_open(), "{kind:?}: {what}: it opens");
            let well = kind.unhurt().is_none_or(|name| is_well(&instance, &database, name));
            assert!(well, "{kind:?}: {what}: the other table is hurt");
            let numbers = work(&instance, &database);
            assert!(numbers.contains(&824), "{kind:?}: {what}: {numbers:?}");
            assert!(kind.unhurt().is_none_or(|name| is_well(&instance, &database, name)), "{kind:?}: {what}");
        } else {
            assert!(!kind.lets_open(), "{kind:?}: {what}: it does not open");
        }
        let other = instance.database(OTHER).unwrap();
        assert_eq!(work(&instance, &other), BTreeSet::new(), "{kind:?}: {what}: the other database");
        instance.shutdown();
    });
    assert!(report.failures.is_empty(), "{kind:?}: {what}: {:?}", report.failures);
}
