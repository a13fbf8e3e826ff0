//! An open file, and how it is opened and written.

use std::path::Path;

use super::pending::PendingIo;
use super::stats::FileStats;
use crate::error::{IoError, IoErrorKind};
use crate::wait::WaitType;

/// How a file is to be opened. `OpenOptions::default()` opens an existing file for reading and writing, cached.
#[derive(Clone, Copy, Debug)]
pub struct OpenOptions {
    /// Make the file when it is missing. Its directory entry is durable only after `Disk::sync_dir`.
    pub create: bool,
    /// Make the file; fail with `AlreadyExists` when it is there.
    pub create_new: bool,
    /// For reading only.
    pub read_only: bool,
    /// Bypass the page cache (O_DIRECT) where the file system allows; see `File::is_direct`.
    /// Direct files want 512-byte-aligned offsets and lengths (see `DeviceTraits`) and an `AlignedBuf`; anything else
    /// goes through a bounce buffer when only the memory is unaligned.
    pub direct: bool,
    /// A file that is made gets access rights for its owner alone (mode 0600: keys, logins).
    pub private: bool,
    /// No component of the path may be a symbolic link: a path that was checked to be in an allowed folder is still there when it is opened.
    /// For paths from [`Disk::canonical`](super::Disk::canonical).
    pub no_links: bool,
    /// The wait type that reads count as.
    pub read_wait: WaitType,
    /// The wait type that writes and syncs count as.
    pub write_wait: WaitType,
}

impl Default for OpenOptions {
    fn default() -> OpenOptions {
        OpenOptions {
            create: false,
            create_new: false,
            read_only: false,
            direct: false,
            private: false,
            no_links: false,
            read_wait: WaitType::IO_COMPLETION,
            write_wait: WaitType::IO_COMPLETION,
        }
    }
}

impl OpenOptions {
    /// Make the file when it is missing.
    pub fn create() -> OpenOptions {
        OpenOptions { create: true, ..OpenOptions::default() }
    }

    /// Make the file; it must not be there.
    pub fn create_new() -> OpenOptions {
        OpenOptions { create_new: true, ..OpenOptions::default() }
    }

    /// For reading only.
    pub fn read_only() -> OpenOptions {
        OpenOptions { read_only: true, ..OpenOptions::default() }
    }
}

/// When a write is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteMode {
    /// When readers see it; it survives a power loss only after `File::sync`.
    Cached,
    /// When it survives a power loss (RWF_DSYNC, or write and fdatasync).
    Durable,
}

/// The guarantees of the device below a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceTraits {
    /// The unit that direct I/O must be aligned to, in bytes (512 or 4096).
    pub sector_bytes: u32,
    /// The largest aligned write that is never torn by a power loss, in bytes (at least the sector).
    pub atomic_write_bytes: u32,
}

/// An open file. All methods take `&self` and may be called by several tasks at once.
///
/// Any write or sync error leaves the affected range undefined; a caller that needs durability must not retry a failed
/// sync and trust the result (the kernel may have dropped the data).
pub trait File: Send + Sync {
    /// Reads at `offset`; fewer bytes than requested only at the end of the file (a short read of the system is continued).
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, IoError>;
    /// Writes all of `bytes` at `offset`, extending the file as needed (a short write of the system is continued).
    fn write_at(&self, bytes: &[u8], offset: u64, mode: WriteMode) -> Result<(), IoError>;
    /// Makes all completed writes and the length durable.
    fn sync(&self) -> Result<(), IoError>;
    /// The length in bytes.
    fn len(&self) -> Result<u64, IoError>;
    /// Cuts or extends (with zeros, possibly unwritten extents); durable after `sync`.
    fn set_len(&self, bytes: u64) -> Result<(), IoError>;
    /// Writes zeros over `from..to` and makes them and the length durable: no unwritten extents, so that later writes
    /// inside need no metadata. `from` and `to` are multiples of 512.
    fn allocate_zeroed(&self, from: u64, to: u64) -> Result<(), IoError>;
    /// Preallocates space for `from..to`, which begins at the file's end: the length becomes `to`, the new part reads as zeros, and a write into it
    /// does not fail for lack of space. Nothing is written, so that the first durable writes there cost more than later ones. Durable after
    /// `sync`. False where the file system cannot; the length is then as it was.
    fn reserve(&self, from: u64, to: u64) -> Result<bool, IoError>;
    /// The guarantees of the device.
    fn device(&self) -> DeviceTraits;
    /// The I/O counts of this handle.
    fn stats(&self) -> FileStats;
    /// The I/O requests of this handle in progress, oldest first.
    fn pending(&self) -> Vec<PendingIo>;
    /// True when the page cache is bypassed.
    fn is_direct(&self) -> bool;
    /// The path it was opened by.
    fn path(&self) -> &Path;
    /// Device and number of the file: a copy of it has others.
    fn identity(&self) -> (u64, u64);
    /// Lets the queue of the same world recognise its own files.
    #[doc(hidden)]
    fn as_any(&self) -> Option<&dyn std::any::Any> {
        None
    }

    /// Reads all of `buffer` or fails with `UnexpectedEof`.
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> Result<(), IoError> {
        let wanted = buffer.len();
        let got = self.read_at(buffer, offset)?;
        if got == wanted {
            return Ok(());
        }
        let what =
            format!("read {wanted} bytes at {offset} of {}: only {got} are there", self.path().display());
        Err(IoError::new(IoErrorKind::UnexpectedEof, what))
    }

    /// True when the file has no bytes.
    fn is_empty(&self) -> Result<bool, IoError> {
        Ok(self.len()? == 0)
    }
}
