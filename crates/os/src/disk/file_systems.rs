//! The file systems of a world: files by their paths, directories, locks.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::file::{File, OpenOptions, WriteMode};
use super::io_queue::IoQueue;
use crate::error::IoError;

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
    /// Makes a directory and its parents; no error if they exist.
    fn create_dir_all(&self, path: &Path) -> Result<(), IoError>;
    /// Makes one directory that only its owner may enter (mode 0700); no error if it exists, whatever its mode.
    fn create_private_dir(&self, path: &Path) -> Result<(), IoError>;
    /// Resolves the symbolic links of a path, whose end need not exist yet: the existing part with
    /// its links followed, then the rest as written. A dangling link is refused.
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
    /// Device and inode of a file or directory: no other has both, and a rename keeps them.
    fn identity_of(&self, path: &Path) -> Result<(u64, u64), IoError>;
    /// Bytes free on the file system of `path`.
    fn free_bytes(&self, path: &Path) -> Result<u64, IoError>;
    /// Bytes that the file system of `path` holds in all.
    fn total_bytes(&self, path: &Path) -> Result<u64, IoError>;
    /// Locks a lock file against other processes (`Locked`) until the guard is dropped or this process dies.
    fn lock_file(&self, path: &Path) -> Result<FileLock, IoError>;
    /// Limits a file's access rights to its owner (keys, password hashes).
    fn restrict_to_owner(&self, path: &Path) -> Result<(), IoError>;
    /// A queue of at most `depth` requests at once, which complete in any order.
    fn io_queue(&self, depth: usize) -> Box<dyn IoQueue>;

    /// Device of a file or directory; two in one file system have the same.
    fn device_of(&self, path: &Path) -> Result<u64, IoError> {
        self.identity_of(path).map(|(device, _)| device)
    }

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

/// Excludes other processes until it is dropped.
pub struct FileLock {
    pub(crate) _held: Box<dyn Send + Sync>,
}
