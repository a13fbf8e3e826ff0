CREATE PROCEDURE sys.sp_updatestats @resample char(8) = 'NO' AS
    SET NOCOUNT ON
    IF UPPER(@resample) NOT IN ('NO', 'RESAMPLE')
    BEGIN
        RAISERROR(15251, -1, -1, 'resample', '''NO'' or ''RESAMPLE''')
        RETURN 1
    END
    -- Those that are up to date are left alone.
    DECLARE @how nvarchar(20) = CASE UPPER(@resample) WHEN 'RESAMPLE' THEN N', RESAMPLE' ELSE N'' END, @text nvarchar(max)
    SELECT @text = STRING_AGG(CAST(u.text AS nvarchar(max)), N' ') WITHIN GROUP (ORDER BY u.id, u.stats_id)
    FROM (SELECT o.object_id AS id, s.stats_id,
                 N'UPDATE STATISTICS ' + QUOTENAME(SCHEMA_NAME(o.schema_id)) + N'.' + QUOTENAME(o.name) + N' ' + QUOTENAME(s.name)
                 + ISNULL(N' WITH ' + NULLIF(STUFF(CASE s.no_recompute WHEN 1 THEN N', NORECOMPUTE' ELSE N'' END + @how, 1, 2, N''), N''), N'') AS text
          FROM sys.tables AS o JOIN sys.stats AS s ON s.object_id = o.object_id
          CROSS APPLY sys.dm_db_stats_properties(s.object_id, s.stats_id) AS p
          WHERE (p.last_updated IS NULL OR p.modification_counter > 0)
                AND NOT EXISTS (SELECT * FROM sys.indexes AS i WHERE i.object_id = s.object_id AND i.index_id = s.stats_id AND i.is_disabled = 1)) AS u
    IF @text IS NOT NULL EXEC (@text)
    PRINT 'Statistics for all tables have been updated.'
    RETURN 0
