//! Slotted page operations: rows grow from the header upward, the slot array from the end of the page downward.
//!
//! A slot is 4 bytes: offset of its row, and the row's length with three flag bits. Offset 0 is a free slot (heaps keep slot
//! numbers; trees shift the array). Every operation depends only on the page's own bytes, so redo repeats it exactly.

use crate::header::{self, PageType};
use crate::page_id::{BODY_BYTES, HEADER_BYTES, PAGE_BYTES, PageBytes, SLOT_BYTES};

/// The row is deleted, its bytes are kept: the deleting transaction may roll back, or ghost cleanup has not run yet.
pub const GHOST: u16 = 0x8000;
/// The row moved: the bytes are its new address.
pub const FORWARD: u16 = 0x4000;
/// The row was moved here; it is reached through its forwarding address only.
pub const FORWARDED: u16 = 0x2000;
/// All flag bits.
pub const SLOT_FLAGS: u16 = GHOST | FORWARD | FORWARDED;

const LENGTH_MASK: u16 = !SLOT_FLAGS;
const _: () = assert!(PAGE_BYTES <= LENGTH_MASK as usize + 1);
const _: () = assert!(GHOST & FORWARD == 0 && GHOST & FORWARDED == 0 && FORWARD & FORWARDED == 0);

#[inline]
fn slot_at(slot: u16) -> usize {
    debug_assert!(usize::from(slot) < BODY_BYTES / SLOT_BYTES, "no page has slot {slot}");
    PAGE_BYTES - SLOT_BYTES * (usize::from(slot) + 1)
}

#[inline]
fn entry(page: &PageBytes, slot: u16) -> (usize, u16) {
    let at = slot_at(slot);
    let offset = u16::from_le_bytes([page[at], page[at + 1]]);
    let length = u16::from_le_bytes([page[at + 2], page[at + 3]]);
    (usize::from(offset), length)
}

#[inline]
fn set_entry(page: &mut PageBytes, slot: u16, offset: usize, length_and_flags: u16) {
    let at = slot_at(slot);
    let row_bytes = usize::from(length_and_flags & LENGTH_MASK);
    assert!(offset == 0 || (HEADER_BYTES..=at).contains(&offset), "a row at {offset} is outside the body");
    assert!((offset == 0) == (row_bytes == 0), "slot {slot}: {row_bytes} bytes at {offset}");
    assert!(offset + row_bytes <= at, "a row ends before its slot");
    page[at..at + 2].copy_from_slice(&(offset as u16).to_le_bytes());
    page[at + 2..at + 4].copy_from_slice(&length_and_flags.to_le_bytes());
}

/// Invariant after every operation: the counts of the header fit the page and each other.
#[inline]
fn assert_state(page: &PageBytes) {
    let count = header::slot_count(page);
    let array_bytes = SLOT_BYTES * usize::from(count);
    assert!(array_bytes <= BODY_BYTES, "{count} slots");
    let (free_offset, free_bytes) = (header::free_offset(page), header::free_bytes(page));
    assert!((HEADER_BYTES..=PAGE_BYTES - array_bytes).contains(&free_offset), "rows end at {free_offset}");
    assert!(free_bytes >= PAGE_BYTES - array_bytes - free_offset, "the gap behind the rows is free");
    assert!(free_bytes <= BODY_BYTES - array_bytes, "{free_bytes} bytes are free beside {count} slots");
    let (free_slots, ghosts) = (header::free_slots(page), header::ghosts(page));
    assert!(u32::from(free_slots) + u32::from(ghosts) <= u32::from(count), "a free slot is no ghost");
}

/// The row of a slot; `None` for a free slot or one beyond the array.
#[inline]
pub fn row(page: &PageBytes, slot: u16) -> Option<&[u8]> {
    if slot >= header::slot_count(page) {
        return None;
    }
    let (offset, length) = entry(page, slot);
    if offset == 0 {
        return None;
    }
    page.get(offset..offset + usize::from(length & LENGTH_MASK))
}

