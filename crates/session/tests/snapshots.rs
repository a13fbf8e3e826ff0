//! Row versions through SQL: READ_COMMITTED_SNAPSHOT, ALLOW_SNAPSHOT_ISOLATION and SNAPSHOT, on a simulated machine. Expected results follow the
//! product's documentation: "Row versioning-based isolation levels", ALTER DATABASE SET options, SET TRANSACTION ISOLATION LEVEL, and the
//! pages of the error messages 3951, 3952, 3960 and 3961.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::Arc;

use crate::common::simulated::{Server, connect, on_a_machine};
use crate::common::{numbers, rows, run};
use hardpan_session::Session;
use os::WaitType;

/// No messages.
const NONE: [i32; 0] = [];
const A_SECOND_NS: u64 = 1_000_000_000;

fn quiet(session: &mut Session, text: &str) {
    let seen = run(session, text);
    assert!(seen.messages.is_empty(), "{text}: {:?}", seen.messages);
}

/// A database `db` with these options, with a clustered table and a heap with a large value, each with an index.
fn prepare(server: &Server, options: &[&str]) {
    let mut session = server.session_in("master");
    quiet(&mut session, "CREATE DATABASE db");
    for option in options {
        quiet(&mut session, &format!("ALTER DATABASE db SET {option} ON"));
    }
    run(&mut session, "USE db");
    quiet(
        &mut session,
        "CREATE TABLE t (id int NOT NULL PRIMARY KEY, v int, w varchar(3000)) CREATE INDEX iv ON t (v)",
    );
    quiet(&mut session, "CREATE TABLE h (id int NOT NULL, v int, w varchar(max)) CREATE INDEX hv ON h (v)");
    for table in ["t", "h"] {
        quiet(
            &mut session,
            &format!(
                "INSERT {table} VALUES (1, 10, REPLICATE('a', 2000)), (2, 20, REPLICATE('b', 2000)), (3, 30, REPLICATE('c', 2000))"
            ),
        );
    }
    quiet(&mut session, "UPDATE h SET w = REPLICATE(CAST('x' AS varchar(max)), 20000) WHERE id = 1");
    session.close();
}

/// All rows by every access path, as text.
fn picture(session: &mut Session, hint: &str) -> Vec<String> {
    let mut all = Vec::new();
    for query in [
        "SELECT id, v, LEN(w), LEFT(w, 1), RIGHT(w, 1) FROM t{} ORDER BY id",
        "SELECT id, v, LEN(w), LEFT(w, 1), RIGHT(w, 1) FROM h{} ORDER BY id",
        "SELECT COUNT(*), SUM(v) FROM t{}",
        "SELECT MIN(v), MAX(v) FROM t{}",
        "SELECT id FROM t{} WHERE id = 2",
        "SELECT TOP 2 id FROM t{} ORDER BY id DESC",
        "SELECT v FROM t{INDEX} WHERE v BETWEEN 0 AND 1000 ORDER BY v",
        "SELECT v, LEN(w) FROM t{INDEX} WHERE v BETWEEN 0 AND 1000 ORDER BY v",
        "SELECT v, LEN(w) FROM h{INDEX} WHERE v BETWEEN 0 AND 1000 ORDER BY v",
    ] {
        let index = if query.contains("FROM t") { "INDEX (iv)" } else { "INDEX (hv)" };
        let with = |hints: &str| if hints.is_empty() { String::new() } else { format!(" WITH ({hints})") };
        let both = [index, hint].into_iter().filter(|hint| !hint.is_empty()).collect::<Vec<_>>().join(", ");
        let text = query.replace("{INDEX}", &with(&both)).replace("{}", &with(hint));
        let seen = run(session, &text);
        assert!(seen.messages.is_empty(), "{text}: {:?}", seen.messages);
        let set = seen.sets.first().map(|set| set.1.clone()).unwrap_or_default();
        all.push(format!("{text}: {set:?}"));
    }
    all
}

