//! The simulated world: same seed same trace, planted races found, deadlocks reported, power loss as its contract says.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

use hardpan_os::sim::{
    Effect, End, Fault, Operation, Profile, Report, World, WriteStep, for_each_io_failure,
};
use hardpan_os::{
    AlignedBuf, Condition, IoErrorKind, Latch, LatchRank, OpenOptions, Os, Request, RwLatch, Signal,
    WaitError, WaitOutcome, WaitType, Watermark, WriteMode, never,
};

/// Eight tasks that latch, sleep, signal and write.
fn busy(seed: u64) -> Report {
    World::new(seed, Profile::drawn(seed)).run(|os| {
        let total = Arc::new(Latch::new(LatchRank::Leaf, 0u64));
        let hardened = Arc::new(Watermark::new(0));
        let file = os.disk().open(Path::new("/f"), &OpenOptions::create()).unwrap();
        let mut tasks = Vec::new();
        for number in 1..=8u64 {
            let (inner, total, hardened, file) = (os.clone(), total.clone(), hardened.clone(), file.clone());
            tasks.push(os.spawn(&format!("task {number}"), move || {
                let mut rng = inner.rng(&format!("task {number}"));
                for _ in 0..20 {
                    *total.lock() += number;
                    inner.sleep(rng.below(100_000), WaitType::SLEEP_TASK).unwrap();
                    file.write_at(&[number as u8; 100], rng.below(5_000), WriteMode::Durable).unwrap();
                }
                hardened.wait_for(number - 1, WaitType::WRITELOG).unwrap();
                hardened.advance_to(number);
            }));
        }
        for task in tasks {
            task.join().unwrap();
        }
        assert_eq!(*total.lock(), 36 * 20);
        assert_eq!(hardened.get(), 8);
    })
}

#[test]
fn same_seed_same_trace() {
    let mut hashes = Vec::new();
    for seed in 0..20 {
        let (first, second) = (busy(seed), busy(seed));
        first.assert_ok();
        assert_eq!(
            (first.trace_hash, first.switches, first.now_ns),
            (second.trace_hash, second.switches, second.now_ns)
        );
        hashes.push(first.trace_hash);
    }
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), 20, "seeds explore different schedules");
}

/// A counter that is read, then written: correct only when the latch spans both.
fn count_to_80(seed: u64, planted: bool) -> u64 {
    let total = Arc::new(AtomicU64::new(0));
    let seen = total.clone();
    let report = World::new(seed, Profile::nvme()).run(move |os| {
        let latch = Arc::new(Latch::new(LatchRank::Leaf, ()));
        let task = |_| {
            let (os_of_task, latch, total) = (os.clone(), latch.clone(), total.clone());
            os.spawn("adder", move || {
                for _ in 0..20 {
                    let guard = latch.lock();
                    let before = total.load(SeqCst);
                    if planted {
                        drop(guard);
                        os_of_task.yield_point();
                        total.store(before + 1, SeqCst);
                    } else {
                        os_of_task.yield_point();
                        total.store(before + 1, SeqCst);
                    }
                }
            })
        };
        for task in (0..4).map(task).collect::<Vec<_>>() {
            task.join().unwrap();
        }
    });
    report.assert_ok();
    seen.load(SeqCst)
}

#[test]
fn a_planted_race_is_found_and_its_repair_is_clean() {
    let found = (0..50).filter(|&seed| count_to_80(seed, true) != 80).count();
    assert!(found >= 25, "lost updates in {found} of 50 seeds");
    for seed in 0..50 {
        assert_eq!(count_to_80(seed, false), 80, "seed {seed}");
    }
}

#[test]
fn deadlock_is_reported_with_names() {
    let world = World::new(7, Profile::nvme());
    let report = world.run(|os| {
        let first = Arc::new(Signal::new());
        let again = first.clone();
        let stuck = os.spawn("waits for nobody", move || {
            again.wait(WaitType::SLEEP_TASK, None);
        });
        let _ = stuck.join();
    });
    assert_eq!(report.end, End::Failed);
    assert!(
        report.failures[0].contains("deadlock of root (SLEEP_TASK), waits for nobody (SLEEP_TASK)"),
        "{:?}",
        report.failures
    );
}

