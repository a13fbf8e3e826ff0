//! Pending commits while committers write the log: which waker is called to lead, and the number of writes.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use std::sync::Arc;

use common::{Rings, commit, small_options};
use hardpan_log::{FlushReason, Log, LogError, Lsn, PendingCommit};
use os::sim::{Effect, Fault, Operation, Profile, World};
use os::{JoinHandle, Os, WaitType};

const REASON: FlushReason = FlushReason::Commit;
/// Duration of the write that other committers must wait for, and a moment in the middle of it (simulated time).
const SLOW_NS: u64 = 50_000_000;
const MEANWHILE_NS: u64 = 5_000_000;

struct Bench {
    os: Os,
    device: World,
    log: Arc<Log>,
}

/// A log on which only the test writes: committers lead, and no background flush comes between.
fn alone(seed: u64, body: impl FnOnce(&Bench) + Send + 'static) {
    let world = World::new(seed, Profile::constant_latency());
    let device = world.clone();
    world
        .run(move |os| {
            os.disk().create_dir_all(std::path::Path::new("/data")).unwrap();
            let log = Arc::new(Log::create(os, &small_options("/data/test.ldf", 4 << 20)).unwrap());
            log.suspend_background_flush(true);
            body(&Bench { os: os.clone(), device, log });
        })
        .assert_ok();
}

impl Bench {
    /// Writes that the device has completed.
    fn writes(&self) -> u64 {
        self.log.files()[0].stats.writes_total
    }

    fn commit(&self, txn: u64) -> Lsn {
        commit(&self.log, txn, 30)
    }

    /// A thread that hardens `lsn` and must succeed.
    fn hardener(&self, lsn: Lsn) -> JoinHandle {
        let log = Arc::clone(&self.log);
        self.os.spawn("committer", move || log.harden(lsn, REASON).unwrap())
    }

    fn meanwhile(&self) {
        self.os.sleep(MEANWHILE_NS, WaitType::SLEEP_TASK).unwrap();
    }

    /// A committer whose write, of `lsn` and all before, takes long on the device.
    fn slow_write(&self, lsn: Lsn) -> JoinHandle {
        self.device.inject(delay(SLOW_NS));
        let writer = self.hardener(lsn);
        self.meanwhile();
        assert!(self.log.hardened() < lsn, "the write is slow");
        assert_eq!(self.device.faults_hit_total(), 1, "it is on the device");
        writer
    }

    fn later(&self, lsn: Lsn, rings: &Arc<Rings>) -> Option<PendingCommit> {
        self.log.harden_later(lsn, REASON, &rings.waker()).unwrap()
    }

    /// A new pending commit.
    fn leave_pending(&self, txn: u64) -> Pending {
        let (lsn, rings) = (self.commit(txn), Arc::<Rings>::default());
        let commit = self.later(lsn, &rings).expect("somebody else writes");
        Pending { lsn, rings, commit }
    }
}

fn delay(nanoseconds: u64) -> Fault {
    Fault { effect: Effect::Delay(nanoseconds), ..Fault::fail_once(Operation::Write, 0) }
}

struct Pending {
    lsn: Lsn,
    rings: Arc<Rings>,
    commit: PendingCommit,
}

#[test]
fn when_nobody_writes_the_caller_does() {
    alone(1, |bench| {
        let rings = Arc::<Rings>::default();
        for txn in 1..=3 {
            let (lsn, before) = (bench.commit(txn), bench.writes());
            assert!(bench.later(lsn, &rings).is_none());
            assert_eq!(bench.writes(), before, "nothing was begun");
            bench.log.harden(lsn, REASON).unwrap();
            assert_eq!(bench.writes(), before + 1);
            assert!(bench.later(lsn, &rings).is_none(), "hardened: nothing to wait for");
        }
        assert_eq!(rings.count(), 0);
    });
}

#[test]
fn while_another_writes_it_is_left_pending_and_woken_to_write_next() {
    alone(2, |bench| {
        let before = bench.writes();
        let first = bench.commit(1);
        let writer = bench.slow_write(first);
        let pending = bench.leave_pending(2);
        assert_eq!((pending.rings.count(), bench.writes()), (0, before));
        pending.rings.wait();
        assert!((first..pending.lsn).contains(&bench.log.hardened()), "it is rung to write, nothing else");
        writer.join().unwrap();
        bench.meanwhile();
        assert_eq!(bench.writes(), before + 1, "nobody writes for it");
        bench.log.finish_harden(pending.commit).unwrap();
        assert!(bench.log.hardened() >= pending.lsn);
        assert_eq!((bench.writes(), pending.rings.count()), (before + 2, 1));
        assert_eq!(bench.log.stats().flush_waits_total, 2, "each commit is one wait");
    });
}

/// A committer that is woken to write may come late; a committer that came before it has written for both.
#[test]
fn one_who_comes_late_finds_his_record_written_by_another() {
    alone(3, |bench| {
        let before = bench.writes();
        let writer = bench.slow_write(bench.commit(1));
        let pending = bench.leave_pending(2);
        pending.rings.wait();
        writer.join().unwrap();
        let rings = Arc::<Rings>::default();
        let last = bench.commit(3);
        assert!(bench.later(last, &rings).is_none(), "the role is free: whoever comes takes it");
        bench.log.harden(last, REASON).unwrap();
        bench.log.finish_harden(pending.commit).unwrap();
        assert_eq!((bench.writes(), pending.rings.count(), rings.count()), (before + 2, 1, 0));
    });
}

