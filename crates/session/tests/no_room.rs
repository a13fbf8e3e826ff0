//! The effect of a data file without space (1105) on a batch, its transaction and other sessions.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test prepares its folders itself")]

use crate::common::{World, numbers, rows, run};
use hardpan_session::Session;

/// A database whose data file cannot grow, with the table `pile` in it that is nearly full.
fn full_database(world: &World) -> Session {
    let mut s = world.session();
    run(
        &mut s,
        "CREATE DATABASE small ON (NAME = small, FILENAME = 'C:\\small.mdf', SIZE = 1MB, FILEGROWTH = 0)",
    );
    run(&mut s, "USE small");
    run(&mut s, "CREATE TABLE accounts (id int NOT NULL PRIMARY KEY, balance int NOT NULL)");
    run(&mut s, "INSERT accounts VALUES (1, 100), (2, 100)");
    run(&mut s, "CREATE TABLE pile (payload varchar(8000) NOT NULL)");
    let seen = run(&mut s, "WHILE @@ERROR = 0 INSERT pile VALUES (REPLICATE('p', 7000))");
    assert_eq!(numbers(&seen), [1105]);
    s
}

const MOVE: &str = "UPDATE accounts SET balance -= 10 WHERE id = 1; UPDATE accounts SET balance += 10 WHERE id = 2; \
                    INSERT pile VALUES (REPLICATE('p', 7000));";

/// 1105 ends its statement: the statements before and after it in the batch are committed, unless the batch specifies more (XACT_ABORT ON, or
/// TRY...CATCH with ROLLBACK). The SQL scenario of the simulation once took the first for a torn transaction.
#[test]
fn without_room_only_the_statement_ends_unless_xact_abort_is_on() {
    let world = World::new("no-room-reach");
    let mut s = full_database(&world);
    let balances = "SELECT balance FROM accounts ORDER BY id";
    let seen = run(&mut s, &format!("SET XACT_ABORT ON; BEGIN TRAN; {MOVE} COMMIT"));
    assert_eq!(numbers(&seen), [1105]);
    assert_eq!(rows(&mut s, balances), ["100", "100"]);
    assert_eq!(rows(&mut s, "SELECT @@TRANCOUNT"), ["0"]);
    let caught = format!(
        "SET XACT_ABORT OFF; BEGIN TRY BEGIN TRAN; {MOVE} COMMIT; END TRY \
         BEGIN CATCH IF @@TRANCOUNT > 0 ROLLBACK TRAN; THROW; END CATCH"
    );
    assert_eq!(numbers(&run(&mut s, &caught)), [1105]);
    assert_eq!(rows(&mut s, balances), ["100", "100"]);
    let seen = run(&mut s, &format!("SET XACT_ABORT OFF; BEGIN TRAN; {MOVE} COMMIT"));
    assert_eq!(numbers(&seen), [1105]);
    assert_eq!(rows(&mut s, balances), ["90", "110"]);
}

/// A session that met 1105 in its transaction keeps its locks until it ends; closing it releases them, without space, too.
#[test]
fn closing_a_session_without_room_lets_the_others_go_on() {
    let world = World::new("no-room-close");
    let mut first = full_database(&world);
    let seen = run(&mut first, &format!("BEGIN TRAN; {MOVE}"));
    assert_eq!(numbers(&seen), [1105]);
    let mut second = world.session();
    run(&mut second, "USE small; SET LOCK_TIMEOUT 0");
    let touch = "UPDATE accounts SET balance += 1 WHERE id = 1";
    assert_eq!(numbers(&run(&mut second, touch))[0], 1222);
    first.close();
    run(&mut second, touch);
    assert_eq!(rows(&mut second, "SELECT balance FROM accounts ORDER BY id"), ["101", "100"]);
    second.close();
}
