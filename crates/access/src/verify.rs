//! Structure check (in the manner of DBCC CHECKDB): pages, chains, trees, maps agree with each other.

use pages::{LatchMode, PageGuard, PageId, PageType, header, slots};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::alloc::{PENDING, entries, owner};
use crate::btree::page::{child_at, key_at};
use crate::error::AccessResult;
use crate::methods::{AccessMethods, Rid, UnitId};

/// What a unit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitKind {
    /// A heap, by its first page.
    Heap,
    /// A tree, by its root.
    BTree,
}

/// A unit to check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitToVerify {
    /// Its number.
    pub unit: UnitId,
    /// What it is.
    pub kind: UnitKind,
    /// First page or root.
    pub page: PageId,
}

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifyReport {
    /// Pages looked at.
    pub pages: u64,
    /// Rows that are no ghosts.
    pub rows: u64,
    /// Everything that is wrong; empty when all is well.
    pub problems: Vec<String>,
}

impl AccessMethods {
    /// Checks every unit named and, when `complete` (all units of the database are named), that no page is owned by anything
    /// else. The database must be at rest: pages are latched one at a time.
    pub fn verify(&self, units: &[UnitToVerify], complete: bool) -> AccessResult<VerifyReport> {
        let mut check = Check { access: self, report: VerifyReport::default(), seen: FxHashMap::default() };
        for unit in units {
            match unit.kind {
                UnitKind::Heap => check.heap(unit)?,
                UnitKind::BTree => check.tree(unit)?,
            }
        }
        check.maps(units, complete)?;
        Ok(check.report)
    }
}

struct Check<'a> {
    access: &'a AccessMethods,
    report: VerifyReport,
    /// Every page reached, with its unit.
    seen: FxHashMap<PageId, u32>,
}

/// A leaf in key order: address, neighbours, lowest and highest key.
struct Leaf {
    page: PageId,
    prev: PageId,
    next: PageId,
}

