//! Article 004's claims about log space: the update loop fits its own MAXSIZE, a full log never prevents a rollback, a
//! checkpoint of a full log uses no space reserved for rollbacks; through sessions on a simulated machine.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use crate::common::simulated::{NAME, Server, number, on_a_machine, repeat};
use crate::common::{numbers, rows, run};
use hardpan_session::Session;
use os::Os;

/// The article's table and row, in a database with a log of this size.
fn with_log(os: &Os, log: &str) -> (Server, Session) {
    let server = Server::open(os);
    let mut session = server.session_in("master");
    let files =
        format!("ON (NAME = d, FILENAME = 'C:\\d.mdf') LOG ON (NAME = l, FILENAME = 'C:\\l.ldf', {log})");
    assert!(numbers(&run(&mut session, &format!("CREATE DATABASE {NAME} {files}"))).is_empty());
    run(&mut session, &format!("USE {NAME}"));
    run(
        &mut session,
        "CREATE TABLE vlf_test (a int identity(1,1) not null, b char(8000) not null, c int not null)
         INSERT vlf_test VALUES (REPLICATE('a',8000),0)",
    );
    (server, session)
}

/// The article's loop with another number of iterations and another end.
fn update_loop(session: &mut Session, stop: u32, end: &str) -> Vec<i32> {
    let text = format!(
        "SET NOCOUNT ON
BEGIN TRAN
DECLARE @x int, @a char(8000), @b char(8000)
SET @a = REPLICATE('a',8000)
SET @b = REPLICATE('b',8000)
SET @x = 1
WHILE @x<>{stop}
BEGIN
UPDATE vlf_test SET b = @a, c = @x WHERE a = 1
UPDATE vlf_test SET b = @b WHERE a = 1
SET @x = @x + 1

END
{end} TRAN"
    );
    numbers(&run(session, &text))
}

const ROW: &str = "SELECT a, c, IIF(b = REPLICATE('b', 8000), 'b', LEFT(b, 1)) FROM vlf_test";

/// Claims 309 to 312, at a hundredth of the article's size: 399 iterations in a log of at most 21,920 KB, which grows in a hundredth of the
/// article's small and large steps. Each update logs both images of b (claim 311), and keeps room for one (claim 312).
#[test]
fn the_update_loop_fits_its_own_maximum() {
    for (growth_kb, end) in [(256, "COMMIT"), (256, "ROLLBACK"), (10_240, "COMMIT"), (10_240, "ROLLBACK")] {
        on_a_machine(312, move |os| {
            let log = format!("SIZE = 1024KB, MAXSIZE = 21920KB, FILEGROWTH = {growth_kb}KB");
            let (server, mut session) = with_log(os, &log);
            let before = server.database().log().stats().record_bytes_total;
            assert_eq!(update_loop(&mut session, 400, end), [0; 0], "{end} in steps of {growth_kb} KB");
            let stats = server.database().log().stats();
            let logged = stats.record_bytes_total - before;
            if end == "COMMIT" {
                assert_eq!(rows(&mut session, ROW), ["1|399|b"]);
                assert!((12_000_000..15_000_000).contains(&logged), "{logged}: both images of 798 updates");
            } else {
                assert_eq!(rows(&mut session, ROW), ["1|0|a"]);
                assert!((18_000_000..21_500_000).contains(&logged), "{logged}: and one image to undo each");
            }
            assert!(stats.size_bytes <= 21_920 * 1024, "{} bytes", stats.size_bytes);
            server.stop(session);
        });
    }
}

