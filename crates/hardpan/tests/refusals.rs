//! The real program on data directories that it must not touch: it ends with a clear message and leaves everything as it was.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test prepares its folders itself and starts processes"
)]

mod common;

use common::{Folder, Server, serve_plainly};

/// What a server that must not start says.
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
