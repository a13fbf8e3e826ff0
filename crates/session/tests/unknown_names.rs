//! Unknown names are all reported at once, for every statement of the batch in source order, and no statement of the batch runs.
//! Recursion levels are counted as in SQL Server.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::{Seen, World, numbers, rows, run};
use hardpan_session::Session;

fn made(name: &str) -> (World, Session) {
    let (world, mut session) = World::in_database(name);
    run(&mut session, "CREATE TABLE t (id int NOT NULL, v int) INSERT t VALUES (1, 10)");
    (world, session)
}

/// The messages as `number line name`.
fn told(seen: &Seen) -> Vec<String> {
    let name = |text: &str| text.split(['\'', '"']).nth(1).unwrap_or_default().to_string();
    seen.messages.iter().map(|(number, line, text)| format!("{number} {line} {}", name(text))).collect()
}

#[test]
fn every_unknown_name_of_a_batch_is_told() {
    let (_world, mut session) = made("unknown-names");
    for (text, expected) in [
        ("SELECT a\nSELECT b", "207 1 a, 207 2 b"),
        ("PRINT 'x' SELECT a, b FROM t", "207 1 a, 207 1 b"),
        (
            "SELECT a + b, id, LEN(c) FROM t WHERE d = 1 ORDER BY e",
            "207 1 d, 207 1 a, 207 1 b, 207 1 c, 207 1 e",
        ),
        ("SELECT q.a, t.b FROM t", "4104 1 q.a, 207 1 b"),
        ("SELECT id, t.b FROM t JOIN t u ON u.x = t.y", "207 1 x, 207 1 y, 209 1 id, 207 1 b"),
        ("SELECT a, a FROM t", "207 1 a, 207 1 a"),
        ("UPDATE t SET v = a, x = 1, id = b", "207 1 a, 207 1 x, 207 1 b"),
        (
            "MERGE t USING t u ON u.x = t.y WHEN MATCHED AND u.z = 1 THEN UPDATE SET v = u.w, q = 1;",
            "207 1 x, 207 1 y, 207 1 z, 207 1 w, 207 1 q",
        ),
        ("INSERT t (a, id, b) VALUES (1, 2, 3)", "207 1 a, 207 1 b"),
        ("DELETE t WHERE a = 1 AND b = 2", "207 1 a, 207 1 b"),
        ("INSERT t SELECT a, b FROM t", "207 1 a, 207 1 b"),
        ("SELECT COUNT(a), MAX(b) FROM t GROUP BY c HAVING SUM(d) > 1", "207 1 c, 207 1 a, 207 1 b, 207 1 d"),
        ("SELECT id FROM t WHERE EXISTS (SELECT a FROM t WHERE b = 1)", "207 1 b, 207 1 a"),
        ("WITH c AS (SELECT a AS z FROM t) SELECT p.z, q.z FROM c p JOIN c q ON p.z = q.z", "207 1 a"),
        ("IF EXISTS (SELECT a FROM t)\nPRINT 'x'\nELSE\nSELECT b FROM t", "207 1 a, 207 4 b"),
        ("DECLARE @v int = (SELECT a FROM t)\nSET @v = (SELECT b FROM t)\nPRINT @v", "207 1 a, 207 2 b"),
        // No error about the position of an unknown name.
        ("SELECT CAST(a AS date), DATEADD(day, 1, b) FROM t", "207 1 a, 207 1 b"),
        ("SELECT CASE id WHEN a THEN b ELSE c END FROM t", "207 1 a, 207 1 b, 207 1 c"),
        // A type error ends it, and variables are checked before.
        ("SELECT a FROM t\nSELECT id + CAST('20000101' AS date) FROM t\nSELECT b FROM t", "207 1 a, 206 2 "),
        ("SELECT a FROM t\nSELECT @x\nSELECT b\nPRINT @y", "137 2 @x, 137 4 @y"),
        ("SELECT @x, @y FROM t WHERE @z = a", "137 1 @z, 137 1 @x, 137 1 @y"),
        ("SELECT @x + @x", "137 1 @x, 137 1 @x"),
        ("INSERT t VALUES (@x, @y)", "137 1 @x, 137 1 @y"),
        ("UPDATE t SET v = @x, a = 1 WHERE id = @y", "137 1 @y, 137 1 @x"),
        ("IF @x = @y\nPRINT @z", "137 1 @x, 137 1 @y, 137 2 @z"),
    ] {
        let seen = run(&mut session, &format!("{text}\nINSERT t VALUES (2, 20)"));
        assert_eq!(told(&seen).join(", "), expected.trim_end_matches(", "), "{text}");
        assert_eq!(rows(&mut session, "SELECT id, v FROM t"), ["1|10"], "{text}");
    }
}

