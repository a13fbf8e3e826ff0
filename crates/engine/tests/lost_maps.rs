//! Allocation maps that were lost: zeros, noise, another page or an older state instead of one. The server names the map and allocates no page of it;
//! a map of zeros whose interval is new is filled by redo.
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::path::PathBuf;
use std::sync::Arc;

use hardpan_engine::{
    CreateDatabaseOptions, DataShrink, Database, DatabaseState, DbTransaction, Instance, NewDatabaseFile,
    ScanOptions, ShrinkAim, SqlResult,
};
use os::sim::{Bug, DiskImage, Profile, World};
use os::{Latch, LatchRank};
use pages::{HEADER_BYTES, PAGE_BYTES, PageBytes, PageType, checksum, header};
use support::{NAME, Session, column, create_table, heap, open};
use types::{SqlType, Value};

/// Pages of an interval, of which the second is the map.
const INTERVAL: u64 = 2_024;
const PAGE: u64 = PAGE_BYTES as u64;

/// Rows of one page each.
fn fill(instance: &Arc<Instance>, database: &Arc<Database>, ids: std::ops::Range<i32>) -> SqlResult<()> {
    let table = support::table(database, "wide").unwrap();
    let mut session = Session::new(instance, database, 51);
    session.autocommit(None, |txn| {
        let row = |id| vec![Value::Int(id), Value::varchar(&"w".repeat(7_000))];
        ids.clone().try_for_each(|id| table.insert(txn, &row(id)).map(|_| ()))
    })
}

fn ids(instance: &Arc<Instance>, database: &Arc<Database>) -> Vec<i64> {
    let table = support::table(database, "wide").unwrap();
    let mut ids: Vec<i64> =
        support::all_rows(instance, database, &table).iter().map(|row| support::int(row, 0)).collect();
    ids.sort_unstable();
    ids
}

/// A disk, and the paths of its database's data files.
#[derive(Clone)]
struct Disk {
    image: DiskImage,
    paths: Vec<PathBuf>,
}

impl Disk {
    /// A database with this number of data files and rows 0..`rows`, stopped cleanly.
    fn new(files: usize, rows: i32) -> Disk {
        let world = World::new(1, Profile::nvme());
        let paths = Arc::new(Latch::new(LatchRank::Leaf, Vec::new()));
        let told = Arc::clone(&paths);
        let made = world.run(move |os| {
            let instance = open(os);
            let data_file = |number: usize| NewDatabaseFile {
                logical_name: Some(format!("data{number}")),
                path: Some(format!("data{number}.mdf")),
                ..NewDatabaseFile::default()
            };
            let options = CreateDatabaseOptions {
                name: NAME.into(),
                data_files: (0..files).map(data_file).collect(),
                ..CreateDatabaseOptions::default()
            };
            let database = instance.create_database(&options).unwrap();
            let columns =
                vec![column("id", SqlType::Int, false), column("v", SqlType::varchar(8_000), false)];
            create_table(&instance, &database, &heap("wide", columns));
            fill(&instance, &database, 0..rows).unwrap();
            *told.lock() = database.space().files().into_iter().map(|file| file.path).collect();
            instance.shutdown();
        });
        made.assert_ok();
        let paths = paths.lock().clone();
        Disk { image: world.disk_image(), paths }
    }

    /// The disk after more rows, and after a clean stop or a power loss.
    fn after(&self, rows: std::ops::Range<i32>, is_orderly: bool) -> Disk {
        let world = World::with_disk(2, Profile::nvme(), self.image.clone());
        let device = world.clone();
        let report = world.run(move |os| {
            let instance = open(os);
            fill(&instance, &instance.database(NAME).unwrap(), rows).unwrap();
            if !is_orderly {
                device.power_off();
            }
            instance.shutdown();
        });
        assert!(report.failures.is_empty(), "{:?}", report.failures);
        Disk { image: world.disk_image(), paths: self.paths.clone() }
    }

    /// The disk after other changes and a clean stop, unless they end with a power loss.
    fn changed(
        &self,
        bug: Option<Bug>,
        change: impl FnOnce(&Arc<Instance>, &Arc<Database>, &World) + Send + 'static,
    ) -> Disk {
        let world = World::with_disk(6, Profile::nvme(), self.image.clone());
        world.plant(bug);
        let device = world.clone();
        let report = world.run(move |os| {
            let instance = open(os);
            instance.wait_until_open();
            change(&instance, &instance.database(NAME).unwrap(), &device);
            instance.shutdown();
        });
        assert!(report.failures.is_empty(), "{:?}", report.failures);
        Disk { image: world.disk_image(), paths: self.paths.clone() }
    }