#[test]
fn latch_order_is_checked() {
    let report = World::new(1, Profile::nvme()).run(|_| {
        let inner = Latch::new(LatchRank::LogCache, ());
        let outer = Latch::new(LatchRank::Catalog, ());
        let _inner = inner.lock();
        let _outer = outer.lock();
    });
    assert!(
        report.failures[0].contains("latch order: Catalog asked for while LogCache is held"),
        "{:?}",
        report.failures
    );
}

#[test]
fn never_fails_a_simulation() {
    let report = World::new(1, Profile::nvme()).run(|_| {
        let three = 3;
        never!(three == 3, "three is {three}");
    });
    assert!(report.failures[0].contains("believed impossible: three is 3"), "{:?}", report.failures);
}

#[test]
fn time_jumps_and_timeouts_fire() {
    let world = World::new(3, Profile::nvme());
    let report = world.run(|os| {
        let start = os.clock().monotonic_ns();
        os.sleep(3_600_000_000_000, WaitType::WAITFOR).unwrap();
        let hour = os.clock().monotonic_ns() - start;
        assert!((3_600_000_000_000..3_600_001_000_000).contains(&hour), "{hour}");
        let (mark, signal) = (Watermark::new(0), Signal::new());
        assert_eq!(mark.wait_for_timeout(1, WaitType::WRITELOG, 5_000), Err(WaitError::TimedOut));
        assert_eq!(signal.wait(WaitType::LCK_M_X, Some(2_000_000)), WaitOutcome::TimedOut);
        let row = os.wait_stats().row(WaitType::LCK_M_X);
        assert_eq!((row.waiting_tasks_count, row.wait_time_ms), (1, 2));
        assert_eq!(os.wait_stats().row(WaitType::WAITFOR).wait_time_ms, 3_600_000);
    });
    report.assert_ok();
}

#[test]
fn readers_and_writers_exclude_each_other() {
    for seed in 0..30 {
        let report = World::new(seed, Profile::nvme()).run(|os| {
            let latch = Arc::new(RwLatch::new(LatchRank::BTreePage, (0u64, 0u64)));
            let mut tasks = Vec::new();
            for number in 0..6 {
                let (os_of_task, latch) = (os.clone(), latch.clone());
                tasks.push(os.spawn("reader or writer", move || {
                    for _ in 0..20 {
                        if number % 2 == 0 {
                            let mut pair = hardpan_os::WriteArcGuard::take(latch.clone(), |latch| latch);
                            pair.0 += 1;
                            os_of_task.yield_point();
                            pair.1 += 1;
                            let pair = pair.downgrade();
                            os_of_task.yield_point();
                            assert_eq!(pair.0, pair.1);
                        } else {
                            let pair = latch.read();
                            let first = pair.0;
                            os_of_task.yield_point();
                            assert_eq!(first, pair.1);
                        }
                    }
                }));
            }
            for task in tasks {
                task.join().unwrap();
            }
            assert_eq!(*latch.read(), (60, 60));
        });
        report.assert_ok();
    }
}

#[test]
fn conditions_lose_no_wakeup() {
    for seed in 0..50 {
        let report = World::new(seed, Profile::nvme()).run(|os| {
            let shared = Arc::new((Latch::new(LatchRank::Leaf, Vec::new()), Condition::new()));
            let consumer_side = shared.clone();
            let consumer = os.spawn("consumer", move || {
                let (queue, arrived) = &*consumer_side;
                let mut sum = 0;
                for _ in 0..30 {
                    let mut items = queue.lock();
                    while items.is_empty() {
                        items = arrived.wait(items, WaitType::LOGMGR_QUEUE, None).0;
                    }
                    sum += items.remove(0);
                }
                assert_eq!(sum, (0..30).sum::<u64>());
            });
            for item in 0..30 {
                shared.0.lock().push(item);
                shared.1.notify_one();
            }
            consumer.join().unwrap();
        });
        report.assert_ok();
    }
}

