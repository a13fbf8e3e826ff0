//! Referential actions of foreign keys: ON DELETE and ON UPDATE, level by level, then the check of keys that
//! must exist and of keys that no row may refer to any more. All checks run after the statement has made all its changes.

use plan_ir::foreign_key::Reference;
use plan_ir::physical::change::{Action, Child, Constraints, NewKey};
use plan_ir::row::Row;
use plan_ir::runtime::Runtime;
use plan_ir::table::TableSource;
use types::{SqlError, Value};

use super::changed::{change, old_and_new, pick, renew_row_version};
use super::constraints::CheckRows;
use super::references::FindKeys;
use super::spill::gathered::{ALL_AT_ONCE, Gathered, MANY_AT_ONCE};
use super::store::StoreValue;
use super::store::check_not_null;
use super::trigger::RowsOf;

/// Keys to check at the end of the statement.
#[derive(Default)]
struct Pending<'p> {
    /// They must exist in the referenced table.
    wanted: Vec<(&'p Reference, Gathered)>,
    /// No row may refer to them, unless another row has them now.
    gone: Vec<(&'p Reference, Gathered)>,
}

/// Runs the actions for rows that the statement (`verb`) has deleted, then checks. Error 547. `columns`: which ones the gathered rows have
/// behind their locators.
pub(crate) fn after_delete(
    constraints: &Constraints,
    rows: &Gathered,
    columns: &[usize],
    runtime: &Runtime<'_>,
    verb: &str,
) -> Result<(), SqlError> {
    if constraints.dependents.is_empty() {
        return Ok(());
    }
    let mut pending = Pending::default();
    deleted(constraints, rows, columns, runtime, &mut pending)?;
    pending.check(runtime, verb)
}

/// Runs the actions and checks for rows that the statement has changed ([`change`]).
pub(crate) fn after_update(
    constraints: &Constraints,
    rows: &Gathered,
    runtime: &Runtime<'_>,
    verb: &str,
) -> Result<(), SqlError> {
    if constraints.dependents.is_empty() && constraints.references.is_empty() {
        return Ok(());
    }
    let mut pending = Pending::default();
    updated(constraints, rows, runtime, &mut pending)?;
    pending.check(runtime, verb)
}

/// The keys that `key` computes from gathered rows, without rows that have none.
fn keys_of(
    rows: &Gathered,
    runtime: &Runtime<'_>,
    key: &dyn Fn(&[Value]) -> Option<Row>,
) -> Result<Gathered, SqlError> {
    let mut keys = Gathered::default();
    rows.for_each_chunk(runtime, MANY_AT_ONCE, &mut |rows| {
        rows.iter().filter_map(|row| key(row)).try_for_each(|key| keys.push(runtime, key))
    })?;
    keys.finish()
}

fn deleted<'p>(
    constraints: &'p Constraints,
    rows: &Gathered,
    columns: &[usize],
    runtime: &Runtime<'_>,
    pending: &mut Pending<'p>,
) -> Result<(), SqlError> {
    for dependent in &constraints.dependents {
        let there = &dependent.reference.there;
        let place = |ordinal: &usize| columns.iter().position(|column| column == ordinal);
        let places: Option<Vec<usize>> = there.columns.iter().map(place).collect();
        let places = places.expect("the columns that are referred to are read");
        let key = |row: &[Value]| {
            let key = pick(&row[1..], &places);
            (!key.iter().any(Value::is_null)).then_some(key)
        };
        let keys = keys_of(rows, runtime, &key)?;
        match &dependent.action {
            Action::Nothing => pending.gone.push((&dependent.reference, keys)),
            Action::Delete(child) => {
                let here = &dependent.reference.here;
                let every: Vec<usize> = (0..here.source.def.columns.len()).collect();
                let mut found = Gathered::default();
                here.rows_to_change(runtime, &keys, &mut |row, _| {
                    let mut victim = Row::with_capacity(1 + row.row.len());
                    victim.push(row.locator.to_value());
                    victim.extend(row.row);
                    found.push(runtime, victim)
                })?;
                let found = found.finish()?;
                super::uses::note_cascade(child, &here.source, None, runtime);
                super::deleted::apply(&here.source, &every, runtime, &found)?;
                deleted(&child.constraints, &found, &every, runtime, pending)?;
                fire(&child.constraints, (RowsOf::Delete, every.len()), found, None, runtime)?;
            }
            Action::Assign { values, changed, child } => {
                assign(&dependent.reference, &keys, (values, changed, child), runtime, pending)?;
            }
        }
    }
    Ok(())
}

