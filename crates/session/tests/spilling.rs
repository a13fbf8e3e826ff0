//! Operators that exceed memory spill to disk: the same results, no files left behind, no effect on others. `memory.rs` and `memory_grants.rs` test
//! the same under memory limits.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test looks into its folder")]

use crate::common::simulated::Server;
use crate::common::{Seen, World, numbers, rows, run};
use hardpan_session::{RequestEnd, Session};
use os::sim::{Effect, Fault, Operation, Profile};

/// 1,000 rows with NULLs, duplicates and a value that every second row has; 700 others.
const TABLES: &str = "CREATE TABLE t (id int NOT NULL, a int, b int, s varchar(40), w nvarchar(30) COLLATE Latin1_General_CI_AS, d decimal(9, 2))
    CREATE TABLE u (id int NOT NULL, a int, b int, s varchar(40))
    INSERT t SELECT number, CASE WHEN number % 2 = 0 THEN 7 ELSE NULLIF(number % 113, 5) END, number * 7 % 61,
        CASE WHEN number % 9 > 0 THEN 'text ' + CAST(number % 200 AS varchar(9)) END, CASE WHEN number % 3 = 0 THEN N'ABC' ELSE N'abc' END + STR(number % 90),
        number / 7.0 FROM master..spt_values WHERE type = 'P' AND number < 1000
    INSERT u SELECT number, NULLIF(number % 120, 6), number * 3 % 61, 'text ' + CAST(number % 250 AS varchar(9))
        FROM master..spt_values WHERE type = 'P' AND number < 700";

