//! INSERT: makes and checks rows, and passes them to the engine.

use std::sync::Arc;

use engine::LockWait;
use plan_ir::context::{RowSink, StatementOutcome};
use plan_ir::foreign_key::Reference;
use plan_ir::kinds::IdentityRule;
use plan_ir::physical::change::{InsertInput, InsertPlan, Store};
use plan_ir::row::Row;
use plan_ir::row_source::RowSource;
use plan_ir::runtime::Runtime;
use plan_ir::table::{SequenceSource, TableSource, is_identity_insert_on};
use types::{SqlError, Value};

use super::constraints::CheckRows;
use super::new_rows::{NewRows, insert_row};
use super::operations::Open;
use super::output::OutputRows;
use super::spill::gathered::Gathered;
use super::store::check_settings;
use super::trigger::RowsOf;
use super::uses::note_rows;
use crate::spill::store::{RowStore, StoredRows};

/// What messages call the statement.
const VERB: &str = "INSERT";

/// Keys of self-referencing rows that other rows of the statement may still bring.
type Later<'p> = Vec<(&'p Reference, Row)>;

/// Runs an INSERT.
pub fn run(
    insert: &InsertPlan,
    runtime: &Runtime<'_>,
    sink: &mut dyn RowSink,
) -> Result<StatementOutcome, SqlError> {
    check_settings(&insert.source, runtime, VERB)?;
    check_identity_insert(&insert.source, insert.identity, runtime)?;
    if insert.constraints.instead_of.is_some() {
        return run_many(insert, &insert.input, runtime, sink);
    }
    lock_table(insert, runtime)?;
    note_rows(&insert.source, runtime);
    let outcome = match &insert.input {
        InsertInput::Values(rows)
            if rows.len() == 1 && insert.top.is_none() && !insert.source.def.ignores_duplicates() =>
        {
            run_one(insert, &rows[0], runtime, sink)
        }
        input => run_many(insert, input, runtime, sink),
    }?;
    insert.constraints.check_deferred(runtime, &insert.source, VERB)?;
    Ok(outcome)
}

/// The only row of a statement.
fn run_one(
    insert: &InsertPlan,
    stores: &[Store],
    runtime: &Runtime<'_>,
    sink: &mut dyn RowSink,
) -> Result<StatementOutcome, SqlError> {
    runtime.begin_row();
    runtime.check_cancelled()?;
    let row = insert_row(runtime, &insert.source, stores, &insert.constraints, &[], VERB)?;
    if !is_looked_at(insert) {
        runtime.give_back(row);
        return Ok(outcome(insert, runtime.last_identity(), false, 1));
    }
    let mut inserting = Inserting::new(insert);
    inserting.count = 1;
    look_at(insert, runtime, &row, &mut inserting.outputs, &mut inserting.later)?;
    if insert.constraints.triggers.is_some() {
        inserting.fired.push(runtime, row)?;
    }
    inserting.finish(runtime, sink)
}

#[inline(never)]
fn run_many(
    insert: &InsertPlan,
    input: &InsertInput,
    runtime: &Runtime<'_>,
    sink: &mut dyn RowSink,
) -> Result<StatementOutcome, SqlError> {
    let mut inserting = Inserting::new(insert);
    let mut left = runtime.changes_max(insert.has_top);
    match input {
        InsertInput::Values(rows) => {
            for stores in rows.iter().take(rows_taken(insert, rows.len(), runtime)?) {
                runtime.begin_row();
                inserting.add(runtime, stores, &[])?;
            }
        }
        InsertInput::Query { plan, stores, read_first: true, drawn } => {
            let mut source = StoredRows::new(RowStore::read(plan, runtime)?);
            let mut row = Row::new();
            while left > 0 && source.next(runtime, &mut row)? {
                left -= 1;
                begin_row(runtime, drawn, &row);
                inserting.add(runtime, stores, &row)?;
            }
        }
        InsertInput::Query { plan, stores, read_first: false, drawn } => {
            let mut source = plan.open(runtime)?;
            let mut row = Row::new();
            while left > 0 && source.next(runtime, &mut row)? {
                left -= 1;
                begin_row(runtime, drawn, &row);
                inserting.add(runtime, stores, &row)?;
            }
        }
    }
    inserting.finish(runtime, sink)
}

/// A row's defaults get the next values of its query.
fn begin_row(runtime: &Runtime<'_>, drawn: &[(Arc<SequenceSource>, usize)], row: &Row) {
    runtime.begin_row();
    for (sequence, position) in drawn {
        runtime.has_drawn(sequence, row[*position].clone());
    }
}

