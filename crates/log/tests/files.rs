//! Several files of one log: the order of use, growth, adding and removing files, shrinking; power cuts between all steps of these.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use common::{Workbench, insert};
use hardpan_log::{
    DumpOptions, FIRST_LOG_FILE, FlushReason, Growth, Log, LogError, LogFileOptions, LogOptions, Lsn,
    ResizeError, dump_file, dump_files,
};
use os::sim::{Bug, End, Fault, Operation, Profile, World};
use os::{Latch, LatchRank, Os};

const KB: u64 = 1024;
const SECOND: u16 = 3;

/// A log of two VLFs in its first file, which does not grow.
fn options(directory: &Path) -> LogOptions {
    LogOptions {
        size_bytes: 512 * KB,
        growth: Growth::None,
        grow_ahead: false,
        ..LogOptions::new(directory.join("one.ldf"), "test")
    }
}

fn second(directory: &Path) -> LogFileOptions {
    LogFileOptions {
        number: SECOND,
        path: directory.join("two.ldf"),
        size_bytes: 512 * KB,
        growth: Growth::None,
        bytes_max: 8 << 20,
    }
}

fn with_second(directory: &Path) -> LogOptions {
    LogOptions { more_files: vec![second(directory)], ..options(directory) }
}

fn commit(log: &Log, txn: u64) -> Lsn {
    let lsn = log.append(&insert(txn, 20_000)).unwrap();
    log.harden(lsn, FlushReason::Commit).unwrap();
    lsn
}

/// No pin needs log before `lsn`.
fn checkpoint(log: &Log, lsn: Lsn) {
    log.record_checkpoint(lsn, lsn).unwrap();
    log.truncate().unwrap();
}

/// Files of the VLFs in the order of their use.
fn files_in_use(log: &Log) -> Vec<u16> {
    let mut used: Vec<_> = log.vlfs().into_iter().filter(|vlf| vlf.active).collect();
    used.sort_by_key(|vlf| vlf.sequence);
    used.into_iter().map(|vlf| vlf.file).collect()
}

fn count_records(log: &Log) -> usize {
    log.read_from(Lsn::NULL).inspect(|record| assert!(record.is_ok())).count()
}

/// Claim 286: VLFs are used file after file; after the last file the log continues in the first, once that is free.
#[test]
fn vlfs_are_used_file_after_file() {
    let bench = Workbench::new("files-order");
    let directory = bench.path().parent().unwrap().to_owned();
    let options = with_second(&directory);
    let log = Log::create(&bench.os, &options).unwrap();
    assert_eq!(log.vlfs().iter().map(|vlf| vlf.file).collect::<Vec<_>>(), [2, 2, 3, 3]);
    assert_eq!(log.stats().size_bytes, 1024 * KB, "all files count");
    let (mut last, mut txn) = (Lsn::NULL, 0);
    while files_in_use(&log).len() < 4 {
        txn += 1;
        last = commit(&log, txn);
    }
    assert_eq!(files_in_use(&log), [2, 2, 3, 3]);
    assert_eq!(count_records(&log) as u64, txn, "what lies in both files is read back");
    let sizes = log.files().iter().map(|file| (file.number, file.size_bytes)).collect::<Vec<_>>();
    assert_eq!(sizes, [(2, 512 * KB), (3, 512 * KB)]);
    assert!(log.files().iter().all(|file| file.stats.writes_total > 3), "both are written");
    checkpoint(&log, last);
    assert_eq!(files_in_use(&log), [3], "the last VLF of the second file is current");
    while files_in_use(&log).len() < 3 {
        txn += 1;
        last = commit(&log, txn);
    }
    assert_eq!(files_in_use(&log), [3, 2, 2], "round the files");
    drop(log);

    let (log, tail) = Log::open(&bench.os, &options).unwrap();
    assert_eq!(tail.last, last, "a crash loses nothing in either file");
    assert_eq!(files_in_use(&log), [3, 2, 2]);
    log.close().unwrap();
    let paths: Vec<PathBuf> = vec![options.more_files[0].path.clone(), options.path.clone()];
    let paths: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
    let mut lines = Vec::new();
    let all = DumpOptions::default();
    let summary = dump_files(&bench.os, &paths, &all, &mut |line| lines.push(line.to_owned())).unwrap();
    assert_eq!((summary.last, summary.damage), (last, None));
    assert!(lines.iter().any(|line| line.starts_with("file 3:")), "{lines:?}");
    assert!(lines.iter().any(|line| line.contains("of file 3, ")), "{lines:?}");
    let mut alone = Vec::new();
    let summary = dump_file(&bench.os, &options.path, &all, &mut |line| alone.push(line.to_owned())).unwrap();
    assert!(summary.damage.is_some() || summary.last < last, "the rest is elsewhere");
    assert!(alone.iter().any(|line| line.contains("has further files")), "and the dump says so: {alone:?}");
    let error = dump_file(&bench.os, &options.more_files[0].path, &all, &mut |_| ()).unwrap_err();
    assert!(matches!(error, LogError::NotOurs { .. }), "{error}");
}

