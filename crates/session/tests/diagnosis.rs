//! Diagnostic views: performance counters with their sums, waits of sessions and of tasks, latches, transactions of sessions, and
//! paths of files as SQL Server shows them (claim 191).
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test prepares its folders itself")]

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::common::simulated::{NAME, Server, number, on_a_machine};
use crate::common::{World, rows, run};
use engine::{Instance, InstanceOptions};
use hardpan_session::{LoginInfo, Session, SessionShared};
use os::Os;

/// All counters: object, counter and instance; value and type.
fn counters(session: &mut Session) -> BTreeMap<(String, String, String), (i64, i64)> {
    let text = "SELECT RTRIM(object_name), RTRIM(counter_name), RTRIM(instance_name), cntr_value, cntr_type
                FROM sys.dm_os_performance_counters";
    let found = rows(session, text);
    let parsed: BTreeMap<_, _> = found
        .iter()
        .map(|row| {
            let parts: Vec<&str> = row.split('|').collect();
            let key = (parts[0].to_owned(), parts[1].to_owned(), parts[2].to_owned());
            (key, (parts[3].parse().unwrap(), parts[4].parse().unwrap()))
        })
        .collect();
    assert_eq!(parsed.len(), found.len(), "each counter has one row");
    parsed
}

/// The rows that tools look for, by docs/performance-counters.md: object, counters, instances that are there at least.
const RATE: i64 = 272_696_576;
const RAW: i64 = 65_792;
const FRACTION: i64 = 537_003_264;
const BASE: i64 = 1_073_939_712;
const AVERAGE: i64 = 1_073_874_176;

const EXPECTED: &[(&str, &str, i64, &[&str])] = &[
    ("Databases", "Log Flushes/sec", RATE, &["_Total", "master", "tempdb", "d"]),
    ("Databases", "Log Bytes Flushed/sec", RATE, &["_Total", "d"]),
    ("Databases", "Log Flush Waits/sec", RATE, &["_Total", "d"]),
    ("Databases", "Log Flush Wait Time", RAW, &["_Total", "d"]),
    ("Databases", "Log Flush Write Time (ms)", RAW, &["_Total", "d"]),
    ("Databases", "Log Cache Hit Ratio", FRACTION, &["_Total", "d"]),
    ("Databases", "Log Cache Hit Ratio Base", BASE, &["_Total", "d"]),
    ("Databases", "Log Cache Reads/sec", RATE, &["_Total", "d"]),
    ("Databases", "Log File(s) Size (KB)", RAW, &["_Total", "d"]),
    ("Databases", "Log File(s) Used Size (KB)", RAW, &["_Total", "d"]),
    ("Databases", "Percent Log Used", RAW, &["_Total", "d"]),
    ("Databases", "Log Growths", RAW, &["_Total", "d"]),
    ("Databases", "Log Shrinks", RAW, &["_Total", "d"]),
    ("Databases", "Log Truncations", RAW, &["_Total", "d"]),
    ("Databases", "Data File(s) Size (KB)", RAW, &["_Total", "d"]),
    ("Databases", "Active Transactions", RAW, &["_Total", "d"]),
    ("Databases", "Transactions/sec", RATE, &["_Total", "d"]),
    ("Databases", "Write Transactions/sec", RATE, &["_Total", "d"]),
    ("Databases", "Log Pool Requests/sec", RATE, &["_Total", "d"]),
    ("Databases", "XTP Memory Used (KB)", RAW, &["_Total", "d"]),
    (
        "Locks",
        "Lock Requests/sec",
        RATE,
        &["_Total", "Database", "Object", "Page", "RID", "Key", "Metadata", "Application", "File", "HoBT"],
    ),
    ("Locks", "Lock Waits/sec", RATE, &["_Total", "Key", "Xact"]),
    ("Locks", "Lock Wait Time (ms)", RATE, &["_Total", "Key"]),
    ("Locks", "Average Wait Time (ms)", AVERAGE, &["_Total", "Key"]),
    ("Locks", "Average Wait Time Base", BASE, &["_Total", "Key"]),
    ("Locks", "Lock Timeouts/sec", RATE, &["_Total", "Key"]),
    ("Locks", "Lock Timeouts (timeout > 0)/sec", RATE, &["_Total", "Key"]),
    ("Locks", "Number of Deadlocks/sec", RATE, &["_Total", "Key"]),
    ("Buffer Manager", "Buffer cache hit ratio", FRACTION, &[""]),
    ("Buffer Manager", "Buffer cache hit ratio base", BASE, &[""]),
    ("Buffer Manager", "Page lookups/sec", RATE, &[""]),
    ("Buffer Manager", "Page reads/sec", RATE, &[""]),
    ("Buffer Manager", "Page writes/sec", RATE, &[""]),
    ("Buffer Manager", "Database pages", RAW, &[""]),
    ("Buffer Manager", "Target pages", RAW, &[""]),
    ("Buffer Manager", "Page life expectancy", RAW, &[""]),
    ("Buffer Manager", "Checkpoint pages/sec", RATE, &[""]),
    ("Buffer Manager", "Lazy writes/sec", RATE, &[""]),
    ("Buffer Manager", "Free list stalls/sec", RATE, &[""]),
    ("SQL Statistics", "SQL Compilations/sec", RATE, &[""]),
    ("SQL Statistics", "SQL Re-Compilations/sec", RATE, &[""]),
    ("SQL Statistics", "Auto-Param Attempts/sec", RATE, &[""]),
    (
        "Wait Statistics",
        "Log write waits",
        RATE,
        &["Waits started per second", "Cumulative wait time (ms) per second"],
    ),
    ("Wait Statistics", "Lock waits", RAW, &["Average wait time (ms)", "Waits in progress"]),
    ("Wait Statistics", "Page IO latch waits", RAW, &["Waits in progress"]),
    ("Wait Statistics", "Network IO waits", RAW, &["Waits in progress"]),
];

