//! Which statement must be refused because of a corrupt page: the oracle of scenario `lies` in addition to CHECKDB. It decides by the change that
//! was made, not with the server's own checks, which may be the ones that are wrong.
//!
//! It covers the leaves of a table, which a full read must meet, the pieces of its large values, which a full deletion
//! must deallocate, and system pages, which no statement deallocates: an error there fails a statement and not the database.

use std::collections::BTreeMap;
use std::sync::Arc;

use os::sim::{DiskImage, Profile, World};
use os::{Latch, LatchRank, Rng};
use pages::{BOOT_PAGE, PageBytes, PageType, header, structure};

use super::corrupt_pages::{Kind, Pages};
use super::{DATABASE, open};
use crate::client::{Client, number, shared};

/// What must be refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Unknown.
    Nobody,
    /// A full read of the table.
    Read,
    /// A deletion of all rows of the table.
    Deletion,
    /// The statement that deallocates what the map says, but not the whole database.
    NotTheDatabase,
}

/// The refused statements.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Refused {
    pub(super) read: bool,
    pub(super) deletion: bool,
}

impl Refused {
    pub(super) fn is_of(self, refusal: Refusal) -> bool {
        match refusal {
            Refusal::Read => self.read,
            Refusal::Deletion => self.deletion,
            Refusal::Nobody | Refusal::NotTheDatabase => true,
        }
    }
}

/// The heaps and indexes of a consistent database by unit number: the table, and whether the unit contains its rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Units(BTreeMap<u32, (String, bool)>);

impl Units {
    /// Asks a server started on this disk, whose database was closed.
    pub(super) fn read(image: &DiskImage) -> Units {
        let world = World::with_disk(0, Profile::nvme(), image.clone());
        let found = Arc::new(Latch::new(LatchRank::Leaf, Units::default()));
        let answer = Arc::clone(&found);
        let report = world.run(move |os| {
            let instance = open(os, 1 << 20).expect("what is closed can be opened");
            let mut client = Client::connect(&shared(&instance), DATABASE).expect("the authors' database");
            let rows = client.must(
                "SELECT p.hobt_id, p.index_id, t.name FROM sys.partitions AS p JOIN sys.tables AS t ON t.object_id = p.object_id",
            );
            let units = rows.rows.iter().map(|row| {
                let of = |at: usize| number(&row[at]).expect("a number");
                (of(0) as u32, (row[2].as_text().expect("a name"), of(1) <= 1))
            });
            *answer.lock() = Units(units.collect());
            client.close();
            instance.shutdown();
        });
        report.assert_ok();
        std::mem::take(&mut *found.lock())
    }

    /// Draws one unit.
    pub(super) fn draw(&self, rng: &mut Rng) -> Option<u32> {
        let units: Vec<u32> = self.0.keys().copied().collect();
        (!units.is_empty()).then(|| units[rng.below(units.len() as u64) as usize])
    }

    /// The table that the unit belongs to.
    pub(super) fn table_of(&self, unit: u32) -> Option<&String> {
        self.0.get(&unit).map(|(table, _)| table)
    }

    /// The table that the corruption of `page` affects, and the statement that must be refused because of it.
    pub(super) fn refusal(
        &self,
        kind: Kind,
        page: usize,
        (before, after): (&Pages, &Pages),
    ) -> (Option<String>, Refusal) {
        if kind == Kind::System {
            return (self.table_of(after.owner(page)).cloned(), Refusal::NotTheDatabase);
        }
        if kind == Kind::Owner && page <= BOOT_PAGE.page as usize {
            let refusal = if after.owner(page) == 0 { Refusal::Nobody } else { Refusal::NotTheDatabase };
            return (None, refusal);
        }
        let (was, is) = (&before.0[page], &after.0[page]);
        let unit = header::unit(was);
        let Some((table, true)) = self.0.get(&unit).filter(|_| before.owner(page) == unit) else {
            return (self.table_of(unit).cloned(), Refusal::Nobody);
        };
        let is_row_page = match header::page_type(was) {
            PageType::Heap => true,
            PageType::BTree => header::level(was) == 0,
            _ => false,
        };
        let must_be_met = match kind {
            Kind::Keys | Kind::Future | Kind::Circle => is_row_page,
            Kind::Chain => is_row_page && is_met(before, page, (was, is)),
            Kind::Header | Kind::Slot | Kind::Row | Kind::Stub => {
                is_row_page && structure::verify(is).is_err()
            }
            Kind::Owner | Kind::Child | Kind::Piece | Kind::Boot | Kind::System | Kind::Given => false,
        };
        let is_piece = header::page_type(was) == PageType::Lob;
        let refusal = match kind {
            _ if must_be_met => Refusal::Read,
            Kind::Owner if is_piece && after.owner(page) != unit => Refusal::Deletion,
            _ => Refusal::Nobody,
        };
        (Some(table.clone()), refusal)
    }
}

/// Does a scan along the leaves meet a neighbour with a wrong link? Not if a chain only ends too early, nor if the wrong link is that of a heap's
/// first page to the last: only CHECKDB reports that.
fn is_met(before: &Pages, page: usize, (was, is): (&PageBytes, &PageBytes)) -> bool {
    if header::next(was) != header::next(is) {
        return !header::next(is).is_null();
    }
    let id = header::id(was);
    let follows = |other: &PageBytes| header::next(other) == id && header::unit(other) == header::unit(was);
    let owned = before.0.iter().enumerate().filter(|(number, _)| before.owner(*number) == header::unit(was));
    assert_eq!(id.page as usize, page, "a page knows its number");
    owned.map(|(_, other)| other).any(follows)
}
