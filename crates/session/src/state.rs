//! The session's own state as functions show it: `@@ROWCOUNT`, `@@TRANCOUNT`, `ERROR_NUMBER()` and the like.

use std::cell::Cell;
use std::sync::Arc;

use query::context::PreparedXml;
use query::{RandomNumbers, ServerTotals, SessionRow, SessionState};
use types::{SqlError, Value};

use crate::batch::cache::ProgramCache;
use crate::cursors::Cursors;
use crate::names::NameCount;
use crate::query_store::QueryStores;
use crate::registry::SessionRegistry;
use crate::session_context::SessionContext;
use crate::xml_documents::XmlDocuments;

/// Login data: the login's name and its client.
#[derive(Clone, Debug, Default)]
pub struct LoginInfo {
    /// Login name.
    pub login_name: String,
    /// Client's host name.
    pub host_name: String,
    /// Client's program name.
    pub program_name: String,
    /// Client's process id.
    pub host_process_id: i32,
    /// Client library's name.
    pub client_interface_name: String,
    /// Database asked for; empty takes the login's default.
    pub database: String,
    /// Language asked for; empty takes us_english.
    pub language: String,
    /// The client asked for ODBC's ANSI defaults (fODBC of LOGIN7).
    pub ansi_defaults: bool,
    /// Client's address and port, empty in process.
    pub client_address: String,
    /// Client's port.
    pub client_port: u16,
    /// Server's port.
    pub server_port: u16,
    /// The connection is encrypted.
    pub encrypted: bool,
    /// Negotiated packet size, bytes.
    pub packet_bytes: u32,
}

/// A DDL trigger that is running.
#[derive(Debug)]
pub(crate) struct RunningDdlTrigger {
    pub(crate) object_id: i32,
    /// The level of its own statements.
    pub(crate) nest_level: i32,
    /// What `EVENTDATA()` gives to them.
    pub(crate) event_data: Arc<str>,
}

/// The state of one session that system functions read.
pub struct State {
    pub(crate) session_id: i16,
    pub(crate) login: LoginInfo,
    pub(crate) registry: Arc<SessionRegistry>,
    pub(crate) programs: Arc<ProgramCache>,
    query_stores: Arc<QueryStores>,
    /// `@@TRANCOUNT`.
    pub(crate) transaction_count: i32,
    /// The open transaction can only be rolled back.
    pub(crate) doomed: bool,
    pub(crate) row_count: i64,
    pub(crate) last_error: i32,
    /// `SCOPE_IDENTITY()` by procedure level, innermost last.
    pub(crate) scope_identity: Vec<Value>,
    pub(crate) last_identity: Value,
    /// `@@COMMIT_TICKET`.
    pub(crate) commit_ticket: Option<engine::CommitTicket>,
    /// The request has already received the message that delayed durability has no effect.
    pub(crate) is_refused_delay_told: bool,
    /// Object ids of the running procedures, innermost last.
    pub(crate) procedures: Vec<i32>,
    /// The running triggers, the innermost last: number; is it an INSTEAD OF trigger?
    pub(crate) triggers: Vec<(i32, bool)>,
    /// The DDL triggers among them.
    pub(crate) ddl_triggers: Vec<RunningDdlTrigger>,
    /// Errors that the running CATCH blocks handle, innermost last.
    pub(crate) caught: Vec<SqlError>,
    pub(crate) nest_level: i32,
    pub(crate) context_info: Value,
    random_numbers: RandomNumbers,
    pub(crate) session_context: SessionContext,
    /// Makes the names of table variables unique.
    pub(crate) name_count: NameCount,
    /// Number of users' functions that are running, each called by the one before.
    pub(crate) function_level: Cell<i32>,
    pub(crate) cursors: Cursors,
    /// Cursors close when a transaction ends, as of the last time that it mattered.
    pub(crate) closes_cursors: bool,
    /// The documents of sp_xml_preparedocument.
    pub(crate) xml_documents: XmlDocuments,
}

impl State {
    pub(crate) fn new(
        session_id: i16,
        login: LoginInfo,
        registry: Arc<SessionRegistry>,
        programs: Arc<ProgramCache>,
        query_stores: Arc<QueryStores>,
        name_count: NameCount,
    ) -> State {
        State {
            session_id,
            login,
            registry,
            programs,
            query_stores,
            transaction_count: 0,
            doomed: false,
            row_count: 0,
            last_error: 0,
            scope_identity: vec![Value::Null],
            last_identity: Value::Null,
            commit_ticket: None,
            is_refused_delay_told: false,
            procedures: Vec::new(),
            triggers: Vec::new(),
            ddl_triggers: Vec::new(),
            caught: Vec::new(),
            nest_level: 0,
            context_info: Value::Null,
            random_numbers: RandomNumbers::default(),
            session_context: SessionContext::default(),
            name_count,
            function_level: Cell::new(0),
            cursors: Cursors::default(),
            closes_cursors: false,
            xml_documents: XmlDocuments::default(),
        }
    }

    /// Back to the state after login; the transaction has ended already.
    pub(crate) fn reset(&mut self) {
        assert_eq!(self.transaction_count, 0, "a session is reset only outside transactions");
        let login = std::mem::take(&mut self.login);
        let (registry, programs) = (self.registry.clone(), self.programs.clone());
        let (query_stores, name_count) = (self.query_stores.clone(), Arc::clone(&self.name_count));
        *self = State::new(self.session_id, login, registry, programs, query_stores, name_count);
    }

