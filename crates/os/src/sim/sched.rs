//! The scheduler: passes a baton between ordinary threads, so that exactly one runs and the seed decides which.
//!
//! ```text
//!  Runnable ──chosen──► Running ──block──► Blocked ──wake, or deadline reached──► Runnable
//!                          │ └──maybe_switch──► Runnable
//!                          └──leave──► Done
//! ```
//! Virtual time moves a little at each decision and jumps to the next deadline when no task is runnable; when there is
//! no deadline either, that is a deadlock and fails the run. A word's address is only compared, never ordered by.

use std::sync::atomic::{AtomicU32, Ordering::AcqRel, Ordering::Acquire};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::profile::Profile;
use super::report::End;
use crate::futex::{Woke, futex_wait, futex_wake};
use crate::rng::Rng;
use crate::task::TaskRef;

/// Turns of unwinding after which a task that still waits is stuck.
const UNWINDING_TURNS_MAX: u64 = 200_000;

pub(super) struct Scheduler {
    state: Mutex<State>,
    all_done: Condvar,
}

struct State {
    seats: Vec<Slot>,
    rng: Rng,
    now_ns: u64,
    hash: u64,
    switches: u64,
    /// Set when the run is over and tasks unwind.
    end: Option<End>,
    turns_at_end: u64,
    failures: Vec<String>,
    /// In 1/1024: how often an optional switch point switches.
    switch_chance: u64,
    /// Tasks differ in how often they are chosen.
    weighted: bool,
    /// The run ends in this way at that many switches.
    end_at: Option<(u64, End)>,
    switches_max: u64,
    /// Switches when the present run began.
    switches_before: u64,
    started: bool,
}

struct Slot {
    task: TaskRef,
    status: Status,
    weight: u64,
    woke: Woke,
    go: Arc<AtomicU32>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Status {
    Runnable,
    Running,
    Blocked { key: usize, deadline_ns: Option<u64> },
    Done,
}

impl Scheduler {
    pub(super) fn new(mut rng: Rng, profile: &Profile) -> Scheduler {
        // Each world draws its own schedule: how often it switches, and whether it prefers some tasks.
        let switch_chance = [16, 64, 200, 512][rng.below(4) as usize];
        let weighted = rng.chance(1, 2);
        let state = State {
            seats: Vec::new(),
            rng,
            now_ns: 1_000_000_000,
            hash: 0x4861_7264_7061_6e21,
            switches: 0,
            end: None,
            turns_at_end: 0,
            failures: Vec::new(),
            switch_chance,
            weighted,
            end_at: None,
            switches_max: profile.switches_max,
            switches_before: 0,
            started: false,
        };
        Scheduler { state: Mutex::new(state), all_done: Condvar::new() }
    }

    /// A new run: no seats, no failures; time and the stream of decisions go on.
    pub(super) fn begin(&self) {
        let mut state = self.lock();
        assert!(
            state.seats.iter().all(|seat| seat.status == Status::Done),
            "a world runs one process at a time"
        );
        state.seats.clear();
        state.failures.clear();
        state.end = None;
        state.started = false;
        state.switches_before = state.switches;
    }

    pub(super) fn add_seat(&self, task: &TaskRef) -> usize {
        let mut state = self.lock();
        let weight = if state.weighted { [1, 4, 16, 64][state.rng.below(4) as usize] } else { 1 };
        state.seats.push(Slot {
            task: task.clone(),
            status: Status::Runnable,
            weight,
            woke: Woke::Woken,
            go: Arc::new(AtomicU32::new(0)),
        });
        state.seats.len() - 1
    }

    pub(super) fn forget_unstarted(&self, index: usize) {
        self.lock().seats[index].status = Status::Done;
    }

