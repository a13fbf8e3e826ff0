CREATE PROCEDURE sys.sp_droptype @typename sysname AS
    SET NOCOUNT ON
    DECLARE @schema sysname, @id int
    SELECT TOP (1) @schema = SCHEMA_NAME(schema_id), @id = user_type_id FROM sys.types WHERE name = @typename AND is_user_defined = 1
    IF @id IS NULL
    BEGIN
        RAISERROR(15036, -1, -1, @typename)
        RETURN 1
    END
    IF EXISTS (SELECT * FROM sys.columns WHERE user_type_id = @id) OR EXISTS (SELECT * FROM sys.parameters WHERE user_type_id = @id)
    BEGIN
        RAISERROR(15180, -1, -1)
        RETURN 1
    END
    DECLARE @text nvarchar(1000) = N'DROP TYPE ' + QUOTENAME(@schema) + N'.' + QUOTENAME(@typename)
    EXEC (@text)
    RETURN 0
