//! [`Instance`]: a data directory with its databases: master, model, msdb, tempdb and those of users.

mod alter;
mod background;
mod commit_status;
mod configuration;
mod data_files;
mod file_changes;
mod new_files;
mod persisted_buffer;
mod removal;
mod shrink;
mod start_stop;
mod tempdb;

pub use file_changes::{FileChange, ShrinkAim, ShrinkHeld, ShrunkFile};
pub use new_files::{CreateDatabaseOptions, NewDatabaseFile};
pub use shrink::DataShrink;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use log::{CacheFolder, LogOptions};
use os::{Disk, FileLock, IoError, IoErrorKind, Latch, LatchRank, OpenOptions, Os};
use pages::{BufferPool, LazyWriter, NewFile, PoolOptions};
use txn::{CommitMode, LockManager, TxnOptions};
use types::{Collation, DateTime, SqlError};

use crate::background::Background;
use crate::configuration::InUse;
use crate::database::{Database, date_time_of};
use crate::db_transaction::DbTransaction;
use crate::decision::Decisions;
use crate::error::{SqlResult, StorageError, refusal};
use crate::files::{FilePlaces, make_data_directory};
use crate::open::{DatabaseSpec, Foundation};
use crate::options::{DatabaseOptions, DatabaseState};
use crate::registry::{self, DatabaseDataFile, DatabaseLogFile, Entry, Phase};
use crate::system_databases::{FIRST_USER_DATABASE, MASTER, MODEL, MSDB, TEMPDB};
use crate::workspace::Workspaces;

/// Name, logical name of the data file, data file and log file of the system databases, by number: those of SQL Server, which scripts use.
const SYSTEM_FILES: [(&str, &str, &str, &str); 4] = [
    ("master", "master", "master.mdf", "mastlog.ldf"),
    ("tempdb", "tempdev", "tempdb.mdf", "templog.ldf"),
    ("model", "modeldev", "model.mdf", "modellog.ldf"),
    ("msdb", "MSDBData", "MSDBData.mdf", "MSDBLog.ldf"),
];

/// Marks a data directory of Hardpan; its content is the version of the layout.
const MARKER: &str = "hardpan.instance";
/// Exists while the system databases are being created for the first time.
const CREATING_MARKER: &str = "hardpan.creating";
const LOCK_FILE: &str = "hardpan.lock";
const LAYOUT_VERSION: &str = "1";

/// How an instance is opened.
#[derive(Clone, Debug)]
pub struct InstanceOptions {
    /// The data directory; made when missing.
    pub data_dir: PathBuf,
    /// Memory for pages, bytes.
    pub buffer_pool_bytes: u64,
    /// Folders for drive letters in scripts' paths.
    pub drives: Vec<(char, PathBuf)>,
    /// Folders besides the data directory and the drives in which database files may be.
    pub allowed_paths: Vec<PathBuf>,
    /// A folder in a memory file system for log caches that survive the process; none: they end with it.
    pub log_cache_folder: Option<PathBuf>,
    /// Use log caches left by a process that died, but create none: for a process that runs only briefly.
    pub log_cache_is_only_taken: bool,
    /// Where persisted log buffers may be: on a DAX volume, or, for tests, in a memory file system.
    pub persistent_volume: os::PersistentVolume,
    /// Whether `open` returns as soon as master and tempdb are open; the others answer 922 until they are, too.
    pub answers_while_opening: bool,
    /// Whether background threads (checkpoints, ghost cleanup, lazy writer) run.
    pub background: bool,
}

impl InstanceOptions {
    /// With 256 MB for pages (taken as needed) and background threads.
    pub fn new(data_dir: impl Into<PathBuf>) -> InstanceOptions {
        InstanceOptions {
            data_dir: data_dir.into(),
            buffer_pool_bytes: 256 << 20,
            drives: Vec::new(),
            allowed_paths: Vec::new(),
            log_cache_folder: None,
            log_cache_is_only_taken: false,
            persistent_volume: os::PersistentVolume::Dax,
            answers_while_opening: false,
            background: true,
        }
    }
}

/// The default folder of log caches that survive the process.
pub const LOG_CACHE_FOLDER: &str = "/dev/shm";

