//! `cargo bench --bench peers -- --log`: the speed of the log, and the cost of its features. Each row runs one work in two ways, alternating within a
//! round, and shows the ratio of the two, computed within a round, beside the goal.
//!
//! | row | one | other |
//! |---|---|---|
//! | durable commits | a loop in the server | the raw device, 512 bytes at a time |
//! | delayed commits | a loop in the server | PostgreSQL with synchronous_commit = off |
//! | COMMIT_ACK = BATCH | a loop in the server | PostgreSQL, each commit durable |
//! | sequence | CACHE 50, ranges hardened ahead | CACHE 1000000 |
//! | the same, default | CACHE 50 | CACHE 1000000 |
//! | doctor and views | polled each second beside 8 sessions | no polling |
//! | delayed commits | a log cache that survives the process | an ordinary one |
//! | growth | the longest commit while the log grows by 16 MB at a time | the same in a log that need not grow |
//! | large growth | the longest commit while a log of 16 MB grows by 1 GB | the same |
//! | VLFs | article 004's loop of updates with 8,000 VLFs | with 20 |
//! | VLFs, restart | restart after kill -9 with that loop to undo, 8,000 VLFs | 20 |
//! | readers, writers | two readers that sum a table, eight writers that change it, READ_COMMITTED_SNAPSHOT | the same, locking |
//!
//! Rows that need PostgreSQL are skipped if it is not installed.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::connection::Connection;
use crate::device::Device;
use crate::hardpan::{DATABASE, Hardpan, loop_of};
use crate::machine;
use crate::postgres::Postgres;
use crate::readers;
use crate::table::median;
use crate::work::{Engine, Scale, Statement, Work};

/// Log size of a database in which nothing has to grow.
const LOG_MB: u32 = 1024;
/// Log size that grows while the loop runs.
const SMALL_LOG_MB: u32 = 16;
/// Bytes of the log block of one of its commits.
const WIDE_BLOCK_BYTES: usize = 7_680;
/// The time limit of a measurement of the longest commit, however slow the device.
const LONGEST_SECONDS: u32 = 20;

/// One row.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Row {
    Durable,
    Delayed,
    Batch,
    Sequence,
    SequenceByDefault,
    Doctor,
    OutlivingCache,
    Growth,
    LargeGrowth,
    Vlfs,
    VlfRestart,
    Readers,
    Writers,
}

/// The peer of a row, if it is not Hardpan itself.
struct Others {
    device: Device,
    postgres: Option<Postgres>,
}

impl Row {
    const ALL: [Row; 13] = [
        Row::Durable,
        Row::Delayed,
        Row::Batch,
        Row::Sequence,
        Row::SequenceByDefault,
        Row::Doctor,
        Row::OutlivingCache,
        Row::Growth,
        Row::LargeGrowth,
        Row::Vlfs,
        Row::VlfRestart,
        Row::Readers,
        Row::Writers,
    ];

    fn needs_postgres(self) -> bool {
        matches!(self, Row::Delayed | Row::Batch)
    }

