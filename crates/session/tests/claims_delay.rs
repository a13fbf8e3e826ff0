//! Article 001's claims about delayed durability (claims 137, 138, 151 to 153, 155 to 157, 160, 163 to 169, 171, 238, 239, 244 and 245): when
//! delayed log becomes durable and which events flush it, how much may be lost, and that nothing else changes.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use crate::common::simulated::{
    NAME, SMALL, Server, connect, flushes, kept, keys, log_file, number, on_a_machine, repeat,
};
use crate::common::{rows, run};
use hardpan_session::Session;
use os::WaitType;
use os::sim::{Effect, Fault, Operation, Profile, World, WriteStep};

const MS: u64 = 1_000_000;

fn set(session: &mut Session, option: &str) {
    assert!(
        run(session, &format!("ALTER DATABASE {NAME} SET DELAYED_DURABILITY = {option}")).messages.is_empty()
    );
    run(session, "EXEC sys.sp_flush_log");
}

/// Claims 137, 238 and 239: delay only decouples the commit from the flush: without further activity a delayed transaction of a few bytes is durable
/// within some ms, and exists if the process is killed then.
#[test]
fn a_delayed_commit_becomes_hard_by_itself() {
    let world = World::new(137, Profile::constant_latency());
    let handle = world.clone();
    world
        .run(move |os| {
            let (server, mut session) = Server::with_table(os);
            set(&mut session, "FORCED");
            run(&mut session, "INSERT dbo.T1 VALUES (1)");
            let log = server.database().log().clone();
            let last = log.last();
            os.sleep(50 * MS, WaitType::SLEEP_TASK).unwrap();
            assert!(log.hardened() < last, "nobody drains it while the test forbids it");
            log.suspend_background_flush(false);
            run(&mut session, "INSERT dbo.T1 VALUES (2)");
            os.sleep(50 * MS, WaitType::SLEEP_TASK).unwrap();
            assert!(log.hardened() > last && log.hardened() == log.last());
            drop((server, session));
            handle.kill_process();
        })
        .assert_ok();
    world
        .run(|os| {
            let server = Server::open(os);
            let mut session = server.session();
            assert_eq!(keys(&mut session), [1, 2]);
            server.stop(session);
        })
        .assert_ok();
}

/// Claim 138: no write of the log is larger than 60 KB, and while the device has time many are smaller.
#[test]
fn a_write_has_at_most_60_kb_and_often_less() {
    let world = World::new(138, Profile { switches_max: 40_000_000, ..Profile::constant_latency() });
    let handle = world.clone();
    world
        .run(move |os| {
            let (server, mut session) = Server::with_table(os);
            set(&mut session, "FORCED");
            server.database().log().suspend_background_flush(false);
            handle.trace_writes();
            repeat(&mut session, 1, 3_000, &format!("{SMALL} IF @i % 50 = 0 WAITFOR DELAY '00:00:00.002';"));
            run(&mut session, "CREATE TABLE dbo.Wide (c char(8000) NOT NULL); INSERT dbo.Wide SELECT TOP (100) 'x' FROM master..spt_values");
            run(&mut session, "EXEC sys.sp_flush_log");
            let writes = handle.take_writes();
            let sizes = |below: usize, above: usize| {
                let of_log = writes.iter().filter(|w| w.path == log_file() && w.step == WriteStep::Completed);
                of_log.filter(|w| (above..=below).contains(&w.len)).count()
            };
            assert_eq!(sizes(usize::MAX, 61_441), 0);
            assert!(sizes(30_000, 512) >= 20, "{} small ones", sizes(30_000, 512));
            assert!(sizes(61_440, 50_000) >= 5, "{} full ones", sizes(61_440, 50_000));
            server.stop(session);
        })
        .assert_ok();
}

/// Claims 152, 163, 167 and 168: one fully durable commit, or sys.sp_flush_log, hardens all earlier delayed transactions: after a power
/// loss right after it all of them exist, and later ones, less than a block, do not.
#[test]
fn a_full_commit_and_sp_flush_log_take_the_delayed_ones_along() {
    for flusher in ["INSERT dbo.T1 VALUES (101)", "EXEC sys.sp_flush_log"] {
        let world = World::new(167, Profile::constant_latency());
        let handle = world.clone();
        let lost = kept(0);
        let noted = lost.clone();
        world
            .run(move |os| {
                let (server, mut session) = Server::with_table(os);
                set(&mut session, "ALLOWED");
                let delayed =
                    "BEGIN TRAN INSERT dbo.T1 VALUES (@i) COMMIT TRANSACTION WITH (DELAYED_DURABILITY = ON);";
                let before = flushes(&mut session, NAME);
                repeat(&mut session, 1, 100, delayed);
                assert_eq!(flushes(&mut session, NAME), before);
                let log = server.database().log().clone();
                let last = log.last();
                run(&mut session, flusher);
                assert_eq!(flushes(&mut session, NAME), before + 1, "one flush for all of them");
                assert!(log.hardened() >= last);
                let bytes = log.stats().record_bytes_total;
                repeat(&mut session, 200, 100, delayed);
                *noted.lock() = log.stats().record_bytes_total - bytes;
                drop((server, session));
                handle.power_off();
            })
            .assert_ok();
        world
            .run(move |os| {
                let server = Server::open(os);
                let mut session = server.session();
                let found = keys(&mut session);
                let expected: Vec<i64> =
                    (1..=if flusher.starts_with("INSERT") { 101 } else { 100 }).collect();
                assert_eq!(found, expected, "{flusher}");
                server.stop(session);
            })
            .assert_ok();
        assert!((1..=61_440).contains(&*lost.lock()), "at most a block is lost");
    }
}

