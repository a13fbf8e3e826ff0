//! Eager aggregation below an outer join counts the row without a partner as aggregation above it does: values that are not NULL for it count.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test that takes the time")]

use crate::common::{World, run};

/// Every group of `a` has 20 rows of `b`, or the one without a partner: 1,000 of each.
const ROWS: &str = "CREATE TABLE a (k int NOT NULL PRIMARY KEY)
     CREATE TABLE b (k int NOT NULL, x int NULL)
     INSERT a SELECT number + 1 FROM master..spt_values WHERE type = 'P' AND number < 2000
     INSERT b SELECT s.number % 1000 + 1, t.number FROM master..spt_values s CROSS JOIN master..spt_values t
         WHERE s.type = 'P' AND s.number < 1000 AND t.type = 'P' AND t.number < 20";

#[test]
fn a_row_without_a_partner_counts_below_as_above() {
    let (_world, mut session) = World::in_database("early-groups");
    run(&mut session, ROWS);
    // The aggregate, the sum of it over all groups, and of how many groups it has a value.
    for (aggregate, sum, count) in [
        ("SUM(7)", "147000", "2000"),
        ("COUNT(1)", "21000", "2000"),
        ("COUNT(*)", "21000", "2000"),
        ("COUNT(b.x)", "20000", "2000"),
        ("COUNT(ISNULL(b.x, 0))", "21000", "2000"),
        ("SUM(ISNULL(b.x, 5))", "195000", "2000"),
        ("SUM(COALESCE(b.x, 5) + 0)", "195000", "2000"),
        ("SUM(b.x)", "190000", "1000"),
        ("SUM(b.x + 1)", "210000", "1000"),
        ("SUM(-b.x)", "-190000", "1000"),
        ("MAX(CASE WHEN b.x IS NULL THEN 1 END)", "1000", "1000"),
        ("MIN(CASE WHEN b.x > 3 THEN 2 ELSE 1 END)", "2000", "2000"),
        ("COUNT(DISTINCT ISNULL(b.x, 0))", "21000", "2000"),
    ] {
        for join in ["a LEFT JOIN b ON b.k = a.k", "b RIGHT JOIN a ON a.k = b.k"] {
            let query = format!(
                "SELECT SUM(v), COUNT(v) FROM (SELECT a.k, {aggregate} AS v FROM {join} GROUP BY a.k) q"
            );
            let seen = run(&mut session, &query);
            assert_eq!(seen.sets[0].1, [[sum, count]], "{query}");
        }
    }
}

/// Each grouping that could be made early was planned in both ways with all below it: eight inside each other took 280 times as long as where none can
/// be, now ten times.
#[test]
fn groupings_inside_groupings_are_planned_in_few_ways() {
    const LEVELS: usize = 8;
    let (_world, mut session) = World::in_database("early-groups-nested");
    run(
        &mut session,
        "CREATE TABLE a (k int NOT NULL PRIMARY KEY) CREATE TABLE e (k int NOT NULL) CREATE TABLE b (k int NOT NULL)
         INSERT a VALUES (1), (2), (3) INSERT e VALUES (1), (2), (3) INSERT b VALUES (1), (1), (3)",
    );
    let mut least = |table: &str| {
        let mut query =
            format!("SELECT t.k, COUNT(b.k) AS c FROM {table} t LEFT JOIN b ON b.k = t.k GROUP BY t.k");
        for _ in 1..LEVELS {
            query = format!(
                "SELECT t.k, COUNT(b.c) AS c FROM {table} t LEFT JOIN ({query}) b ON b.k = t.k GROUP BY t.k"
            );
        }
        let timed = |round: i32| {
            // Another text each time: it is planned anew.
            let text = format!("{query} HAVING COUNT(b.c) > {}", -round);
            let began = std::time::Instant::now();
            let seen = run(&mut session, &text);
            let took = began.elapsed();
            let mut rows = seen.sets[0].1.clone();
            rows.sort();
            assert_eq!(rows, [["1", "1"], ["2", "1"], ["3", "1"]], "{text}");
            took
        };
        (1..=5).map(timed).min().unwrap()
    };
    let (early, late) = (least("a"), least("e"));
    assert!(early < late * 80, "{early:?} against {late:?}");
}
