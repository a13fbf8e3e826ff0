//! DATABASE locks: the locks that sessions hold on the databases they use, which requests these block, and that no lock is left behind.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test prepares its folders itself")]

use std::sync::Arc;

use crate::common::simulated::{Server, connect, kept, on_a_machine};
use crate::common::{Seen, numbers, rows, run};
use engine::TransactionSet;
use hardpan_session::{RequestEnd, Session};
use os::{Os, WaitType};

const A_SECOND_NS: u64 = 1_000_000_000;

/// No messages.
const NONE: [i32; 0] = [];

/// Every lock on a database: database, mode, granted or not, session.
const LOCKS: &str = "SELECT DB_NAME(resource_database_id), request_mode, request_status, request_session_id, request_owner_type \
                     FROM sys.dm_tran_locks WHERE resource_type = 'DATABASE' ORDER BY 1, 4, 2";

/// A server with the databases A (a table, a procedure that shows the locks) and B, and a session in master, which holds no lock.
fn with_databases(os: &Os) -> (Server, Session) {
    let server = Server::open(os);
    let mut observer = server.session_in("master");
    run(&mut observer, "CREATE DATABASE A; CREATE DATABASE B");
    run(&mut observer, "USE A; CREATE TABLE T (a int NOT NULL)");
    run(&mut observer, &format!("CREATE PROCEDURE show_locks AS {LOCKS}"));
    run(&mut observer, "USE master");
    (server, observer)
}

/// The end of each test: all locks have been released.
fn stop(server: Server, last: Session) {
    last.close();
    assert_eq!(server.instance.locks().snapshot(), [], "locks left behind");
    server.instance.shutdown();
}

/// Starts a thread; the returned function waits for its result.
fn started<T: Send + 'static>(
    os: &Os,
    name: &str,
    body: impl FnOnce() -> T + Send + 'static,
) -> impl FnOnce() -> T {
    let result = kept(None);
    let place = Arc::clone(&result);
    let thread = os.spawn(name, move || {
        let value = body();
        *place.lock() = Some(value);
    });
    move || {
        thread.join().unwrap();
        result.lock().take().unwrap()
    }
}

fn shared(database: &str, session: i16) -> String {
    format!("{database}|S|GRANT|{session}|SHARED_TRANSACTION_WORKSPACE")
}

#[test]
fn a_session_holds_the_database_it_is_in() {
    on_a_machine(1, |os| {
        let (server, mut observer) = with_databases(os);
        assert!(rows(&mut observer, LOCKS).is_empty(), "none of master");
        let mut session = server.session_in("A");
        let in_a = [shared("A", 52)];
        assert_eq!(rows(&mut observer, LOCKS), in_a);
        let whole = "SELECT resource_type, resource_description, resource_associated_entity_id, request_type FROM sys.dm_tran_locks";
        assert_eq!(rows(&mut observer, whole), ["DATABASE||0|LOCK"]);
        for text in
            ["BEGIN TRAN; INSERT T VALUES (1); COMMIT", "BEGIN TRAN; INSERT T VALUES (2); ROLLBACK", "USE A"]
        {
            run(&mut session, text);
            assert_eq!(rows(&mut observer, LOCKS), in_a, "{text}");
        }
        run(&mut session, "BEGIN TRAN; INSERT T VALUES (3); USE B");
        assert_eq!(
            rows(&mut observer, LOCKS),
            [shared("A", 52), shared("B", 52)],
            "its transaction is still in A"
        );
        run(&mut session, "COMMIT");
        assert_eq!(rows(&mut observer, LOCKS), [shared("B", 52)]);
        assert_eq!(numbers(&run(&mut session, "USE missing")), [911]);
        assert_eq!(rows(&mut observer, LOCKS), [shared("B", 52)], "it stays where it is");
        session.reset(false, &mut Seen::default());
        assert_eq!(rows(&mut observer, LOCKS), in_a, "back where it logged in");
        run(&mut session, "USE model");
        assert_eq!(rows(&mut observer, LOCKS), [shared("model", 52)]);
        run(&mut session, "USE tempdb");
        assert!(rows(&mut observer, LOCKS).is_empty(), "none of tempdb");
        run(&mut session, "USE A");
        session.close();
        assert!(rows(&mut observer, LOCKS).is_empty(), "a closed session holds nothing");
        // Not closed, only dropped.
        drop(server.session_in("A"));
        assert!(rows(&mut observer, LOCKS).is_empty());
        stop(server, observer);
    });
}

