//! The query store's views: `sys.query_store_*` and `sys.database_query_store_options`.
//!
//! Times are in microseconds, reads in pages of 8 KB, as documented. Columns of what is not measured are NULL.

use plan_ir::measure::Measure;
use plan_ir::query_store::{StoredQueries, StoredRuns};
use plan_ir::view::{Cell, SystemView, ViewContext};
use types::{SqlError, SqlType, Value};

type Context<'a, 'b, 'c> = &'a mut ViewContext<'b, 'c>;

pub(super) static VIEWS: &[SystemView] = &[
    SystemView::new(
        "query_store_query_text",
        "query_text_id bigint not null, query_sql_text nvarchar, statement_sql_handle varbinary(64), \
         is_part_of_encrypted_module bit not null, has_restricted_text bit not null",
        texts,
    ),
    SystemView::new(
        "query_store_query",
        "query_id bigint not null, query_text_id bigint not null, context_settings_id bigint, object_id bigint, \
         batch_sql_handle varbinary(64), query_hash binary(8) not null, is_internal_query bit not null, \
         query_parameterization_type tinyint not null, query_parameterization_type_desc nvarchar(60), \
         initial_compile_start_time datetimeoffset not null, last_compile_start_time datetimeoffset, \
         last_execution_time datetimeoffset, last_compile_batch_sql_handle varbinary(64), last_compile_batch_offset_start bigint, \
         last_compile_batch_offset_end bigint, count_compiles bigint, avg_compile_duration float, last_compile_duration bigint, \
         avg_bind_duration float, last_bind_duration bigint, avg_bind_cpu_time float, last_bind_cpu_time bigint, \
         avg_optimize_duration float, last_optimize_duration bigint, avg_optimize_cpu_time float, last_optimize_cpu_time bigint, \
         avg_compile_memory_kb float, last_compile_memory_kb bigint, max_compile_memory_kb bigint, is_clouddb_internal_query bit",
        queries,
    ),
    SystemView::new(
        "query_store_plan",
        "plan_id bigint not null, query_id bigint not null, plan_group_id bigint, engine_version nvarchar(32), \
         compatibility_level smallint not null, query_plan_hash binary(8) not null, query_plan nvarchar, \
         is_online_index_plan bit not null, is_trivial_plan bit not null, is_parallel_plan bit not null, is_forced_plan bit not null, \
         is_natively_compiled bit not null, force_failure_count bigint not null, last_force_failure_reason int not null, \
         last_force_failure_reason_desc nvarchar(128), count_compiles bigint, initial_compile_start_time datetimeoffset not null, \
         last_compile_start_time datetimeoffset, last_execution_time datetimeoffset, avg_compile_duration float, \
         last_compile_duration bigint, plan_forcing_type int not null, plan_forcing_type_desc nvarchar(60)",
        plans,
    ),
    SystemView::new(
        "query_store_runtime_stats_interval",
        "runtime_stats_interval_id bigint not null, start_time datetimeoffset not null, end_time datetimeoffset not null, comment nvarchar",
        intervals,
    ),
    SystemView::new(
        "query_store_runtime_stats",
        "runtime_stats_id bigint not null, plan_id bigint not null, runtime_stats_interval_id bigint not null, \
         execution_type tinyint not null, execution_type_desc nvarchar(60), first_execution_time datetimeoffset not null, \
         last_execution_time datetimeoffset not null, count_executions bigint not null, \
         avg_duration float, last_duration bigint not null, min_duration bigint not null, max_duration bigint not null, stdev_duration float, \
         avg_cpu_time float, last_cpu_time bigint not null, min_cpu_time bigint not null, max_cpu_time bigint not null, stdev_cpu_time float, \
         avg_logical_io_reads float, last_logical_io_reads bigint not null, min_logical_io_reads bigint not null, \
         max_logical_io_reads bigint not null, stdev_logical_io_reads float, \
         avg_logical_io_writes float, last_logical_io_writes bigint, min_logical_io_writes bigint, max_logical_io_writes bigint, \
         stdev_logical_io_writes float, \
         avg_physical_io_reads float, last_physical_io_reads bigint not null, min_physical_io_reads bigint not null, \
         max_physical_io_reads bigint not null, stdev_physical_io_reads float, \
         avg_clr_time float, last_clr_time bigint not null, min_clr_time bigint not null, max_clr_time bigint not null, stdev_clr_time float, \
         avg_dop float, last_dop bigint not null, min_dop bigint not null, max_dop bigint not null, stdev_dop float, \
         avg_query_max_used_memory float, last_query_max_used_memory bigint, min_query_max_used_memory bigint, \
         max_query_max_used_memory bigint, stdev_query_max_used_memory float, \
         avg_rowcount float, last_rowcount bigint not null, min_rowcount bigint not null, max_rowcount bigint not null, stdev_rowcount float, \
         avg_num_physical_io_reads float, last_num_physical_io_reads bigint, min_num_physical_io_reads bigint, \
         max_num_physical_io_reads bigint, stdev_num_physical_io_reads float, \
         avg_log_bytes_used float, last_log_bytes_used bigint, min_log_bytes_used bigint, max_log_bytes_used bigint, \
         stdev_log_bytes_used float, \
         avg_tempdb_space_used float, last_tempdb_space_used bigint, min_tempdb_space_used bigint, max_tempdb_space_used bigint, \
         stdev_tempdb_space_used float",
        runtime_stats,
    ),
    SystemView::new(
        "database_query_store_options",
        "desired_state smallint not null, desired_state_desc nvarchar(60), actual_state smallint not null, actual_state_desc nvarchar(60), \
         readonly_reason int, current_storage_size_mb bigint, flush_interval_seconds bigint, interval_length_minutes bigint, \
         max_storage_size_mb bigint, stale_query_threshold_days bigint, max_plans_per_query bigint, query_capture_mode smallint not null, \
         query_capture_mode_desc nvarchar(60), capture_policy_execution_count int, capture_policy_total_compile_cpu_time_ms bigint, \
         capture_policy_total_execution_cpu_time_ms bigint, capture_policy_stale_threshold_hours int, \
         size_based_cleanup_mode smallint not null, size_based_cleanup_mode_desc nvarchar(60), wait_stats_capture_mode smallint not null, \
         wait_stats_capture_mode_desc nvarchar(60), actual_state_additional_info nvarchar(4000)",
        options,
    ),
];

