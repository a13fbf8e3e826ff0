//! `sys.dm_exec_*`, principals, configurations and messages: the state of sessions and of the server.

use plan_ir::context::SessionRow;
use plan_ir::view::{Cell, SystemView, ViewContext};
use types::{SqlError, Value};

use super::lock_resources::LockWaits;
use super::transaction_ids::TransactionIds;
use crate::principals::{self, Principal};

/// These views count memory in pages.
const PAGE_BYTES: u64 = 8_192;

type Context<'a, 'b, 'c> = &'a mut ViewContext<'b, 'c>;

pub(super) static VIEWS: &[SystemView] = &[
    SystemView::new(
        "dm_exec_sessions",
        "session_id smallint not null, login_time datetime not null, host_name nvarchar(128), program_name nvarchar(128), \
         host_process_id int, client_version int, client_interface_name nvarchar(32), security_id varbinary(85) not null, \
         login_name nvarchar(128) not null, nt_domain nvarchar(128), nt_user_name nvarchar(128), status nvarchar(30) not null, \
         context_info varbinary(128), cpu_time int not null, memory_usage int not null, total_scheduled_time int not null, \
         total_elapsed_time int not null, endpoint_id int not null, last_request_start_time datetime not null, \
         last_request_end_time datetime, reads bigint not null, writes bigint not null, logical_reads bigint not null, is_user_process bit, \
         text_size int not null, language nvarchar(128), date_format nvarchar(3), date_first smallint not null, quoted_identifier bit, \
         arithabort bit, ansi_null_dflt_on bit, ansi_defaults bit, ansi_warnings bit, ansi_padding bit, ansi_nulls bit, \
         concat_null_yields_null bit, transaction_isolation_level smallint not null, lock_timeout int not null, \
         deadlock_priority int not null, row_count bigint not null, prev_error int not null, original_security_id varbinary(85) not null, \
         original_login_name nvarchar(128) not null, last_successful_logon datetime, last_unsuccessful_logon datetime, \
         unsuccessful_logons bigint, group_id int not null, database_id smallint not null, authenticating_database_id int, \
         open_transaction_count int not null, page_server_reads bigint not null",
        sessions,
    ),
    SystemView::new(
        "dm_exec_requests",
        "session_id smallint not null, request_id int not null, start_time datetime not null, status nvarchar(30) not null, \
         command nvarchar(32) not null, sql_handle varbinary(64), statement_start_offset int, statement_end_offset int, \
         plan_handle varbinary(64), database_id smallint not null, user_id int not null, connection_id uniqueidentifier, \
         blocking_session_id smallint, wait_type nvarchar(60), wait_time int not null, last_wait_type nvarchar(60) not null, \
         wait_resource nvarchar(256) not null, open_transaction_count int not null, open_resultset_count int not null, \
         transaction_id bigint not null, context_info varbinary(128), percent_complete real not null, \
         estimated_completion_time bigint not null, cpu_time int not null, total_elapsed_time int not null, scheduler_id int, \
         task_address varbinary(8), reads bigint not null, writes bigint not null, logical_reads bigint not null, text_size int not null, \
         language nvarchar(128), date_format nvarchar(3), date_first smallint not null, quoted_identifier bit, arithabort bit, \
         ansi_null_dflt_on bit, ansi_defaults bit, ansi_warnings bit, ansi_padding bit, ansi_nulls bit, concat_null_yields_null bit, \
         transaction_isolation_level smallint not null, lock_timeout int not null, deadlock_priority int not null, \
         row_count bigint not null, prev_error int not null, nest_level int not null, granted_query_memory int not null, \
         executing_managed_code bit, group_id int not null, query_hash binary(8), query_plan_hash binary(8), \
         statement_sql_handle varbinary(64), statement_context_id bigint, dop int not null, parallel_worker_count int, \
         external_script_request_id uniqueidentifier, is_resumable bit, page_resource binary(8), page_server_reads bigint not null",
        requests,
    ),
    SystemView::new(
        "dm_exec_query_memory_grants",
        "session_id smallint, request_id int, scheduler_id int, dop smallint, request_time datetime, grant_time datetime, \
         requested_memory_kb bigint, granted_memory_kb bigint, required_memory_kb bigint, used_memory_kb bigint, max_used_memory_kb bigint, \
         query_cost float, timeout_sec int, resource_semaphore_id smallint, queue_id smallint, wait_order int, is_next_candidate bit, \
         wait_time_ms bigint, plan_handle varbinary(64), sql_handle varbinary(64), group_id int, pool_id int, is_small bit, \
         ideal_memory_kb bigint, reserved_worker_count int, used_worker_count int, max_used_worker_count int, \
         reserved_node_bitmap bigint",
        memory_grants,
    ),
    SystemView::new(
        "dm_exec_query_resource_semaphores",
        "resource_semaphore_id smallint, target_memory_kb bigint, max_target_memory_kb bigint, total_memory_kb bigint, \
         available_memory_kb bigint, granted_memory_kb bigint, used_memory_kb bigint, grantee_count int, waiter_count int, \
         timeout_error_count bigint, forced_grant_count bigint, pool_id int",
        resource_semaphores,
    ),
    SystemView::new(
        "dm_exec_connections",
        "session_id int, most_recent_session_id int, connect_time datetime not null, net_transport nvarchar(40) not null, \
         protocol_type nvarchar(40), protocol_version int, endpoint_id int, encrypt_option nvarchar(40) not null, \
         auth_scheme nvarchar(40) not null, node_affinity smallint not null, num_reads int, num_writes int, last_read datetime, \
         last_write datetime, net_packet_size int, client_net_address varchar(48), client_tcp_port int, local_net_address varchar(48), \
         local_tcp_port int, connection_id uniqueidentifier not null, parent_connection_id uniqueidentifier, \
         most_recent_sql_handle varbinary(64)",
        connections,
    ),
    SystemView::new(
        "server_principals",
        "name sysname, principal_id int not null, sid varbinary(85), type char(1) not null, type_desc nvarchar(60), is_disabled bit, \
         create_date datetime not null, modify_date datetime not null, default_database_name nvarchar(128), \
         default_language_name nvarchar(128), credential_id int, owning_principal_id int, is_fixed_role bit",
        server_principals,
    ),
    SystemView::new(
        "database_principals",
        "name sysname, principal_id int not null, type char(1) not null, type_desc nvarchar(60), default_schema_name nvarchar(128), \
         create_date datetime not null, modify_date datetime not null, owning_principal_id int, sid varbinary(85), is_fixed_role bit, \
         authentication_type int not null, authentication_type_desc nvarchar(60), default_language_name nvarchar(128), \
         default_language_lcid int, allow_encrypted_value_modifications bit",
        database_principals,
    ),
    SystemView::new(
        "configurations",
        "configuration_id int not null, name nvarchar(35) not null, value sql_variant, minimum sql_variant, maximum sql_variant, \
         value_in_use sql_variant, description nvarchar(255) not null, is_dynamic bit, is_advanced bit",
        configurations,
    ),
    SystemView::new(
        "messages",
        "message_id int not null, language_id smallint not null, severity tinyint not null, is_event_logged bit, text nvarchar(2048) not null",
        messages,
    ),
    SystemView::new(
        "time_zone_info",
        "name nvarchar(128) not null, current_utc_offset nvarchar(6) not null, is_currently_dst bit not null",
        time_zones,
    ),
    SystemView::new(
        "servers",
        "server_id int not null, name sysname, product sysname, provider sysname, data_source nvarchar(4000), location nvarchar(4000), \
         provider_string nvarchar(4000), catalog nvarchar(128), connect_timeout int, query_timeout int, is_linked bit, \
         is_remote_login_enabled bit, is_rpc_out_enabled bit, is_data_access_enabled bit, modify_date datetime",
        servers,
    ),
    SystemView::new(
        "sysprocesses",
        "spid smallint not null, kpid smallint not null, blocked smallint not null, waittype binary(2) not null, waittime bigint not null, \
         lastwaittype nchar(32) not null, waitresource nchar(256) not null, dbid smallint not null, uid smallint, cpu int not null, \
         physical_io bigint not null, memusage int not null, login_time datetime not null, last_batch datetime not null, \
         ecid smallint not null, open_tran smallint not null, status nchar(30) not null, sid binary(86) not null, \
         hostname nchar(128) not null, program_name nchar(128) not null, hostprocess nchar(10) not null, cmd nchar(26) not null, \
         nt_domain nchar(128) not null, nt_username nchar(128) not null, net_address nchar(12) not null, net_library nchar(12) not null, \
         loginame nchar(128) not null",
        processes,
    ),
    SystemView::new(
        "dm_exec_cursors",
        "session_id int not null, cursor_id int not null, name nvarchar(256), properties nvarchar(256) not null, sql_handle varbinary(64), \
         statement_start_offset int, statement_end_offset int, plan_generation_num bigint, creation_time datetime not null, \
         is_open bit not null, is_async_population bit not null, is_close_on_commit bit not null, fetch_status int not null, \
         fetch_buffer_size int not null, fetch_buffer_start int not null, ansi_position int not null, worker_time bigint, reads bigint, \
         writes bigint, dormant_duration bigint",
        cursors,
    )
    .with_parameters(1),
];

