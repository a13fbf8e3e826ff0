//! [`TransactionSet`]: the transaction of a session over all databases that it touches.
//!
//! ```text
//!  idle ──in_database──► autocommit (ends with the statement: commit or rollback)
//!  idle ──begin_explicit──► explicit ──commit/rollback──► idle
//!  autocommit, explicit ──commit_later, if somebody else writes the log──► pending ──settle_commit──► idle
//! ```
//! Pending: to the user the transaction has ended, but its commit is not hardened and its locks are held. Nothing may begin before
//! [`TransactionSet::settle_commit`].
//!
//! A database joins when it is first touched. A commit that has changed more than one durable database is always fully durable
//! (official matrix, claim 62's exceptions) and happens in all of them or in none (`across.rs`).

mod across;
mod application_locks;
mod database_locks;
mod variables;

pub use database_locks::ExclusiveDatabase;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Waker;

use log::PendingCommit;
use smallvec::SmallVec;
pub use txn::CommitRequest;
use txn::{
    CommitMode, CommitOutcome, CommitProgress, HeldLocks, IsolationLevel, LOCK_BYTES, LockOwner, LockSpace,
    TxnOptions, XactFacts, durability,
};

use crate::acknowledgement::Acknowledgement;
use crate::database::Database;
use crate::db_transaction::{DbSavepoint, DbTransaction};
use crate::error::SqlResult;
use crate::instance::Instance;
use crate::ticket::CommitTicket;

/// Descriptors of user transactions, as clients get them.
static NEXT_DESCRIPTOR: AtomicU64 = AtomicU64::new(1);

/// The transactions of one session.
pub struct TransactionSet {
    instance: Arc<Instance>,
    session_id: i16,
    space: Arc<LockSpace>,
    open: Members,
    explicit: bool,
    descriptor: u64,
    /// The open user transaction's name, for the log.
    name: Option<String>,
    in_statement: bool,
    savepoints: Vec<NamedSavepoint>,
    pending: Option<PendingMember>,
    /// The result of the last commit.
    result: Option<CommitResult>,
    acknowledgement: Arc<Acknowledgement>,
    /// The transaction of the running statement's table variables, if it has touched one.
    variables: Option<DbTransaction>,
    /// Locks that the session itself owns: S on the databases it is in, application locks.
    session_locks: HeldLocks,
}

/// The result of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommitResult {
    /// The ticket for later questions about it.
    pub ticket: CommitTicket,
    /// Is it hardened already?
    pub is_hardened: bool,
    /// MAX_WAIT was requested, but the commit had to be fully durable.
    pub is_refused_wait: bool,
    /// MAX_WAIT ended before it was hardened.
    pub is_wait_over: bool,
    /// A delay was requested, but the commit had to be fully durable.
    pub is_refused_delay: bool,
}

/// The databases that have joined: mostly one, and large, so it is boxed.
type Members = SmallVec<[Box<Member>; 1]>;

struct Member {
    transaction: DbTransaction,
    /// Start of the running statement; the start of the transaction for one that joined in it.
    statement: Option<DbSavepoint>,
}

impl Member {
    #[inline]
    fn is_in(&self, database: &Arc<Database>) -> bool {
        Arc::ptr_eq(self.transaction.database(), database)
    }

    /// Has it changed a database that survives the server?
    fn has_changed_durable(&self) -> bool {
        self.transaction.inner().has_changed_data() && !self.transaction.database().is_volatile()
    }
}

/// A pending commit, and the members without changes, which end after it.
struct PendingMember {
    member: Box<Member>,
    pending: PendingCommit,
    rest: Members,
}

struct NamedSavepoint {
    name: String,
    /// Position in each database that had joined, by database number.
    points: Vec<(u16, DbSavepoint)>,
}

/// The start of an atomic block, in each database that had joined.
#[derive(Clone, Debug)]
pub struct BlockSavepoint {
    /// By database number.
    points: Vec<(u16, DbSavepoint)>,
}

