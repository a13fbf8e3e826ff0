//! Row versions: the order of commits, the open snapshots, and the row images that writers store for them. Knows rows as bytes with a name.
//!
//! A writer stores the image of each row from before its first change ([`Transaction::save_before_image`]), while it holds the row's lock and
//! the page's latch. When its changes may be seen, it gets the next *commit number* ([`Versions::commit`]). A snapshot is such a number: it
//! sees the commits up to it ([`Versions::see`]). Decision record 0040 has the reasons.
//!
//! ```text
//! writer:  Writing ──commit──► Committed(n), needed while a snapshot below n is open ──collect──► forgotten
//!             └─────give_up──► Undone ──────────────────────────────────────────────────────────► forgotten
//! ```
//! Invariants:
//! 1. Commit numbers ascend in the order in which locks are released, for each row: the newest version of a row is of its last writer.
//! 2. A snapshot and a commit meet under one latch: the snapshot is below the commit's number and keeps its versions, or it is not below and needs
//!    none of them.
//! 3. A page whose LSN is below [`TxnManager::versions_begin_at`] has no row with a needed version.
//! 4. A version that is being dropped gives the same answer as the page: a concurrent reader that still finds it is correct.
//! 5. Images beyond half of the memory are spilled to disk while it has space. When memory is full (of names, or of images that were not spilled),
//!    the oldest snapshots are given up (3966), and then images are dropped: readers get an error (3958), never a wrong row.

mod images;
mod open;
mod store;
mod writer;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};

use log::{Lsn, TxnId};
use os::sim::{Bug, is_planted};
use os::{Latch, LatchGuard, LatchRank};

pub use images::UnitFigures;
pub use open::{OpenSnapshot, SnapshotKind};
use store::Store;
pub use store::{Before, StoredVersion, VersionLookup};
pub use writer::VersionWriter;
use writer::{FIRST_MOMENT, UNDONE};

/// The size of the store, and its counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VersionFigures {
    /// Bytes of images and names in memory now.
    pub bytes: u64,
    /// Bytes of images on disk now.
    pub bytes_there: u64,
    /// Bytes of all versions stored since the start.
    pub bytes_left_total: u64,
    /// Bytes of all versions dropped since the start.
    pub bytes_forgotten_total: u64,
    /// Units of the file of images.
    pub units: UnitFigures,
    /// Versions now.
    pub versions: u64,
    /// Versions stored since the start.
    pub left_total: u64,
    /// Versions dropped since the start.
    pub forgotten_total: u64,
    /// Changes that conflicted with a snapshot (3960) since the start.
    pub conflicts_total: u64,
    /// SNAPSHOT transactions that have opened their snapshot since the start.
    pub snapshot_transactions_total: u64,
    /// Transactions that have stored versions and not ended.
    pub writers: u64,
    /// Of these, those that read a snapshot of their own.
    pub snapshot_writers: u64,
    /// The newest commit number.
    pub last_commit: u64,
    /// The oldest open snapshot; the newest commit number without one.
    pub oldest_snapshot: u64,
}

#[derive(Default)]
struct Order {
    last_commit: u64,
    next_id: u64,
    /// By number, then in the order of opening.
    open: BTreeMap<(u64, u64), OpenSnapshot>,
    /// Committed writers with versions that an open snapshot may ask for, by commit number.
    needed: BTreeMap<u64, Arc<VersionWriter>>,
    /// Dropped by a caller that held a page latch: the next caller without a page latch does their deferred work.
    orphans: Vec<Arc<VersionWriter>>,
}

impl Order {
    fn oldest(&self) -> u64 {
        self.open.first_key_value().map_or(self.last_commit, |(&(number, _), _)| number)
    }

    /// Removes the writers whose commits all snapshots see, open ones and later ones.
    fn collect(&mut self) -> Vec<Arc<VersionWriter>> {
        let oldest = if is_planted(Bug::VersionFreedTooEarly) { self.last_commit } else { self.oldest() };
        assert!(oldest <= self.last_commit, "no snapshot is ahead of the commits");
        let kept = self.needed.split_off(&(oldest + 1));
        let gone = std::mem::replace(&mut self.needed, kept);
        assert!(gone.last_key_value().is_none_or(|(number, _)| *number <= oldest), "all see them");
        assert!(
            self.needed.first_key_value().is_none_or(|(number, _)| *number > oldest),
            "somebody does not"
        );
        gone.into_values().collect()
    }
}

