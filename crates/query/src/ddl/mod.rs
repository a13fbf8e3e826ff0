//! DDL: syntax trees become the engine's definitions; the engine checks, logs and publishes them.

mod alias;
mod alter;
mod constraint_state;
mod create;
mod drop;
pub(crate) mod filter;
mod identity;
mod index;
mod into;
mod module;
mod property;
mod rename;
mod schema_binding;
mod sequence;
mod statistics;
mod wide_keys;

use std::sync::Arc;

use engine::{Database, DbTransaction, Lookup, ObjectDef};
use tsql::ast::{self, ObjectName, StatementKind};
use types::SqlError;

use crate::context::BindContext;
use crate::exec_context::ExecContext;

pub use identity::{IdentityCheck, check_identity};
pub(crate) use into::{SelectIntoPlan, run_select_into, select_into, truncate};
pub use property::{PropertyChange, change_property};
pub use rename::rename;
pub use schema_binding::takes_all_columns;
pub use sequence::{RangeOfSequence, sequence_range};

/// Runs a CREATE, ALTER or DROP of a table, index, view, procedure, function, trigger or schema, or TRUNCATE. `text` is the batch, into
/// which spans point: modules keep it as their source. Gives what a statement that has succeeded has to say.
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

/// What of a table could not be made, dropped or changed, told after the reason, as SQL Server does: 1750, 3727, 4916.
fn concluded(statement: &StatementKind, error: SqlError) -> SqlError {
    use ast::AlterTableAction::{Add, CheckConstraint, Drop};
    let conclusion = match statement {
        StatementKind::CreateTable(_) if is_about_a_constraint(&error) => 1750,
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

/// Does the error say why a constraint, or an index in a table's definition, could not be made? That rows break it (547) is told alone.
fn is_about_a_constraint(error: &SqlError) -> bool {
    const REASONS: [i32; 28] = [
        1505, 1752, 1753, 1757, 1761, 1762, 1763, 1767, 1768, 1769, 1770, 1773, 1774, 1776, 1778, 1779, 1781,
        1785, 1902, 1904, 1909, 1911, 1919, 1944, 1977, 1999, 8111, 10601,
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
    crate::clauses::check_definition(statement)?;
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
        | StatementKind::CreateFunction(_)
        | StatementKind::CreateTrigger(_) => module::create(statement, text, context),
        StatementKind::CreateSequence(create) => return sequence::create(create, context),
        StatementKind::AlterSequence(alter) => return sequence::alter(alter, context),
        StatementKind::CreateType(create) => alias::create(create, context),
        StatementKind::CreateSchema(schema) => create::schema(schema, text, context),
        _ => Err(crate::errors::unsupported("this statement")),
    };
    done.map(|()| Vec::new())
}

/// Definitions have no versions: what changes the structure of a table that others may be reading is refused in a transaction that reads a
/// snapshot (3964). A statement alone is a transaction of its own, and may; what makes or drops whole objects may, too.
fn check_snapshot(statement: &StatementKind, context: &ExecContext<'_>) -> Result<(), SqlError> {
    let restructures = matches!(
        statement,
        StatementKind::AlterTable(_)
            | StatementKind::CreateIndex(_)
            | StatementKind::AlterIndex(_)
            | StatementKind::DropIndex(_)
    );
    let is_in_snapshot = context.options.isolation == engine::IsolationLevel::Snapshot
        && context.facts.transaction_count() > 0;
    if restructures && is_in_snapshot { Err(SqlError::new(3964, &[])) } else { Ok(()) }
}

/// `DECLARE @t TABLE (...)`: makes the table in tempdb under the given real name.
pub fn create_table_variable(
    declare: &ast::DeclareTable,
    real_name: &str,
    context: &mut ExecContext<'_>,
) -> Result<(), SqlError> {
    crate::clauses::check_options("table option", &declare.options)?;
    crate::clauses::check_table_elements(&declare.elements, &declare.name)?;
    create::table_variable(declare, real_name, context).map_err(|error| match is_about_a_constraint(&error) {
        true => SqlError::new(1750, &[]).after(error),
        false => error,
    })
}

/// A context for binding expressions inside definitions.
pub(crate) fn bind_context<'b>(
    context: &'b ExecContext<'_>,
    variables: &'b [crate::context::VariableDef],
) -> BindContext<'b> {
    BindContext {
        instance: context.instance,
        database: context.database,
        default_schema: "dbo",
        variables,
        options: context.options,
        names: context.names,
        lookup: Lookup::new(context.transactions),
        undeclared: None,
    }
}