    /// The disk after the server was opened on it and stopped, whether the database was opened or not.
    fn changed_if_open(&self) -> Disk {
        let world = World::with_disk(7, Profile::nvme(), self.image.clone());
        let report = world.run(|os| {
            let instance = open(os);
            instance.wait_until_open();
            instance.shutdown();
        });
        report.assert_ok();
        Disk { image: world.disk_image(), paths: self.paths.clone() }
    }

    fn page(&self, file: usize, page: u64) -> Vec<u8> {
        self.pages(file, page..page + 1)
    }

    fn pages(&self, file: usize, pages: std::ops::Range<u64>) -> Vec<u8> {
        let world = World::with_disk(3, Profile::nvme(), self.image.clone());
        let bytes = world.file_bytes(&self.paths[file]).unwrap();
        bytes[(pages.start * PAGE) as usize..(pages.end * PAGE) as usize].to_vec()
    }

    fn with_page(&self, file: usize, page: u64, bytes: &[u8]) -> Disk {
        let world = World::with_disk(3, Profile::nvme(), self.image.clone());
        world.corrupt(&self.paths[file], page * PAGE, bytes);
        Disk { image: world.disk_image(), paths: self.paths.clone() }
    }

    fn zeroed(&self, file: usize, page: u64) -> Disk {
        self.with_page(file, page, &[0; PAGE_BYTES])
    }

    /// Opens the server and passes it to `look`.
    fn opened<T: Send + 'static>(&self, look: impl FnOnce(&Arc<Instance>) -> T + Send + 'static) -> T {
        self.opened_with(None, look)
    }

    fn opened_with<T: Send + 'static>(
        &self,
        bug: Option<Bug>,
        look: impl FnOnce(&Arc<Instance>) -> T + Send + 'static,
    ) -> T {
        let world = World::with_disk(4, Profile::nvme(), self.image.clone());
        world.plant(bug);
        let found = Arc::new(Latch::new(LatchRank::Leaf, None));
        let told = Arc::clone(&found);
        let report = world.run(move |os| {
            let instance = open(os);
            instance.wait_until_open();
            *told.lock() = Some(look(&instance));
            instance.shutdown();
        });
        report.assert_ok();
        let found = found.lock().take();
        found.unwrap()
    }

    /// The state of the database, with its reason.
    fn state(&self, bug: Option<Bug>) -> (DatabaseState, String) {
        self.opened_with(bug, |instance| {
            let info = instance.database_infos().into_iter().find(|info| info.name == NAME).unwrap();
            (info.state, info.reason.unwrap_or_default())
        })
    }

    fn assert_names(&self, page: &str, case: &str) {
        let (state, reason) = self.state(None);
        assert_eq!(state, DatabaseState::Suspect, "{case}");
        assert!(reason.contains(page), "{case}: {reason}");
    }

    /// The database is online and sound, with rows 0..`rows`.
    fn assert_sound(&self, rows: i64) {
        let found = self.opened(|instance| {
            let database = instance.database(NAME).unwrap();
            let problems = database.check_allocation().unwrap();
            assert!(problems.is_empty(), "{problems:?}");
            ids(instance, &database)
        });
        assert_eq!(found, (0..rows).collect::<Vec<_>>());
    }
}

/// Any content instead of the map, after a crash and after a clean stop, in the first file and in another.
#[test]
fn a_lost_map_is_named() {
    let stopped = Disk::new(2, 60);
    let crashed = stopped.after(60..120, false);
    for (disk, rows, case) in [(&stopped, 60, "stopped"), (&crashed, 120, "crashed")] {
        disk.assert_sound(rows);
        for (file, map) in [(0, "1:1"), (1, "3:1")] {
            let noise = [0x5a; PAGE_BYTES];
            let (other_map, other_page) = (disk.page(1 - file, 1), disk.page(file, 2));
            for (bytes, what) in [
                (&[0; PAGE_BYTES][..], "zeros"),
                (&noise, "noise"),
                (&other_map, "map"),
                (&other_page, "page"),
            ] {
                disk.with_page(file, 1, bytes).assert_names(map, &format!("{case}, {what} at {map}"));
            }
            // The behaviour when such a map was taken for new: unnoticed until pages were overwritten.
            let believed = disk.zeroed(file, 1).state(Some(Bug::DamagedMapIsFree));
            assert_eq!(believed.0, DatabaseState::Online, "{case}, {map}: {}", believed.1);
        }
    }
}

