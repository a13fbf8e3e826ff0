//! `TxnManager`: the transactions of one database, and the table of those that have written, which checkpoints and truncation read.
//!
//! How a checkpoint can look at the table while transactions go on: a transaction announces each append in `appending` (a lower bound of
//! the LSN to come) before it appends and takes that back after it has noted the LSN. A reader that finds an announcement starts its
//! analysis at that bound; one that finds none sees the final `last`. So no record between can be missed. A transaction whose end is in
//! the log, but which still waits for it to harden, is no longer active for a checkpoint: that will harden more than this end.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, OnceLock};

use log::records::LogTime;
use log::{Log, LogPin, LogReuseWait, Lsn, TxnId};
use os::{Counter, Latch, LatchRank, Os};

use crate::durability::CommitMode;
use crate::gate::CommitGate;
use crate::lock::LockManager;
use crate::recovery::Loser;
use crate::rm::ResourceManager;
use crate::transaction::{Transaction, TxnOptions, XactState};
use crate::version::{VersionWriter, Versions};

/// What a database tells its transaction manager.
#[derive(Clone, Debug)]
pub struct TxnManagerOptions {
    /// The database's name, for its counters.
    pub database_name: String,
    /// The first transaction number to give out; above all numbers in the log.
    pub first_txn: u64,
}

/// One row of the active table (`sys.dm_tran_database_transactions`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActiveRow {
    /// Number.
    pub id: TxnId,
    /// Is it a system transaction?
    pub is_system: bool,
    /// The session that has begun it; 0 for none (a system transaction, one that a crash cut off).
    pub session_id: u32,
    /// When its LOP_BEGIN_XACT was written; `LogTime(0)` for one that a crash cut off.
    pub begin_time: LogTime,
    /// Its LOP_BEGIN_XACT; NULL while that is being written.
    pub begin: Lsn,
    /// Its newest record.
    pub last: Lsn,
    /// Records written.
    pub record_count: u64,
    /// Log bytes written.
    pub log_bytes: u64,
    /// Log bytes reserved for its rollback.
    pub reserved_bytes: u64,
    /// Its end is in the log and only waits to be hardened.
    pub is_ended: bool,
    /// The record that its rollback undoes next; its newest when none is going on.
    pub next_undo: Lsn,
    /// Where the last rollback to a savepoint has ended.
    pub rolled_back_to: Option<Lsn>,
    /// The newest LOP_MARK_SAVEPOINT to which it can still be rolled back.
    pub mark: Option<Lsn>,
}

/// What the table and the transaction share.
pub(crate) struct XactEntry {
    pub(crate) id: TxnId,
    pub(crate) is_system: bool,
    session_id: u32,
    begin_time: AtomicU64,
    begin: AtomicU64,
    last: AtomicU64,
    /// Lower bound of `begin`, known before it; written once, under the table's latch.
    begin_bound: AtomicU64,
    /// Lower bound of the LSN of an append that is going on; 0 when none is.
    appending: AtomicU64,
    records: AtomicU64,
    bytes: AtomicU64,
    reserved: AtomicU64,
    from_reservation: AtomicBool,
    /// Its LOP_COMMIT_XACT or LOP_ABORT_XACT is in the log.
    ended: AtomicBool,
    /// What a rollback undoes next; 0 while none is going on.
    next_undo: AtomicU64,
    /// Where the last rollback to a savepoint ended; 0: there was none.
    rolled_back_to: AtomicU64,
    /// Its newest LOP_MARK_SAVEPOINT that was not rolled back; 0: there is none.
    mark: AtomicU64,
}

impl XactEntry {
    pub(crate) fn new(id: TxnId, is_system: bool, session_id: u32) -> XactEntry {
        XactEntry {
            id,
            is_system,
            session_id,
            begin_time: AtomicU64::new(0),
            begin: AtomicU64::new(0),
            begin_bound: AtomicU64::new(0),
            last: AtomicU64::new(0),
            appending: AtomicU64::new(0),
            records: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            reserved: AtomicU64::new(0),
            from_reservation: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            next_undo: AtomicU64::new(0),
            rolled_back_to: AtomicU64::new(0),
            mark: AtomicU64::new(0),
        }
    }

    /// What a rollback undoes next, or would; `last` is the newest record.
    fn next_undo(&self, last: Lsn) -> Lsn {
        let noted = Lsn::from_raw(self.next_undo.load(Relaxed));
        assert!(noted <= self.last(), "what is undone was written");
        if noted.is_null() { last } else { noted }
    }

