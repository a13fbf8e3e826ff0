//! ALTER DATABASE ... ADD, MODIFY and REMOVE FILE, and shrinking: the files of a database and their entries in master.
//!
//! A log file joins and leaves in steps, each durable before the next; the next start repairs a crash between any two
//! (`settle_files`), and the log never needs a file that is not listed as a member:
//!
//! ```text
//!  add_log_file:    master: Joining ─► file made, first header: "several" ─► master: Member ─► VLFs are used (join_file)
//!  remove_log_file: VLFs are not used any more (detach_file) ─► master: Leaving ─► file removed ─► master: nothing
//!  start:           Joining or Leaving ─► file removed ─► master: nothing
//! ```

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use log::{FIRST_LOG_FILE, Growth, LogError, LogOptions, ResizeError};
use os::IoError;
use os::sim::{Bug, is_planted};
use types::SqlError;

use super::Instance;
use super::new_files::{
    CreateDatabaseOptions, NewDatabaseFile, check_new_file, data_growth, default_log_bytes, member_options,
    next_number, pages_of, same,
};
use super::removal::are_settled;
use crate::database::Database;
use crate::error::{SqlResult, StorageError};
use crate::files::make_directory;
use crate::registry::{DatabaseDataFile, DatabaseLogFile, Entry, FilePhase};
use crate::system_databases::{MASTER, MODEL};

/// MODIFY FILE: the changes of the file with this logical name.
#[derive(Clone, Debug, Default)]
pub struct FileChange {
    /// NAME.
    pub logical_name: String,
    /// NEWNAME.
    pub new_name: Option<String>,
    /// SIZE, bytes: files only grow this way.
    pub size_bytes: Option<u64>,
    /// MAXSIZE, bytes; 0 is UNLIMITED.
    pub max_bytes: Option<u64>,
    /// FILEGROWTH.
    pub growth: Option<Growth>,
}

/// The target size of a shrunk log file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShrinkAim {
    /// This many bytes, or as close to it as whole VLFs allow.
    Bytes(u64),
    /// The size at its creation.
    Created,
    /// The size at its creation, or this many bytes if that is more.
    CreatedOr(u64),
    /// The file is to be emptied, because it will be removed.
    Empty,
}

/// The result of shrinking a file, in 8 KB pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShrunkFile {
    /// Its size.
    pub current_pages: u64,
    /// The least size that it can have.
    pub minimum_pages: u64,
    /// Its used pages.
    pub used_pages: u64,
    /// Why it is not smaller.
    pub held: Option<ShrinkHeld>,
}

/// Why a log file stays larger than requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShrinkHeld {
    /// 9008: log that is still needed is at its end.
    InUse,
    /// 9009: the log needs this size.
    LeastSize,
}

const PAGE_BYTES: u64 = pages::PAGE_BYTES as u64;

impl Instance {
    /// The log files of a new database.
    pub(super) fn new_log_files(
        &self,
        new: &CreateDatabaseOptions,
        stem: &str,
        data_files: &[DatabaseDataFile],
    ) -> SqlResult<Vec<DatabaseLogFile>> {
        let default_file = [NewDatabaseFile::default()];
        let wanted = if new.log_files.is_empty() { &default_file[..] } else { &new.log_files };
        let mut made: Vec<DatabaseLogFile> = Vec::new();
        for (at, file) in wanted.iter().enumerate() {
            let ending = if at == 0 { String::new() } else { (at + 1).to_string() };
            let number = if at == 0 { FIRST_LOG_FILE } else { next_number(data_files, &made) };
            let name = file.logical_name.clone().unwrap_or_else(|| format!("{}_log{ending}", new.name));
            let default = self.data_dir.join(format!("{stem}_log{ending}.ldf"));
            let log_file = self.new_log_file(file, number, name, default)?;
            check_new_file(file, Some(log_file.bytes_max), &log_file.name)?;
            made.push(log_file);
        }
        Ok(made)
    }

