//! Constructs in unusual positions: unknown types, queries and columns where no row exists, and the counts of TOP, OFFSET and FETCH.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::{World, numbers, rows, run};

/// An unknown type is 243 in a conversion, and 2715 with its position in the list in a declaration: state 3 for variables
/// and parameters, 6 for columns and types. No value can be converted to an alias type (243).
#[test]
fn an_unknown_type_is_told_by_its_place() {
    let (_world, mut session) = World::in_database("unknown-types");
    run(&mut session, "CREATE TYPE alias FROM int; CREATE TABLE t (a int)");
    for (text, number, state, part) in [
        ("SELECT CAST(1 AS nosuch)", 243, 1, " nosuch "),
        ("SELECT CONVERT(nosuch, 1)", 243, 1, " nosuch "),
        ("SELECT TRY_CAST(1 AS dbo.nosuch)", 243, 1, " dbo.nosuch "),
        ("SELECT TRY_CONVERT(nosuch, 1)", 243, 1, " nosuch "),
        ("SELECT PARSE('1' AS nosuch)", 243, 1, " nosuch "),
        ("SELECT CAST(1 AS alias)", 243, 1, " alias "),
        ("SELECT a FROM t WHERE CAST(a AS dbo.alias) = 1", 243, 1, " dbo.alias "),
        ("DECLARE @v nosuch", 2715, 3, "#1: "),
        ("DECLARE @a int, @v dbo.nosuch", 2715, 3, "#2: "),
        ("CREATE PROCEDURE p @a int, @b nosuch AS SELECT 1", 2715, 3, "#2: "),
        ("CREATE FUNCTION f (@a nosuch) RETURNS TABLE AS RETURN SELECT 1 AS x", 2715, 3, "#1: "),
        ("EXEC sp_executesql N'SELECT @p', N'@o int, @p nosuch', 1, 1", 2715, 3, "#2: "),
        ("CREATE TABLE u (a int, b nosuch)", 2715, 6, "#2: "),
        ("CREATE TABLE u (a int, c AS a, b dbo.nosuch)", 2715, 6, "#3: "),
        ("DECLARE @t TABLE (b nosuch)", 2715, 6, "#1: "),
        ("ALTER TABLE t ADD b nosuch", 2715, 6, "nosuch"),
        ("ALTER TABLE t ALTER COLUMN a nosuch", 2715, 6, "nosuch"),
        ("CREATE TYPE other FROM nosuch", 2715, 6, "nosuch"),
        ("SELECT * FROM OPENJSON('[]') WITH (a int, b nosuch)", 2715, 6, "#2: "),
    ] {
        let caught = format!(
            "BEGIN TRY EXEC(N'{}') END TRY BEGIN CATCH SELECT CONCAT(ERROR_NUMBER(), '/', ERROR_STATE(), ' ', ERROR_MESSAGE()) END CATCH",
            text.replace('\'', "''")
        );
        let told = rows(&mut session, &caught).concat();
        assert!(told.starts_with(&format!("{number}/{state} ")) && told.contains(part), "{text}: {told}");
    }
}

/// A function's parameter may be of an alias type.
#[test]
fn an_inline_function_takes_an_alias_type() {
    let (_world, mut session) = World::in_database("alias-parameter");
    run(&mut session, "CREATE TYPE alias FROM int");
    run(&mut session, "CREATE FUNCTION f (@a alias) RETURNS TABLE AS RETURN SELECT @a + 1 AS x");
    assert_eq!(rows(&mut session, "SELECT x FROM f(41)"), ["42"]);
}