/// Inserts rows given by the caller (INSERT ... EXEC).
pub fn run_rows(
    insert: &InsertPlan,
    stores: &[Store],
    rows: &[Row],
    runtime: &Runtime<'_>,
    sink: &mut dyn RowSink,
) -> Result<StatementOutcome, SqlError> {
    check_identity_insert(&insert.source, insert.identity, runtime)?;
    check_settings(&insert.source, runtime, VERB)?;
    if insert.constraints.instead_of.is_none() {
        lock_table(insert, runtime)?;
        note_rows(&insert.source, runtime);
    }
    let mut inserting = Inserting::new(insert);
    for row in rows.iter().take(rows_taken(insert, rows.len(), runtime)?) {
        runtime.begin_row();
        inserting.add(runtime, stores, row)?;
    }
    let outcome = inserting.finish(runtime, sink)?;
    insert.constraints.check_deferred(runtime, &insert.source, VERB)?;
    Ok(outcome)
}

/// Inserts the rows of a bulk load as they come. `is_sorted`: they claim to come in the order of the clustered index (4819).
pub fn run_bulk(
    insert: &InsertPlan,
    stores: &[Store],
    source: &mut dyn RowSource,
    is_sorted: bool,
    runtime: &Runtime<'_>,
    sink: &mut dyn RowSink,
) -> Result<StatementOutcome, SqlError> {
    check_settings(&insert.source, runtime, VERB)?;
    {
        // Before the first row is taken: later it is too late to make the plan again.
        let mut transactions = runtime.transactions.borrow_mut();
        let transaction = transactions.for_table(&insert.source.table, runtime.options.isolation)?;
        insert.source.table.hold_definition(transaction)?;
    }
    lock_table(insert, runtime)?;
    note_rows(&insert.source, runtime);
    let mut inserting = Inserting::new(insert);
    inserting.rows.expect_order(is_sorted);
    let mut row = Row::new();
    while source.next(runtime, &mut row)? {
        runtime.begin_row();
        inserting.add(runtime, stores, &row)?;
    }
    let outcome = inserting.finish(runtime, sink)?;
    insert.constraints.check_deferred(runtime, &insert.source, VERB)?;
    Ok(outcome)
}

/// How many of the given rows are inserted.
fn rows_taken(insert: &InsertPlan, rows: usize, runtime: &Runtime<'_>) -> Result<usize, SqlError> {
    let most = match &insert.top {
        Some(top) => super::simple::top_of_rows(top, rows, runtime)?,
        None => runtime.changes_max(insert.has_top),
    };
    Ok(usize::try_from(most).unwrap_or(usize::MAX))
}

/// SET IDENTITY_INSERT decides when the statement runs, not when its batch is bound: 544 (1077 for a table variable), 545, 8101.
#[inline]
pub(super) fn check_identity_insert(
    source: &TableSource,
    rule: Option<IdentityRule>,
    runtime: &Runtime<'_>,
) -> Result<(), SqlError> {
    let Some(rule) = rule else { return Ok(()) };
    match (is_identity_insert_on(runtime.options, source), rule.is_given) {
        (true, true) if !rule.has_list => {
            Err(plan_ir::errors::identity_insert_without_list(&source.full_name()))
        }
        (true, false) => Err(plan_ir::errors::identity_insert_needed(&source.def.name)),
        (false, true) if source.def.is_table_variable() => Err(SqlError::new(1077, &[])),
        (false, true) => Err(plan_ir::errors::identity_insert_off(&source.def.name)),
        _ => Ok(()),
    }
}

/// TABLOCK and TABLOCKX lock the target as a whole.
#[inline]
fn lock_table(insert: &InsertPlan, runtime: &Runtime<'_>) -> Result<(), SqlError> {
    if insert.hints.table_lock { lock_whole_table(insert, runtime) } else { Ok(()) }
}

fn lock_whole_table(insert: &InsertPlan, runtime: &Runtime<'_>) -> Result<(), SqlError> {
    let wait = if insert.hints.no_wait { LockWait::NoWait } else { LockWait::Session };
    let mut transactions = runtime.transactions.borrow_mut();
    let transaction = transactions.for_table(&insert.source.table, runtime.options.isolation)?;
    insert.source.table.lock_exclusively(transaction, wait)
}

