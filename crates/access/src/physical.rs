//! The order, fullness and content of a unit's pages, for `sys.dm_db_index_physical_stats`. It latches one page at a time, takes no lock,
//! and its memory does not grow with the unit: the result is exact while no thread changes the unit. A page that was freed meanwhile, or is not as
//! expected, ends its level early.

use pages::{BODY_BYTES, LatchMode, PageBytes, PageGuard, PageId, PageType, header, slots};

use crate::btree::page::child_at;
use crate::error::{AccessError, AccessResult, stop_if_asked};
use crate::ids::UnitId;
use crate::lob::piece;
use crate::map_page::{INTERVAL_PAGES, PENDING, check_map, entries, is_system_page, map_of, owner};
use crate::methods::AccessMethods;
use crate::verify::{UnitKind, UnitToVerify};

/// The scanning mode: how many pages are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookAt {
    /// The number and the order of the pages: of a tree from the pages above its leaves.
    Order,
    /// Also the content of one in a hundred pages of the lowest level; of all, when there are few.
    Some,
    /// Every page of each level.
    All,
}

/// Units with fewer pages are read completely.
const SAMPLED_PAGES_MIN: u64 = 10_000;
/// In a large unit, one of so many pages is read.
const PAGES_PER_SAMPLE: u64 = 100;

/// Figures of one level of a tree, of a heap, or of the large values of either.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LevelFigures {
    /// Height above the leaves; 0 outside trees.
    pub level: u8,
    /// The number of pages.
    pub pages: u64,
    /// Their order; `None` if it was not read, and for large values.
    pub order: Option<PageOrder>,
    /// The content of the pages that were read, if the mode reads any.
    pub content: Option<PageContent>,
}

/// The order of a level's pages in the files, visited in the order of their chain.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PageOrder {
    /// Runs of pages that follow each other in a file without a gap.
    pub fragments: u64,
    /// Pages that are not where the next page of the level is in their file.
    pub out_of_order: u64,
    /// The page visited last, per file.
    last: Vec<PageId>,
}

/// Sums over the content of the pages that were read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageContent {
    /// Pages read.
    pub pages_read: u64,
    /// Bytes used of the space for rows and slots.
    pub used_bytes: u64,
    /// Rows, moved rows and the stubs that lead to them: all records that are not deleted.
    pub records: u64,
    /// Ghosts.
    pub ghosts: u64,
    /// Stubs of rows that have moved.
    pub forwarded: u64,
    /// Bytes of the records together.
    pub record_bytes: u64,
    /// The shortest record; 0 without any.
    pub shortest: u32,
    /// The longest one.
    pub longest: u32,
}

/// The figures of a unit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UnitFigures {
    /// Levels of the tree; 1 of a heap.
    pub depth: u8,
    /// The levels asked for, the lowest first.
    pub levels: Vec<LevelFigures>,
    /// Large values.
    pub lobs: Option<LevelFigures>,
}

impl PageContent {
    fn add_record(&mut self, bytes: usize) {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.shortest = if self.records == 0 { bytes } else { self.shortest.min(bytes) };
        self.longest = self.longest.max(bytes);
        self.records += 1;
        self.record_bytes += u64::from(bytes);
    }

    fn add_page(&mut self, page: &PageBytes) {
        self.pages_read += 1;
        self.used_bytes += BODY_BYTES.saturating_sub(header::free_bytes(page)) as u64;
        for (_, row, flags) in slots::occupied(page) {
            if flags & slots::GHOST != 0 {
                self.ghosts += 1;
                continue;
            }
            self.forwarded += u64::from(flags & slots::FORWARD != 0);
            self.add_record(row.len());
        }
        assert!(
            self.records == 0 || self.shortest <= self.longest,
            "the shortest is no longer than the longest"
        );
    }

    /// Extrapolates `count`, found in the pages that were read, to all pages.
    pub fn in_all(&self, count: u64, pages: u64) -> u64 {
        match self.pages_read {
            0 => 0,
            read if read == pages => count,
            read => (u128::from(count) * u128::from(pages) / u128::from(read)) as u64,
        }
    }

