//! `*` in a view or inline function stands for the columns that existed at its creation, until ALTER, sp_refreshview or sp_refreshsqlmodule.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::{World, numbers, rows, run};
use hardpan_session::Session;

fn made(name: &str) -> (World, Session) {
    let (world, mut session) = World::in_database(name);
    for text in [
        "CREATE TABLE t (id int NOT NULL, a int) INSERT t VALUES (1, 10) CREATE TABLE u (id int NOT NULL, b int) INSERT u VALUES (1, 20)",
        "CREATE VIEW v AS SELECT * FROM t",
    ] {
        assert!(numbers(&run(&mut session, text)).is_empty(), "{text}");
    }
    (world, session)
}

fn ok(session: &mut Session, text: &str) {
    let seen = run(session, text);
    assert!(seen.messages.iter().all(|message| message.0 == 15477), "{text}: {:?}", seen.messages);
}

/// Names of the columns of a query's rows, and of sys.columns.
fn names(session: &mut Session, source: &str) -> String {
    run(session, &format!("SELECT * FROM {source}")).sets[0].0.join(", ")
}

fn catalog_names(session: &mut Session, view: &str) -> String {
    let text =
        format!("SELECT name FROM sys.columns WHERE object_id = OBJECT_ID('{view}') ORDER BY column_id");
    rows(session, &text).join(", ")
}

#[test]
fn a_column_that_has_come_is_shown_once_the_view_is_made_anew() {
    let (mut world, mut session) = made("kept-stars");
    ok(&mut session, "ALTER TABLE t ADD c int NOT NULL DEFAULT 7");
    for _ in 0..2 {
        assert_eq!(names(&mut session, "v"), "id, a");
        assert_eq!(catalog_names(&mut session, "v"), "id, a");
        assert_eq!(run(&mut session, "EXEC sp_help 'v'").sets[1].1.len(), 2);
        assert_eq!(numbers(&run(&mut session, "SELECT c FROM v")), [207]);
        ok(&mut session, "DELETE v WHERE id = 2 INSERT v VALUES (2, 20) UPDATE v SET a = 21 WHERE id = 2");
        assert_eq!(rows(&mut session, "SELECT * FROM t WHERE id = 2"), ["2|21|7"]);
        drop(session);
        world.restart();
        session = world.session();
        run(&mut session, "USE d");
    }
    for (at, again) in [
        "EXEC sp_refreshview 'v'",
        "EXEC sp_refreshsqlmodule 'dbo.v'",
        "ALTER VIEW v AS SELECT * FROM t",
        "CREATE OR ALTER VIEW v AS SELECT * FROM t",
    ]
    .iter()
    .enumerate()
    {
        let before = names(&mut session, "v");
        ok(&mut session, &format!("ALTER TABLE t ADD n{at} int"));
        assert_eq!(names(&mut session, "v"), before, "{again}");
        ok(&mut session, again);
        let all = names(&mut session, "t");
        assert!(all.ends_with(&format!("n{at}")), "{all}");
        assert_eq!(names(&mut session, "v"), all, "{again}");
        assert_eq!(catalog_names(&mut session, "v"), all, "{again}");
    }
}

#[test]
fn a_view_whose_column_is_gone_cannot_be_used() {
    let (_world, mut session) = made("gone-columns");
    ok(&mut session, "ALTER TABLE t DROP COLUMN a");
    for (text, name) in
        [("SELECT id FROM v", "v"), ("SELECT * FROM dbo.v", "dbo.v"), ("INSERT v VALUES (3, 3)", "v")]
    {
        let seen = run(&mut session, text);
        assert_eq!(numbers(&seen), [4502, 4413], "{text}");
        assert!(
            seen.messages.iter().all(|message| message.2.contains(&format!("'{name}'"))),
            "{:?}",
            seen.messages
        );
    }
    assert_eq!(catalog_names(&mut session, "v"), "");
    ok(&mut session, "EXEC sp_refreshview 'v'");
    assert_eq!(names(&mut session, "v"), "id");
    ok(&mut session, "ALTER TABLE t ADD c int");
    ok(&mut session, "EXEC sp_refreshview 'v'");
    // Renamed it is the same column, but for a view that names it.
    ok(&mut session, "CREATE VIEW named AS SELECT id, c AS d FROM t");
    ok(&mut session, "EXEC sp_rename 't.c', 'e', 'COLUMN'");
    assert_eq!(numbers(&run(&mut session, "SELECT d FROM named")), [207, 4413]);
    ok(&mut session, "UPDATE t SET e = 5");
    assert_eq!(names(&mut session, "v"), "id, c");
    assert_eq!(rows(&mut session, "SELECT c FROM v"), ["5"]);
    ok(&mut session, "EXEC sp_rename 't.e', 'c', 'COLUMN'");
    assert_eq!(names(&mut session, "named"), "id, d");
    assert_eq!(names(&mut session, "v"), "id, c");
    // The same table made anew with more columns.
    ok(&mut session, "DROP TABLE t CREATE TABLE t (x int, c int, id int)");
    assert_eq!(names(&mut session, "v"), "id, c");
}

