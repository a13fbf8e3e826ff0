//! Files of Linux: direct where allowed, `pwritev2(RWF_DSYNC)` for durable writes, loops around short transfers.

use std::fs;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::links;
use super::queue::ThreadQueue;
use super::{
    AlignedBuf, DeviceTraits, DirectoryEntry, Disk, File, FileLock, FileStats, IoKind, IoQueue, Meter,
    OpenOptions, PendingIo, PendingRequests, WriteMode, read_whole, write_whole,
};
use crate::clock::monotonic_ns;
use crate::error::{IoError, IoErrorKind};
use crate::wait::WaitType;
use crate::waiting::Waiting;

/// The unit of zero writes.
const ZERO_CHUNK_BYTES: usize = 1 << 20;

pub(super) struct LinuxDisk;

struct LinuxFile {
    file: fs::File,
    path: PathBuf,
    direct: bool,
    /// False once the file system has refused RWF_DSYNC.
    dsync_works: AtomicBool,
    device: DeviceTraits,
    read_wait: WaitType,
    write_wait: WaitType,
    meter: Meter,
    pending: PendingRequests,
    claims: Claims,
}

/// The byte count that a system call reports: the real one.
#[cfg(not(test))]
#[derive(Default)]
struct Claims();

#[cfg(not(test))]
impl Claims {
    fn cut(&self, count: usize) -> usize {
        count
    }
}

/// For tests: at most so many (0: the real count).
#[cfg(test)]
#[derive(Default)]
struct Claims(std::sync::atomic::AtomicUsize);

#[cfg(test)]
impl Claims {
    fn cut(&self, count: usize) -> usize {
        match self.0.load(Relaxed) {
            0 => count,
            most => count.min(most),
        }
    }
}

impl Disk for LinuxDisk {
    fn open(&self, path: &Path, options: &OpenOptions) -> Result<Arc<dyn File>, IoError> {
        Ok(Arc::new(LinuxFile::open(path, options)?))
    }

    fn exists(&self, path: &Path) -> bool {
        path.exists()
    }

    fn create_dir_all(&self, path: &Path) -> Result<(), IoError> {
        fs::create_dir_all(path)
            .map_err(|e| IoError::from_std(&e, format!("make directory {}", path.display())))
    }

