//! Requests of one file that the system has not answered yet, as `sys.dm_io_pending_io_requests` shows them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoKind {
    /// Bytes from the file.
    Read,
    /// Bytes to the file, durable or not.
    Write,
    /// All completed writes made durable.
    Sync,
}

/// One request in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingIo {
    /// A number that is unique among the requests of this file since it was opened.
    pub number: u64,
    /// The kind of request.
    pub kind: IoKind,
    /// Where it begins in the file; 0 for a sync.
    pub offset: u64,
    /// How much it moves; 0 for a sync.
    pub bytes: u64,
    /// When it began, on the monotonic clock of its world.
    pub began_ns: u64,
}

/// The requests of one file. Its lock is held for a few instructions at either end of a request.
#[derive(Clone, Default)]
pub(crate) struct PendingRequests {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    asked_total: u64,
    /// In the order of their numbers, except those that replaced an ended one.
    underway: Vec<PendingIo>,
}

/// A request is pending as long as this lives.
pub(crate) struct Underway {
    requests: PendingRequests,
    number: u64,
}

impl PendingRequests {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a request that is about to be issued.
    pub(crate) fn begin(&self, kind: IoKind, offset: u64, bytes: usize, began_ns: u64) -> Underway {
        let mut state = self.lock();
        state.asked_total += 1;
        let number = state.asked_total;
        state.underway.push(PendingIo { number, kind, offset, bytes: bytes as u64, began_ns });
        Underway { requests: self.clone(), number }
    }

    /// The requests in progress, oldest first.
    pub(crate) fn snapshot(&self) -> Vec<PendingIo> {
        let mut underway = self.lock().underway.clone();
        underway.sort_unstable_by_key(|request| request.number);
        underway
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        let mut state = self.requests.lock();
        let at = state.underway.iter().position(|request| request.number == self.number);
        state.underway.swap_remove(at.expect("a request ends once"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_pending_from_its_beginning_to_its_end_whatever_the_order() {
        let requests = PendingRequests::default();
        let first = requests.begin(IoKind::Write, 512, 1024, 7);
        let second = requests.begin(IoKind::Read, 0, 8192, 8);
        let third = requests.begin(IoKind::Sync, 0, 0, 9);
        let kinds = || requests.snapshot().iter().map(|request| request.kind).collect::<Vec<_>>();
        assert_eq!(kinds(), [IoKind::Write, IoKind::Read, IoKind::Sync]);
        drop(first);
        assert_eq!(kinds(), [IoKind::Read, IoKind::Sync]);
        let fourth = requests.begin(IoKind::Write, 1024, 512, 10);
        assert_eq!(
            requests.snapshot().last().map(|request| (request.number, request.began_ns)),
            Some((4, 10))
        );
        drop((second, third, fourth));
        assert_eq!(requests.snapshot(), []);
    }
}
