//! `AlignedBuf`: zeroed memory aligned to 4096 bytes, as direct I/O wants it. It comes straight from the system's allocator: pages and log blocks
//! have limits of their own and do not count as memory of requests (`memory`). Or it lies in memory that outlives the process (`surviving`).

use std::alloc::{GlobalAlloc, Layout, System, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;

/// Alignment of every buffer, in bytes.
const ALIGNMENT: usize = 4096;

/// Who lends memory as buffers, by places of it.
pub(crate) trait Lender: Send + Sync {
    /// The buffer of the place has been dropped.
    fn take_back(&self, place: u32);
}

/// A fixed number of zeroed bytes, aligned to 4096.
pub struct AlignedBuf {
    start: NonNull<u8>,
    len: usize,
    /// Whose place it is, and which; else it is the system's.
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

    /// The buffer of a place that somebody lends.
    ///
    /// # Safety
    /// `start` points to `len` initialised bytes, aligned to 4096, that stay as long as the lender does, and nobody else has them until
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
