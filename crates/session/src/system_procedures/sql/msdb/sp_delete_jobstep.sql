CREATE PROCEDURE sys.sp_delete_jobstep @job_id uniqueidentifier = NULL, @job_name sysname = NULL, @step_id int AS
    SET NOCOUNT ON
    SET XACT_ABORT ON
    DECLARE @found int, @shown nvarchar(20) = CONVERT(nvarchar(20), @step_id)
    EXEC @found = msdb.dbo.sp_verify_job_identifiers '@job_name', '@job_id', @job_name OUTPUT, @job_id OUTPUT
    IF @found <> 0 RETURN 1
    IF @step_id <> 0 AND NOT EXISTS (SELECT * FROM msdb.dbo.sysjobsteps WHERE job_id = @job_id AND step_id = @step_id)
    BEGIN
        RAISERROR(14262, -1, -1, '@step_id', @shown)
        RETURN 1
    END
    BEGIN TRANSACTION
    -- 0 means all of them.
    DELETE msdb.dbo.sysjobsteps WHERE job_id = @job_id AND @step_id IN (0, step_id)
    IF @step_id > 0
        UPDATE msdb.dbo.sysjobsteps SET step_id -= 1 WHERE job_id = @job_id AND step_id > @step_id
    -- What led to the step leads on or ends; what led behind it follows.
    UPDATE msdb.dbo.sysjobsteps
    SET on_success_action = CASE WHEN on_success_action = 4 AND on_success_step_id = @step_id THEN 1 ELSE on_success_action END,
        on_success_step_id = CASE WHEN on_success_action <> 4 OR on_success_step_id = @step_id THEN 0
                                  WHEN on_success_step_id > @step_id THEN on_success_step_id - 1 ELSE on_success_step_id END,
        on_fail_action = CASE WHEN on_fail_action = 4 AND on_fail_step_id = @step_id THEN 2 ELSE on_fail_action END,
        on_fail_step_id = CASE WHEN on_fail_action <> 4 OR on_fail_step_id = @step_id THEN 0
                               WHEN on_fail_step_id > @step_id THEN on_fail_step_id - 1 ELSE on_fail_step_id END
    WHERE job_id = @job_id
    UPDATE msdb.dbo.sysjobs SET date_modified = GETDATE(), version_number += 1 WHERE job_id = @job_id
    COMMIT TRANSACTION
    RETURN 0
