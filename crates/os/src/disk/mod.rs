//! Files and directories: the traits that real and simulated disks share, aligned buffers, statistics.

mod aligned;
mod links;
mod linux;
mod pending;
mod queue;
mod stats;
mod transfer;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use aligned::AlignedBuf;
pub(crate) use aligned::Lender;
pub use pending::{IoKind, PendingIo};
pub(crate) use pending::{PendingRequests, Underway};
pub use stats::FileStats;
pub(crate) use stats::Meter;
pub(crate) use transfer::{read_whole, write_whole};

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
    /// Bypass the page cache (O_DIRECT) where the file system allows; `File::is_direct` tells.
    /// Direct files want 512-byte-aligned offsets and lengths (see `DeviceTraits`) and an `AlignedBuf`; anything else
    /// goes through a bounce buffer when only the memory is unaligned.
    pub direct: bool,
    /// A file that is made gets access rights for its owner alone (mode 0600: keys, logins).
    pub private: bool,
    /// No component of the path may be a symbolic link: what was found to lie in an allowed folder still lies there when it is opened.
    /// For paths from [`Disk::canonical`].
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

/// What the device below a file promises.
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
    /// Reads at `offset`; fewer bytes than asked for only at the end of the file (a short read of the system is continued).
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
    /// Sets room aside for `from..to`, which begins at the file's end: the length becomes `to`, what is new reads as zeros, and a write into it
    /// does not fail for lack of space. Nothing is written, so that the first durable writes there cost more than later ones. Durable after
    /// `sync`. False where the file system cannot; the length is then as it was.
    fn reserve(&self, from: u64, to: u64) -> Result<bool, IoError>;
    /// What the device promises.
    fn device(&self) -> DeviceTraits;
    /// What has been read and written through this handle.
    fn stats(&self) -> FileStats;
    /// What has been asked of this handle and not been answered yet, oldest first.
    fn pending(&self) -> Vec<PendingIo>;
    /// True when the page cache is bypassed.
    fn is_direct(&self) -> bool;
    /// The path it was opened by.
    fn path(&self) -> &Path;
    /// Device and number of the file: a copy of it has others.
    fn identity(&self) -> (u64, u64);
    /// For the queue of the same world to know its own files.
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

/// One entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DirectoryEntry {
    /// The last component of its path.
    pub name: String,
    /// A directory, not a file.
    pub is_directory: bool,
}

/// The file systems of a world.
pub trait Disk: Send + Sync {
    /// Opens a file.
    fn open(&self, path: &Path, options: &OpenOptions) -> Result<Arc<dyn File>, IoError>;
    /// True when something has that path.
    fn exists(&self, path: &Path) -> bool;
    /// Makes a directory and its parents; fine when they are there.
    fn create_dir_all(&self, path: &Path) -> Result<(), IoError>;
    /// Makes one directory that only its owner may enter (mode 0700); fine when it is there, whatever its mode.
    fn create_private_dir(&self, path: &Path) -> Result<(), IoError>;
    /// Where a path that may hold symbolic links leads, and where it would lead when its end is not there yet: the part that is there with
    /// its links followed, then the rest as written. A link that leads nowhere is refused.
    fn canonical(&self, path: &Path) -> Result<PathBuf, IoError>;
    /// Renames, replacing the target atomically; durable after `sync_dir` of the directory.
    fn rename(&self, from: &Path, to: &Path) -> Result<(), IoError>;
    /// Removes a file (of a link, the link), never through a symbolic link in its directories; durable after `sync_dir`.
    fn remove(&self, path: &Path) -> Result<(), IoError>;
    /// Removes an empty directory.
    fn remove_dir(&self, path: &Path) -> Result<(), IoError>;
    /// The entries of a directory, by name.
    fn list(&self, path: &Path) -> Result<Vec<DirectoryEntry>, IoError>;
    /// Makes creations, renames and removals in a directory durable.
    fn sync_dir(&self, path: &Path) -> Result<(), IoError>;
    /// Device of a file or directory; two that lie in one file system have the same.
    fn device_of(&self, path: &Path) -> Result<u64, IoError>;
    /// Bytes free on the file system of `path`.
    fn free_bytes(&self, path: &Path) -> Result<u64, IoError>;
    /// Takes a lock file that keeps other processes out (`Locked`) until the guard is dropped or this process dies.
    fn lock_file(&self, path: &Path) -> Result<FileLock, IoError>;
    /// Limits a file's access rights to its owner (keys, password hashes).
    fn restrict_to_owner(&self, path: &Path) -> Result<(), IoError>;
    /// A queue of at most `depth` requests at once, which complete in any order.
    fn io_queue(&self, depth: usize) -> Box<dyn IoQueue>;

    /// The whole file.
    fn read_file(&self, path: &Path) -> Result<Vec<u8>, IoError> {
        let file = self.open(path, &OpenOptions::read_only())?;
        let mut bytes = vec![0; usize::try_from(file.len()?).unwrap_or(usize::MAX)];
        let got = file.read_at(&mut bytes, 0)?;
        bytes.truncate(got);
        Ok(bytes)
    }

    /// Puts a whole new file in place of `path`, durably and atomically (new file, sync, rename, sync of the directory); only its owner can read it
    /// at any moment of its life: keys, hashes of passwords.
    fn replace_private_file(&self, path: &Path, bytes: &[u8]) -> Result<(), IoError> {
        let mut temporary = path.as_os_str().to_owned();
        temporary.push(".new");
        let temporary = Path::new(&temporary);
        let file = self.open(temporary, &OpenOptions { private: true, ..OpenOptions::create() })?;
        self.restrict_to_owner(temporary)?;
        file.set_len(0)?;
        file.write_at(bytes, 0, WriteMode::Cached)?;
        file.sync()?;
        drop(file);
        self.rename(temporary, path)?;
        self.sync_dir(path.parent().unwrap_or(Path::new(".")))
    }
}

/// Keeps other processes out; dropping it lets them in.
pub struct FileLock {
    pub(crate) _held: Box<dyn Send + Sync>,
}

/// What a queue is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Fill the first `len` bytes of the buffer (short at the end of the file: an error).
    Read,
    /// Write the first `len` bytes of the buffer.
    Write(WriteMode),
}

/// A finished request.
pub struct Completion {
    /// The submitter's mark.
    pub token: u64,
    /// How it went.
    pub result: Result<(), IoError>,
    /// The buffer, given back.
    pub buffer: AlignedBuf,
}

/// Requests in flight of one owner. Completions come in any order.
pub trait IoQueue: Send {
    /// Starts a request on the first `len` bytes of `buffer`. Panics when `depth` requests are in flight already.
    fn submit(
        &mut self,
        file: &Arc<dyn File>,
        request: Request,
        buffer: AlignedBuf,
        len: usize,
        offset: u64,
        token: u64,
    );
    /// The completions that are there; with `wait`, at least one if any is in flight (`WaitType` IO_COMPLETION).
    fn reap(&mut self, wait: bool) -> Vec<Completion>;
    /// Requests submitted and not yet reaped.
    fn in_flight(&self) -> usize;
    /// The most that may be in flight.
    fn depth(&self) -> usize;
}

/// This machine's disks.
pub(crate) fn real() -> Arc<dyn Disk> {
    Arc::new(linux::LinuxDisk)
}
