//! No other session can insert into a range that a transaction has read at SERIALIZABLE, also if the transaction itself has inserted rows into it:
//! by every kind of index, in both directions, with every locking hint.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test prepares its folders itself")]

use crate::common::{World, is_free, numbers, rows, run};
use hardpan_session::Session;

/// Tables with an int column k whose ranges are read, and a number that names rows.
const TABLES: [&str; 7] = [
    "CREATE TABLE t (id int NOT NULL, k int NOT NULL PRIMARY KEY, pad char(3000) NOT NULL DEFAULT '')",
    "CREATE TABLE t (id int NOT NULL PRIMARY KEY, k int NOT NULL); CREATE INDEX by_k ON t (k)",
    "CREATE TABLE t (id int NOT NULL PRIMARY KEY, k int NOT NULL); CREATE UNIQUE INDEX by_k ON t (k DESC)",
    "CREATE TABLE t (id int NOT NULL, k int NOT NULL); CREATE INDEX by_k ON t (k) INCLUDE (id)",
    "CREATE TABLE t (id int NOT NULL, k int NULL, pad char(3000) NOT NULL DEFAULT ''); CREATE CLUSTERED INDEX by_k ON t (k)",
    "CREATE TABLE t (id int NOT NULL, k int NOT NULL UNIQUE CLUSTERED)",
    "CREATE TABLE t (id int NOT NULL, k int NOT NULL); CREATE UNIQUE INDEX by_k ON t (k) WHERE k > 0",
];

/// Statements that read the range and change nothing in it.
const READS: [&str; 9] = [
    "SELECT k FROM t WHERE k BETWEEN 15 AND 60",
    "SELECT k FROM t WHERE k BETWEEN 15 AND 60 ORDER BY k DESC",
    "SELECT id FROM t WITH (UPDLOCK) WHERE k BETWEEN 15 AND 60",
    "SELECT id FROM t WITH (UPDLOCK, ROWLOCK) WHERE k BETWEEN 15 AND 60 ORDER BY k DESC",
    "SELECT id FROM t WITH (XLOCK) WHERE k BETWEEN 15 AND 60",
    "SELECT COUNT(*) FROM t WHERE k >= 15 AND k < 61",
    "UPDATE t SET id = id + 100 WHERE k BETWEEN 15 AND 60",
    "IF EXISTS (SELECT * FROM t WHERE k BETWEEN 45 AND 60) OR EXISTS (SELECT * FROM t WHERE k BETWEEN 15 AND 19 OR k BETWEEN 21 AND 29 OR k BETWEEN 31 AND 39 OR k BETWEEN 41 AND 44) SELECT 1",
    "MERGE t WITH (HOLDLOCK) USING (SELECT MIN(k) k FROM t WHERE k BETWEEN 15 AND 60) s ON t.k = s.k AND s.k < 0 WHEN NOT MATCHED BY SOURCE AND t.k < 0 THEN DELETE;",
];

/// What the reader then does in its range.
const CHANGES: [&str; 7] = [
    "",
    "INSERT t (id, k) VALUES (50, 50)",
    "INSERT t (id, k) SELECT v, v FROM (VALUES (50), (45), (41), (59), (25)) x (v)",
    "UPDATE t SET k = 50 WHERE k = 40",
    "UPDATE t SET k = 45 WHERE k = 70",
    "INSERT t (id, k) VALUES (50, 50); DELETE t WHERE k = 50",
    "SAVE TRAN s; INSERT t (id, k) VALUES (50, 50); ROLLBACK TRAN s",
];

/// An insert by another that is taken back.
fn can_insert(session: &mut Session, key: i32) -> bool {
    let is_free = is_free(session, &format!("BEGIN TRAN; INSERT t (id, k) VALUES ({key} + 1000, {key})"));
    run(session, "IF @@TRANCOUNT > 0 ROLLBACK");
    is_free
}

