//! `sys.databases`, files, the log, and other views of the engine's databases.

use std::sync::Arc;

use engine::{Database, DatabaseInfo, Instance};
use plan_ir::view::{Cell, SystemView, ViewContext};
use types::{SqlError, SqlType, Value};

type Context<'a, 'b, 'c> = &'a mut ViewContext<'b, 'c>;

const FILE_COLUMNS: &str = "file_id int not null, file_guid uniqueidentifier, type tinyint not null, type_desc nvarchar(60), \
     data_space_id int not null, name sysname, physical_name nvarchar(260), state tinyint, state_desc nvarchar(60), size int not null, \
     max_size int not null, growth int not null, is_media_read_only bit, is_read_only bit, is_sparse bit, is_percent_growth bit, \
     is_name_reserved bit, is_persistent_log_buffer bit, create_lsn numeric(25,0), drop_lsn numeric(25,0), read_only_lsn numeric(25,0), \
     read_write_lsn numeric(25,0), differential_base_lsn numeric(25,0), differential_base_guid uniqueidentifier, \
     differential_base_time datetime, redo_start_lsn numeric(25,0), redo_start_fork_guid uniqueidentifier, \
     redo_target_lsn numeric(25,0), redo_target_fork_guid uniqueidentifier, backup_lsn numeric(25,0)";

const MASTER_FILE_COLUMNS: &str = "database_id int not null, file_id int not null, file_guid uniqueidentifier, type tinyint not null, \
     type_desc nvarchar(60), data_space_id int not null, name sysname, physical_name nvarchar(260) not null, state tinyint, \
     state_desc nvarchar(60), size int not null, max_size int not null, growth int not null, is_media_read_only bit, is_read_only bit, \
     is_sparse bit, is_percent_growth bit, is_name_reserved bit, is_persistent_log_buffer bit, create_lsn numeric(25,0), \
     drop_lsn numeric(25,0), read_only_lsn numeric(25,0), read_write_lsn numeric(25,0), differential_base_lsn numeric(25,0), \
     differential_base_guid uniqueidentifier, differential_base_time datetime, redo_start_lsn numeric(25,0), \
     redo_start_fork_guid uniqueidentifier, redo_target_lsn numeric(25,0), redo_target_fork_guid uniqueidentifier, \
     backup_lsn numeric(25,0), credential_id int";

