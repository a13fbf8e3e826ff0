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

/// A statement inserts or deletes rows, which it begins once.
#[inline]
pub(super) fn note_rows(source: &TableSource, runtime: &Runtime<'_>) {
    source.table.note_use_by_rows(runtime.about_now_utc_ticks());
}

/// A statement that begins once sets these columns of rows; `None` for one that inserts or deletes others.
#[inline]
pub(super) fn note_change(source: &TableSource, columns: Option<&[usize]>, runtime: &Runtime<'_>) {
    match columns {
        None => note_rows(source, runtime),
        Some(columns) => source.table.note_use_by_update(columns, runtime.about_now_utc_ticks()),
    }
}

/// The same where the foreign keys of a statement's rows make it, any number of times.
pub(super) fn note_cascade<P>(
    place: &P,
    source: &TableSource,
    columns: Option<&[usize]>,
    runtime: &Runtime<'_>,
) {
    if runtime.is_first_use(place) {
        note_change(source, columns, runtime);
    }
}
