//! The log over the real disk: append, harden, read back, reopen, wrap round, grow, fill up; exact flush counts.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use common::{Workbench, commit, insert, record, small_options};
use hardpan_log::{
    DelayedFlushPolicy, FlushReason, Growth, Log, LogError, LogOp, LogReuseWait, Lsn, VlfRule,
};

#[test]
fn a_hardened_record_is_read_back_before_and_after_a_restart() {
    let bench = Workbench::new("read_back");
    let options = bench.options();
    let log = Log::create(&bench.os, &options).unwrap();
    let lsn = log.append(&record(LogOp::InsertRows, 7, Lsn::NULL, b"row")).unwrap();
    assert_eq!(
        lsn.to_string(),
        "00000001:00000010:0001",
        "the first block of a VLF is sector 16, slots count from 1"
    );
    assert!(log.hardened() < lsn && log.end() > lsn);
    assert_eq!(log.read(lsn).unwrap().payload, b"row", "from the cache");
    log.harden(lsn, FlushReason::Commit).unwrap();
    assert_eq!(log.hardened(), lsn);
    assert_eq!(log.read(lsn).unwrap().payload, b"row", "from the file");
    drop(log);
    let (log, tail) = Log::open(&bench.os, &options).unwrap();
    assert_eq!((tail.last, tail.clean), (lsn, false));
    let records: Vec<_> = log.read_from(Lsn::NULL).map(|record| record.unwrap()).collect();
    assert_eq!(records.len(), 1);
    assert_eq!((records[0].lsn, records[0].payload.as_slice()), (lsn, &b"row"[..]));
    let next = log.append(&record(LogOp::InsertRows, 8, Lsn::NULL, b"more")).unwrap();
    log.close().unwrap();
    assert!(matches!(log.append(&insert(9, 10)), Err(LogError::Closed)));
    let (_, tail) = Log::open(&bench.os, &options).unwrap();
    assert_eq!((tail.last, tail.clean), (next, true));
}

/// Claims 10 and 44: begin, change and commit are three records, which fit the smallest block, one sector.
#[test]
fn begin_insert_commit_fit_one_sector_easily() {
    let bench = Workbench::new("one_sector");
    let log = Log::create(&bench.os, &bench.options()).unwrap();
    let before = log.stats();
    let lsn = commit(&log, 0x35a, 40);
    log.harden(lsn, FlushReason::Commit).unwrap();
    let after = log.stats();
    let bytes = after.record_bytes_total - before.record_bytes_total;
    assert_eq!(after.records_total - before.records_total, 3, "begin, change, commit");
    assert!(bytes <= 120, "{bytes} bytes");
    assert_eq!(after.flushed_bytes_total - before.flushed_bytes_total, 512, "one sector");
}

/// Claims 11, 21, 34, 42, 43 and 57: N commits of one session are N flushes, N writes of the device and N waits, no more.
#[test]
fn each_durable_commit_of_one_session_is_one_write() {
    let bench = Workbench::new("one_write");
    let log = Log::create(&bench.os, &bench.options()).unwrap();
    let writes_before = log.files()[0].stats.writes_total;
    for txn in 1..=200 {
        let lsn = commit(&log, txn, 30);
        log.harden(lsn, FlushReason::Commit).unwrap();
        assert_eq!(log.hardened(), lsn);
    }
    let stats = log.stats();
    assert_eq!(stats.flushes_total, 200);
    assert_eq!(stats.flushes_by_reason_total[FlushReason::Commit.index()], 200);
    assert_eq!(log.files()[0].stats.writes_total - writes_before, 200, "the device saw as many");
    assert_eq!(log.files()[0].stats.write_bytes_total % 512, 0);
    let counter = |name: &str| bench.os.counters().counter("SQLServer:Databases", name, "test").get();
    assert_eq!(counter("Log Flushes/sec"), 200);
    assert_eq!(counter("Log Flush Waits/sec"), 200);
    assert_eq!(counter("Log Bytes Flushed/sec"), 200 * 512);
    let waits = bench.os.wait_stats().row(os::WaitType::WRITELOG);
    assert_eq!(waits.waiting_tasks_count, 200);
}

