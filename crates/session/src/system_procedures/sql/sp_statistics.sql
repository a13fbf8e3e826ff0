CREATE PROCEDURE sys.sp_statistics @table_name sysname, @table_owner sysname = NULL, @table_qualifier sysname = NULL,
    @index_name sysname = N'%', @is_unique char(1) = 'N', @accuracy char(1) = 'Q' AS
    SET NOCOUNT ON
    -- Clients that have nothing to say say ''.
    SET @table_owner = NULLIF(@table_owner, N'')
    IF @table_qualifier IS NOT NULL AND @table_qualifier <> N'' AND @table_qualifier <> DB_NAME()
    BEGIN
        RAISERROR(15250, -1, -1)
        RETURN 1
    END
    SELECT TABLE_QUALIFIER = CAST(DB_NAME() AS sysname), TABLE_OWNER = CAST(SCHEMA_NAME(o.schema_id) AS sysname), TABLE_NAME = o.name,
           NON_UNIQUE = CAST(NULL AS smallint), INDEX_QUALIFIER = CAST(NULL AS sysname), INDEX_NAME = CAST(NULL AS sysname), TYPE = CAST(0 AS smallint),
           SEQ_IN_INDEX = CAST(NULL AS smallint), COLUMN_NAME = CAST(NULL AS sysname), COLLATION = CAST(NULL AS char(1)),
           CARDINALITY = CAST(p.row_count AS int), PAGES = CAST(p.used_page_count AS int), FILTER_CONDITION = CAST(NULL AS varchar(128))
    FROM sys.objects AS o JOIN sys.dm_db_partition_stats AS p ON p.object_id = o.object_id AND p.index_id IN (0, 1)
    WHERE o.name = @table_name AND (@table_owner IS NULL OR SCHEMA_NAME(o.schema_id) = @table_owner)
    UNION ALL
    SELECT DB_NAME(), SCHEMA_NAME(o.schema_id), o.name, CASE i.is_unique WHEN 1 THEN 0 ELSE 1 END, o.name, i.name,
           CASE i.type WHEN 1 THEN 1 ELSE 3 END, ic.key_ordinal, c.name, CASE ic.is_descending_key WHEN 1 THEN 'D' ELSE 'A' END,
           CASE i.is_unique WHEN 1 THEN p.row_count END, p.used_page_count, CAST(i.filter_definition AS varchar(128))
    FROM sys.indexes AS i
    JOIN sys.objects AS o ON o.object_id = i.object_id
    JOIN sys.index_columns AS ic ON ic.object_id = i.object_id AND ic.index_id = i.index_id AND ic.is_included_column = 0
    JOIN sys.columns AS c ON c.object_id = i.object_id AND c.column_id = ic.column_id
    LEFT JOIN sys.dm_db_partition_stats AS p ON p.object_id = i.object_id AND p.index_id = i.index_id
    WHERE i.index_id > 0 AND o.name = @table_name AND (@table_owner IS NULL OR SCHEMA_NAME(o.schema_id) = @table_owner)
      AND (@index_name IS NULL OR i.name LIKE @index_name) AND (@is_unique <> 'Y' OR i.is_unique = 1)
    ORDER BY 4, 7, 6, 8
