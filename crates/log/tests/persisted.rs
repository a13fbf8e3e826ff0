//! The persisted log buffer: a commit in it survives a loss of power without a write of the log (claims 70, 73 to 76), and no buffer that
//! does not hold the end of this log is ever taken over.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use std::path::Path;
use std::sync::Arc;

use common::{commit, insert, small_options, turn_bits_over};
use hardpan_log::{DelayedFlushPolicy, FlushReason, Log, LogError, LogOptions, Lsn, PersistedOptions};
use os::sim::{Bug, Effect, End, Fault, Operation, Profile, World, WriteStep};
use os::{Latch, LatchRank, Os, PersistentVolume, WaitType};

const PATH: &str = "/data/test.ldf";

fn buffer() -> PersistedOptions {
    PersistedOptions { path: "/pmem/test.pldf".into(), volume: PersistentVolume::Dax }
}

fn without() -> LogOptions {
    LogOptions { delayed_flush: DelayedFlushPolicy::BlockFull, ..small_options(PATH, 1 << 20) }
}

fn with() -> LogOptions {
    LogOptions { persisted: Some(buffer()), ..without() }
}

fn new_log(os: &Os) -> Arc<Log> {
    os.disk().create_dir_all(Path::new("/data")).unwrap();
    os.disk().sync_dir(Path::new("/")).unwrap();
    let log = Arc::new(Log::create(os, &without()).unwrap());
    log.begin_persisting(&buffer()).unwrap();
    log
}

fn harden(log: &Log, txn: u64, bytes: usize) -> Lsn {
    let lsn = commit(log, txn, bytes);
    log.harden(lsn, FlushReason::Commit).unwrap();
    lsn
}

/// Runs `life` in a world, then ends it as `end` says; returns its result.
fn live<T: Send + 'static>(world: &World, end: End, life: impl FnOnce(&Os) -> T + Send + 'static) -> T {
    let noted = Arc::new(Latch::new(LatchRank::Leaf, None));
    let (answer, nemesis) = (Arc::clone(&noted), world.clone());
    let report = world.run(move |os| {
        let value = life(os);
        *answer.lock() = Some(value);
        match end {
            End::PowerOff => nemesis.power_off(),
            _ => nemesis.kill_process(),
        }
    });
    assert_eq!((report.end, report.failures.len()), (end, 0), "{:?}", report.failures);
    let noted = noted.lock().take();
    noted.unwrap()
}

/// The transactions of the records that an opening finds, by address, and how many blocks it took over.
fn records_of(world: &World, options: &LogOptions) -> Result<(Vec<(Lsn, u64)>, u64), String> {
    let found = Arc::new(Latch::new(LatchRank::Leaf, None));
    let (answer, options) = (Arc::clone(&found), options.clone());
    let report = world.run(move |os| {
        let opened = Log::open(os, &options).map(|(log, _)| {
            let log = Arc::new(log);
            let stats = log.stats();
            let taken = stats.flushes_by_reason_total[FlushReason::TakeOver.index()];
            assert_eq!(stats.flushes_total, taken, "an opening writes no other blocks");
            let records = log.read_from(Lsn::NULL).map(|record| record.unwrap());
            (records.map(|record| (record.lsn, record.header.txn.0)).collect(), taken)
        });
        *answer.lock() = Some(opened.map_err(|error| error.to_string()));
    });
    report.assert_ok();
    let found = found.lock().take();
    found.unwrap()
}

