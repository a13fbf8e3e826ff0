CREATE PROCEDURE sys.sp_special_columns @table_name sysname, @table_owner sysname = NULL, @table_qualifier sysname = NULL,
    @col_type char(1) = 'R', @scope char(1) = 'T', @nullable char(1) = 'U', @ODBCVer int = 2 AS
    SET NOCOUNT ON
    -- Clients that have nothing to say say ''.
    SET @table_owner = NULLIF(@table_owner, N'')
    IF UPPER(@col_type) NOT IN ('R', 'V')
    BEGIN
        RAISERROR(15251, -1, -1, 'col_type', '''R'' or ''V''')
        RETURN 1
    END
    IF @table_qualifier IS NOT NULL AND @table_qualifier <> N'' AND @table_qualifier <> DB_NAME()
    BEGIN
        RAISERROR(15250, -1, -1)
        RETURN 1
    END
    DECLARE @object int, @index int
    SELECT TOP (1) @object = object_id FROM sys.objects
    WHERE name = @table_name AND type IN ('U', 'V', 'S') AND (@table_owner IS NULL OR SCHEMA_NAME(schema_id) = @table_owner)
    -- The best unique index: the primary key, then a clustered one, then the first; without NULLs when they are not wanted.
    IF UPPER(@col_type) = 'R'
        SELECT TOP (1) @index = i.index_id FROM sys.indexes AS i
        WHERE i.object_id = @object AND i.is_unique = 1 AND (UPPER(@nullable) <> 'O' OR NOT EXISTS (
            SELECT * FROM sys.index_columns AS k JOIN sys.columns AS c ON c.object_id = k.object_id AND c.column_id = k.column_id
            WHERE k.object_id = i.object_id AND k.index_id = i.index_id AND k.is_included_column = 0 AND c.is_nullable = 1))
        ORDER BY CASE WHEN i.is_primary_key = 1 THEN 0 WHEN i.type = 1 THEN 1 ELSE 2 END, i.index_id
    SELECT SCOPE = CAST(CASE WHEN UPPER(@col_type) = 'V' THEN NULL WHEN UPPER(@scope) = 'C' THEN 0 ELSE 1 END AS smallint),
           COLUMN_NAME = v.COLUMN_NAME, DATA_TYPE = CASE WHEN @ODBCVer < 3 THEN v.DATA_TYPE_2 ELSE v.DATA_TYPE_3 END, TYPE_NAME = v.TYPE_NAME,
           [PRECISION] = v.[PRECISION], LENGTH = CASE WHEN @ODBCVer < 3 THEN v.LENGTH_2 ELSE v.LENGTH_3 END, SCALE = v.SCALE, PSEUDO_COLUMN = CAST(1 AS smallint)
    FROM sys.spt_columns_odbc_view AS v
    LEFT JOIN sys.index_columns AS k ON k.object_id = v.object_id AND k.index_id = @index AND k.column_id = v.ORDINAL_POSITION AND k.is_included_column = 0
    WHERE v.kind = 'C' AND v.object_id = @object
      AND ((UPPER(@col_type) = 'R' AND k.column_id IS NOT NULL) OR (UPPER(@col_type) = 'V' AND v.TYPE_NAME = N'timestamp'))
    ORDER BY k.key_ordinal
