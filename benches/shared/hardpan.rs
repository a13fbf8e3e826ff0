//! Hardpan as a user runs it: the server's process, over TDS.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::connection::Connection;
use super::machine::{self, Directory, Process};
use super::sessions::{self, Wire};
use super::work::{Engine, KEYS, Sample, Scale, Statement, Work};

const PASSWORD: &str = "Bench-0-password";
/// The database of the loops.
pub const DATABASE: &str = "bench";
/// Memory for pages, the same as the peers'.
const MEMORY_MB: &str = "1024";

/// A running server.
pub struct Hardpan {
    address: String,
    server: Process,
    directory: Directory,
    work: PathBuf,
}

impl Hardpan {
    /// Starts a server on an empty directory below `work` and creates the table, in a database whose log begins with
    /// `log_mb`.
    pub fn start(work: &Path, name: &str, log_mb: u32) -> Result<Hardpan, String> {
        Hardpan::start_with(work, name, log_mb, &[])
    }

    /// Starts it with more arguments for `serve`. The log grows by 64 MB, or by its first size when that is less.
    pub fn start_with(work: &Path, name: &str, log_mb: u32, arguments: &[&str]) -> Result<Hardpan, String> {
        let directory = Directory::create(work.join(name))?;
        let (address, server) = launch(&directory.0, arguments)?;
        let growth_mb = log_mb.min(64);
        let hardpan = Hardpan { address, server, directory, work: work.into() };
        hardpan.wait_ready("master", "SELECT 1", Instant::now())?;
        let mut connection = hardpan.connect("master")?;
        let file = |extension: &str| hardpan.directory.0.join("data").join(format!("{DATABASE}.{extension}"));
        connection.batch(&format!(
            "CREATE DATABASE {DATABASE} ON (NAME = d, FILENAME = '{}', SIZE = 64MB, FILEGROWTH = 64MB)
             LOG ON (NAME = l, FILENAME = '{}', SIZE = {log_mb}MB, FILEGROWTH = {growth_mb}MB)",
            file("mdf").display(),
            file("ldf").display(),
        ))?;
        connection.batch(&format!("ALTER DATABASE {DATABASE} SET DELAYED_DURABILITY = ALLOWED"))?;
        hardpan.connect(DATABASE)?.batch("CREATE TABLE t1 (col1 int NOT NULL)")?;
        Ok(hardpan)
    }

    /// A session of its own.
    pub fn connect(&self, database: &str) -> Result<Connection, String> {
        Connection::open(&self.address, PASSWORD, database)
    }

    fn wait_ready(&self, database: &str, query: &str, began: Instant) -> Result<f64, String> {
        loop {
            match self.connect(database).and_then(|mut connection| connection.batch(query)) {
                Ok(_) => return Ok(began.elapsed().as_secs_f64()),
                Err(error) if began.elapsed() > Duration::from_secs(120) => return Err(error),
                Err(_) => std::thread::sleep(Duration::from_millis(2)),
            }
        }
    }

    /// The time of a batch on the empty table, in seconds.
    pub fn timed(&self, text: &str) -> Result<f64, String> {
        let mut connection = self.connect(DATABASE)?;
        connection.batch("TRUNCATE TABLE t1; CHECKPOINT")?;
        let began = Instant::now();
        connection.batch(&format!("SET NOCOUNT ON; {text}"))?;
        Ok(began.elapsed().as_secs_f64())
    }

    /// Many sessions at once.
    pub fn sessions(&self, statement: Statement, count: usize, scale: &Scale) -> Result<Sample, String> {
        let mut connection = self.connect(DATABASE)?;
        let durability = if scale.is_delayed { "FORCED" } else { "ALLOWED" };
        connection.batch(&format!("ALTER DATABASE {DATABASE} SET DELAYED_DURABILITY = {durability}"))?;
        connection.batch("TRUNCATE TABLE t1; DROP TABLE IF EXISTS keyed")?;
        if statement.is_by_key() {
            connection.batch(
                "CREATE TABLE keyed (id int NOT NULL PRIMARY KEY, a int NOT NULL, name varchar(40) NOT NULL)",
            )?;
            connection.batch(&format!(
                "INSERT keyed SELECT value, 0, CONCAT('the name of number ', value) FROM GENERATE_SERIES(1, {KEYS})"
            ))?;
        }
        connection.batch("CHECKPOINT")?;
        let text = statement.text(|number| format!("@p{number}"));
        let load = sessions::run(Wire::Tds, count, scale.seconds, || {
            let mut connection = self.connect(DATABASE)?;
            let request = connection.prepare(&text, statement.parameters())?;
            Ok((connection.into_stream(), request))
        });
        connection.batch(&format!("ALTER DATABASE {DATABASE} SET DELAYED_DURABILITY = ALLOWED"))?;
        load.map(Sample::load)
    }

    /// The time from the second start on a new directory to the first answer; and the memory then.
    fn process_start(&self) -> Result<Sample, String> {
        let directory = Directory::create(self.work.join("hardpan-start"))?;
        // The first start creates the system databases and hashes the password; the second one is measured.
        let (address, mut server) = launch(&directory.0, &[])?;
        Self::first_answer(&address, Instant::now())?;
        server.terminate();
        machine::settle(Duration::from_secs(5));
        let began = Instant::now();
        let (address, server) = launch(&directory.0, &[])?;
        let seconds = Self::first_answer(&address, began)?;
        Ok(Sample { memory_mb: Some(machine::resident_mb(server.0.id())), ..Sample::seconds(seconds) })
    }

