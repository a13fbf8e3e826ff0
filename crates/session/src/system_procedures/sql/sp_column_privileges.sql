CREATE PROCEDURE sys.sp_column_privileges @table_name nvarchar(384), @table_owner nvarchar(384) = NULL, @table_qualifier sysname = NULL,
    @column_name nvarchar(384) = NULL AS
    SET NOCOUNT ON
    -- Clients that have nothing to say say ''.
    SET @table_owner = NULLIF(@table_owner, N'')
    IF @table_qualifier IS NOT NULL AND @table_qualifier <> N'' AND @table_qualifier <> DB_NAME()
    BEGIN
        RAISERROR(15250, -1, -1)
        RETURN 1
    END
    -- The owner of a table may do everything with it, and hand it on.
    SELECT TABLE_QUALIFIER = CAST(DB_NAME() AS sysname), TABLE_OWNER = CAST(SCHEMA_NAME(o.schema_id) AS sysname), TABLE_NAME = o.name,
           COLUMN_NAME = CAST(c.name AS sysname), GRANTOR = CAST(N'dbo' AS sysname), GRANTEE = CAST(N'dbo' AS sysname),
           PRIVILEGE = CAST(p.name AS varchar(32)), IS_GRANTABLE = CAST('YES' AS varchar(3))
    FROM sys.objects AS o
    JOIN sys.columns AS c ON c.object_id = o.object_id
    CROSS JOIN (VALUES ('INSERT'), ('REFERENCES'), ('SELECT'), ('UPDATE')) AS p(name)
    WHERE o.type IN ('U', 'V') AND o.name = @table_name
      AND (@table_owner IS NULL OR SCHEMA_NAME(o.schema_id) = @table_owner)
      AND (@column_name IS NULL OR c.name LIKE @column_name)
    ORDER BY 1, 2, 3, 4, 7
