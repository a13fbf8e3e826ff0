//! Full log, full disk, failed log writes, damaged files: the documented error, reads go on, nothing acknowledged is lost, and work resumes
#![allow(clippy::unwrap_used, reason = "a test")]
//! when there is room again (faults F5, F6, F7).

mod support;

use std::path::Path;
use std::sync::Arc;

use hardpan_engine::{
    CreateDatabaseOptions, Database, DatabaseState, Growth, Instance, IsolationLevel, NewDatabaseFile,
    TransactionSet,
};
use os::sim::{Fault, Operation, Profile, World};
use support::{
    NAME, Session, all_rows, create_database, create_table, find, in_world, item, items, open, rows, table,
};

/// A database whose log cannot grow.
fn small_log(instance: &Arc<Instance>) -> Arc<Database> {
    let log = NewDatabaseFile {
        size_bytes: Some(1 << 20),
        growth: Some(Growth::None),
        ..NewDatabaseFile::default()
    };
    let options =
        CreateDatabaseOptions { name: NAME.into(), log_files: vec![log], ..CreateDatabaseOptions::default() };
    instance.create_database(&options).expect("a new database")
}

/// 9002: the writer is refused, its rollback works without any space, readers continue, and the next transaction finds room again.
#[test]
fn a_full_log_refuses_changes_and_nothing_else() {
    in_world(1, Profile::nvme(), |os| {
        let instance = open(os);
        let database = small_log(&instance);
        let items = create_table(&instance, &database, &items("T1"));
        let mut session = Session::new(&instance, &database, 51);
        session.autocommit(None, |txn| items.insert(txn, &item(1, 1, 100))).expect("one row");
        session.set.begin_explicit();
        let mut refused = None;
        for id in 2..20_000 {
            if let Err(error) = session.statement(|txn| items.insert(txn, &item(id, id, 200))) {
                refused = Some((id, error));
                break;
            }
        }
        let (reached, error) = refused.expect("a log of one megabyte is full some time");
        assert_eq!((error.number, error.severity), (9002, 17), "{error}");
        assert!(error.message.contains("ACTIVE_TRANSACTION"), "no checkpoint would help: {error}");
        database.checkpoint().expect("a checkpoint needs hardly any log");
        let error =
            session.statement(|txn| items.insert(txn, &item(reached, 1, 200))).expect_err("still full");
        assert!(error.number == 9002 && error.message.contains("ACTIVE_TRANSACTION"), "{error}");
        assert!(reached > 500, "half of the log is for work: {reached} rows");
        session.set.rollback().expect("rollback needs no space");
        assert_eq!(all_rows(&instance, &database, &items).len(), 1, "readers go on, the rows are undone");
        assert_eq!(database.state(), DatabaseState::Online);
        database.checkpoint().expect("CHECKPOINT gives the log back");
        for id in 2..200 {
            session
                .autocommit(None, |txn| items.insert(txn, &item(id, id, 200)))
                .expect("there is room again");
        }
        drop(session);
        instance.shutdown();
    });
}

/// Small transactions never get 9002 in a log that cannot grow: a checkpoint comes in time, with and without its thread.
#[test]
fn small_transactions_reuse_a_small_log() {
    in_world(6, Profile::nvme(), |os| {
        let instance = open(os);
        let database = small_log(&instance);
        let items = create_table(&instance, &database, &items("T1"));
        let mut session = Session::new(&instance, &database, 51);
        for id in 0..6_000 {
            session
                .autocommit(Some(true), |txn| items.insert(txn, &item(id, id, 300)))
                .expect("there is always room");
        }
        let stats = database.log().stats();
        assert_eq!(stats.growths_total, 0);
        assert!(
            stats.record_bytes_total > 2 * stats.size_bytes,
            "the log went round: {} bytes",
            stats.record_bytes_total
        );
        drop(session);
        instance.shutdown();
    });
}

