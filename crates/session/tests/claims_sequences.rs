//! The sequence cache as article 000 explains it: claims 19, 20, 90 to 107, 116 to 119 and 123 to 130, counted exactly on a simulated
//! machine that loses power when a test says so.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use crate::common::simulated::{self, NAME, Server, flushes, keys, number, on_a_machine, repeat};
use crate::common::{rows, run};
use hardpan_session::Session;
use log::FlushReason;
use os::sim::Bug;

const NEXT: &str = "SELECT NEXT VALUE FOR dbo.Seq1";
const MEMBERS: &str =
    "SELECT recovery_value, current_value, values_left, recovery_writes_total FROM sys.dm_db_sequence_cache";

fn notes(server: &Server) -> u64 {
    server.flushes_for(FlushReason::SequenceCache)
}

fn create(session: &mut Session, cache: &str) {
    run(session, &format!("CREATE SEQUENCE dbo.Seq1 AS BIGINT MINVALUE 1 {cache};"));
    run(session, "EXEC sys.sp_flush_log");
}

/// Assigns values to a variable: no table is accessed.
fn draw(session: &mut Session, count: i64) {
    repeat(session, 1, count, "DECLARE @v bigint = NEXT VALUE FOR dbo.Seq1;");
}

/// Claims 19, 90, 93 and 96 to 99: the in-memory state after the 1st, 50th and 51st request; one flush at the first and one at the 51st, none
/// between, none for another reason; and each is one write of the device.
#[test]
fn the_members_are_those_of_the_article() {
    on_a_machine(97, |os| {
        let (server, mut session) = Server::with_table(os);
        create(&mut session, "CACHE 50");
        let all = |server: &Server| server.database().log().stats().flushes_total;
        let (first, before) = (notes(&server), all(&server));
        assert_eq!(rows(&mut session, MEMBERS), ["NULL|1|0|0"]);
        assert_eq!(rows(&mut session, NEXT), ["1"]);
        assert_eq!(rows(&mut session, MEMBERS), ["50|1|49|1"]);
        assert_eq!((notes(&server) - first, all(&server) - before), (1, 1));
        for value in 2..=50 {
            assert_eq!(number(&mut session, NEXT), value);
            assert_eq!((notes(&server) - first, all(&server) - before), (1, 1), "{value}");
        }
        assert_eq!(rows(&mut session, MEMBERS), ["50|50|0|1"]);
        assert_eq!(rows(&mut session, NEXT), ["51"]);
        assert_eq!(rows(&mut session, MEMBERS), ["100|51|49|2"]);
        assert_eq!((notes(&server) - first, all(&server) - before), (2, 2));
        // Memory does not grow with the cache.
        run(&mut session, "ALTER SEQUENCE dbo.Seq1 CACHE 2000000000");
        assert_eq!(rows(&mut session, NEXT), ["52"]);
        assert_eq!(rows(&mut session, MEMBERS), ["2000000051|52|1999999999|3"]);
        server.stop(session);
    });
}

/// Claims 91, 94, 95, 104, 129 and 130: recovery values written for 1,000 values by cache size, each a flush, whatever
/// DELAYED_DURABILITY says.
#[test]
fn a_recovery_value_is_written_once_a_cache() {
    for option in ["DISABLED", "FORCED"] {
        on_a_machine(95, move |os| {
            let (server, mut session) = Server::with_table(os);
            run(&mut session, &format!("ALTER DATABASE {NAME} SET DELAYED_DURABILITY = {option}"));
            let mut last = u64::MAX;
            for (cache, expected) in [
                ("NO CACHE", 1_000),
                ("CACHE 7", 143),
                ("", 20),
                ("CACHE", 20),
                ("CACHE 50", 20),
                ("CACHE 10000", 1),
            ] {
                create(&mut session, cache);
                let before = notes(&server);
                draw(&mut session, 1_000);
                assert_eq!(notes(&server) - before, expected, "{option} {cache}");
                assert!(expected <= last, "a larger cache flushes less");
                last = expected;
                assert_eq!(
                    number(&mut session, "SELECT recovery_writes_total FROM sys.dm_db_sequence_cache") as u64,
                    expected
                );
                run(&mut session, "DROP SEQUENCE IF EXISTS dbo.Seq1;");
            }
            server.stop(session);
        });
    }
}

