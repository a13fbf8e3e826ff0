//! `ThreadQueue`: requests served by a bounded set of worker threads, started on demand; completions in any order.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::{AlignedBuf, Completion, File, IoQueue, Request};
use crate::signal::Signal;
use crate::task;
use crate::wait::WaitType;

/// Stack of a worker: it only calls read or write.
const WORKER_STACK_BYTES: usize = 128 * 1024;

pub(super) struct ThreadQueue {
    shared: Arc<Shared>,
    depth: usize,
    in_flight: usize,
}

struct Shared {
    state: Mutex<State>,
    work: Condvar,
    done: Signal,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    completions: Vec<Completion>,
    workers: usize,
    idle_workers: usize,
    closed: bool,
}

struct Job {
    file: Arc<dyn File>,
    request: Request,
    buffer: AlignedBuf,
    len: usize,
    offset: u64,
    token: u64,
}

impl ThreadQueue {
    pub(super) fn new(depth: usize) -> ThreadQueue {
        assert!(depth > 0, "a queue without room");
        let shared = Shared { state: Mutex::default(), work: Condvar::new(), done: Signal::new() };
        ThreadQueue { shared: Arc::new(shared), depth, in_flight: 0 }
    }
}

impl IoQueue for ThreadQueue {
    fn submit(
        &mut self,
        file: &Arc<dyn File>,
        request: Request,
        buffer: AlignedBuf,
        len: usize,
        offset: u64,
        token: u64,
    ) {
        assert!(self.in_flight < self.depth, "more than {} requests in flight", self.depth);
        assert!(len <= buffer.len(), "a request of {len} bytes in a buffer of {}", buffer.len());
        self.in_flight += 1;
        let mut state = self.shared.lock();
        state.jobs.push_back(Job { file: Arc::clone(file), request, buffer, len, offset, token });
        if state.idle_workers < state.jobs.len() && state.workers < self.depth {
            state.workers += 1;
            let shared = Arc::clone(&self.shared);
            let builder =
                std::thread::Builder::new().name("io worker".to_owned()).stack_size(WORKER_STACK_BYTES);
            let started = builder.spawn(move || shared.serve());
            if started.is_err() {
                state.workers -= 1;
                assert!(state.workers > 0, "no thread for the first I/O worker");
            }
        }
        drop(state);
        self.shared.work.notify_one();
    }

    fn reap(&mut self, wait: bool) -> Vec<Completion> {
        let _mask = task::mask_interrupts();
        loop {
            let completions = std::mem::take(&mut self.shared.lock().completions);
            if !completions.is_empty() || !wait || self.in_flight == 0 {
                self.in_flight -= completions.len();
                return completions;
            }
            self.shared.done.wait(WaitType::IO_COMPLETION, None);
        }
    }

    fn in_flight(&self) -> usize {
        self.in_flight
    }

    fn depth(&self) -> usize {
        self.depth
    }
}

impl Drop for ThreadQueue {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.work.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A worker's life: jobs until the queue is closed and empty.
    fn serve(&self) {
        loop {
            let mut state = self.lock();
            let job = loop {
                if let Some(job) = state.jobs.pop_front() {
                    break job;
                }
                if state.closed {
                    return;
                }
                state.idle_workers += 1;
                state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.idle_workers -= 1;
            };
            drop(state);
            let completion = job.perform();
            self.lock().completions.push(completion);
            self.done.set();
        }
    }
}

impl Job {
    fn perform(mut self) -> Completion {
        let result = match self.request {
            Request::Read => self.file.read_exact_at(&mut self.buffer[..self.len], self.offset),
            Request::Write(mode) => self.file.write_at(&self.buffer[..self.len], self.offset, mode),
        };
        Completion { token: self.token, result, buffer: self.buffer }
    }
}