impl TransactionSet {
    /// The transactions of a session.
    pub fn new(instance: &Arc<Instance>, session_id: i16) -> TransactionSet {
        let space = instance.locks().new_space(u32::from(session_id.unsigned_abs()));
        TransactionSet {
            instance: instance.clone(),
            session_id,
            session_locks: HeldLocks::new(instance.locks().clone(), space.clone(), LockOwner::Session),
            space,
            open: Members::new(),
            explicit: false,
            descriptor: 0,
            name: None,
            in_statement: false,
            savepoints: Vec::new(),
            pending: None,
            result: None,
            acknowledgement: Acknowledgement::new(instance),
            variables: None,
        }
    }

    fn assert_settled(&self) {
        assert!(self.pending.is_none(), "a pending commit is settled before anything else");
    }

    /// Opens the user's transaction; nothing is logged before the first change.
    pub fn begin_explicit(&mut self) {
        self.begin_named(None);
    }

    /// Opens it under a name, which is logged with its changes.
    pub fn begin_named(&mut self, name: Option<String>) {
        self.assert_settled();
        assert!(!self.explicit, "nesting is counted by the session");
        assert!(self.open.is_empty(), "the autocommit transaction has ended with its statement");
        self.explicit = true;
        self.name = name;
        self.descriptor = NEXT_DESCRIPTOR.fetch_add(1, Ordering::Relaxed);
    }

    /// The statement's own transaction stays open when it has ended, for the triggers that it has fired. It has no descriptor.
    pub fn goes_on(&mut self) {
        self.assert_settled();
        assert!(!self.explicit && !self.in_statement, "a statement outside a user transaction has ended");
        self.explicit = true;
    }

    /// The statement's own transaction has become the user's: gives its descriptor.
    pub fn becomes_known(&mut self) -> u64 {
        assert!(self.explicit, "it is open");
        if self.descriptor == 0 {
            self.descriptor = NEXT_DESCRIPTOR.fetch_add(1, Ordering::Relaxed);
        }
        self.descriptor
    }

    /// The descriptor of the open user transaction, 0 without one.
    pub fn descriptor(&self) -> u64 {
        self.descriptor
    }

    /// The transaction in a database; begins it when this is the first touch.
    pub fn in_database(
        &mut self,
        database: &Arc<Database>,
        isolation: IsolationLevel,
    ) -> SqlResult<&DbTransaction> {
        self.assert_settled();
        let known = self.open.iter().position(|m| m.is_in(database));
        let at = match known {
            Some(at) => at,
            None => self.join(database)?,
        };
        if self.open.len() > 1 {
            let first_ns =
                self.open.iter().filter_map(|member| member.transaction.snapshot_opened_ns()).min();
            self.open[at].transaction.note_first_snapshot(first_ns);
        }
        let transaction = &self.open[at].transaction;
        transaction.set_isolation(isolation);
        Ok(transaction)
    }

    /// The transaction in a database that has been touched already.
    pub fn member(&self, database: &Arc<Database>) -> Option<&DbTransaction> {
        self.open.iter().find(|m| m.is_in(database)).map(|m| &m.transaction)
    }

    fn join(&mut self, database: &Arc<Database>) -> SqlResult<usize> {
        database.check_usable()?;
        crate::checkpoint::before_transaction(database);
        let options = TxnOptions { space: Some(self.space.clone()), name: self.name.clone() };
        let inner = database.transactions().begin(options);
        let at = self.open.len();
        self.open.push(Box::new(Member {
            transaction: DbTransaction::new(database.clone(), inner, self.session_id),
            statement: None,
        }));
        if let Err(error) = self.keep_for_transaction(&self.open[at].transaction) {
            self.open.truncate(at);
            return Err(error);
        }
        if self.in_statement {
            let Member { transaction, statement } = &mut *self.open[at];
            *statement = Some(transaction.statement_savepoint());
        }
        Ok(at)
    }

    /// A statement begins: its changes can be rolled back alone.
    pub fn statement_begin(&mut self) {
        self.assert_settled();
        assert!(self.variables.is_none(), "table variables are settled with their statement");
        self.in_statement = true;
        for member in &mut self.open {
            crate::checkpoint::before_statement(member.transaction.database());
            // An expression outside statements may have left one.
            member.transaction.end_statement_point();
            member.statement = Some(member.transaction.statement_savepoint());
        }
    }

    /// The statement succeeded.
    ///
    /// # Errors
    /// Those of tempdb's log, when it has changed table variables.
    pub fn statement_end(&mut self) -> SqlResult<()> {
        self.assert_settled();
        self.in_statement = false;
        for member in &mut self.open {
            member.statement = None;
            member.transaction.release_statement_locks();
        }
        self.settle_table_variables()
    }

