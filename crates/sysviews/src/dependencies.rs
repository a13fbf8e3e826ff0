//! References of views, inline functions and CHECK constraints: their texts are bound again, and the binder reports the objects they use.

use std::sync::Arc;

use engine::{Database, ModuleDef, ModuleKind, ObjectDef, TableDef};
use plan_ir::context::BindContext;
use plan_ir::front_end::{BindAnew, BoundModule, ColumnUse, Reference};
use plan_ir::runtime::Runtime;
use plan_ir::view::{Cell, SystemView, ViewContext};
use plan_ir::view_shape::ViewColumn;
use types::SqlError;

use super::binding::context_of;

type Context<'a, 'b, 'c> = &'a mut ViewContext<'b, 'c>;

pub(super) static VIEWS: &[SystemView] = &[
    SystemView::new(
        "sql_expression_dependencies",
        "referencing_id int not null, referencing_minor_id int not null, referencing_class tinyint, referencing_class_desc nvarchar(60), \
         is_schema_bound_reference bit, referenced_class tinyint, referenced_class_desc nvarchar(60), referenced_server_name nvarchar(128), \
         referenced_database_name nvarchar(128), referenced_schema_name nvarchar(128), referenced_entity_name nvarchar(128), \
         referenced_id int, referenced_minor_id int not null, is_caller_dependent bit, is_ambiguous bit",
        expression_dependencies,
    ),
    SystemView::new(
        "sql_dependencies",
        "class tinyint not null, class_desc nvarchar(60), object_id int not null, column_id int not null, referenced_major_id int not null, \
         referenced_minor_id int not null, is_selected bit, is_updated bit, is_select_all bit",
        column_dependencies,
    ),
    SystemView::new(
        "dm_sql_referenced_entities",
        "referencing_minor_id int not null, referenced_server_name nvarchar(128), referenced_database_name nvarchar(128), \
         referenced_schema_name nvarchar(128), referenced_entity_name nvarchar(128), referenced_minor_name nvarchar(128), \
         referenced_id int, referenced_minor_id int not null, referenced_class tinyint, referenced_class_desc nvarchar(60), \
         is_caller_dependent bit not null, is_ambiguous bit not null, is_selected bit not null, is_updated bit not null, \
         is_select_all bit not null, is_all_columns_found bit not null, is_insert_all bit not null, is_incomplete bit not null",
        referenced_entities,
    )
    .with_parameters(2),
    SystemView::new(
        "dm_sql_referencing_entities",
        "referencing_schema_name nvarchar(128), referencing_entity_name sysname not null, referencing_id int, \
         referencing_class tinyint, referencing_class_desc nvarchar(60), is_caller_dependent bit not null",
        referencing_entities,
    )
    .with_parameters(2),
];

/// The columns of a view or inline function, which is bound again; none for other modules.
pub(crate) fn bound_columns(
    runtime: &Runtime<'_>,
    database: &Arc<Database>,
    module: &ModuleDef,
) -> Vec<ViewColumn> {
    let bound =
        runtime.look_over(|lookup| runtime.front_end.module(&context_of(runtime, database, lookup), module));
    bound.map(|bound| bound.columns).unwrap_or_default()
}

/// The same in an existing context.
pub(super) fn columns_of_module(
    front_end: &dyn BindAnew,
    context: &BindContext<'_>,
    module: &ModuleDef,
) -> Vec<ViewColumn> {
    front_end.module(context, module).map(|bound| bound.columns).unwrap_or_default()
}

/// Modules of one kind, bound again; one that no longer binds is left out.
fn bound_modules(runtime: &Runtime<'_>, database: &Arc<Database>, kind: ModuleKind) -> Vec<BoundModule> {
    let objects = runtime.objects_of(database).into_iter();
    let bound = objects.filter_map(|object| match object {
        ObjectDef::Module(module) if module.kind == kind => runtime
            .look_over(|lookup| runtime.front_end.module(&context_of(runtime, database, lookup), &module)),
        _ => None,
    });
    bound.collect()
}

