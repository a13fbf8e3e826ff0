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
mod fault;
mod inode;
mod names;
pub(crate) mod persistent;
mod profile;
mod queue;
mod sched;
pub(crate) mod surviving;
mod trace;

use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, Once, PoisonError};

pub use disk::DiskImage;
pub use fault::{Effect, Fault, Operation, for_each_io_failure};
pub use persistent::{PERSISTENT_FOLDER, TEST_FOLDER};
pub use profile::Profile;
pub use trace::{WriteEvent, WriteStep};

use crate::clock::{Clock, TICKS_PER_SECOND, UNIX_EPOCH_TICKS};
use crate::error::{IoError, IoErrorKind};
use crate::net::{Listener, Net, Poller, Stream};
use crate::os::Os;
use crate::report::Level;
use crate::rng::Rng;
use crate::task::TaskRef;
use crate::word::Woke;
use disk::{DiskState, SimDisk};
use sched::{PowerOff, Scheduler};

/// 2026-01-01T00:00:00Z, when virtual time begins, in seconds since 1970.
const BEGINNING_UNIX_SECONDS: i64 = 1_767_225_600;

/// Set by the first world of the process and never taken back, so that latch ranks are tracked consistently.
static ANY_WORLD: AtomicBool = AtomicBool::new(false);

/// Installs the panic hook once.
static HOOK: Once = Once::new();

thread_local! {
    static SEAT: RefCell<Option<Seat>> = const { RefCell::new(None) };
    static PANICKED_AT: RefCell<String> = const { RefCell::new(String::new()) };
}

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
    any_world() && baton().is_some_and(|seat| seat.world.inner.planted.load(Relaxed) == bug as u8 + 1)
}