/// A transaction after one that has filled the log and was rolled back finds room, whatever its rows: no session has to request a
/// checkpoint, and none of the thread's is waited for.
#[test]
fn nobody_finds_the_log_full_after_a_rollback() {
    for (seed, width) in [(3, 50), (4, 900), (5, 6_000)] {
        in_world(seed, Profile::nvme(), move |os| {
            let instance = open(os);
            let database = small_log(&instance);
            let items = create_table(&instance, &database, &items("T1"));
            let mut session = Session::new(&instance, &database, 51);
            let mut next = 1;
            for round in 0..8 {
                session.set.begin_explicit();
                let mut id = 1_000_000;
                while session.statement(|txn| items.insert(txn, &item(id, id, width))).is_ok() {
                    id += 1;
                }
                session.set.rollback().expect("rollback needs no space");
                for _ in 0..40 {
                    session
                        .autocommit(Some(true), |txn| items.insert(txn, &item(next, 1, width)))
                        .unwrap_or_else(|error| panic!("round {round}, row {next} of {width}: {error}"));
                    next += 1;
                }
            }
            drop(session);
            instance.shutdown();
        });
    }
}

/// Nor do transactions of some rows of a page each.
#[test]
fn wide_rows_reuse_a_small_log() {
    in_world(7, Profile::nvme(), |os| {
        let instance = open(os);
        let database = small_log(&instance);
        let items = create_table(&instance, &database, &items("T1"));
        let mut session = Session::new(&instance, &database, 51);
        for turn in 0..600 {
            let rows = 1 + turn % 5;
            let insert = |txn: &_| {
                (0..rows).try_for_each(|row| items.insert(txn, &item(turn * 10 + row, 1, 7_000)).map(|_| ()))
            };
            session.autocommit(Some(true), insert).unwrap_or_else(|error| panic!("turn {turn}: {error}"));
        }
        drop(session);
        instance.shutdown();
    });
}

/// A transaction without concurrent ones finds the room that it needs, whatever was logged before it began.
#[test]
fn a_transaction_gets_the_log_of_those_before_it() {
    in_world(8, Profile::nvme(), |os| {
        let instance = open(os);
        let database = small_log(&instance);
        let items = create_table(&instance, &database, &items("T1"));
        let mut session = Session::new(&instance, &database, 51);
        let mut next = 0;
        for turn in 0..12 {
            // From 50 to 72 percent, which is too little to trigger a check.
            database.checkpoint().expect("CHECKPOINT gives the log back");
            let is_little = |database: &Database| {
                let stats = database.log().stats();
                stats.used_bytes * 100 < stats.size_bytes * (50 + 2 * turn)
            };
            while is_little(&database) {
                next += 1;
                session.autocommit(Some(true), |txn| items.insert(txn, &item(next, 1, 900))).expect("room");
            }
            session.set.begin_explicit();
            for row in 0..350 {
                next += 1;
                session
                    .statement(|txn| items.insert(txn, &item(next, 1, 900)))
                    .unwrap_or_else(|error| panic!("turn {turn}, row {row}: {error}"));
            }
            session.set.commit(None).expect("a commit");
        }
        drop(session);
        instance.shutdown();
    });
}

/// A crash in the middle of a transaction that has filled the log: recovery has the room it needs.
#[test]
fn recovery_of_a_full_log_works() {
    let world = World::new(2, Profile::nvme());
    let handle = world.clone();
    world
        .run(move |os| {
            let instance = open(os);
            let database = small_log(&instance);
            let items = create_table(&instance, &database, &items("T1"));
            let mut session = Session::new(&instance, &database, 51);
            session.autocommit(None, |txn| items.insert(txn, &item(1, 1, 100))).expect("one row");
            session.set.begin_explicit();
            for id in 2..20_000 {
                if session.statement(|txn| items.insert(txn, &item(id, id, 200))).is_err() {
                    break;
                }
            }
            database.flush_log().expect("sp_flush_log");
            handle.power_off();
        })
        .assert_ok();
    world
        .run(|os| {
            let instance = open(os);
            let database = instance.database(NAME).expect("the database is usable");
            let items = table(&database, "T1").expect("the table");
            assert_eq!(all_rows(&instance, &database, &items).len(), 1);
            let mut session = Session::new(&instance, &database, 51);
            session.autocommit(None, |txn| items.insert(txn, &item(2, 1, 100))).expect("and takes new work");
            drop(session);
            instance.shutdown();
        })
        .assert_ok();
}

