//! The article's template, piece by piece: the T-SQL that must parse and run, and its results (claims 23 to 39, 41 and 56). The whole
//! template runs in flush_experiment.rs.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use crate::common::simulated::{NAME, Server, flushes, number, on_a_machine, repeat};
use crate::common::{World, numbers, rows, run};

/// Claims 23, 25, 27 and 28: one batch changes the database, its option and its tables and continues; variables keep their values; the INSERT
/// finds a table that was dropped and created inside the batch; the option applies to the commits of the same batch.
#[test]
fn one_batch_prepares_works_and_counts() {
    on_a_machine(23, |os| {
        let (server, session) = Server::with_table(os);
        session.close();
        let mut session = server.session_in("master");
        for (exists, count) in [(true, 100), (false, 101)] {
            if !exists {
                run(&mut session, &format!("USE {NAME}; DROP TABLE dbo.T1; USE master"));
            }
            let seen = run(
                &mut session,
                &format!(
                    "DECLARE @kept AS INT = {count};
USE {NAME};
ALTER DATABASE {NAME} SET DELAYED_DURABILITY = Forced; -- takes effect here
DROP TABLE IF EXISTS dbo.T1;
CREATE TABLE dbo.T1(col1 INT NOT NULL);
DECLARE @before AS INT = (SELECT cntr_value FROM sys.dm_os_performance_counters
                          WHERE counter_name = 'Log Flushes/sec' AND instance_name = N'{NAME}');
DECLARE @i AS INT = 1;
WHILE @i <= @kept
BEGIN
  BEGIN TRAN
    INSERT INTO dbo.T1(col1) VALUES(@i);
  COMMIT TRAN;
  SET @i += 1;
END;
SELECT @kept AS kept, @i AS i, DB_NAME() AS db, (SELECT COUNT(*) FROM dbo.T1) AS found,
  (SELECT cntr_value FROM sys.dm_os_performance_counters
   WHERE counter_name = 'Log Flushes/sec' AND instance_name = N'{NAME}') - @before AS flushes;
ALTER DATABASE {NAME} SET DELAYED_DURABILITY = Disabled;
USE master;"
                ),
            );
            let rows = &seen.sets.last().unwrap().1;
            let expected =
                [count.to_string(), (count + 1).to_string(), NAME.into(), count.to_string(), "0".into()];
            assert_eq!(rows[0], expected, "{:?}", seen.messages);
        }
        server.stop(session);
    });
}

/// Claims 24, 41 and 56: DISABLED by default; exactly three words, in any letter case, followed by a comment.
#[test]
fn the_option_takes_three_words_and_is_disabled_by_default() {
    let world = World::new("option");
    let mut s = world.session();
    run(&mut s, "CREATE DATABASE PerformanceV3");
    let option =
        "SELECT delayed_durability, delayed_durability_desc FROM sys.databases WHERE name = N'PerformanceV3'";
    assert_eq!(rows(&mut s, option), ["0|DISABLED"]);
    for (word, shown) in [
        ("Forced", "2|FORCED"),
        ("ALLOWED", "1|ALLOWED"),
        ("allowed", "1|ALLOWED"),
        ("Disabled", "0|DISABLED"),
    ] {
        let text = format!("ALTER DATABASE PerformanceV3 SET DELAYED_DURABILITY = {word}; -- default");
        assert!(numbers(&run(&mut s, &text)).is_empty(), "{word}");
        assert_eq!(rows(&mut s, option), [shown]);
    }
    for word in ["ON", "OFF", "FULL", "1", "'FORCED'"] {
        let refused =
            numbers(&run(&mut s, &format!("ALTER DATABASE PerformanceV3 SET DELAYED_DURABILITY = {word}")));
        assert!([102, 155, 156].contains(&refused[0]), "{word}: {refused:?}");
    }
    assert_eq!(rows(&mut s, option), ["0|DISABLED"]);
}

/// Claim 26: DROP TABLE IF EXISTS sends no message, whether the table exists or not.
#[test]
fn drop_if_exists_is_silent_either_way() {
    let world = World::new("drop");
    let mut s = world.session();
    for _ in 0..2 {
        assert!(numbers(&run(&mut s, "DROP TABLE IF EXISTS dbo.T1;")).is_empty());
        run(&mut s, "CREATE TABLE dbo.T1(col1 INT NOT NULL)");
        assert!(numbers(&run(&mut s, "DROP TABLE IF EXISTS dbo.T1;")).is_empty());
        assert_eq!(numbers(&run(&mut s, "SELECT * FROM dbo.T1")), [208]);
    }
}

