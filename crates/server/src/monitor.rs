//! The connection table: the state of each connection; the monitor thread, which notices attentions and lost clients
//! while requests run; draining at the end.
//!
//! ```text
//!  add ──► Idle ──became_readable──► Queued ──take──► Busy ──give_back──► Idle
//!                                      ▲               │ └─give_back, unread bytes─► Queued
//!                                      └──── Pending ◄───┘ leave_pending
//!                         wake (the log, a LOGIN thread)└─ConnectionTable::remove─► Ended
//! ```
//! Between `begin_request` and `end_request` a request runs: in Busy, and while its commit is pending in Pending. The monitor
//! checks only requests that have run for a while and whose client has sent something, so that short ones cost nothing;
//! it sleeps when nothing has run for a second. It also ends logins that take too long.
//!
//! Draining ends idle connections at once, running ones after their request, which is interrupted after the grace
//! period.

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Wake, Waker};

use os::task::{self, InterruptReason, TaskRef};
use os::{Latch, LatchRank, Os, Signal, Stream, WaitOutcome, WaitType};

use crate::half_open::{Abandon, HalfOpen};
use crate::mars::Mars;
use crate::workers::{Work, Workers};

/// The poll interval of the monitor while requests run, in ns; also the age from which it checks a request.
const TICK_NS: u64 = 5_000_000;
/// Ticks without any request after which the monitor sleeps until it is woken.
const IDLE_TICKS: u32 = 200;
/// While draining, after the grace period: when the sockets of running connections are closed, and when they are abandoned.
const HANG_UP_AFTER_NS: u64 = 200_000_000;
const GIVE_UP_AFTER_NS: u64 = 5_000_000_000;
/// The pause after a check of all connections is so many times its duration: with tens of thousands it costs a twentieth of a processor.
const LOOK_SHARE: u64 = 20;
/// The address of a client that has none.
const NOWHERE: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
/// First byte of an attention packet.
const ATTENTION: u8 = 0x06;

/// The next state of a connection after a worker's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// Wait for its client; nothing was received.
    Wait,
    /// Wait for its client, but without a check for received bytes yet: an answer was sent.
    Answered,
    /// Another turn: there may be more bytes already.
    Again,
    /// Wait for a wake-up: the log hardens its commit, or a LOGIN thread checks its password. Then another turn.
    Wake,
    /// Its end.
    End,
}

/// A connection, as workers run it.
pub trait Serve: Send {
    /// Runs the next step: the next request, or the rest of a pending request.
    fn turn(&mut self, entry: &Arc<ConnectionEntry>) -> After;
    /// The next turn ends a pending request; it does not read.
    fn is_pending(&self) -> bool;
    /// Closes the session and the connection, and removes the entry.
    fn end(self: Box<Self>, entry: &ConnectionEntry);
}

/// The state of a connection. See the heading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Waits for its client.
    Idle,
    /// Ready for a worker.
    Queued,
    /// With a worker.
    Busy,
    /// Its commit is pending: waits for a wake-up.
    Pending,
    /// Closed.
    Ended,
}

struct State {
    step: Step,
    /// The connection itself, when no thread owns it.
    connection: Option<Box<dyn Serve>>,
    /// Bytes were received since a worker took the connection, or were left unread.
    unread: bool,
    /// The poller is paused for it: its owner checks for more bytes itself.
    paused: bool,
    /// The event that it will wait for has happened already.
    woken: bool,
    /// When the running request began (it may be pending now).
    running_since_ns: Option<u64>,
    /// Its task was interrupted by an attention.
    signalled: bool,
}

impl State {
    /// A connection without an owner is stored here, and no other is.
    fn assert_state(&self) {
        let kept = matches!(self.step, Step::Idle | Step::Queued | Step::Pending);
        assert_eq!(self.connection.is_some(), kept, "in state {:?}", self.step);
        assert!(!self.signalled || self.running_since_ns.is_some(), "an attention for no request");
    }

    fn change(&mut self, from: &[Step], to: Step) {
        assert!(from.contains(&self.step), "{:?} does not become {to:?}", self.step);
        self.step = to;
        self.assert_state();
    }
}

/// One connection in the table.
pub struct ConnectionEntry {
    number: u64,
    stream: Arc<dyn Stream>,
    /// Its owner runs it as this task, which records waits and interrupts.
    task: TaskRef,
    workers: Arc<Workers<ConnectionEntry>>,
    /// Running requests of all connections.
    running: Arc<AtomicUsize>,
    state: Latch<State>,
    /// With TLS the packet type cannot be seen: any bytes count as an attention.
    encrypted: AtomicBool,
    /// A bulk load reads the stream: its bytes are rows, not an attention.
    reads_rows: AtomicBool,
    /// Several sessions: an attention stands among the packets of all of them.
    mars: OnceLock<Arc<Mars>>,
    /// Another connection has taken its place before its login had succeeded, or its login time is over.
    abandoned: AtomicBool,
}

