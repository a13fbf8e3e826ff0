//! Many databases start and stop at the same time; a starting server answers before all of them are open.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test prepares its folders itself; a latch has a rank, and what keeps tests apart has none"
)]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use hardpan_engine::{CreateDatabaseOptions, DatabaseState, Instance, InstanceOptions};
use os::Os;
use os::sim::{Profile, World};

/// The most disk operations of a start or a stop for one database.
const OPERATIONS_MAX: u64 = 80;
/// Serializes tests that count threads and descriptors of the process with tests that create some.
static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let folder = std::env::temp_dir().join(format!("hardpan-many-{name}-{}", std::process::id()));
        drop(std::fs::remove_dir_all(&folder));
        Scratch(folder)
    }

    fn open(&self, answers_while_opening: bool) -> Arc<Instance> {
        let options = InstanceOptions {
            background: false,
            answers_while_opening,
            buffer_pool_bytes: 64 << 20,
            ..InstanceOptions::new(&self.0)
        };
        Instance::open(&Os::real(), &options).unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

fn create(instance: &Arc<Instance>, count: usize) {
    for number in 0..count {
        let new = CreateDatabaseOptions { name: format!("db{number}"), ..CreateDatabaseOptions::default() };
        instance.create_database(&new).unwrap();
    }
}

#[test]
fn a_start_answers_before_its_databases_are_open() {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let scratch = Scratch::new("early");
    let instance = scratch.open(false);
    create(&instance, 40);
    instance.shutdown();

    let instance = scratch.open(true);
    let mut seen_recovering = 0;
    for info in instance.database_infos() {
        if info.state != DatabaseState::Recovering {
            continue;
        }
        match instance.database(&info.name) {
            Err(error) => assert_eq!(error.number, 922),
            Ok(_) => continue,
        }
        seen_recovering += 1;
    }
    assert!(seen_recovering > 0, "forty databases are not open at once");
    // A database that is being opened can be neither dropped nor created again; its name and number are taken.
    let last = instance.database_infos().into_iter().rfind(|info| info.state == DatabaseState::Recovering);
    let mut left = 40;
    if let Some(info) = last {
        match instance.drop_database(&info.name) {
            Err(error) => {
                assert_eq!(error.number, 922);
                let again = CreateDatabaseOptions { name: info.name, ..CreateDatabaseOptions::default() };
                assert_eq!(instance.create_database(&again).map(|_| ()).unwrap_err().number, 1801);
            }
            // It was open by then.
            Ok(()) => left -= 1,
        }
    }
    let fresh = CreateDatabaseOptions { name: "fresh".into(), ..CreateDatabaseOptions::default() };
    instance.create_database(&fresh).unwrap();
    instance.wait_until_open();
    assert!(instance.database_infos().iter().all(|info| info.state == DatabaseState::Online));
    instance.shutdown();

    // A stop in the middle of a start leaves every database complete.
    scratch.open(true).shutdown();
    let instance = scratch.open(false);
    assert_eq!(instance.databases().iter().filter(|one| one.name().starts_with("db")).count(), left);
    instance.shutdown();
}

/// Disk operations of a start and of a stop with this many databases besides the system's.
fn operations(count: usize) -> (u64, u64) {
    let world = World::new(7, Profile::nvme());
    let options = || InstanceOptions { background: false, ..InstanceOptions::new("/data") };
    let made = world.run(move |os| {
        let instance = Instance::open(os, &options()).unwrap();
        create(&instance, count);
        instance.shutdown();
    });
    made.assert_ok();
    let figures = Arc::new(os::Latch::new(os::LatchRank::Leaf, (0, 0)));
    let (handle, told) = (world.clone(), Arc::clone(&figures));
    let report = world.run(move |os| {
        let before = handle.io_total();
        let instance = Instance::open(os, &options()).unwrap();
        let opened = handle.io_total();
        instance.shutdown();
        *told.lock() = (opened - before, handle.io_total() - opened);
    });
    report.assert_ok();
    *figures.lock()
}

/// The disk operations of a start and a stop grow linearly with the number of databases, and slowly: a scan of all
/// for each would be visible.
#[test]
fn each_database_costs_a_start_and_a_stop_the_same() {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let [few, more, many] = [10, 20, 40].map(operations);
    for (what, few, more, many) in [("start", few.0, more.0, many.0), ("stop", few.1, more.1, many.1)] {
        println!("{what}: {few}, {more}, {many} operations with 10, 20 and 40 databases");
        assert!(more > few && many > more, "{what}: {few}, {more}, {many}");
        // The catalog of master fills a page now and then.
        assert!(many - more <= 2 * (more - few) + 20, "{what}: {few}, {more}, {many}");
        assert!(more - few <= 10 * OPERATIONS_MAX, "{what}: {few}, {more}, {many}");
    }
}

/// Open files of this process (proc(5)).
fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Threads of the server in this process, by name, once they are the expected ones, or after thirty seconds: a LOG WRITER rests for ten before it
/// ends. A thread that has ended and was joined may still be listed for a moment (proc(5)), as may one that opens databases.
fn threads_once(expected: &BTreeMap<String, usize>) -> BTreeMap<String, usize> {
    for _ in 0..3_000 {
        let threads = threads_now();
        if threads == *expected {
            return threads;
        }
        Os::real().sleep(10_000_000, os::WaitType::SLEEP_TASK).unwrap();
    }
    threads_now()
}

/// The threads once they have been the same for a tenth of a second.
fn threads_settled() -> BTreeMap<String, usize> {
    let (mut threads, mut same) = (threads_now(), 0);
    for _ in 0..1_000 {
        Os::real().sleep(10_000_000, os::WaitType::SLEEP_TASK).unwrap();
        let now = threads_now();
        same = if now == threads { same + 1 } else { 0 };
        if same == 10 {
            return now;
        }
        threads = now;
    }
    threads
}

/// Threads of the server in this process, by name. Names of the server's threads are in capital letters; those of the tests are not.
fn threads_now() -> BTreeMap<String, usize> {
    let mut threads = BTreeMap::new();
    for task in std::fs::read_dir("/proc/self/task").unwrap() {
        // A thread that ends meanwhile is not counted.
        let Ok(name) = std::fs::read_to_string(task.unwrap().path().join("comm")) else { continue };
        if name.chars().all(|letter| !letter.is_lowercase()) {
            *threads.entry(name.trim().to_owned()).or_default() += 1;
        }
    }
    threads
}

/// A database without writes has no thread and three files open, the log twice; the rest is shared, and nothing remains afterwards.
#[test]
fn an_idle_database_has_no_thread_and_four_descriptors_and_leaves_none() {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let before = (threads_settled(), descriptors());
    let scratch = Scratch::new("figures");
    scratch.open(false).shutdown();
    let instance = scratch.open(false);
    let (mut expected, open) = (threads_settled(), descriptors());
    create(&instance, 60);
    instance.shutdown();
    let instance = scratch.open(false);
    expected.remove("LOG WRITER");
    assert_eq!(threads_once(&expected), expected);
    assert_eq!(
        descriptors() - open,
        60 * 4,
        "data file, doublewrite file, the log for its blocks and for its header"
    );
    instance.shutdown();
    drop(instance);
    assert_eq!((threads_once(&before.0), descriptors()), before, "threads and descriptors left");
}
