//! The kernel's wait for a 32-bit word.

use std::sync::atomic::AtomicU32;

/// How a wait on a word ended. `Woken` may be spurious: callers check again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Woke {
    Woken,
    TimedOut,
}

/// The kernel's wait, whatever world the thread belongs to; the simulation's scheduler passes the baton with it.
pub(crate) fn futex_wait(word: &AtomicU32, expected: u32, deadline_ns: Option<u64>) -> Woke {
    let timeout = match deadline_ns {
        None => None,
        Some(deadline) => {
            let now = crate::clock::monotonic_ns();
            if now >= deadline {
                return Woke::TimedOut;
            }
            let left = deadline - now;
            Some(libc::timespec {
                tv_sec: (left / 1_000_000_000) as libc::time_t,
                tv_nsec: (left % 1_000_000_000) as libc::c_long,
            })
        }
    };
    let pointer = timeout.as_ref().map_or(std::ptr::null(), |t| t as *const libc::timespec);
    // SAFETY: the word and the timespec outlive the call; FUTEX_WAIT only reads them.
    let result = unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
            expected,
            pointer,
        )
    };
    let timed_out = result == -1 && std::io::Error::last_os_error().raw_os_error() == Some(libc::ETIMEDOUT);
    if timed_out { Woke::TimedOut } else { Woke::Woken }
}

/// The kernel's wake-up.
pub(crate) fn futex_wake(word: &AtomicU32, count: u32) {
    let count = count.min(i32::MAX as u32);
    // SAFETY: the word is alive; FUTEX_WAKE only uses its address.
    unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, count);
    }
}
