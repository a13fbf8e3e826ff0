//! Shared by the log's tests: a directory of their own, options, records.
#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Wake, Waker};

use hardpan_log::records::{BeginXact, CommitXact, LogTime};
use hardpan_log::{Growth, Log, LogContext, LogOp, LogOptions, Lsn, RecordBuf, RecordHeader, TxnId};
use os::sim::World;
use os::{Os, Signal, WaitOutcome, WaitType};

/// A real world with a directory that is removed when the test ends.
pub struct Workbench {
    pub os: Os,
    directory: PathBuf,
}

impl Workbench {
    pub fn new(name: &str) -> Workbench {
        Workbench::below(std::env::temp_dir(), name)
    }

    /// A workbench in memory, where there is an in-memory file system.
    pub fn in_memory(name: &str) -> Workbench {
        let memory = Path::new("/dev/shm");
        let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        Workbench::below(parent, name)
    }

    fn below(parent: PathBuf, name: &str) -> Workbench {
        let directory = parent.join(format!("hardpan-log-{}-{name}", std::process::id()));
        let os = Os::real();
        let _ = std::fs::remove_dir_all(&directory);
        os.disk().create_dir_all(&directory).unwrap();
        Workbench { os, directory }
    }

    pub fn path(&self) -> PathBuf {
        self.directory.join("test.ldf")
    }

    pub fn options(&self) -> LogOptions {
        small_options(self.path(), 8 << 20)
    }

    /// Makes the log file have exactly these bytes.
    pub fn put(&self, bytes: &[u8]) {
        let file = self.os.disk().open(&self.path(), &os::OpenOptions::create()).unwrap();
        file.set_len(bytes.len() as u64).unwrap();
        file.write_at(bytes, 0, os::WriteMode::Cached).unwrap();
    }

    /// Waits until `done`, at most ten seconds.
    pub fn wait_until(&self, done: impl Fn() -> bool) {
        for _ in 0..10_000 {
            if done() {
                return;
            }
            self.os.sleep(1_000_000, os::WaitType::SLEEP_TASK).unwrap();
        }
        panic!("it did not happen within ten seconds");
    }
}

impl Drop for Workbench {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

pub fn small_options(path: impl AsRef<Path>, size_bytes: u64) -> LogOptions {
    LogOptions { size_bytes, growth: Growth::Bytes(4 << 20), ..LogOptions::new(path.as_ref(), "test") }
}

pub fn record(op: LogOp, txn: u64, prev: Lsn, payload: &[u8]) -> RecordBuf {
    let mut buf = RecordBuf::new();
    let header = RecordHeader { txn: TxnId(txn), prev, ..RecordHeader::new(op) };
    buf.start(header).extend_from_slice(payload);
    buf
}

/// A row insert whose payload has so many bytes.
pub fn insert(txn: u64, payload_bytes: usize) -> RecordBuf {
    let mut buf = record(LogOp::InsertRows, txn, Lsn::NULL, &vec![txn as u8; payload_bytes]);
    buf.header.context = LogContext::Heap;
    buf
}

/// BEGIN, one insert, COMMIT; returns the commit's address.
pub fn commit(log: &Log, txn: u64, row_bytes: usize) -> Lsn {
    let header = |op, prev| RecordHeader { txn: TxnId(txn), prev, ..RecordHeader::new(op) };
    let time = LogTime::from_utc_100ns(638_000_000_000_000_000);
    let begin =
        BeginXact { begin_time: time, spid: 51, name: hardpan_log::records::DEFAULT_TRANSACTION_NAME.into() };
    let first = log.append(&RecordBuf::from_payload(header(LogOp::BeginXact, Lsn::NULL), &begin)).unwrap();
    let mut row = insert(txn, row_bytes);
    row.header.prev = first;
    let change = log.append(&row).unwrap();
    let commit = CommitXact { end_time: time };
    log.append(&RecordBuf::from_payload(header(LogOp::CommitXact, change), &commit)).unwrap()
}

/// Makes the same world again and again, each time with one bit of its log file flipped in another written sector, every
/// `step`th; calls `judge` with the world, the result of `life`, and the position.
pub fn turn_bits_over<T>(
    path: &str,
    step: usize,
    life: impl Fn() -> (World, T),
    mut judge: impl FnMut(&World, T, usize),
) {
    let bytes = life().0.file_bytes(path.as_ref()).unwrap();
    let is_written = |at: &usize| bytes[*at..*at + 512].iter().any(|byte| *byte != 0);
    for at in (0..bytes.len()).step_by(512).filter(is_written).step_by(step) {
        let (world, lived) = life();
        assert!(world.file_bytes(path.as_ref()).unwrap() == bytes, "the same world");
        let at = at + at / 512 * 37 % 512;
        world.corrupt(path.as_ref(), at as u64, &[bytes[at] ^ 1 << (at % 8)]);
        judge(&world, lived, at);
    }
}

/// The waker of a pending commit; counts its calls.
#[derive(Default)]
pub struct Rings {
    count: AtomicU64,
    signal: Signal,
}

impl Wake for Rings {
    fn wake(self: Arc<Self>) {
        self.count.fetch_add(1, Relaxed);
        self.signal.set();
    }
}

impl Rings {
    pub fn waker(self: &Arc<Self>) -> Waker {
        Arc::clone(self).into()
    }

    pub fn count(&self) -> u64 {
        self.count.load(Relaxed)
    }

    /// Returns after it was called.
    pub fn wait(&self) {
        assert_eq!(self.signal.wait(WaitType::SLEEP_TASK, None), WaitOutcome::Set);
    }
}
