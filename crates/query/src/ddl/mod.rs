//! DDL: converts syntax trees to the engine's definitions; the engine checks, logs and publishes them.

mod alias;
mod alter;
mod constraint_state;
mod create;
mod database_trigger;
mod drop;
pub(crate) mod filter;
mod identity;
mod index;
mod into;
mod module;
mod property;
mod refresh;
mod rename;
mod schema_binding;
mod sequence;
mod statistics;
mod subject;
mod synonym;
mod table_type;
mod transfer;
mod trigger;
mod wide_keys;

use plan_ir::exec_context::ExecContext;
use tsql::ast::{self, StatementKind};
use types::SqlError;

use subject::with_transaction;

pub use constraint_state::distrust;
pub use identity::{IdentityCheck, check_identity};
pub(crate) use into::{SelectIntoPlan, run_select_into, select_into, truncate};
pub use property::{PropertyChange, change_property};
pub use refresh::{bind_again, named_object};
pub use rename::rename;
pub use schema_binding::takes_all_columns;
pub use sequence::{RangeOfSequence, sequence_range};
pub use statistics::set_auto_statistics;
pub use subject::identity_table;
pub use trigger::{TriggerOrder, set_trigger_order};

/// Runs a CREATE, ALTER or DROP of a table, index, view, procedure, function, trigger or schema, or TRUNCATE. `text` is the batch, into
/// which spans point: modules store it as their source. Returns the messages of a successful statement.
pub fn execute(
    statement: &ast::Statement,
    text: &str,
    context: &mut ExecContext<'_>,
) -> Result<Vec<SqlError>, SqlError> {
    let keys_before = wide_keys::before(statement, context)?;
    let mut notices = execute_inside(statement, text, context)
        .map_err(|error| concluded(&statement.kind, error).at_line(statement.span.line))?;
    notices.extend(wide_keys::warnings(statement, keys_before, context)?);
    Ok(notices)
}

/// Adds the concluding error that SQL Server reports after the cause: a table could not be created, dropped or changed (1750, 3727, 4916).
fn concluded(statement: &StatementKind, error: SqlError) -> SqlError {
    use ast::AlterTableAction::{Add, CheckConstraint, Drop};
    let conclusion = match statement {
        StatementKind::CreateTable(_) | StatementKind::CreateType(_) if is_about_a_constraint(&error) => 1750,
        StatementKind::AlterTable(alter) => match &alter.action {
            Add { .. } if is_about_a_constraint(&error) => 1750,
            Drop(_) if matches!(error.number, 3725 | 3728 | 3733) => 3727,
            CheckConstraint { .. } if error.number == 4917 => 4916,
            _ => return error,
        },
        _ => return error,
    };
    SqlError::new(conclusion, &[]).after(error)
}

/// Does the error say why a constraint, or an index in a table's definition, could not be created? A violation by rows (547) gets no second error.
fn is_about_a_constraint(error: &SqlError) -> bool {
    const REASONS: [i32; 32] = [
        1505, 1752, 1753, 1754, 1755, 1757, 1761, 1762, 1763, 1767, 1768, 1769, 1770, 1773, 1774, 1776, 1778,
        1779, 1781, 1785, 1787, 1902, 1904, 1909, 1911, 1919, 1944, 1977, 1999, 2729, 8111, 10601,
    ];
    match error.number {
        2714 => error.state == engine::CONSTRAINT_NAME_TAKEN,
        number => REASONS.contains(&number),
    }
}

fn execute_inside(
    statement: &ast::Statement,
    text: &str,
    context: &mut ExecContext<'_>,
) -> Result<Vec<SqlError>, SqlError> {
    binder::clauses::check_definition(statement)?;
    check_snapshot(&statement.kind, context)?;
    let done = match &statement.kind {
        StatementKind::CreateTable(table) => {
            create::table(table, text, context)?;
            return Ok(create::notices(table));
        }
        StatementKind::AlterTable(alter) => alter::table(alter, text, context),
        StatementKind::CreateIndex(index) => index::create(index, context),
        StatementKind::AlterIndex(alter) => return index::alter(alter, context),
        StatementKind::CreateStatistics(_)
        | StatementKind::UpdateStatistics(_)
        | StatementKind::DropStatistics(_) => statistics::statement(&statement.kind, context),
        StatementKind::DropIndex(drop) => drop::indexes(drop, context),
        StatementKind::Drop(drop) => drop::objects(drop, context),
        StatementKind::CreateView(_)
        | StatementKind::CreateProcedure(_)
        | StatementKind::CreateFunction(_) => module::create(statement, text, context),
        StatementKind::CreateTrigger(create) if create.on == ast::TriggerScope::Database => {
            database_trigger::create(create, text, context)
        }
        StatementKind::CreateTrigger(create) => trigger::create(create, text, context),
        StatementKind::EnableTrigger(change) if change.on == ast::TriggerScope::Database => {
            database_trigger::enable(change, context)
        }
        StatementKind::EnableTrigger(change) => trigger::enable(change, context),
        StatementKind::CreateSequence(create) => return sequence::create(create, context),
        StatementKind::AlterSequence(alter) => return sequence::alter(alter, context),
        StatementKind::CreateSynonym(create) => synonym::create(create, context),
        StatementKind::CreateType(create) => alias::create(create, statement.span.slice(text), context),
        StatementKind::CreateSchema(schema) => create_schema(schema, text, context),
        StatementKind::AlterSchema(alter) => transfer::transfer(alter, context),
        _ => Err(crate::errors::unsupported("this statement")),
    };
    done.map(|()| Vec::new())
}

/// Definitions are not versioned: a change of the structure of a table that others may be reading is refused in a snapshot
/// transaction (3964). It is allowed in autocommit mode; creating or dropping whole objects is always allowed.
fn check_snapshot(statement: &StatementKind, context: &ExecContext<'_>) -> Result<(), SqlError> {
    let restructures = matches!(
        statement,
        StatementKind::AlterTable(_)
            | StatementKind::CreateIndex(_)
            | StatementKind::AlterIndex(_)
            | StatementKind::DropIndex(_)
    );
    let is_in_snapshot = context.options.isolation == engine::IsolationLevel::Snapshot
        && context.state.transaction_count() > 0;
    if restructures && is_in_snapshot { Err(SqlError::new(3964, &[])) } else { Ok(()) }
}

/// CREATE SCHEMA with its elements.
fn create_schema(
    create: &ast::CreateSchema,
    text: &str,
    context: &mut ExecContext<'_>,
) -> Result<(), SqlError> {
    let name = create
        .name
        .as_ref()
        .or(create.authorization.as_ref())
        .map(|name| name.value.clone())
        .unwrap_or_default();
    let database = context.database.clone();
    with_transaction(context, &database, |transaction| database.create_schema(transaction, &name))?;
    for element in &create.elements {
        execute(element, text, context)?;
    }
    Ok(())
}

/// `DECLARE @t TABLE (...)`: creates the table in tempdb under the given real name.
pub fn create_table_variable(
    declare: &ast::DeclareTable,
    real_name: &str,
    context: &mut ExecContext<'_>,
) -> Result<(), SqlError> {
    binder::clauses::check_table_options(&declare.options)?;
    binder::clauses::check_table_elements(&declare.elements, &declare.name)?;
    create::table_variable(declare, real_name, context).map_err(|error| match is_about_a_constraint(&error) {
        true => SqlError::new(1750, &[]).after(error),
        false => error,
    })
}
