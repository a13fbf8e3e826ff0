//! A feature that is refused by name ends its batch: no later statement runs, and a transaction around it is rolled back.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::{World, numbers, rows, run};

/// Statements that are refused at run time, with the error number.
const REFUSED: [(&str, i32); 4] = [
    ("BEGIN DISTRIBUTED TRANSACTION", 40514),
    ("BACKUP DATABASE master TO DISK = 'x'", 40517),
    ("CREATE LOGIN l WITH PASSWORD = 'x'", 40517),
    ("KILL STATS JOB 1", 40517),
];

#[test]
fn a_refusal_ends_the_batch_and_its_transaction() {
    let world = World::new("refusals");
    let mut session = world.session();
    run(&mut session, "CREATE TABLE t (i int)");
    for (statement, number) in REFUSED {
        let seen = run(
            &mut session,
            &format!("BEGIN TRAN INSERT t VALUES (1) {statement}; INSERT t VALUES (2) COMMIT"),
        );
        assert_eq!(numbers(&seen), [number], "{statement}");
        assert_eq!(rows(&mut session, "SELECT COUNT(*), @@TRANCOUNT FROM t"), ["0|0"], "{statement}");
    }
}

/// A rebuilt table of the catalog would have another root than the boot page names: the server would not start again.
#[test]
fn no_statement_changes_a_table_of_the_catalog() {
    let world = World::new("refused-catalog");
    let mut session = world.session();
    for statement in [
        "ALTER INDEX ALL ON sys.sysstats REBUILD",
        "ALTER INDEX ALL ON sys.sysschobjs REBUILD",
        "ALTER TABLE sys.sysstats ADD x int",
        "ALTER TABLE sys.sysstats DROP COLUMN name",
        "CREATE INDEX i ON sys.sysstats (statid)",
        "TRUNCATE TABLE sys.sysstats",
        "DROP TABLE sys.sysstats",
        "DELETE sys.sysstats",
    ] {
        assert_ne!(numbers(&run(&mut session, statement)), [0; 0], "{statement}");
    }
    run(&mut session, "CREATE TABLE works (i int) INSERT works VALUES (1)");
    assert_eq!(rows(&mut session, "SELECT i FROM works"), ["1"]);
}

/// Statistics of a system table are neither created nor dropped; updating them is harmless, also for the next start.
#[test]
fn statistics_of_the_catalog_are_its_own() {
    let mut world = World::new("refused-catalog-statistics");
    let mut session = world.session();
    for statement in
        ["CREATE STATISTICS s ON sys.sysstats (statid)", "CREATE STATISTICS s ON sys.sysschobjs (name)"]
    {
        assert_eq!(numbers(&run(&mut session, statement)), [259], "{statement}");
    }
    assert_eq!(numbers(&run(&mut session, "DROP STATISTICS sysstats.s")), [3701]);
    for table in ["sysstats", "sysschobjs"] {
        run(&mut session, &format!("UPDATE STATISTICS sys.{table} WITH FULLSCAN"));
    }
    run(&mut session, "CREATE TABLE works (i int) INSERT works VALUES (1)");
    drop(session);
    world.restart();
    let mut session = world.session();
    assert_eq!(rows(&mut session, "SELECT i FROM works"), ["1"]);
    assert_eq!(rows(&mut session, "SELECT COUNT(*) FROM sys.stats WHERE name = 's'"), ["0"]);
    run(&mut session, "CREATE TABLE later (i int) CREATE STATISTICS s ON later (i)");
    assert_eq!(rows(&mut session, "SELECT COUNT(*) FROM sys.stats WHERE name = 's'"), ["1"]);
}

#[test]
fn a_loop_behind_a_refused_statement_does_not_run() {
    let world = World::new("refused-loop");
    let mut session = world.session();
    let text = "BACKUP DATABASE master TO DISK = 'x' WHILE @@FETCH_STATUS = 0 SELECT 1";
    let seen = run(&mut session, text);
    assert_eq!(numbers(&seen), [40517]);
    assert!(seen.sets.is_empty());
}

