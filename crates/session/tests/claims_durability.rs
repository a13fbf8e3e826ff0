//! The durability of commits and the causes of log writes: claims 1 to 22 and 51 to 54, through sessions on a simulated machine that
//! records every write and loses power when a test says so.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use std::collections::{BTreeMap, BTreeSet};

use crate::common::simulated::{
    NAME, SMALL, Server, after_power_loss, connect, data_file, flushes, kept, keys, log_file, number,
    on_a_machine, repeat,
};
use crate::common::{numbers, rows, run};
use hardpan_session::{
    BulkRows, BulkSource, ColumnDescription, Done, EnvironmentChange, Flow, NullSink, ResultSink, Session,
};
use log::FlushReason;
use log::block::BlockHeader;
use os::sim::{Bug, Profile, World, WriteEvent, WriteStep};
use types::{SqlError, SqlType, Value};

/// Inserts that are acknowledged one by one; then the power fails at once. Returns the surviving rows.
fn keys_after_power_loss(seed: u64, statement: fn(i64) -> String, bug: Option<Bug>) -> Vec<i64> {
    let cut = move |session: &mut Session, _: &World| {
        for key in 1..=10 {
            run(session, &statement(key));
        }
    };
    after_power_loss(seed, bug, |_| (), cut, keys)
}

fn explicit(key: i64) -> String {
    format!("BEGIN TRAN; INSERT INTO dbo.T1(col1) VALUES({key}); COMMIT TRAN")
}

fn by_itself(key: i64) -> String {
    format!("INSERT INTO dbo.T1(col1) VALUES({key})")
}

/// Claims 1, 2 and 4: after COMMIT, or a single statement without BEGIN TRAN, has returned, the row exists although the
/// power fails at that very moment. (`tests/crash/kill9.py` does it to the real process.) This test also finds a server that acknowledges
/// too early.
#[test]
fn what_was_acknowledged_survives_power_loss() {
    let all: Vec<i64> = (1..=10).collect();
    let mut lost = 0;
    for seed in 0..8 {
        for statement in [explicit as fn(i64) -> String, by_itself] {
            assert_eq!(keys_after_power_loss(seed, statement, None), all, "seed {seed}");
            let with_bug = keys_after_power_loss(seed, statement, Some(Bug::AcknowledgeBeforeHarden));
            lost += usize::from(with_bug != all);
        }
    }
    assert!(lost > 0, "a commit that does not wait must lose something in 16 worlds");
}

/// Records, whenever a statement is reported as done, how many log writes have been confirmed.
struct AtDone {
    world: World,
    completed: usize,
    seen: Vec<usize>,
}

impl ResultSink for AtDone {
    fn columns(&mut self, _columns: &[ColumnDescription]) -> Flow {
        Flow::Continue
    }
    fn row(&mut self, _row: &[Value]) -> Flow {
        Flow::Continue
    }
    fn message(&mut self, message: &SqlError) {
        assert!(message.severity <= 10, "{message}");
    }
    fn done(&mut self, _done: Done) {
        let writes = self.world.take_writes();
        self.completed +=
            writes.iter().filter(|w| w.path == log_file() && w.step == WriteStep::Completed).count();
        self.seen.push(self.completed);
    }
    fn return_status(&mut self, _status: i32) {}
    fn return_value(&mut self, _ordinal: u16, _name: &str, _sql_type: &SqlType, _value: &Value) {}
    fn environment(&mut self, _change: EnvironmentChange) {}
}

