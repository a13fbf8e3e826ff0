-- Queries of every shape.
SELECT DISTINCT TOP (10) PERCENT WITH TIES c.*, c.CustomerId AS Id, 'literal' AS 'quoted alias', Alias = c.Email, "Q" = 1, 'x' = 2, N'ünï''code'
FROM dbo.Customer c
ORDER BY c.CustomerId DESC, 2 ASC
OPTION (RECOMPILE, MAXDOP 1, FAST 10, HASH JOIN, OPTIMIZE FOR (@a = 1, @b UNKNOWN), USE HINT ('FORCE_LEGACY_CARDINALITY_ESTIMATION'), LABEL = N'q', QUERYTRACEON 4199, TABLE HINT (c, NOLOCK, INDEX (1)));
SELECT a, b FROM t1 WITH (NOLOCK, INDEX (ix_a), FORCESEEK (ix_b (x, y))) INNER LOOP JOIN t2 (UPDLOCK HOLDLOCK) ON t1.i = t2.i, t3 (NOLOCK) x
WHERE NOT (a > = 1 AND b < > 2) OR c ! = 3 AND d !< 4 AND e !> 5 OR f IS NOT NULL AND g IS DISTINCT FROM h
SELECT * FROM a LEFT JOIN b RIGHT JOIN c ON b.i = c.i ON a.i = b.i FULL OUTER HASH JOIN d ON 1 = 1 CROSS JOIN (e INNER MERGE JOIN f ON e.x = f.x)
SELECT x.n, y.* FROM (VALUES (1, 'a'), (2, NULL), (DEFAULT, 'c')) AS x (n, s) OUTER APPLY dbo.Split(x.s, ',') AS y (p, q) CROSS APPLY STRING_SPLIT(s, ';')
SELECT region, product, SUM(amount), GROUPING_ID(region) FROM sales GROUP BY ROLLUP (region, (product, color)), CUBE (a), GROUPING SETS ((), (region), ROLLUP (x, y)) HAVING COUNT(*) > 1 AND COUNT(DISTINCT product) < 10
SELECT y, COUNT_BIG(ALL x) FROM t GROUP BY ALL y WITH ROLLUP
SELECT SUM(x) OVER (PARTITION BY a, b ORDER BY c ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS s,
       LAG(x, 1, 0) IGNORE NULLS OVER (ORDER BY c DESC), NTILE(4) OVER w, AVG(x) OVER (ORDER BY c RANGE UNBOUNDED PRECEDING),
       FIRST_VALUE(x) OVER (w ROWS BETWEEN 1 PRECEDING AND 2 FOLLOWING),
       PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x) OVER (PARTITION BY a), STRING_AGG(n, ', ') WITHIN GROUP (ORDER BY n DESC)
