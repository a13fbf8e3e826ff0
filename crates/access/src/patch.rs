//! The changed part of a row: the payload of LOP_MODIFY_ROW, and how it is applied.

use log::page_records::RowPatch;
use pages::{PageBytes, header, slots};

/// Offset of the first difference, and the differing parts of `old` and `new`.
pub(crate) fn difference<'o, 'n>(old: &'o [u8], new: &'n [u8]) -> (usize, &'o [u8], &'n [u8]) {
    let prefix = old.iter().zip(new).take_while(|(one, other)| one == other).count();
    let (old, new) = (&old[prefix..], &new[prefix..]);
    let suffix = old.iter().rev().zip(new.iter().rev()).take_while(|(one, other)| one == other).count();
    assert!(suffix <= old.len().min(new.len()), "what is the same at the end is in both");
    (prefix, &old[..old.len() - suffix], &new[..new.len() - suffix])
}

/// The owner of the change: decides what happens to the bytes kept for undo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// A transaction: the bytes that it releases are kept for its rollback.
    Forward(u64),
    /// A compensation: it takes back the kept bytes.
    Compensation,
}

/// Is the row in the state after the record, as far as its undo needs: does it have the bytes to remove, and is there room for those to
/// restore? `base`: bytes of the row before those that the record counts.
pub(crate) fn can_undo(page: &PageBytes, record: &RowPatch<'_>, base: usize) -> bool {
    let (before, after) = (usize::from(record.lengths.0), usize::from(record.lengths.1));
    let row = slots::row(page, record.slot).map_or(0, <[u8]>::len);
    let is_there = base + usize::from(record.offset) + after <= row;
    is_there && record.old.len() == before && before <= after + header::free_bytes(page)
}

/// Replaces `lengths.0` bytes at `at` of the row by `new`, and updates the count of bytes reserved for undo.
pub(crate) fn apply(
    page: &mut PageBytes,
    slot: u16,
    at: usize,
    lengths: (u16, u16),
    new: &[u8],
    change: Change,
) {
    let (before, after) = (usize::from(lengths.0), usize::from(lengths.1));
    assert!(new.len() == after, "a patch has the bytes that it promises");
    let row = slots::row(page, slot).map_or(0, <[u8]>::len);
    assert!(at + before <= row, "{before} bytes at {at} of a row of {row}");
    slots::splice(page, slot, at, before, new);
    let is_patched = slots::row(page, slot).is_some_and(|patched| patched.len() == row - before + after);
    assert!(is_patched, "a patch changes its part of the row");
    let reserved = header::reserved_bytes(page);
    match change {
        Change::Forward(txn) if after < before => {
            header::set_reserved_bytes(page, reserved + before - after);
            header::raise_last_remover(page, txn);
        }
        Change::Compensation if after > before => {
            header::set_reserved_bytes(page, reserved.saturating_sub(after - before));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_difference_is_the_least_part() {
        assert_eq!(difference(b"abcdef", b"abXdef"), (2, &b"c"[..], &b"X"[..]));
        assert_eq!(difference(b"abab", b"ab"), (2, &b"ab"[..], &b""[..]));
        assert_eq!(difference(b"aa", b"aaaa"), (2, &b""[..], &b"aa"[..]));
        assert_eq!(difference(b"same", b"same"), (4, &b""[..], &b""[..]));
    }
}
