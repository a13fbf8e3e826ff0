//! MAX_DELAY, MAX_LOSS and FLUSH of DELAYED_DURABILITY through T-SQL, and `sys.dm_db_loss_window`, on a simulated machine.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::Arc;

use crate::common::simulated::{NAME, Server, number, on_a_machine, repeat};
use crate::common::{rows, run};
use hardpan_session::Session;
use log::FlushReason;
use os::sim::{End, Profile, World};
use os::{Latch, LatchRank, WaitType};

fn set(session: &mut Session, text: &str) {
    run(session, &format!("ALTER DATABASE {NAME} SET DELAYED_DURABILITY = {text}"));
}

fn window(session: &mut Session, columns: &str) -> Vec<String> {
    rows(
        session,
        &format!("SELECT {columns} FROM sys.dm_db_loss_window WHERE database_id = DB_ID(N'{NAME}')"),
    )
}

const OPTIONS: &str = "delayed_flush, flush_interval_ms, max_delay_ms, max_loss_kb";

#[test]
fn bounds_and_policy_are_kept_over_a_restart() {
    let world = World::new(1, Profile::constant_latency());
    world
        .run(|os| {
            let (server, mut session) = Server::with_table(os);
            assert_eq!(window(&mut session, OPTIONS), ["EAGER|NULL|NULL|NULL"]);
            set(
                &mut session,
                "ALLOWED (FLUSH = TIMED, FLUSH_INTERVAL = 7 MS, MAX_DELAY = 10 MS, MAX_LOSS = 480 KB)",
            );
            assert_eq!(window(&mut session, OPTIONS), ["TIMED|7|10|480"]);
            set(&mut session, "FORCED (MAX_DELAY = 2 SECONDS)");
            assert_eq!(window(&mut session, OPTIONS), ["TIMED|7|2000|480"], "what is not named stays");
            server.stop(session);
        })
        .assert_ok();
    world
        .run(|os| {
            let server = Server::open(os);
            let mut session = server.session();
            assert_eq!(window(&mut session, OPTIONS), ["TIMED|7|2000|480"]);
            let bounds = server.database().log().loss_window().bounds;
            assert_eq!((bounds.delay_ns_max, bounds.bytes_max), (Some(2_000_000_000), Some(480 << 10)));
            set(&mut session, "ALLOWED (FLUSH = BLOCK_FULL, MAX_DELAY = 0 MS, MAX_LOSS = 0)");
            assert_eq!(window(&mut session, OPTIONS), ["BLOCK_FULL|NULL|NULL|NULL"]);
            assert_eq!(
                rows(&mut session, "SELECT COUNT(*) FROM sys.dm_db_loss_window WHERE database_id = 2"),
                ["0"]
            );
            server.stop(session);
        })
        .assert_ok();
}

