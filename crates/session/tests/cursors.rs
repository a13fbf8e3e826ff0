//! Cursors: the messages of their statements and loops, and sessions side by side. Their results are in `scripts/cursors.test`.
#![allow(clippy::unwrap_used, reason = "a test")]

use hardpan_session::Session;

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

/// A dynamic cursor reflects all changes to its rows: values, order and membership can change on each fetch (declare-cursor-transact-sql).
#[test]
fn a_dynamic_cursor_sees_rows_that_come_and_go() {
    let world = World::new("cursor-dynamic");
    let (mut one, mut other) = (world.session(), world.session());
    run(
        &mut one,
        "CREATE TABLE t (i int NOT NULL PRIMARY KEY, j int) INSERT t VALUES (10, 1), (20, 2), (30, 3)",
    );
    run(
        &mut one,
        "DECLARE c CURSOR GLOBAL SCROLL DYNAMIC FOR SELECT i, j FROM t WHERE j > 0 ORDER BY i DESC OPEN c",
    );
    assert_eq!(rows(&mut one, "FETCH c"), ["30|3"]);
    run(&mut other, "INSERT t VALUES (25, 4), (40, 5), (26, 0); DELETE t WHERE i = 30");
    assert_eq!(rows(&mut one, "FETCH c"), ["25|4"]);
    assert_eq!(rows(&mut one, "FETCH PRIOR FROM c"), ["40|5"], "the row that it stood on is gone");
    assert_eq!(rows(&mut one, "FETCH PRIOR FROM c"), [""; 0]);
    assert_eq!(
        rows(&mut one, "SELECT @@FETCH_STATUS, @@CURSOR_ROWS, CURSOR_STATUS('global', 'c')"),
        ["-1|-1|1"]
    );
    assert_eq!(rows(&mut one, "FETCH c"), ["40|5"]);
    run(&mut other, "UPDATE t SET i = 5 WHERE i = 25");
    assert_eq!(rows(&mut one, "FETCH RELATIVE 3 FROM c"), ["5|4"], "another key is another place");
    assert_eq!(rows(&mut one, "FETCH c"), [""; 0]);
    run(&mut other, "INSERT t VALUES (1, 1)");
    assert_eq!(rows(&mut one, "FETCH PRIOR FROM c"), ["1|1"]);
    run(&mut one, "UPDATE t SET j = 100 WHERE CURRENT OF c");
    assert_eq!(rows(&mut one, "FETCH RELATIVE 0 FROM c"), ["1|100"]);
    run(&mut other, "DELETE t WHERE i > 1");
    assert_eq!(rows(&mut one, "FETCH FIRST FROM c"), ["1|100"]);
    assert_eq!(rows(&mut one, "FETCH LAST FROM c"), ["1|100"]);
    run(&mut other, "DELETE t");
    assert_eq!(rows(&mut one, "FETCH FIRST FROM c"), [""; 0]);
    run(&mut other, "INSERT t VALUES (7, 7)");
    assert_eq!(rows(&mut one, "FETCH PRIOR FROM c"), ["7|7"]);
    run(&mut other, "DROP TABLE t");
    assert_eq!(numbers(&run(&mut one, "FETCH c")), [16943]);
}

/// Keys of several columns and in both directions, and names that the query gives to other columns.
#[test]
fn a_dynamic_cursor_follows_keys_of_several_columns() {
    let world = World::new("cursor-composite");
    let mut session = world.session();
    run(
        &mut session,
        "CREATE TABLE t (a int NOT NULL, b varchar(5) NOT NULL, n int, PRIMARY KEY (a, b DESC)); \
         INSERT t VALUES (1, 'x', 1), (1, 'y', 2), (2, 'x', 3), (2, 'z', 4), (3, 'x', 5)",
    );
    let all = |session: &mut Session, query: &str| {
        let text = format!(
            "DECLARE @n int, @all varchar(50) = ''; DECLARE c CURSOR LOCAL DYNAMIC FOR {query}; OPEN c; FETCH c INTO @n; \
             WHILE @@FETCH_STATUS = 0 BEGIN SET @all += CAST(@n AS varchar(5)); FETCH c INTO @n END; SELECT @all"
        );
        rows(session, &text).concat()
    };
    assert_eq!(all(&mut session, "SELECT n FROM t"), "21435");
    assert_eq!(all(&mut session, "SELECT n FROM t ORDER BY a"), "21435");
    assert_eq!(all(&mut session, "SELECT n FROM t ORDER BY a DESC"), "53412");
    assert_eq!(all(&mut session, "SELECT n FROM t ORDER BY a DESC, b"), "53412");
    assert_eq!(all(&mut session, "SELECT n FROM t ORDER BY a, b"), "12345");
    assert_eq!(all(&mut session, "SELECT n FROM t WHERE n <> 3 OR a = 9 ORDER BY a, b DESC"), "2145");
    assert_eq!(all(&mut session, "SELECT TOP (2) n FROM t ORDER BY a"), "21");
    assert_eq!(all(&mut session, "SELECT -n AS a FROM t ORDER BY a"), "-5-4-3-2-1");
    assert_eq!(all(&mut session, "SELECT n FROM t WHERE a > 5"), "");
}

