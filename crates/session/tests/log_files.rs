//! Log files of a database: used in turn, added and removed through crashes, missing, shrunk; on a simulated machine.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use std::collections::BTreeSet;
use std::path::Path;

use crate::common::simulated::{NAME, Server, kept, number, on_a_machine, through_power_cut};
use crate::common::{numbers, rows, run};
use hardpan_session::Session;
use os::Os;
use os::sim::{Bug, World};

const SECOND: &str = "/data/drives/l/second.ldf";

/// The tests' database with a log of 512 KB that does not grow, and a table whose rows take 5 KB of log.
fn small(os: &Os) -> (Server, Session) {
    let server = Server::open(os);
    let mut session = server.session_in("master");
    let log = r"NAME = first, FILENAME = 'L:\first.ldf', SIZE = 512KB, FILEGROWTH = 0";
    run(
        &mut session,
        &format!("CREATE DATABASE {NAME} ON (NAME = d, FILENAME = 'D:\\d.mdf') LOG ON ({log})"),
    );
    run(&mut session, &format!("USE {NAME}; CREATE TABLE t (i int NOT NULL, v char(5000) NOT NULL)"));
    (server, session)
}

const ADD: &str = r"ALTER DATABASE CURRENT ADD LOG FILE (NAME = second, FILENAME = 'L:\second.ldf', SIZE = 512KB, FILEGROWTH = 0)";
const REMOVE: &str = "ALTER DATABASE CURRENT REMOVE FILE second";
const FILES_IN_USE: &str =
    "SELECT file_id FROM sys.dm_db_log_info(DB_ID()) WHERE vlf_active = 1 ORDER BY vlf_sequence_number";

fn insert(session: &mut Session, i: i64) {
    assert_eq!(numbers(&run(session, &format!("INSERT t VALUES ({i}, 'x')"))), [0; 0], "row {i}");
}

/// Claims 286, 287 and 290: the log uses both files in a cycle, at a constant size.
#[test]
fn the_log_goes_round_its_files() {
    on_a_machine(286, |os| {
        let (server, mut session) = small(os);
        assert_eq!(numbers(&run(&mut session, ADD)), [0; 0]);
        let size = "SELECT SUM(size) FROM sys.database_files WHERE type = 1";
        assert_eq!(number(&mut session, size), 128);
        let mut seen = BTreeSet::new();
        for i in 0..400 {
            insert(&mut session, i);
            let used = rows(&mut session, FILES_IN_USE);
            seen.insert(used.last().unwrap().clone());
            if used.len() == 4 {
                run(&mut session, "CHECKPOINT");
                assert_eq!(rows(&mut session, FILES_IN_USE).len(), 1, "a checkpoint frees the others");
            }
        }
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), ["2", "3"]);
        let newest = "SELECT MAX(vlf_sequence_number) FROM sys.dm_db_log_info(DB_ID())";
        assert!(number(&mut session, newest) > 7, "VLFs are used again");
        assert_eq!(number(&mut session, size), 128, "without growth");
        server.stop(session);

        let server = Server::open(os);
        let mut session = server.session();
        assert_eq!(number(&mut session, "SELECT COUNT(*) FROM t"), 400);
        server.stop(session);
    });
}

/// A file with active log stays (5042); afterwards it can be removed, from the catalog and from the disk.
#[test]
fn a_file_in_use_is_not_removed() {
    on_a_machine(287, |os| {
        let (server, mut session) = small(os);
        run(&mut session, ADD);
        let mut other = server.session();
        run(&mut other, "BEGIN TRAN; INSERT t VALUES (-1, 'held')");
        let mut i = 0;
        while !rows(&mut session, FILES_IN_USE).contains(&"3".to_owned()) {
            insert(&mut session, i);
            i += 1;
        }
        run(&mut session, "CHECKPOINT");
        assert_eq!(numbers(&run(&mut session, REMOVE)), [5042], "its VLF is current");
        run(&mut other, "COMMIT");
        other.close();
        // EMPTYFILE makes the log continue in another file.
        let seen = run(&mut session, "DBCC SHRINKFILE (second, EMPTYFILE) WITH NO_INFOMSGS");
        assert_eq!(numbers(&seen), [0; 0]);
        assert_eq!(rows(&mut session, FILES_IN_USE), ["2"]);
        assert_eq!(numbers(&run(&mut session, "DBCC SHRINKFILE (first, EMPTYFILE)")), [2555]);
        assert!(os.disk().exists(Path::new(SECOND)));
        let seen = run(&mut session, REMOVE);
        assert_eq!(seen.messages[0].2, "The file 'second' has been removed.");
        assert!(!os.disk().exists(Path::new(SECOND)));
        assert_eq!(number(&mut session, "SELECT COUNT(*) FROM sys.database_files"), 2);
        assert_eq!(number(&mut session, "SELECT COUNT(*) FROM t"), i + 1);
        server.stop(session);
    });
}

