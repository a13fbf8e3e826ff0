//! MariaDB, when it is installed: a private server on a port of its own, InnoDB, every commit flushed, binary log off
//! (Debian's default).

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::machine::{self, Directory, Process};
use crate::sessions::{self, Wire};
use crate::work::{Engine, Load, Sample, Scale, Statement, Work};

const PROCEDURES: [&str; 5] = [
    "create database bench",
    "create table bench.t1(col1 int not null) engine=innodb",
    "create procedure bench.small(n int) begin declare i int default 1; \
     while i <= n do start transaction; insert into bench.t1 values(i); commit; set i = i + 1; end while; end",
    "create procedure bench.big(n int) begin declare i int default 1; start transaction; \
     while i <= n do insert into bench.t1 values(i); set i = i + 1; end while; commit; end",
    "create procedure bench.emptyloop(n int) begin declare i int default 1; \
     while i <= n do set i = i + 1; end while; end",
];
const FLUSHED: &str = "set global innodb_flush_log_at_trx_commit = 1";
const DELAYED: &str = "set global innodb_flush_log_at_trx_commit = 0";
/// For the restart test: only the crash ends the writes.
const SETTINGS_RESTART: [&str; 3] = [
    "--innodb-max-dirty-pages-pct=99.9",
    "--innodb-max-dirty-pages-pct-lwm=99.9",
    "--innodb-adaptive-flushing=0",
];

/// A running server.
pub struct Mariadb {
    program: PathBuf,
    port: u16,
    server: Process,
    directory: Directory,
    work: PathBuf,
}

impl Mariadb {
    /// The paths of the server's program and of the one that creates its directory, if both exist.
    pub fn installed() -> Option<PathBuf> {
        machine::find_program("mariadb-install-db", &[])?;
        machine::find_program("mariadbd", &["/usr/sbin".into(), "/usr/libexec".into()])
    }

    /// Its version text.
    pub fn version(program: &Path) -> String {
        machine::run(Command::new(program).arg("--version")).unwrap_or_default().trim().to_string()
    }

    /// Creates a data directory below `work`, starts the server and creates the table.
    pub fn start(program: &Path, work: &Path, name: &str) -> Result<Mariadb, String> {
        let directory = Directory::create(work.join(name))?;
        machine::run(Command::new("mariadb-install-db").args([
            "--no-defaults",
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
            "--user=root",
            &format!("--datadir={}", directory.0.join("data").display()),
        ]))?;
        let port = machine::free_port();
        let server = launch(program, &directory.0, port, &[])?;
        let mariadb = Mariadb { program: program.into(), port, server, directory, work: work.into() };
        mariadb.wait_ready(Instant::now())?;
        let mut client = mariadb.connect()?;
        PROCEDURES.iter().try_for_each(|text| client.query(text))?;
        Ok(mariadb)
    }

    fn connect(&self) -> Result<Client, String> {
        Client::open(self.port)
    }

