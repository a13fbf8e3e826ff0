//! `VersionWriter`: a transaction that stores versions, from its first one until no snapshot needs them.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

use log::TxnId;
use os::{Latch, LatchGuard, LatchRank};

use crate::entry::XactEntry;

/// The writer has not ended.
pub(super) const WRITING: u64 = 0;
/// Its changes were undone.
pub(super) const UNDONE: u64 = u64::MAX;
/// The number of a snapshot before the first commit.
pub(super) const FIRST_MOMENT: u64 = 1;

/// A transaction that stores versions.
pub struct VersionWriter {
    pub(crate) txn: TxnId,
    /// Its transaction reads a snapshot of its own.
    pub(super) reads_snapshot: bool,
    /// Its commit number, [`WRITING`] or [`UNDONE`].
    pub(super) end: AtomicU64,
    /// A lower bound of its records; known at its end.
    pub(super) begin: AtomicU64,
    pub(super) keys: Keys,
    /// Its deferred work waits until no snapshot needs its versions; see [`VersionWriter::arrive`].
    waiting_end: Latch<WaitingEnd>,
}

/// Which of two events has come, in any order: the end of a transaction, and the end of the need for its versions.
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

    pub(crate) fn number(&self) -> Option<u64> {
        match self.end.load(Acquire) {
            WRITING | UNDONE => None,
            number => {
                assert!(number > FIRST_MOMENT, "a commit is behind the first moment");
                Some(number)
            }
        }
    }

    pub(super) fn is_visible_to(&self, snapshot: u64) -> bool {
        assert!(snapshot >= FIRST_MOMENT, "{snapshot} is no moment");
        self.number().is_some_and(|number| number <= snapshot)
    }

    /// No snapshot needs its versions any more. Returns its entry when the caller is to do the deferred work of its end.
    pub(crate) fn arrive(&self) -> Option<Arc<XactEntry>> {
        match std::mem::replace(&mut *self.waiting_end.lock(), WaitingEnd::Forgotten) {
            WaitingEnd::Neither => None,
            WaitingEnd::Ended(entry) => Some(entry),
            WaitingEnd::Forgotten => panic!("versions are forgotten once"),
        }
    }

    /// Has it not ended?
    pub(crate) fn is_writing(&self) -> bool {
        self.end.load(Relaxed) == WRITING
    }

    /// How many versions it has stored.
    pub(crate) fn left(&self) -> usize {
        self.keys.len()
    }

    /// The transaction has committed and ends: false when no snapshot needs its versions any more, so that it does its deferred work itself.
    pub(crate) fn wait_for_end(&self, entry: &Arc<XactEntry>) -> bool {
        assert!(self.number().is_some(), "asked behind the commit");
        assert_eq!(entry.id, self.txn, "its own entry waits");
        let mut waiting = self.waiting_end.lock();
        let is_needed = matches!(*waiting, WaitingEnd::Neither);
        if is_needed {
            *waiting = WaitingEnd::Ended(Arc::clone(entry));
        }
        is_needed
    }

    pub(super) fn end(&self, end: u64) {
        let before = self.end.swap(end, AcqRel);
        assert_eq!(before, WRITING, "a writer ends once");
        assert!(end == UNDONE || end > FIRST_MOMENT, "{end} is no end");
    }
}

/// Hashes of the rows of which a writer has stored versions, oldest first.
pub(super) struct Keys(Latch<Vec<u64>>);

impl Keys {
    pub(super) fn new() -> Keys {
        Keys(Latch::new(LatchRank::Leaf, Vec::new()))
    }

    pub(super) fn lock(&self) -> LatchGuard<'_, Vec<u64>> {
        self.0.lock()
    }

    pub(super) fn len(&self) -> usize {
        self.0.lock().len()
    }
}
