//! Structure check, the base of DBCC CHECKDB and related statements: pages, chains, trees, large values and maps agree with each other.
//!
//! The check of an index against its table needs columns, and is in `engine/src/table/check.rs`.

use pages::{LatchMode, PageGuard, PageId, PageType, header, slots};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::btree::page::{child_at, key_at};
use crate::error::{AccessResult, stop_if_asked};
use crate::ids::{Rid, UnitId};
use crate::map_page::{PENDING, entries, owner};
use crate::methods::AccessMethods;
use crate::row::{LobPointer, ROW_BYTES_MIN};

/// The kind of a unit.
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
    /// Its kind.
    pub kind: UnitKind,
    /// First page or root.
    pub page: PageId,
}

/// The kind of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// A page cannot be read, or is not what it must be, or its rows are not in order.
    Page,
    /// Neighbours or parents do not link to each other.
    Chain,
    /// A key is out of order.
    KeyOrder,
    /// A page in use that the map gives to another owner.
    Owner,
    /// A page that the map gives to the unit, but no page of the unit leads to.
    Unreached,
    /// A page of a unit that does not exist.
    UnknownUnit,
    /// A forwarding address without its row, or the other way round.
    Forwarding,
    /// A piece of a large value that no row points to.
    UnusedLob,
    /// A large value that is incomplete.
    BrokenLob,
}

/// One problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Its page.
    pub page: PageId,
    /// Its kind.
    pub damage: Damage,
    /// Its description.
    pub what: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "page {}: {}", self.page, self.what)
    }
}

/// The most problems that one check reports.
const PROBLEMS_MAX: usize = 100;

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifyReport {
    /// Pages read.
    pub pages: u64,
    /// Rows that are no ghosts.
    pub rows: u64,
    /// All problems; empty when there are none.
    pub problems: Vec<Problem>,
}

impl VerifyReport {
    /// The problems, a line each.
    pub fn text(&self) -> String {
        self.problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("; ")
    }

    fn note(&mut self, page: PageId, damage: Damage, what: impl std::fmt::Display) {
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(Problem { page, damage, what: what.to_string() });
        }
    }
}

impl AccessMethods {
    /// Checks every unit named and, when `complete` (all units of the database are named), that no page is owned by anything
    /// else. The database must be at rest: pages are latched one at a time. An attention, KILL or shutdown ends it with an error.
    pub fn verify(&self, units: &[UnitToVerify], complete: bool) -> AccessResult<VerifyReport> {
        let mut check = Check { access: self, report: VerifyReport::default(), seen: FxHashMap::default() };
        for unit in units {
            match unit.kind {
                UnitKind::Heap => check.heap(unit)?,
                UnitKind::BTree => check.tree(unit)?,
            }
        }
        check.maps(units, complete)?;
        assert!(check.report.pages >= check.seen.len() as u64, "each page that is reached is looked at");
        Ok(check.report)
    }

    /// Checks the large values of a unit: each that rows point to is complete and has one pointer, and every page of a large value is in use.
    /// The unit must not change meanwhile.
    pub fn verify_lobs(&self, unit: UnitId, pointers: &[LobPointer]) -> AccessResult<VerifyReport> {
        let mut report = VerifyReport::default();
        let mut seen: FxHashSet<PageId> = FxHashSet::default();
        for pointer in pointers {
            self.verify_lob(unit, pointer, &mut seen, &mut report)?;
        }
        let mut pages = Vec::new();
        self.for_each_map(|map| {
            stop_if_asked()?;
            for page in entries(map.id()) {
                let told = owner(map.page(), page);
                match seen.contains(&page) {
                    false if told == unit.0 => pages.push(page),
                    true if told != unit.0 => {
                        let what = format!("holds a large value of unit {}, the map says {told:#x}", unit.0);
                        report.note(page, Damage::Owner, what);
                    }
                    _ => {}
                }
            }
            Ok(())
        })?;
        for page in pages {
            // The structure check reports a page that cannot be read.
            let is_lob = self.fix(page, LatchMode::Shared).is_ok_and(|guard| {
                header::page_type(guard.page()) == PageType::Lob && header::unit(guard.page()) == unit.0
            });
            if is_lob {
                report.note(page, Damage::UnusedLob, "holds a large value that no row points to");
            }
        }
        Ok(report)
    }

