//! Definitions that are not committed: nobody else sees them, nobody is answered from them, no name is taken twice. One session changes
//! a definition in a transaction, another uses the name: it waits, and then finds what the first has committed or what was there before.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use common::simulated::{Server, connect, kept, on_a_machine};
use common::{Seen, numbers, run};
use hardpan_session::{Session, SessionShared};
use os::{Os, WaitType};

const A_SECOND_NS: u64 = 1_000_000_000;

/// What is there before each case: of everything something.
const SETUP: &[&str] = &[
    "CREATE TABLE t (i INT NOT NULL CONSTRAINT pk_t PRIMARY KEY, j INT NULL); INSERT t VALUES (1, 2)",
    "CREATE TABLE other (i INT NOT NULL)",
    "CREATE TABLE child (i INT NOT NULL CONSTRAINT fk_child REFERENCES t (i)); INSERT child VALUES (1)",
    "CREATE TABLE loose (i INT NOT NULL); INSERT loose VALUES (1)",
    "CREATE TABLE numbered (i INT IDENTITY, j INT); CREATE STATISTICS old ON numbered (j)",
    "CREATE INDEX ix_j ON t (j)",
    "CREATE VIEW v AS SELECT 1 AS one",
    "CREATE VIEW above_loose AS SELECT i FROM loose",
    "CREATE PROCEDURE p AS SELECT 1",
    "CREATE FUNCTION f () RETURNS TABLE AS RETURN (SELECT 1 AS one)",
    "CREATE SCHEMA s",
    "CREATE TABLE s.inside (i INT NOT NULL)",
    "CREATE SCHEMA hollow",
    "CREATE TYPE own FROM INT; CREATE TYPE spare FROM INT",
    "CREATE SEQUENCE counted AS INT START WITH 1",
    "CREATE TABLE drawn (i INT NOT NULL CONSTRAINT df_drawn DEFAULT (NEXT VALUE FOR dbo.counted), j INT NULL)",
    "CREATE SEQUENCE alone AS INT START WITH 1",
    "EXEC sp_addextendedproperty 'here', 1, 'SCHEMA', 'dbo', 'TABLE', 'loose'",
];

/// One session does `first` in a transaction, another does `second`: it waits, and then answers `committed` or `rolled_back`.
struct Case {
    first: &'static str,
    second: &'static str,
    committed: &'static str,
    rolled_back: &'static str,
}

const fn case(
    first: &'static str,
    second: &'static str,
    committed: &'static str,
    rolled_back: &'static str,
) -> Case {
    Case { first, second, committed, rolled_back }
}

const TABLES: &[Case] = &[
    case("CREATE TABLE c (i INT)", "CREATE TABLE c (i INT)", "2714", ""),
    case("CREATE TABLE c (i INT)", "CREATE TABLE C (i INT)", "2714", ""),
    case("CREATE TABLE c (i INT)", "SELECT 1 AS a INTO c", "2714", "1 rows"),
    case("SELECT 1 AS a INTO c", "CREATE TABLE c (i INT)", "2714", ""),
    case("CREATE TABLE c (i INT)", "EXEC ('CREATE VIEW c AS SELECT 1 AS one')", "2714", ""),
    case("CREATE TABLE c (i INT)", "SELECT COUNT(*) FROM c", "0", "208"),
    case("SELECT 5 AS i INTO c", "SELECT * FROM c", "5", "208"),
    case("CREATE TABLE c (i INT)", "INSERT c VALUES (1)", "1 rows", "208"),
    case("CREATE TABLE c (i INT)", "DROP TABLE c", "", "3701"),
    case("CREATE TABLE c (i INT)", "DROP TABLE IF EXISTS c", "", ""),
    case("DROP TABLE other", "CREATE TABLE other (j INT)", "", "2714"),
    case("DROP TABLE child; DROP TABLE t", "SELECT i FROM t", "208", "1"),
    case("DROP TABLE other", "INSERT other VALUES (1)", "208", "1 rows"),
    case("DROP TABLE other", "UPDATE other SET i = 1", "208", "0 rows"),
    case("DROP TABLE other", "DELETE other", "208", "0 rows"),
    case("DROP TABLE other", "TRUNCATE TABLE other", "208", ""),
    case("DROP TABLE other", "DROP TABLE other", "3701", ""),
    case("DROP TABLE other", "ALTER TABLE other ADD j INT", "4902", ""),
    case("DROP TABLE other", "CREATE INDEX ix ON other (i)", "1088", ""),
    case("DROP TABLE other", "EXEC ('CREATE VIEW above AS SELECT i FROM other')", "208", ""),
    case("DROP TABLE other", "DECLARE @n INT = (SELECT COUNT(*) FROM other); SELECT @n", "208", "0"),
    case("DROP TABLE other", "IF EXISTS (SELECT * FROM other) SELECT 1 ELSE SELECT 2", "208", "2"),
    case(
        "DROP TABLE other; CREATE TABLE other (a CHAR(1)); INSERT other VALUES ('x')",
        "SELECT * FROM other",
        "x",
        "no rows",
    ),
    case("TRUNCATE TABLE loose", "SELECT COUNT(*) FROM loose", "0", "1"),
];

