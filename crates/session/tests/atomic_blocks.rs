//! Atomic blocks of natively compiled procedures (claims 61 and 154): the effect of an error in every situation; which DELAYED_DURABILITY counts;
//! the effect of a power loss; for which transactions a block waits. `scripts/native_procedures.test` covers refusals.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use crate::common::simulated::{NAME, Server, flushes, keys, on_a_machine, repeat};
use crate::common::{World, numbers, rows, run};
use hardpan_session::{RpcCall, RpcTarget, Session};

const ATOMIC: &str = "BEGIN ATOMIC WITH (TRANSACTION ISOLATION LEVEL = SNAPSHOT, LANGUAGE = N'us_english'";

/// Creates a natively compiled procedure; `options` follow the two required ones.
fn native(session: &mut Session, head: &str, options: &str, body: &str) {
    let text = format!(
        "CREATE PROCEDURE dbo.{head} WITH NATIVE_COMPILATION, SCHEMABINDING AS {ATOMIC}{options}) {body} END"
    );
    let seen = run(session, &text);
    assert!(seen.messages.is_empty(), "{text}: {:?}", seen.messages);
}

/// Row by row: the transaction around (0 none, 1 one), what the procedure does, XACT_ABORT, TRY around the call | the number that the caller gets |
/// @@TRANCOUNT and XACT_STATE() behind the call in the same batch, `-` when the batch has ended | @@TRANCOUNT after the batch | rows then.
/// Row 100 is the caller's own. Sources: "Atomic Blocks in Native Procedures" (rolled back to the savepoint, or the block's own transaction; XACT_ABORT
/// is OFF inside; the error goes to the caller), SET XACT_ABORT (an error of a statement of the caller), THROW (ends the batch).
const MATRIX: &str = "
0 good     OFF -   | 0     | 0 0  | 0 | 1
0 good     ON  -   | 0     | 0 0  | 0 | 1
1 good     OFF -   | 0     | 1 1  | 1 | 1 100
1 good     ON  TRY | 0     | 1 1  | 1 | 1 100
0 twice    OFF -   | 2627  | 0 0  | 0 |
0 twice    ON  -   | 2627  | -    | 0 |
0 twice    OFF TRY | 2627  | 0 0  | 0 |
0 twice    ON  TRY | 2627  | 0 0  | 0 |
1 twice    OFF -   | 2627  | 1 1  | 1 | 100
1 twice    ON  -   | 2627  | -    | 0 |
1 twice    OFF TRY | 2627  | 1 1  | 1 | 100
1 twice    ON  TRY | 2627  | 1 -1 | 0 |
0 cast     OFF -   | 245   | 0 0  | 0 |
1 cast     OFF -   | 245   | 1 1  | 1 | 100
1 cast     ON  -   | 245   | -    | 0 |
1 cast     OFF TRY | 245   | 1 1  | 1 | 100
1 cast     ON  TRY | 245   | 1 -1 | 0 |
0 throws   OFF -   | 50001 | -    | 0 |
0 throws   OFF TRY | 50001 | 0 0  | 0 |
1 throws   OFF -   | 50001 | -    | 1 | 100
1 throws   ON  -   | 50001 | -    | 0 |
1 throws   OFF TRY | 50001 | 1 1  | 1 | 100
1 throws   ON  TRY | 50001 | 1 -1 | 0 |
0 catches  OFF -   | 0     | 0 0  | 0 | 1 2
0 catches  ON  -   | 0     | 0 0  | 0 | 1 2
1 catches  ON  TRY | 0     | 1 1  | 1 | 1 2 100
0 around   OFF -   | 0     | 0 0  | 0 | 1 10 11
1 around   OFF -   | 0     | 1 1  | 1 | 1 10 11 100
0 through  OFF -   | 2627  | 0 0  | 0 |
1 through  OFF -   | 2627  | 1 1  | 1 | 100
1 through  ON  TRY | 2627  | 1 -1 | 0 |
0 saves    OFF -   | 0     | 0 0  | 0 | 10 12
0 saves    ON  -   | 0     | 0 0  | 0 | 10 12
1 saves    ON  -   | 0     | 1 1  | 1 | 10 12 100
0 rethrows OFF -   | 2627  | -    | 0 |
1 rethrows OFF TRY | 2627  | 1 1  | 1 | 100
";

