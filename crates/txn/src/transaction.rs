//! One transaction: its states, its chain of log records, its locks. Also the types of the manager that it
//! belongs to, and of the resource manager, which defines the meaning of its records. The manager's code is in table.rs.
//!
//! ```text
//!             ┌────────── commit ─────────► Committing ──harden──► Hardened ──finish──► Ended
//! Active ─────┤
//!             └─ rollback ─► RollingBack ──undo all, finish──► Ended
//! Active ──prepare──► Prepared ──commit_prepared──► Committing, ──rollback──► RollingBack, ──leave_in_doubt──► Ended
//! Active ── rollback_to(savepoint) ──► RollingBack ──► Active       (stays RollingBack when that fails: only rollback is left)
//! ```
//! `commit_later` may return in state Committing, until `finish_commit`, perhaps on another thread. Locks are held meanwhile.
//! A transaction is used by one task at a time, through `&self`, so that cursors can share it. Nothing is logged before the first change:
//! a transaction that only reads has no log records and never flushes (claim 12).

use std::cell::RefCell;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::atomic::{AtomicU8, AtomicU64};
use std::sync::{Arc, OnceLock};

use log::records::{BeginXact, LogTime};
use log::{Appended, Log, LogOp, Lsn, RecordBuf, RecordFlags, RecordHeader, TxnId};
use os::sim::{Bug, is_planted};
use os::{Counter, Latch, Os};

use crate::active::ActiveTable;
use crate::entry::XactEntry;
use crate::lock::{
    HeldLocks, LockError, LockManager, LockMark, LockMode, LockOwner, LockSpace, LockWait, Resource,
    ResourceKey,
};
use crate::state::XactState;
use crate::version::{VersionWriter, Versions};
use crate::{TxnError, TxnResult};

/// Log bytes of LOP_COMMIT_XACT or LOP_ABORT_XACT, at most; reserved at begin.
const END_RECORD_BYTES: u64 = 64;

/// `SET TRANSACTION ISOLATION LEVEL`; numbers as in `sys.dm_exec_sessions.transaction_isolation_level`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum IsolationLevel {
    /// Reads take no row locks and see uncommitted changes.
    ReadUncommitted = 1,
    /// Reads take short S locks. The default.
    #[default]
    ReadCommitted = 2,
    /// Reads keep their S locks to the end.
    RepeatableRead = 3,
    /// Reads keep key-range locks to the end.
    Serializable = 4,
    /// Reads see the versions of the transaction's start.
    Snapshot = 5,
}

/// Upper bound of the log that the undo of a change writes: number of records and their payload bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UndoBytes {
    /// Compensation records, and system records of the undo.
    pub record_count: u64,
    /// Their payloads together, in bytes.
    pub payload_bytes: u64,
}

impl UndoBytes {
    /// For records that are never undone.
    pub(crate) const NOTHING: UndoBytes = UndoBytes { record_count: 0, payload_bytes: 0 };

    /// One compensation record with a payload of so many bytes.
    pub const fn one(payload_bytes: usize) -> UndoBytes {
        UndoBytes { record_count: 1, payload_bytes: payload_bytes as u64 }
    }

    /// Headers and payloads.
    pub const fn records_bytes(self) -> u64 {
        self.record_count * log::limits::RECORD_HEADER_BYTES_MAX as u64 + self.payload_bytes
    }
}

/// The options of a new transaction.
#[derive(Clone, Default)]
pub struct TxnOptions {
    /// Its lock space; `None` makes a new one.
    pub space: Option<Arc<LockSpace>>,
    /// Name for LOP_BEGIN_XACT; `None` is `user_transaction`.
    pub name: Option<String>,
}

pub(crate) struct TxnCounters {
    pub(crate) started: Arc<Counter>,
    pub(crate) written: Arc<Counter>,
    pub(crate) active: Arc<Counter>,
}