pub(super) static VIEWS: &[SystemView] = &[
    SystemView::new(
        "databases",
        "name sysname, database_id int not null, source_database_id int, owner_sid varbinary(85), create_date datetime not null, \
         compatibility_level tinyint not null, collation_name nvarchar(128), user_access tinyint, user_access_desc nvarchar(60), \
         is_read_only bit, is_auto_close_on bit, is_auto_shrink_on bit, state tinyint, state_desc nvarchar(60), is_in_standby bit, \
         is_cleanly_shutdown bit, is_supplemental_logging_enabled bit, snapshot_isolation_state tinyint, \
         snapshot_isolation_state_desc nvarchar(60), is_read_committed_snapshot_on bit, recovery_model tinyint, \
         recovery_model_desc nvarchar(60), page_verify_option tinyint, page_verify_option_desc nvarchar(60), \
         is_auto_create_stats_on bit, is_auto_create_stats_incremental_on bit, is_auto_update_stats_on bit, \
         is_auto_update_stats_async_on bit, is_ansi_null_default_on bit, is_ansi_nulls_on bit, is_ansi_padding_on bit, \
         is_ansi_warnings_on bit, is_arithabort_on bit, is_concat_null_yields_null_on bit, is_numeric_roundabort_on bit, \
         is_quoted_identifier_on bit, is_recursive_triggers_on bit, is_cursor_close_on_commit_on bit, is_local_cursor_default bit, \
         is_fulltext_enabled bit, is_trustworthy_on bit, is_db_chaining_on bit, is_parameterization_forced bit, \
         is_master_key_encrypted_by_server bit, is_query_store_on bit, is_published bit, is_subscribed bit, is_merge_published bit, \
         is_distributor bit, is_sync_with_backup bit, service_broker_guid uniqueidentifier, is_broker_enabled bit, \
         log_reuse_wait tinyint, log_reuse_wait_desc nvarchar(60), is_date_correlation_on bit, is_cdc_enabled bit, is_encrypted bit, \
         is_honor_broker_priority_on bit, replica_id uniqueidentifier, group_database_id uniqueidentifier, resource_pool_id int, \
         default_language_lcid smallint, default_language_name nvarchar(128), default_fulltext_language_lcid int, \
         default_fulltext_language_name nvarchar(128), is_nested_triggers_on bit, is_transform_noise_words_on bit, \
         two_digit_year_cutoff smallint, containment tinyint, containment_desc nvarchar(60), target_recovery_time_in_seconds int, \
         delayed_durability int, delayed_durability_desc nvarchar(60), is_memory_optimized_elevate_to_snapshot_on bit, \
         is_federation_member bit, is_remote_data_archive_enabled bit, is_mixed_page_allocation_on bit, \
         is_temporal_history_retention_enabled bit, catalog_collation_type int, catalog_collation_type_desc nvarchar(60), \
         physical_database_name nvarchar(128), is_result_set_caching_on bit, is_accelerated_database_recovery_on bit, \
         is_tempdb_spill_to_remote_store bit, is_stale_page_detection_on bit, is_memory_optimized_enabled bit, is_data_retention_enabled bit, \
         is_ledger_on bit, is_change_feed_enabled bit",
        databases,
    ),
    SystemView::new(
        "database_scoped_configurations",
        "configuration_id int not null, name nvarchar(60), value sql_variant, value_for_secondary sql_variant, is_value_default bit",
        scoped_configurations,
    ),
    SystemView::new("database_files", FILE_COLUMNS, |context| files(context, false)),
    SystemView::new("master_files", MASTER_FILE_COLUMNS, |context| files(context, true)),
    SystemView::new(
        "filegroups",
        "name sysname, data_space_id int not null, type char(2) not null, type_desc nvarchar(60), is_default bit, is_system bit, \
         filegroup_guid uniqueidentifier, log_filegroup_id int, is_read_only bit, is_autogrow_all_files bit",
        filegroups,
    ),
    SystemView::new(
        "data_spaces",
        "name sysname, data_space_id int not null, type char(2) not null, type_desc nvarchar(60), is_default bit, is_system bit",
        filegroups,
    ),
    SystemView::new(
        "sysdatabases",
        "name sysname, dbid smallint, sid varbinary(85), mode smallint, status int, status2 int, crdate datetime not null, reserved datetime, \
         category int, cmptlevel tinyint not null, filename nvarchar(260), version smallint",
        sys_databases,
    ),
    SystemView::new(
        "dm_io_virtual_file_stats",
        "database_id smallint not null, file_id smallint not null, sample_ms bigint not null, num_of_reads bigint not null, \
         num_of_bytes_read bigint not null, io_stall_read_ms bigint not null, io_stall_queued_read_ms bigint not null, \
         num_of_writes bigint not null, num_of_bytes_written bigint not null, io_stall_write_ms bigint not null, \
         io_stall_queued_write_ms bigint not null, io_stall bigint not null, size_on_disk_bytes bigint not null, file_handle varbinary(8) not null",
        virtual_file_stats,
    )
    .with_parameters(2),
    SystemView::new(
        "dm_db_log_info",
        "database_id int not null, file_id smallint not null, vlf_begin_offset bigint not null, vlf_size_mb float not null, \
         vlf_sequence_number bigint not null, vlf_active bit, vlf_status int not null, vlf_parity tinyint not null, \
         vlf_first_lsn nvarchar(24), vlf_create_lsn nvarchar(24), vlf_encryptor_thumbprint varbinary(20)",
        super::logs::log_info,
    )
    .with_parameters(1),
    SystemView::new(
        "dm_db_log_limits",
        "database_id int not null, log_limits nvarchar(60) not null, outstanding_ios_max int not null, outstanding_kb_max bigint, \
         outstanding_ios int not null, outstanding_kb bigint not null, highest_outstanding_ios int not null, \
         highest_outstanding_kb bigint not null, ios_limit_reached_count bigint not null, ios_limit_reached_ms bigint not null, \
         kb_limit_reached_count bigint not null, kb_limit_reached_ms bigint not null",
        super::logs::log_limits,
    ),
    SystemView::new(
        "dm_db_persistent_log_buffer",
        "database_id int not null, physical_name nvarchar(260) not null, is_dax bit not null, persisted_lsn nvarchar(24) not null, \
         file_hardened_lsn nvarchar(24) not null, copy_count bigint not null, copied_bytes bigint not null",
        persistent_log_buffers,
    ),
    SystemView::new(
        "dm_db_log_limit_sessions",
        "database_id int not null, session_id smallint, ios_limit_met_count bigint not null, ios_limit_met_ms bigint not null, \
         kb_limit_met_count bigint not null, kb_limit_met_ms bigint not null",
        super::logs::log_limit_sessions,
    ),
    SystemView::new(
        "dm_db_loss_window",
        "database_id int not null, delayed_flush nvarchar(60) not null, flush_interval_ms int, max_delay_ms bigint, max_loss_kb float, \
         commits_at_risk bigint not null, bytes_at_risk bigint not null, ms_at_risk bigint not null, \
         highest_commits_at_risk bigint not null, highest_bytes_at_risk bigint not null, highest_ms_at_risk bigint not null, \
         delayed_commit_count bigint not null, bound_wait_count bigint not null, \
         process_death_commits bigint not null, process_death_bytes bigint not null, planned_stop_commits bigint not null, \
         planned_stop_bytes bigint not null, power_loss_commits bigint not null, power_loss_bytes bigint not null, \
         log_cache_outlives_process bit not null",
        loss_window,
    ),
    SystemView::new(
        "dm_db_log_stats",
        "database_id int not null, recovery_model nvarchar(60), log_min_lsn nvarchar(24), log_end_lsn nvarchar(24), \
         current_vlf_sequence_number bigint, current_vlf_size_mb float, total_vlf_count bigint, total_log_size_mb float, \
         active_vlf_count bigint, active_log_size_mb float, log_truncation_holdup_reason nvarchar(60), log_backup_time datetime, \
         log_backup_lsn nvarchar(24), log_since_last_log_backup_mb float, log_checkpoint_lsn nvarchar(24), \
         log_since_last_checkpoint_mb float, log_recovery_lsn nvarchar(24), log_recovery_size_mb float, recovery_vlf_count bigint",
        super::logs::log_stats,
    )
    .with_parameters(1),
    SystemView::new(
        "dm_db_log_file_vlfs",
        "RecoveryUnitId int not null, FileId int not null, FileSize bigint not null, StartOffset bigint not null, FSeqNo int not null, \
         Status tinyint not null, Parity tinyint not null, CreateLSN numeric(25,0) not null",
        super::logs::log_file_vlfs,
    )
    .with_parameters(1),
    SystemView::new(
        "dm_db_log_holders",
        "database_id int not null, log_reuse_wait int not null, log_reuse_wait_desc nvarchar(60) not null, \
         holder nvarchar(128) not null, is_lowest bit not null, held_from_lsn nvarchar(24) not null, vlf_sequence_number bigint not null, \
         session_id int, transaction_id bigint, transaction_begin_time datetime",
        super::logs::log_holders,
    ),
    SystemView::new(
        "dm_db_log_space_usage",
        "database_id smallint not null, total_log_size_in_bytes bigint not null, used_log_space_in_bytes bigint not null, \
         used_log_space_in_percent real not null, log_space_in_bytes_since_last_backup bigint not null",
        super::logs::log_space,
    ),
    SystemView::new(
        "dm_db_file_space_usage",
        "database_id int, file_id smallint, filegroup_id smallint, total_page_count bigint, allocated_extent_page_count bigint, \
         unallocated_extent_page_count bigint, version_store_reserved_page_count bigint, user_object_reserved_page_count bigint, \
         internal_object_reserved_page_count bigint, mixed_extent_page_count bigint, modified_extent_page_count bigint",
        file_space,
    ),
];