    /// The goal of the ratio.
    fn goal(self) -> &'static str {
        match self {
            Row::Durable | Row::OutlivingCache => "at least 0.97",
            Row::Delayed => "at least 3",
            Row::Batch => "at least 35",
            Row::Sequence => "at most 1.2",
            Row::SequenceByDefault => "none: a flush for 50 values",
            Row::Doctor => "over 0.97",
            Row::Growth | Row::LargeGrowth => "the device's longest write, 3 times at most",
            Row::Vlfs | Row::VlfRestart => "under 1.10",
            Row::Readers => "at least 3",
            Row::Writers => "at least 0.9",
        }
    }

    /// The quantity that it compares, with the unit.
    fn name(self, scale: &Scale) -> String {
        match self {
            Row::Durable => format!("loop: {} durable commits / raw device, 1/s", scale.durable),
            Row::Delayed => format!("loop: {} delayed commits / PostgreSQL, 1/s", scale.delayed),
            Row::Batch => {
                format!("loop: {} commits with COMMIT_ACK = BATCH / PostgreSQL, durable, 1/s", scale.delayed)
            }
            Row::Sequence => format!(
                "sequence: {} values by SELECT INTO, CACHE 50 hardened ahead / CACHE 1000000, s",
                scale.rows
            ),
            Row::SequenceByDefault => {
                format!("sequence: {} values by SELECT INTO, CACHE 50 / CACHE 1000000, s", scale.rows)
            }
            Row::Doctor => {
                "driver: durable inserts, 8 sessions, doctor and views each second / nobody looks, 1/s".into()
            }
            Row::OutlivingCache => format!(
                "loop: {} delayed commits, cache outlives the process / ordinary cache, 1/s",
                scale.delayed
            ),
            Row::Growth => "loop: durable commits of 7 KB, longest, log grows / need not grow, ms".into(),
            Row::LargeGrowth => {
                "loop: durable commits of 7 KB, longest, log grows by 1 GB / need not grow, ms".into()
            }
            Row::Vlfs => {
                format!("loop: {} times two updates of 8 KB, 8000 VLFs / 20, s", article_loops(scale))
            }
            Row::VlfRestart => {
                format!("restart, {} times two updates to undo, 8000 VLFs / 20, s", article_loops(scale))
            }
            Row::Readers => {
                "readers beside 8 writers, READ_COMMITTED_SNAPSHOT / locking, sums of a table, 1/s".into()
            }
            Row::Writers => {
                "8 writers beside readers, READ_COMMITTED_SNAPSHOT / locking, transactions, 1/s".into()
            }
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
    let is_wanted = |row: &Row| only.is_none_or(|text| row.name(scale).contains(text));
    let mut rows: Vec<Row> = Row::ALL.into_iter().filter(is_wanted).collect();
    let folder = Postgres::installed().filter(|_| rows.iter().any(|row| row.needs_postgres()));
    let postgres =
        folder.map(|folder| Postgres::start(&folder, directory, "postgres-log", false)).transpose()?;
    if postgres.is_none() {
        rows.retain(|row| !row.needs_postgres());
        println!("PostgreSQL: not installed, or no row needs it");
    }
    let mut others = Others { device: Device::open(directory, scale.durable)?, postgres };
    let mut results: Vec<Vec<(f64, f64)>> = vec![Vec::new(); rows.len()];
    let (mut device_ms, mut longest_ms) = (Vec::new(), Vec::new());
    let looks_for_longest = rows.iter().any(|row| matches!(row, Row::Growth | Row::LargeGrowth));
    for round in 0..rounds {
        device_ms.push(1_000.0 / measure_other(&mut others.device, Work::RawDevice, scale)?);
        if looks_for_longest {
            machine::settle(settle);
            longest_ms.push(Device::longest_ms(directory, wide_rows(scale), WIDE_BLOCK_BYTES)?);
        }
        for (at, row) in rows.iter().enumerate() {
            let mut one = |has_feature: bool| {
                machine::settle(settle);
                measure(*row, has_feature, directory, scale, &mut others)
            };
            // Alternating: the first in one round is the last in the next.
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
    println!("\nA durable write of 512 bytes takes the raw device {device_ms:.3} ms.");
    let longest_ms = if looks_for_longest { median(longest_ms) } else { f64::NAN };
    if looks_for_longest {
        let count = wide_rows(scale);
        println!(
            "The longest of {count} durable writes of {WIDE_BLOCK_BYTES} bytes takes it {longest_ms:.3} ms."
        );
    }
    println!();
    println!("| one / other | one | other | ratio | goal |\n|---|---|---|---|---|");
    for (row, results) in rows.iter().zip(&results) {
        let of = |part: fn(&(f64, f64)) -> f64| median(results.iter().map(part).collect());
        let ratio = of(|(with, without)| with / without);
        let more = match row {
            Row::Growth | Row::LargeGrowth => {
                format!(" ({:.1} of the device's longest)", of(|result| result.0) / longest_ms)
            }
            _ => String::new(),
        };
        println!(
            "| {} | {:.3}{more} | {:.3} | {ratio:.3} | {} |",
            row.name(scale),
            of(|result| result.0),
            of(|result| result.1),
            row.goal()
        );
    }
    Ok(())
}

fn measure_other(engine: &mut dyn Engine, work: Work, scale: &Scale) -> Result<f64, String> {
    let sample = engine.measure(work, scale).ok_or_else(|| format!("{} takes no part", engine.name()))??;
    Ok(sample.value)
}

/// One of the two ways of a row: `is_one` names the first.
fn measure(
    row: Row,
    is_one: bool,
    directory: &Path,
    scale: &Scale,
    others: &mut Others,
) -> Result<f64, String> {
    let start =
        |log_mb: u32, arguments: &[&str]| Hardpan::start_with(directory, "hardpan-log", log_mb, arguments);
    let mut beside = |work: Work, other: Work| match (is_one, &mut others.postgres) {
        (true, _) => measure_other(&mut start(LOG_MB, &[])?, work, scale),
        (false, _) if other == Work::RawDevice => measure_other(&mut others.device, other, scale),
        (false, Some(postgres)) => measure_other(postgres, other, scale),
        (false, None) => Err("PostgreSQL is not installed".to_owned()),
    };
    match row {
        Row::Durable => beside(Work::Durable, Work::RawDevice),
        Row::Delayed => beside(Work::Delayed, Work::Delayed),
        Row::Batch => beside(Work::Batch, Work::Durable),
        Row::Sequence => {
            let cache = if is_one { "CACHE 50 WITH (HARDEN_AHEAD = ON)" } else { "CACHE 1000000" };
            sequence(&start(LOG_MB, &[])?, cache, scale)
        }
        Row::SequenceByDefault => {
            sequence(&start(LOG_MB, &[])?, if is_one { "CACHE 50" } else { "CACHE 1000000" }, scale)
        }
        Row::Doctor => watched(&start(LOG_MB, &[])?, is_one, scale),
        Row::OutlivingCache => {
            let cache: &[&str] = if is_one { &[] } else { &["--log-cache", "OFF"] };
            let hardpan = start(LOG_MB, cache)?;
            let body = "BEGIN TRAN; INSERT INTO t1 VALUES (@i); COMMIT WITH (DELAYED_DURABILITY = ON);";
            Ok(scale.delayed as f64 / hardpan.timed(&loop_of(scale.delayed, body))?)
        }
        Row::Growth => longest_commit(&start(if is_one { SMALL_LOG_MB } else { LOG_MB }, &[])?, scale),
        Row::LargeGrowth => {
            let hardpan = start(if is_one { SMALL_LOG_MB } else { LOG_MB }, &[])?;
            let step = format!("ALTER DATABASE {DATABASE} MODIFY FILE (NAME = l, FILEGROWTH = 1GB)");
            hardpan.connect("master")?.batch(&step)?;
            longest_commit(&hardpan, scale)
        }
        Row::Vlfs => {
            let hardpan = start(1, &[])?;
            let mut connection = article_log(&hardpan, is_one)?;
            let began = Instant::now();
            connection.batch(&format!("{}; COMMIT", article_loop(scale)))?;
            Ok(began.elapsed().as_secs_f64())
        }
        Row::VlfRestart => {
            let mut hardpan = start(1, &[])?;
            let mut connection = article_log(&hardpan, is_one)?;
            connection.batch(&article_loop(scale))?;
            // Durable, though its transaction is open.
            hardpan.connect(DATABASE)?.batch("INSERT t1 VALUES (0)")?;
            hardpan.restart_after_kill("SELECT COUNT(*) FROM t1")
        }
        Row::Readers => Ok(readers::run(&start(LOG_MB, &[])?, is_one, scale.seconds * 2.0)?.reads),
        Row::Writers => Ok(readers::run(&start(LOG_MB, &[])?, is_one, scale.seconds * 2.0)?.transactions),
    }
}

/// Article 004: 8,000 VLFs by steps of 1 MB, or 20 by steps of 1,000 MB, and its table with one row.
fn article_log(hardpan: &Hardpan, is_many: bool) -> Result<Connection, String> {
    let (step_mb, log_mb) = if is_many { (1, 2000) } else { (1000, 2001) };
    let mut connection = hardpan.connect(DATABASE)?;
    connection.batch(&format!(
        "ALTER DATABASE {DATABASE} SET VLF_RULE = PRE_2014;
         DECLARE @mb int = 1 + {step_mb}, @grow nvarchar(200);
         WHILE @mb <= {log_mb} BEGIN
           SET @grow = CONCAT(N'ALTER DATABASE {DATABASE} MODIFY FILE (NAME = l, SIZE = ', @mb, N'MB)');
           EXEC (@grow);
           SET @mb += {step_mb}
         END"
    ))?;
    let count = connection.batch("SELECT COUNT(*) FROM sys.dm_db_log_info(DB_ID())")?;
    let wanted = if is_many { 8_000 } else { 20 };
    match count.and_then(|value| value.as_i64()) {
        Some(count) if count == wanted => {}
        other => return Err(format!("{other:?} VLFs, not {wanted}")),
    }
    connection.batch(
        "CREATE TABLE vlf_test (a int identity(1,1) not null, b char(8000) not null, c int not null);
         INSERT vlf_test VALUES (REPLICATE('a', 8000), 0)",
    )?;
    Ok(connection)
}

/// The article's 39,999 iterations, or a tenth of them.
fn article_loops(scale: &Scale) -> u32 {
    if scale.rows < Scale::FULL.rows { 4_000 } else { 39_999 }
}

fn article_loop(scale: &Scale) -> String {
    format!(
        "SET NOCOUNT ON; BEGIN TRAN; DECLARE @x int = 0, @a char(8000), @b char(8000);
         SET @a = REPLICATE('a', 8000); SET @b = REPLICATE('b', 8000);
         WHILE @x <> {} BEGIN
           UPDATE vlf_test SET b = @a, c = @x WHERE a = 1;
           UPDATE vlf_test SET b = @b WHERE a = 1;
           SET @x = @x + 1
         END",
        article_loops(scale)
    )
}

fn sequence(hardpan: &Hardpan, cache: &str, scale: &Scale) -> Result<f64, String> {
    hardpan.connect(DATABASE)?.batch(&format!("CREATE SEQUENCE seq AS bigint START WITH 1 {cache}"))?;
    hardpan
        .connect(DATABASE)?
        .batch("CREATE TABLE digits (d int); INSERT digits VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)")?;
    let digits: Vec<String> = (1..=scale.rows.ilog10()).map(|at| format!("digits d{at}")).collect();
    let query = digits.join(" CROSS JOIN ");
    hardpan.timed(&format!("SELECT NEXT VALUE FOR seq AS n INTO copied FROM {query}"))
}

/// Commits a second of 8 sessions, while another session runs the doctor and reads the views of the log each second.
fn watched(hardpan: &Hardpan, is_watched: bool, scale: &Scale) -> Result<f64, String> {
    let is_over = AtomicBool::new(false);
    let poll = || -> Result<(), String> {
        let mut connection = hardpan.connect(DATABASE)?;
        while is_watched && !is_over.load(Ordering::Acquire) {
            // The doctor observes for a second.
            connection.batch("EXEC sp_log_doctor 1")?;
            for view in [
                "sys.dm_os_wait_stats",
                "sys.dm_os_performance_counters",
                "sys.dm_io_virtual_file_stats(NULL, NULL)",
                "sys.dm_io_pending_io_requests",
                "sys.dm_db_log_stats(DB_ID())",
                "sys.dm_db_log_limits",
                "sys.dm_db_log_limit_sessions",
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
        let scale = Scale { seconds: (scale.seconds * 2.0).max(3.0), ..*scale };
        let sample = hardpan.sessions(Statement::Insert, 8, &scale);
        is_over.store(true, Ordering::Release);
        watcher.join().map_err(|_| "the watcher panicked".to_owned())??;
        Ok(sample?.value)
    })
}

/// The number of rows of 7 KB.
fn wide_rows(scale: &Scale) -> u64 {
    if scale.rows < Scale::FULL.rows { 6_000 } else { 30_000 }
}

/// The longest of many durable commits of 7 KB, in ms, by the server's clock; 200 MB of log, or less on a slow device.
fn longest_commit(hardpan: &Hardpan, scale: &Scale) -> Result<f64, String> {
    let count = wide_rows(scale);
    let mut connection = hardpan.connect(DATABASE)?;
    connection.batch("CREATE TABLE wide (i int NOT NULL, b char(7000) NOT NULL DEFAULT 'x')")?;
    let longest = connection.batch(&format!(
        "SET NOCOUNT ON; DECLARE @i int = 0, @longest bigint = 0, @took bigint, @began datetime2;
         DECLARE @end datetime2 = DATEADD(second, {LONGEST_SECONDS}, SYSUTCDATETIME());
         WHILE @i < {count} AND SYSUTCDATETIME() < @end BEGIN
           SET @began = SYSUTCDATETIME(); INSERT wide (i) VALUES (@i);
           SET @took = DATEDIFF_BIG(mcs, @began, SYSUTCDATETIME());
           IF @took > @longest SET @longest = @took;
           SET @i += 1
         END; SELECT @longest"
    ))?;
    let longest_us = longest.and_then(|value| value.as_i64()).ok_or("no longest commit")?;
    Ok(longest_us as f64 / 1_000.0)
}
