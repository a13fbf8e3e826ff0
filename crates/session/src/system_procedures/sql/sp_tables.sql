CREATE PROCEDURE sys.sp_tables @table_name nvarchar(384) = NULL, @table_owner nvarchar(384) = NULL, @table_qualifier sysname = NULL,
    @table_type varchar(100) = NULL, @fUsePattern bit = 1 AS
    SET NOCOUNT ON
    -- With '%' in one place and nothing in the others: a list of databases, of owners, of types.
    IF @table_qualifier = N'%' AND @table_owner = N'' AND @table_name = N''
    BEGIN
        SELECT TABLE_QUALIFIER = name, TABLE_OWNER = CAST(NULL AS sysname), TABLE_NAME = CAST(NULL AS sysname), TABLE_TYPE = CAST(NULL AS varchar(32)),
               REMARKS = CAST(NULL AS varchar(254))
        FROM sys.databases ORDER BY 1
        RETURN 0
    END
    IF @table_owner = N'%' AND @table_qualifier = N'' AND @table_name = N''
    BEGIN
        SELECT TABLE_QUALIFIER = CAST(NULL AS sysname), TABLE_OWNER = name, TABLE_NAME = CAST(NULL AS sysname), TABLE_TYPE = CAST(NULL AS varchar(32)),
               REMARKS = CAST(NULL AS varchar(254))
        FROM sys.schemas ORDER BY 2
        RETURN 0
    END
    IF @table_type = '%' AND @table_qualifier = N'' AND @table_owner = N'' AND @table_name = N''
    BEGIN
        SELECT TABLE_QUALIFIER = CAST(NULL AS sysname), TABLE_OWNER = CAST(NULL AS sysname), TABLE_NAME = CAST(NULL AS sysname),
               TABLE_TYPE = CAST(t.kind AS varchar(32)), REMARKS = CAST(NULL AS varchar(254))
        FROM (VALUES ('SYSTEM TABLE'), ('TABLE'), ('VIEW')) AS t(kind) ORDER BY 4
        RETURN 0
    END
    IF @table_qualifier <> N'' AND @table_qualifier <> DB_NAME()
    BEGIN
        RAISERROR(15250, -1, -1)
        RETURN 1
    END
    SELECT TABLE_QUALIFIER = CAST(DB_NAME() AS sysname), TABLE_OWNER = CAST(SCHEMA_NAME(o.schema_id) AS sysname), TABLE_NAME = o.name,
           TABLE_TYPE = CAST(CASE o.type WHEN 'U' THEN 'TABLE' WHEN 'S' THEN 'SYSTEM TABLE' ELSE 'VIEW' END AS varchar(32)),
           REMARKS = CAST(NULL AS varchar(254))
    FROM sys.all_objects AS o
    WHERE o.type IN ('U', 'V', 'S')
      AND (@table_name IS NULL OR o.name = @table_name OR (@fUsePattern = 1 AND o.name LIKE @table_name))
      AND (@table_owner IS NULL OR SCHEMA_NAME(o.schema_id) = @table_owner OR (@fUsePattern = 1 AND SCHEMA_NAME(o.schema_id) LIKE @table_owner))
      AND (@table_type IS NULL OR @table_type LIKE '%''' + CASE o.type WHEN 'U' THEN 'TABLE' WHEN 'S' THEN 'SYSTEM TABLE' ELSE 'VIEW' END + '''%')
    ORDER BY 4, 1, 2, 3
