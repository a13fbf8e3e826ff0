//! ALTER TABLE ... [WITH CHECK | NOCHECK] { CHECK | NOCHECK } CONSTRAINT, and the validation of existing rows.

use std::sync::Arc;

use engine::{ConstraintState, Database, ObjectId, TableDef};
use executor::constraints::CheckRows;
use executor::scan_all;
use plan_ir::exec_context::ExecContext;
use plan_ir::names::same_name;
use plan_ir::physical::change::Constraints;
use plan_ir::runtime::Runtime;
use plan_ir::table::TableSource;
use planner::change::ChangePlanner;
use tsql::ast::Names;
use types::SqlError;

use super::subject::{bind_context, reload, with_transaction};

/// Enables or disables CHECK and FOREIGN KEY constraints. A constraint that was disabled is trusted again only when all rows have
/// been checked (WITH CHECK). Errors 4917, 11415, 547.
pub(super) fn set(
    database: &Arc<Database>,
    table: &Arc<TableDef>,
    (with_check, enable): (bool, bool),
    names: &Names,
    context: &mut ExecContext<'_>,
) -> Result<(), SqlError> {
    let checks = table.checks.iter().map(|check| (&check.name, check.object_id, check.state));
    let keys = table.foreign_keys.iter().map(|key| (&key.name, key.object_id, key.state));
    let all: Vec<_> = checks.chain(keys).collect();
    let mut chosen: Vec<(ObjectId, ConstraintState)> = Vec::new();
    match names {
        Names::All => chosen.extend(all.iter().map(|found| (found.1, found.2))),
        Names::List(list) => {
            for name in list {
                match all.iter().find(|found| same_name(found.0, &name.value)) {
                    Some(found) => chosen.push((found.1, found.2)),
                    None if table.constraints().iter().any(|other| same_name(&other.1, &name.value)) => {
                        return Err(SqlError::new(11415, &[&name.value]));
                    }
                    None => return Err(SqlError::new(4917, &[&name.value])),
                }
            }
        }
    }
    let looks_at_rows = enable && with_check;
    for (_, state) in &mut chosen {
        *state = state.taken(!enable, looks_at_rows);
    }
    with_transaction(context, database, |transaction| {
        database.set_constraint_states(transaction, table, &chosen)
    })?;
    if looks_at_rows && !chosen.is_empty() {
        let numbers: Vec<ObjectId> = chosen.iter().map(|found| found.0).collect();
        let table = reload(database, table)?;
        check_rows(database, &table, &numbers, context)?;
    }
    Ok(())
}

/// Rows that nobody checks are about to come: the constraints in force are no longer trusted. False when none was.
pub fn distrust(
    database: &Arc<Database>,
    table: &Arc<TableDef>,
    context: &mut ExecContext<'_>,
) -> Result<bool, SqlError> {
    let checks = table.checks.iter().map(|check| (check.object_id, check.state));
    let keys = table.foreign_keys.iter().map(|key| (key.object_id, key.state));
    let trusted = checks.chain(keys).filter(|(_, state)| !state.is_disabled && !state.is_not_trusted);
    let states: Vec<(ObjectId, ConstraintState)> =
        trusted.map(|(id, state)| (id, ConstraintState { is_not_trusted: true, ..state })).collect();
    if states.is_empty() {
        return Ok(false);
    }
    with_transaction(context, database, |transaction| {
        database.set_constraint_states(transaction, table, &states)
    })?;
    Ok(true)
}

/// Error 547 when a row violates one of the constraints with these ids.
pub(super) fn check_rows(
    database: &Arc<Database>,
    table: &Arc<TableDef>,
    numbers: &[engine::ObjectId],
    context: &mut ExecContext<'_>,
) -> Result<(), SqlError> {
    let source = Arc::new(TableSource::new(database.clone(), table.clone()));
    let constraints: Constraints = {
        let bind = bind_context(context, &[]);
        let mut binder = crate::registry::binder(&bind);
        let bound = binder.constraints_named(&source, numbers)?;
        ChangePlanner::new(&binder.columns).constraints(bound)?
    };
    let runtime = Runtime::new(context);
    let verb = "ALTER TABLE";
    let mut missing = Vec::new();
    scan_all(&source, &runtime, &mut |row| {
        constraints.check_row_now(&runtime, &source, row, verb)?;
        constraints.check_references(&runtime, row, verb, &mut missing)?;
        // All rows exist already, so no later row can supply a missing reference.
        missing.first().map_or(Ok(()), |found| Err(found.0.conflict(verb, false)))
    })
}
