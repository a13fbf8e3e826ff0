//! DATABASE locks: a session holds S on each database it is in; DROP DATABASE and MODIFY NAME hold X meanwhile.
//!
//! The owner of S is the session, so no commit or rollback releases it. A transaction that touches a database its session is not
//! in (`other.dbo.t`) holds S itself until it ends. Background tasks take none: closing a database waits for them by other means.

use std::marker::PhantomData;
use std::sync::Arc;

use txn::{HeldLocks, LockMode, LockOwner, LockWait, Resource};
use types::SqlError;

use super::TransactionSet;
use crate::database::Database;
use crate::db_transaction::DbTransaction;
use crate::error::SqlResult;
use crate::system_databases::shared_resource;

/// `user_access` of a database for one session at a time.
const SINGLE_USER: u8 = 1;

/// Exclusive access to a database for a statement: no other session enters until this is dropped. A session has one at a time.
pub struct ExclusiveDatabase<'a> {
    locks: HeldLocks,
    session: PhantomData<&'a mut TransactionSet>,
}

impl Drop for ExclusiveDatabase<'_> {
    fn drop(&mut self) {
        self.locks.unlock_all();
    }
}

impl TransactionSet {
    /// The session enters a database, any number of times; waits while another session has exclusive access.
    ///
    /// # Errors
    /// 911 and related errors when it does not exist (any more) or is not usable; 1222, 1205, an interrupt.
    pub fn enter_database(&mut self, name: &str) -> SqlResult<Arc<Database>> {
        loop {
            let database = self.instance.database(name)?;
            self.lock_shared(&database)?;
            // Dropped or renamed during the wait: look again, there may be another database of that name.
            if self.instance.database(name).is_ok_and(|found| Arc::ptr_eq(&found, &database)) {
                return Ok(database);
            }
            self.leave_database(&database);
        }
    }

    /// Enters a database that is known already: a procedure's, or the session's own once more.
    ///
    /// # Errors
    /// 911 when it has been dropped meanwhile; 1222, 1205, an interrupt.
    pub fn enter_known_database(&mut self, database: &Arc<Database>) -> SqlResult<()> {
        // A database that the session is in already, or that needs no lock, cannot have been dropped.
        let Some(resource) = shared_resource(database.number()) else { return Ok(()) };
        if self.session_locks.lock_again(&resource, LockMode::S) {
            return Ok(());
        }
        self.lock_shared(database)?;
        self.check_present(database).inspect_err(|_| self.leave_database(database))
    }

    /// The session leaves a database. An open transaction there keeps the lock as its own.
    pub fn leave_database(&mut self, database: &Arc<Database>) {
        let Some(resource) = shared_resource(database.number()) else { return };
        if self.session_locks.unlock_again(&resource) {
            return;
        }
        assert_eq!(self.session_locks.count(&resource), 1, "a session leaves what it has entered");
        if let Some(transaction) = self.unfinished(database) {
            let kept = transaction.inner().try_lock(resource, LockMode::S);
            assert!(kept, "what the session holds, its transaction gets");
        }
        self.session_locks.unlock(&resource, LockMode::S);
    }

    /// The transaction that keeps locks in a database: an open one, or one whose commit is pending.
    fn unfinished(&self, database: &Arc<Database>) -> Option<&DbTransaction> {
        let pending = self.pending.iter();
        let pending = pending.flat_map(|p| {
            std::iter::once(&p.member.transaction).chain(p.rest.iter().map(|m| &m.transaction))
        });
        let mut all = self.open.iter().map(|m| &m.transaction).chain(pending);
        all.find(|transaction| transaction.database().number() == database.number())
    }

    /// Has the session entered the database? False for master and tempdb, which need no lock.
    pub fn is_in_database(&self, number: u16) -> bool {
        shared_resource(number).is_some_and(|resource| self.session_locks.mode(&resource).is_some())
    }

