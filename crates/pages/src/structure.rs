//! Structural checks of a page before any other function may use it: made once, when the page is read from its file.
//!
//! A right checksum proves that the bytes are those that were written, not that they are a valid page (another program, a bug of ours
//! or a hex editor may have written them). A wrong header or slot array is error 824 for this page; the others stay readable.

use crate::header::{self, PAGE_FORMAT_VERSION, PageType};
use crate::page_id::PageBytes;
use crate::slots::{self, FORWARD, FORWARDED};
use crate::tree_rows;

/// Most levels of a tree: with two children to a page it would fill 2^32 pages.
const LEVELS_MAX: u8 = 32;
/// Bytes of a row of a heap, at least: room for the address of where it moves.
const HEAP_ROW_BYTES_MIN: usize = 8;

/// Do header and slot array agree with the type of the page and with each other? The text says what is wrong. A page of zeros was never
/// formatted; callers check that before.
pub fn verify(page: &PageBytes) -> Result<(), String> {
    if header::version(page) == 0 || header::version(page) > PAGE_FORMAT_VERSION {
        return Err(format!("page format version {}", header::version(page)));
    }
    let (page_type, code, level) = (header::page_type(page), header::type_code(page), header::level(page));
    if code != page_type as u8 {
        return Err(format!("page type {code} is unknown"));
    }
    if level > if page_type == PageType::BTree { LEVELS_MAX } else { 0 } {
        return Err(format!("level {level} of {}", page_type.name()));
    }
    slots::verify(page)?;
    let own = header::id(page);
    if header::next(page) == own || header::prev(page) == own {
        return Err("is its own neighbour".to_owned());
    }
    let count = header::slot_count(page);
    match page_type {
        PageType::Heap => heap_rows(page),
        PageType::BTree if header::free_slots(page) > 0 => {
            Err(format!("a tree page has {} free slots", header::free_slots(page)))
        }
        // Bytes are reserved for rows that a transaction has shortened.
        PageType::BTree if header::reserved_bytes(page) > 0 && (count == 0 || level > 0) => {
            Err(format!("{} bytes are kept for undo where no row changes", header::reserved_bytes(page)))
        }
        PageType::BTree => {
            match (0..count).find(|slot| slots::flags(page, *slot) & (FORWARD | FORWARDED) != 0) {
                Some(slot) => Err(format!("slot {slot} of a tree page is moved")),
                None => tree_rows::verify(page),
            }
        }
        _ if count > 0 => Err(format!("{} with {count} slots", page_type.name())),
        _ => Ok(()),
    }
}

