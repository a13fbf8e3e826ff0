//! What the log counts.

use crate::flush::FlushReason;
use crate::lsn::Lsn;

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
    /// Size of the log file, bytes.
    pub size_bytes: u64,
    /// Of it in use, reservations included.
    pub used_bytes: u64,
    /// Reserved for rollback, bytes.
    pub reserved_bytes: u64,
    /// Times the file grew.
    pub growths_total: u64,
    /// Times truncation freed something.
    pub truncations_total: u64,
    /// VLFs there are.
    pub vlf_count: u64,
    /// Of these active.
    pub active_vlf_count: u64,
    /// Most writes ever in flight at once.
    pub outstanding_ios_high_water: u64,
    /// Most bytes ever in flight at once.
    pub outstanding_bytes_high_water: u64,
    /// Times a block had to wait for the limit of writes in flight.
    pub outstanding_ios_limit_reached_total: u64,
    /// Times a block had to wait for the limit of bytes in flight.
    pub outstanding_bytes_limit_reached_total: u64,
}
