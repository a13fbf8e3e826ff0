//! Rows to be changed: the gathered form, and the change itself.

use engine::{Halves, RowChange, RowLocator};
use plan_ir::row::Row;
use plan_ir::runtime::Runtime;
use plan_ir::table::TableSource;
use types::{SqlError, Value};

use super::spill::gathered::{Gathered, MANY_AT_ONCE};
use super::store::check_settings;

/// The gathered form of a row to be changed: its locator, old values, new values.
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
    debug_assert!(change.len() % 2 == 1, "a locator, and as many new values as old ones");
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

/// A changed row gets a new version.
pub(crate) fn renew_row_version(
    source: &TableSource,
    row: &mut Row,
    runtime: &Runtime<'_>,
) -> Result<(), SqlError> {
    for (ordinal, column) in source.def.columns.iter().enumerate() {
        if column.sql_type == types::SqlType::RowVersion {
            row[ordinal] = crate::generated::next_row_version(runtime, source)?;
        }
    }
    Ok(())
}

/// The values of a row at some positions.
pub(crate) fn pick(row: &[Value], positions: &[usize]) -> Row {
    debug_assert!(positions.iter().all(|position| *position < row.len()), "the row has the values");
    positions.iter().map(|position| row[*position].clone()).collect()
}
