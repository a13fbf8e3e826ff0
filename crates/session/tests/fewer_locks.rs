//! No session waits for rows that it does not need: a covering read locks index entries only, an equality on a unique key at SERIALIZABLE locks
//! that key only, a rollback to a savepoint releases the locks taken since.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test prepares its folders itself")]

use crate::common::{World, is_free, numbers, rows, run};

const NONE: [i32; 0] = [];

#[test]
fn a_covering_read_waits_for_no_row_whose_columns_it_does_not_read() {
    let world = World::new("covering");
    let mut writer = world.session();
    let mut reader = world.session();
    for key in ["PRIMARY KEY CLUSTERED", "PRIMARY KEY NONCLUSTERED"] {
        run(
            &mut writer,
            &format!(
                "DROP TABLE IF EXISTS t;
                 CREATE TABLE t (id int NOT NULL {key}, k int NOT NULL, i varchar(20) NOT NULL, other int NOT NULL);
                 CREATE INDEX by_k ON t (k) INCLUDE (i);
                 INSERT t VALUES (1, 10, 'a', 1), (2, 20, 'b', 2), (3, 30, 'c', 3)"
            ),
        );
        run(&mut reader, "SET LOCK_TIMEOUT 0");
        let covered = [
            "SELECT k, i FROM t WHERE k = 20",
            "SELECT COUNT(*) FROM t WHERE k BETWEEN 15 AND 25",
            "SELECT MAX(i) FROM t WHERE k > 5 GROUP BY k HAVING k = 20",
            "IF EXISTS (SELECT * FROM t WHERE k = 20) SELECT 1",
            "SELECT (SELECT i FROM t WHERE k = v.n) FROM (VALUES (20)) v (n)",
            "DECLARE @i varchar(20); SELECT @i = i FROM t WHERE k = 20; SELECT @i",
            "DROP TABLE IF EXISTS #t; SELECT i INTO #t FROM t WHERE k = 20",
        ];
        let not_covered = [
            "SELECT k, other FROM t WHERE k = 20",
            "SELECT * FROM t WHERE k = 20",
            "SELECT k FROM t WHERE k = 20 AND other > 0",
            "SELECT k FROM t WITH (UPDLOCK) WHERE k = 20",
            "SELECT k FROM t WHERE k = 20 ORDER BY other",
            "SELECT COUNT(*) FROM t a WHERE k = 20 AND EXISTS (SELECT * FROM t b WHERE b.k = 20 AND b.other = a.id)",
        ];
        // What is changed, and whether a covering read has to wait for it.
        let changes = [
            ("UPDATE t SET other = 9 WHERE id = 2", false),
            ("UPDATE t SET k = 21 WHERE id = 2", true),
            ("UPDATE t SET i = 'x' WHERE id = 2", true),
            ("DELETE t WHERE id = 2", true),
            ("INSERT t VALUES (4, 20, 'n', 4)", true),
        ];
        for (change, waits) in changes {
            run(&mut writer, &format!("BEGIN TRAN; {change}"));
            for level in ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"] {
                run(&mut reader, &format!("SET TRANSACTION ISOLATION LEVEL {level}"));
                for query in covered {
                    // It has its answer before it comes to a new row.
                    if query.starts_with("IF EXISTS") && change.starts_with("INSERT") {
                        continue;
                    }
                    assert_eq!(is_free(&mut reader, query), !waits, "{key}: {change}, {level}: {query}");
                }
                for query in not_covered {
                    assert!(!is_free(&mut reader, query), "{key}: {change}, {level}: {query}");
                }
            }
            run(&mut writer, "ROLLBACK");
        }
        // And no other session changes the rows that such a read keeps locked.
        run(
            &mut reader,
            "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; BEGIN TRAN; SELECT i FROM t WHERE k = 20",
        );
        run(&mut writer, "SET LOCK_TIMEOUT 0");
        for (change, waits) in changes.iter().take(4) {
            assert_eq!(is_free(&mut writer, change), !waits, "{key}: {change}");
        }
        run(&mut reader, "ROLLBACK");
        run(&mut writer, "UPDATE t SET other = 2");
    }
    writer.close();
    reader.close();
}