/// Procedures of other databases and dynamic text that switches the database: locks are held as long as they run, however they end.
#[test]
fn a_call_holds_its_own_database_and_its_callers() {
    on_a_machine(2, |os| {
        let (server, mut observer) = with_databases(os);
        let mut session = server.session_in("B");
        let both = [shared("A", 52), shared("B", 52)];
        assert_eq!(rows(&mut session, "EXEC A.dbo.show_locks"), both);
        assert_eq!(rows(&mut observer, LOCKS), [shared("B", 52)]);
        let nested = LOCKS.replace('\'', "''");
        let dynamic = run(&mut session, &format!("EXEC ('USE A; {nested}'); SELECT DB_NAME()"));
        let shown: Vec<String> = dynamic.sets[0].1.iter().map(|row| row.join("|")).collect();
        assert_eq!((shown, dynamic.sets[1].1[0][0].as_str()), (both.to_vec(), "B"));
        assert_eq!(rows(&mut observer, LOCKS), [shared("B", 52)]);
        run(&mut session, "EXEC ('USE A; USE master; USE A; RAISERROR (''no'', 16, 1)')");
        run(&mut session, "BEGIN TRY EXEC ('USE A; THROW 50001, ''no'', 1') END TRY BEGIN CATCH END CATCH");
        assert_eq!(rows(&mut observer, LOCKS), [shared("B", 52)]);
        assert_eq!(numbers(&run(&mut observer, "DROP DATABASE A")), NONE);
        assert_eq!(numbers(&run(&mut session, "EXEC A.dbo.show_locks")), [911]);
        session.close();
        stop(server, observer);
    });
}

#[test]
fn a_database_in_use_is_not_dropped() {
    on_a_machine(3, |os| {
        let (server, mut observer) = with_databases(os);
        let mut other = server.session_in("A");
        let refused = run(&mut observer, "DROP DATABASE A");
        let in_use = "Cannot drop database \"A\" because it is currently in use.".to_string();
        assert_eq!(refused.messages, [(3702, 1, in_use)]);
        assert_eq!(numbers(&run(&mut other, "DROP DATABASE A")), [3702], "its own");
        // From a procedure of another database: its caller's.
        run(&mut observer, "USE B; EXEC ('CREATE PROCEDURE drop_a AS DROP DATABASE A'); USE master");
        assert_eq!(numbers(&run(&mut other, "EXEC B.dbo.drop_a")), [3702]);
        assert_eq!(rows(&mut observer, LOCKS), [shared("A", 52)], "a refused DROP leaves nothing behind");
        run(&mut other, "BEGIN TRAN; INSERT T VALUES (1); USE B");
        assert_eq!(numbers(&run(&mut observer, "DROP DATABASE A")), [3702], "an open transaction is in it");
        run(&mut other, "ROLLBACK");
        // A transaction of a session that has never used that database.
        run(&mut other, "BEGIN TRAN; INSERT A.dbo.T VALUES (1)");
        assert_eq!(numbers(&run(&mut observer, "DROP DATABASE A")), [3702]);
        run(&mut other, "COMMIT");
        assert_eq!(rows(&mut observer, "SELECT COUNT(*) FROM A.dbo.T"), ["1"]);
        assert_eq!(numbers(&run(&mut observer, "DROP DATABASE A")), NONE);
        assert_eq!(numbers(&run(&mut other, "USE A")), [911]);
        assert_eq!(numbers(&run(&mut observer, "DROP DATABASE B")), [3702]);
        other.close();
        assert_eq!(numbers(&run(&mut observer, "DROP DATABASE B")), NONE);
        // The next session takes the free number; no lock blocks it.
        run(&mut observer, "CREATE DATABASE C; USE C");
        assert_eq!(rows(&mut observer, LOCKS), [shared("C", 51)]);
        for name in ["master", "tempdb"] {
            let refused = run(&mut observer, &format!("DROP DATABASE {name}"));
            let why = format!("Cannot drop the database '{name}': it is a system database.");
            assert_eq!(refused.messages, [(3708, 1, why)]);
        }
        stop(server, observer);
    });
}

#[test]
fn a_database_is_renamed_only_by_whoever_is_alone_in_it() {
    on_a_machine(4, |os| {
        let (server, mut observer) = with_databases(os);
        let mut other = server.session_in("A");
        run(&mut observer, "USE A");
        assert_eq!(numbers(&run(&mut observer, "ALTER DATABASE A MODIFY NAME = Z")), [5030]);
        run(&mut other, "USE B");
        assert_eq!(numbers(&run(&mut observer, "ALTER DATABASE A MODIFY NAME = Z")), NONE);
        assert_eq!(rows(&mut other, LOCKS), [shared("B", 52), shared("Z", 51)], "the renamer is still in it");
        assert_eq!(numbers(&run(&mut other, "USE A")), [911]);
        assert_eq!(numbers(&run(&mut other, "USE Z")), [5701]);
        other.close();
        stop(server, observer);
    });
}

