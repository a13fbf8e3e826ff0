//! Tables of msdb that tools read while they show databases, jobs and backups. There are no agent and no BACKUP here, so alerts, operators,
//! backups and policies cannot be created and their tables are empty. Jobs and schedules are stored in ordinary tables of msdb, created
//! with the first of them; those tables take precedence over the views of the same names here. Until then the views show no jobs, and
//! the categories. suspect_pages lists the damaged pages that the databases have met since they were opened.

use plan_ir::view::{SystemView, ViewContext};
use types::{SqlError, Value};

fn none(_: &mut ViewContext<'_, '_>) -> Result<(), SqlError> {
    Ok(())
}

/// A table of msdb's `dbo` without rows.
const fn table(name: &'static str, column_list: &'static str) -> SystemView {
    SystemView::new(name, column_list, none).in_schema(MSDB_SCHEMA)
}

pub(super) static VIEWS: &[SystemView] = &[
    table(
        "backupfile",
        "backup_set_id int, first_family_number tinyint, first_media_number smallint, filegroup_name nvarchar(128), \
         page_size int, file_number numeric(10,0), backed_up_page_count numeric(10,0), file_type char(1), \
         source_file_block_size numeric(10,0), file_size numeric(20,0), logical_name nvarchar(128), \
         physical_drive nvarchar(260), physical_name nvarchar(260), state tinyint, state_desc nvarchar(64), \
         create_lsn numeric(25,0), drop_lsn numeric(25,0), file_guid uniqueidentifier, read_only_lsn numeric(25,0), \
         read_write_lsn numeric(25,0), differential_base_lsn numeric(25,0), differential_base_guid uniqueidentifier, \
         backup_size numeric(20,0), filegroup_guid uniqueidentifier, is_readonly bit, is_present bit",
    ),
    table(
        "log_shipping_primary_databases",
        "primary_id uniqueidentifier, primary_database sysname, backup_directory nvarchar(500), backup_share nvarchar(500), \
         backup_retention_period int, backup_job_id uniqueidentifier, monitor_server sysname, monitor_server_security_mode bit, \
         last_backup_file nvarchar(500), last_backup_date datetime, user_specified_monitor bit, backup_compression tinyint",
    ),
    table(
        "log_shipping_secondary",
        "secondary_id uniqueidentifier, primary_server sysname, primary_database sysname, backup_source_directory nvarchar(500), \
         backup_destination_directory nvarchar(500), file_retention_period int, copy_job_id uniqueidentifier, \
         restore_job_id uniqueidentifier, monitor_server sysname, monitor_server_security_mode bit, \
         last_copied_file nvarchar(500), last_copied_date datetime",
    ),
    table(
        "log_shipping_secondary_databases",
        "secondary_database sysname, secondary_id uniqueidentifier, restore_delay int, restore_all bit, restore_mode bit, \
         disconnect_users bit, block_size int, buffer_count int, max_transfer_size int, last_restored_file nvarchar(500), \
         last_restored_date datetime",
    ),
    table(
        "log_shipping_monitor_primary",
        "primary_id uniqueidentifier, primary_server sysname, primary_database sysname, backup_threshold int, \
         threshold_alert int, threshold_alert_enabled bit, last_backup_file nvarchar(500), last_backup_date datetime, \
         last_backup_date_utc datetime, history_retention_period int",
    ),
    table(
        "log_shipping_monitor_secondary",
        "secondary_server sysname, secondary_database sysname, secondary_id uniqueidentifier, primary_server sysname, \
         primary_database sysname, restore_threshold int, threshold_alert int, threshold_alert_enabled bit, \
         last_copied_file nvarchar(500), last_copied_date datetime, last_copied_date_utc datetime, \
         last_restored_file nvarchar(500), last_restored_date datetime, last_restored_date_utc datetime, \
         last_restored_latency int, history_retention_period int",
    ),
    table(
        "sysjobs",
        "job_id uniqueidentifier not null, originating_server_id int not null, name sysname, enabled tinyint not null, description \
         nvarchar(512), start_step_id int not null, category_id int not null, owner_sid varbinary(85) not null, notify_level_eventlog \
         int not null, notify_level_email int not null, notify_level_netsend int not null, notify_level_page int not null, \
         notify_email_operator_id int not null, notify_netsend_operator_id int not null, notify_page_operator_id int not null, \
         delete_level int not null, date_created datetime not null, date_modified datetime not null, version_number int not null",
    ),
    table(
        "sysjobs_view",
        "job_id uniqueidentifier not null, originating_server nvarchar(128), name sysname, enabled tinyint not null, description \
         nvarchar(512), start_step_id int not null, category_id int not null, owner_sid varbinary(85) not null, notify_level_eventlog \
         int not null, notify_level_email int not null, notify_level_netsend int not null, notify_level_page int not null, \
         notify_email_operator_id int not null, notify_netsend_operator_id int not null, notify_page_operator_id int not null, \
         delete_level int not null, date_created datetime not null, date_modified datetime not null, version_number int not null, \
         originating_server_id int not null, master_server bit",
    ),
    table(
        "sysjobsteps",
        "job_id uniqueidentifier not null, step_id int not null, step_name sysname, subsystem nvarchar(40) not null, command nvarchar, \
         flags int not null, additional_parameters nvarchar, cmdexec_success_code int not null, on_success_action tinyint not null, \
         on_success_step_id int not null, on_fail_action tinyint not null, on_fail_step_id int not null, server nvarchar(128), \
         database_name nvarchar(128), database_user_name nvarchar(128), retry_attempts int not null, retry_interval int not null, \
         os_run_priority int not null, output_file_name nvarchar(200), last_run_outcome int not null, last_run_duration int not null, \
         last_run_retries int not null, last_run_date int not null, last_run_time int not null, proxy_id int, step_uid \
         uniqueidentifier",
    ),
    table(
        "sysjobhistory",
        "instance_id int not null, job_id uniqueidentifier not null, step_id int not null, step_name sysname, sql_message_id int not \
         null, sql_severity int not null, message nvarchar(4000), run_status int not null, run_date int not null, run_time int not \
         null, run_duration int not null, operator_id_emailed int not null, operator_id_netsent int not null, operator_id_paged int \
         not null, retries_attempted int not null, server sysname",
    ),
    table(
        "sysjobschedules",
        "schedule_id int, job_id uniqueidentifier, next_run_date int not null, next_run_time int not null",
    ),
    table(
        "sysschedules",
        "schedule_id int not null, schedule_uid uniqueidentifier not null, originating_server_id int not null, name sysname, owner_sid \
         varbinary(85) not null, enabled int not null, freq_type int not null, freq_interval int not null, freq_subday_type int not \
         null, freq_subday_interval int not null, freq_relative_interval int not null, freq_recurrence_factor int not null, \
         active_start_date int not null, active_end_date int not null, active_start_time int not null, active_end_time int not null, \
         date_created datetime not null, date_modified datetime not null, version_number int not null",
    ),
    table(
        "sysjobactivity",
        "session_id int not null, job_id uniqueidentifier not null, run_requested_date datetime, run_requested_source nvarchar(128), \
         queued_date datetime, start_execution_date datetime, last_executed_step_id int, last_executed_step_date datetime, \
         stop_execution_date datetime, job_history_id int, next_scheduled_run_date datetime",
    ),
    table(
        "sysjobservers",
        "job_id uniqueidentifier not null, server_id int not null, last_run_outcome tinyint not null, last_outcome_message \
         nvarchar(4000), last_run_date int not null, last_run_time int not null, last_run_duration int not null",
    ),
    table(
        "sysoperators",
        "id int not null, name sysname, enabled tinyint not null, email_address nvarchar(100), last_email_date int not null, \
         last_email_time int not null, pager_address nvarchar(100), last_pager_date int not null, last_pager_time int not null, \
         weekday_pager_start_time int not null, weekday_pager_end_time int not null, saturday_pager_start_time int not null, \
         saturday_pager_end_time int not null, sunday_pager_start_time int not null, sunday_pager_end_time int not null, pager_days \
         tinyint not null, netsend_address nvarchar(100), last_netsend_date int not null, last_netsend_time int not null, category_id \
         int not null",
    ),
    table(
        "sysalerts",
        "id int not null, name sysname, event_source nvarchar(100) not null, event_category_id int, event_id int, message_id int not \
         null, severity int not null, enabled tinyint not null, delay_between_responses int not null, last_occurrence_date int not \
         null, last_occurrence_time int not null, last_response_date int not null, last_response_time int not null, \
         notification_message nvarchar(512), include_event_description tinyint not null, database_name nvarchar(512), \
         event_description_keyword nvarchar(100), occurrence_count int not null, count_reset_date int not null, count_reset_time int \
         not null, job_id uniqueidentifier not null, has_notification int not null, flags int not null, performance_condition \
         nvarchar(512), category_id int not null",
    ),
    table(
        "sysproxies",
        "proxy_id int not null, name sysname, credential_id int not null, enabled tinyint not null, description nvarchar(512), \
         user_sid varbinary(85) not null, credential_date_created datetime not null",
    ),
    table(
        "backupset",
        "backup_set_id int not null, backup_set_uuid uniqueidentifier not null, media_set_id int not null, first_family_number \
         tinyint, first_media_number smallint, last_family_number tinyint, last_media_number smallint, catalog_family_number tinyint, \
         catalog_media_number smallint, position int, expiration_date datetime, software_vendor_id int, name nvarchar(128), \
         description nvarchar(255), user_name nvarchar(128), software_major_version tinyint, software_minor_version tinyint, \
         software_build_version smallint, time_zone smallint, mtf_minor_version tinyint, first_lsn numeric(25,0), last_lsn \
         numeric(25,0), checkpoint_lsn numeric(25,0), database_backup_lsn numeric(25,0), database_creation_date datetime, \
         backup_start_date datetime, backup_finish_date datetime, type char(1), sort_order smallint, code_page smallint, \
         compatibility_level tinyint, database_version int, backup_size numeric(20,0), database_name nvarchar(128), server_name \
         nvarchar(128), machine_name nvarchar(128), flags int, unicode_locale int, unicode_compare_style int, collation_name \
         nvarchar(128), is_password_protected bit, recovery_model nvarchar(60), has_bulk_logged_data bit, is_snapshot bit, is_readonly \
         bit, is_single_user bit, has_backup_checksums bit, is_damaged bit, begins_log_chain bit, has_incomplete_metadata bit, \
         is_force_offline bit, is_copy_only bit, first_recovery_fork_guid uniqueidentifier, last_recovery_fork_guid uniqueidentifier, \
         fork_point_lsn numeric(25,0), database_guid uniqueidentifier, family_guid uniqueidentifier, differential_base_lsn \
         numeric(25,0), differential_base_guid uniqueidentifier, compressed_backup_size numeric(20,0), key_algorithm nvarchar(32), \
         encryptor_thumbprint varbinary(20), encryptor_type nvarchar(32)",
    ),
    table(
        "backupmediaset",
        "media_set_id int not null, media_uuid uniqueidentifier, media_family_count tinyint, name nvarchar(128), description \
         nvarchar(255), software_name nvarchar(128), software_vendor_id int, MTF_major_version tinyint, mirror_count tinyint, \
         is_password_protected bit, is_compressed bit, is_encrypted bit",
    ),
    table(
        "backupmediafamily",
        "media_set_id int not null, family_sequence_number tinyint not null, media_family_id uniqueidentifier, media_count int, \
         logical_device_name nvarchar(128), physical_device_name nvarchar(260), device_type tinyint, physical_block_size int, mirror \
         tinyint not null",
    ),
    table(
        "restorehistory",
        "restore_history_id int not null, restore_date datetime, destination_database_name nvarchar(128), user_name nvarchar(128), \
         backup_set_id int not null, restore_type char(1), replace bit, recovery bit, restart bit, stop_at datetime, device_count \
         tinyint, stop_at_mark_name nvarchar(128), stop_before bit",
    ),
    SystemView::new(
        "suspect_pages",
        "database_id int not null, file_id int not null, page_id bigint not null, event_type int not null, error_count int not null, \
         last_update_date datetime not null",
        suspect_pages,
    )
    .in_schema(MSDB_SCHEMA),
    SystemView::new(
        "syscategories",
        "category_id int not null, category_class int not null, category_type tinyint not null, name sysname not null",
        categories,
    )
    .in_schema(MSDB_SCHEMA),
    SystemView::new("syspolicy_configuration", "name sysname, current_value sql_variant", policy_configuration)
        .in_schema(MSDB_SCHEMA),
    table(
        "syspolicy_policies",
        "policy_id int not null, name sysname, condition_id int not null, root_condition_id int, date_created datetime, execution_mode \
         int not null, policy_category_id int, schedule_uid uniqueidentifier, description nvarchar(4000), help_text nvarchar(4000), \
         help_link nvarchar(2083), object_set_id int, is_enabled bit, job_id uniqueidentifier, created_by sysname, modified_by \
         nvarchar(128), date_modified datetime, is_system bit",
    ),
    table(
        "syspolicy_conditions",
        "condition_id int not null, name sysname, date_created datetime, description nvarchar(4000), created_by sysname, modified_by \
         nvarchar(128), date_modified datetime, facet nvarchar(128), expression nvarchar(4000), is_name_condition smallint, obj_name \
         nvarchar(128), is_system bit",
    ),
    table(
        "syspolicy_policy_categories",
        "policy_category_id int not null, name sysname, mandate_database_subscriptions bit",
    ),
    table(
        "syspolicy_policy_category_subscriptions",
        "policy_category_subscription_id int not null, target_type nvarchar(128) not null, target_object sysname, policy_category_id \
         int not null",
    ),
    table(
        "syspolicy_policy_execution_history",
        "history_id bigint not null, policy_id int not null, start_date datetime not null, end_date datetime, result bit, \
         exception_message nvarchar(4000), exception nvarchar(4000)",
    ),
    table(
        "syspolicy_policy_execution_history_details",
        "detail_id bigint not null, history_id bigint not null, target_query_expression nvarchar(4000) not null, execution_date \
         datetime not null, result bit, result_detail nvarchar(4000), exception_message nvarchar(4000), exception nvarchar(4000)",
    ),
    table(
        "syspolicy_system_health_state",
        "health_state_id bigint not null, policy_id int not null, last_run_date datetime not null, target_query_expression_with_id \
         nvarchar(400) not null, target_query_expression nvarchar(4000) not null, result bit",
    ),
];

