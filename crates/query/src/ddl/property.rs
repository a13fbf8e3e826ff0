//! Extended properties: sp_addextendedproperty, sp_updateextendedproperty, sp_dropextendedproperty.

use engine::PropertyDef;
use plan_ir::exec_context::ExecContext;
use sysviews::{PropertyLevel, property_targets};
use types::{SqlError, SqlType, Value, Variant};

use super::subject::{bind_context, with_transaction};

/// The largest value, in bytes.
const VALUE_BYTES_MAX: usize = 7500;

/// The change of a property.
#[derive(Clone, Debug)]
pub enum PropertyChange {
    /// sp_addextendedproperty: type and value.
    Add(SqlType, Value),
    /// sp_updateextendedproperty: type and value.
    Update(SqlType, Value),
    /// sp_dropextendedproperty.
    Drop,
}

/// Changes a property in the current database; up to three levels of type and name identify its target.
///
/// # Errors
/// 15600 (invalid levels), 15135 (no such target), 15097 (too large), 15233, 15217; those of storage.
pub fn change_property(
    context: &mut ExecContext<'_>,
    procedure: &str,
    name: &str,
    change: PropertyChange,
    levels: &[(Option<String>, Option<String>); 3],
) -> Result<(), SqlError> {
    let mut wanted = Vec::new();
    for (index, (kind, object)) in levels.iter().enumerate() {
        match (kind, object) {
            (Some(kind), Some(object)) if wanted.len() == index => {
                wanted.push(PropertyLevel { kind: kind.clone(), name: Some(object.clone()) });
            }
            (None, None) => {}
            _ => return Err(SqlError::new(15600, &[&procedure])),
        }
    }
    if name.is_empty() {
        return Err(SqlError::new(15600, &[&procedure]));
    }
    let database = context.database.clone();
    let shown = match wanted.is_empty() {
        true => "object specified".to_string(),
        false => wanted.iter().filter_map(|level| level.name.clone()).collect::<Vec<_>>().join("."),
    };
    settle_levels(context, &database, &wanted)?;
    let targets = property_targets(context.front_end.0, &bind_context(context, &[]), &database, &wanted);
    let Some(target) = targets.into_iter().next() else {
        return Err(SqlError::new(15135, &[&shown]));
    };
    let variant = |sql_type: SqlType, value: Value| match value {
        Value::Null | Value::Variant(_) => Ok(value),
        value if size_bytes(&value) > VALUE_BYTES_MAX => Err(SqlError::new(15097, &[])),
        value => Ok(Value::Variant(std::sync::Arc::new(Variant { sql_type, value }))),
    };
    match change {
        PropertyChange::Add(sql_type, value) => {
            let value = variant(sql_type, value)?;
            let property = PropertyDef { owner: target.owner, name: name.into(), value };
            with_transaction(context, &database, |transaction| {
                database.add_property(transaction, property, &shown)
            })
        }
        PropertyChange::Update(sql_type, value) => {
            let value = variant(sql_type, value)?;
            with_transaction(context, &database, |transaction| {
                database.change_property(transaction, target.owner, name, Some(value), &shown)
            })
        }
        PropertyChange::Drop => with_transaction(context, &database, |transaction| {
            database.change_property(transaction, target.owner, name, None, &shown)
        }),
    }
}

/// Waits for transactions that are creating, dropping or renaming an object of the levels.
fn settle_levels(
    context: &ExecContext<'_>,
    database: &engine::Database,
    levels: &[PropertyLevel],
) -> Result<(), SqlError> {
    let lookup = engine::Lookup::new(context.transactions);
    let name = |at: usize| levels.get(at).and_then(|level: &PropertyLevel| level.name.as_deref());
    let Some(schema) = name(0) else { return Ok(()) };
    lookup.schema_id(database, schema)?;
    let Some(inner) = name(1) else { return Ok(()) };
    if levels[1].kind.trim().eq_ignore_ascii_case("TYPE") {
        return lookup.type_named(database, schema, inner).map(drop);
    }
    lookup.holder(database, schema, inner).map(drop)
}

fn size_bytes(value: &Value) -> usize {
    match value {
        Value::Char(bytes) | Value::Binary(bytes) => bytes.len(),
        Value::NChar(units) => units.len() * 2,
        _ => 16,
    }
}
