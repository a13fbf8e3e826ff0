//! Scenario `log`: eight tasks (in some worlds 48) append small transactions to a bare log in mixed durability; crash, reopen, judge.
//!
//! Oracles (faults F1-F4, F9, F10): an acknowledged commit survives with everything before it; lost records are a suffix;
//! no record exists that was not appended or that an earlier recovery did not show; where the log cache survives the process, its death loses no
//! acknowledged delayed commit; with a persisted log buffer, in some worlds, no crash loses any; in some worlds tasks leave commits pending,
//! several at once; the state that one recovery has shown, the next one shows too.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;

use log::{
    DelayedFlushPolicy, FlushReason, Growth, Log, LogError, LogLimitsProfile, LogOp, LogOptions, Lsn,
    PendingCommit, PersistedOptions,
};
use log::{RecordBuf, RecordHeader, TxnId};
use os::sim::{Bug, End, Profile, World};
use os::{Latch, LatchRank, Os, PersistentVolume, Rng, Signal, WaitOutcome, WaitType};

use crate::Outcome;
use crate::ledger::LogLedger;
use crate::nemesis::{Nemesis, Trouble};
use crate::survival::{self, Survival};

const TASKS: u64 = 8;
/// So many tasks that the LOG WRITER leads and groups their commits.
const TASKS_OF_A_CROWD: u64 = 48;
const LOG_PATH: &str = "/data/sim.ldf";
/// The persisted log buffer, on the simulated DAX volume.
const BUFFER_PATH: &str = "/pmem/sim.pldf";
/// The random stream that decides which worlds have the buffer. Its name was chosen so that no seed of the corpus has any.
const BUFFER: &str = "log buffer 6";
/// The random stream that decides which worlds end between stores; its name was chosen in the same way.
const AT_STORES: &str = "log at stores 1276";

type Shared = Arc<Latch<LogLedger>>;

/// Runs the scenario for one seed.
pub(crate) fn run(seed: u64, bug: Option<Bug>) -> Outcome {
    let world = World::new(seed, Profile::drawn(seed));
    world.plant(bug);
    let mut rng = Rng::named(seed, "log scenario");
    let ledger: Shared = Arc::new(Latch::new(LatchRank::Leaf, LogLedger::default()));
    let mut options = draw_options(seed, &mut rng);
    // A stream of its own, so that the seeds of the corpus keep their meaning.
    if Rng::named(seed, "log padding").chance(1, 4) {
        options.padding_bytes = 4096;
    }
    let persists = Rng::named(seed, BUFFER).chance(1, 3);
    if persists {
        let (path, volume) = (BUFFER_PATH.into(), PersistentVolume::Dax);
        options.persisted = Some(PersistedOptions { path, volume });
    }
    let tasks = if Rng::named(seed, "log crowd").chance(1, 8) { TASKS_OF_A_CROWD } else { TASKS };
    let mut damages = Rng::named(seed, "log damage");
    let kills_recoveries = Rng::named(seed, "log recoveries killed 6").chance(1, 2);
    let mut survival = Survival::draw(seed, ("log cache that outlives", AT_STORES), kills_recoveries);
    survival = survival.beside_buffer(persists);
    let leaves_pending = tasks == TASKS_OF_A_CROWD || Rng::named(seed, "log put aside").chance(1, 2);
    let mut outcome = Outcome::new(seed);
    create(&world, &options, &mut outcome);
    let generations = 1 + rng.below(3);
    for generation in 1..=generations {
        let nemesis = Nemesis::draw(&mut rng, 400, 3_000);
        let (cache, nemesis) = survival.begin_life(&world, nemesis);
        nemesis.arm(&world);
        let trouble = Trouble::draw(&mut rng, 200);
        trouble.arm(&world);
        let (transactions, truncates) = (10 + rng.below(30), rng.chance(1, 2));
        let plan = Plan { generation, tasks, leaves_pending, persists, transactions, trouble, truncates };
        outcome.log.push(format!("{plan:?} {nemesis:?}"));
        let with_cache = |root: Option<PathBuf>| LogOptions {
            surviving_folder: root.map(|root| survival::caches_of_data(&root)),
            ..options.clone()
        };
        let end = work(&world, &with_cache(cache), &ledger, plan, &mut outcome);
        Trouble::heal(&world);
        let options = with_cache(survival.end_life(&world, end));
        // With a buffer no acknowledged commit is ever lost; but a failed log acknowledges no delayed commit.
        let keeps_delayed = persists && !trouble.makes_errors();
        if damages.chance(1, 6) && flip_a_bit(&world, &mut damages) {
            let takes_over = survival.end_recovery(End::Returned);
            if takes_over || keeps_delayed {
                ledger.lock().acknowledge_delayed();
            }
            recover_damaged(&world, &options, &ledger, takes_over || persists, &mut outcome);
            break;
        }
        recover(&world, &options, &ledger, (&mut survival, keeps_delayed), &mut rng, &mut outcome);
        if !outcome.violations.is_empty() {
            break;
        }
    }
    outcome.pending_commits = ledger.lock().pending_commits;
    outcome
}

