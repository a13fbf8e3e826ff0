//! Index union for an OR, while other sessions move rows from branch to branch: each row comes once, and no row that qualified all the
//! time is missed. SQL Server joins the branches of such a plan by the rows' locators.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::schedules::{Answer, play, prepare};
use crate::common::simulated::{connect, on_a_machine};
use crate::common::{World, rows, run};

/// 2,000 rows of which one has `a` = 1 (1500), two have `b` = 2 (100 and 1600).
const TABLE: &str = "CREATE TABLE u (k int NOT NULL PRIMARY KEY, a int NOT NULL, b int NOT NULL, pad char(200) NOT NULL)
     INSERT u SELECT k, CASE WHEN k = 1500 THEN 1 ELSE k + 10000 END, CASE WHEN k IN (100, 1600) THEN 2 ELSE k + 10000 END, 'x'
     FROM (SELECT number AS k FROM master..spt_values WHERE type = 'P' AND number < 2000) numbers
     CREATE INDEX ia ON u (a) CREATE INDEX ib ON u (b)";
const READ: &str = "SELECT k, DATALENGTH(pad) FROM u WHERE a = 1 OR b = 2";

/// The reader has emitted the row of the first branch when it stops at a row of the second one. Meanwhile the first row moves into the second branch,
/// and another row of the second begins to qualify for the first as well.
#[test]
fn a_row_that_moves_between_branches_comes_once() {
    on_a_machine(1, |os| {
        let server = prepare(os, TABLE);
        for place in [
            ("isolation", "READ COMMITTED"),
            ("versioned", "READ COMMITTED"),
            ("isolation", "REPEATABLE READ"),
            ("isolation", "SERIALIZABLE"),
            ("versioned", "SNAPSHOT"),
        ] {
            let mut session = connect(&server.shared(), place.0);
            run(&mut session, "SET SHOWPLAN_TEXT ON");
            let plan = run(&mut session, READ);
            run(&mut session, "SET SHOWPLAN_TEXT OFF");
            let lines: Vec<&String> = plan.sets.iter().flat_map(|set| &set.1).map(|row| &row[0]).collect();
            for part in ["Concatenation", "[ia]", "[ib]"] {
                assert!(lines.iter().any(|line| line.contains(part)), "no {part} in {lines:?}");
            }
            let steps = [
                (1, "DELETE u WHERE k = 100"),
                (0, READ),
                (2, "UPDATE u SET a = 9, b = 2 WHERE k = 1500 UPDATE u SET a = 1 WHERE k = 1600"),
                (2, "COMMIT"),
                (1, "ROLLBACK"),
                (0, "COMMIT"),
            ];
            let answers = play(os, &server.shared(), "union", &steps, place);
            let Answer::Rows(found) = &answers[1] else { panic!("{place:?}: {answers:?}") };
            let mut found: Vec<&str> = found.split(' ').collect();
            found.sort_unstable();
            assert_eq!(found, ["100:200", "1500:200", "1600:200"], "{place:?}");
            run(
                &mut session,
                "UPDATE u SET a = 1, b = 11500 WHERE k = 1500 UPDATE u SET a = 11600 WHERE k = 1600",
            );
            assert_eq!(rows(&mut session, "SELECT COUNT(*) FROM u WHERE a = 1 OR b = 2"), ["3"]);
            session.close();
        }
        server.instance.shutdown();
    });
}

/// A condition behind the OR is asked of rows that a branch finds, in the order in which it was written.
#[test]
fn a_condition_behind_the_or_fails_for_its_rows_alone() {
    let (_world, mut session) = World::in_database("union-fails");
    run(
        &mut session,
        "CREATE TABLE u (k int PRIMARY KEY NONCLUSTERED, c varchar(6), v int); CREATE INDEX by_c ON u (c, k)",
    );
    run(&mut session, "INSERT u VALUES (0, 'b', 1), (1, 'c', 1), (2, 'd', 1), (5, 'a', 1)");
    let text = "SELECT k FROM u WHERE (k >= 2 OR c = N'a') AND 10 / k = 2 OPTION (USE HINT ('HARDPAN_PREFER_RULE_INDEX_UNION', \
                'HARDPAN_PREFER_RULE_INDEX_SELECTION', 'HARDPAN_PREFER_RULE_INDEX_SEEK'))";
    assert_eq!(rows(&mut session, text), ["5"]);
    let plan = run(&mut session, "SET SHOWPLAN_TEXT ON");
    assert!(plan.messages.is_empty());
    let plan = format!("{:?}", run(&mut session, text).sets);
    assert!(plan.contains("Flow Distinct"), "an index union: {plan}");
}
