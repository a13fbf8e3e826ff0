//! tempdb: created again at each start, never recovered, never flushed at a commit, logged only for rollback (claims 78 to 88), through
//! sessions on a simulated machine.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use crate::common::simulated::{NAME, SMALL, Server, flushes, keys, on_a_machine, repeat};
use crate::common::{numbers, rows, run};
use hardpan_session::Session;
use log::{LogOp, Lsn};
use os::sim::{Bug, Profile, World};

/// Claims 78 and 79: after a crash in the middle of work on temporary, table-variable and ordinary tables of tempdb it is a new copy of
/// model, and recovery has not processed database 2.
#[test]
fn tempdb_is_a_fresh_copy_of_model_after_a_crash() {
    let world = World::new(78, Profile::nvme());
    let handle = world.clone();
    world
        .run(move |os| {
            let server = Server::open(os);
            let mut session = server.session_in("tempdb");
            run(&mut session, "CREATE TABLE dbo.T1(col1 INT NOT NULL); CREATE TABLE #t(a int)");
            repeat(&mut session, 1, 500, "INSERT dbo.T1 VALUES(@i); INSERT #t VALUES(@i);");
            run(&mut session, "DECLARE @t TABLE(a int); INSERT @t SELECT a FROM #t");
            let mut other = server.session_in("model");
            run(&mut other, "CREATE TABLE dbo.FromModel(a int NOT NULL); INSERT dbo.FromModel VALUES(42)");
            run(&mut session, "CHECKPOINT; BEGIN TRAN; DELETE dbo.T1 WHERE col1 > 100");
            handle.kill_process();
        })
        .assert_ok();
    let report = world.run(|os| {
        let server = Server::open(os);
        let mut session = server.session_in("tempdb");
        assert_eq!(numbers(&run(&mut session, "SELECT * FROM dbo.T1")), [208]);
        assert_eq!(numbers(&run(&mut session, "SELECT * FROM #t")), [208]);
        assert_eq!(
            rows(&mut session, "SELECT name FROM sys.tables"),
            ["FromModel"],
            "and nothing else is left"
        );
        assert_eq!(rows(&mut session, "SELECT a FROM dbo.FromModel"), ["42"]);
        server.stop(session);
    });
    report.assert_ok();
    assert!(report.log.iter().any(|line| line.contains("database model: recovery")), "{:?}", report.log);
    assert!(!report.log.iter().any(|line| line.contains("database tempdb: recovery")), "{:?}", report.log);
}

fn prepare(server: &Server, database: &str) -> Session {
    let mut session = server.session_in(database);
    run(&mut session, "DROP TABLE IF EXISTS dbo.T1; CREATE TABLE dbo.T1(col1 INT NOT NULL)");
    session
}

/// Flushes and log bytes of tempdb for a piece of work on a new dbo.T1.
fn cost(server: &Server, option: &str, work: impl FnOnce(&mut Session)) -> (i64, u64) {
    let mut session = prepare(server, "tempdb");
    let altered = run(&mut session, &format!("ALTER DATABASE tempdb SET DELAYED_DURABILITY = {option}"));
    assert!(numbers(&altered).is_empty(), "{option}: {:?}", altered.messages);
    let log = server.instance.tempdb().log().clone();
    // All work begins with an empty block, so that equal work fills equally many.
    let (before, bytes) = (flushes(&mut session, "tempdb"), log.stats().record_bytes_total);
    work(&mut session);
    let result = (flushes(&mut session, "tempdb") - before, log.stats().record_bytes_total - bytes);
    session.close();
    result
}

fn one_large(session: &mut Session, count: i64) {
    run(session, "BEGIN TRAN");
    repeat(session, 1, count, "INSERT INTO dbo.T1(col1) VALUES(@i);");
    run(session, "COMMIT TRAN");
}

/// Runs many small transactions with a pause after each hundred, so that time passes as it does for sessions that wait for a device: timed
/// flushes become visible.
fn paced(session: &mut Session, count: i64, transaction: &str) {
    repeat(session, 1, count, &format!("{transaction} IF @i % 100 = 0 WAITFOR DELAY '00:00:00.002';"));
}