/// A writer's changes: each kind of change that a reader may meet.
const CHANGES: [&str; 9] = [
    "UPDATE t SET v = v + 100 UPDATE h SET v = v + 100",
    "UPDATE t SET w = REPLICATE('z', 3000) UPDATE h SET w = REPLICATE('z', 7000)",
    "UPDATE h SET w = REPLICATE(CAST('y' AS varchar(max)), 30000)",
    "DELETE t WHERE id = 2 DELETE h WHERE id IN (1, 2)",
    "INSERT t VALUES (4, 40, 'd'), (0, 5, 'e') INSERT h VALUES (4, 40, 'd')",
    "UPDATE t SET id = id + 10",
    "DELETE t INSERT t VALUES (2, 77, 'new')",
    "UPDATE t SET v = 0 UPDATE t SET v = id UPDATE t SET v = 9 WHERE id = 2",
    "DELETE h DELETE t",
];

/// Readers see committed data, whatever a writer does, and do not wait; with READCOMMITTEDLOCK they would.
#[test]
fn readers_under_read_committed_snapshot_wait_for_nobody() {
    for (seed, change) in CHANGES.into_iter().enumerate() {
        for ending in ["COMMIT", "ROLLBACK"] {
            on_a_machine(seed as u64 + 1, move |os| {
                let server = Server::open(os);
                prepare(&server, &["READ_COMMITTED_SNAPSHOT"]);
                let (mut writer, mut reader) = (server.session_in("db"), server.session_in("db"));
                quiet(&mut reader, "SET LOCK_TIMEOUT 0");
                let before = picture(&mut reader, "");
                quiet(&mut writer, "BEGIN TRAN");
                quiet(&mut writer, change);
                assert_eq!(picture(&mut reader, ""), before, "{change}");
                let locked = run(
                    &mut reader,
                    "SELECT COUNT(t.w) + COUNT(h.w) FROM t WITH (READCOMMITTEDLOCK), h WITH (READCOMMITTEDLOCK)",
                );
                assert_eq!(numbers(&locked), [1222], "{change}");
                let own = picture(&mut writer, "");
                assert_ne!(own, before, "{change}: the writer sees it");
                quiet(&mut writer, ending);
                let after = if ending == "COMMIT" { &own } else { &before };
                assert_eq!(&picture(&mut reader, ""), after, "{change}, {ending}");
                // The texts of the queries differ by the hint alone.
                let locking: Vec<String> = picture(&mut reader, "READCOMMITTEDLOCK")
                    .iter()
                    .map(|line| line.rsplit(": ").next().unwrap().into())
                    .collect();
                let plain: Vec<String> =
                    after.iter().map(|line| line.rsplit(": ").next().unwrap().into()).collect();
                assert_eq!(locking, plain, "{change}, {ending}: with locks the same");
                let database = server.instance.database("db").unwrap();
                assert_eq!(
                    database.transactions().versions().figures().versions,
                    0,
                    "{change}: nobody needs any"
                );
                writer.close();
                server.stop(reader);
            });
        }
    }
}