#[test]
fn what_is_issued_already_is_left_pending_until_it_is_hard() {
    alone(4, |bench| {
        let before = bench.writes();
        let (first, second) = (bench.commit(1), bench.commit(2));
        let writer = bench.slow_write(second);
        let all_pending = [first, second].map(|lsn| {
            let rings = Arc::<Rings>::default();
            let commit = bench.later(lsn, &rings).expect("the record is on its way");
            assert_eq!(rings.count(), 0);
            Pending { lsn, rings, commit }
        });
        for pending in all_pending {
            pending.rings.wait();
            assert!(bench.log.hardened() >= pending.lsn);
            bench.log.finish_harden(pending.commit).unwrap();
            assert_eq!(pending.rings.count(), 1);
        }
        writer.join().unwrap();
        assert_eq!(bench.writes(), before + 1, "one write for three waits");
        assert_eq!(bench.log.stats().flush_waits_total, 3);
    });
}

#[test]
fn who_does_not_wait_for_the_bell_waits_for_the_write_of_the_other() {
    alone(5, |bench| {
        let before = bench.writes();
        let first = bench.commit(1);
        let writer = bench.slow_write(first);
        let pending = bench.leave_pending(2);
        bench.log.finish_harden(pending.commit).unwrap();
        assert!(bench.log.hardened() >= pending.lsn);
        writer.join().unwrap();
        assert_eq!(bench.writes(), before + 2);
    });
}

#[test]
fn a_thread_that_waits_writes_for_pending_commits() {
    alone(6, |bench| {
        let before = bench.writes();
        let writer = bench.slow_write(bench.commit(1));
        let pending = bench.leave_pending(2);
        let thread = bench.hardener(bench.commit(3));
        bench.meanwhile();
        assert!(thread.task().current_wait().is_some_and(|(wait_type, _)| wait_type == WaitType::WRITELOG));
        pending.rings.wait();
        assert!(bench.log.hardened() >= pending.lsn, "it is not asked to write");
        thread.join().unwrap();
        writer.join().unwrap();
        bench.log.finish_harden(pending.commit).unwrap();
        assert_eq!((bench.writes(), pending.rings.count()), (before + 2, 1));
    });
}

#[test]
fn of_several_pending_one_is_asked_to_write_for_all() {
    alone(7, |bench| {
        let before = bench.writes();
        let writer = bench.slow_write(bench.commit(1));
        let [first, second] = [2, 3].map(|txn| bench.leave_pending(txn));
        writer.join().unwrap();
        bench.meanwhile();
        assert_eq!((first.rings.count(), second.rings.count()), (1, 0), "the older one");
        bench.log.finish_harden(first.commit).unwrap();
        second.rings.wait();
        assert!(bench.log.hardened() >= second.lsn);
        bench.log.finish_harden(second.commit).unwrap();
        assert_eq!((bench.writes(), second.rings.count()), (before + 2, 1));
    });
}

#[test]
fn when_three_wait_a_second_one_writes_beside_the_first() {
    alone(8, |bench| {
        let before = bench.writes();
        let first = bench.commit(1);
        let writer = bench.slow_write(first);
        let all_pending = [2, 3, 4].map(|txn| bench.leave_pending(txn));
        let last = bench.commit(5);
        assert!(bench.later(last, &Arc::default()).is_none(), "with so many waiting the caller writes");
        let second_writer = bench.hardener(last);
        bench.meanwhile();
        assert!(bench.log.hardened() < first, "its write is done, but the one before is not");
        assert!(all_pending.iter().all(|pending| pending.rings.count() == 0));
        for pending in all_pending {
            pending.rings.wait();
            assert!(bench.log.hardened() >= last);
            bench.log.finish_harden(pending.commit).unwrap();
            assert_eq!(pending.rings.count(), 1);
        }
        second_writer.join().unwrap();
        writer.join().unwrap();
        assert_eq!(bench.writes(), before + 2);
    });
}

#[test]
fn a_write_that_fails_rings_pending_commits() {
    alone(9, |bench| {
        bench.log.harden(bench.commit(1), REASON).unwrap();
        let (hard, lost) = (bench.log.hardened(), bench.commit(2));
        bench.device.inject(delay(SLOW_NS));
        bench.device.inject(Fault::fail_once(Operation::Write, 1));
        let log = Arc::clone(&bench.log);
        let issued = bench.os.spawn("committer", move || log.harden(lost, REASON).unwrap());
        bench.meanwhile();
        let pending = bench.leave_pending(3);
        issued.join().unwrap();
        pending.rings.wait();
        assert!(matches!(bench.log.finish_harden(pending.commit), Err(LogError::Failed(_))), "its own write");
        assert!((hard..pending.lsn).contains(&bench.log.hardened()));
        assert!(matches!(bench.log.harden(bench.log.last(), REASON), Err(LogError::Failed(_))));
    });
}