/// Claims 20, 116 and 117: in tempdb nothing is flushed, but the recovery value is written all the same.
#[test]
fn in_tempdb_nothing_is_flushed() {
    on_a_machine(116, |os| {
        let (server, mut session) = Server::with_table(os);
        run(&mut session, "USE tempdb");
        for (cache, expected) in [("NO CACHE", 1_000), ("CACHE 50", 20), ("CACHE 10000", 1)] {
            run(&mut session, &format!("CREATE SEQUENCE dbo.Seq1 AS BIGINT MINVALUE 1 {cache}"));
            let before = flushes(&mut session, "tempdb");
            draw(&mut session, 1_000);
            assert_eq!(flushes(&mut session, "tempdb") - before, 0, "{cache}");
            assert_eq!(
                number(&mut session, "SELECT recovery_writes_total FROM sys.dm_db_sequence_cache"),
                expected
            );
            run(&mut session, "DROP SEQUENCE dbo.Seq1");
        }
        server.stop(session);
    });
}

/// Claims 118, 119 and 123 to 128 at a thousandth of their size: the article's statement in a user database and in tempdb, full and
/// delayed: one flush for each recovery value and few others.
#[test]
fn select_into_flushes_for_each_recovery_value() {
    for (database, option) in
        [(NAME, "Disabled"), (NAME, "Forced"), ("tempdb", "Disabled"), ("tempdb", "Forced")]
    {
        on_a_machine(123, move |os| {
            let (server, mut session) = Server::with_table(os);
            run(&mut session, &format!("USE {database}"));
            let mut last = i64::MAX;
            for (cache, refills) in [("NO CACHE", 1_000), ("CACHE 50", 20), ("CACHE 10000", 1)] {
                run(
                    &mut session,
                    &format!(
                        "ALTER DATABASE {database}         -- try PerformanceV3, tempdb\n  SET DELAYED_DURABILITY = {option}; -- try Disabled, Forced"
                    ),
                );
                run(&mut session, "DROP TABLE IF EXISTS dbo.T1;\n\nDROP SEQUENCE IF EXISTS dbo.Seq1;");
                run(
                    &mut session,
                    &format!("CREATE SEQUENCE dbo.Seq1 AS BIGINT MINVALUE 1 {cache}; -- try NO CACHE"),
                );
                run(&mut session, "EXEC sys.sp_flush_log");
                let (before, noted) = (flushes(&mut session, database), notes(&server));
                run(
                    &mut session,
                    "SELECT\n  -- n -- to test without seq\n  NEXT VALUE FOR dbo.Seq1 AS n -- to test sequence\nINTO dbo.T1\n\
                     FROM (SELECT TOP (1000) a.number FROM master..spt_values AS a CROSS JOIN master..spt_values AS b) AS N;",
                );
                let flushed = flushes(&mut session, database) - before;
                let is_temporary = database == "tempdb";
                assert_eq!((notes(&server) - noted) as i64, if is_temporary { 0 } else { refills });
                if is_temporary {
                    assert!(flushed < 5, "{database} {option} {cache}: {flushed}");
                } else {
                    assert!(
                        (refills..=refills + 5).contains(&flushed),
                        "{database} {option} {cache}: {flushed}"
                    );
                }
                assert!(flushed <= last, "{database} {option} {cache}: {flushed} behind {last}");
                last = flushed;
                assert_eq!(
                    rows(&mut session, "SELECT COUNT(*), MIN(n), MAX(n), COUNT(DISTINCT n) FROM dbo.T1"),
                    ["1000|1|1000|1000"]
                );
            }
            server.stop(session);
        });
    }
}

