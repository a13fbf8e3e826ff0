//! Tokens that clients read besides rows: kinds of statements, lines of messages, types of OUTPUT parameters,
//! which columns are nullable.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::{Seen, World, numbers, run};
use hardpan_session::{EnvironmentChange, RpcCall, RpcParameter, RpcTarget};
use types::{Length, SqlType, Value};

#[test]
fn done_says_what_kind_of_statement_has_ended() {
    let world = World::new("commands");
    let mut session = world.session();
    let cases: &[(&str, &[u16])] = &[
        ("CREATE TABLE t(i INT NOT NULL)", &[0xC6]),
        ("INSERT t VALUES (1),(2)", &[0xC3]),
        ("UPDATE t SET i = i + 1", &[0xC5]),
        ("SELECT i FROM t", &[0xC1]),
        ("SELECT i INTO t2 FROM t", &[0xC2]),
        ("DELETE t", &[0xC4]),
        ("ALTER TABLE t ADD j INT", &[0xD8]),
        ("CREATE INDEX x ON t(i)", &[0xC8]),
        ("DROP INDEX x ON t", &[0xC9]),
        ("EXEC('CREATE VIEW v AS SELECT i FROM t')", &[0xCF, 0xE0]),
        ("DROP VIEW v", &[0xD0]),
        ("EXEC('CREATE PROCEDURE p AS SELECT 1')", &[0xDE, 0xE0]),
        ("DROP PROCEDURE p", &[0xDF]),
        ("CREATE SCHEMA s", &[0x14A]),
        ("DROP SCHEMA s", &[0xB0]),
        ("TRUNCATE TABLE t2", &[0xFD]),
        ("BEGIN TRAN", &[0xD4]),
        ("SAVE TRAN s", &[0xFD]),
        ("BEGIN TRAN; COMMIT", &[0xD4, 0xD5]),
        ("ROLLBACK TRAN s; ROLLBACK", &[0xD2, 0xD2]),
        (
            "SET NOCOUNT ON; BEGIN TRAN; SAVE TRAN s; TRUNCATE TABLE t2; COMMIT; BEGIN TRAN; ROLLBACK; SET NOCOUNT OFF",
            &[],
        ),
        ("DROP TABLE t2; DROP TABLE t", &[0xC7, 0xC7]),
        // A message ends as a statement (the queue of messages of Microsoft's driver for Go counts on it).
        ("PRINT 'a'; SELECT 1 AS a; PRINT 'b'", &[0xFD, 0xC1, 0xFD]),
        ("RAISERROR('a', 10, 1); RAISERROR('b', 0, 1) WITH NOWAIT", &[0xFD, 0xFD]),
        ("SET NOCOUNT ON; PRINT 'a'; SET NOCOUNT OFF", &[]),
        ("CREATE DATABASE cmd", &[0xCB]),
        ("ALTER DATABASE cmd SET RECOVERY SIMPLE", &[0xD7]),
        ("DROP DATABASE cmd", &[0xCC]),
        // A statement that fails names its kind, too.
        ("SELECT 1/0", &[0xC1]),
        ("SET NOCOUNT ON; CREATE TABLE t(i INT); INSERT t VALUES (1); DROP TABLE t; SET NOCOUNT OFF", &[]),
    ];
    for (text, commands) in cases {
        assert_eq!(run(&mut session, text).commands, *commands, "{text}");
    }
    assert_eq!(run(&mut session, "SELECT 1 AS a INTO #n UNION ALL SELECT 2").counts, [Some(2)]);
}

