//! A run of a world: its first task, its clock and disk, and its report.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError};

use super::disk::SimDisk;
use super::report::{End, Report};
use super::world::World;
use crate::clock::{Clock, TICKS_PER_SECOND, UNIX_EPOCH_TICKS};
use crate::error::{IoError, IoErrorKind};
use crate::net::{Listener, Net, Poller, Stream};
use crate::os::Os;
use crate::seat::baton;

/// 2026-01-01T00:00:00Z, when virtual time begins, in seconds since 1970.
const BEGINNING_UNIX_SECONDS: i64 = 1_767_225_600;

impl World {
    /// Runs `root` as the first task of a new process in this world until it returns or something ends the run.
    /// May be called again: a restart on the disk as it is.
    pub fn run(&self, root: impl FnOnce(&Os) + Send + 'static) -> Report {
        assert!(baton().is_none(), "a simulated task cannot run a world");
        let run = self.inner.runs.fetch_add(1, Relaxed);
        self.disk().release_locks();
        self.surviving().release_locks();
        self.persistent().release_owners();
        self.inner.sched.begin();
        let os = self.os(run);
        let (for_root, world) = (os.clone(), self.clone());
        let root_body = move || {
            root(&for_root);
            world.inner.sched.end(End::Returned);
        };
        // The handle is not joined: the scheduler detects when all tasks are done.
        drop(os.try_spawn(&crate::SpawnOptions::named("root").stack_bytes(2 << 20), root_body));
        let (end, failures) = self.inner.sched.start_and_wait();
        drop(os);
        if end == End::PowerOff {
            self.power_loss();
        }
        self.report(end, failures)
    }

    fn os(&self, run: u64) -> Os {
        let seed = self.inner.seed ^ run.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let (disk, clock) =
            (Arc::new(SimDisk { world: self.clone() }), Arc::new(VirtualClock { world: self.clone() }));
        Os::assemble(disk, clock, Arc::new(NoNet), seed, Some(Arc::new(self.clone())))
    }

    fn report(&self, end: End, failures: Vec<String>) -> Report {
        let (sched_hash, switches, now_ns) = self.inner.sched.summary();
        let (disk_hash, io_total) = {
            let disk = self.disk();
            (disk.hash, disk.io_total)
        };
        let trace_hash = sched_hash.rotate_left(21) ^ disk_hash;
        let log = std::mem::take(&mut *self.inner.log.lock().unwrap_or_else(PoisonError::into_inner));
        Report { seed: self.inner.seed, end, trace_hash, switches, now_ns, io_total, failures, log }
    }
}

struct VirtualClock {
    world: World,
}

impl Clock for VirtualClock {
    fn monotonic_ns(&self) -> u64 {
        self.world.now_ns()
    }

    fn utc_100ns(&self) -> i64 {
        UNIX_EPOCH_TICKS + BEGINNING_UNIX_SECONDS * TICKS_PER_SECOND + (self.world.now_ns() / 100) as i64
    }

    fn about_utc_100ns(&self) -> i64 {
        self.utc_100ns()
    }

    fn keep_about(&self, _: bool) {}

    fn local_offset_minutes(&self) -> i32 {
        0
    }

    fn thread_cpu_ns(&self) -> u64 {
        0
    }
}

/// A world without a network (sessions are driven directly).
struct NoNet;

impl Net for NoNet {
    fn listen(&self, address: &str) -> Result<Arc<dyn Listener>, IoError> {
        Err(IoError::new(IoErrorKind::Invalid, format!("listen on {address}: this world has no network")))
    }

    fn connect(&self, address: &str, _timeout_ns: u64) -> Result<Arc<dyn Stream>, IoError> {
        Err(IoError::new(IoErrorKind::NotFound, format!("connect to {address}: this world has no network")))
    }

    fn poller(&self) -> Result<Poller, IoError> {
        Err(IoError::new(IoErrorKind::Invalid, "poll sockets: this world has no network"))
    }
}
