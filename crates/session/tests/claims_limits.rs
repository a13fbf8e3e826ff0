//! The log manager's limits and counters as article 002 describes them: claims 252 to 254, 260 to 263, 272, 275, 276, 278, 282 and 283, on
//! slow simulated devices; which session met a limit, how often and how long.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use crate::common::simulated::{NAME, SMALL, Server, connect, number, on_a_machine, repeat};
use crate::common::{rows, run};
use hardpan_session::Session;
use os::sim::{Profile, World};
use os::{JoinHandle, Os, WaitType};

const MS_NS: u64 = 1_000_000;
/// A durable write of the slow device.
const WRITE_NS: u64 = 200 * MS_NS;

/// A machine whose durable writes take from..to.
fn machine(seed: u64, durable_write_ns: (u64, u64), body: impl FnOnce(&Os) + Send + 'static) {
    let profile = Profile { durable_write_ns, ns_per_kib: 0, switches_max: 40_000_000, ..Profile::nvme() };
    World::new(seed, profile).run(body).assert_ok();
}

/// A database with narrow and wide rows, whose log need not grow; a session in it.
fn with_tables(server: &Server, name: &str) -> Session {
    let mut session = server.session_in("master");
    let files = format!(
        "ON (NAME = d, FILENAME = 'C:\\{name}.mdf') LOG ON (NAME = l, FILENAME = 'C:\\{name}.ldf', SIZE = 128MB)"
    );
    run(&mut session, &format!("CREATE DATABASE {name} {files}"));
    run(
        &mut session,
        &format!(
            "USE {name}; CREATE TABLE dbo.T1(col1 INT NOT NULL); CREATE TABLE dbo.Wide(col1 INT NOT NULL, filler char(8000) NOT NULL)"
        ),
    );
    session
}

/// In a session of its own: inserts wide rows in one transaction, about seven to a block of the log.
fn write_wide(os: &Os, server: &Server, database: &'static str, count: u32) -> JoinHandle {
    let shared = server.shared();
    os.spawn("writer", move || {
        let mut other = connect(&shared, database);
        run(&mut other, &format!("INSERT dbo.Wide SELECT TOP ({count}) 1, 'x' FROM master..spt_values"));
        other.close();
    })
}

fn counter(session: &mut Session, name: &str, instance: &str) -> i64 {
    number(
        session,
        &format!(
            "SELECT cntr_value FROM sys.dm_os_performance_counters WHERE object_name LIKE '%:Databases%' AND counter_name = '{name}' AND \
             instance_name = '{instance}'"
        ),
    )
}

/// Claims 252, 253, 273 and 278: 'Log Bytes Flushed/sec' and 'Log Flushes/sec' are cumulative and grow by the bytes and the writes of the log's
/// file; one divided by the other is the size of a flush, as the article divides 4,858,000 by 124.
#[test]
fn the_counters_of_flushes_are_those_of_the_file() {
    on_a_machine(252, |os| {
        let server = Server::open(os);
        let mut session = with_tables(&server, NAME);
        let of_file = "SELECT CONCAT(num_of_bytes_written, '|', num_of_writes) FROM sys.dm_io_virtual_file_stats(DB_ID(), 2)";
        let figures = |session: &mut Session| {
            let file: Vec<i64> =
                rows(session, of_file)[0].split('|').map(|cell| cell.parse().unwrap()).collect();
            let (bytes, flushes) =
                (counter(session, "Log Bytes Flushed/sec", NAME), counter(session, "Log Flushes/sec", NAME));
            (file[0], file[1], bytes, flushes)
        };
        for work in [
            format!("DECLARE @i int = 1; {SMALL}"),
            "INSERT dbo.Wide SELECT TOP (70) 1, 'x' FROM master..spt_values".into(),
        ] {
            let before = figures(&mut session);
            for _ in 0..10 {
                run(&mut session, &work);
            }
            let after = figures(&mut session);
            let (bytes, flushes) = (after.2 - before.2, after.3 - before.3);
            assert!(flushes >= 10, "{work}: {flushes} flushes");
            assert_eq!((bytes, flushes), (after.0 - before.0, after.1 - before.1), "{work}");
            let is_small = work.contains("T1");
            let of_one = bytes / flushes;
            assert!(if is_small { of_one == 512 } else { of_one > 30_000 }, "{work}: {of_one} bytes a flush");
        }
        let kind = "SELECT DISTINCT cntr_type FROM sys.dm_os_performance_counters WHERE counter_name IN ('Log Bytes Flushed/sec', 'Log Flushes/sec')";
        assert_eq!(rows(&mut session, kind), ["272696576"], "PERF_COUNTER_BULK_COUNT: it only grows");
        server.stop(session);
    });
    assert_eq!((4_858_000 / 124, 9_600_000 / 5_000), (39_177, 1_920), "the article's divisions");
}

