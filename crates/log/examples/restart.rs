//! How long a log takes to be opened and read after a crash, and what hundreds of open logs cost in memory.
//!
//! `cargo run --release -p hardpan-log --example restart [-- --dir DIR --commits N --logs N]`

use std::path::PathBuf;

use hardpan_log::{FlushReason, Growth, Log, LogOp, LogOptions, Lsn, RecordBuf, RecordHeader, TxnId};
use os::Os;

fn main() {
    let mut directory = std::env::temp_dir();
    let (mut commits, mut logs) = (1_000_000u64, 300u64);
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().expect("each option has a value");
        match name.as_str() {
            "--dir" => directory = PathBuf::from(value),
            "--commits" => commits = value.parse().expect("a number"),
            "--logs" => logs = value.parse().expect("a number"),
            other => panic!("unknown option {other}"),
        }
    }
    let directory = directory.join(format!("hardpan-restart-{}", std::process::id()));
    let os = Os::real();
    os.disk().create_dir_all(&directory).expect("a directory for the bench");
    for (name, each) in [("delayed", false), ("durable", true)] {
        let path = directory.join(name);
        let options = LogOptions { size_bytes: 640 << 20, ..LogOptions::new(path, name) };
        restart(&os, &options, if each { commits.min(200_000) } else { commits }, each);
    }
    memory(&os, &directory, logs);
    let _ = std::fs::remove_dir_all(directory);
}

fn restart(os: &Os, options: &LogOptions, commits: u64, each_durable: bool) {
    let log = Log::create(os, options).expect("a log for the bench");
    let mut record = RecordBuf::new();
    let mut last = Lsn::NULL;
    for txn in 1..=commits {
        let mut prev = Lsn::NULL;
        for op in [LogOp::BeginXact, LogOp::InsertRows, LogOp::CommitXact] {
            let header = RecordHeader { txn: TxnId(txn), prev, ..RecordHeader::new(op) };
            record.start(header).extend_from_slice(&[7; 20]);
            prev = log.append(&record).expect("room in the log");
        }
        last = prev;
        if each_durable {
            log.harden(last, FlushReason::Commit).expect("a durable commit");
        }
    }
    log.harden(last, FlushReason::Commit).expect("a durable commit");
    drop(log);
    let seconds = |began_ns: u64| (os.clock().monotonic_ns() - began_ns) as f64 / 1e9;
    let began_ns = os.clock().monotonic_ns();
    let (log, tail) = Log::open(os, options).expect("a log to open");
    let opened = seconds(began_ns);
    assert_eq!(tail.last, last);
    let began_ns = os.clock().monotonic_ns();
    let mut reader = log.read_from(Lsn::NULL);
    let mut records = 0u64;
    let mut count = |_, _: &hardpan_log::Record<'_>| -> Result<(), hardpan_log::LogError> {
        records += 1;
        Ok(())
    };
    while reader.next_block(&mut count).expect("sound log") {}
    println!(
        "{:<8} {commits} commits: open {opened:.3} s over {} MB, read {records} records in {:.3} s",
        options.database,
        tail.scanned_bytes >> 20,
        seconds(began_ns)
    );
    log.close().expect("closing");
}

fn memory(os: &Os, directory: &std::path::Path, logs: u64) {
    let before = resident_kb();
    let mut open = Vec::new();
    for number in 0..logs {
        let name = format!("many{number}");
        let options = LogOptions {
            size_bytes: 1 << 20,
            growth: Growth::None,
            ..LogOptions::new(directory.join(&name), name)
        };
        let log = Log::create(os, &options).expect("a log for the bench");
        let mut record = RecordBuf::new();
        record.start(RecordHeader::new(LogOp::BeginCkpt)).extend_from_slice(&[7; 20]);
        let lsn = log.append(&record).expect("room");
        log.harden(lsn, FlushReason::Commit).expect("a durable record");
        open.push(log);
    }
    let each = (resident_kb() - before) as f64 / logs as f64;
    println!("{logs} open logs: {each:.0} KB of memory each");
    open.iter().for_each(|log| log.close().expect("closing"));
}

/// Resident memory of this process in KB; 0 when unknown.
fn resident_kb() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("VmRSS:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
}
