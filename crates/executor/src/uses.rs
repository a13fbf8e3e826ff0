//! Index usage is recorded once per statement and place in its plan, however often that place runs: sys.dm_db_index_usage_stats
//! counts executions, not rows.

use std::sync::atomic::Ordering::Relaxed;

use engine::MissedRun;
use plan_ir::physical::plan::ScanPlan;
use plan_ir::runtime::Runtime;
use plan_ir::table::TableSource;

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

/// Records a scan, and its missing index if the plan has one.
pub(super) fn note_scan(
    plan: &ScanPlan,
    (index_id, is_seek, looks_up): (i32, bool, bool),
    runtime: &Runtime<'_>,
) {
    if !runtime.is_first_use(plan) {
        return;
    }
    let (source, now) = (&plan.source, runtime.about_now_utc_ticks());
    source.table.note_read(index_id, is_seek, looks_up, now);
    if let Some(missing) = &plan.missing {
        let is_first = !missing.is_told.swap(true, Relaxed);
        let run = MissedRun { is_first, cost: missing.cost, impact: missing.impact, now };
        source.database.missing_indexes().note(&source.def, &missing.index, run);
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

/// Records a change that a foreign key action makes, which may run any number of times.
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