fn suspect_pages(context: &mut ViewContext<'_, '_>) -> Result<(), SqlError> {
    let instance = context.runtime.instance.clone();
    for info in instance.database_infos() {
        // A database that is not open has read no pages.
        let Ok(database) = instance.database(&info.name) else { continue };
        for suspect in database.space().suspect_pages() {
            let at = suspect.last_utc_100ns
                + i64::from(instance.os().clock().local_offset_minutes()) * 600_000_000;
            context.row(&[
                ("database_id", i64::from(info.id).into()),
                ("file_id", i64::from(super::databases::shown_file_id(&info, suspect.page.file)).into()),
                ("page_id", i64::from(suspect.page.page).into()),
                ("event_type", (suspect.event as i32).into()),
                ("error_count", i64::from(suspect.errors).into()),
                ("last_update_date", Value::DateTime(engine::date_time_of(at)).into()),
            ]);
        }
    }
    Ok(())
}

/// Policy management is off: no component would evaluate a policy.
fn policy_configuration(context: &mut ViewContext<'_, '_>) -> Result<(), SqlError> {
    for name in ["Enabled", "HistoryRetentionInDays", "LogOnSuccess"] {
        let value = plan_ir::values::variant(Value::Int(0));
        context.row(&[("name", name.into()), ("current_value", value.into())]);
    }
    Ok(())
}

