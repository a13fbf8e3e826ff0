//! ROLLUP, CUBE and GROUPING SETS equal the UNION ALL of single groupings, over rows with NULLs and over no rows at all.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::{World, numbers, run};
use hardpan_session::Session;

/// The rows of a query, in one order.
fn sorted(session: &mut Session, query: &str) -> Vec<Vec<String>> {
    let seen = run(session, query);
    assert!(seen.messages.iter().all(|message| message.0 == 8153), "{query}: {:?}", seen.messages);
    let mut rows = seen.sets.last().unwrap().1.clone();
    rows.sort();
    rows
}

const AGGREGATES: &str = "COUNT(*), COUNT(v), SUM(v), MIN(v), MAX(w), COUNT(DISTINCT v), SUM(1), AVG(v * 1.0), COUNT_BIG(*), MAX('x')";

/// GROUP BY clause; the same as single groupings, each as the list of what stands for a, b, c.
const CLAUSES: [(&str, &[[&str; 3]]); 12] = [
    ("ROLLUP (a, b)", &[["a", "b", ""], ["a", "", ""], ["", "", ""]]),
    ("a, b WITH ROLLUP", &[["a", "b", ""], ["a", "", ""], ["", "", ""]]),
    ("CUBE (a, b)", &[["a", "b", ""], ["a", "", ""], ["", "b", ""], ["", "", ""]]),
    ("a, b WITH CUBE", &[["a", "b", ""], ["a", "", ""], ["", "b", ""], ["", "", ""]]),
    ("GROUPING SETS ((a, b), c, ())", &[["a", "b", ""], ["", "", "c"], ["", "", ""]]),
    ("GROUPING SETS (a, a, (b, c))", &[["a", "", ""], ["a", "", ""], ["", "b", "c"]]),
    ("GROUPING SETS ((), ())", &[["", "", ""], ["", "", ""]]),
    (
        "GROUPING SETS (ROLLUP (a, b), CUBE (c))",
        &[["a", "b", ""], ["a", "", ""], ["", "", ""], ["", "", "c"], ["", "", ""]],
    ),
    ("a, ROLLUP (b, c)", &[["a", "b", "c"], ["a", "b", ""], ["a", "", ""]]),
    ("ROLLUP ((a, b), c)", &[["a", "b", "c"], ["a", "b", ""], ["", "", ""]]),
    ("ROLLUP (a), ROLLUP (b)", &[["a", "b", ""], ["a", "", ""], ["", "b", ""], ["", "", ""]]),
    ("GROUPING SETS ((c, b, a))", &[["a", "b", "c"]]),
];

fn compare(session: &mut Session, table: &str) {
    for (clause, sets) in CLAUSES {
        let named = |columns: &[&str; 3], name: &'static str, at: usize| match columns[at] {
            "" => "NULL",
            _ => name,
        };
        let all: Vec<[&str; 3]> = sets.to_vec();
        let used = |at: usize| all.iter().any(|set| !set[at].is_empty());
        let column = |at: usize, name: &'static str| if used(at) { name } else { "NULL" };
        let grouping =
            |at: usize, name: &str| if used(at) { format!("GROUPING({name})") } else { "0".to_string() };
        let query = format!(
            "SELECT {}, {}, {}, {}, {}, {}, {AGGREGATES} FROM {table} GROUP BY {clause}",
            column(0, "a"),
            column(1, "b"),
            column(2, "c"),
            grouping(0, "a"),
            grouping(1, "b"),
            grouping(2, "c"),
        );
        let single = |set: &[&str; 3]| {
            let keys: Vec<&str> = set.iter().copied().filter(|key| !key.is_empty()).collect();
            let keys = if keys.is_empty() { "()".to_string() } else { keys.join(", ") };
            let lacks = |at: usize| i32::from(used(at) && set[at].is_empty());
            format!(
                "SELECT {}, {}, {}, {}, {}, {}, {AGGREGATES} FROM {table} GROUP BY {keys}",
                named(set, "a", 0),
                named(set, "b", 1),
                named(set, "c", 2),
                lacks(0),
                lacks(1),
                lacks(2),
            )
        };
        let union = sets.iter().map(single).collect::<Vec<_>>().join(" UNION ALL ");
        assert_eq!(sorted(session, &query), sorted(session, &union), "{query}\n{union}");
    }
}

#[test]
fn grouping_sets_are_single_groupings_together() {
    let world = World::new("grouping-sets");
    let mut session = world.session();
    run(
        &mut session,
        "CREATE TABLE empty (a int NULL, b varchar(5) NULL, c int NOT NULL, v int NULL, w int NULL)
         CREATE TABLE t (a int NULL, b varchar(5) NULL, c int NOT NULL, v int NULL, w int NULL)
         CREATE INDEX ia ON t (a, b)
         INSERT t SELECT NULLIF(number % 4, 3), CHAR(65 + NULLIF(number % 5, 2)), number % 3, NULLIF(number % 7, 0), number
         FROM master..spt_values WHERE type = 'P' AND number < 500",
    );
    compare(&mut session, "t");
    compare(&mut session, "empty");
    compare(
        &mut session,
        "(SELECT x.a, x.b, y.c, x.v, y.w FROM t x LEFT JOIN t y ON y.w = x.w + 400 AND y.v > 3) q",
    );
}