/// All connections.
pub struct ConnectionTable {
    os: Os,
    half_open: HalfOpen,
    entries: Latch<BTreeMap<u64, Arc<ConnectionEntry>>>,
    /// Running requests, also those with a pending commit.
    running: Arc<AtomicUsize>,
    asleep: AtomicBool,
    wake: Signal,
    draining: AtomicBool,
    stopping: AtomicBool,
}

impl ConnectionTable {
    /// An empty table; start [`run`](Self::run) on a thread of its own.
    pub fn new(os: &Os, half_open: HalfOpen) -> Arc<ConnectionTable> {
        Arc::new(ConnectionTable {
            os: os.clone(),
            half_open,
            entries: Latch::new(LatchRank::Server, BTreeMap::new()),
            running: Arc::default(),
            asleep: AtomicBool::new(false),
            wake: Signal::default(),
            draining: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
        })
    }

    /// Adds a new connection, to be run by `workers` whenever its client sends something; numbers are never reused.
    ///
    /// # Errors
    /// When the system has no resources to watch it. A worker ends it then.
    pub fn add(
        &self,
        number: u64,
        stream: &Arc<dyn Stream>,
        connection: Box<dyn Serve>,
        workers: &Arc<Workers<ConnectionEntry>>,
    ) -> Result<(), os::IoError> {
        let state = State {
            step: Step::Idle,
            connection: Some(connection),
            unread: false,
            paused: false,
            woken: false,
            running_since_ns: None,
            signalled: false,
        };
        state.assert_state();
        let entry = Arc::new(ConnectionEntry {
            number,
            stream: stream.clone(),
            task: self.os.new_task(&format!("tds-{number}")),
            workers: workers.clone(),
            running: self.running.clone(),
            state: Latch::new(LatchRank::Connection, state),
            encrypted: AtomicBool::new(false),
            reads_rows: AtomicBool::new(false),
            mars: OnceLock::new(),
            abandoned: AtomicBool::new(false),
        });
        let before = self.entries.lock().insert(number, entry.clone());
        assert!(before.is_none(), "connection numbers are unique");
        let address = stream.peer_address().parse::<SocketAddr>().map_or(NOWHERE, |peer| peer.ip());
        let is_only = self.half_open.add(number, entry.clone(), address, self.os.clock().monotonic_ns());
        if is_only && self.asleep.load(Ordering::SeqCst) {
            self.wake.set();
        }
        entry.watch()
    }

    /// The connections whose login has not succeeded yet.
    pub fn half_open(&self) -> &HalfOpen {
        &self.half_open
    }

    /// Removes a connection that the calling thread owns.
    pub fn remove(&self, entry: &ConnectionEntry) {
        entry.state.lock().change(&[Step::Busy], Step::Ended);
        self.half_open.remove(entry.number);
        self.entries.lock().remove(&entry.number);
    }

    /// The connection of a poller's token, if it was waiting for its client.
    pub fn became_readable(&self, number: u64) -> Option<Arc<ConnectionEntry>> {
        let entry = self.entries.lock().get(&number).cloned()?;
        entry.became_readable().then_some(entry)
    }

    /// Connections now open.
    pub fn count(&self) -> usize {
        self.entries.lock().len()
    }

    /// A request of `entry` starts. `has_unread`: its client has sent more than the request, or may have.
    pub fn begin_request(&self, entry: &ConnectionEntry, has_unread: bool) {
        let since_ns = self.os.clock().monotonic_ns();
        let mut state = entry.state.lock();
        assert!(state.running_since_ns.is_none(), "one request at a time");
        state.running_since_ns = Some(since_ns);
        state.unread |= has_unread;
        state.woken = false;
        drop(state);
        self.running.fetch_add(1, Ordering::SeqCst);
        if self.asleep.load(Ordering::SeqCst) {
            self.wake.set();
        }
    }

    /// The request has ended; returns and clears the reason of its task's interruption, if any.
    pub fn end_request(&self, entry: &ConnectionEntry) -> Option<InterruptReason> {
        let mut state = entry.state.lock();
        state.signalled = false;
        state.running_since_ns.take()?;
        drop(state);
        self.running.fetch_sub(1, Ordering::SeqCst);
        let reason = entry.task.interrupt_reason();
        if reason.is_some() {
            entry.task.clear_interrupt();
        }
        reason
    }

