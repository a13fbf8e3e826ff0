//! Subqueries and APPLY that are unnested to joins give the results of row-by-row evaluation: aggregates, EXISTS, IN, NOT IN with NULLs, nested ones.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::random::{Random, seed};
use crate::common::{World, run};
use hardpan_session::Session;

/// `o` and `i` have NULLs in `k` and `v`; `n` in none of its columns; `s` and `w` differ in case.
fn made(name: &str) -> (World, Session) {
    let world = World::new(name);
    let mut session = world.session();
    let seen = run(
        &mut session,
        "CREATE TABLE o (id int NOT NULL, k int, v int, s varchar(5), n int NOT NULL)
         CREATE TABLE i (id int NOT NULL, k int, v int, s varchar(5), d decimal(9, 2), n int NOT NULL, w varchar(5) COLLATE Latin1_General_CS_AS)
         INSERT o SELECT number, NULLIF(number % 19, 3), number * 7 % 31, CHAR(65 + number % 5) + CHAR(97 + number % 3), number % 40 FROM master..spt_values
             WHERE type = 'P' AND number < 80
         INSERT i SELECT number, NULLIF(number * 5 % 16, 2), NULLIF(number * 11 % 37, 4), CHAR(97 + number % 5) + CHAR(65 + number % 2), number % 40, number * 3 % 50,
             CHAR(65 + number % 5) + 'a' FROM master..spt_values WHERE type = 'P' AND number < 100",
    );
    assert!(crate::common::numbers(&seen).iter().all(|number| *number == 0), "{:?}", seen.messages);
    (world, session)
}

fn answer(session: &mut Session, query: &str) -> Vec<String> {
    let seen = run(session, query);
    assert_eq!(seen.sets.len(), 1, "{query}: {:?}", seen.messages);
    seen.sets[0].1.iter().map(|row| row.join("|")).collect()
}

/// How the subquery's rows are correlated with the outer row.
fn correlation(random: &mut Random) -> &'static str {
    random.one_of::<&str>(&[
        "i.k = o.k",
        "o.k = i.k AND i.v > 5",
        "i.s = o.s",
        "i.k = o.k AND i.s = o.s",
        "i.k = o.v % 7",
        "i.k = o.k AND i.id < 300 AND i.v IN (1, 2, 3, 30)",
        "i.w = o.s COLLATE Latin1_General_CS_AS",
        "i.n = o.n AND i.k = o.k",
        "i.k = o.k AND i.k = o.v",
        "i.id = o.id",
    ])
}

/// A query with a correlated aggregate in its condition or its APPLY, and a variant that cannot be unnested: it has a volatile expression.
fn aggregate(random: &mut Random) -> (String, String) {
    let value = *random.one_of(&[
        "AVG(i.v)",
        "SUM(i.v) / 10",
        "MIN(i.v)",
        "MAX(i.v) - 3",
        "COUNT(*)",
        "COUNT(i.v) - 10",
        "COUNT_BIG(*) - 5",
        "ISNULL(SUM(i.v), 12) % 31",
        "CASE WHEN COUNT(*) = 0 THEN 5 ELSE MAX(i.v) END",
        "0.2 * AVG(i.d)",
        "COUNT(DISTINCT i.v)",
        "MAX(i.v) + o.v - 20",
    ]);
    let correlation = correlation(random);
    let op = *random.one_of(&["<", ">", "=", ">=", "<>"]);
    let outer = *random.one_of(&["o", "o JOIN o p ON p.id = o.v", "o LEFT JOIN i x ON x.id = o.id * 3"]);
    let more = *random.one_of(&["", " AND o.v < 25", " AND o.k IS NOT NULL", " OR o.v = 3"]);
    let apply = *random.one_of(&["CROSS APPLY", "OUTER APPLY"]);
    let is_applied = random.below(3) == 0;
    let text = |blunt: &str| {
        let inner = format!("SELECT {value} AS value FROM i WHERE {correlation}{blunt}");
        match is_applied {
            true => format!(
                "SELECT COUNT(*), SUM(o.id), COUNT(a.value), SUM(CAST(a.value AS float)) FROM {outer} {apply} ({inner}) a WHERE o.id > 3{more}"
            ),
            false => {
                format!("SELECT COUNT(*), SUM(o.id), MIN(o.id) FROM {outer} WHERE (o.v {op} ({inner})){more}")
            }
        }
    };
    (text(""), text(" AND CAST(NEWID() AS varchar(40)) <> 'x'"))
}

