//! Sequences in T-SQL: their definitions, where NEXT VALUE FOR is allowed and its values there, ranges, views.
//! Documentation of CREATE SEQUENCE, ALTER SEQUENCE, NEXT VALUE FOR, sp_sequence_get_range and sys.sequences.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use crate::common::{World, numbers, rows, run};
use hardpan_session::Session;

fn begin(name: &str) -> (World, Session) {
    let world = World::new(name);
    let mut session = world.session();
    run(&mut session, "CREATE DATABASE db");
    run(&mut session, "USE db");
    (world, session)
}

fn next(session: &mut Session, name: &str) -> String {
    rows(session, &format!("SELECT NEXT VALUE FOR {name}"))[0].clone()
}

/// Types, defaults of all options, both directions, cycling, the end.
#[test]
fn a_sequence_counts_as_its_options_say() {
    let (_world, mut session) = begin("sequence-options");
    let lines = |session: &mut Session, name: &str, count: usize| -> Vec<String> {
        (0..count).map(|_| next(session, name)).collect()
    };
    for (options, expected) in [
        ("", ["-9223372036854775808", "-9223372036854775807", "-9223372036854775806"]),
        ("AS tinyint", ["0", "1", "2"]),
        ("AS smallint", ["-32768", "-32767", "-32766"]),
        ("AS int INCREMENT BY -1", ["2147483647", "2147483646", "2147483645"]),
        (
            "AS decimal(38, 0) START WITH 99999999999999999999999999999999999997",
            [
                "99999999999999999999999999999999999997",
                "99999999999999999999999999999999999998",
                "99999999999999999999999999999999999999",
            ],
        ),
        ("AS numeric(3) INCREMENT BY 10", ["-999", "-989", "-979"]),
        ("START WITH 5 INCREMENT BY 5 MINVALUE 1 MAXVALUE 14 CYCLE", ["5", "10", "1"]),
        ("INCREMENT BY -3 MINVALUE 1 MAXVALUE 5 CYCLE NO CACHE", ["5", "2", "5"]),
        ("AS tinyint START WITH 2 INCREMENT BY -1 CYCLE CACHE 2", ["2", "1", "0"]),
        ("NO MINVALUE MAXVALUE 10 START WITH 1 NO CYCLE CACHE", ["1", "2", "3"]),
    ] {
        run(&mut session, &format!("CREATE SEQUENCE s {options}"));
        assert_eq!(lines(&mut session, "s", 3), expected, "{options}");
        run(&mut session, "DROP SEQUENCE s");
    }
    run(
        &mut session,
        "CREATE TYPE whole FROM smallint NOT NULL; CREATE SEQUENCE s AS whole START WITH 7 MAXVALUE 8",
    );
    assert_eq!(lines(&mut session, "s", 2), ["7", "8"]);
    let ended = run(&mut session, "SELECT NEXT VALUE FOR s");
    assert_eq!(numbers(&ended), [11728]);
    assert_eq!(rows(&mut session, "SELECT is_exhausted, current_value FROM sys.sequences"), ["1|8"]);
    assert_eq!(numbers(&run(&mut session, "DROP TYPE whole")), [3732]);
    run(&mut session, "ALTER SEQUENCE s MAXVALUE 20");
    assert_eq!(lines(&mut session, "s", 1), ["9"], "there is room again");
    run(&mut session, "ALTER SEQUENCE s RESTART");
    assert_eq!(lines(&mut session, "s", 1), ["7"]);
    session.close();
}

