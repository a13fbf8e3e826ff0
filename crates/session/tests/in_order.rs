//! Merge joins and stream aggregates over ordered rows give the results of those over unordered rows: NULLs, many rows of one key on both sides,
//! every kind of join, descending keys, texts under their collations, residual predicates. Tables with indexes and heaps without contain equal rows.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::random::{Random, seed};
use crate::common::{World, rows, run};
use hardpan_session::Session;

const ROWS: u64 = 1500;

/// Columns that both sides have and are ordered by, the index of the left side, that of the right one.
const KEYS: [(&[&str], &str, &str); 8] = [
    (&["a"], "a", "a"),
    (&["a"], "a DESC", "a DESC"),
    (&["a", "b"], "a, b", "a, b"),
    (&["a", "b"], "a DESC, b", "a DESC, b, id"),
    (&["v"], "v", "v"),
    (&["v", "a"], "v, a DESC", "v, a DESC"),
    (&["d"], "d", "d, id"),
    (&["w"], "w", "w"),
];

fn fill(session: &mut Session, table: &str, random: &mut Random, values: u64) {
    let texts = ["'a'", "'A'", "'b '", "'b'", "'Zoë'", "''", "'ab'", "NULL", "'é'", "'z'"];
    for first in (0..ROWS).step_by(500) {
        let mut list = Vec::new();
        for id in first..first + 500 {
            let mut number = |nulls: u64| match random.below(nulls) {
                0 => "NULL".to_string(),
                _ => format!("{}", random.below(values) as i64 - 7),
            };
            let (a, b, d) = (number(20), number(9), number(15));
            let (v, w) = (*random.one_of(&texts), *random.one_of(&texts));
            list.push(format!("({id}, {a}, {b}, {v}, {d} * 0.5, {w})"));
        }
        run(session, &format!("INSERT {table} VALUES {}", list.join(", ")));
    }
}

fn plan(session: &mut Session, query: &str) -> String {
    run(session, "SET SHOWPLAN_TEXT ON");
    let seen = run(session, query);
    run(session, "SET SHOWPLAN_TEXT OFF");
    seen.sets.iter().flat_map(|set| &set.1).map(|row| row[0].as_str()).collect::<Vec<_>>().join("\n")
}

/// Makes l and r with clustered indexes and the heaps lh and rh of the same rows.
fn make(session: &mut Session, random: &mut Random, left: &str, right: &str) {
    let columns = "id int NOT NULL, a int NULL, b smallint NULL, v varchar(10) NULL, d decimal(9, 2) NULL, w nvarchar(5) NULL";
    run(session, "DROP TABLE IF EXISTS l, r, lh, rh");
    run(session, &format!("CREATE TABLE l ({columns}) CREATE TABLE r ({columns})"));
    let spread = *random.one_of(&[40, 700, 20_000]);
    fill(session, "l", random, spread);
    let others = if random.below(2) == 0 { spread } else { spread / 3 + 5 };
    fill(session, "r", random, others);
    run(session, "SELECT * INTO lh FROM l SELECT * INTO rh FROM r");
    run(
        session,
        &format!("CREATE CLUSTERED INDEX l_key ON l ({left}) CREATE CLUSTERED INDEX r_key ON r ({right})"),
    );
}