    /// Rolls back the changes of the running statement.
    ///
    /// # Errors
    /// 9001 when the log fails.
    pub fn statement_rollback(&mut self) -> SqlResult<()> {
        self.assert_settled();
        self.in_statement = false;
        let mut result = self.take_back_table_variables();
        for member in &mut self.open {
            if let Some(point) = member.statement.take() {
                result = result.and(member.transaction.rollback_to(point));
            }
            member.transaction.release_statement_locks();
        }
        result
    }

    /// SAVE TRANSACTION.
    ///
    /// # Errors
    /// 9001, 9002: of a database whose log has no room for the savepoint. The transaction is unchanged.
    pub fn savepoint(&mut self, name: &str) -> SqlResult<()> {
        self.assert_settled();
        let point = |member: &Member| {
            let transaction = &member.transaction;
            Ok((transaction.database().number(), transaction.named_savepoint(name)?))
        };
        let points = self.open.iter().map(|member| point(member)).collect::<SqlResult<Vec<_>>>()?;
        self.savepoints.push(NamedSavepoint { name: name.to_string(), points });
        Ok(())
    }

    /// A savepoint without a name, for an atomic block inside a transaction.
    pub fn block_savepoint(&self) -> BlockSavepoint {
        self.assert_settled();
        let point = |m: &Member| (m.transaction.database().number(), m.transaction.savepoint());
        BlockSavepoint { points: self.open.iter().map(|member| point(member)).collect() }
    }

    /// Rolls back to it, as [`TransactionSet::rollback_to`] does; the transaction stays open.
    ///
    /// # Errors
    /// 9001 when the log fails.
    pub fn rollback_block(&mut self, savepoint: &BlockSavepoint) -> SqlResult<()> {
        self.assert_settled();
        assert!(!self.in_statement, "the statement that failed has been taken back");
        self.rollback_to_points(&savepoint.points)
    }

    fn rollback_to_points(&self, points: &[(u16, DbSavepoint)]) -> SqlResult<()> {
        for member in &self.open {
            let number = member.transaction.database().number();
            let point = points.iter().find(|(n, _)| *n == number).map_or(DbSavepoint::start(), |(_, p)| *p);
            member.transaction.rollback_to(point)?;
            member.transaction.unlock_since(point);
        }
        Ok(())
    }

    /// ROLLBACK TRANSACTION to the newest savepoint of that name (names are case-sensitive here); false when there is none. Locks taken
    /// since are released (see [`txn::HeldLocks::unlock_since`]); the rollback of a statement alone keeps its locks.
    ///
    /// # Errors
    /// 9001 when the log fails.
    pub fn rollback_to(&mut self, name: &str) -> SqlResult<bool> {
        self.assert_settled();
        let Some(at) = self.savepoints.iter().rposition(|s| s.name == name) else { return Ok(false) };
        self.savepoints.truncate(at + 1);
        self.rollback_to_points(&self.savepoints[at].points)?;
        Ok(true)
    }

    /// Commits everything, as the outermost COMMIT requests.
    ///
    /// # Errors
    /// 9001, 9002; the caller rolls back what is not committed.
    pub fn commit(&mut self, asked: impl Into<CommitRequest>) -> SqlResult<()> {
        self.commit_members(&asked.into(), None)
    }

    /// Commits in this way, but when only one durable database has changed data, fully durable, and another thread writes or will write its log, the
    /// commit is left pending: to the user the transaction has ended, `is_commit_pending` is true, and
    /// `waker` is called when `settle_commit` is due (see [`log::Log::harden_later`]).
    ///
    /// # Errors
    /// As `commit`.
    pub fn commit_later(&mut self, asked: impl Into<CommitRequest>, waker: &Waker) -> SqlResult<()> {
        let mut changed = self.open.iter().map(|m| &m.transaction).filter(|t| t.inner().has_changed_data());
        let may_pend = match (changed.next(), changed.next()) {
            // A changed definition is published or rolled back at once.
            (Some(only), None) => !only.database().is_volatile() && !only.has_changed_catalog(),
            _ => false,
        };
        self.commit_members(&asked.into(), Some(waker).filter(|_| may_pend))
    }

