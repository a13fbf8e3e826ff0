//! The lifetime of cached plans: a plan is used exactly as long as the objects it was bound to are unchanged. The same text
//! with a unique comment is bound again: whatever was changed meanwhile, both give the same result.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::random::{Random, seed};
use crate::common::{Seen, World, numbers, rows, run};
use hardpan_session::Session;

/// Number of executions of a text, and of bindings of its statements.
fn figures(session: &mut Session, text: &str) -> (u64, u64) {
    let found = rows(
        session,
        &format!(
            "SELECT MAX(p.usecounts), MAX(q.plan_generation_num) FROM sys.dm_exec_query_stats q JOIN sys.dm_exec_cached_plans p
                 ON p.plan_handle = q.plan_handle CROSS APPLY sys.dm_exec_sql_text(q.sql_handle) t WHERE t.text = N'{}'",
            text.replace('\'', "''")
        ),
    );
    let (runs, bound) = found[0].split_once('|').unwrap();
    (runs.parse().unwrap(), bound.parse().unwrap())
}

/// Temporary tables of other sessions, and other objects of the same database, do not matter.
#[test]
fn temporary_tables_of_others_leave_plans_alone() {
    let (world, mut session) = World::in_database("lifetimes-temporary");
    let mut other = world.session();
    run(&mut other, "USE d");
    run(&mut session, "CREATE TABLE t (i int PRIMARY KEY) CREATE TABLE ##everybodys (i int)");
    run(&mut session, "INSERT t VALUES (1), (2) INSERT ##everybodys VALUES (1)");
    let texts = [
        "SELECT COUNT(*) FROM t",
        "SELECT COUNT(*) FROM ##everybodys",
        "SELECT COUNT(*) FROM t JOIN ##everybodys e ON e.i = t.i",
        "SELECT COUNT(*) FROM tempdb.sys.objects WHERE name LIKE '%nobodys'",
        "UPDATE ##everybodys SET i = i + 1",
        "UPDATE t SET i = i WHERE i IN (SELECT i FROM ##everybodys)",
        "DECLARE @n int = (SELECT COUNT(*) FROM ##everybodys)",
        "IF EXISTS (SELECT * FROM ##everybodys WHERE i < 0) SELECT * FROM t",
        "SELECT value FROM STRING_SPLIT('a b', ' ')",
    ];
    let all = |session: &mut Session| texts.iter().for_each(|text| drop(run(session, text)));
    all(&mut session);
    // Its own plan lives as long as its loop.
    let own = "CREATE TABLE #own (i int) INSERT #own VALUES (1)";
    run(&mut session, own);
    let compiled = "SELECT cntr_value FROM sys.dm_os_performance_counters WHERE counter_name = 'SQL Re-Compilations/sec'";
    for round in 0..1000 {
        run(&mut other, "CREATE TABLE #t (i int) DROP TABLE #t");
        if round % 100 == 0 {
            run(
                &mut other,
                "CREATE TABLE mine (i int) INSERT mine VALUES (1) ALTER TABLE mine ADD j int DROP TABLE mine",
            );
            run(&mut other, "CREATE SCHEMA s");
            run(&mut other, "CREATE VIEW s.v AS SELECT 1 AS one");
            run(&mut other, "DROP VIEW s.v; DROP SCHEMA s; DECLARE @t TABLE (i int)");
            all(&mut session);
        }
    }
    let before: i64 = rows(&mut session, compiled)[0].trim().parse().unwrap();
    run(
        &mut session,
        "DECLARE @n int = 0 WHILE @n < 20 BEGIN UPDATE #own SET i = i + 1
             EXEC ('CREATE TABLE #another (i int) CREATE TABLE #own (i int, j int) UPDATE #own SET j = 1') SET @n += 1 END",
    );
    assert_eq!(rows(&mut session, "SELECT i FROM #own"), ["21"]);
    let after: i64 = rows(&mut session, compiled)[0].trim().parse().unwrap();
    assert_eq!(after - before, 0, "bound again for tables of inner scopes");
    for text in texts.iter().filter(|text| text.starts_with("SELECT") || text.starts_with("UPDATE")) {
        assert_eq!(figures(&mut session, text), (11, 1), "{text}");
    }
}

