//! Why the log is flushed, and when delayed commits drain.

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
        FlushReason::Commit,
        FlushReason::BlockFull,
        FlushReason::WriteAhead,
        FlushReason::FlushLogProc,
        FlushReason::SequenceCache,
        FlushReason::Background,
        FlushReason::Quiesce,
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
