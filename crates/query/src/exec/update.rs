//! UPDATE: all rows are found first, then changed, so that a change is never seen by the search (Halloween protection).

use std::collections::VecDeque;

use engine::{DbTransaction, RowChange, RowLocator};
use rustc_hash::FxHashSet;
use types::{SqlError, Value};

use super::output::OutputRows;
use super::room::Room;
use super::store::{check_not_null, check_settings};
use crate::context::{RowSink, StatementOutcome};
use crate::physical::change::{Constraints, SetStep, UpdatePlan};
use crate::row::Row;
use crate::runtime::Runtime;
use crate::table::TableSource;

/// A row to change.
pub(super) struct Change {
    pub(super) locator: RowLocator,
    pub(super) old: Row,
    pub(super) new: Row,
    /// Kept only for OUTPUT.
    pub(super) input: Row,
}

/// Runs an UPDATE.
pub(crate) fn run(
    update: &UpdatePlan,
    runtime: &Runtime<'_>,
    sink: &mut dyn RowSink,
) -> Result<StatementOutcome, SqlError> {
    let mut outputs = OutputRows::new(&update.outputs);
    let changes = find(update, runtime, outputs.is_wanted())?;
    let count = changes.len() as u64;
    for change in &changes {
        check_not_null(&update.source, &change.new, "UPDATE")?;
        update.constraints.check_row(runtime, &update.source, &change.new, "UPDATE")?;
        if outputs.is_wanted() {
            outputs.add(runtime, &change.input, &change.new, &change.old)?;
        }
    }
    apply(&update.source, &update.changed, runtime, &changes)?;
    // References, both ways, are looked at when all rows have their new values.
    let mut pairs = changes.iter().map(|change| (&change.old, &change.new));
    super::cascade::after_update(&update.constraints, &mut pairs, runtime, "UPDATE")?;
    let sent_rows = outputs.finish(runtime, sink)?;
    Ok(StatementOutcome { row_count: Some(count), sent_rows, ..StatementOutcome::default() })
}

/// Changes the rows. Where several get new unique keys, all the old keys go before the first new one comes: the keys are judged by what they
/// are in the end.
pub(super) fn apply(
    source: &TableSource,
    changed: &[usize],
    runtime: &Runtime<'_>,
    changes: &[Change],
) -> Result<(), SqlError> {
    check_settings(source, runtime, "UPDATE")?;
    let table = &source.table;
    let one_by_one = |work: &mut dyn FnMut(&DbTransaction, RowChange<'_>) -> Result<(), SqlError>| {
        for Change { locator, old, new, .. } in changes {
            runtime.check_cancelled()?;
            let mut transactions = runtime.transactions.borrow_mut();
            let transaction = transactions.for_table(&source.table, runtime.options.isolation)?;
            work(transaction, RowChange { locator, old, new, changed })?;
        }
        Ok(())
    };
    if changes.len() < 2 || !table.has_unique_key_among(changed) {
        return one_by_one(&mut |transaction, change| table.update(transaction, change).map(|_| ()));
    }
    let mut taken = VecDeque::with_capacity(changes.len());
    one_by_one(&mut |transaction, change| {
        taken.push_back(table.take_out(transaction, change)?);
        Ok(())
    })?;
    one_by_one(&mut |transaction, change| {
        let out = taken.pop_front().expect("one for each row");
        table.put_in(transaction, change, out).map(|_| ())
    })
}

fn find(update: &UpdatePlan, runtime: &Runtime<'_>, keep_input: bool) -> Result<Vec<Change>, SqlError> {
    let mut changes = Vec::new();
    let mut seen: FxHashSet<RowLocator> = FxHashSet::default();
    let mut source = update.plan.open(runtime)?;
    let mut row = Row::new();
    while source.next(runtime, &mut row)? {
        runtime.begin_row();
        runtime.check_cancelled()?;
        // An outer join gives rows in which the target is missing.
        let Some(locator) = runtime.locator(&row[update.locator]) else { continue };
        if update.may_repeat && !seen.insert(locator.clone()) {
            continue;
        }
        let old: Row = update.old.iter().map(|position| row[*position].clone()).collect();
        let new = changed_row(&update.source, &update.steps, &update.constraints, runtime, (&row, &old))?;
        let input = if keep_input { row.clone() } else { Row::new() };
        changes.room_for_one()?;
        changes.push(Change { locator, old, new, input });
    }
    Ok(changes)
}

/// The row after SET; the values come from `row`, which the statement has read.
pub(super) fn changed_row(
    source: &TableSource,
    steps: &[SetStep],
    constraints: &Constraints,
    runtime: &Runtime<'_>,
    (row, old): (&Row, &Row),
) -> Result<Row, SqlError> {
    let mut new = old.clone();
    for step in steps {
        match step {
            SetStep::Variable { slot, node } => {
                let value = node.eval(runtime, row)?;
                runtime.variables.borrow_mut()[*slot] = value;
            }
            SetStep::Column { store, variable } => {
                let value = store.value(runtime, source, row)?;
                if let Some((slot, node)) = variable {
                    let copy = node.eval(runtime, std::slice::from_ref(&value))?;
                    runtime.variables.borrow_mut()[*slot] = copy;
                }
                new[store.ordinal] = value;
            }
        }
    }
    renew_row_version(source, &mut new, runtime)?;
    constraints.compute(runtime, &mut new)?;
    Ok(new)
}

/// A changed row gets a new version.
pub(crate) fn renew_row_version(
    source: &TableSource,
    row: &mut Row,
    runtime: &Runtime<'_>,
) -> Result<(), SqlError> {
    for (ordinal, column) in source.def.columns.iter().enumerate() {
        if column.sql_type == types::SqlType::RowVersion {
            row[ordinal] = crate::exec::generated::next_row_version(runtime, source)?;
        }
    }
    Ok(())
}

/// The values of a row at some positions.
pub(crate) fn pick(row: &[Value], positions: &[usize]) -> Row {
    positions.iter().map(|position| row[*position].clone()).collect()
}