impl Check<'_> {
    fn problem(&mut self, page: PageId, what: impl std::fmt::Display) {
        if self.report.problems.len() < 100 {
            self.report.problems.push(format!("page {page}: {what}"));
        }
    }

    /// Latches a page that must be sound and of this unit and type; `None` after noting what is wrong.
    fn page(&mut self, page: PageId, unit: UnitId, page_type: PageType) -> AccessResult<Option<PageGuard>> {
        let guard = match self.access.fix(page, LatchMode::Shared) {
            Ok(guard) => guard,
            Err(error) => {
                self.problem(page, error);
                return Ok(None);
            }
        };
        self.report.pages += 1;
        if self.seen.insert(page, unit.0).is_some() {
            self.problem(page, "is reached twice");
            return Ok(None);
        }
        if header::page_type(guard.page()) != page_type || header::unit(guard.page()) != unit.0 {
            let found = (header::page_type(guard.page()), header::unit(guard.page()));
            self.problem(page, format!("expected {page_type:?} of {unit:?}, found {found:?}"));
            return Ok(None);
        }
        if header::id(guard.page()) != page {
            self.problem(page, format!("says that it is {}", header::id(guard.page())));
        }
        if let Err(what) = slots::verify(guard.page()) {
            self.problem(page, what);
            return Ok(None);
        }
        Ok(Some(guard))
    }

    fn heap(&mut self, unit: &UnitToVerify) -> AccessResult<()> {
        let (mut page, mut previous, mut last) = (unit.page, PageId::NULL, PageId::NULL);
        let mut stubs: FxHashSet<Rid> = FxHashSet::default();
        let mut forwarded: FxHashSet<Rid> = FxHashSet::default();
        let mut told_last = PageId::NULL;
        while !page.is_null() {
            let Some(guard) = self.page(page, unit.unit, PageType::Heap)? else { return Ok(()) };
            if page == unit.page {
                told_last = header::prev(guard.page());
            } else if header::prev(guard.page()) != previous {
                self.problem(page, format!("follows {previous} but says {}", header::prev(guard.page())));
            }
            for (slot, row, flags) in slots::occupied(guard.page()) {
                let ghost = flags & slots::GHOST != 0;
                match flags & (slots::FORWARD | slots::FORWARDED) {
                    slots::FORWARD if !ghost => match Rid::from_bytes(row) {
                        Some(target) => drop(stubs.insert(target)),
                        None => self.problem(page, format!("slot {slot} is no forwarding address")),
                    },
                    slots::FORWARDED if !ghost => drop(forwarded.insert(Rid { page, slot })),
                    _ => {}
                }
                self.report.rows += u64::from(!ghost && flags & slots::FORWARDED == 0);
            }
            (previous, last, page) = (page, page, header::next(guard.page()));
        }
        if told_last != last && !(told_last.is_null() && last == unit.page) {
            self.problem(unit.page, format!("names {told_last} as the last page, which is {last}"));
        }
        if stubs != forwarded {
            let what = format!("{} forwarding addresses, {} forwarded rows", stubs.len(), forwarded.len());
            self.problem(unit.page, what);
        }
        Ok(())
    }

    fn tree(&mut self, unit: &UnitToVerify) -> AccessResult<()> {
        let mut leaves = Vec::new();
        self.subtree(unit, unit.page, None, None, None, &mut leaves)?;
        for (index, leaf) in leaves.iter().enumerate() {
            let before = index.checked_sub(1).map_or(PageId::NULL, |index| leaves[index].page);
            let after = leaves.get(index + 1).map_or(PageId::NULL, |leaf| leaf.page);
            if (leaf.prev, leaf.next) != (before, after) {
                let told = (leaf.prev, leaf.next);
                self.problem(leaf.page, format!("neighbours are {before} and {after}, told {told:?}"));
            }
        }
        Ok(())
    }

    /// Checks a page and all below it; its keys must lie in `low..high`.
    fn subtree(
        &mut self,
        unit: &UnitToVerify,
        page: PageId,
        level: Option<u8>,
        low: Option<&[u8]>,
        high: Option<&[u8]>,
        leaves: &mut Vec<Leaf>,
    ) -> AccessResult<()> {
        let Some(guard) = self.page(page, unit.unit, PageType::BTree)? else { return Ok(()) };
        let bytes = *guard.page();
        drop(guard);
        let count = header::slot_count(&bytes);
        let here = header::level(&bytes);
        if level.is_some_and(|level| level != here) {
            self.problem(page, format!("is on level {here}, not {level:?}"));
            return Ok(());
        }
        if header::free_slots(&bytes) > 0 {
            self.problem(page, "a tree page has free slots");
        }
        // The first key of an interior page says nothing.
        let first = u16::from(here > 0);
        for slot in first..count {
            let key = key_at(&bytes, slot);
            let ascends = slot == first || key_at(&bytes, slot - 1) < key;
            let inside = low.is_none_or(|low| key >= low) && high.is_none_or(|high| key < high);
            if !ascends || !inside {
                self.problem(page, format!("key of slot {slot} is out of order"));
            }
        }
        if here == 0 {
            let live = slots::occupied(&bytes).filter(|(_, _, flags)| flags & slots::GHOST == 0).count();
            self.report.rows += live as u64;
            leaves.push(Leaf { page, prev: header::prev(&bytes), next: header::next(&bytes) });
            return Ok(());
        }
        if count == 0 {
            self.problem(page, "an interior page has no children");
        }
        for slot in 0..count {
            let child = match child_at(&bytes, slot) {
                Ok(child) => child,
                Err(error) => {
                    self.problem(page, error);
                    continue;
                }
            };
            let child_low = if slot == 0 { low } else { Some(key_at(&bytes, slot)) };
            let child_high = if slot + 1 < count { Some(key_at(&bytes, slot + 1)) } else { high };
            self.subtree(unit, child, Some(here - 1), child_low, child_high, leaves)?;
        }
        Ok(())
    }

    /// Every page reached must be its unit's in the maps; every page of a checked unit in the maps must have been reached,
    /// large objects apart.
    fn maps(&mut self, units: &[UnitToVerify], complete: bool) -> AccessResult<()> {
        let mut owners: Vec<(PageId, u32)> = Vec::new();
        self.access.for_each_map(|map| {
            let used = entries(map.id()).into_iter().map(|page| (page, owner(map.page(), page)));
            owners.extend(used.filter(|(_, owner)| *owner != 0));
            Ok(())
        })?;
        let mapped: FxHashMap<PageId, u32> = owners.iter().copied().collect();
        let reached: Vec<(PageId, u32)> = {
            let mut reached: Vec<_> = self.seen.iter().map(|(page, unit)| (*page, *unit)).collect();
            reached.sort_unstable();
            reached
        };
        for (page, unit) in reached {
            match mapped.get(&page) {
                Some(owner) if owner & !PENDING == unit => {}
                other => self.problem(page, format!("is used by unit {unit}, the map says {other:?}")),
            }
        }
        for (page, unit) in owners {
            let is_known = units.iter().any(|known| known.unit.0 == unit & !PENDING);
            if !is_known && complete {
                self.problem(page, format!("belongs to unit {unit}, which does not exist"));
            }
            if is_known
                && !self.seen.contains_key(&page)
                && unit & PENDING == 0
                && !self.is_lob(page, unit)?
            {
                self.problem(page, format!("belongs to unit {unit} but is not reached from it"));
            }
        }
        Ok(())
    }

    fn is_lob(&mut self, page: PageId, unit: u32) -> AccessResult<bool> {
        let guard = self.access.fix(page, LatchMode::Shared)?;
        self.report.pages += 1;
        Ok(header::page_type(guard.page()) == PageType::Lob && header::unit(guard.page()) == unit)
    }
}
