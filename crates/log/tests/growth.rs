//! Growth of the log file under failing and short I/O and power cuts: the header never counts VLFs that are not there.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use std::path::Path;
use std::sync::Arc;

use common::{insert, small_options};
use hardpan_log::{FlushReason, Growth, Log, LogOptions, Lsn};
use os::sim::{End, Fault, Operation, Profile, World};
use os::{Latch, LatchRank};

const PATH: &str = "/data/test.ldf";

fn options() -> LogOptions {
    let small = small_options(PATH, 512 << 10);
    LogOptions { growth: Growth::Bytes(256 << 10), grow_ahead: false, ..small }
}

/// Of the I/Os of a growth that harden something (zeroes, VLF headers, the file's header), the last.
const HEADER_OF_GROWTH: u64 = 2;

fn commit(log: &Log, txn: u64, bytes: usize) -> Lsn {
    let lsn = log.append(&insert(txn, bytes)).unwrap();
    log.harden(lsn, FlushReason::Commit).unwrap();
    lsn
}

/// Opens what a power cut has left; all that was acknowledged is there, and the log grows and goes on.
fn reopen(world: &World, acknowledged: Option<Lsn>) {
    world
        .run(move |os| {
            let (log, tail) = Log::open(os, &options()).expect("the log of a dead process");
            if let Some(last) = acknowledged {
                assert!(tail.last >= last, "acknowledged {last}, found {}", tail.last);
            }
            log.grow_to(2, 3 << 20).expect("a healthy disk");
            commit(&log, 99, 30_000);
            log.close().unwrap();
        })
        .assert_ok();
}

/// A growth whose header write fails may have reached the disk. The next growth zeroes the same place: before it does, the header on disk
/// must not count that place any more.
#[test]
fn a_growth_after_one_whose_header_failed_survives_a_power_cut() {
    let mut cuts = 0;
    for seed in 0..120 {
        for cut_after in 1..7 {
            let world = World::new(seed, Profile::nvme());
            let acknowledged = Arc::new(Latch::new(LatchRank::Leaf, None));
            let (device, noted) = (world.clone(), Arc::clone(&acknowledged));
            let report = world.run(move |os| {
                os.disk().create_dir_all(Path::new("/data")).unwrap();
                os.disk().sync_dir(Path::new("/")).unwrap();
                let log = Log::create(os, &options()).unwrap();
                *noted.lock() = Some(commit(&log, 1, 100));
                device.inject(Fault::fail_once(Operation::Harden, HEADER_OF_GROWTH));
                assert!(log.grow_to(2, 1 << 20).is_err(), "the header could not be written");
                device.clear_faults();
                device.power_off_after_ios(cut_after);
                log.grow_to(2, 1 << 20).unwrap();
                *noted.lock() = Some(commit(&log, 2, 100));
                device.power_off();
            });
            assert_eq!(report.end, End::PowerOff, "{:?}", report.failures);
            cuts += 1;
            let last = *acknowledged.lock();
            reopen(&world, last);
        }
    }
    assert_eq!(cuts, 120 * 6);
}

/// The same where a growth after the failed one cannot be prepared and gives its room back.
#[test]
fn a_growth_that_is_given_up_leaves_what_the_header_counts() {
    for seed in 0..120 {
        let world = World::new(seed, Profile::nvme());
        let acknowledged = Arc::new(Latch::new(LatchRank::Leaf, None));
        let (device, noted) = (world.clone(), Arc::clone(&acknowledged));
        let report = world.run(move |os| {
            os.disk().create_dir_all(Path::new("/data")).unwrap();
            os.disk().sync_dir(Path::new("/")).unwrap();
            let log = Log::create(os, &options()).unwrap();
            *noted.lock() = Some(commit(&log, 1, 100));
            device.inject(Fault::fail_once(Operation::Harden, HEADER_OF_GROWTH));
            assert!(log.grow_to(2, 1 << 20).is_err());
            device.clear_faults();
            device.inject(Fault::fail_from(Operation::Sync, 0));
            assert!(log.grow_to(2, 1 << 20).is_err(), "VLF headers cannot be synced");
            device.power_off();
        });
        assert_eq!(report.end, End::PowerOff, "{:?}", report.failures);
        world.clear_faults();
        let last = *acknowledged.lock();
        reopen(&world, last);
    }
}

/// Short reads and writes anywhere, power cuts anywhere in a log that grows: it opens, and nothing acknowledged is lost.
#[test]
fn growth_under_short_transfers_survives_power_cuts() {
    let (mut growths, mut cut_runs) = (0, 0);
    for seed in 0..150 {
        let profile = Profile { short_transfers_percent: 40, ..Profile::drawn(seed) };
        let world = World::new(seed, profile);
        let acknowledged = Arc::new(Latch::new(LatchRank::Leaf, (None, 0)));
        let (device, noted) = (world.clone(), Arc::clone(&acknowledged));
        let report = world.run(move |os| {
            os.disk().create_dir_all(Path::new("/data")).unwrap();
            os.disk().sync_dir(Path::new("/")).unwrap();
            let log = Log::create(os, &options()).unwrap();
            device.power_off_after_ios(5 + seed % 140);
            for txn in 1..80 {
                let last = commit(&log, txn, 25_000);
                *noted.lock() = (Some(last), log.stats().growths_total);
            }
        });
        cut_runs += u64::from(report.end == End::PowerOff);
        assert!(report.failures.is_empty(), "seed {seed}: {:?}", report.failures);
        let (last, grown) = *acknowledged.lock();
        growths += grown;
        reopen(&world, last);
    }
    assert!(growths > 150 && cut_runs > 100, "{growths} growths, {cut_runs} power cuts");
}
