//! Appending: room in the open block, the next block, the next VLF, more file, in this order.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, Release};

use os::{LatchGuard, WaitType};

use crate::cache::{Blocked, Cache};
use crate::error::LogError;
use crate::limits::{BLOCK_BYTES_MAX, BLOCK_HEADER_BYTES, RECORD_PAYLOAD_BYTES_MAX};
use crate::lsn::Lsn;
use crate::options::Growth;
use crate::record::RecordBuf;
use crate::shared::Shared;

/// Log grows by at least this many bytes.
const GROWTH_BYTES_MIN: u64 = 256 * 1024;

/// Who pays for an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Payment {
    /// Free space, and so many bytes are to be promised to the undo.
    FreeSpace { reserve: u64 },
    /// A promise made earlier, of which so many bytes are redeemed.
    Reservation { paid: u64 },
}

/// Parts of a VLF's blocks that one end of it too short for the next record may take: a record of 8 KB in the least VLF (248 KB), and less.
const VLF_END_SHARE: u64 = 24;

/// See `Log::reservation_for`. A block is closed for want of room when more than half of it is used (or by one record that takes more
/// than half), and then costs its header and less than a sector of padding.
pub(crate) fn reservation_for(record_bytes: u64, sector_bytes: usize) -> u64 {
    assert!(
        sector_bytes.is_power_of_two() && sector_bytes >= crate::limits::SECTOR_BYTES,
        "{sector_bytes} bytes"
    );
    let block_cost = (BLOCK_HEADER_BYTES + sector_bytes) as u64;
    assert!(block_cost < BLOCK_BYTES_MAX as u64 / 2, "a block is mostly records");
    record_bytes
        + (record_bytes * block_cost).div_ceil(BLOCK_BYTES_MAX as u64 / 2)
        + record_bytes.div_ceil(VLF_END_SHARE)
}

impl Shared {
    /// See `Log::append_reserving` and `Log::append_from_reservation`.
    pub(crate) fn append(self: &Arc<Self>, record: &RecordBuf, payment: Payment) -> Result<Lsn, LogError> {
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
    ) -> Result<Lsn, LogError> {
        let need = record.encoded_bytes_max();
        let mut cache = self.cache.lock();
        loop {
            self.check_alive()?;
            if cache.closed {
                return Err(LogError::Closed);
            }
            if let Payment::FreeSpace { reserve } = payment
                && !cache.space_allows(BLOCK_HEADER_BYTES + need, reserve, self.margin_bytes())
            {
                cache = self.make_space(cache)?;
                continue;
            }
            if cache.fits_open(record) {
                break;
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
                Ok(()) => self.grow_ahead(&mut cache),
                Err(Blocked::NoBuffer) => cache = self.wait_for_buffer(cache)?,
                Err(Blocked::NoSpace) => cache = self.make_space(cache)?,
            }
        }
        let lsn = cache.push(record);
        let end = cache.end();
        assert!(lsn > self.positions.sealed(), "{lsn} joins a block that is sealed");
        assert!(lsn < end && self.positions.end() <= end, "the end lies behind {lsn} and never goes back");
        match payment {
            Payment::FreeSpace { reserve } => cache.reserved_bytes += reserve,
            Payment::Reservation { paid } => cache.release(paid),
        }
        self.positions.end.store(end.raw(), Release);
        self.open_bytes.store(cache.open_bytes() as u32, Relaxed);
        Ok(lsn)
    }

