//! Bare log against the raw device, interleaved in one run: durable commits of 1 to 128 sessions, delayed appends.
//!
//! `cargo run --release -p hardpan-log --example commit_rate [-- --dir DIR --rounds N --ms MS]`; read ratios, not absolute figures.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use hardpan_log::records::{BeginXact, CommitXact, DEFAULT_TRANSACTION_NAME, LogTime};
use hardpan_log::{FlushReason, Log, LogOp, LogOptions, Lsn, RecordBuf, RecordHeader, TxnId};
use os::{AlignedBuf, File, OpenOptions, Os, WriteMode};

struct Bench {
    os: Os,
    directory: PathBuf,
    window_ns: u64,
}

fn main() {
    let mut directory = std::env::temp_dir();
    let (mut rounds, mut window_ms) = (5, 200);
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().expect("each option has a value");
        match name.as_str() {
            "--dir" => directory = PathBuf::from(value),
            "--rounds" => rounds = value.parse().expect("a number"),
            "--ms" => window_ms = value.parse().expect("a number"),
            other => panic!("unknown option {other}"),
        }
    }
    let directory = directory.join(format!("hardpan-commit-rate-{}", std::process::id()));
    let os = Os::real();
    os.disk().create_dir_all(&directory).expect("a directory for the bench");
    let bench = Bench { os, directory: directory.clone(), window_ns: window_ms * 1_000_000 };
    bench.single_session(rounds);
    for sessions in [1, 2, 4, 8, 16, 32, 64, 128] {
        bench.sessions(sessions, rounds.min(3));
    }
    bench.delayed(rounds.min(3));
    let _ = std::fs::remove_dir_all(directory);
}

impl Bench {
    fn log(&self, name: &str, size_bytes: u64) -> Log {
        let path = self.directory.join(name);
        let _ = self.os.disk().remove(&path);
        let options = LogOptions { size_bytes, ..LogOptions::new(path, name) };
        Log::create(&self.os, &options).expect("a log for the bench")
    }

