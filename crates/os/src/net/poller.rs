//! `Poller`: many streams, and any number of threads that wait for the next one that has something to read (epoll).

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use super::Stream;
use crate::error::{IoError, IoErrorKind};

/// Most streams that one wait returns: few, so that other threads get their share.
const EVENTS_AT_ONCE: usize = 8;
/// Once for each arrival.
const READABLE: i32 = libc::EPOLLIN | libc::EPOLLRDHUP | libc::EPOLLET;
/// The token that wakes a waiting thread when no stream is ready.
const WAKE_TOKEN: u64 = u64::MAX;

/// Reports streams that have become readable (or were closed), each time new bytes come, to one of the waiting threads.
/// Idle threads that wait here are not in the wait statistics.
pub struct Poller {
    epoll: OwnedFd,
    wake: OwnedFd,
}

impl Poller {
    pub(super) fn new() -> Result<Poller, IoError> {
        // SAFETY: creates a descriptor.
        let epoll = own(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        // SAFETY: creates a descriptor.
        let wake = own(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) })?;
        let poller = Poller { epoll, wake };
        poller.watch(poller.wake.as_raw_fd(), WAKE_TOKEN)?;
        Ok(poller)
    }

    /// Watches `stream` under `token`, and reports it at once if it is readable already. Dropping the stream's last owner ends
    /// that; a token may still come once after it.
    pub fn add(&self, stream: &dyn Stream, token: u64) -> Result<(), IoError> {
        assert_ne!(token, WAKE_TOKEN, "the poller's own token");
        match stream.descriptor() {
            Some(descriptor) => self.watch(descriptor, token),
            None => Err(IoError::new(IoErrorKind::Invalid, "poll a stream without a descriptor")),
        }
    }

    /// Stops reporting `stream` until [`resume`](Self::resume).
    pub fn pause(&self, stream: &dyn Stream, token: u64) -> Result<(), IoError> {
        self.change(stream, libc::EPOLLET, token)
    }

    /// Reports `stream` again, at once if it is readable.
    pub fn resume(&self, stream: &dyn Stream, token: u64) -> Result<(), IoError> {
        self.change(stream, READABLE, token)
    }

    /// Waits for streams on which bytes have come or that were closed, at most for `timeout_ms`, and puts the tokens of a few
    /// into `ready`; none after [`wake_one`](Self::wake_one). A token comes once for all bytes that have come: read until none is
    /// left. Among several threads the last one to wait is woken first: its caches are warm.
    pub fn wait(&self, timeout_ms: u32, ready: &mut Vec<u64>) {
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; EVENTS_AT_ONCE];
        let timeout_ms = i32::try_from(timeout_ms).unwrap_or(i32::MAX);
        let room = EVENTS_AT_ONCE as i32;
        // SAFETY: room for as many events as told.
        let count =
            unsafe { libc::epoll_wait(self.epoll.as_raw_fd(), events.as_mut_ptr(), room, timeout_ms) };
        // A failure (a signal's handler ran) is a wait that ended early.
        let tokens = events.iter().take(count.max(0) as usize).map(|event| event.u64);
        ready.clear();
        ready.extend(tokens.filter(|token| *token != WAKE_TOKEN));
    }

    /// Wakes one waiting thread, or the next one that waits. Simultaneous calls may count as one.
    pub fn wake_one(&self) {
        let one = 1u64.to_ne_bytes();
        // SAFETY: writes eight bytes from a live buffer. The counter is never read and cannot be full in a human's time;
        // each write is a new edge.
        unsafe { libc::write(self.wake.as_raw_fd(), one.as_ptr().cast(), one.len()) };
    }

    fn watch(&self, descriptor: RawFd, token: u64) -> Result<(), IoError> {
        self.control(libc::EPOLL_CTL_ADD, descriptor, READABLE, token)
    }

    fn change(&self, stream: &dyn Stream, events: i32, token: u64) -> Result<(), IoError> {
        let descriptor = stream.descriptor().expect("a stream that was added has one");
        self.control(libc::EPOLL_CTL_MOD, descriptor, events, token)
    }

    fn control(&self, operation: i32, descriptor: RawFd, events: i32, token: u64) -> Result<(), IoError> {
        let mut event = libc::epoll_event { events: events as u32, u64: token };
        // SAFETY: a valid event; the kernel copies it.
        let result = unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), operation, descriptor, &mut event) };
        if result == 0 { Ok(()) } else { Err(IoError::last("poll a socket")) }
    }
}

fn own(descriptor: i32) -> Result<OwnedFd, IoError> {
    if descriptor < 0 {
        return Err(IoError::last("create a descriptor"));
    }
    // SAFETY: a fresh descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}
