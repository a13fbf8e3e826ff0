//! Creating and opening one database: files, log, recovery, catalog.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use access::{AccessMethods, AccessOptions, BTreeKind, Logging, UnitId};
use log::{Log, LogOptions};
use os::Os;
use os::sim::{Bug, is_planted};
use pages::{BootPage, BufferPool, CreateSpace, FileSpace, NewFile, OpenSpace, PageId};
use txn::{CommitMode, LockManager, TxnManager, TxnManagerOptions, TxnOptions};
use types::DateTime;

use crate::catalog::{self, system_tables};
use crate::database::{Database, DatabaseParts};
use crate::db_transaction::DbTransaction;
use crate::decision::Known;
use crate::error::StorageError;
use crate::files::make_directory;
use crate::options::DatabaseOptions;
use crate::recover;
use crate::schema::TableDef;
use crate::ticket::Tickets;
use crate::value_notes::ROW_VERSIONS_ID;
use crate::workspace::Workspaces;

/// Version of the catalog's payload in the boot page.
const CATALOG_VERSION: u8 = 1;

/// The rows of every system table.
type SystemRows = Vec<Vec<Vec<types::Value>>>;

/// The common parameters of opening and creating.
pub(crate) struct Foundation {
    pub(crate) os: Os,
    pub(crate) pool: Arc<BufferPool>,
    pub(crate) locks: Arc<LockManager>,
    /// The folder of log caches that survive the process; none: they end with it.
    pub(crate) log_cache_folder: Option<log::CacheFolder>,
    /// Existing log caches are used, none is created.
    pub(crate) log_cache_is_only_taken: bool,
    /// Where persisted log buffers may be.
    pub(crate) persistent_volume: os::PersistentVolume,
    /// The most memory for the row versions of a database.
    pub(crate) version_bytes_max: u64,
    /// The data directory: row versions beyond the memory limit are in a file of this folder.
    pub(crate) data_dir: PathBuf,
    /// Memory grants and temporary files for index builds.
    pub(crate) workspaces: Arc<Workspaces>,
    /// Trace flag 272: identity values are reserved one by one.
    pub(crate) identity_uncached: Arc<AtomicBool>,
}

/// The identity of a database, and the paths of its files.
#[derive(Clone)]
pub(crate) struct DatabaseSpec {
    pub(crate) number: u16,
    pub(crate) name: String,
    pub(crate) created: DateTime,
    pub(crate) options: DatabaseOptions,
    pub(crate) data_files: Vec<NewFile>,
    pub(crate) log: LogOptions,
    pub(crate) volatile: bool,
}

impl Foundation {
    /// Creates the files and an empty catalog. Everything is on disk when it returns (except for tempdb, which never is).
    pub(crate) fn create(&self, spec: &DatabaseSpec) -> Result<Arc<Database>, StorageError> {
        assert_eq!(spec.volatile, spec.log.volatile, "tempdb's log is as short-lived as its pages");
        for folder in
            spec.data_files.iter().map(|f| &f.path).chain([&spec.log.path]).filter_map(|p| p.parent())
        {
            make_directory(self.os.disk(), folder)?;
        }
        let mut guid = [0u8; 16];
        // In a simulated world each name is a random stream: two databases must not have one GUID there, either.
        let stream = format!("database guid {} {} {:?}", spec.number, spec.name, spec.created);
        self.os.rng(&stream).fill(&mut guid);
        let log = Arc::new(Log::create(&self.os, &self.log_options(spec))?);
        let space = FileSpace::create(
            &self.pool,
            &CreateSpace { database_guid: guid, files: spec.data_files.clone(), volatile: spec.volatile },
        )?;
        space.attach_log(log.clone());
        let (access, txns) = self.above(spec, &log, &space, 1);
        let transaction = txns.begin(TxnOptions::default());
        let mut roots = Vec::with_capacity(system_tables::ALL.len());
        for table in 0..system_tables::ALL.len() {
            roots.push(access.create_btree(
                &transaction,
                UnitId(system_tables::unit_of(table)),
                BTreeKind::Clustered,
            )?);
        }
        let mode = if spec.volatile { CommitMode::Volatile } else { CommitMode::Full };
        transaction.commit(mode)?;
        space.write_boot(&BootPage { payload: payload_of(&roots), ..space.boot() })?;
        let (database, _) = self.assemble(spec, log, space, access, txns, &roots)?;
        if !spec.volatile {
            crate::checkpoint::run(&database, crate::checkpoint::Reason::Create)?;
            database.space().note_incarnation(database.log().incarnation())?;
            database.issue_tickets(Tickets::new(
                database.log(),
                database.space().database_guid(),
                Vec::new(),
            ));
        }
        Ok(database)
    }