/// A result set that a caught error interrupts ends, with the rows sent so far, before the CATCH block's begins.
#[test]
fn what_a_caught_error_cuts_short_ends() {
    let world = World::new("cut_short");
    let mut session = world.session();
    run(&mut session, "CREATE TABLE t(i INT PRIMARY KEY); INSERT t VALUES (1),(2),(0)");
    let cut = "SELECT 1 / i AS q FROM t ORDER BY i DESC OFFSET 0 ROWS";
    run(&mut session, &format!("CREATE PROCEDURE p AS {cut}"));
    let caught = |body: &str| format!("BEGIN TRY {body} END TRY BEGIN CATCH SELECT ERROR_NUMBER() END CATCH");
    let raised = caught("RAISERROR('mine', 16, 1)");
    for (text, sets) in [
        (caught("SELECT 1 / 0 AS q"), 2),
        (caught(cut), 2),
        (caught(&format!("EXEC('{cut}')")), 2),
        (caught("EXEC p"), 2),
        (format!("SET NOCOUNT ON; {}; SET NOCOUNT OFF", caught(cut)), 2),
        // No result set has begun.
        (raised.clone(), 1),
        (caught("INSERT t VALUES (1)"), 1),
        // Not again for a later error.
        (format!("{}; {raised}", caught(cut)), 3),
    ] {
        let seen = run(&mut session, &text);
        let ends: Vec<usize> = (0..seen.commands.len()).filter(|end| seen.commands[*end] == 0xC1).collect();
        assert_eq!((seen.sets.len(), ends.len()), (sets, sets), "{text}: {:?}", seen.commands);
        for (end, (_, rows)) in ends.iter().zip(&seen.sets) {
            let told = seen.counts[*end];
            assert!(told.is_none_or(|told| told == rows.len() as u64), "{text}: {told:?} of {rows:?}");
        }
    }
}

/// A procedure that a batch executes ends as a procedure, with its status before, regardless of NOCOUNT; its statements end inside it.
#[test]
fn a_procedure_called_by_a_batch_ends_as_a_procedure() {
    use hardpan_session::DoneKind::{InProcedure, Procedure, Statement};
    let world = World::new("calls");
    let mut session = world.session();
    run(&mut session, "CREATE TABLE t (i INT)");
    run(&mut session, "CREATE PROCEDURE inner_p AS BEGIN INSERT t VALUES (1) RETURN 5 END");
    run(&mut session, "CREATE PROCEDURE outer_p AS BEGIN SELECT 1 AS a EXEC inner_p RETURN 7 END");
    let seen = run(&mut session, "SELECT 0 AS z EXEC outer_p SELECT 2 AS b");
    assert_eq!(seen.ends, [Statement, InProcedure, InProcedure, InProcedure, Procedure, Statement]);
    assert_eq!(seen.commands, [0xC1, 0xC1, 0xC3, 0xE0, 0xE0, 0xC1]);
    assert_eq!(seen.counts, [Some(1), Some(1), Some(1), None, None, Some(1)]);
    assert_eq!(seen.statuses, [(4, 7)]);
    let seen = run(&mut session, "SET NOCOUNT ON EXEC outer_p EXEC inner_p");
    assert_eq!((seen.ends, seen.counts), (vec![InProcedure, Procedure, Procedure], vec![None, None, None]));
    assert_eq!(seen.statuses, [(1, 7), (2, 5)]);
    run(&mut session, "SET NOCOUNT OFF");
    // Text has no status of its own; rows inserted into a table are counted for the INSERT only.
    let seen = run(&mut session, "EXEC ('SELECT 1 AS a')");
    assert_eq!((seen.ends, seen.statuses), (vec![InProcedure, Procedure], vec![]));
    let seen = run(&mut session, "INSERT t EXEC ('SELECT 1 AS a')");
    assert_eq!((seen.ends, seen.commands, seen.statuses), (vec![Statement], vec![0xC3], vec![]));
    // A procedure that does not return has no status; the statement's error ends it.
    run(&mut session, "CREATE PROCEDURE fails AS THROW 50000, 'x', 1");
    let seen = run(&mut session, "EXEC fails");
    assert_eq!((seen.ends, seen.statuses), (vec![InProcedure], vec![]));
}

#[test]
fn use_and_set_language_tell_their_line() {
    let world = World::new("lines");
    let mut session = world.session();
    let seen = run(&mut session, "USE tempdb\nUSE master");
    assert_eq!(seen.messages.iter().map(|m| (m.0, m.1)).collect::<Vec<_>>(), [(5701, 1), (5701, 2)]);
    let seen = run(&mut session, "\nSET LANGUAGE us_english");
    assert_eq!(seen.messages.iter().map(|m| (m.0, m.1)).collect::<Vec<_>>(), [(5703, 2)]);
    let change = EnvironmentChange::Language("us_english".into(), "us_english".into());
    assert_eq!(seen.environment, [change]);
}