    /// The mean share of a page that is in use, from 0 to 1.
    pub fn fill(&self) -> f64 {
        let all = self.pages_read as f64 * BODY_BYTES as f64;
        assert!(self.used_bytes as f64 <= all, "no page is more than full");
        if self.pages_read == 0 { 0.0 } else { self.used_bytes as f64 / all }
    }
}

/// The kind of pages to visit.
#[derive(Clone, Copy)]
struct Kind {
    unit: UnitId,
    page_type: PageType,
    level: u8,
}

impl Kind {
    fn is(&self, page: &PageBytes) -> bool {
        let is_level = self.page_type != PageType::BTree || header::level(page) == self.level;
        header::page_type(page) == self.page_type && header::unit(page) == self.unit.0 && is_level
    }
}

/// The page behind another in its file that can belong to a unit.
fn following(page: PageId) -> Option<PageId> {
    let mut next = PageId::new(page.file, page.page.checked_add(1)?);
    while is_system_page(next) {
        next.page = next.page.checked_add(1)?;
    }
    assert!(page < next && page.file == next.file, "it lies behind it");
    Some(next)
}

impl AccessMethods {
    /// The order and the content of a unit's pages. `pages`: the number of its pages in the maps.
    pub fn unit_figures(
        &self,
        unit: &UnitToVerify,
        pages: u64,
        may_have_lobs: bool,
        look: LookAt,
    ) -> AccessResult<UnitFigures> {
        let look = if look == LookAt::Some && pages < SAMPLED_PAGES_MIN { LookAt::All } else { look };
        let mut found = match unit.kind {
            UnitKind::Heap => self.heap_figures(unit, pages, look)?,
            UnitKind::BTree => self.tree_figures(unit, pages, look)?,
        };
        if may_have_lobs {
            found.lobs = Some(self.lob_figures(unit, &found, pages, look)?);
        }
        assert!(
            found.levels.first().is_some_and(|level| level.level == 0),
            "the lowest level is always looked at"
        );
        assert!(found.levels.len() <= usize::from(found.depth), "no level is told twice");
        let is_read = found.levels.iter().all(|level| level.content.is_some());
        assert!(is_read || look == LookAt::Order, "what is asked for is looked into");
        Ok(found)
    }

    fn heap_figures(&self, unit: &UnitToVerify, pages: u64, look: LookAt) -> AccessResult<UnitFigures> {
        let kind = Kind { unit: unit.unit, page_type: PageType::Heap, level: 0 };
        let figures = match look {
            // The order would need the link of every page.
            LookAt::Some => self.sampled(kind, pages)?,
            _ => self.chain_figures(kind, unit.page, pages, look == LookAt::All)?,
        };
        Ok(UnitFigures { depth: 1, levels: vec![figures], lobs: None })
    }

    fn tree_figures(&self, unit: &UnitToVerify, pages: u64, look: LookAt) -> AccessResult<UnitFigures> {
        // The first page of each level, the root first.
        let (mut firsts, mut page) = (Vec::new(), unit.page);
        loop {
            let guard = self.fix_of(page, LatchMode::Shared, PageType::BTree, unit.unit.0)?;
            let level = header::level(guard.page());
            if firsts.last().is_some_and(|(above, _): &(u8, PageId)| above.checked_sub(1) != Some(level)) {
                return Err(AccessError::corrupt(
                    page,
                    "a page of a tree is not on the level below its parent's",
                ));
            }
            firsts.push((level, page));
            if level == 0 {
                break;
            }
            page = child_at(guard.page(), 0)?;
        }
        firsts.reverse();
        assert!(
            firsts.iter().enumerate().all(|(at, (level, _))| at == usize::from(*level)),
            "a level each, from the leaves up"
        );
        let depth = u8::try_from(firsts.len()).unwrap_or(u8::MAX);
        let kind = |level| Kind { unit: unit.unit, page_type: PageType::BTree, level };
        let levels = match (look, firsts.get(1)) {
            (LookAt::All, _) => {
                let each =
                    firsts.iter().map(|(level, first)| self.chain_figures(kind(*level), *first, pages, true));
                each.collect::<AccessResult<Vec<_>>>()?
            }
            (_, None) => vec![self.chain_figures(kind(0), unit.page, pages, look == LookAt::Some)?],
            (_, Some((_, first))) => {
                vec![self.leaves_from_above(kind(1), *first, pages, look == LookAt::Some)?]
            }
        };
        Ok(UnitFigures { depth, levels, lobs: None })
    }

