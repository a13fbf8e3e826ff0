//! `ReadinessWatcher`: one epoll thread that calls back once when a watched stream becomes readable or is closed.
//!
//! Two uses: an attention that arrives while a request runs (call back: `task.interrupt(Attention)`), and idle
//! connections without a thread each (call back: hand the connection to a worker).

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use super::Stream;
use crate::error::{IoError, IoErrorKind};

type Callback = Box<dyn FnOnce() + Send>;

/// Watches many streams with one thread. Dropping it (and all its watches) ends the thread.
#[derive(Clone)]
pub struct ReadinessWatcher {
    shared: Arc<Shared>,
    _life: Arc<Life>,
}

/// A watch on one stream; dropping it ends the watch (the callback may be running just then).
pub struct Watch {
    shared: Arc<Shared>,
    _life: Arc<Life>,
    token: u64,
    stream: Arc<dyn Stream>,
}

struct Shared {
    epoll: OwnedFd,
    wake: OwnedFd,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    callbacks: FxHashMap<u64, Callback>,
    next_token: u64,
    ended: bool,
}

/// Ends the thread when the last watcher and watch are gone.
struct Life {
    shared: Arc<Shared>,
}

impl ReadinessWatcher {
    pub(super) fn start() -> Result<ReadinessWatcher, IoError> {
        // SAFETY: creates a descriptor.
        let epoll = own(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        // SAFETY: creates a descriptor.
        let wake = own(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) })?;
        let shared = Arc::new(Shared { epoll, wake, state: Mutex::default() });
        shared.control(libc::EPOLL_CTL_ADD, shared.wake.as_raw_fd(), libc::EPOLLIN as u32, 0)?;
        shared.state().next_token = 1;
        let for_thread = Arc::clone(&shared);
        let builder = std::thread::Builder::new().name("READINESS".to_owned()).stack_size(256 * 1024);
        let started = builder.spawn(move || for_thread.serve());
        started.map_err(|error| IoError::from_std(&error, "start the readiness thread"))?;
        let life = Arc::new(Life { shared: Arc::clone(&shared) });
        Ok(ReadinessWatcher { shared, _life: life })
    }

    /// Calls `on_ready` once, on the watcher's thread, when `stream` has bytes to read or is closed (at once if it is
    /// so already). It must not block. One watch per stream at a time.
    pub fn watch(
        &self,
        stream: &Arc<dyn Stream>,
        on_ready: impl FnOnce() + Send + 'static,
    ) -> Result<Watch, IoError> {
        let Some(descriptor) = stream.descriptor() else {
            return Err(IoError::new(IoErrorKind::Invalid, "watch a stream without a descriptor"));
        };
        let token = {
            let mut state = self.shared.state();
            let token = state.next_token;
            state.next_token += 1;
            state.callbacks.insert(token, Box::new(on_ready));
            token
        };
        let events = (libc::EPOLLIN | libc::EPOLLRDHUP | libc::EPOLLONESHOT) as u32;
        if let Err(error) = self.shared.control(libc::EPOLL_CTL_ADD, descriptor, events, token) {
            self.shared.state().callbacks.remove(&token);
            return Err(error);
        }
        Ok(Watch {
            shared: Arc::clone(&self.shared),
            _life: Arc::clone(&self._life),
            token,
            stream: Arc::clone(stream),
        })
    }
}

impl Watch {
    /// True when the callback has been called (or is being called just now).
    pub fn has_fired(&self) -> bool {
        !self.shared.state().callbacks.contains_key(&self.token)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.shared.state().callbacks.remove(&self.token);
        if let Some(descriptor) = self.stream.descriptor() {
            // The stream is kept open by this watch, so the descriptor is still its own; a failure has no remedy.
            let _ = self.shared.control(libc::EPOLL_CTL_DEL, descriptor, 0, self.token);
        }
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        self.shared.state().ended = true;
        let one = 1u64.to_ne_bytes();
        // SAFETY: writes eight bytes from a live buffer.
        unsafe { libc::write(self.shared.wake.as_raw_fd(), one.as_ptr().cast(), 8) };
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn control(&self, operation: i32, descriptor: i32, events: u32, token: u64) -> Result<(), IoError> {
        let mut event = libc::epoll_event { events, u64: token };
        // SAFETY: a valid event; the kernel copies it.
        let result = unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), operation, descriptor, &mut event) };
        if result == 0 { Ok(()) } else { Err(IoError::last("watch a socket")) }
    }

    fn serve(&self) {
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; 64];
        loop {
            // SAFETY: room for 64 events.
            let count = unsafe { libc::epoll_wait(self.epoll.as_raw_fd(), events.as_mut_ptr(), 64, -1) };
            if self.state().ended {
                return;
            }
            for event in events.iter().take(count.max(0) as usize) {
                let token = event.u64;
                let callback = self.state().callbacks.remove(&token);
                if let Some(callback) = callback {
                    callback();
                }
            }
        }
    }
}

fn own(descriptor: i32) -> Result<OwnedFd, IoError> {
    if descriptor < 0 {
        return Err(IoError::last("create a descriptor"));
    }
    // SAFETY: a fresh descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}