/// A condition with IN, NOT IN, EXISTS or NOT EXISTS; its subquery may contain another such condition.
fn quantified(random: &mut Random, depth: u32) -> String {
    let (left, right) = *random.one_of(&[
        ("o.v", "i.v"),
        ("o.k", "i.k"),
        ("o.n", "i.n"),
        ("o.n", "i.v"),
        ("o.k", "i.n"),
        ("7", "i.v"),
        ("o.n + 1", "i.n"),
    ]);
    let mut filters: Vec<String> = Vec::new();
    if random.below(2) == 0 {
        filters.push(correlation(random).to_string());
    }
    if random.below(3) == 0 {
        filters.push(
            random
                .one_of(&["i.v IS NOT NULL", "i.v < 9", "i.id % 3 = 1", "i.k > o.k", "i.id < 0", "o.v > 4"])
                .to_string(),
        );
    }
    if depth > 0 && random.below(2) == 0 {
        filters.push(match random.below(4) {
            0 => "i.v NOT IN (SELECT j.v FROM i j WHERE j.v IS NOT NULL AND j.id < 20)".to_string(),
            1 => "i.n IN (SELECT j.n FROM i j WHERE j.k IN (SELECT p.k FROM o p WHERE p.v < 9))".to_string(),
            2 => "i.v > (SELECT AVG(j.v) FROM i j WHERE j.k = i.k)".to_string(),
            _ => "NOT EXISTS (SELECT 1 FROM o p WHERE p.id = i.v AND p.v < i.n)".to_string(),
        });
    }
    let filter = if filters.is_empty() { String::new() } else { format!(" WHERE {}", filters.join(" AND ")) };
    let distinct = if random.below(4) == 0 { "DISTINCT " } else { "" };
    match random.below(5) {
        0 => format!("EXISTS (SELECT * FROM i{filter})"),
        1 => format!("NOT EXISTS (SELECT * FROM i{filter})"),
        2 => format!("{left} IN (SELECT {distinct}{right} FROM i{filter})"),
        3 => format!("{left} <> ALL (SELECT {right} FROM i{filter})"),
        _ => format!("{left} NOT IN (SELECT {distinct}{right} FROM i{filter})"),
    }
}

/// A query with such conditions, and a variant with each inside an expression, which is not unnested.
fn conditions(random: &mut Random) -> (String, String) {
    let outer = *random.one_of(&[
        "o",
        "o JOIN i x ON x.n = o.n",
        "o JOIN o p ON p.k = o.k JOIN i x ON x.id = p.id",
        "i x LEFT JOIN o ON o.id = x.id * 2",
    ]);
    let count = 1 + random.below(2);
    let drawn: Vec<String> = (0..count).map(|_| quantified(random, 1)).collect();
    let hidden: Vec<String> =
        drawn.iter().map(|condition| format!("CASE WHEN {condition} THEN 1 ELSE 0 END = 1")).collect();
    let text = |conditions: &[String]| {
        let conditions = conditions.join(" AND ");
        format!(
            "SELECT COUNT(*), SUM(o.id), MIN(o.id), MAX(o.v) FROM {outer} WHERE {conditions} AND ISNULL(o.v, 1) < 29"
        )
    };
    (text(&drawn), text(&hidden))
}