/// The transactions of one database.
pub struct TxnManager {
    pub(crate) os: Os,
    pub(crate) log: Arc<Log>,
    pub(crate) locks: Arc<LockManager>,
    pub(crate) resource_manager: OnceLock<Arc<dyn ResourceManager>>,
    pub(crate) next_txn: AtomicU64,
    pub(crate) table: Latch<ActiveTable>,
    /// The least number in the table, `u64::MAX` when it is empty; written under its latch.
    pub(crate) oldest_id: AtomicU64,
    /// The least begin bound in the table, `u64::MAX` when it is empty; written under its latch.
    pub(crate) oldest_lsn: AtomicU64,
    /// Upper bound of the redo start after the last checkpoint of this run; see [`TxnManager::note_redo_start`].
    pub(crate) redo_start: AtomicU64,
    /// Why the database has failed; see [`TxnManager::fail`].
    pub(crate) failure: OnceLock<String>,
    /// Newest commit that other sessions may see before it is durable; see [`TxnManager::last_early_release`].
    pub(crate) early_release: AtomicU64,
    pub(crate) versions: Versions,
    pub(crate) counters: TxnCounters,
}

/// Redoes and undoes logged changes. Rollback, recovery and replicas use the same two calls.
pub trait ResourceManager: Send + Sync {
    /// Applies the record's change unless the page already has it (page LSN >= `lsn`). Called in log order, for every record except
    /// those of transactions and checkpoints; may be called any number of times for the same record.
    fn redo(&self, lsn: Lsn, header: &RecordHeader, payload: &[u8]) -> TxnResult<()>;

    /// Undoes the record's change, and logs that with [`Transaction::append_compensation`] and `header.prev` as the next to undo.
    /// Does nothing for a record without undo.
    fn undo(
        &self,
        transaction: &Transaction,
        lsn: Lsn,
        header: &RecordHeader,
        payload: &[u8],
    ) -> TxnResult<()>;

    /// A transaction that had written has ended: committed (its commit record is as durable as its mode asks) or rolled back. Its locks
    /// are still held. For deferred work, such as the deallocation of dropped pages.
    fn finished(&self, transaction: TxnId, committed: bool) {
        let _ = (transaction, committed);
    }

    /// Has a transaction deferred work? Then `finished` is called only when no snapshot needs its versions
    /// any more, and its log reservation is kept until then.
    fn waits_for_end(&self, transaction: TxnId) -> bool {
        let _ = transaction;
        false
    }
}

/// See the module's heading.
pub struct Transaction {
    pub(crate) manager: Arc<TxnManager>,
    pub(crate) entry: Arc<XactEntry>,
    space: Arc<LockSpace>,
    /// For single-threaded access: neither a latch nor an atomic for each row.
    pub(crate) locks: RefCell<HeldLocks>,
    state: AtomicU8,
    name: Option<String>,
    /// Its version writer, once it has stored a version.
    pub(crate) version_writer: OnceLock<Arc<VersionWriter>>,
    /// See [`Transaction::set_conflicts_above`].
    pub(crate) conflicts_above: AtomicU64,
}

impl Transaction {
    pub(crate) fn new(
        manager: Arc<TxnManager>,
        entry: XactEntry,
        space: Arc<LockSpace>,
        name: Option<String>,
    ) -> Transaction {
        entry.assert_state();
        assert!(!entry.has_ended(), "a transaction that goes on has not ended");
        let owner = LockOwner::Transaction(entry.id.0);
        let locks = HeldLocks::new(Arc::clone(manager.lock_manager()), Arc::clone(&space), owner);
        Transaction {
            manager,
            entry: Arc::new(entry),
            space,
            locks: RefCell::new(locks),
            state: AtomicU8::new(XactState::Active as u8),
            name,
            version_writer: OnceLock::new(),
            conflicts_above: AtomicU64::new(u64::MAX),
        }
    }

    /// A transaction that a crash interrupted: about to be undone, or prepared.
    pub(crate) fn resumed(
        manager: Arc<TxnManager>,
        entry: XactEntry,
        space: Arc<LockSpace>,
        state: XactState,
    ) -> Transaction {
        assert!(matches!(state, XactState::RollingBack | XactState::Prepared), "resumed as {state:?}");
        assert!(!entry.last().is_null(), "a transaction that wrote nothing is not resumed");
        let transaction = Transaction::new(manager, entry, space, None);
        transaction.change_state(XactState::Active, state);
        transaction
    }

    /// Its number, unique in the database.
    pub fn id(&self) -> TxnId {
        self.entry.id
    }

    /// Has it logged anything?
    pub fn has_changed_data(&self) -> bool {
        !self.entry.last().is_null()
    }

