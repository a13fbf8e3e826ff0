//! The calling thread's seat in a simulated world, if it has one: the interface from this crate to the simulation. No thread has a seat in
//! production; the check for any world in the process is one relaxed load.

use std::any::Any;
use std::cell::RefCell;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::{Arc, Once};

use crate::futex::Woke;

/// A simulated thread's interface to the scheduler, which passes the baton.
pub(crate) trait Seat: Send + Sync {
    /// Waits for the baton for the first time; false when the run is over already.
    fn await_first_turn(&self) -> bool;
    /// Passes the baton on for good.
    fn leave(&self);
    /// The thread could not be started.
    fn give_up(&self);
    /// Waits while the word has this value.
    fn wait_word(&self, word: &AtomicU32, expected: u32, deadline_ns: Option<u64>) -> Woke;
    /// Wakes waiters of the word.
    fn wake_word(&self, word: &AtomicU32, count: u32);
    /// Lets virtual time pass for this task (device latency).
    fn pass_time(&self, duration_ns: u64);
    /// The scheduler may switch here. Never unwinds.
    fn maybe_switch(&self);
    /// The world may delay the task here for a long time.
    fn stall(&self, place: &'static str);
    /// Has the run ended?
    fn is_over(&self) -> bool;
    /// Reports a failure that must not happen.
    fn fail(&self, text: &str);
    /// The task has panicked.
    fn panicked(&self, message: &str, place: &str);
    /// A line that the server reports.
    fn report(&self, line: &str);
    /// Has the world planted the bug of this number?
    fn is_planted(&self, bug: u8) -> bool;
    /// Notes that a named point of the code was reached.
    fn reached(&self, place: String);
}

/// Set by the first world of the process and never cleared, so that latch ranks are tracked consistently.
static ANY_WORLD: AtomicBool = AtomicBool::new(false);

/// Installs the panic hook once.
static HOOK: Once = Once::new();

thread_local! {
    static SEAT: RefCell<Option<Arc<dyn Seat>>> = const { RefCell::new(None) };
    static PANICKED_AT: RefCell<String> = const { RefCell::new(String::new()) };
}

/// The payload that unwinds tasks when their run is over.
struct RunIsOver;

/// Notes that a world exists in the process.
pub(crate) fn note_world() {
    ANY_WORLD.store(true, Relaxed);
    HOOK.call_once(install_panic_hook);
}

/// True once any simulated world has existed in the process.
#[inline]
pub(crate) fn any_world() -> bool {
    ANY_WORLD.load(Relaxed)
}

/// The calling thread's seat, if it is a simulated task.
#[inline]
pub(crate) fn baton() -> Option<Arc<dyn Seat>> {
    if !any_world() {
        return None;
    }
    SEAT.with_borrow(Clone::clone)
}

/// The life of a simulated thread: waits for the baton, runs `body`, passes the baton on for good.
pub(crate) fn run(seat: &Arc<dyn Seat>, body: impl FnOnce()) {
    SEAT.set(Some(Arc::clone(seat)));
    if seat.await_first_turn() {
        body();
    }
    SEAT.set(None);
    seat.leave();
}

/// A place where the scheduler may switch. Never unwinds: it is called in the drop of latch guards.
#[inline]
pub(crate) fn maybe_switch() {
    if any_world() {
        maybe_switch_cold();
    }
}

#[cold]
fn maybe_switch_cold() {
    // A thread-local may be dropped already when guards are dropped at the end of a thread.
    let seat = SEAT.try_with(|seat| seat.borrow().clone()).ok().flatten();
    if let Some(seat) = seat {
        seat.maybe_switch();
    }
}

/// A place where the scheduler may switch and where an ended run unwinds.
pub(crate) fn yield_point() {
    if any_world() {
        maybe_switch_cold();
        unwind_if_over();
    }
}

/// A point where a world may delay the task for a long time, if it was told to.
#[inline]
pub(crate) fn stall_point(place: &'static str) {
    if any_world() {
        stall_cold(place);
    }
}

#[cold]
fn stall_cold(place: &'static str) {
    if let Some(seat) = baton() {
        seat.stall(place);
    }
}

/// Unwinds the calling task when its run has ended, unless it unwinds already.
pub(crate) fn unwind_if_over() {
    let Some(seat) = baton() else { return };
    if seat.is_over() && !std::thread::panicking() {
        std::panic::resume_unwind(Box::new(RunIsOver));
    }
}

pub(crate) fn note_failure(text: &str) {
    if let Some(seat) = baton() {
        seat.fail(text);
    }
}

pub(crate) fn note_panic(payload: &(dyn Any + Send), message: &str) {
    if is_run_over(payload) {
        return;
    }
    if let Some(seat) = baton() {
        seat.panicked(message, &PANICKED_AT.take());
    }
}

/// Panics of simulated tasks go into the report with their place, instead of to standard error
/// (unless `HARDPAN_SIM_PANICS` is set: then also there, with a backtrace if that is wanted).
fn install_panic_hook() {
    let before = std::panic::take_hook();
    let loud = std::env::var_os("HARDPAN_SIM_PANICS").is_some();
    std::panic::set_hook(Box::new(move |info| {
        let simulated = SEAT.try_with(|seat| seat.borrow().is_some()).unwrap_or(false);
        if simulated {
            PANICKED_AT.set(info.location().map(ToString::to_string).unwrap_or_default());
        }
        if !simulated || loud {
            before(info);
        }
    }));
}

/// True for the payload that unwinds the tasks of an ended run: not a bug, and to be passed on.
pub(crate) fn is_run_over(payload: &(dyn Any + Send)) -> bool {
    payload.is::<RunIsOver>()
}

/// Takes a report line of a simulated task into the world's log; false: the line goes to the real log.
pub(crate) fn swallow_report(line: impl FnOnce() -> String) -> bool {
    let Some(seat) = baton() else { return false };
    seat.report(&line());
    true
}
