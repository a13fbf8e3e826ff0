//! A row that changes between the read of its index entry and its lookup. A reader of committed data that looks up rows by index entries does not see
//! it at the entry's position: rows come in the index's order (groups once, joins complete), and emitted rows satisfy the predicate. A page of
//! entries is read at once: if the row's new entry is on the same page, it is not read again.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::run;
use crate::common::schedules::{Answer, play, prepare};
use crate::common::simulated::on_a_machine;
use hardpan_session::Session;

const TABLE: &str = "CREATE TABLE t (k int NOT NULL, a int NOT NULL, v varchar(9) NOT NULL, pad varchar(9) NOT NULL, large nvarchar(max) NULL)
     INSERT t VALUES (1, 1, 'a', 'x', 'l'), (2, 3, 'b', 'x', 'l'), (3, 5, 'c', 'x', 'l'), (4, 50, 'd', 'x', 'l'), (5, 60, 'e', 'x', 'l')
     CREATE INDEX ia ON t (a) CREATE INDEX iv ON t (v DESC)";

/// The query that runs while another session has locked the row with k = 2, which it then changes once more; the change; the query's result.
const CASES: [(&str, &str, &str); 9] = [
    ("SELECT a, COUNT(*) FROM t WITH (INDEX(ia)) WHERE pad < 'z' GROUP BY a", "a = 50", "1:1 5:1 50:1 60:1"),
    (
        "SELECT a, COUNT(*), MAX(CAST(large AS nvarchar(9))) FROM t WITH (INDEX(ia)) GROUP BY a",
        "a = 50",
        "1:1:l 5:1:l 50:1:l 60:1:l",
    ),
    ("SELECT a, pad FROM t WITH (INDEX(ia)) ORDER BY a", "a = 50", "1:x 5:x 50:x 60:x"),
    ("SELECT k, large FROM t WITH (INDEX(ia)) ORDER BY a", "a = 55", "1:l 3:l 4:l 5:l"),
    ("SELECT k, pad FROM t WITH (INDEX(ia)) WHERE a BETWEEN 2 AND 6", "a = 7", "3:x"),
    (
        "SELECT k, pad FROM t WITH (INDEX(iv)) WHERE v >= 'a' ORDER BY v DESC",
        "v = 'A'",
        "5:x 4:x 3:x 1:x 2:y",
    ),
    // Its position is unchanged: its key is equal, or not changed.
    ("SELECT k, v, pad FROM t WITH (INDEX(iv)) WHERE v BETWEEN 'b' AND 'c'", "v = 'B '", "3:c:x 2:B :y"),
    ("SELECT k, v, large FROM t WITH (INDEX(iv)) WHERE v BETWEEN 'b' AND 'c'", "v = 'B'", "3:c:l 2:B:l"),
    ("SELECT k, pad FROM t WITH (INDEX(ia)) WHERE a < 6 AND pad = 'y'", "pad = 'z'", ""),
];

fn said(answer: &Answer) -> String {
    let Answer::Rows(rows) = answer else { panic!("{answer:?}") };
    rows.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_row_that_has_moved_is_not_where_its_entry_stood() {
    for key in ["", "CREATE UNIQUE CLUSTERED INDEX by_k ON t (k)"] {
        for (query, change, expected) in CASES {
            on_a_machine(1, move |os| {
                let server = prepare(os, &format!("{TABLE} {key}"));
                let change = format!("UPDATE t SET {change} WHERE k = 2");
                let steps = [
                    (0, "UPDATE t SET pad = 'y' WHERE k = 2"),
                    (1, query),
                    (0, change.as_str()),
                    (0, "COMMIT"),
                ];
                let answers = play(os, &server.shared(), query, &steps, ("isolation", "READ COMMITTED"));
                assert_eq!(said(&answers[1]), expected, "{query}; {change}; {key}");
                server.instance.shutdown();
            });
        }
    }
}

/// 6,000 rows; `a` and `b` have 40 values each that are not correlated.
const MANY: &str = "CREATE TABLE t (k int NOT NULL PRIMARY KEY, a int NOT NULL, b int NOT NULL, pad char(60) NOT NULL)
     INSERT t SELECT k, k % 40, k / 40 % 40, 'x'
         FROM (SELECT x.number * 1000 + y.number AS k FROM master..spt_values x CROSS JOIN master..spt_values y
               WHERE x.type = 'P' AND x.number < 6 AND y.type = 'P' AND y.number < 1000) numbers
     CREATE INDEX ia ON t (a) CREATE INDEX ib ON t (b)";

fn reads_both_indexes(session: &mut Session, query: &str) -> bool {
    run(session, "SET SHOWPLAN_TEXT ON");
    let seen = run(session, query);
    run(session, "SET SHOWPLAN_TEXT OFF");
    seen.sets.iter().flat_map(|set| &set.1).any(|row| row[0].contains("[Bmk1000])=([Bmk1000]"))
}

/// Rows 285, 1885, 3485 and 5085 are those with a = 5 and b = 7.
#[test]
fn a_row_that_leaves_one_of_two_indexes_is_not_found() {
    const QUERY: &str = "SELECT k, b FROM t WHERE a = 5 AND b = 7 AND pad <> 'q'";
    const ALL: &str = "285:7 1885:7 3485:7 5085:7";
    // The change; the result when it is committed, and when it is not, without locks.
    const CHANGES: [(&str, &str, &str); 4] = [
        ("b = 8", "285:7 3485:7 5085:7", "285:7 3485:7 5085:7"),
        ("a = 6", "285:7 3485:7 5085:7", "285:7 3485:7 5085:7"),
        ("pad = 'q'", "285:7 3485:7 5085:7", "285:7 3485:7 5085:7"),
        ("pad = 'r'", ALL, ALL),
    ];
    on_a_machine(1, |os| {
        let server = prepare(os, MANY);
        for (change, read, dirty) in CHANGES {
            let mut session = server.session_in("isolation");
            assert!(reads_both_indexes(&mut session, QUERY));
            session.close();
            for (place, expected) in [
                (("isolation", "READ COMMITTED"), read),
                (("isolation", "READ UNCOMMITTED"), dirty),
                (("isolation", "REPEATABLE READ"), read),
                (("isolation", "SERIALIZABLE"), read),
                (("versioned", "READ COMMITTED"), ALL),
                (("versioned", "SNAPSHOT"), ALL),
            ] {
                let change = format!("UPDATE t SET {change} WHERE k = 1885");
                let back = "UPDATE t SET a = 5, b = 7, pad = 'x' WHERE k = 1885";
                let steps = [
                    (0, "UPDATE t SET pad = 'y' WHERE k = 1885"),
                    (1, QUERY),
                    (0, change.as_str()),
                    (1, QUERY),
                    (0, "COMMIT"),
                    (1, "COMMIT"),
                    (0, back),
                ];
                let answers = play(os, &server.shared(), QUERY, &steps, place);
                let is_free = place.1 == "READ UNCOMMITTED";
                let first = if is_free { ALL } else { expected };
                let told = format!("{change} at {place:?}: {answers:?}");
                // A reader that keeps the entry locked which the other session must change is in a deadlock with it.
                let is_in_turn = matches!(place.1, "REPEATABLE READ" | "SERIALIZABLE");
                let is_victim = is_in_turn && answers[1] == Answer::Error(1205);
                assert!(is_victim || answers[1] == Answer::Rows(first.into()), "{told}");
                assert_eq!(answers[3], Answer::Rows(expected.into()), "{told}");
            }
        }
        server.instance.shutdown();
    });
}
