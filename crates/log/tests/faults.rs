//! In simulated worlds: every single I/O fails once or always; out-of-order completions; each reason is one write.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use std::sync::Arc;

use common::{commit, insert, small_options};
use hardpan_log::{FlushReason, Growth, Log, LogError, LogLimits, LogOptions, Lsn};
use os::sim::{End, Operation, Profile, World, for_each_io_failure};
use os::{Latch, LatchRank, Os};

const PATH: &str = "/data/test.ldf";

fn options() -> LogOptions {
    LogOptions { growth: Growth::Bytes(256 << 10), ..small_options(PATH, 512 << 10) }
}

/// Makes the log, commits durably until something fails, notes what was acknowledged.
fn commit_until_it_fails(os: &Os, acknowledged: &Latch<Vec<Lsn>>) -> Result<(), LogError> {
    os.disk().create_dir_all(std::path::Path::new("/data"))?;
    let log = Log::create(os, &options())?;
    for txn in 1..=30 {
        let lsn = commit_fallibly(&log, txn, if txn % 4 == 0 { 30_000 } else { 50 })?;
        log.harden(lsn, FlushReason::Commit)?;
        acknowledged.lock().push(lsn);
        if txn % 10 == 0 {
            log.record_checkpoint(lsn, lsn)?;
            log.truncate()?;
        }
    }
    log.close()
}

fn commit_fallibly(log: &Log, txn: u64, bytes: usize) -> Result<Lsn, LogError> {
    log.append(&insert(txn, bytes))?;
    log.append(&insert(txn, 10))
}

#[test]
fn whichever_io_fails_nothing_acknowledged_is_lost() {
    // Faults F5, F6: a failed write or sync is reported, never retried, and loses no acknowledged commit.
    for operation in [Operation::Write, Operation::Sync, Operation::Read] {
        let worlds = for_each_io_failure(7, operation, |world: &World| {
            let acknowledged = Arc::new(Latch::new(LatchRank::Leaf, Vec::new()));
            let noted = Arc::clone(&acknowledged);
            let report = world.run(move |os| {
                let result = commit_until_it_fails(os, &noted);
                if let Err(error) = result {
                    let told = matches!(error, LogError::Failed(_) | LogError::Io(_) | LogError::Full { .. });
                    assert!(told, "{error}");
                }
            });
            assert_eq!(report.end, End::Returned, "{:?}", report.failures);
            world.clear_faults();
            let last = acknowledged.lock().last().copied();
            let Some(last) = last else { return report };
            world.run(move |os| {
                let (log, tail) = Log::open(os, &options()).expect("the log of a dead process");
                assert!(tail.last >= last, "acknowledged {last}, found {}", tail.last);
                assert_eq!(log.read(last).expect("an acknowledged record").lsn, last);
                log.close().expect("closing");
            })
        });
        assert!(worlds >= 2, "{operation:?}: {worlds} worlds");
    }
}

#[test]
fn after_a_failed_write_nobody_is_told_that_it_is_durable() {
    let world = World::new(11, Profile::nvme());
    let device = world.clone();
    world
        .run(move |os| {
            os.disk().create_dir_all(std::path::Path::new("/data")).unwrap();
            let log = Arc::new(Log::create(os, &options()).unwrap());
            let first = commit(&log, 1, 10);
            log.harden(first, FlushReason::Commit).unwrap();
            let fault = os::sim::Fault::fail_once(Operation::Write, 0);
            device.inject(fault);
            let tasks: Vec<_> = (2..8)
                .map(|txn| {
                    let log = Arc::clone(&log);
                    os.spawn("committer", move || {
                        let Ok(lsn) = commit_fallibly(&log, txn, 10) else { return };
                        assert!(matches!(log.harden(lsn, FlushReason::Commit), Err(LogError::Failed(_))));
                    })
                })
                .collect();
            tasks.into_iter().for_each(|task| task.join().unwrap());
            assert_eq!(log.hardened(), first);
            assert!(
                matches!(log.append(&insert(9, 1)), Err(LogError::Failed(_))),
                "and nothing more is taken"
            );
            assert_eq!(log.read(first).unwrap().lsn, first, "reading goes on");
            assert!(matches!(log.close(), Err(LogError::Failed(_))));
        })
        .assert_ok();
}

/// Claim 9: appending writes nothing; each reason to flush is exactly one write.
#[test]
fn each_reason_is_exactly_one_write() {
    let world = World::new(12, Profile::nvme());
    world
        .run(|os| {
            os.disk().create_dir_all(std::path::Path::new("/data")).unwrap();
            let log = Log::create(os, &options()).unwrap();
            log.suspend_background_flush(true);
            let reasons = FlushReason::ALL.into_iter().filter(|reason| *reason != FlushReason::BlockFull);
            for (txn, reason) in reasons.enumerate() {
                let before = (log.stats(), log.files()[0].stats);
                let lsn = commit(&log, txn as u64 + 1, 20);
                assert_eq!(log.files()[0].stats, before.1, "appending writes nothing");
                log.harden(lsn, reason).unwrap();
                log.harden(lsn, reason).unwrap();
                let after = (log.stats(), log.files()[0].stats);
                assert_eq!(after.0.flushes_total - before.0.flushes_total, 1);
                assert_eq!(after.1.writes_total - before.1.writes_total, 1, "{reason:?}");
                assert_eq!(after.1.syncs_total, before.1.syncs_total);
                assert_eq!(after.0.flushes_by_reason_total[reason.index()], 1);
            }
        })
        .assert_ok();
}

