CREATE PROCEDURE sys.sp_who @loginame sysname = NULL AS
    SET NOCOUNT ON
    IF @loginame IS NOT NULL AND LOWER(@loginame) <> N'active' AND SUSER_ID(@loginame) IS NULL AND @loginame LIKE N'%[^0-9]%'
    BEGIN
        RAISERROR (15007, -1, -1, @loginame)
        RETURN 1
    END
    SELECT spid = p.spid, ecid = p.ecid, status = p.status, loginame = CAST(RTRIM(p.loginame) AS nchar(128)), hostname = p.hostname,
           blk = CAST(p.blocked AS char(5)), dbname = DB_NAME(p.dbid), cmd = p.cmd, request_id = CAST(0 AS int)
    FROM sys.sysprocesses AS p
    WHERE @loginame IS NULL OR RTRIM(p.loginame) = @loginame OR CAST(p.spid AS nvarchar(10)) = @loginame
       OR (LOWER(@loginame) = N'active' AND RTRIM(p.cmd) <> N'AWAITING COMMAND')
    ORDER BY p.spid
    RETURN 0
