//! `Os`: the handle to one world, real or simulated; cheap to clone and passed explicitly.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::clock::{Clock, RealClock};
use crate::counters::CounterRegistry;
use crate::disk::Disk;
use crate::error::IoError;
use crate::futex::Woke;
use crate::net::Net;
use crate::persistent::{PersistentMemory, PersistentVolume};
use crate::rng::Rng;
use crate::seat::{self, Seat};
use crate::surviving::{SurvivingClaim, SurvivingImage, SurvivingLayout, SurvivingMemory};
use crate::task::{self, TaskRef};
use crate::thread::{self, JoinHandle, SpawnOptions};
use crate::wait::{Interrupted, WaitStats, WaitType};
use crate::waiting::Waiting;

/// One world. All clones are the same world.
#[derive(Clone)]
pub struct Os {
    inner: Arc<Inner>,
}

struct Inner {
    disk: Arc<dyn Disk>,
    clock: Arc<dyn Clock>,
    net: Arc<dyn Net>,
    seed: u64,
    counters: CounterRegistry,
    wait_stats: Arc<WaitStats>,
    world: Option<Arc<dyn SimulatedWorld>>,
}

/// A simulated world's replacement for the machine, besides disk, clock and network.
pub(crate) trait SimulatedWorld: Send + Sync {
    /// A seat for a new task.
    fn new_seat(&self, task: &TaskRef) -> Arc<dyn Seat>;
    /// Random bytes, by the seed.
    fn fill_random(&self, bytes: &mut [u8]);
    /// As [`Os::boot_id`].
    fn boot_id(&self) -> [u8; 16];
    /// As [`Os::create_surviving_memory`].
    fn create_surviving(&self, path: &Path, layout: SurvivingLayout) -> Result<SurvivingMemory, IoError>;
    /// As [`Os::read_surviving_memory`].
    fn read_surviving(&self, path: &Path, layout: SurvivingLayout) -> Result<SurvivingImage, IoError>;
    /// As [`Os::claim_surviving_memory`].
    fn claim_surviving(
        &self,
        path: &Path,
        layout: SurvivingLayout,
    ) -> Result<Option<SurvivingClaim>, IoError>;
    /// As [`Os::surviving_memory_in`].
    fn names_of_surviving(&self, folder: &Path) -> Result<Vec<PathBuf>, IoError>;
    /// As [`Os::remove_surviving_memory`].
    fn remove_surviving(&self, path: &Path) -> bool;
    /// As [`Os::make_surviving_folder`].
    fn make_surviving_folder(&self, folder: &Path) -> Result<(), IoError>;
    /// As [`Os::check_surviving_folder`].
    fn check_surviving_folder(&self, folder: &Path) -> Result<(), IoError>;
    /// As [`Os::remove_surviving_folder`].
    fn remove_surviving_folder(&self, folder: &Path) -> bool;
    /// As [`Os::persistent_memory`].
    fn persistent_memory(
        &self,
        path: &Path,
        len_bytes: usize,
        is_new: bool,
        volume: PersistentVolume,
    ) -> Result<PersistentMemory, IoError>;
    /// As [`Os::remove_persistent_memory`].
    fn remove_persistent(&self, path: &Path);
    /// As [`Os::is_persistent_volume`].
    fn is_persistent_volume(&self, folder: &Path, volume: PersistentVolume) -> bool;
}

impl Os {
    /// This machine. The calling thread becomes a task of it (its waits are counted here).
    pub fn real() -> Os {
        let mut seed = [0; 8];
        fill_from_system(&mut seed);
        let clock: Arc<dyn Clock> = Arc::new(RealClock);
        let (disk, net) = (crate::disk::real(), crate::net::real());
        let os = Os::assemble(disk, clock, net, u64::from_le_bytes(seed), None);
        task::set_current(os.new_task(std::thread::current().name().unwrap_or("main")));
        os
    }

    pub(crate) fn assemble(
        disk: Arc<dyn Disk>,
        clock: Arc<dyn Clock>,
        net: Arc<dyn Net>,
        seed: u64,
        world: Option<Arc<dyn SimulatedWorld>>,
    ) -> Os {
        let (counters, wait_stats) = (CounterRegistry::default(), Arc::default());
        Os { inner: Arc::new(Inner { disk, clock, net, seed, counters, wait_stats, world }) }
    }

    /// Files and directories.
    pub fn disk(&self) -> &dyn Disk {
        &*self.inner.disk
    }

    /// The time.
    pub fn clock(&self) -> &dyn Clock {
        &*self.inner.clock
    }

