//! Corruptions ("lies") that no single field reveals: keys out of order, changes missing from the log, pages whose links form a circle,
//! a page that the allocation map shows as free although its table needs it. All assume that the file was consistent.

use os::Rng;
use pages::{BOOT_PAGE, PAGE_BYTES, PageBytes, PageId, PageType, SLOT_BYTES, header, slots};

use super::corrupt_pages::Pages;
use super::refusal::Units;

/// Position of the LSN in a page header.
const LSN: std::ops::Range<usize> = 8..16;
/// The first bit of the number of the VLF in an LSN.
const VLF_SHIFT: u32 = 40;
/// The file's header, its first allocation map, the boot page.
const SYSTEM_PAGES: [usize; 3] = [0, 1, BOOT_PAGE.page as usize];
/// The log has no VLF that is so many VLFs ahead.
const VLFS_AHEAD: u64 = 1_000;

fn is_tree(page: &PageBytes) -> bool {
    header::page_type(page) == PageType::BTree
}

/// Corrupts a tree page: a key of length 0, a key longer than its row, or keys out of order.
pub(super) fn keys(pages: &mut Pages, rng: &mut Rng) -> Option<usize> {
    let page = pages.draw(rng, |page| {
        is_tree(page) && header::slot_count(page) > 1 + 2 * u16::from(header::level(page) > 0)
    })?;
    let bytes = &mut pages.0[page];
    // The first key of an interior page has no meaning.
    let first = u16::from(header::level(bytes) > 0);
    match rng.below(3) {
        0 => {
            let (row, flags) = (slots::row(bytes, first)?.to_vec(), slots::flags(bytes, first));
            let key_bytes = usize::from(u16::from_le_bytes([row[0], row[1]]));
            slots::remove(bytes, first);
            slots::insert(bytes, first, &[&[0, 0], &row[2 + key_bytes..]], flags & slots::GHOST);
        }
        1 => {
            let slot = first + rng.below(u64::from(header::slot_count(bytes) - first)) as u16;
            let row = slots::row_mut(bytes, slot)?;
            let too_many = (row.len() as u16).to_le_bytes();
            row[..2].copy_from_slice(&too_many);
        }
        _ => {
            let slot = first + rng.below(u64::from(header::slot_count(bytes) - 1 - first)) as u16;
            let entry = |slot: u16| PAGE_BYTES - SLOT_BYTES * (usize::from(slot) + 1);
            (0..SLOT_BYTES).for_each(|byte| bytes.swap(entry(slot) + byte, entry(slot + 1) + byte));
        }
    }
    Some(page)
}

/// Gives a page an LSN that the log has not reached yet.
pub(super) fn future(pages: &mut Pages, rng: &mut Rng) -> Option<usize> {
    let page = pages.draw(rng, |_| true)?;
    let ahead = header::lsn(&pages.0[page]).raw() + (VLFS_AHEAD << VLF_SHIFT);
    pages.0[page][LSN].copy_from_slice(&ahead.to_le_bytes());
    Some(page)
}

/// Links the first pages of a chain into a circle: the last of them points to the first. Half of the circles of tree leaves also
/// lose their rows, so that no key shows that a scan has been there before.
pub(super) fn circle(pages: &mut Pages, rng: &mut Rng) -> Option<usize> {
    let page_of = |id: PageId| pages.0.get(id.page as usize).filter(|_| !id.is_null());
    let first = pages.draw(rng, |page| {
        let begins = match header::page_type(page) {
            PageType::BTree => header::prev(page).is_null(),
            // The first page of a heap points to the last.
            PageType::Heap => page_of(header::prev(page)).is_some_and(|last| header::next(last).is_null()),
            _ => false,
        };
        begins && !header::next(page).is_null()
    })?;
    let is_tree = is_tree(&pages.0[first]);
    let (length, is_empty) = (1 + rng.below(3) as usize, is_tree && rng.chance(1, 2));
    let mut chain = vec![first];
    while !is_tree || chain.len() <= length {
        let next = header::next(&pages.0[chain[chain.len() - 1]]);
        if next.is_null() || next.page as usize >= pages.0.len() {
            break;
        }
        chain.push(next.page as usize);
    }
    let last = chain[chain.len() - 1];
    header::set_next(&mut pages.0[last], PageId::new(1, first as u32));
    header::set_prev(&mut pages.0[first], PageId::new(1, last as u32));
    if is_empty && header::level(&pages.0[first]) == 0 {
        for page in chain {
            slots::truncate(&mut pages.0[page], 0);
            header::set_reserved_bytes(&mut pages.0[page], 0);
        }
    }
    Some(first)
}

/// A root, or a heap page, that the map shows as free: a session that allocates a page for the table has it latched.
pub(super) fn given(pages: &mut Pages, rng: &mut Rng, units: &Units) -> Option<usize> {
    let page = pages.draw(rng, |page| {
        let is_root = header::level(page) > 0 && header::prev(page).is_null() && header::next(page).is_null();
        let is_needed = is_root || header::page_type(page) == PageType::Heap;
        is_needed && units.table_of(header::unit(page)).is_some()
    })?;
    pages.set_owner(page, 0);
    Some(page)
}

/// A system page that the map assigns to a table.
pub(super) fn system(pages: &mut Pages, rng: &mut Rng, units: &Units) -> Option<usize> {
    let page = SYSTEM_PAGES[rng.below(SYSTEM_PAGES.len() as u64) as usize];
    pages.set_owner(page, units.draw(rng)?);
    Some(page)
}
