//! Session state that a running statement may read, of its own session and of others: figures, options, cached plans.

use std::sync::Arc;

use types::{SqlError, Value};

use crate::measure::Measure;
use crate::query_store::StoredQueries;

/// Resource use of a session's ended requests, and the wait time of the running one.
#[derive(Clone, Copy, Debug, Default)]
pub struct SessionFigures {
    /// From beginning to end, in ns.
    pub elapsed_ns: u64,
    /// The same without waits, in ns.
    pub working_ns: u64,
    /// Pages asked for.
    pub logical_reads: u64,
    /// Those of them that were read from a file.
    pub physical_reads: u64,
    /// What the request that runs has waited, in ns.
    pub request_waited_ns: u64,
}

/// Counters of the server since its start.
#[derive(Clone, Copy, Debug, Default)]
pub struct ServerTotals {
    /// Sessions that were opened.
    pub sessions: u64,
    /// Packets from and to clients.
    pub packets: (u64, u64),
}

/// One cursor of a session: a row of `sys.dm_exec_cursors`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CursorRow {
    /// Its handle, or its number among the session's cursors of T-SQL.
    pub cursor_id: i32,
    /// Its name, if it has one.
    pub name: String,
    /// Interface, type, concurrency and scope, as the view shows them.
    pub properties: String,
    /// When it was declared, 100 ns ticks.
    pub creation_ticks: u64,
    /// It is open.
    pub is_open: bool,
    /// It closes when the transaction ends.
    pub is_close_on_commit: bool,
    /// `@@FETCH_STATUS` after its last FETCH.
    pub fetch_status: i32,
    /// Rows of its fetch buffer, 1 for a cursor of T-SQL.
    pub fetch_buffer_size: i32,
    /// The number of the buffer's first row; 0 before the first row, -1 behind the last one or without a number.
    pub fetch_buffer_start: i32,
    /// The row of the buffer on which it stands, from 1.
    pub ansi_position: i32,
}

/// One row of `sys.dm_exec_sessions` and its kin.
#[derive(Clone, Debug, Default)]
pub struct SessionRow {
    /// `session_id`.
    pub session_id: i16,
    /// Login time, 100 ns ticks since 0001-01-01 UTC-less local time.
    pub login_time_ticks: u64,
    /// Client's host.
    pub host_name: String,
    /// Client's program.
    pub program_name: String,
    /// Client's process id.
    pub host_process_id: i32,
    /// Client library.
    pub client_interface_name: String,
    /// Login.
    pub login_name: String,
    /// "running", "sleeping".
    pub status: &'static str,
    /// Start of the last request, ticks as above.
    pub last_request_start_ticks: u64,
    /// End of the last request, ticks as above.
    pub last_request_end_ticks: u64,
    /// A user's session, not a background task.
    pub is_user_process: bool,
    /// Isolation level number of the views: 1 read uncommitted .. 5 snapshot.
    pub isolation: i16,
    /// SET LOCK_TIMEOUT.
    pub lock_timeout_ms: i32,
    /// SET DEADLOCK_PRIORITY, -10..10.
    pub deadlock_priority: i8,
    /// SET CONTEXT_INFO.
    pub context_info: Value,
    /// `@@ROWCOUNT`.
    pub row_count: i64,
    /// `@@ERROR`.
    pub prev_error: i32,
    /// Current database.
    pub database_id: i16,
    /// `@@TRANCOUNT`.
    pub open_transaction_count: i32,
    /// The number of its open transaction, as its client knows it; 0 without one.
    pub transaction_descriptor: u64,
    /// When that began, ticks as above.
    pub transaction_begin_ticks: u64,
    /// Its name, if it has one.
    pub transaction_name: Option<Arc<str>>,
    /// The name of the transaction that the running statement is where there is no other; empty when none runs.
    pub transaction_of_command: &'static str,
    /// SET TEXTSIZE.
    pub text_size: i32,
    /// SET LANGUAGE.
    pub language: Arc<str>,
    /// SET DATEFORMAT.
    pub date_format: Arc<str>,
    /// SET DATEFIRST.
    pub date_first: i16,
    /// SET option bits as in `@@OPTIONS`.
    pub option_bits: i32,
    /// Command of the running request, empty when idle: "SELECT", "INSERT", ...
    pub command: &'static str,
    /// Wait of the running request, if it waits.
    pub wait_type: Option<&'static str>,
    /// How long it has been waiting, ms.
    pub wait_time_ms: i32,
    /// Its last completed wait, if it has waited.
    pub last_wait_type: Option<&'static str>,
    /// Packets that have come from the client, and gone to it.
    pub packets: (u64, u64),
    /// Resource use of its requests.
    pub figures: SessionFigures,
    /// "TRUE" or "FALSE".
    pub encrypted: bool,
    /// "TCP", "Session" (in process).
    pub net_transport: String,
    /// Client's address.
    pub client_net_address: String,
    /// Client's port.
    pub client_tcp_port: i32,
    /// Server's port.
    pub local_tcp_port: i32,
    /// Packet size.
    pub net_packet_size: i32,
    /// The memory of its running request, in bytes.
    pub memory_bytes: u64,
    /// The most that its running or last request has used at once, in bytes.
    pub memory_peak_bytes: u64,
    /// The last input of the client.
    pub input: Option<Arc<InputBuffer>>,
    /// Its cursors, as they were when one of them was last opened or closed, or when its last request ended.
    pub cursors: Arc<[CursorRow]>,
}

