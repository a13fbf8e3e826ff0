//! The query store: execution figures of queries by plan; scripts that search the most expensive queries; its options and their effects.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::{World, numbers, rows, run};
use hardpan_session::Session;

const TABLES: &str = "CREATE TABLE t (i int NOT NULL PRIMARY KEY, g int NOT NULL)
    INSERT t SELECT number, number % 10 FROM master..spt_values WHERE type = 'P' AND number < 1000";

fn filled(name: &str) -> (World, Session) {
    let (world, mut session) = World::in_database(name);
    assert!(numbers(&run(&mut session, TABLES)).iter().all(|number| *number == 0));
    (world, session)
}

fn set(session: &mut Session, what: &str) -> Vec<i32> {
    numbers(&run(session, &format!("ALTER DATABASE CURRENT SET QUERY_STORE {what}")))
}

const FIGURES: &str = "SELECT qt.query_sql_text, SUM(rs.count_executions), MAX(rs.last_rowcount), MAX(rs.max_rowcount), COUNT(DISTINCT p.plan_id), q.object_id
    FROM sys.query_store_query_text qt JOIN sys.query_store_query q ON q.query_text_id = qt.query_text_id
    JOIN sys.query_store_plan p ON p.query_id = q.query_id JOIN sys.query_store_runtime_stats rs ON rs.plan_id = p.plan_id
    WHERE qt.query_sql_text LIKE '%FROM t%' AND qt.query_sql_text NOT LIKE '%query_store%'
    GROUP BY qt.query_sql_text, q.object_id ORDER BY qt.query_sql_text, q.object_id";

