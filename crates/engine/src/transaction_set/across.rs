//! Commit of a transaction that has changed several durable databases: atomic in all of them (see `decision.rs`).

use std::sync::Arc;

use log::records::PrepXact;
use txn::{CommitMode, LockWait, XactState};

use super::{Members, TransactionSet};
use crate::database::Database;
use crate::db_transaction::DbTransaction;
use crate::decision;
use crate::error::SqlResult;
use crate::system_databases::MASTER;

/// Test stall point in a commit over several databases: it is decided, and no database has logged that yet.
const DECIDED: &str = "between deciding and ending";

impl TransactionSet {
    /// Has more than one durable database been changed?
    pub(super) fn is_across(&self) -> bool {
        self.open.len() > 1 && self.open.iter().filter(|member| member.has_changed_durable()).count() > 1
    }

    /// Prepares, decides, ends. After an error before the decision the caller rolls everything back.
    pub(super) fn commit_across(&mut self) -> SqlResult<()> {
        let _mask = os::task::mask_interrupts();
        let instance = Arc::clone(&self.instance);
        let master = instance.master();
        let prepared =
            PrepXact { home: master.space().database_guid(), decision: decision::new_number(instance.os()) };
        let mut participants = Vec::new();
        for member in &self.open {
            let number = member.transaction.database().number();
            if number != MASTER && member.has_changed_durable() {
                member.transaction.prepare(&prepared)?;
                participants.push(number);
            }
        }
        // All logs are being flushed by now: the wait is for the slowest, not for their sum.
        let prepared_ones = self.open.iter().map(|member| &member.transaction);
        prepared_ones
            .filter(|transaction| transaction.inner().state() == XactState::Prepared)
            .try_for_each(DbTransaction::finish_prepare)?;
        self.decide(&master, prepared.decision, &participants)?;
        // It is committed, and the user is told so: a database that fails from here on finds the decision at its recovery.
        instance.os().stall_point(DECIDED);
        let mut ends = Vec::with_capacity(participants.len());
        for member in std::mem::take(&mut self.open) {
            let database = Arc::downgrade(member.transaction.database());
            if member.transaction.inner().state() == XactState::Prepared {
                match member.transaction.commit_decided() {
                    Ok(lsn) => ends.push((database, lsn)),
                    Err(_) => {
                        os::sim::reach(|| "a log fails between a decision and what it says of it".to_owned())
                    }
                }
            } else {
                // tempdb, and those that were only read. An error has made its database suspect and is in the error log.
                let _ = member.transaction.commit(CommitMode::Volatile);
            }
        }
        if ends.len() == participants.len() {
            instance.decisions().note(prepared.decision, ends);
        }
        self.ended();
        instance.decisions().sweep(&instance.master());
        Ok(())
    }

    /// Makes the decision durable, in the transaction that the session may already have in master. If that fails, the outcome is unknown
    /// until master is recovered: the prepared transactions stay in doubt.
    fn decide(&mut self, master: &Arc<Database>, number: u64, participants: &[u16]) -> SqlResult<()> {
        master.check_commit()?;
        let joined = self.open.iter().position(|m| m.transaction.database().number() == MASTER);
        let at = joined.map_or_else(|| self.join(master), Ok)?;
        let transaction = &self.open[at].transaction;
        transaction.set_lock_wait(LockWait::Forever);
        decision::insert(transaction, number, participants)?;
        let decided = self.open.remove(at).transaction.commit_in_place(CommitMode::Full);
        if decided.is_err() {
            let why = "master failed while it decided a commit over several databases";
            let open = std::mem::take(&mut self.open);
            let (in_doubt, rest): (Members, Members) =
                open.into_iter().partition(|m| m.transaction.inner().state() == XactState::Prepared);
            in_doubt.into_iter().for_each(|member| member.transaction.leave_in_doubt(why));
            self.open = rest;
        }
        // Only master's log decides whether it is committed: the ticket is from there.
        self.note_committed(master, decided?);
        Ok(())
    }
}
