//! Conversion of storage failures to users' error messages, and the effect of an I/O failure on a database.

use log::LogError;
use os::{IoError, IoErrorKind};
use pages::PageError;
use txn::{LockError, TxnError};
use types::SqlError;

/// The result type of this crate's operations for statements.
pub type SqlResult<T> = types::SqlResult<T>;

/// A failure of opening, recovering, checkpointing or closing, outside any statement.
#[derive(Clone, Debug)]
pub enum StorageError {
    /// An I/O failure.
    Io(IoError),
    /// The data directory or a file belongs to another program, has a newer format, or another server uses it.
    Refused(String),
    /// The log.
    Log(LogError),
    /// A page.
    Page(PageError),
    /// A failure of the transaction layer.
    Txn(TxnError),
    /// The catalog is inconsistent.
    Catalog(String),
}

impl StorageError {
    /// Could a file not be accessed at all, so that the database's state is unknown?
    pub(crate) fn is_inaccessible(&self) -> bool {
        let is_place = |kind: IoErrorKind| matches!(kind, IoErrorKind::NotFound | IoErrorKind::Permission);
        match self {
            StorageError::Io(_) => true,
            StorageError::Log(LogError::Io(error)) => is_place(error.kind),
            StorageError::Page(PageError::Io(error)) => is_place(error.kind),
            _ => false,
        }
    }
}

impl std::fmt::Display for StorageError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            StorageError::Io(error) => write!(f, "{error}"),
            StorageError::Refused(why) | StorageError::Catalog(why) => f.write_str(why),
            StorageError::Log(error) => write!(f, "{error}"),
            StorageError::Page(error) => write!(f, "{error}"),
            StorageError::Txn(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for StorageError {}

impl From<IoError> for StorageError {
    fn from(error: IoError) -> Self {
        StorageError::Io(error)
    }
}

impl From<LogError> for StorageError {
    fn from(error: LogError) -> Self {
        StorageError::Log(error)
    }
}

impl From<PageError> for StorageError {
    fn from(error: PageError) -> Self {
        StorageError::Page(error)
    }
}

impl From<access::AccessError> for StorageError {
    fn from(error: access::AccessError) -> Self {
        StorageError::Txn(error.into())
    }
}

impl From<TxnError> for StorageError {
    fn from(error: TxnError) -> Self {
        StorageError::Txn(error)
    }
}

/// The error that the user of `database` gets when the transaction layer failed.
pub fn sql_error(error: &TxnError, database: &str, session_id: i16) -> SqlError {
    match error {
        TxnError::Log(LogError::Full { reuse_wait, .. }) => {
            SqlError::new(9002, &[&database, &reuse_wait.name()])
        }
        TxnError::Log(LogError::Interrupted) | TxnError::Lock(LockError::Interrupted) => interrupted(),
        TxnError::Log(_) | TxnError::Lock(LockError::DatabaseFailed) => SqlError::new(9001, &[&database]),
        TxnError::Lock(LockError::Deadlock) => SqlError::new(1205, &[&session_id, &"lock"]),
        TxnError::Lock(LockError::Timeout) => SqlError::new(1222, &[]),
        TxnError::Io { what } => io_failed(database, what),
        TxnError::PoolExhausted => SqlError::new(701, &[&"default"]),
        TxnError::Corrupt { what } => SqlError::custom(
            824,
            24,
            2,
            format!(
                "The server found a logical consistency error in database '{database}': {what}. {CALL_FOR_CHECK}"
            ),
        ),
        TxnError::DataFull { what } => SqlError::custom(
            1105,
            17,
            2,
            format!(
                "No space could be allocated in database '{database}' because the 'PRIMARY' filegroup is full: {what}. \
                 Free space by dropping objects, add files, or let the files grow."
            ),
        ),
    }
}

/// The end of the messages 823 and 824.
const CALL_FOR_CHECK: &str =
    "This is a severe error that threatens the database's integrity and must be corrected at once.";

/// 823: the system refused a read, a write or a sync; `what` names file and offset.
pub(crate) fn io_failed(database: &str, what: &str) -> SqlError {
    let text = format!("The operating system failed in database '{database}': {what}. {CALL_FOR_CHECK}");
    SqlError::custom(823, 24, 2, text)
}

/// The error of USE for a database that could not be opened: 948 newer format, 945 files not accessible, 926 everything else.
pub(crate) fn refusal(error: &StorageError, database: &str) -> SqlError {
    match error {
        StorageError::Page(PageError::NewerFormat { found, supported, .. })
        | StorageError::Log(LogError::NewerFormat { found, supported, .. }) => {
            SqlError::new(948, &[&database, found, supported])
        }
        error if error.is_inaccessible() => SqlError::new(945, &[&database]),
        _ => SqlError::new(926, &[&database]),
    }
}

/// The statement was stopped by attention, KILL or shutdown; the session reports that.
pub fn interrupted() -> SqlError {
    SqlError::custom(3617, 16, 1, "The statement was cancelled.".into())
}
