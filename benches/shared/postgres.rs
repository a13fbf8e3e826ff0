//! PostgreSQL, when it is installed: a private cluster on a port of its own, every durability setting at its default.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::machine::{self, Directory, Process};
use super::work::{Engine, KEYS, Load, Sample, Scale, Statement, Work};

/// Memory as for a small server; checkpoint intervals like Hardpan's under the same load; the rest is default.
const SETTINGS: &str = "shared_buffers = 1GB\nmax_wal_size = 4GB\ncheckpoint_timeout = 15min\nmax_connections = 400\n\
    listen_addresses = '127.0.0.1'\n";
/// For the restart test: only the crash ends the writes.
const SETTINGS_RESTART: &str = "max_wal_size = 40GB\ncheckpoint_timeout = 1d\nautovacuum = off\n";
const PROCEDURES: &str = "create table t1(col1 int not null);
    create procedure small(n int) language plpgsql as $$ begin for i in 1..n loop insert into t1 values(i); commit; end loop; end $$;
    create procedure big(n int) language plpgsql as $$ begin for i in 1..n loop insert into t1 values(i); end loop; end $$;
    create procedure empty(n int) language plpgsql as $$ declare i int := 1; begin while i <= n loop i := i + 1; end loop; end $$";

/// A running cluster.
pub struct Postgres {
    folder: PathBuf,
    port: u16,
    server: Process,
    directory: Directory,
    work: PathBuf,
}

impl Postgres {
    /// The folder of the programs, newest version first.
    pub fn installed() -> Option<PathBuf> {
        let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
        let mut folders: Vec<PathBuf> = versions.map(|version| version.path().join("bin")).collect();
        folders.sort();
        folders.reverse();
        let postgres = machine::find_program("postgres", &folders)?;
        let folder = postgres.parent()?.to_path_buf();
        ["initdb", "pgbench"].iter().all(|name| folder.join(name).is_file()).then_some(folder)
    }

    /// Its version text.
    pub fn version(folder: &Path) -> String {
        machine::run(Command::new(folder.join("postgres")).arg("--version"))
            .unwrap_or_default()
            .trim()
            .to_string()
    }

    /// Creates a cluster below `work`, starts it and creates the table.
    pub fn start(folder: &Path, work: &Path, name: &str, for_restart: bool) -> Result<Postgres, String> {
        let directory = Directory::create(work.join(name))?;
        give_to_postgres(&directory.0)?;
        let cluster = directory.0.join("data");
        machine::run(as_postgres(folder.join("initdb")).arg("-D").arg(&cluster).args([
            "--no-locale",
            "-E",
            "UTF8",
            "-A",
            "trust",
            "-U",
            "postgres",
        ]))?;
        let port = machine::free_port();
        let mut settings =
            format!("{SETTINGS}port = {port}\nunix_socket_directories = '{}'\n", directory.0.display());
        settings.push_str(if for_restart { SETTINGS_RESTART } else { "" });
        let file = cluster.join("postgresql.conf");
        let text = std::fs::read_to_string(&file).map_err(|error| error.to_string())?;
        std::fs::write(&file, text + &settings).map_err(|error| error.to_string())?;
        let server = launch(folder, &cluster)?;
        let postgres = Postgres { folder: folder.into(), port, server, directory, work: work.into() };
        postgres.wait_ready(Instant::now())?;
        postgres.connect()?.query(PROCEDURES)?;
        Ok(postgres)
    }

    /// A session of its own.
    pub fn connect(&self) -> Result<Client, String> {
        Client::open(self.port)
    }

