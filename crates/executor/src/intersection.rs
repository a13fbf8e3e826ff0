//! Index intersection: the entries of one index select the rows that are looked up through the other.

use std::sync::Arc;

use engine::{KeyRange, ScanOptions};
use plan_ir::physical::plan::ScanPlan;
use plan_ir::runtime::Runtime;
use rustc_hash::FxHashSet;
use types::SqlError;

use super::room::Room;

/// Hashes of row names; a row that does not qualify may have one of them, too.
pub(super) type RowNames = Arc<FxHashSet<u64>>;

/// Beyond this number the names are discarded, and all rows are looked up.
const NAMES_MAX: usize = 1 << 18;

/// The names of the rows that a scan's second index finds; `None` if it has no second index, or all rows are read anyhow.
pub(super) fn names_by(
    plan: &ScanPlan,
    (index_id, ranges): (i32, Vec<KeyRange>),
    options: &ScanOptions,
    runtime: &Runtime<'_>,
) -> Result<Option<RowNames>, SqlError> {
    if !options.keeps_nothing() {
        return Ok(None);
    }
    debug_assert!(plan.path.is_seek(), "names narrow what another index finds");
    let mut names = FxHashSet::default();
    for range in ranges {
        if !gather(plan, index_id, &range, options, runtime, &mut names)? {
            return Ok(None);
        }
    }
    Ok(Some(Arc::new(names)))
}

/// Adds the names of the rows of a range; false when there are too many.
fn gather(
    plan: &ScanPlan,
    index_id: i32,
    range: &KeyRange,
    options: &ScanOptions,
    runtime: &Runtime<'_>,
    names: &mut FxHashSet<u64>,
) -> Result<bool, SqlError> {
    let source = &plan.source;
    // Only the row names of its entries are needed.
    let columns: Arc<[usize]> = Arc::from([]);
    let options = ScanOptions { backward: false, counts_only: false, ..*options };
    let mut cursor = {
        let mut transactions = runtime.transactions.borrow_mut();
        let transaction = transactions.for_table(&source.table, runtime.options.isolation)?;
        super::uses::note_read(&plan.other_index, source, (index_id, true, false), runtime);
        source.table.read(transaction, index_id, range, &options, Some(&columns), Vec::new())?
    };
    loop {
        runtime.check_cancelled()?;
        let mut transactions = runtime.transactions.borrow_mut();
        let transaction = transactions.for_table(&source.table, runtime.options.isolation)?;
        let rows = cursor.next_page(transaction)?;
        if rows == 0 {
            return Ok(true);
        }
        if names.len() + rows > NAMES_MAX {
            return Ok(false);
        }
        for at in 0..rows {
            names.room_for_one()?;
            names.insert(cursor.row_name_at(at)?);
        }
    }
}