fn databases(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for info in context.runtime.instance.database_infos() {
        let mut cells = database_cells(&info);
        if let Some(database) = &info.database {
            let wait = database.log().reuse_wait();
            cells.extend([
                ("log_reuse_wait", Cell::from(i32::from(wait.number()))),
                ("log_reuse_wait_desc", wait.name().into()),
            ]);
        }
        context.row(&cells);
    }
    Ok(())
}

fn database_cells(info: &DatabaseInfo) -> Vec<(&'static str, Cell)> {
    let options = &info.options;
    let switch = |name: &str| Cell::from(options.switches.get(name).copied().unwrap_or(false));
    // On unless said otherwise.
    let retention = options.switches.get("TEMPORAL_HISTORY_RETENTION").copied().unwrap_or(true);
    let delayed = options.delayed_durability;
    let snapshots = match &info.database {
        Some(database) => database.snapshot_state(),
        None if switch_on(options, "ALLOW_SNAPSHOT_ISOLATION") => engine::SnapshotState::On,
        None => engine::SnapshotState::Off,
    };
    vec![
        ("name", info.name.as_str().into()),
        ("database_id", i32::from(info.id).into()),
        ("owner_sid", Value::binary(&[1]).into()),
        ("create_date", Value::DateTime(info.created).into()),
        ("compatibility_level", i32::from(options.compatibility_level).into()),
        ("collation_name", types::Collation::DEFAULT.name().into()),
        ("user_access", i32::from(options.user_access).into()),
        ("user_access_desc", user_access(options).into()),
        ("is_read_only", options.read_only.into()),
        ("is_auto_close_on", switch("AUTO_CLOSE")),
        ("is_auto_shrink_on", switch("AUTO_SHRINK")),
        ("state", i32::from(info.state.number()).into()),
        ("state_desc", info.state.description().into()),
        ("snapshot_isolation_state", i32::from(snapshots as u8).into()),
        ("snapshot_isolation_state_desc", snapshots.description().into()),
        ("is_read_committed_snapshot_on", switch("READ_COMMITTED_SNAPSHOT")),
        ("recovery_model", i32::from(options.recovery_model.number()).into()),
        ("recovery_model_desc", options.recovery_model.description().into()),
        ("page_verify_option", 2.into()),
        ("page_verify_option_desc", "CHECKSUM".into()),
        ("is_auto_create_stats_on", options.creates_statistics().into()),
        ("is_auto_update_stats_on", options.updates_statistics().into()),
        ("is_auto_update_stats_async_on", switch("AUTO_UPDATE_STATISTICS_ASYNC")),
        ("is_ansi_null_default_on", switch("ANSI_NULL_DEFAULT")),
        ("is_concat_null_yields_null_on", switch("CONCAT_NULL_YIELDS_NULL")),
        ("is_numeric_roundabort_on", switch("NUMERIC_ROUNDABORT")),
        ("is_cursor_close_on_commit_on", switch("CURSOR_CLOSE_ON_COMMIT")),
        ("is_local_cursor_default", switch("CURSOR_DEFAULT_LOCAL")),
        ("is_date_correlation_on", switch("DATE_CORRELATION_OPTIMIZATION")),
        ("is_ansi_nulls_on", switch("ANSI_NULLS")),
        ("is_ansi_padding_on", switch("ANSI_PADDING")),
        ("is_ansi_warnings_on", switch("ANSI_WARNINGS")),
        ("is_arithabort_on", switch("ARITHABORT")),
        ("is_quoted_identifier_on", switch("QUOTED_IDENTIFIER")),
        ("is_query_store_on", switch("QUERY_STORE")),
        ("is_mixed_page_allocation_on", switch("MIXED_PAGE_ALLOCATION")),
        ("is_temporal_history_retention_enabled", retention.into()),
        ("is_recursive_triggers_on", switch("RECURSIVE_TRIGGERS")),
        ("is_trustworthy_on", switch("TRUSTWORTHY")),
        ("is_broker_enabled", switch("ENABLE_BROKER")),
        ("is_honor_broker_priority_on", switch("HONOR_BROKER_PRIORITY")),
        ("is_db_chaining_on", switch("DB_CHAINING")),
        ("log_reuse_wait", 0.into()),
        ("log_reuse_wait_desc", "NOTHING".into()),
        ("default_language_lcid", 1033.into()),
        ("default_language_name", "us_english".into()),
        ("two_digit_year_cutoff", 2049.into()),
        ("containment", 0.into()),
        ("containment_desc", "NONE".into()),
        ("target_recovery_time_in_seconds", options.target_recovery_seconds.cast_signed().into()),
        ("is_parameterization_forced", switch("PARAMETERIZATION_FORCED")),
        ("delayed_durability", (delayed as i32).into()),
        ("delayed_durability_desc", format!("{delayed:?}").to_uppercase().into()),
        ("catalog_collation_type", 0.into()),
        ("catalog_collation_type_desc", "DATABASE_DEFAULT".into()),
        ("physical_database_name", info.name.as_str().into()),
    ]
}

