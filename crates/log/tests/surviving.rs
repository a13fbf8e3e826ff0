//! The log cache that outlives the process: the blocks that a dead process has left are taken over, and nothing else ever is.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use common::{commit, insert, small_options, turn_bits_over};
use hardpan_log::{
    CacheFolder, DelayedFlushPolicy, FIRST_LOG_FILE, FlushReason, Growth, Log, LogError, LogFileOptions,
    LogOptions, Lsn, remove_left_cache, sweep_left_caches,
};
use os::sim::{Bug, Effect, End, Fault, Operation, Profile, World};
use os::{Latch, LatchRank, Os};

const PATH: &str = "/data/test.ldf";
const ROOT: &str = "/dev/shm";

/// The folder of a data directory's caches.
fn caches_of(directory: u64) -> CacheFolder {
    CacheFolder::of(Path::new(ROOT), (0, directory))
}

fn options() -> LogOptions {
    LogOptions {
        surviving_folder: Some(caches_of(1)),
        delayed_flush: DelayedFlushPolicy::BlockFull,
        ..small_options(PATH, 1 << 20)
    }
}

fn new_log(os: &Os, options: &LogOptions) -> Arc<Log> {
    os.disk().create_dir_all(Path::new("/data")).unwrap();
    os.disk().sync_dir(Path::new("/")).unwrap();
    Arc::new(Log::create(os, options).unwrap())
}

fn delay(log: &Log, txn: u64, bytes: usize) -> Lsn {
    let lsn = commit(log, txn, bytes);
    log.delay(lsn, bytes as u64).unwrap();
    lsn
}

/// A delayed commit of each of these transactions; the address of the last.
fn delay_each(log: &Log, mut txns: std::ops::RangeInclusive<u64>, bytes: usize) -> Lsn {
    let first = delay(log, txns.next().unwrap(), bytes);
    txns.fold(first, |_, txn| delay(log, txn, bytes))
}

/// The newest record that an opening finds, and how many blocks it took over.
fn reopen(world: &World, options: &LogOptions) -> (Lsn, u64) {
    let found = Arc::new(Latch::new(LatchRank::Leaf, None));
    let (answer, options) = (Arc::clone(&found), options.clone());
    let report = world.run(move |os| {
        let (log, tail) = Log::open(os, &options).unwrap();
        let stats = log.stats();
        let taken = stats.flushes_by_reason_total[FlushReason::TakeOver.index()];
        assert_eq!(stats.flushes_total, taken, "an opening writes no other blocks");
        for record in Arc::new(log).read_from(Lsn::NULL) {
            record.unwrap();
        }
        *answer.lock() = Some((tail.last, taken));
    });
    report.assert_ok();
    let found = found.lock().take();
    found.unwrap()
}

/// Runs `life` in a world until it kills the process; returns its result.
fn live_and_die<T: Send + 'static>(world: &World, life: impl FnOnce(&Os) -> T + Send + 'static) -> T {
    let noted = Arc::new(Latch::new(LatchRank::Leaf, None));
    let (answer, killer) = (Arc::clone(&noted), world.clone());
    let report = world.run(move |os| {
        let value = life(os);
        *answer.lock() = Some(value);
        killer.kill_process();
    });
    assert_eq!((report.end, report.failures.len()), (End::Killed, 0), "{:?}", report.failures);
    let noted = noted.lock().take();
    noted.unwrap()
}

#[test]
fn what_is_acknowledged_survives_the_death_of_the_process() {
    let world = World::new(1, Profile::nvme());
    let last = live_and_die(&world, |os| {
        let log = new_log(os, &options());
        // Some of it over several blocks, and the last in an open one.
        let commits: Vec<Lsn> = (1..=12).map(|txn| delay(&log, txn, 20_000)).collect();
        let window = log.loss_window();
        assert!(window.survives_process && window.now.commits > 0, "{window:?}");
        assert!(log.hardened() < commits[11], "the newest is not hard");
        let last = delay(&log, 13, 20);
        std::mem::forget(log);
        last
    });
    let (found, taken) = reopen(&world, &options());
    assert_eq!(found, last, "to the last record");
    assert!(taken >= 1, "{taken} blocks");
    assert_eq!(reopen(&world, &options()), (last, 0), "what was taken over is in the file");
    world.power_loss();
    assert_eq!(reopen(&world, &options()), (last, 0), "durably");
}