    /// Sockets.
    pub fn net(&self) -> &dyn Net {
        &*self.inner.net
    }

    /// The stream of pseudo-random numbers of that name; equal in each call. Not for secrets.
    pub fn rng(&self, stream: &str) -> Rng {
        Rng::named(self.inner.seed, stream)
    }

    /// Random bytes fit for secrets (from the seed in simulation).
    pub fn fill_random(&self, bytes: &mut [u8]) {
        match &self.inner.world {
            None => fill_from_system(bytes),
            Some(world) => world.fill_random(bytes),
        }
    }

    /// Starts a task with 512 KB of stack. Panics when the system has no more threads; see [`Os::try_spawn`].
    pub fn spawn(&self, name: &str, body: impl FnOnce() + Send + 'static) -> JoinHandle {
        self.try_spawn(&SpawnOptions::named(name), body).expect("threads for the server's own work")
    }

    /// Starts a task; an error when the system has no more threads.
    pub fn try_spawn(
        &self,
        options: &SpawnOptions,
        body: impl FnOnce() + Send + 'static,
    ) -> Result<JoinHandle, IoError> {
        let task = self.new_task(&options.name);
        let seat = self.inner.world.as_ref().map(|world| world.new_seat(&task));
        thread::spawn(task, seat, options, body)
    }

