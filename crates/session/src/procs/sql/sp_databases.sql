CREATE PROCEDURE sys.sp_databases AS
    SELECT DATABASE_NAME = name, DATABASE_SIZE = CAST(0 AS int), REMARKS = CAST(NULL AS varchar(254))
    FROM sys.databases
    WHERE HAS_DBACCESS(name) = 1
    ORDER BY name