/// Claim 254: 'Log Flush Wait Time' exists for each database and for all; it grows with the device's write times.
#[test]
fn the_time_of_flush_waits_grows_with_the_latency() {
    for latency_ms in [1, 20] {
        machine(254, (latency_ms * MS_NS, latency_ms * MS_NS), move |os| {
            let server = Server::open(os);
            let mut session = with_tables(&server, NAME);
            let of = |session: &mut Session, instance| counter(session, "Log Flush Wait Time", instance);
            let before = (of(&mut session, NAME), of(&mut session, "_Total"));
            repeat(&mut session, 1, 30, SMALL);
            let grown = (of(&mut session, NAME) - before.0, of(&mut session, "_Total") - before.1);
            let expected = 30 * latency_ms as i64;
            assert!((expected..expected + 20).contains(&grown.0), "{latency_ms} ms: {grown:?}");
            assert!((grown.0..grown.0 + 20).contains(&grown.1), "{latency_ms} ms: {grown:?}");
            server.stop(session);
        });
    }
}

const LIMITS: &str = "SELECT outstanding_ios, outstanding_kb, highest_outstanding_ios FROM sys.dm_db_log_limits WHERE database_id = DB_ID()";

/// Claims 260, 261 and 276: I/O in progress is a gauge, of writes and of bytes, equal to the rows of sys.dm_io_pending_io_requests; at the limit no
/// write is issued until one is acknowledged, and then one: the number stays at the limit as long as there is more to write.
#[test]
fn at_the_limit_each_acknowledgement_lets_one_write_go() {
    machine(261, (WRITE_NS / 2, 2 * WRITE_NS), |os| {
        let server = Server::open(os);
        let mut session = with_tables(&server, NAME);
        run(&mut session, &format!("ALTER DATABASE {NAME} SET LOG_LIMITS = SQL2005_X86"));
        // No session waits for growth meanwhile.
        run(&mut session, &format!("ALTER DATABASE {NAME} MODIFY FILE (NAME = d, SIZE = 16MB)"));
        let pending = "SELECT COUNT(*) FROM sys.dm_io_pending_io_requests r JOIN sys.dm_io_virtual_file_stats(DB_ID(), 2) f ON f.file_handle = r.io_handle";
        assert_eq!(rows(&mut session, LIMITS)[0].split('|').next(), Some("0"), "idle");
        let writer = write_wide(os, &server, NAME, 400);
        let mut seen = Vec::new();
        loop {
            os.sleep(WRITE_NS / 20, WaitType::WAITFOR).unwrap();
            let (gauge, requests) = (rows(&mut session, LIMITS), number(&mut session, pending));
            let cells: Vec<i64> = gauge[0].split('|').map(|cell| cell.parse().unwrap()).collect();
            assert!(
                (cells[0] - requests).abs() <= 1,
                "{gauge:?}, {requests} requests: one may have ended meanwhile"
            );
            assert!(cells[0] <= 8 && cells[1] <= 480 && requests <= 8, "never more: {gauge:?}, {requests}");
            assert_eq!(cells[0] == 0, cells[1] == 0, "writes have bytes");
            seen.push(cells[0]);
            if cells[0] == 0 && seen.len() > 20 {
                break;
            }
        }
        writer.join().unwrap();
        let first = seen.iter().position(|count| *count == 8).expect("the limit is reached");
        let last = seen.iter().rposition(|count| *count == 8).unwrap();
        let fewer = seen[first..last].iter().filter(|count| **count < 8).count();
        assert!(last - first > 30 && fewer * 20 <= last - first, "one goes for each that ends: {seen:?}");
        assert!(
            seen[last..].windows(2).all(|pair| pair[1] <= pair[0]),
            "nothing is left to be issued: {seen:?}"
        );
        // Averages look low while the limit is reached.
        let average = "SELECT 1.0 * io_stall_write_ms / ms_ticks FROM sys.dm_io_virtual_file_stats(DB_ID(), 2) CROSS JOIN sys.dm_os_sys_info";
        assert!(
            rows(&mut session, average)[0].parse::<f64>().unwrap() < 8.0,
            "Little: writes a ms times their ms"
        );
        assert_eq!(rows(&mut session, LIMITS)[0].rsplit('|').next(), Some("8"), "the gauge keeps the most");
        server.stop(session);
    });
}

