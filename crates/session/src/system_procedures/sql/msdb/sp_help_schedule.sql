CREATE PROCEDURE sys.sp_help_schedule @schedule_id int = NULL, @schedule_name sysname = NULL, @attached_schedules_only bit = 0,
    @include_description bit = 0 AS
    SET NOCOUNT ON
    DECLARE @found int
    IF @schedule_id IS NOT NULL OR @schedule_name IS NOT NULL
    BEGIN
        EXEC @found = msdb.dbo.sp_verify_schedule_identifiers '@schedule_name', '@schedule_id', @schedule_name OUTPUT, @schedule_id OUTPUT
        IF @found <> 0 RETURN 1
    END
    SELECT s.schedule_id, s.schedule_uid, schedule_name = s.name, s.enabled, s.freq_type, s.freq_interval, s.freq_subday_type,
           s.freq_subday_interval, s.freq_relative_interval, s.freq_recurrence_factor, s.active_start_date, s.active_end_date,
           s.active_start_time, s.active_end_time, s.date_created,
           d.schedule_description, s.job_count
    FROM (SELECT t.*, job_count = (SELECT COUNT(*) FROM msdb.dbo.sysjobschedules AS o WHERE o.schedule_id = t.schedule_id)
          FROM msdb.dbo.sysschedules AS t
          WHERE (@schedule_id IS NULL OR t.schedule_id = @schedule_id)
                AND (@attached_schedules_only = 0 OR EXISTS (SELECT * FROM msdb.dbo.sysjobschedules AS o WHERE o.schedule_id = t.schedule_id))) AS s