/// A datetime of 100 ns ticks since 0001-01-01.
pub(super) fn moment(ticks: u64) -> Value {
    types::datetime::Moment::from_ticks(ticks as i64)
        .and_then(|moment| moment.to_value(&types::SqlType::DateTime))
        .unwrap_or(Value::DateTime(types::DateTime { days: 0, ticks: 0 }))
}

/// Milliseconds, limited to an int.
fn in_ms(ns: u64) -> i32 {
    i32::try_from(ns / 1_000_000).unwrap_or(i32::MAX)
}

/// The views show no NULL for a session that has not set it.
fn context_info(set: &Value) -> Value {
    match set {
        Value::Null => Value::binary(&[]),
        set => set.clone(),
    }
}

/// Cells of the SET options that sessions and requests share.
fn option_cells(session: &SessionRow) -> Vec<(&'static str, Cell)> {
    let on = |bit: i32| session.option_bits & bit != 0;
    vec![
        ("text_size", session.text_size.into()),
        ("language", (&*session.language).into()),
        ("date_format", (&*session.date_format).into()),
        ("date_first", i32::from(session.date_first).into()),
        ("quoted_identifier", on(256).into()),
        ("arithabort", on(64).into()),
        ("ansi_null_dflt_on", on(1024).into()),
        ("ansi_warnings", on(8).into()),
        ("ansi_padding", on(16).into()),
        ("ansi_nulls", on(32).into()),
        ("concat_null_yields_null", on(4096).into()),
        ("transaction_isolation_level", i32::from(session.isolation).into()),
        ("lock_timeout", session.lock_timeout_ms.into()),
        ("deadlock_priority", i32::from(session.deadlock_priority).into()),
        ("context_info", context_info(&session.context_info).into()),
        ("row_count", session.row_count.into()),
        ("prev_error", session.prev_error.into()),
        ("database_id", i32::from(session.database_id).into()),
        ("open_transaction_count", session.open_transaction_count.into()),
        ("group_id", 2.into()),
    ]
}

