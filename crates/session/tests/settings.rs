//! @@ROWCOUNT and @@ERROR after statements, and when settings take effect.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::{World, numbers, rows, run};

/// The documentation of @@ROWCOUNT: the rows of the statement, 1 after a simple assignment, 0 after other statements without rows, kept by EXECUTE.
#[test]
fn each_statement_leaves_its_count() {
    let world = World::new("rowcount");
    let mut session = world.session();
    run(&mut session, "CREATE TABLE t (i int) INSERT t VALUES (1), (2), (3)");
    run(&mut session, "CREATE PROCEDURE two AS SELECT i FROM t WHERE i < 3");
    run(&mut session, "CREATE PROCEDURE says AS BEGIN SELECT i FROM t PRINT 'x' END");
    let three = "DECLARE @n int SELECT i INTO #x FROM t";
    for (statement, expected) in [
        ("SELECT i FROM t", "3"),
        ("SELECT @n = i FROM t", "3"),
        ("UPDATE t SET i = i WHERE i > 1", "2"),
        ("DELETE t WHERE i = 99", "0"),
        ("SET @n = 5", "1"),
        ("SELECT GETDATE() AS d", "1"),
        ("EXEC two", "2"),
        ("EXEC says", "0"),
        ("EXEC('SELECT 1 AS a')", "1"),
        ("DECLARE @m int", "3"),
        ("DECLARE @m int = 1", "1"),
        ("SET ROWCOUNT 0", "0"),
        ("SET NOCOUNT OFF", "0"),
        ("PRINT 'x'", "0"),
        ("RAISERROR('x', 0, 1)", "0"),
        ("BEGIN TRAN", "0"),
        ("BEGIN TRAN COMMIT", "0"),
        ("IF 1 = 1 SET NOCOUNT OFF", "0"),
        ("USE master", "0"),
        ("CREATE TABLE u (i int)", "0"),
        ("TRUNCATE TABLE u", "0"),
        ("SELECT 1 / 0 AS a", "0"),
    ] {
        let seen = run(&mut session, &format!("{three} {statement} SELECT @@ROWCOUNT AS counted"));
        let set = seen.sets.iter().find(|set| set.0 == ["counted"]).expect("the batch went on");
        assert_eq!(set.1, [[expected]], "{statement}: {:?}", seen.messages);
        run(&mut session, "DROP TABLE #x IF @@TRANCOUNT > 0 ROLLBACK");
    }
}

/// An invalid SET ROWCOUNT does not change the setting.
#[test]
fn a_row_count_is_no_negative_number_and_not_null() {
    let world = World::new("row-count");
    let mut session = world.session();
    for wrong in ["SET ROWCOUNT -1", "DECLARE @n int SET ROWCOUNT @n", "DECLARE @n int = -7 SET ROWCOUNT @n"]
    {
        let seen = run(&mut session, &format!("SET ROWCOUNT 2; {wrong}"));
        assert_eq!(seen.messages.iter().map(|message| message.0).collect::<Vec<_>>(), [507], "{wrong}");
        assert_eq!(run(&mut session, "SELECT value FROM GENERATE_SERIES(1, 9)").sets[0].1.len(), 2);
    }
}

/// The documentation of SET IMPLICIT_TRANSACTIONS: which statements begin a transaction.
#[test]
fn only_documented_statements_begin_a_transaction() {
    let world = World::new("implicit");
    let mut session = world.session();
    run(&mut session, "CREATE TABLE t (i int) INSERT t VALUES (1)");
    for (statement, expected) in [
        ("SELECT 1 AS a", "0"),
        ("SELECT @@TRANCOUNT AS a", "0"),
        ("DECLARE @a int = 1 SELECT @a = 2", "0"),
        ("PRINT 'x'", "0"),
        ("SET NOCOUNT ON", "0"),
        ("DECLARE @t TABLE (i int)", "0"),
        ("SELECT i FROM t", "1"),
        ("SELECT (SELECT MAX(i) FROM t) AS a", "1"),
        ("DECLARE @a int SELECT @a = i FROM t", "1"),
        ("SELECT name FROM sys.tables", "1"),
        ("INSERT t VALUES (2)", "1"),
        ("UPDATE t SET i = 3", "1"),
        ("DELETE t", "1"),
        ("TRUNCATE TABLE t", "1"),
        ("CREATE TABLE u (i int)", "1"),
        ("ALTER TABLE t ADD j int", "1"),
        ("DROP TABLE t", "1"),
        // It is in the list itself, and adds its own level (example C of the documentation).
        ("BEGIN TRANSACTION", "2"),
        ("BEGIN TRANSACTION COMMIT", "1"),
        ("BEGIN TRANSACTION COMMIT COMMIT", "0"),
        ("SELECT i FROM t BEGIN TRANSACTION", "2"),
    ] {
        let seen = run(&mut session, &format!("SET IMPLICIT_TRANSACTIONS ON {statement}"));
        assert!(seen.messages.iter().all(|message| message.0 == 0), "{statement}: {:?}", seen.messages);
        run(&mut session, "SET IMPLICIT_TRANSACTIONS OFF SET NOCOUNT OFF");
        assert_eq!(rows(&mut session, "SELECT @@TRANCOUNT"), [expected], "{statement}");
        run(&mut session, "IF @@TRANCOUNT > 0 ROLLBACK");
    }
}

