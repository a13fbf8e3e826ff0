//! What a definition is about: the database, schema and table of a name, the transaction that changes them, names in its expressions.

use std::sync::Arc;

use engine::{Database, DbTransaction, Lookup, ObjectDef, TableDef};
use plan_ir::context::BindContext;
use plan_ir::exec_context::ExecContext;
use tsql::ast::ObjectName;
use types::SqlError;

/// A context for binding expressions inside definitions.
pub(super) fn bind_context<'b>(
    context: &'b ExecContext<'_>,
    variables: &'b [plan_ir::context::VariableDef],
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
        missing: None,
    }
}

/// The database of a name; error 911, or why it cannot be used (922, 926, 942, 945).
pub(super) fn database_of(name: &ObjectName, context: &ExecContext<'_>) -> Result<Arc<Database>, SqlError> {
    if name.name.value.starts_with('#') {
        return context.instance.database("tempdb");
    }
    match &name.database {
        None => Ok(context.database.clone()),
        Some(database) => context.instance.database(&database.value),
    }
}

/// A database, if there is one of the name: what is to be changed in none is missing like what is not in one.
pub(super) fn there(database: Result<Arc<Database>, SqlError>) -> Result<Option<Arc<Database>>, SqlError> {
    match database {
        Err(error) if error.number == 911 => Ok(None),
        other => other.map(Some),
    }
}

/// The database in which something is to be made. Error 2702 when there is none of the name.
pub(super) fn home_of(name: &ObjectName, context: &ExecContext<'_>) -> Result<Arc<Database>, SqlError> {
    there(database_of(name, context))?.ok_or_else(|| {
        SqlError::new(2702, &[&name.database.as_ref().map_or("", |database| database.value.as_str())])
    })
}

/// The schema of a name.
pub(super) fn schema_of(name: &ObjectName) -> String {
    if name.name.value.starts_with('#') {
        return "dbo".to_string();
    }
    name.schema.as_ref().map_or_else(|| "dbo".to_string(), |schema| schema.value.clone())
}

/// The table that a name means, with its database. Error 4902 or what `missing` says.
pub(super) fn find_table(
    name: &ObjectName,
    context: &ExecContext<'_>,
) -> Result<Option<(Arc<Database>, Arc<TableDef>)>, SqlError> {
    let Some(database) = there(database_of(name, context))? else { return Ok(None) };
    let real = match name.name.value.starts_with('#') {
        true => match context.names.temp_table(&name.name.value) {
            Some(real) => real,
            None => return Ok(None),
        },
        false => name.name.value.clone(),
    };
    let found = Lookup::new(context.transactions).object(&database, &schema_of(name), &real)?;
    Ok(match found {
        Some(ObjectDef::Table(table)) => Some((database.clone(), table)),
        _ => None,
    })
}

/// The table that a name means, locked for a change of its definition. What the statement decides by it holds until the transaction ends.
pub(super) fn find_table_for_change(
    name: &ObjectName,
    context: &mut ExecContext<'_>,
) -> Result<Option<(Arc<Database>, Arc<TableDef>)>, SqlError> {
    let Some((database, table)) = find_table(name, context)? else { return Ok(None) };
    let object = ObjectDef::Table(table.clone());
    with_transaction(context, &database, |transaction| database.lock_definition(transaction, &object))?;
    Ok(Some((database, table)))
}

/// What a name means that is to be made, changed or dropped.
pub(super) fn find_object(
    database: &Database,
    name: &ObjectName,
    context: &ExecContext<'_>,
) -> Result<Option<ObjectDef>, SqlError> {
    let Some(real) = real_name(name, context.names) else { return Ok(None) };
    Lookup::new(context.transactions).object(database, &schema_of(name), &real)
}

/// The name in the catalog: a temporary object has another there; none when the session has no such object.
pub(super) fn real_name(name: &ObjectName, names: &dyn plan_ir::context::SessionNames) -> Option<String> {
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
        return Err(SqlError::new(1088, &[&plan_ir::names::written(name)]));
    };
    if !table.columns.iter().any(|column| column.identity.is_some()) {
        return Err(SqlError::new(8106, &[&plan_ir::names::written(name)]));
    }
    Ok((database.name().to_lowercase(), table.schema.to_lowercase(), table.name.to_lowercase()))
}

/// Runs `f` with the transaction in a database.
pub(super) fn with_transaction<T>(
    context: &mut ExecContext<'_>,
    database: &Arc<Database>,
    f: impl FnOnce(&DbTransaction) -> Result<T, SqlError>,
) -> Result<T, SqlError> {
    let transaction = context.transactions.in_database(database, context.options.isolation)?;
    f(transaction)
}

/// The table as the catalog has it now.
pub(super) fn reload(database: &Arc<Database>, table: &TableDef) -> Result<Arc<TableDef>, SqlError> {
    match database.catalog().object(table.object_id) {
        Some(engine::ObjectDef::Table(table)) => Ok(table),
        _ => Err(crate::errors::alter_missing_table(&table.name)),
    }
}

/// The columns that a table has, for what is added to it.
pub(super) fn existing_columns(table: &TableDef) -> Vec<engine::NewColumn> {
    table
        .columns
        .iter()
        .map(|column| engine::NewColumn {
            name: column.name.to_string(),
            sql_type: column.sql_type,
            nullable: column.nullable,
            collation: column.collation,
            identity: None,
            default: None,
            computed: column.computed.clone(),
            is_rowguidcol: false,
            user_type_id: 0,
        })
        .collect()
}
