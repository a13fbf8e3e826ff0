//! Servers of the real program, and folders, that are removed at the end of the test.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    dead_code,
    reason = "a helper of tests, which prepare their folders themselves and start processes; each file uses its part"
)]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The program under test.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_hardpan");
/// The password of sa.
pub const PASSWORD: &str = "Process-1";

/// A folder that is removed at the end of the test.
pub struct Folder(pub PathBuf);

impl Folder {
    /// Creates an empty one; no other test uses this name.
    pub fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("hardpan-{name}-{}", std::process::id()));
        drop(std::fs::remove_dir_all(&folder));
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    /// A path in it.
    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// A file in it; its path.
    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_string()
    }

    /// The names in a folder, in order.
    pub fn names_in(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// `hardpan serve` at a port chosen by the system, with this log cache (a folder, or OFF).
pub fn serve(data: &Path, log_cache: &Path) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(["serve", "--listen", "127.0.0.1:0", "--memory", "64", "--data"]).arg(data);
    command.arg("--log-cache").arg(log_cache).env("HARDPAN_SA_PASSWORD", PASSWORD);
    command
}

/// The same without a log cache.
pub fn serve_plainly(data: &Path) -> Command {
    serve(data, Path::new("OFF"))
}

/// A server that is killed at the end of the test, or before.
pub struct Server {
    /// Its process.
    pub child: Child,
    /// The address at which it listens.
    port: String,
    /// The administrators' address, as clients get it.
    administrator: String,
}

impl Server {
    /// Starts it and waits until it listens.
    pub fn start(command: &mut Command) -> Server {
        Server::start_telling(command, Stdio::null())
    }

    /// Starts it; its standard error is written there.
    pub fn start_telling(command: &mut Command, reports: Stdio) -> Server {
        let mut child = command.stdout(Stdio::piped()).stderr(reports).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.as_mut().unwrap()).lines().map_while(Result::ok);
        let greeting = lines.find(|line| line.contains("listening on")).expect("the server starts");
        let port = greeting.rsplit(':').next().unwrap().chars().take_while(char::is_ascii_digit).collect();
        let administrator = match lines.next() {
            Some(line) if line.contains("administrator") => {
                line.split_whitespace().find(|word| word.starts_with("admin:")).unwrap().to_string()
            }
            _ => String::new(),
        };
        Server { child, port, administrator }
    }

    /// Its address as clients get it.
    pub fn address(&self) -> String {
        format!("127.0.0.1,{}", self.port)
    }

    /// Its address as sockets have it.
    pub fn socket_address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// The address for administrators.
    pub fn administrator(&self) -> &str {
        &self.administrator
    }

    /// A crash.
    pub fn kill(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }

    /// A clean stop.
    pub fn stop(mut self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        assert!(self.child.wait().unwrap().success(), "a clean stop");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}