#[test]
fn a_refusal_inside_a_procedure_or_dynamic_text_ends_the_whole_batch() {
    let world = World::new("refused-within");
    let mut session = world.session();
    run(&mut session, "CREATE PROCEDURE p AS BEGIN SELECT 1 KILL STATS JOB 1 SELECT 2 END");
    for call in [
        "EXEC p",
        "EXEC('SELECT 1 KILL STATS JOB 1 SELECT 2')",
        "EXEC sp_executesql N'SELECT 1 KILL STATS JOB 1 SELECT 2'",
    ] {
        let seen = run(&mut session, &format!("{call} SELECT 3"));
        assert_eq!(numbers(&seen), [40517], "{call}");
        assert_eq!(seen.sets.len(), 1, "{call}: only what stands before it");
    }
}

#[test]
fn a_caught_refusal_leaves_a_transaction_that_can_only_be_rolled_back() {
    let world = World::new("refused-caught");
    let mut session = world.session();
    let text = "BEGIN TRAN BEGIN TRY KILL STATS JOB 1 END TRY BEGIN CATCH SELECT ERROR_NUMBER(), XACT_STATE() ROLLBACK END CATCH";
    assert_eq!(rows(&mut session, text), ["40517|-1"]);
}

#[test]
fn databases_have_the_collation_of_the_server_or_are_refused() {
    let world = World::new("refused-collation");
    let mut session = world.session();
    assert_eq!(numbers(&run(&mut session, "CREATE DATABASE a COLLATE No_Such_Collation")), [448]);
    assert_eq!(numbers(&run(&mut session, "CREATE DATABASE a COLLATE Latin1_General_BIN2")), [40514]);
    assert_eq!(numbers(&run(&mut session, "ALTER DATABASE master COLLATE Latin1_General_BIN2")), [40514]);
    assert!(run(&mut session, "CREATE DATABASE a COLLATE SQL_Latin1_General_CP1_CI_AS").messages.is_empty());
}

#[test]
fn textsize_cuts_large_values_on_their_way_to_the_client() {
    let world = World::new("textsize");
    let mut session = world.session();
    let select = "SELECT CAST('abcdef' AS varchar(max)), CAST('abcdef' AS nvarchar(max)), CONVERT(image, 0x414243444546), \
                  CAST('abcdef' AS text), CAST('abcdef' AS varchar(10)), LEN(CAST('abcdef' AS varchar(max))), @@TEXTSIZE";
    run(&mut session, "SET TEXTSIZE 4");
    assert_eq!(rows(&mut session, select), ["abcd|ab|\u{4241}\u{4443}|abcd|abcdef|6|4"]);
    run(&mut session, "SET TEXTSIZE 0");
    assert_eq!(rows(&mut session, "SELECT @@TEXTSIZE"), ["4096"]);
    run(&mut session, "SET TEXTSIZE -1");
    assert_eq!(
        rows(&mut session, select),
        ["abcdef|abcdef|\u{4241}\u{4443}\u{4645}|abcdef|abcdef|6|2147483647"]
    );
}

