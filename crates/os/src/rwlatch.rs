//! `RwLatch`: many readers or one writer, with borrowed guards and with guards that own an `Arc` of the latch's owner (for buffer frames).
//!
//! State word: `WRITER` bit, `WAITING` bit, count of readers. A thread that cannot enter registers in `queue`, sets `WAITING`
//! and parks; the last one to leave wakes the first writer or the leading readers, and they try again.
//! New readers wait behind a waiting task, so a stream of readers cannot starve a writer.

use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::rank::{self, LatchRank};
use crate::seat;
use crate::task::TaskRef;
use crate::wait::WaitType;
use crate::waiting::Waiting;

const WRITER: u32 = 1 << 31;
const WAITING: u32 = 1 << 30;
const READERS: u32 = WAITING - 1;

/// Shared or exclusive use of `T`. Waits count as `LATCH_SH`/`LATCH_EX` unless created with other wait types. Not re-entrant, not
/// interruptible, no poisoning.
pub struct RwLatch<T: ?Sized> {
    state: AtomicU32,
    rank: LatchRank,
    shared_wait: WaitType,
    exclusive_wait: WaitType,
    queue: Mutex<VecDeque<Waiter>>,
    value: UnsafeCell<T>,
}

struct Waiter {
    task: TaskRef,
    exclusive: bool,
}

// SAFETY: the latch hands out `&mut T` exclusively and `&T` shared, as std's RwLock.
unsafe impl<T: ?Sized + Send> Send for RwLatch<T> {}
// SAFETY: as above; readers on several threads need `T: Sync`.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLatch<T> {}

/// Shared use, borrowed.
pub struct ReadGuard<'a, T: ?Sized> {
    latch: &'a RwLatch<T>,
}

/// Exclusive use, borrowed.
pub struct WriteGuard<'a, T: ?Sized> {
    latch: &'a RwLatch<T>,
}

/// Shared use, keeping alive the owner of the latch.
pub struct ReadArcGuard<O, T> {
    /// Inside the object that `owner` keeps alive.
    latch: NonNull<RwLatch<T>>,
    owner: Arc<O>,
}

/// Exclusive use, keeping alive the owner of the latch.
pub struct WriteArcGuard<O, T> {
    /// Inside the object that `owner` keeps alive.
    latch: NonNull<RwLatch<T>>,
    owner: Arc<O>,
}

impl<T> RwLatch<T> {
    /// A latch of `rank` around `value`.
    pub fn new(rank: LatchRank, value: T) -> RwLatch<T> {
        RwLatch::with_wait_types(rank, WaitType::LATCH_SH, WaitType::LATCH_EX, value)
    }

    /// A latch with other wait types (a page's latch: `PAGELATCH_SH`, `PAGELATCH_EX`).
    pub fn with_wait_types(rank: LatchRank, shared: WaitType, exclusive: WaitType, value: T) -> RwLatch<T> {
        RwLatch {
            state: AtomicU32::new(0),
            rank,
            shared_wait: shared,
            exclusive_wait: exclusive,
            queue: Mutex::new(VecDeque::new()),
            value: UnsafeCell::new(value),
        }
    }

