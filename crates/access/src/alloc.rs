//! Allocation: maps that name the owner of every page (docs/formats/data-file.md).
//!
//! Each interval of 2,024 pages has one map page (its second): a u32 per page, 0 for free, else the allocation unit, with the
//! high bit while a transaction that frees the page has not ended. One structure does what GAM, SGAM, IAM and PFS do
//! together: a unit's pages are found by reading the maps, 4 KB of map for 8 MB of data.
//!
//! Latching: a map page is latched after all data pages of the operation, and before the fresh page that nobody else knows.
//!
//! Invariants (in brackets where each is asserted when it is made; `verify.rs`, and so DBCC CHECKALLOC, looks for the first three):
//!
//! 1. A page has one owner at a time: its entry in the map of its interval; map pages, page 0 and the boot page have none. [`set_owner`,
//!    `lower_hint`; `redo.rs: redo_owner` refuses a record that says otherwise, `check_entries` a map]
//! 2. A page that is reachable from a unit (chain, tree, large value) has that unit's number in the map and in its own header.
//!    [`methods.rs: fix_of` refuses a page that says otherwise]
//! 3. A page whose entry names a unit is reachable from it, or its transaction has not ended. [only checked]
//! 4. An entry becomes a unit's only from 0, under the map page's exclusive latch, in the same record as the page's formatting.
//!    [`find_free_in`, `set_owner`, `create_unit`, `lob.rs: store_lob`]
//! 5. PENDING is set only on an owned page, once, by a transaction, and goes with it: to 0 when it commits, to the owner alone when it rolls
//!    back; after a crash `sweep_pending_frees` does what the first would have done. [`keep_pending`; `check_entries`, `free_marked` and
//!    `free_at_commit` refuse a map that says otherwise]
//! 6. A page becomes free outside transactions only, so that no rollback needs it back. [`change_map`]
//! 7. A hint says where to begin looking, never that there is nothing: losing it costs time only. It is raised only past pages that nobody
//!    has freed since it was read. [`raise_hint`]

mod fill;

use fill::Turns;
pub use fill::{SYSTEM_UNITS_END, Tail};

use log::page_records::{MapBits, MapChange, UnitCreate};
use log::{LogContext, LogOp, Lsn, TxnId};
use os::{Latch, LatchRank};
use pages::{BOOT_PAGE, HEADER_BYTES, LatchMode, PageBytes, PageGuard, PageId, PageType, header};
use rustc_hash::{FxHashMap, FxHashSet};
use txn::{Transaction, UndoBytes};

use crate::error::{AccessError, AccessResult};
use crate::methods::{AccessMethods, MAP_BITS_OF_PAGE_BYTES, UnitId};

/// Pages of an interval: as many as its map page has entries.
pub(crate) const INTERVAL_PAGES: u32 = 2024;
/// Where in its interval the map page stands.
const MAP_INDEX: u32 = 1;
/// The page will be free when the transaction that freed it has committed.
pub(crate) const PENDING: u32 = 0x8000_0000;

const _: () =
    assert!(INTERVAL_PAGES as usize * 4 == pages::BODY_BYTES, "a map has an entry for each of its pages");
const _: () =
    assert!(MAP_INDEX < INTERVAL_PAGES && BOOT_PAGE.page != MAP_INDEX, "system pages do not share a place");

/// Where to look for free pages, and what committed transactions will free.
pub(crate) struct Allocator {
    /// Per file; see [`Hint`].
    hints: Latch<Vec<Hint>>,
    /// Which file is filled next; see `fill.rs`.
    turns: Latch<Turns>,
    /// What transactions that have not ended have freed.
    pending: Latch<FxHashMap<u64, Pending>>,
}

/// Where the free pages of a file begin, as far as is known.
///
/// Who looks for a free page remembers the hint as it was before he looked at the first map page, and raises it only when no page has
/// become free since: such a page may lie below what he has passed, whatever its number is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Hint {
    /// No page below this number is free.
    first_free: u32,
    /// How often a page has become free.
    freed_total: u64,
}

