//! Data files of a database: ALTER DATABASE ... ADD and REMOVE FILE. They join and leave in the steps of log files (`file_changes.rs`), in
//! this order:
//!
//! ```text
//!  add:     master: Joining ─► file made, durable ─► master: Member ─► pages are allocated in it
//!  remove:  no page is allocated in it any more ─► none is in use ─► checkpoint ─► master: Leaving ─► the space forgets it ─► file removed
//!           ─► master: nothing
//! ```
//! The checkpoint comes after the last record about a page of the file, and is repeated until redo starts behind that, so redo never needs
//! the file once master has removed it. Undo never needs it either: a page with something to undo is in use.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use os::sim::{Bug, is_planted};
use pages::{NewFile, PageError, PageId};
use types::SqlError;

use super::Instance;
use super::file_changes::storage_error;
use super::new_files::{
    NewDatabaseFile, check_new_file, data_growth, data_limit, new_data_file, next_number, pages_of,
};
use crate::checkpoint;
use crate::database::Database;
use crate::error::{SqlResult, StorageError};
use crate::registry::{DataFileShape, DatabaseDataFile, Entry, FilePhase};
use crate::system_databases::{MASTER, MODEL};

impl Instance {
    /// ALTER DATABASE ... ADD FILE. All of them belong to PRIMARY.
    ///
    /// # Errors
    /// 5013 in master and model, 5036 without a name, 1828 when the name is taken, 5170 when the file exists, 5174, 5103 and 5169 for
    /// sizes that do not fit each other, 5123 when it cannot be made; those of paths and storage.
    pub fn add_data_files(self: &Arc<Self>, name: &str, files: &[NewDatabaseFile]) -> SqlResult<()> {
        let database = self.database(name)?;
        let _changing = self.changing.lock();
        if [MASTER, MODEL].contains(&database.number()) {
            return Err(SqlError::new(5013, &[]));
        }
        self.retry_removals();
        let mut entry = self.entry_of(&database)?;
        let folder = entry.data_files[0].path.parent().unwrap_or(Path::new(".")).to_path_buf();
        let mut planned: Vec<(NewFile, DatabaseDataFile)> = Vec::new();
        for file in files {
            let Some(name) = &file.logical_name else { return Err(SqlError::new(5036, &[])) };
            let names = planned.iter().map(|(new, _)| new.logical_name.as_str());
            self.refuse_taken_name(&database, &entry, names, name)?;
            let number = next_number(&entry.data_files, &entry.log_files);
            let default = || Ok(folder.join(format!("{name}.ndf")));
            let path = file.path.as_ref().map_or_else(default, |path| self.resolve_path(path))?;
            let new = new_data_file(file, number, path.clone(), name.clone());
            check_new_file(file, data_limit(file), name)?;
            if self.is_taken(&path, planned.iter().map(|(_, noted)| noted.path.as_path())) {
                return Err(SqlError::new(5170, &[&path.display()]));
            }
            let shape = database.is_volatile().then(|| shape_of(file, &new));
            let noted = DatabaseDataFile { shape, ..DatabaseDataFile::new(number, path) };
            entry.data_files.push(noted.clone());
            planned.push((new, noted));
        }
        planned.into_iter().try_for_each(|(new, noted)| self.add_data_file(&database, &new, noted))
    }

    fn add_data_file(
        &self,
        database: &Arc<Database>,
        new: &NewFile,
        noted: DatabaseDataFile,
    ) -> SqlResult<()> {
        let in_entry = |entry: &mut Entry, phase: FilePhase| {
            entry.data_files.push(DatabaseDataFile { phase, ..noted.clone() });
            entry.data_files.sort_by_key(|file| file.number);
        };
        let make = || {
            database.space().make_file(new).inspect_err(|error| {
                // A partly created file belongs to no database, unless it existed before.
                if !matches!(error, PageError::Io(error) if error.kind == os::IoErrorKind::AlreadyExists) {
                    self.remove_one(database.name(), &new.path);
                }
            })
        };
        let file = self.add_member(database, &new.path, in_entry, make)?;
        database.space().join_file(file);
        Ok(())
    }