/// Claims 70, 73, 74 and 75: no write for a commit, full blocks behind it, and the tail is taken over.
#[test]
fn a_commit_writes_nothing_and_the_file_follows_in_full_blocks() {
    let world = World::new(1, Profile::nvme());
    let tracer = world.clone();
    let (stats, waits) = live(&world, End::PowerOff, move |os| {
        let log = new_log(os);
        let before = log.stats();
        tracer.trace_writes();
        // Claim 73: whatever the log's device does, a commit does not wait for it.
        tracer.inject(Fault {
            operation: Operation::Harden,
            path_contains: ".ldf".into(),
            skip: 0,
            times: u64::MAX,
            effect: Effect::Delay(50_000_000),
        });
        let began_ns = os.clock().monotonic_ns();
        for txn in 1..=100 {
            let lsn = harden(&log, txn, 100);
            assert_eq!(log.hardened(), lsn, "safe at once");
        }
        let took_ns = os.clock().monotonic_ns() - began_ns;
        assert!(took_ns < 50_000_000, "{took_ns} ns for a hundred commits, less than one write takes");
        let stats = log.stats();
        assert_eq!(stats.flushes_total, before.flushes_total, "no flush for any reason");
        assert!(tracer.take_writes().is_empty(), "and no write of the device at all");
        let info = log.persisted_buffer().unwrap();
        assert_eq!((info.copies_total, info.is_dax), (100, true));
        // Claim 74: when a block is full it is written, and nothing else is.
        for txn in 101..=300 {
            harden(&log, txn, 3_000);
        }
        os.sleep(10_000_000_000, WaitType::SLEEP_TASK).unwrap();
        let writes: Vec<usize> = tracer
            .take_writes()
            .into_iter()
            .filter(|write| matches!(write.step, WriteStep::Issued(_)))
            .map(|write| write.len)
            .collect();
        let stats = log.stats();
        let full = stats.flushes_by_reason_total[FlushReason::BlockFull.index()];
        // The last one of a VLF is as large as there is room.
        let mean = writes.iter().sum::<usize>() / writes.len().max(1);
        assert!(writes.len() > 5 && mean > 50_000, "{writes:?}");
        assert!(full > 0 && stats.flushes_total == before.flushes_total + full);
        let wait = |wait_type| os.wait_stats().row(wait_type).waiting_tasks_count;
        std::mem::forget(log.clone());
        (stats, (wait(WaitType::WRITELOG), wait(WaitType::LOGMGR_PMM_LOG)))
    });
    assert_eq!(waits, (0, 300), "one wait of each commit, none for a write");
    let (found, taken) = records_of(&world, &with()).unwrap();
    assert_eq!(found.len() as u64, stats.records_total, "to the last record");
    assert!(taken >= 1, "claim 75: {taken} blocks are copied into the log");
    assert_eq!(records_of(&world, &with()).unwrap(), (found, 0), "durably");
}

#[test]
fn delayed_commits_are_not_at_risk() {
    let world = World::new(2, Profile::nvme());
    let last = live(&world, End::PowerOff, |os| {
        let log = new_log(os);
        let lsn = commit(&log, 1, 40);
        log.delay(lsn, 40).unwrap();
        let window = log.loss_window();
        assert_eq!((window.now.commits, window.survives_process), (0, true));
        let wanted = commit(&log, 2, 40);
        log.request_delayed_flush(wanted);
        assert_eq!((log.hardened(), log.stats().flushes_total), (wanted, 0), "nothing drains");
        assert!(log.harden_within(commit(&log, 3, 40), FlushReason::Ticket, Some(0)).unwrap());
        log.request_flush(commit(&log, 4, 40), FlushReason::SequenceCache).unwrap();
        assert_eq!(log.hardened(), log.last(), "who asks need not come back");
        log.last()
    });
    assert_eq!(records_of(&world, &with()).unwrap().0.last().unwrap().0, last);
}

#[test]
fn some_reasons_are_for_the_file() {
    let world = World::new(3, Profile::nvme());
    live(&world, End::Killed, |os| {
        let log = new_log(os);
        let begin = harden(&log, 1, 40);
        let in_file = || log.persisted_buffer().unwrap().hardened_in_file;
        assert!(in_file() < begin);
        for reason in [FlushReason::Quiesce, FlushReason::FlushLogProc] {
            let lsn = commit(&log, 2, 40);
            log.harden(lsn, reason).unwrap();
            assert_eq!(in_file(), lsn, "{reason:?}");
        }
        log.record_checkpoint(begin, begin).unwrap();
        log.end_persisting().unwrap();
        assert!(log.persisted_buffer().is_none());
        let lsn = harden(&log, 3, 40);
        assert_eq!(log.stats().flushes_by_reason_total[FlushReason::Commit.index()], 1, "as before");
        assert_eq!(log.hardened(), lsn);
        std::mem::forget(log);
    });
    assert!(world.persistent_names().is_empty(), "switching it off removes it");
    records_of(&world, &without()).unwrap();
}

