//! MERGE: all rows are found and assigned to their actions first. Then rows are deleted, changed and inserted, in this order, so that keys are
//! checked against the final rows.

use std::ops::ControlFlow;
use std::sync::Arc;

use plan_ir::context::{EventTriggers, RowSink, StatementOutcome};
use plan_ir::physical::change::{Constraints, MergeAction, MergePlan};
use plan_ir::row::Row;
use plan_ir::runtime::Runtime;
use rustc_hash::FxHashSet;
use types::{SqlError, Value};

use super::changed::{change, old_and_new, pick};
use super::constraints::CheckRows;
use super::constraints::check_later;
use super::insert::check_identity_insert;
use super::new_rows::{NewRows, row_for_trigger};
use super::operations::Open;
use super::output::OutputRows;
use super::room::Room;
use super::spill::gathered::{Gathered, GatheredWalk};
use super::spill::sorter::{Keyed, Sorter};
use super::spill::{Held, hashed_bytes};
use super::store::{check_not_null, check_settings};
use super::trigger::{RowsOf, fired};
use super::update::changed_row;

/// What messages call the statement.
const VERB: &str = "MERGE";

/// `$action`.
fn name_of(action: &MergeAction) -> &'static str {
    match action {
        MergeAction::Insert(_) => "INSERT",
        MergeAction::Update(_) => "UPDATE",
        MergeAction::Delete => "DELETE",
    }
}

/// The rows by action, each list in the order in which the rows were found.
#[derive(Default)]
struct Found {
    /// The number of the action, then the row of the join.
    inserts: Gathered,
    /// As `changed::change` has them.
    updates: Gathered,
    /// Locator and values.
    deletes: Gathered,
    /// For OUTPUT: the number of each row's action and the row of the join, in the order of the rows.
    shown: Gathered,
    count: u64,
}

/// Runs a MERGE.
pub fn run(
    merge: &MergePlan,
    runtime: &Runtime<'_>,
    sink: &mut dyn RowSink,
) -> Result<StatementOutcome, SqlError> {
    check_settings(&merge.source, runtime, VERB)?;
    check_identity_insert(&merge.source, merge.identity, runtime)?;
    let only_updates = merge.actions.iter().all(|action| matches!(action, MergeAction::Update(_)));
    let columns = only_updates.then_some(merge.changed.as_slice());
    super::uses::note_change(&merge.source, columns, runtime);
    let mut outputs = OutputRows::new(&merge.outputs);
    let found = find(merge, runtime, outputs.is_wanted())?;
    if [&merge.inserts, &merge.updates, &merge.deletes].iter().any(|of| of.instead_of.is_some()) {
        return run_triggers_instead(merge, found, runtime, outputs, sink);
    }
    let every: Vec<usize> = (0..merge.source.def.columns.len()).collect();
    super::deleted::apply(&merge.source, &every, runtime, &found.deletes)?;
    super::changed::apply(&merge.source, &merge.changed, runtime, &found.updates)?;
    let inserted = insert(merge, &found, outputs.is_wanted(), runtime)?;
    check_references(merge, &found, &inserted, runtime)?;
    merge.inserts.check_deferred(runtime, &merge.source, VERB)?;
    merge.updates.check_deferred(runtime, &merge.source, VERB)?;
    super::cascade::after_delete(&merge.deletes, &found.deletes, &every, runtime, VERB)?;
    if outputs.is_wanted() {
        show(merge, &found, &inserted, runtime, &mut outputs)?;
    }
    // Rows that OUTPUT stores elsewhere draw identity values of their own.
    let identity = runtime.last_identity();
    let sent_rows = outputs.finish(runtime, sink)?;
    let has_identity = merge.source.def.identity_ordinal().is_some();
    let identity =
        (found.inserts.len() > 0).then(|| identity.filter(|_| has_identity).unwrap_or(Value::Null));
    let count = found.count;
    fire(merge, found, inserted, runtime)?;
    Ok(StatementOutcome { row_count: Some(count), identity, sent_rows, ..StatementOutcome::default() })
}

/// INSTEAD OF triggers get the rows of all actions; none is changed.
fn run_triggers_instead(
    merge: &MergePlan,
    found: Found,
    runtime: &Runtime<'_>,
    mut outputs: OutputRows<'_>,
    sink: &mut dyn RowSink,
) -> Result<StatementOutcome, SqlError> {
    let mut inserted = Gathered::default();
    found.inserts.for_each(runtime, &mut |row| {
        runtime.begin_row();
        let MergeAction::Insert(stores) = action_of(merge, row) else {
            unreachable!("only these are gathered");
        };
        let row = row_for_trigger(runtime, &merge.source, stores, &merge.inserts, &row[1..])?;
        inserted.push(runtime, row)?;
        Ok(ControlFlow::Continue(()))
    })?;
    let inserted = inserted.finish()?;
    if outputs.is_wanted() {
        show(merge, &found, &inserted, runtime, &mut outputs)?;
    }
    let (count, sent_rows) = (found.count, outputs.finish(runtime, sink)?);
    fire(merge, found, inserted, runtime)?;
    Ok(StatementOutcome { row_count: Some(count), sent_rows, ..StatementOutcome::default() })
}

