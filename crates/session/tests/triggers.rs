//! Triggers and sessions: what clients are told, plans of other sessions, definitions that are rolled back, KILL, spilled rows, a restart.
//! Results are in `scripts/triggers.test` and `scripts/instead_of_triggers.test`.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test waits for a real thread")]

use hardpan_session::{EnvironmentChange, RequestEnd};

use crate::common::{Seen, World, numbers, rows, run};

const COUNT: &str = "SELECT COUNT(*) FROM l";

fn tables(session: &mut hardpan_session::Session) {
    run(session, "CREATE TABLE t (i int NOT NULL, s varchar(100) NULL) CREATE TABLE l (i int)");
}

#[test]
fn the_client_is_told_of_the_statement_and_of_what_its_triggers_send() {
    let (_world, mut session) = World::in_database("triggers-told");
    tables(&mut session);
    run(
        &mut session,
        "CREATE TRIGGER tr ON t AFTER INSERT AS PRINT 'printed' INSERT l SELECT i FROM inserted SELECT i FROM inserted RAISERROR('raised', 16, 1)",
    );
    let seen = run(&mut session, "INSERT t (i) VALUES (1), (2)");
    assert_eq!(numbers(&seen), [0, 50000]);
    assert_eq!(seen.sets.len(), 1);
    // The trigger's INSERT and SELECT, then the statement itself.
    assert_eq!(seen.counts.iter().flatten().collect::<Vec<_>>(), [&2, &2, &2]);
    assert_eq!(seen.environment, []);
    // The session's own NOCOUNT holds in the trigger, and the trigger's ends with it.
    run(&mut session, "ALTER TRIGGER tr ON t AFTER INSERT AS SET NOCOUNT ON INSERT l SELECT i FROM inserted");
    let seen = run(&mut session, "INSERT t (i) VALUES (3)");
    assert_eq!(seen.counts, [Some(1)]);
    assert_eq!(rows(&mut session, "SELECT @@OPTIONS & 512"), ["0"]);
    assert_eq!(rows(&mut session, "SELECT @@OPTIONS & 16384"), ["0"]);
}

#[test]
fn only_transactions_that_clients_know_are_told() {
    let (_world, mut session) = World::in_database("triggers-environment");
    tables(&mut session);
    run(&mut session, "CREATE TRIGGER tr ON t AFTER INSERT AS ROLLBACK");
    let seen = run(&mut session, "INSERT t (i) VALUES (1)");
    assert_eq!((numbers(&seen), seen.environment), (vec![3609], vec![]));
    let seen = run(&mut session, "BEGIN TRAN INSERT t (i) VALUES (1)");
    assert_eq!(numbers(&seen), [3609]);
    let [EnvironmentChange::BeginTransaction(begun), EnvironmentChange::RollbackTransaction(ended)] =
        seen.environment.as_slice()
    else {
        panic!("{:?}", seen.environment);
    };
    assert_eq!(begun, ended);
    // One that a trigger leaves open is the client's.
    run(&mut session, "ALTER TRIGGER tr ON t AFTER INSERT AS BEGIN TRAN");
    let seen = run(&mut session, "INSERT t (i) VALUES (1) COMMIT");
    assert_eq!((numbers(&seen), seen.environment.len()), (vec![], 2), "{:?}", seen.environment);
    assert_eq!(rows(&mut session, "SELECT @@TRANCOUNT, COUNT(*) FROM t"), ["0|1"]);
    // The next transaction is told of again.
    let seen = run(&mut session, "BEGIN TRAN COMMIT");
    assert_eq!(seen.environment.len(), 2);
}

#[test]
fn plans_of_other_sessions_follow_the_triggers() {
    let (world, mut session) = World::in_database("triggers-plans");
    tables(&mut session);
    let mut other = world.session();
    run(&mut other, "USE d");
    let insert = "INSERT t (i) VALUES (1)";
    let change = |session: &mut hardpan_session::Session, text: &str| {
        assert_eq!(run(session, text).messages, [], "{text}");
    };
    change(&mut other, insert);
    for (definition, expected) in [
        ("CREATE TRIGGER tr ON t AFTER INSERT AS INSERT l SELECT i FROM inserted", "1"),
        ("DISABLE TRIGGER tr ON t", "0"),
        ("ENABLE TRIGGER tr ON t", "1"),
        ("ALTER TRIGGER tr ON t AFTER DELETE AS INSERT l SELECT i FROM deleted", "0"),
        ("ALTER TRIGGER tr ON t AFTER INSERT AS INSERT l SELECT i FROM inserted UNION ALL SELECT 0", "2"),
        ("ALTER TABLE t ADD j int", "2"),
        ("DROP TRIGGER tr", "0"),
        ("BEGIN TRAN EXEC ('CREATE TRIGGER tr ON t AFTER INSERT AS INSERT l SELECT 9') ROLLBACK", "0"),
        ("BEGIN TRAN EXEC ('CREATE TRIGGER tr ON t AFTER INSERT AS INSERT l SELECT 9') COMMIT", "1"),
        ("BEGIN TRAN DROP TRIGGER tr ROLLBACK", "1"),
        ("BEGIN TRAN; DISABLE TRIGGER ALL ON t ROLLBACK", "1"),
        ("DROP TABLE t CREATE TABLE t (i int)", "0"),
        ("CREATE TRIGGER tr ON t AFTER INSERT AS INSERT l SELECT 9", "1"),
    ] {
        change(&mut session, definition);
        change(&mut session, "DELETE l");
        change(&mut other, insert);
        assert_eq!(rows(&mut other, COUNT), [expected], "{definition}");
    }
    // The session itself sees its own definition before it commits; the other one waits for it.
    change(&mut session, "BEGIN TRAN DROP TRIGGER tr DELETE l INSERT t VALUES (1)");
    assert_eq!(numbers(&run(&mut other, "SET LOCK_TIMEOUT 0 INSERT t VALUES (1)"))[0], 1222);
    assert_eq!(rows(&mut session, COUNT), ["0"]);
    change(&mut session, "ROLLBACK DELETE l INSERT t VALUES (1)");
    assert_eq!(rows(&mut session, COUNT), ["1"]);
}

