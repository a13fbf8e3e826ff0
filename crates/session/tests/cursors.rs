//! Cursors: the messages of their statements and loops, and sessions side by side. Their results are in `scripts/cursors.test`.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::{World, numbers, rows, run};

fn texts(seen: &crate::common::Seen) -> Vec<String> {
    seen.messages.iter().map(|message| message.2.clone()).collect()
}

#[test]
fn a_loop_prints_each_row_once() {
    let world = World::new("cursor-print");
    let mut session = world.session();
    let text = "DECLARE @k int; DECLARE c CURSOR LOCAL FAST_FORWARD FOR SELECT v.k FROM (VALUES (1), (2)) AS v (k) ORDER BY v.k; \
                OPEN c; FETCH NEXT FROM c INTO @k; WHILE @@FETCH_STATUS = 0 BEGIN PRINT @k; FETCH NEXT FROM c INTO @k; END \
                CLOSE c; DEALLOCATE c;";
    assert_eq!(texts(&run(&mut session, text)), ["1", "2"]);
    assert_eq!(texts(&run(&mut session, text)), ["1", "2"], "its program is kept");
    let text = "DECLARE @s nvarchar(20), @c CURSOR; SET @c = CURSOR FAST_FORWARD FOR SELECT N'a'; OPEN @c; FETCH NEXT FROM @c INTO @s; \
                PRINT @s; CLOSE @c; DEALLOCATE @c;";
    assert_eq!(texts(&run(&mut session, text)), ["a"]);
}

/// declare-cursor-transact-sql: TYPE_WARNING tells when the cursor is converted from the requested type to another.
#[test]
fn a_converted_cursor_warns_if_asked_to() {
    let world = World::new("cursor-warning");
    let mut session = world.session();
    run(&mut session, "CREATE TABLE t (i int NOT NULL PRIMARY KEY, j int) INSERT t VALUES (1, 1)");
    let opened = |options: &str, query: &str| {
        let mut session = world.session();
        numbers(&run(&mut session, &format!("DECLARE c CURSOR LOCAL {options} FOR {query} OPEN c")))
    };
    assert_eq!(opened("KEYSET TYPE_WARNING", "SELECT DISTINCT j FROM t"), [16956]);
    assert_eq!(opened("DYNAMIC TYPE_WARNING", "SELECT i FROM t ORDER BY j"), [16956]);
    assert_eq!(opened("DYNAMIC", "SELECT i FROM t ORDER BY j"), [0; 0]);
    assert_eq!(opened("DYNAMIC TYPE_WARNING", "SELECT i FROM t ORDER BY i DESC"), [0; 0]);
    assert_eq!(opened("STATIC TYPE_WARNING", "SELECT DISTINCT j FROM t"), [0; 0]);
}

#[test]
fn a_row_that_another_session_has_changed_is_not_changed() {
    let world = World::new("cursor-optimistic");
    let (mut one, mut other) = (world.session(), world.session());
    run(&mut one, "CREATE TABLE t (i int NOT NULL PRIMARY KEY, j int) INSERT t VALUES (1, 1), (2, 2)");
    run(&mut one, "DECLARE c CURSOR GLOBAL FOR SELECT i FROM t OPEN c FETCH c");
    run(&mut other, "UPDATE t SET j = 10 WHERE i = 1");
    let change = "UPDATE t SET j = 100 WHERE CURRENT OF c";
    assert_eq!(numbers(&run(&mut one, change)), [16934, 16947]);
    assert_eq!(rows(&mut one, "FETCH c"), ["2"]);
    assert_eq!(numbers(&run(&mut one, change)), [0; 0]);
    assert_eq!(rows(&mut one, "SELECT i, j FROM t"), ["1|10", "2|100"]);
    assert_eq!(numbers(&run(&mut other, "FETCH c")), [16916], "a global cursor is its session's");
}

/// The statement for a row by its key stays the same while the table changes and other definitions come and go.
#[test]
fn rows_are_read_while_the_table_changes() {
    let world = World::new("cursor-definitions");
    let (mut one, mut other) = (world.session(), world.session());
    run(
        &mut one,
        "CREATE TABLE t (i int NOT NULL PRIMARY KEY, j int) INSERT t VALUES (1, 1), (2, 2), (3, 3)",
    );
    run(&mut one, "DECLARE c CURSOR GLOBAL KEYSET FOR SELECT i, j FROM t OPEN c");
    assert_eq!(rows(&mut one, "FETCH c"), ["1|1"]);
    run(&mut other, "CREATE INDEX x ON t (j)");
    assert_eq!(rows(&mut one, "FETCH c"), ["2|2"]);
    run(&mut other, "DROP INDEX x ON t");
    assert_eq!(rows(&mut one, "SELECT CURSOR_STATUS('global', 'c')"), ["1"]);
    run(&mut other, "DROP TABLE t");
    assert_eq!(numbers(&run(&mut one, "FETCH c")), [16943]);
}
