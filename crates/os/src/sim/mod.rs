//! The simulated world: a deterministic scheduler of ordinary threads, virtual time, and a disk that keeps, loses or
//! tears what was not confirmed. Production and simulation run the same code of every crate above `os`.
//!
//! ```text
//!  World::new ──► run(root) ──root returns──► ended (Returned: page cache survives, as after kill -9)
//!                   │  ├─kill_process()─────► ended (Killed: the same, at any moment)
//!                   │  ├─power_off()────────► ended (PowerOff: the disk draws what survives)
//!                   │  └─panic, deadlock, never!, step limit ──► ended (Failed, see Report::failures)
//!                   └── each end unwinds all tasks; then run() again = restart on the surviving disk
//! ```
//! The same seed, profile and code give the same [`Report::trace_hash`].

mod disk;
mod disk_state;
mod fault;
mod file;
mod inode;
mod names;
mod persistent;
mod profile;
mod queue;
mod sched;
mod survival;
mod surviving;
mod trace;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

pub use disk_state::DiskImage;
pub use fault::{Effect, Fault, Operation, for_each_io_failure};
pub use persistent::{PERSISTENT_FOLDER, TEST_FOLDER};
pub use profile::Profile;
pub use trace::{WriteEvent, WriteStep};

use crate::clock::{Clock, TICKS_PER_SECOND, UNIX_EPOCH_TICKS};
use crate::error::{IoError, IoErrorKind};
use crate::futex::Woke;
use crate::net::{Listener, Net, Poller, Stream};
use crate::os::{Os, SimulatedWorld};
use crate::persistent::{PersistentMemory, PersistentVolume};
use crate::rng::Rng;
use crate::seat::{Seat, note_world};
use crate::seat::{any_world, baton, unwind_if_over};
use crate::surviving::{SurvivingClaim, SurvivingImage, SurvivingLayout, SurvivingMemory};
use crate::task::TaskRef;
use disk::SimDisk;
use disk_state::DiskState;
use sched::Scheduler;

/// 2026-01-01T00:00:00Z, when virtual time begins, in seconds since 1970.
const BEGINNING_UNIX_SECONDS: i64 = 1_767_225_600;

/// A simulated world; all clones are the same.
#[derive(Clone)]
pub struct World {
    inner: Arc<Inner>,
}

struct Inner {
    seed: u64,
    profile: Profile,
    sched: Scheduler,
    disk: Mutex<DiskState>,
    secrets: Mutex<Rng>,
    surviving: Mutex<surviving::SurvivingState>,
    persistent: Mutex<persistent::PersistentState>,
    /// The run ends so before that many more stores into memory that outlives the process.
    end_at_store: Mutex<Option<(u64, End)>>,
    /// Number of `run`s so far.
    runs: AtomicU64,
    log: Mutex<Vec<String>>,
    /// 0 or a `Bug` plus 1.
    planted: AtomicU8,
    /// How often each place was reached that says so.
    reached: Mutex<BTreeMap<String, u64>>,
}

/// Bugs that the code above contains on demand, and only in a world that asks for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Bug {
    /// A commit is acknowledged without waiting for its log.
    AcknowledgeBeforeHarden,
    /// The hardened position jumps to a completed block although one before it is still in flight.
    HardenedJumpsOverHole,
    /// A dirty page is written although its log is not hardened.
    PageBeforeLog,
    /// A commit over several databases is decided although it is not hardened that each of them is prepared.
    DecideBeforePrepared,
    /// A change reserves half the log that its undo needs.
    ReservationTooSmall,
    /// A VLF is given up for reuse although a transaction still needs it.
    VlfReusedUnderPin,
    /// Values of a sequence are handed out although the note of their range is not hardened.
    HandOutBeforeHarden,
    /// The status of a commit is told as HARDENED as soon as its record is in the log's cache.
    TicketBeforeHardened,
    /// Delayed commits are acknowledged whatever MAX_DELAY and MAX_LOSS say.
    LossBoundIgnored,
    /// tempdb's log drains by time like that of delayed commits elsewhere.
    TempdbDrains,
    /// A full commit lets others see what it has changed, by its locks and by its versions, before it is hard.
    SeenBeforeHarden,
    /// Row versions go with the newest commit, whatever snapshot is open.
    VersionFreedTooEarly,
    /// A snapshot sees what is committed after it.
    SnapshotSeesLaterCommit,
    /// A change under SNAPSHOT goes over what others have committed since.
    LostUpdateUnderSnapshot,
    /// A lock that REPEATABLE READ keeps on a row it has read is given back with the next row.
    ReadLockReleasedEarly,
    /// The log doctor has forgotten its rules.
    DoctorWithoutRules,
    /// What an earlier run or boot has left in memory that outlives the process is taken, whoever left it and whatever it continues.
    CacheOfFormerBoot,
    /// A record in memory that outlives the process counts before its bytes are there.
    CountedBeforeStored,
    /// A log file joins its log although nothing of it is durable.
    JoinBeforeHard,
    /// A log file leaves its log although VLFs of it are active.
    LeaveWhileNeeded,
    /// A log file is removed before master notes that it leaves.
    LeaveBeforeNoted,
    /// A data file is used although master does not note that it belongs to its database.
    UsedBeforeNoted,
    /// A data file, or its end, is given up although redo may still come to pages there.
    GivenUpBeforeCheckpoint,
    /// A log file is cut before its header says that it is smaller.
    ShrinkBeforeNoted,
    /// A log file's header counts what has been added to it before that is durable.
    GrowBeforeHard,
    /// Log that is being zeroed is used before the zeros are there.
    UseBeforeZeroed,
    /// A commit is acknowledged although its record in the persisted log buffer is still in the processor's caches.
    AcknowledgedBeforeFence,
    /// What the persisted log buffer has kept is not written to the log when that is opened.
    BufferNotCopied,
    /// What a persisted log buffer holds is taken whatever log and opening it was written for.
    BufferOfFormerLife,
    /// What a dead process has left in memory that outlives it is looked at, and not written to the log.
    LeftBehindNotTaken,
    /// Redo of a page that a tree was built of leaves its left neighbour ending there.
    BuiltPageNotChained,
}

