CREATE PROCEDURE sys.sp_verify_schedule_identifiers @name_of_name_parameter varchar(60), @name_of_id_parameter varchar(60),
    @schedule_name sysname OUTPUT, @schedule_id int OUTPUT AS
    SET NOCOUNT ON
    DECLARE @shown nvarchar(20) = CONVERT(nvarchar(20), @schedule_id), @count int
    IF (@schedule_name IS NULL AND @schedule_id IS NULL) OR (@schedule_name IS NOT NULL AND @schedule_id IS NOT NULL)
    BEGIN
        RAISERROR(14373, -1, -1, @name_of_id_parameter, @name_of_name_parameter)
        RETURN 1
    END
    IF @schedule_id IS NOT NULL
    BEGIN
        SELECT @schedule_name = name FROM msdb.dbo.sysschedules WHERE schedule_id = @schedule_id
        IF @schedule_name IS NULL
        BEGIN
            RAISERROR(14262, -1, -1, @name_of_id_parameter, @shown)
            RETURN 1
        END
        RETURN 0
    END
    SELECT @schedule_id = MAX(schedule_id), @count = COUNT(*) FROM msdb.dbo.sysschedules WHERE name = @schedule_name
    IF @count = 0
    BEGIN
        RAISERROR(14262, -1, -1, @name_of_name_parameter, @schedule_name)
        RETURN 1
    END
    -- Schedules may share a name.
    IF @count > 1
    BEGIN
        RAISERROR(14371, -1, -1, @schedule_name, @name_of_id_parameter, @name_of_name_parameter)
        RETURN 1
    END
    RETURN 0