/// The input of a client: `sys.dm_exec_input_buffer`, DBCC INPUTBUFFER.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputBuffer {
    /// "Language Event", "RPC Event".
    pub event_type: &'static str,
    /// Of a batch its first 4,000 characters, of a call the procedure's name.
    pub text: Box<str>,
}

/// How the view calls a call of a procedure.
const RPC_EVENT: &str = "RPC Event";

impl InputBuffer {
    /// Characters of a batch that are kept, as documented for DBCC INPUTBUFFER.
    const CHARS_MAX: usize = 4_000;

    /// A batch.
    pub fn of_batch(text: &str) -> Arc<InputBuffer> {
        // Only a long text is measured in characters.
        let cut = if text.len() > InputBuffer::CHARS_MAX {
            text.char_indices().nth(InputBuffer::CHARS_MAX).map_or(text.len(), |(at, _)| at)
        } else {
            text.len()
        };
        Arc::new(InputBuffer { event_type: "Language Event", text: text[..cut].into() })
    }

    /// A call of a procedure.
    pub fn of_call(name: &str) -> Arc<InputBuffer> {
        Arc::new(InputBuffer { event_type: RPC_EVENT, text: name.into() })
    }

    /// Is it a call of that procedure?
    pub fn is_call_of(&self, name: &str) -> bool {
        self.event_type == RPC_EVENT && *self.text == *name
    }
}

/// A procedure that comes with the server.
#[derive(Clone, Copy, Debug)]
pub struct SystemProcedure {
    /// Name in `sys`.
    pub name: &'static str,
    /// `P ` or `X `.
    pub type_code: &'static str,
    /// Its text, when it is one in T-SQL.
    pub definition: Option<&'static str>,
    /// Its parameters as CREATE PROCEDURE declares them, when it has no text.
    pub parameters: &'static str,
}

/// The kinds of cached programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CachedPlanKind {
    /// A batch.
    Adhoc,
    /// A text with parameters.
    Prepared,
    /// A stored procedure.
    Procedure,
    /// A trigger.
    Trigger,
}

impl CachedPlanKind {
    /// Is it the text of an object?
    pub fn is_module(self) -> bool {
        matches!(self, CachedPlanKind::Procedure | CachedPlanKind::Trigger)
    }
}

