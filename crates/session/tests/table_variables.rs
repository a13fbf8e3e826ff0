//! Table variables are outside the user's transaction (documentation of `table`): a statement's changes to one stay, whether the
//! transaction commits or not; a statement that fails is rolled back alone.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::{World, numbers, rows, run};
use hardpan_session::Session;

const SHOW: &str = "SELECT i FROM @t ORDER BY i";

fn session_with_table(world: &World) -> Session {
    let mut session = world.session();
    run(&mut session, "CREATE TABLE u (i int NOT NULL PRIMARY KEY, j int)");
    session
}

/// The rows of the last result set of a batch, and the numbers of its messages.
fn last_set(session: &mut Session, text: &str) -> (Vec<String>, Vec<i32>) {
    let seen = run(session, text);
    let set = seen.sets.last().map(|set| set.1.iter().map(|row| row.join("|")).collect());
    (set.unwrap_or_default(), numbers(&seen))
}

/// Every statement that can write a table variable, every way in which a transaction can end.
#[test]
fn no_rollback_reaches_a_table_variable() {
    let world = World::new("tv-rollback");
    let mut session = session_with_table(&world);
    run(&mut session, "CREATE PROCEDURE two AS SELECT 7 UNION SELECT 8");
    let declare = "DECLARE @t TABLE (i int)";
    let cases: &[(&str, &[&str])] = &[
        ("BEGIN TRAN INSERT @t VALUES (1) INSERT u VALUES (1, 1) ROLLBACK", &["1"]),
        ("INSERT @t VALUES (1), (2) BEGIN TRAN UPDATE @t SET i = i + 10 ROLLBACK", &["11", "12"]),
        ("INSERT @t VALUES (1), (2) BEGIN TRAN DELETE @t WHERE i = 1 ROLLBACK", &["2"]),
        (
            "BEGIN TRAN SAVE TRAN s INSERT @t VALUES (1) ROLLBACK TRAN s INSERT @t VALUES (2) COMMIT",
            &["1", "2"],
        ),
        ("BEGIN TRAN BEGIN TRAN INSERT @t VALUES (1) COMMIT ROLLBACK", &["1"]),
        ("BEGIN TRAN INSERT u OUTPUT inserted.i INTO @t VALUES (3, 0) ROLLBACK", &["3"]),
        (
            "INSERT u VALUES (4, 0) BEGIN TRAN DELETE u OUTPUT deleted.i INTO @t WHERE i = 4 ROLLBACK DELETE u",
            &["4"],
        ),
        ("BEGIN TRAN INSERT @t EXEC two ROLLBACK", &["7", "8"]),
        ("BEGIN TRAN INSERT @t SELECT 5 ROLLBACK TRAN", &["5"]),
        (
            "SET IMPLICIT_TRANSACTIONS ON INSERT u VALUES (1, 1) INSERT @t SELECT i FROM u ROLLBACK SET IMPLICIT_TRANSACTIONS OFF",
            &["1"],
        ),
        (
            "SET XACT_ABORT ON BEGIN TRY BEGIN TRAN INSERT @t VALUES (1) SELECT 1/0 END TRY BEGIN CATCH ROLLBACK END CATCH SET XACT_ABORT OFF",
            &["1"],
        ),
    ];
    for (text, expected) in cases {
        let (found, messages) = last_set(&mut session, &format!("{declare} {text} {SHOW}"));
        assert_eq!(
            (found.as_slice(), messages.as_slice()),
            (expected.map_to_strings().as_slice(), &[][..]),
            "{text}"
        );
        assert_eq!(rows(&mut session, "SELECT @@TRANCOUNT, (SELECT COUNT(*) FROM u)"), ["0|0"], "{text}");
    }
    session.close();
}

trait Strings {
    fn map_to_strings(&self) -> Vec<String>;
}

impl Strings for &[&str] {
    fn map_to_strings(&self) -> Vec<String> {
        self.iter().map(ToString::to_string).collect()
    }
}

/// A declaration inside of the transaction is not undone either.
#[test]
fn a_table_variable_declared_in_the_transaction_outlives_it() {
    let world = World::new("tv-declare");
    let mut session = session_with_table(&world);
    let text = "BEGIN TRAN DECLARE @t TABLE (i int PRIMARY KEY) INSERT @t VALUES (1) ROLLBACK INSERT @t VALUES (2) SELECT i FROM @t";
    assert_eq!(rows(&mut session, text), ["1", "2"]);
    // Its scope has ended: nothing of it is left in tempdb, and the user's own temporary tables still follow the transaction.
    run(&mut session, "CREATE TABLE #u (i int)");
    let text = "BEGIN TRAN DECLARE @t TABLE (i int) INSERT @t VALUES (1) INSERT #u VALUES (1) ROLLBACK SELECT (SELECT COUNT(*) FROM @t), (SELECT COUNT(*) FROM #u)";
    assert_eq!(rows(&mut session, text), ["1|0"]);
    assert_eq!(rows(&mut session, "SELECT COUNT(*) FROM tempdb.sys.tables WHERE LEN(name) = 9"), ["0"]);
    assert_eq!(numbers(&run(&mut session, "SELECT * FROM @t")), [1087], "gone with its batch");
    session.close();
}