fn user_access(options: &engine::DatabaseOptions) -> &'static str {
    match options.user_access {
        1 => "SINGLE_USER",
        2 => "RESTRICTED_USER",
        _ => "MULTI_USER",
    }
}

fn switch_on(options: &engine::DatabaseOptions, name: &str) -> bool {
    options.switches.get(name).copied().unwrap_or(false)
}

/// A property for DATABASEPROPERTYEX.
pub(crate) fn property(database: &Arc<Database>, property: &str) -> Value {
    let options = database.options();
    let flag = |on: bool| Value::Int(i32::from(on));
    match property.to_ascii_lowercase().as_str() {
        "collation" => Value::nvarchar(types::Collation::DEFAULT.name()),
        "status" => Value::nvarchar(database.state().description()),
        "recovery" => Value::nvarchar(options.recovery_model.description()),
        "updateability" => Value::nvarchar(if options.read_only { "READ_ONLY" } else { "READ_WRITE" }),
        "useraccess" => Value::nvarchar(user_access(&options)),
        "version" => Value::Int(957),
        "lcid" => Value::Int(1033),
        "sqlsortorder" => Value::Int(52),
        "comparisonstyle" => Value::Int(196_609),
        "edition" | "serviceobjective" => Value::Null,
        "isautoclose" => flag(switch_on(&options, "AUTO_CLOSE")),
        "isautoshrink" => flag(switch_on(&options, "AUTO_SHRINK")),
        "isautocreatestatistics" => flag(options.creates_statistics()),
        "isautoupdatestatistics" => flag(options.updates_statistics()),
        "islocalcursorsdefault" => flag(switch_on(&options, "CURSOR_DEFAULT_LOCAL")),
        "isparameterizationforced" => flag(switch_on(&options, "PARAMETERIZATION_FORCED")),
        "isansinulldefault" => flag(switch_on(&options, "ANSI_NULL_DEFAULT")),
        "isnullconcat" => flag(switch_on(&options, "CONCAT_NULL_YIELDS_NULL")),
        "isnumericroundabortenabled" => flag(switch_on(&options, "NUMERIC_ROUNDABORT")),
        "isansinullsenabled" => flag(switch_on(&options, "ANSI_NULLS")),
        "isquotedidentifiersenabled" => flag(switch_on(&options, "QUOTED_IDENTIFIER")),
        "isinstandby" | "isfulltextenabled" | "ispublished" | "issubscribed" | "ismergepublished" => {
            flag(false)
        }
        _ => Value::Null,
    }
}