/// Claims 2 and 3: each statement without BEGIN TRAN is reported as done only when its own log write has been confirmed; inside a
/// transaction the statements before COMMIT do not wait.
#[test]
fn a_statement_is_done_when_its_log_is_hard() {
    let world = World::new(2, Profile::nvme());
    let handle = world.clone();
    world
        .run(move |os| {
            let (server, mut session) = Server::with_table(os);
            handle.trace_writes();
            let mut sink = AtDone { world: handle, completed: 0, seen: Vec::new() };
            session.execute_batch(
                "INSERT dbo.T1 VALUES(1); UPDATE dbo.T1 SET col1 = 2; DELETE dbo.T1; INSERT dbo.T1 VALUES(3)",
                &mut sink,
            );
            assert_eq!(sink.seen, [1, 2, 3, 4]);
            sink.seen.clear();
            session.execute_batch(
                "BEGIN TRAN; INSERT dbo.T1 VALUES(4); INSERT dbo.T1 VALUES(5); COMMIT; INSERT dbo.T1 VALUES(6)",
                &mut sink,
            );
            // BEGIN, two INSERTs, COMMIT, an INSERT.
            assert_eq!(sink.seen, [4, 4, 4, 5, 6]);
            server.stop(session);
        })
        .assert_ok();
}

/// Claims 3 and 136: the block with LOP_COMMIT_XACT is on disk before the batch ends; nothing of the data file has been written.
#[test]
fn the_commit_record_is_hard_before_the_answer_and_pages_need_not_be() {
    let world = World::new(3, Profile::nvme());
    let handle = world.clone();
    world
        .run(move |os| {
            let (server, mut session) = Server::with_table(os);
            for key in 1..=5 {
                handle.trace_writes();
                run(&mut session, &explicit(key));
                let writes = handle.take_writes();
                let last = server.database().log().last();
                let completed: Vec<_> = writes.iter().filter(|w| w.step == WriteStep::Completed).collect();
                assert_eq!(completed.len(), 1, "one write for one commit: {completed:?}");
                assert_eq!(completed[0].path, log_file());
                let record = server.database().log().read(last).unwrap();
                assert_eq!(record.header.op, log::LogOp::CommitXact);
                assert_eq!(
                    blocks(&writes).last().unwrap().last(),
                    last,
                    "the block that went out ends with it"
                );
                assert!(!writes.iter().any(|write| write.path == data_file()));
            }
            server.stop(session);
        })
        .assert_ok();
}

/// Headers of the log blocks that were passed to the device.
fn blocks(writes: &[WriteEvent]) -> Vec<BlockHeader> {
    let issued =
        writes.iter().filter(|write| write.path == log_file()).filter_map(|write| match &write.step {
            WriteStep::Issued(bytes) => BlockHeader::decode(bytes).ok(),
            WriteStep::Completed => None,
        });
    issued.collect()
}

/// Claims 5, 6 and 285: after a crash the changes since the checkpoint are redone, although no page of them had been written to the data file; a
/// transaction that had not committed is undone, although its records had been written to the log.
#[test]
fn recovery_redoes_what_is_missing_and_undoes_what_is_open() {
    let world = World::new(5, Profile::nvme());
    let handle = world.clone();
    world
        .run(move |os| {
            let (server, mut session) = Server::with_table(os);
            run(&mut session, "CHECKPOINT");
            handle.trace_writes();
            repeat(&mut session, 1, 50, SMALL);
            let mut other = server.session();
            run(
                &mut other,
                "BEGIN TRAN; INSERT INTO dbo.T1(col1) VALUES(1000); DELETE dbo.T1 WHERE col1 = 7",
            );
            run(&mut session, "EXEC sys.sp_flush_log");
            let log = server.database().log().clone();
            assert_eq!(log.hardened(), log.last(), "the open transaction's records are on disk");
            assert!(!handle.take_writes().iter().any(|write| write.path == data_file()));
            handle.kill_process();
        })
        .assert_ok();
    let report = world.run(|os| {
        let server = Server::open(os);
        let mut session = server.session();
        assert_eq!(keys(&mut session), (1..=50).collect::<Vec<i64>>());
        server.stop(session);
    });
    report.assert_ok();
    let said: Vec<&String> = report.log.iter().filter(|line| line.contains(NAME)).collect();
    let redone =
        said.iter().find(|line| line.contains("records redone")).unwrap_or_else(|| panic!("{said:?}"));
    assert!(!redone.contains(" 0 records redone") && redone.contains("1 transactions"), "{redone}");
}