/// Current result of a text: rows and errors.
fn outcome(session: &mut Session, text: &str) -> String {
    let seen = run(session, &format!("SET NOCOUNT ON; BEGIN TRAN; {text}; IF @@TRANCOUNT > 0 ROLLBACK"));
    // An error may have ended the batch.
    run(session, "IF @@TRANCOUNT > 0 ROLLBACK");
    shown(&seen)
}

fn shown(seen: &Seen) -> String {
    let sets: Vec<String> = seen.sets.iter().map(|(names, rows)| format!("{names:?} {rows:?}")).collect();
    let told: Vec<(i32, &str)> =
        seen.messages.iter().map(|message| (message.0, message.2.as_str())).collect();
    format!("{} {told:?}", sets.join("; "))
}

/// Queried objects: one- and two-part names, a view of a view, functions, keys and cascades, sequences, another database, temporary tables.
const PROBES: &[&str] = &[
    "SELECT * FROM t ORDER BY i",
    "SELECT * FROM s.t ORDER BY 1",
    "SELECT * FROM outer_view ORDER BY 1",
    "SELECT * FROM listed(1) ORDER BY 1",
    "SELECT (SELECT COUNT(*) FROM v)",
    "DECLARE @n int = (SELECT COUNT(*) FROM v WHERE i > 0); SELECT @n",
    "INSERT t (i, j) VALUES (50, 1); SELECT * FROM t WHERE i = 50",
    "INSERT t (i) VALUES (51); SELECT * FROM t WHERE i = 51",
    "INSERT child VALUES (60, 1); SELECT COUNT(*) FROM child",
    "INSERT child VALUES (61, 99); SELECT COUNT(*) FROM child",
    "DELETE parent WHERE i = 2; SELECT * FROM child ORDER BY i; SELECT * FROM grandchild ORDER BY i",
    "UPDATE parent SET i = 20 WHERE i = 2; SELECT * FROM child ORDER BY i",
    "UPDATE v SET j = 7 WHERE i = 1; SELECT * FROM t WHERE i = 1",
    "INSERT numbered (i) VALUES (1); SELECT COUNT(*) FROM numbered WHERE n IS NOT NULL",
    "SELECT i FROM t WITH (INDEX (by_j)) WHERE j > 0 ORDER BY i",
    "SELECT COUNT(*) FROM other.dbo.t",
    "SELECT COUNT(*) FROM other..v",
    "SELECT * FROM #t ORDER BY 1",
    "SELECT * FROM ##g ORDER BY 1",
    "SELECT * INTO made FROM t; SELECT COUNT(*) FROM made",
    "MERGE t USING (VALUES (1), (70)) AS n (i) ON n.i = t.i WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (i) VALUES (n.i); SELECT COUNT(*) FROM t",
    "EXEC told",
];

