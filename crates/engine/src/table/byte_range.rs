//! Ranges of values as ranges of key bytes.

use std::ops::Bound;

use access::KeyFormat;

use super::{KeyRange, KeyValues};
use crate::schema::IndexDef;

/// A range of values as a range of key bytes. Where the last bounded column is DESC, greater values come first.
pub(crate) fn byte_range(format: &KeyFormat, index: &IndexDef, range: &KeyRange) -> access::KeyRange {
    if let (true, None, Bound::Included(lower), Bound::Included(upper)) =
        (index.unique, &range.text_prefix, &range.lower, &range.upper)
        && lower.len() == index.key.len()
        && upper.len() == lower.len()
    {
        // Every column of a unique key: at most one entry, if both bounds are equal.
        let mut key = Vec::with_capacity(32);
        format.encode(lower, &mut key);
        let middle = key.len();
        format.encode(upper, &mut key);
        if key[..middle] == key[middle..] {
            return access::KeyRange::exactly(&key[middle..]);
        }
    }
    let columns = |bound: &Bound<KeyValues>| match bound {
        Bound::Included(values) | Bound::Excluded(values) => values.len(),
        Bound::Unbounded => 0,
    };
    let last = columns(&range.lower).max(columns(&range.upper));
    let descending = last > 0 && index.key.get(last - 1).is_some_and(|k| k.descending);
    let (first, end) = if descending { (&range.upper, &range.lower) } else { (&range.lower, &range.upper) };
    let encode = |values: &KeyValues| {
        let mut key = Vec::with_capacity(32);
        format.encode(values, &mut key);
        key
    };
    if let Some(prefix) = &range.text_prefix {
        let mut key = match &range.lower {
            Bound::Included(values) | Bound::Excluded(values) => encode(values),
            Bound::Unbounded => Vec::with_capacity(32),
        };
        if format.encode_text_prefix(columns(&range.lower), prefix, &mut key) {
            return access::KeyRange::prefix(&key);
        }
    }
    let lower = match first {
        Bound::Unbounded => Bound::Unbounded,
        Bound::Included(values) => Bound::Included(encode(values).into()),
        Bound::Excluded(values) => access::KeyRange::from_after_prefix(&encode(values)),
    };
    let upper = match end {
        Bound::Unbounded => Bound::Unbounded,
        Bound::Included(values) => access::KeyRange::after_prefix(&encode(values)),
        Bound::Excluded(values) => Bound::Excluded(encode(values).into()),
    };
    access::KeyRange { lower, upper }
}
