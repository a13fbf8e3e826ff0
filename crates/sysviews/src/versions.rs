//! `sys.dm_tran_*` of row versions: stored versions, snapshot readers, memory use. Transaction numbers are commit numbers.

use std::collections::BTreeMap;

use engine::{Before, Database, OpenSnapshot, SnapshotKind};
use plan_ir::view::{SystemView, ViewContext};
use types::{SqlError, Value};

use super::transaction_ids::TransactionIds;

type Context<'a, 'b, 'c> = &'a mut ViewContext<'b, 'c>;

/// Number of an image's bytes that one column shows.
const PART_BYTES: usize = 8000;
/// Number of rows, as in SQL Server.
const GENERATORS_MAX: usize = 256;
/// Space is shown in pages, as if versions were stored in files.
const PAGE_BYTES: u64 = 8192;
/// `status` of a version whose image is in one piece, and in two.
const WHOLE: i32 = 0;
const IN_TWO: i32 = 1;

pub(super) static VIEWS: &[SystemView] = &[
    SystemView::new(
        "dm_tran_version_store",
        "transaction_sequence_num bigint, version_sequence_num bigint, database_id smallint, rowset_id bigint, status tinyint, \
         min_length_in_bytes smallint, record_length_first_part_in_bytes smallint, record_image_first_part varbinary(8000), \
         record_length_second_part_in_bytes smallint, record_image_second_part varbinary(8000)",
        stored,
    ),
    SystemView::new(
        "dm_tran_active_snapshot_database_transactions",
        "transaction_id bigint, transaction_sequence_num bigint, commit_sequence_num bigint, is_snapshot bit, session_id int, \
         first_snapshot_sequence_num bigint, max_version_chain_traversed int, average_version_chain_traversed float, \
         elapsed_time_seconds bigint",
        snapshots,
    ),
    SystemView::new(
        "dm_tran_version_store_space_usage",
        "database_id int, reserved_page_count bigint, reserved_space_kb bigint",
        space,
    ),
    SystemView::new(
        "dm_tran_top_version_generators",
        "database_id int, rowset_id bigint, aggregated_record_length_in_bytes int",
        generators,
    ),
    SystemView::new(
        "dm_tran_current_transaction",
        "transaction_id bigint, transaction_sequence_num bigint, transaction_is_snapshot bit, first_snapshot_sequence_num bigint, \
         last_transaction_sequence_num bigint, first_useful_sequence_num bigint",
        current,
    ),
    SystemView::new("dm_tran_current_snapshot", "transaction_sequence_num bigint", current_snapshot),
    SystemView::new(
        "dm_tran_transactions_snapshot",
        "transaction_sequence_num bigint, snapshot_id int, snapshot_sequence_num bigint",
        transactions_snapshot,
    ),
];

/// The open snapshot transactions of a database, each with the open ones that began before it.
fn snapshots_behind_others(database: &Database) -> Vec<(OpenSnapshot, Vec<OpenSnapshot>)> {
    let open: Vec<OpenSnapshot> = database.transactions().versions().open_snapshots();
    let of_transactions: Vec<OpenSnapshot> =
        open.into_iter().filter(|one| one.kind == SnapshotKind::Transaction).collect();
    let behind = |at: usize| {
        let own = &of_transactions[at];
        let others = of_transactions[..at].iter().filter(|other| other.txn != own.txn);
        (own.clone(), others.cloned().collect())
    };
    (0..of_transactions.len()).map(behind).collect()
}

/// The transactions that were open when the session's own snapshot began; none without a snapshot.
fn current_snapshot(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let database = context.database.clone();
    let transaction = {
        let transactions = context.runtime.transactions.borrow();
        transactions.member(&database).map(|member| member.inner().id())
    };
    let all = snapshots_behind_others(&database);
    let own = all.into_iter().find(|(own, _)| transaction == Some(own.txn));
    for other in own.into_iter().flat_map(|(_, others)| others) {
        context.row(&[("transaction_sequence_num", other.number.into())]);
    }
    Ok(())
}

/// The same for each snapshot of the instance.
fn transactions_snapshot(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for database in context.runtime.instance.databases() {
        for (own, others) in snapshots_behind_others(&database) {
            for other in others {
                context.row(&[
                    ("transaction_sequence_num", own.number.into()),
                    // Each transaction has one snapshot.
                    ("snapshot_id", 0.into()),
                    ("snapshot_sequence_num", other.number.into()),
                ]);
            }
        }
    }
    Ok(())
}