/// The session's ANSI_NULL_DFLT_ON and _OFF, or if both are off the database's ANSI_NULL_DEFAULT, determine the nullability of a column without one.
#[test]
fn columns_are_nullable_as_the_settings_say() {
    let world = World::new("null-default");
    let mut session = world.session();
    let cases = [
        ("SET ANSI_NULL_DFLT_ON ON", "1"),
        ("SET ANSI_NULL_DFLT_OFF ON", "0"),
        ("SET ANSI_NULL_DFLT_ON ON SET ANSI_NULL_DFLT_ON OFF", "0"),
        ("SET ANSI_NULL_DFLT_ON OFF ALTER DATABASE n SET ANSI_NULL_DEFAULT ON", "1"),
        ("SET ANSI_NULL_DFLT_OFF ON SET ANSI_NULL_DFLT_ON ON", "1"),
        ("SET ANSI_DEFAULTS ON", "1"),
    ];
    run(&mut session, "CREATE DATABASE n");
    run(&mut session, "USE n");
    for (settings, nullable) in cases {
        let seen = run(&mut session, settings);
        assert!(seen.messages.is_empty(), "{settings}: {:?}", seen.messages);
        run(&mut session, "CREATE TABLE t (i int, j int NULL, k int NOT NULL)");
        let found = rows(
            &mut session,
            "SELECT is_nullable FROM sys.columns WHERE object_id = OBJECT_ID('t') ORDER BY column_id",
        );
        assert_eq!(found, [nullable, "1", "0"], "{settings}");
        run(&mut session, "DROP TABLE t SET IMPLICIT_TRANSACTIONS OFF IF @@TRANCOUNT > 0 COMMIT");
    }
}

#[test]
fn kill_with_statusonly_kills_nobody() {
    let world = World::new("statusonly");
    let (mut session, mut other) = (world.session(), world.session());
    let seen = run(&mut session, &format!("KILL {} WITH STATUSONLY", other.id()));
    assert_eq!(numbers(&seen), [6120]);
    assert_eq!(rows(&mut other, "SELECT 1"), ["1"]);
}

/// Stored expressions of a table must depend on its row only: a CHECK, a default or a computed column that queries other rows might become false
/// later (1046). A name of WITH is unique, an identity increment is not 0, and KILL says why a number is no user session.
#[test]
fn what_is_accepted_only_without_queries_and_once() {
    let (_world, mut session) = World::in_database("once");
    run(&mut session, "CREATE TABLE p (i int)");
    for (text, expected) in [
        ("CREATE TABLE c (i int CHECK (EXISTS (SELECT 1)))", 1046),
        ("CREATE TABLE c (i int, CHECK (i IN (SELECT i FROM p)))", 1046),
        ("CREATE TABLE c (i int CHECK (i > ALL (SELECT i FROM p)))", 1046),
        ("CREATE TABLE c (i int DEFAULT ((SELECT 1)))", 1046),
        ("CREATE TABLE c (i int, j AS (SELECT 1))", 1046),
        ("ALTER TABLE p ADD CHECK (EXISTS (SELECT 1))", 1046),
        ("ALTER TABLE p WITH NOCHECK ADD CHECK (i IN (SELECT i FROM p))", 1046),
        ("ALTER TABLE p WITH NOCHECK ADD CHECK (missing > 1)", 207),
        ("ALTER TABLE p ADD j int CHECK (EXISTS (SELECT 1))", 1046),
        ("ALTER TABLE p ADD DEFAULT (SELECT 1) FOR i", 1046),
        ("ALTER TABLE p ADD j int DEFAULT (SELECT 1)", 1046),
        ("ALTER TABLE p ADD j AS (SELECT 1)", 1046),
        ("DECLARE @t TABLE (i int CHECK (EXISTS (SELECT 1)))", 1046),
        ("WITH a AS (SELECT 1 AS x), b AS (SELECT 2 AS x), A AS (SELECT 3 AS x) SELECT * FROM a", 239),
        ("WITH a AS (SELECT 1 AS x), a AS (SELECT 2 AS x) DELETE p WHERE i IN (SELECT x FROM a)", 239),
        ("CREATE TABLE c (i int IDENTITY (1, 0))", 2753),
        ("ALTER TABLE p ADD j int IDENTITY (1, 0)", 2753),
        ("SELECT IDENTITY(int, 1, 0) AS i INTO c FROM p", 2753),
        ("KILL 0", 6101),
        ("KILL -1", 6101),
        ("KILL 40000", 6101),
        ("KILL 1", 6107),
        ("KILL 50", 6107),
        ("KILL 9999", 6106),
    ] {
        let numbers = numbers(&run(&mut session, text));
        assert_eq!(numbers.first(), Some(&expected), "{text}: {numbers:?}");
    }
    assert_eq!(rows(&mut session, "SELECT COUNT(*) FROM sys.tables"), ["1"]);
}