FROM t WINDOW w AS (PARTITION BY a ORDER BY b)
SELECT 1 UNION ALL SELECT 2 EXCEPT SELECT 3 INTERSECT (SELECT 4 UNION SELECT 5) ORDER BY 1 OFFSET 10 ROWS FETCH NEXT (5 + @n) ROWS ONLY
(SELECT 1) UNION (SELECT 2)
SELECT (SELECT MAX(x) FROM t WHERE t.i = o.i), ((SELECT 1) + 1), CASE WHEN EXISTS (SELECT 1) THEN 'y' WHEN a = ALL (SELECT 1) OR b <> SOME (SELECT 2) THEN 'z' ELSE 'n' END, CASE x WHEN 1 THEN 2 END FROM o
WHERE x IN (1, 2, 3) AND y NOT IN (SELECT y FROM z) AND s LIKE 'a[_]%' ESCAPE '!' AND s NOT LIKE N'%x%' AND d BETWEEN '2020-01-01' AND DATEADD(DAY, 1, GETDATE())
GO
SELECT -x * 2 + ~y & 3 | 4 ^ 5 % 6, -(-1), +1, - -1, (a + b) * c, a - (b - c), a / (b * c), 1.5e3, 1E-5, .5, 5., 0x, 0xDEADBEEF, $12.50, -$3, £7, 2147483648, 99999999999999999999999999999999999999, @@ROWCOUNT, $IDENTITY, $ROWGUID, 'a' 'b'
FROM sys.objects o WHERE o.is_ms_shipped = 0 AND (((o.type = 'U'))) AND ((1 = 1 OR 2 = 2) OR 3 = 3) AND (1 = 1 AND 2 = 2)
SELECT 'a' + N'b' + CAST(1 AS varchar(10)) + CONVERT(char(8), GETDATE(), 112) + TRY_CONVERT(nvarchar(max), x) + TRY_CAST(y AS decimal(10, 2)) + PARSE('1' AS int USING 'en-US') + TRY_PARSE(z AS date)
     , COALESCE(a, b, 'c'), NULLIF(a, ''), LEFT(a, 3), RIGHT(a, 3), IIF(a > b AND c IS NULL, 1, 0), CHOOSE(2, 'a', 'b'), TRIM(BOTH 'x' FROM y), TRIM(y), TRIM('.' FROM y), CURRENT_TIMESTAMP, USER, SYSTEM_USER, SESSION_USER, CURRENT_USER
     , col COLLATE Latin1_General_BIN2, d AT TIME ZONE 'UTC' AT TIME ZONE @zone, {fn NOW()}, {fn CONCAT('a', {fn UCASE('b')})}, {d '2020-01-01'}, {ts '2020-01-01 10:00:00'}, {t '10:00:00'}
     , x.value('(/a/b)[1]', 'int'), t.x.query('/a').value('.', 'nvarchar(max)'), @x.exist('/a'), geography::Point(1, 2, 4326).Lat, hierarchyid::GetRoot(), @g.STDistance(@h)
     , JSON_OBJECT('a' : 1, 'b' : NULL ABSENT ON NULL), JSON_ARRAY(1, 2 NULL ON NULL), JSON_VALUE(j, '$.a'), $PARTITION.pf(1), NEXT VALUE FOR dbo.s OVER (ORDER BY a)