#[test]
fn power_loss_keeps_what_was_confirmed_and_only_that_for_sure() {
    let (mut kept, mut lost, mut mixed) = (0, 0, 0);
    for seed in 0..200 {
        let world = World::new(seed, Profile::nvme());
        let handle = world.clone();
        let report = world.run(move |os| {
            let disk = os.disk();
            disk.create_dir_all(Path::new("/d")).unwrap();
            disk.sync_dir(Path::new("/")).unwrap();
            let file = disk.open(Path::new("/d/f"), &OpenOptions::create_new()).unwrap();
            file.allocate_zeroed(0, 8192).unwrap();
            disk.sync_dir(Path::new("/d")).unwrap();
            file.write_at(&[1; 1024], 0, WriteMode::Durable).unwrap();
            file.write_at(&[2; 1024], 1024, WriteMode::Cached).unwrap();
            file.sync().unwrap();
            file.write_at(&[3; 1024], 2048, WriteMode::Cached).unwrap();
            handle.power_off();
            unreachable!("the power is off");
        });
        assert_eq!(report.end, End::PowerOff);
        report.assert_ok();
        let bytes = world.file_bytes(Path::new("/d/f")).expect("the synced name survives");
        assert_eq!(bytes.len(), 8192);
        assert!(
            bytes[..1024].iter().all(|&byte| byte == 1) && bytes[1024..2048].iter().all(|&byte| byte == 2)
        );
        for sector in [&bytes[2048..2560], &bytes[2560..3072]] {
            assert!(
                sector.iter().all(|&byte| byte == sector[0]) && [0, 3].contains(&sector[0]),
                "whole or not at all"
            );
        }
        match (bytes[2048], bytes[2560]) {
            (3, 3) => kept += 1,
            (0, 0) => lost += 1,
            _ => mixed += 1,
        }
    }
    assert!(kept > 20 && lost > 20 && mixed > 20, "kept {kept}, lost {lost}, mixed {mixed}");
}

#[test]
fn unsynced_names_may_be_lost_and_renames_are_whole() {
    let (mut fresh, mut old, mut new) = (0, 0, 0);
    for seed in 0..100 {
        let world = World::new(seed, Profile::nvme());
        let handle = world.clone();
        world.run(move |os| {
            os.disk().replace_private_file(Path::new("/config"), b"old").unwrap();
            let file = os.disk().open(Path::new("/fresh"), &OpenOptions::create_new()).unwrap();
            file.sync().unwrap();
            let staged = os.disk().open(Path::new("/staged"), &OpenOptions::create_new()).unwrap();
            staged.write_at(b"new", 0, WriteMode::Durable).unwrap();
            os.disk().rename(Path::new("/staged"), Path::new("/config")).unwrap();
            handle.power_off();
        });
        fresh += usize::from(world.file_bytes(Path::new("/fresh")).is_some());
        match world.file_bytes(Path::new("/config")).as_deref() {
            Some(b"old") => old += 1,
            Some(b"new") => new += 1,
            other => panic!("a renamed file is one or the other: {other:?}"),
        }
    }
    assert!((1..100).contains(&fresh) && old > 0 && new > 0, "fresh {fresh}, old {old}, new {new}");
}

#[test]
fn a_killed_process_leaves_the_page_cache() {
    let world = World::new(5, Profile::nvme());
    let handle = world.clone();
    let report = world.run(move |os| {
        let file = os.disk().open(Path::new("/f"), &OpenOptions::create()).unwrap();
        file.write_at(b"cached", 0, WriteMode::Cached).unwrap();
        handle.kill_process();
    });
    assert_eq!(report.end, End::Killed);
    assert_eq!(world.file_bytes(Path::new("/f")).unwrap(), b"cached");
    let lock_is_free = world.run(|os| {
        let _lock = os.disk().lock_file(Path::new("/lock")).unwrap();
        assert_eq!(os.disk().lock_file(Path::new("/lock")).err().unwrap().kind, IoErrorKind::Locked);
    });
    lock_is_free.assert_ok();
}

#[test]
fn what_a_dead_process_stumbles_over_is_no_failure() {
    let world = World::new(5, Profile::nvme());
    let handle = world.clone();
    let report = world.run(move |_| {
        struct Stumbles;
        impl Drop for Stumbles {
            fn drop(&mut self) {
                never!(std::thread::panicking(), "seen while unwinding");
            }
        }
        let _stumbles = Stumbles;
        handle.kill_process();
    });
    report.assert_ok();
    assert_eq!(report.end, End::Killed);
}