/// The versions of one database.
pub struct Versions {
    are_kept: AtomicBool,
    order: Latch<Order>,
    /// Least begin of a needed writer, `u64::MAX` without one; written under the latch of `order`.
    needed_begin: AtomicU64,
    /// Least number of a needed writer, as above.
    needed_id: AtomicU64,
    /// Snapshots below have been given up.
    given_up_below: AtomicU64,
    counts: Counts,
    store: Store,
}

/// Counters besides those of the store.
#[derive(Default)]
struct Counts {
    conflicts: AtomicU64,
    snapshot_transactions: AtomicU64,
    writers: AtomicU64,
    snapshot_writers: AtomicU64,
}

impl Counts {
    fn has_begun(&self, writer: &VersionWriter) {
        self.writers.fetch_add(1, Relaxed);
        self.snapshot_writers.fetch_add(u64::from(writer.reads_snapshot), Relaxed);
    }

    fn has_ended(&self, writer: &VersionWriter) {
        let before = self.writers.fetch_sub(1, Relaxed);
        let snapshots_before = self.snapshot_writers.fetch_sub(u64::from(writer.reads_snapshot), Relaxed);
        assert!(before > 0 && (snapshots_before > 0 || !writer.reads_snapshot), "who ends has begun");
    }
}

impl Versions {
    pub(crate) fn new(os: &os::Os) -> Versions {
        Versions {
            are_kept: AtomicBool::new(false),
            order: Latch::new(LatchRank::Leaf, Order { last_commit: FIRST_MOMENT, ..Order::default() }),
            needed_begin: AtomicU64::new(u64::MAX),
            needed_id: AtomicU64::new(u64::MAX),
            given_up_below: AtomicU64::new(0),
            counts: Counts::default(),
            store: Store::new(os),
        }
    }

    /// Do writers store versions? One relaxed load: the only cost for a database without versions.
    #[inline]
    pub fn are_kept(&self) -> bool {
        self.are_kept.load(Relaxed)
    }

    /// Switches that on or off. Snapshots may be opened once every writer that began before has ended.
    pub fn keep(&self, kept: bool) {
        self.are_kept.store(kept, Release);
    }

    /// The most that the store may hold.
    pub fn set_bytes_max(&self, bytes: u64) {
        assert!(bytes > 0, "without versions nothing is kept; with them, something");
        self.store.bytes_max.store(bytes, Relaxed);
    }

    /// Images that do not fit in memory go to a file that has this name until it is unlinked; without a file they are dropped.
    pub fn spill_to(&self, path: std::path::PathBuf) {
        self.store.images.lie_at(path);
    }

    /// The row named `key` of `unit` as seen by a reader at a snapshot with transaction `own`. Under the latch of the row's page.
    pub fn see(&self, unit: u32, key: &[u8], snapshot: u64, own: TxnId) -> VersionLookup {
        self.store.see(unit, key, |writer| {
            writer.txn == own
                || writer.is_visible_to(snapshot)
                || is_planted(Bug::SnapshotSeesLaterCommit) && writer.number().is_some()
        })
    }

    /// Has a transaction other than `own`, which the snapshot does not see, changed the row? The caller holds the row's lock.
    pub fn has_changed_since(&self, unit: u32, key: &[u8], snapshot: u64, own: TxnId) -> bool {
        if is_planted(Bug::LostUpdateUnderSnapshot) {
            return false;
        }
        self.store.newest(unit, key, |writer| {
            writer.txn != own && writer.number().is_some_and(|number| number > snapshot)
        })
    }

    /// Gives the writer its number: new snapshots see its changes from here on. Returns the writers that are not needed any more.
    pub(crate) fn commit(&self, writer: &Arc<VersionWriter>, begin: Lsn) -> Vec<Arc<VersionWriter>> {
        let mut order = self.order.lock();
        order.last_commit += 1;
        let number = order.last_commit;
        let newest = order.open.last_key_value().map_or(0, |(&(newest, _), _)| newest);
        assert!(newest < number, "no snapshot sees a commit before it happens");
        assert!(!begin.is_null(), "whoever commits has begun");
        writer.begin.store(begin.raw(), Relaxed);
        writer.end(number);
        self.counts.has_ended(writer);
        let before = order.needed.insert(number, Arc::clone(writer));
        assert!(before.is_none(), "numbers are given once");
        self.settle(order)
    }