#[test]
fn a_table_that_is_not_there_is_found_out_when_its_statement_runs() {
    let (_world, mut session) = made("missing-tables");
    let seen = run(&mut session, "SELECT id FROM t SELECT a, b FROM missing WHERE c = 1 SELECT v FROM t");
    assert_eq!((seen.sets.len(), told(&seen)), (1, vec!["208 1 missing".to_string()]));
    // Once the table exists its columns do.
    let seen = run(&mut session, "CREATE TABLE late (id int)\nSELECT a, b FROM late\nSELECT 1");
    assert_eq!(told(&seen), ["207 2 a", "207 2 b"]);
    // The others are reported at once.
    let seen = run(&mut session, "SELECT a FROM missing\nSELECT b FROM t\nSELECT 1");
    assert_eq!((seen.sets.len(), told(&seen)), (0, vec!["207 2 b".to_string()]));
}

#[test]
fn procedures_and_inner_texts_tell_all_names() {
    let (_world, mut session) = made("inner-names");
    let seen = run(&mut session, "CREATE PROCEDURE p AS\nSELECT a, b FROM t\nSELECT c FROM t");
    assert_eq!(told(&seen), ["207 2 a", "207 2 b", "207 3 c"]);
    assert_eq!(rows(&mut session, "SELECT COUNT(*) FROM sys.procedures"), ["0"]);
    let seen = run(&mut session, "CREATE VIEW w AS\nSELECT a, b FROM t WHERE c = 1");
    let names: Vec<String> = told(&seen).iter().map(|line| line.split(' ').skip(2).collect()).collect();
    assert_eq!((numbers(&seen), names.join(" ")), (vec![207, 207, 207], "c a b".to_string()));
    let seen = run(&mut session, "CREATE FUNCTION f () RETURNS TABLE AS RETURN SELECT a, b FROM t");
    assert_eq!(numbers(&seen), [207, 207]);
    let text = "BEGIN TRY EXEC ('SELECT a FROM t\nSELECT b, c FROM t') END TRY
                BEGIN CATCH SELECT ERROR_NUMBER(), ERROR_MESSAGE() END CATCH";
    let seen = run(&mut session, text);
    assert_eq!(told(&seen), ["207 1 a", "207 2 b"]);
    assert_eq!(seen.sets[0].1[0], ["207", "Invalid column name 'c'."]);
    let seen = run(&mut session, "EXEC ('SELECT a, b FROM t') SELECT @@ERROR");
    assert_eq!((told(&seen).join(", "), &*seen.sets[0].1[0][0]), ("207 1 a, 207 1 b".to_string(), "207"));
    let seen = run(&mut session, "EXEC sp_executesql N'SELECT @p, a, b FROM t', N'@p int', 1");
    assert_eq!(told(&seen), ["207 1 a", "207 1 b"]);
}