/// Claims 7 and 122: under each recovery model, a SELECT INTO interrupted by a crash leaves its table complete or not at all, and earlier commits
/// unchanged. (There is no minimal logging: every recovery model logs it completely.)
#[test]
fn select_into_is_whole_or_absent_after_a_crash() {
    for (model, description) in [("FULL", "FULL"), ("BULK_LOGGED", "BULK_LOGGED"), ("SIMPLE", "SIMPLE")] {
        let mut seen = [0; 2];
        for seed in 0..16 {
            seen[usize::from(select_into_survives(seed, model, description))] += 1;
        }
        assert!(seen[0] > 0 && seen[1] > 0, "both outcomes are seen under {model}: {seen:?}");
    }
}

/// Does the table created under `model` exist after the power failed at a task switch that `seed` chooses?
fn select_into_survives(seed: u64, model: &'static str, description: &'static str) -> bool {
    let made = move |session: &mut Session| {
        repeat(session, 1, 200, "INSERT INTO dbo.T1(col1) VALUES(@i);");
        run(session, &format!("ALTER DATABASE {NAME} SET RECOVERY {model}"));
    };
    let cut = move |session: &mut Session, world: &World| {
        let set = format!("SELECT recovery_model_desc FROM sys.databases WHERE name = N'{NAME}'");
        assert_eq!(rows(session, &set), [description]);
        world.power_off_after_switches(1 + seed * 7);
        run(session, "SELECT col1, REPLICATE('x', 300) AS filler INTO dbo.T2 FROM dbo.T1");
    };
    after_power_loss(seed, None, made, cut, |session| {
        assert_eq!(keys(session), (1..=200).collect::<Vec<i64>>());
        let exists = number(session, "SELECT COUNT(*) FROM sys.tables WHERE name = N'T2'");
        if exists == 1 {
            let whole = "SELECT COUNT(*), COUNT(DISTINCT b.col1), MIN(LEN(filler)), MAX(LEN(filler)) \
                         FROM dbo.T2 AS b JOIN dbo.T1 AS a ON a.col1 = b.col1";
            assert_eq!(rows(session, whole), ["200|200|300|300"]);
        }
        exists == 1
    })
}

/// 5,001 rows of a client, the first of which cuts the power off some switches later.
struct Sent {
    rows: std::ops::Range<i32>,
    cut: Option<(World, u64)>,
}

impl BulkRows for Sent {
    fn next(&mut self, row: &mut Vec<Value>) -> Result<bool, SqlError> {
        if let Some((world, switches)) = self.cut.take() {
            world.power_off_after_switches(switches);
        }
        row.clear();
        row.extend(self.rows.next().map(Value::Int));
        Ok(!row.is_empty())
    }
}

impl BulkSource for Sent {
    fn columns(&mut self) -> Result<Vec<SqlType>, SqlError> {
        Ok(vec![SqlType::Int])
    }
}

/// A bulk load whose power fails is whole or absent, and its indexes agree.
#[test]
fn a_bulk_load_is_whole_or_absent_after_a_crash() {
    let mut seen = [0; 2];
    for seed in 0..24 {
        let made = |session: &mut Session| {
            repeat(session, 1, 200, "INSERT INTO dbo.T1(col1) VALUES(@i);");
            run(
                session,
                "CREATE UNIQUE CLUSTERED INDEX c ON dbo.T1 (col1); CREATE INDEX d ON dbo.T1 (col1 DESC)",
            );
        };
        let cut = move |session: &mut Session, world: &World| {
            run(session, "INSERT BULK dbo.T1 (col1 int)");
            let mut sent = Sent { rows: 201..5_202, cut: Some((world.clone(), 1 + seed * seed * 8)) };
            session.bulk_load(&mut sent, &mut NullSink);
        };
        let loaded = after_power_loss(seed, None, made, cut, move |session| {
            let count = number(session, "SELECT COUNT(*) FROM dbo.T1");
            assert!(count == 200 || count == 5_201, "seed {seed}: {count} rows");
            assert_eq!(number(session, "SELECT COUNT(*) FROM dbo.T1 WITH (INDEX(d))"), count);
            run(session, "DBCC CHECKTABLE ('dbo.T1')");
            count == 5_201
        });
        seen[usize::from(loaded)] += 1;
    }
    assert!(seen[0] > 0 && seen[1] > 0, "both outcomes are seen: {seen:?}");
}

