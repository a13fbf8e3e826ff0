//! Commit tickets: the status in `sys.fn_commit_status` is right after any number of crashes; MAX_WAIT, WAITFOR DURABLE,
//! COMMIT_ACK = BATCH and SET COMMIT_TICKETS, on a simulated machine that loses power.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::Arc;

use crate::common::simulated::{NAME, Server, flushes, kept, number, on_a_machine, repeat};
use crate::common::{Seen, rows, run};
use hardpan_session::{RequestEnd, Session};
use log::FlushReason;
use os::sim::{Bug, Effect, End, Fault, Operation, Profile, World};
use os::{Latch, Rng};

/// An acknowledged commit.
#[derive(Clone, Debug)]
struct Told {
    database: &'static str,
    key: i64,
    ticket: String,
    /// The status has been HARDENED once.
    was_hardened: bool,
}

type Ledger = Arc<Latch<Vec<Told>>>;

const OTHER: &str = "other";

fn status(session: &mut Session, ticket: &str) -> String {
    rows(session, &format!("SELECT sys.fn_commit_status({ticket})")).remove(0)
}

/// The ticket of the last commit as a literal, NULL without one.
fn last_ticket(session: &mut Session) -> String {
    let text = "SELECT ISNULL(CONVERT(varchar(80), @@COMMIT_TICKET, 1), 'NULL')";
    rows(session, text).remove(0)
}

/// One run of the server: commits of all kinds in two databases until the power fails.
fn one_life(world: &World, ledger: &Ledger, seed: u64, life: i64) {
    let (device, ledger) = (world.clone(), Arc::clone(ledger));
    let report = world.run(move |os| {
        let server = Server::open(os);
        let mut rng = Rng::named(seed, &format!("life {life}"));
        let mut session = server.session();
        judge_all(&mut session, &ledger);
        device.power_off_after_ios(1 + rng.below(25));
        for number in 1..=40 {
            let (database, key) = ([NAME, OTHER][rng.below(2) as usize], life * 100 + number);
            let how = ["", " WITH (DELAYED_DURABILITY = ON)", " WITH (MAX_WAIT = 0 MS)"][rng.below(3) as usize];
            let acknowledge = ["STATEMENT", "BATCH"][rng.below(2) as usize];
            let text = format!(
                "SET COMMIT_ACK = {acknowledge}; BEGIN TRAN; INSERT {database}.dbo.T1 VALUES ({key}); COMMIT{how}; \
                 SELECT CONVERT(varchar(80), @@COMMIT_TICKET, 1), sys.fn_commit_status(@@COMMIT_TICKET)"
            );
            let seen = run(&mut session, &text);
            let row = &seen.sets[0].1[0];
            ledger.lock().push(Told { database, key, ticket: row[0].clone(), was_hardened: row[1] == "HARDENED" });
            if rng.chance(1, 4) {
                let tickets: Vec<String> = ledger.lock().iter().map(|told| told.ticket.clone()).collect();
                for (at, ticket) in tickets.iter().enumerate() {
                    let is_hardened = status(&mut session, ticket) == "HARDENED";
                    ledger.lock()[at].was_hardened |= is_hardened;
                }
            }
            if rng.chance(1, 6) {
                let _ = os.sleep(rng.below(3_000_000), os::WaitType::WAITFOR);
            }
        }
        server.stop(session);
        // Commits acknowledged before an orderly stop are not lost.
        ledger.lock().iter_mut().filter(|told| told.key > life * 100).for_each(|told| told.was_hardened = true);
    });
    assert!(report.failures.is_empty(), "seed {seed}: {:?}", report.failures);
}

fn judge_all(session: &mut Session, ledger: &Ledger) {
    let mut told = ledger.lock().clone();
    judge(session, &mut told);
    *ledger.lock() = told;
}

