//! How a row of a tree page begins: `key length 2 | key | rest`. The rest is the value in a leaf, the child's address (6 bytes) above.
//!
//! The crate that builds trees defines the keys; their ascending order is part of the page format.

use crate::header;
use crate::page_id::PageBytes;
use crate::slots;

/// Bytes before the key.
pub const KEY_LENGTH_BYTES: usize = 2;
/// Bytes of a child's address.
pub const CHILD_BYTES: usize = 6;

/// Key and rest of a row. Never panics: a key length beyond the row is cut off.
#[inline]
pub fn split_row(row: &[u8]) -> (&[u8], &[u8]) {
    let Some((length, rest)) = row.split_first_chunk::<KEY_LENGTH_BYTES>() else { return (&[], &[]) };
    let key_bytes = usize::from(u16::from_le_bytes(*length)).min(rest.len());
    let (key, rest) = rest.split_at(key_bytes);
    debug_assert_eq!(KEY_LENGTH_BYTES + key.len() + rest.len(), row.len(), "all of the row");
    (key, rest)
}

/// Has every row of a tree page enough bytes and a key, and do the keys ascend? The first key of an interior page stands for everything
/// below the second key and is not compared. Header and slots were checked before.
pub(crate) fn verify(page: &PageBytes) -> Result<(), String> {
    let (count, is_interior) = (header::slot_count(page), header::level(page) > 0);
    let mut before: Option<&[u8]> = None;
    for slot in 0..count {
        let row = slots::row(page, slot).unwrap_or_default();
        let (key, rest) = split_row(row);
        let promised = row.first_chunk::<KEY_LENGTH_BYTES>().map(|length| u16::from_le_bytes(*length));
        if promised.map(usize::from) != Some(key.len()) {
            return Err(format!("slot {slot}: {} bytes are less than their key", row.len()));
        }
        if is_interior && rest.len() < CHILD_BYTES {
            return Err(format!("slot {slot} names no child"));
        }
        let says_nothing = is_interior && slot == 0;
        if key.is_empty() && !says_nothing {
            return Err(format!("slot {slot} has no key"));
        }
        if before.is_some_and(|before| before >= key) {
            return Err(format!("the key of slot {slot} is out of order"));
        }
        before = (!says_nothing).then_some(key);
    }
    Ok(())
}