/// A name in ORDER BY is that of one item, even if several are the same column (209), and a column orders once (169). A table whose smallest row
/// fits no page cannot be (1701), made or altered; a function's text calls nothing that has side effects (443), a view that it reads may.
#[test]
fn ambiguous_orders_too_wide_rows_and_side_effects() {
    let (_world, mut session) = World::in_database("ambiguous");
    run(&mut session, "CREATE TABLE t (a int, b int, INDEX ia (a, b)) INSERT t VALUES (1, 2)");
    run(&mut session, "CREATE TABLE narrow (a char(8000))");
    run(&mut session, "CREATE VIEW numbers AS SELECT NEWID() AS n");
    for (text, expected) in [
        ("SELECT a AS x, b AS x FROM t ORDER BY x", 209),
        ("SELECT a, a FROM t ORDER BY a", 209),
        ("SELECT *, a FROM t ORDER BY A", 209),
        ("SELECT DISTINCT a AS x, b AS x FROM t ORDER BY x", 209),
        ("SELECT a AS x, b AS x FROM t UNION SELECT 1, 2 ORDER BY x", 209),
        ("SELECT TOP 1 a AS x, b AS x FROM t ORDER BY 1, x", 209),
        ("SELECT a, b FROM t ORDER BY a, b, a DESC", 169),
        ("SELECT a, b FROM t ORDER BY 1, t.a", 169),
        ("SELECT a + 1 AS x FROM t ORDER BY x, 1", 169),
        ("SELECT a FROM t UNION SELECT b FROM t ORDER BY a, 1", 169),
        ("CREATE TABLE w (a char(8000), b char(54))", 1701),
        (
            "CREATE TABLE w (a char(8000), b char(45), c varchar(10), d bit, e bit, f sql_variant, g nchar(1))",
            1701,
        ),
        ("CREATE TABLE #w (a nchar(4000), b char(54))", 1701),
        ("DECLARE @w TABLE (a binary(8000), b char(54))", 1701),
        ("SELECT CAST('a' AS char(8000)) AS a, CAST('b' AS char(54)) AS b INTO w", 1701),
        ("ALTER TABLE narrow ADD b char(54)", 1701),
        ("ALTER TABLE t ALTER COLUMN b char(8000)", 5074),
        ("CREATE TABLE w (a char(8000), b varchar(10)) ALTER TABLE w ALTER COLUMN b char(60)", 1701),
        ("CREATE FUNCTION f() RETURNS TABLE AS RETURN SELECT NEWID() AS n", 443),
        ("CREATE FUNCTION f() RETURNS TABLE AS RETURN SELECT a FROM t WHERE a > RAND()", 443),
        ("CREATE FUNCTION f() RETURNS TABLE AS RETURN SELECT RAND(1) AS n", 443),
        ("CREATE FUNCTION f() RETURNS TABLE AS RETURN SELECT CRYPT_GEN_RANDOM(4) AS n", 443),
        ("SELECT a FROM t WITH (FORCESEEK (none (a)))", 308),
        ("SELECT a FROM t WITH (FORCESEEK (77 (a)))", 307),
        ("SELECT a FROM t WITH (FORCESEEK (ia (b)))", 362),
        ("SELECT a FROM t WITH (FORCESEEK (ia (a, b, a)))", 365),
        ("SELECT a FROM t WITH (FORCESEEK (0 (a)))", 10749),
        ("SELECT a FROM t WITH (FORCESEEK, FORCESCAN)", 10746),
        ("UPDATE t WITH (INDEX (ia)) SET a = 1", 1069),
        ("DELETE t WITH (FORCESEEK)", 10724),
        ("INSERT t WITH (FORCESCAN) VALUES (1, 2)", 10745),
    ] {
        let numbers = numbers(&run(&mut session, text));
        assert_eq!(numbers.first(), Some(&expected), "{text}: {numbers:?}");
    }
    for text in [
        "SELECT a, a AS c FROM t ORDER BY a",
        "SELECT a, a FROM t ORDER BY t.a",
        "SELECT a, a FROM t ORDER BY a + 0",
        "SELECT a AS x, b AS x FROM t ORDER BY 1, 2",
        "SELECT a AS x, b AS x FROM t ORDER BY a, b",
        "SELECT a FROM t GROUP BY a, a",
        "CREATE TABLE fits (a char(8000), b char(53)) DROP TABLE fits",
        "CREATE TABLE fits (a varchar(8000), b varchar(8000), c AS a + b) DROP TABLE fits",
        "CREATE FUNCTION g() RETURNS TABLE AS RETURN SELECT n, GETDATE() AS d FROM numbers",
        "SELECT a FROM t WITH (FORCESEEK (ia (a, b))) WHERE a = 1",
        "UPDATE t SET a = 1 FROM t WITH (INDEX (ia))",
    ] {
        assert_eq!(numbers(&run(&mut session, text)), [0; 0], "{text}");
    }
    let seen = run(&mut session, "CREATE TABLE w2 (a char(8000), b char(54), c bit)");
    assert!(seen.messages[0].2.contains("8062 bytes, 7"), "{:?}", seen.messages);
}

