//! Extended properties as rows, and the resolution of the up to three levels of names that identify their target.

use std::sync::Arc;

use engine::{Database, Entry, ModuleKind, ObjectDef, PropertyOwner};
use plan_ir::context::BindContext;
use plan_ir::front_end::BindAnew;
use plan_ir::names::same_name;
use plan_ir::view::{SystemView, ViewContext};
use types::{SqlError, Value};

use super::binding::context_of;
use super::dependencies::columns_of_module;

type Context<'a, 'b, 'c> = &'a mut ViewContext<'b, 'c>;

const LISTED: &str = "objtype nvarchar(128), objname nvarchar(128), name sysname, value sql_variant";

pub(super) static VIEWS: &[SystemView] = &[
    SystemView::new(
        "extended_properties",
        "class tinyint not null, class_desc nvarchar(60), major_id int not null, minor_id int not null, name sysname, value sql_variant",
        extended_properties,
    ),
    SystemView::new("fn_listextendedproperty", LISTED, list).with_parameters(7),
    SystemView::new("fn_listextendedproperty", LISTED, list).with_parameters(7).in_schema("dbo"),
];

/// One level: a kind of thing, and which one; any when none is named.
pub struct PropertyLevel {
    /// The kind as it is written: SCHEMA, TABLE.
    pub kind: String,
    /// Its name.
    pub name: Option<String>,
}

/// Something that properties may stand at.
pub struct PropertyTarget {
    /// What the properties belong to.
    pub owner: PropertyOwner,
    kind: Option<String>,
    name: Option<String>,
}

fn class_description(class: u8) -> &'static str {
    match class {
        0 => "DATABASE",
        1 => "OBJECT_OR_COLUMN",
        2 => "PARAMETER",
        3 => "SCHEMA",
        4 => "DATABASE_PRINCIPAL",
        6 => "TYPE",
        7 => "INDEX",
        _ => "DATASPACE",
    }
}

fn extended_properties(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for entry in context.runtime.entries_of(context.database) {
        let Entry::Property(property) = &*entry else { continue };
        context.row(&[
            ("class", i32::from(property.owner.class).into()),
            ("class_desc", class_description(property.owner.class).into()),
            ("major_id", property.owner.major_id.into()),
            ("minor_id", property.owner.minor_id.into()),
            ("name", property.name.to_string().into()),
            ("value", property.value.clone().into()),
        ]);
    }
    Ok(())
}

/// `fn_listextendedproperty(name, level0type, level0name, level1type, level1name, level2type, level2name)`.
fn list(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let argument = |index: usize| context.arguments.get(index).and_then(Value::as_text);
    let wanted = argument(0);
    let mut levels = Vec::new();
    for at in [1, 3, 5] {
        match argument(at) {
            Some(kind) => levels.push(PropertyLevel { kind, name: argument(at + 1) }),
            None => break,
        }
    }
    let targets = context.runtime.look_over(|lookup| {
        let bind = context_of(context.runtime, context.database, lookup);
        property_targets(context.runtime.front_end, &bind, context.database, &levels)
    });
    let entries = context.runtime.entries_of(context.database);
    for target in targets {
        for entry in &entries {
            let Entry::Property(property) = &**entry else { continue };
            let is_wanted = wanted.as_ref().is_none_or(|wanted| same_name(wanted, &property.name));
            if property.owner == target.owner && is_wanted {
                context.row(&[
                    ("objtype", target.kind.clone().into()),
                    ("objname", target.name.clone().into()),
                    ("name", property.name.to_string().into()),
                    ("value", property.value.clone().into()),
                ]);
            }
        }
    }
    Ok(())
}