#[test]
fn what_stands_above_reads_the_sets() {
    let world = World::new("grouping-sets-above");
    let mut session = world.session();
    run(
        &mut session,
        "CREATE TABLE sales (region varchar(10) NULL, year int NOT NULL, amount int NOT NULL)
         INSERT sales VALUES ('north', 2020, 10), ('north', 2021, 20), ('south', 2020, 5), (NULL, 2021, 7)",
    );
    let mut rows = |query: &str| {
        let seen = run(&mut session, query);
        assert!(seen.messages.is_empty(), "{query}: {:?}", seen.messages);
        seen.sets.last().unwrap().1.iter().map(|row| row.join(" ")).collect::<Vec<_>>()
    };
    assert_eq!(
        rows("SELECT CASE GROUPING(region) WHEN 1 THEN 'all' ELSE ISNULL(region, 'none') END, GROUPING_ID(region, year), SUM(amount)
              FROM sales GROUP BY ROLLUP (region, year) HAVING SUM(amount) > 5 ORDER BY GROUPING_ID(region, year), 1, 3"),
        ["none 0 7", "north 0 10", "north 0 20", "none 1 7", "north 1 30", "all 3 42"]
    );
    assert_eq!(
        rows("SELECT region, SUM(amount) FROM sales GROUP BY ROLLUP (region) HAVING GROUPING(region) = 1"),
        ["NULL 42"]
    );
    // A window over groups, a total found by NULL through a name that is used several times, an expression as the key.
    assert_eq!(
        rows("SELECT year, SUM(amount), RANK() OVER (PARTITION BY GROUPING(year) ORDER BY SUM(amount) DESC) FROM sales
              GROUP BY CUBE (year) ORDER BY GROUPING(year), year"),
        ["2020 15 2", "2021 27 1", "NULL 42 1"]
    );
    assert_eq!(
        rows("WITH found AS (SELECT year, COUNT(*) AS n FROM sales GROUP BY ROLLUP (year))
              SELECT COALESCE((SELECT n FROM found WHERE year IS NULL), 0), COALESCE((SELECT n FROM found WHERE year = 2020), 0)"),
        ["4 2"]
    );
    assert_eq!(
        rows(
            "SELECT year % 2, year / 1000, COUNT(*) FROM sales GROUP BY GROUPING SETS (year % 2, year / 1000) ORDER BY 1, 2"
        ),
        ["NULL 2 4", "0 NULL 2", "1 NULL 2"]
    );
    assert_eq!(
        rows("SELECT year, GROUPING(year), GROUPING_ID(year) FROM sales GROUP BY year ORDER BY 1"),
        ["2020 0 0", "2021 0 0"]
    );
}

#[test]
fn wrong_sets_have_their_errors() {
    let world = World::new("grouping-sets-wrong");
    let mut session = world.session();
    run(&mut session, "CREATE TABLE t (a int, b int, c int)");
    let many = |count: usize| (0..count).map(|at| format!("a + {at}")).collect::<Vec<_>>().join(", ");
    for (query, error) in [
        ("SELECT c FROM t GROUP BY ROLLUP (a, b)".to_string(), 8120),
        ("SELECT GROUPING(c) FROM t GROUP BY ROLLUP (a, b)".to_string(), 8161),
        ("SELECT GROUPING(a) FROM t".to_string(), 8161),
        ("SELECT GROUPING_ID(a, c) FROM t GROUP BY CUBE (a)".to_string(), 8161),
        ("SELECT GROUPING(a, b) FROM t GROUP BY CUBE (a, b)".to_string(), 174),
        ("SELECT 1 FROM t WHERE GROUPING(a) = 1 GROUP BY CUBE (a)".to_string(), 8161),
        ("SELECT a FROM t GROUP BY a, (b, c)".to_string(), 102),
        ("SELECT 1 FROM t GROUP BY ROLLUP (1)".to_string(), 164),
        ("SELECT 1 FROM t GROUP BY ROLLUP (a) WITH CUBE".to_string(), 10702),
        ("SELECT SUM(SUM(a)) FROM t GROUP BY ROLLUP (a)".to_string(), 130),
        ("SELECT CHECKSUM_AGG(b) FROM t GROUP BY ROLLUP (a)".to_string(), 8710),
        (format!("SELECT 1 FROM t GROUP BY CUBE ({})", many(13)), 10703),
        (format!("SELECT 1 FROM t GROUP BY ROLLUP ({})", many(33)), 10706),
    ] {
        assert_eq!(numbers(&run(&mut session, &query)), [error], "{query}");
    }
}