/// Claims 262 and 271: the limits are those of the version, 112 writes and 3,840 KB; no option of the server or of a database changes
/// them, only the profile of another version.
#[test]
fn the_limits_are_not_to_be_adjusted() {
    on_a_machine(262, |os| {
        let server = Server::open(os);
        let mut session = with_tables(&server, NAME);
        let limits = "SELECT log_limits, outstanding_ios_max, outstanding_kb_max FROM sys.dm_db_log_limits WHERE database_id = DB_ID()";
        for wrong in ["64", "SQL2014", "112", "'SQL2008_X64'", "(SQL2005_X86)", "NONE"] {
            let seen = run(&mut session, &format!("ALTER DATABASE {NAME} SET LOG_LIMITS = {wrong}"));
            assert!(!seen.messages.is_empty(), "{wrong} is no version");
            assert_eq!(rows(&mut session, limits), ["SQL2012|112|3840"], "{wrong}");
        }
        let options = "SELECT COUNT(*) FROM sys.configurations WHERE name LIKE '%log%limit%' OR name LIKE '%outstanding%' OR name LIKE '%in flight%'";
        assert_eq!(number(&mut session, options), 0);
        server.stop(session);
    });
}

/// Claim 263: each database has limits of its own: two databases at their limits have twice as much in progress.
#[test]
fn each_database_has_its_own_limits() {
    machine(263, (WRITE_NS, WRITE_NS), |os| {
        let server = Server::open(os);
        let names = ["one", "two"];
        let mut sessions = names.map(|name| with_tables(&server, name));
        run(
            &mut sessions[0],
            "ALTER DATABASE one SET LOG_LIMITS = SQL2008_X64; ALTER DATABASE two SET LOG_LIMITS = SQL2005_X86",
        );
        let writers = names.map(|name| write_wide(os, &server, name, 500));
        let mut most = [0; 3];
        for _ in 0..40 {
            os.sleep(WRITE_NS / 10, WaitType::WAITFOR).unwrap();
            let now = names.map(|name| server.instance.database(name).unwrap().log().stats().outstanding_ios);
            most = [most[0].max(now[0]), most[1].max(now[1]), most[2].max(now[0] + now[1])];
        }
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        assert_eq!(most, [32, 8, 40], "at once");
        let [one, two] = sessions;
        two.close();
        server.stop(one);
    });
}

/// Highest number of writes and KB in progress of a database under a profile while the device is stalled: the view's figures equal the device's;
/// and how often each limit was met.
fn most_at_once(
    profile: &'static str,
    work: impl Fn(&Os, &Server) -> Vec<JoinHandle> + Send + 'static,
) -> [i64; 4] {
    let told = crate::common::simulated::kept([0; 4]);
    let into = std::sync::Arc::clone(&told);
    machine(264, (WRITE_NS, WRITE_NS), move |os| {
        let server = Server::open(os);
        let mut session = with_tables(&server, NAME);
        run(&mut session, &format!("ALTER DATABASE {NAME} SET LOG_LIMITS = {profile}"));
        run(&mut session, &format!("ALTER DATABASE {NAME} MODIFY FILE (NAME = d, SIZE = 32MB)"));
        let most_allowed = "SELECT outstanding_ios_max, ISNULL(outstanding_kb_max, 1000000) FROM sys.dm_db_log_limits WHERE database_id = DB_ID()";
        let figures = |session: &mut Session, text: &str| -> Vec<i64> {
            rows(session, text)[0].split('|').map(|cell| cell.parse().unwrap()).collect()
        };
        let allowed = figures(&mut session, most_allowed);
        let workers = work(os, &server);
        let log_file = |server: &Server| server.database().log().files().remove(0).pending;
        let mut most = [0, 0];
        for _ in 0..200 {
            os.sleep(WRITE_NS / 40, WaitType::WAITFOR).unwrap();
            let pending = log_file(&server);
            let (count, bytes) =
                (pending.len() as i64, pending.iter().map(|io| io.bytes as i64).sum::<i64>());
            assert!(
                count <= allowed[0] && bytes <= allowed[1] * 1024,
                "{profile}: {count} writes, {bytes} bytes"
            );
            most = [most[0].max(count), most[1].max(bytes / 1024)];
        }
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        let seen = "SELECT highest_outstanding_ios, highest_outstanding_kb, ios_limit_reached_count, kb_limit_reached_count \
                    FROM sys.dm_db_log_limits WHERE database_id = DB_ID()";
        let seen = figures(&mut session, seen);
        assert!(seen[0] <= allowed[0] && seen[1] <= allowed[1], "{profile}: {seen:?}");
        assert_eq!(most, [seen[0], seen[1]], "{profile}: as the device saw it");
        *into.lock() = [seen[0], seen[1], seen[2], seen[3]];
        server.stop(session);
    });
    *told.lock()
}

