-- What DBeaver, when it connects and reads the catalog, asks: the shape of the statements as traces of them show it. `-- gives:` text that the answer must hold.
GO
-- gives: sold
select db_name(), schema_name()
GO
SELECT @@VERSION, SYSTEM_USER, ORIGINAL_LOGIN(), SUSER_NAME()
GO
-- gives: dbo
SELECT s.*, ep.value as description
FROM sys.schemas s
LEFT OUTER JOIN sys.extended_properties ep ON ep.class=3 AND ep.major_id=s.schema_id AND ep.minor_id=0 AND ep.name='MS_Description'
ORDER BY s.name
GO
-- gives: Orders
SELECT o.*, ep.value as description
FROM sys.all_objects o
LEFT OUTER JOIN sys.extended_properties ep ON ep.class=1 AND ep.major_id=o.object_id AND ep.minor_id=0 AND ep.name='MS_Description'
WHERE o.type in ('U','S','V','TT') AND o.schema_id=1
ORDER BY o.name
GO
-- gives: amount
SELECT c.*, t.name as typename, dc.definition as default_definition, dc.name as default_constraint_name, ep.value as description
FROM sys.all_columns c JOIN sys.types t ON t.user_type_id=c.user_type_id
LEFT OUTER JOIN sys.default_constraints dc ON dc.parent_object_id=c.object_id AND dc.parent_column_id=c.column_id
LEFT OUTER JOIN sys.extended_properties ep ON ep.class=1 AND ep.major_id=c.object_id AND ep.minor_id=c.column_id
WHERE c.object_id=OBJECT_ID('dbo.t')
ORDER BY c.column_id
GO
-- gives: phone
SELECT t.*, tt.type_table_object_id FROM sys.types t LEFT JOIN sys.table_types tt ON tt.user_type_id=t.user_type_id WHERE t.is_user_defined = 1