    fn verify_lob(
        &self,
        unit: UnitId,
        pointer: &LobPointer,
        seen: &mut FxHashSet<PageId>,
        report: &mut VerifyReport,
    ) -> AccessResult<()> {
        let (mut page, mut bytes) = (pointer.page, 0);
        while !page.is_null() {
            stop_if_asked()?;
            if !seen.insert(page) {
                report.note(page, Damage::BrokenLob, "is part of two large values");
                return Ok(());
            }
            report.pages += 1;
            let guard = match self.fix(page, LatchMode::Shared) {
                Ok(guard) => guard,
                Err(error) => {
                    report.note(page, Damage::BrokenLob, error);
                    return Ok(());
                }
            };
            match crate::lob::piece(guard.page()) {
                Some((stamp, data)) if stamp == pointer.stamp && header::unit(guard.page()) == unit.0 => {
                    bytes += data.len();
                }
                _ => {
                    let what = "is not the piece of a large value that it should be";
                    report.note(page, Damage::BrokenLob, what);
                    return Ok(());
                }
            }
            page = header::next(guard.page());
        }
        if bytes != pointer.bytes as usize {
            let what = format!("begins a large value of {bytes} bytes, its row says {}", pointer.bytes);
            report.note(pointer.page, Damage::BrokenLob, what);
        }
        Ok(())
    }

    /// Pages that belong to none of the units, and those marked as dropped by no active transaction: their unit's number then has
    /// the highest bit set. Pages of unfinished transactions that created them are not included.
    pub fn pages_of_nobody(
        &self,
        manager: &txn::TxnManager,
        known: impl Fn(UnitId) -> bool,
    ) -> AccessResult<Vec<(PageId, UnitId)>> {
        let mut found = Vec::new();
        self.for_each_map(|map| {
            stop_if_asked()?;
            // Read under the map's latch: a transaction that marks or frees its pages is already listed, or has not begun.
            let claimed = self.allocator.pages_pending();
            let owned = entries(map.id()).into_iter().map(|page| (page, owner(map.page(), page)));
            let strange = owned.filter(|(page, owner)| match owner & PENDING {
                0 => *owner != 0 && !known(UnitId(*owner)),
                _ => !claimed.contains(page),
            });
            found.extend(strange.map(|(page, owner)| (page, UnitId(owner))));
            Ok(())
        })?;
        // Pages allocated by an unfinished transaction may belong to a unit that is not yet known.
        found.retain(|(page, _)| match self.fix(*page, LatchMode::Shared) {
            Ok(guard) => guard.lsn() < manager.oldest_active_lsn(),
            Err(_) => true,
        });
        Ok(found)
    }
}

struct Check<'a> {
    access: &'a AccessMethods,
    report: VerifyReport,
    /// Every page reached, with its unit.
    seen: FxHashMap<PageId, u32>,
}

/// A page of a level in key order, and the neighbours that it names.
struct Link {
    page: PageId,
    prev: PageId,
    next: PageId,
}