/// The row's bytes for a change in place that keeps its length.
pub fn row_mut(page: &mut PageBytes, slot: u16) -> Option<&mut [u8]> {
    if slot >= header::slot_count(page) {
        return None;
    }
    let (offset, length) = entry(page, slot);
    if offset == 0 {
        return None;
    }
    page.get_mut(offset..offset + usize::from(length & LENGTH_MASK))
}

/// The flags of a slot in the array (0 for a free slot).
#[inline]
pub fn flags(page: &PageBytes, slot: u16) -> u16 {
    if slot >= header::slot_count(page) {
        return 0;
    }
    entry(page, slot).1 & SLOT_FLAGS
}

/// Sets the flags of an occupied slot and keeps the count of ghosts.
pub fn set_flags(page: &mut PageBytes, slot: u16, flags: u16) {
    assert!(slot < header::slot_count(page), "slot {slot} beyond the array");
    let (offset, length) = entry(page, slot);
    assert!(offset != 0, "flags of free slot {slot}");
    assert_flags(flags);
    count_ghost(page, length, flags);
    set_entry(page, slot, offset, length & LENGTH_MASK | flags);
    assert_state(page);
    debug_assert_eq!(self::flags(page, slot), flags, "what is set can be read back");
}

/// A row is in place, moved away, or moved here: never both of the latter.
#[inline]
fn assert_flags(flags: u16) {
    assert!(flags & LENGTH_MASK == 0, "no flags: {flags:#x}");
    assert!(flags & (FORWARD | FORWARDED) != FORWARD | FORWARDED, "a stub is no moved row");
}

fn count_ghost(page: &mut PageBytes, before: u16, after: u16) {
    assert!(before & GHOST == 0 || header::ghosts(page) > 0, "a ghost is counted");
    let ghosts = header::ghosts(page) - u16::from(before & GHOST != 0) + u16::from(after & GHOST != 0);
    header::set_ghosts(page, ghosts);
}

/// Bytes that a new row may take, without its slot: free bytes less those reserved for undo.
#[inline]
pub fn room(page: &PageBytes) -> usize {
    header::free_bytes(page).saturating_sub(header::reserved_bytes(page))
}

/// Does a new row of `row_bytes` in a new slot fit without the bytes reserved for undo?
#[inline]
pub fn fits(page: &PageBytes, row_bytes: usize) -> bool {
    row_bytes + SLOT_BYTES <= room(page)
}

/// Is it a slot of the array without a row?
#[inline]
pub fn is_free(page: &PageBytes, slot: u16) -> bool {
    assert!(usize::from(slot) < BODY_BYTES / SLOT_BYTES, "no page has slot {slot}");
    slot < header::slot_count(page) && entry(page, slot).0 == 0
}

/// The slot in which [`put`] would place a new row of a heap: a free one, else a new one.
pub fn vacant_slot(page: &PageBytes) -> u16 {
    let count = header::slot_count(page);
    if header::free_slots(page) == 0 {
        return count;
    }
    let free = (0..count).find(|&slot| entry(page, slot).0 == 0);
    debug_assert!(free.is_some(), "{} free slots are told", header::free_slots(page));
    free.unwrap_or(count)
}

/// Puts a row (given in pieces) into a free slot, or the slot after the last, or one further on (redo of a heap whose slots
/// were filled in another order: those between become free slots). Panics when it does not fit: callers check [`fits`].
pub fn put(page: &mut PageBytes, slot: u16, pieces: &[&[u8]], flags: u16) {
    let count = header::slot_count(page);
    assert!(slot >= count || header::page_type(page) != PageType::BTree, "the slots of a tree have no gaps");
    let bytes = pieces.iter().map(|piece| piece.len()).sum();
    if slot < count {
        assert!(entry(page, slot).0 == 0, "slot {slot} is occupied");
        assert!(header::free_slots(page) > 0, "a free slot is counted");
        header::set_free_slots(page, header::free_slots(page) - 1);
        make_contiguous(page, bytes);
    } else {
        let added = usize::from(slot - count) + 1;
        make_contiguous(page, bytes + SLOT_BYTES * added);
        for between in count..slot {
            set_entry(page, between, 0, 0);
        }
        header::set_slot_count(page, slot + 1);
        header::set_free_slots(page, header::free_slots(page) + (slot - count));
        header::set_free_bytes(page, header::free_bytes(page) - SLOT_BYTES * added);
    }
    place(page, slot, pieces, bytes, flags);
}