    /// A rollback goes on with this record.
    pub(crate) fn note_next_undo(&self, next: Lsn) {
        assert!(!self.has_ended(), "what has ended is not undone");
        self.next_undo.store(next.raw(), Relaxed);
    }

    /// The newest LOP_MARK_SAVEPOINT to which the transaction can be rolled back; NULL when there is none.
    pub(crate) fn mark(&self) -> Lsn {
        Lsn::from_raw(self.mark.load(Relaxed))
    }

    /// LOP_MARK_SAVEPOINT has been written.
    pub(crate) fn note_mark(&self, mark: Lsn) {
        assert!(mark > self.mark() && mark <= self.last(), "the newest of its marks");
        self.mark.store(mark.raw(), Relaxed);
    }

    /// A rollback to a savepoint is over; `mark` is the newest that is left.
    pub(crate) fn note_rolled_back(&self, to: Lsn, mark: Lsn) {
        assert!(to <= self.last(), "a savepoint of this transaction");
        assert!(mark <= to && mark <= self.mark(), "marks behind the savepoint are gone, no other");
        self.mark.store(mark.raw(), Relaxed);
        self.next_undo.store(0, Relaxed);
        self.rolled_back_to.store(to.raw(), Relaxed);
    }

    /// The entry of a transaction that a crash cut off.
    pub(crate) fn of_loser(id: TxnId, is_system: bool, begin: Lsn, last: Lsn) -> XactEntry {
        let entry = XactEntry::new(id, is_system, 0);
        entry.begin.store(begin.raw(), Relaxed);
        entry.last.store(last.raw(), Relaxed);
        entry.assert_state();
        entry
    }

    /// What holds whenever its transaction is not appending.
    pub(crate) fn assert_state(&self) {
        let (begin, last) = (self.begin(), self.last());
        assert!(
            begin <= last && begin.is_null() == last.is_null(),
            "{} begins with its first record",
            self.id
        );
        assert!(
            begin.raw() >= self.begin_bound.load(Relaxed) || begin.is_null(),
            "the bound of {begin} is lower"
        );
        assert!(!self.has_ended() || !last.is_null(), "transaction {} ends in the log", self.id);
    }

    /// Is its LOP_COMMIT_XACT or LOP_ABORT_XACT in the log?
    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Acquire)
    }

    pub(crate) fn begin(&self) -> Lsn {
        Lsn::from_raw(self.begin.load(Acquire))
    }

    pub(crate) fn last(&self) -> Lsn {
        Lsn::from_raw(self.last.load(Acquire))
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    /// No record of it lies below; NULL before it has entered the table.
    pub(crate) fn begin_bound(&self) -> Lsn {
        let bound = Lsn::from_raw(self.begin_bound.load(Relaxed));
        assert!(bound <= self.begin() || self.begin().is_null(), "the bound of {} is lower", self.begin());
        bound
    }

    pub(crate) fn writes_from_reservation(&self) -> bool {
        self.from_reservation.load(Relaxed)
    }

    pub(crate) fn set_writes_from_reservation(&self) {
        assert!(
            self.is_system,
            "only work on behalf of a rollback is paid from a reservation that is not its own"
        );
        assert!(self.last().is_null(), "who pays is known before the first record");
        self.from_reservation.store(true, Relaxed);
    }

    pub(crate) fn begin_append(&self, bound: Lsn) {
        let is_first = self.last().is_null();
        assert!(is_first || self.appending.load(Relaxed) == 0, "a transaction appends one record at a time");
        // Before the append in every observer's eyes, hence SeqCst.
        self.appending.store(bound.raw().max(1), SeqCst);
    }

    pub(crate) fn end_append(&self) {
        self.appending.store(0, Release);
    }

    pub(crate) fn set_ended(&self) {
        assert!(!self.ended.load(Relaxed), "a transaction ends once");
        assert!(self.appending.load(Relaxed) != 0, "its end is announced until the table knows of it");
        self.ended.store(true, Release);
    }

    pub(crate) fn note_append(&self, lsn: Lsn, bytes: u64, reserved: u64) {
        let before = self.last();
        let announced = self.appending.load(Relaxed);
        assert!(lsn > before && announced != 0, "an append is announced");
        assert!(lsn.raw() >= announced, "{lsn} lies below what was announced");
        assert_eq!(before.is_null(), self.begin().is_null(), "a transaction begins with its first record");
        if before.is_null() {
            // Before the announcement is taken back: who finds none must find where the transaction begins.
            self.begin.store(lsn.raw(), Release);
        }
        self.last.store(lsn.raw(), Release);
        self.records.store(self.records.load(Relaxed) + 1, Relaxed);
        self.bytes.store(self.bytes.load(Relaxed) + bytes, Relaxed);
        self.add_reserved(reserved);
        self.end_append();
    }

    /// Its LOP_BEGIN_XACT is about to be written.
    pub(crate) fn set_begin_time(&self, time: LogTime) {
        assert!(self.last().is_null(), "a transaction begins once");
        self.begin_time.store(time.0, Relaxed);
    }

    /// More log is set aside for its undo.
    pub(crate) fn add_reserved(&self, bytes: u64) {
        self.reserved.store(self.reserved.load(Relaxed) + bytes, Relaxed);
    }

    /// Takes up to `bytes` off what is set aside, but leaves `kept`; returns how much.
    pub(crate) fn pay(&self, bytes: u64, kept: u64) -> u64 {
        let reserved = self.reserved.load(Relaxed);
        let paid = bytes.min(reserved.saturating_sub(kept));
        assert!(paid <= reserved, "what was never set aside pays for nothing");
        self.reserved.store(reserved - paid, Relaxed);
        paid
    }
}

