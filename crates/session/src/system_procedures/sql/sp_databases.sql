CREATE PROCEDURE sys.sp_databases AS
    SET NOCOUNT ON
    SELECT DATABASE_NAME = d.name, DATABASE_SIZE = CAST(SUM(CAST(f.size AS bigint)) * 8 AS int), REMARKS = CAST(NULL AS varchar(254))
    FROM sys.databases AS d LEFT JOIN sys.master_files AS f ON f.database_id = d.database_id
    WHERE HAS_DBACCESS(d.name) = 1
    GROUP BY d.name
    ORDER BY 1
