//! Uncommitted definitions: no other session sees them or gets results from them, and no name is used twice. One session changes
//! a definition in a transaction, another uses the name: it waits, and then finds the committed change or the previous state.
#![allow(clippy::unwrap_used, reason = "a test")]

#[path = "definition_cases/mod.rs"]
mod definition_cases;

use crate::common::simulated::{Server, connect, kept, on_a_machine};
use crate::common::{Seen, numbers, run};
use definition_cases::*;
use hardpan_session::{Session, SessionShared};
use os::{Os, WaitType};

const A_SECOND_NS: u64 = 1_000_000_000;

/// The objects that exist before each case: some of every kind.
const SETUP: &[&str] = &[
    "CREATE TABLE t (i INT NOT NULL CONSTRAINT pk_t PRIMARY KEY, j INT NULL); INSERT t VALUES (1, 2)",
    "CREATE TABLE other (i INT NOT NULL)",
    "CREATE TABLE child (i INT NOT NULL CONSTRAINT fk_child REFERENCES t (i)); INSERT child VALUES (1)",
    "CREATE TABLE loose (i INT NOT NULL); INSERT loose VALUES (1)",
    "CREATE TABLE numbered (i INT IDENTITY, j INT); CREATE STATISTICS old ON numbered (j)",
    "CREATE INDEX ix_j ON t (j)",
    "CREATE VIEW v AS SELECT 1 AS one",
    "CREATE VIEW above_loose AS SELECT i FROM loose",
    "CREATE PROCEDURE p AS SELECT 1",
    "CREATE FUNCTION f () RETURNS TABLE AS RETURN (SELECT 1 AS one)",
    "CREATE SCHEMA s",
    "CREATE TABLE s.inside (i INT NOT NULL)",
    "CREATE SCHEMA hollow",
    "CREATE TABLE keyed (i INT NOT NULL PRIMARY KEY)",
    "CREATE TYPE own FROM INT; CREATE TYPE spare FROM INT",
    "CREATE SEQUENCE counted AS INT START WITH 1",
    "CREATE TABLE drawn (i INT NOT NULL CONSTRAINT df_drawn DEFAULT (NEXT VALUE FOR dbo.counted), j INT NULL)",
    "CREATE SEQUENCE alone AS INT START WITH 1",
    "EXEC sp_addextendedproperty 'here', 1, 'SCHEMA', 'dbo', 'TABLE', 'loose'",
];

/// Without "terminated", "could not create constraint" and the warning of sp_rename.
fn errors(seen: &Seen) -> Vec<i32> {
    numbers(seen).into_iter().filter(|number| ![1750, 3621, 15477].contains(number)).collect()
}

/// Errors if there are any, else the rows of the last result, else the count of rows.
fn told(seen: &Seen) -> String {
    let errors: Vec<String> = errors(seen).iter().map(i32::to_string).collect();
    if !errors.is_empty() {
        return errors.join(" ");
    }
    match (seen.sets.last(), seen.counts.last()) {
        (Some((_, rows)), _) if rows.is_empty() => "no rows".into(),
        (Some((_, rows)), _) => rows.iter().map(|row| row.join("|")).collect::<Vec<_>>().join(" "),
        (None, Some(Some(count))) => format!("{count} rows"),
        (None, _) => String::new(),
    }
}

fn make_everything(server: &Server, name: &str) {
    let mut maker = server.session_in("master");
    let log = format!("LOG ON (NAME = l, FILENAME = '{name}.ldf', SIZE = 512KB)");
    run(&mut maker, &format!("CREATE DATABASE {name} {log}"));
    run(&mut maker, &format!("USE {name}"));
    for text in SETUP {
        let seen = run(&mut maker, text);
        assert!(numbers(&seen).is_empty(), "{text}: {:?}", seen.messages);
    }
    maker.close();
}

/// Runs a text on a thread of its own; the returned function waits for the answer, or before that says whether it has come.
fn background(os: &Os, shared: SessionShared, database: &str, text: String) -> Background {
    let answer = kept(None);
    let (place, database) = (answer.clone(), database.to_string());
    let thread = os.spawn("second", move || {
        let mut session = connect(&shared, &database);
        let said = told(&run(&mut session, &text));
        assert!(!session.in_transaction(), "{text}");
        session.close();
        *place.lock() = Some(said);
    });
    Background { answer, thread }
}

