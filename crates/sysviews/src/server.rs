//! Views that tools query before they show an object tree: endpoints, role members, permissions, the machine's memory, the
//! input of sessions.

use plan_ir::view::{Cell, SystemView, ViewContext};
use types::SqlError;

type Context<'a, 'b, 'c> = &'a mut ViewContext<'b, 'c>;

/// `endpoint_id` of the only endpoint; in SQL Server it is that of Tabular Data Stream over TCP.
pub(super) const TCP_ENDPOINT: i32 = 4;

/// Columns of `sys.endpoints`, with which the related views begin.
macro_rules! endpoint_columns {
    ($more:literal) => {
        concat!(
            "name sysname, endpoint_id int not null, principal_id int, protocol tinyint not null, protocol_desc nvarchar(60), \
             type tinyint not null, type_desc nvarchar(60), state tinyint, state_desc nvarchar(60), is_admin_endpoint bit",
            $more
        )
    };
}

const PERMISSIONS: &str = "class tinyint not null, class_desc nvarchar(60), major_id int not null, minor_id int not null, \
     grantee_principal_id int not null, grantor_principal_id int not null, type char(4), permission_name nvarchar(128), state char(1), \
     state_desc nvarchar(60)";

const MEMBERS: &str = "role_principal_id int not null, member_principal_id int not null";

pub(super) static VIEWS: &[SystemView] = &[
    SystemView::new("endpoints", endpoint_columns!(""), |context| endpoints(context, false)),
    SystemView::new(
        "tcp_endpoints",
        endpoint_columns!(", port int not null, is_dynamic_port bit, ip_address nvarchar(45)"),
        |context| endpoints(context, true),
    ),
    SystemView::new("server_permissions", PERMISSIONS, server_permissions),
    SystemView::new("database_permissions", PERMISSIONS, database_permissions),
    SystemView::new("server_role_members", MEMBERS, server_role_members),
    SystemView::new("database_role_members", MEMBERS, |context| {
        context.row(&[("role_principal_id", DB_OWNER.into()), ("member_principal_id", DBO.into())]);
        Ok(())
    }),
    SystemView::new(
        "dm_os_sys_memory",
        "total_physical_memory_kb bigint not null, available_physical_memory_kb bigint not null, total_page_file_kb bigint not null, \
         available_page_file_kb bigint not null, system_cache_kb bigint not null, kernel_paged_pool_kb bigint not null, \
         kernel_nonpaged_pool_kb bigint not null, system_high_memory_signal_state bit, system_low_memory_signal_state bit, \
         system_memory_state_desc nvarchar(256) not null",
        sys_memory,
    ),
    SystemView::new(
        "dm_exec_input_buffer",
        "event_type nvarchar(256) not null, parameters smallint not null, event_info nvarchar",
        input_buffer,
    )
    .with_parameters(2),
];

/// The principals that every server and every database has.
const SA: i32 = 1;
const PUBLIC: i32 = 2;
const SYSADMIN: i32 = 3;
const DBO: i32 = 1;
const DB_OWNER: i32 = 16_384;
/// `principal_id` of the current login if it is not sa.
const OTHER_LOGIN: i32 = 257;

/// The logins that `sys.server_principals` shows.
fn logins(context: &ViewContext<'_, '_>) -> Vec<i32> {
    let is_sa = context.runtime.state.login_name().eq_ignore_ascii_case("sa");
    if is_sa { vec![SA] } else { vec![SA, OTHER_LOGIN] }
}

fn endpoints(context: Context<'_, '_, '_>, with_port: bool) -> Result<(), SqlError> {
    let mut cells: Vec<(&str, Cell)> = vec![
        ("name", "TSQL Default TCP".into()),
        ("endpoint_id", TCP_ENDPOINT.into()),
        ("principal_id", SA.into()),
        ("protocol", 2.into()),
        ("protocol_desc", "TCP".into()),
        ("type", 2.into()),
        ("type_desc", "TSQL".into()),
        ("state", 0.into()),
        ("state_desc", "STARTED".into()),
    ];
    if with_port {
        // The port belongs to the configuration, not to the endpoint; sys.dm_exec_connections shows it.
        cells.extend([("port", 0.into()), ("is_dynamic_port", true.into())]);
    }
    context.row(&cells);
    Ok(())
}