/// The user's views and inline functions with their columns, bound again; one that no longer binds is left out.
pub(crate) fn bound_views(runtime: &Runtime<'_>, database: &Arc<Database>) -> Vec<(i32, Vec<ViewColumn>)> {
    [ModuleKind::View, ModuleKind::InlineFunction, ModuleKind::TableFunction]
        .into_iter()
        .flat_map(|kind| bound_modules(runtime, database, kind))
        .map(|module| (module.object_id, module.columns))
        .collect()
}

/// The id of an object's column by name; of an object other than a table, its position.
fn column_id(object: &ObjectDef, views: &[(i32, Vec<ViewColumn>)], name: &str) -> Option<i32> {
    match object {
        ObjectDef::Table(table) => table.column_ordinal(name).map(|at| table.columns[at].column_id),
        ObjectDef::Module(module) => {
            let columns = views.iter().find(|(id, _)| *id == module.object_id)?;
            let same = |column: &ViewColumn| plan_ir::names::same_name(&column.name, name);
            columns.1.iter().position(same).map(|at| at as i32 + 1)
        }
        ObjectDef::Sequence(_) => None,
    }
}

fn checks(context: &ViewContext<'_, '_>) -> Vec<(i32, Arc<TableDef>, Vec<i32>)> {
    let mut found = Vec::new();
    for table in super::objects::all_tables(context) {
        for check in &table.checks {
            let columns = context.runtime.look_over(|lookup| {
                let bind = context_of(context.runtime, context.database, lookup);
                context.runtime.front_end.named_columns(&bind, context.database, &table, &check.text)
            });
            found.push((check.object_id, table.clone(), columns));
        }
    }
    found
}

/// The columns that a schema-bound module uses.
fn bound_columns_of(context: Context<'_, '_, '_>, module: &BoundModule, views: &[(i32, Vec<ViewColumn>)]) {
    for (at, name) in &module.used {
        let (database, object) = &module.objects[*at];
        let Some(column) = column_id(object, views, name) else { continue };
        let schemas = context.runtime.schemas_of(database);
        let schema = schemas.iter().find(|schema| schema.schema_id == object.schema_id());
        context.row(&[
            ("referencing_id", module.object_id.into()),
            ("referencing_class", 1.into()),
            ("referencing_class_desc", "OBJECT_OR_COLUMN".into()),
            ("is_schema_bound_reference", true.into()),
            ("referenced_class", 1.into()),
            ("referenced_class_desc", "OBJECT_OR_COLUMN".into()),
            ("referenced_schema_name", schema.map(|schema| schema.name.to_string()).into()),
            ("referenced_entity_name", object.name().to_string().into()),
            ("referenced_id", object.object_id().into()),
            ("referenced_minor_id", column.into()),
        ]);
    }
}

fn expression_dependencies(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let views = bound_views(context.runtime, context.database);
    for kind in [ModuleKind::View, ModuleKind::InlineFunction] {
        for module in bound_modules(context.runtime, context.database, kind) {
            for (database, object) in &module.objects {
                let own = database.id() == context.database.id();
                let schema_id = object.schema_id();
                let mut schemas = context.runtime.schemas_of(database).into_iter();
                let schema = schemas.find(|schema| schema.schema_id == schema_id);
                context.row(&[
                    ("referencing_id", module.object_id.into()),
                    ("referencing_class", 1.into()),
                    ("referencing_class_desc", "OBJECT_OR_COLUMN".into()),
                    ("referenced_class", 1.into()),
                    ("referenced_class_desc", "OBJECT_OR_COLUMN".into()),
                    ("referenced_database_name", (!own).then(|| database.name().to_string()).into()),
                    ("referenced_schema_name", schema.map(|schema| schema.name.to_string()).into()),
                    ("referenced_entity_name", object.name().to_string().into()),
                    ("referenced_id", own.then(|| object.object_id()).into()),
                    ("is_schema_bound_reference", module.is_schema_bound.into()),
                ]);
            }
            if module.is_schema_bound {
                bound_columns_of(context, &module, &views);
            }
        }
    }
    called_and_read_by_procedures(context);
    for (id, table, columns) in checks(context) {
        for column in columns {
            context.row(&[
                ("referencing_id", id.into()),
                ("referencing_class", 1.into()),
                ("referencing_class_desc", "OBJECT_OR_COLUMN".into()),
                ("is_schema_bound_reference", true.into()),
                ("referenced_class", 1.into()),
                ("referenced_class_desc", "OBJECT_OR_COLUMN".into()),
                ("referenced_schema_name", table.schema.to_string().into()),
                ("referenced_entity_name", table.name.to_string().into()),
                ("referenced_id", table.object_id.into()),
                ("referenced_minor_id", column.into()),
            ]);
        }
    }
    Ok(())
}