#[test]
fn each_star_of_a_text_keeps_its_columns() {
    let (_world, mut session) = made("each-star");
    for (view, text, before, after) in [
        ("v1", "SELECT t.*, u.b AS ub FROM t JOIN u ON u.id = t.id", "id, a, ub", "id, a, c, ub"),
        ("v2", "SELECT u.*, 1 AS one, t.a FROM t, u", "id, b, one, a", "id, b, d, one, a"),
        ("v3", "SELECT * FROM (SELECT * FROM t) q", "id, a", "id, a, c"),
        (
            "v4",
            "WITH q AS (SELECT * FROM t) SELECT p.*, 5 AS five FROM q p JOIN q r ON p.id = r.id",
            "id, a, five",
            "id, a, c, five",
        ),
        ("v5", "SELECT * FROM t UNION ALL SELECT * FROM u", "id, a", "id, a, c"),
        (
            "v6",
            "SELECT x.a, y.* FROM t x CROSS APPLY (SELECT * FROM u WHERE u.id = x.id) y",
            "a, id, b",
            "a, id, b, d",
        ),
        ("v7", "SELECT * FROM v", "id, a", "id, a"),
        ("v8 (p, q)", "SELECT * FROM t", "p, q", ""),
        ("v9", "SELECT id FROM t WHERE EXISTS (SELECT * FROM u)", "id", "id"),
        ("[v ] /* * */ 10]", "/* * */ SELECT N'*' AS s, * FROM t", "s, id, a", "s, id, a, c"),
    ] {
        let name = view.split(" (").next().unwrap();
        let name = if view.starts_with('[') { "[v ]] /* * */ 10]" } else { name };
        let list = view.strip_prefix(name).unwrap_or_default();
        run(&mut session, &format!("DROP VIEW IF EXISTS {name}"));
        ok(&mut session, &format!("CREATE VIEW {name}{list} AS {text}"));
        assert_eq!(names(&mut session, name), before, "{text}");
        ok(&mut session, "ALTER TABLE t ADD c int ALTER TABLE u ADD d int");
        let rows_before = rows(&mut session, &format!("SELECT * FROM {name}")).len();
        assert_eq!(names(&mut session, name), before, "{text}");
        let quoted = name.replace('\'', "''");
        let seen = run(&mut session, &format!("EXEC sp_refreshview N'{quoted}'"));
        if after.is_empty() {
            assert_eq!(numbers(&seen), [8158], "{text}");
        } else {
            assert!(numbers(&seen).is_empty(), "{text}: {:?}", seen.messages);
            assert_eq!(names(&mut session, name), after, "{text}");
        }
        assert!(rows_before > 0, "{text}");
        ok(&mut session, &format!("DROP VIEW {name}"));
        // A `*` in EXISTS creates no dependency.
        ok(&mut session, "ALTER TABLE t DROP COLUMN c ALTER TABLE u DROP COLUMN d");
    }
}

#[test]
fn views_over_views_follow_one_by_one() {
    let (_world, mut session) = made("views-over-views");
    ok(&mut session, "CREATE VIEW w AS SELECT * FROM v");
    ok(&mut session, "ALTER TABLE t ADD c int");
    ok(&mut session, "EXEC sp_refreshview 'w'");
    assert_eq!(names(&mut session, "w"), "id, a");
    ok(&mut session, "EXEC sp_refreshview 'v'");
    assert_eq!(
        (names(&mut session, "v"), names(&mut session, "w")),
        ("id, a, c".to_string(), "id, a".to_string())
    );
    ok(&mut session, "EXEC sp_refreshview 'w'");
    assert_eq!(names(&mut session, "w"), "id, a, c");
    ok(&mut session, "ALTER TABLE t DROP COLUMN c");
    let seen = run(&mut session, "SELECT * FROM w");
    assert_eq!(numbers(&seen), [4502, 4413]);
    // What is rolled back was not refreshed.
    ok(&mut session, "EXEC sp_refreshview 'v' EXEC sp_refreshview 'w' ALTER TABLE t ADD e int");
    ok(&mut session, "BEGIN TRANSACTION EXEC sp_refreshview 'v'");
    assert_eq!(names(&mut session, "v"), "id, a, e");
    ok(&mut session, "ROLLBACK");
    assert_eq!(names(&mut session, "v"), "id, a");
}

#[test]
fn inline_functions_keep_theirs_too() {
    let (_world, mut session) = made("function-stars");
    ok(
        &mut session,
        "CREATE FUNCTION f (@n int) RETURNS TABLE AS RETURN SELECT t.*, @n AS n FROM t WHERE id = @n",
    );
    ok(&mut session, "ALTER TABLE t ADD c int");
    assert_eq!(names(&mut session, "f(1)"), "id, a, n");
    assert_eq!(rows(&mut session, "SELECT * FROM f(1)"), ["1|10|1"]);
    assert_eq!(catalog_names(&mut session, "f"), "id, a, n");
    ok(&mut session, "EXEC sp_refreshsqlmodule 'f'");
    assert_eq!(names(&mut session, "f(1)"), "id, a, c, n");
    assert_eq!(catalog_names(&mut session, "f"), "id, a, c, n");
    ok(&mut session, "ALTER TABLE t DROP COLUMN c");
    let seen = run(&mut session, "SELECT * FROM dbo.f(1)");
    assert_eq!(numbers(&seen), [4502, 4413]);
    assert!(seen.messages[0].2.contains("'dbo.f'"));
    // A view over it, and a procedure, whose `*` is of each run.
    ok(&mut session, "ALTER FUNCTION f (@n int) RETURNS TABLE AS RETURN SELECT * FROM t WHERE id = @n");
    ok(&mut session, "CREATE VIEW w AS SELECT * FROM f(1)");
    ok(&mut session, "CREATE PROCEDURE p AS SELECT * FROM t");
    ok(&mut session, "ALTER TABLE t ADD g int");
    assert_eq!(names(&mut session, "w"), "id, a");
    assert_eq!(run(&mut session, "EXEC p").sets[0].0.join(", "), "id, a, g");
}