#[test]
fn the_view_tells_what_each_accident_would_take() {
    let world = World::new(2, Profile::constant_latency());
    let device = world.clone();
    let report = world.run(move |os| {
        let (server, mut session) = Server::with_table(os);
        set(&mut session, "FORCED");
        repeat(&mut session, 1, 5, "INSERT dbo.T1 VALUES (@i);");
        os.sleep(3_000_000, WaitType::WAITFOR).unwrap();
        let now = "commits_at_risk, IIF(bytes_at_risk BETWEEN 5 * 37 AND 5 * 60, 'bytes', ''), IIF(ms_at_risk >= 3, 'ms', ''), \
                   process_death_commits, planned_stop_commits, planned_stop_bytes, power_loss_commits";
        assert_eq!(window(&mut session, now), ["5|bytes|ms|5|0|0|5"]);
        run(&mut session, "EXEC sys.sp_flush_log");
        assert_eq!(window(&mut session, now), ["0|||0|0|0|0"]);
        let most = "highest_commits_at_risk, IIF(highest_ms_at_risk >= 3, 'ms', ''), delayed_commit_count, bound_wait_count";
        assert_eq!(window(&mut session, most), ["5|ms|5|0"]);
        // With a bound, only the bound itself causes flushes here.
        set(&mut session, "FORCED (MAX_LOSS = 1 KB)");
        repeat(&mut session, 6, 500, "INSERT dbo.T1 VALUES (@i);");
        assert!(server.flushes_for(FlushReason::LossBound) >= 5);
        assert_eq!(window(&mut session, "IIF(bytes_at_risk <= 1024, 'within', ''), IIF(bound_wait_count >= 5, 'waits', '')"), ["within|waits"]);
        let risk = number(&mut session, "SELECT commits_at_risk FROM sys.dm_db_loss_window WHERE database_id = DB_ID()");
        assert!(risk <= 1024 / 37, "{risk}");
        device.power_off();
    });
    assert_eq!(report.end, End::PowerOff, "{:?}", report.failures);
    world
        .run(|os| {
            let server = Server::open(os);
            let mut session = server.session();
            let there = number(&mut session, "SELECT COUNT(*) FROM dbo.T1");
            assert!(
                (505 - 1024 / 37..=505).contains(&there),
                "{there} rows: at most a kilobyte of log may be lost"
            );
            server.stop(session);
        })
        .assert_ok();
}

/// What the view calls bytes at risk, and sys.dm_tran_database_transactions the log that a transaction has used, are the bytes that
/// sys.fn_dblog shows of those transactions: no upper bounds of headers that are packed.
#[test]
fn bytes_at_risk_are_the_bytes_of_the_records() {
    on_a_machine(8, |os| {
        let (server, mut session) = Server::with_table(os);
        set(&mut session, "FORCED (FLUSH = SUSPENDED)");
        run(&mut session, "CREATE TABLE dbo.wide (i INT PRIMARY KEY, s VARCHAR(4000))");
        run(&mut session, "EXEC sys.sp_flush_log");
        let since = rows(&mut session, "SELECT MAX([Current LSN]) FROM sys.fn_dblog(NULL, NULL)").remove(0);
        let logged = format!(
            "SELECT SUM(CAST([Log Record Length] AS BIGINT)) FROM sys.fn_dblog(NULL, NULL) \
             WHERE [Current LSN] > '{since}' AND [Transaction ID] IN (SELECT [Transaction ID] FROM sys.fn_dblog(NULL, NULL) \
             WHERE Operation = 'LOP_COMMIT_XACT' AND [Flag Bits] & 128 <> 0)"
        );
        let changes = [
            "INSERT dbo.T1 VALUES (1)",
            "INSERT dbo.wide VALUES (1, 'x'), (2, REPLICATE('y', 3000)), (3, 'z')",
            "UPDATE dbo.wide SET s = REPLICATE('w', 100) WHERE i < 3",
            "BEGIN TRAN DELETE dbo.T1 SAVE TRAN s DELETE dbo.wide ROLLBACK TRAN s COMMIT",
            "CREATE TABLE dbo.more (i INT)",
        ];
        for (count, change) in (1..).zip(changes) {
            run(&mut session, change);
            let risk = window(&mut session, "commits_at_risk, bytes_at_risk, power_loss_bytes").remove(0);
            let bytes = number(&mut session, &logged);
            assert_eq!(risk, format!("{count}|{bytes}|{bytes}"), "{change}");
        }
        run(&mut session, "BEGIN TRAN INSERT dbo.T1 VALUES (7), (8)");
        let mine = "SELECT SUM(CAST([Log Record Length] AS BIGINT)) FROM sys.fn_dblog(NULL, NULL) WHERE [Xact ID] IS NOT NULL \
                    AND [Transaction ID] = (SELECT TOP (1) [Transaction ID] FROM sys.fn_dblog(NULL, NULL) ORDER BY [Current LSN] DESC)";
        let used = "SELECT database_transaction_log_bytes_used FROM sys.dm_tran_database_transactions \
                    WHERE database_id = DB_ID() AND database_transaction_log_record_count > 0";
        assert_eq!(
            number(&mut session, used),
            number(&mut session, &mine.replace("[Xact ID] IS NOT NULL AND ", ""))
        );
        run(&mut session, "ROLLBACK");
        server.stop(session);
    });
}