/// Claims 28 to 31 and 36: the template's declarations and statements, word by word; the types that they give.
#[test]
fn declarations_loops_and_subqueries_as_the_article_writes_them() {
    let world = World::new("words");
    let mut s = world.session();
    run(&mut s, "CREATE TABLE dbo.T1(col1 INT NOT NULL)");
    let loop_of_the_article = "DECLARE @i AS INT = 1;

WHILE @i <= 1000
BEGIN

  BEGIN TRAN
    INSERT INTO dbo.T1(col1) VALUES(@i);
  COMMIT TRAN;

  SET @i += 1;
END;
SELECT @i, @@TRANCOUNT, (SELECT COUNT(*) FROM dbo.T1);";
    let seen = run(&mut s, loop_of_the_article);
    assert_eq!(seen.sets[0].1, [["1001", "0", "1000"]]);
    let typed = "DECLARE @db AS sysname = N'PerformanceV3';
DECLARE @logflushes AS INT, @starttime AS DATETIME2, @duration AS INT;
SET @starttime = '2024-01-01 00:00:00.1234567';
SET @logflushes = ( SELECT 5 ) - 2;
SELECT SQL_VARIANT_PROPERTY(@db, 'BaseType'), SQL_VARIANT_PROPERTY(@db, 'MaxLength'),
  SQL_VARIANT_PROPERTY(@starttime, 'BaseType'), SQL_VARIANT_PROPERTY(@starttime, 'Scale'),
  @logflushes, @duration, CONVERT(varchar(40), @starttime)";
    assert_eq!(rows(&mut s, typed), ["nvarchar|256|datetime2|7|3|NULL|2024-01-01 00:00:00.1234567"]);
    run(&mut s, "CREATE DATABASE PerformanceV3");
    let compare = "DECLARE @db AS sysname = N'PerformanceV3';
SELECT COUNT(*) FROM sys.dm_os_performance_counters WHERE counter_name = 'Log Flushes/sec' AND instance_name = @db";
    assert_eq!(rows(&mut s, compare), ["1"]);
}

/// Claims 32 and 33: the article's subquery finds one row; names in the view are padded to 128 characters, which equality ignores.
#[test]
fn one_counter_answers_to_the_articles_filter() {
    let world = World::new("counter");
    let mut s = world.session();
    run(&mut s, "CREATE DATABASE PerformanceV3");
    for database in ["PerformanceV3", "tempdb", "performancev3", "PerformanceV3   "] {
        let filter = format!(
            "FROM sys.dm_os_performance_counters WHERE counter_name = 'Log Flushes/sec' AND instance_name = N'{database}'"
        );
        assert_eq!(number(&mut s, &format!("SELECT COUNT(*) {filter}")), 1, "{database}");
        assert_eq!(
            rows(
                &mut s,
                &format!(
                    "SELECT DATALENGTH(counter_name), DATALENGTH(instance_name), LEN(counter_name) {filter}"
                )
            ),
            ["256|256|15"]
        );
    }
}

/// Claims 34 and 35: the counter is cumulative; its bigint can be assigned to an INT variable while it fits, otherwise 8115.
#[test]
fn the_counter_is_cumulative_and_fits_an_int() {
    on_a_machine(34, |os| {
        let (server, mut session) = Server::with_table(os);
        let mut before = flushes(&mut session, NAME);
        for commits in [1, 7, 40] {
            repeat(&mut session, 1, commits, "INSERT INTO dbo.T1(col1) VALUES(@i);");
            let after = flushes(&mut session, NAME);
            assert_eq!(after - before, commits);
            before = after;
        }
        let into_int = format!(
            "DECLARE @n AS INT = (SELECT cntr_value FROM sys.dm_os_performance_counters WHERE counter_name = \
             'Log Flushes/sec' AND instance_name = N'{NAME}'); SELECT @n"
        );
        assert_eq!(number(&mut session, &into_int), before);
        let counter = os.counters().counter("SQLServer:Databases", "Log Flushes/sec", NAME);
        counter.add(i64::from(i32::MAX) - before);
        assert_eq!(number(&mut session, &into_int), i64::from(i32::MAX));
        counter.increment();
        assert_eq!(numbers(&run(&mut session, &into_int)), [8115]);
        server.stop(session);
    });
}