/// Says that the code of a world came by here: what a workload never reaches, its oracles never judge. Costs nothing outside a world.
#[inline]
pub fn reach(what: impl FnOnce() -> String) {
    if !any_world() {
        return;
    }
    if let Some(seat) = baton() {
        let mut reached = seat.world.inner.reached.lock().unwrap_or_else(PoisonError::into_inner);
        *reached.entry(what()).or_default() += 1;
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
        ANY_WORLD.store(true, Relaxed);
        HOOK.call_once(install_panic_hook);
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
        let for_root = os.clone();
        let root_body = move || {
            root(&for_root);
            if let Some(seat) = baton() {
                seat.world.inner.sched.end(End::Returned);
            }
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

    /// Takes back what `power_off_after_*` and `kill_after_switches` have set.
    pub fn disarm(&self) {
        self.inner.sched.end_after(u64::MAX >> 1, End::Killed);
        self.disk().power_off_after(u64::MAX >> 1);
        self.power_off_after_stores(u64::MAX);
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

    pub(crate) fn new_seat(&self, task: &TaskRef) -> Seat {
        Seat { world: self.clone(), index: self.inner.sched.add_seat(task) }
    }

    pub(crate) fn fill_random(&self, bytes: &mut [u8]) {
        self.inner.secrets.lock().unwrap_or_else(PoisonError::into_inner).fill(bytes);
    }

    fn os(&self, run: u64) -> Os {
        let seed = self.inner.seed ^ run.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let (disk, clock) =
            (Arc::new(SimDisk { world: self.clone() }), Arc::new(VirtualClock { world: self.clone() }));
        Os::assemble(disk, clock, Arc::new(NoNet), seed, Some(self.clone()))
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

/// A simulated thread's seat: its part in the passing of the baton.
#[derive(Clone)]
pub(crate) struct Seat {
    world: World,
    index: usize,
}

impl Seat {
    /// The life of a simulated thread: waits for the baton, runs `body`, passes the baton on for good.
    pub(crate) fn run(self, body: impl FnOnce()) {
        SEAT.set(Some(self.clone()));
        if self.world.inner.sched.await_first_turn(self.index) {
            body();
        }
        SEAT.set(None);
        self.world.inner.sched.leave(self.index);
    }

    /// The thread could not be started.
    pub(crate) fn give_up(&self) {
        self.world.inner.sched.forget_unstarted(self.index);
    }

    pub(crate) fn wait_word(&self, word: &AtomicU32, expected: u32, deadline_ns: Option<u64>) -> Woke {
        if word.load(Relaxed) != expected {
            return Woke::Woken;
        }
        let woke = self.world.inner.sched.block(self.index, word.as_ptr() as usize, deadline_ns);
        unwind_if_over();
        woke
    }

    pub(crate) fn wake_word(&self, word: &AtomicU32, count: u32) {
        self.world.inner.sched.wake(word.as_ptr() as usize, count);
    }

    /// Lets virtual time pass for this task (device latency).
    fn pass_time(&self, duration_ns: u64) {
        let deadline_ns = self.world.now_ns().saturating_add(duration_ns);
        // No word has address 0, so only the deadline ends this.
        self.world.inner.sched.block(self.index, 0, Some(deadline_ns));
        unwind_if_over();
    }
}

/// True once any simulated world has existed in the process.
#[inline]
pub(crate) fn any_world() -> bool {
    ANY_WORLD.load(Relaxed)
}

/// The calling thread's seat, if it is a simulated task.
#[inline]
pub(crate) fn baton() -> Option<Seat> {
    if !any_world() {
        return None;
    }
    SEAT.with_borrow(Clone::clone)
}

/// A place where the scheduler may switch. Never unwinds: it stands in the drop of latch guards.
#[inline]
pub(crate) fn maybe_switch() {
    if any_world() {
        maybe_switch_cold();
    }
}

#[cold]
fn maybe_switch_cold() {
    // A thread-local may be gone already when guards are dropped at the end of a thread.
    let seat = SEAT.try_with(|seat| seat.borrow().clone()).ok().flatten();
    if let Some(seat) = seat {
        seat.world.inner.sched.maybe_switch(seat.index);
    }
}

/// A place where the scheduler may switch and where an ended run unwinds.
pub(crate) fn yield_point() {
    if any_world() {
        maybe_switch_cold();
        unwind_if_over();
    }
}

/// Unwinds the calling task when its run has ended, unless it unwinds already.
fn unwind_if_over() {
    let Some(seat) = baton() else { return };
    if seat.world.inner.sched.is_over() && !std::thread::panicking() {
        std::panic::resume_unwind(Box::new(PowerOff));
    }
}

pub(crate) fn note_failure(text: &str) {
    if let Some(seat) = baton() {
        seat.world.inner.sched.fail(text);
    }
}

pub(crate) fn note_panic(payload: &(dyn Any + Send), message: &str) {
    if is_power_off(payload) {
        return;
    }
    if let Some(seat) = baton() {
        let name = seat.world.inner.sched.name_of(seat.index);
        let place = PANICKED_AT.take();
        seat.world.inner.sched.fail(&format!("task {name} panicked: {message} ({place})"));
    }
}

/// Panics of simulated tasks go into the report with their place, instead of to standard error
/// (unless `HARDPAN_SIM_PANICS` is set: then also there, with a backtrace if that is wanted).
fn install_panic_hook() {
    let before = std::panic::take_hook();
    let loud = std::env::var_os("HARDPAN_SIM_PANICS").is_some();
    std::panic::set_hook(Box::new(move |info| {
        let simulated = SEAT.try_with(|seat| seat.borrow().is_some()).unwrap_or(false);
        if simulated {
            PANICKED_AT.set(info.location().map(ToString::to_string).unwrap_or_default());
        }
        if !simulated || loud {
            before(info);
        }
    }));
}

/// True for the payload that unwinds the tasks of an ended run: not a bug, and to be passed on.
pub(crate) fn is_power_off(payload: &(dyn Any + Send)) -> bool {
    payload.is::<PowerOff>()
}

/// Takes a report line of a simulated task into the world's log; false: it is for the real one.
pub(crate) fn swallow_report(level: Level, source: &str, message: &str) -> bool {
    let Some(seat) = baton() else { return false };
    let line = format!("{:>12} ns {level:?} {source}: {message}", seat.world.now_ns());
    let mut log = seat.world.inner.log.lock().unwrap_or_else(PoisonError::into_inner);
    if log.len() >= 400 {
        log.drain(..200);
    }
    log.push(line);
    true
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
