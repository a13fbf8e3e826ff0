//! MAX_DELAY and MAX_LOSS: a power cut loses acknowledged delayed commits only within them; the drain policies; `harden_within`.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use std::path::Path;
use std::sync::Arc;

use common::{commit, insert, small_options};
use hardpan_log::{DelayedFlushPolicy, FlushReason, Growth, Log, LogError, LogOptions, LossBounds, Lsn};
use os::sim::{Bug, Effect, Fault, Operation, Profile, World};
use os::{Latch, LatchRank, Os, WaitType};

const PATH: &str = "/data/test.ldf";
const TASKS: u64 = 4;

fn options() -> LogOptions {
    LogOptions { growth: Growth::Bytes(256 << 10), ..small_options(PATH, 1 << 20) }
}

/// An acknowledged delayed commit: earliest and latest time of its acknowledgement, and its bytes of log.
#[derive(Clone, Copy, Debug)]
struct Told {
    lsn: Lsn,
    bytes: u64,
    began_ns: u64,
    ended_ns: u64,
}

fn new_log(os: &Os) -> Arc<Log> {
    os.disk().create_dir_all(Path::new("/data")).unwrap();
    os.disk().sync_dir(Path::new("/")).unwrap();
    Arc::new(Log::create(os, &options()).unwrap())
}

fn commit_delayed(log: &Log, txn: u64, bytes: usize) -> Result<(Lsn, u64), LogError> {
    let before = log.stats().record_bytes_total;
    log.append(&insert(txn, bytes))?;
    let lsn = log.append(&insert(txn, 10))?;
    // Other tasks append as well, so the difference may be more than it wrote.
    let written = (log.stats().record_bytes_total - before).min(bytes as u64 + 200);
    log.delay(lsn, written)?;
    Ok((lsn, written))
}

/// Delayed commits of several tasks until a power cut; the lost ones are within the bounds, else an error describes them.
fn run_seed(seed: u64, bug: Option<Bug>) -> Result<u64, String> {
    let world = World::new(seed, Profile::drawn(seed));
    world.plant(bug);
    let bounds = LossBounds {
        delay_ns_max: (!seed.is_multiple_of(3)).then_some(1_000_000 * (1 + seed % 5)),
        bytes_max: (seed % 3 != 1).then_some(1_000 * (1 + seed % 7)),
    };
    let policy = [DelayedFlushPolicy::Eager, DelayedFlushPolicy::Timed(3), DelayedFlushPolicy::BlockFull];
    let ledger: Arc<Latch<Vec<Told>>> = Arc::new(Latch::new(LatchRank::Leaf, Vec::new()));
    let (device, told) = (world.clone(), Arc::clone(&ledger));
    let report = world.run(move |os| {
        let log = new_log(os);
        log.set_delayed_flush_policy(policy[(seed / 3 % 3) as usize]);
        log.set_loss_bounds(bounds);
        log.suspend_background_flush(seed.is_multiple_of(2));
        device.power_off_after_switches(300 + seed % 700);
        let tasks: Vec<_> = (0..TASKS)
            .map(|task| {
                let (log, told, own) = (Arc::clone(&log), Arc::clone(&told), os.clone());
                let body = move || {
                    let mut rng = own.rng(&format!("task {task}"));
                    for number in 0..10_000 {
                        let began_ns = own.clock().monotonic_ns();
                        let bytes = 20 + rng.below(400) as usize;
                        let Ok((lsn, bytes)) = commit_delayed(&log, number * TASKS + task + 1, bytes) else {
                            return;
                        };
                        told.lock().push(Told { lsn, bytes, began_ns, ended_ns: own.clock().monotonic_ns() });
                        if rng.chance(1, 3) {
                            let _ = own.sleep(rng.below(1_500_000), WaitType::SLEEP_TASK);
                        }
                    }
                };
                os.spawn(&format!("task {task}"), body)
            })
            .collect();
        for task in tasks {
            let _ = task.join();
        }
    });
    world.disarm();
    world.plant(None);
    if !report.failures.is_empty() {
        return Err(format!("{:?}", report.failures));
    }
    let last = Arc::new(Latch::new(LatchRank::Leaf, Lsn::NULL));
    let found = Arc::clone(&last);
    world
        .run(move |os| {
            let (log, tail) = Log::open(os, &options()).unwrap();
            *found.lock() = tail.last;
            log.close().unwrap();
        })
        .assert_ok();
    let last = *last.lock();
    let lost: Vec<Told> = ledger.lock().iter().filter(|told| told.lsn > last).copied().collect();
    let bytes: u64 = lost.iter().map(|told| told.bytes).sum();
    if let Some(most) = bounds.bytes_max.filter(|most| bytes > *most) {
        return Err(format!("{bytes} bytes are lost, {most} may be"));
    }
    let oldest_ns = lost.iter().map(|told| told.ended_ns).min().unwrap_or(0);
    let newest_ns = lost.iter().map(|told| told.began_ns).max().unwrap_or(0);
    let span_ns = newest_ns.saturating_sub(oldest_ns);
    if let Some(most) = bounds.delay_ns_max.filter(|most| span_ns > *most) {
        return Err(format!("commits of {span_ns} ns are lost, {most} may be"));
    }
    Ok(lost.len() as u64)
}

#[test]
fn what_a_power_cut_takes_is_within_the_bounds() {
    let mut lost = 0;
    for seed in 0..150 {
        lost += run_seed(seed, None).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    }
    assert!(lost > 100, "{lost} acknowledged commits lost: the bounds had nothing to hold");
}