    /// The value, when no other thread can hold the latch.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> RwLatch<T> {
    /// Shared use; waits while a writer has the latch or another task waits already.
    #[inline]
    #[track_caller]
    pub fn read(&self) -> ReadGuard<'_, T> {
        self.acquire_shared();
        ReadGuard { latch: self }
    }

    /// Exclusive use; waits while any other thread has the latch.
    #[inline]
    #[track_caller]
    pub fn write(&self) -> WriteGuard<'_, T> {
        self.acquire_exclusive();
        WriteGuard { latch: self }
    }

    /// Shared use, without waiting; `None` if that is not possible.
    #[inline]
    pub fn try_read(&self) -> Option<ReadGuard<'_, T>> {
        self.try_acquire_shared().then(|| ReadGuard { latch: self })
    }

    /// The value, since `&mut self` proves that no other thread can hold the latch.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    /// True while a thread has the latch exclusively (for assertions).
    pub fn is_held_exclusively(&self) -> bool {
        self.state.load(Relaxed) & WRITER != 0
    }

    /// True while any thread has the latch (for assertions and for choosing victims).
    pub fn is_held(&self) -> bool {
        self.state.load(Relaxed) & (WRITER | READERS) != 0
    }

    #[inline]
    fn try_acquire_shared(&self) -> bool {
        let has_entered = self.enter_shared();
        if has_entered {
            rank::taken(self.rank);
        }
        has_entered
    }

    #[inline]
    fn try_acquire_exclusive(&self) -> bool {
        let has_entered = self.enter_exclusive();
        if has_entered {
            rank::taken(self.rank);
        }
        has_entered
    }

    #[inline]
    #[track_caller]
    fn acquire_shared(&self) {
        rank::check(self.rank);
        if !self.enter_shared() && !self.spin(RwLatch::enter_shared) {
            self.wait_for_entry(false);
        }
        rank::taken(self.rank);
    }

    #[inline]
    #[track_caller]
    fn acquire_exclusive(&self) {
        rank::check(self.rank);
        if !self.enter_exclusive() && !self.spin(RwLatch::enter_exclusive) {
            self.wait_for_entry(true);
        }
        rank::taken(self.rank);
    }

    /// Enters as a reader unless a writer holds the latch or a task waits.
    #[inline]
    fn enter_shared(&self) -> bool {
        self.enter_shared_if(|state| state & (WRITER | WAITING) == 0)
    }

    #[inline]
    fn enter_shared_if(&self, free: impl Fn(u32) -> bool) -> bool {
        let mut state = self.state.load(Relaxed);
        while free(state) {
            match self.state.compare_exchange_weak(state, state + 1, Acquire, Relaxed) {
                Ok(_) => return true,
                Err(now) => state = now,
            }
        }
        false
    }

    /// Enters as the writer if the latch is free (it may overtake waiting tasks).
    #[inline]
    fn enter_exclusive(&self) -> bool {
        let mut state = self.state.load(Relaxed);
        while state & (WRITER | READERS) == 0 {
            match self.state.compare_exchange_weak(state, state | WRITER, Acquire, Relaxed) {
                Ok(_) => return true,
                Err(now) => state = now,
            }
        }
        false
    }

    /// Spins for a while on `enter`: a holder on another processor often leaves soon. With tasks waiting
    /// it does not spin, but queues.
    #[cold]
    fn spin(&self, enter: impl Fn(&Self) -> bool) -> bool {
        crate::latch::spin(|| match self.state.load(Relaxed) {
            state if state & WAITING != 0 => Some(false),
            _ => enter(self).then_some(true),
        })
    }

    #[cold]
    fn wait_for_entry(&self, exclusive: bool) {
        let wait_type = if exclusive { self.exclusive_wait } else { self.shared_wait };
        let waiting = Waiting::begin(wait_type);
        let task = waiting.task();
        let mut woken_before = false;
        loop {
            {
                let mut queue = self.queue();
                self.state.fetch_or(WAITING, AcqRel);
                // A task that was woken once does not queue behind new arrivals again.
                let entered = match exclusive {
                    true => self.enter_exclusive(),
                    false => {
                        let first = woken_before || queue.is_empty();
                        first && self.enter_shared_if(|state| state & WRITER == 0)
                    }
                };
                if entered {
                    self.forget(&mut queue, task);
                    break;
                }
                if !queue.iter().any(|waiter| waiter.task.same(task)) {
                    let waiter = Waiter { task: task.clone(), exclusive };
                    if woken_before { queue.push_front(waiter) } else { queue.push_back(waiter) }
                }
            }
            task.park(None);
            woken_before = true;
        }
        waiting.end_for_latch(self.rank);
    }

    /// Removes `task` from the queue, and clears the `WAITING` bit when the queue is empty.
    fn forget(&self, queue: &mut VecDeque<Waiter>, task: &TaskRef) {
        queue.retain(|waiter| !waiter.task.same(task));
        if queue.is_empty() {
            self.state.fetch_and(!WAITING, Release);
        }
    }

    #[inline]
    fn leave_shared(&self) {
        let before = self.state.fetch_sub(1, Release);
        debug_assert!(before & READERS > 0, "a reader leaves that never entered");
        if before & WAITING != 0 && before & READERS == 1 {
            self.wake_next();
        }
        rank::released(self.rank);
        seat::maybe_switch();
    }

    #[inline]
    fn leave_exclusive(&self) {
        let before = self.state.fetch_and(!WRITER, Release);
        debug_assert!(before & WRITER != 0, "a writer leaves that never entered");
        if before & WAITING != 0 {
            self.wake_next();
        }
        rank::released(self.rank);
        seat::maybe_switch();
    }

    #[cold]
    fn wake_next(&self) {
        let mut woken = Vec::new();
        {
            let mut queue = self.queue();
            match queue.front() {
                Some(first) if first.exclusive => woken.extend(queue.pop_front()),
                _ => {
                    while queue.front().is_some_and(|waiter| !waiter.exclusive) {
                        woken.extend(queue.pop_front());
                    }
                }
            }
            if queue.is_empty() {
                self.state.fetch_and(!WAITING, Release);
            }
        }
        for waiter in woken {
            waiter.task.unpark();
        }
    }

    fn queue(&self) -> MutexGuard<'_, VecDeque<Waiter>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline]
    fn downgrade(&self) {
        // One step: the writer's bit becomes one reader.
        let before = self.state.fetch_sub(WRITER - 1, AcqRel);
        debug_assert!(before & WRITER != 0 && before & READERS == 0, "only a writer can become a reader");
        if before & WAITING != 0 {
            self.wake_next();
        }
    }
}

