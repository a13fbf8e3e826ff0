//! The log cache that outlives the process, of real servers: several at once, killed, gone. Of a test's folders nothing is left.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test starts processes")]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// A server that is killed at the latest with the test.
struct Server(Child);

impl Server {
    fn start(data: &Path, log_cache: &Path) -> Server {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hardpan"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--memory", "64", "--data"]).arg(data);
        command.arg("--log-cache").arg(log_cache).env("HARDPAN_SA_PASSWORD", "Log-cache-1");
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.as_mut().unwrap()).lines().map_while(Result::ok);
        assert!(lines.any(|line| line.contains("listening on")), "the server starts");
        Server(child)
    }

    fn kill(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }

    fn stop(mut self) {
        let pid = self.0.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        assert!(self.0.wait().unwrap().success(), "a clean stop");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

fn caches(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Two servers at once have their caches side by side; the start of one takes nothing from the other, alive or killed, nor from one whose
/// folder is gone since a moment ago; a clean stop leaves nothing of its own.
#[test]
fn servers_that_share_a_folder_leave_each_other_alone() {
    let folder = Folder(std::env::temp_dir().join(format!("hardpan-log-cache-{}", std::process::id())));
    drop(std::fs::remove_dir_all(&folder.0));
    let (cache, first, second) = (folder.0.join("cache"), folder.0.join("first"), folder.0.join("second"));
    std::fs::create_dir_all(&cache).unwrap();
    let mut one = Server::start(&first, &cache);
    let of_first = caches(&cache);
    assert!(!of_first.is_empty(), "master, model and msdb have caches");
    let two = Server::start(&second, &cache);
    let both = caches(&cache);
    assert!(both.len() > of_first.len() && of_first.iter().all(|name| both.contains(name)));
    one.kill();
    two.stop();
    assert_eq!(caches(&cache), of_first, "what was killed can be recovered");
    let two = Server::start(&second, &cache);
    assert!(of_first.iter().all(|name| caches(&cache).contains(name)), "by another server's start, too");
    let again = Server::start(&first, &cache);
    again.stop();
    two.stop();
    assert!(caches(&cache).is_empty(), "both were stopped");
    // A folder that is gone may have been renamed: a day has to pass.
    let mut gone = Server::start(&first, &cache);
    gone.kill();
    let left = caches(&cache);
    assert_eq!(left.len(), of_first.len());
    std::fs::remove_dir_all(&first).unwrap();
    Server::start(&second, &cache).stop();
    assert_eq!(caches(&cache), left);
}
