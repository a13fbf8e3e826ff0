//! Identity counters and transactions: a rollback restores counters that TRUNCATE and DROP reset; a transaction may refill a table that it emptied.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use crate::common::simulated::Server;
use crate::common::{World, rows, run};
use hardpan_session::Session;
use os::sim::{Profile, World as Machine};

const TABLE: &str = "CREATE TABLE t (i int IDENTITY PRIMARY KEY, j int) INSERT t VALUES (1), (2), (3)";
const NUMBERS: &str = "SELECT i FROM t ORDER BY i";

fn with_table(world: &World) -> Session {
    let mut session = world.session();
    run(&mut session, "CREATE DATABASE db");
    run(&mut session, "USE db");
    run(&mut session, TABLE);
    session
}

/// The pattern of every load: empty the table, fill it anew, all in one transaction. It waited for itself.
#[test]
fn a_transaction_fills_the_table_that_it_has_emptied() {
    let world = World::new("identity-truncate");
    let mut session = with_table(&world);
    let text = "BEGIN TRAN TRUNCATE TABLE t INSERT t VALUES (1), (2) COMMIT INSERT t VALUES (3)";
    run(&mut session, text);
    assert_eq!(rows(&mut session, NUMBERS), ["1", "2", "3"]);
    run(
        &mut session,
        "BEGIN TRAN TRUNCATE TABLE t INSERT t VALUES (1) TRUNCATE TABLE t INSERT t VALUES (1) COMMIT",
    );
    assert_eq!(rows(&mut session, NUMBERS), ["1"]);
    run(
        &mut session,
        "SET IDENTITY_INSERT t ON BEGIN TRAN TRUNCATE TABLE t INSERT t (i, j) VALUES (70, 1) COMMIT SET IDENTITY_INSERT t OFF",
    );
    run(&mut session, "INSERT t VALUES (2)");
    assert_eq!(rows(&mut session, NUMBERS), ["70", "71"]);
    session.close();
}

/// The counter is where it was when the rows are: it began again at the seed, and the next row had a number that was taken.
#[test]
fn a_rollback_brings_the_counter_back() {
    let world = World::new("identity-rollback");
    let mut session = with_table(&world);
    for (text, expected) in [
        ("BEGIN TRAN TRUNCATE TABLE t ROLLBACK", 4),
        ("BEGIN TRAN TRUNCATE TABLE t INSERT t VALUES (1) ROLLBACK", 5),
        ("BEGIN TRAN DROP TABLE t ROLLBACK", 6),
        ("BEGIN TRAN SAVE TRAN s TRUNCATE TABLE t INSERT t VALUES (1) ROLLBACK TRAN s COMMIT", 7),
        ("BEGIN TRAN TRUNCATE TABLE t INSERT t VALUES (1) TRUNCATE TABLE t ROLLBACK", 8),
        (
            "SET XACT_ABORT ON BEGIN TRY BEGIN TRAN TRUNCATE TABLE t INSERT t VALUES (1 / 0) END TRY BEGIN CATCH ROLLBACK END CATCH SET XACT_ABORT OFF",
            9,
        ),
    ] {
        run(&mut session, text);
        assert_eq!(
            rows(&mut session, "INSERT t OUTPUT inserted.i VALUES (0)"),
            [expected.to_string()],
            "{text}"
        );
    }
    session.close();
}

/// What a savepoint takes back of the note is noted again: no committed number comes twice after a crash.
#[test]
fn a_note_that_a_savepoint_took_is_written_again() {
    for (at, middle) in ["", "SAVE TRAN s INSERT t VALUES (8) ROLLBACK TRAN s"].into_iter().enumerate() {
        let machine = Machine::new(at as u64, Profile::drawn(at as u64));
        let handle = machine.clone();
        machine
            .run(move |os| {
                let server = Server::open(os);
                let mut session = server.session_in("master");
                run(&mut session, "CREATE DATABASE db");
                run(&mut session, "USE db");
                run(&mut session, TABLE);
                run(
                    &mut session,
                    &format!("BEGIN TRAN TRUNCATE TABLE t {middle} INSERT t VALUES (1) COMMIT"),
                );
                handle.power_off();
            })
            .assert_ok();
        machine
            .run(move |os| {
                let server = Server::open(os);
                let mut session = server.session_in("db");
                let before: i64 = rows(&mut session, "SELECT MAX(i) FROM t")[0].parse().unwrap();
                let after: i64 =
                    rows(&mut session, "INSERT t OUTPUT inserted.i VALUES (0)")[0].parse().unwrap();
                assert!(after > before, "{middle}: {after} behind {before}");
                server.stop(session);
            })
            .assert_ok();
    }
}