/// After a restart no commit is pending: it exists and is HARDENED, or is missing and LOST. HARDENED once is HARDENED for ever.
fn judge(session: &mut Session, ledger: &mut [Told]) {
    for told in ledger {
        let is_there = format!("SELECT COUNT(*) FROM {}.dbo.T1 WHERE col1 = {}", told.database, told.key);
        let is_there = rows(session, &is_there)[0] == "1";
        let status = status(session, &told.ticket);
        assert_eq!(status, if is_there { "HARDENED" } else { "LOST" }, "{told:?}");
        assert!(is_there || !told.was_hardened, "told to be HARDENED, and lost: {told:?}");
        told.was_hardened = is_there;
    }
}

/// Several lives with power cuts. Returns how many commits there were and how many are lost.
fn lives(seed: u64, bug: Option<Bug>) -> Result<(usize, usize), Vec<String>> {
    let world = World::new(seed, Profile::drawn(seed));
    world
        .run(|os| {
            let server = Server::open(os);
            let mut session = server.session_in("master");
            for database in [NAME, OTHER] {
                run(&mut session, &format!("CREATE DATABASE {database}"));
                run(&mut session, &format!("ALTER DATABASE {database} SET DELAYED_DURABILITY = ALLOWED"));
                run(&mut session, &format!("CREATE TABLE {database}.dbo.T1(col1 INT NOT NULL PRIMARY KEY)"));
            }
            server.stop(session);
        })
        .assert_ok();
    world.plant(bug);
    let ledger: Ledger = kept(Vec::new());
    for life in 1..=3 {
        one_life(&world, &ledger, seed, life);
        world.disarm();
        // Also an interrupted recovery, which gives no tickets.
        let device = world.clone();
        let report = world.run(move |os| {
            device.power_off_after_ios(1 + seed % 30);
            drop(Server::open(os));
            device.power_off();
        });
        assert_eq!(report.end, End::PowerOff, "{:?}", report.failures);
        world.disarm();
    }
    let into = Arc::clone(&ledger);
    let report = world.run(move |os| {
        let server = Server::open(os);
        let mut session = server.session();
        judge_all(&mut session, &into);
        server.stop(session);
    });
    if !report.failures.is_empty() {
        return Err(report.failures);
    }
    let ledger = ledger.lock();
    Ok((ledger.len(), ledger.iter().filter(|told| !told.was_hardened).count()))
}

#[test]
fn a_ticket_tells_the_truth_after_any_number_of_crashes() {
    let (mut told, mut lost) = (0, 0);
    for seed in 0..12 {
        let (commits, gone) =
            lives(seed, None).unwrap_or_else(|failures| panic!("seed {seed}: {failures:?}"));
        (told, lost) = (told + commits, lost + gone);
    }
    assert!(told > 100 && lost > 5 && lost < told, "{told} commits, {lost} lost");
}

/// The test detects a server that reports HARDENED too early.
#[test]
fn a_ticket_said_hardened_too_soon_is_found() {
    let found = (0..500).find(|&seed| {
        let run = std::panic::catch_unwind(|| lives(seed, Some(Bug::TicketBeforeHardened)));
        !matches!(run, Ok(Ok(_)))
    });
    println!("TicketBeforeHardened at seed {found:?}");
    assert!(found.is_some(), "not seen in 500 seeds");
}