/// A permission that sa, or dbo, has granted.
fn granted(context: Context<'_, '_, '_>, class: (i32, &str, i32), grantee: i32, permission: (&str, &str)) {
    context.row(&[
        ("class", class.0.into()),
        ("class_desc", class.1.into()),
        ("major_id", class.2.into()),
        ("minor_id", 0.into()),
        ("grantee_principal_id", grantee.into()),
        ("grantor_principal_id", SA.into()),
        ("type", permission.0.into()),
        ("permission_name", permission.1.into()),
        ("state", "G".into()),
        ("state_desc", "GRANT".into()),
    ]);
}

/// The permissions of a login without administrative roles.
fn server_permissions(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for login in logins(context) {
        granted(context, (100, "SERVER", 0), login, ("COSQ", "CONNECT SQL"));
    }
    granted(context, (100, "SERVER", 0), PUBLIC, ("VWDB", "VIEW ANY DATABASE"));
    granted(context, (105, "ENDPOINT", TCP_ENDPOINT), PUBLIC, ("CO", "CONNECT"));
    Ok(())
}

fn database_permissions(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    granted(context, (0, "DATABASE", 0), DBO, ("CO", "CONNECT"));
    Ok(())
}

/// Every login is an administrator.
fn server_role_members(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    if context.runtime.state.is_sysadmin() {
        for login in logins(context) {
            context.row(&[("role_principal_id", SYSADMIN.into()), ("member_principal_id", login.into())]);
        }
    }
    Ok(())
}

fn sys_memory(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let memory = os::process::machine_memory();
    let kb = |bytes: u64| Cell::from(bytes / 1_024);
    // The thresholds of the system's own signals (documentation of CreateMemoryResourceNotification): 32 MB for 4 GB, at most 64 MB, is low,
    // three times that is high.
    let low_bytes = (memory.total_bytes / 128).min(64 << 20);
    let (is_low, is_high) = (memory.available_bytes < low_bytes, memory.available_bytes >= 3 * low_bytes);
    let state = match (is_low, is_high) {
        (true, _) => "Available physical memory is low",
        (_, true) => "Available physical memory is high",
        _ => "Physical memory usage is steady",
    };
    context.row(&[
        ("total_physical_memory_kb", kb(memory.total_bytes)),
        ("available_physical_memory_kb", kb(memory.available_bytes)),
        ("total_page_file_kb", kb(memory.total_bytes + memory.swap_total_bytes)),
        ("available_page_file_kb", kb(memory.available_bytes + memory.swap_free_bytes)),
        ("system_cache_kb", kb(memory.cached_bytes)),
        ("kernel_paged_pool_kb", kb(memory.slab_reclaimable_bytes)),
        ("kernel_nonpaged_pool_kb", kb(memory.slab_unreclaimable_bytes)),
        ("system_high_memory_signal_state", is_high.into()),
        ("system_low_memory_signal_state", is_low.into()),
        ("system_memory_state_desc", state.into()),
    ]);
    Ok(())
}

/// `dm_exec_input_buffer(session_id, request_id)`: the last batch or call of the session. A session has one request: 0, or NULL for the last.
fn input_buffer(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let (wanted, request) = (context.integer_argument(0), context.integer_argument(1));
    for session in context.runtime.state.sessions() {
        let is_it = wanted == Some(i64::from(session.session_id)) && request.is_none_or(|number| number == 0);
        if is_it && let Some(input) = &session.input {
            context.row(&[
                ("event_type", input.event_type.into()),
                ("parameters", 0.into()),
                ("event_info", input.text.to_string().into()),
            ]);
        }
    }
    Ok(())
}
