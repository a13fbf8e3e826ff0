//! `AlignedBuf`: zeroed memory aligned to 4096 bytes, as direct I/O requires. It comes directly from the system's allocator: pages and log blocks
//! have limits of their own and do not count as memory of requests (`memory`). Or it is part of memory that outlives the process (`surviving`).

use std::alloc::{GlobalAlloc, Layout, System, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;

/// Alignment of every buffer, in bytes.
const ALIGNMENT: usize = 4096;

/// The owner of memory that lends parts (places) of it as buffers.
pub(crate) trait Lender: Send + Sync {
    /// The buffer of the place has been dropped.
    fn take_back(&self, place: u32);
}

/// A fixed number of zeroed bytes, aligned to 4096.
pub struct AlignedBuf {
    start: NonNull<u8>,
    len: usize,
    /// The lender and the number of the place; `None`: allocated from the system.
    place: Option<(Arc<dyn Lender>, u32)>,
}

// SAFETY: the buffer owns its memory alone, as a `Box<[u8]>` does.
unsafe impl Send for AlignedBuf {}
// SAFETY: as above.
unsafe impl Sync for AlignedBuf {}

impl AlignedBuf {
    /// `len` zeroed bytes (`len` may be 0).
    pub fn new(len: usize) -> AlignedBuf {
        if len == 0 {
            return AlignedBuf { start: NonNull::dangling(), len, place: None };
        }
        let layout = AlignedBuf::layout(len);
        // SAFETY: the layout has a size above 0.
        let start = unsafe { System.alloc_zeroed(layout) };
        match NonNull::new(start) {
            Some(start) => AlignedBuf { start, len, place: None },
            None => handle_alloc_error(layout),
        }
    }

    /// A buffer of `capacity` bytes that starts with `bytes`.
    pub fn from_slice(bytes: &[u8], capacity: usize) -> AlignedBuf {
        let mut buffer = AlignedBuf::new(capacity.max(bytes.len()));
        buffer[..bytes.len()].copy_from_slice(bytes);
        buffer
    }

    /// `count` buffers of `len` zeroed bytes in one block, which is freed with the last of them. Separate allocations would need half as much again:
    /// the system's allocator leaves a gap of up to 4096 bytes before or behind each, and the machine's pages in gaps stay allocated.
    ///
    /// # Panics
    /// When `len` is no multiple of 4096.
    pub fn several(count: usize, len: usize) -> Vec<AlignedBuf> {
        assert!(len.is_multiple_of(ALIGNMENT), "each begins at a page");
        let mut block = AlignedBuf::new(count * len);
        let start = block.start;
        // The block belongs to its parts from here on: it is never accessed as a whole.
        let whole: Arc<dyn Lender> = Arc::new(Block { start, len: block.len });
        block.len = 0;
        let part = |index: usize| {
            // SAFETY: the part lies in the block, is initialised and nobody else's: the block itself has been given up to `whole`, which frees it
            // only when no part holds a share of it.
            unsafe { AlignedBuf::lent(start.add(index * len), len, Arc::clone(&whole), index as u32) }
        };
        if len == 0 { Vec::new() } else { (0..count).map(part).collect() }
    }

    /// The buffer of a lent place.
    ///
    /// # Safety
    /// `start` points to `len` initialised bytes, aligned to 4096, that live as long as the lender, and no other code accesses them until
    /// [`Lender::take_back`] of the place.
    pub(crate) unsafe fn lent(
        start: NonNull<u8>,
        len: usize,
        lender: Arc<dyn Lender>,
        place: u32,
    ) -> AlignedBuf {
        assert!((start.as_ptr() as usize).is_multiple_of(ALIGNMENT), "a place begins at a page");
        AlignedBuf { start, len, place: Some((lender, place)) }
    }

    fn layout(len: usize) -> Layout {
        Layout::from_size_align(len, ALIGNMENT).expect("buffers are far below the address space")
    }
}

/// Memory divided into several buffers.
struct Block {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: the block is only held until it is freed; its bytes are the buffers'.
unsafe impl Send for Block {}
// SAFETY: as above.
unsafe impl Sync for Block {}

impl Lender for Block {
    fn take_back(&self, _place: u32) {}
}

impl Drop for Block {
    fn drop(&mut self) {
        if self.len > 0 {
            // SAFETY: allocated by `AlignedBuf::new` with this very layout; every buffer in it has been dropped.
            unsafe { System.dealloc(self.start.as_ptr(), AlignedBuf::layout(self.len)) }
        }
    }
}

impl Deref for AlignedBuf {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: `start` points to `len` initialised bytes of our own (dangling and 0 are fine together).
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl DerefMut for AlignedBuf {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`; `&mut self` excludes other borrows.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl Drop for AlignedBuf {
    fn drop(&mut self) {
        if let Some((lender, place)) = self.place.take() {
            lender.take_back(place);
        } else if self.len > 0 {
            // SAFETY: allocated in `new` with this very layout.
            unsafe { System.dealloc(self.start.as_ptr(), AlignedBuf::layout(self.len)) }
        }
    }
}

impl std::fmt::Debug for AlignedBuf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "AlignedBuf({} bytes)", self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_of_one_block_are_apart_and_outlive_each_other() {
        let mut all = AlignedBuf::several(5, 8192);
        for (index, buffer) in all.iter_mut().enumerate() {
            assert!(buffer.len() == 8192 && buffer.as_ptr().addr().is_multiple_of(ALIGNMENT));
            assert!(buffer.iter().all(|byte| *byte == 0));
            buffer.fill(index as u8 + 1);
        }
        let last = all.pop().expect("five were made");
        assert!(
            all.iter().enumerate().all(|(index, buffer)| buffer.iter().all(|byte| *byte == index as u8 + 1))
        );
        drop(all);
        assert!(last.iter().all(|byte| *byte == 5));
        assert!(AlignedBuf::several(0, 4096).is_empty() && AlignedBuf::several(3, 0).is_empty());
    }
}