    /// Latches a page if it is still of the kind.
    fn fix_kind(&self, kind: Kind, page: PageId) -> AccessResult<Option<PageGuard>> {
        let guard = self.fix(page, LatchMode::Shared)?;
        Ok(kind.is(guard.page()).then_some(guard))
    }

    /// Visits the pages of a chain, which has no more pages than the unit has or gets meanwhile: circular links are an error.
    fn chain_figures(
        &self,
        kind: Kind,
        first: PageId,
        pages: u64,
        is_read: bool,
    ) -> AccessResult<LevelFigures> {
        let (mut order, mut content) = (PageOrder::default(), PageContent::default());
        let (mut page, mut count) = (first, 0);
        while !page.is_null() {
            stop_if_asked()?;
            let Some(guard) = self.fix_kind(kind, page)? else { break };
            if is_read {
                content.add_page(guard.page());
            }
            let next = header::next(guard.page());
            drop(guard);
            self.add_in_order(&mut order, kind, page)?;
            count += 1;
            self.assert_chain(page, count, pages)?;
            page = next;
        }
        assert!(order.fragments <= count, "a run has a page");
        assert!(!is_read || content.pages_read == count, "every page is looked into, or none");
        let content = is_read.then_some(content);
        Ok(LevelFigures { level: kind.level, pages: count, order: Some(order), content })
    }

    fn assert_chain(&self, page: PageId, count: u64, pages: u64) -> AccessResult<()> {
        let is_endless = count > pages.saturating_mul(2).saturating_add(u64::from(INTERVAL_PAGES));
        if is_endless { Err(AccessError::corrupt(page, "is in a chain without end")) } else { Ok(()) }
    }

    /// Visits the leaves of a tree as the pages above name them; reads one in a hundred.
    fn leaves_from_above(
        &self,
        above: Kind,
        first: PageId,
        pages: u64,
        is_sampled: bool,
    ) -> AccessResult<LevelFigures> {
        let leaf = Kind { level: 0, ..above };
        let (mut order, mut content) = (PageOrder::default(), PageContent::default());
        let (mut page, mut count, mut parents) = (first, 0, 0);
        let mut children = Vec::new();
        while !page.is_null() {
            stop_if_asked()?;
            let Some(guard) = self.fix_kind(above, page)? else { break };
            children.clear();
            for slot in 0..header::slot_count(guard.page()) {
                children.push(child_at(guard.page(), slot)?);
            }
            let next = header::next(guard.page());
            drop(guard);
            for child in children.iter().copied() {
                self.add_in_order(&mut order, leaf, child)?;
                if is_sampled
                    && count % PAGES_PER_SAMPLE == 0
                    && let Some(guard) = self.fix_kind(leaf, child)?
                {
                    content.add_page(guard.page());
                }
                count += 1;
            }
            parents += 1;
            self.assert_chain(page, parents, pages)?;
            page = next;
        }
        assert!(
            order.fragments <= count && content.pages_read <= count,
            "a run has a page, a page is looked into once"
        );
        let content = is_sampled.then_some(content);
        Ok(LevelFigures { level: 0, pages: count, order: Some(order), content })
    }

    /// Reads one in a hundred pages of a unit, as the maps name them, and estimates from them how many are of the kind.
    fn sampled(&self, kind: Kind, pages: u64) -> AccessResult<LevelFigures> {
        let (mut content, mut at, mut looked) = (PageContent::default(), 0, 0_u64);
        self.each_page(kind.unit, &mut |access, page| {
            at += 1;
            if at % PAGES_PER_SAMPLE == 0 {
                looked += 1;
                if let Some(guard) = access.fix_kind(kind, page)? {
                    content.add_any(guard.page());
                }
            }
            Ok(())
        })?;
        assert!(content.pages_read <= looked && looked <= at, "one of a hundred is looked at");
        let of_kind = (pages * content.pages_read).checked_div(looked).unwrap_or(0);
        Ok(LevelFigures { level: 0, pages: of_kind, order: None, content: Some(content) })
    }