/// SUSPENDED: no background flush, with or without bounds; a waiting session causes one; the policy is shown, stored and ended like any other.
#[test]
fn a_suspended_drain_writes_for_those_who_wait_only() {
    on_a_machine(6, |os| {
        let (server, mut session) = Server::with_table(os);
        server.database().log().suspend_background_flush(false);
        set(&mut session, "FORCED (FLUSH = SUSPENDED, MAX_DELAY = 20 MS)");
        assert_eq!(window(&mut session, OPTIONS), ["SUSPENDED|NULL|20|NULL"]);
        let flushes = || server.database().log().stats().flushes_total;
        run(&mut session, "EXEC sys.sp_flush_log");
        let before = flushes();
        repeat(&mut session, 1, 5, "INSERT dbo.T1 VALUES (@i);");
        os.sleep(15_000_000, WaitType::WAITFOR).unwrap();
        assert_eq!(flushes(), before, "half of the bound is over, and nothing drains");
        run(&mut session, "EXEC sys.sp_flush_log");
        assert_eq!((flushes(), window(&mut session, "commits_at_risk")), (before + 1, vec!["0".to_owned()]));
        repeat(&mut session, 6, 6, "INSERT dbo.T1 VALUES (@i);");
        os.sleep(25_000_000, WaitType::WAITFOR).unwrap();
        assert_eq!(flushes(), before + 1);
        repeat(&mut session, 7, 7, "INSERT dbo.T1 VALUES (@i);");
        assert_eq!(
            server.flushes_for(FlushReason::LossBound),
            1,
            "the bound holds: the commit waits for itself"
        );
        set(&mut session, "FORCED (FLUSH = EAGER)");
        repeat(&mut session, 8, 8, "INSERT dbo.T1 VALUES (@i);");
        os.sleep(5_000_000, WaitType::WAITFOR).unwrap();
        assert_eq!(window(&mut session, "commits_at_risk"), ["0"]);
        server.stop(session);
    });
}

/// With a log cache that survives the process, its death loses no delayed commit: the view says so before, the rows and tickets after. An orderly
/// stop and DROP DATABASE leave no such memory behind.
#[test]
fn what_a_server_that_dies_had_acknowledged_is_there() {
    let world = World::new(5, Profile::constant_latency());
    let killer = world.clone();
    let ticket = Arc::new(Latch::new(LatchRank::Leaf, String::new()));
    let noted = Arc::clone(&ticket);
    let report = world.run(move |os| {
        drop(Server::with_table(os));
        killer.kill_process();
    });
    assert_eq!(report.end, End::Killed, "{:?}", report.failures);
    let killer = world.clone();
    let report = world.run(move |os| {
        let server = Server::open_outliving(os);
        server.database().log().suspend_background_flush(true);
        let mut session = server.session();
        set(&mut session, "FORCED");
        repeat(&mut session, 1, 5, "INSERT dbo.T1 VALUES (@i);");
        let columns = "commits_at_risk, process_death_commits, process_death_bytes, power_loss_commits, log_cache_outlives_process";
        assert_eq!(window(&mut session, columns), ["5|0|0|5|1"]);
        *noted.lock() = rows(&mut session, "SELECT CONVERT(varchar(80), @@COMMIT_TICKET, 1)").remove(0);
        killer.kill_process();
    });
    assert_eq!(report.end, End::Killed, "{:?}", report.failures);
    let left = world.clone();
    world
        .run(move |os| {
            let server = Server::open_outliving(os);
            let mut session = server.session();
            assert_eq!(rows(&mut session, "SELECT COUNT(*), MAX(col1) FROM dbo.T1"), ["5|5"]);
            let status = format!("SELECT sys.fn_commit_status({})", &*ticket.lock());
            assert_eq!(rows(&mut session, &status), ["HARDENED"]);
            assert!(server.flushes_for(FlushReason::TakeOver) >= 1);
            run(&mut session, "CREATE DATABASE gone");
            let before = left.surviving_names().len();
            run(&mut session, "DROP DATABASE gone");
            assert_eq!(left.surviving_names().len(), before - 1, "its cache went with it");
            server.stop(session);
        })
        .assert_ok();
    assert!(world.surviving_names().is_empty(), "{:?}", world.surviving_names());
    assert!(world.surviving_folders().is_empty(), "{:?}", world.surviving_folders());
}

