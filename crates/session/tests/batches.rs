//! Batches through a session on an instance of its own: control flow, transactions, errors, procedures.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test prepares its folders itself")]

use crate::common::{World, numbers, rows, run};
use session::{EnvironmentChange, RpcCall, RpcParameter, RpcTarget};
use types::{SqlType, Value};

use hardpan_session as session;

#[test]
fn variables_loops_and_branches() {
    let world = World::new("flow");
    let mut s = world.session();
    assert_eq!(rows(&mut s, "SELECT 1 AS a, N'x' AS b"), ["1|x"]);
    // Claim 28: after the loop its variable is greater than the limit.
    assert_eq!(
        rows(&mut s, "DECLARE @i AS INT = 1; WHILE @i <= 1000 BEGIN SET @i += 1; END; SELECT @i"),
        ["1001"]
    );
    let text =
        "DECLARE @i int = 0 WHILE 1=1 BEGIN SET @i += 1 IF @i = 3 CONTINUE IF @i > 5 BREAK END SELECT @i";
    assert_eq!(rows(&mut s, text), ["6"]);
    let text =
        "DECLARE @x int IF @x IS NULL SET @x = 7 ELSE SET @x = 8; GOTO done; SET @x = 9; done: SELECT @x";
    assert_eq!(rows(&mut s, text), ["7"]);
    assert_eq!(
        rows(&mut s, "DECLARE @d AS sysname = N'abc', @e decimal(5,2) = 1.239; SELECT @d, @e"),
        ["abc|1.24"]
    );
}

#[test]
fn tables_and_transactions() {
    let world = World::new("tables");
    let mut s = world.session();
    run(&mut s, "CREATE TABLE dbo.T1(col1 INT NOT NULL PRIMARY KEY, name nvarchar(20) NULL DEFAULT N'none')");
    run(&mut s, "INSERT INTO dbo.T1(col1) VALUES(1),(2); INSERT dbo.T1 VALUES (3, N'three')");
    assert_eq!(rows(&mut s, "SELECT col1, name FROM T1 ORDER BY col1 DESC"), ["3|three", "2|none", "1|none"]);
    run(&mut s, "BEGIN TRAN INSERT INTO T1(col1) VALUES(4); ROLLBACK TRAN;");
    assert_eq!(rows(&mut s, "SELECT COUNT(*) FROM T1"), ["3"]);
    run(
        &mut s,
        "BEGIN TRAN; UPDATE T1 SET name = N'x' WHERE col1 = 1; SAVE TRAN a; DELETE T1; ROLLBACK TRAN a; COMMIT",
    );
    assert_eq!(rows(&mut s, "SELECT name FROM T1 WHERE col1 = 1"), ["x"]);
    assert_eq!(rows(&mut s, "SELECT @@TRANCOUNT"), ["0"]);
    assert_eq!(numbers(&run(&mut s, "COMMIT")), [3902]);
    assert_eq!(numbers(&run(&mut s, "ROLLBACK")), [3903]);
    assert_eq!(rows(&mut s, "BEGIN TRAN BEGIN TRAN COMMIT SELECT @@TRANCOUNT ROLLBACK"), ["1"]);
}

#[test]
fn errors_end_what_they_should() {
    let world = World::new("errors");
    let mut s = world.session();
    run(&mut s, "CREATE TABLE T(a int NOT NULL PRIMARY KEY)");
    // A duplicate key ends its statement only; the batch goes on.
    let seen = run(&mut s, "INSERT T VALUES(1)\nINSERT T VALUES(1)\nINSERT T VALUES(2)");
    assert_eq!(numbers(&seen), [2627, 3621]);
    assert_eq!(seen.messages[0].1, 2, "line of the statement");
    assert_eq!(rows(&mut s, "SELECT COUNT(*) FROM T"), ["2"]);
    // A missing table ends the batch where it is met.
    let seen = run(&mut s, "SELECT 1\nSELECT * FROM missing\nSELECT 2");
    assert_eq!(numbers(&seen), [208]);
    assert_eq!(seen.sets.len(), 1);
    // Syntax errors: nothing runs.
    let seen = run(&mut s, "SELECT 1\nSELEC 2");
    assert_eq!(seen.sets.len(), 0);
    assert!(!seen.messages.is_empty());
    // A conversion error ends the batch and the transaction.
    let seen = run(
        &mut s,
        "BEGIN TRAN; INSERT T VALUES(3); DECLARE @x varchar(9) = 'x'; SELECT CAST(@x AS int); SELECT 5",
    );
    assert_eq!(numbers(&seen), [245]);
    assert_eq!(rows(&mut s, "SELECT @@TRANCOUNT, COUNT(*) FROM T"), ["0|2"]);
    // XACT_ABORT turns a statement's error into the batch's.
    let seen = run(&mut s, "SET XACT_ABORT ON; BEGIN TRAN; INSERT T VALUES(3); INSERT T VALUES(1); SELECT 5");
    assert_eq!(numbers(&seen), [2627]);
    assert_eq!(rows(&mut s, "SELECT @@TRANCOUNT, COUNT(*) FROM T"), ["0|2"]);
}

