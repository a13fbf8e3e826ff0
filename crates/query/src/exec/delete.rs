//! DELETE: all rows are found first, then deleted.

use engine::{RowLocator, Victim};
use rustc_hash::FxHashSet;
use types::SqlError;

use super::output::OutputRows;
use super::room::Room;
use super::update::pick;
use crate::context::{RowSink, StatementOutcome};
use crate::physical::change::DeletePlan;
use crate::row::Row;
use crate::runtime::Runtime;

/// Runs a DELETE.
pub(crate) fn run(
    delete: &DeletePlan,
    runtime: &Runtime<'_>,
    sink: &mut dyn RowSink,
) -> Result<StatementOutcome, SqlError> {
    super::store::check_settings(&delete.source, runtime, "DELETE")?;
    let mut outputs = OutputRows::new(&delete.outputs);
    let mut victims: Vec<(RowLocator, Row, Row)> = Vec::new();
    let mut seen: FxHashSet<RowLocator> = FxHashSet::default();
    let mut source = delete.plan.open(runtime)?;
    let mut row = Row::new();
    while source.next(runtime, &mut row)? {
        runtime.check_cancelled()?;
        // An outer join gives rows in which the target is missing.
        let Some(locator) = runtime.locator(&row[delete.locator]) else { continue };
        if delete.may_repeat && !seen.insert(locator.clone()) {
            continue;
        }
        let old = pick(&row, &delete.old);
        let input = if outputs.is_wanted() { row.clone() } else { Row::new() };
        victims.room_for_one()?;
        victims.push((locator, old, input));
    }
    drop(source);
    runtime.check_cancelled()?;
    {
        let gone: Vec<Victim<'_>> =
            victims.iter().map(|(locator, old, _)| (locator, old.as_slice())).collect();
        let mut transactions = runtime.transactions.borrow_mut();
        let transaction = transactions.for_table(&delete.source.table, runtime.options.isolation)?;
        delete.source.table.delete_many(transaction, &gone)?;
    }
    if outputs.is_wanted() {
        for (_, old, input) in &victims {
            runtime.check_cancelled()?;
            outputs.add(runtime, input, &[], old)?;
        }
    }
    let mut rows = victims.iter().map(|victim| &victim.1);
    super::cascade::after_delete(&delete.constraints, &mut rows, runtime, "DELETE")?;
    let sent_rows = outputs.finish(runtime, sink)?;
    Ok(StatementOutcome { row_count: Some(victims.len() as u64), sent_rows, ..StatementOutcome::default() })
}