/// Claims 8 and 10: log is written from low to high offsets, jumping only to the beginning of another VLF, never twice to one place; each
/// write is a whole number of sectors, from 512 bytes to 60 KB.
#[test]
fn log_writes_are_sequential_and_of_512_bytes_to_60_kb() {
    let world = World::new(8, Profile::nvme());
    let handle = world.clone();
    world
        .run(move |os| {
            let (server, mut session) = Server::with_table(os);
            let log = server.database().log().clone();
            handle.trace_writes();
            let before = log.stats().flushes_total;
            repeat(&mut session, 1, 300, SMALL);
            run(&mut session, "CREATE TABLE dbo.T2(filler char(7000) NOT NULL)");
            run(&mut session, "BEGIN TRAN");
            repeat(&mut session, 1, 600, "INSERT dbo.T2(filler) VALUES('x');");
            run(&mut session, "COMMIT");
            repeat(&mut session, 1, 50, "INSERT dbo.T2(filler) VALUES('x');");
            // Headers of the file and of its VLFs are written elsewhere; they are no log blocks.
            let is_block = |write: &&WriteEvent| !blocks(std::slice::from_ref(*write)).is_empty();
            let writes = handle.take_writes();
            let issued: Vec<(u64, usize)> =
                writes.iter().filter(is_block).map(|write| (write.offset, write.len)).collect();
            assert_eq!(issued.len() as u64, log.stats().flushes_total - before, "each flush is one write");
            assert!(issued.len() > 400, "{} writes", issued.len());
            let begins: Vec<u64> = log.vlfs().iter().map(|vlf| vlf.begin_offset + 8192).collect();
            for pair in issued.windows(2) {
                let end = pair[0].0 + pair[0].1 as u64;
                assert!(pair[1].0 == end || begins.contains(&pair[1].0), "from {end} to {}", pair[1].0);
            }
            let places: BTreeSet<u64> = issued.iter().map(|write| write.0).collect();
            assert_eq!(places.len(), issued.len(), "no place is written twice");
            for (offset, bytes) in &issued {
                assert!((512..=61_440).contains(bytes) && bytes % 512 == 0, "{bytes} bytes at {offset}");
            }
            assert!(issued.iter().any(|write| write.1 == 512), "small commits fill one sector");
            assert!(issued.iter().any(|write| write.1 > 55_000), "a large transaction fills blocks");
            server.stop(session);
        })
        .assert_ok();
}

/// Claims 9, 13, 14 and 18: records collect in memory while delayed transactions commit; sys.sp_flush_log writes them all at once, and the
/// written records survive a kill.
#[test]
fn records_gather_in_memory_until_something_flushes() {
    let world = World::new(9, Profile::constant_latency());
    let handle = world.clone();
    world
        .run(move |os| {
            let (server, mut session) = Server::with_table(os);
            run(&mut session, &format!("ALTER DATABASE {NAME} SET DELAYED_DURABILITY = FORCED"));
            run(&mut session, &explicit(0));
            run(&mut session, "EXEC sys.sp_flush_log");
            let log = server.database().log().clone();
            let (before, records) = (flushes(&mut session, NAME), log.stats().records_total);
            repeat(&mut session, 1, 100, SMALL);
            assert_eq!(log.stats().records_total - records, 300, "many appends");
            assert_eq!(flushes(&mut session, NAME), before, "and no flush: the commits do not ask for one");
            assert!(log.hardened() < log.last(), "what was acknowledged is not hard");
            assert!(numbers(&run(&mut session, "EXEC sys.sp_flush_log")).is_empty());
            assert_eq!(flushes(&mut session, NAME), before + 1, "one write for all of them");
            assert_eq!(server.flushes_for(FlushReason::FlushLogProc), 2);
            handle.power_off();
        })
        .assert_ok();
    world
        .run(|os| {
            let server = Server::open(os);
            let mut session = server.session();
            assert_eq!(keys(&mut session), (0..=100).collect::<Vec<i64>>());
            server.stop(session);
        })
        .assert_ok();
}

