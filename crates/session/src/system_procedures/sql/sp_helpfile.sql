CREATE PROCEDURE sys.sp_helpfile @filename sysname = NULL AS
    SET NOCOUNT ON
    IF @filename IS NOT NULL AND FILE_IDEX(@filename) IS NULL
    BEGIN
        RAISERROR(15325, -1, -1, N'file', @filename)
        RETURN 1
    END
    SELECT name = f.name, fileid = CAST(f.file_id AS smallint), filename = f.physical_name,
           filegroup = CAST(CASE f.type WHEN 0 THEN N'PRIMARY' END AS sysname),
           size = CAST(CONVERT(nvarchar(15), CAST(f.size AS bigint) * 8) + N' KB' AS nvarchar(18)),
           maxsize = CAST(CASE f.max_size WHEN -1 THEN N'Unlimited' ELSE CONVERT(nvarchar(15), CAST(f.max_size AS bigint) * 8) + N' KB' END AS nvarchar(18)),
           growth = CAST(CASE f.is_percent_growth WHEN 1 THEN CONVERT(nvarchar(15), f.growth) + N'%' ELSE CONVERT(nvarchar(15), CAST(f.growth AS bigint) * 8) + N' KB' END AS nvarchar(18)),
           usage = CAST(CASE f.type WHEN 1 THEN 'log only' ELSE 'data only' END AS varchar(9))
    FROM sys.database_files AS f
    WHERE @filename IS NULL OR f.name = @filename
    ORDER BY 2
    RETURN 0
