//! [`ColumnFill`]: copies the rows of a table into a shape with one more column. The values come from the caller, row by row, and
//! nothing is borrowed while the caller computes them: an expression may read tables, this one among them.

use std::sync::Arc;

use types::{SqlError, SqlType, Value};

use super::new::NewColumn;
use super::restructure::Rebuild;
use crate::database::Database;
use crate::db_transaction::DbTransaction;
use crate::error::SqlResult;
use crate::table::{Builder, Cursor, ScanOptions, Table};

/// ALTER TABLE ADD of one column, in progress: `next_row` and `put` for each row, then `finish`. If it is dropped before,
/// its statement must be rolled back.
pub struct ColumnFill {
    database: Arc<Database>,
    rebuild: Rebuild,
    cursor: Cursor,
    target: Table,
    builder: Builder,
    identity: Option<Counting>,
}

/// The values of a new identity column.
struct Counting {
    /// None when the 64-bit range is used up.
    next: Option<i128>,
    increment: i128,
    sql_type: SqlType,
    /// The last assigned value.
    last: Option<Value>,
}

impl Counting {
    fn take(&mut self) -> SqlResult<Value> {
        let overflow = || SqlError::new(8115, &[&"IDENTITY", &self.sql_type.name()]);
        let number = self.next.ok_or_else(overflow)?;
        let value = crate::identity::value_of(number, &self.sql_type)?;
        self.next = number.checked_add(self.increment);
        self.last = Some(value.clone());
        Ok(value)
    }
}

impl ColumnFill {
    pub(super) fn begin(
        database: &Arc<Database>,
        txn: &DbTransaction,
        rebuild: Rebuild,
        column: &NewColumn,
    ) -> SqlResult<ColumnFill> {
        assert!(rebuild.moves_rows(), "a row with another column has another form");
        let options = ScanOptions { isolation: txn.isolation(), ..ScanOptions::default() };
        let source = database.table(&rebuild.old);
        let identity = column.identity.map(|identity| Counting {
            next: Some(identity.seed),
            increment: identity.increment,
            sql_type: column.sql_type,
            last: None,
        });
        let target = database.unpublished_table(&rebuild.new);
        target.lock_for_write(txn)?;
        Ok(ColumnFill {
            cursor: source.scan(txn, rebuild.old.base().index_id, &options, None)?,
            builder: Builder::new(txn, &target, &rebuild.fresh),
            target,
            identity,
            database: database.clone(),
            rebuild,
        })
    }

    /// The next row of the old shape; false after the last.
    ///
    /// # Errors
    /// 1205, 1222, those of storage.
    pub fn next_row(&mut self, txn: &DbTransaction, row: &mut Vec<Value>) -> SqlResult<bool> {
        self.cursor.next(txn, row)
    }

    /// Inserts that row into the new shape; `value` is the new column's, unless that is an identity column.
    ///
    /// # Errors
    /// 1505, 8115, those of storage.
    pub fn put(&mut self, txn: &DbTransaction, row: &mut Vec<Value>, value: Value) -> SqlResult<()> {
        assert_eq!(row.len() + 1, self.rebuild.new.columns.len(), "the row lacks the new column alone");
        row.push(match &mut self.identity {
            Some(counting) => counting.take()?,
            None => value,
        });
        self.builder.add_row(txn, row).map_err(|error| self.target.while_building(error))
    }

    /// All rows have been inserted: publishes the table's new shape.
    ///
    /// # Errors
    /// Those of storage.
    pub fn finish(self, txn: &DbTransaction) -> SqlResult<()> {
        self.builder.finish(txn).map_err(|error| self.target.while_building(error))?;
        // The record of an earlier identity column of the table stays when its value is further: a rollback may restore that column.
        if let Some(last) = self.identity.and_then(|counting| counting.last) {
            self.target.note_identity(txn, &last)?;
        }
        self.database.end_rebuild(txn, self.rebuild)
    }
}
