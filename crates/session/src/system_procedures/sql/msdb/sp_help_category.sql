CREATE PROCEDURE sys.sp_help_category @class varchar(8) = 'JOB', @type varchar(12) = NULL, @name sysname = NULL, @suffix bit = 0 AS
    SET NOCOUNT ON
    SELECT category_id, category_type, name
    FROM msdb.dbo.syscategories
    WHERE category_class = CASE UPPER(@class) WHEN 'JOB' THEN 1 WHEN 'ALERT' THEN 2 WHEN 'OPERATOR' THEN 3 END
          AND (@name IS NULL OR name = @name)
          AND (@type IS NULL OR category_type = CASE UPPER(@type) WHEN 'LOCAL' THEN 1 WHEN 'MULTI-SERVER' THEN 2 ELSE 3 END)
    ORDER BY category_type, name
    RETURN 0
