//! INSERT into a table with IGNORE_DUP_KEY: a row whose key is there is left out.
//!
//! A row is left out when any index that ignores duplicates has its key, whatever its other keys are: those indexes are asked first. Another
//! session may put the key in between the question and the insertion; then what has been put in of the row is taken out again.

use txn::IsolationLevel;
use types::{SqlError, Value};

use super::{Base, RowLocator, ScanOptions, Table, io};
use crate::db_transaction::DbTransaction;
use crate::error::SqlResult;
use crate::schema::{IndexDef, TableDef};

/// What has become of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewRow {
    /// It is in the table.
    Inserted,
    /// Its key was there.
    LeftOut {
        /// SUPPRESS_MESSAGES: nothing is said of it.
        in_silence: bool,
    },
}

impl NewRow {
    fn left_out_by(index: &IndexDef) -> NewRow {
        NewRow::LeftOut { in_silence: index.settings.suppress_dup_key_messages }
    }
}

impl TableDef {
    /// Is there an index in use that ignores duplicates?
    pub fn ignores_duplicates(&self) -> bool {
        self.indexes.iter().any(|index| index.settings.ignore_dup_key && !index.is_disabled)
    }
}

fn is_duplicate(error: &SqlError) -> bool {
    matches!(error.number, 2601 | 2627)
}

impl Table {
    /// Inserts a row unless an index that ignores duplicates has its key.
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

    /// The first index that ignores duplicates and has the row's key already. What another has not committed is waited for.
    fn index_with_key(&self, txn: &DbTransaction, row: &[Value]) -> SqlResult<Option<&IndexDef>> {
        let inner = &self.inner;
        // What is there now decides, whatever the statement's own rows are read at.
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

    /// Takes a row out again that has its entries in the first `entries` nonclustered indexes.
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
