//! Files of the simulated disk: each operation is counted, may be affected by a fault, and takes virtual time; contract in `disk.rs`.

use std::path::{Path, PathBuf};

use super::fault::{Effect, Operation, device_error, full_error};
use super::inode::SECTOR_BYTES;
use super::world::World;
use crate::disk::{
    DeviceTraits, File, FileStats, IoKind, Meter, PendingIo, PendingRequests, Underway, WriteMode,
    read_whole, write_whole,
};
use crate::error::{IoError, IoErrorKind};
use crate::seat::{baton, unwind_if_over};
use crate::wait::WaitType;
use crate::waiting::Waiting;

/// The decision about an operation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Succeed,
    /// It moves so many bytes.
    Short(usize),
    Fail,
    NoSpace,
    /// It does half of its work, then the power fails.
    PowerOff,
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

/// Lets device time pass, when the caller is a task of a world (a test may read files from outside).
pub(super) fn pass_time(ns: u64) {
    if let Some(seat) = baton() {
        seat.pass_time(ns);
    }
}

/// A write that was issued and is not yet confirmed.
pub(super) struct Started {
    pub(super) fate: Fate,
    pub(super) takes_ns: u64,
    ticket: u64,
}

pub(super) struct SimFile {
    pub(super) world: World,
    pub(super) inode: u64,
    pub(super) path: PathBuf,
    pub(super) direct: bool,
    pub(super) read_only: bool,
    pub(super) read_wait: WaitType,
    pub(super) write_wait: WaitType,
    pub(super) meter: Meter,
    pub(super) pending: PendingRequests,
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

    /// The alignment of every transfer.
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

    /// Issues the bytes of a queued request: readers see them, a power loss may lose them.
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

    /// One system call: issues the bytes of `asked` before `cut`.
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
