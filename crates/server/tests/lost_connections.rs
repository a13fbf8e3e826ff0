//! A connection that ends, or is reset for the next user of a pool, leaves no transaction and no lock, whatever its session was doing.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod common;

use common::client::{Client, error_numbers, final_status};
use common::world::{World, number};
use tds::client::Token;
use tds::packet::status;
use tds::token::done;

/// More rows than all buffers between two processes hold.
const STREAM: &str =
    "SELECT a.object_id, b.name, c.name FROM sys.all_columns a, sys.all_columns b, sys.all_columns c";
/// Locks of every kind that a session can have: of rows, of an object, of the application, for the transaction and for the session.
const TAKE: &str = "BEGIN TRAN; UPDATE t SET v = v + 1 WHERE i = 2; INSERT t VALUES (9, 9);
    ALTER TABLE altered ADD w int; CREATE TABLE #own (i int); CREATE TABLE ##shared (i int);
    EXEC sp_getapplock @Resource = 'of transaction', @LockMode = 'Exclusive', @LockOwner = 'Transaction';
    EXEC sp_getapplock @Resource = 'of session', @LockMode = 'Exclusive', @LockOwner = 'Session';
    EXEC sp_getapplock @Resource = 'of session', @LockMode = 'Exclusive', @LockOwner = 'Session'";
/// Needs all of them.
const NEED: &str = "SET LOCK_TIMEOUT 0; SET XACT_ABORT ON; DECLARE @r int, @s int;
    UPDATE t SET v = v + 0 WHERE i IN (2, 9); SELECT COUNT(*) FROM altered;
    BEGIN TRAN; EXEC @r = sp_getapplock 'of transaction', 'Exclusive', 'Transaction', 0;
    EXEC @s = sp_getapplock 'of session', 'Exclusive', 'Transaction', 0; COMMIT;
    IF @r < 0 OR @s < 0 THROW 50001, 'An application lock is held.', 1;
    CREATE TABLE ##shared (i int); DROP TABLE ##shared";
/// Tries, 10 ms apart: minutes, which only a lock that stays needs.
const TRIES_MAX: u32 = 3000;

fn prepare(client: &mut Client) {
    let tokens = client.batch(
        "CREATE TABLE t (i int NOT NULL PRIMARY KEY, v int NOT NULL); INSERT t VALUES (1, 0), (2, 0), (3, 0);
         CREATE TABLE altered (i int); CREATE DATABASE d",
    );
    assert!(error_numbers(&tokens).is_empty(), "{tokens:?}");
}

fn take(client: &mut Client) -> i64 {
    let tokens = client.batch(TAKE);
    assert!(error_numbers(&tokens).is_empty(), "{tokens:?}");
    assert_ne!(final_status(&tokens) & done::IN_TRANSACTION, 0);
    number(&client.batch("SELECT @@SPID"))
}

fn ask(client: &mut Client, text: &str) {
    let bytes = client.writer.batch(text, 0);
    client.send(&bytes);
}

/// Another session gets all locks, and finds no change of the first.
fn must_get(world: &World, other: &mut Client, what: &str) {
    let mut errors = Vec::new();
    for _ in 0..TRIES_MAX {
        errors = error_numbers(&other.batch(NEED));
        if errors.is_empty() {
            assert_eq!(number(&other.batch("SELECT SUM(v) FROM t")), 0, "{what}: undone");
            return;
        }
        world.pause(10);
    }
    let locks = other.batch(
        "SELECT CONCAT(request_session_id, ' ', resource_type, ' ', request_mode) FROM sys.dm_tran_locks",
    );
    panic!("{what}: {errors:?}, {locks:?}");
}

/// While the first still has all locks, the other gets none: the test can fail.
fn must_not_get(other: &mut Client) {
    assert_eq!(error_numbers(&other.batch(NEED)), [1222]);
}

#[test]
fn a_closed_connection_leaves_nothing() {
    let world = World::new("closed");
    let mut other = world.client();
    prepare(&mut other);
    for doing in
        ["nothing", "WAITFOR DELAY '01:00:00'", STREAM, "WHILE 1 = 1 UPDATE t SET v = v + 1 WHERE i = 3"]
    {
        let mut client = world.client();
        take(&mut client);
        must_not_get(&mut other);
        if doing != "nothing" {
            ask(&mut client, doing);
            world.pause(50);
        }
        drop(client);
        must_get(&world, &mut other, doing);
    }
}