/// Growth of a file in automatic mode: the 64 MB by which it grows once it is large.
const AUTOMATIC_GROWTH_PAGES: i64 = 8192;

/// One file of a database, as the views show it.
struct FileRow {
    file_id: i32,
    /// File number as in page addresses or in the log.
    number: u16,
    log: bool,
    is_buffer: bool,
    name: String,
    path: String,
    /// 8 KB pages.
    size: i64,
    max_size: i64,
    /// Pages, or percent.
    growth: i64,
    is_percent_growth: bool,
    stats: [i64; 6],
    bytes: i64,
    pending: Vec<os::PendingIo>,
}

/// Reads and writes of the files of all open databases, and their total duration in ms.
pub(crate) fn io_totals(instance: &Instance) -> [i64; 3] {
    let mut totals = [0; 3];
    for info in instance.database_infos() {
        let Ok(database) = instance.database(&info.name) else { continue };
        for file in files_of(instance, &database, &info) {
            let [reads, _, read_ms, writes, _, write_ms] = file.stats;
            totals = [totals[0] + reads, totals[1] + writes, totals[2] + read_ms + write_ms];
        }
    }
    totals
}

fn files_of(instance: &Instance, database: &Arc<Database>, info: &DatabaseInfo) -> Vec<FileRow> {
    let stats = |stats: &os::FileStats| {
        let ms = |ns: u64| (ns / 1_000_000) as i64;
        [
            stats.reads_total as i64,
            stats.read_bytes_total as i64,
            ms(stats.read_stall_ns_total),
            stats.writes_total as i64,
            stats.write_bytes_total as i64,
            ms(stats.write_stall_ns_total),
        ]
    };
    let mut rows = Vec::new();
    for file in database.space().files() {
        let (growth, is_percent_growth) = match file.growth {
            engine::DataGrowth::Automatic => (AUTOMATIC_GROWTH_PAGES, false),
            engine::DataGrowth::Pages(pages) => (i64::from(pages), false),
            engine::DataGrowth::Percent(percent) => (i64::from(percent), true),
            engine::DataGrowth::Fixed => (0, false),
        };
        rows.push(FileRow {
            file_id: shown_file_id(info, file.file_id),
            number: file.file_id,
            log: false,
            is_buffer: false,
            name: file.logical_name.clone(),
            path: instance.shown_path(&file.path),
            size: i64::from(file.pages),
            max_size: if file.max_pages == 0 { -1 } else { i64::from(file.max_pages) },
            growth,
            is_percent_growth,
            stats: stats(&file.stats),
            bytes: i64::from(file.pages) * 8192,
            pending: file.pending,
        });
    }
    for file in database.log().files() {
        let (growth, is_percent_growth) = match file.growth {
            engine::Growth::None => (0, false),
            engine::Growth::Bytes(bytes) => ((bytes / 8192) as i64, false),
            engine::Growth::Percent(percent) => (i64::from(percent), true),
        };
        let noted = info.log_files.iter().find(|noted| noted.number == file.number);
        rows.push(FileRow {
            file_id: i32::from(file.number),
            number: file.number,
            log: true,
            is_buffer: false,
            name: noted.map_or_else(String::new, |noted| noted.name.clone()),
            path: instance.shown_path(&file.path),
            size: (file.size_bytes / 8192) as i64,
            max_size: (file.bytes_max / 8192) as i64,
            growth,
            is_percent_growth,
            stats: stats(&file.stats),
            bytes: file.size_bytes as i64,
            pending: file.pending,
        });
    }
    rows.extend(buffer_of(instance, database, info));
    rows.sort_by_key(|row| row.file_id);
    rows
}

