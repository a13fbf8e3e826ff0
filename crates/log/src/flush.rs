//! Why the log is flushed, who writes it, and how `hardened` moves. Read `FlushReason` first, then `lead_or_wait`.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use os::sim::{Bug, is_planted};
use os::{IoError, Signal, WaitType, WriteMode};

use crate::block::{BlockHeader, BlockState};
use crate::cache::{Cache, CachedBlock};
use crate::error::LogError;
use crate::inflight::InFlight;
use crate::limits::{BLOCK_BYTES_MAX, LogLimits, SECTOR_BYTES};
use crate::lsn::Lsn;
use crate::shared::Shared;

/// Why a piece of log must become durable. Each reason has exactly one call site in the workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FlushReason {
    /// A fully durable transaction commits (txn, commit.rs). Claim 11.
    Commit,
    /// A block reached 60 KB (cache.rs). Claim 15.
    BlockFull,
    /// A dirty page is about to be written (pages, write_out.rs). Claim 16.
    WriteAhead,
    /// sys.sp_flush_log (engine, database.rs). Claim 18.
    FlushLogProc,
    /// A sequence writes its recovery value (engine, sequence.rs). Claim 19.
    SequenceCache,
    /// Delayed commits drain (flush.rs).
    Background,
    /// Clean shutdown, backup and the like need the tail (engine, shutdown.rs).
    Quiesce,
}

impl FlushReason {
    /// Every reason.
    pub const ALL: [FlushReason; 7] = [
        Self::Commit,
        Self::BlockFull,
        Self::WriteAhead,
        Self::FlushLogProc,
        Self::SequenceCache,
        Self::Background,
        Self::Quiesce,
    ];

    /// Index into per-reason counts.
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// When log that nobody waits for is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelayedFlushPolicy {
    /// As soon as the device is free and there are at least 4 KB of it or it is 1 ms old. The default.
    Eager,
    /// So many milliseconds after it appeared.
    Timed(u32),
    /// Only when its block is full (or somebody asks for other reasons). tempdb's way.
    BlockFull,
}

impl DelayedFlushPolicy {
    /// As one number, for an atomic.
    pub(crate) fn to_raw(self) -> u64 {
        match self {
            DelayedFlushPolicy::Eager => 0,
            DelayedFlushPolicy::BlockFull => 1,
            DelayedFlushPolicy::Timed(ms) => 2 + u64::from(ms),
        }
    }

    pub(crate) fn from_raw(raw: u64) -> DelayedFlushPolicy {
        match raw {
            0 => DelayedFlushPolicy::Eager,
            1 => DelayedFlushPolicy::BlockFull,
            ms => DelayedFlushPolicy::Timed((ms - 2) as u32),
        }
    }

    /// The age, in ns, at which wanted log is due; `None`: age alone never makes it due.
    fn due_age_ns(self) -> Option<u64> {
        match self {
            DelayedFlushPolicy::Eager => Some(EAGER_AGE_NS),
            DelayedFlushPolicy::Timed(ms) => Some(u64::from(ms) * 1_000_000),
            DelayedFlushPolicy::BlockFull => None,
        }
    }

    /// The size, in bytes, at which wanted log is due whatever its age.
    fn due_bytes(self) -> usize {
        match self {
            DelayedFlushPolicy::Eager => EAGER_BYTES,
            DelayedFlushPolicy::Timed(_) | DelayedFlushPolicy::BlockFull => usize::MAX,
        }
    }
}

/// An idle device takes delayed work from this size on ...
const EAGER_BYTES: usize = 4096;
/// ... or this age. Bounds the loss of an idle system and the flushes of a slow one (1,000 a second).
const EAGER_AGE_NS: u64 = 1_000_000;
/// With so many committers waiting per flush the LOG WRITER keeps the role ...
const HAND_OVER_WAITERS: u32 = 16;
/// ... until the mean falls below this.
const TAKE_BACK_WAITERS: u32 = 6;
/// With so many waiting, two committers may write at once.
const TWO_LEADERS_WAITERS: std::ops::RangeInclusive<usize> = 3..=12;
/// Fixed-point unit of the mean number of waiters.
const MEAN_ONE: u32 = 64;

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
enum WriterState {
    /// Runs; it will look at everything again before it waits.
    Awake,
    /// Waits for delayed log to become due.
    Dozing,
    /// Waits for the role or the device.
    WantsTurn,
    /// Waits for work.
    Asleep,
}

