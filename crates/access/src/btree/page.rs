//! Rows of tree pages: `key length 2 | key | rest`. The rest is the value in a leaf, the child's address (6 bytes) above.
//!
//! The first entry of an interior page stands for everything below the second, whatever key it carries.

use pages::{PageBytes, PageId, SLOT_BYTES, header, slots};

use crate::error::{AccessError, AccessResult};

/// Bytes before the key.
pub(crate) const KEY_LENGTH_BYTES: usize = 2;
/// Bytes of a child's address.
pub(crate) const CHILD_BYTES: usize = 6;

/// Key and rest of a row. Panics never: a row that lies about its key is cut short.
#[inline]
pub(crate) fn split_row(row: &[u8]) -> (&[u8], &[u8]) {
    let Some((length, rest)) = row.split_first_chunk::<KEY_LENGTH_BYTES>() else { return (&[], &[]) };
    let key_bytes = usize::from(u16::from_le_bytes(*length)).min(rest.len());
    rest.split_at(key_bytes)
}

/// The key in a slot; empty for a slot that does not exist.
#[inline]
pub(crate) fn key_at(page: &PageBytes, slot: u16) -> &[u8] {
    slots::row(page, slot).map_or(&[], |row| split_row(row).0)
}

/// Where `key` is among the slots, or where it would be inserted.
#[inline]
pub(crate) fn search(page: &PageBytes, key: &[u8]) -> Result<u16, u16> {
    let (mut low, mut high) = (0, header::slot_count(page));
    while low < high {
        let middle = low + (high - low) / 2;
        match key_at(page, middle).cmp(key) {
            std::cmp::Ordering::Less => low = middle + 1,
            std::cmp::Ordering::Equal => return Ok(middle),
            std::cmp::Ordering::Greater => high = middle,
        }
    }
    Err(low)
}

/// The slot of an interior page under which `key` lies; `strictly_below`: under which the keys just below it lie.
#[inline]
pub(crate) fn child_slot(page: &PageBytes, key: &[u8], strictly_below: bool) -> u16 {
    match search(page, key) {
        Ok(slot) if !strictly_below => slot,
        Ok(slot) | Err(slot) => slot.saturating_sub(1),
    }
}

/// The child in a slot of an interior page.
pub(crate) fn child_at(page: &PageBytes, slot: u16) -> AccessResult<PageId> {
    let row = slots::row(page, slot).map(|row| split_row(row).1);
    match row.and_then(|rest| rest.first_chunk::<CHILD_BYTES>()) {
        Some(child) => Ok(PageId::from_bytes(*child)),
        None => Err(AccessError::corrupt(header::id(page), format!("slot {slot} names no child"))),
    }
}

/// Bytes that a row with this key and rest takes, its slot included.
pub(crate) fn entry_bytes(key: &[u8], rest: usize) -> usize {
    KEY_LENGTH_BYTES + key.len() + rest + SLOT_BYTES
}

/// The shortest bytes that are above `below` and not above `above`: what an interior page needs to know.
pub(crate) fn separator<'a>(below: &[u8], above: &'a [u8]) -> &'a [u8] {
    assert!(below < above, "keys ascend");
    let shared = below.iter().zip(above).take_while(|(one, other)| one == other).count();
    &above[..shared + 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_are_short_and_between() {
        for (below, above, expected) in [
            (&b"abc"[..], &b"abd"[..], &b"abd"[..]),
            (b"a", b"zebra", b"z"),
            (b"", b"x", b"x"),
            (b"ab", b"abc", b"abc"),
        ] {
            let found = separator(below, above);
            assert_eq!(found, expected);
            assert!(below < found && found <= above);
        }
    }
}
