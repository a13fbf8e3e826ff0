//! Database files are in the data directory, on a mapped drive or in an allowed folder, whatever a path or a link says; DROP stays there, too.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test prepares its folders itself")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hardpan_engine::{
    CreateDatabaseOptions, Database, DatabaseState, Instance, InstanceOptions, NewDatabaseFile,
};
use os::Os;
use types::SqlError;

/// `data`, `drive` (mapped as E), `allowed` and `outside` as siblings.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let folder = std::env::temp_dir().canonicalize().unwrap();
        let folder = folder.join(format!("hardpan-places-{name}-{}", std::process::id()));
        drop(fs::remove_dir_all(&folder));
        for part in ["drive", "allowed", "outside"] {
            fs::create_dir_all(folder.join(part)).unwrap();
        }
        Scratch(folder)
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.join(path)
    }

    fn open(&self, allows: bool) -> Arc<Instance> {
        let mut options = InstanceOptions::new(self.at("data"));
        options.drives = vec![('E', self.at("drive"))];
        options.allowed_paths = if allows { vec![self.at("allowed")] } else { Vec::new() };
        options.background = false;
        Instance::open(&Os::real(), &options).unwrap()
    }

    /// Everything in a folder, by name.
    fn names_in(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.at(folder)).unwrap();
        let mut names: Vec<String> =
            entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

fn file(path: impl AsRef<Path>) -> NewDatabaseFile {
    let path = path.as_ref().to_str().unwrap().to_string();
    NewDatabaseFile { path: Some(path), ..NewDatabaseFile::default() }
}

fn create(
    instance: &Arc<Instance>,
    name: &str,
    data: impl AsRef<Path>,
    log: impl AsRef<Path>,
) -> Result<Arc<Database>, SqlError> {
    instance.create_database(&CreateDatabaseOptions {
        name: name.into(),
        data_files: vec![file(data)],
        log_files: vec![file(log)],
    })
}

fn refused(made: Result<Arc<Database>, SqlError>) -> i32 {
    made.map(|database| database.name().to_string()).unwrap_err().number
}

#[test]
fn files_are_made_and_removed_in_allowed_places_only() {
    let scratch = Scratch::new("absolute");
    let instance = scratch.open(true);
    let (allowed, outside) = (scratch.at("allowed"), scratch.at("outside"));
    assert_eq!(refused(create(&instance, "a", outside.join("a.mdf"), "a.ldf")), 5133);
    assert_eq!(refused(create(&instance, "a", "a.mdf", outside.join("deep/a.ldf"))), 5133);
    assert_eq!(refused(create(&instance, "a", allowed.join("../outside/a.mdf"), "a.ldf")), 5105);
    assert_eq!(refused(create(&instance, "a", "/etc/hardpan-test.mdf", "a.ldf")), 5133);
    assert!(scratch.names_in("outside").is_empty(), "nothing was made there");
    create(&instance, "a", allowed.join("new/a.mdf"), r"E:\Logs\A.ldf").unwrap();
    assert_eq!(scratch.names_in("allowed/new"), ["a.mdf", "a.mdf.dwb"]);
    assert_eq!(scratch.names_in("drive/logs"), ["A.ldf"]);
    instance.drop_database("a").unwrap();
    assert!(scratch.names_in("allowed/new").is_empty() && scratch.names_in("drive/logs").is_empty());
    instance.shutdown();
}

#[test]
fn links_lead_to_no_other_place() {
    let scratch = Scratch::new("links");
    let instance = scratch.open(false);
    fs::write(scratch.at("outside/precious.mdf"), "not ours").unwrap();
    symlink(scratch.at("outside"), scratch.at("drive/folder")).unwrap();
    symlink(scratch.at("outside"), scratch.at("data/folder")).unwrap();
    symlink(scratch.at("outside/new.mdf"), scratch.at("drive/dangling.mdf")).unwrap();
    symlink(scratch.at("outside/new.dwb"), scratch.at("drive/x.mdf.dwb")).unwrap();
    assert_eq!(refused(create(&instance, "a", r"E:\folder\a.mdf", "a.ldf")), 5133);
    assert_eq!(refused(create(&instance, "a", r"E:\FOLDER\deep\a.mdf", "a.ldf")), 5133);
    assert_eq!(refused(create(&instance, "a", "folder/a.mdf", "a.ldf")), 5133);
    assert_eq!(refused(create(&instance, "a", r"E:\folder\precious.mdf", "a.ldf")), 5133);
    assert_eq!(refused(create(&instance, "a", r"E:\dangling.mdf", "a.ldf")), 5133);
    // The doublewrite file is opened without following the link in its place.
    create(&instance, "a", r"E:\x.mdf", "a.ldf").map(|_| ()).unwrap_err();
    assert_eq!(scratch.names_in("outside"), ["precious.mdf"]);
    // A link to an allowed place is followed.
    symlink(scratch.at("drive"), scratch.at("data/to_drive")).unwrap();
    create(&instance, "b", "to_drive/b.mdf", "b.ldf").unwrap();
    assert!(scratch.at("drive/b.mdf").exists());
    instance.shutdown();
    let instance = scratch.open(false);
    instance.database("b").unwrap();
    instance.drop_database("b").unwrap();
    assert!(!scratch.at("drive/b.mdf").exists());
    instance.shutdown();
}

