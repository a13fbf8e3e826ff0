CREATE PROCEDURE sys.sp_spaceused @objname nvarchar(776) = NULL, @updateusage varchar(5) = 'false', @mode varchar(11) = 'ALL',
    @oneresultset bit = 0, @include_total_xtp_storage bit = 0 AS
    SET NOCOUNT ON
    -- Pages are counted in the allocation maps and rows in the table: there is nothing that @updateusage could correct.
    IF LOWER(@updateusage) NOT IN ('true', 'false')
    BEGIN
        RAISERROR(15143, -1, -1, @updateusage)
        RETURN 1
    END
    IF UPPER(@mode) NOT IN ('ALL', 'LOCAL_ONLY', 'REMOTE_ONLY')
    BEGIN
        RAISERROR(15251, -1, -1, 'mode', '''ALL'', ''LOCAL_ONLY'' or ''REMOTE_ONLY''')
        RETURN 1
    END
    DECLARE @id int, @type char(2), @database sysname = PARSENAME(@objname, 3), @here sysname = DB_NAME()
    IF @objname IS NOT NULL
    BEGIN
        IF @database IS NOT NULL AND @database <> @here
        BEGIN
            RAISERROR(15250, -1, -1)
            RETURN 1
        END
        SELECT @id = object_id, @type = type FROM sys.all_objects WHERE object_id = OBJECT_ID(@objname)
        IF @id IS NULL
        BEGIN
            RAISERROR(15009, -1, -1, @objname, @here)
            RETURN 1
        END
        IF @type NOT IN ('U', 'S')
        BEGIN
            RAISERROR(15234, -1, -1)
            RETURN 1
        END
    END
    DECLARE @reserved bigint, @data bigint, @used bigint
    -- Nothing is stretched to another server: its part is nothing.
    SELECT @used = COALESCE(SUM(row_pages + interior_pages + lob_pages), 0),
           @data = COALESCE(SUM(CASE WHEN index_id < 2 THEN row_pages ELSE 0 END + lob_pages), 0)
    FROM sys.spt_unit_pages
    WHERE (@id IS NULL OR object_id = @id) AND UPPER(@mode) <> 'REMOTE_ONLY'
    SET @reserved = @used
    DECLARE @reserved_text varchar(18) = LTRIM(STR(@reserved * 8, 15, 0) + ' KB'), @data_text varchar(18) = LTRIM(STR(@data * 8, 15, 0) + ' KB'),
            @index_text varchar(18) = LTRIM(STR((@used - @data) * 8, 15, 0) + ' KB'),
            @unused_text varchar(18) = LTRIM(STR((@reserved - @used) * 8, 15, 0) + ' KB')
    IF @id IS NOT NULL
    BEGIN
        SELECT name = CAST(OBJECT_NAME(@id) AS nvarchar(128)),
               rows = CONVERT(char(20), CASE UPPER(@mode) WHEN 'REMOTE_ONLY' THEN 0 ELSE CAST(OBJECTPROPERTYEX(@id, 'Cardinality') AS bigint) END),
               reserved = @reserved_text, data = @data_text, index_size = @index_text, unused = @unused_text
        RETURN 0
    END
    DECLARE @data_pages bigint, @log_pages bigint
    SELECT @data_pages = SUM(CASE type WHEN 0 THEN CAST(size AS bigint) ELSE 0 END),
           @log_pages = SUM(CASE type WHEN 1 THEN CAST(size AS bigint) ELSE 0 END)
    FROM sys.database_files
    DECLARE @size_text varchar(18) = LTRIM(STR((@data_pages + @log_pages) * 8 / 1024.0, 15, 2) + ' MB'),
            @free_text varchar(18) = LTRIM(STR(CASE WHEN @data_pages > @reserved THEN (@data_pages - @reserved) * 8 / 1024.0 ELSE 0 END, 15, 2) + ' MB')
    IF @oneresultset = 1
        SELECT database_name = @here, database_size = @size_text, [unallocated space] = @free_text, reserved = @reserved_text,
               data = @data_text, index_size = @index_text, unused = @unused_text
    ELSE
    BEGIN
        SELECT database_name = @here, database_size = @size_text, [unallocated space] = @free_text
        SELECT reserved = @reserved_text, data = @data_text, index_size = @index_text, unused = @unused_text
    END
    RETURN 0