/// The changes; one that fails (there is nothing to drop) changes nothing.
const CHANGES: &[&str] = &[
    "ALTER TABLE t ADD more int NULL DEFAULT 5",
    "ALTER TABLE t DROP COLUMN IF EXISTS more",
    "ALTER TABLE t ADD CONSTRAINT positive CHECK (i < 50)",
    "ALTER TABLE t NOCHECK CONSTRAINT positive",
    "ALTER TABLE t CHECK CONSTRAINT positive",
    "ALTER TABLE t DROP CONSTRAINT IF EXISTS positive",
    "ALTER TABLE t ADD CONSTRAINT standing DEFAULT 9 FOR j",
    "ALTER TABLE t DROP CONSTRAINT IF EXISTS standing",
    "ALTER TABLE t ALTER COLUMN j bigint",
    "ALTER TABLE t ALTER COLUMN j int",
    "CREATE INDEX by_j ON t (j)",
    "CREATE UNIQUE INDEX by_j ON t (j) WITH (DROP_EXISTING = ON)",
    "ALTER INDEX by_j ON t DISABLE",
    "ALTER INDEX by_j ON t REBUILD",
    "DROP INDEX IF EXISTS by_j ON t",
    "TRUNCATE TABLE t",
    "INSERT t (i, j) VALUES (1, 10), (2, 20), (3, 30)",
    "DROP TABLE t; CREATE TABLE t (i int NOT NULL PRIMARY KEY, j int NULL); INSERT t VALUES (1, 1)",
    "DROP TABLE t; CREATE TABLE t (j int NULL, i bigint NOT NULL PRIMARY KEY); INSERT t VALUES (11, 1), (12, 2), (13, 3), (14, 4)",
    "EXEC sp_rename 't', 'hidden'",
    "EXEC sp_rename 'hidden', 't'",
    "EXEC sp_rename 't.j', 'k', 'COLUMN'",
    "EXEC sp_rename 't.k', 'j', 'COLUMN'",
    "CREATE TABLE s.t (of_schema int); INSERT s.t VALUES (1)",
    "DROP TABLE IF EXISTS s.t",
    "ALTER SCHEMA s TRANSFER dbo.hidden",
    "ALTER SCHEMA dbo TRANSFER s.hidden",
    "EXEC ('CREATE OR ALTER VIEW v AS SELECT i, j FROM t')",
    "EXEC ('CREATE OR ALTER VIEW v AS SELECT i, j FROM t WHERE i > 1')",
    "EXEC ('ALTER VIEW outer_view AS SELECT COUNT(*) AS many FROM v')",
    "EXEC ('CREATE OR ALTER VIEW outer_view AS SELECT i FROM v')",
    "DROP VIEW IF EXISTS v",
    "DROP VIEW IF EXISTS v; CREATE TABLE v (i int, j int); INSERT v VALUES (100, 1)",
    "DROP TABLE IF EXISTS v",
    "EXEC ('CREATE OR ALTER FUNCTION listed (@n int) RETURNS TABLE AS RETURN (SELECT i FROM v WHERE i > @n)')",
    "EXEC ('CREATE OR ALTER FUNCTION listed (@n int) RETURNS TABLE AS RETURN (SELECT @n AS n, i FROM t)')",
    "DROP FUNCTION IF EXISTS listed",
    "EXEC ('CREATE OR ALTER PROCEDURE told AS SELECT COUNT(*) FROM v')",
    "EXEC ('CREATE OR ALTER PROCEDURE told AS SELECT i FROM t ORDER BY i')",
    "ALTER TABLE child DROP CONSTRAINT IF EXISTS refers",
    "ALTER TABLE child ADD CONSTRAINT refers FOREIGN KEY (p) REFERENCES parent (i) ON DELETE CASCADE ON UPDATE CASCADE",
    "ALTER TABLE child ADD CONSTRAINT refers FOREIGN KEY (p) REFERENCES parent (i) ON DELETE SET NULL",
    "ALTER TABLE child ADD CONSTRAINT refers FOREIGN KEY (p) REFERENCES parent (i)",
    "ALTER TABLE child NOCHECK CONSTRAINT ALL",
    "ALTER TABLE child WITH CHECK CHECK CONSTRAINT ALL",
    "ALTER TABLE child ADD extra int NULL",
    "ALTER TABLE child DROP COLUMN IF EXISTS extra",
    "ALTER TABLE grandchild DROP CONSTRAINT IF EXISTS further",
    "ALTER TABLE grandchild ADD CONSTRAINT further FOREIGN KEY (c) REFERENCES child (i) ON DELETE CASCADE",
    "ALTER TABLE grandchild ADD CONSTRAINT further FOREIGN KEY (c) REFERENCES child (i)",
    "ALTER SEQUENCE counter RESTART WITH 100 INCREMENT BY 5",
    "ALTER TABLE numbered DROP CONSTRAINT IF EXISTS next; DROP SEQUENCE counter; CREATE SEQUENCE counter AS bigint START WITH 1000; \
     ALTER TABLE numbered ADD CONSTRAINT next DEFAULT (NEXT VALUE FOR counter) FOR n",
    "ALTER TABLE other.dbo.t ADD extra int",
    "DELETE TOP (1) other.dbo.t",
    "DROP TABLE IF EXISTS #t",
    "CREATE TABLE #t (i int); INSERT #t VALUES (1)",
    "CREATE TABLE #t (i int, j int); INSERT #t VALUES (1, 2)",
    "DROP TABLE IF EXISTS ##g",
    "CREATE TABLE ##g (i int); INSERT ##g VALUES (1)",
    "CREATE TABLE ##g (i int, j int); INSERT ##g VALUES (1, 2)",
    "CREATE TABLE made (i int)",
    "DROP TABLE IF EXISTS made",
];

