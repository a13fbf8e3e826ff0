//! [`PrefetchHint`]: a page that will be latched soon. Its lines are asked for while others are being worked on: memory is a hundred times slower than
//! what is done with a row.

use os::fetch::{LINE_BYTES, fetch_early};

use crate::frame::Frame;
use crate::header;
use crate::page_id::{HEADER_BYTES, PAGE_BYTES, PageBytes, PageId, SLOT_BYTES};
use crate::space::FileSpace;

/// Lines of a row that are asked for together.
const ROW_LINES: usize = 3;

/// Where a page that will be latched soon is in memory, as far as it is known: nothing is said of it, and nothing read.
#[derive(Clone, Copy, Debug)]
pub struct PrefetchHint {
    address: usize,
    /// The line asked for last.
    line: usize,
}

impl FileSpace {
    /// Begins to bring a page near that will be latched soon: its latch and its header. `None`: it is not in memory.
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
    /// Asks for the bytes at an offset.
    #[inline]
    pub fn fetch(&mut self, offset: usize) {
        let line = offset / LINE_BYTES;
        if line != self.line && offset < PAGE_BYTES {
            self.line = line;
            debug_assert!(line < PAGE_BYTES / LINE_BYTES, "a line of the page");
            fetch_early(self.address + offset);
        }
    }

    /// Asks for the place of a slot; that of one that no page has is as good as any.
    #[inline]
    pub fn fetch_slot(&self, slot: u16) {
        assert!(self.address >= PAGE_BYTES, "memory for pages does not begin with itself");
        let from_end = SLOT_BYTES * (usize::from(slot) + 1);
        fetch_early((self.address + PAGE_BYTES).wrapping_sub(from_end));
    }

    /// Asks for the place of a slot and for its row, in a page whose rows are thought to be as long as those of `like`, one behind the other.
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
