CREATE PROCEDURE sys.sp_add_job @job_name sysname, @enabled tinyint = 1, @description nvarchar(512) = NULL, @start_step_id int = 1,
    @category_name sysname = NULL, @category_id int = NULL, @owner_login_name sysname = NULL, @notify_level_eventlog int = 2,
    @notify_level_email int = 0, @notify_level_netsend int = 0, @notify_level_page int = 0, @notify_email_operator_name sysname = NULL,
    @notify_netsend_operator_name sysname = NULL, @notify_page_operator_name sysname = NULL, @delete_level int = 0,
    @job_id uniqueidentifier = NULL OUTPUT, @originating_server sysname = NULL AS
    SET NOCOUNT ON
    SET XACT_ABORT ON
    DECLARE @owner varbinary(85) = CASE WHEN @owner_login_name IS NULL THEN SUSER_SID() ELSE SUSER_SID(@owner_login_name) END
    SET @job_name = LTRIM(RTRIM(@job_name))
    IF ISNULL(@job_name, N'') = N''
    BEGIN
        RAISERROR(14261, -1, -1, '@job_name', @job_name)
        RETURN 1
    END
    IF EXISTS (SELECT * FROM msdb.dbo.sysjobs WHERE name = @job_name)
    BEGIN
        RAISERROR(14261, -1, -1, '@job_name', @job_name)
        RETURN 1
    END
    IF @enabled NOT IN (0, 1)
    BEGIN
        RAISERROR(14266, -1, -1, '@enabled', '0, 1')
        RETURN 1
    END
    IF @owner IS NULL
    BEGIN
        RAISERROR(14234, -1, -1, '@owner_login_name', 'sp_helplogins')
        RETURN 1
    END
    IF @category_name IS NOT NULL
        SELECT @category_id = MAX(category_id) FROM msdb.dbo.syscategories WHERE name = @category_name AND category_class = 1
    ELSE IF @category_id IS NULL
        SET @category_id = 0
    IF NOT EXISTS (SELECT * FROM msdb.dbo.syscategories WHERE category_id = @category_id AND category_class = 1)
    BEGIN
        RAISERROR(14234, -1, -1, '@category_name', 'sp_help_category')
        RETURN 1
    END
    IF COALESCE(@notify_email_operator_name, @notify_netsend_operator_name, @notify_page_operator_name, N'') <> N''
    BEGIN
        RAISERROR(14234, -1, -1, '@notify_operator_name', 'sp_help_operator')
        RETURN 1
    END
    EXEC msdb.dbo.sp_agent_make_tables
    SET @job_id = ISNULL(@job_id, NEWID())
    INSERT msdb.dbo.sysjobs (job_id, originating_server_id, name, enabled, description, start_step_id, category_id, owner_sid,
        notify_level_eventlog, notify_level_email, notify_level_netsend, notify_level_page, notify_email_operator_id, notify_netsend_operator_id,
        notify_page_operator_id, delete_level, date_created, date_modified, version_number)
    VALUES (@job_id, 0, @job_name, @enabled, ISNULL(@description, N'No description available.'), @start_step_id, @category_id, @owner,
        @notify_level_eventlog, @notify_level_email, @notify_level_netsend, @notify_level_page, 0, 0, 0, @delete_level, GETDATE(), GETDATE(), 1)
    PRINT N'Job ''' + @job_name + N''' is kept and shown, and never run: this server has no agent.'
    RETURN 0
