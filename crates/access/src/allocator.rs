//! `Allocator`: search hints for free pages, and the pages that unfinished transactions have freed. Rules: heading of alloc.rs.

use std::collections::BTreeMap;

use log::page_records::MapBits;
use log::{Lsn, TxnId};
use os::{Latch, LatchRank};
use pages::{PageBytes, PageId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::map_page::{MAP_INDEX, is_system_page, owner};
use crate::turns::Turns;

/// Search hints for free pages, and the pages that become free when their transactions commit.
pub(crate) struct Allocator {
    /// Per file; see [`Hint`].
    pub(crate) hints: Latch<Vec<Hint>>,
    /// Which file is filled next; see `fill.rs`.
    pub(crate) turns: Latch<Turns>,
    /// The pages that unfinished transactions have freed, by transaction.
    pub(crate) pending: Latch<FxHashMap<u64, Pending>>,
    /// The record of maps that may have been lost; see `lost_maps.rs`.
    pub(crate) looked: Latch<Looked>,
}

/// The record of maps that may have been lost.
#[derive(Default)]
pub(crate) struct Looked {
    /// Maps of zeros whose first pages are zeros, too.
    pub(crate) asked: FxHashSet<PageId>,
    /// Maps that were compared with their pages: before their first change of this life, or when redo came to them.
    pub(crate) compared: FxHashSet<PageId>,
    /// By map that redo has come to, the free pages that are newer, with their newest change, and that no record has spoken of yet.
    pub(crate) unexplained: BTreeMap<PageId, BTreeMap<PageId, Lsn>>,
    /// The units that were there when the catalog was read.
    pub(crate) units: Option<FxHashSet<u32>>,
}

/// A lower bound for the free pages of a file.
///
/// A search for a free page reads the hint before it reads the first map page, and raises it only when no page has
/// become free since: such a page may lie below the part that the search has passed, whatever its number is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hint {
    /// No page below this number is free.
    pub(crate) first_free: u32,
    /// How often a page has become free.
    pub(crate) freed_total: u64,
}

/// The pages that one transaction has freed.
#[derive(Default)]
pub(crate) struct Pending {
    pub(crate) pages: Vec<PageId>,
    /// The units freed as a whole, whose hints are dropped with them.
    pub(crate) units: Vec<u32>,
}

impl Allocator {
    pub(crate) fn new() -> Allocator {
        Allocator {
            hints: Latch::new(LatchRank::Leaf, Vec::new()),
            turns: Latch::new(LatchRank::Leaf, Turns::default()),
            pending: Latch::new(LatchRank::Leaf, FxHashMap::default()),
            looked: Latch::new(LatchRank::Leaf, Looked::default()),
        }
    }

    pub(crate) fn with_hint<T>(&self, file: u16, work: impl FnOnce(&mut Hint) -> T) -> T {
        assert!(file > 0, "files are numbered from 1");
        let mut hints = self.hints.lock();
        if hints.len() <= usize::from(file) {
            hints.resize(usize::from(file) + 1, Hint::default());
        }
        work(&mut hints[usize::from(file)])
    }

    /// The hint; a search reads it before the first map page.
    pub(crate) fn hint(&self, file: u16) -> Hint {
        self.with_hint(file, |hint| *hint)
    }

    /// Raises the hint: no page below `first_free` was free in the maps read after `seen`; the map page of `first_free` is still latched, or
    /// all maps have been read.
    pub(crate) fn raise_hint(&self, file: u16, seen: Hint, first_free: u32) {
        self.with_hint(file, |hint| {
            assert!(hint.freed_total >= seen.freed_total, "pages that became free are counted");
            if hint.freed_total == seen.freed_total {
                hint.first_free = hint.first_free.max(first_free);
            }
        });
    }

    /// Lowers the hint: the page has become free; its map page is still latched.
    pub(crate) fn lower_hint(&self, page: PageId) {
        assert!(!is_system_page(page), "page {page} is never free");
        self.with_hint(page.file, |hint| {
            hint.first_free = hint.first_free.min(page.page);
            assert!(hint.first_free <= page.page, "who looks for a page finds this one");
            hint.freed_total += 1;
        });
        self.turns.lock().note_freed(page.file);
    }

    pub(crate) fn note_pending(&self, txn: TxnId, pages: impl IntoIterator<Item = PageId>) {
        assert!(!txn.is_null(), "pages are freed by transactions");
        self.pending.lock().entry(txn.0).or_default().pages.extend(pages);
    }

    /// Every page that some transaction has marked and not freed or kept yet.
    pub(crate) fn pages_pending(&self) -> FxHashSet<PageId> {
        self.pending.lock().values().flat_map(|pending| pending.pages.iter().copied()).collect()
    }

    /// A rollback to a savepoint has kept these pages. From now on their marks may belong to another transaction, also before `txn` ends.
    pub(crate) fn forget_pending(&self, txn: TxnId, map: &PageBytes, map_id: PageId, bits: &MapBits) {
        assert!(map_id.page >= MAP_INDEX, "page {map_id} maps what is before it, too");
        let base = map_id.page - MAP_INDEX;
        let is_kept = |page: &PageId| {
            let index = page.page.wrapping_sub(base);
            let holds = |&(first, count): &(u16, u16)| {
                (u32::from(first)..u32::from(first) + u32::from(count)).contains(&index)
            };
            page.file == map_id.file && bits.runs.iter().any(holds)
        };
        // After a crash this list is empty: the sweep of the next start frees the marked pages.
        if let Some(pending) = self.pending.lock().get_mut(&txn.0) {
            let kept_units: FxHashSet<u32> =
                pending.pages.iter().filter(|page| is_kept(page)).map(|page| owner(map, *page)).collect();
            pending.pages.retain(|page| !is_kept(page));
            pending.units.retain(|unit| !kept_units.contains(unit));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One thread looks for a free page while another frees one: below the start of the search, or in the part already passed.
    #[test]
    fn a_page_that_becomes_free_during_a_search_is_not_forgotten() {
        let allocator = Allocator::new();
        let start = allocator.hint(1);
        allocator.raise_hint(1, start, 5_000);
        let seen = allocator.hint(1);
        allocator.lower_hint(PageId::new(1, 100));
        allocator.raise_hint(1, seen, 5_001);
        assert_eq!(allocator.hint(1).first_free, 100, "below where the search began");
        let seen = allocator.hint(1);
        allocator.lower_hint(PageId::new(1, 500));
        allocator.raise_hint(1, seen, 3_001);
        assert_eq!(allocator.hint(1).first_free, 100, "behind the search, though above its beginning");
        let seen = allocator.hint(1);
        allocator.raise_hint(1, seen, 3_001);
        assert_eq!(allocator.hint(1).first_free, 3_001, "nothing became free meanwhile");
    }

    /// The first page of a file to become free is noted, even while another thread searches the file for the first time.
    #[test]
    fn the_first_free_page_of_a_file_is_noted() {
        let allocator = Allocator::new();
        let seen = allocator.hint(2);
        allocator.lower_hint(PageId::new(2, 9));
        allocator.raise_hint(2, seen, 64);
        assert!(allocator.hint(2).first_free <= 9);
    }
}