    /// Whether the last commit is still pending.
    pub fn is_commit_pending(&self) -> bool {
        self.pending.is_some()
    }

    /// Ends a pending commit; waits for it if need be.
    ///
    /// # Errors
    /// As `commit`, and as there the caller rolls back.
    pub fn settle_commit(&mut self) -> SqlResult<()> {
        let PendingMember { member, pending, rest } = self.pending.take().expect("a commit is pending");
        assert!(self.open.is_empty() && !self.explicit, "nothing has begun meanwhile");
        self.open = rest;
        let result = self.result.take();
        member.transaction.finish_commit(pending)?;
        drop(member);
        self.commit_members(&CommitRequest::default(), None)?;
        self.result = result.map(|result| CommitResult { is_hardened: true, ..result });
        Ok(())
    }

    /// The result of the last commit, if it changed a durable database; none when it did not. A pending commit has a ticket already.
    pub fn commit_result(&self) -> Option<CommitResult> {
        self.result
    }

    /// The commits that were read or made and must be hardened before a client learns of them.
    pub fn acknowledgement(&self) -> &Arc<Acknowledgement> {
        &self.acknowledgement
    }

    /// A request ends, its answer is about to be sent: everything that it may reveal is hardened when this returns.
    ///
    /// # Errors
    /// 9001: the answer must not be sent, now or later.
    pub fn harden_answer(&mut self) -> SqlResult<()> {
        self.note_open();
        self.acknowledgement.harden_noted()
    }

    /// Every open member may have read commits that are not hardened yet (COMMIT_ACK = BATCH).
    fn note_open(&self) {
        for member in &self.open {
            self.acknowledgement.note(member.transaction.database());
        }
    }

    /// Hardens, before this commit, the commits that it depends on in databases which it does not change: their logs do not order them with it.
    fn harden_what_it_rests_on(&self) -> SqlResult<()> {
        let changed = || self.open.iter().filter(|member| member.has_changed_durable());
        if changed().next().is_none() {
            return Ok(());
        }
        self.acknowledgement.harden_others(|database| changed().any(|member| member.is_in(database)))
    }

    fn note_committed(&mut self, database: &Arc<Database>, outcome: CommitOutcome) {
        if let Some(ticket) = database.ticket_of(outcome.lsn) {
            let is_hardened = outcome.is_hardened;
            self.result = Some(CommitResult {
                ticket,
                is_hardened,
                is_refused_wait: false,
                is_wait_over: false,
                is_refused_delay: false,
            });
        }
        self.acknowledgement.note(database);
    }

    /// Commits in one database; returns a pending commit if there is one.
    fn commit_member(
        &mut self,
        transaction: &DbTransaction,
        asked: &CommitRequest,
        waker: Option<&Waker>,
    ) -> SqlResult<Option<PendingCommit>> {
        let database = transaction.database();
        let facts = XactFacts { is_volatile: database.is_volatile() };
        let mode = durability::resolve_request(database.delayed_durability(), asked, &facts);
        let step = match waker {
            None => CommitProgress::Done(transaction.commit_in_place(mode)?),
            Some(waker) => transaction.commit_later(mode, waker)?,
        };
        let (outcome, pending) = match step {
            CommitProgress::Done(outcome) => (outcome, None),
            CommitProgress::Pending(pending) => {
                (CommitOutcome { lsn: pending.lsn(), is_hardened: false }, Some(pending))
            }
        };
        if !outcome.lsn.is_null() {
            self.note_committed(database, outcome);
            self.note_refusals(asked, mode);
        }
        Ok(pending)
    }

    fn commit_members(&mut self, asked: &CommitRequest, waker: Option<&Waker>) -> SqlResult<()> {
        self.assert_settled();
        self.result = None;
        self.note_open();
        self.keep_table_variables()?;
        self.harden_what_it_rests_on()?;
        if self.is_across() {
            self.commit_across()?;
            self.note_refusals(asked, CommitMode::Full);
            return Ok(());
        }
        // Taken out of the set, so that a panic leaves nothing half ended in it.
        let mut ending = std::mem::take(&mut self.open);
        let (mut ended, mut result) = (0, Ok(None));
        while ended < ending.len() && matches!(result, Ok(None)) {
            result = self.commit_member(&ending[ended].transaction, asked, waker);
            ended += 1;
        }
        let pending = match result {
            Ok(pending) => pending,
            Err(error) => {
                self.open = ending.drain(ended..).collect();
                return Err(error);
            }
        };
        match pending {
            Some(pending) => {
                let rest = ending.drain(ended..).collect();
                let member = ending.pop().expect("it has been asked to commit");
                self.pending = Some(PendingMember { member, pending, rest });
            }
            None => ending.clear(),
        }
        self.ended();
        Ok(())
    }