    fn create_private_dir(&self, path: &Path) -> Result<(), IoError> {
        match fs::DirBuilder::new().mode(0o700).create(path) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists || !path.is_dir() => {
                Err(IoError::from_std(&error, format!("make directory {}", path.display())))
            }
            _ => Ok(()),
        }
    }

    fn canonical(&self, path: &Path) -> Result<PathBuf, IoError> {
        links::canonical(path)
            .map_err(|e| IoError::from_std(&e, format!("follow the links of {}", path.display())))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), IoError> {
        let what = || format!("rename {} to {}", from.display(), to.display());
        fs::rename(from, to).map_err(|e| IoError::from_std(&e, what()))
    }

    fn remove(&self, path: &Path) -> Result<(), IoError> {
        links::remove_file(path).map_err(|e| IoError::from_std(&e, format!("remove {}", path.display())))
    }

    fn remove_dir(&self, path: &Path) -> Result<(), IoError> {
        fs::remove_dir(path)
            .map_err(|e| IoError::from_std(&e, format!("remove directory {}", path.display())))
    }

    fn list(&self, path: &Path) -> Result<Vec<DirectoryEntry>, IoError> {
        let fail = |error: std::io::Error| IoError::from_std(&error, format!("list {}", path.display()));
        let mut entries = Vec::new();
        for entry in fs::read_dir(path).map_err(fail)? {
            let entry = entry.map_err(fail)?;
            let is_directory = entry.file_type().map_err(fail)?.is_dir();
            entries.push(DirectoryEntry {
                name: entry.file_name().to_string_lossy().into_owned(),
                is_directory,
            });
        }
        entries.sort();
        Ok(entries)
    }

    fn sync_dir(&self, path: &Path) -> Result<(), IoError> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let synced = fs::File::open(path).and_then(|directory| directory.sync_all());
        synced.map_err(|e| IoError::from_std(&e, format!("sync directory {}", path.display())))
    }

    fn identity_of(&self, path: &Path) -> Result<(u64, u64), IoError> {
        let found = fs::metadata(path).map(|metadata| (metadata.dev(), metadata.ino()));
        found.map_err(|e| IoError::from_std(&e, format!("device and inode of {}", path.display())))
    }

    fn free_bytes(&self, path: &Path) -> Result<u64, IoError> {
        let stat = file_system(path)?;
        Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
    }

    fn total_bytes(&self, path: &Path) -> Result<u64, IoError> {
        let stat = file_system(path)?;
        Ok(stat.f_blocks.saturating_mul(stat.f_frsize))
    }

    fn lock_file(&self, path: &Path) -> Result<FileLock, IoError> {
        let file = open_with(path, &OpenOptions::create(), 0)
            .map_err(|e| IoError::from_std(&e, format!("open lock file {}", path.display())))?;
        // SAFETY: flock on an open descriptor.
        if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
            let mut error = IoError::last(format!("lock {}", path.display()));
            if error.os_code == libc::EWOULDBLOCK {
                error.kind = IoErrorKind::Locked;
            }
            return Err(error);
        }
        Ok(FileLock { _held: Box::new(file) })
    }

    fn restrict_to_owner(&self, path: &Path) -> Result<(), IoError> {
        let set = fs::set_permissions(path, fs::Permissions::from_mode(0o600));
        set.map_err(|e| IoError::from_std(&e, format!("restrict access to {}", path.display())))
    }

    fn io_queue(&self, depth: usize) -> Box<dyn IoQueue> {
        Box::new(ThreadQueue::new(depth))
    }
}

/// The system's figures for the file system of `path`.
fn file_system(path: &Path) -> Result<libc::statvfs, IoError> {
    let what = || format!("space of {}", path.display());
    let c_path = std::ffi::CString::new(path.as_os_str().as_encoded_bytes())
        .map_err(|_| IoError::new(IoErrorKind::Invalid, what()))?;
    // SAFETY: `statvfs` is plain data; the path is a C string; both live through the call.
    let (result, stat) = unsafe {
        let mut stat: libc::statvfs = std::mem::zeroed();
        (libc::statvfs(c_path.as_ptr(), &mut stat), stat)
    };
    if result == 0 { Ok(stat) } else { Err(IoError::last(what())) }
}

fn open_with(path: &Path, options: &OpenOptions, flags: i32) -> std::io::Result<fs::File> {
    let flags = flags | libc::O_CLOEXEC;
    if options.no_links {
        return links::open(path, options, flags);
    }
    fs::OpenOptions::new()
        .read(true)
        .write(!options.read_only)
        .create(options.create && !options.read_only)
        .create_new(options.create_new && !options.read_only)
        .custom_flags(flags)
        .mode(links::mode_of(options))
        .open(path)
}

/// The offset alignment that direct I/O needs on this file (statx), 512 when the kernel does not say.
fn direct_alignment(file: &fs::File) -> u32 {
    // SAFETY: `statx` is plain data; an empty path with AT_EMPTY_PATH means the descriptor itself.
    let (result, stat) = unsafe {
        let mut stat: libc::statx = std::mem::zeroed();
        let (flags, mask) = (libc::AT_EMPTY_PATH, libc::STATX_DIOALIGN);
        (libc::statx(file.as_raw_fd(), c"".as_ptr(), flags, mask, &mut stat), stat)
    };
    let told = result == 0 && stat.stx_mask & libc::STATX_DIOALIGN != 0 && stat.stx_dio_offset_align > 0;
    if told { stat.stx_dio_offset_align.max(512) } else { 512 }
}

