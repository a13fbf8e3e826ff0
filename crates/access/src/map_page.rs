//! Map pages: the owner of each page of an interval, and the map changes of log records.

use log::Lsn;
use log::page_records::{MapBits, MapChange, UnitCreate};
use pages::{BOOT_PAGE, HEADER_BYTES, PageBytes, PageGuard, PageId, PageType, header};

use crate::error::{AccessError, AccessResult};

/// Pages of an interval: one per entry of its map page.
pub(crate) const INTERVAL_PAGES: u32 = 2024;
/// The position of the map page in its interval.
pub(crate) const MAP_INDEX: u32 = 1;
/// The page will be free when the transaction that freed it has committed.
pub(crate) const PENDING: u32 = 0x8000_0000;

const _: () =
    assert!(INTERVAL_PAGES as usize * 4 == pages::BODY_BYTES, "a map has an entry for each of its pages");
const _: () =
    assert!(MAP_INDEX < INTERVAL_PAGES && BOOT_PAGE.page != MAP_INDEX, "system pages do not share a place");

/// A free page, to be formatted, and its map page. Both are latched exclusively.
pub(crate) struct FreePage {
    pub(crate) map: PageGuard,
    pub(crate) guard: PageGuard,
}

/// The map page that records the owner of `page`.
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
    assert_eq!(self::owner(map, page), owner, "the map says who owns the page");
}

/// Formats the first page of a unit.
pub(crate) fn apply_create(page: &mut PageBytes, create: &UnitCreate) {
    let id = PageId::unpack(create.page);
    assert!(!is_system_page(id), "page {id} belongs to the system");
    header::format(page, id, PageType::from_code(create.page_type), 0, create.unit);
    header::set_flags(page, create.page_flags);
}

/// Do all pages of a [`MapBits`] record have an owner in the map? If one has none, the map was lost: a page without an owner is not freed.
pub(crate) fn check_bits(map: &PageGuard, bits: &MapBits) -> AccessResult<()> {
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
            if owner(map.page(), page) & !PENDING == 0 {
                let what = format!("says that page {page} is nobody's, which a log record gives up or keeps");
                return Err(AccessError::corrupt(map_id, what));
            }
        }
    }
    Ok(())
}

/// Makes the change of a [`MapBits`] record to its latched map page.
pub(crate) fn apply_bits(map: &mut PageGuard, bits: &MapBits, lsn: Lsn) -> AccessResult<()> {
    check_bits(map, bits)?;
    let map_id = map.id();
    let base = map_id.page - MAP_INDEX;
    for &(first, count) in &bits.runs {
        for index in u32::from(first)..u32::from(first) + u32::from(count) {
            let page = PageId::new(map_id.file, base + index);
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

/// Every page that has an entry in a map page.
pub(crate) fn entries(map_id: PageId) -> Vec<PageId> {
    assert_eq!(map_of(map_id), map_id, "only a map page has entries");
    let base = map_id.page - MAP_INDEX;
    (base..base + INTERVAL_PAGES).map(|number| PageId::new(map_id.file, number)).collect()
}

/// The pages that a map gives to a unit.
pub(crate) fn pages_of_unit(map: &PageBytes, map_id: PageId, unit: u32) -> Vec<PageId> {
    let mut pages = entries(map_id);
    pages.retain(|page| owner(map, *page) == unit);
    pages
}

/// Groups adjacent pages: (first entry, number of entries).
pub(crate) fn runs_of(pages: &[PageId]) -> Vec<(u16, u16)> {
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

/// The pages that a record about a map names. It may name entries beyond the map: see [`check_bits`].
pub(crate) fn pages_of_runs(map_id: PageId, runs: &[(u16, u16)]) -> impl Iterator<Item = PageId> {
    let base = map_id.page - MAP_INDEX;
    let indices =
        runs.iter().flat_map(|&(first, count)| u32::from(first)..u32::from(first) + u32::from(count));
    indices.filter(|index| *index < INTERVAL_PAGES).map(move |index| PageId::new(map_id.file, base + index))
}

/// Is the page a map, or one that was never formatted?
pub(crate) fn check_map(map_id: PageId, map: &PageBytes) -> AccessResult<()> {
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

    #[test]
    fn runs_join_neighbours() {
        let pages: Vec<PageId> = [3, 4, 5, 9, 2023].iter().map(|n| PageId::new(1, *n)).collect();
        assert_eq!(runs_of(&pages), vec![(3, 3), (9, 1), (2023, 1)]);
    }
}
