//! CREATE, ALTER, DROP, ENABLE and DISABLE TRIGGER of DML triggers; `sp_settriggerorder`.

use std::sync::Arc;

use engine::{
    Database, ModuleDef, ModuleKind, ModuleSettings, NewTrigger, ObjectDef, TriggerDef, TriggerEvent,
    TriggerEvents,
};
use plan_ir::exec_context::ExecContext;
use plan_ir::names::{same_name, written};
use tsql::ast::{self, ModuleAction, ObjectName, TriggerScope, TriggerTiming};
use types::SqlError;

use super::subject::{database_of, find_object, there, with_transaction};

/// Creates or replaces a trigger. Errors 166, 2108, 8197, 2103, 2110, 208, 2714, 2010, 1034, 1084, 2111, 2112, 2113.
pub(super) fn create(
    create: &ast::CreateTrigger,
    text: &str,
    context: &mut ExecContext<'_>,
) -> Result<(), SqlError> {
    let TriggerScope::Object(on) = &create.on else {
        return Err(crate::errors::unsupported("server and logon triggers"));
    };
    if create.name.database.is_some() {
        return Err(SqlError::new(166, &[&"'CREATE TRIGGER'"]));
    }
    let database = context.database.clone();
    let is_elsewhere = on.database.as_ref().is_some_and(|name| !same_name(&name.value, database.name()));
    if is_elsewhere || on.server.is_some() {
        return Err(SqlError::new(2108, &[&create.name.name.value]));
    }
    let is_instead_of = create.timing == TriggerTiming::InsteadOf;
    let parent = parent_of(on, is_instead_of, &database, context)?;
    let (schema, parent_name) = schema_and_name(&parent);
    if create.name.schema.as_ref().is_some_and(|own| !same_name(&own.value, &schema)) {
        return Err(SqlError::new(2103, &[&create.name.name.value, &parent_name]));
    }
    let name = ObjectName {
        schema: Some(ast::Ident::new(&*schema)),
        ..ObjectName::simple(create.name.name.value.clone())
    };
    let replace = replaced(create, &name, &parent, &database, context)?;
    let trigger = TriggerDef {
        events: events_of(&create.events)?,
        is_instead_of,
        is_disabled: false,
        is_not_for_replication: create.not_for_replication,
        first: TriggerEvents::default(),
        last: TriggerEvents::default(),
    };
    let object = ObjectDef::clone(&parent);
    with_transaction(context, &database, |transaction| database.lock_definition(transaction, &object))?;
    if is_instead_of {
        check_instead_of(&trigger, &parent, replace.as_deref(), &database)?;
    }
    let new = NewTrigger {
        parent: &parent,
        name: replace.as_ref().map_or(name.name.value.as_str(), |old| &*old.name),
        definition: text,
        settings: ModuleSettings {
            quoted_identifier: context.options.quoted_identifier,
            ansi_nulls: context.options.ansi_nulls,
            is_schema_bound: false,
            uses_native_compilation: false,
            trigger,
        },
        replace: replace.as_ref(),
    };
    let made = with_transaction(context, &database, |transaction| database.create_trigger(transaction, &new));
    match (made, create.action) {
        // Another transaction has created it meanwhile: it is altered.
        (Err(error), ModuleAction::CreateOrAlter) if error.number == 2714 && replace.is_none() => {
            Err(SqlError::stale_plan())
        }
        (made, _) => made.map(drop),
    }
}

/// The table of a trigger, or the view of an INSTEAD OF trigger. Error 8197.
fn parent_of(
    on: &ObjectName,
    is_instead_of: bool,
    database: &Arc<Database>,
    context: &ExecContext<'_>,
) -> Result<ObjectDef, SqlError> {
    let found = if on.name.value.starts_with('#') { None } else { find_object(database, on, context)? };
    match found {
        Some(ObjectDef::Table(table)) if !table.is_system => Ok(ObjectDef::Table(table)),
        Some(ObjectDef::Module(view)) if is_instead_of && view.kind == ModuleKind::View => {
            Ok(ObjectDef::Module(view))
        }
        _ => Err(SqlError::new(8197, &[&written(on)])),
    }
}

fn schema_and_name(object: &ObjectDef) -> (Arc<str>, Arc<str>) {
    match object {
        ObjectDef::Table(table) => (table.schema.clone(), table.name.clone()),
        ObjectDef::Module(module) => (module.schema.clone(), module.name.clone()),
        ObjectDef::Sequence(sequence) => (sequence.schema.clone(), sequence.name.clone()),
    }
}