/// What the levels lead to: the database itself when there are none, nothing when a kind is unknown there.
pub fn property_targets(
    front_end: &dyn BindAnew,
    context: &BindContext<'_>,
    database: &Arc<Database>,
    levels: &[PropertyLevel],
) -> Vec<PropertyTarget> {
    let owner = |class: u8, major_id: i32, minor_id: i32| PropertyOwner { class, major_id, minor_id };
    let target = |level: &PropertyLevel, owner: PropertyOwner, name: &str| PropertyTarget {
        owner,
        kind: Some(level.kind.trim().to_ascii_uppercase()),
        name: Some(name.to_string()),
    };
    let is_wanted =
        |level: &PropertyLevel, name: &str| level.name.as_ref().is_none_or(|wanted| same_name(wanted, name));
    let kind_of = |level: &PropertyLevel| level.kind.trim().to_ascii_uppercase();
    let Some(first) = levels.first() else {
        return vec![PropertyTarget { owner: owner(0, 0, 0), kind: None, name: None }];
    };
    // A statement that changes something has waited for the names before.
    let (lookup, image) = (context.lookup, context.lookup.image());
    let inside: Vec<_> =
        lookup.schemas(database, image).into_iter().filter(|schema| is_wanted(first, &schema.name)).collect();
    let Some(second) = levels.get(1) else {
        return match kind_of(first).as_str() {
            "SCHEMA" => inside.iter().map(|s| target(first, owner(3, s.schema_id, 0), &s.name)).collect(),
            "USER" if is_wanted(first, "dbo") => vec![target(first, owner(4, 1, 0), "dbo")],
            "FILEGROUP" if is_wanted(first, "PRIMARY") => vec![target(first, owner(20, 1, 0), "PRIMARY")],
            _ => Vec::new(),
        };
    };
    // Older versions had owners instead of schemas: USER means the same.
    if !matches!(kind_of(first).as_str(), "SCHEMA" | "USER") {
        return Vec::new();
    }
    let is_inside = |schema_id: i32| inside.iter().any(|schema| schema.schema_id == schema_id);
    if kind_of(second) == "TYPE" {
        let types = lookup
            .entries(database, image)
            .into_iter()
            .filter_map(|entry| match &*entry {
                Entry::Type(def) => Some(def.clone()),
                _ => None,
            })
            .filter(|def| is_inside(def.schema_id) && is_wanted(second, &def.name));
        return match levels.len() {
            2 => types.map(|def| target(second, owner(6, def.user_type_id, 0), &def.name)).collect(),
            _ => Vec::new(),
        };
    }
    let objects = lookup.objects(database, image).into_iter().filter(|object| {
        is_inside(object.schema_id()) && is_kind(object, &kind_of(second)) && is_wanted(second, object.name())
    });
    let Some(third) = levels.get(2) else {
        return objects
            .map(|object| target(second, owner(1, object.object_id(), 0), object.name()))
            .collect();
    };
    let mut found = Vec::new();
    for object in objects {
        for (part, name) in parts_of(front_end, context, database, &object, &kind_of(third)) {
            if is_wanted(third, &name) {
                found.push(target(third, part, &name));
            }
        }
    }
    found
}

/// Is the object of this level 1 kind?
fn is_kind(object: &ObjectDef, kind: &str) -> bool {
    match object {
        ObjectDef::Table(table) => kind == "TABLE" && !table.is_system,
        ObjectDef::Module(module) => match module.kind {
            ModuleKind::View => kind == "VIEW",
            ModuleKind::Procedure => kind == "PROCEDURE",
            ModuleKind::ScalarFunction | ModuleKind::InlineFunction | ModuleKind::TableFunction => {
                kind == "FUNCTION"
            }
            ModuleKind::Synonym => kind == "SYNONYM",
            ModuleKind::Trigger | ModuleKind::DatabaseTrigger | ModuleKind::TableType => false,
        },
        ObjectDef::Sequence(_) => kind == "SEQUENCE",
    }
}

/// The parts of an object that are of this level 2 kind.
fn parts_of(
    front_end: &dyn BindAnew,
    context: &BindContext<'_>,
    database: &Arc<Database>,
    object: &ObjectDef,
    kind: &str,
) -> Vec<(PropertyOwner, String)> {
    let id = object.object_id();
    let owner = |class: u8, major_id: i32, minor_id: i32| PropertyOwner { class, major_id, minor_id };
    match (object, kind) {
        (ObjectDef::Table(table), "COLUMN") => table
            .columns
            .iter()
            .map(|column| (owner(1, id, column.column_id), column.name.to_string()))
            .collect(),
        (ObjectDef::Table(table), "CONSTRAINT") => {
            table.constraints().into_iter().map(|(id, name, _)| (owner(1, id, 0), name.to_string())).collect()
        }
        (ObjectDef::Table(table), "INDEX") => {
            let named = |index: &engine::IndexDef| {
                index.name.as_ref().map(|name| (owner(7, id, index.index_id), name.to_string()))
            };
            table.indexes.iter().filter_map(named).collect()
        }
        (ObjectDef::Module(module), "COLUMN") => {
            let columns = columns_of_module(front_end, context, module).into_iter().enumerate();
            columns.map(|(at, column)| (owner(1, id, at as i32 + 1), column.name)).collect()
        }
        (ObjectDef::Module(module), "PARAMETER") => {
            let parameters = super::objects::module_parameters(database, module).into_iter().enumerate();
            parameters.map(|(at, parameter)| (owner(2, id, at as i32 + 1), parameter.name)).collect()
        }
        _ => Vec::new(),
    }
}