impl LinuxFile {
    fn open(path: &Path, options: &OpenOptions) -> Result<LinuxFile, IoError> {
        let fail = |error: std::io::Error| IoError::from_std(&error, format!("open {}", path.display()));
        let (file, direct) = if options.direct {
            match open_with(path, options, libc::O_DIRECT) {
                Ok(file) => (file, true),
                // tmpfs and some network file systems refuse O_DIRECT; a refused O_DIRECT has made the file already.
                Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                    let again = OpenOptions {
                        create_new: false,
                        create: options.create || options.create_new,
                        ..*options
                    };
                    (open_with(path, &again, 0).map_err(fail)?, false)
                }
                Err(error) => return Err(fail(error)),
            }
        } else {
            (open_with(path, options, 0).map_err(fail)?, false)
        };
        let sector_bytes = if direct { direct_alignment(&file) } else { 512 };
        Ok(LinuxFile {
            file,
            path: path.to_owned(),
            direct,
            dsync_works: AtomicBool::new(true),
            device: DeviceTraits { sector_bytes, atomic_write_bytes: sector_bytes },
            read_wait: options.read_wait,
            write_wait: options.write_wait,
            meter: Meter::default(),
            pending: PendingRequests::default(),
            claims: Claims::default(),
        })
    }

    fn what(&self, verb: &str, bytes: usize, offset: u64) -> String {
        format!("{verb} {bytes} bytes at {offset} of {}", self.path.display())
    }

    fn needs_bounce(&self, pointer: *const u8, len: usize) -> bool {
        let unit = self.device.sector_bytes as usize;
        self.direct && (!(pointer as usize).is_multiple_of(unit) && len > 0)
    }

    /// The alignment of every transfer.
    fn unit(&self) -> usize {
        if self.direct { self.device.sector_bytes as usize } else { 1 }
    }

    fn read_loop(&self, buffer: &mut [u8], offset: u64) -> Result<usize, IoError> {
        let wanted = buffer.len();
        let what = || self.what("read", wanted, offset);
        let read_once = |part: &mut [u8], from: usize| {
            loop {
                match self.file.read_at(part, offset + from as u64) {
                    Ok(count) => return Ok(self.claims.cut(count)),
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(IoError::from_std(&error, what())),
                }
            }
        };
        read_whole(buffer, self.unit(), read_once, || Ok(self.len()?.saturating_sub(offset)), what)
    }

    fn write_loop(&self, bytes: &[u8], offset: u64, mode: WriteMode) -> Result<(), IoError> {
        let what = || self.what("write", bytes.len(), offset);
        let mut dsync = mode == WriteMode::Durable && self.dsync_works.load(Relaxed);
        let mut wrote_without_dsync = false;
        let write_once = |part: &[u8], from: usize| {
            loop {
                let flags = if dsync { libc::RWF_DSYNC } else { 0 };
                match pwritev2(self.file.as_raw_fd(), part, offset + from as u64, flags) {
                    Ok(count) => {
                        wrote_without_dsync |= !dsync;
                        return Ok(self.claims.cut(count));
                    }
                    Err(error) => match error.raw_os_error() {
                        Some(libc::EINTR) => {}
                        Some(libc::EOPNOTSUPP | libc::ENOSYS) if dsync => {
                            self.dsync_works.store(false, Relaxed);
                            dsync = false;
                        }
                        // EINVAL is either a refused flag or a misaligned request: without the flag it shows which.
                        Some(libc::EINVAL) if dsync => dsync = false,
                        _ => return Err(IoError::from_std(&error, what())),
                    },
                }
            }
        };
        write_whole(bytes, self.unit(), write_once, what)?;
        if mode == WriteMode::Durable && wrote_without_dsync {
            self.sync_data()?;
        }
        Ok(())
    }

    /// Extents for a range, unwritten where there were none; false where the file system has no such call.
    fn fallocate(&self, from: u64, to: u64) -> Result<bool, IoError> {
        assert!(from <= to, "room from {from} to {to}");
        if from == to {
            return Ok(true);
        }
        loop {
            let (offset, len) = (from as libc::off_t, (to - from) as libc::off_t);
            // SAFETY: four integers, and a descriptor that is open as long as `self`.
            if unsafe { libc::fallocate(self.file.as_raw_fd(), 0, offset, len) } == 0 {
                return Ok(true);
            }
            let error = std::io::Error::last_os_error();
            match error.raw_os_error() {
                Some(libc::EINTR) => {}
                Some(libc::EOPNOTSUPP | libc::ENOSYS | libc::EINVAL) => return Ok(false),
                _ => {
                    let what = format!("set {from}..{to} of {} aside", self.path.display());
                    return Err(IoError::from_std(&error, what));
                }
            }
        }
    }

    fn sync_data(&self) -> Result<(), IoError> {
        self.file.sync_data().map_err(|e| IoError::from_std(&e, format!("sync {}", self.path.display())))
    }
}