/// A missing second log file: the database waits for it (RECOVERY_PENDING, 945), all others work; with the file it is complete.
#[test]
fn a_missing_log_file_leaves_the_database_pending() {
    on_a_machine(288, |os| {
        let (server, mut session) = small(os);
        run(&mut session, ADD);
        insert(&mut session, 7);
        server.stop(session);
        let (disk, away) = (os.disk(), Path::new("/data/away.ldf"));
        disk.rename(Path::new(SECOND), away).unwrap();

        let server = Server::open(os);
        let mut session = server.session_in("master");
        let state = format!("SELECT state_desc FROM sys.databases WHERE name = '{NAME}'");
        assert_eq!(rows(&mut session, &state), ["RECOVERY_PENDING"]);
        assert_eq!(numbers(&run(&mut session, &format!("USE {NAME}"))), [945]);
        server.stop(session);
        disk.rename(away, Path::new(SECOND)).unwrap();

        let server = Server::open(os);
        let mut session = server.session();
        assert_eq!(rows(&mut session, "SELECT i FROM t"), ["7"]);
        server.stop(session);
    });
}

/// ADD LOG FILE, use, EMPTYFILE and REMOVE FILE; the power fails after so many I/Os of that, with a disk that behaves by the seed. Returns the
/// position of the failure; an error when an acknowledged row is lost, the database does not open, or the disk has other files than the catalog.
fn add_and_remove(cut_after: u64, seed: u64, bug: Option<Bug>) -> Result<&'static str, String> {
    let acknowledged = kept((0, "absent"));
    let (noted, seen) = (acknowledged.clone(), acknowledged.clone());
    let work = move |os: &Os, device: &World| {
        let (server, mut session) = small(os);
        run(&mut session, "CHECKPOINT");
        device.power_off_after_ios(cut_after);
        noted.lock().1 = "joining";
        assert_eq!(numbers(&run(&mut session, ADD)), [0; 0]);
        noted.lock().1 = "there";
        for i in 0..60 {
            insert(&mut session, i);
            noted.lock().0 = i + 1;
        }
        assert_eq!(numbers(&run(&mut session, "DBCC SHRINKFILE (second, EMPTYFILE)")), [2528]);
        noted.lock().1 = "leaving";
        assert_eq!(numbers(&run(&mut session, REMOVE)), [0]);
        noted.lock().1 = "gone";
        for i in 60..70 {
            insert(&mut session, i);
            noted.lock().0 = i + 1;
        }
        (server, session)
    };
    let judge = move |os: &Os| {
        let (rows_acknowledged, state) = *seen.lock();
        let server = Server::open(os);
        let mut session = server.session();
        let found = number(&mut session, "SELECT COUNT(*) FROM t");
        assert!(found >= rows_acknowledged, "{state}: {found} of {rows_acknowledged} rows");
        let shown = number(&mut session, "SELECT COUNT(*) FROM sys.database_files WHERE name = 'second'");
        assert_eq!(os.disk().exists(Path::new(SECOND)), shown == 1, "{state}: catalog and disk agree");
        match state {
            "there" => assert_eq!(shown, 1),
            "absent" | "gone" => assert_eq!(shown, 0),
            _ => {}
        }
        // The interrupted statement can be completed.
        if shown == 0 {
            assert_eq!(numbers(&run(&mut session, ADD)), [0; 0], "{state}");
        }
        insert(&mut session, 1000);
        assert_eq!(numbers(&run(&mut session, "DBCC SHRINKFILE (second, EMPTYFILE)")), [2528]);
        assert_eq!(numbers(&run(&mut session, REMOVE)), [0]);
        server.stop(session);
    };
    let judged = through_power_cut(seed, bug, work, judge);
    let state = acknowledged.lock().1;
    judged.map(|()| state).map_err(|error| format!("{state}: {error}"))
}

