//! `sys.dm_db_index_usage_stats` and `sys.dm_db_index_operational_stats`: uses of heaps and indexes by statements, and their internal operations.
//! Only counted values are shown as numbers. Events that never happen here are 0 (page locks, off-row pushes, compression); events that
//! happen but are not counted are NULL (latches, reads of large values).

use engine::{Database, INDEX_USES, IndexDef, IndexUse, TableDef, UnitUse};
use plan_ir::view::{Cell, SystemView, ViewContext};
use types::{SqlError, Value};

use super::dm_exec::moment;
use super::index_pages::Asked;

type Context<'a, 'b, 'c> = &'a mut ViewContext<'b, 'c>;

pub(super) static VIEWS: &[SystemView] = &[
    SystemView::new(
        "dm_db_index_usage_stats",
        "database_id smallint not null, object_id int not null, index_id int not null, user_seeks bigint not null, \
         user_scans bigint not null, user_lookups bigint not null, user_updates bigint not null, last_user_seek datetime, \
         last_user_scan datetime, last_user_lookup datetime, last_user_update datetime, system_seeks bigint not null, \
         system_scans bigint not null, system_lookups bigint not null, system_updates bigint not null, last_system_seek datetime, \
         last_system_scan datetime, last_system_lookup datetime, last_system_update datetime",
        usage_stats,
    ),
    SystemView::new(
        "dm_db_index_operational_stats",
        "database_id smallint not null, object_id int not null, index_id int not null, partition_number int not null, \
         hobt_id bigint, leaf_insert_count bigint not null, leaf_delete_count bigint not null, leaf_update_count bigint not null, \
         leaf_ghost_count bigint not null, nonleaf_insert_count bigint not null, nonleaf_delete_count bigint not null, \
         nonleaf_update_count bigint not null, leaf_allocation_count bigint not null, nonleaf_allocation_count bigint not null, \
         leaf_page_merge_count bigint not null, nonleaf_page_merge_count bigint not null, range_scan_count bigint not null, \
         singleton_lookup_count bigint not null, forwarded_fetch_count bigint not null, lob_fetch_in_pages bigint, \
         lob_fetch_in_bytes bigint, lob_orphan_create_count bigint, lob_orphan_insert_count bigint, \
         row_overflow_fetch_in_pages bigint, row_overflow_fetch_in_bytes bigint, column_value_push_off_row_count bigint, \
         column_value_pull_in_row_count bigint, row_lock_count bigint not null, row_lock_wait_count bigint not null, \
         row_lock_wait_in_ms bigint not null, page_lock_count bigint not null, page_lock_wait_count bigint not null, \
         page_lock_wait_in_ms bigint not null, index_lock_promotion_attempt_count bigint, index_lock_promotion_count bigint, \
         page_latch_wait_count bigint, page_latch_wait_in_ms bigint, page_io_latch_wait_count bigint, \
         page_io_latch_wait_in_ms bigint, tree_page_latch_wait_count bigint, tree_page_latch_wait_in_ms bigint, \
         tree_page_io_latch_wait_count bigint, tree_page_io_latch_wait_in_ms bigint, page_compression_attempt_count bigint not null, \
         page_compression_success_count bigint not null, version_generated_inrow bigint not null, version_generated_offrow bigint, \
         ghost_version_inrow bigint not null, ghost_version_offrow bigint, insert_over_ghost_version_inrow bigint not null, \
         insert_over_ghost_version_offrow bigint",
        operational_stats,
    )
    .with_parameters(4),
];

/// The column names of each use: count by users, last time, count by the system, last time.
fn names_of(what: IndexUse) -> [&'static str; 4] {
    match what {
        IndexUse::Seek => ["user_seeks", "last_user_seek", "system_seeks", "last_system_seek"],
        IndexUse::Scan => ["user_scans", "last_user_scan", "system_scans", "last_system_scan"],
        IndexUse::Lookup => ["user_lookups", "last_user_lookup", "system_lookups", "last_system_lookup"],
        IndexUse::Update => ["user_updates", "last_user_update", "system_updates", "last_system_update"],
    }
}

