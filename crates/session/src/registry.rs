//! All sessions of the server: their numbers, what the views show of them, and how another session can end one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, Ordering::Relaxed};

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
    published: Latch<Published>,
    /// What the request is at, a [`Command`]: stored by each statement, so an atomic.
    command: AtomicU8,
    /// `@@TRANCOUNT` when that statement began.
    transaction_count: AtomicI32,
    /// What its requests use.
    pub(crate) memory: Arc<os::memory::Account>,
    /// What its requests have waited for.
    pub(crate) waits: Arc<os::SessionWaits>,
    /// It has been killed: no further request of it runs.
    killed: AtomicBool,
}

/// What the session's own thread tells the others.
pub(crate) struct Published {
    /// Its status is shown by whether there is a runner.
    pub(crate) row: SessionRow,
    /// Who runs the request, if one runs.
    pub(crate) runner: Option<task::TaskRef>,
    /// Ends the session's connection, on any thread; none when it has no connection.
    pub(crate) hang_up: Option<HangUp>,
}

/// What KILL calls besides interrupting the request that runs.
pub type HangUp = Arc<dyn Fn() + Send + Sync>;

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
            published: Latch::new(LatchRank::Session, Published { row, runner: None, hang_up: None }),
            command: AtomicU8::new(Command::None as u8),
            transaction_count: AtomicI32::new(0),
            memory: Arc::default(),
            waits: Arc::default(),
            killed: AtomicBool::new(false),
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

    /// What each session has waited for, by number.
    pub fn waits(&self) -> Vec<(i16, Vec<os::WaitRow>)> {
        let slots: Vec<(i16, Arc<SessionSlot>)> =
            self.slots.lock().iter().map(|(id, slot)| (*id, slot.clone())).collect();
        slots.into_iter().map(|(id, slot)| (id, slot.waits.snapshot())).collect()
    }

    /// The number of each among all sessions that there have been.
    pub fn numbers(&self) -> Vec<(i16, u64)> {
        self.slots.lock().iter().map(|(id, slot)| (*id, slot.waits.number())).collect()
    }

    /// Ends a session for good, whether a request of it runs or not: its connection ends, its transaction is rolled back. False when there
    /// is no such session.
    pub fn kill(&self, session_id: i16) -> bool {
        let slot = self.slots.lock().get(&session_id).cloned();
        slot.is_some_and(|slot| {
            slot.kill();
            true
        })
    }

    /// How many sessions are open.
    pub fn count(&self) -> usize {
        self.slots.lock().len()
    }
}

impl SessionSlot {
    /// Changes what is published.
    pub(crate) fn update(&self, change: impl FnOnce(&mut Published)) {
        change(&mut self.published.lock());
    }

    /// What the session's request is at, and its `@@TRANCOUNT`.
    #[inline]
    pub(crate) fn note(&self, command: Command, transaction_count: i32) {
        self.command.store(command as u8, Relaxed);
        self.transaction_count.store(transaction_count, Relaxed);
    }

    fn snapshot(&self) -> SessionRow {
        let published = self.published.lock();
        let (mut row, runner) = (published.row.clone(), published.runner.clone());
        drop(published);
        row.status = if runner.is_some() { "running" } else { "sleeping" };
        row.command = COMMAND_NAMES[usize::from(self.command.load(Relaxed))];
        row.open_transaction_count = self.transaction_count.load(Relaxed);
        row.memory_bytes = self.memory.used_bytes();
        row.memory_peak_bytes = self.memory.peak_bytes();
        row.last_wait_type = runner.as_ref().and_then(task::TaskRef::last_wait).map(os::WaitType::name);
        if let Some((wait_type, wait_ns)) = runner.and_then(|task| task.current_wait()) {
            row.wait_type = Some(wait_type.name());
            row.wait_time_ms = i32::try_from(wait_ns / 1_000_000).unwrap_or(i32::MAX);
        }
        row
    }

    /// Has it been killed?
    #[inline]
    pub(crate) fn is_killed(&self) -> bool {
        self.killed.load(Relaxed)
    }

    fn kill(&self) {
        self.killed.store(true, Relaxed);
        let published = self.published.lock();
        let (runner, hang_up) = (published.runner.clone(), published.hang_up.clone());
        drop(published);
        if let Some(task) = &runner {
            task.interrupt(task::InterruptReason::Kill);
        }
        if let Some(hang_up) = hang_up {
            hang_up();
        }
    }
}