fn updated<'p>(
    constraints: &'p Constraints,
    rows: &Gathered,
    runtime: &Runtime<'_>,
    pending: &mut Pending<'p>,
) -> Result<(), SqlError> {
    for reference in &constraints.references {
        let keys = keys_of(rows, runtime, &|row| reference.own_key(old_and_new(row).1))?;
        pending.wanted.push((reference, keys));
    }
    for dependent in &constraints.dependents {
        let there = &dependent.reference.there;
        // The old key, then the new one.
        let moved = |row: &[Value]| {
            let (old, new) = old_and_new(row);
            let (mut key, now) = (there.key_of(old)?, pick(new, &there.columns));
            (key != now).then(|| {
                key.extend(now);
                key
            })
        };
        let keys = keys_of(rows, runtime, &moved)?;
        match &dependent.action {
            Action::Nothing => pending.gone.push((&dependent.reference, keys)),
            Action::Delete(_) => unreachable!("an update deletes no rows"),
            Action::Assign { values, changed, child } => {
                assign(&dependent.reference, &keys, (values, changed, child), runtime, pending)?;
            }
        }
    }
    Ok(())
}

/// Gives the referring rows of some keys their new keys; those of CASCADE follow the old ones. All are found before the first is changed:
/// keys may change places.
fn assign<'p>(
    reference: &'p Reference,
    keys: &Gathered,
    (values, changed, child): (&[NewKey], &[usize], &'p Child),
    runtime: &Runtime<'_>,
    pending: &mut Pending<'p>,
) -> Result<(), SqlError> {
    let here = &reference.here;
    let mut changes = Gathered::default();
    here.rows_to_change(runtime, keys, &mut |found, key| {
        let now = key.get(here.columns.len()..).unwrap_or_default();
        let mut new = found.row.clone();
        for (part, (ordinal, value)) in here.columns.iter().zip(values).enumerate() {
            new[*ordinal] = match value {
                NewKey::Same => now.get(part).cloned().unwrap_or(Value::Null),
                NewKey::Null => Value::Null,
                NewKey::Default(store) => store.value(runtime, &here.source, &[])?,
            };
        }
        finish_row(&child.constraints, &here.source, &mut new, runtime)?;
        changes.push(runtime, change(found.locator.to_value(), found.row.clone(), new))
    })?;
    let changes = changes.finish()?;
    super::uses::note_cascade(child, &here.source, Some(changed), runtime);
    super::changed::apply(&here.source, changed, runtime, &changes)?;
    updated(&child.constraints, &changes, runtime, pending)?;
    let form = (RowsOf::Update, here.source.def.columns.len());
    fire(&child.constraints, form, changes, Some(changed), runtime)
}

/// A cascade fires the triggers of the referring table if it has changed rows there. Those of tables that are farther away come first.
fn fire(
    constraints: &Constraints,
    form: (RowsOf, usize),
    rows: Gathered,
    set: Option<&[usize]>,
    runtime: &Runtime<'_>,
) -> Result<(), SqlError> {
    match &constraints.triggers {
        Some(triggers) if rows.len() > 0 => {
            runtime.fire(super::trigger::fired(triggers, rows, form, set, runtime)?);
        }
        _ => {}
    }
    Ok(())
}

/// Sets the row version and computed columns, then checks NOT NULL and the constraints on a single row.
fn finish_row(
    constraints: &Constraints,
    source: &TableSource,
    row: &mut Row,
    runtime: &Runtime<'_>,
) -> Result<(), SqlError> {
    renew_row_version(source, row, runtime)?;
    constraints.compute(runtime, row)?;
    check_not_null(source, row, "UPDATE")?;
    constraints.check_row_now(runtime, source, row, "UPDATE")
}

impl Pending<'_> {
    fn check(self, runtime: &Runtime<'_>, verb: &str) -> Result<(), SqlError> {
        for (reference, keys) in &self.wanted {
            keys.for_each_chunk(runtime, ALL_AT_ONCE, &mut |keys| {
                for key in keys {
                    runtime.check_cancelled()?;
                    if !reference.there.exists(runtime, key)? {
                        return Err(reference.conflict(verb, false));
                    }
                }
                Ok(())
            })?;
        }
        for (reference, keys) in &self.gone {
            keys.for_each_chunk(runtime, ALL_AT_ONCE, &mut |keys| {
                let mut keys: Vec<&[Value]> = keys.iter().map(|key| reference.there.first_key(key)).collect();
                while let Some(found) = reference.here.first_of(runtime, &keys, engine::RowLock::Shared)? {
                    // Another row may have the key now.
                    if !reference.there.exists(runtime, keys.swap_remove(found.key))? {
                        return Err(reference.conflict(verb, true));
                    }
                }
                Ok(())
            })?;
        }
        Ok(())
    }
}
