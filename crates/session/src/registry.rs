//! All sessions of the server: their numbers, what the views show of them, and how another session can end one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, AtomicU64, Ordering::Relaxed};

use os::{Latch, LatchRank, task};
use query::{ServerTotals, SessionRow};
use types::{SqlError, SqlResult};

use crate::figures::{Figures, PacketCounts};

/// User sessions are numbered from here, as in SQL Server; lower numbers belong to the server itself.
pub const FIRST_USER_SESSION_ID: i16 = 51;
/// As many sessions have a number at once.
pub const SESSIONS_MAX: usize = (i16::MAX - FIRST_USER_SESSION_ID + 1) as usize;

/// The sessions now open. Guarded by one latch; nothing is called while it is held.
pub struct SessionRegistry {
    server_name: String,
    start_ticks: u64,
    slots: Latch<BTreeMap<i16, Arc<SessionSlot>>>,
    /// Sessions that were ever opened, and packets of those that have ended.
    opened: AtomicU64,
    ended_packets: (AtomicU64, AtomicU64),
}

/// What others may know of a session while it runs.
pub struct SessionSlot {
    published: Latch<Published>,
    /// What the request is at, a [`Command`]: stored by each statement, so an atomic.
    command: AtomicU8,
    /// `@@TRANCOUNT` when that statement began.
    transaction_count: AtomicI32,
    /// The descriptor of its open transaction, 0 without one, and when that began.
    transaction: AtomicU64,
    transaction_began: AtomicU64,
    /// A statement has begun it unseen.
    is_implicit: AtomicBool,
    /// What its requests have taken.
    pub(crate) figures: Figures,
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
    /// The connection's; none when it has no connection.
    pub(crate) packets: Option<Arc<PacketCounts>>,
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
    /// DROP of something else that lives in a database.
    Drop,
    /// CREATE and ALTER of something else that does.
    Definition,
    /// CREATE, ALTER and DROP DATABASE.
    Database,
    /// WAITFOR.
    WaitFor,
}

/// The commands as the view shows them, in the order of [`Command`], and the names of the transactions that they are where there is no
/// other; empty when no request runs.
const COMMANDS: [(&str, &str); 24] = [
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
];
const _: () = assert!(COMMANDS.len() == Command::WaitFor as usize + 1);

/// What views call a transaction that a statement has begun under SET IMPLICIT_TRANSACTIONS ON.
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

    /// The session has ended.
    pub fn unregister(&self, session_id: i16) {
        let removed = self.slots.lock().remove(&session_id);
        let (read, written) = removed.expect("a session is unregistered once").packets();
        self.ended_packets.0.fetch_add(read, Relaxed);
        self.ended_packets.1.fetch_add(written, Relaxed);
    }

    /// What all sessions together have seen, those that have ended too.
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

    /// A transaction of the user's has begun.
    #[inline]
    pub(crate) fn begin_transaction(&self, descriptor: u64, began_ticks: u64) {
        self.transaction_began.store(began_ticks, Relaxed);
        self.is_implicit.store(false, Relaxed);
        self.transaction.store(descriptor, Relaxed);
    }

    /// That was done by a statement under SET IMPLICIT_TRANSACTIONS ON.
    #[inline]
    pub(crate) fn call_transaction_implicit(&self) {
        self.is_implicit.store(true, Relaxed);
    }

    /// It has ended.
    #[inline]
    pub(crate) fn end_transaction(&self) {
        self.transaction.store(0, Relaxed);
    }

    /// Packets of its connection.
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