fn value(
    all: &BTreeMap<(String, String, String), (i64, i64)>,
    object: &str,
    counter: &str,
    instance: &str,
) -> i64 {
    let key = (format!("SQLServer:{object}"), counter.to_owned(), instance.to_owned());
    all.get(&key).unwrap_or_else(|| panic!("no {key:?}")).0
}

#[test]
fn counters_are_there_with_their_types_sums_and_real_figures() {
    let world = World::new("diagnosis-counters");
    let mut s = world.session();
    run(&mut s, "CREATE DATABASE d; CREATE DATABASE e");
    run(&mut s, "USE d; CREATE TABLE t (i int NOT NULL PRIMARY KEY, v int); CHECKPOINT");
    let before = counters(&mut s);
    for (object, counter, kind, instances) in EXPECTED {
        for instance in *instances {
            let key = (format!("SQLServer:{object}"), (*counter).to_owned(), (*instance).to_owned());
            assert_eq!(before.get(&key).map(|row| row.1), Some(*kind), "{key:?}");
        }
    }
    // Work changes its counters, and the sums by an equal amount.
    run(
        &mut s,
        "SET NOCOUNT ON; DECLARE @i int = 0; WHILE @i < 50 BEGIN INSERT t VALUES (@i, 1); SET @i += 1 END",
    );
    run(&mut s, "SET LOCK_TIMEOUT 0; BEGIN TRAN; UPDATE t SET v = 2 WHERE i = 1");
    let mut other = world.session();
    let blocked = run(&mut other, "USE d; SET LOCK_TIMEOUT 0; SELECT v FROM t WHERE i = 1");
    assert_eq!(blocked.messages.last().map(|message| message.0), Some(1222));
    run(&mut other, "SET LOCK_TIMEOUT 20; SELECT v FROM t WHERE i = 1");
    let open = counters(&mut other);
    assert_eq!(value(&open, "Databases", "Active Transactions", "d"), 1);
    run(&mut s, "COMMIT; CHECKPOINT; SELECT COUNT(*) FROM fn_dblog(NULL, NULL); CREATE INDEX again ON t (v)");
    run(&mut s, "SELECT COUNT(*) FROM t WHERE v = 12345");
    let after = counters(&mut s);
    let moved = |object: &str, counter: &str, instance: &str| {
        value(&after, object, counter, instance) - value(&before, object, counter, instance)
    };
    for (object, counter, instance, least) in [
        ("Databases", "Log Flushes/sec", "d", 51),
        ("Databases", "Log Flushes/sec", "_Total", 51),
        ("Databases", "Transactions/sec", "d", 51),
        ("Databases", "Write Transactions/sec", "d", 51),
        ("Databases", "Log Bytes Flushed/sec", "d", 51 * 512),
        ("Databases", "Log Cache Reads/sec", "d", 1),
        ("Databases", "Log Cache Hit Ratio Base", "d", 1),
        ("Locks", "Lock Requests/sec", "Key", 51),
        ("Locks", "Lock Requests/sec", "Object", 51),
        ("Locks", "Lock Requests/sec", "_Total", 102),
        ("Locks", "Lock Timeouts/sec", "Key", 2),
        ("Locks", "Lock Timeouts (timeout > 0)/sec", "Key", 1),
        ("Locks", "Lock Waits/sec", "Key", 1),
        ("Locks", "Lock Wait Time (ms)", "Key", 20),
        ("Locks", "Average Wait Time (ms)", "Key", 20),
        ("Locks", "Average Wait Time Base", "Key", 1),
        ("Buffer Manager", "Page lookups/sec", "", 50),
        ("Buffer Manager", "Buffer cache hit ratio base", "", 50),
        ("Buffer Manager", "Checkpoint pages/sec", "", 1),
        ("SQL Statistics", "SQL Compilations/sec", "", 3),
        ("Wait Statistics", "Log write waits", "Waits started per second", 1),
        ("Wait Statistics", "Lock waits", "Waits started per second", 1),
    ] {
        assert!(
            moved(object, counter, instance) >= least,
            "{object} {counter} {instance}: {}",
            moved(object, counter, instance)
        );
    }
    assert_eq!(moved("Locks", "Lock Timeouts (timeout > 0)/sec", "Key"), 1, "one of the two had waited");
    assert_eq!(value(&after, "Wait Statistics", "Lock waits", "Waits in progress"), 0);
    assert!(
        value(&after, "Buffer Manager", "Database pages", "")
            <= value(&after, "Buffer Manager", "Target pages", "")
    );
    // Every sum is that of its instances, but for the share.
    for ((object, counter, instance), (sum, _)) in &after {
        if instance != "_Total" || counter == "Percent Log Used" {
            continue;
        }
        let parts =
            after.iter().filter(|(key, _)| key.0 == *object && key.1 == *counter && key.2 != "_Total");
        assert_eq!(parts.map(|(_, row)| row.0).sum::<i64>(), *sum, "{object} {counter}");
    }
    let used = value(&after, "Databases", "Log File(s) Used Size (KB)", "_Total") * 100
        / value(&after, "Databases", "Log File(s) Size (KB)", "_Total");
    assert_eq!(value(&after, "Databases", "Percent Log Used", "_Total"), used);
    run(&mut s, "USE master; DROP DATABASE e");
    assert!(!counters(&mut s).keys().any(|key| key.2 == "e"), "a dropped database has no counters");
}