/// Expressions without a row source allow neither a query (1046) nor a column (128), at any depth; RAISERROR, THROW,
/// WAITFOR and defaults of parameters accept constants and variables only (102). The error comes before any statement of the batch runs.
#[test]
fn expressions_without_rows() {
    let (_world, mut session) = World::in_database("without-rows");
    run(&mut session, "CREATE TABLE t (a int)");
    for (text, expected) in [
        ("PRINT (SELECT 1)", 1046),
        ("PRINT 1 + (SELECT 1)", 1046),
        ("PRINT CASE WHEN EXISTS (SELECT 1) THEN 1 END", 1046),
        ("PRINT IIF(1 IN (SELECT 1), 1, 2)", 1046),
        ("IF 1 = 0 PRINT CONCAT('x', (SELECT 1))", 1046),
        ("PRINT a", 128),
        ("PRINT t.a", 128),
        ("PRINT UPPER(a)", 128),
        ("PRINT [a] + (SELECT 1)", 128),
        ("PRINT DATEADD(DAY, a, GETDATE())", 128),
        ("CREATE TABLE u (j int, k int DEFAULT (j))", 128),
        ("CREATE TABLE u (j int, k int DEFAULT j)", 128),
        ("CREATE TABLE u (j int, k int DEFAULT (DATEPART(YEAR, j)))", 128),
        ("ALTER TABLE t ADD CONSTRAINT d DEFAULT (a + 1) FOR a", 128),
        ("ALTER TABLE t ADD b int NOT NULL DEFAULT (a)", 128),
        ("RAISERROR('x %d', 16, 1, (SELECT 1))", 102),
        ("RAISERROR('x', (SELECT 16), 1)", 102),
        ("RAISERROR('x' + 'y', 16, 1)", 102),
        ("THROW 50000, (SELECT 'a'), 1", 102),
        ("WAITFOR DELAY (SELECT '0:0:0')", 102),
        ("CREATE PROCEDURE p @a int = (SELECT 1) AS SELECT @a", 102),
        ("SET ROWCOUNT (SELECT 1)", 102),
        ("SET LOCK_TIMEOUT (SELECT 1)", 102),
        ("KILL (SELECT 1)", 102),
    ] {
        let seen = run(
            &mut session,
            &format!("{}{text}", if text.starts_with("CREATE P") { "" } else { "INSERT t VALUES (1); " }),
        );
        assert_eq!(numbers(&seen), [expected], "{text}");
    }
    assert_eq!(rows(&mut session, "SELECT COUNT(*) FROM t"), ["0"]);
    for text in [
        "DECLARE @i int = 3; PRINT @i + @@TRANCOUNT",
        "PRINT DATEPART(YEAR, GETDATE())",
        "PRINT DATENAME(dw, DATEADD(DAY, 1, CURRENT_TIMESTAMP))",
        "PRINT {fn UCASE({fn CONCAT(N'a', N'b')})}",
        "DECLARE @s int = 10; RAISERROR('%d %s', @s, -1, @s, N'x')",
        "CREATE TABLE v (j int DEFAULT (DATEDIFF(DAY, 0, GETDATE())), k datetime DEFAULT GETDATE(), l int DEFAULT -1)",
        "CREATE TABLE w (j int DEFAULT ((1)), k nvarchar(30) DEFAULT (CONVERT(nvarchar(30), SUSER_SNAME())))",
    ] {
        let seen = run(&mut session, text);
        assert!(
            seen.messages.iter().all(|message| matches!(message.0, 0 | 50000)),
            "{text}: {:?}",
            seen.messages
        );
    }
}

