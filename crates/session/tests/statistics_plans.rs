//! The use of statistics in plans: skewed values change plan shapes, statistics are created and updated automatically, plans are recompiled with
//! them; and no result depends on them.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::random::{Random, seed};
use crate::common::{World, numbers, rows, run};
use hardpan_session::Session;

/// `jobs`: 20,000 rows, `state` 'done' but for 10 that are 'open'; `kind` of 4 values, `day` from 0 to 19,999, `note` NULL in all but 20. `parts`:
/// 40,000 rows, two for each job.
const TABLES: &str = "CREATE TABLE jobs (k int NOT NULL PRIMARY KEY, state varchar(10) NOT NULL, kind int NOT NULL, day int NOT NULL, note int NULL)
     CREATE TABLE parts (job int NOT NULL, line int NOT NULL, v int NOT NULL, PRIMARY KEY (job, line))
     SELECT ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) - 1 AS n INTO numbers FROM (SELECT number FROM master..spt_values WHERE type = 'P' AND number < 200) a
         CROSS JOIN (SELECT number FROM master..spt_values WHERE type = 'P' AND number < 200) b
     INSERT jobs SELECT n, CASE WHEN n % 2000 = 7 THEN 'open' ELSE 'done' END, n % 4, n, CASE WHEN n % 1000 = 3 THEN n END FROM numbers WHERE n < 20000
     INSERT parts SELECT n / 2, n % 2, n FROM numbers";

fn filled(name: &str) -> (World, Session) {
    let (world, mut session) = World::in_database(name);
    assert!(numbers(&run(&mut session, TABLES)).iter().all(|number| *number == 0));
    (world, session)
}

/// How a plan joins `parts`, and how it reads it: `loop seek`, or `merge scan` (both tables lie in the order of the job).
fn shape(session: &mut Session, statement: &str) -> String {
    run(session, "SET SHOWPLAN_TEXT ON");
    let seen = run(session, statement);
    run(session, "SET SHOWPLAN_TEXT OFF");
    let lines: Vec<&String> = seen.sets.iter().flat_map(|set| &set.1).map(|row| &row[0]).collect();
    let any = |words: &[&str]| lines.iter().any(|line| words.iter().all(|word| line.contains(word)));
    let join = match () {
        () if any(&["Hash Match", "Join"]) => "hash",
        () if any(&["Merge Join"]) => "merge",
        () => "loop",
    };
    format!("{join} {}", if any(&["Seek(OBJECT", "[parts]"]) { "seek" } else { "scan" })
}

fn joined(condition: &str) -> String {
    format!("SELECT SUM(p.v) FROM jobs j JOIN parts p ON p.job = j.k WHERE {condition}")
}

const AUTO: &str = "SELECT c.name FROM sys.stats s JOIN sys.stats_columns x ON x.object_id = s.object_id AND x.stats_id = s.stats_id
    JOIN sys.columns c ON c.object_id = x.object_id AND c.column_id = x.column_id WHERE s.auto_created = 1 AND s.object_id <> ISNULL(OBJECT_ID('numbers'), 0) ORDER BY c.name";

