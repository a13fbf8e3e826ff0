CREATE PROCEDURE sys.sp_delete_category @class varchar(8), @name sysname AS
    SET NOCOUNT ON
    SET XACT_ABORT ON
    DECLARE @class_id int = CASE UPPER(@class) WHEN 'JOB' THEN 1 WHEN 'ALERT' THEN 2 WHEN 'OPERATOR' THEN 3 END, @id int
    IF @class_id IS NULL
    BEGIN
        RAISERROR(14266, -1, -1, '@class', 'JOB, ALERT, OPERATOR')
        RETURN 1
    END
    SELECT @id = category_id FROM msdb.dbo.syscategories WHERE category_class = @class_id AND name = @name
    IF @id IS NULL
    BEGIN
        RAISERROR(14262, -1, -1, '@name', @name)
        RETURN 1
    END
    IF @id < 100
    BEGIN
        RAISERROR(14276, -1, -1, @name, @class)
        RETURN 1
    END
    BEGIN TRANSACTION
    -- Jobs of the category are in none then.
    UPDATE msdb.dbo.sysjobs SET category_id = 0 WHERE category_id = @id
    DELETE msdb.dbo.syscategories WHERE category_id = @id
    COMMIT TRANSACTION
    RETURN 0
