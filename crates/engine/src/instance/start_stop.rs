//! Start and stop of an instance: several threads open and close its databases; the server accepts connections before all users' databases are open.
//!
//! ```text
//!  open_system_databases (master, model) ─► make_tempdb ─► open_others: RECOVERING ─open_one─► ONLINE, SUSPECT or RECOVERY_PENDING
//!  shutdown: wait_until_open (no further one is begun) ─► close_others ─► tempdb, model, master
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use log::LogOptions;
use os::{JoinHandle, Latch, LatchRank};

use super::{Instance, Slot, new_files};
use crate::catalog::system_tables;
use crate::decision::{self, Decision, Known};
use crate::error::StorageError;
use crate::open::{DatabaseSpec, read_system_tables};
use crate::registry::{self, Entry, Phase};
use crate::system_databases::{FIRST_USER_DATABASE, MASTER, MODEL, TEMPDB};

/// How many databases are opened or closed at the same time: each mostly waits for the disk.
const AT_ONCE_MAX: usize = 16;

impl Instance {
    /// Every later start: master lists the databases. Master and model are open afterwards; the others are listed as recovering
    /// and returned.
    pub(super) fn open_system_databases(self: &Arc<Self>) -> Result<Vec<Entry>, StorageError> {
        let (spec, entry) = self.system_spec(MASTER);
        let master = self.foundation.open(&spec, &Known::default())?;
        let rows = read_system_tables(&master)?;
        self.insert(Slot::online(entry, master));
        let mut waiting = Vec::new();
        for entry in registry::load(&rows[system_tables::DATABASES], &self.data_dir)? {
            match entry.phase {
                _ if entry.number == MASTER => {}
                // The entry lists its files: `make_tempdb` creates them anew.
                _ if entry.number == TEMPDB => self.insert(Slot::offline(entry)),
                Phase::Creating | Phase::Dropping => {
                    self.finish_removal(entry).map_err(|error| StorageError::Catalog(error.to_string()))?;
                }
                Phase::Offline => self.insert(Slot::offline(entry)),
                Phase::Present if entry.number == MODEL => self.open_one(entry),
                Phase::Present => {
                    self.insert(Slot::recovering(entry.clone()));
                    waiting.push(entry);
                }
            }
        }
        Ok(waiting)
    }

    /// Begins to open databases, each on one of several threads. The thread that opens the last one removes the decisions that none of them needs
    /// any more.
    pub(super) fn open_others(self: &Arc<Self>, waiting: Vec<Entry>) -> Result<(), StorageError> {
        let left = decision::left_over(&self.master())?;
        if waiting.is_empty() {
            return self.forget_resolved(left);
        }
        let (to_open, left) = (AtomicUsize::new(waiting.len()), Latch::new(LatchRank::Leaf, left));
        let instance = self.clone();
        let openers = in_parallel(self.os(), "DATABASE STARTUP", waiting, move |entry| {
            // A stop has begun: the database is left as it is, and so are the decisions.
            if instance.is_shut_down.load(Ordering::Acquire) {
                return;
            }
            instance.open_one(entry);
            if to_open.fetch_sub(1, Ordering::AcqRel) == 1 {
                let left = std::mem::take(&mut *left.lock());
                if let Err(error) = instance.forget_resolved(left) {
                    os::report::warn("engine", &format!("old decisions were not forgotten: {error}"));
                }
            }
        });
        *self.openers.lock() = openers;
        Ok(())
    }

    /// Waits until every database has been opened, or has failed to open.
    pub fn wait_until_open(&self) {
        let openers = std::mem::take(&mut *self.openers.lock());
        join_all(openers, "a database's start");
    }

    fn open_one(self: &Arc<Self>, mut entry: Entry) {
        if let Err(error) = self.follow_links(&mut entry) {
            return self.insert_refused(entry, &error.into());
        }
        if let Err(error) = self.settle_files(&mut entry) {
            return self.insert_refused(entry, &StorageError::Catalog(error.to_string()));
        }
        let log = new_files::log_options(&entry.log_files, &[], &entry.name, entry.options.vlf_rule);
        let persisted = entry.buffer().map(|buffer| self.persisted_options(&buffer.path));
        let spec = DatabaseSpec {
            number: entry.number,
            name: entry.name.clone(),
            created: entry.created,
            options: entry.options.clone(),
            data_files: new_files::members(&entry.data_files).map(|file| self.data_file_of(file)).collect(),
            log: LogOptions { persisted, ..log },
            volatile: false,
        };
        let opened = Known::of(&self.master()).and_then(|known| self.foundation.open(&spec, &known));
        match opened {
            Ok(database) => self.insert(Slot::online(entry, database)),
            Err(error) => self.insert_refused(entry, &error),
        }
    }

    /// Resolves the links of the files' paths in an entry; refuses files outside the allowed folders.
    fn follow_links(&self, entry: &mut Entry) -> Result<(), os::IoError> {
        let disk = self.os().disk();
        let data = entry.data_files.iter_mut().map(|data| &mut data.path);
        for file in data.chain(entry.log_files.iter_mut().map(|log| &mut log.path)) {
            *file = self.places.admit(disk, file)?;
        }
        Ok(())
    }

    fn insert_refused(&self, entry: Entry, error: &StorageError) {
        let slot = Slot::refused(entry, error);
        let (name, state) = (&slot.entry.name, slot.state.description());
        os::report::error("engine", &format!("database {name} is {state}: {error}"));
        self.insert(slot);
    }

