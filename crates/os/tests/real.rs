//! The real implementation: files, locks, sockets, threads and waits on this machine.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use hardpan_os::{
    AlignedBuf, Condition, Counter, CounterSet, IoErrorKind, Latch, LatchRank, OpenOptions, Os, Request,
    RwLatch, Signal, SpawnOptions, StreamIo, WaitOutcome, WaitType, Watermark, WriteMode,
};

fn scratch(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("hardpan-os-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

#[test]
fn files_direct_and_cached() {
    let (os, directory) = (Os::real(), scratch("files"));
    for direct in [false, true] {
        let path = directory.join(format!("f{direct}"));
        let options = OpenOptions { direct, ..OpenOptions::create_new() };
        let file = os.disk().open(&path, &options).unwrap();
        assert_eq!(os.disk().open(&path, &options).err().unwrap().kind, IoErrorKind::AlreadyExists);
        file.allocate_zeroed(0, 3 << 20).unwrap();
        assert_eq!(file.len().unwrap(), 3 << 20);
        // Unaligned memory goes through a bounce buffer.
        let odd = vec![7u8; 4097];
        file.write_at(&odd[1..], 4096, WriteMode::Durable).unwrap();
        let mut back = AlignedBuf::new(8192);
        file.read_exact_at(&mut back, 0).unwrap();
        assert!(back[..4096].iter().all(|&byte| byte == 0) && back[4096..].iter().all(|&byte| byte == 7));
        file.sync().unwrap();
        let past_the_end = file.read_exact_at(&mut back, 3 << 20);
        assert_eq!(past_the_end.unwrap_err().kind, IoErrorKind::UnexpectedEof);
        let stats = file.stats();
        assert_eq!((stats.writes_total, stats.write_bytes_total), (4, (3 << 20) + 4096));
        assert!(stats.write_stall_ns_total > 0 && stats.reads_total == 2);
        let room = file.reserve(3 << 20, 5 << 20).unwrap();
        assert_eq!(file.len().unwrap(), if room { 5 << 20 } else { 3 << 20 }, "set aside: {room}");
        if room {
            file.read_exact_at(&mut back, (5 << 20) - 8192).unwrap();
            assert!(back.iter().all(|&byte| byte == 0), "what is set aside reads as zeros");
        }
        println!("direct asked {direct}, is {}, sector {}", file.is_direct(), file.device().sector_bytes);
    }
    let missing = os.disk().open(&directory.join("none"), &OpenOptions::default()).err().unwrap();
    assert_eq!(missing.kind, IoErrorKind::NotFound);
    os.disk().replace_private_file(&directory.join("config"), b"one").unwrap();
    os.disk().replace_private_file(&directory.join("config"), b"2").unwrap();
    assert_eq!(os.disk().read_file(&directory.join("config")).unwrap(), b"2");
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(directory.join("config")).unwrap().permissions(),
    );
    assert_eq!(mode & 0o777, 0o600, "its owner's alone");
    let names: Vec<String> =
        os.disk().list(&directory).unwrap().into_iter().map(|entry| entry.name).collect();
    assert_eq!(names, ["config", "ffalse", "ftrue"]);
    assert!(os.disk().free_bytes(&directory).unwrap() > 0);
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn a_second_lock_is_refused() {
    let (os, directory) = (Os::real(), scratch("lock"));
    let lock = os.disk().lock_file(&directory.join("lock")).unwrap();
    assert_eq!(os.disk().lock_file(&directory.join("lock")).err().unwrap().kind, IoErrorKind::Locked);
    drop(lock);
    os.disk().lock_file(&directory.join("lock")).unwrap();
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn queue_of_threads() {
    let (os, directory) = (Os::real(), scratch("queue"));
    let options = OpenOptions { direct: true, ..OpenOptions::create() };
    let file = os.disk().open(&directory.join("f"), &options).unwrap();
    let mut queue = os.disk().io_queue(4);
    let (mut submitted, mut done) = (0u64, Vec::new());
    while done.len() < 64 {
        while submitted < 64 && queue.in_flight() < queue.depth() {
            let buffer = AlignedBuf::from_slice(&[submitted as u8; 512], 4096);
            let mode = Request::Write(WriteMode::Durable);
            queue.submit(&file, mode, buffer, 512, submitted * 512, submitted);
            submitted += 1;
        }
        for completion in queue.reap(true) {
            completion.result.unwrap();
            done.push(completion.token);
        }
    }
    done.sort_unstable();
    assert_eq!(done, (0..64).collect::<Vec<_>>());
    let mut back = AlignedBuf::new(64 * 512);
    file.read_exact_at(&mut back, 0).unwrap();
    assert!((0..64).all(|token| back[token * 512] == token as u8));
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn sockets_time_out_peek_and_shut_down() {
    let os = Os::real();
    let listener = os.net().listen("127.0.0.1:0").unwrap();
    assert!(listener.accept(Some(1_000_000)).unwrap().is_none());
    let client = os.net().connect(&listener.local_address(), 1_000_000_000).unwrap();
    let server = listener.accept(Some(1_000_000_000)).unwrap().unwrap();
    assert!(server.is_loopback() && server.peer_address() == client.local_address());
    server.set_read_timeout(Some(2_000_000)).unwrap();
    let mut buffer = [0; 16];
    assert_eq!(server.read(&mut buffer).unwrap_err().kind, IoErrorKind::TimedOut);
    assert_eq!(server.peek_now(&mut buffer).unwrap(), None);
    StreamIo(client.clone()).write_all(b"hello").unwrap();
    while server.peek_now(&mut buffer).unwrap() != Some(5) {}
    StreamIo(server.clone()).read_exact(&mut buffer[..5]).unwrap();
    assert_eq!(&buffer[..5], b"hello");
    server.set_read_timeout(None).unwrap();
    let reading = server.clone();
    let reader = os.spawn("reader", move || assert_eq!(reading.read(&mut [0; 8]).unwrap(), 0));
    while reader.task().current_wait().is_none() {}
    server.shutdown();
    reader.join().unwrap();
    let accepting = listener.clone();
    let acceptor = os.spawn("acceptor", move || assert!(accepting.accept(None).unwrap().is_none()));
    os.sleep(5_000_000, WaitType::SLEEP_TASK).unwrap();
    listener.close();
    acceptor.join().unwrap();
}

#[test]
fn a_watermark_wakes_exactly_whom_it_reaches() {
    let os = Os::real();
    let (mark, woken) = (Arc::new(Watermark::new(0)), Arc::new(AtomicU64::new(0)));
    let mut tasks = Vec::new();
    for target in 1..=40 {
        let (mark, woken) = (mark.clone(), woken.clone());
        tasks.push(os.spawn("waiter", move || {
            mark.wait_for(target, WaitType::WRITELOG).unwrap();
            assert!(mark.get() >= target);
            woken.fetch_add(1, SeqCst);
        }));
    }
    while mark.waiters_count() < 40 {}
    mark.advance_to(10);
    while woken.load(SeqCst) < 10 {}
    os.sleep(10_000_000, WaitType::SLEEP_TASK).unwrap();
    assert_eq!((woken.load(SeqCst), mark.waiters_count()), (10, 30));
    mark.advance_to(5);
    assert_eq!(mark.get(), 10);
    mark.advance_to(100);
    for task in tasks {
        task.join().unwrap();
    }
    let row = os.wait_stats().row(WaitType::WRITELOG);
    assert!(row.waiting_tasks_count == 40 && row.wait_time_ns > 30 * 10_000_000);
}

#[test]
fn latches_under_contention() {
    let os = Os::real();
    let shared = Arc::new((Latch::new(LatchRank::Leaf, 0u64), RwLatch::new(LatchRank::Stats, (0u64, 0u64))));
    let mut tasks = Vec::new();
    for number in 0..4 {
        let shared = shared.clone();
        tasks.push(os.spawn("hammer", move || {
            for round in 0..20_000 {
                *shared.0.lock() += 1;
                if (round + number) % 4 == 0 {
                    let mut pair = shared.1.write();
                    pair.0 += 1;
                    pair.1 += 1;
                } else {
                    let pair = shared.1.read();
                    assert_eq!(pair.0, pair.1);
                }
            }
        }));
    }
    for task in tasks {
        task.join().unwrap();
    }
    assert_eq!(*shared.0.lock(), 80_000);
    assert_eq!(*shared.1.read(), (20_000, 20_000));
    assert!(!shared.1.is_held());
}

#[test]
fn conditions_and_signals_under_load() {
    let os = Os::real();
    let shared = Arc::new((Latch::new(LatchRank::Leaf, 0u64), Condition::new()));
    let other = shared.clone();
    let answerer = os.spawn("answerer", move || {
        for round in 0..5_000 {
            let mut turn = other.0.lock();
            while *turn != round * 2 + 1 {
                turn = other.1.wait(turn, WaitType::SLEEP_TASK, None).0;
            }
            *turn += 1;
            other.1.notify_all();
        }
    });
    for round in 0..5_000 {
        let mut turn = shared.0.lock();
        while *turn != round * 2 {
            turn = shared.1.wait(turn, WaitType::SLEEP_TASK, None).0;
        }
        *turn += 1;
        shared.1.notify_all();
    }
    answerer.join().unwrap();
    let (guard, outcome) = shared.1.wait(shared.0.lock(), WaitType::SLEEP_TASK, Some(1_000_000));
    assert_eq!((*guard, outcome), (10_000, WaitOutcome::TimedOut));
}

#[test]
fn panics_are_values_and_guards_are_told() {
    let os = Os::real();
    let failed = os.spawn("fails", || panic!("on purpose {}", 1)).join();
    assert_eq!(failed.unwrap_err().0, "on purpose 1");
    let signal = Arc::new(Signal::new());
    let told = signal.clone();
    let guarded = os.try_spawn_guarded(
        &SpawnOptions::named("guarded"),
        || panic!("in the background"),
        move |message| {
            assert_eq!(message, "in the background");
            told.set();
        },
    );
    assert!(guarded.unwrap().join().is_err() && signal.is_set());
}

#[test]
fn counters_have_types_by_name() {
    let os = Os::real();
    let flushes = os.counters().counter("SQLServer:Databases", "Log Flushes/sec", "hk");
    os.counters().counter("SQLServer:Databases", "Log Flushes/sec", "hk").add(41);
    flushes.increment();
    os.counters().counter("SQLServer:Databases", "Log File(s) Size (KB)", "gone").set(8192);
    os.counters().counter("SQLServer:Databases", "Log Cache Hit Ratio Base", "hk");
    os.counters().remove_instance("SQLServer:Databases", "gone");
    let rows = os.counters().snapshot();
    let brief: Vec<_> =
        rows.iter().map(|row| (row.counter_name.as_str(), row.cntr_value, row.cntr_type)).collect();
    assert_eq!(brief, [("Log Cache Hit Ratio Base", 0, 1_073_939_712), ("Log Flushes/sec", 42, 272_696_576)]);
}

/// The cached time is returned until its thread updates it or ends; without a cached time the system is asked.
#[test]
fn about_what_time_it_is_is_kept_while_somebody_keeps_it() {
    let os = Os::real();
    let clock = os.clock();
    let is_near = |time: i64| (clock.utc_100ns() - time).abs() < 10_000_000;
    assert!(is_near(clock.about_utc_100ns()));
    clock.keep_about(true);
    let kept = clock.about_utc_100ns();
    assert!(is_near(kept));
    std::thread::sleep(std::time::Duration::from_millis(30));
    assert_eq!(clock.about_utc_100ns(), kept, "no system is asked");
    clock.keep_about(true);
    assert!(clock.about_utc_100ns() > kept, "kept anew");
    let kept = clock.about_utc_100ns();
    clock.keep_about(false);
    std::thread::sleep(std::time::Duration::from_millis(30));
    assert!(clock.about_utc_100ns() > kept, "nobody keeps it");
}

/// More threads than cells of their own, and threads that come when others have ended: no addition is lost, and the latest note is returned.
#[test]
fn counters_of_many_threads_lose_nothing() {
    const THREADS: i64 = 40;
    const TIMES: i64 = 2_000;
    let (os, counter, set) = (Os::real(), Arc::new(Counter::default()), Arc::new(CounterSet::<3>::default()));
    assert!(!set.is_used() && set.latest(2) == 0);
    for round in 1..=5 {
        let start = Arc::new(AtomicU64::new(0));
        let threads: Vec<_> = (0..THREADS)
            .map(|number| {
                let (counter, set, start) = (Arc::clone(&counter), Arc::clone(&set), Arc::clone(&start));
                os.spawn("adds", move || {
                    // Half of them at once, half as they come.
                    while number % 2 == 0 && start.load(SeqCst) == 0 {
                        std::thread::yield_now();
                    }
                    for at in 0..TIMES {
                        counter.add(2);
                        set.add(0, 3);
                        set.count_at(1, (2, round * 1_000_000 + number * 10_000 + at));
                    }
                })
            })
            .collect();
        start.store(1, SeqCst);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let added = round * THREADS * TIMES;
        assert_eq!((counter.get(), set.sum(0), set.sum(1)), (2 * added, 3 * added, added), "round {round}");
        assert!(set.latest(2) >= round * 1_000_000, "a note of this round");
    }
    assert!(set.is_used());
    counter.set(7);
    assert_eq!(counter.get(), 7);
}

/// A port scan, a health check, a flood: a client that disconnects before it is accepted costs nothing and is no failure of the listener.
#[test]
#[allow(clippy::disallowed_types, reason = "a socket that is closed with a reset")]
fn connections_reset_before_they_are_accepted_are_passed_over() {
    let os = Os::real();
    let listener = os.net().listen("127.0.0.1:0").unwrap();
    let address = listener.local_address();
    for _ in 0..4_000 {
        let stream = std::net::TcpStream::connect(&address).unwrap();
        let linger = libc::linger { l_onoff: 1, l_linger: 0 };
        let size = size_of::<libc::linger>() as libc::socklen_t;
        let (socket, pointer) = (std::os::fd::AsRawFd::as_raw_fd(&stream), (&raw const linger).cast());
        // SAFETY: a valid descriptor and a linger of the size told. Closing then sends a reset.
        let set = unsafe { libc::setsockopt(socket, libc::SOL_SOCKET, libc::SO_LINGER, pointer, size) };
        assert_eq!(set, 0);
    }
    let client = os.net().connect(&address, 5_000_000_000).unwrap();
    client.write_all(b"x").unwrap();
    let began_ns = os.clock().monotonic_ns();
    let mut byte = [0];
    loop {
        let accepted = listener.accept(Some(5_000_000_000)).unwrap().expect("the last one waits");
        // One that was reset may still have had a peer when it was looked at.
        if accepted.read(&mut byte).is_ok_and(|count| count == 1) {
            break;
        }
    }
    assert_eq!(byte, *b"x");
    // A few microseconds each; 10,000 of them delay a login by less than 50 ms, on an idle machine.
    assert!(os.clock().monotonic_ns() - began_ns < 1_000_000_000);
}
