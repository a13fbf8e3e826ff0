//! The reasons for flushing the log, and when delayed commits are written.

/// Why a piece of log must become durable. Each reason has exactly one call site in the workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FlushReason {
    /// A fully durable transaction commits (txn, commit.rs). Claim 11.
    Commit,
    /// A transaction over several databases is prepared in one of them (txn, prepare.rs).
    Prepare,
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
    /// A delayed commit waits because more would be at risk than MAX_DELAY or MAX_LOSS allow (loss_window.rs).
    LossBound,
    /// A session waits for the commit of a ticket (engine, ticket.rs).
    Ticket,
    /// A response reports commits under COMMIT_ACK = BATCH (engine, acknowledgement.rs).
    Acknowledge,
    /// A block is taken from the cache of a process that died, when the log is opened (surviving.rs).
    TakeOver,
    /// The persisted log buffer is switched on or off: the file gets the records that only the buffer or the cache has (persist.rs).
    BufferSwitch,
}

impl FlushReason {
    /// Every reason.
    pub const ALL: [FlushReason; 13] = [
        Self::Commit,
        Self::Prepare,
        Self::BlockFull,
        Self::WriteAhead,
        Self::FlushLogProc,
        Self::SequenceCache,
        Self::Background,
        Self::Quiesce,
        Self::LossBound,
        Self::Ticket,
        Self::Acknowledge,
        Self::TakeOver,
        Self::BufferSwitch,
    ];

    /// Whether the log's file must have the record, even where a persisted log buffer keeps it safe.
    pub(crate) const fn is_for_file(self) -> bool {
        match self {
            Self::FlushLogProc
            | Self::Background
            | Self::Quiesce
            | Self::BlockFull
            | Self::TakeOver
            | Self::BufferSwitch => true,
            Self::Commit
            | Self::Prepare
            | Self::WriteAhead
            | Self::SequenceCache
            | Self::LossBound
            | Self::Ticket
            | Self::Acknowledge => false,
        }
    }

    /// Index into per-reason counts.
    pub const fn index(self) -> usize {
        self as usize
    }
}

const _: () = {
    let mut at = 0;
    while at < FlushReason::ALL.len() {
        assert!(FlushReason::ALL[at] as usize == at, "each reason stands at its own place in counts");
        at += 1;
    }
};

/// The number of `Suspended`: above those of all intervals.
const RAW_SUSPENDED: u64 = 1 << 40;

/// When log that no caller waits for is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelayedFlushPolicy {
    /// As soon as the device is free and there are at least 4 KB of it or it is 1 ms old. The default.
    Eager,
    /// So many milliseconds after it appeared.
    Timed(u32),
    /// Only when its block is full (or flushed for another reason). Used by tempdb.
    BlockFull,
    /// Only when its block is full, whatever the bounds say, so that nothing drains by itself: for tests.
    Suspended,
}

impl DelayedFlushPolicy {
    /// EAGER, TIMED, BLOCK_FULL or SUSPENDED.
    pub fn word(self) -> &'static str {
        match self {
            DelayedFlushPolicy::Eager => "EAGER",
            DelayedFlushPolicy::Timed(_) => "TIMED",
            DelayedFlushPolicy::BlockFull => "BLOCK_FULL",
            DelayedFlushPolicy::Suspended => "SUSPENDED",
        }
    }

    /// As one number, for an atomic and for storing.
    pub fn to_raw(self) -> u64 {
        let raw = match self {
            DelayedFlushPolicy::Eager => 0,
            DelayedFlushPolicy::BlockFull => 1,
            DelayedFlushPolicy::Timed(ms) => 2 + u64::from(ms),
            DelayedFlushPolicy::Suspended => RAW_SUSPENDED,
        };
        assert_eq!(DelayedFlushPolicy::from_raw(raw), self, "what is stored can be read back");
        raw
    }

    /// From that number.
    pub fn from_raw(raw: u64) -> DelayedFlushPolicy {
        match raw {
            0 => DelayedFlushPolicy::Eager,
            1 => DelayedFlushPolicy::BlockFull,
            RAW_SUSPENDED => DelayedFlushPolicy::Suspended,
            ms => DelayedFlushPolicy::Timed((ms - 2) as u32),
        }
    }

    /// The age, in ns, at which wanted log is due; `None`: age alone never makes it due.
    pub(crate) fn due_age_ns(self) -> Option<u64> {
        match self {
            DelayedFlushPolicy::Eager => Some(EAGER_AGE_NS),
            DelayedFlushPolicy::Timed(ms) => Some(u64::from(ms) * 1_000_000),
            DelayedFlushPolicy::BlockFull | DelayedFlushPolicy::Suspended => None,
        }
    }

    /// The size, in bytes, at which wanted log is due whatever its age.
    pub(crate) fn due_bytes(self) -> usize {
        match self {
            DelayedFlushPolicy::Eager => EAGER_BYTES,
            DelayedFlushPolicy::Timed(_) | DelayedFlushPolicy::BlockFull | DelayedFlushPolicy::Suspended => {
                usize::MAX
            }
        }
    }
}

/// An idle device takes delayed work from this size on ...
const EAGER_BYTES: usize = 4096;
/// ... or this age. Bounds the loss of an idle system and the flushes of a slow one (1,000 a second).
const EAGER_AGE_NS: u64 = 1_000_000;