    /// Opens the files, recovers, reads the catalog. `known`: the decisions about its transactions in doubt. A panic meanwhile is an error of this
    /// database only: its files contradict the code's assumptions; the others are opened.
    pub(crate) fn open(&self, spec: &DatabaseSpec, known: &Known) -> Result<Arc<Database>, StorageError> {
        let opened = self.os.contain("recovery", || self.open_files(spec, known));
        opened.unwrap_or_else(|message| {
            os::sim::reach(|| "panic contained in recovery".to_owned());
            let what =
                format!("it could not be recovered, as the server came upon what cannot be: {message}");
            Err(StorageError::Txn(txn::TxnError::Corrupt { what }))
        })
    }

    fn open_files(&self, spec: &DatabaseSpec, known: &Known) -> Result<Arc<Database>, StorageError> {
        let (log, tail) = Log::open(&self.os, &self.log_options(spec))?;
        let log = Arc::new(log);
        let files: Vec<(u16, PathBuf)> = spec.data_files.iter().map(|f| (f.number, f.path.clone())).collect();
        let space = FileSpace::open(&self.pool, &OpenSpace { files, was_closed: tail.clean })?;
        space.check_incarnation(log.incarnation(), log.next_incarnation())?;
        space.attach_log(log.clone());
        let _nothing_is_written = NotWritten(Arc::clone(&space));
        let analysis = recover::analyze(&log, &tail, &spec.name, known)?;
        let (access, txns) = self.above(spec, &log, &space, analysis.max_txn.0 + 1);
        recover::redo_and_undo(
            &recover::Parts {
                os: &self.os,
                name: &spec.name,
                log: &log,
                tail: &tail,
                space: &space,
                access: &access,
                txns: &txns,
            },
            &analysis,
        )?;
        let mut roots = roots_of(&space.boot(), &spec.name)?;
        if roots.len() < system_tables::ALL.len() {
            let mut so_far = roots.clone();
            so_far.resize(system_tables::ALL.len(), PageId::NULL);
            let parts = (log.clone(), space.clone(), access.clone(), txns.clone());
            let (earlier, _) = self.assemble(spec, parts.0, parts.1, parts.2, parts.3, &so_far)?;
            access.note_units(earlier.units());
            add_system_tables(&space, &access, &txns, &mut roots)?;
        }
        let (database, rows) = self.assemble(spec, log, space, access, txns, &roots)?;
        database.access.note_units(database.units());
        database.access.sweep_pending_frees()?;
        let ends = crate::incarnations::note_end(&database, &rows[system_tables::INCARNATIONS])?;
        // The checkpoint makes the record durable, then begins the next incarnation.
        crate::checkpoint::run(&database, crate::checkpoint::Reason::Recovery)?;
        if is_planted(Bug::MapsJudgedAfterCheckpoint) {
            database.access.refuse_lost_maps_of_redo()?;
        }
        database.issue_tickets(Tickets::new(database.log(), database.space().database_guid(), ends));
        Ok(database)
    }

    fn log_options(&self, spec: &DatabaseSpec) -> LogOptions {
        let surviving_folder = self.log_cache_folder.clone().filter(|_| !spec.volatile);
        let surviving_is_only_taken = self.log_cache_is_only_taken;
        LogOptions { surviving_folder, surviving_is_only_taken, ..spec.log.clone() }
    }

    fn above(
        &self,
        spec: &DatabaseSpec,
        log: &Arc<Log>,
        space: &Arc<FileSpace>,
        first_txn: u64,
    ) -> (Arc<AccessMethods>, Arc<TxnManager>) {
        let txns = TxnManager::new(
            &self.os,
            log.clone(),
            self.locks.clone(),
            TxnManagerOptions { database_name: spec.name.clone(), first_txn },
        );
        let access = AccessMethods::new(AccessOptions {
            os: self.os.clone(),
            space: space.clone(),
            database: spec.number,
            cleanup_locks: self.locks.new_space(0),
            logging: if spec.volatile { Logging::UndoOnly } else { Logging::Full },
        });
        txns.versions().set_bytes_max(self.version_bytes_max);
        if !spec.volatile {
            txns.versions().spill_to(crate::workspace::spill::versions_path(&self.data_dir, spec.number));
        }
        txns.attach(access.clone());
        (access, txns)
    }

    fn assemble(
        &self,
        spec: &DatabaseSpec,
        log: Arc<Log>,
        space: Arc<FileSpace>,
        access: Arc<AccessMethods>,
        txns: Arc<TxnManager>,
        roots: &[PageId],
    ) -> Result<(Arc<Database>, SystemRows), StorageError> {
        let system: Vec<Arc<TableDef>> =
            roots.iter().enumerate().map(|(table, root)| system_tables::definition(table, *root)).collect();
        let parts = DatabaseParts {
            os: self.os.clone(),
            number: spec.number,
            name: spec.name.as_str().into(),
            log,
            space,
            access,
            txns,
            catalog: catalog::Catalog::empty(),
            system,
            created: spec.created,
            options: spec.options.clone(),
            volatile: spec.volatile,
            identity_uncached: self.identity_uncached.clone(),
            workspaces: self.workspaces.clone(),
        };
        let database = Database::new(parts);
        database.keep_versions();
        let rows = read_system_tables(&database)?;
        database.fill_catalog(&rows)?;
        Ok((database, rows))
    }
}

