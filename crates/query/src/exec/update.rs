//! UPDATE: all rows are found first, then changed, so that a change is never seen by the search (Halloween protection).

use engine::{Halves, RowChange, RowLocator};
use types::{SqlError, Value};

use super::output::OutputRows;
use super::set_op::{Compared, Distinct};
use super::spill::gathered::{Gathered, MANY_AT_ONCE};
use super::store::{check_not_null, check_settings};
use crate::context::{RowSink, StatementOutcome};
use crate::physical::change::{Constraints, SetStep, UpdatePlan};
use crate::physical::plan::Plan;
use crate::row::Row;
use crate::row_source::RowSource;
use crate::runtime::Runtime;
use crate::table::TableSource;

/// Runs an UPDATE.
pub(crate) fn run(
    update: &UpdatePlan,
    runtime: &Runtime<'_>,
    sink: &mut dyn RowSink,
) -> Result<StatementOutcome, SqlError> {
    super::uses::note_change(&update.source, Some(&update.changed), runtime);
    let mut outputs = OutputRows::new(&update.outputs);
    let changes = find(update, runtime, &mut outputs)?;
    apply(&update.source, &update.changed, runtime, &changes)?;
    // References, both ways, are looked at when all rows have their new values.
    super::cascade::after_update(&update.constraints, &changes, runtime, "UPDATE")?;
    let sent_rows = outputs.finish(runtime, sink)?;
    Ok(StatementOutcome { row_count: Some(changes.len() as u64), sent_rows, ..StatementOutcome::default() })
}

/// A row that is to be changed, as it is gathered: its locator, what it is, what it becomes.
pub(super) fn change(locator: Value, mut old: Row, mut new: Row) -> Row {
    assert_eq!(old.len(), new.len(), "a change leaves the columns as they are");
    let mut row = Row::with_capacity(1 + old.len() + new.len());
    row.push(locator);
    row.append(&mut old);
    row.append(&mut new);
    row
}

/// The old and the new values of a gathered [`change`].
pub(super) fn old_and_new(change: &[Value]) -> (&[Value], &[Value]) {
    change[1..].split_at((change.len() - 1) / 2)
}

/// Changes gathered rows. Where several get new unique keys, all the old keys go before the first new one comes: the keys are judged by what
/// they are in the end.
pub(super) fn apply(
    source: &TableSource,
    changed: &[usize],
    runtime: &Runtime<'_>,
    changes: &Gathered,
) -> Result<(), SqlError> {
    check_settings(source, runtime, "UPDATE")?;
    let table = &source.table;
    let work = |halves: Halves| {
        changes.for_each_chunk(runtime, MANY_AT_ONCE, &mut |rows| {
            runtime.check_cancelled()?;
            let mut transactions = runtime.transactions.borrow_mut();
            let transaction = transactions.for_table(table, runtime.options.isolation)?;
            if let [row] = rows {
                let locator = locator_of(source, row);
                return table.update_many(transaction, &[row_change(&locator, row, changed)], halves);
            }
            let locators: Vec<RowLocator> = rows.iter().map(|row| locator_of(source, row)).collect();
            let pairs = locators.iter().zip(rows);
            let some: Vec<RowChange<'_>> =
                pairs.map(|(locator, row)| row_change(locator, row, changed)).collect();
            table.update_many(transaction, &some, halves)
        })
    };
    if changes.len() < 2 || !table.has_unique_key_among(changed) {
        return work(Halves::Both);
    }
    work(Halves::OldKeysOut)?;
    work(Halves::NewKeysIn)
}

fn row_change<'r>(locator: &'r RowLocator, row: &'r [Value], changed: &'r [usize]) -> RowChange<'r> {
    let (old, new) = old_and_new(row);
    RowChange { locator, old, new, changed }
}

/// The locator that a gathered row begins with.
pub(super) fn locator_of(source: &TableSource, row: &[Value]) -> RowLocator {
    source.table.locator(&row[0]).expect("a row that was found has its place")
}

/// The rows of a statement's search; each row of the target once, if `may_repeat`.
pub(super) fn search<'p>(
    plan: &'p Plan,
    locator: usize,
    may_repeat: bool,
    runtime: &Runtime<'_>,
) -> Result<Box<dyn RowSource + 'p>, SqlError> {
    let source = plan.open(runtime)?;
    Ok(match may_repeat {
        true => Box::new(Distinct::new(source, Compared::LocatorAt(locator), runtime)),
        false => source,
    })
}

fn find(
    update: &UpdatePlan,
    runtime: &Runtime<'_>,
    outputs: &mut OutputRows<'_>,
) -> Result<Gathered, SqlError> {
    let mut changes = Gathered::default();
    let mut source = search(&update.plan, update.locator, update.may_repeat, runtime)?;
    let mut row = runtime.take_row();
    while source.next(runtime, &mut row)? {
        runtime.begin_row();
        runtime.check_cancelled()?;
        // An outer join gives rows in which the target is missing.
        let locator = row[update.locator].clone();
        if locator.is_null() {
            continue;
        }
        let old = pick(&row, &update.old);
        let new = changed_row(&update.source, &update.steps, &update.constraints, runtime, (&row, &old))?;
        check_not_null(&update.source, &new, "UPDATE")?;
        update.constraints.check_row(runtime, &update.source, &new, "UPDATE")?;
        if outputs.is_wanted() {
            outputs.add(runtime, &row, &new, &old)?;
        }
        changes.push(runtime, change(locator, old, new))?;
    }
    runtime.give_back(row);
    changes.finish()
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
