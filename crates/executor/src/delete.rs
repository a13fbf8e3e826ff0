//! DELETE: all rows are found first, then deleted. If no reference or OUTPUT depends on them, only their keys are gathered.

use engine::Deletion;
use plan_ir::context::{RowSink, StatementOutcome};
use plan_ir::physical::change::DeletePlan;
use plan_ir::row::{Batch, Row};
use plan_ir::row_source::RowSource;
use plan_ir::runtime::Runtime;
use plan_ir::table::TableSource;
use txn::IsolationLevel;
use types::{SqlError, Value};

use super::changed::locator_of;
use super::deleted::{add_to, apply, finish};
use super::output::OutputRows;
use super::spill::gathered::Gathered;
use super::trigger::RowsOf;
use super::update::search;

/// Rows that are found.
#[derive(Default)]
enum Victims {
    #[default]
    None,
    /// The locator, then the values of the needed columns.
    One(Row),
    Many(Box<Deletion>),
}

/// Runs a DELETE.
pub fn run(
    delete: &DeletePlan,
    runtime: &Runtime<'_>,
    sink: &mut dyn RowSink,
) -> Result<StatementOutcome, SqlError> {
    let mut outputs = OutputRows::new(&delete.outputs);
    if let Some(triggers) = &delete.constraints.instead_of {
        let victims = gathered(delete, runtime, &mut outputs)?;
        let (count, form) = (victims.len() as u64, (RowsOf::Delete, delete.columns.len()));
        let sent_rows = outputs.finish(runtime, sink)?;
        runtime.fire(super::trigger::fired(triggers, victims, form, None, runtime)?);
        return Ok(StatementOutcome { row_count: Some(count), sent_rows, ..StatementOutcome::default() });
    }
    super::store::check_settings(&delete.source, runtime, "DELETE")?;
    super::uses::note_rows(&delete.source, runtime);
    // A SNAPSHOT transaction locks all of them before it changes one.
    let rows_matter = !delete.constraints.dependents.is_empty()
        || delete.constraints.triggers.is_some()
        || runtime.options.isolation == IsolationLevel::Snapshot;
    let count = if rows_matter {
        let victims = gathered(delete, runtime, &mut outputs)?;
        runtime.check_cancelled()?;
        apply(&delete.source, &delete.columns, runtime, &victims)?;
        super::cascade::after_delete(&delete.constraints, &victims, &delete.columns, runtime, "DELETE")?;
        let count = victims.len();
        if let Some(triggers) = &delete.constraints.triggers {
            let form = (RowsOf::Delete, delete.columns.len());
            runtime.fire(super::trigger::fired(triggers, victims, form, None, runtime)?);
        }
        count
    } else {
        let mut victims = Victims::default();
        find(delete, runtime, &mut outputs, &mut |victim| victims.add(delete, runtime, victim))?;
        runtime.check_cancelled()?;
        victims.delete(&delete.source, &delete.columns, runtime)?
    };
    let sent_rows = outputs.finish(runtime, sink)?;
    Ok(StatementOutcome { row_count: Some(count as u64), sent_rows, ..StatementOutcome::default() })
}

/// The rows to delete, all of them.
fn gathered(
    delete: &DeletePlan,
    runtime: &Runtime<'_>,
    outputs: &mut OutputRows<'_>,
) -> Result<Gathered, SqlError> {
    let mut victims = Gathered::default();
    find(delete, runtime, outputs, &mut |victim| victims.push(runtime, victim.map(Value::clone).collect()))?;
    victims.finish()
}

/// Finds the rows to delete; `take` gets the locator of each, then the values of the needed columns.
fn find(
    delete: &DeletePlan,
    runtime: &Runtime<'_>,
    outputs: &mut OutputRows<'_>,
    take: &mut dyn FnMut(&mut dyn ExactSizeIterator<Item = &Value>) -> Result<(), SqlError>,
) -> Result<(), SqlError> {
    let mut source = search(&delete.plan, delete.locator, delete.may_repeat, runtime)?;
    let mut left = runtime.changes_max(delete.has_top);
    if left < u64::MAX {
        // Only rows that it deletes are locked.
        source = Box::new(RowByRow(source));
    }
    debug_assert_eq!(delete.old.len(), delete.columns.len(), "each column that matters is read");
    let mut batch = Batch::default();
    let positions: Vec<usize> = std::iter::once(delete.locator).chain(delete.old.iter().copied()).collect();
    while left > 0 && source.next_batch(runtime, &mut batch)? {
        for at in 0..batch.rows {
            let row = batch.row(at);
            runtime.check_cancelled()?;
            // An outer join gives rows in which the target is missing.
            if row[delete.locator].is_null() {
                continue;
            }
            left -= 1;
            if outputs.is_wanted() {
                assert_eq!(
                    delete.old.len(),
                    delete.source.def.columns.len(),
                    "OUTPUT may ask for every column"
                );
                let old: Row = delete.old.iter().map(|position| row[*position].clone()).collect();
                outputs.add(runtime, row, &[], &old)?;
            }
            take(&mut positions.iter().map(|position| &row[*position]))?;
        }
    }
    Ok(())
}

/// Gives batches of one row.
struct RowByRow<'p>(Box<dyn RowSource + 'p>);

impl RowSource for RowByRow<'_> {
    fn next(&mut self, runtime: &Runtime<'_>, row: &mut Row) -> Result<bool, SqlError> {
        self.0.next(runtime, row)
    }
}

impl Victims {
    fn add(
        &mut self,
        delete: &DeletePlan,
        runtime: &Runtime<'_>,
        victim: &mut dyn ExactSizeIterator<Item = &Value>,
    ) -> Result<(), SqlError> {
        match self {
            Victims::None => *self = Victims::One(victim.cloned().collect()),
            Victims::One(first) => {
                let mut deletion = Deletion::new(&delete.source.table, &delete.columns);
                add_to(&mut deletion, runtime, &mut first.iter())?;
                add_to(&mut deletion, runtime, victim)?;
                *self = Victims::Many(Box::new(deletion));
            }
            Victims::Many(deletion) => add_to(deletion, runtime, victim)?,
        }
        Ok(())
    }

    /// Deletes them; gives their number.
    fn delete(
        self,
        source: &TableSource,
        columns: &[usize],
        runtime: &Runtime<'_>,
    ) -> Result<usize, SqlError> {
        let mut transactions = runtime.transactions.borrow_mut();
        match self {
            Victims::None => Ok(0),
            Victims::One(row) => {
                let transaction = transactions.for_table(&source.table, runtime.options.isolation)?;
                let victim = (&locator_of(source, &row), &row[1..]);
                source.table.delete_many(transaction, columns, &[victim]).map(|()| 1)
            }
            Victims::Many(deletion) => {
                let transaction = transactions.for_table(&source.table, runtime.options.isolation)?;
                finish(*deletion, runtime, transaction)
            }
        }
    }
}
