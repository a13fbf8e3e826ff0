//! The simulated disk. Its contract is the adversary's:
//!
//! * A completed `Cached` write is seen by readers, but until a `sync` of the file has returned, a power loss decides
//!   **per 512-byte sector** whether the last durable version, the newest or any version in between survives. Order is
//!   free: across sectors, writes and files. A `Durable` write has the same freedom until it has returned.
//! * With `Profile::torn_sectors` a surviving unconfirmed sector may itself be torn: its tail old, or garbage.
//! * A new length is lost or kept like a sector; what a kept length newly covers is zeros where no sector survived.
//! * A created, renamed or removed name is durable only after `sync_dir` of its directory; until then each directory
//!   keeps a prefix of its changes. A file's own sync does not make its name durable.
//! * `sync`, `Durable` and `sync_dir` are honest: what they confirmed survives. (A device that lies cannot be survived.)
//! * An injected `Fail` of a write leaves any of its sectors behind; of a sync, it may drop what cached writes had left
//!   dirty, and a later sync then returns success without making it durable.
//! * At `power_off` the image freezes first; then the tasks unwind, so nothing that destructors do reaches the disk.
//!
//! * Reads and writes may move fewer bytes than asked for (`Profile::short_transfers_percent`, `Effect::Short`); the loop of the real half
//!   continues them. A queued request is continued by the queue's worker: the disk sees it whole.
//!
//! Each operation takes virtual time by the profile and is a switch point; requests of a queue complete in any order.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::fault::{Effect, Faults, Operation, device_error, full_error};
use super::inode::{Inode, SECTOR_BYTES};
use super::names::{Names, Node, missing};
use super::queue::SimQueue;
use super::trace::WriteTrace;
use super::{Profile, World, baton, unwind_if_over};
use crate::disk::{
    DeviceTraits, DirectoryEntry, Disk, File, FileLock, FileStats, IoKind, IoQueue, Meter, OpenOptions,
    PendingIo, PendingRequests, Underway, WriteMode, read_whole, write_whole,
};
use crate::error::{IoError, IoErrorKind};
use crate::rng::Rng;
use crate::wait::{WaitType, Waiting};

/// A disk's content, to begin a world with. Everything in it counts as durable.
#[derive(Clone, Default)]
pub struct DiskImage {
    names: Names,
    inodes: BTreeMap<u64, Inode>,
}

pub(super) struct DiskState {
    names: Names,
    inodes: BTreeMap<u64, Inode>,
    next_inode: u64,
    next_ticket: u64,
    locks: BTreeSet<PathBuf>,
    rng: Rng,
    profile: Profile,
    power_off_at: Option<u64>,
    pub(super) faults: Faults,
    pub(super) capacity_bytes: Option<u64>,
    pub(super) io_total: u64,
    pub(super) hash: u64,
    pub(super) trace: WriteTrace,
}

/// How one power loss treats unconfirmed versions; drawn once per loss, so that extremes occur.
pub(super) enum Survival {
    KeepAll,
    LoseAll,
    /// Versions up to a moment survive, none after it.
    UpTo(u64),
    /// Each for itself, in 1/16.
    Each(u64),
}

impl Survival {
    /// Which of `versions` (ticket first, oldest first) survives; `None`: the durable one.
    pub(super) fn draw(&self, versions: &[(u64, u64)], rng: &mut Rng) -> Option<usize> {
        match *self {
            Survival::KeepAll => versions.len().checked_sub(1),
            Survival::LoseAll => None,
            Survival::UpTo(ticket) => versions.iter().rposition(|version| version.0 <= ticket),
            Survival::Each(chance) if versions.is_empty() || !rng.chance(chance, 16) => None,
            Survival::Each(_) => Some(rng.below(versions.len() as u64) as usize),
        }
    }
}

impl DiskState {
    pub(super) fn new(image: DiskImage, rng: Rng, profile: &Profile) -> DiskState {
        let next_inode = image.inodes.last_key_value().map_or(1, |(&inode, _)| inode + 1);
        DiskState {
            names: image.names,
            inodes: image.inodes,
            next_inode,
            next_ticket: 1,
            locks: BTreeSet::new(),
            rng,
            profile: profile.clone(),
            power_off_at: None,
            faults: Faults::default(),
            capacity_bytes: None,
            io_total: 0,
            hash: 0,
            trace: WriteTrace::default(),
        }
    }

    /// A new process: the locks of the old one are gone with it.
    pub(super) fn release_locks(&mut self) {
        self.locks.clear();
    }

    pub(super) fn power_off_after(&mut self, count: u64) {
        self.power_off_at = Some(self.io_total + count);
    }