/// The state in a second life of the machine after `first` and a power loss, with a disk that behaves by the seed.
fn after_power_loss(
    seed: u64,
    bug: Option<Bug>,
    first: &'static str,
    then: &'static [&'static str],
) -> Vec<String> {
    simulated::after_power_loss(
        seed,
        bug,
        |session| drop(run(session, "CREATE SEQUENCE dbo.Seq1 AS BIGINT MINVALUE 1 CACHE 50")),
        move |session, _| drop(run(session, first)),
        move |session| then.iter().flat_map(|text| rows(session, text)).collect(),
    )
}

const FIFTY_ONE: &str =
    "DECLARE @i int = 1, @v bigint; WHILE @i <= 51 BEGIN SET @v = NEXT VALUE FOR dbo.Seq1; SET @i += 1 END";

/// Claims 97 and 100 to 103: after one value and a power loss the next is 51; after 51 values it is 101, and the in-memory state is the article's
/// again: 52 to 100 are lost, no more than the cache.
#[test]
fn after_power_loss_counting_goes_on_behind_the_recovery_value() {
    for seed in 0..6 {
        assert_eq!(after_power_loss(seed, None, NEXT, &[NEXT]), ["51"], "seed {seed}");
        let seen = after_power_loss(
            seed,
            None,
            FIFTY_ONE,
            &["SELECT current_value FROM sys.sequences", NEXT, MEMBERS],
        );
        assert_eq!(seen, ["100", "101", "150|101|49|1"], "seed {seed}");
    }
}

/// Claims 105, 106 and 107: a value whose transaction was open, and one whose transaction was rolled back, never come again; the recovery value's
/// flush hardens earlier log records, which recovery then undoes. Also if the sequence was created or restarted in the same transaction.
#[test]
fn what_was_handed_out_never_comes_again() {
    for seed in 0..6 {
        let open = "BEGIN TRAN; INSERT dbo.T1 VALUES (7); DECLARE @v bigint = NEXT VALUE FOR dbo.Seq1";
        assert_eq!(after_power_loss(seed, None, open, &[NEXT, "SELECT COUNT(*) FROM dbo.T1"]), ["51", "0"]);
        let undone = "BEGIN TRAN; DECLARE @v bigint = NEXT VALUE FOR dbo.Seq1; ROLLBACK";
        assert_eq!(after_power_loss(seed, None, undone, &[NEXT]), ["51"]);
        let altered = "BEGIN TRAN; ALTER SEQUENCE dbo.Seq1 INCREMENT BY 10; DECLARE @v bigint = NEXT VALUE FOR dbo.Seq1; \
                       SET @v = NEXT VALUE FOR dbo.Seq1; ROLLBACK";
        let next: i64 = after_power_loss(seed, None, altered, &[NEXT])[0].parse().unwrap();
        assert!((12..=600).contains(&next), "{next}");
        let made = "BEGIN TRAN; CREATE SEQUENCE made AS int START WITH 1; SAVE TRAN here; DECLARE @v int = NEXT VALUE FOR made; \
                    ROLLBACK TRAN here; COMMIT";
        assert_eq!(
            after_power_loss(seed, None, made, &["SELECT NEXT VALUE FOR made"]),
            ["51"],
            "seed {seed}"
        );
        let restarted = "BEGIN TRAN; ALTER SEQUENCE dbo.Seq1 RESTART WITH 1000; SAVE TRAN here; DECLARE @v int = NEXT VALUE FOR dbo.Seq1; \
                         ROLLBACK TRAN here; COMMIT";
        assert_eq!(after_power_loss(seed, None, restarted, &[NEXT]), ["1050"], "seed {seed}");
        let dropped = "DECLARE @v bigint = NEXT VALUE FOR dbo.Seq1; BEGIN TRAN; DROP SEQUENCE dbo.Seq1";
        assert_eq!(after_power_loss(seed, None, dropped, &[NEXT]), ["51"], "seed {seed}");
    }
}

