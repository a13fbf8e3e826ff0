//! Commits that are fully durable regardless of options, and the message when delay has no effect (article 001, claims 139 to 153), on a
//! simulated machine that records all writes.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use crate::common::simulated::{NAME, Server, flushes, keys, on_a_machine};
use crate::common::{numbers, rows, run};
use hardpan_session::Session;
use os::sim::{Profile, World, WriteStep};

/// INFO: delay was requested without effect.
const REFUSED: i32 = 42957;
const NOTHING: [i32; 0] = [];

/// A second database with a table like that of the first; both delay every commit that can be delayed, and neither has a background flush.
fn two_forced(server: &Server, session: &mut Session) {
    run(session, "CREATE DATABASE second");
    run(session, "CREATE TABLE second.dbo.T1(col1 INT NOT NULL)");
    server.instance.database("second").unwrap().log().suspend_background_flush(true);
    for name in [NAME, "second"] {
        run(session, &format!("ALTER DATABASE {name} SET DELAYED_DURABILITY = FORCED"));
    }
    run(session, "EXEC sys.sp_flush_log");
}

/// Claim 140: under DISABLED a request for delay is ignored without an error: the commit is a write of the device. A message says so once a request.
#[test]
fn a_wish_for_delay_in_vain_is_told_and_is_no_error() {
    on_a_machine(140, |os| {
        let (server, mut session) = Server::with_table(os);
        let wish = "BEGIN TRAN INSERT dbo.T1(col1) VALUES(1) COMMIT WITH (DELAYED_DURABILITY = ON)";
        let before = flushes(&mut session, NAME);
        let seen = run(&mut session, &format!("{wish} {wish} {wish} SELECT @@ERROR AS e"));
        assert_eq!(numbers(&seen), [REFUSED]);
        assert_eq!(seen.sets[0].1, [["0"]]);
        assert_eq!(flushes(&mut session, NAME) - before, 3);
        assert_eq!(numbers(&run(&mut session, wish)), [REFUSED], "each request is told for itself");
        // No message without a request for delay, or for statements that cannot be delayed.
        for text in [
            "BEGIN TRAN INSERT dbo.T1(col1) VALUES(1) COMMIT",
            "BEGIN TRAN INSERT dbo.T1(col1) VALUES(1) COMMIT WITH (DELAYED_DURABILITY = OFF)",
            "BEGIN TRAN SELECT COUNT(*) FROM dbo.T1 COMMIT WITH (DELAYED_DURABILITY = ON)",
            "CREATE TABLE #t (i INT) BEGIN TRAN INSERT #t VALUES(1) COMMIT WITH (DELAYED_DURABILITY = ON)",
        ] {
            assert_eq!(numbers(&run(&mut session, text)), NOTHING, "{text}");
        }
        run(&mut session, &format!("ALTER DATABASE {NAME} SET DELAYED_DURABILITY = ALLOWED"));
        assert_eq!(numbers(&run(&mut session, wish)), NOTHING, "it is done");
        // An inner COMMIT decides nothing.
        let inner = "BEGIN TRAN BEGIN TRAN INSERT dbo.T1(col1) VALUES(1) COMMIT WITH (DELAYED_DURABILITY = ON) COMMIT";
        let before = flushes(&mut session, NAME);
        assert_eq!(numbers(&run(&mut session, inner)), [REFUSED]);
        assert_eq!(flushes(&mut session, NAME) - before, 1);
        // The block of a natively compiled procedure asks as COMMIT does.
        run(&mut session, &format!("ALTER DATABASE {NAME} SET DELAYED_DURABILITY = DISABLED"));
        let block = "CREATE PROCEDURE dbo.p WITH NATIVE_COMPILATION, SCHEMABINDING AS BEGIN ATOMIC WITH (TRANSACTION ISOLATION LEVEL = SNAPSHOT, \
                     LANGUAGE = N'us_english', DELAYED_DURABILITY = ON) INSERT dbo.T1(col1) VALUES(1) END";
        assert_eq!(numbers(&run(&mut session, block)), NOTHING);
        assert_eq!(numbers(&run(&mut session, "EXEC dbo.p")), [REFUSED]);
        server.stop(session);
    });
}

