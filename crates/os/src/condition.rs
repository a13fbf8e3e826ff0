//! `Condition`: waiting, with a latch, until another task changes the guarded state (a condition variable).

use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::futex::Woke;
use crate::latch::{Latch, LatchGuard};
use crate::task::{self, TaskRef};
use crate::wait::{WaitOutcome, WaitType, deadline_after};
use crate::waiting::Waiting;

/// A condition variable. Notifications wake waiters in the order of arrival.
#[derive(Default)]
pub struct Condition {
    waiters: Mutex<VecDeque<Arc<Waiter>>>,
}

struct Waiter {
    task: TaskRef,
    notified: AtomicBool,
}

impl Condition {
    /// A condition without waiters.
    pub const fn new() -> Condition {
        Condition { waiters: Mutex::new(VecDeque::new()) }
    }

    /// Releases the latch, waits for a notification, takes the latch again. Interruptible (mask interrupts to forbid).
    /// `timeout_ns` of `None` waits for ever. Callers check their condition again: `Set` is no promise of it.
    pub fn wait<'a, T: ?Sized>(
        &self,
        guard: LatchGuard<'a, T>,
        wait_type: WaitType,
        timeout_ns: Option<u64>,
    ) -> (LatchGuard<'a, T>, WaitOutcome) {
        let latch: &'a Latch<T> = LatchGuard::latch(&guard);
        let outcome = {
            let waiting = Waiting::begin(wait_type);
            let deadline_ns = deadline_after(waiting.began_ns(), timeout_ns);
            let waiter = Arc::new(Waiter { task: waiting.task().clone(), notified: AtomicBool::new(false) });
            self.waiters().push_back(Arc::clone(&waiter));
            drop(guard);
            self.park(&waiter, deadline_ns)
        };
        (latch.lock(), outcome)
    }

    /// Wakes the longest waiting task.
    pub fn notify_one(&self) {
        let first = self.waiters().pop_front();
        if let Some(waiter) = first {
            waiter.notify();
        }
    }

    /// Wakes all waiting tasks.
    pub fn notify_all(&self) {
        let all = std::mem::take(&mut *self.waiters());
        for waiter in all {
            waiter.notify();
        }
    }

    fn park(&self, waiter: &Arc<Waiter>, deadline_ns: Option<u64>) -> WaitOutcome {
        loop {
            if waiter.notified.load(Acquire) {
                return WaitOutcome::Set;
            }
            if task::interrupt_pending() {
                return self.give_up(waiter, WaitOutcome::Interrupted);
            }
            if waiter.task.park(deadline_ns) == Woke::TimedOut {
                return self.give_up(waiter, WaitOutcome::TimedOut);
            }
        }
    }

    /// Leaves the queue; a notification that came in the meantime counts.
    fn give_up(&self, waiter: &Arc<Waiter>, outcome: WaitOutcome) -> WaitOutcome {
        self.waiters().retain(|other| !Arc::ptr_eq(other, waiter));
        if waiter.notified.load(Acquire) { WaitOutcome::Set } else { outcome }
    }

    fn waiters(&self) -> MutexGuard<'_, VecDeque<Arc<Waiter>>> {
        self.waiters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiter {
    fn notify(&self) {
        self.notified.store(true, Release);
        self.task.unpark();
    }
}