/// A database that is made READ_ONLY after delayed commits, or was so, opens with all of them after a crash of its server; so does one
/// that is made writable again.
#[test]
fn a_read_only_database_survives_the_death_of_its_server() {
    let world = World::new(7, Profile::constant_latency());
    let life = |text: &'static str, expected: &'static str| {
        let killer = world.clone();
        let report = world.run(move |os| {
            let server = Server::open_outliving(os);
            let mut session = server.session_in("master");
            let seen = format!(
                "SELECT is_read_only, (SELECT COUNT(*) FROM {NAME}.dbo.T1) FROM sys.databases WHERE name = N'{NAME}'"
            );
            assert_eq!(rows(&mut session, &seen), [expected]);
            run(&mut session, text);
            if text.contains("T1") {
                server.database().log().suspend_background_flush(true);
                run(&mut session, &format!("USE {NAME}"));
                repeat(&mut session, 100, 5, "INSERT dbo.T1 VALUES (@i);");
                assert_eq!(window(&mut session, "commits_at_risk, process_death_commits"), ["5|0"]);
                run(&mut session, "USE master");
            }
            killer.kill_process();
        });
        assert_eq!(report.end, End::Killed, "{:?}", report.failures);
    };
    let killer = world.clone();
    world.run(move |os| {
        drop(Server::with_table(os));
        killer.kill_process();
    });
    life("ALTER DATABASE PerformanceV3 SET DELAYED_DURABILITY = FORCED /* then T1 */", "0|0");
    life("ALTER DATABASE PerformanceV3 SET READ_ONLY", "0|5");
    life("SELECT 1", "1|5");
    life("ALTER DATABASE PerformanceV3 SET READ_WRITE", "1|5");
    life("SELECT 2 /* then T1 */", "0|5");
    life("ALTER DATABASE PerformanceV3 SET READ_ONLY", "0|10");
    life("SELECT 1", "1|10");
}

/// A policy that flushes full blocks only: the blocks are as full as in article 000.
#[test]
fn block_full_drains_full_blocks_only() {
    on_a_machine(3, |os| {
        let (server, mut session) = Server::with_table(os);
        server.database().log().suspend_background_flush(false);
        set(&mut session, "FORCED (FLUSH = BLOCK_FULL)");
        let before = server.database().log().stats();
        repeat(&mut session, 1, 6_000, "INSERT dbo.T1 VALUES (@i);");
        os.sleep(100_000_000, WaitType::WAITFOR).unwrap();
        let after = server.database().log().stats();
        let flushes = after.flushes_total - before.flushes_total;
        let bytes = after.flushed_bytes_total - before.flushed_bytes_total;
        assert!(flushes >= 3, "{flushes} flushes");
        assert!(bytes / flushes > 59 * 1024, "{bytes} bytes in {flushes} flushes");
        assert!(
            number(
                &mut session,
                "SELECT commits_at_risk FROM sys.dm_db_loss_window WHERE database_id = DB_ID()"
            ) > 0
        );
        server.stop(session);
    });
}