/// Prevents writes of a database's pages after a panic: one of them may be half changed.
struct NotWritten(Arc<FileSpace>);

impl Drop for NotWritten {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop_writing("its recovery panicked");
        }
    }
}

/// Adds the newer system tables to a database of an earlier version.
fn add_system_tables(
    space: &FileSpace,
    access: &AccessMethods,
    txns: &Arc<TxnManager>,
    roots: &mut Vec<PageId>,
) -> Result<(), StorageError> {
    let transaction = txns.begin(TxnOptions::default());
    for table in roots.len()..system_tables::ALL.len() {
        let unit = UnitId(system_tables::unit_of(table));
        roots.push(access.create_btree(&transaction, unit, BTreeKind::Clustered)?);
    }
    transaction.commit(CommitMode::Full)?;
    Ok(space.write_boot(&BootPage { payload: payload_of(roots), ..space.boot() })?)
}

/// Every row of every system table.
pub(crate) fn read_system_tables(database: &Arc<Database>) -> Result<SystemRows, StorageError> {
    let transaction =
        DbTransaction::new(database.clone(), database.transactions().begin(TxnOptions::default()), 0);
    transaction.set_isolation(txn::IsolationLevel::ReadUncommitted);
    let mut all = Vec::with_capacity(system_tables::ALL.len());
    for table in 0..system_tables::ALL.len() {
        let mut rows = Vec::new();
        // A database of an earlier version has no root of it yet.
        if !database.system_definitions()[table].base().root.is_null() {
            let read = database.system_table(table).for_each_row(&transaction, &mut |row| {
                rows.push(row.to_vec());
                Ok(())
            });
            read.map_err(|error| StorageError::Catalog(format!("{}: {error}", database.name())))?;
        }
        all.push(rows);
    }
    transaction.commit(CommitMode::Volatile).map_err(|error| StorageError::Catalog(error.to_string()))?;
    Ok(all)
}

impl Database {
    /// Fills the catalog's cache, the identity counters and that of rowversion values from rows of the system tables.
    fn fill_catalog(&self, rows: &SystemRows) -> Result<(), StorageError> {
        catalog::load(&self.catalog, &self.system, rows)?;
        for row in &rows[system_tables::IDENTITIES] {
            let noted = crate::identity::number_of_cells(&row[1], row.get(2));
            if let (Some(table), Some(noted)) = (row[0].as_i64(), noted) {
                match i32::try_from(table) {
                    Ok(ROW_VERSIONS_ID) => self.row_versions.restore(noted.unsigned_abs() as u64),
                    Ok(table) if table < 0 => self.identities.start_at(-table, noted),
                    Ok(table) => self.identities.restore(table, noted),
                    Err(_) => return Err(StorageError::Catalog(format!("identity of object {table}"))),
                }
            }
        }
        Ok(())
    }
}

/// The boot page's payload: version, then the roots of the system tables.
fn payload_of(roots: &[PageId]) -> Vec<u8> {
    let mut payload = vec![CATALOG_VERSION, roots.len() as u8];
    for root in roots {
        payload.extend_from_slice(&root.file.to_le_bytes());
        payload.extend_from_slice(&root.page.to_le_bytes());
    }
    payload
}

fn roots_of(boot: &BootPage, name: &str) -> Result<Vec<PageId>, StorageError> {
    let refuse = |why: &str| StorageError::Refused(format!("database {name}: {why}"));
    let [version, count, rest @ ..] = boot.payload.as_slice() else {
        return Err(refuse("the boot page says nothing about the catalog; its creation was cut off"));
    };
    if *version != CATALOG_VERSION {
        return Err(refuse("its catalog was made by another version of Hardpan"));
    }
    if usize::from(*count) > system_tables::ALL.len() {
        return Err(refuse("its catalog was made by a newer version of Hardpan"));
    }
    if usize::from(*count) <= system_tables::DATABASES || rest.len() != usize::from(*count) * 6 {
        return Err(refuse("the boot page's list of system tables is damaged"));
    }
    let root = |bytes: &[u8]| PageId {
        file: u16::from_le_bytes([bytes[0], bytes[1]]),
        page: u32::from_le_bytes([bytes[2], bytes[3], bytes[4], bytes[5]]),
    };
    Ok(rest.chunks_exact(6).map(root).collect())
}