/// A statement without lasting changes has no ticket; a statement that only reads does not change the last ticket.
#[test]
fn who_has_a_ticket() {
    on_a_machine(1, |os| {
        let (server, mut session) = Server::with_table(os);
        assert_ne!(last_ticket(&mut session), "NULL", "CREATE TABLE was a commit");
        run(&mut session, "BEGIN TRAN; SELECT * FROM dbo.T1; COMMIT");
        assert_eq!(last_ticket(&mut session), "NULL", "it has only read");
        run(&mut session, "INSERT dbo.T1 VALUES (1)");
        let own = last_ticket(&mut session);
        assert_eq!(status(&mut session, &own), "HARDENED");
        rows(&mut session, "SELECT col1 FROM dbo.T1");
        assert_eq!(last_ticket(&mut session), own, "a query leaves it alone");
        run(&mut session, "BEGIN TRAN; INSERT dbo.T1 VALUES (2); BEGIN TRAN; COMMIT");
        assert_eq!(last_ticket(&mut session), own, "only the outermost COMMIT ends anything");
        run(&mut session, "COMMIT");
        let second = last_ticket(&mut session);
        assert_ne!(second, own);
        run(&mut session, "BEGIN TRAN; INSERT dbo.T1 VALUES (3); ROLLBACK");
        assert_eq!(last_ticket(&mut session), second, "no commit");
        run(&mut session, "CREATE TABLE #t (i int); INSERT #t VALUES (1)");
        assert_eq!(last_ticket(&mut session), "NULL", "tempdb does not last");
        run(&mut session, "BEGIN TRAN; INSERT #t VALUES (2); INSERT dbo.T1 VALUES (4); COMMIT");
        assert_ne!(last_ticket(&mut session), "NULL", "what lasts counts");
        run(&mut session, "UPDATE dbo.T1 SET col1 = 0 WHERE col1 = 77");
        assert_eq!(last_ticket(&mut session), "NULL", "it has changed nothing");
        run(&mut session, "CREATE DATABASE other");
        run(&mut session, "SELECT 5 AS i INTO other.dbo.t");
        run(&mut session, "BEGIN TRAN; INSERT other.dbo.t VALUES (6); INSERT dbo.T1 VALUES (6); COMMIT");
        let across = last_ticket(&mut session);
        assert_eq!(
            status(&mut session, &across),
            "HARDENED",
            "a commit over two databases is always durable"
        );
        // Another session has no ticket, and NULL and malformed values have no status.
        let other =
            rows(&mut server.session(), "SELECT ISNULL(CONVERT(varchar(80), @@COMMIT_TICKET, 1), 'NULL')");
        assert_eq!(other, ["NULL"]);
        let nothing = rows(&mut session, "SELECT sys.fn_commit_status(NULL), sys.fn_commit_status(0x01)");
        assert_eq!(nothing, ["NULL|NULL"]);
        run(&mut session, "DROP DATABASE other");
        server.stop(session);
    });
}

/// No message.
const NOTHING: [i32; 0] = [];

fn number_of(seen: &Seen) -> Vec<i32> {
    seen.messages.iter().map(|message| message.0).collect()
}