    fn lob_figures(
        &self,
        unit: &UnitToVerify,
        in_row: &UnitFigures,
        pages: u64,
        look: LookAt,
    ) -> AccessResult<LevelFigures> {
        let kind = Kind { unit: unit.unit, page_type: PageType::Lob, level: 0 };
        match look {
            LookAt::Some => self.sampled(kind, pages),
            LookAt::Order => {
                let interior = match unit.kind {
                    UnitKind::Heap => 0,
                    UnitKind::BTree => self.interior_pages_of(unit)?,
                };
                let others: u64 = interior + in_row.levels.iter().map(|level| level.pages).sum::<u64>();
                Ok(LevelFigures { pages: pages.saturating_sub(others), ..LevelFigures::default() })
            }
            LookAt::All => {
                let mut content = PageContent::default();
                self.each_page(kind.unit, &mut |access, page| {
                    if let Some(guard) = access.fix_kind(kind, page)? {
                        content.add_any(guard.page());
                    }
                    Ok(())
                })?;
                assert!(content.records <= content.pages_read, "a page has one piece");
                let pages = content.pages_read;
                Ok(LevelFigures { pages, content: Some(content), ..LevelFigures::default() })
            }
        }
    }

    /// Every page that the maps give to a unit, without a latch.
    fn each_page(
        &self,
        unit: UnitId,
        work: &mut dyn FnMut(&AccessMethods, PageId) -> AccessResult<()>,
    ) -> AccessResult<()> {
        let mut maps = Vec::new();
        self.for_each_map(|map| {
            maps.push(map.id());
            Ok(())
        })?;
        for map in maps {
            for page in self.owned(map, unit, |_| true)? {
                stop_if_asked()?;
                work(self, page)?;
            }
        }
        Ok(())
    }

    /// The pages of a unit in a map that are `wanted`.
    fn owned(&self, map: PageId, unit: UnitId, wanted: impl Fn(PageId) -> bool) -> AccessResult<Vec<PageId>> {
        let guard = self.fix(map, LatchMode::Shared)?;
        check_map(map, guard.page())?;
        if header::version(guard.page()) == 0 {
            return Ok(Vec::new());
        }
        let mut pages = entries(map);
        pages.retain(|page| wanted(*page) && owner(guard.page(), *page) & !PENDING == unit.0);
        Ok(pages)
    }

    /// Counts the next page of a chain: is it where the next page of its kind is?
    fn add_in_order(&self, order: &mut PageOrder, kind: Kind, page: PageId) -> AccessResult<()> {
        let Some(at) = order.last.iter().position(|last| last.file == page.file) else {
            order.last.push(page);
            order.fragments += 1;
            return Ok(());
        };
        let last = std::mem::replace(&mut order.last[at], page);
        if following(last) != Some(page) {
            order.fragments += 1;
            order.out_of_order += u64::from(page < last || self.has_between(kind, last, page)?);
        }
        assert!(order.out_of_order < order.fragments, "the first page of a file is where it is");
        Ok(())
    }

    /// Does the unit have pages of that kind between two pages of a file?
    fn has_between(&self, kind: Kind, after: PageId, before: PageId) -> AccessResult<bool> {
        assert!(after < before && after.file == before.file, "pages of one file, in its order");
        let mut map = map_of(after);
        while map <= map_of(before) {
            stop_if_asked()?;
            for page in self.owned(map, kind.unit, |page| after < page && page < before)? {
                if self.fix_kind(kind, page)?.is_some() {
                    return Ok(true);
                }
            }
            let Some(next) = map.page.checked_add(INTERVAL_PAGES) else { break };
            map.page = next;
        }
        Ok(false)
    }
}

impl PageContent {
    /// A page with rows, or with a piece of a large value, which is one record.
    fn add_any(&mut self, page: &PageBytes) {
        if header::page_type(page) != PageType::Lob {
            return self.add_page(page);
        }
        self.pages_read += 1;
        if let Some((_, data)) = piece(page) {
            self.used_bytes += data.len().min(BODY_BYTES) as u64;
            self.add_record(data.len());
        }
    }
}