/// APPLY over a plain query, and a variant with a TOP that prevents a join.
fn applied(random: &mut Random) -> (String, String) {
    let apply = *random.one_of(&["CROSS APPLY", "OUTER APPLY"]);
    let (correlation, more) =
        (correlation(random), *random.one_of(&["", " AND i.v > o.v", " AND i.id < 100"]));
    let text = |top: &str| {
        format!(
            "SELECT COUNT(*), SUM(o.id), SUM(a.twice), COUNT(a.one), SUM(b.n) FROM o {apply} (SELECT {top}i.v AS twice, 1 AS one FROM i WHERE {correlation}{more}) a
             LEFT JOIN o b ON b.id = a.twice WHERE o.id < 200"
        )
    };
    (text(""), text("TOP 100000 "))
}

#[test]
fn it_gives_what_each_row_would() {
    let (_world, mut session) = made("unnest");
    let first = seed(1);
    let mut random = Random::new(first);
    for indexes in [
        "",
        "CREATE INDEX ik ON i (k) CREATE INDEX inn ON i (n) INCLUDE (k, v)",
        "DROP INDEX ik ON i; CREATE CLUSTERED INDEX ci ON i (s, k); CREATE UNIQUE INDEX ui ON i (id); CREATE UNIQUE CLUSTERED INDEX uo ON o (id)",
    ] {
        assert!(crate::common::numbers(&run(&mut session, indexes)).is_empty(), "{indexes}");
        for round in 0..72 {
            let (asked, blunt) = match round % 4 {
                0 => aggregate(&mut random),
                1 => applied(&mut random),
                _ => conditions(&mut random),
            };
            let (found, expected) = (answer(&mut session, &asked), answer(&mut session, &blunt));
            assert_eq!(found, expected, "seed {first}: {indexes}: {asked}");
        }
    }
    session.close();
}

/// The operators of a plan, outermost first.
fn operators(session: &mut Session, statement: &str) -> String {
    run(session, "SET SHOWPLAN_TEXT ON");
    let seen = run(session, statement);
    run(session, "SET SHOWPLAN_TEXT OFF");
    let lines = seen.sets.iter().flat_map(|set| &set.1).map(|row| row[0].as_str());
    lines.filter(|line| line.contains("|--")).collect::<Vec<_>>().join("\n")
}

