//! TABLE HINT of a statement's OPTION clause, kept until its tables are bound.

use plan_ir::names::{same_name, written};
use tsql::ast;
use types::SqlError;

/// A TABLE HINT of a statement's OPTION.
pub struct HintedTable {
    /// The name in sight of a table.
    pub(super) table: ast::ObjectName,
    pub(super) hints: Vec<ast::TableHint>,
    /// A table of that name has been met.
    pub(super) is_met: bool,
}

/// Each TABLE HINT of an OPTION; a name has one at most. Error 8720.
pub fn hinted_tables(options: &[ast::QueryHint]) -> Result<Vec<HintedTable>, SqlError> {
    let mut tables: Vec<HintedTable> = Vec::new();
    for option in options {
        let ast::QueryHint::TableHint(table, hints) = option else { continue };
        let shown = written(table);
        if tables.iter().any(|other| same_name(&written(&other.table), &shown)) {
            return Err(SqlError::new(8720, &[&shown]));
        }
        tables.push(HintedTable { table: table.clone(), hints: hints.clone(), is_met: false });
    }
    Ok(tables)
}
