//! The end of the log after a crash: every truncation point and bit flip of a small log, stale blocks, foreign files.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::path::Path;

use common::{Workbench, commit, insert, small_options};
use hardpan_log::block::BlockHeader;
use hardpan_log::{DumpOptions, FlushReason, Growth, Log, LogError, LogOptions, Lsn, dump_file};

/// A directory in memory, so that thousands of openings cost nothing.
fn bench(name: &str) -> Workbench {
    Workbench::in_memory(name)
}

fn options(path: impl AsRef<Path>) -> LogOptions {
    LogOptions { growth: Growth::None, ..small_options(path, 512 << 10) }
}

struct Image {
    bytes: Vec<u8>,
    /// Offset, padded bytes and last record of each block.
    blocks: Vec<(usize, usize, Lsn)>,
    lsns: Vec<Lsn>,
}

/// A log of `count` durable commits, one block each, of a process that died.
fn image(bench: &Workbench, count: u64) -> Image {
    let options = options(bench.path());
    let log = Log::create(&bench.os, &options).unwrap();
    let mut lsns = Vec::new();
    for txn in 1..=count {
        // Some blocks of several sectors.
        let lsn = commit(&log, txn, if txn % 3 == 0 { 700 } else { 40 });
        log.harden(lsn, FlushReason::Commit).unwrap();
        lsns.push(lsn);
    }
    drop(log);
    let bytes = bench.os.disk().read_file(&options.path).unwrap();
    let mut blocks = Vec::new();
    let mut at = 16_384;
    while let Ok(header) = BlockHeader::decode(&bytes[at..]) {
        assert!(header.checksum_matches(&bytes[at..]));
        blocks.push((at, header.padded_bytes(), header.last()));
        at += header.padded_bytes();
    }
    assert_eq!(blocks.len() as u64, count);
    Image { bytes, blocks, lsns }
}

#[test]
fn a_log_cut_anywhere_ends_before_the_cut() {
    // Fault F3: a block is used whole or not at all.
    let bench = bench("cut");
    let image = image(&bench, 9);
    let end = image.blocks.last().map(|block| block.0 + block.1).unwrap();
    for cut in (16_384..=end).step_by(64) {
        let mut bytes = image.bytes.clone();
        bytes[cut..end].fill(0);
        bench.put(&bytes);
        let whole = image.blocks.iter().take_while(|block| block.0 + block.1 <= cut);
        // Padding is zero, so a cut inside it changes nothing.
        let intact = |block: &&(usize, usize, Lsn)| {
            bytes[block.0..block.0 + block.1] == image.bytes[block.0..block.0 + block.1]
        };
        let expected = image.blocks.iter().take_while(intact).last().map_or(Lsn::NULL, |block| block.2);
        let at_least = whole.last().map_or(Lsn::NULL, |block| block.2);
        assert!(expected >= at_least);
        let (log, tail) = Log::open(&bench.os, &options(bench.path())).unwrap();
        assert_eq!(tail.last, expected, "cut at {cut}");
        let lsns: Vec<Lsn> = log.read_from(Lsn::NULL).map(|record| record.unwrap().lsn).collect();
        assert_eq!(lsns.last().copied().unwrap_or(Lsn::NULL), expected);
        // The log continues where it ended.
        let next = commit(&log, 99, 10);
        log.harden(next, FlushReason::Commit).unwrap();
        drop(log);
        assert_eq!(Log::open(&bench.os, &options(bench.path())).unwrap().1.last, next);
    }
}

#[test]
fn a_flipped_bit_in_the_middle_is_refused_and_at_the_end_it_ends_the_log() {
    let bench = bench("flip");
    let image = image(&bench, 6);
    let last_block = image.blocks.last().unwrap().0;
    let end = image.blocks.last().map(|block| block.0 + block.1).unwrap();
    for at in 16_384..end {
        let mut bytes = image.bytes.clone();
        bytes[at] ^= 1 << (at % 8);
        bench.put(&bytes);
        let block = image.blocks.iter().rposition(|block| block.0 <= at).unwrap();
        let opened = Log::open(&bench.os, &options(bench.path()));
        if at < last_block {
            let Err(LogError::Corrupt { offset, file, .. }) = opened else {
                panic!("flip at {at} was not seen")
            };
            assert_eq!((offset, file), (image.blocks[block].0 as u64, bench.path()), "flip at {at}");
        } else {
            // A damaged last block looks like one that was being written.
            assert_eq!(opened.unwrap().1.last, image.blocks[block - 1].2, "flip at {at}");
        }
    }
}