/// A bit of the log's file flips, and the process dies: opening names the damage, or no acknowledged commit is lost.
#[test]
fn a_bit_that_turns_over_takes_nothing_in_silence() {
    let (mut named, mut whole) = (0, 0);
    for seed in 0..4 {
        let life = || {
            let world = World::new(seed, Profile::nvme());
            let last = live_and_die(&world, move |os| {
                let log = new_log(os, &options());
                delay_each(&log, 1..=20 + seed, 20_000);
                // Full blocks are durable before the next ones begin, or not.
                os.sleep(1_000_000 * (seed / 2), os::WaitType::SLEEP_TASK).unwrap();
                let last = delay_each(&log, 101..=103, 40);
                std::mem::forget(log);
                last
            });
            (world, last)
        };
        turn_bits_over(PATH, 7, life, |world, last, at| {
            match live_and_die(world, |os| Log::open(os, &options()).map(|(_, tail)| tail.last)) {
                Err(_) => named += 1,
                Ok(found) => {
                    assert_eq!(found, last, "seed {seed}: the bit at {at} took what was acknowledged");
                    whole += 1;
                }
            }
        });
    }
    println!("{named} bits were named, {whole} took nothing");
    assert!(named > 20 && whole > 20, "{named} bits were named, {whole} took nothing");
}

/// A bit of the cache flips, and the process dies: opening reports it, with advice, or no acknowledged commit is lost.
#[test]
fn a_bit_of_the_cache_takes_nothing_in_silence() {
    let (mut named, mut whole) = (0, 0);
    // The first place's words, its records, and some unused bytes.
    for at in (128..192).chain((12_288 + 64..12_288 + 400).step_by(7)) {
        let world = World::new(9, Profile::nvme());
        let last = live_and_die(&world, |os| {
            let log = new_log(os, &options());
            log.suspend_background_flush(true);
            let last = delay_each(&log, 1..=3, 40);
            std::mem::forget(log);
            last
        });
        let cache = world.surviving_names().remove(0);
        world.corrupt_surviving(&cache, at, 1 << (at % 8));
        match live_and_die(&world, |os| Log::open(os, &options()).map(|(_, tail)| tail.last)) {
            Err(error) => {
                let text = error.to_string();
                assert!(text.contains("place 0 of") && text.contains("remove /dev/shm/"), "{text}");
                named += 1;
            }
            Ok(found) => {
                assert_eq!(found, last, "the bit at {at} took what was acknowledged");
                whole += 1;
            }
        }
    }
    println!("{named} bits were named, {whole} took nothing");
    assert!(named > 60 && whole > 10, "{named} bits were named, {whole} took nothing");
}

/// An older copy of the log's file, of the same run, is restored, while the cache is newer: the file alone does not show
/// whether that was on purpose, so opening refuses it, with advice for that case.
#[test]
fn a_file_put_back_under_its_cache_is_refused_in_words_to_act_on() {
    let world = World::new(10, Profile::nvme());
    let copier = world.clone();
    let (copy, at_copy) = live_and_die(&world, move |os| {
        let log = new_log(os, &options());
        let harden = |txn| {
            let lsn = commit(&log, txn, 40);
            log.harden(lsn, FlushReason::Commit).unwrap();
            lsn
        };
        let at_copy = harden(1);
        let copy = copier.file_bytes(PATH.as_ref()).unwrap();
        assert!((2..9).map(harden).all(|lsn| lsn > at_copy));
        std::mem::forget(log);
        (copy, at_copy)
    });
    world.corrupt(PATH.as_ref(), 0, &copy);
    let cache = world.surviving_names().remove(0);
    let refused = live_and_die(&world, |os| Log::open(os, &options()).map(|_| ()).unwrap_err().to_string());
    let remedy = format!(
        "If the file was put back from a copy, or what was not written to it may be given up, remove {}",
        cache.display()
    );
    assert!(
        refused.contains("says that the log was durable up to") && refused.contains(&remedy),
        "{refused}"
    );
    assert_eq!(world.file_bytes(PATH.as_ref()).unwrap(), copy, "nothing is written");
    world.run(|os| remove_left_cache(os, &caches_of(1), Path::new(PATH))).assert_ok();
    assert_eq!(reopen(&world, &options()), (at_copy, 0), "and that opens it");
}