/// A plan that is made again for a changed table counts as a recompilation.
#[test]
fn plans_that_are_made_again_are_counted() {
    let world = World::new("diagnosis-recompile");
    let mut s = world.session();
    run(&mut s, "CREATE TABLE t (i int)");
    let count = |s: &mut Session| value(&counters(s), "SQL Statistics", "SQL Re-Compilations/sec", "");
    run(&mut s, "SELECT i FROM t");
    let before = count(&mut s);
    run(&mut s, "SELECT i FROM t");
    assert_eq!(count(&mut s), before, "the kept plan is good");
    run(&mut s, "ALTER TABLE t ADD v int");
    run(&mut s, "SELECT i FROM t");
    assert!(count(&mut s) > before);
}

/// The waiting session, the resource, its holder, in the documented format; afterwards the wait is in that session's statistics and in no other's.
#[test]
fn a_waiting_task_names_what_it_waits_for_and_for_whom() {
    on_a_machine(12, |os| {
        let server = Server::open(os);
        let mut holder = server.session_in("master");
        run(&mut holder, "CREATE TABLE t (i int NOT NULL PRIMARY KEY, v int); CREATE TABLE h (i int)");
        run(&mut holder, "INSERT t VALUES (1, 1); INSERT h VALUES (1)");
        let mut reader = server.session_in("master");
        for (blocked, change, begins, kind) in [
            ("SELECT v FROM t WHERE i = 1", "UPDATE t SET v = 2", "keylock hobtid=", "KEY"),
            ("SELECT i FROM h", "UPDATE h SET i = 2", "ridlock fileid=1 pageid=", "RID"),
            (
                "SELECT i FROM h",
                "SELECT * FROM h WITH (TABLOCKX)",
                "objectlock lockPartition=0 objid=",
                "OBJECT",
            ),
            (
                "EXEC sp_getapplock 'a', 'Exclusive', 'Session'; EXEC sp_releaseapplock 'a', 'Session'",
                "EXEC sp_getapplock 'a', 'Exclusive', 'Transaction'",
                "applicationlock hash=",
                "APPLICATION",
            ),
        ] {
            run(&mut holder, &format!("BEGIN TRAN; {change}"));
            let shared = server.shared();
            let text = blocked.to_owned();
            let waiter = os.spawn("waiter", move || {
                let mut session = crate::common::simulated::connect(&shared, "master");
                run(&mut session, &text);
                let waits = rows(
                    &mut session,
                    "SELECT wait_type, waiting_tasks_count, wait_time_ms FROM sys.dm_exec_session_wait_stats
                     WHERE session_id = @@SPID AND wait_type LIKE 'LCK%'",
                );
                assert_eq!(waits.len(), 1, "{text}: {waits:?}");
                let parts: Vec<&str> = waits[0].split('|').collect();
                assert!(parts[1] == "1" && parts[2].parse::<i64>().unwrap() >= 100, "{text}: {waits:?}");
                session.reset(false, &mut crate::common::Seen::default());
                let left = "SELECT COUNT(*) FROM sys.dm_exec_session_wait_stats WHERE session_id = @@SPID AND wait_type LIKE 'LCK%'";
                assert_eq!(number(&mut session, left), 0, "a reset begins anew");
                session.close();
            });
            let _ = os.sleep(200_000_000, os::WaitType::SLEEP_TASK);
            let text = "SELECT w.session_id, w.wait_type, w.blocking_session_id, w.resource_description, l.resource_type, l.request_status
                        FROM sys.dm_os_waiting_tasks AS w JOIN sys.dm_tran_locks AS l ON l.lock_owner_address = w.resource_address
                        WHERE w.blocking_session_id IS NOT NULL";
            let found = rows(&mut reader, text);
            assert_eq!(found.len(), 1, "{blocked}: {found:?}");
            check_wait_resource(&mut reader, kind);
            let parts: Vec<&str> = found[0].split('|').collect();
            assert!(parts[1].starts_with("LCK_M_"), "{found:?}");
            assert_eq!(
                (parts[2], parts[4], parts[5]),
                (holder.id().to_string().as_str(), kind, "WAIT"),
                "{found:?}"
            );
            assert!(parts[3].starts_with(begins) && parts[3].contains(" mode="), "{found:?}");
            assert_eq!(
                number(
                    &mut reader,
                    "SELECT cntr_value FROM sys.dm_os_performance_counters WHERE counter_name = 'Lock waits' AND instance_name = 'Waits in progress'"
                ),
                1
            );
            run(&mut holder, "ROLLBACK");
            waiter.join().unwrap();
            assert_eq!(rows(&mut reader, text).len(), 0);
        }
        let own = "SELECT COUNT(*) FROM sys.dm_exec_session_wait_stats WHERE session_id = @@SPID AND wait_type LIKE 'LCK%'";
        assert_eq!((number(&mut holder, own), number(&mut reader, own)), (0, 0), "they have not waited");
        let written = "SELECT COUNT(*) FROM sys.dm_exec_session_wait_stats WHERE session_id = @@SPID AND wait_type = 'WRITELOG' AND waiting_tasks_count >= 4";
        assert_eq!((number(&mut holder, written), number(&mut reader, written)), (1, 0));
        server.stop(reader);
    });
}