struct Waiter {
    lsn: Lsn,
    reason: FlushReason,
    bell: Arc<Signal>,
}

/// Who wants what hardened, who may write, what is in flight. Guarded by the queue latch.
pub(crate) struct FlushQueue {
    /// The role, when nobody has it.
    role: Option<WriterRole>,
    pub(crate) in_flight: InFlight,
    waiters: Vec<Waiter>,
    leader: LeaderState,
    /// Committers writing at the moment.
    inline_writes: u32,
    /// Mean number of waiters per flush, in units of 1/MEAN_ONE.
    mean_waiters: u32,
    writer: WriterState,
    /// Newest record that delayed commits want durable.
    delayed: Lsn,
    /// When the oldest of that log that is not issued was first wanted.
    delayed_since_ns: u64,
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

    /// Every waiter's bell; the list is empty afterwards.
    pub(crate) fn drain_waiters(&mut self) -> Vec<Arc<Signal>> {
        self.waiters.drain(..).map(|waiter| waiter.bell).collect()
    }

    /// Committers that may write at once, given how many wait.
    fn inline_writes_max(&self) -> u32 {
        if TWO_LEADERS_WAITERS.contains(&self.waiters.len()) { 2 } else { 1 }
    }

    /// Takes the role for a committer, if committers write at all at present.
    fn lead_inline(&mut self) -> Option<WriterRole> {
        if self.leader != LeaderState::Inline || self.inline_writes >= self.inline_writes_max() {
            return None;
        }
        if self.role.is_none() || !self.in_flight.admits(BLOCK_BYTES_MAX as u64) {
            return None;
        }
        self.inline_writes += 1;
        self.role.take()
    }

    /// Counts how many wait while a flush goes out, and decides who leads from now on.
    fn note_waiters(&mut self, waiting: usize) {
        let sample = (waiting as u32).min(1_000) * MEAN_ONE;
        self.mean_waiters = (self.mean_waiters * 15 + sample) / 16;
        self.leader = match self.leader {
            LeaderState::Inline if self.mean_waiters > HAND_OVER_WAITERS * MEAN_ONE => LeaderState::LogWriter,
            LeaderState::LogWriter if self.mean_waiters < TAKE_BACK_WAITERS * MEAN_ONE => LeaderState::Inline,
            same => same,
        };
    }

    /// Removes the waiters up to `hardened` and returns their bells, the next leader's first.
    fn wake(&mut self, hardened: Lsn, issued: Lsn, bells: &mut Vec<Arc<Signal>>) {
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
    }

    /// Whether the LOG WRITER waits for what has just happened; it is considered woken then.
    fn rouse(&mut self, sleepers: &[WriterState]) -> bool {
        let rouse = sleepers.contains(&self.writer);
        if rouse {
            self.writer = WriterState::Awake;
        }
        rouse
    }
}

/// What the LOG WRITER should do next.
pub(crate) enum Work {
    /// Write, with this role; the open block too when a reason is given.
    Write(WriterRole, Option<FlushReason>),
    /// Wait for the bell, at most so long.
    Wait(Option<u64>),
    /// End.
    Stop,
}

impl Shared {
    /// See `Log::harden`.
    pub(crate) fn harden(&self, lsn: Lsn, reason: FlushReason) -> Result<(), LogError> {
        let positions = &self.positions;
        if lsn >= positions.end() {
            // A page of another log, or a log that lost its end: nothing can make this durable.
            return Err(LogError::NotThere(lsn));
        }
        if lsn <= positions.hardened() || self.options.volatile {
            return Ok(());
        }
        if matches!(reason, FlushReason::Commit) && is_planted(Bug::AcknowledgeBeforeHarden) {
            self.want(lsn);
            return Ok(());
        }
        let _mask = os::task::mask_interrupts();
        let began_ns = self.os.clock().monotonic_ns();
        let result = os::task::wait_as(WaitType::WRITELOG, || self.lead_or_wait(lsn, reason));
        self.counters.note_wait(self.os.clock().monotonic_ns() - began_ns);
        result
    }