/// The file that is written grows by its own step up to its own limit, then the next one by its own.
#[test]
fn each_file_grows_by_its_own_rule() {
    let bench = Workbench::new("files-growth");
    let directory = bench.path().parent().unwrap().to_owned();
    let mut options = with_second(&directory);
    options.growth = Growth::Bytes(256 * KB);
    options.bytes_max = 1024 * KB;
    options.more_files[0].growth = Growth::Percent(50);
    options.more_files[0].bytes_max = 2048 * KB;
    let log = Log::create(&bench.os, &options).unwrap();
    let mut seen: Vec<Vec<u64>> = Vec::new();
    let mut txn = 0;
    let full = loop {
        let sizes: Vec<u64> = log.files().iter().map(|file| file.size_bytes / KB).collect();
        if seen.last() != Some(&sizes) {
            seen.push(sizes);
        }
        txn += 1;
        match log.append(&insert(txn, 20_000)) {
            Ok(lsn) => log.harden(lsn, FlushReason::Commit).unwrap(),
            Err(error) => break error,
        }
    };
    assert!(matches!(full, LogError::Full { growth: None, .. }), "{full}");
    // The log is in the second file when it is full for the first time; its steps are halves of 512, 768, 1152 and 1728 KB.
    let expected: [&[u64]; 7] =
        [&[512, 512], &[512, 768], &[512, 1152], &[512, 1728], &[512, 2048], &[768, 2048], &[1024, 2048]];
    assert_eq!(seen, expected);
    assert_eq!(log.stats().growths_total, 6);
    drop(log);
    let (log, _) = Log::open(&bench.os, &options).unwrap();
    assert_eq!(count_records(&log) as u64, txn - 1, "in whatever order the files have grown");
    log.close().unwrap();
}

/// A file leaves when none of its VLFs is active, not before; its space does not belong to the log any more.
#[test]
fn a_file_with_needed_log_stays() {
    let bench = Workbench::new("files-leave");
    let directory = bench.path().parent().unwrap().to_owned();
    let options = options(&directory);
    let log = Log::create(&bench.os, &options).unwrap();
    commit(&log, 1);
    log.join_file(log.prepare_file(&second(&directory)).unwrap());
    assert_eq!(log.vlfs().len(), 4);
    let mut txn = 1;
    while !files_in_use(&log).contains(&SECOND) {
        txn += 1;
        commit(&log, txn);
    }
    assert!(matches!(log.detach_file(SECOND), Err(ResizeError::InUse)));
    let last = commit(&log, txn + 1);
    checkpoint(&log, last);
    assert!(matches!(log.detach_file(SECOND), Err(ResizeError::InUse)), "it is written at the moment");
    while log.vlfs().iter().any(|vlf| vlf.file == SECOND && vlf.active) {
        assert!(log.move_on().unwrap(), "there is another VLF");
        let last = commit(&log, txn + 2);
        checkpoint(&log, last);
    }
    let idle = log.detach_file(SECOND).unwrap();
    assert_eq!(log.vlfs().iter().map(|vlf| vlf.file).collect::<Vec<_>>(), [2, 2]);
    log.join_file(idle);
    assert_eq!(log.vlfs().len(), 4, "it was put back");
    let idle = log.detach_file(SECOND).unwrap();
    log.forget_file(idle).unwrap();
    bench.os.disk().remove(&directory.join("two.ldf")).unwrap();
    let last = commit(&log, txn + 3);
    drop(log);
    let (log, tail) = Log::open(&bench.os, &options).unwrap();
    assert_eq!(tail.last, last);
    log.close().unwrap();
}

