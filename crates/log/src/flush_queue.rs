//! The flush queue: requests to harden records, the writer role, and writes in flight; the state behind the queue latch.

use std::collections::BTreeMap;
use std::task::Waker;

use crate::flush_reason::FlushReason;
use crate::inflight::{InFlight, LimitMark, Met};
use crate::limits::{BLOCK_BYTES_MAX, LogLimits};
use crate::loss_window::LossWindow;
use crate::lsn::Lsn;

/// With more committers than this waiting per flush, the LOG WRITER keeps the role ...
const HAND_OVER_WAITERS: u32 = 16;
/// ... until the mean falls below this.
const TAKE_BACK_WAITERS: u32 = 6;
/// With so many waiting, two committers may write at once.
const TWO_LEADERS_WAITERS: std::ops::RangeInclusive<usize> = 3..=12;
/// The LOG WRITER lets committers gather at most this long once the device is free ...
const GATHER_NS: u64 = 1_000_000;
/// ... and no longer than this without a new one.
const GATHER_STEP_NS: u64 = 100_000;
/// The effect of the limits is kept for so many sessions; that of older sessions is one sum.
const SESSIONS_MAX: usize = 1_000;
/// The session number of that sum, which includes the server's own work: no session has it.
pub(crate) const NO_SESSION: u64 = 0;
/// Fixed-point unit of the mean number of waiters.
pub(crate) const MEAN_ONE: u32 = 64;

/// The right to write the log: a token, not a thread. Its holder takes blocks from the cache in order, completes
/// their headers and issues them; then the holder gives the role back, before its write is complete.
pub(crate) struct WriterRole {
    /// Checksum of the block issued last, which the next one names.
    pub(crate) last_checksum: u32,
}

/// Which thread writes the log at present (the leader).
///
/// ```text
///          mean waiters per flush > 16: note_waiters
///  Inline ───────────────────────────────────────────► LogWriter
///         ◄───────────────────────────────────────────
///          mean < 6: note_waiters; idle for 5 ms: next_work
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeaderState {
    /// Committers write the log.
    Inline,
    /// The LOG WRITER writes for all.
    LogWriter,
}

/// The state of the LOG WRITER. An idle log has no such thread.
///
/// ```text
///             wake_writer, when there is work; then start_writer
///  Ended ──────────────────────────────────────────────────────────► Awake ◄──┐
///    ▲                                                          next_work │   │ wake_writer
///    │                                                                    ▼   │
///    └──────────── next_work: nothing for 10 s, failed, stopping ── Dozing, Gathering, WantsTurn, Asleep
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriterState {
    /// No thread, or one that is about to exit and touches nothing any more.
    Ended,
    /// Runs; it checks everything again before it waits.
    Awake,
    /// Waits for delayed log to become due.
    Dozing,
    /// Waits for more committers before it takes the open block: `gather`.
    Gathering,
    /// Waits for the role or the device.
    WantsTurn,
    /// Waits for work.
    Asleep,
}

/// A request to harden a record: of a thread that waits for its waker, or of a suspended commit that resumes after its waker was called.
pub(crate) struct Waiter {
    pub(crate) lsn: Lsn,
    pub(crate) reason: FlushReason,
    pub(crate) waker: Waker,
    /// No thread waits (`Shared::harden_later`): a worker resumes the commit some time after the waker was called.
    pub(crate) is_pending_commit: bool,
    /// Until the block of its record is issued: the counts of the limits when it arrived, and the number of its session.
    pub(crate) held_back: Option<(LimitMark, Option<u64>)>,
}

