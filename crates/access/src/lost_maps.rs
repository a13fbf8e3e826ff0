//! Allocation maps that were lost: damaged, empty or replaced by an older one. A map is believed when the pages that it says are free agree.
//!
//! The rule (alloc.rs, 8): a free page has no change newer than its map's newest. Under a map of zeros, whose newest change is none, no page was ever
//! written. It is looked at
//!
//! * before a page is given away, or given up with the end of its file: what is stored there, a piece of its neighbours at a time, once in the life
//!   of the database; and what is in memory;
//! * when somebody asks a map of zeros: the first piece, where allocation begins;
//! * when redo begins to fill a map of zeros: all of its interval. A page changed before the record that begins was allocated before: its map
//!   is lost. One changed later must be given to somebody by a record by the end of redo.
//!
//! Whatever changes a map raises its newest change. So the rule is asked of the map as it was before its first change of this life, and of the pages
//! whose entries have not changed since. Where redo has come to a map, behind redo: no free page may have a change from the first record about the
//! map on unless a record speaks of its entry. That also finds a map which a recovery had begun to fill when it was cut off, and one that the
//! device has given back as it was before a write that it had acknowledged.
//!
//! Pages that their file has got since it was opened are not looked at: they were zeros.

use std::collections::BTreeSet;
use std::ops::Range;

use log::Lsn;
use os::sim::{Bug, is_planted};
use pages::checksum::{self, PageCheck};
use pages::{LatchMode, PageBytes, PageGuard, PageId, PageType, header};

use crate::allocator::Begun;
use crate::error::{AccessError, AccessResult};
use crate::map_page::{INTERVAL_PAGES, MAP_INDEX, PENDING, entries, is_system_page, map_of, owner};
use crate::methods::AccessMethods;

/// Pages that are looked at together.
const PIECE_PAGES: u32 = 16;
const _: () =
    assert!(INTERVAL_PAGES.div_ceil(PIECE_PAGES) <= u128::BITS, "each piece of an interval has a bit");

/// What is stored at the place of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stored {
    Nothing,
    /// The page, with its newest change.
    Page(Lsn),
    /// Something that is not this page.
    Noise,
}

impl Stored {
    fn lsn(self) -> Lsn {
        match self {
            Stored::Page(lsn) => lsn,
            Stored::Nothing | Stored::Noise => Lsn::NULL,
        }
    }
}

fn stored(bytes: &PageBytes, page: PageId) -> Stored {
    match checksum::check(bytes, page) {
        PageCheck::NeverFormatted => Stored::Nothing,
        PageCheck::Sound => Stored::Page(header::lsn(bytes)),
        PageCheck::BadChecksum(..) | PageCheck::WrongAddress(_) | PageCheck::NewerFormat(_) => Stored::Noise,
    }
}

/// The page says that it is in use, or was when the map, changed last at `known`, no longer knew.
fn knows_better(stored: Stored, known: Lsn, map: &PageGuard, bytes: &PageBytes) -> bool {
    match stored {
        Stored::Nothing => false,
        Stored::Page(lsn) => lsn > known && !is_of_dropped_heap(bytes, map),
        // Of a free page nobody wants what it holds; but where nothing was ever written there is none.
        Stored::Noise => header::version(map.page()) == 0,
    }
}

/// Servers of before this was looked at let their ghost cleanup change free pages of heaps that had been dropped. Such a page tells nothing where
/// its heap has no page by the map.
fn is_of_dropped_heap(page: &PageBytes, map: &PageGuard) -> bool {
    let is_heap = header::version(map.page()) != 0 && header::page_type(page) == PageType::Heap;
    let unit = header::unit(page);
    is_heap && entries(map.id()).into_iter().all(|other| owner(map.page(), other) & !PENDING != unit)
}

/// `page`: as it is stored or in memory, with its newest change; NULL when it makes no sense.
fn lost(map: PageId, changed: Lsn, (page, newer): (PageId, Lsn)) -> AccessError {
    let what = format!(
        "is an allocation map that was changed last at {changed} and says page {page} is free, which was changed at {newer}"
    );
    AccessError::corrupt(map, what)
}

