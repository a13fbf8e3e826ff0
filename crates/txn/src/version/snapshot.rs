//! `Snapshot`: a moment in the order of commits that stays readable while this is held.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

use log::TxnId;
use log::records::LogTime;

use crate::TxnManager;
use crate::version::Versions;

/// How long a snapshot stays open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotKind {
    /// To the end of its transaction (SNAPSHOT).
    Transaction,
    /// To the end of a statement (READ COMMITTED under READ_COMMITTED_SNAPSHOT).
    Statement,
}

/// An open snapshot, as the views show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenSnapshot {
    /// What was committed up to here is seen.
    pub number: u64,
    /// Whose it is.
    pub txn: TxnId,
    /// The session.
    pub session_id: u32,
    /// How long it stays.
    pub kind: SnapshotKind,
    /// When it was opened.
    pub opened: LogTime,
    /// The oldest snapshot that was open then.
    pub first_number: u64,
}

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

    /// Has it been given up for want of room (3966)? Whoever has read asks afterwards: what he has read is right if it was not.
    pub fn is_given_up(&self) -> bool {
        self.number < self.manager.versions().given_up_below.load(Acquire)
    }
}

impl TxnManager {
    /// Opens a snapshot of what is committed now.
    pub fn open_snapshot(self: &Arc<Self>, txn: TxnId, session_id: u32, kind: SnapshotKind) -> Snapshot {
        let opened = self.log_time();
        let is_of_transaction = u64::from(kind == SnapshotKind::Transaction);
        self.versions().counts.snapshot_transactions.fetch_add(is_of_transaction, Relaxed);
        let mut order = self.versions().order.lock();
        let (number, id) = (order.last_commit, order.next_id);
        order.next_id += 1;
        let first_number = order.oldest();
        assert!(first_number <= number, "the newest snapshot is not the oldest");
        let row = OpenSnapshot { number, txn, session_id, kind, opened, first_number };
        let newest = order.open.last_key_value().map_or(0, |(&(newest, _), _)| newest);
        assert!(newest <= number, "snapshots are opened in the order of commits");
        let before = order.open.insert((number, id), row);
        assert!(before.is_none(), "ids are given once");
        Snapshot { manager: Arc::clone(self), number, id }
    }
}

impl Versions {
    fn close(&self, number: u64, id: u64) -> Vec<Arc<super::VersionWriter>> {
        let mut order = self.order.lock();
        // One that was given up is out already.
        let closed = order.open.remove(&(number, id));
        let is_given_up = number < self.given_up_below.load(Acquire);
        assert!(closed.is_some() || is_given_up, "a snapshot is open until it is closed or given up");
        assert!(number <= order.last_commit, "no snapshot is ahead of the commits");
        self.settle(order)
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        // A simulated power loss unwinds through this point: the versions die with the process.
        if !std::thread::panicking() {
            let gone = self.manager.versions().close(self.number, self.id);
            self.manager.forgotten(&gone);
        }
    }
}