/// A value of type xml must be well-formed, wherever it comes from; the error ends batch and transaction, as for a text that is no number.
#[test]
fn xml_is_well_formed() {
    let (_world, mut session) = World::in_database("well-formed");
    run(&mut session, "CREATE TABLE t (i int, x xml)");
    for (text, expected) in [
        ("SELECT CAST('<a>' AS xml)", 9400),
        ("DECLARE @x xml = N'<a></b>'", 9436),
        ("DECLARE @x xml SET @x = 'a & b'", 9421),
        ("INSERT t VALUES (1, '<a x=1/>')", 9413),
        ("INSERT t VALUES (1, '<a/>') UPDATE t SET x = '&'", 9400),
        ("SELECT CONVERT(xml, 0x3C61)", 9400),
        ("SELECT CONVERT(xml, '<!DOCTYPE a []><a/>')", 6359),
        ("SELECT CONVERT(xml, N'<?xml version=\"1.0\" encoding=\"utf-8\"?><a/>')", 9402),
        ("EXEC sp_executesql N'SELECT @x', N'@x xml', @x = '<'", 9400),
    ] {
        let numbers = numbers(&run(&mut session, text));
        assert_eq!(numbers.first(), Some(&expected), "{text}: {numbers:?}");
    }
    let taken = "SELECT CAST('' AS xml), CAST('a<b/>' AS xml), CAST(0x3C612F3E AS xml), TRY_CAST('<a>' AS xml), TRY_CONVERT(xml, NULL), \
                 CONVERT(xml, '<!DOCTYPE a []><a/>', 2), CAST(CAST('<a/>' AS xml) AS varchar(10))";
    assert_eq!(rows(&mut session, taken), ["|a<b/>|<a/>|NULL|NULL|<!DOCTYPE a []><a/>|<a/>"]);
    run(&mut session, "DELETE t");
    let seen = run(&mut session, "BEGIN TRAN INSERT t VALUES (1, NULL) INSERT t VALUES (2, '<a>') SELECT 1");
    assert_eq!((numbers(&seen), seen.sets.len()), (vec![9400], 0));
    assert_eq!(rows(&mut session, "SELECT COUNT(*), @@TRANCOUNT FROM t"), ["0|0"]);
    let caught = "BEGIN TRAN BEGIN TRY INSERT t VALUES (2, '<a>') END TRY BEGIN CATCH SELECT ERROR_NUMBER(), XACT_STATE() ROLLBACK END CATCH";
    assert_eq!(rows(&mut session, caught), ["9400|-1"]);
}
