//! A full commit without a waiting thread: invariants between its two halves.
#![allow(clippy::unwrap_used, reason = "a test")]

#[allow(dead_code, reason = "the other test needs more of it")]
mod cells;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use cells::{Cells, Disk, account_resource};
use hardpan_txn::{
    CommitMode, CommitProgress, LockError, LockManager, LockMode, LockWait, ResourceManager, Transaction,
    TxnError, TxnManager, TxnManagerOptions, TxnOptions, XactState,
};
use log::{Log, LogOptions, PendingCommit};
use os::sim::{Effect, Fault, Operation, Profile, World};
use os::{JoinHandle, Os, Signal, WaitOutcome, WaitType};

/// So many committers, and commits of all of them, that the LOG WRITER leads.
const CROWD: u64 = 60;
const COMMITS: u64 = CROWD * 20;

struct Bench {
    os: Os,
    manager: Arc<TxnManager>,
    cells: Arc<Cells>,
    signal: Arc<Signal>,
    device: World,
}

/// Runs `body` after many committers have just ended.
fn in_a_crowd(seed: u64, body: impl FnOnce(&Bench) + Send + 'static) {
    alone(seed, |bench| {
        bench.crowd();
        body(bench);
    });
}

/// Runs `body` without other committers.
fn alone(seed: u64, body: impl FnOnce(&Bench) + Send + 'static) {
    let world = World::new(seed, Profile::constant_latency());
    let device = world.clone();
    world
        .run(move |os| {
            os.disk().create_dir_all(std::path::Path::new("/data")).unwrap();
            let options = LogOptions { size_bytes: 4 << 20, ..LogOptions::new("/data/cells.ldf", "cells") };
            let log = Arc::new(Log::create(os, &options).unwrap());
            let options = TxnManagerOptions { database_name: "cells".into(), first_txn: 1 };
            let manager = TxnManager::new(os, Arc::clone(&log), LockManager::new(os), options);
            let cells = Cells::load(&log, &Disk::new());
            manager.attach(Arc::clone(&cells) as Arc<dyn ResourceManager>);
            body(&Bench { os: os.clone(), manager, cells, signal: Arc::default(), device });
        })
        .assert_ok();
}

impl Bench {
    fn crowd(&self) {
        let begun = Arc::new(AtomicU64::new(0));
        let committer = |_| {
            let (manager, cells, begun) =
                (Arc::clone(&self.manager), Arc::clone(&self.cells), Arc::clone(&begun));
            self.os.spawn("committer", move || {
                while begun.fetch_add(1, Relaxed) < COMMITS {
                    let transaction = manager.begin(TxnOptions::default());
                    cells.set(&transaction, 0, 1).unwrap();
                    transaction.commit(CommitMode::Full).unwrap();
                }
            })
        };
        let tasks: Vec<_> = (0..CROWD).map(committer).collect();
        tasks.into_iter().for_each(|task| task.join().unwrap());
    }

    /// A committer, of another account, whose write takes long (in simulated time).
    fn slow_committer(&self) -> JoinHandle {
        let (manager, cells) = (Arc::clone(&self.manager), Arc::clone(&self.cells));
        let (begun, started) = (Arc::new(AtomicU64::new(0)), self.device.faults_hit_total());
        let told = Arc::clone(&begun);
        let slow = Effect::Delay(50_000_000);
        self.device.inject(Fault { effect: slow, ..Fault::fail_once(Operation::Write, 0) });
        let committer = self.os.spawn("slow committer", move || {
            let transaction = manager.begin(TxnOptions::default());
            cells.set(&transaction, 0, 1).unwrap();
            told.store(1, Relaxed);
            transaction.commit(CommitMode::Full).unwrap();
        });
        self.os.sleep(5_000_000, WaitType::SLEEP_TASK).unwrap();
        assert_eq!((begun.load(Relaxed), self.device.faults_hit_total()), (1, started + 1), "it writes");
        committer
    }

