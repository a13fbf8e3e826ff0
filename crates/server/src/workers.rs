//! The workers: threads that run whatever connection has something to do, as few of them as the processors can use.
//!
//! ```text
//!            take_ready                                    wait_begins
//!  ┌──────► Active ◄───────────────────────────────┐ ┌──────────────────► Blocked (lock, log, disk, client)
//!  │          │ nothing is ready: rest             └─┼──────────────────────┘ wait_ends
//!  │          ├──────► Polling ──a stream is ready, or a call──► Active
//!  │          └──────► Parked (enough poll) ──a call──► Active
//!  └ a call, when nobody polls or is parked: a new thread        Parked for 10 s: the thread ends
//! ```
//! Somebody is called when there is something to do (a connection is ready, or nobody polls) and fewer than
//! [`active_wanted`](Workers) workers are active; a worker that takes work calls the next one by the same rule. Who waits
//! in `os` is not active meanwhile, so that statements that wait for locks never keep others from running. Statements that
//! compute for long would: `ATTENTION` looks every 5 ms who has been at the same piece of work since the last time, and so
//! many more may be active ([`Workers::look`]).

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};

use os::{IoError, Latch, LatchRank, Os, Poller, Signal, SpawnOptions, Stream, WaitObserver, WaitType};

/// How long a parked worker waits for a call before its thread ends, in ns.
const PARKED_NS: u64 = 10_000_000_000;
/// How long a poll lasts at most, in ms: only so that a thread looks around now and then.
const POLL_MS: u32 = 10_000;
/// Active workers wanted at least, on a machine with one processor.
const ACTIVE_MIN: usize = 2;

/// Something that becomes ready now and then, and is run by a worker then.
pub trait Work: Send + Sync {
    /// Runs it on the calling worker; true when it has more to do, after others.
    fn run(self: &Arc<Self>) -> bool;
}

/// What finds the work that a poller's token names.
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
    /// Of those, how many were at one piece of work for long when `look` looked.
    long_active: AtomicUsize,
    /// Somebody has been called and has not come yet.
    called: AtomicBool,
    all: Latch<Vec<Arc<Worker>>>,
    /// The last attempt to start a thread failed (which is reported once).
    is_short_of_threads: AtomicBool,
    stopping: AtomicBool,
}

/// One worker, as `look` sees it.
#[derive(Default)]
struct Worker {
    /// Counts beginnings and ends of pieces of work: odd while it is at one.
    turns: AtomicU64,
    turns_seen: AtomicU64,
    waits: AtomicBool,
}

impl Worker {
    /// At the same piece of work as the last time, and not because it waits.
    fn is_long_at_work(&self) -> bool {
        let turns = self.turns.load(SeqCst);
        let same = self.turns_seen.swap(turns, SeqCst) == turns;
        same && turns % 2 == 1 && !self.waits.load(SeqCst)
    }
}

impl<W: Work + 'static> Workers<W> {
    /// No worker yet; the first comes with the first call.
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

    /// From now on the work that `token` names is run when `stream` has something to read.
    ///
    /// # Errors
    /// When the system has no room for it.
    pub fn watch(self: &Arc<Self>, stream: &dyn Stream, token: u64) -> Result<(), IoError> {
        self.poller.add(stream, token)?;
        self.call_if_wanted();
        Ok(())
    }

    /// Makes sure that a thread is there before any can be had no more.
    pub fn keep_one(self: &Arc<Self>) {
        self.call_if_wanted();
    }

    /// How much waits for a worker.
    pub fn ready_count(&self) -> usize {
        self.ready_count.load(SeqCst)
    }

    /// Says nothing more of `stream` until `resume`.
    ///
    /// # Errors
    /// None that is known of a stream that is watched.
    pub fn pause(&self, stream: &dyn Stream, token: u64) -> Result<(), IoError> {
        self.poller.pause(stream, token)
    }

    /// Says again when `stream` has something to read, also if it has it already.
    ///
    /// # Errors
    /// As `pause`.
    pub fn resume(&self, stream: &dyn Stream, token: u64) -> Result<(), IoError> {
        self.poller.resume(stream, token)
    }

    /// `work` has something to do.
    pub fn push(self: &Arc<Self>, work: Arc<W>) {
        self.enqueue(work);
        self.call_if_wanted();
    }

    fn enqueue(&self, work: Arc<W>) {
        let mut ready = self.ready.lock();
        ready.push_back(work);
        self.ready_count.store(ready.len(), SeqCst);
    }

    /// Called now and then while requests run: those who compute for long do not keep others from running.
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

    /// Work waits, or nobody would hear of any.
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

    /// Calls one more worker, unless one is on its way.
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
            // Those that there are do the work; `look` tries again.
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
            // This worker comes back to it: no reason to call another one.
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
        // Whoever pushed before this has seen an active worker and called nobody.
        if self.ready_count.load(SeqCst) == 0 {
            self.poller.wait(POLL_MS, tokens);
        }
        self.active.fetch_add(1, SeqCst);
        self.polling.fetch_sub(1, SeqCst);
        // Whatever it was that ended the poll: a call that meant this thread has been heard.
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
        // As in `rest`; and those that polled may have stopped to.
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

/// Counts a worker out, also when it panics.
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

/// Tells the workers that one of them waits.
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
