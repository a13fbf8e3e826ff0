//! [`Database`]: one open database with all its parts.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use access::AccessMethods;
use log::{FlushReason, Log};
use os::{Latch, LatchRank, Os};
use pages::FileSpace;
use txn::{DelayedDurability, TxnManager};
use types::{DateTime, SqlError};

use crate::catalog::{Catalog, system_tables};
use crate::checkpoint_state::CheckpointState;
use crate::error::SqlResult;
use crate::identity::Identities;
use crate::missing_indexes::MissingIndexes;
use crate::options::{DatabaseOptions, DatabaseState};
use crate::row_counts::RowCounts;
use crate::row_version::RowVersions;
use crate::schema::TableDef;
use crate::snapshot_state::RowVersioning;
use crate::ticket::Tickets;
use crate::workspace::Workspaces;

/// Incarnations so far of all instances of the process.
static INCARNATIONS: AtomicU64 = AtomicU64::new(0);

/// An open database. `Online ──suspect──► Suspect`: from then on nothing of it is acknowledged; it must be opened again.
pub struct Database {
    pub(crate) os: Os,
    pub(crate) number: u16,
    incarnation: u64,
    name: Name,
    pub(crate) log: Arc<Log>,
    pub(crate) space: Arc<FileSpace>,
    pub(crate) access: Arc<AccessMethods>,
    pub(crate) txns: Arc<TxnManager>,
    pub(crate) catalog: Catalog,
    pub(crate) identities: Identities,
    pub(crate) row_versions: Arc<RowVersions>,
    pub(crate) row_counts: RowCounts,
    missing_indexes: MissingIndexes,
    pub(crate) checkpoint_state: CheckpointState,
    /// Held by the background thread that works on the database; true once the database closes, and no thread may begin.
    is_closing: Latch<bool>,
    pub(crate) system: Vec<Arc<TableDef>>,
    pub(crate) created: DateTime,
    /// DELAYED_DURABILITY as an atomic copy, for the commit path.
    delayed: AtomicU8,
    /// QUERY_STORE as an atomic copy, for each batch.
    query_store: AtomicBool,
    options: Latch<DatabaseOptions>,
    /// Set when the database accepts users; never for tempdb, whose commits have no tickets.
    tickets: OnceLock<Tickets>,
    /// Has the error log got the message that it is suspect?
    is_suspect_told: AtomicBool,
    volatile: bool,
    /// IDENTITY_CACHE as an atomic copy, and trace flag 272 of the instance.
    identity_cache: AtomicBool,
    identity_uncached: Arc<AtomicBool>,
    workspaces: Arc<Workspaces>,
    pub(crate) versioning: RowVersioning,
}

/// The parts of a [`Database`].
pub(crate) struct DatabaseParts {
    pub(crate) os: Os,
    pub(crate) number: u16,
    pub(crate) name: Arc<str>,
    pub(crate) log: Arc<Log>,
    pub(crate) space: Arc<FileSpace>,
    pub(crate) access: Arc<AccessMethods>,
    pub(crate) txns: Arc<TxnManager>,
    pub(crate) catalog: Catalog,
    pub(crate) system: Vec<Arc<TableDef>>,
    pub(crate) created: DateTime,
    pub(crate) options: DatabaseOptions,
    pub(crate) volatile: bool,
    pub(crate) identity_uncached: Arc<AtomicBool>,
    pub(crate) workspaces: Arc<Workspaces>,
}

impl Database {
    pub(crate) fn new(parts: DatabaseParts) -> Arc<Database> {
        assert!(parts.number > 0, "database ids begin with 1");
        tell_log(&parts.log, &parts.options, parts.volatile);
        Arc::new(Database {
            os: parts.os,
            number: parts.number,
            incarnation: INCARNATIONS.fetch_add(1, Ordering::Relaxed) + 1,
            name: Name::new(&parts.name),
            log: parts.log,
            space: parts.space,
            access: parts.access,
            txns: parts.txns,
            catalog: parts.catalog,
            identities: Identities::default(),
            row_versions: Arc::default(),
            row_counts: RowCounts::default(),
            missing_indexes: MissingIndexes::default(),
            checkpoint_state: CheckpointState::default(),
            is_closing: Latch::new(LatchRank::Database, false),
            system: parts.system,
            created: parts.created,
            delayed: AtomicU8::new(parts.options.delayed_durability as u8),
            query_store: AtomicBool::new(parts.options.keeps_query_store()),
            identity_cache: AtomicBool::new(parts.options.has_identity_cache()),
            identity_uncached: parts.identity_uncached,
            workspaces: parts.workspaces,
            versioning: RowVersioning::new(&parts.options),
            options: Latch::new(LatchRank::Stats, parts.options),
            tickets: OnceLock::new(),
            is_suspect_told: AtomicBool::new(false),
            volatile: parts.volatile,
        })
    }

