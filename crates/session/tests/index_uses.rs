//! Counts in sys.dm_db_index_usage_stats and sys.dm_db_index_operational_stats that need two sessions, another database or a restart.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use crate::common::{World, numbers, rows, run};

const LOCKS: &str = "SELECT row_lock_wait_count, CASE WHEN row_lock_wait_in_ms BETWEEN 40 * row_lock_wait_count AND 20000 THEN 'long' ELSE STR(row_lock_wait_in_ms) END
     FROM sys.dm_db_index_operational_stats(DB_ID(), OBJECT_ID('t'), NULL, NULL)";

/// Heaps and trees; changes and reads that wait for a row.
#[test]
fn waits_for_rows_are_counted_where_the_row_is() {
    for key in ["", "PRIMARY KEY"] {
        let (world, mut one) = World::in_database(&format!("index-uses-waits-{}", key.len()));
        run(
            &mut one,
            &format!("CREATE TABLE t (i int NOT NULL {key}, v int); INSERT t VALUES (1, 1), (2, 2)"),
        );
        assert_eq!(rows(&mut one, LOCKS), ["0|long"], "{key}");
        run(&mut one, "BEGIN TRAN; UPDATE t SET v = 5 WHERE i = 1");
        let mut other = world.session();
        run(&mut other, "USE d; SET LOCK_TIMEOUT 60");
        for (number, statement) in [
            "UPDATE t SET v = 6 WHERE i = 1",
            "SELECT v FROM t WHERE i = 1",
            "DELETE t",
            "SELECT COUNT(*) FROM t WITH (REPEATABLEREAD)",
        ]
        .into_iter()
        .enumerate()
        {
            assert!(numbers(&run(&mut other, statement)).contains(&1222), "{statement}");
            assert_eq!(rows(&mut one, LOCKS), [format!("{}|long", number + 1)], "{key}: {statement}");
        }
        run(&mut one, "ROLLBACK");
    }
}

/// Counts begin with the database; a view of all databases shows each under its own number.
#[test]
fn counts_end_with_their_database() {
    const USED: &str = "SELECT COUNT(*) FROM sys.dm_db_index_usage_stats WHERE database_id = DB_ID('d') AND user_updates > 0";
    const INSIDE: &str = "SELECT SUM(leaf_insert_count) FROM sys.dm_db_index_operational_stats(DB_ID('d'), OBJECT_ID('d.dbo.t'), NULL, NULL)";
    let (mut world, mut session) = World::in_database("index-uses-ends");
    let make = "CREATE TABLE t (i int PRIMARY KEY); INSERT t VALUES (1), (2), (3)";
    run(&mut session, make);
    run(&mut session, "USE master");
    assert_eq!((rows(&mut session, USED), rows(&mut session, INSIDE)), (vec!["1".into()], vec!["3".into()]));
    run(&mut session, "DROP DATABASE d; CREATE DATABASE d");
    assert_eq!(rows(&mut session, USED), ["0"]);
    run(&mut session, &format!("USE d; {make}; USE master"));
    assert_eq!((rows(&mut session, USED), rows(&mut session, INSIDE)), (vec!["1".into()], vec!["3".into()]));
    session.close();
    world.restart();
    let mut session = world.session();
    assert_eq!(rows(&mut session, USED), ["0"]);
    run(&mut session, "SELECT i FROM d.dbo.t WHERE i = 2");
    let seeks = "SELECT user_seeks, user_updates FROM sys.dm_db_index_usage_stats WHERE database_id = DB_ID('d') AND OBJECT_NAME(object_id, database_id) = 't'";
    assert_eq!(rows(&mut session, seeks), ["1|0"]);
    // What statements have done stays through TRUNCATE, and goes with the table.
    run(&mut session, "USE d; INSERT t VALUES (7); TRUNCATE TABLE t");
    assert_eq!(rows(&mut session, seeks), ["1|1"]);
    run(&mut session, "DROP TABLE t; CREATE TABLE t (i int PRIMARY KEY)");
    assert_eq!(rows(&mut session, seeks), Vec::<String>::new(), "another table");
}

/// A rollback takes back rows, not what was counted; ALTER TABLE and a rolled back one leave the counts with the index.
#[test]
fn counts_go_through_changes_of_the_definition() {
    let (_world, mut session) = World::in_database("index-uses-definition");
    run(&mut session, "CREATE TABLE t (i int PRIMARY KEY, v int, INDEX iv (v)); INSERT t VALUES (1, 1)");
    let used = "SELECT index_id, user_updates FROM sys.dm_db_index_usage_stats WHERE object_id = OBJECT_ID('t') AND database_id = DB_ID() ORDER BY 1";
    for (number, statement) in [
        "BEGIN TRAN; INSERT t VALUES (2, 2); ROLLBACK",
        "ALTER TABLE t ADD w AS v + 1; INSERT t(i, v) VALUES (3, 3)",
        "BEGIN TRAN; ALTER TABLE t DROP COLUMN w; INSERT t VALUES (4, 4); ROLLBACK",
        "ALTER TABLE t REBUILD; INSERT t(i, v) VALUES (5, 5)",
        "BEGIN TRAN; ALTER INDEX ALL ON t REBUILD; ROLLBACK; EXEC sp_rename 't.iv', 'other', 'INDEX'; DELETE t WHERE i = 5",
    ]
    .into_iter()
    .enumerate()
    {
        run(&mut session, statement);
        let expected = [format!("1|{}", number + 2), format!("2|{}", number + 2)];
        assert_eq!(rows(&mut session, used), expected, "{statement}");
    }
}
