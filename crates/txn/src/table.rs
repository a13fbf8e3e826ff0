//! `TxnManager`: the transactions of one database, and the table of those that have written, which checkpoints and truncation read.
//!
//! How a checkpoint reads the table while transactions go on: a transaction announces each append in `appending` (a lower bound of
//! its LSN) before it appends and clears the announcement after it has noted the LSN. A reader that finds an announcement starts its
//! analysis at that bound; one that finds none sees the final `last`. So no record in between can be missed. A transaction whose end record is in
//! the log, but not yet durable, is no longer active for a checkpoint: the checkpoint hardens that record, too.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Arc, OnceLock};

use log::records::LogTime;
use log::{Log, LogError, LogReuseWait, Lsn, TxnId};
use os::sim::{Bug, is_planted};
use os::{Latch, LatchRank, Os};

use crate::active::ActiveTable;
use crate::entry::{ActiveRow, XactEntry};
use crate::lock::LockManager;
use crate::loser::Loser;
use crate::state::XactState;
use crate::transaction::{ResourceManager, Transaction, TxnCounters, TxnManager, TxnOptions};
use crate::version::{VersionWriter, Versions};

/// The parameters of a database's transaction manager.
#[derive(Clone, Debug)]
pub struct TxnManagerOptions {
    /// The database's name, for its counters.
    pub database_name: String,
    /// The first transaction number to assign; above all numbers in the log.
    pub first_txn: u64,
}