/// The persisted log buffer as a file: bytes copied into it count as written.
fn buffer_of(instance: &Instance, database: &Arc<Database>, info: &DatabaseInfo) -> Option<FileRow> {
    let noted = info.log_files.iter().find(|file| file.phase == engine::FilePhase::Buffer)?;
    let buffer = database.log().persisted_buffer()?;
    let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let pages = whole(noted.bytes_max / 8192);
    Some(FileRow {
        file_id: i32::from(noted.number),
        number: noted.number,
        log: true,
        is_buffer: true,
        name: noted.name.clone(),
        path: instance.shown_path(&buffer.path),
        size: pages,
        max_size: pages,
        growth: 0,
        is_percent_growth: false,
        stats: [0, 0, 0, whole(buffer.copies_total), whole(buffer.copied_bytes_total), 0],
        bytes: pages * 8192,
        pending: Vec::new(),
    })
}

/// Hardpan's own: the persisted log buffers, how far each is ahead of its log's files, and whether it is persistent memory or, in a test, a
/// memory file system in its place.
fn persistent_log_buffers(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for info in context.runtime.instance.database_infos() {
        let Some(buffer) = info.database.as_ref().and_then(|database| database.log().persisted_buffer())
        else {
            continue;
        };
        let count = |number: u64| Value::BigInt(i64::try_from(number).unwrap_or(i64::MAX));
        context.row(&[
            ("database_id", i32::from(info.id).into()),
            ("physical_name", context.runtime.instance.shown_path(&buffer.path).into()),
            ("is_dax", buffer.is_dax.into()),
            ("persisted_lsn", buffer.persisted.to_string().into()),
            ("file_hardened_lsn", buffer.hardened_in_file.to_string().into()),
            ("copy_count", count(buffer.copies_total).into()),
            ("copied_bytes", count(buffer.copied_bytes_total).into()),
        ]);
    }
    Ok(())
}

/// A file of a database, for lookups from other crates.
pub struct DatabaseFile {
    /// `file_id`.
    pub file_id: i32,
    /// File number as in page addresses or in the log.
    pub number: u16,
    /// Logical name.
    pub name: String,
    /// Is it a log file?
    pub is_log: bool,
    /// Is it the persisted log buffer?
    pub is_buffer: bool,
    /// Where it is.
    pub path: String,
    /// Its size in 8 KB pages.
    pub size_pages: u64,
}

/// The files of a database.
pub fn database_files(instance: &Arc<Instance>, database: &Arc<Database>) -> Vec<DatabaseFile> {
    let infos = instance.database_infos();
    let info = infos.iter().find(|info| info.id == database.id());
    let files = info.map(|info| files_of(instance, database, info)).unwrap_or_default();
    let row = |file: FileRow| DatabaseFile {
        file_id: file.file_id,
        number: file.number,
        name: file.name,
        is_log: file.log,
        is_buffer: file.is_buffer,
        path: file.path,
        size_pages: file.size.cast_unsigned(),
    };
    files.into_iter().map(row).collect()
}