#[test]
fn a_properly_closed_log_shows_damage_even_at_its_very_end() {
    let bench = bench("clean");
    let options = options(bench.path());
    let log = Log::create(&bench.os, &options).unwrap();
    let lsn = commit(&log, 1, 40);
    log.harden(lsn, FlushReason::Commit).unwrap();
    log.close().unwrap();
    let mut bytes = bench.os.disk().read_file(&options.path).unwrap();
    bytes[16_384 + 70] ^= 1;
    bench.put(&bytes);
    assert!(matches!(Log::open(&bench.os, &options), Err(LogError::Corrupt { offset: 16_384, .. })));
}

#[test]
fn damage_in_a_vlfs_first_block_is_not_an_end_either() {
    let bench = bench("first_block");
    let options = options(bench.path());
    let log = Log::create(&bench.os, &options).unwrap();
    let mut lsn = Lsn::NULL;
    while lsn.vlf() < 2 || lsn.block() < 100 {
        lsn = commit(&log, 1, 400);
        log.harden(lsn, FlushReason::Commit).unwrap();
    }
    let second = log.vlfs()[1].begin_offset as usize + 8192;
    drop(log);
    let bytes = bench.os.disk().read_file(&options.path).unwrap();
    for at in [0, 8, 12, 40, 100] {
        let mut damaged = bytes.clone();
        damaged[second + at] ^= 1;
        bench.put(&damaged);
        let opened = Log::open(&bench.os, &options);
        assert!(matches!(opened, Err(LogError::Corrupt { .. })), "byte {at}");
    }
    bench.put(&bytes);
    assert_eq!(Log::open(&bench.os, &options).unwrap().1.last, lsn);
}

/// The log has moved on although most of its VLF was left (DBCC SHRINKFILE): what it wrote then proves that the next VLF had begun.
#[test]
fn a_log_that_moved_on_early_does_not_end_where_it_did() {
    let bench = bench("moved_on");
    // VLFs of 10 MB, more than the range searched for a proof.
    let options = LogOptions { growth: Growth::None, ..small_options(bench.path(), 40 << 20) };
    let log = Log::create(&bench.os, &options).unwrap();
    let harden = |log: &Log, txn| {
        let lsn = commit(log, txn, 40);
        log.harden(lsn, FlushReason::Commit).unwrap();
        lsn
    };
    harden(&log, 1);
    assert!(log.move_on().unwrap());
    let last = (2..8).fold(Lsn::NULL, |_, txn| harden(&log, txn));
    assert_eq!(last.vlf(), 2);
    let second = log.vlfs()[1].begin_offset as usize + 8192;
    drop(log);
    let bytes = bench.os.disk().read_file(&options.path).unwrap();
    // A bit of its header (magic, VLF, sector, log id), of its records; a first sector that was never written.
    for damage in [Some(0), Some(8), Some(12), Some(56), Some(100), None] {
        let mut damaged = bytes.clone();
        match damage {
            Some(at) => damaged[second + at] ^= 2,
            None => damaged[second..second + 512].fill(0),
        }
        bench.put(&damaged);
        let opened = Log::open(&bench.os, &options).map(|(_, tail)| tail.last);
        assert!(matches!(opened, Err(LogError::Corrupt { .. })), "{damage:?}: {opened:?}");
    }
    bench.put(&bytes);
    assert_eq!(Log::open(&bench.os, &options).unwrap().1.last, last);
}

/// Either copy of the header is damaged after a recovery: the other one has the same run and incarnation, so no number is assigned twice.
#[test]
fn no_copy_of_the_header_is_of_a_former_incarnation() {
    let bench = bench("incarnation");
    let image = image(&bench, 3);
    let (log, _) = Log::open(&bench.os, &options(bench.path())).unwrap();
    log.record_recovery(image.lsns[2], image.lsns[0]).unwrap();
    let incarnation = log.incarnation();
    let last = commit(&log, 9, 40);
    log.harden(last, FlushReason::Commit).unwrap();
    drop(log);
    let bytes = bench.os.disk().read_file(&bench.path()).unwrap();
    for copy in 0..2 {
        let mut damaged = bytes.clone();
        damaged[copy * 4096 + 80] ^= 1;
        bench.put(&damaged);
        let (log, tail) = Log::open(&bench.os, &options(bench.path())).unwrap();
        assert_eq!((log.incarnation(), tail.last), (incarnation, last), "copy {copy}");
        assert_eq!(log.incarnation_end(), Some(last), "copy {copy}: it lasted until now");
    }
}

/// The search for a proof against the end of the log covers only VLFs that can have one: not those that the chain has just passed through.
#[test]
fn the_end_is_judged_without_reading_the_log_twice() {
    let bench = bench("judged_once");
    let options = LogOptions { growth: Growth::None, ..small_options(bench.path(), 8 << 20) };
    let log = Log::create(&bench.os, &options).unwrap();
    let mut lsn = Lsn::NULL;
    while lsn.vlf() < 4 || lsn.block() < 3_000 {
        lsn = commit(&log, 1, 50_000);
        log.harden(lsn, FlushReason::Commit).unwrap();
    }
    drop(log);
    let (log, tail) = Log::open(&bench.os, &options).unwrap();
    assert_eq!(tail.last, lsn);
    assert!(tail.scanned_bytes < 9 << 20, "{} bytes of a log of 8 MB were read", tail.scanned_bytes);
    drop(log);
}

