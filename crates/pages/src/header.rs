//! The 96-byte page header: the offset of each field, and how it is read and written (docs/formats/page.md).

use log::Lsn;

use crate::page_id::{BODY_BYTES, HEADER_BYTES, PAGE_BYTES, PageBytes, PageId, SLOT_BYTES};

/// The version of the page format that this code writes; 0 in pages that were never formatted.
pub const PAGE_FORMAT_VERSION: u8 = 1;

const VERSION: usize = 0;
const TYPE: usize = 1;
const LEVEL: usize = 2;
const FLAGS: usize = 3;
const CHECKSUM: usize = 4;
const LSN: usize = 8;
const ID: usize = 16;
const SLOT_COUNT: usize = 22;
const PREV: usize = 24;
const FREE_OFFSET: usize = 30;
const NEXT: usize = 32;
const FREE_BYTES: usize = 38;
const UNIT: usize = 40;
const RESERVED_BYTES: usize = 44;
const FREE_SLOTS: usize = 46;
const LAST_REMOVER: usize = 48;
const GHOSTS: usize = 56;
const _: () = assert!(GHOSTS + 2 <= HEADER_BYTES);
const _: () = assert!(CHECKSUM + 4 <= LSN && LSN + 8 <= ID && ID + 6 <= SLOT_COUNT && SLOT_COUNT + 2 <= PREV);
const _: () = assert!(PREV + 6 <= FREE_OFFSET && FREE_OFFSET + 2 <= NEXT && NEXT + 6 <= FREE_BYTES);
const _: () =
    assert!(FREE_BYTES + 2 <= UNIT && UNIT + 4 <= RESERVED_BYTES && RESERVED_BYTES + 2 <= FREE_SLOTS);
const _: () = assert!(FREE_SLOTS + 2 <= LAST_REMOVER && LAST_REMOVER + 8 <= GHOSTS);

/// The type of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum PageType {
    /// Never formatted, or bytes that name no type.
    Empty = 0,
    /// Rows of a heap.
    Heap = 1,
    /// A page of a B+tree; level 0 is a leaf.
    BTree = 2,
    /// A piece of a large object.
    Lob = 3,
    /// The owner of each page of an interval of the file.
    AllocationMap = 8,
    /// Page 0 of a file.
    FileHeader = 15,
    /// The facts of the database that are needed before anything else can be read.
    Boot = 13,
}

impl PageType {
    /// From the header's byte; `Empty` for a byte that names none.
    pub const fn from_code(code: u8) -> PageType {
        match code {
            1 => PageType::Heap,
            2 => PageType::BTree,
            3 => PageType::Lob,
            8 => PageType::AllocationMap,
            13 => PageType::Boot,
            15 => PageType::FileHeader,
            _ => PageType::Empty,
        }
    }

    /// The name that `hardpan page dump` prints.
    pub fn name(self) -> &'static str {
        match self {
            PageType::Empty => "EMPTY",
            PageType::Heap => "HEAP_PAGE",
            PageType::BTree => "INDEX_PAGE",
            PageType::Lob => "TEXT_PAGE",
            PageType::AllocationMap => "ALLOCATION_MAP",
            PageType::FileHeader => "FILE_HEADER",
            PageType::Boot => "BOOT_PAGE",
        }
    }
}

// What a page is formatted as is what its type byte is read as.
const _: () = {
    use PageType::*;
    let (all, mut at) = ([Empty, Heap, BTree, Lob, AllocationMap, FileHeader, Boot], 0);
    while at < all.len() {
        assert!(PageType::from_code(all[at] as u8) as u8 == all[at] as u8, "each type is known by its code");
        at += 1;
    }
};

#[inline]
fn u16_at(page: &PageBytes, at: usize) -> u16 {
    u16::from_le_bytes([page[at], page[at + 1]])
}

#[inline]
fn put_u16(page: &mut PageBytes, at: usize, value: u16) {
    page[at..at + 2].copy_from_slice(&value.to_le_bytes());
}

#[inline]
fn u32_at(page: &PageBytes, at: usize) -> u32 {
    u32::from_le_bytes([page[at], page[at + 1], page[at + 2], page[at + 3]])
}

#[inline]
fn u64_at(page: &PageBytes, at: usize) -> u64 {
    u64::from(u32_at(page, at)) | u64::from(u32_at(page, at + 4)) << 32
}

#[inline]
fn id_at(page: &PageBytes, at: usize) -> PageId {
    PageId { page: u32_at(page, at), file: u16_at(page, at + 4) }
}

