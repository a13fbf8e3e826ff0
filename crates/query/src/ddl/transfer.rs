//! ALTER SCHEMA ... TRANSFER: moves an object or a type to another schema of its database.

use engine::{Lookup, ObjectDef};
use plan_ir::exec_context::ExecContext;
use plan_ir::names::same_name;
use tsql::ast::{self, ObjectName};
use types::SqlError;

use super::subject::{schema_of, with_transaction};

/// The class before `::`.
enum Class {
    Object,
    Type,
    XmlSchemaCollection,
}

/// Runs it. Errors 102 (no such class), 15151 (no such schema or object), 15347 (a constraint), 15348 (schema-bound), 15530 (the name is used).
pub(super) fn transfer(alter: &ast::AlterSchema, context: &mut ExecContext<'_>) -> Result<(), SqlError> {
    let class = match &alter.class {
        None => Class::Object,
        Some(word) if word.is("OBJECT") => Class::Object,
        Some(word) if word.is("TYPE") => Class::Type,
        Some(word) if word.is("XML SCHEMA COLLECTION") => Class::XmlSchemaCollection,
        Some(word) => return Err(crate::errors::syntax_near(&word.value)),
    };
    let schema = alter.name.value.as_str();
    let is_of_system = ["sys", "INFORMATION_SCHEMA"].iter().any(|system| same_name(system, schema));
    let found = Lookup::new(context.transactions).schema_id(context.database, schema)?;
    if found.is_none() || is_of_system {
        return Err(SqlError::new(15151, &[&"alter", &"schema", &schema]));
    }
    match class {
        Class::Object => object(&alter.object, schema, context),
        Class::Type => alias_type(&alter.object, schema, context),
        Class::XmlSchemaCollection => Err(missing("XML schema collection", &alter.object)),
    }
}

fn missing(kind: &str, name: &ObjectName) -> SqlError {
    SqlError::new(15151, &[&"find", &kind, &name.name.value])
}

/// Does the name denote the current database?
fn is_here(name: &ObjectName, context: &ExecContext<'_>) -> bool {
    let database = name.database.as_ref();
    name.server.is_none()
        && database.is_none_or(|database| same_name(&database.value, context.database.name()))
        && !name.name.value.starts_with('#')
}

fn object(name: &ObjectName, schema: &str, context: &mut ExecContext<'_>) -> Result<(), SqlError> {
    let absent = || missing("object", name);
    if !is_here(name, context) {
        return Err(absent());
    }
    let database = context.database.clone();
    let lookup = Lookup::new(context.transactions);
    let holder = lookup.holder(&database, &schema_of(name), &name.name.value)?.ok_or_else(absent)?;
    if matches!(&holder, ObjectDef::Table(table) if table.is_system) {
        return Err(absent());
    }
    // A constraint or a trigger goes with its table.
    let is_trigger =
        matches!(&holder, ObjectDef::Module(module) if module.kind == engine::ModuleKind::Trigger);
    if is_trigger || !same_name(holder.name(), &name.name.value) {
        return Err(SqlError::new(15347, &[]));
    }
    with_transaction(context, &database, |transaction| database.lock_definition(transaction, &holder))?;
    let id = holder.object_id();
    let is_bound = matches!(&holder, ObjectDef::Module(module) if module.is_schema_bound)
        || super::schema_binding::module_that_needs(&database, &holder, None, context)?.is_some()
        || super::sequence::default_that_needs(&database, id, context)?.is_some();
    if is_bound {
        return Err(SqlError::new(15348, &[]));
    }
    with_transaction(context, &database, |transaction| database.transfer_object(transaction, id, schema))
}

fn alias_type(name: &ObjectName, schema: &str, context: &mut ExecContext<'_>) -> Result<(), SqlError> {
    let absent = || missing("type", name);
    if !is_here(name, context) {
        return Err(absent());
    }
    let database = context.database.clone();
    let lookup = Lookup::new(context.transactions);
    let def = lookup.type_named(&database, &schema_of(name), &name.name.value)?.ok_or_else(absent)?;
    with_transaction(context, &database, |transaction| database.transfer_type(transaction, &def, schema))
}
