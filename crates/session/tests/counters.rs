//! Each counter of a database has one writer: a counter of events is not overwritten when a view is read.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test prepares its folders itself")]

use crate::common::simulated::{Server, number, on_a_machine};
use crate::common::{numbers, run};
use hardpan_session::Session;

/// As the view shows it; the registry says the same before and after the view has been read.
fn shown(server: &Server, reader: &mut Session, counter: &str) -> i64 {
    let registered = server.os.counters().counter("SQLServer:Databases", counter, "A");
    let before = registered.get();
    let text = format!(
        "SELECT cntr_value FROM sys.dm_os_performance_counters WHERE counter_name = '{counter}' AND instance_name = 'A'"
    );
    let value = number(reader, &text);
    assert_eq!((before, registered.get()), (value, value), "{counter}");
    value
}

#[test]
fn active_transactions_come_back_to_zero_and_never_fall_below() {
    on_a_machine(1, |os| {
        let server = Server::open(os);
        let mut reader = server.session_in("master");
        run(&mut reader, "CREATE DATABASE A");
        let mut sessions: Vec<Session> = (0..4).map(|_| server.session_in("A")).collect();
        run(&mut sessions[0], "CREATE TABLE T (a int NOT NULL PRIMARY KEY)");
        let active = |reader: &mut Session| shown(&server, reader, "Active Transactions");
        assert_eq!(active(&mut reader), 0);
        for round in 0..3 {
            // A read-only transaction counts like others, until it ends.
            run(
                &mut sessions[0],
                "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; BEGIN TRAN; SELECT * FROM T",
            );
            assert_eq!(active(&mut reader), 1);
            for (at, session) in sessions.iter_mut().enumerate().skip(1) {
                run(session, &format!("BEGIN TRAN; INSERT T VALUES ({})", round * 10 + at));
                assert_eq!(active(&mut reader), at as i64 + 1);
            }
            run(&mut sessions[0], "COMMIT");
            assert_eq!(active(&mut reader), 3);
            run(&mut sessions[1], "COMMIT");
            assert_eq!(active(&mut reader), 2);
            run(&mut sessions[2], "ROLLBACK");
            assert_eq!(active(&mut reader), 1);
            // A statement of its own, and one that fails and dooms its transaction.
            assert_eq!(
                numbers(&run(&mut sessions[1], &format!("INSERT T VALUES ({})", round * 10 + 1)))[0],
                2627
            );
            run(&mut sessions[3], "SET XACT_ABORT ON; SELECT 1 / 0; SELECT 1");
            assert_eq!(active(&mut reader), 0);
        }
        // A session that ends takes its open transaction with it.
        let mut last = sessions.pop().unwrap();
        run(&mut last, "BEGIN TRAN; INSERT T VALUES (99)");
        assert_eq!(active(&mut reader), 1);
        last.close();
        assert_eq!(active(&mut reader), 0);
        sessions.into_iter().for_each(Session::close);
        server.stop(reader);
    });
}

/// The log owns its counters: reading them changes neither the count nor the size on which the log itself relies.
#[test]
fn the_log_counts_its_growths_itself() {
    on_a_machine(2, |os| {
        let server = Server::open(os);
        let mut session = server.session_in("master");
        run(
            &mut session,
            "CREATE DATABASE A LOG ON (NAME = A_log, FILENAME = 'A.ldf', SIZE = 1 MB, FILEGROWTH = 1 MB)",
        );
        let (growths, size) = (
            shown(&server, &mut session, "Log Growths"),
            shown(&server, &mut session, "Log File(s) Size (KB)"),
        );
        run(&mut session, "ALTER DATABASE A MODIFY FILE (NAME = A_log, SIZE = 3 MB)");
        assert_eq!(shown(&server, &mut session, "Log Growths"), growths + 1);
        assert_eq!(shown(&server, &mut session, "Log File(s) Size (KB)"), 3 * 1024);
        assert!(size < 3 * 1024);
        // Reading the view updates the used space.
        let used = "SELECT cntr_value FROM sys.dm_os_performance_counters WHERE instance_name = 'A' AND counter_name = \
                    'Log File(s) Used Size (KB)'";
        let before = number(&mut session, used);
        run(&mut session, "USE A; CREATE TABLE T (a char(8000) NOT NULL)");
        run(&mut session, "DECLARE @i int = 0; WHILE @i < 20 BEGIN INSERT T VALUES ('x'); SET @i += 1 END");
        assert!(number(&mut session, used) >= before + 20 * 8, "{before}");
        server.stop(session);
    });
}