/// The outcome of a statement that has inserted so many rows.
#[inline]
fn outcome(insert: &InsertPlan, identity: Option<Value>, sent_rows: bool, count: u64) -> StatementOutcome {
    // An INSERT without an identity column sets @@IDENTITY to NULL.
    let identity = match count {
        0 => None,
        _ if insert.constraints.instead_of.is_some() => None,
        _ => Some(identity.filter(|_| insert.source.def.identity_ordinal().is_some()).unwrap_or(Value::Null)),
    };
    StatementOutcome { row_count: Some(count), identity, sent_rows, ..StatementOutcome::default() }
}

/// Has an inserted row references, OUTPUT or triggers to process?
fn is_looked_at(insert: &InsertPlan) -> bool {
    !insert.constraints.references.is_empty()
        || !insert.outputs.is_empty()
        || insert.constraints.triggers.is_some()
}

/// The rows of one INSERT, and the work after their insertion.
struct Inserting<'p> {
    insert: &'p InsertPlan,
    rows: NewRows<'p>,
    outputs: OutputRows<'p>,
    later: Later<'p>,
    /// The rows for triggers.
    fired: Gathered,
    count: u64,
}

impl<'p> Inserting<'p> {
    fn new(insert: &'p InsertPlan) -> Inserting<'p> {
        Inserting {
            insert,
            rows: NewRows::of_insert(&insert.source, &insert.constraints),
            outputs: OutputRows::new(&insert.outputs),
            later: Later::new(),
            fired: Gathered::default(),
            count: 0,
        }
    }

    fn add(&mut self, runtime: &Runtime<'_>, stores: &[Store], input: &[Value]) -> Result<(), SqlError> {
        runtime.check_cancelled()?;
        if self.insert.constraints.instead_of.is_some() {
            return self.add_for_trigger(runtime, stores, input);
        }
        self.rows.add(runtime, stores, input)?;
        if self.rows.is_full() { self.put_in(runtime) } else { Ok(()) }
    }

    /// A row that an INSTEAD OF trigger gets.
    fn add_for_trigger(
        &mut self,
        runtime: &Runtime<'_>,
        stores: &[Store],
        input: &[Value],
    ) -> Result<(), SqlError> {
        let Inserting { insert, outputs, fired, count, .. } = self;
        let row =
            super::new_rows::row_for_trigger(runtime, &insert.source, stores, &insert.constraints, input)?;
        if outputs.is_wanted() {
            outputs.add(runtime, &[], &row, &[])?;
        }
        *count += 1;
        fired.push(runtime, row)
    }

    fn put_in(&mut self, runtime: &Runtime<'_>) -> Result<(), SqlError> {
        let Inserting { insert, rows, outputs, later, fired, count } = self;
        let rows = rows.put_in(runtime)?;
        *count += rows.len() as u64;
        if is_looked_at(insert) {
            rows.iter().try_for_each(|row| look_at(insert, runtime, row, outputs, later))?;
            if insert.constraints.triggers.is_some() {
                rows.iter().try_for_each(|row| fired.push(runtime, row.clone()))?;
            }
        }
        Ok(())
    }

    fn finish(mut self, runtime: &Runtime<'_>, sink: &mut dyn RowSink) -> Result<StatementOutcome, SqlError> {
        self.put_in(runtime)?;
        self.rows.finish(runtime)?;
        super::constraints::check_later(&self.later, runtime, VERB)?;
        let constraints = &self.insert.constraints;
        if let Some(triggers) = constraints.triggers.as_ref().or(constraints.instead_of.as_ref()) {
            let form = (RowsOf::Insert, self.insert.source.def.columns.len());
            let rows = std::mem::take(&mut self.fired);
            runtime.fire(super::trigger::fired(triggers, rows, form, None, runtime)?);
        }
        // Rows that OUTPUT stores elsewhere draw identity values of their own.
        let identity = runtime.last_identity();
        let sent_rows = self.outputs.is_wanted() && self.outputs.finish(runtime, sink)?;
        Ok(outcome(self.insert, identity, sent_rows, self.count))
    }
}

/// Checks the references of a row that is already in the table, so a transaction that deletes the referenced key finds it. Then emits OUTPUT.
fn look_at<'p>(
    insert: &'p InsertPlan,
    runtime: &Runtime<'_>,
    row: &[Value],
    outputs: &mut OutputRows<'_>,
    later: &mut Later<'p>,
) -> Result<(), SqlError> {
    if !insert.constraints.references.is_empty() {
        insert.constraints.check_references(runtime, row, VERB, later)?;
    }
    if outputs.is_wanted() {
        outputs.add(runtime, &[], row, &[])?;
    }
    Ok(())
}
