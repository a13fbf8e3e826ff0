//! Page counts of allocation units, from the allocation maps and the inner levels of trees, without reading rows.

use pages::{LatchMode, PageId, PageType, header};
use rustc_hash::FxHashMap;

use crate::btree::page::child_at;
use crate::error::AccessResult;
use crate::ids::UnitId;
use crate::map_page::{PENDING, entries, is_system_page, map_of, owner};
use crate::methods::AccessMethods;
use crate::verify::{UnitKind, UnitToVerify};

/// Pages of one allocation unit, by content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnitUsage {
    /// Pages with rows: those of a heap, the leaves of a tree.
    pub row_pages: u64,
    /// Pages of a tree above its leaves.
    pub interior_pages: u64,
    /// Pages with pieces of large values.
    pub lob_pages: u64,
}

impl UnitUsage {
    /// All of them.
    pub fn pages(&self) -> u64 {
        self.row_pages + self.interior_pages + self.lob_pages
    }
}

impl AccessMethods {
    /// The number of pages of each unit in the maps, large values included. A page freed by a transaction counts until the transaction has ended.
    pub fn pages_of_units(&self) -> AccessResult<FxHashMap<u32, u64>> {
        let mut found: FxHashMap<u32, u64> = FxHashMap::default();
        self.for_each_map(|map| {
            let owners = entries(map.id()).into_iter().map(|page| owner(map.page(), page) & !PENDING);
            owners.filter(|unit| *unit != 0).for_each(|unit| *found.entry(unit).or_default() += 1);
            Ok(())
        })?;
        Ok(found)
    }

    /// The unit that owns the page now; `None`: it is free, or no page of the file.
    pub fn unit_of_page(&self, page: PageId) -> AccessResult<Option<UnitId>> {
        if is_system_page(page) || self.space().file_pages(page.file) <= page.page {
            return Ok(None);
        }
        let map = self.fix(map_of(page), LatchMode::Shared)?;
        let unit = match header::version(map.page()) {
            0 => 0,
            _ => owner(map.page(), page) & !PENDING,
        };
        Ok((unit != 0).then_some(UnitId(unit)))
    }

    /// The content of the `pages` of a unit, as counted by [`AccessMethods::pages_of_units`]. Exact while no thread changes the unit; page
    /// headers are read only when the unit `may_have_lobs`.
    pub fn usage(&self, unit: &UnitToVerify, pages: u64, may_have_lobs: bool) -> AccessResult<UnitUsage> {
        let lob_pages = if may_have_lobs { self.lob_pages_of(unit.unit)?.min(pages) } else { 0 };
        let in_row = pages - lob_pages;
        let interior_pages = match unit.kind {
            UnitKind::Heap => 0,
            UnitKind::BTree => self.interior_pages_of(unit)?.min(in_row),
        };
        Ok(UnitUsage { row_pages: in_row - interior_pages, interior_pages, lob_pages })
    }

    fn lob_pages_of(&self, unit: UnitId) -> AccessResult<u64> {
        let mut pages = Vec::new();
        self.for_each_map(|map| {
            let is_own = |page: &PageId| owner(map.page(), *page) & !PENDING == unit.0;
            pages.extend(entries(map.id()).into_iter().filter(is_own));
            Ok(())
        })?;
        let mut count = 0;
        for page in pages {
            let guard = self.fix(page, LatchMode::Shared)?;
            let is_lob = header::page_type(guard.page()) == PageType::Lob;
            count += u64::from(is_lob && header::unit(guard.page()) == unit.0);
        }
        Ok(count)
    }

    /// Walks down level by level; a page that was freed meanwhile, or has another owner now, is not counted.
    pub(crate) fn interior_pages_of(&self, unit: &UnitToVerify) -> AccessResult<u64> {
        let (mut level, mut count, mut height) = (vec![unit.page], 0, u8::MAX);
        while !level.is_empty() {
            let (mut below, mut highest) = (Vec::new(), 0);
            for page in level {
                let guard = self.fix(page, LatchMode::Shared)?;
                let bytes = guard.page();
                let is_own =
                    header::page_type(bytes) == PageType::BTree && header::unit(bytes) == unit.unit.0;
                // Levels must fall, or the walk would not end.
                if !is_own || header::level(bytes) == 0 || header::level(bytes) >= height {
                    continue;
                }
                count += 1;
                highest = highest.max(header::level(bytes));
                // The leaves themselves need not be read.
                if header::level(bytes) > 1 {
                    let slots = 0..header::slot_count(bytes);
                    below.extend(slots.filter_map(|slot| child_at(bytes, slot).ok()));
                }
            }
            below.sort_unstable();
            below.dedup();
            (level, height) = (below, highest);
        }
        Ok(count)
    }
}
