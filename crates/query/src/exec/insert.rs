//! INSERT: rows are made, checked and handed to the engine.

use std::sync::Arc;

use engine::LockWait;
use types::{SqlError, Value};

use super::output::OutputRows;
use super::store::{check_not_null, check_settings};
use crate::context::{RowSink, StatementOutcome};
use crate::exec::spill::store::{RowStore, StoredRows};
use crate::physical::change::{Constraints, IdentityRule, InsertInput, InsertPlan, Store};
use crate::row::Row;
use crate::row_source::RowSource;
use crate::runtime::Runtime;
use crate::table::{SequenceSource, TableSource, is_identity_insert_on};

/// Keys of self-referencing rows that other rows of the statement may still bring.
type Later<'p> = Vec<(&'p crate::physical::change::Reference, Row)>;

/// Runs an INSERT.
pub(crate) fn run(
    insert: &InsertPlan,
    runtime: &Runtime<'_>,
    sink: &mut dyn RowSink,
) -> Result<StatementOutcome, SqlError> {
    check_settings(&insert.source, runtime, "INSERT")?;
    check_identity_insert(&insert.source, insert.identity, runtime)?;
    lock_table(insert, runtime)?;
    let mut outputs = OutputRows::new(&insert.outputs);
    let mut later = Later::new();
    let mut count = 0;
    match &insert.input {
        InsertInput::Values(rows) => {
            for stores in rows {
                runtime.begin_row();
                insert_one(insert, runtime, stores, &[], &mut outputs, &mut later)?;
                count += 1;
            }
        }
        InsertInput::Query { plan, stores, read_first: true, drawn } => {
            let mut source = StoredRows::new(RowStore::read(plan, runtime)?);
            let mut row = Row::new();
            while source.next(runtime, &mut row)? {
                begin_row(runtime, drawn, &row);
                insert_one(insert, runtime, stores, &row, &mut outputs, &mut later)?;
                count += 1;
            }
        }
        InsertInput::Query { plan, stores, read_first: false, drawn } => {
            let mut source = plan.open(runtime)?;
            let mut row = Row::new();
            while source.next(runtime, &mut row)? {
                begin_row(runtime, drawn, &row);
                insert_one(insert, runtime, stores, &row, &mut outputs, &mut later)?;
                count += 1;
            }
        }
    }
    super::constraints::check_later(&later, runtime, "INSERT")?;
    finish(insert, runtime, outputs, sink, count)
}

/// A row's defaults get what its query has drawn for it.
fn begin_row(runtime: &Runtime<'_>, drawn: &[(Arc<SequenceSource>, usize)], row: &Row) {
    runtime.begin_row();
    for (sequence, position) in drawn {
        runtime.has_drawn(sequence, row[*position].clone());
    }
}

/// Inserts rows given by the caller (INSERT ... EXEC).
pub(crate) fn run_rows(
    insert: &InsertPlan,
    stores: &[Store],
    rows: &[Row],
    runtime: &Runtime<'_>,
    sink: &mut dyn RowSink,
) -> Result<StatementOutcome, SqlError> {
    check_settings(&insert.source, runtime, "INSERT")?;
    lock_table(insert, runtime)?;
    let mut outputs = OutputRows::new(&insert.outputs);
    let mut later = Later::new();
    let count = rows.len() as u64;
    for row in rows {
        runtime.begin_row();
        insert_one(insert, runtime, stores, row, &mut outputs, &mut later)?;
    }
    super::constraints::check_later(&later, runtime, "INSERT")?;
    finish(insert, runtime, outputs, sink, count)
}

/// SET IDENTITY_INSERT decides when the statement runs, not when its batch is bound: 544, 545, 8101.
#[inline]
pub(super) fn check_identity_insert(
    source: &TableSource,
    rule: Option<IdentityRule>,
    runtime: &Runtime<'_>,
) -> Result<(), SqlError> {
    let Some(rule) = rule else { return Ok(()) };
    match (is_identity_insert_on(runtime.options, source), rule.is_given) {
        (true, true) if !rule.has_list => {
            Err(crate::errors::identity_insert_without_list(&source.full_name()))
        }
        (true, false) => Err(crate::errors::identity_insert_needed(&source.def.name)),
        (false, true) => Err(crate::errors::identity_insert_off(&source.def.name)),
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

#[inline]
fn finish(
    insert: &InsertPlan,
    runtime: &Runtime<'_>,
    outputs: OutputRows<'_>,
    sink: &mut dyn RowSink,
    count: u64,
) -> Result<StatementOutcome, SqlError> {
    // Rows that OUTPUT stores elsewhere draw identity values of their own.
    let identity = runtime.last_identity();
    let sent_rows = outputs.is_wanted() && outputs.finish(runtime, sink)?;
    // An INSERT without an identity column sets @@IDENTITY to NULL.
    let identity = if count == 0 {
        None
    } else {
        Some(identity.filter(|_| insert.source.def.identity_ordinal().is_some()).unwrap_or(Value::Null))
    };
    Ok(StatementOutcome { row_count: Some(count), identity, sent_rows, ..StatementOutcome::default() })
}

fn insert_one<'p>(
    insert: &'p InsertPlan,
    runtime: &Runtime<'_>,
    stores: &[Store],
    input: &[Value],
    outputs: &mut OutputRows<'_>,
    later: &mut Later<'p>,
) -> Result<(), SqlError> {
    runtime.check_cancelled()?;
    let row = insert_row(runtime, &insert.source, stores, &insert.constraints, input, "INSERT")?;
    // The row stands before its references are looked at: whoever takes the key away meanwhile meets it.
    if !insert.constraints.references.is_empty() {
        insert.constraints.check_references(runtime, &row, "INSERT", later)?;
    }
    if outputs.is_wanted() {
        outputs.add(runtime, &[], &row, &[])?;
    }
    runtime.give_back(row);
    Ok(())
}

/// Makes, checks and inserts one row; messages call the statement `verb`.
pub(crate) fn insert_row(
    runtime: &Runtime<'_>,
    source: &TableSource,
    stores: &[Store],
    constraints: &Constraints,
    input: &[Value],
    verb: &str,
) -> Result<Row, SqlError> {
    let mut row = runtime.take_row();
    row.resize(source.def.columns.len(), Value::Null);
    for store in stores {
        row[store.ordinal] = store.value(runtime, source, input)?;
    }
    constraints.compute(runtime, &mut row)?;
    check_not_null(source, &row, verb)?;
    constraints.check_row(runtime, source, &row, verb)?;
    let mut transactions = runtime.transactions.borrow_mut();
    let transaction = transactions.for_table(&source.table, runtime.options.isolation)?;
    source.table.insert(transaction, &row)?;
    if let Some(ordinal) = explicit_identity(source, stores) {
        source.table.note_identity(transaction, &row[ordinal])?;
        runtime.note_identity(row[ordinal].clone());
    }
    Ok(row)
}

/// The identity column when its value was given explicitly.
fn explicit_identity(source: &TableSource, stores: &[Store]) -> Option<usize> {
    let ordinal = source.def.identity_ordinal()?;
    let given = |store: &Store| {
        store.ordinal == ordinal && !matches!(store.kind, crate::physical::change::StoreKind::Identity)
    };
    stores.iter().any(given).then_some(ordinal)
}
