CREATE PROCEDURE sys.sp_who2 @loginame sysname = NULL AS
    SET NOCOUNT ON
    SELECT SPID = CAST(p.spid AS char(5)), Status = CAST(CASE RTRIM(p.status) WHEN N'sleeping' THEN N'sleeping' ELSE UPPER(RTRIM(p.status)) END AS nvarchar(30)),
           Login = CAST(RTRIM(p.loginame) AS nvarchar(128)), HostName = CAST(CASE RTRIM(p.hostname) WHEN N'' THEN N'  .' ELSE RTRIM(p.hostname) END AS nvarchar(128)),
           BlkBy = CAST(CASE p.blocked WHEN 0 THEN '  .' ELSE CAST(p.blocked AS char(5)) END AS char(5)), DBName = DB_NAME(p.dbid),
           Command = CAST(RTRIM(p.cmd) AS nvarchar(26)), CPUTime = p.cpu, DiskIO = p.physical_io,
           LastBatch = CAST(SUBSTRING(CONVERT(varchar(25), p.last_batch, 101), 1, 5) + ' ' + CONVERT(varchar(8), p.last_batch, 108) AS varchar(17)),
           ProgramName = CAST(RTRIM(p.program_name) AS nvarchar(128)), [SPID ] = CAST(p.spid AS char(5)), REQUESTID = CAST('0' AS char(5))
    FROM sys.sysprocesses AS p
    WHERE @loginame IS NULL OR RTRIM(p.loginame) = @loginame OR CAST(p.spid AS nvarchar(10)) = @loginame
       OR (LOWER(@loginame) = N'active' AND RTRIM(p.cmd) <> N'AWAITING COMMAND')
    ORDER BY p.spid
    RETURN 0
