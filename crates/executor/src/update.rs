//! UPDATE: all rows are found first, then changed, so that a change is never seen by the search (Halloween protection).

use plan_ir::context::{RowSink, StatementOutcome};
use plan_ir::physical::change::{Constraints, SetStep, UpdatePlan};
use plan_ir::physical::plan::Plan;
use plan_ir::row::Row;
use plan_ir::row_source::RowSource;
use plan_ir::runtime::Runtime;
use plan_ir::table::TableSource;
use types::SqlError;

use super::changed::{apply, change, pick, renew_row_version};
use super::constraints::CheckRows;
use super::operations::{Evaluate, Open};
use super::output::OutputRows;
use super::set_op::{Compared, Distinct};
use super::spill::gathered::Gathered;
use super::store::StoreValue;
use super::store::check_not_null;
use super::trigger::RowsOf;

/// Runs an UPDATE.
pub fn run(
    update: &UpdatePlan,
    runtime: &Runtime<'_>,
    sink: &mut dyn RowSink,
) -> Result<StatementOutcome, SqlError> {
    let mut outputs = OutputRows::new(&update.outputs);
    if let Some(triggers) = &update.constraints.instead_of {
        let changes = find(update, runtime, &mut outputs)?;
        let (count, form) = (changes.len() as u64, (RowsOf::Update, update.source.def.columns.len()));
        let sent_rows = outputs.finish(runtime, sink)?;
        runtime.fire(super::trigger::fired(triggers, changes, form, Some(&update.changed), runtime)?);
        return Ok(StatementOutcome { row_count: Some(count), sent_rows, ..StatementOutcome::default() });
    }
    super::uses::note_change(&update.source, Some(&update.changed), runtime);
    let changes = find(update, runtime, &mut outputs)?;
    apply(&update.source, &update.changed, runtime, &changes)?;
    // References in both directions are checked when all rows have their new values.
    super::cascade::after_update(&update.constraints, &changes, runtime, "UPDATE")?;
    update.constraints.check_deferred(runtime, &update.source, "UPDATE")?;
    let sent_rows = outputs.finish(runtime, sink)?;
    let count = changes.len() as u64;
    if let Some(triggers) = &update.constraints.triggers {
        let form = (RowsOf::Update, update.source.def.columns.len());
        runtime.fire(super::trigger::fired(triggers, changes, form, Some(&update.changed), runtime)?);
    }
    Ok(StatementOutcome { row_count: Some(count), sent_rows, ..StatementOutcome::default() })
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
    let most = usize::try_from(runtime.changes_max(update.has_top)).unwrap_or(usize::MAX);
    while changes.len() < most && source.next(runtime, &mut row)? {
        runtime.begin_row();
        runtime.check_cancelled()?;
        // An outer join gives rows in which the target is missing.
        let locator = row[update.locator].clone();
        if locator.is_null() {
            continue;
        }
        let old = pick(&row, &update.old);
        let new = changed_row(&update.source, &update.steps, &update.constraints, runtime, (&row, &old))?;
        if update.constraints.instead_of.is_none() {
            check_not_null(&update.source, &new, "UPDATE")?;
        }
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
    assert_eq!(old.len(), source.def.columns.len(), "a row that is changed is known as a whole");
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