/// Changes of whole databases, which cannot run in a transaction.
const UPHEAVALS: &[&str] = &[
    "USE master; DROP DATABASE other; CREATE DATABASE other; CREATE TABLE other.dbo.t (i int); EXEC other..sp_executesql N'CREATE VIEW v AS SELECT i FROM t'; USE d",
    "ALTER DATABASE other MODIFY NAME = moved",
    "ALTER DATABASE moved MODIFY NAME = other",
    "ALTER DATABASE d SET AUTO_CREATE_STATISTICS OFF",
    "ALTER DATABASE d SET AUTO_CREATE_STATISTICS ON",
    "ALTER DATABASE d SET COMPATIBILITY_LEVEL = 110",
    "ALTER DATABASE d SET COMPATIBILITY_LEVEL = 150",
];

const BEGINNING: &[&str] = &[
    "CREATE DATABASE other; CREATE TABLE other.dbo.t (i int); INSERT other.dbo.t VALUES (1), (2); EXEC other..sp_executesql N'CREATE VIEW v AS SELECT i FROM t'",
    "CREATE SCHEMA s",
    "CREATE TABLE t (i int NOT NULL PRIMARY KEY, j int NULL); INSERT t VALUES (1, 10), (2, 20)",
    "CREATE TABLE parent (i int NOT NULL PRIMARY KEY); CREATE TABLE child (i int NOT NULL PRIMARY KEY, p int NULL); CREATE TABLE grandchild (i int NOT NULL PRIMARY KEY, c int NULL)",
    "INSERT parent VALUES (1), (2); INSERT child VALUES (1, 1), (2, 2), (3, NULL); INSERT grandchild VALUES (1, 3), (2, NULL)",
    "CREATE SEQUENCE counter AS int; CREATE TABLE numbered (i int, n bigint CONSTRAINT next DEFAULT (NEXT VALUE FOR counter))",
    "CREATE VIEW v AS SELECT i, j FROM t",
    "CREATE VIEW outer_view AS SELECT i FROM v",
    "CREATE FUNCTION listed (@n int) RETURNS TABLE AS RETURN (SELECT i FROM v WHERE i > @n)",
    "CREATE PROCEDURE told AS SELECT COUNT(*) FROM v",
    "CREATE TABLE #t (i int); CREATE TABLE ##g (i int)",
];

/// A text that has not been sent before.
fn fresh(text: &str, number: &mut u32) -> String {
    *number += 1;
    format!("{text} /* {number} */")
}

/// Two sessions make changes and run queries, in transactions; some roll back. After each step both run all queries, by cached and by new plans.
#[test]
fn a_kept_plan_gives_what_its_text_gives_when_it_is_bound_anew() {
    let mut random = Random::new(seed(11));
    let (world, mut one) = World::in_database("lifetimes-random");
    let mut two = world.session();
    for text in BEGINNING {
        assert_eq!(numbers(&run(&mut one, text)), [0; 0], "{text}");
    }
    run(&mut one, "SET LOCK_TIMEOUT 0");
    run(&mut two, "USE d; SET LOCK_TIMEOUT 0");
    let (mut number, mut changed, mut refused, mut waited) = (0, 0, 0, 0);
    let steps = std::env::var("HARDPAN_TEST_STEPS").ok().and_then(|text| text.parse().ok()).unwrap_or(150);
    for step in 0..steps {
        let mut done = Vec::new();
        let in_transaction = random.below(2) == 0;
        if in_transaction {
            run(&mut one, "BEGIN TRAN");
        }
        for _ in 0..=random.below(3) {
            let upheaves = !in_transaction && random.below(10) == 0;
            let change = *random.one_of(if upheaves { UPHEAVALS } else { CHANGES });
            // What fails in a transaction may end it.
            let seen = run(&mut one, change);
            done.push(change);
            match seen.messages.iter().all(|message| [0, 5701, 15477].contains(&message.0)) {
                true => changed += 1,
                false => refused += 1,
            }
        }
        let all = |session: &mut Session, number: &mut u32, waited: &mut i32| {
            for probe in PROBES {
                let kept = outcome(session, probe);
                let anew = outcome(session, &fresh(probe, number));
                assert_eq!(kept, anew, "step {step}: {probe} after {done:?}");
                *waited += i32::from(kept.contains("1222"));
            }
        };
        // The sessions without the change query while it is uncommitted.
        all(&mut two, &mut number, &mut waited);
        if in_transaction {
            let end = if random.below(2) == 0 { "COMMIT" } else { "ROLLBACK" };
            run(&mut one, &format!("IF @@TRANCOUNT > 0 {end}"));
        }
        all(&mut two, &mut number, &mut waited);
        all(&mut one, &mut number, &mut waited);
    }
    assert!(
        changed > steps / 3 && refused > 0 && waited > 0,
        "{changed} changed, {refused} refused, {waited} waited"
    );
}

