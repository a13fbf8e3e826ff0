//! Which statement must be refused because of a page that lies: the oracle of scenario `lies` beside CHECKDB. It judges by what was changed, not
//! with the product's own checks, which may be what is wrong.
//!
//! Told of are the leaves of a table, which whoever reads all of it must meet, the pieces of its large values, which whoever deletes all of it
//! must give up, and the system's pages, which nobody gives up: that refuses a statement and not the database.

use std::collections::BTreeMap;
use std::sync::Arc;

use os::sim::{DiskImage, Profile, World};
use os::{Latch, LatchRank, Rng};
use pages::{BOOT_PAGE, PageBytes, PageType, header, structure};

use super::lies::{Kind, Pages};
use super::{DATABASE, open};
use crate::client::{Client, number, shared};

/// Who must be refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Nobody knows.
    Nobody,
    /// Whoever reads all of the table.
    Read,
    /// Whoever deletes all of the table.
    Deletion,
    /// Whoever gives up what the map says, and not everybody.
    NotTheDatabase,
}

/// What was refused.
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

/// The heaps and indexes of a sound database by the numbers of their units: the table, and whether its rows themselves are there.
#[derive(Clone, Debug, Default)]
pub(super) struct Units(BTreeMap<u32, (String, bool)>);

impl Units {
    /// Asks a server that was started on this disk. Its database is closed.
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

    /// One of them.
    pub(super) fn draw(&self, rng: &mut Rng) -> Option<u32> {
        let units: Vec<u32> = self.0.keys().copied().collect();
        (!units.is_empty()).then(|| units[rng.below(units.len() as u64) as usize])
    }

    /// The table that the unit belongs to.
    pub(super) fn table_of(&self, unit: u32) -> Option<&String> {
        self.0.get(&unit).map(|(table, _)| table)
    }

    /// The table that a lie about `page` is about, and who must be refused because of it.
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

/// Does whoever goes from leaf to leaf meet a neighbour that lies? Not where a chain only ends too early, nor where what is wrong is the last page
/// that the first one of a heap names: CHECKDB alone tells that.
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
