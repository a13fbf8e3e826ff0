//! CREATE, UPDATE and DROP STATISTICS: sampling rates and methods. An index is read in its order; columns are sorted by an internal query with
//! a memory grant; a sample reads some pages.

use std::sync::Arc;

use engine::{
    Database, FilterTest, IndexDef, IndexFilter, IndexKind, Lookup, NewFilter, NewStatistics, SampleSize,
    StatisticsCollector, StatisticsContent, StatisticsDef, StatisticsFilter, StatisticsSettings, TableDef,
};
use executor::operations::Open;
use plan_ir::exec_context::ExecContext;
use plan_ir::names::same_name;
use plan_ir::names::written;
use plan_ir::row::Row;
use plan_ir::runtime::Runtime;
use planner::{Planner, in_order};
use tsql::ast::{self, NamedOption, ObjectName, OptionValue, StatementKind};
use types::SqlError;

use super::filter::{self, Filtered};
use super::subject::{existing_columns, find_table, with_transaction};

/// Pages to sample where a statement specifies no rate.
const SAMPLED_PAGES: u64 = 512;

/// The sampling rate.
#[derive(Clone, Copy, Debug)]
enum Look {
    /// Not specified: the rate that PERSIST_SAMPLE_PERCENT has stored, or the default.
    Usual,
    /// FULLSCAN.
    All,
    /// SAMPLE.
    Some(SampleSize),
    /// RESAMPLE: the rate of the last time.
    AsBefore,
}