/// What one transaction has freed.
#[derive(Default)]
struct Pending {
    pages: Vec<PageId>,
    /// Whole units among it, whose hints go with them.
    units: Vec<u32>,
}

/// A page that nobody owns, to be formatted, and its map page. Both are latched exclusively.
pub(crate) struct FreePage {
    pub(crate) map: PageGuard,
    pub(crate) guard: PageGuard,
}

/// The map page that says who owns `page`.
pub(crate) fn map_of(page: PageId) -> PageId {
    PageId::new(page.file, page.page / INTERVAL_PAGES * INTERVAL_PAGES + MAP_INDEX)
}

fn index_of(page: PageId) -> usize {
    (page.page % INTERVAL_PAGES) as usize
}

/// Pages that belong to the system and are never allocated.
pub(crate) fn is_system_page(page: PageId) -> bool {
    page.page % INTERVAL_PAGES == MAP_INDEX || page.page == 0 || page == BOOT_PAGE
}

/// An entry of a map page.
pub(crate) fn owner(map: &PageBytes, page: PageId) -> u32 {
    let at = HEADER_BYTES + 4 * index_of(page);
    u32::from_le_bytes([map[at], map[at + 1], map[at + 2], map[at + 3]])
}

/// Sets an entry; a map page that was never formatted becomes one.
pub(crate) fn set_owner(map: &mut PageBytes, map_id: PageId, page: PageId, owner: u32) {
    assert!(map_of(page) == map_id, "page {page} is not of map {map_id}");
    assert!(owner == 0 || !is_system_page(page), "page {page} belongs to the system");
    if header::version(map) == 0 {
        header::format(map, map_id, PageType::AllocationMap, 0, 0);
    }
    let before = self::owner(map, page);
    let is_same_unit = before & !PENDING == owner & !PENDING;
    assert!(before == 0 || owner == 0 || is_same_unit, "page {page} of unit {before:#x} goes to {owner:#x}");
    let at = HEADER_BYTES + 4 * index_of(page);
    map[at..at + 4].copy_from_slice(&owner.to_le_bytes());
}

impl Allocator {
    pub(crate) fn new() -> Allocator {
        Allocator {
            hints: Latch::new(LatchRank::Leaf, Vec::new()),
            turns: Latch::new(LatchRank::Leaf, Turns::default()),
            pending: Latch::new(LatchRank::Leaf, FxHashMap::default()),
        }
    }

    fn with_hint<T>(&self, file: u16, work: impl FnOnce(&mut Hint) -> T) -> T {
        assert!(file > 0, "files are numbered from 1");
        let mut hints = self.hints.lock();
        if hints.len() <= usize::from(file) {
            hints.resize(usize::from(file) + 1, Hint::default());
        }
        work(&mut hints[usize::from(file)])
    }

    /// The hint, to be remembered before the first map page is looked at.
    fn hint(&self, file: u16) -> Hint {
        self.with_hint(file, |hint| *hint)
    }

    /// Nothing below `first_free` was free when the maps were looked at after `seen`; the map page of `first_free` is still latched, or
    /// all have been looked at.
    fn raise_hint(&self, file: u16, seen: Hint, first_free: u32) {
        self.with_hint(file, |hint| {
            assert!(hint.freed_total >= seen.freed_total, "pages that became free are counted");
            if hint.freed_total == seen.freed_total {
                hint.first_free = hint.first_free.max(first_free);
            }
        });
    }

    /// The page has become free; its map page, which says so, is still latched.
    pub(crate) fn lower_hint(&self, page: PageId) {
        assert!(!is_system_page(page), "page {page} is never free");
        self.with_hint(page.file, |hint| {
            hint.first_free = hint.first_free.min(page.page);
            hint.freed_total += 1;
        });
        self.turns.lock().note_freed(page.file);
    }

    fn note_pending(&self, txn: TxnId, pages: impl IntoIterator<Item = PageId>) {
        self.pending.lock().entry(txn.0).or_default().pages.extend(pages);
    }