/// Invalid definitions, with SQL Server's error numbers; a refused ALTER leaves the sequence unchanged.
#[test]
fn definitions_are_refused_by_number() {
    let (_world, mut session) = begin("sequence-refused");
    run(
        &mut session,
        "CREATE TABLE t (i int); CREATE SEQUENCE q AS int START WITH 5 MINVALUE 1 MAXVALUE 100",
    );
    for (text, expected) in [
        ("CREATE SEQUENCE q", vec![2714]),
        ("CREATE SEQUENCE t", vec![2714]),
        ("CREATE TABLE q (i int)", vec![2714]),
        ("CREATE SEQUENCE missing.s", vec![2760]),
        ("CREATE SEQUENCE #s", vec![11714]),
        ("CREATE SEQUENCE s AS float", vec![11702]),
        ("CREATE SEQUENCE s AS decimal(9, 2)", vec![11702]),
        ("CREATE SEQUENCE s AS varchar(9)", vec![11702]),
        ("CREATE SEQUENCE s INCREMENT BY 0", vec![11700]),
        ("CREATE SEQUENCE s MINVALUE 1 MAXVALUE 5 INCREMENT BY 5", vec![11701]),
        ("CREATE SEQUENCE s START WITH 11 MAXVALUE 10", vec![11703]),
        ("CREATE SEQUENCE s MINVALUE 5 MAXVALUE 5", vec![11705]),
        ("CREATE SEQUENCE s MINVALUE 6 MAXVALUE 5", vec![11705]),
        ("CREATE SEQUENCE s CACHE 0", vec![11706]),
        ("CREATE SEQUENCE s AS tinyint START WITH 256", vec![11708]),
        ("CREATE SEQUENCE s AS int MAXVALUE 2147483648", vec![11708]),
        ("CREATE SEQUENCE s START WITH 1.5", vec![11708]),
        ("CREATE SEQUENCE s RESTART", vec![11709]),
        ("CREATE SEQUENCE s CYCLE NO CYCLE", vec![11712]),
        ("CREATE SEQUENCE s CACHE 5 NO CACHE", vec![11712]),
        ("CREATE SEQUENCE s CACHE -5", vec![102]),
        ("CREATE SEQUENCE s INCREMENT 5", vec![102]),
        ("ALTER SEQUENCE q", vec![11715]),
        ("ALTER SEQUENCE q START WITH 5", vec![11710]),
        ("ALTER SEQUENCE q AS bigint", vec![11711]),
        ("ALTER SEQUENCE missing RESTART", vec![15151]),
        ("ALTER SEQUENCE t RESTART", vec![15151]),
        ("ALTER SEQUENCE q RESTART WITH 101", vec![11703]),
        ("ALTER SEQUENCE q MINVALUE 6", vec![11704]),
        ("ALTER SEQUENCE q MAXVALUE 0", vec![11705]),
        ("ALTER SEQUENCE q INCREMENT BY 0", vec![11700]),
        ("DROP SEQUENCE missing", vec![3701]),
        ("DROP SEQUENCE t", vec![3705]),
        ("DROP TABLE q", vec![3701]),
        ("SELECT * FROM q", vec![208]),
        ("INSERT q VALUES (1)", vec![208]),
        ("SELECT NEXT VALUE FOR missing", vec![208]),
        ("SELECT NEXT VALUE FOR t", vec![11726]),
    ] {
        assert_eq!(numbers(&run(&mut session, text)), expected, "{text}");
    }
    assert_eq!(next(&mut session, "q"), "5");
    // A message, and the statement succeeds.
    assert_eq!(numbers(&run(&mut session, "CREATE SEQUENCE one CACHE 1")), [11707]);
    assert_eq!(numbers(&run(&mut session, "CREATE SEQUENCE long AS tinyint CACHE 500")), [11729]);
    assert_eq!(
        numbers(&run(&mut session, "CREATE SEQUENCE rounds AS tinyint CYCLE CACHE 500")),
        Vec::<i32>::new()
    );
    assert_eq!(
        rows(
            &mut session,
            "SELECT name, cache_size FROM sys.sequences WHERE cache_size IS NOT NULL ORDER BY name"
        ),
        ["long|500", "one|1", "rounds|500"]
    );
    run(&mut session, "DROP SEQUENCE IF EXISTS missing, one, long; DROP SEQUENCE IF EXISTS one");
    session.close();
}

