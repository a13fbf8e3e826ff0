//! The real program on data directories that it must not touch: it ends with a clear message and leaves everything as it was.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test prepares its folders itself and starts processes"
)]

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("hardpan-refusals-{name}-{}", std::process::id()));
        drop(std::fs::remove_dir_all(&folder));
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

fn serve(data: &std::path::Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hardpan"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--log-cache", "OFF", "--data"]).arg(data);
    command.env("HARDPAN_SA_PASSWORD", "Refused-1");
    command
}

/// What a server that must not start says.
fn refused(data: &std::path::Path) -> String {
    let output = serve(data).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(output.stdout.is_empty(), "no greeting: {output:?}");
    String::from_utf8(output.stderr).unwrap()
}

struct Server(Child);

impl Server {
    fn start(data: &std::path::Path) -> Server {
        let mut child = serve(data).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
        let listening = lines.map_while(Result::ok).any(|line| line.contains("listening on"));
        assert!(listening, "the server starts");
        Server(child)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[test]
fn a_foreign_directory_is_left_alone() {
    let folder = Folder::new("foreign");
    std::fs::write(folder.0.join("letter.txt"), "hello").unwrap();
    let told = refused(&folder.0);
    assert!(told.contains("not a Hardpan data directory") && told.contains("letter.txt"), "{told}");
    let left: Vec<String> = folder.files().into_iter().filter(|name| name != "hardpan.lock").collect();
    assert_eq!(left, ["letter.txt"]);
    let told = refused(&folder.0.join("letter.txt"));
    assert!(told.contains("letter.txt"), "{told}");
    assert_eq!(std::fs::read_to_string(folder.0.join("letter.txt")).unwrap(), "hello");
}

#[test]
fn a_directory_in_use_and_one_of_a_newer_layout_are_refused() {
    let folder = Folder::new("used");
    let server = Server::start(&folder.0);
    let told = refused(&folder.0);
    assert!(told.contains("in use by another Hardpan server"), "{told}");
    drop(server);
    // The first one was killed; its directory opens again.
    drop(Server::start(&folder.0));
    std::fs::write(folder.0.join("hardpan.instance"), "9").unwrap();
    let told = refused(&folder.0);
    assert!(told.contains("layout 9"), "{told}");
}