/// The power fails after any I/O: the database opens, no acknowledged row is lost, and catalog and disk agree.
#[test]
fn adding_and_removing_survive_power_cuts() {
    let mut states = BTreeSet::new();
    for cut_after in 1..150 {
        let state = add_and_remove(cut_after, cut_after, None)
            .unwrap_or_else(|error| panic!("cut {cut_after}: {error}"));
        states.insert(state);
    }
    assert_eq!(states.into_iter().collect::<Vec<_>>(), ["gone", "joining", "leaving", "there"]);
}

/// The test above detects files that are removed before master records it, and files that are used before they are durable.
#[test]
fn planted_bugs_of_adding_and_removing_are_found() {
    for bug in [Bug::LeaveBeforeNoted, Bug::JoinBeforeHard] {
        // A file that was removed a moment before may be there again, or not.
        let mut cuts = (0..8).flat_map(|seed| (1..150).map(move |cut_after| (cut_after, seed)));
        let found = cuts.find(|&(cut_after, seed)| add_and_remove(cut_after, seed, Some(bug)).is_err());
        println!("{bug:?} at cut and seed {found:?}");
        assert!(found.is_some(), "{bug:?} was not seen");
    }
}

/// sys.dm_db_log_stats: how much a recovery would read, from where, in how many VLFs; an open transaction and a checkpoint move it.
#[test]
fn what_a_recovery_would_read_is_shown() {
    on_a_machine(289, |os| {
        let (server, mut session) = small(os);
        run(&mut session, ADD);
        run(&mut session, "CHECKPOINT");
        let stats = "SELECT recovery_vlf_count, IIF(log_recovery_lsn = log_checkpoint_lsn, 'checkpoint', 'older'), \
                     log_since_last_checkpoint_mb, log_recovery_size_mb FROM sys.dm_db_log_stats(DB_ID())";
        assert_eq!(rows(&mut session, stats), ["1|checkpoint|0|0"], "two records");
        let mut other = server.session();
        run(&mut other, "BEGIN TRAN; INSERT t VALUES (-1, 'held')");
        for i in 0..80 {
            insert(&mut session, i);
        }
        // A row takes 5.2 KB of log: 416 KB.
        assert_eq!(rows(&mut session, stats), ["2|checkpoint|0.4|0.4"]);
        run(&mut session, "CHECKPOINT");
        assert_eq!(rows(&mut session, stats), ["2|older|0|0.4"], "what is open must be undone");
        run(&mut other, "ROLLBACK");
        other.close();
        run(&mut session, "CHECKPOINT");
        assert_eq!(rows(&mut session, stats), ["1|checkpoint|0|0"]);
        server.stop(session);
    });
}