/// Claims 143 and 150: a transaction that has changed two databases is fully durable although both are FORCED: the answer follows the confirmed
/// writes of both logs, and survives a power failure.
#[test]
fn a_transaction_over_two_databases_waits_for_the_device() {
    let world = World::new(143, Profile::nvme());
    let handle = world.clone();
    world
        .run(move |os| {
            let (server, mut session) = Server::with_table(os);
            two_forced(&server, &mut session);
            handle.trace_writes();
            assert_eq!(numbers(&run(&mut session, "INSERT dbo.T1(col1) VALUES(1)")), NOTHING);
            let written = |handle: &World, file: &str| {
                let writes = handle.take_writes();
                let hard = |w: &&os::sim::WriteEvent| w.step == WriteStep::Completed;
                writes.iter().filter(hard).filter(|w| w.path.to_string_lossy().contains(file)).count()
            };
            assert_eq!(written(&handle, "_log"), 0, "one database: delayed");
            let both = "BEGIN TRAN INSERT dbo.T1(col1) VALUES(2) INSERT second.dbo.T1(col1) VALUES(2) COMMIT";
            assert_eq!(numbers(&run(&mut session, both)), NOTHING, "it has not asked");
            let writes = handle.take_writes();
            for file in [NAME, "second"] {
                let hard = writes.iter().any(|w| {
                    w.step == WriteStep::Completed
                        && w.path.to_string_lossy().contains(&format!("{file}_log"))
                });
                assert!(hard, "the log of {file} is written before the answer");
            }
            let asked = both.replace("VALUES(2)", "VALUES(3)") + " WITH (DELAYED_DURABILITY = ON)";
            assert_eq!(numbers(&run(&mut session, &asked)), [REFUSED]);
            run(&mut session, "INSERT dbo.T1(col1) VALUES(4)");
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
                [1, 2, 3],
                "what came before is hard as well, what came behind is not"
            );
            assert_eq!(rows(&mut session, "SELECT col1 FROM second.dbo.T1 ORDER BY col1"), ["2", "3"]);
            server.stop(session);
        })
        .assert_ok();
}

/// Claims 144 to 147: none of the other features whose transactions SQL Server never delays exists here; each is refused by name or not found.
#[test]
fn other_features_that_are_never_delayed_are_refused() {
    on_a_machine(144, |os| {
        let (server, mut session) = Server::with_table(os);
        for (text, number) in [
            ("CREATE TABLE dbo.files AS FILETABLE", 40514),
            ("ALTER TABLE dbo.T1 ENABLE CHANGE_TRACKING", 40514),
            ("EXEC sys.sp_cdc_enable_db", 2812),
            ("EXEC sp_addpublication @publication = N'p'", 2812),
        ] {
            assert_eq!(numbers(&run(&mut session, text)), [number], "{text}");
        }
        server.stop(session);
    });
}

/// Claims 139, 141, 148, 149 and 153: the option of the database with its three values, that of COMMIT in all its forms, that of an
/// atomic block; FORCED overrides an explicit OFF.
#[test]
fn delay_is_asked_for_at_three_levels() {
    on_a_machine(139, |os| {
        let (server, mut session) = Server::with_table(os);
        let block = "CREATE PROCEDURE dbo.p WITH NATIVE_COMPILATION, SCHEMABINDING AS BEGIN ATOMIC WITH (TRANSACTION ISOLATION LEVEL = SNAPSHOT, \
                     LANGUAGE = N'us_english', DELAYED_DURABILITY = ON) INSERT dbo.T1(col1) VALUES(1) END";
        assert_eq!(numbers(&run(&mut session, block)), NOTHING);
        let begun = "BEGIN TRAN named INSERT dbo.T1(col1) VALUES(1) COMMIT";
        let table = [
            (format!("{begun} TRAN WITH (DELAYED_DURABILITY = ON)"), [1, 0, 0]),
            (format!("{begun} TRANSACTION named WITH (DELAYED_DURABILITY = ON)"), [1, 0, 0]),
            (format!("{begun} TRANSACTION WITH (DELAYED_DURABILITY = OFF)"), [1, 1, 0]),
            (begun.to_string(), [1, 1, 0]),
            ("EXEC dbo.p".to_string(), [1, 0, 0]),
        ];
        for (at, option) in ["DISABLED", "ALLOWED", "FORCED"].into_iter().enumerate() {
            run(&mut session, &format!("ALTER DATABASE {NAME} SET DELAYED_DURABILITY = {option}"));
            let shown = format!(
                "SELECT delayed_durability, delayed_durability_desc FROM sys.databases WHERE name = N'{NAME}'"
            );
            assert_eq!(rows(&mut session, &shown), [format!("{at}|{option}")]);
            for (text, expected) in &table {
                let before = flushes(&mut session, NAME);
                run(&mut session, text);
                assert_eq!(flushes(&mut session, NAME) - before, expected[at], "{option}: {text}");
            }
        }
        server.stop(session);
    });
}