/// Requests to harden records, the writer role, and writes in flight. Guarded by the queue latch.
pub(crate) struct FlushQueue {
    /// The role, when no thread has it.
    pub(crate) role: Option<WriterRole>,
    pub(crate) in_flight: InFlight,
    pub(crate) waiters: Vec<Waiter>,
    /// How many of them wait for a record that is not issued.
    uncovered: usize,
    /// Decaying maximum of the number of committers that waited at once.
    crowd: usize,
    /// While the LOG WRITER lets committers gather: since when, and how many it has seen.
    gathering: Option<(u64, usize)>,
    pub(crate) leader: LeaderState,
    /// Committers that are writing now.
    pub(crate) inline_writes: u32,
    /// Mean number of waiters per flush, in units of 1/MEAN_ONE.
    pub(crate) mean_waiters: u32,
    pub(crate) writer: WriterState,
    /// Newest record that delayed commits want durable.
    pub(crate) delayed: Lsn,
    /// When the oldest of that log that is not issued was first wanted.
    pub(crate) delayed_since_ns: u64,
    /// A caller will wait for this record and wants the LOG WRITER to write it meanwhile (`Log::request_flush`), and the reason.
    pub(crate) asked: Option<(Lsn, FlushReason)>,
    /// Delayed commits that are acknowledged and not yet durable.
    pub(crate) loss: LossWindow,
    /// How often and how long the limits held each session back.
    pub(crate) met: BTreeMap<u64, Met>,
}

impl FlushQueue {
    pub(crate) fn new(limits: LogLimits, last_checksum: u32) -> FlushQueue {
        FlushQueue {
            role: Some(WriterRole { last_checksum }),
            in_flight: InFlight::new(limits),
            waiters: Vec::new(),
            uncovered: 0,
            crowd: 0,
            gathering: None,
            leader: LeaderState::Inline,
            inline_writes: 0,
            mean_waiters: MEAN_ONE,
            writer: WriterState::Ended,
            delayed: Lsn::NULL,
            delayed_since_ns: 0,
            asked: None,
            loss: LossWindow::default(),
            met: BTreeMap::new(),
        }
    }

    /// Invariants while the latch is free.
    fn assert_state(&self) {
        assert!(self.inline_writes <= 2, "{} committers write at once", self.inline_writes);
        assert!(self.mean_waiters <= 1_000 * MEAN_ONE);
        assert!(self.uncovered <= self.waiters.len(), "{} of {} wait", self.uncovered, self.waiters.len());
        assert!(self.writer != WriterState::Gathering || self.gathering.is_some(), "gathers since when?");
        assert!(self.inline_writes <= self.in_flight.outstanding_ios() + 1, "one may be on its way to issue");
        assert!(self.gathering.is_none_or(|(_, seen)| seen <= self.crowd.max(self.uncovered)));
    }

    /// Adds a waiter.
    pub(crate) fn add_waiter(&mut self, waiter: Waiter, issued: Lsn) {
        assert!(waiter.lsn.slot() > 0, "{:?} waits for record {}", waiter.reason, waiter.lsn);
        self.uncovered += usize::from(waiter.lsn > issued);
        self.waiters.push(waiter);
        self.assert_state();
    }

    /// The wakers of all waiters; the list is empty afterwards.
    pub(crate) fn drain_waiters(&mut self) -> Vec<Waker> {
        self.uncovered = 0;
        self.waiters.drain(..).map(|waiter| waiter.waker).collect()
    }

    /// Committers that may write at once, given how many wait.
    pub(crate) fn inline_writes_max(&self) -> u32 {
        if TWO_LEADERS_WAITERS.contains(&self.waiters.len()) { 2 } else { 1 }
    }

    /// Whether a committer could write now.
    pub(crate) fn may_lead_inline(&mut self, now_ns: impl FnOnce() -> u64) -> bool {
        self.leader == LeaderState::Inline
            && self.inline_writes < self.inline_writes_max()
            && self.role.is_some()
            && self.in_flight.admits(BLOCK_BYTES_MAX as u64, now_ns)
    }

    /// Takes the role for a committer, if committers may write now.
    pub(crate) fn lead_inline(&mut self, now_ns: impl FnOnce() -> u64) -> Option<WriterRole> {
        if !self.may_lead_inline(now_ns) {
            return None;
        }
        self.inline_writes += 1;
        self.assert_state();
        self.role.take()
    }

    /// A block was issued, up to `issued`: counts the waiters, and decides which thread leads from now on.
    pub(crate) fn note_waiters(&mut self, issued: Lsn, now_ns: impl Fn() -> u64) {
        let waiting = self.waiters.len();
        self.settle(issued, now_ns);
        self.uncovered = self.waiters.iter().filter(|waiter| waiter.lsn > issued).count();
        self.asked = self.asked.filter(|(asked, _)| *asked > issued);
        self.crowd = waiting.max(self.crowd - self.crowd.div_ceil(32));
        self.gathering = None;
        let sample = (waiting as u32).min(1_000) * MEAN_ONE;
        self.mean_waiters = (self.mean_waiters * 15 + sample) / 16;
        self.leader = match self.leader {
            LeaderState::Inline if self.mean_waiters > HAND_OVER_WAITERS * MEAN_ONE => LeaderState::LogWriter,
            LeaderState::LogWriter if self.mean_waiters < TAKE_BACK_WAITERS * MEAN_ONE => LeaderState::Inline,
            same => same,
        };
        self.assert_state();
    }