/// The facts about transactions that a checkpoint needs.
pub struct ActiveSnapshot {
    /// The transactions that have written and not ended.
    pub rows: Vec<ActiveRow>,
    /// Analysis must start here at the latest (an append was in progress); `Lsn::MAX` when none was.
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
            next_txn: AtomicU64::new(options.first_txn.max(1)),
            table: Latch::new(LatchRank::TransactionTable, ActiveTable::default()),
            oldest_id: AtomicU64::new(u64::MAX),
            oldest_lsn: AtomicU64::new(u64::MAX),
            redo_start: AtomicU64::new(0),
            failure: OnceLock::new(),
            early_release: AtomicU64::new(0),
            versions: Versions::new(os),
            counters: TxnCounters {
                started: counter("Transactions/sec"),
                written: counter("Write Transactions/sec"),
                active: counter("Active Transactions"),
            },
        })
    }

    /// Sets the resource manager, which undoes and redoes; once.
    pub fn attach(&self, resource_manager: Arc<dyn ResourceManager>) {
        assert!(self.table.lock().is_empty(), "it is there before the first transaction writes");
        let before = self.resource_manager.set(resource_manager);
        assert!(before.is_ok(), "a database has one resource manager");
    }

    /// A new transaction.
    pub fn begin(self: &Arc<Self>, options: TxnOptions) -> Transaction {
        let space = options.space.unwrap_or_else(|| self.locks.new_space(0));
        self.counters.started.increment();
        self.counters.active.increment();
        let entry = XactEntry::new(self.next_id(), space.session_id());
        Transaction::new(Arc::clone(self), entry, space, options.name)
    }

    /// Enters a transaction that a crash interrupted into the table: a loser about to be undone, or a prepared one.
    pub(crate) fn resume(self: &Arc<Self>, loser: &Loser, state: XactState) -> Transaction {
        assert!(loser.begin <= loser.last, "transaction {} begins with its first record", loser.id);
        assert!(loser.id <= self.max_txn(), "numbers given out are above all in the log");
        let entry = XactEntry::of_loser(loser.id, loser.begin, loser.last);
        let transaction = Transaction::resumed(Arc::clone(self), entry, self.locks.new_space(0), state);
        transaction.entry.end_append();
        self.insert(&transaction.entry, loser.begin);
        assert!(self.oldest_active_lsn() <= loser.begin, "readers see that it has not ended");
        self.counters.active.increment();
        transaction
    }

    /// The transactions that have written and not ended.
    pub fn active(&self) -> Vec<ActiveRow> {
        self.active_snapshot().rows
    }

    /// Those transactions with the start of analysis; call after LOP_BEGIN_CKPT has been appended.
    pub fn active_snapshot(&self) -> ActiveSnapshot {
        let table = self.table.lock();
        let mut scan_start = Lsn::MAX;
        let mut rows = Vec::with_capacity(table.len());
        for entry in table.entries() {
            // The announcement first: when it is cleared, `begin` and `last` are final.
            let appending = entry.appending.load(Acquire);
            let (begin, last) = (entry.begin(), entry.last());
            assert!(begin <= last, "transaction {} begins with its first record", entry.id);
            if appending != 0 && !is_planted(Bug::AnnouncementIgnored) {
                scan_start = scan_start.min(Lsn::from_raw(appending));
            } else if appending == 0 {
                assert_eq!(begin.is_null(), last.is_null(), "transaction {} says where it begins", entry.id);
            }
            assert!(entry.id < TxnId(self.next_txn.load(Relaxed)), "{} was given out", entry.id);
            rows.push(entry.row(begin, last));
        }
        assert!(rows.is_sorted_by(|one, next| one.id < next.id), "the table has each transaction once");
        // An announcement may be old: its position was read before its transaction was visible here. Every record that the last checkpoint left
        // to this one was announced then, too, and not below the present redo start.
        let redo_start = Lsn::from_raw(self.redo_start.load(Relaxed));
        if scan_start < redo_start && !is_planted(Bug::RedoStartGoesBack) {
            os::sim::reach(|| "append announced before where redo starts".to_owned());
            scan_start = redo_start;
        }
        ActiveSnapshot { rows, scan_start }
    }

    /// Notes the redo start of a checkpoint, computed from [`TxnManager::active_snapshot`] after its LOP_BEGIN_CKPT: no
    /// later checkpoint starts before it. Every record below was noted, or announced and so not above this, at that snapshot.
    pub(crate) fn note_redo_start(&self, redo_start: Lsn) {
        let before = Lsn::from_raw(self.redo_start.fetch_max(redo_start.raw(), Relaxed));
        assert!(redo_start < self.log.end(), "redo starts in the log");
        let goes_on = redo_start >= before || is_planted(Bug::RedoStartGoesBack);
        assert!(goes_on, "redo starts at {redo_start}, it started at {before}");
    }

    /// The oldest record that a rollback may need; `None` when no transaction has written. Moves the log's ActiveTransaction pin there (to
    /// the end of the log when there is none), for truncation; call before `Log::truncate`.
    pub fn oldest_begin(&self) -> Option<Lsn> {
        let mut table = self.table.lock();
        let oldest = table.oldest_bound();
        assert_eq!(oldest.unwrap_or(Lsn::MAX), self.oldest_active_lsn(), "readers see the table's oldest");
        // A transaction that begins from now on begins at the end or later: it needs this latch to enter.
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

    /// Updates the reason of a log-full error: the log's pin has the transactions' begin as of the last `oldest_begin`.
    pub(crate) fn naming_holder(&self, error: LogError) -> LogError {
        match error {
            LogError::Full { growth, .. } => {
                self.oldest_begin();
                LogError::Full { reuse_wait: self.log.reuse_wait_now(), growth }
            }
            other => other,
        }
    }

    /// The least number of a transaction that has written and not ended; `TxnId(u64::MAX)` when there is none. One atomic load: transactions
    /// with smaller numbers have ended.
    pub fn oldest_active_id(&self) -> TxnId {
        TxnId(self.oldest_id.load(Acquire))
    }

    /// No transaction that has written and not ended has a record below this; `Lsn::MAX` when there is none. One atomic load: a page with
    /// a smaller LSN holds only committed changes (Mohan's Commit_LSN, 1990).
    pub fn oldest_active_lsn(&self) -> Lsn {
        Lsn::from_raw(self.oldest_lsn.load(Acquire))
    }

    /// The highest number assigned.
    pub fn max_txn(&self) -> TxnId {
        let next = self.next_txn.load(Relaxed);
        assert!(next > 0, "transactions count from 1");
        TxnId(next - 1)
    }

    /// Marks the database as failed: from now on no lock on its data is granted, because the data may never have been committed.
    /// Must be called before the locks of a transaction with an unknown outcome are released. The first reason stays; true for that one.
    pub fn fail(&self, reason: &str) -> bool {
        assert!(!reason.is_empty(), "a failure has a reason");
        let is_first = self.failure.set(reason.to_owned()).is_ok();
        assert!(self.failure().is_some(), "from now on no lock on its data is granted");
        is_first
    }

    /// Why the database has failed; `None` if it has not.
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

    pub(crate) fn next_id(&self) -> TxnId {
        let id = self.next_txn.fetch_add(1, Relaxed);
        assert!(id > 0 && id < u64::MAX, "numbers lie between the one for none and the one for all ended");
        TxnId(id)
    }

    /// Enters a transaction before its first record can be in the log.
    pub(crate) fn enter(&self, entry: &Arc<XactEntry>) {
        assert!(
            entry.begin().is_null() && entry.last().is_null(),
            "a transaction enters before its first record"
        );
        entry.begin_append(self.log.hardened());
        self.os.stall_point("between announcing and entering");
        self.insert(entry, Lsn::NULL);
        self.os.stall_point("between entering and announcing the first record");
        assert!(self.oldest_active_id() <= entry.id, "readers see that it writes before it has written");
    }

    /// `begin` NULL: about to begin, not below the present end of the log.
    fn insert(&self, entry: &Arc<XactEntry>, begin: Lsn) {
        let mut table = self.table.lock();
        let bound = if begin.is_null() { self.log.end() } else { begin };
        assert!(!bound.is_null() && bound <= self.log.end(), "a transaction begins in the log or at its end");
        assert!(!entry.has_ended(), "what has ended does not enter");
        assert!(
            table.newest_bound().is_none_or(|newest| newest <= bound || !begin.is_null()),
            "begin bounds ascend"
        );
        entry.begin_bound.store(bound.raw(), Relaxed);
        table.insert(entry, bound);
        self.note_oldest(&table);
        assert!(self.oldest_active_lsn() <= bound, "readers see that its records may be uncommitted");
    }

    /// Removes a transaction; false when it never wrote and so is not in the table. Its reservation stays until
    /// [`TxnManager::release_reserved`]: deferred work at its end may write log.
    pub(crate) fn leave(&self, entry: &XactEntry) -> bool {
        let mut table = self.table.lock();
        if !table.remove(entry.id, Lsn::from_raw(entry.begin_bound.load(Relaxed))) {
            return false;
        }
        self.note_oldest(&table);
        drop(table);
        assert_eq!(entry.appending.load(Relaxed), 0, "it leaves after its last append");
        entry.assert_state();
        assert!(
            entry.has_ended() || entry.last().is_null(),
            "a transaction that may be rolled back stays in the table"
        );
        true
    }

    /// Gives back the reservation of an ended transaction.
    pub(crate) fn release_reserved(&self, entry: &XactEntry) {
        assert_eq!(entry.appending.load(Relaxed), 0, "transaction {} appends nothing more", entry.id);
        assert!(
            entry.has_ended() || entry.last().is_null(),
            "a transaction that may be rolled back keeps its reservation"
        );
        self.log.release_reservation(entry.reserved.swap(0, Relaxed));
    }

    fn note_oldest(&self, table: &ActiveTable) {
        let id = table.oldest_id().map_or(u64::MAX, |id| id.0);
        let lsn = table.oldest_bound().map_or(u64::MAX, Lsn::raw);
        assert_eq!(id == u64::MAX, lsn == u64::MAX, "the table is empty in both orders");
        assert!(id == u64::MAX || id < self.next_txn.load(Relaxed), "{id} was given out");
        self.oldest_id.store(id, Release);
        self.oldest_lsn.store(lsn, Release);
    }

    /// Transactions committed that had written, since the server started.
    pub fn commits_total(&self) -> u64 {
        self.counters.written.get().max(0).cast_unsigned()
    }

    /// The newest commit that released its locks before it was durable ([`crate::CommitMode::EarlyRelease`]); NULL: none since the
    /// log was opened. A client may get its acknowledgement, and any data read since, only once it is durable.
    pub fn last_early_release(&self) -> Lsn {
        Lsn::from_raw(self.early_release.load(Acquire))
    }

    pub(crate) fn note_early_release(&self, lsn: Lsn) {
        assert!(lsn.slot() > 0 && lsn < self.log.end(), "the commit at {lsn} is in the log");
        let before = Lsn::from_raw(self.early_release.fetch_max(lsn.raw(), Release));
        assert_ne!(before, lsn, "a commit releases its locks once");
    }

    /// The versions of rows.
    #[inline]
    pub fn versions(&self) -> &Versions {
        &self.versions
    }

    /// Snapshots do not need the versions of these writers any more: does their deferred work.
    pub(crate) fn forgotten(&self, gone: &[Arc<VersionWriter>]) {
        for (entry, writer) in gone.iter().filter_map(|writer| Some((writer.arrive()?, writer))) {
            assert_eq!(entry.id, writer.txn, "an end is its own transaction's");
            self.resource_manager().finished(entry.id, true);
            self.release_reserved(&entry);
        }
    }

    pub(crate) fn note_committed(&self) {
        self.counters.written.increment();
    }

    pub(crate) fn note_ended(&self) {
        self.counters.active.add(-1);
    }
}