    /// Waits for the first answered query; returns the seconds since `began`.
    fn wait_ready(&self, began: Instant) -> Result<f64, String> {
        loop {
            if self.connect().and_then(|mut client| client.query("select 1")).is_ok() {
                return Ok(began.elapsed().as_secs_f64());
            }
            if began.elapsed() > Duration::from_secs(120) {
                return Err("PostgreSQL does not start".into());
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn timed(&self, prepare: &str, text: &str) -> Result<f64, String> {
        let mut client = self.connect()?;
        client.query("truncate table t1")?;
        client.query("checkpoint")?;
        if !prepare.is_empty() {
            client.query(prepare)?;
        }
        let began = Instant::now();
        client.query(text)?;
        Ok(began.elapsed().as_secs_f64())
    }

    /// pgbench with a prepared statement, the cheapest client available.
    fn sessions(&self, statement: Statement, count: usize, scale: &Scale) -> Result<Load, String> {
        let mut client = self.connect()?;
        client.query("truncate table t1")?;
        client.query("drop table if exists keyed")?;
        if statement.is_by_key() {
            client.query(
                "create table keyed (id int not null primary key, a int not null, name varchar(40) not null)",
            )?;
            client.query(&format!(
                "insert into keyed select n, 0, 'the name of number ' || n from generate_series(1, {KEYS}) n"
            ))?;
            client.query("vacuum analyze keyed")?;
        }
        client.query("checkpoint")?;
        let script = self.work.join("statement.sql");
        let text = statement.text(|_| ":v".into());
        std::fs::write(&script, format!("\\set v random(1, {KEYS})\n{text};\n"))
            .map_err(|error| error.to_string())?;
        let prefix = self.work.join("pgbench");
        let whole_seconds = (scale.seconds.ceil() as u64).max(3);
        let output = machine::run(
            Command::new(self.folder.join("pgbench"))
                .env("PGOPTIONS", if scale.is_delayed { "-c synchronous_commit=off" } else { "" })
                .args(["-h", "127.0.0.1", "-U", "postgres", "-n", "-M", "prepared", "-l"])
                .args([
                    "-p",
                    &self.port.to_string(),
                    "-c",
                    &count.to_string(),
                    "-j",
                    &count.min(2).to_string(),
                ])
                .args(["-T", &whole_seconds.to_string()])
                .arg(format!("--log-prefix={}", prefix.display()))
                .arg("-f")
                .arg(&script)
                .arg("postgres"),
        )?;
        let rate = output.lines().find_map(|line| line.strip_prefix("tps = "));
        let rate =
            rate.and_then(|text| text.split(' ').next()?.parse().ok()).ok_or("pgbench told no rate")?;
        let mut latencies_us: Vec<u32> = Vec::new();
        for entry in std::fs::read_dir(&self.work).map_err(|error| error.to_string())?.flatten() {
            if entry.file_name().to_string_lossy().starts_with("pgbench.") {
                let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
                latencies_us
                    .extend(text.lines().filter_map(|line| line.split(' ').nth(2)?.parse::<u32>().ok()));
                let _ = std::fs::remove_file(entry.path());
            }
        }
        if latencies_us.is_empty() {
            return Err("pgbench left no log".into());
        }
        latencies_us.sort_unstable();
        let at =
            |share: f64| f64::from(latencies_us[((latencies_us.len() - 1) as f64 * share) as usize]) / 1e3;
        Ok(Load { rate, p50_ms: at(0.5), p99_ms: at(0.99) })
    }

    /// Kills all processes of the cluster, as a crash of the machine would.
    fn crash(&mut self) {
        let children = format!("/proc/{0}/task/{0}/children", self.server.0.id());
        let children = std::fs::read_to_string(children).unwrap_or_default();
        machine::signal("STOP", self.server.0.id());
        children
            .split_whitespace()
            .filter_map(|child| child.parse().ok())
            .for_each(|child| machine::signal("KILL", child));
        self.server.kill();
        std::thread::sleep(Duration::from_millis(300));
    }

    fn restart_after_crash(&self, transactions: u64) -> Result<f64, String> {
        let mut victim = Postgres::start(&self.folder, &self.work, "postgres-restart", true)?;
        let mut client = victim.connect()?;
        client.query("checkpoint")?;
        client.query("set synchronous_commit = off")?;
        client.query(&format!("call small({transactions})"))?;
        client.query("set synchronous_commit = on")?;
        client.query("insert into t1 values(0)")?;
        victim.crash();
        machine::settle(Duration::from_secs(10));
        let began = Instant::now();
        victim.server = launch(&victim.folder, &victim.directory.0.join("data"))?;
        victim.wait_ready(began)
    }
}

impl Engine for Postgres {
    fn name(&self) -> &'static str {
        "PostgreSQL"
    }

    fn measure(&mut self, work: Work, scale: &Scale) -> Option<Result<Sample, String>> {
        let off = "set synchronous_commit = off";
        let rate = |count: u64, seconds: Result<f64, String>| seconds.map(|s| Sample::rate(count as f64 / s));
        Some(match work {
            Work::Durable | Work::Batch => {
                rate(scale.durable, self.timed("", &format!("call small({})", scale.durable)))
            }
            Work::Delayed => rate(scale.delayed, self.timed(off, &format!("call small({})", scale.delayed))),
            Work::OneTransaction => rate(scale.rows, self.timed("", &format!("call big({})", scale.rows))),
            Work::EmptyLoop => {
                rate(scale.iterations, self.timed("", &format!("call empty({})", scale.iterations)))
            }
            Work::Sessions(statement, count) => self.sessions(statement, count, scale).map(Sample::load),
            Work::Restart => self.restart_after_crash(scale.restart).map(Sample::seconds),
            Work::RawDevice | Work::Start => return None,
        })
    }
}

fn launch(folder: &Path, cluster: &Path) -> Result<Process, String> {
    let log = std::fs::File::create(cluster.join("bench.log")).map_err(|error| error.to_string())?;
    let mut command = as_postgres(folder.join("postgres"));
    command.arg("-D").arg(cluster).stdout(Stdio::null()).stderr(log);
    command.spawn().map(Process).map_err(|error| error.to_string())
}

/// PostgreSQL refuses to run as root: its own account is used then.
fn account() -> Option<(u32, u32)> {
    let me = std::fs::metadata("/proc/self").ok().map(|data| std::os::unix::fs::MetadataExt::uid(&data))?;
    let accounts = std::fs::read_to_string("/etc/passwd").ok().filter(|_| me == 0)?;
    let line = accounts.lines().find(|line| line.starts_with("postgres:"))?;
    let mut words = line.split(':').skip(2);
    Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
}

fn as_postgres(program: PathBuf) -> Command {
    let mut command = Command::new(program);
    command.current_dir("/");
    if let Some((user, group)) = account() {
        command.uid(user).gid(group);
    }
    command
}

fn give_to_postgres(directory: &Path) -> Result<(), String> {
    let Some((user, group)) = account() else { return Ok(()) };
    std::os::unix::fs::chown(directory, Some(user), Some(group)).map_err(|error| error.to_string())
}

/// Rows of text; `None` is NULL.
pub type Rows = Vec<Vec<Option<String>>>;

/// The values of a DataRow message.
fn data_row(body: &[u8]) -> Option<Vec<Option<String>>> {
    let (count, mut rest) = body.split_first_chunk::<2>()?;
    let mut values = Vec::new();
    for _ in 0..u16::from_be_bytes(*count) {
        let (length, behind) = rest.split_first_chunk::<4>()?;
        let length = i32::from_be_bytes(*length);
        let (value, behind) = behind.split_at_checked(length.max(0) as usize)?;
        values.push((length >= 0).then(|| String::from_utf8_lossy(value).into_owned()));
        rest = behind;
    }
    Some(values)
}

/// A minimal client of PostgreSQL's protocol, for one statement after another.
pub struct Client {
    stream: TcpStream,
}

impl Client {
    fn open(port: u16) -> Result<Client, String> {
        let stream = TcpStream::connect(("127.0.0.1", port)).map_err(|error| error.to_string())?;
        let mut client = Client { stream };
        let mut body = 196_608_u32.to_be_bytes().to_vec();
        body.extend_from_slice(b"user\0postgres\0database\0postgres\0\0");
        let mut packet = (body.len() as u32 + 4).to_be_bytes().to_vec();
        packet.extend_from_slice(&body);
        client.stream.write_all(&packet).map_err(|error| error.to_string())?;
        client.until_ready()?;
        Ok(client)
    }

    /// Runs statements; returns their rows as text.
    pub fn query(&mut self, text: &str) -> Result<Rows, String> {
        let mut packet = vec![b'Q'];
        packet.extend_from_slice(&(text.len() as u32 + 5).to_be_bytes());
        packet.extend_from_slice(text.as_bytes());
        packet.push(0);
        self.stream.write_all(&packet).map_err(|error| error.to_string())?;
        self.until_ready()
    }

    /// Reads messages up to ReadyForQuery; an ErrorResponse is the result then.
    fn until_ready(&mut self) -> Result<Rows, String> {
        let mut result = Ok(Rows::new());
        loop {
            let mut head = [0; 5];
            if let Err(error) = self.stream.read_exact(&mut head) {
                return Err(error.to_string());
            }
            let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
            let mut body = vec![0; length.saturating_sub(4)];
            self.stream.read_exact(&mut body).map_err(|error| error.to_string())?;
            match head[0] {
                b'Z' => return result,
                b'E' => result = Err(String::from_utf8_lossy(&body).replace('\0', " ")),
                b'D' => {
                    if let Ok(rows) = &mut result {
                        rows.push(data_row(&body).ok_or("a row of PostgreSQL ends too soon")?);
                    }
                }
                _ => {}
            }
        }
    }
}
