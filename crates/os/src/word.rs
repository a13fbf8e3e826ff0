//! Waiting on a 32-bit word, the one primitive below all others: a futex here, the baton in simulation.

use std::sync::atomic::AtomicU32;

use crate::futex::{Woke, futex_wait, futex_wake};
use crate::seat;

/// Waits while `*word == expected`, at most until `deadline_ns` (monotonic time of the caller's world).
pub(crate) fn wait(word: &AtomicU32, expected: u32, deadline_ns: Option<u64>) -> Woke {
    if let Some(seat) = seat::baton() {
        return seat.wait_word(word, expected, deadline_ns);
    }
    futex_wait(word, expected, deadline_ns)
}

/// Wakes at most `count` waiters of `word`.
pub(crate) fn wake(word: &AtomicU32, count: u32) {
    if let Some(seat) = seat::baton() {
        return seat.wake_word(word, count);
    }
    futex_wake(word, count);
}
