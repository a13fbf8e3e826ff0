//! Commits over several databases: all or nothing, whatever crashes, fails, or is missing (see `decision.rs`).
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use hardpan_engine::{
    Database, DatabaseState, Instance, InstanceOptions, IsolationLevel, SqlResult, TransactionSet,
};
use log::FlushReason;
use os::sim::{Bug, End, Fault, Operation, Profile, World};
use os::{Latch, LatchRank, OpenOptions, Os, WriteMode};
use support::{DATA, all_rows, create_database, create_table, int, item, items, open, options, table};

/// Three user databases; master takes part if a test says so.
const NAMES: [&str; 3] = ["a", "b", "c"];

fn set_up(world: &World) {
    let report = world.run(|os| {
        let instance = open(os);
        for name in NAMES {
            let database = create_database(&instance, name).expect("a new database");
            create_table(&instance, &database, &items("T1"));
        }
        create_table(&instance, &instance.master(), &items("T1"));
        instance.shutdown();
    });
    report.assert_ok();
}

fn databases(instance: &Arc<Instance>, names: &[&str]) -> Vec<Arc<Database>> {
    names.iter().map(|name| instance.database(name).expect("a database that works")).collect()
}

/// A transaction that inserts row `id` into each of the databases, ready to commit.
fn changed(instance: &Arc<Instance>, names: &[&str], id: i32) -> TransactionSet {
    let mut set = TransactionSet::new(instance, 51);
    set.begin_explicit();
    for database in databases(instance, names) {
        let items = table(&database, "T1").expect("the table");
        set.statement_begin();
        let txn = set.in_database(&database, IsolationLevel::ReadCommitted).expect("joins");
        items.insert(txn, &item(id, id, 20)).expect("one row");
        set.statement_end().expect("a statement");
    }
    set
}

fn commit(mut set: TransactionSet) -> SqlResult<()> {
    let result = set.commit(None);
    if result.is_err() {
        let _ = set.rollback();
    }
    result
}

/// The databases in which row `id` is.
fn present(instance: &Arc<Instance>, names: &[&str], id: i64) -> Vec<bool> {
    let has = |database: &Arc<Database>| {
        let items = table(database, "T1").expect("the table");
        all_rows(instance, database, &items).iter().any(|row| int(row, 0) == id)
    };
    databases(instance, names).iter().map(has).collect()
}

/// Decisions that are not removed.
fn decisions(instance: &Arc<Instance>) -> usize {
    let master = instance.master();
    let id = master.catalog().resolve("sys", "sysdecisions").expect("a system table");
    let Some(hardpan_engine::ObjectDef::Table(definition)) = master.catalog().object(id) else {
        panic!("a table")
    };
    all_rows(instance, &master, &master.table(&definition)).len()
}

/// Recovery after a crash: all or nothing, and all when it was acknowledged; every lock is released and every decision removed.
fn judge(world: &World, names: &'static [&'static str], acknowledged: bool) -> Vec<bool> {
    let found = Arc::new(Latch::new(LatchRank::Leaf, Vec::new()));
    let noted = Arc::clone(&found);
    let report = world.run(move |os| {
        let instance = open(os);
        *noted.lock() = present(&instance, names, 7);
        assert_eq!(instance.locks().locked_resource_count(), 0, "what was in doubt holds nothing");
        assert_eq!(decisions(&instance), 0, "what is resolved is forgotten");
        commit(changed(&instance, names, 8)).expect("and work goes on");
        instance.shutdown();
    });
    report.assert_ok();
    let found = found.lock().clone();
    assert!(!acknowledged || found.iter().all(|there| *there), "LOST: {found:?}");
    found
}

