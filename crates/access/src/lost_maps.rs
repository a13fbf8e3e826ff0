//! Allocation maps that were lost: damaged, empty or replaced by an older one. A map is trusted if the pages that it marks free confirm it.
//!
//! The rule (alloc.rs, 8): a free page has no change newer than its map's newest. Under a map of zeros, whose newest change is none, no page was ever
//! written. Whatever changes a map raises its newest change. So the free pages of a map, as they are stored, are compared with it
//!
//! * before the first change to the map since the database was opened: an allocation, a free, or a mark. A map that was changed after that check
//!   was correct before the change;
//! * when redo comes to the first record about the map, before the map changes;
//! * before a file is truncated, and in DBCC CHECKALLOC;
//! * a map of zeros also at its first use: the first pages of its interval, where allocation begins.
//!
//! Redo: the changes to the map before its first record are on disk. A free page that was changed between the map's newest change and that record
//! was allocated before: its map is lost. A page changed later must be allocated or freed by a later record; if redo ends without such a record, the
//! map was lost, too. An interrupted recovery may have written the map with the changes of redo: the next recovery makes the same comparison from
//! the same first record.
//!
//! Pages added to the file since it was opened are not compared: they were zeros.

use std::collections::BTreeMap;

use log::Lsn;
use os::sim::{Bug, is_planted};
use pages::checksum::{self, PageCheck};
use pages::{LatchMode, PageBytes, PageGuard, PageId, PageType, header};
use rustc_hash::FxHashSet;

use crate::error::{AccessError, AccessResult};
use crate::map_page::{MAP_INDEX, PENDING, entries, is_system_page, map_of, owner};
use crate::methods::AccessMethods;

/// Pages that are compared at the first use of a map of zeros.
const ASKED_PAGES: u32 = 16;

/// The stored content of a page that its map marks free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stored {
    Nothing,
    /// The page, with its newest change.
    Page(Lsn),
    /// Something that is not this page.
    Noise,
}

fn stored(bytes: &PageBytes, page: PageId) -> Stored {
    match checksum::check(bytes, page) {
        PageCheck::NeverFormatted => Stored::Nothing,
        PageCheck::Sound => Stored::Page(header::lsn(bytes)),
        PageCheck::BadChecksum(..) | PageCheck::WrongAddress(_) | PageCheck::NewerFormat(_) => Stored::Noise,
    }
}

/// The rule that let go of a heap of which its map knows no page, as if it had been dropped: what [`Bug::YoungHeapIsDropped`] does.
fn is_unknown_heap(page: &PageBytes, map: &PageGuard) -> bool {
    let is_heap = header::version(map.page()) != 0 && header::page_type(page) == PageType::Heap;
    let unit = header::unit(page);
    is_heap && entries(map.id()).into_iter().all(|other| owner(map.page(), other) & !PENDING != unit)
}

/// A page that its map says is free, with its newest change, NULL when it makes no sense.
type Used = (PageId, Lsn);

fn lost(map: &PageGuard, (page, newer): Used) -> AccessError {
    let changed = map.lsn();
    let what = format!(
        "is an allocation map that was changed last at {changed} and says page {page} is free, which was changed at {newer}"
    );
    AccessError::corrupt(map.id(), what)
}

/// Those of an interval that its map says are free.
fn free_pages(map: &PageGuard) -> Vec<PageId> {
    let mut pages = entries(map.id());
    pages.retain(|page| !is_system_page(*page) && owner(map.page(), *page) == 0);
    pages
}

impl AccessMethods {
    /// The heaps, trees and large values of these units are there; others are not. Known once the catalog was read.
    ///
    /// Servers of before maps were compared let their ghost cleanup change free pages of heaps that had been dropped. Such a page tells nothing
    /// where its unit is not there. Before it is known which are there, every page tells.
    pub fn note_units(&self, units: FxHashSet<u32>) {
        assert!(!units.contains(&0), "0 is the number of no unit");
        self.allocator.looked.lock().units = Some(units);
    }

    /// Is the unit there, as far as the catalog told? None before it has.
    pub(crate) fn is_unit_there(&self, unit: u32) -> Option<bool> {
        self.allocator.looked.lock().units.as_ref().map(|units| units.contains(&unit))
    }

    fn is_of_dropped_heap(&self, page: &PageBytes, map: &PageGuard) -> bool {
        let is_dropped = || self.is_unit_there(header::unit(page)) == Some(false);
        header::version(map.page()) != 0 && header::page_type(page) == PageType::Heap && is_dropped()
            || is_planted(Bug::YoungHeapIsDropped) && is_unknown_heap(page, map)
    }