/// Claims 155 and 156: locking is unchanged, but locks are released at the commit, which does not wait: on a slow device, another session
/// gets a row after a delayed commit before a write has ended, and after a full commit only afterwards.
#[test]
fn locks_are_released_without_waiting_for_the_device() {
    for (option, waits) in [("FORCED", false), ("DISABLED", true)] {
        let world = World::new(156, Profile::constant_latency());
        let handle = world.clone();
        world
            .run(move |os| {
                let (server, mut session) = Server::with_table(os);
                run(&mut session, "INSERT dbo.T1 VALUES (1)");
                set(&mut session, option);
                server.database().log().suspend_background_flush(false);
                let effect = Effect::Delay(200 * MS);
                let path_contains = "_log.ldf".to_owned();
                handle.inject(Fault {
                    operation: Operation::Write,
                    path_contains,
                    skip: 0,
                    times: u64::MAX,
                    effect,
                });
                handle.trace_writes();
                run(&mut session, "BEGIN TRAN; UPDATE dbo.T1 SET col1 = 2");
                let shared = server.shared();
                let seen = kept(Vec::new());
                let (noted, world) = (seen.clone(), handle.clone());
                let reader = os.spawn("reader", move || {
                    let mut other = connect(&shared, NAME);
                    let found = keys(&mut other);
                    let ended = world.take_writes().iter().filter(|w| w.step == WriteStep::Completed).count();
                    noted.lock().push((found, ended));
                    other.close();
                });
                os.sleep(MS, WaitType::SLEEP_TASK).unwrap();
                assert!(seen.lock().is_empty(), "READ COMMITTED waits for the open transaction either way");
                run(&mut session, "COMMIT");
                reader.join().unwrap();
                let (found, ended) = seen.lock()[0].clone();
                assert_eq!((found, ended > 0), (vec![2], waits), "{option}: {ended} writes had ended");
                handle.clear_faults();
                server.stop(session);
            })
            .assert_ok();
    }
}

/// Claims 160, 164 and 165: when the device stalls, delayed commits go on until the log's buffers are full: 128 of 60 KB, "about 7 MB", are at
/// risk then and no more; later commits wait for LOGBUFFER, not for WRITELOG.
#[test]
fn a_stalled_device_lets_delayed_commits_fill_the_buffers_and_no_more() {
    let world = World::new(164, Profile { switches_max: 40_000_000, ..Profile::constant_latency() });
    let handle = world.clone();
    world
        .run(move |os| {
            let (server, mut session) = Server::with_table(os);
            run(&mut session, "CREATE TABLE dbo.Wide (c char(4000) NOT NULL)");
            run(&mut session, &format!("ALTER DATABASE {NAME} MODIFY FILE (NAME = {NAME}_log, SIZE = 64MB)"));
            set(&mut session, "FORCED");
            server.database().log().suspend_background_flush(false);
            let waits = "SELECT SUM(CASE wait_type WHEN 'LOGBUFFER' THEN waiting_tasks_count ELSE 0 END), SUM(CASE wait_type WHEN 'WRITELOG' THEN waiting_tasks_count ELSE 0 END)
                         FROM sys.dm_os_wait_stats WHERE wait_type IN ('LOGBUFFER', 'WRITELOG')";
            let before = rows(&mut session, waits)[0].clone();
            let effect = Effect::Delay(5_000 * MS);
            let path_contains = "_log.ldf".to_owned();
            handle.inject(Fault { operation: Operation::Write, path_contains, skip: 0, times: u64::MAX, effect });
            let began_ns = os.clock().monotonic_ns();
            repeat(&mut session, 1, 4_000, "INSERT dbo.Wide VALUES ('x');");
            let stood_ns = os.clock().monotonic_ns() - began_ns;
            handle.clear_faults();
            let most = server.database().log().loss_window().highest.bytes;
            // Log that a write has just hardened still counts for a moment.
            assert!(most <= 8 << 20, "{most} bytes were at risk");
            assert!(most >= 100 * 61_440, "{most} bytes were at risk");
            assert!(stood_ns >= 5_000 * MS, "16 MB do not fit: somebody has waited for the device");
            let after = rows(&mut session, waits)[0].clone();
            let figures = |text: &str| text.split('|').map(|n| n.parse::<i64>().unwrap()).collect::<Vec<_>>();
            let (before, after) = (figures(&before), figures(&after));
            assert!(after[0] > before[0] && after[1] == before[1], "LOGBUFFER and WRITELOG: {before:?} {after:?}");
            server.stop(session);
        })
        .assert_ok();
}

