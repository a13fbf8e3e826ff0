//! SIGTERM and SIGINT, or SIGINT alone, as an event that a task can wait for.

use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use crate::error::IoError;

static EVENT: AtomicI32 = AtomicI32::new(-1);
static RECEIVED: AtomicU32 = AtomicU32::new(0);

/// Watches for requests to end the process. One in a process; the signals then no longer end it by themselves.
pub struct TerminationWatcher {
    signals: &'static [libc::c_int],
}

impl TerminationWatcher {
    /// Handles SIGTERM and SIGINT (and ignores SIGPIPE).
    pub fn install() -> Result<TerminationWatcher, IoError> {
        TerminationWatcher::install_for(&[libc::SIGTERM, libc::SIGINT])
    }

    /// Handles SIGINT, the signal of Ctrl-C (and ignores SIGPIPE); SIGTERM still ends the process.
    pub fn install_for_interrupts() -> Result<TerminationWatcher, IoError> {
        TerminationWatcher::install_for(&[libc::SIGINT])
    }

    fn install_for(signals: &'static [libc::c_int]) -> Result<TerminationWatcher, IoError> {
        // SAFETY: creates a file descriptor, nothing else.
        let event = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) };
        if event < 0 {
            return Err(IoError::last("create an event for signals"));
        }
        EVENT.store(event, Ordering::Release);
        let watcher = TerminationWatcher { signals };
        watcher.take_signals()?;
        // SAFETY: ignoring a signal has no handler to go wrong.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
        Ok(watcher)
    }

    /// Installs the signal handlers (again, if a library has replaced them).
    pub fn take_signals(&self) -> Result<(), IoError> {
        for signal in self.signals {
            // SAFETY: the handler does only what a signal handler may: atomics and write(2).
            let before = unsafe {
                libc::signal(*signal, on_signal as extern "C" fn(libc::c_int) as libc::sighandler_t)
            };
            if before == libc::SIG_ERR {
                return Err(IoError::last("install a signal handler"));
            }
        }
        Ok(())
    }

    /// Requests so far: the first asks for an orderly stop, the second for an immediate one.
    pub fn count(&self) -> u32 {
        RECEIVED.load(Ordering::Acquire)
    }

    /// Waits until there have been more than `seen` requests, at most `timeout_ms` (`None`: for ever); returns `count()`.
    /// It blocks its thread outside the wait statistics: for the main thread of the server.
    pub fn wait(&self, seen: u32, timeout_ms: Option<u32>) -> u32 {
        loop {
            let count = self.count();
            if count > seen {
                return count;
            }
            let timeout = timeout_ms.map_or(-1, |ms| i32::try_from(ms).unwrap_or(i32::MAX));
            let mut poll =
                libc::pollfd { fd: EVENT.load(Ordering::Acquire), events: libc::POLLIN, revents: 0 };
            // SAFETY: one valid pollfd.
            let ready = unsafe { libc::poll(&mut poll, 1, timeout) };
            if ready > 0 {
                let mut value = [0u8; 8];
                // SAFETY: reads eight bytes into a buffer of eight.
                unsafe { libc::read(poll.fd, value.as_mut_ptr().cast(), 8) };
            } else if ready == 0 {
                return self.count();
            }
        }
    }
}

extern "C" fn on_signal(_signal: libc::c_int) {
    RECEIVED.fetch_add(1, Ordering::AcqRel);
    let one = 1u64.to_ne_bytes();
    // SAFETY: writes eight bytes from a live buffer to an event descriptor; async-signal-safe.
    unsafe { libc::write(EVENT.load(Ordering::Acquire), one.as_ptr().cast(), 8) };
}
