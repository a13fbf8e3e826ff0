//! The result of analysis: the redo start, the losers to be undone, the transactions in doubt.

use log::records::PrepXact;
use log::{Lsn, TxnId};

use crate::loser::Loser;

/// The result of analysis.
#[derive(Clone, Debug, Default)]
pub struct Analysis {
    /// Where redo starts; NULL: the oldest record there is.
    pub redo_start: Lsn,
    /// The losers, by number.
    pub losers: Vec<Loser>,
    /// Prepared transactions without an end record: losers too, unless their decision is to commit.
    pub in_doubt: Vec<InDoubt>,
    /// The highest transaction number seen.
    pub max_txn: TxnId,
    /// Records read.
    pub record_count: u64,
}

/// A transaction in doubt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InDoubt {
    /// Its records in the log.
    pub transaction: Loser,
    /// Its prepare record, which names the database with the decision.
    pub prepared: PrepXact,
}