struct Background {
    answer: std::sync::Arc<os::Latch<Option<String>>>,
    thread: os::JoinHandle,
}

impl Background {
    fn is_done(&self) -> bool {
        self.answer.lock().is_some()
    }

    fn answer(self) -> String {
        self.thread.join().unwrap();
        let answer = self.answer.lock().take();
        answer.unwrap()
    }
}

/// Every case with COMMIT and with ROLLBACK, each time in a database of its own; the second session's text may have been run before.
fn check(seed: u64, cases: &'static [Case], waits: bool) {
    on_a_machine(seed, move |os| {
        let server = Server::open(os);
        for (number, case) in cases.iter().enumerate() {
            for (end, expected) in [("COMMIT", case.committed), ("ROLLBACK", case.rolled_back)] {
                for is_known in [false, true] {
                    let database = format!("{end}{number}{is_known}");
                    make_everything(&server, &database);
                    let mut first = server.session_in(&database);
                    let reads = ["SELECT", "EXEC p", "IF EXISTS", "DECLARE"]
                        .iter()
                        .any(|w| case.second.starts_with(w));
                    if is_known && reads && !case.second.contains("INTO c") && !case.second.contains("CREATE")
                    {
                        // The program is in the cache, its plans are made.
                        run(&mut server.session_in(&database), case.second);
                    }
                    let seen = run(&mut first, &format!("BEGIN TRAN; {}", case.first));
                    assert!(errors(&seen).is_empty(), "{}: {:?}", case.first, seen.messages);
                    let second = background(os, server.shared(), &database, case.second.to_string());
                    os.sleep(A_SECOND_NS, WaitType::WAITFOR).unwrap();
                    let what = format!("{} / {} / {end} / {is_known}", case.first, case.second);
                    assert_eq!(!second.is_done(), waits, "{what}: waits");
                    run(&mut first, end);
                    assert_eq!(second.answer(), expected, "{what}");
                    assert_eq!(names_taken_twice(&mut first), "", "{what}");
                    first.close();
                    let mut master = server.session_in("master");
                    run(&mut master, &format!("DROP DATABASE {database}"));
                    let is_message = "SELECT * FROM sys.messages WHERE message_id = 60000";
                    run(&mut master, &format!("IF EXISTS ({is_message}) EXEC sp_dropmessage 60000"));
                }
            }
        }
        assert_eq!(server.instance.locks().snapshot(), [], "locks left behind");
        server.instance.shutdown();
    });
}

fn names_taken_twice(session: &mut Session) -> String {
    let text = "SELECT name FROM sys.objects GROUP BY schema_id, name HAVING COUNT(*) > 1";
    let seen = run(session, text);
    seen.sets[0].1.iter().map(|row| row.join("|")).collect()
}

#[test]
fn tables() {
    check(1, TABLES, true);
}

#[test]
fn columns() {
    check(2, COLUMNS, true);
}

/// The cases for sequences, whose values are drawn under their definition, and for defaults that draw from them.
#[test]
fn sequences() {
    check(22, SEQUENCES, true);
}

#[test]
fn indexes_and_constraints() {
    check(3, INDEXES_AND_CONSTRAINTS, true);
}

#[test]
fn views_procedures_and_functions() {
    check(4, MODULES, true);
}

#[test]
fn schemas() {
    check(5, SCHEMAS, true);
}

#[test]
fn renames() {
    check(20, RENAMES, true);
}

#[test]
fn alias_types() {
    check(21, TYPES, true);
}

#[test]
fn extended_properties() {
    check(22, PROPERTIES, true);
}

#[test]
fn messages_of_users() {
    check(23, MESSAGES, true);
}

#[test]
fn statistics() {
    check(24, STATISTICS, true);
}

#[test]
fn tables_of_dbcc() {
    check(25, DBCC, true);
}

#[test]
fn metadata() {
    check(6, METADATA, true);
}

#[test]
fn joined_metadata() {
    check(13, JOINED_METADATA, true);
    check(14, JOINED_UNCONCERNED, false);
}

#[test]
fn what_is_not_concerned_does_not_wait() {
    check(7, UNCONCERNED, false);
}

