//! The cases of `definitions.rs`: a change by one session, a request by another, whether it waits, its answer.

/// One session does `first` in a transaction, another does `second`: it waits, and then answers `committed` or `rolled_back`.
pub struct Case {
    pub first: &'static str,
    pub second: &'static str,
    pub committed: &'static str,
    pub rolled_back: &'static str,
}

const fn case(
    first: &'static str,
    second: &'static str,
    committed: &'static str,
    rolled_back: &'static str,
) -> Case {
    Case { first, second, committed, rolled_back }
}

pub const TABLES: &[Case] = &[
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
    case("DROP TABLE other", "TRUNCATE TABLE other", "4701", ""),
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

pub const SEQUENCES: &[Case] = &[
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

pub const COLUMNS: &[Case] = &[
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

pub const INDEXES_AND_CONSTRAINTS: &[Case] = &[
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

pub const MODULES: &[Case] = &[
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

pub const SCHEMAS: &[Case] = &[
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

pub const RENAMES: &[Case] = &[
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

pub const TYPES: &[Case] = &[
    case("CREATE TYPE c FROM INT", "CREATE TYPE c FROM INT", "219", ""),
    case("CREATE TYPE c FROM INT", "CREATE TYPE C FROM BIGINT", "219", ""),
    case("EXEC sp_addtype 'c', 'int'", "CREATE TYPE c FROM INT", "219", ""),
    case("CREATE TYPE c FROM INT", "DECLARE @x c = 1; SELECT @x", "1", "2715"),
    case("CREATE TYPE c FROM INT", "CREATE TABLE d (i c)", "", "2715"),
    case("CREATE TYPE c FROM INT", "ALTER TABLE loose ADD j c", "", "2715"),
    case("CREATE TYPE c FROM INT", "EXEC ('CREATE PROCEDURE q @x c AS SELECT 1')", "", "2715"),
    case("CREATE TYPE c FROM INT", "SELECT COALESCE(TYPE_NAME(TYPE_ID('c')), 'none')", "c", "none"),
    case("CREATE TYPE c FROM INT", "SELECT name FROM sys.types WHERE name = 'c'", "c", "no rows"),
    case("CREATE TYPE c FROM INT", "DROP TYPE c", "", "218"),
    case("DROP TYPE own", "DROP TYPE own", "218", ""),
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

pub const PROPERTIES: &[Case] = &[
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

pub const STATISTICS: &[Case] = &[
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

/// Tables named to DBCC by name or number.
pub const DBCC: &[Case] = &[
    case("DROP TABLE other", "DBCC CHECKTABLE (other) WITH NO_INFOMSGS", "2501", ""),
    case("CREATE TABLE c (i INT)", "DBCC CHECKTABLE ('c') WITH NO_INFOMSGS", "", "2501"),
    case("EXEC sp_rename 'other', 'c'", "DBCC CHECKTABLE ('dbo.c') WITH NO_INFOMSGS", "", "2501"),
    case("DROP TABLE numbered", "DBCC CHECKIDENT (numbered, NORESEED) WITH NO_INFOMSGS", "2501", ""),
    case("CREATE TABLE c (i INT IDENTITY)", "DBCC CHECKIDENT (c, NORESEED) WITH NO_INFOMSGS", "", "2501"),
    case("DROP TABLE loose", "DBCC SHOW_STATISTICS (loose, c)", "2501", "2767"),
];

/// User-defined messages are in master: each case leaves nothing behind.
pub const MESSAGES: &[Case] = &[
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

pub const METADATA: &[Case] = &[
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

const COLUMNS_OF_OTHER: &str = "SELECT c.name FROM sys.columns AS c JOIN sys.tables AS t ON t.object_id = c.object_id \
    JOIN sys.schemas AS s ON s.schema_id = t.schema_id WHERE t.name = 'other' AND s.name = 'dbo' AND c.column_id = 2";
const KEYS_OF_T: &str = "SELECT c.name FROM sys.key_constraints AS k JOIN sys.objects AS o ON k.parent_object_id = o.object_id \
    JOIN sys.index_columns AS x ON x.object_id = k.parent_object_id AND x.index_id = k.unique_index_id \
    JOIN sys.columns AS c ON c.object_id = x.object_id AND c.column_id = x.column_id WHERE k.type = 'PK' AND o.name = 't'";
const DEFAULT_OF_J: &str = "SELECT COALESCE(d.name, 'none') FROM sys.tables AS t JOIN sys.columns AS c ON c.object_id = t.object_id \
    LEFT JOIN sys.default_constraints AS d ON d.object_id = c.default_object_id WHERE t.name = 't' AND c.name = 'j'";
const HAS_CHILDREN: &str = "SELECT COUNT(*) FROM sys.tables AS t WHERE t.name = 't' \
    AND t.object_id IN (SELECT f.referenced_object_id FROM sys.foreign_keys AS f)";
const NAMES_OF_BOTH: &str =
    "SELECT name FROM sys.tables WHERE name = 'c' UNION SELECT name FROM sys.views WHERE name = 'c'";
const COUNTED: &str = "SELECT t.name FROM sys.tables AS t JOIN sys.columns AS c ON c.object_id = t.object_id \
    GROUP BY t.name HAVING t.name = 'other' AND COUNT(*) = 2";
const INTO_VARIABLE: &str = "DECLARE @n sysname = 'none'; SELECT @n = c.name FROM sys.columns AS c \
    JOIN sys.tables AS t ON t.object_id = c.object_id WHERE t.name = 'other' AND c.column_id = 2; SELECT @n";
const INTO_TABLE: &str = "DECLARE @f TABLE (n sysname); INSERT @f SELECT c.name FROM sys.columns AS c \
    JOIN sys.tables AS t ON t.object_id = c.object_id WHERE t.name = 'other' AND c.column_id = 2; SELECT n FROM @f";
const IF_THERE: &str = "IF EXISTS (SELECT * FROM sys.columns AS c JOIN sys.tables AS t ON t.object_id = c.object_id \
    WHERE t.name = 'other' AND c.name = 'late') SELECT 1 ELSE SELECT 0";

/// Results over several views depend on changes of each of them.
pub const JOINED_METADATA: &[Case] = &[
    case("ALTER TABLE other ADD late INT", COLUMNS_OF_OTHER, "late", "no rows"),
    case("ALTER TABLE other ADD late INT", COUNTED, "other", "no rows"),
    case("ALTER TABLE other ADD late INT", INTO_VARIABLE, "late", "none"),
    case("ALTER TABLE other ADD late INT", INTO_TABLE, "late", "no rows"),
    case("ALTER TABLE other ADD late INT", IF_THERE, "1", "0"),
    case("EXEC sp_rename 't.i', 'k', 'COLUMN'", KEYS_OF_T, "k", "i"),
    case("ALTER TABLE t ADD CONSTRAINT df DEFAULT 1 FOR j", DEFAULT_OF_J, "df", "none"),
    case("ALTER TABLE child DROP CONSTRAINT fk_child", HAS_CHILDREN, "0", "1"),
    case("CREATE TABLE c (i INT)", NAMES_OF_BOTH, "c", "no rows"),
    case(
        "ALTER TABLE t ADD CONSTRAINT late UNIQUE (j)",
        "SELECT COUNT(*) FROM INFORMATION_SCHEMA.TABLE_CONSTRAINTS AS c JOIN INFORMATION_SCHEMA.KEY_COLUMN_USAGE AS k \
         ON k.CONSTRAINT_NAME = c.CONSTRAINT_NAME WHERE c.TABLE_NAME = 't'",
        "2",
        "1",
    ),
];

/// They depend on nothing else, whatever other rows the views have.
pub const JOINED_UNCONCERNED: &[Case] = &[
    case("CREATE TABLE c (i INT PRIMARY KEY, late INT DEFAULT 1)", COLUMNS_OF_OTHER, "no rows", "no rows"),
    case("CREATE TABLE c (i INT PRIMARY KEY, late INT DEFAULT 1)", KEYS_OF_T, "i", "i"),
    case("CREATE TABLE c (i INT PRIMARY KEY, late INT DEFAULT 1)", DEFAULT_OF_J, "none", "none"),
    case("CREATE TABLE c (i INT REFERENCES keyed (i))", HAS_CHILDREN, "1", "1"),
    case("ALTER TABLE loose ADD late INT", COUNTED, "no rows", "no rows"),
    case("ALTER TABLE loose ADD late INT", INTO_VARIABLE, "none", "none"),
    case("ALTER TABLE loose ADD late INT", INTO_TABLE, "no rows", "no rows"),
    case("ALTER TABLE loose ADD late INT", IF_THERE, "0", "0"),
    case("CREATE TABLE d (i INT)", NAMES_OF_BOTH, "no rows", "no rows"),
    case("DROP TABLE child", COLUMNS_OF_OTHER, "no rows", "no rows"),
    case(
        "CREATE TABLE c (i INT PRIMARY KEY)",
        "SELECT COLUMN_NAME FROM INFORMATION_SCHEMA.KEY_COLUMN_USAGE AS k WHERE k.TABLE_NAME = 't'",
        "i",
        "i",
    ),
    case(
        "CREATE TABLE #c (i INT PRIMARY KEY)",
        "CREATE TABLE #d (x INT); SELECT c.name FROM tempdb.sys.columns AS c JOIN tempdb.sys.objects AS o ON o.object_id = c.object_id \
         WHERE o.object_id = OBJECT_ID('tempdb..#d')",
        "x",
        "x",
    ),
    case(
        "CREATE TABLE c (i INT PRIMARY KEY)",
        "EXEC sp_columns 'keyed', @column_name = 'none'",
        "no rows",
        "no rows",
    ),
    case("CREATE TABLE c (i INT REFERENCES keyed (i))", "EXEC sp_fkeys 'loose'", "no rows", "no rows"),
    case("CREATE TABLE c (i INT PRIMARY KEY)", "EXEC sp_tables 'nothing'", "no rows", "no rows"),
    case("CREATE TABLE c (i INT PRIMARY KEY)", "EXEC sp_special_columns 'loose'", "no rows", "no rows"),
    case("CREATE TABLE c (i INT PRIMARY KEY)", "EXEC sp_pkeys 'loose'", "no rows", "no rows"),
];

/// Statements that do not wait, because they do not use the changed object, or ask for uncommitted data.
pub const UNCONCERNED: &[Case] = &[
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