fn call(session: &mut hardpan_session::Session, name: &str, parameters: Vec<RpcParameter>) -> Seen {
    let mut seen = Seen::default();
    session.execute_rpc(
        RpcCall { target: RpcTarget::Name(name.into()), parameters, no_metadata: false },
        &mut seen,
    );
    seen
}

fn parameter(sql_type: SqlType, value: Value, output: bool) -> RpcParameter {
    RpcParameter { name: String::new(), sql_type, value, output, default: false, table: None }
}

#[test]
fn output_parameters_come_back_in_their_callers_types() {
    let world = World::new("outputs");
    let mut session = world.session();
    run(
        &mut session,
        "CREATE PROCEDURE p @d DECIMAL(10,4) OUTPUT, @i INT OUTPUT, @s VARCHAR(50) OUTPUT, @t DATETIME2(7) OUTPUT AS
         SELECT @d = 1.2345, @i = 7, @s = 'a longer text', @t = '2020-01-02T03:04:05.1234567'",
    );
    let decimal = SqlType::Decimal { precision: 18, scale: 2 };
    let texts = SqlType::NVarChar(Length::N(1));
    let outputs = vec![
        parameter(decimal, Value::Null, true),
        parameter(SqlType::BigInt, Value::Null, true),
        parameter(texts, Value::Null, true),
        parameter(SqlType::DateTime2(3), Value::Null, true),
    ];
    let seen = call(&mut session, "p", outputs);
    assert!(seen.messages.is_empty(), "{:?}", seen.messages);
    let values: Vec<&str> = seen.outputs.iter().map(|o| o.1.as_str()).collect();
    assert_eq!(values, ["1.23", "7", "a longer text", "2020-01-02 03:04:05.1230000"]);
    // Texts keep the procedure's length: nothing is truncated.
    let varchar = SqlType::VarChar(Length::N(50));
    assert_eq!(seen.output_types, [decimal, SqlType::BigInt, varchar, SqlType::DateTime2(3)]);

    let text = |text: &str| parameter(SqlType::NVARCHAR_MAX, Value::nvarchar(text), false);
    let seen = call(
        &mut session,
        "sp_executesql",
        vec![
            text("SET @a = @a * 3"),
            text("@a decimal(9,3) output"),
            parameter(SqlType::Decimal { precision: 9, scale: 1 }, Value::Null, true),
        ],
    );
    assert_eq!(seen.output_types, [SqlType::Decimal { precision: 9, scale: 1 }]);
    assert_eq!(seen.outputs[0].1, "NULL");
}

#[test]
fn columns_say_whether_they_can_be_null() {
    let world = World::new("nullable");
    let mut session = world.session();
    run(&mut session, "CREATE TABLE t(n INT NOT NULL, o INT, b TEXT)");
    let cases: &[(&str, &[bool])] = &[
        ("SELECT 1, 'a', NULL, N'x' + 'y'", &[false, false, true, false]),
        ("SELECT n, o FROM t", &[false, true]),
        ("SELECT n + 1, -n, n / n FROM t", &[true, true, true]),
        ("SELECT COUNT(*), COUNT(o), SUM(n), MAX(n) FROM t", &[false, false, true, true]),
        ("SELECT ISNULL(o, 0), COALESCE(o, n) FROM t", &[false, true]),
        // A converted value is nullable, also a constant of the same type (sqlsunday.com, 2019-06-05).
        (
            "SELECT CAST(0 AS INT), CAST(n AS INT), CONVERT(BIGINT, n), ISNULL(CAST(n AS BIGINT), 0) FROM t",
            &[true, true, true, false],
        ),
        ("SELECT a.n, b.n FROM t a LEFT JOIN t b ON a.n = b.n", &[false, true]),
        ("SELECT a.n, b.n FROM t a FULL JOIN t b ON a.n = b.n", &[true, true]),
        ("SELECT a.n, b.n FROM t a OUTER APPLY (SELECT n FROM t WHERE n > a.n) b", &[false, true]),
        ("SELECT a.n, b.n FROM t a CROSS APPLY (SELECT n FROM t WHERE n > a.n) b", &[false, false]),
        ("SELECT LAG(n) OVER (ORDER BY n), ROW_NUMBER() OVER (ORDER BY n) FROM t", &[true, false]),
        ("WITH r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT n FROM r", &[true]),
        ("SELECT CASE WHEN o = 1 THEN n END, CASE WHEN o = 1 THEN n ELSE 2 END FROM t", &[true, false]),
        ("SELECT (SELECT n FROM t), 7", &[true, false]),
        ("SELECT CAST(n AS BIGINT), CAST(n AS TINYINT), TRY_CAST(n AS BIGINT) FROM t", &[true, true, true]),
        ("SELECT n FROM t UNION ALL SELECT o FROM t", &[true]),
        ("SELECT n FROM (VALUES (1), (NULL)) v(n)", &[true]),
    ];
    for (text, nullable) in cases {
        let seen = run(&mut session, text);
        assert_eq!(seen.nullable, [nullable.to_vec()], "{text}: {:?}", numbers(&seen));
    }
    // NULL where arithmetic overflows, which a NOT NULL column could not hold.
    let forgiving = "SET ARITHABORT OFF; SET ANSI_WARNINGS OFF; INSERT t(n) VALUES (300);";
    let seen =
        run(&mut session, &format!("{forgiving} SELECT CAST(n AS TINYINT), 2147483647 + n, n / 0 FROM t"));
    assert_eq!(seen.sets[0].1, [["NULL", "NULL", "NULL"]]);
}

