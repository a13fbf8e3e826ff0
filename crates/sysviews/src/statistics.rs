//! Statistics: their list, their columns, their contents. DBCC SHOW_STATISTICS uses them, too.

use std::sync::Arc;

use engine::{Entry, IndexKind, StatisticsContent, StatisticsDef, TableDef};
use plan_ir::runtime::Runtime;
use plan_ir::values::variant;
use plan_ir::view::{Cell, SystemView, ViewContext};
use types::datetime::Moment;
use types::{DateTime, SqlError, SqlType, Value};

use super::objects::all_tables;

type Context<'a, 'b, 'c> = &'a mut ViewContext<'b, 'c>;

pub(super) static VIEWS: &[SystemView] = &[
    SystemView::new(
        "stats",
        "object_id int not null, name nvarchar(128), stats_id int not null, auto_created bit, user_created bit, no_recompute bit, has_filter bit, \
         filter_definition nvarchar, is_temporary bit, is_incremental bit, has_persisted_sample bit, stats_generation_method int not null, \
         stats_generation_method_desc varchar(80), auto_drop bit",
        stats,
    ),
    SystemView::new(
        "stats_columns",
        "object_id int not null, stats_id int not null, stats_column_id int, column_id int",
        stats_columns,
    ),
    SystemView::new(
        "dm_db_stats_properties",
        "object_id int not null, stats_id int not null, last_updated datetime2(7), rows bigint, rows_sampled bigint, steps int, \
         unfiltered_rows bigint, modification_counter bigint, persisted_sample_percent float",
        properties,
    )
    .with_parameters(2),
    SystemView::new(
        "dm_db_stats_histogram",
        "object_id int not null, stats_id int not null, step_number int not null, range_high_key sql_variant, range_rows real not null, \
         equal_rows real not null, distinct_range_rows bigint not null, average_range_rows real not null",
        histogram,
    )
    .with_parameters(2),
    // Hardpan's own, for DBCC SHOW_STATISTICS: values that the documented views do not show.
    SystemView::new(
        "spt_statistics",
        "object_id int not null, stats_id int not null, density real not null, average_key_length real not null",
        header,
    )
    .with_parameters(2),
    SystemView::new(
        "spt_statistics_densities",
        "object_id int not null, stats_id int not null, prefix int not null, density real not null, average_length real not null, \
         columns nvarchar(max) not null",
        densities,
    )
    .with_parameters(2),
];

/// Statistics of an index or of columns.
struct Seen {
    table: Arc<TableDef>,
    stats_id: i32,
    /// `None` for an index without gathered statistics.
    def: Option<Arc<StatisticsDef>>,
}

impl Seen {
    /// Their columns, by ordinal; an index's statistics show its key only.
    fn columns(&self) -> Vec<usize> {
        match (self.table.index(self.stats_id), &self.def) {
            (Some(index), _) => index.key.iter().map(|key| key.ordinal).collect(),
            (None, Some(def)) => self.table.ordinals_of(&def.column_ids).unwrap_or_default(),
            (None, None) => Vec::new(),
        }
    }

    fn content(&self) -> Option<&StatisticsContent> {
        self.def.as_ref()?.content.as_deref()
    }
}

/// All of them, or those of one table.
fn all_seen(context: &ViewContext<'_, '_>, object_id: Option<i32>) -> Vec<Seen> {
    let entries = context.runtime.entries_of(context.database);
    let defs: Vec<Arc<StatisticsDef>> = entries
        .iter()
        .filter_map(|entry| match &**entry {
            Entry::Statistics(def) => Some(def.clone()),
            _ => None,
        })
        .collect();
    let mut all = Vec::new();
    for table in all_tables(context) {
        if object_id.is_some_and(|id| id != table.object_id) {
            continue;
        }
        let of_table = || defs.iter().filter(|def| def.object_id == table.object_id);
        for index in table.indexes.iter().filter(|index| index.kind != IndexKind::Heap) {
            let def = of_table().find(|def| def.stats_id == index.index_id).cloned();
            all.push(Seen { table: table.clone(), stats_id: index.index_id, def });
        }
        for def in of_table().filter(|def| !def.is_of_index()) {
            all.push(Seen { table: table.clone(), stats_id: def.stats_id, def: Some(def.clone()) });
        }
    }
    all
}

/// The statistics that a function's arguments select by table and id.
fn asked(context: &ViewContext<'_, '_>) -> Option<Seen> {
    let number = |at: usize| context.integer_argument(at).and_then(|number| i32::try_from(number).ok());
    let (object_id, stats_id) = (number(0)?, number(1)?);
    all_seen(context, Some(object_id)).into_iter().find(|seen| seen.stats_id == stats_id)
}