const SEQUENCES: &[Case] = &[
    case("CREATE SEQUENCE c AS INT START WITH 7", "SELECT SIGN(NEXT VALUE FOR c)", "1", "208"),
    case("CREATE SEQUENCE c AS INT START WITH 7", "CREATE SEQUENCE C", "2714", ""),
    case("CREATE SEQUENCE c", "CREATE TABLE c (i INT)", "2714", ""),
    case("CREATE TABLE c (i INT)", "CREATE SEQUENCE c", "2714", ""),
    case("CREATE SEQUENCE c", "DROP SEQUENCE IF EXISTS c", "", ""),
    case("DROP SEQUENCE alone", "SELECT SIGN(NEXT VALUE FOR alone)", "208", "1"),
    case("DROP SEQUENCE alone", "DECLARE @v INT = NEXT VALUE FOR alone; SELECT SIGN(@v)", "208", "1"),
    case("DROP SEQUENCE alone", "CREATE SEQUENCE alone", "", "2714"),
    case("DROP SEQUENCE alone", "DROP SEQUENCE alone", "3701", ""),
    case("DROP SEQUENCE alone", "ALTER SEQUENCE alone RESTART", "15151", ""),
    case("DROP SEQUENCE alone", "CREATE TABLE c (i INT DEFAULT (NEXT VALUE FOR alone))", "208", ""),
    case(
        "DROP SEQUENCE alone; CREATE SEQUENCE alone AS INT START WITH -9",
        "SELECT SIGN(NEXT VALUE FOR alone)",
        "-1",
        "1",
    ),
    case("ALTER SEQUENCE alone RESTART WITH -30", "SELECT SIGN(NEXT VALUE FOR alone)", "-1", "1"),
    case(
        "ALTER SEQUENCE alone RESTART WITH -30",
        "INSERT drawn (j) SELECT NEXT VALUE FOR alone; SELECT SIGN(MIN(j)) FROM drawn",
        "-1",
        "1",
    ),
    case(
        "ALTER SEQUENCE counted RESTART WITH -30",
        "INSERT drawn (j) VALUES (1); SELECT SIGN(MIN(i)) FROM drawn",
        "-1",
        "1",
    ),
    case("CREATE TABLE c (i INT DEFAULT (NEXT VALUE FOR alone))", "DROP SEQUENCE alone", "3729", ""),
    case("DROP TABLE drawn", "DROP SEQUENCE counted", "", "3729"),
    case("ALTER TABLE drawn DROP CONSTRAINT df_drawn", "DROP SEQUENCE counted", "", "3729"),
    case(
        "ALTER TABLE other ADD CONSTRAINT df DEFAULT (NEXT VALUE FOR alone) FOR i",
        "DROP SEQUENCE alone",
        "3729",
        "",
    ),
    case("EXEC sp_rename 'alone', 'c'", "SELECT SIGN(NEXT VALUE FOR c)", "1", "208"),
    case("EXEC sp_rename 'alone', 'c'", "SELECT SIGN(NEXT VALUE FOR alone)", "208", "1"),
    case("DROP SEQUENCE alone", "SELECT OBJECT_ID('alone', 'SO') - OBJECT_ID('alone')", "NULL", "0"),
    case("CREATE SEQUENCE c", "SELECT COUNT(*) FROM sys.sequences WHERE name = 'c'", "1", "0"),
    case(
        "DROP SEQUENCE alone",
        "DECLARE @f SQL_VARIANT; EXEC sp_sequence_get_range 'alone', 3, @f OUTPUT; SELECT SIGN(CAST(@f AS INT))",
        "208",
        "1",
    ),
];

const COLUMNS: &[Case] = &[
    case("ALTER TABLE loose ADD j INT", "SELECT * FROM loose", "1|NULL", "1"),
    case("ALTER TABLE loose ADD j INT", "SELECT j FROM loose", "NULL", "207"),
    case("ALTER TABLE loose ADD j INT", "INSERT loose VALUES (1)", "213", "1 rows"),
    case("ALTER TABLE loose ADD j INT", "ALTER TABLE loose ADD j INT", "2705", ""),
    case(
        "ALTER TABLE loose ADD j INT",
        "ALTER TABLE loose ADD k INT; SELECT * FROM loose",
        "1|NULL|NULL",
        "1|NULL",
    ),
    case("ALTER TABLE loose ALTER COLUMN i VARCHAR(9) NOT NULL", "SELECT i + '1' FROM loose", "11", "2"),
    case("DROP INDEX ix_j ON t; ALTER TABLE t DROP COLUMN j", "SELECT j FROM t", "207", "2"),
    case("DROP INDEX ix_j ON t; ALTER TABLE t DROP COLUMN j", "UPDATE t SET j = 3", "207", "1 rows"),
    case("ALTER TABLE loose ADD j INT", "SELECT COL_LENGTH('loose', 'j')", "4", "NULL"),
    case(
        "ALTER TABLE loose ADD j INT",
        "SELECT COUNT(*) FROM sys.columns WHERE object_id = OBJECT_ID('loose')",
        "2",
        "1",
    ),
];

