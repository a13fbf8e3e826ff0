//! The registry of all sessions: their numbers, their published state for the views, and KILL.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, AtomicU64, Ordering::Relaxed};

use os::{Latch, LatchRank, task};
use query::{ServerTotals, SessionRow};
use types::{SqlError, SqlResult};

use crate::figures::{Figures, PacketCounts};

/// User sessions are numbered from here, as in SQL Server; lower numbers belong to the server itself.
pub const FIRST_USER_SESSION_ID: i16 = 51;
/// Limit of sessions that are open at once.
pub const SESSIONS_MAX: usize = (i16::MAX - FIRST_USER_SESSION_ID + 1) as usize;

/// The open sessions. One latch guards them; no other code is called while it is held.
pub struct SessionRegistry {
    server_name: String,
    start_ticks: u64,
    slots: Latch<BTreeMap<i16, Arc<SessionSlot>>>,
    /// Count of sessions ever opened, and packets of sessions that have ended.
    opened: AtomicU64,
    ended_packets: (AtomicU64, AtomicU64),
}

/// The published state of a session, which other threads read.
pub struct SessionSlot {
    published: Latch<Published>,
    /// The current [`Command`] of the request: each statement stores it, so it is atomic.
    command: AtomicU8,
    /// `@@TRANCOUNT` when that statement began.
    transaction_count: AtomicI32,
    /// The descriptor of its open transaction, 0 without one, and the transaction's start time.
    transaction: AtomicU64,
    transaction_began: AtomicU64,
    /// The transaction is implicit (SET IMPLICIT_TRANSACTIONS ON).
    is_implicit: AtomicBool,
    /// Resource counters of its requests.
    pub(crate) figures: Figures,
    /// Memory account of its requests.
    pub(crate) memory: Arc<os::memory::Account>,
    /// Wait statistics of its requests.
    pub(crate) waits: Arc<os::SessionWaits>,
    /// It has been killed: no further request of it runs.
    killed: AtomicBool,
}

/// The state that the session's own thread publishes.
pub(crate) struct Published {
    /// The row of the session; its status is derived from `runner`.
    pub(crate) row: SessionRow,
    /// The task that runs the request, if one runs.
    pub(crate) runner: Option<task::TaskRef>,
    /// Ends the session's connection, on any thread; `None` without a connection.
    pub(crate) hang_up: Option<HangUp>,
    /// The connection's packet counters; `None` without a connection.
    pub(crate) packets: Option<Arc<PacketCounts>>,
}

/// Called by KILL in addition to interrupting the running request.
pub type HangUp = Arc<dyn Fn() + Send + Sync>;

/// `command` of `sys.dm_exec_requests`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Command {
    /// No request runs.
    None,
    /// No statement of the request has begun yet, or the statement has no name of its own.
    Other,
    /// Queries.
    Select,
    /// SELECT ... INTO.
    SelectInto,
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
    /// CREATE TABLE, also of a table variable.
    CreateTable,
    /// ALTER TABLE.
    AlterTable,
    /// CREATE INDEX.
    CreateIndex,
    /// ALTER INDEX.
    AlterIndex,
    /// DROP INDEX.
    DropIndex,
    /// DROP TABLE.
    DropTable,
    /// DROP of another object in a database.
    Drop,
    /// CREATE and ALTER of another object in a database.
    Definition,
    /// CREATE, ALTER and DROP DATABASE.
    Database,
    /// WAITFOR.
    WaitFor,
    /// The rows of a bulk load.
    BulkInsert,
}

/// For each [`Command`] in order: the command as the view shows it, and the name of its autocommit transaction; empty
/// when no request runs.
const COMMANDS: [(&str, &str); 25] = [
    ("", ""),
    ("CONDITIONAL", ""),
    ("SELECT", "SELECT"),
    ("SELECT INTO", "SELECT INTO"),
    ("INSERT", "INSERT"),
    ("UPDATE", "UPDATE"),
    ("DELETE", "DELETE"),
    ("MERGE", "MERGE"),
    ("TRUNCATE TABLE", "TRUNCATE TABLE"),
    ("BEGIN TRANSACTION", ""),
    ("COMMIT TRANSACTION", ""),
    ("ROLLBACK TRANSACTION", ""),
    ("SAVE TRANSACTION", ""),
    ("EXECUTE", ""),
    ("CREATE TABLE", "CREATE TABLE"),
    ("ALTER TABLE", "ALTER TABLE"),
    ("CREATE INDEX", "CREATE INDEX"),
    ("ALTER INDEX", "ALTER INDEX"),
    ("DROP INDEX", "DROP INDEX"),
    ("DROP TABLE", "DROPOBJ"),
    ("DROP OBJECT", "DROPOBJ"),
    ("DDL", "DDL"),
    ("DDL DATABASE", ""),
    ("WAITFOR", ""),
    ("BULK INSERT", "BULK INSERT"),
];
const _: () = assert!(COMMANDS.len() == Command::BulkInsert as usize + 1);

/// Name that views show for an implicit transaction.
const IMPLICIT_NAME: &str = "implicit_transaction";

