//! [`World`]: a simulated world, and the functions with which a test controls it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use super::bug::Bug;
use super::disk_state::{DiskImage, DiskState};
use super::fault::Fault;
use super::persistent_state::PersistentState;
use super::profile::Profile;
use super::report::End;
use super::sched::Scheduler;
use super::surviving_state::SurvivingState;
use super::trace::WriteEvent;
use crate::rng::Rng;
use crate::seat::{note_world, unwind_if_over};

/// A simulated world; all clones are the same.
#[derive(Clone)]
pub struct World {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    pub(super) seed: u64,
    pub(super) profile: Profile,
    pub(super) sched: Scheduler,
    pub(super) disk: Mutex<DiskState>,
    pub(super) secrets: Mutex<Rng>,
    pub(super) surviving: Mutex<SurvivingState>,
    pub(super) persistent: Mutex<PersistentState>,
    /// The run ends in this way before that many more stores into memory that outlives the process.
    pub(super) end_at_store: Mutex<Option<(u64, End)>>,
    /// Number of `run`s so far.
    pub(super) runs: AtomicU64,
    pub(super) log: Mutex<Vec<String>>,
    /// 0 or a `Bug` plus 1.
    pub(super) planted: AtomicU8,
    /// Whether tasks are delayed at stall points.
    pub(super) stalls: Mutex<Option<Stalls>>,
    /// A fault to be injected when a task reaches a stall point.
    pub(super) ambush: Mutex<Option<Ambush>>,
    /// How often each coverage point was reached.
    pub(super) reached: Mutex<BTreeMap<String, u64>>,
}

/// How tasks are delayed at `Os::stall_point`.
pub(super) struct Stalls {
    rng: Rng,
    /// One time in so many.
    one_in: u64,
    /// Longest delay.
    max_ns: u64,
    /// Only at points with this in their name.
    on: &'static str,
}

/// A fault that begins at `Os::stall_point`.
pub(super) struct Ambush {
    place: &'static str,
    /// Tasks that still pass.
    passes: u64,
    fault: Fault,
}

impl World {
    /// A world with an empty disk.
    pub fn new(seed: u64, profile: Profile) -> World {
        World::with_disk(seed, profile, DiskImage::default())
    }

    /// A world that begins with the disk of another one.
    pub fn with_disk(seed: u64, profile: Profile, image: DiskImage) -> World {
        note_world();
        let disk = Mutex::new(DiskState::new(image, Rng::named(seed, "disk"), &profile));
        let sched = Scheduler::new(Rng::named(seed, "scheduler"), &profile);
        let secrets = Mutex::new(Rng::named(seed, "secrets"));
        let surviving = Mutex::new(SurvivingState::new(Rng::named(seed, "surviving memory")));
        let persistent = Mutex::new(PersistentState::new(Rng::named(seed, "persistent memory")));
        let (runs, log) = (AtomicU64::new(0), Mutex::default());
        World {
            inner: Arc::new(Inner {
                seed,
                profile,
                sched,
                disk,
                secrets,
                surviving,
                persistent,
                end_at_store: Mutex::default(),
                runs,
                log,
                planted: AtomicU8::new(0),
                stalls: Mutex::default(),
                ambush: Mutex::default(),
                reached: Mutex::default(),
            }),
        }
    }

    /// Cuts the power: the disk freezes at this moment, then all tasks unwind. Does not return in a task of this world.
    pub fn power_off(&self) {
        self.inner.sched.end(End::PowerOff);
        unwind_if_over();
    }

    /// Kills the process: all tasks unwind, the page cache survives. Does not return in a task of this world.
    pub fn kill_process(&self) {
        self.inner.sched.end(End::Killed);
        unwind_if_over();
    }

    /// Cuts the power when the scheduler has switched `count` more times.
    pub fn power_off_after_switches(&self, count: u64) {
        self.inner.sched.end_after(count, End::PowerOff);
    }

    /// Kills the process when the scheduler has switched `count` more times.
    pub fn kill_after_switches(&self, count: u64) {
        self.inner.sched.end_after(count, End::Killed);
    }

    /// Cuts the power before the `count`-th store into memory that outlives the process from now (1: the next one); a flush or fence of
    /// persistent memory, and each half of a longer store, is one too.
    pub fn power_off_after_stores(&self, count: u64) {
        *self.end_at_store() = Some((count, End::PowerOff));
    }

    /// Kills the process there.
    pub fn kill_after_stores(&self, count: u64) {
        *self.end_at_store() = Some((count, End::Killed));
    }

    pub(super) fn end_at_store(&self) -> std::sync::MutexGuard<'_, Option<(u64, End)>> {
        self.inner.end_at_store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a store that is about to be made; returns how the run is to end before it, if it is.
    pub(super) fn count_store(&self) -> Option<End> {
        let mut armed = self.end_at_store();
        let left = armed.as_mut()?;
        left.0 = left.0.saturating_sub(1);
        let due = armed.take_if(|left| left.0 == 0).map(|left| left.1);
        due.filter(|_| !self.inner.sched.is_over())
    }

    /// Cancels `power_off_after_*` and `kill_after_*`.
    pub fn disarm(&self) {
        self.inner.sched.end_after(u64::MAX >> 1, End::Killed);
        self.disk().power_off_after(u64::MAX >> 1);
        *self.end_at_store() = None;
    }

