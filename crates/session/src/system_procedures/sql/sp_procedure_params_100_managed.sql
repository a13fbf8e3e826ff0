CREATE PROCEDURE sys.sp_procedure_params_100_managed @procedure_name sysname, @group_number int = 1, @procedure_schema sysname = NULL,
    @parameter_name sysname = NULL AS
    -- What a .NET client asks for when it makes the parameters of a command by itself; MANAGED_DATA_TYPE is its SqlDbType.
    SET NOCOUNT ON
    DECLARE @id int = OBJECT_ID(QUOTENAME(ISNULL(@procedure_schema, N'dbo')) + N'.' + QUOTENAME(@procedure_name))
    SELECT PROCEDURE_CATALOG = CAST(DB_NAME() AS sysname), PROCEDURE_SCHEMA = CAST(SCHEMA_NAME(o.schema_id) AS sysname),
           PROCEDURE_NAME = CAST(o.name + N';1' AS nvarchar(134)), PARAMETER_NAME = p.name, ORDINAL_POSITION = CAST(p.place AS smallint),
           PARAMETER_TYPE = CAST(CASE WHEN p.place = 0 THEN 4 WHEN p.is_output = 1 THEN 2 ELSE 1 END AS smallint),
           PARAMETER_HASDEFAULT = CAST(p.has_default AS tinyint), PARAMETER_DEFAULT = CAST(NULL AS nvarchar(255)),
           IS_NULLABLE = CAST(CASE p.place WHEN 0 THEN 0 ELSE 1 END AS bit),
           MANAGED_DATA_TYPE = CAST(m.managed AS smallint),
           CHARACTER_MAXIMUM_LENGTH = CASE WHEN p.length = -1 THEN 0 WHEN m.name IN ('nchar', 'nvarchar', 'sysname') THEN p.length / 2
                                           WHEN m.name IN ('text', 'image') THEN 2147483647 WHEN m.name = 'ntext' THEN 1073741823
                                           WHEN m.name IN ('char', 'varchar', 'binary', 'varbinary', 'timestamp') THEN p.length END,
           CHARACTER_OCTET_LENGTH = CASE WHEN p.length = -1 THEN 0 WHEN m.name IN ('text', 'image') THEN 2147483647 WHEN m.name = 'ntext' THEN 2147483646
                                         WHEN m.name IN ('char', 'varchar', 'nchar', 'nvarchar', 'sysname', 'binary', 'varbinary', 'timestamp') THEN p.length END,
           NUMERIC_PRECISION = CASE WHEN m.name IN ('tinyint', 'smallint', 'int', 'bigint', 'decimal', 'numeric', 'money', 'smallmoney', 'float', 'real')
                                    THEN CAST(p.digits AS smallint) END,
           NUMERIC_SCALE = CASE WHEN m.name IN ('decimal', 'numeric', 'money', 'smallmoney') THEN CAST(p.scale AS smallint) END,
           DESCRIPTION = CAST(NULL AS nvarchar(255)), TYPE_CATALOG_NAME = CAST(NULL AS sysname), TYPE_SCHEMA_NAME = CAST(NULL AS sysname),
           TYPE_NAME = CAST(m.name AS sysname), XML_CATALOGNAME = CAST(NULL AS sysname), XML_SCHEMANAME = CAST(NULL AS sysname),
           XML_SCHEMACOLLECTIONNAME = CAST(NULL AS sysname),
           SS_DATETIME_PRECISION = CASE WHEN m.name IN ('time', 'datetime2', 'datetimeoffset') THEN CAST(p.scale AS tinyint) END
    FROM sys.all_objects AS o
    JOIN (SELECT object_id, 0 AS place, CAST(N'@RETURN_VALUE' AS sysname) AS name, 56 AS type, 4 AS length, 10 AS digits, 0 AS scale, 0 AS is_output, 0 AS has_default
          FROM sys.all_objects WHERE type = 'P'
          UNION ALL
          SELECT object_id, parameter_id, name, system_type_id, max_length, precision, scale, CAST(is_output AS int), CAST(has_default_value AS int)
          FROM sys.all_parameters) AS p ON p.object_id = o.object_id
    JOIN (VALUES (127, 'bigint', 0), (173, 'binary', 1), (104, 'bit', 2), (175, 'char', 3), (61, 'datetime', 4), (106, 'decimal', 5),
                 (108, 'numeric', 5), (62, 'float', 6), (34, 'image', 7), (56, 'int', 8), (60, 'money', 9), (239, 'nchar', 10), (99, 'ntext', 11),
                 (231, 'nvarchar', 12), (59, 'real', 13), (36, 'uniqueidentifier', 14), (58, 'smalldatetime', 15), (52, 'smallint', 16),
                 (122, 'smallmoney', 17), (35, 'text', 18), (189, 'timestamp', 19), (48, 'tinyint', 20), (165, 'varbinary', 21), (167, 'varchar', 22),
                 (98, 'sql_variant', 23), (241, 'xml', 25), (40, 'date', 31), (41, 'time', 32), (42, 'datetime2', 33),
                 (43, 'datetimeoffset', 34)) AS m (type, name, managed) ON m.type = p.type
    WHERE o.object_id = @id AND @group_number = 1 AND (@parameter_name IS NULL OR p.name = @parameter_name)
    ORDER BY p.place
    RETURN 0