/// True in a world that wants this bug. The places that ask are the ones a checker must be able to condemn.
#[inline]
pub fn is_planted(bug: Bug) -> bool {
    any_world() && is_planted_here(bug)
}

#[cold]
fn is_planted_here(bug: Bug) -> bool {
    baton().is_some_and(|seat| seat.is_planted(bug as u8))
}

/// Says that the code of a world came by here: what a workload never reaches, its oracles never judge. Costs nothing outside a world.
#[inline]
pub fn reach(what: impl FnOnce() -> String) {
    if !any_world() {
        return;
    }
    if let Some(seat) = baton() {
        seat.reached(what());
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The root task returned; what else ran was unwound. Unsynced data is still in the (simulated) page cache.
    Returned,
    /// `kill_process`: as `Returned`, in the middle of things.
    Killed,
    /// `power_off`: unconfirmed sectors, lengths and directory entries were kept, lost or torn.
    PowerOff,
    /// Something that must not happen; see [`Report::failures`].
    Failed,
}

/// What a run was like.
#[derive(Clone, Debug)]
pub struct Report {
    /// The world's seed.
    pub seed: u64,
    /// How it ended.
    pub end: End,
    /// Equal for equal seeds: over each scheduling decision and disk operation.
    pub trace_hash: u64,
    /// Hand-overs of the baton.
    pub switches: u64,
    /// Virtual time at the end.
    pub now_ns: u64,
    /// Disk operations since the world began.
    pub io_total: u64,
    /// Panics, deadlocks, `never!`s, exceeded limits.
    pub failures: Vec<String>,
    /// The last lines that the server reported.
    pub log: Vec<String>,
}

impl Report {
    /// Panics with the seed and the failures, if there were any.
    #[track_caller]
    pub fn assert_ok(&self) {
        if !self.failures.is_empty() || self.end == End::Failed {
            panic!(
                "simulation failed, seed {}:\n{}\nlog:\n{}",
                self.seed,
                self.failures.join("\n"),
                self.log.join("\n")
            );
        }
    }
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
        let surviving = Mutex::new(surviving::SurvivingState::new(Rng::named(seed, "surviving memory")));
        let persistent = Mutex::new(persistent::PersistentState::new(Rng::named(seed, "persistent memory")));
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
                reached: Mutex::default(),
            }),
        }
    }

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
        // The handle is not joined: the scheduler knows when all tasks are done.
        drop(os.try_spawn(&crate::SpawnOptions::named("root").stack_bytes(2 << 20), root_body));
        let (end, failures) = self.inner.sched.start_and_wait();
        drop(os);
        if end == End::PowerOff {
            self.power_loss();
        }
        self.report(end, failures)
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

    fn end_at_store(&self) -> std::sync::MutexGuard<'_, Option<(u64, End)>> {
        self.inner.end_at_store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A store is about to be made: how the run is to end before it, if it is.
    fn count_store(&self) -> Option<End> {
        let mut armed = self.end_at_store();
        let left = armed.as_mut()?;
        left.0 = left.0.saturating_sub(1);
        let due = armed.take_if(|left| left.0 == 0).map(|left| left.1);
        due.filter(|_| !self.inner.sched.is_over())
    }

    /// Takes back what `power_off_after_*` and `kill_after_*` have set.
    pub fn disarm(&self) {
        self.inner.sched.end_after(u64::MAX >> 1, End::Killed);
        self.disk().power_off_after(u64::MAX >> 1);
        *self.end_at_store() = None;
    }

    /// Lets the code of this world have a known bug, to prove that the checkers see it.
    pub fn plant(&self, bug: Option<Bug>) {
        self.inner.planted.store(bug.map_or(0, |bug| bug as u8 + 1), Relaxed);
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

    /// Takes all faults away.
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

    /// The places that [`reach`] was called from, over all runs.
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

    fn os(&self, run: u64) -> Os {
        let seed = self.inner.seed ^ run.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let (disk, clock) =
            (Arc::new(SimDisk { world: self.clone() }), Arc::new(VirtualClock { world: self.clone() }));
        Os::assemble(disk, clock, Arc::new(NoNet), seed, Some(Arc::new(self.clone())))
    }

    fn disk(&self) -> std::sync::MutexGuard<'_, DiskState> {
        self.inner.disk.lock().unwrap_or_else(PoisonError::into_inner)
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

/// A simulated thread's seat.
struct TaskSeat {
    world: World,
    index: usize,
}

impl Seat for TaskSeat {
    fn await_first_turn(&self) -> bool {
        self.world.inner.sched.await_first_turn(self.index)
    }

    fn leave(&self) {
        self.world.inner.sched.leave(self.index);
    }

    fn give_up(&self) {
        self.world.inner.sched.forget_unstarted(self.index);
    }

    fn wait_word(&self, word: &AtomicU32, expected: u32, deadline_ns: Option<u64>) -> Woke {
        if word.load(Relaxed) != expected {
            return Woke::Woken;
        }
        let woke = self.world.inner.sched.block(self.index, word.as_ptr() as usize, deadline_ns);
        unwind_if_over();
        woke
    }

    fn wake_word(&self, word: &AtomicU32, count: u32) {
        self.world.inner.sched.wake(word.as_ptr() as usize, count);
    }

    fn pass_time(&self, duration_ns: u64) {
        let deadline_ns = self.world.now_ns().saturating_add(duration_ns);
        // No word has address 0, so only the deadline ends this.
        self.world.inner.sched.block(self.index, 0, Some(deadline_ns));
        unwind_if_over();
    }

    fn maybe_switch(&self) {
        self.world.inner.sched.maybe_switch(self.index);
    }

    fn is_over(&self) -> bool {
        self.world.inner.sched.is_over()
    }

    fn fail(&self, text: &str) {
        self.world.inner.sched.fail(text);
    }

    fn panicked(&self, message: &str, place: &str) {
        let name = self.world.inner.sched.name_of(self.index);
        self.fail(&format!("task {name} panicked: {message} ({place})"));
    }

    fn report(&self, line: &str) {
        let line = format!("{:>12} ns {line}", self.world.now_ns());
        let mut log = self.world.inner.log.lock().unwrap_or_else(PoisonError::into_inner);
        if log.len() >= 400 {
            log.drain(..200);
        }
        log.push(line);
    }

    fn is_planted(&self, bug: u8) -> bool {
        self.world.inner.planted.load(Relaxed) == bug + 1
    }

    fn reached(&self, place: String) {
        let mut reached = self.world.inner.reached.lock().unwrap_or_else(PoisonError::into_inner);
        *reached.entry(place).or_default() += 1;
    }
}

/// What an `Os` asks of its simulated world instead of the machine.
impl SimulatedWorld for World {
    fn new_seat(&self, task: &TaskRef) -> Arc<dyn Seat> {
        Arc::new(TaskSeat { world: self.clone(), index: self.inner.sched.add_seat(task) })
    }

    fn fill_random(&self, bytes: &mut [u8]) {
        self.inner.secrets.lock().unwrap_or_else(PoisonError::into_inner).fill(bytes);
    }

    fn boot_id(&self) -> [u8; 16] {
        self.surviving_boot_id()
    }

    fn create_surviving(&self, path: &Path, layout: SurvivingLayout) -> Result<SurvivingMemory, IoError> {
        self.make_surviving(path, layout)
    }

    fn read_surviving(&self, path: &Path, layout: SurvivingLayout) -> Result<SurvivingImage, IoError> {
        self.surviving_image(path, layout)
    }

    fn claim_surviving(
        &self,
        path: &Path,
        layout: SurvivingLayout,
    ) -> Result<Option<SurvivingClaim>, IoError> {
        self.take_surviving(path, layout)
    }

    fn names_of_surviving(&self) -> Vec<PathBuf> {
        self.surviving_names()
    }

    fn remove_surviving(&self, path: &Path) {
        self.forget_surviving(path);
    }

    fn persistent_memory(
        &self,
        path: &Path,
        len_bytes: usize,
        is_new: bool,
        volume: PersistentVolume,
    ) -> Result<PersistentMemory, IoError> {
        self.open_persistent(path, len_bytes, is_new, volume)
    }

    fn remove_persistent(&self, path: &Path) {
        self.forget_persistent(path);
    }

    fn is_persistent_volume(&self, folder: &Path, volume: PersistentVolume) -> bool {
        self.has_persistent_volume(folder, volume)
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