#[test]
fn a_restart_finds_the_triggers() {
    let (mut world, mut session) = World::in_database("triggers-restart");
    tables(&mut session);
    for text in [
        "CREATE TRIGGER a ON t AFTER INSERT, DELETE AS INSERT l VALUES (1)",
        "CREATE TRIGGER b ON t AFTER INSERT AS INSERT l VALUES (2)",
        "CREATE TRIGGER c ON t INSTEAD OF UPDATE NOT FOR REPLICATION AS INSERT l VALUES (3)",
        "EXEC sp_settriggerorder 'b', 'First', 'INSERT' EXEC sp_settriggerorder 'a', 'Last', 'INSERT' DISABLE TRIGGER c ON t",
    ] {
        assert_eq!(run(&mut session, text).messages, [], "{text}");
    }
    let shown = "SELECT t.name, OBJECT_NAME(parent_id), is_disabled, is_not_for_replication, is_instead_of_trigger, e.type_desc, is_first, is_last
                 FROM sys.triggers t JOIN sys.trigger_events e ON e.object_id = t.object_id ORDER BY t.name, e.type";
    let expected =
        ["a|t|0|0|0|INSERT|0|1", "a|t|0|0|0|DELETE|0|0", "b|t|0|0|0|INSERT|1|0", "c|t|1|1|1|UPDATE|0|0"];
    assert_eq!(rows(&mut session, shown), expected);
    session.close();
    world.restart();
    let mut session = world.session();
    run(&mut session, "USE d");
    assert_eq!(rows(&mut session, shown), expected);
    run(&mut session, "INSERT t (i) VALUES (1) UPDATE t SET i = 5 ENABLE TRIGGER c ON t UPDATE t SET i = 6");
    assert_eq!(rows(&mut session, "SELECT i FROM l"), ["2", "1", "3"]);
    assert_eq!(rows(&mut session, "SELECT i FROM t"), ["5"]);
}

#[test]
fn a_new_database_has_the_triggers_of_model() {
    let (_world, mut session) = World::in_database("triggers-model");
    run(&mut session, "USE model CREATE TABLE t (i int)");
    run(&mut session, "CREATE TRIGGER tr ON t AFTER INSERT AS INSERT t SELECT i + 1 FROM inserted");
    run(&mut session, "USE master CREATE DATABASE e");
    run(&mut session, "USE e INSERT t VALUES (1) USE master DROP DATABASE e");
    run(&mut session, "CREATE DATABASE e");
    run(&mut session, "USE e");
    assert_eq!(run(&mut session, "INSERT t VALUES (1)").messages, []);
    assert_eq!(rows(&mut session, "SELECT i, OBJECT_NAME(parent_id) FROM t, sys.triggers"), ["1|t", "2|t"]);
}

