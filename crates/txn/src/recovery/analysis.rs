//! What analysis finds: where redo starts, who is to be undone, who is in doubt.

use log::records::PrepXact;
use log::{Lsn, TxnId};

use crate::loser::Loser;

/// What analysis found.
#[derive(Clone, Debug, Default)]
pub struct Analysis {
    /// Where redo starts; NULL: the oldest record there is.
    pub redo_start: Lsn,
    /// The losers, by number.
    pub losers: Vec<Loser>,
    /// Those that are prepared and have no end: losers too, unless their decision says otherwise.
    pub in_doubt: Vec<InDoubt>,
    /// The highest transaction number seen.
    pub max_txn: TxnId,
    /// Records read.
    pub record_count: u64,
}

/// A transaction in doubt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InDoubt {
    /// What the log knows of it.
    pub transaction: Loser,
    /// Where its decision is looked up.
    pub prepared: PrepXact,
}
