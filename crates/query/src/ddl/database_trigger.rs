//! CREATE, ALTER, DROP, ENABLE and DISABLE TRIGGER ... ON DATABASE.

use std::sync::Arc;

use engine::{Database, Lookup, ModuleDef, ModuleKind, ModuleSettings, ObjectDef, TriggerDef};
use plan_ir::ddl_events;
use plan_ir::exec_context::ExecContext;
use plan_ir::names::{same_name, written};
use tsql::ast::{self, ModuleAction, ObjectName, TriggerTiming};
use types::SqlError;

use super::subject::with_transaction;

/// Triggers of a database have no schema; the catalog has them in this one.
const HOME: &str = "sys";

/// Creates or replaces a trigger of the current database. Errors 1084, 1094, 208, 2714.
pub(super) fn create(
    create: &ast::CreateTrigger,
    text: &str,
    context: &mut ExecContext<'_>,
) -> Result<(), SqlError> {
    let name = &create.name.name.value;
    if !create.name.is_simple() {
        return Err(SqlError::new(1094, &[]));
    }
    if create.timing == TriggerTiming::InsteadOf {
        return Err(crate::errors::syntax_near("INSTEAD"));
    }
    if create.not_for_replication {
        return Err(crate::errors::syntax_near("NOT"));
    }
    for event in &create.events {
        if ddl_events::named(&event.value).is_none() {
            return Err(match may_be_event(&event.value) {
                true => crate::errors::unsupported(&format!("the event {}", event.value)),
                false => SqlError::new(1084, &[&event.value]),
            });
        }
    }
    let database = context.database.clone();
    let existing = find(&database, name, context)?;
    let replace = match (create.action, existing) {
        (ModuleAction::Alter, None) => return Err(crate::errors::invalid_object(name)),
        (ModuleAction::Create, Some(_)) => return Err(crate::errors::already_exists(name)),
        (_, existing) => existing,
    };
    let settings = ModuleSettings {
        quoted_identifier: context.options.quoted_identifier,
        ansi_nulls: context.options.ansi_nulls,
        is_schema_bound: false,
        uses_native_compilation: false,
        trigger: TriggerDef::default(),
    };
    let real = replace.as_ref().map_or(name.as_str(), |old| &*old.name);
    put(&database, real, text, settings, replace.as_ref(), context)
}

/// Events of objects and statements that are not here.
fn may_be_event(name: &str) -> bool {
    let verbs = [
        "CREATE_", "ALTER_", "DROP_", "GRANT_", "DENY_", "REVOKE_", "ADD_", "BIND_", "UNBIND_", "DDL_",
        "AUDIT_",
    ];
    let upper = name.to_ascii_uppercase();
    upper == "RENAME" || upper == "LOGON" || verbs.iter().any(|verb| upper.starts_with(verb))
}

fn put(
    database: &Arc<Database>,
    name: &str,
    text: &str,
    settings: ModuleSettings,
    replace: Option<&Arc<ModuleDef>>,
    context: &mut ExecContext<'_>,
) -> Result<(), SqlError> {
    let kind = ModuleKind::DatabaseTrigger;
    with_transaction(context, database, |transaction| {
        database.create_module(transaction, kind, HOME, name, text, settings, &[], &[], replace)
    })?;
    Ok(())
}

fn find(
    database: &Arc<Database>,
    name: &str,
    context: &ExecContext<'_>,
) -> Result<Option<Arc<ModuleDef>>, SqlError> {
    Ok(match Lookup::new(context.transactions).object(database, HOME, name)? {
        Some(ObjectDef::Module(module)) if module.kind == ModuleKind::DatabaseTrigger => Some(module),
        _ => None,
    })
}

/// DROP TRIGGER name ON DATABASE. Error 3701.
pub(super) fn drop_one(
    name: &ObjectName,
    if_exists: bool,
    context: &mut ExecContext<'_>,
) -> Result<(), SqlError> {
    let database = context.database.clone();
    let found = if name.is_simple() { find(&database, &name.name.value, context)? } else { None };
    match found {
        Some(module) => {
            with_transaction(context, &database, |transaction| database.drop_module(transaction, &module))
        }
        None if if_exists => Ok(()),
        None => Err(crate::errors::cannot_drop("trigger", &written(name))),
    }
}

/// ENABLE and DISABLE TRIGGER names ON DATABASE; no names: all. Error 1088.
pub(super) fn enable(change: &ast::EnableTrigger, context: &mut ExecContext<'_>) -> Result<(), SqlError> {
    let database = context.database.clone();
    let mut wanted = Vec::new();
    for name in &change.triggers {
        let found = if name.is_simple() { find(&database, &name.name.value, context)? } else { None };
        wanted.push(found.ok_or_else(|| SqlError::new(1088, &[&written(name)]))?);
    }
    if change.triggers.is_empty() {
        for known in database.catalog().triggers_of(0) {
            wanted.extend(find(&database, &known.name, context)?);
        }
    }
    for trigger in wanted.iter().filter(|trigger| trigger.trigger.is_disabled == change.enable) {
        let settings = ModuleSettings {
            quoted_identifier: trigger.quoted_identifier,
            ansi_nulls: trigger.ansi_nulls,
            is_schema_bound: false,
            uses_native_compilation: false,
            trigger: TriggerDef { is_disabled: !change.enable, ..trigger.trigger },
        };
        debug_assert!(same_name(&trigger.schema, HOME));
        put(&database, &trigger.name, &trigger.definition, settings, Some(trigger), context)?;
    }
    Ok(())
}
