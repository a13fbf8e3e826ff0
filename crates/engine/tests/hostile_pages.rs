//! Wrong pages with a right checksum: of each kind, in the header and in each part of a slot; and wrong links between pages: owners, neighbours,
//! children, moved rows, pieces. A statement that reads one gets 824 (8646 if an index lacks an entry),
//! CHECKDB reports it, nothing panics or waits forever, and the other tables and databases work.
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use hardpan_engine::{CheckOptions, Database, Instance, RowChange, ScanOptions, SqlResult};
use os::sim::{DiskImage, Profile, World};
use pages::{HEADER_BYTES, PAGE_BYTES, PageBytes, PageId, PageType, checksum, header, slots, structure};
use support::{NAME, Session, column, create_database, create_table, heap, int, item, items, open};
use types::{SqlType, Value};

/// The database beside the one with the wrong page.
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
                move_rows(&mut session, &database).unwrap();
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

/// Makes rows of the heap grow until their pages have no room for them.
fn move_rows(session: &mut Session, database: &Arc<Database>) -> SqlResult<()> {
    let rows = support::table(database, "rows").unwrap();
    session.autocommit(None, |txn| {
        let mut cursor = rows.scan(txn, 0, &ScanOptions::default(), None)?;
        let (mut old, mut found) = (Vec::new(), Vec::new());
        while cursor.next(txn, &mut old)? {
            found.push((cursor.locator()?, old.clone()));
        }
        found.iter().step_by(3).try_for_each(|(locator, old)| {
            let new = [old[0].clone(), Value::varchar(&"g".repeat(790)), old[2].clone()];
            rows.update(txn, RowChange { locator, old, new: &new, changed: &[1] })
        })
    })
}

/// A change of a page; the checksum is corrected afterwards.
type Lie = (&'static str, fn(&mut PageBytes));

/// Changes that fit every kind of page.
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

/// Changes of pages with rows: slot 0 is the last four bytes of the page, slot 1 is before it.
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

/// The page to change: the damaged table, and a page of it.
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

    /// The last page of that kind in the file; if user and system tables have one, a user table's.
    fn find(self, pages: &[PageBytes]) -> usize {
        let is_it = |page: &&PageBytes| match (header::page_type(page), header::level(page)) {
            (PageType::FileHeader, _) => self == Kind::FileHeader,
            (PageType::Boot, _) => self == Kind::Boot,
            (PageType::AllocationMap, _) => self == Kind::Map,
            (PageType::Heap, _) => self == Kind::Heap && header::slot_count(page) > 2,
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

    /// A database with a wrong first page, boot page or map is not opened.
    fn lets_open(self) -> bool {
        !matches!(self, Kind::FileHeader | Kind::Boot | Kind::Map)
    }

    /// The table that is not affected.
    fn unhurt(self) -> Option<&'static str> {
        match self {
            Kind::Heap | Kind::Lob => Some("items"),
            Kind::Leaf | Kind::Interior => Some("rows"),
            _ => None,
        }
    }
}

/// Reads and changes everything; returns the numbers of the errors.
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
    note(fill(&mut session, database, -10_000));
    note(fill_heap(&mut session, database, 20_000));
    for table in database.tables() {
        let found =
            session.autocommit(None, |txn| database.check_table(txn, &table, CheckOptions::default()));
        note(found.map(|_| ()));
    }
    numbers
}

/// Drops both tables; returns the numbers of the errors.
fn drop_all(instance: &Arc<Instance>, database: &Arc<Database>) -> BTreeSet<i32> {
    let mut session = Session::new(instance, database, 63);
    let dropped = ["items", "rows"].map(|name| {
        let table = support::table(database, name).unwrap();
        session.autocommit(None, |txn| database.drop_table(txn, table.definition()))
    });
    dropped.into_iter().filter_map(|dropped| Some(dropped.err()?.number)).collect()
}