/// The map of an interval that was added just before the crash is rightly zeros: only redo knows the owners of its pages.
#[test]
fn the_map_of_a_new_interval_is_filled_by_redo() {
    let rows = INTERVAL as i32 - 150;
    let before = Disk::new(1, rows);
    assert!(before.page(0, 2).iter().any(|byte| *byte != 0), "the first interval is in use");
    let more = rows..rows + 400;
    let crashed = before.after(more.clone(), false);
    let map = INTERVAL + 1;
    assert!(crashed.page(0, map).iter().all(|byte| *byte == 0), "the map of the second was not written yet");
    let pages = crashed.pages(0, map + 1..map + 200);
    let stored = pages.chunks_exact(PAGE_BYTES).filter(|page| page.iter().any(|byte| *byte != 0)).count();
    println!("{stored} pages of the new interval are stored");
    crashed.assert_sound(i64::from(more.end));
    // It was in use before the crash: zeros are not its first state.
    let stopped = before.after(more.clone(), true);
    stopped.assert_sound(i64::from(more.end));
    stopped.zeroed(0, map).assert_names("1:2025", "stopped");
    let crashed = stopped.after(more.end..more.end + 40, false);
    crashed.assert_sound(i64::from(more.end) + 40);
    crashed.zeroed(0, map).assert_names("1:2025", "crashed");
}

/// A valid map of an earlier state: not detectable until a page is needed. Then it is refused; the rows stay unchanged.
#[test]
fn no_page_of_somebody_is_given_away_by_an_older_map() {
    for files in [1, 2] {
        let before = Disk::new(files, 60);
        let after = before.after(60..160, true);
        for file in 0..files {
            let lies = after.with_page(file, 1, &before.page(file, 1));
            let found = lies.opened(|instance| {
                let database = instance.database(NAME).unwrap();
                let refused = fill(instance, &database, 1_000..1_400).unwrap_err();
                let shrink = DataShrink { aim: ShrinkAim::Bytes(0), moves: false, cuts: true };
                let number = database.space().files().last().unwrap().file_id;
                let shrunk = instance.shrink_data_file(&database, number, shrink, 0);
                let first = instance.shrink_data_file(&database, 1, shrink, 0);
                let is_refused = shrunk.is_err() || first.is_err();
                let problems = database.check_allocation().unwrap();
                ((refused.number, refused.to_string()), is_refused, problems.len(), ids(instance, &database))
            });
            let ((number, text), is_refused, problems, rows) = found;
            assert_eq!(number, 824, "{text}");
            let map = ["1:1", "3:1"][file];
            assert!(text.contains(map), "{text}");
            assert!(is_refused && problems > 0, "{is_refused}, {problems} problems");
            assert_eq!(rows, (0..160).collect::<Vec<_>>());
        }
    }
}

/// A table is being dropped when a checkpoint runs and the power fails: redo has no record of its pages, undo keeps them. In a lost map they
/// have no owner, and undo does not rebuild the map.
#[test]
fn undo_names_a_lost_map() {
    let stopped = Disk::new(1, 60);
    let world = World::with_disk(5, Profile::nvme(), stopped.image.clone());
    let device = world.clone();
    world.run(move |os| {
        let instance = open(os);
        let database = instance.database(NAME).unwrap();
        let table = support::table(&database, "wide").unwrap();
        let mut session = Session::new(&instance, &database, 51);
        session.set.begin_explicit();
        session.statement(|txn| database.drop_table(txn, table.definition())).unwrap();
        database.checkpoint().unwrap();
        device.power_off();
    });
    let crashed = Disk { image: world.disk_image(), paths: stopped.paths.clone() };
    crashed.assert_sound(60);
    crashed.zeroed(0, 1).assert_names("1:1", "undo");
}

