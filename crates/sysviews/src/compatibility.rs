//! Compatibility views that old scripts and clients query (`sysindexes`, `syscolumns`, `sysusers` and similar), and other views that
//! are queries over the catalog views.

use plan_ir::view::SystemView;

pub(super) static VIEWS: &[SystemView] = &[
    SystemView::in_sql(
        "syscolumns",
        "name nvarchar(128), id int not null, xtype tinyint not null, typestat tinyint, xusertype smallint, length smallint not null, \
         xprec tinyint not null, xscale tinyint not null, colid smallint, xoffset smallint, bitpos tinyint, reserved tinyint, \
         colstat smallint, cdefault int not null, domain int not null, number smallint, colorder smallint, autoval varbinary(8000), \
         offset smallint, collationid int, language int, status tinyint, type tinyint, usertype smallint, printfmt varchar(255), \
         prec smallint, scale int, iscomputed int, isoutparam int, isnullable int, collation nvarchar(128), tdscollation binary(5)",
        "SELECT c.name, c.object_id, c.system_type_id, CASE c.is_nullable WHEN 1 THEN 0 ELSE 1 END, c.user_type_id, c.max_length,
                c.[precision], c.scale, c.column_id, 0, 0, 0, CASE WHEN c.is_identity = 1 THEN 1 WHEN c.is_computed = 1 THEN 4 ELSE 0 END,
                c.default_object_id, c.rule_object_id, 0, c.column_id, NULL, 0, NULL, CASE WHEN c.collation_name IS NULL THEN 0 ELSE 1033 END,
                CASE c.is_nullable WHEN 1 THEN 8 ELSE 0 END + CASE c.is_identity WHEN 1 THEN 128 ELSE 0 END, t.type, t.usertype, NULL,
                COLUMNPROPERTY(c.object_id, c.name, 'precision'),
                CASE WHEN c.system_type_id IN (48, 52, 56, 127, 60, 122, 106, 108, 40, 41, 42, 43, 58, 61) THEN c.scale END,
                c.is_computed, 0, c.is_nullable, c.collation_name, NULL
         FROM sys.all_columns AS c JOIN sys.systypes AS t ON t.xusertype = c.user_type_id
         UNION ALL
         SELECT p.name, p.object_id, p.system_type_id, 0, p.user_type_id, p.max_length, p.[precision], p.scale, p.parameter_id, 0, 0, 0, 0,
                0, 0, 1, p.parameter_id, NULL, 0, NULL, 0, CASE p.is_output WHEN 1 THEN 64 ELSE 0 END, t.type, t.usertype, NULL,
                TYPEPROPERTY(t.name, 'precision'), p.scale, 0, p.is_output, 1, t.collation, NULL
         FROM sys.parameters AS p JOIN sys.systypes AS t ON t.xusertype = p.user_type_id",
    ),
    SystemView::in_sql(
        "systypes",
        "name sysname, xtype tinyint not null, status tinyint, xusertype smallint, length smallint not null, xprec tinyint not null, \
         xscale tinyint not null, tdefault int not null, domain int not null, uid smallint, reserved smallint, collationid int, \
         usertype smallint, variable bit, allownulls bit, type tinyint not null, printfmt varchar(255), prec smallint, scale tinyint, \
         collation nvarchar(128)",
        "SELECT t.name, t.system_type_id, CASE t.is_nullable WHEN 1 THEN 0 ELSE 1 END, t.user_type_id, t.max_length, t.[precision], t.scale,
                t.default_object_id, t.rule_object_id, t.schema_id, 0, NULL, CASE WHEN t.user_type_id = 256 THEN 18 ELSE COALESCE(o.usertype, CASE WHEN t.is_user_defined = 1 THEN t.user_type_id ELSE 0 END) END,
                CASE WHEN t.system_type_id IN (165, 167, 231) THEN 1 ELSE 0 END, t.is_nullable, CASE WHEN t.user_type_id = 256 THEN 39 ELSE COALESCE(o.type, 0) END, NULL,
                CASE WHEN t.[precision] > 0 THEN t.[precision] WHEN t.system_type_id IN (231, 239) THEN t.max_length / 2
                     WHEN t.system_type_id IN (35, 34) THEN NULL ELSE t.max_length END,
                CASE WHEN t.[precision] > 0 AND t.system_type_id NOT IN (59, 62, 104) THEN t.scale END, t.collation_name
         FROM sys.types AS t
         LEFT JOIN (VALUES (34, 34, 20), (35, 35, 19), (36, 37, 0), (48, 48, 5), (52, 52, 6), (56, 56, 7), (58, 58, 22), (59, 59, 23),
                           (60, 60, 11), (61, 61, 12), (62, 62, 8), (98, 39, 0), (99, 35, 0), (104, 50, 16), (106, 106, 24), (108, 108, 10),
                           (122, 122, 21), (127, 63, 0), (165, 37, 4), (167, 39, 2), (173, 45, 3), (175, 47, 1), (189, 45, 80),
                           (231, 39, 0), (239, 47, 0)) AS o(xtype, type, usertype)
                ON o.xtype = t.system_type_id AND (t.user_type_id <> 256)
         WHERE t.is_table_type = 0",
    ),
    SystemView::in_sql(
        "sysindexes",
        "id int not null, status int, first binary(6), indid smallint, root binary(6), minlen smallint, keycnt smallint, groupid smallint, \
         dpages int, reserved int, used int, rowcnt bigint, rowmodctr int, reserved3 tinyint, reserved4 tinyint, xmaxlen smallint, \
         maxirow smallint, OrigFillFactor tinyint, StatVersion tinyint, reserved2 int, FirstIAM binary(6), impid smallint, \
         lockflags smallint, pgmodctr int, keys varbinary(1088), name nvarchar(128), statblob varbinary, maxlen int, rows int",
        "SELECT i.object_id, CASE i.ignore_dup_key WHEN 1 THEN 1 ELSE 0 END + CASE i.is_unique WHEN 1 THEN 2 ELSE 0 END + CASE i.type WHEN 1 THEN 16 ELSE 0 END
                + CASE i.is_primary_key WHEN 1 THEN 2048 ELSE 0 END + CASE i.is_unique_constraint WHEN 1 THEN 4096 ELSE 0 END,
                NULL, i.index_id, NULL, 0, (SELECT COUNT(*) FROM sys.index_columns AS k WHERE k.object_id = i.object_id
                AND k.index_id = i.index_id AND k.is_included_column = 0), 1, p.in_row_data_page_count, p.reserved_page_count,
                p.used_page_count, CASE WHEN i.index_id < 2 THEN p.row_count ELSE p.row_count END,
                ISNULL(CAST(m.modification_counter AS int), 0), 0, 0, 0, 0, i.fill_factor, 0, 0,
                NULL, 0, 0, 0, NULL, i.name, NULL, 8000, p.row_count
         FROM sys.indexes AS i
         LEFT JOIN sys.dm_db_partition_stats AS p ON p.object_id = i.object_id AND p.index_id = i.index_id
         OUTER APPLY sys.dm_db_stats_properties(i.object_id, i.index_id) AS m",
    ),
    SystemView::in_sql(
        "sysindexkeys",
        "id int not null, indid smallint, colid smallint, keyno smallint",
        "SELECT object_id, index_id, column_id, index_column_id FROM sys.index_columns",
    ),
    SystemView::in_sql(
        "sysusers",
        "uid smallint, status smallint, name sysname, sid varbinary(85), roles varbinary(2048), createdate datetime not null, \
         updatedate datetime not null, altuid smallint, password varbinary(256), gid smallint, environ varchar(255), hasdbaccess int, \
         islogin int, isntname int, isntgroup int, isntuser int, issqluser int, isaliased int, issqlrole int, isapprole int",
        "SELECT principal_id, 0, name, sid, NULL, create_date, modify_date, owning_principal_id, NULL,
                CASE type WHEN 'R' THEN principal_id ELSE 0 END, NULL, CASE WHEN type = 'S' AND principal_id = 1 THEN 1 ELSE 0 END,
                CASE type WHEN 'R' THEN 0 ELSE 1 END, 0, 0, 0, CASE type WHEN 'S' THEN 1 ELSE 0 END, 0,
                CASE type WHEN 'R' THEN 1 ELSE 0 END, CASE type WHEN 'A' THEN 1 ELSE 0 END
         FROM sys.database_principals",
    ),
    SystemView::in_sql(
        "sysmembers",
        "memberuid smallint, groupuid smallint",
        "SELECT member_principal_id, role_principal_id FROM sys.database_role_members",
    ),
    SystemView::in_sql(
        "sysreferences",
        "constid int not null, fkeyid int not null, rkeyid int not null, rkeyindid smallint, keycnt smallint, forkeys varbinary(32), \
         refkeys varbinary(32), fkeydbid smallint, rkeydbid smallint, fkey1 smallint, fkey2 smallint, fkey3 smallint, fkey4 smallint, \
         fkey5 smallint, fkey6 smallint, fkey7 smallint, fkey8 smallint, fkey9 smallint, fkey10 smallint, fkey11 smallint, \
         fkey12 smallint, fkey13 smallint, fkey14 smallint, fkey15 smallint, fkey16 smallint, rkey1 smallint, rkey2 smallint, \
         rkey3 smallint, rkey4 smallint, rkey5 smallint, rkey6 smallint, rkey7 smallint, rkey8 smallint, rkey9 smallint, rkey10 smallint, \
         rkey11 smallint, rkey12 smallint, rkey13 smallint, rkey14 smallint, rkey15 smallint, rkey16 smallint",
        "SELECT f.object_id, f.parent_object_id, f.referenced_object_id, f.key_index_id, COUNT(*), NULL, NULL, 0, 0,
                MAX(CASE k.constraint_column_id WHEN 1 THEN k.parent_column_id ELSE 0 END),
                MAX(CASE k.constraint_column_id WHEN 2 THEN k.parent_column_id ELSE 0 END),
                MAX(CASE k.constraint_column_id WHEN 3 THEN k.parent_column_id ELSE 0 END),
                MAX(CASE k.constraint_column_id WHEN 4 THEN k.parent_column_id ELSE 0 END),
                MAX(CASE k.constraint_column_id WHEN 5 THEN k.parent_column_id ELSE 0 END),
                MAX(CASE k.constraint_column_id WHEN 6 THEN k.parent_column_id ELSE 0 END),
                MAX(CASE k.constraint_column_id WHEN 7 THEN k.parent_column_id ELSE 0 END),
                MAX(CASE k.constraint_column_id WHEN 8 THEN k.parent_column_id ELSE 0 END),
                MAX(CASE k.constraint_column_id WHEN 9 THEN k.parent_column_id ELSE 0 END),
                MAX(CASE k.constraint_column_id WHEN 10 THEN k.parent_column_id ELSE 0 END),
                MAX(CASE k.constraint_column_id WHEN 11 THEN k.parent_column_id ELSE 0 END),
                MAX(CASE k.constraint_column_id WHEN 12 THEN k.parent_column_id ELSE 0 END),
                MAX(CASE k.constraint_column_id WHEN 13 THEN k.parent_column_id ELSE 0 END),
                MAX(CASE k.constraint_column_id WHEN 14 THEN k.parent_column_id ELSE 0 END),
                MAX(CASE k.constraint_column_id WHEN 15 THEN k.parent_column_id ELSE 0 END),
                MAX(CASE k.constraint_column_id WHEN 16 THEN k.parent_column_id ELSE 0 END),
                MAX(CASE k.constraint_column_id WHEN 1 THEN k.referenced_column_id ELSE 0 END),
                MAX(CASE k.constraint_column_id WHEN 2 THEN k.referenced_column_id ELSE 0 END),
                MAX(CASE k.constraint_column_id WHEN 3 THEN k.referenced_column_id ELSE 0 END),
                MAX(CASE k.constraint_column_id WHEN 4 THEN k.referenced_column_id ELSE 0 END),
                MAX(CASE k.constraint_column_id WHEN 5 THEN k.referenced_column_id ELSE 0 END),
                MAX(CASE k.constraint_column_id WHEN 6 THEN k.referenced_column_id ELSE 0 END),
                MAX(CASE k.constraint_column_id WHEN 7 THEN k.referenced_column_id ELSE 0 END),
                MAX(CASE k.constraint_column_id WHEN 8 THEN k.referenced_column_id ELSE 0 END),
                MAX(CASE k.constraint_column_id WHEN 9 THEN k.referenced_column_id ELSE 0 END),
                MAX(CASE k.constraint_column_id WHEN 10 THEN k.referenced_column_id ELSE 0 END),
                MAX(CASE k.constraint_column_id WHEN 11 THEN k.referenced_column_id ELSE 0 END),
                MAX(CASE k.constraint_column_id WHEN 12 THEN k.referenced_column_id ELSE 0 END),
                MAX(CASE k.constraint_column_id WHEN 13 THEN k.referenced_column_id ELSE 0 END),
                MAX(CASE k.constraint_column_id WHEN 14 THEN k.referenced_column_id ELSE 0 END),
                MAX(CASE k.constraint_column_id WHEN 15 THEN k.referenced_column_id ELSE 0 END),
                MAX(CASE k.constraint_column_id WHEN 16 THEN k.referenced_column_id ELSE 0 END)
         FROM sys.foreign_keys AS f JOIN sys.foreign_key_columns AS k ON k.constraint_object_id = f.object_id
         GROUP BY f.object_id, f.parent_object_id, f.referenced_object_id, f.key_index_id",
    ),
    SystemView::in_sql(
        "sysforeignkeys",
        "constid int not null, fkeyid int not null, rkeyid int not null, fkey smallint, rkey smallint, keyno smallint",
        "SELECT constraint_object_id, parent_object_id, referenced_object_id, parent_column_id, referenced_column_id, constraint_column_id
         FROM sys.foreign_key_columns",
    ),
    SystemView::in_sql(
        "sysconstraints",
        "constid int not null, id int not null, colid smallint, spare1 tinyint, status int, actions int, error int",
        "SELECT o.object_id, o.parent_object_id, COALESCE(d.parent_column_id, k.parent_column_id, 0), 0,
                CASE RTRIM(o.type) WHEN 'PK' THEN 1 WHEN 'UQ' THEN 2 WHEN 'F' THEN 3 WHEN 'C' THEN 4 ELSE 5 END
                + CASE WHEN COALESCE(d.parent_column_id, k.parent_column_id, 0) > 0 THEN 16 ELSE 32 END, 0, 0
         FROM sys.objects AS o
         LEFT JOIN sys.default_constraints AS d ON d.object_id = o.object_id
         LEFT JOIN sys.check_constraints AS k ON k.object_id = o.object_id
         WHERE o.type IN ('PK', 'UQ', 'F', 'C', 'D')",
    ),
    SystemView::in_sql(
        "sysdepends",
        "id int not null, depid int not null, number smallint, depnumber smallint, status smallint, deptype tinyint not null, \
         depdbid smallint, depsiteid smallint, selall bit, resultobj bit, readobj bit",
        "SELECT referencing_id, referenced_id, 0, referenced_minor_id, 0, referenced_class, 0, 0, 0, 0, 1
         FROM sys.sql_expression_dependencies WHERE referenced_id IS NOT NULL",
    ),
    SystemView::in_sql(
        "sysfiles",
        "fileid smallint, groupid smallint, size int not null, maxsize int not null, growth int not null, status int, perf int, \
         name nchar(128), filename nvarchar(260)",
        "SELECT file_id, data_space_id, size, max_size, growth, 2 + CASE type WHEN 1 THEN 64 ELSE 0 END
                + CASE is_percent_growth WHEN 1 THEN 1048576 ELSE 0 END, 0, name, physical_name
         FROM sys.database_files",
    ),
    SystemView::in_sql(
        "sysaltfiles",
        "fileid smallint, groupid smallint, size int not null, maxsize int not null, growth int not null, status int, perf int, \
         dbid smallint, name sysname, filename nvarchar(260)",
        "SELECT file_id, data_space_id, size, max_size, growth, 2 + CASE type WHEN 1 THEN 64 ELSE 0 END
                + CASE is_percent_growth WHEN 1 THEN 1048576 ELSE 0 END, 0, database_id, name, physical_name
         FROM sys.master_files",
    ),
    SystemView::in_sql(
        "sysfilegroups",
        "groupid smallint, allocpolicy smallint, status int, groupname sysname",
        "SELECT data_space_id, 0, CASE is_default WHEN 1 THEN 16 ELSE 0 END, name FROM sys.filegroups",
    ),
    SystemView::in_sql(
        "syslogins",
        "sid varbinary(85), status smallint, createdate datetime not null, updatedate datetime not null, accdate datetime not null, \
         totcpu int, totio int, spacelimit int, timelimit int, resultlimit int, name sysname, dbname nvarchar(128), password nvarchar(128), \
         language nvarchar(128), denylogin int, hasaccess int, isntname int, isntgroup int, isntuser int, sysadmin int, securityadmin int, \
         serveradmin int, setupadmin int, processadmin int, diskadmin int, dbcreator int, bulkadmin int, loginname nvarchar(128)",
        "SELECT sid, 9, create_date, modify_date, create_date, 0, 0, 0, 0, 0, name, default_database_name, NULL, default_language_name,
                is_disabled, 1, 0, 0, 0, IS_SRVROLEMEMBER('sysadmin', name), 0, 0, 0, 0, 0, 0, 0, name
         FROM sys.server_principals WHERE type = 'S'",
    ),
    SystemView::in_sql(
        "sysconfigures",
        "value int, config int not null, comment nvarchar(255) not null, status smallint",
        "SELECT CAST(value AS int), configuration_id, description,
                CASE is_dynamic WHEN 1 THEN 1 ELSE 0 END + CASE is_advanced WHEN 1 THEN 2 ELSE 0 END FROM sys.configurations",
    ),
    SystemView::in_sql(
        "syscurconfigs",
        "value int, config smallint, comment nvarchar(255) not null, status smallint",
        "SELECT CAST(value_in_use AS int), configuration_id, description,
                CASE is_dynamic WHEN 1 THEN 1 ELSE 0 END + CASE is_advanced WHEN 1 THEN 2 ELSE 0 END FROM sys.configurations",
    ),
    SystemView::in_sql(
        "sysmessages",
        "error int not null, severity tinyint, dlevel smallint, description nvarchar(255), msglangid smallint not null",
        "SELECT message_id, severity, CASE is_event_logged WHEN 1 THEN 128 ELSE 0 END, LEFT(text, 255), language_id FROM sys.messages",
    ),
    SystemView::in_sql(
        "sysservers",
        "srvid smallint, srvstatus smallint, srvname sysname, srvproduct nvarchar(128) not null, providername nvarchar(128) not null, \
         datasource nvarchar(4000), location nvarchar(4000), providerstring nvarchar(4000), schemadate datetime not null, topologyx int, \
         topologyy int, catalog nvarchar(128), srvcollation nvarchar(128), connecttimeout int, querytimeout int, srvnetname char(30), \
         isremote bit, rpc bit, pub bit, sub bit, dist bit, dpub bit, rpcout bit, dataaccess bit, collationcompatible bit, system bit, \
         useremotecollation bit, lazyschemavalidation bit, collation nvarchar(128), nonsqlsub bit",
        "SELECT server_id, 1249, name, product, provider, data_source, location, provider_string, COALESCE(modify_date, 0), 0, 0, catalog,
                NULL, connect_timeout, query_timeout, LEFT(name, 30), 1, 1, 0, 0, 0, 0, is_rpc_out_enabled, is_data_access_enabled, 0, 0, 1, 0,
                NULL, 0
         FROM sys.servers",
    ),
    SystemView::in_sql(
        "sysperfinfo",
        "object_name nchar(128) not null, counter_name nchar(128) not null, instance_name nchar(128), cntr_value bigint not null, cntr_type int not null",
        "SELECT object_name, counter_name, instance_name, cntr_value, cntr_type FROM sys.dm_os_performance_counters",
    ),
    SystemView::in_sql(
        "syspermissions",
        "id int, grantee smallint, grantor smallint, actadd smallint, actmod smallint, seladd varbinary(4000), selmod varbinary(4000), \
         updadd varbinary(4000), updmod varbinary(4000), refadd varbinary(4000), refmod varbinary(4000)",
        "SELECT major_id, grantee_principal_id, grantor_principal_id, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL FROM sys.database_permissions",
    ),
    SystemView::in_sql(
        "sysprotects",
        "id int, uid smallint, action tinyint, protecttype tinyint, columns varbinary(4000), grantor smallint",
        "SELECT major_id, grantee_principal_id, 193, 205, 0x01, grantor_principal_id FROM sys.database_permissions",
    ),
    SystemView::in_sql(
        "sysfulltextcatalogs",
        "ftcatid smallint, name sysname, status smallint, path nvarchar(260)",
        "SELECT fulltext_catalog_id, name, 0, path FROM sys.fulltext_catalogs",
    ),
    SystemView::in_sql(
        "syslanguages",
        "langid smallint not null, dateformat nchar(3) not null, datefirst tinyint not null, upgrade int, name sysname, alias sysname, \
         months nvarchar(372), shortmonths nvarchar(132), days nvarchar(217), lcid int not null, msglangid smallint not null",
        "SELECT 0, N'mdy', 7, 0, N'us_english', N'English',
                N'January,February,March,April,May,June,July,August,September,October,November,December',
                N'Jan,Feb,Mar,Apr,May,Jun,Jul,Aug,Sep,Oct,Nov,Dec', N'Monday,Tuesday,Wednesday,Thursday,Friday,Saturday,Sunday', 1033, 1033",
    ),
    SystemView::in_sql(
        "syscharsets",
        "type smallint not null, id tinyint not null, csid tinyint not null, status smallint, name sysname, description nvarchar(255), \
         binarydefinition varbinary(6000), definition varbinary",
        "SELECT 1001, 1, 0, 0, N'iso_1', N'ISO 8859-1 (Latin-1) - Western European 8-bit character set.', NULL, NULL",
    ),
    SystemView::in_sql(
        "syslockinfo",
        "rsc_text nchar(32) not null, rsc_bin binary(16) not null, rsc_valblk binary(16) not null, rsc_dbid smallint not null, \
         rsc_indid smallint not null, rsc_objid int not null, rsc_type tinyint not null, rsc_flag tinyint not null, \
         req_mode tinyint not null, req_status tinyint not null, req_refcnt smallint not null, req_cryrefcnt smallint not null, \
         req_lifetime int not null, req_spid int not null, req_ecid int not null, req_ownertype smallint not null, \
         req_transactionID bigint, req_transactionUOW uniqueidentifier",
        "SELECT LEFT(resource_description, 32), 0x00, 0x00, resource_database_id, 0,
                CASE WHEN resource_type = N'OBJECT' THEN resource_associated_entity_id ELSE 0 END,
                CASE resource_type WHEN N'DATABASE' THEN 2 WHEN N'FILE' THEN 3 WHEN N'PAGE' THEN 6 WHEN N'KEY' THEN 7 WHEN N'EXTENT' THEN 8
                     WHEN N'RID' THEN 9 WHEN N'APPLICATION' THEN 10 WHEN N'OBJECT' THEN 5 ELSE 1 END, 0,
                CASE request_mode WHEN N'Sch-S' THEN 1 WHEN N'Sch-M' THEN 2 WHEN N'S' THEN 3 WHEN N'U' THEN 4 WHEN N'X' THEN 5 WHEN N'IS' THEN 6
                     WHEN N'IU' THEN 7 WHEN N'IX' THEN 8 WHEN N'SIU' THEN 9 WHEN N'SIX' THEN 10 WHEN N'UIX' THEN 11 WHEN N'BU' THEN 12 ELSE 13 END,
                CASE request_status WHEN N'GRANT' THEN 1 WHEN N'CONVERT' THEN 2 ELSE 3 END, request_reference_count, 0, request_lifetime,
                request_session_id, 0, 1, request_owner_id, NULL
         FROM sys.dm_tran_locks",
    ),
    SystemView::in_sql(
        "xml_indexes",
        "object_id int not null, name nvarchar(128), index_id int not null, type tinyint not null, type_desc nvarchar(60), is_unique bit, \
         data_space_id int, ignore_dup_key bit, is_primary_key bit, is_unique_constraint bit, fill_factor tinyint not null, is_padded bit, \
         is_disabled bit, is_hypothetical bit, is_ignored_in_optimization bit, allow_row_locks bit, allow_page_locks bit, using_xml_index_id int, secondary_type char(1), secondary_type_desc nvarchar(60), has_filter bit, \
         filter_definition nvarchar, xml_index_type tinyint, xml_index_type_description nvarchar(60), path_id int",
        "SELECT object_id, name, index_id, type, type_desc, is_unique, data_space_id, ignore_dup_key, is_primary_key, is_unique_constraint,
                fill_factor, is_padded, is_disabled, is_hypothetical, is_ignored_in_optimization, allow_row_locks, allow_page_locks, NULL, NULL, NULL, has_filter, filter_definition, NULL, NULL, NULL
         FROM sys.indexes WHERE type = 3",
    ),
    SystemView::in_sql(
        "spatial_indexes",
        "object_id int not null, name nvarchar(128), index_id int not null, type tinyint not null, type_desc nvarchar(60), is_unique bit, \
         data_space_id int, ignore_dup_key bit, is_primary_key bit, is_unique_constraint bit, fill_factor tinyint not null, is_padded bit, \
         is_disabled bit, is_hypothetical bit, is_ignored_in_optimization bit, allow_row_locks bit, allow_page_locks bit, spatial_index_type tinyint, spatial_index_type_desc nvarchar(60), \
         tessellation_scheme nvarchar(128), has_filter bit, filter_definition nvarchar, auto_created bit",
        "SELECT object_id, name, index_id, type, type_desc, is_unique, data_space_id, ignore_dup_key, is_primary_key, is_unique_constraint,
                fill_factor, is_padded, is_disabled, is_hypothetical, is_ignored_in_optimization, allow_row_locks, allow_page_locks, NULL, NULL, NULL, has_filter, filter_definition, auto_created
         FROM sys.indexes WHERE type = 4",
    ),
    SystemView::in_sql(
        "sql_logins",
        "name sysname, principal_id int not null, sid varbinary(85), type char(1) not null, type_desc nvarchar(60), is_disabled bit, \
         create_date datetime not null, modify_date datetime not null, default_database_name nvarchar(128), \
         default_language_name nvarchar(128), credential_id int, is_policy_checked bit, is_expiration_checked bit, \
         password_hash varbinary(256)",
        "SELECT name, principal_id, sid, type, type_desc, is_disabled, create_date, modify_date, default_database_name,
                default_language_name, credential_id, 0, 0, NULL
         FROM sys.server_principals WHERE type = 'S'",
    ),
    SystemView::in_sql(
        "database_mirroring",
        "database_id int not null, mirroring_guid uniqueidentifier, mirroring_state tinyint, mirroring_state_desc nvarchar(60), \
         mirroring_role tinyint, mirroring_role_desc nvarchar(60), mirroring_role_sequence int, mirroring_safety_level tinyint, \
         mirroring_safety_level_desc nvarchar(60), mirroring_safety_sequence int, mirroring_partner_name nvarchar(128), \
         mirroring_partner_instance nvarchar(128), mirroring_witness_name nvarchar(128), mirroring_witness_state tinyint, \
         mirroring_witness_state_desc nvarchar(60), mirroring_failover_lsn numeric(25,0), mirroring_connection_timeout int, \
         mirroring_redo_queue int, mirroring_redo_queue_type nvarchar(60), mirroring_end_of_log_lsn numeric(25,0), \
         mirroring_replication_lsn numeric(25,0)",
        "SELECT database_id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                NULL, NULL
         FROM sys.databases",
    ),
    SystemView::in_sql(
        "system_columns",
        super::columns::COLUMN_LIST,
        "SELECT * FROM sys.all_columns WHERE object_id < 0",
    ),
    SystemView::in_sql(
        "all_parameters",
        super::objects::PARAMETER_LIST,
        "SELECT * FROM sys.parameters UNION ALL SELECT * FROM sys.system_parameters",
    ),
];