/// The trigger that the new one replaces, if there is one. Errors 208, 2714, 2010, 2110.
fn replaced(
    create: &ast::CreateTrigger,
    name: &ObjectName,
    parent: &ObjectDef,
    database: &Arc<Database>,
    context: &ExecContext<'_>,
) -> Result<Option<Arc<ModuleDef>>, SqlError> {
    match (create.action, find_object(database, name, context)?) {
        (ModuleAction::Alter, None) => Err(crate::errors::invalid_object(&written(&create.name))),
        (ModuleAction::Create | ModuleAction::CreateOrAlter, None) => Ok(None),
        (ModuleAction::Create, Some(_)) => Err(crate::errors::already_exists(&name.name.value)),
        (_, Some(ObjectDef::Module(module))) if module.kind == ModuleKind::Trigger => {
            if module.parent_object_id != parent.object_id() {
                return Err(SqlError::new(2110, &[&name.name.value, &schema_and_name(parent).1]));
            }
            Ok(Some(module))
        }
        (_, Some(_)) => Err(crate::errors::alter_wrong_kind(&written(&create.name))),
    }
}

/// INSERT, UPDATE and DELETE, each once. Errors 1034, 1084.
fn events_of(names: &[ast::Ident]) -> Result<TriggerEvents, SqlError> {
    let mut events = TriggerEvents::default();
    for name in names {
        let event = TriggerEvent::ALL.into_iter().find(|event| name.is(event.name()));
        let event = event.ok_or_else(|| SqlError::new(1084, &[&name.value]))?;
        if events.has(event) {
            return Err(SqlError::new(1034, &[&event.name()]));
        }
        events = events.with(event);
    }
    Ok(events)
}

/// One INSTEAD OF trigger an event; none for an event that cascades; none on a view WITH CHECK OPTION. Errors 2111, 2112, 2113.
fn check_instead_of(
    trigger: &TriggerDef,
    parent: &ObjectDef,
    replace: Option<&ModuleDef>,
    database: &Database,
) -> Result<(), SqlError> {
    let name = schema_and_name(parent).1;
    let kind = if matches!(parent, ObjectDef::Table(_)) { "table" } else { "view" };
    for other in database.catalog().triggers_of(parent.object_id()) {
        let is_replaced = replace.is_some_and(|old| old.object_id == other.object_id);
        if is_replaced || !other.trigger.is_instead_of {
            continue;
        }
        let both = |event: &TriggerEvent| trigger.events.has(*event) && other.trigger.events.has(*event);
        if let Some(event) = TriggerEvent::ALL.iter().find(|event| both(event)) {
            return Err(SqlError::new(2111, &[&kind, &name, &event.name()]));
        }
    }
    match parent {
        ObjectDef::Table(table) => {
            let cascades = table.foreign_keys.iter().any(|key| {
                (key.delete_action != 0 && trigger.events.has(TriggerEvent::Delete))
                    || (key.update_action != 0 && trigger.events.has(TriggerEvent::Update))
            });
            if cascades { Err(SqlError::new(2113, &[&name])) } else { Ok(()) }
        }
        ObjectDef::Module(view) => {
            let is_checked = matches!(
                plan_ir::stored::parse_module(view),
                Ok(ast::StatementKind::CreateView(view)) if view.check_option
            );
            if is_checked { Err(SqlError::new(2112, &[&name])) } else { Ok(()) }
        }
        ObjectDef::Sequence(_) => Ok(()),
    }
}

/// DROP TRIGGER of one name. Errors 3701, 3705.
pub(super) fn drop_one(
    name: &ObjectName,
    if_exists: bool,
    context: &mut ExecContext<'_>,
) -> Result<(), SqlError> {
    let missing = || crate::errors::cannot_drop("trigger", &written(name));
    let Some(database) = there(database_of(name, context))? else {
        return if if_exists { Ok(()) } else { Err(missing()) };
    };
    match find_object(&database, name, context)? {
        Some(ObjectDef::Module(module)) if module.kind == ModuleKind::Trigger => {
            with_transaction(context, &database, |transaction| database.drop_trigger(transaction, &module))
        }
        Some(_) => Err(crate::errors::drop_wrong_kind("trigger", &written(name))),
        None if if_exists => Ok(()),
        None => Err(missing()),
    }
}

