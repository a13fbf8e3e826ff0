//! Unused expressions are not computed: the select list of EXISTS, and columns of derived tables, common table expressions and views that the
//! statement does not name. So they raise no run-time errors, but errors of names and types. Expressions that DISTINCT, set operations, groups or
//! orders use are computed.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::{World, numbers, rows, run};
use hardpan_session::Session;

/// `t` has two rows and divides by zero with each, `e` none, `m` two rows of a table with a key.
fn made(name: &str) -> (World, Session) {
    let (world, mut session) = World::in_database(name);
    let seen = run(
        &mut session,
        "CREATE TABLE t (a int, b int) INSERT t VALUES (1, 0), (2, 0) CREATE TABLE e (a int, b int)
         CREATE TABLE m (id int NOT NULL PRIMARY KEY, v int) INSERT m VALUES (1, 1), (2, 2)",
    );
    assert!(seen.messages.is_empty(), "{:?}", seen.messages);
    run(&mut session, "CREATE VIEW bad AS SELECT a, 1 / b AS z FROM t");
    (world, session)
}

#[test]
fn the_select_list_of_exists_is_not_computed() {
    let (_world, mut session) = made("exists-lists");
    for (query, found) in [
        ("SELECT 1 / 0 FROM t", true),
        ("SELECT 1 / 0", true),
        ("SELECT 1 / 0 FROM e", false),
        ("SELECT 1 / b AS x, (SELECT 1 / 0) AS y FROM t", true),
        ("SELECT COUNT(*) FROM e", true),
        ("SELECT SUM(1 / b) FROM t", true),
        ("SELECT SUM(1 / b) FROM t HAVING COUNT(*) > 5", false),
        ("SELECT SUM(1 / b) FROM t GROUP BY a", true),
        ("SELECT SUM(1 / b) FROM e GROUP BY a", false),
        ("SELECT SUM(1 / b) FROM t GROUP BY a HAVING MIN(a) > 5", false),
        ("SELECT TOP 0 1 / b FROM t", false),
        ("SELECT TOP 1 1 / b FROM t", true),
        ("SELECT DISTINCT 1 / b FROM t", true),
        ("SELECT DISTINCT 1 / b FROM e", false),
        ("SELECT 1 / b FROM t UNION SELECT 1 / b FROM e", true),
        ("SELECT 1 / b FROM e UNION ALL SELECT 1 / b FROM e", false),
        ("SELECT 1 / b FROM t ORDER BY a OFFSET 1 ROWS", true),
        ("SELECT 1 / b FROM t ORDER BY a OFFSET 2 ROWS", false),
        ("SELECT ROW_NUMBER() OVER (ORDER BY 1 / b) FROM t", true),
        ("SELECT NEWID() FROM t", true),
        ("SELECT * FROM bad", true),
    ] {
        let expected = if found { "1" } else { "0" };
        let said = |test: &str| format!("SELECT IIF({test} ({query}), 1, 0)");
        assert_eq!(rows(&mut session, &said("EXISTS")), [expected], "{query}");
        let text = format!("SELECT CASE WHEN NOT EXISTS ({query}) THEN 0 ELSE 1 END");
        assert_eq!(rows(&mut session, &text), [expected], "{text}");
        let count = if found { "2" } else { "0" };
        let text = format!("SELECT COUNT(*) FROM m WHERE EXISTS ({query})");
        assert_eq!(rows(&mut session, &text), [count], "{text}");
        let text = format!("IF EXISTS ({query}) SELECT 1 ELSE SELECT 0");
        assert_eq!(rows(&mut session, &text), [expected], "{text}");
        let text = format!("DECLARE @n int = 0 WHILE @n < 3 AND EXISTS ({query}) SET @n += 3 SELECT @n / 3");
        assert_eq!(rows(&mut session, &text), [expected], "{text}");
    }
    // Correlated with the outer row.
    let tied = "SELECT id FROM m WHERE EXISTS (SELECT 1 / b FROM t WHERE t.a = m.id AND t.a > 1)";
    assert_eq!(rows(&mut session, tied), ["2"]);
    let tied = "SELECT id FROM m WHERE NOT EXISTS (SELECT m.id / b FROM t WHERE t.a = m.id AND t.a > 1)";
    assert_eq!(rows(&mut session, tied), ["1"]);
}