    fn new_log_file(
        &self,
        file: &NewDatabaseFile,
        number: u16,
        name: String,
        default_path: PathBuf,
    ) -> SqlResult<DatabaseLogFile> {
        let default = LogOptions::new("", "");
        let path = file.path.as_ref().map_or(Ok(default_path), |path| self.resolve_path(path))?;
        Ok(DatabaseLogFile {
            number,
            phase: FilePhase::Member,
            path,
            name,
            growth: file.growth.unwrap_or(default.growth),
            bytes_max: file.max_bytes.filter(|bytes| *bytes > 0).unwrap_or(default.bytes_max),
            size_bytes: None,
        })
    }

    /// ALTER DATABASE ... ADD LOG FILE. A file on a DAX volume becomes the persisted log buffer, whatever size is requested.
    ///
    /// # Errors
    /// 5013 in master and model, 5036 without a name, 1828 when the name is taken, 5170 when the file exists, 5174, 5103 and 5169 for
    /// sizes that do not fit each other, 5123 when it cannot be made; those of paths and storage.
    pub fn add_log_files(self: &Arc<Self>, name: &str, files: &[NewDatabaseFile]) -> SqlResult<()> {
        let database = self.database(name)?;
        let _changing = self.changing.lock();
        if [MASTER, MODEL].contains(&database.number()) {
            return Err(SqlError::new(5013, &[]));
        }
        self.retry_removals();
        let entry = self.entry_of(&database)?;
        let mut planned: Vec<DatabaseLogFile> = Vec::new();
        let folder = entry.log_files[0].path.parent().unwrap_or(Path::new(".")).to_path_buf();
        for file in files {
            let Some(name) = &file.logical_name else { return Err(SqlError::new(5036, &[])) };
            let all: Vec<DatabaseLogFile> = entry.log_files.iter().chain(&planned).cloned().collect();
            let number = next_number(&entry.data_files, &all);
            let mut log_file =
                self.new_log_file(file, number, name.clone(), folder.join(format!("{name}.ldf")))?;
            check_new_file(file, Some(log_file.bytes_max), name)?;
            let size = Some(file.size_bytes.unwrap_or(default_log_bytes(&log_file)));
            self.refuse_taken_name(&database, &entry, planned.iter().map(|log| log.name.as_str()), name)?;
            if self.is_taken(&log_file.path, planned.iter().map(|other| other.path.as_path())) {
                return Err(SqlError::new(5170, &[&log_file.path.display()]));
            }
            log_file.size_bytes = size.filter(|_| database.is_volatile());
            planned.push(log_file);
        }
        for (log_file, file) in planned.into_iter().zip(files) {
            if self.is_persistent(&log_file.path) {
                self.add_buffer(&database, &log_file.name, log_file.path)?;
                continue;
            }
            self.add_log_file(&database, log_file, file.size_bytes)?;
        }
        Ok(())
    }

    fn add_log_file(
        &self,
        database: &Arc<Database>,
        log_file: DatabaseLogFile,
        size_bytes: Option<u64>,
    ) -> SqlResult<()> {
        let noted = |entry: &mut Entry, phase: FilePhase| {
            entry.log_files.push(DatabaseLogFile { phase, ..log_file.clone() });
            entry.log_files.sort_by_key(|file| file.number);
        };
        let make = || database.log().prepare_file(&member_options(&log_file, size_bytes));
        let idle = self.add_member(database, &log_file.path, noted, make)?;
        database.log().join_file(idle);
        Ok(())
    }

    /// Adds a file as a member: master lists it as joining, `make` creates it in its folder (and leaves nothing of it after an error), master lists
    /// it as a member. Each step is durable before the next; the caller uses the file then. Error 5123 when it cannot be created.
    pub(super) fn add_member<F, E: Display + From<IoError>>(
        &self,
        database: &Arc<Database>,
        path: &Path,
        noted: impl Fn(&mut Entry, FilePhase),
        make: impl FnOnce() -> Result<F, E>,
    ) -> SqlResult<F> {
        let before = self.entry_of(database)?;
        let with = |phase: FilePhase| {
            let mut entry = before.clone();
            noted(&mut entry, phase);
            entry
        };
        self.note_files(database, with(FilePhase::Joining))?;
        let folder = path.parent().unwrap_or(Path::new("."));
        let made = make_directory(self.os().disk(), folder).map_err(E::from).and_then(|()| make());
        let file = match made {
            Ok(file) => file,
            Err(error) => {
                // A file that may come back stays listed as joining: it is removed before another is created, or at the next start.
                if self.is_absent_for_good(path) {
                    self.note_files(database, before)?;
                }
                return Err(SqlError::new(5123, &[&error, &path.display()]));
            }
        };
        if !is_planted(Bug::UsedBeforeNoted) {
            self.note_files(database, with(FilePhase::Member))?;
        }
        Ok(file)
    }