/// Claims 15 and 46: full blocks, and one flush at the commit.
#[test]
fn one_large_transaction_flushes_full_blocks_and_once_at_commit() {
    let bench = Workbench::new("large_transaction");
    let log = Log::create(&bench.os, &bench.options()).unwrap();
    let mut last = Lsn::NULL;
    for _ in 0..20_000 {
        last = log.append(&insert(5, 60)).unwrap();
    }
    log.harden(last, FlushReason::Commit).unwrap();
    let stats = log.stats();
    let full = stats.flushes_by_reason_total[FlushReason::BlockFull.index()];
    let expected = stats.record_bytes_total / 61_440;
    assert!(
        full >= expected && full <= expected + 3,
        "{full} full blocks for {} bytes",
        stats.record_bytes_total
    );
    assert!(stats.flushes_total - full <= 1, "and one at commit");
}

/// Claims 13, 18, 52 and 58: acknowledged and not hardened, until another reason or the drain comes.
#[test]
fn delayed_commits_do_not_flush_each_and_other_reasons_still_do() {
    let bench = Workbench::new("delayed");
    let log = Log::create(&bench.os, &bench.options()).unwrap();
    log.suspend_background_flush(true);
    let mut lsn = Lsn::NULL;
    for txn in 1..=100 {
        lsn = commit(&log, txn, 30);
        log.request_delayed_flush(lsn);
    }
    assert!(log.hardened() < lsn && log.stats().flushes_total == 0, "acknowledged, not hardened");
    log.harden(lsn, FlushReason::FlushLogProc).unwrap();
    assert_eq!(log.hardened(), lsn);
    assert_eq!(log.stats().flushes_total, 1);
    assert_eq!(log.stats().flushes_by_reason_total[FlushReason::FlushLogProc.index()], 1);
    let drained = commit(&log, 101, 30);
    log.request_delayed_flush(drained);
    log.suspend_background_flush(false);
    bench.wait_until(|| log.hardened() >= drained);
    assert_eq!(log.stats().flushes_by_reason_total[FlushReason::Background.index()], 1);
}

/// Claims 63 and 69: each eager drain writes many commits (the article: 1,000,000 of them in 95,407 flushes).
#[test]
fn eager_draining_flushes_far_less_often_than_it_commits() {
    let bench = Workbench::in_memory("eager");
    let log = Log::create(&bench.os, &bench.options()).unwrap();
    let mut lsn = Lsn::NULL;
    for txn in 1..=50_000 {
        lsn = commit(&log, txn, 30);
        log.request_delayed_flush(lsn);
    }
    bench.wait_until(|| log.hardened() >= lsn);
    let stats = log.stats();
    assert!(stats.flushes_total < 5_000, "{} flushes for 50,000 delayed commits", stats.flushes_total);
    assert!(stats.flushes_by_reason_total[FlushReason::Commit.index()] == 0);
}

/// Claim 69, the other policy: with BlockFull a delayed log is written only as full blocks.
#[test]
fn block_full_policy_waits_for_full_blocks() {
    let bench = Workbench::in_memory("block_full");
    let options = hardpan_log::LogOptions { delayed_flush: DelayedFlushPolicy::BlockFull, ..bench.options() };
    let log = Log::create(&bench.os, &options).unwrap();
    for txn in 1..=2_000 {
        let lsn = commit(&log, txn, 30);
        log.request_delayed_flush(lsn);
    }
    let expected = log.stats().record_bytes_total / 61_440;
    bench.wait_until(|| log.stats().flushes_total >= expected);
    let stats = log.stats();
    assert!(stats.flushes_total <= expected + 1, "{} of {expected}", stats.flushes_total);
    assert_eq!(stats.flushes_total, stats.flushes_by_reason_total[FlushReason::BlockFull.index()]);
    log.close().unwrap();
    let (_, tail) = Log::open(&bench.os, &options).unwrap();
    assert!(tail.clean, "a planned stop loses nothing");
}

