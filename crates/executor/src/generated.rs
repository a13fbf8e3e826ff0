//! Values that the engine generates for new rows: identity and rowversion.

use plan_ir::row::row_version;
use plan_ir::runtime::Runtime;
use plan_ir::table::TableSource;
use types::{SqlError, Value};

/// The next identity value in the column's type. Error 8115 when the type is used up.
pub fn next_identity(runtime: &Runtime<'_>, source: &TableSource) -> Result<Value, SqlError> {
    let mut transactions = runtime.transactions.borrow_mut();
    let transaction = transactions.for_table(&source.table, runtime.options.isolation)?;
    let value = source.table.next_identity(transaction)?;
    runtime.note_identity(value.clone());
    Ok(value)
}

/// A new rowversion value of the table's database.
pub(crate) fn next_row_version(runtime: &Runtime<'_>, source: &TableSource) -> Result<Value, SqlError> {
    let mut transactions = runtime.transactions.borrow_mut();
    let transaction = transactions.for_table(&source.table, runtime.options.isolation)?;
    Ok(row_version(transaction.next_row_version()?))
}