/// The work of claims 80, 84 and 88, by the option: flushes of the small transactions and of the large one.
fn flushes_by_option(server: &Server) -> (Vec<i64>, Vec<i64>) {
    let count = 20_000;
    let (mut small, mut large) = (Vec::new(), Vec::new());
    let asked = "BEGIN TRAN INSERT INTO dbo.T1(col1) VALUES(@i); COMMIT TRAN WITH (DELAYED_DURABILITY = ON);";
    for (option, transaction) in
        [("Disabled", SMALL), ("ALLOWED", SMALL), ("Forced", SMALL), ("ALLOWED", asked)]
    {
        let (flushed, bytes) = cost(server, option, |session| paced(session, count, transaction));
        let blocks = (bytes / 61_440) as i64;
        assert!((flushed - blocks).abs() <= 1, "{option}: {flushed} flushes for {blocks} blocks");
        assert!(flushed * 100 < count, "{option}: {flushed} flushes for {count} commits");
        small.push(flushed);
        large.push(cost(server, option, |session| one_large(session, count)).0);
    }
    (small, large)
}

/// Claims 14, 80, 81, 84, 88 and 237: the option can be set and has no effect; no commit flushes, only full blocks do: less than one flush in
/// a hundred commits, and an equal number for every option, although time passes between the commits.
#[test]
fn no_commit_in_tempdb_flushes_whatever_the_option() {
    on_a_machine(80, |os| {
        let server = Server::open(os);
        let (small, large) = flushes_by_option(&server);
        for counts in [&small, &large] {
            // The start position within a block makes one block's difference; the tolerance is 2 % more.
            let (low, high) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
            assert!(high - low <= 1 + high / 50, "{counts:?}");
        }
        let commit_reason = log::FlushReason::Commit.index();
        let reasons = server.instance.tempdb().log().stats().flushes_by_reason_total;
        assert_eq!(reasons[commit_reason], 0);
        let session = server.session_in("tempdb");
        server.stop(session);
    });
}

/// Claims 80, 84 and 85: the comparisons detect a tempdb whose log is flushed by time, as that of delayed commits in other databases is:
/// both fail on it.
#[test]
fn a_timed_drain_of_tempdb_would_be_seen() {
    type Comparison = fn(&Server);
    let comparisons: [(&str, Comparison); 2] = [
        ("flushes for", |server| drop(flushes_by_option(server))),
        ("flushes against", |server| {
            let (tempdb, user) = small_in_both(server);
            assert!(2 * tempdb < user, "{tempdb} flushes against {user}");
        }),
    ];
    for (says, comparison) in comparisons {
        for bug in [None, Some(Bug::TempdbDrains)] {
            let world = World::new(84, Profile { switches_max: 40_000_000, ..Profile::constant_latency() });
            world.plant(bug);
            let report = world.run(move |os| {
                let (server, session) = Server::with_table(os);
                comparison(&server);
                server.stop(session);
            });
            let found = report.failures.iter().any(|failure| failure.contains(says));
            assert_eq!(found, bug.is_some(), "{says}, {bug:?}: {:?}", report.failures);
        }
    }
}

/// Claims 82 and 83: a record of an insertion in tempdb contains no image of the row and is smaller than in a user database.
#[test]
fn an_insertion_in_tempdb_logs_no_row() {
    on_a_machine(82, |os| {
        let (server, mut session) = Server::with_table(os);
        let image = "a row that redo would need";
        let mut sizes = Vec::new();
        for database in [server.database(), server.instance.tempdb()] {
            run(
                &mut session,
                &format!("USE {}; CREATE TABLE dbo.T2(filler varchar(60) NOT NULL)", database.name()),
            );
            let from = database.log().last();
            repeat(&mut session, 1, 50, &format!("INSERT dbo.T2(filler) VALUES('{image}');"));
            run(&mut session, "EXEC sys.sp_flush_log");
            let (mut bytes, mut count, mut with_image) = (0, 0, 0);
            for record in database.log().read_from(if from.is_null() { Lsn::NULL } else { from }) {
                let record = record.unwrap();
                if record.lsn > from && record.header.op == LogOp::InsertRows {
                    bytes += record.payload.len();
                    count += 1;
                    with_image +=
                        usize::from(record.payload.windows(image.len()).any(|part| part == image.as_bytes()));
                }
            }
            assert_eq!(count, 50);
            sizes.push((bytes / count, with_image));
        }
        assert_eq!((sizes[0].1, sizes[1].1), (50, 0), "images in user database and tempdb");
        assert!(sizes[1].0 < sizes[0].0, "{sizes:?} bytes a record");
        server.stop(session);
    });
}