/// Runs one commit that `arm` interrupts; returns the databases in which the row is afterwards.
fn cut_off(
    seed: u64,
    names: &'static [&'static str],
    bug: Option<Bug>,
    arm: impl Fn(&World) + Send + Sync + 'static,
) -> (Vec<bool>, bool) {
    let world = World::new(seed, Profile::drawn(seed));
    set_up(&world);
    world.plant(bug);
    let acknowledged = Arc::new(Latch::new(LatchRank::Leaf, false));
    let (device, noted) = (world.clone(), Arc::clone(&acknowledged));
    let report = world.run(move |os| {
        let instance = open(os);
        let set = changed(&instance, names, 7);
        arm(&device);
        commit(set).expect("a healthy disk");
        *noted.lock() = true;
        device.power_off();
    });
    assert!(matches!(report.end, End::PowerOff | End::Killed), "{:?}", report.failures);
    world.disarm();
    world.plant(None);
    let acknowledged = *acknowledged.lock();
    (judge(&world, names, acknowledged && bug.is_none()), acknowledged)
}

/// Power cuts at each I/O of the commit and at its stall points, kills at its stall points: with two and three databases, with master among them.
#[test]
fn a_commit_over_databases_is_atomic_whatever_the_moment_of_the_crash() {
    let (mut none, mut all, mut acknowledged) = (0, 0, 0);
    let mut note = |(found, told): (Vec<bool>, bool)| {
        assert!(found.iter().all(|there| *there == found[0]), "TORN: {found:?}");
        none += u64::from(!found[0]);
        all += u64::from(found[0]);
        acknowledged += u64::from(told);
    };
    for names in [&NAMES[..], &["a", "b"], &["a", "master"], &["master", "c", "b"]] {
        for seed in 0..3 {
            for io in 1..=6 {
                note(cut_off(seed, names, None, move |world| world.power_off_after_ios(io)));
            }
            for switch in [2, 5, 9, 14, 20, 30, 45] {
                note(cut_off(seed, names, None, move |world| world.power_off_after_switches(switch)));
                note(cut_off(seed, names, None, move |world| world.kill_after_switches(switch)));
            }
        }
    }
    assert!(
        none > 50 && all > 50 && acknowledged > 20,
        "{none} undone, {all} committed, {acknowledged} told"
    );
}

/// The oracle finds the bug of a server that decides before all databases are prepared.
#[test]
fn deciding_before_all_are_prepared_is_found() {
    let condemned = (0..60).find(|seed| {
        let (found, told) = cut_off(*seed, &NAMES, Some(Bug::DecideBeforePrepared), |world| {
            world.power_off_after_ios(2);
        });
        found.iter().any(|there| *there != found[0]) || (told && !found[0])
    });
    println!("DecideBeforePrepared at seed {condemned:?}");
    assert!(condemned.is_some(), "a commit that is torn or lost goes unnoticed");
}

/// The cost in flushes: one to prepare in each database but master, one in master to decide, none to end.
#[test]
fn exact_flushes_of_a_commit_over_databases() {
    for names in [&NAMES[..], &["a", "b"], &["a", "master"], &["master", "c", "b"]] {
        let world = World::new(3, Profile::constant_latency());
        set_up(&world);
        world
            .run(move |os| {
                let instance = open(os);
                let all = databases(&instance, &["a", "b", "c", "master"]);
                all.iter().for_each(|database| database.log().suspend_background_flush(true));
                let flushes = |reason: FlushReason| -> Vec<u64> {
                    let of = |database: &Arc<Database>| {
                        database.log().stats().flushes_by_reason_total[reason.index()]
                    };
                    all.iter().map(of).collect()
                };
                let total =
                    || -> u64 { all.iter().map(|database| database.log().stats().flushes_total).sum() };
                let set = changed(&instance, names, 7);
                let before = (flushes(FlushReason::Prepare), flushes(FlushReason::Commit), total());
                commit(set).expect("a healthy disk");
                let after = (flushes(FlushReason::Prepare), flushes(FlushReason::Commit), total());
                for (at, database) in all.iter().enumerate() {
                    let is_master = database.name() == "master";
                    let takes_part = names.contains(&database.name());
                    let prepared = u64::from(takes_part && !is_master);
                    assert_eq!(after.0[at] - before.0[at], prepared, "{}: prepared", database.name());
                    assert_eq!(
                        after.1[at] - before.1[at],
                        u64::from(is_master),
                        "{}: decided",
                        database.name()
                    );
                }
                let prepared = names.iter().filter(|name| **name != "master").count() as u64;
                assert_eq!(after.2 - before.2, prepared + 1, "and no other flush");
                instance.shutdown();
            })
            .assert_ok();
    }
}

