//! An order over the columns of one side of a join needs a sort of that side only: the join preserves its order. Results equal
//! those of a sort of all rows.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::{World, rows, run};
use hardpan_session::Session;

/// `a`, `b` and `c` of 40, 30 and 5 rows; `b` has NULLs in `w`, and texts that differ in case.
fn made(name: &str) -> (World, Session) {
    let (world, mut session) = World::in_database(name);
    let seen = run(
        &mut session,
        "CREATE TABLE a (k int NOT NULL, v int, s varchar(5)) CREATE TABLE b (k int NOT NULL, w int, s varchar(5))
         CREATE TABLE c (k int NOT NULL)
         INSERT a SELECT number, number * 7 % 11, CHAR(97 + number % 5) FROM master..spt_values WHERE type = 'P' AND number < 40
         INSERT b SELECT number, NULLIF(number * 5 % 9, 4), CHAR(65 + number % 2 * 32) FROM master..spt_values
             WHERE type = 'P' AND number < 30
         INSERT c SELECT number FROM master..spt_values WHERE type = 'P' AND number < 5",
    );
    assert!(seen.messages.is_empty(), "{:?}", seen.messages);
    (world, session)
}

fn plan(session: &mut Session, query: &str) -> Vec<String> {
    run(session, "SET SHOWPLAN_TEXT ON");
    let seen = run(session, query);
    run(session, "SET SHOWPLAN_TEXT OFF");
    let lines = seen.sets.iter().skip(1).flat_map(|set| &set.1).map(|row| row[0].clone());
    lines.collect()
}

/// Is there a sort, and is each below a join?
fn sorts_one_side(plan: &[String]) -> bool {
    let at = |word: &str| plan.iter().position(|line| line.contains(word));
    at("--Sort(").zip(at("Nested Loops")).is_some_and(|(sort, join)| sort > join)
}

#[test]
fn one_side_is_sorted_and_leads() {
    let (_world, mut session) = made("one-side");
    for (query, is_led) in [
        ("SELECT a.k, b.k FROM a CROSS JOIN b ORDER BY a.v", true),
        ("SELECT a.k, b.k FROM a CROSS JOIN b ORDER BY b.w DESC", true),
        ("SELECT a.k, b.k FROM a, b ORDER BY b.w, b.s DESC", true),
        ("SELECT TOP 7 a.k, b.k FROM a CROSS JOIN b ORDER BY b.w % 3 DESC", true),
        ("SELECT a.k, b.k, c.k FROM a CROSS JOIN b CROSS JOIN c ORDER BY c.k DESC", true),
        ("SELECT a.k, b.k, c.k FROM a CROSS JOIN b JOIN c ON c.k < b.w ORDER BY b.w", true),
        ("SELECT a.k, b.k FROM a LEFT JOIN b ON b.w > a.v ORDER BY a.v DESC", true),
        (
            "SELECT a.k, x.k FROM a CROSS APPLY (SELECT TOP 2 k FROM b WHERE b.w > a.v ORDER BY k) x ORDER BY a.s, a.v",
            true,
        ),
        (
            "SELECT a.k, x.k FROM a OUTER APPLY (SELECT TOP 2 k FROM b WHERE b.w > a.v ORDER BY k) x ORDER BY a.v",
            true,
        ),
        ("SELECT ROW_NUMBER() OVER (ORDER BY b.w) AS n, a.k FROM a CROSS JOIN b", true),
        ("SELECT ROW_NUMBER() OVER (PARTITION BY b.w ORDER BY b.s DESC) AS n, a.k FROM a CROSS JOIN b", true),
        ("SELECT SUM(a.k) OVER (PARTITION BY b.k) AS n FROM a CROSS JOIN b", true),
        // By columns of both sides, or of the inner side of an outer join.
        ("SELECT a.k, b.k FROM a CROSS JOIN b ORDER BY a.v, b.w", false),
        ("SELECT a.k, b.k FROM a CROSS JOIN b ORDER BY a.v + b.w", false),
        ("SELECT a.k, b.k FROM a LEFT JOIN b ON b.w > a.v ORDER BY b.w", false),
        ("SELECT a.k, b.k FROM a FULL JOIN b ON b.w > a.v ORDER BY a.v", false),
        // The expression might fail for a row that has no partner, or that a condition above the join drops.
        ("SELECT a.k, b.k FROM a JOIN b ON b.w > a.v ORDER BY 10 / a.k", false),
        ("SELECT a.k, b.k FROM a CROSS JOIN b ORDER BY 10 / a.k", false),
        ("SELECT a.k, b.k FROM a LEFT JOIN b ON b.w > a.v WHERE b.k IS NULL ORDER BY 10 / a.k", false),
    ] {
        let plan = plan(&mut session, query);
        assert_eq!(sorts_one_side(&plan), is_led, "{query}\n{}", plan.join("\n"));
    }
}

