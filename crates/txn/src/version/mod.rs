//! Row versions: the order of commits, the snapshots that are open, and what writers leave for them. Knows rows as bytes with a name.
//!
//! A writer leaves the image of each row from before its first change ([`Transaction::leave_version`]), while it holds the row's lock and
//! the page's latch. When its changes may be seen, it gets the next *commit number* ([`Versions::commit`]). A snapshot is such a number: it
//! sees what was committed up to it ([`Versions::see`]). Decision record 0040 tells why.
//!
//! ```text
//! writer:  Writing ──commit──► Committed(n), needed while a snapshot below n is open ──collect──► forgotten
//!             └─────give_up──► Undone ──────────────────────────────────────────────────────────► forgotten
//! ```
//! Invariants:
//! 1. Commit numbers ascend in the order in which locks are released, row by row: the newest version of a row is of its last writer.
//! 2. A snapshot and a commit meet under one latch: the snapshot is below the commit's number and keeps its versions, or not below and needs
//!    none of them.
//! 3. A page whose LSN is below [`TxnManager::versions_begin_at`] has no row with a version that anybody needs.
//! 4. A version that is forgotten answers as the page would: who meets it a moment longer errs in nothing.
//! 5. Images beyond half of the memory lie on disk, as long as that takes them. When the memory is full (of names, or of images that no disk took), the
//!    oldest snapshots are given up (3966), and then what is left of room: readers are told (3958), never wrong.

mod images;
mod snapshot;
mod store;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};

use log::{Lsn, TxnId};
use os::sim::{Bug, is_planted};
use os::{Latch, LatchGuard, LatchRank};

use crate::table::XactEntry;
use crate::transaction::XactState;
use crate::{Transaction, TxnManager};

pub use images::UnitFigures;
pub use snapshot::{OpenSnapshot, Snapshot, SnapshotKind};
pub use store::{Before, StoredVersion};
use store::{Keys, Store};

/// The writer has not ended.
const WRITING: u64 = 0;
/// Its changes were taken back.
const UNDONE: u64 = u64::MAX;
/// What a snapshot before the first commit is.
const FIRST_MOMENT: u64 = 1;

/// A transaction that leaves versions.
pub struct VersionWriter {
    pub(crate) txn: TxnId,
    /// Its transaction reads a snapshot of its own.
    reads_snapshot: bool,
    /// Its commit number, [`WRITING`] or [`UNDONE`].
    end: AtomicU64,
    /// No record of it lies below; known at its end.
    begin: AtomicU64,
    keys: Keys,
    /// What is left to do at its end waits until nobody needs its versions; see [`VersionWriter::arrive`].
    waiting_end: Latch<WaitingEnd>,
}

/// Two who come in any order: the end of a transaction, and the end of the need for its versions.
enum WaitingEnd {
    Neither,
    Ended(Arc<XactEntry>),
    Forgotten,
}

impl VersionWriter {
    pub(crate) fn new(txn: TxnId, reads_snapshot: bool) -> VersionWriter {
        assert!(!txn.is_null(), "versions are left by transactions");
        let (end, begin) = (AtomicU64::new(WRITING), AtomicU64::new(0));
        let waiting_end = Latch::new(LatchRank::Leaf, WaitingEnd::Neither);
        VersionWriter { txn, reads_snapshot, end, begin, keys: Keys::new(), waiting_end }
    }

    fn number(&self) -> Option<u64> {
        match self.end.load(Acquire) {
            WRITING | UNDONE => None,
            number => {
                assert!(number > FIRST_MOMENT, "a commit is behind the first moment");
                Some(number)
            }
        }
    }

    fn is_visible_to(&self, snapshot: u64) -> bool {
        self.number().is_some_and(|number| number <= snapshot)
    }

    /// Nobody needs its versions any more. Gives its entry when its end was left to whoever says so.
    pub(crate) fn arrive(&self) -> Option<Arc<XactEntry>> {
        match std::mem::replace(&mut *self.waiting_end.lock(), WaitingEnd::Forgotten) {
            WaitingEnd::Neither => None,
            WaitingEnd::Ended(entry) => Some(entry),
            WaitingEnd::Forgotten => panic!("versions are forgotten once"),
        }
    }

    fn end(&self, end: u64) {
        let before = self.end.swap(end, AcqRel);
        assert_eq!(before, WRITING, "a writer ends once");
        assert!(end == UNDONE || end > FIRST_MOMENT, "{end} is no end");
    }
}

/// What a reader at a snapshot is told of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sight {
    /// What stands on the page.
    Present,
    /// This, which is not on the page any more.
    Was(Arc<[u8]>),
    /// There was no such row.
    Absent,
    /// A version that was not kept for want of room (3958).
    Lost,
}

