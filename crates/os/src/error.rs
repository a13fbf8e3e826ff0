//! `IoError`: an error of the operating system, the disk or the network. Names the operation, its object, and the system's code.

use std::fmt;

/// The class of a failure, as far as callers distinguish it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IoErrorKind {
    /// No such file, directory or address.
    NotFound,
    /// The file to be newly created is already there.
    AlreadyExists,
    /// The device or quota is full (ENOSPC, EDQUOT, EFBIG).
    NoSpace,
    /// Another process holds the lock, or the address is in use.
    Locked,
    /// The system's access rights refuse it.
    Permission,
    /// Fewer bytes than requested: the end of the file or of the stream.
    UnexpectedEof,
    /// The deadline of the call passed.
    TimedOut,
    /// The task was interrupted while it waited (see [`crate::task`]).
    Interrupted,
    /// The peer closed or reset the connection.
    Disconnected,
    /// The request itself is wrong (EINVAL: unaligned direct I/O, bad address text ...).
    Invalid,
    /// Too many open files, threads or too little memory.
    Exhausted,
    /// The device failed (EIO and all errors without a class of their own).
    Io,
}

impl fmt::Display for IoErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            IoErrorKind::NotFound => "not found",
            IoErrorKind::AlreadyExists => "it exists already",
            IoErrorKind::NoSpace => "there is no space left",
            IoErrorKind::Locked => "another process uses it",
            IoErrorKind::Permission => "the system does not permit it",
            IoErrorKind::UnexpectedEof => "it ends too early",
            IoErrorKind::TimedOut => "it took too long",
            IoErrorKind::Interrupted => "it was interrupted",
            IoErrorKind::Disconnected => "the other end has closed the connection",
            IoErrorKind::Invalid => "not possible",
            IoErrorKind::Exhausted => "the system has no more descriptors, threads or memory",
            IoErrorKind::Io => "the system failed",
        })
    }
}

/// A failure of the world: a device, a file system, the network, the operating system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IoError {
    /// The class.
    pub kind: IoErrorKind,
    /// The operating system's error number, 0 when there is none (error 823 shows it).
    pub os_code: i32,
    /// The operation and its object, for messages: `write 512 bytes at 8192 of /x/y.ldf`.
    pub what: String,
}

impl IoError {
    /// An error of our own making (no number from the system).
    pub fn new(kind: IoErrorKind, what: impl Into<String>) -> IoError {
        IoError { kind, os_code: 0, what: what.into() }
    }

    /// From the system's error; `what` names the attempt.
    pub fn from_std(error: &std::io::Error, what: impl Into<String>) -> IoError {
        let os_code = error.raw_os_error().unwrap_or(0);
        IoError { kind: kind_of(error), os_code, what: what.into() }
    }

    /// From an error number of the system.
    pub fn from_code(os_code: i32, what: impl Into<String>) -> IoError {
        IoError::from_std(&std::io::Error::from_raw_os_error(os_code), what)
    }

    /// From the calling thread's `errno`.
    pub(crate) fn last(what: impl Into<String>) -> IoError {
        IoError::from_std(&std::io::Error::last_os_error(), what)
    }

    /// True when the device is full: the operation may succeed when space is freed.
    pub fn is_no_space(&self) -> bool {
        self.kind == IoErrorKind::NoSpace
    }
}

fn kind_of(error: &std::io::Error) -> IoErrorKind {
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::ENOTDIR | libc::EADDRNOTAVAIL) => IoErrorKind::NotFound,
        Some(libc::EEXIST | libc::ENOTEMPTY) => IoErrorKind::AlreadyExists,
        Some(libc::ENOSPC | libc::EDQUOT | libc::EFBIG) => IoErrorKind::NoSpace,
        Some(libc::EADDRINUSE | libc::EBUSY | libc::ETXTBSY) => IoErrorKind::Locked,
        Some(libc::EACCES | libc::EPERM | libc::EROFS | libc::ELOOP | libc::EXDEV) => IoErrorKind::Permission,
        Some(libc::EAGAIN | libc::ETIMEDOUT) => IoErrorKind::TimedOut,
        Some(libc::EPIPE | libc::ECONNRESET | libc::ECONNABORTED | libc::ENOTCONN | libc::ECONNREFUSED) => {
            IoErrorKind::Disconnected
        }
        Some(libc::EINVAL | libc::EOPNOTSUPP | libc::ENAMETOOLONG | libc::EISDIR) => IoErrorKind::Invalid,
        Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM) => IoErrorKind::Exhausted,
        Some(_) => IoErrorKind::Io,
        None => match error.kind() {
            std::io::ErrorKind::UnexpectedEof => IoErrorKind::UnexpectedEof,
            std::io::ErrorKind::TimedOut | std::io::ErrorKind::WouldBlock => IoErrorKind::TimedOut,
            std::io::ErrorKind::NotFound => IoErrorKind::NotFound,
            std::io::ErrorKind::InvalidInput => IoErrorKind::Invalid,
            _ => IoErrorKind::Io,
        },
    }
}

impl fmt::Display for IoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.os_code == 0 {
            return write!(f, "{}: {}", self.what, self.kind);
        }
        let system = std::io::Error::from_raw_os_error(self.os_code);
        write!(f, "{}: {system}", self.what)
    }
}

impl std::error::Error for IoError {}

impl From<IoError> for std::io::Error {
    fn from(error: IoError) -> std::io::Error {
        let kind = match error.kind {
            IoErrorKind::NotFound => std::io::ErrorKind::NotFound,
            IoErrorKind::UnexpectedEof => std::io::ErrorKind::UnexpectedEof,
            IoErrorKind::TimedOut => std::io::ErrorKind::TimedOut,
            IoErrorKind::Disconnected => std::io::ErrorKind::ConnectionReset,
            _ => std::io::ErrorKind::Other,
        };
        std::io::Error::new(kind, error.to_string())
    }
}
