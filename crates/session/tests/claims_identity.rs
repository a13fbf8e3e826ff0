//! The identity cache of article 000 (claims 108 to 112, 114 and 115) and DBCC CHECKIDENT, on a simulated machine that loses power.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use crate::common::simulated::{Server, number};
use crate::common::{World, numbers, rows, run};
use hardpan_session::Session;
use os::sim::{Profile, World as Machine};

const TYPES: [(&str, i64); 6] = [
    ("tinyint", 10),
    ("smallint", 100),
    ("int", 1_000),
    ("bigint", 10_000),
    ("numeric(20)", 10_000),
    ("decimal(9)", 10_000),
];

/// The first value of each type's column after one insertion, a power loss and a restart; `setting` is executed first.
fn after_power_loss(seed: u64, setting: &'static str) -> Vec<i64> {
    let machine = Machine::new(seed, Profile::drawn(seed));
    let handle = machine.clone();
    machine
        .run(move |os| {
            let (_server, mut session) = Server::with_table(os);
            for (at, (name, _)) in TYPES.iter().enumerate() {
                run(&mut session, &format!("CREATE TABLE c{at} (i {name} IDENTITY, a int)"));
            }
            run(&mut session, setting);
            for at in 0..TYPES.len() {
                run(&mut session, &format!("INSERT c{at} VALUES (1)"));
            }
            handle.power_off();
        })
        .assert_ok();
    let seen = crate::common::simulated::kept(Vec::new());
    let into = std::sync::Arc::clone(&seen);
    machine
        .run(move |os| {
            let server = Server::open(os);
            let mut session = server.session();
            for at in 0..TYPES.len() {
                let value = number(
                    &mut session,
                    &format!("INSERT c{at} OUTPUT CAST(inserted.i AS bigint) VALUES (2)"),
                );
                into.lock().push(value);
            }
            server.stop(session);
        })
        .assert_ok();
    seen.lock().clone()
}

/// Claims 108, 109, 110 and 115: caches of 10, 100, 1,000 and 10,000 values; a crash loses their remaining values.
#[test]
fn a_crash_takes_the_cache_of_each_type() {
    let expected: Vec<i64> = TYPES.iter().map(|(_, cache)| cache + 1).collect();
    for seed in 0..3 {
        assert_eq!(after_power_loss(seed, "SELECT 1"), expected, "seed {seed}");
    }
}

/// Claims 111 and 112: trace flag 272 and IDENTITY_CACHE = OFF leave no gap, also for values handed out before.
#[test]
fn without_the_cache_there_is_no_gap() {
    for (seed, setting) in [
        (0, "DBCC TRACEON (272, -1)"),
        (1, "ALTER DATABASE SCOPED CONFIGURATION SET IDENTITY_CACHE = OFF"),
        (2, "INSERT c2 VALUES (0); DELETE c2; ALTER DATABASE SCOPED CONFIGURATION SET IDENTITY_CACHE = OFF"),
    ] {
        let mut expected = vec![2; TYPES.len()];
        expected[2] += i64::from(setting.contains("DELETE"));
        assert_eq!(after_power_loss(seed, setting), expected, "{setting}");
    }
    let on = "DBCC TRACEON (272, -1); DBCC TRACEOFF (272, -1)";
    assert_eq!(after_power_loss(3, on)[0], 11, "{on}");
}

fn with_counted(name: &str) -> (World, Session) {
    let world = World::new(name);
    let mut session = world.session();
    run(&mut session, "CREATE DATABASE db");
    run(&mut session, "USE db; CREATE TABLE t (i int IDENTITY(1, 1), a int)");
    (world, session)
}

fn insert(session: &mut Session) -> i64 {
    number(session, "INSERT t OUTPUT inserted.i VALUES (0)")
}

/// The setting is shown and survives a restart; other options are refused by name.
#[test]
fn the_cache_is_a_scoped_configuration() {
    let (mut world, mut session) = with_counted("identity-scoped");
    let shown =
        "SELECT configuration_id, name, value, is_value_default FROM sys.database_scoped_configurations";
    assert_eq!(rows(&mut session, shown), ["6|IDENTITY_CACHE|1|1"]);
    run(&mut session, "ALTER DATABASE SCOPED CONFIGURATION SET IDENTITY_CACHE = OFF");
    assert_eq!(rows(&mut session, shown), ["6|IDENTITY_CACHE|0|0"]);
    session.close();
    world.restart();
    let mut session = world.session();
    run(&mut session, "USE db");
    assert_eq!(rows(&mut session, shown), ["6|IDENTITY_CACHE|0|0"]);
    for text in ["ALTER DATABASE SCOPED CONFIGURATION SET MAXDOP = 1", "DBCC TRACEON (272)"] {
        assert_eq!(numbers(&run(&mut session, text)), [40517], "{text}");
    }
    session.close();
}