/// A SNAPSHOT transaction sees the state at its beginning, and its own changes, until it ends.
#[test]
fn a_snapshot_transaction_sees_its_beginning() {
    for (seed, change) in CHANGES.into_iter().enumerate() {
        on_a_machine(seed as u64 + 20, move |os| {
            let server = Server::open(os);
            prepare(&server, &["ALLOW_SNAPSHOT_ISOLATION"]);
            let (mut writer, mut reader) = (server.session_in("db"), server.session_in("db"));
            quiet(&mut reader, "SET LOCK_TIMEOUT 0 SET TRANSACTION ISOLATION LEVEL SNAPSHOT");
            let before = picture(&mut reader, "");
            quiet(&mut reader, "BEGIN TRAN");
            assert_eq!(rows(&mut reader, "SELECT COUNT(*) FROM t WHERE id = 99"), ["0"], "begins here");
            for ending in ["ROLLBACK", "COMMIT"] {
                quiet(&mut writer, "BEGIN TRAN");
                quiet(&mut writer, change);
                assert_eq!(picture(&mut reader, ""), before, "{change}");
                quiet(&mut writer, ending);
                assert_eq!(picture(&mut reader, ""), before, "{change}, {ending}");
            }
            let after = picture(&mut writer, "");
            let open = "SELECT is_snapshot, session_id - @@SPID FROM sys.dm_tran_active_snapshot_database_transactions WHERE is_snapshot = 1";
            assert_eq!(rows(&mut reader, open), ["1|0"]);
            let stored = "SELECT SIGN(COUNT(*)), SIGN(SUM(record_length_first_part_in_bytes)), COUNT(DISTINCT database_id) FROM sys.dm_tran_version_store";
            assert_eq!(rows(&mut reader, stored).len(), 1);
            let room = "SELECT SIGN(reserved_page_count) FROM sys.dm_tran_version_store_space_usage WHERE database_id = DB_ID()";
            assert_eq!(rows(&mut reader, room), ["1"], "{change}");
            quiet(&mut reader, "INSERT t VALUES (50, 1, 'own')");
            assert_eq!(rows(&mut reader, "SELECT w FROM t WHERE id = 50"), ["own"]);
            assert_eq!(
                numbers(&run(&mut writer, "SET LOCK_TIMEOUT 0 SELECT w FROM t WHERE id = 50")),
                [1222]
            );
            quiet(&mut reader, "ROLLBACK");
            assert_eq!(picture(&mut reader, ""), after, "{change}: a new one");
            let database = server.instance.database("db").unwrap();
            assert_eq!(
                database.transactions().versions().figures().versions,
                0,
                "{change}: nobody needs any"
            );
            quiet(&mut reader, "DBCC CHECKDB WITH NO_INFOMSGS");
            writer.close();
            server.stop(reader);
        });
    }
}

/// A rollback to a savepoint releases rows to other sessions, which change them before the transaction has ended: each change has its version, and
/// later changes of the same rows by the transaction have another one.
#[test]
fn rows_given_back_by_a_savepoint_are_changed_by_others() {
    for (number, undone) in CHANGES.into_iter().enumerate() {
        for (turn, change) in CHANGES.into_iter().enumerate() {
            on_a_machine((number * CHANGES.len() + turn) as u64 + 100, move |os| {
                let told = format!("{undone}, taken back; another: {change}");
                let server = Server::open(os);
                prepare(&server, &["ALLOW_SNAPSHOT_ISOLATION", "READ_COMMITTED_SNAPSHOT"]);
                let [mut first, mut second, mut reader] = std::array::from_fn(|_| server.session_in("db"));
                quiet(&mut first, "CREATE TABLE other (i int) INSERT other VALUES (1)");
                quiet(&mut reader, "SET TRANSACTION ISOLATION LEVEL SNAPSHOT BEGIN TRAN");
                let before = picture(&mut reader, "");
                quiet(&mut second, "SET LOCK_TIMEOUT 0");
                quiet(&mut first, "BEGIN TRAN UPDATE other SET i = 2 SAVE TRAN here");
                quiet(&mut first, undone);
                quiet(&mut first, "ROLLBACK TRAN here");
                assert_eq!(picture(&mut second, ""), before, "{told}: for another, it never happened");
                quiet(&mut second, change);
                let after = picture(&mut second, "");
                assert_eq!(picture(&mut reader, ""), before, "{told}: at an older snapshot");
                assert_eq!(picture(&mut first, ""), after, "{told}: for the transaction itself");
                // Later changes of the same rows follow.
                quiet(&mut first, "UPDATE t SET v = v + 1000 UPDATE h SET v = v + 1000");
                assert_eq!(picture(&mut reader, ""), before, "{told}: and again");
                assert_eq!(picture(&mut second, ""), after, "{told}: not committed yet");
                quiet(&mut first, "COMMIT");
                assert_eq!(picture(&mut reader, ""), before, "{told}: at last");
                assert_eq!(picture(&mut second, ""), picture(&mut first, ""), "{told}: committed");
                quiet(&mut reader, "ROLLBACK DBCC CHECKDB WITH NO_INFOMSGS");
                let database = server.instance.database("db").unwrap();
                assert_eq!(database.transactions().versions().figures().versions, 0, "{told}: all forgotten");
                first.close();
                second.close();
                server.stop(reader);
            });
        }
    }
}