fn files(context: Context<'_, '_, '_>, all: bool) -> Result<(), SqlError> {
    for info in context.runtime.instance.database_infos() {
        let Some(database) = &info.database else {
            continue;
        };
        if !all && info.id != context.database.id() {
            continue;
        }
        for file in files_of(context.runtime.instance, database, &info) {
            let mut cells: Vec<(&str, Cell)> = vec![
                ("file_id", file.file_id.into()),
                ("type", i32::from(file.log).into()),
                ("type_desc", if file.log { "LOG" } else { "ROWS" }.into()),
                ("data_space_id", i32::from(!file.log).into()),
                ("name", file.name.into()),
                ("physical_name", file.path.into()),
                ("state", 0.into()),
                ("state_desc", "ONLINE".into()),
                ("size", file.size.into()),
                ("max_size", file.max_size.into()),
                ("growth", file.growth.into()),
                ("is_percent_growth", file.is_percent_growth.into()),
                ("is_persistent_log_buffer", file.is_buffer.into()),
            ];
            if all {
                cells.push(("database_id", i32::from(info.id).into()));
            }
            context.row(&cells);
        }
    }
    Ok(())
}

/// A number to join with dm_io_pending_io_requests.io_handle.
fn file_handle(database: i16, file: i32) -> Value {
    Value::binary(&((i64::from(database) << 32) | i64::from(file)).to_be_bytes())
}

fn virtual_file_stats(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let sample = context.runtime.instance.os().clock().monotonic_ns() / 1_000_000;
    let (wanted_database, wanted_file) = (context.integer_argument(0), context.integer_argument(1));
    for info in context.runtime.instance.database_infos() {
        let Some(database) = &info.database else {
            continue;
        };
        if wanted_database.is_some_and(|id| id != i64::from(info.id)) {
            continue;
        }
        for file in files_of(context.runtime.instance, database, &info) {
            if wanted_file.is_some_and(|id| id != i64::from(file.file_id)) {
                continue;
            }
            let [reads, read_bytes, read_ms, writes, write_bytes, write_ms] = file.stats;
            context.row(&[
                ("database_id", i32::from(info.id).into()),
                ("file_id", file.file_id.into()),
                ("sample_ms", sample.into()),
                ("num_of_reads", reads.into()),
                ("num_of_bytes_read", read_bytes.into()),
                ("io_stall_read_ms", read_ms.into()),
                ("num_of_writes", writes.into()),
                ("num_of_bytes_written", write_bytes.into()),
                ("io_stall_write_ms", write_ms.into()),
                ("io_stall", (read_ms + write_ms).into()),
                ("size_on_disk_bytes", file.bytes.into()),
                ("file_handle", file_handle(info.id, file.file_id).into()),
            ]);
        }
    }
    Ok(())
}

/// I/O requests that the system has not completed: of every file of every database, one row each (article 002, claims 248 to 251). No
/// request waits for a scheduler after its completion, so `io_pending` is 1 in all rows.
pub(super) fn pending_io_requests(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let now_ns = context.runtime.instance.os().clock().monotonic_ns();
    for info in context.runtime.instance.database_infos() {
        let Some(database) = &info.database else {
            continue;
        };
        for file in files_of(context.runtime.instance, database, &info) {
            let handle = file_handle(info.id, file.file_id);
            for request in &file.pending {
                let pending_ms = now_ns.saturating_sub(request.began_ns) / 1_000_000;
                context.row(&[
                    ("io_completion_request_address", Value::binary(&request.number.to_be_bytes()).into()),
                    ("io_type", "disk".into()),
                    ("io_pending_ms_ticks", (pending_ms as i64).into()),
                    ("io_pending", 1.into()),
                    ("io_handle", handle.clone().into()),
                    ("io_offset", (request.offset as i64).into()),
                    ("io_handle_path", file.path.as_str().into()),
                ]);
            }
        }
    }
    Ok(())
}

