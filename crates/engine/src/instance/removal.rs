//! File removal, and the entries in master until a removal is durable: DROP DATABASE, a CREATE DATABASE that failed, and the work that a start
//! finds of both; REMOVE FILE and a file that could not be added.
//!
//! ```text
//!  master: Dropping (or Creating) ─► files removed, folder synced ─► master: nothing
//!                                  └─ not removed, or the folder's sync failed ─► lingering: tried again at the next CREATE or start
//! ```
//! While an entry lingers, its files may be back after a power loss, and the next start removes them by their names. So its number is not free, and
//! no other file may be created at a path that an entry names, whether a file exists there or not: the next start would remove it.

use std::path::{Path, PathBuf};

use super::Instance;
use crate::database::Database;
use crate::error::SqlResult;
use crate::registry::{DatabaseDataFile, Entry, FilePhase, Phase};
use crate::system_databases::FIRST_USER_DATABASE;

impl Instance {
    /// Removes the files of a database that master lists as being created or dropped; its entry is deleted when that is durable, and lingers until
    /// then.
    ///
    /// # Errors
    /// Those of master; the entry lingers then, too.
    pub(super) fn finish_removal(&self, entry: Entry) -> SqlResult<()> {
        assert!(matches!(entry.phase, Phase::Creating | Phase::Dropping), "{} is there", entry.name);
        let number = entry.number;
        let is_hard = self.remove_files(&entry);
        self.lingering.lock().insert(number, entry);
        if is_hard {
            self.forget_entry(number)?;
            self.lingering.lock().remove(&number);
        }
        Ok(())
    }

    /// CREATE DATABASE has failed while it created files: removes them. When master itself has failed, its entry of the database is unknown; the next
    /// start finds the database complete or removes it.
    pub(super) fn undo_creation(&self, mut entry: Entry) -> SqlResult<()> {
        entry.phase = Phase::Creating;
        if self.master().check_usable().is_err() {
            self.lingering.lock().insert(entry.number, entry);
            return Ok(());
        }
        self.finish_removal(entry)
    }

    /// Retries removals that are not durable, before files are created. The caller prevents other changes.
    pub(super) fn retry_removals(&self) {
        let lingering: Vec<Entry> = self.lingering.lock().values().cloned().collect();
        for entry in lingering {
            let name = entry.name.clone();
            if let Err(error) = self.finish_removal(entry) {
                os::report::warn("engine", &format!("the removed database {name} is still noted: {error}"));
            }
        }
        self.databases().iter().for_each(|database| self.retry_files(database));
    }

    /// Retries the removals of single files of a database.
    fn retry_files(&self, database: &Database) {
        let Ok(mut entry) = self.entry_of(database) else { return };
        let in_use = database.space().files();
        let is_used = |file: &DatabaseDataFile| {
            file.phase == FilePhase::Leaving && in_use.iter().any(|used| used.file_id == file.number)
        };
        // A data file that could not be released is still read.
        if are_settled(&entry) || database.check_usable().is_err() || entry.data_files.iter().any(is_used) {
            return;
        }
        if let Err(error) = self.settle_files(&mut entry) {
            let name = database.name();
            return os::report::warn("engine", &format!("a removed file of {name} is still noted: {error}"));
        }
        if let Some(slot) = self.databases.lock().get_mut(&entry.number) {
            slot.entry = entry;
        }
    }

    /// The lowest number that no database has, not even one whose removal is not durable.
    pub(super) fn free_number(&self) -> u16 {
        let lingering: Vec<u16> = self.lingering.lock().keys().copied().collect();
        let slots = self.databases.lock();
        (FIRST_USER_DATABASE..u16::MAX)
            .find(|number| !slots.contains_key(number) && !lingering.contains(number))
            .expect("fewer databases than numbers")
    }