fn sessions(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for session in context.runtime.state.sessions() {
        let mut cells = option_cells(&session);
        cells.extend([
            ("session_id", Cell::from(i32::from(session.session_id))),
            ("login_time", moment(session.login_time_ticks).into()),
            ("host_name", session.host_name.as_str().into()),
            ("program_name", session.program_name.as_str().into()),
            ("host_process_id", session.host_process_id.into()),
            ("client_version", 7.into()),
            ("client_interface_name", session.client_interface_name.as_str().into()),
            ("security_id", Value::binary(&[1]).into()),
            ("login_name", session.login_name.as_str().into()),
            ("status", session.status.into()),
            ("last_request_start_time", moment(session.last_request_start_ticks).into()),
            ("last_request_end_time", moment(session.last_request_end_ticks).into()),
            ("cpu_time", in_ms(session.figures.working_ns).into()),
            ("total_scheduled_time", in_ms(session.figures.working_ns).into()),
            ("total_elapsed_time", in_ms(session.figures.elapsed_ns).into()),
            ("reads", session.figures.physical_reads.into()),
            ("logical_reads", session.figures.logical_reads.into()),
            ("memory_usage", (session.memory_bytes / PAGE_BYTES).into()),
            ("is_user_process", session.is_user_process.into()),
            ("original_security_id", Value::binary(&[1]).into()),
            ("original_login_name", session.login_name.as_str().into()),
            ("authenticating_database_id", 1.into()),
            ("endpoint_id", super::server::TCP_ENDPOINT.into()),
        ]);
        context.row(&cells);
    }
    Ok(())
}

/// The current wait of the request, or its last one.
fn last_wait(session: &SessionRow) -> &'static str {
    session.wait_type.or(session.last_wait_type).unwrap_or("MISCELLANEOUS")
}

