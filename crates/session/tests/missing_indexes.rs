//! Missing indexes that the optimizer reports: `sys.dm_db_missing_index_details`, `_groups`, `_group_stats` and `_columns`.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::{World, numbers, rows, run};
use hardpan_session::Session;

const DETAILS: &str = "SELECT d.equality_columns, d.inequality_columns, d.included_columns, d.statement, s.unique_compiles, s.user_seeks \
    FROM sys.dm_db_missing_index_details AS d JOIN sys.dm_db_missing_index_groups AS g ON g.index_handle = d.index_handle \
    JOIN sys.dm_db_missing_index_group_stats AS s ON s.group_handle = g.index_group_handle ORDER BY d.index_handle";

fn told(session: &mut Session) -> Vec<String> {
    rows(session, DETAILS)
}

/// 4,000 rows: `a` has 200 values, `b` has 4,000, `c` two.
fn table_of_rows(session: &mut Session) {
    run(
        session,
        "CREATE TABLE t (id int IDENTITY PRIMARY KEY, a int, b int, c int, x varchar(max));
         INSERT t (a, b, c) SELECT i % 200, i, i % 2 FROM (SELECT TOP 4000 ROW_NUMBER() OVER (ORDER BY (SELECT 1)) AS i
         FROM sys.all_columns AS p CROSS JOIN sys.all_columns AS q) AS n",
    );
}

#[test]
fn a_scan_by_a_value_wishes_for_an_index() {
    let (mut world, mut session) = World::in_database("missing");
    table_of_rows(&mut session);
    assert_eq!(told(&mut session), [""; 0], "an INSERT wishes for nothing");
    run(&mut session, "SELECT b FROM t WHERE a = 7");
    assert_eq!(told(&mut session), ["[a]|NULL|[b]|[d].[dbo].[t]|1|1"]);
    for _ in 0..3 {
        run(&mut session, "SELECT b FROM t WHERE a = 7");
    }
    assert_eq!(
        told(&mut session),
        ["[a]|NULL|[b]|[d].[dbo].[t]|1|4"],
        "a plan compiled once, run four times"
    );
    // Another session, another value: the same missing index, another plan.
    run(&mut world.session(), "USE d SELECT b FROM t WHERE a = 8");
    assert_eq!(told(&mut session), ["[a]|NULL|[b]|[d].[dbo].[t]|2|5"]);
    run(&mut session, "SELECT id FROM t WHERE a = 7 AND b > 3990 AND c = 1");
    assert_eq!(told(&mut session)[1..], ["[a], [c]|[b]|NULL|[d].[dbo].[t]|1|1"]);
    assert_eq!(
        rows(
            &mut session,
            "SELECT c.column_id, c.column_name, c.column_usage FROM sys.dm_db_missing_index_details AS d \
             CROSS APPLY sys.dm_db_missing_index_columns(d.index_handle) AS c WHERE d.inequality_columns = '[b]' \
             ORDER BY c.column_usage, c.column_id"
        ),
        ["2|a|EQUALITY", "4|c|EQUALITY", "3|b|INEQUALITY"]
    );
    assert_eq!(rows(&mut session, "SELECT COUNT(*) FROM sys.dm_db_missing_index_columns(0)"), ["0"]);
    let figures = "SELECT CASE WHEN avg_user_impact BETWEEN 50 AND 100 AND avg_total_user_cost > 100 AND last_user_seek <= GETDATE() \
                   AND last_user_seek > DATEADD(minute, -5, GETDATE()) THEN 1 ELSE 0 END, user_scans, last_user_scan, system_seeks \
                   FROM sys.dm_db_missing_index_group_stats";
    assert_eq!(rows(&mut session, figures), ["1|0|NULL|0", "1|0|NULL|0"]);
    drop(session);
    world.restart();
    assert_eq!(told(&mut world.session()), [""; 0], "the next start forgets them");
}

#[test]
fn what_an_index_serves_or_none_would_wishes_for_nothing() {
    let (_world, mut session) = World::in_database("missing-nothing");
    table_of_rows(&mut session);
    run(&mut session, "CREATE TABLE small (a int, b int) INSERT small VALUES (1, 1), (2, 2)");
    run(&mut session, "SELECT * INTO #t FROM t");
    for text in [
        "SELECT b FROM t WHERE id = 7",
        "SELECT b FROM t",
        "SELECT b FROM t WHERE a <> 7",
        "SELECT b FROM t WHERE a + 0 = 7",
        "SELECT id FROM t WHERE x = 'a'",
        "SELECT b FROM t WHERE b > 0",
        "SELECT b FROM small WHERE a = 1",
        "SELECT b FROM #t WHERE a = 7",
        "SELECT name FROM sys.objects WHERE object_id = 7",
    ] {
        assert_eq!(numbers(&run(&mut session, text)), [0; 0], "{text}");
        assert_eq!(told(&mut session), [""; 0], "{text}");
    }
}

#[test]
fn an_index_that_is_made_ends_the_wish() {
    let (_world, mut session) = World::in_database("missing-made");
    table_of_rows(&mut session);
    let wish = "UPDATE t SET c = 0 WHERE a = 7";
    run(&mut session, wish);
    assert_eq!(told(&mut session).len(), 1);
    run(&mut session, "CREATE INDEX ia ON t (a)");
    assert_eq!(told(&mut session), [""; 0]);
    run(&mut session, wish);
    assert_eq!(told(&mut session), [""; 0], "it is served now");
    run(&mut session, "DROP INDEX ia ON t");
    run(&mut session, wish);
    assert_eq!(told(&mut session).len(), 1);
    run(&mut session, "ALTER TABLE t ADD y int");
    assert_eq!(told(&mut session), [""; 0]);
    run(&mut session, wish);
    run(&mut session, "DROP TABLE t");
    assert_eq!(told(&mut session), [""; 0]);
}

/// The limit of stored ones, whatever the number of tables.
#[test]
fn there_are_never_more_than_six_hundred() {
    let (_world, mut session) = World::in_database("missing-many");
    let columns: Vec<String> = (0..26).map(|at| format!("c{at} int")).collect();
    run(
        &mut session,
        &format!("CREATE TABLE t ({}, INDEX clustered_one CLUSTERED (c0))", columns.join(", ")),
    );
    run(
        &mut session,
        "INSERT t (c0) SELECT TOP 2000 ROW_NUMBER() OVER (ORDER BY (SELECT 1)) FROM sys.all_columns AS p CROSS JOIN sys.all_columns AS q",
    );
    for one in 1..26 {
        let text: Vec<String> =
            (1..26).map(|other| format!("SELECT c{other} FROM t WHERE c{one} = 7")).collect();
        run(&mut session, &text.join(" "));
    }
    assert_eq!(rows(&mut session, "SELECT COUNT(*) FROM sys.dm_db_missing_index_details"), ["600"]);
}
