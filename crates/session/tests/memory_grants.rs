//! Memory grants: a query that keeps many rows requests memory from one pool, waits for it as RESOURCE_SEMAPHORE, and gets an error when it does not
//! come. The pool has 24 MB here, and 6 MB for each query.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test starts its clients itself")]

mod common;

use std::sync::atomic::{AtomicBool, Ordering};

use common::{World, numbers, rows, run};
use hardpan_session::{ColumnDescription, Done, EnvironmentChange, Flow, ResultSink, Session};
use types::{SqlError, SqlType, Value};

/// A client that reads rows when the test asks for it: its query runs as long as the test wants.
struct SlowClient<'a> {
    goes_on: &'a AtomicBool,
    has_row: &'a AtomicBool,
    errors: Vec<i32>,
    given: u64,
}

impl ResultSink for SlowClient<'_> {
    fn columns(&mut self, _columns: &[ColumnDescription]) -> Flow {
        Flow::Continue
    }
    fn row(&mut self, _row: &[Value]) -> Flow {
        self.has_row.store(true, Ordering::SeqCst);
        while !self.goes_on.load(Ordering::SeqCst) {
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        self.given += 1;
        Flow::Continue
    }
    fn message(&mut self, message: &SqlError) {
        if message.severity > 10 {
            self.errors.push(message.number);
        }
    }
    fn done(&mut self, _done: Done) {}
    fn return_status(&mut self, _status: i32) {}
    fn return_value(&mut self, _ordinal: u16, _name: &str, _sql_type: &SqlType, _value: &Value) {}
    fn environment(&mut self, _change: EnvironmentChange) {}
}

const LARGE: &str = "SELECT s, n FROM w ORDER BY s, n";

fn wait_for(session: &mut Session, query: &str, expected: &str) {
    for _ in 0..2_000 {
        if rows(session, query) == [expected] {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    panic!("{query}: {:?}, not {expected}", rows(session, query));
}

#[test]
fn a_budget_is_shared_in_turn() {
    os::memory::set_limits(1 << 30, 24 << 20);
    let world = World::new("memory-grants");
    let mut s = world.session();
    run(
        &mut s,
        "CREATE TABLE w (n int NOT NULL, s varchar(400) NOT NULL)
         INSERT w SELECT number, REPLICATE(CHAR(97 + number % 26), 390) FROM master..spt_values WHERE type = 'P' AND number < 2000
         INSERT w SELECT n + 2000, s FROM w INSERT w SELECT n + 4000, s FROM w INSERT w SELECT n + 8000, s FROM w",
    );
    let figures = "SELECT total_memory_kb, available_memory_kb, granted_memory_kb, grantee_count, waiter_count, timeout_error_count
                   FROM sys.dm_exec_query_resource_semaphores";
    assert_eq!(rows(&mut s, figures), ["24576|24576|0|0|0|0"]);
    let configured = run(
        &mut s,
        "EXEC sp_configure 'show advanced options', 1 RECONFIGURE EXEC sp_configure 'query wait (s)', 1 RECONFIGURE",
    );
    assert!(numbers(&configured).iter().all(|number| *number == 15457), "{:?}", configured.messages);
    let goes_on = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let mut clients = Vec::new();
        for _ in 0..4 {
            let (mut session, has_row, goes_on) = (world.session(), AtomicBool::new(false), &goes_on);
            clients.push(scope.spawn(move || {
                let mut sink = SlowClient { goes_on, has_row: &has_row, errors: Vec::new(), given: 0 };
                session.execute_batch(LARGE, &mut sink);
                (sink.errors, sink.given)
            }));
        }
        wait_for(&mut s, figures, "24576|0|24576|4|0|0");
        assert_eq!(
            rows(
                &mut s,
                "SELECT COUNT(*) FROM sys.dm_exec_query_memory_grants WHERE granted_memory_kb = 6144 AND required_memory_kb = 1024
                    AND grant_time >= request_time AND timeout_sec = 1 AND wait_order IS NULL"
            ),
            ["4"]
        );
        // A query that keeps little asks for nothing; one that keeps much waits in vain.
        assert_eq!(rows(&mut s, "SELECT TOP 2 n FROM w ORDER BY n DESC"), ["15999", "15998"]);
        let mut fifth = world.session();
        let late = scope.spawn(move || numbers(&run(&mut fifth, LARGE)));
        wait_for(
            &mut s,
            "SELECT COUNT(*) FROM sys.dm_exec_query_memory_grants WHERE grant_time IS NULL AND is_next_candidate = 1 AND wait_order = 0",
            "1",
        );
        wait_for(
            &mut s,
            "SELECT COUNT(*) FROM sys.dm_exec_requests WHERE wait_type = 'RESOURCE_SEMAPHORE'",
            "1",
        );
        assert_eq!(late.join().unwrap(), [8645]);
        wait_for(&mut s, figures, "24576|0|24576|4|0|1");
        // KILL ends the wait; so does memory that comes.
        run(&mut s, "EXEC sp_configure 'query wait (s)', 100 RECONFIGURE");
        let mut sixth = world.session();
        let id = sixth.id();
        let killed = scope.spawn(move || sixth.execute_batch(LARGE, &mut common::Seen::default()));
        wait_for(&mut s, figures, "24576|0|24576|4|1|1");
        run(&mut s, &format!("KILL {id}"));
        assert_ne!(killed.join().unwrap(), hardpan_session::RequestEnd::Finished);
        wait_for(&mut s, figures, "24576|0|24576|4|0|1");
        let mut seventh = world.session();
        let served = scope.spawn(move || run(&mut seventh, LARGE).counts);
        wait_for(&mut s, figures, "24576|0|24576|4|1|1");
        goes_on.store(true, Ordering::SeqCst);
        assert_eq!(served.join().unwrap(), [Some(16_000)]);
        for client in clients {
            assert_eq!(client.join().unwrap(), (vec![], 16_000));
        }
    });
    assert_eq!(rows(&mut s, figures), ["24576|24576|0|0|0|1"]);
    // More than the maximum; then a grant is possible again.
    run(&mut s, "EXEC sp_configure 'min memory per query (KB)', 7000 RECONFIGURE");
    assert_eq!(numbers(&run(&mut s, LARGE)), [8657]);
    assert_eq!(rows(&mut s, figures), ["24576|24576|0|0|0|1"]);
    assert_eq!(rows(&mut s, "SELECT COUNT(*) FROM w"), ["16000"], "who asks for nothing is not told");
    run(&mut s, "EXEC sp_configure 'min memory per query (KB)', 512 RECONFIGURE");
    assert_eq!(run(&mut s, LARGE).counts, [Some(16_000)]);
    grants_are_counted(&mut s);
}