#[test]
fn a_commit_with_a_time_to_wait_does_not_wait_longer() {
    let world = World::new(3, Profile::constant_latency());
    let device = world.clone();
    world
        .run(move |os| {
            let (server, mut session) = Server::with_table(os);
            let with = |wait: &str| {
                format!("BEGIN TRAN; INSERT dbo.T1 VALUES (1); COMMIT WITH (MAX_WAIT = {wait} MS)")
            };
            let seen = run(&mut session, &with("1"));
            assert_eq!(number_of(&seen), [42953], "every commit of this database is fully durable");
            let ticket = last_ticket(&mut session);
            assert_eq!(status(&mut session, &ticket), "HARDENED");
            run(&mut session, &format!("ALTER DATABASE {NAME} SET DELAYED_DURABILITY = ALLOWED"));
            assert_eq!(number_of(&run(&mut session, &with("1000"))), NOTHING, "the device was faster");
            device.inject(Fault {
                operation: Operation::Write,
                path_contains: "_log.ldf".into(),
                skip: 0,
                times: u64::MAX,
                effect: Effect::Delay(50_000_000),
            });
            for (wait_ms, text) in
                [(0, with("0")), (7, with("7")), (9, format!("DECLARE @w int = 9 {}", with("@w")))]
            {
                let before_ns = os.clock().monotonic_ns();
                let seen = run(&mut session, &text);
                let waited_ms = (os.clock().monotonic_ns() - before_ns) / 1_000_000;
                assert_eq!(number_of(&seen), [42952]);
                assert!((wait_ms..wait_ms + 3).contains(&waited_ms), "{waited_ms} ms, not {wait_ms}");
                let ticket = last_ticket(&mut session);
                assert!(seen.messages[0].2.contains(&ticket), "{:?}", seen.messages);
                assert_eq!(status(&mut session, &ticket), "PENDING");
                let seen = run(&mut session, &format!("WAITFOR DURABLE {ticket}, TIMEOUT 3"));
                assert_eq!(number_of(&seen), [42952], "not yet");
                let risk = rows(
                    &mut session,
                    "SELECT commits_at_risk FROM sys.dm_db_loss_window WHERE database_id = DB_ID()",
                );
                assert_eq!(risk, ["1"]);
                let seen = run(&mut session, &format!("WAITFOR DURABLE {ticket}"));
                assert_eq!(number_of(&seen), NOTHING);
                assert_eq!(status(&mut session, &ticket), "HARDENED");
            }
            device.clear_faults();
            let refused = |session: &mut Session, text: &str| number_of(&run(session, text));
            assert_eq!(refused(&mut session, "WAITFOR DURABLE 0x010203"), [42954]);
            assert_eq!(refused(&mut session, "WAITFOR DURABLE N'x'"), [42954]);
            assert_eq!(
                refused(&mut session, "DECLARE @t varbinary(32); WAITFOR DURABLE @t, TIMEOUT 1"),
                NOTHING
            );
            assert_eq!(refused(&mut session, "WAITFOR DURABLE @@COMMIT_TICKET, TIMEOUT -1"), [42956]);
            assert_eq!(refused(&mut session, "BEGIN TRAN; COMMIT WITH (MAX_WAIT = -1 MS)"), [42956]);
            run(&mut session, "IF @@TRANCOUNT > 0 ROLLBACK");
            server.stop(session);
        })
        .assert_ok();
}

/// WAITFOR DURABLE flushes the log, in one write, although there is no background flush.
#[test]
fn waiting_for_a_ticket_hardens_it() {
    on_a_machine(4, |os| {
        let (server, mut session) = Server::with_table(os);
        run(&mut session, &format!("ALTER DATABASE {NAME} SET DELAYED_DURABILITY = FORCED"));
        run(&mut session, "INSERT dbo.T1 VALUES (1)");
        let ticket = last_ticket(&mut session);
        assert_eq!(status(&mut session, &ticket), "PENDING");
        let before = flushes(&mut session, NAME);
        run(&mut session, "WAITFOR DURABLE @@COMMIT_TICKET");
        assert_eq!(flushes(&mut session, NAME), before + 1);
        assert_eq!(server.flushes_for(FlushReason::Ticket), 1);
        assert_eq!(status(&mut session, &ticket), "HARDENED");
        run(&mut session, "WAITFOR DURABLE @@COMMIT_TICKET");
        assert_eq!(server.flushes_for(FlushReason::Ticket), 1, "it is hard already");
        server.stop(session);
    });
}

#[test]
fn each_commit_tells_its_ticket_when_asked_to() {
    on_a_machine(5, |os| {
        let (server, mut session) = Server::with_table(os);
        run(&mut session, "SET COMMIT_TICKETS ON");
        for text in [
            "INSERT dbo.T1 VALUES (1)",
            "BEGIN TRAN; INSERT dbo.T1 VALUES (2); COMMIT",
            "CREATE TABLE dbo.T2 (i int)",
            "SELECT 1 AS i INTO dbo.T3",
        ] {
            let seen = run(&mut session, text);
            let ticket = last_ticket(&mut session);
            assert_eq!(number_of(&seen), [42951], "{text}");
            assert!(seen.messages[0].2.contains(&ticket), "{text}: {:?} {ticket}", seen.messages);
        }
        assert_eq!(number_of(&run(&mut session, "SELECT * FROM dbo.T1 BEGIN TRAN COMMIT")), NOTHING);
        run(&mut session, "SET COMMIT_TICKETS OFF");
        assert_eq!(number_of(&run(&mut session, "INSERT dbo.T1 VALUES (3)")), NOTHING);
        server.stop(session);
    });
}

