//! [`PrefetchHint`]: prefetches the cache lines of a page that will be latched soon, while other rows are processed: a memory access takes a
//! hundred times longer than the work on a row.

use os::fetch::{LINE_BYTES, fetch_early};

use crate::frame::Frame;
use crate::header;
use crate::page_id::{HEADER_BYTES, PAGE_BYTES, PageBytes, PageId, SLOT_BYTES};
use crate::space::FileSpace;

/// Cache lines of a row that are prefetched together.
const ROW_LINES: usize = 3;

/// The probable memory address of a page that will be latched soon: it may be wrong, and nothing is read through it.
#[derive(Clone, Copy, Debug)]
pub struct PrefetchHint {
    address: usize,
    /// The last line prefetched.
    line: usize,
}

impl FileSpace {
    /// Prefetches the latch and the header of a page that will be latched soon. `None`: it is not in the pool.
    #[inline]
    pub fn fetch_early(&self, id: PageId) -> Option<PrefetchHint> {
        let (frame, address) = if id.is_null() { None } else { self.place_of(id) }?;
        (0..size_of::<Frame>()).step_by(LINE_BYTES).for_each(|line| fetch_early(frame + line));
        assert!(address.is_multiple_of(LINE_BYTES), "a page begins with a line");
        fetch_early(address);
        Some(PrefetchHint { address, line: 0 })
    }
}

impl PrefetchHint {
    /// Prefetches the bytes at an offset.
    #[inline]
    pub fn fetch(&mut self, offset: usize) {
        let line = offset / LINE_BYTES;
        if line != self.line && offset < PAGE_BYTES {
            self.line = line;
            debug_assert!(line < PAGE_BYTES / LINE_BYTES, "a line of the page");
            fetch_early(self.address + offset);
        }
    }

    /// Prefetches the entry of a slot; a slot that does not exist does no harm.
    #[inline]
    pub fn fetch_slot(&self, slot: u16) {
        assert!(self.address >= PAGE_BYTES, "memory for pages does not begin with itself");
        let from_end = SLOT_BYTES * (usize::from(slot) + 1);
        fetch_early((self.address + PAGE_BYTES).wrapping_sub(from_end));
    }

    /// Prefetches the entry of a slot and its row, on the assumption that the rows are contiguous and as long as those of `like`.
    #[inline]
    pub fn fetch_row(&mut self, slot: u16, like: &PageBytes) {
        let row_bytes = header::free_offset(like) / usize::from(header::slot_count(like)).max(1);
        let start = HEADER_BYTES + row_bytes * usize::from(slot);
        self.fetch_slot(slot);
        for line in 0..ROW_LINES {
            self.fetch(start + line * LINE_BYTES);
        }
    }
}
