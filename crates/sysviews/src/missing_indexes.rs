//! `sys.dm_db_missing_index_details`, `_groups`, `_group_stats` and `_columns`: indexes that statements could have used. Their
//! cost is measured in rows read sequentially, the unit of plan costs here.

use std::sync::Arc;

use engine::{Database, MISSING_INDEXES_MAX, MissingIndex, MissingIndexFigures, ObjectDef, TableDef};
use plan_ir::view::{Cell, SystemView, ViewContext};
use types::{SqlError, Value};

use super::dm_exec::moment;

type Context<'a, 'b, 'c> = &'a mut ViewContext<'b, 'c>;

pub(super) static VIEWS: &[SystemView] = &[
    SystemView::new(
        "dm_db_missing_index_details",
        "index_handle int not null, database_id smallint not null, object_id int not null, equality_columns nvarchar(4000), \
         inequality_columns nvarchar(4000), included_columns nvarchar(4000), statement nvarchar(4000)",
        details,
    ),
    SystemView::new(
        "dm_db_missing_index_groups",
        "index_group_handle int not null, index_handle int not null",
        groups,
    ),
    SystemView::new(
        "dm_db_missing_index_group_stats",
        "group_handle int not null, unique_compiles bigint not null, user_seeks bigint not null, user_scans bigint not null, \
         last_user_seek datetime, last_user_scan datetime, avg_total_user_cost float, avg_user_impact float, \
         system_seeks bigint not null, system_scans bigint not null, last_system_seek datetime, last_system_scan datetime, \
         avg_total_system_cost float, avg_system_impact float",
        stats,
    ),
    SystemView::new(
        "dm_db_missing_index_columns",
        "column_id int, column_name nvarchar(128), column_usage varchar(20)",
        columns,
    )
    .with_parameters(1),
];

/// One missing index, with its number in the server.
struct Wish {
    handle: i32,
    database: Arc<Database>,
    table: Arc<TableDef>,
    index: MissingIndex,
    figures: MissingIndexFigures,
}

/// The missing indexes of all databases, up to the limit.
fn wishes(context: &ViewContext<'_, '_>) -> Vec<Wish> {
    let mut all = Vec::new();
    for database in context.runtime.instance.databases() {
        let table_of = |object_id| match database.catalog().object(object_id) {
            Some(ObjectDef::Table(table)) => Some(table),
            _ => None,
        };
        for (table, index, figures) in database.missing_indexes().all(&table_of) {
            let handle = figures.number.wrapping_shl(16) | i32::from(database.id());
            all.push(Wish { handle, database: database.clone(), table, index, figures });
        }
    }
    all.truncate(MISSING_INDEXES_MAX);
    all
}

fn names(table: &TableDef, numbers: &[i32]) -> Vec<(i32, String)> {
    let name = |number: &i32| {
        let column = table.columns.iter().find(|column| column.column_id == *number)?;
        Some((*number, column.name.to_string()))
    };
    numbers.iter().filter_map(name).collect()
}

fn details(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for wish in wishes(context) {
        let list = |numbers: &[i32]| -> Cell {
            let quoted = |(_, name): (i32, String)| format!("[{}]", name.replace(']', "]]"));
            let all: Vec<String> = names(&wish.table, numbers).into_iter().map(quoted).collect();
            (!all.is_empty()).then(|| all.join(", ")).into()
        };
        let (table, database) = (&wish.table, wish.database.name());
        context.row(&[
            ("index_handle", wish.handle.into()),
            ("database_id", i32::from(wish.database.id()).into()),
            ("object_id", table.object_id.into()),
            ("equality_columns", list(&wish.index.equality)),
            ("inequality_columns", list(&wish.index.inequality)),
            ("included_columns", list(&wish.index.included)),
            ("statement", format!("[{database}].[{}].[{}]", table.schema, table.name).into()),
        ]);
    }
    Ok(())
}

/// A group has one index.
fn groups(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for wish in wishes(context) {
        context.row(&[("index_group_handle", wish.handle.into()), ("index_handle", wish.handle.into())]);
    }
    Ok(())
}

fn stats(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let local_minutes = i64::from(context.runtime.instance.os().clock().local_offset_minutes());
    for wish in wishes(context) {
        let told = wish.figures;
        let last = (told.last_seek + local_minutes * 600_000_000).try_into().unwrap_or(0);
        let average = |total: f64| Cell::Value(Value::Float(total / told.seeks.max(1) as f64));
        context.row(&[
            ("group_handle", wish.handle.into()),
            ("unique_compiles", told.compiles.into()),
            ("user_seeks", told.seeks.into()),
            ("last_user_seek", Cell::Value(moment(last))),
            ("avg_total_user_cost", average(told.cost_total)),
            ("avg_user_impact", average((told.impact_total * 100.0).round() / 100.0)),
            ("avg_total_system_cost", Cell::Value(Value::Float(0.0))),
            ("avg_system_impact", Cell::Value(Value::Float(0.0))),
        ]);
    }
    Ok(())
}

fn columns(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let asked = context.arguments.first().and_then(Value::as_i64);
    for wish in wishes(context).into_iter().filter(|wish| Some(i64::from(wish.handle)) == asked) {
        let uses = [
            ("EQUALITY", &wish.index.equality),
            ("INEQUALITY", &wish.index.inequality),
            ("INCLUDE", &wish.index.included),
        ];
        for (usage, numbers) in uses {
            for (number, name) in names(&wish.table, numbers) {
                context.row(&[
                    ("column_id", number.into()),
                    ("column_name", name.into()),
                    ("column_usage", usage.into()),
                ]);
            }
        }
    }
    Ok(())
}
