CREATE PROCEDURE sys.sp_datatype_info @data_type int = 0, @ODBCVer tinyint = 2 AS
    SELECT TYPE_NAME = CAST(v.name AS sysname), DATA_TYPE = CAST(v.code AS smallint), [PRECISION] = CAST(v.prec AS int),
           LITERAL_PREFIX = CAST(v.prefix AS varchar(32)), LITERAL_SUFFIX = CAST(v.suffix AS varchar(32)),
           CREATE_PARAMS = CAST(v.params AS varchar(32)), NULLABLE = CAST(1 AS smallint), CASE_SENSITIVE = CAST(0 AS smallint),
           SEARCHABLE = CAST(v.searchable AS smallint), UNSIGNED_ATTRIBUTE = CAST(v.unsigned AS smallint), MONEY = CAST(v.money AS smallint),
           AUTO_INCREMENT = CAST(CASE WHEN v.unsigned IS NULL THEN NULL ELSE 0 END AS smallint), LOCAL_TYPE_NAME = CAST(v.name AS sysname),
           MINIMUM_SCALE = CAST(v.minscale AS smallint), MAXIMUM_SCALE = CAST(v.maxscale AS smallint), SQL_DATA_TYPE = CAST(v.code AS smallint),
           SQL_DATETIME_SUB = CAST(NULL AS smallint), NUM_PREC_RADIX = CAST(v.radix AS int), INTERVAL_PRECISION = CAST(NULL AS smallint),
           USERTYPE = CAST(0 AS smallint)
    FROM (SELECT w.*, code = CASE WHEN @ODBCVer < 3 THEN w.code2 WHEN w.name = N'date' THEN 91 WHEN w.name = N'time' THEN -154
                     WHEN w.name IN (N'datetime', N'datetime2', N'smalldatetime') THEN 93 WHEN w.name = N'datetimeoffset' THEN -155 ELSE w.code2 END
          FROM (VALUES
        (N'sql_variant', -150, 8000, NULL, NULL, NULL, 2, NULL, 0, 0, 0, 10),
        (N'uniqueidentifier', -11, 36, '''', '''', NULL, 2, NULL, 0, NULL, NULL, NULL),
        (N'ntext', -10, 1073741823, 'N''', '''', NULL, 1, NULL, 0, NULL, NULL, NULL),
        (N'nvarchar', -9, 4000, 'N''', '''', 'max length', 3, NULL, 0, NULL, NULL, NULL),
        (N'sysname', -9, 128, 'N''', '''', NULL, 3, NULL, 0, NULL, NULL, NULL),
        (N'date', -9, 10, '''', '''', NULL, 3, NULL, 0, NULL, NULL, NULL),
        (N'time', -9, 16, '''', '''', 'scale', 3, NULL, 0, NULL, NULL, NULL),
        (N'datetime2', -9, 27, '''', '''', 'scale', 3, NULL, 0, NULL, NULL, NULL),
        (N'datetimeoffset', -9, 34, '''', '''', 'scale', 3, NULL, 0, NULL, NULL, NULL),
        (N'nchar', -8, 4000, 'N''', '''', 'length', 3, NULL, 0, NULL, NULL, NULL),
        (N'bit', -7, 1, NULL, NULL, NULL, 2, NULL, 0, 0, 0, NULL),
        (N'tinyint', -6, 3, NULL, NULL, NULL, 2, 1, 0, 0, 0, 10),
        (N'bigint', -5, 19, NULL, NULL, NULL, 2, 0, 0, 0, 0, 10),
        (N'image', -4, 2147483647, '0x', NULL, NULL, 0, NULL, 0, NULL, NULL, NULL),
        (N'varbinary', -3, 8000, '0x', NULL, 'max length', 2, NULL, 0, NULL, NULL, NULL),
        (N'binary', -2, 8000, '0x', NULL, 'length', 2, NULL, 0, NULL, NULL, NULL),
        (N'timestamp', -2, 8, '0x', NULL, NULL, 2, NULL, 0, NULL, NULL, NULL),
        (N'text', -1, 2147483647, '''', '''', NULL, 1, NULL, 0, NULL, NULL, NULL),
        (N'char', 1, 8000, '''', '''', 'length', 3, NULL, 0, NULL, NULL, NULL),
        (N'numeric', 2, 38, NULL, NULL, 'precision,scale', 2, 0, 0, 0, 38, 10),
        (N'decimal', 3, 38, NULL, NULL, 'precision,scale', 2, 0, 0, 0, 38, 10),
        (N'money', 3, 19, '$', NULL, NULL, 2, 0, 1, 4, 4, 10),
        (N'smallmoney', 3, 10, '$', NULL, NULL, 2, 0, 1, 4, 4, 10),
        (N'int', 4, 10, NULL, NULL, NULL, 2, 0, 0, 0, 0, 10),
        (N'smallint', 5, 5, NULL, NULL, NULL, 2, 0, 0, 0, 0, 10),
        (N'float', 6, 53, NULL, NULL, NULL, 2, 0, 0, NULL, NULL, 2),
        (N'real', 7, 24, NULL, NULL, NULL, 2, 0, 0, NULL, NULL, 2),
        (N'datetime', 11, 23, '''', '''', NULL, 3, NULL, 0, 3, 3, NULL),
        (N'smalldatetime', 11, 16, '''', '''', NULL, 3, NULL, 0, 0, 0, NULL),
        (N'varchar', 12, 8000, '''', '''', 'max length', 3, NULL, 0, NULL, NULL, NULL)
    ) AS w(name, code2, prec, prefix, suffix, params, searchable, unsigned, money, minscale, maxscale, radix)) AS v
    WHERE @data_type = 0 OR v.code = @data_type
    ORDER BY v.code, v.prec DESC, v.name