/// False, with one message, when another user has created the folder of the data directory's log caches: they then end with the process.
fn can_make_caches(os: &Os, folder: Option<&CacheFolder>) -> bool {
    let checked = folder.map_or(Ok(()), |folder| folder.check(os));
    if let Err(error) = &checked {
        os::report::warn("engine", &format!("log caches do not outlive the process: {error}"));
    }
    checked.is_ok()
}

/// An open data directory.
pub struct Instance {
    foundation: Foundation,
    data_dir: PathBuf,
    places: FilePlaces,
    databases: Latch<BTreeMap<u16, Slot>>,
    /// Entries of master whose database is dropped and whose files may come back (`removal.rs`).
    lingering: Latch<BTreeMap<u16, Entry>>,
    /// One CREATE, ALTER or DROP DATABASE at a time.
    changing: Latch<()>,
    background: Latch<Option<BackgroundThreads>>,
    is_shut_down: AtomicBool,
    decisions: Decisions,
    /// The threads that open databases, until a thread has waited for them.
    openers: Latch<Vec<os::JoinHandle>>,
    started: DateTime,
    memory_bytes: u64,
    pub(crate) configuration_in_use: InUse,
    workspaces: Arc<Workspaces>,
    /// Released by shutdown, so that another server may open the directory.
    lock: Latch<Option<FileLock>>,
}

struct BackgroundThreads {
    checkpointer: Background,
    ghost_cleanup: Background,
    lazy_writer: LazyWriter,
}

/// A database that the instance knows, open or not.
#[derive(Clone)]
struct Slot {
    entry: Entry,
    database: Option<Arc<Database>>,
    state: DatabaseState,
    reason: Option<String>,
    /// The error of USE when the database could not be opened.
    refusal: Option<SqlError>,
}

/// A database as system views show it.
#[derive(Clone)]
pub struct DatabaseInfo {
    /// `database_id`.
    pub id: i16,
    /// Name.
    pub name: String,
    /// State.
    pub state: DatabaseState,
    /// Why it is not online.
    pub reason: Option<String>,
    /// When it was created.
    pub created: DateTime,
    /// Options.
    pub options: DatabaseOptions,
    /// Data files.
    pub data_files: Vec<DatabaseDataFile>,
    /// Log files.
    pub log_files: Vec<DatabaseLogFile>,
    /// The database itself, when it is open.
    pub database: Option<Arc<Database>>,
}

/// A data directory that cannot be written: one clear message, instead of an error about one of its files.
fn read_only(directory: &Path, error: &IoError) -> StorageError {
    let directory = directory.display();
    StorageError::Refused(format!(
        "the data directory {directory} cannot be written: it is read-only for this user, or its file system is ({error})"
    ))
}

/// Locks the data directory for this server; `named` is the path as the user gave it.
fn lock_directory(disk: &dyn Disk, directory: &Path, named: &Path) -> Result<FileLock, StorageError> {
    disk.lock_file(&directory.join(LOCK_FILE)).map_err(|error| match error.kind {
        IoErrorKind::Permission => read_only(named, &error),
        IoErrorKind::Locked => StorageError::Refused(format!(
            "the data directory {} is in use by another Hardpan server ({error})",
            named.display()
        )),
        _ => {
            StorageError::Refused(format!("the data directory {} cannot be locked: {error}", named.display()))
        }
    })
}

/// The share of the page memory that the row versions of a database may take, and the least number of bytes.
const VERSION_SHARE: u64 = 4;
const VERSION_BYTES_MIN: u64 = 4 << 20;