/// A text that is kept tells the second time what a fresh one tells, when what was missing has come meanwhile.
#[test]
fn a_second_run_tells_what_a_fresh_text_tells() {
    let (_world, mut session) = made("second-run");
    let body = "PRINT 'ran'\nSELECT id FROM late\nSELECT a, id FROM late\nSELECT b FROM late";
    let quoted = body.replace('\'', "''");
    run(&mut session, &format!("CREATE PROCEDURE p AS {body}"));
    let prepared = format!("DECLARE @h int EXEC sp_prepare @h OUTPUT, N'', N'{quoted}' SELECT @h");
    let handle = rows(&mut session, &prepared).remove(0);
    let ways = [
        body.to_string(),
        format!("EXEC ('{quoted}')"),
        format!("EXEC sp_executesql N'{quoted}'"),
        format!("EXEC sp_executesql N'{quoted}', N'@p int', 1"),
        "EXEC p".to_string(),
        format!("EXEC sp_execute {handle}"),
    ];
    let each = |session: &mut Session, sets: usize, expected: &[&str]| {
        for way in &ways {
            let seen = run(session, way);
            assert_eq!((seen.sets.len(), told(&seen).join(", ")), (sets, expected.join(", ")), "{way}");
        }
    };
    let unknown = |session: &mut Session, expected: &[&str]| {
        each(session, 0, expected);
        each(session, 0, expected);
        let seen = run(session, &format!("{body}\n-- {}", expected.len()));
        assert_eq!(told(&seen), expected, "fresh");
    };
    each(&mut session, 0, &["0 1 ", "208 2 late"]);
    each(&mut session, 0, &["0 1 ", "208 2 late"]);
    run(&mut session, "CREATE TABLE late (id int)");
    unknown(&mut session, &["207 3 a", "207 4 b"]);
    let caught = "BEGIN TRY EXEC p END TRY BEGIN CATCH
                  SELECT ERROR_NUMBER(), ERROR_MESSAGE(), ERROR_PROCEDURE(), ERROR_LINE() END CATCH";
    let seen = run(&mut session, caught);
    assert_eq!(
        (told(&seen).join(""), &seen.sets[0].1[0]),
        ("207 3 a".to_string(), &["207", "Invalid column name 'b'.", "p", "4"].map(String::from).to_vec())
    );
    let seen = run(&mut session, "EXEC p SELECT @@ERROR");
    assert_eq!((told(&seen).join(""), &*seen.sets[0].1[0][0]), ("207 3 a207 4 b".to_string(), "207"));
    run(&mut session, "ALTER TABLE late ADD a int");
    unknown(&mut session, &["207 4 b"]);
    run(&mut session, "ALTER TABLE late ADD b int");
    each(&mut session, 3, &["0 1 "]);
    // All of it has been bound: from here on each statement is bound again at its turn.
    run(&mut session, "ALTER TABLE late DROP COLUMN a, b");
    each(&mut session, 1, &["0 1 ", "207 3 a"]);
    run(&mut session, "DROP TABLE late");
    each(&mut session, 0, &["0 1 ", "208 2 late"]);
}

/// What is missing may be a database, a view, a table of another schema, the target of a change.
#[test]
fn whatever_was_missing_is_looked_for_again() {
    let (_world, mut session) = made("second-run-kinds");
    run(&mut session, "CREATE TABLE s (id int)");
    for (missing, make) in [
        ("SELECT a FROM e.dbo.far", "CREATE DATABASE e"),
        ("SELECT a FROM e.dbo.far -- again", "SELECT 1 AS x INTO e.dbo.far"),
        ("SELECT a FROM own.u", "EXEC ('CREATE SCHEMA own') CREATE TABLE own.u (id int)"),
        ("SELECT a FROM w", "EXEC ('CREATE VIEW w AS SELECT id FROM s')"),
        ("INSERT n SELECT a FROM s", "CREATE TABLE n (id int)"),
        ("TRUNCATE TABLE c SELECT a FROM c", "CREATE TABLE c (id int)"),
        ("IF EXISTS (SELECT a FROM d) PRINT 'x'", "CREATE TABLE d (id int)"),
        ("DECLARE @v int = (SELECT a FROM g)", "CREATE TABLE g (id int)"),
        ("SELECT a FROM ##g", "CREATE TABLE ##g (id int)"),
        ("SELECT a FROM #h", "CREATE TABLE #h (id int)"),
    ] {
        let text = format!("PRINT 'ran' {missing}\nSELECT id FROM t");
        let seen = run(&mut session, &text);
        assert_eq!((numbers(&seen)[0], numbers(&seen).len()), (0, 2), "{text}");
        run(&mut session, make);
        let seen = run(&mut session, &text);
        let expected = if make == "CREATE DATABASE e" { vec![0, 208] } else { vec![207] };
        assert_eq!(numbers(&seen), expected, "{text}");
    }
}