/// One value per row, however often the expression occurs, in every place where it is allowed.
#[test]
fn a_row_gets_one_value_however_often_it_is_written() {
    let (_world, mut session) = begin("sequence-rows");
    run(&mut session, "CREATE SEQUENCE s AS int START WITH 1; CREATE SEQUENCE other AS int START WITH 100");
    run(&mut session, "CREATE TABLE n (i int); INSERT n VALUES (10), (20), (30)");
    let mut one = |text: &str| rows(&mut session, text);
    assert_eq!(one("SELECT NEXT VALUE FOR s, NEXT VALUE FOR dbo.s, NEXT VALUE FOR db.dbo.S + 5"), ["1|1|6"]);
    assert_eq!(
        one(
            "SELECT i, NEXT VALUE FOR s AS a, NEXT VALUE FOR s + 0 AS b, NEXT VALUE FOR other FROM n WHERE i > 10"
        ),
        ["20|2|2|100", "30|3|3|101"]
    );
    assert_eq!(one("SELECT NEXT VALUE FOR s FROM n WHERE i > 90"), Vec::<String>::new());
    assert_eq!(
        one("SELECT i, COUNT(*), NEXT VALUE FOR s FROM n GROUP BY i HAVING i < 30"),
        ["10|1|4", "20|1|5"]
    );
    // In the order of OVER; the statement's own order is independent.
    assert_eq!(
        one("SELECT i, NEXT VALUE FOR s OVER (ORDER BY i DESC) FROM n ORDER BY i"),
        ["10|8", "20|7", "30|6"]
    );
    assert_eq!(
        one(
            "SELECT i, NEXT VALUE FOR s OVER (ORDER BY i DESC) AS a, NEXT VALUE FOR other OVER (ORDER BY i) AS b FROM n ORDER BY a"
        ),
        ["30|9|104", "20|10|103", "10|11|102"]
    );
    assert_eq!(
        one("SELECT i, NEXT VALUE FOR s OVER w FROM n WINDOW w AS (ORDER BY i DESC) ORDER BY i"),
        ["10|14", "20|13", "30|12"]
    );
    assert_eq!(one("DECLARE @v int = NEXT VALUE FOR s + 15; SELECT @v"), ["30"]);
    assert_eq!(one("DECLARE @v int; SET @v = NEXT VALUE FOR s; SELECT @v"), ["16"]);
    assert_eq!(one("DECLARE @v int; SELECT @v = NEXT VALUE FOR s FROM n; SELECT @v"), ["19"]);
    assert_eq!(one("IF NEXT VALUE FOR s = 20 SELECT 'yes' ELSE SELECT 'no'"), ["yes"]);
    run(&mut session, "CREATE TABLE t (a int, b int)");
    run(
        &mut session,
        "INSERT t VALUES (NEXT VALUE FOR s, NEXT VALUE FOR s), (NEXT VALUE FOR s, NEXT VALUE FOR s)",
    );
    assert_eq!(rows(&mut session, "SELECT a, b FROM t"), ["21|21", "22|22"]);
    run(&mut session, "UPDATE t SET a = NEXT VALUE FOR s, b = NEXT VALUE FOR s + 1");
    assert_eq!(rows(&mut session, "SELECT a, b FROM t"), ["23|24", "24|25"]);
    run(&mut session, "TRUNCATE TABLE t; INSERT t (a, b) SELECT NEXT VALUE FOR s, NEXT VALUE FOR s FROM n");
    assert_eq!(rows(&mut session, "SELECT a, b FROM t"), ["25|25", "26|26", "27|27"]);
    run(&mut session, "INSERT t (a, b) SELECT NEXT VALUE FOR s OVER (ORDER BY a DESC), a FROM t");
    assert_eq!(rows(&mut session, "SELECT a, b FROM t WHERE a > 27 ORDER BY a"), ["28|27", "29|26", "30|25"]);
    run(&mut session, "SELECT NEXT VALUE FOR s AS v, i INTO made FROM n");
    assert_eq!(rows(&mut session, "SELECT v FROM made ORDER BY i"), ["31", "32", "33"]);
    let types = "SELECT TYPE_NAME(system_type_id) FROM sys.columns WHERE object_id = OBJECT_ID('made') AND name = 'v'";
    assert_eq!(rows(&mut session, types), ["int"]);
    // A procedure draws each time it runs, and not at its creation.
    run(&mut session, "CREATE PROCEDURE p AS SELECT NEXT VALUE FOR s");
    assert_eq!(rows(&mut session, "EXEC p"), ["34"]);
    assert_eq!(rows(&mut session, "EXEC p"), ["35"]);
    // From another database.
    run(&mut session, "USE master");
    assert_eq!(next(&mut session, "db.dbo.s"), "36");
    session.close();
}