const INDEXES_AND_CONSTRAINTS: &[Case] = &[
    case("CREATE INDEX ix ON other (i)", "CREATE INDEX ix ON other (i)", "1913", ""),
    case("CREATE INDEX ix ON other (i)", "SELECT COUNT(*) FROM other", "0", "0"),
    case("CREATE INDEX ix ON other (i)", "SELECT COUNT(*) FROM other WITH (INDEX (ix))", "0", "308"),
    case("DROP INDEX ix_j ON t", "DROP INDEX ix_j ON t", "3701", ""),
    case("DROP INDEX ix_j ON t", "DROP INDEX IF EXISTS ix_j ON t", "", ""),
    case("DROP INDEX ix_j ON t", "CREATE INDEX ix_j ON t (j)", "", "1913"),
    case(
        "ALTER TABLE other ADD CONSTRAINT n CHECK (i > 0)",
        "ALTER TABLE loose ADD CONSTRAINT n CHECK (i > 0)",
        "2714",
        "",
    ),
    case("ALTER TABLE other ADD CONSTRAINT n UNIQUE (i)", "CREATE TABLE n (i INT)", "2714", ""),
    case(
        "ALTER TABLE other ADD CONSTRAINT n DEFAULT 1 FOR i",
        "CREATE TABLE c (i INT CONSTRAINT n DEFAULT 1)",
        "2714",
        "",
    ),
    case("CREATE TABLE n (i INT)", "ALTER TABLE other ADD CONSTRAINT n UNIQUE (i)", "2714", ""),
    case("CREATE TABLE c (i INT CONSTRAINT n PRIMARY KEY)", "CREATE TABLE n (i INT)", "2714", ""),
    case("ALTER TABLE child DROP CONSTRAINT fk_child", "CREATE TABLE fk_child (i INT)", "", "2714"),
    case("ALTER TABLE child DROP CONSTRAINT fk_child", "DELETE t", "1 rows", "547"),
    case("DROP TABLE child", "DELETE t", "1 rows", "547"),
    case("DROP TABLE child", "DROP TABLE t", "", "3726"),
    case(
        "ALTER TABLE loose ADD CONSTRAINT fk_loose FOREIGN KEY (i) REFERENCES t (i); DROP TABLE child",
        "DELETE t",
        "547",
        "547",
    ),
    case(
        "CREATE TABLE c (i INT REFERENCES t (i)); DROP TABLE child; INSERT c VALUES (1)",
        "DELETE t",
        "547",
        "547",
    ),
    case("ALTER TABLE loose ADD CONSTRAINT low CHECK (i < 9)", "INSERT loose VALUES (10)", "547", "1 rows"),
];

const MODULES: &[Case] = &[
    case(
        "EXEC ('CREATE VIEW c AS SELECT 1 AS one')",
        "EXEC ('CREATE VIEW c AS SELECT 2 AS two')",
        "2714",
        "",
    ),
    case("EXEC ('CREATE VIEW c AS SELECT 1 AS one')", "SELECT * FROM c", "1", "208"),
    case("EXEC ('CREATE VIEW c AS SELECT 1 AS one')", "CREATE TABLE c (i INT)", "2714", ""),
    case("EXEC ('ALTER VIEW v AS SELECT 2 AS two')", "SELECT * FROM v", "2", "1"),
    case("EXEC ('ALTER VIEW v AS SELECT 2 AS two'); SELECT * FROM v", "SELECT * FROM v", "2", "1"),
    case("EXEC ('ALTER VIEW v AS SELECT 2 AS two')", "SELECT one FROM v", "207", "1"),
    case(
        "EXEC ('ALTER VIEW v AS SELECT 2 AS two')",
        "EXEC ('ALTER VIEW v AS SELECT 3 AS three'); SELECT * FROM v",
        "3",
        "3",
    ),
    case(
        "EXEC ('ALTER VIEW v AS SELECT 2 AS two')",
        "SELECT OBJECT_DEFINITION(OBJECT_ID('v'))",
        "ALTER VIEW v AS SELECT 2 AS two",
        "CREATE VIEW v AS SELECT 1 AS one",
    ),
    case(
        "EXEC ('ALTER VIEW above_loose AS SELECT i FROM loose WHERE i > 5')",
        "DELETE above_loose",
        "0 rows",
        "1 rows",
    ),
    case(
        "EXEC ('ALTER VIEW above_loose AS SELECT i AS n FROM loose')",
        "UPDATE above_loose SET n = 2",
        "1 rows",
        "207",
    ),
    case(
        "EXEC ('ALTER VIEW above_loose AS SELECT i FROM loose WHERE i < 3 WITH CHECK OPTION')",
        "INSERT above_loose VALUES (4)",
        "550",
        "1 rows",
    ),
    case(
        "EXEC ('ALTER VIEW above_loose AS SELECT i FROM other')",
        "WITH c AS (SELECT TOP (1) i FROM above_loose) DELETE c",
        "0 rows",
        "1 rows",
    ),
    case("DROP VIEW above_loose", "INSERT above_loose VALUES (3)", "208", "1 rows"),
    case("ALTER TABLE loose ADD j INT", "INSERT above_loose VALUES (3)", "1 rows", "1 rows"),
    case("TRUNCATE TABLE loose", "DELETE above_loose", "0 rows", "1 rows"),
    case("DROP VIEW v", "SELECT * FROM v", "208", "1"),
    case("DROP VIEW v", "DROP VIEW v", "3701", ""),
    case("DROP VIEW v", "EXEC ('CREATE OR ALTER VIEW v AS SELECT 4 AS four'); SELECT * FROM v", "4", "4"),
    case(
        "DROP VIEW v; CREATE TABLE v (x CHAR(1)); EXEC ('INSERT v VALUES (''x'')')",
        "SELECT * FROM v",
        "x",
        "1",
    ),
    case("EXEC ('CREATE PROCEDURE c AS SELECT 1')", "EXEC c", "1", "2812"),
    case("EXEC ('CREATE PROCEDURE c AS SELECT 1')", "EXEC ('CREATE PROCEDURE c AS SELECT 2')", "2714", ""),
    case(
        "EXEC ('CREATE PROCEDURE c AS SELECT 1')",
        "EXEC ('CREATE OR ALTER PROCEDURE c AS SELECT 2'); EXEC c",
        "2",
        "2",
    ),
    case("EXEC ('ALTER PROCEDURE p AS SELECT 2')", "EXEC p", "2", "1"),
    case("EXEC ('ALTER PROCEDURE p AS SELECT 2'); EXEC p", "EXEC p", "2", "1"),
    case("DROP PROCEDURE p", "EXEC p", "2812", "1"),
    case("DROP PROCEDURE p", "DROP PROCEDURE IF EXISTS p", "", ""),
    case("DROP PROCEDURE p", "EXEC ('ALTER PROCEDURE p AS SELECT 2')", "208", ""),
    case(
        "EXEC ('CREATE FUNCTION c () RETURNS TABLE AS RETURN (SELECT 1 AS one)')",
        "SELECT * FROM c()",
        "1",
        "208",
    ),
    case(
        "EXEC ('ALTER FUNCTION f () RETURNS TABLE AS RETURN (SELECT 2 AS two)')",
        "SELECT * FROM f()",
        "2",
        "1",
    ),
    case("DROP FUNCTION f", "SELECT * FROM f()", "208", "1"),
    case("DROP FUNCTION f", "DROP FUNCTION f", "3701", ""),
];