/// Ordered results are compared in order, others as sets. Returns whether any operator keeps rows that may spill to disk.
const QUERIES: &[&str] = &[
    "SELECT * FROM t ORDER BY s, id DESC",
    "SELECT id, a FROM t ORDER BY a DESC, id",
    "SELECT TOP 5 id, b FROM t ORDER BY b, id",
    "SELECT TOP 450 id, b FROM t ORDER BY b DESC, id",
    "SELECT TOP 30 WITH TIES b, s FROM t ORDER BY b, s",
    "SELECT id FROM t ORDER BY s, id OFFSET 333 ROWS FETCH NEXT 50 ROWS ONLY",
    "SELECT a, COUNT(*), SUM(b), MIN(s), MAX(d), AVG(d), COUNT(DISTINCT b), STDEV(b) FROM t GROUP BY a",
    "SELECT w, COUNT(*), MIN(id) FROM t GROUP BY w",
    "SELECT b, STRING_AGG(CAST(id AS varchar(9)), ',') WITHIN GROUP (ORDER BY id DESC) FROM t GROUP BY b",
    "SELECT s, a, b, COUNT(*) FROM t GROUP BY s, a, b HAVING COUNT(*) > 0",
    "SELECT COUNT(*), COUNT(DISTINCT s), SUM(DISTINCT b) FROM t",
    "SELECT COUNT(DISTINCT s) FROM t",
    "SELECT COUNT(DISTINCT s) FROM t WHERE id < 0",
    "SELECT a, COUNT(DISTINCT w), MIN(DISTINCT w) FROM t GROUP BY a",
    "SELECT SUM(DISTINCT d), AVG(DISTINCT d), COUNT(DISTINCT d), COUNT_BIG(DISTINCT d) FROM t HAVING COUNT(DISTINCT d) > 1",
    "SELECT b, SUM(DISTINCT b), COUNT(DISTINCT b) FROM t GROUP BY b",
    "SELECT a, id % 3, COUNT(DISTINCT s), COUNT(DISTINCT s) FROM t GROUP BY a, id % 3",
    "SELECT DISTINCT s, b FROM t",
    "SELECT DISTINCT UPPER(w) FROM t",
    "SELECT s, b FROM t UNION SELECT s, b FROM u",
    "SELECT a, b FROM t EXCEPT SELECT a, b FROM u",
    "SELECT a FROM t INTERSECT SELECT a FROM u",
    "SELECT a FROM u EXCEPT SELECT a FROM t WHERE a IS NOT NULL",
    "SELECT t.id, u.id FROM t INNER HASH JOIN u ON t.a = u.a",
    "SELECT t.id, u.id FROM t LEFT HASH JOIN u ON t.a = u.a AND t.b < u.b",
    "SELECT t.id, u.id FROM t RIGHT HASH JOIN u ON t.s = u.s AND t.b <> u.b",
    "SELECT t.id, u.id FROM t FULL HASH JOIN u ON t.a = u.a AND t.b = u.b",
    "SELECT t.id, u.id FROM u FULL HASH JOIN t ON t.a = u.a AND t.id < u.id",
    "SELECT x.id, y.id FROM t x INNER HASH JOIN t y ON x.a = y.a WHERE x.id < 90 AND y.id < 400",
    "SELECT x.id, y.id FROM t x FULL HASH JOIN t y ON x.a = y.a AND x.id = y.id + 2",
    "SELECT x.id, y.id FROM t x LEFT HASH JOIN t y ON x.a = y.a AND x.id = y.id + 2",
    "SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.a = t.a)",
    "SELECT id FROM t WHERE EXISTS (SELECT 1 FROM t x WHERE x.a = t.a AND x.b > t.b)",
    "SELECT id FROM t WHERE NOT EXISTS (SELECT 1 FROM t x WHERE x.a = t.a AND x.id > t.id)",
    "SELECT id FROM t WHERE a NOT IN (SELECT a FROM u WHERE a IS NOT NULL)",
    "SELECT id FROM t WHERE s IN (SELECT s FROM u WHERE b > 3)",
    "SELECT x.id, y.id FROM t x FULL JOIN u y ON x.id + 650 < y.id",
    "SELECT x.id, y.id FROM t x LEFT JOIN u y ON x.id * y.id = 1200",
    "SELECT id, ROW_NUMBER() OVER (ORDER BY s, id), RANK() OVER (ORDER BY s, id) FROM t",
    "SELECT id, ROW_NUMBER() OVER (PARTITION BY a ORDER BY id), DENSE_RANK() OVER (PARTITION BY a ORDER BY b) FROM t",
    "SELECT id, RANK() OVER (PARTITION BY b ORDER BY a), SUM(id) OVER (PARTITION BY b ORDER BY a), NTILE(3) OVER (PARTITION BY b ORDER BY id) FROM t",
    "SELECT id, LAG(id, 2) OVER (PARTITION BY a ORDER BY id), SUM(b) OVER (), CUME_DIST() OVER (ORDER BY b) FROM t",
    "SELECT id, SUM(b) OVER (ORDER BY id ROWS BETWEEN 40 PRECEDING AND 3 PRECEDING), MIN(b) OVER (ORDER BY id ROWS BETWEEN 2 FOLLOWING AND 90 FOLLOWING) FROM t",
    "SELECT id, FIRST_VALUE(s) OVER (ORDER BY b, id), LAST_VALUE(s) OVER (ORDER BY b), LEAD(s, 700, 'none') OVER (ORDER BY b, id) FROM t",
    "SELECT id, COUNT(*) OVER (ORDER BY b ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), PERCENT_RANK() OVER (ORDER BY b), NTILE(13) OVER (ORDER BY id DESC), DENSE_RANK() OVER (ORDER BY b), AVG(d) OVER (PARTITION BY id % 2) FROM t",
    "SELECT id, LAG(id, b % 5) OVER (PARTITION BY id % 2 ORDER BY id), SUM(b) OVER (PARTITION BY id % 2 ORDER BY b RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) FROM t",
    "SELECT TOP 30 PERCENT id FROM t ORDER BY id",
    "SELECT x.s, COUNT(*) n, SUM(y.b) FROM t x JOIN u y ON x.s = y.s GROUP BY x.s ORDER BY n DESC, x.s",
    "SELECT q.a, (SELECT COUNT(*) FROM (SELECT DISTINCT b FROM u WHERE u.a = q.a) z) FROM (SELECT DISTINCT a FROM t) q",
];

fn answer(session: &mut Session, query: &str) -> Vec<String> {
    let seen = run(session, query);
    assert!(
        seen.sets.len() == 1 && numbers(&seen).iter().all(|number| *number == 8153),
        "{query}: {:?}",
        seen.messages
    );
    let mut rows: Vec<String> = seen.sets[0].1.iter().map(|row| row.join("|")).collect();
    let is_ordered = query.rfind("ORDER BY").is_some_and(|at| !query[at..].contains(')'));
    if !is_ordered {
        rows.sort();
    }
    rows
}

