//! `sys.dm_os_*`: counters, memory, the machine.

use plan_ir::view::{SystemView, ViewContext};
use types::SqlError;

type Context<'a, 'b, 'c> = &'a mut ViewContext<'b, 'c>;

pub(super) static VIEWS: &[SystemView] = &[
    SystemView::new(
        "dm_os_performance_counters",
        "object_name nchar(128) not null, counter_name nchar(128) not null, instance_name nchar(128), cntr_value bigint not null, cntr_type int not null",
        performance_counters,
    ),
    SystemView::new(
        "dm_io_pending_io_requests",
        "io_completion_request_address varbinary(8) not null, io_type nvarchar(60) not null, io_pending_ms_ticks bigint not null, \
         io_pending int not null, io_completion_routine_address varbinary(8), io_user_data_address varbinary(8), \
         scheduler_address varbinary(8) not null, io_handle varbinary(8), io_offset bigint not null, io_handle_path nvarchar(256)",
        super::databases::pending_io_requests,
    ),
    SystemView::new(
        "dm_os_sys_info",
        "cpu_ticks bigint not null, ms_ticks bigint not null, cpu_count int not null, hyperthread_ratio int not null, \
         physical_memory_kb bigint not null, virtual_memory_kb bigint not null, committed_kb bigint not null, \
         committed_target_kb bigint not null, visible_target_kb bigint not null, stack_size_in_bytes int not null, os_quantum bigint not null, \
         os_error_mode int not null, os_priority_class int, max_workers_count int not null, scheduler_count int not null, \
         scheduler_total_count int not null, deadlock_monitor_serial_number int not null, sqlserver_start_time_ms_ticks bigint not null, \
         sqlserver_start_time datetime not null, affinity_type int not null, affinity_type_desc nvarchar(60) not null, \
         process_kernel_time_ms bigint not null, process_user_time_ms bigint not null, time_source int not null, \
         time_source_desc nvarchar(60) not null, virtual_machine_type int not null, virtual_machine_type_desc nvarchar(60) not null, \
         softnuma_configuration int not null, softnuma_configuration_desc nvarchar(60) not null, process_physical_affinity nvarchar(3072) not null, \
         sql_memory_model int not null, sql_memory_model_desc nvarchar(60) not null, socket_count int not null, cores_per_socket int not null, \
         numa_node_count int not null, container_type int not null, container_type_desc nvarchar(60) not null",
        sys_info,
    ),
    SystemView::new(
        "dm_os_memory_clerks",
        "memory_clerk_address varbinary(8) not null, type nvarchar(60) not null, name nvarchar(256) not null, \
         memory_node_id smallint not null, pages_kb bigint not null, virtual_memory_reserved_kb bigint not null, \
         virtual_memory_committed_kb bigint not null, awe_allocated_kb bigint not null, shared_memory_reserved_kb bigint not null, \
         shared_memory_committed_kb bigint not null, page_size_in_bytes bigint not null, page_allocator_address varbinary(8) not null, \
         host_address varbinary(8) not null, parent_memory_broker_type nvarchar(60)",
        memory_clerks,
    ),
    SystemView::new(
        "dm_os_process_memory",
        "physical_memory_in_use_kb bigint not null, large_page_allocations_kb bigint not null, locked_page_allocations_kb bigint not null, \
         total_virtual_address_space_kb bigint not null, virtual_address_space_reserved_kb bigint not null, \
         virtual_address_space_committed_kb bigint not null, virtual_address_space_available_kb bigint not null, \
         page_fault_count bigint not null, memory_utilization_percentage int not null, available_commit_limit_kb bigint not null, \
         process_physical_memory_low bit not null, process_virtual_memory_low bit not null",
        process_memory,
    ),
    SystemView::new(
        "dm_os_host_info",
        "host_platform nvarchar(256) not null, host_distribution nvarchar(256) not null, host_release nvarchar(256) not null, \
         host_service_pack_level nvarchar(256) not null, host_sku int, os_language_version int not null, host_architecture nvarchar(256) not null",
        host_info,
    ),
    SystemView::new(
        "dm_os_windows_info",
        "windows_release nvarchar(256) not null, windows_service_pack_level nvarchar(256) not null, windows_sku int, os_language_version int not null",
        |_| Ok(()),
    ),
    SystemView::new(
        "dm_os_schedulers",
        "scheduler_address varbinary(8) not null, parent_node_id int not null, scheduler_id int not null, cpu_id smallint not null, \
         status nvarchar(60) not null, is_online bit, is_idle bit, preemptive_switches_count int not null, context_switches_count int not null, \
         idle_switches_count int not null, current_tasks_count int not null, runnable_tasks_count int not null, \
         current_workers_count int not null, active_workers_count int not null, work_queue_count bigint not null, \
         pending_disk_io_count int not null, load_factor int not null, yield_count int not null, last_timer_activity bigint not null, \
         failed_to_create_worker bit, active_worker_address varbinary(8), memory_object_address varbinary(8) not null, \
         task_memory_object_address varbinary(8) not null, quantum_length_us bigint not null, total_cpu_usage_ms bigint not null, \
         total_cpu_idle_capped_ms bigint not null, total_scheduler_delay_ms bigint not null, ideal_workers_limit int not null",
        schedulers,
    ),
];