/// Claim 14: tempdb's log.
#[test]
fn a_volatile_log_never_flushes_at_commit() {
    let bench = Workbench::new("volatile");
    let options = hardpan_log::LogOptions { volatile: true, ..bench.options() };
    let log = Log::create(&bench.os, &options).unwrap();
    for txn in 1..=1_000 {
        let lsn = commit(&log, txn, 30);
        log.harden(lsn, FlushReason::Commit).unwrap();
    }
    let expected = log.stats().record_bytes_total / 61_440;
    bench.wait_until(|| log.stats().flushes_total >= expected);
    assert!(log.stats().flushes_total <= expected + 1);
    let first = log.read_from(Lsn::NULL).next().unwrap().unwrap();
    assert_eq!(first.header.op, LogOp::BeginXact);
    drop(log);
    assert!(matches!(Log::open(&bench.os, &options), Err(LogError::NotOurs { .. })));
    Log::create(&bench.os, &options).unwrap().close().unwrap();
}

#[test]
fn the_log_wraps_round_and_truncation_follows_the_pins() {
    let bench = Workbench::in_memory("wrap");
    let options = hardpan_log::LogOptions { growth: Growth::None, ..small_options(bench.path(), 1 << 20) };
    let log = Log::create(&bench.os, &options).unwrap();
    assert_eq!(log.vlfs().len(), 4);
    let mut txn = 0;
    let mut checkpoint = Lsn::NULL;
    for round in 0..12 {
        for _ in 0..300 {
            txn += 1;
            let lsn = commit(&log, txn, 200);
            log.harden(lsn, FlushReason::Commit).unwrap();
            checkpoint = lsn;
        }
        log.record_checkpoint(checkpoint, checkpoint).unwrap();
        let min = log.truncate().unwrap();
        assert_eq!(min, checkpoint, "round {round}");
        assert_eq!(log.reuse_wait(), LogReuseWait::Nothing);
    }
    assert!(checkpoint.vlf() > 6, "{checkpoint}");
    assert_eq!(log.vlfs().len(), 4, "no growth");
    let parities: Vec<u8> = log.vlfs().iter().map(|vlf| vlf.parity).collect();
    assert!(parities.iter().all(|parity| [0x40, 0x80].contains(parity)));
    let active = log.vlfs().iter().filter(|vlf| vlf.active).count();
    assert!(active <= 2);
    drop(log);
    let (log, tail) = Log::open(&bench.os, &options).unwrap();
    assert_eq!((tail.last, tail.checkpoint), (checkpoint, checkpoint));
    let lsn = commit(&log, txn + 1, 200);
    log.harden(lsn, FlushReason::Commit).unwrap();
    let seen: Vec<_> = log.read_from(tail.min).map(|record| record.unwrap().lsn).collect();
    assert_eq!(seen.first(), Some(&checkpoint));
    assert_eq!(seen.last(), Some(&lsn));
}

#[test]
fn a_full_log_refuses_with_its_reason_and_rollback_still_has_room() {
    let bench = Workbench::in_memory("full");
    let options = hardpan_log::LogOptions { growth: Growth::None, ..small_options(bench.path(), 512 << 10) };
    let log = Log::create(&bench.os, &options).unwrap();
    let first = log.append(&insert(1, 10)).unwrap();
    let pin = log.pin(LogReuseWait::ActiveTransaction, "transaction 1", first);
    let mut undo = 0;
    let refused = loop {
        match log.append_reserving(&insert(1, 300), 330) {
            Ok(_) => undo += 1,
            Err(error) => break error,
        }
    };
    let LogError::Full { reuse_wait, growth: None } = refused else { panic!("{refused}") };
    assert_eq!(reuse_wait, LogReuseWait::ActiveTransaction);
    assert!(undo > 300, "about half of the log was usable: {undo}");
    // Each compensation record alone in its block would be the worst case; every tenth is forced out here.
    for index in 0..undo {
        let lsn = log.append_from_reservation(&insert(1, 300)).unwrap();
        if index % 10 == 0 {
            log.harden(lsn, FlushReason::WriteAhead).unwrap();
        }
    }
    let end = log.append_from_reservation(&insert(1, 10)).unwrap();
    log.harden(end, FlushReason::Commit).unwrap();
    log.release_reservation(undo * 330);
    log.truncate().unwrap();
    assert_eq!(log.reuse_wait().name(), "ACTIVE_TRANSACTION");
    // After a checkpoint and the end of the transaction the log can be used again.
    pin.move_to(Lsn::MAX);
    log.record_checkpoint(end, end).unwrap();
    log.truncate().unwrap();
    log.append(&insert(2, 300)).unwrap();
}