    /// Its newest log record; NULL before the first change.
    pub fn last_lsn(&self) -> Lsn {
        self.entry.last()
    }

    /// Its state.
    pub fn state(&self) -> XactState {
        XactState::from_number(self.state.load(Acquire))
    }

    /// The database's transaction manager.
    pub fn manager(&self) -> &Arc<TxnManager> {
        &self.manager
    }

    /// Its lock space.
    pub fn space(&self) -> &Arc<LockSpace> {
        &self.space
    }

    /// Appends a change that can be undone: fills in transaction and chain, writes LOP_BEGIN_XACT before the first one, reserves log for
    /// the undo, which will write `undo` at most. May be called while page latches are held.
    pub fn append(&self, record: &mut RecordBuf, undo: UndoBytes) -> TxnResult<Lsn> {
        self.assert_state(XactState::Active);
        if self.entry.last().is_null() {
            self.append_begin()?;
        }
        self.fill_header(record);
        assert!(!record.header.is_compensation(), "a change of its own, which can be undone");
        self.append_chained(record, Some(self.reservation_for(undo)))
    }

    /// The log to reserve for that undo.
    #[inline]
    fn reservation_for(&self, undo: UndoBytes) -> u64 {
        let bytes = undo.records_bytes();
        let asked = if is_planted(Bug::ReservationTooSmall) { bytes / 2 } else { bytes };
        let reserved = self.manager.log().reservation_for(asked);
        assert!(reserved >= asked, "{reserved} bytes are reserved for {asked} of undo");
        reserved
    }

    /// Appends a system record, and reserves log for the extra records that the undo of another change of the transaction
    /// will need because of it; reserves nothing during a rollback.
    pub fn append_beside(&self, record: &RecordBuf, undo: UndoBytes) -> TxnResult<Lsn> {
        assert!(record.header.txn.is_null() && record.header.prev.is_null(), "it is in nobody's chain");
        assert!(!self.entry.has_ended(), "an ended transaction changes nothing that needs the record");
        let log = self.manager.log();
        if self.state() == XactState::RollingBack {
            return Ok(log.append_from_reservation(record)?);
        }
        let reserved = self.reservation_for(undo);
        let lsn = log.append_reserving(record, reserved)?.lsn;
        self.entry.add_reserved(reserved);
        Ok(lsn)
    }

    /// Appends a compensation record: it redoes an undo, is never undone, and names the next record of the transaction that is still to
    /// be undone: the record that it undoes partly, or an earlier one. Takes its space from the reservation, so it does not fail on a full log.
    pub fn append_compensation(&self, record: &mut RecordBuf, undo_next: Lsn) -> TxnResult<Lsn> {
        self.assert_state(XactState::RollingBack);
        assert!(undo_next <= self.entry.last(), "a compensation record points back");
        assert!(undo_next.is_null() || undo_next >= self.entry.begin(), "into its own transaction");
        self.fill_header(record);
        record.header.flags = record.header.flags.with(RecordFlags::COMPENSATION);
        record.header.undo_next = undo_next;
        self.append_chained(record, None)
    }

    /// Locks a resource; waits as `wait` says. Refused once the database has failed: a lock that a failed commit has released protects
    /// changes that may never have been committed.
    pub fn lock(&self, resource: Resource, mode: LockMode, wait: LockWait) -> Result<(), LockError> {
        assert!(self.state() != XactState::Ended, "an ended transaction locks nothing");
        let key = ResourceKey::new(resource);
        if !self.locks.borrow_mut().note_again(&key, mode) {
            let owner = LockOwner::Transaction(self.entry.id.0);
            let granted = self.manager.lock_manager().acquire_hashed(&self.space, owner, key, mode, wait)?;
            self.locks.borrow_mut().note_granted(key, granted);
        }
        // After the grant: a failed commit marks the database as failed before it releases its locks. Also for locks that it holds
        // already: a caller that `try_lock` refused must get the error here, and not retry for ever.
        if self.must_not_see(&resource) {
            self.locks.borrow_mut().unlock(&resource, mode);
            return Err(LockError::DatabaseFailed);
        }
        debug_assert!(self.locks.borrow().has_lock(&resource, mode), "what was granted is held");
        Ok(())
    }

