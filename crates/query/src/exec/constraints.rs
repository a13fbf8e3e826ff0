//! CHECK, computed columns and FOREIGN KEY of a table, compiled once a statement.

use std::sync::Arc;

use engine::{KeyRange, ScanOptions};
use rustc_hash::FxHashSet;
use types::{SqlError, Value};

use super::Row;
use crate::expr::program::{BoolNode, Node};
use crate::expr::runtime::Runtime;
use crate::plan::table::TableSource;

/// What rows of a table must satisfy.
#[derive(Debug, Default)]
pub(crate) struct Constraints {
    pub(crate) checks: Vec<Check>,
    /// Computed columns: position and program over the row itself.
    pub(crate) computed: Vec<(usize, Node)>,
    /// Keys of other tables that must exist.
    pub(crate) references: Vec<Reference>,
    /// Rows of other tables that must not be left without their key.
    pub(crate) referenced_by: Vec<Reference>,
}

/// A CHECK constraint.
#[derive(Debug)]
pub(crate) struct Check {
    pub(crate) name: String,
    pub(crate) predicate: BoolNode,
    /// The column, when the predicate reads only one.
    pub(crate) column: Option<String>,
}

/// A foreign key seen from one side.
#[derive(Debug)]
pub(crate) struct Reference {
    pub(crate) name: String,
    /// Columns here.
    pub(crate) columns: Vec<usize>,
    pub(crate) other: Arc<TableSource>,
    /// Columns there, in the same order.
    pub(crate) other_columns: Vec<usize>,
    /// Index there whose key starts with these columns.
    pub(crate) other_index: Option<i32>,
}

impl Constraints {
    /// Fills the computed columns.
    pub(crate) fn compute(&self, runtime: &Runtime<'_>, row: &mut Row) -> Result<(), SqlError> {
        for (ordinal, node) in &self.computed {
            let value = node.eval(runtime, row)?;
            row[*ordinal] = value;
        }
        Ok(())
    }

    /// Error 547 when the row breaks a CHECK or refers to a key that does not exist.
    pub(crate) fn check(
        &self,
        runtime: &Runtime<'_>,
        source: &TableSource,
        row: &Row,
        verb: &str,
    ) -> Result<(), SqlError> {
        self.check_row(runtime, source, row, verb)?;
        self.check_references(runtime, source, row, verb)
    }

    /// Error 547 when the row breaks a CHECK.
    pub(crate) fn check_row(
        &self,
        runtime: &Runtime<'_>,
        source: &TableSource,
        row: &Row,
        verb: &str,
    ) -> Result<(), SqlError> {
        for check in &self.checks {
            if check.predicate.test(runtime, row)? == Some(false) {
                return Err(crate::errors::constraint_conflict(
                    verb,
                    "CHECK",
                    &check.name,
                    source.database.name(),
                    &source.two_part_name(),
                    check.column.as_deref(),
                ));
            }
        }
        Ok(())
    }

    /// Error 547 when the row refers to a key that does not exist.
    pub(crate) fn check_references(
        &self,
        runtime: &Runtime<'_>,
        source: &TableSource,
        row: &Row,
        verb: &str,
    ) -> Result<(), SqlError> {
        for reference in &self.references {
            let key: Vec<Value> = reference.columns.iter().map(|ordinal| row[*ordinal].clone()).collect();
            if key.iter().any(Value::is_null) || same_row_has_key(reference, source, row, &key) {
                continue;
            }
            if !reference.exists(runtime, &key)? {
                return Err(reference.conflict(verb, "FOREIGN KEY"));
            }
        }
        Ok(())
    }

    /// Error 547 when a row that is deleted is still referred to.
    pub(crate) fn check_unreferenced(
        &self,
        runtime: &Runtime<'_>,
        old: &Row,
        verb: &str,
    ) -> Result<(), SqlError> {
        self.referenced_by.iter().try_for_each(|reference| reference.check_gone(runtime, old, verb))
    }

    /// The same for rows that have been changed, `(old, new)` each: a key that one of them had and none has now must not be referred to.
    pub(crate) fn check_unreferenced_changes<'r>(
        &self,
        runtime: &Runtime<'_>,
        source: &TableSource,
        changes: impl Iterator<Item = (&'r Row, &'r Row)> + Clone,
        verb: &str,
    ) -> Result<(), SqlError> {
        for reference in &self.referenced_by {
            let key = |row: &Row| {
                let mut key = Vec::new();
                for ordinal in &reference.columns {
                    super::keys::write_value(
                        &row[*ordinal],
                        source.def.columns[*ordinal].collation,
                        &mut key,
                    );
                }
                key
            };
            let moved = || changes.clone().filter(|(old, new)| key(old) != key(new));
            let now: FxHashSet<Vec<u8>> = moved().map(|(_, new)| key(new)).collect();
            for (old, _) in moved().filter(|(old, _)| !now.contains(&key(old))) {
                reference.check_gone(runtime, old, verb)?;
            }
        }
        Ok(())
    }
}

/// A row may refer to itself.
fn same_row_has_key(reference: &Reference, source: &TableSource, row: &Row, key: &[Value]) -> bool {
    reference.other.def.object_id == source.def.object_id
        && Arc::ptr_eq(&reference.other.database, &source.database)
        && reference.other_columns.iter().zip(key).all(|(ordinal, value)| {
            types::sort_compare(&row[*ordinal], value, types::Collation::default()).is_eq()
        })
}

impl Reference {
    /// Error 547 when the other side still names the key of a row that is no more.
    fn check_gone(&self, runtime: &Runtime<'_>, old: &Row, verb: &str) -> Result<(), SqlError> {
        let key: Vec<Value> = self.columns.iter().map(|ordinal| old[*ordinal].clone()).collect();
        if !key.iter().any(Value::is_null) && self.exists(runtime, &key)? {
            return Err(self.conflict(verb, "REFERENCE"));
        }
        Ok(())
    }

    /// Is there a row with the key on the other side?
    fn exists(&self, runtime: &Runtime<'_>, key: &[Value]) -> Result<bool, SqlError> {
        let mut transactions = runtime.transactions.borrow_mut();
        let transaction = transactions.in_database(&self.other.database, runtime.options.isolation)?;
        let options = ScanOptions { isolation: runtime.options.isolation, ..ScanOptions::default() };
        let mut row = Row::new();
        let mut cursor = match self.other_index {
            Some(index) => {
                let range = KeyRange::equal(key.to_vec());
                self.other.table.seek(transaction, index, &range, &options, None)?
            }
            None => self.other.table.scan(transaction, self.other.def.base().index_id, &options, None)?,
        };
        while cursor.next(transaction, &mut row)? {
            let collation = |ordinal: usize| self.other.def.columns[ordinal].collation;
            if self.other_columns.iter().zip(key).all(|(ordinal, value)| {
                types::sort_compare(&row[*ordinal], value, collation(*ordinal)).is_eq()
            }) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn conflict(&self, verb: &str, kind: &str) -> SqlError {
        let column = match (self.other_columns.as_slice(), kind) {
            ([one], _) => Some(self.other.def.columns[*one].name.to_string()),
            _ => None,
        };
        crate::errors::constraint_conflict(
            verb,
            kind,
            &self.name,
            self.other.database.name(),
            &self.other.two_part_name(),
            column.as_deref(),
        )
    }
}
