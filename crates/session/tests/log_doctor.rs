//! `sp_log_doctor` on scripted situations, in virtual time on a simulated device: it finds what was caused, and nothing else. Each
//! situation runs twice: the second doctor has no rules, and the test must notice. Claims 246, 256, 257, 261, 272 to 280, 317.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::Arc;

use crate::common::simulated::{NAME, Server, connect, kept, number};
use crate::common::{numbers, rows, run};
use hardpan_session::Session;
use os::sim::{Bug, Effect, Fault, Operation, Profile, World};
use os::{JoinHandle, Os, WaitType};

const MS_NS: u64 = 1_000_000;

/// One line of the doctor's answer.
#[derive(Clone, Debug)]
struct Line {
    number: i32,
    severity: String,
    area: String,
    verdict: String,
    evidence: String,
}

fn ask(session: &mut Session, seconds: u32) -> Vec<Line> {
    let seen = run(session, &format!("DECLARE @s int; EXEC @s = sp_log_doctor {seconds}; SELECT @s"));
    assert!(seen.messages.is_empty(), "{:?}", seen.messages);
    let lines: Vec<Line> = seen.sets[0].1.iter().map(|row| line(row)).collect();
    let complaints = lines.iter().filter(|line| line.is_complaint()).count();
    assert_eq!(seen.sets[1].1, [[complaints.to_string()]], "the status counts what is wrong");
    lines
}

fn line(row: &[String]) -> Line {
    let number = row[0].parse().unwrap();
    let advice_is_needed = row[1] != "ok" && number != 0;
    assert_eq!(!row[5].is_empty(), advice_is_needed, "what to do is said when there is something: {row:?}");
    Line {
        number,
        severity: row[1].clone(),
        area: row[2].clone(),
        verdict: row[3].clone(),
        evidence: row[4].clone(),
    }
}

impl Line {
    fn is_complaint(&self) -> bool {
        matches!(self.severity.as_str(), "warning" | "critical")
    }
}

/// A device with durable writes of this duration.
fn device(write_ns: u64) -> Profile {
    Profile {
        durable_write_ns: (write_ns, write_ns),
        ns_per_kib: 0,
        switches_max: 80_000_000,
        ..Profile::constant_latency()
    }
}

/// Plays a situation with the normal doctor, which must find exactly `complaints` (rules that are warnings or worse) and `notes`, and calls
/// `look`; then with a doctor without rules, whose result must differ if there is anything to find.
fn diagnose(
    profile: &Profile,
    script: fn(&World, &Os) -> Vec<Line>,
    complaints: &[i32],
    notes: &[i32],
    look: fn(&[Line]),
) {
    let play = |bug: Option<Bug>| {
        let world = World::new(7, profile.clone());
        world.plant(bug);
        let (device, result) = (world.clone(), kept(Vec::new()));
        let kept = Arc::clone(&result);
        world.run(move |os| *kept.lock() = script(&device, os)).assert_ok();
        result.lock().clone()
    };
    let of = |lines: &[Line], is_wanted: fn(&Line) -> bool| -> Vec<i32> {
        let mut found: Vec<i32> =
            lines.iter().filter(|l| l.number > 0 && is_wanted(l)).map(|l| l.number).collect();
        found.sort_unstable();
        found
    };
    let lines = play(None);
    assert_eq!((lines[0].number, lines[0].area.as_str()), (0, "what limits commits"));
    assert_eq!(of(&lines, Line::is_complaint), complaints, "complaints of {lines:#?}");
    assert_eq!(of(&lines, |line| line.severity == "note"), notes, "notes of {lines:#?}");
    look(&lines);
    let forgetful = play(Some(Bug::DoctorWithoutRules));
    let is_told_apart = of(&forgetful, Line::is_complaint) != complaints
        || of(&forgetful, |line| line.severity == "note") != notes;
    assert_eq!(is_told_apart, !complaints.is_empty() || !notes.is_empty(), "{forgetful:#?}");
}

/// The line of a rule.
fn of_rule(lines: &[Line], number: i32) -> &Line {
    lines.iter().find(|line| line.number == number).unwrap()
}

