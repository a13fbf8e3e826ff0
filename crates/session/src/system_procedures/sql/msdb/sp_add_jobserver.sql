CREATE PROCEDURE sys.sp_add_jobserver @job_id uniqueidentifier = NULL, @job_name sysname = NULL, @server_name sysname = NULL,
    @automatic_post bit = 1 AS
    SET NOCOUNT ON
    DECLARE @found int
    EXEC @found = msdb.dbo.sp_verify_job_identifiers '@job_name', '@job_id', @job_name OUTPUT, @job_id OUTPUT
    IF @found <> 0 RETURN 1
    SET @server_name = ISNULL(@server_name, N'(LOCAL)')
    IF UPPER(@server_name) NOT IN (N'(LOCAL)', UPPER(@@SERVERNAME))
    BEGIN
        RAISERROR(14262, -1, -1, '@server_name', @server_name)
        RETURN 1
    END
    IF EXISTS (SELECT * FROM msdb.dbo.sysjobservers WHERE job_id = @job_id)
    BEGIN
        RAISERROR(14269, -1, -1, @job_name, @server_name)
        RETURN 1
    END
    INSERT msdb.dbo.sysjobservers (job_id, server_id, last_run_outcome, last_outcome_message, last_run_date, last_run_time, last_run_duration)
    VALUES (@job_id, 0, 5, NULL, 0, 0, 0)
    RETURN 0
