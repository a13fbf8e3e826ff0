//! Long or deeply nested texts, as programs generate them, run or are refused with an error: with superlinear time this test would
//! not end.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::{World, numbers, rows, run};

fn list(count: usize, separator: &str, item: impl Fn(usize) -> String) -> String {
    (0..count).map(item).collect::<Vec<_>>().join(separator)
}

/// `depth` common table expressions, each of which joins the one before with itself.
fn doubling(depth: usize) -> String {
    let each = list(depth, "", |d| format!(", c{} AS (SELECT a.i FROM c{d} a, c{d} b)", d + 1));
    format!("WITH c0 AS (SELECT 1 i){each} SELECT COUNT(*) FROM c{depth}")
}

#[test]
fn names_that_stand_for_more_and_more() {
    let world = World::new("large-doubling");
    let mut s = world.session();
    assert_eq!(rows(&mut s, &doubling(8)), ["1"]);
    for depth in [14, 40] {
        assert_eq!(numbers(&run(&mut s, &doubling(depth))), [8623], "{depth}");
    }
    // Views double as well.
    run(&mut s, "CREATE VIEW v0 AS SELECT 1 i");
    let mut refused = None;
    for d in 0..16 {
        let made =
            run(&mut s, &format!("CREATE VIEW v{} AS SELECT a.i FROM v{d} a CROSS JOIN v{d} b", d + 1));
        let seen = run(&mut s, &format!("SELECT COUNT(*) FROM v{}", d + 1));
        if !seen.messages.is_empty() && refused.is_none() {
            refused = Some((d, numbers(if made.messages.is_empty() { &seen } else { &made })));
        }
    }
    let (depth, found) = refused.unwrap();
    assert!(depth >= 7, "{depth}");
    assert_eq!(found, [8623]);
    // A statement that names one thing many times is no such statement.
    let text = format!(
        "WITH c AS (SELECT 1 i) SELECT SUM(i) FROM ({}) x",
        list(1500, " UNION ALL ", |_| "SELECT i FROM c".into())
    );
    assert_eq!(rows(&mut s, &text), ["1500"]);
}

#[test]
fn many_variables_and_labels() {
    let world = World::new("large-variables");
    let mut s = world.session();
    let text = list(100_000, "\n", |i| format!("DECLARE @v{i} int"));
    assert_eq!(rows(&mut s, &format!("{text}\nSET @v99999 = 7 SELECT @V99999")), ["7"]);
    let text = list(100_000, ",", |i| format!("@v{i} int = {i}"));
    assert_eq!(rows(&mut s, &format!("DECLARE {text} SELECT @v0 + @v99999")), ["99999"]);
    assert_eq!(numbers(&run(&mut s, &format!("DECLARE {text}, @V5 int"))), [134]);
    let text = list(20_000, "\n", |i| format!("GOTO l{i}\nl{i}:"));
    assert_eq!(rows(&mut s, &format!("{text} SELECT 1")), ["1"]);
    // A parameter is the first variable of its name.
    run(&mut s, "CREATE PROCEDURE p @a int, @B int AS SET @b = @A + 1 SELECT @a, @b");
    assert_eq!(rows(&mut s, "EXEC p 1, 5"), ["1|2"]);
}

#[test]
fn long_lists() {
    let world = World::new("large-lists");
    let mut s = world.session();
    run(
        &mut s,
        "CREATE TABLE t (a int NOT NULL PRIMARY KEY, b int, c varchar(20) COLLATE Latin1_General_CI_AS, d decimal(9, 2))",
    );
    let values = list(1000, ",", |i| format!("({i}, {i}, 'V{i}', {i}.50)"));
    run(&mut s, &format!("INSERT t VALUES {values}"));
    run(&mut s, "INSERT t (a) VALUES (-1)");
    let integers = list(500_000, ",", |i| (i * 2).to_string());
    let texts = list(500_000, ",", |i| format!("'v{i}  '"));
    let count = |text: &str| format!("SELECT COUNT(*) FROM t WHERE {text}");
    for (condition, expected) in [
        (format!("a IN ({integers})"), "500"),
        (format!("b IN ({integers})"), "500"),
        (format!("b NOT IN ({integers})"), "500"),
        (format!("b IN (NULL, {integers})"), "500"),
        (format!("b NOT IN (NULL, {integers})"), "0"),
        // The collation makes keys of what it finds equal, trailing blanks among it.
        (format!("c IN ({texts})"), "1000"),
        (format!("c COLLATE Latin1_General_CS_AS IN ({texts})"), "0"),
        // Scales differ, values do not.
        (format!("d IN ({})", list(100_000, ",", |i| format!("{i}.500"))), "1000"),
    ] {
        assert_eq!(rows(&mut s, &count(&condition)), [expected], "{}", &condition[..20]);
    }
    // What is no constant is compared beside the set, and NULL keeps its rule.
    let with = |declared: &str, item: &str, not: &str| {
        format!("DECLARE @v int = {declared} {}", count(&format!("b {not} IN ({item}, {integers})")))
    };
    assert_eq!(rows(&mut s, &with("3", "@v", "")), ["501"]);
    assert_eq!(rows(&mut s, &with("3", "@v", "NOT")), ["499"]);
    assert_eq!(rows(&mut s, &with("NULL", "@v", "NOT")), ["0"]);
    assert_eq!(rows(&mut s, &with("3", "a", "")), ["1000"]);
    // Other long texts.
    for (text, expected) in [
        (
            format!("SELECT SUM(i) FROM ({}) x", list(10_000, " UNION ALL ", |i| format!("SELECT {i} i"))),
            "49995000",
        ),
        (count(&list(10_000, " OR ", |i| format!("b = {i}"))), "1000"),
        (count(&list(10_000, " AND ", |i| format!("b <> {}", i + 1000))), "1000"),
        (
            format!("SELECT COUNT(*) FROM (VALUES {}) v(i)", list(100_000, ",", |i| format!("({i})"))),
            "100000",
        ),
        (
            format!(
                "SELECT TOP 1 CASE a {} END FROM t WHERE a = 9",
                list(10_000, " ", |i| format!("WHEN {i} THEN {i}"))
            ),
            "9",
        ),
    ] {
        assert_eq!(rows(&mut s, &text), [expected], "{}", &text[..30]);
    }
    let nested = format!("SELECT {} 1 {}", "CASE WHEN 1 = 1 THEN ".repeat(1000), " END".repeat(1000));
    assert_eq!(numbers(&run(&mut s, &nested))[0], 191);
    assert_eq!(numbers(&run(&mut s, &list(100_000, "\n", |_| "SET NOCOUNT ON".into()))), [0; 0]);
}
