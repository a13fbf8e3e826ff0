//! The accounting that every blocking primitive does: one wait, from its begin to its end, and its observer.

use std::cell::RefCell;
use std::sync::Arc;

use crate::rank::LatchRank;
use crate::task::{self, TaskRef};
use crate::wait::{SessionWaits, WaitType};

/// Called for each wait of the threads that it observes (see [`observe_waits`]), to let another thread run meanwhile.
pub trait WaitObserver {
    /// The calling thread is about to wait. It may hold latches: take none below `Leaf`.
    fn wait_begins(&self);
    /// The wait has ended.
    fn wait_ends(&self);
}

thread_local! {
    static OBSERVER: RefCell<Option<Arc<dyn WaitObserver>>> = const { RefCell::new(None) };
}

/// Sets the observer of the calling thread's waits; `None`: no observer. Waits for latches, which are
/// short, and [`DetachedWait`]s, which block no thread, are not observed.
pub fn observe_waits(observer: Option<Arc<dyn WaitObserver>>) {
    OBSERVER.set(observer);
}

/// An observed wait; its drop reports the end to the observer.
struct Observed;

impl Observed {
    /// `None` when the thread has no observer.
    fn begin() -> Option<Observed> {
        OBSERVER.with_borrow(|observer| observer.as_deref().map(|observer| observer.wait_begins()))?;
        Some(Observed)
    }
}

impl Drop for Observed {
    fn drop(&mut self) {
        OBSERVER.with_borrow(|observer| observer.iter().for_each(|observer| observer.wait_ends()));
    }
}

/// An accounted wait of the current task: from `begin` to drop. A wait inside a wait is not counted again.
pub(crate) struct Waiting {
    /// The session of the waiting request.
    session: Option<Arc<SessionWaits>>,
    task: TaskRef,
    wait_type: WaitType,
    began_ns: u64,
    outermost: bool,
    is_over: bool,
    observed: Option<Observed>,
}

impl Waiting {
    pub(crate) fn begin(wait_type: WaitType) -> Waiting {
        let mut waiting = Waiting::begin_unobserved(wait_type);
        if waiting.outermost && !wait_type.is_latch() {
            waiting.observed = Observed::begin();
        }
        waiting
    }

    fn begin_unobserved(wait_type: WaitType) -> Waiting {
        let task = task::current();
        let began_ns = task.now_ns();
        let outermost = task.enter_wait(wait_type, began_ns);
        let mut session = None;
        if outermost {
            task.wait_stats().begin(wait_type);
            session = task.session_waits();
            session.iter().for_each(|session| session.begin(wait_type));
        }
        Waiting { session, task, wait_type, began_ns, outermost, is_over: false, observed: None }
    }

    pub(crate) fn task(&self) -> &TaskRef {
        &self.task
    }

    pub(crate) fn began_ns(&self) -> u64 {
        self.began_ns
    }

    /// Ends a wait for a latch of `rank`.
    pub(crate) fn end_for_latch(self, rank: LatchRank) {
        let task = self.task.clone();
        let wait_ns = self.end();
        task.wait_stats().note_latch(rank, wait_ns);
    }

    /// Ends it; gives its time in nanoseconds, counted or not.
    pub(crate) fn end(mut self) -> u64 {
        self.finish()
    }

    fn finish(&mut self) -> u64 {
        assert!(!self.is_over, "a wait ends once");
        self.is_over = true;
        self.observed = None;
        let now_ns = self.task.now_ns();
        let wait_ns = now_ns.saturating_sub(self.began_ns);
        if self.outermost {
            self.account(now_ns, wait_ns);
        }
        wait_ns
    }

    fn account(&self, now_ns: u64, wait_ns: u64) {
        let signalled_ns = self.task.leave_wait();
        let signal_ns = if signalled_ns >= self.began_ns { now_ns.saturating_sub(signalled_ns) } else { 0 };
        self.task.wait_stats().end(self.wait_type, wait_ns, signal_ns.min(wait_ns));
        if let Some(session) = &self.session {
            session.end(self.wait_type, wait_ns, signal_ns.min(wait_ns));
        }
        self.task.note_wait(self.wait_type, wait_ns);
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if self.outermost && !self.is_over {
            self.finish();
        }
    }
}

/// A wait without a thread: from `begin` to drop the task counts as waiting, while its thread does other
/// work. For work that is suspended until a [`std::task::Waker`] is called; the caller of the waker notes that with
/// [`TaskRef::note_signalled`].
pub struct DetachedWait {
    waiting: Waiting,
}

impl DetachedWait {
    /// Begins a wait of the current task.
    pub fn begin(wait_type: WaitType) -> DetachedWait {
        DetachedWait { waiting: Waiting::begin_unobserved(wait_type) }
    }

    /// Ends it; gives its time in nanoseconds.
    pub fn end(self) -> u64 {
        self.waiting.end()
    }

    /// The calling thread, which runs the task now, blocks in `body`, as part of the same wait.
    pub fn block<R>(&self, body: impl FnOnce() -> R) -> R {
        let _observed = Observed::begin();
        body()
    }
}

/// Runs `body` as one accounted wait: blocking calls inside count as `wait_type`, whatever their own type. (A committer
/// that writes its log block itself waits WRITELOG, not IO_COMPLETION.)
pub fn wait_as<R>(wait_type: WaitType, body: impl FnOnce() -> R) -> R {
    let _waiting = Waiting::begin(wait_type);
    body()
}

/// As `wait_as`; also returns the wait's time in nanoseconds, so that the caller need not read the clock again.
pub fn wait_timed<R>(wait_type: WaitType, body: impl FnOnce() -> R) -> (R, u64) {
    let waiting = Waiting::begin(wait_type);
    let result = body();
    (result, waiting.end())
}