/// Claims 11 and 12: a transaction with changes flushes once at its commit, a read-only one never does.
#[test]
fn only_transactions_that_changed_something_flush() {
    on_a_machine(11, |os| {
        let (server, mut session) = Server::with_table(os);
        repeat(&mut session, 1, 5, SMALL);
        let before = flushes(&mut session, NAME);
        repeat(&mut session, 6, 1, SMALL);
        assert_eq!(flushes(&mut session, NAME), before + 1);
        let records = server.database().log().stats().records_total;
        repeat(
            &mut session,
            1,
            1_000,
            "BEGIN TRAN; IF EXISTS (SELECT * FROM dbo.T1 WHERE col1 = @i) SET @i += 0; COMMIT;",
        );
        run(&mut session, "BEGIN TRAN; SELECT col1 FROM dbo.T1 WITH (HOLDLOCK); COMMIT");
        assert_eq!(flushes(&mut session, NAME), before + 1);
        assert_eq!(server.database().log().stats().records_total, records, "they leave no record either");
        server.stop(session);
    });
}

/// Claims 15 and 52: an open or delayed transaction's log is written when a block is full, at a CHECKPOINT and at sp_flush_log; those
/// conditions hold for delayed transactions, too.
#[test]
fn delayed_log_goes_out_for_every_other_reason() {
    on_a_machine(15, |os| {
        let (server, mut session) = Server::with_table(os);
        let log = server.database().log().clone();
        run(&mut session, &format!("ALTER DATABASE {NAME} SET DELAYED_DURABILITY = FORCED"));
        run(&mut session, "CREATE TABLE dbo.T2(filler char(6000) NOT NULL); EXEC sys.sp_flush_log");
        let before = log.stats();
        run(&mut session, "BEGIN TRAN");
        repeat(&mut session, 1, 400, "INSERT dbo.T2(filler) VALUES('x');");
        os.sleep(100_000_000, os::WaitType::SLEEP_TASK).unwrap();
        let after = log.stats();
        let full = after.flushes_by_reason_total[FlushReason::BlockFull.index()]
            - before.flushes_by_reason_total[FlushReason::BlockFull.index()];
        // A row of 6,000 bytes does not always fit the rest of 60 KB: 9 of them fill a block.
        let blocks = (after.record_bytes_total - before.record_bytes_total) / 61_440;
        assert!((blocks..=blocks * 10 / 9 + 1).contains(&full), "{full} full blocks for {blocks} x 60 KB");
        assert_eq!(after.flushes_total - before.flushes_total, full, "for no other reason");
        run(&mut session, "COMMIT");
        assert_eq!(log.stats().flushes_total, after.flushes_total, "the commit itself does not flush");
        run(&mut session, "EXEC sys.sp_flush_log");
        assert_eq!(log.stats().flushes_total, after.flushes_total + 1, "the rest of the last block");
        run(&mut session, "CHECKPOINT");
        repeat(&mut session, 1, 3, SMALL);
        let before = server.flushes_for(FlushReason::WriteAhead);
        run(&mut session, "CHECKPOINT");
        assert_eq!(server.flushes_for(FlushReason::WriteAhead), before + 1);
        server.stop(session);
    });
}

/// Claims 16 and 17: whenever a page image is written to the data file (here: at CHECKPOINT, with a change that is not even committed),
/// the log up to the page's LSN has been confirmed before. The test detects a server without that rule.
#[test]
fn no_page_is_written_before_its_log() {
    for bug in [None, Some(Bug::PageBeforeLog)] {
        let world = World::new(16, Profile::nvme());
        let handle = world.clone();
        let report = world.run(move |os| {
            let (server, mut session) = Server::with_table(os);
            run(&mut session, "CHECKPOINT");
            let before = flushes(&mut session, NAME);
            let hard = server.database().log().hardened();
            handle.plant(bug);
            handle.trace_writes();
            run(&mut session, "BEGIN TRAN");
            repeat(&mut session, 1, 20, "INSERT INTO dbo.T1(col1) VALUES(@i);");
            assert_eq!(flushes(&mut session, NAME), before, "a small change alone does not flush");
            run(&mut session, "CHECKPOINT");
            handle.plant(None);
            let violations = write_ahead_violations(hard, &handle.take_writes());
            assert_eq!(violations > 0, bug.is_some(), "{violations} pages ahead of their log, {bug:?}");
            if bug.is_none() {
                assert!(flushes(&mut session, NAME) > before);
                assert!(server.flushes_for(FlushReason::WriteAhead) > 0);
            }
            run(&mut session, "ROLLBACK");
            server.stop(session);
        });
        report.assert_ok();
    }
}