/// The format version; 0 means never formatted.
#[inline]
pub fn version(page: &PageBytes) -> u8 {
    page[VERSION]
}

/// The type of the page.
#[inline]
pub fn page_type(page: &PageBytes) -> PageType {
    PageType::from_code(page[TYPE])
}

/// The byte of the page type, unchecked.
pub(crate) fn type_code(page: &PageBytes) -> u8 {
    page[TYPE]
}

/// Height above the leaves of a tree: 0 for leaves and for every page outside trees.
#[inline]
pub fn level(page: &PageBytes) -> u8 {
    page[LEVEL]
}

/// Bits that the owner of the page defines.
#[inline]
pub fn flags(page: &PageBytes) -> u8 {
    page[FLAGS]
}

/// Sets the owner's bits.
pub fn set_flags(page: &mut PageBytes, flags: u8) {
    assert!(version(page) != 0, "only a formatted page has flags");
    page[FLAGS] = flags;
}

/// CRC-32C of the page as last written, the field itself counted as zero.
pub fn checksum(page: &PageBytes) -> u32 {
    u32_at(page, CHECKSUM)
}

pub(crate) fn set_checksum(page: &mut PageBytes, value: u32) {
    page[CHECKSUM..CHECKSUM + 4].copy_from_slice(&value.to_le_bytes());
}

/// The log record that changed the page last.
#[inline]
pub fn lsn(page: &PageBytes) -> Lsn {
    Lsn::from_raw(u64_at(page, LSN))
}

#[inline]
pub(crate) fn set_lsn(page: &mut PageBytes, lsn: Lsn) {
    page[LSN..LSN + 8].copy_from_slice(&lsn.raw().to_le_bytes());
}

/// The page's own address.
pub fn id(page: &PageBytes) -> PageId {
    id_at(page, ID)
}

/// Entries of the slot array.
#[inline]
pub fn slot_count(page: &PageBytes) -> u16 {
    u16_at(page, SLOT_COUNT)
}

#[inline]
pub(crate) fn set_slot_count(page: &mut PageBytes, count: u16) {
    assert!(usize::from(count) * SLOT_BYTES <= BODY_BYTES, "{count} slots");
    put_u16(page, SLOT_COUNT, count);
}

/// The page before this one in its chain.
#[inline]
pub fn prev(page: &PageBytes) -> PageId {
    id_at(page, PREV)
}

/// Sets the page before this one.
pub fn set_prev(page: &mut PageBytes, id: PageId) {
    assert!(version(page) != 0, "only a formatted page is in a chain");
    debug_assert!(
        id.is_null() || id != self::id(page),
        "no page is before itself, and no first page the last behind itself"
    );
    page[PREV..PREV + 6].copy_from_slice(&id.to_bytes());
}

/// The page after this one in its chain.
#[inline]
pub fn next(page: &PageBytes) -> PageId {
    id_at(page, NEXT)
}

/// Sets the page after this one.
pub fn set_next(page: &mut PageBytes, id: PageId) {
    assert!(version(page) != 0, "only a formatted page is in a chain");
    debug_assert!(id.is_null() || id != self::id(page), "no page follows itself");
    page[NEXT..NEXT + 6].copy_from_slice(&id.to_bytes());
}

/// The offset of the next row: the end of the rows in use.
#[inline]
pub(crate) fn free_offset(page: &PageBytes) -> usize {
    usize::from(u16_at(page, FREE_OFFSET))
}

#[inline]
pub(crate) fn set_free_offset(page: &mut PageBytes, offset: usize) {
    assert!(offset <= PAGE_BYTES, "free offset {offset}");
    assert!(offset >= HEADER_BYTES, "rows begin behind the header, not at {offset}");
    put_u16(page, FREE_OFFSET, offset as u16);
}

/// Bytes that neither rows nor slots use, contiguous or not, including those reserved for undo.
#[inline]
pub fn free_bytes(page: &PageBytes) -> usize {
    usize::from(u16_at(page, FREE_BYTES))
}

#[inline]
pub(crate) fn set_free_bytes(page: &mut PageBytes, bytes: usize) {
    assert!(bytes <= PAGE_BYTES, "{bytes} free bytes");
    put_u16(page, FREE_BYTES, bytes as u16);
}

/// The allocation unit that the page belongs to; 0 for system pages.
#[inline]
pub fn unit(page: &PageBytes) -> u32 {
    u32_at(page, UNIT)
}

/// Bytes given up by rows of transactions that may still roll back: not available to other transactions until `last_remover` has ended.
#[inline]
pub fn reserved_bytes(page: &PageBytes) -> usize {
    usize::from(u16_at(page, RESERVED_BYTES))
}