/// A declaration is not executed: in a loop the table keeps its rows (documentation of DECLARE: the scope is the batch).
#[test]
fn a_loop_declares_its_table_variable_once() {
    let world = World::new("tv-loop");
    let mut session = session_with_table(&world);
    let text = "DECLARE @n int = 0 WHILE @n < 3 BEGIN DECLARE @t TABLE (i int) INSERT @t VALUES (@n) SET @n += 1 END SELECT i FROM @t ORDER BY i";
    assert_eq!(rows(&mut session, text), ["0", "1", "2"]);
    assert_eq!(rows(&mut session, text), ["0", "1", "2"], "another batch has another one");
    session.close();
}

/// A statement that fails leaves no effect, inside and outside of a transaction; the effects of earlier ones stay.
#[test]
fn a_failed_statement_is_taken_back_alone() {
    let world = World::new("tv-statement");
    let mut session = session_with_table(&world);
    run(&mut session, "INSERT u VALUES (1, 1)");
    let declare = "DECLARE @t TABLE (i int PRIMARY KEY) INSERT @t VALUES (1)";
    for (failing, number) in [
        ("INSERT @t VALUES (2), (1)", 2627),
        ("INSERT @t SELECT 2 UNION ALL SELECT 1", 2627),
        ("UPDATE @t SET i = 5 / (i - 1)", 8134),
        // Both tables of the statement are rolled back.
        ("INSERT u OUTPUT inserted.i INTO @t VALUES (2, 0), (1, 0)", 2627),
    ] {
        for around in ["", "BEGIN TRAN"] {
            let text = format!("{declare} {around} {failing} IF @@TRANCOUNT > 0 ROLLBACK {SHOW}");
            let (found, messages) = last_set(&mut session, &text);
            assert_eq!(found, ["1"], "{text}");
            assert_eq!(messages.first(), Some(&number), "{text}");
            assert_eq!(rows(&mut session, "SELECT i FROM u"), ["1"], "{text}");
        }
    }
    session.close();
}

/// The pattern that relies on it: rows logged in a table variable still exist when the transaction has been rolled back.
#[test]
fn a_log_kept_in_a_table_variable_survives() {
    let world = World::new("tv-log");
    let mut session = session_with_table(&world);
    run(
        &mut session,
        "CREATE PROCEDURE work AS BEGIN DECLARE @log TABLE (n int IDENTITY, note varchar(20), v rowversion) \
         BEGIN TRY BEGIN TRAN INSERT @log (note) VALUES ('begun') INSERT u VALUES (1, 1) INSERT @log (note) VALUES ('first') \
         INSERT u VALUES (1, 1) INSERT @log (note) VALUES ('never') COMMIT END TRY \
         BEGIN CATCH INSERT @log (note) VALUES (CONCAT('error ', ERROR_NUMBER())) ROLLBACK INSERT @log (note) VALUES ('undone') END CATCH \
         SELECT n, note FROM @log ORDER BY v END",
    );
    let expected = ["1|begun", "2|first", "3|error 2627", "4|undone"];
    assert_eq!(rows(&mut session, "EXEC work"), expected);
    assert_eq!(rows(&mut session, "SELECT COUNT(*) FROM u"), ["0"]);
    // Under XACT_ABORT the transaction is doomed in CATCH: no writes are allowed, not even there, before it is rolled back.
    let text = "SET XACT_ABORT ON DECLARE @t TABLE (i int) BEGIN TRY BEGIN TRAN INSERT @t VALUES (1) SELECT 1/0 AS x END TRY \
                BEGIN CATCH SELECT XACT_STATE(), COUNT(*) FROM @t \
                BEGIN TRY INSERT @t VALUES (2) END TRY BEGIN CATCH SELECT ERROR_NUMBER() END CATCH \
                IF XACT_STATE() <> 0 ROLLBACK INSERT @t VALUES (3) END CATCH SELECT i FROM @t ORDER BY i";
    let seen = run(&mut session, text);
    let sets: Vec<Vec<String>> =
        seen.sets.iter().map(|set| set.1.iter().map(|row| row.join("|")).collect()).collect();
    assert_eq!(sets, [vec![], vec!["-1|1".to_string()], vec!["3930".into()], vec!["1".into(), "3".into()]]);
    session.close();
}

