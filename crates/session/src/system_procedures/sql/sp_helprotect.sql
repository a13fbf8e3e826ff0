CREATE PROCEDURE sys.sp_helprotect @name nvarchar(776) = NULL, @username sysname = NULL, @grantorname sysname = NULL,
    @permissionarea char(10) = 'o s' AS
    SET NOCOUNT ON
    IF @username IS NOT NULL AND USER_ID(@username) IS NULL
    BEGIN
        RAISERROR(15198, -1, -1, @username)
        RETURN 1
    END
    SELECT Owner = CAST(ISNULL(OBJECT_SCHEMA_NAME(p.major_id), N'.') AS nvarchar(128)),
           Object = CAST(ISNULL(OBJECT_NAME(p.major_id), N'.') AS nvarchar(128)),
           Grantee = CAST(USER_NAME(p.grantee_principal_id) AS nvarchar(128)),
           Grantor = CAST(USER_NAME(p.grantor_principal_id) AS nvarchar(128)),
           ProtectType = CAST(CASE p.state WHEN 'D' THEN 'Deny' WHEN 'W' THEN 'Grant_WGO' ELSE 'Grant' END AS char(10)),
           Action = CAST(p.permission_name AS varchar(60)),
           [Column] = CAST(CASE WHEN p.class <> 1 THEN N'.' WHEN p.minor_id = 0 THEN N'(All)' ELSE COL_NAME(p.major_id, p.minor_id) END
                           AS nvarchar(128))
    FROM sys.database_permissions AS p
    WHERE (@name IS NULL OR OBJECT_ID(@name) = p.major_id OR p.permission_name = @name)
        AND (@username IS NULL OR p.grantee_principal_id = USER_ID(@username))
        AND (@grantorname IS NULL OR p.grantor_principal_id = USER_ID(@grantorname))
        AND (p.class = 1 AND CHARINDEX('o', @permissionarea) > 0 OR p.class <> 1 AND CHARINDEX('s', @permissionarea) > 0)
    ORDER BY 1, 2, 3, 4, 5, 6, 7
    IF @@ROWCOUNT = 0
    BEGIN
        RAISERROR(15330, -1, -1)
        RETURN 1
    END
    RETURN 0