/// A cached program, for `sys.dm_exec_cached_plans` and its kin.
#[derive(Clone, Debug)]
pub struct CachedPlan {
    /// Its number in the cache.
    pub number: u64,
    /// The database it was bound in.
    pub incarnation: u64,
    /// What it is.
    pub kind: CachedPlanKind,
    /// Its text.
    pub text: Arc<str>,
    /// What it is counted as in the cache.
    pub size_bytes: usize,
    /// When it was made, 100 ns since 0001-01-01.
    pub made_ticks: u64,
    /// How often it was run.
    pub runs: u64,
    /// Resource use of its runs.
    pub whole: ProgramRuns,
    /// Its statements that have run.
    pub statements: Vec<CachedStatement>,
}

/// Resource use of a program's runs: for each run the sum of its own statements.
#[derive(Clone, Copy, Debug)]
pub struct ProgramRuns {
    /// When the last began, 100 ns since 0001-01-01.
    pub last_began_ticks: u64,
    /// From begin to end, ns.
    pub elapsed_ns: Measure,
    /// The same without the waits, ns.
    pub working_ns: Measure,
    /// Operators that had more than fits into memory.
    pub spills: Measure,
    /// Pages asked for, in memory or not.
    pub logical_reads: Measure,
    /// Pages read from a file.
    pub physical_reads: Measure,
}

/// One statement of a cached program.
#[derive(Clone, Copy, Debug)]
pub struct CachedStatement {
    /// First byte of the text.
    pub start: usize,
    /// One past the last.
    pub end: usize,
    /// How often it was bound.
    pub generation: u64,
    /// How often it ran to its end.
    pub executions: u64,
    /// When it ran last, 100 ns since 0001-01-01.
    pub last_began_ticks: u64,
    /// From begin to end, ns.
    pub elapsed_ns: Measure,
    /// The same without the waits, ns.
    pub working_ns: Measure,
    /// Rows returned or changed.
    pub rows: Measure,
    /// Operators that had more than fits into memory.
    pub spills: Measure,
    /// Memory that was granted, bytes.
    pub granted_bytes: Measure,
    /// Memory that it would have liked to be granted, bytes.
    pub ideal_bytes: Measure,
    /// The used part of the granted memory, bytes.
    pub used_bytes: Measure,
    /// The hash of the statement without its literals; see [`crate::hashes::query_hash`].
    pub query_hash: u64,
    /// The hash of its plan without its literals; none: it has no bound plan.
    pub plan_hash: Option<u64>,
    /// Pages asked for, in memory or not.
    pub logical_reads: Measure,
    /// Pages read from a file.
    pub physical_reads: Measure,
}

/// A document of sp_xml_preparedocument.
#[derive(Clone, Debug)]
pub struct PreparedXml {
    /// Its text.
    pub xml: types::WideStr,
    /// The declarations of namespaces for its patterns, as an XQuery prolog.
    pub prolog: String,
}