    /// Error 1828 when a file of the database, or a planned one, has the logical name.
    pub(super) fn refuse_taken_name<'a>(
        &self,
        database: &Database,
        entry: &'a Entry,
        planned: impl Iterator<Item = &'a str>,
        name: &str,
    ) -> SqlResult<()> {
        let in_data = database.space().files().iter().any(|file| same(&file.logical_name, name));
        let mut others = entry.log_files.iter().map(|log| log.name.as_str()).chain(planned);
        match in_data || others.any(|known| same(known, name)) {
            true => Err(SqlError::new(1828, &[&name])),
            false => Ok(()),
        }
    }

    /// ALTER DATABASE ... REMOVE FILE.
    ///
    /// # Errors
    /// 5009 when no file has the name, 5020 for the first data and the first log file, 5042 while log or pages in it are needed; those of
    /// storage.
    pub fn remove_file(self: &Arc<Self>, name: &str, logical_name: &str) -> SqlResult<()> {
        let database = self.database(name)?;
        let _changing = self.changing.lock();
        let entry = self.entry_of(&database)?;
        if let Some(file) = entry.log_files.iter().find(|file| same(&file.name, logical_name)) {
            if file.number == FIRST_LOG_FILE {
                return Err(SqlError::new(5020, &[]));
            }
            if file.phase == FilePhase::Buffer {
                return self.drain_buffer(&database);
            }
            return self.remove_log_file(&database, &entry, file);
        }
        let data_files = database.space().files();
        match data_files.iter().find(|file| same(&file.logical_name, logical_name)) {
            Some(file) => self.remove_data_file(&database, &entry, file.file_id, &file.logical_name),
            None => Err(SqlError::new(5009, &[])),
        }
    }

    fn remove_log_file(
        &self,
        database: &Arc<Database>,
        entry: &Entry,
        file: &DatabaseLogFile,
    ) -> SqlResult<()> {
        let log = database.log();
        // Log that only waits for a truncation is not needed.
        crate::checkpoint::give_log_back(database).map_err(|error| storage_error(database, error))?;
        let idle = log.detach_file(file.number).map_err(|error| match error {
            ResizeError::Log(error) => storage_error(database, error.into()),
            ResizeError::InUse | ResizeError::TooLittleLeft => SqlError::new(5042, &[&"file", &file.name]),
        })?;
        if is_planted(Bug::LeaveBeforeNoted) {
            self.remove_one(&entry.name, &file.path);
        }
        let mut leaving = entry.clone();
        for other in leaving.log_files.iter_mut().filter(|other| other.number == file.number) {
            other.phase = FilePhase::Leaving;
        }
        if let Err(error) = self.note_files(database, leaving) {
            log.join_file(idle);
            return Err(error);
        }
        log.forget_file(idle).map_err(|error| storage_error(database, error.into()))?;
        if !self.remove_one(&entry.name, &file.path) {
            // It stays listed as leaving: the next start tries again.
            return Ok(());
        }
        let mut without = entry.clone();
        without.log_files.retain(|other| other.number != file.number);
        self.note_files(database, without)
    }

    /// At a start: removes files that were joining or leaving, and deletes their entries once the removal is durable.
    pub(super) fn settle_files(&self, entry: &mut Entry) -> SqlResult<()> {
        let stays = |phase: FilePhase| matches!(phase, FilePhase::Member | FilePhase::Buffer);
        if are_settled(entry) {
            return Ok(());
        }
        let name = entry.name.clone();
        entry.data_files.retain(|file| stays(file.phase) || !self.remove_one(&name, &file.path));
        entry.log_files.retain(|file| stays(file.phase) || !self.remove_one(&name, &file.path));
        self.save_entry(entry)
    }

    /// ALTER DATABASE ... MODIFY FILE.
    ///
    /// # Errors
    /// 5041 when no file has the name, 1828 when another has the new one, 5039 for a size that is not above the present one, 5040 for one
    /// above MAXSIZE, 5036 without a name, 5038 without a change; those of storage.
    pub fn modify_file(self: &Arc<Self>, name: &str, change: &FileChange) -> SqlResult<()> {
        let database = self.database(name)?;
        let _changing = self.changing.lock();
        if change.logical_name.is_empty() {
            return Err(SqlError::new(5036, &[]));
        }
        let is_nothing = change.new_name.is_none() && change.size_bytes.is_none();
        if is_nothing && change.max_bytes.is_none() && change.growth.is_none() {
            return Err(SqlError::new(5038, &[&change.logical_name]));
        }
        let entry = self.entry_of(&database)?;
        let files = database.space().files();
        if let Some(new_name) = &change.new_name {
            let data = files.iter().map(|file| file.logical_name.as_str());
            let mut names = data.chain(entry.log_files.iter().map(|file| file.name.as_str()));
            if names.any(|known| same(known, new_name) && !same(known, &change.logical_name)) {
                return Err(SqlError::new(1828, &[new_name]));
            }
        }
        if let Some(at) = entry.log_files.iter().position(|file| same(&file.name, &change.logical_name)) {
            return self.modify_log_file(&database, entry, at, change);
        }
        let file = files.into_iter().find(|file| same(&file.logical_name, &change.logical_name));
        let Some(file) = file else { return Err(SqlError::new(5041, &[&change.logical_name])) };
        let limit = change.max_bytes.map_or(file.max_pages, pages_of);
        check_size(change, u64::from(file.pages), u64::from(limit), |bytes| u64::from(pages_of(bytes)))?;
        let growth = change.growth.map_or(file.growth, data_growth);
        let logical_name = change.new_name.as_deref().unwrap_or(&file.logical_name);
        let space = database.space();
        let failed = |error: pages::PageError| storage_error(&database, error.into());
        space.set_file_options(file.file_id, logical_name, growth, limit).map_err(failed)?;
        if let Some(bytes) = change.size_bytes {
            space.grow_file(file.file_id, pages_of(bytes)).map_err(failed)?;
            // An emptied file accepts pages again.
            space.limit_allocation(file.file_id, None).map_err(failed)?;
        }
        match database.is_volatile() {
            true => self.note_shape(&database, entry, file.file_id, change),
            false => Ok(()),
        }
    }

    fn modify_log_file(
        &self,
        database: &Database,
        mut entry: Entry,
        at: usize,
        change: &FileChange,
    ) -> SqlResult<()> {
        let file = &mut entry.log_files[at];
        let number = file.number;
        if file.phase == FilePhase::Buffer {
            return self.rename_buffer(database, entry, at, change);
        }
        match change.max_bytes {
            Some(0) => file.bytes_max = LogOptions::new("", "").bytes_max,
            Some(bytes) => file.bytes_max = bytes,
            None => {}
        }
        file.growth = change.growth.unwrap_or(file.growth);
        if let Some(new_name) = &change.new_name {
            file.name.clone_from(new_name);
        }
        if database.is_volatile() {
            file.size_bytes = change.size_bytes.or(file.size_bytes);
        }
        let (growth, limit) = (file.growth, file.bytes_max);
        let log = database.log();
        let present = log.files().into_iter().find(|info| info.number == number);
        check_size(change, present.map_or(0, |info| info.size_bytes), limit, |bytes| bytes)?;
        self.note_files(database, entry)?;
        log.set_growth(number, growth, limit);
        match change.size_bytes {
            Some(bytes) => log.grow_to(number, bytes).map_err(|error| storage_error(database, error.into())),
            None => Ok(()),
        }
    }

    /// DBCC SHRINKFILE of a log file: removes unneeded VLFs at its end. When the log is active beyond the requested size, it
    /// moves to another VLF and a checkpoint frees what it can.
    ///
    /// # Errors
    /// Those of storage.
    pub fn shrink_log_file(
        self: &Arc<Self>,
        database: &Arc<Database>,
        number: u16,
        aim: ShrinkAim,
    ) -> SqlResult<ShrunkFile> {
        let _changing = self.changing.lock();
        let log = database.log();
        let failed = |error: LogError| storage_error(database, error.into());
        let created =
            log.files().iter().find(|file| file.number == number).map_or(0, |file| file.created_bytes);
        let target = match aim {
            ShrinkAim::Bytes(bytes) => bytes,
            ShrinkAim::Created => created,
            ShrinkAim::CreatedOr(bytes) => bytes.max(created),
            ShrinkAim::Empty => 0,
        };
        // Each round moves the log to another VLF: after as many rounds as there are VLFs it has been in all of them.
        let rounds = log.vlfs().len() + 1;
        let mut held = None;
        for _ in 0..rounds {
            crate::checkpoint::give_log_back(database).map_err(|error| storage_error(database, error))?;
            let shrunk = match log.shrink_file(number, target) {
                Ok(shrunk) => shrunk,
                Err(ResizeError::Log(error)) => return Err(failed(error)),
                Err(ResizeError::InUse | ResizeError::TooLittleLeft) => {
                    held = Some(ShrinkHeld::LeastSize);
                    break;
                }
            };
            let vlfs = log.vlfs();
            let current = vlfs.iter().filter(|vlf| vlf.active).max_by_key(|vlf| vlf.sequence);
            let is_here = current.is_some_and(|vlf| vlf.file == number);
            held = match shrunk.is_held_by_use {
                true => Some(ShrinkHeld::InUse),
                false if shrunk.least_bytes > target && aim != ShrinkAim::Empty => {
                    Some(ShrinkHeld::LeastSize)
                }
                false => None,
            };
            let is_in_the_way = shrunk.is_held_by_use
                || (aim == ShrinkAim::Empty && vlfs.iter().any(|vlf| vlf.active && vlf.file == number));
            if !is_in_the_way {
                break;
            }
            let before = active_places(database, number);
            let has_moved = is_here && log.move_on().map_err(failed)?;
            crate::checkpoint::run(database, crate::checkpoint::Reason::Statement)
                .map_err(|error| storage_error(database, error))?;
            if !has_moved && active_places(database, number) == before {
                break;
            }
        }
        let files = log.files();
        let size = files.iter().find(|file| file.number == number).map_or(0, |file| file.size_bytes);
        let used: u64 =
            log.vlfs().iter().filter(|vlf| vlf.active && vlf.file == number).map(|vlf| vlf.size_bytes).sum();
        Ok(ShrunkFile {
            current_pages: size / PAGE_BYTES,
            minimum_pages: created.min(size) / PAGE_BYTES,
            used_pages: used / PAGE_BYTES,
            held,
        })
    }
}

/// The positions of the needed VLFs of a file.
fn active_places(database: &Database, number: u16) -> Vec<u64> {
    let vlfs = database.log().vlfs().into_iter();
    vlfs.filter(|vlf| vlf.active && vlf.file == number).map(|vlf| vlf.begin_offset).collect()
}

/// A requested size must be above the present one and not above the limit (0: none); all in the file's unit.
fn check_size(change: &FileChange, present: u64, limit: u64, unit: impl Fn(u64) -> u64) -> SqlResult<()> {
    let wanted = change.size_bytes.map(unit);
    if wanted.is_some_and(|wanted| wanted <= present) {
        return Err(SqlError::new(5039, &[]));
    }
    if limit > 0 && wanted.unwrap_or(present) > limit {
        return Err(SqlError::new(5040, &[]));
    }
    Ok(())
}

pub(super) fn storage_error(database: &Database, error: StorageError) -> SqlError {
    SqlError::new(5149, &[&error, &database.name()])
}
