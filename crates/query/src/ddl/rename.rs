//! sp_rename: resolves a name in text and renames its object.

use std::sync::Arc;

use engine::{Database, Lookup, ObjectDef, TableDef, TablePart};
use plan_ir::exec_context::ExecContext;
use plan_ir::names::{name_parts, same_name};
use types::SqlError;

use super::subject::with_transaction;

/// Limit of a name, in characters.
const NAME_CHARACTERS_MAX: usize = 128;

/// The resolved object of sp_rename.
enum Found {
    Object(i32),
    Part(Arc<TableDef>, TablePart),
    Type(engine::TypeDef),
}

/// Renames an object of the current database.
///
/// # Errors
/// 15223 (no new name), 15225 and 15248 (old name not found), 15249 (unknown kind), 15335 (the new name is used), 15336 (a
/// CHECK or computed column names the column, a default draws from the sequence), 15387 (another database); those of storage.
pub fn rename(
    context: &mut ExecContext<'_>,
    name: &str,
    new_name: &str,
    kind: Option<&str>,
) -> Result<(), SqlError> {
    if new_name.is_empty() {
        return Err(SqlError::new(15223, &[&"@newname"]));
    }
    if new_name.chars().count() > NAME_CHARACTERS_MAX {
        return Err(SqlError::new(103, &[&"identifier", &new_name, &NAME_CHARACTERS_MAX]));
    }
    let database = context.database.clone();
    let kind = kind.map(|kind| kind.trim().to_ascii_uppercase());
    let mut parts = name_parts(name);
    let depth = match kind.as_deref() {
        Some("COLUMN" | "INDEX" | "STATISTICS") => 3,
        _ if parts.len() == 4 => 3,
        _ => 2,
    };
    if parts.len() > depth {
        let first = parts.remove(0);
        let is_current = first.is_empty() || same_name(&first, database.name());
        if parts.len() > 3 || (!is_current && depth == 3) {
            return Err(SqlError::new(15387, &[]));
        }
        if !is_current {
            // `schema.table.column` without a kind of object.
            parts.insert(0, first);
        }
    }
    let lookup = Lookup::new(context.transactions);
    let found = match kind.as_deref() {
        None => match (object(lookup, &database, &parts)?, column(lookup, &database, &parts)?) {
            (Some(found), _) | (None, Some(found)) => Some(found),
            (None, None) => index(lookup, &database, &parts)?,
        }
        .ok_or_else(|| no_item(&database, name, "(null)"))?,
        Some("OBJECT") => {
            object(lookup, &database, &parts)?.ok_or_else(|| no_item(&database, name, "OBJECT"))?
        }
        Some(kind @ "COLUMN") => {
            column(lookup, &database, &parts)?.ok_or_else(|| SqlError::new(15248, &[&kind]))?
        }
        Some(kind @ ("INDEX" | "STATISTICS")) => {
            index(lookup, &database, &parts)?.ok_or_else(|| SqlError::new(15248, &[&kind]))?
        }
        Some(kind @ "USERDATATYPE") => {
            alias_type(lookup, &database, &parts)?.ok_or_else(|| SqlError::new(15248, &[&kind]))?
        }
        Some(other) => return Err(SqlError::new(15249, &[&other])),
    };
    match found {
        Found::Object(id) => rename_object(context, &database, id, (name, new_name)),
        Found::Part(table, part) => {
            if let TablePart::Column(id) = part {
                check_not_named(context, &database, &table, id)?;
                let column = table.columns.iter().find(|column| column.column_id == id);
                let renamed = (column.map(|column| &*column.name), name);
                super::schema_binding::check_may_be_renamed(&database, table.object_id, renamed, context)?;
            }
            with_transaction(context, &database, |transaction| {
                database.rename_part(transaction, table.object_id, part, new_name)
            })
        }
        Found::Type(def) => with_transaction(context, &database, |transaction| {
            database.rename_type(transaction, &def, new_name)
        }),
    }
}

/// Renames an object. Error 15336 when a default draws from it, since its text would no longer find it.
fn rename_object(
    context: &mut ExecContext<'_>,
    database: &Arc<Database>,
    id: i32,
    (old_name, new_name): (&str, &str),
) -> Result<(), SqlError> {
    if super::sequence::default_that_needs(database, id, context)?.is_some() {
        return Err(SqlError::new(15336, &[&old_name]));
    }
    super::schema_binding::check_may_be_renamed(database, id, (None, old_name), context)?;
    with_transaction(context, database, |transaction| database.rename_object(transaction, id, new_name))
}