/// The rows of a side are in the result only when the other side has rows and the conditions above the join let them through: what fails for others
/// does not fail.
#[test]
fn a_side_is_not_sorted_by_what_fails_for_rows_that_the_result_lacks() {
    let (_world, mut session) = made("one-side-failing");
    for query in [
        "SELECT a.k FROM a CROSS JOIN (SELECT k FROM b WHERE k < 0) AS x ORDER BY 10 / a.k",
        "SELECT a.k FROM a LEFT JOIN b ON b.k = 0 WHERE a.k + b.k > 100 ORDER BY 10 / a.k",
        "SELECT a.k FROM a OUTER APPLY (SELECT TOP 1 w FROM b WHERE b.k < a.v ORDER BY k) AS x WHERE a.k + x.w > 100 ORDER BY 10 / a.k",
    ] {
        let query = format!("{query} OPTION (USE HINT ('HARDPAN_PREFER_RULE_ONE_SIDED_SORT'))");
        let seen = run(&mut session, &query);
        assert!(seen.messages.is_empty(), "{query}: {:?}", seen.messages);
        assert!(rows(&mut session, &query).is_empty(), "{query}");
    }
}

/// Keys in the order of rows, in one letter case: the order of equal rows is undefined.
fn keys(session: &mut Session, query: &str) -> String {
    rows(session, query).join(", ").to_lowercase()
}

/// The rows of a join and their keys, once from the join and once from a table that contains them all.
#[test]
fn what_is_led_is_what_is_sorted() {
    let (_world, mut session) = made("one-side-rows");
    for (from, key) in [
        ("a CROSS JOIN b", "av"),
        ("a CROSS JOIN b", "bw DESC"),
        ("a CROSS JOIN b", "bs, bw DESC"),
        ("a CROSS JOIN b", "bw % 3 DESC"),
        ("a CROSS JOIN b CROSS JOIN c", "bs DESC"),
        ("a JOIN b ON b.w > a.v", "bw"),
        ("a JOIN b ON b.w > a.v AND b.k <> 3", "av DESC"),
        ("a LEFT JOIN b ON b.w > a.v + 5", "av"),
        ("a RIGHT JOIN b ON b.w > a.v + 5", "bw DESC"),
        ("a CROSS APPLY (SELECT TOP 2 k, w, s FROM b WHERE b.w > a.v ORDER BY k) b", "asx, av DESC"),
        ("a OUTER APPLY (SELECT TOP 2 k, w, s FROM b WHERE b.w > a.v ORDER BY k) b", "av"),
    ] {
        let list = "a.k AS ak, a.v AS av, a.s AS asx, b.k AS bk, b.w AS bw, b.s AS bs";
        run(&mut session, &format!("DROP TABLE IF EXISTS every SELECT {list} INTO every FROM {from}"));
        let values = key.replace(" DESC", "");
        let keys_of = |source: &str| format!("SELECT {values} FROM {source} ORDER BY {key}");
        let written = [("av", "a.v"), ("asx", "a.s"), ("bw", "b.w"), ("bs", "b.s")];
        let of_join = |text: &str| {
            written.iter().fold(text.to_string(), |text, (name, column)| text.replace(name, column))
        };
        let led = format!("SELECT {} FROM {from} ORDER BY {}", of_join(&values), of_join(key));
        assert_eq!(keys(&mut session, &led), keys(&mut session, &keys_of("every")), "{led}");
        let mut all = rows(&mut session, &format!("SELECT {list} FROM {from} ORDER BY {}", of_join(key)));
        let mut expected = rows(&mut session, "SELECT * FROM every");
        all.sort_unstable();
        expected.sort_unstable();
        assert!(all == expected, "{led}");
        for call in ["ROW_NUMBER()", "RANK()", "DENSE_RANK()", "SUM(ISNULL(ak, 0))", "LAG(ak)", "NTILE(4)"] {
            for partition in ["", "PARTITION BY av ", "PARTITION BY bs, bw "] {
                // Equal rows may come in any order: a total one says which.
                let window = format!("{call} OVER ({partition}ORDER BY av, asx, ak, bk)");
                let number =
                    |source: &str| format!("SELECT {window} AS n, ak, bk FROM {source} ORDER BY ak, bk, n");
                let derived = number(&format!("(SELECT {list} FROM {from}) q"));
                let (found, expected) = (rows(&mut session, &derived), rows(&mut session, &number("every")));
                assert!(found == expected, "{derived}");
            }
        }
    }
}