/// Blocks left by a dead process are written to the file that they were for: a log that had continued from its first file to its second.
#[test]
fn what_was_for_a_second_file_is_taken_over_into_it() {
    let second = LogFileOptions {
        number: FIRST_LOG_FILE + 1,
        path: PathBuf::from("/data/second.ldf"),
        size_bytes: 512 << 10,
        growth: Growth::None,
        bytes_max: 512 << 10,
    };
    let two = LogOptions { size_bytes: 512 << 10, more_files: vec![second], ..options() };
    for seed in 0..8 {
        let world = World::new(seed, Profile::nvme());
        let made = two.clone();
        let last = live_and_die(&world, move |os| {
            let log = new_log(os, &made);
            log.suspend_background_flush(seed.is_multiple_of(2));
            let mut last = delay_each(&log, 1..=20, 20_000);
            let is_in_second = || log.vlfs().iter().any(|vlf| vlf.file != FIRST_LOG_FILE && vlf.active);
            let mut txn = 20;
            while !is_in_second() {
                txn += 1;
                last = delay(&log, txn, 20_000);
            }
            for _ in 0..1 + seed {
                txn += 1;
                last = delay(&log, txn, 3_000);
            }
            assert!(log.hardened() < last, "some of it is not hard");
            std::mem::forget(log);
            last
        });
        let second_file = Path::new("/data/second.ldf");
        let before = world.file_bytes(second_file).unwrap();
        let (found, taken) = reopen(&world, &two);
        assert_eq!(found, last, "seed {seed}: to the last record");
        assert!(taken >= 1, "seed {seed}: {taken} blocks");
        assert_ne!(world.file_bytes(second_file).unwrap(), before, "seed {seed}: blocks of the second file");
        world.power_loss();
        assert_eq!(reopen(&world, &two), (last, 0), "seed {seed}: durably");
    }
}

#[test]
fn a_clean_stop_leaves_nothing() {
    let world = World::new(2, Profile::nvme());
    world
        .run(|os| {
            let log = new_log(os, &options());
            delay(&log, 1, 100);
            log.close().unwrap();
        })
        .assert_ok();
    assert!(world.surviving_names().is_empty() && world.surviving_folders().is_empty());
    assert_eq!(reopen(&world, &options()).1, 0);
}