fn make_procedures(session: &mut Session) {
    run(session, "CREATE TABLE dbo.t (i INT PRIMARY KEY)");
    native(session, "good", "", "INSERT dbo.t (i) VALUES (1)");
    native(session, "twice", "", "INSERT dbo.t (i) VALUES (1) INSERT dbo.t (i) VALUES (1)");
    native(
        session,
        "[cast] @x VARCHAR(9) = 'x'",
        "",
        "INSERT dbo.t (i) VALUES (1) INSERT dbo.t (i) VALUES (CAST(@x AS INT))",
    );
    native(session, "throws", "", "INSERT dbo.t (i) VALUES (1); THROW 50001, 'thrown', 1");
    let catches = "INSERT dbo.t (i) VALUES (1) BEGIN TRY INSERT dbo.t (i) VALUES (1) END TRY \
                   BEGIN CATCH INSERT dbo.t (i) VALUES (2) END CATCH";
    native(session, "catches", "", catches);
    let around = "INSERT dbo.t (i) VALUES (10) EXEC dbo.good INSERT dbo.t (i) VALUES (11)";
    native(session, "around", "", around);
    native(session, "through", "", "INSERT dbo.t (i) VALUES (10) EXEC dbo.twice");
    let saves = "INSERT dbo.t (i) VALUES (10) BEGIN TRY EXEC dbo.twice END TRY \
                 BEGIN CATCH INSERT dbo.t (i) VALUES (12) END CATCH";
    native(session, "saves", "", saves);
    let rethrows = "INSERT dbo.t (i) VALUES (1) BEGIN TRY INSERT dbo.t (i) VALUES (1) END TRY BEGIN CATCH THROW END CATCH";
    native(session, "rethrows", "", rethrows);
}