/// A bit of the log's file flips: opening names the damage, or no acknowledged record is lost. If the file has nothing behind the damaged
/// block, only the buffer shows that the block was durable.
#[test]
fn a_bit_that_turns_over_takes_nothing_in_silence() {
    let (mut named, mut whole) = (0, 0);
    for seed in 0..4 {
        let end = if seed % 2 == 0 { End::Killed } else { End::PowerOff };
        // A slow device has not completed its writes when the end comes: the buffer still has those records.
        let profile = if seed == 0 { Profile::disk_drive() } else { Profile::nvme() };
        let life = || {
            let world = World::new(seed, profile.clone());
            let told = live(&world, end, move |os| {
                let log = new_log(os);
                let bytes = |txn: u64| [9_000, 25_000, 17_000][((txn + seed) % 3) as usize];
                let mut told: Vec<_> =
                    (1..=12 + seed).map(|txn| (harden(&log, txn, bytes(txn)), txn)).collect();
                // The last block is durable before the next one begins, which reuses its place in the buffer.
                if seed >= 2 {
                    log.harden(log.last(), FlushReason::FlushLogProc).unwrap();
                } else {
                    os.sleep(1_000, WaitType::SLEEP_TASK).unwrap();
                }
                told.extend((101..=103).map(|txn| (harden(&log, txn, 40), txn)));
                std::mem::forget(log);
                told
            });
            (world, told)
        };
        turn_bits_over(PATH, 7, life, |world, told, at| match records_of(world, &with()) {
            Err(_) => named += 1,
            Ok((found, _)) => {
                let gone: Vec<_> = told.iter().filter(|commit| !found.contains(commit)).collect();
                assert!(gone.is_empty(), "seed {seed}: the bit at {at} took {gone:?}");
                whole += 1;
            }
        });
    }
    println!("{named} bits were named, {whole} took nothing");
    assert!(named > 20 && whole > 20, "{named} bits were named, {whole} took nothing");
}

/// A bit of the buffer flips: opening reports it, or no acknowledged commit is lost. The file has no trace of records that only the buffer has.
#[test]
fn a_bit_of_the_buffer_takes_nothing_in_silence() {
    let (mut named, mut whole) = (0, 0);
    // The first place's words, its records, and some unused bytes.
    for at in (4096..4096 + 64).chain((12_288 + 64..12_288 + 400).step_by(7)) {
        let world = World::new(9, Profile::nvme());
        let told = live(&world, End::PowerOff, |os| {
            let log = new_log(os);
            (1..=3).map(|txn| (harden(&log, txn, 40), txn)).collect::<Vec<_>>()
        });
        world.corrupt_persistent(Path::new("/pmem/test.pldf"), at, 1 << (at % 8));
        match records_of(&world, &with()) {
            Err(text) => {
                assert!(text.contains("place 0 of"), "{text}");
                named += 1;
            }
            Ok((found, _)) => {
                let gone: Vec<_> = told.iter().filter(|commit| !found.contains(commit)).collect();
                assert!(gone.is_empty(), "the bit at {at} took {gone:?}");
                whole += 1;
            }
        }
    }
    println!("{named} bits were named, {whole} took nothing");
    assert!(named > 60 && whole > 10, "{named} bits were named, {whole} took nothing");
}

