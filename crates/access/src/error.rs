//! `AccessError`: the errors of an operation on a heap or index.

use std::fmt;

use log::LogError;
use pages::{PageError, PageId};
use txn::{LockError, TxnError};

/// Result of everything in this crate.
pub type AccessResult<T> = Result<T, AccessError>;

/// Why an operation failed. User errors carry SQL Server's number in their documentation; the engine words them.
#[derive(Clone, Debug)]
pub enum AccessError {
    /// Data files or buffer pool: 823, 824, 1105, 701.
    Page(PageError),
    /// The log refused: 9001, 9002.
    Log(LogError),
    /// A lock was not granted: 1205, 1222.
    Lock(LockError),
    /// The row does not fit a page even with its large values out of row: 511.
    RowTooLarge {
        /// Its size in bytes.
        bytes: usize,
        /// The most that fits.
        limit: usize,
    },
    /// The key is longer than [`crate::KEY_BYTES_MAX`]: 1946.
    KeyTooLarge {
        /// Its size in bytes.
        bytes: usize,
    },
    /// The row is not there (any more): its address comes from an index or cursor read without a lock (601).
    RowGone,
    /// Another transaction changed the row and committed after the snapshot of this SNAPSHOT transaction: 3960; or the check is no longer
    /// possible, because the snapshot has been given up: 3966.
    UpdateConflict,
    /// The row's version at the reader's snapshot was not kept, for lack of space: 3958.
    VersionLost,
    /// A page contradicts the page that points to it: 824 and related errors.
    Corrupt {
        /// The page.
        page: PageId,
        /// What is wrong.
        what: String,
    },
}

/// Ends a scan that an attention, KILL or shutdown has interrupted. A scan may read many pages without emitting a row, so its caller
/// cannot check.
pub(crate) fn stop_if_asked() -> AccessResult<()> {
    if os::task::interrupt_pending() { Err(AccessError::Lock(LockError::Interrupted)) } else { Ok(()) }
}

impl AccessError {
    pub(crate) fn corrupt(page: PageId, what: impl Into<String>) -> AccessError {
        AccessError::Corrupt { page, what: what.into() }
    }
}

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AccessError::Page(error) => error.fmt(f),
            AccessError::Log(error) => error.fmt(f),
            AccessError::Lock(error) => error.fmt(f),
            AccessError::RowTooLarge { bytes, limit } => {
                write!(f, "a row of {bytes} bytes; at most {limit} fit")
            }
            AccessError::KeyTooLarge { bytes } => write!(f, "an index key of {bytes} bytes"),
            AccessError::RowGone => f.write_str("the row is gone"),
            AccessError::UpdateConflict => f.write_str("the row was changed since the snapshot"),
            AccessError::VersionLost => f.write_str("the version of the row was not kept"),
            AccessError::Corrupt { page, what } => write!(f, "page {page}: {what}"),
        }
    }
}

impl std::error::Error for AccessError {}

impl From<PageError> for AccessError {
    fn from(error: PageError) -> AccessError {
        AccessError::Page(error)
    }
}

impl From<LogError> for AccessError {
    fn from(error: LogError) -> AccessError {
        AccessError::Log(error)
    }
}

impl From<LockError> for AccessError {
    fn from(error: LockError) -> AccessError {
        AccessError::Lock(error)
    }
}

impl From<TxnError> for AccessError {
    fn from(error: TxnError) -> AccessError {
        match error {
            TxnError::Log(error) => AccessError::Log(error),
            TxnError::Lock(error) => AccessError::Lock(error),
            TxnError::PoolExhausted => AccessError::Page(PageError::PoolExhausted),
            TxnError::Io { what } | TxnError::Corrupt { what } | TxnError::DataFull { what } => {
                AccessError::Corrupt { page: PageId::NULL, what }
            }
        }
    }
}

/// The transaction manager's error for a failed redo or undo.
impl From<AccessError> for TxnError {
    fn from(error: AccessError) -> TxnError {
        let what = error.to_string();
        match error {
            AccessError::Log(error) | AccessError::Page(PageError::Log(error)) => TxnError::Log(error),
            AccessError::Lock(error) => TxnError::Lock(error),
            AccessError::Page(PageError::Io(_)) => TxnError::Io { what },
            AccessError::Page(PageError::SpaceFull { .. }) => TxnError::DataFull { what },
            AccessError::Page(PageError::PoolExhausted) => TxnError::PoolExhausted,
            _ => TxnError::Corrupt { what },
        }
    }
}
