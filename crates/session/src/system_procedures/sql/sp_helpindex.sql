CREATE PROCEDURE sys.sp_helpindex @objname nvarchar(776) AS
    SET NOCOUNT ON
    DECLARE @id int = OBJECT_ID(@objname), @database sysname = DB_NAME()
    IF @id IS NULL
    BEGIN
        RAISERROR(15009, -1, -1, @objname, @database)
        RETURN 1
    END
    IF NOT EXISTS (SELECT * FROM sys.indexes WHERE object_id = @id AND index_id > 0)
    BEGIN
        RAISERROR(15472, -1, -1, @objname)
        RETURN 0
    END
    SELECT index_name = i.name,
           index_description = CAST(CASE i.type WHEN 1 THEN 'clustered' ELSE 'nonclustered' END
               + CASE i.ignore_dup_key WHEN 1 THEN ', ignore duplicate keys' ELSE '' END
               + CASE i.is_unique WHEN 1 THEN ', unique' ELSE '' END
               + CASE i.is_primary_key WHEN 1 THEN ', primary key' ELSE '' END
               + CASE i.is_unique_constraint WHEN 1 THEN ', unique key' ELSE '' END
               + CASE WHEN EXISTS (SELECT * FROM sys.stats AS s WHERE s.object_id = i.object_id AND s.stats_id = i.index_id AND s.no_recompute = 1)
                      THEN ', stats no recompute' ELSE '' END
               + ' located on PRIMARY' AS varchar(210)),
           index_keys = CAST((SELECT STRING_AGG(c.name + CASE k.is_descending_key WHEN 1 THEN N'(-)' ELSE N'' END, N', ')
                                     WITHIN GROUP (ORDER BY k.key_ordinal)
                              FROM sys.index_columns AS k JOIN sys.columns AS c ON c.object_id = k.object_id AND c.column_id = k.column_id
                              WHERE k.object_id = i.object_id AND k.index_id = i.index_id AND k.is_included_column = 0) AS nvarchar(2078))
    FROM sys.indexes AS i
    WHERE i.object_id = @id AND i.index_id > 0
    ORDER BY 1
    RETURN 0
