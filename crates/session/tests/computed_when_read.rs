//! A computed column that depends on more than its row (the time, the session) is evaluated at each read, for the reading session; it is
//! neither persisted nor in an index.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common::{World, numbers, rows, run};
use hardpan_session::Session;

/// `level` differs between sessions and over time: the number of open transactions plus the row's own number.
const TABLE: &str =
    "CREATE TABLE t (k int NOT NULL PRIMARY KEY, level AS @@TRANCOUNT * 100 + k, v int, twice AS k * 2)
     INSERT t (k, v) VALUES (1, 10), (2, 20), (3, 30)";

/// Within a transaction, which is rolled back.
fn inside(session: &mut Session, text: &str) -> Vec<String> {
    run(session, "BEGIN TRANSACTION");
    let found = rows(session, text);
    run(session, "ROLLBACK");
    found
}

#[test]
fn every_reader_sees_what_it_is_now() {
    let (mut world, mut session) = World::in_database("computed-read");
    run(&mut session, TABLE);
    run(&mut session, "CREATE VIEW seen AS SELECT k, level FROM t WHERE level > 100");
    run(&mut session, "CREATE TABLE o (k int NOT NULL PRIMARY KEY) INSERT o VALUES (2), (3), (4)");
    for (statement, answer) in [
        ("SELECT level FROM t ORDER BY k", "101 102 103"),
        ("SELECT * FROM t WHERE k = 2", "2|102|20|4"),
        ("SELECT k FROM t WHERE level = 102", "2"),
        ("SELECT k FROM t WHERE level = 2", ""),
        ("SELECT level FROM t WHERE level BETWEEN 102 AND 103 ORDER BY level DESC", "103 102"),
        ("SELECT o.k, t.level FROM o LEFT JOIN t ON t.k = o.k ORDER BY 1", "2|102 3|103 4|NULL"),
        ("SELECT o.k, t.level FROM o LEFT JOIN t ON t.level = o.k + 100 ORDER BY 1", "2|102 3|103 4|NULL"),
        ("SELECT COUNT(*), MIN(level), SUM(level) FROM t", "3|101|306"),
        ("SELECT level / 100, COUNT(*) FROM t GROUP BY level / 100", "1|3"),
        ("SELECT TOP (1) level FROM t ORDER BY level DESC", "103"),
        ("SELECT ROW_NUMBER() OVER (ORDER BY level DESC), level FROM t ORDER BY 1", "1|103 2|102 3|101"),
        ("SELECT k FROM o WHERE EXISTS (SELECT 1 FROM t WHERE t.level = o.k + 100) ORDER BY 1", "2 3"),
        ("SELECT k FROM o WHERE k + 100 NOT IN (SELECT level FROM t)", "4"),
        ("SELECT (SELECT MAX(level) FROM t WHERE t.k <= o.k) FROM o ORDER BY 1", "102 103 103"),
        ("WITH c AS (SELECT level AS l FROM t) SELECT a.l FROM c a JOIN c b ON a.l = b.l ORDER BY 1", "101 102 103"),
        ("SELECT k, level FROM seen ORDER BY 1", "1|101 2|102 3|103"),
        ("SELECT level FROM t WHERE k = 1 OR level = 103 ORDER BY 1", "101 103"),
        ("SELECT twice FROM t WHERE twice = 4", "4"),
        // What is changed, and which rows.
        ("UPDATE t SET v = level OUTPUT inserted.v WHERE level = 102", "102"),
        ("UPDATE t SET v = 0 OUTPUT deleted.level, inserted.level WHERE k = 3", "103|103"),
        ("UPDATE x SET v = x.level FROM t x JOIN o ON x.level = o.k + 100 SELECT v FROM t ORDER BY k", "10 102 103"),
        ("DELETE t OUTPUT deleted.level WHERE level > 102", "103"),
        ("DELETE FROM t WHERE level < 100 SELECT COUNT(*) FROM t", "3"),
        ("INSERT t (k, v) OUTPUT inserted.level VALUES (9, 0)", "109"),
        (
            "MERGE t USING o ON t.level = o.k + 100 WHEN MATCHED THEN UPDATE SET v = t.level WHEN NOT MATCHED BY SOURCE THEN DELETE
             OUTPUT $action, deleted.level, inserted.v;",
            "DELETE|101|NULL UPDATE|102|102 UPDATE|103|103",
        ),
        ("SELECT level INTO copied FROM t SELECT level FROM copied ORDER BY 1", "101 102 103"),
    ] {
        let mut found = inside(&mut session, statement);
        if statement.contains("OUTPUT") {
            found.sort();
        }
        assert_eq!(found.join(" "), answer, "{statement}");
    }
    assert_eq!(
        rows(&mut session, "SELECT level FROM t ORDER BY 1"),
        ["1", "2", "3"],
        "no transaction is open"
    );
    // Another session, after a change of the row inside a transaction, and the next start.
    run(&mut session, "BEGIN TRANSACTION UPDATE t SET v = 5 WHERE k = 1 COMMIT");
    world.restart();
    let mut other = world.session();
    run(&mut other, "USE d");
    assert_eq!(rows(&mut other, "SELECT level FROM t ORDER BY 1"), ["1", "2", "3"]);
    assert_eq!(inside(&mut other, "SELECT level FROM seen ORDER BY 1"), ["101", "102", "103"]);
    // Added to existing rows.
    run(&mut other, "BEGIN TRANSACTION ALTER TABLE t ADD later AS @@TRANCOUNT + v COMMIT");
    assert_eq!(rows(&mut other, "SELECT later FROM t ORDER BY k"), ["5", "20", "30"]);
    assert_eq!(rows(&mut other, "SELECT COUNT(DISTINCT g) FROM (SELECT NEWID() AS g FROM t) x"), ["3"]);
    run(&mut other, "ALTER TABLE t ADD g AS NEWID()");
    let first = rows(&mut other, "SELECT g FROM t");
    assert_ne!(first, rows(&mut other, "SELECT g FROM t"));
}

