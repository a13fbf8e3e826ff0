//! What the texts of views, inline functions and CHECK constraints refer to: they are bound anew and watched.

use std::sync::Arc;

use engine::{Database, Lookup, ModuleDef, ModuleKind, ObjectDef, TableDef};
use types::SqlError;

use crate::context::BindContext;
use crate::front_end::{BindAnew, BoundModule};
use crate::runtime::Runtime;
use crate::view::{SystemView, ViewContext};
use crate::view_shape::ViewColumn;

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
];

pub(super) fn context_of<'a>(
    runtime: &'a Runtime<'_>,
    database: &'a Arc<Database>,
    lookup: Lookup<'a>,
) -> BindContext<'a> {
    BindContext {
        instance: runtime.instance,
        database,
        default_schema: "dbo",
        variables: &[],
        options: runtime.options,
        names: runtime.names,
        lookup,
        undeclared: None,
    }
}

/// The columns of a view or inline function, bound anew; none for other modules.
pub(crate) fn bound_columns(
    runtime: &Runtime<'_>,
    database: &Arc<Database>,
    module: &ModuleDef,
) -> Vec<ViewColumn> {
    let bound =
        runtime.look_over(|lookup| runtime.front_end.module(&context_of(runtime, database, lookup), module));
    bound.map(|bound| bound.columns).unwrap_or_default()
}

/// The same in a context at hand.
pub(super) fn columns_of_module(
    front_end: &dyn BindAnew,
    context: &BindContext<'_>,
    module: &ModuleDef,
) -> Vec<ViewColumn> {
    front_end.module(context, module).map(|bound| bound.columns).unwrap_or_default()
}

/// Modules of one kind, bound anew; one that no longer binds is left out.
fn bound_modules(runtime: &Runtime<'_>, database: &Arc<Database>, kind: ModuleKind) -> Vec<BoundModule> {
    let objects = runtime.objects_of(database).into_iter();
    let bound = objects.filter_map(|object| match object {
        ObjectDef::Module(module) if module.kind == kind => runtime
            .look_over(|lookup| runtime.front_end.module(&context_of(runtime, database, lookup), &module)),
        _ => None,
    });
    bound.collect()
}

/// The user's views and inline functions with their columns, bound anew; one that no longer binds is left out.
pub(crate) fn bound_views(runtime: &Runtime<'_>, database: &Arc<Database>) -> Vec<(i32, Vec<ViewColumn>)> {
    [ModuleKind::View, ModuleKind::InlineFunction]
        .into_iter()
        .flat_map(|kind| bound_modules(runtime, database, kind))
        .map(|module| (module.object_id, module.columns))
        .collect()
}

/// The number of an object's column by name: its place, for what is not a table.
fn column_id(object: &ObjectDef, views: &[(i32, Vec<ViewColumn>)], name: &str) -> Option<i32> {
    match object {
        ObjectDef::Table(table) => table.column_ordinal(name).map(|at| table.columns[at].column_id),
        ObjectDef::Module(module) => {
            let columns = views.iter().find(|(id, _)| *id == module.object_id)?;
            let same = |column: &ViewColumn| crate::names::same_name(&column.name, name);
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

/// Of a schema-bound module, the columns that it needs.
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
