//! CREATE, UPDATE and DROP STATISTICS: what is looked at, and how. An index is read in its order; columns are sorted by a query of their own, in the
//! memory that queries get; a sample is some pages.

use std::sync::Arc;

use engine::{
    Database, IndexDef, IndexKind, NewStatistics, SampleSize, StatisticsCollector, StatisticsContent,
    StatisticsDef, TableDef,
};
use tsql::ast::{self, NamedOption, ObjectName, OptionValue, StatementKind};
use types::SqlError;

use super::subject::{find_table, with_transaction};
use crate::bind::Binder;
use crate::bind::names::written;
use crate::exec_context::ExecContext;
use crate::names::same_name;
use crate::plan::{Planner, in_order};
use crate::row::Row;
use crate::runtime::Runtime;

/// Pages that are looked at where a statement does not say how much.
const SAMPLED_PAGES: u64 = 512;
/// A sample of more rows is not gathered in memory: all rows are read instead.
const SAMPLED_ROWS_MAX: f64 = 200_000.0;

/// How much is looked at.
#[derive(Clone, Copy, Debug)]
enum Look {
    /// FULLSCAN.
    All,
    /// SAMPLE, or what is usual.
    Some(SampleSize),
    /// RESAMPLE: as much as the last time.
    AsBefore,
}

/// WITH of CREATE and UPDATE STATISTICS.
#[derive(Debug)]
struct Options {
    look: Look,
    no_recompute: bool,
    of_columns: bool,
    of_indexes: bool,
}

/// Errors 1088, 1909, 1911, 1919, 1927, 2706, 2767, 3701 and 3739.
pub(super) fn statement(kind: &StatementKind, context: &mut ExecContext<'_>) -> Result<(), SqlError> {
    match kind {
        StatementKind::CreateStatistics(create) => self::create(create, context),
        StatementKind::UpdateStatistics(update) => self::update(update, context),
        StatementKind::DropStatistics(names) => names.iter().try_for_each(|name| dropped(name, context)),
        _ => unreachable!("called for statistics only"),
    }
}

fn create(create: &ast::CreateStatistics, context: &mut ExecContext<'_>) -> Result<(), SqlError> {
    if create.filter.is_some() {
        return Err(crate::errors::unsupported("CREATE STATISTICS ... WHERE"));
    }
    let Some((database, table)) = find_table(&create.table, context)? else {
        return Err(SqlError::new(1088, &[&written(&create.table)]));
    };
    let ordinal = |column: &ast::Ident| {
        table.column_ordinal(&column.value).ok_or_else(|| SqlError::new(1911, &[&column.value]))
    };
    let columns = create.columns.iter().map(ordinal).collect::<Result<Vec<_>, _>>()?;
    let options = Options::of(&create.options, &database, &table)?;
    let name = create.name.value.clone();
    let new = NewStatistics { name, columns, no_recompute: options.no_recompute };
    // What cannot be made is refused before anything is read for it.
    database.check_new_statistics(&table, &new)?;
    let content = gather_columns(context, &database, &table, &create.table, &new.columns, options.look)?;
    with_transaction(context, &database, |transaction| {
        database.create_statistics(transaction, &table, &new, content)
    })
}

fn update(update: &ast::UpdateStatistics, context: &mut ExecContext<'_>) -> Result<(), SqlError> {
    let Some((database, table)) = find_table(&update.table, context)? else {
        return Err(SqlError::new(2706, &[&written(&update.table)]));
    };
    let options = Options::of(&update.options, &database, &table)?;
    let present = database.catalog().statistics(table.object_id);
    let (of_columns, of_indexes) = (options.of_columns, options.of_indexes);
    let of_column = present.iter().filter(|def| !def.is_of_index());
    let of_index = table.indexes.iter().filter(|index| index.kind != IndexKind::Heap && index.has_unit());
    let targets: Vec<i32> = match update.statistics.as_slice() {
        [] => {
            let indexes = of_index.filter(|_| of_indexes).map(|index| index.index_id);
            indexes.chain(of_column.filter(|_| of_columns).map(|def| def.stats_id)).collect()
        }
        named => named
            .iter()
            .map(|name| {
                let index = of_index.clone().find(|index| index.is_named(&name.value));
                let def = of_column.clone().find(|def| def.is_named(&name.value));
                let found = index.map(|index| index.index_id).or(def.map(|def| def.stats_id));
                found.ok_or_else(|| SqlError::new(2767, &[&name.value]))
            })
            .collect::<Result<_, _>>()?,
    };
    for stats_id in targets {
        let old = present.iter().find(|def| def.stats_id == stats_id);
        let look = options.look.resolved(old.map(|def| &**def));
        let content = match (table.index(stats_id).filter(|index| index.kind != IndexKind::Heap), old) {
            (Some(index), _) => gather_index(context, &database, &table, &update.table, index, look)?,
            (None, Some(def)) => {
                let ordinals = table.ordinals_of(&def.column_ids).ok_or_else(engine::stale_plan)?;
                gather_columns(context, &database, &table, &update.table, &ordinals, look)?
            }
            (None, None) => return Err(engine::stale_plan()),
        };
        with_transaction(context, &database, |transaction| {
            database.renew_statistics(transaction, &table, stats_id, Some(options.no_recompute), content)
        })?;
    }
    Ok(())
}

