//! Pending commits: when their wakers are called, which waits count, and how they end when the log fails.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use common::{Rings, commit, small_options};
use hardpan_log::{FlushReason, Growth, Log, LogError, LogOptions, LogStats, Lsn, PendingCommit};
use os::sim::{Fault, Operation, Profile, World};
use os::{Os, WaitType};

const PATH: &str = "/data/test.ldf";
/// So many that the LOG WRITER leads.
const CROWD: u64 = 120;
const COMMITS: u64 = CROWD * 20;
const REASON: FlushReason = FlushReason::Commit;

fn create(os: &Os) -> Arc<Log> {
    os.disk().create_dir_all(std::path::Path::new("/data")).unwrap();
    let options = LogOptions { growth: Growth::Bytes(256 << 10), ..small_options(PATH, 4 << 20) };
    Arc::new(Log::create(os, &options).unwrap())
}

/// Runs `body` on a log that the LOG WRITER leads: after a flush for many committers.
fn in_a_crowd(seed: u64, body: impl FnOnce(&Os, &World, &Arc<Log>) + Send + 'static) {
    let world = World::new(seed, Profile::constant_latency());
    let device = world.clone();
    world
        .run(move |os| {
            let log = create(os);
            crowd(os, &log, |log, lsn| log.harden(lsn, REASON).unwrap());
            body(os, &device, &log);
        })
        .assert_ok();
}

/// Many tasks commit, each commit ended by `end`, until there are `COMMITS`; they all stop together.
fn crowd(os: &Os, log: &Arc<Log>, end: fn(&Log, Lsn)) {
    let begun = Arc::new(AtomicU64::new(0));
    let committer = |txn| {
        let (log, begun) = (Arc::clone(log), Arc::clone(&begun));
        os.spawn("committer", move || {
            while begun.fetch_add(1, Relaxed) < COMMITS {
                end(&log, commit(&log, txn, 30));
            }
        })
    };
    let tasks: Vec<_> = (1..=CROWD).map(committer).collect();
    tasks.into_iter().for_each(|task| task.join().unwrap());
}

fn leave_pending(log: &Log, txn: u64, rings: &Arc<Rings>) -> PendingCommit {
    let lsn = commit(log, txn, 30);
    log.harden_later(lsn, REASON, &rings.waker()).unwrap().expect("the LOG WRITER leads")
}

#[test]
fn one_committer_alone_is_not_left_pending() {
    let world = World::new(1, Profile::constant_latency());
    world
        .run(|os| {
            let log = create(os);
            let (rings, before) = (Arc::<Rings>::default(), log.stats());
            let lsn = commit(&log, 1, 30);
            assert!(log.harden_later(lsn, REASON, &rings.waker()).unwrap().is_none());
            assert!(matches!(
                log.harden_later(Lsn::MAX, REASON, &rings.waker()),
                Err(LogError::NotThere(Lsn::MAX))
            ));
            assert_eq!((log.stats(), rings.count()), (LogStats { ..before_of(&log, before) }, 0));
        })
        .assert_ok();
}

/// The figures of `before`, with the present counts of appended records: flushing has changed nothing else.
fn before_of(log: &Log, before: LogStats) -> LogStats {
    let now = log.stats();
    LogStats {
        flushes_total: before.flushes_total,
        flush_waits_total: before.flush_waits_total,
        hardened: before.hardened,
        ..now
    }
}

#[test]
fn it_is_rung_once_when_its_record_is_hard() {
    in_a_crowd(2, |os, _, log| {
        let (rings, before) = (Arc::<Rings>::default(), log.stats());
        let task = os::task::current();
        let (waits, _) = task.waits_total();
        let lsn = commit(log, 1, 30);
        let pending = log.harden_later(lsn, REASON, &rings.waker()).unwrap().expect("the LOG WRITER leads");
        assert!(task.current_wait().is_some_and(|(wait_type, _)| wait_type == WaitType::WRITELOG));
        // A waker of the test's own, in another task, so that this one waits only for its record.
        let heard = Arc::clone(&rings);
        os.spawn("listener", move || heard.wait()).join().unwrap();
        assert!(log.hardened() >= lsn);
        assert_eq!(log.stats().flush_waits_total, before.flush_waits_total, "counted when it is over");
        log.finish_harden(pending).unwrap();
        let after = log.stats();
        assert_eq!(after.flush_waits_total, before.flush_waits_total + 1);
        assert!(after.flush_wait_ns_total > before.flush_wait_ns_total);
        assert_eq!(after.flushes_total, before.flushes_total + 1);
        assert_eq!(rings.count(), 1);
        assert!(task.current_wait().is_none());
        // The joined listener was waited for inside the same wait.
        assert_eq!(task.waits_total().0, waits + 1);
    });
}

#[test]
fn whoever_cannot_wait_for_the_bell_finishes_at_once() {
    in_a_crowd(3, |_, _, log| {
        let (rings, before) = (Arc::<Rings>::default(), log.stats());
        for txn in 1..=3 {
            log.finish_harden(leave_pending(log, txn, &rings)).unwrap();
            assert_eq!(log.hardened(), log.last());
        }
        assert_eq!(log.stats().flush_waits_total, before.flush_waits_total + 3, "each is one wait");
    });
}

#[test]
fn it_is_finished_on_any_thread() {
    in_a_crowd(4, |os, _, log| {
        let rings = Arc::<Rings>::default();
        let pending = leave_pending(log, 1, &rings);
        rings.wait();
        let elsewhere = Arc::clone(log);
        os.spawn("finisher", move || elsewhere.finish_harden(pending).unwrap()).join().unwrap();
    });
}

#[test]
fn a_failed_log_rings_and_tells() {
    in_a_crowd(5, |_, device, log| {
        let (first, second) = (Arc::<Rings>::default(), Arc::<Rings>::default());
        let hard = log.hardened();
        device.inject(Fault::fail_once(Operation::Write, 0));
        let pending = [leave_pending(log, 1, &first), leave_pending(log, 2, &second)];
        first.wait();
        second.wait();
        for one in pending {
            assert!(matches!(log.finish_harden(one), Err(LogError::Failed(_))));
        }
        assert_eq!(log.hardened(), hard);
    });
}

/// Pending commits of many committers cost the device as many flushes as committers that block.
#[test]
fn a_crowd_put_aside_shares_its_flushes_as_one_that_blocks() {
    fn later(log: &Log, lsn: Lsn) {
        let rings = Arc::<Rings>::default();
        match log.harden_later(lsn, REASON, &rings.waker()).unwrap() {
            Some(pending) => {
                rings.wait();
                log.finish_harden(pending).unwrap();
            }
            None => log.harden(lsn, REASON).unwrap(),
        }
    }
    let flushes = |seed, end: fn(&Log, Lsn)| {
        let counted = Arc::new(AtomicU64::new(0));
        let told = Arc::clone(&counted);
        let world = World::new(seed, Profile::constant_latency());
        let run = move |os: &Os| {
            let log = create(os);
            crowd(os, &log, end);
            assert_eq!(log.stats().flush_waits_total, COMMITS, "each commit is one wait");
            told.store(log.stats().flushes_total, Relaxed);
        };
        world.run(run).assert_ok();
        counted.load(Relaxed)
    };
    for seed in 6..9 {
        let (blocked, pending) =
            (flushes(seed, |log, lsn| log.harden(lsn, REASON).unwrap()), flushes(seed, later));
        assert!(pending <= 2 * blocked && blocked <= 2 * pending, "{pending} against {blocked} flushes");
        assert!(10 * pending < COMMITS, "{pending} flushes");
    }
}
