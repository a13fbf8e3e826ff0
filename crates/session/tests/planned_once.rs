//! Common subexpressions are computed once, groups are computed below joins, and predicates are evaluated on index entries before
//! rows are looked up: results equal those of the naive plan.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::random::{Random, seed};
use crate::common::{World, numbers, run};
use hardpan_session::Session;

/// A condition that is always true and blocks every rewrite: it gives another value each time.
const BLUNT: &str = "CAST(NEWID() AS varchar(40)) <> 'x'";

/// `o` with a key, `i` with some rows for each of its rows and NULLs in `k`, `v` and `s`.
fn made(name: &str) -> (World, Session) {
    let (world, mut session) = World::in_database(name);
    let seen = run(
        &mut session,
        "SELECT ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) - 1 AS n INTO numbers FROM (SELECT number FROM master..spt_values WHERE type = 'P' AND number < 15) a
             CROSS JOIN (SELECT number FROM master..spt_values WHERE type = 'P' AND number < 100) b
         CREATE TABLE o (id int NOT NULL PRIMARY KEY, g int NULL, t varchar(5) NOT NULL, u int NOT NULL UNIQUE)
         CREATE TABLE i (id int NOT NULL PRIMARY KEY, k int NULL, v int NULL, s varchar(5) NULL, d decimal(9, 2) NOT NULL)
         INSERT o SELECT n, NULLIF(n % 7, 3), CHAR(65 + n % 5), n * 7 FROM numbers WHERE n < 150
         INSERT i SELECT n, NULLIF(n * 13 % 200, 5), NULLIF(n * 11 % 37, 4), NULLIF(CHAR(97 + n % 6), 'd'), n % 90 * 0.25 FROM numbers
         CREATE INDEX by_k ON i (k, v) INCLUDE (d) CREATE INDEX by_s ON i (s)",
    );
    assert!(numbers(&seen).iter().all(|number| *number == 0), "{:?}", seen.messages);
    (world, session)
}

/// The rows in a normal order, without messages about NULLs.
fn answer(session: &mut Session, query: &str) -> Vec<String> {
    let seen = run(session, query);
    assert!(
        seen.sets.len() == 1 && numbers(&seen).iter().all(|number| *number == 8153),
        "{query}: {:?}",
        seen.messages
    );
    let mut found: Vec<String> = seen.sets[0].1.iter().map(|row| row.join("|")).collect();
    found.sort();
    found
}

/// Number of occurrences of an operator in the plan.
fn count_of(session: &mut Session, query: &str, operator: &str) -> usize {
    run(session, "SET SHOWPLAN_TEXT ON");
    let seen = run(session, query);
    run(session, "SET SHOWPLAN_TEXT OFF");
    seen.sets.iter().flat_map(|set| &set.1).filter(|row| row[0].contains(operator)).count()
}