#[test]
fn what_is_merged_is_what_is_looked_up() {
    let (_world, mut session) = World::in_database("in-order");
    run(&mut session, "SET ANSI_WARNINGS OFF");
    let first = seed(1);
    let (mut merged, mut met) = (0, 0);
    for (at, (columns, left, right)) in KEYS.iter().enumerate() {
        let mut random = Random::new(first + at as u64);
        make(&mut session, &mut random, left, right);
        let on: Vec<String> = columns.iter().map(|column| format!("x.{column} = y.{column}")).collect();
        let on = on.join(" AND ");
        for query in [
            "SELECT x.id, y.id FROM l x JOIN r y ON @",
            "SELECT x.id, y.id FROM l x LEFT JOIN r y ON @",
            "SELECT x.id, y.id FROM l x LEFT JOIN r y ON @ AND x.id < y.id",
            "SELECT x.id, y.id FROM l x JOIN r y ON @ WHERE x.id % 3 <> y.id % 3",
            "SELECT x.id, 0 FROM l x WHERE EXISTS (SELECT 1 FROM r y WHERE @)",
            "SELECT x.id, 0 FROM l x WHERE EXISTS (SELECT 1 FROM r y WHERE @ AND y.id > x.id)",
            "SELECT x.id, 0 FROM l x WHERE NOT EXISTS (SELECT 1 FROM r y WHERE @)",
            "SELECT x.id, 0 FROM l x WHERE NOT EXISTS (SELECT 1 FROM r y WHERE @ AND y.id > x.id)",
            "SELECT x.id, y.id FROM l x FULL JOIN r y ON @",
            "SELECT TOP 7 x.a, 0 FROM l x JOIN r y ON @ ORDER BY x.a DESC",
        ] {
            let query = query.replace('@', &on);
            let heaps = query.replace("l x", "lh x").replace("r y", "rh y");
            merged += usize::from(plan(&mut session, &query).contains("Merge Join"));
            let sum = |query: &str| {
                let (head, body) = query.split_once(" FROM ").unwrap();
                let head = head.replacen("x.id", "x.id AS p", 1).replacen("x.a", "x.a AS p", 1);
                let head = head
                    .replacen(", y.id", ", y.id AS q", 1)
                    .replacen(", y.a", ", y.a AS q", 1)
                    .replacen(", 0", ", 0 AS q", 1);
                format!(
                    "SELECT COUNT(*), SUM(CAST(p AS bigint)), SUM(CAST(q AS bigint)), SUM(CAST(p AS bigint) * (ISNULL(q, -3) + 11) % 1009) FROM ({head} FROM {body}) z"
                )
            };
            let (found, expected) = (rows(&mut session, &sum(&query)), rows(&mut session, &sum(&heaps)));
            assert_eq!(found, expected, "seed {first}: {query} by {left} and {right}");
            met += usize::from(!found[0].starts_with('0'));
        }
    }
    assert!(merged >= 30 && met > 60, "{merged} joins were merged, {met} found rows");
}

#[test]
fn groups_that_come_in_order_are_those_that_are_looked_up() {
    let (_world, mut session) = World::in_database("groups-in-order");
    run(&mut session, "SET ANSI_WARNINGS OFF");
    let first = seed(1);
    let mut streamed = 0;
    for (at, (columns, left, right)) in KEYS.iter().enumerate() {
        let mut random = Random::new(first + 100 + at as u64);
        make(&mut session, &mut random, left, right);
        let turned: Vec<&str> = columns.iter().rev().copied().collect();
        for keys in [columns.join(", "), turned.join(", ")] {
            for query in [
                "SELECT CAST(COUNT(*) AS varchar) + '|' + CAST(SUM(id) AS varchar) + '|' + ISNULL(CAST(MIN(b) AS varchar), '-') FROM l GROUP BY @",
                "SELECT CAST(SUM(id) AS varchar) + '|' + ISNULL(CAST(COUNT(DISTINCT b) AS varchar), '-') + STRING_AGG(id, ',') WITHIN GROUP (ORDER BY id) FROM l WHERE id % 5 <> 2 GROUP BY @",
                "SELECT CAST(COUNT(*) AS varchar) + '|' + CAST(MAX(id) AS varchar) FROM l WHERE id > 40 GROUP BY @ HAVING COUNT(*) > 1",
            ] {
                let query = query.replace('@', &keys);
                let mut found = rows(&mut session, &query);
                let mut expected = rows(&mut session, &query.replace("FROM l", "FROM lh"));
                found.sort();
                expected.sort();
                assert_eq!(found, expected, "seed {first}: {query} by {left}");
                streamed += usize::from(plan(&mut session, &query).contains("Stream Aggregate"));
            }
            // What is grouped in order is in order: no sort.
            let sorted = format!(
                "SELECT {} FROM l GROUP BY {keys} ORDER BY {}",
                columns[0],
                left.split(',').next().unwrap()
            );
            // Texts that are equal are one group, which has one of them.
            let mut sorted_rows = |query: &str| {
                let found = rows(&mut session, query);
                found.iter().map(|row| row.trim_end().to_lowercase()).collect::<Vec<_>>()
            };
            let heap = sorted_rows(&sorted.replace("FROM l", "FROM lh"));
            assert_eq!(sorted_rows(&sorted), heap, "seed {first}: {sorted}");
            assert!(
                !plan(&mut session, &sorted).contains("Sort("),
                "{sorted}: {}",
                plan(&mut session, &sorted)
            );
        }
    }
    assert!(streamed > 30, "{streamed} groupings came in order");
}
