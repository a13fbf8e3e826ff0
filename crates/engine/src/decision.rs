//! Commits over several databases (two-phase commit): where they are decided, how recovery learns of it, when a decision is removed.
//!
//! ```text
//!  each database but master: LOP_PREP_XACT, hard ─► master: a row in sys.sysdecisions, committed and hard ─► each: LOP_COMMIT_XACT ─► the row goes
//!                                                          (this is the commit)                             (not waited for)
//! ```
//! | a crash, seen from one of the databases | what recovery finds there | and does |
//! |---|---|---|
//! | before its LOP_PREP_XACT is hard | a loser | rolls it back; there is no decision yet |
//! | before the decision is hard | in doubt, no row in master | rolls it back (presumed abort) |
//! | after it | in doubt, a row | commits it |
//! | after its LOP_COMMIT_XACT is hard | committed | nothing; only now may the row go |
//!
//! master holds all decisions: it is recovered before any other database, and it cannot be dropped, detached or taken offline. An
//! instance whose master is suspect does not start, so every opened database can ask. Each LOP_PREP_XACT names master's
//! identity: a database in doubt whose files were moved to another master is not opened, rather than guessed at.
//! When master fails while it decides, the outcome is unknown until the next start: the prepared databases fail with it.
//! Such a commit is always fully durable, whatever DELAYED_DURABILITY says. tempdb takes no part: each start creates it anew.

use std::sync::{Arc, Weak};

use log::Lsn;
use log::records::PrepXact;
use os::sim::{Bug, is_planted};
use os::{Latch, LatchRank, Os};
use rustc_hash::FxHashSet;
use txn::{CommitMode, IsolationLevel, TxnOptions};
use types::Value;

use crate::catalog::system_tables::DECISIONS;
use crate::database::Database;
use crate::db_transaction::DbTransaction;
use crate::error::{SqlResult, StorageError};

/// A number for a decision, never used before: a database in doubt may ask for it much later.
pub(crate) fn new_number(os: &Os) -> u64 {
    let mut bytes = [0; 8];
    os.fill_random(&mut bytes);
    u64::from_le_bytes(bytes)
}

/// Records in `transaction`, one of master's, the decision to commit `number`, with the databases that may have to ask for it.
pub(crate) fn insert(transaction: &DbTransaction, number: u64, participants: &[u16]) -> SqlResult<()> {
    assert!(!participants.is_empty(), "somebody is prepared");
    let text: Vec<String> = participants.iter().map(u16::to_string).collect();
    let row = [Value::BigInt(number.cast_signed()), Value::nvarchar(&text.join(","))];
    transaction.database().system_table(DECISIONS).insert(transaction, &row)
}

/// The decisions that recovery of a database may ask for.
#[derive(Default)]
pub(crate) struct Known {
    home: [u8; 16],
    numbers: FxHashSet<u64>,
}

impl Known {
    /// Those in master.
    pub(crate) fn of(master: &Arc<Database>) -> Result<Known, StorageError> {
        let numbers = rows(master)?.into_iter().map(|(number, _)| number).collect();
        Ok(Known { home: master.space().database_guid(), numbers })
    }

    /// Is there a decision to commit?
    ///
    /// # Errors
    /// When another master was to decide.
    pub(crate) fn is_committed(&self, prepared: &PrepXact, database: &str) -> Result<bool, StorageError> {
        if prepared.home != self.home {
            return Err(StorageError::Refused(format!(
                "database {database} has a transaction in doubt, decision {:016x}, that was to be decided in the master of another instance",
                prepared.decision
            )));
        }
        Ok(self.numbers.contains(&prepared.decision))
    }
}