/// A server with the tests' database: so much log, and a table of rows of some size.
fn server_with(os: &Os, log: &str) -> (Server, Session) {
    let server = Server::open(os);
    let mut session = server.session_in("master");
    let files = format!(
        "ON (NAME = d, FILENAME = 'C:\\d.mdf', SIZE = 32MB) LOG ON (NAME = l, FILENAME = 'C:\\the_log.ldf', {log})"
    );
    assert!(numbers(&run(&mut session, &format!("CREATE DATABASE {NAME} {files}"))).is_empty());
    let table = "CREATE TABLE dbo.T1 (col1 int NOT NULL, filler char(400) NOT NULL DEFAULT 'x')
                 CREATE TABLE dbo.wide (i int NOT NULL PRIMARY KEY, b char(7000) NOT NULL)";
    run(&mut session, &format!("USE {NAME}"));
    run(&mut session, table);
    run(&mut session, "CHECKPOINT");
    (server, session)
}

/// Sessions that run `body` again and again until so much time has passed.
fn keep_busy(os: &Os, server: &Server, sessions: u32, ms: u32, body: &'static str) -> Vec<JoinHandle> {
    let busy = |at: u32| {
        let shared = server.shared();
        os.spawn(&format!("busy {at}"), move || {
            let mut session = connect(&shared, NAME);
            let text = format!(
                "SET NOCOUNT ON; DECLARE @i int = {at}; DECLARE @end datetime2 = DATEADD(ms, {ms}, SYSUTCDATETIME());
                 WHILE SYSUTCDATETIME() < @end BEGIN {body} END"
            );
            assert!(run(&mut session, &text).messages.is_empty());
            session.close();
        })
    };
    (1..=sessions).map(busy).collect()
}

fn finish(server: Server, session: Session, busy: Vec<JoinHandle>) {
    busy.into_iter().for_each(|one| one.join().unwrap());
    server.stop(session);
}

const COMMIT_OF_THREE_ROWS: &str = "INSERT dbo.T1 (col1) VALUES (@i), (@i), (@i);";

#[test]
fn an_idle_server_is_healthy() {
    fn script(_: &World, os: &Os) -> Vec<Line> {
        let (server, mut session) = server_with(os, "SIZE = 8MB");
        let lines = ask(&mut session, 5);
        finish(server, session, Vec::new());
        lines
    }
    diagnose(&Profile::constant_latency(), script, &[], &[], |lines| {
        assert_eq!(lines.len(), 1, "{lines:#?}");
        assert_eq!(
            (lines[0].severity.as_str(), lines[0].verdict.as_str()),
            ("ok", "Nothing limits commits: there were none.")
        );
    });
}

/// Claim 256.
#[test]
fn a_busy_server_is_healthy() {
    fn script(_: &World, os: &Os) -> Vec<Line> {
        let (server, mut session) = server_with(os, "SIZE = 64MB");
        let busy = keep_busy(os, &server, 4, 1_500, COMMIT_OF_THREE_ROWS);
        let lines = ask(&mut session, 1);
        finish(server, session, busy);
        lines
    }
    diagnose(&Profile::constant_latency(), script, &[], &[], |lines| {
        assert!(
            lines[0].verdict.contains("limits commits, and it is healthy: a write takes 0.19 ms"),
            "{lines:#?}"
        );
        assert_eq!(of_rule(lines, 7).severity, "ok");
    });
}

/// Claims 246 and 257.
#[test]
fn a_slow_device_is_found() {
    fn script(_: &World, os: &Os) -> Vec<Line> {
        let (server, mut session) = server_with(os, "SIZE = 8MB");
        let busy = keep_busy(os, &server, 1, 3_000, COMMIT_OF_THREE_ROWS);
        let lines = ask(&mut session, 2);
        finish(server, session, busy);
        lines
    }
    diagnose(&device(8 * MS_NS), script, &[3], &[], |lines| {
        assert!(
            lines[0].verdict.contains("device limits commits, and it is slow: a write takes 8.0 ms"),
            "{lines:#?}"
        );
        assert!(lines[0].evidence.contains("WRITELOG"), "{lines:#?}");
    });
}

