//! The errors of a transaction below SQL.

use std::fmt;

use log::LogError;

use crate::lock::LockError;

/// Result of everything that logs, locks or touches storage inside a transaction.
pub type TxnResult<T> = Result<T, TxnError>;

/// Why an operation of a transaction failed.
#[derive(Clone, Debug)]
pub enum TxnError {
    /// The log is full (9002) or has failed (9001).
    Log(LogError),
    /// A lock was refused.
    Lock(LockError),
    /// A page could not be read (I/O error): 823.
    Io {
        /// What failed, with file and offset.
        what: String,
    },
    /// A page or structure is damaged: 824 and its family.
    Corrupt {
        /// What is wrong, and where.
        what: String,
    },
    /// The data files are full: 1105.
    DataFull {
        /// File or file group.
        what: String,
    },
    /// Every page of the buffer pool is in use: 701.
    PoolExhausted,
}

impl TxnError {
    /// True when the database cannot go on: no later statement may be acknowledged.
    pub fn is_fatal_to_database(&self) -> bool {
        matches!(self, TxnError::Log(error) if error.is_fatal_to_database())
    }
}

impl fmt::Display for TxnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TxnError::Log(error) => write!(f, "log: {error}"),
            TxnError::Lock(error) => error.fmt(f),
            TxnError::Io { what } => write!(f, "I/O error: {what}"),
            TxnError::Corrupt { what } => write!(f, "damaged: {what}"),
            TxnError::DataFull { what } => write!(f, "no space in {what}"),
            TxnError::PoolExhausted => f.write_str("every page of the buffer pool is in use"),
        }
    }
}

impl std::error::Error for TxnError {}

impl From<LogError> for TxnError {
    fn from(error: LogError) -> TxnError {
        TxnError::Log(error)
    }
}

impl From<LockError> for TxnError {
    fn from(error: LockError) -> TxnError {
        TxnError::Lock(error)
    }
}
