CREATE PROCEDURE sys.sp_helptext @objname nvarchar(776), @columnname sysname = NULL AS
    SET NOCOUNT ON
    DECLARE @id int = OBJECT_ID(@objname), @text nvarchar(max), @database sysname = DB_NAME()
    IF PARSENAME(@objname, 3) IS NOT NULL AND PARSENAME(@objname, 3) <> @database
    BEGIN
        RAISERROR(15250, -1, -1)
        RETURN 1
    END
    IF @id IS NULL
    BEGIN
        RAISERROR(15009, -1, -1, @objname, @database)
        RETURN 1
    END
    IF @columnname IS NULL
        SET @text = OBJECT_DEFINITION(@id)
    ELSE
    BEGIN
        IF COLUMNPROPERTY(@id, @columnname, 'IsComputed') IS NULL
        BEGIN
            RAISERROR(15645, -1, -1, @columnname)
            RETURN 1
        END
        IF COLUMNPROPERTY(@id, @columnname, 'IsComputed') = 0
        BEGIN
            RAISERROR(15646, -1, -1, @columnname)
            RETURN 1
        END
        SELECT @text = definition FROM sys.computed_columns WHERE object_id = @id AND name = @columnname
    END
    IF @text IS NULL
    BEGIN
        RAISERROR(15197, -1, -1, @objname)
        RETURN 1
    END
    -- A row a line, its end included; lines longer than a row go on in the next.
    DECLARE @lines TABLE (number int IDENTITY NOT NULL, line nvarchar(255) NOT NULL)
    DECLARE @from int = 1, @end int, @stop int = LEN(@text + N'.')
    WHILE @from < @stop
    BEGIN
        SET @end = CHARINDEX(NCHAR(10), @text, @from)
        IF @end = 0
            SET @end = @stop - 1
        IF @end - @from >= 255
            SET @end = @from + 254
        INSERT @lines(line) VALUES (SUBSTRING(@text, @from, @end - @from + 1))
        SET @from = @end + 1
    END
    SELECT [Text] = line FROM @lines ORDER BY number
    RETURN 0