#[test]
fn what_an_error_leaves_in_every_situation() {
    let world = World::new("atomic-matrix");
    let mut session = world.session();
    run(&mut session, "CREATE DATABASE db");
    run(&mut session, "USE db");
    make_procedures(&mut session);
    let mut failures = Vec::new();
    let lines: Vec<&str> = MATRIX.lines().filter(|line| !line.is_empty()).collect();
    assert!(lines.len() > 30);
    for line in lines {
        let fields: Vec<&str> = line.split('|').map(str::trim).collect();
        let [situation, number, behind, count, kept] = fields[..] else { panic!("five fields: {line}") };
        let words: Vec<&str> = situation.split_whitespace().collect();
        let [around, procedure, xact_abort, guard] = words[..] else { panic!("four words: {line}") };
        let call = format!("EXEC dbo.[{procedure}]");
        let call = match guard {
            "TRY" => {
                format!("BEGIN TRY {call} END TRY BEGIN CATCH SELECT ERROR_NUMBER() AS caught END CATCH")
            }
            _ => call,
        };
        let before = if around == "1" { "BEGIN TRAN INSERT dbo.t (i) VALUES (100)" } else { "" };
        let text = format!(
            "SET NOCOUNT ON; SET XACT_ABORT {xact_abort}; {before} {call} SELECT @@TRANCOUNT AS n, XACT_STATE() AS s"
        );
        let seen = run(&mut session, &text);
        let caught = seen.sets.iter().find(|set| set.0 == ["caught"]).map(|set| set.1[0][0].clone());
        let told = numbers(&seen).into_iter().find(|number| *number != 3998);
        let got_number = caught.or(told.map(|n| n.to_string())).unwrap_or("0".into());
        let got_behind = seen.sets.iter().find(|set| set.0 == ["n", "s"]).map(|set| set.1[0].join(" "));
        let got_behind = got_behind.unwrap_or("-".into());
        let got_count = rows(&mut session, "SELECT @@TRANCOUNT")[0].clone();
        let got_rows = rows(&mut session, "SELECT i FROM dbo.t ORDER BY i").join(" ");
        let got = format!("{got_number} | {got_behind} | {got_count} | {got_rows}");
        if got != format!("{number} | {behind} | {count} | {kept}") {
            failures.push(format!("{line}\n   found {got}"));
        }
        run(&mut session, "IF @@TRANCOUNT > 0 ROLLBACK TRUNCATE TABLE dbo.t SET XACT_ABORT OFF");
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// A doomed transaction allows no block to begin, and stays doomed.
#[test]
fn a_doomed_transaction_stays_doomed() {
    let world = World::new("atomic-doomed");
    let mut session = world.session();
    run(&mut session, "CREATE DATABASE db");
    run(&mut session, "USE db");
    make_procedures(&mut session);
    let text = "SET XACT_ABORT ON BEGIN TRAN BEGIN TRY SELECT 1/0 AS nothing END TRY BEGIN CATCH \
                BEGIN TRY EXEC dbo.good END TRY BEGIN CATCH SELECT ERROR_NUMBER() AS e, XACT_STATE() AS s END CATCH END CATCH";
    let seen = run(&mut session, text);
    assert_eq!(seen.sets.last().unwrap().1, [["3931", "-1"]]);
    assert_eq!(rows(&mut session, "SELECT @@TRANCOUNT, (SELECT COUNT(*) FROM dbo.t)"), ["0|0"]);
}

/// The client is not informed of a block's transaction: neither of its begin nor of its end. A call from a client ends as the statement does.
#[test]
fn clients_are_told_of_no_transaction() {
    let world = World::new("atomic-client");
    let mut session = world.session();
    run(&mut session, "CREATE DATABASE db");
    run(&mut session, "USE db");
    make_procedures(&mut session);
    for (procedure, number) in [("good", 0), ("throws", 50001), ("twice", 2627)] {
        run(&mut session, "TRUNCATE TABLE dbo.t");
        let mut seen = crate::common::Seen::default();
        let target = RpcTarget::Name(format!("dbo.{procedure}"));
        let call = RpcCall { target, parameters: Vec::new(), no_metadata: false };
        session.execute_rpc(call, &mut seen);
        assert!(seen.environment.is_empty(), "{procedure}: {:?}", seen.environment);
        assert_eq!(numbers(&seen), if number == 0 { vec![] } else { vec![number] }, "{procedure}");
        assert_eq!(seen.status, (number == 0).then_some(0), "{procedure}");
        assert_eq!(rows(&mut session, "SELECT @@TRANCOUNT"), ["0"]);
    }
    // Under SET IMPLICIT_TRANSACTIONS the call begins the user's transaction, and the block is inside of it.
    run(&mut session, "TRUNCATE TABLE dbo.t");
    let seen = run(&mut session, "SET IMPLICIT_TRANSACTIONS ON EXEC dbo.good SELECT @@TRANCOUNT");
    assert_eq!(seen.sets[0].1, [["1"]]);
    assert_eq!(seen.environment.len(), 1, "{:?}", seen.environment);
    run(&mut session, "ROLLBACK SET IMPLICIT_TRANSACTIONS OFF");
    assert!(rows(&mut session, "SELECT i FROM dbo.t").is_empty());
}

/// The block's isolation level holds while it runs, the session's afterwards; under SNAPSHOT, as under SERIALIZABLE, no other session can insert
/// into what it has read.
#[test]
fn a_block_under_snapshot_keeps_out_phantoms() {
    let world = World::new("atomic-isolation");
    let (mut session, mut other) = (world.session(), world.session());
    run(&mut session, "CREATE DATABASE db");
    run(&mut session, "USE db");
    run(&mut other, "USE db");
    make_procedures(&mut session);
    native(
        &mut session,
        "counts @n INT = 0 OUTPUT",
        "",
        "SELECT @n = COUNT(*) FROM dbo.t WHERE i BETWEEN 50 AND 60",
    );
    run(&mut session, "BEGIN TRAN EXEC dbo.counts");
    let seen = run(&mut other, "SET LOCK_TIMEOUT 0 INSERT dbo.t (i) VALUES (55)");
    assert_eq!(numbers(&seen)[0], 1222);
    let level = "SELECT transaction_isolation_level FROM sys.dm_exec_sessions WHERE session_id = @@SPID";
    assert_eq!(rows(&mut session, level), ["2"]);
    run(&mut session, "COMMIT BEGIN TRAN SELECT COUNT(*) FROM dbo.t WHERE i BETWEEN 50 AND 60");
    let seen = run(&mut other, "INSERT dbo.t (i) VALUES (55)");
    assert!(seen.messages.is_empty(), "READ COMMITTED keeps nobody out: {:?}", seen.messages);
}

/// Where the database keeps versions, a block with its own transaction reads the state committed at its first access, waits for no writer, blocks
/// no session, and does not overwrite a change that it has not seen (3960); inside a transaction that began otherwise it is SERIALIZABLE.
#[test]
fn a_block_reads_the_snapshot_that_it_asks_for() {
    let world = World::new("atomic-snapshot");
    let (mut session, mut other) = (world.session(), world.session());
    run(&mut session, "CREATE DATABASE db");
    for each in [&mut session, &mut other] {
        run(each, "USE db SET LOCK_TIMEOUT 0");
    }
    make_procedures(&mut session);
    run(&mut session, "INSERT dbo.t (i) VALUES (50)");
    let body = "SELECT @n = COUNT(*) FROM dbo.t WHERE i BETWEEN 50 AND 60";
    native(&mut session, "counts @n INT = 0 OUTPUT", "", body);
    native(&mut session, "nests @n INT = 0 OUTPUT", "", &format!("EXEC dbo.counts {body}"));
    native(&mut session, "moves", "", "UPDATE dbo.t SET i = i + 1000 WHERE i = 50");
    let count = |session: &mut Session, procedure: &str| {
        let seen = run(session, &format!("DECLARE @n INT EXEC dbo.{procedure} @n OUTPUT SELECT @n AS n"));
        let number = numbers(&seen).first().copied();
        number.map_or_else(|| seen.sets[0].1[0][0].clone(), |number| format!("error {number}"))
    };
    run(&mut other, "BEGIN TRAN UPDATE dbo.t SET i = 51 WHERE i = 50 INSERT dbo.t (i) VALUES (55)");
    for procedure in ["counts", "nests"] {
        assert_eq!(count(&mut session, procedure), "error 1222", "without versions");
    }
    run(&mut other, "ROLLBACK");
    assert!(run(&mut session, "ALTER DATABASE db SET ALLOW_SNAPSHOT_ISOLATION ON").messages.is_empty());
    run(&mut other, "BEGIN TRAN UPDATE dbo.t SET i = 51 WHERE i = 50 INSERT dbo.t (i) VALUES (55)");
    for procedure in ["counts", "nests"] {
        assert_eq!(count(&mut session, procedure), "1");
        run(&mut session, "BEGIN TRAN");
        assert_eq!(count(&mut session, procedure), "error 1222", "in a transaction that reads no snapshot");
        run(&mut session, "IF @@TRANCOUNT > 0 ROLLBACK SET TRANSACTION ISOLATION LEVEL SNAPSHOT BEGIN TRAN");
        assert_eq!(count(&mut session, procedure), "1", "in one that does");
        run(&mut session, "ROLLBACK SET TRANSACTION ISOLATION LEVEL READ COMMITTED");
    }
    run(&mut session, "SET TRANSACTION ISOLATION LEVEL SNAPSHOT BEGIN TRAN SELECT COUNT(*) FROM dbo.t");
    run(&mut other, "COMMIT");
    assert_eq!(
        numbers(&run(&mut session, "EXEC dbo.moves")),
        [3960],
        "what has changed since is not overwritten"
    );
    assert_eq!(rows(&mut session, "SELECT @@TRANCOUNT, (SELECT COUNT(*) FROM dbo.t)"), ["0|2"]);
}

/// A transaction that creates or drops a schema-bound procedure locks the objects it names until it ends. The protection lasts over a restart.
#[test]
fn what_a_new_procedure_names_cannot_go_meanwhile() {
    let mut world = World::new("atomic-binding");
    let (mut session, mut other) = (world.session(), world.session());
    run(&mut session, "CREATE DATABASE db");
    for each in [&mut session, &mut other] {
        run(each, "USE db");
        run(each, "SET LOCK_TIMEOUT 0");
    }
    run(&mut session, "CREATE TABLE dbo.t (i INT PRIMARY KEY)");
    let text = format!(
        "CREATE PROCEDURE dbo.good WITH NATIVE_COMPILATION, SCHEMABINDING AS {ATOMIC}) INSERT dbo.t (i) VALUES (1) END"
    );
    run(&mut session, "BEGIN TRAN");
    assert!(run(&mut session, &text).messages.is_empty());
    assert_eq!(numbers(&run(&mut other, "DROP TABLE dbo.t")), [1222]);
    run(&mut session, "ROLLBACK");
    run(&mut other, "BEGIN TRAN DROP TABLE dbo.t");
    assert_eq!(numbers(&run(&mut session, &text)), [1222]);
    run(&mut other, "ROLLBACK");
    assert!(run(&mut session, &text).messages.is_empty());
    run(&mut session, "BEGIN TRAN DROP PROCEDURE dbo.good");
    assert_eq!(numbers(&run(&mut other, "DROP TABLE dbo.t")), [1222], "the procedure may come back");
    run(&mut session, "ROLLBACK");
    session.close();
    other.close();
    world.restart();
    let mut session = world.session();
    run(&mut session, "USE db");
    assert_eq!(numbers(&run(&mut session, "DROP TABLE dbo.t")), [3729]);
    let flags = "SELECT uses_native_compilation, is_schema_bound FROM sys.sql_modules";
    assert_eq!(rows(&mut session, flags), ["1|1"]);
    run(&mut session, "EXEC dbo.good");
    assert_eq!(rows(&mut session, "SELECT i FROM dbo.t"), ["1"]);
    assert!(run(&mut session, "DROP PROCEDURE dbo.good DROP TABLE dbo.t").messages.is_empty());
}

/// Procedures that add `@i` to T1; each with its DELAYED_DURABILITY, and two that call another in their block.
fn make_delayed(session: &mut Session) {
    let add = "INSERT dbo.T1 (col1) VALUES (@i)";
    for (name, options) in
        [("unsaid", ""), ("delayed", ", DELAYED_DURABILITY = ON"), ("durable", ", DELAYED_DURABILITY = OFF")]
    {
        native(session, &format!("{name} @i INT"), options, add);
    }
    native(session, "delayed_around @i INT", ", DELAYED_DURABILITY = ON", "EXEC dbo.durable @i");
    native(session, "durable_around @i INT", ", DELAYED_DURABILITY = OFF", "EXEC dbo.delayed @i");
}

/// Claims 61 and 154: the option of the outermost block counts, and only under ALLOWED; inside a transaction that of COMMIT does. A commit is a
/// write of the device or none.
#[test]
fn the_outermost_block_decides_about_delay() {
    on_a_machine(61, |os| {
        let (server, mut session) = Server::with_table(os);
        make_delayed(&mut session);
        let mut first = 1;
        let mut cost = |session: &mut Session, body: &str| {
            first += 20;
            let before = flushes(session, NAME);
            repeat(session, first, 20, body);
            flushes(session, NAME) - before
        };
        let table = [
            ("EXEC dbo.unsaid @i", [20, 0, 20]),
            ("EXEC dbo.delayed @i", [20, 0, 0]),
            ("EXEC dbo.durable @i", [20, 0, 20]),
            ("EXEC dbo.delayed_around @i", [20, 0, 0]),
            ("EXEC dbo.durable_around @i", [20, 0, 20]),
            ("BEGIN TRAN EXEC dbo.delayed @i COMMIT", [20, 0, 20]),
            ("BEGIN TRAN EXEC dbo.durable @i COMMIT WITH (DELAYED_DURABILITY = ON)", [20, 0, 0]),
        ];
        for (at, option) in ["DISABLED", "FORCED", "ALLOWED"].into_iter().enumerate() {
            run(&mut session, &format!("ALTER DATABASE {NAME} SET DELAYED_DURABILITY = {option}"));
            for (body, expected) in table {
                assert_eq!(cost(&mut session, body), expected[at], "{option}: {body}");
            }
        }
        server.stop(session);
    });
}

/// Claim 61: a power loss may lose the changes of a delayed block, as a whole; it never loses those of a durable one.
#[test]
fn a_loss_of_power_takes_delayed_blocks_whole() {
    let world = os::sim::World::new(61, os::sim::Profile::nvme());
    let handle = world.clone();
    world
        .run(move |os| {
            let (server, mut session) = Server::with_table(os);
            run(&mut session, &format!("ALTER DATABASE {NAME} SET DELAYED_DURABILITY = ALLOWED"));
            make_delayed(&mut session);
            native(
                &mut session,
                "two @i INT",
                ", DELAYED_DURABILITY = ON",
                "INSERT dbo.T1 (col1) VALUES (@i) INSERT dbo.T1 (col1) VALUES (@i + 1)",
            );
            run(&mut session, "EXEC dbo.delayed 1");
            run(&mut session, "EXEC dbo.durable 2");
            run(&mut session, "EXEC dbo.two 3");
            assert_eq!(keys(&mut session), [1, 2, 3, 4]);
            drop(server);
            handle.power_off();
        })
        .assert_ok();
    world
        .run(|os| {
            let server = Server::open(os);
            let mut session = server.session();
            assert_eq!(
                keys(&mut session),
                [1, 2],
                "the durable block has taken the delayed one before it along"
            );
            server.stop(session);
        })
        .assert_ok();
}
