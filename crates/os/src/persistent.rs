//! Persistent memory: a file on a DAX volume, mapped so that stores which were flushed and fenced outlive a loss of power; its simulated
//! half is `sim/persistent.rs`.
//!
//! The kernel decides whether a volume is DAX, by accepting MAP_SYNC or not: a loop device, tmpfs and every ordinary disk refuse it. For tests
//! an in-memory file system (tmpfs) may replace one ([`PersistentVolume::Test`]): its contents outlive the process, not the system.
//! See docs/decisions/0041.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{IoError, IoErrorKind};
use crate::write_back::WriteBack;

/// `f_type` of tmpfs (the kernel's uapi/linux/magic.h).
const TMPFS_MAGIC: u32 = 0x0102_1994;

/// The kinds of volume accepted as persistent memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PersistentVolume {
    /// A DAX volume only.
    #[default]
    Dax,
    /// A DAX volume, or, for tests, an in-memory file system.
    Test,
}

/// The simulated half of a piece of persistent memory.
pub(crate) trait PersistentStore: Send + Sync {
    /// Is it as on a DAX volume?
    fn is_dax(&self) -> bool;
    /// Stores bytes, not durably.
    fn store(&self, at: usize, bytes: &[u8]);
    /// Requests the write-back of these bytes' cache lines.
    fn flush(&self, at: usize, len: usize);
    /// Makes the flushed stores durable.
    fn fence(&self);
    /// Reads bytes.
    fn read(&self, at: usize, len: usize) -> Vec<u8>;
}

/// Persistent memory that this process writes. No other process may use it meanwhile.
pub struct PersistentMemory {
    half: Half,
    len_bytes: usize,
}

enum Half {
    Mapped(Mapping),
    Simulated(Box<dyn PersistentStore>),
}

impl PersistentMemory {
    pub(crate) fn open(
        path: &Path,
        len_bytes: usize,
        is_new: bool,
        volume: PersistentVolume,
    ) -> Result<PersistentMemory, IoError> {
        let mapping = Mapping::open(path, len_bytes, is_new, volume)?;
        Ok(PersistentMemory { half: Half::Mapped(mapping), len_bytes })
    }

    pub(crate) fn simulated(memory: Box<dyn PersistentStore>, len_bytes: usize) -> PersistentMemory {
        PersistentMemory { half: Half::Simulated(memory), len_bytes }
    }

    /// Size.
    pub fn len_bytes(&self) -> usize {
        self.len_bytes
    }

    /// Is it really persistent, and not a test's in-memory file system?
    pub fn is_dax(&self) -> bool {
        match &self.half {
            Half::Mapped(mapping) => mapping.is_dax,
            Half::Simulated(memory) => memory.is_dax(),
        }
    }

    /// Stores bytes. They are durable when they were flushed and fenced, and may be before, in any order.
    pub fn store(&self, at: usize, bytes: &[u8]) {
        assert!(at + bytes.len() <= self.len_bytes, "{} bytes at {at}", bytes.len());
        match &self.half {
            Half::Mapped(mapping) => mapping.store(at, bytes),
            Half::Simulated(memory) => memory.store(at, bytes),
        }
    }

    /// Stores a word whole: a crash leaves this one or the one before it.
    pub fn store_word(&self, at: usize, word: u64) {
        assert!(at.is_multiple_of(8) && at + 8 <= self.len_bytes, "a word at {at}");
        match &self.half {
            Half::Mapped(mapping) => mapping.word(at).store(word, Ordering::Release),
            Half::Simulated(memory) => memory.store(at, &word.to_le_bytes()),
        }
    }

    /// Begins to make the stores there durable; [`PersistentMemory::fence`] ends it.
    ///
    /// # Errors
    /// Those of the system, where the processor cannot do it.
    pub fn flush(&self, at: usize, len: usize) -> Result<(), IoError> {
        assert!(at + len <= self.len_bytes, "{len} bytes at {at}");
        match &self.half {
            Half::Mapped(mapping) => mapping.flush(at, len),
            Half::Simulated(memory) => {
                memory.flush(at, len);
                Ok(())
            }
        }
    }

    /// Makes the flushed stores durable, before all later stores.
    pub fn fence(&self) {
        match &self.half {
            Half::Mapped(mapping) => mapping.write_back.fence(),
            Half::Simulated(memory) => memory.fence(),
        }
    }