#[test]
fn a_bound_that_is_exceeded_is_found() {
    let found = (0..500).find(|&seed| run_seed(seed, Some(Bug::LossBoundIgnored)).is_err());
    println!("LossBoundIgnored at seed {found:?}");
    assert!(found.is_some(), "not seen in 500 seeds");
}

/// Without a drain in the background every commit beyond a bound is one write, for that reason.
#[test]
fn a_commit_beyond_a_bound_waits_for_those_before_it() {
    let world = World::new(2, Profile::constant_latency());
    world
        .run(|os| {
            let log = new_log(os);
            log.suspend_background_flush(true);
            log.set_loss_bounds(LossBounds { delay_ns_max: None, bytes_max: Some(1_000) });
            let delay = |bytes: u64| {
                let lsn = log.append(&insert(1, 20)).unwrap();
                log.delay(lsn, bytes).unwrap();
                let now = log.loss_window().now;
                (now.commits, now.bytes, log.stats().flushes_by_reason_total[FlushReason::LossBound.index()])
            };
            assert_eq!(delay(400), (1, 400, 0));
            assert_eq!(delay(600), (2, 1_000, 0));
            assert_eq!(delay(1), (0, 0, 1), "the two before it are hard now, and it with their block");
            assert_eq!(delay(1_001), (0, 0, 2), "it is as durable as any, having been too large");
            assert_eq!(log.loss_window().waits_total, 2);
            log.set_loss_bounds(LossBounds { delay_ns_max: Some(5_000_000), bytes_max: None });
            assert_eq!(delay(9_000), (1, 9_000, 2));
            os.sleep(4_000_000, WaitType::SLEEP_TASK).unwrap();
            assert_eq!(delay(1), (2, 9_001, 2));
            os.sleep(2_000_000, WaitType::SLEEP_TASK).unwrap();
            assert_eq!(delay(1), (0, 0, 3), "the oldest was too old");
            let window = log.loss_window();
            assert_eq!((window.highest.commits, window.highest.bytes), (2, 9_001));
            assert!(window.highest.age_ns >= 6_000_000, "{window:?}");
            log.close().unwrap();
            assert_eq!(log.loss_window().now.commits, 0, "a clean stop loses none");
        })
        .assert_ok();
}

/// Bounds drain in time whatever the policy says, so that no commit waits if the device keeps up.
#[test]
fn bounds_drain_before_anybody_must_wait() {
    let world = World::new(3, Profile::constant_latency());
    world
        .run(|os| {
            let log = new_log(os);
            log.set_delayed_flush_policy(DelayedFlushPolicy::BlockFull);
            let background = || log.stats().flushes_by_reason_total[FlushReason::Background.index()];
            let pause = |ns| os.sleep(ns, WaitType::SLEEP_TASK).unwrap();
            let delay = || {
                let lsn = log.append(&insert(1, 20)).unwrap();
                log.delay(lsn, 100).unwrap();
            };
            delay();
            pause(50_000_000);
            assert_eq!(background(), 0, "BLOCK_FULL waits for its block");
            log.set_loss_bounds(LossBounds { delay_ns_max: Some(20_000_000), bytes_max: None });
            pause(1_000_000);
            assert_eq!(background(), 1, "what is there is too old already");
            delay();
            pause(15_000_000);
            assert_eq!(background(), 2, "half of MAX_DELAY is over");
            log.set_loss_bounds(LossBounds { delay_ns_max: None, bytes_max: Some(1_000) });
            for _ in 0..100 {
                delay();
                pause(400_000);
            }
            assert!(background() >= 10, "half of MAX_LOSS is reached again and again");
            assert_eq!(log.loss_window().waits_total, 0);
            log.set_loss_bounds(LossBounds::default());
            log.set_delayed_flush_policy(DelayedFlushPolicy::Timed(10));
            pause(20_000_000);
            let before = background();
            delay();
            pause(9_000_000);
            assert_eq!(background(), before, "TIMED is not over");
            pause(2_000_000);
            assert_eq!(background(), before + 1);
            log.close().unwrap();
        })
        .assert_ok();
}

#[test]
fn a_wait_with_a_time_limit_ends_and_one_without_does_not() {
    let world = World::new(4, Profile::constant_latency());
    let device = world.clone();
    world
        .run(move |os| {
            let log = new_log(os);
            log.suspend_background_flush(true);
            let lsn = commit(&log, 1, 50);
            log.harden(lsn, FlushReason::Commit).unwrap();
            assert!(log.harden_within(lsn, FlushReason::Ticket, Some(0)).unwrap(), "hard already");
            device.inject(Fault {
                operation: Operation::Write,
                path_contains: "test.ldf".into(),
                skip: 0,
                times: 1,
                effect: Effect::Delay(30_000_000),
            });
            let lsn = log.append(&insert(2, 50)).unwrap();
            let began_ns = os.clock().monotonic_ns();
            assert!(!log.harden_within(lsn, FlushReason::Ticket, Some(10_000_000)).unwrap());
            assert_eq!(os.clock().monotonic_ns() - began_ns, 10_000_000);
            assert!(log.harden_within(lsn, FlushReason::Ticket, None).unwrap());
            assert!(log.hardened() >= lsn);
            assert_eq!(log.stats().flushes_by_reason_total[FlushReason::Ticket.index()], 1);
            device.inject(Fault::fail_once(Operation::Write, 0));
            let lsn = log.append(&insert(3, 50)).unwrap();
            assert!(matches!(log.harden_within(lsn, FlushReason::Ticket, None), Err(LogError::Failed(_))));
            assert!(matches!(log.delay(lsn, 60), Err(LogError::Failed(_))));
        })
        .assert_ok();
}
