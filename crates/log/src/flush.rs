//! Writing the log: which thread writes, and how `hardened` moves. Read `flush_reason.rs` first, then `lead_or_wait`.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::task::Waker;

use os::sim::{Bug, is_planted};
use os::{DetachedWait, IoError, LatchGuard, Signal, WaitError, WaitType, WriteMode};

use crate::block::{BlockHeader, BlockState};
use crate::cache::Cache;
use crate::cached_block::CachedBlock;
use crate::error::LogError;
use crate::flush_queue::{FlushQueue, LeaderState, Waiter, WriterRole, WriterState, WriterWakeup};
use crate::flush_reason::{DelayedFlushPolicy, FlushReason};
use crate::inflight::HardenedBlocks;
use crate::limits::{BLOCK_BYTES_MAX, SECTOR_BYTES};
use crate::lsn::Lsn;
use crate::shared::Shared;

/// A commit record that is being hardened while no thread waits for it: see [`Log::harden_later`](crate::Log::harden_later). It counts
/// as a wait of the requesting task until it is passed to [`Log::finish_harden`](crate::Log::finish_harden), on any thread.
#[must_use = "the commit has not ended before `finish_harden`"]
pub struct PendingCommit {
    lsn: Lsn,
    reason: FlushReason,
    waiting: DetachedWait,
}

impl PendingCommit {
    /// The commit record.
    pub fn lsn(&self) -> Lsn {
        self.lsn
    }
}

impl Shared {
    /// See `Log::harden`.
    pub(crate) fn harden(&self, lsn: Lsn, reason: FlushReason) -> Result<(), LogError> {
        if !self.is_to_harden(lsn, reason)? {
            return Ok(());
        }
        if acknowledges_early(reason) {
            self.request_delayed_flush(lsn);
            return Ok(());
        }
        let _mask = os::task::mask_interrupts();
        if self.persist_for(lsn, reason)? {
            return Ok(());
        }
        let (result, wait_ns) = os::wait_timed(WaitType::WRITELOG, || self.lead_or_wait(lsn, reason));
        self.assert_hardened(lsn, &result);
        self.counters.note_wait(wait_ns);
        result
    }

    /// A caller that waits for durability gets it or an error.
    fn assert_hardened(&self, lsn: Lsn, result: &Result<(), LogError>) {
        assert!(result.is_err() || lsn <= self.positions.safe(), "{lsn} counts as hard and is not");
    }

    /// Copies the record to the persisted log buffer if that is enough for `reason`; false: there is no buffer, or the file must have the record.
    fn persist_for(&self, lsn: Lsn, reason: FlushReason) -> Result<bool, LogError> {
        if reason.is_for_file() { Ok(false) } else { self.persist(lsn) }
    }

    /// Whether a caller can wait for the hardening of this record.
    fn is_to_harden(&self, lsn: Lsn, reason: FlushReason) -> Result<bool, LogError> {
        if lsn >= self.positions.end() {
            // A page of another log, or a log that lost its end: nothing can make this durable.
            return Err(LogError::NotThere(lsn));
        }
        let reached = if reason.is_for_file() { self.positions.hardened() } else { self.positions.safe() };
        Ok(lsn > reached && !self.options.volatile)
    }

    /// See `Log::harden_later`.
    pub(crate) fn harden_later(
        &self,
        lsn: Lsn,
        reason: FlushReason,
        waker: &Waker,
    ) -> Result<Option<PendingCommit>, LogError> {
        // With a persisted buffer no committer waits for another one: `harden` copies.
        if !self.is_to_harden(lsn, reason)? || acknowledges_early(reason) || self.persists.load(Relaxed) {
            return Ok(None);
        }
        assert!(lsn.slot() > 0, "{reason:?} waits for record {lsn}");
        let waker = waker.clone();
        let mut queue = self.queue.lock();
        let writes_itself =
            lsn > self.positions.issued() && queue.may_lead_inline(|| self.os.clock().monotonic_ns());
        if writes_itself || lsn <= self.positions.hardened() {
            return Ok(None);
        }
        self.check_alive()?;
        // before the waker can be called, so that the time from then on counts as signal wait time.
        let waiting = DetachedWait::begin(WaitType::WRITELOG);
        let waiter = Waiter { lsn, reason, waker, is_pending_commit: true, held_back: None };
        os::set_patient(self.enter_queue(queue, waiter));
        Ok(Some(PendingCommit { lsn, reason, waiting }))
    }