/// Claims 302, 303, 307, 308 and 313, at a hundredth of the article's sizes: the log is grown beforehand by steps of MODIFY FILE; the row fits
/// its page and its identity column is left out of VALUES; while one transaction updates it, more and more VLFs are active, and the data file
/// keeps its size.
#[test]
fn the_log_fills_while_the_loop_runs() {
    on_a_machine(313, |os| {
        let server = Server::open(os);
        let mut session = server.session_in("master");
        let data = r"NAME = d, FILENAME = 'D:\d.mdf', SIZE = 8MB, FILEGROWTH = 2MB";
        let log = r"NAME = l, FILENAME = 'L:\l.ldf', SIZE = 1024KB, MAXSIZE = 21920KB, FILEGROWTH = 256KB";
        run(&mut session, &format!("CREATE DATABASE {NAME} ON ({data}) LOG ON ({log})"));
        run(&mut session, &format!("USE {NAME}; ALTER DATABASE CURRENT SET VLF_RULE = PRE_2014"));
        for megabytes in 2..=20 {
            let text = format!("ALTER DATABASE CURRENT MODIFY FILE (NAME = l, SIZE = {megabytes}MB)");
            assert_eq!(numbers(&run(&mut session, &text)), [0; 0], "{megabytes} MB");
        }
        assert_eq!(number(&mut session, "SELECT COUNT(*) FROM sys.dm_db_log_info(DB_ID())"), 4 * 20);
        run(
            &mut session,
            "CREATE TABLE vlf_test (a int identity(1,1) not null, b char(8000) not null, c int not null)
             INSERT vlf_test VALUES (REPLICATE('a',8000),0); CHECKPOINT",
        );
        assert_eq!(rows(&mut session, "SELECT a, DATALENGTH(b), c FROM vlf_test"), ["1|8000|0"]);
        let data_pages = "SELECT size FROM sys.database_files WHERE file_id = 1";
        let before = number(&mut session, data_pages);
        let active = "SELECT COUNT(*) FROM sys.dm_db_log_info(DB_ID()) WHERE vlf_active = 1";
        run(&mut session, "BEGIN TRAN");
        let mut seen = vec![number(&mut session, active)];
        for step in 0..10 {
            let update = "UPDATE vlf_test SET b = REPLICATE(CHAR(97 + c % 26), 8000), c += 1 WHERE a = 1";
            for _ in 0..40 {
                assert_eq!(numbers(&run(&mut session, update)), [0; 0], "step {step}");
            }
            seen.push(number(&mut session, active));
        }
        assert!(seen.is_sorted() && seen[10] > seen[0] + 20, "{seen:?}");
        run(&mut session, "COMMIT; CHECKPOINT");
        assert_eq!(number(&mut session, active), 1, "all is free behind the commit");
        assert_eq!(number(&mut session, data_pages), before);
        server.stop(session);
    });
}