/// The one lock that is waited for is written the same way in both views, as SQL Server writes it, and names what sys.dm_tran_locks names.
fn check_wait_resource(reader: &mut Session, kind: &str) {
    let text = "SELECT r.wait_resource, RTRIM(p.waitresource), RTRIM(p.lastwaittype), r.wait_type, l.resource_database_id,
                       l.resource_associated_entity_id, l.resource_description
                FROM sys.dm_exec_requests AS r JOIN sys.sysprocesses AS p ON p.spid = r.session_id
                JOIN sys.dm_tran_locks AS l ON l.request_session_id = r.session_id AND l.request_status <> 'GRANT'";
    let found = rows(reader, text);
    assert_eq!(found.len(), 1, "{found:?}");
    let parts: Vec<&str> = found[0].split('|').collect();
    let (database, entity, place) = (parts[4], parts[5], parts[6]);
    let expected = match kind {
        "KEY" => format!("KEY: {database}:{entity} {place}"),
        "OBJECT" => format!("OBJECT: {database}:{entity}:0"),
        "DATABASE" => format!("DATABASE: {database}:0"),
        "METADATA" => format!("METADATA: database_id = {database} {place}"),
        "RID" | "PAGE" | "APPLICATION" => format!("{kind}: {database}:{place}"),
        _ => panic!("{kind} is no kind of lock"),
    };
    assert_eq!((parts[0], parts[1]), (expected.as_str(), expected.as_str()), "{found:?}");
    assert_eq!(parts[2], parts[3], "the wait that goes on is the last one");
    if ["KEY", "RID", "PAGE"].contains(&kind) {
        let owner = format!("SELECT COUNT(*) FROM sys.partitions WHERE hobt_id = {entity}");
        assert_eq!(number(reader, &owner), 1, "{found:?} belongs to one heap or index");
    }
    let idle = "SELECT COUNT(*) FROM sys.dm_exec_requests WHERE wait_type IS NULL AND wait_resource <> ''";
    assert_eq!(number(reader, idle), 0, "who waits for nothing waits for no resource");
}

