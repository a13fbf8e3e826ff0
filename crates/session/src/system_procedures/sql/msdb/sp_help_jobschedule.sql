CREATE PROCEDURE sys.sp_help_jobschedule @job_id uniqueidentifier = NULL, @job_name sysname = NULL, @schedule_name sysname = NULL,
    @schedule_id int = NULL, @include_description bit = 0 AS
    SET NOCOUNT ON
    DECLARE @found int
    EXEC @found = msdb.dbo.sp_verify_job_identifiers '@job_name', '@job_id', @job_name OUTPUT, @job_id OUTPUT
    IF @found <> 0 RETURN 1
    SELECT s.schedule_id, schedule_name = s.name, s.enabled, s.freq_type, s.freq_interval, s.freq_subday_type, s.freq_subday_interval,
           s.freq_relative_interval, s.freq_recurrence_factor, s.active_start_date, s.active_end_date, s.active_start_time, s.active_end_time,
           s.date_created, d.schedule_description, s.next_run_date, s.next_run_time, s.schedule_uid, s.job_count
    FROM (SELECT t.*, j.next_run_date, j.next_run_time,
                 job_count = (SELECT COUNT(*) FROM msdb.dbo.sysjobschedules AS o WHERE o.schedule_id = t.schedule_id)
          FROM msdb.dbo.sysjobschedules AS j JOIN msdb.dbo.sysschedules AS t ON t.schedule_id = j.schedule_id
          WHERE j.job_id = @job_id AND (@schedule_name IS NULL OR t.name = @schedule_name)
                AND (@schedule_id IS NULL OR t.schedule_id = @schedule_id)) AS s
