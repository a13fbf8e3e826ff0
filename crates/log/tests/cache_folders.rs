//! The folders of log caches that outlive the process: one for each data directory, removed with its last cache; foreign folders are not used.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use common::{Workbench, commit, small_options};
use hardpan_log::{
    CacheFolder, DelayedFlushPolicy, Log, LogOptions, Lsn, remove_left_cache, sweep_left_caches,
};
use os::Os;
use os::sim::{End, Profile, World};

const ROOT: &str = "/dev/shm";

fn folder_of(directory: u64) -> PathBuf {
    format!("{ROOT}/hardpan-data-0-{directory:x}").into()
}

/// A log of a data directory.
fn options(directory: u64, path: &str) -> LogOptions {
    LogOptions {
        surviving_folder: Some(CacheFolder::of(Path::new(ROOT), (0, directory))),
        delayed_flush: DelayedFlushPolicy::BlockFull,
        ..small_options(path, 1 << 20)
    }
}

/// A new log with a delayed commit that is not durable; of a process that does not stop.
fn leave(os: &Os, options: &LogOptions) -> Lsn {
    os.disk().create_dir_all(options.path.parent().unwrap()).unwrap();
    let log = Log::create(os, options).unwrap();
    let lsn = commit(&log, 1, 100);
    log.delay(lsn, 100).unwrap();
    assert!(log.hardened() < lsn, "only the cache has it");
    std::mem::forget(log);
    lsn
}

fn run(world: &World, body: impl FnOnce(&Os) + Send + 'static) {
    world.run(body).assert_ok();
}

/// Runs `body`, then kills the process.
fn run_and_die(world: &World, body: impl FnOnce(&Os) + Send + 'static) {
    let killer = world.clone();
    let report = world.run(move |os| {
        body(os);
        killer.kill_process();
    });
    assert_eq!((report.end, report.failures.len()), (End::Killed, 0), "{:?}", report.failures);
}

fn world() -> World {
    World::new(1, Profile::constant_latency())
}

/// The existing folders, and the number of caches in each.
fn shown(world: &World) -> Vec<(PathBuf, usize)> {
    let names = world.surviving_names();
    let count = |folder: &Path| names.iter().filter(|name| name.parent() == Some(folder)).count();
    world.surviving_folders().into_iter().map(|folder| (folder.clone(), count(&folder))).collect()
}

#[test]
fn each_data_directory_has_a_folder_until_its_last_cache_is_gone() {
    let world = world();
    let all = ["/a/one.ldf", "/a/two.ldf", "/b/one.ldf"];
    let of = move |at: usize| options([1, 1, 2][at], all[at]);
    let seen = world.clone();
    run(&world, move |os| {
        let logs: Vec<Log> = (0..3)
            .map(|at| {
                os.disk().create_dir_all(of(at).path.parent().unwrap()).unwrap();
                Log::create(os, &of(at)).unwrap()
            })
            .collect();
        assert_eq!(shown(&seen), [(folder_of(1), 2), (folder_of(2), 1)]);
        let mut logs = logs.into_iter();
        let mut close = || logs.next().unwrap().close().unwrap();
        close();
        assert_eq!(shown(&seen), [(folder_of(1), 1), (folder_of(2), 1)]);
        close();
        assert_eq!(shown(&seen), [(folder_of(2), 1)], "with the last");
        close();
        assert_eq!(shown(&seen), []);
    });
    // Dropped like a database that was not opened.
    run_and_die(&world, move |os| {
        leave(os, &options(3, "/c/one.ldf"));
    });
    assert_eq!(shown(&world), [(folder_of(3), 1)]);
    run(&world, |os| {
        remove_left_cache(os, &CacheFolder::of(Path::new(ROOT), (0, 3)), Path::new("/c/one.ldf"))
    });
    assert_eq!(shown(&world), []);
}

#[test]
fn a_sweep_leaves_folders_of_logs_that_are_there_and_takes_those_of_logs_that_are_gone() {
    let world = world();
    let seen = world.clone();
    run_and_die(&world, |os| {
        leave(os, &options(1, "/a/one.ldf"));
    });
    run_and_die(&world, move |os| {
        leave(os, &options(2, "/b/one.ldf"));
        assert_eq!(sweep_left_caches(os, Path::new(ROOT)), 0, "one could be recovered, the other lives");
        assert_eq!(shown(&seen), [(folder_of(1), 1), (folder_of(2), 1)]);
    });
    let seen = world.clone();
    run(&world, move |os| {
        os.disk().remove(Path::new("/a/one.ldf")).unwrap();
        os.make_surviving_folder(&folder_of(7)).unwrap();
        assert_eq!(sweep_left_caches(os, Path::new(ROOT)), 1);
        assert_eq!(shown(&seen), [(folder_of(2), 1)], "and the empty one goes");
    });
}