/// The triggers of an action.
fn triggers_of(constraints: &Constraints) -> Option<&Arc<EventTriggers>> {
    constraints.triggers.as_ref().or(constraints.instead_of.as_ref())
}

/// Fires the triggers of each action that the statement has, also for no rows.
fn fire(merge: &MergePlan, found: Found, inserted: Gathered, runtime: &Runtime<'_>) -> Result<(), SqlError> {
    let width = merge.source.def.columns.len();
    if let Some(triggers) = triggers_of(&merge.inserts) {
        runtime.fire(fired(triggers, inserted, (RowsOf::Insert, width), None, runtime)?);
    }
    if let Some(triggers) = triggers_of(&merge.updates) {
        let form = (RowsOf::Update, width);
        runtime.fire(fired(triggers, found.updates, form, Some(&merge.changed), runtime)?);
    }
    if let Some(triggers) = triggers_of(&merge.deletes) {
        runtime.fire(fired(triggers, found.deletes, (RowsOf::Delete, width), None, runtime)?);
    }
    Ok(())
}

/// The action that a gathered row begins with.
fn action_of<'p>(merge: &'p MergePlan, row: &[Value]) -> &'p MergeAction {
    let number = row[0].as_i64().and_then(|number| usize::try_from(number).ok());
    &merge.actions[number.expect("rows without an action are filtered out")]
}

/// A row of the join behind the number of its action.
fn numbered(number: &Value, row: &[Value]) -> Row {
    debug_assert!(number.as_i64().is_some(), "an action has a number");
    std::iter::once(number).chain(row).cloned().collect()
}

/// Reads the join. Error 8672 when a row of the target would be changed twice.
fn find(merge: &MergePlan, runtime: &Runtime<'_>, is_shown: bool) -> Result<Found, SqlError> {
    let mut found = Found::default();
    let mut once = Once::new(runtime);
    let mut source = merge.plan.open(runtime)?;
    let mut row = Row::new();
    let most = runtime.changes_max(merge.has_top);
    while found.count < most && source.next(runtime, &mut row)? {
        runtime.check_cancelled()?;
        runtime.begin_row();
        found.count += 1;
        let number = std::slice::from_ref(&row[merge.action]);
        let action = action_of(merge, number);
        if is_shown {
            found.shown.push(runtime, numbered(&number[0], &row))?;
        }
        if matches!(action, MergeAction::Insert(_)) {
            found.inserts.push(runtime, numbered(&number[0], &row))?;
            continue;
        }
        let locator = row[merge.locator].clone();
        once.add(runtime, &locator)?;
        let old = pick(&row, &merge.old);
        match action {
            MergeAction::Update(steps) => {
                let new = changed_row(&merge.source, steps, &merge.updates, runtime, (&row, &old))?;
                if merge.updates.instead_of.is_none() {
                    check_not_null(&merge.source, &new, VERB)?;
                }
                merge.updates.check_row(runtime, &merge.source, &new, VERB)?;
                found.updates.push(runtime, change(locator, old, new))?;
            }
            _ => {
                let victim = std::iter::once(locator).chain(old).collect();
                found.deletes.push(runtime, victim)?;
            }
        }
    }
    once.finish(runtime)?;
    let Found { inserts, updates, deletes, shown, count } = found;
    Ok(Found {
        inserts: inserts.finish()?,
        updates: updates.finish()?,
        deletes: deletes.finish()?,
        shown: shown.finish()?,
        count,
    })
}

/// Locators that may occur only once: error 8672 for a repeated one, at once while all fit into memory, otherwise after the last one.
struct Once {
    seen: FxHashSet<Box<[u8]>>,
    held: Held,
    sorter: Option<Sorter>,
}

impl Once {
    fn new(runtime: &Runtime<'_>) -> Once {
        Once { seen: FxHashSet::default(), held: Held::new(runtime), sorter: None }
    }

    fn add(&mut self, runtime: &Runtime<'_>, locator: &Value) -> Result<(), SqlError> {
        if let Some(sorter) = &mut self.sorter {
            return sorter.add(runtime, Keyed::new(vec![ended(locator_bytes(locator))], 0));
        }
        let bytes = locator_bytes(locator);
        self.seen.room_for_one()?;
        if !self.seen.insert(bytes.into()) {
            return Err(SqlError::new(8672, &[]));
        }
        if self.held.add(runtime, hashed_bytes(bytes))? {
            let order = vec![(types::Collation::BIN2, false)];
            let mut sorter = Sorter::new(order, usize::MAX, runtime);
            for bytes in std::mem::take(&mut self.seen) {
                sorter.add(runtime, Keyed::new(vec![ended(&bytes)], 0))?;
            }
            self.held.clear();
            self.sorter = Some(sorter);
        }
        Ok(())
    }