/// Puts a row at `slot`, moving that slot and all after it up by one (trees). Panics when it does not fit.
pub fn insert(page: &mut PageBytes, slot: u16, pieces: &[&[u8]], flags: u16) {
    let count = header::slot_count(page);
    assert!(slot <= count, "insert at slot {slot} of {count}");
    assert!(header::page_type(page) != PageType::Heap, "the slots of a heap keep their numbers");
    assert_eq!(header::free_slots(page), 0, "a shifted array has no free slots");
    let bytes = pieces.iter().map(|piece| piece.len()).sum();
    make_contiguous(page, bytes + SLOT_BYTES);
    let end = slot_at(slot) + SLOT_BYTES;
    let start = PAGE_BYTES - SLOT_BYTES * usize::from(count);
    page.copy_within(start..end, start - SLOT_BYTES);
    header::set_slot_count(page, count + 1);
    header::set_free_bytes(page, header::free_bytes(page) - SLOT_BYTES);
    place(page, slot, pieces, bytes, flags);
}

fn place(page: &mut PageBytes, slot: u16, pieces: &[&[u8]], bytes: usize, flags: u16) {
    let offset = header::free_offset(page);
    assert!(slot < header::slot_count(page), "slot {slot} beyond the array");
    assert!(bytes <= header::free_bytes(page), "{bytes} bytes into {}", header::free_bytes(page));
    let mut at = offset;
    for piece in pieces {
        page[at..at + piece.len()].copy_from_slice(piece);
        at += piece.len();
    }
    assert!(bytes > 0, "a row has bytes");
    assert!(at <= slot_at(slot), "rows end before the slots begin");
    assert_flags(flags);
    count_ghost(page, 0, flags);
    set_entry(page, slot, offset, bytes as u16 | flags);
    header::set_free_offset(page, at);
    header::set_free_bytes(page, header::free_bytes(page) - bytes);
    assert_state(page);
    debug_assert!(
        row(page, slot).is_some_and(|row| row.iter().eq(pieces.iter().copied().flatten())),
        "what is placed can be read back"
    );
}

/// Empties a slot and keeps its number; free slots at the end of the array are removed.
pub fn free(page: &mut PageBytes, slot: u16) {
    assert!(header::page_type(page) != PageType::BTree, "the slots of a tree have no gaps");
    release_row(page, slot);
    set_entry(page, slot, 0, 0);
    let mut count = header::slot_count(page);
    let mut free_slots = header::free_slots(page) + 1;
    let mut returned = 0;
    while count > 0 && entry(page, count - 1).0 == 0 {
        count -= 1;
        free_slots -= 1;
        returned += SLOT_BYTES;
    }
    header::set_slot_count(page, count);
    header::set_free_slots(page, free_slots);
    header::set_free_bytes(page, header::free_bytes(page) + returned);
    assert!(count == 0 || entry(page, count - 1).0 != 0, "the last slot of the array has a row");
    assert_state(page);
}

/// Removes a slot, moving all after it down by one (trees).
pub fn remove(page: &mut PageBytes, slot: u16) {
    assert!(header::page_type(page) != PageType::Heap, "the slots of a heap keep their numbers");
    assert_eq!(header::free_slots(page), 0, "a shifted array has no free slots");
    release_row(page, slot);
    let count = header::slot_count(page);
    let start = PAGE_BYTES - SLOT_BYTES * usize::from(count);
    page.copy_within(start..slot_at(slot), start + SLOT_BYTES);
    header::set_slot_count(page, count - 1);
    header::set_free_bytes(page, header::free_bytes(page) + SLOT_BYTES);
    assert_state(page);
}

/// Removes every slot from `slot` on (trees: the left half of a split).
pub fn truncate(page: &mut PageBytes, slot: u16) {
    while header::slot_count(page) > slot {
        remove(page, header::slot_count(page) - 1);
    }
    assert!(header::slot_count(page) <= slot);
    assert_state(page);
}