/// Hardpan's own: delayed commits that are acknowledged and not durable, their maximum since the database was opened, their limits
/// (ALTER DATABASE ... SET DELAYED_DURABILITY), and how many each kind of failure would lose now. NULL: no limit.
fn loss_window(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for info in context.runtime.instance.database_infos() {
        let Some(database) = info.database.as_ref().filter(|database| !database.is_volatile()) else {
            continue;
        };
        let options = database.options();
        let window = database.log().loss_window();
        let count = |number: u64| Value::BigInt(i64::try_from(number).unwrap_or(i64::MAX));
        let ms = |ns: u64| count(ns / 1_000_000);
        let interval_ms = match options.delayed_flush {
            engine::DelayedFlushPolicy::Timed(ms) => Value::Int(i32::try_from(ms).unwrap_or(i32::MAX)),
            _ => Value::Null,
        };
        let bounds = window.bounds;
        let at_death = if window.survives_process { engine::LossFigures::default() } else { window.now };
        context.row(&[
            ("database_id", i32::from(info.id).into()),
            ("delayed_flush", options.delayed_flush.word().into()),
            ("flush_interval_ms", interval_ms.into()),
            ("max_delay_ms", bounds.delay_ns_max.map_or(Value::Null, ms).into()),
            ("max_loss_kb", bounds.bytes_max.map_or(Value::Null, |b| Value::Float(b as f64 / 1024.0)).into()),
            ("commits_at_risk", count(window.now.commits).into()),
            ("bytes_at_risk", count(window.now.bytes).into()),
            ("ms_at_risk", ms(window.now.age_ns).into()),
            ("highest_commits_at_risk", count(window.highest.commits).into()),
            ("highest_bytes_at_risk", count(window.highest.bytes).into()),
            ("highest_ms_at_risk", ms(window.highest.age_ns).into()),
            ("delayed_commit_count", count(window.commits_total).into()),
            ("bound_wait_count", count(window.waits_total).into()),
            ("process_death_commits", count(at_death.commits).into()),
            ("process_death_bytes", count(at_death.bytes).into()),
            // An orderly stop flushes them.
            ("planned_stop_commits", count(0).into()),
            ("planned_stop_bytes", count(0).into()),
            ("power_loss_commits", count(window.now.commits).into()),
            ("power_loss_bytes", count(window.now.bytes).into()),
            ("log_cache_outlives_process", window.survives_process.into()),
        ]);
    }
    Ok(())
}

fn filegroups(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    context.row(&[
        ("name", "PRIMARY".into()),
        ("data_space_id", 1.into()),
        ("type", "FG".into()),
        ("type_desc", "ROWS_FILEGROUP".into()),
        ("is_default", true.into()),
    ]);
    Ok(())
}

fn sys_databases(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for info in context.runtime.instance.database_infos() {
        context.row(&[
            ("name", info.name.as_str().into()),
            ("dbid", i32::from(info.id).into()),
            ("sid", Value::binary(&[1]).into()),
            ("crdate", Value::DateTime(info.created).into()),
            ("cmptlevel", i32::from(info.options.compatibility_level).into()),
            ("filename", info.data_files.first().map(|file| file.path.display().to_string()).into()),
            ("status", 65_536.into()),
            ("version", 957.into()),
        ]);
    }
    Ok(())
}

/// `file_id` of the data file with this number in page addresses.
pub(super) fn shown_file_id(info: &DatabaseInfo, number: u16) -> i32 {
    let noted = info.data_files.iter().find(|file| file.number == number);
    i32::from(noted.map_or(number, |noted| noted.file_id))
}

fn file_space(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let id = i32::from(context.database.id());
    let infos = context.runtime.instance.database_infos();
    let Some(info) = infos.iter().find(|info| info.id == context.database.id()) else { return Ok(()) };
    for file in context.database.space().files() {
        let total = i64::from(file.pages);
        let used = context.database.used_pages(file.file_id)? as i64;
        context.row(&[
            ("database_id", id.into()),
            ("file_id", shown_file_id(info, file.file_id).into()),
            ("filegroup_id", 1.into()),
            ("total_page_count", total.into()),
            ("allocated_extent_page_count", used.into()),
            ("unallocated_extent_page_count", (total - used).into()),
            ("version_store_reserved_page_count", 0i64.into()),
            ("user_object_reserved_page_count", used.into()),
            ("internal_object_reserved_page_count", 0i64.into()),
            ("mixed_extent_page_count", 0i64.into()),
        ]);
    }
    Ok(())
}

/// The options that ALTER DATABASE SCOPED CONFIGURATION accepts.
fn scoped_configurations(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let is_on = context.database.options().has_identity_cache();
    let value = types::Variant { sql_type: SqlType::Bit, value: Value::Bit(is_on) };
    context.row(&[
        ("configuration_id", 6.into()),
        ("name", "IDENTITY_CACHE".into()),
        ("value", Value::Variant(std::sync::Arc::new(value)).into()),
        ("is_value_default", is_on.into()),
    ]);
    Ok(())
}