/// Claims 264 to 271 with statements of a client: rows of a page reach 8 and 32 writes exactly, 480 and 3,840 KB to within a block, and never more; the
/// 112 of 2012 stay far, because so many of their blocks are more than 3,840 KB.
#[test]
fn statements_reach_each_profile_and_never_more() {
    for (profile, ios, kb, by_count) in [
        ("SQL2000", 8..=8, 400..=480, true),
        ("SQL2005_X86", 8..=8, 400..=480, true),
        ("SQL2005_X64", 8..=9, 420..=480, false),
        ("SQL2008_X86", 8..=8, 400..=480, true),
        ("SQL2008_X64", 32..=32, 1_600..=1_920, true),
        ("SQL2012", 64..=73, 3_780..=3_840, false),
    ] {
        let [most_ios, most_kb, count_met, kb_met] =
            most_at_once(profile, |os, server| vec![write_wide(os, server, NAME, 900)]);
        assert!(
            ios.contains(&most_ios) && kb.contains(&most_kb),
            "{profile}: {most_ios} writes, {most_kb} KB"
        );
        assert_eq!((count_met > 0, kb_met > 0), (by_count, !by_count), "{profile}: which limit it was");
    }
}

/// However many sessions commit, and for whatever reason the log is flushed, small commits collect in the block after the one that is being written:
/// they reach no limit of writes, neither the 112 of 2012 nor 8.
#[test]
fn small_commits_of_many_sessions_reach_no_limit() {
    for profile in ["SQL2012", "SQL2000"] {
        let [most_ios, _, count_met, kb_met] = most_at_once(profile, |os, server| {
            let how = ["", "; EXEC sys.sp_flush_log", "; CHECKPOINT", "; WAITFOR DURABLE @@COMMIT_TICKET"];
            let worker = |number: usize| {
                let shared = server.shared();
                os.spawn("worker", move || {
                    let mut own = connect(&shared, NAME);
                    run(&mut own, &format!("INSERT dbo.T1 VALUES ({number}){}", how[number % how.len()]));
                    own.close();
                })
            };
            (0..120).map(worker).collect()
        });
        assert!((1..=2).contains(&most_ios), "{profile}: {most_ios} writes at once");
        assert_eq!((count_met, kb_met), (0, 0), "{profile}");
    }
}

const MET: &str = "SELECT ios_limit_met_count, ios_limit_met_ms, kb_limit_met_count, kb_limit_met_ms FROM sys.dm_db_log_limit_sessions \
                   WHERE database_id = DB_ID() AND session_id";

/// Claims 270 and 272: a session that commits while the log is at a limit waits longer for WRITELOG; either limit alone does that. The view of
/// sessions shows which limit it was, which sessions waited, how often and how long. It does not list sessions that met none.
#[test]
fn sessions_that_met_a_limit_are_named() {
    let mut waited = Vec::new();
    for (profile, by_count) in [("SQL2012", None), ("SQL2008_X86", Some(true)), ("SQL2005_X64", Some(false))]
    {
        let told = crate::common::simulated::kept((0, Vec::new(), Vec::new(), Vec::new()));
        let into = std::sync::Arc::clone(&told);
        machine(272, (WRITE_NS, WRITE_NS), move |os| {
            let server = Server::open(os);
            let mut session = with_tables(&server, NAME);
            run(&mut session, &format!("ALTER DATABASE {NAME} SET LOG_LIMITS = {profile}"));
            let mut calm = server.session();
            repeat(&mut calm, 1, 2, SMALL);
            let writer = write_wide(os, &server, NAME, 300);
            os.sleep(WRITE_NS / 4, WaitType::WAITFOR).unwrap();
            repeat(&mut session, 5, 1, SMALL);
            let own = rows(&mut session, &format!("{MET} = @@SPID"));
            let log_wait = "SELECT MAX(max_wait_time_ms) FROM sys.dm_exec_session_wait_stats WHERE session_id = @@SPID AND wait_type = 'WRITELOG'";
            let log_wait = number(&mut session, log_wait);
            writer.join().unwrap();
            let of_calm = rows(&mut calm, &format!("{MET} = @@SPID"));
            // The writer's session is over.
            let over = rows(&mut session, &format!("{MET} IS NULL"));
            *into.lock() = (log_wait, own, of_calm, over);
            calm.close();
            server.stop(session);
        });
        let (log_wait, own, of_calm, over) = &*told.lock();
        waited.push(*log_wait);
        assert!(of_calm.is_empty(), "{profile}: {of_calm:?}");
        let Some(by_count) = by_count else {
            assert!(own.is_empty() && over.is_empty(), "{profile}: {own:?} {over:?}");
            continue;
        };
        for met in [own, over] {
            let cells: Vec<i64> = met[0].split('|').map(|cell| cell.parse().unwrap()).collect();
            let (this, other) =
                if by_count { (&cells[..2], &cells[2..]) } else { (&cells[2..], &cells[..2]) };
            assert!(this[0] >= 2 && this[1] >= 300, "{profile}: {cells:?}");
            assert_eq!(other, [0, 0], "{profile}: the other limit is far: {cells:?}");
            assert!(this[1] <= *log_wait.max(&20_000), "{profile}: {cells:?}");
        }
        let own_ms: i64 = own[0].split('|').nth(if by_count { 1 } else { 3 }).unwrap().parse().unwrap();
        assert!(own_ms <= *log_wait, "{profile}: {own_ms} ms of {log_wait} ms");
    }
    assert!(waited[1] > 2 * waited[0] && waited[2] > 2 * waited[0], "claim 272: {waited:?} ms");
}

