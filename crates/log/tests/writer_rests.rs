//! The LOG WRITER has a thread while there is work for it: it ends after ten seconds without work, and new work starts it again at once.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use std::sync::Arc;

use common::{commit, small_options};
use hardpan_log::{DelayedFlushPolicy, FlushReason, Growth, Log, LogOptions};
use os::sim::{Fault, Operation, Profile, World};
use os::{Os, WaitType};

const SECOND_NS: u64 = 1_000_000_000;
const MILLISECOND_NS: u64 = 1_000_000;
/// After so long without work it ends.
const REST_NS: u64 = 10 * SECOND_NS;

fn create(os: &Os) -> Arc<Log> {
    os.disk().create_dir_all(std::path::Path::new("/data")).unwrap();
    let options = LogOptions { growth: Growth::Bytes(256 << 10), ..small_options("/data/test.ldf", 4 << 20) };
    Arc::new(Log::create(os, &options).unwrap())
}

fn in_a_world(seed: u64, body: impl FnOnce(&Os, &Arc<Log>) + Send + 'static) {
    World::new(seed, Profile::constant_latency())
        .run(move |os| {
            let log = create(os);
            body(os, &log);
            log.close().unwrap();
            assert!(!log.has_writer(), "a closed log has no writer");
        })
        .assert_ok();
}

fn sleep(os: &Os, duration_ns: u64) {
    os.sleep(duration_ns, WaitType::SLEEP_TASK).unwrap();
}

#[test]
fn it_comes_with_work_and_ends_without() {
    in_a_world(1, |os, log| {
        assert!(!log.has_writer(), "nothing was appended");
        log.harden(commit(log, 1, 40), FlushReason::Commit).unwrap();
        assert!(!log.has_writer(), "a committer alone writes himself");
        for txn in 2..5 {
            log.delay(commit(log, txn, 40), 100).unwrap();
            assert!(log.has_writer(), "delayed log is to drain");
            sleep(os, SECOND_NS);
            assert!(log.hardened() == log.last() && log.has_writer(), "it waits for more");
            sleep(os, REST_NS);
            assert!(!log.has_writer(), "nothing came for ten seconds");
        }
        // A full block, without a flush request.
        let before = log.stats().flushes_total;
        commit(log, 5, 50_000);
        commit(log, 6, 50_000);
        sleep(os, SECOND_NS);
        assert!(log.stats().flushes_total > before && log.has_writer());
    });
}

#[test]
fn settings_are_looked_at_by_a_writer_that_had_ended() {
    in_a_world(2, |os, log| {
        log.set_delayed_flush_policy(DelayedFlushPolicy::Suspended);
        log.delay(commit(log, 1, 40), 100).unwrap();
        sleep(os, REST_NS + SECOND_NS);
        assert!(!log.has_writer() && log.hardened() < log.last(), "it is not to drain");
        log.set_delayed_flush_policy(DelayedFlushPolicy::Eager);
        sleep(os, SECOND_NS);
        assert_eq!(log.hardened(), log.last());
    });
}

#[test]
fn a_failed_log_keeps_no_writer() {
    let world = World::new(3, Profile::constant_latency());
    let device = world.clone();
    let report = world.run(move |os| {
        let log = create(os);
        device.inject(Fault::fail_from(Operation::Write, 0).on("/data/test.ldf"));
        log.delay(commit(&log, 1, 40), 100).unwrap();
        sleep(os, SECOND_NS);
        assert!(log.harden(log.last(), FlushReason::Commit).is_err());
        assert!(!log.has_writer());
        log.set_delayed_flush_policy(DelayedFlushPolicy::Timed(5));
        assert!(!log.has_writer(), "nothing is to be written any more");
    });
    report.assert_ok();
}

/// Commits that come just when the writer ends: each drains as soon as if it had been there.
#[test]
fn work_that_comes_while_it_ends_is_done() {
    for seed in 0..40 {
        in_a_world(seed, |os, log| {
            let clients: Vec<_> = (0..3)
                .map(|client: u64| {
                    let (log, os_of) = (Arc::clone(log), os.clone());
                    os.spawn("committer", move || {
                        for round in 0..30 {
                            let lsn = commit(&log, client * 1_000 + round, 40);
                            log.delay(lsn, 100).unwrap();
                            sleep(&os_of, 100 * MILLISECOND_NS);
                            assert!(log.hardened() >= lsn, "client {client}, round {round}: {lsn} waits");
                            // About when it ends: its rest begins up to a few hundred microseconds after the commit.
                            let shift_ns = (client * 31 + round) * 37_000 % 900_000;
                            sleep(&os_of, REST_NS - 100 * MILLISECOND_NS + shift_ns);
                        }
                    })
                })
                .collect();
            clients.into_iter().for_each(|client| client.join().unwrap());
        });
    }
}
