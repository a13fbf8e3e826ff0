//! Encoding of a row as the bytes that its table stores.

use std::cell::Cell;

use access::{ROW_BYTES_MAX, UnitId};
use types::Value;

use super::{RowLocator, Table};
use crate::db_transaction::DbTransaction;
use crate::error::SqlResult;

thread_local! {
    /// The buffer of the last stored row, reused for the next one: a loop that inserts or updates single rows allocates none.
    static SPARE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// A larger buffer is not kept.
const SPARE_BYTES_MAX: usize = 8192;

/// Keeps the buffer of a stored row.
#[inline]
pub(super) fn give_back(mut image: Vec<u8>) {
    if image.capacity() <= SPARE_BYTES_MAX {
        image.clear();
        SPARE.set(image);
    }
}

impl Table {
    /// The row as bytes; long values go out of row.
    #[inline]
    pub(super) fn encode(&self, txn: &DbTransaction, row: &[Value]) -> SqlResult<Vec<u8>> {
        let mut bytes = SPARE.take();
        // Large enough for most rows.
        bytes.reserve(64);
        self.encode_into(txn, row, &mut bytes)?;
        Ok(bytes)
    }

    /// Appends the row as bytes.
    #[inline]
    pub(super) fn encode_into(
        &self,
        txn: &DbTransaction,
        row: &[Value],
        bytes: &mut Vec<u8>,
    ) -> SqlResult<()> {
        assert_eq!(row.len(), self.inner.definition.columns.len(), "one value a column");
        let unit = UnitId(self.inner.definition.base().unit);
        let access = &self.inner.database.access;
        let encoded = self
            .inner
            .format
            .encode(row, ROW_BYTES_MAX, bytes, &mut |value| access.store_lob(txn.inner(), unit, value));
        encoded.map_err(|error| self.fail(txn, error))
    }

    /// Inserts the row into the heap or the clustered index.
    pub(super) fn insert_base(&self, txn: &DbTransaction, row: &[Value]) -> SqlResult<RowLocator> {
        let image = self.encode(txn, row)?;
        let inserted = self.insert_image(txn, row, &image);
        if inserted.is_err() && self.inner.definition.base().settings.ignore_dup_key {
            self.free_large_values_of(txn, &image)?;
        }
        give_back(image);
        if inserted.is_ok() {
            self.note_rows(txn, 1);
        }
        inserted
    }

    /// Frees the out-of-row values of a row that was not stored: the statement continues without it.
    fn free_large_values_of(&self, txn: &DbTransaction, image: &[u8]) -> SqlResult<()> {
        let (access, format) = (&self.inner.database.access, &self.inner.format);
        if !format.may_have_lobs() {
            return Ok(());
        }
        access.free_row_lobs(txn.inner(), format, image).map_err(|error| self.fail(txn, error))
    }
}
