//! [`Database`]: one open database with everything that belongs to it.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use access::AccessMethods;
use log::{FlushReason, Log};
use os::{Latch, LatchRank, Os};
use pages::FileSpace;
use txn::{CommitMode, DelayedDurability, TxnManager, TxnOptions};
use types::{DateTime, SqlError, Value};

use crate::catalog::{Catalog, system_tables};
use crate::checkpoint::CheckpointState;
use crate::db_transaction::DbTransaction;
use crate::error::SqlResult;
use crate::identity::{Identities, cells_of, number_of_cells};
use crate::options::{DatabaseOptions, DatabaseState};
use crate::row_counts::RowCounts;
use crate::row_version::RowVersions;
use crate::schema::{IdentityDef, ObjectDef, ObjectId, TableDef};
use crate::table::Table;
use crate::ticket::Tickets;
use crate::versioning::RowVersioning;
use crate::workspace::Workspaces;

/// So often the first note of a table's identity is tried: whoever was faster has written it, unless it is taken back at once.
const FIRST_NOTE_TRIES: u32 = 100;

/// The row of `sysidentities` that holds the ceiling of the database's rowversion values.
pub(crate) const ROW_VERSIONS_ID: ObjectId = 0;

/// Incarnations so far of all instances of the process.
static INCARNATIONS: AtomicU64 = AtomicU64::new(0);

/// An open database. `Online ──suspect──► Suspect`: from then on nothing of it is acknowledged; it must be opened anew.
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
    pub(crate) row_versions: RowVersions,
    pub(crate) row_counts: RowCounts,
    pub(crate) checkpoint_state: CheckpointState,
    /// Held by the background thread that works on the database; true once it closes, and none may begin.
    is_closing: Latch<bool>,
    pub(crate) system: Vec<Arc<TableDef>>,
    pub(crate) created: DateTime,
    /// DELAYED_DURABILITY by itself, for the commit path.
    delayed: AtomicU8,
    options: Latch<DatabaseOptions>,
    /// Set when users may come; never for tempdb, whose commits have no tickets.
    tickets: OnceLock<Tickets>,
    /// Does the error log say that it is suspect?
    is_suspect_told: AtomicBool,
    volatile: bool,
    /// IDENTITY_CACHE by itself, and trace flag 272 of the instance.
    identity_cache: AtomicBool,
    identity_uncached: Arc<AtomicBool>,
    workspaces: Arc<Workspaces>,
    pub(crate) versioning: RowVersioning,
}

