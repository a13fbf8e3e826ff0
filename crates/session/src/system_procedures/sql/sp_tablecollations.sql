CREATE PROCEDURE sys.sp_tablecollations_100 @object nvarchar(4000) AS
    SET NOCOUNT ON
    SELECT colid = c.column_id, name = c.name,
           tds_collation = CAST(COLLATIONPROPERTY(c.collation_name, 'TDSCollation') AS binary(5)), collation = c.collation_name
    FROM sys.all_columns AS c WHERE c.object_id = OBJECT_ID(@object)
    ORDER BY c.column_id