    /// True when connections must end after their present request.
    pub fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Acquire)
    }

    /// Ends idle connections at once and lets running requests finish, at most for `grace_ns`; then interrupts them.
    /// Returns when all have ended, or some time after the grace period.
    pub fn drain(&self, grace_ns: u64) {
        self.draining.store(true, Ordering::Release);
        let began_ns = self.os.clock().monotonic_ns();
        loop {
            let waited_ns = self.os.clock().monotonic_ns().saturating_sub(began_ns);
            for entry in self.snapshot() {
                entry.end_if_possible(waited_ns > grace_ns, waited_ns > grace_ns + HANG_UP_AFTER_NS);
            }
            if self.count() == 0 || waited_ns > grace_ns + GIVE_UP_AFTER_NS {
                break;
            }
            if self.os.sleep(TICK_NS, WaitType::SLEEP_TASK).is_err() {
                break;
            }
        }
    }

    /// Ends the monitor's thread.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
        self.wake.set();
    }

    /// The monitor's thread; it also prevents long requests from blocking all `workers`.
    pub fn run(&self, workers: &Arc<Workers<ConnectionEntry>>) {
        let mut idle_ticks = 0;
        let mut look_at_ns = 0;
        while !self.stopping.load(Ordering::Acquire) {
            if self.running.load(Ordering::Acquire) == 0 {
                idle_ticks += 1;
            } else {
                idle_ticks = 0;
                workers.look();
                let now_ns = self.os.clock().monotonic_ns();
                if now_ns >= look_at_ns {
                    self.look(now_ns);
                    let taken_ns = self.os.clock().monotonic_ns().saturating_sub(now_ns);
                    look_at_ns = now_ns + LOOK_SHARE * taken_ns;
                }
            }
            let is_idle = idle_ticks >= IDLE_TICKS;
            if is_idle {
                self.asleep.store(true, Ordering::SeqCst);
                if self.running.load(Ordering::SeqCst) > 0 {
                    self.wake.set();
                }
            }
            let now_ns = self.os.clock().monotonic_ns();
            let late_ns =
                self.half_open.end_late(now_ns).map(|at_ns| at_ns.saturating_sub(now_ns).max(TICK_NS));
            let timeout_ns = if is_idle { late_ns } else { Some(TICK_NS) };
            let outcome = self.wake.wait(WaitType::SLEEP_TASK, timeout_ns);
            self.asleep.store(false, Ordering::SeqCst);
            self.wake.reset();
            if is_idle && outcome == WaitOutcome::Set {
                idle_ticks = 0;
            }
        }
    }

    fn snapshot(&self) -> Vec<Arc<ConnectionEntry>> {
        self.entries.lock().values().cloned().collect()
    }

    /// Interrupts old enough requests whose clients have sent an attention or closed the connection.
    fn look(&self, now_ns: u64) {
        for entry in self.snapshot() {
            entry.interrupt_if_wanted(now_ns);
        }
    }
}

impl ConnectionEntry {
    /// The connection uses TLS from now on.
    pub fn set_encrypted(&self, encrypted: bool) {
        self.encrypted.store(encrypted, Ordering::Release);
    }

    /// The connection has several sessions from now on.
    pub fn set_multiplexed(&self, mars: Arc<Mars>) {
        assert!(self.mars.set(mars).is_ok(), "a connection is logged in once");
    }

    /// A bulk load begins or ends to read the stream.
    pub fn set_reads_rows(&self, reads_rows: bool) {
        self.reads_rows.store(reads_rows, Ordering::Release);
    }

    /// The request itself has found an attention.
    pub fn interrupt_by_attention(&self) {
        self.state.lock().signalled = true;
        self.task.interrupt(InterruptReason::Attention);
    }

    /// Its number in the table.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// From now on workers run it when its client sends something, or has already.
    fn watch(self: &Arc<Self>) -> Result<(), os::IoError> {
        let watched = self.workers.watch(self.stream.as_ref(), self.number);
        if watched.is_err() {
            // Without the poller nothing would notice its end.
            self.stream.shutdown();
            if self.became_readable() {
                self.workers.push(self.clone());
            }
        }
        watched
    }