/// Documentation of DBCC CHECKIDENT: its messages, and the next value.
/// "DBCC CHECKIDENT": if no row has been inserted since the table was created, or since TRUNCATE, the first row gets the new value itself,
/// however often it has been set; "IDENT_CURRENT": for a table that has never had a row, the seed.
#[test]
fn a_table_that_was_never_used_begins_with_the_value_of_reseed() {
    let mut world = World::new("identity-reseed-unused");
    let mut session = world.session();
    run(&mut session, "CREATE TABLE u (i int IDENTITY(3, 5), a int)");
    let current = "SELECT IDENT_CURRENT('u'), IDENT_SEED('u')";
    assert_eq!(rows(&mut session, current), ["3|3"]);
    run(&mut session, "DBCC CHECKIDENT ('u', RESEED, 40) WITH NO_INFOMSGS");
    assert_eq!(rows(&mut session, current), ["40|3"]);
    run(&mut session, "DBCC CHECKIDENT ('u', RESEED, 70) WITH NO_INFOMSGS");
    assert_eq!(rows(&mut session, current), ["70|3"]);
    run(&mut session, "BEGIN TRAN DBCC CHECKIDENT ('u', RESEED, 90) WITH NO_INFOMSGS ROLLBACK");
    assert_eq!(rows(&mut session, current), ["70|3"]);
    drop(session);
    world.restart();
    let mut session = world.session();
    assert_eq!(rows(&mut session, current), ["70|3"]);
    let taken = "INSERT u (a) OUTPUT inserted.i VALUES (1), (2)";
    assert_eq!(rows(&mut session, taken), ["70", "75"]);
    assert_eq!(rows(&mut session, current), ["75|3"]);
    drop(session);
    world.restart();
    let mut session = world.session();
    assert_eq!(rows(&mut session, taken), ["80", "85"]);
    // TRUNCATE makes it unused again, and brings the seed of the column back.
    run(&mut session, "TRUNCATE TABLE u");
    assert_eq!(rows(&mut session, current), ["3|3"]);
    run(&mut session, "DBCC CHECKIDENT ('u', RESEED, 7) WITH NO_INFOMSGS");
    run(&mut session, "DBCC CHECKIDENT ('u', RESEED, 9) WITH NO_INFOMSGS");
    assert_eq!(rows(&mut session, taken), ["9", "14"]);
    // Deleted rows do not.
    run(&mut session, "DELETE u DBCC CHECKIDENT ('u', RESEED, 100) WITH NO_INFOMSGS");
    assert_eq!(rows(&mut session, taken), ["105", "110"]);
}

#[test]
fn check_identity_looks_and_reseeds() {
    let (_world, mut session) = with_counted("identity-check");
    let said = |session: &mut Session, text: &str| -> String {
        let seen = run(session, text);
        seen.messages
            .iter()
            .find(|message| message.0 == 7998)
            .map(|message| message.2.clone())
            .unwrap_or_default()
    };
    let none = said(&mut session, "DBCC CHECKIDENT ('t', NORESEED)");
    assert!(none.contains("'NULL', current column value 'NULL'"), "{none}");
    run(&mut session, "DBCC CHECKIDENT ('t', RESEED, 10)");
    assert_eq!([insert(&mut session), insert(&mut session)], [10, 11], "nothing was counted yet");
    run(&mut session, "DBCC CHECKIDENT (t, RESEED, 30)");
    assert_eq!(insert(&mut session), 31);
    let both = said(&mut session, "DBCC CHECKIDENT ('dbo.t')");
    assert!(both.contains("'31', current column value '31'"), "{both}");
    run(
        &mut session,
        "SET IDENTITY_INSERT t ON; INSERT t (i, a) VALUES (90, 1); SET IDENTITY_INSERT t OFF; DBCC CHECKIDENT ('t', RESEED, 5)",
    );
    assert_eq!(insert(&mut session), 6);
    run(&mut session, "DBCC CHECKIDENT ('t')");
    assert_eq!(insert(&mut session), 91, "behind the furthest row");
    run(&mut session, "BEGIN TRAN; DBCC CHECKIDENT ('t', RESEED, 500); ROLLBACK");
    assert_eq!(insert(&mut session), 92, "a rollback brings the position back");
    run(&mut session, "DELETE t; DBCC CHECKIDENT ('t', RESEED, 0)");
    assert_eq!(insert(&mut session), 1);
    run(&mut session, "TRUNCATE TABLE t; DBCC CHECKIDENT ('t', RESEED, 7)");
    assert_eq!(insert(&mut session), 7);
    run(&mut session, "CREATE TABLE plain (i int)");
    for (text, expected) in [
        ("DBCC CHECKIDENT ('plain')", 7997),
        ("DBCC CHECKIDENT ('missing')", 2501),
        ("DBCC CHECKIDENT ('t', RESEED, 3000000000)", 8115),
        ("DBCC CHECKIDENT ('t', SIDEWAYS)", 2560),
    ] {
        let seen = numbers(&run(&mut session, text));
        assert!(seen.contains(&expected), "{text}: {seen:?}");
    }
    run(&mut session, "CREATE TABLE least (i bigint IDENTITY(-9223372036854775808, 1), a int)");
    let least = "INSERT least OUTPUT inserted.i VALUES (0)";
    assert_eq!(number(&mut session, least), i64::MIN);
    assert_eq!(number(&mut session, least), i64::MIN + 1);
    session.close();
}

