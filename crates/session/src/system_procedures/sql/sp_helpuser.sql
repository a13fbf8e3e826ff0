CREATE PROCEDURE sys.sp_helpuser @name_in_db sysname = NULL AS
    SET NOCOUNT ON
    IF @name_in_db IS NOT NULL AND NOT EXISTS (SELECT * FROM sys.database_principals WHERE name = @name_in_db)
    BEGIN
        RAISERROR(15198, -1, -1, @name_in_db)
        RETURN 1
    END
    SELECT UserName = u.name, RoleName = CAST(CASE u.principal_id WHEN 1 THEN N'db_owner' ELSE N'public' END AS sysname), LoginName = l.name,
           DefDBName = l.default_database_name, DefSchemaName = u.default_schema_name, UserID = CAST(u.principal_id AS char(10)), SID = u.sid
    FROM sys.database_principals AS u LEFT JOIN sys.server_principals AS l ON l.sid = u.sid
    WHERE u.type <> 'R' AND (@name_in_db IS NULL OR u.name = @name_in_db)
    ORDER BY 1
    RETURN 0