/// Claim 106: this oracle detects a server that hands values out before their recovery value is durable.
#[test]
fn a_range_handed_out_before_it_is_hard_is_found() {
    let repeated = (0..8).filter(|seed| {
        let next = after_power_loss(*seed, Some(Bug::HandOutBeforeHarden), FIFTY_ONE, &[NEXT]);
        next[0].parse::<i64>().unwrap() <= 51
    });
    assert!(repeated.count() > 0, "in 8 worlds");
}

/// HARDEN_AHEAD: the next range is hardened while the current one is used; still no value comes twice, and at most two ranges are lost.
#[test]
fn ranges_hardened_ahead_are_not_handed_out_before_they_are_hard() {
    const AHEAD: &str = "ALTER SEQUENCE dbo.Seq1 WITH (HARDEN_AHEAD = ON); DECLARE @i int = 1, @v bigint; \
                         WHILE @i <= 333 BEGIN SET @v = NEXT VALUE FOR dbo.Seq1; SET @i += 1 END";
    for seed in 0..12 {
        let next: i64 = after_power_loss(seed, None, AHEAD, &[NEXT])[0].parse().unwrap();
        assert!(next > 333 && next <= 333 + 2 * 64 * 50, "seed {seed}: {next}");
    }
    on_a_machine(98, |os| {
        let (server, mut session) = Server::with_table(os);
        create(&mut session, "CACHE 50 WITH (HARDEN_AHEAD = ON)");
        draw(&mut session, 1);
        assert_eq!(rows(&mut session, MEMBERS), ["50|1|49|1"]);
        draw(&mut session, 23);
        assert_eq!(rows(&mut session, MEMBERS), ["50|24|26|1"]);
        draw(&mut session, 1);
        assert_eq!(rows(&mut session, MEMBERS), ["100|25|25|2"], "the next range is asked for at half");
        server.stop(session);
    });
}

const WAITS: &str = "SELECT ISNULL(SUM(waiting_tasks_count), 0) FROM sys.dm_exec_session_wait_stats WHERE session_id = @@SPID AND wait_type = 'WRITELOG'";

/// HARDEN_AHEAD = NEXT, the default: a caller that pauses between two requests does not wait for recovery values from the third on, and
/// each is still one flush (claim 95). OFF keeps SQL Server's count of waits. In a loop the caller itself writes the log.
#[test]
fn callers_who_come_one_by_one_do_not_wait() {
    for (option, paced_waits, loop_waits) in
        [("", 2, 20), ("WITH (HARDEN_AHEAD = NEXT)", 2, 20), ("WITH (HARDEN_AHEAD = OFF)", 4, 20)]
    {
        on_a_machine(103, move |os| {
            let (server, mut session) = Server::with_table(os);
            create(&mut session, &format!("CACHE 50 {option}"));
            let (noted, waited) = (notes(&server), number(&mut session, WAITS));
            for value in 1..=190 {
                assert_eq!(number(&mut session, NEXT), value);
                os.sleep(5_000_000, os::WaitType::WAITFOR).unwrap();
            }
            assert_eq!(
                (notes(&server) - noted, number(&mut session, WAITS) - waited),
                (4, paced_waits),
                "{option}"
            );
            run(&mut session, "DROP SEQUENCE dbo.Seq1");
            create(&mut session, &format!("CACHE 50 {option}"));
            let (noted, waited) = (notes(&server), number(&mut session, WAITS));
            draw(&mut session, 1_000);
            assert_eq!(
                (notes(&server) - noted, number(&mut session, WAITS) - waited),
                (20, loop_waits),
                "{option}"
            );
            // For rare requests no value is reserved ahead: the next start finds no larger gap than necessary.
            run(&mut session, "DROP SEQUENCE dbo.Seq1");
            create(&mut session, &format!("CACHE 5 {option}"));
            let noted = notes(&server);
            for _ in 0..10 {
                draw(&mut session, 1);
                os.sleep(1_000_000_000, os::WaitType::WAITFOR).unwrap();
            }
            assert_eq!(notes(&server) - noted, 2, "{option}");
            server.stop(session);
        });
    }
}