/// INSERT ... EXEC into one in a doomed transaction is refused like any other write; reads are not.
#[test]
fn a_doomed_transaction_writes_no_rows_of_a_procedure() {
    let world = World::new("tv-doomed");
    let mut session = session_with_table(&world);
    run(&mut session, "CREATE PROCEDURE two AS SELECT 7 UNION SELECT 8");
    for target in ["@t", "u (i)"] {
        let text = format!(
            "SET XACT_ABORT ON DECLARE @t TABLE (i int) BEGIN TRY BEGIN TRAN SELECT 1/0 AS x END TRY \
             BEGIN CATCH BEGIN TRY INSERT {target} EXEC two END TRY BEGIN CATCH SELECT ERROR_NUMBER() END CATCH ROLLBACK END CATCH \
             SELECT COUNT(*) FROM @t"
        );
        let seen = run(&mut session, &text);
        let last: Vec<&str> = seen.sets.iter().rev().take(2).map(|set| set.1[0][0].as_str()).collect();
        assert_eq!(last, ["0", "3930"], "{target}: {:?}", seen.messages);
    }
    session.close();
}

/// Expressions read table variables, too: in the middle of a transaction that then rolls back.
#[test]
fn expressions_read_what_no_rollback_took() {
    let world = World::new("tv-expressions");
    let mut session = session_with_table(&world);
    let text = "DECLARE @t TABLE (i int) DECLARE @n int BEGIN TRAN INSERT @t VALUES (1) SET @n = (SELECT COUNT(*) FROM @t) \
                IF EXISTS (SELECT * FROM @t) INSERT @t VALUES (2) ROLLBACK WHILE (SELECT COUNT(*) FROM @t) < 4 INSERT @t VALUES (3) \
                SELECT @n, (SELECT COUNT(*) FROM @t)";
    assert_eq!(rows(&mut session, text), ["1|4"]);
    session.close();
}

/// No session waits for a table variable, and it holds no lock between statements.
#[test]
fn a_table_variable_keeps_no_lock() {
    let world = World::new("tv-locks");
    let mut session = session_with_table(&world);
    let text = "BEGIN TRAN DECLARE @t TABLE (i int PRIMARY KEY) INSERT @t VALUES (1), (2) UPDATE @t SET i = i + 10 \
                SELECT COUNT(*) FROM sys.dm_tran_locks WHERE request_session_id = @@SPID AND resource_database_id = 2 ROLLBACK";
    assert_eq!(rows(&mut session, text), ["0"]);
    session.close();
}

/// A declaration holds for the following text, also when it is not reached: in IF, WHILE and CATCH, after a GOTO, in procedures.
#[test]
fn a_declaration_that_is_not_reached_declares() {
    let world = World::new("tv-not-reached");
    let mut session = world.session();
    for text in [
        "IF 1 = 0 DECLARE @t TABLE (i int) INSERT @t VALUES (1) SELECT i FROM @t ORDER BY i",
        "WHILE 1 = 0 BEGIN DECLARE @t TABLE (i int) END INSERT @t VALUES (1) SELECT i FROM @t ORDER BY i",
        "GOTO past DECLARE @t TABLE (i int) past: INSERT @t VALUES (1) SELECT i FROM @t ORDER BY i",
        "BEGIN TRY SELECT 1 END TRY BEGIN CATCH DECLARE @t TABLE (i int) END CATCH INSERT @t VALUES (1) SELECT i FROM @t ORDER BY i",
        "EXEC ('IF 1 = 0 DECLARE @t TABLE (i int) INSERT @t VALUES (1) SELECT i FROM @t')",
    ] {
        assert_eq!(last_set(&mut session, text), (vec!["1".to_string()], vec![]), "{text}");
    }
    // A declaration that was reached keeps its rows, in a loop too.
    let looped = "DECLARE @i int = 0 WHILE @i < 3 BEGIN DECLARE @t TABLE (i int) INSERT @t VALUES (@i) SET @i += 1 END SELECT COUNT(*) FROM @t";
    assert_eq!(last_set(&mut session, looped), (vec!["3".to_string()], vec![]));
    // @@ROWCOUNT of the previous batch is unchanged.
    run(&mut session, "SELECT 1 UNION SELECT 2");
    let counted = "SELECT @@ROWCOUNT IF 1 = 0 DECLARE @t TABLE (i int)";
    assert_eq!(last_set(&mut session, counted), (vec!["2".to_string()], vec![]));
}
