--# The listings of article 004, "Can log files growth affect DML?", as published. Lines that begin with --# are the test's: see scripts.py.
--# listing: two databases
CREATE DATABASE [HighVLF] ON PRIMARY
( NAME = N'HighVLF', FILENAME = N'E:\Data\HighVLF.mdf' ,
SIZE = 5120000KB , MAXSIZE = UNLIMITED, FILEGROWTH = 262144KB )
LOG ON
( NAME = N'HighVLF_log', FILENAME = N'F:\Log\HighVLF_log.ldf' ,
SIZE = 1024KB , MAXSIZE = 2192000KB , FILEGROWTH = 1024KB )
GO

CREATE DATABASE [LowVLF] ON PRIMARY
( NAME = N'LowVLF', FILENAME = N'E:\Data\LowVLF.mdf' ,
SIZE = 5120000KB , MAXSIZE = UNLIMITED, FILEGROWTH = 262144KB )
LOG ON
( NAME = N'LowVLF_log', FILENAME = N'F:\Log\LowVLF_log.ldf' ,
SIZE = 1024KB , MAXSIZE = 2192000KB , FILEGROWTH = 1024000KB )
GO
--# listing: the backup chain
BACKUP DATABASE LowVLF to disk = 'c:\lowvlf.bak' WITH stats = 1
GO
BACKUP LOG LowVLF TO DISK = 'c:\low1.trn'
GO

BACKUP DATABASE HighVLF to disk = 'c:\highvlf.bak' WITH stats = 1
GO
BACKUP LOG HighVLF TO DISK = 'c:\high1.trn'
GO
--# listing: a table with one row, in LowVLF
USE LowVLF;
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
--# listing: the loop of updates, in LowVLF
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
COMMIT TRAN
GO
--# listing: a table with one row, in HighVLF
USE HighVLF;
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
--# listing: the loop of updates, in HighVLF
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
COMMIT TRAN
GO