    /// Does the resource protect data of a database that has failed?
    fn must_not_see(&self, resource: &Resource) -> bool {
        self.manager.failure().is_some() && resource.protects_data()
    }

    /// Locks a resource if no other request conflicts; may be called while page latches are held.
    pub fn try_lock(&self, resource: Resource, mode: LockMode) -> bool {
        assert!(self.state() != XactState::Ended, "an ended transaction locks nothing");
        let mut locks = self.locks.borrow_mut();
        if !locks.try_lock(resource, mode) {
            return false;
        }
        let is_sound = !self.must_not_see(&resource);
        if !is_sound {
            locks.unlock(&resource, mode);
        }
        debug_assert!(!is_sound || locks.has_lock(&resource, mode), "what was granted is held");
        is_sound
    }

    /// Undoes one `lock` in `mode` (READ COMMITTED readers, rows that did not qualify); see [`HeldLocks::unlock`].
    pub fn unlock(&self, resource: &Resource, mode: LockMode) {
        self.locks.borrow_mut().unlock(resource, mode);
    }

    /// Would the lock be granted at once? The instant test of READ COMMITTED readers; takes no lock.
    pub fn could_lock(&self, resource: &Resource, mode: LockMode) -> bool {
        self.locks.borrow().could_lock(resource, mode) && !self.must_not_see(resource)
    }

    /// Does its lock on the object (TABLOCK, escalation) make row locks of `mode` unnecessary?
    pub fn has_table_lock(&self, object: &Resource, mode: LockMode) -> bool {
        self.locks.borrow().covers_rows(object, mode)
    }

    /// The mode in which it holds the resource itself.
    pub fn held_mode(&self, resource: &Resource) -> Option<LockMode> {
        self.locks.borrow().mode(resource)
    }

    /// The present point in the order of its locks.
    pub fn lock_mark(&self) -> LockMark {
        self.locks.borrow().mark()
    }

    /// Releases later locks, after a rollback to a savepoint of that time; see [`HeldLocks::unlock_since`].
    pub fn unlock_since(&self, mark: LockMark) {
        self.assert_state(XactState::Active);
        self.locks.borrow_mut().unlock_since(mark);
    }

    /// Number of resources it has locked.
    pub fn lock_count(&self) -> usize {
        self.locks.borrow().len()
    }

    pub(crate) fn unlock_all(&self) {
        self.assert_state(XactState::Ended);
        let mut locks = self.locks.borrow_mut();
        locks.unlock_all();
        assert!(locks.is_empty(), "an ended transaction holds nothing");
    }

    #[inline]
    pub(crate) fn assert_state(&self, expected: XactState) {
        assert!(self.state() == expected, "transaction {} is not {expected:?}", self.entry.id);
    }

    pub(crate) fn change_state(&self, from: XactState, to: XactState) {
        self.assert_state(from);
        let allowed = matches!(
            (from, to),
            (XactState::Active, XactState::Committing | XactState::RollingBack | XactState::Prepared)
                | (XactState::Prepared, XactState::Committing | XactState::RollingBack | XactState::Ended)
                | (XactState::Committing, XactState::Hardened | XactState::Ended)
                | (XactState::Hardened, XactState::Ended)
                | (XactState::RollingBack, XactState::Active | XactState::Ended)
        );
        assert!(allowed, "transaction {}: {from:?} to {to:?}", self.entry.id);
        self.state.store(to as u8, Release);
    }

    /// Appends LOP_COMMIT_XACT or LOP_ABORT_XACT from the space reserved at begin.
    pub(crate) fn append_end(&self, record: &mut RecordBuf) -> TxnResult<Lsn> {
        assert!(matches!(record.header.op, LogOp::CommitXact | LogOp::AbortXact), "an end record");
        assert!(!self.entry.last().is_null(), "a transaction that wrote nothing has no end record");
        let is_commit = record.header.op == LogOp::CommitXact;
        self.assert_state(if is_commit { XactState::Committing } else { XactState::RollingBack });
        self.fill_header(record);
        self.append_chained(record, None)
    }

    pub(crate) fn log_time(&self) -> LogTime {
        self.manager.log_time()
    }

