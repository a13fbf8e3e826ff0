//! The target of a definition: the database, schema and table of a name, the transaction that changes them, name scopes for its expressions.

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
        in_function: false,
        trigger: None,
    }
}

/// The database of a name; error 911, or the reason why it cannot be used (922, 926, 942, 945).
pub(super) fn database_of(name: &ObjectName, context: &ExecContext<'_>) -> Result<Arc<Database>, SqlError> {
    if name.name.value.starts_with('#') {
        return context.instance.database("tempdb");
    }
    match &name.database {
        None => Ok(context.database.clone()),
        Some(database) => context.instance.database(&database.value),
    }
}

/// A database, `None` if it does not exist: an object in a missing database counts as a missing object.
pub(super) fn there(database: Result<Arc<Database>, SqlError>) -> Result<Option<Arc<Database>>, SqlError> {
    match database {
        Err(error) if error.number == 911 => Ok(None),
        other => other.map(Some),
    }
}

/// The database for a new object. Error 2702 when it does not exist.
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

/// The table that a name denotes, with its database. Error 4902 or that of `missing`.
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

/// The table that a name denotes, locked for a change of its definition. So the statement's checks stay valid until the transaction ends.
pub(super) fn find_table_for_change(
    name: &ObjectName,
    context: &mut ExecContext<'_>,
) -> Result<Option<(Arc<Database>, Arc<TableDef>)>, SqlError> {
    let Some((database, table)) = find_table(name, context)? else { return Ok(None) };
    let object = ObjectDef::Table(table.clone());
    with_transaction(context, &database, |transaction| database.lock_definition(transaction, &object))?;
    Ok(Some((database, table)))
}

/// The object that a name denotes, to be created, changed or dropped.
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

/// The table's current definition in the catalog.
pub(super) fn reload(database: &Arc<Database>, table: &TableDef) -> Result<Arc<TableDef>, SqlError> {
    match database.catalog().object(table.object_id) {
        Some(engine::ObjectDef::Table(table)) => Ok(table),
        _ => Err(crate::errors::alter_missing_table(&table.name)),
    }
}

/// The existing columns of a table, for new ones to refer to.
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