    /// Notes how long the limits held back the waiters whose records are issued now.
    fn settle(&mut self, issued: Lsn, now_ns: impl Fn() -> u64) {
        let mut waiters = std::mem::take(&mut self.waiters);
        for waiter in waiters.iter_mut().filter(|waiter| waiter.lsn <= issued) {
            self.settle_one(waiter, &now_ns);
        }
        self.waiters = waiters;
    }

    fn settle_one(&mut self, waiter: &mut Waiter, now_ns: impl Fn() -> u64) {
        let Some((mark, session)) = waiter.held_back.take() else { return };
        let met = self.in_flight.met_since(&mark, now_ns);
        if !met.is_nothing() {
            self.note_met(session, met);
        }
    }

    /// Adds a delay by the limits to a session (`None`: the server itself).
    pub(crate) fn note_met(&mut self, session: Option<u64>, met: Met) {
        assert!(session != Some(NO_SESSION), "sessions have numbers");
        self.met.entry(session.unwrap_or(NO_SESSION)).or_default().add(met);
        // Numbers grow: the first is the oldest session's.
        if self.met.len() > SESSIONS_MAX
            && let Some(oldest) = self.met.keys().copied().find(|number| *number != NO_SESSION)
            && let Some(of_oldest) = self.met.remove(&oldest)
        {
            self.met.entry(NO_SESSION).or_default().add(of_oldest);
        }
        assert!(self.met.len() <= SESSIONS_MAX + 1, "{} sessions", self.met.len());
    }

    /// Whether the LOG WRITER, which could write the open block now, first waits for more committers, and how long it may
    /// sleep until it checks again.
    ///
    /// With many committers the processors are the bottleneck, not the device: while some run, a flush for the few that
    /// are done would cost them processor time, and they would need another one right after. So it waits until half of
    /// the committers have come; the other half runs while the device writes. It stops waiting when no more committers come.
    pub(crate) fn gather(&mut self, now_ns: u64) -> Option<u64> {
        assert!(self.leader == LeaderState::LogWriter && self.uncovered > 0, "for whom?");
        let (since_ns, seen) = self.gathering.unwrap_or((now_ns, 0));
        let left_ns = GATHER_NS.saturating_sub(now_ns.saturating_sub(since_ns));
        let waits = !self.has_gathered() && self.uncovered > seen && left_ns > 0;
        if !waits {
            self.gathering = None;
            return None;
        }
        self.gathering = Some((since_ns, self.uncovered));
        self.writer = WriterState::Gathering;
        self.assert_state();
        Some(left_ns.min(GATHER_STEP_NS))
    }

    /// Whether enough have come that the LOG WRITER need not wait for more.
    pub(crate) fn has_gathered(&self) -> bool {
        self.uncovered * 2 >= self.crowd
    }

    /// Removes the waiters up to `hardened` and returns their wakers in the order of arrival, the next leader's first.
    ///
    /// A waiting thread is chosen as leader before a pending commit: all threads that could resume that commit may be among the waiters.
    pub(crate) fn wake(
        &mut self,
        hardened: Lsn,
        issued: Lsn,
        now_ns: impl Fn() -> u64,
        wakers: &mut Vec<Waker>,
    ) {
        let can_lead = self.leader == LeaderState::Inline
            && self.role.is_some()
            && self.inline_writes < self.inline_writes_max();
        if can_lead {
            let uncovered = self.waiters.iter().enumerate().filter(|(_, waiter)| waiter.lsn > issued);
            if let Some((index, _)) =
                uncovered.min_by_key(|(_, waiter)| (waiter.is_pending_commit, waiter.lsn))
            {
                let mut leader = self.waiters.remove(index);
                self.uncovered -= 1;
                self.settle_one(&mut leader, &now_ns);
                wakers.push(leader.waker);
            }
        }
        wakers.reserve(self.waiters.len());
        let hard = self.waiters.extract_if(.., |waiter| waiter.lsn <= hardened);
        wakers.extend(hard.map(|waiter| waiter.waker));
        assert!(hardened <= issued, "what is durable was issued");
        debug_assert_eq!(
            self.uncovered,
            self.waiters.iter().filter(|waiter| waiter.lsn > issued).count(),
            "those who wait for a record that is not issued are counted"
        );
        assert!(self.waiters.iter().all(|waiter| waiter.lsn > hardened), "nobody waits for what is durable");
        self.assert_state();
    }

