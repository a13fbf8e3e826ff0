CREATE PROCEDURE sys.sp_statistics @table_name sysname, @table_owner sysname = NULL, @table_qualifier sysname = NULL,
    @index_name sysname = '%', @is_unique char(1) = 'N', @accuracy char(1) = 'Q' AS
    SELECT TABLE_QUALIFIER = DB_NAME(), TABLE_OWNER = SCHEMA_NAME(o.schema_id), TABLE_NAME = o.name,
           NON_UNIQUE = CAST(CASE i.is_unique WHEN 1 THEN 0 ELSE 1 END AS smallint), INDEX_QUALIFIER = o.name, INDEX_NAME = i.name,
           TYPE = CAST(CASE i.type WHEN 1 THEN 1 ELSE 3 END AS smallint), SEQ_IN_INDEX = CAST(ic.key_ordinal AS smallint), COLUMN_NAME = c.name,
           COLLATION = CAST(CASE ic.is_descending_key WHEN 1 THEN 'D' ELSE 'A' END AS char(1)), CARDINALITY = CAST(NULL AS int),
           PAGES = CAST(NULL AS int), FILTER_CONDITION = CAST(NULL AS varchar(128))
    FROM sys.indexes AS i
    JOIN sys.objects AS o ON o.object_id = i.object_id
    JOIN sys.index_columns AS ic ON ic.object_id = i.object_id AND ic.index_id = i.index_id AND ic.is_included_column = 0
    JOIN sys.columns AS c ON c.object_id = i.object_id AND c.column_id = ic.column_id
    WHERE i.index_id > 0 AND o.name = @table_name AND (@table_owner IS NULL OR SCHEMA_NAME(o.schema_id) = @table_owner)
      AND (@index_name IS NULL OR i.name LIKE @index_name) AND (@is_unique <> 'Y' OR i.is_unique = 1)
    ORDER BY NON_UNIQUE, TYPE, INDEX_NAME, SEQ_IN_INDEX
