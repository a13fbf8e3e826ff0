CREATE PROCEDURE sys.sp_depends @objname nvarchar(776) AS
    SET NOCOUNT ON
    DECLARE @id int = OBJECT_ID(@objname), @database sysname = DB_NAME(), @any bit = 0
    IF @id IS NULL
    BEGIN
        RAISERROR(15009, -1, -1, @objname, @database)
        RETURN 1
    END
    IF EXISTS (SELECT * FROM sys.sql_dependencies WHERE object_id = @id)
    BEGIN
        SET @any = 1
        RAISERROR(15459, -1, -1)
        SELECT name = CAST(SCHEMA_NAME(o.schema_id) + N'.' + o.name AS nvarchar(776)),
               type = CAST(CASE o.type WHEN 'U' THEN 'user table' WHEN 'V' THEN 'view' WHEN 'P' THEN 'stored procedure'
                                       WHEN 'IF' THEN 'inline function' WHEN 'TR' THEN 'trigger' ELSE LOWER(REPLACE(o.type_desc, '_', ' ')) END AS varchar(16)),
               updated = CAST(CASE d.is_updated WHEN 1 THEN 'yes' ELSE 'no' END AS varchar(7)),
               selected = CAST(CASE WHEN d.is_selected = 1 OR d.is_select_all = 1 THEN 'yes' ELSE 'no' END AS varchar(8)),
               [column] = COL_NAME(d.referenced_major_id, d.referenced_minor_id)
        FROM sys.sql_dependencies AS d JOIN sys.objects AS o ON o.object_id = d.referenced_major_id
        WHERE d.object_id = @id
        ORDER BY 1, d.referenced_minor_id
    END
    IF EXISTS (SELECT * FROM sys.sql_dependencies WHERE referenced_major_id = @id)
    BEGIN
        SET @any = 1
        RAISERROR(15460, -1, -1)
        SELECT DISTINCT name = CAST(SCHEMA_NAME(o.schema_id) + N'.' + o.name AS nvarchar(776)),
               type = CAST(CASE o.type WHEN 'V' THEN 'view' WHEN 'P' THEN 'stored procedure' WHEN 'IF' THEN 'inline function' WHEN 'TR' THEN 'trigger'
                                       WHEN 'C' THEN 'check cns' WHEN 'U' THEN 'user table'
                                       ELSE LOWER(REPLACE(o.type_desc, '_', ' ')) END AS varchar(16))
        FROM sys.sql_dependencies AS d JOIN sys.objects AS o ON o.object_id = d.object_id
        WHERE d.referenced_major_id = @id AND d.object_id <> @id
        ORDER BY 1
    END
    IF @any = 0
        RAISERROR(15461, -1, -1)
    RETURN 0
