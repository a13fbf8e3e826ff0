CREATE PROCEDURE sys.sp_detach_schedule @job_id uniqueidentifier = NULL, @job_name sysname = NULL, @schedule_id int = NULL,
    @schedule_name sysname = NULL, @delete_unused_schedule bit = 0, @automatic_post bit = 1 AS
    SET NOCOUNT ON
    SET XACT_ABORT ON
    DECLARE @found int
    EXEC @found = msdb.dbo.sp_verify_job_identifiers '@job_name', '@job_id', @job_name OUTPUT, @job_id OUTPUT
    IF @found <> 0 RETURN 1
    EXEC @found = msdb.dbo.sp_verify_schedule_identifiers '@schedule_name', '@schedule_id', @schedule_name OUTPUT, @schedule_id OUTPUT
    IF @found <> 0 RETURN 1
    IF NOT EXISTS (SELECT * FROM msdb.dbo.sysjobschedules WHERE job_id = @job_id AND schedule_id = @schedule_id)
    BEGIN
        RAISERROR(14374, -1, -1, @schedule_name, @job_name)
        RETURN 1
    END
    BEGIN TRANSACTION
    DELETE msdb.dbo.sysjobschedules WHERE job_id = @job_id AND schedule_id = @schedule_id
    IF @delete_unused_schedule = 1 AND NOT EXISTS (SELECT * FROM msdb.dbo.sysjobschedules WHERE schedule_id = @schedule_id)
        DELETE msdb.dbo.sysschedules WHERE schedule_id = @schedule_id
    COMMIT TRANSACTION
    RETURN 0