/// The cost in time: two waits, one for all prepares together and one for the decision, however many databases take part.
/// Each log is written once.
#[test]
fn a_commit_over_databases_waits_twice_however_many_they_are() {
    let mut times_ns = Vec::new();
    for names in [&["a"][..], &["a", "b"], &NAMES] {
        let world = World::new(3, Profile::constant_latency());
        set_up(&world);
        let time_ns = Arc::new(AtomicU64::new(0));
        let noted = Arc::clone(&time_ns);
        world
            .run(move |os| {
                let instance = open(os);
                let all = databases(&instance, &["a", "b", "c", "master"]);
                all.iter().for_each(|database| database.log().suspend_background_flush(true));
                let writes = || {
                    let files = all.iter().flat_map(|database| database.log().files());
                    files.map(|file| file.stats.writes_total).sum::<u64>()
                };
                let set = changed(&instance, names, 7);
                let (writes_before, began_ns) = (writes(), os.clock().monotonic_ns());
                commit(set).expect("a healthy disk");
                noted.store(os.clock().monotonic_ns() - began_ns, Relaxed);
                let expected = if names.len() == 1 { 1 } else { names.len() as u64 + 1 };
                assert_eq!(writes() - writes_before, expected, "each prepare is one write, and the decision");
                instance.shutdown();
            })
            .assert_ok();
        times_ns.push(time_ns.load(Relaxed));
    }
    let [one, two, three] = times_ns[..] else { panic!("{times_ns:?}") };
    assert!(two < 3 * one && three < 3 * one, "{times_ns:?}: a commit over databases waits twice");
    assert!(three < two + one / 2, "{times_ns:?}: a database more costs no wait more");
}

/// A decision stays as long as an end record is not durable, and is removed by the next decision (or the background) after it is.
#[test]
fn decisions_are_forgotten_when_every_end_is_hard() {
    let world = World::new(4, Profile::nvme());
    set_up(&world);
    world
        .run(|os| {
            let instance = open(os);
            let all = databases(&instance, &["a", "b"]);
            all.iter().for_each(|database| database.log().suspend_background_flush(true));
            commit(changed(&instance, &["a", "b"], 7)).expect("a healthy disk");
            assert_eq!(decisions(&instance), 1, "a crash would ask for it");
            all[0].flush_log().expect("a healthy disk");
            commit(changed(&instance, &["a", "b"], 8)).expect("a healthy disk");
            assert_eq!(decisions(&instance), 1, "the first went with the second's prepared records");
            all.iter().for_each(|database| database.flush_log().expect("a healthy disk"));
            commit(changed(&instance, &["a", "c"], 9)).expect("a healthy disk");
            instance.database("c").unwrap().flush_log().unwrap();
            assert!(decisions(&instance) <= 1, "the second is forgotten");
            instance.shutdown();
        })
        .assert_ok();
    world
        .run(|os| {
            let instance = open(os);
            assert_eq!(decisions(&instance), 0, "a start forgets what an orderly stop has left");
            instance.shutdown();
        })
        .assert_ok();
}

/// A refusal before the decision rolls everything back, also in prepared databases.
#[test]
fn a_database_that_cannot_prepare_takes_all_back() {
    for victim in ["a", "b", "c"] {
        let world = World::new(5, Profile::nvme());
        set_up(&world);
        let device = world.clone();
        world
            .run(move |os| {
                let instance = open(os);
                let set = changed(&instance, &NAMES, 7);
                device.inject(Fault::fail_from(Operation::Write, 0).on(&format!("/{victim}_log.ldf")));
                let error = commit(set).expect_err("its log fails");
                assert_eq!(error.number, 9001, "{error}");
                device.clear_faults();
                for name in NAMES {
                    if name == victim {
                        let error = instance.database(name).err().expect("it is suspect");
                        assert_eq!(error.number, 926, "{error}");
                    } else {
                        assert_eq!(present(&instance, &[name], 7), [false], "{name}");
                    }
                }
            })
            .assert_ok();
        assert_eq!(judge(&world, &NAMES, false), [false; 3], "nothing was decided");
    }
}