    /// Every page that some transaction has marked and not freed or kept yet.
    pub(crate) fn pages_pending(&self) -> FxHashSet<PageId> {
        self.pending.lock().values().flat_map(|pending| pending.pages.iter().copied()).collect()
    }

    /// A rollback to a savepoint has kept these pages. From now on their marks may be somebody else's, also before `txn` ends.
    fn forget_pending(&self, txn: TxnId, map: &PageBytes, map_id: PageId, bits: &MapBits) {
        let base = map_id.page - MAP_INDEX;
        let is_kept = |page: &PageId| {
            let index = page.page.wrapping_sub(base);
            let holds = |&(first, count): &(u16, u16)| {
                (u32::from(first)..u32::from(first) + u32::from(count)).contains(&index)
            };
            page.file == map_id.file && bits.runs.iter().any(holds)
        };
        // After a crash nothing stands here: the sweep of the next start frees what is marked then.
        if let Some(pending) = self.pending.lock().get_mut(&txn.0) {
            let kept_units: FxHashSet<u32> =
                pending.pages.iter().filter(|page| is_kept(page)).map(|page| owner(map, *page)).collect();
            pending.pages.retain(|page| !is_kept(page));
            pending.units.retain(|unit| !kept_units.contains(unit));
        }
    }
}

impl AccessMethods {
    pub(crate) fn create_unit(
        &self,
        txn: &Transaction,
        unit: UnitId,
        page_type: PageType,
        page_flags: u8,
    ) -> AccessResult<PageId> {
        assert!(unit.0 > 0 && unit.0 < PENDING, "unit numbers are 1..2^31");
        self.forget_unit(unit.0);
        let FreePage { mut map, mut guard } = self.find_free_page(unit.0)?;
        let page = guard.id();
        let create = UnitCreate { unit: unit.0, page: page.pack(), page_type: page_type as u8, page_flags };
        // Freed with it: its first page; the others have reserved for themselves.
        let undo = UndoBytes { record_count: 2, payload_bytes: MAP_BITS_OF_PAGE_BYTES as u64 };
        let lsn =
            self.append(txn, LogOp::CreateAllocchain, LogContext::Null, undo, |out| create.encode(out))?;
        apply_create(guard.page_mut(), &create);
        guard.set_lsn(lsn);
        assert_eq!(owner(map.page(), page), 0, "a page becomes a unit's from nobody's");
        let map_id = map.id();
        set_owner(map.page_mut(), map_id, page, unit.0);
        map.set_lsn(lsn);
        Ok(page)
    }

    /// Gives the pages of a heap or tree back when `txn` commits; until then, and after a rollback, it stays as it is.
    /// The caller holds Sch-M on its table.
    pub fn drop_unit(&self, txn: &Transaction, unit: UnitId) -> AccessResult<()> {
        assert!(unit.0 > 0 && unit.0 < PENDING, "unit numbers are 1..2^31");
        self.allocator.pending.lock().entry(txn.id().0).or_default().units.push(unit.0);
        self.for_each_map(|map| {
            let pages = pages_of_unit(map.page(), map.id(), unit.0);
            self.change_map(map, Some(txn), MapChange::Pending, &pages)
        })
    }