/// How much the store holds, and what it has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VersionFigures {
    /// Bytes of images and names in memory now.
    pub bytes: u64,
    /// Bytes of images on disk now.
    pub bytes_there: u64,
    /// Bytes of all versions left since the start.
    pub bytes_left_total: u64,
    /// Bytes of all versions forgotten since the start.
    pub bytes_forgotten_total: u64,
    /// Units of the file of images.
    pub units: UnitFigures,
    /// Versions now.
    pub versions: u64,
    /// Versions left since the start.
    pub left_total: u64,
    /// Versions forgotten since the start.
    pub forgotten_total: u64,
    /// Changes that conflicted with a snapshot (3960) since the start.
    pub conflicts_total: u64,
    /// SNAPSHOT transactions that have opened their snapshot since the start.
    pub snapshot_transactions_total: u64,
    /// Transactions that have left versions and not ended.
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
    /// Forgotten by somebody who held a page latch: what waits for their end is done by the next who holds none.
    orphans: Vec<Arc<VersionWriter>>,
}

impl Order {
    fn oldest(&self) -> u64 {
        self.open.first_key_value().map_or(self.last_commit, |(&(number, _), _)| number)
    }

    /// Takes out those whose commits all snapshots see, open ones and ones to come.
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

/// What the figures count beside the store.
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

    /// Do writers leave versions? One relaxed load: all that a database without versions pays.
    #[inline]
    pub fn are_kept(&self) -> bool {
        self.are_kept.load(Relaxed)
    }

    /// From now on they do, or do not. Snapshots may be opened once every writer has ended that began before.
    pub fn keep(&self, kept: bool) {
        self.are_kept.store(kept, Release);
    }

    /// The most that the store may hold.
    pub fn set_bytes_max(&self, bytes: u64) {
        assert!(bytes > 0, "without versions nothing is kept; with them, something");
        self.store.bytes_max.store(bytes, Relaxed);
    }

    /// Images for which memory has no room lie in a file that has this name for a moment; without one they are left out.
    pub fn spill_to(&self, path: std::path::PathBuf) {
        self.store.images.lie_at(path);
    }

    /// What the row named `key` of `unit` is to a reader at a snapshot, whose own transaction is `own`. Under the latch of the row's page.
    pub fn see(&self, unit: u32, key: &[u8], snapshot: u64, own: TxnId) -> Sight {
        self.store.see(unit, key, |writer| {
            writer.txn == own
                || writer.is_visible_to(snapshot)
                || is_planted(Bug::SnapshotSeesLaterCommit) && writer.number().is_some()
        })
    }

    /// Has somebody else than `own`, who is not seen at the snapshot, changed the row? Whoever asks holds the row's lock.
    pub fn has_changed_since(&self, unit: u32, key: &[u8], snapshot: u64, own: TxnId) -> bool {
        if is_planted(Bug::LostUpdateUnderSnapshot) {
            return false;
        }
        self.store.newest(unit, key, |writer| {
            writer.txn != own && writer.number().is_some_and(|number| number > snapshot)
        })
    }

    /// Gives the writer its number: from here on its changes belong to what new snapshots see. Returns whom nobody needs any more.
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

    /// After a commit or a snapshot's end: forgets whom nobody needs any more, lets go of the latch, and returns them.
    fn settle(&self, mut order: LatchGuard<'_, Order>) -> Vec<Arc<VersionWriter>> {
        let mut gone = order.collect();
        self.publish(&order);
        let orphans = std::mem::take(&mut order.orphans);
        drop(order);
        self.forget(&gone);
        gone.extend(orphans);
        gone
    }

    /// What the writer has changed has been taken back, or was never logged: nobody needs to look behind it.
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
        let id = order.needed.values().map(|writer| writer.txn.0).min();
        assert_eq!(begin.is_none(), id.is_none(), "who is needed has both");
        assert_ne!(begin, Some(0), "who has committed says where it began");
        assert_eq!(order.needed.is_empty(), id.is_none(), "the least of none is none");
        self.needed_begin.store(begin.unwrap_or(u64::MAX), Release);
        self.needed_id.store(id.unwrap_or(u64::MAX), Release);
    }

    /// The store is full: the oldest snapshots are given up, one number after the other, until there is room or none is left that keeps
    /// anything. The caller may hold a page latch.
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
        // In this order: what is forgotten was left before.
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

impl TxnManager {
    /// No page with a smaller LSN has a row that a snapshot may see otherwise than it stands there.
    pub fn versions_begin_at(&self) -> Lsn {
        // Writers first: who leaves them has been entered among the needed before.
        let writers = self.oldest_active_lsn();
        writers.min(Lsn::from_raw(self.versions().needed_begin.load(Acquire)))
    }