    /// Refuses a map of zeros of an interval in which something was written, as far as its first pages tell. The map is latched.
    pub(crate) fn refuse_lost_map(&self, map: &PageGuard) -> AccessResult<()> {
        if header::version(map.page()) != 0 {
            return Ok(());
        }
        assert!(map.is_exclusive(), "what is said of the map holds until its latch goes");
        let is_asked = |looked: &crate::allocator::Looked| {
            looked.asked.contains(&map.id()) || looked.compared.contains(&map.id())
        };
        if self.is_believed() || is_asked(&self.allocator.looked.lock()) {
            return Ok(());
        }
        let first = map.id().page - MAP_INDEX;
        let mut free = free_pages(map);
        free.retain(|page| page.page < first + ASKED_PAGES);
        self.refuse_newer(map, &free)?;
        self.allocator.looked.lock().asked.insert(map.id());
        Ok(())
    }

    fn is_believed(&self) -> bool {
        self.space.is_volatile() || is_planted(Bug::DamagedMapIsFree)
    }

    /// Before the map is changed, or what it says is acted upon: refuses it when a page that it says is free is stored with a newer change. It is
    /// looked at once in the life of the database. The map is latched exclusively.
    pub(crate) fn compare_with_pages(&self, map: &PageGuard) -> AccessResult<()> {
        assert!(map.is_exclusive() && map_of(map.id()) == map.id(), "whoever changes a map has it alone");
        if self.is_believed() || self.allocator.looked.lock().compared.contains(&map.id()) {
            return Ok(());
        }
        os::sim::reach(|| "stored pages compared with their map".to_owned());
        self.refuse_newer(map, &free_pages(map))?;
        self.allocator.looked.lock().compared.insert(map.id());
        Ok(())
    }

    fn refuse_newer(&self, map: &PageGuard, free: &[PageId]) -> AccessResult<()> {
        let mut used: Option<Used> = None;
        self.each_newer(map, free, map.lsn(), |found, bytes| {
            if used.is_none() && !self.is_of_dropped_heap(bytes, map) {
                used = Some(found);
            }
        })?;
        used.map_or(Ok(()), |used| Err(lost(map, used)))
    }

    /// Calls `show` for the free pages of a map, ascending, that are stored with a change newer than `known`; if the map was never written, also for
    /// pages that do not decode. The content of any other free page does not matter.
    fn each_newer(
        &self,
        map: &PageGuard,
        free: &[PageId],
        known: Lsn,
        mut show: impl FnMut(Used, &PageBytes),
    ) -> AccessResult<()> {
        assert!(free.is_sorted(), "pages are looked at as they lie");
        let (Some(first), Some(last)) = (free.first(), free.last()) else { return Ok(()) };
        let is_unwritten = header::version(map.page()) == 0;
        let mut left = free.iter().peekable();
        self.space.each_stored(map.id().file, first.page..last.page + 1, |number, bytes| {
            while left.next_if(|page| page.page < number).is_some() {}
            let Some(&page) = left.next_if(|page| page.page == number) else { return };
            match stored(bytes, page) {
                Stored::Page(lsn) if lsn > known => show((page, lsn), bytes),
                Stored::Noise if is_unwritten => show((page, Lsn::NULL), bytes),
                Stored::Nothing | Stored::Page(_) | Stored::Noise => {}
            }
        })?;
        Ok(())
    }

    /// The same for a page as it is in memory, before it is given away. Both are latched.
    pub(crate) fn refuse_if_changed(&self, map: &PageGuard, page: &PageGuard) -> AccessResult<()> {
        assert!(
            page.is_exclusive() && owner(map.page(), page.id()) == 0,
            "page {} is to be given away",
            page.id()
        );
        if page.lsn() <= map.lsn() || self.is_believed() || self.is_of_dropped_heap(page.page(), map) {
            return Ok(());
        }
        Err(lost(map, (page.id(), page.lsn())))
    }

    /// Redo is about to give `page` to a unit, or back (0). Its map is latched.
    pub(crate) fn note_redone(
        &self,
        map: &PageGuard,
        page: PageId,
        owner: u32,
        lsn: Lsn,
    ) -> AccessResult<()> {
        assert!(map_of(page) == map.id(), "page {page} stands in this map");
        if header::version(map.page()) == 0 && !self.is_believed() {
            os::sim::reach(|| "redo begins an allocation map".to_owned());
            if owner == 0 {
                let what = format!("is an empty allocation map, and a log record frees page {page} of it");
                return Err(AccessError::corrupt(map.id(), what));
            }
        }
        self.note_record(map, lsn, [page])
    }