    /// ALTER DATABASE ... REMOVE FILE of a data file.
    ///
    /// # Errors
    /// 5020 for the first, 5042 while pages of it are in use; those of storage.
    pub(super) fn remove_data_file(
        &self,
        database: &Arc<Database>,
        entry: &Entry,
        number: u16,
        logical_name: &str,
    ) -> SqlResult<()> {
        if number == 1 {
            return Err(SqlError::new(5020, &[]));
        }
        let space = database.space();
        let failed = |error: PageError| storage_error(database, error.into());
        let was_closed = space.is_closed_to_allocation(number);
        space.limit_allocation(number, Some(0)).map_err(failed)?;
        let leave = || {
            let path = self.note_leaving(database, entry, number)?;
            drop(space.detach_file(number).map_err(failed)?);
            Ok(path)
        };
        let left = match database.used_pages(number)? {
            0 => database
                .check_free_from(number, 0)
                .and_then(|()| give_up(database, |page| page.file == number, leave)),
            _ => Err(SqlError::new(5042, &[&"file", &logical_name])),
        };
        if left.is_err() && !was_closed && space.is_closed_to_allocation(number) {
            space.limit_allocation(number, None).map_err(failed)?;
        }
        let path = left?;
        database.access.forget_file(number);
        if !self.remove_one(&entry.name, &path) {
            // It stays listed as leaving: the next start tries again.
            return Ok(());
        }
        let mut without = entry.clone();
        without.data_files.retain(|other| other.number != number);
        self.note_files(database, without)
    }

    /// Marks the file as leaving in master. Returns its path.
    fn note_leaving(&self, database: &Arc<Database>, entry: &Entry, number: u16) -> SqlResult<PathBuf> {
        let mut leaving = entry.clone();
        let file = leaving.data_files.iter_mut().find(|file| file.number == number);
        let file = file.ok_or_else(|| SqlError::new(5009, &[]))?;
        file.phase = FilePhase::Leaving;
        let path = file.path.clone();
        if is_planted(Bug::LeaveBeforeNoted) {
            self.remove_one(&entry.name, &path);
        }
        self.note_files(database, leaving)?;
        Ok(path)
    }

    /// A data file of an entry, to be opened, or to be created anew for tempdb.
    pub(super) fn data_file_of(&self, file: &DatabaseDataFile) -> NewFile {
        let new = NewFile { number: file.number, ..NewFile::new(&file.path, "") };
        let Some(shape) = &file.shape else { return new };
        NewFile {
            logical_name: shape.name.clone(),
            pages: pages_of(shape.size_bytes),
            growth: shape.growth.map_or(new.growth, data_growth),
            max_pages: pages_of(shape.bytes_max),
            ..new
        }
    }

    /// Applies a changed entry to the files of tempdb: the file with this number has changed.
    pub(super) fn note_shape(
        &self,
        database: &Arc<Database>,
        mut entry: Entry,
        number: u16,
        change: &super::FileChange,
    ) -> SqlResult<()> {
        let infos = database.space().files();
        let Some(info) = infos.into_iter().find(|info| info.file_id == number) else { return Ok(()) };
        let Some(noted) = entry.data_files.iter_mut().find(|file| file.number == number) else {
            return Ok(());
        };
        let new = NewFile::new(&noted.path, &info.logical_name);
        let mut shape = noted.shape.take().unwrap_or_else(|| shape_of(&NewDatabaseFile::default(), &new));
        shape.name = info.logical_name;
        shape.size_bytes = change.size_bytes.unwrap_or(shape.size_bytes);
        shape.bytes_max = change.max_bytes.unwrap_or(shape.bytes_max);
        shape.growth = change.growth.or(shape.growth);
        noted.shape = Some(shape);
        self.note_files(database, entry)
    }
}

/// Removes pages that have no owner and cannot be allocated: `work` runs after a checkpoint from which redo reaches none of them (another checkpoint
/// follows one that an announced append holds back). Meanwhile the ghost cleanup is blocked, which would otherwise log changes of pages that it
/// has noted.
pub(super) fn give_up<T>(
    database: &Arc<Database>,
    is_given_up: impl Fn(PageId) -> bool,
    work: impl FnOnce() -> SqlResult<T>,
) -> SqlResult<T> {
    let done = database.in_background(|| {
        database.access.forget_ghosts(is_given_up);
        if !is_planted(Bug::GivenUpBeforeCheckpoint) {
            // All changes of these pages are logged by now.
            let position = database.log.end();
            let checkpoint = checkpoint::run_past(database, checkpoint::Reason::Statement, position);
            checkpoint.map_err(|error| storage_error(database, error))?;
        }
        work()
    });
    let is_closing = || StorageError::Refused("it is being closed".to_owned());
    done.unwrap_or_else(|| Err(storage_error(database, is_closing())))
}

fn shape_of(file: &NewDatabaseFile, new: &NewFile) -> DataFileShape {
    DataFileShape {
        name: new.logical_name.clone(),
        size_bytes: u64::from(new.pages) * pages::PAGE_BYTES as u64,
        growth: file.growth,
        bytes_max: file.max_bytes.unwrap_or(0),
    }
}
