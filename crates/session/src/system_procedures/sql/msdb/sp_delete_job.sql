CREATE PROCEDURE sys.sp_delete_job @job_id uniqueidentifier = NULL, @job_name sysname = NULL, @originating_server sysname = NULL,
    @delete_history bit = 1, @delete_unused_schedule bit = 1 AS
    SET NOCOUNT ON
    SET XACT_ABORT ON
    DECLARE @found int
    EXEC @found = msdb.dbo.sp_verify_job_identifiers '@job_name', '@job_id', @job_name OUTPUT, @job_id OUTPUT
    IF @found <> 0 RETURN 1
    DECLARE @schedules TABLE (schedule_id int PRIMARY KEY)
    BEGIN TRANSACTION
    INSERT @schedules SELECT schedule_id FROM msdb.dbo.sysjobschedules WHERE job_id = @job_id
    DELETE msdb.dbo.sysjobschedules WHERE job_id = @job_id
    DELETE msdb.dbo.sysjobservers WHERE job_id = @job_id
    DELETE msdb.dbo.sysjobsteps WHERE job_id = @job_id
    DELETE msdb.dbo.sysjobs WHERE job_id = @job_id
    IF @delete_unused_schedule = 1
        DELETE msdb.dbo.sysschedules
        WHERE schedule_id IN (SELECT schedule_id FROM @schedules)
              AND schedule_id NOT IN (SELECT schedule_id FROM msdb.dbo.sysjobschedules)
    COMMIT TRANSACTION
    RETURN 0