fn release_row(page: &mut PageBytes, slot: u16) {
    assert!(slot < header::slot_count(page), "slot {slot} beyond the array");
    let (offset, length) = entry(page, slot);
    assert!(offset != 0, "slot {slot} is already free");
    let bytes = usize::from(length & LENGTH_MASK);
    assert!(offset + bytes <= header::free_offset(page), "slot {slot}: the row ends behind the last row");
    count_ghost(page, length, 0);
    if offset + bytes == header::free_offset(page) {
        header::set_free_offset(page, offset);
    }
    header::set_free_bytes(page, header::free_bytes(page) + bytes);
}

/// Replaces `old_bytes` bytes at `at` inside the row by `new`, keeping flags. Panics when the page has no room for growth.
pub fn splice(page: &mut PageBytes, slot: u16, at: usize, old_bytes: usize, new: &[u8]) {
    assert!(slot < header::slot_count(page), "slot {slot} beyond the array");
    let (offset, length) = entry(page, slot);
    let (bytes, flags) = (usize::from(length & LENGTH_MASK), length & SLOT_FLAGS);
    assert!(offset != 0 && at + old_bytes <= bytes, "splice {at}+{old_bytes} in a row of {bytes}");
    if new.len() == old_bytes {
        page[offset + at..offset + at + old_bytes].copy_from_slice(new);
        return;
    }
    let mut row = [0u8; PAGE_BYTES];
    let after = bytes - old_bytes + new.len();
    assert!(after > 0 && after <= BODY_BYTES, "a row of {after} bytes");
    row[..at].copy_from_slice(&page[offset..offset + at]);
    row[at..at + new.len()].copy_from_slice(new);
    row[at + new.len()..after].copy_from_slice(&page[offset + at + old_bytes..offset + bytes]);
    replace(page, slot, &row[..after], flags);
    debug_assert_eq!(self::row(page, slot), Some(&row[..after]), "what is placed can be read back");
}

/// Replaces a whole row and its flags. Panics when the page has no room for growth.
pub fn replace(page: &mut PageBytes, slot: u16, row: &[u8], flags: u16) {
    let (offset, length) = entry(page, slot);
    let bytes = usize::from(length & LENGTH_MASK);
    assert!(offset != 0 && slot < header::slot_count(page), "replace free slot {slot}");
    assert!(!row.is_empty(), "a row has bytes");
    assert_flags(flags);
    assert_state(page);
    if row.len() <= bytes {
        page[offset..offset + row.len()].copy_from_slice(row);
        count_ghost(page, length, flags);
        set_entry(page, slot, offset, row.len() as u16 | flags);
        if offset + bytes == header::free_offset(page) {
            header::set_free_offset(page, offset + row.len());
        }
        header::set_free_bytes(page, header::free_bytes(page) + bytes - row.len());
        assert_state(page);
        debug_assert_eq!(self::row(page, slot), Some(row), "what is placed can be read back");
        return;
    }
    release_row(page, slot);
    set_entry(page, slot, 0, 0);
    make_contiguous(page, row.len());
    place(page, slot, &[row], row.len(), flags);
}

/// Makes `bytes` available between the rows and the slot array, compacting the rows when needed.
fn make_contiguous(page: &mut PageBytes, bytes: usize) {
    assert!(bytes <= header::free_bytes(page), "{bytes} bytes asked of {}", header::free_bytes(page));
    let array = PAGE_BYTES - SLOT_BYTES * usize::from(header::slot_count(page));
    if array - header::free_offset(page) < bytes {
        compact(page);
    }
    assert!(array - header::free_offset(page) >= bytes, "what is free lies between rows and slots");
}

