//! `sys.dm_tran_*`: locks, and the transactions of sessions and of the system.

use engine::{ActiveRow, LockOwner, Resource, TxnId};
use plan_ir::context::SessionRow;
use plan_ir::view::{Cell, SystemView, ViewContext};
use types::{SqlError, Value};

use super::lock_resources::{Entities, lock_address, type_and_place};
use super::shown::{begin_time, numeric_lsn};
use super::transaction_ids::TransactionIds;

type Context<'a, 'b, 'c> = &'a mut ViewContext<'b, 'c>;

pub(super) static VIEWS: &[SystemView] = &[
    SystemView::new(
        "dm_tran_locks",
        "resource_type nvarchar(60) not null, resource_subtype nvarchar(60) not null, resource_database_id int not null, \
         resource_description nvarchar(256) not null, resource_associated_entity_id bigint, resource_lock_partition int not null, \
         request_mode nvarchar(60) not null, request_type nvarchar(60) not null, request_status nvarchar(60) not null, \
         request_reference_count smallint not null, request_lifetime int not null, request_session_id int not null, \
         request_exec_context_id int not null, request_request_id int not null, request_owner_type nvarchar(60) not null, \
         request_owner_id bigint, request_owner_guid uniqueidentifier, request_owner_lockspace_id nvarchar(32) not null, \
         lock_owner_address varbinary(8) not null",
        locks,
    ),
    SystemView::new(
        "dm_tran_active_transactions",
        "transaction_id bigint not null, name nvarchar(32) not null, transaction_begin_time datetime not null, transaction_type int not null, \
         transaction_uow uniqueidentifier, transaction_state int not null, transaction_status int not null, transaction_status2 int not null, \
         dtc_state int not null, dtc_status int not null, dtc_isolation_level int not null, filestream_transaction_id varbinary(128)",
        active_transactions,
    ),
    SystemView::new(
        "dm_tran_database_transactions",
        "transaction_id bigint not null, database_id int not null, database_transaction_begin_time datetime, \
         database_transaction_type int not null, database_transaction_state int not null, database_transaction_status int not null, \
         database_transaction_status2 int not null, database_transaction_log_record_count bigint not null, \
         database_transaction_replicate_record_count int not null, database_transaction_log_bytes_used bigint not null, \
         database_transaction_log_bytes_reserved bigint not null, database_transaction_log_bytes_used_system int not null, \
         database_transaction_log_bytes_reserved_system int not null, database_transaction_begin_lsn numeric(25,0), \
         database_transaction_last_lsn numeric(25,0), database_transaction_most_recent_savepoint_lsn numeric(25,0), \
         database_transaction_commit_lsn numeric(25,0), database_transaction_last_rollback_lsn numeric(25,0), \
         database_transaction_next_undo_lsn numeric(25,0)",
        database_transactions,
    ),
    SystemView::new(
        "dm_tran_session_transactions",
        "session_id int not null, transaction_id bigint not null, transaction_descriptor binary(8) not null, enlist_count int not null, \
         is_user_transaction bit, is_local bit, is_enlisted bit, is_bound bit, open_transaction_count int not null",
        session_transactions,
    ),
];

fn locks(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let mut entities = Entities::default();
    let ids = TransactionIds::new(context.runtime, &context.runtime.state.sessions());
    for row in context.runtime.instance.locks().snapshot() {
        let (kind, description) = type_and_place(&row.resource);
        let (database, entity) = (row.resource.database(), entities.of(context.runtime, &row.resource));
        let (owner_type, owner_id) = match (row.owner, &row.resource) {
            (LockOwner::Workspace, _) => ("EXCLUSIVE_TRANSACTION_WORKSPACE", 0),
            (_, Resource::Database { .. }) => ("SHARED_TRANSACTION_WORKSPACE", 0),
            (LockOwner::Transaction(id), _) => {
                ("TRANSACTION", ids.of(row.session_id, row.resource.database(), TxnId(id)).cast_signed())
            }
            (LockOwner::Session, _) => ("SESSION", 0),
        };
        context.row(&[
            ("resource_type", kind.into()),
            ("resource_subtype", "".into()),
            ("resource_database_id", i32::from(database).into()),
            ("resource_description", description.into()),
            ("resource_associated_entity_id", entity.into()),
            ("request_mode", row.mode.name().into()),
            ("request_type", "LOCK".into()),
            ("request_status", row.status.name().into()),
            ("request_reference_count", 1.into()),
            ("request_session_id", (row.session_id as i32).into()),
            ("request_owner_type", owner_type.into()),
            ("request_owner_id", owner_id.into()),
            ("lock_owner_address", lock_address(&row.resource, row.session_id).into()),
        ]);
    }
    Ok(())
}

/// The name of a transaction without a session.
const USER_NAME: &str = "user_transaction";
/// `transaction_type` and `database_transaction_type`.
const READ_WRITE: i32 = 1;
const READ_ONLY: i32 = 2;
/// `transaction_state`: active; its commit record is in the log; it is being rolled back.
const ACTIVE: i32 = 2;
const COMMITTED: i32 = 6;
const ROLLING_BACK: i32 = 7;