/// SET ANSI_NULLS takes effect from the next statement on, within its batch and after it; QUOTED_IDENTIFIER when the text is parsed.
#[test]
fn ansi_nulls_holds_from_the_next_statement_on() {
    let world = World::new("ansi-nulls");
    let mut session = world.session();
    let text = "SELECT 1 WHERE NULL = NULL SET ANSI_NULLS OFF SELECT 2 WHERE NULL = NULL SET ANSI_NULLS ON SELECT 3 WHERE NULL = NULL";
    for round in 0..3 {
        let seen = run(&mut session, text);
        let counts: Vec<usize> = seen.sets.iter().map(|set| set.1.len()).collect();
        assert_eq!(counts, [0, 1, 0], "round {round}");
    }
    let text = "DECLARE @i int = 0 WHILE @i < 4 BEGIN SELECT 1 WHERE NULL = NULL IF @i = 1 SET ANSI_NULLS OFF SET @i += 1 END";
    let seen = run(&mut session, text);
    let counts: Vec<usize> = seen.sets.iter().map(|set| set.1.len()).collect();
    assert_eq!(counts, [0, 0, 1, 1]);
    assert_eq!(rows(&mut session, "SELECT 1 WHERE NULL = NULL").len(), 1);
    run(&mut session, "SET ANSI_NULLS ON");
    assert_eq!(rows(&mut session, "SET QUOTED_IDENTIFIER OFF SELECT \"x\""), ["x"]);
}

#[test]
fn identity_insert_is_of_a_table_with_an_identity() {
    let world = World::new("identity-insert");
    let mut session = world.session();
    let text = "CREATE TABLE #t (i int IDENTITY, j int) SET IDENTITY_INSERT #t ON INSERT #t (i, j) VALUES (7, 1) SELECT i FROM #t";
    assert_eq!(rows(&mut session, text), ["7"]);
    assert_eq!(numbers(&run(&mut session, "SET IDENTITY_INSERT #none ON")), [1088]);
    let seen = run(&mut session, "CREATE TABLE u (i int) SET IDENTITY_INSERT u ON");
    assert_eq!(numbers(&seen), [8106]);
    let seen = run(&mut session, "CREATE TABLE w (i int IDENTITY) SET IDENTITY_INSERT w ON");
    assert_eq!(numbers(&seen), [8107]);
    assert!(seen.messages[0].2.contains("tempdb.dbo.#t"), "{:?}", seen.messages);
}

/// Statements refused at compilation, not at run time.
#[test]
fn what_is_wrong_is_found() {
    let world = World::new("found");
    let mut session = world.session();
    let many = format!("INSERT t VALUES {}", vec!["(1)"; 1001].join(", "));
    run(&mut session, "CREATE TABLE t (i int)");
    for (text, number) in [
        ("DECLARE @v text", 2739),
        ("DECLARE @v ntext = N'x'", 2739),
        (many.as_str(), 10738),
        ("CREATE TABLE two (a rowversion, b timestamp)", 2738),
        ("CREATE PROCEDURE p AS SELECT @missing", 137),
        ("CREATE PROCEDURE p @v nosuchtype AS SELECT 1", 2715),
        ("CREATE PROCEDURE p AS SELECT nosuchcolumn FROM t", 207),
        ("DECLARE @v int(5)", 2716),
        ("THROW", 10704),
    ] {
        assert_eq!(
            numbers(&run(&mut session, text)).first(),
            Some(&number),
            "{}",
            &text[..text.len().min(60)]
        );
    }
    let deferred =
        "CREATE PROCEDURE p AS BEGIN CREATE TABLE #x (i int) SELECT nosuch FROM #x SELECT a FROM missing END";
    assert!(run(&mut session, deferred).messages.is_empty());
}