/// Defaults: the row's value, equal to the one that the statement itself draws; existing rows of ALTER TABLE each get their own.
#[test]
fn defaults_draw_for_each_row() {
    let (_world, mut session) = begin("sequence-defaults");
    run(&mut session, "CREATE SEQUENCE s AS int START WITH 1; CREATE SEQUENCE other AS int START WITH 100");
    run(
        &mut session,
        "CREATE TABLE t (id int NOT NULL CONSTRAINT df_id DEFAULT (NEXT VALUE FOR dbo.s), twin int DEFAULT NEXT VALUE FOR s, v int)",
    );
    let all = "SELECT id, twin, v FROM t ORDER BY id";
    run(&mut session, "INSERT t (v) VALUES (7), (8); INSERT t DEFAULT VALUES");
    assert_eq!(rows(&mut session, all), ["1|1|7", "2|2|8", "3|3|NULL"]);
    run(&mut session, "TRUNCATE TABLE t; INSERT t (v) VALUES (NEXT VALUE FOR s)");
    assert_eq!(rows(&mut session, all), ["4|4|4"]);
    run(&mut session, "TRUNCATE TABLE t; CREATE TABLE n (i int); INSERT n VALUES (2), (1)");
    run(
        &mut session,
        "INSERT t (v) SELECT NEXT VALUE FOR s FROM n; INSERT t (v) SELECT NEXT VALUE FOR other FROM n",
    );
    assert_eq!(rows(&mut session, all), ["5|5|5", "6|6|6", "7|7|100", "8|8|101"]);
    // In the order of the source query.
    run(&mut session, "TRUNCATE TABLE t; INSERT t (v) SELECT i FROM n ORDER BY i");
    assert_eq!(rows(&mut session, all), ["9|9|1", "10|10|2"]);
    run(&mut session, "UPDATE t SET twin = DEFAULT, v = NEXT VALUE FOR s");
    assert_eq!(rows(&mut session, all), ["9|11|11", "10|12|12"]);
    run(&mut session, "INSERT t (id, v) EXEC ('SELECT 1, 1')");
    assert_eq!(rows(&mut session, "SELECT twin FROM t WHERE id = 1"), ["13"]);
    assert_eq!(
        rows(&mut session, "SELECT definition FROM sys.default_constraints WHERE name = 'df_id'"),
        ["(NEXT VALUE FOR [dbo].[s])"]
    );
    run(&mut session, "ALTER TABLE n ADD id int NOT NULL DEFAULT (NEXT VALUE FOR s)");
    assert_eq!(rows(&mut session, "SELECT id FROM n ORDER BY id"), ["14", "15"]);
    // The table's database, independent of the session's.
    run(&mut session, "USE master; INSERT db.dbo.n (i) VALUES (3); USE db");
    assert_eq!(rows(&mut session, "SELECT id FROM n WHERE i = 3"), ["16"]);
    for text in ["DROP SEQUENCE s", "DROP SEQUENCE dbo.S"] {
        assert_eq!(numbers(&run(&mut session, text)), [3729], "{text}");
    }
    assert_eq!(numbers(&run(&mut session, "EXEC sp_rename 's', 'renamed'")), [15336]);
    run(&mut session, "ALTER SEQUENCE s RESTART WITH 50");
    run(&mut session, "TRUNCATE TABLE t; INSERT t (v) VALUES (1)");
    assert_eq!(rows(&mut session, all), ["50|50|1"]);
    for (text, expected) in [
        ("CREATE TABLE x (i int DEFAULT (NEXT VALUE FOR s OVER (ORDER BY i)))", 11717),
        ("CREATE TABLE x (i int DEFAULT (NEXT VALUE FOR db.dbo.s))", 11730),
        ("CREATE TABLE x (i int DEFAULT (NEXT VALUE FOR missing))", 208),
        ("CREATE TABLE x (i int DEFAULT (NEXT VALUE FOR t))", 11726),
        ("CREATE TABLE x (i int CHECK (i < NEXT VALUE FOR s))", 11719),
        ("CREATE TABLE x (i AS NEXT VALUE FOR s)", 11719),
        ("INSERT t (v) VALUES (NEXT VALUE FOR s), (2)", 11731),
    ] {
        assert_eq!(numbers(&run(&mut session, text)), [expected], "{text}");
    }
    run(&mut session, "DROP TABLE t, n; DROP SEQUENCE s");
    assert_eq!(rows(&mut session, "SELECT name FROM sys.sequences"), ["other"]);
    session.close();
}