impl File for LinuxFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, IoError> {
        let waiting = Waiting::begin(self.read_wait);
        let _underway = self.pending.begin(IoKind::Read, offset, buffer.len(), waiting.began_ns());
        let count = if self.needs_bounce(buffer.as_ptr(), buffer.len()) {
            let mut bounce = AlignedBuf::new(buffer.len());
            let count = self.read_loop(&mut bounce, offset)?;
            buffer[..count].copy_from_slice(&bounce[..count]);
            count
        } else {
            self.read_loop(buffer, offset)?
        };
        self.meter.note_read(count as u64, monotonic_ns().saturating_sub(waiting.began_ns()));
        Ok(count)
    }

    fn write_at(&self, bytes: &[u8], offset: u64, mode: WriteMode) -> Result<(), IoError> {
        let waiting = Waiting::begin(self.write_wait);
        let _underway = self.pending.begin(IoKind::Write, offset, bytes.len(), waiting.began_ns());
        if self.needs_bounce(bytes.as_ptr(), bytes.len()) {
            self.write_loop(&AlignedBuf::from_slice(bytes, bytes.len()), offset, mode)?;
        } else {
            self.write_loop(bytes, offset, mode)?;
        }
        self.meter.note_write(bytes.len() as u64, monotonic_ns().saturating_sub(waiting.began_ns()));
        Ok(())
    }

    fn sync(&self) -> Result<(), IoError> {
        let waiting = Waiting::begin(self.write_wait);
        let _underway = self.pending.begin(IoKind::Sync, 0, 0, waiting.began_ns());
        self.sync_data()?;
        self.meter.note_sync(monotonic_ns().saturating_sub(waiting.began_ns()));
        Ok(())
    }

    fn len(&self) -> Result<u64, IoError> {
        let metadata = self.file.metadata();
        metadata
            .map(|m| m.len())
            .map_err(|e| IoError::from_std(&e, format!("length of {}", self.path.display())))
    }

    fn set_len(&self, bytes: u64) -> Result<(), IoError> {
        let what = || format!("set length of {} to {bytes}", self.path.display());
        self.file.set_len(bytes).map_err(|e| IoError::from_std(&e, what()))
    }

    fn allocate_zeroed(&self, from: u64, to: u64) -> Result<(), IoError> {
        assert!(
            from <= to && from.is_multiple_of(512) && to.is_multiple_of(512),
            "zeroing {from}..{to} off the sector grid"
        );
        // Filling allocated extents is several times faster than extending a file; without `fallocate` the writes extend it.
        self.fallocate(from, to)?;
        let zeros = AlignedBuf::new(ZERO_CHUNK_BYTES.min((to - from) as usize));
        let mut at = from;
        while at < to {
            let count = ZERO_CHUNK_BYTES.min((to - at) as usize);
            self.write_at(&zeros[..count], at, WriteMode::Cached)?;
            at += count as u64;
        }
        let waiting = Waiting::begin(self.write_wait);
        let _underway = self.pending.begin(IoKind::Sync, 0, 0, waiting.began_ns());
        // fsync, not fdatasync: the new length and extents must be durable.
        self.file.sync_all().map_err(|e| IoError::from_std(&e, format!("sync {}", self.path.display())))?;
        self.meter.note_sync(monotonic_ns().saturating_sub(waiting.began_ns()));
        Ok(())
    }

    fn reserve(&self, from: u64, to: u64) -> Result<bool, IoError> {
        let len = self.len()?;
        assert!(len == from, "room is set aside at the end {len} of a file, not at {from}");
        self.fallocate(from, to)
    }

    fn device(&self) -> DeviceTraits {
        self.device
    }

    fn stats(&self) -> FileStats {
        self.meter.snapshot()
    }

    fn pending(&self) -> Vec<PendingIo> {
        self.pending.snapshot()
    }

    fn is_direct(&self) -> bool {
        self.direct
    }

    fn path(&self) -> &Path {
        &self.path
    }

    fn identity(&self) -> (u64, u64) {
        self.file.metadata().map_or((0, 0), |metadata| (metadata.dev(), metadata.ino()))
    }
}