/// Each count is a query of its own: variables, subqueries and columns of outer queries may stand in it, columns of its own query may not.
#[test]
fn counts_are_expressions_and_queries() {
    let (_world, mut session) = World::in_database("counts");
    run(&mut session, "CREATE TABLE t (a int, b int); INSERT t VALUES (1, 1), (2, 2), (3, 3), (4, 4)");
    for (text, expected) in [
        ("SELECT TOP (SELECT 2) a FROM t ORDER BY a", "1 2"),
        ("SELECT TOP (SELECT MIN(x.a) + 2 FROM t AS x) a FROM t ORDER BY a", "1 2 3"),
        ("DECLARE @v int = 1; SELECT TOP (@v + 1) a FROM t ORDER BY a", "1 2"),
        ("SELECT TOP ((SELECT 1) + 1) a FROM t ORDER BY a DESC", "4 3"),
        ("SELECT TOP (SELECT 50) PERCENT a FROM t ORDER BY a", "1 2"),
        ("SELECT TOP (SELECT 1 UNION SELECT 1) a FROM t ORDER BY a", "1"),
        ("SELECT a FROM t ORDER BY a OFFSET (SELECT 1) ROWS FETCH NEXT (SELECT MAX(2)) ROWS ONLY", "2 3"),
        (
            "DECLARE @p int = 2, @n int = 1; SELECT a FROM t ORDER BY a OFFSET (@p - 1) * @n ROWS FETCH NEXT @n ROWS ONLY",
            "2",
        ),
        ("SELECT a FROM t UNION SELECT 9 ORDER BY a OFFSET (SELECT 3) ROWS", "4 9"),
        (
            "SELECT (SELECT COUNT(*) FROM (SELECT TOP (o.a - 1) b FROM t) AS i) FROM t AS o ORDER BY o.a",
            "0 1 2 3",
        ),
        (
            "SELECT i.b FROM t AS o CROSS APPLY (SELECT b FROM t ORDER BY b OFFSET o.a ROWS) AS i WHERE o.a > 2",
            "4",
        ),
        ("SELECT TOP 9223372036854775807 a FROM t WHERE a > 3", "4"),
        ("SELECT TOP (2147483648) a FROM t WHERE a > 3", "4"),
        ("SELECT TOP (CAST(1 AS tinyint)) a FROM t ORDER BY a", "1"),
    ] {
        assert_eq!(rows(&mut session, text).join(" "), expected, "{text}");
    }
    for (text, left) in [
        ("INSERT TOP (SELECT 1) t SELECT 5, 5 UNION ALL SELECT 5, 5", "5"),
        ("UPDATE TOP (SELECT 2) t SET b = 0", "2"),
        ("DELETE TOP (SELECT 3) FROM t", "2"),
        (
            "MERGE TOP (SELECT 1) t USING (VALUES (8), (9)) AS s (x) ON a = x WHEN NOT MATCHED THEN INSERT VALUES (x, 0);",
            "3",
        ),
    ] {
        let count = if text.starts_with("UPDATE") {
            "SELECT COUNT(*) FROM t WHERE b = 0"
        } else {
            "SELECT COUNT(*) FROM t"
        };
        assert_eq!(run(&mut session, text).messages.len(), 0, "{text}");
        assert_eq!(rows(&mut session, count), [left], "{text}");
    }
}

/// Errors of a count, in the statement's text and at run time.
#[test]
fn counts_that_are_none() {
    let (_world, mut session) = World::in_database("no-counts");
    run(&mut session, "CREATE TABLE t (a int); INSERT t VALUES (1)");
    for (text, expected) in [
        ("SELECT TOP (a) a FROM t", 4115),
        ("SELECT TOP (t.a + 1) WITH TIES a FROM t ORDER BY a", 4115),
        ("SELECT TOP (SELECT t.a) a FROM t", 4115),
        ("SELECT TOP (a) PERCENT a FROM t", 4115),
        ("SELECT a FROM t ORDER BY a OFFSET a ROWS", 4115),
        ("SELECT a FROM t ORDER BY a OFFSET 0 ROWS FETCH NEXT a ROWS ONLY", 4115),
        ("SELECT a FROM t ORDER BY a OFFSET (SELECT MAX(t.a) FROM t AS u) ROWS", 4115),
        ("UPDATE TOP (a) t SET a = 1", 4115),
        ("DELETE TOP (a) t", 4115),
        ("SELECT TOP (missing) a FROM t", 207),
        ("SELECT TOP (COUNT(*)) a FROM t", 162),
        ("SELECT a FROM t ORDER BY a OFFSET MAX(1) ROWS", 162),
        ("SELECT TOP (-1) a FROM t", 127),
        ("SELECT TOP -1 a FROM t", 127),
        ("DECLARE @v int = -1; SELECT TOP (@v) a FROM t", 127),
        ("DECLARE @v int = -1; SELECT TOP (@v) a FROM t ORDER BY a", 127),
        ("DECLARE @v int = -1; UPDATE TOP (@v) t SET a = 1", 127),
        ("SELECT TOP (NULL) a FROM t", 1060),
        ("DECLARE @v int; SELECT TOP (@v) a FROM t", 1014),
        ("DECLARE @v int; SELECT TOP (@v) a FROM t ORDER BY a", 1014),
        ("DECLARE @v int; DELETE TOP (@v) t", 1014),
        ("SELECT TOP (1.5) a FROM t", 1060),
        ("SELECT TOP (2.0) a FROM t", 1060),
        ("SELECT TOP 1.5 a FROM t", 1060),
        ("SELECT TOP (1e0) a FROM t", 1060),
        ("SELECT TOP ('1') a FROM t", 1060),
        ("DECLARE @v decimal(5) = 1; SELECT TOP (@v) a FROM t", 1060),
        ("SELECT TOP (101) PERCENT a FROM t", 1031),
        ("SELECT TOP (-1) PERCENT a FROM t", 1031),
        ("DECLARE @v float = 101; SELECT TOP (@v) PERCENT a FROM t", 1031),
        ("UPDATE TOP (200) PERCENT t SET a = 1", 1031),
        ("SELECT TOP (NULL) PERCENT a FROM t", 1014),
        ("DECLARE @v int; SELECT TOP (@v) PERCENT a FROM t", 1014),
        ("SELECT a FROM t ORDER BY a OFFSET -1 ROWS", 10742),
        ("DECLARE @v int = -1; SELECT a FROM t ORDER BY a OFFSET @v ROWS", 10742),
        ("SELECT a FROM t ORDER BY a OFFSET 1.5 ROWS", 10743),
        ("SELECT a FROM t ORDER BY a OFFSET NULL ROWS", 10743),
        ("DECLARE @v int; SELECT a FROM t ORDER BY a OFFSET @v ROWS", 10743),
        ("SELECT a FROM t ORDER BY a OFFSET 0 ROWS FETCH NEXT 0 ROWS ONLY", 10744),
        ("DECLARE @v int = 0; SELECT a FROM t ORDER BY a OFFSET 0 ROWS FETCH NEXT @v ROWS ONLY", 10744),
        ("SELECT a FROM t ORDER BY a OFFSET 0 ROWS FETCH NEXT '1' ROWS ONLY", 1060),
    ] {
        assert_eq!(numbers(&run(&mut session, text)), [expected], "{text}");
    }
    assert_eq!(rows(&mut session, "SELECT a FROM t"), ["1"]);
}

