CREATE PROCEDURE sys.sp_helpsort AS
    SET NOCOUNT ON
    SELECT [Server default collation] = description FROM fn_helpcollations() WHERE name = SERVERPROPERTY('Collation')
    RETURN 0
