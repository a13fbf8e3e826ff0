//! [`DbTransaction`]: one session's transaction in one database, with its undo of in-memory state.

use std::cell::{Cell, OnceCell, RefCell};
use std::sync::Arc;
use std::task::Waker;

use log::Lsn;
use log::PendingCommit;
use log::records::PrepXact;
use txn::{
    CommitMode, CommitOutcome, CommitProgress, IsolationLevel, LockMark, LockMode, LockWait, Resource,
    Savepoint, Transaction, TxnResult,
};

use crate::catalog::CatalogUndo;
use crate::catalog::names::Change;
use crate::database::Database;
use crate::error::{SqlResult, sql_error};
use crate::identity::Counter;
use crate::points_held::ReadPoints;
use crate::row_counts::RowCountChanges;
use crate::row_version::ActiveRowVersion;
use crate::schema::ObjectId;
use crate::shared_lock::Shared;

/// Errors from this severity on are also written to the error log.
const SEVERE: u8 = 20;

/// A transaction in one database. Used by one task at a time, through `&self`, so that several cursors can share it.
pub struct DbTransaction {
    database: Arc<Database>,
    transaction: Transaction,
    session_id: i16,
    isolation: Cell<IsolationLevel>,
    lock_wait: Cell<LockWait>,
    /// The undo of the catalog's cache, newest last.
    catalog_undo: RefCell<Vec<CatalogUndo>>,
    /// Object locks that only the running statement needs (READ COMMITTED reads), and how often it requested each.
    statement_locks: RefCell<Vec<(Resource, LockMode, u32)>>,
    /// The identity counters that it has reset, oldest first, with their former state: of tables that it has emptied or dropped.
    forgotten_identities: RefCell<Vec<(ObjectId, Option<Counter>)>>,
    /// Its first rowversion value, which is active as long as this exists.
    row_version: OnceCell<ActiveRowVersion>,
    /// The snapshots that it reads, if any.
    pub(crate) points: ReadPoints,
    /// Its changes of row counts.
    pub(crate) row_counts: RefCell<RowCountChanges>,
}

/// A point of a [`DbTransaction`] to roll back to.
#[derive(Clone, Copy, Debug)]
pub struct DbSavepoint {
    savepoint: Savepoint,
    catalog_undo_len: usize,
    forgotten_len: usize,
    row_counts_len: usize,
    /// None for a statement's own beginning: its locks survive its rollback.
    locks: Option<LockMark>,
}

impl DbSavepoint {
    /// The start of the transaction.
    pub(crate) fn start() -> DbSavepoint {
        DbSavepoint {
            savepoint: Savepoint::start(),
            catalog_undo_len: 0,
            forgotten_len: 0,
            row_counts_len: 0,
            locks: Some(LockMark::START),
        }
    }
}

impl DbTransaction {
    pub(crate) fn new(database: Arc<Database>, transaction: Transaction, session_id: i16) -> DbTransaction {
        DbTransaction {
            database,
            transaction,
            session_id,
            isolation: Cell::new(IsolationLevel::ReadCommitted),
            lock_wait: Cell::new(LockWait::Session),
            catalog_undo: RefCell::new(Vec::new()),
            statement_locks: RefCell::new(Vec::new()),
            forgotten_identities: RefCell::new(Vec::new()),
            row_version: OnceCell::new(),
            points: ReadPoints::default(),
            row_counts: RefCell::default(),
        }
    }

    /// Its database.
    pub fn database(&self) -> &Arc<Database> {
        &self.database
    }

    /// The transaction below.
    pub fn inner(&self) -> &Transaction {
        &self.transaction
    }

    /// The session's number.
    pub(crate) fn session_id(&self) -> i16 {
        self.session_id
    }

    /// The default isolation level of its reads.
    pub fn isolation(&self) -> IsolationLevel {
        self.isolation.get()
    }

    /// Changes it.
    pub fn set_isolation(&self, isolation: IsolationLevel) {
        self.isolation.set(isolation);
    }

    /// How many locks it holds.
    pub fn lock_count(&self) -> usize {
        self.transaction.lock_count()
    }

