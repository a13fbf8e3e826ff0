//! Views of features that Hardpan does not have: tools that clean or compare a schema read them all; they have no rows.
//! Columns: documentation of the views of SQL Server 2022.

use plan_ir::view::SystemView;

use super::empty::none;

const fn absent(name: &'static str, columns: &'static str) -> SystemView {
    SystemView::new(name, columns, none)
}

pub(super) static VIEWS: &[SystemView] = &[
    // Features that tie a database to an edition: compression, partitions, columnstores, encryption. None of them is available.
    absent("dm_db_persisted_sku_features", "feature_name sysname, feature_id int not null"),
    // Extended events and traces: none can be made.
    absent(
        "server_event_sessions",
        "event_session_id int not null, name sysname, event_retention_mode nchar(1), event_retention_mode_desc nvarchar(60), \
         max_dispatch_latency int, max_memory int, max_event_size int, memory_partition_mode nchar(1), \
         memory_partition_mode_desc nvarchar(60), track_causality bit, startup_state bit",
    ),
    absent(
        "dm_xe_sessions",
        "address varbinary(8) not null, name nvarchar(256) not null, pending_buffers int not null, total_regular_buffers int not null, \
         regular_buffer_size bigint not null, total_large_buffers int not null, large_buffer_size bigint not null, \
         total_buffer_size bigint not null, buffer_policy_flags int not null, buffer_policy_desc nvarchar(256) not null, \
         flags int not null, flag_desc nvarchar(256) not null, dropped_event_count int not null, dropped_buffer_count int not null, \
         blocked_event_fire_time int not null, create_time datetime not null, largest_event_dropped_size int not null, \
         session_source nvarchar(256) not null",
    ),
    absent(
        "dm_xe_session_targets",
        "event_session_address varbinary(8) not null, target_name nvarchar(60) not null, target_package_guid uniqueidentifier not null, \
         execution_count bigint not null, execution_duration_ms bigint not null, target_data nvarchar(max)",
    ),
    absent(
        "traces",
        "id int not null, status int not null, path nvarchar(260), max_size bigint, stop_time datetime, max_files int, is_rowset bit, \
         is_rollover bit, is_shutdown bit, is_default bit, buffer_count int, buffer_size int, file_position bigint, reader_spid int, \
         start_time datetime, last_event_time datetime, event_count bigint, dropped_event_count int",
    ),
    // Service Broker.
    absent(
        "service_queues",
        "name sysname, object_id int not null, principal_id int, schema_id int not null, parent_object_id int not null, type char(2), \
         type_desc nvarchar(60), create_date datetime not null, modify_date datetime not null, is_ms_shipped bit not null, \
         is_published bit not null, is_schema_published bit not null, max_readers smallint, activation_procedure nvarchar(776), \
         execute_as_principal_id int, is_activation_enabled bit not null, is_receive_enabled bit not null, is_enqueue_enabled bit not null, \
         is_retention_enabled bit not null, is_poison_message_handling_enabled bit",
    ),
    absent(
        "services",
        "name sysname, service_id int not null, principal_id int, service_queue_id int not null",
    ),
    absent("service_contracts", "name sysname, service_contract_id int not null, principal_id int"),
    absent(
        "service_message_types",
        "name sysname, message_type_id int not null, principal_id int, validation char(2) not null, validation_desc nvarchar(60), \
         xml_collection_id int",
    ),
    absent("service_contract_usages", "service_id int not null, service_contract_id int not null"),
    absent(
        "service_contract_message_usages",
        "service_contract_id int not null, message_type_id int not null, is_sent_by_initiator bit not null, is_sent_by_target bit not null",
    ),
    absent("service_queue_usages", "service_id int not null, service_queue_id int not null"),
    absent(
        "routes",
        "name sysname, route_id int not null, principal_id int, remote_service_name nvarchar(256), broker_instance nvarchar(128), \
         lifetime datetime, address nvarchar(256), mirror_address nvarchar(256)",
    ),
    absent(
        "remote_service_bindings",
        "name sysname, remote_service_binding_id int not null, principal_id int, remote_service_name nvarchar(256), \
         service_contract_id int not null, remote_principal_id int, is_anonymous_on bit not null",
    ),
    absent(
        "conversation_priorities",
        "priority_id int not null, name sysname, service_contract_id int, local_service_id int, remote_service_name nvarchar(256), \
         priority tinyint not null",
    ),
    absent(
        "conversation_groups",
        "group_id uniqueidentifier not null, service_id int not null, is_system bit",
    ),
    // Events and triggers of the server.
    absent(
        "events",
        "object_id int not null, type int not null, type_desc nvarchar(60) not null, is_trigger_event bit, event_group_type int, \
         event_group_type_desc nvarchar(60)",
    ),
    absent(
        "event_notifications",
        "name sysname, object_id int not null, parent_class tinyint not null, parent_class_desc nvarchar(60), parent_id int not null, \
         create_date datetime not null, modify_date datetime not null, service_name nvarchar(256), broker_instance nvarchar(128), \
         creator_sid varbinary(85), principal_id int",
    ),
    absent(
        "server_sql_modules",
        "object_id int not null, definition nvarchar(max), uses_ansi_nulls bit, uses_quoted_identifier bit, execute_as_principal_id int",
    ),
    // Code of the CLR.
    absent(
        "assembly_modules",
        "object_id int not null, assembly_id int not null, assembly_class nvarchar(128), assembly_method nvarchar(128), \
         null_on_null_input bit, execute_as_principal_id int",
    ),
    absent(
        "assembly_files",
        "assembly_id int not null, name nvarchar(260), file_id int not null, content varbinary(max)",
    ),
    absent("assembly_references", "assembly_id int not null, referenced_assembly_id int not null"),
    absent(
        "assembly_types",
        "name sysname, system_type_id tinyint not null, user_type_id int not null, schema_id int not null, principal_id int, \
         max_length smallint not null, precision tinyint not null, scale tinyint not null, collation_name nvarchar(128), is_nullable bit, \
         is_user_defined bit not null, is_assembly_type bit not null, default_object_id int not null, rule_object_id int not null, \
         assembly_id int not null, assembly_class nvarchar(128), is_binary_ordered bit, is_fixed_length bit, prog_id nvarchar(40), \
         assembly_qualified_name nvarchar(4000), is_table_type bit not null",
    ),
    absent("type_assembly_usages", "user_type_id int not null, assembly_id int not null"),
    // Security by rows, masks, keys and labels.
    absent(
        "security_policies",
        "name sysname, object_id int not null, principal_id int, schema_id int not null, parent_object_id int not null, type char(2), \
         type_desc nvarchar(60), create_date datetime not null, modify_date datetime not null, is_ms_shipped bit not null, \
         is_enabled bit not null, is_not_for_replication bit not null, uses_database_collation bit, is_schema_bound bit not null",
    ),
    absent(
        "security_predicates",
        "object_id int not null, security_predicate_id int not null, target_object_id int not null, predicate_definition nvarchar(max), \
         predicate_type int, predicate_type_desc nvarchar(60), operation int, operation_desc nvarchar(60)",
    ),
    absent(
        "masked_columns",
        "object_id int not null, name sysname, column_id int not null, system_type_id tinyint not null, user_type_id int not null, \
         max_length smallint not null, precision tinyint not null, scale tinyint not null, collation_name nvarchar(128), is_nullable bit, \
         is_masked bit not null, masking_function nvarchar(4000)",
    ),
    absent(
        "key_encryptions",
        "key_id int not null, thumbprint varbinary(32), crypt_type char(4), crypt_type_desc nvarchar(60), crypt_property varbinary(max)",
    ),
    absent(
        "crypt_properties",
        "class tinyint not null, class_desc nvarchar(60), major_id int not null, thumbprint varbinary(32), crypt_type char(4), \
         crypt_type_desc nvarchar(60), crypt_property varbinary(max)",
    ),
    absent(
        "column_encryption_keys",
        "name sysname, column_encryption_key_id int not null, create_date datetime not null, modify_date datetime not null",
    ),
    absent(
        "column_encryption_key_values",
        "column_encryption_key_id int not null, column_master_key_id int not null, encrypted_value varbinary(8000), \
         encryption_algorithm_name nvarchar(128)",
    ),
    absent(
        "sensitivity_classifications",
        "class int not null, class_desc varchar(16) not null, major_id int not null, minor_id int not null, label sql_variant, \
         label_id sql_variant, information_type sql_variant, information_type_id sql_variant, rank int, rank_desc varchar(16)",
    ),
    absent(
        "database_audit_specifications",
        "database_specification_id int not null, name sysname, create_date datetime not null, modify_date datetime not null, \
         audit_guid uniqueidentifier, is_state_enabled bit",
    ),
    // Kinds of tables and indexes.
    absent(
        "internal_tables",
        "name sysname, object_id int not null, principal_id int, schema_id int not null, parent_object_id int not null, type char(2), \
         type_desc nvarchar(60), create_date datetime not null, modify_date datetime not null, is_ms_shipped bit not null, \
         internal_type tinyint, internal_type_desc nvarchar(60), parent_id int, parent_minor_id int, lob_data_space_id int not null, \
         filestream_data_space_id int",
    ),
    absent(
        "external_tables",
        "name sysname, object_id int not null, principal_id int, schema_id int not null, parent_object_id int not null, type char(2), \
         type_desc nvarchar(60), create_date datetime not null, modify_date datetime not null, data_source_id int not null, \
         file_format_id int, location nvarchar(4000), reject_type nvarchar(20), reject_value float, reject_sample_value float, \
         distribution_type int, distribution_desc nvarchar(120), sharding_col_id int, remote_schema_name nvarchar(128), \
         remote_object_name nvarchar(128)",
    ),
    absent(
        "external_file_formats",
        "file_format_id int not null, name sysname, format_type nvarchar(100), field_terminator nvarchar(10), string_delimiter nvarchar(10), \
         date_format nvarchar(50), use_type_default bit, serde_method nvarchar(255), row_terminator nvarchar(10), encoding nvarchar(10), \
         data_compression nvarchar(255)",
    ),
    absent(
        "filetables",
        "object_id int not null, is_enabled bit, directory_name nvarchar(255), filename_collation_id int, \
         filename_collation_name nvarchar(128)",
    ),
    absent(
        "edge_constraints",
        "name sysname, object_id int not null, principal_id int, schema_id int not null, parent_object_id int not null, type char(2), \
         type_desc nvarchar(60), create_date datetime not null, modify_date datetime not null, is_ms_shipped bit not null, \
         is_published bit not null, is_schema_published bit not null, is_disabled bit not null, is_not_trusted bit not null, \
         is_system_named bit not null, delete_referential_action tinyint, delete_referential_action_desc nvarchar(60)",
    ),
    absent(
        "column_store_segments",
        "partition_id bigint, hobt_id bigint, column_id int, segment_id int, version int, encoding_type int, row_count int, has_nulls int, \
         base_id bigint, magnitude float, primary_dictionary_id int, secondary_dictionary_id int, min_data_id bigint, max_data_id bigint, \
         null_value bigint, on_disk_size bigint",
    ),
    absent(
        "column_store_row_groups",
        "object_id int not null, index_id int not null, partition_number int not null, row_group_id int not null, delta_store_hobt_id bigint, \
         state tinyint not null, state_description nvarchar(60) not null, total_rows bigint not null, deleted_rows bigint, \
         size_in_bytes bigint not null",
    ),
    absent(
        "fulltext_index_columns",
        "object_id int not null, column_id int not null, type_column_id int, language_id int not null, statistical_semantics int not null",
    ),
    absent(
        "fulltext_stoplists",
        "stoplist_id int not null, name sysname, create_date datetime not null, modify_date datetime not null, principal_id int",
    ),
    absent(
        "plan_guides",
        "plan_guide_id int not null, name sysname, create_date datetime not null, modify_date datetime not null, is_disabled bit not null, \
         query_text nvarchar(max), scope_type tinyint not null, scope_type_desc nvarchar(60), scope_object_id int, \
         scope_batch nvarchar(max), parameters nvarchar(max), hints nvarchar(max)",
    ),
];
