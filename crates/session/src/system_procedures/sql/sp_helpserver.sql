CREATE PROCEDURE sys.sp_helpserver @server sysname = NULL, @optname varchar(35) = NULL, @show_topology varchar(1) = NULL AS
    SET NOCOUNT ON
    IF @server IS NOT NULL AND NOT EXISTS (SELECT * FROM sys.servers WHERE name = @server)
    BEGIN
        RAISERROR(15015, -1, -1, @server)
        RETURN 1
    END
    SELECT name, network_name = name, status = CAST(CASE is_data_access_enabled WHEN 1 THEN 'data access' ELSE '' END AS varchar(70)),
           id = CAST(server_id AS char(4)), collation_name = CAST(NULL AS sysname), connect_timeout = COALESCE(connect_timeout, 0),
           query_timeout = COALESCE(query_timeout, 0)
    FROM sys.servers
    WHERE @server IS NULL OR name = @server
    ORDER BY 1
    RETURN 0
