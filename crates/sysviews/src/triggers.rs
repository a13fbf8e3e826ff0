//! Triggers: sys.triggers, sys.trigger_events, sys.trigger_event_types, and the properties of OBJECTPROPERTY about them.

use std::sync::Arc;

use engine::{ModuleDef, ModuleKind, ObjectDef, ObjectId, TriggerEvent};
use plan_ir::ddl_events::{self, DdlEvent};
use plan_ir::view::{SystemView, ViewContext};
use tsql::ast::StatementKind;
use types::{SqlError, Value};

use super::objects::object_cells;

type Context<'a, 'b, 'c> = &'a mut ViewContext<'b, 'c>;

pub(super) static VIEWS: &[SystemView] = &[
    SystemView::new(
        "triggers",
        "name sysname, object_id int not null, parent_class tinyint not null, parent_class_desc nvarchar(60), parent_id int not null, \
         type char(2), type_desc nvarchar(60), create_date datetime not null, modify_date datetime not null, is_ms_shipped bit, \
         is_disabled bit, is_not_for_replication bit, is_instead_of_trigger bit",
        triggers,
    ),
    SystemView::new(
        "trigger_events",
        "object_id int not null, type int not null, type_desc nvarchar(60) not null, is_first bit, is_last bit, event_group_type int, \
         event_group_type_desc nvarchar(60), is_trigger_event bit",
        events,
    ),
    SystemView::new(
        "trigger_event_types",
        "type int not null, type_name nvarchar(64), parent_type int",
        event_types,
    ),
];

fn triggers_of(context: &ViewContext<'_, '_>) -> Vec<Arc<ModuleDef>> {
    let all = context.runtime.objects_of(context.database).into_iter().filter_map(|object| match object {
        ObjectDef::Module(module) if module.kind == ModuleKind::Trigger => Some(module),
        _ => None,
    });
    all.collect()
}

/// The DDL triggers of the database.
fn database_triggers(context: &ViewContext<'_, '_>) -> Vec<Arc<ModuleDef>> {
    let all = context.runtime.objects_of(context.database).into_iter().filter_map(|object| match object {
        ObjectDef::Module(module) if module.kind == ModuleKind::DatabaseTrigger => Some(module),
        _ => None,
    });
    all.collect()
}

/// The events of a DDL trigger, each with the group by which it is named, if it is.
fn database_events(trigger: &ModuleDef) -> Vec<(&'static DdlEvent, Option<&'static DdlEvent>)> {
    let Ok(StatementKind::CreateTrigger(text)) = plan_ir::stored::parse_module(trigger) else {
        return Vec::new();
    };
    let named: Vec<&DdlEvent> =
        text.events.iter().filter_map(|name| ddl_events::named(&name.value)).collect();
    let single = ddl_events::ALL.iter().filter(|event| !event.is_group());
    let by = |event: &'static DdlEvent| {
        let first = named.iter().find(|one| one.number == event.number);
        let found = first.or_else(|| named.iter().find(|one| one.covers(event)))?;
        Some((event, Some(*found).filter(|one| one.is_group())))
    };
    single.filter_map(by).collect()
}

fn triggers(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for trigger in database_triggers(context) {
        let mut cells = object_cells(&ObjectDef::Module(trigger.clone()));
        cells.retain(|cell| !matches!(cell.0, "schema_id" | "parent_object_id" | "type" | "type_desc"));
        cells.extend([
            ("parent_class", 0.into()),
            ("parent_class_desc", "DATABASE".into()),
            ("parent_id", 0.into()),
            ("type", "TR".into()),
            ("type_desc", "SQL_TRIGGER".into()),
            ("is_disabled", trigger.trigger.is_disabled.into()),
            ("is_not_for_replication", false.into()),
            ("is_instead_of_trigger", false.into()),
        ]);
        context.row(&cells);
    }
    for trigger in triggers_of(context) {
        let mut cells = object_cells(&ObjectDef::Module(trigger.clone()));
        cells.retain(|cell| !matches!(cell.0, "schema_id" | "parent_object_id"));
        cells.extend([
            ("parent_class", 1.into()),
            ("parent_class_desc", "OBJECT_OR_COLUMN".into()),
            ("parent_id", trigger.parent_object_id.into()),
            ("is_disabled", trigger.trigger.is_disabled.into()),
            ("is_not_for_replication", trigger.trigger.is_not_for_replication.into()),
            ("is_instead_of_trigger", trigger.trigger.is_instead_of.into()),
        ]);
        context.row(&cells);
    }
    Ok(())
}

