CREATE PROCEDURE sys.sp_update_jobstep @job_id uniqueidentifier = NULL, @job_name sysname = NULL, @step_id int, @step_name sysname = NULL,
    @subsystem nvarchar(40) = NULL, @command nvarchar(max) = NULL, @additional_parameters nvarchar(max) = NULL,
    @cmdexec_success_code int = NULL, @on_success_action tinyint = NULL, @on_success_step_id int = NULL, @on_fail_action tinyint = NULL,
    @on_fail_step_id int = NULL, @server sysname = NULL, @database_name sysname = NULL, @database_user_name sysname = NULL,
    @retry_attempts int = NULL, @retry_interval int = NULL, @os_run_priority int = NULL, @output_file_name nvarchar(200) = NULL,
    @flags int = NULL AS
    SET NOCOUNT ON
    SET XACT_ABORT ON
    DECLARE @found int, @shown nvarchar(20) = CONVERT(nvarchar(20), @step_id)
    EXEC @found = msdb.dbo.sp_verify_job_identifiers '@job_name', '@job_id', @job_name OUTPUT, @job_id OUTPUT
    IF @found <> 0 RETURN 1
    IF NOT EXISTS (SELECT * FROM msdb.dbo.sysjobsteps WHERE job_id = @job_id AND step_id = @step_id)
    BEGIN
        RAISERROR(14262, -1, -1, '@step_id', @shown)
        RETURN 1
    END
    IF EXISTS (SELECT * FROM msdb.dbo.sysjobsteps WHERE job_id = @job_id AND step_name = @step_name AND step_id <> @step_id)
    BEGIN
        RAISERROR(14261, -1, -1, '@step_name', @step_name)
        RETURN 1
    END
    BEGIN TRANSACTION
    UPDATE msdb.dbo.sysjobsteps
    SET step_name = ISNULL(@step_name, step_name), subsystem = ISNULL(@subsystem, subsystem), command = ISNULL(@command, command),
        additional_parameters = ISNULL(@additional_parameters, additional_parameters),
        cmdexec_success_code = ISNULL(@cmdexec_success_code, cmdexec_success_code),
        on_success_action = ISNULL(@on_success_action, on_success_action),
        on_success_step_id = ISNULL(@on_success_step_id, on_success_step_id), on_fail_action = ISNULL(@on_fail_action, on_fail_action),
        on_fail_step_id = ISNULL(@on_fail_step_id, on_fail_step_id), server = ISNULL(@server, server),
        database_name = ISNULL(@database_name, database_name), database_user_name = ISNULL(@database_user_name, database_user_name),
        retry_attempts = ISNULL(@retry_attempts, retry_attempts), retry_interval = ISNULL(@retry_interval, retry_interval),
        os_run_priority = ISNULL(@os_run_priority, os_run_priority), output_file_name = ISNULL(@output_file_name, output_file_name),
        flags = ISNULL(@flags, flags)
    WHERE job_id = @job_id AND step_id = @step_id
    UPDATE msdb.dbo.sysjobs SET date_modified = GETDATE(), version_number += 1 WHERE job_id = @job_id
    COMMIT TRANSACTION
    RETURN 0
