//! PERSISTENT_LOG_BUFFER and log files on a DAX volume through T-SQL (claims 70 to 76), on a simulated machine with persistent memory.
//! Syntax, size and what happens without the path: learn.microsoft.com, "Add persistent log buffer to a database".
#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::Arc;

use crate::common::simulated::{NAME, Server, flushes, keys, number, repeat};
use crate::common::{numbers, rows, run};
use engine::DatabaseState;
use hardpan_session::Session;
use log::FlushReason;
use os::sim::{Bug, PERSISTENT_FOLDER, Profile, World};
use os::{Latch, LatchRank, Os};

/// No error.
const NOTHING: [i32; 0] = [];
const ON: &str = "SET PERSISTENT_LOG_BUFFER = ON (DIRECTORY_NAME = '/pmem')";

fn alter(session: &mut Session, what: &str) -> Vec<i32> {
    numbers(&run(session, &format!("ALTER DATABASE {NAME} {what}")))
}

/// A world with the tests' database, and a DAX volume.
fn new_world(seed: u64) -> World {
    let world = World::new(seed, Profile::drawn(seed));
    world
        .run(|os| {
            os.disk().create_dir_all(PERSISTENT_FOLDER.as_ref()).unwrap();
            os.disk().sync_dir("/".as_ref()).unwrap();
            let (server, session) = Server::with_table(os);
            server.stop(session);
        })
        .assert_ok();
    world
}

/// Runs `body` with a server; returns its result.
fn with_server<T: Send + 'static>(
    world: &World,
    body: impl FnOnce(&Os, Server, Session) -> T + Send + 'static,
) -> T {
    let found = Arc::new(Latch::new(LatchRank::Leaf, None));
    let into = Arc::clone(&found);
    world
        .run(move |os| {
            let server = Server::open_persistent(os);
            let session = server.session_in("master");
            let value = body(os, server, session);
            *into.lock() = Some(value);
        })
        .assert_ok();
    let found = found.lock().take();
    found.unwrap()
}

fn kept_keys(world: &World) -> Vec<i64> {
    with_server(world, |_, server, session| {
        session.close();
        let mut session = server.session();
        let found = keys(&mut session);
        server.stop(session);
        found
    })
}

/// Claims 70, 73, 75 and 76: no flush, no wait for one, nothing at risk, and a loss of power loses nothing.
#[test]
fn commits_flush_nothing_and_are_safe() {
    let world = new_world(1);
    let nemesis = world.clone();
    world
        .run(move |os| {
            let server = Server::open_persistent(os);
            let mut session = server.session();
            assert_eq!(alter(&mut session, ON), NOTHING);
            assert_eq!(alter(&mut session, "SET DELAYED_DURABILITY = ALLOWED"), NOTHING);
            let before = flushes(&mut session, NAME);
            let waits = "SELECT waiting_tasks_count FROM sys.dm_os_wait_stats WHERE wait_type = ";
            let write_waits = number(&mut session, &format!("{waits} 'WRITELOG'"));
            let copy_waits = number(&mut session, &format!("{waits} 'LOGMGR_PMM_LOG'"));
            repeat(&mut session, 1, 100, "INSERT INTO dbo.T1(col1) VALUES(@i);");
            repeat(
                &mut session,
                101,
                20,
                "BEGIN TRAN INSERT INTO dbo.T1(col1) VALUES(@i); COMMIT TRAN WITH (DELAYED_DURABILITY = ON);",
            );
            assert_eq!(flushes(&mut session, NAME), before, "a hundred durable commits without a flush");
            assert_eq!(number(&mut session, &format!("{waits} 'WRITELOG'")), write_waits);
            assert_eq!(number(&mut session, &format!("{waits} 'LOGMGR_PMM_LOG'")) - copy_waits, 120);
            let window = "SELECT commits_at_risk, power_loss_commits, log_cache_outlives_process FROM sys.dm_db_loss_window";
            let window = rows(&mut session, &format!("{window} WHERE database_id = DB_ID()"));
            assert_eq!(window, ["0|0|1"], "nor are delayed ones at risk");
            let buffer = rows(
                &mut session,
                "SELECT physical_name, is_dax, CASE WHEN persisted_lsn > file_hardened_lsn THEN 'ahead' ELSE 'equal' END, \
                 CASE WHEN copy_count >= 120 THEN 1 ELSE 0 END FROM sys.dm_db_persistent_log_buffer WHERE database_id = DB_ID()",
            );
            assert_eq!(buffer.len(), 1);
            assert!(buffer[0].starts_with("/pmem/") && buffer[0].ends_with(".pldf|1|ahead|1"), "{buffer:?}");
            let file = "name, type_desc, size, max_size, growth, is_persistent_log_buffer";
            for view in ["sys.database_files", "sys.master_files"] {
                let shown = rows(
                    &mut session,
                    &format!("SELECT {file} FROM {view} WHERE is_persistent_log_buffer = 1"),
                );
                assert_eq!(shown, [format!("{NAME}_persistent_log_buffer|LOG|2560|2560|0|1")], "{view}: 20 MB");
            }
            nemesis.power_off();
        })
        .assert_ok();
    assert_eq!(kept_keys(&world), (1..=120).collect::<Vec<_>>());
    assert!(world.reached().get("log blocks are taken over").is_some_and(|times| *times > 0));
}

