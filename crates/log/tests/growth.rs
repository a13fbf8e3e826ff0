//! Growth of the log file under failing and short I/O and power cuts: the header never counts VLFs that are not there.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use std::path::Path;
use std::sync::Arc;

use common::{insert, small_options};
use hardpan_log::{
    FIRST_LOG_FILE, FlushReason, Growth, Log, LogError, LogFileOptions, LogOptions, Lsn, VlfInfo,
};
use os::sim::{Bug, End, Fault, Operation, Profile, Report, World};
use os::{Latch, LatchRank, WaitType};

const PATH: &str = "/data/test.ldf";
const SECOND: &str = "/data/second.ldf";

fn options() -> LogOptions {
    let small = small_options(PATH, 512 << 10);
    LogOptions { growth: Growth::Bytes(256 << 10), grow_ahead: false, ..small }
}

/// Of the I/Os of a growth that harden something (VLF headers, the file's header), the last.
const HEADER_OF_GROWTH: u64 = 1;

fn commit(log: &Log, txn: u64, bytes: usize) -> Lsn {
    let lsn = log.append(&insert(txn, bytes)).unwrap();
    log.harden(lsn, FlushReason::Commit).unwrap();
    lsn
}

/// Opens the log after a power cut; all acknowledged commits are there, and the log grows and continues.
fn reopen(world: &World, acknowledged: Option<Lsn>) {
    reopened(world, acknowledged).assert_ok();
}

fn reopened(world: &World, acknowledged: Option<Lsn>) -> Report {
    world.run(move |os| {
        let (log, tail) = Log::open(os, &options()).expect("the log of a dead process");
        if let Some(last) = acknowledged {
            assert!(tail.last >= last, "acknowledged {last}, found {}", tail.last);
        }
        log.grow_to(2, 3 << 20).expect("a healthy disk");
        commit(&log, 99, 30_000);
        log.close().unwrap();
    })
}

/// A run with one commit, in which a write of the file's header (the first that a growth makes is 0) fails while the log grows. `work` checks whether
/// it has grown, notes acknowledged commits, and ends with the power off; then the log opens with all of them.
fn through_failing_growth(
    seed: u64,
    header_write: u64,
    work: impl FnOnce(&Log, bool, &World, &Latch<Option<Lsn>>) + Send + 'static,
) {
    let world = World::new(seed, Profile::nvme());
    let acknowledged = Arc::new(Latch::new(LatchRank::Leaf, None));
    let (device, noted) = (world.clone(), Arc::clone(&acknowledged));
    let report = world.run(move |os| {
        os.disk().create_dir_all(Path::new("/data")).unwrap();
        os.disk().sync_dir(Path::new("/")).unwrap();
        let log = Log::create(os, &options()).unwrap();
        *noted.lock() = Some(commit(&log, 1, 100));
        device.inject(Fault::fail_once(Operation::Harden, HEADER_OF_GROWTH + header_write));
        let is_grown = log.grow_to(2, 1 << 20).is_ok();
        device.clear_faults();
        work(&log, is_grown, &device, &noted);
    });
    assert_eq!(report.end, End::PowerOff, "{:?}", report.failures);
    world.clear_faults();
    let last = *acknowledged.lock();
    reopen(&world, last);
}

/// A growth whose header write fails may have reached the disk. The next growth zeroes the same place: before it does, the header on disk
/// must not count that place any more.
#[test]
fn a_growth_after_one_whose_header_failed_survives_a_power_cut() {
    let mut cuts = 0;
    for seed in 0..120 {
        for cut_after in 1..7 {
            through_failing_growth(seed, 0, move |log, is_grown, device, noted| {
                assert!(!is_grown, "the header could not be written");
                device.power_off_after_ios(cut_after);
                log.grow_to(2, 1 << 20).unwrap();
                *noted.lock() = Some(commit(log, 2, 100));
                device.power_off();
            });
            cuts += 1;
        }
    }
    assert_eq!(cuts, 120 * 6);
}

