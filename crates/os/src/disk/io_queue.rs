//! Requests in flight, which complete in any order.

use std::sync::Arc;

use super::aligned::AlignedBuf;
use super::file::{File, WriteMode};
use crate::error::IoError;

/// A request of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Fill the first `len` bytes of the buffer (short at the end of the file: an error).
    Read,
    /// Write the first `len` bytes of the buffer.
    Write(WriteMode),
}

/// A finished request.
pub struct Completion {
    /// The submitter's mark.
    pub token: u64,
    /// The result.
    pub result: Result<(), IoError>,
    /// The buffer, given back.
    pub buffer: AlignedBuf,
}

/// Requests in flight of one owner. Completions come in any order.
pub trait IoQueue: Send {
    /// Starts a request on the first `len` bytes of `buffer`. Panics when `depth` requests are in flight already.
    fn submit(
        &mut self,
        file: &Arc<dyn File>,
        request: Request,
        buffer: AlignedBuf,
        len: usize,
        offset: u64,
        token: u64,
    );
    /// The present completions; with `wait`, at least one if any is in flight (`WaitType` IO_COMPLETION).
    fn reap(&mut self, wait: bool) -> Vec<Completion>;
    /// Requests submitted and not yet reaped.
    fn in_flight(&self) -> usize;
    /// The most that may be in flight.
    fn depth(&self) -> usize;
}
