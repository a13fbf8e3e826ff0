//! The simulated queue: each request gets a completion time of its own, so that completions come in any order.

use std::path::PathBuf;
use std::sync::Arc;

use super::file::{SimFile, Started, pass_time};
use super::world::World;
use crate::disk::{AlignedBuf, Completion, File, IoKind, IoQueue, Request, Underway};
use crate::error::{IoError, IoErrorKind};
use crate::seat::{unwind_if_over, yield_point};
use crate::wait::WaitType;
use crate::waiting::Waiting;

pub(super) struct SimQueue {
    world: World,
    depth: usize,
    flying: Vec<Flying>,
}

struct Flying {
    file: Arc<dyn File>,
    request: Request,
    buffer: AlignedBuf,
    len: usize,
    offset: u64,
    token: u64,
    due_ns: u64,
    started: Result<Started, IoError>,
    /// Pending for the views until it has completed.
    _underway: Option<Underway>,
}

impl SimQueue {
    pub(super) fn new(world: World, depth: usize) -> SimQueue {
        assert!(depth > 0, "a queue without room");
        SimQueue { world, depth, flying: Vec::new() }
    }

    /// Completes the requests that are due, in the order of their completion times.
    fn take_due(&mut self) -> Vec<Completion> {
        unwind_if_over();
        let now_ns = self.world.now_ns();
        let mut due: Vec<Flying> = self.flying.extract_if(.., |flying| flying.due_ns <= now_ns).collect();
        due.sort_by_key(|flying| flying.due_ns);
        due.into_iter().map(Flying::complete).collect()
    }
}

impl IoQueue for SimQueue {
    fn submit(
        &mut self,
        file: &Arc<dyn File>,
        request: Request,
        buffer: AlignedBuf,
        len: usize,
        offset: u64,
        token: u64,
    ) {
        assert!(self.flying.len() < self.depth, "more than {} requests in flight", self.depth);
        assert!(len <= buffer.len(), "a request of {len} bytes in a buffer of {}", buffer.len());
        let simulated = sim_file(file);
        let kind = if matches!(request, Request::Read) { IoKind::Read } else { IoKind::Write };
        let underway = simulated.map(|file| file.begin(kind, offset, len));
        let started = match (request, simulated) {
            (_, None) => Err(foreign(file.path().to_owned())),
            (Request::Read, Some(file)) => file.start_read(len, offset),
            (Request::Write(mode), Some(file)) => file.start_write(&buffer[..len], offset, mode),
        };
        let takes_ns = started.as_ref().map_or(1_000, |started| started.takes_ns);
        let due_ns = self.world.now_ns() + takes_ns;
        let file = Arc::clone(file);
        self.flying.push(Flying {
            file,
            request,
            buffer,
            len,
            offset,
            token,
            due_ns,
            started,
            _underway: underway,
        });
        yield_point();
    }

    fn reap(&mut self, wait: bool) -> Vec<Completion> {
        loop {
            let completions = self.take_due();
            if !completions.is_empty() || !wait || self.flying.is_empty() {
                return completions;
            }
            let _waiting = Waiting::begin(WaitType::IO_COMPLETION);
            let first_ns =
                self.flying.iter().map(|flying| flying.due_ns).min().expect("requests are in flight");
            pass_time(first_ns.saturating_sub(self.world.now_ns()));
        }
    }

    fn in_flight(&self) -> usize {
        self.flying.len()
    }

    fn depth(&self) -> usize {
        self.depth
    }
}

impl Flying {
    fn complete(mut self) -> Completion {
        let result = self.started.and_then(|started| {
            let file = sim_file(&self.file).ok_or_else(|| foreign(self.file.path().to_owned()))?;
            match self.request {
                Request::Read => file.end_read(&started, &mut self.buffer[..self.len], self.offset),
                Request::Write(mode) => file.end_write(&started, self.len, self.offset, mode),
            }
        });
        Completion { token: self.token, result, buffer: self.buffer }
    }
}

fn sim_file(file: &Arc<dyn File>) -> Option<&SimFile> {
    file.as_any()?.downcast_ref()
}

fn foreign(path: PathBuf) -> IoError {
    IoError::new(IoErrorKind::Invalid, format!("{} is not a file of this world", path.display()))
}
