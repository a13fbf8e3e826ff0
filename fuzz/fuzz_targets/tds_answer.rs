//! The token stream of a hostile server: the client half returns errors, never panics.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tds::client::TokenReader;
use tds::login7::TdsVersion;

fuzz_target!(|data: &[u8]| {
    for version in [TdsVersion::V7_1, TdsVersion::V7_4] {
        let _ = TokenReader::new(data, version).collect();
    }
});