const SCHEMAS: &[Case] = &[
    case("EXEC ('CREATE SCHEMA c')", "EXEC ('CREATE SCHEMA c')", "2714", ""),
    case("EXEC ('CREATE SCHEMA c')", "CREATE TABLE c.t (i INT)", "", "2760"),
    case("EXEC ('CREATE SCHEMA c'); CREATE TABLE c.t (i INT)", "SELECT COUNT(*) FROM c.t", "0", "208"),
    case("EXEC ('CREATE SCHEMA c')", "SELECT COALESCE(SCHEMA_ID('c') / SCHEMA_ID('c'), 0)", "1", "0"),
    case("EXEC ('CREATE SCHEMA c')", "DROP SCHEMA c", "", "15151"),
    case("DROP SCHEMA hollow", "CREATE TABLE hollow.c (i INT)", "2760", ""),
    case("DROP SCHEMA hollow", "EXEC ('CREATE SCHEMA hollow')", "", "2714"),
    case("CREATE TABLE hollow.c (i INT)", "DROP SCHEMA hollow", "3729", ""),
    case("DROP TABLE s.inside", "DROP SCHEMA s", "", "3729"),
    case("DROP TABLE s.inside; DROP SCHEMA s", "SELECT COUNT(*) FROM s.inside", "208", "0"),
];

const RENAMES: &[Case] = &[
    case("EXEC sp_rename 'other', 'c'", "SELECT COUNT(*) FROM c", "0", "208"),
    case("EXEC sp_rename 'other', 'c'", "SELECT COUNT(*) FROM other", "208", "0"),
    case("EXEC sp_rename 'other', 'c'", "CREATE TABLE c (i INT)", "2714", ""),
    case("EXEC sp_rename 'other', 'c'", "CREATE TABLE other (i INT)", "", "2714"),
    case("CREATE TABLE c (i INT)", "EXEC sp_rename 'other', 'c'", "15335", ""),
    case("DROP TABLE other", "EXEC sp_rename 'other', 'c'", "15225", ""),
    case("EXEC sp_rename 'other', 'c'", "EXEC sp_rename 'loose', 'c'", "15335", ""),
    case("EXEC sp_rename 'other', 'c'", "EXEC sp_rename 'other', 'd'", "15225", ""),
    case(
        "EXEC sp_rename 'other', 'c'",
        "SELECT name FROM sys.tables WHERE name IN ('c', 'other')",
        "c",
        "other",
    ),
    case("EXEC sp_rename 'p', 'c'", "EXEC c", "1", "2812"),
    case("EXEC sp_rename 'p', 'c'", "EXEC p", "2812", "1"),
    case("EXEC sp_rename 'loose.i', 'k', 'COLUMN'", "SELECT k FROM loose", "1", "207"),
    case("EXEC sp_rename 'loose.i', 'k', 'COLUMN'", "SELECT i FROM loose", "207", "1"),
    case("EXEC sp_rename 't.ix_j', 'ix_k', 'INDEX'", "DROP INDEX ix_k ON t", "", "3701"),
    case("EXEC sp_rename 'fk_child', 'c'", "CREATE TABLE c (i INT)", "2714", ""),
    case("EXEC sp_rename 's.inside', 'c'", "SELECT COUNT(*) FROM s.c", "0", "208"),
];