/// The log's other reasons to write still reach the file, and tickets and checkpoints work with it.
#[test]
fn flush_procedure_checkpoint_and_tickets() {
    let world = new_world(2);
    with_server(&world, |_, server, session| {
        session.close();
        let mut session = server.session();
        assert_eq!(alter(&mut session, ON), NOTHING);
        let written = server.flushes_for(FlushReason::FlushLogProc);
        run(&mut session, "INSERT INTO dbo.T1(col1) VALUES(1)");
        let status = "DECLARE @ticket varbinary(32) = @@COMMIT_TICKET; SELECT sys.fn_commit_status(@ticket)";
        assert_eq!(rows(&mut session, status), ["HARDENED"], "it survives a loss of power");
        run(&mut session, "EXEC sys.sp_flush_log");
        assert_eq!(
            server.flushes_for(FlushReason::FlushLogProc),
            written + 1,
            "to the disk, as its name says"
        );
        run(&mut session, "INSERT INTO dbo.T1(col1) VALUES(2); CHECKPOINT");
        let info = server.database().log().persisted_buffer().unwrap();
        assert!(info.hardened_in_file >= server.database().log().stats().checkpoint, "{info:?}");
        server.stop(session);
    });
    assert_eq!(kept_keys(&world), [1, 2]);
}

/// Sessions write, the power fails before a store, flush or fence of the buffer: acknowledged rows exist.
fn torn_at(operation: u64, seed: u64, bug: Option<Bug>) -> Result<(), String> {
    let world = new_world(seed);
    world.plant(bug);
    let told: Arc<Latch<Vec<i64>>> = Arc::new(Latch::new(LatchRank::Leaf, Vec::new()));
    let (ledger, nemesis) = (Arc::clone(&told), world.clone());
    let report = world.run(move |os| {
        let server = Server::open_persistent(os);
        let mut session = server.session();
        assert_eq!(alter(&mut session, ON), NOTHING);
        nemesis.power_off_after_stores(operation);
        for key in 1..=40 {
            run(&mut session, &format!("INSERT INTO dbo.T1(col1) VALUES({key})"));
            ledger.lock().push(key);
            if key == 25 {
                run(&mut session, "CHECKPOINT");
            }
        }
        nemesis.power_off();
    });
    assert!(report.failures.is_empty(), "operation {operation} seed {seed}: {:?}", report.failures);
    world.disarm();
    let (found, told) = (kept_keys(&world), told.lock().clone());
    // One more may exist: the insertion during which the power failed.
    let is_prefix = found.iter().copied().eq(1..=found.len() as i64);
    if is_prefix && (told.len()..=told.len() + 1).contains(&found.len()) {
        Ok(())
    } else {
        Err(format!("{} were acknowledged, {found:?} are there", told.len()))
    }
}

#[test]
fn a_loss_of_power_at_any_store_takes_nothing() {
    for seed in 0..40 {
        let operation = 1 + seed * 11;
        torn_at(operation, seed, None)
            .unwrap_or_else(|error| panic!("operation {operation} seed {seed}: {error}"));
    }
}

#[test]
fn planted_bugs_of_the_buffer_are_found() {
    for bug in [Bug::AcknowledgedBeforeFence, Bug::BufferNotCopied] {
        let found = (0..60).find(|seed| torn_at(30 + seed * 5, *seed, Some(bug)).is_err());
        println!("{bug:?} at seed {found:?}");
        assert!(found.is_some(), "{bug:?} is not seen");
    }
}

