//! Index intersection for an AND of conditions on two indexed columns: only rows that both indexes find are looked up, where that is cheaper; if one
//! index finds few rows, or most must be looked up anyway, one index or none is read. Results are equal at every isolation level.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::random::{Random, seed};
use crate::common::{World, rows, run};
use hardpan_session::Session;

/// 24,000 rows: `a` and `b` have 100 values each that are not correlated, `few` 8,000, `half` two, `n` 120 and NULLs.
const TABLE: &str = "CREATE TABLE t (k int NOT NULL PRIMARY KEY, a int NOT NULL, b int NOT NULL, few int NOT NULL, half int NOT NULL, n int NULL, pad char(60) NOT NULL)
     INSERT t SELECT k, k % 100, k / 100 % 100, k / 3, k % 2, NULLIF(k * 7 % 121, 0), 'x'
         FROM (SELECT x.number * 1000 + y.number AS k FROM master..spt_values x CROSS JOIN master..spt_values y
               WHERE x.type = 'P' AND x.number < 24 AND y.type = 'P' AND y.number < 1000) numbers
     CREATE INDEX ia ON t (a) CREATE INDEX ib ON t (b) CREATE INDEX ifew ON t (few) CREATE INDEX ihalf ON t (half) CREATE INDEX i_n ON t (n, b)";

fn plan(session: &mut Session, query: &str) -> String {
    run(session, "SET SHOWPLAN_TEXT ON");
    let seen = run(session, query);
    run(session, "SET SHOWPLAN_TEXT OFF");
    seen.sets.iter().flat_map(|set| &set.1).map(|row| row[0].as_str()).collect::<Vec<_>>().join("\n")
}

#[test]
fn two_indexes_are_read_where_that_is_cheaper() {
    let (_world, mut session) = World::in_database("intersections");
    run(&mut session, TABLE);
    for (condition, indexes) in [
        ("a = 5 AND b = 7", &["[ia]", "[ib]"][..]),
        ("a = 5 AND b BETWEEN 7 AND 9 AND half = 1", &["[ia]", "[ib]"]),
        ("a IN (5, 6) AND b = 7 AND pad <> 'y'", &["[ia]", "[ib]"]),
        // One index finds three rows.
        ("a = 5 AND few = 1000", &["[ifew]"]),
        // The other index halves them.
        ("few BETWEEN 1000 AND 1020 AND half = 0", &["[ifew]"]),
        // A key lookup is always cheapest.
        ("k = 77 AND a = 77 AND b = 0", &["PK"]),
        ("a < 60 AND b < 60", &["PK"]),
    ] {
        let told = plan(&mut session, &format!("SELECT k, pad FROM t WHERE {condition}"));
        for index in ["[ia]", "[ib]", "[ifew]", "[ihalf]", "[i_n]"] {
            assert_eq!(told.contains(index), indexes.contains(&index), "{condition}: {index} in {told}");
        }
        assert_eq!(
            told.contains("Hash Match(Inner Join, HASH:([Bmk1000])=([Bmk1000]))"),
            indexes.len() > 1,
            "{told}"
        );
    }
    // Rows to be changed or locked are found by one index.
    for statement in [
        "UPDATE t SET pad = 'y' WHERE a = 5 AND b = 7",
        "DELETE t WHERE a = 5 AND b = 7",
        "SELECT k, pad FROM t WITH (UPDLOCK) WHERE a = 5 AND b = 7",
    ] {
        let told = plan(&mut session, statement);
        assert!(!told.contains("Hash Match"), "{told}");
    }
}

#[test]
fn what_both_indexes_find_is_what_the_table_has() {
    let (_world, mut session) = World::in_database("intersected");
    run(&mut session, TABLE);
    run(&mut session, "SET ANSI_WARNINGS OFF");
    let first = seed(1);
    let mut random = Random::new(first);
    let mut used = 0;
    for round in 0..60 {
        let mut condition = |column: &str, values: u64| {
            let value = random.below(values);
            match random.below(4) {
                0 => format!("{column} BETWEEN {value} AND {}", value + random.below(4)),
                1 => format!("{column} IN ({value}, {}, {value})", random.below(values)),
                _ => format!("{column} = {value}"),
            }
        };
        let mut parts = vec![condition("a", 100), condition("b", 100)];
        if round % 3 == 0 {
            parts[1] = condition("n", 120);
        }
        if round % 5 == 0 {
            parts.push(condition("half", 2));
        }
        let condition = parts.join(" AND ");
        let query = |hint: &str| {
            format!("SELECT COUNT(*), SUM(k), COUNT(pad), MIN(pad) FROM t {hint} WHERE {condition}")
        };
        let expected = rows(&mut session, &query("WITH (INDEX(1))"));
        used += usize::from(plan(&mut session, &query("")).contains("[Bmk1000])=([Bmk1000]"));
        for level in ["READ COMMITTED", "READ UNCOMMITTED", "REPEATABLE READ", "SERIALIZABLE"] {
            run(&mut session, &format!("SET TRANSACTION ISOLATION LEVEL {level}"));
            assert_eq!(rows(&mut session, &query("")), expected, "seed {first}: {condition} at {level}");
        }
        run(&mut session, "SET TRANSACTION ISOLATION LEVEL READ COMMITTED");
    }
    assert!(used > 30, "{used} queries read two indexes");
}