    /// What transactions with smaller numbers have taken out of pages is needed by nobody: for rollback or for a snapshot.
    pub fn oldest_needed_id(&self) -> TxnId {
        let writers = self.oldest_active_id();
        writers.min(TxnId(self.versions().needed_id.load(Acquire)))
    }
}

impl Transaction {
    /// Leaves the image of a row for snapshots, `None` when there was no such row. Before the page changes, under its latch and the row's
    /// lock; only the first image of a row in a transaction counts. Nothing in a database without versions.
    #[inline]
    pub fn leave_version(&self, unit: u32, key: &[u8], before: Option<&[u8]>) {
        if self.manager.versions().are_kept() && !self.is_system() {
            self.leave_version_cold(unit, key, before);
        }
    }

    #[cold]
    fn leave_version_cold(&self, unit: u32, key: &[u8], before: Option<&[u8]>) {
        let versions = self.manager.versions();
        let writer = self.version_writer.get_or_init(|| {
            let reads_snapshot = self.conflicts_above.load(Relaxed) != u64::MAX;
            let writer = VersionWriter::new(self.id(), reads_snapshot);
            versions.counts.has_begun(&writer);
            Arc::new(writer)
        });
        assert_eq!(writer.end.load(Relaxed), WRITING, "who leaves versions has not ended");
        assert_eq!(writer.txn, self.id(), "it leaves them in its own name");
        self.assert_state(XactState::Active);
        if !versions.store.has_room() {
            versions.give_up_oldest();
        }
        versions.store.leave(writer, unit, key, before);
    }

    /// How many versions it has left: its point in their order.
    pub(crate) fn versions_left(&self) -> usize {
        self.version_writer.get().map_or(0, |writer| writer.keys.len())
    }

    /// Its changes behind that point have been taken back: the pages say again what those versions say, and the rows' locks may be given
    /// back, so that the next version of such a row is somebody else's.
    pub(crate) fn take_back_versions(&self, keep: usize) {
        let Some(writer) = self.version_writer.get() else { return };
        assert_eq!(writer.end.load(Relaxed), WRITING, "it goes on");
        self.manager.versions().store.take_out(writer, keep);
        assert_eq!(writer.keys.len(), keep, "those from before the point stay");
    }

    /// What was committed after this commit number, and what is committed later, conflicts with changes of the transaction; `u64::MAX`:
    /// nothing does.
    pub fn set_conflicts_above(&self, snapshot: u64) {
        assert!(snapshot >= FIRST_MOMENT, "a snapshot is a moment");
        self.assert_state(XactState::Active);
        self.conflicts_above.store(snapshot, Relaxed);
    }

    /// Does changing the row, whose lock the transaction holds, undo what a concurrent one has committed (3960)?
    #[inline]
    pub fn conflicts_over(&self, unit: u32, key: &[u8]) -> bool {
        let snapshot = self.conflicts_above.load(Relaxed);
        let versions = self.manager.versions();
        let conflicts = snapshot != u64::MAX && versions.has_changed_since(unit, key, snapshot, self.id());
        if conflicts {
            versions.counts.conflicts.fetch_add(1, Relaxed);
        }
        conflicts
    }

    /// Others may see the changes: its versions belong to the commit.
    pub(crate) fn commit_versions(&self) {
        assert!(
            self.state() == XactState::Hardened || is_planted(Bug::SeenBeforeHarden),
            "{:?}",
            self.state()
        );
        if let Some(writer) = self.version_writer.get() {
            let gone = self.manager.versions().commit(writer, self.entry.begin_bound());
            assert!(writer.number().is_some(), "it has its number before it leaves the table");
            self.manager.forgotten(&gone);
        }
    }

    /// The transaction has committed and ends: is what waits for its end left to whoever closes the last snapshot that needs its versions?
    pub(crate) fn leave_end_to_versions(&self) -> bool {
        let Some(writer) = self.version_writer.get() else { return false };
        if !self.manager.resource_manager().waits_for_end(self.id()) {
            return false;
        }
        assert!(writer.number().is_some(), "asked behind the commit");
        let mut waiting = writer.waiting_end.lock();
        let is_needed = matches!(*waiting, WaitingEnd::Neither);
        if is_needed {
            *waiting = WaitingEnd::Ended(Arc::clone(&self.entry));
        }
        is_needed
    }

    /// Nothing of the changes is left.
    pub(crate) fn give_up_versions(&self) {
        if let Some(writer) = self.version_writer.get()
            && writer.end.load(Relaxed) == WRITING
        {
            assert!(self.state() != XactState::Hardened, "what is committed is not undone");
            self.manager.versions().give_up(writer);
        }
    }
}

#[cfg(test)]
mod tests;
