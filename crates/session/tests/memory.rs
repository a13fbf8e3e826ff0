//! The memory limit of a request: a request that needs more gets 701, in time, and the session stays usable. The limit is 24 MB for each request
//! here; `crates/hardpan/tests/memory.rs` tests the real program under a limit of the operating system.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use std::sync::atomic::{AtomicBool, Ordering};

use common::{World, numbers, rows, run};
use hardpan_session::{ColumnDescription, Done, EnvironmentChange, Flow, RequestEnd, ResultSink, Session};
use types::{SqlError, SqlType, Value};

const REQUEST_BYTES: u64 = 24 << 20;

/// The limits are the process's, so every test here sets the same.
fn world(name: &str) -> World {
    os::memory::set_limits(4 << 30, REQUEST_BYTES);
    World::new(name)
}

/// A client that discards its results.
#[derive(Default)]
struct Errors(Vec<i32>);

impl ResultSink for Errors {
    fn columns(&mut self, _columns: &[ColumnDescription]) -> Flow {
        Flow::Continue
    }
    fn row(&mut self, _row: &[Value]) -> Flow {
        Flow::Continue
    }
    fn message(&mut self, message: &SqlError) {
        if message.severity > 10 {
            assert!(message.number != 701 || (message.severity, message.state) == (17, 123), "{message}");
            self.0.push(message.number);
        }
    }
    fn done(&mut self, _done: Done) {}
    fn return_status(&mut self, _status: i32) {}
    fn return_value(&mut self, _ordinal: u16, _name: &str, _sql_type: &SqlType, _value: &Value) {}
    fn environment(&mut self, _change: EnvironmentChange) {}
}

fn errors(session: &mut Session, text: &str) -> Vec<i32> {
    let mut seen = Errors::default();
    assert_eq!(session.execute_batch(text, &mut seen), RequestEnd::Finished, "{text}");
    seen.0
}

/// Each is refused, and the session stays as it was.
fn all_refused(session: &mut Session, texts: &[&str]) {
    for text in texts {
        assert_eq!(errors(session, text), [701], "{text}");
        assert_eq!(rows(session, "SELECT 7, @@TRANCOUNT"), ["7|0"], "after {text}");
    }
}

#[test]
fn values() {
    let world = world("memory-values");
    let mut s = world.session();
    let max = "DECLARE @s varchar(max) = REPLICATE(CAST('x' AS varchar(max)), 2000000)";
    let two = "DECLARE @n nvarchar(max) = REPLICATE(CAST(N'x' AS nvarchar(max)), 3000000), @j nvarchar(max)";
    all_refused(
        &mut s,
        &[
            "SELECT REPLICATE(CAST('x' AS varchar(max)), 1900000000)",
            "SELECT REPLICATE(CAST(N'xyz' AS nvarchar(max)), 100000000000)",
            "DECLARE @s varchar(max) = 'x' WHILE 1 = 1 SET @s = @s + @s",
            "DECLARE @s varchar(max) = 'x' WHILE 1 = 1 SELECT @s += @s",
            "DECLARE @s varbinary(max) = 0x01 WHILE 1 = 1 SET @s = @s + @s",
            "DECLARE @s nvarchar(max) = N'' WHILE 1 = 1 SET @s = CONCAT(@s, REPLICATE(N'y', 4000))",
            &format!("{max} SELECT LEN(REPLACE(@s, 'x', REPLICATE('y', 8000)))"),
            &format!("{max} SELECT CONCAT(@s, @s, @s, @s, @s, @s, @s, @s)"),
            &format!("{max} SELECT STUFF(@s, 1, 0, @s + @s)"),
            &format!("{two} SELECT STRING_ESCAPE(@n, 'json')"),
            &format!("{two} SELECT CONVERT(varchar(max), CONVERT(varbinary(max), @n), 1)"),
            &format!("{two} SET @j = N'{{}}' SELECT JSON_MODIFY(@j, '$.a', @n)"),
            &format!("{two} SELECT REVERSE(@n), UPPER(@n), TRANSLATE(@n, N'x', N'y')"),
            "SELECT LEN(STRING_AGG(REPLICATE(CAST('x' AS varchar(max)), 100000), ',')) FROM sys.all_columns",
            // Several values, none of which is large.
            "DECLARE @a varchar(max), @b varchar(max), @c varchar(max) \
             SET @a = REPLICATE(CAST('a' AS varchar(max)), 9000000) SET @b = REPLICATE(CAST('b' AS varchar(max)), 9000000) \
             SET @c = REPLICATE(CAST('c' AS varchar(max)), 9000000)",
            // Rows that would be copied for the wire.
            "DECLARE @s varchar(max) = REPLICATE(CAST('x' AS varchar(max)), 11000000) SELECT @s",
        ],
    );
    // What fits is answered.
    assert_eq!(
        rows(&mut s, &format!("{max} SELECT LEN(@s), DATALENGTH(@s + @s), LEN(UPPER(RIGHT(@s, 100000)))")),
        ["2000000|4000000|100000"]
    );
    assert_eq!(
        rows(
            &mut s,
            "SELECT LEN('a  '), LEN(N' b '), LEN(''), LEFT('abc', 2), RIGHT(N'abc', 2), RIGHT('a', 9)"
        ),
        ["1|2|0|ab|bc|a"]
    );
    assert_eq!(
        rows(
            &mut s,
            "SELECT REPLACE('aXbX', 'X', 'yyyy'), REPLICATE('ab', 3), REPLICATE(N'ab', 2), REPLICATE('', 5)"
        ),
        ["ayyyybyyyy|ababab|abab|"]
    );
}