fn column_dependencies(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let views = bound_views(context.runtime, context.database);
    let mut rows: Vec<(i32, i32, i32, u8)> = Vec::new();
    for kind in [ModuleKind::View, ModuleKind::InlineFunction] {
        for module in bound_modules(context.runtime, context.database, kind) {
            for (at, name) in &module.used {
                let (database, object) = &module.objects[*at];
                if database.id() == context.database.id()
                    && let Some(column) = column_id(object, &views, name)
                {
                    let class = u8::from(module.is_schema_bound);
                    rows.push((module.object_id, object.object_id(), column, class));
                }
            }
        }
    }
    for (id, table, columns) in checks(context) {
        rows.extend(columns.into_iter().map(|column| (id, table.object_id, column, 1)));
    }
    for (object_id, major, minor, class) in rows {
        let description = if class == 1 {
            "OBJECT_OR_COLUMN_REFERENCE_SCHEMA_BOUND"
        } else {
            "OBJECT_OR_COLUMN_REFERENCE_NON_SCHEMA_BOUND"
        };
        context.row(&[
            ("class", i32::from(class).into()),
            ("class_desc", description.into()),
            ("object_id", object_id.into()),
            ("referenced_major_id", major.into()),
            ("referenced_minor_id", minor.into()),
            ("is_selected", true.into()),
        ]);
    }
    Ok(())
}

/// The user's views, functions and procedures.
fn modules(context: &ViewContext<'_, '_>) -> Vec<Arc<ModuleDef>> {
    let objects = context.runtime.objects_of(context.database).into_iter();
    let module = |object| match object {
        ObjectDef::Module(module) => Some(module),
        _ => None,
    };
    objects.filter_map(module).collect()
}

fn references_of(context: &ViewContext<'_, '_>, module: &ModuleDef) -> Vec<Reference> {
    let runtime = context.runtime;
    runtime.look_over(|lookup| {
        runtime.front_end.references(&context_of(runtime, context.database, lookup), module)
    })
}

/// A procedure call without a schema is resolved at run time.
fn hangs_on_caller(reference: &Reference) -> bool {
    reference.is_called && reference.schema.is_none()
}

/// Procedures are not schema-bound: their references are listed as written.
fn called_and_read_by_procedures(context: Context<'_, '_, '_>) {
    let is_bound_whole = |kind| matches!(kind, ModuleKind::View | ModuleKind::InlineFunction);
    for module in modules(context).into_iter().filter(|module| !is_bound_whole(module.kind)) {
        for reference in references_of(context, &module) {
            let is_here = reference.database.is_none() && reference.server.is_none();
            let id = reference.object_id().filter(|_| is_here && !hangs_on_caller(&reference));
            context.row(&[
                ("referencing_id", module.object_id.into()),
                ("referencing_class", 1.into()),
                ("referencing_class_desc", "OBJECT_OR_COLUMN".into()),
                ("is_schema_bound_reference", module.is_schema_bound.into()),
                ("referenced_class", 1.into()),
                ("referenced_class_desc", "OBJECT_OR_COLUMN".into()),
                ("referenced_server_name", reference.server.clone().into()),
                ("referenced_database_name", reference.database.clone().into()),
                ("referenced_schema_name", reference.schema.clone().into()),
                ("referenced_entity_name", reference.name.clone().into()),
                ("referenced_id", id.into()),
                ("is_caller_dependent", hangs_on_caller(&reference).into()),
            ]);
        }
    }
}