#[test]
fn what_goes_to_disk_comes_back() {
    let world = World::new("spilling-answers");
    let mut s = world.session();
    run(&mut s, TABLES);
    let plain: Vec<Vec<String>> = QUERIES.iter().map(|query| answer(&mut s, query)).collect();
    assert_eq!(rows(&mut s, "SELECT SUM(total_spills) FROM sys.dm_exec_query_stats"), ["0"]);
    for rows_max in [100, 17, 1] {
        world.instance.workspaces().keep_no_more_than(rows_max);
        for (query, expected) in QUERIES.iter().zip(&plain) {
            let found = answer(&mut s, query);
            assert!(
                found == *expected,
                "{rows_max} rows: {query}: {} rows, not {}",
                found.len(),
                expected.len()
            );
        }
        // It reads and changes one table.
        run(&mut s, "SELECT * INTO c FROM t; INSERT c SELECT * FROM c");
        assert_eq!(rows(&mut s, "SELECT COUNT(*), MIN(id), MAX(id) FROM c"), ["2000|0|999"]);
        run(&mut s, "DROP TABLE c");
    }
    world.instance.workspaces().keep_no_more_than(usize::MAX);
    let unspilled = rows(
        &mut s,
        "SELECT COUNT(*) FROM sys.dm_exec_query_stats x CROSS APPLY sys.dm_exec_sql_text(x.plan_handle) y
         WHERE y.text LIKE 'SELECT%HASH JOIN%' AND x.total_spills = 0",
    );
    assert_eq!(unspilled, ["0"], "each hash join has gone to disk");
    assert_eq!(
        rows(
            &mut s,
            "SELECT x.execution_count, x.total_spills, x.last_spills, x.min_spills, x.max_spills
             FROM sys.dm_exec_query_stats x CROSS APPLY sys.dm_exec_sql_text(x.plan_handle) y
             WHERE y.text = 'SELECT * FROM t ORDER BY s, id DESC'"
        ),
        ["4|3|1|0|1"]
    );
}

/// KILL during it ends the statement, and no named file is left.
#[test]
fn kill_ends_a_spill() {
    let world = World::new("spilling-kill");
    let mut s = world.session();
    run(&mut s, TABLES);
    world.instance.workspaces().keep_no_more_than(100);
    let mut victim = world.session();
    let id = victim.id();
    std::thread::scope(|scope| {
        let ended = scope.spawn(move || {
            let mut seen = Seen::default();
            let text =
                "SELECT MAX(n) FROM (SELECT ROW_NUMBER() OVER (ORDER BY x.s, y.s, y.id) n FROM t x, t y) q";
            (victim.execute_batch(text, &mut seen), seen.sets.iter().map(|set| set.1.len()).sum::<usize>())
        });
        std::thread::sleep(std::time::Duration::from_millis(300));
        run(&mut s, &format!("KILL {id}"));
        let (end, given) = ended.join().unwrap();
        assert_ne!(end, RequestEnd::Finished);
        assert_eq!(given, 0);
    });
    world.instance.workspaces().keep_no_more_than(usize::MAX);
    assert_eq!(rows(&mut s, "SELECT COUNT(*) FROM t"), ["1000"]);
    let names: Vec<_> = std::fs::read_dir(world.instance.data_dir())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains("spill"))
        .collect();
    assert_eq!(names, [] as [String; 0]);
}

/// The disk is full: an error for that statement alone, whichever of its writes fails; then it works again.
#[test]
fn a_full_disk_ends_the_statement_alone() {
    let world = os::sim::World::new(1, Profile { switches_max: 40_000_000, ..Profile::constant_latency() });
    let faults = world.clone();
    let report = world.run(move |os| {
        let (server, mut s) = Server::with_table(os);
        run(&mut s, "INSERT T1 SELECT number FROM master..spt_values WHERE type = 'P' AND number < 2000");
        server.instance.workspaces().keep_no_more_than(100);
        let sorted =
            "SELECT COUNT(*), MAX(n) FROM (SELECT ROW_NUMBER() OVER (ORDER BY col1 % 7, col1) n FROM T1) x";
        assert_eq!(rows(&mut s, sorted), ["2000|2000"]);
        let mut refused = 0;
        for skip in 0..40 {
            let fault = Fault { effect: Effect::NoSpace, ..Fault::fail_once(Operation::Write, skip) };
            faults.inject(fault.on("hardpan.spill."));
            let seen = run(&mut s, &format!("BEGIN TRAN INSERT T1 VALUES (9999) {sorted}"));
            faults.clear_faults();
            let failed = numbers(&seen);
            assert!(failed.is_empty() || failed == [1105], "{failed:?}");
            refused += failed.len();
            assert_eq!(rows(&mut s, "SELECT @@TRANCOUNT"), ["1"]);
            run(&mut s, "ROLLBACK");
            assert_eq!(rows(&mut s, sorted), ["2000|2000"]);
        }
        assert!(refused > 20, "or this proves nothing: {refused}");
        // Long before the disk is full: space for the growth of logs and data files stays free.
        let wide = "SELECT COUNT(*), MAX(n) FROM (SELECT ROW_NUMBER() OVER (ORDER BY w) n FROM
            (SELECT REPLICATE('x', 7000) + CAST(col1 AS varchar(9)) w FROM T1) q) x";
        assert_eq!(rows(&mut s, wide), ["2000|2000"]);
        faults.set_capacity_bytes(Some(faults.used_bytes() + (100 << 20)));
        assert_eq!(numbers(&run(&mut s, wide)), [1105]);
        faults.set_capacity_bytes(None);
        assert_eq!(rows(&mut s, wide), ["2000|2000"]);
        server.stop(s);
    });
    report.assert_ok();
}
