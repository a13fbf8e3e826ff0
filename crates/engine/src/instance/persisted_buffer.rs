//! The persisted log buffer of a database: ALTER DATABASE ... SET PERSISTENT_LOG_BUFFER, and ADD and REMOVE FILE of a log file on a DAX volume.
//!
//! Master lists it as a log file of its own kind ([`FilePhase::Buffer`]), before the log relies on it and until it no longer does:
//!
//! ```text
//!  add_buffer:   master: Buffer ─► the log relies on it (begin_persisting)
//!  drain_buffer: the files have everything, it is removed (end_persisting) ─► master: nothing
//!  start:        Buffer ─► the log's end is taken from it, a new one in its place; without it: RECOVERY_PENDING
//! ```
//! SQL Server requires SINGLE_USER for its removal (learn.microsoft.com, "Add persistent log buffer to a database"); here it drains while
//! other sessions work.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use log::PersistedOptions;
use types::SqlError;

use super::Instance;
use super::file_changes::FileChange;
use super::new_files::{next_number, same};
use crate::database::Database;
use crate::error::SqlResult;
use crate::registry::{DatabaseLogFile, Entry, FilePhase};
use crate::system_databases::FIRST_USER_DATABASE;

/// The words of the option, for messages.
const OPTION: &str = "PERSISTENT_LOG_BUFFER";

impl Instance {
    /// ALTER DATABASE ... SET PERSISTENT_LOG_BUFFER = ON (DIRECTORY_NAME = ...): in force when it returns. The file gets a generated name.
    ///
    /// # Errors
    /// 5058 in a system database, 40517 when there is one, 5133 for a folder that is not there or not allowed, 5123 when it lies on no DAX
    /// volume or the file cannot be made; those of storage.
    pub fn begin_persisting(self: &Arc<Self>, name: &str, directory: &str) -> SqlResult<()> {
        let database = self.database(name)?;
        let _changing = self.changing.lock();
        let separator = if directory.contains('\\') { '\\' } else { '/' };
        let number = self.entry_of(&database)?.created;
        let stem = super::file_stem(database.name());
        let suffix = format!("{:x}{:x}", number.days, number.ticks);
        let written = format!("{}{separator}{stem}_{suffix}.pldf", directory.trim_end_matches(['\\', '/']));
        let path = self.resolve_path(&written)?;
        let folder = path.parent().unwrap_or(Path::new("/"));
        if !self.os().disk().exists(folder) {
            let why = os::IoError::from_code(2, "open the directory");
            return Err(SqlError::new(5133, &[&directory, &crate::files::shown_as_system_error(&why)]));
        }
        let logical_name = format!("{}_persistent_log_buffer", database.name());
        self.add_buffer(&database, &logical_name, path)
    }

    /// ALTER DATABASE ... SET PERSISTENT_LOG_BUFFER = OFF; does nothing without a buffer.
    ///
    /// # Errors
    /// Those of storage.
    pub fn end_persisting(self: &Arc<Self>, name: &str) -> SqlResult<()> {
        let database = self.database(name)?;
        let _changing = self.changing.lock();
        self.drain_buffer(&database)
    }

    /// Would a file at this path be persistent memory?
    pub(super) fn is_persistent(&self, path: &Path) -> bool {
        let folder = path.parent().unwrap_or(Path::new("."));
        self.os().is_persistent_volume(folder, self.foundation.persistent_volume)
    }

    /// Creates the buffer. The caller prevents other changes of the database.
    pub(super) fn add_buffer(
        &self,
        database: &Arc<Database>,
        logical_name: &str,
        path: PathBuf,
    ) -> SqlResult<()> {
        if database.number() < FIRST_USER_DATABASE {
            return Err(SqlError::new(5058, &[&OPTION, &database.name()]));
        }
        let before = self.entry_of(database)?;
        if before.buffer().is_some() {
            return Err(refused("a second persistent log buffer of a database"));
        }
        if !self.is_persistent(&path) {
            let why =
                os::IoError::from_code(95, "map it as persistent memory (the volume is not a DAX volume)");
            return Err(SqlError::new(5123, &[&why, &path.display()]));
        }
        if before.log_files.iter().any(|file| same(&file.name, logical_name)) {
            return Err(SqlError::new(1828, &[&logical_name]));
        }
        let bytes = log::limits::PERSISTED_BUFFER_BYTES as u64;
        let mut with = before.clone();
        with.log_files.push(DatabaseLogFile {
            number: next_number(&before.data_files, &before.log_files),
            phase: FilePhase::Buffer,
            path: path.clone(),
            name: logical_name.to_owned(),
            growth: log::Growth::None,
            bytes_max: bytes,
            size_bytes: None,
        });
        with.log_files.sort_by_key(|file| file.number);
        self.replace_entry(database, with)?;
        let begun = database.log().begin_persisting(&self.persisted_options(&path));
        begun.or_else(|error| {
            self.replace_entry(database, before)?;
            // Otherwise a later start would find a buffer that no database needs.
            drop(self.os().remove_persistent_memory(&path));
            Err(SqlError::new(5123, &[&error, &path.display()]))
        })
    }

    /// Writes the buffer's content to the log files, then removes it. The caller prevents other changes of the database.
    pub(super) fn drain_buffer(&self, database: &Arc<Database>) -> SqlResult<()> {
        let entry = self.entry_of(database)?;
        if entry.buffer().is_none() {
            return Ok(());
        }
        database.log().end_persisting().map_err(|error| SqlError::new(5149, &[&error, &database.name()]))?;
        let mut without = entry;
        without.log_files.retain(|file| file.phase != FilePhase::Buffer);
        self.replace_entry(database, without)
    }

    /// ALTER DATABASE ... MODIFY FILE of the buffer: its logical name can be changed, its size is fixed.
    pub(super) fn rename_buffer(
        &self,
        database: &Database,
        mut entry: Entry,
        at: usize,
        change: &FileChange,
    ) -> SqlResult<()> {
        if change.size_bytes.is_some() || change.max_bytes.is_some() || change.growth.is_some() {
            return Err(refused("another size of a persistent log buffer"));
        }
        if let Some(new_name) = &change.new_name {
            entry.log_files[at].name.clone_from(new_name);
        }
        self.replace_entry(database, entry)
    }

    /// The location of a log's buffer, for the log.
    pub(super) fn persisted_options(&self, path: &Path) -> PersistedOptions {
        PersistedOptions { path: path.to_path_buf(), volume: self.foundation.persistent_volume }
    }
}

fn refused(what: &str) -> SqlError {
    SqlError::custom(40517, 16, 1, format!("{what} is not supported by this version of Hardpan."))
}