/// A thousand fully durable commits in one batch, one wait; all of them exist when the power fails after the answer.
#[test]
fn commits_acknowledged_with_their_batch_are_waited_for_once() {
    let world = World::new(6, Profile::constant_latency());
    let device = world.clone();
    let report = world.run(move |os| {
        let (server, mut session) = Server::with_table(os);
        run(&mut session, "SET COMMIT_ACK = BATCH");
        let before = server.database().log().stats();
        repeat(&mut session, 1, 1_000, "INSERT dbo.T1 VALUES (@i);");
        let after = server.database().log().stats();
        let of = |reason: FlushReason| {
            after.flushes_by_reason_total[reason.index()] - before.flushes_by_reason_total[reason.index()]
        };
        assert_eq!((of(FlushReason::Commit), of(FlushReason::Background)), (0, 0));
        assert_eq!((of(FlushReason::Acknowledge), after.flushes_total - before.flushes_total), (1, 1));
        // An error of a statement: earlier commits are durable when the error is sent.
        let seen = run(
            &mut session,
            "INSERT dbo.T1 VALUES (1001); INSERT dbo.T1 VALUES (NULL); INSERT dbo.T1 VALUES (1002)",
        );
        assert_eq!(number_of(&seen), [515, 3621]);
        let ticket = last_ticket(&mut session);
        assert_eq!(status(&mut session, &ticket), "HARDENED");
        // Each request is a batch of its own.
        run(&mut session, "BEGIN TRAN; INSERT dbo.T1 VALUES (1003)");
        run(&mut session, "COMMIT");
        let ticket = last_ticket(&mut session);
        assert_eq!(status(&mut session, &ticket), "HARDENED");
        run(&mut session, "SET COMMIT_ACK STATEMENT");
        let before = server.flushes_for(FlushReason::Commit);
        run(&mut session, "INSERT dbo.T1 VALUES (1004); INSERT dbo.T1 VALUES (1005)");
        assert_eq!(server.flushes_for(FlushReason::Commit), before + 2);
        assert_eq!(number_of(&run(&mut session, "SET COMMIT_ACK = NEVER")), [155]);
        device.power_off();
    });
    assert_eq!(report.end, End::PowerOff, "{:?}", report.failures);
    world
        .run(|os| {
            let server = Server::open(os);
            let mut session = server.session();
            assert_eq!(rows(&mut session, "SELECT COUNT(*), MAX(col1) FROM dbo.T1"), ["1005|1005"]);
            server.stop(session);
        })
        .assert_ok();
}

/// Another session that reads rows of a commit which is not acknowledged yet: its answer waits, too.
#[test]
fn whoever_has_read_such_a_commit_waits_for_it() {
    on_a_machine(7, |os| {
        let (server, mut session) = Server::with_table(os);
        let shared = server.shared();
        run(&mut session, "SET COMMIT_ACK = BATCH");
        let reader = os.spawn("reader", {
            let os = os.clone();
            move || {
                let mut session = crate::common::simulated::connect(&shared, NAME);
                let database = session.database_name();
                let mut read = 0;
                let log = Arc::clone(shared.instance.database(&database).unwrap().log());
                while read < 50 {
                    read = rows(&mut session, "SELECT COUNT(*) FROM dbo.T1")[0].parse().unwrap();
                    let hard = log.hardened();
                    let released =
                        shared.instance.database(&database).unwrap().transactions().last_early_release();
                    assert!(
                        read < 50 || released <= hard,
                        "{read} rows are told, {released} is not hard, {hard} is"
                    );
                    let _ = os.sleep(100_000, os::WaitType::WAITFOR);
                }
                session.close();
            }
        });
        run(
            &mut session,
            "DECLARE @i int = 0; WHILE @i < 50 BEGIN INSERT dbo.T1 VALUES (@i); SET @i += 1; END; WAITFOR DELAY '00:00:01'",
        );
        reader.join().unwrap();
        server.stop(session);
    });
}

