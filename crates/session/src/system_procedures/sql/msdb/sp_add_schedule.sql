CREATE PROCEDURE sys.sp_add_schedule @schedule_name sysname, @enabled tinyint = 1, @freq_type int = 0, @freq_interval int = 0,
    @freq_subday_type int = 0, @freq_subday_interval int = 0, @freq_relative_interval int = 0, @freq_recurrence_factor int = 0,
    @active_start_date int = NULL, @active_end_date int = 99991231, @active_start_time int = 0, @active_end_time int = 235959,
    @owner_login_name sysname = NULL, @schedule_uid uniqueidentifier = NULL OUTPUT, @schedule_id int = NULL OUTPUT,
    @originating_server sysname = NULL AS
    SET NOCOUNT ON
    DECLARE @owner varbinary(85) = CASE WHEN @owner_login_name IS NULL THEN SUSER_SID() ELSE SUSER_SID(@owner_login_name) END
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
    IF @owner IS NULL
    BEGIN
        RAISERROR(14234, -1, -1, '@owner_login_name', 'sp_helplogins')
        RETURN 1
    END
    EXEC msdb.dbo.sp_agent_make_tables
    SET @schedule_uid = ISNULL(@schedule_uid, NEWID())
    INSERT msdb.dbo.sysschedules (schedule_uid, originating_server_id, name, owner_sid, enabled, freq_type, freq_interval, freq_subday_type,
        freq_subday_interval, freq_relative_interval, freq_recurrence_factor, active_start_date, active_end_date, active_start_time,
        active_end_time, date_created, date_modified, version_number)
    VALUES (@schedule_uid, 0, @schedule_name, @owner, @enabled, @freq_type, @freq_interval, @freq_subday_type, @freq_subday_interval,
        @freq_relative_interval, @freq_recurrence_factor, ISNULL(@active_start_date, CONVERT(int, CONVERT(char(8), GETDATE(), 112))),
        @active_end_date, @active_start_time, @active_end_time, GETDATE(), GETDATE(), 1)
    SET @schedule_id = SCOPE_IDENTITY()
    RETURN 0