/// The first to commit wins; the other transaction is rolled back.
#[test]
fn an_update_conflict_ends_the_transaction() {
    let losers = [
        "UPDATE t SET v = 1 WHERE id = 2",
        "DELETE t WHERE id = 2",
        "SELECT id FROM t WITH (UPDLOCK) WHERE id = 2",
        "UPDATE h SET v = 1 WHERE id = 2",
        "DELETE h WHERE v = 20",
        "UPDATE t SET id = 5 WHERE v = 20",
    ];
    let winners = [
        "UPDATE t SET v = 7 WHERE id = 2 UPDATE h SET v = 7 WHERE id = 2",
        "DELETE t WHERE id = 2 DELETE h WHERE id = 2",
        "DELETE t WHERE id = 2 DELETE h WHERE id = 2 INSERT t VALUES (2, 20, 'b')",
    ];
    on_a_machine(40, move |os| {
        let server = Server::open(os);
        prepare(&server, &["ALLOW_SNAPSHOT_ISOLATION"]);
        let (mut early, mut late) = (server.session_in("db"), server.session_in("db"));
        quiet(&mut late, "SET TRANSACTION ISOLATION LEVEL SNAPSHOT");
        for winner in winners {
            for loser in losers {
                let told = format!("{winner}, then {loser}");
                quiet(
                    &mut early,
                    "DELETE t DELETE h INSERT t VALUES (1, 10, 'a'), (2, 20, 'b') INSERT h VALUES (1, 10, 'a'), (2, 20, 'b')",
                );
                quiet(&mut late, "BEGIN TRAN UPDATE t SET v = 11 WHERE id = 1");
                quiet(&mut early, winner);
                let seen = run(&mut late, &format!("{loser} SELECT 'goes on'"));
                // A locking read does not meet a deleted row.
                if loser.contains("UPDLOCK") && winner == winners[1] {
                    assert_eq!(numbers(&seen), NONE, "{told}");
                    quiet(&mut late, "ROLLBACK");
                    continue;
                }
                assert_eq!(numbers(&seen), [3960], "{told}");
                assert!(seen.sets.iter().all(|set| set.1.is_empty()), "{told}: the batch ends");
                assert_eq!(rows(&mut late, "SELECT @@TRANCOUNT"), ["0"], "{told}");
                assert_eq!(rows(&mut late, "SELECT v FROM t WHERE id = 1"), ["10"], "{told}: rolled back");
            }
        }
        // Under READ_COMMITTED_SNAPSHOT and at other levels there is no conflict.
        quiet(&mut late, "SET TRANSACTION ISOLATION LEVEL READ COMMITTED BEGIN TRAN SELECT v FROM t");
        quiet(&mut early, "UPDATE t SET v = v + 1");
        quiet(&mut late, "UPDATE t SET v = v + 1 COMMIT");
        early.close();
        server.stop(late);
    });
}

