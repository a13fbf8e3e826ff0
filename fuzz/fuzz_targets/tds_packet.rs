//! Bytes of a client in any cut: reassembly and every request decoder return errors, never panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tds::login7::TdsVersion;
use tds::packet::{MessageReader, ReadLimits};
use tds::server::decode_request;

fuzz_target!(|data: &[u8]| {
    let Some((choice, data)) = data.split_first() else { return };
    let version = [TdsVersion::V7_1, TdsVersion::V7_2, TdsVersion::V7_4, TdsVersion::V8_0][usize::from(choice & 3)];
    let limits = if choice & 4 == 0 { ReadLimits::PRE_LOGIN } else { ReadLimits::default() };
    let mut reader = MessageReader::new(limits);
    for piece in data.chunks(usize::from(choice >> 3) * 7 + 1) {
        if reader.feed(piece).is_err() {
            return;
        }
        loop {
            match reader.next() {
                Ok(Some(head)) => {
                    let _ = decode_request(head.kind, reader.payload(), version);
                }
                Ok(None) => break,
                Err(_) => return,
            }
        }
    }
});