    /// Is a path not usable for a new file: does a file exist there, or does an entry name it for a file that may come back or is absent at the
    /// moment?
    pub(super) fn is_taken<'a>(&self, path: &Path, mut planned: impl Iterator<Item = &'a Path>) -> bool {
        planned.any(|other| other == path) || self.os().disk().exists(path) || self.is_noted(path)
    }

    fn is_noted(&self, path: &Path) -> bool {
        let slots: Vec<(Entry, bool)> = self
            .databases
            .lock()
            .values()
            .map(|slot| (slot.entry.clone(), slot.database.is_some()))
            .collect();
        let lingering =
            self.lingering.lock().values().map(|entry| (entry.clone(), false)).collect::<Vec<_>>();
        slots.into_iter().chain(lingering).any(|(entry, is_open)| {
            // The links of a database that has not been opened have not been followed.
            let leads_there = |file: &PathBuf| {
                let real = || self.places.admit_removal(self.os().disk(), file);
                file == path || !is_open && real().is_ok_and(|real| real == path)
            };
            entry.files().iter().any(leads_there)
        })
    }

    /// A file could not be created: is its absence durable? False if a file exists there: it belongs to another database.
    pub(super) fn is_absent_for_good(&self, path: &Path) -> bool {
        let disk = self.os().disk();
        let folder = path.parent().filter(|folder| disk.exists(folder));
        disk.exists(path) || folder.is_none_or(|folder| disk.sync_dir(folder).is_ok())
    }

    /// Removes a database's files; a missing file is no error. A file outside the allowed folders stays: an entry of
    /// master may be older than the rule, or the folder's flag may be missing. False when one of the others may still exist, or come back.
    fn remove_files(&self, entry: &Entry) -> bool {
        let mut is_hard = true;
        for file in entry.files() {
            let real = match self.places.admit_removal(self.os().disk(), &file) {
                Ok(real) => real,
                Err(error) => {
                    warn_of_outsider(&entry.name, &error);
                    continue;
                }
            };
            if let Some(folder) = self.foundation.log_cache_folder.as_ref()
                && file == entry.log_files[0].path
            {
                log::remove_left_cache(self.os(), folder, &real);
            }
            if entry.buffer().is_some_and(|buffer| buffer.path == file)
                && let Err(error) = self.os().remove_persistent_memory(&real)
            {
                os::report::warn("engine", &format!("{} was not removed: {error}", real.display()));
            }
            is_hard &= self.remove_admitted(&real);
        }
        is_hard
    }

    /// Removes one file; false when it may still exist, or come back.
    pub(super) fn remove_one(&self, database: &str, file: &Path) -> bool {
        match self.places.admit_removal(self.os().disk(), file) {
            Ok(real) => self.remove_admitted(&real),
            Err(error) => {
                warn_of_outsider(database, &error);
                false
            }
        }
    }

    fn remove_admitted(&self, file: &Path) -> bool {
        let disk = self.os().disk();
        if let Err(error) = disk.remove(file)
            && disk.exists(file)
        {
            os::report::warn("engine", &format!("{} was not removed: {error}", file.display()));
            return false;
        }
        // Also when it was absent before: the process that removed it may have died before that was durable.
        match file.parent().map_or(Ok(()), |folder| disk.sync_dir(folder)) {
            Err(error) if file.parent().is_some_and(|folder| disk.exists(folder)) => {
                let file = file.display();
                os::report::warn("engine", &format!("the removal of {file} may not last: {error}"));
                false
            }
            _ => true,
        }
    }
}

fn warn_of_outsider(database: &str, error: &os::IoError) {
    os::report::warn("engine", &format!("a file of {database} was not removed: {error}"));
}

