//! Rows to be deleted: the gathered form, and the deletion itself.

use engine::{Deletion, GatheredMemory, RowLocator};
use plan_ir::runtime::Runtime;
use plan_ir::table::TableSource;
use txn::IsolationLevel;
use types::{SqlError, Value};

use super::changed::locator_of;
use super::spill::gathered::{Gathered, MANY_AT_ONCE};

/// Deletes gathered rows: the locator of each, then the values of `columns`, perhaps more behind them.
pub(super) fn apply(
    source: &TableSource,
    columns: &[usize],
    runtime: &Runtime<'_>,
    victims: &Gathered,
) -> Result<(), SqlError> {
    let mut deletion = Deletion::new(&source.table, columns);
    let is_single = victims.len() == 1;
    victims.for_each_chunk(runtime, MANY_AT_ONCE, &mut |rows| {
        runtime.check_cancelled()?;
        if is_single || runtime.options.isolation == IsolationLevel::Snapshot {
            let locators: Vec<RowLocator> = rows.iter().map(|row| locator_of(source, row)).collect();
            let mut transactions = runtime.transactions.borrow_mut();
            let transaction = transactions.for_table(&source.table, runtime.options.isolation)?;
            if let ([row], [locator], true) = (rows, locators.as_slice(), is_single) {
                return source.table.delete_many(transaction, columns, &[(locator, &row[1..=columns.len()])]);
            }
            source.table.claim_victims(transaction, locators.iter())?;
        }
        for row in rows {
            debug_assert!(row.len() > columns.len(), "a locator, and the values of the columns");
            add_to(&mut deletion, runtime, &mut row[..=columns.len()].iter())?;
        }
        Ok(())
    })?;
    if deletion.rows() == 0 {
        return Ok(());
    }
    let mut transactions = runtime.transactions.borrow_mut();
    let transaction = transactions.for_table(&source.table, runtime.options.isolation)?;
    finish(deletion, runtime, transaction).map(drop)
}

pub(super) fn add_to(
    deletion: &mut Deletion,
    runtime: &Runtime<'_>,
    victim: &mut dyn ExactSizeIterator<Item = &Value>,
) -> Result<(), SqlError> {
    let Some(Value::Binary(locator)) = victim.next() else {
        unreachable!("a row that was found has its place");
    };
    deletion.add(runtime.state.session_id(), locator.as_bytes(), victim)
}

pub(super) fn finish(
    deletion: Deletion,
    runtime: &Runtime<'_>,
    transaction: &engine::DbTransaction,
) -> Result<usize, SqlError> {
    if deletion.has_spilled() {
        runtime.workspace().note_spill();
    }
    if deletion.memory() != GatheredMemory::default() {
        runtime.workspace().note_keys(deletion.memory());
    }
    let count = deletion.rows();
    deletion.finish(transaction).map(|()| count)
}