fn pwritev2(fd: RawFd, bytes: &[u8], offset: u64, flags: i32) -> std::io::Result<usize> {
    let part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    // SAFETY: one iovec over live bytes, which the kernel only reads.
    let count = unsafe { libc::pwritev2(fd, &part, 1, offset as libc::off_t, flags) };
    if count < 0 { Err(std::io::Error::last_os_error()) } else { Ok(count as usize) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A system that reports fewer bytes than requested, at any position: both directions, direct and cached, durable or not.
    #[test]
    fn short_calls_of_the_system_are_continued() {
        let directory = std::env::temp_dir().join(format!("hardpan-os-short-{}", std::process::id()));
        fs::create_dir_all(&directory).expect("a place for files");
        for (number, direct) in [false, true].into_iter().enumerate() {
            let path = directory.join(format!("f{number}"));
            let file =
                LinuxFile::open(&path, &OpenOptions { direct, ..OpenOptions::create() }).expect("a new file");
            let unit = file.unit();
            for most in [unit + 1, 2 * unit + 7, 5_000] {
                file.claims.0.store(most.max(unit), Relaxed);
                for mode in [WriteMode::Cached, WriteMode::Durable] {
                    let bytes: Vec<u8> = (0..12 * 1024).map(|at| (at % 253 + most % 3) as u8).collect();
                    file.write_at(&bytes, 8192, mode).expect("a short write is continued");
                    let mut back = AlignedBuf::new(bytes.len());
                    file.read_exact_at(&mut back, 8192).expect("a short read is continued");
                    assert!(back[..] == bytes[..], "direct {direct}, {most} bytes a call, {mode:?}");
                    let mut beyond = AlignedBuf::new(bytes.len() + 8192);
                    let got = file.read_at(&mut beyond, 8192).expect("the end of the file is no error");
                    assert_eq!(got, bytes.len(), "the file ends where it ends");
                }
            }
            file.claims.0.store(600_000, Relaxed);
            file.allocate_zeroed(0, 3 << 20).expect("short writes of zeros, too");
            assert_eq!(file.len().expect("a length"), 3 << 20);
        }
        fs::remove_dir_all(directory).expect("its files go");
    }

    /// The last bytes of a file whose length is no multiple of a sector, read by direct I/O.
    #[test]
    fn an_odd_end_of_a_direct_file_is_read() {
        let path = std::env::temp_dir().join(format!("hardpan-os-odd-{}", std::process::id()));
        fs::write(&path, vec![5; 10_001]).expect("a file");
        let file =
            LinuxFile::open(&path, &OpenOptions { direct: true, ..OpenOptions::default() }).expect("opens");
        let mut buffer = AlignedBuf::new(16_384);
        assert_eq!(file.read_at(&mut buffer, 0).expect("what is there"), 10_001);
        file.claims.0.store(file.unit() + 3, Relaxed);
        assert_eq!(file.read_at(&mut buffer, 0).expect("what is there"), 10_001);
        fs::remove_file(path).expect("it was there");
    }
}
