//! The errors of the log.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use os::IoError;

use crate::truncate::LogReuseWait;

/// An error of the log.
#[derive(Clone, Debug)]
pub enum LogError {
    /// No room and no growth possible (error 9002); names what keeps the log from being truncated. Reads and rollback
    /// continue, and appends once there is space.
    Full {
        /// log_reuse_wait of the moment.
        reuse_wait: LogReuseWait,
        /// Why the file could not grow, when it tried.
        growth: Option<Arc<IoError>>,
    },
    /// A log write failed earlier: nothing can be made durable any more, the database is suspect (errors 9001, 823).
    Failed(Arc<IoError>),
    /// Reading or making a file failed; the log itself is unchanged.
    Io(Arc<IoError>),
    /// The file contradicts itself where it must not: damage in the middle of the log, never taken for its end.
    Corrupt {
        /// The log file.
        file: PathBuf,
        /// Where in it, in bytes.
        offset: u64,
        /// What is wrong there.
        what: String,
    },
    /// The file was made by a newer version of the format (948).
    NewerFormat {
        /// The log file.
        file: PathBuf,
        /// Version found.
        found: u16,
        /// The highest version that this code reads.
        supported: u16,
    },
    /// The file is no log, or not a log that can be opened here.
    NotOurs {
        /// The log file.
        file: PathBuf,
        /// What it is instead.
        what: String,
    },
    /// The calling task was interrupted (attention, KILL, shutdown) while it waited.
    Interrupted,
    /// The requested record is not in the log (any more).
    NotThere(crate::Lsn),
    /// The log has been closed.
    Closed,
}

impl LogError {
    /// Whether the database cannot go on (suspect).
    pub fn is_fatal_to_database(&self) -> bool {
        matches!(
            self,
            LogError::Failed(_)
                | LogError::Corrupt { .. }
                | LogError::NewerFormat { .. }
                | LogError::NotOurs { .. }
        )
    }
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LogError::Full { reuse_wait, growth: None } => {
                write!(f, "the transaction log is full due to '{}'", reuse_wait.name())
            }
            LogError::Full { reuse_wait, growth: Some(error) } => {
                write!(
                    f,
                    "the transaction log is full due to '{}' and cannot grow: {error}",
                    reuse_wait.name()
                )
            }
            LogError::Failed(error) => write!(f, "the log is not available: {error}"),
            LogError::Io(error) => write!(f, "{error}"),
            LogError::Corrupt { file, offset, what } => {
                write!(f, "the log is damaged in {} at offset {offset}: {what}", file.display())
            }
            LogError::NewerFormat { file, found, supported } => {
                write!(f, "{}: format version {found}; this server reads up to {supported}", file.display())
            }
            LogError::NotOurs { file, what } => {
                write!(f, "{} is not a usable log file: {what}", file.display())
            }
            LogError::Interrupted => f.write_str("interrupted while waiting for the log"),
            LogError::NotThere(lsn) => write!(f, "record {lsn} is not in the log"),
            LogError::Closed => f.write_str("the log is closed"),
        }
    }
}

impl std::error::Error for LogError {}

impl From<IoError> for LogError {
    fn from(error: IoError) -> LogError {
        LogError::Io(Arc::new(error))
    }
}
