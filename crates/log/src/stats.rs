//! The counters of the log.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use os::{Counter, Os};

use crate::flush_reason::FlushReason;
use crate::limits::LogLimits;
use crate::lsn::Lsn;

/// Classes of log writes by their time: the last begins with 4 s.
pub const WRITE_TIMES: usize = 24;

/// The class of a write's duration; see [`LogStats::flush_writes_by_time_total`].
fn class_of_write(write_ns: u64) -> usize {
    let class = (u64::BITS - (write_ns / 1_000).leading_zeros()) as usize;
    class.min(WRITE_TIMES - 1)
}

/// A snapshot of a log's figures, for sys.dm_db_log_stats and friends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct LogStats {
    /// Next address to be given out.
    pub end: Lsn,
    /// Newest durable record.
    pub hardened: Lsn,
    /// Oldest record that is needed, as of the last truncation.
    pub min: Lsn,
    /// Begin of the last completed checkpoint.
    pub checkpoint: Lsn,
    /// Records appended.
    pub records_total: u64,
    /// Bytes of records appended, without padding and block headers.
    pub record_bytes_total: u64,
    /// Blocks written ('Log Flushes/sec').
    pub flushes_total: u64,
    /// Of these, by the reason that caused each (index: [`FlushReason::index`]).
    pub flushes_by_reason_total: [u64; FlushReason::ALL.len()],
    /// Bytes written, padding included ('Log Bytes Flushed/sec').
    pub flushed_bytes_total: u64,
    /// Waits for a flush ('Log Flush Waits/sec').
    pub flush_waits_total: u64,
    /// Time of these waits, ns.
    pub flush_wait_ns_total: u64,
    /// Time spent in log writes, ns.
    pub flush_write_ns_total: u64,
    /// Log writes by how long they took: at index `i` those below `2^i` microseconds and not below half of that; at the last all others.
    pub flush_writes_by_time_total: [u64; WRITE_TIMES],
    /// Size of the log file, bytes.
    pub size_bytes: u64,
    /// Bytes in use, reservations included.
    pub used_bytes: u64,
    /// Reserved for rollback, bytes.
    pub reserved_bytes: u64,
    /// Times the file grew.
    pub growths_total: u64,
    /// Times truncation freed something.
    pub truncations_total: u64,
    /// Number of VLFs.
    pub vlf_count: u64,
    /// Number of active VLFs.
    pub active_vlf_count: u64,
    /// Most writes ever in flight at once.
    pub outstanding_ios_high_water: u64,
    /// Most bytes ever in flight at once.
    pub outstanding_bytes_high_water: u64,
    /// The limits in force.
    pub limits: LogLimits,
    /// Writes in flight now.
    pub outstanding_ios: u64,
    /// Bytes in flight now.
    pub outstanding_bytes: u64,
    /// Times a block had to wait for the limit of writes in flight.
    pub outstanding_ios_limit_reached_total: u64,
    /// How long blocks waited for it, in nanoseconds.
    pub outstanding_ios_limit_ns_total: u64,
    /// Times a block had to wait for the limit of bytes in flight.
    pub outstanding_bytes_limit_reached_total: u64,
    /// How long blocks waited for it, in nanoseconds.
    pub outstanding_bytes_limit_ns_total: u64,
}

/// How often and how long the limits of writes in flight held back the writes that one session waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionLimits {
    /// [`os::SessionWaits::number`]; none: the server's own work, and sessions that ended long ago.
    pub session: Option<u64>,
    /// How often because of the limit of writes.
    pub ios_total: u64,
    /// How long, ns.
    pub ios_ns_total: u64,
    /// How often because of the limit of bytes.
    pub bytes_total: u64,
    /// How long, ns.
    pub bytes_ns_total: u64,
}

/// The log's counters of object `SQLServer:Databases`, instance = database name (reference 8.3).
pub(crate) struct Counters {
    pub(crate) flushes: Arc<Counter>,
    pub(crate) bytes_flushed: Arc<Counter>,
    pub(crate) flush_waits: Arc<Counter>,
    flush_wait_ms: Arc<Counter>,
    flush_write_ms: Arc<Counter>,
    pub(crate) growths: Arc<Counter>,
    pub(crate) shrinks: Arc<Counter>,
    pub(crate) truncations: Arc<Counter>,
    file_size_kb: Arc<Counter>,
    /// The file size again: each append reads it, and a counter's value is a sum of many cells.
    file_bytes: AtomicU64,
    pub(crate) file_used_kb: Arc<Counter>,
    pub(crate) percent_used: Arc<Counter>,
    pub(crate) cache_reads: Arc<Counter>,
    pub(crate) cache_hits: Arc<Counter>,
    pub(crate) cache_lookups: Arc<Counter>,
    pub(crate) flush_wait_ns_total: AtomicU64,
    pub(crate) flush_write_ns_total: AtomicU64,
    pub(crate) by_reason: [AtomicU64; FlushReason::ALL.len()],
    pub(crate) by_time: [AtomicU64; WRITE_TIMES],
    // This log's own share: the registry's counters survive a database of the same name.
    pub(crate) own_flushes: AtomicU64,
    pub(crate) own_bytes: AtomicU64,
    pub(crate) own_waits: AtomicU64,
    pub(crate) own_growths: AtomicU64,
    pub(crate) own_truncations: AtomicU64,
    pub(crate) own_persists: AtomicU64,
}