/// What makes a [`Database`].
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
            row_versions: RowVersions::default(),
            row_counts: RowCounts::default(),
            checkpoint_state: CheckpointState::default(),
            is_closing: Latch::new(LatchRank::Database, false),
            system: parts.system,
            created: parts.created,
            delayed: AtomicU8::new(parts.options.delayed_durability as u8),
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

    /// `database_id` as locks know it.
    pub fn number(&self) -> u16 {
        self.number
    }

    /// The memory of queries, and the files behind it.
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

    /// Which of all databases of the process this is: made anew or opened anew under the same name and number it is another.
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

    /// tempdb: made anew at each start, nothing in it is ever made durable.
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
        let statistics =
            |options: &DatabaseOptions| (options.creates_statistics(), options.updates_statistics());
        if statistics(&before) != statistics(&options) {
            // Plans ask again for what they did without.
            self.catalog.touch();
        }
        self.delayed.store(options.delayed_durability as u8, Ordering::Release);
        tell_log(&self.log, &options, self.volatile);
        self.identity_cache.store(options.has_identity_cache(), Ordering::Release);
        self.apply_versioning(&options);
        *self.options.lock() = options;
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

    /// A commit that failed makes the transactions suspect before its locks go. A page that could not be written makes the files suspect
    /// wherever that happens: at a checkpoint, in the lazy writer, in an eviction.
    fn why_suspect(&self) -> Option<&str> {
        self.txns.failure().or_else(|| self.space.suspect_reason())
    }

    /// The database cannot go on: a log write or sync failed, or a page could not be written. The first reason stays.
    pub fn suspect(&self, reason: &str) {
        self.txns.fail(reason);
        if !self.is_suspect_told.swap(true, Ordering::AcqRel) {
            os::report::error("engine", &format!("database {} is suspect: {reason}", self.name()));
        }
    }

    /// May a transaction that has changed data still commit? It must not be acknowledged once something could not be written.
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

    /// `sys.sp_flush_log`: every record so far, and with them all delayed commits, is hard when it returns.
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

    /// CHECKPOINT.
    ///
    /// # Errors
    /// 9001, 9002 and those of data files.
    pub fn checkpoint(self: &Arc<Self>) -> SqlResult<()> {
        crate::checkpoint::run(self, crate::checkpoint::Reason::Statement).map_err(|error| {
            SqlError::custom(
                5901,
                16,
                1,
                format!("The checkpoint of database '{}' failed: {error}", self.name()),
            )
        })
    }

    /// Pages of a data file that belong to a table, index or large value.
    ///
    /// # Errors
    /// 823, 824 when an allocation map cannot be read.
    pub fn used_pages(&self, file: u16) -> SqlResult<u64> {
        self.access.used_pages(file).map_err(|error| crate::error::sql_error(&error.into(), self.name(), 0))
    }

    /// Work of a background thread, which may come upon a database that is being closed: then it is not done. One at a time.
    pub(crate) fn in_background<T>(&self, work: impl FnOnce() -> T) -> Option<T> {
        let is_closing = self.is_closing.lock();
        (!*is_closing).then(work)
    }

    /// Waits for background work and keeps out what comes later.
    pub(crate) fn end_background(&self) {
        *self.is_closing.lock() = true;
    }

    /// A handle to a table of this database.
    pub fn table(self: &Arc<Self>, definition: &Arc<TableDef>) -> Table {
        Table::new(self.clone(), definition.clone(), false)
    }

    /// A handle to a table that is being built.
    pub(crate) fn unpublished_table(self: &Arc<Self>, definition: &Arc<TableDef>) -> Table {
        Table::new(self.clone(), definition.clone(), true)
    }

    /// Identity values of a table up to `noted` may have been handed out. A transaction of its own, so that the user's rollback does not
    /// take it back; it rides with the log and is not flushed for its own sake (claim 113). A transaction that has emptied the table has the
    /// note to itself, and writes it itself: with its rows the note goes or stays.
    pub(crate) fn note_identity(
        self: &Arc<Self>,
        txn: &DbTransaction,
        object_id: ObjectId,
        identity: IdentityDef,
        noted: i128,
    ) -> SqlResult<()> {
        let replaces = |before| if identity.increment > 0 { noted > before } else { noted < before };
        match txn.has_forgotten_identity(object_id) {
            true => self.put_identity(txn, object_id, noted, &replaces)?,
            false => self.write_identity(object_id, noted, &replaces, CommitMode::Volatile)?,
        }
        self.identities.was_noted(object_id, identity, noted);
        Ok(())
    }

    /// Are identity values noted ahead (IDENTITY_CACHE, trace flag 272)?
    pub(crate) fn caches_identities(&self) -> bool {
        self.identity_cache.load(Ordering::Acquire) && !self.identity_uncached.load(Ordering::Acquire)
    }

    /// The cache has been turned off: what is noted ahead is taken back, so that a crash leaves no gap from now on.
    pub(crate) fn settle_identities(self: &Arc<Self>) -> SqlResult<()> {
        for (object_id, _) in self.identities.positions() {
            let own = DbTransaction::new(self.clone(), self.txns.begin(TxnOptions::default()), 0);
            match self.settle_identity(&own, object_id) {
                Ok(()) => own.commit(CommitMode::Volatile)?,
                Err(error) => {
                    own.rollback()?;
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    fn settle_identity(self: &Arc<Self>, txn: &DbTransaction, object_id: ObjectId) -> SqlResult<()> {
        let table = self.system_table(system_tables::IDENTITIES);
        let Some(row) = table.take_key(txn, &[Value::Int(object_id)])? else { return Ok(()) };
        // Under the row's lock: whoever draws from now on notes his value behind this.
        let settled = self.identities.settle(object_id).map(cells_of);
        let [value, wide] = settled.unwrap_or_else(|| [row[1].clone(), row[2].clone()]);
        table.insert(txn, &[Value::Int(object_id), value, wide])
    }

    /// DBCC CHECKIDENT ... RESEED: counting goes on behind `value`, or begins with it when nothing was counted yet; a rollback brings the
    /// old position back.
    ///
    /// # Errors
    /// The marker of a stale plan; those of storage.
    pub fn reseed_identity(
        self: &Arc<Self>,
        txn: &DbTransaction,
        table: &Arc<TableDef>,
        value: i128,
    ) -> SqlResult<()> {
        self.lock_definition(txn, &ObjectDef::Table(table.clone()))?;
        let has_counted = self.identities.current(table.object_id).is_some();
        self.forget_identity(txn, table.object_id)?;
        if has_counted {
            self.identities.restore(table.object_id, value);
            self.put_identity(txn, table.object_id, value, &|_| true)
        } else {
            self.identities.start_at(table.object_id, value);
            self.put_identity(txn, start_row(table.object_id), value, &|_| true)
        }
    }

    /// Rowversion values up to `noted` may be handed out, once this has returned: it is hard then. It stands among the identities, under
    /// a number that no table has.
    pub(crate) fn note_row_versions(self: &Arc<Self>, noted: i64) -> SqlResult<()> {
        self.write_identity(
            ROW_VERSIONS_ID,
            i128::from(noted),
            &|before| i128::from(noted) > before,
            CommitMode::Full,
        )
    }

    /// A clean close: the exact positions, so that the next start leaves no gap.
    pub(crate) fn note_positions(self: &Arc<Self>) -> SqlResult<()> {
        let row_versions = self.row_versions.position().map(i128::from);
        let row_versions = row_versions.map(|last| (ROW_VERSIONS_ID, last));
        for (object_id, last) in self.identities.positions().into_iter().chain(row_versions) {
            self.write_identity(object_id, last, &|_| true, CommitMode::Volatile)?;
        }
        self.note_sequence_positions()
    }

    /// Writes the note if it `replaces` the one that stands there. Two who make the first note of a table may meet (2601): then again, but not
    /// for ever, as a tree would want it whose pages disagree about whether the note is there.
    fn write_identity(
        self: &Arc<Self>,
        object_id: ObjectId,
        noted: i128,
        replaces: &dyn Fn(i128) -> bool,
        mode: CommitMode,
    ) -> SqlResult<()> {
        let mut tries = 1;
        loop {
            match self.try_write_identity(object_id, noted, replaces, mode) {
                Err(error) if matches!(error.number, 2601 | 2627) && tries < FIRST_NOTE_TRIES => tries += 1,
                result => return result,
            }
        }
    }

    fn try_write_identity(
        self: &Arc<Self>,
        object_id: ObjectId,
        noted: i128,
        replaces: &dyn Fn(i128) -> bool,
        mode: CommitMode,
    ) -> SqlResult<()> {
        let own = DbTransaction::new(self.clone(), self.txns.begin(TxnOptions::default()), 0);
        match self.put_identity(&own, object_id, noted, replaces) {
            Ok(()) => own.commit(mode),
            Err(error) => {
                own.rollback()?;
                Err(error)
            }
        }
    }

    fn put_identity(
        self: &Arc<Self>,
        txn: &DbTransaction,
        object_id: ObjectId,
        noted: i128,
        replaces: &dyn Fn(i128) -> bool,
    ) -> SqlResult<()> {
        let table = self.system_table(system_tables::IDENTITIES);
        let before = table
            .take_key(txn, &[Value::Int(object_id)])?
            .and_then(|row| number_of_cells(&row[1], row.get(2)));
        let value = before.filter(|&before| !replaces(before)).unwrap_or(noted);
        let [value, wide] = cells_of(value);
        table.insert(txn, &[Value::Int(object_id), value, wide])
    }

    /// A table is gone or empty: its identity begins again, unless the transaction is rolled back.
    pub(crate) fn forget_identity(
        self: &Arc<Self>,
        txn: &DbTransaction,
        object_id: ObjectId,
    ) -> SqlResult<()> {
        for row in [object_id, start_row(object_id)] {
            self.system_table(system_tables::IDENTITIES).delete_key(txn, &[Value::Int(row)])?;
        }
        txn.note_forgotten_identity(object_id, self.identities.forget(object_id));
        Ok(())
    }

    pub(crate) fn system_definitions(&self) -> &[Arc<TableDef>] {
        assert_eq!(self.system.len(), system_tables::ALL.len(), "every system table has a definition");
        &self.system
    }

    /// The present moment, for create and modify dates (UTC).
    /// The present time, as the catalog notes it.
    pub fn present_time(&self) -> DateTime {
        self.now()
    }

    pub(crate) fn now(&self) -> DateTime {
        date_time_of(self.os.clock().utc_100ns())
    }
}

/// The row of `sysidentities` that holds the value with which a table's identity begins, where that is not the seed. Tables have positive
/// numbers.
fn start_row(table: ObjectId) -> ObjectId {
    -table
}

/// What options of the database mean to its log. tempdb's drains in its own way.
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

/// A name and those that followed it: whoever has borrowed an old one keeps it, and reading takes no latch.
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