/// The same queries with and without indexes that could answer for the table.
#[test]
fn covering_reads_give_the_rows_of_the_table() {
    let world = World::new("covering-rows");
    let mut session = world.session();
    let mut answers: Vec<Vec<String>> = Vec::new();
    for indexes in [
        "",
        "CREATE INDEX i1 ON t (b, a)",
        "CREATE INDEX i1 ON t (a) INCLUDE (s); CREATE INDEX i2 ON t (b) INCLUDE (s, big); CREATE UNIQUE INDEX i3 ON u (x, y)",
        "CREATE INDEX i1 ON t (a DESC, b, s); CREATE INDEX i2 ON t (s, id); CREATE INDEX i4 ON u (y)",
    ] {
        run(
            &mut session,
            "DROP TABLE IF EXISTS t; DROP TABLE IF EXISTS u;
             CREATE TABLE t (id int NOT NULL PRIMARY KEY, a int, b int, s varchar(20), big varchar(max), c AS a + b);
             CREATE TABLE u (x int NOT NULL, y int NOT NULL, z varchar(10));
             DECLARE @i int = 0; WHILE @i < 60 BEGIN
               INSERT t (id, a, b, s, big) VALUES (@i, @i % 7, NULLIF(@i % 5, 3), CHAR(65 + @i % 6) + CASE @i % 2 WHEN 0 THEN 'x' ELSE 'X' END,
                 REPLICATE(CAST('l' AS varchar(max)), CASE @i % 20 WHEN 0 THEN 9000 ELSE 3 END));
               INSERT u VALUES (@i % 10, @i, 'z'); SET @i += 1 END",
        );
        run(&mut session, indexes);
        let queries = [
            "SELECT a, b FROM t WHERE b = 2 ORDER BY a",
            "SELECT DISTINCT s FROM t WHERE a = 3 ORDER BY s",
            "SELECT LEN(big), s FROM t WHERE b = 0 ORDER BY id",
            "SELECT s COLLATE Latin1_General_BIN2 FROM t WHERE s LIKE 'a%' ORDER BY id",
            "SELECT id, c FROM t WHERE a = 2 ORDER BY id",
            "SELECT t.s, u.y FROM t JOIN u ON u.x = t.a WHERE t.b = 1 ORDER BY t.id, u.y",
            "SELECT COUNT(*) FROM t WHERE a IN (1, 2, 5)",
            "SELECT (SELECT COUNT(*) FROM u WHERE u.y < t.id AND u.x = t.b) FROM t WHERE a = 1 ORDER BY id",
            "SELECT a FROM t WHERE a > 4 UNION SELECT b FROM t WHERE b = 2 ORDER BY 1",
            "SELECT a, b FROM t WHERE a = 1 EXCEPT SELECT a, b FROM t WHERE b = 2 ORDER BY 1, 2",
            "SELECT x FROM (SELECT x, ROW_NUMBER() OVER (PARTITION BY x ORDER BY y) n FROM u WHERE y > 30) d WHERE n = 1 ORDER BY x",
            "WITH r AS (SELECT 0 n UNION ALL SELECT y FROM u JOIN r ON u.y = r.n + 1 WHERE y < 9) SELECT n FROM r ORDER BY n",
            "SELECT s, SUM(ISNULL(b, 0)) FROM t WHERE a >= 2 GROUP BY s HAVING COUNT(*) > 1 ORDER BY s",
            "SELECT TOP 3 WITH TIES a FROM t WHERE b = 1 ORDER BY a",
            "SELECT s FROM t o WHERE a = 4 AND EXISTS (SELECT 1 FROM u WHERE u.y = o.id AND u.x = 4) ORDER BY id",
            "SELECT b FROM t WHERE a = 3 AND b IS NULL",
            "SELECT d.n FROM u CROSS APPLY (SELECT COUNT(*) n FROM t WHERE t.a = u.x) d WHERE u.y < 10 ORDER BY u.y",
            "SELECT * FROM t WHERE b = 2 ORDER BY id",
        ];
        let found: Vec<Vec<String>> = queries.iter().map(|query| rows(&mut session, query)).collect();
        if answers.is_empty() {
            assert!(found[..15].iter().all(|rows| !rows.is_empty()));
            answers = found;
            continue;
        }
        for ((query, found), expected) in queries.iter().zip(found).zip(&answers) {
            assert_eq!(found, *expected, "{indexes}: {query}");
        }
    }
    session.close();
}