/// Sets the bytes kept for undo.
pub fn set_reserved_bytes(page: &mut PageBytes, bytes: usize) {
    assert!(version(page) != 0, "only a formatted page keeps bytes for undo");
    put_u16(page, RESERVED_BYTES, bytes.min(PAGE_BYTES) as u16);
}

/// Slots in the array that hold no row.
#[inline]
pub fn free_slots(page: &PageBytes) -> u16 {
    u16_at(page, FREE_SLOTS)
}

#[inline]
pub(crate) fn set_free_slots(page: &mut PageBytes, count: u16) {
    assert!(count <= slot_count(page), "{count} slots are free of {}", slot_count(page));
    put_u16(page, FREE_SLOTS, count);
}

/// The highest transaction id that deleted or shortened a row here; when no active transaction has an id that low, ghosts
/// and reserved bytes may be reclaimed.
#[inline]
pub fn last_remover(page: &PageBytes) -> u64 {
    u64_at(page, LAST_REMOVER)
}

/// Raises the last remover to at least `txn`.
pub fn raise_last_remover(page: &mut PageBytes, txn: u64) {
    assert!(version(page) != 0, "only a formatted page has rows to remove");
    let highest = txn.max(last_remover(page));
    page[LAST_REMOVER..LAST_REMOVER + 8].copy_from_slice(&highest.to_le_bytes());
}

/// Rows marked as deleted.
#[inline]
pub fn ghosts(page: &PageBytes) -> u16 {
    u16_at(page, GHOSTS)
}

pub(crate) fn set_ghosts(page: &mut PageBytes, count: u16) {
    assert!(count <= slot_count(page), "{count} ghosts in {} slots", slot_count(page));
    assert!(version(page) != 0, "only a formatted page has ghosts");
    put_u16(page, GHOSTS, count);
}

/// Makes `page` an empty page of a type: every byte is set, no old content remains. LSN and checksum are zero.
pub fn format(page: &mut PageBytes, id: PageId, page_type: PageType, level: u8, unit: u32) {
    assert!(!id.is_null() && page_type != PageType::Empty || unit == 0, "page {id} of unit {unit}");
    assert!(level == 0 || page_type == PageType::BTree, "only trees have levels");
    page.fill(0);
    page[VERSION] = PAGE_FORMAT_VERSION;
    page[TYPE] = page_type as u8;
    page[LEVEL] = level;
    page[ID..ID + 6].copy_from_slice(&id.to_bytes());
    page[UNIT..UNIT + 4].copy_from_slice(&unit.to_le_bytes());
    set_free_offset(page, HEADER_BYTES);
    set_free_bytes(page, PAGE_BYTES - HEADER_BYTES);
    assert_eq!(free_offset(page) + free_bytes(page), PAGE_BYTES, "all of an empty page's body is free");
    debug_assert!(
        lsn(page).is_null() && prev(page).is_null() && self::next(page).is_null(),
        "nothing remains"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_do_not_overlap() {
        let mut page = [0xffu8; PAGE_BYTES];
        format(&mut page, PageId::new(2, 77), PageType::BTree, 3, 99);
        set_flags(&mut page, 5);
        set_checksum(&mut page, 0xdead_beef);
        set_lsn(&mut page, Lsn::from_raw(0x0102_0304_0506_0708));
        set_slot_count(&mut page, 11);
        set_prev(&mut page, PageId::new(1, 21));
        set_next(&mut page, PageId::new(1, 22));
        set_free_offset(&mut page, 400);
        set_free_bytes(&mut page, 7000);
        set_reserved_bytes(&mut page, 31);
        set_free_slots(&mut page, 2);
        raise_last_remover(&mut page, 500);
        raise_last_remover(&mut page, 400);
        set_ghosts(&mut page, 4);
        assert_eq!(
            (version(&page), page_type(&page), level(&page), flags(&page)),
            (1, PageType::BTree, 3, 5)
        );
        assert_eq!((checksum(&page), lsn(&page).raw()), (0xdead_beef, 0x0102_0304_0506_0708));
        assert_eq!(
            (id(&page), prev(&page), next(&page)),
            (PageId::new(2, 77), PageId::new(1, 21), PageId::new(1, 22))
        );
        assert_eq!((slot_count(&page), free_offset(&page), free_bytes(&page)), (11, 400, 7000));
        assert_eq!((unit(&page), reserved_bytes(&page), free_slots(&page)), (99, 31, 2));
        assert_eq!((last_remover(&page), ghosts(&page)), (500, 4));
    }
}
