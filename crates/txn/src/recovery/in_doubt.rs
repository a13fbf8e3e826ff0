//! Transactions in doubt: prepared as part of a commit over several databases, and interrupted before their end record was in the log.

use std::sync::Arc;

use log::records::PrepXact;

use super::analysis::{Analysis, InDoubt};
use crate::TxnResult;
use crate::state::XactState;
use crate::transaction::TxnManager;

impl Analysis {
    /// Looks up the decision of each transaction in doubt. Those without a decision to commit become losers, the others stay.
    ///
    /// # Errors
    /// The first that `is_committed` returns: then nothing may be redone or undone.
    pub fn resolve<E>(
        &mut self,
        mut is_committed: impl FnMut(&PrepXact) -> Result<bool, E>,
    ) -> Result<(), E> {
        let count = self.losers.len() + self.in_doubt.len();
        let mut committed = Vec::new();
        for in_doubt in &self.in_doubt {
            match is_committed(&in_doubt.prepared)? {
                true => committed.push(*in_doubt),
                false => self.losers.push(in_doubt.transaction),
            }
        }
        self.losers.sort_by_key(|loser| loser.id.0);
        self.in_doubt = committed;
        assert_eq!(count, self.losers.len() + self.in_doubt.len(), "each is decided once");
        assert!(self.losers.is_sorted_by(|one, next| one.id < next.id), "each is undone once");
        Ok(())
    }
}

/// After redo: ends the transactions in doubt that are committed. Their records are hardened with the checkpoint that follows recovery.
pub fn commit_decided(manager: &Arc<TxnManager>, committed: &[InDoubt]) -> TxnResult<()> {
    for in_doubt in committed {
        assert!(in_doubt.transaction.last <= manager.log().last(), "its records are in the log");
        let transaction = manager.resume(&in_doubt.transaction, XactState::Prepared);
        transaction.commit_prepared()?;
        assert_eq!(transaction.state(), XactState::Ended, "a decided transaction ends");
    }
    Ok(())
}
