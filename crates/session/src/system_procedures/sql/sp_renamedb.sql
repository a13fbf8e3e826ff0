CREATE PROCEDURE sys.sp_renamedb @dbname sysname, @newname sysname AS
    SET NOCOUNT ON
    IF DB_ID(@dbname) IS NULL
    BEGIN
        RAISERROR(15010, -1, -1, @dbname)
        RETURN 1
    END
    DECLARE @text nvarchar(700) = N'ALTER DATABASE ' + QUOTENAME(@dbname) + N' MODIFY NAME = ' + QUOTENAME(@newname)
    EXEC (@text)
    RETURN @@ERROR