    /// Notes that a bound on the commit's wait or delay was requested, but it is fully durable.
    fn note_refusals(&mut self, asked: &CommitRequest, mode: CommitMode) {
        if let Some(result) = &mut self.result {
            let is_bounded = asked.max_wait_ms.is_some();
            let is_full = matches!(mode, CommitMode::Full | CommitMode::EarlyRelease);
            result.is_refused_wait = is_bounded && is_full;
            result.is_refused_delay = asked.delayed == Some(true) && is_full;
            result.is_wait_over = is_bounded && !result.is_hardened && !result.is_refused_wait;
        }
    }

    /// Rolls everything back; does nothing without a transaction.
    ///
    /// # Errors
    /// The first failure; all members are rolled back as far as possible.
    pub fn rollback(&mut self) -> SqlResult<()> {
        self.assert_settled();
        self.note_open();
        let mut result = self.take_back_table_variables();
        let mut changed = Vec::new();
        for member in self.open.drain(..) {
            let has_changed = member.transaction.inner().has_changed_data();
            changed.extend(has_changed.then(|| member.transaction.database().clone()));
            result = result.and(member.transaction.rollback());
        }
        self.ended();
        changed.iter().for_each(crate::checkpoint::after_rollback);
        result
    }

    fn ended(&mut self) {
        self.explicit = false;
        self.descriptor = 0;
        self.name = None;
        self.in_statement = false;
        self.savepoints.clear();
    }

    /// The approximate memory of its open transactions' locks.
    pub fn lock_bytes(&self) -> u64 {
        let locks: usize = self.open.iter().map(|member| member.transaction.lock_count()).sum();
        (locks * LOCK_BYTES) as u64
    }

    /// Has no database been touched since the last end?
    pub fn is_idle(&self) -> bool {
        self.open.is_empty() && self.variables.is_none()
    }

    /// A user transaction is open.
    pub fn has_open(&self) -> bool {
        self.explicit
    }

    /// A deadlock victim inside a TRY block: its changes are rolled back and its locks released at once, while the user still sees an
    /// (uncommittable) transaction.
    pub fn doom(&mut self) {
        self.assert_settled();
        self.note_open();
        for member in self.open.drain(..) {
            if let Err(error) = member.transaction.rollback() {
                os::report::error("engine", &format!("rolling back a deadlock victim failed: {error}"));
            }
        }
        self.savepoints.clear();
    }

    /// SET DEADLOCK_PRIORITY.
    pub fn set_deadlock_priority(&mut self, priority: i8) {
        self.space.set_deadlock_priority(i32::from(priority));
    }

    /// SET LOCK_TIMEOUT, the value in force.
    pub fn lock_timeout_ms(&self) -> i32 {
        self.space.lock_timeout_ms()
    }

    /// SET LOCK_TIMEOUT, -1 waits forever.
    pub fn set_lock_timeout_ms(&mut self, timeout_ms: i32) {
        self.space.set_lock_timeout_ms(timeout_ms);
    }

    /// The space of its locks.
    pub(crate) fn space(&self) -> &Arc<LockSpace> {
        &self.space
    }

    /// The session's number.
    pub(crate) fn session_id(&self) -> i16 {
        self.session_id
    }

    /// Has the open transaction changed definitions, which no other session sees yet?
    pub fn has_changed_catalog(&self) -> bool {
        self.open.iter().any(|member| member.transaction.has_changed_catalog())
    }

    /// The instance.
    pub fn instance(&self) -> &Arc<Instance> {
        &self.instance
    }
}

impl Drop for TransactionSet {
    fn drop(&mut self) {
        // A simulated power loss unwinds through this point; a server's session is closed after a panic, not in it.
        if !std::thread::panicking() {
            self.release_session_locks();
        }
    }
}
