//! The use of row versions by transactions: store them before a change, detect update conflicts, number them at commit. The versions
//! are in version/.

use std::sync::atomic::Ordering::Relaxed;

use log::{Lsn, TxnId};
use os::sim::{Bug, is_planted};

use crate::state::XactState;
use crate::transaction::{Transaction, TxnManager};

impl TxnManager {
    /// On a page with a smaller LSN every snapshot sees the rows as they are.
    pub fn versions_begin_at(&self) -> Lsn {
        // Active writers first: a writer enters the list of needed writers before it leaves the active table.
        let writers = self.oldest_active_lsn();
        writers.min(self.versions().needed_begin())
    }

    /// Rows that transactions with smaller numbers have deleted are not needed, neither for rollback nor for a snapshot.
    pub fn oldest_needed_id(&self) -> TxnId {
        let writers = self.oldest_active_id();
        writers.min(self.versions().needed_id())
    }
}

impl Transaction {
    /// Stores the image of a row for snapshots, `None` when there was no such row. Before the page changes, under its latch and the row's
    /// lock; only the first image of a row in a transaction counts. Nothing in a database without versions.
    #[inline]
    pub fn save_before_image(&self, unit: u32, key: &[u8], before: Option<&[u8]>) {
        if self.manager.versions().are_kept() {
            self.save_before_image_cold(unit, key, before);
        }
    }

    #[cold]
    fn save_before_image_cold(&self, unit: u32, key: &[u8], before: Option<&[u8]>) {
        let versions = self.manager.versions();
        let writer = self.version_writer.get_or_init(|| {
            let reads_snapshot = self.conflicts_above.load(Relaxed) != u64::MAX;
            versions.begin_writer(self.id(), reads_snapshot)
        });
        assert_eq!(writer.txn, self.id(), "it leaves them in its own name");
        self.assert_state(XactState::Active);
        versions.leave(writer, unit, key, before);
    }

    /// The number of versions it has stored, a position in their order.
    pub(crate) fn versions_left(&self) -> usize {
        self.version_writer.get().map_or(0, |writer| writer.left())
    }

    /// Removes the versions behind that position: their changes were undone, so the pages have those rows again. The rows' locks may then
    /// be released, so that another transaction may store the next version of such a row.
    pub(crate) fn take_back_versions(&self, keep: usize) {
        let Some(writer) = self.version_writer.get() else { return };
        assert!(keep <= writer.left(), "it goes back to a point of its own");
        self.manager.versions().take_back(writer, keep);
        assert_eq!(writer.left(), keep, "what is behind that point is gone");
    }

    /// Rows committed after this commit number, also later ones, conflict with changes of the transaction; `u64::MAX`:
    /// none do.
    pub fn set_conflicts_above(&self, snapshot: u64) {
        assert!(snapshot > 0, "a snapshot is a moment");
        self.assert_state(XactState::Active);
        self.conflicts_above.store(snapshot, Relaxed);
    }

    /// Would a change of the row, whose lock the transaction holds, overwrite a concurrent committed change (3960)? Also true when that is not known
    /// any more, because the snapshot was given up for lack of space (3966).
    #[inline]
    pub fn conflicts_over(&self, unit: u32, key: &[u8]) -> bool {
        let snapshot = self.conflicts_above.load(Relaxed);
        snapshot != u64::MAX && self.conflicts_since(snapshot, unit, key)
    }

    fn conflicts_since(&self, snapshot: u64, unit: u32, key: &[u8]) -> bool {
        assert_ne!(snapshot, u64::MAX, "only a snapshot's transaction has conflicts");
        let versions = self.manager.versions();
        if versions.has_changed_since(unit, key, snapshot, self.id()) {
            versions.note_conflict();
            return true;
        }
        // Checked after the lookup: a version is dropped only after the snapshot was given up.
        let is_given_up = versions.is_given_up(snapshot);
        if is_given_up {
            os::sim::reach(|| "a change meets a snapshot that was given up".to_owned());
        }
        is_given_up && !is_planted(Bug::ConflictsForgotten)
    }

    /// Other transactions may see the changes: gives its versions the commit number.
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

    /// The transaction has committed and ends: is its deferred work left to the caller that closes the last snapshot that needs its versions?
    pub(crate) fn leave_end_to_versions(&self) -> bool {
        let Some(writer) = self.version_writer.get() else { return false };
        if !self.manager.resource_manager().waits_for_end(self.id()) {
            return false;
        }
        writer.wait_for_end(&self.entry)
    }

    /// All changes were undone: drops its versions.
    pub(crate) fn give_up_versions(&self) {
        if let Some(writer) = self.version_writer.get()
            && writer.is_writing()
        {
            assert!(self.state() != XactState::Hardened, "what is committed is not undone");
            self.manager.versions().give_up(writer);
            assert!(!writer.is_writing(), "it is over for its versions, too");
        }
    }
}