fn events(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for trigger in database_triggers(context) {
        for (event, group) in database_events(&trigger) {
            context.row(&[
                ("object_id", trigger.object_id.into()),
                ("type", event.number.into()),
                ("type_desc", event.name.into()),
                ("is_first", false.into()),
                ("is_last", false.into()),
                ("event_group_type", group.map(|group| group.number).into()),
                ("event_group_type_desc", group.map(|group| group.name.to_string()).into()),
                ("is_trigger_event", true.into()),
            ]);
        }
    }
    for trigger in triggers_of(context) {
        for event in TriggerEvent::ALL.into_iter().filter(|event| trigger.trigger.events.has(*event)) {
            context.row(&[
                ("object_id", trigger.object_id.into()),
                ("type", event.number().into()),
                ("type_desc", event.name().into()),
                ("is_first", trigger.trigger.first.has(event).into()),
                ("is_last", trigger.trigger.last.has(event).into()),
                ("is_trigger_event", true.into()),
            ]);
        }
    }
    Ok(())
}

fn event_types(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for event in TriggerEvent::ALL {
        context.row(&[("type", event.number().into()), ("type_name", event.name().into())]);
    }
    for event in ddl_events::ALL {
        context.row(&[
            ("type", event.number.into()),
            ("type_name", event.name.into()),
            ("parent_type", event.parent.into()),
        ]);
    }
    Ok(())
}

/// A property of a trigger, its name in lower case.
pub(super) fn property(trigger: &ModuleDef, name: &str) -> Option<Value> {
    let def = &trigger.trigger;
    let is_set = match name.strip_prefix("execis")? {
        "triggerdisabled" => def.is_disabled,
        "triggernotforrepl" => def.is_not_for_replication,
        "aftertrigger" => !def.is_instead_of,
        "insteadoftrigger" => def.is_instead_of,
        rest => {
            let (events, rest) = match (rest.strip_prefix("first"), rest.strip_prefix("last")) {
                (Some(rest), _) => (def.first, rest),
                (_, Some(rest)) => (def.last, rest),
                _ => (def.events, rest),
            };
            events.has(event_of(rest.strip_suffix("trigger")?)?)
        }
    };
    Some(Value::Int(i32::from(is_set)))
}

/// A property of a table or view that tells of its triggers.
pub(super) fn property_of_parent(
    parent: ObjectId,
    name: &str,
    objects: impl FnOnce() -> Vec<ObjectDef>,
) -> Option<Value> {
    let name = name.strip_prefix("table").unwrap_or(name);
    let own = || {
        let own = objects().into_iter().filter_map(|object| match object {
            ObjectDef::Module(module)
                if module.kind == ModuleKind::Trigger && module.parent_object_id == parent =>
            {
                Some(module)
            }
            _ => None,
        });
        own.collect::<Vec<_>>()
    };
    let has = |test: &dyn Fn(&ModuleDef) -> bool, own: Vec<Arc<ModuleDef>>| {
        Some(Value::Int(i32::from(own.iter().any(|trigger| test(trigger)))))
    };
    if let Some(kind) = name.strip_prefix("has") {
        return match kind {
            "aftertrigger" => has(&|trigger| !trigger.trigger.is_instead_of, own()),
            "insteadoftrigger" => has(&|trigger| trigger.trigger.is_instead_of, own()),
            _ => {
                let event = event_of(kind.strip_suffix("trigger")?)?;
                has(&|trigger| trigger.trigger.events.has(event), own())
            }
        };
    }
    if let Some(event) = name.strip_suffix("triggercount").and_then(event_of) {
        let count = own().iter().filter(|trigger| trigger.trigger.events.has(event)).count();
        return Some(Value::Int(i32::try_from(count).unwrap_or(i32::MAX)));
    }
    let event = event_of(name.strip_suffix("trigger")?)?;
    let own = own();
    let found = own.iter().find(|trigger| trigger.trigger.events.has(event));
    Some(Value::Int(found.map_or(0, |trigger| trigger.object_id)))
}

fn event_of(name: &str) -> Option<TriggerEvent> {
    TriggerEvent::ALL.into_iter().find(|event| event.name().eq_ignore_ascii_case(name))
}