/// The database of a name; error 911, or why it cannot be used (922, 926, 942, 945).
pub(crate) fn database_of(name: &ObjectName, context: &ExecContext<'_>) -> Result<Arc<Database>, SqlError> {
    if name.name.value.starts_with('#') {
        return context.instance.database("tempdb");
    }
    match &name.database {
        None => Ok(context.database.clone()),
        Some(database) => context.instance.database(&database.value),
    }
}

/// The schema of a name.
pub(crate) fn schema_of(name: &ObjectName) -> String {
    if name.name.value.starts_with('#') {
        return "dbo".to_string();
    }
    name.schema.as_ref().map_or_else(|| "dbo".to_string(), |schema| schema.value.clone())
}

/// The table that a name means, with its database. Error 4902 or what `missing` says.
pub(crate) fn find_table(
    name: &ObjectName,
    context: &ExecContext<'_>,
) -> Result<Option<(Arc<Database>, Arc<engine::TableDef>)>, SqlError> {
    let database = database_of(name, context)?;
    let real = match name.name.value.starts_with('#') {
        true => match context.names.temp_table(&name.name.value) {
            Some(real) => real,
            None => return Ok(None),
        },
        false => name.name.value.clone(),
    };
    let found = Lookup::new(context.transactions).object(&database, &schema_of(name), &real)?;
    Ok(match found {
        Some(engine::ObjectDef::Table(table)) => Some((database.clone(), table)),
        _ => None,
    })
}

/// The table that a name means, locked for a change of its definition. What the statement decides by it holds until the transaction ends.
pub(crate) fn find_table_for_change(
    name: &ObjectName,
    context: &mut ExecContext<'_>,
) -> Result<Option<(Arc<Database>, Arc<engine::TableDef>)>, SqlError> {
    let Some((database, table)) = find_table(name, context)? else { return Ok(None) };
    let object = ObjectDef::Table(table.clone());
    with_transaction(context, &database, |transaction| database.lock_definition(transaction, &object))?;
    Ok(Some((database, table)))
}

/// What a name means that is to be made, changed or dropped.
pub(crate) fn find_object(
    database: &Database,
    name: &ObjectName,
    context: &ExecContext<'_>,
) -> Result<Option<ObjectDef>, SqlError> {
    let Some(real) = real_name(name, context.names) else { return Ok(None) };
    Lookup::new(context.transactions).object(database, &schema_of(name), &real)
}

/// The name in the catalog: a temporary object has another there; none when the session has no such object.
pub(crate) fn real_name(name: &ObjectName, names: &dyn crate::context::SessionNames) -> Option<String> {
    let written = &name.name.value;
    if !written.starts_with('#') {
        return Some(written.clone());
    }
    names.temp_table(written).or_else(|| written.starts_with("##").then(|| written.clone()))
}

/// The table of SET IDENTITY_INSERT: database, schema and real name in lower case. Errors 1088 and 8106.
pub fn identity_table(
    name: &ObjectName,
    context: &ExecContext<'_>,
) -> Result<(String, String, String), SqlError> {
    let Some((database, table)) = find_table(name, context)? else {
        return Err(SqlError::new(1088, &[&crate::bind::names::written(name)]));
    };
    if !table.columns.iter().any(|column| column.identity.is_some()) {
        return Err(SqlError::new(8106, &[&crate::bind::names::written(name)]));
    }
    Ok((database.name().to_lowercase(), table.schema.to_lowercase(), table.name.to_lowercase()))
}

/// Runs `f` with the transaction in a database.
pub(crate) fn with_transaction<T>(
    context: &mut ExecContext<'_>,
    database: &Arc<Database>,
    f: impl FnOnce(&DbTransaction) -> Result<T, SqlError>,
) -> Result<T, SqlError> {
    let transaction = context.transactions.in_database(database, context.options.isolation)?;
    f(transaction)
}
