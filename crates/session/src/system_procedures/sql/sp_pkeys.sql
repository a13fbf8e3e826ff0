CREATE PROCEDURE sys.sp_pkeys @table_name sysname, @table_owner sysname = NULL, @table_qualifier sysname = NULL AS
    SET NOCOUNT ON
    -- Clients that have nothing to say say ''.
    SET @table_owner = NULLIF(@table_owner, N'')
    IF @table_qualifier IS NOT NULL AND @table_qualifier <> N'' AND @table_qualifier <> DB_NAME()
    BEGIN
        RAISERROR(15250, -1, -1)
        RETURN 1
    END
    SELECT TABLE_QUALIFIER = CAST(DB_NAME() AS sysname), TABLE_OWNER = CAST(SCHEMA_NAME(o.schema_id) AS sysname), TABLE_NAME = o.name,
           COLUMN_NAME = CAST(c.name AS sysname), KEY_SEQ = CAST(ic.key_ordinal AS smallint), PK_NAME = CAST(i.name AS sysname)
    FROM sys.indexes AS i
    JOIN sys.objects AS o ON o.object_id = i.object_id
    JOIN sys.index_columns AS ic ON ic.object_id = i.object_id AND ic.index_id = i.index_id AND ic.is_included_column = 0
    JOIN sys.columns AS c ON c.object_id = i.object_id AND c.column_id = ic.column_id
    WHERE i.is_primary_key = 1 AND o.name = @table_name AND (@table_owner IS NULL OR SCHEMA_NAME(o.schema_id) = @table_owner)
    ORDER BY 1, 2, 3, 5
