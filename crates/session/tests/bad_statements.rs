//! Statements that are too deep, too long or too wide: error 191 (or similar) or success on the stack of a connection, and the session
//! stays usable. A stack overflow would end this test's process.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test prepares its folders itself and needs a thread of a given stack size"
)]

use crate::common::{World, numbers, rows, run};
use hardpan_session::Session;

/// What `server::Config` gives a connection's thread.
const CONNECTION_STACK_BYTES: usize = 1 << 20;

fn on_the_stack_of_a_connection(name: &'static str, body: impl FnOnce(&mut Session) + Send + 'static) {
    let run = move || {
        let world = World::new(name);
        let mut session = world.session();
        body(&mut session);
    };
    let thread = std::thread::Builder::new().stack_size(CONNECTION_STACK_BYTES).spawn(run).unwrap();
    thread.join().expect("no overflow, no panic");
}

/// Runs `text`: none of it fails, or `number` refuses it; either way the session goes on.
fn expect(session: &mut Session, text: &str, number: Option<i32>) {
    let seen = run(session, text);
    let head: String = text.chars().take(80).collect();
    match number {
        None => assert!(seen.messages.is_empty(), "{head}: {:?}", seen.messages),
        Some(number) => assert_eq!(numbers(&seen).first(), Some(&number), "{head}"),
    }
    assert_eq!(rows(session, "SELECT 1"), ["1"], "after {head}");
}

const DECLARE: &str = "DECLARE @i int = 1, @d decimal(10, 2) = 1, @s varchar(max) = 'x' ";

#[test]
fn nesting_has_an_end() {
    on_the_stack_of_a_connection("nesting", |session| {
        let nested = |before: &str, open: &str, inner: &str, close: &str, depth: usize| {
            format!("{DECLARE}{before}{}{inner}{}", open.repeat(depth), close.repeat(depth))
        };
        for (before, open, inner, close) in [
            ("SELECT ", "(@i+", "1", ")"),
            ("SELECT ", "- ", "@i", ""),
            ("SELECT ", "ABS(", "@d", ")"),
            ("SELECT ", "CASE WHEN @i = 1 THEN ", "@d", " END"),
            ("SELECT ", "CAST(", "@s", " AS nvarchar(max))"),
            ("SELECT ", "(SELECT ", "@i", ")"),
            ("SELECT 1 WHERE ", "NOT ", "@i = 2", ""),
            ("SELECT 1 WHERE ", "EXISTS (SELECT 1 WHERE ", "@i = 1", ")"),
            ("SELECT 1 WHERE ", "(@i = 2 OR ", "@i = 1", ")"),
            ("", "BEGIN ", "SET @i = 2", " END"),
            ("", "IF @i = 1 ", "SET @i = 2", ""),
            ("", "BEGIN TRY ", "SET @i = 2", " END TRY BEGIN CATCH END CATCH"),
        ] {
            expect(session, &nested(before, open, inner, close, 20), None);
            for depth in [1_000, 100_000] {
                expect(session, &nested(before, open, inner, close, depth), Some(191));
            }
        }
    });
}

#[test]
fn long_chains_run_or_are_refused() {
    on_the_stack_of_a_connection("chains", |session| {
        let chain = |before: &str, link: &str, last: &str, links: usize| {
            format!("{DECLARE}{before}{}{last}", link.repeat(links))
        };
        // These become balanced trees, constants or lists: any length will do.
        for (before, link, last) in [
            ("SELECT ", "1 + ", "1"),
            ("SELECT 1 WHERE ", "@i = 1 AND ", "1 = 1"),
            ("SELECT 1 WHERE ", "@i = 2 OR ", "1 = 1"),
            ("SELECT 1 WHERE ", "@d BETWEEN 0 AND 2 AND ", "1 = 1"),
            ("SELECT 1 WHERE @i IN (", "2, ", "1)"),
            ("SELECT CASE ", "WHEN @i = 2 THEN 1 ", "END"),
            ("SELECT COALESCE(", "NULLIF(@i, 1), ", "1)"),
            ("", "SELECT 1 UNION ALL ", "SELECT 2"),
            ("", "SELECT 1 UNION ", "SELECT 2"),
            ("IF @i = 2 SET @i = 3 ", "ELSE IF @i = 2 SET @i = 3 ", "ELSE SET @i = 4"),
        ] {
            expect(session, &chain(before, link, last, 5_000), None);
        }
        // These make a tree as deep as they are long.
        for (before, link, last, number) in [
            ("SELECT ", "@i + ", "@i", 191),
            ("SELECT ", "@d - ", "@d", 191),
            ("SELECT LEN(", "@s + ", "@s)", 191),
            ("SELECT ", "1 / 0 / ", "1", 191),
            ("", "SELECT 1 EXCEPT ", "SELECT 2", 191),
            ("", "SELECT 1 UNION ALL SELECT 1 UNION ", "SELECT 2", 191),
            ("SELECT COUNT(*) FROM ", "(SELECT 1 AS a) AS t, ", "(SELECT 1 AS a) AS t", 106),
            ("SELECT ", "1, ", "1", 1056),
        ] {
            for links in [5_000, 100_000] {
                expect(session, &chain(before, link, last, links), Some(number));
            }
        }
        expect(session, &chain("SELECT ", "@d - ", "@d", 700), None);
    });
}