/// A transaction is visible from BEGIN TRAN on, with its name, its time and one id in all views, whether it has changed anything or not.
#[test]
fn a_transaction_is_seen_from_its_beginning() {
    let world = World::new("diagnosis-begun");
    let (mut one, mut two) = (world.session(), world.session());
    run(&mut one, "CREATE TABLE t (i int); CREATE DATABASE elsewhere; SELECT 1 AS i INTO elsewhere.dbo.t");
    let text = "SELECT s.session_id, a.name, a.transaction_type, a.transaction_state, s.enlist_count, s.is_user_transaction, s.is_local,
                       s.open_transaction_count, e.open_transaction_count, p.open_tran,
                       (SELECT COUNT(*) FROM sys.dm_tran_database_transactions AS d WHERE d.transaction_id = a.transaction_id)
                FROM sys.dm_tran_session_transactions AS s JOIN sys.dm_tran_active_transactions AS a ON a.transaction_id = s.transaction_id
                JOIN sys.dm_exec_sessions AS e ON e.session_id = s.session_id JOIN sys.sysprocesses AS p ON p.spid = s.session_id
                WHERE DATEDIFF(second, a.transaction_begin_time, SYSUTCDATETIME()) BETWEEN -1 AND 600";
    let spid = one.id();
    assert_eq!(rows(&mut two, text).len(), 0);
    run(&mut one, "BEGIN TRAN");
    assert_eq!(rows(&mut two, text), [format!("{spid}|user_transaction|1|2|0|1|1|1|1|1|0")]);
    run(&mut one, "SELECT * FROM t");
    assert_eq!(rows(&mut two, text), [format!("{spid}|user_transaction|1|2|0|1|1|1|1|1|0")], "it has read");
    run(&mut one, "COMMIT");
    assert_eq!(rows(&mut two, text).len(), 0);
    run(&mut one, "BEGIN TRAN [the transfer]; BEGIN TRAN inner_one; INSERT t VALUES (1)");
    assert_eq!(rows(&mut two, text), [format!("{spid}|the transfer|1|2|0|1|1|2|2|2|1")]);
    run(&mut one, "INSERT elsewhere.dbo.t VALUES (2)");
    assert_eq!(
        rows(&mut two, text),
        [format!("{spid}|the transfer|1|2|0|1|1|2|2|2|2")],
        "one number in both"
    );
    let number_of = "SELECT CURRENT_TRANSACTION_ID()";
    let own = rows(&mut one, number_of);
    let same = "SELECT transaction_id FROM sys.dm_tran_session_transactions
                UNION SELECT transaction_id FROM sys.dm_tran_active_transactions WHERE transaction_type = 1
                UNION SELECT transaction_id FROM sys.dm_tran_database_transactions WHERE database_transaction_type = 1
                UNION SELECT request_owner_id FROM sys.dm_tran_locks WHERE request_owner_type = 'TRANSACTION'";
    assert_eq!(rows(&mut two, same), own);
    let current = "SELECT transaction_id FROM sys.dm_tran_current_transaction
                   UNION SELECT transaction_id FROM sys.dm_exec_requests WHERE session_id = @@SPID";
    assert_eq!(rows(&mut one, current), own);
    let logged = "SELECT DISTINCT [Transaction Name] FROM sys.fn_dblog(NULL, NULL)
                  WHERE Operation = 'LOP_BEGIN_XACT' AND [Transaction Name] LIKE '%transfer%'";
    assert_eq!(rows(&mut two, logged), ["the transfer"]);
    let logged = "SELECT [Xact ID] FROM sys.fn_dblog(NULL, NULL) WHERE [Transaction Name] = 'the transfer'";
    assert_eq!(rows(&mut two, logged), own);
    let held = "SELECT transaction_id FROM sys.dm_db_log_holders WHERE database_id = DB_ID() AND session_id IS NOT NULL";
    assert_eq!(rows(&mut two, held), own);
    let told = run(&mut two, "DBCC OPENTRAN").messages;
    assert!(told.iter().any(|line| line.2.trim() == "Name          : the transfer"), "{told:?}");
    run(&mut one, "ROLLBACK");
    assert_eq!(rows(&mut two, text).len(), 0);
    run(
        &mut one,
        "DECLARE @name varchar(20) = 'by variable'; BEGIN TRAN @name; ROLLBACK TRAN @name; BEGIN TRAN",
    );
    assert_eq!(rows(&mut two, text), [format!("{spid}|user_transaction|1|2|0|1|1|1|1|1|0")], "the name went");
    run(&mut one, "ROLLBACK; SET IMPLICIT_TRANSACTIONS ON; SELECT * FROM t");
    assert_eq!(rows(&mut two, text), [format!("{spid}|implicit_transaction|1|2|0|1|1|1|1|1|0")]);
    run(&mut one, "COMMIT; SET IMPLICIT_TRANSACTIONS OFF; BEGIN TRAN");
    assert_eq!(rows(&mut two, text), [format!("{spid}|user_transaction|1|2|0|1|1|1|1|1|0")]);
    one.reset(false, &mut crate::common::Seen::default());
    assert_eq!(rows(&mut two, text).len(), 0, "a reset ends it");
}

