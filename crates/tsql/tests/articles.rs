//! The statements of the seed articles, retyped: each parses, and the known defect is found at its position.

use hardpan_tsql::{ParseOptions, parse_batch, split_go};

fn batch(text: &str) -> hardpan_tsql::ast::Batch {
    parse_batch(text, &ParseOptions::default()).unwrap_or_else(|errors| panic!("{errors:?} in\n{text}"))
}

fn script(text: &str) -> usize {
    split_go(text).iter().map(|b| batch(&b.text).statements.len()).sum()
}

/// Claims 23, 24, 26 to 31 and 36: the first article's batch parses unchanged.
#[test]
fn large_and_small_transactions() {
    let statements = batch(
        "SET NOCOUNT ON;
USE PerformanceV3;
ALTER DATABASE PerformanceV3 SET DELAYED_DURABILITY = Disabled; -- default
DROP TABLE IF EXISTS dbo.T1;
CREATE TABLE dbo.T1(col1 INT NOT NULL);
DECLARE @db AS sysname = N'PerformanceV3';
DECLARE @logflushes AS INT, @starttime AS DATETIME2, @duration AS INT;
-- Stats before
SET @logflushes = ( SELECT cntr_value FROM sys.dm_os_performance_counters
                    WHERE counter_name = 'Log Flushes/sec'
                      AND instance_name = @db );
SET @starttime = SYSDATETIME();
DECLARE @i AS INT = 1;
WHILE @i <= 1000000
BEGIN
  BEGIN TRAN
    INSERT INTO dbo.T1(col1) VALUES(@i);
  COMMIT TRAN;
  SET @i += 1;
END;
SET @duration = DATEDIFF(second, @starttime, SYSDATETIME());
SET @logflushes = ( SELECT cntr_value FROM sys.dm_os_performance_counters
                    WHERE counter_name = 'Log Flushes/sec'
                      AND instance_name = @db ) - @logflushes;
SELECT
  @duration AS durationinseconds,
  @logflushes AS logflushes;",
    );
    assert_eq!(statements.statements.len(), 14);
    batch("COMMIT TRAN WITH (DELAYED_DURABILITY = ON)");
    batch("EXEC sys.sp_flush_log");
}

#[test]
fn sequences() {
    // Article 000, the part on sequences.
    batch(
        "DROP SEQUENCE IF EXISTS dbo.Seq1;
CREATE SEQUENCE dbo.Seq1 AS BIGINT MINVALUE 1 CACHE 50; -- try NO CACHE, CACHE 50, CACHE 10000
SELECT NEXT VALUE FOR dbo.Seq1;
SELECT
  -- n -- to test without seq
  NEXT VALUE FOR dbo.Seq1 AS n -- to test sequence
INTO dbo.T1
FROM PerformanceV3.dbo.GetNums(1, 1000000) AS N;
CREATE SEQUENCE dbo.Seq2 AS BIGINT MINVALUE 1 NO CACHE;",
    );
}