/// The only scheduler: each request runs on a thread of its own, which the operating system schedules and preempts. So there are no
/// quantum and no scheduler delay; the processor time is the process's.
fn schedulers(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let sessions = context.runtime.state.sessions();
    let running = sessions.iter().filter(|session| session.status == "running").count() as i64;
    let (user_ms, kernel_ms) = os::process::processor_times_ms();
    context.row(&[
        ("scheduler_id", 0.into()),
        ("cpu_id", 0.into()),
        ("status", "VISIBLE ONLINE".into()),
        ("is_online", true.into()),
        ("current_tasks_count", running.into()),
        ("current_workers_count", running.into()),
        ("active_workers_count", running.into()),
        ("total_cpu_usage_ms", (user_ms + kernel_ms).into()),
    ]);
    Ok(())
}

/// The buffer pool, memory of requests, and all other allocated memory.
fn memory_clerks(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let pool_bytes = context.runtime.instance.pool().stats().frames as u64 * 8_192;
    let requests_bytes: u64 =
        context.runtime.state.sessions().iter().map(|session| session.memory_bytes).sum();
    let other_bytes = os::memory::total_bytes().saturating_sub(requests_bytes);
    for (kind, name, bytes) in [
        ("MEMORYCLERK_SQLBUFFERPOOL", "Default", pool_bytes),
        ("MEMORYCLERK_SQLQERESERVATIONS", "Default", requests_bytes),
        ("MEMORYCLERK_SQLGENERAL", "Default", other_bytes),
    ] {
        context.row(&[
            ("type", kind.into()),
            ("name", name.into()),
            ("pages_kb", (bytes / 1_024).into()),
            ("page_size_in_bytes", 8_192.into()),
        ]);
    }
    Ok(())
}

fn process_memory(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let limit_bytes = os::memory::total_bytes_max();
    let is_low = limit_bytes.is_some_and(|limit| os::memory::total_bytes() > limit);
    let (resident_bytes, machine_bytes) =
        (os::process::resident_bytes(), os::process::physical_memory_bytes());
    context.row(&[
        ("physical_memory_in_use_kb", (resident_bytes / 1_024).into()),
        ("memory_utilization_percentage", (resident_bytes * 100 / machine_bytes.max(1)).into()),
        ("process_physical_memory_low", is_low.into()),
    ]);
    Ok(())
}

/// Counters of the registry; the column type pads the names.
fn performance_counters(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for counter in context.runtime.instance.counter_rows() {
        context.row(&[
            ("object_name", counter.object_name.into()),
            ("counter_name", counter.counter_name.into()),
            ("instance_name", counter.instance_name.into()),
            ("cntr_value", counter.cntr_value.into()),
            ("cntr_type", counter.cntr_type.into()),
        ]);
    }
    Ok(())
}

/// The address space of a process on x86-64 and similar processors: 47 bits.
const VIRTUAL_KB: u64 = 1 << 37;

fn sys_info(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let now_ms = context.runtime.instance.os().clock().monotonic_ns() / 1_000_000;
    let (user_ms, kernel_ms) = os::process::processor_times_ms();
    let start = super::dm_exec::moment(context.runtime.state.server_start_ticks());
    let running_ms =
        (context.runtime.now_utc_ticks().saturating_sub(context.runtime.state.server_start_ticks() as i64)
            / 10_000)
            .max(0) as u64;
    let processors = i32::try_from(os::process::processor_count()).unwrap_or(i32::MAX);
    let pool_bytes = context.runtime.instance.pool().stats().frames as u64 * 8_192;
    let rest_bytes = os::memory::total_bytes_max();
    let target_kb =
        rest_bytes.map_or_else(os::process::physical_memory_bytes, |rest| rest + pool_bytes) / 1_024;
    context.row(&[
        ("ms_ticks", now_ms.into()),
        ("cpu_ticks", (now_ms * 1_000_000).into()),
        ("cpu_count", processors.into()),
        ("process_kernel_time_ms", kernel_ms.into()),
        ("process_user_time_ms", user_ms.into()),
        ("hyperthread_ratio", processors.into()),
        ("physical_memory_kb", (os::process::physical_memory_bytes() / 1_024).into()),
        ("virtual_memory_kb", VIRTUAL_KB.into()),
        ("committed_kb", ((os::memory::total_bytes() + pool_bytes) / 1_024).into()),
        ("committed_target_kb", target_kb.into()),
        ("visible_target_kb", target_kb.into()),
        ("max_workers_count", 512.into()),
        ("scheduler_count", 1.into()),
        ("scheduler_total_count", 1.into()),
        ("sqlserver_start_time_ms_ticks", now_ms.saturating_sub(running_ms).into()),
        ("sqlserver_start_time", start.into()),
        ("affinity_type", 2.into()),
        ("affinity_type_desc", "AUTO".into()),
        ("time_source_desc", "QUERY_PERFORMANCE_COUNTER".into()),
        ("virtual_machine_type_desc", "NONE".into()),
        ("softnuma_configuration_desc", "OFF".into()),
        ("sql_memory_model", 1.into()),
        ("sql_memory_model_desc", "CONVENTIONAL".into()),
        ("socket_count", 1.into()),
        ("cores_per_socket", processors.into()),
        ("numa_node_count", 1.into()),
        ("container_type_desc", "NONE".into()),
    ]);
    Ok(())
}

fn host_info(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    context.row(&[
        ("host_platform", "Linux".into()),
        ("host_distribution", "Linux".into()),
        ("os_language_version", 0.into()),
        ("host_architecture", "X64".into()),
    ]);
    Ok(())
}
