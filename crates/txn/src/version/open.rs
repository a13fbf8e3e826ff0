//! Open snapshots, as the order of commits keeps them and the views show them.

use log::TxnId;
use log::records::LogTime;

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
    /// It sees the commits up to this number.
    pub number: u64,
    /// Its transaction.
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