/// master fails while it decides: the commit is neither acknowledged nor visible anywhere, and the next start decides for all.
#[test]
fn a_home_that_fails_leaves_all_in_doubt_until_the_next_start() {
    let mut outcomes = [0; 2];
    for seed in 0..12 {
        let world = World::new(seed, Profile::nvme());
        set_up(&world);
        let device = world.clone();
        world
            .run(move |os| {
                let instance = open(os);
                let set = changed(&instance, &NAMES, 7);
                device.inject(Fault::fail_from(Operation::Write, 0).on("/mastlog.ldf"));
                let error = commit(set).expect_err("master cannot decide");
                assert_eq!(error.number, 9001, "{error}");
                for name in NAMES {
                    assert_eq!(
                        instance.database(name).err().map(|e| e.number),
                        Some(926),
                        "{name} is in doubt"
                    );
                }
                let infos = instance.database_infos();
                let info = infos.iter().find(|info| info.name == "a").unwrap();
                assert_eq!(info.state, DatabaseState::Suspect);
                assert!(
                    info.reason.as_ref().is_some_and(|reason| reason.contains("decided")),
                    "{:?}",
                    info.reason
                );
            })
            .assert_ok();
        world.clear_faults();
        let found = judge(&world, &NAMES, false);
        assert!(found.iter().all(|there| *there == found[0]), "TORN: {found:?}");
        outcomes[usize::from(found[0])] += 1;
    }
    println!("undone, committed: {outcomes:?}");
}

/// Leaves `a` and `b` in doubt with the decision made: acknowledged, no end record durable, power lost.
fn crash_in_doubt(world: &World) {
    let device = world.clone();
    let report = world.run(move |os| {
        let instance = open(os);
        databases(&instance, &["a", "b"]).iter().for_each(|d| d.log().suspend_background_flush(true));
        commit(changed(&instance, &["a", "b"], 7)).expect("a healthy disk");
        device.power_off();
    });
    assert_eq!(report.end, End::PowerOff, "{:?}", report.failures);
}

/// One of them cannot be opened at the next start: the decision is kept for it, over starts and clean stops.
#[test]
fn a_decision_waits_for_a_database_that_is_missing() {
    let world = World::new(6, Profile::nvme());
    set_up(&world);
    crash_in_doubt(&world);
    for start in 0..2 {
        world
            .run(move |os| {
                if start == 0 {
                    os.disk().rename(Path::new("/data/b.mdf"), Path::new("/data/away")).unwrap();
                    os.disk().sync_dir(Path::new("/data")).unwrap();
                }
                let instance = open(os);
                assert_eq!(present(&instance, &["a"], 7), [true]);
                assert!(instance.database("b").is_err());
                assert_eq!(decisions(&instance), 1, "b will ask for it");
                instance.shutdown();
            })
            .assert_ok();
    }
    world
        .run(|os| {
            os.disk().rename(Path::new("/data/away"), Path::new("/data/b.mdf")).unwrap();
            os.disk().sync_dir(Path::new("/data")).unwrap();
        })
        .assert_ok();
    assert_eq!(judge(&world, &["a", "b"], true), [true, true]);
}

