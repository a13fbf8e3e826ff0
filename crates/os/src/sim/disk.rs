//! The simulated disk. Its contract, that of an adversary:
//!
//! * A completed `Cached` write is seen by readers, but until a `sync` of the file has returned, a power loss decides
//!   **per 512-byte sector** whether the last durable version, the newest or any version in between survives. Order is
//!   free: across sectors, writes and files. A `Durable` write has the same freedom until it has returned.
//! * With `Profile::torn_sectors` a surviving unconfirmed sector may itself be torn: its tail old, or garbage.
//! * A new length is lost or kept like a sector; what a kept length newly covers is zeros where no sector survived.
//! * A created, renamed or removed name is durable only after `sync_dir` of its directory; until then each directory
//!   keeps a prefix of its changes. A file's own sync does not make its name durable.
//! * `sync`, `Durable` and `sync_dir` are honest: what they confirmed survives. (A device that lies cannot be survived.)
//! * An injected `Fail` of a write leaves any of its sectors behind; of a sync, it may drop dirty
//!   cached writes, and a later sync then returns success without making it durable.
//! * At `power_off` the image freezes first; then the tasks unwind, so destructors do not change the disk.
//!
//! * Reads and writes may move fewer bytes than requested (`Profile::short_transfers_percent`, `Effect::Short`); the loop of the real disk
//!   continues them. A queued request is continued by the queue's worker: the disk sees it whole.
//!
//! Each operation takes virtual time by the profile and is a switch point; requests of a queue complete in any order.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::fault::Operation;
use super::file::{Fate, SimFile, admit, finish, pass_time};
use super::inode::Inode;
use super::names::{Node, missing};
use super::queue::SimQueue;
use super::world::World;
use crate::disk::{DirectoryEntry, Disk, File, FileLock, IoQueue, Meter, OpenOptions, PendingRequests};
use crate::error::{IoError, IoErrorKind};
use crate::rng::Rng;

/// The one kind of `Disk` in a simulated world.
pub(super) struct SimDisk {
    pub(super) world: World,
}

impl SimDisk {
    /// Every operation begins here: unwinds when the run is over, counts, checks for faults.
    fn admit(&self, operation: Operation, path: &Path, tag: u64) -> Result<(Fate, u64), IoError> {
        admit(&self.world, operation, path, tag)
    }

    fn name_operation(&self, path: &Path, what: &str) -> Result<(), IoError> {
        let (fate, extra_ns) = self.admit(Operation::Name, path, 7)?;
        let cached_ns = self.world.inner.profile.cached_write_ns;
        let ns = self.world.disk().drawn_ns(cached_ns, 0);
        pass_time(ns + extra_ns);
        finish(&self.world, fate, || format!("{what} {}", path.display()))
    }
}

impl Disk for SimDisk {
    fn open(&self, path: &Path, options: &OpenOptions) -> Result<Arc<dyn File>, IoError> {
        let exists = self.world.disk().names.get(path).is_some();
        if exists && options.create_new {
            return Err(IoError::from_code(libc::EEXIST, format!("open {}", path.display())));
        }
        if !exists {
            if !(options.create || options.create_new) {
                return Err(missing(path));
            }
            self.name_operation(path, "create")?;
        }
        let mut disk = self.world.disk();
        // Another task may have made it meanwhile.
        if disk.names.get(path).is_none() {
            let inode = disk.next_inode;
            disk.next_inode += 1;
            disk.names.add(path, Node::File(inode))?;
            disk.inodes.insert(inode, Inode::default());
        }
        let inode = disk.names.file(path)?;
        let direct = options.direct && disk.profile.direct;
        drop(disk);
        Ok(Arc::new(SimFile {
            world: self.world.clone(),
            inode,
            path: path.to_owned(),
            direct,
            read_only: options.read_only,
            read_wait: options.read_wait,
            write_wait: options.write_wait,
            meter: Meter::default(),
            pending: PendingRequests::default(),
        }))
    }

    fn exists(&self, path: &Path) -> bool {
        self.world.disk().names.get(path).is_some()
    }

    fn create_dir_all(&self, path: &Path) -> Result<(), IoError> {
        self.name_operation(path, "make directory")?;
        self.world.disk().names.add_directories(path)
    }

    fn create_private_dir(&self, path: &Path) -> Result<(), IoError> {
        self.create_dir_all(path)
    }

    fn canonical(&self, path: &Path) -> Result<PathBuf, IoError> {
        Ok(path.to_owned())
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), IoError> {
        self.name_operation(from, "rename")?;
        self.world.disk().names.rename(from, to)
    }

    fn remove(&self, path: &Path) -> Result<(), IoError> {
        self.name_operation(path, "remove")?;
        let mut disk = self.world.disk();
        disk.names.file(path)?;
        disk.names.remove(path)
    }

    fn remove_dir(&self, path: &Path) -> Result<(), IoError> {
        self.name_operation(path, "remove directory")?;
        self.world.disk().names.remove(path)
    }

    fn list(&self, path: &Path) -> Result<Vec<DirectoryEntry>, IoError> {
        let disk = self.world.disk();
        match disk.names.get(path) {
            Some(Node::Directory) => Ok(disk.names.list(path)),
            _ => Err(missing(path)),
        }
    }

    fn sync_dir(&self, path: &Path) -> Result<(), IoError> {
        let (fate, extra_ns) = self.admit(Operation::Sync, path, 6)?;
        let sync_ns = self.world.inner.profile.sync_ns;
        let ns = self.world.disk().drawn_ns(sync_ns, 0);
        pass_time(ns + extra_ns);
        finish(&self.world, fate, || format!("sync directory {}", path.display()))?;
        self.world.disk().names.sync(path);
        Ok(())
    }

    fn identity_of(&self, path: &Path) -> Result<(u64, u64), IoError> {
        match self.world.disk().names.get(path) {
            Some(Node::File(inode)) => Ok((0, inode)),
            // No directory is ever renamed here: its path says which one it is.
            Some(Node::Directory) => Ok((0, Rng::named(0, &path.to_string_lossy()).next_u64() | 1 << 63)),
            None => Err(missing(path)),
        }
    }

    fn free_bytes(&self, _path: &Path) -> Result<u64, IoError> {
        let disk = self.world.disk();
        Ok(disk.capacity_bytes.unwrap_or(1 << 40).saturating_sub(disk.used_bytes()))
    }

    fn total_bytes(&self, _path: &Path) -> Result<u64, IoError> {
        Ok(self.world.disk().capacity_bytes.unwrap_or(1 << 40))
    }

    fn lock_file(&self, path: &Path) -> Result<FileLock, IoError> {
        self.open(path, &OpenOptions::create())?;
        if !self.world.disk().locks.insert(path.to_owned()) {
            return Err(IoError::new(IoErrorKind::Locked, format!("lock {}", path.display())));
        }
        Ok(FileLock { _held: Box::new(SimLock { world: self.world.clone(), path: path.to_owned() }) })
    }

    fn restrict_to_owner(&self, _path: &Path) -> Result<(), IoError> {
        Ok(())
    }

    fn io_queue(&self, depth: usize) -> Box<dyn IoQueue> {
        Box::new(SimQueue::new(self.world.clone(), depth))
    }
}

struct SimLock {
    world: World,
    path: PathBuf,
}

impl Drop for SimLock {
    fn drop(&mut self) {
        self.world.disk().locks.remove(&self.path);
    }
}