/// 3952, 3951, 3961; the level itself can always be set.
#[test]
fn what_snapshot_isolation_refuses() {
    on_a_machine(41, |os| {
        let server = Server::open(os);
        prepare(&server, &[]);
        let (mut one, mut two) = (server.session_in("db"), server.session_in("db"));
        quiet(&mut one, "SET TRANSACTION ISOLATION LEVEL SNAPSHOT");
        assert_eq!(numbers(&run(&mut one, "SELECT * FROM t")), [3952]);
        assert_eq!(numbers(&run(&mut one, "UPDATE t SET v = 1")), [3952]);
        quiet(&mut one, "SELECT * FROM t WITH (READCOMMITTED) SELECT 1");
        quiet(
            &mut one,
            "CREATE TABLE #own (i int) INSERT #own VALUES (1) SELECT * FROM #own UPDATE #own SET i = 2",
        );
        quiet(&mut two, "ALTER DATABASE db SET ALLOW_SNAPSHOT_ISOLATION ON");
        quiet(&mut one, "SELECT COUNT(*) FROM t, #own");
        quiet(&mut one, "SET TRANSACTION ISOLATION LEVEL READ COMMITTED BEGIN TRAN SELECT COUNT(*) FROM t");
        let seen = run(&mut one, "SET TRANSACTION ISOLATION LEVEL SNAPSHOT SELECT COUNT(*) FROM t");
        assert_eq!(numbers(&seen), [3951]);
        assert_eq!(rows(&mut one, "SELECT @@TRANCOUNT"), ["0"]);
        // A transaction that began under SNAPSHOT may leave the level and return.
        quiet(&mut one, "BEGIN TRAN SELECT COUNT(*) FROM t");
        quiet(&mut two, "UPDATE t SET v = 0");
        quiet(&mut one, "SET TRANSACTION ISOLATION LEVEL READ COMMITTED");
        assert_eq!(rows(&mut one, "SELECT SUM(v) FROM t"), ["0"]);
        quiet(&mut one, "SET TRANSACTION ISOLATION LEVEL SNAPSHOT");
        assert_eq!(rows(&mut one, "SELECT SUM(v) FROM t"), ["60"]);
        quiet(&mut two, "CREATE INDEX more ON t (v, id)");
        assert_eq!(numbers(&run(&mut one, "SELECT COUNT(*) FROM t")), [3961]);
        assert_eq!(rows(&mut one, "SELECT @@TRANCOUNT"), ["0"]);
        assert_eq!(rows(&mut one, "SELECT COUNT(*) FROM t"), ["3"]);
        for change in ["TRUNCATE TABLE t", "ALTER TABLE t ADD more int", "DROP INDEX more ON t"] {
            quiet(&mut one, "BEGIN TRAN SELECT COUNT(*) FROM h");
            quiet(&mut two, change);
            assert_eq!(numbers(&run(&mut one, "SELECT COUNT(*) FROM t")), [3961], "{change}");
        }
        two.close();
        server.stop(one);
    });
}

/// 3964: definitions have no versions, so a snapshot transaction cannot change a table's structure ("DDL in snapshot isolation", the page
/// of error 3961); autocommit statements can, and whole objects can be created and dropped.
#[test]
fn a_snapshot_transaction_restructures_no_table() {
    on_a_machine(45, |os| {
        let server = Server::open(os);
        prepare(&server, &["ALLOW_SNAPSHOT_ISOLATION"]);
        let mut one = server.session_in("db");
        quiet(&mut one, "CREATE INDEX more ON t (v, id) SET TRANSACTION ISOLATION LEVEL SNAPSHOT");
        let changes = [
            "ALTER TABLE t ADD extra int",
            "ALTER TABLE t ALTER COLUMN w varchar(4000)",
            "CREATE INDEX another ON t (id, v)",
            "ALTER INDEX iv ON t REBUILD",
            "DROP INDEX more ON t",
        ];
        for change in changes {
            quiet(&mut one, "BEGIN TRAN UPDATE t SET v = 77 WHERE id = 1");
            let seen = run(&mut one, &format!("{change} SELECT 'goes on'"));
            assert_eq!(numbers(&seen), [3964], "{change}");
            assert!(seen.sets.is_empty(), "{change}: the batch ends");
            assert_eq!(rows(&mut one, "SELECT @@TRANCOUNT"), ["0"], "{change}");
            assert_eq!(rows(&mut one, "SELECT v FROM t WHERE id = 1"), ["10"], "{change}: rolled back");
        }
        // They succeed in transactions of their own, and at another level.
        for change in changes {
            quiet(&mut one, change);
        }
        quiet(&mut one, "BEGIN TRAN CREATE TABLE made (i int) INSERT made VALUES (1) DROP TABLE made COMMIT");
        quiet(
            &mut one,
            "SET TRANSACTION ISOLATION LEVEL READ COMMITTED BEGIN TRAN DROP INDEX another ON t COMMIT",
        );
        server.stop(one);
    });
}