    /// See `Log::finish_harden`.
    pub(crate) fn finish_harden(&self, pending: PendingCommit) -> Result<(), LogError> {
        let PendingCommit { lsn, reason, waiting } = pending;
        assert!(lsn < self.positions.end(), "{lsn} is in the log");
        let _mask = os::task::mask_interrupts();
        let is_hardened = lsn <= self.positions.safe();
        // The waker was called to write, or not at all: the wait continues.
        let result = if is_hardened { Ok(()) } else { waiting.block(|| self.lead_or_wait(lsn, reason)) };
        let wait_ns = waiting.end();
        self.assert_hardened(lsn, &result);
        self.counters.note_wait(wait_ns);
        result
    }

    /// Writes the log if no other thread does, else waits for the writing thread, until `lsn` is hardened.
    fn lead_or_wait(&self, lsn: Lsn, reason: FlushReason) -> Result<(), LogError> {
        assert!(!self.options.volatile && lsn.slot() > 0, "{reason:?} waits for record {lsn}");
        loop {
            let mut queue = self.queue.lock();
            if lsn <= self.positions.hardened() {
                return Ok(());
            }
            self.check_alive()?;
            if lsn > self.positions.issued()
                && let Some(role) = queue.lead_inline(|| self.os.clock().monotonic_ns())
            {
                drop(queue);
                os::set_patient(false);
                self.write_inline(role, reason);
                continue;
            }
            let signal = Arc::new(Signal::new());
            let waker = Arc::clone(&signal).into();
            let waiter = Waiter { lsn, reason, waker, is_pending_commit: false, held_back: None };
            os::set_patient(self.enter_queue(queue, waiter));
            let outcome = signal.wait(WaitType::WRITELOG, None);
            assert_eq!(outcome, os::WaitOutcome::Set, "interrupts are masked");
        }
    }

    /// Adds a waiter to the queue and wakes the LOG WRITER if it is to act on that. Returns whether the LOG WRITER leads.
    fn enter_queue(&self, mut queue: LatchGuard<'_, FlushQueue>, mut waiter: Waiter) -> bool {
        assert!(waiter.lsn > self.positions.hardened(), "nobody waits for what is durable");
        if waiter.lsn > self.positions.issued() {
            let mark = queue.in_flight.mark(|| self.os.clock().monotonic_ns());
            waiter.held_back = Some((mark, os::task::session_number()));
        }
        queue.add_waiter(waiter, self.positions.issued());
        let in_crowd = queue.leader == LeaderState::LogWriter;
        let for_writer = in_crowd || self.positions.sealed() > self.positions.issued();
        let mut wakeup = WriterWakeup::None;
        if for_writer {
            wakeup = queue.wake_writer(&[WriterState::Asleep, WriterState::Dozing]);
        }
        if wakeup == WriterWakeup::None && queue.has_gathered() {
            wakeup = queue.wake_writer(&[WriterState::Gathering]);
        }
        drop(queue);
        self.deliver_wakeup(wakeup);
        in_crowd
    }

    /// See `Log::request_delayed_flush`: a delayed commit.
    pub(crate) fn request_delayed_flush(&self, lsn: Lsn) {
        assert!(lsn < self.positions.end(), "want of {lsn}, which was never appended");
        let never = self.options.volatile && !is_planted(Bug::TempdbDrains);
        if never || lsn <= self.positions.issued() {
            return;
        }
        // A record in the buffer is safe and need not drain; an error of the buffer fails the log, which reports it.
        if self.persist(lsn).unwrap_or(true) {
            return;
        }
        self.request_delayed_flush_latched(self.queue.lock(), lsn);
    }

