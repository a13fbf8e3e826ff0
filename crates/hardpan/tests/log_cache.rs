//! The log cache that outlives the process, of real servers: several at once, killed, gone. Of a test's folders nothing is left.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test starts processes")]

mod common;

use std::path::Path;
use std::time::{Duration, Instant};

use common::{Folder, Server, serve};

fn start(data: &Path, log_cache: &Path) -> Server {
    Server::start(&mut serve(data, log_cache))
}

fn caches(folder: &Path) -> Vec<String> {
    Folder::names_in(folder)
}

/// The caches of a server that listens, once there are this many: msdb is opened while it listens already.
fn caches_when(folder: &Path, count: usize) -> Vec<String> {
    let until = Instant::now() + Duration::from_secs(60);
    while caches(folder).len() < count && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    caches(folder)
}

/// Two servers at once have their caches side by side; the start of one takes nothing from the other, alive or killed, but
/// all of one whose folder is gone; a clean stop leaves nothing of its own.
#[test]
fn servers_that_share_a_folder_leave_each_other_alone() {
    let folder = Folder::new("log-cache");
    let (cache, first, second) = (folder.0.join("cache"), folder.0.join("first"), folder.0.join("second"));
    std::fs::create_dir_all(&cache).unwrap();
    let mut one = start(&first, &cache);
    let of_first = caches_when(&cache, 3);
    assert_eq!(of_first.len(), 3, "master, model and msdb have caches");
    let two = start(&second, &cache);
    let both = caches_when(&cache, 6);
    assert!(both.len() == 6 && of_first.iter().all(|name| both.contains(name)));
    one.kill();
    two.stop();
    assert_eq!(caches(&cache), of_first, "what was killed can be recovered");
    let two = start(&second, &cache);
    assert!(of_first.iter().all(|name| caches(&cache).contains(name)), "by another server's start, too");
    let again = start(&first, &cache);
    again.stop();
    two.stop();
    assert!(caches(&cache).is_empty(), "both were stopped");
    // A client that opens the directory itself takes what was left, and makes none.
    let mut killed = start(&first, &cache);
    assert_eq!(caches_when(&cache, 3).len(), 3);
    killed.kill();
    let mut client = std::process::Command::new(common::PROGRAM);
    client.args(["sql", "-Q", "SELECT 1", "--log-cache"]).arg(&cache).arg("--data").arg(&first);
    assert!(client.output().unwrap().status.success());
    assert!(caches(&cache).is_empty());
    // What belongs to a folder that is gone goes with the next start of any server.
    let mut gone = start(&first, &cache);
    assert_eq!(caches_when(&cache, 3).len(), 3);
    gone.kill();
    let left = caches(&cache);
    assert_eq!(left.len(), of_first.len());
    std::fs::remove_dir_all(&first).unwrap();
    let again = start(&second, &cache);
    assert!(left.iter().all(|name| !caches(&cache).contains(name)));
    again.stop();
    assert!(caches(&cache).is_empty());
}
