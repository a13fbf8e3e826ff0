//! The machine: its description, its load, processes and directories of the benchmark.

use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// One line about processor, memory and file system.
pub fn describe(directory: &Path) -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let field = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_string();
        line.split_once(':').map(|(_, value)| value.trim().to_string()).unwrap_or_default()
    };
    let cpus = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    format!(
        "{cpus} x {}, memory {}, Linux {}, {} on {}",
        field(&read("/proc/cpuinfo"), "model name"),
        field(&read("/proc/meminfo"), "MemTotal"),
        read("/proc/sys/kernel/osrelease").trim(),
        directory.display(),
        file_system(directory),
    )
}

/// The file system that holds `directory`.
pub fn file_system(directory: &Path) -> String {
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap_or_default();
    let mut best = (0, "unknown".to_string());
    for line in mounts.lines() {
        let mut words = line.split(' ');
        let (_, Some(at), Some(kind)) = (words.next(), words.next(), words.next()) else { continue };
        if directory.starts_with(at) && at.len() >= best.0 {
            best = (at.len(), kind.to_string());
        }
    }
    best.1
}

/// Waits, at most for `longest`, until the machine was four fifths idle for a fifth of a second; returns the share of
/// processor time in use in the last such interval.
pub fn settle(longest: Duration) -> f64 {
    let began = Instant::now();
    loop {
        let (idle, total) = processor_time();
        std::thread::sleep(Duration::from_millis(200));
        let (idle_later, total_later) = processor_time();
        let busy = 1.0 - (idle_later - idle) / (total_later - total).max(1.0);
        if busy < 0.2 || began.elapsed() > longest {
            return busy.max(0.0);
        }
    }
}

/// Idle and all processor time since the start, in ticks.
fn processor_time() -> (f64, f64) {
    let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let first = text.lines().next().unwrap_or_default();
    let ticks: Vec<f64> =
        first.split_whitespace().skip(1).take(8).filter_map(|word| word.parse().ok()).collect();
    (ticks.iter().skip(3).take(2).sum(), ticks.iter().sum())
}

/// Resident memory of a process, in MB.
pub fn resident_mb(process: u32) -> f64 {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kb| kb.parse::<f64>().ok()).unwrap_or(0.0) / 1024.0
}

/// A port that is free at the moment.
pub fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port of the loopback");
    listener.local_addr().expect("a bound address").port()
}

/// A process that ends when this value is dropped.
pub struct Process(pub Child);

impl Process {
    /// SIGKILL, and waits for the end.
    pub fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }

    /// SIGTERM, and waits for the end.
    pub fn terminate(&mut self) {
        signal("TERM", self.0.id());
        let _ = self.0.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Sends a signal with kill(1).
pub fn signal(name: &str, process: u32) {
    let _ = Command::new("kill").args([format!("-{name}"), process.to_string()]).status();
}

/// Runs a program to its end; returns its standard output, or its error output.
pub fn run(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{:?}: {error}", command.get_program()))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(format!("{:?} failed: {said}", command.get_program()))
}

/// The first of `folders` or of PATH that holds `program`.
pub fn find_program(program: &str, folders: &[PathBuf]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let all = folders.iter().cloned().chain(std::env::split_paths(&path));
    all.map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// A directory that is removed when this value is dropped.
pub struct Directory(pub PathBuf);

impl Directory {
    /// An empty directory.
    pub fn create(path: PathBuf) -> Result<Directory, String> {
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Directory(path))
    }
}

/// The folder of a server's log caches: in memory, as by default, but in a folder that is removed with the data directory.
pub fn memory_beside(directory: &Path) -> PathBuf {
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    PathBuf::from(format!("/dev/shm/{name}-{}", std::process::id()))
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(memory_beside(&self.0));
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
