//! Who wants what hardened, who may write, what is in flight: the state behind the queue latch.

use std::sync::Arc;

use os::Signal;

use crate::flush_reason::FlushReason;
use crate::inflight::InFlight;
use crate::limits::{BLOCK_BYTES_MAX, LogLimits};
use crate::lsn::Lsn;

/// With so many committers waiting per flush the LOG WRITER keeps the role ...
const HAND_OVER_WAITERS: u32 = 16;
/// ... until the mean falls below this.
const TAKE_BACK_WAITERS: u32 = 6;
/// With so many waiting, two committers may write at once.
const TWO_LEADERS_WAITERS: std::ops::RangeInclusive<usize> = 3..=12;
/// Fixed-point unit of the mean number of waiters.
pub(crate) const MEAN_ONE: u32 = 64;

/// The right to write the log: a token, not a thread. Whoever holds it takes blocks from the cache in order, completes
/// their headers and issues them; then it gives the role back, before its write is done.
pub(crate) struct WriterRole {
    /// Checksum of the block issued last, which the next one names.
    pub(crate) last_checksum: u32,
}

/// Who leads at present.
///
/// ```text
///          mean waiters per flush > 16: note_waiters
///  Inline ───────────────────────────────────────────► LogWriter
///         ◄───────────────────────────────────────────
///          mean < 6: note_waiters; idle for 5 ms: next_work
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeaderState {
    /// Committers write themselves.
    Inline,
    /// The LOG WRITER writes for all.
    LogWriter,
}

/// What the LOG WRITER does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriterState {
    /// Runs; it will look at everything again before it waits.
    Awake,
    /// Waits for delayed log to become due.
    Dozing,
    /// Waits for the role or the device.
    WantsTurn,
    /// Waits for work.
    Asleep,
}

pub(crate) struct Waiter {
    pub(crate) lsn: Lsn,
    pub(crate) reason: FlushReason,
    pub(crate) bell: Arc<Signal>,
}

/// Who wants what hardened, who may write, what is in flight. Guarded by the queue latch.
pub(crate) struct FlushQueue {
    /// The role, when nobody has it.
    pub(crate) role: Option<WriterRole>,
    pub(crate) in_flight: InFlight,
    pub(crate) waiters: Vec<Waiter>,
    pub(crate) leader: LeaderState,
    /// Committers writing at the moment.
    pub(crate) inline_writes: u32,
    /// Mean number of waiters per flush, in units of 1/MEAN_ONE.
    pub(crate) mean_waiters: u32,
    pub(crate) writer: WriterState,
    /// Newest record that delayed commits want durable.
    pub(crate) delayed: Lsn,
    /// When the oldest of that log that is not issued was first wanted.
    pub(crate) delayed_since_ns: u64,
}

impl FlushQueue {
    pub(crate) fn new(limits: LogLimits, last_checksum: u32) -> FlushQueue {
        FlushQueue {
            role: Some(WriterRole { last_checksum }),
            in_flight: InFlight::new(limits),
            waiters: Vec::new(),
            leader: LeaderState::Inline,
            inline_writes: 0,
            mean_waiters: MEAN_ONE,
            writer: WriterState::Awake,
            delayed: Lsn::NULL,
            delayed_since_ns: 0,
        }
    }

    /// What holds whenever the latch is free.
    fn assert_state(&self) {
        assert!(self.inline_writes <= 2, "{} committers write at once", self.inline_writes);
        assert!(self.mean_waiters <= 1_000 * MEAN_ONE);
        assert!(self.inline_writes <= self.in_flight.outstanding_ios() + 1, "one may be on its way to issue");
    }

    /// Every waiter's bell; the list is empty afterwards.
    pub(crate) fn drain_waiters(&mut self) -> Vec<Arc<Signal>> {
        self.waiters.drain(..).map(|waiter| waiter.bell).collect()
    }

    /// Committers that may write at once, given how many wait.
    pub(crate) fn inline_writes_max(&self) -> u32 {
        if TWO_LEADERS_WAITERS.contains(&self.waiters.len()) { 2 } else { 1 }
    }

    /// Takes the role for a committer, if committers write at all at present.
    pub(crate) fn lead_inline(&mut self) -> Option<WriterRole> {
        if self.leader != LeaderState::Inline || self.inline_writes >= self.inline_writes_max() {
            return None;
        }
        if self.role.is_none() || !self.in_flight.admits(BLOCK_BYTES_MAX as u64) {
            return None;
        }
        self.inline_writes += 1;
        self.assert_state();
        self.role.take()
    }

    /// Counts how many wait while a flush goes out, and decides who leads from now on.
    pub(crate) fn note_waiters(&mut self, waiting: usize) {
        let sample = (waiting as u32).min(1_000) * MEAN_ONE;
        self.mean_waiters = (self.mean_waiters * 15 + sample) / 16;
        self.leader = match self.leader {
            LeaderState::Inline if self.mean_waiters > HAND_OVER_WAITERS * MEAN_ONE => LeaderState::LogWriter,
            LeaderState::LogWriter if self.mean_waiters < TAKE_BACK_WAITERS * MEAN_ONE => LeaderState::Inline,
            same => same,
        };
    }

    /// Removes the waiters up to `hardened` and returns their bells, the next leader's first.
    pub(crate) fn wake(&mut self, hardened: Lsn, issued: Lsn, bells: &mut Vec<Arc<Signal>>) {
        let can_lead = self.leader == LeaderState::Inline
            && self.role.is_some()
            && self.inline_writes < self.inline_writes_max();
        if can_lead {
            let uncovered = self.waiters.iter().enumerate().filter(|(_, waiter)| waiter.lsn > issued);
            if let Some((index, _)) = uncovered.min_by_key(|(_, waiter)| waiter.lsn) {
                bells.push(self.waiters.swap_remove(index).bell);
            }
        }
        let mut index = 0;
        while index < self.waiters.len() {
            if self.waiters[index].lsn <= hardened {
                bells.push(self.waiters.swap_remove(index).bell);
            } else {
                index += 1;
            }
        }
        assert!(self.waiters.iter().all(|waiter| waiter.lsn > hardened), "nobody waits for what is durable");
        self.assert_state();
    }

    /// Whether the LOG WRITER waits for what has just happened; it is considered woken then.
    pub(crate) fn rouse(&mut self, sleepers: &[WriterState]) -> bool {
        let rouse = sleepers.contains(&self.writer);
        if rouse {
            self.writer = WriterState::Awake;
        }
        rouse
    }
}