/// Session state that a statement may read. `session` implements it.
pub trait SessionState {
    /// The document of a handle.
    fn prepared_xml(&self, _handle: i32) -> Option<std::sync::Arc<PreparedXml>> {
        None
    }
    /// `@@SPID`.
    fn session_id(&self) -> i16;
    /// Login name, "sa".
    fn login_name(&self) -> &str;
    /// Database user, "dbo".
    fn user_name(&self) -> &str {
        "dbo"
    }
    /// Is the login a sysadmin.
    fn is_sysadmin(&self) -> bool {
        true
    }
    /// `HOST_NAME()`.
    fn host_name(&self) -> &str {
        ""
    }
    /// `HOST_ID()`.
    fn host_process_id(&self) -> i32 {
        0
    }
    /// `APP_NAME()`.
    fn program_name(&self) -> &str {
        ""
    }
    /// `@@SERVERNAME`.
    fn server_name(&self) -> &str {
        "HARDPAN"
    }
    /// `@@TRANCOUNT`.
    fn transaction_count(&self) -> i32 {
        0
    }
    /// `XACT_STATE()`: 1, 0, -1.
    fn xact_state(&self) -> i16 {
        0
    }
    /// `@@ROWCOUNT` of the previous statement.
    fn row_count(&self) -> i64 {
        0
    }
    /// `@@ERROR` of the previous statement.
    fn last_error(&self) -> i32 {
        0
    }
    /// `SCOPE_IDENTITY()`.
    fn scope_identity(&self) -> Value {
        Value::Null
    }
    /// `@@IDENTITY`.
    fn last_identity(&self) -> Value {
        Value::Null
    }
    /// `@@COMMIT_TICKET`: of the last commit, none when it changed nothing that lasts.
    fn commit_ticket(&self) -> Option<engine::CommitTicket> {
        None
    }
    /// `@@PROCID`.
    fn procedure_id(&self) -> i32 {
        0
    }
    /// The running triggers, the innermost last: number; is it an INSTEAD OF trigger?
    fn running_triggers(&self) -> &[(i32, bool)] {
        &[]
    }
    /// Which of them are DDL triggers: their numbers.
    fn running_ddl_triggers(&self) -> Vec<i32> {
        Vec::new()
    }
    /// `EVENTDATA()`: only the statements of a DDL trigger itself have it.
    fn event_data(&self) -> Option<Arc<str>> {
        None
    }
    /// `@@NESTLEVEL`.
    fn nest_level(&self) -> i32 {
        0
    }
    /// `@@FETCH_STATUS`.
    fn fetch_status(&self) -> i32 {
        0
    }
    /// `@@CURSOR_ROWS`.
    fn cursor_rows(&self) -> i32 {
        0
    }
    /// `CURSOR_STATUS`: of a cursor of this kind (`local`, `global`, `variable`) and name.
    fn cursor_status(&self, _kind: &str, _name: &str) -> i16 {
        -3
    }
    /// The session's own cursors as they are now.
    fn cursors(&self) -> Vec<CursorRow> {
        Vec::new()
    }
    /// The error that the innermost CATCH block handles.
    fn caught_error(&self) -> Option<&SqlError> {
        None
    }
    /// The generator behind `RAND()`; `None`: each number is drawn by itself.
    fn random_numbers(&self) -> Option<&crate::random_numbers::RandomNumbers> {
        None
    }
    /// `CONTEXT_INFO()`.
    fn context_info(&self) -> Value {
        Value::Null
    }
    /// `SESSION_CONTEXT(N'key')`.
    fn session_context(&self, _key: &str) -> Value {
        Value::Null
    }
    /// All sessions, for `sys.dm_exec_sessions`.
    fn sessions(&self) -> Vec<SessionRow> {
        Vec::new()
    }
    /// What all sessions together have seen, those that have ended too.
    fn server_totals(&self) -> ServerTotals {
        ServerTotals::default()
    }
    /// The waits of each session, for `sys.dm_exec_session_wait_stats`.
    fn session_waits(&self) -> Vec<(i16, Vec<os::WaitRow>)> {
        Vec::new()
    }
    /// Each session's number among all of this process (`os::SessionWaits::number`).
    fn session_numbers(&self) -> Vec<(i16, u64)> {
        Vec::new()
    }
    /// The programs in the cache.
    fn cached_plans(&self) -> Vec<CachedPlan> {
        Vec::new()
    }
    /// What the query store of the database of that incarnation has.
    fn stored_queries(&self, _incarnation: u64) -> StoredQueries {
        StoredQueries::default()
    }
    /// The procedures that come with the server.
    fn system_procedures(&self) -> Vec<SystemProcedure> {
        Vec::new()
    }
    /// The plan of the cached program of that number, as SHOWPLAN_XML writes it.
    fn plan_document(&self, _number: u64) -> Option<String> {
        None
    }
    /// Start time of the server, ticks of 100 ns since 0001-01-01.
    fn server_start_ticks(&self) -> u64 {
        0
    }
    /// `CONNECTIONPROPERTY(name)`.
    fn connection_property(&self, _name: &str) -> Value {
        Value::Null
    }
}