/// A cache is not taken over under another boot, by another run, for another file, or when the feature is switched off.
#[test]
fn what_is_not_the_last_runs_is_never_taken() {
    for seed in 0..60 {
        let world = World::new(seed, Profile::nvme());
        let (hard, last) = live_and_die(&world, |os| {
            let log = new_log(os, &options());
            let hard = commit(&log, 1, 20);
            log.harden(hard, FlushReason::Commit).unwrap();
            let last = delay_each(&log, 2..=9, 9_000);
            log.suspend_background_flush(true);
            std::mem::forget(log);
            (hard, last)
        });
        let off = LogOptions { surviving_folder: None, ..options() };
        match seed % 3 {
            0 => {
                world.power_loss();
                assert_eq!(reopen(&world, &options()).1, 0, "seed {seed}: what another boot has left");
            }
            1 => {
                let (found, taken) = reopen(&world, &off);
                assert!(found >= hard && taken == 0);
                let again = reopen(&world, &options());
                assert_eq!(again, (found, 0), "seed {seed}: a run came between");
            }
            _ => {
                // The same bytes in another file.
                let bytes = world.file_bytes(PATH.as_ref()).unwrap();
                world
                    .run(move |os| {
                        let copy =
                            os.disk().open(Path::new("/data/copy.ldf"), &os::OpenOptions::create()).unwrap();
                        copy.write_at(&bytes, 0, os::WriteMode::Durable).unwrap();
                    })
                    .assert_ok();
                let copy = LogOptions { path: "/data/copy.ldf".into(), ..options() };
                assert_eq!(reopen(&world, &copy).1, 0, "seed {seed}: of another file");
                assert_eq!(reopen(&world, &options()).0, last, "the original is as it was");
            }
        }
    }
}

/// Without memory for all blocks the log works as without a cache, reports that, and is complete again when the blocks without a place are durable.
#[test]
fn without_memory_the_cache_dies_with_the_process() {
    let world = World::new(3, Profile::nvme());
    let limits = world.clone();
    let (hard, kept) = live_and_die(&world, move |os| {
        limits.set_surviving_places(Some(0));
        let none = new_log(os, &LogOptions { path: "/data/none.ldf".into(), ..options() });
        delay(&none, 1, 20);
        assert!(!none.loss_window().survives_process, "there is no such memory");
        limits.set_surviving_places(Some(1));
        let log = new_log(os, &options());
        let slow = Effect::Delay(1_000_000_000);
        limits.inject(Fault { effect: slow, ..Fault::fail_once(Operation::Harden, 0) });
        delay(&log, 1, 20);
        assert!(log.loss_window().survives_process);
        // The first block is in flight, the second has no place.
        let hard = delay_each(&log, 2..=4, 40_000);
        assert!(!log.loss_window().survives_process, "the second block has no place");
        log.harden(hard, FlushReason::Commit).unwrap();
        let kept = delay(&log, 5, 20);
        assert!(log.loss_window().survives_process, "what had no place is hard");
        std::mem::forget((log, none));
        (hard, kept)
    });
    world.set_surviving_places(None);
    world.clear_faults();
    assert!(hard < kept);
    assert_eq!(reopen(&world, &options()), (kept, 1));
    assert_eq!(world.surviving_names().len(), 1, "of the log that is open");
}

/// A sweep takes nothing that could still be taken over: not of a log that is there, not of a living process, not of a folder that was
/// renamed once a server has taken over what it needs. Useless caches are removed at once: those of a former boot, or of a log that is gone.
#[test]
fn a_sweep_takes_only_what_nobody_can_take_over() {
    let swept = |os: &Os| sweep_left_caches(os, Path::new(ROOT));
    let world = World::new(8, Profile::constant_latency());
    let last = live_and_die(&world, move |os| {
        let log = new_log(os, &options());
        let last = delay(&log, 1, 100);
        assert_eq!(swept(os), 0, "its process lives");
        std::mem::forget(log);
        last
    });
    world
        .run(move |os| {
            assert_eq!((swept(os), swept(os)), (0, 0), "it can be recovered");
            os.disk().create_dir_all(Path::new("/moved")).unwrap();
            os.disk().rename(Path::new(PATH), Path::new("/moved/test.ldf")).unwrap();
        })
        .assert_ok();
    let moved = LogOptions { path: "/moved/test.ldf".into(), ..options() };
    assert_eq!(reopen(&world, &moved), (last, 1), "it was there, to the last record");
    assert_eq!(world.surviving_names().len(), 1);
    // That process is gone as well; now the log goes, too.
    world
        .run(move |os| {
            assert_eq!(swept(os), 0, "it says where it is now");
            os.disk().remove(Path::new("/moved/test.ldf")).unwrap();
            // A new log of the same name does not matter.
            let other = new_log(os, &moved);
            delay(&other, 1, 20);
            assert_eq!(swept(os), 1, "the other file is gone");
            assert!(other.loss_window().survives_process);
            other.close().unwrap();
            assert_eq!(swept(os), 0);
        })
        .assert_ok();
    assert!(world.surviving_names().is_empty());
    let kept = (0..60).filter(|&seed| {
        let world = World::new(seed, Profile::constant_latency());
        live_and_die(&world, |os| std::mem::forget(new_log(os, &options())));
        world.power_loss();
        let was_there = !world.surviving_names().is_empty();
        world
            .run(move |os| {
                swept(os);
            })
            .assert_ok();
        // A cache that has lost some of its words does not identify its owner: it stays.
        was_there && world.surviving_names().is_empty()
    });
    assert!(kept.count() >= 20, "what a former boot has left is removed");
}

