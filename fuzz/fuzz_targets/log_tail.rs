//! A log file with arbitrary blocks: finding its end, reading and dumping it give an error at worst.
//!
//! The input is a list of edits (two bytes of position, one byte of value) to a small sound log, whose blocks then get right
//! checksums or not, as the first byte says.
#![no_main]

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use log::block::BlockHeader;
use log::{DumpOptions, FlushReason, Growth, Log, LogOp, LogOptions, Lsn, RecordBuf, RecordHeader, TxnId, dump_file};
use os::Os;

/// Blocks begin here, and the edits reach so far.
const FIRST: usize = 16_384;
const REACH: usize = 24_576;

struct Base {
    os: Os,
    path: PathBuf,
    image: Vec<u8>,
}

fn options(path: &Path) -> LogOptions {
    LogOptions { size_bytes: 512 << 10, growth: Growth::None, ..LogOptions::new(path, "fuzz") }
}

fn base() -> &'static Base {
    static BASE: OnceLock<Base> = OnceLock::new();
    BASE.get_or_init(|| {
        let os = Os::real();
        let directory = PathBuf::from(format!("/dev/shm/hardpan-fuzz-{}", std::process::id()));
        os.disk().create_dir_all(&directory).expect("a directory");
        let path = directory.join("fuzz.ldf");
        let log = Log::create(&os, &options(&path)).expect("a log");
        let mut record = RecordBuf::new();
        let mut prev = Lsn::NULL;
        for txn in 1..=8 {
            for op in [LogOp::BeginXact, LogOp::InsertRows, LogOp::CommitXact] {
                let header = RecordHeader { txn: TxnId(txn), prev, ..RecordHeader::new(op) };
                record.start(header).extend_from_slice(&[7; 30]);
                prev = log.append(&record).expect("room");
            }
            log.harden(prev, FlushReason::Commit).expect("a write");
        }
        drop(log);
        let image = os.disk().read_file(&path).expect("the file");
        Base { os, path, image }
    })
}

fuzz_target!(|bytes: &[u8]| {
    let base = base();
    let Some((mode, edits)) = bytes.split_first() else { return };
    let mut image = base.image.clone();
    for edit in edits.chunks_exact(3) {
        let at = usize::from(u16::from_le_bytes([edit[0], edit[1]])) % REACH;
        image[at] = edit[2];
    }
    if mode & 1 != 0 {
        for at in (FIRST..REACH).step_by(512) {
            if let Ok(mut header) = BlockHeader::decode(&image[at..]) {
                let padded = header.padded_bytes();
                header.seal(&mut image[at..at + padded]);
            }
        }
    }
    std::fs::write(&base.path, &image).expect("writing in memory");
    let all = DumpOptions { records: true, ..DumpOptions::default() };
    let _ = dump_file(&base.os, &base.path, &all, &mut |_| ());
    if let Ok((log, _)) = Log::open(&base.os, &options(&base.path)) {
        log.read_from(Lsn::NULL).take_while(Result::is_ok).count();
    }
});
