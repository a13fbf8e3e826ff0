//! The columns that a scan emits, and their order.

use std::sync::Arc;

use plan_ir::bound::tree::{Expr, TableScan};
use plan_ir::kinds::ColumnId;
use plan_ir::physical::plan::ScanColumns;
use rustc_hash::FxHashSet;

/// The columns of `scan` that are wanted, those first that its own predicates read.
pub(super) fn scan_columns(scan: &TableScan, wanted: Option<&[usize]>, predicates: &[Expr]) -> ScanColumns {
    let count = scan.columns.len();
    let Some(wanted) = wanted else {
        return ScanColumns { listed: None, for_filter: count, count };
    };
    let mut read: FxHashSet<ColumnId> = FxHashSet::default();
    predicates.iter().for_each(|predicate| predicate.collect_columns(&mut read));
    let is_read = |ordinal: &usize| read.contains(&scan.columns[*ordinal]);
    let (first, others): (Vec<usize>, Vec<usize>) = wanted.iter().copied().partition(is_read);
    // A subquery finds the columns of the outer row by their positions: all of them must be there.
    let for_filter = match predicates.iter().any(Expr::has_subquery) {
        true => wanted.len(),
        false => first.len(),
    };
    let ordinals: Arc<[usize]> = first.into_iter().chain(others).collect();
    debug_assert!(for_filter <= ordinals.len(), "a filter reads columns of the row");
    debug_assert!(ordinals.iter().all(|ordinal| *ordinal < count), "a row has columns of its table");
    ScanColumns { for_filter, count: ordinals.len(), listed: Some(ordinals) }
}

/// The ids of the columns in a row.
pub(super) fn ids(columns: &ScanColumns, scan: &TableScan) -> Vec<ColumnId> {
    columns.ordinals().map(|ordinal| scan.columns[ordinal]).collect()
}
