//! `cargo bench --bench peers -- --log`: what the log's features cost Hardpan itself. Each row runs the same work with and without one of
//! them, in turns within a round, and shows the ratio of the two, formed within a round; the raw device stands beside them.
//!
//! | row | with | without |
//! |---|---|---|
//! | sequence | CACHE 50, ranges hardened ahead | CACHE 1000000 |
//! | doctor and views | polled each second beside 8 sessions | nobody looks |
//! | delayed commits | a log cache that outlives the process | an ordinary one |
//! | growth | the longest commit while the log grows by 16 MB at a time | the same in a log that need not grow |

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::device::Device;
use crate::hardpan::{DATABASE, Hardpan, loop_of};
use crate::machine;
use crate::table::median;
use crate::work::{Engine, Scale, Work};

/// Log of a database in which nothing has to grow.
const LOG_MB: u32 = 1024;
/// Log that grows while the loop runs.
const SMALL_LOG_MB: u32 = 16;

/// One row: what it compares, the unit, and whether more is better.
#[derive(Clone, Copy)]
enum Row {
    Sequence,
    Doctor,
    Delayed,
    Growth,
}

impl Row {
    const ALL: [Row; 4] = [Row::Sequence, Row::Doctor, Row::Delayed, Row::Growth];

    fn name(self, scale: &Scale) -> String {
        match self {
            Row::Sequence => format!(
                "sequence: {} values by SELECT INTO, CACHE 50 hardened ahead / CACHE 1000000, s",
                scale.rows
            ),
            Row::Doctor => {
                "driver: durable inserts, 8 sessions, doctor and views each second / nobody looks, 1/s".into()
            }
            Row::Delayed => format!(
                "loop: {} delayed commits, cache outlives the process / ordinary cache, 1/s",
                scale.delayed
            ),
            Row::Growth => "loop: durable commits of 7 KB, longest, log grows / need not grow, ms".into(),
        }
    }
}

/// Runs the rows and prints a table.
pub fn run(
    directory: &Path,
    scale: &Scale,
    rounds: usize,
    settle: Duration,
    only: Option<&str>,
) -> Result<(), String> {
    let rows: Vec<Row> =
        Row::ALL.into_iter().filter(|row| only.is_none_or(|text| row.name(scale).contains(text))).collect();
    let mut device = Device::open(directory, scale.durable)?;
    let mut results: Vec<Vec<(f64, f64)>> = vec![Vec::new(); rows.len()];
    let mut device_ms = Vec::new();
    for round in 0..rounds {
        let raw = device.measure(Work::RawDevice, scale).expect("it takes part")?;
        device_ms.push(1_000.0 / raw.value);
        for (at, row) in rows.iter().enumerate() {
            let one = |has_feature: bool| {
                machine::settle(settle);
                measure(*row, has_feature, directory, scale)
            };
            // In turns: whoever is first is last in the next round.
            let (with, without) = match round % 2 {
                0 => (one(true)?, one(false)?),
                _ => {
                    let without = one(false)?;
                    (one(true)?, without)
                }
            };
            eprintln!("round {}: {}: {with:.3} / {without:.3}", round + 1, row.name(scale));
            results[at].push((with, without));
        }
    }
    let device_ms = median(device_ms);
    println!("\nA durable write of 512 bytes takes the raw device {device_ms:.3} ms.\n");
    println!("| with / without | with | without | ratio |\n|---|---|---|---|");
    for (row, results) in rows.iter().zip(&results) {
        let of = |part: fn(&(f64, f64)) -> f64| median(results.iter().map(part).collect());
        let ratio = of(|(with, without)| with / without);
        let more = match row {
            Row::Growth => format!(" ({:.1} device latencies)", of(|result| result.0) / device_ms),
            _ => String::new(),
        };
        println!(
            "| {} | {:.3}{more} | {:.3} | {ratio:.3} |",
            row.name(scale),
            of(|result| result.0),
            of(|result| result.1)
        );
    }
    Ok(())
}

