//! `RwLatch`: many readers or one writer, with borrowed guards and with owned ones (for buffer frames).
//!
//! State word: `WRITER` bit, `WAITING` bit, count of readers. Who cannot enter registers in `queue`, sets `WAITING`
//! and parks; who leaves last wakes the first writer or the leading readers, and they try again.
//! New readers wait behind a waiting task, so a stream of readers cannot starve a writer.

use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};
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

/// Shared or exclusive use of `T`. Waits count as `LATCH_SH`/`LATCH_EX` unless told otherwise. Not re-entrant, not
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

/// Shared use, keeping the latch alive.
pub struct ReadArcGuard<T: ?Sized> {
    latch: Arc<RwLatch<T>>,
}

/// Exclusive use, keeping the latch alive.
pub struct WriteArcGuard<T: ?Sized> {
    latch: Arc<RwLatch<T>>,
}

impl<T> RwLatch<T> {
    /// A latch of `rank` around `value`.
    pub fn new(rank: LatchRank, value: T) -> RwLatch<T> {
        RwLatch::with_wait_types(rank, WaitType::LATCH_SH, WaitType::LATCH_EX, value)
    }

    /// The same with other wait types (a page's latch: `PAGELATCH_SH`, `PAGELATCH_EX`).
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

    /// The value, when nobody else can have the latch.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> RwLatch<T> {
    /// Shared use; waits while a writer has the latch or somebody waits already.
    #[inline]
    #[track_caller]
    pub fn read(&self) -> ReadGuard<'_, T> {
        self.acquire_shared();
        ReadGuard { latch: self }
    }

    /// Exclusive use; waits while anybody has the latch.
    #[inline]
    #[track_caller]
    pub fn write(&self) -> WriteGuard<'_, T> {
        self.acquire_exclusive();
        WriteGuard { latch: self }
    }

    /// Shared use if it can be had without waiting.
    #[inline]
    pub fn try_read(&self) -> Option<ReadGuard<'_, T>> {
        self.enter_shared().then(|| self.note_taken()).map(|()| ReadGuard { latch: self })
    }

    /// Exclusive use if it can be had without waiting.
    #[inline]
    pub fn try_write(&self) -> Option<WriteGuard<'_, T>> {
        self.enter_exclusive().then(|| self.note_taken()).map(|()| WriteGuard { latch: self })
    }

    /// As `read`, keeping the latch alive by itself.
    #[inline]
    #[track_caller]
    pub fn read_arc(self: &Arc<Self>) -> ReadArcGuard<T> {
        self.acquire_shared();
        ReadArcGuard { latch: Arc::clone(self) }
    }

    /// As `write`, keeping the latch alive by itself.
    #[inline]
    #[track_caller]
    pub fn write_arc(self: &Arc<Self>) -> WriteArcGuard<T> {
        self.acquire_exclusive();
        WriteArcGuard { latch: Arc::clone(self) }
    }

    /// As `try_read`, keeping the latch alive by itself.
    #[inline]
    pub fn try_read_arc(self: &Arc<Self>) -> Option<ReadArcGuard<T>> {
        self.enter_shared().then(|| self.note_taken()).map(|()| ReadArcGuard { latch: Arc::clone(self) })
    }

    /// As `try_write`, keeping the latch alive by itself.
    #[inline]
    pub fn try_write_arc(self: &Arc<Self>) -> Option<WriteArcGuard<T>> {
        self.enter_exclusive().then(|| self.note_taken()).map(|()| WriteArcGuard { latch: Arc::clone(self) })
    }

    /// The value, through the proof that nobody else can have the latch.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    /// True while somebody has the latch exclusively (for assertions).
    pub fn is_held_exclusively(&self) -> bool {
        self.state.load(Relaxed) & WRITER != 0
    }

    /// True while anybody has the latch (for assertions and for choosing victims).
    pub fn is_held(&self) -> bool {
        self.state.load(Relaxed) & (WRITER | READERS) != 0
    }

    #[inline]
    fn note_taken(&self) {
        rank::taken(self.rank);
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

    /// Enters as a reader unless a writer is inside or somebody waits.
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

    /// Enters as the writer if nobody is inside (waiting ones may be overtaken).
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

    /// Looks for a while whether it can `enter`: who is inside, on another processor, is often done soon. Whoever comes while others wait
    /// joins them.
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
                // Whoever has been woken once does not queue up behind new arrivals again.
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

    /// Takes `task` off the queue, and the `WAITING` bit off the state when nobody is left in it.
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

impl<T: ?Sized> WriteArcGuard<T> {
    /// Goes on as a reader, without a moment in between.
    pub fn downgrade(self) -> ReadArcGuard<T> {
        let latch = Arc::clone(&self.latch);
        let guard = std::mem::ManuallyDrop::new(self);
        // SAFETY: the guard is never touched again; its `Arc` is released here instead of in its drop.
        drop(unsafe { std::ptr::read(&guard.latch) });
        latch.downgrade();
        ReadArcGuard { latch }
    }

    /// The latch that this guard holds.
    pub fn latch(guard: &WriteArcGuard<T>) -> &Arc<RwLatch<T>> {
        &guard.latch
    }
}

impl<T: ?Sized> ReadArcGuard<T> {
    /// The latch that this guard holds.
    pub fn latch(guard: &ReadArcGuard<T>) -> &Arc<RwLatch<T>> {
        &guard.latch
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

guards!(ReadGuard<'_, T> => leave_shared, ReadArcGuard<T> => leave_shared);
guards!(WriteGuard<'_, T> => leave_exclusive, WriteArcGuard<T> => leave_exclusive);

impl<T: ?Sized> DerefMut for WriteGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard is the one exclusive use, and `&mut self` excludes other borrows.
        unsafe { &mut *self.latch.value.get() }
    }
}

impl<T: ?Sized> DerefMut for WriteArcGuard<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as for `WriteGuard`.
        unsafe { &mut *self.latch.value.get() }
    }
}

impl<T: ?Sized> std::fmt::Debug for RwLatch<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RwLatch({:?})", self.rank)
    }
}