    fn request_delayed_flush_latched(&self, mut queue: LatchGuard<'_, FlushQueue>, lsn: Lsn) {
        if queue.delayed <= self.positions.issued() {
            queue.delayed_since_ns = self.os.clock().monotonic_ns();
        }
        queue.delayed = queue.delayed.max(lsn);
        let policy = self.policy();
        let waits_for_block = policy == DelayedFlushPolicy::BlockFull && !queue.loss.is_bounded();
        if waits_for_block || policy == DelayedFlushPolicy::Suspended {
            return;
        }
        let open_bytes = self.open_bytes.load(Relaxed) as usize;
        let due_now = open_bytes >= policy.due_bytes() || queue.loss.is_half_full();
        let wakeup = queue.wake_writer(if due_now {
            &[WriterState::Asleep, WriterState::Dozing, WriterState::Gathering]
        } else {
            &[WriterState::Asleep]
        });
        drop(queue);
        self.deliver_wakeup(wakeup);
    }

    /// See `Log::delay`: the wait comes before the acknowledgement, so that the bounds hold however slow the device is.
    pub(crate) fn delay(&self, lsn: Lsn, bytes: u64) -> Result<(), LogError> {
        loop {
            // In the persisted buffer it is not at risk.
            if !self.is_to_harden(lsn, LOSS_BOUND)? || self.persist(lsn)? {
                return Ok(());
            }
            self.check_alive()?;
            let mut queue = self.queue.lock();
            if lsn <= self.positions.hardened() {
                return Ok(());
            }
            let Some(obstacle) = queue.loss.obstacle(lsn, bytes, || self.os.clock().monotonic_ns()) else {
                assert!(lsn < self.positions.end(), "{lsn} was appended");
                queue.loss.add(lsn, bytes, || self.os.clock().monotonic_ns());
                if lsn > self.positions.issued() {
                    self.request_delayed_flush_latched(queue, lsn);
                }
                return Ok(());
            };
            drop(queue);
            self.harden(obstacle, LOSS_BOUND)?;
        }
    }

    /// See `Log::harden_within`.
    pub(crate) fn harden_within(
        &self,
        lsn: Lsn,
        reason: FlushReason,
        timeout_ns: Option<u64>,
    ) -> Result<bool, LogError> {
        assert!(lsn.slot() > 0, "{reason:?} waits for record {lsn}");
        self.request_flush(lsn, reason)?;
        if !self.is_to_harden(lsn, reason)? {
            return Ok(true);
        }
        let began_ns = self.os.clock().monotonic_ns();
        let hardened = &self.positions.hardened;
        let waited = match timeout_ns {
            Some(timeout_ns) => hardened.wait_for_timeout(lsn.raw(), WaitType::WRITELOG, timeout_ns),
            None => hardened.wait_for(lsn.raw(), WaitType::WRITELOG),
        };
        self.counters.note_wait(self.os.clock().monotonic_ns() - began_ns);
        match waited {
            Ok(()) => {
                self.assert_hardened(lsn, &Ok(()));
                Ok(true)
            }
            Err(WaitError::TimedOut) => Ok(false),
            Err(WaitError::Interrupted) => Err(LogError::Interrupted),
            Err(WaitError::Poisoned) => {
                self.check_alive()?;
                unreachable!("only a failed log poisons what is hardened")
            }
        }
    }

    /// See `Log::request_flush`.
    pub(crate) fn request_flush(&self, lsn: Lsn, reason: FlushReason) -> Result<(), LogError> {
        if !self.is_to_harden(lsn, reason)? || self.persist_for(lsn, reason)? {
            return Ok(());
        }
        self.check_alive()?;
        let mut queue = self.queue.lock();
        if lsn <= self.positions.issued() {
            return Ok(());
        }
        assert!(lsn.slot() > 0 && lsn < self.positions.end(), "{reason:?} asks for record {lsn}");
        queue.asked = Some(queue.asked.map_or((lsn, reason), |(other, why)| (other.max(lsn), why)));
        let wakeup = queue.wake_writer(&[WriterState::Asleep, WriterState::Dozing, WriterState::Gathering]);
        drop(queue);
        self.deliver_wakeup(wakeup);
        Ok(())
    }