#[derive(Default)]
struct ActiveTable {
    entries: BTreeMap<u64, Arc<XactEntry>>,
    /// The same by order of entering: (lower bound of its begin, number). Bounds are taken under the latch, so they ascend.
    by_begin: BTreeSet<(u64, u64)>,
    pin: Option<LogPin>,
}

struct TxnCounters {
    started: Arc<Counter>,
    written: Arc<Counter>,
    active: Arc<Counter>,
}

/// The transactions of one database.
pub struct TxnManager {
    os: Os,
    log: Arc<Log>,
    locks: Arc<LockManager>,
    resource_manager: OnceLock<Arc<dyn ResourceManager>>,
    gates: OnceLock<Vec<Arc<dyn CommitGate>>>,
    next_txn: AtomicU64,
    table: Latch<ActiveTable>,
    /// The least number in the table, `u64::MAX` when it is empty; written under its latch.
    oldest_id: AtomicU64,
    /// The least begin bound in the table, `u64::MAX` when it is empty; written under its latch.
    oldest_lsn: AtomicU64,
    /// Why nothing more of the database is acknowledged; see [`TxnManager::fail`].
    failure: OnceLock<String>,
    /// Newest commit that others may see before it is hard; see [`TxnManager::last_deferred`].
    deferred: AtomicU64,
    versions: Versions,
    counters: TxnCounters,
}

/// What a checkpoint needs to know of the transactions.
pub struct ActiveSnapshot {
    /// Those that have written and not ended.
    pub rows: Vec<ActiveRow>,
    /// Analysis must start here at the latest (an append was going on); `Lsn::MAX` when none was.
    pub scan_start: Lsn,
}

impl TxnManager {
    /// The manager of a database whose log is open. Its resource manager is attached once that exists.
    pub fn new(
        os: &Os,
        log: Arc<Log>,
        locks: Arc<LockManager>,
        options: TxnManagerOptions,
    ) -> Arc<TxnManager> {
        let counter = |name: &str| os.counters().counter("SQLServer:Databases", name, &options.database_name);
        Arc::new(TxnManager {
            os: os.clone(),
            log,
            locks,
            resource_manager: OnceLock::new(),
            gates: OnceLock::new(),
            next_txn: AtomicU64::new(options.first_txn.max(1)),
            table: Latch::new(LatchRank::TransactionTable, ActiveTable::default()),
            oldest_id: AtomicU64::new(u64::MAX),
            oldest_lsn: AtomicU64::new(u64::MAX),
            failure: OnceLock::new(),
            deferred: AtomicU64::new(0),
            versions: Versions::new(os),
            counters: TxnCounters {
                started: counter("Transactions/sec"),
                written: counter("Write Transactions/sec"),
                active: counter("Active Transactions"),
            },
        })
    }

