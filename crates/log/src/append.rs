//! Appending: room in the open block, the next block, the next VLF, file growth, in this order.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, Release};

use os::{LatchGuard, WaitType};

use crate::cache::{Blocked, Cache};
use crate::error::LogError;
use crate::inflight::LimitMark;
use crate::limits::{BLOCK_BYTES_MAX, BLOCK_HEADER_BYTES, RECORD_PAYLOAD_BYTES_MAX};
use crate::record::{Appended, RecordBuf};
use crate::shared::Shared;

/// What pays for the space of an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Payment {
    /// Free space; so many bytes are also reserved for the undo.
    FreeSpace { reserve: u64 },
    /// An earlier reservation, of which so many bytes are used.
    Reservation { paid: u64 },
}

/// The unused end of a VLF, too short for the next record, is at most this part of it: a record of 8 KB in the smallest VLF (248 KB).
const VLF_END_SHARE: u64 = 24;
/// Little of the log is left: less than this part of it, without the space that only rollbacks may use.
const PRESSED_PARTS: u64 = 5;

/// See `Log::reservation_for`. A block is closed for lack of space when more than half of it is used (or by one record that takes more
/// than half), and then costs its header and less than a sector of padding.
pub(crate) fn reservation_for(record_bytes: u64, sector_bytes: usize) -> u64 {
    // A power of two; the compiler counts bits for `is_power_of_two`, and this is called for each record.
    let is_power_of_two = sector_bytes & sector_bytes.wrapping_sub(1) == 0;
    assert!(is_power_of_two && sector_bytes >= crate::limits::SECTOR_BYTES, "{sector_bytes} bytes");
    let block_cost = (BLOCK_HEADER_BYTES + sector_bytes) as u64;
    assert!(block_cost < BLOCK_BYTES_MAX as u64 / 2, "a block is mostly records");
    record_bytes
        + (record_bytes * block_cost).div_ceil(BLOCK_BYTES_MAX as u64 / 2)
        + record_bytes.div_ceil(VLF_END_SHARE)
}

impl Shared {
    /// See `Log::append_reserving` and `Log::append_from_reservation`.
    pub(crate) fn append(
        self: &Arc<Self>,
        record: &RecordBuf,
        payment: Payment,
    ) -> Result<Appended, LogError> {
        let payload_bytes = record.payload().len();
        assert!(payload_bytes <= RECORD_PAYLOAD_BYTES_MAX, "a record of {payload_bytes} bytes");
        self.os.yield_point();
        let mut sealed = false;
        let _mask = matches!(payment, Payment::Reservation { .. }).then(os::task::mask_interrupts);
        let result = self.append_latched(record, payment, &mut sealed);
        if sealed {
            self.ring_for_sealed();
        }
        result
    }

    fn append_latched(
        self: &Arc<Self>,
        record: &RecordBuf,
        payment: Payment,
        sealed: &mut bool,
    ) -> Result<Appended, LogError> {
        let mut cache = self.cache.lock();
        self.check_alive()?;
        let has_room = !cache.closed && cache.fits_open(record) && self.may_take(&cache, record, payment);
        if !has_room {
            cache = self.room_for(cache, record, payment, sealed)?;
        }
        assert!(!cache.closed && cache.fits_open(record), "there is room in the open block");
        let appended = cache.push(record);
        let lsn = appended.lsn;
        let end = cache.end();
        assert!(lsn > self.positions.sealed(), "{lsn} joins a block that is sealed");
        assert!(lsn < end && self.positions.end() <= end, "the end lies behind {lsn} and never goes back");
        match payment {
            Payment::FreeSpace { reserve } => cache.reserved_bytes += reserve,
            Payment::Reservation { paid } => cache.release(paid),
        }
        let promised = cache.reserved_bytes + cache.open_bytes() as u64;
        let is_paid_before = matches!(payment, Payment::Reservation { .. });
        assert!(
            is_paid_before || promised <= cache.space_left_bytes,
            "what is reserved for rollbacks is left"
        );
        self.positions.end.store(end.raw(), Release);
        self.open_bytes.store(cache.open_bytes() as u32, Relaxed);
        Ok(appended)
    }

    /// Is there space for the record that is not reserved for other transactions?
    fn may_take(&self, cache: &Cache, record: &RecordBuf, payment: Payment) -> bool {
        match payment {
            Payment::FreeSpace { reserve } => {
                let need = BLOCK_HEADER_BYTES + record.encoded_bytes_max();
                cache.space_allows(need, reserve, self.margin_bytes())
            }
            Payment::Reservation { .. } => true,
        }
    }

