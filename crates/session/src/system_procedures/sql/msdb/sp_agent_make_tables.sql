CREATE PROCEDURE sys.sp_agent_make_tables AS
    -- The tables of jobs are ordinary ones. They are made with the first thing that is kept in them: until then the views of the same names stand
    -- for them, which are empty but for the categories.
    SET NOCOUNT ON
    IF OBJECT_ID(N'msdb.dbo.sysjobs', N'U') IS NOT NULL RETURN 0
    BEGIN TRANSACTION
    -- Two sessions that begin at once make them once.
    EXEC sp_getapplock @Resource = N'msdb.dbo.sysjobs', @LockMode = 'Exclusive', @LockOwner = 'Transaction', @LockTimeout = -1
    IF OBJECT_ID(N'msdb.dbo.sysjobs', N'U') IS NULL
    BEGIN
        CREATE TABLE dbo.syscategories (
            category_id int NOT NULL IDENTITY (100, 1) CONSTRAINT PK_syscategories PRIMARY KEY, category_class int NOT NULL,
            category_type tinyint NOT NULL, name sysname NOT NULL, CONSTRAINT UQ_syscategories UNIQUE (name, category_class))
        SET IDENTITY_INSERT dbo.syscategories ON
        INSERT dbo.syscategories (category_id, category_class, category_type, name) VALUES
            (0, 1, 1, N'[Uncategorized (Local)]'), (1, 1, 1, N'Jobs from MSX'), (2, 1, 2, N'[Uncategorized (Multi-Server)]'),
            (3, 1, 1, N'Database Maintenance'), (4, 1, 1, N'Web Assistant'), (5, 1, 1, N'Full-Text'), (6, 1, 1, N'Log Shipping'),
            (7, 1, 1, N'Database Engine Tuning Advisor'), (8, 1, 1, N'Data Collector'), (98, 2, 3, N'[Uncategorized]'), (99, 3, 3, N'[Uncategorized]')
        SET IDENTITY_INSERT dbo.syscategories OFF
        CREATE TABLE dbo.sysjobs (
            job_id uniqueidentifier NOT NULL CONSTRAINT PK_sysjobs PRIMARY KEY, originating_server_id int NOT NULL, name sysname NOT NULL
            CONSTRAINT UQ_sysjobs UNIQUE, enabled tinyint NOT NULL, description nvarchar(512) NULL, start_step_id int NOT NULL,
            category_id int NOT NULL, owner_sid varbinary(85) NOT NULL, notify_level_eventlog int NOT NULL, notify_level_email int NOT NULL,
            notify_level_netsend int NOT NULL, notify_level_page int NOT NULL, notify_email_operator_id int NOT NULL,
            notify_netsend_operator_id int NOT NULL, notify_page_operator_id int NOT NULL, delete_level int NOT NULL,
            date_created datetime NOT NULL, date_modified datetime NOT NULL, version_number int NOT NULL)
        CREATE TABLE dbo.sysjobsteps (
            job_id uniqueidentifier NOT NULL, step_id int NOT NULL, step_name sysname NOT NULL, subsystem nvarchar(40) NOT NULL,
            command nvarchar(max) NULL, flags int NOT NULL, additional_parameters nvarchar(max) NULL, cmdexec_success_code int NOT NULL,
            on_success_action tinyint NOT NULL, on_success_step_id int NOT NULL, on_fail_action tinyint NOT NULL,
            on_fail_step_id int NOT NULL, server sysname NULL, database_name sysname NULL, database_user_name sysname NULL,
            retry_attempts int NOT NULL, retry_interval int NOT NULL, os_run_priority int NOT NULL, output_file_name nvarchar(200) NULL,
            last_run_outcome int NOT NULL, last_run_duration int NOT NULL, last_run_retries int NOT NULL, last_run_date int NOT NULL,
            last_run_time int NOT NULL, proxy_id int NULL, step_uid uniqueidentifier NULL, CONSTRAINT PK_sysjobsteps PRIMARY KEY (job_id, step_id))
        CREATE TABLE dbo.sysschedules (
            schedule_id int NOT NULL IDENTITY CONSTRAINT PK_sysschedules PRIMARY KEY, schedule_uid uniqueidentifier NOT NULL,
            originating_server_id int NOT NULL, name sysname NOT NULL, owner_sid varbinary(85) NOT NULL, enabled int NOT NULL,
            freq_type int NOT NULL, freq_interval int NOT NULL, freq_subday_type int NOT NULL, freq_subday_interval int NOT NULL,
            freq_relative_interval int NOT NULL, freq_recurrence_factor int NOT NULL, active_start_date int NOT NULL,
            active_end_date int NOT NULL, active_start_time int NOT NULL, active_end_time int NOT NULL, date_created datetime NOT NULL,
            date_modified datetime NOT NULL, version_number int NOT NULL)
        CREATE TABLE dbo.sysjobschedules (
            schedule_id int NOT NULL, job_id uniqueidentifier NOT NULL, next_run_date int NOT NULL, next_run_time int NOT NULL,
            CONSTRAINT PK_sysjobschedules PRIMARY KEY (job_id, schedule_id))
        CREATE TABLE dbo.sysjobservers (
            job_id uniqueidentifier NOT NULL, server_id int NOT NULL, last_run_outcome tinyint NOT NULL, last_outcome_message nvarchar(4000) NULL,
            last_run_date int NOT NULL, last_run_time int NOT NULL, last_run_duration int NOT NULL,
            CONSTRAINT PK_sysjobservers PRIMARY KEY (job_id, server_id))
        EXEC (N'CREATE VIEW dbo.sysjobs_view AS
                SELECT j.job_id, originating_server = CAST(SERVERPROPERTY(''ServerName'') AS nvarchar(128)), j.name, j.enabled, j.description,
                       j.start_step_id, j.category_id, j.owner_sid, j.notify_level_eventlog, j.notify_level_email, j.notify_level_netsend,
                       j.notify_level_page, j.notify_email_operator_id, j.notify_netsend_operator_id, j.notify_page_operator_id, j.delete_level,
                       j.date_created, j.date_modified, j.version_number, j.originating_server_id, master_server = CAST(0 AS bit)
                FROM dbo.sysjobs AS j')
    END
    COMMIT TRANSACTION
    RETURN 0