/// A statement outside of a transaction is one of its own, named after it.
#[test]
fn a_statement_of_its_own_is_a_transaction_with_its_name() {
    on_a_machine(12, |os| {
        let (server, mut holder) = Server::with_table(os);
        run(
            &mut holder,
            "CREATE TABLE dbo.wide (i int NOT NULL PRIMARY KEY, v int); INSERT dbo.wide VALUES (1, 1), (2, 2)",
        );
        let mut reader = server.session();
        for (text, name) in [
            ("INSERT dbo.wide VALUES (0, 0), (2, 3)", "INSERT"),
            ("UPDATE dbo.wide SET v += 1", "UPDATE"),
            ("SELECT * INTO dbo.copied FROM dbo.wide", "SELECT INTO"),
            ("ALTER TABLE dbo.wide ADD n int", "ALTER TABLE"),
            ("SELECT COUNT(*) FROM dbo.wide", "SELECT"),
            ("DELETE dbo.wide", "DELETE"),
            (
                "MERGE dbo.wide AS w USING (VALUES (1), (2)) AS s (i) ON w.i = s.i WHEN MATCHED THEN UPDATE SET v = 0;",
                "MERGE",
            ),
        ] {
            run(&mut holder, "DELETE dbo.wide; INSERT dbo.wide (i, v) VALUES (1, 1), (2, 2)");
            run(&mut holder, "BEGIN TRAN; UPDATE dbo.wide SET v += 1 WHERE i = 2");
            let shared = server.shared();
            let waiter = os.spawn("waiter", move || {
                let mut session = crate::common::simulated::connect(&shared, NAME);
                run(&mut session, text);
                session.close();
            });
            let _ = os.sleep(200_000_000, os::WaitType::SLEEP_TASK);
            let seen = rows(
                &mut reader,
                &format!(
                    "SELECT a.name, r.command, a.transaction_type, a.transaction_state, s.enlist_count FROM sys.dm_exec_requests AS r
                     JOIN sys.dm_tran_active_transactions AS a ON a.transaction_id = r.transaction_id
                     JOIN sys.dm_tran_session_transactions AS s ON s.session_id = r.session_id
                     WHERE r.blocking_session_id = {}",
                    holder.id()
                ),
            );
            let is_query = i32::from(name == "SELECT");
            assert_eq!(seen, [format!("{name}|{name}|{}|2|1", 1 + is_query)], "{text}");
            run(&mut holder, "ROLLBACK");
            waiter.join().unwrap();
        }
        reader.close();
        server.stop(holder);
    });
}