/// Such commits in two databases: a commit that depends on one in the other is not durable before it. The first database's log is flushed for a
/// waiter, the other's by itself; then the power fails.
#[test]
fn what_rests_on_such_a_commit_elsewhere_does_not_outlive_it() {
    let insert = |first: &str, second: &str| {
        [
            // In one session's order.
            format!(
                "INSERT {first}.dbo.T1 VALUES (1); INSERT {second}.dbo.T1 VALUES (1); WAITFOR DELAY '00:00:01'"
            ),
            // By a read, in a transaction over both.
            format!(
                "INSERT {first}.dbo.T1 VALUES (1); BEGIN TRAN; INSERT {second}.dbo.T1 SELECT col1 FROM {first}.dbo.T1; COMMIT; WAITFOR DELAY '00:00:01'"
            ),
            // As a delayed commit.
            format!(
                "INSERT {first}.dbo.T1 VALUES (1); BEGIN TRAN; INSERT {second}.dbo.T1 VALUES (1); \
                 COMMIT WITH (DELAYED_DURABILITY = ON); WAITFOR DELAY '00:00:01'"
            ),
        ]
    };
    for (at, text) in insert(NAME, OTHER).into_iter().enumerate() {
        let world = World::new(20 + at as u64, Profile::constant_latency());
        let device = world.clone();
        let report = world.run(move |os| {
            let (server, mut session) = Server::with_table(os);
            run(&mut session, &format!("CREATE DATABASE {OTHER}"));
            run(&mut session, &format!("ALTER DATABASE {OTHER} SET DELAYED_DURABILITY = ALLOWED"));
            run(&mut session, &format!("CREATE TABLE {OTHER}.dbo.T1(col1 INT NOT NULL)"));
            session.close();
            let shared = server.shared();
            let writer = os.spawn("writer", move || {
                let mut session = crate::common::simulated::connect(&shared, NAME);
                run(&mut session, &format!("SET COMMIT_ACK = BATCH; {text}"));
                session.close();
            });
            let _ = os.sleep(500_000_000, os::WaitType::WAITFOR);
            device.power_off();
            writer.join().unwrap();
        });
        assert_eq!((report.end, report.failures.len()), (End::PowerOff, 0), "{:?}", report.failures);
        world
            .run(move |os| {
                let server = Server::open(os);
                let mut session = server.session();
                let count = |session: &mut Session, database: &str| {
                    rows(session, &format!("SELECT COUNT(*) FROM {database}.dbo.T1")).remove(0)
                };
                let there = (count(&mut session, NAME), count(&mut session, OTHER));
                assert_eq!(there, ("1".to_owned(), "1".to_owned()), "case {at}: the second had drained");
                server.stop(session);
            })
            .assert_ok();
    }
}

/// A log that fails under such a batch: no answer is sent.
#[test]
fn a_batch_whose_log_fails_is_not_acknowledged() {
    let world = World::new(8, Profile::constant_latency());
    let device = world.clone();
    world
        .run(move |os| {
            let (server, mut session) = Server::with_table(os);
            run(&mut session, "SET COMMIT_ACK = BATCH");
            device
                .inject(Fault { path_contains: "_log.ldf".into(), ..Fault::fail_once(Operation::Write, 0) });
            let mut seen = Seen::default();
            let end = session.execute_batch("INSERT dbo.T1 VALUES (1); INSERT dbo.T1 VALUES (2)", &mut seen);
            assert_eq!(end, RequestEnd::Close);
            assert_eq!(number_of(&seen), [9001]);
            assert!(session.acknowledgement().has_failed());
            session.close();
            server.instance.shutdown();
        })
        .assert_ok();
}