/// The disk is full: writers get 1105 or 9002, readers continue; when space returns, so do the writers. No acknowledged commit is lost.
#[test]
fn a_full_disk_refuses_growth_until_there_is_room() {
    let world = World::new(3, Profile::nvme());
    let handle = world.clone();
    world
        .run(move |os| {
            let instance = open(os);
            let database = create_database(&instance, NAME).expect("a new database");
            let items = create_table(&instance, &database, &items("T1"));
            let mut session = Session::new(&instance, &database, 51);
            session.autocommit(None, |txn| items.insert(txn, &item(0, 0, 10))).expect("one row");
            handle.set_capacity_bytes(Some(handle.used_bytes() + 64 * 1024));
            let mut acknowledged = 1;
            let refused = (1..100_000).find_map(|id| {
                let result = session.autocommit(Some(true), |txn| items.insert(txn, &item(id, id, 390)));
                acknowledged += u32::from(result.is_ok());
                result.err()
            });
            let error = refused.expect("the disk is full some time");
            assert!(matches!(error.number, 1105 | 9002), "{error}");
            assert_eq!(all_rows(&instance, &database, &items).len(), acknowledged as usize);
            assert_eq!(database.state(), DatabaseState::Online, "no space is not the end of a database");
            handle.set_capacity_bytes(None);
            session
                .autocommit(None, |txn| items.insert(txn, &item(200_000, 1, 390)))
                .expect("there is room again");
            assert_eq!(all_rows(&instance, &database, &items).len(), acknowledged as usize + 1);
            drop(session);
            instance.shutdown();
        })
        .assert_ok();
}

/// F6: after a failed log write nothing more is acknowledged (9001), the database is suspect, the others work; a restart shows only
/// acknowledged commits.
#[test]
fn a_failed_log_write_ends_all_acknowledgements() {
    let world = World::new(4, Profile::nvme());
    let handle = world.clone();
    world
        .run(move |os| {
            let instance = open(os);
            let (bad, good) = (
                create_database(&instance, NAME).expect("new"),
                create_database(&instance, "other").expect("new"),
            );
            let (items_bad, items_good) =
                (create_table(&instance, &bad, &items("T1")), create_table(&instance, &good, &items("T1")));
            let mut session = Session::new(&instance, &bad, 51);
            session.autocommit(None, |txn| items_bad.insert(txn, &item(1, 1, 10))).expect("one row");
            let log =
                handle.files().into_iter().find(|path| path.to_string_lossy().contains("hk") && is_log(path));
            let log = log.expect("the log file of hk");
            handle.inject(Fault::fail_from(Operation::Write, 0).on(&log.to_string_lossy()));
            let error = session
                .autocommit(None, |txn| items_bad.insert(txn, &item(2, 1, 10)))
                .expect_err("the write fails");
            assert_eq!(error.number, 9001, "{error}");
            handle.clear_faults();
            assert_eq!(bad.state(), DatabaseState::Suspect);
            let error = session
                .autocommit(None, |txn| items_bad.insert(txn, &item(3, 1, 10)))
                .expect_err("never again");
            assert!(matches!(error.number, 926 | 9001), "{error}");
            drop(session);
            let mut session = Session::new(&instance, &good, 52);
            session.autocommit(None, |txn| items_good.insert(txn, &item(1, 1, 10))).expect("the others work");
            drop(session);
            instance.shutdown();
        })
        .assert_ok();
    world
        .run(|os| {
            let instance = open(os);
            let database = instance.database(NAME).expect("recovered");
            let items = table(&database, "T1").expect("the table");
            let ids: Vec<i64> =
                all_rows(&instance, &database, &items).iter().map(|row| support::int(row, 0)).collect();
            assert!(
                ids == [1] || ids == [1, 2],
                "the row that was not acknowledged may be there, none after it: {ids:?}"
            );
            instance.shutdown();
        })
        .assert_ok();
}

