-- What Management Studio, when it connects and its tree is opened, asks: the shape of the statements as traces of them show it. `-- gives:` text that the answer must hold.
GO
set rowcount 0 set textsize 2147483647 set noexec off set parseonly off set arithabort on set transaction isolation level read committed set lock_timeout -1 set ansi_nulls on
GO
select @@spid; select SERVERPROPERTY('ProductLevel');
GO
-- gives: 3
DECLARE @edition sysname; SET @edition = cast(SERVERPROPERTY(N'EDITION') as sysname); SELECT case when @edition = N'SQL Azure' then 2 else 1 end as 'DatabaseEngineType', SERVERPROPERTY('EngineEdition') AS DatabaseEngineEdition, SERVERPROPERTY('ProductVersion') AS ProductVersion, @@MICROSOFTVERSION AS MicrosoftVersion; select host_platform from sys.dm_os_host_info; if @edition = N'SQL Azure' select 'TCP' as ConnectionProtocol else exec ('select CONVERT(nvarchar(40),CONNECTIONPROPERTY(''net_transport'')) as ConnectionProtocol')
GO
-- gives: master
SELECT dtb.name AS [Name], dtb.state AS [State] FROM master.sys.databases dtb
GO
SELECT CASE WHEN has_dbaccess(N'master') = 1 THEN 'true' ELSE 'false' END
GO
select N'Windows' as host_platform if ('a' = 'a') begin select host_platform from sys.dm_os_host_info end
GO
use [master]; SET LOCK_TIMEOUT 10000
DECLARE @IsAllowed int = 0 if (serverproperty('EngineEdition') = 12) BEGIN SET @IsAllowed = 1 END SELECT @IsAllowed
GO
SELECT ISNULL(SERVERPROPERTY(N'IsXTPSupported'),0), ISNULL(SERVERPROPERTY('IsPolyBaseInstalled'), 0), HAS_PERMS_BY_NAME(null, null, 'VIEW SERVER STATE'), IS_SRVROLEMEMBER('sysadmin')
GO
-- gives: sold
SELECT dtb.name AS [Database_Name], 'Server[@Name=' + quotename(CAST(serverproperty(N'Servername') AS sysname),'''') + ']' + '/Database[@Name=' + quotename(dtb.name,'''') + ']' AS [Database_Urn], case when dtb.collation_name is null then 0x200 else 0 end | case when 1 = dtb.is_in_standby then 0x40 else 0 end | case dtb.state when 1 then 0x2 when 2 then 0x8 when 3 then 0x4 when 4 then 0x10 when 5 then 0x100 when 6 then 0x20 else 1 end AS [Database_Status], dtb.compatibility_level AS [Database_CompatibilityLevel], dtb.containment AS [ContainmentType], dtb.recovery_model AS [RecoveryModel], dtb.user_access AS [UserAccess], dtb.is_read_only AS [ReadOnly], dtb.name AS [Database_DatabaseName2], CAST(case when dtb.name in ('master','model','msdb','tempdb') then 1 else dtb.is_distributor end AS bit) AS [IsSystemObject], CAST(isnull(dtb.source_database_id, 0) AS bit) AS [IsDatabaseSnapshot], ISNULL(DB_NAME(dtb.source_database_id), N'') AS [DatabaseSnapshotBaseName], dtb.is_fulltext_enabled, suser_sname(dtb.owner_sid) AS [Owner], (select count(1) from sys.database_mirroring m where m.database_id = dtb.database_id and m.mirroring_guid is not null) AS mir
FROM master.sys.databases AS dtb
WHERE (CAST(case when dtb.name in ('master','model','msdb','tempdb') then 1 else dtb.is_distributor end AS bit)=0)
ORDER BY [Database_Name] ASC
GO
-- gives: Orders
SELECT SCHEMA_NAME(tbl.schema_id) AS [Schema], tbl.name AS [Name], tbl.object_id AS [ID], CAST(case when tbl.is_ms_shipped = 1 then 1 when (select major_id from sys.extended_properties where major_id = tbl.object_id and minor_id = 0 and class = 1 and name = N'microsoft_database_tools_support') is not null then 1 else 0 end AS bit) AS [IsSystemObject], tbl.create_date AS [CreateDate], stbl.name AS [Owner], CAST(tbl.is_memory_optimized AS bit) AS mo, CAST(CASE idx.type WHEN 5 THEN 1 ELSE 0 END AS bit) AS [HasClusteredColumnStoreIndex], tbl.is_filetable, CAST(tbl.temporal_type AS int) AS tt, tbl.is_external, tbl.is_node, tbl.is_edge, tbl.ledger_type
FROM sys.tables AS tbl
LEFT OUTER JOIN sys.database_principals AS stbl ON stbl.principal_id = ISNULL(tbl.principal_id, (OBJECTPROPERTY(tbl.object_id, 'OwnerId')))
INNER JOIN sys.indexes AS idx ON idx.object_id = tbl.object_id and (idx.index_id < 2 or (tbl.is_memory_optimized = 1 and idx.index_id = 1))
ORDER BY [Schema] ASC,[Name] ASC
GO
-- gives: nvarchar
SELECT clmns.column_id AS [ID], clmns.name AS [Name], clmns.is_ansi_padded, clmns.is_nullable AS [Nullable], CAST(ISNULL(cik.index_column_id, 0) AS bit) AS [InPrimaryKey], clmns.is_identity AS [Identity], usrt.name AS [DataType], ISNULL(baset.name, N'') AS [SystemType], CAST(CASE WHEN baset.name IN (N'nchar', N'nvarchar') AND clmns.max_length <> -1 THEN clmns.max_length/2 ELSE clmns.max_length END AS int) AS [Length], CAST(clmns.precision AS int) AS [NumericPrecision], CAST(clmns.scale AS int) AS [NumericScale], ISNULL(xscclmns.name, N'') AS [XmlSchemaNamespace], clmns.is_sparse, clmns.is_column_set, clmns.generated_always_type, (case when clmns.default_object_id = 0 then N'' when d.parent_object_id > 0 then N'' else d.name end) AS [Default], CAST(COLUMNPROPERTY(clmns.object_id, clmns.name, N'IsFulltextIndexed') AS bit) AS ft
FROM sys.tables AS tbl
INNER JOIN sys.all_columns AS clmns ON clmns.object_id=tbl.object_id
LEFT OUTER JOIN sys.indexes AS ik ON ik.object_id = clmns.object_id and 1=ik.is_primary_key
LEFT OUTER JOIN sys.index_columns AS cik ON cik.index_id = ik.index_id and cik.column_id = clmns.column_id and cik.object_id = clmns.object_id and 0 = cik.is_included_column
LEFT OUTER JOIN sys.types AS usrt ON usrt.user_type_id = clmns.user_type_id
LEFT OUTER JOIN sys.types AS baset ON (baset.user_type_id = clmns.system_type_id and baset.user_type_id = baset.system_type_id) or ((baset.system_type_id = clmns.system_type_id) and (baset.user_type_id = clmns.user_type_id) and (baset.is_user_defined = 0) and (baset.is_assembly_type = 1))
LEFT OUTER JOIN sys.xml_schema_collections AS xscclmns ON xscclmns.xml_collection_id = clmns.xml_collection_id
LEFT OUTER JOIN sys.objects AS d ON d.object_id = clmns.default_object_id
ORDER BY [ID] ASC
GO
-- gives: pk_orders
SELECT i.name AS [Name], i.index_id AS [ID], CAST(OBJECTPROPERTY(i.object_id,N'IsMSShipped') AS bit) AS [IsSystemObject], CAST(i.is_unique AS bit) u, CASE WHEN i.type=1 THEN 1 ELSE 0 END AS cl, i.fill_factor, i.is_padded, i.ignore_dup_key, i.allow_row_locks, i.allow_page_locks, i.is_disabled, i.has_filter, ISNULL(i.filter_definition, N''), i.type, CAST(INDEXPROPERTY(i.object_id, i.name, N'IsFulltextKey') AS bit), s.no_recompute, dsi.name
FROM sys.tables AS tbl
INNER JOIN sys.indexes AS i ON (i.index_id > 0 and i.is_hypothetical = 0) AND (i.object_id=tbl.object_id)
LEFT OUTER JOIN sys.stats AS s ON s.stats_id = i.index_id AND s.object_id = i.object_id
LEFT OUTER JOIN sys.key_constraints AS k ON k.parent_object_id = i.object_id AND k.unique_index_id = i.index_id
LEFT OUTER JOIN sys.data_spaces AS dsi ON dsi.data_space_id = i.data_space_id
LEFT OUTER JOIN sys.xml_indexes AS xi ON xi.object_id = i.object_id AND xi.index_id = i.index_id
LEFT OUTER JOIN sys.spatial_indexes AS spi ON i.object_id = spi.object_id
LEFT OUTER JOIN sys.partition_schemes ps ON ps.data_space_id = dsi.data_space_id
GO
-- gives: place_order
SELECT SCHEMA_NAME(sp.schema_id) AS [Schema], sp.name AS [Name], CAST(case when sp.is_ms_shipped = 1 then 1 else 0 end AS bit), CASE WHEN sp.type = N'P' THEN 1 WHEN sp.type = N'PC' THEN 2 ELSE 1 END, CAST(CASE WHEN ISNULL(smsp.definition, ssmsp.definition) IS NULL THEN 1 ELSE 0 END AS bit) AS [IsEncrypted]
FROM sys.all_objects AS sp
LEFT OUTER JOIN sys.sql_modules AS smsp ON smsp.object_id = sp.object_id
LEFT OUTER JOIN sys.system_sql_modules AS ssmsp ON ssmsp.object_id = sp.object_id
WHERE (sp.type = N'P' OR sp.type = N'RF' OR sp.type=N'PC') and sp.is_ms_shipped = 0
ORDER BY 1, 2
GO
-- gives: open_orders
SELECT SCHEMA_NAME(v.schema_id), v.name, v.object_id FROM sys.all_views AS v WHERE (v.type = N'V') and v.is_ms_shipped=0
GO
-- gives: orders_of
SELECT SCHEMA_NAME(udf.schema_id), udf.name, (case when 'FN' = udf.type then 1 when 'FS' = udf.type then 1 when 'IF' = udf.type then 3 when 'TF' = udf.type then 2 when 'FT' = udf.type then 2 else 0 end)
FROM sys.all_objects AS udf
WHERE (udf.type in ('TF', 'FN', 'IF', 'FS', 'FT')) and udf.is_ms_shipped = 0
GO
-- gives: sa
SELECT log.name, log.is_disabled, log.default_database_name, log.type
FROM sys.server_principals AS log
LEFT OUTER JOIN sys.sql_logins AS sqllog ON sqllog.principal_id = log.principal_id
WHERE log.type in ('U','G','S','C','K') AND log.principal_id not between 101 and 255 AND log.name <> N'##MS_AgentSigningCertificate##'
GO
-- gives: dbo
SELECT s.name AS [Name], CAST(CASE WHEN s.schema_id = SCHEMA_ID('dbo') THEN 1 ELSE 0 END AS bit), ISNULL(USER_NAME(s.principal_id), '') FROM sys.schemas s
GO
-- gives: fk_customer
SELECT fk.name, fk.is_disabled, fk.is_not_trusted, fk.delete_referential_action, OBJECT_NAME(fk.referenced_object_id), OBJECT_SCHEMA_NAME(fk.referenced_object_id)
FROM sys.foreign_keys fk
INNER JOIN sys.foreign_key_columns c on c.constraint_object_id = fk.object_id
GO
-- gives: ck_amount
SELECT cstr.name, cstr.definition, cstr.is_disabled
FROM sys.check_constraints cstr; SELECT c.name, c.definition
FROM sys.default_constraints c; SELECT p.name, p.value
FROM sys.extended_properties p; SELECT *
FROM sys.fn_listextendedproperty(NULL, 'schema', 'dbo', 'table', NULL, NULL, NULL)
GO
-- gives: PRIMARY
exec sp_executesql N'SELECT g.name, g.type, g.is_default, g.is_read_only, CAST(g.is_autogrow_all_files AS bit)
FROM sys.filegroups AS g
WHERE g.type = @t', N'@t nvarchar(10)', @t = N'FG'
GO
-- gives: sold_log
SELECT s.name AS [Name], s.physical_name AS [FileName], CAST(CASE s.is_percent_growth WHEN 1 THEN s.growth ELSE s.growth*8 END AS float) AS [Growth], s.file_id AS [ID], CAST(CASE WHEN s.type = 1 THEN 1 ELSE 0 END AS bit), s.size * CONVERT(float,8) AS [Size], CAST(CASE s.type WHEN 2 THEN 0 ELSE CAST(FILEPROPERTY(s.name, 'SpaceUsed') AS float) * CONVERT(float,8) END AS float) AS [UsedSpace], s.is_media_read_only, s.is_sparse, s.is_read_only, s.max_size
FROM sys.database_files AS s
GO
select mem.physical_memory_kb, cpu_count, sqlserver_start_time, committed_kb from sys.dm_os_sys_info mem
GO
SELECT target_recovery_time_in_seconds, delayed_durability, is_mixed_page_allocation_on, is_query_store_on, is_temporal_history_retention_enabled, catalog_collation_type, is_accelerated_database_recovery_on, is_ledger_on, is_encrypted, is_broker_enabled, service_broker_guid, page_verify_option, is_cleanly_shutdown, log_reuse_wait_desc, snapshot_isolation_state, is_read_committed_snapshot_on, is_cdc_enabled, replica_id, group_database_id, resource_pool_id, default_language_lcid, is_nested_triggers_on, is_transform_noise_words_on, two_digit_year_cutoff, is_memory_optimized_elevate_to_snapshot_on, is_federation_member, is_remote_data_archive_enabled
FROM sys.databases
GO
SELECT CAST(FULLTEXTSERVICEPROPERTY('IsFullTextInstalled') AS bit), DATABASEPROPERTYEX(DB_NAME(), 'Collation'), DATABASEPROPERTYEX('master','Status'), DATABASEPROPERTYEX('master','Version'), DATABASEPROPERTYEX('master','LastGoodCheckDbTime')
GO
-- gives: xp_cmdshell
SELECT name, value, value_in_use FROM sys.configurations WHERE name LIKE '%xp%'
GO
-- gives: sa
SELECT *
FROM sys.dm_exec_sessions s LEFT JOIN sys.dm_exec_connections c ON c.session_id = s.session_id OUTER APPLY sys.dm_exec_sql_text(c.most_recent_sql_handle) t
GO
-- gives: dbo
EXEC sp_helpuser
GO
-- gives: sa
EXEC sp_helplogins
GO
-- gives: sold_log
EXEC sp_helpfile
GO
-- gives: db_owner
EXEC sp_helprole
GO
-- gives: test
EXEC sp_helpserver
GO
-- gives: test
EXEC sp_linkedservers
GO
-- gives: ProcessorCount
EXEC xp_msver
