//! UPDATE and DELETE ... WHERE CURRENT OF: the row that the cursor has fetched last, by its key.

use std::sync::Arc;

use query::cursors::{CursorTable, changed_table, is_row, is_unchanged, key_variables};
use tsql::ast::{self, DmlFilter, StatementKind};
use types::{SqlError, SqlResult};

use crate::batch::cell::STALE_PLANS_MAX;
use crate::batch::cursor::{Current, CurrentStep, Keyed};
use crate::batch::frame::Frame;
use crate::batch::instruction::Instruction;
use crate::interruption::Interruption;
use crate::session::Session;
use crate::sink::ResultSink;

impl Session {
    pub(crate) fn change_current(
        &mut self,
        frame: &mut Frame,
        instruction: &Instruction,
        at: usize,
        step: &CurrentStep,
        sink: &mut dyn ResultSink,
    ) -> Result<(), Interruption> {
        let id = self.state.cursors.id_of(&step.cursor)?;
        let cursor = self.state.cursors.get(id);
        let Some(opened) = cursor.opened.as_ref() else { return Err(SqlError::new(16917, &[]).into()) };
        let properties = &cursor.plan.properties;
        let keyed = opened.keyed.clone().filter(|_| !properties.is_read_only);
        let Some(keyed) = keyed else { return Err(SqlError::new(16929, &[]).into()) };
        if !opened.has_row {
            return Err(SqlError::new(16931, &[]).into());
        }
        check_columns(&step.statement.kind, &properties.updatable)?;
        let mut key = opened.current().to_vec();
        key.push(opened.checksum.clone());
        let is_checked = !opened.checksum.is_null();
        let own = frame.variables.len();
        for _ in 0..STALE_PLANS_MAX {
            let current = self.current(frame, step, &keyed)?;
            frame.variables.extend(key.iter().cloned());
            let result = self.query_once(frame, instruction, at, &current.statement, step.command, sink);
            frame.variables.truncate(own);
            match result {
                Err(interruption) if interruption.is_stale_plan() => *step.kept.lock() = None,
                Ok(()) => {
                    if self.state.row_count == 0 {
                        return Err(unchanged(is_checked).into());
                    }
                    // What the cursor itself has changed, it may change again.
                    let cursor = self.state.cursors.get(id);
                    cursor.current_changed();
                    let operation =
                        if matches!(step.statement.kind, StatementKind::Update(_)) { 4 } else { 5 };
                    cursor.last_operation = (operation, 1);
                    return Ok(());
                }
                other => return other,
            }
        }
        Err(SqlError::new(2801, &[]).into())
    }

    /// The statement bound for the key of the cursor's table: the one of the last time, or a new one. Error 16933 when it changes another table.
    fn current(&self, frame: &Frame, step: &CurrentStep, keyed: &Keyed) -> SqlResult<Arc<Current>> {
        let table = &keyed.table;
        let kept = step.kept.lock().clone();
        let fits = |kept: &Arc<Current>| {
            kept.object_id == table.object_id
                && Arc::ptr_eq(&kept.database, &table.database)
                && kept.names.iter().eq(table.key.iter().map(|(name, _)| name))
                && kept.key.iter().cloned().eq(key_variables(table))
                && kept.statement.is_valid(self.name_scope())
        };
        if let Some(kept) = kept.filter(fits) {
            return Ok(kept);
        }
        let program = frame.program;
        let mut variables = program.variables.clone();
        variables.extend(key_variables(table));
        let context = self.bind_context_with(&variables, program.schema.as_deref());
        let statement = by_key(&step.statement, table);
        let (database, object_id) = changed_table(target_of(&statement.kind), &context)?;
        if object_id != table.object_id || !Arc::ptr_eq(&database, &table.database) {
            return Err(SqlError::new(16933, &[]));
        }
        let current = Arc::new(Current {
            key: key_variables(table).collect(),
            names: table.key.iter().map(|(name, _)| name.clone()).collect(),
            object_id,
            database,
            statement: query::compile(&statement, &context)?,
        });
        if current.statement.is_shareable() && !self.transactions.has_changed_catalog() {
            *step.kept.lock() = Some(current.clone());
        }
        Ok(current)
    }
}

/// Error 16932: a column that FOR UPDATE OF does not list.
fn check_columns(kind: &StatementKind, updatable: &[String]) -> SqlResult<()> {
    let StatementKind::Update(update) = kind else { return Ok(()) };
    let is_listed = |clause: &ast::SetClause| match clause {
        ast::SetClause::Variable { .. } => true,
        ast::SetClause::Column { column, .. }
        | ast::SetClause::VariableAndColumn { column, .. }
        | ast::SetClause::Method { column, .. } => updatable.contains(&column.name.value.to_lowercase()),
    };
    if updatable.is_empty() || update.set.iter().all(is_listed) {
        return Ok(());
    }
    Err(SqlError::new(16932, &[]))
}

/// No row was changed: it is gone (16947), or others have changed it since its FETCH (16934 before that).
fn unchanged(is_checked: bool) -> SqlError {
    let told = |number| {
        let mut error = SqlError::new(number, &[]);
        error.severity = 16;
        error
    };
    let earlier = if is_checked { vec![told(16934)] } else { Vec::new() };
    told(16947).after_all(earlier)
}

fn target_of(kind: &StatementKind) -> &ast::DmlTarget {
    match kind {
        StatementKind::Update(update) => &update.target,
        StatementKind::Delete(delete) => &delete.target,
        _ => unreachable!("only these have WHERE CURRENT OF"),
    }
}

/// The statement with the key's condition in place of the cursor.
fn by_key(statement: &ast::Statement, table: &CursorTable) -> ast::Statement {
    let mut statement = statement.clone();
    let filter = Some(DmlFilter::Where(is_row(table, statement.span, Some(is_unchanged(statement.span)))));
    match &mut statement.kind {
        StatementKind::Update(update) => update.filter = filter,
        StatementKind::Delete(delete) => delete.filter = filter,
        _ => unreachable!("only these have WHERE CURRENT OF"),
    }
    statement
}
