CREATE PROCEDURE sys.sp_table_type_columns_100 @table_name nvarchar(384), @table_owner nvarchar(384) = NULL, @table_qualifier sysname = NULL,
    @column_name nvarchar(384) = NULL, @ODBCVer int = 2, @fUsePattern bit = 1 AS
    -- The columns of a table type, as sp_columns_100 tells those of a table: ODBC asks for them with the name scope of table types.
    SET NOCOUNT ON
    IF @table_qualifier IS NOT NULL AND @table_qualifier <> N'' AND @table_qualifier <> DB_NAME()
    BEGIN
        RAISERROR(15250, -1, -1)
        RETURN 1
    END
    SELECT TABLE_QUALIFIER = CAST(DB_NAME() AS sysname), TABLE_OWNER = CAST(SCHEMA_NAME(y.schema_id) AS sysname), TABLE_NAME = y.name,
           COLUMN_NAME = v.COLUMN_NAME,
           DATA_TYPE = CASE WHEN @ODBCVer < 3 THEN v.DATA_TYPE_2 ELSE v.DATA_TYPE_3 END, TYPE_NAME = v.TYPE_NAME,
           [PRECISION] = v.[PRECISION], LENGTH = CASE WHEN @ODBCVer < 3 THEN v.LENGTH_2 ELSE v.LENGTH_3 END, SCALE = v.SCALE, RADIX = v.RADIX,
           NULLABLE = v.NULLABLE, REMARKS = CAST(NULL AS varchar(254)), COLUMN_DEF = v.COLUMN_DEF,
           SQL_DATA_TYPE = CASE WHEN @ODBCVer < 3 THEN v.SQL_DATA_TYPE_2 ELSE v.SQL_DATA_TYPE_3 END,
           SQL_DATETIME_SUB = CASE WHEN @ODBCVer < 3 THEN v.SQL_DATETIME_SUB_2 ELSE v.SQL_DATETIME_SUB_3 END,
           CHAR_OCTET_LENGTH = v.CHAR_OCTET_LENGTH, ORDINAL_POSITION = v.ORDINAL_POSITION, IS_NULLABLE = v.IS_NULLABLE,
           SS_IS_SPARSE = v.SS_IS_SPARSE, SS_IS_COLUMN_SET = CAST(0 AS smallint), SS_IS_COMPUTED = v.SS_IS_COMPUTED,
           SS_IS_IDENTITY = v.SS_IS_IDENTITY,
           SS_UDT_CATALOG_NAME = CAST(NULL AS sysname), SS_UDT_SCHEMA_NAME = CAST(NULL AS sysname),
           SS_UDT_ASSEMBLY_TYPE_NAME = CAST(NULL AS nvarchar(max)), SS_XML_SCHEMACOLLECTION_CATALOG_NAME = CAST(NULL AS sysname),
           SS_XML_SCHEMACOLLECTION_SCHEMA_NAME = CAST(NULL AS sysname), SS_XML_SCHEMACOLLECTION_NAME = CAST(NULL AS sysname),
           SS_DATA_TYPE = v.SS_DATA_TYPE
    FROM sys.table_types AS y JOIN sys.spt_columns_odbc_view AS v ON v.object_id = y.type_table_object_id AND v.kind = 'C'
    WHERE (@table_name IS NULL OR y.name = @table_name OR (@fUsePattern = 1 AND y.name LIKE @table_name))
      AND (@table_owner IS NULL OR SCHEMA_NAME(y.schema_id) = @table_owner OR (@fUsePattern = 1 AND SCHEMA_NAME(y.schema_id) LIKE @table_owner))
      AND (@column_name IS NULL OR v.COLUMN_NAME = @column_name OR (@fUsePattern = 1 AND v.COLUMN_NAME LIKE @column_name))
    ORDER BY 1, 2, 3, 17
