CREATE PROCEDURE sys.sp_MSforeachdb @command1 nvarchar(2000), @replacechar nchar(1) = N'?', @command2 nvarchar(2000) = NULL,
    @command3 nvarchar(2000) = NULL, @precommand nvarchar(2000) = NULL, @postcommand nvarchar(2000) = NULL AS
    DECLARE @id int, @name sysname, @text nvarchar(max)
    IF @precommand IS NOT NULL EXEC (@precommand)
    SELECT @id = MIN(database_id) FROM sys.databases WHERE state = 0
    WHILE @id IS NOT NULL
    BEGIN
        SET @name = DB_NAME(@id)
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
        SELECT @id = MIN(database_id) FROM sys.databases WHERE state = 0 AND database_id > @id
    END
    IF @postcommand IS NOT NULL EXEC (@postcommand)
    RETURN 0