    /// The transaction name of a session as the log records it.
    pub(crate) fn name_of_transaction(&self, session_id: u32) -> String {
        let rows = self.registry.rows();
        let named = rows
            .iter()
            .find(|row| u32::from(row.session_id.unsigned_abs()) == session_id && session_id > 0)
            .and_then(|row| row.transaction_name.as_deref());
        named.unwrap_or("user_transaction").to_owned()
    }

    /// Records the identity value that a statement generated.
    pub(crate) fn set_identity(&mut self, value: Value) {
        if let Some(scope) = self.scope_identity.last_mut() {
            *scope = value.clone();
        }
        // A trigger that inserts where there is no identity column leaves the value of the statement that has fired it.
        if !value.is_null() || self.triggers.is_empty() {
            self.last_identity = value;
        }
    }
}

impl SessionState for State {
    fn prepared_xml(&self, handle: i32) -> Option<Arc<PreparedXml>> {
        self.xml_documents.get(handle)
    }
    fn random_numbers(&self) -> Option<&RandomNumbers> {
        Some(&self.random_numbers)
    }
    fn session_id(&self) -> i16 {
        self.session_id
    }
    fn login_name(&self) -> &str {
        &self.login.login_name
    }
    fn host_name(&self) -> &str {
        &self.login.host_name
    }
    fn host_process_id(&self) -> i32 {
        self.login.host_process_id
    }
    fn program_name(&self) -> &str {
        &self.login.program_name
    }
    fn server_name(&self) -> &str {
        self.registry.server_name()
    }
    fn transaction_count(&self) -> i32 {
        self.transaction_count
    }
    fn xact_state(&self) -> i16 {
        match (self.transaction_count, self.doomed) {
            (0, _) => 0,
            (_, true) => -1,
            (_, false) => 1,
        }
    }
    fn row_count(&self) -> i64 {
        self.row_count
    }
    fn last_error(&self) -> i32 {
        self.last_error
    }
    fn scope_identity(&self) -> Value {
        self.scope_identity.last().cloned().unwrap_or(Value::Null)
    }
    fn last_identity(&self) -> Value {
        self.last_identity.clone()
    }

    fn commit_ticket(&self) -> Option<engine::CommitTicket> {
        self.commit_ticket
    }
    fn procedure_id(&self) -> i32 {
        self.procedures.last().copied().unwrap_or(0)
    }
    fn running_triggers(&self) -> &[(i32, bool)] {
        &self.triggers
    }
    fn running_ddl_triggers(&self) -> Vec<i32> {
        self.ddl_triggers.iter().map(|trigger| trigger.object_id).collect()
    }
    fn event_data(&self) -> Option<Arc<str>> {
        let running = self.ddl_triggers.last()?;
        (running.nest_level == self.nest_level).then(|| running.event_data.clone())
    }
    fn nest_level(&self) -> i32 {
        self.nest_level + self.function_level.get()
    }
    fn fetch_status(&self) -> i32 {
        self.cursors.fetch_status
    }
    fn cursor_rows(&self) -> i32 {
        self.cursors.row_count()
    }
    fn cursor_status(&self, kind: &str, name: &str) -> i16 {
        self.cursors.status(kind, name)
    }
    fn cursors(&self) -> Vec<query::CursorRow> {
        self.cursors.rows(self.closes_cursors)
    }
    fn caught_error(&self) -> Option<&SqlError> {
        self.caught.last()
    }
    fn context_info(&self) -> Value {
        self.context_info.clone()
    }
    fn session_context(&self, key: &str) -> Value {
        self.session_context.get(key)
    }
    fn sessions(&self) -> Vec<SessionRow> {
        self.registry.rows()
    }
    fn server_totals(&self) -> ServerTotals {
        self.registry.totals()
    }
    fn session_waits(&self) -> Vec<(i16, Vec<os::WaitRow>)> {
        self.registry.waits()
    }
    fn session_numbers(&self) -> Vec<(i16, u64)> {
        self.registry.numbers()
    }
    fn cached_plans(&self) -> Vec<query::CachedPlan> {
        self.programs.shown()
    }
    fn stored_queries(&self, incarnation: u64) -> query::query_store::StoredQueries {
        self.query_stores.shown(incarnation)
    }
    fn system_procedures(&self) -> Vec<query::SystemProcedure> {
        crate::system_procedures::listed()
    }
    fn plan_document(&self, number: u64) -> Option<String> {
        self.programs.plan_document(number)
    }
    fn server_start_ticks(&self) -> u64 {
        self.registry.start_ticks()
    }
    fn connection_property(&self, name: &str) -> Value {
        let text = |s: &str| Value::NChar(s.encode_utf16().collect::<Vec<u16>>().into());
        match name.to_lowercase().as_str() {
            "net_transport" => text(if self.login.client_address.is_empty() { "Session" } else { "TCP" }),
            "protocol_type" => text("TSQL"),
            "auth_scheme" => text("SQL"),
            "client_net_address" => text(&self.login.client_address),
            "local_tcp_port" => Value::Int(i32::from(self.login.server_port)),
            "physical_net_transport" => text("TCP"),
            _ => Value::Null,
        }
    }
}
