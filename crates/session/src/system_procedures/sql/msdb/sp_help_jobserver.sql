CREATE PROCEDURE sys.sp_help_jobserver @job_id uniqueidentifier = NULL, @job_name sysname = NULL, @show_last_run_details tinyint = 0 AS
    SET NOCOUNT ON
    DECLARE @found int
    EXEC @found = msdb.dbo.sp_verify_job_identifiers '@job_name', '@job_id', @job_name OUTPUT, @job_id OUTPUT
    IF @found <> 0 RETURN 1
    IF @show_last_run_details = 0
        SELECT server_id, server_name = CAST(SERVERPROPERTY('ServerName') AS nvarchar(30)), enlist_date = CAST(NULL AS datetime),
               last_poll_date = CAST(NULL AS datetime)
        FROM msdb.dbo.sysjobservers WHERE job_id = @job_id
    ELSE
        SELECT server_id, server_name = CAST(SERVERPROPERTY('ServerName') AS nvarchar(30)), enlist_date = CAST(NULL AS datetime),
               last_poll_date = CAST(NULL AS datetime), last_run_date, last_run_time, last_run_duration, last_run_outcome, last_outcome_message
        FROM msdb.dbo.sysjobservers WHERE job_id = @job_id
    RETURN 0
