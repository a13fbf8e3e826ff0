//! EIO and ENOSPC at every k-th write, sync, read and rename, once and for ever, of an opening and recovery, and at every write under the log's
//! promises other than plain commits: commits acknowledged with their batch, sequences, bounds of delayed commits, tickets and waits for them,
//! the doctor. Then the power fails: promises hold, a ticket's status is right, no value of a sequence comes again.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::common::simulated::{NAME, Server, kept};
use crate::common::{Seen, rows, run};
use engine::InstanceOptions;
use hardpan_session::{RequestEnd, Session};
use os::Latch;
use os::sim::{Bug, DiskImage, Effect, End, Fault, Operation, Profile, World};

/// The acknowledgements that the client got before a failure or the script's end.
#[derive(Clone, Debug, Default)]
struct Told {
    /// Rows whose commit was acknowledged as hard.
    hard: BTreeSet<i64>,
    /// Tickets with their row, and whether they were said to be HARDENED.
    tickets: Vec<(i64, String, bool)>,
    values: BTreeSet<i64>,
    /// The script has come to its end.
    is_complete: bool,
}

/// The database of the script, made once.
fn prepared() -> DiskImage {
    let world = World::new(1, Profile::nvme());
    world
        .run(|os| {
            let (server, mut session) = Server::with_table(os);
            run(&mut session, "CREATE SEQUENCE s AS bigint START WITH 1 CACHE 2");
            run(
                &mut session,
                "CREATE SEQUENCE ahead AS bigint START WITH 1001 CACHE 2 WITH (HARDEN_AHEAD = ON)",
            );
            let bounds = "SET DELAYED_DURABILITY = ALLOWED (FLUSH = BLOCK_FULL, MAX_LOSS = 1 KB)";
            run(&mut session, &format!("ALTER DATABASE {NAME} {bounds}"));
            server.stop(session);
        })
        .assert_ok();
    world.disk_image()
}

/// One batch; its answer, or `None` when it failed.
fn ask(session: &mut Session, text: &str) -> Option<Seen> {
    let mut seen = Seen::default();
    let end = session.execute_batch(text, &mut seen);
    (end == RequestEnd::Finished && seen.messages.is_empty()).then_some(seen)
}

/// Runs everything once, until something fails.
fn script(session: &mut Session, told: &Latch<Told>) -> Option<()> {
    ask(session, "SET COMMIT_ACK = BATCH; INSERT T1 VALUES (1); INSERT T1 VALUES (2); INSERT T1 VALUES (3)")?;
    told.lock().hard.extend([1, 2, 3]);
    ask(session, "SET COMMIT_ACK = STATEMENT")?;
    for sequence in ["s", "ahead"] {
        for _ in 0..5 {
            let seen = ask(session, &format!("SELECT NEXT VALUE FOR {sequence}"))?;
            let value = seen.sets[0].1[0][0].parse().unwrap();
            assert!(told.lock().values.insert(value), "value {value} comes twice");
        }
    }
    let ticket = "SELECT CONVERT(varchar(80), @@COMMIT_TICKET, 1), sys.fn_commit_status(@@COMMIT_TICKET)";
    for (key, end) in (10..)
        .zip(["DELAYED_DURABILITY = ON"; 8].into_iter().chain(["MAX_WAIT = 1 MS", "MAX_WAIT = 60000 MS"]))
    {
        let seen =
            ask(session, &format!("BEGIN TRAN; INSERT T1 VALUES ({key}); COMMIT WITH ({end}); {ticket}"))?;
        let row = &seen.sets[0].1[0];
        told.lock().tickets.push((key, row[0].clone(), row[1] == "HARDENED"));
    }
    ask(
        session,
        "BEGIN TRAN; INSERT T1 VALUES (30); COMMIT WITH (DELAYED_DURABILITY = ON); WAITFOR DURABLE @@COMMIT_TICKET",
    )?;
    told.lock().hard.insert(30);
    ask(session, "CHECKPOINT; EXEC sp_log_doctor 1")?;
    told.lock().is_complete = true;
    Some(())
}

/// Restarts on the surviving disk and compares it with the acknowledgements.
fn judge(world: &World, told: &Told, what: &str) {
    let (told, what) = (told.clone(), what.to_owned());
    let report = world.run(move |os| {
        let server = Server::open(os);
        let mut session = server.session();
        assert!(run(&mut session, "DBCC CHECKDB WITH NO_INFOMSGS").messages.is_empty(), "{what}");
        let there: BTreeSet<i64> = crate::common::simulated::keys(&mut session).into_iter().collect();
        assert!(told.hard.is_subset(&there), "{what}: {there:?} are there of {told:?}");
        for (key, ticket, was_hard) in &told.tickets {
            let expected = if there.contains(key) { "HARDENED" } else { "LOST" };
            let status = rows(&mut session, &format!("SELECT sys.fn_commit_status({ticket})"));
            assert_eq!(status, [expected], "{what}: {key}");
            assert!(!was_hard || there.contains(key), "{what}: {key} was said to be hard");
        }
        for sequence in ["s", "ahead"] {
            let value =
                crate::common::simulated::number(&mut session, &format!("SELECT NEXT VALUE FOR {sequence}"));
            assert!(!told.values.contains(&value), "{what}: value {value} comes again");
        }
        server.stop(session);
    });
    report.assert_ok();
}

