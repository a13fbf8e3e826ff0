//! Per-file I/O statistics, as `sys.dm_io_virtual_file_stats` shows them.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What went through one open file. Stall: time that callers waited for I/O.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileStats {
    /// Reads completed.
    pub reads_total: u64,
    /// Bytes read.
    pub read_bytes_total: u64,
    /// Time in reads.
    pub read_stall_ns_total: u64,
    /// Writes completed (`allocate_zeroed` counts each of its writes).
    pub writes_total: u64,
    /// Bytes written.
    pub write_bytes_total: u64,
    /// Time in writes, durable writes' syncs included.
    pub write_stall_ns_total: u64,
    /// Syncs completed, those of durable writes not included.
    pub syncs_total: u64,
    /// Time in syncs.
    pub sync_stall_ns_total: u64,
}

impl std::ops::Add for FileStats {
    type Output = FileStats;

    /// Of several handles or files together.
    fn add(self, other: FileStats) -> FileStats {
        FileStats {
            reads_total: self.reads_total + other.reads_total,
            read_bytes_total: self.read_bytes_total + other.read_bytes_total,
            read_stall_ns_total: self.read_stall_ns_total + other.read_stall_ns_total,
            writes_total: self.writes_total + other.writes_total,
            write_bytes_total: self.write_bytes_total + other.write_bytes_total,
            write_stall_ns_total: self.write_stall_ns_total + other.write_stall_ns_total,
            syncs_total: self.syncs_total + other.syncs_total,
            sync_stall_ns_total: self.sync_stall_ns_total + other.sync_stall_ns_total,
        }
    }
}

/// Counts for one file.
#[derive(Default)]
pub(crate) struct Meter {
    reads: [AtomicU64; 3],
    writes: [AtomicU64; 3],
    syncs: [AtomicU64; 3],
}

impl Meter {
    pub(crate) fn note_read(&self, bytes: u64, stall_ns: u64) {
        note(&self.reads, bytes, stall_ns);
    }

    pub(crate) fn note_write(&self, bytes: u64, stall_ns: u64) {
        note(&self.writes, bytes, stall_ns);
    }

    pub(crate) fn note_sync(&self, stall_ns: u64) {
        note(&self.syncs, 0, stall_ns);
    }

    pub(crate) fn snapshot(&self) -> FileStats {
        let of = |counts: &[AtomicU64; 3], index: usize| counts[index].load(Relaxed);
        FileStats {
            reads_total: of(&self.reads, 0),
            read_bytes_total: of(&self.reads, 1),
            read_stall_ns_total: of(&self.reads, 2),
            writes_total: of(&self.writes, 0),
            write_bytes_total: of(&self.writes, 1),
            write_stall_ns_total: of(&self.writes, 2),
            syncs_total: of(&self.syncs, 0),
            sync_stall_ns_total: of(&self.syncs, 2),
        }
    }
}

fn note(counts: &[AtomicU64; 3], bytes: u64, stall_ns: u64) {
    counts[0].fetch_add(1, Relaxed);
    counts[1].fetch_add(bytes, Relaxed);
    counts[2].fetch_add(stall_ns, Relaxed);
}
