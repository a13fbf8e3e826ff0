//! `Snapshot`: a point in the order of commits that stays readable while this is held.

use std::sync::Arc;

use log::TxnId;

use crate::transaction::TxnManager;
use crate::version::{OpenSnapshot, SnapshotKind};

/// See the module's heading.
pub struct Snapshot {
    manager: Arc<TxnManager>,
    number: u64,
    id: u64,
}

impl Snapshot {
    /// The commit number up to which it sees.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Was it given up for lack of space (3966)? Readers call this after reading: their result is correct if it was not.
    pub fn is_given_up(&self) -> bool {
        self.manager.versions().is_given_up(self.number)
    }
}

impl TxnManager {
    /// Opens a snapshot of the present committed state.
    pub fn open_snapshot(self: &Arc<Self>, txn: TxnId, session_id: u32, kind: SnapshotKind) -> Snapshot {
        let opened = self.log_time();
        let row = |number, first_number| OpenSnapshot { number, txn, session_id, kind, opened, first_number };
        let (number, id) = self.versions().open(row);
        assert!(number > 0, "a snapshot is a moment");
        Snapshot { manager: Arc::clone(self), number, id }
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        // A simulated power loss unwinds through this point: the versions die with the process.
        if !std::thread::panicking() {
            assert!(self.number > 0, "it was opened at a moment");
            let gone = self.manager.versions().close(self.number, self.id);
            self.manager.forgotten(&gone);
        }
    }
}