/// A server without log caches has opened the log since: the cache of the run before can never be taken over, and is removed.
#[test]
fn a_sweep_takes_the_cache_of_a_run_that_is_over() {
    let swept = |os: &Os| sweep_left_caches(os, Path::new(ROOT));
    let without = || LogOptions { surviving_folder: None, ..options() };
    for ends_cleanly in [false, true] {
        let world = World::new(3, Profile::constant_latency());
        live_and_die(&world, move |os| {
            let log = new_log(os, &options());
            delay(&log, 1, 100);
            std::mem::forget(log);
            assert_eq!(swept(os), 0, "its process lives");
        });
        live_and_die(&world, move |os| {
            assert_eq!(swept(os), 0, "it can be recovered");
            let (log, _) = Log::open(os, &without()).unwrap();
            assert_eq!(swept(os), 1, "the log is in another run");
            if ends_cleanly {
                log.close().unwrap();
            } else {
                std::mem::forget(log);
            }
        });
        assert!(world.surviving_names().is_empty());
        // The cache of the next run stays.
        let last = live_and_die(&world, move |os| {
            let log = Arc::new(Log::open(os, &options()).unwrap().0);
            let last = delay(&log, 2, 100);
            std::mem::forget(log);
            last
        });
        world.run(move |os| assert_eq!(swept(os), 0, "it can be recovered")).assert_ok();
        assert_eq!(reopen(&world, &options()), (last, 1));
    }
}

/// Servers start and sweep while other processes open logs, continue and die: all acknowledged commits are there.
#[test]
fn sweeps_and_openings_at_once_lose_nothing() {
    for seed in 0..100 {
        let world = World::new(seed, Profile::drawn(seed));
        let last = live_and_die(&world, |os| {
            let log = new_log(os, &options());
            log.suspend_background_flush(true);
            let last = delay_each(&log, 1..=5, 9_000);
            std::mem::forget(log);
            last
        });
        let again = live_and_die(&world, move |os| {
            let sweepers: Vec<_> = (0..3)
                .map(|number| {
                    let own = os.clone();
                    os.spawn(&format!("sweeper {number}"), move || {
                        let sweep = |_| {
                            let swept = sweep_left_caches(&own, Path::new(ROOT));
                            own.yield_point();
                            swept
                        };
                        // Between the beginning of the new run and the creation of its cache the old one is useless.
                        assert!((0..20).map(sweep).sum::<u32>() <= 1, "its log is there");
                    })
                })
                .collect();
            let (log, tail) = Log::open(os, &options()).unwrap();
            assert_eq!(tail.last, last, "seed {seed}");
            log.suspend_background_flush(true);
            let again = delay_each(&log, 6..=9, 9_000);
            for sweeper in sweepers {
                sweeper.join().unwrap();
            }
            std::mem::forget(log);
            again
        });
        assert_eq!(reopen(&world, &options()).0, again, "seed {seed}");
    }
}