/// Does CHECKDB find anything in the database?
fn is_found(instance: &Arc<Instance>, database: &Arc<Database>) -> bool {
    let mut session = Session::new(instance, database, 62);
    let tables = database.tables().into_iter().any(|table| {
        let report =
            session.autocommit(None, |txn| database.check_table(txn, &table, CheckOptions::default()));
        let report = report.unwrap().unwrap();
        !(report.allocation_errors.is_empty() && report.consistency_errors.is_empty())
    });
    tables || !database.check_allocation().unwrap().is_empty()
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

/// The pages of the file, and the facts that a wrong link needs.
struct Pages(Vec<PageBytes>);

impl Pages {
    fn of((image, path): &(DiskImage, std::path::PathBuf)) -> Pages {
        let file = World::with_disk(2, Profile::nvme(), image.clone()).file_bytes(path).unwrap();
        Pages(file.chunks_exact(PAGE_BYTES).map(|page| page.try_into().unwrap()).collect())
    }

    fn all(&self, is_it: impl Fn(&PageBytes) -> bool) -> Vec<usize> {
        let heap = header::unit(&self.0[Kind::Heap.find(&self.0)]);
        let tree = header::unit(&self.0[Kind::Interior.find(&self.0)]);
        let is_users = |page: &PageBytes| [heap, tree].contains(&header::unit(page));
        let is_used = |page: &usize| self.0[MAP][HEADER_BYTES + 4 * page..][..4] != [0; 4];
        let used = (0..self.0.len()).filter(is_used);
        used.filter(|page| is_users(&self.0[*page]) && is_it(&self.0[*page])).collect()
    }

    /// The pages of the heap in the order of their chain, or the leaves of the tree of several levels.
    fn chain(&self, page_type: PageType) -> Vec<usize> {
        let of_chain = self.all(|page| header::page_type(page) == page_type && header::level(page) == 0);
        let is_first =
            |page: &&usize| !of_chain.iter().any(|other| header::next(&self.0[*other]) == id(**page));
        let mut chain = vec![*of_chain.iter().find(is_first).unwrap()];
        loop {
            let next = header::next(&self.0[chain[chain.len() - 1]]);
            if next.is_null() {
                return chain;
            }
            chain.push(next.page as usize);
        }
    }

    fn pieces(&self) -> Vec<usize> {
        let pieces = self.all(|page| header::page_type(page) == PageType::Lob);
        pieces.into_iter().filter(|piece| !header::next(&self.0[*piece]).is_null()).collect()
    }

    fn root(&self) -> usize {
        let root = self.all(|page| header::level(page) > 0);
        *root.iter().max_by_key(|page| header::level(&self.0[**page])).unwrap()
    }

    fn set_owner(&mut self, page: usize, owner: u32) -> usize {
        let at = HEADER_BYTES + 4 * page;
        self.0[MAP][at..at + 4].copy_from_slice(&owner.to_le_bytes());
        MAP
    }

    fn unit(&self, page: usize) -> u32 {
        header::unit(&self.0[page])
    }

    /// Links each page of `chain` to the next, in both directions; returns the changed pages.
    fn join(&mut self, chain: &[usize]) -> Vec<usize> {
        for pair in chain.windows(2) {
            self.set_next(pair[0], pair[1]);
            self.set_prev(pair[1], pair[0]);
        }
        chain.iter().copied().collect::<BTreeSet<_>>().into_iter().collect()
    }

    fn set_next(&mut self, page: usize, next: usize) -> usize {
        header::set_next(&mut self.0[page], id(next));
        page
    }

    fn set_prev(&mut self, page: usize, prev: usize) -> usize {
        header::set_prev(&mut self.0[page], id(prev));
        page
    }

    /// Changes the last bytes of a row: the child of an interior page.
    fn set_child(&mut self, page: usize, slot: u16, child: usize) -> usize {
        let row = slots::row_mut(&mut self.0[page], slot).unwrap();
        let at = row.len() - 6;
        row[at..].copy_from_slice(&id(child).to_bytes());
        page
    }

    /// Makes the first stub of the heap lead elsewhere; `target` gets the stub's page and slot.
    fn set_stub(&mut self, target: impl Fn(&Pages, usize, u16) -> (usize, u16)) -> usize {
        let has_stub = |page: &PageBytes| stub_of(page).is_some();
        let page = self.all(has_stub)[0];
        let slot = stub_of(&self.0[page]).unwrap();
        let (to, to_slot) = target(self, page, slot);
        let row = slots::row_mut(&mut self.0[page], slot).unwrap();
        row[..6].copy_from_slice(&id(to).to_bytes());
        row[6..8].copy_from_slice(&to_slot.to_le_bytes());
        page
    }
}

const MAP: usize = 1;

fn id(page: usize) -> PageId {
    PageId::new(1, page as u32)
}

fn stub_of(page: &PageBytes) -> Option<u16> {
    slots::occupied(page).find(|(_, _, flags)| flags & slots::FORWARD != 0).map(|(slot, _, _)| slot)
}

/// Wrong links from one page to another: the affected table, and the change, which returns the changed page.
type Tale = (&'static str, &'static str, fn(&mut Pages) -> usize);

const TALES: &[Tale] = &[
    ("rows", "a piece is nobody's", |pages| pages.set_owner(pages.pieces()[0], 0)),
    ("both", "a piece is another table's", |pages| {
        pages.set_owner(pages.pieces()[0], pages.unit(pages.chain(PageType::BTree)[0]))
    }),
    ("rows", "a piece is marked as dropped", |pages| {
        let piece = pages.pieces()[0];
        pages.set_owner(piece, pages.unit(piece) | 1 << 31)
    }),
    ("rows", "a piece is followed by the first one", |pages| {
        let pieces = pages.pieces();
        let second = header::next(&pages.0[pieces[0]]).page as usize;
        let first = pieces[0];
        pages.set_next(second, first)
    }),
    ("rows", "a piece says that it is another table's", |pages| {
        let piece = header::next(&pages.0[pages.pieces()[0]]).page as usize;
        pages.0[piece][40] ^= 3;
        piece
    }),
    ("both", "the map page is a table's", |pages| {
        let unit = pages.unit(pages.root());
        pages.set_owner(MAP, unit)
    }),
    ("items", "a leaf is nobody's", |pages| pages.set_owner(pages.chain(PageType::BTree)[3], 0)),
    ("items", "the root is nobody's", |pages| pages.set_owner(pages.root(), 0)),
    ("items", "a leaf is followed by the one before", |pages| {
        let leaves = pages.chain(PageType::BTree);
        pages.set_next(leaves[4], leaves[3])
    }),
    ("items", "a leaf is followed by the root", |pages| {
        pages.set_next(pages.chain(PageType::BTree)[4], pages.root())
    }),
    ("items", "a leaf in the middle says that it is the last", |pages| {
        let leaf = pages.chain(PageType::BTree)[2];
        header::set_next(&mut pages.0[leaf], PageId::NULL);
        leaf
    }),
    ("items", "a leaf follows another than it does", |pages| {
        let leaves = pages.chain(PageType::BTree);
        pages.set_prev(leaves[4], leaves[1])
    }),
    ("items", "the root is its own child", |pages| pages.set_child(pages.root(), 1, pages.root())),
    ("items", "two children are the same", |pages| {
        let child = pages.chain(PageType::BTree)[3];
        let parents = pages.all(|page| header::level(page) == 1);
        let first = parents[0];
        pages.set_child(first, 0, child)
    }),
    ("items", "a page knows of a change that no log has", |pages| {
        let leaf = pages.chain(PageType::BTree)[2];
        pages.0[leaf][15] = 1;
        leaf
    }),
    ("rows", "the heap leads back to its first page", |pages| {
        let chain = pages.chain(PageType::Heap);
        pages.set_next(chain[2], chain[0])
    }),
    ("rows", "the heap leads back to its second page", |pages| {
        let chain = pages.chain(PageType::Heap);
        pages.set_next(chain[2], chain[1])
    }),
    ("rows", "the last page of the heap is not the last", |pages| {
        let chain = pages.chain(PageType::Heap);
        pages.set_prev(chain[0], chain[1])
    }),
    ("rows", "a row has moved to where it was", |pages| pages.set_stub(|_, page, slot| (page, slot))),
    ("rows", "a row has moved to one that has not", |pages| {
        pages.set_stub(|pages, page, _| {
            let stays = |(_, _, flags): &(u16, &[u8], u16)| *flags == 0;
            (page, slots::occupied(&pages.0[page]).find(stays).unwrap().0)
        })
    }),
    ("rows", "a row has moved to an empty slot", |pages| pages.set_stub(|_, page, _| (page, 900))),
    ("rows", "a row has moved to another table", |pages| {
        pages.set_stub(|pages, _, _| (pages.chain(PageType::BTree)[0], 0))
    }),
    ("rows", "a row has moved behind the file", |pages| pages.set_stub(|_, _, _| (4_000_000, 0))),
];

#[test]
fn what_pages_say_of_each_other_is_error_824_when_it_is_wrong() {
    let prepared = prepared();
    let mut wrong = Vec::new();
    for (hurt, what, tell) in TALES {
        let mut pages = Pages::of(&prepared);
        let page = tell(&mut pages);
        wrong.extend(told_by(&prepared, &pages, &[page], (hurt, what)));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The catalog knows better: the leaf stays, and only CHECKDB tells.
#[test]
fn a_leaf_that_is_marked_as_dropped_is_not_given_away() {
    let (image, path) = prepared();
    let mut pages = Pages::of(&(image.clone(), path.clone()));
    let leaf = pages.chain(PageType::BTree)[3];
    let map = pages.set_owner(leaf, pages.unit(leaf) | 1 << 31);
    let world = World::with_disk(3, Profile::nvme(), image);
    checksum::stamp(&mut pages.0[map]);
    world.corrupt(&path, (map * PAGE_BYTES) as u64, &pages.0[map]);
    world
        .run(|os| {
            let instance = open(os);
            let database = instance.database(NAME).unwrap();
            assert!(is_found(&instance, &database));
            assert_eq!(work(&instance, &database), BTreeSet::new());
            assert_eq!(drop_all(&instance, &database), BTreeSet::new());
            instance.shutdown();
        })
        .assert_ok();
}

/// Pages that confirm each other's lie, and lead in a circle.
type Circle = (&'static str, &'static str, fn(&mut Pages) -> Vec<usize>);

const CIRCLES: &[Circle] = &[
    ("items", "two empty leaves follow each other", |pages| {
        let leaves = pages.chain(PageType::BTree);
        for leaf in &leaves[..2] {
            let unit = pages.unit(*leaf);
            header::format(&mut pages.0[*leaf], id(*leaf), PageType::BTree, 0, unit);
        }
        pages.join(&[leaves[0], leaves[1], leaves[0]])
    }),
    ("items", "all leaves follow each other", |pages| {
        let mut leaves = pages.chain(PageType::BTree);
        leaves.push(leaves[0]);
        pages.join(&leaves)
    }),
    ("items", "three leaves in the middle follow each other", |pages| {
        let leaves = pages.chain(PageType::BTree);
        pages.join(&[leaves[1], leaves[2], leaves[3], leaves[1]])
    }),
    ("rows", "two pages of the heap follow each other", |pages| {
        let chain = pages.chain(PageType::Heap);
        pages.join(&[chain[1], chain[2], chain[1]])
    }),
    ("rows", "all pages of the heap follow each other", |pages| {
        let mut chain = pages.chain(PageType::Heap);
        chain.push(chain[0]);
        pages.join(&chain)
    }),
    ("rows", "two pieces follow each other", |pages| {
        let first = pages.pieces()[0];
        let second = header::next(&pages.0[first]).page as usize;
        pages.join(&[first, second, first])
    }),
];

#[test]
fn no_walk_over_pages_that_lead_in_a_circle_goes_on_for_ever() {
    let prepared = prepared();
    let mut wrong = Vec::new();
    for (hurt, what, tell) in CIRCLES {
        let mut pages = Pages::of(&prepared);
        let lying = tell(&mut pages);
        wrong.extend(told_by(&prepared, &pages, &lying, (hurt, what)));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Worlds with these pages: CHECKDB reports them, work ends with 824 or 8646, the other table and the other database work. Returns the failures.
fn told_by(
    (image, path): &(DiskImage, std::path::PathBuf),
    pages: &Pages,
    lying: &[usize],
    (hurt, what): (&'static str, &'static str),
) -> Vec<(&'static str, String)> {
    let mut wrong = Vec::new();
    for is_checked in [true, false] {
        let world = World::with_disk(3, Profile::nvme(), image.clone());
        for page in lying {
            let mut bytes = pages.0[*page];
            assert_eq!(structure::verify(&bytes), Ok(()), "{what}: the page itself is sound");
            checksum::stamp(&mut bytes);
            world.corrupt(path, (page * PAGE_BYTES) as u64, &bytes);
        }
        let report = world.run(move |os| {
            let instance = open(os);
            let database = instance.database(NAME).unwrap();
            if is_checked {
                assert!(is_found(&instance, &database), "{what}: CHECKDB finds nothing");
                let mut unhurt =
                    ["items", "rows"].into_iter().filter(|name| ![*name, "both"].contains(&hurt));
                assert!(
                    unhurt.all(|name| is_well(&instance, &database, name)),
                    "{what}: the other table is hurt"
                );
            }
            let mut numbers = work(&instance, &database);
            numbers.append(&mut drop_all(&instance, &database));
            assert!(numbers.contains(&824) || numbers.contains(&8646), "{what}: {numbers:?}");
            let other = instance.database(OTHER).unwrap();
            assert_eq!(work(&instance, &other), BTreeSet::new(), "{what}: the other database");
            instance.shutdown();
        });
        wrong.extend(report.failures.into_iter().map(|failure| (what, failure)));
    }
    wrong
}