const TYPES: &[Case] = &[
    case("CREATE TYPE c FROM INT", "CREATE TYPE c FROM INT", "219", ""),
    case("CREATE TYPE c FROM INT", "CREATE TYPE C FROM BIGINT", "219", ""),
    case("EXEC sp_addtype 'c', 'int'", "CREATE TYPE c FROM INT", "219", ""),
    case("CREATE TYPE c FROM INT", "DECLARE @x c = 1; SELECT @x", "1", "2715"),
    case("CREATE TYPE c FROM INT", "CREATE TABLE d (i c)", "", "2715"),
    case("CREATE TYPE c FROM INT", "ALTER TABLE loose ADD j c", "", "2715"),
    case("CREATE TYPE c FROM INT", "EXEC ('CREATE PROCEDURE q @x c AS SELECT 1')", "", "2715"),
    case("CREATE TYPE c FROM INT", "SELECT COALESCE(TYPE_NAME(TYPE_ID('c')), 'none')", "c", "none"),
    case("CREATE TYPE c FROM INT", "SELECT name FROM sys.types WHERE name = 'c'", "c", "no rows"),
    case("CREATE TYPE c FROM INT", "DROP TYPE c", "", "3701"),
    case("DROP TYPE own", "DROP TYPE own", "3701", ""),
    case("DROP TYPE own", "CREATE TABLE d (i own)", "2715", ""),
    case("DROP TYPE own", "CREATE TYPE own FROM INT", "", "219"),
    case("DROP TYPE own", "SELECT name FROM sys.types WHERE name = 'own'", "no rows", "own"),
    case("CREATE TABLE d (i own)", "DROP TYPE own", "3732", ""),
    case("ALTER TABLE other ADD j own", "DROP TYPE own", "3732", ""),
    case("EXEC sp_rename 'own', 'c', 'USERDATATYPE'", "CREATE TYPE c FROM INT", "219", ""),
    case("EXEC sp_rename 'own', 'c', 'USERDATATYPE'", "CREATE TABLE d (i own)", "2715", ""),
    case(
        "EXEC sp_rename 'own', 'c', 'USERDATATYPE'",
        "EXEC sp_rename 'spare', 'c', 'USERDATATYPE'",
        "15335",
        "",
    ),
    case("CREATE TYPE hollow.c FROM INT", "DROP SCHEMA hollow", "3729", ""),
    case("DROP SCHEMA hollow", "CREATE TYPE hollow.c FROM INT", "2760", ""),
];

const PROPERTIES: &[Case] = &[
    case("EXEC sp_addextendedproperty 'n', 1", "EXEC sp_addextendedproperty 'n', 2", "15233", ""),
    case(
        "EXEC sp_addextendedproperty 'n', 1, 'SCHEMA', 'dbo', 'TABLE', 'other'",
        "EXEC sp_addextendedproperty 'n', 2, 'SCHEMA', 'dbo', 'TABLE', 'other'",
        "15233",
        "",
    ),
    case(
        "EXEC sp_addextendedproperty 'n', 1",
        "SELECT name FROM sys.extended_properties WHERE class = 0",
        "n",
        "no rows",
    ),
    case(
        "EXEC sp_updateextendedproperty 'here', 2, 'SCHEMA', 'dbo', 'TABLE', 'loose'",
        "SELECT CAST(value AS INT) FROM sys.extended_properties WHERE name = 'here'",
        "2",
        "1",
    ),
    case(
        "EXEC sp_dropextendedproperty 'here', 'SCHEMA', 'dbo', 'TABLE', 'loose'",
        "EXEC sp_updateextendedproperty 'here', 2, 'SCHEMA', 'dbo', 'TABLE', 'loose'",
        "15217",
        "",
    ),
    case(
        "CREATE TABLE c (i INT)",
        "EXEC sp_addextendedproperty 'n', 1, 'SCHEMA', 'dbo', 'TABLE', 'c'",
        "",
        "15135",
    ),
    case(
        "DROP TABLE loose",
        "EXEC sp_addextendedproperty 'n', 1, 'SCHEMA', 'dbo', 'TABLE', 'loose'",
        "15135",
        "",
    ),
    case("EXEC ('CREATE SCHEMA c')", "EXEC sp_addextendedproperty 'n', 1, 'SCHEMA', 'c'", "", "15135"),
    case(
        "CREATE TYPE c FROM INT",
        "EXEC sp_addextendedproperty 'n', 1, 'SCHEMA', 'dbo', 'TYPE', 'c'",
        "",
        "15135",
    ),
];

const STATISTICS: &[Case] = &[
    case("CREATE STATISTICS c ON loose (i)", "CREATE STATISTICS c ON loose (i)", "1927", ""),
    case("CREATE STATISTICS c ON loose (i)", "CREATE INDEX c ON loose (i)", "1913", ""),
    case("CREATE STATISTICS c ON loose (i)", "DROP STATISTICS loose.c", "", "3701"),
    case("CREATE STATISTICS c ON loose (i)", "UPDATE STATISTICS loose c", "", "2767"),
    case(
        "CREATE STATISTICS c ON loose (i)",
        "DBCC SHOW_STATISTICS (loose, i) WITH DENSITY_VECTOR",
        "2767",
        "2767",
    ),
    case("DROP STATISTICS numbered.old", "DROP STATISTICS numbered.old", "3701", ""),
    case("DROP STATISTICS numbered.old", "CREATE STATISTICS old ON numbered (j)", "", "1927"),
    case("DROP STATISTICS numbered.old", "UPDATE STATISTICS numbered old", "2767", ""),
    case("DROP STATISTICS numbered.old", "UPDATE STATISTICS numbered", "", ""),
    case("DROP STATISTICS numbered.old", "EXEC sp_autostats 'numbered', 'OFF', 'old'", "15323", "0"),
    case("DROP STATISTICS numbered.old", "DBCC SHOW_STATISTICS (numbered, 'c')", "2767", "2767"),
    case("DROP STATISTICS numbered.old", "SELECT COUNT(*) FROM sys.stats WHERE name = 'old'", "0", "1"),
];

