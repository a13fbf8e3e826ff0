CREATE PROCEDURE sys.sp_stored_procedures @sp_name nvarchar(390) = NULL, @sp_owner nvarchar(384) = NULL, @sp_qualifier sysname = NULL,
    @fUsePattern bit = 1 AS
    SELECT PROCEDURE_QUALIFIER = DB_NAME(), PROCEDURE_OWNER = SCHEMA_NAME(o.schema_id), PROCEDURE_NAME = CAST(o.name + N';1' AS nvarchar(134)),
           NUM_INPUT_PARAMS = CAST(-1 AS int), NUM_OUTPUT_PARAMS = CAST(-1 AS int), NUM_RESULT_SETS = CAST(-1 AS int),
           REMARKS = CAST(NULL AS varchar(254)), PROCEDURE_TYPE = CAST(2 AS smallint)
    FROM sys.objects AS o
    WHERE o.type = 'P' AND (@sp_name IS NULL OR o.name LIKE @sp_name) AND (@sp_owner IS NULL OR SCHEMA_NAME(o.schema_id) LIKE @sp_owner)
    ORDER BY PROCEDURE_OWNER, PROCEDURE_NAME