/// Claims 42 and 43 in virtual time.
#[test]
fn the_same_world_makes_the_same_writes_on_every_machine() {
    // 2,000 durable commits of one session are 2,000 flushes, one after the other.
    let run = || {
        let world = World::new(13, Profile::nvme());
        let report = world.run(|os| {
            os.disk().create_dir_all(std::path::Path::new("/data")).unwrap();
            let log = Log::create(os, &LogOptions { size_bytes: 4 << 20, ..options() }).unwrap();
            for txn in 1..=2_000 {
                let lsn = commit(&log, txn, 30);
                log.harden(lsn, FlushReason::Commit).unwrap();
            }
            assert_eq!(log.stats().flushes_total, 2_000);
        });
        report.assert_ok();
        report.trace_hash
    };
    assert_eq!(run(), run());
}

/// Many committers share their flushes, and none waits longer than two writes and the time to gather.
#[test]
fn a_crowd_shares_its_flushes() {
    const COMMITTERS: u64 = 60;
    const COMMITS: u64 = 50;
    let world = World::new(15, Profile::nvme());
    world
        .run(|os| {
            os.disk().create_dir_all(std::path::Path::new("/data")).unwrap();
            let log = Arc::new(Log::create(os, &LogOptions { size_bytes: 4 << 20, ..options() }).unwrap());
            let longest_ns = Arc::new(Latch::new(LatchRank::Leaf, 0));
            let tasks: Vec<_> = (1..=COMMITTERS)
                .map(|txn| {
                    let (log, clock, longest_ns) = (Arc::clone(&log), os.clone(), Arc::clone(&longest_ns));
                    os.spawn("committer", move || {
                        for _ in 0..COMMITS {
                            let took_ns = commit_time_ns(&clock, &log, txn);
                            let mut longest_ns = longest_ns.lock();
                            *longest_ns = took_ns.max(*longest_ns);
                        }
                    })
                })
                .collect();
            tasks.into_iter().for_each(|task| task.join().unwrap());
            let longest_ns = *longest_ns.lock();
            let stats = log.stats();
            let write_ns = stats.flush_write_ns_total / stats.flushes_total;
            assert!(longest_ns < 4 * write_ns + 2_000_000, "{longest_ns} ns, a write takes {write_ns}");
            let flushes = stats.flushes_total;
            assert!(flushes >= COMMITS && flushes * 10 < COMMITTERS * COMMITS, "{flushes} flushes");
        })
        .assert_ok();
}

fn commit_time_ns(os: &Os, log: &Log, txn: u64) -> u64 {
    let began_ns = os.clock().monotonic_ns();
    let lsn = commit(log, txn, 30);
    log.harden(lsn, FlushReason::Commit).unwrap();
    assert!(log.stats().hardened >= lsn);
    os.clock().monotonic_ns() - began_ns
}

#[test]
fn full_blocks_fly_together_within_the_limits() {
    // Claims of seed 002.
    for (limits, at_most) in [(LogLimits::sql2008(), 32), (LogLimits::sql2005(), 8)] {
        let world = World::new(14, Profile::disk_drive());
        world
            .run(move |os| {
                os.disk().create_dir_all(std::path::Path::new("/data")).unwrap();
                let log = Log::create(os, &LogOptions { size_bytes: 16 << 20, limits, ..options() }).unwrap();
                let mut lsn = Lsn::NULL;
                for _ in 0..200 {
                    lsn = log.append(&insert(1, 50_000)).unwrap();
                }
                log.harden(lsn, FlushReason::Commit).unwrap();
                let stats = log.stats();
                // 200 blocks wait for a disk drive: the limit is reached, and not passed.
                assert_eq!(stats.outstanding_ios_high_water, at_most);
                assert!(stats.outstanding_ios_limit_reached_total > 0);
                assert!(stats.outstanding_bytes_high_water > (at_most - 1) * 50_000);
                assert!(stats.outstanding_bytes_high_water <= limits.outstanding_bytes_max);
                assert_eq!(log.read_from(Lsn::NULL).count(), 200);
            })
            .assert_ok();
    }
}

/// Claim 14: tempdb's log is never made durable, neither at creation, nor at growth, nor at its end.
#[test]
fn a_volatile_log_hardens_nothing() {
    let world = World::new(3, Profile::nvme());
    world.inject(os::sim::Fault::fail_from(Operation::Harden, 0).on(PATH));
    world
        .run(|os| {
            os.disk().create_dir_all(std::path::Path::new("/data")).unwrap();
            let volatile = LogOptions { volatile: true, ..options() };
            let log = Log::create(os, &volatile).unwrap();
            let before = log.stats().size_bytes;
            for txn in 1..=60 {
                let lsn = commit_fallibly(&log, txn, 30_000).unwrap();
                log.harden(lsn, FlushReason::Commit).unwrap();
            }
            assert!(log.stats().size_bytes > before, "it has grown");
            log.close().unwrap();
        })
        .assert_ok();
    assert_eq!(world.faults_hit_total(), 0);
}
