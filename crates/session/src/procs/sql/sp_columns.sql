CREATE PROCEDURE sys.sp_columns @table_name nvarchar(384), @table_owner nvarchar(384) = NULL, @table_qualifier sysname = NULL,
    @column_name nvarchar(384) = NULL, @NameScope int = 0, @ODBCVer int = 2, @fUsePattern bit = 1 AS
    SELECT TABLE_QUALIFIER = DB_NAME(), TABLE_OWNER = SCHEMA_NAME(o.schema_id), TABLE_NAME = o.name, COLUMN_NAME = c.name,
           DATA_TYPE = CAST(CASE t.name WHEN 'bit' THEN -7 WHEN 'tinyint' THEN -6 WHEN 'smallint' THEN 5 WHEN 'int' THEN 4 WHEN 'bigint' THEN -5
               WHEN 'decimal' THEN 3 WHEN 'numeric' THEN 2 WHEN 'money' THEN 3 WHEN 'smallmoney' THEN 3 WHEN 'real' THEN 7 WHEN 'float' THEN 6
               WHEN 'char' THEN 1 WHEN 'varchar' THEN 12 WHEN 'text' THEN -1 WHEN 'nchar' THEN -8 WHEN 'nvarchar' THEN -9 WHEN 'sysname' THEN -9
               WHEN 'ntext' THEN -10 WHEN 'binary' THEN -2 WHEN 'varbinary' THEN -3 WHEN 'image' THEN -4 WHEN 'date' THEN -9
               WHEN 'time' THEN -9 WHEN 'datetime' THEN 11 WHEN 'smalldatetime' THEN 11 WHEN 'datetime2' THEN -9 WHEN 'datetimeoffset' THEN -9
               WHEN 'uniqueidentifier' THEN -11 WHEN 'timestamp' THEN -2 ELSE -150 END AS smallint),
           TYPE_NAME = CAST(t.name + CASE WHEN c.is_identity = 1 THEN N' identity' ELSE N'' END AS sysname),
           [PRECISION] = CAST(CASE WHEN c.[precision] > 0 THEN c.[precision] WHEN t.name IN ('nchar', 'nvarchar', 'sysname') THEN c.max_length / 2
               ELSE c.max_length END AS int),
           LENGTH = CAST(c.max_length AS int), SCALE = CAST(CASE WHEN c.[precision] > 0 THEN c.scale END AS smallint),
           RADIX = CAST(CASE WHEN t.name IN ('bit', 'tinyint', 'smallint', 'int', 'bigint', 'decimal', 'numeric', 'money', 'smallmoney') THEN 10
               WHEN t.name IN ('real', 'float') THEN 2 END AS smallint),
           NULLABLE = CAST(c.is_nullable AS smallint), REMARKS = CAST(NULL AS varchar(254)), COLUMN_DEF = CAST(d.definition AS nvarchar(4000)),
           SQL_DATA_TYPE = CAST(CASE t.name WHEN 'int' THEN 4 WHEN 'nvarchar' THEN -9 WHEN 'varchar' THEN 12 ELSE 0 END AS smallint),
           SQL_DATETIME_SUB = CAST(NULL AS smallint),
           CHAR_OCTET_LENGTH = CAST(CASE WHEN t.name LIKE '%char' OR t.name LIKE '%binary' THEN c.max_length END AS int),
           ORDINAL_POSITION = c.column_id, IS_NULLABLE = CAST(CASE c.is_nullable WHEN 1 THEN 'YES' ELSE 'NO' END AS varchar(254)),
           SS_DATA_TYPE = CAST(c.system_type_id AS tinyint)
    FROM sys.all_columns AS c
    JOIN sys.all_objects AS o ON o.object_id = c.object_id
    JOIN sys.types AS t ON t.user_type_id = c.user_type_id
    LEFT JOIN sys.default_constraints AS d ON d.parent_object_id = c.object_id AND d.parent_column_id = c.column_id
    WHERE (o.name LIKE @table_name OR o.name = @table_name)
      AND (@table_owner IS NULL OR SCHEMA_NAME(o.schema_id) LIKE @table_owner)
      AND (@column_name IS NULL OR c.name LIKE @column_name)
    ORDER BY TABLE_OWNER, TABLE_NAME, ORDINAL_POSITION