    fn first_answer(address: &str, began: Instant) -> Result<f64, String> {
        loop {
            let answer = Connection::open(address, PASSWORD, "master").and_then(|mut c| c.batch("SELECT 1"));
            match answer {
                Ok(_) => return Ok(began.elapsed().as_secs_f64()),
                Err(error) if began.elapsed() > Duration::from_secs(30) => return Err(error),
                Err(_) => std::thread::sleep(Duration::from_millis(1)),
            }
        }
    }

    /// Kills the server and starts it again; seconds until the first answer of a query in the database.
    pub fn restart_after_kill(&mut self, query: &str) -> Result<f64, String> {
        self.server.kill();
        machine::settle(Duration::from_secs(10));
        let began = Instant::now();
        (self.address, self.server) = launch(&self.directory.0, &[])?;
        self.wait_ready(DATABASE, query, began)
    }

    fn restart_after_crash(&self, transactions: u64) -> Result<f64, String> {
        // A log so large that no checkpoint becomes due.
        let mut victim = Hardpan::start(&self.work, "hardpan-restart", 2048)?;
        let mut connection = victim.connect(DATABASE)?;
        connection.batch("CHECKPOINT")?;
        connection.batch(&format!("SET NOCOUNT ON; {}", loop_of(transactions, DELAYED)))?;
        connection.batch("INSERT INTO t1 VALUES (0)")?;
        let seconds = victim.restart_after_kill("SELECT TOP (1) col1 FROM t1")?;
        let rows = victim.connect(DATABASE)?.batch("SELECT COUNT(*) FROM t1")?;
        match rows.and_then(|value| value.as_i64()) {
            Some(rows) if rows == transactions as i64 + 1 => {}
            other => return Err(format!("{other:?} rows after the restart, not {}", transactions + 1)),
        }
        let begun = std::fs::read_to_string(victim.directory.0.join("bench.log")).unwrap_or_default();
        let records = begun.lines().find_map(|line| {
            let rest = line.split_once("database bench: recovery begins: ")?.1;
            rest.split(' ').next()?.parse::<u64>().ok()
        });
        match records {
            Some(records) if records >= transactions * 3 => Ok(seconds),
            other => Err(format!("{other:?} records to recover: a checkpoint has come between")),
        }
    }
}

const DELAYED: &str = "BEGIN TRAN; INSERT INTO t1 VALUES (@i); COMMIT WITH (DELAYED_DURABILITY = ON);";

/// A loop in the server; `@i` is the counter.
pub fn loop_of(count: u64, body: &str) -> String {
    format!("DECLARE @i int = 1; WHILE @i <= {count} BEGIN {body} SET @i += 1; END")
}

impl Engine for Hardpan {
    fn name(&self) -> &'static str {
        "Hardpan"
    }

    fn measure(&mut self, work: Work, scale: &Scale) -> Option<Result<Sample, String>> {
        let rate =
            |count: u64, text: String| self.timed(&text).map(|seconds| Sample::rate(count as f64 / seconds));
        let insert = "INSERT INTO t1 VALUES (@i);";
        Some(match work {
            Work::Durable => rate(scale.durable, loop_of(scale.durable, insert)),
            Work::Delayed => rate(scale.delayed, loop_of(scale.delayed, DELAYED)),
            Work::Batch => {
                let text = format!("SET COMMIT_ACK = BATCH; {}", loop_of(scale.delayed, insert));
                rate(scale.delayed, text)
            }
            Work::OneTransaction => {
                rate(scale.rows, format!("BEGIN TRAN; {}; COMMIT", loop_of(scale.rows, insert)))
            }
            Work::EmptyLoop => {
                let count = scale.iterations;
                rate(count, format!("DECLARE @i int = 1; WHILE @i <= {count} SET @i += 1"))
            }
            Work::Sessions(statement, count) => self.sessions(statement, count, scale),
            Work::Start => self.process_start(),
            Work::Restart => self.restart_after_crash(scale.restart).map(Sample::seconds),
            Work::RawDevice => return None,
        })
    }
}

/// Starts the server on `directory`; does not wait for it.
fn launch(directory: &Path, arguments: &[&str]) -> Result<(String, Process), String> {
    let address = format!("127.0.0.1:{}", machine::free_port());
    let log = std::fs::File::create(directory.join("bench.log")).map_err(|error| error.to_string())?;
    let mut command = Command::new(env!("CARGO_BIN_EXE_hardpan"));
    command
        .args(["serve", "--listen", &address, "--memory", MEMORY_MB, "--data"])
        .arg(directory.join("data"))
        .args(arguments);
    if !arguments.contains(&"--log-cache") {
        let memory = machine::memory_beside(directory);
        std::fs::create_dir_all(&memory).map_err(|error| error.to_string())?;
        command.arg("--log-cache").arg(memory);
    }
    command.env("HARDPAN_SA_PASSWORD", PASSWORD).stdout(Stdio::null()).stderr(log);
    Ok((address, command.spawn().map(Process).map_err(|error| error.to_string())?))
}