    /// Marks some pages of a unit, by what they say themselves, as free once `txn` commits.
    pub(crate) fn free_at_commit(&self, txn: &Transaction, unit: u32, pages: &[PageId]) -> AccessResult<()> {
        let mut sorted = pages.to_vec();
        sorted.sort_unstable();
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(AccessError::corrupt(pair[0], "stands twice in a large value"));
        }
        for same_map in sorted.chunk_by(|one, other| map_of(*one) == map_of(*other)) {
            let map = self.fix(map_of(same_map[0]), LatchMode::Exclusive)?;
            if let Some(page) = same_map.iter().find(|page| owner(map.page(), **page) != unit) {
                let told = owner(map.page(), *page);
                return Err(AccessError::corrupt(
                    *page,
                    format!("is of unit {unit}, the map says {told:#x}"),
                ));
            }
            self.change_map(map, Some(txn), MapChange::Pending, same_map)?;
        }
        Ok(())
    }

    /// Frees every page of a unit at once and for good: the undo of its creation.
    pub(crate) fn free_unit_now(&self, unit: u32) -> AccessResult<()> {
        self.forget_unit(unit);
        self.for_each_map(|map| {
            let pages = pages_of_unit(map.page(), map.id(), unit);
            self.change_map(map, None, MapChange::Free, &pages)
        })
    }

    /// Has a transaction freed something that becomes free when it is over?
    pub(crate) fn has_pending(&self, txn: TxnId) -> bool {
        assert!(!txn.is_null(), "pages are freed by transactions");
        self.allocator.pending.lock().contains_key(&txn.0)
    }

    /// The transaction is over: what it freed is free now, or stays with its owner.
    pub(crate) fn finish_pending(&self, txn: TxnId, committed: bool) -> AccessResult<()> {
        let listed = {
            let pending = self.allocator.pending.lock();
            pending.get(&txn.0).map(|pending| (pending.pages.clone(), pending.units.clone()))
        };
        let Some((pages, units)) = listed else { return Ok(()) };
        // They stay in the list until they are free: a mark of nobody in the list is a page lost (`pages_of_nobody`).
        let freed = if committed { self.free_marked(pages) } else { Ok(()) };
        self.allocator.pending.lock().remove(&txn.0);
        if committed && freed.is_ok() {
            units.into_iter().for_each(|unit| self.forget_unit(unit));
        }
        freed
    }

    fn free_marked(&self, mut pages: Vec<PageId>) -> AccessResult<()> {
        pages.sort_unstable();
        for same_map in pages.chunk_by(|one, other| map_of(*one) == map_of(*other)) {
            let map = self.fix(map_of(same_map[0]), LatchMode::Exclusive)?;
            if let Some(page) = same_map.iter().find(|page| owner(map.page(), **page) & PENDING == 0)
                && os::never!(true, "page {page} has lost the mark of whoever has freed it")
            {
                return Err(AccessError::corrupt(*page, "has lost the mark of whoever has freed it"));
            }
            self.change_map(map, None, MapChange::Free, same_map)?;
        }
        Ok(())
    }

    /// Frees what transactions of an earlier life had freed and committed without coming to an end here. After undo, before
    /// the database is opened; not needed after a clean shutdown. Returns the number of pages.
    pub fn sweep_pending_frees(&self) -> AccessResult<u64> {
        assert!(self.allocator.pending.lock().is_empty(), "nobody frees pages before the database is open");
        let mut total = 0;
        self.for_each_map(|map| {
            let mut pages = entries(map.id());
            pages.retain(|page| owner(map.page(), *page) & PENDING != 0);
            total += pages.len() as u64;
            self.change_map(map, None, MapChange::Free, &pages)
        })?;
        Ok(total)
    }

    /// Pages of a file that belong to some unit, large objects included; system pages are not counted.
    pub fn used_pages(&self, file: u16) -> AccessResult<u64> {
        let mut total = 0;
        self.for_each_map_of(file, |map| {
            total += entries(map.id()).iter().filter(|page| owner(map.page(), **page) != 0).count() as u64;
            Ok(())
        })?;
        Ok(total)
    }

    /// Calls `body` with every map page in use, latched exclusively, one after the other.
    pub(crate) fn for_each_map(
        &self,
        mut body: impl FnMut(PageGuard) -> AccessResult<()>,
    ) -> AccessResult<()> {
        self.space
            .file_numbers::<Vec<u16>>()
            .into_iter()
            .try_for_each(|file| self.for_each_map_of(file, &mut body))
    }

    fn for_each_map_of(
        &self,
        file: u16,
        mut body: impl FnMut(PageGuard) -> AccessResult<()>,
    ) -> AccessResult<()> {
        let pages = self.space.file_pages(file);
        for interval in 0..pages.div_ceil(INTERVAL_PAGES) {
            let map_id = PageId::new(file, interval * INTERVAL_PAGES + MAP_INDEX);
            if map_id.page < pages
                && let Some(guard) = self.map_if_there(map_id)?
            {
                body(guard)?;
            }
        }
        Ok(())
    }

    /// A map page, latched exclusively; none when it has just been given up with the end of its file, or with the file.
    fn map_if_there(&self, map_id: PageId) -> AccessResult<Option<PageGuard>> {
        match self.fix(map_id, LatchMode::Exclusive) {
            Ok(guard) => check_map(map_id, guard.page()).map(|()| Some(guard)),
            Err(_) if !self.space.has_page(map_id) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Logs and makes one change to some entries of a map page.
    fn change_map(
        &self,
        mut map: PageGuard,
        txn: Option<&Transaction>,
        change: MapChange,
        pages: &[PageId],
    ) -> AccessResult<()> {
        if pages.is_empty() {
            return Ok(());
        }
        assert!(change != MapChange::Free || txn.is_none(), "pages become free outside transactions");
        assert!(pages.is_sorted_by(|one, next| one < next), "each page once");
        assert!(pages.iter().all(|page| map_of(*page) == map.id()), "one map is changed at a time");
        check_entries(map.page(), change, pages)?;
        let bits = MapBits { map: map.id().pack(), change, runs: runs_of(pages) };
        let lsn = match txn {
            Some(txn) => {
                // Whichever way it ends: the same runs, kept or free.
                let undo = UndoBytes::one(bits.encoded_bytes_max());
                self.append(txn, LogOp::SetBits, LogContext::Iam, undo, |out| bits.encode(out))?
            }
            None => self.append_structural(true, LogOp::SetBits, LogContext::Gam, |out| bits.encode(out))?,
        };
        apply_bits(&mut map, &bits, lsn)?;
        match txn {
            Some(txn) => self.allocator.note_pending(txn.id(), pages.iter().copied()),
            None => pages.iter().for_each(|page| self.allocator.lower_hint(*page)),
        }
        Ok(())
    }

    /// The inverse of a pending free, for rollback.
    pub(crate) fn keep_pending(&self, txn: &Transaction, bits: &MapBits, undo_next: Lsn) -> AccessResult<()> {
        let mut map = self.fix(PageId::unpack(bits.map), LatchMode::Exclusive)?;
        assert_eq!(bits.change, MapChange::Pending, "only what was to become free is kept");
        let keep = MapBits { change: MapChange::Keep, ..bits.clone() };
        let lsn = self
            .append_compensation(txn, LogOp::SetBits, LogContext::Iam, undo_next, |out| keep.encode(out))?;
        apply_bits(&mut map, &keep, lsn)?;
        self.allocator.forget_pending(txn.id(), map.page(), map.id(), bits);
        Ok(())
    }

    /// Frees a page of `unit` for good, as the undo of its allocation.
    pub(crate) fn free_page_now(&self, page: PageId, unit: u32) -> AccessResult<()> {
        let map = self.fix(map_of(page), LatchMode::Exclusive)?;
        if owner(map.page(), page) & !PENDING != unit {
            return Ok(());
        }
        self.change_map(map, None, MapChange::Free, &[page])
    }
}

/// Formats the first page of a unit.
pub(crate) fn apply_create(page: &mut PageBytes, create: &UnitCreate) {
    let id = PageId::unpack(create.page);
    assert!(!is_system_page(id), "page {id} belongs to the system");
    header::format(page, id, PageType::from_code(create.page_type), 0, create.unit);
    header::set_flags(page, create.page_flags);
}

/// Makes the change of a [`MapBits`] record to its latched map page.
pub(crate) fn apply_bits(map: &mut PageGuard, bits: &MapBits, lsn: Lsn) -> AccessResult<()> {
    let map_id = map.id();
    if map_of(map_id) != map_id {
        return Err(AccessError::corrupt(map_id, "a log record takes this page for an allocation map"));
    }
    let base = map_id.page - MAP_INDEX;
    for &(first, count) in &bits.runs {
        for index in u32::from(first)..u32::from(first) + u32::from(count) {
            if index >= INTERVAL_PAGES {
                return Err(AccessError::corrupt(map_id, "a log record names an entry beyond the map"));
            }
            let page = PageId::new(map_id.file, base + index);
            if is_system_page(page) {
                return Err(AccessError::corrupt(map_id, "a log record gives a page of the system away"));
            }
            let before = owner(map.page(), page);
            let after = match bits.change {
                MapChange::Free => 0,
                MapChange::Pending => before | PENDING,
                MapChange::Keep => before & !PENDING,
            };
            set_owner(map.page_mut(), map_id, page, after);
        }
    }
    map.set_lsn(lsn);
    Ok(())
}

/// Every page that a map page speaks of.
pub(crate) fn entries(map_id: PageId) -> Vec<PageId> {
    assert_eq!(map_of(map_id), map_id, "only a map page has entries");
    let base = map_id.page - MAP_INDEX;
    (base..base + INTERVAL_PAGES).map(|number| PageId::new(map_id.file, number)).collect()
}

fn pages_of_unit(map: &PageBytes, map_id: PageId, unit: u32) -> Vec<PageId> {
    let mut pages = entries(map_id);
    pages.retain(|page| owner(map, *page) == unit);
    pages
}

/// Only an owned page is given up, and once. The map comes from disk: it may say anything, and nothing is logged then.
fn check_entries(map: &PageBytes, change: MapChange, pages: &[PageId]) -> AccessResult<()> {
    for page in pages {
        let told = owner(map, *page);
        let what = match (told & !PENDING, told & PENDING) {
            _ if is_system_page(*page) => "belongs to the system, the map gives it to",
            (0, _) => "is given up, the map says that it is nobody's:",
            (_, PENDING) if change == MapChange::Pending => "is given up twice, the map says",
            _ => continue,
        };
        return Err(AccessError::corrupt(*page, format!("{what} {told:#x}")));
    }
    Ok(())
}

fn runs_of(pages: &[PageId]) -> Vec<(u16, u16)> {
    let mut runs: Vec<(u16, u16)> = Vec::new();
    for page in pages {
        let index = index_of(*page) as u16;
        match runs.last_mut() {
            Some((first, count)) if *first + *count == index => *count += 1,
            _ => runs.push((index, 1)),
        }
    }
    let total: usize = runs.iter().map(|run| usize::from(run.1)).sum();
    assert_eq!(total, pages.len(), "each page is in one run");
    runs
}

fn check_map(map_id: PageId, map: &PageBytes) -> AccessResult<()> {
    match header::page_type(map) {
        PageType::AllocationMap => Ok(()),
        PageType::Empty if header::version(map) == 0 => Ok(()),
        other => Err(AccessError::corrupt(map_id, format!("is a {}, not an allocation map", other.name()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_find_their_maps() {
        assert_eq!(map_of(PageId::new(1, 0)), PageId::new(1, 1));
        assert_eq!(map_of(PageId::new(1, 2023)), PageId::new(1, 1));
        assert_eq!(map_of(PageId::new(3, 2024)), PageId::new(3, 2025));
        assert!(is_system_page(PageId::new(2, 2025)) && is_system_page(BOOT_PAGE));
        assert!(!is_system_page(PageId::new(2, 9)) && !is_system_page(PageId::new(1, 2024)));
    }

    /// One looks for a free page, another frees one meanwhile: below where the first began, or where he has already passed.
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

    /// The first page of a file to become free is noted, whoever searches the file for the first time at the moment.
    #[test]
    fn the_first_free_page_of_a_file_is_noted() {
        let allocator = Allocator::new();
        let seen = allocator.hint(2);
        allocator.lower_hint(PageId::new(2, 9));
        allocator.raise_hint(2, seen, 64);
        assert!(allocator.hint(2).first_free <= 9);
    }

    #[test]
    fn runs_join_neighbours() {
        let pages: Vec<PageId> = [3, 4, 5, 9, 2023].iter().map(|n| PageId::new(1, *n)).collect();
        assert_eq!(runs_of(&pages), vec![(3, 3), (9, 1), (2023, 1)]);
    }
}