#[test]
fn destructors_save_nothing_after_power_off() {
    struct SavesInDrop(Arc<dyn hardpan_os::File>, Arc<AtomicBool>);
    impl Drop for SavesInDrop {
        fn drop(&mut self) {
            let saved = self.0.write_at(b"late", 0, WriteMode::Durable).is_ok();
            self.1.store(saved, SeqCst);
        }
    }
    let saved = Arc::new(AtomicBool::new(true));
    let seen = saved.clone();
    let world = World::new(5, Profile::nvme());
    let handle = world.clone();
    world.run(move |os| {
        let file = os.disk().open(Path::new("/f"), &OpenOptions::create()).unwrap();
        os.disk().sync_dir(Path::new("/")).unwrap();
        let _saver = SavesInDrop(file, saved);
        handle.power_off();
    });
    assert!(!seen.load(SeqCst));
    assert_eq!(world.file_bytes(Path::new("/f")).unwrap(), b"");
}

#[test]
fn a_failed_sync_may_lie_later() {
    let mut lost = 0;
    for seed in 0..60 {
        let world = World::new(seed, Profile::nvme());
        let handle = world.clone();
        world.inject(Fault::fail_once(Operation::Sync, 1).on("f"));
        world
            .run(move |os| {
                let file = os.disk().open(Path::new("/f"), &OpenOptions::create()).unwrap();
                os.disk().sync_dir(Path::new("/")).unwrap();
                file.set_len(512).unwrap();
                file.sync().unwrap();
                file.write_at(&[9; 512], 0, WriteMode::Cached).unwrap();
                assert_eq!(file.sync().unwrap_err().os_code, 5);
                file.sync().unwrap();
                handle.power_off();
            })
            .assert_ok();
        lost += usize::from(world.file_bytes(Path::new("/f")).unwrap()[0] == 0);
    }
    assert!((5..55).contains(&lost), "{lost} of 60");
}

#[test]
fn a_full_disk_refuses_growth_and_heals() {
    let world = World::new(2, Profile::nvme());
    world.set_capacity_bytes(Some(4096));
    let handle = world.clone();
    let report = world.run(move |os| {
        let file = os.disk().open(Path::new("/f"), &OpenOptions::create()).unwrap();
        file.allocate_zeroed(0, 4096).unwrap();
        assert!(file.write_at(&[1; 512], 4096, WriteMode::Durable).unwrap_err().is_no_space());
        file.write_at(&[1; 512], 0, WriteMode::Durable).unwrap();
        handle.set_capacity_bytes(None);
        file.write_at(&[1; 512], 4096, WriteMode::Durable).unwrap();
    });
    report.assert_ok();
}

/// Preallocated space reads as zeros whatever was there, counts as used, and is durable from the next sync on.
#[test]
fn room_is_set_aside() {
    let (mut kept, mut lost) = (0, 0);
    for seed in 0..60 {
        let world = World::new(seed, Profile::nvme());
        let handle = world.clone();
        let is_synced = seed % 2 == 0;
        let report = world.run(move |os| {
            let file = os.disk().open(Path::new("/f"), &OpenOptions::create_new()).unwrap();
            file.write_at(&[7; 4096], 0, WriteMode::Durable).unwrap();
            os.disk().sync_dir(Path::new("/")).unwrap();
            file.set_len(1024).unwrap();
            handle.set_capacity_bytes(Some(4096));
            assert!(file.reserve(1024, 8192).unwrap_err().is_no_space());
            assert!(file.reserve(1024, 4096).unwrap());
            if is_synced {
                file.sync().unwrap();
            }
            handle.power_off();
        });
        assert_eq!(report.end, End::PowerOff);
        report.assert_ok();
        let bytes = world.file_bytes(Path::new("/f")).unwrap();
        assert!(bytes[..1024].iter().all(|&byte| byte == 7));
        match bytes.len() {
            4096 if bytes[1024..].iter().all(|&byte| byte == 0) => kept += 1,
            _ => {
                assert!(!is_synced, "{} bytes, {}", bytes.len(), bytes[1024]);
                lost += 1;
            }
        }
    }
    assert!(kept >= 30 && lost > 0, "{kept} kept, {lost} lost");
    let cannot = World::new(1, Profile { reserves: false, ..Profile::nvme() });
    let report = cannot.run(|os| {
        let file = os.disk().open(Path::new("/f"), &OpenOptions::create()).unwrap();
        assert!(!file.reserve(0, 4096).unwrap());
        assert_eq!(file.len().unwrap(), 0);
    });
    report.assert_ok();
}