    /// After a commit or a snapshot's end: drops the versions of writers that are not needed any more, releases the latch, and returns the writers.
    fn settle(&self, mut order: LatchGuard<'_, Order>) -> Vec<Arc<VersionWriter>> {
        let mut gone = order.collect();
        self.publish(&order);
        let orphans = std::mem::take(&mut order.orphans);
        drop(order);
        self.forget(&gone);
        gone.extend(orphans);
        gone
    }

    /// The writer's changes were undone, or never logged: drops its versions.
    pub(crate) fn give_up(&self, writer: &VersionWriter) {
        writer.end(UNDONE);
        self.counts.has_ended(writer);
        assert!(writer.number().is_none(), "what is undone has no number");
        self.store.forget(writer);
        assert_eq!(writer.keys.len(), 0, "nothing of it is left");
    }

    fn forget(&self, gone: &[Arc<VersionWriter>]) {
        for writer in gone {
            assert!(writer.number().is_some(), "only who has committed was needed");
            self.store.forget(writer);
            assert_eq!(writer.keys.len(), 0, "nothing of it is left");
        }
    }

    fn publish(&self, order: &Order) {
        let begin = order.needed.values().map(|writer| writer.begin.load(Relaxed)).min();
        assert!(
            order.needed.last_key_value().is_none_or(|(number, _)| *number <= order.last_commit),
            "who is needed has committed"
        );
        let mut ids = order.needed.values().map(|writer| writer.txn.0);
        let id = if is_planted(Bug::NeededByCommitOrder) { ids.next() } else { ids.min() };
        assert_eq!(begin.is_none(), id.is_none(), "who is needed has both");
        assert_ne!(begin, Some(0), "who has committed says where it began");
        assert_eq!(order.needed.is_empty(), id.is_none(), "the least of none is none");
        self.needed_begin.store(begin.unwrap_or(u64::MAX), Release);
        self.needed_id.store(id.unwrap_or(u64::MAX), Release);
    }

    /// The store is full: gives up the oldest snapshots, one number after the other, until there is space or no snapshot is left that keeps
    /// versions. The caller may hold a page latch.
    fn give_up_oldest(&self) {
        while !self.store.has_room() {
            let mut order = self.order.lock();
            let oldest = order.oldest();
            if order.open.is_empty() || oldest >= order.last_commit {
                return;
            }
            let kept = order.open.split_off(&(oldest + 1, 0));
            let victims = std::mem::replace(&mut order.open, kept);
            assert!(!victims.is_empty(), "each round gives one up");
            assert!(
                victims.values().all(|victim| victim.number == oldest),
                "those of one moment go together"
            );
            self.given_up_below.fetch_max(oldest + 1, AcqRel);
            let gone = order.collect();
            self.publish(&order);
            order.orphans.extend(gone.iter().cloned());
            drop(order);
            self.forget(&gone);
            for victim in victims.values() {
                let told = format!(
                    "error 3967: no room for row versions; the snapshot of session {} is given up",
                    victim.session_id
                );
                os::report::warn("versions", &told);
            }
        }
    }

    /// Opens a snapshot of the committed state, with the row that `row_of` makes of its number and the oldest open one. Returns number and id.
    pub(crate) fn open(&self, row_of: impl FnOnce(u64, u64) -> OpenSnapshot) -> (u64, u64) {
        let mut order = self.order.lock();
        let (number, id) = (order.last_commit, order.next_id);
        order.next_id += 1;
        let first_number = order.oldest();
        assert!(first_number <= number, "the newest snapshot is not the oldest");
        let row = row_of(number, first_number);
        let is_of_transaction = u64::from(row.kind == SnapshotKind::Transaction);
        self.counts.snapshot_transactions.fetch_add(is_of_transaction, Relaxed);
        let newest = order.open.last_key_value().map_or(0, |(&(newest, _), _)| newest);
        assert!(newest <= number, "snapshots are opened in the order of commits");
        let before = order.open.insert((number, id), row);
        assert!(before.is_none(), "ids are given once");
        assert!(!self.is_given_up(number), "only older snapshots were given up");
        (number, id)
    }