/// The value of `readonly_reason` when the store is full (documented).
const FULL: i32 = 65536;

fn stored(context: &ViewContext<'_, '_>) -> StoredQueries {
    context.runtime.state.stored_queries(context.database.incarnation())
}

/// A datetimeoffset of 100 ns ticks since 0001-01-01, in UTC.
fn moment(ticks: u64) -> Cell {
    let moment = types::datetime::Moment::from_ticks(ticks as i64);
    moment.and_then(|moment| moment.to_value(&SqlType::DateTimeOffset(7))).map_or(Cell::Null, Cell::from)
}

fn number(hash: u64) -> Value {
    Value::binary(&hash.to_be_bytes())
}

fn texts(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for one in &stored(context).texts {
        let cells = [("query_text_id", one.id.into()), ("query_sql_text", one.text.to_string().into())];
        context.row(&cells);
    }
    Ok(())
}

fn queries(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let stored = stored(context);
    for one in &stored.queries {
        let text = stored.texts.iter().find(|text| text.id == one.text_id).map_or("", |text| &text.text);
        let (parameters, desc) = if one.has_parameters { (1, "User") } else { (0, "None") };
        context.row(&[
            ("query_id", one.id.into()),
            ("query_text_id", one.text_id.into()),
            ("object_id", one.object_id.into()),
            ("query_hash", number(plan_ir::hashes::query_hash(text)).into()),
            ("query_parameterization_type", parameters.into()),
            ("query_parameterization_type_desc", desc.into()),
            ("initial_compile_start_time", moment(one.first_ticks)),
            ("last_compile_start_time", moment(one.compiled_ticks)),
            ("last_execution_time", moment(one.last_ticks)),
            ("count_compiles", one.compiles.into()),
            ("is_clouddb_internal_query", false.into()),
        ]);
    }
    Ok(())
}

fn plans(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for one in &stored(context).plans {
        context.row(&[
            ("plan_id", one.id.into()),
            ("query_id", one.query_id.into()),
            ("compatibility_level", i32::from(one.compatibility_level).into()),
            ("query_plan_hash", number(one.plan_hash).into()),
            ("query_plan", one.document.to_string().into()),
            ("last_force_failure_reason_desc", "NONE".into()),
            ("count_compiles", one.compiles.into()),
            ("initial_compile_start_time", moment(one.first_ticks)),
            ("last_compile_start_time", moment(one.compiled_ticks)),
            ("last_execution_time", moment(one.last_ticks)),
            ("plan_forcing_type_desc", "NONE".into()),
        ]);
    }
    Ok(())
}

