//! The real `hardpan doctor`: its output, and its status for a healthy server, for one with a problem, and for no server.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test prepares its folders itself and starts processes"
)]

mod common;

use std::process::{Command, Output, Stdio};

use common::{Folder, PASSWORD, PROGRAM, Server, serve_plainly};

/// A server with a folder of its own.
struct Asked {
    server: Server,
    _folder: Folder,
}

impl Asked {
    fn start(name: &str) -> Asked {
        let folder = Folder::new(&format!("doctor-{name}"));
        Asked { server: Server::start(&mut serve_plainly(&folder.join("data"))), _folder: folder }
    }

    fn run(&self, subcommand: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
        let mut command = Command::new(PROGRAM);
        command
            .args([subcommand, "-S", &self.server.address()])
            .args(arguments)
            .env("HARDPAN_SA_PASSWORD", PASSWORD);
        let Output { status, stdout, stderr } = command.stdin(Stdio::null()).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (status.code(), text(stdout), text(stderr))
    }
}

#[test]
fn its_status_says_whether_something_is_wrong() {
    let server = Asked::start("status");
    let (status, out, err) = server.run("doctor", &["--seconds", "1"]);
    assert_eq!((status, err.as_str()), (Some(0), ""), "{out}");
    assert!(
        out.starts_with("What limits commits? [ok]\n    Nothing limits commits: there were none.\n"),
        "{out}"
    );
    // A delayed commit that no flush hardens.
    let text = "SET NOCOUNT ON; CREATE DATABASE risky; ALTER DATABASE risky SET DELAYED_DURABILITY = FORCED (FLUSH = BLOCK_FULL)
                EXEC ('USE risky; CREATE TABLE t (i int); EXEC sys.sp_flush_log; INSERT t VALUES (1)')";
    let (status, out, err) = server.run("sql", &["-b", "-Q", text]);
    assert_eq!(status, Some(0), "{out}{err}");
    let (status, out, err) = server.run("doctor", &["-d", "risky", "--seconds", "1"]);
    assert_eq!((status, err.as_str()), (Some(1), ""), "{out}");
    assert!(out.contains("\n\nwarning: durability (rule 17)\n    A power loss would take up to"), "{out}");
    assert!(out.contains("\n    What to do: ALTER DATABASE"), "{out}");
}

#[test]
fn without_an_answer_its_status_is_2() {
    let server = Asked::start("answer");
    for (arguments, expected) in [
        (vec!["-P", "wrong", "--seconds", "1"], "Login failed"),
        (vec!["-d", "nowhere"], "nowhere"),
        (vec!["--seconds", "0"], "seconds"),
        (vec!["--minutes", "1"], "minutes"),
    ] {
        let (status, out, err) = server.run("doctor", &arguments);
        assert_eq!((status, out.as_str()), (Some(2), ""), "{arguments:?}: {err}");
        assert!(err.contains(expected), "{arguments:?}: {err}");
    }
}