#[test]
fn executions_and_rows_are_counted_for_each_query_and_plan() {
    let (world, mut session) = filled("query-store");
    run(&mut session, "SELECT COUNT(*) FROM t");
    assert!(rows(&mut session, FIGURES).is_empty(), "it is off");
    assert!(set(&mut session, "= ON").is_empty());
    run(&mut session, "CREATE PROCEDURE p @g int AS SELECT i FROM t WHERE g = @g");
    let object = rows(&mut session, "SELECT OBJECT_ID('p')").remove(0);
    (0..3).for_each(|_| {
        drop(run(&mut session, "SELECT i FROM t WHERE i < 7; SELECT COUNT(*) FROM t WHERE g = 1"))
    });
    // Others' runs of the same text, of the same statement in another text, with parameters, in a module.
    let mut other = world.session();
    run(&mut other, "USE d");
    run(&mut other, "SELECT i FROM t WHERE i < 7; SELECT COUNT(*) FROM t WHERE g = 1");
    run(&mut session, "/* elsewhere */ SELECT i FROM t WHERE i < 7");
    run(&mut session, "EXEC p 1 EXEC p 2");
    run(&mut session, "EXEC sp_executesql N'SELECT g FROM t WHERE i = @i', N'@i int', 5");
    run(
        &mut session,
        "DECLARE @n int = 0 WHILE @n < 5 BEGIN DELETE FROM t WHERE i = -@n - 1 SET @n += 1 END",
    );
    // One that fails is not counted.
    run(&mut session, "SELECT 1 / 0 FROM t");
    let before = [
        "DELETE FROM t WHERE i = -@n - 1|5|0|0|1|0".to_string(),
        "SELECT COUNT(*) FROM t WHERE g = 1|4|1|1|1|0".to_string(),
        "SELECT g FROM t WHERE i = @i|1|1|1|1|0".to_string(),
        format!("SELECT i FROM t WHERE g = @g|2|100|100|1|{object}"),
        "SELECT i FROM t WHERE i < 7|5|7|7|1|0".to_string(),
    ];
    assert_eq!(rows(&mut session, FIGURES), before);
    assert_eq!(
        rows(&mut session, "SELECT query_parameterization_type_desc FROM sys.query_store_query q JOIN sys.query_store_query_text t
            ON t.query_text_id = q.query_text_id WHERE query_sql_text LIKE 'SELECT g FROM t WHERE i%'"),
        ["User"]
    );
    // Another plan for the same query.
    run(&mut session, "CREATE INDEX by_g ON t (g)");
    run(&mut session, "SELECT i FROM t WHERE i < 7; SELECT COUNT(*) FROM t WHERE g = 1");
    let found = rows(&mut session, FIGURES);
    assert_eq!(found[1], "SELECT COUNT(*) FROM t WHERE g = 1|5|1|1|2|0");
    let plans = "SELECT COUNT(*) FROM sys.query_store_plan WHERE query_plan LIKE '<ShowPlanXML%Index=%by_g%'";
    assert_eq!(rows(&mut session, plans), ["1"]);
    // Another database has its own.
    run(&mut session, "CREATE DATABASE e");
    assert_eq!(rows(&mut session, "SELECT COUNT(*) FROM e.sys.query_store_query"), ["0"]);
}

/// Popular queries: by processor time, by duration, by reads; queries with several plans; the load of an hour.
#[test]
fn the_scripts_that_look_for_the_most_expensive_run() {
    let (_world, mut session) = filled("query-store-top");
    assert!(set(&mut session, "= ON").is_empty());
    (0..20).for_each(|_| drop(run(&mut session, "SELECT i FROM t WHERE i = 7")));
    run(&mut session, "SELECT COUNT(*) AS large FROM t a JOIN t b ON a.g = b.g JOIN t c ON c.i <= 20");
    let sum = |figure: &str| format!("SUM(rs.{figure} * rs.count_executions)");
    for by in [
        sum("avg_cpu_time"),
        sum("avg_duration"),
        "MAX(rs.max_logical_io_reads)".to_string(),
        sum("avg_rowcount"),
    ] {
        let script = format!(
            "SELECT TOP 1 LEFT(txt.query_sql_text, 24) FROM sys.query_store_plan AS pl
                INNER JOIN sys.query_store_query AS qry ON pl.query_id = qry.query_id
                INNER JOIN sys.query_store_query_text AS txt ON qry.query_text_id = txt.query_text_id
                INNER JOIN sys.query_store_runtime_stats rs ON rs.plan_id = pl.plan_id
                WHERE rs.last_execution_time > DATEADD(hour, -1, GETUTCDATE()) AND txt.query_sql_text LIKE 'SELECT%FROM t%'
                GROUP BY txt.query_sql_text ORDER BY {by} DESC"
        );
        let expected =
            if by.contains("rowcount") { "SELECT i FROM t WHERE i " } else { "SELECT COUNT(*) AS large" };
        assert_eq!(rows(&mut session, &script), [expected], "{by}");
    }
    let sound = "SELECT COUNT(*) FROM sys.query_store_runtime_stats rs JOIN sys.query_store_runtime_stats_interval i
            ON i.runtime_stats_interval_id = rs.runtime_stats_interval_id
        WHERE NOT (rs.min_duration <= rs.avg_duration AND rs.avg_duration <= rs.max_duration + 1 AND rs.avg_cpu_time <= rs.avg_duration
            AND rs.first_execution_time <= rs.last_execution_time AND rs.last_execution_time < i.end_time
            AND DATEDIFF(minute, i.start_time, i.end_time) = 60 AND rs.count_executions >= 1 AND rs.max_logical_io_reads >= rs.min_logical_io_reads)";
    assert_eq!(rows(&mut session, sound), ["0"]);
    let reads = "SELECT CASE WHEN MIN(rs.min_logical_io_reads) BETWEEN 1 AND 5 THEN 'few' END FROM sys.query_store_runtime_stats rs
        JOIN sys.query_store_plan p ON p.plan_id = rs.plan_id JOIN sys.query_store_query q ON q.query_id = p.query_id
        JOIN sys.query_store_query_text t ON t.query_text_id = q.query_text_id WHERE t.query_sql_text = 'SELECT i FROM t WHERE i = 7'";
    assert_eq!(rows(&mut session, reads), ["few"]);
    let several = "SELECT q.query_id FROM sys.query_store_query q JOIN sys.query_store_plan p ON p.query_id = q.query_id
        GROUP BY q.query_id HAVING COUNT(DISTINCT p.plan_id) > 1";
    assert!(rows(&mut session, several).is_empty());
}

#[test]
fn options_do_what_they_say() {
    let (_world, mut session) = filled("query-store-options");
    let options = "SELECT desired_state_desc, actual_state_desc, readonly_reason, interval_length_minutes, max_storage_size_mb, max_plans_per_query,
        query_capture_mode_desc, size_based_cleanup_mode_desc FROM sys.database_query_store_options";
    assert_eq!(rows(&mut session, options), ["OFF|OFF|0|60|10|200|ALL|AUTO"]);
    let list = "= ON (INTERVAL_LENGTH_MINUTES = 15, MAX_STORAGE_SIZE_MB = 1, MAX_PLANS_PER_QUERY = 1, SIZE_BASED_CLEANUP_MODE = OFF)";
    assert!(set(&mut session, list).is_empty());
    assert_eq!(rows(&mut session, options), ["READ_WRITE|READ_WRITE|0|15|1|1|ALL|OFF"]);
    assert_eq!(
        rows(&mut session, "SELECT is_query_store_on FROM sys.databases WHERE name = DB_NAME()"),
        ["1"]
    );
    let of = |like: &str| {
        format!("SELECT ISNULL(SUM(rs.count_executions), 0) FROM sys.query_store_runtime_stats rs JOIN sys.query_store_plan p ON p.plan_id = rs.plan_id
            JOIN sys.query_store_query q ON q.query_id = p.query_id JOIN sys.query_store_query_text t ON t.query_text_id = q.query_text_id
            WHERE t.query_sql_text LIKE '{like}'")
    };
    // One plan: runs of another plan are not captured.
    run(&mut session, "SELECT COUNT(*) FROM t WHERE g = 1");
    run(&mut session, "CREATE INDEX by_g ON t (g)");
    run(&mut session, "SELECT COUNT(*) FROM t WHERE g = 1");
    assert_eq!(rows(&mut session, &of("SELECT COUNT(*) FROM t WHERE g = 1%")), ["1"]);
    // Only known queries.
    assert!(set(&mut session, "(QUERY_CAPTURE_MODE = NONE)").is_empty());
    run(&mut session, "SELECT COUNT(*) FROM t WHERE g = 2");
    assert_eq!(rows(&mut session, &of("SELECT COUNT(*) FROM t WHERE g = 2%")), ["0"]);
    assert!(set(&mut session, "(QUERY_CAPTURE_MODE = ALL, OPERATION_MODE = READ_ONLY)").is_empty());
    run(&mut session, "SELECT COUNT(*) FROM t WHERE g = 3");
    assert_eq!(rows(&mut session, &of("SELECT COUNT(*) FROM t WHERE g = 3%")), ["0"]);
    assert_eq!(rows(&mut session, options), ["READ_ONLY|READ_ONLY|0|15|1|1|ALL|OFF"]);
    // Full: it reports that, and continues when it has been cleared.
    assert!(set(&mut session, "(OPERATION_MODE = READ_WRITE)").is_empty());
    for at in 0..400 {
        run(
            &mut session,
            &format!("SELECT {at} AS filling, '{}' AS wide FROM t WHERE i = 1", "x".repeat(3000)),
        );
    }
    assert_eq!(rows(&mut session, options), ["READ_WRITE|READ_ONLY|65536|15|1|1|ALL|OFF"]);
    assert!(set(&mut session, "CLEAR").is_empty());
    assert_eq!(rows(&mut session, options), ["READ_WRITE|READ_WRITE|0|15|1|1|ALL|OFF"]);
    assert_eq!(rows(&mut session, &of("%filling%wide%")), ["0"]);
    assert!(set(&mut session, "= OFF").is_empty());
    assert_eq!(
        rows(&mut session, "SELECT is_query_store_on FROM sys.databases WHERE name = DB_NAME()"),
        ["0"]
    );
    // Options without effect are refused by name, before anything is changed.
    assert_eq!(set(&mut session, "= ON (INTERVAL_LENGTH_MINUTES = 7)"), [153]);
    assert!(!set(&mut session, "(DATA_FLUSH_INTERVAL_SECONDS = 900)").is_empty());
    assert_eq!(rows(&mut session, options), ["OFF|OFF|0|15|1|1|ALL|OFF"]);
    assert_eq!(numbers(&run(&mut session, "ALTER DATABASE tempdb SET QUERY_STORE = ON")), [12438]);
}
