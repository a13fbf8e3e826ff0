//! The process's allocator: the system's, with a count of every byte. It refuses no allocation: most code cannot handle a failure. When the system
//! refuses one, a reserve is released and the request that asked must stop at its next `check`.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::Ordering::Relaxed;

use super::{BASE, FELL_SHORT, IS_SPENT, TOTAL, TOTAL_MAX, count, reserve};

/// The least that all requests together may use, in bytes, however little memory the system has.
const LEFT_BYTES: i64 = 16 << 20;

/// See the heading.
struct CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

// SAFETY: every call is handed to the system's allocator with the arguments as they came, and its answer handed back. Counting
// neither allocates nor unwinds: its cells are constant-initialised and have no destructors, the rest are atomics.
unsafe impl GlobalAlloc for CountingAllocator {
    // SAFETY: the caller keeps the contract of the trait, which is that of the system's allocator.
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's layout is valid.
        let mut block = unsafe { System.alloc(layout) };
        if block.is_null() {
            // SAFETY: as above.
            block = once_more(layout.size(), || unsafe { System.alloc(layout) });
        }
        counted(block, layout.size())
    }

    // SAFETY: the caller keeps the contract of the trait, which is that of the system's allocator.
    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's layout is valid.
        let mut block = unsafe { System.alloc_zeroed(layout) };
        if block.is_null() {
            // SAFETY: as above.
            block = once_more(layout.size(), || unsafe { System.alloc_zeroed(layout) });
        }
        counted(block, layout.size())
    }

    // SAFETY: the caller keeps the contract of the trait, which is that of the system's allocator.
    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the block came from the system's allocator with this layout.
        unsafe { System.dealloc(block, layout) };
        count(-(layout.size() as i64));
    }

    // SAFETY: the caller keeps the contract of the trait, which is that of the system's allocator.
    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: the block came from the system's allocator with this layout; the caller vouches for the size.
        let mut moved = unsafe { System.realloc(block, layout, new_size) };
        if moved.is_null() {
            // SAFETY: as above: a failed call has left the block as it was.
            moved = once_more(new_size, || unsafe { System.realloc(block, layout, new_size) });
        }
        if !moved.is_null() {
            count(new_size as i64 - layout.size() as i64);
        }
        moved
    }
}

#[inline]
fn counted(block: *mut u8, size: usize) -> *mut u8 {
    if !block.is_null() {
        count(size as i64);
    }
    block
}

/// The system has refused: releases the reserve and tries again. The total's limit was too high for this machine, so it is lowered, and
/// the request must stop. The refusal of a very large block does not lower the limit: callers check with `ask` before they allocate one.
#[cold]
fn once_more(size: usize, allocate: impl Fn() -> *mut u8) -> *mut u8 {
    if size > reserve::BYTES / 2 {
        return std::ptr::null_mut();
    }
    let block = if reserve::give_up() { allocate() } else { std::ptr::null_mut() };
    let reached = TOTAL.load(Relaxed) - reserve::BYTES as i64;
    TOTAL_MAX.fetch_min(reached.max(BASE.load(Relaxed) + LEFT_BYTES), Relaxed);
    FELL_SHORT.store(true, Relaxed);
    IS_SPENT.set(true);
    block
}