#[test]
fn a_common_table_expression_is_computed_once() {
    let (_world, mut session) = made("once-with");
    let mut random = Random::new(seed(1511));
    let mut shared = 0;
    for _ in 0..60 {
        let body = *random.one_of(&[
            "SELECT k, SUM(v) AS v, COUNT(*) AS c FROM i WHERE # GROUP BY k",
            "SELECT DISTINCT s AS k, v, 1 AS c FROM i WHERE #",
            "SELECT o.g AS k, i.v, i.id AS c FROM o JOIN i ON i.k = o.id WHERE #",
            "SELECT o.g AS k, MAX(i.v) AS v, COUNT(DISTINCT i.s) AS c FROM o LEFT JOIN i ON i.k = o.id WHERE # GROUP BY o.g",
            "SELECT k, v, c FROM (SELECT k, SUM(v) AS v, COUNT(*) AS c FROM i WHERE # GROUP BY k) x WHERE v > 9",
        ]);
        let outer = *random.one_of(&[
            "SELECT * FROM part WHERE v = (SELECT MAX(v) FROM part)",
            "SELECT COUNT(*), SUM(a.v) FROM part a JOIN part b ON b.c = a.v",
            "SELECT a.k, b.v FROM part a LEFT JOIN part b ON b.v = a.c AND b.v > 20",
            "SELECT k, v FROM part WHERE v < 20 UNION ALL SELECT k, c FROM part WHERE v > 5",
            "SELECT k FROM part EXCEPT SELECT k FROM part WHERE c > 15",
            "SELECT * FROM part a WHERE a.v > (SELECT AVG(b.v) FROM part b) AND EXISTS (SELECT * FROM part c WHERE c.c = a.c + 1)",
            "SELECT x.v, (SELECT COUNT(*) FROM part) FROM part x WHERE x.c = 3",
            "SELECT COUNT(*) FROM part a, part b WHERE a.v = 17 AND b.v = 21",
            "SELECT c FROM part WHERE v NOT IN (SELECT c FROM part WHERE c IS NOT NULL)",
        ]);
        let filter = *random.one_of(&["i.v > 5", "i.id % 3 = 1", "i.d < 9.5", "1 = 1"]);
        let filter =
            if body.starts_with("SELECT o.") { filter.to_string() } else { filter.replace("i.", "") };
        let text = |filter: &str| format!("WITH part AS ({}) {outer}", body.replace('#', filter));
        let (plain, blunt) = (text(&filter), text(&format!("{filter} AND {BLUNT}")));
        assert_eq!(answer(&mut session, &plain), answer(&mut session, &blunt), "{plain}");
        // Sharing the expression saves one read of each table per occurrence.
        let reads = [&plain, &blunt].map(|query| count_of(&mut session, query, "(OBJECT:("));
        shared += usize::from(reads[0] < reads[1]);
    }
    assert!(shared > 10, "{shared} of 60 were shared");
    session.close();
}

#[test]
fn what_differs_is_not_shared() {
    let (_world, mut session) = made("once-differs");
    // Texts that look like column numbers, and values with equal text forms.
    let query =
        "SELECT (SELECT COUNT(*) FROM o JOIN i ON i.k = o.id WHERE i.s = 'a' AND o.t <> 'ColumnId(3)'),
        (SELECT COUNT(*) FROM o JOIN i ON i.k = o.id WHERE i.s = 'b' AND o.t <> 'ColumnId(4)'),
        (SELECT COUNT(*) FROM o JOIN i ON i.k = o.id WHERE i.s = 'a' AND o.t <> 'ColumnId(4)')";
    let each = |letter: &str| {
        format!("SELECT COUNT(*) FROM o JOIN i ON i.k = o.id WHERE i.s = '{letter}' AND {BLUNT}")
    };
    let (a, b) = (answer(&mut session, &each("a")), answer(&mut session, &each("b")));
    assert_ne!(a, b, "the values are told apart by their rows");
    assert_eq!(answer(&mut session, query), [format!("{}|{}|{}", a[0], b[0], a[0])]);
    // A condition that would exclude the rows on which the expression fails prevents its sharing.
    let failing = "WITH part AS (SELECT k, SUM(1 / (k - 30)) AS x FROM i WHERE k < 50 GROUP BY k)
        SELECT a.x, b.x FROM part a, part b WHERE a.k = 40 AND b.k = 41";
    let each = |k: i32| format!("SELECT SUM(1 / (k - 30)) FROM i WHERE k = {k}");
    let (one, other) = (answer(&mut session, &each(40)), answer(&mut session, &each(41)));
    assert_eq!(answer(&mut session, failing), [format!("{}|{}", one[0], other[0])]);
    session.close();
}