fn no_item(database: &Database, name: &str, kind: &str) -> SqlError {
    SqlError::new(15225, &[&database.name(), &name, &kind])
}

/// The last two parts: schema (`dbo` if omitted) and name.
fn schema_and_name(parts: &[String]) -> Option<(String, String)> {
    let (name, before) = parts.split_last()?;
    let schema = before.last().filter(|schema| !schema.is_empty()).cloned();
    (before.len() < 2).then(|| (schema.unwrap_or_else(|| "dbo".to_string()), name.clone()))
}

type Look<T> = Result<Option<T>, SqlError>;

fn object(lookup: Lookup<'_>, database: &Arc<Database>, parts: &[String]) -> Look<Found> {
    let Some((schema, name)) = schema_and_name(parts) else { return Ok(None) };
    if let Some(object) = lookup.object(database, &schema, &name)? {
        let is_system = matches!(&object, ObjectDef::Table(table) if table.is_system);
        return Ok((!is_system).then(|| Found::Object(object.object_id())));
    }
    let Some(ObjectDef::Table(table)) = lookup.holder(database, &schema, &name)? else { return Ok(None) };
    let constraints = table.constraints();
    let found = constraints.iter().find(|constraint| same_name(&constraint.1, &name));
    Ok(found.map(|(id, ..)| Found::Part(table.clone(), TablePart::Constraint(*id))))
}

fn table(lookup: Lookup<'_>, database: &Arc<Database>, parts: &[String]) -> Look<(Arc<TableDef>, String)> {
    let Some((part, table)) = parts.split_last() else { return Ok(None) };
    let Some((schema, name)) = schema_and_name(table) else { return Ok(None) };
    Ok(match lookup.object(database, &schema, &name)? {
        Some(ObjectDef::Table(table)) if !table.is_system => Some((table, part.clone())),
        _ => None,
    })
}

fn column(lookup: Lookup<'_>, database: &Arc<Database>, parts: &[String]) -> Look<Found> {
    let Some((table, name)) = table(lookup, database, parts)? else { return Ok(None) };
    let id = table.column_ordinal(&name).map(|at| table.columns[at].column_id);
    Ok(id.map(|id| Found::Part(table, TablePart::Column(id))))
}

fn index(lookup: Lookup<'_>, database: &Arc<Database>, parts: &[String]) -> Look<Found> {
    let Some((table, name)) = table(lookup, database, parts)? else { return Ok(None) };
    let is_named = |index: &&engine::IndexDef| index.name.as_ref().is_some_and(|own| same_name(own, &name));
    let id = table.indexes.iter().find(is_named).map(|index| index.index_id);
    Ok(id.map(|id| Found::Part(table, TablePart::Index(id))))
}

fn alias_type(lookup: Lookup<'_>, database: &Arc<Database>, parts: &[String]) -> Look<Found> {
    let Some((schema, name)) = schema_and_name(parts) else { return Ok(None) };
    Ok(lookup.type_named(database, &schema, &name)?.map(Found::Type))
}

/// Error 15336 when the text of a CHECK, computed column or filter names the column, since it would no longer find it.
fn check_not_named(
    context: &ExecContext<'_>,
    database: &Arc<Database>,
    table: &Arc<TableDef>,
    column_id: i32,
) -> Result<(), SqlError> {
    let bind = super::subject::bind_context(context, &[]);
    let checks = table.checks.iter().map(|check| &check.text);
    let computed =
        table.columns.iter().filter_map(|column| column.computed.as_ref()).map(|computed| &computed.text);
    let filters = table.indexes.iter().filter_map(|index| index.filter.as_ref()).map(|filter| &filter.text);
    let statistics = database.catalog().statistics(table.object_id);
    let of_statistics = statistics.iter().filter_map(|def| def.filter.as_ref()).map(|filter| &filter.text);
    for text in checks.chain(computed).chain(filters).chain(of_statistics) {
        if binder::observe::named_columns(crate::registry::binder(&bind), database, table, text)
            .contains(&column_id)
        {
            let column = table.columns.iter().find(|column| column.column_id == column_id);
            let shown = column.map_or_else(String::new, |column| {
                format!("{}.{}.{}", table.schema, table.name, column.name)
            });
            return Err(SqlError::new(15336, &[&shown]));
        }
    }
    Ok(())
}