#[test]
fn blocks_of_an_earlier_run_are_never_replayed() {
    // Fault F4: block n + 1 is there without block n; then the log continues and reaches the position of block n + 1.
    let bench = bench("stale");
    let image = image(&bench, 5);
    let mut bytes = image.bytes.clone();
    // The blocks must not prove each other: as if all had been in flight at once.
    for index in 1..5 {
        let (at, len, _) = image.blocks[index];
        let mut header = BlockHeader::decode(&bytes[at..]).unwrap();
        let before = BlockHeader::decode(&bytes[image.blocks[index - 1].0..]).unwrap();
        header.hardened = Lsn::NULL;
        header.previous_checksum = before.checksum;
        header.seal(&mut bytes[at..at + len]);
    }
    let lost = image.blocks[1];
    bytes[lost.0..lost.0 + lost.1].fill(0);
    bench.put(&bytes);
    let (log, tail) = Log::open(&bench.os, &options(bench.path())).unwrap();
    assert_eq!(tail.last, image.lsns[0], "the log ends at the hole");
    // A block of the same size in the hole: the stale one behind it is at the right position now.
    let lsn = commit(&log, 2, 40);
    log.harden(lsn, FlushReason::Commit).unwrap();
    assert_eq!(log.read_from(Lsn::NULL).count(), 6);
    drop(log);
    let (log, tail) = Log::open(&bench.os, &options(bench.path())).unwrap();
    assert_eq!(tail.last, lsn, "and still does not count");
    assert_eq!(log.read_from(Lsn::NULL).count(), 6);
}

#[test]
fn files_that_are_not_ours_are_named_as_such() {
    let bench = bench("foreign");
    let image = image(&bench, 2);
    let refused = |bytes: &[u8]| {
        bench.put(bytes);
        match Log::open(&bench.os, &options(bench.path())) {
            Err(
                error @ (LogError::NotOurs { .. } | LogError::NewerFormat { .. } | LogError::Corrupt { .. }),
            ) => error.to_string(),
            other => panic!("{:?}", other.map(|opened| opened.1)),
        }
    };
    refused(b"");
    refused(&[0; 100_000]);
    assert!(refused(&image.bytes[..300_000]).contains("300000 bytes"));
    let mut newer = image.bytes.clone();
    newer[8] = 3;
    newer[4096 + 8] = 3;
    assert!(refused(&newer).contains("format version 3; this server reads up to 2"));
    let mut no_vlf = image.bytes.clone();
    no_vlf[8192] ^= 1;
    assert!(refused(&no_vlf).contains("offset 8192"));
    let mut one_copy = image.bytes.clone();
    one_copy[..4096].fill(0xff);
    bench.put(&one_copy);
    assert_eq!(
        Log::open(&bench.os, &options(bench.path())).unwrap().1.last,
        image.lsns[1],
        "the other copy serves"
    );
    assert!(
        matches!(Log::create(&bench.os, &options(bench.path())), Err(LogError::Io(_))),
        "nothing is overwritten"
    );
}

/// Claims 44 and 45: records are counted with the dumper.
#[test]
fn the_dumper_counts_records_and_says_where_damage_begins() {
    let bench = bench("dump");
    let image = image(&bench, 7);
    bench.put(&image.bytes);
    let mut lines = Vec::new();
    let all = DumpOptions { records: true, ..DumpOptions::default() };
    let summary = dump_file(&bench.os, &bench.path(), &all, &mut |line| lines.push(line.to_owned())).unwrap();
    assert_eq!((summary.blocks_total, summary.records_total, summary.damage.as_deref()), (7, 21, None));
    assert_eq!(summary.records_by_operation["LOP_COMMIT_XACT"], 7);
    assert!(lines.iter().any(|line| line.contains("user_transaction;spid 51")), "{lines:#?}");
    let from = DumpOptions { from: image.lsns[3], records: true };
    let summary = dump_file(&bench.os, &bench.path(), &from, &mut |_| ()).unwrap();
    assert_eq!(summary.blocks_total, 4);
    let mut bytes = image.bytes.clone();
    bytes[image.blocks[2].0 + 80] ^= 1;
    bench.put(&bytes);
    let summary = dump_file(&bench.os, &bench.path(), &all, &mut |_| ()).unwrap();
    assert_eq!(summary.records_total, 6);
    let damage = summary.damage.unwrap();
    assert!(damage.contains(&format!("offset {}", image.blocks[2].0)), "{damage}");
    let _ = insert(1, 1);
}
