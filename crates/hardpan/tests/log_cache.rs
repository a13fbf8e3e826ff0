//! The log cache that survives the process, with real servers: several at once, killed, removed. A test's folders are empty at its end.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test starts processes, and reads what they report"
)]

mod common;

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use common::{Folder, Server, serve};

fn start(data: &Path, log_cache: &Path) -> Server {
    Server::start(&mut serve(data, log_cache))
}

/// All caches, with their folders: `hardpan-data-1-2/log-3`. An empty folder is listed alone.
fn caches(root: &Path) -> Vec<String> {
    let shown = |folder: &String| {
        // A server that starts may sweep it meanwhile.
        let entries = std::fs::read_dir(root.join(folder)).into_iter().flatten().flatten();
        let mut names: Vec<_> =
            entries.map(|entry| format!("{folder}/{}", entry.file_name().to_str().unwrap())).collect();
        names.sort();
        if names.is_empty() { vec![folder.clone()] } else { names }
    };
    Folder::names_in(root).iter().flat_map(shown).collect()
}

/// The folder of a data directory's caches.
fn folder_of(root: &Path, data: &Path) -> PathBuf {
    let metadata = std::fs::metadata(data).unwrap();
    root.join(format!("hardpan-data-{:x}-{:x}", metadata.dev(), metadata.ino()))
}

/// The caches of a listening server, once there are this many: msdb is opened while it listens already.
fn caches_when(folder: &Path, count: usize) -> Vec<String> {
    let until = Instant::now() + Duration::from_secs(60);
    while caches(folder).len() < count && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    caches(folder)
}

/// Two servers at once have separate caches; the start of one removes nothing of the other, alive or killed, but
/// everything of a server whose folder was removed; a clean stop leaves nothing of its own.
#[test]
fn servers_that_share_a_folder_leave_each_other_alone() {
    let folder = Folder::new("log-cache");
    let (cache, first, second) = (folder.0.join("cache"), folder.0.join("first"), folder.0.join("second"));
    std::fs::create_dir_all(&cache).unwrap();
    let mut one = start(&first, &cache);
    let of_first = caches_when(&cache, 3);
    assert_eq!(of_first.len(), 3, "master, model and msdb have caches");
    let own = folder_of(&cache, &first);
    assert_eq!(std::fs::metadata(&own).unwrap().permissions().mode() & 0o7777, 0o700);
    assert_eq!(Folder::names_in(&own).len(), 3, "in the folder of their data directory");
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
    // A client that opens the directory itself uses existing caches, and creates none.
    let mut killed = start(&first, &cache);
    assert_eq!(caches_when(&cache, 3).len(), 3);
    killed.kill();
    let mut client = std::process::Command::new(common::PROGRAM);
    client.args(["sql", "-Q", "SELECT 1", "--log-cache"]).arg(&cache).arg("--data").arg(&first);
    assert!(client.output().unwrap().status.success());
    assert!(caches(&cache).is_empty());
    // The next start of any server removes the caches of a removed folder.
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

/// If another user has created the folder, as a link or with access for others, the caches are ordinary ones: one message, and nothing is created
/// there.
#[test]
fn a_folder_that_is_not_the_servers_alone_is_not_used() {
    let folder = Folder::new("log-cache-others");
    let (cache, data, target) = (folder.join("cache"), folder.join("data"), folder.join("target"));
    for made in [&cache, &data, &target] {
        std::fs::create_dir_all(made).unwrap();
    }
    let own = folder_of(&cache, &data);
    let reports = folder.join("reports");
    for is_link in [true, false] {
        if is_link {
            symlink(&target, &own).unwrap();
        } else {
            std::fs::remove_file(&own).unwrap();
            std::fs::create_dir(&own).unwrap();
            std::fs::set_permissions(&own, std::fs::Permissions::from_mode(0o777)).unwrap();
        }
        let file = std::fs::File::create(&reports).unwrap();
        let server = Server::start_telling(&mut serve(&data, &cache), file.into());
        let mut client = std::process::Command::new(common::PROGRAM);
        client.args(["sql", "-S", &server.address(), "-U", "sa", "-P", common::PASSWORD]);
        let answer = client.args([
            "-Q",
            "SELECT SUM(CONVERT(int, log_cache_outlives_process)) AS kept FROM sys.dm_db_loss_window",
        ]);
        let answer = String::from_utf8(answer.output().unwrap().stdout).unwrap();
        assert!(answer.lines().any(|line| line.trim() == "0"), "{answer}");
        assert!(Folder::names_in(&own).is_empty(), "link: {is_link}");
        server.stop();
        let told = std::fs::read_to_string(&reports).unwrap();
        assert_eq!(told.matches("outlive the process").count(), 1, "{told}");
        assert!(told.contains("it is not a folder of ours alone"), "{told}");
    }
    assert!(own.is_dir() && target.is_dir(), "neither is removed");
}
