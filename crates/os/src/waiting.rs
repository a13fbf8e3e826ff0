//! The accounting that every blocking primitive does: one wait, from its begin to its end, and who is told of it.

use std::cell::RefCell;
use std::sync::Arc;

use crate::rank::LatchRank;
use crate::task::{self, TaskRef};
use crate::wait::{SessionWaits, WaitType};

/// Is told of each wait of the threads that have it (see [`observe_waits`]), to let another one run meanwhile.
pub trait WaitObserver {
    /// The calling thread is about to wait. Whatever latches it holds, it holds: take none below `Leaf`.
    fn wait_begins(&self);
    /// It goes on.
    fn wait_ends(&self);
}

thread_local! {
    static OBSERVER: RefCell<Option<Arc<dyn WaitObserver>>> = const { RefCell::new(None) };
}

/// The calling thread's waits are told to `observer` from now on; to nobody with `None`. Waits for latches, which are
/// short, and [`DetachedWait`]s, which keep no thread, are not.
pub fn observe_waits(observer: Option<Arc<dyn WaitObserver>>) {
    OBSERVER.set(observer);
}

/// A wait that the calling thread's observer has been told of; its drop tells the end.
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
    /// Whose request waits.
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

    /// Ends it, which was for a latch of `rank`.
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

/// A wait without a thread: from `begin` to drop the task counts as waiting, while the thread that ran it does something
/// else. For work that is put aside until a [`std::task::Waker`] calls; whoever calls it says so with
/// [`TaskRef::note_signalled`].
pub struct DetachedWait {
    waiting: Waiting,
}

impl DetachedWait {
    /// The current task waits from now on.
    pub fn begin(wait_type: WaitType) -> DetachedWait {
        DetachedWait { waiting: Waiting::begin_unobserved(wait_type) }
    }

    /// Ends it; gives its time in nanoseconds.
    pub fn end(self) -> u64 {
        self.waiting.end()
    }

    /// The calling thread, which runs the task now, waits itself in `body`: it is still the same wait.
    pub fn block<R>(&self, body: impl FnOnce() -> R) -> R {
        let _observed = Observed::begin();
        body()
    }
}

/// Runs `body` as one accounted wait: what blocks inside counts as `wait_type`, whatever it is by itself. (A committer
/// that writes its log block itself waits WRITELOG, not IO_COMPLETION.)
pub fn wait_as<R>(wait_type: WaitType, body: impl FnOnce() -> R) -> R {
    let _waiting = Waiting::begin(wait_type);
    body()
}

/// The same; gives the wait's time, too, in nanoseconds, so that nobody reads the clock for it once more.
pub fn wait_timed<R>(wait_type: WaitType, body: impl FnOnce() -> R) -> (R, u64) {
    let waiting = Waiting::begin(wait_type);
    let result = body();
    (result, waiting.end())
}