/// One of them is dropped instead: the decision is removed with it.
#[test]
fn a_decision_goes_with_a_database_that_is_dropped() {
    let world = World::new(7, Profile::nvme());
    set_up(&world);
    crash_in_doubt(&world);
    world
        .run(|os| {
            os.disk().rename(Path::new("/data/b.mdf"), Path::new("/data/away")).unwrap();
            let instance = open(os);
            instance.drop_database("b").expect("a database that cannot be opened can be dropped");
            assert_eq!(decisions(&instance), 1);
            instance.shutdown();
        })
        .assert_ok();
    world
        .run(|os| {
            let instance = open(os);
            assert_eq!(present(&instance, &["a"], 7), [true]);
            assert_eq!(decisions(&instance), 0);
            instance.shutdown();
        })
        .assert_ok();
}

/// The files of a database in doubt under another instance's master: it is not opened, rather than guessed at.
#[test]
fn a_database_in_doubt_is_refused_under_another_master() {
    let world = World::new(8, Profile::nvme());
    set_up(&world);
    crash_in_doubt(&world);
    world
        .run(|os| {
            let other = InstanceOptions { data_dir: "/other".into(), ..options(false) };
            let instance = Instance::open(os, &other).expect("a new instance");
            create_database(&instance, "a").expect("a new database");
            instance.shutdown();
            for file in ["a.mdf", "a.mdf.dwb", "a_log.ldf"] {
                copy(os, &Path::new(DATA).join(file), &Path::new("/other").join(file));
            }
            let instance = Instance::open(os, &other).expect("the other databases work");
            assert_eq!(instance.database("a").err().map(|error| error.number), Some(926));
            let infos = instance.database_infos();
            let info = infos.iter().find(|info| info.name == "a").unwrap();
            assert!(
                info.reason.as_ref().is_some_and(|reason| reason.contains("in doubt")),
                "{:?}",
                info.reason
            );
            instance.shutdown();
        })
        .assert_ok();
}

fn copy(os: &Os, from: &Path, to: &Path) {
    let bytes = os.disk().read_file(from).unwrap();
    let file = os.disk().open(to, &OpenOptions::create()).unwrap();
    file.set_len(bytes.len() as u64).unwrap();
    file.write_at(&bytes, 0, WriteMode::Cached).unwrap();
    file.sync().unwrap();
}

/// tempdb takes no part: with one durable database the commit is an ordinary one, and its changes end with the others'.
#[test]
fn tempdb_takes_no_part() {
    let world = World::new(9, Profile::nvme());
    set_up(&world);
    world
        .run(|os| {
            let instance = open(os);
            let tempdb = instance.tempdb();
            create_table(&instance, &tempdb, &items("T1"));
            let prepared = |database: &Arc<Database>| {
                database.log().stats().flushes_by_reason_total[FlushReason::Prepare.index()]
            };
            commit(changed(&instance, &["a", "tempdb"], 7)).expect("a healthy disk");
            assert_eq!(databases(&instance, &["a", "tempdb"]).iter().map(prepared).sum::<u64>(), 0);
            commit(changed(&instance, &["tempdb", "a", "b"], 8)).expect("a healthy disk");
            assert_eq!(present(&instance, &["tempdb", "a", "b"], 8), [true; 3]);
            assert_eq!(prepared(&tempdb), 0);
            instance.shutdown();
        })
        .assert_ok();
}

/// A database of an earlier version has no table of decisions: it gets one when it is opened.
#[test]
fn an_older_database_gets_the_system_tables_that_it_lacks() {
    const ROOT_BYTES: usize = 6;
    let world = World::new(10, Profile::nvme());
    set_up(&world);
    world
        .run(|os| {
            let instance = open(os);
            for name in ["master", "a"] {
                let space = instance.database(name).unwrap().space().clone();
                let mut boot = space.boot();
                boot.payload[1] -= 1;
                boot.payload.truncate(boot.payload.len() - ROOT_BYTES);
                space.write_boot(&boot).unwrap();
            }
            instance.shutdown();
        })
        .assert_ok();
    assert_eq!(judge(&world, &["a", "b", "master"], false), [false; 3]);
    world
        .run(|os| {
            let instance = open(os);
            assert_eq!(
                present(&instance, &["a", "b", "master"], 8),
                [true; 3],
                "the next start finds it there"
            );
            instance.shutdown();
        })
        .assert_ok();
}