fn stored(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for database in context.runtime.instance.databases() {
        for version in database.transactions().versions().stored() {
            let image: &[u8] = match &version.before {
                Before::Row(image) => image,
                Before::Absent | Before::Lost => &[],
            };
            let (first, second) = image.split_at(image.len().min(PART_BYTES));
            context.row(&[
                ("transaction_sequence_num", version.commit_number.unwrap_or(0).into()),
                ("version_sequence_num", (version.age as i64).into()),
                ("database_id", i32::from(database.id()).into()),
                ("rowset_id", i64::from(version.unit).into()),
                ("status", if second.is_empty() { WHOLE } else { IN_TWO }.into()),
                ("record_length_first_part_in_bytes", (first.len() as i32).into()),
                ("record_image_first_part", Value::binary(first).into()),
                ("record_length_second_part_in_bytes", (second.len() as i32).into()),
                ("record_image_second_part", Value::binary(second).into()),
            ]);
        }
    }
    Ok(())
}

fn snapshots(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let ids = TransactionIds::new(context.runtime, &context.runtime.state.sessions());
    for database in context.runtime.instance.databases() {
        for snapshot in database.transactions().versions().open_snapshots() {
            let id = ids.of(snapshot.session_id, database.number(), snapshot.txn);
            context.row(&[
                ("transaction_id", id.into()),
                ("transaction_sequence_num", snapshot.number.into()),
                ("is_snapshot", (snapshot.kind == SnapshotKind::Transaction).into()),
                ("session_id", (snapshot.session_id as i32).into()),
                ("first_snapshot_sequence_num", snapshot.first_number.into()),
                ("elapsed_time_seconds", database.seconds_since(snapshot.opened).into()),
            ]);
        }
    }
    Ok(())
}

fn space(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for database in context.runtime.instance.databases() {
        let versions = database.transactions().versions();
        if versions.are_kept() {
            let figures = versions.figures();
            let pages = (figures.bytes + figures.bytes_there).div_ceil(PAGE_BYTES);
            context.row(&[
                ("database_id", i32::from(database.id()).into()),
                ("reserved_page_count", pages.into()),
                ("reserved_space_kb", (pages * PAGE_BYTES / 1024).into()),
            ]);
        }
    }
    Ok(())
}

/// The rowsets with the most bytes of versions, largest first.
fn generators(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let mut bytes: BTreeMap<(i16, u32), usize> = BTreeMap::new();
    for database in context.runtime.instance.databases() {
        for version in database.transactions().versions().stored() {
            if let Before::Row(image) = &version.before {
                *bytes.entry((database.id(), version.unit)).or_default() += image.len();
            }
        }
    }
    let mut rows: Vec<_> = bytes.into_iter().collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.1));
    rows.truncate(GENERATORS_MAX);
    for ((database, unit), bytes) in rows {
        context.row(&[
            ("database_id", i32::from(database).into()),
            ("rowset_id", i64::from(unit).into()),
            ("aggregated_record_length_in_bytes", i32::try_from(bytes).unwrap_or(i32::MAX).into()),
        ]);
    }
    Ok(())
}

/// The session's transaction in the current database, as the version store sees it.
fn current(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let database = context.database.clone();
    let versions = database.transactions().versions();
    let transaction = {
        let transactions = context.runtime.transactions.borrow();
        transactions.member(&database).map(|member| member.inner().id().0)
    };
    let open = versions.open_snapshots().into_iter();
    let own = open.into_iter().find(|one| {
        one.kind == SnapshotKind::Transaction
            && transaction.is_some_and(|transaction| one.txn.0 == transaction)
    });
    let figures = versions.figures();
    let own_id = super::transaction_ids::own(context.runtime)?;
    context.row(&[
        ("transaction_id", own_id.into()),
        ("transaction_sequence_num", own.as_ref().map_or(0, |own| own.number).into()),
        ("transaction_is_snapshot", own.is_some().into()),
        ("first_snapshot_sequence_num", own.as_ref().map_or(0, |own| own.first_number).into()),
        ("last_transaction_sequence_num", figures.last_commit.into()),
        ("first_useful_sequence_num", figures.oldest_snapshot.into()),
    ]);
    Ok(())
}