#[test]
fn changes_ask_no_more_than_they_read() {
    let (_world, mut session) = made("unused-in-changes");
    for text in [
        "UPDATE m SET v = 5 FROM m JOIN (SELECT a, 1 / b AS z FROM t) q ON q.a = m.id WHERE EXISTS (SELECT 1 / 0)",
        "UPDATE m SET v = CASE WHEN EXISTS (SELECT 1 / b FROM t) THEN 5 ELSE 6 END",
        "UPDATE m SET v = (SELECT COUNT(*) + 3 FROM (SELECT 1 / b AS z FROM t) q)",
        "MERGE m USING (SELECT a, 1 / b AS z FROM t) q ON q.a = m.id AND EXISTS (SELECT 1 / 0)
         WHEN MATCHED AND EXISTS (SELECT 1 / b FROM t) THEN UPDATE SET v = 5 WHEN NOT MATCHED THEN INSERT VALUES (q.a, 5);",
    ] {
        run(&mut session, "UPDATE m SET v = 0");
        let seen = run(&mut session, text);
        assert!(seen.messages.is_empty(), "{text}: {:?}", seen.messages);
        assert_eq!(rows(&mut session, "SELECT v FROM m"), ["5", "5"], "{text}");
    }
    let seen = run(&mut session, "DELETE m FROM m JOIN (SELECT a, 1 / b AS z FROM t) q ON q.a = m.id");
    assert_eq!((seen.counts, seen.messages), (vec![Some(2)], vec![]));
    let seen = run(&mut session, "INSERT m SELECT a, a FROM (SELECT a, 1 / b AS z FROM t) q");
    assert_eq!((seen.counts, seen.messages), (vec![Some(2)], vec![]));
    // OUTPUT names it.
    let seen = run(
        &mut session,
        "UPDATE m SET v = 6 OUTPUT q.z FROM m JOIN (SELECT a, 1 / b AS z FROM t) q ON q.a = m.id",
    );
    assert_eq!(numbers(&seen).first(), Some(&8134));
}

