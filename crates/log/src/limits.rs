//! The sizes and limits of the log, related to each other by compile-time assertions.

/// The unit of log addresses and the smallest block, in bytes (claim 10).
pub const SECTOR_BYTES: usize = 512;
/// The largest block, in bytes: 60 KB (claim 10).
pub const BLOCK_BYTES_MAX: usize = 61_440;
/// Bytes of a block header.
pub const BLOCK_HEADER_BYTES: usize = 64;
/// Size of a persisted log buffer, always.
pub const PERSISTED_BUFFER_BYTES: usize = 20 << 20;
/// Most blocks a log cache holds, open one included (reference 1.1: 128 buffers of 60 KB, 7.5 MB).
pub const CACHE_BLOCKS_MAX: usize = 128;
/// Free buffers kept for reuse; more go back to the system, since an instance has hundreds of logs.
pub const FREE_BUFFERS_MAX: usize = 4;
/// Most records of a block: one less than slots can number, so that "the next slot" always has an address.
pub const SLOTS_PER_BLOCK_MAX: usize = crate::lsn::SLOT_MAX as usize - 1;
/// Most bytes of one record's payload.
pub const RECORD_PAYLOAD_BYTES_MAX: usize = 60_000;
/// Upper bound of an encoded record header in bytes (see record.rs).
pub const RECORD_HEADER_BYTES_MAX: usize = 48;
/// The header page at the start of a log file, in bytes.
pub const FILE_HEADER_BYTES: u64 = 8_192;
/// The header at the start of each VLF, in bytes: the first block of a VLF is sector 16.
pub const VLF_HEADER_BYTES: u64 = 8_192;
/// First sector of a VLF that holds a block.
pub const FIRST_BLOCK_SECTOR: u32 = (VLF_HEADER_BYTES / SECTOR_BYTES as u64) as u32;
/// The smallest VLF, in bytes.
pub const VLF_BYTES_MIN: u64 = 128 * 1024;
/// Below this many bytes a log cannot be created (reference 1.1: minimum 512 KB).
pub const LOG_BYTES_MIN: u64 = 512 * 1024;
/// Default size of a new log file, in bytes (reference 1.1: 8 MB from 2016).
pub const LOG_BYTES_DEFAULT: u64 = 8 * 1024 * 1024;
/// Default growth step of a log file, in bytes (reference 1.1: 64 MB from 2016).
pub const LOG_GROWTH_BYTES_DEFAULT: u64 = 64 * 1024 * 1024;
/// Most bytes of a log file: 2 TB (reference 1.1).
pub const LOG_BYTES_MAX: u64 = 2 * 1024 * 1024 * 1024 * 1024;

const _: () = assert!(BLOCK_BYTES_MAX.is_multiple_of(4096), "a 60 KB block suits devices of 4 KB sectors");
const _: () = assert!(BLOCK_BYTES_MAX <= u16::MAX as usize, "record offsets in a block fit u16");
const _: () =
    assert!(RECORD_PAYLOAD_BYTES_MAX + RECORD_HEADER_BYTES_MAX + BLOCK_HEADER_BYTES <= BLOCK_BYTES_MAX);
const _: () = assert!(VLF_HEADER_BYTES == FIRST_BLOCK_SECTOR as u64 * SECTOR_BYTES as u64);
const _: () = assert!(VLF_BYTES_MIN >= VLF_HEADER_BYTES + BLOCK_BYTES_MAX as u64);
const _: () = assert!(LOG_BYTES_MIN >= FILE_HEADER_BYTES + 2 * VLF_BYTES_MIN, "a log goes on in another VLF");
const _: () = assert!(LOG_BYTES_DEFAULT >= LOG_BYTES_MIN && LOG_BYTES_MAX >= LOG_BYTES_DEFAULT);
const _: () = assert!(
    FIRST_BLOCK_SECTOR as u64 * SECTOR_BYTES as u64 == FILE_HEADER_BYTES,
    "both headers are one page"
);

/// How much the log may have in flight: writes issued and not yet confirmed (claims of seed 002; reference 1.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogLimits {
    /// Most writes in flight.
    pub outstanding_ios_max: u32,
    /// Most bytes in flight.
    pub outstanding_bytes_max: u64,
}

impl LogLimits {
    /// SQL Server 2008, 64-bit: 32 writes, 3,840 KB.
    pub const fn sql2008() -> LogLimits {
        LogLimits { outstanding_ios_max: 32, outstanding_bytes_max: 3_840 * 1024 }
    }