    /// Reads bytes.
    pub fn read(&self, at: usize, len: usize) -> Vec<u8> {
        assert!(at + len <= self.len_bytes, "{len} bytes at {at}");
        match &self.half {
            Half::Mapped(mapping) => mapping.read(at, len),
            Half::Simulated(memory) => memory.read(at, len),
        }
    }

    /// The word at this offset.
    pub fn read_word(&self, at: usize) -> u64 {
        let bytes = self.read(at, 8);
        bytes.first_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }
}

/// A file mapped for sharing, with all of its blocks allocated.
struct Mapping {
    start: NonNull<u8>,
    len_bytes: usize,
    write_back: WriteBack,
    is_dax: bool,
    /// Kept for its lock.
    _file: File,
}

// SAFETY: the mapping belongs to this value; it is no more bound to a thread than a `Box<[u8]>`.
unsafe impl Send for Mapping {}

impl Mapping {
    fn open(
        path: &Path,
        len_bytes: usize,
        is_new: bool,
        volume: PersistentVolume,
    ) -> Result<Mapping, IoError> {
        let verb = if is_new { "make" } else { "open" };
        let what = || format!("{verb} {}", path.display());
        let mut how = File::options();
        how.read(true).write(true).custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC);
        if is_new {
            how.create_new(true).mode(0o600);
        }
        let file = how.open(path).map_err(|error| IoError::from_std(&error, what()))?;
        let made = Mapping::prepare(file, path, len_bytes, is_new, volume);
        if made.is_err() && is_new {
            let _ = fs::remove_file(path);
        }
        made
    }

    fn prepare(
        file: File,
        path: &Path,
        len_bytes: usize,
        is_new: bool,
        volume: PersistentVolume,
    ) -> Result<Mapping, IoError> {
        let failed = |error: std::io::Error| IoError::from_std(&error, format!("open {}", path.display()));
        let refuse = |kind, why: &str| Err(IoError::new(kind, format!("open {}: {why}", path.display())));
        // SAFETY: a descriptor that is open.
        if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
            return refuse(IoErrorKind::Locked, "somebody else has it");
        }
        if is_new {
            crate::surviving::allocate(&file, path, 0, len_bytes)?;
            let folder = path.parent().unwrap_or(Path::new("."));
            file.sync_all().and_then(|()| File::open(folder)?.sync_all()).map_err(failed)?;
        }
        let metadata = file.metadata().map_err(failed)?;
        if !metadata.is_file() || metadata.nlink() != 1 || metadata.mode() & 0o077 != 0 {
            return refuse(IoErrorKind::Permission, "it is not ours alone");
        }
        if metadata.len() != len_bytes as u64 {
            return refuse(IoErrorKind::Invalid, "another size");
        }
        let map = |flags| {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            // SAFETY: a new mapping at an address that the system chooses, of a file that is open and so long.
            let address =
                unsafe { libc::mmap(std::ptr::null_mut(), len_bytes, access, flags, file.as_raw_fd(), 0) };
            let start = NonNull::new(address.cast::<u8>()).filter(|_| address != libc::MAP_FAILED);
            start.ok_or_else(|| IoError::last(format!("map {} as persistent memory", path.display())))
        };
        let (start, is_dax) = match map(libc::MAP_SHARED_VALIDATE | libc::MAP_SYNC) {
            Ok(start) => (start, true),
            Err(_) if volume == PersistentVolume::Test && is_tmpfs(&file) => (map(libc::MAP_SHARED)?, false),
            Err(error) => return Err(error),
        };
        Ok(Mapping { start, len_bytes, write_back: WriteBack::of_processor(), is_dax, _file: file })
    }

    fn store(&self, at: usize, bytes: &[u8]) {
        // SAFETY: the place lies in the mapping, as the caller has looked; `bytes` is not of it, since nobody can borrow from it.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.start.as_ptr().add(at), bytes.len());
        }
    }

    fn word(&self, at: usize) -> &AtomicU64 {
        // SAFETY: a word of the mapping, which begins at a page, so it is aligned.
        unsafe { &*self.start.as_ptr().add(at).cast::<AtomicU64>() }
    }

    fn read(&self, at: usize, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        // SAFETY: as in `store`.
        unsafe { std::ptr::copy_nonoverlapping(self.start.as_ptr().add(at), bytes.as_mut_ptr(), len) };
        bytes
    }

    fn flush(&self, at: usize, len: usize) -> Result<(), IoError> {
        // SAFETY: the bytes lie in the mapping, as the caller has looked; it begins at a page.
        unsafe { self.write_back.begin(self.start.as_ptr().add(at), len) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping that `prepare` made, whole.
        let result = unsafe { libc::munmap(self.start.as_ptr().cast(), self.len_bytes) };
        debug_assert_eq!(result, 0, "what was mapped can be unmapped");
    }
}