#[test]
fn columns_that_nobody_names_are_not_computed() {
    let (_world, mut session) = made("unused-columns");
    for (query, expected) in [
        ("SELECT COUNT(*) FROM (SELECT 1 / 0 AS z FROM t) q", "2"),
        ("SELECT a FROM (SELECT 1 / b AS z, a FROM t) q", "1, 2"),
        ("SELECT q.a FROM (SELECT 1 / b AS z, a FROM t) q JOIN m ON m.id = q.a", "1, 2"),
        ("SELECT m.id FROM m LEFT JOIN (SELECT 1 / b AS z, a FROM t) q ON m.id = q.a", "1, 2"),
        ("SELECT q.a FROM (SELECT 1 / b AS z, a FROM t UNION ALL SELECT 1 / b, a FROM t) q", "1, 2, 1, 2"),
        ("SELECT q.a FROM (SELECT TOP 5 1 / b AS z, a FROM t ORDER BY a DESC) q", "2, 1"),
        ("SELECT q.a FROM (SELECT 1 / b AS z, a FROM t ORDER BY a OFFSET 1 ROWS) q", "2"),
        ("SELECT x.w FROM t CROSS APPLY (SELECT 1 / t.b AS z, t.a + 1 AS w) x", "2, 3"),
        ("SELECT x.w FROM t o OUTER APPLY (SELECT 1 / b AS z, a AS w FROM t WHERE t.a = o.a) x", "1, 2"),
        (
            "SELECT x.n FROM t o CROSS APPLY (SELECT SUM(1 / b) AS z, COUNT(*) AS n FROM t WHERE t.a = o.a) x",
            "1, 1",
        ),
        ("SELECT q.g FROM (SELECT a AS g, SUM(1 / b) AS s FROM t GROUP BY a) q", "1, 2"),
        ("SELECT 7 FROM (SELECT SUM(1 / b) AS s FROM t) q", "7"),
        ("SELECT q.a FROM (SELECT a, ROW_NUMBER() OVER (ORDER BY 1 / b) AS n FROM t) q", "1, 2"),
        ("SELECT y FROM (VALUES (1 / 0, 1), (2, 3)) v (x, y)", "1, 3"),
        ("SELECT COUNT(*) FROM (VALUES (1 / 0), (2)) v (x)", "2"),
        ("SELECT a FROM bad", "1, 2"),
        ("SELECT COUNT(*) FROM bad", "2"),
        ("WITH c AS (SELECT 1 / b AS z, a FROM t) SELECT c1.a FROM c c1 JOIN c c2 ON c1.a = c2.a", "1, 2"),
        (
            "WITH c AS (SELECT a, COUNT(*) AS n, SUM(1 / b) AS z FROM t GROUP BY a)
             SELECT c1.a + c2.n FROM c c1 JOIN c c2 ON c1.a = c2.a",
            "2, 3",
        ),
        (
            "SELECT q.a FROM (SELECT a, 1 / x AS z FROM (SELECT a, b AS x FROM t UNION ALL SELECT a, 0 FROM e) p) q",
            "1, 2",
        ),
    ] {
        let found = rows(&mut session, query).join(", ");
        let sorted = |text: &str| {
            let mut parts: Vec<&str> = text.split(", ").collect();
            parts.sort_unstable();
            parts.join(", ")
        };
        assert_eq!(sorted(&found), sorted(expected), "{query}");
    }
}

#[test]
fn what_is_read_is_computed_and_what_is_wrong_is_told() {
    let (_world, mut session) = made("used-columns");
    for (text, number) in [
        ("SELECT z FROM (SELECT 1 / b AS z FROM t) q", 8134),
        ("SELECT a FROM (SELECT DISTINCT 1 / b AS z, a FROM t) q", 8134),
        ("SELECT a FROM (SELECT 1 / b AS z, a FROM t UNION SELECT 1, 1) q", 8134),
        ("SELECT a FROM (SELECT 1 / b AS z, a FROM t EXCEPT SELECT 1, 1) q", 8134),
        ("SELECT a FROM (SELECT 1 / b AS z, a FROM t INTERSECT SELECT 1, 1) q", 8134),
        ("SELECT a FROM (SELECT 1 / b AS z, MIN(a) AS a FROM t GROUP BY 1 / b) q", 8134),
        ("SELECT a FROM (SELECT TOP 1 1 / b AS z, a FROM t ORDER BY z) q", 8134),
        ("SELECT a FROM (SELECT 1 / b AS z, a FROM t) q WHERE z > 1", 8134),
        ("SELECT a FROM (SELECT 1 / b AS z, a FROM t) q ORDER BY z", 8134),
        ("SELECT a FROM bad JOIN m ON m.id = bad.z", 8134),
        ("IF EXISTS (SELECT 1 FROM t WHERE 1 / b = 1) PRINT 'x'", 8134),
        ("IF EXISTS (SELECT TOP (1 / 0) 1 FROM t) PRINT 'x'", 8134),
        ("IF EXISTS (SELECT nope FROM t) PRINT 'x'", 207),
        ("IF EXISTS (SELECT a + CAST('20000101' AS date) FROM t) PRINT 'x'", 206),
        ("IF EXISTS (SELECT a, COUNT(*) FROM t) PRINT 'x'", 8120),
        ("SELECT COUNT(*) FROM (SELECT nope AS z FROM t) q", 207),
        ("SELECT COUNT(*) FROM (SELECT 1 / 0 FROM t) q", 8155),
    ] {
        assert_eq!(numbers(&run(&mut session, text)).first(), Some(&number), "{text}");
    }
}
