CREATE PROCEDURE sys.sp_stored_procedures @sp_name nvarchar(390) = NULL, @sp_owner nvarchar(384) = NULL, @sp_qualifier sysname = NULL,
    @fUsePattern bit = 1 AS
    SET NOCOUNT ON
    IF @sp_qualifier IS NOT NULL AND @sp_qualifier <> N'' AND @sp_qualifier <> DB_NAME()
    BEGIN
        RAISERROR(15250, -1, -1)
        RETURN 1
    END
    SELECT PROCEDURE_QUALIFIER = CAST(DB_NAME() AS sysname), PROCEDURE_OWNER = CAST(SCHEMA_NAME(o.schema_id) AS sysname),
           PROCEDURE_NAME = CAST(o.name + CASE o.type WHEN 'P' THEN N';1' ELSE N';0' END AS nvarchar(134)),
           NUM_INPUT_PARAMS = CAST(-1 AS int), NUM_OUTPUT_PARAMS = CAST(-1 AS int), NUM_RESULT_SETS = CAST(-1 AS int),
           REMARKS = CAST(NULL AS varchar(254)), PROCEDURE_TYPE = CAST(2 AS smallint)
    FROM sys.all_objects AS o
    WHERE o.type IN ('P', 'FN', 'IF', 'TF')
      AND (@sp_name IS NULL OR o.name = @sp_name OR (@fUsePattern = 1 AND o.name LIKE @sp_name))
      AND (@sp_owner IS NULL OR SCHEMA_NAME(o.schema_id) = @sp_owner OR (@fUsePattern = 1 AND SCHEMA_NAME(o.schema_id) LIKE @sp_owner))
    ORDER BY 1, 2, 3
