//! What follows when rows that others refer to are deleted or get other keys: ON DELETE and ON UPDATE, level by level, then the keys that
//! must exist and those that nothing may refer to any more. All of it is looked at when the statement has changed everything it changes.

use types::{SqlError, Value};

use super::store::check_not_null;
use super::update::Change;
use crate::physical::change::{Action, Child, Constraints, NewKey, Reference};
use crate::row::Row;
use crate::runtime::Runtime;
use crate::table::TableSource;

/// Keys to look at in the end.
#[derive(Default)]
struct Pending<'p> {
    /// Must exist where they refer to.
    wanted: Vec<(&'p Reference, Vec<Row>)>,
    /// Nobody may refer to them, unless another row has them now.
    gone: Vec<(&'p Reference, Vec<Row>)>,
}

/// Runs the actions for rows that the statement (`verb`) has deleted, then checks. Error 547.
pub(crate) fn after_delete<'p>(
    constraints: &'p Constraints,
    rows: &mut dyn Iterator<Item = &'p Row>,
    runtime: &Runtime<'_>,
    verb: &str,
) -> Result<(), SqlError> {
    if constraints.dependents.is_empty() {
        return Ok(());
    }
    let mut pending = Pending::default();
    let rows: Vec<&Row> = rows.collect();
    deleted(constraints, &rows, runtime, &mut pending)?;
    pending.check(runtime, verb)
}

/// The same for rows that it has changed: old and new values.
pub(crate) fn after_update<'p>(
    constraints: &'p Constraints,
    rows: &mut dyn Iterator<Item = (&'p Row, &'p Row)>,
    runtime: &Runtime<'_>,
    verb: &str,
) -> Result<(), SqlError> {
    if constraints.dependents.is_empty() && constraints.references.is_empty() {
        return Ok(());
    }
    let mut pending = Pending::default();
    let rows: Vec<(&Row, &Row)> = rows.collect();
    updated(constraints, &rows, runtime, &mut pending)?;
    pending.check(runtime, verb)
}

fn deleted<'p>(
    constraints: &'p Constraints,
    rows: &[&Row],
    runtime: &Runtime<'_>,
    pending: &mut Pending<'p>,
) -> Result<(), SqlError> {
    for dependent in &constraints.dependents {
        let there = &dependent.reference.there;
        let keys: Vec<Row> = rows.iter().filter_map(|row| there.key_of(row)).collect();
        match &dependent.action {
            Action::Nothing => pending.gone.push((&dependent.reference, keys)),
            Action::Delete(child) => {
                let here = &dependent.reference.here;
                let found = here.rows_to_change(runtime, &keys)?;
                for row in &found {
                    runtime.check_cancelled()?;
                    let mut transactions = runtime.transactions.borrow_mut();
                    let transaction =
                        transactions.for_table(&here.source.table, runtime.options.isolation)?;
                    here.source.table.delete(transaction, &row.locator, &row.row)?;
                }
                let rows: Vec<&Row> = found.iter().map(|found| &found.row).collect();
                deleted(&child.constraints, &rows, runtime, pending)?;
            }
            Action::Assign { values, changed, child } => {
                let pairs: Vec<(Row, Option<Row>)> = keys.into_iter().map(|key| (key, None)).collect();
                assign(&dependent.reference, &pairs, (values, changed, child), runtime, pending)?;
            }
        }
    }
    Ok(())
}

fn updated<'p>(
    constraints: &'p Constraints,
    rows: &[(&Row, &Row)],
    runtime: &Runtime<'_>,
    pending: &mut Pending<'p>,
) -> Result<(), SqlError> {
    for reference in &constraints.references {
        let keys = rows.iter().filter_map(|(_, new)| reference.own_key(new)).collect();
        pending.wanted.push((reference, keys));
    }
    for dependent in &constraints.dependents {
        let there = &dependent.reference.there;
        let moved = rows.iter().filter_map(|(old, new)| {
            let (key, now) = (there.key_of(old)?, super::update::pick(new, &there.columns));
            (key != now).then_some((key, Some(now)))
        });
        let pairs: Vec<(Row, Option<Row>)> = moved.collect();
        match &dependent.action {
            Action::Nothing => {
                pending.gone.push((&dependent.reference, pairs.into_iter().map(|pair| pair.0).collect()));
            }
            Action::Delete(_) => unreachable!("an update deletes no rows"),
            Action::Assign { values, changed, child } => {
                assign(&dependent.reference, &pairs, (values, changed, child), runtime, pending)?;
            }
        }
    }
    Ok(())
}

/// Gives the referring rows of some keys their new keys. All are found before the first is changed: keys may change places.
fn assign<'p>(
    reference: &'p Reference,
    pairs: &[(Row, Option<Row>)],
    (values, changed, child): (&[NewKey], &[usize], &'p Child),
    runtime: &Runtime<'_>,
    pending: &mut Pending<'p>,
) -> Result<(), SqlError> {
    let here = &reference.here;
    let keys: Vec<Row> = pairs.iter().map(|pair| pair.0.clone()).collect();
    let found = here.rows_to_change(runtime, &keys)?;
    let mut changes = Vec::with_capacity(found.len());
    for old in found {
        let mut new = old.row.clone();
        for (part, (ordinal, value)) in here.columns.iter().zip(values).enumerate() {
            new[*ordinal] = match value {
                NewKey::Same => pairs[old.key].1.as_ref().map_or(Value::Null, |key| key[part].clone()),
                NewKey::Null => Value::Null,
                NewKey::Default(store) => store.value(runtime, &here.source, &[])?,
            };
        }
        finish_row(&child.constraints, &here.source, &mut new, runtime)?;
        changes.push(Change { locator: old.locator, old: old.row, new, input: Row::new() });
    }
    super::update::apply(&here.source, changed, runtime, &changes)?;
    let rows: Vec<(&Row, &Row)> = changes.iter().map(|change| (&change.old, &change.new)).collect();
    updated(&child.constraints, &rows, runtime, pending)
}

/// The columns that follow the others, and what one row must satisfy by itself.
fn finish_row(
    constraints: &Constraints,
    source: &TableSource,
    row: &mut Row,
    runtime: &Runtime<'_>,
) -> Result<(), SqlError> {
    super::update::renew_row_version(source, row, runtime)?;
    constraints.compute(runtime, row)?;
    check_not_null(source, row, "UPDATE")?;
    constraints.check_row(runtime, source, row, "UPDATE")
}

impl Pending<'_> {
    fn check(self, runtime: &Runtime<'_>, verb: &str) -> Result<(), SqlError> {
        for (reference, keys) in &self.wanted {
            for key in keys {
                runtime.check_cancelled()?;
                if !reference.there.exists(runtime, key)? {
                    return Err(reference.conflict(verb, false));
                }
            }
        }
        for (reference, mut keys) in self.gone {
            while let Some(found) = reference.here.first_of(runtime, &keys, engine::RowLock::Shared)? {
                // Another row may have the key now.
                if !reference.there.exists(runtime, &keys.swap_remove(found.key))? {
                    return Err(reference.conflict(verb, true));
                }
            }
        }
        Ok(())
    }
}