/// One task commits, switches the buffer off and on, with a power cut before each store, flush and fence: all acknowledged records are
/// there, in their transactions, and none twice.
fn torn_at(operation: u64, seed: u64, bug: Option<Bug>) -> Result<bool, String> {
    let world = World::new(seed, Profile::drawn(seed));
    world.plant(bug);
    let told: Arc<Latch<Vec<(Lsn, u64)>>> = Arc::new(Latch::new(LatchRank::Leaf, Vec::new()));
    let (ledger, nemesis) = (Arc::clone(&told), world.clone());
    let report = world.run(move |os| {
        let log = new_log(os);
        nemesis.power_off_after_stores(operation);
        for txn in 1..=12 {
            let bytes = [30, 300, 9_000, 25_000][((txn + seed) % 4) as usize];
            if txn % 3 == 0 {
                log.append(&insert(0, 50)).unwrap();
            }
            let lsn = harden(&log, txn, bytes);
            ledger.lock().push((lsn, txn));
            if txn == 6 {
                log.end_persisting().unwrap();
                let lsn = harden(&log, 100, 40);
                ledger.lock().push((lsn, 100));
                log.begin_persisting(&buffer()).unwrap();
            }
        }
        nemesis.power_off();
    });
    let is_over = !report.failures.is_empty();
    assert!(!is_over, "operation {operation} seed {seed}: {:?}", report.failures);
    let reached_end = told.lock().len() == 13;
    world.disarm();
    let (found, _) = records_of(&world, &with())?;
    for commit in told.lock().iter() {
        if !found.contains(commit) {
            return Err(format!("{commit:?} is not there, the last is {:?}", found.last()));
        }
    }
    // The log goes on.
    live(&world, End::PowerOff, |os| {
        let (log, _) = Log::open(os, &with()).unwrap();
        harden(&log, 200, 40)
    });
    let (again, _) = records_of(&world, &with())?;
    if again[..found.len()] != found[..] || again.last().map(|last| last.1) != Some(200) {
        return Err(format!("{:?} then {:?}", found.last(), again.last()));
    }
    Ok(reached_end)
}

/// Claim 76, at each store, flush and fence.
#[test]
fn no_loss_of_power_takes_an_acknowledged_commit() {
    for seed in 0..3 {
        let mut operations = 1;
        while !torn_at(operations, seed, None)
            .unwrap_or_else(|error| panic!("operation {operations} of {seed}: {error}"))
        {
            operations += 1;
        }
        assert!(operations > 300, "each of them was a point to lose the power at: {operations}");
    }
}

fn first_found(bug: Bug) -> Option<u64> {
    (0..500).find(|seed| torn_at(60 + seed * 7 % 300, *seed, Some(bug)).is_err())
}

#[test]
fn an_acknowledgement_before_the_fence_is_found() {
    let found = first_found(Bug::AcknowledgedBeforeFence);
    println!("AcknowledgedBeforeFence at seed {found:?}");
    assert!(found.is_some(), "not seen in 500 seeds");
}

#[test]
fn a_tail_that_is_not_copied_is_found() {
    let found = first_found(Bug::BufferNotCopied);
    println!("BufferNotCopied at seed {found:?}");
    assert!(found.is_some(), "not seen in 500 seeds");
}

/// Tasks commit in all ways while one switches the buffer off and on; the power is cut at any task switch.
#[test]
fn many_sessions_lose_nothing_either() {
    let (mut acknowledged, mut taken_over) = (0, 0);
    for seed in 0..200 {
        let world = World::new(seed, Profile::drawn(seed));
        let told: Arc<Latch<Vec<(Lsn, u64)>>> = Arc::new(Latch::new(LatchRank::Leaf, Vec::new()));
        let (ledger, nemesis) = (Arc::clone(&told), world.clone());
        let report = world.run(move |os| {
            let log = new_log(os);
            match seed % 3 {
                0 => nemesis.kill_after_switches(50 + seed * 4),
                _ => nemesis.power_off_after_switches(50 + seed * 4),
            }
            let tasks: Vec<_> = (0..4)
                .map(|task| {
                    let (log, ledger, own) = (Arc::clone(&log), Arc::clone(&ledger), os.clone());
                    os.spawn(&format!("task {task}"), move || {
                        let mut rng = own.rng(&format!("task {task}"));
                        for number in 0..200 {
                            let txn = number * 4 + task + 1;
                            let lsn = harden(&log, txn, [30, 30, 400, 9_000][rng.below(4) as usize]);
                            own.yield_point();
                            ledger.lock().push((lsn, txn));
                            if task == 0 && rng.chance(1, 30) {
                                log.end_persisting().unwrap();
                                own.yield_point();
                                log.begin_persisting(&buffer()).unwrap();
                            }
                        }
                    })
                })
                .collect();
            tasks.into_iter().for_each(|task| drop(task.join()));
        });
        world.disarm();
        assert_eq!(report.failures.len(), 0, "seed {seed}: {:?}", report.failures);
        let (found, taken) = records_of(&world, &with()).unwrap();
        let told = told.lock();
        for commit in told.iter() {
            assert!(
                found.contains(commit),
                "seed {seed}: {commit:?} is gone, the last is {:?}",
                found.last()
            );
        }
        (acknowledged, taken_over) = (acknowledged + told.len(), taken_over + taken);
    }
    assert!(acknowledged > 2_000 && taken_over > 50, "{acknowledged} commits, {taken_over} blocks");
}

