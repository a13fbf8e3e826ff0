//! What is refused by name ends its batch: nothing that stands behind it runs, and a transaction around it is rolled back.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use common::{World, numbers, rows, run};

/// Statements that are refused when they run, with the number that says so.
const REFUSED: [(&str, i32); 7] = [
    ("DECLARE c CURSOR FOR SELECT 1", 40517),
    ("OPEN c", 40517),
    ("BEGIN DISTRIBUTED TRANSACTION", 40517),
    ("CREATE SYNONYM s FOR t", 40517),
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

#[test]
fn a_loop_behind_a_refused_cursor_does_not_run() {
    let world = World::new("refused-cursor");
    let mut session = world.session();
    let text = "DECLARE c CURSOR FOR SELECT 1 OPEN c FETCH NEXT FROM c WHILE @@FETCH_STATUS = 0 SELECT 1";
    let seen = run(&mut session, text);
    assert_eq!(numbers(&seen), [40517]);
    assert!(seen.sets.is_empty());
}

#[test]
fn a_refusal_inside_a_procedure_or_dynamic_text_ends_the_whole_batch() {
    let world = World::new("refused-within");
    let mut session = world.session();
    run(&mut session, "CREATE PROCEDURE p AS BEGIN SELECT 1 OPEN c SELECT 2 END");
    for call in
        ["EXEC p", "EXEC('SELECT 1 OPEN c SELECT 2')", "EXEC sp_executesql N'SELECT 1 OPEN c SELECT 2'"]
    {
        let seen = run(&mut session, &format!("{call} SELECT 3"));
        assert_eq!(numbers(&seen), [40517], "{call}");
        assert_eq!(seen.sets.len(), 1, "{call}: only what stands before it");
    }
}

#[test]
fn a_caught_refusal_leaves_a_transaction_that_can_only_be_rolled_back() {
    let world = World::new("refused-caught");
    let mut session = world.session();
    let text = "BEGIN TRAN BEGIN TRY OPEN c END TRY BEGIN CATCH SELECT ERROR_NUMBER(), XACT_STATE() ROLLBACK END CATCH";
    assert_eq!(rows(&mut session, text), ["40517|-1"]);
}
