//! What a statement does with indexes is noted once a statement and place in its plan, however often that place is run: sys.dm_db_index_usage_stats
//! counts executions, not rows.

use crate::runtime::Runtime;
use crate::table::TableSource;

/// A place of the plan begins to read an index; `looks_up` the rows that its entries name, or not.
pub(super) fn note_read<P>(
    place: &P,
    source: &TableSource,
    (index_id, is_seek, looks_up): (i32, bool, bool),
    runtime: &Runtime<'_>,
) {
    if runtime.is_first_use(place) {
        source.table.note_read(index_id, is_seek, looks_up, runtime.about_now_utc_ticks());
    }
}

/// A place of the plan inserts or deletes rows, or sets these columns of rows.
pub(super) fn note_change<P>(
    place: &P,
    source: &TableSource,
    columns: Option<&[usize]>,
    runtime: &Runtime<'_>,
) {
    if runtime.is_first_use(place) {
        source.table.note_change(columns, runtime.about_now_utc_ticks());
    }
}
