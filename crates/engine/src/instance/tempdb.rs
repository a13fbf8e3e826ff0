//! tempdb: each start creates it anew, empty, with the files and sizes that ALTER DATABASE has given it.

use std::sync::Arc;

use log::LogOptions;
use pages::NewFile;

use super::{Instance, Slot, new_files};
use crate::error::StorageError;
use crate::open::DatabaseSpec;
use crate::registry::{DatabaseDataFile, Entry};
use crate::system_databases::TEMPDB;

impl Instance {
    /// Creates it, as a copy of model (claim 78). If a file besides the first ones cannot be created, an error is logged and the server starts
    /// without it.
    pub(super) fn make_tempdb(self: &Arc<Self>) -> Result<(), StorageError> {
        let (system, own) = self.system_spec(TEMPDB);
        let noted = self.databases.lock().get(&TEMPDB).map(|slot| slot.entry.clone());
        let (spec, entry) = match noted {
            Some(noted) => self.spec_of_noted(&system, &own, noted)?,
            None => (system.clone(), own.clone()),
        };
        for file in entry.files() {
            if self.os().disk().exists(&file) {
                self.os().disk().remove(&file)?;
            }
        }
        let several = spec.data_files.len() + spec.log.more_files.len() > 1;
        let made = self.foundation.create(&spec).or_else(|error| {
            if !several {
                return Err(error);
            }
            os::report::error("engine", &format!("tempdb is made with its first files alone: {error}"));
            self.foundation.create(&system)
        });
        let database = made?;
        self.copy_model(&database).map_err(|error| StorageError::Catalog(error.to_string()))?;
        self.insert(Slot::online(entry, database));
        Ok(())
    }

    /// The files that master lists, in allowed folders. Those that were joining or leaving are removed, with their entries.
    fn spec_of_noted(
        &self,
        system: &DatabaseSpec,
        own: &Entry,
        noted: Entry,
    ) -> Result<(DatabaseSpec, Entry), StorageError> {
        let mut entry = Entry { data_files: noted.data_files, log_files: noted.log_files, ..own.clone() };
        self.settle_files(&mut entry).map_err(|error| StorageError::Catalog(error.to_string()))?;
        entry.data_files[0].path.clone_from(&own.data_files[0].path);
        entry.log_files[0].path.clone_from(&own.log_files[0].path);
        let is_admitted = |path: &std::path::Path| match self.places.admit(self.os().disk(), path) {
            Ok(_) => true,
            Err(error) => {
                os::report::error("engine", &format!("tempdb does without {}: {error}", path.display()));
                false
            }
        };
        let as_made = |file: &DatabaseDataFile| match file.shape {
            Some(_) => self.data_file_of(file),
            None => NewFile { path: file.path.clone(), ..system.data_files[0].clone() },
        };
        let members = new_files::members(&entry.data_files);
        let usable = members.filter(|file| file.number == 1 || is_admitted(&file.path));
        let data_files = usable.map(as_made).collect();
        let mut logs = entry.log_files.clone();
        logs.retain(|file| file.number == log::FIRST_LOG_FILE || is_admitted(&file.path));
        let log = new_files::log_options(&logs, &[], &system.name, system.options.vlf_rule);
        let size_bytes = logs[0].size_bytes.unwrap_or(system.log.size_bytes);
        let log = LogOptions { volatile: true, size_bytes, ..log };
        Ok((DatabaseSpec { data_files, log, ..system.clone() }, entry))
    }
}