#[test]
fn few_rows_are_looked_up_and_many_merged() {
    let (_world, mut session) = filled("stats-shapes");
    let mut wrong: Vec<String> = Vec::new();
    for (condition, expected) in [
        ("j.state = 'open'", "loop seek"),
        ("j.state = 'done'", "merge scan"),
        ("j.state IN ('open', 'nobody')", "loop seek"),
        ("j.state IN ('open', 'done')", "merge scan"),
        ("j.state LIKE 'op%'", "loop seek"),
        ("j.state LIKE 'do%'", "merge scan"),
        ("j.state <> 'done'", "loop seek"),
        ("j.state <> 'open'", "merge scan"),
        ("NOT j.state = 'done'", "loop seek"),
        ("j.note IS NOT NULL", "loop seek"),
        ("j.note IS NULL", "merge scan"),
        ("j.day > 19990", "loop seek"),
        ("j.day > 10", "merge scan"),
        ("j.day BETWEEN 5000 AND 5020", "loop seek"),
        ("j.day < 15000 AND j.day > 14980", "loop seek"),
        ("j.day BETWEEN 500 AND 19000", "merge scan"),
        ("(j.state = 'open' OR j.day < 5)", "loop seek"),
        ("(j.state = 'open' OR j.day < 15000)", "merge scan"),
        ("j.kind IN (1, 2, 3)", "merge scan"),
    ] {
        let found = shape(&mut session, &joined(condition));
        if found != expected {
            wrong.push(format!("{condition}: {found}, not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(rows(&mut session, AUTO), ["day", "kind", "note", "state"]);
    let name = "SELECT COUNT(*) FROM sys.stats WHERE object_id = OBJECT_ID('jobs') AND name LIKE '[_]WA[_]Sys[_]0000000[2345][_]%' AND LEN(name) = 25";
    assert_eq!(rows(&mut session, name), ["4"]);
    session.close();
}

#[test]
fn bounds_that_lie_a_constant_apart_leave_few_rows_whatever_the_variables_are() {
    let (_world, mut session) = filled("stats-apart");
    let of = |condition: &str| format!("DECLARE @x int = 77, @y int = 78; {}", joined(condition));
    for (condition, are_looked_up) in [
        ("j.k >= @x - 20 AND j.k < @x", true),
        ("j.k BETWEEN @x AND 9 + @x", true),
        ("j.k > @x - 5 - 4 AND j.k <= @x + 7", true),
        ("j.k >= @x - 9000 AND j.k < @x", false),
        ("j.k >= @x - 20 AND j.k < @y", false),
    ] {
        assert_eq!(shape(&mut session, &of(condition)) == "loop seek", are_looked_up, "{condition}");
    }
    assert_eq!(
        rows(&mut session, &of("j.k >= @x - 20 AND j.k < @x")),
        rows(&mut session, &of("j.k >= @x - 20 AND j.k < @y - 1"))
    );
}

#[test]
fn statistics_come_by_themselves_where_that_is_wanted() {
    let (world, mut session) = filled("stats-auto");
    // Equalities and bounds are guessed without them, whatever the value.
    run(&mut session, "ALTER DATABASE d SET AUTO_CREATE_STATISTICS OFF");
    let switch =
        "SELECT is_auto_create_stats_on, is_auto_update_stats_on FROM sys.databases WHERE name = 'd'";
    assert_eq!(rows(&mut session, switch), ["0|1"]);
    assert_eq!(
        shape(&mut session, &joined("j.state = 'open'")),
        shape(&mut session, &joined("j.state = 'done'"))
    );
    assert_eq!(rows(&mut session, AUTO), [""; 0]);
    run(&mut session, "ALTER DATABASE d SET AUTO_CREATE_STATISTICS ON");
    assert_eq!(shape(&mut session, &joined("j.state = 'open'")), "loop seek");
    assert_eq!(rows(&mut session, AUTO), ["state"]);
    // A small table has the same plan whatever its contents.
    run(
        &mut session,
        "CREATE TABLE small (a int, b int) INSERT small SELECT n, n FROM numbers WHERE n < 500",
    );
    run(&mut session, "SELECT COUNT(*) FROM small WHERE b = 5");
    assert_eq!(rows(&mut session, AUTO), ["state"]);
    // Joins and groups use statistics, too.
    run(&mut session, "SELECT j.kind, COUNT(*) FROM jobs j JOIN jobs i ON i.day = j.day GROUP BY j.kind");
    assert_eq!(rows(&mut session, AUTO), ["day", "kind", "state"]);
    // The transaction that has created the table blocks the creation of statistics: it does without.
    run(&mut session, "BEGIN TRAN SELECT n AS own INTO fresh FROM numbers");
    assert_eq!(rows(&mut session, "SELECT COUNT(*) FROM fresh WHERE own < 5"), ["5"]);
    run(&mut session, "COMMIT");
    assert_eq!(rows(&mut session, AUTO), ["day", "kind", "state"]);
    // A transaction that updates statistics has locked them: other sessions do without them and do not wait.
    run(&mut session, "BEGIN TRAN UPDATE STATISTICS jobs");
    let mut other = world.session();
    run(&mut other, "USE d SET LOCK_TIMEOUT 0");
    assert_eq!(rows(&mut other, "SELECT COUNT(*) FROM jobs WHERE note = 3"), ["1"]);
    run(&mut session, "ROLLBACK");
    assert_eq!(rows(&mut session, AUTO), ["day", "kind", "state"]);
    // From another database, and nothing prevents that this one is dropped afterwards.
    run(&mut session, "CREATE DATABASE far SELECT * INTO far.dbo.away FROM jobs");
    run(&mut session, "SELECT COUNT(*) FROM far.dbo.away WHERE kind = 2 AND state = 'open'");
    assert_eq!(rows(&mut session, "SELECT COUNT(*) FROM far.sys.stats WHERE auto_created = 1"), ["2"]);
    assert!(numbers(&run(&mut other, "DROP DATABASE far")).is_empty());
    // Automatic statistics are dropped with their column; they do not prevent that.
    run(&mut other, "SELECT COUNT(*) FROM jobs WHERE note = 4 SELECT SUM(note + 1) FROM jobs WHERE note = 5");
    assert_eq!(rows(&mut session, AUTO), ["day", "kind", "note", "state"]);
    assert!(numbers(&run(&mut session, "ALTER TABLE jobs DROP COLUMN note")).is_empty());
    assert_eq!(rows(&mut session, AUTO), ["day", "kind", "state"]);
    other.close();
    session.close();
}

/// Stale statistics are updated when a plan needs them, and plans are recompiled when as much has changed.
#[test]
fn plans_follow_what_becomes_of_the_values() {
    let (_world, mut session) = filled("stats-follow");
    let open = joined("j.state = 'open'");
    assert_eq!(shape(&mut session, &open), "loop seek");
    let counter = "SELECT p.modification_counter FROM sys.stats s CROSS APPLY sys.dm_db_stats_properties(s.object_id, s.stats_id) p WHERE s.auto_created = 1 AND s.object_id = OBJECT_ID('jobs')";
    // The threshold for 20,000 rows: the square root of 20,000,000, 4,472.
    run(&mut session, "UPDATE jobs SET state = 'open' WHERE k < 4400");
    assert_eq!(
        (shape(&mut session, &open).as_str(), rows(&mut session, counter)),
        ("loop seek", vec!["4400".to_string()])
    );
    run(&mut session, "UPDATE jobs SET state = 'open' WHERE k BETWEEN 4400 AND 19500");
    assert_eq!(
        (shape(&mut session, &open).as_str(), rows(&mut session, counter)),
        ("merge scan", vec!["0".to_string()])
    );
    // Where automatic updates are off, UPDATE STATISTICS updates them.
    run(&mut session, "UPDATE STATISTICS jobs WITH NORECOMPUTE UPDATE jobs SET state = 'done' WHERE k > 9");
    assert_eq!(shape(&mut session, &open), "merge scan");
    run(&mut session, "UPDATE STATISTICS jobs ALTER DATABASE d SET AUTO_UPDATE_STATISTICS OFF");
    assert_eq!(shape(&mut session, &open), "loop seek");
    run(&mut session, "UPDATE jobs SET state = 'open'");
    assert_eq!(shape(&mut session, &open), "loop seek");
    run(&mut session, "ALTER DATABASE d SET AUTO_UPDATE_STATISTICS ON");
    assert_eq!(shape(&mut session, &open), "merge scan");
    // A cached plan is recompiled after an update of statistics, and after enough changes to make them stale; a key lookup is not.
    let generations = |session: &mut Session, like: &str| {
        rows(session, &format!("SELECT s.plan_generation_num FROM sys.dm_exec_query_stats s CROSS APPLY sys.dm_exec_sql_text(s.sql_handle) t WHERE t.text LIKE '{like}' AND t.text NOT LIKE '%dm_exec%'"))[0]
            .parse::<u32>()
            .unwrap()
    };
    let (by_value, by_key) =
        ("SELECT COUNT(*) FROM jobs WHERE kind = 2", "SELECT kind FROM jobs WHERE k = 2");
    for _ in 0..3 {
        run(&mut session, by_value);
        run(&mut session, by_key);
    }
    let before = (generations(&mut session, by_value), generations(&mut session, by_key));
    run(&mut session, "UPDATE jobs SET day = day WHERE k < 100");
    run(&mut session, by_value);
    assert_eq!(generations(&mut session, by_value), before.0, "few changes");
    run(&mut session, "UPDATE jobs SET day = day WHERE k < 6000");
    run(&mut session, by_value);
    run(&mut session, by_key);
    assert_eq!(generations(&mut session, by_value), before.0 + 1, "many changes");
    run(&mut session, "CREATE STATISTICS more ON jobs (kind, day)");
    run(&mut session, by_value);
    run(&mut session, by_key);
    assert_eq!(generations(&mut session, by_value), before.0 + 2, "other statistics");
    assert_eq!(generations(&mut session, by_key), before.1, "one row is one row");
    session.close();
}

fn drawn(random: &mut Random) -> String {
    let mut conditions: Vec<String> = Vec::new();
    for _ in 0..1 + random.below(4) {
        let (table, column) = *random.one_of(&[("x", "a"), ("x", "b"), ("x", "c"), ("y", "a"), ("y", "d")]);
        let value = random.below(60);
        conditions.push(match random.below(8) {
            0 => format!("{table}.{column} = {value}"),
            1 => format!("{table}.{column} > {value}"),
            2 => format!("{table}.{column} BETWEEN {value} AND {}", value + random.below(20)),
            3 => format!("{table}.{column} IN ({value}, 1, 2)"),
            4 => format!("{table}.{column} IS NULL"),
            5 => format!("{table}.{column} <> {value}"),
            6 => format!("({table}.{column} = {value} OR x.b < {})", random.below(9)),
            _ => format!("x.s LIKE '{}%'", random.one_of(&["s1", "s", "t", "s22", ""])),
        });
    }
    let on = *random.one_of(&["x.a = y.a", "x.b = y.d", "x.a = y.a AND x.c = y.d"]);
    let body = format!("FROM x JOIN y ON {on} WHERE {}", conditions.join(" AND "));
    match random.below(3) {
        0 => format!("SELECT COUNT_BIG(*), SUM(CAST(x.c AS bigint)), SUM(CAST(y.d AS bigint)) {body}"),
        1 => format!("SELECT x.b, y.d, COUNT(*) {body} GROUP BY x.b, y.d ORDER BY 1, 2"),
        _ => format!(
            "SELECT COUNT(*) FROM x WHERE EXISTS (SELECT * FROM y WHERE {on}) AND x.c < {}",
            random.below(60)
        ),
    }
}

/// Equal results with statistics, with stale and wrong ones, and without any.
#[test]
fn no_answer_hangs_on_statistics() {
    let (_world, mut session) = World::in_database("stats-answers");
    run(&mut session, "CREATE DATABASE e ALTER DATABASE e SET AUTO_CREATE_STATISTICS OFF");
    let make = "CREATE TABLE x (a int, b int, c int NOT NULL, s varchar(10)) CREATE TABLE y (a int, d int)
         INSERT x SELECT NULLIF(number % 61, 5), number * number % 13, number * 7 % 59, 's' + STR(number % 30, 2) FROM master..spt_values WHERE type = 'P' AND number < 1500
         INSERT y SELECT number % 53, NULLIF(number * 3 % 17, 4) FROM master..spt_values WHERE type = 'P' AND number < 1200
         CREATE INDEX ia ON y (a)";
    for database in ["d", "e"] {
        run(&mut session, &format!("USE {database}"));
        assert!(numbers(&run(&mut session, make)).is_empty());
    }
    let first = seed(1);
    for seed in first..first + 3 {
        let mut random = Random::new(seed);
        let queries: Vec<String> = (0..50).map(|_| drawn(&mut random)).collect();
        let answers = |session: &mut Session, database: &str| {
            run(session, &format!("USE {database}"));
            let answer = |query: &String| {
                run(session, query).sets[0].1.iter().map(|row| row.join("|")).collect::<Vec<_>>()
            };
            queries.iter().map(answer).collect::<Vec<_>>()
        };
        let without = answers(&mut session, "e");
        let with = answers(&mut session, "d");
        for ((query, expected), found) in queries.iter().zip(&without).zip(&with) {
            assert_eq!(found, expected, "seed {seed}: {query}");
        }
        // All values have changed, and no statistics are updated.
        let change =
            format!("UPDATE x SET b = a % 7, c = c * {} % 41 UPDATE y SET d = d + 1", 3 + random.below(20));
        run(&mut session, "USE d ALTER DATABASE d SET AUTO_UPDATE_STATISTICS OFF");
        for database in ["d", "e"] {
            run(&mut session, &format!("USE {database} {change}"));
        }
        let without = answers(&mut session, "e");
        let with = answers(&mut session, "d");
        for ((query, expected), found) in queries.iter().zip(&without).zip(&with) {
            assert_eq!(found, expected, "seed {seed}, old statistics: {query}");
        }
        run(
            &mut session,
            "USE d ALTER DATABASE d SET AUTO_UPDATE_STATISTICS ON UPDATE STATISTICS x UPDATE STATISTICS y",
        );
    }
    run(&mut session, "USE d");
    assert!(rows(&mut session, AUTO).len() >= 5, "they were made");
    run(&mut session, "USE e");
    assert_eq!(rows(&mut session, AUTO), [""; 0]);
    session.close();
}
