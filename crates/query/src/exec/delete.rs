//! DELETE: all rows are found first, then deleted.

use engine::{RowLocator, Victim};
use types::{SqlError, Value};

use super::output::OutputRows;
use super::spill::gathered::{Gathered, MANY_AT_ONCE};
use super::update::{locator_of, search};
use crate::context::{RowSink, StatementOutcome};
use crate::physical::change::DeletePlan;
use crate::row::Row;
use crate::runtime::Runtime;
use crate::table::TableSource;

/// Runs a DELETE.
pub(crate) fn run(
    delete: &DeletePlan,
    runtime: &Runtime<'_>,
    sink: &mut dyn RowSink,
) -> Result<StatementOutcome, SqlError> {
    super::store::check_settings(&delete.source, runtime, "DELETE")?;
    let mut outputs = OutputRows::new(&delete.outputs);
    let victims = find(delete, runtime, &mut outputs)?;
    runtime.check_cancelled()?;
    apply(&delete.source, &delete.columns, runtime, &victims)?;
    super::cascade::after_delete(&delete.constraints, &victims, &delete.columns, runtime, "DELETE")?;
    let sent_rows = outputs.finish(runtime, sink)?;
    Ok(StatementOutcome { row_count: Some(victims.len() as u64), sent_rows, ..StatementOutcome::default() })
}

/// The rows to delete: the locator of each, then the values of the columns that matter.
fn find(
    delete: &DeletePlan,
    runtime: &Runtime<'_>,
    outputs: &mut OutputRows<'_>,
) -> Result<Gathered, SqlError> {
    let mut victims = Gathered::default();
    let mut source = search(&delete.plan, delete.locator, delete.may_repeat, runtime)?;
    let mut row = Row::new();
    while source.next(runtime, &mut row)? {
        runtime.check_cancelled()?;
        // An outer join gives rows in which the target is missing.
        if row[delete.locator].is_null() {
            continue;
        }
        let positions = std::iter::once(&delete.locator).chain(&delete.old);
        let victim: Row = positions.map(|position| row[*position].clone()).collect();
        if outputs.is_wanted() {
            assert_eq!(delete.old.len(), delete.source.def.columns.len(), "OUTPUT may ask for every column");
            outputs.add(runtime, &row, &[], &victim[1..])?;
        }
        victims.push(runtime, victim)?;
    }
    victims.finish()
}

/// Deletes gathered rows: the locator of each, then the values of `columns`, perhaps more behind them.
pub(super) fn apply(
    source: &TableSource,
    columns: &[usize],
    runtime: &Runtime<'_>,
    victims: &Gathered,
) -> Result<(), SqlError> {
    victims.for_each_chunk(runtime, MANY_AT_ONCE, &mut |rows| {
        runtime.check_cancelled()?;
        let locators: Vec<RowLocator> = rows.iter().map(|row| locator_of(source, row)).collect();
        let values = |row| -> &[Value] { &Row::as_slice(row)[1..=columns.len()] };
        let gone: Vec<Victim<'_>> =
            locators.iter().zip(rows).map(|(locator, row)| (locator, values(row))).collect();
        let mut transactions = runtime.transactions.borrow_mut();
        let transaction = transactions.for_table(&source.table, runtime.options.isolation)?;
        source.table.delete_many(transaction, columns, &gone)
    })
}
