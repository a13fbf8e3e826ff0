//! A predicate that uses no column of a subtree decides whether the subtree runs at all: SQL Server's "startup expression". Its results and
//! errors are those of a filter after each row.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::{World, numbers, rows, run};
use hardpan_session::Session;

const TABLES: &str = "CREATE TABLE t (k int NOT NULL PRIMARY KEY, v int) CREATE TABLE none (k int)
     INSERT t SELECT number, number % 3 FROM master..spt_values WHERE type = 'P' AND number < 300
     CREATE TABLE o (k int NOT NULL PRIMARY KEY, flag int, d int)
     INSERT o VALUES (1, 1, 1), (2, 0, 1), (3, 1, 1), (4, NULL, 1), (5, 0, 1), (6, 1, 1)";

/// How many times the operators that read `t` were started, and how many rows they returned.
fn read_of_t(session: &mut Session, statement: &str) -> (i64, i64) {
    run(session, "BEGIN TRANSACTION SET STATISTICS PROFILE ON");
    let seen = run(session, statement);
    run(session, "SET STATISTICS PROFILE OFF ROLLBACK");
    let profile = seen.sets.iter().flat_map(|set| &set.1).filter(|row| row.len() > 10);
    let read = profile.filter(|row| {
        ["Scan(OBJECT:([d].[dbo].[t].", "Seek(OBJECT:([d].[dbo].[t]."]
            .iter()
            .any(|read| row[2].contains(read))
    });
    let mut read =
        read.map(|row| (row[1].parse::<i64>().unwrap(), row[0].parse::<i64>().unwrap())).peekable();
    assert!(read.peek().is_some(), "{statement}: nothing reads t");
    read.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
}

#[test]
fn a_tree_is_started_only_when_its_predicate_holds() {
    let (_world, mut session) = World::in_database("startup-once");
    run(&mut session, TABLES);
    for (condition, starts) in [
        ("@p = 1", 1),
        ("@p = 2", 0),
        ("@null = 1", 0),
        ("@p = 1 AND @q = 2 AND v = 1", 1),
        ("@p = 1 AND @q = 3 AND v = 1", 0),
        ("DATEADD(day, @p, '20240101') > '20240105'", 0),
        ("@p IN (4, 5)", 0),
        ("@p LIKE '2%'", 0),
    ] {
        let declared = "DECLARE @p int = 1, @q int = 2, @null int";
        for statement in [
            format!("SELECT k FROM t WHERE {condition}"),
            format!("SELECT COUNT(*) FROM t WHERE {condition}"),
            format!("SELECT t.k FROM t JOIN o ON t.k = o.k AND {condition}"),
            format!("SELECT t.k FROM o LEFT JOIN t ON t.k = o.k AND {condition}"),
            format!("SELECT v, COUNT(*) FROM t WHERE {condition} GROUP BY v"),
            format!("SELECT k FROM t WHERE {condition} UNION ALL SELECT k FROM o"),
            format!("UPDATE t SET v = v + 1 WHERE {condition}"),
            format!("DELETE t WHERE {condition}"),
        ] {
            let (started, _) = read_of_t(&mut session, &format!("{declared} {statement}"));
            assert_eq!(started > 0, starts > 0, "{statement} started t {started} times");
        }
    }
}

/// For each outer row again: those with a flag start it, the others do not, in any order.
#[test]
fn an_inner_tree_is_started_for_the_rows_that_want_it() {
    let (_world, mut session) = World::in_database("startup-inner");
    run(&mut session, TABLES);
    for statement in [
        "SELECT o.k, (SELECT COUNT(*) FROM t WHERE o.flag = 1) FROM o",
        "SELECT o.k, x.n FROM o CROSS APPLY (SELECT COUNT(*) AS n FROM t WHERE o.flag = 1) x",
        "SELECT o.k, x.k FROM o OUTER APPLY (SELECT TOP (1) k FROM t WHERE o.flag = 1 AND v = 2) x",
    ] {
        let (started, given) = read_of_t(&mut session, statement);
        assert!(started <= 3 && given <= 900, "{statement}: {started} starts, {given} rows");
    }
}