    /// Redo has come to a record about these entries of a map, which may have the change already. It is latched.
    pub(crate) fn note_record(
        &self,
        map: &PageGuard,
        lsn: Lsn,
        pages: impl IntoIterator<Item = PageId>,
    ) -> AccessResult<()> {
        assert!(map.is_exclusive() && !lsn.is_null(), "redo has the map alone");
        if self.is_believed() {
            return Ok(());
        }
        let is_first = !self.allocator.looked.lock().compared.contains(&map.id());
        if is_first {
            let newer = self.newer_at_first_record(map, lsn)?;
            let mut looked = self.allocator.looked.lock();
            looked.compared.insert(map.id());
            looked.unexplained.insert(map.id(), newer);
        }
        if let Some(unexplained) = self.allocator.looked.lock().unexplained.get_mut(&map.id()) {
            for page in pages {
                unexplained.remove(&page);
            }
        }
        Ok(())
    }

    /// The free pages of a map that redo, which comes to `lsn`, its first record about the map, must explain.
    fn newer_at_first_record(&self, map: &PageGuard, lsn: Lsn) -> AccessResult<BTreeMap<PageId, Lsn>> {
        os::sim::reach(|| "a map that redo comes to is compared with its pages".to_owned());
        // What was changed from this record on and is free by the map may have been given back by a record that follows, and that the map has already.
        let known = Lsn::from_raw(lsn.raw() - 1).min(map.lsn());
        let (mut newer, mut older) = (BTreeMap::new(), None);
        self.each_newer(map, &free_pages(map), known, |(page, changed), bytes| {
            if is_planted(Bug::YoungHeapIsDropped) && is_unknown_heap(bytes, map) {
                return;
            }
            newer.insert(page, changed);
            if changed < lsn && !changed.is_null() && !is_planted(Bug::MapsJudgedAfterCheckpoint) {
                older = older.or(Some((page, changed)));
            }
        })?;
        older.map_or(Ok(newer), |used| Err(lost(map, used)))
    }

    /// Behind redo: what is newer than a map that redo has come to, redo has spoken of.
    ///
    /// # Errors
    /// 824: a map was lost.
    pub fn refuse_lost_maps_of_redo(&self) -> AccessResult<()> {
        let unexplained = std::mem::take(&mut self.allocator.looked.lock().unexplained);
        for (map_id, pages) in unexplained {
            let Some((page, changed)) = pages.first_key_value().filter(|_| self.space.has_page(map_id))
            else {
                os::sim::reach(|| "redo has explained what an allocation map did not know".to_owned());
                continue;
            };
            let map = self.fix(map_id, LatchMode::Shared)?;
            let what = format!(
                "is an allocation map, changed last at {}, that does not know page {page}, which was changed at {changed}; no log record of since speaks of it",
                map.lsn()
            );
            return Err(AccessError::corrupt(map_id, what));
        }
        Ok(())
    }

    /// A page is marked as dropped by a transaction that committed. Does it hold rows of a heap or tree that the catalog says is there? Those are
    /// dropped as a whole, so the mark lies: the disk has given back a map from before that transaction was rolled back. The page is not freed; the
    /// mark stays, so that DBCC CHECKALLOC tells. It goes when its unit is dropped, with the sweep of the next start.
    pub(crate) fn is_kept_by_catalog(&self, map: &PageGuard, page: PageId) -> bool {
        let marked = owner(map.page(), page);
        let unit = marked & !PENDING;
        assert!(marked != unit && map.is_exclusive(), "page {page} is marked");
        if self.is_unit_there(unit) != Some(true) {
            return false;
        }
        // A page that cannot be read may be one of those.
        let is_kept = self.fix(page, LatchMode::Shared).map_or(true, |guard| {
            let is_of_rows = matches!(header::page_type(guard.page()), PageType::Heap | PageType::BTree);
            is_of_rows && header::unit(guard.page()) == unit
        });
        if is_kept {
            let map = map.id();
            os::sim::reach(|| "a mark on a page of a unit that is there is not believed".to_owned());
            let told = format!(
                "allocation map {map} says that page {page} was dropped; unit {unit} is there: it is not freed"
            );
            os::report::warn("access", &told);
        }
        is_kept
    }
}
