-- What Azure Data Studio, when it connects, asks: the shape of the statements as traces of them show it. `-- gives:` text that the answer must hold.
GO
SELECT SERVERPROPERTY('EngineEdition'), SERVERPROPERTY('productversion'), SERVERPROPERTY ('productlevel'), SERVERPROPERTY ('edition'), SERVERPROPERTY ('MachineName'), (SELECT CASE WHEN EXISTS (SELECT TOP 1 1 from [sys].[all_columns] WITH (NOLOCK)
WHERE name = N'xml_index_type' AND OBJECT_ID(N'sys.xml_indexes') = object_id) THEN 1 ELSE 0 END AS SXI_PRESENT)
GO
-- gives: msdb
select name from sys.databases
WHERE state_desc='ONLINE' and HAS_DBACCESS(name)=1
ORDER BY CASE WHEN name IN ('master','model','msdb','tempdb') THEN 0 ELSE 1 END, name
