//! INSERT into a table with IGNORE_DUP_KEY: a row with an existing key is skipped.
//!
//! A row is skipped when any index with IGNORE_DUP_KEY has its key, whatever its other keys are: those indexes are checked first. Another
//! session may insert the key between the check and the insert; then the inserted parts of the row are deleted again.

use txn::IsolationLevel;
use types::{SqlError, Value};

use super::{Base, RowLocator, ScanOptions, Table, io};
use crate::db_transaction::DbTransaction;
use crate::error::SqlResult;
use crate::schema::{IndexDef, TableDef};

/// The outcome for a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewRow {
    /// It was inserted.
    Inserted,
    /// Its key existed.
    LeftOut {
        /// SUPPRESS_MESSAGES: no message.
        in_silence: bool,
    },
}

impl NewRow {
    fn left_out_by(index: &IndexDef) -> NewRow {
        NewRow::LeftOut { in_silence: index.settings.suppress_dup_key_messages }
    }
}

impl TableDef {
    /// Is there an enabled index with IGNORE_DUP_KEY?
    pub fn ignores_duplicates(&self) -> bool {
        self.indexes.iter().any(|index| index.settings.ignore_dup_key && !index.is_disabled)
    }
}

fn is_duplicate(error: &SqlError) -> bool {
    matches!(error.number, 2601 | 2627)
}

impl Table {
    /// Inserts a row unless an index with IGNORE_DUP_KEY has its key.
    ///
    /// # Errors
    /// As `insert`, of the other indexes.
    pub fn insert_new(&self, txn: &DbTransaction, row: &[Value]) -> SqlResult<NewRow> {
        let _charge = io::charge(&self.inner.definition, 0);
        self.lock_for_write(txn)?;
        if let Some(index) = self.index_with_key(txn, row)? {
            return Ok(NewRow::left_out_by(index));
        }
        let base = self.inner.definition.base();
        let locator = match self.insert_base(txn, row) {
            Ok(locator) => locator,
            Err(error) if base.settings.ignore_dup_key && is_duplicate(&error) => {
                return Ok(NewRow::left_out_by(base));
            }
            Err(error) => return Err(error),
        };
        for at in 0..self.inner.secondary.len() {
            let index = self.inner.index_of(at);
            match self.insert_entry(txn, at, row, &locator) {
                Ok(()) => {}
                Err(error) if index.settings.ignore_dup_key && is_duplicate(&error) => {
                    self.take_back(txn, row, &locator, at)?;
                    return Ok(NewRow::left_out_by(index));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(NewRow::Inserted)
    }

    /// The first index with IGNORE_DUP_KEY that has the row's key already. Waits for uncommitted keys of other transactions.
    fn index_with_key(&self, txn: &DbTransaction, row: &[Value]) -> SqlResult<Option<&IndexDef>> {
        let inner = &self.inner;
        // The present state decides, whatever the isolation level of the statement.
        let isolation = IsolationLevel::ReadCommitted;
        let options = ScanOptions { isolation, ..ScanOptions::default() };
        let mut found = Vec::new();
        let base = inner.definition.base();
        if let (true, Base::Tree(tree)) = (base.settings.ignore_dup_key, &inner.base) {
            self.check_key_length(base, inner.may_overflow[0], row)?;
            let key = self.clustered_key(row, true);
            if tree.get(txn.inner(), &key, &options, &mut found).map_err(|error| self.fail(txn, error))? {
                return Ok(Some(base));
            }
        }
        for (at, secondary) in inner.secondary.iter().enumerate() {
            let index = inner.index_of(at);
            if !index.settings.ignore_dup_key {
                continue;
            }
            assert!(index.unique && index.filter.is_none(), "only such an index may ignore duplicates");
            self.check_key_length(index, inner.may_overflow[secondary.position], row)?;
            let mut key = Vec::with_capacity(32);
            self.entry_key_of(at, row, &[], &mut key);
            found.clear();
            let there = secondary.tree.get(txn.inner(), &key, &options, &mut found);
            if there.map_err(|error| self.fail(txn, error))? {
                return Ok(Some(index));
            }
        }
        Ok(None)
    }

    /// Deletes a row that has its entries in the first `entries` nonclustered indexes.
    fn take_back(
        &self,
        txn: &DbTransaction,
        row: &[Value],
        locator: &RowLocator,
        entries: usize,
    ) -> SqlResult<()> {
        (0..entries).try_for_each(|at| self.delete_entry(txn, at, row, locator))?;
        self.delete_base(txn, locator)
    }
}