impl Instance {
    /// Opens (or creates) a data directory, recovers its databases, creates tempdb anew. A database that cannot be opened is shown as
    /// suspect or recovery pending with the reason; the others work.
    ///
    /// # Errors
    /// When the directory is used by another server, is no data directory of Hardpan, has a newer layout, or master cannot be opened.
    pub fn open(os: &Os, options: &InstanceOptions) -> Result<Arc<Instance>, StorageError> {
        let disk = os.disk();
        make_data_directory(disk, &options.data_dir).map_err(|error| match error.kind {
            IoErrorKind::Permission => read_only(&options.data_dir, &error),
            _ => error.into(),
        })?;
        let data_dir = disk.canonical(&options.data_dir)?;
        let lock = lock_directory(disk, &data_dir, &options.data_dir)?;
        let is_new = prepare_directory(os, &data_dir)?;
        crate::workspace::spill::clear_left(disk, &data_dir)?;
        let workspaces = Workspaces::new(os, &data_dir);
        let directory = disk.identity_of(&data_dir)?;
        let caches = options.log_cache_folder.as_ref().map(|root| CacheFolder::of(root, directory));
        let foundation = Foundation {
            workspaces: workspaces.clone(),
            os: os.clone(),
            pool: BufferPool::new(os, PoolOptions { memory_bytes: options.buffer_pool_bytes }),
            locks: LockManager::new(os),
            log_cache_is_only_taken: options.log_cache_is_only_taken || !can_make_caches(os, caches.as_ref()),
            log_cache_folder: caches,
            persistent_volume: options.persistent_volume,
            identity_uncached: Arc::default(),
            data_dir: data_dir.clone(),
            version_bytes_max: (options.buffer_pool_bytes / VERSION_SHARE).max(VERSION_BYTES_MIN),
        };
        let instance = Arc::new(Instance {
            places: FilePlaces::new(&data_dir, options.drives.clone(), options.allowed_paths.clone()),
            data_dir,
            databases: Latch::new(LatchRank::Leaf, BTreeMap::new()),
            lingering: Latch::new(LatchRank::Leaf, BTreeMap::new()),
            changing: Latch::new(LatchRank::Server, ()),
            background: Latch::new(LatchRank::Instance, None),
            is_shut_down: AtomicBool::new(false),
            decisions: Decisions::new(),
            openers: Latch::new(LatchRank::Leaf, Vec::new()),
            started: date_time_of(os.clock().utc_100ns()),
            memory_bytes: options.buffer_pool_bytes,
            configuration_in_use: Latch::new(LatchRank::Leaf, BTreeMap::new()),
            workspaces,
            foundation,
            lock: Latch::new(LatchRank::Leaf, Some(lock)),
        });
        let waiting = if is_new {
            instance.make_system_databases()?;
            Vec::new()
        } else {
            let waiting = instance.open_system_databases()?;
            instance.make_missing_msdb()?;
            waiting
        };
        instance.reconfigure();
        instance.make_tempdb()?;
        instance.open_others(waiting)?;
        if let Some(folder) = &options.log_cache_folder {
            log::sweep_left_caches(os, folder);
        }
        if !options.answers_while_opening {
            instance.wait_until_open();
        }
        if options.background {
            let background = BackgroundThreads {
                checkpointer: instance.start_checkpointer(),
                ghost_cleanup: instance.start_ghost_cleanup(),
                lazy_writer: LazyWriter::start(&instance.foundation.pool),
            };
            *instance.background.lock() = Some(background);
        }
        Ok(instance)
    }

    /// The operating system interface.
    pub fn os(&self) -> &Os {
        &self.foundation.os
    }

    /// Locks of all databases.
    pub fn locks(&self) -> &Arc<LockManager> {
        &self.foundation.locks
    }

    /// Decisions about commits over several databases.
    pub(crate) fn decisions(&self) -> &Decisions {
        &self.decisions
    }

    /// Pages of all databases.
    pub fn pool(&self) -> &Arc<BufferPool> {
        &self.foundation.pool
    }

    /// Memory for pages, bytes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    /// The memory of queries that keep rows.
    pub fn workspaces(&self) -> &Arc<Workspaces> {
        &self.workspaces
    }

    /// The data directory.
    pub fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    /// When it was opened (UTC).
    pub fn started(&self) -> DateTime {
        self.started
    }

    /// An open database by name.
    ///
    /// # Errors
    /// 911 when there is none, 922 while it is being recovered, 926 suspect, 942 offline, 945 when its files could not be opened, 948 when they are of a newer format.
    pub fn database(&self, name: &str) -> SqlResult<Arc<Database>> {
        let slot = self.slot_named(name).ok_or_else(|| SqlError::new(911, &[&name]))?;
        match (slot.database, slot.state) {
            (Some(database), _) => {
                database.check_usable()?;
                Ok(database)
            }
            (None, DatabaseState::Offline) => Err(SqlError::new(942, &[&slot.entry.name])),
            (None, _) => Err(slot.refusal.unwrap_or_else(|| SqlError::new(945, &[&slot.entry.name]))),
        }
    }

