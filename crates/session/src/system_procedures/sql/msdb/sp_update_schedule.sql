CREATE PROCEDURE sys.sp_update_schedule @schedule_id int = NULL, @name sysname = NULL, @new_name sysname = NULL, @enabled tinyint = NULL,
    @freq_type int = NULL, @freq_interval int = NULL, @freq_subday_type int = NULL, @freq_subday_interval int = NULL,
    @freq_relative_interval int = NULL, @freq_recurrence_factor int = NULL, @active_start_date int = NULL, @active_end_date int = NULL,
    @active_start_time int = NULL, @active_end_time int = NULL, @owner_login_name sysname = NULL, @automatic_post bit = 1 AS
    -- What is not given stays as it is.
    SET NOCOUNT ON
    DECLARE @found int, @owner varbinary(85)
    EXEC @found = msdb.dbo.sp_verify_schedule_identifiers '@name', '@schedule_id', @name OUTPUT, @schedule_id OUTPUT
    IF @found <> 0 RETURN 1
    IF @enabled NOT IN (0, 1)
    BEGIN
        RAISERROR(14266, -1, -1, '@enabled', '0, 1')
        RETURN 1
    END
    IF @freq_type NOT IN (1, 4, 8, 16, 32, 64, 128)
    BEGIN
        RAISERROR(14266, -1, -1, '@freq_type', '1, 4, 8, 16, 32, 64, 128')
        RETURN 1
    END
    IF @owner_login_name IS NOT NULL
    BEGIN
        SET @owner = SUSER_SID(@owner_login_name)
        IF @owner IS NULL
        BEGIN
            RAISERROR(14234, -1, -1, '@owner_login_name', 'sp_helplogins')
            RETURN 1
        END
    END
    UPDATE msdb.dbo.sysschedules
    SET name = ISNULL(@new_name, name), owner_sid = ISNULL(@owner, owner_sid), enabled = ISNULL(@enabled, enabled),
        freq_type = ISNULL(@freq_type, freq_type), freq_interval = ISNULL(@freq_interval, freq_interval),
        freq_subday_type = ISNULL(@freq_subday_type, freq_subday_type),
        freq_subday_interval = ISNULL(@freq_subday_interval, freq_subday_interval),
        freq_relative_interval = ISNULL(@freq_relative_interval, freq_relative_interval),
        freq_recurrence_factor = ISNULL(@freq_recurrence_factor, freq_recurrence_factor),
        active_start_date = ISNULL(@active_start_date, active_start_date), active_end_date = ISNULL(@active_end_date, active_end_date),
        active_start_time = ISNULL(@active_start_time, active_start_time), active_end_time = ISNULL(@active_end_time, active_end_time),
        date_modified = GETDATE(), version_number = version_number + 1
    WHERE schedule_id = @schedule_id
    RETURN 0
