//! `Latch`: short mutual exclusion with a rank. Uncontended it is one atomic exchange each way; no poisoning.
//!
//! ```text
//!  FREE ──lock──► HELD ──lock by another (parks)──► CONTENDED ──drop: wakes one──► FREE
//! ```

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::rank::{self, LatchRank};
use crate::seat;
use crate::wait::WaitType;
use crate::waiting::Waiting;
use crate::word;

const FREE: u32 = 0;
const HELD: u32 = 1;
const CONTENDED: u32 = 2;

/// A holder on another processor often releases the latch within so many tries.
const SPINS: u32 = 100;

/// Calls `look` until it returns whether the latch was taken, or that spinning is pointless; false after many tries. Not used in simulation.
pub(crate) fn spin(look: impl Fn() -> Option<bool>) -> bool {
    if seat::any_world() {
        return false;
    }
    for _ in 0..SPINS {
        if let Some(had) = look() {
            return had;
        }
        std::hint::spin_loop();
    }
    false
}

/// Mutual exclusion around `T` for short, non-blocking sections. Waits count as `LATCH_EX`. Not re-entrant.
pub struct Latch<T: ?Sized> {
    state: AtomicU32,
    rank: LatchRank,
    value: UnsafeCell<T>,
}

// SAFETY: the latch gives out one `&mut T` at a time, so sharing it needs no more than sending `T`.
unsafe impl<T: ?Sized + Send> Send for Latch<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send> Sync for Latch<T> {}

/// Access to the value of a [`Latch`]; released on drop.
pub struct LatchGuard<'a, T: ?Sized> {
    latch: &'a Latch<T>,
    _not_send: std::marker::PhantomData<*const ()>,
}

impl<T> Latch<T> {
    /// A latch of `rank` around `value`.
    pub const fn new(rank: LatchRank, value: T) -> Latch<T> {
        Latch { state: AtomicU32::new(FREE), rank, value: UnsafeCell::new(value) }
    }

    /// The value, when no other thread can hold the latch.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> Latch<T> {
    /// Takes the latch, waiting (`LATCH_EX`, not interruptible) while another thread holds it.
    #[inline]
    #[track_caller]
    pub fn lock(&self) -> LatchGuard<'_, T> {
        rank::check(self.rank);
        if self.state.compare_exchange(FREE, HELD, Acquire, Relaxed).is_err() {
            self.lock_contended();
        }
        rank::taken(self.rank);
        LatchGuard { latch: self, _not_send: std::marker::PhantomData }
    }

    /// Takes the latch if it is free.
    #[inline]
    pub fn try_lock(&self) -> Option<LatchGuard<'_, T>> {
        self.state.compare_exchange(FREE, HELD, Acquire, Relaxed).ok()?;
        rank::taken(self.rank);
        Some(LatchGuard { latch: self, _not_send: std::marker::PhantomData })
    }

    /// The value, since `&mut self` proves that no other thread can hold the latch.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    #[cold]
    fn lock_contended(&self) {
        if self.spin() {
            return;
        }
        let waiting = Waiting::begin(WaitType::LATCH_EX);
        while self.state.swap(CONTENDED, Acquire) != FREE {
            word::wait(&self.state, CONTENDED, None);
        }
        waiting.end_for_latch(self.rank);
    }

    #[cold]
    fn wake_one(&self) {
        word::wake(&self.state, 1);
    }

    fn spin(&self) -> bool {
        spin(|| match self.state.load(Relaxed) {
            FREE if self.state.compare_exchange(FREE, HELD, Acquire, Relaxed).is_ok() => Some(true),
            CONTENDED => Some(false),
            _ => None,
        })
    }

    #[inline]
    fn unlock(&self) {
        if self.state.swap(FREE, Release) == CONTENDED {
            self.wake_one();
        }
        rank::released(self.rank);
        seat::maybe_switch();
    }
}

impl<T: ?Sized> Deref for LatchGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard exists only while its thread holds the latch.
        unsafe { &*self.latch.value.get() }
    }
}

impl<T: ?Sized> DerefMut for LatchGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard exists only while its thread holds the latch, and `&mut self` excludes other borrows.
        unsafe { &mut *self.latch.value.get() }
    }
}

impl<'a, T: ?Sized> LatchGuard<'a, T> {
    pub(crate) fn latch(guard: &LatchGuard<'a, T>) -> &'a Latch<T> {
        guard.latch
    }
}

impl<T: ?Sized> Drop for LatchGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.latch.unlock();
    }
}

impl<T: Default> Default for Latch<T> {
    fn default() -> Latch<T> {
        Latch::new(LatchRank::Leaf, T::default())
    }
}

impl<T: ?Sized> std::fmt::Debug for Latch<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Latch({:?})", self.rank)
    }
}