#[test]
fn a_file_that_is_missing_or_of_another_log_is_told() {
    let bench = Workbench::new("files-missing");
    let directory = bench.path().parent().unwrap().to_owned();
    let options = with_second(&directory);
    let refused = |what: &str| match Log::open(&bench.os, &options) {
        Ok(_) => panic!("{what}: opened"),
        Err(error) => error,
    };
    Log::create(&bench.os, &options).unwrap().close().unwrap();
    let other = LogOptions { path: directory.join("x.ldf"), ..with_second(&directory.join("other")) };
    bench.os.disk().create_dir_all(&directory.join("other")).unwrap();
    Log::create(&bench.os, &other).unwrap().close().unwrap();
    let disk = bench.os.disk();
    let (mine, theirs) = (&options.more_files[0].path, &other.more_files[0].path);
    let kept = directory.join("kept");
    disk.rename(mine, &kept).unwrap();
    assert!(matches!(refused("missing"), LogError::Io(error) if error.kind == os::IoErrorKind::NotFound));
    disk.rename(theirs, mine).unwrap();
    assert!(matches!(refused("foreign"), LogError::NotOurs { file, .. } if &file == mine));
    disk.rename(&options.path, mine).unwrap();
    disk.rename(&kept, &options.path).unwrap();
    assert!(matches!(refused("in each other's place"), LogError::NotOurs { .. }));
}

/// The caller's durable note about the second file.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Noted {
    Absent,
    Joining,
    Member,
    Leaving,
}

#[derive(Clone, Copy)]
struct Seen {
    noted: Noted,
    acknowledged: Option<Lsn>,
}

fn open_after_cut(os: &Os, seen: &Seen) -> Log {
    let directory = Path::new("/data");
    let options = match seen.noted {
        Noted::Member => with_second(directory),
        _ => options(directory),
    };
    if matches!(seen.noted, Noted::Joining | Noted::Leaving) {
        // As the engine does: a file that was joining or leaving is removed.
        let _ = os.disk().remove(&directory.join("two.ldf"));
    }
    let (log, tail) = Log::open(os, &options).expect("the log of a dead process");
    if let Some(last) = seen.acknowledged {
        assert!(tail.last >= last, "{:?}: acknowledged {last}, found {}", seen.noted, tail.last);
    }
    log
}

