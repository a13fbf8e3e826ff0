CREATE PROCEDURE sys.sp_helpdb @dbname sysname = NULL AS
    SET NOCOUNT ON
    IF @dbname IS NOT NULL AND DB_ID(@dbname) IS NULL
    BEGIN
        RAISERROR(15010, -1, -1, @dbname)
        RETURN 1
    END
    SELECT name = d.name,
           db_size = CAST(STR(CAST((SELECT SUM(CAST(f.size AS bigint)) FROM sys.master_files AS f WHERE f.database_id = d.database_id) AS float) / 128, 10, 2) + ' MB' AS nvarchar(13)),
           owner = CAST(N'sa' AS sysname), dbid = CAST(d.database_id AS smallint), created = CONVERT(nvarchar(11), d.create_date),
           status = CAST(N'Status=' + d.state_desc + N', Updateability=' + CASE d.is_read_only WHEN 1 THEN N'READ_ONLY' ELSE N'READ_WRITE' END
                    + N', UserAccess=' + COALESCE(d.user_access_desc, N'MULTI_USER') + N', Recovery=' + d.recovery_model_desc
                    + N', Collation=' + COALESCE(d.collation_name, N'') AS nvarchar(600)),
           compatibility_level = d.compatibility_level
    FROM sys.databases AS d
    WHERE @dbname IS NULL OR d.name = @dbname
    ORDER BY 1
    IF @dbname IS NOT NULL
        SELECT name = f.name, fileid = CAST(f.file_id AS smallint), filename = f.physical_name,
               filegroup = CAST(CASE f.type WHEN 0 THEN N'PRIMARY' END AS sysname), size = CAST(CONVERT(varchar(15), CAST(f.size AS bigint) * 8) + ' KB' AS nvarchar(18)),
               maxsize = CAST(CASE f.max_size WHEN -1 THEN N'Unlimited' ELSE CONVERT(nvarchar(15), CAST(f.max_size AS bigint) * 8) + N' KB' END AS nvarchar(18)),
               growth = CAST(CASE f.is_percent_growth WHEN 1 THEN CONVERT(nvarchar(15), f.growth) + N'%' ELSE CONVERT(nvarchar(15), CAST(f.growth AS bigint) * 8) + N' KB' END AS nvarchar(18)),
               usage = CAST(CASE f.type WHEN 1 THEN 'log only' ELSE 'data only' END AS varchar(9))
        FROM sys.master_files AS f WHERE f.database_id = DB_ID(@dbname)
        ORDER BY 2
    RETURN 0