    /// One session, durable: raw 512-byte durable writes and commits in turn.
    fn single_session(&self, rounds: usize) {
        let log = self.log("single.ldf", 256 << 20);
        let raw_path = self.directory.join("raw");
        let options = OpenOptions { direct: true, ..OpenOptions::create() };
        let raw = self.os.disk().open(&raw_path, &options).expect("a file for raw writes");
        raw.allocate_zeroed(0, 64 << 20).expect("room for raw writes");
        let (mut raw_rates, mut log_rates, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        let (mut txn, mut offset) = (0, 0);
        for _ in 0..rounds {
            // Short slices in turn, so that other load affects both equally.
            let (mut raw_count, mut log_count) = (0, 0);
            for _ in 0..10 {
                raw_count += self.raw_writes(&*raw, &mut offset, self.window_ns / 10);
                log_count += self.commits(&log, &mut txn, self.window_ns / 10);
            }
            let seconds = self.window_ns as f64 / 1e9;
            raw_rates.push(raw_count as f64 / seconds);
            log_rates.push(log_count as f64 / seconds);
            ratios.push(log_count as f64 / raw_count as f64);
        }
        let (raw, ours, ratio) = (median(&mut raw_rates), median(&mut log_rates), median(&mut ratios));
        println!("1 session durable: raw 512 B {raw:>8.0}/s   log {ours:>8.0}/s   ratio {ratio:.3}");
        log.close().expect("closing");
    }

    fn raw_writes(&self, raw: &dyn File, offset: &mut u64, window_ns: u64) -> u64 {
        let buffer = AlignedBuf::new(512);
        let end_ns = self.os.clock().monotonic_ns() + window_ns;
        let mut count = 0;
        while self.os.clock().monotonic_ns() < end_ns {
            raw.write_at(&buffer, *offset, WriteMode::Durable).expect("a raw write");
            *offset = (*offset + 512) % (64 << 20);
            count += 1;
        }
        count
    }

    fn commits(&self, log: &Log, txn: &mut u64, window_ns: u64) -> u64 {
        let mut session = Session::default();
        let end_ns = self.os.clock().monotonic_ns() + window_ns;
        let mut count = 0;
        while self.os.clock().monotonic_ns() < end_ns {
            *txn += 1;
            let lsn = session.transact(log, *txn);
            log.harden(lsn, FlushReason::Commit).expect("a durable commit");
            count += 1;
            if txn.is_multiple_of(100_000) {
                log.record_checkpoint(lsn, lsn).expect("a checkpoint");
                log.truncate().expect("a truncation");
            }
        }
        count
    }

    /// Many sessions, durable.
    fn sessions(&self, sessions: u64, rounds: usize) {
        let mut rates = Vec::new();
        let mut per_flush = Vec::new();
        for _ in 0..rounds {
            let log = Arc::new(self.log("sessions.ldf", 256 << 20));
            let (stop, total) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
            let began_ns = self.os.clock().monotonic_ns();
            let tasks: Vec<_> = (0..sessions)
                .map(|number| {
                    let (log, stop, total) = (Arc::clone(&log), Arc::clone(&stop), Arc::clone(&total));
                    self.os.spawn("session", move || {
                        let mut session = Session::default();
                        let mut txn = number << 32;
                        while !stop.load(Relaxed) {
                            txn += 1;
                            let lsn = session.transact(&log, txn);
                            log.harden(lsn, FlushReason::Commit).expect("a durable commit");
                            total.fetch_add(1, Relaxed);
                        }
                    })
                })
                .collect();
            self.os.sleep(self.window_ns, os::WaitType::SLEEP_TASK).expect("nobody interrupts the bench");
            let count = total.load(Relaxed);
            let elapsed_ns = self.os.clock().monotonic_ns() - began_ns;
            stop.store(true, Relaxed);
            tasks.into_iter().for_each(|task| task.join().expect("a session"));
            rates.push(count as f64 / (elapsed_ns as f64 / 1e9));
            per_flush.push(total.load(Relaxed) as f64 / log.stats().flushes_total as f64);
            log.close().expect("closing");
        }
        let (rate, grouped) = (median(&mut rates), median(&mut per_flush));
        println!("{sessions:>3} sessions durable: {rate:>8.0}/s   {grouped:.1} commits a flush");
    }

    /// One session, delayed: no commit waits, the writer drains eagerly.
    fn delayed(&self, rounds: usize) {
        let mut rates = Vec::new();
        let mut shares = Vec::new();
        for _ in 0..rounds {
            let log = self.log("delayed.ldf", 512 << 20);
            let mut session = Session::default();
            let (mut txn, began_ns) = (0, self.os.clock().monotonic_ns());
            while self.os.clock().monotonic_ns() - began_ns < self.window_ns {
                for _ in 0..100 {
                    txn += 1;
                    let lsn = session.transact(&log, txn);
                    log.request_delayed_flush(lsn);
                }
            }
            rates.push(txn as f64 / (self.window_ns as f64 / 1e9));
            log.close().expect("closing");
            shares.push(log.stats().flushes_total as f64 / txn as f64 * 100.0);
        }
        let (rate, share) = (median(&mut rates), median(&mut shares));
        println!("1 session delayed: {rate:>8.0}/s (three appends each)   flushes {share:.2} % of commits");
    }
}

/// One session's reusable records.
#[derive(Default)]
struct Session {
    record: RecordBuf,
}

impl Session {
    /// BEGIN, a row of 30 bytes, COMMIT.
    fn transact(&mut self, log: &Log, txn: u64) -> Lsn {
        use hardpan_log::records::Payload;
        let header = |op, prev| RecordHeader { txn: TxnId(txn), prev, ..RecordHeader::new(op) };
        let time = LogTime::from_utc_100ns(638_000_000_000_000_000);
        let begin = BeginXact { begin_time: time, spid: 51, name: DEFAULT_TRANSACTION_NAME.into() };
        begin.encode(self.record.start(header(LogOp::BeginXact, Lsn::NULL)));
        let first = log.append(&self.record).expect("room in the log");
        self.record.start(header(LogOp::InsertRows, first)).extend_from_slice(&[7; 30]);
        let change = log.append(&self.record).expect("room in the log");
        CommitXact { end_time: time }.encode(self.record.start(header(LogOp::CommitXact, change)));
        log.append(&self.record).expect("room in the log")
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