/// Every decision with the databases that it is for.
fn rows(master: &Arc<Database>) -> Result<Vec<(u64, Vec<u16>)>, StorageError> {
    let transaction =
        DbTransaction::new(master.clone(), master.transactions().begin(TxnOptions::default()), 0);
    transaction.set_isolation(IsolationLevel::ReadUncommitted);
    let mut all = Vec::new();
    let read = master.system_table(DECISIONS).for_each_row(&transaction, &mut |row| {
        let number = row[0].as_i64().unwrap_or_default().cast_unsigned();
        let participants = row[1].as_text().unwrap_or_default();
        all.push((number, participants.split(',').filter_map(|part| part.parse().ok()).collect()));
        Ok(())
    });
    let ended = read.and_then(|()| transaction.commit(CommitMode::Volatile));
    ended.map_err(|error| StorageError::Catalog(format!("master: {error}"))).map(|()| all)
}

fn forget(master: &Arc<Database>, numbers: &[u64]) -> SqlResult<()> {
    let transaction =
        DbTransaction::new(master.clone(), master.transactions().begin(TxnOptions::default()), 0);
    let table = master.system_table(DECISIONS);
    let mut keys = numbers.iter().map(|number| [Value::BigInt(number.cast_signed())]);
    match keys.try_for_each(|key| table.delete_key(&transaction, &key)) {
        // The delete is not flushed: a decision that comes back after a crash is removed at the next start.
        Ok(()) => transaction.commit(CommitMode::Volatile),
        Err(error) => transaction.rollback().and(Err(error)),
    }
}

/// A decision with the databases that it is for.
pub(crate) type Decision = (u64, Vec<u16>);

/// Every decision that an earlier run has left. Called before a new one can be made.
pub(crate) fn left_over(master: &Arc<Database>) -> Result<Vec<Decision>, StorageError> {
    rows(master)
}

/// When every database has been opened: removes those decisions of `left` that no database can ask for any more, because all their databases are
/// recovered or dropped (`may_ask` names the exceptions). Decisions made meanwhile are not touched.
pub(crate) fn forget_resolved(
    master: &Arc<Database>,
    left: Vec<Decision>,
    may_ask: impl Fn(&u16) -> bool + Copy,
) -> Result<(), StorageError> {
    let resolved: Vec<u64> = left
        .into_iter()
        .filter(|(_, participants)| !participants.iter().any(may_ask))
        .map(|(number, _)| number)
        .collect();
    if resolved.is_empty() {
        return Ok(());
    }
    forget(master, &resolved).map_err(|error| StorageError::Catalog(format!("master: {error}")))
}

/// A decision, and the log positions that must be durable in each database before its removal.
struct Made {
    number: u64,
    ends: Vec<(Weak<Database>, Lsn)>,
}

impl Made {
    /// Is the end of its transaction durable everywhere? A database that is no longer open was closed, with all its log durable, or dropped.
    fn is_resolved(&self) -> bool {
        let is_hard = |(database, lsn): &(Weak<Database>, Lsn)| {
            database.upgrade().is_none_or(|database| database.log().hardened() >= *lsn)
        };
        is_planted(Bug::DecisionForgottenEarly) || self.ends.iter().all(is_hard)
    }
}

/// The decisions of this run that are not removed yet.
pub(crate) struct Decisions {
    made: Latch<Vec<Made>>,
}

impl Decisions {
    pub(crate) fn new() -> Decisions {
        Decisions { made: Latch::new(LatchRank::Leaf, Vec::new()) }
    }

    /// The decision's transaction has ended in every database; `ends` gives the log positions.
    pub(crate) fn note(&self, number: u64, ends: Vec<(Weak<Database>, Lsn)>) {
        assert!(!ends.is_empty() && ends.iter().all(|(_, lsn)| !lsn.is_null()), "a decision is for somebody");
        self.made.lock().push(Made { number, ends });
    }

    /// Removes resolved decisions. Called after each decision, and periodically.
    pub(crate) fn sweep(&self, master: &Arc<Database>) {
        let resolved: Vec<u64> =
            self.made.lock().extract_if(.., |made| made.is_resolved()).map(|made| made.number).collect();
        if resolved.is_empty() {
            return;
        }
        // If that fails, the rows are removed at the next start.
        if let Err(error) = forget(master, &resolved) {
            os::report::warn("engine", &format!("{} decisions were not forgotten: {error}", resolved.len()));
        }
    }
}