    /// SQL Server 2005 SP1: 8 writes (32-bit), 480 KB.
    pub const fn sql2005() -> LogLimits {
        LogLimits { outstanding_ios_max: 8, outstanding_bytes_max: 480 * 1024 }
    }

    /// SQL Server 2012 and later: 112 writes, 3,840 KB. The default.
    pub const fn sql2012() -> LogLimits {
        LogLimits { outstanding_ios_max: 112, outstanding_bytes_max: 3_840 * 1024 }
    }
}

impl Default for LogLimits {
    fn default() -> LogLimits {
        LogLimits::sql2012()
    }
}

const _: () =
    assert!(LogLimits::sql2012().outstanding_ios_max as usize <= CACHE_BLOCKS_MAX, "each needs a buffer");

/// The limits of a release, by the word of `ALTER DATABASE ... SET LOG_LIMITS`; the numbers are kept with the database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum LogLimitsProfile {
    /// 2012 and later: 112 writes, 3,840 KB.
    #[default]
    Sql2012 = 0,
    /// Before 2005 SP1: 8 writes, however large.
    Sql2000 = 1,
    /// 2005 SP1, 32-bit: 8 writes, 480 KB.
    Sql2005X86 = 2,
    /// 2005 SP1, 64-bit: 32 writes, 480 KB.
    Sql2005X64 = 3,
    /// 2008, 32-bit: 8 writes, 3,840 KB.
    Sql2008X86 = 4,
    /// 2008, 64-bit: 32 writes, 3,840 KB.
    Sql2008X64 = 5,
}

impl LogLimitsProfile {
    /// All, in the order of their numbers.
    pub const ALL: [LogLimitsProfile; 6] = [
        LogLimitsProfile::Sql2012,
        LogLimitsProfile::Sql2000,
        LogLimitsProfile::Sql2005X86,
        LogLimitsProfile::Sql2005X64,
        LogLimitsProfile::Sql2008X86,
        LogLimitsProfile::Sql2008X64,
    ];

    /// The word of LOG_LIMITS.
    pub const fn word(self) -> &'static str {
        match self {
            LogLimitsProfile::Sql2012 => "SQL2012",
            LogLimitsProfile::Sql2000 => "SQL2000",
            LogLimitsProfile::Sql2005X86 => "SQL2005_X86",
            LogLimitsProfile::Sql2005X64 => "SQL2005_X64",
            LogLimitsProfile::Sql2008X86 => "SQL2008_X86",
            LogLimitsProfile::Sql2008X64 => "SQL2008_X64",
        }
    }

    /// By its word, in any case.
    pub fn from_word(word: &str) -> Option<LogLimitsProfile> {
        LogLimitsProfile::ALL.into_iter().find(|profile| profile.word().eq_ignore_ascii_case(word))
    }

    /// By its number.
    pub fn from_number(number: u8) -> Option<LogLimitsProfile> {
        LogLimitsProfile::ALL.get(usize::from(number)).copied()
    }

    /// What it allows.
    pub const fn limits(self) -> LogLimits {
        let (outstanding_ios_max, outstanding_bytes_max) = match self {
            LogLimitsProfile::Sql2012 => return LogLimits::sql2012(),
            LogLimitsProfile::Sql2008X64 => return LogLimits::sql2008(),
            LogLimitsProfile::Sql2005X86 => return LogLimits::sql2005(),
            LogLimitsProfile::Sql2000 => (8, u64::MAX),
            LogLimitsProfile::Sql2005X64 => (32, 480 * 1024),
            LogLimitsProfile::Sql2008X86 => (8, 3_840 * 1024),
        };
        LogLimits { outstanding_ios_max, outstanding_bytes_max }
    }
}

const _: () = {
    let mut at = 0;
    while at < LogLimitsProfile::ALL.len() {
        assert!(LogLimitsProfile::ALL[at] as usize == at, "each profile stands at its number");
        let limits = LogLimitsProfile::ALL[at].limits();
        assert!(
            limits.outstanding_ios_max <= LogLimits::sql2012().outstanding_ios_max,
            "the writer's queue has so many places"
        );
        at += 1;
    }
};
const _: () = assert!(LogLimits::sql2005().outstanding_bytes_max == 8 * BLOCK_BYTES_MAX as u64);
const _: () = assert!(LogLimits::sql2008().outstanding_bytes_max == 64 * BLOCK_BYTES_MAX as u64);