#[test]
fn try_and_catch() {
    let world = World::new("try");
    let mut s = world.session();
    run(&mut s, "CREATE TABLE T(a int NOT NULL PRIMARY KEY)");
    let text = "BEGIN TRY INSERT T VALUES(1); INSERT T VALUES(1); SELECT 'not here' END TRY \
                BEGIN CATCH SELECT ERROR_NUMBER(), ERROR_LINE(), XACT_STATE() END CATCH";
    assert_eq!(rows(&mut s, text), ["2627|1|0"]);
    let text =
        "BEGIN TRY DECLARE @z int = 0; SET @z = 1/@z END TRY BEGIN CATCH SELECT ERROR_NUMBER() END CATCH";
    assert_eq!(rows(&mut s, text), ["8134"]);
    let text = "SET XACT_ABORT ON BEGIN TRAN BEGIN TRY INSERT T VALUES(1) END TRY BEGIN CATCH SELECT XACT_STATE() ROLLBACK END CATCH";
    assert_eq!(rows(&mut s, text), ["-1"]);
    let seen = run(&mut s, "BEGIN TRY THROW 50001, N'mine', 3 END TRY BEGIN CATCH THROW END CATCH SELECT 1");
    assert_eq!(numbers(&seen), [50001]);
    assert!(seen.sets.is_empty());
    let seen = run(&mut s, "SET XACT_ABORT OFF; RAISERROR(N'a %d %s', 16, 2, 7, N'b'); SELECT 1");
    assert_eq!(seen.messages[0].2, "a 7 b");
    assert_eq!(seen.sets.len(), 1);
    let seen = run(&mut s, "PRINT N'hello'");
    assert_eq!(seen.messages[0].2, "hello");
}