/// Page images written to the data file with an LSN above the confirmed log. At least one must not be.
fn write_ahead_violations(hardened: log::Lsn, writes: &[WriteEvent]) -> usize {
    let mut hardened = hardened;
    let mut in_flight: BTreeMap<u64, log::Lsn> = BTreeMap::new();
    let (mut pages_seen, mut violations) = (0, 0);
    for write in writes {
        match &write.step {
            WriteStep::Issued(bytes) if write.path == log_file() => {
                if let Ok(header) = BlockHeader::decode(bytes) {
                    in_flight.insert(write.offset, header.last());
                }
            }
            WriteStep::Completed if write.path == log_file() => {
                hardened = hardened.max(in_flight.remove(&write.offset).unwrap_or(hardened));
            }
            WriteStep::Issued(bytes) if write.path == data_file() => {
                for page in bytes.chunks_exact(pages::PAGE_BYTES) {
                    pages_seen += 1;
                    violations += usize::from(pages::header::lsn(page.try_into().unwrap()) > hardened);
                }
            }
            _ => {}
        }
    }
    assert!(pages_seen > 0, "a checkpoint writes pages");
    violations
}

/// Claims 21, 22, 218 and 246: each fully durable commit of one session is one wait of type WRITELOG, as long as the device's write; delayed
/// commits do not wait.
#[test]
fn full_commits_wait_for_the_log_and_delayed_ones_do_not() {
    on_a_machine(21, |os| {
        let (server, mut session) = Server::with_table(os);
        let waits = "SELECT waiting_tasks_count, wait_time_ms FROM sys.dm_os_wait_stats WHERE wait_type = N'WRITELOG'";
        let read = |session: &mut hardpan_session::Session| -> (i64, i64) {
            let row = rows(session, waits).remove(0);
            let (count, time) = row.split_once('|').unwrap();
            (count.parse().unwrap(), time.parse().unwrap())
        };
        let (count, time_ms) = read(&mut session);
        let device_ns = server.database().log().stats().flush_write_ns_total;
        repeat(&mut session, 1, 200, SMALL);
        let (after, after_ms) = read(&mut session);
        assert_eq!(after - count, 200);
        let device_ms = (server.database().log().stats().flush_write_ns_total - device_ns) / 1_000_000;
        assert!(
            (after_ms - time_ms).abs_diff(device_ms as i64) <= 1,
            "{} ms, device {device_ms} ms",
            after_ms - time_ms
        );
        run(&mut session, &format!("ALTER DATABASE {NAME} SET DELAYED_DURABILITY = FORCED"));
        let (count, _) = read(&mut session);
        repeat(&mut session, 1, 200, SMALL);
        assert_eq!(read(&mut session).0, count);
        server.stop(session);
    });
}