impl SessionRegistry {
    /// An empty registry. `start_ticks`: 100 ns since 0001-01-01.
    pub fn new(server_name: &str, start_ticks: u64) -> Arc<SessionRegistry> {
        let slots = Latch::new(LatchRank::Session, BTreeMap::new());
        Arc::new(SessionRegistry {
            server_name: server_name.to_string(),
            start_ticks,
            slots,
            opened: AtomicU64::new(0),
            ended_packets: Default::default(),
        })
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
    ///
    /// # Errors
    /// 17809 when there is no number left.
    pub fn register(&self, mut row: SessionRow) -> SqlResult<(i16, Arc<SessionSlot>)> {
        let mut slots = self.slots.lock();
        let free = (FIRST_USER_SESSION_ID..=i16::MAX).find(|id| !slots.contains_key(id));
        let session_id = free.ok_or_else(|| SqlError::new(17809, &[&SESSIONS_MAX]))?;
        row.session_id = session_id;
        let slot = Arc::new(SessionSlot {
            published: Latch::new(
                LatchRank::Session,
                Published { row, runner: None, hang_up: None, packets: None },
            ),
            figures: Figures::default(),
            command: AtomicU8::new(Command::None as u8),
            transaction_count: AtomicI32::new(0),
            transaction: AtomicU64::new(0),
            transaction_began: AtomicU64::new(0),
            is_implicit: AtomicBool::new(false),
            memory: Arc::default(),
            waits: Arc::default(),
            killed: AtomicBool::new(false),
        });
        slots.insert(session_id, slot.clone());
        self.opened.fetch_add(1, Relaxed);
        Ok((session_id, slot))
    }

    /// Removes a session that has ended.
    pub fn unregister(&self, session_id: i16) {
        let removed = self.slots.lock().remove(&session_id);
        let (read, written) = removed.expect("a session is unregistered once").packets();
        self.ended_packets.0.fetch_add(read, Relaxed);
        self.ended_packets.1.fetch_add(written, Relaxed);
    }

    /// Totals of all sessions, including those that have ended.
    pub fn totals(&self) -> ServerTotals {
        let slots: Vec<Arc<SessionSlot>> = self.slots.lock().values().cloned().collect();
        let ended = (self.ended_packets.0.load(Relaxed), self.ended_packets.1.load(Relaxed));
        let packets = slots
            .iter()
            .map(|slot| slot.packets())
            .fold(ended, |(read, written), (more, out)| (read + more, written + out));
        ServerTotals { sessions: self.opened.load(Relaxed), packets }
    }

    /// One row a session, by number.
    pub fn rows(&self) -> Vec<SessionRow> {
        let slots: Vec<Arc<SessionSlot>> = self.slots.lock().values().cloned().collect();
        slots.iter().map(|slot| slot.snapshot()).collect()
    }

    /// The wait statistics of each session, by number.
    pub fn waits(&self) -> Vec<(i16, Vec<os::WaitRow>)> {
        let slots: Vec<(i16, Arc<SessionSlot>)> =
            self.slots.lock().iter().map(|(id, slot)| (*id, slot.clone())).collect();
        slots.into_iter().map(|(id, slot)| (id, slot.waits.snapshot())).collect()
    }

    /// For each open session its ordinal among all sessions ever opened.
    pub fn numbers(&self) -> Vec<(i16, u64)> {
        self.slots.lock().iter().map(|(id, slot)| (*id, slot.waits.number())).collect()
    }

    /// Kills a session, whether it runs a request or not: its connection ends, its transaction is rolled back. False when there
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
    /// Changes the published state.
    pub(crate) fn update(&self, change: impl FnOnce(&mut Published)) {
        change(&mut self.published.lock());
    }

    /// Publishes the current command and its `@@TRANCOUNT`.
    #[inline]
    pub(crate) fn note(&self, command: Command, transaction_count: i32) {
        self.command.store(command as u8, Relaxed);
        self.transaction_count.store(transaction_count, Relaxed);
    }

    /// Publishes that a user transaction has begun.
    #[inline]
    pub(crate) fn begin_transaction(&self, descriptor: u64, began_ticks: u64) {
        self.transaction_began.store(began_ticks, Relaxed);
        self.is_implicit.store(false, Relaxed);
        self.transaction.store(descriptor, Relaxed);
    }

    /// Marks the new transaction as implicit.
    #[inline]
    pub(crate) fn call_transaction_implicit(&self) {
        self.is_implicit.store(true, Relaxed);
    }

    /// Publishes that the transaction has ended.
    #[inline]
    pub(crate) fn end_transaction(&self) {
        self.transaction.store(0, Relaxed);
    }

    /// Packets received and sent by its connection.
    fn packets(&self) -> (u64, u64) {
        let packets = self.published.lock().packets.clone();
        packets.map_or((0, 0), |packets| packets.counts())
    }

    fn snapshot(&self) -> SessionRow {
        let published = self.published.lock();
        let (mut row, runner) = (published.row.clone(), published.runner.clone());
        drop(published);
        row.packets = self.packets();
        row.figures = self.figures.told(runner.as_ref());
        row.status = if runner.is_some() { "running" } else { "sleeping" };
        let command = COMMANDS[usize::from(self.command.load(Relaxed))];
        (row.command, row.transaction_of_command) = command;
        row.transaction_descriptor = self.transaction.load(Relaxed);
        if row.transaction_descriptor != 0 && self.is_implicit.load(Relaxed) {
            row.transaction_name = Some(IMPLICIT_NAME.into());
        }
        row.transaction_begin_ticks = self.transaction_began.load(Relaxed);
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