/// In other places it is refused, and of several errors SQL Server's is reported; no value is drawn.
#[test]
fn it_is_refused_elsewhere() {
    let (_world, mut session) = begin("sequence-places");
    run(
        &mut session,
        "CREATE SEQUENCE s AS int START WITH 1; CREATE TABLE n (i int); INSERT n VALUES (1), (2)",
    );
    run(&mut session, "CREATE TABLE t (a int); CREATE TABLE drawn (a int DEFAULT NEXT VALUE FOR s, b int)");
    for (text, expected) in [
        ("SELECT * FROM (SELECT NEXT VALUE FOR s AS a) AS d", 11719),
        ("WITH c AS (SELECT NEXT VALUE FOR s AS a) SELECT a FROM c", 11719),
        ("SELECT (SELECT NEXT VALUE FOR s)", 11719),
        ("SELECT 1 WHERE EXISTS (SELECT NEXT VALUE FOR s)", 11719),
        ("SELECT * FROM (VALUES (NEXT VALUE FOR s)) AS d (a)", 11719),
        ("SELECT i FROM n CROSS APPLY (SELECT NEXT VALUE FOR s AS a) AS d", 11719),
        ("INSERT t SELECT a FROM (SELECT NEXT VALUE FOR s AS a) AS d", 11719),
        ("CREATE VIEW v AS SELECT NEXT VALUE FOR s AS a", 11719),
        ("CREATE FUNCTION f () RETURNS TABLE AS RETURN SELECT NEXT VALUE FOR s AS a", 11719),
        ("SELECT MAX(NEXT VALUE FOR s) FROM n", 11725),
        ("SELECT STRING_AGG(CAST(NEXT VALUE FOR s AS varchar(9)), ',') FROM n", 11725),
        ("SELECT DISTINCT NEXT VALUE FOR s FROM n", 11721),
        ("SELECT NEXT VALUE FOR s UNION ALL SELECT 1", 11721),
        ("SELECT 1 EXCEPT SELECT NEXT VALUE FOR s", 11721),
        ("SELECT DISTINCT 1 FROM n WHERE i = NEXT VALUE FOR s", 11721),
        ("SELECT NEXT VALUE FOR s FROM n ORDER BY i", 11723),
        ("SELECT TOP (1) NEXT VALUE FOR s FROM n ORDER BY i", 11723),
        ("SELECT i FROM n ORDER BY NEXT VALUE FOR s", 11723),
        ("SELECT i FROM n WHERE i = NEXT VALUE FOR s", 11720),
        ("SELECT i FROM n JOIN t ON a = NEXT VALUE FOR s", 11720),
        ("SELECT COUNT(*) FROM n GROUP BY NEXT VALUE FOR s", 11720),
        ("SELECT COUNT(*) FROM n HAVING COUNT(*) = NEXT VALUE FOR s", 11720),
        ("SELECT SUM(i) OVER (ORDER BY NEXT VALUE FOR s) FROM n", 11720),
        ("SELECT TOP (NEXT VALUE FOR s) i FROM n", 11720),
        ("DELETE n WHERE i = NEXT VALUE FOR s", 11720),
        ("UPDATE n SET i = 1 WHERE i = NEXT VALUE FOR s", 11720),
        ("INSERT t OUTPUT NEXT VALUE FOR s VALUES (1)", 11720),
        ("SELECT TOP (1) NEXT VALUE FOR s FROM n", 11739),
        ("SELECT NEXT VALUE FOR s OVER (ORDER BY i) FROM n ORDER BY i OFFSET 1 ROWS", 11739),
        ("UPDATE TOP (1) n SET i = NEXT VALUE FOR s", 11739),
        ("INSERT TOP (1) t SELECT NEXT VALUE FOR s FROM n", 11739),
        ("SET ROWCOUNT 1; SELECT NEXT VALUE FOR s FROM n", 11739),
        ("INSERT TOP (1) drawn (b) SELECT i FROM n", 11740),
        ("INSERT drawn (b) SELECT TOP (1) i FROM n", 11740),
        ("INSERT drawn (b) SELECT i FROM n ORDER BY i OFFSET 0 ROWS", 11740),
        ("UPDATE TOP (1) drawn SET a = DEFAULT", 11740),
        ("MERGE TOP (1) drawn USING n ON 1 = 0 WHEN NOT MATCHED THEN INSERT (b) VALUES (i);", 11740),
        ("SET ROWCOUNT 1; INSERT drawn (b) VALUES (1)", 11740),
        ("SET ROWCOUNT 1; INSERT drawn (b) SELECT i FROM n", 11740),
        ("SET ROWCOUNT 1; UPDATE drawn SET a = DEFAULT", 11740),
        ("SET ROWCOUNT 1; INSERT drawn (b) EXEC ('SELECT 1')", 11740),
        ("SET ROWCOUNT 1; INSERT drawn (b) VALUES (NEXT VALUE FOR s)", 11739),
        ("SELECT CASE WHEN 1 = 1 THEN NEXT VALUE FOR s END", 11741),
        ("SELECT IIF(1 = 1, NEXT VALUE FOR s, 1)", 11741),
        ("SELECT COALESCE(NEXT VALUE FOR s, 1)", 11741),
        ("SELECT ISNULL(NEXT VALUE FOR s, 1)", 11741),
        ("SELECT NULLIF(NEXT VALUE FOR s, 1)", 11741),
        ("PRINT NEXT VALUE FOR s", 11738),
        ("SELECT NEXT VALUE FOR s OVER (PARTITION BY i ORDER BY i) FROM n", 11716),
        ("SELECT NEXT VALUE FOR s OVER () FROM n", 11718),
        ("UPDATE n SET i = NEXT VALUE FOR s OVER (ORDER BY i)", 11717),
        ("SELECT NEXT VALUE FOR s, NEXT VALUE FOR s OVER (ORDER BY i) FROM n", 11727),
        ("DECLARE @a int, @b int; SELECT @a = NEXT VALUE FOR s, @b = NEXT VALUE FOR s", 11736),
        ("DECLARE @a int; SET @a = NEXT VALUE FOR s + NEXT VALUE FOR s", 11736),
        ("DECLARE @a int; SET @a += ABS(NEXT VALUE FOR s) - NEXT VALUE FOR dbo.s", 11736),
        ("DECLARE @a int = NEXT VALUE FOR s * NEXT VALUE FOR s", 11736),
        ("MERGE t USING n ON 1 = 0 WHEN NOT MATCHED THEN INSERT (a) VALUES (NEXT VALUE FOR s);", 11742),
        ("MERGE t USING n ON a = i WHEN MATCHED THEN UPDATE SET a = NEXT VALUE FOR s;", 11742),
        ("MERGE t USING n ON a = NEXT VALUE FOR s WHEN MATCHED THEN DELETE;", 11720),
        ("MERGE t USING n ON a = i WHEN MATCHED AND i = NEXT VALUE FOR s THEN DELETE;", 11720),
    ] {
        let seen = run(&mut session, text);
        assert_eq!(numbers(&seen), [expected], "{text}");
        run(&mut session, "SET ROWCOUNT 0");
    }
    assert_eq!(rows(&mut session, "SELECT current_value, last_used_value FROM sys.sequences"), ["1|NULL"]);
    // CHOOSE is one of them in the message, and takes it.
    assert_eq!(rows(&mut session, "SELECT CHOOSE(1, NEXT VALUE FOR s, 5)"), ["1"]);
    session.close();
}

