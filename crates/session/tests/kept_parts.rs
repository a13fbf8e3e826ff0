//! Uncorrelated groups and windows are computed once, however often the tree around them runs: SQL Server's spool. Parts that depend on
//! the outer row, are nondeterministic or number rows in their order are computed each time.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::{World, rows, run};
use hardpan_session::Session;

const TABLES: &str = "CREATE TABLE o (k int NOT NULL PRIMARY KEY, low int)
     INSERT o SELECT number, number * 7 FROM master..spt_values WHERE type = 'P' AND number BETWEEN 1 AND 40
     CREATE TABLE t (g int NOT NULL, v int NOT NULL)
     INSERT t SELECT number % 50, number FROM master..spt_values WHERE type = 'P' AND number < 2000";

fn prepared(name: &str) -> (World, Session) {
    let (world, mut session) = World::in_database(name);
    run(&mut session, TABLES);
    run(
        &mut session,
        "CREATE VIEW windows AS SELECT g, v, SUM(v) OVER (PARTITION BY g ORDER BY v) AS total FROM t",
    );
    run(&mut session, "CREATE VIEW groups AS SELECT g, COUNT(*) AS n, MAX(v) AS most FROM t GROUP BY g");
    run(&mut session, "UPDATE STATISTICS t UPDATE STATISTICS o");
    (world, session)
}

/// How many times `t` was read from its beginning.
fn reads_of_t(session: &mut Session, statement: &str) -> i64 {
    run(session, "SET STATISTICS PROFILE ON");
    let seen = run(session, statement);
    run(session, "SET STATISTICS PROFILE OFF");
    let profile = seen.sets.iter().flat_map(|set| &set.1).filter(|row| row.len() > 10);
    let reads = profile.filter(|row| row[2].contains("Scan(OBJECT:([d].[dbo].[t]"));
    let reads: Vec<i64> = reads.map(|row| row[1].parse().unwrap()).collect();
    assert!(!reads.is_empty(), "{statement} does not read t");
    reads.iter().sum()
}

#[test]
fn what_does_not_hang_on_the_outer_row_is_computed_once() {
    let (_world, mut session) = prepared("kept-once");
    for statement in [
        "SELECT k, (SELECT COUNT(*) FROM windows WHERE total <= o.low * o.k) FROM o",
        "SELECT k, (SELECT MAX(n) FROM groups WHERE most % 40 < o.low % 40) FROM o",
        "SELECT k, x.n FROM o CROSS APPLY (SELECT COUNT(*) AS n FROM windows WHERE total % 11 = o.k % 11 OR v < o.low) x",
        "SELECT k FROM o WHERE (SELECT SUM(total) FROM windows w JOIN groups s ON w.g = s.g WHERE w.v % 5 > o.k % 5) > 100",
    ] {
        let reads = reads_of_t(&mut session, statement);
        assert!(reads <= 2, "{statement}: t is read {reads} times");
    }
}

#[test]
fn the_answers_are_those_of_computing_it_each_time() {
    let (_world, mut session) = prepared("kept-answers");
    // The same with the groups and windows in tables.
    run(&mut session, "SELECT * INTO kept_windows FROM windows SELECT * INTO kept_groups FROM groups");
    for statement in [
        "SELECT k, (SELECT COUNT(*) FROM windows WHERE total <= o.low * o.k) FROM o ORDER BY 1",
        "SELECT k, (SELECT MAX(n) FROM groups WHERE most % 40 < o.low % 40) FROM o ORDER BY 1",
        "SELECT k, x.n FROM o OUTER APPLY (SELECT TOP (1) n + most AS n FROM groups WHERE g > o.k ORDER BY g) x ORDER BY 1",
        "SELECT k FROM o WHERE EXISTS (SELECT 1 FROM windows WHERE total = o.low) ORDER BY 1",
        "SELECT k, (SELECT SUM(s.n) FROM windows w JOIN groups s ON w.g = s.g WHERE w.v % 5 > o.k % 5) FROM o ORDER BY 1",
    ] {
        let plain = statement.replace("FROM windows", "FROM kept_windows").replace(" groups", " kept_groups");
        assert_eq!(rows(&mut session, statement), rows(&mut session, &plain), "{statement}");
    }
    // A statement keeps nothing for the next one.
    let count =
        "SELECT SUM(n) FROM (SELECT (SELECT COUNT(*) FROM windows WHERE total >= o.low) AS n FROM o) x";
    let before: i64 = rows(&mut session, count)[0].parse().unwrap();
    run(&mut session, "INSERT t VALUES (999, 100000)");
    assert_eq!(rows(&mut session, count)[0].parse::<i64>().unwrap(), before + 40);
}

#[test]
fn what_differs_from_row_to_row_is_asked_each_time() {
    let (_world, mut session) = prepared("kept-not");
    // Its groups depend on the outer row, or are nondeterministic.
    let statement = "SELECT k, (SELECT SUM(n) FROM (SELECT g, COUNT(*) AS n FROM t WHERE v % 40 < o.k GROUP BY g HAVING COUNT(*) > 1) x) FROM o";
    assert_eq!(reads_of_t(&mut session, statement), 40);
    let chance = "SELECT k, (SELECT SUM(n) FROM (SELECT g, COUNT(*) AS n FROM t WHERE ABS(CHECKSUM(NEWID())) % 2 = 0 GROUP BY g) x WHERE g < o.k + 9) FROM o";
    assert_eq!(reads_of_t(&mut session, chance), 40);
}

/// Numbers without an end, of which each outer row asks for a few.
#[test]
fn numbers_are_made_as_they_are_asked_for() {
    let (_world, mut session) = prepared("kept-numbers");
    let doubled =
        (1..=5).map(|at| format!(", l{at} AS (SELECT 1 AS c FROM l{} a CROSS JOIN l{} b)", at - 1, at - 1));
    let statement = format!(
        "WITH l0 AS (SELECT 1 AS c UNION ALL SELECT 1){},
         n AS (SELECT ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) AS n FROM l5)
         SELECT SUM(s.n) FROM o CROSS APPLY (SELECT TOP (o.k) n FROM n) s",
        doubled.collect::<String>()
    );
    assert_eq!(rows(&mut session, &statement), ["11480"]);
}
