CREATE PROCEDURE sys.sp_tables @table_name nvarchar(384) = NULL, @table_owner nvarchar(384) = NULL, @table_qualifier sysname = NULL,
    @table_type varchar(100) = NULL, @fUsePattern bit = 1 AS
    SELECT TABLE_QUALIFIER = DB_NAME(), TABLE_OWNER = SCHEMA_NAME(o.schema_id), TABLE_NAME = o.name,
           TABLE_TYPE = CAST(CASE o.type WHEN 'U' THEN 'TABLE' WHEN 'S' THEN 'SYSTEM TABLE' ELSE 'VIEW' END AS varchar(32)),
           REMARKS = CAST(NULL AS varchar(254))
    FROM sys.all_objects AS o
    WHERE o.type IN ('U', 'V', 'S')
      AND (@table_name IS NULL OR (@fUsePattern = 1 AND o.name LIKE @table_name) OR o.name = @table_name)
      AND (@table_owner IS NULL OR (@fUsePattern = 1 AND SCHEMA_NAME(o.schema_id) LIKE @table_owner) OR SCHEMA_NAME(o.schema_id) = @table_owner)
      AND (@table_type IS NULL OR @table_type LIKE '%''' + CASE o.type WHEN 'U' THEN 'TABLE' WHEN 'S' THEN 'SYSTEM TABLE' ELSE 'VIEW' END + '''%')
    ORDER BY TABLE_TYPE, TABLE_QUALIFIER, TABLE_OWNER, TABLE_NAME