impl Check<'_> {
    fn problem(&mut self, page: PageId, damage: Damage, what: impl std::fmt::Display) {
        self.report.note(page, damage, what);
    }

    /// Latches a page that must be sound and of this unit and type; `None` after noting what is wrong.
    fn page(&mut self, page: PageId, unit: UnitId, page_type: PageType) -> AccessResult<Option<PageGuard>> {
        stop_if_asked()?;
        let guard = match self.access.fix(page, LatchMode::Shared) {
            Ok(guard) => guard,
            Err(error) => {
                self.problem(page, Damage::Page, error);
                return Ok(None);
            }
        };
        self.report.pages += 1;
        if self.seen.insert(page, unit.0).is_some() {
            self.problem(page, Damage::Chain, "is reached twice");
            return Ok(None);
        }
        if header::page_type(guard.page()) != page_type || header::unit(guard.page()) != unit.0 {
            let found = (header::page_type(guard.page()), header::unit(guard.page()));
            self.problem(page, Damage::Page, format!("expected {page_type:?} of {unit:?}, found {found:?}"));
            return Ok(None);
        }
        if header::id(guard.page()) != page {
            self.problem(page, Damage::Page, format!("says that it is {}", header::id(guard.page())));
        }
        if let Err(what) = slots::verify(guard.page()) {
            self.problem(page, Damage::Page, what);
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
                self.problem(
                    page,
                    Damage::Chain,
                    format!("follows {previous} but says {}", header::prev(guard.page())),
                );
            }
            for (slot, row, flags) in slots::occupied(guard.page()) {
                let ghost = flags & slots::GHOST != 0;
                match flags & (slots::FORWARD | slots::FORWARDED) {
                    slots::FORWARD if !ghost => match Rid::from_bytes(row) {
                        Some(target) => drop(stubs.insert(target)),
                        None => self.problem(
                            page,
                            Damage::Forwarding,
                            format!("slot {slot} is no forwarding address"),
                        ),
                    },
                    slots::FORWARDED if !ghost => drop(forwarded.insert(Rid { page, slot })),
                    both if both == slots::FORWARD | slots::FORWARDED => self.problem(
                        page,
                        Damage::Forwarding,
                        format!("slot {slot} is a stub and a moved row at once"),
                    ),
                    _ => {}
                }
                if row.len() < ROW_BYTES_MIN {
                    let what = format!("slot {slot} has {} bytes: no room for a stub", row.len());
                    self.problem(page, Damage::Page, what);
                }
                self.report.rows += u64::from(!ghost && flags & slots::FORWARDED == 0);
            }
            (previous, last, page) = (page, page, header::next(guard.page()));
        }
        if told_last != last && !(told_last.is_null() && last == unit.page) {
            self.problem(
                unit.page,
                Damage::Chain,
                format!("names {told_last} as the last page, which is {last}"),
            );
        }
        let differs = |these: &FxHashSet<Rid>, those: &FxHashSet<Rid>| {
            let mut rids: Vec<Rid> = these.difference(those).copied().collect();
            rids.sort_unstable();
            rids
        };
        for rid in differs(&stubs, &forwarded) {
            let what = format!("slot {} holds no row, but is forwarded to", rid.slot);
            self.problem(rid.page, Damage::Forwarding, what);
        }
        for rid in differs(&forwarded, &stubs) {
            let what = format!("slot {} holds a forwarded row that nothing points to", rid.slot);
            self.problem(rid.page, Damage::Forwarding, what);
        }
        Ok(())
    }

    fn tree(&mut self, unit: &UnitToVerify) -> AccessResult<()> {
        let mut levels = Vec::new();
        self.subtree(unit, unit.page, None, None, None, &mut levels)?;
        levels.iter().for_each(|level| self.chain(level));
        Ok(())
    }

    /// Do the pages of one level, in key order, link to their neighbours?
    fn chain(&mut self, level: &[Link]) {
        for (index, link) in level.iter().enumerate() {
            let before = index.checked_sub(1).map_or(PageId::NULL, |index| level[index].page);
            let after = level.get(index + 1).map_or(PageId::NULL, |link| link.page);
            if (link.prev, link.next) != (before, after) {
                let told = (link.prev, link.next);
                self.problem(
                    link.page,
                    Damage::Chain,
                    format!("neighbours are {before} and {after}, told {told:?}"),
                );
            }
        }
    }

    /// Checks a page and all below it; its keys must lie in `low..high`.
    fn subtree(
        &mut self,
        unit: &UnitToVerify,
        page: PageId,
        level: Option<u8>,
        low: Option<&[u8]>,
        high: Option<&[u8]>,
        levels: &mut Vec<Vec<Link>>,
    ) -> AccessResult<()> {
        let Some(guard) = self.page(page, unit.unit, PageType::BTree)? else { return Ok(()) };
        let bytes = *guard.page();
        drop(guard);
        let count = header::slot_count(&bytes);
        let here = header::level(&bytes);
        if level.is_some_and(|level| level != here) {
            self.problem(page, Damage::Chain, format!("is on level {here}, not {level:?}"));
            return Ok(());
        }
        if levels.len() <= usize::from(here) {
            levels.resize_with(usize::from(here) + 1, Vec::new);
        }
        levels[usize::from(here)].push(Link { page, prev: header::prev(&bytes), next: header::next(&bytes) });
        if header::free_slots(&bytes) > 0 {
            self.problem(page, Damage::Page, "a tree page has free slots");
        }
        // The first key of an interior page has no meaning.
        let first = u16::from(here > 0);
        for slot in first..count {
            let key = key_at(&bytes, slot);
            let ascends = slot == first || key_at(&bytes, slot - 1) < key;
            let inside = low.is_none_or(|low| key >= low) && high.is_none_or(|high| key < high);
            if !ascends || !inside {
                self.problem(page, Damage::KeyOrder, format!("key of slot {slot} is out of order"));
            }
        }
        if here == 0 {
            let live = slots::occupied(&bytes).filter(|(_, _, flags)| flags & slots::GHOST == 0).count();
            self.report.rows += live as u64;
            return Ok(());
        }
        if count == 0 {
            self.problem(page, Damage::Chain, "an interior page has no children");
        }
        for slot in 0..count {
            let child = match child_at(&bytes, slot) {
                Ok(child) => child,
                Err(error) => {
                    self.problem(page, Damage::Chain, error);
                    continue;
                }
            };
            let child_low = if slot == 0 { low } else { Some(key_at(&bytes, slot)) };
            let child_high = if slot + 1 < count { Some(key_at(&bytes, slot + 1)) } else { high };
            self.subtree(unit, child, Some(here - 1), child_low, child_high, levels)?;
        }
        Ok(())
    }

    /// Every page reached must be its unit's in the maps; every page of a checked unit in the maps must have been reached,
    /// large objects apart.
    fn maps(&mut self, units: &[UnitToVerify], complete: bool) -> AccessResult<()> {
        let mut owners: Vec<(PageId, u32)> = Vec::new();
        self.access.for_each_map(|map| {
            stop_if_asked()?;
            let used = entries(map.id()).into_iter().map(|page| (page, owner(map.page(), page)));
            owners.extend(used.filter(|(_, owner)| *owner != 0));
            Ok(())
        })?;
        let mapped: FxHashMap<PageId, u32> = owners.iter().copied().collect();
        assert_eq!(mapped.len(), owners.len(), "a page has one entry in the maps");
        let reached: Vec<(PageId, u32)> = {
            let mut reached: Vec<_> = self.seen.iter().map(|(page, unit)| (*page, *unit)).collect();
            reached.sort_unstable();
            reached
        };
        for (page, unit) in reached {
            match mapped.get(&page) {
                Some(owner) if owner & !PENDING == unit => {}
                other => self.problem(
                    page,
                    Damage::Owner,
                    format!("is used by unit {unit}, the map says {other:?}"),
                ),
            }
        }
        for (page, unit) in owners {
            stop_if_asked()?;
            let is_known = units.iter().any(|known| known.unit.0 == unit & !PENDING);
            if !is_known && complete {
                self.problem(
                    page,
                    Damage::UnknownUnit,
                    format!("belongs to unit {unit}, which does not exist"),
                );
            }
            if is_known && !self.seen.contains_key(&page) && unit & PENDING == 0 && !self.is_lob(page, unit) {
                self.problem(
                    page,
                    Damage::Unreached,
                    format!("belongs to unit {unit} but is not reached from it"),
                );
            }
        }
        Ok(())
    }

    /// Large values are checked from their rows; one that cannot be read is reported here.
    fn is_lob(&mut self, page: PageId, unit: u32) -> bool {
        let Ok(guard) = self.access.fix(page, LatchMode::Shared) else { return false };
        self.report.pages += 1;
        header::page_type(guard.page()) == PageType::Lob && header::unit(guard.page()) == unit
    }
}