/// Claim 142: the server's own transactions are not delayed. Created databases and changed options survive a loss of power at the moment of the
/// answer, although the session's database is FORCED (values of sequences: claim 130).
#[test]
fn what_the_server_notes_of_databases_is_never_delayed() {
    let world = World::new(142, Profile::nvme());
    let handle = world.clone();
    world
        .run(move |os| {
            let (server, mut session) = Server::with_table(os);
            two_forced(&server, &mut session);
            run(&mut session, "CREATE DATABASE third");
            run(&mut session, &format!("ALTER DATABASE {NAME} SET VLF_RULE = FIXED"));
            run(&mut session, "DROP DATABASE second");
            drop(server);
            handle.power_off();
        })
        .assert_ok();
    world
        .run(|os| {
            let server = Server::open(os);
            let mut session = server.session();
            let names = "SELECT name FROM sys.databases WHERE name IN (N'second', N'third')";
            assert_eq!(rows(&mut session, names), ["third"]);
            let forced = format!("SELECT delayed_durability FROM sys.databases WHERE name = N'{NAME}'");
            assert_eq!(rows(&mut session, &forced), ["2"]);
            server.stop(session);
        })
        .assert_ok();
}

/// Claim 142: system transactions inside a user's (page splits, allocation) do not wait for a commit of their own: their records precede those that
/// depend on them in one log, so that no loss of power removes them alone.
#[test]
fn page_splits_go_out_before_what_relies_on_them() {
    for seed in 0..6 {
        let world = World::new(seed, Profile::drawn(seed));
        let handle = world.clone();
        world
            .run(move |os| {
                let (server, mut session) = Server::with_table(os);
                run(&mut session, "CREATE TABLE dbo.wide (k INT PRIMARY KEY, v CHAR(900) NOT NULL)");
                run(&mut session, &format!("ALTER DATABASE {NAME} SET DELAYED_DURABILITY = FORCED"));
                for key in 0..120 {
                    run(&mut session, &format!("INSERT dbo.wide VALUES ({}, 'x')", (key * 37) % 120));
                    if key == 60 + i32::try_from(seed).unwrap() {
                        run(&mut session, "EXEC sys.sp_flush_log");
                    }
                    if key % 16 == 0 {
                        run(&mut session, "CHECKPOINT");
                    }
                }
                drop(server);
                handle.power_off();
            })
            .assert_ok();
        world
            .run(move |os| {
                let server = Server::open(os);
                let mut session = server.session();
                assert_eq!(numbers(&run(&mut session, "DBCC CHECKDB WITH NO_INFOMSGS")), NOTHING);
                let kept = rows(&mut session, "SELECT COUNT(*) FROM dbo.wide")[0].parse::<i32>().unwrap();
                assert!(kept > 60 + i32::try_from(seed).unwrap(), "seed {seed}: {kept} rows");
                // The surviving rows are the first ones, in the order of their commits.
                let found = rows(&mut session, "SELECT k FROM dbo.wide ORDER BY k");
                let mut first: Vec<i32> = (0..kept).map(|key| (key * 37) % 120).collect();
                first.sort_unstable();
                assert_eq!(found, first.iter().map(i32::to_string).collect::<Vec<_>>());
                server.stop(session);
            })
            .assert_ok();
    }
}