/// Claims 71 and 72: the same statement creates a buffer on a DAX volume, whatever size it specifies, and a log file elsewhere.
#[test]
fn a_log_file_on_a_dax_volume_is_the_buffer() {
    let world = new_world(3);
    let checker = world.clone();
    with_server(&world, move |_, server, session| {
        session.close();
        let mut session = server.session();
        let file = |name: &str, path: &str| {
            format!("ADD LOG FILE (NAME = {name}, FILENAME = '{path}', SIZE = 64MB)")
        };
        assert_eq!(alter(&mut session, &file("wwi_log2", "/pmem/wwi_log2.pldf")), NOTHING);
        assert_eq!(
            alter(&mut session, "ADD LOG FILE (NAME = log3, FILENAME = '/data/log3.ldf', SIZE = 2MB)"),
            NOTHING
        );
        let shown = "SELECT name, size, is_persistent_log_buffer FROM sys.database_files WHERE type = 1 ORDER BY file_id";
        let shown = rows(&mut session, shown);
        assert_eq!(shown[1..], ["wwi_log2|2560|1", "log3|256|0"], "{shown:?}");
        run(&mut session, "INSERT INTO dbo.T1(col1) VALUES(1)");
        assert_eq!(alter(&mut session, &file("another", "/pmem/another.pldf")), [40517], "one of a database");
        assert_eq!(alter(&mut session, ON), [40517]);
        assert_eq!(alter(&mut session, "MODIFY FILE (NAME = wwi_log2, NEWNAME = tail)"), NOTHING);
        assert_eq!(alter(&mut session, "MODIFY FILE (NAME = tail, SIZE = 40MB)"), [40517]);
        let before = checker.persistent_names();
        assert_eq!(before.len(), 1);
        let removed = alter(&mut session, "REMOVE FILE tail");
        assert!(removed.iter().all(|number| *number == 0), "{removed:?}");
        assert!(
            checker.persistent_names().is_empty() && server.database().log().persisted_buffer().is_none()
        );
        let left =
            rows(&mut session, "SELECT COUNT(*) FROM sys.database_files WHERE is_persistent_log_buffer = 1");
        assert_eq!(left, ["0"]);
        server.stop(session);
    });
    assert_eq!(kept_keys(&world), [1]);
}

#[test]
fn what_cannot_be_is_refused() {
    let world = new_world(4);
    let checker = world.clone();
    with_server(&world, move |_, server, mut master| {
        let mut set = |database: &str, directory: &str| {
            let text = format!(
                "ALTER DATABASE {database} SET PERSISTENT_LOG_BUFFER = ON (DIRECTORY_NAME = '{directory}')"
            );
            numbers(&run(&mut master, &text))
        };
        assert_eq!(set(NAME, "/data"), [5123], "no DAX volume");
        assert_eq!(set(NAME, "/pmem/nowhere"), [5133]);
        assert_eq!(set(NAME, "/elsewhere"), [5133]);
        assert_eq!(set("master", "/pmem"), [5058]);
        assert_eq!(set("tempdb", "/pmem"), [5058]);
        assert_eq!(
            numbers(&run(&mut master, &format!("ALTER DATABASE {NAME} SET PERSISTENT_LOG_BUFFER = ON"))),
            [153]
        );
        let create = |name: &str, directory: &str| {
            format!("CREATE DATABASE {name} WITH PERSISTENT_LOG_BUFFER = ON (DIRECTORY_NAME = '{directory}')")
        };
        assert_eq!(numbers(&run(&mut master, &create("a", "/data"))), [5123]);
        assert_eq!(rows(&mut master, "SELECT DB_ID('a')"), ["NULL"], "all of it or nothing");
        assert!(checker.persistent_names().is_empty(), "nothing is left behind");
        assert_eq!(numbers(&run(&mut master, &create("b", "/pmem"))), NOTHING);
        assert!(server.instance.database("b").unwrap().log().persisted_buffer().is_some());
        assert_eq!(checker.persistent_names().len(), 1);
        assert_eq!(numbers(&run(&mut master, "DROP DATABASE b")), NOTHING);
        assert!(checker.persistent_names().is_empty(), "it goes with its database");
        server.stop(master);
    });
}