#[cfg(test)]
mod tests {
    use log::records::BeginCkpt;
    use log::{LogOp, LogOptions, RecordBuf, RecordHeader};
    use os::sim::{Profile, World};

    use super::*;

    /// The redo starts of two checkpoints: a transaction that announced its append before the first enters the table before the second.
    fn starts_of_redo(bug: Option<Bug>) -> (Lsn, Lsn) {
        let world = World::new(1, Profile::nvme());
        world.plant(bug);
        let found = Arc::new(Latch::new(LatchRank::Leaf, (Lsn::NULL, Lsn::NULL)));
        let told = Arc::clone(&found);
        let report = world.run(move |os| {
            os.disk().create_dir_all(std::path::Path::new("/data")).expect("a healthy disk");
            let options = LogOptions { size_bytes: 1 << 20, ..LogOptions::new("/data/one.ldf", "one") };
            let log = Arc::new(Log::create(os, &options).expect("a log on a healthy disk"));
            let options = TxnManagerOptions { database_name: "one".to_owned(), first_txn: 1 };
            let manager = TxnManager::new(os, Arc::clone(&log), LockManager::new(os), options);
            let entry = Arc::new(XactEntry::new(manager.next_id(), 0));
            entry.begin_append(log.hardened());
            let begin = BeginCkpt { begin_time: manager.log_time(), max_txn: manager.max_txn() };
            let begin = RecordBuf::from_payload(RecordHeader::new(LogOp::BeginCkpt), &begin);
            let begin = log.append(&begin).expect("room");
            log.harden(begin, log::FlushReason::Quiesce).expect("a healthy disk");
            let scan_start = manager.active_snapshot().scan_start;
            assert_eq!(scan_start, Lsn::MAX, "nobody has entered");
            manager.note_redo_start(begin);
            manager.insert(&entry, Lsn::NULL);
            *told.lock() = (begin, manager.active_snapshot().scan_start);
            entry.end_append();
            manager.leave(&entry);
        });
        report.assert_ok();
        *found.lock()
    }

    #[test]
    fn redo_never_starts_before_where_the_last_checkpoint_let_it_start() {
        let (before, after) = starts_of_redo(None);
        assert!(after >= before && !before.is_null(), "{after} after {before}");
        let (before, after) = starts_of_redo(Some(Bug::RedoStartGoesBack));
        assert!(after < before, "the test would see it");
    }
}
