//! Acknowledgement: a session's client learns nothing that depends on a fully durable commit which is not hardened yet.
//!
//! Under COMMIT_ACK = BATCH commits release their locks before they are hardened. A session that has made or read such commits notes their databases
//! here when its transaction ends there; before an answer is sent, all noted databases are hardened, once. A delayed commit is not such a
//! commit: its session and its database have chosen the risk.
//!
//! Within a database the order of its log guarantees that no dependent commit survives without the commit it depends on. Between databases nothing
//! does: a commit waits until the noted commits of other databases are hardened ([`Acknowledgement::harden_others`]).
//!
//! ```text
//!  transaction ends ──note, if a commit with early lock release is not hard──► noted ──harden_noted (the answer is about to leave)──► nothing noted
//!                                                                  └──the log fails──► failed: nothing leaves any more
//! ```

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::{Arc, Weak};

use log::{FlushReason, Lsn};
use os::{Latch, LatchRank};

use crate::database::Database;
use crate::error::SqlResult;
use crate::instance::Instance;

/// The reason of a log flush before an answer; its only mention.
const ACKNOWLEDGE: FlushReason = FlushReason::Acknowledge;

/// See the heading. One per session, shared with the code that sends its answers.
pub struct Acknowledgement {
    instance: Weak<Instance>,
    noted: Latch<Vec<(Weak<Database>, Lsn)>>,
    /// Is a database noted? Read before the latch is taken.
    is_noted: AtomicBool,
    has_failed: AtomicBool,
}

impl Acknowledgement {
    pub(crate) fn new(instance: &Arc<Instance>) -> Arc<Acknowledgement> {
        Arc::new(Acknowledgement {
            instance: Arc::downgrade(instance),
            noted: Latch::new(LatchRank::Leaf, Vec::new()),
            is_noted: AtomicBool::new(false),
            has_failed: AtomicBool::new(false),
        })
    }

    /// The session may have seen all commits in the database so far.
    #[inline]
    pub(crate) fn note(&self, database: &Arc<Database>) {
        let released = database.transactions().last_early_release();
        if !released.is_null() && released > database.log().hardened() {
            self.note_unhardened(database, released);
        }
    }

    #[cold]
    fn note_unhardened(&self, database: &Arc<Database>, lsn: Lsn) {
        let mut noted = self.noted.lock();
        let known = noted.iter_mut().find(|(known, _)| std::ptr::eq(known.as_ptr(), Arc::as_ptr(database)));
        match known {
            Some((_, known)) => *known = lsn.max(*known),
            None => noted.push((Arc::downgrade(database), lsn)),
        }
        self.is_noted.store(true, Release);
    }

    /// Hardens everything noted.
    ///
    /// # Errors
    /// 9001 when a log has failed, now or before: the session may have seen a commit that is lost.
    pub fn harden_noted(&self) -> SqlResult<()> {
        if self.has_failed() {
            return Err(types::SqlError::new(9001, &[&"a database of the answer"]));
        }
        if !self.is_noted.swap(false, Acquire) {
            return Ok(());
        }
        let noted = std::mem::take(&mut *self.noted.lock());
        let databases: Vec<(Arc<Database>, Lsn)> =
            noted.into_iter().filter_map(|(database, lsn)| Some((database.upgrade()?, lsn))).collect();
        if let [_, _, ..] = databases[..] {
            // Flushes all at once: the wait is for the slowest, not for their sum.
            for (database, lsn) in &databases {
                self.checked(database, database.log().request_flush(*lsn, ACKNOWLEDGE))?;
            }
        }
        databases
            .iter()
            .try_for_each(|(database, lsn)| self.checked(database, database.log().harden(*lsn, ACKNOWLEDGE)))
    }

    /// Called before a commit is logged in the databases for which `is_changed` is true: hardens the commits that its session has made or read in
    /// others.
    ///
    /// # Errors
    /// As `harden_noted`.
    pub(crate) fn harden_others(&self, is_changed: impl Fn(&Arc<Database>) -> bool) -> SqlResult<()> {
        if !self.is_noted.load(Acquire) {
            return Ok(());
        }
        let noted: Vec<(Weak<Database>, Lsn)> = self.noted.lock().clone();
        let known = noted.into_iter().filter_map(|(database, lsn)| Some((database.upgrade()?, lsn)));
        let mut others = known.filter(|(database, _)| !is_changed(database));
        others
            .try_for_each(|(database, lsn)| self.checked(&database, database.log().harden(lsn, ACKNOWLEDGE)))
    }

    /// Called before a part of an answer is sent while its request still runs: the reads of the request are not known here, so this hardens every
    /// commit with early lock release that any session may have seen by now.
    ///
    /// # Errors
    /// As `harden_noted`.
    pub fn harden_everything(&self) -> SqlResult<()> {
        for database in self.instance.upgrade().iter().flat_map(|instance| instance.databases()) {
            self.note(&database);
        }
        self.harden_noted()
    }

    /// True after a failure: nothing more may be sent.
    pub fn has_failed(&self) -> bool {
        self.has_failed.load(Acquire)
    }

    fn checked(&self, database: &Arc<Database>, hardened: Result<(), log::LogError>) -> SqlResult<()> {
        hardened.map_err(|error| {
            self.has_failed.store(true, Release);
            if error.is_fatal_to_database() {
                database.suspect(&error.to_string());
            }
            crate::error::sql_error(&error.into(), database.name(), 0)
        })
    }
}
