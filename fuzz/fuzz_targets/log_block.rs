//! Arbitrary bytes as a log block and as a log record: an error at worst.
#![no_main]

use libfuzzer_sys::fuzz_target;
use log::block::{BlockHeader, SlotTable};
use log::{Lsn, TxnId, decode_record, describe};

fuzz_target!(|bytes: &[u8]| {
    if let Ok((record, length)) = decode_record(bytes, Lsn::new(9, 900, 9), TxnId(77)) {
        assert!(length <= bytes.len());
        let _ = describe(&record.header, record.payload);
    }
    let mut block = bytes.to_vec();
    // With luck the bytes are a header; give it the checksum that lets the records be looked at.
    if block.len() >= 24 {
        block[..4].copy_from_slice(b"HLB1");
        block[4..6].copy_from_slice(&1u16.to_le_bytes());
    }
    let Ok(header) = BlockHeader::decode(&block) else { return };
    let _ = header.checksum_matches(&block);
    let Ok(slots) = SlotTable::build(&header, &block) else { return };
    for slot in 0..=header.slots {
        if let Some(Ok((record, _))) = slots.record(&header, &block, slot) {
            let _ = describe(&record.header, record.payload);
        }
    }
});
