//! Any text: parsing never panics or overflows, and what parses prints to a text that parses to an equal tree.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tsql::{ParseOptions, format, parse_batch, split_go};

fuzz_target!(|data: &[u8]| {
    let Some((choice, data)) = data.split_first() else { return };
    let text = String::from_utf8_lossy(data);
    // The canonical text is in the terms of QUOTED_IDENTIFIER ON; with OFF only the parser is tried.
    let options = ParseOptions { quoted_identifier: choice & 1 == 0 };
    for batch in split_go(&text) {
        if let Ok(tree) = parse_batch(&batch.text, &options)
            && options.quoted_identifier
        {
            let printed = format(&tree);
            assert_eq!(parse_batch(&printed, &options).as_ref(), Ok(&tree), "{printed}");
        }
    }
});