impl<'a, T: ?Sized> WriteGuard<'a, T> {
    /// Goes on as a reader, without a moment in between.
    pub fn downgrade(self) -> ReadGuard<'a, T> {
        let latch = self.latch;
        std::mem::forget(self);
        latch.downgrade();
        ReadGuard { latch }
    }
}

/// The latch inside `owner`; valid as long as the `Arc` is not dropped: until then the owner is not moved, and is accessed only through `&O`.
#[inline]
fn latch_in<O, T>(owner: &Arc<O>, latch_of: impl FnOnce(&O) -> &RwLatch<T>) -> NonNull<RwLatch<T>> {
    NonNull::from(latch_of(owner))
}

impl<O, T> ReadArcGuard<O, T> {
    /// As [`RwLatch::read`], of the latch in `owner`.
    #[inline]
    #[track_caller]
    pub fn take(owner: Arc<O>, latch_of: impl FnOnce(&O) -> &RwLatch<T>) -> ReadArcGuard<O, T> {
        let latch = latch_in(&owner, latch_of);
        // SAFETY: see `latch_in`.
        unsafe { latch.as_ref() }.acquire_shared();
        ReadArcGuard { latch, owner }
    }

    /// As [`RwLatch::try_read`], of the latch in `owner`.
    #[inline]
    pub fn try_take(owner: Arc<O>, latch_of: impl FnOnce(&O) -> &RwLatch<T>) -> Option<ReadArcGuard<O, T>> {
        let latch = latch_in(&owner, latch_of);
        // SAFETY: see `latch_in`.
        unsafe { latch.as_ref() }.try_acquire_shared().then_some(())?;
        Some(ReadArcGuard { latch, owner })
    }

    /// What has the latch.
    #[inline]
    pub fn owner(guard: &ReadArcGuard<O, T>) -> &Arc<O> {
        &guard.owner
    }
}

impl<O, T> WriteArcGuard<O, T> {
    /// As [`RwLatch::write`], of the latch in `owner`.
    #[inline]
    #[track_caller]
    pub fn take(owner: Arc<O>, latch_of: impl FnOnce(&O) -> &RwLatch<T>) -> WriteArcGuard<O, T> {
        let latch = latch_in(&owner, latch_of);
        // SAFETY: see `latch_in`.
        unsafe { latch.as_ref() }.acquire_exclusive();
        WriteArcGuard { latch, owner }
    }

    /// As [`RwLatch::try_write`], of the latch in `owner`.
    #[inline]
    pub fn try_take(owner: Arc<O>, latch_of: impl FnOnce(&O) -> &RwLatch<T>) -> Option<WriteArcGuard<O, T>> {
        let latch = latch_in(&owner, latch_of);
        // SAFETY: see `latch_in`.
        unsafe { latch.as_ref() }.try_acquire_exclusive().then_some(())?;
        Some(WriteArcGuard { latch, owner })
    }