    /// How long its lock requests wait.
    pub fn lock_wait(&self) -> LockWait {
        self.lock_wait.get()
    }

    /// Changes it (hint NOWAIT).
    pub fn set_lock_wait(&self, wait: LockWait) {
        self.lock_wait.set(wait);
    }

    /// The lock resource of an object of this database.
    pub fn object_resource(&self, object_id: ObjectId) -> Resource {
        Resource::Object { database: self.database.number(), object: object_id as u32 }
    }

    /// Locks an object.
    ///
    /// # Errors
    /// 1205, 1222, or the statement was stopped.
    pub fn lock_object(&self, object_id: ObjectId, mode: LockMode) -> SqlResult<()> {
        self.lock_object_waiting(object_id, mode, self.lock_wait.get())
    }

    /// Locks it with an explicit wait time (hint NOWAIT).
    pub(crate) fn lock_object_waiting(
        &self,
        object_id: ObjectId,
        mode: LockMode,
        wait: LockWait,
    ) -> SqlResult<()> {
        let resource = self.object_resource(object_id);
        self.transaction.lock(resource, mode, wait).map_err(|error| self.sql_error(&error.into()))
    }

    /// Locks an object for the running statement only.
    pub(crate) fn lock_object_for_statement(
        &self,
        object_id: ObjectId,
        mode: LockMode,
        wait: LockWait,
    ) -> SqlResult<()> {
        self.lock_object_waiting(object_id, mode, wait)?;
        let resource = self.object_resource(object_id);
        let mut locks = self.statement_locks.borrow_mut();
        match locks.iter_mut().find(|(known, known_mode, _)| *known == resource && *known_mode == mode) {
            Some((_, _, count)) => *count += 1,
            None => locks.push((resource, mode, 1)),
        }
        Ok(())
    }

    /// The statement has ended: releases the locks that only it needed.
    pub(crate) fn release_statement_locks(&self) {
        self.end_statement_point();
        let mut locks = self.statement_locks.borrow_mut();
        if !locks.is_empty() {
            for (resource, mode, count) in locks.drain(..) {
                (0..count).for_each(|_| self.transaction.unlock(&resource, mode));
            }
        }
        self.row_counts.borrow_mut().statement_ended();
    }

    /// The SQL error for a failure of the transaction layer.
    pub(crate) fn sql_error(&self, error: &txn::TxnError) -> types::SqlError {
        if error.is_fatal_to_database() {
            self.database.suspect(&error.to_string());
        }
        let told = sql_error(error, self.database.name(), self.session_id);
        if told.severity >= SEVERE {
            // Error 9001 refers its reader to the error log.
            os::report::error(
                "engine",
                &format!("database {}: error {}: {error}", self.database.name(), told.number),
            );
        }
        told
    }

    /// The catalog's cache was changed; `undo` restores it.
    pub(crate) fn note_catalog_change(&self, undo: CatalogUndo) {
        self.catalog_undo.borrow_mut().push(undo);
    }

    /// A change of the catalog by this transaction, which holds Sch-M on `resource`.
    pub(crate) fn change_under(&self, resource: Resource) -> Change {
        Change { owner: self.transaction.space().id(), resource }
    }

    /// Waits until no transaction changes the object of `resource`, and prevents changes until the result is dropped.
    pub(crate) fn share(&self, resource: Resource) -> SqlResult<Shared> {
        let space = self.transaction.space();
        let manager = self.database.transactions().lock_manager();
        Shared::wait(manager, space, resource, self.lock_wait.get())
            .map_err(|error| self.sql_error(&error.into()))
    }

    /// A new rowversion value of its database, active until the transaction ends.
    ///
    /// # Errors
    /// 9001 and 9002 when the record of a new range cannot be written, 8115 after the last value.
    pub fn next_row_version(&self) -> SqlResult<u64> {
        self.database.next_row_version(&self.row_version)
    }

    /// Has it changed the catalog?
    pub fn has_changed_catalog(&self) -> bool {
        !self.catalog_undo.borrow().is_empty()
    }

    /// The current point, valid while the transaction is open.
    pub fn savepoint(&self) -> DbSavepoint {
        self.mark(true, self.transaction.savepoint())
    }

