//! The page checksum: CRC-32C over the page with the checksum field as zero; made at write, checked at read (824).

use crate::header;
use crate::page_id::{PageBytes, PageId};

/// The result of checking a page read from disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageCheck {
    /// Checksum and address are right.
    Sound,
    /// All zero: never written.
    NeverFormatted,
    /// Checksum wrong: torn or rotten. `(expected, found)`.
    BadChecksum(u32, u32),
    /// A valid page with another address: misdirected write.
    WrongAddress(PageId),
    /// Written by a newer format.
    NewerFormat(u8),
}

/// The checksum that `page` should carry.
pub fn compute(page: &PageBytes) -> u32 {
    let head = crc32c::crc32c(&page[..4]);
    let zeroed = crc32c::crc32c_append(head, &[0; 4]);
    crc32c::crc32c_append(zeroed, &page[8..])
}

/// Puts the checksum into the header.
pub fn stamp(page: &mut PageBytes) {
    assert!(header::version(page) != 0, "only a formatted page has a checksum");
    let value = compute(page);
    header::set_checksum(page, value);
    debug_assert_eq!(compute(page), value, "the field itself does not count");
}

/// Checks bytes read from the position of page `id`.
pub fn check(page: &PageBytes, id: PageId) -> PageCheck {
    if header::version(page) == 0 && page.iter().all(|&byte| byte == 0) {
        return PageCheck::NeverFormatted;
    }
    let (expected, found) = (header::checksum(page), compute(page));
    if expected != found {
        return PageCheck::BadChecksum(expected, found);
    }
    if header::version(page) > header::PAGE_FORMAT_VERSION {
        return PageCheck::NewerFormat(header::version(page));
    }
    if header::id(page) != id {
        return PageCheck::WrongAddress(header::id(page));
    }
    PageCheck::Sound
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::PageType;
    use crate::page_id::PAGE_BYTES;

    #[test]
    fn every_flipped_bit_is_noticed() {
        let id = PageId::new(1, 5);
        let mut page = [0u8; PAGE_BYTES];
        assert_eq!(check(&page, id), PageCheck::NeverFormatted);
        header::format(&mut page, id, PageType::Heap, 0, 1);
        stamp(&mut page);
        assert_eq!(check(&page, id), PageCheck::Sound);
        assert_eq!(check(&page, PageId::new(1, 6)), PageCheck::WrongAddress(id));
        for bit in (0..PAGE_BYTES * 8).step_by(37) {
            page[bit / 8] ^= 1 << (bit % 8);
            assert!(matches!(check(&page, id), PageCheck::BadChecksum(..)), "bit {bit}");
            page[bit / 8] ^= 1 << (bit % 8);
        }
    }
}