/// A failed log keeps the records that it could not write, for the next opening.
#[test]
fn a_failed_log_loses_no_delayed_commit() {
    let world = World::new(4, Profile::nvme());
    let device = world.clone();
    let last = live_and_die(&world, move |os| {
        let log = new_log(os, &options());
        device.inject(Fault::fail_once(Operation::Harden, 0));
        let last = delay(&log, 1, 100);
        assert!(matches!(log.harden(last, FlushReason::Commit), Err(LogError::Failed(_))));
        assert!(log.append(&insert(2, 10)).is_err());
        std::mem::forget(log);
        last
    });
    assert_eq!(reopen(&world, &options()), (last, 1));
}

/// Each write of a takeover fails, or the power is cut: another opening finds no less than the file has, and no gap.
#[test]
fn a_take_over_that_is_cut_off_goes_on() {
    let mut taken_later = 0;
    for at in 0..12 {
        let world = World::new(5, Profile::nvme());
        let last = live_and_die(&world, |os| {
            let log = new_log(os, &options());
            log.suspend_background_flush(true);
            let last = delay_each(&log, 1..=6, 30_000);
            std::mem::forget(log);
            last
        });
        world.inject(Fault::fail_once(Operation::Harden, at));
        world
            .run(move |os| {
                let opened = Log::open(os, &options());
                assert!(opened.is_ok() || matches!(opened, Err(LogError::Io(_))));
            })
            .assert_ok();
        world.clear_faults();
        let (found, taken) = reopen(&world, &options());
        assert_eq!(found, last, "fault {at}");
        taken_later += taken;
    }
    assert!(taken_later > 0, "some openings found the rest");
}

/// Tasks make delayed commits, and others log records without a transaction; the process dies at any switch, also in the middle of a store.
/// All acknowledged records are there, in their own transactions.
#[test]
fn no_death_of_the_process_takes_an_acknowledged_commit() {
    let (mut acknowledged, mut taken_over) = (0, 0);
    for seed in 0..300 {
        let world = World::new(seed, Profile::drawn(seed));
        let ledger: Arc<Latch<Vec<(Lsn, u64)>>> = Arc::new(Latch::new(LatchRank::Leaf, Vec::new()));
        let (told, killer) = (Arc::clone(&ledger), world.clone());
        let policy = [DelayedFlushPolicy::Eager, DelayedFlushPolicy::BlockFull][(seed % 2) as usize];
        let report = world.run(move |os| {
            let log = new_log(os, &LogOptions { delayed_flush: policy, ..options() });
            killer.kill_after_switches(50 + seed * 3);
            let tasks: Vec<_> = (0..4)
                .map(|task| {
                    let (log, told, own) = (Arc::clone(&log), Arc::clone(&told), os.clone());
                    os.spawn(&format!("task {task}"), move || {
                        let mut rng = own.rng(&format!("task {task}"));
                        for number in 0..200 {
                            let bytes = [30, 30, 400, 5_000][rng.below(4) as usize];
                            let txn = number * 4 + task + 1;
                            if rng.chance(1, 3) {
                                log.append(&insert(0, bytes)).unwrap();
                            }
                            let lsn = delay(&log, txn, bytes);
                            // Only a living process acknowledges.
                            own.yield_point();
                            told.lock().push((lsn, txn));
                        }
                    })
                })
                .collect();
            for task in tasks {
                let _ = task.join();
            }
        });
        world.disarm();
        assert_eq!(report.failures.len(), 0, "seed {seed}: {:?}", report.failures);
        let found = live_and_die(&world, |os| records_of(os, &options()));
        let told = ledger.lock();
        for commit in told.iter() {
            assert!(
                found.contains(commit),
                "seed {seed}: {commit:?} is not there, the last is {:?}",
                found.last()
            );
        }
        acknowledged += told.len();
        taken_over += world.reached().get("log blocks are taken over").copied().unwrap_or(0);
    }
    assert!(
        acknowledged > 3_000 && taken_over > 100,
        "{acknowledged} commits, {taken_over} openings took blocks over"
    );
}