fn requests(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let instance = context.runtime.instance;
    let now_ticks = instance.os().clock().utc_100ns().max(0).cast_unsigned();
    let mut locks = LockWaits::new(instance);
    let sessions = context.runtime.state.sessions();
    let ids = TransactionIds::new(context.runtime, &sessions);
    for session in sessions {
        if session.command.is_empty() {
            continue;
        }
        let elapsed_ms = now_ticks.saturating_sub(session.last_request_start_ticks) / 10_000;
        let working_ns = (elapsed_ms * 1_000_000).saturating_sub(session.figures.request_waited_ns);
        let mut cells = option_cells(&session);
        let status = if session.wait_type.is_some() { "suspended" } else { "running" };
        let (blocker, resource) = locks.shown(&session);
        let number = u32::from(session.session_id.unsigned_abs());
        cells.extend([
            ("session_id", Cell::from(i32::from(session.session_id))),
            ("start_time", moment(session.last_request_start_ticks).into()),
            ("status", status.into()),
            ("command", session.command.into()),
            ("user_id", 1.into()),
            ("blocking_session_id", blocker.into()),
            ("wait_resource", resource.into()),
            ("transaction_id", ids.of_session(number).unwrap_or(0).into()),
            ("total_elapsed_time", i32::try_from(elapsed_ms).unwrap_or(i32::MAX).into()),
            ("wait_type", session.wait_type.into()),
            ("wait_time", session.wait_time_ms.into()),
            ("last_wait_type", last_wait(&session).into()),
            ("open_resultset_count", 1.into()),
            ("cpu_time", in_ms(working_ns).into()),
            ("dop", 1.into()),
            ("granted_query_memory", (session.memory_bytes / PAGE_BYTES).into()),
        ]);
        context.row(&cells);
    }
    Ok(())
}

/// Memory grants, and requests that wait for one. A request with little memory needs no grant.
fn memory_grants(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let sessions = context.runtime.state.sessions();
    let now_ticks = context.runtime.instance.os().clock().utc_100ns();
    let mut waiting = 0;
    for grant in context.runtime.instance.workspaces().grants() {
        let session = sessions.iter().find(|session| session.session_id == grant.session_id);
        let kb = |bytes: fn(&SessionRow) -> u64| session.map_or(0, |session| bytes(session) / 1_024);
        let requested_kb = grant.requested_bytes / 1_024;
        let mut cells: Vec<(&'static str, Cell)> = vec![
            ("session_id", i32::from(grant.session_id).into()),
            ("request_id", 0.into()),
            ("dop", 1.into()),
            ("request_time", moment(grant.request_ticks.max(0).unsigned_abs()).into()),
            ("requested_memory_kb", requested_kb.into()),
            ("ideal_memory_kb", requested_kb.into()),
            ("required_memory_kb", (grant.required_bytes / 1_024).into()),
            ("used_memory_kb", kb(|session| session.memory_bytes).into()),
            ("max_used_memory_kb", kb(|session| session.memory_peak_bytes).into()),
            ("timeout_sec", i32::try_from(grant.timeout_s).unwrap_or(i32::MAX).into()),
            ("resource_semaphore_id", 0.into()),
            ("group_id", 2.into()),
            ("pool_id", 2.into()),
        ];
        if grant.granted_bytes > 0 {
            cells.push(("grant_time", moment(grant.grant_ticks.max(0).unsigned_abs()).into()));
            cells.push(("granted_memory_kb", (grant.granted_bytes / 1_024).into()));
        } else {
            let waited_ticks = now_ticks.saturating_sub(grant.request_ticks).max(0).unsigned_abs();
            cells.push(("queue_id", 0.into()));
            cells.push(("wait_order", waiting.into()));
            cells.push(("is_next_candidate", Value::Bit(waiting == 0).into()));
            cells.push(("wait_time_ms", (waited_ticks / 10_000).into()));
            waiting += 1;
        }
        context.row(&cells);
    }
    Ok(())
}

/// The single pool of memory grants; without a limit no request needs a grant.
fn resource_semaphores(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let figures = context.runtime.instance.workspaces().figures();
    let total_kb = figures.total_bytes.unwrap_or(i64::MAX as u64) / 1_024;
    let granted_kb = figures.granted_bytes / 1_024;
    let count = |number: usize| i32::try_from(number).unwrap_or(i32::MAX);
    context.row(&[
        ("resource_semaphore_id", 0.into()),
        ("target_memory_kb", total_kb.into()),
        ("max_target_memory_kb", total_kb.into()),
        ("total_memory_kb", total_kb.into()),
        ("available_memory_kb", total_kb.saturating_sub(granted_kb).into()),
        ("granted_memory_kb", granted_kb.into()),
        ("grantee_count", count(figures.grantees).into()),
        ("waiter_count", count(figures.waiters).into()),
        ("timeout_error_count", figures.timeouts_total.into()),
        ("forced_grant_count", 0.into()),
        ("pool_id", 2.into()),
    ]);
    Ok(())
}