#[test]
fn delayed_durability_setup() {
    // Article 001.
    assert_eq!(
        script(
            "USE model;
GO
CREATE TABLE dbo.TheTable
(
  TheID INT IDENTITY(1,1) PRIMARY KEY,
  TheDate DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,
  RowGuid UNIQUEIDENTIFIER NOT NULL DEFAULT NEWID()
);
GO
-- C and D are SSD, G is HDD
DECLARE @sql NVARCHAR(MAX) = N'';
;WITH l AS (SELECT l FROM (VALUES('D'),('G')) AS l(l)),
r AS (SELECT r FROM (VALUES('FULL'),('SIMPLE')) AS r(r)),
d AS (SELECT d FROM (VALUES('FORCED'),('DISABLED')) AS d(d)),
x AS (SELECT l.l, r.r, d.d, n = CONVERT(CHAR(1),ROW_NUMBER() OVER
(ORDER BY d.d DESC, l.l)) FROM l CROSS JOIN r CROSS JOIN d)
SELECT @sql += N'
CREATE DATABASE dd' + n + ' ON '
+ '(name = ''dd' + n + '_data'','
+ ' filename = ''C:\\SQLData\\dd' + n + '.mdf'', size = 1024MB)
LOG ON (name = ''dd' + n + '_log'','
+ ' filename = ''' + l + ':\\SQLLog\\dd' + n + '.ldf'', size = 1024MB);
ALTER DATABASE dd' + n + ' SET RECOVERY ' + r + ';
ALTER DATABASE dd' + n + ' SET DELAYED_DURABILITY = ' + d + ';'
FROM x ORDER BY d, l;
PRINT @sql;
-- EXEC sp_executesql @sql;
GO
CREATE DATABASE dd1 ON (name = 'dd1_data', filename = 'C:\\SQLData\\dd1.mdf', size = 1024MB)
LOG ON (name = 'dd1_log', filename = 'D:\\SQLLog\\dd1.ldf', size = 1024MB);
ALTER DATABASE dd1 SET RECOVERY FULL;
ALTER DATABASE dd1 SET DELAYED_DURABILITY = FORCED;
SELECT d.name, d.recovery_model_desc, d.delayed_durability_desc,
log_disk = CASE WHEN mf.physical_name LIKE N'D%' THEN 'SSD' else 'HDD' END
FROM sys.databases AS d
INNER JOIN sys.master_files AS mf
ON d.database_id = mf.database_id
WHERE d.name LIKE N'dd[1-8]'
AND mf.[type] = 1; -- log"
        ),
        9
    );
}

#[test]
fn delayed_durability_tests() {
    // Article 001, both tests and the collection of metrics.
    let text = "SELECT test = 1, cycle = 1, start_time = GETDATE(), *
INTO #Metrics
FROM sys.dm_io_virtual_file_stats(DB_ID('dd1'), 2) WHERE 1 = 0;
INSERT #Metrics SELECT 1, 1, GETDATE(), *
FROM sys.dm_io_virtual_file_stats(DB_ID('dd1'), 2);
GO
INSERT dbo.TheTable DEFAULT VALUES;
GO 500000
;WITH x AS
(
SELECT TOP (8) number FROM master..spt_values
WHERE type = N'P' ORDER BY number
)
SELECT CONVERT(NVARCHAR(MAX), N'') + N'
INSERT #Metrics SELECT 1, 1, GETDATE(), *
FROM sys.dm_io_virtual_file_stats(DB_ID(''dd' + RTRIM(number+1) + '''), 2);
GO
INSERT dbo.TheTable DEFAULT VALUES;
GO 500000
'
FROM x;
SELECT
[database] = db_name(m1.database_id),
num_writes = m2.num_of_writes - m1.num_of_writes,
avg_bytes = (m2.num_of_bytes_written-m1.num_of_bytes_written)*1.0/(m2.num_of_writes - m1.num_of_writes),
duration = DATEDIFF(SECOND, m1.start_time, m2.start_time)
FROM #Metrics AS m1
INNER JOIN #Metrics AS m2
ON m1.database_id = m2.database_id
WHERE m1.cycle = 1 AND m2.cycle = 2
AND m1.test = 1 AND m2.test = 1;
CREATE TABLE dbo.Rnd
(
  batch TINYINT,
  TheID INT
);
INSERT dbo.Rnd SELECT TOP (1000) 1, TheID FROM dbo.TheTable ORDER BY NEWID();
UPDATE t SET TheDate = DATEADD(MINUTE, 1, TheDate)
FROM dbo.TheTable AS t
INNER JOIN dbo.Rnd AS r
ON t.TheID = r.TheID
WHERE r.batch = 1;
GO 10000
DELETE dbo.TheTable WHERE TheID IN (SELECT TheID+1 FROM dbo.Rnd WHERE batch = 3);
";
    let batches = split_go(text);
    assert_eq!(batches.iter().map(|b| b.count).collect::<Vec<_>>(), [1, 500_000, 10_000, 1]);
    assert_eq!(script(text), 9);
    batch("COMMIT TRANSACTION WITH (DELAYED_DURABILITY = ON);");
}

#[test]
fn defective_generator() {
    // Article 001's second generator lacks a parenthesis behind DB_ID('dd1'.
    let errors = parse_batch(
        "INSERT #Metrics SELECT 2, 1, GETDATE(), *\nFROM sys.dm_io_virtual_file_stats(DB_ID('dd1', 2);",
        &ParseOptions::default(),
    )
    .expect_err("must fail");
    assert_eq!((errors[0].number, errors[0].line, errors[0].near.as_str()), (102, 2, ";"));
}

#[test]
fn pending_log_writes() {
    // Article 002.
    batch(
        "select vfs.database_id, df.name, df.physical_name
,vfs.file_id, ior.io_pending
,ior.io_handle, vfs.file_handle
from sys.dm_io_pending_io_requests ior
inner join sys.dm_io_virtual_file_stats (DB_ID(), NULL) vfs on (vfs.file_handle = ior.io_handle)
inner join sys.database_files df on (df.file_id = vfs.file_id)
where df.name = '[Logical Log File Name]'",
    );
}

#[test]
fn many_vlfs() {
    // Article 004.
    assert_eq!(
        script(
            "CREATE DATABASE [HighVLF] ON PRIMARY
( NAME = N'HighVLF', FILENAME = N'E:\\Data\\HighVLF.mdf' ,
SIZE = 5120000KB , MAXSIZE = UNLIMITED, FILEGROWTH = 262144KB )
LOG ON
( NAME = N'HighVLF_log', FILENAME = N'F:\\Log\\HighVLF_log.ldf' ,
SIZE = 1024KB , MAXSIZE = 2192000KB , FILEGROWTH = 1024KB )
GO
BACKUP DATABASE LowVLF to disk = 'c:\\lowvlf.bak' WITH stats = 1
GO
BACKUP LOG LowVLF TO DISK = 'c:\\low1.trn'
GO
CREATE TABLE vlf_test
(
a int identity(1,1) not null,
b char(8000) not null,
c int not null
)
GO
INSERT vlf_test VALUES (REPLICATE('a',8000),0)
GO
SET NOCOUNT ON
BEGIN TRAN
DECLARE @x int, @a char(8000), @b char(8000)
SET @a = REPLICATE('a',8000)
SET @b = REPLICATE('b',8000)
SET @x = 1
WHILE @x<>40000
BEGIN
UPDATE vlf_test SET b = @a, c = @x WHERE a = 1
UPDATE vlf_test SET b = @b WHERE a = 1
SET @x = @x + 1

END
COMMIT TRAN"
        ),
        13
    );
}