/// Tables that DBCC is given by name or number.
const DBCC: &[Case] = &[
    case("DROP TABLE other", "DBCC CHECKTABLE (other) WITH NO_INFOMSGS", "2501", ""),
    case("CREATE TABLE c (i INT)", "DBCC CHECKTABLE ('c') WITH NO_INFOMSGS", "", "2501"),
    case("EXEC sp_rename 'other', 'c'", "DBCC CHECKTABLE ('dbo.c') WITH NO_INFOMSGS", "", "2501"),
    case("DROP TABLE numbered", "DBCC CHECKIDENT (numbered, NORESEED) WITH NO_INFOMSGS", "2501", ""),
    case("CREATE TABLE c (i INT IDENTITY)", "DBCC CHECKIDENT (c, NORESEED) WITH NO_INFOMSGS", "", "2501"),
    case("DROP TABLE loose", "DBCC SHOW_STATISTICS (loose, c)", "2501", "2767"),
];

/// Messages of users are in master: each case leaves nothing behind.
const MESSAGES: &[Case] = &[
    case("EXEC sp_addmessage 60000, 16, 'x'", "EXEC sp_addmessage 60000, 16, 'y'", "15043", ""),
    case("EXEC sp_addmessage 60000, 16, 'x'", "RAISERROR(60000, 16, 1)", "60000", "18054"),
    case("EXEC sp_addmessage 60000, 16, 'x'", "EXEC sp_dropmessage 60000", "", "15179"),
    case(
        "EXEC sp_addmessage 60000, 16, 'x'",
        "SELECT text FROM sys.messages WHERE message_id = 60000",
        "x",
        "no rows",
    ),
];

const METADATA: &[Case] = &[
    case("CREATE TABLE c (i INT)", "SELECT COALESCE(OBJECT_NAME(OBJECT_ID('c')), 'none')", "c", "none"),
    case(
        "CREATE TABLE c (i INT CONSTRAINT n PRIMARY KEY)",
        "SELECT COALESCE(OBJECT_NAME(OBJECT_ID('n')), 'none')",
        "n",
        "none",
    ),
    case("DROP TABLE other", "SELECT COALESCE(OBJECT_NAME(OBJECT_ID('other')), 'none')", "none", "other"),
    case("CREATE TABLE c (i INT)", "SELECT COUNT(*) FROM sys.tables WHERE name = 'c'", "1", "0"),
    case("CREATE TABLE c (i INT)", "SELECT COUNT(*) FROM sys.objects WHERE name = 'c'", "1", "0"),
    case(
        "CREATE TABLE c (i INT)",
        "IF NOT EXISTS (SELECT * FROM sys.tables WHERE name = 'c') CREATE TABLE c (i INT); SELECT 1",
        "1",
        "1",
    ),
    case("DROP TABLE other", "SELECT name FROM sys.tables WHERE name LIKE 'oth%'", "no rows", "other"),
    case(
        "DROP TABLE other",
        "SELECT TABLE_NAME FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_NAME LIKE 'oth%'",
        "no rows",
        "other",
    ),
    case(
        "EXEC ('ALTER VIEW v AS SELECT 2 AS two')",
        "SELECT COLUMN_NAME FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_NAME = 'v'",
        "two",
        "one",
    ),
    case("CREATE INDEX ix ON other (i)", "SELECT COUNT(*) FROM sys.indexes WHERE name = 'ix'", "1", "0"),
    case("EXEC ('CREATE SCHEMA c')", "SELECT name FROM sys.schemas WHERE name = 'c'", "c", "no rows"),
    case("ALTER TABLE child DROP CONSTRAINT fk_child", "SELECT COUNT(*) FROM sys.foreign_keys", "0", "1"),
];

/// What waits for nothing, because it does not ask for what is being changed, or asks to see that.
const UNCONCERNED: &[Case] = &[
    case("CREATE TABLE c (i INT)", "SELECT COUNT(*) FROM sys.tables WHERE name = 'other'", "1", "1"),
    case("CREATE TABLE c (i INT)", "SELECT OBJECT_NAME(OBJECT_ID('other'))", "other", "other"),
    case("CREATE TABLE c (i INT)", "SELECT COUNT(*) FROM other; CREATE TABLE d (i INT)", "0", "0"),
    case(
        "CREATE TABLE c (i INT)",
        "SELECT COUNT(*) FROM sys.tables WITH (NOLOCK) WHERE name = 'c'",
        "1",
        "1",
    ),
    case(
        "DROP TABLE other",
        "SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED; SELECT COUNT(*) FROM sys.tables WHERE name = 'other'",
        "0",
        "0",
    ),
    case("EXEC ('CREATE SCHEMA c')", "SELECT COUNT(*) FROM s.inside", "0", "0"),
    case("DROP PROCEDURE p", "SELECT i FROM t", "1", "1"),
    case("CREATE TABLE s.c (i INT)", "CREATE TABLE c (i INT); CREATE TABLE s.d (i INT)", "", ""),
    case("CREATE TABLE #c (i INT)", "SELECT COUNT(*) FROM other", "0", "0"),
];