/// Claim 51: a delayed commit is acknowledged once its record is in memory, however long a write of the log takes: twenty are
/// acknowledged before the device has finished a single write.
#[test]
fn delayed_commits_do_not_wait_for_a_slow_device() {
    let world = World::new(51, Profile::constant_latency());
    let handle = world.clone();
    world
        .run(move |os| {
            let (server, mut session) = Server::with_table(os);
            run(&mut session, &format!("ALTER DATABASE {NAME} SET DELAYED_DURABILITY = ALLOWED"));
            server.database().log().suspend_background_flush(false);
            let slow = os::sim::Fault {
                operation: os::sim::Operation::Write,
                path_contains: "_log.ldf".into(),
                skip: 0,
                times: u64::MAX,
                effect: os::sim::Effect::Delay(100_000_000),
            };
            handle.inject(slow);
            handle.trace_writes();
            repeat(
                &mut session,
                1,
                20,
                "BEGIN TRAN INSERT INTO dbo.T1(col1) VALUES(@i); COMMIT TRAN WITH (DELAYED_DURABILITY = ON);",
            );
            assert_eq!(handle.take_writes().iter().filter(|w| w.step == WriteStep::Completed).count(), 0);
            repeat(&mut session, 21, 1, SMALL);
            assert!(handle.take_writes().iter().any(|w| w.step == WriteStep::Completed), "a full one waits");
            handle.clear_faults();
            server.stop(session);
        })
        .assert_ok();
}

/// Claim 53: a delayed transaction whose log had not been written is completely missing after a crash, although its client had received
/// the acknowledgement.
#[test]
fn a_delayed_commit_that_was_not_flushed_is_undone() {
    let world = World::new(53, Profile::nvme());
    let handle = world.clone();
    world
        .run(move |os| {
            let (server, mut session) = Server::with_table(os);
            run(&mut session, &format!("ALTER DATABASE {NAME} SET DELAYED_DURABILITY = FORCED"));
            run(&mut session, &explicit(1));
            run(&mut session, "EXEC sys.sp_flush_log");
            let seen = run(
                &mut session,
                "BEGIN TRAN; INSERT dbo.T1 VALUES(2); INSERT dbo.T1 VALUES(3); COMMIT; SELECT @@TRANCOUNT",
            );
            assert_eq!(seen.sets[0].1, [["0"]], "the client is told that it has committed");
            assert_eq!(keys(&mut session), [1, 2, 3]);
            drop(server);
            handle.kill_process();
        })
        .assert_ok();
    world
        .run(|os| {
            let server = Server::open(os);
            let mut session = server.session();
            assert_eq!(keys(&mut session), [1]);
            repeat(&mut session, 2, 3, SMALL);
            assert_eq!(keys(&mut session), [1, 2, 3, 4]);
            server.stop(session);
        })
        .assert_ok();
}

/// Claim 54: a crash loses the end of the common sequence of several sessions' delayed transactions: each is complete or missing,
/// and none exists whose commit began after the acknowledgement of a missing one.
#[test]
fn what_a_crash_takes_of_many_sessions_is_the_end_of_their_sequence() {
    let (mut lost, mut survived) = (0, 0);
    for seed in 0..24 {
        let world = World::new(seed, Profile::drawn(seed));
        // For each key: when its commit began and was acknowledged, in one count of such events.
        let events = kept((0_u64, BTreeMap::<i64, (u64, Option<u64>)>::new()));
        let (handle, noted) = (world.clone(), std::sync::Arc::clone(&events));
        world.run(move |os| delayed_commits_until_the_power_fails(os, &handle, seed, &noted)).assert_ok();
        world.disarm();
        let found = kept(BTreeSet::new());
        let into = std::sync::Arc::clone(&found);
        world
            .run(move |os| {
                let server = Server::open(os);
                let mut session = server.session();
                *into.lock() = keys(&mut session).into_iter().collect();
                server.stop(session);
            })
            .assert_ok();
        let found = found.lock().clone();
        let events = events.lock().1.clone();
        assert!(
            found.iter().all(|key| found.contains(&-key)),
            "seed {seed}: half a transaction in {found:?}"
        );
        assert!(
            found.iter().all(|key| events.contains_key(&key.abs())),
            "seed {seed}: a row nobody inserted"
        );
        let gone = |key: &i64| !found.contains(key);
        let first_lost = events.iter().filter(|(key, _)| gone(key)).filter_map(|(_, seen)| seen.1).min();
        for (key, (began, _)) in events.iter().filter(|(key, _)| !gone(key)) {
            let is_behind_a_hole = first_lost.is_some_and(|acknowledged| acknowledged < *began);
            assert!(!is_behind_a_hole, "seed {seed}: {key} is there, an earlier one is not");
        }
        lost += usize::from(first_lost.is_some());
        survived += usize::from(!found.is_empty());
    }
    assert!(lost > 0 && survived > 0, "some were lost in {lost} seeds, some survived in {survived}");
}