fn stats(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for seen in all_seen(context, None) {
        let index = seen.table.index(seen.stats_id);
        let def = seen.def.as_deref();
        let name = match index {
            Some(index) => index.name.clone(),
            None => def.and_then(|def| def.name.clone()),
        };
        let of_index = index.and_then(|index| index.filter.as_ref()).map(|filter| filter.text.to_string());
        let own = || def.and_then(|def| def.filter.as_ref()).map(|filter| filter.text.to_string());
        let filter = of_index.or_else(own);
        let is_auto = def.is_some_and(|def| def.is_auto);
        context.row(&[
            ("object_id", seen.table.object_id.into()),
            ("name", name.map(|name| name.to_string()).into()),
            ("stats_id", seen.stats_id.into()),
            ("auto_created", is_auto.into()),
            ("user_created", (index.is_none() && !is_auto).into()),
            ("no_recompute", def.is_some_and(|def| def.no_recompute).into()),
            ("has_filter", filter.is_some().into()),
            ("filter_definition", filter.into()),
            ("has_persisted_sample", def.is_some_and(|def| def.kept_percent.is_some()).into()),
            ("stats_generation_method", 0.into()),
            ("stats_generation_method_desc", "Sort based statistics".into()),
        ]);
    }
    Ok(())
}

fn stats_columns(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for seen in all_seen(context, None) {
        for (at, ordinal) in seen.columns().into_iter().enumerate() {
            context.row(&[
                ("object_id", seen.table.object_id.into()),
                ("stats_id", seen.stats_id.into()),
                ("stats_column_id", (at as i64 + 1).into()),
                ("column_id", seen.table.columns[ordinal].column_id.into()),
            ]);
        }
    }
    Ok(())
}

fn properties(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let Some(seen) = asked(context) else { return Ok(()) };
    let mut cells: Vec<(&str, Cell)> =
        vec![("object_id", seen.table.object_id.into()), ("stats_id", seen.stats_id.into())];
    if let (Some(def), Some(content)) = (&seen.def, seen.content()) {
        let opened = context.database.table(&seen.table);
        cells.extend([
            ("last_updated", Cell::Value(in_ticks(content.updated))),
            ("rows", content.rows.into()),
            ("rows_sampled", content.rows_sampled.into()),
            ("steps", (content.steps.len() as i64).into()),
            ("unfiltered_rows", content.unfiltered_rows.into()),
            ("modification_counter", opened.modifications_since(def).into()),
            ("persisted_sample_percent", Cell::Value(Value::Float(def.kept_percent.unwrap_or(0.0)))),
        ]);
    }
    context.row(&cells);
    Ok(())
}

fn histogram(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let Some(seen) = asked(context) else { return Ok(()) };
    let Some(content) = seen.content() else { return Ok(()) };
    for (at, step) in content.steps.iter().enumerate() {
        context.row(&[
            ("object_id", seen.table.object_id.into()),
            ("stats_id", seen.stats_id.into()),
            ("step_number", (at as i64 + 1).into()),
            ("range_high_key", Cell::Value(variant(step.high.clone()))),
            ("range_rows", real(step.range_rows)),
            ("equal_rows", real(step.equal_rows)),
            ("distinct_range_rows", (step.distinct_range_rows.round() as i64).into()),
            ("average_range_rows", real(step.average_range_rows())),
        ]);
    }
    Ok(())
}

fn header(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let Some(seen) = asked(context) else { return Ok(()) };
    let Some(content) = seen.content() else { return Ok(()) };
    context.row(&[
        ("object_id", seen.table.object_id.into()),
        ("stats_id", seen.stats_id.into()),
        ("density", real(content.header_density())),
        ("average_key_length", real(content.average_key_bytes())),
    ]);
    Ok(())
}

fn densities(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let Some(seen) = asked(context) else { return Ok(()) };
    let (Some(def), Some(content)) = (&seen.def, seen.content()) else { return Ok(()) };
    let ordinals = seen.table.ordinals_of(&def.column_ids).unwrap_or_default();
    let names: Vec<String> = ordinals.iter().map(|at| seen.table.columns[*at].name.to_string()).collect();
    for (at, prefix) in content.prefixes.iter().enumerate().take(names.len()) {
        context.row(&[
            ("object_id", seen.table.object_id.into()),
            ("stats_id", seen.stats_id.into()),
            ("prefix", (at as i64 + 1).into()),
            ("density", real(prefix.density)),
            ("average_length", real(prefix.average_bytes)),
            ("columns", names[..=at].join(", ").into()),
        ]);
    }
    Ok(())
}

/// STATS_DATE: when statistics were gathered; NULL when they have not been gathered, or do not exist.
pub(crate) fn statistics_date(runtime: &Runtime<'_>, object_id: i32, stats_id: i32) -> Value {
    let entries = runtime.entries_of(runtime.database);
    let updated = entries.iter().find_map(|entry| match &**entry {
        Entry::Statistics(def) if (def.object_id, def.stats_id) == (object_id, stats_id) => {
            def.content.as_ref().map(|content| content.updated)
        }
        _ => None,
    });
    updated.map_or(Value::Null, Value::DateTime)
}

fn real(number: f64) -> Cell {
    Cell::Value(Value::Real(number as f32))
}

/// As a datetime2.
fn in_ticks(moment: DateTime) -> Value {
    let moment = Moment::of(&Value::DateTime(moment));
    moment.and_then(|moment| moment.to_value(&SqlType::DateTime2(7))).unwrap_or(Value::Null)
}