/// sp_sequence_get_range: its outputs, its errors; a range comes from the same counter.
#[test]
fn a_range_is_reserved() {
    let (_world, mut session) = begin("sequence-range");
    run(
        &mut session,
        "CREATE SEQUENCE s AS tinyint START WITH 250 CYCLE; CREATE SEQUENCE e AS int START WITH 1 MAXVALUE 10",
    );
    let range = |session: &mut Session, name: &str, size: i64| {
        rows(
            session,
            &format!(
                "DECLARE @f sql_variant, @l sql_variant, @c int, @i sql_variant, @min sql_variant, @max sql_variant, @r int; \
                 EXEC @r = sp_sequence_get_range @sequence_name = N'{name}', @range_size = {size}, @range_first_value = @f OUTPUT, \
                 @range_last_value = @l OUTPUT, @range_cycle_count = @c OUTPUT, @sequence_increment = @i OUTPUT, \
                 @sequence_min_value = @min OUTPUT, @sequence_max_value = @max OUTPUT; \
                 SELECT @f, @l, @c, @i, @min, @max, @r, SQL_VARIANT_PROPERTY(@f, 'BaseType')"
            ),
        )
    };
    assert_eq!(range(&mut session, "dbo.s", 20), ["250|13|1|1|0|255|0|tinyint"]);
    assert_eq!(next(&mut session, "s"), "14");
    assert_eq!(range(&mut session, "e", 3), ["1|3|0|1|-2147483648|10|0|int"]);
    let short = "DECLARE @f sql_variant; EXEC sys.sp_sequence_get_range N'e', 8, @f OUTPUT";
    assert_eq!(numbers(&run(&mut session, short)), [11732]);
    assert_eq!(next(&mut session, "e"), "4", "nothing was reserved");
    for (arguments, expected) in [
        ("N'e', 0, @f OUTPUT", 11733),
        ("N'e', -1, @f OUTPUT", 11733),
        ("N'missing', 1, @f OUTPUT", 208),
        ("N'e', 1", 201),
    ] {
        let text = format!("DECLARE @f sql_variant; EXEC sp_sequence_get_range {arguments}");
        assert_eq!(numbers(&run(&mut session, &text)), [expected], "{arguments}");
    }
    run(
        &mut session,
        "BEGIN TRAN; DECLARE @f sql_variant; EXEC sp_sequence_get_range N'e', 2, @f OUTPUT; ROLLBACK",
    );
    assert_eq!(next(&mut session, "e"), "7", "a rollback gives nothing back");
    session.close();
}

