CREATE PROCEDURE sys.sp_helprolemember @rolename sysname = NULL AS
    SET NOCOUNT ON
    IF @rolename IS NOT NULL AND NOT EXISTS (SELECT * FROM sys.database_principals WHERE name = @rolename AND type = 'R')
    BEGIN
        RAISERROR(15409, -1, -1, @rolename)
        RETURN 1
    END
    SELECT DbRole = r.name, MemberName = p.name, MemberSID = p.sid
    FROM sys.database_role_members AS m
    JOIN sys.database_principals AS r ON r.principal_id = m.role_principal_id
    JOIN sys.database_principals AS p ON p.principal_id = m.member_principal_id
    WHERE @rolename IS NULL OR r.name = @rolename
    ORDER BY 1, 2
    RETURN 0