/// Each CATCH block sees its own error, also after an inner block has ended.
#[test]
fn nested_catch_blocks_see_their_own_errors() {
    let world = World::new("nested-try");
    let mut session = world.session();
    run(&mut session, "CREATE PROCEDURE raises AS RAISERROR('from p', 15, 3)");
    run(
        &mut session,
        "CREATE PROCEDURE again AS BEGIN TRY SELECT 1 / 0 AS q END TRY BEGIN CATCH THROW END CATCH",
    );
    let told = "SELECT CONCAT(ERROR_NUMBER(), ' ', ERROR_MESSAGE(), ' ', ERROR_SEVERITY(), ' ', ERROR_STATE(), ' ', ERROR_PROCEDURE())";
    let zero = "DECLARE @z int = 0 SET @z = 1 / @z";
    let nested = |inner: &str, outer: &str| {
        format!(
            "BEGIN TRY BEGIN TRY {zero} END TRY BEGIN CATCH {inner} END CATCH END TRY BEGIN CATCH {outer} END CATCH {told}"
        )
    };
    let divided = "8134 Divide by zero error encountered. 16 1 ";
    let in_again = "8134 Divide by zero error encountered. 16 1 again";
    let cases: &[(String, &[&str])] = &[
        (nested("RAISERROR('mine', 16, 2)", told), &["50000 mine 16 2 ", "    "]),
        (nested("THROW 50001, 'thrown', 4", told), &["50001 thrown 16 4 ", "    "]),
        (nested("EXEC raises", told), &["50000 from p 15 3 raises", "    "]),
        (nested("THROW", told), &[divided, "    "]),
        (nested("EXEC again", told), &[in_again, "    "]),
        // A block inside a CATCH block: its error is dropped at its end.
        (
            nested(
                &format!("BEGIN TRY RAISERROR('in', 16, 1) END TRY BEGIN CATCH {told} END CATCH {told}"),
                told,
            ),
            &["50000 in 16 1 ", divided, "    "],
        ),
        // Three levels: the innermost CATCH block raises, the one around it raises again.
        (
            nested(
                "BEGIN TRY RAISERROR('b', 16, 1) END TRY BEGIN CATCH RAISERROR('c', 16, 1) END CATCH",
                &format!("BEGIN TRY RAISERROR('d', 16, 1) END TRY BEGIN CATCH {told} END CATCH {told}"),
            ),
            &["50000 d 16 1 ", "50000 c 16 1 ", "    "],
        ),
    ];
    for (text, expected) in cases {
        run(&mut session, &format!("CREATE OR ALTER PROCEDURE whole AS {text}"));
        for (text, procedure) in [(text.as_str(), ""), ("EXEC whole", "whole")] {
            let seen = run(&mut session, text);
            let rows: Vec<&str> =
                seen.sets.iter().flat_map(|set| &set.1).map(|row| row[0].as_str()).collect();
            let wanted: Vec<String> = expected
                .iter()
                .map(|line| {
                    if line.ends_with(' ') && line.trim() != "" {
                        format!("{line}{procedure}")
                    } else {
                        (*line).into()
                    }
                })
                .collect();
            assert_eq!(rows, wanted, "{text}: {:?}", seen.messages);
        }
    }
    // The newest error is the uncaught one, and THROW without values rethrows that of its block.
    let uncaught = |inner: &str, outer: &str| {
        format!(
            "BEGIN TRY BEGIN TRY {zero} END TRY BEGIN CATCH {inner} END CATCH END TRY BEGIN CATCH {outer} END CATCH"
        )
    };
    let seen = run(&mut session, &uncaught("RAISERROR('mine', 16, 2)", "THROW"));
    assert_eq!((numbers(&seen), seen.messages[0].2.as_str()), (vec![50000], "mine"));
    let seen = run(&mut session, &uncaught("THROW", "THROW"));
    assert_eq!(numbers(&seen), [8134]);
    // A loop of them leaves no error behind.
    let text = format!(
        "DECLARE @n int = 0 WHILE @n < 3 BEGIN BEGIN TRY BEGIN TRY RAISERROR('a', 16, 1) END TRY \
         BEGIN CATCH RAISERROR('b', 16, 1) END CATCH END TRY BEGIN CATCH SET @n += 1 IF @n < 3 CONTINUE END CATCH END {told}"
    );
    assert_eq!(rows(&mut session, &text), ["    "]);
}

#[test]
fn procedures_and_dynamic_text() {
    let world = World::new("procedures");
    let mut s = world.session();
    run(&mut s, "CREATE PROCEDURE dbo.p @a int, @b int = 5, @sum int OUTPUT AS SET @sum = @a + @b RETURN 42");
    assert_eq!(
        rows(&mut s, "DECLARE @s int, @r int; EXEC @r = dbo.p 1, @sum = @s OUTPUT; SELECT @s, @r"),
        ["6|42"]
    );
    assert_eq!(rows(&mut s, "DECLARE @s int; EXEC p @b = 1, @a = 2, @sum = @s OUT; SELECT @s"), ["3"]);
    assert_eq!(numbers(&run(&mut s, "EXEC p")), [201]);
    assert_eq!(numbers(&run(&mut s, "EXEC nothing_there")), [2812]);
    assert_eq!(rows(&mut s, "EXEC('SELECT 1 + 1')"), ["2"]);
    let text = "DECLARE @o int; EXEC sp_executesql N'SELECT @x = @y * 2', N'@x int OUTPUT, @y int', @x = @o OUTPUT, @y = 21; SELECT @o";
    assert_eq!(rows(&mut s, text), ["42"]);
    run(
        &mut s,
        "CREATE PROCEDURE q AS BEGIN TRY DECLARE @z int = 0 SET @z = 1/@z END TRY BEGIN CATCH SELECT ERROR_PROCEDURE() END CATCH",
    );
    assert_eq!(rows(&mut s, "EXEC q"), ["q"]);
    let parameter = |name: &str, value: Value, output: bool| RpcParameter {
        name: name.into(),
        sql_type: SqlType::Int,
        value,
        output,
        default: false,
        table: None,
    };
    let call = RpcCall {
        target: RpcTarget::Name("dbo.p".into()),
        parameters: vec![parameter("@a", Value::Int(4), false), parameter("@sum", Value::Null, true)],
        no_metadata: false,
    };
    let mut seen = crate::common::Seen::default();
    s.execute_rpc(call, &mut seen);
    assert_eq!(seen.status, Some(42));
    assert_eq!(seen.outputs, [("@sum".to_string(), "9".to_string())]);
}

