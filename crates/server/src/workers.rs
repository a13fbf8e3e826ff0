//! Worker threads: they run connections that have work, as many threads as the processors can use.
//!
//! ```text
//!            take_ready                                    wait_begins
//!  ┌──────► Active ◄───────────────────────────────┐ ┌──────────────────► Blocked (lock, log, disk, client)
//!  │          │ nothing is ready: rest             └─┼──────────────────────┘ wait_ends
//!  │          ├──────► Polling ──a stream is ready, or a call──► Active
//!  │          └──────► Parked (enough poll) ──a call──► Active
//!  └ a call, when nobody polls or is parked: a new thread        Parked for 10 s: the thread ends
//! ```
//! A worker is woken when there is something to do (a connection is ready, or no worker polls) and fewer than
//! [`active_wanted`](Workers) workers are active; a worker that takes work wakes the next one by the same rule. A worker that waits
//! in `os` does not count as active meanwhile, so that statements that wait for locks never block others. For statements that
//! compute for long, `ATTENTION` checks every 5 ms which workers run the same piece of work as at the last check, and so
//! many more may be active ([`Workers::look`]).

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};

use os::{IoError, Latch, LatchRank, Os, Poller, Signal, SpawnOptions, Stream, WaitObserver, WaitType};

/// How long a parked worker waits for a wake-up before its thread ends, in ns.
const PARKED_NS: u64 = 10_000_000_000;
/// The longest poll, in ms: only so that a thread checks its state now and then.
const POLL_MS: u32 = 10_000;
/// Active workers wanted at least, on a machine with one processor.
const ACTIVE_MIN: usize = 2;

/// Work that becomes ready repeatedly, and is then run by a worker.
pub trait Work: Send + Sync {
    /// Runs it on the calling worker; true when it has more to do, after others.
    fn run(self: &Arc<Self>) -> bool;
}

/// Finds the work of a poller's token.
pub type Find<W> = Box<dyn Fn(u64) -> Option<Arc<W>> + Send + Sync>;

/// All workers of a server.
pub struct Workers<W: Work> {
    os: Os,
    poller: Poller,
    find: Find<W>,
    thread: SpawnOptions,
    active_wanted: usize,
    ready: Latch<VecDeque<Arc<W>>>,
    /// Length of `ready`, changed under its latch.
    ready_count: AtomicUsize,
    parked: Latch<Vec<Arc<Signal>>>,
    active: AtomicUsize,
    polling: AtomicUsize,
    /// Of those, how many were busy with one piece of work for long at the last `look`.
    long_active: AtomicUsize,
    /// A worker has been woken and is not active yet.
    called: AtomicBool,
    all: Latch<Vec<Arc<Worker>>>,
    /// The last attempt to start a thread failed (which is reported once).
    is_short_of_threads: AtomicBool,
    stopping: AtomicBool,
}

/// One worker, as `look` sees it.
#[derive(Default)]
struct Worker {
    /// Incremented at the begin and the end of a piece of work: odd during one.
    turns: AtomicU64,
    turns_seen: AtomicU64,
    waits: AtomicBool,
}

impl Worker {
    /// Is it busy with the same piece of work as at the last check, and not waiting?
    fn is_long_at_work(&self) -> bool {
        let turns = self.turns.load(SeqCst);
        let same = self.turns_seen.swap(turns, SeqCst) == turns;
        same && turns % 2 == 1 && !self.waits.load(SeqCst)
    }
}