/// Claim 312: a change reserves log space for its compensation record: for an update of both images, half of its own log space, and a little for
/// blocks; for an insertion or a deletion in a heap almost nothing. A rollback uses the reservation, so that nothing is counted twice.
#[test]
fn a_change_reserves_what_its_undo_writes() {
    on_a_machine(313, |os| {
        let (server, mut session) = with_log(os, "SIZE = 16MB");
        run(&mut session, "CREATE TABLE t (i int NOT NULL PRIMARY KEY, v varchar(4000) NOT NULL)");
        let reserved = |session: &mut Session, change: &str| {
            let view = "SELECT ISNULL(SUM(database_transaction_log_bytes_reserved), 0) \
                        FROM sys.dm_tran_database_transactions WHERE database_id = DB_ID()";
            let before = number(session, view);
            run(session, change);
            number(session, view) - before
        };
        run(&mut session, "BEGIN TRAN; INSERT t VALUES (0, 'begin')");
        let used = |server: &Server| server.database().log().stats().used_bytes;
        for (change, from, to) in [
            ("UPDATE vlf_test SET b = REPLICATE('z', 8000)", 8_050, 8_700),
            ("INSERT t VALUES (1, REPLICATE('v', 4000))", 60, 220),
            ("UPDATE t SET v = REPLICATE('w', 4000) WHERE i = 1", 4_050, 4_500),
            ("DELETE t WHERE i = 1", 4_050, 4_500),
            ("DELETE vlf_test", 60, 150),
        ] {
            let bytes = reserved(&mut session, change);
            assert!((from..to).contains(&bytes), "{change}: {bytes} bytes");
        }
        let full = used(&server);
        run(&mut session, "SAVE TRAN here; UPDATE t SET v = REPLICATE('q', 4000) WHERE i = 0");
        run(&mut session, "ROLLBACK TRAN here");
        let more = used(&server) - full;
        assert!(
            (4_000..4_500).contains(&more),
            "{more}: the change and its undo, and nothing kept for either"
        );
        run(&mut session, "ROLLBACK");
        assert_eq!(server.database().log().stats().reserved_bytes, 0, "all is over");
        server.stop(session);
    });
}

/// A checkpoint that would free no log uses no log space: a hundred of them in a full log leave the space for the rollback.
#[test]
fn checkpoints_of_a_full_log_take_nothing_from_the_rollback() {
    on_a_machine(314, |os| {
        let (server, mut session) = with_log(os, "SIZE = 1MB, MAXSIZE = 1MB, FILEGROWTH = 0");
        run(&mut session, "CHECKPOINT");
        let change = "UPDATE vlf_test SET b = REPLICATE(CHAR(65 + c % 26), 8000), c += 1";
        let mut updates = 0;
        run(&mut session, "BEGIN TRAN");
        while numbers(&run(&mut session, change)).is_empty() {
            updates += 1;
        }
        assert!(updates > 20, "{updates} updates until the log was full, which ended the transaction");
        assert_eq!(number(&mut session, "SELECT @@TRANCOUNT"), 0);
        run(&mut session, "CHECKPOINT; BEGIN TRAN");
        // As far as it goes, but one: the log has begun elsewhere, so look at what is left.
        let room = |server: &Server| {
            let stats = server.database().log().stats();
            stats.size_bytes - stats.used_bytes
        };
        while room(&server) > 150_000 {
            assert_eq!(numbers(&run(&mut session, change)), [0; 0]);
        }
        let mut other = server.session();
        let end = |server: &Server| server.database().log().end();
        run(&mut other, "CHECKPOINT");
        let before = end(&server);
        let mut refused = 0;
        for _ in 0..100 {
            let answer = numbers(&run(&mut other, "CHECKPOINT"));
            assert!(answer.is_empty() || answer == [5901], "{answer:?}");
            refused += answer.len();
        }
        assert!(refused > 20, "{refused}: what there is for all is soon used up");
        let taken = u64::from(end(&server).block() - before.block()) * 512;
        assert!(end(&server).vlf() == before.vlf() && taken < 80_000, "{before} to {}", end(&server));
        assert_eq!(numbers(&run(&mut session, "ROLLBACK")), [0; 0]);
        assert_eq!(rows(&mut session, ROW), ["1|0|a"]);
        assert_eq!(numbers(&run(&mut other, "CHECKPOINT; UPDATE vlf_test SET c = 5")), [0; 0]);
        other.close();
        server.stop(session);
    });
}

fn vlfs(session: &mut Session) -> i64 {
    number(session, "SELECT COUNT(*) FROM sys.dm_db_log_info(DB_ID())")
}