/// As before, but a growth after the failed one cannot be prepared and gives its space back.
#[test]
fn a_growth_that_is_given_up_leaves_what_the_header_counts() {
    for seed in 0..120 {
        through_failing_growth(seed, 0, |log, is_grown, device, _| {
            assert!(!is_grown);
            device.inject(Fault::fail_from(Operation::Sync, 0));
            assert!(log.grow_to(2, 1 << 20).is_err(), "VLF headers cannot be synced");
            device.power_off();
        });
    }
}

/// A run of a log that has grown in some way: its world after the power cut, its end, and how it is opened.
fn grown_life(way: usize) -> (World, Lsn, LogOptions) {
    let second = LogFileOptions {
        number: FIRST_LOG_FILE + 1,
        path: SECOND.into(),
        size_bytes: 512 << 10,
        growth: Growth::Bytes(256 << 10),
        bytes_max: 8 << 20,
    };
    let more_files = if way == 2 { vec![second] } else { Vec::new() };
    let options = LogOptions { grow_ahead: way == 1, more_files, ..options() };
    let (world, made) = (World::new(way as u64, Profile::nvme()), options.clone());
    let last = Arc::new(Latch::new(LatchRank::Leaf, Lsn::NULL));
    let (noted, device) = (Arc::clone(&last), world.clone());
    let report = world.run(move |os| {
        os.disk().create_dir_all(Path::new("/data")).unwrap();
        os.disk().sync_dir(Path::new("/")).unwrap();
        let log = Log::create(os, &made).unwrap();
        match way {
            0 => log.grow_to(FIRST_LOG_FILE, 2 << 20).unwrap(),
            1 => {}
            _ => log.grow_to(FIRST_LOG_FILE + 1, 2 << 20).unwrap(),
        }
        let is_in_what_has_grown = |vlf: &VlfInfo| vlf.active && vlf.begin_offset >= 512 << 10;
        let mut txn = 0;
        while !log.vlfs().iter().any(is_in_what_has_grown) || txn % 4 != 0 {
            txn += 1;
            *noted.lock() = commit(&log, txn, 25_000);
        }
        device.power_off();
    });
    assert_eq!(report.end, End::PowerOff, "{:?}", report.failures);
    let last = *last.lock();
    (world, last, options)
}

fn end_of(world: &World, options: &LogOptions) -> Result<Lsn, LogError> {
    let (found, options) = (Arc::new(Latch::new(LatchRank::Leaf, None)), options.clone());
    let answer = Arc::clone(&found);
    let opened = world.run(move |os| {
        *answer.lock() = Some(Log::open(os, &options).map(|(log, tail)| {
            log.close().unwrap();
            tail.last
        }));
    });
    opened.assert_ok();
    found.lock().take().unwrap()
}

/// Either copy of a header is damaged: the other one counts all VLFs that blocks can be in, and no record is lost.
#[test]
fn a_damaged_copy_of_a_header_hides_nothing_that_has_grown() {
    for way in 0..3 {
        for copy in 0..2 {
            let (world, last, options) = grown_life(way);
            let path = Path::new(if way == 2 { SECOND } else { PATH });
            let at = copy * 4096 + 24;
            let byte = world.file_bytes(path).unwrap()[at];
            world.corrupt(path, at as u64, &[byte ^ 1]);
            assert_eq!(end_of(&world, &options).unwrap(), last, "way {way}, copy {copy}");
        }
    }
}

/// Both copies of the header are lost although their writes were reported as durable: the VLFs that they counted have blocks, and that is detected.
#[test]
fn blocks_that_no_header_counts_are_told() {
    for way in 0..3 {
        let (world, _, options) = grown_life(way);
        let path = Path::new(if way == 2 { SECOND } else { PATH });
        let empty = World::new(way as u64, Profile::nvme());
        let made = options.clone();
        empty
            .run(move |os| {
                os.disk().create_dir_all(Path::new("/data")).unwrap();
                Log::create(os, &made).unwrap();
            })
            .assert_ok();
        // As both were when the log was made.
        let before = empty.file_bytes(path).unwrap();
        assert_eq!(before[12..16], world.file_bytes(path).unwrap()[12..16], "the same log");
        world.corrupt(path, 0, &before[..8192]);
        let told = end_of(&world, &options).unwrap_err().to_string();
        assert!(told.contains("counts"), "way {way}: {told}");
    }
}

