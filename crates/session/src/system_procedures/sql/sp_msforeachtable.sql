CREATE PROCEDURE sys.sp_MSforeachtable @command1 nvarchar(2000), @replacechar nchar(1) = N'?', @command2 nvarchar(2000) = NULL,
    @command3 nvarchar(2000) = NULL, @whereand nvarchar(2000) = NULL, @precommand nvarchar(2000) = NULL, @postcommand nvarchar(2000) = NULL AS
    -- The condition is the caller's text, over the columns of sysobjects as o.
    CREATE TABLE #tables (id int PRIMARY KEY, name nvarchar(517))
    DECLARE @id int, @name nvarchar(517), @text nvarchar(max) = N'SET NOCOUNT ON; INSERT #tables
        SELECT o.id, QUOTENAME(SCHEMA_NAME(syso.schema_id)) + N''.'' + QUOTENAME(o.name)
        FROM dbo.sysobjects AS o JOIN sys.all_objects AS syso ON o.id = syso.object_id
        WHERE o.xtype = ''U'' AND syso.is_ms_shipped = 0 ' + ISNULL(@whereand, N'')
    EXEC (@text)
    IF @precommand IS NOT NULL EXEC (@precommand)
    SELECT @id = MIN(id) FROM #tables
    WHILE @id IS NOT NULL
    BEGIN
        SELECT @name = name FROM #tables WHERE id = @id
        SET @text = REPLACE(CAST(@command1 AS nvarchar(max)), @replacechar, @name)
        EXEC (@text)
        IF @command2 IS NOT NULL
        BEGIN
            SET @text = REPLACE(CAST(@command2 AS nvarchar(max)), @replacechar, @name)
            EXEC (@text)
        END
        IF @command3 IS NOT NULL
        BEGIN
            SET @text = REPLACE(CAST(@command3 AS nvarchar(max)), @replacechar, @name)
            EXEC (@text)
        END
        SELECT @id = MIN(id) FROM #tables WHERE id > @id
    END
    IF @postcommand IS NOT NULL EXEC (@postcommand)
    RETURN 0
