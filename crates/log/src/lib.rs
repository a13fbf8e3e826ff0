//! The transaction log of one database: append, harden, read, truncate.
//!
//! What it promises:
//! - [`Log::append`] gives each record an address ([`Lsn`]) above all earlier ones; records are found by it until truncated.
//! - When [`Log::harden`] has returned, that record and everything before it survive any crash (as far as the device keeps
//!   its word). A crash loses only a suffix; a block is found whole or not at all.
//! - A failed write or sync is never retried: from then on every `harden` and `append` fails.
//! - After a crash the log ends at the first position without a valid block of the chain; if there is proof that the
//!   position had been durable, opening fails and names file and offset.
//! - Old log is reused only when no [`LogPin`] needs it. Rollback finds room ([`Log::append_reserving`]).
//!
//! # Positions
//! All are [`Lsn`]s; each has one updater. `min <= checkpoint <= hardened <= issued <= sealed < end`.
//!
//! | position | meaning | only updated by |
//! |---|---|---|
//! | `end` | where the next record goes at the earliest | append and seal, under the cache latch |
//! | `sealed` | newest record that no other can join in its block | `Shared::note_sealed`, under the cache latch |
//! | `issued` | newest record handed to the device | `Shared::register`, by the holder of the writer role |
//! | `hardened` | newest record of the contiguous durable prefix | `Shared::complete`, under the queue latch |
//! | `persisted` | newest record that the persisted log buffer has, with all before it (persisted.rs); beside the others | `Shared::persist`, under the cache latch |
//! | `checkpoint` | LOP_BEGIN_CKPT of the last completed checkpoint | [`Log::record_checkpoint`] |
//! | `min` | no pin needs log below | [`Log::truncate`]: the lowest pin |
//!
//! Start reading at flush_reason.rs and flush.rs (when the log is written, and by which thread), then cache.rs, tail.rs, vlf.rs.

mod append;
pub mod block;
mod body;
pub mod bulk_records;
mod cache;
mod cache_folder;
mod cache_takeover;
mod cached_block;
pub mod codec;
mod corruption_check;
mod dump;
mod error;
mod file;
mod files;
mod flush;
mod flush_queue;
mod flush_reason;
mod incarnation;
mod inflight;
pub mod limits;
mod log;
mod loss_window;
mod lsn;
mod options;
pub mod page_records;
mod persist;
mod persisted;
mod place;
mod reader;
mod record;
pub mod records;
mod resize;
mod scan;
mod shared;
mod space;
mod standing;
mod stats;
mod surviving;
mod sweep;
mod tail;
mod truncate;
mod vlf;
mod vlf_headers;
mod window;
mod writer;
mod writer_work;
mod zeroing;
mod zones;

pub use body::{Body, describe};
pub use cache_folder::CacheFolder;
pub use dump::{DumpOptions, DumpSummary, dump_file, dump_files};
pub use error::LogError;
pub use file::FIRST_LOG_FILE;
pub use flush::PendingCommit;
pub use flush_reason::{DelayedFlushPolicy, FlushReason};
pub use incarnation::Incarnation;
pub use limits::{LogLimits, LogLimitsProfile};
pub use log::{Log, RecoveryExtent, Tail};
pub use loss_window::{LossBounds, LossFigures, LossWindowInfo};
pub use lsn::{Lsn, LsnParseError, TxnId};
pub use options::{Growth, LogFileOptions, LogOptions, PersistedOptions};
pub use persisted::PersistedInfo;
pub use reader::LogReader;
pub use record::{
    Appended, LogContext, LogOp, OwnedRecord, Record, RecordBuf, RecordFlags, RecordHeader, decode_record,
};
pub use resize::{FileInfo, IdleFile, ResizeError, Shrunk};
pub use scan::{LogScan, ScanRange, ScanStep};
pub use standing::{Standing, can_be_record};
pub use stats::{LogStats, SessionLimits, WRITE_TIMES};
pub use surviving::remove_left_cache;
pub use sweep::sweep_left_caches;
pub use truncate::{LogPin, LogReuseWait, PinInfo};
pub use vlf::{VlfInfo, VlfRule};
