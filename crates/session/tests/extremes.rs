//! MIN and MAX of all rows of a table through the first rows of its indexes: they are those of all rows, and of nothing but them where an index does not
//! have the order.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::{World, numbers, rows, run};
use hardpan_session::Session;

const TABLE: &str = "CREATE TABLE t (k int NOT NULL PRIMARY KEY, a int NULL, b int NULL, c varchar(10) COLLATE Latin1_General_CI_AS NULL, f int NULL, x int NULL)
     CREATE INDEX a ON t (a)
     CREATE INDEX b ON t (b DESC)
     CREATE INDEX c ON t (c, a)
     CREATE INDEX f ON t (f) WHERE f IS NOT NULL
     CREATE INDEX xa ON t (x, a DESC)";

/// Values of a row by its number, and how many rows there are of them.
const FILLINGS: [(&str, u32); 5] = [
    ("n, n, n, STR(n, 5), n, n", 0),
    ("n, 7, -7, 'one', 1, 1", 1),
    ("n, NULL, NULL, NULL, NULL, NULL", 3000),
    (
        "n, NULLIF(n * 7 % 3001, 0) - 9, NULLIF(n * 11 % 2999, 1), 'c' + STR(n * 13 % 997, 4), NULLIF(n % 40, 0), n % 5",
        3000,
    ),
    (
        "n, CASE WHEN n = 2000 THEN 4 END, CASE WHEN n > 2990 THEN n END, CASE WHEN n % 2 = 0 THEN 'even' END, CASE n WHEN 5 THEN 5 END, 3",
        3000,
    ),
];

/// Statements, and so many first rows are read of many rows for them.
const STATEMENTS: [(&str, usize); 25] = [
    ("SELECT MIN(k), MAX(k) FROM t", 2),
    ("SELECT MAX(k) AS m, MIN(k) AS l, MAX(k) + 1 FROM t", 2),
    ("SELECT MIN(a), MAX(a) FROM t", 2),
    ("SELECT MIN(b), MAX(b) FROM t", 2),
    ("SELECT MIN(c), MAX(c) FROM t", 2),
    ("SELECT MIN(f), MAX(f) FROM t", 2),
    ("SELECT MIN(DISTINCT a), MAX(DISTINCT a) FROM t", 2),
    ("SELECT MIN(a), MAX(b), MIN(k), MAX(c) FROM t", 4),
    ("SELECT MAX(a) - MIN(a) FROM t HAVING MIN(b) IS NOT NULL OR MAX(k) IS NULL", 4),
    ("SELECT MIN(a), MAX(a) FROM t WHERE x = 3", 2),
    ("SELECT MIN(a), MAX(a) FROM t WHERE a > 100 AND a < 2000", 2),
    ("SELECT MIN(k), MAX(k) FROM t WHERE k BETWEEN 100 AND 2500", 2),
    ("SELECT MIN(k), MAX(k) FROM t WHERE k > 100 AND k < 50", 0),
    ("SELECT MIN(a), MAX(a) FROM t WHERE a IS NULL", 0),
    ("SELECT MIN(p), MAX(q) FROM (SELECT a AS p, b AS q, 1 + x AS r FROM t) AS d", 2),
    ("SELECT d.low + d.high FROM (SELECT MIN(a) AS low, MAX(a) AS high FROM t) AS d", 2),
    (
        "SELECT v.n, d.* FROM (VALUES (0), (1), (3), (NULL)) AS v (n) CROSS APPLY (SELECT MIN(a) AS low, MAX(a) AS high FROM t WHERE x = v.n) AS d",
        2,
    ),
    (
        "SELECT v.n, d.* FROM (VALUES (0), (1), (3), (NULL)) AS v (n) OUTER APPLY (SELECT MIN(k) AS low, MAX(k) AS high FROM t WHERE k >= v.n) AS d",
        2,
    ),
    (
        "WITH r AS (SELECT MIN(k) AS low, MAX(k) AS high FROM t) SELECT p.low, q.high FROM r AS p JOIN r AS q ON p.low < q.high",
        2,
    ),
    // Something is asked of all rows.
    ("SELECT MIN(a), MAX(a), COUNT(*) FROM t", 0),
    ("SELECT MIN(a), MAX(x + 1) FROM t", 0),
    ("SELECT MIN(a), MAX(f + 0) FROM t WHERE f > 3", 0),
    ("SELECT MIN(k), MAX(k) FROM t WHERE k IN (SELECT a FROM t)", 0),
    ("SELECT MIN(k), MAX(k) FROM t WHERE k >= LEN(CAST(NEWID() AS varchar(40))) - 36", 0),
    ("SELECT x, MIN(a), MAX(a) FROM t GROUP BY x", 0),
];

const NAIVE: &str = " OPTION (USE HINT ('HARDPAN_NAIVE_PLAN'))";

/// In how many places a plan stops behind the first row.
fn first_rows(session: &mut Session, statement: &str) -> usize {
    run(session, "SET SHOWPLAN_TEXT ON");
    let seen = run(session, statement);
    run(session, "SET SHOWPLAN_TEXT OFF");
    let lines = seen.sets.iter().flat_map(|set| &set.1);
    lines.filter(|row| row[0].contains("TOP EXPRESSION")).count()
}

/// The rows, whether or not a warning says that NULLs were left out.
fn sorted(session: &mut Session, statement: &str) -> Vec<String> {
    let seen = run(session, statement);
    assert!(
        numbers(&seen).iter().all(|number| [0, 8153].contains(number)),
        "{statement}: {:?}",
        seen.messages
    );
    let mut found: Vec<String> = seen.sets.iter().flat_map(|set| &set.1).map(|row| row.join("|")).collect();
    found.sort();
    found
}

#[test]
fn first_rows_have_the_extremes_of_all_rows() {
    let (_world, mut session) = World::in_database("extremes");
    let made = run(&mut session, TABLE);
    assert!(numbers(&made).iter().all(|number| *number == 0), "{:?}", made.messages);
    for (values, count) in FILLINGS {
        run(&mut session, "TRUNCATE TABLE t");
        let insert = format!(
            "INSERT t SELECT {values} FROM (SELECT value AS n FROM GENERATE_SERIES(1, {count}) WHERE value BETWEEN 1 AND {count}) AS s"
        );
        let made = run(&mut session, &insert);
        assert!(numbers(&made).iter().all(|number| *number == 0), "{insert}: {:?}", made.messages);
        assert_eq!(rows(&mut session, "SELECT COUNT(*) FROM t"), [count.to_string()]);
        for (statement, _) in STATEMENTS {
            let expected = sorted(&mut session, &format!("{statement}{NAIVE}"));
            let preferred = " OPTION (USE HINT ('HARDPAN_PREFER_RULE_FIRST_ROW_AGGREGATE'))";
            for hint in ["", preferred] {
                let found = sorted(&mut session, &format!("{statement}{hint}"));
                assert_eq!(found, expected, "{statement}{hint} of {count} rows {values}");
            }
        }
        let is_varied = values.contains('%') && !values.contains("CASE");
        for (statement, expected) in STATEMENTS.iter().filter(|_| is_varied) {
            assert_eq!(first_rows(&mut session, statement), *expected, "{statement}");
        }
    }
    assert_eq!(rows(&mut session, "SELECT MIN(a), MAX(a), MIN(b), MAX(b) FROM t"), ["4|4|2991|3000"]);
    session.close();
}