/// Fills `w` with 16,000 rows of 1,500 bytes, a few at a time.
fn fill(s: &mut Session) {
    run(
        s,
        "CREATE TABLE w (i int NOT NULL, k int, v varchar(2000)) INSERT w VALUES (0, 0, REPLICATE('v', 1500))",
    );
    for d in 0..14 {
        let many = 1 << d;
        for part in 0..(many / 2000 + 1) {
            let text = format!(
                "INSERT w SELECT i + {many}, i % 10, v FROM w WHERE i < {many} AND i BETWEEN {} AND {}",
                part * 2000,
                part * 2000 + 1999
            );
            assert_eq!(errors(s, &text), [] as [i32; 0], "{text}");
        }
    }
    assert_eq!(rows(s, "SELECT COUNT(*) FROM w"), ["16384"]);
}

#[test]
fn operators() {
    let world = world("memory-operators");
    let mut s = world.session();
    fill(&mut s);
    all_refused(
        &mut s,
        &[
            "SELECT COUNT(DISTINCT v + CAST(i AS varchar(9))), COUNT(*) FROM w",
            "SELECT COUNT(*) FROM w WHERE v > ALL (SELECT v + CAST(i AS varchar(9)) FROM w)",
            "SELECT (SELECT MAX(x.v) FROM w x, w y WHERE x.v <> y.v) FROM w WHERE v = (SELECT STRING_AGG(CAST(v AS varchar(max)), '') FROM w)",
            "WITH r AS (SELECT 1 n, CAST(REPLICATE('a', 8000) AS varchar(8000)) t UNION ALL \
             SELECT n + 1, t FROM r CROSS JOIN (VALUES (1), (2), (3)) x (y) WHERE n < 16) SELECT COUNT(*) FROM r",
            "CREATE TABLE #g (i int, k int, v varchar(2000)) INSERT #g EXEC ('SELECT * FROM w')",
        ],
    );
    // It had no effect.
    assert_eq!(
        rows(&mut s, "SELECT COUNT(*), SUM(k) - SUM(i % 10 * 0) FROM w WHERE k BETWEEN 0 AND 9")[0]
            .split('|')
            .next(),
        Some("16384")
    );
    // Operators that spill to disk.
    for text in [
        "SELECT * FROM w ORDER BY v, i",
        "SELECT v, i, COUNT(*) FROM w GROUP BY v, i",
        "SELECT DISTINCT v, i FROM w",
        "SELECT COUNT(DISTINCT v + CAST(i AS varchar(9))) FROM w",
        "SELECT i, v, SUM(i) OVER (PARTITION BY k ORDER BY i) FROM w",
        "SELECT i, v, SUM(i) OVER (ORDER BY i), LAG(v) OVER (ORDER BY i), COUNT(*) OVER (), NTILE(7) OVER (ORDER BY i) FROM w",
        "BEGIN TRAN UPDATE w SET k = k + 1 OUTPUT inserted.*, deleted.v ROLLBACK",
        "BEGIN TRAN DELETE w OUTPUT deleted.* ROLLBACK",
        "BEGIN TRAN UPDATE w SET v = v + 'x', k = k + 1 DELETE w ROLLBACK",
        "BEGIN TRAN MERGE w USING (SELECT i + 8000 AS i, v FROM w) x ON x.i = w.i WHEN MATCHED THEN UPDATE SET v = x.v
            WHEN NOT MATCHED THEN INSERT VALUES (x.i, 0, x.v) WHEN NOT MATCHED BY SOURCE THEN DELETE OUTPUT $action, inserted.v; ROLLBACK",
        "SELECT v, i, ROW_NUMBER() OVER (ORDER BY v DESC, i) FROM w",
        "SELECT v, i FROM w UNION SELECT v, i + 1 FROM w",
        "SELECT v, i FROM w EXCEPT SELECT v, i + 1 FROM w",
        "SELECT v, i FROM w INTERSECT SELECT v, i + 1 FROM w",
        "SELECT TOP 60 PERCENT * FROM w",
        "SELECT * INTO w2 FROM w ORDER BY v",
        "INSERT w2 SELECT * FROM w2",
    ] {
        assert_eq!(errors(&mut s, text), [] as [i32; 0], "{text}");
        assert_eq!(
            rows(&mut s, "SELECT grantee_count FROM sys.dm_exec_query_resource_semaphores"),
            ["0"],
            "{text}"
        );
    }
    assert_eq!(
        rows(&mut s, "SELECT COUNT(*) FROM w WHERE v IN (SELECT v + CAST(i AS varchar(9)) FROM w)"),
        ["0"]
    );
    assert_eq!(rows(&mut s, "SELECT COUNT(*), COUNT(DISTINCT i) FROM w2"), ["32768|16384"]);
    assert_eq!(rows(&mut s, "SELECT COUNT(*) FROM w a JOIN w b ON a.i = b.i AND a.v = b.v"), ["16384"]);
    assert_eq!(rows(&mut s, "SELECT COUNT(*) FROM w a FULL JOIN w b ON a.v + 'x' = b.v"), ["32768"]);
    // A few of its rows at a time.
    assert_eq!(rows(&mut s, "SELECT TOP 2 i FROM w ORDER BY v, i DESC"), ["16383", "16382"]);
    assert_eq!(rows(&mut s, "SELECT COUNT(*), SUM(CAST(LEN(v) AS bigint)) FROM w"), ["16384|24576000"]);
    assert_eq!(rows(&mut s, "SELECT COUNT(*) FROM (SELECT DISTINCT k FROM w) x"), ["10"]);
}