/// The schema name under which msdb's tables are registered: it cannot be written in a query, since they exist in that database only.
pub(super) const MSDB_SCHEMA: &str = "msdb.dbo";

/// The predefined categories: number, class (1: of jobs, 2: of alerts, 3: of operators), type, name.
const CATEGORIES: [(i32, i32, i32, &str); 11] = [
    (0, 1, 1, "[Uncategorized (Local)]"),
    (1, 1, 1, "Jobs from MSX"),
    (2, 1, 2, "[Uncategorized (Multi-Server)]"),
    (3, 1, 1, "Database Maintenance"),
    (4, 1, 1, "Web Assistant"),
    (5, 1, 1, "Full-Text"),
    (6, 1, 1, "Log Shipping"),
    (7, 1, 1, "Database Engine Tuning Advisor"),
    (8, 1, 1, "Data Collector"),
    (98, 2, 3, "[Uncategorized]"),
    (99, 3, 3, "[Uncategorized]"),
];

fn categories(context: &mut ViewContext<'_, '_>) -> Result<(), SqlError> {
    for (id, class, kind, name) in CATEGORIES {
        context.row(&[
            ("category_id", id.into()),
            ("category_class", class.into()),
            ("category_type", kind.into()),
            ("name", name.into()),
        ]);
    }
    Ok(())
}