#[test]
fn a_folder_that_is_no_longer_allowed_is_left_alone() {
    let scratch = Scratch::new("flag");
    let allowed = scratch.at("allowed");
    let instance = scratch.open(true);
    create(&instance, "a", allowed.join("a.mdf"), allowed.join("a.ldf")).unwrap();
    create(&instance, "b", allowed.join("b.mdf"), allowed.join("b.ldf")).unwrap();
    instance.shutdown();
    let instance = scratch.open(false);
    assert_eq!(refused(instance.database("a")), 945);
    let state = instance.database_infos().into_iter().find(|info| info.name == "a").unwrap();
    assert_eq!(state.state, DatabaseState::RecoveryPending);
    assert!(state.reason.unwrap().contains("--allow-path"));
    instance.drop_database("b").unwrap();
    instance.shutdown();
    assert!(allowed.join("b.mdf").exists() && allowed.join("b.ldf").exists(), "DROP removes nothing outside");
    let instance = scratch.open(true);
    instance.database("a").unwrap();
    assert_eq!(refused(instance.database("b")), 911);
    instance.shutdown();
}

#[test]
fn a_link_put_in_a_folders_place_later_is_not_followed() {
    let scratch = Scratch::new("swap");
    let instance = scratch.open(false);
    create(&instance, "a", r"E:\sub\a.mdf", r"E:\sub\a.ldf").unwrap();
    fs::rename(scratch.at("drive/sub"), scratch.at("outside/sub")).unwrap();
    symlink(scratch.at("outside/sub"), scratch.at("drive/sub")).unwrap();
    create(&instance, "b", r"E:\b.mdf", r"E:\b.ldf").unwrap();
    create(&instance, "c", r"E:\c.mdf", r"E:\c.ldf").unwrap();
    fs::remove_file(scratch.at("drive/c.ldf")).unwrap();
    symlink(scratch.at("drive/b.ldf"), scratch.at("drive/c.ldf")).unwrap();
    instance.drop_database("c").unwrap();
    assert!(scratch.at("drive/b.ldf").exists(), "of a link, the link goes");
    instance.drop_database("a").unwrap();
    assert_eq!(scratch.names_in("outside/sub"), ["a.ldf", "a.mdf", "a.mdf.dwb"]);
    instance.shutdown();
}

#[test]
fn one_file_is_one_file_in_any_case() {
    let scratch = Scratch::new("case");
    let instance = scratch.open(false);
    fs::create_dir(scratch.at("drive/Mixed")).unwrap();
    create(&instance, "a", r"E:\MIXED\Data.mdf", "a.ldf").unwrap();
    assert_eq!(scratch.names_in("drive/Mixed"), ["Data.mdf", "Data.mdf.dwb"], "the folder that is there");
    assert_eq!(refused(create(&instance, "b", r"e:/mixed/DATA.MDF", "b.ldf")), 5170);
    // Files of one statement, including the doublewrite file.
    assert_eq!(refused(create(&instance, "b", "b.mdf", "b.mdf")), 5170);
    assert_eq!(refused(create(&instance, "b", "b.mdf", "b.mdf.dwb")), 5170);
    assert_eq!(refused(create(&instance, "b", "b.mdf", "logins.json.new")), 5105);
    // 128 letters of three bytes are too long for a file name, but valid for a database's name.
    let long = "中".repeat(128);
    instance
        .create_database(&CreateDatabaseOptions { name: long.clone(), ..CreateDatabaseOptions::default() })
        .unwrap();
    instance.drop_database(&long).unwrap();
    instance.shutdown();
}

#[test]
fn the_data_directory_is_its_owners() {
    let scratch = Scratch::new("mode");
    scratch.open(false).shutdown();
    assert_eq!(fs::metadata(scratch.at("data")).unwrap().permissions().mode() & 0o777, 0o700);
}
