//! Many databases start and stop together; a start answers before all of them are open.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test prepares its folders itself")]

use std::path::PathBuf;
use std::sync::Arc;

use hardpan_engine::{CreateDatabaseOptions, DatabaseState, Instance, InstanceOptions};
use os::Os;

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
    // One that is being opened is neither dropped nor made again; its name and number are taken.
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

    // A stop in the middle of a start leaves everything whole.
    scratch.open(true).shutdown();
    let instance = scratch.open(false);
    assert_eq!(instance.databases().iter().filter(|one| one.name().starts_with("db")).count(), left);
    instance.shutdown();
}

/// By hand: `cargo test --release -p hardpan-engine --test many_databases -- --ignored --nocapture`.
#[test]
#[ignore = "measures"]
fn three_hundred_databases_start_and_stop() {
    let scratch = Scratch::new("measure");
    let instance = scratch.open(false);
    let os = Os::real();
    create(&instance, 300);
    let took = |what: &str, since_ns: u64| {
        println!("{what}: {} ms", (os.clock().monotonic_ns() - since_ns) / 1_000_000)
    };
    for _ in 0..2 {
        let began_ns = os.clock().monotonic_ns();
        instance.shutdown();
        took("stop", began_ns);
    }
    let began_ns = os.clock().monotonic_ns();
    let instance = scratch.open(true);
    took("answers", began_ns);
    instance.wait_until_open();
    took("all open", began_ns);
    let began_ns = os.clock().monotonic_ns();
    instance.shutdown();
    took("stop", began_ns);
}
