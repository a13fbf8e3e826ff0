CREATE PROCEDURE sys.{name} @procedure_name nvarchar(390) = N'%', @procedure_owner nvarchar(384) = NULL,
    @procedure_qualifier sysname = NULL, @column_name nvarchar(384) = NULL, @ODBCVer int = 2, @fUsePattern bit = 1 AS
    SET NOCOUNT ON
    IF @procedure_qualifier IS NOT NULL AND @procedure_qualifier <> N'' AND @procedure_qualifier <> DB_NAME()
    BEGIN
        RAISERROR(15250, -1, -1)
        RETURN 1
    END
    -- A group number behind the name belongs to it: 'name;1'.
    IF @procedure_name LIKE N'%;[0-9]'
        SET @procedure_name = LEFT(@procedure_name, LEN(@procedure_name) - 2)
    SELECT PROCEDURE_QUALIFIER = CAST(DB_NAME() AS sysname), PROCEDURE_OWNER = CAST(SCHEMA_NAME(o.schema_id) AS sysname),
           PROCEDURE_NAME = CAST(o.name + CASE o.type WHEN 'P' THEN N';1' ELSE N';0' END AS nvarchar(134)),
           COLUMN_NAME = CASE WHEN v.ORDINAL_POSITION = 0 AND o.type IN ('IF', 'TF') THEN CAST(N'@TABLE_RETURN_VALUE' AS sysname) ELSE v.COLUMN_NAME END,
           COLUMN_TYPE = v.COLUMN_TYPE,
           DATA_TYPE = CASE WHEN @ODBCVer < 3 THEN v.DATA_TYPE_2 ELSE v.DATA_TYPE_3 END, TYPE_NAME = v.TYPE_NAME,
           [PRECISION] = v.[PRECISION], LENGTH = CASE WHEN @ODBCVer < 3 THEN v.LENGTH_2 ELSE v.LENGTH_3 END, SCALE = v.SCALE, RADIX = v.RADIX,
           NULLABLE = v.NULLABLE, REMARKS = CAST(NULL AS varchar(254)), COLUMN_DEF = v.COLUMN_DEF,
           SQL_DATA_TYPE = CASE WHEN @ODBCVer < 3 THEN v.SQL_DATA_TYPE_2 ELSE v.SQL_DATA_TYPE_3 END,
           SQL_DATETIME_SUB = CASE WHEN @ODBCVer < 3 THEN v.SQL_DATETIME_SUB_2 ELSE v.SQL_DATETIME_SUB_3 END,
           CHAR_OCTET_LENGTH = v.CHAR_OCTET_LENGTH, ORDINAL_POSITION = v.ORDINAL_POSITION, IS_NULLABLE = v.IS_NULLABLE,
[100]           SS_TYPE_CATALOG_NAME = CAST(NULL AS sysname), SS_TYPE_SCHEMA_NAME = CAST(NULL AS sysname),
[100]           SS_UDT_CATALOG_NAME = CAST(NULL AS sysname), SS_UDT_SCHEMA_NAME = CAST(NULL AS sysname),
[100]           SS_UDT_ASSEMBLY_TYPE_NAME = CAST(NULL AS nvarchar(max)), SS_XML_SCHEMACOLLECTION_CATALOG_NAME = CAST(NULL AS sysname),
[100]           SS_XML_SCHEMACOLLECTION_SCHEMA_NAME = CAST(NULL AS sysname), SS_XML_SCHEMACOLLECTION_NAME = CAST(NULL AS sysname),
           SS_DATA_TYPE = v.SS_DATA_TYPE
    FROM sys.all_objects AS o JOIN sys.spt_columns_odbc_view AS v ON v.object_id = o.object_id AND v.kind = 'P'
    WHERE o.type IN ('P', 'FN', 'IF', 'TF')
      AND (@procedure_name IS NULL OR o.name = @procedure_name OR (@fUsePattern = 1 AND o.name LIKE @procedure_name))
      AND (@procedure_owner IS NULL OR SCHEMA_NAME(o.schema_id) = @procedure_owner
           OR (@fUsePattern = 1 AND SCHEMA_NAME(o.schema_id) LIKE @procedure_owner))
      AND (@column_name IS NULL OR v.COLUMN_NAME = @column_name OR (@fUsePattern = 1 AND v.COLUMN_NAME LIKE @column_name))
    ORDER BY 1, 2, 3, 18