#[test]
fn queue_completes_out_of_order_within_its_depth() {
    let mut reordered = false;
    for seed in 0..10 {
        let order = Arc::new(Latch::new(LatchRank::Leaf, Vec::new()));
        let seen = order.clone();
        let report = World::new(seed, Profile::nvme()).run(move |os| {
            let file = os.disk().open(Path::new("/f"), &OpenOptions::create()).unwrap();
            let mut queue = os.disk().io_queue(8);
            for token in 0..8 {
                let buffer = AlignedBuf::from_slice(&[token as u8; 512], 512);
                queue.submit(&file, Request::Write(WriteMode::Durable), buffer, 512, token * 512, token);
            }
            while queue.in_flight() > 0 {
                for completion in queue.reap(true) {
                    completion.result.unwrap();
                    order.lock().push(completion.token);
                }
            }
        });
        report.assert_ok();
        let mut order = seen.lock().clone();
        reordered |= !order.is_sorted();
        order.sort_unstable();
        assert_eq!(order, (0..8).collect::<Vec<_>>());
    }
    assert!(reordered);
}

#[test]
fn power_goes_off_at_any_io_and_at_any_switch() {
    for k in 1..12 {
        let world = World::new(k, Profile::nvme());
        if k % 2 == 0 {
            world.power_off_after_ios(k)
        } else {
            world.power_off_after_switches(k * 3)
        }
        let report = world.run(|os| {
            let file = os.disk().open(Path::new("/f"), &OpenOptions::create()).unwrap();
            for at in 0..100 {
                file.write_at(&[1; 512], at * 512, WriteMode::Durable).unwrap();
            }
        });
        assert_eq!(report.end, End::PowerOff, "k {k}");
    }
}

#[test]
fn each_io_fails_in_turn() {
    let body = |world: &World| {
        world.run(|os: &Os| {
            // What a careful caller does: any error is fine, a panic is not.
            let write = || -> Result<(), hardpan_os::IoError> {
                let file = os.disk().open(Path::new("/f"), &OpenOptions::create())?;
                file.write_at(&[1; 512], 0, WriteMode::Cached)?;
                file.sync()?;
                os.disk().sync_dir(Path::new("/"))
            };
            let _ = write();
        })
    };
    assert_eq!(
        for_each_io_failure(1, Operation::Any, body),
        10,
        "4 operations and the clean run, once and for ever"
    );
    // Faults distinguish durable writes from cached ones.
    let strict = World::new(1, Profile::nvme());
    strict.inject(Fault { times: 2, ..Fault::fail_once(Operation::Harden, 0) });
    strict
        .run(|os: &Os| {
            let file = os.disk().open(Path::new("/f"), &OpenOptions::create()).unwrap();
            file.write_at(&[1; 512], 0, WriteMode::Cached).unwrap();
            assert!(file.write_at(&[1; 512], 0, WriteMode::Durable).is_err());
            assert!(file.sync().is_err());
        })
        .assert_ok();
    let slow = World::new(1, Profile::nvme());
    let delay = Effect::Delay(5_000_000_000);
    slow.inject(Fault { effect: delay, ..Fault::fail_once(Operation::Sync, 0) });
    let before = slow.now_ns();
    assert!(body(&slow).now_ns - before > 5_000_000_000);
}