fn draw_options(seed: u64, rng: &mut Rng) -> LogOptions {
    let policies = [DelayedFlushPolicy::Eager, DelayedFlushPolicy::Timed(2), DelayedFlushPolicy::BlockFull];
    // Chosen by the seed itself, so that the seeds of the corpus keep their meaning.
    let profiles = match seed % 4 {
        0 => [LogLimitsProfile::Sql2005X64, LogLimitsProfile::Sql2008X86],
        3 => [LogLimitsProfile::Sql2012, LogLimitsProfile::Sql2000],
        _ => [LogLimitsProfile::Sql2008X64, LogLimitsProfile::Sql2005X86],
    };
    LogOptions {
        size_bytes: 512 * 1024 * (1 + rng.below(3)),
        growth: Growth::Bytes(256 * 1024),
        delayed_flush: policies[rng.below(3) as usize],
        limits: profiles[rng.below(2) as usize].limits(),
        grow_ahead: rng.chance(1, 2),
        ..LogOptions::new(LOG_PATH, "sim")
    }
}

/// Creates the log in a run without faults.
fn create(world: &World, options: &LogOptions, outcome: &mut Outcome) {
    let options = options.clone();
    world.disarm();
    let report = world.run(move |os| {
        let made = create_durably(os, &options);
        assert!(made.is_ok(), "making a log on a healthy disk: {made:?}");
    });
    outcome.note(&report);
}

fn create_durably(os: &Os, options: &LogOptions) -> Result<(), LogError> {
    let directory = options.path.parent().expect("the log lies in a directory");
    os.disk().create_dir_all(directory)?;
    if let Some(above) = directory.parent() {
        os.disk().sync_dir(above)?;
    }
    let log = Log::create(os, options)?;
    log.close()?;
    os.disk().sync_dir(directory)?;
    Ok(())
}

/// The plan of one life of the process.
#[derive(Clone, Copy, Debug)]
struct Plan {
    generation: u64,
    tasks: u64,
    /// Some tasks leave their commits pending.
    leaves_pending: bool,
    /// The log has a persisted buffer.
    persists: bool,
    transactions: u64,
    trouble: Trouble,
    truncates: bool,
}

impl Plan {
    /// An error that this life may meet.
    fn allows(&self, error: &LogError) -> bool {
        matches!(error, LogError::Full { .. }) || self.trouble.makes_errors()
    }
}