FROM t
GO
SELECT * FROM OPENJSON(@json, '$.items') WITH (id int '$.id', name nvarchar(50) COLLATE Latin1_General_BIN2 '$.name', rest nvarchar(max) AS JSON) AS j
SELECT * FROM OPENXML(@h, '/r/i', 2) WITH (a int '@a', b varchar(10)) AS x
SELECT * FROM OPENROWSET(BULK N'c:\x.txt', SINGLE_CLOB) AS b (c)
SELECT * FROM OPENROWSET(BULK 'c:\x.csv', FORMATFILE = 'c:\x.fmt', FIRSTROW = 2) WITH (a int, b varchar(10)) AS b
SELECT * FROM OPENROWSET('SQLNCLI', 'Server=x', 'SELECT 1') AS a
SELECT * FROM OPENQUERY(LinkedServer, 'SELECT 1') q
SELECT * FROM OPENDATASOURCE('SQLNCLI', 'x').db.dbo.t
SELECT * FROM @t AS v JOIN @x.nodes('/a/b') AS n (c) ON 1 = 1 CROSS APPLY n.c.nodes('x') AS m(d)
SELECT * FROM Price FOR SYSTEM_TIME AS OF '2024-01-01' AS p, h FOR SYSTEM_TIME BETWEEN @a AND @b, i FOR SYSTEM_TIME ALL, j FOR SYSTEM_TIME CONTAINED IN (@a, @b) k
SELECT * FROM big TABLESAMPLE SYSTEM (10 PERCENT) REPEATABLE (5)
SELECT * FROM (SELECT a, b, c FROM t) AS s PIVOT (SUM(c) FOR b IN ([x], [y z], w)) AS p UNPIVOT (v FOR n IN (x, [y z])) u
SELECT a, (SELECT b FROM c FOR XML PATH(''), TYPE).value('.', 'nvarchar(max)') FROM d FOR XML RAW ('row'), ROOT ('rows'), ELEMENTS XSINIL
SELECT a FROM d FOR XML AUTO, XMLSCHEMA; SELECT a FROM d FOR XML EXPLICIT; SELECT a FROM d FOR JSON PATH, ROOT('r'), INCLUDE_NULL_VALUES; SELECT a FROM d FOR JSON PATH, WITHOUT_ARRAY_WRAPPER; SELECT 1 FOR JSON AUTO
SELECT * FROM CHANGETABLE(CHANGES dbo.t, @v) AS c JOIN CONTAINSTABLE(dbo.d, (a, b), N'"x" NEAR y', 10) AS k ON c.i = k.[KEY]
SELECT * FROM d WHERE CONTAINS(*, 'x') AND FREETEXT((a, b), @q, LANGUAGE 1033) OR CONTAINS(a, N'y')
SELECT p.Name FROM Person p, Knows k, Person q WHERE MATCH(p-(k)->q) AND q.Name = 'x'
SELECT * FROM master..spt_values, [a]]b].[c d]..e, srv.db.dbo.t WHERE srv.db.dbo.t.c = 1
SELECT a INTO #t FROM b; SELECT IDENTITY(int, 1, 1) AS id, * INTO dbo.x ON [PRIMARY] FROM y WHERE 1 = 0
SELECT @a = 1, @b += 2, @c = d FROM e
SELECT * FROM { oj a LEFT OUTER JOIN b ON a.i = b.i }
SELECT * FROM ::fn_listextendedproperty(default, default, N'x')
SELECT * FROM (((a JOIN b ON 1 = 1))) JOIN ((SELECT 1 AS x) UNION (SELECT 2)) AS u ON 1 = 1 JOIN ((SELECT 3 AS x) AS v JOIN w ON 1 = 1) ON 2 = 2
SELECT TOP 5 * FROM t WHERE CURRENT_TIMESTAMP > d ORDER BY NEWID()
SELECT number*2, number-1,number FROM t WHERE a*=b
SELECT * FROM (INSERT INTO a OUTPUT inserted.x VALUES (1)) AS d (x)
;WITH XMLNAMESPACES ('urn:a' AS a, DEFAULT 'urn:d'), c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 10) SELECT * FROM c OPTION (MAXRECURSION 0)
;WITH d AS (SELECT TOP (1) * FROM t ORDER BY x) DELETE FROM d OUTPUT deleted.*
;WITH u AS (SELECT * FROM t) UPDATE u SET a = 1
;WITH i AS (SELECT 1 AS a) INSERT INTO t (a) SELECT a FROM i
GO
INSERT INTO t DEFAULT VALUES
INSERT t EXEC dbo.p 1, @b = 2
INSERT TOP (5) INTO t (a, b) SELECT 1, 2 UNION ALL SELECT 3, 4
INSERT INTO t (SELECT * FROM u)
INSERT INTO @v OUTPUT inserted.a INTO @z OUTPUT inserted.b VALUES (1)
INSERT INTO OPENQUERY(s, 'SELECT a FROM t') VALUES (1)
UPDATE TOP (10) t SET a = 1, b += 2, @v = c = c + 1, @w = 3, d.WRITE(N'x', 0, NULL), e.modify('insert <a/>') OUTPUT inserted.a, deleted.a INTO @o FROM tab AS t WITH (ROWLOCK) JOIN u ON t.i = u.i WHERE u.x = 1 OPTION (MAXDOP 1)
UPDATE t SET a = DEFAULT WHERE CURRENT OF c
UPDATE dbo.t WITH (TABLOCKX) SET t.[a b] = (SELECT MAX(x) FROM y)
DELETE t WHERE a = 1
DELETE FROM dbo.t WITH (READPAST) OUTPUT deleted.a FROM dbo.t INNER JOIN u ON t.i = u.i WHERE CURRENT OF GLOBAL c
DELETE TOP (100) PERCENT FROM @v
MERGE t USING u ON t.i = u.i WHEN NOT MATCHED THEN INSERT DEFAULT VALUES;
BULK INSERT dbo.t FROM 'c:\x.csv' WITH (FIELDTERMINATOR = ',', ROWTERMINATOR = '\n', FIRSTROW = 2, TABLOCK, ORDER (a ASC, b DESC))
INSERT BULK dbo.t ([a] int, [b] nvarchar(50) COLLATE Latin1_General_CI_AS NULL) WITH (CHECK_CONSTRAINTS, TABLOCK, ROWS_PER_BATCH = 1000)
GO
