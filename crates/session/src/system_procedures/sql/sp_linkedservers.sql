CREATE PROCEDURE sys.sp_linkedservers AS
    SET NOCOUNT ON
    SELECT SRV_NAME = name, SRV_PROVIDERNAME = provider, SRV_PRODUCT = product, SRV_DATASOURCE = COALESCE(data_source, name),
           SRV_PROVIDERSTRING = provider_string, SRV_LOCATION = location, SRV_CAT = catalog
    FROM sys.servers
    ORDER BY 1
    RETURN 0