/// What nobody else sees yet is not noted for others.
#[test]
fn what_a_transaction_has_made_is_found_out_anew_by_others() {
    let (world, mut session) = made("second-run-others");
    let mut other = world.session();
    run(&mut other, "USE d SET LOCK_TIMEOUT 0");
    for text in ["PRINT 'ran'\nSELECT a FROM late\nSELECT b FROM late", "PRINT 'ran'\nSELECT a, b FROM late"]
    {
        let is_new = text.contains("a, b");
        if !is_new {
            assert_eq!(numbers(&run(&mut other, text)), [0, 208]);
        }
        run(&mut session, "BEGIN TRAN CREATE TABLE late (a int, b int)");
        assert_eq!(numbers(&run(&mut session, text)), [0]);
        // Each statement waits for the name by itself.
        let waiting = if is_new { vec![0, 1222] } else { vec![0, 1222, 1222] };
        assert_eq!(numbers(&run(&mut other, text)), waiting);
        run(&mut session, "ROLLBACK CREATE TABLE late (id int)");
        let expected = if is_new { ["207 2 a", "207 2 b"] } else { ["207 2 a", "207 3 b"] };
        assert_eq!(told(&run(&mut other, text)), expected);
        run(&mut session, "DROP TABLE late");
    }
}

/// A procedure's temporary tables are its own, although its caller has others of their names; those of a batch are the session's, and table
/// variables are their text's.
#[test]
fn temporary_tables_are_looked_up_where_they_are_made() {
    let (_world, mut session) = made("second-run-temporary");
    run(&mut session, "CREATE PROCEDURE p AS CREATE TABLE #w (b int) INSERT #w VALUES (1) SELECT b FROM #w");
    for before in ["", "CREATE TABLE #w (a int)"] {
        run(&mut session, before);
        assert_eq!(rows(&mut session, "EXEC p"), ["1"]);
        assert_eq!(rows(&mut session, "EXEC p"), ["1"]);
    }
    let text = "PRINT 'ran'\nSELECT x FROM #v\nSELECT y FROM #v";
    assert_eq!(numbers(&run(&mut session, text)), [0, 208]);
    run(&mut session, "CREATE TABLE #v (z int)");
    assert_eq!(told(&run(&mut session, text)), ["207 2 x", "207 3 y"]);
    for _ in 0..2 {
        let text = "DECLARE @t TABLE (a int) EXEC ('DECLARE @t TABLE (b int) INSERT @t VALUES (1) SELECT b FROM @t')";
        assert_eq!(rows(&mut session, text), ["1"]);
    }
}

/// How often texts have been bound again since the server started.
fn recompilations(session: &mut Session) -> i64 {
    let text = "SELECT cntr_value FROM sys.dm_os_performance_counters WHERE counter_name = 'SQL Re-Compilations/sec'";
    rows(session, text).remove(0).parse().unwrap()
}

