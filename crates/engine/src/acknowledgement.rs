//! What a session's client may hear: nothing that rests on a commit which is fully durable and not yet hard.
//!
//! Under COMMIT_ACK = BATCH commits give up their locks before they are hard. Whoever has made or read them notes their databases here
//! when his transaction ends there; before an answer leaves, all that is noted is hardened, once. A delayed commit is not such a commit:
//! its session and its database have chosen the risk.
//!
//! Within a database the order of its log keeps what rests on a commit from outliving it. Between databases nothing does: a commit waits for
//! what is noted of others ([`Acknowledgement::harden_others`]).
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

/// Why the log is flushed before an answer; its only mention.
const ACKNOWLEDGE: FlushReason = FlushReason::Acknowledge;

/// See the heading. One for a session; whoever sends its answers shares it.
pub struct Acknowledgement {
    instance: Weak<Instance>,
    noted: Latch<Vec<(Weak<Database>, Lsn)>>,
    /// Is anything noted? Read before the latch is taken.
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

    /// The session may have seen everything that has been committed in the database.
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

    /// Everything noted is hard when this returns.
    ///
    /// # Errors
    /// 9001 when a log has failed, now or before: what the session would tell may not have happened.
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
            // The slowest is waited for, not their sum.
            for (database, lsn) in &databases {
                self.checked(database, database.log().request_flush(*lsn, ACKNOWLEDGE))?;
            }
        }
        databases
            .iter()
            .try_for_each(|(database, lsn)| self.checked(database, database.log().harden(*lsn, ACKNOWLEDGE)))
    }

    /// A commit is about to be logged in the databases that `is_changed` tells: what its session has made or read in others is hard when this
    /// returns.
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

    /// A part of an answer leaves while its request goes on: what the request is reading is not known here, so every commit with early lock release that
    /// anybody may have seen by now is hard when this returns.
    ///
    /// # Errors
    /// As `harden_noted`.
    pub fn harden_everything(&self) -> SqlResult<()> {
        for database in self.instance.upgrade().iter().flat_map(|instance| instance.databases()) {
            self.note(&database);
        }
        self.harden_noted()
    }

    /// Nothing more may be sent.
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
