//! Password checks: few threads compute hashes, however many clients wait, and client addresses take turns.
//!
//! ```text
//!  check ──the password is remembered──────────────────────────────► outcome, at once
//!    └──► queue ──due (the throttle), its address's turn──► LOGIN thread: hash ──► outcome, the connection is woken
//! ```

use core::net::IpAddr;
use std::collections::VecDeque;
use std::sync::Arc;

use os::{Condition, Latch, LatchRank, Os, WaitType};
use rustc_hash::FxHashMap;

use crate::logins::{Login, Logins};
use crate::monitor::ConnectionEntry;
use crate::passwords::HASHES_AT_ONCE;

/// How long a thread without work waits before it ends, in ns.
const IDLE_NS: u64 = 10_000_000_000;

/// One check of a name and a password.
pub struct Attempt {
    name: String,
    password: String,
    address: IpAddr,
    /// It is served before all others.
    is_first: bool,
    entry: Arc<ConnectionEntry>,
    outcome: Latch<Option<Option<Login>>>,
}

impl Attempt {
    /// For the client of `entry`, which is woken when the outcome is known. `is_first`: served before others.
    pub fn new(
        name: &str,
        password: &str,
        address: IpAddr,
        is_first: bool,
        entry: &Arc<ConnectionEntry>,
    ) -> Arc<Attempt> {
        Arc::new(Attempt {
            name: name.into(),
            password: password.into(),
            address,
            is_first,
            entry: entry.clone(),
            outcome: Latch::new(LatchRank::Server, None),
        })
    }

    /// `None`: not known yet; otherwise the login, if name and password are right.
    pub fn outcome(&self) -> Option<Option<Login>> {
        self.outcome.lock().clone()
    }

    fn conclude(&self, outcome: Option<Login>) {
        *self.outcome.lock() = Some(outcome);
    }
}

struct Queued {
    attempt: Arc<Attempt>,
    due_ns: u64,
}

#[derive(Default)]
struct Queue {
    attempts: VecDeque<Queued>,
    /// When each address had its last turn, by a count of turns; kept only while attempts wait.
    turns: FxHashMap<IpAddr, u64>,
    turn: u64,
    threads: usize,
    idle: usize,
    is_stopping: bool,
}

/// The next step of a LOGIN thread.
enum Found {
    Attempt(Arc<Attempt>),
    /// No attempt is due; the time until one is.
    Nothing(Option<u64>),
}

/// Checks passwords for all connections.
pub struct Authenticator {
    os: Os,
    logins: Arc<Logins>,
    queue: Latch<Queue>,
    changed: Condition,
}

impl Authenticator {
    /// Without threads at first.
    pub fn new(os: &Os, logins: &Arc<Logins>) -> Arc<Authenticator> {
        let queue = Latch::new(LatchRank::Server, Queue::default());
        Arc::new(Authenticator { os: os.clone(), logins: logins.clone(), queue, changed: Condition::new() })
    }

    /// Finds the attempt's outcome, at once or some time later on another thread, which wakes the connection then.
    pub fn check(self: &Arc<Self>, attempt: &Arc<Attempt>) {
        if let Some(login) = self.logins.remembered(&attempt.name, &attempt.password) {
            attempt.conclude(Some(login));
            return;
        }
        let now_ns = self.os.clock().monotonic_ns();
        let due_ns = now_ns + self.logins.wait_ns(attempt.address, now_ns);
        let mut queue = self.queue.lock();
        if queue.is_stopping {
            drop(queue);
            attempt.conclude(None);
            return;
        }
        queue.attempts.push_back(Queued { attempt: attempt.clone(), due_ns });
        let needs_thread = queue.idle == 0 && queue.threads < HASHES_AT_ONCE;
        queue.threads += usize::from(needs_thread);
        drop(queue);
        if needs_thread {
            self.spawn();
        } else {
            self.changed.notify_one();
        }
    }

    /// Refuses all waiting attempts, and later ones.
    pub fn stop(&self) {
        let waiting = {
            let mut queue = self.queue.lock();
            queue.is_stopping = true;
            std::mem::take(&mut queue.attempts)
        };
        self.changed.notify_all();
        waiting.iter().for_each(|queued| self.tell(&queued.attempt, None));
    }

    fn spawn(self: &Arc<Self>) {
        let authenticator = self.clone();
        let started = self.os.try_spawn(&os::SpawnOptions::named("LOGIN"), move || {
            let end = EndOfThread(&authenticator);
            authenticator.work();
            // The thread has counted itself out already, under the latch under which it saw that no work is left.
            std::mem::forget(end);
        });
        if let Err(error) = started {
            os::report::warn("Logon", &format!("no thread for a login: {error}"));
            let waiting = {
                let mut queue = self.queue.lock();
                queue.threads -= 1;
                if queue.threads > 0 { VecDeque::new() } else { std::mem::take(&mut queue.attempts) }
            };
            // If no thread can be started, the calling thread does it.
            waiting.iter().for_each(|queued| self.run(&queued.attempt));
        }
    }

    /// A LOGIN thread.
    fn work(&self) {
        loop {
            let mut queue = self.queue.lock();
            let found = loop {
                if queue.is_stopping {
                    queue.threads -= 1;
                    return;
                }
                match queue.next(self.os.clock().monotonic_ns()) {
                    Found::Attempt(attempt) => break attempt,
                    Found::Nothing(wait_ns) => {
                        queue.idle += 1;
                        let outcome;
                        (queue, outcome) =
                            self.changed.wait(queue, WaitType::SLEEP_TASK, Some(wait_ns.unwrap_or(IDLE_NS)));
                        queue.idle -= 1;
                        if outcome == os::WaitOutcome::TimedOut && queue.attempts.is_empty() {
                            queue.threads -= 1;
                            return;
                        }
                    }
                }
            };
            drop(queue);
            self.run(&found);
        }
    }

    fn run(&self, attempt: &Attempt) {
        let known = || self.logins.check(&attempt.name, &attempt.password, attempt.address);
        let outcome = if attempt.entry.is_abandoned() { None } else { known() };
        self.tell(attempt, outcome);
    }

    fn tell(&self, attempt: &Attempt, outcome: Option<Login>) {
        attempt.conclude(outcome);
        attempt.entry.waker().wake();
    }
}

impl Queue {
    /// Of the attempts that are due: one whose client has gone, then an administrator's, then that of the address whose last turn was longest ago.
    fn next(&mut self, now_ns: u64) -> Found {
        let turns = &self.turns;
        let order = |attempt: &Attempt| {
            let turn = turns.get(&attempt.address).copied().unwrap_or(0);
            (!attempt.entry.is_abandoned(), !attempt.is_first, turn)
        };
        let due = self
            .attempts
            .iter()
            .enumerate()
            .filter(|(_, queued)| queued.due_ns <= now_ns || queued.attempt.entry.is_abandoned());
        let Some((at, _)) = due.min_by_key(|(_, queued)| order(&queued.attempt)) else {
            let next_ns = self.attempts.iter().map(|queued| queued.due_ns).min();
            return Found::Nothing(next_ns.map(|due_ns| due_ns.saturating_sub(now_ns)));
        };
        let queued = self.attempts.remove(at).expect("found there");
        self.turn += 1;
        self.turns.insert(queued.attempt.address, self.turn);
        if self.attempts.is_empty() {
            self.turns.clear();
        }
        Found::Attempt(queued.attempt)
    }
}

/// Counts out a thread that panics.
struct EndOfThread<'a>(&'a Authenticator);

impl Drop for EndOfThread<'_> {
    fn drop(&mut self) {
        self.0.queue.lock().threads -= 1;
    }
}