/// A map of zeros, all of whose pages were changed after the first record with which redo fills it: only the end of redo shows that it was lost.
/// An earlier interrupted recovery may have written it.
#[test]
fn a_map_that_a_recovery_has_begun_to_fill_is_named() {
    let first = INTERVAL as i32 - 150;
    let end = first + 220;
    let crashed =
        Disk::new(1, first).after(first..end, true).changed(None, move |instance, database, device| {
            fill(instance, database, end..end + 3).unwrap();
            let table = support::table(database, "wide").unwrap();
            let base = table.definition().base().index_id;
            let mut session = Session::new(instance, database, 51);
            let delete = |txn: &DbTransaction| -> SqlResult<()> {
                let mut cursor = table.scan(txn, base, &ScanOptions::default(), None)?;
                let (mut row, mut found) = (Vec::new(), Vec::new());
                while cursor.next(txn, &mut row)? {
                    if support::int(&row, 0) >= i64::from(first - 100) {
                        found.push((cursor.locator()?, row.clone()));
                    }
                }
                found.iter().try_for_each(|(locator, old)| table.delete(txn, locator, old))
            };
            session.autocommit(None, delete).unwrap();
            fill(instance, database, end + 3..end + 6).unwrap();
            // Reading more pages than memory holds causes writes of changed pages.
            assert_eq!(ids(instance, database).len() as i32, first - 100 + 3);
            device.power_off();
        });
    let map = INTERVAL + 1;
    let zeroed = crashed.zeroed(0, map);
    zeroed.assert_names("1:2025", "zeros");
    let filled = zeroed.changed(Some(Bug::DamagedMapIsFree), |_, _, _| {}).page(0, map);
    assert!(filled.iter().any(|byte| *byte != 0), "redo has filled it");
    crashed.with_page(0, map, &filled).assert_names("1:2025", "begun");
}

/// A valid map of an earlier state, after a power loss: redo adds its changes to the map, which is then newer than the pages that it does not know.
#[test]
fn recovery_names_an_older_map() {
    for files in [1, 2] {
        let before = Disk::new(files, 60);
        let after = before.after(60..160, true);
        let crashed = after.after(160..200, false);
        crashed.assert_sound(200);
        for file in 0..files {
            // The newest durable state is sound; the older one was followed by it.
            crashed.with_page(file, 1, &after.page(file, 1)).assert_sound(200);
            let map = ["1:1", "3:1"][file];
            crashed.with_page(file, 1, &before.page(file, 1)).assert_names(map, &format!("{files} files"));
        }
    }
}

/// A map of an earlier time that somebody would change before anybody asks for a page: with that it would be newer than the pages that it does not know,
/// for the next life at the latest. Nothing is changed, so that the next life knows as much.
#[test]
fn an_older_map_is_not_changed() {
    let before =
        Disk::new(1, 60).changed(None, |instance, database, _| make(instance, database, "small", 0..1));
    let after = before.after(60..160, true);
    let lies = after.with_page(0, 1, &before.page(0, 1));
    let tried = lies.changed(None, |instance, database, _| {
        let small = support::table(database, "small").unwrap();
        let mut session = Session::new(instance, database, 51);
        let dropped = session.autocommit(None, |txn| database.drop_table(txn, small.definition()));
        let refused = dropped.unwrap_err();
        assert!(refused.number == 824 && refused.to_string().contains("1:1"), "{refused}");
    });
    let (number, text, rows) = tried.opened(|instance| {
        let database = instance.database(NAME).unwrap();
        let refused = fill(instance, &database, 1_000..1_400).unwrap_err();
        assert!(!database.check_allocation().unwrap().is_empty());
        (refused.number, refused.to_string(), ids(instance, &database))
    });
    assert!(number == 824 && text.contains("1:1"), "{number}: {text}");
    assert_eq!(rows, (0..160).collect::<Vec<_>>());
}

/// Makes a heap with a row for each number.
fn make(instance: &Arc<Instance>, database: &Arc<Database>, name: &str, ids: std::ops::Range<i32>) {
    let columns = vec![column("id", SqlType::Int, false), column("v", SqlType::varchar(8_000), false)];
    create_table(instance, database, &heap(name, columns));
    let table = support::table(database, name).unwrap();
    let mut session = Session::new(instance, database, 51);
    let row = |id| vec![Value::Int(id), Value::varchar(&"m".repeat(7_000))];
    session
        .autocommit(None, |txn| ids.clone().try_for_each(|id| table.insert(txn, &row(id)).map(|_| ())))
        .unwrap();
}

