CREATE PROCEDURE sys.sp_help_jobhistory @job_id uniqueidentifier = NULL, @job_name sysname = NULL, @step_id int = NULL,
    @sql_message_id int = NULL, @sql_severity int = NULL, @start_run_date int = NULL, @end_run_date int = NULL, @start_run_time int = NULL,
    @end_run_time int = NULL, @minimum_run_duration int = NULL, @run_status int = NULL, @minimum_retries int = NULL, @oldest_first int = 0,
    @server sysname = NULL, @mode varchar(7) = 'SUMMARY' AS
    -- Jobs never run: there is no history, and the answer has columns and no rows, whatever is asked for.
    SET NOCOUNT ON
    DECLARE @found int
    IF @job_id IS NOT NULL OR @job_name IS NOT NULL
    BEGIN
        EXEC @found = msdb.dbo.sp_verify_job_identifiers '@job_name', '@job_id', @job_name OUTPUT, @job_id OUTPUT
        IF @found <> 0 RETURN 1
    END
    IF @run_status NOT BETWEEN 0 AND 5
    BEGIN
        RAISERROR(14198, -1, -1, '@run_status', '0..5')
        RETURN 1
    END
    SET @mode = UPPER(LTRIM(RTRIM(@mode)))
    IF @mode NOT IN ('SUMMARY', 'FULL')
    BEGIN
        RAISERROR(14266, -1, -1, '@mode', 'SUMMARY, FULL')
        RETURN 1
    END
    IF @mode = 'FULL'
        SELECT h.instance_id, h.job_id, job_name = j.name, h.step_id, h.step_name, h.sql_message_id, h.sql_severity, h.message, h.run_status,
               h.run_date, h.run_time, h.run_duration, operator_emailed = CAST(NULL AS nvarchar(20)),
               operator_netsent = CAST(NULL AS nvarchar(20)), operator_paged = CAST(NULL AS nvarchar(20)), h.retries_attempted, h.server
        FROM msdb.dbo.sysjobhistory AS h JOIN msdb.dbo.sysjobs AS j ON j.job_id = h.job_id
    ELSE
        SELECT h.job_id, job_name = j.name, h.run_status, h.run_date, h.run_time, h.run_duration, operator_emailed = CAST(NULL AS nvarchar(20)),
               operator_netsent = CAST(NULL AS nvarchar(20)), operator_paged = CAST(NULL AS nvarchar(20)), h.retries_attempted, h.server
        FROM msdb.dbo.sysjobhistory AS h JOIN msdb.dbo.sysjobs AS j ON j.job_id = h.job_id
    RETURN 0
