//! What article 004 says of the log's space: the update loop fits its own MAXSIZE, a full log never stands in the way of a rollback, a
//! checkpoint of a full log takes nothing that belongs to rollbacks; through sessions on a simulated machine.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod common;

use common::simulated::{NAME, Server, number, on_a_machine};
use common::{numbers, rows, run};
use hardpan_session::Session;
use os::Os;

/// The article's table and row, in a database with so much log.
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

/// A change reserves what its compensation record needs: for an update of both images, half of what it logs, and a little for blocks; for
/// an insertion next to nothing; for a deletion in a heap the same. A rollback pays with it, so that nothing is counted twice.
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

/// A checkpoint that would give nothing back takes nothing: a hundred of them in a full log leave the rollback its room.
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