/// Is none of its files joining or leaving?
pub(super) fn are_settled(entry: &Entry) -> bool {
    let stays = |phase: FilePhase| matches!(phase, FilePhase::Member | FilePhase::Buffer);
    let mut phases =
        entry.data_files.iter().map(|file| file.phase).chain(entry.log_files.iter().map(|file| file.phase));
    phases.all(stays)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test")]
mod tests {
    use std::sync::Arc;

    use os::Os;
    use os::sim::{End, Fault, Operation, Profile, World};

    use super::*;
    use crate::instance::{CreateDatabaseOptions, InstanceOptions, NewDatabaseFile};

    const APART: &str = "apart";

    fn open(os: &Os) -> Arc<Instance> {
        Instance::open(os, &InstanceOptions::new("data")).unwrap()
    }

    /// In a folder of its own, whose syncs the test can make fail.
    fn create(instance: &Arc<Instance>, name: &str) -> SqlResult<Arc<Database>> {
        let file = |end: &str| NewDatabaseFile {
            path: Some(format!("{APART}/{name}.{end}")),
            ..NewDatabaseFile::default()
        };
        let (data_files, log_files) = (vec![file("mdf")], vec![file("ldf")]);
        instance.create_database(&CreateDatabaseOptions { name: name.into(), data_files, log_files })
    }

    /// The database that stays, in the data directory.
    fn create_other(instance: &Arc<Instance>) {
        let new = CreateDatabaseOptions { name: "other".into(), ..Default::default() };
        instance.create_database(&new).unwrap();
    }

    fn add(instance: &Arc<Instance>, database: &str, logical_name: &str, path: &str) -> SqlResult<()> {
        let new = NewDatabaseFile {
            logical_name: Some(logical_name.into()),
            path: Some(path.into()),
            ..NewDatabaseFile::default()
        };
        instance.add_data_files(database, &[new])
    }

    fn no_sync(world: &World) {
        world.inject(Fault::fail_from(Operation::Sync, 0).on(APART));
    }

    /// Nothing of the database called `gone` is left, neither a file nor an entry; `other` is complete.
    fn judge(world: &World, seed: u64) {
        world.clear_faults();
        world
            .run(move |os| {
                let instance = open(os);
                assert!(instance.slot_named("gone").is_none(), "seed {seed}: it is back");
                let other = instance.database("other");
                assert!(other.is_ok(), "seed {seed}: {:?}", other.err());
                drop(other);
                assert!(instance.lingering.lock().is_empty(), "seed {seed}: the entry is still there");
                instance.shutdown();
            })
            .assert_ok();
        let left = |file: &PathBuf| file.to_string_lossy().contains("gone");
        let left: Vec<_> = world.files().into_iter().filter(left).collect();
        assert!(left.is_empty(), "seed {seed}: {left:?}");
    }

    /// Power loss after the work, while the server that it returns still runs.
    fn until_power_off(world: &World, work: impl FnOnce(&Os, &World) -> Arc<Instance> + Send + 'static) {
        let failing = world.clone();
        let report = world.run(move |os| {
            let _running = work(os, &failing);
            failing.power_off();
        });
        assert_eq!(report.end, End::PowerOff, "{:?}", report.failures);
    }

    fn worlds(body: impl Fn(u64, &World)) {
        for seed in 0..12 {
            let world = World::new(seed, Profile::drawn(seed));
            world.run(|os| open(os).shutdown()).assert_ok();
            body(seed, &world);
        }
    }

    /// The folder's sync fails while a database is dropped. Another database is created, which must not get the number whose entry is still needed;
    /// after a power loss the files are back.
    #[test]
    fn a_dropped_database_is_forgotten_when_its_removal_is_hard() {
        worlds(|seed, world| {
            until_power_off(world, move |os, failing| {
                let instance = open(os);
                create(&instance, "gone").unwrap();
                no_sync(failing);
                instance.drop_database("gone").unwrap();
                failing.clear_faults();
                // In every other world the removal is retried, and succeeds.
                if seed % 2 == 0 {
                    no_sync(failing);
                }
                create_other(&instance);
                instance
            });
            judge(world, seed);
        });
    }

    /// While the removal is not durable, the paths of its files are taken, for databases and for single files; the next start would remove a file
    /// created there. When the folder can be synced again, the paths are free.
    #[test]
    fn the_places_of_files_that_may_come_back_are_taken() {
        worlds(|seed, world| {
            let failing = world.clone();
            let report = world.run(move |os| {
                let instance = open(os);
                create(&instance, "gone").unwrap();
                create(&instance, "other").unwrap();
                no_sync(&failing);
                instance.drop_database("gone").unwrap();
                let number_of = |result: SqlResult<()>| result.err().map(|error| error.number);
                assert_eq!(number_of(create(&instance, "gone").map(drop)), Some(5170));
                assert_eq!(number_of(add(&instance, "tempdb", "more", "apart/gone.mdf")), Some(5170));
                failing.clear_faults();
                let free = instance.free_number();
                let number = create(&instance, "gone").unwrap().number();
                assert!(instance.lingering.lock().is_empty());
                assert!(number < free, "its own number is free again");
                instance.shutdown();
            });
            report.assert_ok();
            let report = world.run(|os| {
                let instance = open(os);
                assert!(instance.database("gone").is_ok(), "it was made anew");
                instance.drop_database("gone").unwrap();
                instance.shutdown();
            });
            report.assert_ok();
            judge(world, seed);
        });
    }

    /// A file was removed from its database, but not durably: the next start would remove a file created at its path.
    #[test]
    fn the_place_of_a_removed_file_is_taken_until_that_is_hard() {
        worlds(|seed, world| {
            let failing = world.clone();
            let report = world.run(move |os| {
                let instance = open(os);
                create_other(&instance);
                add(&instance, "other", "second", "apart/gone.ndf").unwrap();
                no_sync(&failing);
                instance.remove_file("other", "second").unwrap();
                let refused = add(&instance, "other", "third", "apart/gone.ndf").unwrap_err();
                assert_eq!(refused.number, 5170);
                failing.clear_faults();
                add(&instance, "other", "third", "apart/gone.ndf").unwrap();
                instance.shutdown();
            });
            report.assert_ok();
            let report = world.run(|os| {
                let instance = open(os);
                let files = instance.database("other").unwrap().space().files().len();
                assert_eq!(files, 2, "the third is the second's heir");
                instance.remove_file("other", "third").unwrap();
                instance.shutdown();
            });
            report.assert_ok();
            judge(world, seed);
        });
    }

    /// A file could not be created, and its absence is not durable: it is removed before another is created there, or at the next start.
    #[test]
    fn a_file_that_could_not_be_added_does_not_come_back() {
        worlds(|seed, world| {
            until_power_off(world, |os, failing| {
                let instance = open(os);
                create_other(&instance);
                os.disk().create_dir_all(Path::new("data/apart")).unwrap();
                os.disk().sync_dir(Path::new("data")).unwrap();
                no_sync(failing);
                assert_eq!(add(&instance, "other", "second", "apart/gone.ndf").unwrap_err().number, 5123);
                instance
            });
            judge(world, seed);
        });
    }
}
