//! Allocation: maps that name the owner of every page (docs/formats/data-file.md).
//!
//! Each interval of 2,024 pages has one map page (its second): a u32 per page, 0 for free, else the allocation unit, with the
//! high bit while a transaction that frees the page has not ended. One structure does what GAM, SGAM, IAM and PFS do
//! together: a unit's pages are found by reading the maps, 4 KB of map for 8 MB of data.
//!
//! Latching: a map page is latched after all data pages of the operation, and before the fresh page, which no other thread knows.
//!
//! Invariants (in brackets where each is asserted when it is made; `verify.rs`, and so DBCC CHECKALLOC, looks for the first three):
//!
//! 1. A page has one owner at a time: its entry in the map of its interval; map pages, page 0 and the boot page have none. [`map_page.rs:
//!    set_owner`, `allocator.rs: lower_hint`; `redo.rs: redo_owner` refuses a record that says otherwise, `check_entries` a map]
//! 2. A page that is reachable from a unit (chain, tree, large value) has that unit's number in the map and in its own header.
//!    [`methods.rs: fix_of` refuses a page that says otherwise]
//! 3. A page whose entry names a unit is reachable from it, or its transaction has not ended. [only checked]
//! 4. An entry becomes a unit's only from 0, under the map page's exclusive latch, in the same record as the page's formatting.
//!    [`fill.rs: find_free_in`, `set_owner`, `create_unit`, `lob.rs: store_lob`]
//! 5. PENDING is set only on an owned page, once, by a transaction, and is removed with it: the entry becomes 0 at commit, the owner alone at
//!    rollback; after a crash `sweep_pending_frees` does the work of the commit. [`keep_pending`; `check_entries`, `free_marked` and
//!    `free_at_commit` refuse a map that says otherwise]
//! 6. A page becomes free outside transactions only, so that no rollback needs it back. [`change_map`]
//! 7. A hint says where to begin looking, never that there is nothing: losing it costs time only. It is raised only past pages that nobody
//!    has freed since it was read. [`allocator.rs: raise_hint`]
//! 8. A free page has no change newer than its map's newest: the record that freed it changed the map, after all that befell the page. So zeros
//!    are the map of an interval in which nothing was ever written. [`lost_maps.rs`: in redo, and before a map is changed]

mod fill;

pub use fill::{SYSTEM_UNITS_END, Tail};

use log::page_records::{MapBits, MapChange, UnitCreate};
use log::{LogContext, LogOp, Lsn, TxnId};
use pages::{LatchMode, PageBytes, PageGuard, PageId, PageType};
use txn::{Transaction, UndoBytes};

use crate::error::{AccessError, AccessResult};
use crate::ids::UnitId;
use crate::map_page::{
    FreePage, INTERVAL_PAGES, MAP_INDEX, PENDING, apply_bits, apply_create, check_bits, check_map, entries,
    is_system_page, map_of, owner, pages_of_runs, pages_of_unit, runs_of, set_owner,
};
use crate::methods::AccessMethods;
use crate::row_change::MAP_BITS_OF_PAGE_BYTES;

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
        // Its undo frees its first page; the other pages have their own reservations.
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

    /// Frees the pages of a heap or tree when `txn` commits; until then, and after a rollback, it is unchanged.
    /// The caller holds Sch-M on its table.
    pub fn drop_unit(&self, txn: &Transaction, unit: UnitId) -> AccessResult<()> {
        assert!(unit.0 > 0 && unit.0 < PENDING, "unit numbers are 1..2^31");
        self.allocator.pending.lock().entry(txn.id().0).or_default().units.push(unit.0);
        self.for_each_map(|map| {
            let pages = pages_of_unit(map.page(), map.id(), unit.0);
            self.change_map(map, Some(txn), MapChange::Pending, &pages)
        })
    }

    /// Marks some pages of a unit (the unit in their headers) as free once `txn` commits.
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

    /// Has a transaction freed pages that become free at its end?
    pub(crate) fn has_pending(&self, txn: TxnId) -> bool {
        assert!(!txn.is_null(), "pages are freed by transactions");
        self.allocator.pending.lock().contains_key(&txn.0)
    }

    /// The transaction has ended: its freed pages become free now, or stay with their owner.
    pub(crate) fn finish_pending(&self, txn: TxnId, committed: bool) -> AccessResult<()> {
        let listed = {
            let pending = self.allocator.pending.lock();
            pending.get(&txn.0).map(|pending| (pending.pages.clone(), pending.units.clone()))
        };
        let Some((pages, units)) = listed else { return Ok(()) };
        // They stay in the list until they are free: a marked page that no list contains would be lost (`pages_of_nobody`).
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

    /// Frees what transactions of an earlier life had freed and committed without coming to an end here. After undo and [`Self::note_units`], before
    /// the database is opened; not needed after a clean shutdown. Returns the number of pages.
    pub fn sweep_pending_frees(&self) -> AccessResult<u64> {
        assert!(self.allocator.pending.lock().is_empty(), "nobody frees pages before the database is open");
        let mut total = 0;
        self.for_each_map(|map| {
            let mut pages = entries(map.id());
            let is_dropped = |page: &PageId| {
                owner(map.page(), *page) & PENDING != 0 && !self.is_kept_by_catalog(&map, *page)
            };
            pages.retain(is_dropped);
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

    pub(crate) fn for_each_map_of(
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

    /// A map page, latched exclusively; none when it was just removed with the end of its file, or with the file.
    fn map_if_there(&self, map_id: PageId) -> AccessResult<Option<PageGuard>> {
        match self.fix(map_id, LatchMode::Exclusive) {
            Ok(guard) => {
                check_map(map_id, guard.page())?;
                self.refuse_lost_map(&guard)?;
                Ok(Some(guard))
            }
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
        self.compare_with_pages(&map)?;
        let bits = MapBits { map: map.id().pack(), change, runs: runs_of(pages) };
        let lsn = match txn {
            Some(txn) => {
                // Either outcome writes the same runs: kept or freed.
                let undo = UndoBytes::one(bits.encoded_bytes_max());
                self.append(txn, LogOp::SetBits, LogContext::Iam, undo, |out| bits.encode(out))?
            }
            None => self.append_structural(true, LogOp::SetBits, LogContext::Gam, |out| bits.encode(out))?,
        };
        apply_bits(&mut map, &bits, lsn)?;
        let is_changed = |page: &PageId| match change {
            MapChange::Free => owner(map.page(), *page) == 0,
            MapChange::Pending => owner(map.page(), *page) & PENDING != 0,
            MapChange::Keep => owner(map.page(), *page) & PENDING == 0,
        };
        assert!(pages.iter().all(is_changed), "the map says of each page what was logged");
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
        check_map(map.id(), map.page())?;
        check_bits(&map, bits)?;
        self.compare_with_pages(&map)?;
        let keep = MapBits { change: MapChange::Keep, ..bits.clone() };
        let lsn = self
            .append_compensation(txn, LogOp::SetBits, LogContext::Iam, undo_next, |out| keep.encode(out))?;
        apply_bits(&mut map, &keep, lsn)?;
        let is_kept = |page: PageId| owner(map.page(), page) & PENDING == 0;
        assert!(
            pages_of_runs(map.id(), &keep.runs).all(is_kept),
            "what was to become free stays with its owner"
        );
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

/// Only an owned page is freed, and only once. The map comes from disk and may say anything; in that case nothing is logged.
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