fn intervals(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for one in &stored(context).intervals {
        context.row(&[
            ("runtime_stats_interval_id", one.id.into()),
            ("start_time", moment(one.start_ticks)),
            ("end_time", moment(one.end_ticks)),
        ]);
    }
    Ok(())
}

fn runtime_stats(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for one in &stored(context).runs {
        let cells = cells_of(one);
        context.row(&cells);
    }
    Ok(())
}

fn cells_of(one: &StoredRuns) -> Vec<(&'static str, Cell)> {
    let runs = &one.runs;
    let mut cells = vec![
        ("runtime_stats_id", one.id.into()),
        ("plan_id", one.plan_id.into()),
        ("runtime_stats_interval_id", one.interval_id.into()),
        ("execution_type_desc", "Regular".into()),
        ("first_execution_time", moment(one.first_ticks)),
        ("last_execution_time", moment(runs.last_ticks)),
        ("count_executions", runs.executions.into()),
        ("avg_clr_time", Value::Float(0.0).into()),
        // A statement runs on one thread.
        ("avg_dop", Value::Float(1.0).into()),
        ("last_dop", 1.into()),
        ("min_dop", 1.into()),
        ("max_dop", 1.into()),
    ];
    let mut show = |names: [&'static str; 4], measure: &Measure, unit: u64| {
        let average = measure.total as f64 / unit as f64 / runs.executions.max(1) as f64;
        cells.push((names[0], Value::Float(average).into()));
        let others = [measure.last, measure.minimum.unwrap_or(0), measure.maximum];
        cells.extend(names[1..].iter().zip(others).map(|(name, amount)| (*name, Cell::from(amount / unit))));
    };
    show(["avg_duration", "last_duration", "min_duration", "max_duration"], &runs.elapsed_ns, 1000);
    show(["avg_cpu_time", "last_cpu_time", "min_cpu_time", "max_cpu_time"], &runs.working_ns, 1000);
    show(["avg_rowcount", "last_rowcount", "min_rowcount", "max_rowcount"], &runs.rows, 1);
    let logical =
        ["avg_logical_io_reads", "last_logical_io_reads", "min_logical_io_reads", "max_logical_io_reads"];
    show(logical, &runs.logical_reads, 1);
    let physical =
        ["avg_physical_io_reads", "last_physical_io_reads", "min_physical_io_reads", "max_physical_io_reads"];
    show(physical, &runs.physical_reads, 1);
    cells
}

fn options(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let stored = stored(context);
    let settings = &stored.settings;
    let is_on = context.database.keeps_query_store();
    let state = |is_read_only: bool| match (is_on, is_read_only) {
        (false, _) => (0, "OFF"),
        (true, true) => (1, "READ_ONLY"),
        (true, false) => (2, "READ_WRITE"),
    };
    let (desired, actual) = (state(settings.is_read_only), state(settings.is_read_only || stored.is_full));
    let reason = if is_on && stored.is_full { FULL } else { 0 };
    let capture = if settings.takes_new_queries { (1, "ALL") } else { (3, "NONE") };
    let cleanup = if settings.cleans_up { (1, "AUTO") } else { (0, "OFF") };
    context.row(&[
        ("desired_state", desired.0.into()),
        ("desired_state_desc", desired.1.into()),
        ("actual_state", actual.0.into()),
        ("actual_state_desc", actual.1.into()),
        ("readonly_reason", reason.into()),
        ("current_storage_size_mb", stored.bytes.div_ceil(1 << 20).into()),
        ("interval_length_minutes", u64::from(settings.interval_minutes).into()),
        ("max_storage_size_mb", (settings.bytes_max >> 20).into()),
        ("max_plans_per_query", u64::from(settings.plans_max).into()),
        ("query_capture_mode", capture.0.into()),
        ("query_capture_mode_desc", capture.1.into()),
        ("size_based_cleanup_mode", cleanup.0.into()),
        ("size_based_cleanup_mode_desc", cleanup.1.into()),
        ("wait_stats_capture_mode_desc", "OFF".into()),
        ("actual_state_additional_info", "".into()),
    ]);
    Ok(())
}
