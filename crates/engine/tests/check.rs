//! The check finds every kind of damage: the test changes pages directly in a sound database.
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::sync::Arc;

use hardpan_engine::{CheckOptions, Database, Instance, RowChange, ScanOptions, TableDef};
use os::sim::{Profile, World};
use pages::{HEADER_BYTES, LatchMode, PageBytes, PageId, PageType, header, slots};
use support::{NAME, Session, column, create_database, create_table, heap, item, items, open};
use types::{SqlType, Value};

struct Bench {
    instance: Arc<Instance>,
    database: Arc<Database>,
}

impl Bench {
    /// `items` (clustered, an index on `tag`, several levels) and `rows` (a heap with moved rows and large values).
    fn new(os: &os::Os) -> Bench {
        let instance = open(os);
        let database = create_database(&instance, NAME).expect("a new database");
        create_table(&instance, &database, &items("items"));
        let long = SqlType::VarChar(types::Length::Max);
        let columns = vec![
            column("id", SqlType::Int, false),
            column("v", SqlType::varchar(8000), true),
            column("l", long, true),
        ];
        create_table(&instance, &database, &heap("rows", columns));
        let made = support::table(&database, "items").expect("made");
        let rows = support::table(&database, "rows").expect("made");
        let mut session = Session::new(&instance, &database, 51);
        for id in 0..400 {
            session.autocommit(None, |txn| made.insert(txn, &item(id, id * 7 % 400, 100))).expect("a row");
        }
        for id in 0..20 {
            let long = Value::varchar(&"l".repeat(if id % 5 == 0 { 20_000 } else { 3 }));
            session
                .autocommit(None, |txn| {
                    rows.insert(txn, &[Value::Int(id), Value::varchar("short"), long.clone()])
                })
                .expect("a row");
        }
        // Some rows move.
        session
            .autocommit(None, |txn| {
                let mut cursor = rows.scan(txn, 0, &ScanOptions::default(), None)?;
                let mut old = Vec::new();
                let mut found = Vec::new();
                while cursor.next(txn, &mut old)? {
                    found.push((cursor.locator()?, old.clone()));
                }
                for (locator, old) in
                    found.into_iter().filter(|(_, row)| [3, 7, 8].contains(&support::int(row, 0)))
                {
                    let mut new = old.clone();
                    new[1] = Value::varchar(&"g".repeat(7_000));
                    rows.update(txn, RowChange { locator: &locator, old: &old, new: &new, changed: &[1] })?;
                }
                Ok(())
            })
            .expect("an update");
        Bench { instance, database }
    }