    /// The number of a database by its name, whether it is open or not.
    ///
    /// # Errors
    /// 911 when there is none.
    pub fn database_number(&self, name: &str) -> SqlResult<u16> {
        self.slot_named(name).map(|slot| slot.entry.number).ok_or_else(|| SqlError::new(911, &[&name]))
    }

    fn slot_named(&self, name: &str) -> Option<Slot> {
        let slots = self.databases.lock();
        slots.values().find(|slot| Collation::DEFAULT.same_name(&slot.entry.name, name)).cloned()
    }

    /// An open database by number.
    pub fn database_by_id(&self, id: i16) -> Option<Arc<Database>> {
        let number = u16::try_from(id).ok()?;
        self.databases.lock().get(&number).and_then(|s| s.database.clone())
    }

    /// tempdb.
    pub fn tempdb(&self) -> Arc<Database> {
        self.open_slot(TEMPDB)
    }

    /// master.
    pub fn master(&self) -> Arc<Database> {
        self.open_slot(MASTER)
    }

    fn open_slot(&self, number: u16) -> Arc<Database> {
        let database = self.databases.lock().get(&number).and_then(|s| s.database.clone());
        database.expect("system databases are open as long as the instance is")
    }

    /// Every open database, by number.
    pub fn databases(&self) -> Vec<Arc<Database>> {
        self.databases.lock().values().filter_map(|s| s.database.clone()).collect()
    }

    /// Every database, open or not, by number.
    pub fn database_infos(&self) -> Vec<DatabaseInfo> {
        let slots: Vec<Slot> = self.databases.lock().values().cloned().collect();
        slots.into_iter().map(Slot::into_info).collect()
    }

    /// CREATE DATABASE. Crash-safe: master first lists the database as being created, then as complete.
    ///
    /// # Errors
    /// 1801 when it exists, 5170 when a file does, 5174, 5103 and 5169 for sizes that do not fit each other, 5123 when a file cannot be made, 1807 and
    /// those of storage.
    pub fn create_database(self: &Arc<Self>, new: &CreateDatabaseOptions) -> SqlResult<Arc<Database>> {
        let _changing = self.changing.lock();
        if self.databases.lock().values().any(|s| Collation::DEFAULT.same_name(&s.entry.name, &new.name)) {
            return Err(SqlError::new(1801, &[&new.name]));
        }
        self.retry_removals();
        let (spec, mut entry) = self.spec_of(self.free_number(), new)?;
        let files = entry.files();
        for (at, file) in files.iter().enumerate() {
            if self.is_taken(file, files[..at].iter().map(PathBuf::as_path)) {
                return Err(SqlError::new(5170, &[&file.display()]));
            }
        }
        self.save_entry(&entry)?;
        let made = self.foundation.create(&spec).map_err(|error| failed_to_create(&new.name, &error));
        let made = made.and_then(|database| self.copy_model(&database).map(|()| database));
        let noted = made.and_then(|database| {
            entry.phase = Phase::Present;
            self.save_entry(&entry).map(|()| database)
        });
        let database = match noted {
            Ok(database) => database,
            Err(error) => {
                self.undo_creation(entry)?;
                return Err(error);
            }
        };
        self.insert(Slot::online(entry, database.clone()));
        Ok(database)
    }

    /// DROP DATABASE; the caller has made sure that no session uses the database.
    ///
    /// # Errors
    /// 3701 when there is none, 3708 for a system database; those of storage.
    pub fn drop_database(self: &Arc<Self>, name: &str) -> SqlResult<()> {
        let _changing = self.changing.lock();
        let Some(mut slot) = self.slot_named(name) else {
            return Err(SqlError::new(3701, &[&"drop", &"database", &name]));
        };
        if slot.entry.number < FIRST_USER_DATABASE {
            return Err(SqlError::new(3708, &[&"drop", &"database", &name, &"database"]));
        }
        if slot.state == DatabaseState::Recovering {
            return Err(SqlError::new(922, &[&slot.entry.name]));
        }
        slot.entry.phase = Phase::Dropping;
        self.save_entry(&slot.entry)?;
        self.databases.lock().remove(&slot.entry.number);
        if let Some(database) = &slot.database {
            if let Err(error) = crate::shutdown::close_database(database) {
                os::report::warn("engine", &format!("closing the dropped database {name}: {error}"));
            }
        }
        crate::database_counters::forget(self.os(), &slot.entry.name);
        self.finish_removal(slot.entry)
    }