/// Claim 275: commits of many sessions share flushes.
#[test]
fn many_sessions_share_flushes() {
    machine(275, (2 * MS_NS, 2 * MS_NS), |os| {
        let server = Server::open(os);
        let session = with_tables(&server, NAME);
        let before = server.database().log().stats().flushes_total;
        let workers: Vec<_> = (0..32)
            .map(|worker| {
                let shared = server.shared();
                os.spawn("worker", move || {
                    let mut own = connect(&shared, NAME);
                    repeat(&mut own, worker * 100, 20, SMALL);
                    own.close();
                })
            })
            .collect();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        let flushes = server.database().log().stats().flushes_total - before;
        assert!(
            flushes * 28 <= 640 * 10,
            "640 commits, {flushes} flushes: 2.8 commits each, as the article counts"
        );
        server.stop(session);
    });
}

/// Claim 282: with the limits of 2008, eight times those of 2005 in bytes, latency spikes of a device delay commits less.
#[test]
fn higher_limits_bring_more_through_a_device_with_spikes() {
    let took = ["SQL2005_X64", "SQL2008_X64"].map(|profile| {
        let told = crate::common::simulated::kept(0);
        let into = std::sync::Arc::clone(&told);
        machine(282, (5 * MS_NS, WRITE_NS), move |os| {
            let server = Server::open(os);
            let mut session = with_tables(&server, NAME);
            run(&mut session, &format!("ALTER DATABASE {NAME} SET LOG_LIMITS = {profile}"));
            let began_ns = os.clock().monotonic_ns();
            write_wide(os, &server, NAME, 600).join().unwrap();
            *into.lock() = os.clock().monotonic_ns() - began_ns;
            server.stop(session);
        });
        *told.lock()
    });
    assert!(took[0] > 2 * took[1], "{took:?} ns");
}

/// Claim 283: data in several databases has several logs: the flushes of all together grow with their number.
#[test]
fn several_databases_flush_side_by_side() {
    let rates = [1, 4].map(|databases: i64| {
        let told = crate::common::simulated::kept(0.0);
        let into = std::sync::Arc::clone(&told);
        machine(283, (2 * MS_NS, 2 * MS_NS), move |os| {
            let server = Server::open(os);
            let names = ["one", "two", "three", "four"];
            let mut sessions: Vec<Session> =
                names[..databases as usize].iter().map(|name| with_tables(&server, name)).collect();
            let flushes = |sessions: &mut [Session]| counter(&mut sessions[0], "Log Flushes/sec", "_Total");
            let before = (flushes(&mut sessions), os.clock().monotonic_ns());
            let workers: Vec<_> = (0..4)
                .map(|worker| {
                    let shared = server.shared();
                    os.spawn("worker", move || {
                        let mut own = connect(&shared, names[(worker % databases) as usize]);
                        repeat(&mut own, worker * 100, 50, SMALL);
                        own.close();
                    })
                })
                .collect();
            workers.into_iter().for_each(|worker| worker.join().unwrap());
            let seconds = (os.clock().monotonic_ns() - before.1) as f64 / 1e9;
            *into.lock() = (flushes(&mut sessions) - before.0) as f64 / seconds;
            let mut sessions = sessions.into_iter();
            let first = sessions.next().unwrap();
            sessions.for_each(Session::close);
            server.stop(first);
        });
        *told.lock()
    });
    assert!(rates[1] > 1.8 * rates[0], "{rates:?} flushes a second");
}
