CREATE PROCEDURE sys.sp_helptrigger @tabname nvarchar(776), @triggertype char(6) = NULL AS
    SET NOCOUNT ON
    DECLARE @id int = OBJECT_ID(@tabname), @database sysname = DB_NAME(), @type varchar(6) = UPPER(RTRIM(@triggertype))
    IF @id IS NULL
    BEGIN
        RAISERROR(15009, -1, -1, @tabname, @database)
        RETURN 1
    END
    IF @type NOT IN ('INSERT', 'UPDATE', 'DELETE')
    BEGIN
        RAISERROR(15305, -1, -1)
        RETURN 1
    END
    SELECT trigger_name = t.name, trigger_owner = CAST(N'dbo' AS sysname),
           isupdate = CAST(OBJECTPROPERTY(t.object_id, 'ExecIsUpdateTrigger') AS int),
           isdelete = CAST(OBJECTPROPERTY(t.object_id, 'ExecIsDeleteTrigger') AS int),
           isinsert = CAST(OBJECTPROPERTY(t.object_id, 'ExecIsInsertTrigger') AS int),
           isafter = CAST(OBJECTPROPERTY(t.object_id, 'ExecIsAfterTrigger') AS int),
           isinsteadof = CAST(OBJECTPROPERTY(t.object_id, 'ExecIsInsteadOfTrigger') AS int),
           trigger_schema = OBJECT_SCHEMA_NAME(t.object_id)
    FROM sys.triggers AS t
    WHERE t.parent_id = @id
      AND (@type IS NULL OR EXISTS (SELECT * FROM sys.trigger_events AS e WHERE e.object_id = t.object_id AND e.type_desc = @type))
    ORDER BY t.object_id
    RETURN 0