/// Rows made from arguments are produced while they are read; a text without memory is 701, never a result with the rows that had memory.
#[test]
fn functions_that_give_rows() {
    let world = world("memory-functions");
    let mut s = world.session();
    let text = |parts: u32| format!("REPLICATE(CAST('a,' AS varchar(max)), {parts})");
    let json = |items: u32| {
        format!("'[' + REPLICATE(CAST('{{\"a\":7}},' AS varchar(max)), {items}) + '{{\"a\":0}}]'")
    };
    for (query, expected) in [
        ("SELECT COUNT(*), MAX(value) FROM GENERATE_SERIES(1, 2000000)".to_string(), "2000000|2000000"),
        (
            "SELECT COUNT(*) FROM (SELECT DISTINCT value FROM GENERATE_SERIES(1, 700000)) AS d".into(),
            "700000",
        ),
        (
            format!("SELECT COUNT(*), MAX(LEN(value)) FROM STRING_SPLIT({}, ',')", text(1_500_000)),
            "1500001|1",
        ),
        (
            format!("SELECT COUNT(*), MAX(ordinal) FROM STRING_SPLIT({}, ',', 1)", text(300_000)),
            "300001|300001",
        ),
        (format!("SELECT COUNT(*), SUM(type) FROM OPENJSON({})", json(200_000)), "200001|1000005"),
        (format!("SELECT COUNT(*), SUM(a) FROM OPENJSON({}) WITH (a int)", json(200_000)), "200001|1400000"),
    ] {
        assert_eq!(rows(&mut s, &query), [expected], "{query}");
    }
    // Half of these texts have room, as values; their rows, or the texts themselves as functions read them, have not.
    for parts in [3_000_000, 5_000_000, 7_000_000, 9_000_000, 20_000_000] {
        let query = format!(
            "SELECT CASE COUNT(*) WHEN {parts} + 1 THEN 1 ELSE COUNT(*) END FROM STRING_SPLIT({}, ',')",
            text(parts)
        );
        let seen = run(&mut s, &query);
        let answer: Vec<&Vec<String>> = seen.sets.iter().flat_map(|set| &set.1).collect();
        assert!(
            numbers(&seen) == [701] || (numbers(&seen).is_empty() && answer == [&["1"]]),
            "{parts}: {answer:?} {:?}",
            seen.messages
        );
        assert_eq!(rows(&mut s, "SELECT 7"), ["7"]);
    }
}

