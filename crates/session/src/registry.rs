//! All sessions of the server: their numbers, what the views show of them, and how another session can end one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU8, Ordering::Relaxed};

use os::{Latch, LatchRank, task};
use query::SessionRow;

/// User sessions are numbered from here, as in SQL Server; lower numbers belong to the server itself.
pub const FIRST_USER_SESSION_ID: i16 = 51;

/// The sessions now open. Guarded by one latch; nothing is called while it is held.
pub struct SessionRegistry {
    server_name: String,
    start_ticks: u64,
    slots: Latch<BTreeMap<i16, Arc<SessionSlot>>>,
}

/// What others may know of a session while it runs.
pub struct SessionSlot {
    /// What its login has settled.
    login: SessionRow,
    request: Latch<RequestFacts>,
    /// What the request is at, a [`Command`]: stored by each statement, so an atomic.
    command: AtomicU8,
    /// `@@TRANCOUNT` when that statement began.
    transaction_count: AtomicI32,
}

/// What changes with each request, close together: with many sessions each line of memory has gone cold by then.
pub(crate) struct RequestFacts {
    /// Who runs the request, if one runs.
    pub(crate) runner: Option<task::TaskRef>,
    pub(crate) start_ticks: u64,
    pub(crate) end_ticks: u64,
    pub(crate) row_count: i64,
    pub(crate) prev_error: i32,
    pub(crate) option_bits: i32,
    pub(crate) lock_timeout_ms: i32,
    pub(crate) database_id: i16,
    pub(crate) isolation: i16,
}

impl RequestFacts {
    /// Those of a session that has asked for nothing yet.
    fn of(login: &SessionRow) -> RequestFacts {
        RequestFacts {
            runner: None,
            start_ticks: login.last_request_start_ticks,
            end_ticks: login.last_request_end_ticks,
            row_count: login.row_count,
            prev_error: login.prev_error,
            option_bits: login.option_bits,
            lock_timeout_ms: login.lock_timeout_ms,
            database_id: login.database_id,
            isolation: login.isolation,
        }
    }

    fn show(&self, row: &mut SessionRow) {
        row.status = if self.runner.is_some() { "running" } else { "sleeping" };
        row.last_request_start_ticks = self.start_ticks;
        row.last_request_end_ticks = self.end_ticks;
        row.row_count = self.row_count;
        row.prev_error = self.prev_error;
        row.option_bits = self.option_bits;
        row.lock_timeout_ms = self.lock_timeout_ms;
        row.database_id = self.database_id;
        row.isolation = self.isolation;
    }
}

/// `command` of `sys.dm_exec_requests`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Command {
    /// No request runs.
    None,
    /// No statement of the request yet, or one without a name of its own.
    Other,
    /// Queries and changes.
    Select,
    /// INSERT.
    Insert,
    /// UPDATE.
    Update,
    /// DELETE.
    Delete,
    /// MERGE.
    Merge,
    /// TRUNCATE TABLE.
    Truncate,
    /// BEGIN TRANSACTION.
    BeginTransaction,
    /// COMMIT TRANSACTION.
    Commit,
    /// ROLLBACK TRANSACTION.
    Rollback,
    /// SAVE TRANSACTION.
    Save,
    /// EXECUTE.
    Execute,
    /// CREATE, ALTER and DROP of what lives in a database.
    Definition,
    /// CREATE, ALTER and DROP DATABASE.
    Database,
    /// WAITFOR.
    WaitFor,
}

/// The commands as the view shows them, in the order of [`Command`]; empty when no request runs.
const COMMAND_NAMES: [&str; 16] = [
    "",
    "CONDITIONAL",
    "SELECT",
    "INSERT",
    "UPDATE",
    "DELETE",
    "MERGE",
    "TRUNCATE TABLE",
    "BEGIN TRANSACTION",
    "COMMIT TRANSACTION",
    "ROLLBACK TRANSACTION",
    "SAVE TRANSACTION",
    "EXECUTE",
    "DDL",
    "DDL DATABASE",
    "WAITFOR",
];
const _: () = assert!(COMMAND_NAMES.len() == Command::WaitFor as usize + 1);

impl SessionRegistry {
    /// An empty registry. `start_ticks`: 100 ns since 0001-01-01.
    pub fn new(server_name: &str, start_ticks: u64) -> Arc<SessionRegistry> {
        let slots = Latch::new(LatchRank::Session, BTreeMap::new());
        Arc::new(SessionRegistry { server_name: server_name.to_string(), start_ticks, slots })
    }

    /// `@@SERVERNAME`.
    pub fn server_name(&self) -> &str {
        &self.server_name
    }

    /// When the server started.
    pub fn start_ticks(&self) -> u64 {
        self.start_ticks
    }

    /// Gives the lowest free number to a new session.
    pub fn register(&self, mut row: SessionRow) -> (i16, Arc<SessionSlot>) {
        let mut slots = self.slots.lock();
        let free = (FIRST_USER_SESSION_ID..i16::MAX).find(|id| !slots.contains_key(id));
        let session_id = free.expect("connections are limited far below the numbers there are");
        row.session_id = session_id;
        let slot = Arc::new(SessionSlot {
            request: Latch::new(LatchRank::Session, RequestFacts::of(&row)),
            login: row,
            command: AtomicU8::new(Command::None as u8),
            transaction_count: AtomicI32::new(0),
        });
        slots.insert(session_id, slot.clone());
        (session_id, slot)
    }

    /// The session has ended.
    pub fn unregister(&self, session_id: i16) {
        let removed = self.slots.lock().remove(&session_id);
        assert!(removed.is_some(), "a session is unregistered once");
    }

    /// One row a session, by number.
    pub fn rows(&self) -> Vec<SessionRow> {
        let slots: Vec<Arc<SessionSlot>> = self.slots.lock().values().cloned().collect();
        slots.iter().map(|slot| slot.snapshot()).collect()
    }

    /// Interrupts the running request of a session for good; false when there is no such session.
    pub fn kill(&self, session_id: i16) -> bool {
        let slot = self.slots.lock().get(&session_id).cloned();
        slot.is_some_and(|slot| slot.interrupt())
    }

    /// How many sessions are open.
    pub fn count(&self) -> usize {
        self.slots.lock().len()
    }
}

impl SessionSlot {
    /// Changes what is published of the session's requests.
    pub(crate) fn update(&self, change: impl FnOnce(&mut RequestFacts)) {
        change(&mut self.request.lock());
    }

    /// What the session's request is at, and its `@@TRANCOUNT`.
    #[inline]
    pub(crate) fn note(&self, command: Command, transaction_count: i32) {
        self.command.store(command as u8, Relaxed);
        self.transaction_count.store(transaction_count, Relaxed);
    }

    fn snapshot(&self) -> SessionRow {
        let mut row = self.login.clone();
        row.command = COMMAND_NAMES[usize::from(self.command.load(Relaxed))];
        row.open_transaction_count = self.transaction_count.load(Relaxed);
        let request = self.request.lock();
        request.show(&mut row);
        let runner = request.runner.clone();
        drop(request);
        if let Some((wait_type, wait_ns)) = runner.and_then(|task| task.current_wait()) {
            row.wait_type = Some(wait_type.name());
            row.wait_time_ms = i32::try_from(wait_ns / 1_000_000).unwrap_or(i32::MAX);
        }
        row
    }

    fn interrupt(&self) -> bool {
        let runner = self.request.lock().runner.clone();
        if let Some(task) = &runner {
            task.interrupt(task::InterruptReason::Kill);
        }
        runner.is_some()
    }
}
