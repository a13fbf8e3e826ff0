//! `sys.dm_tran_*`: locks, and the transactions that have changed something.

use engine::{LockOwner, Resource};
use types::{SqlError, Value};

use super::shown::{begin_time, numeric_lsn};
use crate::view::{Cell, SystemView, ViewContext};

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
    for row in context.runtime.instance.locks().snapshot() {
        let (kind, database, description, entity) = describe(&row.resource);
        let (owner_type, owner_id) = match (row.owner, &row.resource) {
            (LockOwner::Workspace, _) => ("EXCLUSIVE_TRANSACTION_WORKSPACE", 0),
            (_, Resource::Database { .. }) => ("SHARED_TRANSACTION_WORKSPACE", 0),
            (LockOwner::Transaction(id), _) => ("TRANSACTION", id as i64),
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

/// A number for a session's request of a resource, the same in sys.dm_tran_locks and sys.dm_os_waiting_tasks.
pub(super) fn lock_address(resource: &Resource, session_id: u32) -> Value {
    use std::hash::{Hash, Hasher};
    let mut hasher = rustc_hash::FxHasher::default();
    (resource, session_id).hash(&mut hasher);
    Value::binary(&hasher.finish().to_be_bytes())
}

/// What a task waits for, in the words of sys.dm_os_waiting_tasks.resource_description; `mode` is the mode that is in the way.
pub(super) fn describe_wait(resource: &Resource, mode: &str) -> String {
    let (_, database, _, entity) = describe(resource);
    let id = match lock_address(resource, 0) {
        Value::Binary(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>(),
        _ => String::new(),
    };
    match resource {
        Resource::Database { .. } => {
            format!("databaselock subresource=FULL dbid={database} id=lock{id} mode={mode}")
        }
        Resource::Object { .. } => format!(
            "objectlock lockPartition=0 objid={entity} subresource=FULL dbid={database} id=lock{id} mode={mode} associatedObjectId={entity}"
        ),
        Resource::Page { file, page, .. } => format!(
            "pagelock fileid={file} pageid={page} dbid={database} subresource=FULL id=lock{id} mode={mode} associatedObjectId={entity}"
        ),
        Resource::Rid { file, page, slot, .. } => format!(
            "ridlock fileid={file} pageid={page} slot={slot} dbid={database} id=lock{id} mode={mode} associatedObjectId={entity}"
        ),
        Resource::Key { hobt, .. } => format!(
            "keylock hobtid={hobt} dbid={database} id=lock{id} mode={mode} associatedObjectId={entity}"
        ),
        Resource::Metadata { class, id: what, .. } => format!(
            "metadatalock subresource={class} classid={what:x} dbid={database} id=lock{id} mode={mode}"
        ),
        Resource::Application { hash, .. } => format!(
            "applicationlock hash={hash:x} databasePrincipalId=0 dbid={database} id=lock{id} mode={mode}"
        ),
    }
}

/// Type, database, description and entity of a locked thing.
fn describe(resource: &Resource) -> (&'static str, u16, String, i64) {
    match resource {
        Resource::Database { database } => ("DATABASE", *database, String::new(), 0),
        Resource::Object { database, object } => {
            ("OBJECT", *database, String::new(), i64::from(*object as i32))
        }
        Resource::Page { database, object, file, page } => {
            ("PAGE", *database, format!("{file}:{page}"), i64::from(*object as i32))
        }
        Resource::Rid { database, object, file, page, slot } => {
            ("RID", *database, format!("{file}:{page}:{slot}"), i64::from(*object as i32))
        }
        Resource::Key { database, object, hash, .. } => {
            ("KEY", *database, format!("({hash:012x})"), i64::from(*object as i32))
        }
        Resource::Application { database, hash } => ("APPLICATION", *database, format!("0:[{hash:x}]"), 0),
        Resource::Metadata { database, class, id } => {
            ("METADATA", *database, format!("class = {class}, id = {id:x}"), 0)
        }
    }
}

/// The name that views show.
fn name_of(is_system: bool) -> &'static str {
    if is_system { "system_transaction" } else { "user_transaction" }
}

/// A session's transaction has a number in each database that it has changed: one row each.
fn active_transactions(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for database in context.runtime.instance.databases() {
        for row in database.transactions().active() {
            context.row(&[
                ("transaction_id", row.id.0.into()),
                ("name", name_of(row.is_system).into()),
                ("transaction_begin_time", begin_time(row.begin_time).into()),
                ("transaction_type", if row.is_system { 3 } else { 1 }.into()),
                // Active, or its commit record is in the log.
                ("transaction_state", if row.is_ended { 6 } else { 2 }.into()),
            ]);
        }
    }
    Ok(())
}

fn database_transactions(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for database in context.runtime.instance.databases() {
        for row in database.transactions().active() {
            let state = match (row.is_ended, row.record_count) {
                // Its end is in the log and not hard yet; it has records; it has none.
                (true, _) => 12,
                (false, 1..) => 4,
                (false, 0) => 3,
            };
            context.row(&[
                ("transaction_id", row.id.0.into()),
                ("database_id", i32::from(database.id()).into()),
                ("database_transaction_type", if row.is_system { 3 } else { 1 }.into()),
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
    }
    Ok(())
}

/// MaxLSN (-1:-1:-1), which stands where there was no rollback.
fn no_rollback() -> Cell {
    Value::Decimal(types::Decimal::new(4_294_967_295_429_496_729_565_535, 25, 0)).into()
}

fn session_transactions(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let sessions = context.runtime.facts.sessions();
    for database in context.runtime.instance.databases() {
        for row in database.transactions().active().into_iter().filter(|row| row.session_id > 0) {
            let is_it =
                |session: &&crate::SessionRow| i64::from(session.session_id) == i64::from(row.session_id);
            let Some(session) = sessions.iter().find(is_it) else { continue };
            let mut descriptor = row.id.0;
            // The same number in two databases is two transactions.
            descriptor |= u64::from(database.number()) << 48;
            context.row(&[
                ("session_id", i32::from(session.session_id).into()),
                ("transaction_id", row.id.0.into()),
                ("transaction_descriptor", Value::binary(&descriptor.to_be_bytes()).into()),
                ("enlist_count", i32::from(!session.command.is_empty()).into()),
                ("is_user_transaction", (!row.is_system).into()),
                ("is_local", true.into()),
                ("open_transaction_count", session.open_transaction_count.into()),
            ]);
        }
    }
    Ok(())
}