    /// Says who undoes and redoes; once.
    pub fn attach(&self, resource_manager: Arc<dyn ResourceManager>) {
        assert!(self.table.lock().entries.is_empty(), "it is there before the first transaction writes");
        let before = self.resource_manager.set(resource_manager);
        assert!(before.is_ok(), "a database has one resource manager");
    }

    /// Says whom fully durable commits wait for besides the log; once, before transactions begin.
    pub fn set_gates(&self, gates: Vec<Arc<dyn CommitGate>>) {
        assert!(self.table.lock().entries.is_empty(), "they are there before the first transaction writes");
        assert!(self.gates.set(gates).is_ok(), "commit gates are set once");
    }

    /// A user transaction.
    pub fn begin(self: &Arc<Self>, options: TxnOptions) -> Transaction {
        let space = options.space.unwrap_or_else(|| self.locks.new_space(0));
        self.counters.started.increment();
        self.counters.active.increment();
        let entry = XactEntry::new(self.next_id(), false, space.session_id());
        Transaction::new(Arc::clone(self), entry, space, options.name)
    }

    /// A system transaction; see [`Transaction::begin_system`].
    pub fn begin_system(self: &Arc<Self>) -> Transaction {
        let space = self.locks.new_space(0);
        Transaction::new(Arc::clone(self), XactEntry::new(self.next_id(), true, 0), space, None)
    }

    /// A transaction that a crash cut off, back in the table: a loser about to be undone, or one that is prepared.
    pub(crate) fn resume(self: &Arc<Self>, loser: &Loser, state: XactState) -> Transaction {
        assert!(loser.begin <= loser.last, "transaction {} begins with its first record", loser.id);
        assert!(loser.id <= self.max_txn(), "numbers given out are above all in the log");
        let entry = XactEntry::of_loser(loser.id, loser.is_system, loser.begin, loser.last);
        let transaction = Transaction::resumed(Arc::clone(self), entry, self.locks.new_space(0), state);
        transaction.entry.end_append();
        self.insert(&transaction.entry, loser.begin);
        assert!(self.oldest_active_lsn() <= loser.begin, "readers see that it has not ended");
        if !loser.is_system {
            self.counters.active.increment();
        }
        transaction
    }

    /// The transactions that have written and not ended.
    pub fn active(&self) -> Vec<ActiveRow> {
        self.active_snapshot().rows
    }

    /// The same with the start of analysis; call after LOP_BEGIN_CKPT has been appended.
    pub fn active_snapshot(&self) -> ActiveSnapshot {
        let table = self.table.lock();
        let mut scan_start = Lsn::MAX;
        let mut rows = Vec::with_capacity(table.entries.len());
        for entry in table.entries.values() {
            // The announcement first: when it is gone, `begin` and `last` are final.
            let appending = entry.appending.load(SeqCst);
            let (begin, last) = (entry.begin(), entry.last());
            assert!(begin <= last, "transaction {} begins with its first record", entry.id);
            if appending != 0 {
                scan_start = scan_start.min(Lsn::from_raw(appending));
            } else {
                assert_eq!(begin.is_null(), last.is_null(), "transaction {} says where it begins", entry.id);
            }
            assert!(entry.id < TxnId(self.next_txn.load(Relaxed)), "{} was given out", entry.id);
            rows.push(ActiveRow {
                id: entry.id,
                is_system: entry.is_system,
                session_id: entry.session_id,
                begin_time: LogTime(entry.begin_time.load(Relaxed)),
                begin,
                last,
                record_count: entry.records.load(Relaxed),
                log_bytes: entry.bytes(),
                reserved_bytes: entry.reserved.load(Relaxed),
                is_ended: entry.ended.load(Acquire),
                next_undo: entry.next_undo(last),
                rolled_back_to: Some(Lsn::from_raw(entry.rolled_back_to.load(Relaxed)))
                    .filter(|lsn| !lsn.is_null()),
                mark: Some(entry.mark()).filter(|lsn| !lsn.is_null()),
            });
        }
        ActiveSnapshot { rows, scan_start }
    }