/// A session that waits for the locks of a commit whose log write fails gets 9001, never the row: readers and writers, by row, by table, and
/// sessions that request the lock just after. The database is suspect before the first of them continues.
#[test]
fn a_commit_that_never_was_is_read_by_nobody() {
    for (seed, isolation) in [
        (21, IsolationLevel::ReadCommitted),
        (22, IsolationLevel::RepeatableRead),
        (23, IsolationLevel::Serializable),
    ] {
        let world = World::new(seed, Profile::nvme());
        let handle = world.clone();
        world
            .run(move |os| {
                let instance = open(os);
                let database = create_database(&instance, NAME).expect("new");
                let items = create_table(&instance, &database, &items("T1"));
                let mut writer = Session::new(&instance, &database, 51);
                writer.autocommit(None, |txn| items.insert(txn, &item(1, 1, 10))).expect("one row");
                writer.set.begin_explicit();
                let inserted = writer.statement(|txn| items.insert(txn, &item(2, 2, 10)));
                inserted.expect("a row that waits for its commit");
                let readers: Vec<_> = (0..4i16)
                    .map(|number| {
                        let (instance, database, items) =
                            (instance.clone(), database.clone(), database.table(items.definition()));
                        os.spawn("reader", move || {
                            let mut set = TransactionSet::new(&instance, 60 + number);
                            set.begin_explicit();
                            set.statement_begin();
                            let txn = set.in_database(&database, isolation).expect("it is sound yet");
                            let read = match number % 2 {
                                0 => rows(txn, &items, items.definition().base().index_id).map(|_| ()),
                                _ => find(txn, &items, 2).map(|_| ()),
                            };
                            let error = read.expect_err("a row that was never committed is not read");
                            assert_eq!(error.number, 9001, "{error}");
                            assert_eq!(database.state(), DatabaseState::Suspect);
                            set.rollback().expect("it has changed nothing");
                        })
                    })
                    .collect();
                os.sleep(50_000_000, os::WaitType::SLEEP_TASK).expect("nobody interrupts");
                let log =
                    handle.files().into_iter().find(|path| is_log(path) && path.ends_with("hk_log.ldf"));
                let log = log.expect("the log file of hk");
                handle.inject(Fault::fail_from(Operation::Write, 0).on(&log.to_string_lossy()));
                let error = writer.set.commit(None).expect_err("the write fails");
                assert_eq!(error.number, 9001, "{error}");
                readers.into_iter().for_each(|reader| reader.join().expect("a reader's assertions"));
                handle.clear_faults();
                drop(writer);
                instance.shutdown();
            })
            .assert_ok();
    }
}

fn is_log(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "ldf")
}

/// F5: a database whose file is missing or damaged is shown with the reason; the instance and the other databases work.
#[test]
fn a_damaged_database_does_not_stop_the_others() {
    for damage in ["missing data file", "missing log", "header of the data file", "header of the log"] {
        let world = World::new(5, Profile::nvme());
        world
            .run(|os| {
                let instance = open(os);
                for name in [NAME, "other"] {
                    let database = create_database(&instance, name).expect("a new database");
                    create_table(&instance, &database, &items("T1"));
                }
                instance.shutdown();
            })
            .assert_ok();
        let file = |extension: &str| {
            let of_it = |path: &std::path::PathBuf| {
                let name =
                    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
                name.starts_with(NAME) && path.extension().is_some_and(|found| found == extension)
            };
            world.files().into_iter().find(of_it).expect("the file is there")
        };
        let (data, log) = (file("mdf"), file("ldf"));
        match damage {
            "header of the data file" => world.corrupt(&data, 0, &[0xa5; 4096]),
            "header of the log" => world.corrupt(&log, 0, &[0xa5; 8192]),
            _ => {}
        }
        let removed = match damage {
            "missing data file" => Some(data),
            "missing log" => Some(log),
            _ => None,
        };
        world
            .run(move |os| {
                if let Some(path) = removed {
                    os.disk().remove(&path).expect("the file was there");
                }
                let instance = open(os);
                let error = instance.database(NAME).err().expect("it cannot be used");
                assert!(matches!(error.number, 926 | 945), "{damage}: {error}");
                let infos = instance.database_infos();
                let info = infos.iter().find(|info| info.name == NAME).expect("it is still known");
                assert!(
                    info.reason.as_ref().is_some_and(|reason| !reason.is_empty()),
                    "{damage}: no reason given"
                );
                assert!(
                    matches!(info.state, DatabaseState::Suspect | DatabaseState::RecoveryPending),
                    "{damage}: {:?}",
                    info.state
                );
                let other = instance.database("other").expect("the other one works");
                assert!(table(&other, "T1").is_some());
                instance.shutdown();
            })
            .assert_ok();
    }
}