    /// A committer's own write: one block, the open one if no sealed one waits.
    fn write_inline(&self, mut role: WriterRole, reason: FlushReason) {
        let Some(mut block) = self.take_next(Some(reason)) else {
            // Another thread has issued everything since the check.
            self.give_role_back(role, true);
            return;
        };
        self.finish_header(&mut role, &mut block);
        assert!(block.last() <= self.positions.sealed(), "what goes out is sealed");
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
        let persist_error = cache.persist_error.take();
        self.note_sealed(&cache, block.last());
        assert!(block.start > self.positions.issued(), "a block is issued once");
        drop(cache);
        self.note_persist_error(persist_error);
        Some(block)
    }

    /// Moves `sealed` (and `end`, which seal may have moved). Called under the cache latch whenever a block was sealed.
    pub(crate) fn note_sealed(&self, cache: &Cache, last: Lsn) {
        let newest = cache.sealed.back().map_or(last, CachedBlock::last);
        assert!(
            newest <= cache.last && newest < cache.end(),
            "{newest} is sealed, {} is the end",
            cache.end()
        );
        self.positions.end.store(cache.end().raw(), Release);
        self.positions.sealed.fetch_max(newest.raw(), Release);
        self.open_bytes.store(cache.open_bytes() as u32, Relaxed);
    }

    /// Completes header and checksum of a block; done by the holder of the role, since each block names the one before.
    pub(crate) fn finish_header(&self, role: &mut WriterRole, block: &mut CachedBlock) {
        block.state.assert_state(BlockState::Issued);
        assert!(block.padded_bytes.is_multiple_of(SECTOR_BYTES) && block.used_bytes <= block.padded_bytes);
        assert!(!block.offsets.is_empty() && block.reason.is_some(), "a sealed block");
        let within_bytes = u64::from(block.start.block()) * SECTOR_BYTES as u64;
        assert!(block.file_offset > within_bytes, "{} lies in a VLF behind the file's header", block.start);
        // The file position was computed under the cache latch when the block was opened; debug builds check it against the map.
        debug_assert_eq!(
            self.vlfs.lock().offset_of(block.start),
            Some(block.file_offset),
            "block {} goes to its place in a VLF in use",
            block.start
        );
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
        let padding = &block.buffer[header.used_bytes as usize..block.padded_bytes];
        debug_assert!(padding.iter().all(|byte| *byte == 0), "nothing of a former block is written");
        role.last_checksum = header.seal(&mut block.buffer[..block.padded_bytes]);
    }

    /// Registers a block as in flight and gives the role back. Returns the write's number.
    fn issue(&self, role: WriterRole, block: &CachedBlock, inline: bool) -> u64 {
        let mut queue = self.queue.lock();
        let number = self.register(&mut queue, block);
        let wakeup = self.return_role(&mut queue, role);
        assert!(!inline || queue.inline_writes > 0);
        drop(queue);
        self.deliver_wakeup(wakeup);
        number
    }

    /// Registers a block as in flight, keeping the role. Returns the write's number.
    pub(crate) fn issue_holding(&self, block: &CachedBlock) -> u64 {
        self.register(&mut self.queue.lock(), block)
    }

    /// Whether the limits allow one more block in flight.
    pub(crate) fn admits_another(&self) -> bool {
        self.queue.lock().in_flight.admits(BLOCK_BYTES_MAX as u64, || self.os.clock().monotonic_ns())
    }

    fn register(&self, queue: &mut FlushQueue, block: &CachedBlock) -> u64 {
        let last = block.last();
        assert!(queue.role.is_none(), "only the holder of the role issues");
        block.state.assert_state(BlockState::Issued);
        assert!(last > self.positions.issued() && last <= self.positions.sealed());
        self.positions.issued.store(last.raw(), Release);
        queue.note_waiters(last, || self.os.clock().monotonic_ns());
        queue.in_flight.issue(last, block.padded_bytes as u64)
    }

    fn return_role(&self, queue: &mut FlushQueue, role: WriterRole) -> WriterWakeup {
        assert!(queue.role.is_none(), "there is one writer role");
        queue.role = Some(role);
        let led = queue.leader == LeaderState::LogWriter && !queue.waiters.is_empty();
        queue.wake_writer(if led {
            &[WriterState::WantsTurn, WriterState::Asleep, WriterState::Dozing]
        } else {
            &[WriterState::WantsTurn]
        })
    }