    /// Gets exclusive access to a database for a statement, without waiting. `None`: other sessions use
    /// it. The session itself may be in it.
    ///
    /// # Errors
    /// 911 when there is no database of that name, open or not.
    pub fn lock_database_exclusively(&mut self, name: &str) -> SqlResult<Option<ExclusiveDatabase<'_>>> {
        loop {
            let number = self.instance.database_number(name)?;
            let manager = self.instance.locks().clone();
            let mut locks = HeldLocks::new(manager, self.space.clone(), LockOwner::Workspace);
            if locks.lock(Resource::Database { database: number }, LockMode::X, LockWait::NoWait).is_err() {
                return Ok(None);
            }
            let exclusive = ExclusiveDatabase { locks, session: PhantomData };
            // The name may have another database now.
            if self.instance.database_number(name)? == number {
                return Ok(Some(exclusive));
            }
        }
    }

    /// Releases all locks that the session itself owns: it ends.
    pub fn release_session_locks(&mut self) {
        self.session_locks.unlock_all();
    }

    /// A transaction in a database that its session is not in locks the database against DROP.
    pub(super) fn keep_for_transaction(&self, transaction: &DbTransaction) -> SqlResult<()> {
        let database = transaction.database();
        let Some(resource) = shared_resource(database.number()) else { return Ok(()) };
        if self.session_locks.mode(&resource).is_some() {
            return Ok(());
        }
        let alone = self.alone_if_single(database)?;
        let taken = transaction.inner().lock(resource, LockMode::S, LockWait::Session);
        taken.map_err(|error| crate::error::sql_error(&error.into(), database.name(), self.session_id))?;
        alone.into_iter().for_each(|mut alone| alone.unlock_all());
        // A transaction that found the database before its drop looks the name up again.
        self.check_present(database).map_err(|_| SqlError::stale_plan())
    }

    /// Gets exclusive access, and waits for other sessions to leave.
    ///
    /// # Errors
    /// As `lock_database_exclusively`; 1205, 1222, an interrupt.
    pub fn wait_for_database(&mut self, name: &str) -> SqlResult<ExclusiveDatabase<'_>> {
        let number = self.instance.database_number(name)?;
        let mut locks =
            HeldLocks::new(self.instance.locks().clone(), self.space.clone(), LockOwner::Workspace);
        let taken = locks.lock(Resource::Database { database: number }, LockMode::X, LockWait::Session);
        taken.map_err(|error| crate::error::sql_error(&error.into(), name, self.session_id))?;
        Ok(ExclusiveDatabase { locks, session: PhantomData })
    }

    /// The other sessions that are in a database, or whose transactions are.
    pub fn others_in_database(&self, number: u16) -> Vec<i16> {
        let resource = Resource::Database { database: number };
        let rows = self.instance.locks().snapshot().into_iter().filter(|row| row.resource == resource);
        let mut sessions: Vec<i16> = rows.filter_map(|row| i16::try_from(row.session_id).ok()).collect();
        sessions.retain(|session| *session != self.session_id && *session != 0);
        sessions.sort_unstable();
        sessions.dedup();
        sessions
    }

    /// In single-user mode, error 924 while another session is in the database. The returned lock excludes other sessions.
    fn alone_if_single(&self, database: &Database) -> SqlResult<Option<HeldLocks>> {
        if database.options().user_access != SINGLE_USER {
            return Ok(None);
        }
        let mut locks =
            HeldLocks::new(self.instance.locks().clone(), self.space.clone(), LockOwner::Workspace);
        let resource = Resource::Database { database: database.number() };
        match locks.lock(resource, LockMode::X, LockWait::NoWait) {
            Ok(()) => Ok(Some(locks)),
            Err(_) => Err(SqlError::new(924, &[&database.name()])),
        }
    }

    fn lock_shared(&mut self, database: &Database) -> SqlResult<()> {
        let Some(resource) = shared_resource(database.number()) else { return Ok(()) };
        if self.session_locks.mode(&resource).is_none()
            && let Some(mut alone) = self.alone_if_single(database)?
        {
            let taken = self.session_locks.try_lock(resource, LockMode::S);
            assert!(taken, "nobody else holds anything");
            alone.unlock_all();
            return Ok(());
        }
        let taken = self.session_locks.lock(resource, LockMode::S, LockWait::Session);
        taken.map_err(|error| crate::error::sql_error(&error.into(), database.name(), self.session_id))
    }

    /// Does the database still belong to the instance, now that its lock has been granted?
    fn check_present(&self, database: &Arc<Database>) -> SqlResult<()> {
        let present = self.instance.database_by_id(database.id());
        if present.is_some_and(|present| Arc::ptr_eq(&present, database)) {
            Ok(())
        } else {
            Err(SqlError::new(911, &[&database.name()]))
        }
    }
}
