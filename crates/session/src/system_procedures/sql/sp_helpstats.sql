CREATE PROCEDURE sys.sp_helpstats @objname nvarchar(776), @results nvarchar(5) = 'STATS' AS
    SET NOCOUNT ON
    DECLARE @id int = OBJECT_ID(@objname), @database sysname = DB_NAME()
    IF UPPER(@results) NOT IN ('STATS', 'ALL')
    BEGIN
        RAISERROR(15251, -1, -1, 'results', '''STATS'' or ''ALL''')
        RETURN 1
    END
    IF @id IS NULL
    BEGIN
        RAISERROR(15009, -1, -1, @objname, @database)
        RETURN 1
    END
    -- Those of indexes are listed with ALL.
    IF NOT EXISTS (SELECT * FROM sys.stats WHERE object_id = @id AND (auto_created = 1 OR user_created = 1 OR UPPER(@results) = 'ALL'))
    BEGIN
        IF UPPER(@results) = 'ALL' PRINT 'This object does not have any statistics or indexes.'
        ELSE PRINT 'This object does not have any statistics.'
        RETURN 0
    END
    SELECT statistics_name = s.name,
           statistics_keys = CAST((SELECT STRING_AGG(c.name, N', ') WITHIN GROUP (ORDER BY x.stats_column_id)
                                   FROM sys.stats_columns AS x JOIN sys.columns AS c ON c.object_id = x.object_id AND c.column_id = x.column_id
                                   WHERE x.object_id = s.object_id AND x.stats_id = s.stats_id) AS nvarchar(2078))
    FROM sys.stats AS s
    WHERE s.object_id = @id AND (s.auto_created = 1 OR s.user_created = 1 OR UPPER(@results) = 'ALL')
    ORDER BY s.stats_id
    RETURN 0