    fn writes(&self) -> u64 {
        self.manager.log().files()[0].stats.writes_total
    }

    /// A transaction that has locked and changed account 0.
    fn changed(&self) -> Transaction {
        let transaction = self.manager.begin(TxnOptions::default());
        self.cells.lock_account(&transaction, 0).unwrap();
        self.cells.add(&transaction, account_cell(0), 5).unwrap();
        transaction
    }

    fn commit_later(&self, transaction: &Transaction, mode: CommitMode) -> CommitProgress {
        transaction.commit_later(mode, &Arc::clone(&self.signal).into()).unwrap()
    }

    fn pend(&self, transaction: &Transaction) -> PendingCommit {
        match self.commit_later(transaction, CommitMode::Full) {
            CommitProgress::Pending(pending) => pending,
            CommitProgress::Done(outcome) => panic!("somebody else writes, yet: {outcome:?}"),
        }
    }

    /// Whether another transaction gets the lock of account 0.
    fn others_can_lock(&self) -> bool {
        let other = self.manager.begin(TxnOptions::default());
        let locked = other.lock(account_resource(0), LockMode::X, LockWait::NoWait);
        assert!(matches!(locked, Ok(()) | Err(LockError::Timeout)));
        other.rollback().unwrap();
        locked.is_ok()
    }
}

/// The cell of an account.
fn account_cell(account: usize) -> usize {
    cells::WORKERS + account
}

#[test]
fn a_pending_commit_keeps_its_locks_and_its_place_in_the_table() {
    in_a_crowd(1, |bench| {
        let transaction = bench.changed();
        let pending = bench.pend(&transaction);
        assert_eq!(transaction.state(), XactState::Committing);
        assert!(!bench.others_can_lock());
        let active = bench.manager.active();
        assert_eq!((active.len(), active[0].id, active[0].is_ended), (1, transaction.id(), true));
        assert_eq!(bench.signal.wait(WaitType::SLEEP_TASK, None), WaitOutcome::Set);
        assert!(!bench.others_can_lock(), "hardened is not ended");
        let outcome = transaction.finish_commit(pending).unwrap();
        assert!(outcome.is_hardened && outcome.lsn == transaction.last_lsn());
        assert!(bench.manager.log().hardened() >= outcome.lsn);
        assert_eq!(transaction.state(), XactState::Ended);
        assert!(bench.others_can_lock() && bench.manager.active().is_empty());
    });
}

#[test]
fn who_is_alone_commits_at_once() {
    alone(5, |bench| {
        let (transaction, before) = (bench.changed(), bench.writes());
        let progress = bench.commit_later(&transaction, CommitMode::Full);
        assert!(matches!(progress, CommitProgress::Done(outcome) if outcome.is_hardened));
        assert!(bench.manager.log().hardened() >= transaction.last_lsn());
        assert_eq!(
            (transaction.state(), bench.writes(), bench.signal.is_set()),
            (XactState::Ended, before + 1, false)
        );
        assert!(bench.others_can_lock());
    });
}

#[test]
fn who_meets_the_write_of_another_is_pending_and_writes_when_rung() {
    alone(6, |bench| {
        let before = bench.writes();
        let committer = bench.slow_committer();
        let transaction = bench.changed();
        let pending = bench.pend(&transaction);
        assert_eq!((transaction.state(), bench.signal.is_set()), (XactState::Committing, false));
        assert_eq!(bench.signal.wait(WaitType::SLEEP_TASK, None), WaitOutcome::Set);
        committer.join().unwrap();
        assert!(bench.manager.log().hardened() < transaction.last_lsn(), "rung to write, not hardened");
        assert!(!bench.others_can_lock());
        let outcome = transaction.finish_commit(pending).unwrap();
        assert!(outcome.is_hardened && bench.manager.log().hardened() >= outcome.lsn);
        assert_eq!(bench.writes(), before + 2);
        assert!(bench.others_can_lock() && bench.manager.active().is_empty());
    });
}