/// A log is opened from another data directory than before: its cache is found, and is removed from the old folder.
#[test]
fn a_log_that_was_attached_elsewhere_finds_its_cache() {
    let world = world();
    run_and_die(&world, |os| {
        leave(os, &options(9, "/z/other.ldf"));
        leave(os, &options(1, "/a/one.ldf"));
        leave(os, &options(1, "/a/two.ldf"));
        os.disk().rename(Path::new("/a/one.ldf"), Path::new("/z/one.ldf")).unwrap();
    });
    let seen = world.clone();
    run_and_die(&world, move |os| {
        let (log, tail) = Log::open(os, &options(2, "/z/one.ldf")).unwrap();
        assert!(!tail.last.is_null() && log.loss_window().survives_process);
        assert_eq!(shown(&seen), [(folder_of(1), 1), (folder_of(2), 1), (folder_of(9), 1)], "it moved");
        let lsn = commit(&log, 2, 100);
        log.delay(lsn, 100).unwrap();
        std::mem::forget(log);
    });
    // And back, by a process that makes none: the folder is removed with its last cache.
    let taking = LogOptions { surviving_is_only_taken: true, ..options(1, "/z/one.ldf") };
    run(&world, move |os| {
        let (log, _) = Log::open(os, &taking).unwrap();
        let flushes = log.stats().flushes_by_reason_total[hardpan_log::FlushReason::TakeOver.index()];
        assert!(flushes > 0, "it was found");
        log.close().unwrap();
    });
    assert_eq!(shown(&world), [(folder_of(1), 1), (folder_of(9), 1)]);
}

/// Caches that a version without folders has left, next to the folders.
#[test]
fn a_former_version_is_taken_over_and_swept() {
    let world = world();
    let rename = |world: &World| {
        let cache = world.surviving_names().remove(0);
        let name = cache.file_name().unwrap().to_str().unwrap().to_owned();
        world.rename_surviving(&cache, &Path::new(ROOT).join(format!("hardpan-{name}")));
        assert_eq!(shown(world), [(folder_of(1), 0)]);
    };
    run_and_die(&world, |os| {
        leave(os, &options(1, "/a/one.ldf"));
    });
    rename(&world);
    run_and_die(&world, |os| {
        assert_eq!(sweep_left_caches(os, Path::new(ROOT)), 0, "its log is there");
        let (log, _) = Log::open(os, &options(1, "/a/one.ldf")).unwrap();
        assert!(log.stats().flushes_by_reason_total[hardpan_log::FlushReason::TakeOver.index()] > 0);
        std::mem::forget(log);
    });
    assert_eq!(world.surviving_names().len(), 1, "the former one is gone");
    rename(&world);
    run(&world, |os| {
        os.disk().remove(Path::new("/a/one.ldf")).unwrap();
        assert_eq!(sweep_left_caches(os, Path::new(ROOT)), 1);
    });
    assert!(world.surviving_names().is_empty() && shown(&world).is_empty());
}

/// Another user has made a folder, or a link, of that name: it is not used, and its contents are neither taken over nor removed.
#[test]
fn a_folder_of_others_is_not_used() {
    let world = world();
    run_and_die(&world, |os| {
        leave(os, &options(1, "/a/one.ldf"));
        leave(os, &options(2, "/b/one.ldf"));
    });
    world.make_surviving_folder_of_others(&folder_of(1));
    let before = world.surviving_names();
    run_and_die(&world, |os| {
        let options = options(1, "/a/one.ldf");
        assert!(options.surviving_folder.as_ref().unwrap().check(os).is_err());
        let (log, tail) = Log::open(os, &options).unwrap();
        assert!(tail.last.is_null(), "what is in it may be anybody's");
        assert!(!log.loss_window().survives_process, "an ordinary cache");
        log.close().unwrap();
        os.disk().remove(Path::new("/a/one.ldf")).unwrap();
        assert_eq!(sweep_left_caches(os, Path::new(ROOT)), 0);
    });
    assert_eq!(world.surviving_names(), before, "nothing of it is touched");
    // Caches in other folders are still found.
    run(&world, |os| {
        let (log, tail) = Log::open(os, &options(1, "/b/one.ldf")).unwrap();
        assert!(!tail.last.is_null() && !log.loss_window().survives_process);
        log.close().unwrap();
    });
    assert_eq!(shown(&world), [(folder_of(1), 1)]);
}

/// On this machine: a sweep may remove the empty folder before its first cache is made; the cache is made nevertheless.
#[test]
fn sweeps_take_no_folder_from_under_a_new_cache() {
    let bench = Workbench::in_memory("folders");
    let root = bench.path().parent().unwrap().join("caches");
    bench.os.disk().create_dir_all(&root).unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let os = Os::real();
                while !is_over.load(Ordering::Acquire) {
                    assert_eq!(sweep_left_caches(&os, &root), 0, "no log is gone");
                }
            });
        }
        let surviving_folder = Some(CacheFolder::of(&root, (1, 2)));
        let all_are_made = (0..200).all(|number: u32| {
            let path = bench.path().with_extension(number.to_string());
            let options = LogOptions { path, surviving_folder: surviving_folder.clone(), ..bench.options() };
            let log = Log::create(&bench.os, &options).unwrap();
            let is_made = log.loss_window().survives_process;
            log.close().unwrap();
            bench.os.disk().remove(&options.path).unwrap();
            is_made
        });
        is_over.store(true, Ordering::Release);
        assert!(all_are_made);
    });
    assert!(bench.os.disk().list(&root).unwrap().is_empty(), "nothing is left");
}