    /// Passes the baton for the first time and waits (in real time) until all tasks are done.
    pub(super) fn start_and_wait(&self) -> (End, Vec<String>) {
        let mut state = self.lock();
        state.started = true;
        if let Some(next) = state.choose() {
            hand_to(&state.seats[next].go);
        }
        while state.seats.iter().any(|seat| seat.status != Status::Done) {
            state = self.all_done.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        // Seats know their tasks, tasks their clock, the clock its world: without this the world would never be freed.
        state.seats.clear();
        (state.end.unwrap_or(End::Returned), std::mem::take(&mut state.failures))
    }

    /// Waits for the first turn; false when the run is over already.
    pub(super) fn await_first_turn(&self, index: usize) -> bool {
        let go = Arc::clone(&self.lock().seats[index].go);
        await_baton(&go);
        self.lock().end.is_none()
    }

    /// The task's end.
    pub(super) fn leave(&self, index: usize) {
        let mut state = self.lock();
        state.seats[index].status = Status::Done;
        match state.choose() {
            Some(next) => hand_to(&state.seats[next].go),
            None => self.all_done.notify_all(),
        }
    }

    /// Blocks the running task until `wake(key)` or the deadline.
    pub(super) fn block(&self, index: usize, key: usize, deadline_ns: Option<u64>) -> Woke {
        let mut state = self.lock();
        state.assert_running(index);
        if state.end.is_some() && !std::thread::panicking() {
            return Woke::Woken;
        }
        state.seats[index].status = Status::Blocked { key, deadline_ns };
        self.switch_from(state, index);
        self.lock().seats[index].woke
    }

    /// Makes at most `count` tasks that are blocked on `key` runnable; which ones, the seed decides.
    pub(super) fn wake(&self, key: usize, count: u32) {
        let mut state = self.lock();
        for _ in 0..count {
            let blocked =
                |slot: &Slot| matches!(slot.status, Status::Blocked { key: other, .. } if other == key);
            let waiters: Vec<usize> =
                (0..state.seats.len()).filter(|&index| blocked(&state.seats[index])).collect();
            if waiters.is_empty() {
                return;
            }
            let chosen = waiters[state.rng.below(waiters.len() as u64) as usize];
            state.seats[chosen].status = Status::Runnable;
            state.seats[chosen].woke = Woke::Woken;
        }
    }

    /// An optional switch point.
    pub(super) fn maybe_switch(&self, index: usize) {
        let mut state = self.lock();
        let chance = state.switch_chance;
        if state.end.is_some() || !state.rng.chance(chance, 1024) {
            return;
        }
        state.assert_running(index);
        state.seats[index].status = Status::Runnable;
        self.switch_from(state, index);
    }

    /// Ends the run: from now on every task that gets the baton unwinds. The first end counts.
    pub(super) fn end(&self, end: End) {
        self.lock().end_now(end);
    }

    /// Notes a failure and ends the run. Not after it has ended otherwise: a task that has not yet reached a point where it
    /// unwinds may see inconsistent state of tasks that already did; its process is dead.
    pub(super) fn fail(&self, text: &str) {
        let mut state = self.lock();
        if state.end.is_some_and(|end| end != End::Failed) {
            return;
        }
        let line = format!("at {} ns: {text}", state.now_ns);
        state.failures.push(line);
        state.end_now(End::Failed);
        state.end = Some(End::Failed);
    }

    pub(super) fn end_after(&self, count: u64, end: End) {
        let mut state = self.lock();
        state.end_at = Some((state.switches + count, end));
    }

    pub(super) fn is_over(&self) -> bool {
        self.lock().end.is_some()
    }

    pub(super) fn now_ns(&self) -> u64 {
        self.lock().now_ns
    }

    pub(super) fn name_of(&self, index: usize) -> String {
        self.lock().seats[index].task.name().to_owned()
    }

    /// Trace hash, switches, time.
    pub(super) fn summary(&self) -> (u64, u64, u64) {
        let state = self.lock();
        (state.hash, state.switches, state.now_ns)
    }

    /// The running task has a new status: passes the baton on and waits for it to come back.
    fn switch_from(&self, mut state: MutexGuard<'_, State>, index: usize) {
        let next = state.choose().expect("the calling task is not done");
        if next == index {
            return;
        }
        let (mine, theirs) = (Arc::clone(&state.seats[index].go), Arc::clone(&state.seats[next].go));
        drop(state);
        hand_to(&theirs);
        await_baton(&mine);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Chooses the next task and marks it running; `None` when all tasks are done.
    fn choose(&mut self) -> Option<usize> {
        self.now_ns += 100 + self.rng.below(900);
        self.switches += 1;
        self.check_limits();
        if self.end.is_some() {
            self.release_all();
        }
        loop {
            self.release_due();
            if let Some(next) = self.draw_runnable() {
                self.seats[next].status = Status::Running;
                self.mix(next as u64 ^ self.now_ns.rotate_left(32));
                return Some(next);
            }
            if self.seats.iter().all(|seat| seat.status == Status::Done) {
                return None;
            }
            match self.next_deadline() {
                Some(deadline_ns) => self.now_ns = self.now_ns.max(deadline_ns),
                None => self.report_deadlock(),
            }
        }
    }

    fn check_limits(&mut self) {
        if let Some((_, end)) = self.end_at.take_if(|at| self.end.is_none() && self.switches >= at.0) {
            // The disk freezes by itself: an operation asks for the end before it acts.
            self.end_now(end);
        }
        if self.end.is_none() && self.switches - self.switches_before > self.switches_max {
            let text = format!("no end after {} switches: {}", self.switches_max, self.describe_stuck());
            self.failures.push(text);
            self.end_now(End::Failed);
        }
        if self.end.is_some() {
            self.turns_at_end += 1;
            if self.turns_at_end > UNWINDING_TURNS_MAX {
                let stuck = self.describe_stuck();
                eprintln!("simulation: tasks wait for ever while they unwind (a wait in a drop?): {stuck}");
                std::process::abort();
            }
        }
    }

    /// Every task that has not ended, with what it waits for.
    fn describe_stuck(&self) -> String {
        let stuck = self.seats.iter().filter(|seat| seat.status != Status::Done);
        let describe = |seat: &Slot| {
            let wait = seat.task.current_wait_type().map_or("no wait", |wait_type| wait_type.name());
            let timed = matches!(seat.status, Status::Blocked { deadline_ns: Some(_), .. });
            format!("{} ({wait}{})", seat.task.name(), if timed { ", timed" } else { "" })
        };
        stuck.map(describe).collect::<Vec<_>>().join(", ")
    }

    /// A run that is over: all tasks may run, in order to unwind.
    fn release_all(&mut self) {
        for seat in &mut self.seats {
            if matches!(seat.status, Status::Blocked { .. }) {
                let timed = matches!(seat.status, Status::Blocked { deadline_ns: Some(_), .. });
                seat.woke = if timed { Woke::TimedOut } else { Woke::Woken };
                seat.status = Status::Runnable;
            }
        }
    }

    /// Blocked tasks whose deadline has come are runnable.
    fn release_due(&mut self) {
        let now_ns = self.now_ns;
        for seat in &mut self.seats {
            if matches!(seat.status, Status::Blocked { deadline_ns: Some(deadline), .. } if deadline <= now_ns)
            {
                seat.status = Status::Runnable;
                seat.woke = Woke::TimedOut;
            }
        }
    }

    fn draw_runnable(&mut self) -> Option<usize> {
        let runnable = |seat: &&Slot| seat.status == Status::Runnable;
        let total: u64 = self.seats.iter().filter(runnable).map(|seat| seat.weight).sum();
        if total == 0 {
            return None;
        }
        let mut drawn = self.rng.below(total);
        for (index, seat) in self.seats.iter().enumerate() {
            if seat.status == Status::Runnable {
                if drawn < seat.weight {
                    return Some(index);
                }
                drawn -= seat.weight;
            }
        }
        unreachable!("the draw is below the sum of the weights")
    }

    fn next_deadline(&self) -> Option<u64> {
        let deadline = |seat: &Slot| match seat.status {
            Status::Blocked { deadline_ns, .. } => deadline_ns,
            _ => None,
        };
        self.seats.iter().filter_map(deadline).min()
    }

    fn report_deadlock(&mut self) {
        let text = format!("at {} ns: deadlock of {}", self.now_ns, self.describe_stuck());
        self.failures.push(text);
        self.end_now(End::Failed);
        self.release_all();
    }

    fn end_now(&mut self, end: End) {
        if self.end.is_none() {
            self.end = Some(end);
            self.turns_at_end = 0;
            self.mix(end as u64);
        }
    }

    fn mix(&mut self, value: u64) {
        self.hash = (self.hash ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }

    fn assert_running(&self, index: usize) {
        assert!(
            self.seats[index].status == Status::Running,
            "{} acts without the baton",
            self.seats[index].task.name()
        );
    }
}

fn hand_to(go: &AtomicU32) {
    go.store(1, std::sync::atomic::Ordering::Release);
    futex_wake(go, 1);
}

fn await_baton(go: &AtomicU32) {
    while go.compare_exchange(1, 0, AcqRel, Acquire).is_err() {
        futex_wait(go, 0, None);
    }
}
