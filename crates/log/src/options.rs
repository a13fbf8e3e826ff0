//! How a log is to be made or opened.

use std::path::PathBuf;

use os::PersistentVolume;

use crate::cache_folder::CacheFolder;
use crate::flush_reason::DelayedFlushPolicy;
use crate::limits::{LOG_BYTES_DEFAULT, LOG_BYTES_MAX, LOG_GROWTH_BYTES_DEFAULT, LogLimits};
use crate::vlf::VlfRule;

/// By how much a log file grows (FILEGROWTH).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// Not at all.
    None,
    /// By so many bytes.
    Bytes(u64),
    /// By so many hundredths of its size.
    Percent(u32),
}

/// A file of a log besides the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFileOptions {
    /// Its number, above that of the first ([`crate::FIRST_LOG_FILE`]).
    pub number: u16,
    /// Where it is.
    pub path: PathBuf,
    /// Its size when it is made; as [`LogOptions::size_bytes`].
    pub size_bytes: u64,
    /// FILEGROWTH.
    pub growth: Growth,
    /// MAXSIZE in bytes.
    pub bytes_max: u64,
}

/// Everything that shapes a log. Start from [`LogOptions::new`] and change what differs.
#[derive(Clone, Debug)]
pub struct LogOptions {
    /// The log file, or the first of them.
    pub path: PathBuf,
    /// Database name: the counters' instance and part of thread names.
    pub database: String,
    /// Size of a new log in bytes; rounded up to 64 KB, at least 512 KB. Not used at open.
    pub size_bytes: u64,
    /// FILEGROWTH.
    pub growth: Growth,
    /// MAXSIZE in bytes.
    pub bytes_max: u64,
    /// Further files, in the order of their numbers.
    pub more_files: Vec<LogFileOptions>,
    /// How many VLFs growth makes.
    pub vlf_rule: VlfRule,
    /// Sequence number of the first VLF of a new log (model's last + 1; at least 1).
    pub first_vlf: u32,
    /// How much may be in flight.
    pub limits: LogLimits,
    /// When delayed commits drain.
    pub delayed_flush: DelayedFlushPolicy,
    /// tempdb: made anew at each start, never recovered; no commit flushes, only full blocks are written, without
    /// durability or checksums.
    pub volatile: bool,
    /// Blocks are padded to so many bytes, or to the device's sector if that is larger: 512 or 4096 (trace flag 1800).
    pub padding_bytes: usize,
    /// The folder, in an in-memory file system, of a cache that outlives the process; none: the cache dies with it. Not for a volatile log.
    pub surviving_folder: Option<CacheFolder>,
    /// A cache that a dead process left there is taken over, but this log makes no cache there.
    pub surviving_is_only_taken: bool,
    /// The location of the persisted log buffer of an opened log; none: it has none.
    pub persisted: Option<PersistedOptions>,
    /// Whether a VLF is prepared ahead in the background when the log is nearly used up.
    pub grow_ahead: bool,
}

impl LogOptions {
    /// Places in the LOG WRITER's queue: for the most that any limits allow, since limits may change while it runs.
    pub(crate) fn queue_places(&self) -> u32 {
        self.limits.outstanding_ios_max.max(LogLimits::sql2012().outstanding_ios_max)
    }

    /// A durable log of default size and growth.
    pub fn new(path: impl Into<PathBuf>, database: impl Into<String>) -> LogOptions {
        LogOptions {
            path: path.into(),
            database: database.into(),
            size_bytes: LOG_BYTES_DEFAULT,
            growth: Growth::Bytes(LOG_GROWTH_BYTES_DEFAULT),
            bytes_max: LOG_BYTES_MAX,
            more_files: Vec::new(),
            vlf_rule: VlfRule::default(),
            first_vlf: 1,
            limits: LogLimits::default(),
            delayed_flush: DelayedFlushPolicy::Eager,
            volatile: false,
            padding_bytes: crate::limits::SECTOR_BYTES,
            surviving_folder: None,
            surviving_is_only_taken: false,
            persisted: None,
            grow_ahead: true,
        }
    }
}

/// The location of the persisted log buffer of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersistedOptions {
    /// Its file.
    pub path: PathBuf,
    /// The kind of volume that it may be on.
    pub volume: PersistentVolume,
}