/// The buffer has no VLFs to release and keeps its 20 MB in every kind of shrink.
#[test]
fn the_buffer_keeps_its_size() {
    let world = new_world(6);
    world
        .run(|os| {
            let server = Server::open_persistent(os);
            let mut session = server.session();
            assert_eq!(alter(&mut session, ON), NOTHING);
            let size = "SELECT size FROM sys.database_files WHERE is_persistent_log_buffer = 1";
            let file = "SELECT file_id FROM sys.database_files WHERE is_persistent_log_buffer = 1";
            let file = rows(&mut session, file).remove(0);
            for (shrink, told) in [
                (format!("DBCC SHRINKFILE ({file}, 1) WITH NO_INFOMSGS"), vec![9009]),
                (format!("DBCC SHRINKFILE ({file}) WITH NO_INFOMSGS"), vec![]),
                (format!("DBCC SHRINKFILE ({file}, TRUNCATEONLY) WITH NO_INFOMSGS"), vec![]),
                (format!("DBCC SHRINKFILE ({file}, EMPTYFILE) WITH NO_INFOMSGS"), vec![]),
                ("DBCC SHRINKDATABASE (0) WITH NO_INFOMSGS".to_owned(), vec![]),
            ] {
                assert_eq!(numbers(&run(&mut session, &shrink)), told, "{shrink}");
                assert_eq!(rows(&mut session, size), ["2560"], "{shrink}");
            }
            repeat(&mut session, 1, 3, "INSERT INTO dbo.T1(col1) VALUES(@i);");
            assert_eq!(alter(&mut session, "SET PERSISTENT_LOG_BUFFER = OFF"), NOTHING);
            server.stop(session);
        })
        .assert_ok();
}

/// The path does not exist at a start: RECOVERY_PENDING until it does, while all other databases work.
#[test]
fn without_the_device_a_database_waits_for_it() {
    let world = new_world(5);
    let nemesis = world.clone();
    world
        .run(move |os| {
            let server = Server::open_persistent(os);
            let mut session = server.session();
            assert_eq!(alter(&mut session, ON), NOTHING);
            repeat(&mut session, 1, 10, "INSERT INTO dbo.T1(col1) VALUES(@i);");
            nemesis.power_off();
        })
        .assert_ok();
    for _ in 0..2 {
        world.set_persistent_device(false);
        with_server(&world, |_, server, mut session| {
            let state = server.instance.database_infos().into_iter().find(|info| info.name == NAME).unwrap();
            assert_eq!(state.state, DatabaseState::RecoveryPending);
            assert!(state.reason.unwrap().contains("persisted log buffer"));
            let shown = format!("SELECT state_desc FROM sys.databases WHERE name = '{NAME}'");
            assert_eq!(rows(&mut session, &shown), ["RECOVERY_PENDING"]);
            server.stop(session);
        });
        world.set_persistent_device(true);
        assert_eq!(kept_keys(&world), (1..=10).collect::<Vec<_>>(), "also after a clean stop");
    }
}

/// The file is missing and its folder exists: after an orderly stop it held nothing that the log lacks, so another is created; after a crash it may
/// have held the end of the log, and the database waits for it.
#[test]
fn a_lost_file_is_made_anew_after_a_clean_stop_only() {
    let world = new_world(6);
    let buffer = "SELECT physical_name FROM sys.dm_db_persistent_log_buffer";
    let path = with_server(&world, move |_, server, session| {
        session.close();
        let mut session = server.session();
        assert_eq!(alter(&mut session, ON), NOTHING);
        repeat(&mut session, 1, 10, "INSERT INTO dbo.T1(col1) VALUES(@i);");
        let path = rows(&mut session, buffer).remove(0);
        server.stop(session);
        path
    });
    let (dying, gone) = (world.clone(), path.clone());
    world
        .run(move |os| {
            os.remove_persistent_memory(gone.as_ref()).unwrap();
            let server = Server::open_persistent(os);
            let mut session = server.session();
            assert_eq!(keys(&mut session), (1..=10).collect::<Vec<_>>());
            assert_eq!(rows(&mut session, buffer), [gone], "it is in force again");
            repeat(&mut session, 11, 10, "INSERT INTO dbo.T1(col1) VALUES(@i);");
            dying.kill_process();
        })
        .assert_ok();
    with_server(&world, move |os, server, session| {
        server.stop(session);
        os.remove_persistent_memory(path.as_ref()).unwrap();
    });
    assert_eq!(kept_keys(&world), (1..=20).collect::<Vec<_>>(), "that stop was clean, too");
    let (dying, gone) = (world.clone(), Arc::new(Latch::new(LatchRank::Leaf, String::new())));
    let noted = Arc::clone(&gone);
    world
        .run(move |os| {
            let server = Server::open_persistent(os);
            let mut session = server.session();
            repeat(&mut session, 21, 10, "INSERT INTO dbo.T1(col1) VALUES(@i);");
            *noted.lock() = rows(&mut session, buffer).remove(0);
            dying.kill_process();
        })
        .assert_ok();
    world
        .run(move |os| {
            os.remove_persistent_memory(gone.lock().as_ref()).unwrap();
            let server = Server::open_persistent(os);
            let session = server.session_in("master");
            let state = server.instance.database_infos().into_iter().find(|info| info.name == NAME).unwrap();
            assert_eq!(state.state, DatabaseState::RecoveryPending);
            server.stop(session);
        })
        .assert_ok();
}