/// The object that all counters of databases belong to.
const DATABASES: &str = "SQLServer:Databases";

impl Counters {
    pub(crate) fn new(os: &Os, database: &str) -> Counters {
        let counter = |name: &str| os.counters().counter(DATABASES, name, database);
        Counters {
            flushes: counter("Log Flushes/sec"),
            bytes_flushed: counter("Log Bytes Flushed/sec"),
            flush_waits: counter("Log Flush Waits/sec"),
            flush_wait_ms: counter("Log Flush Wait Time"),
            flush_write_ms: counter("Log Flush Write Time (ms)"),
            growths: counter("Log Growths"),
            shrinks: counter("Log Shrinks"),
            truncations: counter("Log Truncations"),
            file_size_kb: counter("Log File(s) Size (KB)"),
            file_bytes: AtomicU64::new(0),
            file_used_kb: counter("Log File(s) Used Size (KB)"),
            percent_used: counter("Percent Log Used"),
            cache_reads: counter("Log Cache Reads/sec"),
            cache_hits: counter("Log Cache Hit Ratio"),
            cache_lookups: counter("Log Cache Hit Ratio Base"),
            flush_wait_ns_total: AtomicU64::new(0),
            flush_write_ns_total: AtomicU64::new(0),
            by_reason: Default::default(),
            by_time: Default::default(),
            own_flushes: AtomicU64::new(0),
            own_bytes: AtomicU64::new(0),
            own_waits: AtomicU64::new(0),
            own_growths: AtomicU64::new(0),
            own_truncations: AtomicU64::new(0),
            own_persists: AtomicU64::new(0),
        }
    }

    /// One block was written.
    pub(crate) fn note_flush(&self, reason: FlushReason, bytes: u64, write_ns: u64) {
        assert!(
            bytes > 0 && bytes.is_multiple_of(crate::limits::SECTOR_BYTES as u64),
            "blocks are whole sectors"
        );
        self.flushes.increment();
        self.bytes_flushed.add(bytes as i64);
        self.own_flushes.fetch_add(1, Relaxed);
        self.own_bytes.fetch_add(bytes, Relaxed);
        self.by_reason[reason.index()].fetch_add(1, Relaxed);
        self.by_time[class_of_write(write_ns)].fetch_add(1, Relaxed);
        let total_ns = self.flush_write_ns_total.fetch_add(write_ns, Relaxed) + write_ns;
        self.flush_write_ms.set((total_ns / 1_000_000) as i64);
    }

    /// Counts a wait for a flush.
    pub(crate) fn note_wait(&self, wait_ns: u64) {
        self.flush_waits.increment();
        self.own_waits.fetch_add(1, Relaxed);
        let total_ns = self.flush_wait_ns_total.fetch_add(wait_ns, Relaxed) + wait_ns;
        self.flush_wait_ms.set((total_ns / 1_000_000) as i64);
    }

    /// The log's files have this size together.
    pub(crate) fn set_file_bytes(&self, bytes: u64) {
        assert!(bytes > 0, "a log has a file");
        assert!(bytes <= i64::MAX as u64, "a size that a counter can show");
        self.file_size_kb.set((bytes / 1024) as i64);
        self.file_bytes.store(bytes, Relaxed);
    }

    /// The size of the log's files together.
    #[inline]
    pub(crate) fn file_bytes(&self) -> u64 {
        self.file_bytes.load(Relaxed)
    }

    /// How much of the file is in use.
    pub(crate) fn note_used(&self, used_bytes: u64) {
        let size_kb = (self.file_bytes() / 1024).max(1) as i64;
        let used_kb = (used_bytes / 1024) as i64;
        self.file_used_kb.set(used_kb);
        self.percent_used.set((used_kb * 100 / size_kb).min(100));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_are_counted_by_powers_of_two_of_a_microsecond() {
        let classes =
            [(0, 0), (999, 0), (1_000, 1), (1_999, 1), (2_000, 2), (8_191_999, 13), (8_192_000, 14)];
        for (write_ns, class) in classes {
            assert_eq!(class_of_write(write_ns), class, "{write_ns} ns");
        }
        assert_eq!(class_of_write(u64::MAX), WRITE_TIMES - 1);
    }
}