#[test]
fn temporary_tables_belong_to_their_session() {
    let world = World::new("temporary");
    let (mut s, mut t) = (world.session(), world.session());
    run(&mut s, "CREATE TABLE #t(a int); INSERT #t VALUES(1)");
    assert_eq!(numbers(&run(&mut t, "SELECT * FROM #t")), [208]);
    run(&mut t, "CREATE TABLE #t(a int, b int)");
    assert_eq!(rows(&mut s, "SELECT * FROM #t"), ["1"]);
    run(&mut s, "SELECT a * 2 AS b INTO #u FROM #t");
    assert_eq!(rows(&mut s, "SELECT b FROM #u"), ["2"]);
    let seen = run(&mut s, "DECLARE @v TABLE(x int); INSERT @v VALUES(5); SELECT x FROM @v");
    assert!(seen.messages.is_empty(), "{:?}", seen.messages);
    assert_eq!(seen.sets[0].1, [["5"]]);
    s.close();
    t.close();
}

#[test]
fn databases_and_delayed_durability() {
    let world = World::new("databases");
    let mut s = world.session();
    run(&mut s, "CREATE DATABASE PerformanceV3");
    // Claims 24, 25, 41: keyword values in any letter case, in force for the same batch, DISABLED by default.
    let option = "SELECT delayed_durability_desc FROM sys.databases WHERE name = N'PerformanceV3'";
    assert_eq!(rows(&mut s, option), ["DISABLED"]);
    run(&mut s, "ALTER DATABASE PerformanceV3 SET DELAYED_DURABILITY = Forced; -- comment");
    assert_eq!(rows(&mut s, option), ["FORCED"]);
    let seen = run(&mut s, "USE PerformanceV3");
    assert_eq!(seen.environment, [EnvironmentChange::Database("PerformanceV3".into(), "master".into())]);
    run(
        &mut s,
        "CREATE TABLE T1(a int); BEGIN TRAN; INSERT T1 VALUES(1); COMMIT TRAN WITH (DELAYED_DURABILITY = ON)",
    );
    assert_eq!(rows(&mut s, "DECLARE @r int; EXEC @r = sys.sp_flush_log; SELECT @r"), ["1"]);
    run(&mut s, "USE master; DROP DATABASE PerformanceV3; DROP DATABASE IF EXISTS PerformanceV3");
    assert_eq!(numbers(&run(&mut s, "USE PerformanceV3")), [911]);
}

/// Messages 8153, 3606 and 3607, and 3621 after changes only.
#[test]
fn warnings_follow_the_set_options() {
    let world = World::new("warnings");
    let mut session = world.session();
    let aggregate = "SELECT SUM(v) FROM (VALUES (1), (NULL)) AS d (v)";
    let seen = run(&mut session, &format!("\n{aggregate}"));
    assert_eq!(
        (seen.messages.len(), seen.messages[0].0, seen.messages[0].1),
        (1, 8153, 2),
        "of the statement's line"
    );
    assert_eq!(numbers(&run(&mut session, "SELECT 1 / 0")), [8134]);
    assert_eq!(
        numbers(&run(&mut session, "DECLARE @n int = (SELECT CAST(3000000000 AS bigint)); SET @n = 1 / 0")),
        [8115, 8134]
    );
    run(&mut session, "CREATE TABLE #t (v int NOT NULL)");
    assert_eq!(numbers(&run(&mut session, "INSERT INTO #t SELECT 1 / 0")), [8134, 3621]);
    run(&mut session, "SET ANSI_WARNINGS OFF; SET ARITHABORT OFF");
    assert!(numbers(&run(&mut session, aggregate)).is_empty());
    assert_eq!(numbers(&run(&mut session, "SELECT 1 / 0")), [3607]);
    assert_eq!(numbers(&run(&mut session, "SELECT 2147483647 + v FROM (VALUES (1)) AS d (v)")), [3606]);
    run(&mut session, "SET ARITHIGNORE ON");
    assert!(numbers(&run(&mut session, "SELECT 1 / 0")).is_empty());
}