/// Claims 286, 298, 299 and 303: the database's rule determines how many VLFs the article's growth creates, and MODIFY FILE (SIZE) grows step
/// by step. The article's own sizes, 20 and 8,000, are counted in `vlf.rs::growth_in_small_steps_makes_the_counts_of_the_articles`.
#[test]
fn growth_makes_vlfs_by_the_databases_rule() {
    for (rule, small_steps, one_large) in
        [("PRE_2014", 40, 8), ("2014", 37, 8), ("2022", 13, 8), ("FIXED", 13, 5)]
    {
        on_a_machine(298, move |os| {
            let (server, mut session) =
                with_log(os, "SIZE = 1024KB, MAXSIZE = 2192000KB, FILEGROWTH = 1024KB");
            assert_eq!(vlfs(&mut session), 4, "a new log of 1 MB");
            assert!(
                numbers(&run(&mut session, &format!("ALTER DATABASE {NAME} SET VLF_RULE = {rule}")))
                    .is_empty()
            );
            let grow = |session: &mut Session, kb: u32| {
                let modify = format!("ALTER DATABASE {NAME} MODIFY FILE (NAME = l, SIZE = {kb}KB)");
                assert_eq!(numbers(&run(session, &modify)), [0; 0], "{modify}");
            };
            for megabytes in 2..=10 {
                grow(&mut session, megabytes * 1024);
            }
            assert_eq!(vlfs(&mut session), small_steps, "{rule}: nine steps of 1 MB");
            grow(&mut session, 90 * 1024);
            assert_eq!(vlfs(&mut session) - small_steps, one_large, "{rule}: one step of 80 MB");
            let listed = rows(&mut session, "DBCC LOGINFO WITH NO_INFOMSGS");
            assert_eq!(listed.len() as i64, small_steps + one_large);
            assert!(listed[0].starts_with("0|2|253952|8192|"), "{}", listed[0]);
            server.stop(session);
        });
    }
}

/// Claims 287, 289, 292, 293 and 306: in SIMPLE a checkpoint frees the VLFs before MinLSN and does not change the file's size; an open transaction
/// of another session prevents that, and the views name that transaction and its session.
#[test]
fn who_holds_the_log_is_named() {
    on_a_machine(292, |os| {
        let (server, mut session) = with_log(os, "SIZE = 2MB, FILEGROWTH = 1MB");
        let reuse = format!("SELECT log_reuse_wait_desc FROM sys.databases WHERE name = '{NAME}'");
        let active = "SELECT COUNT(*) FROM sys.dm_db_log_info(DB_ID()) WHERE vlf_active = 1";
        let lowest = "SELECT log_reuse_wait_desc, holder, session_id FROM sys.dm_db_log_holders \
                      WHERE database_id = DB_ID() AND is_lowest = 1 AND log_reuse_wait = 4";
        run(&mut session, "CHECKPOINT");
        let mut other = server.session();
        let spid = number(&mut other, "SELECT @@SPID");
        run(&mut other, "CREATE TABLE held (i int)");
        run(&mut other, "BEGIN TRAN; INSERT held VALUES (1)");
        let begin = number(
            &mut other,
            "SELECT CAST(database_transaction_begin_lsn / 1000000000000000 AS bigint) FROM sys.dm_tran_database_transactions \
             WHERE database_id = DB_ID() AND database_transaction_type = 1",
        );
        let change = "UPDATE vlf_test SET b = REPLICATE(CHAR(65 + c % 26), 8000), c += 1";
        while number(&mut session, active) < 4 {
            run(&mut session, change);
        }
        run(&mut session, "CHECKPOINT");
        let min = rows(&mut session, "SELECT log_min_lsn FROM sys.dm_db_log_stats(DB_ID())");
        let min = i64::from_str_radix(min[0].split(':').next().unwrap(), 16).unwrap();
        assert!(min <= begin, "MinLSN lies in VLF {min}, the transaction began in {begin}");
        assert_eq!(number(&mut session, active), 4, "nothing is freed under an open transaction");
        assert_eq!(rows(&mut session, &reuse), ["ACTIVE_TRANSACTION"]);
        assert_eq!(rows(&mut session, lowest), [format!("ACTIVE_TRANSACTION|oldest transaction|{spid}")]);
        let oldest = rows(&mut session, "DBCC OPENTRAN WITH TABLERESULTS, NO_INFOMSGS");
        assert_eq!(oldest[0], format!("OLDACT_SPID|{spid}"));
        assert!(oldest[4].starts_with(&format!("OLDACT_LSN|({begin}:")), "{oldest:?}");
        let size = server.database().log().stats().size_bytes;
        run(&mut other, "COMMIT");
        run(&mut session, "CHECKPOINT");
        assert!(number(&mut session, active) < 3, "VLFs before MinLSN are free");
        assert_eq!(rows(&mut session, &reuse), ["NOTHING"]);
        assert_eq!(server.database().log().stats().size_bytes, size, "truncation leaves the file as it is");
        assert!(rows(&mut session, lowest).is_empty());
        assert_eq!(numbers(&run(&mut session, "DBCC OPENTRAN")), [7969, 2528]);
        other.close();
        server.stop(session);
    });
}