/// A session that enters while a statement has exclusive access waits as LOCK_TIMEOUT says, and can be interrupted.
#[test]
fn entering_waits_for_whoever_is_alone_in_a_database() {
    on_a_machine(5, |os| {
        let (server, mut observer) = with_databases(os);
        let mut dropper = TransactionSet::new(&server.instance, 99);
        let alone = dropper.lock_database_exclusively("A").unwrap().expect("nobody is in it");
        let mut session = server.session_in("B");
        for timeout in ["0", "20"] {
            let seen = run(&mut session, &format!("SET LOCK_TIMEOUT {timeout}; USE A; SELECT DB_NAME()"));
            assert_eq!(numbers(&seen), [1222]);
            assert_eq!(numbers(&run(&mut session, "SELECT * FROM A.dbo.T")), [1222]);
        }
        assert_eq!(rows(&mut session, "SELECT DB_NAME()"), ["B"]);
        session.close();
        // KILL ends the wait; the session stays in its database.
        let shared_parts = server.shared();
        let waiter = started(os, "waiter", move || {
            let mut session = connect(&shared_parts, "B");
            let end = session.execute_batch("USE A", &mut Seen::default());
            (end, session.database_name())
        });
        os.sleep(A_SECOND_NS, WaitType::WAITFOR).unwrap();
        let waiting = [
            "A|X|GRANT|99|EXCLUSIVE_TRANSACTION_WORKSPACE".to_string(),
            "A|S|WAIT|52|SHARED_TRANSACTION_WORKSPACE".to_string(),
            shared("B", 52),
        ];
        let mut found = rows(&mut observer, LOCKS);
        found[..2].sort_by_key(|row| !row.contains("|X|"));
        assert_eq!(found, waiting);
        run(&mut observer, "KILL 52");
        assert_eq!(waiter(), (RequestEnd::Attention, "B".to_string()));
        // Without a limit it continues once the database is free; so does a login.
        let (first, second) = (server.shared(), server.shared());
        let user = started(os, "user", move || {
            let mut session = connect(&first, "B");
            let seen = numbers(&run(&mut session, "USE A; INSERT T VALUES (1)"));
            session.close();
            seen
        });
        let login = started(os, "login", move || {
            let session = connect(&second, "A");
            let name = session.database_name();
            session.close();
            name
        });
        os.sleep(A_SECOND_NS, WaitType::WAITFOR).unwrap();
        assert_eq!(rows(&mut observer, LOCKS).iter().filter(|row| row.contains("WAIT")).count(), 2);
        drop(alone);
        assert_eq!((user(), login().as_str()), (vec![5701], "A"));
        stop(server, observer);
    });
}

/// A database that is dropped while a session waits for it: afterwards no database has that name, or another one does.
#[test]
fn whoever_waited_for_a_dropped_database_looks_for_its_name_again() {
    for comes_again in [false, true] {
        on_a_machine(6, move |os| {
            let (server, mut observer) = with_databases(os);
            let mut dropper = TransactionSet::new(&server.instance, 99);
            let alone = dropper.lock_database_exclusively("A").unwrap().expect("nobody is in it");
            let shared_parts = server.shared();
            let waiter = started(os, "waiter", move || {
                let mut session = connect(&shared_parts, "B");
                let seen = numbers(&run(&mut session, "USE A"));
                let tables = rows(&mut session, "SELECT COUNT(*) FROM sys.tables WHERE name = 'T'");
                session.close();
                (seen, tables)
            });
            os.sleep(A_SECOND_NS, WaitType::WAITFOR).unwrap();
            server.instance.drop_database("A").unwrap();
            if comes_again {
                run(&mut observer, "CREATE DATABASE A");
            }
            drop(alone);
            let number = if comes_again { 5701 } else { 911 };
            assert_eq!(waiter(), (vec![number], vec!["0".to_string()]));
            stop(server, observer);
        });
    }
}

/// Concurrent USE and DROP, in the order that the seed decides: exactly one of them gets the database.
#[test]
fn use_and_drop_exclude_each_other() {
    let outcomes = kept((0, 0));
    for seed in 0..60 {
        let outcomes = Arc::clone(&outcomes);
        on_a_machine(seed, move |os| {
            let (server, observer) = with_databases(os);
            let (first, second) = (server.shared(), server.shared());
            let user = started(os, "user", move || {
                let mut session = connect(&first, "B");
                let seen = numbers(&run(&mut session, "USE A"));
                let inside = session.database_name();
                if inside == "A" {
                    assert!(numbers(&run(&mut session, "INSERT T VALUES (1)")).is_empty());
                }
                (seen, inside, session)
            });
            let dropper = started(os, "dropper", move || {
                let mut session = connect(&second, "master");
                let seen = numbers(&run(&mut session, "DROP DATABASE A"));
                session.close();
                seen
            });
            let (dropped, (used, inside, session)) = (dropper(), user());
            if inside == "A" {
                assert_eq!((dropped, used), (vec![3702], vec![5701]));
                outcomes.lock().0 += 1;
            } else {
                assert_eq!((dropped, used), (vec![], vec![911]));
                outcomes.lock().1 += 1;
            }
            session.close();
            stop(server, observer);
        });
    }
    let (used, dropped) = *outcomes.lock();
    assert!(
        used > 0 && dropped > 0,
        "both orders were seen: USE first {used} times, DROP first {dropped} times"
    );
}