/// An append may open a block and only then find that the rest of the log is reserved: the block stays empty, and smaller than
/// the rollback's next record.
#[test]
fn a_refused_append_leaves_nothing_in_the_way_of_a_rollback() {
    let bench = Workbench::in_memory("refused");
    let options = hardpan_log::LogOptions { growth: Growth::None, ..small_options(bench.path(), 512 << 10) };
    let log = Log::create(&bench.os, &options).unwrap();
    let sectors = (log.vlfs()[0].size_bytes / 512) as u32;
    let mut last = Lsn::NULL;
    while last.block() + 3 < sectors {
        last = log.append(&insert(1, 300)).unwrap();
        log.harden(last, FlushReason::Commit).unwrap();
    }
    assert_eq!((last.vlf(), last.block() + 3), (1, sectors), "two sectors of the VLF are left");
    let total: u64 = log.vlfs().iter().map(|vlf| vlf.size_bytes - 8192).sum();
    let free = total - log.stats().used_bytes;
    let small = insert(1, 10);
    let (margin, header) = (64 << 10, 64);
    let needed = margin + header + small.encoded_bytes_max() as u64;
    let promised = free - needed - header / 2;
    let refused = log.append_reserving(&small, promised);
    assert!(matches!(refused, Err(LogError::Full { .. })), "the block's own header is too much: {refused:?}");
    let lsn = log.append_from_reservation(&insert(1, 2_000)).unwrap();
    assert_eq!(lsn, Lsn::new(2, 16, 1), "it does not fit what is left of the VLF");
    log.harden(lsn, FlushReason::Commit).unwrap();
    let seen: Vec<Lsn> = log.read_from(last).map(|record| record.unwrap().lsn).collect();
    assert_eq!(seen, [last, lsn]);
    drop(log);
    assert_eq!(Log::open(&bench.os, &options).unwrap().1.last, lsn);
}

#[test]
fn the_log_grows_by_its_option_and_says_so() {
    let bench = Workbench::in_memory("grow");
    let options = hardpan_log::LogOptions {
        growth: Growth::Bytes(1 << 20),
        vlf_rule: VlfRule::Pre2014,
        grow_ahead: false,
        ..small_options(bench.path(), 1 << 20)
    };
    let log = Log::create(&bench.os, &options).unwrap();
    let mut last = Lsn::NULL;
    for _ in 0..12_000 {
        last = log.append(&insert(3, 280)).unwrap();
    }
    log.harden(last, FlushReason::Commit).unwrap();
    let stats = log.stats();
    assert_eq!(stats.growths_total, 3);
    assert_eq!(
        (stats.vlf_count, stats.size_bytes),
        (16, 4 << 20),
        "claims of seed 004: 4 VLFs per 1 MB step"
    );
    assert_eq!(bench.os.counters().counter("SQLServer:Databases", "Log Growths", "test").get(), 3);
    assert!(log.vlfs()[4].create_lsn > Lsn::NULL);
    drop(log);
    let (log, tail) = Log::open(&bench.os, &options).unwrap();
    assert_eq!(tail.last, last);
    assert_eq!(log.read_from(Lsn::NULL).count(), 12_000);
    assert_eq!(log.stats().size_bytes, 4 << 20);
}

#[test]
fn a_spare_vlf_is_made_in_the_background_before_it_is_needed() {
    let bench = Workbench::in_memory("grow_ahead");
    let options =
        hardpan_log::LogOptions { growth: Growth::Bytes(1 << 20), ..small_options(bench.path(), 1 << 20) };
    let log = Log::create(&bench.os, &options).unwrap();
    while log.vlfs().iter().any(|vlf| !vlf.active) {
        let lsn = log.append(&insert(3, 280)).unwrap();
        log.harden(lsn, FlushReason::Commit).unwrap();
    }
    // So far the log has just entered the last VLF; soon three quarters of the whole log are used.
    for _ in 0..100 {
        let lsn = log.append(&insert(3, 280)).unwrap();
        log.harden(lsn, FlushReason::Commit).unwrap();
    }
    bench.wait_until(|| log.stats().growths_total == 1);
    assert!(log.vlfs().iter().any(|vlf| !vlf.active));
    log.close().unwrap();
}