/// `table.statistics`. Errors 3701, and 3739 for those of an index.
fn dropped(name: &ObjectName, context: &mut ExecContext<'_>) -> Result<(), SqlError> {
    let table = name.schema.as_ref().map(|table| ObjectName {
        server: None,
        database: name.server.clone(),
        schema: name.database.clone(),
        name: table.clone(),
        span: name.span,
    });
    let found = table.map(|table| find_table(&table, context)).transpose()?.flatten();
    if let Some((database, table)) = found {
        let present = database.catalog().statistics(table.object_id);
        if let Some(def) = present.iter().find(|def| def.is_named(&name.name.value)) {
            return with_transaction(context, &database, |transaction| {
                database.drop_statistics(transaction, &table, def)
            });
        }
        let is_named = |own: &Arc<str>| same_name(own, &name.name.value);
        if table.indexes.iter().any(|index| index.name.as_ref().is_some_and(is_named)) {
            return Err(SqlError::new(3739, &[&"DROP", &written(name)]));
        }
    }
    Err(crate::errors::cannot_drop("statistics", &written(name)))
}

/// An index that has just been made gets its statistics, if there are rows.
pub(super) fn of_new_index(
    context: &mut ExecContext<'_>,
    database: &Arc<Database>,
    table: &ObjectName,
    index: &str,
) -> Result<(), SqlError> {
    let Some((_, def)) = find_table(table, context)? else { return Ok(()) };
    let Some(index) = def.index_named(index).filter(|index| index.has_unit()) else { return Ok(()) };
    if database.table(&def).row_count_estimate() == 0 {
        return Ok(());
    }
    let content = gather_index(context, database, &def, table, index, Look::All)?;
    with_transaction(context, database, |transaction| {
        database.renew_statistics(transaction, &def, index.index_id, None, content)
    })
}

/// Reads an index in its order; where that is not the order of statistics, its columns as any others.
fn gather_index(
    context: &mut ExecContext<'_>,
    database: &Arc<Database>,
    table: &Arc<TableDef>,
    name: &ObjectName,
    index: &IndexDef,
    look: Look,
) -> Result<StatisticsContent, SqlError> {
    let columns = table.statistics_columns(index);
    // A sample of the table says nothing of the rows that a filter lets in.
    if let (Look::Some(_), None) = (look, &index.filter) {
        return gather_columns(context, database, table, name, &columns, look);
    }
    let opened = database.table(table);
    let mut go_on = || if os::task::interrupt_pending() { Err(engine::interrupted()) } else { Ok(()) };
    let walked = with_transaction(context, database, |transaction| {
        opened.walk_statistics(transaction, index, &mut go_on)
    })?;
    let filter = index.filter.as_ref().map(|filter| &*filter.text);
    match walked {
        Some(content) => Ok(content),
        None => gather_all(context, database, table, name, &columns, filter),
    }
}

fn gather_columns(
    context: &mut ExecContext<'_>,
    database: &Arc<Database>,
    table: &Arc<TableDef>,
    name: &ObjectName,
    columns: &[usize],
    look: Look,
) -> Result<StatisticsContent, SqlError> {
    match look {
        Look::Some(size) if let Some(found) = database.table(table).sample_statistics(columns, size) => {
            Ok(found)
        }
        _ => gather_all(context, database, table, name, columns, None),
    }
}