    /// Closes a snapshot. Returns the writers that are not needed any more.
    pub(crate) fn close(&self, number: u64, id: u64) -> Vec<Arc<VersionWriter>> {
        let mut order = self.order.lock();
        // One that was given up is removed already.
        let closed = order.open.remove(&(number, id));
        let is_given_up = number < self.given_up_below.load(Acquire);
        assert!(closed.is_some() || is_given_up, "a snapshot is open until it is closed or given up");
        assert!(number <= order.last_commit, "no snapshot is ahead of the commits");
        self.settle(order)
    }

    /// Were the snapshots of this number given up for lack of space (3966)?
    pub(crate) fn is_given_up(&self, number: u64) -> bool {
        number < self.given_up_below.load(Acquire)
    }

    /// A lower bound of the records of needed writers.
    pub(crate) fn needed_begin(&self) -> Lsn {
        Lsn::from_raw(self.needed_begin.load(Acquire))
    }

    /// The least number of a needed writer.
    pub(crate) fn needed_id(&self) -> TxnId {
        TxnId(self.needed_id.load(Acquire))
    }

    /// A transaction is about to store its first version.
    pub(crate) fn begin_writer(&self, txn: TxnId, reads_snapshot: bool) -> Arc<VersionWriter> {
        let writer = VersionWriter::new(txn, reads_snapshot);
        self.counts.has_begun(&writer);
        Arc::new(writer)
    }

    /// Stores the image of a row from before the writer's change; see [`crate::Transaction::save_before_image`].
    pub(crate) fn leave(&self, writer: &Arc<VersionWriter>, unit: u32, key: &[u8], before: Option<&[u8]>) {
        assert!(writer.is_writing(), "who leaves versions has not ended");
        if !self.store.has_room() {
            self.give_up_oldest();
        }
        self.store.leave(writer, unit, key, before);
    }

    /// Removes the versions of the writer behind its first `keep`: those changes were undone.
    pub(crate) fn take_back(&self, writer: &VersionWriter, keep: usize) {
        assert!(writer.is_writing(), "it goes on");
        self.store.take_out(writer, keep);
        assert_eq!(writer.left(), keep, "those from before the point stay");
    }

    /// Counts an update conflict with a committed concurrent transaction (3960).
    pub(crate) fn note_conflict(&self) {
        self.counts.conflicts.fetch_add(1, Relaxed);
    }

    /// Every version in the store, for `sys.dm_tran_version_store`.
    pub fn stored(&self) -> Vec<StoredVersion> {
        self.store.rows()
    }

    /// The snapshots that are open.
    pub fn open_snapshots(&self) -> Vec<OpenSnapshot> {
        let open: Vec<OpenSnapshot> = self.order.lock().open.values().cloned().collect();
        assert!(open.is_sorted_by_key(|snapshot| snapshot.number), "the oldest comes first");
        open
    }

    /// Figures of the store.
    pub fn figures(&self) -> VersionFigures {
        let (last_commit, oldest_snapshot) = {
            let order = self.order.lock();
            (order.last_commit, order.oldest())
        };
        assert!(oldest_snapshot <= last_commit, "no snapshot is ahead of the commits");
        // In this order: a dropped version was stored before.
        let forgotten_total = self.store.forgotten.load(Acquire);
        let left_total = self.store.left.load(Relaxed);
        assert!(forgotten_total <= left_total, "only what was left is forgotten");
        VersionFigures {
            bytes: self.store.bytes.load(Relaxed),
            bytes_there: self.store.bytes_there.load(Relaxed),
            bytes_left_total: self.store.left_bytes.load(Relaxed),
            bytes_forgotten_total: self.store.forgotten_bytes.load(Relaxed),
            units: self.store.images.figures(),
            versions: left_total - forgotten_total,
            left_total,
            forgotten_total,
            conflicts_total: self.counts.conflicts.load(Relaxed),
            snapshot_transactions_total: self.counts.snapshot_transactions.load(Relaxed),
            writers: self.counts.writers.load(Relaxed),
            snapshot_writers: self.counts.snapshot_writers.load(Relaxed),
            last_commit,
            oldest_snapshot,
        }
    }
}

#[cfg(test)]
mod tests;