/// The numbers that a plan does not sort again.
#[test]
fn windows_over_rows_in_order_count_them() {
    let (_world, mut session) = made("windows-in-order");
    run(&mut session, "CREATE TABLE o (p int NOT NULL, q int NOT NULL, v int, PRIMARY KEY (p, q))");
    run(&mut session, "INSERT o SELECT k % 4, k, v FROM a");
    for call in ["ROW_NUMBER()", "RANK()", "SUM(v)", "LAG(v)", "COUNT(*)", "LAST_VALUE(v)", "NTILE(3)"] {
        let query =
            |key: &str| format!("SELECT p, q, {call} OVER (PARTITION BY p ORDER BY {key}) AS n FROM o");
        let lines = plan(&mut session, &query("q"));
        let sorts = lines.iter().filter(|line| line.contains("--Sort(")).count();
        assert_eq!(sorts, 0, "{}", lines.join("\n"));
        assert_eq!(rows(&mut session, &query("q")), rows(&mut session, &query("q + 0")), "{call}");
    }
    let reversed = "SELECT q, ROW_NUMBER() OVER (ORDER BY p DESC, q DESC) FROM o WHERE p > 1 AND q > 30";
    assert_eq!(rows(&mut session, reversed), ["39|1", "35|2", "31|3", "38|4", "34|5"]);
}

#[test]
fn a_row_number_over_a_cross_join_comes_at_once() {
    let (_world, mut session) = made("numbers");
    let numbers = "SELECT TOP (10000) ROW_NUMBER() OVER (ORDER BY a.object_id) AS k
                   FROM sys.all_columns AS a CROSS JOIN sys.all_columns AS b";
    let all = format!("SELECT COUNT(*), MIN(k), MAX(k), COUNT(DISTINCT k) FROM ({numbers}) q");
    assert_eq!(rows(&mut session, &all), ["10000|1|10000|10000"]);
    let plan = plan(&mut session, numbers);
    assert!(sorts_one_side(&plan), "{}", plan.join("\n"));
}

#[test]
fn a_declaration_is_shown_once() {
    let (_world, mut session) = made("declarations");
    run(&mut session, "SET SHOWPLAN_TEXT ON");
    let text = "DECLARE @a int = 1, @b int = 2, @c int, @d int = 4 SET @a = 5 SET @b = 6";
    let seen = run(&mut session, text);
    let lines: Vec<&str> = seen.sets.iter().flat_map(|set| &set.1).map(|row| row[0].as_str()).collect();
    assert_eq!(lines, ["DECLARE @a int = 1, @b int = 2, @c int, @d int = 4", "SET @a = 5", "SET @b = 6"]);
}
