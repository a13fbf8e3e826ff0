CREATE PROCEDURE sys.sp_add_category @class varchar(8) = 'JOB', @type varchar(12) = 'LOCAL', @name sysname AS
    SET NOCOUNT ON
    DECLARE @class_id int = CASE UPPER(@class) WHEN 'JOB' THEN 1 WHEN 'ALERT' THEN 2 WHEN 'OPERATOR' THEN 3 END,
            @type_id int = CASE UPPER(@type) WHEN 'LOCAL' THEN 1 WHEN 'MULTI-SERVER' THEN 2 WHEN 'NONE' THEN 3 END
    IF @class_id IS NULL
    BEGIN
        RAISERROR(14266, -1, -1, '@class', 'JOB, ALERT, OPERATOR')
        RETURN 1
    END
    IF @type_id IS NULL OR (@class_id = 1 AND @type_id = 3)
    BEGIN
        RAISERROR(14266, -1, -1, '@type', 'LOCAL, MULTI-SERVER, NONE')
        RETURN 1
    END
    IF EXISTS (SELECT * FROM msdb.dbo.syscategories WHERE category_class = @class_id AND name = @name)
    BEGIN
        RAISERROR(14261, -1, -1, '@name', @name)
        RETURN 1
    END
    EXEC msdb.dbo.sp_agent_make_tables
    INSERT msdb.dbo.syscategories (category_class, category_type, name) VALUES (@class_id, IIF(@class_id = 1, @type_id, 3), @name)
    RETURN 0
