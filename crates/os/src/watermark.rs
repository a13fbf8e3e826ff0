//! `Watermark`: a number that only grows, and waiting until it has reached a target. Wakes exactly the waiters reached.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU64, fence};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::futex::Woke;
use crate::task::{self, TaskRef};
use crate::wait::{WaitError, WaitType, deadline_after};
use crate::waiting::Waiting;

/// A monotone number with waiters. One task at a time advances it; any number read and wait.
pub struct Watermark {
    value: AtomicU64,
    poisoned: AtomicBool,
    /// The lowest target of all waiters; `u64::MAX` without waiters. Lets `advance_to` skip the list.
    lowest_target: AtomicU64,
    waiters: Mutex<Waiters>,
}

#[derive(Default)]
struct Waiters {
    by_target: BTreeMap<(u64, u64), TaskRef>,
    next_ticket: u64,
}

impl Watermark {
    /// A watermark with this value.
    pub const fn new(value: u64) -> Watermark {
        Watermark {
            value: AtomicU64::new(value),
            poisoned: AtomicBool::new(false),
            lowest_target: AtomicU64::new(u64::MAX),
            waiters: Mutex::new(Waiters { by_target: BTreeMap::new(), next_ticket: 0 }),
        }
    }

    /// Its value.
    #[inline]
    pub fn get(&self) -> u64 {
        self.value.load(Acquire)
    }

    /// Moves it up to `value` and wakes the waiters whose target is reached. A lower value changes nothing.
    pub fn advance_to(&self, value: u64) {
        self.value.fetch_max(value, Release);
        // Pairs with the fence in `register`: either this sees the waiter's target, or the waiter sees this value.
        fence(SeqCst);
        if self.lowest_target.load(Relaxed) <= value {
            self.wake_reached(value);
        }
        crate::seat::maybe_switch();
    }

    /// Waits until the watermark is at `target` or above. Interruptible.
    pub fn wait_for(&self, target: u64, wait_type: WaitType) -> Result<(), WaitError> {
        if self.get() >= target {
            return Ok(());
        }
        self.wait_cold(target, wait_type, None)
    }

    /// As `wait_for`, for at most `timeout_ns`.
    pub fn wait_for_timeout(
        &self,
        target: u64,
        wait_type: WaitType,
        timeout_ns: u64,
    ) -> Result<(), WaitError> {
        if self.get() >= target {
            return Ok(());
        }
        self.wait_cold(target, wait_type, Some(timeout_ns))
    }

    /// Its writer has failed: each present and later waiter for more than `get()` gets `Poisoned`.
    pub fn poison(&self) {
        self.poisoned.store(true, SeqCst);
        self.wake_reached(u64::MAX);
    }

    /// True after `poison`.
    pub fn is_poisoned(&self) -> bool {
        self.poisoned.load(Acquire)
    }

    /// Number of waiting tasks now.
    pub fn waiters_count(&self) -> usize {
        self.waiters().by_target.len()
    }

    #[cold]
    fn wait_cold(&self, target: u64, wait_type: WaitType, timeout_ns: Option<u64>) -> Result<(), WaitError> {
        let waiting = Waiting::begin(wait_type);
        let deadline_ns = deadline_after(waiting.began_ns(), timeout_ns);
        let ticket = self.register(target, waiting.task());
        let result = self.park(target, waiting.task(), deadline_ns);
        if result.is_err() {
            self.forget((target, ticket));
        }
        result
    }

    fn park(&self, target: u64, task: &TaskRef, deadline_ns: Option<u64>) -> Result<(), WaitError> {
        loop {
            if self.get() >= target {
                return Ok(());
            }
            if self.is_poisoned() {
                return Err(WaitError::Poisoned);
            }
            if task::interrupt_pending() {
                return Err(WaitError::Interrupted);
            }
            if task.park(deadline_ns) == Woke::TimedOut && self.get() < target {
                return Err(WaitError::TimedOut);
            }
        }
    }

    fn register(&self, target: u64, task: &TaskRef) -> u64 {
        let mut waiters = self.waiters();
        let ticket = waiters.next_ticket;
        waiters.next_ticket += 1;
        waiters.by_target.insert((target, ticket), task.clone());
        self.publish_lowest(&waiters);
        fence(SeqCst);
        ticket
    }

    fn forget(&self, key: (u64, u64)) {
        let mut waiters = self.waiters();
        waiters.by_target.remove(&key);
        self.publish_lowest(&waiters);
    }

    #[cold]
    fn wake_reached(&self, value: u64) {
        let mut reached = Vec::new();
        {
            let mut waiters = self.waiters();
            while let Some(first) = waiters.by_target.first_entry() {
                if first.key().0 > value {
                    break;
                }
                reached.push(first.remove());
            }
            self.publish_lowest(&waiters);
        }
        for task in reached {
            task.unpark();
        }
    }

    fn publish_lowest(&self, waiters: &Waiters) {
        let lowest = waiters.by_target.first_key_value().map_or(u64::MAX, |(key, _)| key.0);
        self.lowest_target.store(lowest, Relaxed);
    }

    fn waiters(&self) -> MutexGuard<'_, Waiters> {
        self.waiters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Watermark {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Watermark({})", self.get())
    }
}
