CREATE PROCEDURE sys.sp_helpdb @dbname sysname = NULL AS
    SELECT name, db_size = CAST(N'' AS nvarchar(13)), owner = CAST(N'sa' AS sysname), dbid = database_id,
           created = CONVERT(nvarchar(11), create_date), status = CAST(N'Status=' + state_desc AS nvarchar(600)), compatibility_level
    FROM sys.databases
    WHERE @dbname IS NULL OR name = @dbname
    ORDER BY name
