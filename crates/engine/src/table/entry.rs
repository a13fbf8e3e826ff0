//! Entries of nonclustered indexes: the locator of the row, then the columns that the index can answer for.

use access::Rid;
use types::SqlError;

use super::{Base, RowLocator, ScanOptions, Secondary, Table};
use crate::error::SqlResult;

/// What is asked of rows beside their conditions when they are read after the entries that lead to them: has the row the entry's key, still? One that has
/// got another key since stands elsewhere in the index. Were it handed up here, rows would come out of order, and groups twice.
pub(crate) struct EntryKey {
    /// Which of the table's nonclustered indexes.
    at: usize,
    /// The columns of its key, by their places in entries and in rows.
    places: Box<[(usize, usize)]>,
}

impl EntryKey {
    /// That of an index; `None` where rows are seen as they were when the entry was seen.
    pub(super) fn new(table: &Table, at: usize, options: &ScanOptions) -> Option<EntryKey> {
        if options.snapshot.is_some() {
            return None;
        }
        let secondary = &table.inner.secondary[at];
        let columns = table.inner.index_of(at).key.iter().map(|column| column.ordinal);
        let place_of = |column| secondary.place_of(column).expect("entries have the columns of their key");
        Some(EntryKey { at, places: columns.map(|column| (place_of(column), column)).collect() })
    }

    /// Have a row and an entry's columns the key in the same bytes?
    #[inline]
    pub(super) fn is_same(&self, table: &Table, stored: &[u8], row: &[u8]) -> bool {
        let (entries, rows) = (&table.inner.secondary[self.at].format, &table.inner.format);
        let (Ok(stored), Ok(row)) = (entries.view(stored), rows.view(row)) else { return false };
        self.places.iter().all(|(place, column)| stored.has_same_bytes(*place, &row, *column))
    }

    /// The same of keys that may be equal in other bytes, or partly lie elsewhere.
    pub(super) fn is_equal(
        &self,
        table: &Table,
        stored: &[u8],
        row: &[u8],
        options: &ScanOptions,
    ) -> SqlResult<bool> {
        if self.is_same(table, stored, row) {
            return Ok(true);
        }
        let Secondary { format, key, .. } = &table.inner.secondary[self.at];
        let access = &table.inner.database.access;
        let (mut values, mut keys) = (Vec::new(), [Vec::new(), Vec::new()]);
        let decoded =
            access.decode_columns(format, stored, self.places.iter().map(|place| place.0), &mut values);
        decoded.map_err(|error| table.fail_reading(options, error))?;
        key.encode(&values, &mut keys[0]);
        values.clear();
        let columns = self.places.iter().map(|place| place.1);
        let decoded = access.decode_columns(&table.inner.format, row, columns, &mut values);
        decoded.map_err(|error| table.fail_reading(options, error))?;
        key.encode(&values, &mut keys[1]);
        Ok(keys[0] == keys[1])
    }
}

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