    /// A savepoint with a name, which is logged once the transaction is.
    ///
    /// # Errors
    /// 9001, 9002.
    pub fn named_savepoint(&self, name: &str) -> SqlResult<DbSavepoint> {
        let savepoint = self.transaction.named_savepoint(name).map_err(|error| self.sql_error(&error))?;
        Ok(self.mark(true, savepoint))
    }

    /// The current point, for the statement that begins.
    pub(crate) fn statement_savepoint(&self) -> DbSavepoint {
        self.mark(false, self.transaction.savepoint())
    }

    fn mark(&self, outlives: bool, savepoint: Savepoint) -> DbSavepoint {
        DbSavepoint {
            row_counts_len: self.row_counts.borrow_mut().mark(outlives),
            savepoint,
            catalog_undo_len: self.catalog_undo.borrow().len(),
            forgotten_len: self.forgotten_identities.borrow().len(),
            locks: outlives.then(|| self.transaction.lock_mark()),
        }
    }

    /// Releases locks taken since the savepoint, to which everything has been rolled back.
    pub(crate) fn unlock_since(&self, savepoint: DbSavepoint) {
        let mark = savepoint.locks.expect("no statement gives its locks back when it is taken back");
        self.transaction.unlock_since(mark);
    }

    /// Rolls back everything after the savepoint; locks stay.
    ///
    /// # Errors
    /// 9001 when the log fails; the database is then suspect.
    pub fn rollback_to(&self, savepoint: DbSavepoint) -> SqlResult<()> {
        // The cache is restored first, as in `rollback`.
        self.undo_catalog(savepoint.catalog_undo_len);
        self.undo_forgetting(savepoint.forgotten_len);
        self.take_back_row_counts(savepoint.row_counts_len);
        let result = self.transaction.rollback_to(savepoint.savepoint);
        result.map_err(|error| self.failed_rollback(&error))
    }

    /// Recovery must undo changes that could not be rolled back: the database becomes suspect before another session can see them.
    fn failed_rollback(&self, error: &txn::TxnError) -> types::SqlError {
        self.database.suspect(&format!("a rollback failed: {error}"));
        self.sql_error(error)
    }

    /// Rolls back everything and ends.
    ///
    /// # Errors
    /// As `rollback_to`.
    pub fn rollback(self) -> SqlResult<()> {
        self.rollback_in_place()
    }

    fn rollback_in_place(&self) -> SqlResult<()> {
        self.end_points();
        // The cache is restored first: once the locks are released, other sessions may read it.
        self.undo_catalog(0);
        self.undo_forgetting(0);
        self.take_back_row_counts(0);
        self.transaction.rollback().map_err(|error| {
            let error = self.failed_rollback(&error);
            self.transaction.abandon();
            error
        })
    }

    /// Commits and ends.
    ///
    /// # Errors
    /// 9001, 9002: the commit is not acknowledged; after 9001 the database is suspect. 823 or 9001 when it was suspect before: the
    /// transaction is then rolled back.
    pub fn commit(self, mode: CommitMode) -> SqlResult<()> {
        self.commit_in_place(mode).map(drop)
    }

    /// Commits in place, because a move of the transaction is expensive; it has ended, whatever the result. Returns where its commit record is and
    /// whether it is hardened.
    ///
    /// # Errors
    /// As `commit`.
    pub(crate) fn commit_in_place(&self, mode: CommitMode) -> SqlResult<CommitOutcome> {
        self.check_for_commit()?;
        self.committed(self.transaction.commit(mode))
    }

    /// Commits in place, but the commit may be left pending (see [`Transaction::commit_later`]): [`DbTransaction::finish_commit`] ends it then.
    ///
    /// # Errors
    /// As `commit`.
    pub(crate) fn commit_later(&self, mode: CommitMode, waker: &Waker) -> SqlResult<CommitProgress> {
        self.check_for_commit()?;
        match self.transaction.commit_later(mode, waker) {
            Ok(CommitProgress::Pending(pending)) => Ok(CommitProgress::Pending(pending)),
            Ok(CommitProgress::Done(outcome)) => self.committed(Ok(outcome)).map(CommitProgress::Done),
            Err(error) => self.committed(Err(error)).map(CommitProgress::Done),
        }
    }

