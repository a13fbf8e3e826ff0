CREATE PROCEDURE sys.sp_delete_jobserver @job_id uniqueidentifier = NULL, @job_name sysname = NULL, @server_name sysname AS
    SET NOCOUNT ON
    DECLARE @found int
    EXEC @found = msdb.dbo.sp_verify_job_identifiers '@job_name', '@job_id', @job_name OUTPUT, @job_id OUTPUT
    IF @found <> 0 RETURN 1
    IF UPPER(@server_name) NOT IN (N'(LOCAL)', UPPER(@@SERVERNAME)) OR NOT EXISTS (SELECT * FROM msdb.dbo.sysjobservers WHERE job_id = @job_id)
    BEGIN
        RAISERROR(14270, -1, -1, @job_name, @server_name)
        RETURN 1
    END
    DELETE msdb.dbo.sysjobservers WHERE job_id = @job_id
    RETURN 0
