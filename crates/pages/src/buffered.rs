//! Which pages the buffer pool holds (`sys.dm_os_buffer_descriptors`).

use std::sync::Arc;

use crate::frame::{LatchMode, NO_KEY, PageGuard};
use crate::header::{self, PageType};
use crate::page_id::PageId;
use crate::pool::BufferPool;

/// A page in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferedPage {
    /// Its database: [`FileSpace::pool_number`](crate::FileSpace::pool_number).
    pub space: u16,
    /// Its address in the database.
    pub id: PageId,
    /// It differs from the disk.
    pub is_dirty: bool,
    /// Its header; none while a thread is changing the page.
    pub header: Option<BufferedHeader>,
}

/// The header of a page in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferedHeader {
    /// The kind of page.
    pub page_type: PageType,
    /// Level in its tree, 0 for the leaves.
    pub level: u8,
    /// The allocation unit.
    pub unit: u32,
    /// Slots.
    pub slots: u16,
    /// Bytes free.
    pub free_bytes: usize,
}

impl BufferPool {
    /// Calls `tell` for every page in memory, with its present state. Does not wait for latches, reads no page and sets no reference bits.
    pub fn for_each_page(&self, mut tell: impl FnMut(BufferedPage)) {
        self.for_each_frame(|frame| {
            let key = frame.key();
            if key == NO_KEY {
                return;
            }
            let header = PageGuard::try_take(Arc::clone(frame), LatchMode::Shared)
                .filter(|_| frame.key() == key)
                .map(|guard| header_of(&guard));
            let (space, id) = ((key >> 48) as u16, PageId::unpack(key));
            assert_eq!(u64::from(space) << 48 | id.pack(), key, "a key is a space and a page of it");
            tell(BufferedPage { space, id, is_dirty: frame.is_dirty(), header });
        });
    }
}

fn header_of(guard: &PageGuard) -> BufferedHeader {
    let page = guard.page();
    BufferedHeader {
        page_type: header::page_type(page),
        level: header::level(page),
        unit: header::unit(page),
        slots: header::slot_count(page),
        free_bytes: header::free_bytes(page),
    }
}
