//! DBCC CHECKIDENT: compares an identity column's current value with its rows, and reseeds it.

use std::sync::Arc;

use engine::{Database, TableDef};
use executor::scan_all;
use plan_ir::exec_context::ExecContext;
use plan_ir::runtime::Runtime;
use plan_ir::table::TableSource;
use types::SqlError;

use super::subject::with_transaction;

/// The variant of DBCC CHECKIDENT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdentityCheck {
    /// NORESEED.
    Look,
    /// RESEED: to the value, or to the column's extreme value if the current identity value is behind it.
    Reseed(Option<i128>),
}

/// Checks and reseeds as requested; returns the message (7998, with the previous state).
///
/// # Errors
/// 7997 for a table without an identity column, 8115 for a value that its type cannot hold; those of storage.
pub fn check_identity(
    context: &mut ExecContext<'_>,
    database: &Arc<Database>,
    table: &Arc<TableDef>,
    check: IdentityCheck,
) -> Result<SqlError, SqlError> {
    let ordinal = table.identity_ordinal().ok_or_else(|| SqlError::new(7997, &[&table.name]))?;
    let column = &table.columns[ordinal];
    let increment = column.identity.map_or(1, |identity| identity.increment);
    let source = TableSource::new(database.clone(), table.clone());
    let mut furthest: Option<i128> = None;
    {
        let runtime = Runtime::new(context);
        scan_all(&source, &runtime, &mut |row| {
            let value = engine::identity_number(&row[ordinal]);
            let is_further = |value: i128| match furthest {
                Some(known) if increment > 0 => value > known,
                Some(known) => value < known,
                None => true,
            };
            if let Some(value) = value.filter(|value| is_further(*value)) {
                furthest = Some(value);
            }
            Ok(())
        })?;
    }
    let counted = source.table.last_identity();
    let shown = |number: Option<i128>| number.map_or_else(|| "NULL".to_string(), |number| number.to_string());
    let said = SqlError::new(7998, &[&shown(counted), &shown(furthest)]);
    let is_behind = match (counted, furthest) {
        (Some(counted), Some(furthest)) if increment > 0 => counted < furthest,
        (Some(counted), Some(furthest)) => counted > furthest,
        (None, furthest) => furthest.is_some(),
        (_, None) => false,
    };
    let to = match check {
        IdentityCheck::Look => None,
        IdentityCheck::Reseed(Some(value)) => Some(value),
        IdentityCheck::Reseed(None) => furthest.filter(|_| is_behind),
    };
    if let Some(value) = to {
        engine::identity_value(value, &column.sql_type)?;
        with_transaction(context, database, |transaction| {
            database.reseed_identity(transaction, table, value)
        })?;
    }
    Ok(said)
}