/// One life of the process: tasks commit until the nemesis strikes or the work is done.
fn work(world: &World, options: &LogOptions, ledger: &Shared, plan: Plan, outcome: &mut Outcome) -> End {
    let (options, ledger) = (options.clone(), Arc::clone(ledger));
    let report = world.run(move |os| {
        let log = match Log::open(os, &options) {
            Ok((log, _tail)) => Arc::new(log),
            Err(error) if plan.allows(&error) => return,
            Err(error) => panic!("reopening a log that recovery has just read: {error}"),
        };
        let workers: Vec<_> = (0..plan.tasks)
            .map(|task| {
                let worker = Worker::new(os, &log, &ledger, plan, task);
                os.spawn(&format!("committer {task}"), move || worker.run())
            })
            .collect();
        for worker in workers {
            let _ = worker.join();
        }
        match log.close() {
            // An orderly stop flushes: no commit may be lost any more.
            Ok(()) => ledger.lock().acknowledge_all(),
            Err(error) => assert!(plan.allows(&error), "closing a healthy log: {error}"),
        }
    });
    outcome.note(&report);
    report.end
}

/// A pending commit: its signal, the commit to finish, and the record.
struct Pending {
    signal: Arc<Signal>,
    commit: PendingCommit,
    lsn: Lsn,
    number: u64,
}

struct Worker {
    os: Os,
    log: Arc<Log>,
    ledger: Shared,
    plan: Plan,
    truncates: bool,
    rng: Rng,
    next_number: u64,
    transaction: u64,
    /// How many of its commits may be pending at once; 0: it blocks for each.
    pending_max: u64,
    pending: VecDeque<Pending>,
}

impl Worker {
    fn new(os: &Os, log: &Arc<Log>, ledger: &Shared, plan: Plan, task: u64) -> Worker {
        let first = (plan.generation << 40) | (task << 32);
        Worker {
            os: os.clone(),
            log: Arc::clone(log),
            ledger: Arc::clone(ledger),
            plan,
            truncates: plan.truncates && task == 0,
            rng: os.rng(&format!("committer {task}")),
            next_number: first,
            transaction: first,
            pending_max: if plan.leaves_pending { task % 4 } else { 0 },
            pending: VecDeque::new(),
        }
    }

    fn run(mut self) {
        for _ in 0..self.plan.transactions {
            let done =
                if self.truncates && self.rng.chance(1, 3) { self.checkpoint() } else { self.transact() };
            if let Err(error) = done.and_then(|()| self.settle_down_to(self.pending_max)) {
                assert!(self.plan.allows(&error), "a healthy disk, yet: {error}");
                return;
            }
            if self.rng.chance(1, 8) {
                let pause_ns = self.rng.below(2_000_000);
                let _ = self.os.sleep(pause_ns, WaitType::SLEEP_TASK);
            }
        }
        if let Err(error) = self.settle_down_to(0) {
            assert!(self.plan.allows(&error), "a healthy disk, yet: {error}");
        }
    }

    fn transact(&mut self) -> Result<(), LogError> {
        self.transaction += 1;
        let mut prev = self.append(LogOp::BeginXact, Lsn::NULL)?.0;
        for _ in 0..1 + self.rng.below(3) {
            prev = self.append(LogOp::InsertRows, prev)?.0;
        }
        let (lsn, number) = self.append(LogOp::CommitXact, prev)?;
        if self.rng.chance(1, 2) {
            self.commit(lsn, number)?;
        } else {
            self.log.request_delayed_flush(lsn);
            survival::told_by_the_living(&self.os);
            self.ledger.lock().delayed.insert(lsn, number);
        }
        Ok(())
    }

    /// Blocks until the commit is hardened, or leaves it pending.
    fn commit(&mut self, lsn: Lsn, number: u64) -> Result<(), LogError> {
        if self.pending_max > 0 {
            let signal = Arc::new(Signal::new());
            let waker = Arc::clone(&signal).into();
            if let Some(commit) = self.log.harden_later(lsn, FlushReason::Commit, &waker)? {
                self.pending.push_back(Pending { signal, commit, lsn, number });
                self.ledger.lock().pending_commits += 1;
                return Ok(());
            }
        }
        self.log.harden(lsn, FlushReason::Commit)?;
        self.acknowledge(lsn, number);
        Ok(())
    }

