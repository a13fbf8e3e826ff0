//! The errors of failed operations on a table.

use access::AccessError;
use txn::{IsolationLevel, TxnError};
use types::SqlError;

use super::{RowLocator, RowLock, ScanOptions, Table};
use crate::db_transaction::DbTransaction;
use crate::read_point::error_of;

impl Table {
    pub(crate) fn fail(&self, txn: &DbTransaction, error: AccessError) -> SqlError {
        let table = &self.inner.definition;
        if let Some(told) = error_of(txn, &error, &table.name, self.inner.database.name()) {
            return told;
        }
        match error {
            AccessError::RowTooLarge { bytes, limit } => SqlError::new(511, &[&bytes, &limit]),
            AccessError::KeyTooLarge { bytes } => {
                SqlError::new(1946, &[&bytes, &table.name, &access::KEY_BYTES_MAX, &"B-tree"])
            }
            AccessError::RowGone => SqlError::new(601, &[]),
            other => txn.sql_error(&other.into()),
        }
    }

    /// The error of a failed read of a row's values, which takes no lock. A large value that is not where its row says is a concurrent
    /// change for a reader without locks (601), and damage for a reader that has locked the row (824).
    pub(crate) fn fail_reading(&self, options: &ScanOptions, error: AccessError) -> SqlError {
        if options.snapshot.is_some() && matches!(error, AccessError::RowGone) {
            // Freed with the snapshot for which it was kept.
            return SqlError::new(3966, &[]);
        }
        let is_dirty_read =
            options.isolation == IsolationLevel::ReadUncommitted && options.row_lock == RowLock::Shared;
        let error = match error {
            AccessError::RowGone if is_dirty_read => return SqlError::new(601, &[]),
            AccessError::RowGone => {
                let table = &self.inner.definition.name;
                TxnError::Corrupt { what: format!("a large value of '{table}' is not where its row says") }
            }
            other => other.into(),
        };
        crate::error::sql_error(&error, self.inner.database.name(), 0)
    }

    /// A missing entry belongs to a deleted row (601), or the index is damaged (8646).
    pub(super) fn fail_at_entry(
        &self,
        txn: &DbTransaction,
        at: usize,
        locator: &RowLocator,
        error: AccessError,
    ) -> SqlError {
        let look = ScanOptions { isolation: IsolationLevel::ReadUncommitted, ..ScanOptions::default() };
        let is_missing = matches!(error, AccessError::RowGone)
            && self.fetch(txn, locator, &look, &mut Vec::new()).unwrap_or(true);
        if !is_missing {
            return self.fail(txn, error);
        }
        let index = self.inner.index_of(at).index_id;
        SqlError::new(8646, &[&index, &self.inner.definition.object_id, &self.inner.database.name()])
    }
}
