//! INFORMATION_SCHEMA, continued: views that are queries over the catalog views.

use plan_ir::view::SystemView;

const NAMES: &str = "INFORMATION_SCHEMA";

pub(super) static VIEWS: &[SystemView] = &[
    SystemView::in_sql(
        "ROUTINES",
        "SPECIFIC_CATALOG nvarchar(128), SPECIFIC_SCHEMA nvarchar(128), SPECIFIC_NAME sysname, ROUTINE_CATALOG nvarchar(128), \
         ROUTINE_SCHEMA nvarchar(128), ROUTINE_NAME sysname, ROUTINE_TYPE nvarchar(20), MODULE_CATALOG nvarchar(128), MODULE_SCHEMA \
         nvarchar(128), MODULE_NAME nvarchar(128), UDT_CATALOG nvarchar(128), UDT_SCHEMA nvarchar(128), UDT_NAME nvarchar(128), DATA_TYPE \
         nvarchar(128), CHARACTER_MAXIMUM_LENGTH int, CHARACTER_OCTET_LENGTH int, COLLATION_CATALOG nvarchar(128), COLLATION_SCHEMA \
         nvarchar(128), COLLATION_NAME nvarchar(128), CHARACTER_SET_CATALOG nvarchar(128), CHARACTER_SET_SCHEMA nvarchar(128), \
         CHARACTER_SET_NAME nvarchar(128), NUMERIC_PRECISION smallint, NUMERIC_PRECISION_RADIX smallint, NUMERIC_SCALE smallint, \
         DATETIME_PRECISION smallint, INTERVAL_TYPE nvarchar(30), INTERVAL_PRECISION smallint, TYPE_UDT_CATALOG nvarchar(128), \
         TYPE_UDT_SCHEMA nvarchar(128), TYPE_UDT_NAME nvarchar(128), SCOPE_CATALOG nvarchar(128), SCOPE_SCHEMA nvarchar(128), SCOPE_NAME \
         nvarchar(128), MAXIMUM_CARDINALITY bigint, DTD_IDENTIFIER nvarchar(128), ROUTINE_BODY nvarchar(30), ROUTINE_DEFINITION \
         nvarchar(4000), EXTERNAL_NAME nvarchar(128), EXTERNAL_LANGUAGE nvarchar(30), PARAMETER_STYLE nvarchar(30), IS_DETERMINISTIC \
         nvarchar(10), SQL_DATA_ACCESS nvarchar(30), IS_NULL_CALL nvarchar(10), SQL_PATH nvarchar(128), SCHEMA_LEVEL_ROUTINE \
         nvarchar(10), MAX_DYNAMIC_RESULT_SETS smallint, IS_USER_DEFINED_CAST nvarchar(10), IS_IMPLICITLY_INVOCABLE nvarchar(10), CREATED \
         datetime not null, LAST_ALTERED datetime not null",
        "SELECT DB_NAME(), s.name, o.name, DB_NAME(), s.name, o.name, CASE o.type WHEN 'P' THEN N'PROCEDURE' ELSE N'FUNCTION' END,
                NULL, NULL, NULL, NULL, NULL, NULL, CASE WHEN o.type IN ('IF', 'TF') THEN N'TABLE' ELSE TYPE_NAME(r.system_type_id) END,
                CASE WHEN r.system_type_id IN (167, 175, 165, 173) THEN r.max_length WHEN r.system_type_id IN (231, 239) THEN CASE r.max_length WHEN -1 THEN -1 ELSE r.max_length / 2 END WHEN r.system_type_id IN (34, 35) THEN 2147483647 WHEN r.system_type_id = 99 THEN 1073741823 WHEN r.system_type_id = 241 THEN -1 END,
                CASE WHEN r.system_type_id IN (167, 175, 165, 173, 231, 239) THEN r.max_length WHEN r.system_type_id IN (34, 35) THEN 2147483647 WHEN r.system_type_id = 99 THEN 2147483646 WHEN r.system_type_id = 241 THEN -1 END,
                NULL, NULL, CASE WHEN r.system_type_id IN (167, 175, 231, 239, 35, 99) THEN CAST(DATABASEPROPERTYEX(DB_NAME(), 'Collation') AS nvarchar(128)) END,
                NULL, NULL, CASE WHEN r.system_type_id IN (167, 175, 35) THEN N'iso_1' WHEN r.system_type_id IN (231, 239, 99) THEN N'UNICODE' END,
                CASE WHEN r.system_type_id IN (48, 52, 56, 59, 60, 62, 106, 108, 122, 127) THEN r.[precision] END, CASE WHEN r.system_type_id IN (48, 52, 56, 60, 106, 108, 122, 127) THEN 10 WHEN r.system_type_id IN (59, 62) THEN 2 END,
                CASE WHEN r.system_type_id IN (48, 52, 56, 60, 106, 108, 122, 127) THEN r.scale END, CASE WHEN r.system_type_id IN (40, 58) THEN 0 WHEN r.system_type_id = 61 THEN 3 WHEN r.system_type_id IN (41, 42, 43) THEN r.scale END,
                NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, N'SQL', CASE WHEN LEN(m.definition) <= 4000 THEN m.definition END,
                NULL, NULL, NULL, N'NO', CASE o.type WHEN 'P' THEN N'MODIFIES' ELSE N'READS' END, CASE o.type WHEN 'P' THEN NULL ELSE N'NO' END,
                NULL, N'YES', CASE o.type WHEN 'P' THEN -1 ELSE 0 END, N'NO', N'NO', o.create_date, o.modify_date
         FROM sys.objects AS o JOIN sys.schemas AS s ON s.schema_id = o.schema_id
         LEFT JOIN sys.sql_modules AS m ON m.object_id = o.object_id
         LEFT JOIN sys.parameters AS r ON r.object_id = o.object_id AND r.parameter_id = 0
         WHERE o.type IN ('P', 'FN', 'IF', 'TF')",
    )
    .in_schema(NAMES),
    SystemView::in_sql(
        "PARAMETERS",
        "SPECIFIC_CATALOG nvarchar(128), SPECIFIC_SCHEMA nvarchar(128), SPECIFIC_NAME sysname, ORDINAL_POSITION int not null, \
         PARAMETER_MODE nvarchar(10), IS_RESULT nvarchar(10), AS_LOCATOR nvarchar(10), PARAMETER_NAME nvarchar(128), DATA_TYPE \
         nvarchar(128), CHARACTER_MAXIMUM_LENGTH int, CHARACTER_OCTET_LENGTH int, COLLATION_CATALOG nvarchar(128), COLLATION_SCHEMA \
         nvarchar(128), COLLATION_NAME nvarchar(128), CHARACTER_SET_CATALOG nvarchar(128), CHARACTER_SET_SCHEMA nvarchar(128), \
         CHARACTER_SET_NAME nvarchar(128), NUMERIC_PRECISION tinyint, NUMERIC_PRECISION_RADIX smallint, NUMERIC_SCALE tinyint, \
         DATETIME_PRECISION smallint, INTERVAL_TYPE nvarchar(30), INTERVAL_PRECISION smallint, USER_DEFINED_TYPE_CATALOG nvarchar(128), \
         USER_DEFINED_TYPE_SCHEMA nvarchar(128), USER_DEFINED_TYPE_NAME nvarchar(128), SCOPE_CATALOG nvarchar(128), SCOPE_SCHEMA \
         nvarchar(128), SCOPE_NAME nvarchar(128)",
        "SELECT DB_NAME(), s.name, o.name, p.parameter_id, CASE WHEN p.parameter_id = 0 THEN N'OUT' WHEN p.is_output = 1 THEN N'INOUT' ELSE N'IN' END,
                CASE p.parameter_id WHEN 0 THEN N'YES' ELSE N'NO' END, N'NO', p.name, TYPE_NAME(p.system_type_id),
                CASE WHEN p.system_type_id IN (167, 175, 165, 173) THEN p.max_length WHEN p.system_type_id IN (231, 239) THEN CASE p.max_length WHEN -1 THEN -1 ELSE p.max_length / 2 END WHEN p.system_type_id IN (34, 35) THEN 2147483647 WHEN p.system_type_id = 99 THEN 1073741823 WHEN p.system_type_id = 241 THEN -1 END,
                CASE WHEN p.system_type_id IN (167, 175, 165, 173, 231, 239) THEN p.max_length WHEN p.system_type_id IN (34, 35) THEN 2147483647 WHEN p.system_type_id = 99 THEN 2147483646 WHEN p.system_type_id = 241 THEN -1 END,
                NULL, NULL, CASE WHEN p.system_type_id IN (167, 175, 231, 239, 35, 99) THEN CAST(DATABASEPROPERTYEX(DB_NAME(), 'Collation') AS nvarchar(128)) END,
                NULL, NULL, CASE WHEN p.system_type_id IN (167, 175, 35) THEN N'iso_1' WHEN p.system_type_id IN (231, 239, 99) THEN N'UNICODE' END,
                CASE WHEN p.system_type_id IN (48, 52, 56, 59, 60, 62, 106, 108, 122, 127) THEN p.[precision] END, CASE WHEN p.system_type_id IN (48, 52, 56, 60, 106, 108, 122, 127) THEN 10 WHEN p.system_type_id IN (59, 62) THEN 2 END,
                CASE WHEN p.system_type_id IN (48, 52, 56, 60, 106, 108, 122, 127) THEN p.scale END, CASE WHEN p.system_type_id IN (40, 58) THEN 0 WHEN p.system_type_id = 61 THEN 3 WHEN p.system_type_id IN (41, 42, 43) THEN p.scale END, NULL, NULL,
                CASE WHEN t.is_user_defined = 1 THEN DB_NAME() END, CASE WHEN t.is_user_defined = 1 THEN SCHEMA_NAME(t.schema_id) END,
                CASE WHEN t.is_user_defined = 1 THEN t.name END, NULL, NULL, NULL
         FROM sys.parameters AS p JOIN sys.objects AS o ON o.object_id = p.object_id JOIN sys.schemas AS s ON s.schema_id = o.schema_id
         LEFT JOIN sys.types AS t ON t.user_type_id = p.user_type_id",
    )
    .in_schema(NAMES),
    SystemView::in_sql(
        "CONSTRAINT_COLUMN_USAGE",
        "TABLE_CATALOG nvarchar(128), TABLE_SCHEMA nvarchar(128), TABLE_NAME sysname, COLUMN_NAME nvarchar(128), CONSTRAINT_CATALOG \
         nvarchar(128), CONSTRAINT_SCHEMA nvarchar(128), CONSTRAINT_NAME sysname",
        "SELECT TABLE_CATALOG, TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, CONSTRAINT_CATALOG, CONSTRAINT_SCHEMA, CONSTRAINT_NAME
         FROM INFORMATION_SCHEMA.KEY_COLUMN_USAGE
         UNION ALL
         SELECT DB_NAME(), SCHEMA_NAME(t.schema_id), t.name, COL_NAME(d.referenced_major_id, d.referenced_minor_id), DB_NAME(),
                SCHEMA_NAME(k.schema_id), k.name
         FROM sys.check_constraints AS k JOIN sys.sql_dependencies AS d ON d.object_id = k.object_id
         JOIN sys.tables AS t ON t.object_id = d.referenced_major_id",
    )
    .in_schema(NAMES),
    SystemView::in_sql(
        "VIEW_TABLE_USAGE",
        "VIEW_CATALOG nvarchar(128), VIEW_SCHEMA nvarchar(128), VIEW_NAME sysname, TABLE_CATALOG nvarchar(128), TABLE_SCHEMA \
         nvarchar(128), TABLE_NAME sysname",
        "SELECT DB_NAME(), SCHEMA_NAME(v.schema_id), v.name, DB_NAME(), d.referenced_schema_name, d.referenced_entity_name
         FROM sys.views AS v JOIN sys.sql_expression_dependencies AS d ON d.referencing_id = v.object_id
         WHERE d.referenced_id IS NOT NULL",
    )
    .in_schema(NAMES),
    SystemView::in_sql(
        "VIEW_COLUMN_USAGE",
        "VIEW_CATALOG nvarchar(128), VIEW_SCHEMA nvarchar(128), VIEW_NAME sysname, TABLE_CATALOG nvarchar(128), TABLE_SCHEMA \
         nvarchar(128), TABLE_NAME sysname, COLUMN_NAME nvarchar(128)",
        "SELECT DB_NAME(), SCHEMA_NAME(v.schema_id), v.name, DB_NAME(), SCHEMA_NAME(t.schema_id), t.name, c.name
         FROM sys.views AS v JOIN sys.sql_dependencies AS d ON d.object_id = v.object_id
         JOIN sys.objects AS t ON t.object_id = d.referenced_major_id
         JOIN sys.columns AS c ON c.object_id = d.referenced_major_id AND c.column_id = d.referenced_minor_id",
    )
    .in_schema(NAMES),
    SystemView::in_sql(
        "DOMAINS",
        "DOMAIN_CATALOG nvarchar(128), DOMAIN_SCHEMA nvarchar(128), DOMAIN_NAME sysname, DATA_TYPE sysname, CHARACTER_MAXIMUM_LENGTH int, \
         CHARACTER_OCTET_LENGTH int, COLLATION_CATALOG nvarchar(128), COLLATION_SCHEMA nvarchar(128), COLLATION_NAME nvarchar(128), \
         CHARACTER_SET_CATALOG nvarchar(128), CHARACTER_SET_SCHEMA nvarchar(128), CHARACTER_SET_NAME nvarchar(128), NUMERIC_PRECISION \
         tinyint, NUMERIC_PRECISION_RADIX smallint, NUMERIC_SCALE tinyint, DATETIME_PRECISION smallint, DOMAIN_DEFAULT nvarchar(4000)",
        "SELECT DB_NAME(), SCHEMA_NAME(t.schema_id), t.name, TYPE_NAME(t.system_type_id),
                CASE WHEN t.system_type_id IN (167, 175, 165, 173) THEN t.max_length WHEN t.system_type_id IN (231, 239) THEN CASE t.max_length WHEN -1 THEN -1 ELSE t.max_length / 2 END WHEN t.system_type_id IN (34, 35) THEN 2147483647 WHEN t.system_type_id = 99 THEN 1073741823 WHEN t.system_type_id = 241 THEN -1 END,
                CASE WHEN t.system_type_id IN (167, 175, 165, 173, 231, 239) THEN t.max_length WHEN t.system_type_id IN (34, 35) THEN 2147483647 WHEN t.system_type_id = 99 THEN 2147483646 WHEN t.system_type_id = 241 THEN -1 END,
                NULL, NULL, CASE WHEN t.system_type_id IN (167, 175, 231, 239, 35, 99) THEN CAST(DATABASEPROPERTYEX(DB_NAME(), 'Collation') AS nvarchar(128)) END,
                NULL, NULL, CASE WHEN t.system_type_id IN (167, 175, 35) THEN N'iso_1' WHEN t.system_type_id IN (231, 239, 99) THEN N'UNICODE' END,
                CASE WHEN t.system_type_id IN (48, 52, 56, 59, 60, 62, 106, 108, 122, 127) THEN t.[precision] END, CASE WHEN t.system_type_id IN (48, 52, 56, 60, 106, 108, 122, 127) THEN 10 WHEN t.system_type_id IN (59, 62) THEN 2 END,
                CASE WHEN t.system_type_id IN (48, 52, 56, 60, 106, 108, 122, 127) THEN t.scale END, CASE WHEN t.system_type_id IN (40, 58) THEN 0 WHEN t.system_type_id = 61 THEN 3 WHEN t.system_type_id IN (41, 42, 43) THEN t.scale END, NULL
         FROM sys.types AS t WHERE t.is_user_defined = 1 AND t.is_table_type = 0",
    )
    .in_schema(NAMES),
    SystemView::in_sql(
        "DOMAIN_CONSTRAINTS",
        "CONSTRAINT_CATALOG nvarchar(128), CONSTRAINT_SCHEMA nvarchar(128), CONSTRAINT_NAME sysname, DOMAIN_CATALOG nvarchar(128), \
         DOMAIN_SCHEMA nvarchar(128), DOMAIN_NAME sysname, IS_DEFERRABLE varchar(2) not null, INITIALLY_DEFERRED varchar(2) not null",
        "SELECT DB_NAME(), SCHEMA_NAME(r.schema_id), r.name, DB_NAME(), SCHEMA_NAME(t.schema_id), t.name, 'NO', 'NO'
         FROM sys.types AS t JOIN sys.objects AS r ON r.object_id = t.rule_object_id",
    )
    .in_schema(NAMES),
    SystemView::in_sql(
        "COLUMN_DOMAIN_USAGE",
        "DOMAIN_CATALOG nvarchar(128), DOMAIN_SCHEMA nvarchar(128), DOMAIN_NAME sysname, TABLE_CATALOG nvarchar(128), TABLE_SCHEMA \
         nvarchar(128), TABLE_NAME sysname, COLUMN_NAME nvarchar(128)",
        "SELECT DB_NAME(), SCHEMA_NAME(t.schema_id), t.name, DB_NAME(), SCHEMA_NAME(o.schema_id), o.name, c.name
         FROM sys.columns AS c JOIN sys.types AS t ON t.user_type_id = c.user_type_id JOIN sys.objects AS o ON o.object_id = c.object_id
         WHERE t.is_user_defined = 1",
    )
    .in_schema(NAMES),
    SystemView::in_sql(
        "TABLE_PRIVILEGES",
        "GRANTOR nvarchar(128), GRANTEE nvarchar(128), TABLE_CATALOG nvarchar(128), TABLE_SCHEMA nvarchar(128), TABLE_NAME sysname, \
         PRIVILEGE_TYPE varchar(10), IS_GRANTABLE varchar(3)",
        "SELECT USER_NAME(p.grantor_principal_id), USER_NAME(p.grantee_principal_id), DB_NAME(), SCHEMA_NAME(o.schema_id), o.name,
                p.permission_name, CASE p.state WHEN 'W' THEN 'YES' ELSE 'NO' END
         FROM sys.database_permissions AS p JOIN sys.objects AS o ON o.object_id = p.major_id
         WHERE p.class = 1 AND p.minor_id = 0 AND o.type IN ('U', 'V')",
    )
    .in_schema(NAMES),
    SystemView::in_sql(
        "COLUMN_PRIVILEGES",
        "GRANTOR nvarchar(128), GRANTEE nvarchar(128), TABLE_CATALOG nvarchar(128), TABLE_SCHEMA nvarchar(128), TABLE_NAME sysname, \
         COLUMN_NAME nvarchar(128), PRIVILEGE_TYPE varchar(10), IS_GRANTABLE varchar(3)",
        "SELECT USER_NAME(p.grantor_principal_id), USER_NAME(p.grantee_principal_id), DB_NAME(), SCHEMA_NAME(o.schema_id), o.name, c.name,
                p.permission_name, CASE p.state WHEN 'W' THEN 'YES' ELSE 'NO' END
         FROM sys.database_permissions AS p JOIN sys.objects AS o ON o.object_id = p.major_id
         JOIN sys.columns AS c ON c.object_id = o.object_id AND p.minor_id IN (0, c.column_id)
         WHERE p.class = 1 AND o.type IN ('U', 'V')",
    )
    .in_schema(NAMES),
    SystemView::in_sql(
        "ROUTINE_COLUMNS",
        "TABLE_CATALOG nvarchar(128), TABLE_SCHEMA nvarchar(128), TABLE_NAME sysname, COLUMN_NAME nvarchar(128), ORDINAL_POSITION int not \
         null, COLUMN_DEFAULT nvarchar(4000), IS_NULLABLE varchar(3), DATA_TYPE nvarchar(128), CHARACTER_MAXIMUM_LENGTH int, \
         CHARACTER_OCTET_LENGTH int, NUMERIC_PRECISION tinyint, NUMERIC_PRECISION_RADIX smallint, NUMERIC_SCALE tinyint, \
         DATETIME_PRECISION smallint, CHARACTER_SET_CATALOG nvarchar(128), CHARACTER_SET_SCHEMA nvarchar(128), CHARACTER_SET_NAME \
         nvarchar(128), COLLATION_CATALOG nvarchar(128), COLLATION_SCHEMA nvarchar(128), COLLATION_NAME nvarchar(128), DOMAIN_CATALOG \
         nvarchar(128), DOMAIN_SCHEMA nvarchar(128), DOMAIN_NAME nvarchar(128)",
        "SELECT DB_NAME(), SCHEMA_NAME(o.schema_id), o.name, c.name, c.column_id, NULL, CASE c.is_nullable WHEN 1 THEN 'YES' ELSE 'NO' END,
                TYPE_NAME(c.system_type_id), CASE WHEN c.system_type_id IN (167, 175, 165, 173) THEN c.max_length WHEN c.system_type_id IN (231, 239) THEN CASE c.max_length WHEN -1 THEN -1 ELSE c.max_length / 2 END WHEN c.system_type_id IN (34, 35) THEN 2147483647 WHEN c.system_type_id = 99 THEN 1073741823 WHEN c.system_type_id = 241 THEN -1 END,
                CASE WHEN c.system_type_id IN (167, 175, 165, 173, 231, 239) THEN c.max_length WHEN c.system_type_id IN (34, 35) THEN 2147483647 WHEN c.system_type_id = 99 THEN 2147483646 WHEN c.system_type_id = 241 THEN -1 END,
                CASE WHEN c.system_type_id IN (48, 52, 56, 59, 60, 62, 106, 108, 122, 127) THEN c.[precision] END, CASE WHEN c.system_type_id IN (48, 52, 56, 60, 106, 108, 122, 127) THEN 10 WHEN c.system_type_id IN (59, 62) THEN 2 END,
                CASE WHEN c.system_type_id IN (48, 52, 56, 60, 106, 108, 122, 127) THEN c.scale END, CASE WHEN c.system_type_id IN (40, 58) THEN 0 WHEN c.system_type_id = 61 THEN 3 WHEN c.system_type_id IN (41, 42, 43) THEN c.scale END,
                NULL, NULL, CASE WHEN c.system_type_id IN (167, 175, 35) THEN N'iso_1' WHEN c.system_type_id IN (231, 239, 99) THEN N'UNICODE' END, NULL, NULL, c.collation_name, NULL, NULL, NULL
         FROM sys.columns AS c JOIN sys.objects AS o ON o.object_id = c.object_id WHERE o.type IN ('IF', 'TF')",
    )
    .in_schema(NAMES),
];