/// 3957: a snapshot transaction cannot read a database that did not allow snapshots when it began.
#[test]
fn a_database_that_allows_snapshots_later_is_too_late_for_a_transaction() {
    on_a_machine(46, |os| {
        let server = Server::open(os);
        prepare(&server, &["ALLOW_SNAPSHOT_ISOLATION"]);
        let (mut one, mut two) = (server.session_in("db"), server.session_in("master"));
        quiet(&mut two, "CREATE DATABASE other");
        run(&mut two, "USE other");
        quiet(&mut two, "CREATE TABLE t (i int NOT NULL) INSERT t VALUES (1)");
        quiet(&mut one, "SET TRANSACTION ISOLATION LEVEL SNAPSHOT BEGIN TRAN SELECT COUNT(*) FROM t");
        quiet(&mut two, "ALTER DATABASE other SET ALLOW_SNAPSHOT_ISOLATION ON");
        os.sleep(A_SECOND_NS, WaitType::WAITFOR).unwrap();
        let seen = run(&mut one, "SELECT * FROM other.dbo.t");
        assert_eq!(numbers(&seen), [3957]);
        assert_eq!(rows(&mut one, "SELECT @@TRANCOUNT"), ["0"]);
        // The next one may, from either side.
        quiet(&mut one, "BEGIN TRAN SELECT COUNT(*) FROM t");
        assert_eq!(rows(&mut one, "SELECT * FROM other.dbo.t"), ["1"]);
        quiet(&mut one, "COMMIT BEGIN TRAN SELECT COUNT(*) FROM other.dbo.t SELECT COUNT(*) FROM t COMMIT");
        two.close();
        server.stop(one);
    });
}

/// ALLOW_SNAPSHOT_ISOLATION waits for transactions that have changed data, and shows that state; OFF waits for snapshots.
#[test]
fn the_option_passes_through_its_states() {
    const STATE: &str =
        "SELECT snapshot_isolation_state, snapshot_isolation_state_desc FROM sys.databases WHERE name = 'db'";
    on_a_machine(42, |os| {
        let server = Server::open(os);
        prepare(&server, &[]);
        let (mut one, mut two) = (server.session_in("db"), server.session_in("master"));
        assert_eq!(rows(&mut two, STATE), ["0|OFF"]);
        let alter = |on: &'static str| {
            let shared = server.shared();
            os.spawn("alter", move || {
                let mut session = connect(&shared, "master");
                quiet(&mut session, &format!("ALTER DATABASE db SET ALLOW_SNAPSHOT_ISOLATION {on}"));
                session.close();
            })
        };
        quiet(&mut one, "BEGIN TRAN UPDATE t SET v = 1");
        let altering = alter("ON");
        os.sleep(A_SECOND_NS, WaitType::WAITFOR).unwrap();
        assert_eq!(rows(&mut two, STATE), ["3|IN_TRANSITION_TO_ON"]);
        quiet(&mut two, "SET TRANSACTION ISOLATION LEVEL SNAPSHOT");
        assert_eq!(numbers(&run(&mut two, "SELECT * FROM db.dbo.t")), [3956]);
        quiet(&mut one, "COMMIT");
        altering.join().unwrap();
        assert_eq!(rows(&mut two, STATE), ["1|ON"]);
        quiet(&mut two, "BEGIN TRAN SELECT COUNT(*) FROM db.dbo.t");
        let altering = alter("OFF");
        os.sleep(A_SECOND_NS, WaitType::WAITFOR).unwrap();
        quiet(&mut one, "UPDATE t SET v = 2 SET TRANSACTION ISOLATION LEVEL SNAPSHOT");
        assert_eq!(numbers(&run(&mut one, "SELECT * FROM t")), [3954]);
        assert_eq!(rows(&mut two, "SELECT SUM(v) FROM db.dbo.t"), ["3"], "who has begun goes on");
        quiet(&mut two, "COMMIT");
        altering.join().unwrap();
        assert_eq!(rows(&mut two, STATE), ["0|OFF"]);
        one.close();
        server.stop(two);
    });
}

