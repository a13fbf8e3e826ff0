//! The real program on data directories that it must not change: it ends with a clear message and leaves everything unchanged.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test prepares its folders itself and starts processes"
)]

mod common;

use std::process::Command;

use common::{Folder, PASSWORD, PROGRAM, Server, serve_plainly};

/// The output of a server that must not start.
fn refused(data: &std::path::Path) -> String {
    let output = serve_plainly(data).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(output.stdout.is_empty(), "no greeting: {output:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_foreign_directory_is_left_alone() {
    let folder = Folder::new("refusals-foreign");
    std::fs::write(folder.0.join("letter.txt"), "hello").unwrap();
    let told = refused(&folder.0);
    assert!(told.contains("not a Hardpan data directory") && told.contains("letter.txt"), "{told}");
    let left: Vec<String> =
        Folder::names_in(&folder.0).into_iter().filter(|name| name != "hardpan.lock").collect();
    assert_eq!(left, ["letter.txt"]);
    let told = refused(&folder.0.join("letter.txt"));
    assert!(told.contains("letter.txt"), "{told}");
    assert_eq!(std::fs::read_to_string(folder.0.join("letter.txt")).unwrap(), "hello");
}

#[test]
fn a_directory_in_use_and_one_of_a_newer_layout_are_refused() {
    let folder = Folder::new("refusals-used");
    let server = Server::start(&mut serve_plainly(&folder.0));
    let told = refused(&folder.0);
    assert!(told.contains("in use by another Hardpan server"), "{told}");
    drop(server);
    // The first one was killed; its directory opens again.
    drop(Server::start(&mut serve_plainly(&folder.0)));
    std::fs::write(folder.0.join("hardpan.instance"), "9").unwrap();
    let told = refused(&folder.0);
    assert!(told.contains("layout 9"), "{told}");
}

/// A first start that cannot listen creates nothing, so the next one creates the password and prints it.
#[test]
fn an_occupied_port_leaves_no_data_directory() {
    let folder = Folder::new("refusals-port");
    let server = Server::start(&mut serve_plainly(&folder.join("first")));
    for flag in ["--listen", "--admin-listen"] {
        let mut second = Command::new(PROGRAM);
        second.args(["serve", "--memory", "64", "--log-cache", "OFF", "--data"]).arg(folder.join("second"));
        if flag == "--admin-listen" {
            second.args(["--listen", "127.0.0.1:0"]);
        }
        let output =
            second.args([flag, &server.socket_address()]).env_remove("HARDPAN_SA_PASSWORD").output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(1) && told.contains("in use"), "{told}");
        assert!(output.stdout.is_empty() && !folder.join("second").exists());
    }
}

/// The greeting's line about the password is correct at each start.
#[test]
fn the_greeting_tells_where_the_password_comes_from() {
    use std::io::{BufRead, BufReader};
    let folder = Folder::new("refusals-greeting");
    let login_line = |given: bool| {
        let mut command = serve_plainly(&folder.join("data"));
        if !given {
            command.env_remove("HARDPAN_SA_PASSWORD");
        }
        let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.as_mut().unwrap()).lines().map_while(Result::ok);
        let line = lines.find(|line| line.trim_start().starts_with("login")).unwrap();
        drop(child.kill());
        drop(child.wait());
        line
    };
    for _ in 0..2 {
        let line = login_line(true);
        assert!(line.contains("HARDPAN_SA_PASSWORD") && !line.contains(PASSWORD), "{line}");
    }
    assert!(login_line(false).contains("at an earlier start"));
    drop(std::fs::remove_dir_all(folder.join("data")));
    assert!(login_line(false).contains("shown only now"));
}

#[test]
fn arguments_that_cannot_be_meant_are_refused_with_what_to_write() {
    let folder = Folder::new("refusals-arguments");
    for (arguments, words) in [
        (["--memory", "10"], "at least 16"),
        (["--memory", "many"], "at least 16"),
        (["--listen", "127.0.0.1"], "127.0.0.1:1433"),
        (["--listen", "1433"], "127.0.0.1:1433"),
        (["--listen", "127.0.0.1:70000"], "127.0.0.1:1433"),
        (["--listen", ":1433"], "127.0.0.1:1433"),
        (["--admin-listen", "here"], "127.0.0.1:1433"),
        (["--max-connections", "0"], "from 1 to 32767"),
        (["--max-connections", "40000"], "from 1 to 32767"),
        (["--listen", "no-such-host.invalid:1433"], "name that no host is known by"),
    ] {
        let mut command = Command::new(PROGRAM);
        let output =
            command.args(["serve", "--data"]).arg(folder.join("data")).args(arguments).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && told.contains(words), "{arguments:?}: {told}");
        assert!(!folder.join("data").exists(), "{arguments:?}");
    }
}