/// Claim 280: the average looks good.
#[test]
fn spikes_of_a_device_are_found() {
    fn script(world: &World, os: &Os) -> Vec<Line> {
        let (server, mut session) = server_with(os, "SIZE = 8MB");
        for spike in 0..20 {
            let fault = Fault {
                operation: Operation::Write,
                path_contains: "the_log".into(),
                skip: 20 + 50 * spike,
                times: 1,
                effect: Effect::Delay(30 * MS_NS),
            };
            world.inject(fault);
        }
        let busy = keep_busy(os, &server, 1, 3_000, COMMIT_OF_THREE_ROWS);
        let lines = ask(&mut session, 2);
        finish(server, session, busy);
        lines
    }
    diagnose(&device(MS_NS), script, &[], &[4], |lines| {
        assert!(lines[0].verdict.contains("it is healthy"), "{lines:#?}");
    });
}

#[test]
fn a_device_that_does_not_answer_is_found() {
    fn script(world: &World, os: &Os) -> Vec<Line> {
        let (server, mut session) = server_with(os, "SIZE = 8MB");
        let stall = Fault {
            times: u64::MAX,
            effect: Effect::Delay(5_000 * MS_NS),
            ..Fault::fail_once(Operation::Harden, 0)
        };
        world.inject(stall.on("the_log"));
        let busy = keep_busy(os, &server, 1, 1, COMMIT_OF_THREE_ROWS);
        os.sleep(100 * MS_NS, WaitType::WAITFOR).unwrap();
        let lines = ask(&mut session, 2);
        world.clear_faults();
        finish(server, session, busy);
        lines
    }
    diagnose(&device(MS_NS), script, &[2], &[], |lines| {
        assert_eq!(lines[0].severity, "critical", "{lines:#?}");
    });
}

/// Large transactions on a device at the end of the healthy range, with the limits of an old release.
fn large_transactions(os: &Os, limits: &str, rows: u32, ms: u32) -> Vec<Line> {
    let (server, mut session) = server_with(os, "SIZE = 128MB");
    run(
        &mut session,
        &format!(
            "INSERT dbo.wide SELECT TOP ({rows}) number, 'x' FROM master..spt_values WHERE type = 'P' ORDER BY number"
        ),
    );
    run(&mut session, &format!("CHECKPOINT; ALTER DATABASE {NAME} SET LOG_LIMITS = {limits}"));
    let busy = keep_busy(
        os,
        &server,
        1,
        ms,
        "SET @i += 1; UPDATE dbo.wide SET b = REPLICATE(CHAR(65 + @i % 26), 7000);",
    );
    let lines = ask(&mut session, 1);
    finish(server, session, busy);
    lines
}

/// Claims 261, 272 and 274.
#[test]
fn the_limit_of_writes_in_flight_is_found() {
    diagnose(
        &device(4 * MS_NS),
        |_, os| large_transactions(os, "SQL2008_X86", 200, 1_500),
        &[5],
        &[9],
        |lines| {
            assert!(
                lines[0].verdict.contains("limit of 8 log writes in flight limits commits"),
                "{lines:#?}"
            );
            assert!(of_rule(lines, 5).evidence.contains("of 3840 KB allowed"), "{lines:#?}");
        },
    );
}

/// Claim 279.
#[test]
fn the_limit_of_bytes_in_flight_is_found() {
    diagnose(
        &device(4 * MS_NS),
        |_, os| large_transactions(os, "SQL2005_X64", 200, 1_500),
        &[6],
        &[9],
        |lines| {
            assert!(
                lines[0].verdict.contains("limit of 480 KB of log in flight limits commits"),
                "{lines:#?}"
            );
            assert!(of_rule(lines, 6).evidence.contains("of 32 allowed"), "{lines:#?}");
        },
    );
}

/// More log in a transaction than the cache has blocks for.
#[test]
fn log_that_is_made_faster_than_the_device_takes_it_is_found() {
    diagnose(
        &device(4 * MS_NS),
        |_, os| large_transactions(os, "SQL2012", 1_000, 100),
        &[6, 10],
        &[],
        |lines| {
            assert!(of_rule(lines, 10).evidence.contains("LOGBUFFER"), "{lines:#?}");
        },
    );
}

#[test]
fn tiny_transactions_are_found() {
    fn script(_: &World, os: &Os) -> Vec<Line> {
        let (server, mut session) = server_with(os, "SIZE = 8MB");
        run(&mut session, "CREATE TABLE tiny (i int NOT NULL)");
        let busy = keep_busy(os, &server, 1, 1_500, "INSERT tiny VALUES (@i);");
        let lines = ask(&mut session, 1);
        finish(server, session, busy);
        lines
    }
    diagnose(&Profile::constant_latency(), script, &[], &[8], |lines| {
        assert!(of_rule(lines, 7).verdict.contains("carries 1.0 commits and 512 bytes"), "{lines:#?}");
    });
}

