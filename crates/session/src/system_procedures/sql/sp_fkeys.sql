CREATE PROCEDURE sys.sp_fkeys @pktable_name sysname = NULL, @pktable_owner sysname = NULL, @pktable_qualifier sysname = NULL,
    @fktable_name sysname = NULL, @fktable_owner sysname = NULL, @fktable_qualifier sysname = NULL AS
    SET NOCOUNT ON
    -- Clients that have nothing to say say ''.
    SELECT @pktable_name = NULLIF(@pktable_name, N''), @pktable_owner = NULLIF(@pktable_owner, N''), @pktable_qualifier = NULLIF(@pktable_qualifier, N''),
           @fktable_name = NULLIF(@fktable_name, N''), @fktable_owner = NULLIF(@fktable_owner, N''), @fktable_qualifier = NULLIF(@fktable_qualifier, N'')
    IF @pktable_name IS NULL AND @fktable_name IS NULL
    BEGIN
        RAISERROR(15252, -1, -1)
        RETURN 1
    END
    IF @pktable_qualifier <> DB_NAME() OR @fktable_qualifier <> DB_NAME()
    BEGIN
        RAISERROR(15250, -1, -1)
        RETURN 1
    END
    SELECT PKTABLE_QUALIFIER = CAST(DB_NAME() AS sysname), PKTABLE_OWNER = CAST(SCHEMA_NAME(p.schema_id) AS sysname), PKTABLE_NAME = p.name,
           PKCOLUMN_NAME = CAST(pc.name AS sysname), FKTABLE_QUALIFIER = CAST(DB_NAME() AS sysname),
           FKTABLE_OWNER = CAST(SCHEMA_NAME(f.schema_id) AS sysname), FKTABLE_NAME = f.name, FKCOLUMN_NAME = CAST(fc.name AS sysname),
           KEY_SEQ = CAST(c.constraint_column_id AS smallint),
           UPDATE_RULE = CAST(CASE k.update_referential_action WHEN 0 THEN 1 WHEN 1 THEN 0 ELSE k.update_referential_action END AS smallint),
           DELETE_RULE = CAST(CASE k.delete_referential_action WHEN 0 THEN 1 WHEN 1 THEN 0 ELSE k.delete_referential_action END AS smallint),
           FK_NAME = k.name, PK_NAME = CAST(i.name AS sysname), DEFERRABILITY = CAST(7 AS smallint)
    FROM sys.foreign_keys AS k
    JOIN sys.foreign_key_columns AS c ON c.constraint_object_id = k.object_id
    JOIN sys.objects AS p ON p.object_id = k.referenced_object_id
    JOIN sys.objects AS f ON f.object_id = k.parent_object_id
    JOIN sys.columns AS pc ON pc.object_id = p.object_id AND pc.column_id = c.referenced_column_id
    JOIN sys.columns AS fc ON fc.object_id = f.object_id AND fc.column_id = c.parent_column_id
    LEFT JOIN sys.indexes AS i ON i.object_id = k.referenced_object_id AND i.index_id = k.key_index_id
    WHERE (@pktable_name IS NULL OR p.name = @pktable_name) AND (@fktable_name IS NULL OR f.name = @fktable_name)
      AND (@pktable_owner IS NULL OR SCHEMA_NAME(p.schema_id) = @pktable_owner)
      AND (@fktable_owner IS NULL OR SCHEMA_NAME(f.schema_id) = @fktable_owner)
    ORDER BY CASE WHEN @pktable_name IS NOT NULL THEN SCHEMA_NAME(f.schema_id) ELSE SCHEMA_NAME(p.schema_id) END,
             CASE WHEN @pktable_name IS NOT NULL THEN f.name ELSE p.name END, k.name, 9
