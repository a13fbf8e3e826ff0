//! `PageId`: the address of a page, and the sizes that follow from pages being 8 KB.

use std::fmt;

/// Bytes of a page, header included.
pub const PAGE_BYTES: usize = 8192;
/// Bytes of the page header.
pub const HEADER_BYTES: usize = 96;
/// Bytes of a page that rows and the slot array share.
pub const BODY_BYTES: usize = PAGE_BYTES - HEADER_BYTES;
/// Bytes of one entry of the slot array.
pub const SLOT_BYTES: usize = 4;

const _: () =
    assert!(PAGE_BYTES.is_power_of_two() && PAGE_BYTES.is_multiple_of(4096), "direct I/O moves whole pages");
const _: () = assert!(HEADER_BYTES + BODY_BYTES == PAGE_BYTES && BODY_BYTES.is_multiple_of(SLOT_BYTES));
const _: () = assert!(PAGE_BYTES <= u16::MAX as usize, "offsets in a page fit two bytes");

/// The bytes of one page.
pub type PageBytes = [u8; PAGE_BYTES];

/// The address of a page: file number in its database (from 1) and page number in that file (from 0).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct PageId {
    /// File number, from 1; 0 only in `NULL`.
    pub file: u16,
    /// Page number inside the file.
    pub page: u32,
}

impl PageId {
    /// No page: the end of a chain.
    pub const NULL: PageId = PageId { file: 0, page: 0 };

    /// The page `page` of file `file`.
    pub const fn new(file: u16, page: u32) -> PageId {
        PageId { file, page }
    }

    /// Is this no page?
    #[inline]
    pub const fn is_null(self) -> bool {
        self.file == 0
    }

    /// The address in 48 bits: file above, page below.
    #[inline]
    pub const fn pack(self) -> u64 {
        (self.file as u64) << 32 | self.page as u64
    }

    /// The inverse of [`PageId::pack`]; bits above the 48th are dropped.
    #[inline]
    pub const fn unpack(packed: u64) -> PageId {
        PageId { file: (packed >> 32) as u16, page: packed as u32 }
    }

    /// The six bytes in which pages and rows name a page: page number, file number, little-endian.
    #[inline]
    pub fn to_bytes(self) -> [u8; 6] {
        let page = self.page.to_le_bytes();
        let file = self.file.to_le_bytes();
        let bytes = [page[0], page[1], page[2], page[3], file[0], file[1]];
        debug_assert_eq!(PageId::from_bytes(bytes), self, "what is written can be read back");
        bytes
    }

    /// The inverse of [`PageId::to_bytes`].
    #[inline]
    pub fn from_bytes(bytes: [u8; 6]) -> PageId {
        let [a, b, c, d, e, f] = bytes;
        PageId { page: u32::from_le_bytes([a, b, c, d]), file: u16::from_le_bytes([e, f]) }
    }

    /// Where the page begins in its file, in bytes.
    #[inline]
    pub const fn offset(self) -> u64 {
        self.page as u64 * PAGE_BYTES as u64
    }
}

/// `(1:304)`, as SQL Server prints it.
impl fmt::Display for PageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}:{})", self.file, self.page)
    }
}

impl fmt::Debug for PageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_round_trip() {
        let id = PageId::new(3, 0x0102_0304);
        assert_eq!(PageId::unpack(id.pack()), id);
        assert_eq!(PageId::from_bytes(id.to_bytes()), id);
        assert_eq!(id.to_string(), "(3:16909060)");
        assert!(PageId::NULL.is_null() && !id.is_null());
        assert_eq!(PageId::new(1, 2).offset(), 16384);
    }
}