/// Claims 276 and 277: a checkpoint every 200 ms, beside which the log's device takes four times as long.
#[test]
fn checkpoints_that_disturb_the_log_are_found() {
    fn script(world: &World, os: &Os) -> Vec<Line> {
        let (server, mut session) = server_with(os, "SIZE = 64MB");
        let busy = keep_busy(os, &server, 1, 3_500, COMMIT_OF_THREE_ROWS);
        let (shared, world, inner) = (server.shared(), world.clone(), os.clone());
        let checkpoints = os.spawn("checkpoints", move || {
            let mut session = connect(&shared, NAME);
            for _ in 0..3 {
                inner.sleep(500 * MS_NS, WaitType::WAITFOR).unwrap();
                let delay = Fault {
                    times: u64::MAX,
                    effect: Effect::Delay(3 * MS_NS),
                    ..Fault::fail_once(Operation::Harden, 0)
                };
                world.inject(delay.on("the_log"));
                for _ in 0..10 {
                    run(&mut session, "CHECKPOINT");
                    inner.sleep(40 * MS_NS, WaitType::WAITFOR).unwrap();
                }
                world.clear_faults();
            }
            session.close();
        });
        let lines = ask(&mut session, 3);
        checkpoints.join().unwrap();
        finish(server, session, busy);
        lines
    }
    diagnose(&device(MS_NS), script, &[11], &[], |lines| {
        assert!(of_rule(lines, 11).evidence.contains("at other times"), "{lines:#?}");
    });
}

/// Claim 317, in a smaller log: each growth by 1 MB makes four VLFs under the rule before 2014.
#[test]
fn too_many_vlfs_are_found() {
    fn script(_: &World, os: &Os) -> Vec<Line> {
        let (server, mut session) = server_with(os, "SIZE = 1MB");
        run(&mut session, &format!("ALTER DATABASE {NAME} SET VLF_RULE = PRE_2014"));
        for mb in 2..=251 {
            server.database().log().grow_to(2, mb << 20).unwrap();
        }
        let lines = ask(&mut session, 1);
        finish(server, session, Vec::new());
        lines
    }
    diagnose(&Profile::constant_latency(), script, &[12], &[], |lines| {
        assert!(of_rule(lines, 12).verdict.contains("1004 VLFs"), "{lines:#?}");
    });
}

/// An open transaction keeps the log, which others fill.
#[test]
fn a_transaction_that_holds_the_log_is_found() {
    fn script(_: &World, os: &Os) -> Vec<Line> {
        let (server, mut session) = server_with(os, "SIZE = 4MB, FILEGROWTH = 0");
        let mut holder = server.session();
        run(&mut holder, "BEGIN TRAN; INSERT dbo.T1 (col1) VALUES (0)");
        let used = |server: &Server| server.database().log().stats().used_bytes;
        while used(&server) < (3 << 20) {
            run(&mut session, "INSERT dbo.T1 (col1) SELECT TOP (100) 1 FROM master..spt_values");
            run(&mut session, "CHECKPOINT");
        }
        let mut lines = ask(&mut session, 1);
        // The reader need not know the session's number.
        for line in &mut lines {
            line.verdict = line.verdict.replace(&format!("session {}", holder.id()), "session of the holder");
        }
        run(&mut holder, "ROLLBACK");
        holder.close();
        finish(server, session, Vec::new());
        lines
    }
    diagnose(&Profile::constant_latency(), script, &[13], &[], |lines| {
        assert!(of_rule(lines, 13).verdict.contains("a transaction of session of the holder"), "{lines:#?}");
        assert!(of_rule(lines, 13).evidence.contains("log_reuse_wait ACTIVE_TRANSACTION"), "{lines:#?}");
    });
}

#[test]
fn a_transaction_that_is_open_for_long_is_found() {
    fn script(_: &World, os: &Os) -> Vec<Line> {
        let (server, mut session) = server_with(os, "SIZE = 8MB");
        let mut holder = server.session();
        run(&mut holder, "BEGIN TRAN; INSERT dbo.T1 (col1) VALUES (0)");
        os.sleep(61_000 * MS_NS, WaitType::WAITFOR).unwrap();
        let lines = ask(&mut session, 1);
        run(&mut holder, "ROLLBACK");
        holder.close();
        finish(server, session, Vec::new());
        lines
    }
    diagnose(&Profile::constant_latency(), script, &[], &[14], |_| ());
}