    fn finish(self, runtime: &Runtime<'_>) -> Result<(), SqlError> {
        let Some(sorter) = self.sorter else { return Ok(()) };
        let mut sorted = sorter.finish(runtime)?;
        let mut last = None;
        while let Some(keyed) = sorted.next()? {
            runtime.check_cancelled()?;
            let (key, _) = keyed.into_parts();
            if last.as_ref() == Some(&key) {
                return Err(SqlError::new(8672, &[]));
            }
            last = Some(key);
        }
        Ok(())
    }
}

fn locator_bytes(locator: &Value) -> &[u8] {
    match locator {
        Value::Binary(bytes) => bytes.as_bytes(),
        _ => unreachable!("the clause is about rows of the target"),
    }
}

/// Binary values that differ only by trailing zeros are equal, so trailing zeros are removed.
fn ended(locator: &[u8]) -> Value {
    Value::binary(&[locator, &[1]].concat())
}

/// Inserts the new rows; returns their final values, if the caller needs them.
fn insert(
    merge: &MergePlan,
    found: &Found,
    is_shown: bool,
    runtime: &Runtime<'_>,
) -> Result<Gathered, SqlError> {
    let is_kept = is_shown || !merge.inserts.references.is_empty() || merge.inserts.triggers.is_some();
    let mut inserted = Gathered::default();
    let mut new = NewRows::new(&merge.source, &merge.inserts, VERB);
    let mut put_in = |new: &mut NewRows<'_>| {
        let rows = new.put_in(runtime)?;
        let kept = if is_kept { rows } else { &[] };
        kept.iter().try_for_each(|row| inserted.push(runtime, row.clone()))
    };
    found.inserts.for_each(runtime, &mut |row| {
        runtime.check_cancelled()?;
        runtime.begin_row();
        let MergeAction::Insert(stores) = action_of(merge, row) else {
            unreachable!("only these are gathered");
        };
        new.add(runtime, stores, &row[1..])?;
        if new.is_full() {
            put_in(&mut new)?;
        }
        Ok(ControlFlow::Continue(()))
    })?;
    put_in(&mut new)?;
    new.finish(runtime)?;
    inserted.finish()
}

/// References of new and changed rows are checked when all rows have their final values.
fn check_references(
    merge: &MergePlan,
    found: &Found,
    inserted: &Gathered,
    runtime: &Runtime<'_>,
) -> Result<(), SqlError> {
    let mut later = Vec::new();
    if !merge.inserts.references.is_empty() {
        inserted.for_each(runtime, &mut |row| {
            merge.inserts.check_references(runtime, row, VERB, &mut later)?;
            Ok(ControlFlow::Continue(()))
        })?;
    }
    check_later(&later, runtime, VERB)?;
    super::cascade::after_update(&merge.updates, &found.updates, runtime, VERB)
}

/// The rows of OUTPUT, in the order of the join.
fn show(
    merge: &MergePlan,
    found: &Found,
    inserted: &Gathered,
    runtime: &Runtime<'_>,
    outputs: &mut OutputRows<'_>,
) -> Result<(), SqlError> {
    let nothing = vec![Value::Null; merge.old.len()];
    let (mut new_rows, mut updates, mut deletes) =
        (GatheredWalk::default(), GatheredWalk::default(), GatheredWalk::default());
    found.shown.for_each(runtime, &mut |row| {
        let action = action_of(merge, row);
        let (new, old) = match action {
            MergeAction::Insert(_) => (next(&mut new_rows, inserted, runtime)?, nothing.as_slice()),
            MergeAction::Update(_) => {
                let (old, new) = old_and_new(next(&mut updates, &found.updates, runtime)?);
                (new, old)
            }
            MergeAction::Delete => (nothing.as_slice(), &next(&mut deletes, &found.deletes, runtime)?[1..]),
        };
        let mut input = row[1..].to_vec();
        input[merge.action_name] = Value::nvarchar(name_of(action));
        outputs.add(runtime, &input, new, old)?;
        Ok(ControlFlow::Continue(()))
    })
}

/// The next row of a list that has one for each action of its kind.
fn next<'a>(
    walk: &'a mut GatheredWalk,
    rows: &'a Gathered,
    runtime: &Runtime<'_>,
) -> Result<&'a [Value], SqlError> {
    Ok(walk.next(runtime, rows)?.expect("one for each action"))
}