/// Without "terminated", "could not create constraint" and the warning of sp_rename.
fn errors(seen: &Seen) -> Vec<i32> {
    numbers(seen).into_iter().filter(|number| ![1750, 3621, 15477].contains(number)).collect()
}

/// Errors if there are any, else the rows of the last result, else the count of rows.
fn told(seen: &Seen) -> String {
    let errors: Vec<String> = errors(seen).iter().map(i32::to_string).collect();
    if !errors.is_empty() {
        return errors.join(" ");
    }
    match (seen.sets.last(), seen.counts.last()) {
        (Some((_, rows)), _) if rows.is_empty() => "no rows".into(),
        (Some((_, rows)), _) => rows.iter().map(|row| row.join("|")).collect::<Vec<_>>().join(" "),
        (None, Some(Some(count))) => format!("{count} rows"),
        (None, _) => String::new(),
    }
}

fn make_everything(server: &Server, name: &str) {
    let mut maker = server.session_in("master");
    let log = format!("LOG ON (NAME = l, FILENAME = '{name}.ldf', SIZE = 512KB)");
    run(&mut maker, &format!("CREATE DATABASE {name} {log}"));
    run(&mut maker, &format!("USE {name}"));
    for text in SETUP {
        let seen = run(&mut maker, text);
        assert!(numbers(&seen).is_empty(), "{text}: {:?}", seen.messages);
    }
    maker.close();
}

/// Runs a text on a thread of its own; what is called to get the answer waits for it, and before tells whether it is there.
fn background(os: &Os, shared: SessionShared, database: &str, text: String) -> Background {
    let answer = kept(None);
    let (place, database) = (answer.clone(), database.to_string());
    let thread = os.spawn("second", move || {
        let mut session = connect(&shared, &database);
        let said = told(&run(&mut session, &text));
        assert!(!session.in_transaction(), "{text}");
        session.close();
        *place.lock() = Some(said);
    });
    Background { answer, thread }
}

struct Background {
    answer: std::sync::Arc<os::Latch<Option<String>>>,
    thread: os::JoinHandle,
}

impl Background {
    fn is_done(&self) -> bool {
        self.answer.lock().is_some()
    }

    fn answer(self) -> String {
        self.thread.join().unwrap();
        let answer = self.answer.lock().take();
        answer.unwrap()
    }
}

/// Every case with COMMIT and with ROLLBACK, each time in a database of its own; the second session's text may have been run before.
fn check(seed: u64, cases: &'static [Case], waits: bool) {
    on_a_machine(seed, move |os| {
        let server = Server::open(os);
        for (number, case) in cases.iter().enumerate() {
            for (end, expected) in [("COMMIT", case.committed), ("ROLLBACK", case.rolled_back)] {
                for is_known in [false, true] {
                    let database = format!("{end}{number}{is_known}");
                    make_everything(&server, &database);
                    let mut first = server.session_in(&database);
                    let reads = ["SELECT", "EXEC p", "IF EXISTS", "DECLARE"]
                        .iter()
                        .any(|w| case.second.starts_with(w));
                    if is_known && reads && !case.second.contains("INTO c") && !case.second.contains("CREATE")
                    {
                        // The program is in the cache, its plans are made.
                        run(&mut server.session_in(&database), case.second);
                    }
                    let seen = run(&mut first, &format!("BEGIN TRAN; {}", case.first));
                    assert!(errors(&seen).is_empty(), "{}: {:?}", case.first, seen.messages);
                    let second = background(os, server.shared(), &database, case.second.to_string());
                    os.sleep(A_SECOND_NS, WaitType::WAITFOR).unwrap();
                    let what = format!("{} / {} / {end} / {is_known}", case.first, case.second);
                    assert_eq!(!second.is_done(), waits, "{what}: waits");
                    run(&mut first, end);
                    assert_eq!(second.answer(), expected, "{what}");
                    assert_eq!(names_taken_twice(&mut first), "", "{what}");
                    first.close();
                    let mut master = server.session_in("master");
                    run(&mut master, &format!("DROP DATABASE {database}"));
                    let is_message = "SELECT * FROM sys.messages WHERE message_id = 60000";
                    run(&mut master, &format!("IF EXISTS ({is_message}) EXEC sp_dropmessage 60000"));
                }
            }
        }
        assert_eq!(server.instance.locks().snapshot(), [], "locks left behind");
        server.instance.shutdown();
    });
}

fn names_taken_twice(session: &mut Session) -> String {
    let text = "SELECT name FROM sys.objects GROUP BY schema_id, name HAVING COUNT(*) > 1";
    let seen = run(session, text);
    seen.sets[0].1.iter().map(|row| row.join("|")).collect()
}

#[test]
fn tables() {
    check(1, TABLES, true);
}

#[test]
fn columns() {
    check(2, COLUMNS, true);
}

/// The same for sequences, whose values are drawn under their definition, and for defaults that draw from them.
#[test]
fn sequences() {
    check(22, SEQUENCES, true);
}

#[test]
fn indexes_and_constraints() {
    check(3, INDEXES_AND_CONSTRAINTS, true);
}

#[test]
fn views_procedures_and_functions() {
    check(4, MODULES, true);
}

#[test]
fn schemas() {
    check(5, SCHEMAS, true);
}