/// DBCC SQLPERF: LOGSPACE has a row for each database, whose size and share agree with sys.dm_db_log_space_usage; CLEAR resets waits.
#[test]
fn sqlperf_tells_the_space_of_logs_and_clears_waits() {
    on_a_machine(315, |os| {
        let (server, mut session) = with_log(os, "SIZE = 4MB");
        let told = rows(&mut session, "DBCC SQLPERF (LOGSPACE) WITH NO_INFOMSGS");
        assert_eq!(told.len(), 5, "{told:?}");
        let own: Vec<&str> = told[4].split('|').collect();
        assert_eq!(own[0], NAME);
        assert_eq!((own[1].parse::<f32>().unwrap(), own[3]), (4.0, "0"));
        let used = rows(&mut session, "SELECT used_log_space_in_percent FROM sys.dm_db_log_space_usage");
        let (told, used) = (own[2].parse::<f32>().unwrap(), used[0].parse::<f32>().unwrap());
        assert!(told > 0.0 && (told - used).abs() < 1.0, "{told} and {used} %");
        let waits = "SELECT SUM(waiting_tasks_count) FROM sys.dm_os_wait_stats WHERE wait_type = 'WRITELOG'";
        run(&mut session, "UPDATE vlf_test SET c = 7");
        assert!(number(&mut session, waits) > 0);
        run(&mut session, "DBCC SQLPERF ('sys.dm_os_wait_stats', CLEAR)");
        assert_eq!(number(&mut session, waits), 0);
        assert_eq!(numbers(&run(&mut session, "DBCC SQLPERF (IOSTATS)")), [2526]);
        server.stop(session);
    });
}

/// Claim 290: without log holders the VLFs are reused in a cycle, and the file keeps its size.
#[test]
fn vlfs_are_used_round_and_round() {
    on_a_machine(290, |os| {
        let (server, mut session) = with_log(os, "SIZE = 1MB, FILEGROWTH = 1MB");
        let newest = "SELECT MAX(vlf_sequence_number) FROM sys.dm_db_log_info(DB_ID())";
        let (first, stats) = (number(&mut session, newest), server.database().log().stats());
        for _ in 0..60 {
            repeat(&mut session, 1, 12, "UPDATE vlf_test SET b = REPLICATE(CHAR(65 + @i), 8000), c += 1;");
            run(&mut session, "CHECKPOINT");
        }
        let after = server.database().log().stats();
        assert!(after.record_bytes_total - stats.record_bytes_total > 10 << 20, "ten times the log");
        assert_eq!((after.size_bytes, after.vlf_count), (stats.size_bytes, stats.vlf_count));
        assert!(number(&mut session, newest) - first > 40);
        server.stop(session);
    });
}

/// Claim 284: every change of storage, definitions or rows has records in the log.
#[test]
fn every_change_of_storage_has_records() {
    on_a_machine(284, |os| {
        let (server, mut session) = with_log(os, "SIZE = 8MB");
        for (change, operation) in [
            ("CREATE TABLE c (i int NOT NULL PRIMARY KEY, v varchar(20))", "LOP_INSERT_ROWS"),
            ("INSERT c VALUES (1, 'x')", "LOP_INSERT_ROWS"),
            ("UPDATE c SET v = 'yy'", "LOP_MODIFY_ROW"),
            ("CREATE INDEX by_v ON c (v)", "LOP_INSERT_ROWS"),
            ("DELETE c", "LOP_DELETE_ROWS"),
            ("DROP TABLE c", "LOP_DELETE_ROWS"),
        ] {
            let count =
                format!("SELECT COUNT(*) FROM sys.fn_dblog(NULL, NULL) WHERE [Operation] = '{operation}'");
            let before = number(&mut session, &count);
            assert_eq!(numbers(&run(&mut session, change)), [0; 0], "{change}");
            assert!(number(&mut session, &count) > before, "{change}: {operation}");
        }
        server.stop(session);
    });
}

