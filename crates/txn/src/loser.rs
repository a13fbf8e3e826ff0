//! `Loser`: a transaction that a crash interrupted, as found in the log.

use log::{Lsn, TxnId};

/// A transaction that a crash interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loser {
    /// Its number.
    pub id: TxnId,
    /// Its LOP_BEGIN_XACT.
    pub begin: Lsn,
    /// Its newest record: undo starts there.
    pub last: Lsn,
}
