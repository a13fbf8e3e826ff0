//! CHECK, computed columns and FOREIGN KEY of a table, compiled once per statement.

use plan_ir::foreign_key::Reference;
use plan_ir::physical::change::Constraints;
use plan_ir::row::Row;
use plan_ir::runtime::Runtime;
use plan_ir::table::TableSource;
use types::{SqlError, Value};

use super::operations::{Evaluate, Test};
use super::references::FindKeys;

/// Checks constraints on a row.
pub trait CheckRows {
    /// Fills the computed columns.
    fn compute(&self, runtime: &Runtime<'_>, row: &mut Row) -> Result<(), SqlError>;

    /// Error 547 when the row breaks a CHECK, 550 when it is no row of a view WITH CHECK OPTION.
    fn check_row(
        &self,
        runtime: &Runtime<'_>,
        source: &TableSource,
        row: &Row,
        verb: &str,
    ) -> Result<(), SqlError>;

    /// Error 547 when a row that stands in its table refers to a key that does not exist. Gives the keys of `later` that the table itself
    /// does not have yet: another row of the statement may bring them.
    fn check_references<'p>(
        &'p self,
        runtime: &Runtime<'_>,
        row: &[Value],
        verb: &str,
        later: &mut Vec<(&'p Reference, Row)>,
    ) -> Result<(), SqlError>;
}

impl CheckRows for Constraints {
    #[inline]
    fn compute(&self, runtime: &Runtime<'_>, row: &mut Row) -> Result<(), SqlError> {
        for (ordinal, node) in &self.computed {
            let value = node.eval(runtime, row)?;
            row[*ordinal] = value;
        }
        Ok(())
    }

    #[inline]
    fn check_row(
        &self,
        runtime: &Runtime<'_>,
        source: &TableSource,
        row: &Row,
        verb: &str,
    ) -> Result<(), SqlError> {
        for check in &self.checks {
            if check.predicate.test(runtime, row)? == Some(false) {
                return Err(plan_ir::errors::constraint_conflict(
                    verb,
                    "CHECK",
                    &check.name,
                    source.database.name(),
                    &source.two_part_name(),
                    check.column.as_deref(),
                ));
            }
        }
        // Unlike a CHECK, a view shows no row for which its condition is unknown.
        for condition in &self.view_checks {
            if !condition.is_true(runtime, row)? {
                return Err(SqlError::new(550, &[]));
            }
        }
        Ok(())
    }

    fn check_references<'p>(
        &'p self,
        runtime: &Runtime<'_>,
        row: &[Value],
        verb: &str,
        later: &mut Vec<(&'p Reference, Row)>,
    ) -> Result<(), SqlError> {
        for reference in &self.references {
            let Some(key) = reference.own_key(row) else { continue };
            if reference.is_satisfied_by_itself(row, &key) || reference.there.exists(runtime, &key)? {
                continue;
            }
            if !reference.is_self {
                return Err(reference.conflict(verb, false));
            }
            later.push((reference, key));
        }
        Ok(())
    }
}

/// Looks once more at the keys that `check_references` has put off, when all rows stand.
pub(crate) fn check_later(
    later: &[(&Reference, Row)],
    runtime: &Runtime<'_>,
    verb: &str,
) -> Result<(), SqlError> {
    for (reference, key) in later {
        if !reference.there.exists(runtime, key)? {
            return Err(reference.conflict(verb, false));
        }
    }
    Ok(())
}
