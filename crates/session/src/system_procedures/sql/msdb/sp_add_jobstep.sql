CREATE PROCEDURE sys.sp_add_jobstep @job_id uniqueidentifier = NULL, @job_name sysname = NULL, @step_id int = NULL, @step_name sysname,
    @subsystem nvarchar(40) = N'TSQL', @command nvarchar(max) = NULL, @additional_parameters nvarchar(max) = NULL,
    @cmdexec_success_code int = 0, @on_success_action tinyint = 1, @on_success_step_id int = 0, @on_fail_action tinyint = 2,
    @on_fail_step_id int = 0, @server sysname = NULL, @database_name sysname = NULL, @database_user_name sysname = NULL,
    @retry_attempts int = 0, @retry_interval int = 0, @os_run_priority int = 0, @output_file_name nvarchar(200) = NULL, @flags int = 0,
    @proxy_id int = NULL, @proxy_name sysname = NULL, @step_uid uniqueidentifier = NULL OUTPUT AS
    SET NOCOUNT ON
    SET XACT_ABORT ON
    DECLARE @found int, @last int, @range varchar(50)
    EXEC @found = msdb.dbo.sp_verify_job_identifiers '@job_name', '@job_id', @job_name OUTPUT, @job_id OUTPUT
    IF @found <> 0 RETURN 1
    SELECT @last = ISNULL(MAX(step_id), 0) FROM msdb.dbo.sysjobsteps WHERE job_id = @job_id
    SET @step_id = ISNULL(@step_id, @last + 1)
    IF @step_id NOT BETWEEN 1 AND @last + 1
    BEGIN
        SET @range = CONCAT('1..', @last + 1)
        RAISERROR(14266, -1, -1, '@step_id', @range)
        RETURN 1
    END
    IF EXISTS (SELECT * FROM msdb.dbo.sysjobsteps WHERE job_id = @job_id AND step_name = @step_name)
    BEGIN
        RAISERROR(14261, -1, -1, '@step_name', @step_name)
        RETURN 1
    END
    IF UPPER(@subsystem) NOT IN (N'TSQL', N'CMDEXEC', N'POWERSHELL', N'ACTIVESCRIPTING', N'SSIS', N'ANALYSISQUERY', N'ANALYSISCOMMAND',
                                 N'SNAPSHOT', N'LOGREADER', N'DISTRIBUTION', N'MERGE', N'QUEUEREADER')
    BEGIN
        RAISERROR(14234, -1, -1, '@subsystem', 'sp_enum_sqlagent_subsystems')
        RETURN 1
    END
    IF @on_success_action NOT BETWEEN 1 AND 4 OR @on_fail_action NOT BETWEEN 1 AND 4
    BEGIN
        SET @range = CASE WHEN @on_success_action BETWEEN 1 AND 4 THEN '@on_fail_action' ELSE '@on_success_action' END
        RAISERROR(14266, -1, -1, @range, '1, 2, 3, 4')
        RETURN 1
    END
    IF @proxy_id IS NOT NULL OR @proxy_name IS NOT NULL
    BEGIN
        SET @range = CASE WHEN @proxy_id IS NULL THEN '@proxy_name' ELSE '@proxy_id' END
        RAISERROR(14234, -1, -1, @range, 'sp_help_proxy')
        RETURN 1
    END
    IF UPPER(@subsystem) = N'TSQL' SET @database_name = ISNULL(@database_name, N'master')
    SET @step_uid = ISNULL(@step_uid, NEWID())
    BEGIN TRANSACTION
    IF @step_id <= @last
    BEGIN
        -- The steps from there on move back by one, and what leads to them follows.
        UPDATE msdb.dbo.sysjobsteps
        SET on_success_step_id = on_success_step_id + CASE WHEN on_success_action = 4 AND on_success_step_id >= @step_id THEN 1 ELSE 0 END,
            on_fail_step_id = on_fail_step_id + CASE WHEN on_fail_action = 4 AND on_fail_step_id >= @step_id THEN 1 ELSE 0 END
        WHERE job_id = @job_id
        UPDATE msdb.dbo.sysjobsteps SET step_id += 1 WHERE job_id = @job_id AND step_id >= @step_id
    END
    INSERT msdb.dbo.sysjobsteps (job_id, step_id, step_name, subsystem, command, flags, additional_parameters, cmdexec_success_code,
        on_success_action, on_success_step_id, on_fail_action, on_fail_step_id, server, database_name, database_user_name, retry_attempts,
        retry_interval, os_run_priority, output_file_name, last_run_outcome, last_run_duration, last_run_retries, last_run_date, last_run_time,
        proxy_id, step_uid)
    VALUES (@job_id, @step_id, @step_name, @subsystem, @command, @flags, @additional_parameters, @cmdexec_success_code, @on_success_action,
        @on_success_step_id, @on_fail_action, @on_fail_step_id, @server, @database_name, @database_user_name, @retry_attempts, @retry_interval,
        @os_run_priority, @output_file_name, 0, 0, 0, 0, 0, NULL, @step_uid)
    UPDATE msdb.dbo.sysjobs SET date_modified = GETDATE(), version_number += 1 WHERE job_id = @job_id
    COMMIT TRANSACTION
    RETURN 0