/// A session that waits for a lock when its connection ends stops waiting, and releases its locks.
#[test]
fn a_connection_that_is_closed_while_it_waits_leaves_nothing() {
    let world = World::new("waiting");
    let (mut other, mut holder) = (world.client(), world.client());
    prepare(&mut other);
    let tokens = holder.batch(
        "BEGIN TRAN; UPDATE t SET v = v WHERE i = 1; EXEC sp_getapplock 'held', 'Exclusive', 'Transaction';
         USE d; USE master",
    );
    assert!(error_numbers(&tokens).is_empty(), "{tokens:?}");
    for waits_for in [
        "UPDATE t SET v = 7 WHERE i = 1",
        "SELECT v FROM t WITH (TABLOCKX)",
        "ALTER TABLE t ADD w int",
        "EXEC sp_getapplock 'held', 'Shared', 'Session', -1",
        "EXEC sp_getapplock 'held', 'Shared', 'Transaction', -1",
    ] {
        let mut client = world.client();
        let id = take(&mut client);
        ask(&mut client, waits_for);
        let waits = format!(
            "SELECT COUNT(*) FROM sys.dm_tran_locks WHERE request_session_id = {id} AND request_status <> 'GRANT'"
        );
        let is_waiting = (0..TRIES_MAX).any(|_| {
            world.pause(10);
            number(&other.batch(&waits)) > 0
        });
        assert!(is_waiting, "{waits_for}");
        drop(client);
        must_get(&world, &mut other, waits_for);
        assert_eq!(number(&other.batch(&waits)), 0, "{waits_for}");
    }
    assert!(error_numbers(&holder.batch("UPDATE t SET v = v WHERE i = 1; COMMIT")).is_empty());
}

/// The reset bit: the session continues as after its login.
#[test]
fn a_reset_leaves_nothing() {
    let world = World::new("reset");
    let (mut other, mut client) = (world.client(), world.client());
    prepare(&mut other);
    for text in ["SELECT 1", "USE d", "WAITFOR DELAY '00:00:00.010'"] {
        take(&mut client);
        must_not_get(&mut other);
        assert!(error_numbers(&client.batch("USE d")).is_empty());
        let bytes = client.writer.batch(text, status::RESET_CONNECTION);
        client.send(&bytes);
        let tokens = client.tokens();
        assert!(error_numbers(&tokens).is_empty(), "{tokens:?}");
        assert_eq!(final_status(&tokens) & done::IN_TRANSACTION, 0);
        // At once: it has answered.
        assert_eq!(error_numbers(&other.batch(NEED)), [0; 0], "{text}");
        assert_eq!(number(&other.batch("SELECT SUM(v) FROM t")), 0);
        assert_eq!(number(&client.batch("USE master; SELECT @@TRANCOUNT")), 0);
    }
    // It is in its database as before: a drop is not possible meanwhile.
    assert!(error_numbers(&client.batch("USE d")).is_empty());
    assert_eq!(error_numbers(&other.batch("DROP DATABASE d")), [3702]);
    let bytes = client.writer.batch("SELECT 1", status::RESET_CONNECTION);
    client.send(&bytes);
    assert!(client.tokens().iter().any(|token| matches!(token, Token::Row(_))));
    assert_eq!(error_numbers(&other.batch("DROP DATABASE d")), [0; 0]);
}

/// The other bit: the transaction continues with its locks; the session's own locks are released.
#[test]
fn a_reset_that_keeps_the_transaction_keeps_its_locks_only() {
    let world = World::new("kept");
    let (mut other, mut client) = (world.client(), world.client());
    prepare(&mut other);
    take(&mut client);
    let bytes = client.writer.batch("SELECT 1", status::RESET_CONNECTION_KEEP_TRANSACTION);
    client.send(&bytes);
    assert_ne!(final_status(&client.tokens()) & done::IN_TRANSACTION, 0);
    must_not_get(&mut other);
    let lock = |name: &str| {
        format!(
            "BEGIN TRAN; DECLARE @r int; EXEC @r = sp_getapplock '{name}', 'Exclusive', 'Transaction', 0; SELECT @r; COMMIT"
        )
    };
    assert_eq!(number(&other.batch(&lock("of transaction"))), -1);
    assert_eq!(number(&other.batch(&lock("of session"))), 0);
    assert!(error_numbers(&client.batch("ROLLBACK")).is_empty());
    must_get(&world, &mut other, "rolled back");
}