/// READ_COMMITTED_SNAPSHOT needs exclusive access; the setting survives a restart.
#[test]
fn committed_snapshot_is_changed_alone_and_kept() {
    const ON: &str = "SELECT is_read_committed_snapshot_on FROM sys.databases WHERE name = 'db'";
    on_a_machine(43, |os| {
        let server = Server::open(os);
        prepare(&server, &[]);
        let (mut one, mut two) = (server.session_in("master"), server.session_in("db"));
        let alter = "ALTER DATABASE db SET READ_COMMITTED_SNAPSHOT ON";
        assert_eq!(numbers(&run(&mut one, &format!("{alter} WITH NO_WAIT"))), [5070, 5069]);
        assert_eq!(rows(&mut one, ON), ["0"]);
        run(&mut two, "USE master");
        quiet(&mut one, &format!("{alter} WITH NO_WAIT"));
        assert_eq!(rows(&mut one, ON), ["1"]);
        run(&mut two, "USE db");
        quiet(&mut one, &format!("{alter} WITH NO_WAIT"));
        assert_eq!(numbers(&run(&mut one, "ALTER DATABASE tempdb SET ALLOW_SNAPSHOT_ISOLATION ON")), [5058]);
        two.close();
        server.stop(one);
        let server = Server::open(os);
        let (mut one, mut two) = (server.session_in("db"), server.session_in("db"));
        assert_eq!(rows(&mut one, ON), ["1"]);
        quiet(&mut one, "BEGIN TRAN UPDATE t SET v = 0");
        assert_eq!(rows(&mut two, "SET LOCK_TIMEOUT 0 SELECT SUM(v) FROM t"), ["60"]);
        one.close();
        server.stop(two);
    });
}

/// Large values and dropped pages stay as long as a snapshot may read them, and are freed afterwards.
#[test]
fn pages_of_large_values_wait_for_the_last_snapshot() {
    on_a_machine(44, |os| {
        let server = Server::open(os);
        prepare(&server, &["ALLOW_SNAPSHOT_ISOLATION"]);
        let (mut one, mut two) = (server.session_in("db"), server.session_in("db"));
        quiet(&mut one, "SET TRANSACTION ISOLATION LEVEL SNAPSHOT BEGIN TRAN SELECT COUNT(*) FROM t");
        for round in 0..3 {
            quiet(&mut two, &format!("UPDATE h SET w = REPLICATE(CAST('{round}' AS varchar(max)), 50000)"));
            quiet(&mut two, "UPDATE h SET w = 'short'");
        }
        assert_eq!(rows(&mut one, "SELECT LEN(w), RIGHT(w, 1) FROM h WHERE id = 1"), ["20000|x"]);
        quiet(&mut one, "COMMIT DBCC CHECKDB WITH NO_INFOMSGS");
        let database = Arc::clone(&server.instance.database("db").unwrap());
        let used = database.used_pages(1).unwrap();
        quiet(&mut two, "UPDATE h SET w = REPLICATE(CAST('k' AS varchar(max)), 50000)");
        quiet(&mut two, "UPDATE h SET w = 'short' DBCC CHECKDB WITH NO_INFOMSGS");
        assert_eq!(database.used_pages(1).unwrap(), used, "what was freed late is free");
        two.close();
        server.stop(one);
    });
}