    /// Clean stop: background threads end, every database drains its log, writes its pages and closes. No delayed commit is lost. It waits for a
    /// recovery that runs; a database whose recovery has not begun is left as it is.
    pub fn shutdown(&self) {
        if self.is_shut_down.swap(true, Ordering::AcqRel) {
            return;
        }
        let background = self.background.lock().take();
        if let Some(background) = background {
            background.checkpointer.stop();
            background.ghost_cleanup.stop();
            background.lazy_writer.stop();
        }
        self.wait_until_open();
        let databases = std::mem::take(&mut *self.databases.lock());
        let open = databases.into_values().filter_map(|slot| slot.database);
        let (users, system): (Vec<_>, Vec<_>) = open.partition(|one| one.number() >= FIRST_USER_DATABASE);
        join_all(in_parallel(self.os(), "DATABASE SHUTDOWN", users, close), "a database's stop");
        // master last: it lists the others.
        system.into_iter().rev().for_each(close);
        drop(self.lock.lock().take());
    }
}

fn close(database: Arc<crate::Database>) {
    if let Err(error) = crate::shutdown::close_database(&database) {
        os::report::error("engine", &format!("closing {}: {error}", database.name()));
    }
}

/// Runs `work` for each item of `list`, on as many threads as are useful.
fn in_parallel<T: Send + 'static>(
    os: &os::Os,
    name: &str,
    list: Vec<T>,
    work: impl Fn(T) + Send + Sync + 'static,
) -> Vec<JoinHandle> {
    let threads = list.len().min(AT_ONCE_MAX);
    let (queue, work) = (Arc::new(Latch::new(LatchRank::Leaf, list)), Arc::new(work));
    let begin = |_| {
        let (queue, work) = (queue.clone(), work.clone());
        os.spawn(name, move || {
            loop {
                let Some(next) = queue.lock().pop() else { break };
                work(next);
            }
        })
    };
    (0..threads).map(begin).collect()
}

fn join_all(threads: Vec<JoinHandle>, what: &str) {
    for thread in threads {
        if thread.join().is_err() {
            os::report::error("engine", &format!("{what} ended in a panic"));
        }
    }
}

impl Instance {
    /// Every database has been opened: removes the decisions that no database can ask for any more.
    fn forget_resolved(&self, left: Vec<Decision>) -> Result<(), StorageError> {
        let infos = self.database_infos();
        let may_ask = |number: &u16| {
            infos.iter().any(|info| i32::from(info.id) == i32::from(*number) && info.database.is_none())
        };
        decision::forget_resolved(&self.master(), left, may_ask)
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test prepares its folder itself")]
mod tests {
    use super::*;
    use crate::instance::{CreateDatabaseOptions, InstanceOptions};
    use crate::system_databases::MSDB;

    #[test]
    fn a_data_directory_without_msdb_gets_one_also_after_a_start_that_was_cut_off() {
        let folder = std::env::temp_dir().join(format!("hardpan-engine-msdb-{}", std::process::id()));
        drop(std::fs::remove_dir_all(&folder));
        let options = InstanceOptions::new(&folder);
        let instance = Instance::open(&os::Os::real(), &options).unwrap();
        let entry = instance.slot_named("msdb").unwrap().entry;
        instance.forget_entry(MSDB).unwrap();
        instance.shutdown();
        entry.files().iter().for_each(|file| std::fs::remove_file(file).unwrap());

        let instance = Instance::open(&os::Os::real(), &options).unwrap();
        let made = instance.database("msdb").unwrap();
        assert_eq!(made.number(), MSDB);
        drop(made);
        // Interrupted between the first and the last entry about it: the next start begins again.
        let mut entry = instance.slot_named("msdb").unwrap().entry;
        entry.phase = Phase::Creating;
        instance.save_entry(&entry).unwrap();
        instance.shutdown();

        let instance = Instance::open(&os::Os::real(), &options).unwrap();
        assert_eq!(instance.database("msdb").unwrap().number(), MSDB);
        assert_eq!(instance.slot_named("msdb").unwrap().entry.phase, Phase::Present);
        instance.shutdown();
        drop(std::fs::remove_dir_all(&folder));
    }

    /// A process died between removing a database's files and making that durable; the power fails after the next start, which does
    /// not find them: they must not come back when master has removed their entry.
    #[test]
    fn files_that_were_removed_but_not_for_good_are_not_forgotten() {
        let open = |os: &os::Os| Instance::open(os, &InstanceOptions::new("data")).unwrap();
        for seed in 0..12 {
            let world = os::sim::World::new(seed, os::sim::Profile::drawn(seed));
            let made = world.run(move |os| {
                let instance = open(os);
                let new = CreateDatabaseOptions { name: "gone".into(), ..CreateDatabaseOptions::default() };
                instance.create_database(&new).unwrap();
                instance.shutdown();
            });
            made.assert_ok();
            let dying = world.clone();
            world.run(move |os| {
                let instance = open(os);
                let mut entry = instance.slot_named("gone").unwrap().entry;
                entry.phase = Phase::Dropping;
                instance.save_entry(&entry).unwrap();
                entry.files().iter().for_each(|file| os.disk().remove(file).unwrap());
                dying.kill_process();
            });
            let failing = world.clone();
            world.run(move |os| {
                let instance = open(os);
                assert!(instance.slot_named("gone").is_none());
                failing.power_off();
            });
            world.run(move |os| open(os).shutdown()).assert_ok();
            let left: Vec<_> =
                world.files().into_iter().filter(|file| file.to_string_lossy().contains("gone")).collect();
            assert!(left.is_empty(), "seed {seed}: {left:?}");
        }
    }
}