    /// LOGBUFFER: all 128 blocks wait for the device.
    fn wait_for_buffer<'a>(
        &'a self,
        mut cache: LatchGuard<'a, Cache>,
    ) -> Result<LatchGuard<'a, Cache>, LogError> {
        assert!(cache.open.is_none(), "who waits for a buffer has no block to join");
        cache.waiting_for_buffer += 1;
        self.ring_for_sealed();
        let (mut cache, outcome) = self.room.wait(cache, WaitType::LOGBUFFER, None);
        assert!(cache.waiting_for_buffer > 0);
        cache.waiting_for_buffer -= 1;
        if outcome == os::WaitOutcome::Interrupted { Err(LogError::Interrupted) } else { Ok(cache) }
    }

    /// No VLF is free, or what is free has been promised: the file grows, or the log is full (9002). Waits while
    /// somebody else makes it grow.
    fn make_space<'a>(
        self: &'a Arc<Self>,
        mut cache: LatchGuard<'a, Cache>,
    ) -> Result<LatchGuard<'a, Cache>, LogError> {
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
        let grown = os::task::wait_as(WaitType::PREEMPTIVE_OS_WRITEFILEGATHER, || self.grow_by_option());
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

    pub(crate) fn growth_is_over(&self) -> LatchGuard<'_, Cache> {
        let mut cache = self.cache.lock();
        assert!(cache.growing);
        cache.growing = false;
        drop(cache);
        self.room.notify_all();
        self.cache.lock()
    }

    /// Makes the file larger by its growth option. The caller has set `growing`. Errors with the reason, if there is one
    /// besides the options.
    fn grow_by_option(&self) -> Result<(), Option<Arc<os::IoError>>> {
        let present = self.vlfs.lock().end_offset();
        let (growth, bytes_max) = *self.growth.lock();
        let step = match growth {
            Growth::None => return Err(None),
            Growth::Bytes(bytes) => bytes,
            Growth::Percent(percent) => present / 100 * u64::from(percent),
        };
        let step = step.max(GROWTH_BYTES_MIN).next_multiple_of(64 * 1024);
        let step = step.min(bytes_max.saturating_sub(present) / (64 * 1024) * (64 * 1024));
        if step < GROWTH_BYTES_MIN {
            return Err(None);
        }
        assert!(present + step <= bytes_max, "a log grows to its MAXSIZE at most");
        self.grow_by(step).map_err(|error| match error {
            LogError::Io(error) => Some(error),
            _ => None,
        })
    }

    /// Adds `bytes` of log: zeroed, described, durable; only then usable. The caller has set `growing`.
    pub(crate) fn grow_by(&self, bytes: u64) -> Result<(), LogError> {
        let present = self.vlfs.lock().end_offset();
        let layout = self.vlf_rule().layout(present, bytes);
        let create_lsn = self.positions.end();
        assert!(!layout.is_empty());
        assert!(
            layout.first().is_some_and(|vlf| vlf.0 == present),
            "what is added begins where the log ended"
        );
        assert!(self.cache.lock().growing, "one grows a log at a time");
        let grown = self.log_file.grow(&layout, create_lsn);
        if let Err(LogError::Io(error)) = &grown
            && !self.growth_failed.swap(true, Relaxed)
        {
            // A matter of the machine, whatever statements meet it: its log says so, once until it succeeds.
            let file = self.options.path.display();
            os::report::error("log", &format!("log file {file} cannot grow by {bytes} bytes: {error}"));
        }
        let headers = grown?;
        self.growth_failed.store(false, Relaxed);
        assert_eq!(headers.len(), layout.len());
        let block_bytes = layout.iter().map(|vlf| vlf.1 - crate::limits::VLF_HEADER_BYTES).sum();
        let mut cache = self.cache.lock();
        let mut vlfs = self.vlfs.lock();
        vlfs.add(&headers);
        cache.add_space(block_bytes);
        cache.assert_space(vlfs.reusable().1);
        assert_eq!(vlfs.end_offset(), present + bytes, "what was added is there");
        drop(vlfs);
        drop(cache);
        self.counters.file_size_kb.set(((present + bytes) / 1024) as i64);
        self.counters.growths.increment();
        self.counters.own_growths.fetch_add(1, Relaxed);
        Ok(())
    }

    /// Starts growth in the background when a block was opened in the last usable VLF and the log is at least three
    /// quarters used, so that nobody has to wait for it later.
    fn grow_ahead(self: &Arc<Self>, cache: &mut Cache) {
        let wanted = self.options.grow_ahead && !cache.growing && self.growth.lock().0 != Growth::None;
        let total_bytes = self.counters.file_size_kb.get() as u64 * 1024;
        if !wanted || cache.space_left_bytes > total_bytes / 4 || self.vlfs.lock().reusable().0 > 0 {
            return;
        }
        cache.growing = true;
        let shared = Arc::clone(self);
        let body = move || {
            // A failure is not told to anybody: whoever needs the space tries again and gets the error.
            let _ = shared.grow_by_option();
            drop(shared.growth_is_over());
        };
        let name = os::SpawnOptions::named("LOG GROWTH");
        if self.os.try_spawn(&name, body).is_err() {
            cache.growing = false;
        }
    }
}