/// LOCK_TIMEOUT counts for names, too, wherever the SET stands; the batch goes on.
#[test]
fn a_wait_for_a_name_ends_with_lock_timeout() {
    on_a_machine(8, |os| {
        let server = Server::open(os);
        make_everything(&server, "db");
        let (mut first, mut second) = (server.session_in("db"), server.session_in("db"));
        run(
            &mut first,
            "BEGIN TRAN; CREATE TABLE c (i INT); DROP TABLE other; EXEC ('ALTER PROCEDURE p AS SELECT 2')",
        );
        for text in [
            "SELECT * FROM c",
            "CREATE TABLE c (i INT)",
            "INSERT other VALUES (1)",
            "EXEC p",
            "SELECT OBJECT_ID('c')",
        ] {
            for timeout in ["0", "20"] {
                let seen =
                    run(&mut second, &format!("SET LOCK_TIMEOUT {timeout}; {text}; SELECT 'goes on' AS x"));
                let numbers: Vec<i32> = numbers(&seen).into_iter().filter(|n| *n != 3621).collect();
                assert_eq!(numbers, [1222], "{text}");
                assert_eq!(seen.sets.last().unwrap().1, [["goes on"]], "{text}");
                let caught = format!("BEGIN TRY {text} END TRY BEGIN CATCH SELECT ERROR_NUMBER() END CATCH");
                assert_eq!(told(&run(&mut second, &caught)), "1222", "{text}");
            }
        }
        run(&mut first, "ROLLBACK");
        assert_eq!(told(&run(&mut second, "SELECT COUNT(*) FROM other")), "0");
        first.close();
        second.close();
        assert_eq!(server.instance.locks().snapshot(), [], "locks left behind");
        server.instance.shutdown();
    });
}

/// Two sessions that wait for each other's names: one is the victim, the other goes on.
#[test]
fn waits_for_names_that_close_a_circle_are_deadlocks() {
    for (seed, one, two) in [
        (9, "SELECT COUNT(*) FROM y", "SELECT COUNT(*) FROM x"),
        (10, "CREATE TABLE y (i INT)", "CREATE TABLE x (i INT)"),
        (11, "SELECT OBJECT_ID('y')", "INSERT x VALUES (1)"),
    ] {
        on_a_machine(seed, move |os| {
            let server = Server::open(os);
            make_everything(&server, "db");
            let mut first = server.session_in("db");
            run(&mut first, "BEGIN TRAN; CREATE TABLE x (i INT)");
            let text =
                format!("SET DEADLOCK_PRIORITY LOW; BEGIN TRAN; CREATE TABLE y (i INT); {two}; COMMIT");
            let second = background(os, server.shared(), "db", text);
            os.sleep(A_SECOND_NS, WaitType::WAITFOR).unwrap();
            assert!(!second.is_done());
            let seen = run(&mut first, one);
            let expected: &[i32] = if one.starts_with("SELECT COUNT") { &[208] } else { &[] };
            assert_eq!(numbers(&seen), expected, "{one}: the other's y was taken back");
            run(&mut first, "COMMIT");
            assert_eq!(second.answer(), "1205");
            first.close();
            server.instance.shutdown();
        });
    }
}

/// A definition that a savepoint or a failed statement undoes is settled at once.
#[test]
fn what_is_taken_back_in_a_transaction_is_settled() {
    on_a_machine(12, |os| {
        let server = Server::open(os);
        make_everything(&server, "db");
        let (mut first, mut second) = (server.session_in("db"), server.session_in("db"));
        run(
            &mut first,
            "BEGIN TRAN; SAVE TRAN here; CREATE TABLE c (i INT); CREATE TABLE c2 (i INT); ROLLBACK TRAN here",
        );
        let seen = run(&mut first, "CREATE TABLE d (i INT, CONSTRAINT pk_t PRIMARY KEY (i))");
        assert_eq!(errors(&seen), [2714]);
        assert_eq!(numbers(&run(&mut second, "SET LOCK_TIMEOUT 0; SELECT * FROM c")), [208]);
        assert_eq!(numbers(&run(&mut second, "SELECT * FROM d")), [208]);
        assert!(numbers(&run(&mut second, "CREATE TABLE c (i INT); CREATE TABLE d (i INT)")).is_empty());
        assert_eq!(numbers(&run(&mut first, "CREATE TABLE c (i INT)")), [2714]);
        run(&mut first, "CREATE TABLE c2 (i INT); DROP TABLE c2; CREATE TABLE c2 (j INT); COMMIT");
        assert_eq!(told(&run(&mut second, "SELECT COUNT(j) FROM c2")), "0");
        first.close();
        second.close();
        server.instance.shutdown();
    });
}