    /// Writes the log itself when nobody else does, else waits for who does, until `lsn` is hardened.
    fn lead_or_wait(&self, lsn: Lsn, reason: FlushReason) -> Result<(), LogError> {
        loop {
            let mut queue = self.queue.lock();
            if lsn <= self.positions.hardened() {
                return Ok(());
            }
            self.check_alive()?;
            if lsn > self.positions.issued()
                && let Some(role) = queue.lead_inline()
            {
                drop(queue);
                self.write_inline(role, reason);
                continue;
            }
            let bell = Arc::new(Signal::new());
            queue.waiters.push(Waiter { lsn, reason, bell: Arc::clone(&bell) });
            let for_writer =
                queue.leader == LeaderState::LogWriter || self.positions.sealed() > self.positions.issued();
            let ring = for_writer && queue.rouse(&[WriterState::Asleep, WriterState::Dozing]);
            drop(queue);
            if ring {
                self.bell.set();
            }
            let outcome = bell.wait(WaitType::WRITELOG, None);
            assert_eq!(outcome, os::WaitOutcome::Set, "interrupts are masked");
        }
    }

    /// See `Log::want`: a delayed commit.
    pub(crate) fn want(&self, lsn: Lsn) {
        assert!(lsn < self.positions.end(), "want of {lsn}, which was never appended");
        if self.options.volatile || lsn <= self.positions.issued() {
            return;
        }
        let open_bytes = self.open_bytes.load(Relaxed) as usize;
        let mut queue = self.queue.lock();
        if queue.delayed <= self.positions.issued() {
            queue.delayed_since_ns = self.os.clock().monotonic_ns();
        }
        queue.delayed = queue.delayed.max(lsn);
        if self.policy() == DelayedFlushPolicy::BlockFull {
            return;
        }
        let due_now = open_bytes >= self.policy().due_bytes();
        let ring = queue.rouse(if due_now {
            &[WriterState::Asleep, WriterState::Dozing]
        } else {
            &[WriterState::Asleep]
        });
        drop(queue);
        if ring {
            self.bell.set();
        }
    }

    /// A committer's own write: one block, the open one if no sealed one waits.
    fn write_inline(&self, mut role: WriterRole, reason: FlushReason) {
        let Some(mut block) = self.take_next(Some(reason)) else {
            // Somebody has issued everything since we looked.
            self.give_role_back(role, true);
            return;
        };
        self.finish_header(&mut role, &mut block);
        let number = self.issue(role, &block, true);
        let began_ns = self.os.clock().monotonic_ns();
        let result = self.write_block(&block);
        let write_ns = self.os.clock().monotonic_ns() - began_ns;
        self.complete(number, block, result, write_ns, true);
    }

    /// The oldest sealed block, or else, when `seal_open` gives a reason, the open one.
    pub(crate) fn take_next(&self, seal_open: Option<FlushReason>) -> Option<CachedBlock> {
        let mut cache = self.cache.lock();
        let block = cache.take_next(seal_open)?;
        self.note_sealed(&cache, block.last());
        Some(block)
    }

    /// Moves `sealed` (and `end`, which seal may have moved). Called under the cache latch whenever a block was sealed.
    pub(crate) fn note_sealed(&self, cache: &Cache, last: Lsn) {
        let newest = cache.sealed.back().map_or(last, CachedBlock::last);
        self.positions.end.store(cache.end().raw(), Release);
        self.positions.sealed.fetch_max(newest.raw(), Release);
        self.open_bytes.store(cache.open_bytes() as u32, Relaxed);
    }

