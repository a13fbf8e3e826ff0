//! Ranges between two variables: a statement has a plan for each order of magnitude of their widths, and the same rows by each.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::{World, numbers, rows, run};
use hardpan_session::Session;

/// Lines of orders, ten for each, whose items are looked up in another large table.
const TABLES: &str = "SELECT ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) - 1 AS n INTO numbers
         FROM (SELECT number FROM master..spt_values WHERE type = 'P' AND number < 200) x
         CROSS JOIN (SELECT number FROM master..spt_values WHERE type = 'P' AND number < 200) y
     CREATE TABLE line (o int NOT NULL, n int NOT NULL, item int NOT NULL, day date NOT NULL, PRIMARY KEY (o, n))
     CREATE TABLE item (id int NOT NULL PRIMARY KEY, name varchar(40) NOT NULL, stock int NOT NULL)
     INSERT line SELECT n / 10, n % 10, n * 7919 % 40000, DATEADD(day, n / 40, '2020-01-01') FROM numbers
     INSERT item SELECT n, CONCAT('item ', n), n % 100 FROM numbers
     CREATE INDEX by_day ON line (day) INCLUDE (item)";

const SUM: &str = "SELECT COUNT(*), SUM(stock) FROM line JOIN item ON id = item";

fn filled(name: &str) -> (World, Session) {
    let (world, mut session) = World::in_database(name);
    assert!(numbers(&run(&mut session, TABLES)).iter().all(|number| *number == 0));
    (world, session)
}

/// The join that a call runs, and its row.
fn joined(session: &mut Session, call: &str) -> (String, String) {
    run(session, "SET STATISTICS PROFILE ON");
    let seen = run(session, call);
    run(session, "SET STATISTICS PROFILE OFF");
    assert!(numbers(&seen).iter().all(|number| *number == 0), "{call}: {:?}", seen.messages);
    let answer = seen.sets.iter().find(|set| set.0[0] != "Rows").unwrap().1[0].join(" ");
    let profile = seen.sets.iter().find(|set| set.0[0] == "Rows").unwrap();
    let at = profile.0.iter().position(|name| name == "PhysicalOp").unwrap();
    let join = profile
        .1
        .iter()
        .map(|row| &row[at])
        .find(|operator| *operator == "Nested Loops" || *operator == "Hash Match");
    (join.unwrap().clone(), answer)
}

#[test]
fn the_width_of_a_range_between_variables_chooses_the_join() {
    let (_world, mut session) = filled("variable-ranges");
    run(
        &mut session,
        &format!("CREATE PROCEDURE p @low int, @high int AS {SUM} WHERE o BETWEEN @low AND @high"),
    );
    // 2,000 orders are more than the guess; narrow and wide in turns, from one cached procedure.
    for (low, high, join) in [
        ("100", "119", "Nested Loops"),
        ("0", "3999", "Hash Match"),
        ("3500", "3512", "Nested Loops"),
        ("1000", "2999", "Hash Match"),
        ("5", "4", "Nested Loops"),
        ("100", "119", "Nested Loops"),
    ] {
        let (found, answer) = joined(&mut session, &format!("EXEC p {low}, {high}"));
        let expected = rows(&mut session, &format!("{SUM} WHERE o >= {low} AND o <= {high}"));
        assert_eq!(
            (found.as_str(), answer.replace(' ', "|")),
            (join, expected[0].clone()),
            "{low} to {high}"
        );
    }
    // Without both ends nothing is known.
    for ends in ["NULL, 10", "10, NULL", "NULL, NULL"] {
        assert_eq!(joined(&mut session, &format!("EXEC p {ends}")), ("Hash Match".into(), "0 NULL".into()));
    }
}

#[test]
fn ends_may_be_sums_constants_other_types_and_dates() {
    let (_world, mut session) = filled("variable-range-ends");
    for (declared, condition, join) in [
        ("@a int = 500, @b bigint = 520", "o > @a - 10 AND o < @b + 5", "Nested Loops"),
        ("@a smallint = 500, @b int = 3500", "o > @a - 10 AND @b + 5 >= o", "Hash Match"),
        ("@a int = 0, @b int = 20", "o >= 0 AND o <= @b", "Nested Loops"),
        ("@a int = 0, @b int = 20", "o >= -5 AND o <= @b * 100", "Hash Match"),
        ("@a date = '2020-03-01', @b date = '2020-03-02'", "day BETWEEN @a AND @b", "Nested Loops"),
        ("@a date = '2020-03-01', @b date = '2029-03-02'", "day BETWEEN @a AND @b", "Hash Match"),
    ] {
        let (found, answer) = joined(&mut session, &format!("DECLARE {declared} {SUM} WHERE {condition}"));
        let naive = "OPTION (USE HINT ('HARDPAN_NAIVE_PLAN', 'HARDPAN_ENABLE_RULE_HASH_JOIN'))";
        let expected = rows(&mut session, &format!("DECLARE {declared} {SUM} WHERE {condition} {naive}"));
        assert_eq!(
            (found.as_str(), answer.replace(' ', "|")),
            (join, expected[0].clone()),
            "{declared} {condition}"
        );
    }
}

#[test]
fn a_plan_for_a_width_follows_the_definitions() {
    let (_world, mut session) = filled("variable-range-definitions");
    run(
        &mut session,
        &format!("CREATE PROCEDURE p @low int, @high int AS {SUM} WHERE o BETWEEN @low AND @high"),
    );
    let narrow = |session: &mut Session| joined(session, "EXEC p 100, 119").1;
    let before = narrow(&mut session);
    run(&mut session, "ALTER TABLE item ADD more int NULL");
    assert_eq!(narrow(&mut session), before);
    run(
        &mut session,
        "DROP TABLE item CREATE TABLE item (id int NOT NULL PRIMARY KEY, stock bigint NOT NULL)",
    );
    assert_eq!(narrow(&mut session), "0 NULL");
    run(&mut session, "INSERT item SELECT n, 1 FROM numbers");
    assert_eq!(narrow(&mut session), "200 200");
    // Inside of a transaction that has changed the table, and after its rollback.
    run(
        &mut session,
        "BEGIN TRAN DROP TABLE item CREATE TABLE item (id int NOT NULL PRIMARY KEY, stock int NULL)",
    );
    assert_eq!(narrow(&mut session), "0 NULL");
    run(&mut session, "ROLLBACK");
    assert_eq!(narrow(&mut session), "200 200");
}
