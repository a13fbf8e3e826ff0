//! `sys.dm_exec_requests`, `dm_exec_sessions` and `dm_os_waiting_tasks` for a running session, and for one that waits for another.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test prepares its folders itself")]

use crate::common::simulated::{Server, connect, on_a_machine};
use crate::common::{rows, run};
use os::WaitType;

const A_SECOND_NS: u64 = 1_000_000_000;

#[test]
fn requests_show_who_runs_what_and_who_blocks_whom() {
    on_a_machine(5, |os| {
        let server = Server::open(os);
        let mut one = server.session_in("master");
        let own = "SELECT command, status, open_transaction_count, blocking_session_id FROM sys.dm_exec_requests \
                   WHERE session_id = @@SPID";
        assert_eq!(rows(&mut one, own), ["SELECT|running|0|0"]);
        run(&mut one, "CREATE TABLE T (a int NOT NULL PRIMARY KEY, b int NOT NULL); INSERT T VALUES (1, 1)");
        run(&mut one, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; BEGIN TRAN; UPDATE T SET b = 2");
        let shared = server.shared();
        let waiter = os.spawn("waiter", move || {
            let mut other = connect(&shared, "master");
            // By its whole clustered key: the row is to be changed, whatever else there is to be looked at.
            run(&mut other, "UPDATE T SET b = 3 WHERE a = 1");
            other.close();
        });
        os.sleep(A_SECOND_NS, WaitType::WAITFOR).unwrap();
        let all = "SELECT session_id, command, status, open_transaction_count, blocking_session_id, wait_type FROM \
                   sys.dm_exec_requests ORDER BY session_id";
        assert_eq!(rows(&mut one, all), ["51|SELECT|running|1|0|NULL", "52|UPDATE|suspended|0|51|LCK_M_X"]);
        let waiting = "SELECT session_id, blocking_session_id, wait_type FROM sys.dm_os_waiting_tasks WHERE session_id > 50";
        assert_eq!(rows(&mut one, waiting), ["52|51|LCK_M_X"]);
        let sessions = "SELECT session_id, status, open_transaction_count, transaction_isolation_level FROM \
                        sys.dm_exec_sessions WHERE session_id > 50 ORDER BY session_id";
        assert_eq!(rows(&mut one, sessions), ["51|running|1|3", "52|running|0|2"]);
        run(&mut one, "COMMIT");
        waiter.join().unwrap();
        assert_eq!(rows(&mut one, all), ["51|SELECT|running|0|0|NULL"]);
        server.stop(one);
    });
}

/// While a request waits it is that wait, then the last one that is over; the next request begins without any.
#[test]
fn the_last_wait_is_that_of_the_request() {
    on_a_machine(7, |os| {
        let server = Server::open(os);
        let mut session = server.session_in("master");
        let last = "SELECT last_wait_type, wait_type FROM sys.dm_exec_requests WHERE session_id = @@SPID";
        assert_eq!(rows(&mut session, last), ["MISCELLANEOUS|NULL"]);
        assert_eq!(rows(&mut session, &format!("WAITFOR DELAY '00:00:00.010' {last}")), ["WAITFOR|NULL"]);
        assert_eq!(rows(&mut session, last), ["MISCELLANEOUS|NULL"]);
        let shared = server.shared();
        let sleeper = os.spawn("sleeper", move || {
            let mut other = connect(&shared, "master");
            run(&mut other, "WAITFOR DELAY '00:00:02'");
            other.close();
        });
        os.sleep(A_SECOND_NS, WaitType::WAITFOR).unwrap();
        let of_other = "SELECT last_wait_type FROM sys.dm_exec_requests WHERE session_id = 52";
        assert_eq!(rows(&mut session, of_other), ["WAITFOR"]);
        sleeper.join().unwrap();
        server.stop(session);
    });
}

/// The text of a syntax error is its message alone: number, level, state and line are separate fields.
#[test]
fn a_syntax_error_is_told_once() {
    on_a_machine(6, |os| {
        let server = Server::open(os);
        let mut session = server.session_in("master");
        let seen = run(&mut session, "SELECT 1\nSELECT FROM");
        assert_eq!(seen.messages, [(156, 2, "Incorrect syntax near the keyword 'FROM'.".to_string())]);
        server.stop(session);
    });
}

/// The views show the session's settings, from its first request on, and the restored ones after a procedure that changed them.
#[test]
fn sessions_and_requests_show_what_is_set() {
    on_a_machine(8, |os| {
        let server = Server::open(os);
        let mut session = server.session_in("master");
        let columns = "text_size, date_format, date_first, lock_timeout, deadlock_priority, transaction_isolation_level, \
                       quoted_identifier, CONVERT(varchar(9), SUBSTRING(context_info, 1, 2), 1)";
        let told = |view: &str| format!("SELECT {columns} FROM sys.{view} WHERE session_id = @@SPID");
        let views = ["dm_exec_sessions", "dm_exec_requests"];
        let at_first = ["2147483647|mdy|7|-1|0|2|1|0x"];
        views.iter().for_each(|view| assert_eq!(rows(&mut session, &told(view)), at_first, "{view}"));
        run(
            &mut session,
            "SET TEXTSIZE 500 SET DATEFORMAT dmy SET DATEFIRST 3 SET LOCK_TIMEOUT 77 SET DEADLOCK_PRIORITY HIGH SET CONTEXT_INFO 0x0102 \
             SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
        );
        let set = ["500|dmy|3|77|5|4|1|0x0102"];
        views.iter().for_each(|view| assert_eq!(rows(&mut session, &told(view)), set, "{view}"));
        run(
            &mut session,
            "CREATE PROCEDURE sets AS SET TEXTSIZE 9 SET DATEFIRST 1 SET DEADLOCK_PRIORITY LOW",
        );
        let behind = format!("EXEC sets {}", told("dm_exec_sessions"));
        assert_eq!(rows(&mut session, &behind), set);
        server.stop(session);
    });
}

/// Sums over a session's requests: time with and without waits, pages; for the running request, time without its waits. They must not stay 0.
#[test]
fn figures_of_a_session_are_sums_over_its_requests() {
    on_a_machine(9, |os| {
        let server = Server::open(os);
        let (mut one, mut other) = (server.session_in("master"), server.session_in("master"));
        let figures = "SELECT total_elapsed_time, cpu_time, total_scheduled_time, logical_reads, reads FROM \
                       sys.dm_exec_sessions WHERE session_id = 51";
        run(&mut one, "WAITFOR DELAY '00:00:03'");
        let before = rows(&mut other, figures);
        assert_eq!(before, ["3000|0|0|0|0"], "a wait takes time, and works nothing");
        run(&mut one, "CREATE TABLE T (a int NOT NULL PRIMARY KEY, b char(2000))");
        run(&mut one, "INSERT T SELECT value, 'b' FROM GENERATE_SERIES(1, 400)");
        let pages = |session: &mut _| -> u64 {
            let text = "SELECT logical_reads FROM sys.dm_exec_sessions WHERE session_id = 51";
            rows(session, text)[0].parse().unwrap()
        };
        let so_far = pages(&mut other);
        run(&mut one, "SELECT COUNT(*) FROM T WHERE b = 'c'");
        let read = pages(&mut other) - so_far;
        assert!((100..200).contains(&read), "{read} pages for 100 of the table");
        let both = "SELECT p.cpu - s.cpu_time, p.physical_io - s.reads FROM sys.sysprocesses p JOIN sys.dm_exec_sessions s \
                    ON s.session_id = p.spid WHERE p.spid = 51";
        assert_eq!(rows(&mut other, both), ["0|0"], "two views of the same");
        // Number of sessions ever opened, not of open ones.
        let opened = |session: &mut _| -> i32 { rows(session, "SELECT @@CONNECTIONS")[0].parse().unwrap() };
        let connections = opened(&mut other);
        server.session_in("master").close();
        assert_eq!(opened(&mut other), connections + 1);
        let writes = |session: &mut _| -> i32 { rows(session, "SELECT @@TOTAL_WRITE")[0].parse().unwrap() };
        let written = writes(&mut other);
        run(&mut one, "INSERT T VALUES (1000, 'c'); CHECKPOINT");
        assert!(writes(&mut other) > written, "the log and pages were written");
        other.close();
        server.stop(one);
    });
}