    /// `database_id`.
    pub fn id(&self) -> i16 {
        i16::try_from(self.number).unwrap_or(i16::MAX)
    }

    /// `database_id` in lock resources.
    pub fn number(&self) -> u16 {
        self.number
    }

    /// The memory grants of queries, and the temporary files behind them.
    pub(crate) fn workspaces(&self) -> &Arc<Workspaces> {
        &self.workspaces
    }

    pub(crate) fn tickets(&self) -> Option<&Tickets> {
        self.tickets.get()
    }

    /// From now on commits get tickets.
    pub(crate) fn issue_tickets(&self, tickets: Tickets) {
        assert!(!self.volatile, "what is lost at each start has no tickets");
        let first = self.tickets.set(tickets);
        assert!(first.is_ok(), "a database is opened once");
    }

    /// The number of this open database among all of the process: a database created or opened again under the same name and number has another.
    pub fn incarnation(&self) -> u64 {
        self.incarnation
    }

    /// Name.
    pub fn name(&self) -> &str {
        self.name.newest()
    }

    /// ALTER DATABASE ... MODIFY NAME; one at a time.
    pub(crate) fn rename(&self, name: &str) {
        self.name.append(name);
    }

    /// When it was created.
    pub fn create_date(&self) -> DateTime {
        self.created
    }

    /// Missing indexes that plans asked for.
    pub fn missing_indexes(&self) -> &MissingIndexes {
        &self.missing_indexes
    }

    /// True for tempdb: created anew at each start, never durable.
    pub fn is_volatile(&self) -> bool {
        self.volatile
    }

    /// Its definitions.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Its log.
    pub fn log(&self) -> &Arc<Log> {
        &self.log
    }

    /// Its data files.
    pub fn space(&self) -> &Arc<FileSpace> {
        &self.space
    }

    /// Its transactions.
    pub fn transactions(&self) -> &Arc<TxnManager> {
        &self.txns
    }

    /// Its options.
    pub fn options(&self) -> DatabaseOptions {
        self.options.lock().clone()
    }

    pub(crate) fn set_options(&self, options: DatabaseOptions) {
        let before = self.options();
        let planned_by = |options: &DatabaseOptions| {
            let statistics = (options.creates_statistics(), options.updates_statistics());
            (statistics, options.compatibility_level, options.read_only)
        };
        // Plans made under other planning options are validated again.
        let asks_again = planned_by(&before) != planned_by(&options);
        self.delayed.store(options.delayed_durability as u8, Ordering::Release);
        tell_log(&self.log, &options, self.volatile);
        self.identity_cache.store(options.has_identity_cache(), Ordering::Release);
        self.query_store.store(options.keeps_query_store(), Ordering::Relaxed);
        self.apply_versioning(&options);
        *self.options.lock() = options;
        if asks_again {
            self.catalog.touch();
        }
    }

    /// QUERY_STORE: does the database record its queries?
    #[inline]
    pub fn keeps_query_store(&self) -> bool {
        self.query_store.load(Ordering::Relaxed)
    }

    /// DELAYED_DURABILITY; takes effect for the next commit.
    pub fn delayed_durability(&self) -> DelayedDurability {
        let number = self.delayed.load(Ordering::Acquire);
        DelayedDurability::from_number(number).expect("only numbers of the option are stored")
    }

    /// Its state.
    pub fn state(&self) -> DatabaseState {
        if self.why_suspect().is_some() { DatabaseState::Suspect } else { DatabaseState::Online }
    }

    /// Why it is suspect.
    pub fn suspect_reason(&self) -> Option<String> {
        self.why_suspect().map(str::to_owned)
    }

    /// A commit that failed makes the transactions suspect before its locks are released. A page that could not be written makes the files suspect
    /// in any writer: a checkpoint, the lazy writer, an eviction.
    fn why_suspect(&self) -> Option<&str> {
        self.txns.failure().or_else(|| self.space.suspect_reason())
    }

    /// Makes the database suspect: a log write or sync failed, or a page could not be written. The first reason stays.
    pub fn suspect(&self, reason: &str) {
        self.txns.fail(reason);
        if !self.is_suspect_told.swap(true, Ordering::AcqRel) {
            os::report::error("engine", &format!("database {} is suspect: {reason}", self.name()));
        }
    }