    /// Gives the role back without having written.
    pub(crate) fn give_role_back(&self, role: WriterRole, inline: bool) {
        let mut wakers = Vec::new();
        let mut queue = self.queue.lock();
        if inline {
            assert!(queue.inline_writes > 0);
            queue.inline_writes -= 1;
        }
        let wakeup = self.return_role(&mut queue, role);
        self.wake(&mut queue, &mut wakers);
        drop(queue);
        wakers.into_iter().for_each(Waker::wake);
        self.deliver_wakeup(wakeup);
    }

    /// Writes one block to the file.
    pub(crate) fn write_block(&self, block: &CachedBlock) -> Result<(), IoError> {
        block.state.assert_state(BlockState::Issued);
        assert!(block.file_offset.is_multiple_of(SECTOR_BYTES as u64), "a block is written to whole sectors");
        debug_assert!(
            BlockHeader::decode(&block.buffer).is_ok_and(|header| header.start() == block.start),
            "the block that is written names its own place"
        );
        let mode = if self.options.volatile { WriteMode::Cached } else { WriteMode::Durable };
        self.files.blocks(block.file).write_at(&block.buffer[..block.padded_bytes], block.file_offset, mode)
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
                let mut queue = self.queue.lock();
                assert!(queue.inline_writes > 0, "a committer's write that ends has begun");
                queue.inline_writes -= 1;
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
        let mut wakers = Vec::new();
        let mut queue = self.queue.lock();
        if inline {
            assert!(queue.inline_writes > 0);
            queue.inline_writes -= 1;
        }
        assert!(last > self.positions.hardened() && last <= self.positions.issued());
        let (prefix, hardened) = queue.in_flight.complete(number, block, || self.os.clock().monotonic_ns());
        assert!(prefix.is_none_or(|prefix| prefix > self.positions.hardened()), "hardened only goes forward");
        let prefix = if is_planted(Bug::HardenedJumpsOverHole) { Some(last) } else { prefix };
        if let Some(prefix) = prefix {
            self.positions.hardened.advance_to(prefix.raw());
            queue.loss.note_hardened(prefix, || self.os.clock().monotonic_ns());
        }
        self.wake(&mut queue, &mut wakers);
        let wakeup = queue.wake_writer(&[WriterState::WantsTurn]);
        drop(queue);
        wakers.into_iter().for_each(Waker::wake);
        self.deliver_wakeup(wakeup);
        self.recycle(hardened);
        self.positions.assert_order();
    }

    fn wake(&self, queue: &mut FlushQueue, wakers: &mut Vec<Waker>) {
        let now_ns = || self.os.clock().monotonic_ns();
        queue.wake(self.positions.hardened(), self.positions.issued(), now_ns, wakers);
    }

    fn recycle(&self, blocks: HardenedBlocks) {
        if blocks.is_empty() {
            return;
        }
        let hardened = self.positions.hardened();
        assert!(blocks.iter().all(|block| block.last() <= hardened), "what is durable gives its buffer back");
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
        self.harden(last, BACKGROUND)?;
        assert!(self.options.volatile || self.positions.hardened() >= last, "a drained log is durable");
        Ok(())
    }

    /// Notifies the LOG WRITER that a full block waits (or that it should end).
    pub(crate) fn ring_for_sealed(&self) {
        self.wake_writer(&[WriterState::Asleep, WriterState::Dozing, WriterState::Gathering]);
    }
}

/// The planted bug: a commit is acknowledged before it is hardened.
fn acknowledges_early(reason: FlushReason) -> bool {
    matches!(reason, FlushReason::Commit) && is_planted(Bug::AcknowledgeBeforeHarden)
}

/// The reason for which a delayed commit waits; used only here.
const LOSS_BOUND: FlushReason = FlushReason::LossBound;
/// The reason for writing log that no caller waits for; used only here.
pub(crate) const BACKGROUND: FlushReason = FlushReason::Background;