/// Compacts all rows, in slot order.
pub fn compact(page: &mut PageBytes) {
    let before = *page;
    let mut at = HEADER_BYTES;
    for slot in 0..header::slot_count(page) {
        let (offset, length) = entry(page, slot);
        if offset == 0 {
            continue;
        }
        let bytes = usize::from(length & LENGTH_MASK);
        assert!(offset >= HEADER_BYTES, "slot {slot}: a row at {offset}");
        assert!(
            offset + bytes <= header::free_offset(&before),
            "slot {slot}: the row ends behind the last row"
        );
        page[at..at + bytes].copy_from_slice(&before[offset..offset + bytes]);
        set_entry(page, slot, at, length);
        at += bytes;
    }
    header::set_free_offset(page, at);
    let array = PAGE_BYTES - SLOT_BYTES * usize::from(header::slot_count(page));
    assert_eq!(header::free_bytes(page), array - at, "all that is free lies between rows and slots");
    assert_state(page);
}

/// The slots that hold rows, in array order.
pub fn occupied(page: &PageBytes) -> impl Iterator<Item = (u16, &[u8], u16)> {
    (0..header::slot_count(page)).filter_map(|slot| row(page, slot).map(|row| (slot, row, flags(page, slot))))
}

/// Checks that header and slot array agree with each other: a damaged page must be checked before any other
/// function here may be used on it. The text says what is wrong. Called for every page that is read: no allocation, and rows that are
/// in the order of their slots, as on most pages, are not sorted.
pub fn verify(page: &PageBytes) -> Result<(), String> {
    let count = usize::from(header::slot_count(page));
    if count * SLOT_BYTES > BODY_BYTES {
        return Err(format!("{count} slots do not fit"));
    }
    let array = PAGE_BYTES - count * SLOT_BYTES;
    let free_offset = header::free_offset(page);
    if free_offset < HEADER_BYTES || free_offset > array {
        return Err(format!("rows end at {free_offset}, slots begin at {array}"));
    }
    let (mut used, mut free_slots, mut ghosts) = (count * SLOT_BYTES, 0, 0);
    let (mut end_before, mut is_in_order) = (HEADER_BYTES, true);
    for slot in 0..count as u16 {
        let (offset, length) = entry(page, slot);
        let bytes = usize::from(length & LENGTH_MASK);
        if offset == 0 {
            free_slots += 1;
            continue;
        }
        if offset < HEADER_BYTES || bytes == 0 || offset + bytes > free_offset {
            return Err(format!("slot {slot}: {bytes} bytes at {offset} lie outside the rows"));
        }
        ghosts += u16::from(length & GHOST != 0);
        is_in_order &= offset >= end_before;
        end_before = offset + bytes;
        used += bytes;
    }
    if !is_in_order {
        refuse_overlaps(page, count)?;
    }
    // Rows that do not overlap fit beside their slots.
    assert!(used <= BODY_BYTES, "{used} bytes in a body of {BODY_BYTES}");
    if header::free_bytes(page) != BODY_BYTES - used {
        return Err(format!("{} free bytes told, {} found", header::free_bytes(page), BODY_BYTES - used));
    }
    if header::free_slots(page) != free_slots {
        return Err(format!("{} free slots told, {free_slots} found", header::free_slots(page)));
    }
    if header::ghosts(page) != ghosts {
        return Err(format!("{} ghosts told, {ghosts} found", header::ghosts(page)));
    }
    Ok(())
}

/// An error when two rows share bytes; all of them are inside the page.
fn refuse_overlaps(page: &PageBytes, count: usize) -> Result<(), String> {
    assert!(count <= BODY_BYTES / SLOT_BYTES, "the caller has counted the slots");
    let mut spans = [(0u16, 0u16); BODY_BYTES / SLOT_BYTES];
    for slot in 0..count as u16 {
        let (offset, length) = entry(page, slot);
        spans[usize::from(slot)] = (offset as u16, if offset == 0 { 0 } else { length & LENGTH_MASK });
    }
    let spans = &mut spans[..count];
    spans.sort_unstable();
    match spans.windows(2).find(|pair| pair[0].0 + pair[0].1 > pair[1].0) {
        Some(pair) => Err(format!("rows overlap at {}", pair[1].0)),
        None => Ok(()),
    }
}

#[cfg(test)]
#[path = "slots_tests.rs"]
mod tests;