    /// Waits until a pending commit is hardened, if necessary, and ends the transaction.
    ///
    /// # Errors
    /// As [`DbTransaction::commit`].
    pub(crate) fn finish_commit(&self, pending: PendingCommit) -> SqlResult<CommitOutcome> {
        self.committed(self.transaction.finish_commit(pending))
    }

    /// The first phase of a commit over several databases: all its changes are being flushed, and the outcome is still open.
    /// `finish_prepare` waits for the flush.
    ///
    /// # Errors
    /// As `commit`; the caller then rolls back.
    pub(crate) fn prepare(&self, prepared: &PrepXact) -> SqlResult<()> {
        self.database.check_commit()?;
        self.transaction.prepare(prepared).map_err(|error| self.sql_error(&error))
    }

    /// Waits until all its changes are hardened.
    ///
    /// # Errors
    /// As `prepare`.
    pub(crate) fn finish_prepare(&self) -> SqlResult<()> {
        self.transaction.finish_prepare().map_err(|error| self.sql_error(&error))
    }

    /// The second phase, after the decision: returns the end record, whose flush is not waited for.
    ///
    /// # Errors
    /// 9001: the database is suspect, and recovery will commit the transaction.
    pub(crate) fn commit_decided(self) -> SqlResult<Lsn> {
        let outcome = self.transaction.commit_prepared();
        self.committed(outcome).map(|outcome| outcome.lsn)
    }

    /// The outcome is unknown: the database is suspect until it is recovered.
    pub(crate) fn leave_in_doubt(self, why: &str) {
        self.database.suspect(why);
        self.undo_catalog(0);
        self.transaction.leave_in_doubt(why);
    }

    /// Rolls back the transaction of a suspect database, which must not commit.
    fn check_for_commit(&self) -> SqlResult<()> {
        self.end_points();
        if self.transaction.has_changed_data()
            && let Err(error) = self.database.check_commit()
        {
            // Its changes in memory must not be seen; a failure of the rollback's own log changes nothing any more.
            drop(self.rollback_in_place());
            return Err(error);
        }
        Ok(())
    }

    fn committed(&self, outcome: TxnResult<CommitOutcome>) -> SqlResult<CommitOutcome> {
        let error = match outcome {
            Ok(outcome) => {
                self.row_counts.borrow_mut().settle(&self.database.row_counts);
                let changes = self.catalog_undo.take();
                if !changes.is_empty() {
                    self.database.catalog().settle(self.transaction.space().id(), changes.into_iter());
                }
                return Ok(outcome);
            }
            Err(error) => error,
        };
        // The transactions have failed already, before the locks were released; this writes the error log.
        self.database.suspect(&error.to_string());
        self.undo_catalog(0);
        Err(self.sql_error(&error))
    }

    /// An identity counter was reset; a rollback restores it.
    pub(crate) fn note_forgotten_identity(&self, table: ObjectId, before: Option<Counter>) {
        self.forgotten_identities.borrow_mut().push((table, before));
    }

    /// Has it reset the table's identity counter, so that no other transaction can reach its record?
    pub(crate) fn has_forgotten_identity(&self, table: ObjectId) -> bool {
        self.forgotten_identities.borrow().iter().any(|forgotten| forgotten.0 == table)
    }

    fn undo_forgetting(&self, keep: usize) {
        let mut forgotten = self.forgotten_identities.borrow_mut();
        for (table, before) in forgotten.drain(keep..).rev() {
            self.database.identities.put_back(table, before);
        }
        for (table, _) in forgotten.iter() {
            self.database.identities.note_anew(*table);
        }
    }

    fn take_back_row_counts(&self, keep: usize) {
        self.row_counts.borrow_mut().take_back(&self.database.row_counts, keep);
    }

    fn undo_catalog(&self, keep: usize) {
        let mut undo = self.catalog_undo.borrow_mut();
        for change in undo.drain(keep..).rev() {
            self.database.catalog().undo(self.transaction.space().id(), change);
        }
    }
}