    /// Records an acknowledgement. Only a living process may acknowledge, and a dead one can still copy into memory, unlike write to a file. Worlds
    /// without a buffer skip the yield point, so that the seeds of the corpus keep their meaning.
    fn acknowledge(&self, lsn: Lsn, number: u64) {
        if self.plan.persists {
            survival::told_by_the_living(&self.os);
        }
        self.ledger.lock().note_acknowledged(lsn, number);
    }

    /// Finishes commits until at most `count` are pending, mostly after their wakers were called.
    fn settle_down_to(&mut self, count: u64) -> Result<(), LogError> {
        while self.pending.len() as u64 > count {
            let Pending { signal, commit, lsn, number } = self.pending.pop_front().expect("more than none");
            if self.rng.chance(3, 4) {
                assert_eq!(signal.wait(WaitType::WRITELOG, None), WaitOutcome::Set);
            }
            self.log.finish_harden(commit)?;
            self.acknowledge(lsn, number);
        }
        Ok(())
    }

    /// Truncates the log up to a durable record.
    fn checkpoint(&mut self) -> Result<(), LogError> {
        let begin = self.append(LogOp::BeginCkpt, Lsn::NULL)?.0;
        let end = self.append(LogOp::EndCkpt, begin)?.0;
        self.log.harden(end, FlushReason::Quiesce)?;
        let min = {
            let mut ledger = self.ledger.lock();
            let durable: Vec<Lsn> =
                ledger.appended.range(ledger.trimmed..=begin).map(|(&lsn, _)| lsn).collect();
            // From the newer half, so that there is log to truncate.
            let min = durable[durable.len() / 2 + self.rng.below(durable.len().div_ceil(2) as u64) as usize];
            ledger.trimmed = min;
            min
        };
        self.log.record_checkpoint(begin, min)?;
        self.log.truncate()?;
        Ok(())
    }

    fn append(&mut self, op: LogOp, prev: Lsn) -> Result<(Lsn, u64), LogError> {
        self.next_number += 1;
        let number = self.next_number;
        let header = RecordHeader { txn: TxnId(self.transaction), prev, ..RecordHeader::new(op) };
        let mut record = RecordBuf::new();
        let payload = record.start(header);
        payload.extend_from_slice(&number.to_le_bytes());
        payload.resize(8 + self.draw_padding(), number as u8);
        let before = self.ledger.lock().intend(number);
        let lsn = self.log.append(&record)?;
        self.ledger.lock().note_append(lsn, number, before);
        Ok((lsn, number))
    }

    /// Mostly small records, sometimes one that fills a block.
    fn draw_padding(&mut self) -> usize {
        let most = [20, 20, 20, 200, 3_000, 30_000][self.rng.below(6) as usize];
        if most > 200 && self.rng.chance(3, 4) { 20 } else { self.rng.below(most) as usize }
    }
}

/// Recovers, possibly crashing in the middle a few times, and judges what is there.
fn recover(
    world: &World,
    options: &LogOptions,
    ledger: &Shared,
    (survival, keeps_delayed): (&mut Survival, bool),
    rng: &mut Rng,
    outcome: &mut Outcome,
) {
    for attempt in 0..4 {
        let disturbed = attempt < 3 && rng.chance(1, 3);
        let nemesis = if disturbed { Nemesis::PowerOffAtIo(1 + rng.below(20)) } else { Nemesis::None };
        let nemesis = survival.disturb(nemesis);
        nemesis.arm(world);
        outcome.log.push(format!("recovery {attempt} {nemesis:?}"));
        let found = Arc::new(Latch::new(LatchRank::Leaf, None));
        let (options, answer) = (options.clone(), Arc::clone(&found));
        let report = world.run(move |os| {
            let read = read_all(os, &options);
            *answer.lock() = Some(read);
        });
        outcome.note(&report);
        let takes_over = survival.end_recovery(report.end);
        let result = survival::told_to_the_end(report.end, &found);
        match result {
            None if survival::is_crash(report.end) => continue,
            None => return,
            Some(Err(text)) => {
                outcome.violations.push(format!("UNREADABLE: {text}"));
                return;
            }
            Some(Ok(records)) => {
                let mut ledger = ledger.lock();
                if takes_over || keeps_delayed {
                    ledger.acknowledge_delayed();
                }
                outcome.acknowledged += ledger.acknowledged.len() as u64;
                ledger.judge(&records, &mut outcome.violations);
                return;
            }
        }
    }
}