    /// Starts a background task under a poison guard: if `body` panics, `on_panic` runs with the message (to suspend
    /// the database instead of hanging its waiters). It does not run when a simulated power loss unwinds the task.
    ///
    /// # Errors
    /// The system has no more threads.
    pub fn try_spawn_guarded(
        &self,
        options: &SpawnOptions,
        body: impl FnOnce() + Send + 'static,
        on_panic: impl FnOnce(&str) + Send + 'static,
    ) -> Result<JoinHandle, IoError> {
        let source = options.name.clone();
        self.try_spawn(options, move || {
            let Err(payload) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)) else { return };
            if !seat::is_run_over(payload.as_ref()) {
                let message = thread::panic_message(payload.as_ref());
                crate::report::error(&source, &format!("background task panicked: {message}"));
                on_panic(&message);
            }
            std::panic::resume_unwind(payload);
        })
    }

    /// Runs work whose panic fails only that work: an error with the panic's message. The panic may have left latches and
    /// memory in an inconsistent state, so the caller must not use any results of the work afterwards. A simulated power loss unwinds through it.
    ///
    /// # Errors
    /// The message of the panic.
    pub fn contain<T>(&self, source: &str, work: impl FnOnce() -> T) -> Result<T, String> {
        thread::contain(work).map_err(|payload| {
            if seat::is_run_over(payload.as_ref()) {
                std::panic::resume_unwind(payload);
            }
            let message = thread::panic_message(payload.as_ref());
            crate::report::error(source, &format!("a panic was contained: {message}"));
            message
        })
    }

    /// Makes the calling thread a task of this world, so that its waits are counted here. Not in simulation.
    pub fn adopt_thread(&self, name: &str) {
        assert!(self.inner.world.is_none(), "a simulated world has only the threads that it spawned");
        task::set_current(self.new_task(name));
    }

    /// Waits for `duration_ns`. Interruptible.
    pub fn sleep(&self, duration_ns: u64, wait_type: WaitType) -> Result<(), Interrupted> {
        let waiting = Waiting::begin(wait_type);
        let deadline_ns = waiting.began_ns().saturating_add(duration_ns);
        loop {
            if task::interrupt_pending() {
                return Err(Interrupted);
            }
            if waiting.task().park(Some(deadline_ns)) == Woke::TimedOut {
                return Ok(());
            }
        }
    }

    /// Makes zeroed memory that outlives the process, and replaces an existing one of that name.
    pub fn create_surviving_memory(
        &self,
        path: &Path,
        layout: SurvivingLayout,
    ) -> Result<SurvivingMemory, IoError> {
        match &self.inner.world {
            None => SurvivingMemory::create(path, layout),
            Some(world) => world.create_surviving(path, layout),
        }
    }

    /// Reads the contents that a dead process has left in such memory. Errors when there is none of this size that only our user can access.
    pub fn read_surviving_memory(
        &self,
        path: &Path,
        layout: SurvivingLayout,
    ) -> Result<SurvivingImage, IoError> {
        match &self.inner.world {
            None => SurvivingImage::read(path, layout),
            Some(world) => world.read_surviving(path, layout),
        }
    }

    /// The names in a folder of such memory, including folders.
    pub fn surviving_memory_in(&self, folder: &Path) -> Result<Vec<PathBuf>, IoError> {
        match &self.inner.world {
            None => crate::surviving_folder::names_in(folder),
            Some(world) => world.names_of_surviving(folder),
        }
    }

    /// Makes a folder for such memory that only our user can access, if it does not exist. Errors as [`Os::check_surviving_folder`].
    pub fn make_surviving_folder(&self, folder: &Path) -> Result<(), IoError> {
        match &self.inner.world {
            None => crate::surviving_folder::make(folder),
            Some(world) => world.make_surviving_folder(folder),
        }
    }

    /// Errors unless the folder exists (`NotFound`) and is private (`Permission`): this user's, closed to other users, and not a link.
    pub fn check_surviving_folder(&self, folder: &Path) -> Result<(), IoError> {
        match &self.inner.world {
            None => crate::surviving_folder::check(folder),
            Some(world) => world.check_surviving_folder(folder),
        }
    }

    /// Removes such a folder if it is empty; false when it is not, or does not exist.
    pub fn remove_surviving_folder(&self, folder: &Path) -> bool {
        match &self.inner.world {
            None => crate::surviving_folder::remove(folder),
            Some(world) => world.remove_surviving_folder(folder),
        }
    }

    /// Claims such memory if no living process uses it (`None`: one does).
    pub fn claim_surviving_memory(
        &self,
        path: &Path,
        layout: SurvivingLayout,
    ) -> Result<Option<SurvivingClaim>, IoError> {
        match &self.inner.world {
            None => SurvivingClaim::take(path, layout),
            Some(world) => world.claim_surviving(path, layout),
        }
    }

    /// Removes such memory; false if it did not exist.
    pub fn remove_surviving_memory(&self, path: &Path) -> Result<bool, IoError> {
        match &self.inner.world {
            None => crate::surviving::remove(path),
            Some(world) => Ok(world.remove_surviving(path)),
        }
    }

    /// Persistent memory in a file: a new, zeroed one when `is_new`, else an existing one. Errors when it is not on such a volume,
    /// when it has another size, and when another process uses it.
    pub fn persistent_memory(
        &self,
        path: &Path,
        len_bytes: usize,
        is_new: bool,
        volume: PersistentVolume,
    ) -> Result<PersistentMemory, IoError> {
        match &self.inner.world {
            None => PersistentMemory::open(path, len_bytes, is_new, volume),
            Some(world) => world.persistent_memory(path, len_bytes, is_new, volume),
        }
    }

    /// Removes persistent memory, if it exists.
    pub fn remove_persistent_memory(&self, path: &Path) -> Result<(), IoError> {
        match &self.inner.world {
            None => crate::persistent::remove(path),
            Some(world) => {
                world.remove_persistent(path);
                Ok(())
            }
        }
    }

    /// Can files in this folder be persistent memory?
    pub fn is_persistent_volume(&self, folder: &Path, volume: PersistentVolume) -> bool {
        match &self.inner.world {
            None => crate::persistent::is_persistent_volume(folder, volume),
            Some(world) => world.is_persistent_volume(folder, volume),
        }
    }

    /// The system's boot id, which changes with each start; none when the system has none.
    pub fn boot_id(&self) -> Option<[u8; 16]> {
        match &self.inner.world {
            None => crate::surviving::system_boot_id(),
            Some(world) => Some(world.boot_id()),
        }
    }

    /// True in a simulated world.
    pub fn is_simulated(&self) -> bool {
        self.inner.world.is_some()
    }

    /// Performance counters of this instance.
    pub fn counters(&self) -> &CounterRegistry {
        &self.inner.counters
    }

    /// Wait statistics of this instance.
    pub fn wait_stats(&self) -> &WaitStats {
        &self.inner.wait_stats
    }

    /// A point where a simulation may switch to another task; nothing in production.
    #[inline]
    pub fn yield_point(&self) {
        seat::yield_point();
    }

    /// A point where a simulation may delay the task for a long time while others run, like a machine that preempts it; nothing in
    /// production. `place` is the name that is counted. Unwinds as [`Os::yield_point`] does.
    #[inline]
    pub fn stall_point(&self, place: &'static str) {
        seat::stall_point(place);
    }

    /// A task without a thread of its own: threads take turns to run it, by [`task::run_as`].
    pub fn new_task(&self, name: &str) -> TaskRef {
        TaskRef::new(name, Arc::clone(&self.inner.wait_stats), Arc::clone(&self.inner.clock))
    }
}

fn fill_from_system(bytes: &mut [u8]) {
    getrandom::fill(bytes).expect("every Linux has a source of randomness");
}