#[test]
fn kill_in_a_trigger_rolls_all_of_it_back() {
    let (world, mut session) = World::in_database("triggers-kill");
    tables(&mut session);
    run(&mut session, "CREATE TRIGGER tr ON t AFTER INSERT AS INSERT l VALUES (1) WAITFOR DELAY '00:05:00'");
    for text in ["INSERT t (i) VALUES (1)", "BEGIN TRAN INSERT l VALUES (7) INSERT t (i) VALUES (1)"] {
        let mut victim = world.session();
        run(&mut victim, "USE d");
        let id = victim.id();
        std::thread::scope(|scope| {
            let ended = scope.spawn(move || {
                let end = victim.execute_batch(text, &mut Seen::default());
                victim.close();
                end
            });
            let waiting = format!(
                "SELECT COUNT(*) FROM sys.dm_exec_requests WHERE session_id = {id} AND wait_type = 'WAITFOR'"
            );
            while rows(&mut session, &waiting) == ["0"] {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            run(&mut session, &format!("KILL {id}"));
            assert_ne!(ended.join().unwrap(), RequestEnd::Finished);
        });
        assert_eq!(rows(&mut session, "SELECT (SELECT COUNT(*) FROM t), (SELECT COUNT(*) FROM l)"), ["0|0"]);
    }
}

/// The rows of a trigger are as many as its statement changes: they go to disk like those of operators.
#[test]
fn rows_on_disk_are_those_in_memory() {
    let (world, mut session) = World::in_database("triggers-spill");
    tables(&mut session);
    run(
        &mut session,
        "CREATE TRIGGER tr ON t AFTER INSERT, UPDATE, DELETE AS
         INSERT l SELECT COUNT(*) FROM inserted INSERT l SELECT COUNT(*) FROM deleted
         INSERT l SELECT COUNT(*) FROM inserted a JOIN inserted b ON a.i = b.i AND a.s = b.s
         INSERT l SELECT COUNT(*) FROM inserted a WHERE EXISTS (SELECT * FROM deleted b WHERE b.i = a.i AND b.s <> a.s)",
    );
    let statements = "INSERT t SELECT value, CONCAT('number ', value) FROM GENERATE_SERIES(1, 5001) UPDATE t SET s = 'x' DELETE t WHERE i > 2";
    let expected = ["5001", "0", "5001", "0", "5001", "5001", "5001", "5001", "0", "4999", "0", "0"];
    for rows_max in [usize::MAX, 100] {
        world.instance.workspaces().keep_no_more_than(rows_max);
        run(&mut session, "TRUNCATE TABLE t TRUNCATE TABLE l");
        assert_eq!(run(&mut session, statements).messages, []);
        assert_eq!(rows(&mut session, "SELECT i FROM l"), expected, "{rows_max}");
    }
    world.instance.workspaces().keep_no_more_than(usize::MAX);
}

#[test]
fn a_restart_finds_the_triggers_of_the_database() {
    let (mut world, mut session) = World::in_database("ddl-triggers-restart");
    run(&mut session, "CREATE TABLE l (i int)");
    for (name, event) in [("a", "CREATE_TABLE"), ("b", "DDL_EVENTS")] {
        run(
            &mut session,
            &format!("CREATE TRIGGER {name} ON DATABASE FOR {event} AS INSERT dbo.l VALUES (1)"),
        );
    }
    // The second trigger has seen nothing before; now both do, and a rollback undoes what they did.
    run(&mut session, "CREATE TABLE t (i int) DISABLE TRIGGER a ON DATABASE");
    run(&mut session, "BEGIN TRAN CREATE TABLE u (i int) DROP TRIGGER b ON DATABASE ROLLBACK");
    assert_eq!(rows(&mut session, "SELECT COUNT(*) FROM l"), ["2"]);
    session.close();
    world.restart();
    let mut session = world.session();
    run(&mut session, "USE d CREATE TABLE v (i int)");
    assert_eq!(rows(&mut session, "SELECT COUNT(*) FROM l"), ["3"]);
    let shown = "SELECT name, is_disabled FROM sys.triggers WHERE parent_class = 0 ORDER BY name";
    assert_eq!(rows(&mut session, shown), ["a|1", "b|0"]);
}

#[test]
fn a_statement_waits_for_triggers_of_the_database_that_another_session_changes() {
    let (world, mut session) = World::in_database("ddl-triggers-waits");
    run(&mut session, "CREATE TABLE l (i int)");
    run(&mut session, "CREATE TRIGGER a ON DATABASE FOR CREATE_TABLE AS INSERT dbo.l VALUES (1)");
    let mut other = world.session();
    run(&mut other, "USE d SET LOCK_TIMEOUT 0");
    let state = "SELECT @@TRANCOUNT, ISNULL(OBJECT_ID('t'), 0), (SELECT COUNT(*) FROM l)";
    let changes = [
        "DROP TRIGGER a ON DATABASE",
        "DISABLE TRIGGER a ON DATABASE",
        "DROP TRIGGER a ON DATABASE; EXEC ('CREATE TRIGGER b ON DATABASE FOR DROP_TABLE AS RETURN')",
        "EXEC ('CREATE TRIGGER b ON DATABASE FOR CREATE_TABLE AS ROLLBACK')",
    ];
    for change in changes {
        run(&mut session, &format!("BEGIN TRAN; {change}"));
        assert_eq!(numbers(&run(&mut other, "CREATE TABLE t (i int)")), [1222], "{change}");
        assert_eq!(rows(&mut other, state), ["0|0|0"], "{change}");
        run(&mut session, "ROLLBACK");
    }
    run(&mut other, "CREATE TABLE t (i int)");
    assert_eq!(rows(&mut other, "SELECT COUNT(*) FROM l"), ["1"]);
    // Other names that are being defined are not waited for, and the session's own changes count at once.
    run(&mut session, "BEGIN TRAN CREATE TABLE u (i int) CREATE TYPE y FROM int");
    assert_eq!(run(&mut other, "CREATE TABLE v (i int)").messages, []);
    run(&mut session, "DROP TRIGGER a ON DATABASE CREATE TABLE w (i int) COMMIT");
    run(&mut other, "CREATE TABLE x (i int)");
    assert_eq!(rows(&mut other, "SELECT COUNT(*) FROM l"), ["3"]);
}