/// The script with a fault at the k-th write, then a power loss. Returns whether the fault occurred, and the acknowledgements.
fn one(image: &DiskImage, fault: Fault, bug: Option<Bug>, what: &str) -> (bool, Told) {
    let world = World::with_disk(2, Profile::nvme(), image.clone());
    world.plant(bug);
    let told = kept(Told::default());
    let (device, into) = (world.clone(), Arc::clone(&told));
    let report = world.run(move |os| {
        let server = Server::open(os);
        let mut session = server.session();
        device.inject(fault);
        script(&mut session, &into);
        device.power_off();
    });
    assert_eq!((report.end, report.failures.len()), (End::PowerOff, 0), "{what}: {:?}", report.failures);
    let is_struck = world.faults_hit_total() > 0;
    world.clear_faults();
    world.disarm();
    world.plant(None);
    let told = told.lock().clone();
    judge(&world, &told, what);
    (is_struck, told)
}

#[test]
fn promises_hold_whatever_write_fails() {
    let image = prepared();
    let mut worlds = 0;
    for effect in [Effect::Fail, Effect::NoSpace] {
        for operation in [Operation::Write, Operation::Sync] {
            for times in [1, u64::MAX] {
                for k in 0.. {
                    let fault = Fault { times, effect, ..Fault::fail_once(operation, k) };
                    let what = format!("{effect:?} at {operation:?} {k}, {times} times");
                    let (is_struck, told) = one(&image, fault, None, &what);
                    worlds += 1;
                    assert!(
                        is_struck || told.is_complete,
                        "{what}: something failed although nothing was struck"
                    );
                    if !is_struck {
                        break;
                    }
                }
            }
        }
    }
    println!("{worlds} worlds");
    assert!(worlds > 60, "{worlds} worlds: the script has writes");
}

/// An opening, with the recovery of the script's disk, that meets a failure at any operation, once or from then on: it fails, or succeeds,
/// or has a suspect database; then the power fails. The next opening finds everything that was promised.
#[test]
fn promises_hold_whatever_fails_in_an_opening() {
    let world = World::with_disk(2, Profile::nvme(), prepared());
    let told = kept(Told::default());
    let (device, into) = (world.clone(), Arc::clone(&told));
    world.run(move |os| {
        let server = Server::open(os);
        let mut session = server.session();
        script(&mut session, &into);
        // What is at risk, and what a rollback has to undo.
        for key in 40..44 {
            let text = format!("BEGIN TRAN; INSERT T1 VALUES ({key}); COMMIT WITH (DELAYED_DURABILITY = ON)");
            ask(&mut session, &text).unwrap();
        }
        ask(&mut session, "BEGIN TRAN; INSERT T1 VALUES (50); EXEC sys.sp_flush_log").unwrap();
        device.power_off();
    });
    let (image, told) = (world.disk_image(), told.lock().clone());
    assert!(told.is_complete, "nothing has failed yet");
    let kinds = [
        (Operation::Write, Effect::Fail),
        (Operation::Write, Effect::NoSpace),
        (Operation::Sync, Effect::Fail),
        (Operation::Read, Effect::Fail),
        (Operation::Name, Effect::Fail),
        (Operation::Name, Effect::NoSpace),
    ];
    let (mut worlds, mut failed) = (0, 0);
    for (operation, effect) in kinds {
        // A disk that is full stays so.
        let times: &[u64] = if effect == Effect::Fail { &[1, u64::MAX] } else { &[u64::MAX] };
        for &times in times {
            for k in 0.. {
                let what = format!("{effect:?} at {operation:?} {k} of an opening, {times} times");
                let world = World::with_disk(3, Profile::nvme(), image.clone());
                world.inject(Fault { times, effect, ..Fault::fail_once(operation, k) });
                let has_failed = kept(false);
                let (device, into) = (world.clone(), Arc::clone(&has_failed));
                let report = world.run(move |os| {
                    let opened = Server::try_open(os, InstanceOptions::new("/data"));
                    *into.lock() = opened.is_err();
                    device.power_off();
                });
                assert_eq!(
                    (report.end, report.failures.len()),
                    (End::PowerOff, 0),
                    "{what}: {:?}",
                    report.failures
                );
                let is_struck = world.faults_hit_total() > 0;
                world.clear_faults();
                world.disarm();
                judge(&world, &told, &what);
                worlds += 1;
                failed += u64::from(*has_failed.lock());
                assert!(is_struck || !*has_failed.lock(), "{what}: it fails without a failure");
                if !is_struck {
                    break;
                }
            }
        }
    }
    println!("{worlds} worlds, {failed} openings failed as a whole");
    assert!(worlds > 200 && failed > 20, "{worlds} worlds, {failed} failed");
}

/// The test detects a server that reports HARDENED too early, and one that hands values out too early.
#[test]
fn broken_promises_are_found() {
    let image = prepared();
    for bug in [Bug::TicketBeforeHardened, Bug::HandOutBeforeHarden] {
        let is_condemned = |k: u64| {
            let fault = Fault::fail_once(Operation::Write, k);
            std::panic::catch_unwind(|| one(&image, fault, Some(bug), "planted")).is_err()
        };
        let found = (0..60).find(|&k| is_condemned(k));
        println!("{bug:?} at write {found:?}");
        assert!(found.is_some(), "{bug:?} was not seen at 60 writes");
    }
}