/// Claim 166 as it is here: an orderly stop loses nothing, although applications should not rely on that. Claim 171: nor do changes before a
/// CHECKPOINT get lost, which writes dirty pages and so their log; it is a consequence, not a promise.
#[test]
fn an_orderly_stop_and_a_checkpoint_leave_nothing_behind() {
    let world = World::new(166, Profile::constant_latency());
    let handle = world.clone();
    world
        .run(|os| {
            let (server, mut session) = Server::with_table(os);
            set(&mut session, "FORCED");
            run(&mut session, "INSERT dbo.T1 VALUES (1)");
            server.stop(session);
        })
        .assert_ok();
    world
        .run(move |os| {
            let server = Server::open(os);
            let mut session = server.session();
            server.database().log().suspend_background_flush(true);
            assert_eq!(keys(&mut session), [1]);
            run(&mut session, "INSERT dbo.T1 VALUES (2); CHECKPOINT");
            drop((server, session));
            handle.power_off();
        })
        .assert_ok();
    world
        .run(|os| {
            let server = Server::open(os);
            let mut session = server.session();
            assert_eq!(keys(&mut session), [1, 2]);
            server.stop(session);
        })
        .assert_ok();
}

/// Claim 169: a flush at intervals bounds the loss in time: after a power loss no commit is missing that was acknowledged before the last flush.
#[test]
fn a_flush_now_and_then_bounds_the_loss() {
    let world = World::new(169, Profile::constant_latency());
    let handle = world.clone();
    world
        .run(move |os| {
            let (server, mut session) = Server::with_table(os);
            set(&mut session, "FORCED");
            repeat(&mut session, 1, 95, "INSERT dbo.T1 VALUES (@i); WAITFOR DELAY '00:00:00.5'; IF @i % 10 = 0 EXEC sys.sp_flush_log;");
            drop((server, session));
            handle.power_off();
        })
        .assert_ok();
    world
        .run(|os| {
            let server = Server::open(os);
            let mut session = server.session();
            assert_eq!(keys(&mut session), (1..=90).collect::<Vec<i64>>(), "five seconds are lost, not more");
            server.stop(session);
        })
        .assert_ok();
}

/// Claims 153, 244 and 245: COMMIT accepts the option after TRAN, TRANSACTION and a name; in a procedure called within a transaction it only
/// decrements the count, and the outer COMMIT decides for the whole; the option does not carry over to later commits.
#[test]
fn the_option_belongs_to_one_commit() {
    on_a_machine(244, |os| {
        let (server, mut session) = Server::with_table(os);
        set(&mut session, "ALLOWED");
        run(
            &mut session,
            "CREATE PROCEDURE dbo.activity_log @i int AS
             BEGIN TRAN; INSERT dbo.T1 VALUES (@i); COMMIT TRAN WITH (DELAYED_DURABILITY = ON)",
        );
        let flushed = |session: &mut Session, text: &str| {
            let before = flushes(session, NAME);
            let seen = run(session, text);
            // An inner commit that asks for delay gets the message that it decides nothing.
            assert!(seen.messages.iter().all(|message| message.0 == 42957), "{text}: {:?}", seen.messages);
            flushes(session, NAME) - before
        };
        for text in [
            "BEGIN TRAN; INSERT dbo.T1 VALUES (1); COMMIT TRAN WITH (DELAYED_DURABILITY = ON)",
            "BEGIN TRANSACTION; INSERT dbo.T1 VALUES (1); COMMIT TRANSACTION WITH (DELAYED_DURABILITY = ON)",
            "BEGIN TRAN named; INSERT dbo.T1 VALUES (1); COMMIT TRAN named WITH (DELAYED_DURABILITY = ON)",
            "EXEC dbo.activity_log 1",
        ] {
            assert_eq!(flushed(&mut session, text), 0, "{text}");
            assert_eq!(
                flushed(&mut session, "INSERT dbo.T1 VALUES (2)"),
                1,
                "the next one is fully durable again: {text}"
            );
        }
        let nested =
            "BEGIN TRAN; INSERT dbo.T1 VALUES (3); EXEC dbo.activity_log 4; INSERT dbo.T1 VALUES (5); COMMIT";
        assert_eq!(flushed(&mut session, nested), 1, "the outer commit is a full one, and so is the whole");
        let nested = "BEGIN TRAN; EXEC dbo.activity_log 6; ROLLBACK";
        run(&mut session, nested);
        assert_eq!(
            number(&mut session, "SELECT COUNT(*) FROM dbo.T1 WHERE col1 = 6"),
            0,
            "nothing is committed before"
        );
        server.stop(session);
    });
}