#[test]
fn an_equality_on_a_unique_key_locks_that_key_only() {
    let world = World::new("exact-key");
    let mut holder = world.session();
    let mut other = world.session();
    run(&mut other, "SET LOCK_TIMEOUT 0; SET TRANSACTION ISOLATION LEVEL READ COMMITTED");
    for table in [
        "CREATE TABLE t (id int NOT NULL PRIMARY KEY CLUSTERED, u int NOT NULL UNIQUE, v int)",
        "CREATE TABLE t (id int NOT NULL PRIMARY KEY NONCLUSTERED, u int NOT NULL UNIQUE, v int)",
    ] {
        for statement in [
            "UPDATE t SET v = 9 WHERE id = 20",
            "UPDATE t SET v = 9 WHERE u = 200",
            "SELECT v FROM t WHERE id = 20",
            "SELECT v FROM t WITH (UPDLOCK) WHERE u = 200",
            "DELETE t WHERE id = 20",
        ] {
            run(&mut holder, "DROP TABLE IF EXISTS t");
            run(&mut holder, table);
            run(&mut holder, "INSERT t VALUES (10, 100, 1), (20, 200, 2), (30, 300, 3)");
            run(
                &mut holder,
                &format!("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; BEGIN TRAN; {statement}"),
            );
            let told = format!("{table}: {statement}");
            let locks = "SELECT COUNT(*) FROM sys.dm_tran_locks WHERE request_session_id <> @@SPID AND request_mode LIKE 'Range%'";
            assert_eq!(rows(&mut other, locks), ["0"], "{told}");
            for free in [
                "INSERT t VALUES (19, 199, 0)",
                "INSERT t VALUES (25, 250, 0)",
                "INSERT t VALUES (40, 400, 0)",
            ] {
                assert!(is_free(&mut other, free), "{told}: {free}");
            }
            for free in ["UPDATE t SET v = 0 WHERE id = 10", "UPDATE t SET v = 0 WHERE id = 30"] {
                assert!(is_free(&mut other, free), "{told}: {free}");
            }
            for held in ["UPDATE t SET v = 0 WHERE id = 20", "INSERT t VALUES (20, 201, 0)"] {
                // Beside a reader, the duplicate is told at once.
                let seen = numbers(&run(&mut other, held));
                assert!(matches!(seen[0], 1222 | 2627), "{told}: {held}: {seen:?}");
            }
            run(&mut holder, "ROLLBACK");
        }
        // What is not there is kept away.
        run(&mut holder, "BEGIN TRAN; SELECT v FROM t WHERE id = 22");
        assert!(!is_free(&mut other, "INSERT t VALUES (22, 220, 0)"), "{table}");
        run(&mut holder, "ROLLBACK");
        assert!(is_free(&mut other, "INSERT t VALUES (22, 220, 0)"), "{table}");
    }
    holder.close();
    other.close();
}

#[test]
fn a_rollback_to_a_savepoint_gives_back_what_was_locked_since() {
    let world = World::new("savepoint-locks");
    let mut holder = world.session();
    let mut other = world.session();
    run(
        &mut holder,
        "CREATE TABLE t (id int NOT NULL PRIMARY KEY, v int); INSERT t VALUES (1, 1), (2, 2), (3, 3); CREATE TABLE later (a int)",
    );
    run(&mut other, "SET LOCK_TIMEOUT 0");
    run(
        &mut holder,
        "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; BEGIN TRAN; UPDATE t SET v = 10 WHERE id = 1",
    );
    run(
        &mut holder,
        "SELECT v FROM t WHERE id = 3; SAVE TRAN here; UPDATE t SET v = 20 WHERE id IN (2, 3); INSERT t VALUES (4, 4)",
    );
    run(
        &mut holder,
        "CREATE TABLE made (a int); INSERT later VALUES (1); ALTER TABLE later ADD b int; CREATE INDEX i ON later (b)",
    );
    for held in ["SELECT * FROM t WHERE id = 2", "SELECT * FROM t WHERE id = 4", "SELECT * FROM later"] {
        assert!(!is_free(&mut other, held), "{held}");
    }
    run(&mut holder, "ROLLBACK TRAN here");
    assert_eq!(rows(&mut other, "SELECT v FROM t WHERE id = 2"), ["2"]);
    assert_eq!(rows(&mut other, "SELECT COUNT(*) FROM later"), ["0"]);
    assert_eq!(
        numbers(&run(
            &mut other,
            "INSERT t VALUES (4, 5); DELETE t WHERE id = 4; UPDATE t SET v = v WHERE id = 2"
        )),
        NONE
    );
    assert_eq!(
        numbers(&run(&mut other, "CREATE TABLE made (z int); DROP TABLE made; ALTER TABLE later ADD c int")),
        NONE
    );
    // What was locked before stays: the changed row, and the one that was read, in the mode to which it has come since.
    assert!(!is_free(&mut other, "SELECT v FROM t WHERE id = 1"));
    assert!(!is_free(&mut other, "UPDATE t SET v = 0 WHERE id = 3"));
    // The savepoint holds on, and the transaction too.
    run(&mut holder, "UPDATE t SET v = 20 WHERE id = 2");
    assert!(!is_free(&mut other, "SELECT v FROM t WHERE id = 2"));
    run(&mut holder, "ROLLBACK TRAN here; UPDATE t SET v = v + 1 WHERE id = 2; COMMIT");
    assert_eq!(rows(&mut other, "SELECT v FROM t ORDER BY id"), ["10", "3", "3"]);
    // A database that was first touched after the savepoint is kept from being dropped until the end.
    run(&mut holder, "CREATE DATABASE savepoint_other");
    run(&mut holder, "CREATE TABLE savepoint_other.dbo.o (a int)");
    run(&mut holder, "BEGIN TRAN; SAVE TRAN s; INSERT savepoint_other.dbo.o VALUES (1); ROLLBACK TRAN s");
    assert!(is_free(&mut other, "SELECT * FROM savepoint_other.dbo.o"));
    assert_eq!(numbers(&run(&mut other, "DROP DATABASE savepoint_other"))[0], 3702);
    run(&mut holder, "COMMIT");
    assert_eq!(numbers(&run(&mut other, "DROP DATABASE savepoint_other")), NONE);
    holder.close();
    other.close();
}