/// Claims 37 and 38: the duration counts crossed boundaries of seconds; the answer is one row of two named columns.
#[test]
fn the_answer_is_one_row_of_duration_and_flushes() {
    let world = World::new("answer");
    let mut s = world.session();
    let text = "DECLARE @starttime AS DATETIME2 = '2024-01-01 00:00:00.9', @duration AS INT, @logflushes AS INT = 36;
SET @duration = DATEDIFF(second, @starttime, CAST('2024-01-01 00:00:01.0' AS DATETIME2));
SELECT
  @duration AS durationinseconds,
  @logflushes AS logflushes;";
    let seen = run(&mut s, text);
    assert_eq!(seen.sets.len(), 1);
    assert_eq!(seen.sets[0].0, ["durationinseconds", "logflushes"]);
    assert_eq!(seen.types[0], [types::SqlType::Int, types::SqlType::Int]);
    assert_eq!(seen.sets[0].1, [["1", "36"]]);
    assert_eq!(
        rows(&mut s, "DECLARE @a AS DATETIME2 = SYSDATETIME(); SELECT DATEDIFF(day, @a, SYSDATETIME()) / 2"),
        ["0"]
    );
}

/// The article's preparation, but for the name of its database.
const PREPARATION: &str = "-- Preparation
SET NOCOUNT ON;
USE PerformanceV3;

ALTER DATABASE PerformanceV3 SET DELAYED_DURABILITY = Disabled;

DROP TABLE IF EXISTS dbo.T1;

CREATE TABLE dbo.T1(col1 INT NOT NULL);

DECLARE @db AS sysname = N'PerformanceV3';

DECLARE @logflushes AS INT, @starttime AS DATETIME2, @duration AS INT;
";

/// The template's own declaration, which the assembled listing omits.
const DECLARATION: &str = "
-- Count log flushes and measure time
DECLARE @logflushes AS INT, @starttime AS DATETIME2, @duration AS INT;
";

/// The rest of the template around one insertion.
const COUNT_AND_WORK: &str = "
-- Stats before
SET @logflushes = ( SELECT cntr_value FROM sys.dm_os_performance_counters
                    WHERE counter_name = 'Log Flushes/sec'
                      AND instance_name = @db );

SET @starttime = SYSDATETIME();

-- Actual work
DECLARE @i AS INT = 1;

WHILE @i <= 3
BEGIN

  BEGIN TRAN
    INSERT INTO dbo.T1(col1) VALUES(@i);
  COMMIT TRAN;

  SET @i += 1;
END;

-- Stats after
SET @duration = DATEDIFF(second, @starttime, SYSDATETIME());
SET @logflushes = ( SELECT cntr_value FROM sys.dm_os_performance_counters
                    WHERE counter_name = 'Log Flushes/sec'
                      AND instance_name = @db ) - @logflushes;

SELECT 
  @duration AS durationinseconds,
  @logflushes AS logflushes;
";

/// Claim 39: the published preparation followed by the published template declares its three variables twice, which is error 134 for the first
/// of them, and no statement runs; the assembled listing, which declares them once, runs.
#[test]
fn declaring_the_variables_twice_is_error_134() {
    on_a_machine(39, |os| {
        let (server, mut session) = Server::with_table(os);
        repeat(&mut session, 7, 1, "INSERT INTO dbo.T1(col1) VALUES(@i);");
        let pasted = run(&mut session, &format!("{PREPARATION}{DECLARATION}{COUNT_AND_WORK}"));
        assert_eq!(numbers(&pasted)[0], 134);
        let line = PREPARATION.lines().count() as u32 + 3;
        assert_eq!(pasted.messages[0].1, line, "the line of the second declaration");
        assert!(pasted.messages[0].2.contains("@logflushes"), "{:?}", pasted.messages);
        assert!(pasted.sets.is_empty(), "nothing of the batch has run");
        assert_eq!(rows(&mut session, "SELECT col1 FROM dbo.T1"), ["7"], "nor is the table dropped");
        let assembled = run(&mut session, &format!("{PREPARATION}{COUNT_AND_WORK}"));
        assert_eq!(assembled.sets.len(), 1, "{:?}", assembled.messages);
        assert_eq!(assembled.sets[0].1, [["0", "3"]]);
        server.stop(session);
    });
}