/// WITH of CREATE and UPDATE STATISTICS.
#[derive(Debug)]
struct Options {
    look: Look,
    /// PERSIST_SAMPLE_PERCENT.
    keeps_percent: Option<bool>,
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

/// The statistics of a table for name checks: waits for transactions that create or drop some.
fn settled(
    context: &ExecContext<'_>,
    database: &Database,
    table: &TableDef,
) -> Result<Vec<Arc<StatisticsDef>>, SqlError> {
    Lookup::new(context.transactions).statistics(database, table.object_id)
}

fn create(create: &ast::CreateStatistics, context: &mut ExecContext<'_>) -> Result<(), SqlError> {
    let Some((database, table)) = find_table(&create.table, context)? else {
        return Err(SqlError::new(1088, &[&written(&create.table)]));
    };
    let ordinal = |column: &ast::Ident| {
        table.column_ordinal(&column.value).ok_or_else(|| SqlError::new(1911, &[&column.value]))
    };
    let columns = create.columns.iter().map(ordinal).collect::<Result<Vec<_>, _>>()?;
    let options = Options::of(&create.options, &database, &table)?;
    let name = create.name.value.clone();
    let filter = match &create.filter {
        None => None,
        Some(predicate) => {
            context.options.check_for_filters("CREATE STATISTICS")?;
            let known = existing_columns(&table);
            let of = Filtered { kind: "statistics", name: &name, table: &create.table, columns: &known };
            Some(Arc::new(of_columns(&table, &filter::bind(predicate, &of, context)?)?))
        }
    };
    let new = NewStatistics { name, columns, no_recompute: options.no_recompute, kept_percent: None, filter };
    // Statistics that cannot be created are refused before any row is read for them.
    Database::check_new_statistics(&table, &new, &settled(context, &database, &table)?)?;
    let of = Gathered { database: &database, table: &table, name: &create.table, columns: &new.columns };
    let filter = new.filter.as_ref().map(|filter| filter.of_table(&table));
    let look = options.look.resolved(None);
    let content = of.columns(context, filter.as_ref(), look)?;
    let kept_percent = options.kept_percent(look, &content).flatten();
    let new = NewStatistics { kept_percent, ..new };
    with_transaction(context, &database, |transaction| {
        database.create_statistics(transaction, &table, &new, content)
    })
}

fn update(update: &ast::UpdateStatistics, context: &mut ExecContext<'_>) -> Result<(), SqlError> {
    let Some((database, table)) = find_table(&update.table, context)? else {
        return Err(SqlError::new(2706, &[&written(&update.table)]));
    };
    let options = Options::of(&update.options, &database, &table)?;
    let present = settled(context, &database, &table)?;
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
        let of = |columns| Gathered { database: &database, table: &table, name: &update.table, columns };
        let content = match (table.index(stats_id).filter(|index| index.kind != IndexKind::Heap), old) {
            (Some(index), _) => of(&table.statistics_columns(index)).index(context, index, look)?,
            (None, Some(def)) => {
                let ordinals = table.ordinals_of(&def.column_ids).ok_or_else(SqlError::stale_plan)?;
                of(&ordinals).columns(context, table.filter_of(def).as_ref(), look)?
            }
            (None, None) => return Err(SqlError::stale_plan()),
        };
        let settings = StatisticsSettings {
            no_recompute: Some(options.no_recompute),
            kept_percent: options.kept_percent(look, &content),
        };
        with_transaction(context, &database, |transaction| {
            database.renew_statistics(transaction, &table, stats_id, settings, content)
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
        let present = settled(context, &database, &table)?;
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

/// Gathers the statistics of a new index, if there are rows. `no_recompute`: the value of STATISTICS_NORECOMPUTE.
pub(super) fn of_new_index(
    context: &mut ExecContext<'_>,
    database: &Arc<Database>,
    table: &ObjectName,
    index: &str,
    no_recompute: Option<bool>,
) -> Result<(), SqlError> {
    let Some((_, def)) = find_table(table, context)? else { return Ok(()) };
    let Some(index) = def.index_named(index).filter(|index| index.has_unit()) else { return Ok(()) };
    if let Some(no_recompute) = no_recompute {
        with_transaction(context, database, |transaction| {
            database.set_recompute(transaction, &def, index.index_id, no_recompute)
        })?;
    }
    // A clustered index consists of rows that this transaction alone has counted so far.
    if with_transaction(context, database, |transaction| Ok(database.table(&def).row_count_in(transaction)))?
        == 0
    {
        return Ok(());
    }
    let columns = def.statistics_columns(index);
    let of = Gathered { database, table: &def, name: table, columns: &columns };
    let content = of.index(context, index, Look::All)?;
    with_transaction(context, database, |transaction| {
        database.renew_statistics(transaction, &def, index.index_id, StatisticsSettings::default(), content)
    })
}

/// STATISTICS_NORECOMPUTE among the options of an index.
pub(super) fn no_recompute_of(options: &[NamedOption]) -> Option<bool> {
    let found = options.iter().find(|option| option.name.is("STATISTICS_NORECOMPUTE"))?;
    Some(!matches!(found.value, Some(OptionValue::Switch(false, _))))
}

/// ALTER INDEX ... SET (STATISTICS_NORECOMPUTE).
pub(super) fn set_recompute_of(
    context: &mut ExecContext<'_>,
    database: &Arc<Database>,
    table: &Arc<TableDef>,
    (stats_ids, no_recompute): (&[i32], bool),
) -> Result<(), SqlError> {
    with_transaction(context, database, |transaction| {
        stats_ids.iter().try_for_each(|id| database.set_recompute(transaction, table, *id, no_recompute))
    })
}

/// `sp_autostats @tblname, @flagc [, @indname]`: sets automatic updates of a table's statistics, or of one. Returns the number of changed statistics.
/// Errors 15009 when the table does not exist, 15323 when the statistics do not exist.
pub fn set_auto_statistics(
    context: &mut ExecContext<'_>,
    table: &str,
    is_on: bool,
    name: Option<&str>,
) -> Result<usize, SqlError> {
    let found = table_called(context, table)?;
    let Some((database, def)) = found else {
        return Err(SqlError::new(15009, &[&table, &context.database.name()]));
    };
    let of_indexes = def.indexes.iter().filter(|index| index.kind != IndexKind::Heap);
    let of_indexes = of_indexes.map(|index| (index.index_id, index.name.clone().unwrap_or_default()));
    let present = settled(context, &database, &def)?;
    let of_columns = present.iter().filter(|def| !def.is_of_index());
    let of_columns = of_columns.map(|def| (def.stats_id, def.name.clone().unwrap_or_default()));
    let wanted = |own: &Arc<str>| name.is_none_or(|name| same_name(own, name));
    let all = of_indexes.chain(of_columns).filter(|found| wanted(&found.1));
    let ids: Vec<i32> = all.map(|found| found.0).collect();
    if let (Some(name), []) = (name, ids.as_slice()) {
        return Err(SqlError::new(15323, &[&name, &table]));
    }
    set_recompute_of(context, &database, &def, (&ids, !is_on))?;
    Ok(ids.len())
}

/// The table that a text names.
fn table_called(
    context: &ExecContext<'_>,
    text: &str,
) -> Result<Option<(Arc<Database>, Arc<TableDef>)>, SqlError> {
    let mut parts = plan_ir::names::name_parts(text).into_iter().rev().map(ast::Ident::new);
    let Some(own) = parts.next() else { return Ok(None) };
    let mut part = || parts.next().filter(|part| !part.value.is_empty());
    let (schema, database) = (part(), part());
    find_table(&ObjectName { schema, database, ..ObjectName::simple(own.value) }, context)
}

/// The statistics to gather: these columns of a table, which `name` is for messages.
struct Gathered<'a> {
    database: &'a Arc<Database>,
    table: &'a Arc<TableDef>,
    name: &'a ObjectName,
    columns: &'a [usize],
}

impl Gathered<'_> {
    /// Reads an index in its order; if that differs from the statistics' order, its columns are gathered like any others.
    fn index(
        &self,
        context: &mut ExecContext<'_>,
        index: &IndexDef,
        look: Look,
    ) -> Result<StatisticsContent, SqlError> {
        if let Look::Some(_) = look {
            return self.columns(context, index.filter.as_ref(), look);
        }
        let opened = self.database.table(self.table);
        let mut go_on = || if os::task::interrupt_pending() { Err(engine::interrupted()) } else { Ok(()) };
        let walked = with_transaction(context, self.database, |transaction| {
            opened.walk_statistics(transaction, index, &mut go_on)
        })?;
        match walked {
            Some(content) => Ok(content),
            None => self.all(context, index.filter.as_ref()),
        }
    }

    fn columns(
        &self,
        context: &mut ExecContext<'_>,
        filter: Option<&IndexFilter>,
        look: Look,
    ) -> Result<StatisticsContent, SqlError> {
        let opened = self.database.table(self.table);
        match look {
            Look::Some(size) if let Some(found) = opened.sample_statistics(self.columns, filter, size) => {
                Ok(found)
            }
            _ => self.all(context, filter),
        }
    }

    /// Sorts all rows by a query, with the memory and disk that queries get. It needs no statistics itself: it has no grouping and no seek.
    fn all(
        &self,
        context: &mut ExecContext<'_>,
        filter: Option<&IndexFilter>,
    ) -> Result<StatisticsContent, SqlError> {
        let names: Vec<String> =
            self.columns.iter().map(|at| quoted(&self.table.columns[*at].name)).collect();
        let list = names.join(", ");
        let parts = [&self.name.database, &self.name.schema, &Some(self.name.name.clone())];
        let parts: Vec<String> = parts.into_iter().flatten().map(|part| quoted(&part.value)).collect();
        let place = match (&self.name.database, &self.name.schema) {
            (Some(_), None) => format!("{}..{}", parts[0], parts[1]),
            _ => parts.join("."),
        };
        let condition = filter.map(|filter| format!(" WHERE {}", filter.text)).unwrap_or_default();
        let text = format!("SELECT {list} FROM {place} WITH (READUNCOMMITTED){condition} ORDER BY {list}");
        let batch = tsql::parse_batch(&text, &tsql::ParseOptions::default());
        let batch = batch.map_err(|_| crate::errors::stored_text_damaged())?;
        let StatementKind::Select(select) = &batch.statements[0].kind else {
            return Err(crate::errors::stored_text_damaged());
        };
        let plan = {
            let bind = super::subject::bind_context(context, &[]);
            let mut binder = crate::registry::binder(&bind);
            let query = binder.query(&select.query)?;
            let order: Vec<_> = query.columns.iter().map(|column| column.id).collect();
            let mut planner = Planner::new(&binder.columns).wanting(&query.rel, order.iter().copied());
            in_order(planner.plan(&query.rel, Vec::new())?, &order)
        };
        let shape = self
            .columns
            .iter()
            .map(|at| (self.table.columns[*at].sql_type, self.table.columns[*at].collation));
        let mut collector = StatisticsCollector::new(shape.collect());
        let runtime = Runtime::new(context);
        let mut source = plan.open(&runtime)?;
        let mut row = Row::new();
        while source.next(&runtime, &mut row)? {
            runtime.check_cancelled()?;
            collector.add(&row, 1.0);
        }
        let content = collector.finish(0, self.database.present_time());
        Ok(match filter {
            Some(_) => with_transaction(context, self.database, |transaction| {
                Ok(self.database.table(self.table).of_filtered(transaction, content))
            })?,
            None => content,
        })
    }
}

/// A filter whose columns are replaced by their ids.
fn of_columns(table: &TableDef, filter: &NewFilter) -> Result<StatisticsFilter, SqlError> {
    let term = |(name, test): &(String, FilterTest)| {
        let ordinal = table.column_ordinal(name).ok_or_else(|| crate::errors::invalid_column(name))?;
        Ok((table.columns[ordinal].column_id, test.clone()))
    };
    let terms = filter.terms.iter().map(term).collect::<Result<Vec<_>, SqlError>>()?;
    Ok(StatisticsFilter { text: filter.text.as_str().into(), terms })
}

fn quoted(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}

impl Look {
    /// RESAMPLE uses the share of the rows that was sampled before.
    fn resolved(self, old: Option<&StatisticsDef>) -> Look {
        let usual = Look::Some(SampleSize::Pages(SAMPLED_PAGES));
        match self {
            Look::Usual => {
                old.and_then(|def| def.kept_percent).map_or(usual, |percent| Look::of_share(percent / 100.0))
            }
            Look::AsBefore => match old.and_then(|def| def.content.as_ref()) {
                Some(content) if content.rows_sampled < content.rows => {
                    Look::of_share(content.rows_sampled as f64 / content.rows as f64)
                }
                Some(_) => Look::All,
                None => usual,
            },
            said => said,
        }
    }

    fn of_share(share: f64) -> Look {
        if share >= 1.0 { Look::All } else { Look::Some(SampleSize::Share(share)) }
    }
}

impl Options {
    /// Unsupported options have been refused by name (`clauses`). Error 1052 for two sampling rates, and for an invalid one.
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
            None => Look::Usual,
            Some(option) if option.name.is("FULLSCAN") => Look::All,
            Some(option) if option.name.is("RESAMPLE") => Look::AsBefore,
            Some(option) => sample_of(option, rows)?,
        };
        let keeps = options.iter().find(|option| option.name.is("PERSIST_SAMPLE_PERCENT"));
        let keeps_percent = keeps.map(|option| match option.value {
            Some(OptionValue::Switch(on, _)) => Ok(on),
            _ => Err(crate::errors::syntax_near("PERSIST_SAMPLE_PERCENT")),
        });
        Ok(Options {
            look,
            keeps_percent: keeps_percent.transpose()?,
            no_recompute: has("NORECOMPUTE"),
            of_columns: !has("INDEX"),
            of_indexes: !has("COLUMNS"),
        })
    }

