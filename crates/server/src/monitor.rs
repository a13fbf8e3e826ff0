//! Connections as the rest of the server sees them: who is busy since when; the thread that notices attentions and
//! lost clients while requests run; draining at the end.
//!
//! ```text
//!            begin_request              end_request
//!   Idle ──────────────────► Running ──────────────────► Idle
//!    │ drain                    │ drain: stop after the request (interrupted when the grace has passed)
//!    └────► Ended ◄─────────────┘ end
//! ```
//! A request pays two uncontended latches for this. The monitor looks only at requests that have run for a while, so
//! that short ones cost it nothing; it sleeps when nothing has run for a second.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use os::task::{InterruptReason, TaskRef};
use os::{Latch, LatchRank, Os, Signal, Stream, WaitType};

/// How often the monitor looks while requests run, in ns; also the age from which it looks at a request.
const TICK_NS: u64 = 10_000_000;
/// Ticks without any request after which the monitor sleeps until it is called.
const IDLE_TICKS: u32 = 100;
/// While draining, after the grace: when the sockets of those still running are closed, and when they are given up.
const HANG_UP_AFTER_NS: u64 = 1_000_000_000;
const GIVE_UP_AFTER_NS: u64 = 5_000_000_000;
/// First byte of an attention packet.
const ATTENTION: u8 = 0x06;

enum State {
    Idle,
    Running { since_ns: u64, task: TaskRef },
    Ended,
}

/// One connection in the table.
pub struct ConnectionEntry {
    number: u64,
    stream: Arc<dyn Stream>,
    state: Latch<State>,
    /// With TLS the kind of packet cannot be seen: any bytes count as an attention.
    encrypted: AtomicBool,
    signalled: AtomicBool,
}

/// All connections.
pub struct ConnectionTable {
    os: Os,
    entries: Latch<BTreeMap<u64, Arc<ConnectionEntry>>>,
    running: AtomicUsize,
    asleep: AtomicBool,
    wake: Signal,
    draining: AtomicBool,
    stopping: AtomicBool,
}

impl ConnectionTable {
    /// An empty table; [`run`](Self::run) is to be started on a thread of its own.
    pub fn new(os: &Os) -> Arc<ConnectionTable> {
        Arc::new(ConnectionTable {
            os: os.clone(),
            entries: Latch::new(LatchRank::Server, BTreeMap::new()),
            running: AtomicUsize::new(0),
            asleep: AtomicBool::new(false),
            wake: Signal::default(),
            draining: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
        })
    }

    /// Takes a new connection in; numbers are never used twice.
    pub fn add(&self, number: u64, stream: &Arc<dyn Stream>) -> Arc<ConnectionEntry> {
        let entry = Arc::new(ConnectionEntry {
            number,
            stream: stream.clone(),
            state: Latch::new(LatchRank::Connection, State::Idle),
            encrypted: AtomicBool::new(false),
            signalled: AtomicBool::new(false),
        });
        let before = self.entries.lock().insert(number, entry.clone());
        assert!(before.is_none(), "connection numbers are unique");
        entry
    }

    /// Forgets a connection.
    pub fn remove(&self, entry: &ConnectionEntry) {
        *entry.state.lock() = State::Ended;
        self.entries.lock().remove(&entry.number);
    }

    /// Connections now open.
    pub fn count(&self) -> usize {
        self.entries.lock().len()
    }

    /// The calling task starts a request of `entry`.
    pub fn begin_request(&self, entry: &ConnectionEntry) {
        let task = os::task::current();
        let since_ns = self.os.clock().monotonic_ns();
        *entry.state.lock() = State::Running { since_ns, task };
        self.running.fetch_add(1, Ordering::SeqCst);
        if self.asleep.load(Ordering::SeqCst) {
            self.wake.set();
        }
    }

    /// The request has ended; returns why its task was interrupted, if it was, and takes that back.
    pub fn end_request(&self, entry: &ConnectionEntry) -> Option<InterruptReason> {
        let before = std::mem::replace(&mut *entry.state.lock(), State::Idle);
        entry.signalled.store(false, Ordering::Release);
        let State::Running { task, .. } = before else {
            return None;
        };
        self.running.fetch_sub(1, Ordering::SeqCst);
        let reason = task.interrupt_reason();
        if reason.is_some() {
            task.clear_interrupt();
        }
        reason
    }

    /// True when connections must end after their present request.
    pub fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Acquire)
    }

    /// Ends idle connections at once and lets running requests finish, at most for `grace_ns`; then interrupts them.
    /// Returns when all have ended, or a while after the grace.
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

    /// The monitor's thread.
    pub fn run(&self) {
        let mut idle_ticks = 0;
        while !self.stopping.load(Ordering::Acquire) {
            if self.running.load(Ordering::Acquire) == 0 {
                idle_ticks += 1;
            } else {
                idle_ticks = 0;
                self.look();
            }
            let timeout_ns = (idle_ticks < IDLE_TICKS).then_some(TICK_NS);
            if timeout_ns.is_none() {
                self.asleep.store(true, Ordering::SeqCst);
                if self.running.load(Ordering::SeqCst) > 0 {
                    self.wake.set();
                }
            }
            self.wake.wait(WaitType::SLEEP_TASK, timeout_ns);
            self.asleep.store(false, Ordering::SeqCst);
            self.wake.reset();
            if timeout_ns.is_none() {
                idle_ticks = 0;
            }
        }
    }

    fn snapshot(&self) -> Vec<Arc<ConnectionEntry>> {
        self.entries.lock().values().cloned().collect()
    }

    /// Interrupts the old enough requests whose clients have sent an attention or gone away.
    fn look(&self) {
        let now_ns = self.os.clock().monotonic_ns();
        for entry in self.snapshot() {
            entry.interrupt_if_wanted(now_ns);
        }
    }
}

impl ConnectionEntry {
    /// The connection speaks TLS from now on.
    pub fn set_encrypted(&self, encrypted: bool) {
        self.encrypted.store(encrypted, Ordering::Release);
    }

    fn interrupt_if_wanted(&self, now_ns: u64) {
        let state = self.state.lock();
        let State::Running { since_ns, task } = &*state else {
            return;
        };
        if now_ns.saturating_sub(*since_ns) < TICK_NS || self.signalled.load(Ordering::Acquire) {
            return;
        }
        let mut first = [0];
        let wanted = match self.stream.peek_now(&mut first) {
            Ok(None) => false,
            Ok(Some(0)) | Err(_) => true,
            Ok(Some(_)) => self.encrypted.load(Ordering::Acquire) || first[0] == ATTENTION,
        };
        if wanted {
            self.signalled.store(true, Ordering::Release);
            task.interrupt(InterruptReason::Attention);
        }
    }

    fn end_if_possible(&self, interrupt: bool, hang_up: bool) {
        match &*self.state.lock() {
            State::Idle => self.stream.shutdown(),
            State::Running { task, .. } if interrupt => {
                task.interrupt(InterruptReason::Shutdown);
                if hang_up {
                    self.stream.shutdown();
                }
            }
            State::Running { .. } | State::Ended => {}
        }
    }
}
