CREATE PROCEDURE sys.sp_helpfilegroup @filegroupname sysname = NULL AS
    SET NOCOUNT ON
    IF @filegroupname IS NOT NULL AND NOT EXISTS (SELECT * FROM sys.filegroups WHERE name = @filegroupname)
    BEGIN
        RAISERROR(15478, -1, -1)
        RETURN 1
    END
    SELECT groupname = g.name, groupid = CAST(g.data_space_id AS smallint),
           filecount = (SELECT COUNT(*) FROM sys.database_files AS f WHERE f.data_space_id = g.data_space_id)
    FROM sys.filegroups AS g
    WHERE @filegroupname IS NULL OR g.name = @filegroupname
    ORDER BY 1
    IF @filegroupname IS NOT NULL
        SELECT file_in_group = f.name, fileid = CAST(f.file_id AS smallint), filename = f.physical_name,
               size = CONVERT(nvarchar(15), CAST(f.size AS bigint) * 8) + N' KB',
               maxsize = CASE f.max_size WHEN -1 THEN N'Unlimited' ELSE CONVERT(nvarchar(15), CAST(f.max_size AS bigint) * 8) + N' KB' END,
               growth = CASE f.is_percent_growth WHEN 1 THEN CONVERT(nvarchar(15), f.growth) + N'%' ELSE CONVERT(nvarchar(15), CAST(f.growth AS bigint) * 8) + N' KB' END
        FROM sys.database_files AS f JOIN sys.filegroups AS g ON g.data_space_id = f.data_space_id
        WHERE g.name = @filegroupname
        ORDER BY f.file_id
    RETURN 0