/// sys.sequences and similar views, through all states of one sequence (claims 91, 92; probes of the documentation's own table).
#[test]
fn the_views_show_a_sequence() {
    let (mut world, mut session) = begin("sequence-views");
    run(&mut session, "CREATE SEQUENCE s AS bigint START WITH 10 INCREMENT BY 5 MINVALUE 1");
    let shown = "SELECT start_value, current_value, last_used_value FROM sys.sequences WHERE name = 's'";
    assert_eq!(rows(&mut session, shown), ["10|10|NULL"]);
    assert_eq!(next(&mut session, "s"), "10");
    assert_eq!(rows(&mut session, shown), ["10|10|10"]);
    run(&mut session, "ALTER SEQUENCE s RESTART WITH 100");
    assert_eq!(rows(&mut session, shown), ["100|100|NULL"]);
    assert_eq!([next(&mut session, "s"), next(&mut session, "s")], ["100", "105"]);
    assert_eq!(rows(&mut session, shown), ["100|105|105"]);
    run(&mut session, "ALTER SEQUENCE s RESTART");
    assert_eq!(rows(&mut session, shown), ["100|100|NULL"]);
    run(
        &mut session,
        "CREATE SEQUENCE a NO CACHE; CREATE SEQUENCE b CACHE 10000; CREATE SEQUENCE c AS numeric(9)",
    );
    assert_eq!(
        rows(
            &mut session,
            "SELECT name, is_cached, cache_size, system_type_id, precision, scale, is_cycling FROM sys.sequences ORDER BY name"
        ),
        ["a|0|NULL|127|19|0|0", "b|1|10000|127|19|0|0", "c|1|NULL|108|9|0|0", "s|1|NULL|127|19|0|0"]
    );
    assert_eq!(
        rows(
            &mut session,
            "SELECT type, type_desc, OBJECT_NAME(OBJECT_ID('s', 'SO')) FROM sys.objects WHERE name = 's'"
        ),
        ["SO|SEQUENCE_OBJECT|s"]
    );
    assert_eq!(
        rows(
            &mut session,
            "SELECT SEQUENCE_SCHEMA, DATA_TYPE, NUMERIC_PRECISION, START_VALUE, CYCLE_OPTION FROM INFORMATION_SCHEMA.SEQUENCES WHERE SEQUENCE_NAME = 's'"
        ),
        ["dbo|bigint|19|100|0"]
    );
    assert_eq!(rows(&mut session, "SELECT xtype FROM sysobjects WHERE name = 's'"), ["SO"]);
    run(&mut session, "EXEC sp_rename 's', 'renamed'");
    assert_eq!(next(&mut session, "renamed"), "100");
    assert_eq!(numbers(&run(&mut session, "SELECT NEXT VALUE FOR s")), [208]);
    run(&mut session, "CREATE SCHEMA x");
    run(&mut session, "CREATE SEQUENCE x.s AS int START WITH 3");
    assert_eq!(numbers(&run(&mut session, "DROP SCHEMA x")), [3729]);
    assert_eq!(next(&mut session, "x.s"), "3");
    run(
        &mut session,
        "EXEC sp_addextendedproperty 'p', 1, 'SCHEMA', 'x', 'SEQUENCE', 's'; DROP SEQUENCE x.s; DROP SCHEMA x",
    );
    assert_eq!(rows(&mut session, "SELECT COUNT(*) FROM sys.extended_properties"), ["0"]);
    // An orderly stop leaves no gap.
    session.close();
    world.restart();
    let mut session = world.session();
    run(&mut session, "USE db");
    assert_eq!(
        rows(
            &mut session,
            "SELECT current_value, last_used_value, increment, minimum_value FROM sys.sequences WHERE name = 'renamed'"
        ),
        ["100|NULL|5|1"]
    );
    assert_eq!(next(&mut session, "renamed"), "105");
    // model's are copied into new databases.
    run(&mut session, "USE model; CREATE SEQUENCE m AS int START WITH 1");
    next(&mut session, "m");
    run(&mut session, "CREATE DATABASE copy; DROP SEQUENCE m; USE copy");
    assert_eq!(next(&mut session, "m"), "2");
    session.close();
}

