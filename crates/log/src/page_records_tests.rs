//! Tests of the page records: every payload reads back as written, no bytes make a decoder panic.

use super::*;
use crate::{Body, LogContext, LogOp};

fn encoded(encode: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    encode(&mut out);
    out
}

#[test]
fn payloads_round_trip() {
    let heap = HeapRow { page: 1 << 32 | 300, slot: 65_535, is_forwarded: true, row: b"row" };
    assert_eq!(HeapRow::decode(&encoded(|out| heap.encode(out))), Ok(heap));
    let tree =
        TreeRow { page: 7 << 32 | 5, slot: 3, over_ghost: true, root: 1 << 32 | 9, key: b"k", value: b"vv" };
    assert_eq!(TreeRow::decode(&encoded(|out| tree.encode(out))), Ok(tree));
    let patch = RowPatch {
        page: 1 << 32 | 4_294_967_295,
        slot: 12,
        tree: Some((1 << 32 | 2, b"key")),
        is_stub: (false, false),
        offset: 8000,
        lengths: (3, 2),
        old: b"abc",
        new: b"de",
    };
    assert_eq!(RowPatch::decode(&encoded(|out| patch.encode(out))), Ok(patch));
    let stub = RowPatch { tree: None, is_stub: (false, true), ..patch };
    assert_eq!(RowPatch::decode(&encoded(|out| stub.encode(out))), Ok(stub));
    let undo_only = RowPatch { new: &[], ..patch };
    assert_eq!(RowPatch::decode(&encoded(|out| undo_only.encode(out))), Ok(undo_only));
    let split = TreeSplit {
        unit: 9,
        left: 1 << 32 | 1,
        right: 1 << 32 | 2,
        next: 0,
        parent: 1 << 32 | 3,
        parent_slot: 4,
        level: 1,
        split_slot: 200,
        separator: b"sep",
        facts: PageFacts { flags: 1, reserved_bytes: 300, last_remover: 77 },
        rows: vec![(b"one", 0), (b"two", 0x8000)],
    };
    assert_eq!(TreeSplit::decode(&encoded(|out| split.encode(out))), Ok(split));
    let bits = MapBits { map: 1 << 32 | 1, change: MapChange::Pending, runs: vec![(3, 1), (7, 2000)] };
    assert_eq!(MapBits::decode(&encoded(|out| bits.encode(out))), Ok(bits));
    let lob = LobPage { unit: 1, page: 1 << 32 | 8, next: 0, stamp: u64::MAX, data: b"xyz" };
    assert_eq!(LobPage::decode(&encoded(|out| lob.encode(out))), Ok(lob));
}

#[test]
fn a_one_int_row_takes_few_bytes() {
    let row = HeapRow { page: 1 << 32 | 2_000, slot: 400, is_forwarded: false, row: &[0; 8] };
    assert!(encoded(|out| row.encode(out)).len() <= 13);
}

#[test]
fn no_bytes_make_a_decoder_panic() {
    let mut state = 5u64;
    for _ in 0..20_000 {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let bytes: Vec<u8> = (0..state >> 60).map(|at| (state >> (at % 8 * 8)) as u8).collect();
        for op in LogOp::ALL {
            for context in [LogContext::Heap, LogContext::Clustered, LogContext::TextMix] {
                let _ = Body::decode(*op, context, &bytes).map(|body| body.map(|body| body.describe()));
            }
        }
    }
}