/// Schema and name in the first argument, if the second says that it is an object. Classes of objects that do not exist here return no rows.
fn asked_object(context: &ViewContext<'_, '_>) -> Option<(String, String)> {
    let argument = |at: usize| context.arguments.get(at).and_then(types::Value::as_text);
    if !argument(1)?.trim().eq_ignore_ascii_case("OBJECT") {
        return None;
    }
    match plan_ir::names::name_parts(&argument(0)?).as_slice() {
        [schema, name] => Some((schema.clone(), name.clone())),
        _ => None,
    }
}

fn referenced_entities(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let Some((schema, name)) = asked_object(context) else { return Ok(()) };
    let is_asked = |module: &Arc<ModuleDef>| {
        plan_ir::names::same_name(&module.schema, &schema) && plan_ir::names::same_name(&module.name, &name)
    };
    let Some(module) = modules(context).into_iter().find(is_asked) else { return Ok(()) };
    let views = bound_views(context.runtime, context.database);
    for reference in references_of(context, &module) {
        let schema = match module.is_schema_bound {
            true => reference.schema.clone().or_else(|| Some(module.schema.to_string())),
            false => reference.schema.clone(),
        };
        let common = |selected: bool, updated: bool| {
            let is_complete = !reference.is_incomplete;
            [
                ("referenced_server_name", Cell::from(reference.server.clone())),
                ("referenced_database_name", reference.database.clone().into()),
                ("referenced_schema_name", schema.clone().into()),
                ("referenced_entity_name", reference.name.clone().into()),
                ("referenced_id", reference.object_id().filter(|_| !hangs_on_caller(&reference)).into()),
                ("referenced_class", 1.into()),
                ("referenced_class_desc", "OBJECT_OR_COLUMN".into()),
                ("is_caller_dependent", hangs_on_caller(&reference).into()),
                ("is_selected", selected.into()),
                ("is_updated", updated.into()),
                ("is_all_columns_found", is_complete.into()),
                ("is_incomplete", (!is_complete).into()),
            ]
        };
        let mut whole = common(reference.is_selected, reference.is_updated).to_vec();
        whole.push(("is_select_all", reference.takes_all.into()));
        whole.push(("is_insert_all", reference.takes_all_into.into()));
        context.row(&whole);
        let mut columns: Vec<(i32, &ColumnUse)> = Vec::new();
        if let Some(object) = &reference.object {
            for column in &reference.columns {
                columns.extend(column_id(object, &views, &column.name).map(|id| (id, column)));
            }
        }
        columns.sort_by_key(|(id, _)| *id);
        for (id, column) in columns {
            let mut row = common(column.is_selected, column.is_updated).to_vec();
            row.push(("referenced_minor_name", column.name.clone().into()));
            row.push(("referenced_minor_id", id.into()));
            context.row(&row);
        }
    }
    Ok(())
}

fn referencing_entities(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let Some((schema, name)) = asked_object(context) else { return Ok(()) };
    let is_asked = |object: &ObjectDef| plan_ir::names::same_name(object.name(), &name);
    let schemas = context.runtime.schemas_of(context.database);
    let of_schema = |object: &ObjectDef| {
        let own = schemas.iter().find(|one| one.schema_id == object.schema_id());
        own.is_some_and(|own| plan_ir::names::same_name(&own.name, &schema))
    };
    let objects = context.runtime.objects_of(context.database);
    let Some(asked) = objects.into_iter().find(|object| is_asked(object) && of_schema(object)) else {
        return Ok(());
    };
    for module in modules(context) {
        let names = references_of(context, &module);
        let mut meant = names.iter().filter(|one| one.object_id() == Some(asked.object_id()));
        let Some(reference) = meant.next() else { continue };
        context.row(&[
            ("referencing_schema_name", module.schema.to_string().into()),
            ("referencing_entity_name", module.name.to_string().into()),
            ("referencing_id", module.object_id.into()),
            ("referencing_class", 1.into()),
            ("referencing_class_desc", "OBJECT_OR_COLUMN".into()),
            ("is_caller_dependent", hangs_on_caller(reference).into()),
        ]);
    }
    Ok(())
}