impl AccessMethods {
    /// Refuses a map of zeros of an interval in which something was written. The map is latched.
    pub(crate) fn refuse_lost_map(&self, map: &PageGuard) -> AccessResult<()> {
        if header::version(map.page()) != 0 {
            return Ok(());
        }
        let first = map.id().page - MAP_INDEX;
        assert!(map.is_exclusive(), "what is said of the map holds until its latch goes");
        self.refuse_if_used(map, first..first + 1)
    }

    /// Refuses a map when one of these pages is free by it and stored with a newer change. The map is latched exclusively.
    pub(crate) fn refuse_if_used(&self, map: &PageGuard, pages: Range<u32>) -> AccessResult<()> {
        let map_id = map.id();
        let first = map_id.page - MAP_INDEX;
        assert!(
            pages.start >= first && pages.end <= first + INTERVAL_PAGES,
            "pages {pages:?} of map {map_id}"
        );
        let pieces = (pages.start - first) / PIECE_PAGES..(pages.end - first).div_ceil(PIECE_PAGES);
        for piece in pieces {
            let bit = 1u128 << piece;
            if self.allocator.looked.lock().pieces.get(&map_id).is_some_and(|looked| looked & bit != 0) {
                continue;
            }
            self.refuse_if_piece_is_used(map, first + piece * PIECE_PAGES)?;
            *self.allocator.looked.lock().pieces.entry(map_id).or_default() |= bit;
        }
        Ok(())
    }

    fn refuse_if_piece_is_used(&self, map: &PageGuard, from: u32) -> AccessResult<()> {
        if self.space.is_volatile() || is_planted(Bug::DamagedMapIsFree) {
            return Ok(());
        }
        os::sim::reach(|| "stored pages compared with their map".to_owned());
        let map_id = map.id();
        let end = (from + PIECE_PAGES).min(map_id.page - MAP_INDEX + INTERVAL_PAGES);
        let is_free = |page: &PageId| !is_system_page(*page) && owner(map.page(), *page) == 0;
        // What a free page may have on it; none where the entry has changed in this life.
        let known: Vec<Option<Lsn>> = (from..end)
            .map(|number| PageId::new(map_id.file, number))
            .map(|page| self.newest_of_free(map, page).filter(|_| is_free(&page)))
            .collect();
        if known.iter().all(Option::is_none) {
            return Ok(());
        }
        let mut used = None;
        self.space.each_stored(map_id.file, from..end, |number, bytes| {
            let Some(known) = known[(number - from) as usize] else { return };
            let page = PageId::new(map_id.file, number);
            let found = stored(bytes, page);
            if used.is_none() && knows_better(found, known, map, bytes) {
                used = Some((known, (page, found.lsn())));
            }
        })?;
        used.map_or(Ok(()), |(known, used)| Err(lost(map_id, known, used)))
    }

    /// The newest change that a page may have which is free by the map; none when this life has changed its entry. The map is latched.
    fn newest_of_free(&self, map: &PageGuard, page: PageId) -> Option<Lsn> {
        assert_eq!(map_of(page), map.id(), "page {page} stands in this map");
        let looked = self.allocator.looked.lock();
        match looked.begun.get(&map.id()) {
            Some(begun) if begun.has_changed(page) => None,
            Some(begun) => Some(begun.lsn),
            None => Some(map.lsn()),
        }
    }

    /// These entries of a map are about to change. It is latched.
    pub(crate) fn note_change(&self, map: &PageGuard, pages: impl IntoIterator<Item = PageId>) {
        assert!(map.is_exclusive(), "whoever changes a map has it alone");
        if !self.space.is_volatile() {
            let mut looked = self.allocator.looked.lock();
            let begun = looked.begun.entry(map.id()).or_insert_with(|| Begun::new(map.lsn()));
            pages.into_iter().for_each(|page| begun.note(page));
        }
    }

    /// Redo has come to a record about these entries of a map, which may have the change already. It is latched.
    pub(crate) fn note_record(&self, map: &PageGuard, lsn: Lsn, pages: impl IntoIterator<Item = PageId>) {
        assert!(map.is_exclusive(), "redo has the map alone");
        let mut looked = self.allocator.looked.lock();
        // A free page that was changed from this record on was freed by one behind it, which redo comes to.
        let before = Lsn::from_raw(lsn.raw() - 1).min(map.lsn());
        let begun = looked.begun.entry(map.id()).or_insert_with(|| Begun::new(before));
        pages.into_iter().for_each(|page| begun.note(page));
    }

