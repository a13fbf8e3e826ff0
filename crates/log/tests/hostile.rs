//! Arbitrary and mutated bytes through every decoder: an error at worst, never a panic or a large allocation.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use common::{Workbench, commit, small_options};
use hardpan_log::block::{BlockHeader, SlotTable};
use hardpan_log::{
    DumpOptions, FlushReason, Growth, Log, LogContext, LogOp, LogOptions, Lsn, RecordHeader, TxnId,
    decode_record, describe, dump_file,
};
use os::Rng;

fn decode_all(bytes: &[u8]) {
    if let Ok(header) = BlockHeader::decode(bytes) {
        let _ = header.checksum_matches(bytes);
        if let Ok(slots) = SlotTable::build(&header, bytes) {
            for slot in 0..=header.slots {
                let _ = slots.record(&header, bytes, slot);
            }
        }
    }
    if let Ok((record, length)) = decode_record(bytes, Lsn::new(9, 900, 9), TxnId(77)) {
        assert!(length <= bytes.len());
        let _ = describe(&record.header, record.payload);
    }
}

#[test]
fn random_bytes_never_panic() {
    let mut rng = Rng::named(1, "hostile");
    let mut bytes = [0; 700];
    for _ in 0..20_000 {
        let length = rng.below(700) as usize;
        rng.fill(&mut bytes[..length]);
        decode_all(&bytes[..length]);
    }
}

#[test]
fn every_operation_describes_any_payload() {
    let mut rng = Rng::named(2, "hostile");
    let mut bytes = [0; 200];
    for op in LogOp::ALL {
        for context in LogContext::ALL {
            for _ in 0..20 {
                let length = rng.below(200) as usize;
                rng.fill(&mut bytes[..length]);
                let header = RecordHeader { context: *context, ..RecordHeader::new(*op) };
                let _ = describe(&header, &bytes[..length]);
            }
        }
    }
}

#[test]
fn mutated_blocks_and_files_never_panic() {
    let bench = Workbench::in_memory("mutated");
    let options = LogOptions { growth: Growth::None, ..small_options(bench.path(), 512 << 10) };
    let log = Log::create(&bench.os, &options).unwrap();
    for txn in 1..=8 {
        let lsn = commit(&log, txn, 100);
        log.harden(lsn, FlushReason::Commit).unwrap();
    }
    drop(log);
    let image = bench.os.disk().read_file(&options.path).unwrap();
    let mut rng = Rng::named(3, "hostile");
    for _ in 0..1_500 {
        let mut bytes = image.clone();
        for _ in 0..1 + rng.below(4) {
            let at = rng.below(24_000) as usize;
            bytes[at] = rng.below(256) as u8;
        }
        // Half of the blocks get a right checksum again, so that the mutation reaches the records.
        if rng.chance(1, 2) {
            for at in (16_384..24_000).step_by(512) {
                if let Ok(mut header) = BlockHeader::decode(&bytes[at..]) {
                    let padded = header.padded_bytes();
                    header.seal(&mut bytes[at..at + padded]);
                }
            }
        }
        for at in (16_384..24_000).step_by(512) {
            decode_all(&bytes[at..]);
        }
        bench.put(&bytes);
        let _ = dump_file(
            &bench.os,
            &bench.path(),
            &DumpOptions { records: true, ..Default::default() },
            &mut |_| (),
        );
        let Ok((log, _)) = Log::open(&bench.os, &options) else { continue };
        log.read_from(Lsn::NULL).take_while(Result::is_ok).count();
    }
}

/// A block of a parity that no VLF has is no block, whatever its checksum says: the log ends before it.
#[test]
fn a_block_of_an_impossible_parity_is_no_block() {
    let bench = Workbench::in_memory("parity");
    let options = LogOptions { growth: Growth::None, ..small_options(bench.path(), 512 << 10) };
    let log = Log::create(&bench.os, &options).unwrap();
    let lsn = commit(&log, 1, 100);
    log.harden(lsn, FlushReason::Commit).unwrap();
    drop(log);
    let mut bytes = bench.os.disk().read_file(&options.path).unwrap();
    let block = &mut bytes[16_384..16_384 + 512];
    block[7] = 0x11;
    block[60..64].fill(0);
    let checksum = crc32c::crc32c(block);
    block[60..64].copy_from_slice(&checksum.to_le_bytes());
    assert!(BlockHeader::decode(block).is_err());
    bench.put(&bytes);
    assert_eq!(Log::open(&bench.os, &options).unwrap().1.last, Lsn::NULL);
}