/// ENABLE TRIGGER and DISABLE TRIGGER. Errors 1088 for what is not there.
pub(super) fn enable(change: &ast::EnableTrigger, context: &mut ExecContext<'_>) -> Result<(), SqlError> {
    let TriggerScope::Object(on) = &change.on else {
        return Err(crate::errors::unsupported("server and logon triggers"));
    };
    let missing = |name: &ObjectName| SqlError::new(1088, &[&written(name)]);
    let database = there(database_of(on, context))?.ok_or_else(|| missing(on))?;
    let parent = find_object(&database, on, context)?.ok_or_else(|| missing(on))?;
    with_transaction(context, &database, |transaction| database.lock_definition(transaction, &parent))?;
    let all = database.catalog().triggers_of(parent.object_id());
    let mut wanted = Vec::new();
    for name in &change.triggers {
        let is_named = |trigger: &&Arc<ModuleDef>| {
            same_name(&trigger.name, &name.name.value)
                && name.schema.as_ref().is_none_or(|schema| same_name(&schema.value, &trigger.schema))
        };
        wanted.push(all.iter().find(is_named).ok_or_else(|| missing(name))?.clone());
    }
    if change.triggers.is_empty() {
        wanted = all;
    }
    set_disabled(&database, &wanted, !change.enable, context)
}

/// ALTER TABLE ... ENABLE or DISABLE TRIGGER; no names: all. Error 4920.
pub(super) fn enable_in(
    database: &Arc<Database>,
    table: &engine::TableDef,
    (is_enabled, names): (bool, &ast::Names),
    context: &mut ExecContext<'_>,
) -> Result<(), SqlError> {
    let all = database.catalog().triggers_of(table.object_id);
    let ast::Names::List(names) = names else { return set_disabled(database, &all, !is_enabled, context) };
    let mut wanted = Vec::new();
    for name in names {
        let found = all.iter().find(|trigger| same_name(&trigger.name, &name.value));
        let found = found.ok_or_else(|| SqlError::new(4920, &[&name.value, &table.name]))?;
        wanted.push(found.clone());
    }
    set_disabled(database, &wanted, !is_enabled, context)
}

fn set_disabled(
    database: &Arc<Database>,
    triggers: &[Arc<ModuleDef>],
    is_disabled: bool,
    context: &mut ExecContext<'_>,
) -> Result<(), SqlError> {
    for trigger in triggers.iter().filter(|trigger| trigger.trigger.is_disabled != is_disabled) {
        let def = TriggerDef { is_disabled, ..trigger.trigger };
        with_transaction(context, database, |transaction| database.set_trigger(transaction, trigger, def))?;
    }
    Ok(())
}

/// Where `sp_settriggerorder` puts a trigger among those of its event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerOrder {
    /// Before the others.
    First,
    /// Behind the others.
    Last,
    /// Wherever.
    None,
}

/// `sp_settriggerorder`. Errors 15165 (no such trigger), 15125 (not for this event), 15130 (another is there), 15133 (INSTEAD OF).
pub fn set_trigger_order(
    name: &ObjectName,
    order: TriggerOrder,
    event: TriggerEvent,
    context: &mut ExecContext<'_>,
) -> Result<(), SqlError> {
    let missing = || SqlError::new(15165, &[&written(name)]);
    let database = there(database_of(name, context))?.ok_or_else(missing)?;
    let Some(ObjectDef::Module(trigger)) = find_object(&database, name, context)? else {
        return Err(missing());
    };
    if trigger.kind != ModuleKind::Trigger {
        return Err(missing());
    }
    if !trigger.trigger.events.has(event) {
        return Err(SqlError::new(15125, &[&written(name), &event.name()]));
    }
    if trigger.trigger.is_instead_of {
        return Err(SqlError::new(15133, &[&written(name)]));
    }
    let def = trigger.trigger;
    let (first, last) = (def.first.without(event), def.last.without(event));
    let (word, def) = match order {
        TriggerOrder::First => ("first", TriggerDef { first: first.with(event), last, ..def }),
        TriggerOrder::Last => ("last", TriggerDef { first, last: last.with(event), ..def }),
        TriggerOrder::None => ("none", TriggerDef { first, last, ..def }),
    };
    let others = database.catalog().triggers_of(trigger.parent_object_id);
    let is_there = others.iter().filter(|other| other.object_id != trigger.object_id).any(|other| {
        let taken = if order == TriggerOrder::First { other.trigger.first } else { other.trigger.last };
        taken.has(event)
    });
    if is_there && order != TriggerOrder::None {
        return Err(SqlError::new(15130, &[&word, &event.name()]));
    }
    with_transaction(context, &database, |transaction| database.set_trigger(transaction, &trigger, def))
}