#[test]
fn the_answers_are_those_of_a_filter_behind_each_row() {
    let (_world, mut session) = World::in_database("startup-answers");
    run(&mut session, TABLES);
    let counted = "1|300 2|0 3|300 4|0 5|0 6|300";
    for (statement, answer) in [
        ("SELECT o.k, (SELECT COUNT(*) FROM t WHERE o.flag = 1) FROM o ORDER BY 1", counted),
        (
            "SELECT o.k, x.n FROM o CROSS APPLY (SELECT COUNT(*) n FROM t WHERE o.flag = 1) x ORDER BY 1",
            counted,
        ),
        (
            "SELECT o.k, x.k FROM o OUTER APPLY (SELECT TOP (1) k FROM t WHERE o.flag = 1 AND v = 2 ORDER BY k) x ORDER BY 1",
            "1|2 2|NULL 3|2 4|NULL 5|NULL 6|2",
        ),
        (
            "SELECT o.k, t.v FROM o LEFT JOIN t ON t.k = o.k AND o.flag = 1 ORDER BY 1",
            "1|1 2|NULL 3|0 4|NULL 5|NULL 6|0",
        ),
        ("SELECT k FROM o WHERE NOT EXISTS (SELECT 1 FROM t WHERE o.flag = 1) ORDER BY 1", "2 4 5"),
        (
            "SELECT k FROM o WHERE EXISTS (SELECT 1 FROM t JOIN t s ON t.k = s.v AND o.flag = 1) ORDER BY 1",
            "1 3 6",
        ),
        ("SELECT k FROM o WHERE k NOT IN (SELECT v FROM t WHERE o.flag = 1) ORDER BY 1", "2 3 4 5 6"),
        ("SELECT COUNT(*) FROM o a FULL JOIN o b ON a.k = b.k AND a.flag = 1", "9"),
        ("SELECT COUNT(*) FROM (SELECT COUNT(*) n FROM t) x JOIN o ON o.k = x.n - 299 AND x.n > 1", "1"),
    ] {
        assert_eq!(rows(&mut session, statement).join(" "), answer, "{statement}");
    }
    // A scalar aggregate has a row without input rows, and a predicate above it none.
    assert_eq!(rows(&mut session, "DECLARE @p int = 2 SELECT COUNT(*) FROM t WHERE @p = 1"), ["0"]);
    let none = run(&mut session, "DECLARE @p int = 2 SELECT COUNT(*) FROM t HAVING @p = 1");
    assert_eq!((numbers(&none).len(), none.sets[0].1.len()), (0, 0));
    // By the same plan, with other values.
    run(&mut session, "CREATE PROCEDURE asked @p int AS SELECT COUNT(*) FROM t WHERE @p = 1");
    for (value, answer) in [("1", "300"), ("2", "0"), ("NULL", "0"), ("1", "300")] {
        assert_eq!(rows(&mut session, &format!("EXEC asked {value}")), [answer]);
    }
}

#[test]
fn a_predicate_that_fails_says_so_of_a_row_only() {
    let (_world, mut session) = World::in_database("startup-errors");
    run(&mut session, TABLES);
    let declared = "DECLARE @z int = 0";
    assert!(
        run(&mut session, &format!("{declared} SELECT k FROM none WHERE 1 / @z = 1")).messages.is_empty()
    );
    assert_eq!(numbers(&run(&mut session, &format!("{declared} SELECT k FROM t WHERE 1 / @z = 1"))), [8134]);
    assert!(
        run(&mut session, &format!("{declared} SELECT k FROM t WHERE v = 9 AND 1 / @z = 1"))
            .messages
            .is_empty()
    );
    // Rows that can be evaluated, and then one that raises an error.
    let judged = "SELECT o.k FROM o CROSS APPLY (SELECT COUNT(*) n FROM t WHERE 1 / (o.k - 3) < 9) x WHERE x.n >= 0 ORDER BY o.k";
    assert_eq!(numbers(&run(&mut session, judged)), [8134]);
    let without = judged.replace("FROM t", "FROM none");
    assert_eq!(rows(&mut session, &without).join(" "), "1 2 3 4 5 6");
    // A predicate with another value for each row is evaluated for each.
    let some =
        rows(&mut session, "SELECT COUNT(*) FROM t WHERE CAST(CAST(NEWID() AS binary(1)) AS int) < 128");
    let some: i32 = some[0].parse().unwrap();
    assert!((1..300).contains(&some), "{some} of 300 rows");
}

#[test]
fn the_plan_calls_it_a_startup_expression() {
    let (_world, mut session) = World::in_database("startup-plan");
    run(&mut session, TABLES);
    let statement = "DECLARE @p int = 1 SELECT k FROM t WHERE @p = 1 AND v = 2";
    run(&mut session, "SET SHOWPLAN_TEXT ON");
    let plan = run(&mut session, statement);
    run(&mut session, "SET SHOWPLAN_TEXT OFF");
    let lines: Vec<&String> = plan.sets.iter().flat_map(|set| &set.1).map(|row| &row[0]).collect();
    let filter = lines.iter().find(|line| line.contains("|--Filter")).unwrap();
    assert!(filter.contains("WHERE:(STARTUP EXPR([@p]=(1)))"), "{filter}");
    run(&mut session, "SET SHOWPLAN_XML ON");
    let plan = run(&mut session, statement);
    run(&mut session, "SET SHOWPLAN_XML OFF");
    assert!(plan.sets[0].1[0][0].contains("<Filter StartupExpression=\"1\">"), "{:?}", plan.sets[0].1);
}