/// A condition that raises an error is neither true nor false: neither its branch nor the ELSE branch runs.
#[test]
fn a_condition_that_fails_runs_no_branch() {
    let world = World::new("failed-conditions");
    let mut session = world.session();
    run(&mut session, "CREATE TABLE t (i int); INSERT t VALUES (0), (1)");
    let zero = "DECLARE @z int = 0";
    let cases = [
        ("IF 1 / @z = 1 SELECT 'then'", "behind"),
        ("IF 1 / @z = 1 SELECT 'then' ELSE SELECT 'else'", "behind"),
        ("IF @z = 1 SELECT 'then' ELSE IF 1 / @z = 1 SELECT 'second' ELSE SELECT 'else'", "behind"),
        (
            "IF @z = 0 BEGIN IF 1 / @z = 1 SELECT 'then' SELECT 'inside' END ELSE SELECT 'else'",
            "inside behind",
        ),
        ("IF (SELECT SUM(1 / i) FROM t) > 0 BEGIN SELECT 'then' SELECT 'more' END", "behind"),
        ("IF (SELECT i FROM t) = 1 SELECT 'then' ELSE SELECT 'else'", "behind"),
        ("IF NOT EXISTS (SELECT i FROM t WHERE 1 / i = 5) SELECT 'then' ELSE SELECT 'else'", "behind"),
        ("WHILE 1 / @z = 1 BEGIN SELECT 'round' BREAK END", "behind"),
        ("DECLARE @n int = 2 WHILE 1 / @n >= 0 BEGIN SELECT 'round' SET @n -= 1 END", "round round behind"),
        ("IF IIF(1 / @z = 1, 1, 0) = 1 SELECT 'then' ELSE SELECT 'else'", "behind"),
        ("IF CASE WHEN 1 / @z = 1 THEN 1 ELSE 0 END = 0 SELECT 'then'", "behind"),
        ("DECLARE @r int = 7 SET @r = CASE WHEN 1 / @z = 1 THEN 1 ELSE 2 END SELECT @r", "7 behind"),
        ("IF 1 = 0 SELECT 'then' ELSE SELECT 'else'", "else behind"),
    ];
    for (text, expected) in cases {
        let body = format!("{zero} {text} SELECT 'behind'");
        let texts = [body.clone(), format!("EXEC('{}')", body.replace('\'', "''"))];
        for text in &texts {
            let seen = run(&mut session, text);
            let told: Vec<&str> =
                seen.sets.iter().flat_map(|set| &set.1).map(|row| row[0].as_str()).collect();
            assert_eq!(told.join(" "), expected, "{text}: {:?}", seen.messages);
        }
    }
    let seen = run(&mut session, "IF 1 / 0 = 1 SELECT 1 SELECT @@ERROR");
    assert_eq!((numbers(&seen), &seen.sets[0].1), (vec![8134], &vec![vec!["8134".to_string()]]));
}