/// Definitions are transactional, values are not (claim 107): no value that was given comes again, except after a RESTART.
#[test]
fn a_rollback_brings_the_definition_back_and_no_value() {
    let (_world, mut session) = begin("sequence-rollback");
    run(&mut session, "CREATE SEQUENCE s AS int START WITH 1");
    assert_eq!(rows(&mut session, "BEGIN TRAN; SELECT NEXT VALUE FOR s"), ["1"]);
    run(&mut session, "ROLLBACK");
    assert_eq!(next(&mut session, "s"), "2");
    for (change, drawn, after) in [
        ("ALTER SEQUENCE s INCREMENT BY 10", "12", "13"),
        ("ALTER SEQUENCE s CACHE 3", "14", "15"),
        ("ALTER SEQUENCE s NO CACHE MAXVALUE 500", "16", "17"),
        ("ALTER SEQUENCE s RESTART WITH 400", "400", "18"),
        ("ALTER SEQUENCE s INCREMENT BY -1", "17", "19"),
    ] {
        assert_eq!(
            rows(&mut session, &format!("BEGIN TRAN; {change}; SELECT NEXT VALUE FOR s")),
            [drawn],
            "{change}"
        );
        run(&mut session, "ROLLBACK");
        assert_eq!(next(&mut session, "s"), after, "{change}");
    }
    run(&mut session, "BEGIN TRAN; DROP SEQUENCE s; ROLLBACK");
    assert_eq!(next(&mut session, "s"), "20");
    assert_eq!(
        rows(
            &mut session,
            "BEGIN TRAN; CREATE SEQUENCE made AS int START WITH 1; SELECT NEXT VALUE FOR made"
        ),
        ["1"]
    );
    run(&mut session, "SAVE TRAN here; CREATE SEQUENCE again AS int; ROLLBACK TRAN here; COMMIT");
    assert_eq!(next(&mut session, "made"), "2");
    assert_eq!(numbers(&run(&mut session, "SELECT NEXT VALUE FOR again")), [208]);
    run(&mut session, "BEGIN TRAN; ALTER SEQUENCE s INCREMENT BY 100 CACHE 7; COMMIT");
    assert_eq!(next(&mut session, "s"), "120", "no value is left out");
    session.close();
}

/// Four concurrent sessions: every value once.
#[test]
fn sessions_share_a_sequence() {
    let (world, mut session) = begin("sequence-sessions");
    run(
        &mut session,
        "CREATE SEQUENCE s AS int START WITH 1 CACHE 7; CREATE SEQUENCE ahead AS int START WITH 1 CACHE 7 WITH (HARDEN_AHEAD = ON)",
    );
    for name in ["s", "ahead"] {
        let drawn: Vec<i64> = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..4)
                .map(|_| {
                    let mut own = world.session();
                    scope.spawn(move || {
                        run(&mut own, "USE db");
                        let drawn: Vec<i64> =
                            (0..60).map(|_| next(&mut own, name).parse().unwrap()).collect();
                        own.close();
                        drawn
                    })
                })
                .collect();
            workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
        });
        let mut sorted = drawn;
        sorted.sort_unstable();
        assert_eq!(sorted, (1..=240).collect::<Vec<i64>>(), "{name}");
    }
    session.close();
}
