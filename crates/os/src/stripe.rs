//! The stripe of cells to which a thread adds: most threads have one that nobody else writes while they live, and need no atomic addition.
//!
//! A stripe is handed from a thread that ends to one that comes by an acquiring operation on a word, so that the new owner sees what the old one has
//! written. When all are taken, threads share a few others, and add to those atomically.

use std::cell::Cell;
use std::sync::atomic::{
    AtomicI64, AtomicU32, AtomicUsize,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};

/// Stripes of each counter; a power of two, so that a place among them needs no check.
pub(crate) const STRIPES: usize = 16;
const _: () =
    assert!(STRIPES.is_power_of_two() && STRIPES <= 32 && SHARED < STRIPES, "a bit of a word for each");

/// The first so many are shared.
const SHARED: usize = 4;
const UNKNOWN: usize = usize::MAX;

/// A bit for each stripe that is nobody's.
static FREE: AtomicU32 = AtomicU32::new(((1_u64 << STRIPES) - (1 << SHARED)) as u32);
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
        assert!((SHARED..STRIPES).contains(&self.0), "one that can be owned");
        // What the thread still adds, it adds as one of many.
        STRIPE.set(self.0 % SHARED);
        let before = FREE.fetch_or(1 << self.0, Release);
        assert!(before & (1 << self.0) == 0, "it was this thread's");
    }
}

/// The calling thread's stripe.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stripe(usize);

impl Stripe {
    /// See the heading.
    #[inline]
    pub(crate) fn own() -> Stripe {
        let known = STRIPE.get();
        Stripe(if known == UNKNOWN { first() } else { known })
    }

    /// Its place among all.
    #[inline]
    pub(crate) fn place(self) -> usize {
        self.0 & (STRIPES - 1)
    }

    /// Adds to a cell of this stripe.
    #[inline]
    pub(crate) fn add(self, cell: &AtomicI64, amount: i64) {
        if self.0 < SHARED {
            cell.fetch_add(amount, Relaxed);
        } else {
            cell.store(cell.load(Relaxed).wrapping_add(amount), Relaxed);
        }
    }
}

/// The thread adds for the first time.
#[cold]
fn first() -> usize {
    let mut lease = Lease::take();
    let own = lease.as_ref().map(|lease| lease.0);
    // A thread that is ending takes none: it could not give it back.
    let kept = own.filter(|_| LEASE.try_with(|place| place.set(lease.take())).is_ok());
    let stripe = kept.unwrap_or_else(|| NEXT_SHARED.fetch_add(1, Relaxed) % SHARED);
    STRIPE.set(stripe);
    stripe
}
