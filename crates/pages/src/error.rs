//! `PageError`: the errors of data files and the buffer pool, with SQL Server's numbers.

use std::fmt;
use std::path::PathBuf;

use log::LogError;
use os::IoError;

use crate::page_id::PageId;

/// A failure of data files or the buffer pool.
#[derive(Clone, Debug)]
pub enum PageError {
    /// A read or write failed (823). After a failed write the database is suspect.
    Io(IoError),
    /// A page read from disk is damaged (824). Other pages stay readable.
    Corrupt {
        /// The requested page.
        page: PageId,
        /// Its file.
        path: PathBuf,
        /// What is wrong: checksum, address, version.
        what: String,
        /// The checksum is wrong.
        bad_checksum: bool,
    },
    /// The file is no data file of ours, or of another database (5173, 3624 family).
    NotOurs {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        what: String,
    },
    /// The file was made by a newer version of the format (948).
    NewerFormat {
        /// The file.
        path: PathBuf,
        /// Version found.
        found: u16,
        /// The highest version that this code reads.
        supported: u16,
    },
    /// No space left: the disk is full or the file has reached its MAXSIZE (1105).
    SpaceFull {
        /// The file that could not grow.
        path: PathBuf,
        /// Why.
        what: String,
    },
    /// An error of the log (9001, 9002).
    Log(LogError),
    /// An earlier write failed; nothing is written any more until the database is opened again.
    Suspect(String),
    /// Every frame of the buffer pool is in use (701).
    PoolExhausted,
    /// A page number beyond the files.
    NoSuchPage(PageId),
}

impl PageError {
    /// SQL Server's error number.
    pub fn number(&self) -> i32 {
        match self {
            PageError::Io(_) => 823,
            PageError::Corrupt { .. } => 824,
            PageError::NotOurs { .. } => 5173,
            PageError::NewerFormat { .. } => 948,
            PageError::SpaceFull { .. } => 1105,
            PageError::Log(_) => 9001,
            PageError::Suspect(_) => 926,
            PageError::PoolExhausted => 701,
            PageError::NoSuchPage(_) => 605,
        }
    }
}

impl fmt::Display for PageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PageError::Io(error) => write!(f, "{error}"),
            PageError::Corrupt { page, path, what, .. } => {
                write!(f, "page {page} of {}: {what}", path.display())
            }
            PageError::NotOurs { path, what } => write!(f, "{}: {what}", path.display()),
            PageError::NewerFormat { path, found, supported } => {
                write!(f, "{}: format version {found}; this server reads up to {supported}", path.display())
            }
            PageError::SpaceFull { path, what } => write!(f, "{} cannot grow: {what}", path.display()),
            PageError::Log(error) => write!(f, "{error}"),
            PageError::Suspect(reason) => write!(f, "the database is suspect: {reason}"),
            PageError::PoolExhausted => write!(f, "every page of the buffer pool is in use"),
            PageError::NoSuchPage(page) => write!(f, "page {page} lies beyond its file"),
        }
    }
}

impl std::error::Error for PageError {}

impl From<IoError> for PageError {
    fn from(error: IoError) -> PageError {
        PageError::Io(error)
    }
}

impl From<LogError> for PageError {
    fn from(error: LogError) -> PageError {
        PageError::Log(error)
    }
}
