CREATE PROCEDURE sys.sp_update_job @job_id uniqueidentifier = NULL, @job_name sysname = NULL, @new_name sysname = NULL, @enabled tinyint = NULL,
    @description nvarchar(512) = NULL, @start_step_id int = NULL, @category_name sysname = NULL, @owner_login_name sysname = NULL,
    @notify_level_eventlog int = NULL, @notify_level_email int = NULL, @notify_level_netsend int = NULL, @notify_level_page int = NULL,
    @notify_email_operator_name sysname = NULL, @notify_netsend_operator_name sysname = NULL, @notify_page_operator_name sysname = NULL,
    @delete_level int = NULL, @automatic_post bit = 1 AS
    SET NOCOUNT ON
    DECLARE @found int, @category_id int, @owner varbinary(85)
    EXEC @found = msdb.dbo.sp_verify_job_identifiers '@job_name', '@job_id', @job_name OUTPUT, @job_id OUTPUT
    IF @found <> 0 RETURN 1
    IF @new_name IS NOT NULL AND EXISTS (SELECT * FROM msdb.dbo.sysjobs WHERE name = @new_name AND job_id <> @job_id)
    BEGIN
        RAISERROR(14261, -1, -1, '@new_name', @new_name)
        RETURN 1
    END
    IF @enabled NOT IN (0, 1)
    BEGIN
        RAISERROR(14266, -1, -1, '@enabled', '0, 1')
        RETURN 1
    END
    IF @category_name IS NOT NULL
    BEGIN
        SELECT @category_id = MAX(category_id) FROM msdb.dbo.syscategories WHERE name = @category_name AND category_class = 1
        IF @category_id IS NULL
        BEGIN
            RAISERROR(14234, -1, -1, '@category_name', 'sp_help_category')
            RETURN 1
        END
    END
    IF @owner_login_name IS NOT NULL
    BEGIN
        SET @owner = SUSER_SID(@owner_login_name)
        IF @owner IS NULL
        BEGIN
            RAISERROR(14234, -1, -1, '@owner_login_name', 'sp_helplogins')
            RETURN 1
        END
    END
    IF COALESCE(@notify_email_operator_name, @notify_netsend_operator_name, @notify_page_operator_name, N'') <> N''
    BEGIN
        RAISERROR(14234, -1, -1, '@notify_operator_name', 'sp_help_operator')
        RETURN 1
    END
    UPDATE msdb.dbo.sysjobs
    SET name = ISNULL(@new_name, name), enabled = ISNULL(@enabled, enabled), description = ISNULL(@description, description),
        start_step_id = ISNULL(@start_step_id, start_step_id), category_id = ISNULL(@category_id, category_id),
        owner_sid = ISNULL(@owner, owner_sid), notify_level_eventlog = ISNULL(@notify_level_eventlog, notify_level_eventlog),
        notify_level_email = ISNULL(@notify_level_email, notify_level_email),
        notify_level_netsend = ISNULL(@notify_level_netsend, notify_level_netsend),
        notify_level_page = ISNULL(@notify_level_page, notify_level_page), delete_level = ISNULL(@delete_level, delete_level),
        date_modified = GETDATE(), version_number = version_number + 1
    WHERE job_id = @job_id
    RETURN 0