/// Group commit: many fully durable sessions share flushes (the base that claim 66 compares with).
#[test]
fn many_sessions_share_flushes() {
    let bench = Workbench::new("sessions");
    let log = std::sync::Arc::new(Log::create(&bench.os, &bench.options()).unwrap());
    let tasks: Vec<_> = (0..24u64)
        .map(|session| {
            let log = std::sync::Arc::clone(&log);
            bench.os.spawn("session", move || {
                for index in 0..100 {
                    let lsn = commit(&log, session * 1_000 + index + 1, 30);
                    log.harden(lsn, FlushReason::Commit).unwrap();
                    assert!(log.hardened() >= lsn);
                }
            })
        })
        .collect();
    for task in tasks {
        task.join().unwrap();
    }
    let stats = log.stats();
    assert_eq!(stats.records_total, 7_200);
    assert!(stats.flushes_total < 2_400, "{} flushes for 2,400 commits", stats.flushes_total);
    assert_eq!(log.read_from(Lsn::NULL).count(), 7_200);
    log.close().unwrap();
}

#[test]
fn records_of_any_size_come_back_whole() {
    let bench = Workbench::new("sizes");
    let log = Log::create(&bench.os, &bench.options()).unwrap();
    let sizes = [0, 1, 100, 8_000, 59_999, 60_000, 3, 60_000, 60_000, 17];
    let lsns: Vec<Lsn> = sizes.iter().map(|size| log.append(&insert(4, *size)).unwrap()).collect();
    for (lsn, size) in lsns.iter().zip(sizes) {
        assert_eq!(log.read(*lsn).unwrap().payload.len(), size);
    }
    log.harden(lsns[9], FlushReason::Commit).unwrap();
    let mut reader = log.reader();
    for (lsn, size) in lsns.iter().zip(sizes).rev() {
        assert_eq!(reader.read(*lsn).unwrap().payload.len(), size);
    }
    assert!(matches!(log.read(Lsn::new(1, 16, 9_000)), Err(LogError::NotThere(_))));
    assert!(matches!(log.read(Lsn::new(1, 999, 1)), Err(LogError::NotThere(_))));
    assert!(matches!(log.read(Lsn::new(9, 16, 1)), Err(LogError::NotThere(_))));
}

#[test]
fn a_log_that_comes_to_a_device_of_larger_sectors_goes_on() {
    let bench = Workbench::in_memory("padding");
    let options = bench.options();
    let log = Log::create(&bench.os, &options).unwrap();
    let mut expected = Vec::new();
    for txn in 1..=3 {
        expected.push(commit(&log, txn, 30));
        log.harden(expected[txn as usize - 1], FlushReason::Commit).unwrap();
    }
    drop(log);
    let larger = hardpan_log::LogOptions { padding_bytes: 4096, ..options.clone() };
    let (log, tail) = Log::open(&bench.os, &larger).unwrap();
    assert_eq!(tail.last, expected[2]);
    assert_eq!(log.read_from(expected[2]).count(), 1, "nothing lies in the gap");
    for txn in 4..=6 {
        let lsn = commit(&log, txn, 30);
        log.harden(lsn, FlushReason::Commit).unwrap();
        assert_eq!(lsn.block() % 8, 0, "{lsn}");
        expected.push(lsn);
    }
    assert_eq!(log.stats().flushed_bytes_total, 3 * 4096);
    assert_eq!(log.read_from(Lsn::NULL).count(), 18);
    drop(log);
    for again in [&larger, &options] {
        let (log, tail) = Log::open(&bench.os, again).unwrap();
        assert_eq!(tail.last, expected[5]);
        let commits: Vec<Lsn> = log
            .read_from(Lsn::NULL)
            .map(|record| record.unwrap())
            .filter(|record| record.header.op == LogOp::CommitXact)
            .map(|record| record.lsn)
            .collect();
        assert_eq!(commits, expected);
    }
}
