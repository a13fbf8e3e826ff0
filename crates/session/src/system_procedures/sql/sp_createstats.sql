CREATE PROCEDURE sys.sp_createstats @indexonly char(9) = 'NO', @fullscan char(9) = 'NO', @norecompute char(12) = 'NO', @incremental char(12) = 'NO' AS
    SET NOCOUNT ON
    IF UPPER(@incremental) = 'INCREMENTAL'
    BEGIN
        RAISERROR(40514, -1, -1, 'sp_createstats with INCREMENTAL')
        RETURN 1
    END
    DECLARE @how nvarchar(60), @text nvarchar(max)
    SET @how = CASE UPPER(@fullscan) WHEN 'FULLSCAN' THEN N', FULLSCAN' ELSE N'' END
             + CASE UPPER(@norecompute) WHEN 'NORECOMPUTE' THEN N', NORECOMPUTE' ELSE N'' END
    SET @how = ISNULL(N' WITH ' + NULLIF(STUFF(@how, 1, 2, N''), N''), N'')
    -- Of each column that no statistics begin with, under its own name.
    SELECT @text = STRING_AGG(CAST(N'CREATE STATISTICS ' + QUOTENAME(c.name) + N' ON ' + QUOTENAME(SCHEMA_NAME(o.schema_id)) + N'.' + QUOTENAME(o.name)
                                   + N' (' + QUOTENAME(c.name) + N')' + @how AS nvarchar(max)), N' ') WITHIN GROUP (ORDER BY o.object_id, c.column_id)
    FROM sys.tables AS o JOIN sys.columns AS c ON c.object_id = o.object_id
    WHERE c.is_computed = 0 AND c.max_length > 0 AND c.system_type_id NOT IN (34, 35, 98, 99, 241)
          AND NOT EXISTS (SELECT * FROM sys.stats_columns AS x WHERE x.object_id = c.object_id AND x.column_id = c.column_id AND x.stats_column_id = 1)
          AND NOT EXISTS (SELECT * FROM sys.stats AS s WHERE s.object_id = c.object_id AND s.name = c.name)
          AND (UPPER(@indexonly) <> 'INDEXONLY'
               OR EXISTS (SELECT * FROM sys.index_columns AS k WHERE k.object_id = c.object_id AND k.column_id = c.column_id))
    IF @text IS NOT NULL EXEC (@text)
    PRINT 'Statistics have been created for the listed columns of the above tables.'
    RETURN 0