    /// A path of this machine as views show it: below a mapped drive with its letter, others unchanged.
    pub fn shown_path(&self, path: &Path) -> String {
        self.places.shown(self.os().disk(), path)
    }

    /// Resolves a path of a script.
    ///
    /// # Errors
    /// 5105, 5133.
    pub fn resolve_path(&self, written: &str) -> SqlResult<PathBuf> {
        self.places.resolve(self.os().disk(), written)
    }

    fn insert(&self, slot: Slot) {
        self.databases.lock().insert(slot.entry.number, slot);
    }

    /// Runs `work` as one fully durable transaction of master.
    fn in_master(&self, work: impl FnOnce(&Arc<Database>, &DbTransaction) -> SqlResult<()>) -> SqlResult<()> {
        let master = self.master();
        let transaction =
            DbTransaction::new(master.clone(), master.transactions().begin(TxnOptions::default()), 0);
        match work(&master, &transaction) {
            Ok(()) => transaction.commit(CommitMode::Full),
            Err(error) => {
                transaction.rollback()?;
                Err(error)
            }
        }
    }

    fn save_entry(&self, entry: &Entry) -> SqlResult<()> {
        self.in_master(|master, txn| registry::save(master, txn, entry, &self.data_dir))
    }

    fn forget_entry(&self, number: u16) -> SqlResult<()> {
        self.in_master(|master, txn| registry::remove(master, txn, number))
    }

    fn spec_of(&self, number: u16, new: &CreateDatabaseOptions) -> SqlResult<(DatabaseSpec, Entry)> {
        let stem = file_stem(&new.name);
        let (mut data_files, mut noted) = (Vec::new(), Vec::new());
        let default_file = [NewDatabaseFile::default()];
        let wanted = if new.data_files.is_empty() { &default_file[..] } else { &new.data_files };
        for (at, file) in wanted.iter().enumerate() {
            let name = if at == 0 { format!("{stem}.mdf") } else { format!("{stem}_{}.ndf", at + 1) };
            let path =
                file.path.as_ref().map_or_else(|| Ok(self.data_dir.join(&name)), |p| self.resolve_path(p))?;
            let logical = file.logical_name.clone().unwrap_or_else(|| {
                if at == 0 { new.name.clone() } else { format!("{}{}", new.name, at + 1) }
            });
            new_files::check_new_file(file, new_files::data_limit(file), &logical)?;
            let number = if at == 0 { 1 } else { new_files::next_number(&noted, &[]) };
            noted.push(DatabaseDataFile::new(number, path.clone()));
            data_files.push(new_files::new_data_file(file, number, path, logical));
        }
        let log_files = self.new_log_files(new, &stem, &noted)?;
        let names = data_files.iter().map(|file| file.logical_name.as_str());
        new_files::refuse_same_names(names.chain(log_files.iter().map(|file| file.name.as_str())))?;
        let created = date_time_of(self.os().clock().utc_100ns());
        let options = self.databases.lock().get(&MODEL).map(|s| s.entry.options.clone()).unwrap_or_default();
        let log = new_files::log_options(&log_files, &new.log_files, &new.name, options.vlf_rule);
        let entry = Entry {
            number,
            name: new.name.clone(),
            phase: Phase::Creating,
            created,
            options: options.clone(),
            data_files: noted,
            log_files,
        };
        Ok((
            DatabaseSpec {
                number,
                name: new.name.clone(),
                created,
                options,
                data_files,
                log,
                volatile: false,
            },
            entry,
        ))
    }