/// Sorts all rows, with whatever memory and disk queries get. The query asks for no statistics itself: nothing of it is grouped or sought.
fn gather_all(
    context: &mut ExecContext<'_>,
    database: &Arc<Database>,
    table: &Arc<TableDef>,
    name: &ObjectName,
    columns: &[usize],
    filter: Option<&str>,
) -> Result<StatisticsContent, SqlError> {
    let names: Vec<String> = columns.iter().map(|at| quoted(&table.columns[*at].name)).collect();
    let list = names.join(", ");
    let parts = [&name.database, &name.schema, &Some(name.name.clone())];
    let parts: Vec<String> = parts.into_iter().flatten().map(|part| quoted(&part.value)).collect();
    let place = match (&name.database, &name.schema) {
        (Some(_), None) => format!("{}..{}", parts[0], parts[1]),
        _ => parts.join("."),
    };
    let filter = filter.map(|text| format!(" WHERE {text}")).unwrap_or_default();
    let text = format!("SELECT {list} FROM {place} WITH (READUNCOMMITTED){filter} ORDER BY {list}");
    let batch = tsql::parse_batch(&text, &tsql::ParseOptions::default());
    let batch = batch.map_err(|_| crate::errors::stored_text_damaged())?;
    let StatementKind::Select(select) = &batch.statements[0].kind else {
        return Err(crate::errors::stored_text_damaged());
    };
    let plan = {
        let bind = super::subject::bind_context(context, &[]);
        let mut binder = Binder::new(&bind);
        let query = binder.query(&select.query)?;
        let order: Vec<_> = query.columns.iter().map(|column| column.id).collect();
        let mut planner = Planner::new(&binder.columns).wanting(&query.rel, order.iter().copied());
        in_order(planner.plan(&query.rel, Vec::new())?, &order)
    };
    let shape = columns.iter().map(|at| (table.columns[*at].sql_type, table.columns[*at].collation));
    let mut collector = StatisticsCollector::new(shape.collect());
    let runtime = Runtime::new(context);
    let mut source = plan.open(&runtime)?;
    let mut row = Row::new();
    while source.next(&runtime, &mut row)? {
        runtime.check_cancelled()?;
        collector.add(&row, 1.0);
    }
    Ok(collector.finish(0, database.present_time()))
}

fn quoted(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}

impl Look {
    /// RESAMPLE looks at the share of the rows that was looked at before.
    fn resolved(self, old: Option<&StatisticsDef>) -> Look {
        let Look::AsBefore = self else { return self };
        match old.and_then(|def| def.content.as_ref()) {
            Some(content) if content.rows_sampled < content.rows => {
                let share = content.rows_sampled as f64 / content.rows as f64;
                Look::Some(SampleSize::Share(share))
            }
            Some(_) => Look::All,
            None => Look::Some(SampleSize::Pages(SAMPLED_PAGES)),
        }
    }
}

impl Options {
    /// Those that are not done have been refused by name (`clauses`). Error 1052 for two that say how much, and for a share that is none.
    fn of(
        options: &[NamedOption],
        database: &Arc<Database>,
        table: &Arc<TableDef>,
    ) -> Result<Options, SqlError> {
        let has = |name: &str| options.iter().any(|option| option.name.is(name));
        let looks = options
            .iter()
            .filter(|option| ["FULLSCAN", "SAMPLE", "RESAMPLE"].iter().any(|name| option.name.is(name)));
        if looks.clone().count() > 1 {
            return Err(SqlError::new(1052, &[&"STATISTICS", &"FULLSCAN", &"SAMPLE"]));
        }
        let rows = database.table(table).row_count_estimate() as f64;
        let look = match looks.clone().next() {
            None => Look::Some(SampleSize::Pages(SAMPLED_PAGES)),
            Some(option) if option.name.is("FULLSCAN") => Look::All,
            Some(option) if option.name.is("RESAMPLE") => Look::AsBefore,
            Some(option) => sample_of(option, rows)?,
        };
        Ok(Options {
            look,
            no_recompute: has("NORECOMPUTE"),
            of_columns: !has("INDEX"),
            of_indexes: !has("COLUMNS"),
        })
    }
}

/// SAMPLE n PERCENT or ROWS.
fn sample_of(option: &NamedOption, rows: f64) -> Result<Look, SqlError> {
    let Some(OptionValue::Value(amount, Some(unit))) = &option.value else {
        return Err(crate::errors::syntax_near("SAMPLE"));
    };
    let number = match crate::clauses::value_text(&OptionValue::Value(amount.clone(), None)).parse::<f64>() {
        Ok(number) if number >= 0.0 => number,
        _ => return Err(crate::errors::syntax_near("SAMPLE")),
    };
    let share = match unit.is("PERCENT") {
        true if number > 100.0 => return Err(SqlError::new(1031, &[])),
        true => number / 100.0,
        false => number / rows.max(1.0),
    };
    Ok(match share >= 1.0 || share * rows > SAMPLED_ROWS_MAX {
        true => Look::All,
        false => Look::Some(SampleSize::Share(share)),
    })
}