    fn wait_ready(&self, began: Instant) -> Result<f64, String> {
        loop {
            if self.connect().and_then(|mut client| client.query("do 1")).is_ok() {
                return Ok(began.elapsed().as_secs_f64());
            }
            if began.elapsed() > Duration::from_secs(120) {
                return Err("MariaDB does not start".into());
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn timed(&self, durability: &str, text: &str) -> Result<f64, String> {
        let mut client = self.connect()?;
        client.query("truncate table bench.t1")?;
        client.query(durability)?;
        let began = Instant::now();
        client.query(text)?;
        let seconds = began.elapsed().as_secs_f64();
        client.query(FLUSHED)?;
        Ok(seconds)
    }

    fn sessions(&self, count: usize, seconds: f64) -> Result<Load, String> {
        self.connect()?.query("truncate table bench.t1")?;
        sessions::run(Wire::MySql, count, seconds, || {
            let mut client = self.connect()?;
            let request = client.prepare("insert into bench.t1 values(?)")?;
            Ok((client.stream, request))
        })
    }

    fn restart_after_crash(&self, transactions: u64) -> Result<f64, String> {
        let mut victim = Mariadb::start(&self.program, &self.work, "mariadb-restart")?;
        victim.server.terminate();
        victim.server = launch(&victim.program, &victim.directory.0, victim.port, &SETTINGS_RESTART)?;
        victim.wait_ready(Instant::now())?;
        let mut client = victim.connect()?;
        client.query(DELAYED)?;
        client.query(&format!("call bench.small({transactions})"))?;
        client.query(FLUSHED)?;
        client.query("insert into bench.t1 values(0)")?;
        victim.server.kill();
        machine::settle(Duration::from_secs(10));
        let began = Instant::now();
        victim.server = launch(&victim.program, &victim.directory.0, victim.port, &[])?;
        victim.wait_ready(began)
    }
}

impl Engine for Mariadb {
    fn name(&self) -> &'static str {
        "MariaDB"
    }

    fn measure(&mut self, work: Work, scale: &Scale) -> Option<Result<Sample, String>> {
        let rate = |count: u64, durability: &str, name: &str| {
            let seconds = self.timed(durability, &format!("call bench.{name}({count})"));
            seconds.map(|seconds| Sample::rate(count as f64 / seconds))
        };
        Some(match work {
            Work::Durable => rate(scale.durable, FLUSHED, "small"),
            Work::Delayed => rate(scale.delayed, DELAYED, "small"),
            Work::OneTransaction => rate(scale.rows, FLUSHED, "big"),
            Work::EmptyLoop => rate(scale.iterations, FLUSHED, "emptyloop"),
            Work::Sessions(Statement::Insert, count) if !scale.is_delayed => {
                self.sessions(count, scale.seconds).map(Sample::load)
            }
            Work::Sessions(..) => return None,
            Work::Restart => self.restart_after_crash(scale.restart).map(Sample::seconds),
            Work::RawDevice | Work::Start | Work::Batch => return None,
        })
    }
}

fn launch(program: &Path, directory: &Path, port: u16, more: &[&str]) -> Result<Process, String> {
    let log = std::fs::File::create(directory.join("bench.log")).map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command
        .args(["--no-defaults", "--user=root", "--bind-address=127.0.0.1", "--skip-name-resolve"])
        .args(["--skip-log-bin", "--max-connections=500", "--innodb-buffer-pool-size=1G"])
        .args(["--innodb-log-file-size=2G", "--innodb-flush-log-at-trx-commit=1"])
        .arg(format!("--port={port}"))
        .arg(format!("--datadir={}", directory.join("data").display()))
        .arg(format!("--socket={}", directory.join("socket").display()))
        .args(more)
        .stdout(Stdio::null())
        .stderr(log);
    command.spawn().map(Process).map_err(|error| error.to_string())
}

/// A minimal client of MariaDB's protocol, for statements without rows.
struct Client {
    stream: TcpStream,
}

impl Client {
    fn open(port: u16) -> Result<Client, String> {
        let stream = TcpStream::connect(("127.0.0.1", port)).map_err(|error| error.to_string())?;
        stream.set_nodelay(true).map_err(|error| error.to_string())?;
        let mut client = Client { stream };
        client.receive()?;
        // PROTOCOL_41, SECURE_CONNECTION, PLUGIN_AUTH, LONG_PASSWORD, TRANSACTIONS; utf8; root with an empty password.
        let mut login = (0x0008_A201_u32).to_le_bytes().to_vec();
        login.extend_from_slice(&(1_u32 << 24).to_le_bytes());
        login.push(33);
        login.extend_from_slice(&[0; 23]);
        login.extend_from_slice(b"root\0\0mysql_native_password\0");
        client.send(1, &login)?;
        client.accept()?;
        Ok(client)
    }

    fn query(&mut self, text: &str) -> Result<(), String> {
        self.send(0, &[&[3], text.as_bytes()].concat())?;
        self.accept().map(|_| ())
    }

    /// Prepares a statement with one parameter; returns the packet of one execution, with the value in its last four bytes.
    fn prepare(&mut self, text: &str) -> Result<Vec<u8>, String> {
        self.send(0, &[&[0x16], text.as_bytes()].concat())?;
        let answer = self.accept()?;
        let id: [u8; 4] = answer.get(1..5).and_then(|id| id.try_into().ok()).ok_or("no statement id")?;
        // One parameter: its description and the end of the descriptions follow.
        self.receive()?;
        self.receive()?;
        let mut execute = vec![0x17];
        execute.extend_from_slice(&id);
        // No cursor, once, no NULLs, types follow: int.
        execute.extend_from_slice(&[0, 1, 0, 0, 0, 0, 1, 3, 0]);
        execute.extend_from_slice(&0_i32.to_le_bytes());
        let mut packet = (execute.len() as u32).to_le_bytes().to_vec();
        packet.extend_from_slice(&execute);
        Ok(packet)
    }

    fn send(&mut self, number: u8, payload: &[u8]) -> Result<(), String> {
        let length = payload.len() as u32 | u32::from(number) << 24;
        let packet = [&length.to_le_bytes(), payload].concat();
        self.stream.write_all(&packet).map_err(|error| error.to_string())
    }

    fn receive(&mut self) -> Result<Vec<u8>, String> {
        let mut head = [0; 4];
        self.stream.read_exact(&mut head).map_err(|error| error.to_string())?;
        let mut payload =
            vec![0; usize::from(head[0]) | usize::from(head[1]) << 8 | usize::from(head[2]) << 16];
        self.stream.read_exact(&mut payload).map_err(|error| error.to_string())?;
        Ok(payload)
    }

    /// An OK packet, or the error.
    fn accept(&mut self) -> Result<Vec<u8>, String> {
        let payload = self.receive()?;
        match payload.first() {
            Some(0) => Ok(payload),
            Some(0xFF) => Err(String::from_utf8_lossy(payload.get(3..).unwrap_or_default()).into_owned()),
            other => Err(format!("an unexpected answer of type {other:?}")),
        }
    }
}