fn connections(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for session in context.runtime.state.sessions().iter().filter(|session| session.is_user_process) {
        let mut guid = [0u8; 16];
        guid[..2].copy_from_slice(&session.session_id.to_le_bytes());
        guid[8..].copy_from_slice(&session.login_time_ticks.to_be_bytes());
        context.row(&[
            ("session_id", i32::from(session.session_id).into()),
            ("most_recent_session_id", i32::from(session.session_id).into()),
            ("connect_time", moment(session.login_time_ticks).into()),
            (
                "net_transport",
                if session.net_transport.is_empty() { "Session" } else { &session.net_transport }.into(),
            ),
            ("protocol_type", "TSQL".into()),
            ("protocol_version", 0x7400_0004.into()),
            ("endpoint_id", super::server::TCP_ENDPOINT.into()),
            ("encrypt_option", if session.encrypted { "TRUE" } else { "FALSE" }.into()),
            ("auth_scheme", "SQL".into()),
            ("num_reads", i32::try_from(session.packets.0).unwrap_or(i32::MAX).into()),
            ("num_writes", i32::try_from(session.packets.1).unwrap_or(i32::MAX).into()),
            ("last_read", moment(session.last_request_start_ticks).into()),
            ("last_write", moment(session.last_request_end_ticks).into()),
            ("net_packet_size", session.net_packet_size.into()),
            ("client_net_address", session.client_net_address.as_str().into()),
            ("client_tcp_port", session.client_tcp_port.into()),
            ("local_tcp_port", session.local_tcp_port.into()),
            ("connection_id", Value::Guid(guid).into()),
        ]);
    }
    Ok(())
}

fn processes(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let mut locks = LockWaits::new(context.runtime.instance);
    for session in context.runtime.state.sessions() {
        let (blocker, resource) = locks.shown(&session);
        context.row(&[
            ("spid", i32::from(session.session_id).into()),
            ("blocked", blocker.into()),
            ("waitresource", resource.into()),
            ("waittime", session.wait_time_ms.into()),
            ("lastwaittype", last_wait(&session).into()),
            ("dbid", i32::from(session.database_id).into()),
            ("cpu", in_ms(session.figures.working_ns).into()),
            ("physical_io", session.figures.physical_reads.into()),
            ("memusage", i32::try_from(session.memory_bytes / PAGE_BYTES).unwrap_or(i32::MAX).into()),
            ("login_time", moment(session.login_time_ticks).into()),
            ("last_batch", moment(session.last_request_start_ticks).into()),
            ("open_tran", session.open_transaction_count.into()),
            ("status", session.status.into()),
            ("hostname", session.host_name.as_str().into()),
            ("program_name", session.program_name.as_str().into()),
            ("cmd", if session.command.is_empty() { "AWAITING COMMAND" } else { session.command }.into()),
            ("loginame", session.login_name.as_str().into()),
        ]);
    }
    Ok(())
}

fn epoch() -> Value {
    Value::DateTime(types::DateTime { days: 37_718, ticks: 0 })
}

fn server_principals(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for Principal { name, id, sid, is_role } in principals::of_server(context.runtime.state.login_name()) {
        context.row(&[
            ("name", name.into()),
            ("principal_id", id.into()),
            ("sid", sid.map(|sid| Value::binary(&sid)).into()),
            ("type", if is_role { "R" } else { "S" }.into()),
            ("type_desc", if is_role { "SERVER_ROLE" } else { "SQL_LOGIN" }.into()),
            ("create_date", epoch().into()),
            ("modify_date", epoch().into()),
            ("default_database_name", (!is_role).then_some("master").into()),
            ("default_language_name", (!is_role).then_some("us_english").into()),
            ("is_fixed_role", (is_role && id != 2).into()),
        ]);
    }
    Ok(())
}

