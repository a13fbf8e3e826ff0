//! Transaction ids as all views show them: unique in the instance, as documented, while those in the log are unique in a database.
//!
//! A user transaction has one id in all databases: the descriptor that its client knows. A statement outside of one has the id of
//! the first database in which it has written or locked something. A transaction without a session has its database's id and its own number.

use engine::{ActiveRow, Database, LockOwner, TxnId};
use plan_ir::runtime::Runtime;
use rustc_hash::FxHashMap;

/// Bits of a number in its database; above them stands the database's. Descriptors do not grow so far.
const OWN_BITS: u32 = 48;

/// The id of a transaction that only its database knows.
fn in_instance(database: u16, txn: TxnId) -> u64 {
    u64::from(database) << OWN_BITS | txn.0
}

/// The id of the running statement's own transaction.
pub(crate) fn own(runtime: &Runtime<'_>) -> Result<u64, types::SqlError> {
    let mut transactions = runtime.transactions.borrow_mut();
    match transactions.descriptor() {
        0 => {
            let transaction = transactions.in_database(runtime.database, runtime.options.isolation)?;
            Ok(in_instance(runtime.database.number(), transaction.inner().id()))
        }
        descriptor => Ok(descriptor),
    }
}

/// Does its request change something, or wait for a lock?
fn is_changing(session: &plan_ir::context::SessionRow) -> bool {
    let reads = ["", "SELECT"].contains(&session.transaction_of_command);
    !reads || session.wait_type.is_some_and(|wait| wait.starts_with("LCK_M_"))
}

/// The ids of all sessions' transactions, and the transactions that have written.
pub(super) struct TransactionIds {
    sessions: FxHashMap<u32, u64>,
    /// Every transaction that has written, with its database.
    pub(super) active: Vec<(u16, ActiveRow)>,
}

impl TransactionIds {
    pub(super) fn new(runtime: &Runtime<'_>, sessions: &[plan_ir::context::SessionRow]) -> TransactionIds {
        let of_database = |database: &std::sync::Arc<Database>| {
            let number = database.number();
            database.transactions().active().into_iter().map(move |row| (number, row))
        };
        let active: Vec<(u16, ActiveRow)> =
            runtime.instance.databases().iter().flat_map(of_database).collect();
        let explicit = sessions
            .iter()
            .filter(|session| session.transaction_descriptor != 0)
            .map(|session| (u32::from(session.session_id.unsigned_abs()), session.transaction_descriptor));
        let mut ids: FxHashMap<u32, u64> = explicit.collect();
        for (database, row) in active.iter().filter(|(_, row)| row.session_id > 0) {
            ids.entry(row.session_id).or_insert_with(|| in_instance(*database, row.id));
        }
        let number_of = |session: &plan_ir::context::SessionRow| u32::from(session.session_id.unsigned_abs());
        let is_unknown = |session: &plan_ir::context::SessionRow| {
            is_changing(session) && !ids.contains_key(&number_of(session))
        };
        let unknown: Vec<u32> =
            sessions.iter().filter(|session| is_unknown(session)).map(number_of).collect();
        if !unknown.is_empty() {
            // It has written nothing and is known by the locks that it holds or waits for; the locks are read only in this case.
            for lock in runtime.instance.locks().snapshot() {
                if let LockOwner::Transaction(id) = lock.owner
                    && unknown.contains(&lock.session_id)
                {
                    let id = in_instance(lock.resource.database(), TxnId(id));
                    ids.entry(lock.session_id).or_insert(id);
                }
            }
        }
        TransactionIds { sessions: ids, active }
    }

    /// The id for a session; `None`: it has no transaction, or a read-only statement of its own that waits for no lock.
    pub(super) fn of_session(&self, session_id: u32) -> Option<u64> {
        self.sessions.get(&session_id).copied()
    }

    /// The id of a transaction in a database, whose session (0: none) is known.
    pub(super) fn of(&self, session_id: u32, database: u16, txn: TxnId) -> u64 {
        let of_session = Some(session_id).filter(|id| *id > 0).and_then(|id| self.of_session(id));
        of_session.unwrap_or_else(|| in_instance(database, txn))
    }

    /// The id of a transaction that a log record names.
    pub(super) fn of_record(&self, database: u16, txn: TxnId) -> u64 {
        let running = self.active.iter().find(|(one, row)| *one == database && row.id == txn);
        self.of(running.map_or(0, |(_, row)| row.session_id), database, txn)
    }

    /// The transactions of a session that have written.
    pub(super) fn written_by(&self, session_id: i16) -> impl Iterator<Item = &ActiveRow> {
        let number = u32::from(session_id.unsigned_abs());
        self.active.iter().map(|(_, row)| row).filter(move |row| row.session_id == number)
    }
}
