//! Entries of nonclustered indexes: the locator of the row, then the stored columns.

use access::Rid;
use types::SqlError;

use super::{Base, RowLocator, ScanOptions, Secondary, Table};
use crate::error::SqlResult;

/// A check of rows that are read after their index entries: has the row still the entry's key? A row whose key has
/// changed since has another entry in the index. If it were emitted here, rows would come out of order, and some twice.
pub(crate) struct EntryKey {
    /// The index, by position among the table's nonclustered ones.
    at: usize,
    /// The columns of its key, by their positions in entries and in rows.
    places: Box<[(usize, usize)]>,
}

impl EntryKey {
    /// The check for an index; `None` for a snapshot reader, which sees row and entry at the same time.
    pub(super) fn new(table: &Table, at: usize, options: &ScanOptions) -> Option<EntryKey> {
        if options.snapshot.is_some() {
            return None;
        }
        let secondary = &table.inner.secondary[at];
        let columns = table.inner.index_of(at).key.iter().map(|column| column.ordinal);
        let place_of = |column| secondary.place_of(column).expect("entries have the columns of their key");
        Some(EntryKey { at, places: columns.map(|column| (place_of(column), column)).collect() })
    }

    /// Have a row and an entry the same key bytes?
    #[inline]
    pub(super) fn is_same(&self, table: &Table, stored: &[u8], row: &[u8]) -> bool {
        let (entries, rows) = (&table.inner.secondary[self.at].format, &table.inner.format);
        let (Ok(stored), Ok(row)) = (entries.view(stored), rows.view(row)) else { return false };
        self.places.iter().all(|(place, column)| stored.has_same_bytes(*place, &row, *column))
    }

    /// Compares keys that may be equal with different bytes, or are partly out of row.
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

/// Splits an index entry's value into locator and stored columns.
pub(crate) fn split_entry<'a>(value: &'a [u8], base: &Base) -> Option<(RowLocator, &'a [u8])> {
    let (locator, stored) = split_entry_bytes(value)?;
    match base {
        Base::Heap(_) => Some((RowLocator::Heap(Rid::from_bytes(locator)?), stored)),
        Base::Tree(_) => Some((RowLocator::Key(locator.into()), stored)),
    }
}

/// Splits it, with the locator as bytes.
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
