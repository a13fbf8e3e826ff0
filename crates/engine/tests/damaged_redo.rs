//! Pages of zeros and stale pages under the records of a crash, each page of the file in turn: the database is recovered or SUSPECT, never with a
//! panic, and the others are online; a panic nevertheless is a failure of its database only.
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::path::PathBuf;
use std::sync::Arc;

use hardpan_engine::{Database, DatabaseState, Instance, SqlResult};
use os::sim::{Bug, DiskImage, Profile, World};
use os::{Latch, LatchRank};
use pages::PAGE_BYTES;
use support::{NAME, Session, create_database, create_table, item, items, open};

const OTHER: &str = "other";
const FIRST: i32 = 300;
const SECOND: i32 = 700;

fn fill(instance: &Arc<Instance>, database: &Arc<Database>, ids: std::ops::Range<i32>) -> SqlResult<()> {
    let table = support::table(database, "items").unwrap();
    let mut session = Session::new(instance, database, 51);
    session.autocommit(None, |txn| {
        ids.clone().try_for_each(|id| table.insert(txn, &item(id * 7 % 1_009, id, 300)).map(|_| ()))
    })
}

/// A disk whose server died long after a checkpoint, with the data file as it was at the checkpoint.
struct Crashed {
    image: DiskImage,
    path: PathBuf,
    before: Vec<u8>,
    after: Vec<u8>,
}

fn crashed() -> Crashed {
    let world = World::new(1, Profile::nvme());
    let path = Arc::new(Latch::new(LatchRank::Leaf, PathBuf::new()));
    let told = Arc::clone(&path);
    let made = world.run(move |os| {
        let instance = open(os);
        for name in [NAME, OTHER] {
            let database = create_database(&instance, name).unwrap();
            create_table(&instance, &database, &items("items"));
            fill(&instance, &database, 0..FIRST).unwrap();
        }
        *told.lock() = instance.database(NAME).unwrap().space().files()[0].path.clone();
        instance.shutdown();
    });
    made.assert_ok();
    let path = path.lock().clone();
    let before = world.file_bytes(&path).unwrap();
    let device = world.clone();
    world.run(move |os| {
        let instance = open(os);
        // The other database has no split to redo.
        fill(&instance, &instance.database(NAME).unwrap(), FIRST..SECOND).unwrap();
        device.power_off();
    });
    let after = world.file_bytes(&path).unwrap();
    Crashed { image: world.disk_image(), path, before, after }
}

/// The state of the database at the server; the other one is online, and nothing panics except a planted bug.
fn opened(crashed: &Crashed, damage: impl FnOnce(&World), bug: Option<Bug>) -> DatabaseState {
    let world = World::with_disk(3, Profile::nvme(), crashed.image.clone());
    world.plant(bug);
    damage(&world);
    let found = Arc::new(Latch::new(LatchRank::Leaf, None));
    let told = Arc::clone(&found);
    let report = world.run(move |os| {
        let instance = open(os);
        instance.wait_until_open();
        let state_of =
            |name: &str| instance.database_infos().into_iter().find(|info| info.name == name).unwrap().state;
        assert_eq!(state_of(OTHER), DatabaseState::Online);
        let other = instance.database(OTHER).unwrap();
        fill(&instance, &other, FIRST..FIRST + 5).unwrap();
        *told.lock() = Some(state_of(NAME));
        instance.shutdown();
    });
    report.assert_ok();
    let contained: u64 = world
        .reached()
        .iter()
        .filter(|(place, _)| place.starts_with("panic contained"))
        .map(|(_, count)| count)
        .sum();
    assert_eq!(contained > 0, bug.is_some(), "{contained} panics");
    let state = found.lock().take();
    state.unwrap()
}

#[test]
fn redo_names_a_page_that_is_not_as_the_log_found_it() {
    let crashed = crashed();
    assert_eq!(opened(&crashed, |_| (), None), DatabaseState::Online);
    let (mut suspect, mut stale) = (0, 0);
    for (page, bytes) in crashed.after.chunks_exact(PAGE_BYTES).enumerate() {
        let at = (page * PAGE_BYTES) as u64;
        if bytes.iter().all(|byte| *byte == 0) {
            continue;
        }
        let path = &crashed.path;
        let zeroed = opened(&crashed, |world| world.corrupt(path, at, &[0; PAGE_BYTES]), None);
        suspect += u64::from(zeroed == DatabaseState::Suspect);
        // A lost write of the device: the page is as it was at the start.
        if let Some(old) = crashed.before.get(page * PAGE_BYTES..(page + 1) * PAGE_BYTES)
            && old != bytes
        {
            stale += 1;
            opened(&crashed, |world| world.corrupt(path, at, old), None);
        }
    }
    println!("{suspect} pages make the database suspect, {stale} were stale");
    assert!(suspect > 5, "{suspect}");
}

#[test]
fn a_panic_in_the_recovery_of_a_database_makes_it_suspect_alone() {
    let crashed = crashed();
    assert_eq!(opened(&crashed, |_| (), Some(Bug::RedoOfSplitPanics)), DatabaseState::Suspect);
}