/// The plan joins for many outer rows, and does not for few.
#[test]
fn shapes() {
    let (_world, mut session) = made("unnest-shape");
    let indexes = "CREATE UNIQUE CLUSTERED INDEX uo ON o (id)";
    assert!(crate::common::numbers(&run(&mut session, indexes)).is_empty());
    let mut wrong: Vec<String> = Vec::new();
    for (statement, has, has_not) in [
        (
            "SELECT COUNT(*) FROM o WHERE v < (SELECT AVG(v) FROM i WHERE i.k = o.k)",
            "Hash Match(Right Outer Join",
            "Seek",
        ),
        (
            "SELECT COUNT(*) FROM o JOIN o p ON p.id = o.id WHERE o.v < (SELECT 0.2 * AVG(v) FROM i WHERE i.k = o.k)",
            "Hash Match(Right Outer Join",
            "Seek",
        ),
        (
            "SELECT COUNT(a.m) FROM o OUTER APPLY (SELECT MAX(v) AS m FROM i WHERE i.k = o.k) a",
            "Hash Match",
            "Nested Loops",
        ),
        // Only with equalities, and not where the rows found are to be changed.
        (
            "SELECT COUNT(*) FROM o WHERE v < (SELECT AVG(v) FROM i WHERE i.k < o.k)",
            "Aggregate",
            "Hash Match",
        ),
        ("DELETE o WHERE v < (SELECT AVG(v) FROM i WHERE i.k = o.k)", "Delete", "Hash Match"),
        // NOT IN: of columns that cannot be NULL, or correlated otherwise.
        (
            "SELECT COUNT(*) FROM o WHERE n NOT IN (SELECT n FROM i)",
            "Hash Match(Right Anti Semi Join|Left Anti Semi Join",
            "",
        ),
        (
            "SELECT COUNT(*) FROM o WHERE v NOT IN (SELECT v FROM i WHERE i.k = o.k)",
            "Hash Match(Right Anti Semi Join|Left Anti Semi Join",
            "",
        ),
        ("SELECT COUNT(*) FROM o WHERE v NOT IN (SELECT n FROM i)", "", "Anti Semi Join"),
        // A subquery in a subquery.
        (
            "SELECT COUNT(*) FROM o WHERE k IN (SELECT k FROM i WHERE n IN (SELECT id FROM o p WHERE p.s = 'aa') AND v < (SELECT AVG(v) FROM i j WHERE j.k = i.k))",
            "Hash Match(Right Outer Join",
            "",
        ),
        // APPLY as a join.
        (
            "SELECT COUNT(*) FROM o CROSS APPLY (SELECT v FROM i WHERE i.k = o.k) a",
            "Hash Match(Inner Join",
            "Nested Loops",
        ),
        // Expressions that row-by-row evaluation would not compute are not computed: they may fail.
        (
            "SELECT SUM(a.v) FROM o CROSS APPLY (SELECT 10 / v AS v FROM i WHERE i.k = o.k) a",
            "Nested Loops",
            "Hash Match",
        ),
        (
            "SELECT COUNT(*) FROM o WHERE v < (SELECT AVG(10 / v) FROM i WHERE i.k = o.k)",
            "Aggregate",
            "Hash Match",
        ),
        (
            "SELECT COUNT(*) FROM i OUTER APPLY (SELECT v FROM o WHERE o.id = i.k) a WHERE i.id = 5",
            "Seek",
            "Hash",
        ),
    ] {
        let plan = operators(&mut session, statement);
        let is_there = has.is_empty() || has.split('|').any(|operator| plan.contains(operator));
        if !is_there || !has_not.is_empty() && plan.contains(has_not) {
            wrong.push(format!("{statement}: {has:?} and not {has_not:?}:\n{plan}"));
        }
    }
    // For few outer rows it is computed per row.
    let index = "CREATE INDEX ik ON i (k) INCLUDE (v)";
    assert!(crate::common::numbers(&run(&mut session, index)).is_empty());
    let few = "SELECT COUNT(*) FROM o WHERE id = 5 AND v < (SELECT AVG(v) FROM i WHERE i.k = o.k)";
    let plan = operators(&mut session, few);
    if plan.contains("Hash Match") || !plan.contains("[ik]") {
        wrong.push(format!("{few}:\n{plan}"));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    session.close();
}

/// The rows that the correlated condition refuses are not asked whether another condition fails.
#[test]
fn a_condition_beside_the_correlation_fails_for_its_rows_alone() {
    let (_world, mut session) = made("unnest-fails");
    run(
        &mut session,
        "CREATE TABLE p (k int PRIMARY KEY, c int, z real, INDEX by_z (z)); CREATE TABLE q (k int PRIMARY KEY, v int)",
    );
    run(
        &mut session,
        "INSERT p VALUES (0, 0, 127), (1, 2, 127), (2, 2, 3), (9, 5, 127); INSERT q VALUES (0, 2), (3, 5), (4, 7)",
    );
    let own = "10 / p.k > 2";
    for conditions in [format!("p.c = q.v AND {own}"), format!("p.c BETWEEN q.v AND q.v + 1 AND {own}")] {
        for behind in ["", "WHERE a.z = 127", "WHERE a.z = 127 AND q.k = 3 OR a.z = 127 AND q.k = 10.004"] {
            let wanted = |kind: &str| match (kind, behind) {
                ("OUTER", "") => vec!["0|127", "0|3", "3|NULL", "4|NULL"],
                (_, "") => vec!["0|127", "0|3"],
                (_, "WHERE a.z = 127") => vec!["0|127"],
                _ => Vec::new(),
            };
            for kind in ["OUTER", "CROSS"] {
                let query = format!(
                    "SELECT q.k, a.z FROM q {kind} APPLY (SELECT p.z FROM p WHERE {conditions}) AS a {behind}"
                );
                assert_eq!(answer(&mut session, &query), wanted(kind), "{query}");
            }
            let join = format!(
                "SELECT q.k, a.z FROM q LEFT JOIN p AS a ON {} {behind}",
                conditions.replace("p.", "a.")
            );
            assert_eq!(answer(&mut session, &join), wanted("OUTER"), "{join}");
        }
    }
}
