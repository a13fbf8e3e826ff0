CREATE PROCEDURE sys.sp_help @objname nvarchar(776) = NULL AS
    SET NOCOUNT ON
    DECLARE @database sysname = DB_NAME()
    IF @objname IS NULL
    BEGIN
        SELECT Name = o.name, Owner = CAST(USER_NAME(1) AS sysname), Object_type = CAST(LOWER(REPLACE(o.type_desc, N'_', N' ')) AS nvarchar(31))
        FROM sys.all_objects AS o
        ORDER BY 2, 3 DESC, 1
        SELECT User_type = t.name, Storage_type = CAST(TYPE_NAME(t.system_type_id) AS sysname), Length = t.max_length, Prec = CAST(TYPEPROPERTY(t.name, 'precision') AS int),
               Scale = CAST(TYPEPROPERTY(t.name, 'scale') AS int), Nullable = CAST(CASE t.is_nullable WHEN 1 THEN 'yes' ELSE 'no' END AS varchar(35)),
               Default_name = CAST(N'none' AS sysname), Rule_name = CAST(N'none' AS sysname), Collation = t.collation_name
        FROM sys.types AS t WHERE t.is_user_defined = 1
        ORDER BY 1
        RETURN 0
    END
    DECLARE @id int = OBJECT_ID(@objname)
    IF @id IS NULL
    BEGIN
        IF TYPE_ID(@objname) IS NULL
        BEGIN
            RAISERROR(15009, -1, -1, @objname, @database)
            RETURN 1
        END
        SELECT Type_name = t.name, Storage_type = CAST(TYPE_NAME(t.system_type_id) AS sysname), Length = t.max_length, Prec = CAST(TYPEPROPERTY(t.name, 'precision') AS int),
               Scale = CAST(TYPEPROPERTY(t.name, 'scale') AS int), Nullable = CAST(CASE t.is_nullable WHEN 1 THEN 'yes' ELSE 'no' END AS varchar(35)),
               Default_name = CAST(N'none' AS sysname), Rule_name = CAST(N'none' AS sysname), Collation = t.collation_name
        FROM sys.types AS t WHERE t.user_type_id = TYPE_ID(@objname)
        RETURN 0
    END
    DECLARE @type char(2)
    SELECT @type = type FROM sys.all_objects WHERE object_id = @id
    SELECT Name = o.name, Owner = CAST(USER_NAME(1) AS sysname), Type = CAST(LOWER(REPLACE(o.type_desc, N'_', N' ')) AS nvarchar(31)), Created_datetime = o.create_date
    FROM sys.all_objects AS o WHERE o.object_id = @id
    IF @type IN ('S', 'U', 'V', 'TF', 'IF')
    BEGIN
        SELECT Column_name = c.name, Type = CAST(TYPE_NAME(c.user_type_id) AS sysname), Computed = CAST(CASE c.is_computed WHEN 1 THEN 'yes' ELSE 'no' END AS varchar(35)),
               Length = CAST(c.max_length AS int),
               Prec = CAST(CASE WHEN c.[precision] > 0 AND c.system_type_id NOT IN (104, 40, 41, 42, 43, 58, 61) THEN CONVERT(char(5), c.[precision]) ELSE '     ' END AS char(5)),
               Scale = CAST(CASE WHEN c.[precision] > 0 AND c.system_type_id NOT IN (104, 59, 62, 40, 58, 61) THEN CONVERT(char(5), c.scale) ELSE '     ' END AS char(5)),
               Nullable = CAST(CASE c.is_nullable WHEN 1 THEN 'yes' ELSE 'no' END AS varchar(35)),
               TrimTrailingBlanks = CAST(CASE WHEN c.system_type_id IN (165, 167, 173, 175) THEN 'no' ELSE '(n/a)' END AS varchar(35)),
               FixedLenNullInSource = CAST(CASE WHEN c.system_type_id NOT IN (165, 167, 173, 175) THEN '(n/a)' WHEN c.is_nullable = 1 THEN 'yes' ELSE 'no' END AS varchar(35)),
               Collation = c.collation_name
        FROM sys.all_columns AS c WHERE c.object_id = @id
        ORDER BY c.column_id
        IF EXISTS (SELECT * FROM sys.identity_columns WHERE object_id = @id)
            SELECT [Identity] = name, Seed = CAST(seed_value AS numeric(38, 0)), Increment = CAST(increment_value AS numeric(38, 0)), [Not For Replication] = CAST(is_not_for_replication AS int)
            FROM sys.identity_columns WHERE object_id = @id
        ELSE
            SELECT [Identity] = CAST(N'No identity column defined.' AS sysname), Seed = CAST(NULL AS numeric(38, 0)), Increment = CAST(NULL AS numeric(38, 0)), [Not For Replication] = CAST(NULL AS int)
        SELECT [RowGuidCol] = COALESCE((SELECT TOP (1) name FROM sys.columns WHERE object_id = @id AND is_rowguidcol = 1), CAST(N'No rowguidcol column defined.' AS sysname))
    END
    IF @type IN ('S', 'U')
        SELECT Data_located_on_filegroup = CAST(N'PRIMARY' AS sysname)
    IF @type IN ('P', 'FN', 'IF', 'TF') AND EXISTS (SELECT * FROM sys.parameters WHERE object_id = @id)
        SELECT Parameter_name = p.name, Type = CAST(TYPE_NAME(p.user_type_id) AS sysname), Length = p.max_length,
               Prec = CAST(COLUMNPROPERTY(@id, p.name, 'precision') AS int), Scale = CAST(COLUMNPROPERTY(@id, p.name, 'scale') AS int),
               Param_order = p.parameter_id, Collation = CASE WHEN p.system_type_id IN (35, 99, 167, 175, 231, 239) THEN CAST(SERVERPROPERTY('Collation') AS sysname) END
        FROM sys.parameters AS p WHERE p.object_id = @id
        ORDER BY p.parameter_id
    IF @type IN ('S', 'U', 'V')
    BEGIN
        EXEC sys.sp_helpindex @objname
        EXEC sys.sp_helpconstraint @objname, 'nomsg'
        IF NOT EXISTS (SELECT * FROM sys.objects WHERE parent_object_id = @id AND type IN ('PK', 'UQ', 'F', 'C', 'D'))
            RAISERROR(15469, -1, -1, @objname)
        IF NOT EXISTS (SELECT * FROM sys.foreign_keys WHERE referenced_object_id = @id)
            RAISERROR(15470, -1, -1, @objname)
    END
    RETURN 0