/// sp-describe-cursor-transact-sql, sp-cursor-list-transact-sql and their kin: a report as a cursor.
#[test]
fn reports_about_cursors_are_cursors() {
    let world = World::new("cursor-reports");
    let mut s = world.session();
    run(
        &mut s,
        "CREATE TABLE t (i int NOT NULL PRIMARY KEY, j varchar(10) NULL) INSERT t VALUES (1, 'a'), (2, 'b')",
    );
    run(
        &mut s,
        "DECLARE abc CURSOR GLOBAL KEYSET FOR SELECT i, j + 'x' AS k, j FROM t ORDER BY i DESC OPEN abc",
    );
    let report = |s: &mut hardpan_session::Session, call: &str| {
        let text = format!(
            "DECLARE @r CURSOR; EXEC {call}; FETCH NEXT FROM @r; WHILE @@FETCH_STATUS <> -1 FETCH NEXT FROM @r; CLOSE @r"
        );
        let seen = run(s, &text);
        assert_eq!(numbers(&seen), [0; 0], "{call}: {:?}", seen.messages);
        let rows = seen.sets.iter().flat_map(|set| set.1.iter().map(|row| row.join("|")));
        rows.collect::<Vec<_>>()
    };
    let named = "@cursor_return = @r OUTPUT, @cursor_source = N'global', @cursor_identity = N'ABC'";
    assert_eq!(
        report(&mut s, &format!("master.dbo.sp_describe_cursor {named}")),
        ["abc|abc|2|1|2|3|1|1|2|-9|3|0|1|1"]
    );
    run(&mut s, "FETCH abc UPDATE t SET j = 'c' WHERE CURRENT OF abc");
    assert_eq!(report(&mut s, "sp_cursor_list @r OUTPUT, 2"), ["abc|abc|2|1|2|3|1|1|2|0|3|1|4|1"]);
    assert_eq!(report(&mut s, "sp_cursor_list @r OUTPUT, 1"), [""; 0]);
    let t = rows(&mut s, "SELECT OBJECT_ID('t')").concat();
    assert_eq!(
        report(&mut s, &format!("sp_describe_cursor_columns {named}")),
        [
            format!("i|0|18|4|56|10|0|1|D|0|1|{t}|1|master"),
            "k|1|4|11|167|0|0|0|NULL|0|-1|-1|-1|NULL".to_string(),
            format!("j|2|20|10|167|0|0|0|NULL|0|2|{t}|1|master"),
        ]
    );
    assert_eq!(
        report(&mut s, &format!("sp_describe_cursor_tables {named}")),
        [format!("dbo|t|0|0|test|{t}|1|master")]
    );
    let refused = |s: &mut hardpan_session::Session, call: &str| {
        numbers(&run(s, &format!("DECLARE @r CURSOR, @i int; EXEC {call}")))
    };
    assert_eq!(refused(&mut s, "sp_describe_cursor @r OUTPUT, N'global', N'none'"), [16916]);
    assert_eq!(refused(&mut s, "sp_describe_cursor @r OUTPUT, N'variable', N'@none'"), [16950]);
    assert_eq!(refused(&mut s, "sp_describe_cursor @r OUTPUT, N'other', N'abc'"), [16902]);
    assert_eq!(refused(&mut s, "sp_cursor_list @r OUTPUT, 4"), [16902]);
    assert_eq!(refused(&mut s, "sp_cursor_list @i OUTPUT, 1"), [206]);
}