/// Claim 82: rollback in tempdb is exact all the same: whole transactions, savepoints and failed statements, for rows inserted, updated
/// (longer, shorter, of another key) and deleted.
#[test]
fn rollback_in_tempdb_is_exact() {
    for seed in 0..6 {
        on_a_machine(seed, move |os| {
            let server = Server::open(os);
            let mut session = server.session_in("tempdb");
            run(
                &mut session,
                "CREATE TABLE dbo.T1(k int NOT NULL PRIMARY KEY, v varchar(400) NOT NULL, INDEX ix (v)); \
                 CREATE TABLE #heap(k int NOT NULL, v varchar(400) NOT NULL)",
            );
            repeat(
                &mut session,
                0,
                60,
                "INSERT dbo.T1 VALUES(@i, REPLICATE('a', @i)); INSERT #heap VALUES(@i, REPLICATE('b', @i));",
            );
            let state = "SELECT 1 AS t, k, v FROM dbo.T1 UNION ALL SELECT 2, k, v FROM #heap ORDER BY t, k";
            let mut rng = os.rng("statements");
            for _ in 0..12 {
                let before = rows(&mut session, state);
                run(&mut session, "BEGIN TRAN");
                change(&mut session, &mut rng);
                let middle = rows(&mut session, state);
                run(&mut session, "SAVE TRAN here");
                change(&mut session, &mut rng);
                assert_eq!(
                    numbers(&run(
                        &mut session,
                        "INSERT dbo.T1 SELECT 500 - k, v FROM dbo.T1 WHERE k < 3 UNION ALL SELECT MIN(k), 'twice' FROM dbo.T1"
                    ))[0],
                    2627
                );
                run(&mut session, "ROLLBACK TRAN here");
                assert_eq!(rows(&mut session, state), middle);
                run(&mut session, "ROLLBACK");
                assert_eq!(rows(&mut session, state), before);
                change(&mut session, &mut rng);
            }
            server.stop(session);
        });
    }
}

/// A few changes drawn from the seed.
fn change(session: &mut Session, rng: &mut os::Rng) {
    for _ in 0..6 {
        let (key, length, table) =
            (rng.below(60), rng.below(400), ["dbo.T1", "#heap"][rng.below(2) as usize]);
        let text = match rng.below(4) {
            0 => format!("DELETE {table} WHERE k = {key}"),
            1 => format!("UPDATE {table} SET v = REPLICATE('c', {length}) WHERE k % 7 = {}", key % 7),
            2 => format!(
                "UPDATE {table} SET k = k + 1000 WHERE k = {key} AND NOT EXISTS (SELECT * FROM {table} AS o WHERE o.k = {key} + 1000)"
            ),
            _ => format!(
                "IF NOT EXISTS (SELECT * FROM {table} WHERE k = {key}) INSERT {table} VALUES({key}, REPLICATE('d', {length}))"
            ),
        };
        let seen = run(session, &text);
        assert!(seen.messages.is_empty(), "{text}: {:?}", seen.messages);
    }
}

const SMALL_COUNT: i64 = 30_000;

/// Flushes of the same small transactions at the same pace in tempdb and, delayed, in a user database.
fn small_in_both(server: &Server) -> (i64, i64) {
    let mut session = server.session();
    server.database().log().suspend_background_flush(false);
    run(
        &mut session,
        &format!("ALTER DATABASE {NAME} SET DELAYED_DURABILITY = FORCED; EXEC sys.sp_flush_log"),
    );
    let before = flushes(&mut session, NAME);
    paced(&mut session, SMALL_COUNT, SMALL);
    run(&mut session, "EXEC sys.sp_flush_log");
    let user = flushes(&mut session, NAME) - before;
    session.close();
    let (tempdb, _) = cost(server, "Disabled", |session| paced(session, SMALL_COUNT, SMALL));
    (tempdb, user)
}

/// Claims 85 and 86: many small transactions flush less than half as often in tempdb as delayed ones in a user database at the same pace; one large transaction takes
/// between a half and 0.85 of the flushes that it takes in a user database.
#[test]
fn tempdb_flushes_less_than_a_user_database() {
    on_a_machine(85, |os| {
        let (server, mut session) = Server::with_table(os);
        let (tempdb_small, user_delayed) = small_in_both(&server);
        assert!(2 * tempdb_small < user_delayed, "{tempdb_small} flushes against {user_delayed}");
        run(
            &mut session,
            &format!("ALTER DATABASE {NAME} SET DELAYED_DURABILITY = DISABLED; EXEC sys.sp_flush_log"),
        );
        let before = flushes(&mut session, NAME);
        one_large(&mut session, 4 * SMALL_COUNT);
        let user_large = flushes(&mut session, NAME) - before;
        let (tempdb_large, _) = cost(&server, "Disabled", |session| one_large(session, 4 * SMALL_COUNT));
        let ratio = tempdb_large as f64 / user_large as f64;
        assert!(
            (0.5..0.85).contains(&ratio),
            "{tempdb_large} flushes in tempdb, {user_large} in a user database"
        );
        assert_eq!(keys(&mut session).len() as i64, 5 * SMALL_COUNT);
        server.stop(session);
    });
}