/// What statements were granted: those that ended well of the slow clients (two that make the program at once count in one of both), the seventh and the last.
fn grants_are_counted(s: &mut Session) {
    let of = |text: &str| {
        format!(
            "SELECT CASE WHEN q.execution_count BETWEEN 2 AND 6 THEN 'some' WHEN q.execution_count = 1 THEN 'one' END,
                q.total_grant_kb / q.execution_count, q.last_grant_kb, q.min_grant_kb, q.max_grant_kb, q.total_ideal_grant_kb / q.execution_count,
                CASE WHEN q.total_used_grant_kb NOT BETWEEN q.execution_count * q.min_used_grant_kb AND q.execution_count * (q.max_used_grant_kb + 1) THEN 'wrong'
                     WHEN q.min_used_grant_kb > q.min_grant_kb * 3 / 4 AND q.max_used_grant_kb <= q.max_grant_kb THEN 'used'
                     WHEN q.max_used_grant_kb > 0 THEN 'partly' ELSE 'unused' END
             FROM sys.dm_exec_query_stats q CROSS APPLY sys.dm_exec_sql_text(q.sql_handle) t WHERE t.text = '{text}'"
        )
    };
    let each = 24 * 1024 / 4;
    let told =
        |count, granted, used| format!("{count}|{granted}|{granted}|{granted}|{granted}|{granted}|{used}");
    assert_eq!(rows(s, &of(LARGE)), [told("some", each, "used")]);
    assert_eq!(rows(s, &of("SELECT TOP 2 n FROM w ORDER BY n DESC")), [told("one", 0, "unused")]);
    // Keys that are gathered to be deleted have theirs, once they are many.
    for (text, expected) in [
        ("DELETE w WHERE n < 200", told("one", 0, "unused")),
        ("DELETE w WHERE n > 10", told("one", each, "partly")),
    ] {
        assert!(numbers(&run(s, text)).is_empty(), "{text}");
        assert_eq!(rows(s, &of(text)), [expected]);
    }
}
