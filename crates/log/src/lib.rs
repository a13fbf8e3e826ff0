//! The transaction log of one database: append, harden, read, truncate.

mod append;
pub mod block;
mod cache;
pub mod codec;
mod dump;
mod error;
mod file;
mod flush;
mod inflight;
pub mod limits;
mod log;
mod lsn;
mod options;
pub mod page_records;
mod reader;
mod record;
pub mod records;
mod shared;
mod stats;
mod tail;
mod truncate;
mod vlf;
mod window;
mod writer;

pub use dump::{DumpOptions, DumpSummary, dump_file};
pub use error::LogError;
pub use flush::{DelayedFlushPolicy, FlushReason};
pub use limits::LogLimits;
pub use log::{Log, Tail};
pub use lsn::{Lsn, LsnParseError, TxnId};
pub use options::{Growth, LogOptions};
pub use reader::LogReader;
pub use record::{
    LogContext, LogOp, OwnedRecord, Record, RecordBuf, RecordFlags, RecordHeader, decode_record,
};
pub use stats::LogStats;
pub use truncate::{LogPin, LogReuseWait, PinInfo};
pub use vlf::{VlfInfo, VlfRule};