    /// Whether the LOG WRITER waits for this event; it then counts as woken. If it has ended, work that would wake it from `Asleep`
    /// starts it. The caller hands the result to `Shared::deliver_wakeup` when the latch is free.
    #[must_use]
    pub(crate) fn wake_writer(&mut self, sleepers: &[WriterState]) -> WriterWakeup {
        let wakeup = match self.writer {
            WriterState::Ended if sleepers.contains(&WriterState::Asleep) => WriterWakeup::Start,
            state if sleepers.contains(&state) => WriterWakeup::Notify,
            _ => return WriterWakeup::None,
        };
        self.writer = WriterState::Awake;
        wakeup
    }
}

impl WriterState {
    /// All states in which it waits for something.
    pub(crate) const WAITING: [WriterState; 4] =
        [WriterState::Dozing, WriterState::Gathering, WriterState::WantsTurn, WriterState::Asleep];
}

/// What the LOG WRITER needs to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriterWakeup {
    /// Nothing: it is awake, or does not wait for this event.
    None,
    /// A notification.
    Notify,
    /// A thread.
    Start,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lsn(raw: u64) -> Lsn {
        Lsn::from_raw(raw)
    }

    /// A queue that the LOG WRITER leads, after a flush (up to 1000) for which `crowd` committers waited.
    fn led_queue(crowd: usize) -> FlushQueue {
        let mut queue = FlushQueue::new(LogLimits::default(), 0);
        queue.leader = LeaderState::LogWriter;
        queue.mean_waiters = 20 * MEAN_ONE;
        (0..crowd).for_each(|_| come(&mut queue, 1_000));
        queue.note_waiters(lsn(1_000), || 0);
        queue.wake(lsn(1_000), lsn(1_000), || 0, &mut Vec::new());
        assert_eq!((queue.uncovered, queue.crowd, queue.waiters.len()), (0, crowd, 0));
        queue
    }

    fn come(queue: &mut FlushQueue, raw: u64) {
        let issued = lsn(if raw > 1_000 { 1_000 } else { 0 });
        queue.add_waiter(waiter(raw, Waker::noop().clone(), false), issued);
    }

    fn waiter(raw: u64, waker: Waker, is_pending_commit: bool) -> Waiter {
        Waiter { lsn: lsn(raw), reason: FlushReason::Commit, waker, is_pending_commit, held_back: None }
    }

    #[test]
    fn a_thread_that_waits_leads_rather_than_a_pending_commit() {
        let mut queue = FlushQueue::new(LogLimits::default(), 0);
        let [pending, thread, covered] = std::array::from_fn(|_| std::sync::Arc::new(os::Signal::new()));
        queue.add_waiter(waiter(7, pending.clone().into(), true), lsn(6));
        queue.add_waiter(waiter(8, thread.clone().into(), false), lsn(6));
        queue.add_waiter(waiter(5, covered.clone().into(), true), lsn(6));
        let mut wake = |hardened| {
            let mut wakers = Vec::new();
            queue.wake(lsn(hardened), lsn(6), || 0, &mut wakers);
            wakers.into_iter().for_each(Waker::wake);
            (pending.is_set(), thread.is_set(), covered.is_set())
        };
        assert_eq!(wake(4), (false, true, false), "the later record, but somebody is there to write");
        assert_eq!(wake(4), (true, true, false), "nobody else is left to lead");
        assert_eq!(wake(6), (true, true, true));
    }

    #[test]
    fn a_committer_leads_unless_somebody_else_does() {
        let mut queue = FlushQueue::new(LogLimits::default(), 0);
        assert!(queue.may_lead_inline(|| 0));
        let role = queue.lead_inline(|| 0);
        assert!(role.is_some() && !queue.may_lead_inline(|| 0), "another is about to issue");
        queue.in_flight.issue(lsn(5), 512);
        queue.role = role;
        assert!(!queue.may_lead_inline(|| 0) && queue.lead_inline(|| 0).is_none(), "another writes");
        for (raw, may_lead) in [(6, false), (7, false), (8, true)] {
            queue.add_waiter(waiter(raw, Waker::noop().clone(), true), lsn(5));
            assert_eq!(queue.may_lead_inline(|| 0), may_lead, "with three waiting there may be two");
        }
        let second = queue.lead_inline(|| 0);
        assert!(second.is_some() && queue.inline_writes == 2);
        queue.role = second;
        assert!(!queue.may_lead_inline(|| 0));
        queue.inline_writes = 0;
        assert!(queue.may_lead_inline(|| 0));
        queue.leader = LeaderState::LogWriter;
        assert!(!queue.may_lead_inline(|| 0) && queue.lead_inline(|| 0).is_none());
    }

    #[test]
    fn nobody_leads_while_the_device_has_as_much_as_it_may_have() {
        let mut queue = FlushQueue::new(LogLimits { outstanding_ios_max: 1, ..LogLimits::default() }, 0);
        assert!(queue.may_lead_inline(|| 0));
        queue.in_flight.issue(lsn(5), 512);
        assert!(!queue.may_lead_inline(|| 0) && queue.lead_inline(|| 0).is_none());
        assert_eq!(queue.inline_writes, 0);
    }

    #[test]
    fn what_sessions_meet_is_kept_for_a_thousand_of_them() {
        let mut queue = FlushQueue::new(LogLimits::default(), 0);
        let once = Met { ios: crate::inflight::Reached { times_total: 1, ns_total: 5 }, ..Met::default() };
        (1..=1_500).for_each(|number| queue.note_met(Some(number), once));
        queue.note_met(Some(1_500), once);
        queue.note_met(None, once);
        let times = |queue: &FlushQueue, number| queue.met.get(&number).map(|met| met.ios.times_total);
        assert_eq!((times(&queue, 1_500), times(&queue, 1)), (Some(2), None));
        assert!(queue.met.len() <= SESSIONS_MAX + 1);
        let all: u64 = queue.met.values().map(|met| met.ios.times_total).sum();
        assert_eq!(all, 1_502, "the sum keeps those that are over");
    }

    #[test]
    fn it_gathers_until_half_of_the_crowd_has_come() {
        let mut queue = led_queue(10);
        for number in 1..5 {
            come(&mut queue, 1_000 + number);
            assert!(!queue.has_gathered());
            assert_eq!(queue.gather(number * 1_000), Some(GATHER_STEP_NS));
        }
        come(&mut queue, 1_005);
        assert!(queue.has_gathered());
        assert_eq!((queue.gather(6_000), queue.gathering), (None, None));
    }

    #[test]
    fn it_gathers_no_longer_when_nobody_comes() {
        let mut queue = led_queue(100);
        come(&mut queue, 1_001);
        assert_eq!(queue.gather(0), Some(GATHER_STEP_NS));
        assert_eq!(queue.gather(GATHER_STEP_NS), None);
    }

    #[test]
    fn it_gathers_for_a_millisecond_at_most() {
        let mut queue = led_queue(1_000);
        let mut now_ns = 0;
        come(&mut queue, 1_001);
        while let Some(step_ns) = queue.gather(now_ns) {
            assert!(step_ns <= GATHER_STEP_NS && now_ns < GATHER_NS);
            now_ns += 70_000;
            come(&mut queue, 1_001);
        }
        assert!((GATHER_NS..GATHER_NS + 70_000).contains(&now_ns), "{now_ns}");
    }

    #[test]
    fn a_crowd_is_forgotten_when_it_has_gone() {
        let mut queue = led_queue(256);
        for flush in 0..200 {
            come(&mut queue, 1_001);
            queue.note_waiters(lsn(1_001), || 0);
            queue.wake(lsn(1_001), lsn(1_001), || 0, &mut Vec::new());
            assert!(queue.crowd >= 1, "after {flush}");
        }
        assert_eq!(queue.crowd, 1);
    }
}