    /// Completes header and checksum of a block; the role's holder does it, since each block names the one before.
    pub(crate) fn finish_header(&self, role: &mut WriterRole, block: &mut CachedBlock) {
        block.state.assert_state(BlockState::Issued);
        let mut header = BlockHeader {
            flags: BlockHeader::flags(block.parity, self.options.volatile),
            vlf: block.start.vlf(),
            sector: block.start.block(),
            used_bytes: block.used_bytes as u32,
            sectors: (block.padded_bytes / SECTOR_BYTES) as u16,
            slots: block.offsets.len() as u16,
            previous_checksum: role.last_checksum,
            epoch: self.epoch,
            hardened: self.positions.hardened(),
            base_txn: block.base_txn,
            time_100ns: self.os.clock().utc_100ns() as u64,
            log_id: self.log_id,
            checksum: 0,
        };
        role.last_checksum = header.seal(&mut block.buffer[..block.padded_bytes]);
    }

    /// Registers a block as in flight and gives the role back. Returns the write's number.
    fn issue(&self, role: WriterRole, block: &CachedBlock, inline: bool) -> u64 {
        let mut queue = self.queue.lock();
        let number = self.register(&mut queue, block);
        let ring = self.return_role(&mut queue, role);
        assert!(!inline || queue.inline_writes > 0);
        drop(queue);
        if ring {
            self.bell.set();
        }
        number
    }

    /// Registers a block as in flight, keeping the role. Returns the write's number.
    pub(crate) fn issue_holding(&self, block: &CachedBlock) -> u64 {
        self.register(&mut self.queue.lock(), block)
    }

    /// Whether the limits allow one more block in flight.
    pub(crate) fn admits_another(&self) -> bool {
        self.queue.lock().in_flight.admits(BLOCK_BYTES_MAX as u64)
    }

    fn register(&self, queue: &mut FlushQueue, block: &CachedBlock) -> u64 {
        let last = block.last();
        assert!(last > self.positions.issued() && last <= self.positions.sealed());
        self.positions.issued.store(last.raw(), Release);
        let waiting = queue.waiters.len();
        queue.note_waiters(waiting);
        queue.in_flight.issue(last, block.padded_bytes as u64)
    }

    fn return_role(&self, queue: &mut FlushQueue, role: WriterRole) -> bool {
        assert!(queue.role.is_none(), "there is one writer role");
        queue.role = Some(role);
        let led = queue.leader == LeaderState::LogWriter && !queue.waiters.is_empty();
        queue.rouse(if led {
            &[WriterState::WantsTurn, WriterState::Asleep, WriterState::Dozing]
        } else {
            &[WriterState::WantsTurn]
        })
    }

    /// Gives the role back without having written.
    pub(crate) fn give_role_back(&self, role: WriterRole, inline: bool) {
        let mut bells = Vec::new();
        let mut queue = self.queue.lock();
        if inline {
            queue.inline_writes -= 1;
        }
        let ring = self.return_role(&mut queue, role);
        queue.wake(self.positions.hardened(), self.positions.issued(), &mut bells);
        drop(queue);
        bells.iter().for_each(|bell| bell.set());
        if ring {
            self.bell.set();
        }
    }

    /// Writes one block to the file.
    pub(crate) fn write_block(&self, block: &CachedBlock) -> Result<(), IoError> {
        let mode = if self.options.volatile { WriteMode::Cached } else { WriteMode::Durable };
        self.log_file.file.write_at(&block.buffer[..block.padded_bytes], block.file_offset, mode)
    }

    /// A write has ended. The only place where `hardened` moves: over the contiguous prefix of completed writes.
    pub(crate) fn complete(
        &self,
        number: u64,
        block: CachedBlock,
        result: Result<(), IoError>,
        write_ns: u64,
        inline: bool,
    ) {
        if let Err(error) = result {
            if inline {
                self.queue.lock().inline_writes -= 1;
            }
            self.fail(error);
            return;
        }
        self.counters.note_flush(
            block.reason.expect("an issued block was sealed"),
            block.padded_bytes as u64,
            write_ns,
        );
        let last = block.last();
        let mut bells = Vec::new();
        let mut queue = self.queue.lock();
        if inline {
            queue.inline_writes -= 1;
        }
        let (prefix, hardened) = queue.in_flight.complete(number, block);
        let prefix = if is_planted(Bug::HardenedJumpsOverHole) { Some(last) } else { prefix };
        if let Some(prefix) = prefix {
            self.positions.hardened.advance_to(prefix.raw());
        }
        queue.wake(self.positions.hardened(), self.positions.issued(), &mut bells);
        let ring = queue.rouse(&[WriterState::WantsTurn]);
        drop(queue);
        bells.iter().for_each(|bell| bell.set());
        if ring {
            self.bell.set();
        }
        self.recycle(hardened);
        self.positions.assert_order();
    }