#[test]
fn nobody_puts_a_row_into_a_range_that_was_read() {
    let world = World::new("kept-ranges");
    let mut reader = world.session();
    let mut other = world.session();
    run(&mut other, "SET LOCK_TIMEOUT 0");
    for table in TABLES {
        run(
            &mut reader,
            &format!("SET TRANSACTION ISOLATION LEVEL READ COMMITTED; DROP TABLE IF EXISTS t; {table}"),
        );
        run(&mut reader, "INSERT t (id, k) VALUES (1, 10), (2, 20), (3, 30), (4, 40), (7, 70)");
        // By the index, however few rows there are.
        let by_index = |read: &str| match read.contains("UPDLOCK") || read.contains("XLOCK") {
            true => read.replace("LOCK)", "LOCK, FORCESEEK)"),
            false => read.replace("FROM t WHERE", "FROM t WITH (FORCESEEK) WHERE"),
        };
        for level in ["SERIALIZABLE", "HOLDLOCK"] {
            for read in READS {
                let read = by_index(read);
                let read = if level == "HOLDLOCK" { read.replace("SEEK)", "SEEK, HOLDLOCK)") } else { read };
                if level == "HOLDLOCK" && !read.contains("HOLDLOCK") {
                    continue;
                }
                for change in CHANGES {
                    let told = format!("{table}\n{level}: {read}\n{change}");
                    let level = if level == "HOLDLOCK" { "READ COMMITTED" } else { level };
                    run(&mut reader, &format!("SET TRANSACTION ISOLATION LEVEL {level}; BEGIN TRAN"));
                    for text in [read.as_str(), change] {
                        let seen = run(&mut reader, text);
                        assert!(numbers(&seen).is_empty(), "{told}: {:?}", seen.messages);
                    }
                    for key in
                        (16..60).filter(|key| ![20, 30, 40].contains(key)).step_by(2).chain([46, 49, 51])
                    {
                        assert!(!can_insert(&mut other, key), "{told}: {key}");
                    }
                    assert!(
                        !is_free(&mut other, "UPDATE t SET k = 55 WHERE k = 10"),
                        "{told}: moved into it"
                    );
                    run(&mut reader, "ROLLBACK");
                    assert!(can_insert(&mut other, 55), "{told}: it has ended");
                }
            }
        }
    }
    assert_eq!(rows(&mut reader, "SELECT k FROM t ORDER BY k"), ["10", "20", "30", "40", "70"]);
}

/// The usual "insert or update": a session that found no row keeps the key's gap locked up to the next key, also in an empty table.
#[test]
fn whoever_found_nothing_keeps_its_place() {
    let world = World::new("kept-places");
    let mut reader = world.session();
    let mut other = world.session();
    run(&mut other, "SET LOCK_TIMEOUT 0");
    for there in ["", "INSERT t VALUES (1, 5)", "INSERT t VALUES (1, 5), (2, 900); DELETE t WHERE k = 900"] {
        for key in ["PRIMARY KEY", "UNIQUE", "INDEX i NONCLUSTERED"] {
            let upserts = [
                "SELECT MAX(k) FROM t WITH (UPDLOCK, HOLDLOCK); INSERT t VALUES (6, 100); INSERT t VALUES (7, 200)",
                "UPDATE t WITH (UPDLOCK, HOLDLOCK) SET id = 9 WHERE k > 50; INSERT t VALUES (6, 200); INSERT t VALUES (6, 100)",
                "MERGE t WITH (HOLDLOCK) USING (VALUES (6, 100), (7, 200)) s (id, k) ON t.k = s.k AND t.k > 50 WHEN MATCHED THEN UPDATE SET id = s.id WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.k); SELECT k FROM t WITH (HOLDLOCK) WHERE k > 200",
            ];
            for upsert in upserts {
                run(
                    &mut reader,
                    &format!(
                        "DROP TABLE IF EXISTS t; CREATE TABLE t (id int, k int NOT NULL {key}); {there}"
                    ),
                );
                run(&mut reader, "BEGIN TRAN");
                let seen = run(&mut reader, upsert);
                assert!(numbers(&seen).is_empty(), "{upsert}: {:?}", seen.messages);
                for new in [100, 150, 199, 201, 1_000] {
                    if upsert.starts_with("MERGE") && new != 100 && new < 200 {
                        continue;
                    }
                    assert!(!can_insert(&mut other, new), "{there}, {key}, {upsert}: {new}");
                }
                run(&mut reader, "ROLLBACK");
            }
        }
    }
}
