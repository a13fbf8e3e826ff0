CREATE PROCEDURE sys.sp_helpconstraint @objname nvarchar(776), @nomsg varchar(5) = 'msg' AS
    SET NOCOUNT ON
    DECLARE @id int = OBJECT_ID(@objname), @database sysname = DB_NAME()
    IF @id IS NULL
    BEGIN
        RAISERROR(15009, -1, -1, @objname, @database)
        RETURN 1
    END
    IF @nomsg <> 'nomsg'
        SELECT [Object Name] = @objname
    IF EXISTS (SELECT * FROM sys.objects WHERE parent_object_id = @id AND type IN ('PK', 'UQ', 'F', 'C', 'D'))
        SELECT constraint_type, constraint_name, delete_action, update_action, status_enabled, status_for_replication, constraint_keys
        FROM (SELECT constraint_type = CAST(CASE i.is_primary_key WHEN 1 THEN N'PRIMARY KEY' ELSE N'UNIQUE' END
                         + CASE i.type WHEN 1 THEN N' (clustered)' ELSE N' (non-clustered)' END AS nvarchar(146)),
                     constraint_name = i.name, delete_action = CAST(N'(n/a)' AS nvarchar(11)), update_action = CAST(N'(n/a)' AS nvarchar(11)),
                     status_enabled = CAST('(n/a)' AS varchar(8)), status_for_replication = CAST('(n/a)' AS varchar(19)),
                     constraint_keys = CAST((SELECT STRING_AGG(c.name + CASE k.is_descending_key WHEN 1 THEN N'(-)' ELSE N'' END, N', ')
                                                    WITHIN GROUP (ORDER BY k.key_ordinal)
                                             FROM sys.index_columns AS k JOIN sys.columns AS c ON c.object_id = k.object_id AND c.column_id = k.column_id
                                             WHERE k.object_id = i.object_id AND k.index_id = i.index_id AND k.is_included_column = 0) AS nvarchar(2126)),
                     place = 1
              FROM sys.indexes AS i WHERE i.object_id = @id AND (i.is_primary_key = 1 OR i.is_unique_constraint = 1)
              UNION ALL
              SELECT N'FOREIGN KEY', f.name, CASE f.delete_referential_action WHEN 0 THEN N'No Action' WHEN 1 THEN N'Cascade' WHEN 2 THEN N'Set Null' ELSE N'Set Default' END,
                     CASE f.update_referential_action WHEN 0 THEN N'No Action' WHEN 1 THEN N'Cascade' WHEN 2 THEN N'Set Null' ELSE N'Set Default' END,
                     CASE f.is_disabled WHEN 1 THEN 'Disabled' ELSE 'Enabled' END, CASE f.is_not_for_replication WHEN 1 THEN 'Not_For_Replication' ELSE 'Is_For_Replication' END,
                     (SELECT STRING_AGG(COL_NAME(k.parent_object_id, k.parent_column_id), N', ') WITHIN GROUP (ORDER BY k.constraint_column_id)
                      FROM sys.foreign_key_columns AS k WHERE k.constraint_object_id = f.object_id), 1
              FROM sys.foreign_keys AS f WHERE f.parent_object_id = @id
              UNION ALL
              SELECT N' ', N' ', N' ', N' ', ' ', ' ',
                     N'REFERENCES ' + DB_NAME() + N'.' + OBJECT_SCHEMA_NAME(f.referenced_object_id) + N'.' + OBJECT_NAME(f.referenced_object_id) + N' ('
                     + (SELECT STRING_AGG(COL_NAME(k.referenced_object_id, k.referenced_column_id), N', ') WITHIN GROUP (ORDER BY k.constraint_column_id)
                        FROM sys.foreign_key_columns AS k WHERE k.constraint_object_id = f.object_id) + N')', 2
              FROM sys.foreign_keys AS f WHERE f.parent_object_id = @id
              UNION ALL
              SELECT CASE k.parent_column_id WHEN 0 THEN N'CHECK Table Level ' ELSE N'CHECK on column ' + COL_NAME(@id, k.parent_column_id) END,
                     k.name, N'(n/a)', N'(n/a)', CASE k.is_disabled WHEN 1 THEN 'Disabled' ELSE 'Enabled' END, CASE k.is_not_for_replication WHEN 1 THEN 'Not_For_Replication' ELSE 'Is_For_Replication' END, k.definition, 1
              FROM sys.check_constraints AS k WHERE k.parent_object_id = @id
              UNION ALL
              SELECT N'DEFAULT on column ' + COL_NAME(@id, d.parent_column_id), d.name, N'(n/a)', N'(n/a)', '(n/a)', '(n/a)', d.definition, 1
              FROM sys.default_constraints AS d WHERE d.parent_object_id = @id) AS c
        ORDER BY place, constraint_type, constraint_name
    ELSE IF @nomsg <> 'nomsg'
        RAISERROR(15469, -1, -1, @objname)
    IF EXISTS (SELECT * FROM sys.foreign_keys WHERE referenced_object_id = @id)
        SELECT [Table is referenced by foreign key] = CAST(DB_NAME() + N'.' + OBJECT_SCHEMA_NAME(f.parent_object_id) + N'.' + OBJECT_NAME(f.parent_object_id)
               + N': ' + f.name AS nvarchar(516))
        FROM sys.foreign_keys AS f WHERE f.referenced_object_id = @id
        ORDER BY 1
    ELSE IF @nomsg <> 'nomsg'
        RAISERROR(15470, -1, -1, @objname)
    RETURN 0