#[test]
fn texts() {
    let world = world("memory-texts");
    let mut s = world.session();
    let list = (0..400_000).map(|i| i.to_string()).collect::<Vec<_>>().join(",");
    all_refused(
        &mut s,
        &[
            &"SELECT 1\n".repeat(200_000),
            &format!("DECLARE @x int {}", "SET @x = 1 ".repeat(200_000)),
            &format!("SELECT 1 WHERE 1 IN ({list})"),
            &format!("BEGIN {} END", "IF 1 = 1 PRINT 'x' ".repeat(100_000)),
            &format!("EXEC (N'{}')", "PRINT 1 ".repeat(300_000)),
            &"x ".repeat(3_000_000),
        ],
    );
}

#[test]
fn a_batch_ends_and_its_transaction_stays_unless_xact_abort_is_on() {
    let world = world("memory-reach");
    let mut s = world.session();
    let large = "SELECT LEN(REPLICATE(CAST('x' AS varchar(max)), 2000000000))";
    assert_eq!(
        numbers(&run(
            &mut s,
            &format!("CREATE TABLE t (i int) BEGIN TRAN INSERT t VALUES (1) {large} INSERT t VALUES (2)")
        )),
        [701]
    );
    assert_eq!(rows(&mut s, "SELECT COUNT(*), @@TRANCOUNT, XACT_STATE() FROM t"), ["1|1|1"]);
    let caught = run(
        &mut s,
        &format!(
            "BEGIN TRY {large} END TRY BEGIN CATCH SELECT ERROR_NUMBER(), ERROR_SEVERITY(), ERROR_STATE(), XACT_STATE() END CATCH"
        ),
    );
    assert_eq!(caught.sets.last().unwrap().1, [["701", "17", "123", "1"]]);
    assert_eq!(numbers(&run(&mut s, &format!("SET XACT_ABORT ON {large}"))), [701]);
    assert_eq!(rows(&mut s, "SELECT @@TRANCOUNT, COUNT(*) FROM t"), ["0|0"]);
    // Variables that use all memory leave none for a CATCH block, either.
    let kept = "DECLARE @t varchar(max) = '' WHILE 1 = 1 SET @t = @t + REPLICATE('x', 8000)";
    assert_eq!(
        errors(&mut s, &format!("BEGIN TRY {kept} END TRY BEGIN CATCH PRINT 'caught' END CATCH")),
        [] as [i32; 0]
    );
}

