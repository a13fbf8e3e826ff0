CREATE PROCEDURE sys.sp_verify_job_identifiers @name_of_name_parameter varchar(60), @name_of_id_parameter varchar(60),
    @job_name sysname OUTPUT, @job_id uniqueidentifier OUTPUT AS
    SET NOCOUNT ON
    DECLARE @shown nvarchar(200)
    SET @job_name = NULLIF(LTRIM(RTRIM(@job_name)), N'')
    IF (@job_name IS NULL AND @job_id IS NULL) OR (@job_name IS NOT NULL AND @job_id IS NOT NULL)
    BEGIN
        RAISERROR(14294, -1, -1, @name_of_id_parameter, @name_of_name_parameter)
        RETURN 1
    END
    IF @job_id IS NOT NULL
    BEGIN
        SELECT @job_name = name FROM msdb.dbo.sysjobs WHERE job_id = @job_id
        IF @job_name IS NULL
        BEGIN
            SET @shown = CONVERT(nvarchar(36), @job_id)
            RAISERROR(14262, -1, -1, @name_of_id_parameter, @shown)
            RETURN 1
        END
        RETURN 0
    END
    SELECT @job_id = job_id FROM msdb.dbo.sysjobs WHERE name = @job_name
    IF @job_id IS NULL
    BEGIN
        RAISERROR(14262, -1, -1, @name_of_name_parameter, @job_name)
        RETURN 1
    END
    RETURN 0