    fn recycle(&self, blocks: Vec<CachedBlock>) {
        if blocks.is_empty() {
            return;
        }
        let mut cache = self.cache.lock();
        blocks.into_iter().for_each(|block| cache.recycle(block));
        let waiting = cache.waiting_for_buffer > 0;
        drop(cache);
        if waiting {
            self.room.notify_all();
        }
    }

    /// Makes everything up to `last` durable, or, on a volatile log, written as far as blocks are full. For close.
    pub(crate) fn drain(&self, last: Lsn) -> Result<(), LogError> {
        self.harden(last, BACKGROUND)
    }

    /// Tells the LOG WRITER that a full block waits (or that it should end).
    pub(crate) fn ring_for_sealed(&self) {
        let ring = self.queue.lock().rouse(&[WriterState::Asleep, WriterState::Dozing]);
        if ring {
            self.bell.set();
        }
    }

    /// Decides what the LOG WRITER does. `idle`: its last wait timed out.
    pub(crate) fn next_work(&self, idle: bool) -> Work {
        let mut queue = self.queue.lock();
        queue.writer = WriterState::Awake;
        let stopping = self.stopping.load(Acquire);
        if self.is_failed() {
            return if stopping { Work::Stop } else { Work::Wait(None) };
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
        let seal_open = led_for.or(delayed_due.then_some(BACKGROUND));
        if !sealed_waits && seal_open.is_none() {
            if stopping {
                return Work::Stop;
            }
            return self.writer_waits(&mut queue, idle, due_in_ns);
        }
        let device_busy = queue.in_flight.outstanding_ios() > 0;
        if (device_busy && !sealed_waits) || !queue.in_flight.admits(BLOCK_BYTES_MAX as u64) {
            queue.writer = WriterState::WantsTurn;
            return Work::Wait(None);
        }
        match queue.role.take() {
            Some(role) => Work::Write(role, if device_busy { None } else { seal_open }),
            None => {
                queue.writer = WriterState::WantsTurn;
                Work::Wait(None)
            }
        }
    }

    /// Nothing to write: how long to wait.
    fn writer_waits(&self, queue: &mut FlushQueue, idle: bool, due_in_ns: Option<u64>) -> Work {
        if let Some(due_in_ns) = due_in_ns {
            queue.writer = WriterState::Dozing;
            return Work::Wait(Some(due_in_ns));
        }
        if queue.leader == LeaderState::LogWriter && !idle {
            queue.writer = WriterState::Asleep;
            return Work::Wait(Some(LEADER_IDLE_NS));
        }
        if idle {
            queue.leader = LeaderState::Inline;
            queue.mean_waiters = MEAN_ONE;
        }
        queue.writer = WriterState::Asleep;
        Work::Wait(None)
    }

    /// Whether log that delayed commits want is due now, else in how many ns (`None`: nothing is wanted, or not by time).
    fn delayed_due(&self, queue: &FlushQueue) -> (bool, Option<u64>) {
        if queue.delayed <= self.positions.issued() || self.background_suspended.load(Relaxed) {
            return (false, None);
        }
        let policy = self.policy();
        if self.open_bytes.load(Relaxed) as usize >= policy.due_bytes() {
            return (true, None);
        }
        let Some(due_age_ns) = policy.due_age_ns() else { return (false, None) };
        let age_ns = self.os.clock().monotonic_ns().saturating_sub(queue.delayed_since_ns);
        if age_ns >= due_age_ns { (true, None) } else { (false, Some(due_age_ns - age_ns)) }
    }
}

/// Log that nobody waits for is written for this reason, here and nowhere else.
const BACKGROUND: FlushReason = FlushReason::Background;
/// The LOG WRITER gives leading back after so long without work.
const LEADER_IDLE_NS: u64 = 5_000_000;