    /// Plants a known bug in this world, to prove that the checkers detect it.
    pub fn plant(&self, bug: Option<Bug>) {
        self.inner.planted.store(bug.map_or(0, |bug| bug as u8 + 1), Relaxed);
    }

    /// Delays tasks at an `Os::stall_point` with `on` in its name one time in `one_in` (0: never), for `max_ns` at
    /// most.
    pub fn stall_tasks(&self, one_in: u64, max_ns: u64, on: &'static str) {
        let stalls = Stalls { rng: Rng::named(self.inner.seed, "stalls"), one_in, max_ns, on };
        let mut present = self.inner.stalls.lock().unwrap_or_else(PoisonError::into_inner);
        *present = (one_in > 0).then_some(stalls);
    }

    /// Adds a fault when a task comes to the `Os::stall_point` of that name for the `count`-th time from now (1: the next time). One at a time.
    pub fn inject_at(&self, place: &'static str, count: u64, fault: Fault) {
        assert!(count > 0, "the first time is 1");
        let ambush = Ambush { place, passes: count - 1, fault };
        *self.inner.ambush.lock().unwrap_or_else(PoisonError::into_inner) = Some(ambush);
    }

    /// Cancels `inject_at`, if no task has reached the point.
    pub fn call_off(&self) {
        *self.inner.ambush.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Called when a task reaches this point.
    pub(super) fn spring(&self, place: &str) {
        let mut ambush = self.inner.ambush.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(here) = ambush.as_mut().filter(|ambush| ambush.place == place) else { return };
        if here.passes > 0 {
            here.passes -= 1;
        } else if let Some(sprung) = ambush.take() {
            self.inject(sprung.fault);
        }
    }

    /// The delay of the calling task at this point, if any.
    pub(super) fn draw_stall(&self, place: &str) -> Option<u64> {
        let mut stalls = self.inner.stalls.lock().unwrap_or_else(PoisonError::into_inner);
        let Stalls { rng, one_in, max_ns, .. } =
            stalls.as_mut().filter(|stalls| place.contains(stalls.on))?;
        rng.chance(1, *one_in).then(|| 1 + rng.below(*max_ns))
    }

    /// Cuts the power in the middle of the `count`-th disk operation from now (1: the next one).
    pub fn power_off_after_ios(&self, count: u64) {
        self.disk().power_off_after(count);
    }

    /// Draws what survives a power loss. For a world that does not run; `run` does it by itself after `power_off`.
    pub fn power_loss(&self) {
        self.disk().power_loss();
        self.inner.surviving.lock().unwrap_or_else(PoisonError::into_inner).power_loss();
        self.persistent().power_loss();
    }

    /// Adds a fault.
    pub fn inject(&self, fault: Fault) {
        self.disk().faults.add(fault);
    }

    /// Removes all faults.
    pub fn clear_faults(&self) {
        self.disk().faults.clear();
    }

    /// Limits the bytes that all files together may have (`None`: no limit).
    pub fn set_capacity_bytes(&self, capacity: Option<u64>) {
        self.disk().capacity_bytes = capacity;
    }

    /// Bytes that all files have together.
    pub fn used_bytes(&self) -> u64 {
        self.disk().used_bytes()
    }

    /// Overwrites bytes of a file behind the system's back: bit rot, misdirected writes.
    pub fn corrupt(&self, path: &Path, offset: u64, bytes: &[u8]) {
        self.disk().corrupt(path, offset, bytes);
    }

    /// The present content of a file, for oracles; no I/O as far as the world is concerned.
    pub fn file_bytes(&self, path: &Path) -> Option<Vec<u8>> {
        self.disk().file_bytes(path)
    }

    /// From now on notes each write of file content (`File::write_at` and queued ones) for [`World::take_writes`].
    pub fn trace_writes(&self) {
        self.disk().trace.begin();
    }

    /// The writes noted since the last call, in the order in which the device saw them.
    pub fn take_writes(&self) -> Vec<WriteEvent> {
        self.disk().trace.take()
    }

    /// The paths of all files.
    pub fn files(&self) -> Vec<PathBuf> {
        self.disk().files()
    }

    /// The disk as it is, to begin another world with.
    pub fn disk_image(&self) -> DiskImage {
        self.disk().image()
    }

    /// Disk operations so far.
    pub fn io_total(&self) -> u64 {
        self.disk().io_total
    }

    /// Operations that an injected fault has hit.
    pub fn faults_hit_total(&self) -> u64 {
        self.disk().faults.hits_total
    }

    /// Virtual time.
    pub fn now_ns(&self) -> u64 {
        self.inner.sched.now_ns()
    }

    /// The places that [`reach`](super::reach) was called from, over all runs.
    pub fn reached(&self) -> BTreeMap<String, u64> {
        self.inner.reached.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The seed.
    pub fn seed(&self) -> u64 {
        self.inner.seed
    }

    /// Notes a failure and ends the run (an oracle inside the world).
    pub fn fail(&self, text: &str) {
        self.inner.sched.fail(text);
        unwind_if_over();
    }

    pub(super) fn disk(&self) -> std::sync::MutexGuard<'_, DiskState> {
        self.inner.disk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