    /// The oldest record that a rollback may need; `None` when no transaction has written. Moves the log's ActiveTransaction pin there (to
    /// the end of the log when there is none), so that truncation knows; call before `Log::truncate`.
    pub fn oldest_begin(&self) -> Option<Lsn> {
        let mut table = self.table.lock();
        let oldest = table.by_begin.first().map(|&(bound, _)| Lsn::from_raw(bound));
        assert_eq!(oldest.unwrap_or(Lsn::MAX), self.oldest_active_lsn(), "readers see the table's oldest");
        // Whoever begins from now on begins at the end or later: its entering waits for this latch.
        let needed = oldest.unwrap_or_else(|| self.log.end());
        assert!(needed <= self.log.end(), "nobody needs log that is not there yet");
        match &table.pin {
            Some(pin) => pin.move_to(needed),
            None => {
                table.pin = Some(self.log.pin(LogReuseWait::ActiveTransaction, "oldest transaction", needed))
            }
        }
        oldest
    }

    /// The least number of a transaction that has written and not ended; `TxnId(u64::MAX)` when there is none. One atomic load: whatever a
    /// smaller number left behind is decided.
    pub fn oldest_active_id(&self) -> TxnId {
        TxnId(self.oldest_id.load(Acquire))
    }

    /// No transaction that has written and not ended has a record below this; `Lsn::MAX` when there is none. One atomic load: a page with
    /// a smaller LSN holds only decided changes (Mohan's Commit_LSN, 1990).
    pub fn oldest_active_lsn(&self) -> Lsn {
        Lsn::from_raw(self.oldest_lsn.load(Acquire))
    }

    /// The highest number given out.
    pub fn max_txn(&self) -> TxnId {
        let next = self.next_txn.load(Relaxed);
        assert!(next > 0, "transactions count from 1");
        TxnId(next - 1)
    }

    /// The database cannot go on: from now on no lock of its data is granted, because what lies under it may never have been committed.
    /// Whoever gives up locks of a transaction with an unknown outcome says this first. The first reason stays; true for that one.
    pub fn fail(&self, reason: &str) -> bool {
        assert!(!reason.is_empty(), "a failure has a reason");
        self.failure.set(reason.to_owned()).is_ok()
    }

    /// Why the database cannot go on; `None` while it can.
    pub fn failure(&self) -> Option<&str> {
        self.failure.get().map(String::as_str)
    }

    /// The database's log.
    pub fn log(&self) -> &Arc<Log> {
        &self.log
    }

    /// The instance's lock manager.
    pub fn lock_manager(&self) -> &Arc<LockManager> {
        &self.locks
    }

    pub(crate) fn log_time(&self) -> LogTime {
        LogTime::from_utc_100ns(self.os.clock().utc_100ns().max(0).cast_unsigned())
    }

    pub(crate) fn resource_manager(&self) -> &Arc<dyn ResourceManager> {
        self.resource_manager
            .get()
            .expect("a database attaches its resource manager before its first transaction")
    }

    pub(crate) fn gates(&self) -> &[Arc<dyn CommitGate>] {
        self.gates.get().map_or(&[], Vec::as_slice)
    }

    pub(crate) fn next_id(&self) -> TxnId {
        TxnId(self.next_txn.fetch_add(1, Relaxed))
    }

    /// Enters a transaction before its first record can be in the log.
    pub(crate) fn enter(&self, entry: &Arc<XactEntry>) {
        assert!(
            entry.begin().is_null() && entry.last().is_null(),
            "a transaction enters before its first record"
        );
        entry.begin_append(self.log.hardened());
        self.insert(entry, Lsn::NULL);
        assert!(self.oldest_active_id() <= entry.id, "readers see that it writes before it has written");
    }

    /// `begin` NULL: about to begin, not below the present end of the log.
    fn insert(&self, entry: &Arc<XactEntry>, begin: Lsn) {
        let mut table = self.table.lock();
        let bound = if begin.is_null() { self.log.end() } else { begin };
        assert!(!bound.is_null() && bound <= self.log.end());
        assert!(!entry.has_ended(), "what has ended does not enter");
        assert!(
            table.by_begin.last().is_none_or(|&(newest, _)| newest <= bound.raw() || !begin.is_null()),
            "begin bounds ascend"
        );
        entry.begin_bound.store(bound.raw(), Relaxed);
        let before = table.entries.insert(entry.id.0, Arc::clone(entry));
        assert!(before.is_none(), "transaction {} is in the table once", entry.id);
        table.by_begin.insert((bound.raw(), entry.id.0));
        self.note_oldest(&table);
    }