#[test]
fn a_log_is_not_opened_without_the_buffer_that_has_its_end() {
    let world = World::new(4, Profile::nvme());
    let last = live(&world, End::PowerOff, |os| harden(&new_log(os), 1, 40));
    let refused = |options: &LogOptions| records_of(&world, options).unwrap_err();
    world.set_persistent_device(false);
    assert!(
        refused(&with()).contains("is in its persisted log buffer, which is not there"),
        "{}",
        refused(&with())
    );
    world.set_persistent_device(true);
    assert!(refused(&without()).contains("nobody knows where it lies"));
    let elsewhere = PersistedOptions { path: "/pmem/other.pldf".into(), ..buffer() };
    assert!(refused(&LogOptions { persisted: Some(elsewhere), ..without() }).contains("which is not there"));
    assert_eq!(
        records_of(&world, &with()).unwrap().0.last().unwrap().0,
        last,
        "it is back, and nothing is lost"
    );
    // A log that was closed properly does not need the buffer, but is not opened without it.
    live(&world, End::Killed, |os| Log::open(os, &with()).unwrap().0.close().unwrap());
    world.set_persistent_device(false);
    assert!(refused(&with()).contains("the device is away"));
    assert_eq!(records_of(&world, &without()).unwrap().0.last().unwrap().0, last);
}

#[test]
fn only_a_dax_volume_will_do_but_for_a_test() {
    let world = World::new(5, Profile::nvme());
    live(&world, End::Killed, |os| {
        os.disk().create_dir_all(Path::new("/data")).unwrap();
        let log = Log::create(os, &without()).unwrap();
        for (path, volume, is_one) in [
            ("/data/x.pldf", PersistentVolume::Test, false),
            ("/tmpfs/x.pldf", PersistentVolume::Dax, false),
            ("/tmpfs/x.pldf", PersistentVolume::Test, true),
        ] {
            let begun = log.begin_persisting(&PersistedOptions { path: path.into(), volume });
            assert_eq!(begun.is_ok(), is_one, "{path} {volume:?}");
            assert!(is_one || matches!(begun, Err(LogError::Io(_))), "the log goes on");
            harden(&log, 1, 40);
        }
        assert!(!log.persisted_buffer().unwrap().is_dax);
    });
}

/// An older copy of the log file is restored next to a newer buffer.
fn put_back(bug: Option<Bug>) -> Result<Vec<(Lsn, u64)>, String> {
    let world = World::new(6, Profile::nvme());
    world.plant(bug);
    live(&world, End::PowerOff, |os| {
        let log = new_log(os);
        let lsn = harden(&log, 1, 40);
        log.harden(lsn, FlushReason::FlushLogProc).unwrap();
    });
    let earlier = world.file_bytes(PATH.as_ref()).unwrap();
    live(&world, End::PowerOff, |os| {
        let (log, _) = Log::open(os, &with()).unwrap();
        harden(&log, 2, 40)
    });
    world
        .run(move |os| {
            let file = os.disk().open(PATH.as_ref(), &os::OpenOptions::create()).unwrap();
            file.write_at(&earlier, 0, os::WriteMode::Cached).unwrap();
        })
        .assert_ok();
    records_of(&world, &with()).map(|found| found.0)
}

#[test]
fn the_buffer_of_a_former_or_later_life_is_never_taken() {
    assert!(put_back(None).unwrap_err().contains("for another log, or at another time"));
    let taken = put_back(Some(Bug::BufferOfFormerLife));
    assert!(
        taken.is_ok_and(|found| found.iter().any(|record| record.1 == 2)),
        "the test sees it when it is taken"
    );
}
