//! Reserved address space for the moment in which the system refuses memory: the request needs it until it notices that it must stop.
//! Never touched, so it costs nothing.

use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::{AcqRel, Acquire};

/// Size of the reserve: a few times the allocation between two checks of the count.
pub(super) const BYTES: usize = 64 << 20;

static RESERVE: AtomicPtr<libc::c_void> = AtomicPtr::new(std::ptr::null_mut());

/// Reserves it, unless it is reserved already or there is too little memory.
pub(super) fn hold() {
    if !RESERVE.load(Acquire).is_null() {
        return;
    }
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping at an address of the system's choice.
    let mapped =
        unsafe { libc::mmap(std::ptr::null_mut(), BYTES, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
    if mapped == libc::MAP_FAILED {
        return;
    }
    if RESERVE.compare_exchange(std::ptr::null_mut(), mapped, AcqRel, Acquire).is_err() {
        unmap(mapped);
    }
}

/// Releases it; true when there was one.
pub(super) fn give_up() -> bool {
    let mapped = RESERVE.swap(std::ptr::null_mut(), AcqRel);
    if mapped.is_null() {
        return false;
    }
    unmap(mapped);
    true
}

fn unmap(mapped: *mut libc::c_void) {
    // SAFETY: mapped by `hold` with this length, and taken out of the only place that knows it.
    unsafe { libc::munmap(mapped, BYTES) };
}