    /// First start: creates master, model and msdb, and the marker that they are complete.
    fn make_system_databases(self: &Arc<Self>) -> Result<(), StorageError> {
        for number in [MASTER, MODEL, MSDB] {
            let (spec, entry) = self.system_spec(number);
            let database = self.foundation.create(&spec)?;
            self.insert(Slot::online(entry.clone(), database));
            self.save_entry(&entry).map_err(|error| StorageError::Catalog(error.to_string()))?;
        }
        write_marker(self.os(), &self.data_dir)
    }

    /// Creates msdb, as CREATE DATABASE would, in a data directory from before msdb existed.
    fn make_missing_msdb(self: &Arc<Self>) -> Result<(), StorageError> {
        let failed = |error: SqlError| StorageError::Catalog(error.to_string());
        if self.databases.lock().contains_key(&MSDB) {
            return Ok(());
        }
        let name = SYSTEM_FILES[usize::from(MSDB) - 1].0;
        if self.slot_named(name).is_some() {
            os::report::warn(
                "engine",
                "a user's database is named msdb: there is no system database of that name",
            );
            return Ok(());
        }
        let (spec, mut entry) = self.system_spec(MSDB);
        // The same files as those of an interrupted creation.
        self.lingering.lock().remove(&MSDB);
        entry.phase = Phase::Creating;
        self.save_entry(&entry).map_err(failed)?;
        let database = self.foundation.create(&spec)?;
        entry.phase = Phase::Present;
        self.save_entry(&entry).map_err(failed)?;
        self.insert(Slot::online(entry, database));
        Ok(())
    }

    fn system_spec(&self, number: u16) -> (DatabaseSpec, Entry) {
        let (name, logical_name, data, log) = SYSTEM_FILES[usize::from(number) - 1];
        let created = date_time_of(self.os().clock().utc_100ns());
        // An administrator may have replaced a file by a link to a faster disk. A link to a place that is not allowed is refused when the
        // file is opened.
        let place = |file: &str| {
            let path = self.data_dir.join(file);
            self.places.admit(self.os().disk(), &path).unwrap_or(path)
        };
        let mut log_options = LogOptions::new(place(log), name);
        log_options.size_bytes = SYSTEM_LOG_BYTES;
        log_options.volatile = number == TEMPDB;
        let data_file = NewFile::new(place(data), logical_name);
        let logical_log = log.trim_end_matches(".ldf").to_string();
        let entry = Entry {
            number,
            name: name.to_string(),
            phase: Phase::Present,
            created,
            options: DatabaseOptions::default(),
            data_files: vec![DatabaseDataFile::new(1, data_file.path.clone())],
            log_files: vec![DatabaseLogFile {
                number: log::FIRST_LOG_FILE,
                phase: registry::FilePhase::Member,
                path: log_options.path.clone(),
                name: logical_log,
                growth: log_options.growth,
                bytes_max: log_options.bytes_max,
                size_bytes: None,
            }],
        };
        let spec = DatabaseSpec {
            number,
            name: name.to_string(),
            created,
            options: DatabaseOptions::default(),
            data_files: vec![data_file],
            log: log_options,
            volatile: number == TEMPDB,
        };
        (spec, entry)
    }

    /// Copies users' objects from model into a new database.
    fn copy_model(self: &Arc<Self>, target: &Arc<Database>) -> SqlResult<()> {
        let model = self.databases.lock().get(&MODEL).and_then(|s| s.database.clone());
        match model {
            Some(model) => crate::model::copy(&model, target),
            None => Ok(()),
        }
    }
}

/// Size of the logs of the system databases.
const SYSTEM_LOG_BYTES: u64 = 1 << 20;

impl Slot {
    /// An open database.
    fn online(entry: Entry, database: Arc<Database>) -> Slot {
        Slot { entry, database: Some(database), state: DatabaseState::Online, reason: None, refusal: None }
    }

    /// A database that was taken offline: known, not opened.
    fn offline(entry: Entry) -> Slot {
        Slot { entry, database: None, state: DatabaseState::Offline, reason: None, refusal: None }
    }

    /// A database that is being opened, or will be.
    fn recovering(entry: Entry) -> Slot {
        let refusal = Some(SqlError::new(922, &[&entry.name]));
        Slot { entry, database: None, state: DatabaseState::Recovering, reason: None, refusal }
    }

