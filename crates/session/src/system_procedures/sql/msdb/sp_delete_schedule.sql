CREATE PROCEDURE sys.sp_delete_schedule @schedule_id int = NULL, @schedule_name sysname = NULL, @force_delete bit = 0,
    @automatic_post bit = 1 AS
    SET NOCOUNT ON
    SET XACT_ABORT ON
    DECLARE @found int
    EXEC @found = msdb.dbo.sp_verify_schedule_identifiers '@schedule_name', '@schedule_id', @schedule_name OUTPUT, @schedule_id OUTPUT
    IF @found <> 0 RETURN 1
    IF @force_delete = 0 AND EXISTS (SELECT * FROM msdb.dbo.sysjobschedules WHERE schedule_id = @schedule_id)
    BEGIN
        RAISERROR(14372, -1, -1)
        RETURN 1
    END
    BEGIN TRANSACTION
    DELETE msdb.dbo.sysjobschedules WHERE schedule_id = @schedule_id
    DELETE msdb.dbo.sysschedules WHERE schedule_id = @schedule_id
    COMMIT TRANSACTION
    RETURN 0