fn measure(row: Row, has_feature: bool, directory: &Path, scale: &Scale) -> Result<f64, String> {
    let start =
        |log_mb: u32, arguments: &[&str]| Hardpan::start_with(directory, "hardpan-log", log_mb, arguments);
    match row {
        Row::Sequence => sequence(&start(LOG_MB, &[])?, has_feature, scale),
        Row::Doctor => watched(&start(LOG_MB, &[])?, has_feature, scale),
        Row::Delayed => {
            let cache: &[&str] = if has_feature { &[] } else { &["--log-cache", "OFF"] };
            let hardpan = start(LOG_MB, cache)?;
            let body = "BEGIN TRAN; INSERT INTO t1 VALUES (@i); COMMIT WITH (DELAYED_DURABILITY = ON);";
            Ok(scale.delayed as f64 / hardpan.timed(&loop_of(scale.delayed, body))?)
        }
        Row::Growth => longest_commit(&start(if has_feature { SMALL_LOG_MB } else { LOG_MB }, &[])?, scale),
    }
}

fn sequence(hardpan: &Hardpan, is_ahead: bool, scale: &Scale) -> Result<f64, String> {
    let cache = if is_ahead { "CACHE 50 WITH (HARDEN_AHEAD = ON)" } else { "CACHE 1000000" };
    hardpan.connect(DATABASE)?.batch(&format!("CREATE SEQUENCE seq AS bigint START WITH 1 {cache}"))?;
    hardpan
        .connect(DATABASE)?
        .batch("CREATE TABLE digits (d int); INSERT digits VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)")?;
    let digits: Vec<String> = (1..=scale.rows.ilog10()).map(|at| format!("digits d{at}")).collect();
    let query = digits.join(" CROSS JOIN ");
    hardpan.timed(&format!("SELECT NEXT VALUE FOR seq AS n INTO copied FROM {query}"))
}

/// Commits a second of 8 sessions; with somebody who asks the doctor and reads the views of the log each second.
fn watched(hardpan: &Hardpan, is_watched: bool, scale: &Scale) -> Result<f64, String> {
    let is_over = AtomicBool::new(false);
    let poll = || -> Result<(), String> {
        let mut connection = hardpan.connect(DATABASE)?;
        while is_watched && !is_over.load(Ordering::Acquire) {
            // The doctor looks for a second.
            connection.batch("EXEC sp_log_doctor 1")?;
            for view in [
                "sys.dm_os_wait_stats",
                "sys.dm_os_performance_counters",
                "sys.dm_io_virtual_file_stats(NULL, NULL)",
                "sys.dm_io_pending_io_requests",
                "sys.dm_db_log_stats(DB_ID())",
                "sys.dm_db_log_limits",
                "sys.dm_db_loss_window",
                "sys.dm_tran_database_transactions",
                "sys.dm_exec_requests",
            ] {
                connection.batch(&format!("SELECT * FROM {view}"))?;
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let watcher = scope.spawn(poll);
        let seconds = (scale.seconds * 2.0).max(3.0);
        let sample = hardpan.sessions(8, seconds);
        is_over.store(true, Ordering::Release);
        watcher.join().map_err(|_| "the watcher panicked".to_owned())??;
        Ok(sample?.value)
    })
}

/// The longest of many durable commits of 7 KB, in ms, as the server's clock sees it; 200 MB of log.
fn longest_commit(hardpan: &Hardpan, scale: &Scale) -> Result<f64, String> {
    let count = if scale.rows < Scale::FULL.rows { 6_000 } else { 30_000 };
    let mut connection = hardpan.connect(DATABASE)?;
    connection.batch("CREATE TABLE wide (i int NOT NULL, b char(7000) NOT NULL DEFAULT 'x')")?;
    let longest = connection.batch(&format!(
        "SET NOCOUNT ON; DECLARE @i int = 0, @longest bigint = 0, @took bigint, @began datetime2;
         WHILE @i < {count} BEGIN
           SET @began = SYSUTCDATETIME(); INSERT wide (i) VALUES (@i);
           SET @took = DATEDIFF_BIG(us, @began, SYSUTCDATETIME());
           IF @took > @longest SET @longest = @took;
           SET @i += 1
         END; SELECT @longest"
    ))?;
    let longest_us = longest.and_then(|value| value.as_i64()).ok_or("no longest commit")?;
    Ok(longest_us as f64 / 1_000.0)
}
