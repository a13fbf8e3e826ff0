CREATE PROCEDURE sys.sp_who @loginame sysname = NULL AS
    SELECT spid = session_id, ecid = CAST(0 AS smallint), status = CAST(status AS nchar(30)), loginame = login_name,
           hostname = CAST(host_name AS nchar(128)), blk = CAST('0' AS char(5)), dbname = DB_NAME(database_id),
           cmd = CAST(N'AWAITING COMMAND' AS nchar(26)), request_id = CAST(0 AS int)
    FROM sys.dm_exec_sessions
    WHERE @loginame IS NULL OR login_name = @loginame
    ORDER BY session_id