#[test]
fn a_text_is_bound_again_only_when_what_was_missing_may_be_there() {
    let (world, mut session) = made("second-run-counted");
    let mut other = world.session();
    let own = "CREATE TABLE #t (id int) INSERT #t VALUES (1) SELECT id FROM #t DROP TABLE #t";
    let real = "CREATE TABLE real (id int) INSERT real VALUES (1) SELECT id FROM real DROP TABLE real";
    run(&mut session, &format!("CREATE PROCEDURE p AS {own}"));
    let own_text = format!("EXEC sp_executesql N'{own}'");
    let waiting = "IF OBJECT_ID('late') IS NOT NULL SELECT id FROM late JOIN #t ON 1 = 1";
    let texts = [own, real, &own_text, "EXEC p", waiting];
    // How often each is bound again.
    let again = |session: &mut Session| -> Vec<i64> {
        let counted = |text: &&str| {
            let before = recompilations(session);
            run(session, text);
            recompilations(session) - before
        };
        texts.iter().map(counted).collect()
    };
    for text in texts {
        run(&mut session, text);
    }
    // What is made anew each time is bound anew, at its turn: the INSERT and the SELECT.
    let at_its_turn = [0, 2, 0, 0, 0];
    for _ in 0..100 {
        assert_eq!(again(&mut session), at_its_turn);
        // Neither do others' definitions matter, nor temporary tables of other names.
        run(&mut other, "CREATE TABLE #t (x int) DROP TABLE #t");
        run(&mut session, "CREATE TABLE #u (x int) DROP TABLE #u");
    }
    run(&mut session, "CREATE TABLE other (id int)");
    assert_eq!(again(&mut session), at_its_turn);
    run(&mut session, "CREATE TABLE late (id int)");
    assert_eq!(again(&mut session), [0, 2, 0, 0, 1]);
    assert_eq!(again(&mut session), at_its_turn);
}

/// Rows and errors of a recursion that makes numbers up to `last`, the first of them at level 0.
fn counted(session: &mut Session, last: u32, option: &str) -> (usize, Vec<i32>) {
    let text = format!(
        "WITH n AS (SELECT 0 AS i UNION ALL SELECT i + 1 FROM n WHERE i < {last}) SELECT i FROM n {option}"
    );
    let seen = run(session, &text);
    (seen.sets[0].1.len(), numbers(&seen))
}

#[test]
fn a_recursion_may_have_as_many_levels_as_are_allowed() {
    let (_world, mut session) = made("levels");
    for limit in [1u32, 2, 100, 32_767] {
        let option = format!("OPTION (MAXRECURSION {limit})");
        let most = limit as usize + 1;
        assert_eq!(counted(&mut session, limit - 1, &option), (most - 1, vec![]), "{limit}");
        assert_eq!(counted(&mut session, limit, &option), (most, vec![]), "{limit}");
        assert_eq!(counted(&mut session, limit + 1, &option), (most, vec![530]), "{limit}");
    }
    assert_eq!(counted(&mut session, 100, ""), (101, vec![]));
    assert_eq!(counted(&mut session, 101, ""), (101, vec![530]));
    assert_eq!(counted(&mut session, 40_000, "OPTION (MAXRECURSION 0)"), (40_001, vec![]));
    // Several recursive members: two rows per level.
    let both = |last: u32, limit: u32| {
        format!(
            "WITH n AS (SELECT 0 AS i, 0 AS side UNION ALL SELECT i + 1, 1 FROM n WHERE side = 0 AND i < {last}
             UNION ALL SELECT i + 1, 0 FROM n WHERE side = 0 AND i < {last}) SELECT i FROM n OPTION (MAXRECURSION {limit})"
        )
    };
    let seen = run(&mut session, &both(3, 3));
    assert_eq!((seen.sets[0].1.len(), numbers(&seen)), (7, vec![]));
    let seen = run(&mut session, &both(4, 3));
    assert_eq!((seen.sets[0].1.len(), numbers(&seen)), (7, vec![530]));
    // A query that does not reach that level gets no error.
    let seen =
        run(&mut session, "WITH n AS (SELECT 0 AS i UNION ALL SELECT i + 1 FROM n) SELECT TOP 101 i FROM n");
    assert_eq!((seen.sets[0].1.len(), numbers(&seen)), (101, vec![]));
}