/// Set operations keep their meaning as balanced trees.
#[test]
fn chains_of_set_operations_go_from_left_to_right() {
    on_the_stack_of_a_connection("set-operations", |session| {
        let text = "SELECT 1 AS a UNION ALL SELECT 1 UNION SELECT 2 UNION ALL SELECT 2 EXCEPT SELECT 1 UNION ALL SELECT 9";
        assert_eq!(rows(session, text), ["2", "9"]);
        let text = "SELECT 1 AS a UNION SELECT 1 UNION ALL SELECT 1 UNION ALL SELECT NULL UNION ALL SELECT 'x' WHERE 1 = 0";
        let seen = run(session, text);
        assert_eq!(seen.sets[0].0, ["a"], "the first query names the columns");
        assert_eq!(seen.sets[0].1.len(), 3);
        assert_eq!(rows(session, "SELECT 1 UNION ALL SELECT 2.5 UNION ALL SELECT 3"), ["1.0", "2.5", "3.0"]);
        assert_eq!(rows(session, "SELECT 3 AS a UNION SELECT 1 UNION SELECT 2 ORDER BY a"), ["1", "2", "3"]);
    });
}

/// The worst of everything at once: procedures as deep as they go, and at the bottom an expression as deep as it goes.
#[test]
fn nested_procedures_leave_room_for_deep_expressions() {
    on_the_stack_of_a_connection("procedures", |session| {
        let deep = format!("SELECT {}@d{}", "CASE WHEN @d = 1 THEN ".repeat(90), " END".repeat(90));
        expect(session, &format!("DECLARE @d decimal(10, 2) = 1 {deep}"), None);
        run(
            session,
            &format!(
                "CREATE PROCEDURE p @n int AS BEGIN TRY DECLARE @d decimal(10, 2) = 1 \
                 IF @n < 30 BEGIN SET @n += 1 EXEC p @n END ELSE {deep} END TRY BEGIN CATCH THROW END CATCH"
            ),
        );
        assert_eq!(rows(session, "EXEC p 0"), ["1.00"]);
        expect(session, "EXEC p -5", Some(217));
    });
}

/// What names a table in its message names the one that is being made.
#[test]
fn a_refused_column_is_told_with_its_table() {
    let world = World::new("bad-statements-named");
    let mut s = world.session();
    run(&mut s, "CREATE TABLE there (i int)");
    for (text, number, table) in [
        ("CREATE TABLE made (i int NULL IDENTITY)", 8147, "'made'"),
        ("CREATE TABLE dbo.[made too] (i int IDENTITY NULL)", 8147, "'made too'"),
        ("ALTER TABLE there ADD n int NULL IDENTITY", 8147, "'there'"),
        ("CREATE TABLE #made (i int NULL IDENTITY)", 8147, "'#made'"),
        ("DECLARE @made TABLE (i int NULL IDENTITY)", 8147, "'@made'"),
        ("CREATE TABLE made (a int, b AS a + 1, c AS b + 1)", 1759, "'made'"),
        ("ALTER TABLE there ADD b AS i + 1, c AS b + 1", 1759, "'there'"),
        ("SELECT IDENTITY(int) a, IDENTITY(int) b INTO made FROM there", 8108, "'made'"),
    ] {
        let seen = run(&mut s, text);
        assert_eq!(seen.messages[0].0, number, "{text}: {:?}", seen.messages);
        assert!(seen.messages[0].2.contains(table), "{text}: {:?}", seen.messages);
    }
}

#[test]
fn what_is_said_twice_or_without_its_columns_is_refused() {
    let world = World::new("bad-statements-twice");
    let mut s = world.session();
    run(&mut s, "CREATE TABLE t (a int)");
    for (text, number) in [
        ("CREATE TABLE n (a int UNIQUE UNIQUE)", 8148),
        ("CREATE TABLE n (a int CHECK (a > 0) CHECK (a < 9))", 8148),
        ("CREATE TABLE n (a int DEFAULT 1 DEFAULT 2)", 8148),
        ("CREATE TABLE n (a int PRIMARY KEY PRIMARY KEY)", 8148),
        ("ALTER TABLE t ADD n int UNIQUE UNIQUE", 8148),
        ("DECLARE @n TABLE (a int CHECK (a > 0) CHECK (a < 9))", 8148),
        ("CREATE TABLE n (a int, UNIQUE)", 8135),
        ("ALTER TABLE t ADD PRIMARY KEY", 8135),
        ("CREATE TABLE n (a int, b AS a NOT NULL)", 8183),
        ("CREATE TABLE n (a varchar(5, 2))", 2716),
        ("DECLARE @n float(5, 2)", 2716),
        ("SELECT CAST(1 AS varchar(5, 2))", 291),
        ("SELECT CAST(1 AS int(5))", 291),
        ("CREATE INDEX n ON t (a) WITH (FILLFACTOR = 50, FILLFACTOR = 60)", 1039),
        ("ALTER INDEX ALL ON t SET (ALLOW_ROW_LOCKS = ON, ALLOW_ROW_LOCKS = OFF)", 1039),
        ("CREATE INDEX n ON t (a) WITH (MAXDOP = ON)", 156),
        ("CREATE INDEX n ON t (a) WITH (ONLINE = MAYBE)", 102),
        ("CREATE TABLE n (a int PRIMARY KEY WITH (DATA_COMPRESSION = NONE, DATA_COMPRESSION = NONE))", 7711),
        ("ALTER TABLE t SET (LOCK_ESCALATION = SOME)", 102),
        ("CREATE PROCEDURE n @a int READONLY AS SELECT 1", 346),
        ("SELECT GREATEST()", 189),
    ] {
        let seen = run(&mut s, text);
        assert_eq!(numbers(&seen), [number], "{text}: {:?}", seen.messages);
    }
    let together = "CREATE TABLE n (a int UNIQUE CHECK (a > 0) DEFAULT 1 NOT NULL, CHECK (a < 9), UNIQUE (a), b decimal(5, 2))";
    assert!(run(&mut s, together).messages.is_empty());
}