/// Claim 103: whenever the power fails, a sequence with the default options loses at most its cache, and no value comes twice.
#[test]
fn no_crash_loses_more_than_the_cache() {
    let mut ahead = 0;
    for seed in 0..24 {
        let count = 40 + seed * 17 % 160;
        // Also at the end of a range, when the next one may be hard already.
        let count = if seed % 3 == 0 { (count / 50 + 1) * 50 } else { count };
        let text = format!(
            "DECLARE @i int = 1, @v bigint; WHILE @i <= {count} BEGIN SET @v = NEXT VALUE FOR dbo.Seq1; WAITFOR DELAY '00:00:00.005'; SET @i += 1 END"
        );
        let next: i64 = after_power_loss(seed, None, text.leak(), &[NEXT])[0].parse().unwrap();
        let lost = next - count as i64 - 1;
        assert!((0..=50).contains(&lost), "seed {seed}: {count} values, then {next}");
        ahead += u64::from(lost == 50);
    }
    assert!(ahead > 0, "some ranges were hard before anybody wanted them");
}

/// The rows of a table filled from a sequence survive a commit as ever.
#[test]
fn committed_rows_keep_their_values() {
    let fill = "INSERT dbo.T1 SELECT NEXT VALUE FOR dbo.Seq1 FROM (VALUES (1), (2), (3)) AS d (i)";
    on_a_machine(119, move |os| {
        let (server, mut session) = Server::with_table(os);
        run(&mut session, "CREATE SEQUENCE dbo.Seq1 AS BIGINT MINVALUE 1 CACHE 50");
        run(&mut session, fill);
        assert_eq!(keys(&mut session), [1, 2, 3]);
        server.stop(session);
    });
}

/// Claims 120 and 121: numbers from a function go into a new table without a sequence; the function is called by its three-part name from
/// tempdb, and the names n and N, of column and correlation, differ by case only. Claim 122: the statement is one transaction.
#[test]
fn select_into_from_a_function_of_another_database() {
    on_a_machine(120, |os| {
        let server = Server::open(os);
        let mut session = server.session_in("master");
        run(&mut session, "CREATE DATABASE PerformanceV3");
        run(&mut session, "USE PerformanceV3");
        run(
            &mut session,
            "CREATE FUNCTION dbo.GetNums(@low AS BIGINT, @high AS BIGINT) RETURNS TABLE AS RETURN
             SELECT @low + value AS n FROM GENERATE_SERIES(CAST(0 AS BIGINT), @high - @low)",
        );
        run(&mut session, "USE tempdb");
        let into = "SELECT n INTO dbo.T1 FROM PerformanceV3.dbo.GetNums(1, 5000) AS N";
        let log = server.instance.tempdb().log().clone();
        let before = log.last();
        assert!(run(&mut session, into).messages.is_empty());
        assert_eq!(number(&mut session, "SELECT SUM(n) FROM dbo.T1"), 5_000 * 5_001 / 2);
        let inserted = log.read_from(before).flat_map(|record| {
            let log::OwnedRecord { header, payload, .. } = record.unwrap();
            let rows = match log::Body::decode(header.op, header.context, &payload) {
                Some(Ok(log::Body::HeapRow(_))) => 1,
                Some(Ok(log::Body::PageRows(rows))) => rows.rows.len(),
                _ => 0,
            };
            std::iter::repeat_n(header.txn, if header.op == log::LogOp::InsertRows { rows } else { 0 })
        });
        let mut owners: Vec<_> = inserted.collect();
        assert!(owners.len() >= 5_000);
        owners.dedup();
        assert_eq!(owners.len(), 1, "all rows are of one transaction");
        server.stop(session);
    });
}