#[test]
fn interrupts_end_waits_unless_masked() {
    use hardpan_os::task::{self, InterruptReason};
    for seed in 0..20 {
        let report = World::new(seed, Profile::nvme()).run(|os| {
            let mark = Arc::new(Watermark::new(0));
            let (of_task, os_of_task) = (mark.clone(), os.clone());
            let waiter = os.spawn("waiter", move || {
                assert_eq!(of_task.wait_for(1, WaitType::WRITELOG), Err(WaitError::Interrupted));
                {
                    let _mask = task::mask_interrupts();
                    os_of_task.sleep(1_000, WaitType::WAITFOR).unwrap();
                }
                assert!(os_of_task.sleep(1_000, WaitType::WAITFOR).is_err());
                task::current().clear_interrupt();
                os_of_task.sleep(1_000, WaitType::WAITFOR).unwrap();
            });
            os.sleep(50_000, WaitType::WAITFOR).unwrap();
            assert_eq!(waiter.task().current_wait().map(|wait| wait.0), Some(WaitType::WRITELOG));
            waiter.task().interrupt(InterruptReason::Kill);
            waiter.join().unwrap();
            assert_eq!(mark.waiters_count(), 0);
        });
        report.assert_ok();
    }
}

#[test]
fn writes_are_noted_when_they_are_issued_and_when_they_complete() {
    let world = World::new(3, Profile::nvme());
    let handle = world.clone();
    world
        .run(move |os| {
            let file = os.disk().open(Path::new("/f"), &OpenOptions::create()).unwrap();
            file.write_at(b"before", 0, WriteMode::Cached).unwrap();
            handle.trace_writes();
            file.write_at(b"abc", 7, WriteMode::Durable).unwrap();
            handle.inject(Fault::fail_once(Operation::Write, 0));
            assert!(file.write_at(b"lost", 20, WriteMode::Durable).is_err());
            let writes = handle.take_writes();
            let steps: Vec<_> = writes.iter().map(|write| (write.offset, write.len, &write.step)).collect();
            assert_eq!(
                steps,
                [
                    (7, 3, &WriteStep::Issued(b"abc".to_vec())),
                    (7, 3, &WriteStep::Completed),
                    (20, 4, &WriteStep::Issued(b"lost".to_vec()))
                ]
            );
            assert!(writes.iter().all(|write| write.path == Path::new("/f")));
            assert!(handle.take_writes().is_empty());
        })
        .assert_ok();
}

/// Short reads and writes at random bytes, on direct and cached files: all bytes arrive nevertheless, and durable writes
/// survive a power loss.
#[test]
fn short_transfers_of_the_simulated_disk_are_continued() {
    for (seed, direct) in [(1, true), (2, false), (3, true), (4, false)] {
        let world = World::new(seed, Profile { direct, short_transfers_percent: 60, ..Profile::nvme() });
        let options = OpenOptions { direct: true, ..OpenOptions::create() };
        let handle = world.clone();
        let bytes: Vec<u8> = (0..32 * 1024).map(|at| (at % 249) as u8).collect();
        let written = bytes.clone();
        world
            .run(move |os| {
                let file = os.disk().open(Path::new("/f"), &options).unwrap();
                os.disk().sync_dir(Path::new("/")).unwrap();
                for _ in 0..20 {
                    file.write_at(&written, 4096, WriteMode::Durable).unwrap();
                    let mut back = vec![0; written.len()];
                    file.read_exact_at(&mut back, 4096).unwrap();
                    assert!(back == written);
                    assert_eq!(file.read_at(&mut back, 20 * 1024).unwrap(), 16 * 1024, "the end of the file");
                }
                handle.power_off();
            })
            .assert_ok();
        assert_eq!(world.file_bytes(Path::new("/f")).unwrap()[4096..], bytes);
    }
}

#[test]
fn an_injected_short_transfer_is_continued() {
    let world = World::new(1, Profile { direct: true, ..Profile::nvme() });
    let handle = world.clone();
    world
        .run(move |os| {
            let options = OpenOptions { direct: true, ..OpenOptions::create() };
            let file = os.disk().open(Path::new("/f"), &options).unwrap();
            for operation in [Operation::Write, Operation::Read] {
                let before = (handle.io_total(), handle.faults_hit_total());
                handle.inject(Fault { effect: Effect::Short(700), ..Fault::fail_once(operation, 0) });
                if operation == Operation::Write {
                    file.write_at(&[9; 2048], 0, WriteMode::Durable).unwrap();
                } else {
                    let mut back = [0; 2048];
                    file.read_exact_at(&mut back, 0).unwrap();
                    assert_eq!(back, [9; 2048]);
                }
                assert_eq!((handle.io_total(), handle.faults_hit_total()), (before.0 + 2, before.1 + 1));
            }
        })
        .assert_ok();
}