#[test]
fn a_log_that_is_nearly_full_is_found() {
    fn script(_: &World, os: &Os) -> Vec<Line> {
        let (server, mut session) = server_with(os, "SIZE = 2MB, MAXSIZE = 2MB, FILEGROWTH = 0");
        let mut holder = server.session();
        run(&mut holder, "BEGIN TRAN; INSERT dbo.T1 (col1) VALUES (0)");
        loop {
            let stats = server.database().log().stats();
            if stats.used_bytes * 100 >= stats.size_bytes * 91 {
                break;
            }
            assert!(run(&mut holder, "INSERT dbo.T1 (col1) VALUES (0)").messages.is_empty());
        }
        let lines = ask(&mut session, 1);
        run(&mut holder, "ROLLBACK");
        holder.close();
        finish(server, session, Vec::new());
        lines
    }
    diagnose(&Profile::constant_latency(), script, &[13, 15], &[], |lines| {
        assert_eq!(of_rule(lines, 15).severity, "critical");
        assert_eq!(lines[1].number, 15, "the worst first: {lines:#?}");
    });
}

/// The log grows while it is used; whether a session waits for it depends on the device.
#[test]
fn growth_is_told() {
    fn script(_: &World, os: &Os) -> Vec<Line> {
        let (server, mut session) = server_with(os, "SIZE = 2MB, FILEGROWTH = 1MB");
        let mut holder = server.session();
        let shared = server.shared();
        run(&mut holder, "BEGIN TRAN; INSERT dbo.T1 (col1) VALUES (0)");
        let grower = os.spawn("grower", move || {
            let mut session = connect(&shared, NAME);
            run(&mut session, "WAITFOR DELAY '00:00:00.200'; INSERT dbo.T1 (col1) SELECT TOP (6000) 1 FROM master..spt_values a CROSS JOIN master..spt_values b");
            session.close();
        });
        let mut lines = ask(&mut session, 1);
        let growth = lines.iter_mut().find(|line| line.number == 16);
        // A note or a warning.
        growth.into_iter().for_each(|line| line.severity = "note".into());
        lines.retain(|line| line.number == 0 || line.number == 16);
        run(&mut holder, "ROLLBACK");
        holder.close();
        finish(server, session, vec![grower]);
        lines
    }
    diagnose(&Profile::constant_latency(), script, &[], &[16], |lines| {
        assert!(of_rule(lines, 16).evidence.contains("from 2.0 MB to"), "{lines:#?}");
    });
}

/// Delayed commits that are not flushed.
#[test]
fn delayed_commits_at_risk_are_found() {
    fn script(_: &World, os: &Os) -> Vec<Line> {
        let (server, mut session) = server_with(os, "SIZE = 8MB");
        run(&mut session, &format!("ALTER DATABASE {NAME} SET DELAYED_DURABILITY = FORCED"));
        server.database().log().suspend_background_flush(true);
        let busy = keep_busy(
            os,
            &server,
            1,
            1_500,
            "INSERT dbo.T1 (col1) VALUES (@i); WAITFOR DELAY '00:00:00.050';",
        );
        let lines = ask(&mut session, 1);
        finish(server, session, busy);
        lines
    }
    diagnose(&Profile::constant_latency(), script, &[17], &[], |lines| {
        assert!(of_rule(lines, 17).evidence.contains("MAX_DELAY none, MAX_LOSS none"), "{lines:#?}");
        assert!(lines[0].verdict.contains("The log does not limit commits"), "{lines:#?}");
    });
}

/// With eager flushes they are reported and nothing else; with a bound that makes them wait, that is reported, too.
#[test]
fn delayed_commits_within_bounds_are_told() {
    fn script(_: &World, os: &Os) -> Vec<Line> {
        let (server, mut session) = server_with(os, "SIZE = 64MB");
        run(
            &mut session,
            &format!("ALTER DATABASE {NAME} SET DELAYED_DURABILITY = FORCED (MAX_LOSS = 2 KB)"),
        );
        let busy = keep_busy(os, &server, 1, 1_500, "INSERT dbo.T1 (col1) VALUES (@i);");
        let lines = ask(&mut session, 1);
        finish(server, session, busy);
        lines
    }
    diagnose(&Profile::constant_latency(), script, &[], &[17, 18], |lines| {
        assert!(of_rule(lines, 17).evidence.contains("MAX_LOSS 2.0 KB"), "{lines:#?}");
    });
}