impl<W: Work + 'static> Workers<W> {
    /// Without workers; the first thread starts at the first wake-up.
    ///
    /// # Errors
    /// When the system has no more descriptors.
    pub fn new(os: &Os, stack_bytes: usize, processors: usize, find: Find<W>) -> Result<Arc<Self>, IoError> {
        Ok(Arc::new(Workers {
            os: os.clone(),
            poller: os.net().poller()?,
            find,
            thread: SpawnOptions::named("WORKER").stack_bytes(stack_bytes),
            active_wanted: processors.max(ACTIVE_MIN),
            ready: Latch::new(LatchRank::ReadyQueue, VecDeque::new()),
            ready_count: AtomicUsize::new(0),
            parked: Latch::new(LatchRank::Leaf, Vec::new()),
            active: AtomicUsize::new(0),
            polling: AtomicUsize::new(0),
            long_active: AtomicUsize::new(0),
            called: AtomicBool::new(false),
            all: Latch::new(LatchRank::Leaf, Vec::new()),
            is_short_of_threads: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
        }))
    }

    /// From now on the work of `token` is run when `stream` has something to read.
    ///
    /// # Errors
    /// When the system has no resources for it.
    pub fn watch(self: &Arc<Self>, stream: &dyn Stream, token: u64) -> Result<(), IoError> {
        self.poller.add(stream, token)?;
        self.call_if_wanted();
        Ok(())
    }

    /// Makes sure that one thread exists while threads can still be started.
    pub fn keep_one(self: &Arc<Self>) {
        self.call_if_wanted();
    }

    /// The length of the ready queue.
    pub fn ready_count(&self) -> usize {
        self.ready_count.load(SeqCst)
    }

    /// Stops notices about `stream` until `resume`.
    ///
    /// # Errors
    /// None is known for a watched stream.
    pub fn pause(&self, stream: &dyn Stream, token: u64) -> Result<(), IoError> {
        self.poller.pause(stream, token)
    }

    /// Resumes notices when `stream` has something to read, also if it has it already.
    ///
    /// # Errors
    /// As `pause`.
    pub fn resume(&self, stream: &dyn Stream, token: u64) -> Result<(), IoError> {
        self.poller.resume(stream, token)
    }

    /// Adds ready work.
    pub fn push(self: &Arc<Self>, work: Arc<W>) {
        self.enqueue(work);
        self.call_if_wanted();
    }

    fn enqueue(&self, work: Arc<W>) {
        let mut ready = self.ready.lock();
        ready.push_back(work);
        self.ready_count.store(ready.len(), SeqCst);
    }

    /// Called periodically while requests run: requests that compute for long do not block others.
    pub fn look(self: &Arc<Self>) {
        let long = self.all.lock().iter().filter(|worker| worker.is_long_at_work()).count();
        self.long_active.store(long, SeqCst);
        self.call_if_wanted();
    }

    /// Lets the workers end as soon as they have nothing to do; waits for that, at most for `patience_ns`.
    pub fn stop(self: &Arc<Self>, patience_ns: u64) {
        const LOOK_NS: u64 = 1_000_000;
        self.stopping.store(true, SeqCst);
        let mut waited_ns = 0;
        while !self.all.lock().is_empty() && waited_ns < patience_ns {
            self.poller.wake_one();
            if let Some(parked) = self.parked.lock().pop() {
                parked.set();
            }
            if self.os.sleep(LOOK_NS, WaitType::SLEEP_TASK).is_err() {
                return;
            }
            waited_ns += LOOK_NS;
        }
    }

    /// Work is ready, or no worker polls for more.
    fn is_wanting(&self) -> bool {
        self.ready_count.load(SeqCst) > 0 || self.polling.load(SeqCst) == 0
    }

    #[inline]
    fn call_if_wanted(self: &Arc<Self>) {
        if self.is_wanting() && self.active.load(SeqCst) < self.active_wanted + self.long_active.load(SeqCst)
        {
            self.call();
        }
    }

    /// Wakes one more worker, unless a wake-up is in progress.
    fn call(self: &Arc<Self>) {
        if self.called.swap(true, SeqCst) {
            return;
        }
        if self.polling.load(SeqCst) > 0 {
            self.poller.wake_one();
            return;
        }
        let parked = self.parked.lock().pop();
        match parked {
            Some(parked) => parked.set(),
            None => self.spawn(),
        }
    }

    fn spawn(self: &Arc<Self>) {
        let worker = Arc::new(Worker::default());
        self.all.lock().push(worker.clone());
        let (workers, for_thread) = (self.clone(), worker.clone());
        if let Err(error) = self.os.try_spawn(&self.thread, move || workers.work(for_thread)) {
            // The existing workers do the work; `look` tries again.
            self.forget(&worker);
            self.called.store(false, SeqCst);
            if !self.is_short_of_threads.swap(true, SeqCst) {
                os::report::warn("Server", &format!("no further worker: {error}"));
            }
        } else {
            self.is_short_of_threads.store(false, SeqCst);
        }
    }

    fn forget(&self, worker: &Arc<Worker>) {
        self.all.lock().retain(|other| !Arc::ptr_eq(other, worker));
    }

    /// A worker's thread.
    fn work(self: Arc<Self>, worker: Arc<Worker>) {
        let observer = Arc::new(Observer { workers: self.clone(), worker: worker.clone() });
        os::observe_waits(Some(observer.clone()));
        let end = EndOfWorker { workers: &self, worker: &worker };
        self.active.fetch_add(1, SeqCst);
        self.called.store(false, SeqCst);
        let mut tokens = Vec::new();
        loop {
            if let Some(work) = self.take_ready() {
                self.run(&worker, work);
            } else if self.stopping.load(SeqCst) || !self.rest(&observer, &mut tokens) {
                break;
            }
        }
        drop(end);
    }

    fn run(self: &Arc<Self>, worker: &Worker, work: Arc<W>) {
        self.call_if_wanted();
        worker.turns.fetch_add(1, SeqCst);
        if work.run() {
            // This worker returns to it: no reason to wake another one.
            self.enqueue(work);
        }
        worker.turns.fetch_add(1, SeqCst);
    }

    fn take_ready(&self) -> Option<Arc<W>> {
        if self.ready_count.load(SeqCst) == 0 {
            return None;
        }
        let mut ready = self.ready.lock();
        let work = ready.pop_front();
        self.ready_count.store(ready.len(), SeqCst);
        work
    }

    /// Polls, or is parked. False when the thread may end.
    fn rest(self: &Arc<Self>, observer: &Arc<Observer<W>>, tokens: &mut Vec<u64>) -> bool {
        if self.polling.fetch_add(1, SeqCst) > self.active_wanted {
            self.polling.fetch_sub(1, SeqCst);
            return self.park(observer);
        }
        self.active.fetch_sub(1, SeqCst);
        // A thread that pushed work before this has seen an active worker and woken none.
        if self.ready_count.load(SeqCst) == 0 {
            self.poller.wait(POLL_MS, tokens);
        }
        self.active.fetch_add(1, SeqCst);
        self.polling.fetch_sub(1, SeqCst);
        // Whatever ended the poll: a wake-up for this thread has arrived.
        self.called.store(false, SeqCst);
        for work in tokens.drain(..).filter_map(&self.find) {
            self.enqueue(work);
        }
        true
    }

    fn park(self: &Arc<Self>, observer: &Arc<Observer<W>>) -> bool {
        let signal = Arc::new(Signal::new());
        self.parked.lock().push(signal.clone());
        self.active.fetch_sub(1, SeqCst);
        os::observe_waits(None);
        // As in `rest`; and the polling workers may have stopped polling.
        self.call_if_wanted();
        signal.wait(WaitType::SLEEP_TASK, Some(PARKED_NS));
        let mut parked = self.parked.lock();
        let uncalled = parked.iter().position(|other| Arc::ptr_eq(other, &signal));
        uncalled.into_iter().for_each(|at| drop(parked.remove(at)));
        drop(parked);
        os::observe_waits(Some(observer.clone()));
        self.active.fetch_add(1, SeqCst);
        if uncalled.is_none() {
            self.called.store(false, SeqCst);
        }
        uncalled.is_none()
    }
}

/// Counts out a worker, also when it panics.
struct EndOfWorker<'a, W: Work + 'static> {
    workers: &'a Workers<W>,
    worker: &'a Arc<Worker>,
}

impl<W: Work + 'static> Drop for EndOfWorker<'_, W> {
    fn drop(&mut self) {
        os::observe_waits(None);
        self.workers.active.fetch_sub(1, SeqCst);
        self.workers.forget(self.worker);
    }
}

/// Notes in `Workers` that one of them waits.
struct Observer<W: Work> {
    workers: Arc<Workers<W>>,
    worker: Arc<Worker>,
}

impl<W: Work + 'static> WaitObserver for Observer<W> {
    fn wait_begins(&self) {
        self.worker.waits.store(true, SeqCst);
        self.workers.active.fetch_sub(1, SeqCst);
        self.workers.call_if_wanted();
    }

    fn wait_ends(&self) {
        self.workers.active.fetch_add(1, SeqCst);
        self.worker.waits.store(false, SeqCst);
    }
}

#[cfg(test)]
#[path = "workers_tests.rs"]
mod tests;