    /// A database that could not be opened, because of `error`.
    fn refused(entry: Entry, error: &StorageError) -> Slot {
        let state = match error.is_inaccessible() {
            true => DatabaseState::RecoveryPending,
            false => DatabaseState::Suspect,
        };
        let refusal = Some(refusal(error, &entry.name));
        Slot { entry, database: None, state, reason: Some(error.to_string()), refusal }
    }

    fn into_info(self) -> DatabaseInfo {
        let state = self.database.as_ref().map_or(self.state, |d| d.state());
        DatabaseInfo {
            id: i16::try_from(self.entry.number).unwrap_or(i16::MAX),
            name: self.entry.name,
            state,
            reason: self.reason.or_else(|| self.database.as_ref().and_then(|d| d.suspect_reason())),
            created: self.entry.created,
            options: self.entry.options,
            data_files: self.entry.data_files,
            log_files: self.entry.log_files,
            database: self.database,
        }
    }
}

fn failed_to_create(name: &str, error: &StorageError) -> SqlError {
    SqlError::custom(1802, 16, 1, format!("CREATE DATABASE '{name}' failed: {error}"))
}

/// The most bytes of a file's name that come from its database's name.
const FILE_STEM_BYTES_MAX: usize = 200;

/// A database's name as part of a file name: characters that a file system or a path could misread become `_`.
fn file_stem(name: &str) -> String {
    let mut safe: String =
        name.chars().map(|c| if c.is_alphanumeric() || "-_ .".contains(c) { c } else { '_' }).collect();
    // A name of 128 characters may have 500 bytes, a file's name 255, and an extension follows.
    safe.truncate(safe.floor_char_boundary(FILE_STEM_BYTES_MAX));
    let trimmed = safe.trim_matches('.').trim();
    if trimmed.is_empty() { "database".to_string() } else { trimmed.to_string() }
}

/// Is the directory new? Refuses a directory of another program. An interrupted first start is repeated.
fn prepare_directory(os: &Os, directory: &Path) -> Result<bool, StorageError> {
    let disk = os.disk();
    let marker = directory.join(MARKER);
    if disk.exists(&marker) {
        let version = read_text(os, &marker)?;
        if version.trim() != LAYOUT_VERSION {
            let why = format!(
                "{} was written by another version of Hardpan (layout {}, this one reads {LAYOUT_VERSION})",
                directory.display(),
                version.trim()
            );
            return Err(StorageError::Refused(why));
        }
        return Ok(false);
    }
    let creating = directory.join(CREATING_MARKER);
    if disk.exists(&creating) {
        for (_, _, data, log) in SYSTEM_FILES {
            let stem = data.trim_end_matches(".mdf");
            for name in [data.to_string(), format!("{data}.dwb"), format!("{stem}.dwb"), log.to_string()] {
                if disk.exists(&directory.join(&name)) {
                    disk.remove(&directory.join(&name))?;
                }
            }
        }
        return Ok(true);
    }
    let ours = [LOCK_FILE, "drives"];
    for entry in disk.list(directory)? {
        if !ours.iter().any(|name| entry.name == **name) {
            let why = format!(
                "{} is not a Hardpan data directory: it holds {} and no {MARKER}",
                directory.display(),
                entry.name
            );
            return Err(StorageError::Refused(why));
        }
    }
    disk.open(&creating, &OpenOptions::create())?.sync()?;
    disk.sync_dir(directory)?;
    Ok(true)
}

fn write_marker(os: &Os, directory: &Path) -> Result<(), StorageError> {
    let disk = os.disk();
    let marker = disk.open(&directory.join(CREATING_MARKER), &OpenOptions::create())?;
    marker.write_at(LAYOUT_VERSION.as_bytes(), 0, os::WriteMode::Cached)?;
    marker.sync()?;
    disk.rename(&directory.join(CREATING_MARKER), &directory.join(MARKER))?;
    disk.sync_dir(directory)?;
    Ok(())
}

fn read_text(os: &Os, path: &Path) -> Result<String, StorageError> {
    let file = os.disk().open(path, &OpenOptions::read_only())?;
    let mut bytes = vec![0; 64];
    let length = file.read_at(&mut bytes, 0)?;
    bytes.truncate(length);
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