/// Claim 293: DBCC SHRINKFILE and SHRINKDATABASE of a log: to the requested size in whole VLFs, to the initial size, not below the
/// active part, and with SQL Server's message numbers.
#[test]
fn a_log_is_shrunk() {
    on_a_machine(293, |os| {
        let server = Server::open(os);
        let mut session = server.session_in("master");
        let log = r"NAME = l, FILENAME = 'L:\l.ldf', SIZE = 2MB, FILEGROWTH = 1MB";
        run(
            &mut session,
            &format!("CREATE DATABASE {NAME} ON (NAME = d, FILENAME = 'D:\\d.mdf') LOG ON ({log})"),
        );
        run(&mut session, &format!("USE {NAME}; CREATE TABLE t (i int NOT NULL, v char(5000) NOT NULL)"));
        run(&mut session, "ALTER DATABASE CURRENT MODIFY FILE (NAME = l, SIZE = 16MB)");
        let size = "SELECT size FROM sys.database_files WHERE file_id = 2";
        assert_eq!(number(&mut session, size), 2048);
        // Claim 293: truncation does not make the file smaller, only a shrink does.
        run(&mut session, "CHECKPOINT");
        assert_eq!(number(&mut session, size), 2048);
        assert_eq!(number(&mut session, "SELECT COUNT(*) FROM sys.dm_db_log_info(DB_ID())"), 5);
        let shrunk = rows(&mut session, "DBCC SHRINKFILE (l, 4) WITH NO_INFOMSGS");
        assert_eq!(shrunk.len(), 1);
        assert_eq!(
            shrunk[0],
            format!("{}|2|2048|256|56|56", server.database().id()),
            "4 MB lie in the fifth VLF"
        );
        let shrunk = rows(&mut session, "DBCC SHRINKFILE (2) WITH NO_INFOMSGS");
        assert_eq!(shrunk, [format!("{}|2|256|256|56|56", server.database().id())], "as it was made");
        assert_eq!(numbers(&run(&mut session, "DBCC SHRINKFILE (2, 1)")), [2528], "in the middle of a VLF");
        assert_eq!(number(&mut session, size), 169, "three VLFs");
        let seen = run(&mut session, "DBCC SHRINKFILE (2, 0) WITH NO_INFOMSGS");
        assert_eq!(numbers(&seen), [0; 0]);
        // Nothing can be released while a transaction needs the log at the end.
        let mut other = server.session();
        run(&mut session, "ALTER DATABASE CURRENT MODIFY FILE (NAME = l, SIZE = 4MB)");
        for i in 0..300 {
            insert(&mut session, i);
        }
        run(&mut other, "BEGIN TRAN; INSERT t VALUES (-1, 'held')");
        let begin = "SELECT MAX(vlf_begin_offset) FROM sys.dm_db_log_info(DB_ID()) WHERE vlf_active = 1";
        assert!(number(&mut session, begin) > 1 << 20);
        assert_eq!(numbers(&run(&mut session, "DBCC SHRINKFILE (2, 1)")), [9008, 2528]);
        run(&mut other, "COMMIT");
        other.close();
        assert_eq!(numbers(&run(&mut session, "DBCC SHRINKFILE (2, 1)")), [2528], "the log has moved on");
        assert_eq!(number(&mut session, size), 169);
        assert_eq!(number(&mut session, "SELECT COUNT(*) FROM t"), 301);
        run(&mut session, "ALTER DATABASE CURRENT SET VLF_RULE = PRE_2014");
        run(&mut session, "ALTER DATABASE CURRENT MODIFY FILE (NAME = l, SIZE = 8MB)");
        let shrunk = rows(&mut session, "DBCC SHRINKDATABASE (0, 10) WITH NO_INFOMSGS");
        assert_eq!(shrunk.len(), 2, "the data file, too: {shrunk:?}");
        assert!(number(&mut session, size) < 1024);
        for wrong in ["DBCC SHRINKFILE (x)", "DBCC SHRINKFILE (9)"] {
            assert_eq!(numbers(&run(&mut session, wrong)), [8985], "{wrong}");
        }
        for wrong in ["DBCC SHRINKFILE (2, 1, NOTHING)", "DBCC SHRINKDATABASE (0, 100)"] {
            assert_eq!(numbers(&run(&mut session, wrong)), [2560], "{wrong}");
        }
        let shrinks = "SELECT cntr_value FROM sys.dm_os_performance_counters \
                       WHERE counter_name = 'Log Shrinks' AND instance_name = DB_NAME()";
        assert!(number(&mut session, shrinks) >= 3);
        server.stop(session);
        let server = Server::open(os);
        let mut session = server.session();
        assert_eq!(number(&mut session, "SELECT COUNT(*) FROM t"), 301);
        server.stop(session);
    });
}

/// sys.dm_tran_database_transactions: what a rollback would undo next, and where the last one to a savepoint has ended (MaxLSN: there was none, as
/// learn.microsoft.com says of the view).
#[test]
fn where_a_rollback_has_ended_is_shown() {
    on_a_machine(294, |os| {
        let (server, mut session) = small(os);
        let view = "SELECT IIF(database_transaction_last_rollback_lsn = 4294967295429496729565535, 'none', \
                      IIF(database_transaction_last_rollback_lsn < database_transaction_last_lsn, 'earlier', 'later')), \
                    IIF(database_transaction_next_undo_lsn = database_transaction_last_lsn, 'newest', 'other'), \
                    IIF(database_transaction_commit_lsn IS NULL, 'open', 'ended') \
                    FROM sys.dm_tran_database_transactions WHERE database_id = DB_ID()";
        assert_eq!(numbers(&run(&mut session, "BEGIN TRAN; INSERT t VALUES (1, 'x')")), [0; 0]);
        assert_eq!(rows(&mut session, view), ["none|newest|open"]);
        run(&mut session, "SAVE TRAN here; INSERT t VALUES (2, 'y'); ROLLBACK TRAN here");
        assert_eq!(rows(&mut session, view), ["earlier|newest|open"]);
        run(&mut session, "ROLLBACK");
        assert_eq!(number(&mut session, "SELECT COUNT(*) FROM t"), 0);
        server.stop(session);
    });
}