/// Tickets of every earlier run are known, also after an orderly stop.
#[test]
fn tickets_outlive_clean_stops() {
    let world = World::new(9, Profile::constant_latency());
    let tickets: Arc<Latch<Vec<String>>> = kept(Vec::new());
    world
        .run(|os| {
            let (server, session) = Server::with_table(os);
            server.stop(session);
        })
        .assert_ok();
    for start in 1..=5 {
        let tickets = Arc::clone(&tickets);
        world
            .run(move |os| {
                let server = Server::open(os);
                let mut session = server.session();
                let given = tickets.lock().clone();
                for ticket in &given {
                    assert_eq!(status(&mut session, ticket), "HARDENED");
                }
                run(&mut session, &format!("INSERT dbo.T1 VALUES ({start})"));
                let ticket = last_ticket(&mut session);
                tickets.lock().push(ticket);
                run(&mut session, "CHECKPOINT");
                server.stop(session);
            })
            .assert_ok();
    }
}

/// The bytes of a literal.
fn bytes_of(ticket: &str) -> Vec<u8> {
    (2..ticket.len()).step_by(2).map(|at| u8::from_str_radix(&ticket[at..at + 2], 16).unwrap()).collect()
}

/// The ticket with another position and a right checksum: a forgery with knowledge of the format.
fn forged(ticket: &str, lsn: u64) -> String {
    let mut bytes = bytes_of(ticket);
    bytes[20..28].copy_from_slice(&lsn.to_be_bytes());
    let mut checksum = u32::MAX;
    for byte in &bytes[..28] {
        checksum ^= u32::from(*byte);
        for _ in 0..8 {
            checksum = (checksum >> 1) ^ if checksum & 1 == 1 { 0x82F6_3B78 } else { 0 };
        }
    }
    bytes[28..].copy_from_slice(&(!checksum).to_be_bytes());
    bytes.iter().fold("0x".to_owned(), |text, byte| format!("{text}{byte:02X}"))
}

/// A value that cannot have been given as a ticket is refused, and no session waits for it: no position at all, one before the incarnation began, one
/// with another record or none.
#[test]
fn what_was_never_given_is_no_ticket() {
    const NO_TICKET: i32 = 42954;
    let world = World::new(10, Profile::constant_latency());
    let earlier: Arc<Latch<Vec<String>>> = kept(Vec::new());
    let into = Arc::clone(&earlier);
    world
        .run(move |os| {
            let (server, mut session) = Server::with_table(os);
            for value in 0..3 {
                run(&mut session, &format!("INSERT dbo.T1 VALUES ({value})"));
                let ticket = last_ticket(&mut session);
                into.lock().push(ticket);
            }
            server.stop(session);
        })
        .assert_ok();
    world
        .run(move |os| {
            let server = Server::open(os);
            let mut session = server.session();
            run(&mut session, "INSERT dbo.T1 VALUES (9)");
            let own = last_ticket(&mut session);
            let lsn_of = |ticket: &str| u64::from_be_bytes(bytes_of(ticket)[20..28].try_into().unwrap());
            let lsn = lsn_of(&own);
            assert_eq!(forged(&own, lsn), own, "the test knows the format");
            assert_eq!(status(&mut session, &own), "HARDENED");
            let given = earlier.lock().clone();
            assert!(given.iter().all(|ticket| status(&mut session, ticket) == "HARDENED"));
            let slot_bits = u64::from(u16::MAX);
            let wrong = [0, 1, 7, lsn & !slot_bits, lsn - 1, lsn + 1, lsn | slot_bits, lsn_of(&given[1])];
            let forgeries = wrong
                .iter()
                .map(|lsn| forged(&own, *lsn))
                .chain([0, 1, lsn_of(&given[1]) - 1].map(|lsn| forged(&given[1], lsn)));
            for ticket in forgeries {
                let said = status(&mut session, &ticket);
                let hard_at = u64::from_be_bytes(bytes_of(&ticket)[20..28].try_into().unwrap());
                assert_ne!(said, "HARDENED", "{hard_at:x} beside {lsn:x}");
                if said == "NULL" {
                    let waited = run(&mut session, &format!("WAITFOR DURABLE {ticket}"));
                    assert_eq!(number_of(&waited), [NO_TICKET], "{hard_at:x}");
                }
            }
            for lsn in [0, 7, lsn & !slot_bits] {
                assert_eq!(status(&mut session, &forged(&own, lsn)), "NULL", "{lsn:x} is no position");
            }
            server.stop(session);
        })
        .assert_ok();
}