#[test]
fn what_does_not_wait_for_the_log_is_never_pending() {
    in_a_crowd(2, |bench| {
        for mode in [CommitMode::Delayed, CommitMode::Volatile] {
            let transaction = bench.changed();
            let progress = bench.commit_later(&transaction, mode);
            assert!(matches!(progress, CommitProgress::Done(outcome) if !outcome.is_hardened));
            assert_eq!(transaction.state(), XactState::Ended);
        }
        let reader = bench.manager.begin(TxnOptions::default());
        bench.cells.lock_account(&reader, 0).unwrap();
        let progress = bench.commit_later(&reader, CommitMode::Full);
        assert!(matches!(progress, CommitProgress::Done(outcome) if outcome.lsn.is_null()));
        assert!(bench.others_can_lock());
    });
}

#[test]
fn a_log_that_fails_ends_a_pending_commit_as_a_blocking_one() {
    in_a_crowd(3, |bench| {
        let transaction = bench.changed();
        bench.device.inject(Fault::fail_once(Operation::Write, 0));
        let pending = bench.pend(&transaction);
        let error = transaction.finish_commit(pending).unwrap_err();
        assert!(matches!(error, TxnError::Log(_)) && error.is_fatal_to_database());
        assert_eq!(transaction.state(), XactState::Ended);
        assert!(bench.manager.failure().is_some());
        let other = bench.manager.begin(TxnOptions::default());
        let refused = other.lock(account_resource(0), LockMode::X, LockWait::NoWait);
        assert_eq!(refused, Err(LockError::DatabaseFailed), "others fail instead of waiting");
        assert!(!other.try_lock(account_resource(0), LockMode::S));
        assert!(!other.could_lock(&account_resource(0), LockMode::S));
        assert_eq!(other.lock_count(), 0, "a refused lock is not kept");
        assert_eq!(bench.manager.active().len(), 1, "nothing of it is truncated");
    });
}

/// A waiter for a row of a commit whose write fails never gets the lock, in any order of events: the database fails before the locks are released.
#[test]
fn nobody_gets_the_lock_of_a_commit_that_fails() {
    for seed in 0..60 {
        alone(seed, |bench| {
            let transaction = bench.changed();
            let waiter = || {
                let manager = Arc::clone(&bench.manager);
                bench.os.spawn("waiter", move || {
                    let other = manager.begin(TxnOptions::default());
                    let got = other.lock(account_resource(0), LockMode::S, LockWait::Forever);
                    assert_eq!(
                        got,
                        Err(LockError::DatabaseFailed),
                        "it would see what may not have happened"
                    );
                })
            };
            let waiters: Vec<JoinHandle> = (0..4).map(|_| waiter()).collect();
            bench.os.sleep(1_000_000, WaitType::SLEEP_TASK).unwrap();
            bench.device.inject(Fault::fail_once(Operation::Write, 0));
            let error = transaction.commit(CommitMode::Full).unwrap_err();
            assert!(error.is_fatal_to_database());
            waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
        });
    }
}

/// A caller that omits the second half gets a panic, in release builds too.
#[test]
fn a_pending_commit_is_not_forgotten() {
    in_a_crowd(4, |bench| {
        let transaction = bench.changed();
        let pending = bench.pend(&transaction);
        drop(pending);
        let dropped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(transaction)));
        assert!(dropped.is_err());
    });
}

/// There is no other writer: the LOG WRITER drains a delayed commit by itself.
#[test]
fn a_delayed_commit_is_written_although_nobody_asks() {
    alone(21, |bench| {
        let transaction = bench.changed();
        let before = bench.writes();
        let outcome = transaction.commit(CommitMode::Delayed).unwrap();
        assert!(!outcome.is_hardened && bench.manager.log().hardened() < outcome.lsn);
        bench.os.sleep(2_000_000_000, WaitType::SLEEP_TASK).unwrap();
        assert!(bench.manager.log().hardened() >= outcome.lsn, "two seconds later it is hard");
        assert!(bench.writes() > before);
    });
}