/// The identity record of a rolled back CREATE TABLE is not used for a table that gets the same id after a restart.
#[test]
fn a_new_table_counts_from_its_seed() {
    let (mut world, mut session) = with_counted("identity-orphan");
    run(
        &mut session,
        "BEGIN TRAN; CREATE TABLE gone (i int IDENTITY, a int); INSERT gone VALUES (1); ROLLBACK",
    );
    session.close();
    world.restart();
    let mut session = world.session();
    run(&mut session, "USE db; CREATE TABLE made (i int IDENTITY, a int)");
    assert_eq!(number(&mut session, "INSERT made OUTPUT inserted.i VALUES (1)"), 1);
    session.close();
}

/// Claim 113: the notes of an identity column do not flush: one transaction of 20,000 rows, which takes twenty ranges, flushes full blocks and its
/// end. Claim 114: a value whose row was open when the machine died may come again, but no two rows have it.
#[test]
fn ranges_of_identities_do_not_flush_and_no_value_is_there_twice() {
    let machine = Machine::new(113, Profile { switches_max: 40_000_000, ..Profile::constant_latency() });
    let handle = machine.clone();
    machine
        .run(move |os| {
            let (server, mut session) = Server::with_table(os);
            run(&mut session, "CREATE TABLE c (i int IDENTITY PRIMARY KEY, a int); INSERT c VALUES (0)");
            let log = server.database().log().clone();
            let (flushes, bytes) = (log.stats().flushes_total, log.stats().record_bytes_total);
            run(&mut session, "BEGIN TRAN; INSERT c SELECT value FROM GENERATE_SERIES(1, 20000); COMMIT");
            let blocks = (log.stats().record_bytes_total - bytes) / 61_440;
            let flushed = log.stats().flushes_total - flushes;
            assert!((blocks..=blocks + 3).contains(&flushed), "{flushed} flushes for {blocks} blocks");
            let mut other = server.session();
            run(&mut other, "BEGIN TRAN; INSERT c VALUES (-1)");
            run(&mut session, "INSERT c VALUES (-2)");
            handle.power_off();
        })
        .assert_ok();
    machine
        .run(|os| {
            let server = Server::open(os);
            let mut session = server.session();
            assert_eq!(
                number(&mut session, "SELECT COUNT(*) FROM c WHERE a = -1"),
                0,
                "it was not committed"
            );
            run(&mut session, "INSERT c VALUES (-3); INSERT c VALUES (-4)");
            let twice = "SELECT COUNT(*) - COUNT(DISTINCT i) FROM c";
            assert_eq!(number(&mut session, twice), 0);
            assert_eq!(number(&mut session, "SELECT COUNT(*) FROM c"), 20_004);
            server.stop(session);
        })
        .assert_ok();
}

/// A value outside the column's type is never handed out: neither shown by IDENT_CURRENT and sys.identity_columns after 8115, nor reserved, so
/// that the least and the greatest value of the type survive a crash; a seed outside the type is 2752.
#[test]
fn a_full_column_stays_at_the_end_of_its_type() {
    let world = World::new("identity-limits");
    let mut session = world.session();
    run(&mut session, "CREATE DATABASE db");
    run(&mut session, "USE db");
    for (name, seed, increment, last) in [
        ("tinyint", "254", "1", "255"),
        ("tinyint", "1", "-1", "0"),
        ("smallint", "32700", "100", "32700"),
        ("int", "2147483647", "1", "2147483647"),
        ("bigint", "-9223372036854775807", "-1", "-9223372036854775808"),
        ("decimal(2)", "98", "1", "99"),
        ("numeric(38)", "1", "1", "1"),
    ] {
        run(&mut session, &format!("CREATE TABLE dbo.t (i {name} IDENTITY({seed}, {increment}), a int)"));
        let count = if name.starts_with("numeric") { 1 } else { 3 };
        for _ in 0..count {
            run(&mut session, "INSERT dbo.t (a) VALUES (1)");
        }
        if count == 3 {
            assert_eq!(numbers(&run(&mut session, "INSERT dbo.t (a) VALUES (1)")), [8115, 3621], "{name}");
        }
        let said = "SELECT IDENT_CURRENT('dbo.t'), last_value FROM sys.identity_columns";
        assert_eq!(rows(&mut session, said), [format!("{last}|{last}")], "{name}");
        run(&mut session, "DROP TABLE dbo.t");
    }
    for (name, seed, increment, expected) in [
        ("tinyint", "-1", "1", 2752),
        ("tinyint", "256", "1", 2752),
        ("smallint", "32768", "1", 2752),
        ("int", "2147483648", "1", 2752),
        ("bigint", "9223372036854775808", "1", 2752),
        ("decimal(2)", "100", "1", 2752),
        ("int", "1", "0", 2753),
        ("varchar(9)", "1", "1", 2749),
    ] {
        let text = format!("CREATE TABLE dbo.t (i {name} IDENTITY({seed}, {increment}))");
        assert_eq!(numbers(&run(&mut session, &text)), [expected], "{text}");
    }
    session.close();
}