#[test]
fn transactions_are_shown_with_their_sessions() {
    let world = World::new("diagnosis-transactions");
    let (mut one, mut two) = (world.session(), world.session());
    run(&mut one, "CREATE TABLE t (i int)");
    run(&mut one, "BEGIN TRAN; BEGIN TRAN; INSERT t VALUES (1)");
    let text = "SELECT s.session_id, s.is_user_transaction, s.is_local, s.is_enlisted, s.is_bound, s.open_transaction_count, a.name,
                       a.transaction_type, a.transaction_state, d.database_transaction_log_record_count, s.enlist_count
                FROM sys.dm_tran_session_transactions AS s JOIN sys.dm_tran_active_transactions AS a ON a.transaction_id = s.transaction_id
                JOIN sys.dm_tran_database_transactions AS d ON d.transaction_id = s.transaction_id AND d.database_id = DB_ID()
                WHERE ABS(DATEDIFF(second, a.transaction_begin_time, GETDATE())) < 100000 AND s.transaction_descriptor > 0x0";
    assert_eq!(rows(&mut two, text), [format!("{}|1|1|0|0|2|user_transaction|1|2|2|0", one.id())]);
    run(&mut one, "ROLLBACK");
    assert_eq!(rows(&mut two, text).len(), 0);
}

/// DBCC OPENTRAN sends the documented lines, each with its message number.
#[test]
fn the_oldest_transaction_is_told_line_by_line() {
    let world = World::new("diagnosis-opentran");
    let (mut one, mut two) = (world.session(), world.session());
    run(&mut one, "CREATE TABLE t (i int)");
    run(&mut one, "BEGIN TRAN; INSERT t VALUES (1)");
    let told = run(&mut two, "DBCC OPENTRAN").messages;
    let numbers: Vec<i32> = told.iter().map(|message| message.0).collect();
    assert_eq!(numbers, [7968, 7970, 7971, 7972, 7974, 7975, 7977, 7979, 2528]);
    let lines: Vec<&str> = told.iter().map(|message| message.2.trim()).collect();
    assert!(lines[0].starts_with("Transaction information for database '"), "{lines:?}");
    assert_eq!(lines[1], "Oldest active transaction:");
    assert_eq!(lines[2], format!("SPID (server process ID): {}", one.id()));
    assert_eq!(lines[3], "UID (user ID) : -1");
    assert_eq!(lines[4], "Name          : user_transaction");
    assert!(lines[5].starts_with("LSN           : (") && lines[5].matches(':').count() == 3, "{lines:?}");
    assert!(lines[6].starts_with("Start time    : ") && lines[6].ends_with('M'), "{lines:?}");
    assert_eq!(lines[7], "SID           : 0x01");
    let names =
        "OLDACT_SPID OLDACT_UID OLDACT_NAME OLDACT_RECOVERYUNITID OLDACT_LSN OLDACT_STARTTIME OLDACT_SID";
    let rows = rows(&mut two, "DBCC OPENTRAN WITH TABLERESULTS, NO_INFOMSGS");
    let found: Vec<&str> = rows.iter().map(|row| row.split('|').next().unwrap()).collect();
    assert_eq!(found.join(" "), names);
    run(&mut one, "ROLLBACK");
}

/// Claim 247: DBCC SQLPERF clears both views; what was waited for before is gone, what comes afterwards is counted.
#[test]
fn statistics_of_waits_and_latches_can_be_cleared() {
    let world = World::new("diagnosis-clear");
    let mut s = world.session();
    run(&mut s, "CREATE TABLE t (i int); INSERT t VALUES (1)");
    let waits = "SELECT SUM(waiting_tasks_count) FROM sys.dm_os_wait_stats WHERE wait_type = 'WRITELOG'";
    assert!(number(&mut s, waits) > 0);
    run(&mut s, "DBCC SQLPERF('sys.dm_os_wait_stats', CLEAR)");
    assert_eq!(number(&mut s, waits), 0);
    run(&mut s, "INSERT t VALUES (2)");
    assert!(number(&mut s, waits) > 0);
    run(&mut s, "DBCC SQLPERF('sys.dm_os_latch_stats', CLEAR)");
    let odd = "SELECT COUNT(*) FROM sys.dm_os_latch_stats WHERE waiting_requests_count < 1 OR max_wait_time_ms > wait_time_ms";
    assert_eq!(number(&mut s, odd), 0);
}

