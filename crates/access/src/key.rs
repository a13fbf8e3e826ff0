//! `KeyFormat`: index keys as bytes whose order is the order of the values.
//!
//! Each column is its collation's key; a descending column's bytes are inverted. A non-unique index appends what makes its
//! entries unique: the row's address, or the clustered key (which may end in a uniquifier).

use std::ops::Bound;

use smallvec::SmallVec;
use types::{Collation, Value};

/// Bytes of an index key, at most. Above SQL Server's 900 and 1,700 bytes of column data, because sort keys of character
/// columns are longer than their text.
pub const KEY_BYTES_MAX: usize = 3_600;

/// Bytes of key and value of an index entry together, at most: two fit on a page.
pub const ENTRY_BYTES_MAX: usize = 4_000;

/// One column of an index key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyColumn {
    /// Its collation.
    pub collation: Collation,
    /// Sorted downward.
    pub descending: bool,
}

/// The columns of an index key, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyFormat {
    columns: Vec<KeyColumn>,
}

impl KeyFormat {
    /// The format for these columns.
    pub fn new(columns: Vec<KeyColumn>) -> KeyFormat {
        KeyFormat { columns }
    }

    /// Its columns.
    pub fn columns(&self) -> &[KeyColumn] {
        &self.columns
    }

    /// Appends the common key prefix of all rows whose key column `ordinal` starts with the text `prefix`. Returns false and appends nothing
    /// when the collation has no such prefix.
    pub fn encode_text_prefix(&self, ordinal: usize, prefix: &Value, out: &mut Vec<u8>) -> bool {
        let Some(column) = self.columns.get(ordinal) else { return false };
        let start = out.len();
        let known = column.collation.prefix_key(prefix, out);
        assert!(known || out.len() == start, "a collation that cannot say says nothing");
        if column.descending {
            out[start..].iter_mut().for_each(|byte| *byte = !*byte);
        }
        known
    }

    /// Appends the key of the first columns' values: all of them, or fewer for the prefix of a range.
    pub fn encode<'v>(&self, values: impl IntoIterator<Item = &'v Value>, out: &mut Vec<u8>) {
        for (value, column) in values.into_iter().zip(&self.columns) {
            let start = out.len();
            column.collation.key(value, out);
            debug_assert!(out.len() > start, "every value, NULL too, has a place in the order");
            if column.descending {
                out[start..].iter_mut().for_each(|byte| *byte = !*byte);
            }
        }
    }
}

/// A key that bounds a range. Most are short and a seek makes two of them, so short ones need no heap memory.
pub type KeyBytes = SmallVec<[u8; 32]>;

/// A range of keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    /// Where it begins.
    pub lower: Bound<KeyBytes>,
    /// Where it ends.
    pub upper: Bound<KeyBytes>,
}

impl KeyRange {
    /// Every key.
    pub fn all() -> KeyRange {
        KeyRange { lower: Bound::Unbounded, upper: Bound::Unbounded }
    }

    /// Exactly one key.
    pub fn exactly(key: &[u8]) -> KeyRange {
        KeyRange { lower: Bound::Included(key.into()), upper: Bound::Included(key.into()) }
    }

    /// The key, when the range is exactly one.
    pub(crate) fn only_key(&self) -> Option<&[u8]> {
        match (&self.lower, &self.upper) {
            (Bound::Included(lower), Bound::Included(upper)) if lower == upper => Some(lower),
            _ => None,
        }
    }

    /// Every key that begins with these bytes.
    pub fn prefix(prefix: &[u8]) -> KeyRange {
        let range = KeyRange { lower: Bound::Included(prefix.into()), upper: KeyRange::after_prefix(prefix) };
        debug_assert!(
            range.is_above_lower(prefix) && range.is_below_upper(prefix),
            "the prefix begins with itself"
        );
        range
    }

    /// The bound behind every key that begins with these bytes: `column > value` begins there, `column <= value` ends there.
    pub fn after_prefix(prefix: &[u8]) -> Bound<KeyBytes> {
        let mut end = KeyBytes::from_slice(prefix);
        while let Some(last) = end.pop() {
            if last < u8::MAX {
                end.push(last + 1);
                assert!(end.as_slice() > prefix, "the bound lies behind the prefix");
                return Bound::Excluded(end);
            }
        }
        Bound::Unbounded
    }

    /// [`KeyRange::after_prefix`] as a lower bound: the first key behind the prefix is included.
    pub fn from_after_prefix(prefix: &[u8]) -> Bound<KeyBytes> {
        let key = match KeyRange::after_prefix(prefix) {
            Bound::Excluded(key) => key,
            // No key is behind the prefix: a bound above every key.
            _ => KeyBytes::from_elem(u8::MAX, KEY_BYTES_MAX),
        };
        debug_assert!(
            !key.starts_with(prefix) || key.len() == KEY_BYTES_MAX,
            "the bound lies behind the prefix"
        );
        Bound::Included(key)
    }

    pub(crate) fn is_below_upper(&self, key: &[u8]) -> bool {
        match &self.upper {
            Bound::Included(upper) => key <= upper.as_slice(),
            Bound::Excluded(upper) => key < upper.as_slice(),
            Bound::Unbounded => true,
        }
    }

    pub(crate) fn is_above_lower(&self, key: &[u8]) -> bool {
        match &self.lower {
            Bound::Included(lower) => key >= lower.as_slice(),
            Bound::Excluded(lower) => key > lower.as_slice(),
            Bound::Unbounded => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_range_holds_exactly_what_begins_with_it() {
        let range = KeyRange::prefix(&[7, 0xff]);
        for (key, inside) in
            [(&[7u8, 0xff][..], true), (&[7, 0xff, 0, 1], true), (&[8], false), (&[7, 0xfe, 9], false)]
        {
            assert_eq!(range.is_above_lower(key) && range.is_below_upper(key), inside, "{key:?}");
        }
        assert_eq!(KeyRange::after_prefix(&[0xff, 0xff]), Bound::Unbounded);
    }
}