/// A database that does not exist: objects read, changed or dropped in it do not exist either (208, 3701, 4902, 1088), creating one there
/// is 2702, and only USE is 911. Modules are created in the current database (166).
#[test]
fn a_missing_database_is_told_by_its_statement() {
    let (_world, mut session) = World::in_database("missing-database");
    run(&mut session, "CREATE TABLE t (a int)");
    for (text, expected) in [
        ("SELECT * FROM nosuch..t", 208),
        ("SELECT * FROM nosuch.sys.objects", 208),
        ("SELECT * FROM nosuch.dbo.f(1)", 208),
        ("SELECT a FROM t WHERE EXISTS (SELECT * FROM nosuch.dbo.t)", 208),
        ("INSERT nosuch..t VALUES (1)", 208),
        ("INSERT t SELECT a FROM nosuch..t", 208),
        ("UPDATE nosuch..t SET a = 1", 208),
        ("DELETE nosuch..t", 208),
        ("MERGE nosuch..t AS t USING t AS s ON 1 = 1 WHEN MATCHED THEN DELETE;", 208),
        ("SELECT NEXT VALUE FOR nosuch.dbo.s", 208),
        ("SELECT a INTO nosuch..u FROM t", 2702),
        ("CREATE TABLE nosuch..u (a int)", 2702),
        ("DROP TABLE nosuch..t", 3701),
        ("ALTER TABLE nosuch..t ADD b int", 4902),
        ("CREATE INDEX i ON nosuch..t (a)", 1088),
        ("SET IDENTITY_INSERT nosuch..t ON", 1088),
        ("USE nosuch", 911),
        ("CREATE VIEW nosuch.dbo.v AS SELECT 1 AS a", 166),
        ("CREATE PROCEDURE nosuch.dbo.p AS SELECT 1", 166),
        ("CREATE FUNCTION master.dbo.f () RETURNS TABLE AS RETURN SELECT 1 AS a", 166),
    ] {
        assert_eq!(numbers(&run(&mut session, text)), [expected], "{text}");
    }
    assert_eq!(numbers(&run(&mut session, "DROP TABLE IF EXISTS nosuch..t; PRINT 'goes on'")), [0]);
}

/// One kind of syntax tree node may stand for several statements: each is refused under its own name.
#[test]
fn a_refusal_names_the_statement_that_was_written() {
    let (_world, mut session) = World::in_database("refused-names");
    run(&mut session, "CREATE TABLE t (a int)");
    for (text, name) in [
        ("GRANT SELECT ON t TO public", "GRANT"),
        ("DENY SELECT ON t TO public", "DENY"),
        ("REVOKE SELECT ON t FROM public", "REVOKE"),
    ] {
        let seen = run(&mut session, text);
        assert!(
            seen.messages[0].2.starts_with(&format!("{name} is not supported")),
            "{text}: {:?}",
            seen.messages
        );
    }
}