fn is_tmpfs(file: &File) -> bool {
    let mut about = std::mem::MaybeUninit::<libc::statfs>::zeroed();
    // SAFETY: a descriptor that is open, and room for the answer, which zeros are a value of.
    let (result, about) =
        unsafe { (libc::fstatfs(file.as_raw_fd(), about.as_mut_ptr()), about.assume_init()) };
    result == 0 && about.f_type as u32 == TMPFS_MAGIC
}

/// Can files on the volume of this folder be persistent memory? Tested with a temporary file of one page.
pub(crate) fn is_persistent_volume(folder: &Path, volume: PersistentVolume) -> bool {
    static PROBES: AtomicU64 = AtomicU64::new(0);
    let number = PROBES.fetch_add(1, Ordering::Relaxed);
    let probe = folder.join(format!(".hardpan-dax-{}-{number}", std::process::id()));
    let is_one = Mapping::open(&probe, 4096, true, volume).is_ok();
    let _ = fs::remove_file(&probe);
    is_one
}

/// Removes persistent memory, if it exists.
pub(crate) fn remove(path: &Path) -> Result<(), IoError> {
    crate::surviving::remove(path).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEN_BYTES: usize = 64 << 10;

    fn path(name: &str) -> std::path::PathBuf {
        Path::new("/dev/shm").join(format!("hardpan-persistent-{name}-{}", std::process::id()))
    }

    #[test]
    fn what_is_stored_is_there_for_the_next_and_one_at_a_time_has_it() {
        let path = path("kept");
        let open = |is_new| PersistentMemory::open(&path, LEN_BYTES, is_new, PersistentVolume::Test);
        let memory = open(true).expect("room for a small file");
        assert!(!memory.is_dax() && memory.len_bytes() == LEN_BYTES);
        memory.store(4_090, b"over a page");
        memory.store_word(64, 7);
        memory.flush(4_090, 11).expect("instructions do not fail");
        memory.flush(64, 8).expect("instructions do not fail");
        memory.fence();
        let second = open(false).map(|_| ()).map_err(|error| error.kind);
        assert_eq!(second, Err(IoErrorKind::Locked), "another one would write over it");
        drop(memory);
        let memory = open(false).expect("it is there");
        assert_eq!((&memory.read(4_090, 11)[..], memory.read_word(64)), (&b"over a page"[..], 7));
        drop(memory);
        let other = PersistentMemory::open(&path, 2 * LEN_BYTES, false, PersistentVolume::Test);
        assert_eq!(other.map(|_| ()).map_err(|error| error.kind), Err(IoErrorKind::Invalid), "another size");
        remove(&path).expect("it is ours");
        assert_eq!(open(false).map(|_| ()).map_err(|error| error.kind), Err(IoErrorKind::NotFound));
    }

    /// Claim 72: the kernel says which volume is DAX; an in-memory file system is accepted only for tests, a disk never.
    #[test]
    fn only_a_dax_volume_or_for_a_test_tmpfs() {
        let path = path("volume");
        let dax_only = PersistentMemory::open(&path, LEN_BYTES, true, PersistentVolume::Dax);
        assert!(dax_only.is_err() && !path.exists(), "tmpfs refuses MAP_SYNC, and nothing is left");
        assert!(!is_persistent_volume(Path::new("/dev/shm"), PersistentVolume::Dax));
        assert!(is_persistent_volume(Path::new("/dev/shm"), PersistentVolume::Test));
        let disk = std::env::current_dir().expect("a folder");
        let on_disk = is_persistent_volume(&disk, PersistentVolume::Dax);
        assert_eq!(
            is_persistent_volume(&disk, PersistentVolume::Test),
            on_disk,
            "a disk never stands for it"
        );
        let left = fs::read_dir(&disk).expect("a folder").filter_map(Result::ok);
        assert!(left.into_iter().all(|file| !file.file_name().to_string_lossy().starts_with(".hardpan-dax")));
    }
}