/// Claim 288: freeing a VLF changes its status, but not a byte of it, nor the file's size.
#[test]
fn a_freed_vlf_keeps_its_bytes() {
    on_a_machine(288, |os| {
        let (server, mut session) = with_log(os, "SIZE = 2MB, FILEGROWTH = 0");
        let log_file = std::path::Path::new("/data/drives/c/l.ldf");
        let active = "SELECT COUNT(*) FROM sys.dm_db_log_info(DB_ID()) WHERE vlf_active = 1";
        let mut other = server.session();
        run(&mut other, "BEGIN TRAN; UPDATE vlf_test SET c = 1");
        run(&mut session, "CREATE TABLE filler (i int NOT NULL, v char(5000) NOT NULL)");
        while number(&mut session, active) < 3 {
            run(&mut session, "INSERT filler VALUES (1, 'x')");
        }
        run(&mut other, "COMMIT");
        let before = os.disk().read_file(log_file).unwrap();
        run(&mut session, "CHECKPOINT");
        assert_eq!(number(&mut session, active), 1);
        let freed = "SELECT TOP (1) vlf_status FROM sys.dm_db_log_info(DB_ID()) ORDER BY vlf_begin_offset";
        assert_eq!(number(&mut session, freed), 0, "used before, free now");
        let after = os.disk().read_file(log_file).unwrap();
        assert_eq!(before.len(), after.len());
        let second =
            "SELECT MIN(vlf_begin_offset) FROM sys.dm_db_log_info(DB_ID()) WHERE vlf_begin_offset > 8192";
        let end = usize::try_from(number(&mut session, second)).unwrap();
        // From behind the VLF's header, in which the log has blocks.
        assert!(before[16_384..end].iter().any(|&byte| byte != 0));
        assert!(before[8192..end] == after[8192..end], "its bytes are as they were");
        other.close();
        server.stop(session);
    });
}

/// Claims 295 to 297: the article's two databases, with the sizes of its statements; the data files are a hundredth of theirs.
#[test]
fn the_articles_databases_have_their_sizes() {
    on_a_machine(295, |os| {
        let server = Server::open(os);
        let mut session = server.session_in("master");
        for (name, growth_kb, growth_pages) in [("HighVLF", 1024, 128), ("LowVLF", 1_024_000, 128_000)] {
            let created = run(
                &mut session,
                &format!(
                    r"CREATE DATABASE [{name}] ON PRIMARY
( NAME = N'{name}', FILENAME = N'E:\Data\{name}.mdf' ,
SIZE = 51200KB , MAXSIZE = UNLIMITED, FILEGROWTH = 262144KB )
LOG ON
( NAME = N'{name}_log', FILENAME = N'F:\Log\{name}_log.ldf' ,
SIZE = 1024KB , MAXSIZE = 2192000KB , FILEGROWTH = {growth_kb}KB )"
                ),
            );
            assert_eq!(numbers(&created), [0; 0]);
            let files = format!(
                "SELECT type, size, max_size, growth FROM sys.master_files
                 WHERE database_id = DB_ID('{name}') ORDER BY file_id"
            );
            let log = format!("1|128|274000|{growth_pages}");
            assert_eq!(rows(&mut session, &files), ["0|6400|-1|32768".to_owned(), log]);
        }
        server.stop(session);
    });
}

/// Claim 301 says that each growth adds to the log. Here it does not: growth writes headers of the file.
#[test]
fn growth_writes_no_log() {
    on_a_machine(301, |os| {
        let (server, mut session) = with_log(os, "SIZE = 1MB, FILEGROWTH = 1MB");
        let stats = |server: &Server| server.database().log().stats();
        let before = stats(&server);
        for megabytes in 2..=12 {
            let grow = format!("ALTER DATABASE {NAME} MODIFY FILE (NAME = l, SIZE = {megabytes}MB)");
            assert_eq!(numbers(&run(&mut session, &grow)), [0; 0]);
        }
        let after = stats(&server);
        assert_eq!(after.growths_total - before.growths_total, 11);
        assert_eq!(after.records_total, before.records_total);
        server.stop(session);
    });
}