    /// Has its login been abandoned?
    pub fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Acquire)
    }

    /// Notes that bytes were received; true when that makes the connection ready for a worker.
    fn became_readable(&self) -> bool {
        let mut state = self.state.lock();
        let waited = state.step == Step::Idle;
        if waited {
            state.change(&[Step::Idle], Step::Queued);
        } else {
            state.unread = true;
        }
        waited
    }

    /// The calling worker owns the connection now.
    ///
    /// A client that waits for its answer sends its next request at once. If no other work is ready, the worker that has answered should
    /// check for that itself: with a notice of the poller, another worker would be woken in vain.
    fn take(&self) -> Box<dyn Serve> {
        let mut state = self.state.lock();
        let connection = state.connection.take().expect("a connection in the queue is there");
        // One that returns from its commit answers first: bytes received meanwhile stay unread.
        state.unread &= connection.is_pending();
        state.change(&[Step::Queued], Step::Busy);
        if !state.paused && self.running.load(Ordering::Relaxed) == 0 {
            state.paused = self.workers.pause(self.stream.as_ref(), self.number).is_ok();
        }
        connection
    }

    /// The worker has finished its turn; true when there is more work, or may be.
    fn give_back(&self, connection: Box<dyn Serve>, after: After) -> bool {
        let mut state = self.state.lock();
        state.connection = Some(connection);
        let again = state.unread || after == After::Again || (after == After::Answered && state.paused);
        state.change(&[Step::Busy], if again { Step::Queued } else { Step::Idle });
        if again || !std::mem::take(&mut state.paused) {
            return again;
        }
        drop(state);
        if self.workers.resume(self.stream.as_ref(), self.number).is_err() {
            self.stream.shutdown();
        }
        false
    }

    /// The connection waits for a wake-up; true when that has come already.
    fn leave_pending(&self, connection: Box<dyn Serve>) -> bool {
        let mut state = self.state.lock();
        state.connection = Some(connection);
        let woken = std::mem::take(&mut state.woken);
        state.change(&[Step::Busy], if woken { Step::Queued } else { Step::Pending });
        woken
    }

    /// The waker that the log calls when a commit of this connection is hardened.
    pub fn waker(self: &Arc<Self>) -> Waker {
        Waker::from(self.clone())
    }

    fn interrupt_if_wanted(&self, now_ns: u64) {
        let mut state = self.state.lock();
        let Some(since_ns) = state.running_since_ns else {
            return;
        };
        if self.reads_rows.load(Ordering::Acquire) {
            return;
        }
        if now_ns.saturating_sub(since_ns) < TICK_NS || state.signalled || !(state.unread || state.paused) {
            return;
        }
        let wanted = match self.mars.get() {
            Some(mars) => mars.look(),
            None => self.is_attention_there(),
        };
        if wanted {
            state.signalled = true;
            self.task.interrupt(InterruptReason::Attention);
        }
    }

    fn is_attention_there(&self) -> bool {
        let mut first = [0];
        match self.stream.peek_now(&mut first) {
            Ok(None) => false,
            Ok(Some(0)) | Err(_) => true,
            Ok(Some(_)) => {
                self.encrypted.load(Ordering::Acquire) || first[0] == ATTENTION || self.stream.has_hung_up()
            }
        }
    }

    /// KILL: an idle connection ends at once, a request is interrupted and answered with an error; if it waits for a client that does
    /// not read, no error can be sent.
    pub fn kill(&self) {
        let state = self.state.lock();
        if state.running_since_ns.is_none() {
            self.stream.shutdown();
            return;
        }
        self.task.interrupt(InterruptReason::Kill);
        if self.task.current_wait().is_some_and(|(wait, _)| wait == WaitType::ASYNC_NETWORK_IO) {
            self.stream.shutdown();
        }
    }

    fn end_if_possible(&self, interrupt: bool, hang_up: bool) {
        let state = self.state.lock();
        if state.running_since_ns.is_none() {
            self.stream.shutdown();
        } else if interrupt {
            self.task.interrupt(InterruptReason::Shutdown);
            if hang_up {
                self.stream.shutdown();
            }
        }
    }
}

impl Abandon for ConnectionEntry {
    /// A worker notices the end of the stream.
    fn abandon(&self) {
        self.abandoned.store(true, Ordering::Release);
        self.stream.shutdown();
    }
}

impl Wake for ConnectionEntry {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.task.note_signalled();
        let mut state = self.state.lock();
        match state.step {
            Step::Pending => state.change(&[Step::Pending], Step::Queued),
            // Not pending yet; or it no longer waits for this.
            _ => {
                state.woken = true;
                return;
            }
        }
        drop(state);
        self.workers.push(self.clone());
    }
}

impl Work for ConnectionEntry {
    fn run(self: &Arc<Self>) -> bool {
        let mut connection = self.take();
        task::run_as(&self.task, || match connection.turn(self) {
            after @ (After::Wait | After::Answered | After::Again) => self.give_back(connection, after),
            After::Wake => self.leave_pending(connection),
            After::End => {
                connection.end(self);
                false
            }
        })
    }
}
