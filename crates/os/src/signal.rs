//! `Signal`: one waiter, one event. `set` before `wait` is not lost; a successful `wait` clears the event.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::futex::Woke;
use crate::task::{self, TaskRef};
use crate::wait::{WaitOutcome, WaitType, deadline_after};
use crate::waiting::Waiting;

/// An event with one waiter, such as "your lock is granted".
#[derive(Default)]
pub struct Signal {
    is_set: AtomicBool,
    waiter: Mutex<Option<TaskRef>>,
}

impl Signal {
    /// A signal that is not set.
    pub const fn new() -> Signal {
        Signal { is_set: AtomicBool::new(false), waiter: Mutex::new(None) }
    }

    /// Sets it and wakes the waiter, if there is one.
    pub fn set(&self) {
        // The flag is stored under the mutex: a waiter either finds it set or is found in the slot.
        let waiter = {
            let slot = self.slot();
            self.is_set.store(true, Release);
            slot.clone()
        };
        if let Some(task) = waiter {
            task.unpark();
        }
    }

    /// Clears a set event.
    pub fn reset(&self) {
        self.is_set.store(false, Release);
    }

    /// True after `set`, until a `wait` or `reset` takes the event.
    pub fn is_set(&self) -> bool {
        self.is_set.load(Acquire)
    }

    /// Waits until it is set, at most for `timeout_ns`. Interruptible. One task at a time.
    pub fn wait(&self, wait_type: WaitType, timeout_ns: Option<u64>) -> WaitOutcome {
        if self.take() {
            return WaitOutcome::Set;
        }
        let waiting = Waiting::begin(wait_type);
        let deadline_ns = deadline_after(waiting.began_ns(), timeout_ns);
        {
            let mut slot = self.slot();
            assert!(slot.is_none(), "a signal has one waiter");
            *slot = Some(waiting.task().clone());
        }
        let outcome = self.park(waiting.task(), deadline_ns);
        *self.slot() = None;
        outcome
    }

    fn park(&self, task: &TaskRef, deadline_ns: Option<u64>) -> WaitOutcome {
        loop {
            if self.take() {
                return WaitOutcome::Set;
            }
            if task::interrupt_pending() {
                return WaitOutcome::Interrupted;
            }
            if task.park(deadline_ns) == Woke::TimedOut {
                return if self.take() { WaitOutcome::Set } else { WaitOutcome::TimedOut };
            }
        }
    }

    fn take(&self) -> bool {
        self.is_set.swap(false, AcqRel)
    }

    fn slot(&self) -> MutexGuard<'_, Option<TaskRef>> {
        self.waiter.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lets a signal serve as a waker: callers wake a waiting thread and a suspended task in the same way.
impl std::task::Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.set();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.set();
    }
}