/// Flips one bit of the log file, in a sector that was written.
fn flip_a_bit(world: &World, rng: &mut Rng) -> bool {
    let Some(bytes) = world.file_bytes(LOG_PATH.as_ref()) else { return false };
    let is_written = |sector: &[u8]| sector.iter().any(|byte| *byte != 0);
    let written: Vec<usize> =
        bytes.chunks(512).enumerate().filter(|(_, sector)| is_written(sector)).map(|(at, _)| at).collect();
    if written.is_empty() {
        return false;
    }
    let sector = written[rng.below(written.len() as u64) as usize];
    let at = sector * 512 + rng.below(512) as usize;
    world.corrupt(LOG_PATH.as_ref(), at as u64, &[bytes[at] ^ (1 << rng.below(8))]);
    true
}

/// Opens a log with a flipped bit: either recovery reports it, or no record is missing that later blocks or surviving memory prove.
fn recover_damaged(
    world: &World,
    options: &LogOptions,
    ledger: &Shared,
    is_all_proved: bool,
    outcome: &mut Outcome,
) {
    Nemesis::None.arm(world);
    outcome.log.push("a bit of the log has turned over".to_owned());
    let found = Arc::new(Latch::new(LatchRank::Leaf, None));
    let (options, answer) = (options.clone(), Arc::clone(&found));
    let report = world.run(move |os| {
        let read = read_all(os, &options);
        *answer.lock() = Some(read);
    });
    outcome.note(&report);
    let read = found.lock().take();
    match read {
        None => {}
        Some(Err(text)) => outcome.log.push(text),
        Some(Ok(records)) => ledger.lock().judge_damaged(&records, is_all_proved, &mut outcome.violations),
    }
}

/// Reads every record of the log by number; checks payloads and chains.
fn read_all(os: &Os, options: &LogOptions) -> Result<BTreeMap<Lsn, u64>, String> {
    let (log, tail) = Log::open(os, options).map_err(|error| format!("open: {error}"))?;
    let log = Arc::new(log);
    let mut found = BTreeMap::new();
    for record in log.read_from(Lsn::NULL) {
        let record = record.map_err(|error| format!("read: {error}"))?;
        let Some((head, padding)) = record.payload.split_first_chunk::<8>() else {
            return Err(format!("record {} of {} bytes", record.lsn, record.payload.len()));
        };
        let number = u64::from_le_bytes(*head);
        if padding.iter().any(|&byte| byte != number as u8) {
            return Err(format!("record {number} at {} is damaged", record.lsn));
        }
        let prev = record.header.prev;
        let prev_is_kept = found.first_key_value().is_some_and(|(&first, _)| first <= prev);
        if prev_is_kept && !found.contains_key(&prev) {
            return Err(format!("record {number} at {} comes after {prev}, which is not there", record.lsn));
        }
        if found.last_key_value().is_some_and(|(&last, _)| last >= record.lsn) {
            return Err(format!("record {number} at {} is out of order", record.lsn));
        }
        found.insert(record.lsn, number);
    }
    let last = found.last_key_value().map_or(Lsn::NULL, |(&lsn, _)| lsn);
    if tail.last != last {
        return Err(format!("the tail says {}, the last record is {last}", tail.last));
    }
    log.close().map_err(|error| format!("close: {error}"))?;
    Ok(found)
}
