//! A row's entries in nonclustered indexes: encoding, insert, delete.

use access::{Inserted, UnitId};
use smallvec::SmallVec;
use txn::IsolationLevel;
use types::Value;

use super::entry::split_entry;
use super::{RowLocator, ScanOptions, Table};
use crate::db_transaction::DbTransaction;
use crate::error::SqlResult;

impl Table {
    /// Appends a row's entry in a nonclustered index, first the key, then the value; returns the length of the key.
    pub(super) fn entry_into(
        &self,
        txn: &DbTransaction,
        at: usize,
        row: &[Value],
        locator: &RowLocator,
        out: &mut Vec<u8>,
    ) -> SqlResult<usize> {
        locator.with_bytes(|locator| self.entry_of(txn, at, row, locator, out))
    }

    /// Appends it, with the locator in the form of index entries.
    pub(super) fn entry_of(
        &self,
        txn: &DbTransaction,
        at: usize,
        row: &[Value],
        locator: &[u8],
        out: &mut Vec<u8>,
    ) -> SqlResult<usize> {
        let secondary = &self.inner.secondary[at];
        let start = out.len();
        self.entry_key_of(at, row, locator, out);
        let key_bytes = out.len() - start;
        let length = u16::try_from(locator.len()).expect("keys are far shorter than 64 KB");
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(locator);
        let stored: SmallVec<[Value; 4]> =
            secondary.stored.iter().map(|column| row[*column].clone()).collect();
        let unit = UnitId(self.inner.index_of(at).unit);
        let access = &self.inner.database.access;
        let limit = access::ENTRY_BYTES_MAX.saturating_sub(out.len() - start);
        let encoded = secondary
            .format
            .encode(&stored, limit, out, &mut |bytes| access.store_lob(txn.inner(), unit, bytes));
        encoded.map_err(|error| self.fail(txn, error))?;
        Ok(key_bytes)
    }

    pub(super) fn insert_entry(
        &self,
        txn: &DbTransaction,
        at: usize,
        row: &[Value],
        locator: &RowLocator,
    ) -> SqlResult<()> {
        if !self.inner.has_entry_of(at, row) {
            return Ok(());
        }
        let position = self.inner.secondary[at].position;
        self.check_key_length(self.inner.index_of(at), self.inner.may_overflow[position], row)?;
        let mut entry = Vec::with_capacity(64);
        let key_bytes = self.entry_into(txn, at, row, locator, &mut entry)?;
        let (key, value) = entry.split_at(key_bytes);
        let tree = &self.inner.secondary[at].tree;
        match tree.insert(txn.inner(), key, value).map_err(|error| self.fail(txn, error))? {
            Inserted::Done => self.note_entries(txn, at, 1),
            Inserted::Duplicate => {
                if self.inner.index_of(at).settings.ignore_dup_key {
                    self.free_large_values_of_entry(txn, at, value)?;
                }
                return Err(self.duplicate(self.inner.index_of(at), row));
            }
        }
        Ok(())
    }

    pub(super) fn delete_entry(
        &self,
        txn: &DbTransaction,
        at: usize,
        row: &[Value],
        locator: &RowLocator,
    ) -> SqlResult<()> {
        if !self.inner.has_entry_of(at, row) {
            return Ok(());
        }
        let key = self.entry_key(at, row, locator);
        self.delete_entry_at(txn, at, &key, locator)
    }

    pub(super) fn delete_entry_at(
        &self,
        txn: &DbTransaction,
        at: usize,
        key: &[u8],
        locator: &RowLocator,
    ) -> SqlResult<()> {
        self.free_entry_large_values(txn, at, key)?;
        let deleted = self.inner.secondary[at].tree.delete(txn.inner(), key);
        deleted.map_err(|error| self.fail_at_entry(txn, at, locator, error))?;
        self.note_entries(txn, at, -1);
        Ok(())
    }

    /// Frees an entry's out-of-row values: entries have copies of their own.
    pub(super) fn free_entry_large_values(
        &self,
        txn: &DbTransaction,
        at: usize,
        key: &[u8],
    ) -> SqlResult<()> {
        let secondary = &self.inner.secondary[at];
        if !secondary.format.may_have_lobs() {
            return Ok(());
        }
        let mut entry = Vec::new();
        let options = ScanOptions { isolation: IsolationLevel::ReadUncommitted, ..ScanOptions::default() };
        let found = secondary.tree.get(txn.inner(), key, &options, &mut entry);
        found.map_err(|error| self.fail(txn, error))?;
        self.free_large_values_of_entry(txn, at, &entry)
    }

    /// Frees those of an entry's value.
    fn free_large_values_of_entry(&self, txn: &DbTransaction, at: usize, value: &[u8]) -> SqlResult<()> {
        let format = &self.inner.secondary[at].format;
        let Some((_, stored)) = split_entry(value, &self.inner.base) else { return Ok(()) };
        if !format.may_have_lobs() {
            return Ok(());
        }
        let freed = self.inner.database.access.free_row_lobs(txn.inner(), format, stored);
        freed.map_err(|error| self.fail(txn, error))
    }

    pub(super) fn entry_key(&self, at: usize, row: &[Value], locator: &RowLocator) -> Vec<u8> {
        let mut key = Vec::with_capacity(32);
        self.entry_key_into(at, row, locator, &mut key);
        key
    }

    pub(super) fn entry_key_into(&self, at: usize, row: &[Value], locator: &RowLocator, out: &mut Vec<u8>) {
        locator.with_bytes(|locator| self.entry_key_of(at, row, locator, out));
    }

    /// Appends the key, with the locator in the form of index entries.
    pub(super) fn entry_key_of(&self, at: usize, row: &[Value], locator: &[u8], out: &mut Vec<u8>) {
        let index = self.inner.index_of(at);
        self.inner.secondary[at].key.encode(index.key.iter().map(|k| &row[k.ordinal]), out);
        if !index.unique {
            out.extend_from_slice(locator);
        }
    }
}