    /// The same for a free page as it is in memory. Both are latched.
    pub(crate) fn refuse_if_changed(&self, map: &PageGuard, page: &PageGuard) -> AccessResult<()> {
        assert!(
            page.is_exclusive() && owner(map.page(), page.id()) == 0,
            "page {} is to be given away",
            page.id()
        );
        let Some(known) = self.newest_of_free(map, page.id()) else { return Ok(()) };
        let is_newer = page.lsn() > known && !is_of_dropped_heap(page.page(), map);
        if !is_newer || self.space.is_volatile() || is_planted(Bug::DamagedMapIsFree) {
            return Ok(());
        }
        Err(lost(map.id(), known, (page.id(), page.lsn())))
    }

    /// Redo is about to give `page` to a unit, or back (0). Its map is latched.
    pub(crate) fn note_redone(
        &self,
        map: &PageGuard,
        page: PageId,
        owner: u32,
        lsn: Lsn,
    ) -> AccessResult<()> {
        if is_planted(Bug::DamagedMapIsFree) {
            return Ok(());
        }
        let map_id = map.id();
        assert!(map.is_exclusive() && map_of(page) == map_id, "page {page} stands in this map");
        if header::version(map.page()) == 0 {
            os::sim::reach(|| "redo begins an allocation map".to_owned());
            if owner == 0 {
                let what = format!("is an empty allocation map, and a log record frees page {page} of it");
                return Err(AccessError::corrupt(map_id, what));
            }
            let unexplained = self.written_in_interval_of(map_id, lsn)?;
            self.allocator.looked.lock().unexplained.insert(map_id, unexplained);
        }
        if let Some(unexplained) = self.allocator.looked.lock().unexplained.get_mut(&map_id) {
            unexplained.remove(&page.page);
        }
        self.note_record(map, lsn, [page]);
        Ok(())
    }

    /// The pages of a new map's interval that have something on them; an error when it is of before `lsn`, the first record of the map.
    fn written_in_interval_of(&self, map_id: PageId, lsn: Lsn) -> AccessResult<BTreeSet<u32>> {
        let first = map_id.page - MAP_INDEX;
        assert!(!lsn.is_null() && map_of(map_id) == map_id, "a log record begins a map");
        let (mut written, mut older) = (BTreeSet::new(), None);
        self.space.each_stored(map_id.file, first..first + INTERVAL_PAGES, |number, bytes| {
            let page = PageId::new(map_id.file, number);
            let found = if is_system_page(page) { Stored::Nothing } else { stored(bytes, page) };
            if found != Stored::Nothing {
                written.insert(number);
            }
            if matches!(found, Stored::Page(changed) if changed < lsn) {
                older = older.or(Some((page, found.lsn())));
            }
        })?;
        match older {
            None => Ok(written),
            Some((page, changed)) => {
                let what = format!(
                    "is an allocation map that was empty before log record {lsn}; page {page} was changed at {changed}"
                );
                Err(AccessError::corrupt(map_id, what))
            }
        }
    }

    /// Behind redo: what stands in the intervals of maps that were zeros is what redo has put there; and no page knows better than a map that redo
    /// has come to.
    ///
    /// # Errors
    /// 824: a map was lost.
    pub fn refuse_lost_maps_of_redo(&self) -> AccessResult<()> {
        let unexplained = std::mem::take(&mut self.allocator.looked.lock().unexplained);
        for (map, pages) in unexplained {
            if let Some(page) = pages.first() {
                let page = PageId::new(map.file, *page);
                let what = format!(
                    "is an allocation map that was empty; page {page} is in use, and no log record of since gives it to anybody"
                );
                return Err(AccessError::corrupt(map, what));
            }
        }
        let begun: Vec<PageId> = self.allocator.looked.lock().begun.keys().copied().collect();
        for map_id in begun.into_iter().filter(|map| self.space.has_page(*map)) {
            os::sim::reach(|| "a map that redo has come to is compared with its pages".to_owned());
            let map = self.fix(map_id, LatchMode::Exclusive)?;
            let first = map_id.page - MAP_INDEX;
            self.refuse_if_used(&map, first..first + INTERVAL_PAGES)?;
        }
        Ok(())
    }
}
