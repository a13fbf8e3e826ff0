//! CHECK, computed columns and FOREIGN KEY of a table, compiled once per statement.

use plan_ir::foreign_key::Reference;
use plan_ir::physical::change::{Check, Constraints};
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

    /// Error 547 when the row breaks a CHECK, 550 when it is no row of a view WITH CHECK OPTION. A CHECK that calls a function waits for
    /// `check_deferred`.
    fn check_row(
        &self,
        runtime: &Runtime<'_>,
        source: &TableSource,
        row: &Row,
        verb: &str,
    ) -> Result<(), SqlError>;

    /// The same for a row that stands in its table: nothing waits.
    fn check_row_now(
        &self,
        runtime: &Runtime<'_>,
        source: &TableSource,
        row: &Row,
        verb: &str,
    ) -> Result<(), SqlError>;

    /// All rows of the statement stand in their table: tests the CHECKs that have waited. Error 547.
    fn check_deferred(&self, runtime: &Runtime<'_>, source: &TableSource, verb: &str)
    -> Result<(), SqlError>;

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
            match check.calls_function {
                true => runtime.defer_check(check, row),
                false => test_check(check, runtime, source, row, verb)?,
            }
        }
        test_view_checks(self, runtime, row)
    }

    fn check_row_now(
        &self,
        runtime: &Runtime<'_>,
        source: &TableSource,
        row: &Row,
        verb: &str,
    ) -> Result<(), SqlError> {
        self.checks.iter().try_for_each(|check| test_check(check, runtime, source, row, verb))?;
        test_view_checks(self, runtime, row)
    }

    fn check_deferred(
        &self,
        runtime: &Runtime<'_>,
        source: &TableSource,
        verb: &str,
    ) -> Result<(), SqlError> {
        for check in self.checks.iter().filter(|check| check.calls_function) {
            for row in runtime.take_deferred(check) {
                runtime.check_cancelled()?;
                test_check(check, runtime, source, &row, verb)?;
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

/// Error 550. Unlike a CHECK, a view shows no row for which its condition is unknown.
#[inline]
fn test_view_checks(constraints: &Constraints, runtime: &Runtime<'_>, row: &Row) -> Result<(), SqlError> {
    for condition in &constraints.view_checks {
        if !condition.is_true(runtime, row)? {
            return Err(SqlError::new(550, &[]));
        }
    }
    Ok(())
}

/// Error 547 when the row breaks the CHECK.
fn test_check(
    check: &Check,
    runtime: &Runtime<'_>,
    source: &TableSource,
    row: &Row,
    verb: &str,
) -> Result<(), SqlError> {
    if check.predicate.test(runtime, row)? != Some(false) {
        return Ok(());
    }
    let (database, table) = (source.database.name(), source.two_part_name());
    let column = check.column.as_deref();
    Err(plan_ir::errors::constraint_conflict(verb, "CHECK", &check.name, database, &table, column))
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
