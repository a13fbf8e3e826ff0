//! Entries of nonclustered indexes: the locator of the row, then the columns that the index can answer for.

use access::Rid;
use types::SqlError;

use super::{Base, RowLocator};

/// Locator and stored columns of an index entry's value.
pub(crate) fn split_entry<'a>(value: &'a [u8], base: &Base) -> Option<(RowLocator, &'a [u8])> {
    let (locator, stored) = split_entry_bytes(value)?;
    match base {
        Base::Heap(_) => Some((RowLocator::Heap(Rid::from_bytes(locator)?), stored)),
        Base::Tree(_) => Some((RowLocator::Key(locator.into()), stored)),
    }
}

/// The same, the locator as bytes.
pub(super) fn split_entry_bytes(value: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = value.split_first_chunk::<2>()?;
    rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))
}

pub(super) fn damaged() -> SqlError {
    SqlError::custom(
        824,
        24,
        2,
        "The server found a logical consistency error: an index entry is damaged. Run DBCC CHECKDB.".into(),
    )
}