/// A heap that was made after the older map was written has no page by it. It is not taken for one that was dropped.
#[test]
fn no_page_of_a_younger_heap_is_given_away_by_an_older_map() {
    let before = Disk::new(1, 60);
    let after = before.changed(None, |instance, database, _| make(instance, database, "late", 0..40));
    let lies = after.with_page(0, 1, &before.page(0, 1));
    let (problems, (number, text), late) = lies.opened(|instance| {
        let database = instance.database(NAME).unwrap();
        let problems = database.check_allocation().unwrap();
        let refused = fill(instance, &database, 1_000..1_400).unwrap_err();
        let table = support::table(&database, "late").unwrap();
        let late = support::all_rows(instance, &database, &table).len();
        (problems.len(), (refused.number, refused.to_string()), late)
    });
    assert!(problems > 0 && number == 824 && text.contains("1:1"), "{problems} problems, {number}: {text}");
    assert_eq!(late, 40);
    // As long as a heap that its map does not know was taken for one that was dropped, its pages were given away.
    lies.opened_with(Some(Bug::YoungHeapIsDropped), |instance| {
        fill(instance, &instance.database(NAME).unwrap(), 1_000..1_400).unwrap();
    });
    // After a crash, too: redo has come to the map.
    let crashed = after.after(60..90, false);
    crashed.assert_sound(90);
    let lies = crashed.with_page(0, 1, &before.page(0, 1));
    lies.assert_names("1:1", "crashed");
    // The recovery that was refused has left nothing that the next one would believe.
    lies.changed_if_open().assert_names("1:1", "crashed, once more");
}

/// What the ghost cleanup of earlier servers did: a page of a heap that was dropped is newer than its map. It is given away.
#[test]
fn a_page_of_a_dropped_heap_tells_nothing() {
    let with_heap =
        Disk::new(1, 60).changed(None, |instance, database, _| make(instance, database, "gone", 0..40));
    let dropped = with_heap.changed(None, |instance, database, _| {
        let table = support::table(database, "gone").unwrap();
        let mut session = Session::new(instance, database, 51);
        session.autocommit(None, |txn| database.drop_table(txn, table.definition())).unwrap();
    });
    // One of its pages, as if it had been changed since.
    let bytes = |disk: &Disk, page: u64| PageBytes::try_from(disk.page(0, page)).unwrap();
    let map = bytes(&dropped, 1);
    let is_page_of_gone = |page: &u64| {
        let entry = &map[HEADER_BYTES + 4 * *page as usize..][..4];
        header::page_type(&bytes(&with_heap, *page)) == PageType::Heap && entry == [0; 4]
    };
    let page = (10..128).find(is_page_of_gone).expect("a free page that was of a heap");
    let mut changed = bytes(&with_heap, page);
    changed[8..16].copy_from_slice(&(header::lsn(&map).raw() + 1).to_le_bytes());
    checksum::stamp(&mut changed);
    dropped.with_page(0, page, &changed).opened(|instance| {
        let database = instance.database(NAME).unwrap();
        assert_eq!(database.check_allocation().unwrap(), []);
        fill(instance, &database, 60..300).unwrap();
        assert_eq!(ids(instance, &database), (0..300).collect::<Vec<_>>());
    });
}

/// A map of when a table was being dropped, which was rolled back: it says that the pages of the table are to be freed.
#[test]
fn no_page_of_a_table_is_freed_by_the_mark_of_an_older_map() {
    let being_dropped = Disk::new(1, 60).changed(None, |instance, database, device| {
        let table = support::table(database, "wide").unwrap();
        let mut session = Session::new(instance, database, 51);
        session.set.begin_explicit();
        session.statement(|txn| database.drop_table(txn, table.definition())).unwrap();
        database.checkpoint().unwrap();
        device.power_off();
    });
    let kept = being_dropped.changed(None, |_, _, _| {});
    kept.assert_sound(60);
    let lies = kept.with_page(0, 1, &being_dropped.page(0, 1));
    // At the second start, too.
    for lies in [lies.clone(), lies.changed(None, |_, _, _| {})] {
        lies.opened(|instance| {
            let database = instance.database(NAME).unwrap();
            assert!(database.check_allocation().unwrap().len() >= 60, "each page of the table is told");
            fill(instance, &database, 60..300).unwrap();
            assert_eq!(ids(instance, &database), (0..300).collect::<Vec<_>>());
        });
    }
    // Dropped, its pages are free at the next start.
    let dropped = lies.changed(None, |instance, database, _| {
        let table = support::table(database, "wide").unwrap();
        let mut session = Session::new(instance, database, 51);
        session.autocommit(None, |txn| database.drop_table(txn, table.definition())).unwrap();
    });
    dropped.opened(|instance| {
        assert_eq!(instance.database(NAME).unwrap().check_allocation().unwrap(), []);
    });
}
