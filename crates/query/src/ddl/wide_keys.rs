//! Warning 1945: a row may be too long for an index that a statement has created.

use std::sync::Arc;

use engine::{IndexKind, TableDef};
use plan_ir::exec_context::ExecContext;
use tsql::ast::{self, AlterTableAction, ObjectName, StatementKind};
use types::SqlError;

use super::subject::find_table;

/// The table on which a statement creates indexes or keys; `true`: it creates the table itself.
fn table_of(statement: &ast::Statement) -> Option<(&ObjectName, bool)> {
    match &statement.kind {
        StatementKind::CreateTable(create) => Some((&create.name, true)),
        StatementKind::CreateIndex(create) => Some((&create.table, false)),
        StatementKind::AlterTable(alter) if matches!(alter.action, AlterTableAction::Add { .. }) => {
            Some((&alter.name, false))
        }
        _ => None,
    }
}

fn names(table: &TableDef) -> Vec<Arc<str>> {
    table.indexes.iter().filter_map(|index| index.name.clone()).collect()
}

/// The existing indexes.
pub(super) fn before(
    statement: &ast::Statement,
    context: &ExecContext<'_>,
) -> Result<Vec<Arc<str>>, SqlError> {
    match table_of(statement) {
        Some((name, false)) => Ok(find_table(name, context)?.map_or_else(Vec::new, |found| names(&found.1))),
        _ => Ok(Vec::new()),
    }
}

/// A warning for each new index for which a row may be too long.
pub(super) fn warnings(
    statement: &ast::Statement,
    before: Vec<Arc<str>>,
    context: &ExecContext<'_>,
) -> Result<Vec<SqlError>, SqlError> {
    let Some((name, _)) = table_of(statement) else { return Ok(Vec::new()) };
    let Some((_, table)) = find_table(name, context)? else { return Ok(Vec::new()) };
    let wide = table.indexes.iter().filter(|index| index.may_overflow(&table));
    let made = wide.filter_map(|index| index.name.as_ref().map(|name| (index, name)));
    let new = made.filter(|(_, name)| !before.contains(name));
    let warning = |(index, name): (&engine::IndexDef, &Arc<str>)| {
        let kind = if index.kind == IndexKind::Clustered { "clustered" } else { "nonclustered" };
        let (limit, longest) = (index.key_bytes_max(), index.longest_key_bytes(&table));
        SqlError::new(1945, &[&kind, &limit, name, &longest]).at_line(statement.span.line)
    };
    Ok(new.map(warning).collect())
}