/// The meaning of a text or a day depends on the settings of the reading session.
#[test]
fn settings_count_as_those_of_the_reader() {
    let (_world, mut session) = World::in_database("computed-settings");
    run(
        &mut session,
        "CREATE TABLE s (written varchar(20), of_style AS CONVERT(date, written, 103), plain AS CAST(written AS date),
             day date, of_week AS DATEPART(weekday, day), of_month AS DATEPART(month, day), called AS DATENAME(dw, day))
         INSERT s (written, day) VALUES ('03/04/2024', '20240101')",
    );
    let asked = "SELECT MONTH(plain), MONTH(of_style), of_week, of_month, called FROM s";
    assert_eq!(rows(&mut session, asked), ["3|4|2|1|Monday"]);
    run(&mut session, "SET DATEFORMAT dmy SET DATEFIRST 1");
    assert_eq!(rows(&mut session, asked), ["4|4|1|1|Monday"]);
    for (column, number) in [
        ("of_style", None),
        ("plain", Some(2729)),
        ("of_week", Some(2729)),
        ("of_month", None),
        ("called", Some(2729)),
    ] {
        let seen = run(&mut session, &format!("CREATE INDEX ix_{column} ON s ({column})"));
        assert_eq!(numbers(&seen), number.into_iter().collect::<Vec<_>>(), "{column}");
    }
}

#[test]
fn it_is_kept_nowhere() {
    let (_world, mut session) = World::in_database("computed-kept");
    run(&mut session, TABLE);
    for (statement, number) in [
        ("CREATE TABLE x (a int, b AS GETDATE() PERSISTED)", 4936),
        ("ALTER TABLE t ADD b AS NEWID() PERSISTED", 4936),
        ("CREATE INDEX ix ON t (level)", 2729),
        ("CREATE INDEX ix ON t (v) INCLUDE (level)", 2729),
        ("CREATE STATISTICS s ON t (level)", 2729),
    ] {
        assert_eq!(numbers(&run(&mut session, statement)), [number], "{statement}");
    }
    for statement in ["CREATE TABLE x (a int, b AS @@SPID UNIQUE)", "ALTER TABLE t ADD UNIQUE (level)"] {
        assert!(numbers(&run(&mut session, statement)).contains(&2729), "{statement}");
    }
    let property = |name: &str, column: &str| format!("COLUMNPROPERTY(OBJECT_ID('t'), '{column}', '{name}')");
    let columns = ["level", "twice", "v"].map(|column| {
        format!("{}, {}", property("IsDeterministic", column), property("IsIndexable", column))
    });
    assert_eq!(rows(&mut session, &format!("SELECT {}", columns.join(", "))), ["0|0|1|1|1|1"]);
    run(&mut session, "CREATE INDEX ix ON t (twice)");
    assert_eq!(rows(&mut session, "SELECT k FROM t WHERE twice = 4"), ["2"]);
}
