//! The stripe of cells to which a thread adds: most threads own one that no other thread writes while they live, and need no atomic addition.
//!
//! A stripe passes from an ended thread to a new one by an acquire operation on a word, so that the new owner sees the stores of the
//! old one. When all are taken, threads share a few others, and add to those atomically.

use std::cell::Cell;
use std::sync::atomic::{
    AtomicI64, AtomicU32, AtomicUsize,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};

/// Stripes of each counter; a power of two, so that a place among them needs no check.
pub(crate) const STRIPES: usize = 16;
const _: () = assert!(STRIPES.is_power_of_two() && OWNED < STRIPES && OWNED < 32, "a bit of a word for each");

/// The first so many are owned by one thread each, the others shared.
const OWNED: usize = 12;
const SHARED: usize = STRIPES - OWNED;
const UNKNOWN: usize = usize::MAX;

/// A bit for each stripe without an owner.
static FREE: AtomicU32 = AtomicU32::new((1 << OWNED) - 1);
static NEXT_SHARED: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static STRIPE: Cell<usize> = const { Cell::new(UNKNOWN) };
    static LEASE: Cell<Option<Lease>> = const { Cell::new(None) };
}

/// A stripe that is the thread's own until it ends.
struct Lease(usize);

impl Lease {
    fn take() -> Option<Lease> {
        let lowest_goes = |free: u32| (free != 0).then(|| free & (free - 1));
        let before = FREE.fetch_update(AcqRel, Acquire, lowest_goes).ok()?;
        Some(Lease(before.trailing_zeros() as usize))
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        assert!(self.0 < OWNED, "one that can be owned");
        // Later additions of the thread go to a shared stripe.
        STRIPE.set(OWNED + self.0 % SHARED);
        let before = FREE.fetch_or(1 << self.0, Release);
        assert!(before & (1 << self.0) == 0, "it was this thread's");
    }
}

/// The calling thread's stripe, if the thread owns it: the common case, for one comparison.
#[inline]
pub(crate) fn owned() -> Option<usize> {
    let known = STRIPE.get();
    (known < OWNED).then_some(known)
}

/// The calling thread's stripe, owned or shared.
pub(crate) fn any() -> usize {
    let known = STRIPE.get();
    (if known == UNKNOWN { first() } else { known }) & (STRIPES - 1)
}

/// Adds to a cell of a stripe that the calling thread owns.
#[inline]
pub(crate) fn add_alone(cell: &AtomicI64, amount: i64) {
    cell.store(cell.load(Relaxed).wrapping_add(amount), Relaxed);
}

/// Adds to a cell of the calling thread's stripe.
pub(crate) fn add_in(stripe: usize, cell: &AtomicI64, amount: i64) {
    if stripe < OWNED {
        add_alone(cell, amount);
    } else {
        cell.fetch_add(amount, Relaxed);
    }
}

/// The thread adds for the first time.
#[cold]
fn first() -> usize {
    let mut lease = Lease::take();
    let own = lease.as_ref().map(|lease| lease.0);
    // A thread that is ending takes none: it could not give it back.
    let kept = own.filter(|_| LEASE.try_with(|place| place.set(lease.take())).is_ok());
    let stripe = kept.unwrap_or_else(|| OWNED + NEXT_SHARED.fetch_add(1, Relaxed) % SHARED);
    STRIPE.set(stripe);
    stripe
}