    /// Takes a transaction out; false when it never wrote and so is not in. What it had reserved stays so until
    /// [`TxnManager::release_reserved`]: its end may have something to write yet.
    pub(crate) fn leave(&self, entry: &XactEntry) -> bool {
        let mut table = self.table.lock();
        if table.entries.remove(&entry.id.0).is_none() {
            return false;
        }
        let was_there = table.by_begin.remove(&(entry.begin_bound.load(Relaxed), entry.id.0));
        assert!(was_there, "both orders of the table hold the same transactions");
        self.note_oldest(&table);
        drop(table);
        assert_eq!(entry.appending.load(Relaxed), 0, "it leaves after its last append");
        entry.assert_state();
        true
    }

    /// Gives back what a transaction that is over had reserved.
    pub(crate) fn release_reserved(&self, entry: &XactEntry) {
        assert_eq!(entry.appending.load(Relaxed), 0, "transaction {} appends nothing more", entry.id);
        self.log.release_reservation(entry.reserved.swap(0, Relaxed));
    }

    fn note_oldest(&self, table: &ActiveTable) {
        assert_eq!(table.entries.len(), table.by_begin.len(), "both orders hold the same transactions");
        let id = table.entries.first_key_value().map_or(u64::MAX, |(&id, _)| id);
        let lsn = table.by_begin.first().map_or(u64::MAX, |&(bound, _)| bound);
        assert_eq!(id == u64::MAX, lsn == u64::MAX, "the table is empty in both orders");
        assert!(id == u64::MAX || id < self.next_txn.load(Relaxed), "{id} was given out");
        self.oldest_id.store(id, Release);
        self.oldest_lsn.store(lsn, Release);
    }

    /// Transactions of users committed that had written, since the server started.
    pub fn commits_total(&self) -> u64 {
        self.counters.written.get().max(0).cast_unsigned()
    }

    /// The newest commit that gave its locks up, fully durable, before it was hard ([`crate::CommitMode::Deferred`]); NULL: none since the
    /// log was opened. A client may be told of it, and of anything read since, only once it is hard.
    pub fn last_deferred(&self) -> Lsn {
        Lsn::from_raw(self.deferred.load(Acquire))
    }

    pub(crate) fn note_deferred(&self, lsn: Lsn) {
        assert!(lsn.slot() > 0 && lsn < self.log.end(), "the commit at {lsn} is in the log");
        let before = Lsn::from_raw(self.deferred.fetch_max(lsn.raw(), Release));
        assert_ne!(before, lsn, "a commit is deferred once");
    }

    /// The versions of rows.
    #[inline]
    pub fn versions(&self) -> &Versions {
        &self.versions
    }

    /// No snapshot can see what these have changed: what has waited for that is done.
    pub(crate) fn forgotten(&self, gone: &[Arc<VersionWriter>]) {
        for (entry, writer) in gone.iter().filter_map(|writer| Some((writer.arrive()?, writer))) {
            assert_eq!(entry.id, writer.txn, "an end is its own transaction's");
            self.resource_manager().finished(entry.id, true);
            self.release_reserved(&entry);
        }
    }

    pub(crate) fn note_committed(&self, entry: &XactEntry) {
        if !entry.is_system {
            self.counters.written.increment();
        }
    }

    pub(crate) fn note_ended(&self, entry: &XactEntry) {
        if !entry.is_system {
            self.counters.active.add(-1);
        }
    }
}

impl Transaction {
    /// Commits a system transaction: its records become hard with whatever is hardened after them.
    pub fn commit_system(&self) -> crate::TxnResult<()> {
        assert!(self.is_system(), "a system transaction");
        self.assert_state(XactState::Active);
        self.commit(CommitMode::Volatile).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Between a first append and the next step of its transaction a checkpoint may look: when the append is not announced any more, the
    /// entry says where the transaction begins.
    #[test]
    fn an_entry_says_where_it_begins_before_its_announcement_goes() {
        let entry = XactEntry::new(TxnId(7), false, 51);
        entry.begin_append(Lsn::from_raw(9));
        assert!(entry.begin().is_null() && entry.appending.load(SeqCst) != 0);
        entry.note_append(Lsn::from_raw(12), 40, 64);
        assert_eq!(entry.appending.load(SeqCst), 0);
        assert_eq!((entry.begin(), entry.last()), (Lsn::from_raw(12), Lsn::from_raw(12)));
        entry.begin_append(Lsn::from_raw(12));
        entry.note_append(Lsn::from_raw(15), 40, 64);
        assert_eq!((entry.begin(), entry.last()), (Lsn::from_raw(12), Lsn::from_raw(15)), "it begins once");
    }
}
