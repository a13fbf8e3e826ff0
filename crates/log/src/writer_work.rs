//! The decisions of the LOG WRITER: write, let committers gather, wait, or end.

use std::sync::atomic::Ordering::{Acquire, Relaxed};

use crate::flush::BACKGROUND;
use crate::flush_queue::{FlushQueue, LeaderState, MEAN_ONE, WriterRole, WriterState};
use crate::flush_reason::{DelayedFlushPolicy, FlushReason};
use crate::limits::BLOCK_BYTES_MAX;
use crate::shared::Shared;

/// After so long without work, committers lead again.
const LEADER_IDLE_NS: u64 = 5_000_000;

/// The LOG WRITER ends after so long without work: a server has many databases, and few of them write at a time.
pub(crate) const REST_NS: u64 = 10_000_000_000;

/// How the LOG WRITER's last wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LastWait {
    /// It was notified, or has worked since.
    Rung,
    /// Its timeout expired.
    TimedOut,
    /// No work came for [`REST_NS`].
    Rested,
}

/// What the LOG WRITER should do next.
pub(crate) enum Work {
    /// Write, with this role; the open block too when a reason is given.
    Write(WriterRole, Option<FlushReason>),
    /// Wait for a notification, at most so long.
    Wait(Option<u64>),
    /// Wait for a notification; end when none comes for [`REST_NS`].
    Rest,
    /// End.
    Stop,
}

impl Shared {
    /// Decides what the LOG WRITER does after its last wait.
    pub(crate) fn next_work(&self, last: LastWait) -> Work {
        let mut queue = self.queue.lock();
        assert_ne!(queue.writer, WriterState::Ended, "a LOG WRITER that has ended has no next work");
        queue.writer = WriterState::Awake;
        let stopping = self.stopping.load(Acquire);
        if self.is_failed() {
            queue.writer = WriterState::Ended;
            return Work::Stop;
        }
        let issued = self.positions.issued();
        let sealed_waits = self.positions.sealed() > issued;
        let led_for = match queue.leader {
            LeaderState::Inline => None,
            LeaderState::LogWriter => {
                queue.waiters.iter().find(|waiter| waiter.lsn > issued).map(|waiter| waiter.reason)
            }
        };
        let (delayed_due, due_in_ns) = self.delayed_due(&queue);
        let asked = queue.asked.filter(|(lsn, _)| *lsn > issued).map(|(_, reason)| reason);
        let seal_open = led_for.or(asked).or(delayed_due.then_some(BACKGROUND));
        if !sealed_waits && seal_open.is_none() {
            if stopping {
                queue.writer = WriterState::Ended;
                return Work::Stop;
            }
            return writer_waits(&mut queue, last, due_in_ns);
        }
        let device_busy = queue.in_flight.outstanding_ios() > 0;
        if (device_busy && !sealed_waits)
            || !queue.in_flight.admits(BLOCK_BYTES_MAX as u64, || self.os.clock().monotonic_ns())
        {
            queue.writer = WriterState::WantsTurn;
            return Work::Wait(None);
        }
        let in_a_hurry = sealed_waits || delayed_due || asked.is_some() || stopping;
        if !in_a_hurry && let Some(step_ns) = queue.gather(self.os.clock().monotonic_ns()) {
            return Work::Wait(Some(step_ns));
        }
        assert!(sealed_waits || seal_open.is_some(), "the LOG WRITER writes for somebody");
        match queue.role.take() {
            Some(role) => Work::Write(role, if device_busy { None } else { seal_open }),
            None => {
                queue.writer = WriterState::WantsTurn;
                Work::Wait(None)
            }
        }
    }

    /// Whether log that delayed commits want is due now, else in how many ns (`None`: nothing is wanted, or not by time).
    fn delayed_due(&self, queue: &FlushQueue) -> (bool, Option<u64>) {
        if queue.delayed <= self.positions.issued() || self.background_suspended.load(Relaxed) {
            return (false, None);
        }
        assert!(queue.delayed < self.positions.end(), "what delayed commits want was appended");
        let policy = self.policy();
        if policy == DelayedFlushPolicy::Suspended {
            return (false, None);
        }
        if self.open_bytes.load(Relaxed) as usize >= policy.due_bytes() || queue.loss.is_half_full() {
            return (true, None);
        }
        let by_bound = queue.loss.due_age_ns();
        let due_age_ns = policy.due_age_ns().into_iter().chain(by_bound).min();
        let Some(due_age_ns) = due_age_ns else { return (false, None) };
        let age_ns = self.os.clock().monotonic_ns().saturating_sub(queue.delayed_since_ns);
        if age_ns >= due_age_ns { (true, None) } else { (false, Some(due_age_ns - age_ns)) }
    }
}

/// Nothing to write: how long to wait.
fn writer_waits(queue: &mut FlushQueue, last: LastWait, due_in_ns: Option<u64>) -> Work {
    assert_eq!(queue.writer, WriterState::Awake, "only who is awake lies down");
    if let Some(due_in_ns) = due_in_ns {
        queue.writer = WriterState::Dozing;
        return Work::Wait(Some(due_in_ns));
    }
    if queue.leader == LeaderState::LogWriter && last == LastWait::Rung {
        queue.writer = WriterState::Asleep;
        return Work::Wait(Some(LEADER_IDLE_NS));
    }
    if last != LastWait::Rung {
        queue.leader = LeaderState::Inline;
        queue.mean_waiters = MEAN_ONE;
    }
    if last == LastWait::Rested {
        assert_eq!(queue.leader, LeaderState::Inline, "a LOG WRITER that ends does not lead");
        queue.writer = WriterState::Ended;
        return Work::Stop;
    }
    queue.writer = WriterState::Asleep;
    Work::Rest
}