#[test]
fn groups_below_a_join_are_those_above_it() {
    let (_world, mut session) = made("once-groups");
    let mut random = Random::new(seed(1512));
    for _ in 0..150 {
        let list: Vec<&str> = (0..3)
            .map(|_| {
                *random.one_of(&[
                    "COUNT(*)",
                    "COUNT(i.v)",
                    "SUM(i.v)",
                    "MIN(i.s)",
                    "MAX(i.d)",
                    "AVG(i.d)",
                    "COUNT_BIG(*)",
                    "COUNT(DISTINCT i.v)",
                    "STDEV(i.v)",
                    "SUM(i.d * 2)",
                    "COUNT_BIG(i.s)",
                ])
            })
            .collect();
        let join = *random.one_of(&["LEFT JOIN", "JOIN"]);
        let on = *random.one_of(&[
            "i.k = o.id",
            "o.id = i.k AND i.v > 5",
            "i.k = o.g",
            "i.k = o.id + 3",
            "i.k = o.id AND i.s = o.t",
            "i.k = o.id AND i.v IS NULL",
            "i.k = o.id AND i.d < 3",
        ]);
        let keys = *random.one_of(&["o.id", "o.id, o.t", "o.u", "o.g, o.u", "o.g", "o.t, o.g"]);
        let filter = *random.one_of(&["", "WHERE o.id < 40", "WHERE o.g = 2", "WHERE o.id > 140"]);
        let having = *random.one_of(&["", "HAVING COUNT(*) > 1"]);
        let text = |blunt: &str| {
            format!(
                "SELECT {keys}, {} FROM o {join} i ON {on}{blunt} {filter} GROUP BY {keys} {having}",
                list.join(", ")
            )
        };
        let (plain, blunt) = (text(""), text(&format!(" AND {BLUNT}")));
        assert_eq!(answer(&mut session, &plain), answer(&mut session, &blunt), "{plain}");
    }
    let early = "SELECT o.id, COUNT(i.v) FROM o LEFT JOIN i ON i.k = o.id GROUP BY o.id";
    // An index delivers the rows of a group together.
    assert_eq!(count_of(&mut session, early, "Stream Aggregate(GROUP BY:("), 1);
    assert_eq!(count_of(&mut session, early, "Aggregate("), 1);
    assert_eq!(answer(&mut session, early).len(), 150, "one for each row on the left");
    session.close();
}

#[test]
fn entries_are_judged_before_their_rows() {
    let (_world, mut session) = made("once-entries");
    let mut random = Random::new(seed(1513));
    for _ in 0..150 {
        let k = random.below(200);
        let range =
            *random.one_of(&["k = #", "k BETWEEN # AND # + 3", "k IN (#, # + 1)", "k > # AND k < # + 9"]);
        let entry = *random.one_of(&[
            "v > 20",
            "d = 2.5",
            "v IS NULL",
            "v <> 7 AND d > 3",
            "v = 3",
            "d < 5 AND v IS NOT NULL",
            "id % 2 = 0 AND v < 30",
        ]);
        let text = |hint: &str| {
            let condition = range.replace('#', &k.to_string());
            format!("SELECT id, s, v FROM i WITH (INDEX({hint})) WHERE {condition} AND {entry}")
        };
        assert_eq!(answer(&mut session, &text("by_k")), answer(&mut session, &text("1")), "{}", text("by_k"));
        // Rows that are to be changed are found by their entries, too.
        let change = |hint: &str| {
            let condition = range.replace('#', &k.to_string());
            format!(
                "BEGIN TRAN SET NOCOUNT ON UPDATE i SET s = 'z' FROM i WITH (INDEX({hint})) WHERE {condition} AND {entry} SELECT COUNT(*), SUM(id) FROM i WHERE s = 'z' ROLLBACK"
            )
        };
        assert_eq!(
            answer(&mut session, &change("by_k")),
            answer(&mut session, &change("1")),
            "{}",
            change("by_k")
        );
    }
    // Fewer pages are read: of 7 entries none leads to its row.
    let pages = |session: &mut Session, query: &str| -> i64 {
        run(session, "SET STATISTICS IO ON");
        let seen = run(session, query);
        run(session, "SET STATISTICS IO OFF");
        let text = seen
            .messages
            .iter()
            .map(|message| message.2.as_str())
            .find(|text| text.contains("logical reads"))
            .unwrap();
        let reads = text.split("logical reads ").nth(1).unwrap().split(',').next().unwrap();
        reads.trim().parse().unwrap()
    };
    let few = pages(&mut session, "SELECT s FROM i WITH (INDEX(by_k)) WHERE k = 12 AND d = 1000");
    let all = pages(&mut session, "SELECT s FROM i WITH (INDEX(by_k)) WHERE k = 12 AND d + 0 = 1000");
    assert!(few * 2 < all, "{few} and {all} pages");
    session.close();
}
