//! Views of features that do not exist here (yet): clients join with them, so they have columns but no rows. Also the
//! old `master..spt_values`, which scripts use as a table of numbers.

use plan_ir::view::{SystemView, ViewContext};
use types::SqlError;

type Context<'a, 'b, 'c> = &'a mut ViewContext<'b, 'c>;

/// No rows.
pub(super) fn none(_: Context<'_, '_, '_>) -> Result<(), SqlError> {
    Ok(())
}

pub(super) static VIEWS: &[SystemView] = &[
    SystemView::new(
        "assemblies",
        "name sysname, principal_id int, assembly_id int not null, clr_name nvarchar(4000), permission_set tinyint, \
         permission_set_desc nvarchar(60), is_visible bit, create_date datetime not null, modify_date datetime not null, is_user_defined bit",
        none,
    ),
    SystemView::new(
        "xml_schema_collections",
        "xml_collection_id int not null, schema_id int not null, principal_id int, name sysname, create_date datetime not null, modify_date datetime not null",
        none,
    ),
    SystemView::new(
        "fulltext_indexes",
        "object_id int not null, unique_index_id int not null, fulltext_catalog_id int, is_enabled bit",
        none,
    ),
    SystemView::new(
        "fulltext_catalogs",
        "fulltext_catalog_id int not null, name sysname, path nvarchar(260), is_default bit",
        none,
    ),
    SystemView::new(
        "partition_functions",
        "name sysname, function_id int not null, type char(2), type_desc nvarchar(60), fanout int, boundary_value_on_right bit",
        none,
    ),
    SystemView::new(
        "partition_schemes",
        "name sysname, data_space_id int not null, type char(2), type_desc nvarchar(60), is_default bit, function_id int",
        none,
    ),
    SystemView::new(
        "certificates",
        "name sysname, certificate_id int not null, principal_id int, pvt_key_encryption_type char(2), subject nvarchar(4000), expiry_date datetime",
        none,
    ),
    SystemView::new(
        "symmetric_keys",
        "name sysname, principal_id int, symmetric_key_id int not null, key_length int not null",
        none,
    ),
    SystemView::new(
        "availability_groups",
        "group_id uniqueidentifier not null, name sysname, resource_id nvarchar(40), resource_group_id nvarchar(40), \
         failure_condition_level int, health_check_timeout int, automated_backup_preference tinyint, \
         automated_backup_preference_desc nvarchar(60), version smallint, basic_features bit, dtc_support bit, db_failover bit, \
         is_distributed bit, cluster_type tinyint, cluster_type_desc nvarchar(60), \
         required_synchronized_secondaries_to_commit int, sequence_number bigint, is_contained bit",
        none,
    ),
    SystemView::new(
        "availability_replicas",
        "replica_id uniqueidentifier, group_id uniqueidentifier, replica_metadata_id int, replica_server_name nvarchar(256), \
         owner_sid varbinary(85), endpoint_url nvarchar(128), availability_mode tinyint, availability_mode_desc nvarchar(60), \
         failover_mode tinyint, failover_mode_desc nvarchar(60), session_timeout int, primary_role_allow_connections tinyint, \
         primary_role_allow_connections_desc nvarchar(60), secondary_role_allow_connections tinyint, \
         secondary_role_allow_connections_desc nvarchar(60), create_date datetime, modify_date datetime, backup_priority int, \
         read_only_routing_url nvarchar(256), seeding_mode tinyint, seeding_mode_desc nvarchar(60), \
         read_write_routing_url nvarchar(256)",
        none,
    ),
    SystemView::new(
        "dm_hadr_database_replica_states",
        "database_id int not null, group_id uniqueidentifier, replica_id uniqueidentifier, group_database_id uniqueidentifier, \
         is_local bit, is_primary_replica bit, synchronization_state tinyint, synchronization_state_desc nvarchar(60), \
         is_commit_participant bit, synchronization_health tinyint, synchronization_health_desc nvarchar(60), \
         database_state tinyint, database_state_desc nvarchar(60), is_suspended bit, suspend_reason tinyint, \
         suspend_reason_desc nvarchar(60), recovery_lsn numeric(25,0), truncation_lsn numeric(25,0), \
         last_sent_lsn numeric(25,0), last_sent_time datetime, last_received_lsn numeric(25,0), last_received_time datetime, \
         last_hardened_lsn numeric(25,0), last_hardened_time datetime, last_redone_lsn numeric(25,0), \
         last_redone_time datetime, log_send_queue_size bigint, log_send_rate bigint, redo_queue_size bigint, redo_rate bigint, \
         filestream_send_rate bigint, end_of_log_lsn numeric(25,0), last_commit_lsn numeric(25,0), last_commit_time datetime, \
         low_water_mark_for_ghosts bigint, secondary_lag_seconds bigint",
        none,
    ),
    SystemView::new(
        "dm_hadr_availability_replica_states",
        "replica_id uniqueidentifier, group_id uniqueidentifier, is_local bit, role tinyint, role_desc nvarchar(60), \
         operational_state tinyint, operational_state_desc nvarchar(60), recovery_health tinyint, \
         recovery_health_desc nvarchar(60), synchronization_health tinyint, synchronization_health_desc nvarchar(60), \
         connected_state tinyint, connected_state_desc nvarchar(60), last_connect_error_number int, \
         last_connect_error_description nvarchar(1024), last_connect_error_timestamp datetime",
        none,
    ),
    SystemView::new(
        "dm_hadr_availability_group_states",
        "group_id uniqueidentifier, primary_replica varchar(128), primary_recovery_health tinyint, \
         primary_recovery_health_desc nvarchar(60), secondary_recovery_health tinyint, \
         secondary_recovery_health_desc nvarchar(60), synchronization_health tinyint, synchronization_health_desc nvarchar(60)",
        none,
    ),
    SystemView::new(
        "dm_hadr_database_replica_cluster_states",
        "replica_id uniqueidentifier, group_database_id uniqueidentifier, database_name sysname, is_failover_ready bit, \
         is_pending_secondary_suspend bit, is_database_joined bit, recovery_lsn numeric(25,0), truncation_lsn numeric(25,0)",
        none,
    ),
    SystemView::new(
        "credentials",
        "credential_id int not null, name sysname, credential_identity nvarchar(4000), create_date datetime not null, \
         modify_date datetime not null, target_type nvarchar(100), target_id int",
        none,
    ),
    SystemView::new(
        "database_scoped_credentials",
        "credential_id int not null, name sysname, principal_id int, credential_identity nvarchar(4000), create_date datetime not null, \
         modify_date datetime not null, target_type nvarchar(100), target_id int",
        none,
    ),
    SystemView::new(
        "linked_logins",
        "server_id int not null, local_principal_id int, uses_self_credential bit, remote_name nvarchar(128), modify_date datetime not null",
        none,
    ),
    SystemView::new(
        "remote_logins",
        "server_id int not null, remote_name nvarchar(128), local_principal_id int, modify_date datetime not null",
        none,
    ),
    SystemView::new(
        "asymmetric_keys",
        "name sysname, principal_id int, asymmetric_key_id int not null, pvt_key_encryption_type char(2), \
         pvt_key_encryption_type_desc nvarchar(60), thumbprint varbinary(32), algorithm char(2), algorithm_desc nvarchar(60), key_length int, \
         sid varbinary(85), string_sid nvarchar(128), public_key varbinary, attested_by nvarchar(260), provider_type nvarchar(120), \
         cryptographic_provider_guid uniqueidentifier, cryptographic_provider_algid sql_variant",
        none,
    ),
    SystemView::new(
        "server_triggers",
        "name sysname, object_id int not null, parent_class tinyint not null, parent_class_desc nvarchar(60), parent_id int not null, \
         type char(2), type_desc nvarchar(60), create_date datetime not null, modify_date datetime not null, is_ms_shipped bit, is_disabled bit",
        none,
    ),
    SystemView::new(
        "server_audits",
        "audit_id int not null, name sysname, audit_guid uniqueidentifier, create_date datetime not null, modify_date datetime not null, \
         principal_id int, type char(2) not null, type_desc nvarchar(60), on_failure tinyint, on_failure_desc nvarchar(60), \
         is_state_enabled bit, queue_delay int, predicate nvarchar(3000), is_operator_audit bit",
        none,
    ),
    SystemView::new(
        "backup_devices",
        "name sysname, type tinyint, type_desc nvarchar(60), physical_name nvarchar(260)",
        none,
    ),
    SystemView::new(
        "destination_data_spaces",
        "partition_scheme_id int not null, destination_id int not null, data_space_id int not null",
        none,
    ),
    SystemView::new(
        "partition_range_values",
        "function_id int not null, boundary_id int not null, parameter_id int not null, value sql_variant",
        none,
    ),
    SystemView::new(
        "partition_parameters",
        "function_id int not null, parameter_id int not null, system_type_id tinyint not null, max_length smallint not null, \
         precision tinyint not null, scale tinyint not null, collation_name nvarchar(128), user_type_id int not null",
        none,
    ),
    SystemView::new(
        "xml_schema_namespaces",
        "xml_collection_id int not null, name nvarchar(4000) not null, xml_namespace_id int not null",
        none,
    ),
    SystemView::new(
        "change_tracking_databases",
        "database_id int not null, is_auto_cleanup_on bit, retention_period int, retention_period_units tinyint, \
         retention_period_units_desc nvarchar(60), max_cleanup_version bigint",
        none,
    ),
    SystemView::new(
        "change_tracking_tables",
        "object_id int not null, is_track_columns_updated_on bit, min_valid_version bigint, begin_version bigint, cleanup_version bigint",
        none,
    ),
    SystemView::new(
        "periods",
        "name sysname, period_type tinyint, period_type_desc nvarchar(60), object_id int not null, start_column_id int not null, \
         end_column_id int not null",
        none,
    ),
    SystemView::new(
        "column_master_keys",
        "name sysname, column_master_key_id int not null, create_date datetime not null, modify_date datetime not null, \
         key_store_provider_name nvarchar(128), key_path nvarchar(4000), allow_enclave_computations bit, signature varbinary",
        none,
    ),
    SystemView::new(
        "numbered_procedures",
        "object_id int not null, procedure_number smallint, definition nvarchar",
        none,
    ),
    SystemView::new(
        "external_data_sources",
        "data_source_id int not null, name sysname, location nvarchar(4000) not null, type_desc nvarchar(255), type tinyint not null, \
         resource_manager_location nvarchar(4000), credential_id int not null, database_name nvarchar(128), shard_map_name nvarchar(128), \
         connection_options nvarchar(4000), pushdown nvarchar(256)",
        none,
    ),
    SystemView::new("fn_helpcollations", "name sysname, description nvarchar(1000)", collations)
        .with_parameters(0),
    SystemView::new(
        "spt_values",
        "name nvarchar(35), number int not null, type nchar(3) not null, low int, high int, status int",
        spt_values,
    )
    .in_schema("dbo"),
];

/// The numbers 0..2047 of type P, the only part that scripts commonly use.
fn spt_values(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    for number in 0..2048i32 {
        context.row(&[
            ("number", number.into()),
            ("type", "P".into()),
            ("low", (number / 8 + 1).into()),
            ("high", (1 << (number % 8)).into()),
            ("status", 0.into()),
        ]);
    }
    Ok(())
}

fn collations(context: Context<'_, '_, '_>) -> Result<(), SqlError> {
    let mut id = 0;
    while let Some(collation) = types::Collation::by_id(id) {
        context.row(&[
            ("name", collation.name().into()),
            ("description", collation.info().description().into()),
        ]);
        id += 1;
    }
    Ok(())
}
