CREATE PROCEDURE sys.xp_msver @optname nvarchar(40) = NULL AS
    SET NOCOUNT ON
    SELECT [Index], Name, Internal_Value, Character_Value
    FROM (SELECT CAST(1 AS smallint), CAST(N'ProductName' AS nvarchar(20)), CAST(NULL AS int), CAST(N'Hardpan' AS nvarchar(512))
          UNION ALL SELECT 2, N'ProductVersion', @@MICROSOFTVERSION / 65536, CAST(SERVERPROPERTY('ProductVersion') AS nvarchar(512))
          UNION ALL SELECT 3, N'Language', 1033, N'English (United States)'
          UNION ALL SELECT 4, N'Platform', NULL, (SELECT host_platform FROM sys.dm_os_host_info)
          UNION ALL SELECT 16, N'ProcessorCount', cpu_count, CAST(cpu_count AS nvarchar(10)) FROM sys.dm_os_sys_info) AS facts([Index], Name, Internal_Value, Character_Value)
    WHERE @optname IS NULL OR Name = @optname
    ORDER BY 1
    RETURN 0
