//! The transaction log of one database: append, harden, read, truncate.
pub mod codec;
pub mod limits;
mod lsn;
mod record;
pub mod records;

pub use limits::LogLimits;
pub use lsn::{Lsn, LsnParseError, TxnId};
pub use record::{
    LogContext, LogOp, OwnedRecord, Record, RecordBuf, RecordFlags, RecordHeader, decode_record,
};