    /// Numbers of the errors, each once.
    fn errors(&self) -> Vec<i32> {
        let mut session = Session::new(&self.instance, &self.database, 52);
        let mut numbers: Vec<i32> = Vec::new();
        for table in self.database.tables() {
            let found = session
                .autocommit(None, |txn| self.database.check_table(txn, &table, CheckOptions::default()));
            let found = found.expect("no damage is an error").expect("nobody drops it");
            numbers.extend(
                found.allocation_errors.iter().chain(&found.consistency_errors).map(|error| error.number),
            );
        }
        numbers.extend(
            self.database.check_allocation().expect("readable maps").iter().map(|error| error.number),
        );
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    fn table(&self, name: &str) -> Arc<TableDef> {
        self.database.tables().into_iter().find(|table| &*table.name == name).expect("made above")
    }

    fn change(&self, page: PageId, change: impl FnOnce(&mut PageBytes)) {
        let mut guard = self.database.space().fix(page, LatchMode::Exclusive).expect("a sound page");
        change(guard.page_mut());
    }

    fn bytes(&self, page: PageId) -> PageBytes {
        *self.database.space().fix(page, LatchMode::Shared).expect("a sound page").page()
    }

    /// The pages of the file that satisfy `wanted`.
    fn pages(&self, wanted: impl Fn(&PageBytes) -> bool) -> Vec<PageId> {
        let count = self.database.space().file_pages(1);
        (2..count).map(|page| PageId::new(1, page)).filter(|page| wanted(&self.bytes(*page))).collect()
    }

    /// Leaves of the n-th index of `items`.
    fn leaves(&self, index: usize) -> Vec<PageId> {
        let unit = self.table("items").indexes[index].unit;
        self.pages(|page| {
            header::page_type(page) == PageType::BTree
                && header::unit(page) == unit
                && header::level(page) == 0
        })
    }

    fn set_owner(&self, page: PageId, owner: u32) {
        let at = HEADER_BYTES + 4 * page.page as usize;
        self.change(PageId::new(1, 1), |map| map[at..at + 4].copy_from_slice(&owner.to_le_bytes()));
    }

    fn lob_pages(&self) -> Vec<PageId> {
        self.pages(|page| header::page_type(page) == PageType::Lob)
    }

    fn heap_pages(&self) -> Vec<PageId> {
        let unit = self.table("rows").indexes[0].unit;
        self.pages(|page| header::page_type(page) == PageType::Heap && header::unit(page) == unit)
    }

    fn slot_with(&self, flag: u16) -> (PageId, u16) {
        let found = self.heap_pages().into_iter().find_map(|page| {
            let bytes = self.bytes(page);
            slots::occupied(&bytes).find(|(_, _, flags)| flags & flag != 0).map(|(slot, _, _)| (page, slot))
        });
        found.expect("a moved row")
    }
}

/// A change, and the error that must be among those found.
type Damage = (&'static str, fn(&Bench), i32);

const DAMAGES: &[Damage] = &[
    ("a row of an index is taken out", |b| b.change(b.leaves(1)[1], |page| slots::remove(page, 3)), 8951),
    ("a row of the table is taken out", |b| b.change(b.leaves(0)[2], |page| slots::remove(page, 3)), 8952),
    (
        "an indexed value of a row is changed",
        |b| {
            b.change(b.leaves(0)[1], |page| {
                // Length of the key and the key; status, number of columns; id; tag.
                let row = slots::row_mut(page, 5).unwrap();
                let key = usize::from(u16::from_le_bytes([row[0], row[1]]));
                row[2 + key + 3 + 4] ^= 1;
            });
        },
        8951,
    ),
    (
        "an entry of an index points elsewhere",
        |b| {
            b.change(b.leaves(1)[0], |page| {
                let row = slots::row_mut(page, 2).unwrap();
                let key = usize::from(u16::from_le_bytes([row[0], row[1]]));
                row[2 + key + 2 + 2] ^= 1;
            });
        },
        8951,
    ),
    (
        "two keys change places",
        |b| {
            b.change(b.leaves(0)[1], |page| {
                let one = slots::row(page, 1).unwrap().to_vec();
                let other = slots::row(page, 2).unwrap().to_vec();
                slots::row_mut(page, 1).unwrap()[..other.len().min(one.len())]
                    .copy_from_slice(&other[..other.len().min(one.len())]);
                slots::row_mut(page, 2).unwrap()[..one.len().min(other.len())]
                    .copy_from_slice(&one[..one.len().min(other.len())]);
            });
        },
        8934,
    ),
    (
        "a leaf forgets its neighbour",
        |b| b.change(b.leaves(0)[1], |page| header::set_next(page, PageId::NULL)),
        8978,
    ),
    ("a leaf claims another level", |b| b.change(b.leaves(0)[1], |page| page[2] = 3), 8978),
    ("a leaf claims another owner", |b| b.change(b.leaves(1)[1], |page| page[40] ^= 1), 8939),
    ("a page is blank", |b| b.change(b.leaves(0)[1], |page| page.fill(0)), 8939),
    ("rows lie over each other", |b| b.change(b.leaves(0)[1], |page| page[38] ^= 1), 8939),
    (
        "a chain of a heap is cut",
        |b| b.change(b.heap_pages()[0], |page| header::set_next(page, PageId::NULL)),
        8978,
    ),
    (
        "a chain of a heap runs in a circle",
        |b| {
            let pages = b.heap_pages();
            b.change(pages[1], |page| header::set_next(page, pages[0]));
        },
        8978,
    ),
    (
        "a stub points to nothing",
        |b| {
            let (page, slot) = b.slot_with(slots::FORWARD);
            b.change(page, |page| slots::row_mut(page, slot).unwrap()[6] ^= 7);
        },
        8993,
    ),
    (
        "a moved row is lost",
        |b| {
            let (page, slot) = b.slot_with(slots::FORWARDED);
            b.change(page, |page| slots::free(page, slot));
        },
        8993,
    ),
    (
        "a stub is lost",
        |b| {
            let (page, slot) = b.slot_with(slots::FORWARD);
            b.change(page, |page| slots::free(page, slot));
        },
        8993,
    ),
    ("the map forgets a leaf", |b| b.set_owner(b.leaves(0)[1], 0), 2534),
    (
        "the map gives a page to another index",
        |b| b.set_owner(b.leaves(0)[1], b.table("rows").indexes[0].unit),
        2534,
    ),
    (
        "the map gives a free page away",
        |b| {
            let free = b.pages(|page| header::page_type(page) == PageType::Empty)[3];
            b.set_owner(free, b.table("items").indexes[1].unit);
        },
        2533,
    ),
    (
        "the map gives a page to nobody known",
        |b| {
            let free = b.pages(|page| header::page_type(page) == PageType::Empty)[3];
            b.set_owner(free, 77_777);
        },
        8905,
    ),
    (
        "a page is marked as dropped by nobody who is there",
        |b| b.set_owner(b.leaves(1)[1], b.table("items").indexes[1].unit | 1 << 31),
        8905,
    ),
    (
        "a stub is a moved row at once",
        |b| {
            let (page, slot) = b.slot_with(slots::FORWARD);
            // No page operation would do this: the bit in the high byte of the slot's length (docs/formats/page.md).
            let high = pages::PAGE_BYTES - 4 * (usize::from(slot) + 1) + 3;
            b.change(page, |page| page[high] |= (slots::FORWARDED >> 8) as u8);
        },
        8993,
    ),
    (
        "a row of a heap has no room for a stub",
        |b| {
            let page = b.heap_pages()[1];
            let (slot, length) = {
                let bytes = b.bytes(page);
                let (slot, row, _) = slots::occupied(&bytes).next().unwrap();
                (slot, row.len())
            };
            b.change(page, |page| slots::splice(page, slot, 4, length - 4, &[]));
        },
        8939,
    ),
    (
        "a piece of a large value is another's",
        |b| b.change(b.lob_pages()[1], |page| page[HEADER_BYTES] ^= 1),
        8965,
    ),
    (
        "a large value ends early",
        |b| {
            let first =
                b.lob_pages().into_iter().find(|page| !header::next(&b.bytes(*page)).is_null()).unwrap();
            b.change(first, |page| header::set_next(page, PageId::NULL));
        },
        8965,
    ),
    (
        "nothing points to a large value",
        |b| {
            let page = b.heap_pages()[0];
            let bytes = b.bytes(page);
            // Row 0 has one.
            let slot = slots::occupied(&bytes).next().unwrap().0;
            b.change(page, |page| slots::free(page, slot));
        },
        8964,
    ),
];

#[test]
fn every_kind_of_damage_is_found() {
    for (seed, (what, damage, expected)) in DAMAGES.iter().enumerate() {
        World::new(seed as u64, Profile::nvme())
            .run(move |os| {
                let bench = Bench::new(os);
                assert_eq!(bench.errors(), Vec::<i32>::new(), "sound before: {what}");
                damage(&bench);
                let found = bench.errors();
                assert!(found.contains(expected), "{what}: {expected} is not among {found:?}");
            })
            .assert_ok();
    }
}

/// A bit that flipped on the disk while the server was down.
#[test]
fn a_flipped_bit_on_the_disk_is_found() {
    let world = World::new(77, Profile::nvme());
    let place = Arc::new(os::Latch::new(os::LatchRank::Leaf, PageId::NULL));
    let told = Arc::clone(&place);
    world
        .run(move |os| {
            let bench = Bench::new(os);
            *told.lock() = bench.leaves(0)[1];
            bench.instance.shutdown();
            // The later run writes other pages: the doublewrite area, which would repair the page at the start, no longer has it.
            let instance = open(os);
            let database = instance.database(NAME).expect("it opens");
            create_table(&instance, &database, &items("more"));
            database.checkpoint().expect("a healthy disk");
            instance.shutdown();
        })
        .assert_ok();
    let page = *place.lock();
    let files = world.files();
    let path = files
        .iter()
        .find(|path| path.to_string_lossy().ends_with(&format!("{NAME}.mdf")))
        .expect("the data file");
    world.corrupt(path, u64::from(page.page) * 8192 + 4_000, &[0x55; 3]);
    world
        .run(|os| {
            let instance = open(os);
            let database = instance.database(NAME).expect("it opens");
            let bench = Bench { instance, database };
            let found = bench.errors();
            assert!(found.contains(&8939), "{found:?}");
        })
        .assert_ok();
}
