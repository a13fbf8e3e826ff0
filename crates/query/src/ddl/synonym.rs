//! CREATE SYNONYM: another name of an object, which is looked up when the synonym is used.

use engine::{ModuleKind, ModuleSettings, TriggerDef};
use plan_ir::exec_context::ExecContext;
use plan_ir::synonym::bracketed;
use tsql::ast;
use types::SqlError;

use super::subject::{find_object, schema_of, with_transaction};

/// CREATE SYNONYM. The base object need not exist. Errors 166, 2714, 2760.
pub(super) fn create(create: &ast::CreateSynonym, context: &mut ExecContext<'_>) -> Result<(), SqlError> {
    let name = &create.name;
    if name.database.is_some() {
        return Err(SqlError::new(166, &[&"'CREATE SYNONYM'"]));
    }
    if name.name.value.starts_with('#') {
        return Err(crate::errors::unsupported("temporary synonyms"));
    }
    let database = context.database.clone();
    if find_object(&database, name, context)?.is_some() {
        return Err(crate::errors::already_exists(&name.name.value));
    }
    let settings = ModuleSettings {
        quoted_identifier: context.options.quoted_identifier,
        ansi_nulls: context.options.ansi_nulls,
        is_schema_bound: false,
        uses_native_compilation: false,
        trigger: TriggerDef::default(),
    };
    let base = bracketed(&create.target);
    with_transaction(context, &database, |transaction| {
        let (schema, own) = (schema_of(name), &name.name.value);
        let kind = ModuleKind::Synonym;
        database.create_module(transaction, kind, &schema, own, &base, settings, &[], &[], None)
    })?;
    Ok(())
}