fn usage_stats(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let local_minutes = i64::from(context.runtime.instance.os().clock().local_offset_minutes());
    for database in context.runtime.instance.databases() {
        let tables = Asked::everything().tables(context, &database)?;
        let used = tables.iter().flat_map(|table| table.indexes.iter().map(move |index| (table, index)));
        for (table, index) in used.filter(|(_, index)| index.uses.is_used()) {
            let mut cells: Vec<(&str, Cell)> = vec![
                ("database_id", i32::from(database.id()).into()),
                ("object_id", table.object_id.into()),
                ("index_id", index.index_id.into()),
            ];
            for what in INDEX_USES {
                let [users, last_of_users, own, last_own] = names_of(what);
                for (of_users, count, last) in [(true, users, last_of_users), (false, own, last_own)] {
                    let told = index.uses.told(what, of_users);
                    cells.push((count, told.count.into()));
                    if let Some(utc) = told.last {
                        cells.push((last, Cell::Value(local(utc, local_minutes))));
                    }
                }
            }
            context.row(&cells);
        }
    }
    Ok(())
}

fn local(utc_ticks: i64, local_minutes: i64) -> Value {
    moment((utc_ticks + local_minutes * 600_000_000).try_into().unwrap_or(0))
}

fn operational_stats(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let asked = Asked::new(context)?;
    for database in &asked.databases {
        for table in asked.tables(context, database)? {
            let opened = database.table(&table);
            for index in asked.indexes(&table)? {
                // A unit without any use has no counters.
                if let Some(uses) = opened.unit_uses(index).filter(|uses| uses.is_used()) {
                    let counted = |what: UnitUse| uses.count(what);
                    row(context, (database, &table, index), &counted);
                }
            }
        }
    }
    Ok(())
}

/// Columns of events that never happen here.
const NEVER: [&str; 17] = [
    "leaf_delete_count",
    "nonleaf_update_count",
    "nonleaf_page_merge_count",
    "lob_orphan_create_count",
    "lob_orphan_insert_count",
    "row_overflow_fetch_in_pages",
    "row_overflow_fetch_in_bytes",
    "column_value_push_off_row_count",
    "column_value_pull_in_row_count",
    "page_lock_count",
    "page_lock_wait_count",
    "page_lock_wait_in_ms",
    "page_compression_attempt_count",
    "page_compression_success_count",
    "version_generated_inrow",
    "ghost_version_inrow",
    "insert_over_ghost_version_inrow",
];

fn row(
    context: Context<'_, '_, '_>,
    (database, table, index): (&Database, &TableDef, &IndexDef),
    counted: &dyn Fn(UnitUse) -> i64,
) {
    let mut cells: Vec<(&str, Cell)> = vec![
        ("database_id", i32::from(database.id()).into()),
        ("object_id", table.object_id.into()),
        ("index_id", index.index_id.into()),
        ("partition_number", 1.into()),
        ("hobt_id", i64::from(index.unit).into()),
        ("row_lock_wait_in_ms", (counted(UnitUse::RowLockWaitNanoseconds) / 1_000_000).into()),
    ];
    for (name, what) in [
        ("leaf_insert_count", UnitUse::LeafInsert),
        ("leaf_update_count", UnitUse::LeafUpdate),
        ("leaf_ghost_count", UnitUse::LeafGhost),
        ("nonleaf_insert_count", UnitUse::NonleafInsert),
        ("nonleaf_delete_count", UnitUse::NonleafDelete),
        ("leaf_allocation_count", UnitUse::LeafAllocation),
        ("nonleaf_allocation_count", UnitUse::NonleafAllocation),
        ("leaf_page_merge_count", UnitUse::LeafMerge),
        ("range_scan_count", UnitUse::RangeScan),
        ("singleton_lookup_count", UnitUse::SingletonLookup),
        ("forwarded_fetch_count", UnitUse::ForwardedFetch),
        ("row_lock_count", UnitUse::RowLock),
        ("row_lock_wait_count", UnitUse::RowLockWait),
    ] {
        cells.push((name, counted(what).into()));
    }
    cells.extend(NEVER.iter().map(|name| (*name, Cell::from(0))));
    context.row(&cells);
}