/// The name of a session's transaction: the user's, or that of its autocommit statement.
fn name_of(session: &SessionRow) -> &str {
    match (&session.transaction_name, session.transaction_descriptor) {
        (Some(name), _) => name,
        (None, 0) if !session.transaction_of_command.is_empty() => session.transaction_of_command,
        (None, _) => USER_NAME,
    }
}

/// A user transaction may write at any time; a query in autocommit mode does not.
fn type_of(session: &SessionRow) -> i32 {
    let is_query = session.transaction_descriptor == 0 && session.transaction_of_command == "SELECT";
    if is_query { READ_ONLY } else { READ_WRITE }
}

fn state_of<'r>(mut written: impl Iterator<Item = &'r ActiveRow>) -> i32 {
    // Unless it is rolling back, the next record to undo is its last one.
    let ends = |row: &ActiveRow| match (row.is_ended, row.next_undo != row.last) {
        (true, _) => Some(COMMITTED),
        (_, true) => Some(ROLLING_BACK),
        _ => None,
    };
    written.find_map(ends).unwrap_or(ACTIVE)
}

/// One row for each user transaction, from its BEGIN on, whether it has written or not; one for an autocommit statement that writes
/// or waits for a lock; one for each system transaction.
fn active_transactions(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let sessions = context.runtime.state.sessions();
    let ids = TransactionIds::new(context.runtime, &sessions);
    for session in &sessions {
        let Some(id) = ids.of_session(u32::from(session.session_id.unsigned_abs())) else { continue };
        let began = match session.transaction_descriptor {
            0 => super::dm_exec::moment(session.last_request_start_ticks),
            _ => super::dm_exec::moment(session.transaction_begin_ticks),
        };
        context.row(&[
            ("transaction_id", id.into()),
            ("name", name_of(session).into()),
            ("transaction_begin_time", began.into()),
            ("transaction_type", type_of(session).into()),
            ("transaction_state", state_of(ids.written_by(session.session_id)).into()),
        ]);
    }
    let is_of_session = |row: &ActiveRow| {
        sessions.iter().any(|one| u32::from(one.session_id.unsigned_abs()) == row.session_id)
    };
    for (database, row) in ids.active.iter().filter(|(_, row)| !is_of_session(row)) {
        context.row(&[
            ("transaction_id", ids.of(row.session_id, *database, row.id).into()),
            ("name", USER_NAME.into()),
            ("transaction_begin_time", begin_time(row.begin_time).into()),
            ("transaction_type", READ_WRITE.into()),
            ("transaction_state", state_of(std::iter::once(row)).into()),
        ]);
    }
    Ok(())
}

fn database_transactions(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let ids = TransactionIds::new(context.runtime, &context.runtime.state.sessions());
    for (database, row) in &ids.active {
        let state = match (row.is_ended, row.record_count) {
            // Its end is in the log and not durable yet; it has records; it has none.
            (true, _) => 12,
            (false, 1..) => 4,
            (false, 0) => 3,
        };
        context.row(&[
            ("transaction_id", ids.of(row.session_id, *database, row.id).into()),
            ("database_id", i32::from(*database).into()),
            ("database_transaction_type", READ_WRITE.into()),
            ("database_transaction_state", state.into()),
            ("database_transaction_log_record_count", row.record_count.into()),
            ("database_transaction_log_bytes_used", row.log_bytes.into()),
            ("database_transaction_log_bytes_reserved", row.reserved_bytes.into()),
            ("database_transaction_begin_time", begin_time(row.begin_time).into()),
            ("database_transaction_begin_lsn", numeric_lsn(row.begin)),
            ("database_transaction_last_lsn", numeric_lsn(row.last)),
            (
                "database_transaction_commit_lsn",
                if row.is_ended { numeric_lsn(row.last) } else { Cell::Null },
            ),
            ("database_transaction_most_recent_savepoint_lsn", row.mark.map_or(Cell::Null, numeric_lsn)),
            (
                "database_transaction_last_rollback_lsn",
                row.rolled_back_to.map_or_else(no_rollback, numeric_lsn),
            ),
            ("database_transaction_next_undo_lsn", numeric_lsn(row.next_undo)),
        ]);
    }
    Ok(())
}

/// MaxLSN (-1:-1:-1), shown where there was no rollback.
fn no_rollback() -> Cell {
    Value::Decimal(types::Decimal::new(4_294_967_295_429_496_729_565_535, 25, 0)).into()
}

/// The same transactions with the sessions that have them.
fn session_transactions(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let sessions = context.runtime.state.sessions();
    let ids = TransactionIds::new(context.runtime, &sessions);
    for session in &sessions {
        let Some(id) = ids.of_session(u32::from(session.session_id.unsigned_abs())) else { continue };
        context.row(&[
            ("session_id", i32::from(session.session_id).into()),
            ("transaction_id", id.into()),
            // As it is sent on the wire.
            ("transaction_descriptor", Value::binary(&id.to_le_bytes()).into()),
            // Number of requests that work on it now; a session has at most one.
            ("enlist_count", i32::from(!session.command.is_empty()).into()),
            ("is_user_transaction", true.into()),
            ("is_local", true.into()),
            ("open_transaction_count", session.open_transaction_count.into()),
        ]);
    }
    Ok(())
}