fn database_principals(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for Principal { name, id, sid, is_role } in principals::of_database() {
        context.row(&[
            ("name", name.into()),
            ("principal_id", id.into()),
            ("type", if is_role { "R" } else { "S" }.into()),
            ("type_desc", if is_role { "DATABASE_ROLE" } else { "SQL_USER" }.into()),
            ("default_schema_name", (!is_role).then_some(if id == 2 { "guest" } else { "dbo" }).into()),
            ("create_date", epoch().into()),
            ("modify_date", epoch().into()),
            ("sid", sid.map(|sid| Value::binary(&sid)).into()),
            ("is_fixed_role", (id >= principals::DB_OWNER).into()),
            ("authentication_type", i32::from(id == 1).into()),
            ("authentication_type_desc", if id == 1 { "INSTANCE" } else { "NONE" }.into()),
        ]);
    }
    Ok(())
}

fn configurations(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let variant = |number: i32| plan_ir::values::variant(Value::Int(number));
    let instance = context.runtime.instance;
    for option in engine::CONFIGURATION_OPTIONS {
        context.row(&[
            ("configuration_id", option.id.into()),
            ("name", option.name.into()),
            ("value", variant(instance.configured(option)).into()),
            ("minimum", variant(option.minimum).into()),
            ("maximum", variant(option.maximum).into()),
            ("value_in_use", variant(instance.configured_in_use(option)).into()),
            ("description", option.description.into()),
            ("is_dynamic", option.is_dynamic.into()),
            ("is_advanced", option.is_advanced.into()),
        ]);
    }
    Ok(())
}

fn messages(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for message in types::messages::all() {
        context.row(&[
            ("message_id", message.number.into()),
            ("language_id", 1033.into()),
            ("severity", i32::from(message.severity).into()),
            ("text", message.text.into()),
        ]);
    }
    if let Some(master) = context.runtime.instance.database_by_id(engine::MASTER as i16) {
        for entry in context.runtime.entries_of(&master) {
            let engine::Entry::Message(message) = &*entry else { continue };
            context.row(&[
                ("message_id", message.number.into()),
                ("language_id", message.language_id.into()),
                ("severity", i32::from(message.severity).into()),
                ("is_event_logged", message.is_logged.into()),
                ("text", message.text.to_string().into()),
            ]);
        }
    }
    Ok(())
}

/// The UTC offset of each time zone at the moment when its local time equals the server's.
fn time_zones(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let local_minutes = i64::from(context.runtime.instance.os().clock().local_offset_minutes());
    let local_ticks = context.runtime.now_utc_ticks() + local_minutes * 600_000_000;
    for zone in plan_ir::zones::Zone::all() {
        let (offset, is_summer) = zone.at_local(plan_ir::zones::unix_s(local_ticks));
        let sign = if offset < 0 { '-' } else { '+' };
        context.row(&[
            ("name", zone.name.into()),
            ("current_utc_offset", format!("{sign}{:02}:{:02}", offset.abs() / 60, offset.abs() % 60).into()),
            ("is_currently_dst", is_summer.into()),
        ]);
    }
    Ok(())
}

fn servers(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let name = context.runtime.state.server_name().to_string();
    context.row(&[
        ("server_id", 0.into()),
        ("name", name.into()),
        ("product", "SQL Server".into()),
        ("provider", "SQLNCLI".into()),
    ]);
    Ok(())
}

/// `dm_exec_cursors(session_id | 0)`: the cursors of a session, or of all. What is not counted by cursor is NULL.
fn cursors(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let wanted = context.integer_argument(0);
    let own = context.runtime.state.session_id();
    for session in context.runtime.state.sessions() {
        let id = session.session_id;
        if wanted != Some(0) && wanted != Some(i64::from(id)) {
            continue;
        }
        let cursors = if id == own { context.runtime.state.cursors() } else { session.cursors.to_vec() };
        for cursor in cursors {
            context.row(&[
                ("session_id", i32::from(id).into()),
                ("cursor_id", cursor.cursor_id.into()),
                ("name", if cursor.name.is_empty() { Cell::Null } else { cursor.name.into() }),
                ("properties", cursor.properties.into()),
                ("creation_time", moment(cursor.creation_ticks).into()),
                ("is_open", cursor.is_open.into()),
                ("is_async_population", false.into()),
                ("is_close_on_commit", cursor.is_close_on_commit.into()),
                ("fetch_status", cursor.fetch_status.into()),
                ("fetch_buffer_size", cursor.fetch_buffer_size.into()),
                ("fetch_buffer_start", cursor.fetch_buffer_start.into()),
                ("ansi_position", cursor.ansi_position.into()),
            ]);
        }
    }
    Ok(())
}
