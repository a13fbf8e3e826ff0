//! The simulated world: deterministic scheduler, virtual time, a disk that loses what was not confirmed.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use crate::report::Level;
use crate::word::Woke;

static ANY_WORLD: AtomicBool = AtomicBool::new(false);

/// A simulated world; all clones are the same.
#[derive(Clone)]
pub struct World {
    _inner: Arc<()>,
}

/// A simulated thread's seat in the scheduler.
#[derive(Clone)]
pub(crate) struct Seat;

impl Seat {
    pub(crate) fn run(&self, body: impl FnOnce()) {
        body();
    }

    pub(crate) fn give_up(&self) {}
}

impl World {
    pub(crate) fn new_seat(&self, _name: &str) -> Seat {
        Seat
    }

    pub(crate) fn fill_random(&self, _bytes: &mut [u8]) {}
}

/// The calling thread's part in a simulation.
pub(crate) struct Baton;

impl Baton {
    pub(crate) fn wait_word(&self, _word: &AtomicU32, _expected: u32, _deadline_ns: Option<u64>) -> Woke {
        Woke::Woken
    }

    pub(crate) fn wake_word(&self, _word: &AtomicU32, _count: u32) {}
}

/// True while any simulated world exists in the process.
#[inline]
pub(crate) fn any_world() -> bool {
    ANY_WORLD.load(Relaxed)
}

#[inline]
pub(crate) fn baton() -> Option<Baton> {
    None
}

#[inline]
pub(crate) fn maybe_switch() {}

pub(crate) fn note_failure(_text: &str) {}

pub(crate) fn note_panic(_payload: &(dyn Any + Send), _message: &str) {}

pub(crate) fn is_power_off(_payload: &(dyn Any + Send)) -> bool {
    false
}

pub(crate) fn swallow_report(_level: Level, _source: &str, _message: &str) -> bool {
    false
}