/// A second copy of the header that cannot be written does no harm: the log continues, and the next growth writes it first.
#[test]
fn a_growth_whose_second_copy_failed_goes_on() {
    for cut_after in 1..9 {
        through_failing_growth(cut_after, 1, move |log, is_grown, device, noted| {
            assert!(is_grown, "the first copy counts it");
            for txn in 2..30 {
                *noted.lock() = Some(commit(log, txn, 25_000));
            }
            device.power_off_after_ios(cut_after);
            log.grow_to(2, 2 << 20).unwrap();
            *noted.lock() = Some(commit(log, 30, 100));
            device.power_off();
        });
    }
}

/// A log that grows, under short reads and writes; a power cut at a random point. Returns the growths and whether it came; an error when an
/// acknowledged commit is lost, or the log does not open.
fn grow_and_cut(seed: u64, bug: Option<Bug>) -> Result<(u64, bool), String> {
    let profile = Profile { short_transfers_percent: 40, ..Profile::drawn(seed) };
    let world = World::new(seed, profile);
    world.plant(bug);
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
    if !report.failures.is_empty() {
        return Err(format!("{:?}", report.failures));
    }
    let (last, growths) = *acknowledged.lock();
    world.plant(None);
    let again = reopened(&world, last);
    if !again.failures.is_empty() {
        return Err(format!("{:?}", again.failures));
    }
    Ok((growths, report.end == End::PowerOff))
}

/// Short reads and writes anywhere, power cuts anywhere in a log that grows: it opens, and no acknowledged commit is lost.
#[test]
fn growth_under_short_transfers_survives_power_cuts() {
    let (mut growths, mut cut_runs) = (0, 0);
    for seed in 0..150 {
        let (grown, is_cut) = grow_and_cut(seed, None).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        growths += grown;
        cut_runs += u64::from(is_cut);
    }
    assert!(growths > 150 && cut_runs > 100, "{growths} growths, {cut_runs} power cuts");
    let found = (0..500).find(|&seed| grow_and_cut(seed, Some(Bug::GrowBeforeHard)).is_err());
    println!("GrowBeforeHard at seed {found:?}");
    assert!(found.is_some(), "a growth that counts before it is durable was not seen");
}

/// A device whose durable writes and syncs take 170 to 212 us and which moves a gigabyte a second.
fn steady(reserves: bool) -> Profile {
    Profile {
        sync_ns: (170_000, 212_000),
        ns_per_kib: 1_000,
        reserves,
        switches_max: 20_000_000,
        ..Profile::constant_latency()
    }
}

const LATENCY_NS_MAX: u64 = 212_000;
const COMMIT_BYTES: usize = 8_000;

/// Fills a log of 1 MB that grows by steps of `step_bytes` with commits of one session, up to `bytes`. Gives the longest commit in virtual
/// nanoseconds, and the growths.
fn longest_commit_ns(step_bytes: u64, bytes: u64, reserves: bool) -> (u64, u64) {
    let found = Arc::new(Latch::new(LatchRank::Leaf, (0, 0)));
    let answer = Arc::clone(&found);
    let report = World::new(step_bytes, steady(reserves)).run(move |os| {
        os.disk().create_dir_all(Path::new("/data")).unwrap();
        let growth = Growth::Bytes(step_bytes);
        let log = Log::create(os, &LogOptions { growth, ..small_options(PATH, 1 << 20) }).unwrap();
        let mut longest_ns = 0;
        for txn in 1..bytes / COMMIT_BYTES as u64 {
            let began_ns = os.clock().monotonic_ns();
            commit(&log, txn, COMMIT_BYTES);
            longest_ns = longest_ns.max(os.clock().monotonic_ns() - began_ns);
        }
        *answer.lock() = (longest_ns, log.stats().growths_total);
        log.close().unwrap();
    });
    report.assert_ok();
    *found.lock()
}