/// If this run of the server gave a commit's ticket, its status needs no read of the log. For tickets of other runs each block is read
/// once for all of its commits, and a number that is in no ticket is still refused.
#[test]
fn asking_reads_no_block_twice() {
    const COMMITS: usize = 200;
    let reads = |session: &mut Session| {
        let of_log = "SELECT num_of_reads FROM sys.dm_io_virtual_file_stats(DB_ID(), 2)";
        number(session, of_log)
    };
    let world = World::new(10, Profile::constant_latency());
    let given: Arc<Latch<Vec<String>>> = kept(Vec::new());
    let into = Arc::clone(&given);
    world
        .run(move |os| {
            let (server, mut session) = Server::with_table(os);
            run(
                &mut session,
                &format!("ALTER DATABASE {NAME} SET DELAYED_DURABILITY = FORCED (FLUSH = BLOCK_FULL)"),
            );
            for value in 0..COMMITS {
                run(&mut session, &format!("INSERT dbo.T1 VALUES ({value})"));
                let ticket = last_ticket(&mut session);
                into.lock().push(ticket);
            }
            let given = into.lock().clone();
            let pending = given.iter().filter(|ticket| status(&mut session, ticket) == "PENDING").count();
            assert!(pending > 100, "{pending} pending");
            run(&mut session, "EXEC sys.sp_flush_log");
            let before = reads(&mut session);
            assert!(given.iter().all(|ticket| status(&mut session, ticket) == "HARDENED"));
            assert_eq!(reads(&mut session), before, "they were told by this run");
            server.stop(session);
        })
        .assert_ok();
    world
        .run(move |os| {
            let server = Server::open(os);
            let mut session = server.session();
            let given = given.lock().clone();
            let before = reads(&mut session);
            assert!(given.iter().all(|ticket| status(&mut session, ticket) == "HARDENED"));
            let first = reads(&mut session) - before;
            assert!((1..10).contains(&first), "{first} reads for {COMMITS} commits");
            assert!(given.iter().all(|ticket| status(&mut session, ticket) == "HARDENED"));
            assert_eq!(reads(&mut session) - before, first, "they are known now");
            let lsn_of = |ticket: &str| u64::from_be_bytes(bytes_of(ticket)[20..28].try_into().unwrap());
            let own = &given[COMMITS / 2];
            assert_eq!(status(&mut session, &forged(own, lsn_of(own) - 1)), "NULL", "another record");
            server.stop(session);
        })
        .assert_ok();
}

/// A position that no commit has is refused before its log is durable, too: no session waits for it.
#[test]
fn a_forged_ticket_is_not_pending() {
    on_a_machine(10, |os| {
        let (server, mut session) = Server::with_table(os);
        run(
            &mut session,
            &format!("ALTER DATABASE {NAME} SET DELAYED_DURABILITY = FORCED (FLUSH = SUSPENDED)"),
        );
        run(&mut session, "INSERT dbo.T1 VALUES (1)");
        run(&mut session, "INSERT dbo.T1 VALUES (2)");
        let own = last_ticket(&mut session);
        assert_eq!(status(&mut session, &own), "PENDING");
        let lsn = u64::from_be_bytes(bytes_of(&own)[20..28].try_into().unwrap());
        for wrong in [lsn - 1, lsn + 1] {
            let ticket = forged(&own, wrong);
            assert_eq!(status(&mut session, &ticket), "NULL", "{wrong:x} beside {lsn:x}");
            assert_eq!(number_of(&run(&mut session, &format!("WAITFOR DURABLE {ticket}"))), [42954]);
        }
        assert_eq!(status(&mut session, &own), "PENDING", "nothing was written for them");
        server.stop(session);
    });
}
