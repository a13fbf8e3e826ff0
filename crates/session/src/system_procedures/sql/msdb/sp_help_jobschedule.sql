CREATE PROCEDURE sys.sp_help_jobschedule @job_id uniqueidentifier = NULL, @job_name sysname = NULL, @schedule_name sysname = NULL,
    @schedule_id int = NULL, @include_description bit = 0 AS
    SET NOCOUNT ON
    DECLARE @found int
    EXEC @found = msdb.dbo.sp_verify_job_identifiers '@job_name', '@job_id', @job_name OUTPUT, @job_id OUTPUT
    IF @found <> 0 RETURN 1
    SELECT s.schedule_id, schedule_name = s.name, s.enabled, s.freq_type, s.freq_interval, s.freq_subday_type, s.freq_subday_interval,
           s.freq_relative_interval, s.freq_recurrence_factor, s.active_start_date, s.active_end_date, s.active_start_time, s.active_end_time,
           s.date_created, schedule_description = N'(Description not requested)', j.next_run_date, j.next_run_time, s.schedule_uid,
           job_count = (SELECT COUNT(*) FROM msdb.dbo.sysjobschedules AS o WHERE o.schedule_id = s.schedule_id)
    FROM msdb.dbo.sysjobschedules AS j JOIN msdb.dbo.sysschedules AS s ON s.schedule_id = j.schedule_id
    WHERE j.job_id = @job_id AND (@schedule_name IS NULL OR s.name = @schedule_name) AND (@schedule_id IS NULL OR s.schedule_id = @schedule_id)
    ORDER BY s.schedule_id
    RETURN 0