/// Claim 315: growth never delays a commit for more than three latencies of the device, by small steps or by steps far larger than the log. Where the
/// file system cannot preallocate space the zeros are written first, and the measure shows that.
#[test]
fn growth_stalls_no_commit() {
    let limit_ns = 3 * (LATENCY_NS_MAX + 9_000);
    for (step_bytes, bytes, growths) in
        [(256 << 10, 6 << 20, 18), (1 << 20, 10 << 20, 8), (32 << 20, 20 << 20, 1), (8 << 20, 20 << 20, 2)]
    {
        let (longest_ns, grown) = longest_commit_ns(step_bytes, bytes, true);
        println!("steps of {step_bytes}: {grown} growths, longest commit {longest_ns} ns");
        assert!(grown >= growths, "steps of {step_bytes}: {grown} growths");
        assert!(longest_ns <= limit_ns, "steps of {step_bytes}: a commit took {longest_ns} ns");
    }
    let (longest_ns, _) = longest_commit_ns(32 << 20, 20 << 20, false);
    println!("zeros first: longest commit {longest_ns} ns");
    assert!(longest_ns > 10 * limit_ns, "zeroing first took {longest_ns} ns: the measure sees nothing");
}

/// Fills the space of a growth while it is being zeroed, on a device that zeroes slower than the log is written, and reads all of it back.
fn fill_while_zeroing(seed: u64, bug: Option<Bug>) -> Result<(), String> {
    let slow = Profile { cached_write_ns: (1_000, 3_000_000), ..Profile::nvme() };
    let world = World::new(seed, slow);
    world.plant(bug);
    let report = world.run(|os| {
        os.disk().create_dir_all(Path::new("/data")).unwrap();
        let grown = LogOptions { growth: Growth::Bytes(4 << 20), ..options() };
        let log = Log::create(os, &grown).unwrap();
        log.grow_to(2, 5 << 20).unwrap();
        let mut last = Lsn::NULL;
        for txn in 1..70 {
            last = commit(&log, txn, 50_000);
        }
        let log = Arc::new(log);
        let read = log.read_from(Lsn::NULL).map(|record| record.unwrap().lsn).last();
        assert_eq!(read, Some(last), "all of it can be read");
        log.close().unwrap();
        drop(log);
        let (log, tail) = Log::open(os, &grown).unwrap();
        assert_eq!(tail.last, last);
        log.close().unwrap();
    });
    if report.failures.is_empty() { Ok(()) } else { Err(format!("{:?}", report.failures)) }
}

/// No block is written where zeros are still to be written; a log that does not check is detected.
#[test]
fn zeros_never_meet_a_block() {
    for seed in 0..40 {
        fill_while_zeroing(seed, None).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    }
    let found = (0..500).find(|&seed| fill_while_zeroing(seed, Some(Bug::UseBeforeZeroed)).is_err());
    println!("UseBeforeZeroed at seed {found:?}");
    assert!(found.is_some(), "not seen in 500 seeds");
}

/// Zeroing when the device refuses it, when the file shrinks and when the log stops: the log uses all of the space.
#[test]
fn zeroing_gives_way() {
    for seed in 0..30 {
        let world = World::new(seed, steady(true));
        let device = world.clone();
        let report = world.run(move |os| {
            os.disk().create_dir_all(Path::new("/data")).unwrap();
            let log = Log::create(os, &options()).unwrap();
            log.grow_to(2, 8 << 20).unwrap();
            match seed % 3 {
                0 => {
                    // No other task writes meanwhile.
                    device.inject(Fault::fail_once(Operation::Write, seed / 3));
                    os.sleep(4_000_000, WaitType::SLEEP_TASK).unwrap();
                    device.clear_faults();
                }
                1 => {
                    let shrunk = log.shrink_file(2, 0).unwrap();
                    assert!(shrunk.size_bytes < 8 << 20, "{shrunk:?}");
                    log.grow_to(2, 6 << 20).unwrap();
                }
                _ => {}
            }
            let mut last = Lsn::NULL;
            let bytes = if seed % 3 == 2 { 100_000 } else { 4_500_000 };
            for txn in 1..bytes / 30_000 {
                last = commit(&log, txn, 30_000);
            }
            device.clear_faults();
            log.close().unwrap();
            let (log, tail) = Log::open(os, &options()).unwrap();
            assert_eq!(tail.last, last);
            log.close().unwrap();
        });
        report.assert_ok();
    }
}
