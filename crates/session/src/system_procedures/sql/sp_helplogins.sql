CREATE PROCEDURE sys.sp_helplogins @LoginNamePattern sysname = NULL AS
    SET NOCOUNT ON
    IF @LoginNamePattern IS NOT NULL AND NOT EXISTS (SELECT * FROM sys.sql_logins WHERE name = @LoginNamePattern)
    BEGIN
        RAISERROR(15007, -1, -1, @LoginNamePattern)
        RETURN 1
    END
    SELECT LoginName = name, SID = sid, DefDBName = default_database_name, DefLangName = default_language_name,
           AUser = CAST('yes' AS char(5)), ARemote = CAST('no' AS char(7))
    FROM sys.sql_logins
    WHERE @LoginNamePattern IS NULL OR name = @LoginNamePattern
    ORDER BY 1
    SELECT LoginName = l.name, DBName = d.name, UserName = CAST(N'dbo' AS sysname), UserOrAlias = CAST('User' AS char(8))
    FROM sys.sql_logins AS l CROSS JOIN sys.databases AS d
    WHERE @LoginNamePattern IS NULL OR l.name = @LoginNamePattern
    ORDER BY 1, 2
    RETURN 0