/// The sink checks each row: no NULL in a column that was described as NOT NULL.
#[test]
fn no_view_gives_null_in_a_column_that_excludes_it() {
    let world = World::new("views-nullable");
    let mut session = world.session();
    run(&mut session, "CREATE TABLE t(i INT IDENTITY PRIMARY KEY, c VARCHAR(9) DEFAULT 'x', CHECK (i > 0))");
    run(
        &mut session,
        "EXEC('CREATE VIEW v AS SELECT i FROM t'); EXEC('CREATE PROCEDURE p @x INT AS SELECT 1')",
    );
    let views = crate::common::rows(
        &mut session,
        "SELECT s.name + '.' + v.name FROM sys.all_views v JOIN sys.schemas s ON s.schema_id = v.schema_id",
    );
    assert!(views.len() > 50, "{}", views.len());
    for view in views {
        run(&mut session, &format!("SELECT * FROM {view}"));
    }
}

/// An error that rolls back the transaction reports that before the statement's end: a driver that reads an end followed by more keeps
/// the connection busy for the rest (found by mssql-django through Microsoft's ODBC driver).
#[test]
fn a_rollback_by_an_error_is_told_before_the_statement_ends() {
    let world = World::new("rollback-told");
    let mut session = world.session();
    run(
        &mut session,
        "CREATE TABLE p (i int PRIMARY KEY); CREATE TABLE c (i int CONSTRAINT fk REFERENCES p (i))",
    );
    run(&mut session, "ALTER TABLE c NOCHECK CONSTRAINT ALL; INSERT c VALUES (3)");
    let cases: &[(&str, i32)] = &[
        ("ALTER TABLE c WITH CHECK CHECK CONSTRAINT ALL", 547),
        ("SELECT CAST('a' AS int)", 245),
        ("EXEC('SELECT CAST(''a'' AS int)')", 245),
        ("DROP TABLE p", 3726),
        ("CREATE TABLE p (i int)", 2714),
        ("SET XACT_ABORT ON; INSERT c VALUES (4); SELECT 1/0", 8134),
    ];
    for (text, number) in cases {
        run(&mut session, "SET XACT_ABORT OFF; BEGIN TRAN");
        let seen = run(&mut session, text);
        assert!(numbers(&seen).contains(number), "{text}: {:?}", seen.messages);
        let rolled_back = seen
            .environment
            .iter()
            .position(|change| matches!(change, EnvironmentChange::RollbackTransaction(_)));
        let at = rolled_back.unwrap_or_else(|| panic!("{text}: the transaction goes on"));
        assert!(seen.environment_after[at] < seen.ends.len(), "{text}: an end is the last that is told");
    }
}
