//! The used part of the log: truncation below the lowest pin, the reason that keeps the rest, and the figures for views.

use std::sync::atomic::Ordering::{AcqRel, Relaxed};

use os::sim::{Bug, is_planted};

use crate::lsn::Lsn;
use crate::shared::Shared;
use crate::stats::LogStats;
use crate::truncate::LogReuseWait;
use crate::vlf::Vlf;

impl Shared {
    /// Frees VLFs below the lowest pin.
    pub(crate) fn truncate(&self) -> Lsn {
        let (min, reason) = match self.pins.min() {
            Some((lsn, reason)) => (lsn, reason),
            None => (self.positions.hardened(), LogReuseWait::Nothing),
        };
        // Log that is not hardened is never freed, whatever the pins say.
        let min = min.min(self.positions.hardened());
        let min = if is_planted(Bug::VlfReusedUnderPin) { self.positions.hardened() } else { min };
        let (freed, reusable) = self.free_below(min);
        self.positions.min.fetch_max(min.raw(), AcqRel);
        let wait = if reusable > 0 { LogReuseWait::Nothing } else { reason };
        self.reuse_wait.store(wait.number(), Relaxed);
        if freed > 0 {
            self.counters.truncations.increment();
            self.counters.own_truncations.fetch_add(1, Relaxed);
            self.room.notify_all();
        }
        self.note_used();
        self.positions.assert_order();
        min
    }

    /// Frees the VLFs wholly below `min`; returns how many, and how many can be used next.
    pub(crate) fn free_below(&self, min: Lsn) -> (u64, u64) {
        let mut cache = self.cache.lock();
        let mut vlfs = self.vlfs.lock();
        assert!(min <= self.positions.hardened(), "what is not durable is never freed");
        let (freed, freed_bytes) = vlfs.truncate(min);
        assert_eq!(freed > 0, freed_bytes > 0, "a VLF has room");
        cache.add_space(freed_bytes);
        cache.zones.forget_below(Lsn::new(vlfs.oldest_active(), 0, 0));
        cache.assert_space(vlfs.reusable().1);
        (freed, vlfs.reusable().0)
    }

    /// The reason why the log cannot be truncated now, for error 9002.
    pub(crate) fn present_reuse_wait(&self) -> LogReuseWait {
        self.pins.min().map_or(LogReuseWait::Nothing, |(_, reason)| reason)
    }

    /// Bytes of log in use: not free, or reserved.
    fn used_bytes(&self) -> u64 {
        let cache = self.cache.lock();
        let vlfs = self.vlfs.lock();
        let total: u64 = vlfs.vlfs().iter().map(Vlf::block_bytes).sum();
        cache.assert_space(vlfs.reusable().1);
        assert!(cache.space_left_bytes <= total, "{} of {total} bytes are left", cache.space_left_bytes);
        let free = cache.space_left_bytes.saturating_sub(cache.open_bytes() as u64 + cache.reserved_bytes);
        total - free.min(total)
    }

    /// Brings the counters of used log up to date.
    pub(crate) fn note_used(&self) {
        self.counters.note_used(self.used_bytes());
    }

    /// The figures for views.
    pub(crate) fn stats(&self) -> LogStats {
        let used_bytes = self.used_bytes();
        let (vlf_count, active_vlf_count, size_bytes) = {
            let vlfs = self.vlfs.lock();
            let active = vlfs.vlfs().iter().filter(|vlf| vlf.active).count();
            (vlfs.vlfs().len() as u64, active as u64, vlfs.size_bytes())
        };
        assert!(
            (1..=vlf_count).contains(&active_vlf_count),
            "{active_vlf_count} of {vlf_count} VLFs are active"
        );
        assert!(used_bytes <= size_bytes, "{used_bytes} of {size_bytes} bytes are used");
        let (records_total, record_bytes_total, reserved_bytes) = {
            let cache = self.cache.lock();
            (cache.records_total, cache.record_bytes_total, cache.reserved_bytes)
        };
        let counters = &self.counters;
        let queue = self.queue.lock();
        let flight = &queue.in_flight;
        LogStats {
            hardened: self.positions.hardened(),
            end: self.positions.end(),
            min: self.positions.min(),
            checkpoint: self.positions.checkpoint(),
            records_total,
            record_bytes_total,
            flushes_total: counters.own_flushes.load(Relaxed),
            flushes_by_reason_total: std::array::from_fn(|index| counters.by_reason[index].load(Relaxed)),
            flushed_bytes_total: counters.own_bytes.load(Relaxed),
            flush_waits_total: counters.own_waits.load(Relaxed),
            flush_wait_ns_total: counters.flush_wait_ns_total.load(Relaxed),
            flush_write_ns_total: counters.flush_write_ns_total.load(Relaxed),
            flush_writes_by_time_total: std::array::from_fn(|class| counters.by_time[class].load(Relaxed)),
            size_bytes,
            used_bytes,
            reserved_bytes,
            growths_total: counters.own_growths.load(Relaxed),
            truncations_total: counters.own_truncations.load(Relaxed),
            vlf_count,
            active_vlf_count,
            outstanding_ios_high_water: flight.ios_high_water,
            outstanding_bytes_high_water: flight.bytes_high_water,
            limits: flight.limits(),
            outstanding_ios: u64::from(flight.outstanding_ios()),
            outstanding_bytes: flight.outstanding_bytes(),
            outstanding_ios_limit_reached_total: flight.ios_limit.times_total,
            outstanding_ios_limit_ns_total: flight.ios_limit.ns_total,
            outstanding_bytes_limit_reached_total: flight.bytes_limit.times_total,
            outstanding_bytes_limit_ns_total: flight.bytes_limit.ns_total,
        }
    }
}
