//! Bulk load over the wire: where the rows come from, and the INSERT BULK that waits for them.

use std::sync::Arc;

use engine::TableDef;
use query::{BulkRows, BulkRules};
use tsql::ast;
use types::{SqlResult, SqlType};

/// The columns and rows that a client sends behind INSERT BULK.
pub trait BulkSource: BulkRows {
    /// The types of the columns, in the order of INSERT BULK. Called once, before the first row.
    ///
    /// # Errors
    /// What is wrong with the message.
    fn columns(&mut self) -> SqlResult<Vec<SqlType>>;
}

/// An INSERT BULK whose rows have not come yet.
pub(crate) struct PendingBulkLoad {
    pub(crate) statement: ast::InsertBulk,
    pub(crate) rules: BulkRules,
    /// The table as it was when the statement ran.
    pub(crate) table: Arc<TableDef>,
}
