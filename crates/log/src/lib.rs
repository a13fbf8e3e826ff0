//! The transaction log of one database: append, harden, read, truncate.

pub mod block;
pub mod codec;
mod error;
mod flush;
pub mod limits;
mod log;
mod lsn;
mod options;
mod reader;
mod record;
pub mod records;
mod stats;
mod truncate;
mod vlf;

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
