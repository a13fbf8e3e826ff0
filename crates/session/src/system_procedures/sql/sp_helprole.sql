CREATE PROCEDURE sys.sp_helprole @rolename sysname = NULL AS
    SET NOCOUNT ON
    IF @rolename IS NOT NULL AND NOT EXISTS (SELECT * FROM sys.database_principals WHERE name = @rolename AND type = 'R')
    BEGIN
        RAISERROR(15409, -1, -1, @rolename)
        RETURN 1
    END
    SELECT RoleName = name, RoleId = principal_id, IsAppRole = CASE type WHEN 'A' THEN 1 ELSE 0 END
    FROM sys.database_principals
    WHERE type IN ('R', 'A') AND (@rolename IS NULL OR name = @rolename)
    ORDER BY 1
    RETURN 0