#[test]
fn a_suspect_database_is_found() {
    fn script(world: &World, os: &Os) -> Vec<Line> {
        let (server, mut session) = server_with(os, "SIZE = 8MB");
        let mut writer = server.session();
        world.inject(Fault::fail_from(Operation::Write, 0).on("the_log"));
        assert_eq!(numbers(&run_to_the_end(&mut writer, "INSERT dbo.T1 (col1) VALUES (1)")), [9001]);
        let lines = ask(&mut session, 1);
        writer.close();
        session.close();
        server.instance.shutdown();
        lines
    }
    diagnose(&Profile::constant_latency(), script, &[1], &[], |lines| {
        assert_eq!(lines[0].severity, "critical");
    });
}

/// A request that may close the connection.
fn run_to_the_end(session: &mut Session, text: &str) -> crate::common::Seen {
    let mut seen = crate::common::Seen::default();
    session.execute_batch(text, &mut seen);
    seen
}

#[test]
fn it_is_a_procedure_of_every_database_and_refuses_what_it_does_not_know() {
    crate::common::simulated::on_a_machine(3, |os| {
        let (server, mut session) = Server::with_table(os);
        for database in ["master", "tempdb", NAME] {
            run(&mut session, &format!("USE {database}"));
            let lines = ask(&mut session, 1);
            assert_eq!((lines.len(), lines[0].severity.as_str()), (1, "ok"), "{database}: {lines:#?}");
        }
        for (text, expected) in [
            ("EXEC sp_log_doctor 0", 15600),
            ("EXEC sp_log_doctor @seconds = 3601", 15600),
            ("EXEC sp_log_doctor 'soon'", 8114),
            ("EXEC sp_log_doctor 1, 2", 8144),
            ("EXEC sp_log_doctor @minutes = 2", 8145),
        ] {
            assert_eq!(numbers(&run(&mut session, text)), [expected], "{text}");
        }
        let kept = "CREATE TABLE #found (finding int, severity nvarchar(10), area nvarchar(30), verdict nvarchar(400), evidence nvarchar(1000), advice nvarchar(400))
                    INSERT #found EXEC sp_log_doctor 1; SELECT verdict FROM #found WHERE finding = 0";
        let seen = run(&mut session, kept);
        assert_eq!(seen.sets[0].1, [["Nothing limits commits: there were none."]], "{:?}", seen.messages);
        let parameters =
            "SELECT name FROM sys.all_parameters WHERE object_id = OBJECT_ID('sys.sp_log_doctor')";
        assert_eq!(rows(&mut session, parameters), ["@seconds"]);
        server.stop(session);
    });
}

/// Attention and KILL end it; it is asked for an hour.
#[test]
fn whoever_asked_may_stop_it() {
    crate::common::simulated::on_a_machine(4, |os| {
        let (server, mut session) = Server::with_table(os);
        let began_ns = os.clock().monotonic_ns();
        let shared = server.shared();
        let patient = os.spawn("patient", move || {
            let mut session = connect(&shared, NAME);
            let seen = run_to_the_end(&mut session, "EXEC sp_log_doctor 3600");
            assert!(seen.sets.is_empty(), "{:?}", seen.sets);
            session.close();
        });
        os.sleep(1_000 * MS_NS, WaitType::WAITFOR).unwrap();
        let waiting = "SELECT COUNT(*) FROM sys.dm_exec_requests WHERE wait_type = 'WAITFOR'";
        assert_eq!(number(&mut session, waiting), 1);
        let other = number(&mut session, "SELECT MAX(session_id) FROM sys.dm_exec_requests");
        run(&mut session, &format!("KILL {other}"));
        patient.join().unwrap();
        let took_ns = os.clock().monotonic_ns() - began_ns;
        assert!(took_ns < 10_000 * MS_NS, "virtual time: {took_ns} ns");
        server.stop(session);
    });
}
