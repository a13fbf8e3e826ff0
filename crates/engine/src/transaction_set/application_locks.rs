//! Application locks: sp_getapplock, sp_releaseapplock, APPLOCK_MODE, APPLOCK_TEST. The owner is the session or
//! its transaction.

use std::sync::Arc;

use txn::{IsolationLevel, LockMark, LockMode, LockWait, RequestStatus, Resource};
use types::SqlError;

use super::TransactionSet;
use crate::database::Database;
use crate::error::SqlResult;

impl TransactionSet {
    /// Locks an application's resource name (`sp_getapplock`).
    ///
    /// # Errors
    /// 1222, 1205, an interrupt; 15000 class for a mode that application locks do not have.
    pub fn lock_application(
        &mut self,
        database: &Arc<Database>,
        name: &str,
        mode: &str,
        of_session: bool,
        timeout_ms: i32,
    ) -> SqlResult<()> {
        self.assert_settled();
        let mode = application_mode(mode)?;
        let wait = match timeout_ms {
            0 => LockWait::NoWait,
            t if t < 0 => LockWait::Forever,
            t => LockWait::Milliseconds(t.unsigned_abs()),
        };
        let resource = application_resource(database, name);
        let taken = if of_session {
            self.session_locks.lock(resource, mode, wait)
        } else {
            self.in_database(database, IsolationLevel::ReadCommitted)?.inner().lock(resource, mode, wait)
        };
        taken.map_err(|error| crate::error::sql_error(&error.into(), database.name(), self.session_id))
    }

    /// Releases an application lock.
    ///
    /// # Errors
    /// 1223 when it is not held.
    pub fn unlock_application(
        &mut self,
        database: &Arc<Database>,
        name: &str,
        of_session: bool,
    ) -> SqlResult<()> {
        self.assert_settled();
        let resource = application_resource(database, name);
        let held = if of_session {
            let mode = self.session_locks.mode(&resource);
            mode.inspect(|mode| self.session_locks.unlock(&resource, *mode)).is_some()
        } else {
            let mode = self.member(database).and_then(|m| m.inner().held_mode(&resource));
            let member = self.member(database);
            mode.zip(member).inspect(|(mode, member)| member.inner().unlock(&resource, *mode)).is_some()
        };
        if held {
            Ok(())
        } else {
            Err(SqlError::custom(1223, 16, 1, format!("The application lock '{name}' is not held.")))
        }
    }

    /// Releases every application lock that the session itself owns. The session stays in its databases, whose locks are its only others.
    pub fn unlock_session_applications(&mut self) {
        self.assert_settled();
        self.session_locks.unlock_since(LockMark::START);
    }

    /// The mode in which the session, or its transaction, holds an application lock.
    pub fn application_lock(
        &self,
        database: &Arc<Database>,
        name: &str,
        of_session: bool,
    ) -> Option<LockMode> {
        let resource = application_resource(database, name);
        if of_session {
            return self.session_locks.mode(&resource);
        }
        self.member(database).and_then(|member| member.inner().held_mode(&resource))
    }

    /// Would an application lock be granted at once? Takes no lock.
    ///
    /// # Errors
    /// 15000 class for a mode that application locks do not have.
    pub fn may_lock_application(&self, database: &Arc<Database>, name: &str, mode: &str) -> SqlResult<bool> {
        let (mode, resource) = (application_mode(mode)?, application_resource(database, name));
        let own = u32::from(self.session_id.unsigned_abs());
        let mut others = self.instance.locks().snapshot().into_iter();
        Ok(!others.any(|row| {
            row.resource == resource
                && row.session_id != own
                && row.status == RequestStatus::Grant
                && !mode.is_compatible_with(row.mode)
        }))
    }
}

/// A lock mode as applications write it.
fn application_mode(mode: &str) -> SqlResult<LockMode> {
    Ok(match mode.to_lowercase().as_str() {
        "shared" => LockMode::S,
        "update" => LockMode::U,
        "exclusive" => LockMode::X,
        "intentshared" => LockMode::IS,
        "intentexclusive" => LockMode::IX,
        _ => {
            return Err(SqlError::custom(
                15600,
                15,
                1,
                format!("'{mode}' is not a lock mode of application locks."),
            ));
        }
    })
}

fn application_resource(database: &Arc<Database>, name: &str) -> Resource {
    use std::hash::{Hash, Hasher};
    let mut hasher = rustc_hash::FxHasher::default();
    name.hash(&mut hasher);
    Resource::Application { database: database.number(), hash: hasher.finish() }
}