    /// Makes room for the record in the open block: the next block, the next VLF, file growth. Out of line: most records find room.
    #[inline(never)]
    fn room_for<'a>(
        self: &'a Arc<Self>,
        mut cache: LatchGuard<'a, Cache>,
        record: &RecordBuf,
        payment: Payment,
        sealed: &mut bool,
    ) -> Result<LatchGuard<'a, Cache>, LogError> {
        let need = record.encoded_bytes_max();
        loop {
            self.check_alive()?;
            if cache.closed {
                return Err(LogError::Closed);
            }
            if !self.may_take(&cache, record, payment) {
                cache = self.make_space(cache)?;
                continue;
            }
            if cache.fits_open(record) {
                return Ok(cache);
            }
            if cache.open.as_ref().is_some_and(|open| open.offsets.is_empty()) {
                cache.discard_empty();
            } else if cache.open.is_some() {
                let last = cache.seal_full().expect("the open block has records");
                self.note_sealed(&cache, last);
                *sealed = true;
                continue;
            }
            match cache.open_block(need, |end| self.vlfs.lock().advance(end)) {
                Ok(()) => {
                    self.note_pressure(&cache);
                    self.grow_ahead(&mut cache);
                }
                Err(Blocked::NoBuffer) => cache = self.wait_for_buffer(cache)?,
                Err(Blocked::NotZeroed) => cache = self.wait_for_zeros(cache)?,
                Err(Blocked::NoSpace) => cache = self.make_space(cache)?,
            }
        }
    }

    /// Noted with every block, so that the begin of a transaction learns from one flag that little of the log is left.
    fn note_pressure(&self, cache: &Cache) {
        assert!(cache.open.is_some(), "a block has just been begun");
        let total_bytes = self.counters.file_bytes();
        let left_bytes = cache.space_left_bytes.saturating_sub(cache.reserved_bytes + self.margin_bytes());
        if left_bytes * PRESSED_PARTS < total_bytes {
            self.is_pressed.store(true, Relaxed);
        }
    }

    /// LOGBUFFER: all 128 blocks wait for the device.
    fn wait_for_buffer<'a>(
        &'a self,
        mut cache: LatchGuard<'a, Cache>,
    ) -> Result<LatchGuard<'a, Cache>, LogError> {
        assert!(cache.open.is_none(), "who waits for a buffer has no block to join");
        cache.waiting_for_buffer += 1;
        self.ring_for_sealed();
        let mark = self.queue.lock().in_flight.mark(|| self.os.clock().monotonic_ns());
        let (mut cache, outcome) = self.room.wait(cache, WaitType::LOGBUFFER, None);
        self.note_met_since(&mark);
        assert!(cache.waiting_for_buffer > 0);
        cache.waiting_for_buffer -= 1;
        if outcome == os::WaitOutcome::Interrupted { Err(LogError::Interrupted) } else { Ok(cache) }
    }

    /// An append that waited for a buffer was held back by the limits on writes in flight.
    fn note_met_since(&self, mark: &LimitMark) {
        let mut queue = self.queue.lock();
        let met = queue.in_flight.met_since(mark, || self.os.clock().monotonic_ns());
        if !met.is_nothing() {
            queue.note_met(os::task::session_number(), met);
        }
    }

    /// The log has reached the part of the last growth that is still being zeroed.
    fn wait_for_zeros<'a>(&'a self, cache: LatchGuard<'a, Cache>) -> Result<LatchGuard<'a, Cache>, LogError> {
        assert!(cache.zeroing || cache.growing, "somebody zeroes what is not zeroed");
        assert!(cache.open.is_none(), "who waits for zeros has no block to join");
        let (cache, outcome) = self.room.wait(cache, WaitType::LOGMGR_RESERVE_APPEND, None);
        if outcome == os::WaitOutcome::Interrupted { Err(LogError::Interrupted) } else { Ok(cache) }
    }

    /// No VLF is free, or the free space is reserved: the file grows, or the log is full (9002). Waits while
    /// another task grows it.
    fn make_space<'a>(
        self: &'a Arc<Self>,
        mut cache: LatchGuard<'a, Cache>,
    ) -> Result<LatchGuard<'a, Cache>, LogError> {
        self.growth_was_waited_for.store(true, Relaxed);
        if cache.growing {
            let (cache, outcome) = self.room.wait(cache, WaitType::LOGMGR_RESERVE_APPEND, None);
            return if outcome == os::WaitOutcome::Interrupted {
                Err(LogError::Interrupted)
            } else {
                Ok(cache)
            };
        }
        cache.growing = true;
        drop(cache);
        let grown = os::wait_as(WaitType::PREEMPTIVE_OS_WRITEFILEGATHER, || self.grow_by_option());
        let cache = self.growth_is_over();
        match grown {
            Ok(()) => Ok(cache),
            Err(growth) => {
                drop(cache);
                let reuse_wait = self.present_reuse_wait();
                Err(LogError::Full { reuse_wait, growth })
            }
        }
    }
}