    fn append_begin(&self) -> TxnResult<()> {
        let default_name = || log::records::DEFAULT_TRANSACTION_NAME.into();
        let name = self.name.clone().map_or_else(default_name, Into::into);
        let begin = BeginXact { begin_time: self.log_time(), spid: self.space.session_id(), name };
        self.entry.set_begin_time(begin.begin_time);
        let mut record = RecordBuf::from_payload(RecordHeader::new(LogOp::BeginXact), &begin);
        self.fill_header(&mut record);
        assert!(
            record.header.prev.is_null() && !self.entry.has_ended(),
            "a transaction begins once, with its first record"
        );
        // In the table before the record can be in the log: a checkpoint must not miss it.
        self.manager.enter(&self.entry);
        let end_bytes = self.manager.log().reservation_for_end(END_RECORD_BYTES);
        let appended = self.append_chained(&mut record, Some(end_bytes));
        assert!(appended.as_ref().is_ok_and(|lsn| *lsn == self.entry.begin()) || appended.is_err());
        if appended.is_err() {
            self.manager.leave(&self.entry);
        }
        appended.map(|_| ())
    }

    pub(crate) fn fill_header(&self, record: &mut RecordBuf) {
        assert!(
            record.header.txn.is_null() || record.header.txn == self.entry.id,
            "a record is of one transaction"
        );
        record.header.txn = self.entry.id;
        record.header.prev = self.entry.last();
    }

    /// The one place where a transaction's record enters the log. `reserve`: bytes to reserve for its undo; `None`: the record itself
    /// uses the reservation.
    pub(crate) fn append_chained(&self, record: &mut RecordBuf, reserve: Option<u64>) -> TxnResult<Lsn> {
        let log = self.manager.log();
        let header = &record.header;
        assert!(header.txn == self.entry.id && header.prev == self.entry.last(), "the chain has no gap");
        assert_eq!(
            header.op == LogOp::BeginXact,
            header.prev.is_null(),
            "it begins with LOP_BEGIN_XACT, once"
        );
        assert!(!self.entry.has_ended(), "nothing follows the end of transaction {}", self.entry.id);
        self.entry.begin_append(log.hardened());
        self.manager.os.stall_point("between announcing and appending");
        let result = match reserve {
            Some(undo_bytes) => log.append_reserving(record, undo_bytes),
            None => log.append_paying(record, self.share_of(record)),
        };
        let Appended { lsn, bytes } = match result {
            Ok(appended) => appended,
            Err(error) => {
                self.entry.end_append();
                return Err(TxnError::Log(self.manager.naming_holder(error)));
            }
        };
        self.manager.os.stall_point("between appending and noting");
        assert!(lsn > self.entry.last(), "log positions grow");
        let bytes = u64::from(bytes);
        if matches!(record.header.op, LogOp::CommitXact | LogOp::AbortXact) {
            self.entry.set_ended();
        }
        self.entry.note_append(lsn, bytes, reserve.unwrap_or(0));
        self.space.add_log_bytes(bytes);
        assert_eq!(self.entry.last(), lsn, "the next record names this one");
        debug_assert!(lsn < log.end(), "the record is in the log");
        Ok(lsn)
    }
}

impl Transaction {
    /// The part of the reservation that a compensation or end record uses up. The end of the transaction
    /// leaves the rest, for records that deferred work writes after it.
    fn share_of(&self, record: &RecordBuf) -> u64 {
        if !record.header.is_compensation() {
            return 0;
        }
        let log = self.manager.log();
        let for_end = log.reservation_for_end(END_RECORD_BYTES);
        let paid = self.entry.pay(log.reservation_for(record.encoded_bytes_max() as u64), for_end);
        assert!(record.header.undo_next <= self.entry.last(), "a compensation record pays, others do not");
        paid
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        assert!(
            self.state() != XactState::Committing || std::thread::panicking(),
            "the pending commit of transaction {} was never finished",
            self.entry.id
        );
        // Nothing is written here: a simulated power loss unwinds through this point. An active transaction that has
        // changed data and is dropped is left to recovery, as after a crash.
        if self.state() == XactState::Active && !self.has_changed_data() && !std::thread::panicking() {
            assert!(!self.entry.has_ended(), "what wrote nothing has no end");
            self.give_up_versions();
            self.manager.release_reserved(&self.entry);
            self.manager.note_ended();
            self.locks.get_mut().unlock_all();
        }
    }
}