/// Claim 191: the article's check of its eight databases, with the drives C, D and E mapped to folders: four logs lie on the fast drive D,
/// four on E, and the views say so in the words of the script.
#[test]
fn files_on_mapped_drives_are_shown_with_their_letters() {
    let folder = std::env::temp_dir().join(format!("hardpan-session-drives-{}", std::process::id()));
    drop(std::fs::remove_dir_all(&folder));
    for drive in ["fast", "slow"] {
        std::fs::create_dir_all(folder.join(drive)).unwrap();
    }
    std::os::unix::fs::symlink(folder.join("slow"), folder.join("link")).unwrap();
    let options = InstanceOptions {
        drives: vec![('D', folder.join("fast")), ('E', folder.join("link"))],
        ..InstanceOptions::new(folder.join("data"))
    };
    let instance = Instance::open(&Os::real(), &options).unwrap();
    let shared = SessionShared::new(Arc::clone(&instance), "test", 0);
    let login = LoginInfo { login_name: "sa".into(), ansi_defaults: true, ..LoginInfo::default() };
    let mut s = Session::new(&shared, login).unwrap();
    for (number, drive, recovery, durability) in [
        (1, 'D', "FULL", "FORCED"),
        (2, 'D', "SIMPLE", "FORCED"),
        (3, 'E', "FULL", "FORCED"),
        (4, 'E', "SIMPLE", "FORCED"),
        (5, 'D', "FULL", "DISABLED"),
        (6, 'D', "SIMPLE", "DISABLED"),
        (7, 'E', "FULL", "DISABLED"),
        (8, 'E', "SIMPLE", "DISABLED"),
    ] {
        let text = format!(
            "CREATE DATABASE dd{number} ON (name = 'dd{number}_data', filename = 'C:\\SQLData\\dd{number}.mdf', size = 8MB)
             LOG ON (name = 'dd{number}_log', filename = '{drive}:\\SQLLog\\dd{number}.ldf', size = 1MB);
             ALTER DATABASE dd{number} SET RECOVERY {recovery}; ALTER DATABASE dd{number} SET DELAYED_DURABILITY = {durability}"
        );
        assert!(run(&mut s, &text).messages.is_empty());
    }
    let check = "SELECT d.name, d.recovery_model_desc, d.delayed_durability_desc,
                   log_disk = CASE WHEN mf.physical_name LIKE N'D%' THEN 'SSD' else 'HDD' END
                 FROM sys.databases AS d INNER JOIN sys.master_files AS mf ON d.database_id = mf.database_id
                 WHERE d.name LIKE N'dd[1-8]' AND mf.[type] = 1";
    assert_eq!(
        rows(&mut s, check),
        [
            "dd1|FULL|FORCED|SSD",
            "dd2|SIMPLE|FORCED|SSD",
            "dd3|FULL|FORCED|HDD",
            "dd4|SIMPLE|FORCED|HDD",
            "dd5|FULL|DISABLED|SSD",
            "dd6|SIMPLE|DISABLED|SSD",
            "dd7|FULL|DISABLED|HDD",
            "dd8|SIMPLE|DISABLED|HDD",
        ]
    );
    let paths = "SELECT LOWER(physical_name) FROM dd3.sys.database_files ORDER BY file_id";
    assert_eq!(rows(&mut s, paths), [r"c:\sqldata\dd3.mdf", r"e:\sqllog\dd3.ldf"]);
    // Files without a drive are shown as this machine names them; a path as shown leads to the file again.
    let own = rows(&mut s, "SELECT physical_name FROM master.sys.database_files WHERE file_id = 1");
    assert!(own[0].starts_with('/') && own[0].ends_with("master.mdf"), "{own:?}");
    for path in rows(&mut s, "SELECT physical_name FROM dd3.sys.database_files") {
        assert!(instance.resolve_path(&path).unwrap().is_file(), "{path}");
    }
    assert_eq!(rows(&mut s, "SELECT filename FROM dd7.sys.sysfiles WHERE fileid = 2").len(), 1);
    s.close();
    instance.shutdown();
    drop(std::fs::remove_dir_all(&folder));
}
