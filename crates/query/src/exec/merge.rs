//! MERGE: all rows are found and given to their actions first; then rows are deleted, changed and inserted, in this order, so that keys are
//! judged by what they are in the end.

use engine::RowLocator;
use rustc_hash::FxHashSet;
use types::{SqlError, Value};

use super::constraints::check_later;
use super::insert::{check_identity_insert, insert_row};
use super::output::OutputRows;
use super::room::Room;
use super::store::{check_not_null, check_settings};
use super::update::{Change, apply, changed_row, pick};
use crate::context::{RowSink, StatementOutcome};
use crate::physical::change::{MergeAction, MergePlan, Store};
use crate::row::Row;
use crate::runtime::Runtime;

/// What messages call the statement.
const VERB: &str = "MERGE";

impl MergeAction {
    /// `$action`.
    fn name(&self) -> &'static str {
        match self {
            MergeAction::Insert(_) => "INSERT",
            MergeAction::Update(_) => "UPDATE",
            MergeAction::Delete => "DELETE",
        }
    }
}

/// The rows by what becomes of them, each list in the order in which they were found.
#[derive(Default)]
struct Found<'p> {
    inserts: Vec<(&'p [Store], Row)>,
    updates: Vec<Change>,
    deletes: Vec<Change>,
    /// The actions in the order of the rows.
    order: Vec<&'p MergeAction>,
}

/// Runs a MERGE.
pub(crate) fn run(
    merge: &MergePlan,
    runtime: &Runtime<'_>,
    sink: &mut dyn RowSink,
) -> Result<StatementOutcome, SqlError> {
    check_settings(&merge.source, runtime, VERB)?;
    check_identity_insert(&merge.source, merge.identity, runtime)?;
    let mut outputs = OutputRows::new(&merge.outputs);
    let found = find(merge, runtime, outputs.is_wanted())?;
    for change in &found.deletes {
        runtime.check_cancelled()?;
        let mut transactions = runtime.transactions.borrow_mut();
        let transaction = transactions.for_table(&merge.source.table, runtime.options.isolation)?;
        merge.source.table.delete(transaction, &change.locator, &change.old)?;
    }
    for change in &found.updates {
        check_not_null(&merge.source, &change.new, VERB)?;
        merge.updates.check_row(runtime, &merge.source, &change.new, VERB)?;
    }
    apply(&merge.source, &merge.changed, runtime, &found.updates)?;
    let mut inserted = Vec::new();
    for (stores, input) in &found.inserts {
        runtime.check_cancelled()?;
        runtime.begin_row();
        inserted.room_for_one()?;
        inserted.push(insert_row(runtime, &merge.source, stores, &merge.inserts, input, VERB)?);
    }
    check_references(merge, &found, &inserted, runtime)?;
    if outputs.is_wanted() {
        show(merge, &found, &inserted, runtime, &mut outputs)?;
    }
    // Rows that OUTPUT stores elsewhere draw identity values of their own.
    let identity = runtime.last_identity();
    let sent_rows = outputs.finish(runtime, sink)?;
    let has_identity = merge.source.def.identity_ordinal().is_some();
    let identity = (!inserted.is_empty()).then(|| identity.filter(|_| has_identity).unwrap_or(Value::Null));
    let row_count = Some(found.order.len() as u64);
    Ok(StatementOutcome { row_count, identity, sent_rows, ..StatementOutcome::default() })
}

/// Reads the join. Error 8672 when a row of the target would be changed twice.
fn find<'p>(merge: &'p MergePlan, runtime: &Runtime<'_>, keep_input: bool) -> Result<Found<'p>, SqlError> {
    let mut found = Found::default();
    let mut seen: FxHashSet<RowLocator> = FxHashSet::default();
    let mut source = merge.plan.open(runtime)?;
    let mut row = Row::new();
    while source.next(runtime, &mut row)? {
        runtime.check_cancelled()?;
        runtime.begin_row();
        let number = row[merge.action].as_i64().and_then(|number| usize::try_from(number).ok());
        let action = &merge.actions[number.expect("rows without an action are filtered out")];
        found.order.room_for_one()?;
        found.order.push(action);
        if let MergeAction::Insert(stores) = action {
            found.inserts.room_for_one()?;
            found.inserts.push((stores, row.clone()));
            continue;
        }
        let locator = runtime.locator(&row[merge.locator]).expect("the clause is about rows of the target");
        if !seen.insert(locator.clone()) {
            return Err(SqlError::new(8672, &[]));
        }
        let old = pick(&row, &merge.old);
        let new = match action {
            MergeAction::Update(steps) => {
                changed_row(&merge.source, steps, &merge.updates, runtime, (&row, &old))?
            }
            _ => Row::new(),
        };
        let input = if keep_input { row.clone() } else { Row::new() };
        let changes = match action {
            MergeAction::Delete => &mut found.deletes,
            _ => &mut found.updates,
        };
        changes.room_for_one()?;
        changes.push(Change { locator, old, new, input });
    }
    Ok(found)
}

/// References, both ways, are looked at when all rows are what they will be.
fn check_references(
    merge: &MergePlan,
    found: &Found<'_>,
    inserted: &[Row],
    runtime: &Runtime<'_>,
) -> Result<(), SqlError> {
    let mut later = Vec::new();
    if !merge.inserts.references.is_empty() {
        for row in inserted {
            merge.inserts.check_references(runtime, row, VERB, &mut later)?;
        }
    }
    check_later(&later, runtime, VERB)?;
    let mut pairs = found.updates.iter().map(|change| (&change.old, &change.new));
    super::cascade::after_update(&merge.updates, &mut pairs, runtime, VERB)?;
    let mut gone = found.deletes.iter().map(|change| &change.old);
    super::cascade::after_delete(&merge.deletes, &mut gone, runtime, VERB)
}

/// The rows of OUTPUT, in the order of the join.
fn show(
    merge: &MergePlan,
    found: &Found<'_>,
    inserted: &[Row],
    runtime: &Runtime<'_>,
    outputs: &mut OutputRows<'_>,
) -> Result<(), SqlError> {
    let nothing = vec![Value::Null; merge.old.len()];
    let (mut inserts, mut updates, mut deletes) =
        (found.inserts.iter().zip(inserted), found.updates.iter(), found.deletes.iter());
    for action in &found.order {
        let (input, new, old) = match action {
            MergeAction::Insert(_) => {
                let ((_, input), row) = inserts.next().expect("one for each action");
                (input, row, &nothing)
            }
            MergeAction::Update(_) => {
                let change = updates.next().expect("one for each action");
                (&change.input, &change.new, &change.old)
            }
            MergeAction::Delete => {
                let change = deletes.next().expect("one for each action");
                (&change.input, &nothing, &change.old)
            }
        };
        let mut input = input.clone();
        input[merge.action_name] = Value::nvarchar(action.name());
        outputs.add(runtime, &input, new, old)?;
    }
    Ok(())
}