/// The transactions of the records that are there, by address.
fn records_of(os: &Os, options: &LogOptions) -> Vec<(Lsn, u64)> {
    let (log, _) = Log::open(os, options).unwrap();
    let log = Arc::new(log);
    let records = log.read_from(Lsn::NULL).map(|record| record.unwrap());
    let found = records.map(|record| (record.lsn, record.header.txn.0)).collect();
    std::mem::forget(log);
    found
}

/// A run with a cache that outlives it, ended by a loss of power or a kill; a run without one, which continues at the end of the log, and is
/// killed; an opening that looks for a cache. Records that the second run did not find are lost.
fn former_boot(seed: u64, bug: Option<Bug>) -> Result<(), String> {
    let world = World::new(seed, Profile::drawn(seed));
    world.plant(bug);
    let nemesis = world.clone();
    world.run(move |os| {
        let log = new_log(os, &options());
        let tasks: Vec<_> = (0..4)
            .map(|task| {
                let log = Arc::clone(&log);
                os.spawn(&format!("task {task}"), move || {
                    for number in 0..100 {
                        let lsn = commit(&log, 1_000 + number * 4 + task, 20);
                        if log.harden(lsn, FlushReason::Commit).is_err() {
                            return;
                        }
                    }
                })
            })
            .collect();
        if seed.is_multiple_of(4) {
            nemesis.kill_after_switches(100 + seed % 300);
        } else {
            nemesis.power_off_after_switches(100 + seed % 300);
        }
        for task in tasks {
            let _ = task.join();
        }
    });
    world.disarm();
    let off = LogOptions { surviving_folder: None, ..options() };
    let known = live_and_die(&world, move |os| {
        let mut known = records_of(os, &off);
        let (log, _) = Log::open(os, &off).unwrap();
        for number in 0..1 + seed % 3 {
            let lsn = commit(&log, 1 + number, 20);
            log.harden(lsn, FlushReason::Commit).unwrap();
        }
        let log = Arc::new(log);
        let after = known.last().map_or(Lsn::NULL, |last| last.0);
        let written =
            log.read_from(Lsn::NULL).map(|record| record.unwrap()).filter(|record| record.lsn > after);
        known.extend(written.map(|record| (record.lsn, record.header.txn.0)));
        std::mem::forget(log);
        known
    });
    let found = live_and_die(&world, |os| records_of(os, &options()));
    if found == known {
        Ok(())
    } else {
        Err(format!("{} records are there, {} were", found.len(), known.len()))
    }
}

#[test]
fn nothing_of_a_former_boot_or_run_is_taken() {
    for seed in 0..200 {
        former_boot(seed, None).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    }
}

#[test]
fn a_cache_of_a_former_boot_that_is_taken_for_ours_is_found() {
    let found = (0..500).find(|&seed| former_boot(seed, Some(Bug::CacheOfFormerBoot)).is_err());
    println!("CacheOfFormerBoot at seed {found:?}");
    assert!(found.is_some(), "not seen in 500 seeds");
}

/// A short-lived process takes the cache over, and leaves none, even if it dies, too.
#[test]
fn what_is_only_taken_leaves_nothing_behind() {
    let world = World::new(9, Profile::constant_latency());
    let last = live_and_die(&world, move |os| {
        let log = new_log(os, &options());
        let last = delay(&log, 1, 100);
        std::mem::forget(log);
        last
    });
    let taking = LogOptions { surviving_is_only_taken: true, ..options() };
    let seen = taking.clone();
    world
        .run(move |os| {
            let (log, tail) = Log::open(os, &seen).unwrap();
            assert_eq!(tail.last, last, "it was there, to the last record");
            assert!(!log.loss_window().survives_process);
            log.close().unwrap();
        })
        .assert_ok();
    assert!(world.surviving_names().is_empty());
    live_and_die(&world, move |os| std::mem::forget(Log::open(os, &taking).unwrap()));
    assert!(world.surviving_names().is_empty());
}