    /// Goes on as a reader, without a moment in between.
    pub fn downgrade(self) -> ReadArcGuard<O, T> {
        let (latch, owner) = (self.latch, Arc::clone(&self.owner));
        let guard = std::mem::ManuallyDrop::new(self);
        // SAFETY: the guard is never touched again; its `Arc` is released here instead of in its drop.
        drop(unsafe { std::ptr::read(&guard.owner) });
        // SAFETY: `owner` keeps it alive.
        unsafe { latch.as_ref() }.downgrade();
        ReadArcGuard { latch, owner }
    }

    /// What has the latch.
    #[inline]
    pub fn owner(guard: &WriteArcGuard<O, T>) -> &Arc<O> {
        &guard.owner
    }
}

macro_rules! guards {
    ($($guard:ty => $leave:ident),+) => {$(
        impl<T: ?Sized> Deref for $guard {
            type Target = T;

            #[inline]
            fn deref(&self) -> &T {
                // SAFETY: the guard exists only while its use of the latch lasts.
                unsafe { &*self.latch.value.get() }
            }
        }

        impl<T: ?Sized> Drop for $guard {
            #[inline]
            fn drop(&mut self) {
                self.latch.$leave();
            }
        }
    )+};
}

guards!(ReadGuard<'_, T> => leave_shared);
guards!(WriteGuard<'_, T> => leave_exclusive);

macro_rules! arc_guards {
    ($($guard:ident => $leave:ident),+) => {$(
        impl<O, T> $guard<O, T> {
            #[inline]
            fn latch(&self) -> &RwLatch<T> {
                // SAFETY: `owner` keeps it alive.
                unsafe { self.latch.as_ref() }
            }
        }

        impl<O, T> Deref for $guard<O, T> {
            type Target = T;

            #[inline]
            fn deref(&self) -> &T {
                // SAFETY: the guard exists only while its use of the latch lasts.
                unsafe { &*self.latch().value.get() }
            }
        }

        impl<O, T> Drop for $guard<O, T> {
            #[inline]
            fn drop(&mut self) {
                self.latch().$leave();
            }
        }
    )+};
}

arc_guards!(ReadArcGuard => leave_shared, WriteArcGuard => leave_exclusive);

impl<T: ?Sized> DerefMut for WriteGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard is the one exclusive use, and `&mut self` excludes other borrows.
        unsafe { &mut *self.latch.value.get() }
    }
}

impl<O, T> DerefMut for WriteArcGuard<O, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as for `WriteGuard`.
        unsafe { &mut *self.latch().value.get() }
    }
}

impl<T: ?Sized> std::fmt::Debug for RwLatch<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RwLatch({:?})", self.rank)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Owner {
        latches: [RwLatch<u64>; 2],
        dropped: Arc<AtomicU32>,
    }

    impl Drop for Owner {
        fn drop(&mut self) {
            assert!(
                self.latches.iter().all(|latch| !latch.is_held()),
                "a latch is left before its owner goes"
            );
            self.dropped.fetch_add(1, Relaxed);
        }
    }

    #[test]
    fn a_guard_keeps_its_owner_and_leaves_its_own_latch() {
        let dropped = Arc::new(AtomicU32::new(0));
        let latch = || RwLatch::new(LatchRank::BTreePage, 1);
        let owner = Arc::new(Owner { latches: [latch(), latch()], dropped: Arc::clone(&dropped) });
        fn first(owner: &Owner) -> &RwLatch<u64> {
            &owner.latches[0]
        }
        let mut guard = WriteArcGuard::take(Arc::clone(&owner), first);
        assert!(WriteArcGuard::try_take(Arc::clone(&owner), first).is_none());
        assert!(ReadArcGuard::try_take(Arc::clone(&owner), first).is_none());
        assert_eq!(Arc::strong_count(&owner), 2, "a refusal keeps nothing");
        *guard += 1;
        let reader = guard.downgrade();
        let beside = ReadArcGuard::take(Arc::clone(&owner), first);
        assert!(Arc::ptr_eq(ReadArcGuard::owner(&reader), &owner) && *beside == 2);
        assert!(!owner.latches[1].is_held() && !owner.latches[0].is_held_exclusively());
        drop((owner, reader));
        assert_eq!(dropped.load(Relaxed), 0, "one guard is left");
        drop(beside);
        assert_eq!(dropped.load(Relaxed), 1);
    }
}