/// A file joins, is filled, leaves; a power cut follows after so many I/Os. Returns the caller's last note; an error when an
/// acknowledged commit is lost, or the log does not open.
fn join_and_leave(seed: u64, cut_after: u64, bug: Option<Bug>) -> Result<Noted, String> {
    let world = World::new(seed, Profile::nvme());
    world.plant(bug);
    let seen = Arc::new(Latch::new(LatchRank::Leaf, Seen { noted: Noted::Absent, acknowledged: None }));
    let (device, noted) = (world.clone(), Arc::clone(&seen));
    let report = world.run(move |os| {
        let directory = Path::new("/data");
        os.disk().create_dir_all(directory).unwrap();
        os.disk().sync_dir(Path::new("/")).unwrap();
        let log = Log::create(os, &options(directory)).unwrap();
        let note = |what| noted.lock().noted = what;
        let commit = |txn| {
            let lsn = commit(&log, txn);
            noted.lock().acknowledged = Some(lsn);
            lsn
        };
        let leaves = |idle| {
            note(Noted::Leaving);
            log.forget_file(idle).unwrap();
            let _ = os.disk().remove(&directory.join("two.ldf"));
            os.disk().sync_dir(directory).unwrap();
            note(Noted::Absent);
        };
        commit(1);
        device.power_off_after_ios(cut_after);
        note(Noted::Joining);
        let idle = log.prepare_file(&second(directory)).unwrap();
        note(Noted::Member);
        log.join_file(idle);
        let mut txn = 1;
        while !files_in_use(&log).contains(&SECOND) {
            txn += 1;
            commit(txn);
        }
        for _ in 0..10 {
            txn += 1;
            let last = commit(txn);
            // Before the checkpoint the records in the file are needed, wherever the log continues.
            if let Ok(idle) = log.detach_file(SECOND) {
                leaves(idle);
                break;
            }
            checkpoint(&log, last);
            if let Ok(idle) = log.detach_file(SECOND) {
                leaves(idle);
                break;
            }
            commit(txn);
            assert!(log.move_on().unwrap());
        }
        for _ in 0..5 {
            txn += 1;
            commit(txn);
        }
        device.power_off();
    });
    if report.end != End::PowerOff || !report.failures.is_empty() {
        return Err(format!("{:?}: {:?}", report.end, report.failures));
    }
    let cut = seen.lock().noted;
    world.clear_faults();
    world.plant(None);
    let again = world.run(move |os| {
        let seen = *seen.lock();
        let log = open_after_cut(os, &seen);
        let (noted, acknowledged) = (seen.noted, seen.acknowledged);
        let found = count_records(&log);
        assert!(found > 0 || acknowledged.is_none());
        // The log continues, and a clean stop and another start find the same records.
        let last = commit(&log, 500);
        log.close().unwrap();
        let seen = Seen { noted, acknowledged: Some(last) };
        open_after_cut(os, &seen).close().unwrap();
    });
    if again.failures.is_empty() { Ok(cut) } else { Err(format!("{cut:?}: {:?}", again.failures)) }
}

/// No acknowledged commit is lost, whatever the caller had noted last.
#[test]
fn joining_and_leaving_survive_power_cuts() {
    let mut cuts: Vec<Noted> = Vec::new();
    for seed in 0..4 {
        for cut_after in 1..90 {
            cuts.push(
                join_and_leave(seed, cut_after, None)
                    .unwrap_or_else(|error| panic!("seed {seed}, cut {cut_after}: {error}")),
            );
        }
    }
    for noted in [Noted::Absent, Noted::Joining, Noted::Member, Noted::Leaving] {
        assert!(cuts.contains(&noted), "a cut while the file was {noted:?}");
    }
}

/// The test above detects a log whose new file is not durable, and one whose file leaves although it is needed.
#[test]
fn planted_bugs_of_joining_and_leaving_are_found() {
    for bug in [Bug::JoinBeforeHard, Bug::LeaveWhileNeeded] {
        let all = (0..4).flat_map(|seed| (1..90).map(move |cut_after| (seed, cut_after)));
        let found = all.clone().find(|&(seed, cut)| join_and_leave(seed, cut, Some(bug)).is_err());
        println!("{bug:?} at {found:?}");
        assert!(found.is_some(), "{bug:?} was not seen");
    }
}

/// A log of a megabyte that grows to three, and shrinks.
fn large(directory: &Path) -> LogOptions {
    LogOptions { bytes_max: 8 << 20, growth: Growth::Bytes(512 * KB), ..options(directory) }
}