    /// The rate to store for statements without one; `None`: keep the stored one. A statement with a rate and without ON resets it to the default.
    fn kept_percent(&self, look: Look, content: &StatisticsContent) -> Option<Option<f64>> {
        match (self.keeps_percent, self.look) {
            (Some(false), _) => Some(None),
            (None, Look::All | Look::Some(_)) => Some(None),
            (None, Look::Usual | Look::AsBefore) => None,
            (Some(true), _) => Some(match look {
                Look::Some(SampleSize::Share(share)) => (share > 0.0).then_some(share * 100.0),
                Look::Some(SampleSize::Pages(_)) if content.rows_sampled < content.rows => {
                    Some(content.rows_sampled as f64 * 100.0 / content.rows as f64)
                        .filter(|share| *share > 0.0)
                }
                _ => Some(100.0),
            }),
        }
    }
}

/// SAMPLE n PERCENT or ROWS.
fn sample_of(option: &NamedOption, rows: f64) -> Result<Look, SqlError> {
    let Some(OptionValue::Value(amount, Some(unit))) = &option.value else {
        return Err(crate::errors::syntax_near("SAMPLE"));
    };
    let number = match binder::clauses::value_text(&OptionValue::Value(amount.clone(), None)).parse::<f64>() {
        Ok(number) if number >= 0.0 => number,
        _ => return Err(crate::errors::syntax_near("SAMPLE")),
    };
    let share = match unit.is("PERCENT") {
        true if number > 100.0 => return Err(SqlError::new(1031, &[])),
        true => number / 100.0,
        false => number / rows.max(1.0),
    };
    Ok(Look::of_share(share))
}
