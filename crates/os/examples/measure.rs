//! The cost of the interface between the real and the simulated world: `cargo run --release -p hardpan-os --example measure`.
#![allow(clippy::disallowed_types, reason = "compares with the standard library")]

use std::hint::black_box;
use std::path::Path;
use std::sync::{Arc, Mutex};

use hardpan_os::sim::{Profile, World};
use hardpan_os::{
    AlignedBuf, Latch, LatchRank, OpenOptions, Os, RwLatch, Signal, WaitType, Watermark, WriteMode,
};

fn main() {
    let os = Os::real();
    let latch = Latch::new(LatchRank::Leaf, 0u64);
    let mutex = Mutex::new(0u64);
    let shared = RwLatch::new(LatchRank::Leaf, 0u64);
    let mark = Watermark::new(1);
    let mut next = 1;
    per_call(&os, "Latch lock and unlock", 20_000_000, || *black_box(&latch).lock() += 1);
    per_call(&os, "std Mutex lock and unlock", 20_000_000, || {
        *black_box(&mutex).lock().expect("not poisoned") += 1;
    });
    per_call(&os, "RwLatch read", 20_000_000, || {
        black_box(*black_box(&shared).read());
    });
    per_call(&os, "RwLatch write", 20_000_000, || *black_box(&shared).write() += 1);
    per_call(&os, "Watermark wait_for, reached", 20_000_000, || {
        mark.wait_for(1, WaitType::WRITELOG).expect("reached");
    });
    per_call(&os, "Watermark advance_to, no waiter", 20_000_000, || {
        next += 1;
        mark.advance_to(next);
    });
    per_call(&os, "clock", 5_000_000, || {
        black_box(os.clock().monotonic_ns());
    });
    hand_over(&os);
    durable_writes(&os);
    switches();
}

fn per_call(os: &Os, what: &str, rounds: u64, mut body: impl FnMut()) {
    let start = os.clock().monotonic_ns();
    for _ in 0..rounds {
        body();
    }
    let spent = os.clock().monotonic_ns() - start;
    println!("{what:<36}{:>9.1} ns", spent as f64 / rounds as f64);
}

fn hand_over(os: &Os) {
    let pair = Arc::new((Signal::new(), Signal::new()));
    let other = pair.clone();
    let rounds = 20_000;
    let echo = os.spawn("echo", move || {
        for _ in 0..rounds {
            other.0.wait(WaitType::SLEEP_TASK, None);
            other.1.set();
        }
    });
    per_call(os, "Signal there and back", rounds, || {
        pair.0.set();
        pair.1.wait(WaitType::SLEEP_TASK, None);
    });
    echo.join().expect("echo");
}

fn durable_writes(os: &Os) {
    let path = Path::new("measure.tmp");
    let options = OpenOptions { direct: true, ..OpenOptions::create() };
    let file = os.disk().open(path, &options).expect("a file here");
    file.allocate_zeroed(0, 8 << 20).expect("8 MB");
    let buffer = AlignedBuf::new(512);
    let mut at = 0;
    per_call(os, &format!("512-byte durable write (direct {})", file.is_direct()), 3_000, || {
        file.write_at(&buffer, at % (8 << 20), WriteMode::Durable).expect("write");
        at += 512;
    });
    os.disk().remove(path).expect("remove");
}

fn switches() {
    let os = Os::real();
    let start = os.clock().monotonic_ns();
    let report = World::new(1, Profile::nvme()).run(|os| {
        let tasks: Vec<_> = (0..8)
            .map(|_| {
                let inner = os.clone();
                os.spawn("sleeper", move || {
                    for _ in 0..5_000 {
                        let _ = inner.sleep(1_000, WaitType::SLEEP_TASK);
                    }
                })
            })
            .collect();
        for task in tasks {
            let _ = task.join();
        }
    });
    let seconds = (os.clock().monotonic_ns() - start) as f64 / 1e9;
    println!("{:<36}{:>9.0} /s", "baton switches", report.switches as f64 / seconds);
}