/// In one batch, where a session keeps its own plans from one loop round to the next: names have their current meaning.
#[test]
fn a_name_in_a_loop_means_what_it_means_in_each_round() {
    let (_world, mut session) = World::in_database("lifetimes-loop");
    run(&mut session, "CREATE TABLE t (i int); INSERT t VALUES (1)");
    run(
        &mut session,
        "CREATE DATABASE far; CREATE TABLE far.dbo.t (i int); INSERT far.dbo.t VALUES (1), (2)",
    );
    let counts = |session: &mut Session, body: &str| -> Vec<String> {
        let text = format!("SET NOCOUNT ON; DECLARE @n int = 0; WHILE @n < 2 BEGIN {body}; SET @n += 1 END");
        let seen = run(session, &text);
        seen.sets.iter().map(|set| format!("{}:{}", set.0.len(), set.1.len())).collect()
    };
    // The second round is in the other database.
    let reads = "SELECT * FROM t; USE far";
    assert_eq!(counts(&mut session, reads), ["1:1", "1:2"]);
    run(&mut session, "USE d");
    assert_eq!(
        counts(
            &mut session,
            "DECLARE @c int; SET @c = (SELECT COUNT(*) FROM t); SELECT TOP (@c) 1 FROM master..spt_values; USE far"
        ),
        ["1:1", "1:2"]
    );
    run(&mut session, "USE d");
    counts(&mut session, "SELECT 1 AS one INTO copied; USE far");
    assert_eq!(rows(&mut session, "SELECT COUNT(*) FROM far.dbo.copied"), ["1"]);
    assert_eq!(rows(&mut session, "SELECT COUNT(*) FROM d.dbo.copied"), ["1"]);
    run(&mut session, "USE d");
    // A plan bound in one database is not used when the batch goes to the other.
    let either = |far: i32| {
        format!(
            "DECLARE @far int = {far}; EXEC sp_executesql N'IF @far = 1 USE far; SELECT * FROM t', N'@far int', @far"
        )
    };
    for (far, rows) in [(0, 1), (1, 2), (0, 1), (1, 2)] {
        let seen = run(&mut session, &either(far));
        assert_eq!(seen.sets[0].1.len(), rows, "far: {far}");
    }
    // The inner scope's table hides the outer one of that name, and is dropped with it.
    run(&mut session, "CREATE TABLE #t (i int); INSERT #t VALUES (1)");
    let inner = "EXEC ('SELECT * FROM #t; DECLARE @n int = 0; WHILE @n < 2 BEGIN SELECT * FROM #t; IF @n = 0 CREATE TABLE #t (i int, j int); SET @n += 1 END')";
    assert_eq!(
        counts(&mut session, &format!("{inner}; SELECT * FROM #t")),
        ["1:1", "1:1", "2:0", "1:1", "1:1", "1:1", "2:0", "1:1"]
    );
    // A rollback restores the old table.
    let brought = "IF @n = 0 BEGIN BEGIN TRAN; DROP TABLE #t; CREATE TABLE #t (i int, j int, k int); SELECT * FROM #t; ROLLBACK END; SELECT * FROM #t";
    assert_eq!(counts(&mut session, brought), ["3:0", "1:1", "1:1"]);
}