#[test]
fn renames() {
    check(20, RENAMES, true);
}

#[test]
fn alias_types() {
    check(21, TYPES, true);
}

#[test]
fn extended_properties() {
    check(22, PROPERTIES, true);
}

#[test]
fn messages_of_users() {
    check(23, MESSAGES, true);
}

#[test]
fn statistics() {
    check(24, STATISTICS, true);
}

#[test]
fn tables_of_dbcc() {
    check(25, DBCC, true);
}

#[test]
fn metadata() {
    check(6, METADATA, true);
}

#[test]
fn what_is_not_concerned_does_not_wait() {
    check(7, UNCONCERNED, false);
}

/// LOCK_TIMEOUT counts for names, too, wherever the SET stands; the batch goes on.
#[test]
fn a_wait_for_a_name_ends_with_lock_timeout() {
    on_a_machine(8, |os| {
        let server = Server::open(os);
        make_everything(&server, "db");
        let (mut first, mut second) = (server.session_in("db"), server.session_in("db"));
        run(
            &mut first,
            "BEGIN TRAN; CREATE TABLE c (i INT); DROP TABLE other; EXEC ('ALTER PROCEDURE p AS SELECT 2')",
        );
        for text in [
            "SELECT * FROM c",
            "CREATE TABLE c (i INT)",
            "INSERT other VALUES (1)",
            "EXEC p",
            "SELECT OBJECT_ID('c')",
        ] {
            for timeout in ["0", "20"] {
                let seen =
                    run(&mut second, &format!("SET LOCK_TIMEOUT {timeout}; {text}; SELECT 'goes on' AS x"));
                let numbers: Vec<i32> = numbers(&seen).into_iter().filter(|n| *n != 3621).collect();
                assert_eq!(numbers, [1222], "{text}");
                assert_eq!(seen.sets.last().unwrap().1, [["goes on"]], "{text}");
                let caught = format!("BEGIN TRY {text} END TRY BEGIN CATCH SELECT ERROR_NUMBER() END CATCH");
                assert_eq!(told(&run(&mut second, &caught)), "1222", "{text}");
            }
        }
        run(&mut first, "ROLLBACK");
        assert_eq!(told(&run(&mut second, "SELECT COUNT(*) FROM other")), "0");
        first.close();
        second.close();
        assert_eq!(server.instance.locks().snapshot(), [], "locks left behind");
        server.instance.shutdown();
    });
}

/// Two who wait for each other's names: one is the victim, the other goes on.
#[test]
fn waits_for_names_that_close_a_circle_are_deadlocks() {
    for (seed, one, two) in [
        (9, "SELECT COUNT(*) FROM y", "SELECT COUNT(*) FROM x"),
        (10, "CREATE TABLE y (i INT)", "CREATE TABLE x (i INT)"),
        (11, "SELECT OBJECT_ID('y')", "INSERT x VALUES (1)"),
    ] {
        on_a_machine(seed, move |os| {
            let server = Server::open(os);
            make_everything(&server, "db");
            let mut first = server.session_in("db");
            run(&mut first, "BEGIN TRAN; CREATE TABLE x (i INT)");
            let text =
                format!("SET DEADLOCK_PRIORITY LOW; BEGIN TRAN; CREATE TABLE y (i INT); {two}; COMMIT");
            let second = background(os, server.shared(), "db", text);
            os.sleep(A_SECOND_NS, WaitType::WAITFOR).unwrap();
            assert!(!second.is_done());
            let seen = run(&mut first, one);
            let expected: &[i32] = if one.starts_with("SELECT COUNT") { &[208] } else { &[] };
            assert_eq!(numbers(&seen), expected, "{one}: the other's y was taken back");
            run(&mut first, "COMMIT");
            assert_eq!(second.answer(), "1205");
            first.close();
            server.instance.shutdown();
        });
    }
}

/// What a savepoint or a failed statement takes back is settled at once.
#[test]
fn what_is_taken_back_in_a_transaction_is_settled() {
    on_a_machine(12, |os| {
        let server = Server::open(os);
        make_everything(&server, "db");
        let (mut first, mut second) = (server.session_in("db"), server.session_in("db"));
        run(
            &mut first,
            "BEGIN TRAN; SAVE TRAN here; CREATE TABLE c (i INT); CREATE TABLE c2 (i INT); ROLLBACK TRAN here",
        );
        let seen = run(&mut first, "CREATE TABLE d (i INT, CONSTRAINT pk_t PRIMARY KEY (i))");
        assert_eq!(errors(&seen), [2714]);
        assert_eq!(numbers(&run(&mut second, "SET LOCK_TIMEOUT 0; SELECT * FROM c")), [208]);
        assert_eq!(numbers(&run(&mut second, "SELECT * FROM d")), [208]);
        assert!(numbers(&run(&mut second, "CREATE TABLE c (i INT); CREATE TABLE d (i INT)")).is_empty());
        assert_eq!(numbers(&run(&mut first, "CREATE TABLE c (i INT)")), [2714]);
        run(&mut first, "CREATE TABLE c2 (i INT); DROP TABLE c2; CREATE TABLE c2 (j INT); COMMIT");
        assert_eq!(told(&run(&mut second, "SELECT COUNT(j) FROM c2")), "0");
        first.close();
        second.close();
        server.instance.shutdown();
    });
}
