CREATE PROCEDURE sys.sp_help_job @job_id uniqueidentifier = NULL, @job_name sysname = NULL, @job_aspect varchar(9) = NULL,
    @job_type varchar(12) = NULL, @owner_login_name sysname = NULL, @subsystem nvarchar(40) = NULL, @category_name sysname = NULL,
    @enabled tinyint = NULL, @execution_status int = NULL, @date_comparator char(1) = NULL, @date_created datetime = NULL,
    @date_last_modified datetime = NULL, @description nvarchar(512) = NULL AS
    SET NOCOUNT ON
    DECLARE @found int, @one bit = IIF(@job_id IS NULL AND @job_name IS NULL, 0, 1), @aspect varchar(9) = UPPER(ISNULL(@job_aspect, 'ALL'))
    IF @one = 1
    BEGIN
        EXEC @found = msdb.dbo.sp_verify_job_identifiers '@job_name', '@job_id', @job_name OUTPUT, @job_id OUTPUT
        IF @found <> 0 RETURN 1
    END
    IF @aspect NOT IN ('ALL', 'JOB', 'STEPS', 'SCHEDULES', 'TARGETS')
    BEGIN
        RAISERROR(14266, -1, -1, '@job_aspect', 'ALL, JOB, STEPS, SCHEDULES, TARGETS')
        RETURN 1
    END
    -- A job is always idle here: status 4.
    IF @aspect IN ('ALL', 'JOB')
        SELECT j.job_id, originating_server = CAST(SERVERPROPERTY('ServerName') AS nvarchar(30)), j.name, j.enabled, j.description, j.start_step_id,
               category = ISNULL(c.name, N'[Uncategorized (Local)]'), owner = SUSER_SNAME(j.owner_sid), j.notify_level_eventlog,
               j.notify_level_email, j.notify_level_netsend, j.notify_level_page, notify_email_operator = N'(unknown)',
               notify_netsend_operator = N'(unknown)', notify_page_operator = N'(unknown)', j.delete_level, j.date_created, j.date_modified,
               j.version_number, last_run_date = 0, last_run_time = 0, last_run_outcome = 5, next_run_date = 0, next_run_time = 0,
               next_run_schedule_id = 0, current_execution_status = 4, current_execution_step = N'0 (unknown)', current_retry_attempt = 0,
               has_step = (SELECT COUNT(*) FROM msdb.dbo.sysjobsteps AS s WHERE s.job_id = j.job_id),
               has_schedule = (SELECT COUNT(*) FROM msdb.dbo.sysjobschedules AS s WHERE s.job_id = j.job_id),
               has_target = (SELECT COUNT(*) FROM msdb.dbo.sysjobservers AS s WHERE s.job_id = j.job_id), type = 1
        FROM msdb.dbo.sysjobs AS j LEFT JOIN msdb.dbo.syscategories AS c ON c.category_id = j.category_id
        WHERE (@one = 0 OR j.job_id = @job_id) AND (@owner_login_name IS NULL OR SUSER_SNAME(j.owner_sid) = @owner_login_name)
              AND (@category_name IS NULL OR c.name = @category_name) AND (@enabled IS NULL OR j.enabled = @enabled)
              AND (@description IS NULL OR j.description LIKE @description) AND ISNULL(@execution_status, 4) IN (0, 4)
              AND (@subsystem IS NULL OR EXISTS (SELECT * FROM msdb.dbo.sysjobsteps AS s WHERE s.job_id = j.job_id AND s.subsystem = @subsystem))
              AND (@date_created IS NULL OR CASE @date_comparator WHEN '<' THEN IIF(j.date_created < @date_created, 1, 0)
                   WHEN '>' THEN IIF(j.date_created > @date_created, 1, 0) ELSE IIF(j.date_created = @date_created, 1, 0) END = 1)
              AND (@date_last_modified IS NULL OR CASE @date_comparator WHEN '<' THEN IIF(j.date_modified < @date_last_modified, 1, 0)
                   WHEN '>' THEN IIF(j.date_modified > @date_last_modified, 1, 0) ELSE IIF(j.date_modified = @date_last_modified, 1, 0) END = 1)
        ORDER BY j.name
    IF @one = 1 AND @aspect IN ('ALL', 'STEPS') EXEC msdb.dbo.sp_help_jobstep @job_id = @job_id
    IF @one = 1 AND @aspect IN ('ALL', 'SCHEDULES') EXEC msdb.dbo.sp_help_jobschedule @job_id = @job_id
    IF @one = 1 AND @aspect IN ('ALL', 'TARGETS') EXEC msdb.dbo.sp_help_jobserver @job_id = @job_id
    RETURN 0