/// Without a RETURN value a procedure returns ten minus the severity of its worst error (KB Q96237, Q100830).
#[test]
fn a_procedure_with_an_error_returns_ten_less_its_severity() {
    let world = World::new("return-codes");
    let mut session = world.session();
    run(&mut session, "CREATE TABLE t (i int PRIMARY KEY CHECK (i < 10)); INSERT t VALUES (1)");
    run(&mut session, "CREATE PROCEDURE inner_fails AS SELECT 1 / 0 AS q");
    let unique = "INSERT t VALUES (1)";
    let cases = [
        ("SELECT 1 AS a".to_string(), 0),
        ("SELECT 1 / 0 AS q".into(), -6),
        (unique.into(), -4),
        ("INSERT t VALUES (11)".into(), -6),
        // The worst error counts, first or last, and later statements run.
        (format!("{unique}; SELECT 1 / 0 AS q"), -6),
        (format!("SELECT 1 / 0 AS q; {unique}; SELECT 1 AS a"), -6),
        (format!("{unique} RETURN"), -4),
        // A RETURN with a value overrides it, NULL counts as 0.
        (format!("{unique} RETURN 7"), 7),
        (format!("{unique} RETURN 0"), 0),
        (format!("{unique} RETURN NULL"), 0),
        ("PRINT 'a' RAISERROR('b', 10, 1)".into(), 0),
        // Errors that end the procedure at once, and errors caught inside it.
        ("SELECT a FROM not_there".into(), -6),
        (format!("{unique} SELECT a FROM not_there"), -6),
        (format!("BEGIN TRY {unique} END TRY BEGIN CATCH PRINT 'caught' END CATCH"), 0),
        (format!("BEGIN TRY {unique} END TRY BEGIN CATCH RAISERROR('again', 12, 1) END CATCH"), -2),
        // The status of a called procedure is its own.
        ("EXEC inner_fails".into(), 0),
        ("EXEC inner_fails RAISERROR('mine', 11, 1)".into(), -1),
        ("IF 1 / 0 = 1 RETURN 5".into(), -6),
        ("EXEC not_there".into(), -6),
    ];
    let severities = (11..=18).map(|severity| (format!("RAISERROR('x', {severity}, 1)"), 10 - severity));
    for (body, expected) in cases.into_iter().chain(severities) {
        run(&mut session, &format!("CREATE OR ALTER PROCEDURE p AS {body}"));
        let seen = run(&mut session, "DECLARE @r int = 99; EXEC @r = p; SELECT @r");
        let last = seen.sets.last().and_then(|set| set.1.last()).unwrap();
        assert_eq!(last[0], expected.to_string(), "{body}: {:?}", seen.messages);
        assert_eq!(seen.status, Some(expected), "{body}");
        let mut seen = crate::common::Seen::default();
        let call =
            RpcCall { target: RpcTarget::Name("p".into()), parameters: Vec::new(), no_metadata: false };
        session.execute_rpc(call, &mut seen);
        assert_eq!(seen.status, Some(expected), "{body}: {:?}", seen.messages);
    }
}

/// WITH RESULT SETS gives columns their names and types.
#[test]
fn result_sets_are_described_as_the_statement_says() {
    let (_world, mut session) = World::in_database("result-sets");
    let seen = run(
        &mut session,
        "EXEC ('SELECT 1 AS a, ''x'' AS b') WITH RESULT SETS ((number bigint NOT NULL, [a word] nvarchar(20)))",
    );
    assert_eq!(seen.messages, []);
    assert_eq!(
        seen.sets,
        [(vec!["number".to_string(), "a word".to_string()], vec![vec!["1".into(), "x".into()]])]
    );
    assert_eq!(seen.types, [vec![SqlType::BigInt, SqlType::nvarchar(20)]]);
    assert_eq!(seen.nullable, [vec![false, true]]);
    // Also if no statement runs.
    let names = ["number".to_string(), "a word".to_string()];
    let call = "EXEC ('SELECT 1 AS a, ''x'' AS b') WITH RESULT SETS ((number bigint NOT NULL, [a word] nvarchar(20)))";
    let seen = run(&mut session, &format!("SET FMTONLY ON {call} SET FMTONLY OFF"));
    assert_eq!((seen.messages, seen.sets), (vec![], vec![(names.to_vec(), vec![])]));
    let describe = format!("EXEC sp_describe_first_result_set N'{}'", call.replace('\'', "''"));
    let seen = run(&mut session, &describe);
    let told: Vec<String> =
        seen.sets[0].1.iter().map(|row| [2, 3, 5].map(|at| row[at].as_str()).join("|")).collect();
    assert_eq!(told, ["number|0|bigint", "a word|1|nvarchar(20)"]);
    // A mismatch ends its result set, with as many rows as were sent.
    let misfit =
        "EXEC ('SELECT v FROM (VALUES (1), (2), (NULL), (4)) AS d (v)') WITH RESULT SETS ((v int NOT NULL))";
    let seen = run(&mut session, misfit);
    assert_eq!((numbers(&seen), seen.sets[0].1.len()), (vec![11553], 2));
    let seen =
        run(&mut session, &format!("BEGIN TRY {misfit} END TRY BEGIN CATCH SELECT ERROR_NUMBER() END CATCH"));
    assert_eq!((seen.messages, &seen.counts), (vec![], &vec![Some(2), Some(1)]));
    assert_eq!(seen.sets[1].1, [["11553"]]);
}