/// Shrinking removes whole VLFs behind the last VLF in use, but leaves at least two.
#[test]
fn a_log_shrinks_to_what_it_needs() {
    let bench = Workbench::new("files-shrink");
    let directory = bench.path().parent().unwrap().to_owned();
    let log = Log::create(&bench.os, &large(&directory)).unwrap();
    log.grow_to(FIRST_LOG_FILE, 3 << 20).unwrap();
    let vlfs = log.vlfs();
    let third_end = vlfs[2].begin_offset + vlfs[2].size_bytes;
    let last = commit(&log, 1);
    let shrunk = log.shrink_file(FIRST_LOG_FILE, third_end - 1000).unwrap();
    assert_eq!((shrunk.size_bytes, shrunk.is_held_by_use), (third_end, false), "to the end of a VLF");
    assert_eq!(bench.os.disk().read_file(&directory.join("one.ldf")).unwrap().len() as u64, third_end);
    let shrunk = log.shrink_file(FIRST_LOG_FILE, 0).unwrap();
    assert_eq!((shrunk.size_bytes, shrunk.least_bytes), (512 * KB, 512 * KB), "two VLFs stay");
    assert_eq!(log.stats().size_bytes, 512 * KB);
    // A VLF in use at the end keeps the file large; after the log has moved on, it can be removed.
    log.grow_to(FIRST_LOG_FILE, 2 << 20).unwrap();
    let mut newest = last;
    while !log.vlfs().last().unwrap().active {
        newest = commit(&log, 2);
        if log.vlfs().last().unwrap().active {
            break;
        }
    }
    checkpoint(&log, newest);
    let held = log.shrink_file(FIRST_LOG_FILE, 0).unwrap();
    assert!(held.is_held_by_use && held.size_bytes == 2 << 20, "{held:?}");
    assert!(log.move_on().unwrap());
    newest = commit(&log, 3);
    checkpoint(&log, newest);
    let shrunk = log.shrink_file(FIRST_LOG_FILE, 0).unwrap();
    assert_eq!((shrunk.size_bytes, shrunk.is_held_by_use), (512 * KB, false));
    drop(log);
    let (log, tail) = Log::open(&bench.os, &large(&directory)).unwrap();
    assert_eq!(tail.last, newest);
    log.close().unwrap();
}

/// Either copy of the header of a shrunk file is damaged: the other one does not count the removed VLFs.
#[test]
fn a_shrunk_file_opens_with_either_copy_of_its_header() {
    for copy in 0..2 {
        let bench = Workbench::new("files-shrunk-copy");
        let options = large(bench.path().parent().unwrap());
        let log = Log::create(&bench.os, &options).unwrap();
        log.grow_to(FIRST_LOG_FILE, 3 << 20).unwrap();
        let last = commit(&log, 1);
        log.shrink_file(FIRST_LOG_FILE, 0).unwrap();
        drop(log);
        let file = bench.os.disk().open(&options.path, &os::OpenOptions::default()).unwrap();
        file.write_at(&[0xff; 512], copy * 4096, os::WriteMode::Cached).unwrap();
        let (_, tail) = Log::open(&bench.os, &options).unwrap();
        assert_eq!(tail.last, last, "copy {copy}");
    }
}

/// A log grows, shrinks and continues; a power cut follows after so many I/Os of the shrink, which fails first if `fails` is set.
fn shrink_and_go_on(seed: u64, cut_after: u64, fails: bool, bug: Option<Bug>) -> Result<(), String> {
    let world = World::new(seed, Profile::nvme());
    world.plant(bug);
    let acknowledged = Arc::new(Latch::new(LatchRank::Leaf, None));
    let (device, noted) = (world.clone(), Arc::clone(&acknowledged));
    let report = world.run(move |os| {
        os.disk().create_dir_all(Path::new("/data")).unwrap();
        os.disk().sync_dir(Path::new("/")).unwrap();
        let log = Log::create(os, &large(Path::new("/data"))).unwrap();
        log.grow_to(FIRST_LOG_FILE, 3 << 20).unwrap();
        *noted.lock() = Some(commit(&log, 1));
        if fails {
            device.inject(Fault::fail_once(Operation::Harden, 0));
            assert!(log.shrink_file(FIRST_LOG_FILE, 0).is_err(), "the header could not be written");
            device.clear_faults();
            assert_eq!(log.stats().size_bytes, 3 << 20, "it is as large as before");
        }
        device.power_off_after_ios(cut_after);
        log.shrink_file(FIRST_LOG_FILE, 0).unwrap();
        for txn in 2..60 {
            *noted.lock() = Some(commit(&log, txn));
        }
        device.power_off();
    });
    if report.end != End::PowerOff || !report.failures.is_empty() {
        return Err(format!("{:?}: {:?}", report.end, report.failures));
    }
    world.clear_faults();
    world.plant(None);
    let last = *acknowledged.lock();
    let again = world.run(move |os| {
        let (log, tail) = Log::open(os, &large(Path::new("/data"))).expect("the log of a dead process");
        assert!(last.is_none_or(|last| tail.last >= last), "{last:?}, {}", tail.last);
        commit(&log, 99);
        log.close().unwrap();
    });
    if again.failures.is_empty() { Ok(()) } else { Err(format!("{:?}", again.failures)) }
}