    /// May a transaction that has changed data still commit? It must not be acknowledged after a failed write.
    ///
    /// # Errors
    /// 823 after a failed write or sync of a data file, 9001 when it is suspect for another reason.
    pub(crate) fn check_commit(&self) -> SqlResult<()> {
        match (self.space.suspect_reason(), self.txns.failure()) {
            (None, None) => Ok(()),
            (Some(reason), _) => Err(crate::error::io_failed(self.name(), reason)),
            (None, Some(_)) => Err(SqlError::new(9001, &[&self.name()])),
        }
    }

    /// May statements use it?
    ///
    /// # Errors
    /// 926 when it is suspect.
    pub fn check_usable(&self) -> SqlResult<()> {
        match self.state() {
            DatabaseState::Suspect => Err(SqlError::new(926, &[&self.name()])),
            _ => Ok(()),
        }
    }

    /// `sys.sp_flush_log`: every record so far, and with them all delayed commits, is durable when it returns.
    ///
    /// # Errors
    /// 9001 when the log has failed.
    pub fn flush_log(&self) -> SqlResult<()> {
        if self.volatile {
            return Ok(());
        }
        let last = self.log.last();
        self.log.harden(last, FlushReason::FlushLogProc).map_err(|error| {
            if error.is_fatal_to_database() {
                self.suspect(&error.to_string());
            }
            crate::error::sql_error(&error.into(), self.name(), 0)
        })
    }

    /// Pages of a data file that belong to a table, index or large value.
    ///
    /// # Errors
    /// 823, 824 when an allocation map cannot be read.
    pub fn used_pages(&self, file: u16) -> SqlResult<u64> {
        self.access.used_pages(file).map_err(|error| crate::error::sql_error(&error.into(), self.name(), 0))
    }

    /// Check before a data file is cut at page `from`: an error when a page behind it is in use that its allocation map calls free.
    pub(crate) fn check_free_from(&self, file: u16, from: u32) -> SqlResult<()> {
        let checked = self.access.check_free_from(file, from);
        checked.map_err(|error| crate::error::sql_error(&error.into(), self.name(), 0))
    }

    /// Runs work of a background thread, unless the database is being closed. One thread at a time.
    pub(crate) fn in_background<T>(&self, work: impl FnOnce() -> T) -> Option<T> {
        let is_closing = self.is_closing.lock();
        (!*is_closing).then(work)
    }

    /// Waits for background work and prevents more of it.
    pub(crate) fn end_background(&self) {
        *self.is_closing.lock() = true;
    }

    /// Are identity values reserved ahead (IDENTITY_CACHE, trace flag 272)?
    pub(crate) fn caches_identities(&self) -> bool {
        self.identity_cache.load(Ordering::Acquire) && !self.identity_uncached.load(Ordering::Acquire)
    }

    pub(crate) fn system_definitions(&self) -> &[Arc<TableDef>] {
        assert_eq!(self.system.len(), system_tables::ALL.len(), "every system table has a definition");
        &self.system
    }

    /// The present time, in the catalog's form.
    pub fn present_time(&self) -> DateTime {
        self.now()
    }

    pub(crate) fn now(&self) -> DateTime {
        date_time_of(self.os.clock().utc_100ns())
    }
}

/// Passes database options to the log. tempdb's log drains in its own way.
fn tell_log(log: &Log, options: &DatabaseOptions, is_volatile: bool) {
    log.set_limits(options.log_limits.limits());
    log.set_vlf_rule(options.vlf_rule);
    if !is_volatile {
        log.set_delayed_flush_policy(options.delayed_flush);
        log.set_loss_bounds(options.loss_bounds);
    }
}

/// A datetime from 100 ns ticks since 0001-01-01.
pub fn date_time_of(utc_100ns: i64) -> DateTime {
    const DAY_100NS: i64 = 864_000_000_000;
    const DAYS_TO_1900: i64 = 693_595;
    let days = utc_100ns.div_euclid(DAY_100NS) - DAYS_TO_1900;
    let ticks = utc_100ns.rem_euclid(DAY_100NS) * 3 / 100_000;
    DateTime { days: days as i32, ticks: ticks as u32 }
}

/// A name and its successors: a borrowed old name stays valid, and reading takes no latch.
struct Name {
    text: Box<str>,
    next: OnceLock<Box<Name>>,
}

impl Name {
    fn new(text: &str) -> Name {
        Name { text: text.into(), next: OnceLock::new() }
    }

    fn last(&self) -> &Name {
        let mut name = self;
        while let Some(next) = name.next.get() {
            name = next;
        }
        name
    }

    fn newest(&self) -> &str {
        &self.last().text
    }

    fn append(&self, text: &str) {
        let appended = self.last().next.set(Box::new(Name::new(text)));
        assert!(appended.is_ok(), "databases are altered one at a time");
    }
}
