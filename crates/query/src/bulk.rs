//! Bulk load: the INSERT of rows that come from a client or a file one after the other, and its hints.

use std::sync::Arc;

use engine::{Database, IndexKind, TableDef};
use plan_ir::bulk_rules::BulkRules;
use plan_ir::context::{BindContext, RowSink, StatementOutcome};
use plan_ir::exec_context::ExecContext;
use plan_ir::names::same_name;
use plan_ir::physical::change::{InsertPlan, Store};
use plan_ir::row::Row;
use plan_ir::row_source::RowSource;
use plan_ir::runtime::Runtime;
use plan_ir::table::SequenceSource;
use planner::change::ChangePlanner;
use tsql::ast::{Ident, NamedOption, ObjectName, OptionValue};
use types::{SqlError, SqlType};

/// The rows of a bulk load.
pub trait BulkRows {
    /// Replaces `row` by the next one; false at the end.
    ///
    /// # Errors
    /// Those of the rows themselves; the load fails with them.
    fn next(&mut self, row: &mut Row) -> Result<bool, SqlError>;
}

/// A bulk load that is bound.
pub struct BulkLoad {
    plan: InsertPlan,
    stores: Vec<Store>,
    sequences: Vec<Arc<SequenceSource>>,
    /// The rows claim to come in the order of the clustered index.
    is_sorted: bool,
}

/// The rules that the hints of INSERT BULK ask for. Error 155 for another word. An identity column that is named keeps the values of the rows, with and
/// without KEEP_IDENTITY: a client that wants new values leaves the column out, as SqlBulkCopy does without KeepIdentity and bcp without -E.
pub fn bulk_rules(options: &[NamedOption]) -> Result<BulkRules, SqlError> {
    const PLACE: &str = "INSERT BULK option";
    let mut rules = BulkRules { keep_identity: true, ..BulkRules::default() };
    for option in options {
        binder::clauses::check_option(PLACE, &option.name.value, None)?;
        match option.name.value.to_uppercase().as_str() {
            "KEEP_NULLS" => rules.keep_nulls = true,
            "CHECK_CONSTRAINTS" => rules.check_constraints = true,
            "FIRE_TRIGGERS" => rules.fire_triggers = true,
            "TABLOCK" => rules.table_lock = true,
            "ORDER" => rules.order = order_of(option.value.as_ref()),
            _ => {}
        }
    }
    Ok(rules)
}

/// `(a, b DESC)`
pub(crate) fn order_of(value: Option<&OptionValue>) -> Vec<(String, bool)> {
    let Some(OptionValue::List(columns)) = value else { return Vec::new() };
    let column = |option: &NamedOption| {
        let written = option.name.value.as_str();
        let (name, word) = written.rsplit_once(' ').unwrap_or((written, ""));
        match word {
            _ if word.eq_ignore_ascii_case("DESC") => (name.to_string(), true),
            _ if word.eq_ignore_ascii_case("ASC") => (name.to_string(), false),
            _ => (written.to_string(), false),
        }
    };
    columns.iter().map(column).collect()
}

/// Binds a bulk load into the columns of these names, or into all; `types`: those of the rows, or as the columns have.
///
/// # Errors
/// As the binder's `bulk_insert`; 4817 and 4818 when ORDER names no column, or one twice.
pub fn compile_bulk_load(
    table: &ObjectName,
    columns: &[Ident],
    types: Option<&[SqlType]>,
    rules: &BulkRules,
    context: &BindContext<'_>,
) -> Result<BulkLoad, SqlError> {
    let mut binder = crate::registry::binder(context);
    binder.tells_all_names = true;
    let bound = binder.bulk_insert(table, columns, types, rules);
    let bound = binder.with_unknown_names(bound)?;
    let (plan, stores) = ChangePlanner::new(&binder.columns).insert_rows(bound)?;
    let is_sorted = is_in_order(&plan.source.def, &rules.order)?;
    let sequences = std::mem::take(&mut binder.next_values.sequences);
    Ok(BulkLoad { plan, stores, sequences, is_sorted })
}

/// Is the ORDER hint that of the clustered index? Any other is of no use.
fn is_in_order(table: &TableDef, order: &[(String, bool)]) -> Result<bool, SqlError> {
    for (at, (name, _)) in order.iter().enumerate() {
        if !table.columns.iter().any(|column| same_name(&column.name, name)) {
            return Err(SqlError::new(4817, &[name]));
        }
        if order[..at].iter().any(|(other, _)| same_name(other, name)) {
            return Err(SqlError::new(4818, &[name]));
        }
    }
    let base = table.base();
    let is_same = base.kind == IndexKind::Clustered
        && base.key.len() == order.len()
        && base.key.iter().zip(order).all(|(part, (name, descending))| {
            same_name(&table.columns[part.ordinal].name, name) && part.descending == *descending
        });
    Ok(is_same)
}

impl BulkLoad {
    /// The table into which it goes, and its database.
    pub fn table(&self) -> (&Arc<Database>, &Arc<TableDef>) {
        (&self.plan.source.database, &self.plan.source.def)
    }

    /// Inserts the rows.
    ///
    /// # Errors
    /// Those of an INSERT, and of the rows; 4819.
    pub fn execute(
        &self,
        rows: &mut dyn BulkRows,
        context: &mut ExecContext<'_>,
        sink: &mut dyn RowSink,
    ) -> Result<StatementOutcome, SqlError> {
        let runtime = Runtime::new(context);
        runtime.hold_sequences(&self.sequences)?;
        let mut source = Source(rows);
        let mut outcome = executor::insert::run_bulk(
            &self.plan,
            &self.stores,
            &mut source,
            self.is_sorted,
            &runtime,
            sink,
        )?;
        runtime.tell_warnings(sink);
        outcome.fired = runtime.take_fired();
        Ok(outcome)
    }
}

/// Such rows as an operator.
struct Source<'a>(&'a mut dyn BulkRows);

impl RowSource for Source<'_> {
    fn next(&mut self, _runtime: &Runtime<'_>, row: &mut Row) -> Result<bool, SqlError> {
        self.0.next(row)
    }
}
