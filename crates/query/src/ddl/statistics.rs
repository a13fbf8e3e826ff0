//! CREATE, UPDATE and DROP STATISTICS: plans do not hang on statistics, so that there is nothing to gather; what they name must be there.

use tsql::ast::{ObjectName, StatementKind};
use types::SqlError;

use super::find_table;
use crate::bind::names::written;
use crate::exec_context::ExecContext;
use crate::names::same_name;

/// Errors 1088, 1911, 2706 and 3701.
pub(super) fn statement(kind: &StatementKind, context: &ExecContext<'_>) -> Result<(), SqlError> {
    match kind {
        StatementKind::CreateStatistics(create) => {
            let Some((_, table)) = find_table(&create.table, context)? else {
                return Err(SqlError::new(1088, &[&written(&create.table)]));
            };
            match create.columns.iter().find(|column| table.column_ordinal(&column.value).is_none()) {
                Some(column) => Err(SqlError::new(1911, &[&column.value])),
                None => Ok(()),
            }
        }
        StatementKind::UpdateStatistics(update) => match find_table(&update.table, context)? {
            Some(_) => Ok(()),
            None => Err(SqlError::new(2706, &[&written(&update.table)])),
        },
        StatementKind::DropStatistics(names) => names.iter().try_for_each(|name| dropped(name, context)),
        _ => unreachable!("called for statistics only"),
    }
}

/// `table.statistics`: there are no others than those that stand for an index, and these go with it.
fn dropped(name: &ObjectName, context: &ExecContext<'_>) -> Result<(), SqlError> {
    let table = name.schema.as_ref().map(|table| ObjectName {
        server: None,
        database: name.server.clone(),
        schema: name.database.clone(),
        name: table.clone(),
        span: name.span,
    });
    let found = table.map(|table| find_table(&table, context)).transpose()?.flatten();
    let of_index = found.is_some_and(|(_, table)| {
        table
            .indexes
            .iter()
            .any(|index| index.name.as_ref().is_some_and(|own| same_name(own, &name.name.value)))
    });
    if of_index {
        return Err(SqlError::new(3739, &[&"DROP", &written(name)]));
    }
    Err(crate::errors::cannot_drop("statistics", &written(name)))
}
