CREATE PROCEDURE sys.sp_helpsrvrolemember @srvrolename sysname = NULL AS
    SET NOCOUNT ON
    IF @srvrolename IS NOT NULL AND NOT EXISTS (SELECT * FROM sys.server_principals WHERE name = @srvrolename AND type = 'R')
    BEGIN
        RAISERROR(15409, -1, -1, @srvrolename)
        RETURN 1
    END
    SELECT ServerRole = r.name, MemberName = p.name, MemberSID = p.sid
    FROM sys.server_role_members AS m
    JOIN sys.server_principals AS r ON r.principal_id = m.role_principal_id
    JOIN sys.server_principals AS p ON p.principal_id = m.member_principal_id
    WHERE @srvrolename IS NULL OR r.name = @srvrolename
    ORDER BY 1, 2
    RETURN 0