    pub(super) fn power_loss(&mut self) {
        let newest = self.next_ticket;
        let survival = match self.rng.below(10) {
            0 => Survival::KeepAll,
            1 | 2 => Survival::LoseAll,
            3 | 4 => Survival::UpTo(newest.saturating_sub(self.rng.below(64))),
            _ => Survival::Each(1 + self.rng.below(15)),
        };
        self.names.lose_power(self.profile.lossy_names, &mut self.rng);
        let named: BTreeSet<u64> = self.names.files().map(|(_, inode)| inode).collect();
        self.inodes.retain(|inode, _| named.contains(inode));
        for inode in self.inodes.values_mut() {
            inode.lose_power(&survival, self.profile.torn_sectors, &mut self.rng);
        }
        self.power_off_at = None;
    }

    pub(super) fn used_bytes(&self) -> u64 {
        self.names
            .files()
            .filter_map(|(_, inode)| self.inodes.get(&inode))
            .map(|inode| inode.bytes.len() as u64)
            .sum()
    }

    pub(super) fn corrupt(&mut self, path: &Path, offset: u64, bytes: &[u8]) {
        let inode = self.names.file(path).expect("the file to corrupt exists");
        let content = &mut self.inode(inode).bytes;
        let start = offset as usize;
        assert!(start + bytes.len() <= content.len(), "corrupting beyond the end of {}", path.display());
        content[start..start + bytes.len()].copy_from_slice(bytes);
    }

    pub(super) fn file_bytes(&self, path: &Path) -> Option<Vec<u8>> {
        let inode = self.names.file(path).ok()?;
        self.inodes.get(&inode).map(|inode| inode.bytes.clone())
    }

    pub(super) fn files(&self) -> Vec<PathBuf> {
        self.names.files().map(|(path, _)| path.clone()).collect()
    }

    pub(super) fn image(&self) -> DiskImage {
        let mut image = DiskImage { names: self.names.clone(), inodes: self.inodes.clone() };
        image.names.settle();
        for inode in image.inodes.values_mut() {
            inode.settle();
        }
        image
    }

    fn inode(&mut self, inode: u64) -> &mut Inode {
        self.inodes.entry(inode).or_default()
    }

    fn ticket(&mut self) -> u64 {
        self.next_ticket += 1;
        self.next_ticket
    }

    fn check_room(&self, inode: u64, end: u64, what: impl FnOnce() -> String) -> Result<(), IoError> {
        let Some(capacity) = self.capacity_bytes else { return Ok(()) };
        let len = self.inodes.get(&inode).map_or(0, |inode| inode.bytes.len() as u64);
        let growth = end.saturating_sub(len);
        if growth > 0 && self.used_bytes() + growth > capacity { Err(full_error(what())) } else { Ok(()) }
    }

    fn mix(&mut self, value: u64) {
        self.hash = (self.hash ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31);
    }

    fn drawn_ns(&mut self, range: (u64, u64), bytes: usize) -> u64 {
        self.rng.between(range.0, range.1) + self.profile.ns_per_kib * (bytes as u64).div_ceil(1024)
    }
}

/// What the admission of an operation decided.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Succeed,
    /// It moves so many bytes.
    Short(usize),
    Fail,
    NoSpace,
    /// It does its work halfway, then the power goes.
    PowerOff,
}

/// The one kind of `Disk` in a simulated world.
pub(super) struct SimDisk {
    pub(super) world: World,
}