/// Four sessions commit pairs of rows, delayed, until the power fails; `noted` records when each commit began and was acknowledged.
fn delayed_commits_until_the_power_fails(
    os: &os::Os,
    world: &World,
    seed: u64,
    noted: &std::sync::Arc<os::Latch<(u64, BTreeMap<i64, (u64, Option<u64>)>)>>,
) {
    let (server, mut session) = Server::with_table(os);
    run(&mut session, &format!("ALTER DATABASE {NAME} SET DELAYED_DURABILITY = FORCED"));
    run(&mut session, "EXEC sys.sp_flush_log");
    server.database().log().suspend_background_flush(false);
    world.power_off_after_ios(2 + seed % 7);
    let tasks: Vec<_> = (0..4)
        .map(|client: i64| {
            let (shared, noted, clock) = (server.shared(), std::sync::Arc::clone(noted), os.clone());
            os.spawn("client", move || {
                let mut session = connect(&shared, NAME);
                for turn in 0.. {
                    let key = 1 + client + 4 * turn;
                    run(
                        &mut session,
                        &format!("BEGIN TRAN; INSERT dbo.T1 VALUES({key}); INSERT dbo.T1 VALUES(-{key})"),
                    );
                    note(&noted, |now, seen| {
                        seen.insert(key, (now, None));
                    });
                    let done = run(&mut session, "COMMIT");
                    assert!(done.messages.is_empty(), "{:?}", done.messages);
                    note(&noted, |now, seen| seen.get_mut(&key).unwrap().1 = Some(now));
                    clock.sleep(50_000 + 30_000 * client as u64, os::WaitType::SLEEP_TASK).unwrap();
                }
            })
        })
        .collect();
    tasks.into_iter().for_each(|task| drop(task.join()));
}

fn note(
    events: &os::Latch<(u64, BTreeMap<i64, (u64, Option<u64>)>)>,
    change: impl FnOnce(u64, &mut BTreeMap<i64, (u64, Option<u64>)>),
) {
    let mut events = events.lock();
    events.0 += 1;
    let now = events.0;
    change(now, &mut events.1);
}

/// Claim 54: a crash loses the end of the sequence of delayed transactions; the others exist from the first to some k-th, each
/// complete.
#[test]
fn what_a_crash_takes_is_the_end_of_the_sequence() {
    let mut survived = Vec::new();
    for seed in 0..16 {
        let world = World::new(seed, Profile::drawn(seed));
        let handle = world.clone();
        world
            .run(move |os| {
                let (server, mut session) = Server::with_table(os);
                run(&mut session, &format!("ALTER DATABASE {NAME} SET DELAYED_DURABILITY = FORCED"));
                run(&mut session, "EXEC sys.sp_flush_log");
                server.database().log().suspend_background_flush(false);
                handle.power_off_after_ios(1 + seed % 5);
                for key in 1.. {
                    let text = format!(
                        "BEGIN TRAN; INSERT dbo.T1 VALUES({key}); INSERT dbo.T1 VALUES(-{key}); COMMIT"
                    );
                    run(&mut session, &text);
                    os.sleep(100_000, os::WaitType::SLEEP_TASK).unwrap();
                }
            })
            .assert_ok();
        world.disarm();
        let found = kept(Vec::new());
        let into = std::sync::Arc::clone(&found);
        world
            .run(move |os| {
                let server = Server::open(os);
                let mut session = server.session();
                *into.lock() = keys(&mut session);
                server.stop(session);
            })
            .assert_ok();
        let found = found.lock().clone();
        let last = found.last().copied().unwrap_or(0);
        let expected: Vec<i64> = (-last..=last).filter(|key| *key != 0).collect();
        assert_eq!(found, expected, "seed {seed}");
        survived.push(last);
    }
    assert!(survived.iter().any(|count| *count > 0), "some transactions were flushed in time: {survived:?}");
}