const SHRINK_CUTS: [(u64, bool); 7] =
    [(1, false), (2, false), (3, false), (4, false), (5, false), (2, true), (4, true)];

/// Power cuts after each I/O of a shrink and of the growth after it; a header that cannot be written leaves a usable log.
#[test]
fn shrinking_survives_power_cuts_and_failing_headers() {
    for seed in 0..40 {
        for (cut_after, fails) in SHRINK_CUTS {
            shrink_and_go_on(seed, cut_after, fails, None)
                .unwrap_or_else(|error| panic!("seed {seed}, cut {cut_after}, {fails}: {error}"));
        }
    }
}

/// The test above detects a file that is truncated before its header says so.
#[test]
fn a_planted_bug_of_shrinking_is_found() {
    let all = (0..40).flat_map(|seed| SHRINK_CUTS.map(|(cut, fails)| (seed, cut, fails)));
    let bug = Some(Bug::ShrinkBeforeNoted);
    let found = all.into_iter().find(|&(seed, cut, fails)| shrink_and_go_on(seed, cut, fails, bug).is_err());
    println!("ShrinkBeforeNoted at {found:?}");
    assert!(found.is_some(), "not seen");
}

/// Opening a log of 600 VLFs takes little more time than opening one of 4: their headers are read many at once, by virtual time. VLFs of two
/// sizes in turn are found as well.
#[test]
fn a_log_of_many_vlfs_opens_fast() {
    let opening_ns = |steps: u64, step_kb: fn(u64) -> u64| {
        let found = Arc::new(Latch::new(LatchRank::Leaf, 0));
        let answer = Arc::clone(&found);
        let world = World::new(steps, Profile { switches_max: 20_000_000, ..Profile::nvme() });
        let report = world.run(move |os| {
            let directory = Path::new("/data");
            os.disk().create_dir_all(directory).unwrap();
            let large = LogOptions { bytes_max: 1 << 40, ..large(directory) };
            let log = Log::create(os, &large).unwrap();
            for step in 0..steps {
                let present = log.stats().size_bytes;
                log.grow_to(FIRST_LOG_FILE, present + step_kb(step) * KB).unwrap();
            }
            let last = commit(&log, 1);
            let count = log.vlfs().len();
            assert_eq!(count as u64, steps + 2, "two, and one a step");
            log.close().unwrap();
            let began_ns = os.clock().monotonic_ns();
            let (log, tail) = Log::open(os, &large).unwrap();
            *answer.lock() = os.clock().monotonic_ns() - began_ns;
            assert_eq!((tail.last, log.vlfs().len()), (last, count));
            log.close().unwrap();
        });
        report.assert_ok();
        *found.lock()
    };
    let few_ns = opening_ns(2, |_| 256);
    let many_ns = opening_ns(600, |_| 256);
    let in_turn_ns = opening_ns(100, |step| 256 + step % 2 * 64);
    println!("4 VLFs {few_ns} ns, 602 VLFs {many_ns} ns, 102 of two sizes {in_turn_ns} ns");
    // A read takes 10 to 90 us: 602 of them, one after another, 30 ms.
    assert!(many_ns < few_ns + 10_000_000, "{many_ns} ns");
}
