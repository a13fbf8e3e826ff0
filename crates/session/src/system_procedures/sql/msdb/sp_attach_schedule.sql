CREATE PROCEDURE sys.sp_attach_schedule @job_id uniqueidentifier = NULL, @job_name sysname = NULL, @schedule_id int = NULL,
    @schedule_name sysname = NULL, @automatic_post bit = 1 AS
    SET NOCOUNT ON
    DECLARE @found int
    EXEC @found = msdb.dbo.sp_verify_job_identifiers '@job_name', '@job_id', @job_name OUTPUT, @job_id OUTPUT
    IF @found <> 0 RETURN 1
    EXEC @found = msdb.dbo.sp_verify_schedule_identifiers '@schedule_name', '@schedule_id', @schedule_name OUTPUT, @schedule_id OUTPUT
    IF @found <> 0 RETURN 1
    IF NOT EXISTS (SELECT * FROM msdb.dbo.sysjobschedules WHERE job_id = @job_id AND schedule_id = @schedule_id)
        INSERT msdb.dbo.sysjobschedules (schedule_id, job_id, next_run_date, next_run_time) VALUES (@schedule_id, @job_id, 0, 0)
    RETURN 0