/// The thread has ended, also by a panic.
struct SetWhenDropped<'a>(&'a AtomicBool);

impl Drop for SetWhenDropped<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[test]
fn the_views_show_what_a_running_request_uses() {
    let world = world("memory-views");
    let (mut busy, mut s) = (world.session(), world.session());
    let id = busy.id();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _over = SetWhenDropped(&over);
            let text = "DECLARE @s varchar(max) = REPLICATE(CAST('x' AS varchar(max)), 8000000) WAITFOR DELAY '00:00:02' SELECT LEN(@s)";
            assert_eq!(errors(&mut busy, text), [] as [i32; 0]);
        });
        let waits =
            format!("SELECT 1 FROM sys.dm_exec_requests WHERE session_id = {id} AND wait_type = 'WAITFOR'");
        let mut looks = 0;
        while rows(&mut s, &waits).is_empty() {
            assert!(!over.load(Ordering::SeqCst), "it waits ({looks} looks)");
            looks += 1;
        }
        let asked = format!(
            "SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE session_id = {id} AND memory_usage BETWEEN 970 AND 1500 \
             SELECT COUNT(*) FROM sys.dm_exec_requests WHERE session_id = {id} AND granted_query_memory > 970 \
             SELECT COUNT(*) FROM sys.dm_os_memory_clerks WHERE type = 'MEMORYCLERK_SQLQERESERVATIONS' AND pages_kb > 7800"
        );
        let seen = run(&mut s, &asked);
        let shown: Vec<_> = seen.sets.iter().flat_map(|set| &set.1).map(|row| row.join("|")).collect();
        assert_eq!(shown, ["1", "1", "1"], "8 MB");
    });
    assert_eq!(
        rows(&mut s, &format!("SELECT memory_usage FROM sys.dm_exec_sessions WHERE session_id = {id}")),
        ["0"]
    );
    let sum = rows(
        &mut s,
        "SELECT COUNT(*) FROM sys.dm_os_process_memory WHERE physical_memory_in_use_kb > 5000 AND memory_utilization_percentage < 100",
    );
    assert_eq!(sum, ["1"]);
}

/// The rows of an open cursor stay in memory; those of all open cursors of a session count together.
#[test]
fn rows_of_cursors() {
    let world = world("memory-cursors");
    let mut session = world.session();
    run(&mut session, "CREATE TABLE n (i int NOT NULL PRIMARY KEY, s char(2000) NOT NULL)");
    run(
        &mut session,
        "WITH d AS (SELECT 0 AS x UNION ALL SELECT x + 1 FROM d WHERE x < 99) INSERT n SELECT a.x * 100 + b.x, 'x' FROM d a CROSS JOIN d b",
    );
    let declare =
        |name: &str| format!("DECLARE {name} CURSOR GLOBAL STATIC FOR SELECT s FROM n WHERE i % 2 = 0");
    run(&mut session, "DECLARE a CURSOR GLOBAL STATIC FOR SELECT s + s, i FROM n");
    assert_eq!(errors(&mut session, "OPEN a"), [701]);
    assert_eq!(numbers(&run(&mut session, "FETCH a")), [16917]);
    run(&mut session, &format!("DEALLOCATE a {} {}", declare("b"), declare("c")));
    run(&mut session, "OPEN b");
    run(&mut session, "OPEN c CLOSE c");
    run(&mut session, &declare("d"));
    assert_eq!(errors(&mut session, "OPEN c OPEN d"), [701]);
    run(&mut session, "CLOSE b");
    assert_eq!(numbers(&run(&mut session, "CLOSE c")), [0; 0]);
    run(&mut session, "OPEN d");
    assert_eq!(
        rows(&mut session, "SELECT CURSOR_STATUS('global', 'b'), CURSOR_STATUS('global', 'd')"),
        ["-1|1"]
    );
}