fn heap_rows(page: &PageBytes) -> Result<(), String> {
    for (slot, row, flags) in slots::occupied(page) {
        if flags & (FORWARD | FORWARDED) == FORWARD | FORWARDED {
            return Err(format!("slot {slot} is a stub and a moved row at once"));
        }
        if row.len() < HEAP_ROW_BYTES_MIN {
            return Err(format!("slot {slot}: {} bytes are no room for a forwarding address", row.len()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page_id::{HEADER_BYTES, PAGE_BYTES, PageId};

    const ALL: [PageType; 7] = [
        PageType::Empty,
        PageType::Heap,
        PageType::BTree,
        PageType::Lob,
        PageType::AllocationMap,
        PageType::FileHeader,
        PageType::Boot,
    ];

    fn page_of(page_type: PageType, rows: u16) -> Box<PageBytes> {
        let mut page = Box::new([0; PAGE_BYTES]);
        header::format(&mut page, PageId::new(1, 5), page_type, 0, 0);
        for slot in 0..rows {
            slots::put(&mut page, slot, &[&[1, 0, slot as u8 + 1], b"a row of some bytes"], 0);
        }
        page
    }

    #[test]
    fn what_is_formatted_is_sound() {
        for page_type in ALL {
            assert_eq!(verify(&page_of(page_type, 0)), Ok(()), "{page_type:?}");
        }
        for page_type in [PageType::Heap, PageType::BTree] {
            assert_eq!(verify(&page_of(page_type, 9)), Ok(()), "{page_type:?}");
        }
    }

    #[test]
    fn every_lie_of_header_and_slots_is_told() {
        let lie = |page_type, rows, change: &dyn Fn(&mut PageBytes)| {
            let mut page = page_of(page_type, rows);
            change(&mut page);
            verify(&page).expect_err("it lies")
        };
        let end = PAGE_BYTES;
        for page_type in [PageType::Heap, PageType::BTree] {
            assert!(lie(page_type, 3, &|page| page[22] = 200).contains("free bytes"), "slot count");
            assert!(lie(page_type, 3, &|page| page[23] = 200).contains("do not fit"), "slot count");
            assert!(lie(page_type, 3, &|page| page[30] = 0).contains("rows end"), "free offset");
            assert!(lie(page_type, 3, &|page| page[38] ^= 1).contains("free bytes"));
            assert!(lie(page_type, 3, &|page| page[46] = 1).contains("free slots"));
            assert!(lie(page_type, 3, &|page| page[56] = 1).contains("ghosts"));
            assert!(lie(page_type, 3, &|page| page[end - 3] = 0x1f).contains("outside"), "row offset");
            assert!(lie(page_type, 3, &|page| page[end - 8] = HEADER_BYTES as u8).contains("overlap"));
            assert!(lie(page_type, 3, &|page| page[end - 2] = 0).contains("outside"), "a row without bytes");
            assert!(lie(page_type, 3, &|page| page[end - 1] = 0x60).contains("moved"), "both flags");
        }
        assert!(lie(PageType::BTree, 3, &|page| page[end - 1] = 0x40).contains("moved"));
        assert!(lie(PageType::BTree, 0, &|page| page[2] = 99).contains("level 99"));
        assert!(lie(PageType::BTree, 3, &|page| slots_free_by_hand(page)).contains("tree page"));
        for page_type in ALL {
            assert!(lie(page_type, 0, &|page| page[0] = 9).contains("version 9"));
            assert!(
                lie(page_type, 0, &|page| page[0] = 0).contains("version 0"),
                "though its checksum is right"
            );
            assert!(lie(page_type, 0, &|page| page[1] = 77).contains("type 77"));
        }
        for page_type in ALL.into_iter().filter(|page_type| *page_type != PageType::BTree) {
            assert!(lie(page_type, 0, &|page| page[2] = 1).contains("level 1"), "{page_type:?}");
        }
        for page_type in [PageType::Empty, PageType::Lob, PageType::AllocationMap, PageType::Boot] {
            let text = lie(page_type, 0, &|page| slots::put(page, 0, &[b"a row of some bytes"], 0));
            assert!(text.contains("with 1 slots"), "{page_type:?}");
        }
    }

    #[test]
    fn every_lie_of_the_rows_is_told() {
        let told = |page_type, change: &dyn Fn(&mut PageBytes)| {
            let mut page = page_of(page_type, 3);
            change(&mut page);
            verify(&page).expect_err("it lies")
        };
        let row = |slot: usize| HEADER_BYTES + slot * 22;
        let same_key = |page: &mut PageBytes| page[row(1) + 2] = 1;
        assert!(told(PageType::BTree, &same_key).contains("out of order"));
        assert!(told(PageType::BTree, &|page| page[row(0) + 2] = 9).contains("out of order"));
        assert!(told(PageType::BTree, &|page| page[row(1)] = 30).contains("less than their key"));
        assert!(told(PageType::BTree, &|page| page[row(0)] = 0).contains("slot 0 has no key"));
        assert!(
            told(PageType::BTree, &|page| (page[2], page[row(1)]) = (1, 0)).contains("slot 1 has no key")
        );
        let swap_slots = |page: &mut PageBytes| {
            let (one, other): ([u8; 4], [u8; 4]) = (
                page[PAGE_BYTES - 4..].try_into().expect("four"),
                page[PAGE_BYTES - 8..][..4].try_into().expect("four"),
            );
            page[PAGE_BYTES - 4..].copy_from_slice(&other);
            page[PAGE_BYTES - 8..][..4].copy_from_slice(&one);
        };
        assert!(told(PageType::BTree, &swap_slots).contains("out of order"));
        assert!(told(PageType::BTree, &|page| (page[2], page[row(1)]) = (1, 15)).contains("names no child"));
        let keeps_bytes_above_the_leaves = |page: &mut PageBytes| {
            page[2] = 1;
            header::set_reserved_bytes(page, 7);
        };
        assert!(told(PageType::BTree, &keeps_bytes_above_the_leaves).contains("kept for undo"));
        for at in [24, 32] {
            let own: [u8; 6] = PageId::new(1, 5).to_bytes();
            assert!(
                told(PageType::Heap, &|page| page[at..at + 6].copy_from_slice(&own)).contains("neighbour")
            );
        }
        let mut interior = page_of(PageType::BTree, 3);
        (interior[2], interior[row(0) + 2]) = (1, 9);
        assert_eq!(verify(&interior), Ok(()), "the first key of an interior page says nothing");
        let mut short = page_of(PageType::Heap, 0);
        slots::put(&mut short, 0, &[b"seven b"], 0);
        assert!(verify(&short).expect_err("it lies").contains("no room for a forwarding address"));
    }

    /// Frees a slot of a heap and changes the page type to a tree.
    fn slots_free_by_hand(page: &mut PageBytes) {
        page[1] = PageType::Heap as u8;
        slots::free(page, 1);
        page[1] = PageType::BTree as u8;
    }
}