impl SimDisk {
    /// Every operation begins here: unwinds when the run is over, counts, asks the faults.
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

pub(super) fn admit(
    world: &World,
    operation: Operation,
    path: &Path,
    tag: u64,
) -> Result<(Fate, u64), IoError> {
    unwind_if_over();
    if world.inner.sched.is_over() {
        // A destructor of an unwinding task: the disk is frozen.
        return Err(IoError::new(IoErrorKind::Io, format!("{}: the power is off", path.display())));
    }
    let mut disk = world.disk();
    disk.io_total += 1;
    disk.mix(tag);
    let text = path.to_string_lossy();
    let effect = disk.faults.strike(operation, &text);
    if disk.power_off_at.is_some_and(|at| disk.io_total >= at) {
        disk.power_off_at = None;
        return Ok((Fate::PowerOff, 0));
    }
    Ok(match effect {
        None => (Fate::Succeed, 0),
        Some(Effect::Fail) => (Fate::Fail, 0),
        Some(Effect::NoSpace) => (Fate::NoSpace, 0),
        Some(Effect::Delay(ns)) => (Fate::Succeed, ns),
        Some(Effect::Short(bytes)) => (Fate::Short(bytes), 0),
        Some(Effect::PowerOff) => (Fate::PowerOff, 0),
        Some(Effect::LatePowerOff(ns)) => (Fate::PowerOff, ns),
    })
}

/// Turns a fate into a result; a power-off does not return.
pub(super) fn finish(world: &World, fate: Fate, what: impl FnOnce() -> String) -> Result<(), IoError> {
    match fate {
        Fate::Succeed | Fate::Short(_) => Ok(()),
        Fate::Fail => Err(device_error(what())),
        Fate::NoSpace => Err(full_error(what())),
        Fate::PowerOff => {
            world.power_off();
            Err(device_error(what()))
        }
    }
}

/// Lets device time pass, when the caller is a task of a world (a test may look at files from outside).
pub(super) fn pass_time(ns: u64) {
    if let Some(seat) = baton() {
        seat.pass_time(ns);
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

    fn device_of(&self, path: &Path) -> Result<u64, IoError> {
        self.world.disk().names.get(path).map(|_| 0).ok_or_else(|| missing(path))
    }

    fn free_bytes(&self, _path: &Path) -> Result<u64, IoError> {
        let disk = self.world.disk();
        Ok(disk.capacity_bytes.unwrap_or(1 << 40).saturating_sub(disk.used_bytes()))
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

/// A write that has been handed to the device and not yet confirmed.
pub(super) struct Started {
    pub(super) fate: Fate,
    pub(super) takes_ns: u64,
    ticket: u64,
}

pub(super) struct SimFile {
    world: World,
    inode: u64,
    path: PathBuf,
    direct: bool,
    read_only: bool,
    read_wait: WaitType,
    write_wait: WaitType,
    meter: Meter,
    pending: PendingRequests,
}

impl SimFile {
    fn what(&self, verb: &str, bytes: usize, offset: u64) -> String {
        format!("{verb} {bytes} bytes at {offset} of {}", self.path.display())
    }

    /// Notes a request as pending.
    pub(super) fn begin(&self, kind: IoKind, offset: u64, bytes: usize) -> Underway {
        self.pending.begin(kind, offset, bytes, self.world.now_ns())
    }

    fn check_alignment(&self, len: usize, offset: u64) -> Result<(), IoError> {
        if self.direct && !(len.is_multiple_of(SECTOR_BYTES) && offset.is_multiple_of(SECTOR_BYTES as u64)) {
            return Err(IoError::from_code(libc::EINVAL, self.what("direct I/O of", len, offset)));
        }
        Ok(())
    }

    /// What every transfer begins and ends at a multiple of.
    fn unit(&self) -> usize {
        if self.direct { SECTOR_BYTES } else { 1 }
    }

    /// The bytes that this call moves.
    fn moved(&self, started: &Started, wanted: usize) -> usize {
        match started.fate {
            Fate::Short(bytes) => bytes.min(wanted),
            _ => wanted,
        }
    }

    /// By the profile, some transfers are cut short.
    fn draw_short(&self, fate: Fate, wanted: usize) -> Fate {
        let percent = self.world.inner.profile.short_transfers_percent;
        if fate != Fate::Succeed || percent == 0 {
            return fate;
        }
        let mut disk = self.world.disk();
        if disk.rng.chance(percent, 100) {
            Fate::Short(disk.rng.below(wanted as u64 + 1) as usize)
        } else {
            fate
        }
    }

    /// One call of the system.
    fn read_once(&self, part: &mut [u8], offset: u64) -> Result<usize, IoError> {
        let mut started = self.start_read(part.len(), offset)?;
        started.fate = self.draw_short(started.fate, part.len());
        pass_time(started.takes_ns);
        let count = self.moved(&started, part.len());
        self.take_bytes(&started, &mut part[..count], offset)
    }

    /// One call of the system.
    fn write_once(&self, part: &[u8], offset: u64, mode: WriteMode) -> Result<usize, IoError> {
        let wanted = part.len();
        let cut = match self.draw_short(Fate::Succeed, wanted) {
            Fate::Short(bytes) => bytes,
            _ => wanted,
        };
        let started = self.start_part(part, cut, offset, mode)?;
        pass_time(started.takes_ns);
        let count = self.moved(&started, cut);
        self.end_write(&started, count, offset, mode)?;
        Ok(count)
    }

    pub(super) fn start_read(&self, len: usize, offset: u64) -> Result<Started, IoError> {
        self.check_alignment(len, offset)?;
        let (fate, extra_ns) = admit(&self.world, Operation::Read, &self.path, offset)?;
        let read_ns = self.world.inner.profile.read_ns;
        let takes_ns = self.world.disk().drawn_ns(read_ns, len) + extra_ns;
        Ok(Started { fate, takes_ns, ticket: 0 })
    }

    fn take_bytes(&self, started: &Started, buffer: &mut [u8], offset: u64) -> Result<usize, IoError> {
        finish(&self.world, started.fate, || self.what("read", buffer.len(), offset))?;
        let count = self.world.disk().inode(self.inode).read(buffer, offset);
        self.meter.note_read(count as u64, started.takes_ns);
        Ok(count)
    }

    /// A queued read: all of it or an error.
    pub(super) fn end_read(&self, started: &Started, buffer: &mut [u8], offset: u64) -> Result<(), IoError> {
        let count = self.take_bytes(started, buffer, offset)?;
        if count == buffer.len() {
            return Ok(());
        }
        Err(IoError::new(IoErrorKind::UnexpectedEof, self.what("read", buffer.len(), offset)))
    }

    /// The bytes of a queued request are on their way: readers see them, a power loss may take them.
    pub(super) fn start_write(&self, bytes: &[u8], offset: u64, mode: WriteMode) -> Result<Started, IoError> {
        let mut started = self.start_part(bytes, bytes.len(), offset, mode)?;
        if let Fate::Short(count) = started.fate {
            let rest = count.min(bytes.len());
            self.world.disk().inode(self.inode).write(
                &bytes[rest..],
                offset + rest as u64,
                started.ticket,
                mode,
            );
            started.fate = Fate::Succeed;
        }
        Ok(started)
    }

    /// One call of the system: of `asked`, the bytes before `cut` are on their way.
    fn start_part(&self, asked: &[u8], cut: usize, offset: u64, mode: WriteMode) -> Result<Started, IoError> {
        self.check_alignment(asked.len(), offset)?;
        let bytes = &asked[..cut];
        if self.read_only {
            return Err(IoError::from_code(libc::EBADF, self.what("write", bytes.len(), offset)));
        }
        let operation = if mode == WriteMode::Durable { Operation::Harden } else { Operation::Write };
        let (mut fate, extra_ns) =
            admit(&self.world, operation, &self.path, offset ^ (bytes.len() as u64) << 40)?;
        let mut disk = self.world.disk();
        let checksum =
            bytes.iter().fold(0u64, |sum, &byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
        disk.mix(checksum);
        if disk.check_room(self.inode, offset + bytes.len() as u64, String::new).is_err()
            && fate == Fate::Succeed
        {
            fate = Fate::NoSpace;
        }
        let range = match mode {
            WriteMode::Cached => disk.profile.cached_write_ns,
            WriteMode::Durable => disk.profile.durable_write_ns,
        };
        let takes_ns = disk.drawn_ns(range, bytes.len()) + extra_ns;
        let ticket = disk.ticket();
        let bytes = match fate {
            Fate::Short(count) => &bytes[..count.min(bytes.len())],
            _ => bytes,
        };
        disk.trace.note_issued(&self.path, offset, bytes);
        match fate {
            Fate::Succeed | Fate::Short(_) | Fate::PowerOff => {
                disk.inode(self.inode).write(bytes, offset, ticket, mode);
            }
            Fate::NoSpace => {}
            // Any part of a failed write may have arrived.
            Fate::Fail => {
                let kept =
                    disk.rng.below(bytes.len() as u64 / SECTOR_BYTES as u64 + 1) as usize * SECTOR_BYTES;
                disk.inode(self.inode).write(&bytes[..kept.min(bytes.len())], offset, ticket, mode);
            }
        }
        Ok(Started { fate, takes_ns, ticket })
    }

    pub(super) fn end_write(
        &self,
        started: &Started,
        len: usize,
        offset: u64,
        mode: WriteMode,
    ) -> Result<(), IoError> {
        unwind_if_over();
        finish(&self.world, started.fate, || self.what("write", len, offset))?;
        if mode == WriteMode::Durable
            && !self.world.disk().inode(self.inode).confirm_range(offset, len, started.ticket)
        {
            return Err(device_error(self.what("write", len, offset)));
        }
        self.meter.note_write(len as u64, started.takes_ns);
        self.world.disk().trace.note_completed(&self.path, offset, len);
        Ok(())
    }
}

impl File for SimFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, IoError> {
        let _waiting = Waiting::begin(self.read_wait);
        let _underway = self.begin(IoKind::Read, offset, buffer.len());
        let wanted = buffer.len();
        let what = || self.what("read", wanted, offset);
        let bytes_there = || Ok(self.len()?.saturating_sub(offset));
        let read_once = |part: &mut [u8], from: usize| self.read_once(part, offset + from as u64);
        read_whole(buffer, self.unit(), read_once, bytes_there, what)
    }

    fn write_at(&self, bytes: &[u8], offset: u64, mode: WriteMode) -> Result<(), IoError> {
        let _waiting = Waiting::begin(self.write_wait);
        let _underway = self.begin(IoKind::Write, offset, bytes.len());
        let what = || self.what("write", bytes.len(), offset);
        let write_once = |part: &[u8], from: usize| self.write_once(part, offset + from as u64, mode);
        write_whole(bytes, self.unit(), write_once, what)
    }

    fn sync(&self) -> Result<(), IoError> {
        let _waiting = Waiting::begin(self.write_wait);
        let _underway = self.begin(IoKind::Sync, 0, 0);
        let (fate, extra_ns) = admit(&self.world, Operation::Sync, &self.path, 5)?;
        let sync_ns = self.world.inner.profile.sync_ns;
        let (takes_ns, ticket) = {
            let mut disk = self.world.disk();
            (disk.drawn_ns(sync_ns, 0) + extra_ns, disk.ticket())
        };
        pass_time(takes_ns);
        let result = finish(&self.world, fate, || format!("sync {}", self.path.display()));
        let mut disk = self.world.disk();
        if let Err(error) = result {
            let mut rng = disk.rng.clone();
            disk.inode(self.inode).doom(&mut rng);
            disk.rng = rng;
            return Err(error);
        }
        disk.inode(self.inode).confirm_all(ticket);
        self.meter.note_sync(takes_ns);
        Ok(())
    }

    fn len(&self) -> Result<u64, IoError> {
        unwind_if_over();
        Ok(self.world.disk().inode(self.inode).bytes.len() as u64)
    }

    fn set_len(&self, bytes: u64) -> Result<(), IoError> {
        let what = || format!("set length of {} to {bytes}", self.path.display());
        let (fate, extra_ns) = admit(&self.world, Operation::Write, &self.path, bytes)?;
        let cached_ns = self.world.inner.profile.cached_write_ns;
        let ns = self.world.disk().drawn_ns(cached_ns, 0) + extra_ns;
        pass_time(ns);
        finish(&self.world, fate, what)?;
        let mut disk = self.world.disk();
        disk.check_room(self.inode, bytes, what)?;
        let ticket = disk.ticket();
        disk.inode(self.inode).set_len(bytes, ticket);
        Ok(())
    }

    fn allocate_zeroed(&self, from: u64, to: u64) -> Result<(), IoError> {
        assert!(
            from <= to && from.is_multiple_of(512) && to.is_multiple_of(512),
            "zeroing {from}..{to} off the sector grid"
        );
        let _waiting = Waiting::begin(self.write_wait);
        let _underway = self.begin(IoKind::Write, from, (to - from) as usize);
        let what = || self.what("zero", (to - from) as usize, from);
        let (fate, extra_ns) = admit(&self.world, Operation::Harden, &self.path, from ^ to.rotate_left(20))?;
        let (takes_ns, ticket) = {
            let mut disk = self.world.disk();
            disk.check_room(self.inode, to, what)?;
            let ticket = disk.ticket();
            let inode = disk.inode(self.inode);
            // The file grows first and is zeroed afterwards: a power loss in between may leave any of it.
            if (inode.bytes.len() as u64) < to && fate != Fate::NoSpace {
                inode.set_len(to, ticket);
            }
            let sync_ns = disk.profile.sync_ns;
            (disk.drawn_ns(sync_ns, (to - from) as usize) + extra_ns, ticket)
        };
        pass_time(takes_ns);
        finish(&self.world, fate, what)?;
        self.world.disk().inode(self.inode).zero_durably(from, to, ticket);
        self.meter.note_write(to - from, takes_ns);
        Ok(())
    }

    fn reserve(&self, from: u64, to: u64) -> Result<bool, IoError> {
        let len = self.len()?;
        assert!(
            len == from && from <= to,
            "room is set aside at the end {len} of a file, not at {from}..{to}"
        );
        if !self.world.inner.profile.reserves {
            return Ok(false);
        }
        self.set_len(to)?;
        Ok(true)
    }

    fn device(&self) -> DeviceTraits {
        DeviceTraits { sector_bytes: 512, atomic_write_bytes: 512 }
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
        (0, self.inode)
    }

    fn as_any(&self) -> Option<&dyn std::any::Any> {
        Some(self)
    }
}
