//! [`FunctionState`]: the session's state as the body of a function sees it: row counts and identity values of its own, the rest the session's.

use std::cell::Cell;
use std::sync::Arc;

use query::context::{CachedPlan, PreparedXml, SystemProcedure};
use query::{RandomNumbers, ServerTotals, SessionRow, SessionState};
use types::{SqlError, Value};

use crate::cursors::{Cursors, NO_CURSOR};
use crate::state::State;

/// The state of a running function.
pub(crate) struct FunctionState<'a> {
    session: &'a State,
    object_id: i32,
    /// `@@ROWCOUNT`.
    pub(crate) row_count: Cell<i64>,
    /// `@@FETCH_STATUS`.
    pub(crate) fetch_status: Cell<i32>,
    /// Its cursors, from the first one on.
    cursors: Option<Box<Cursors>>,
}

impl<'a> FunctionState<'a> {
    pub(crate) fn new(session: &'a State, object_id: i32) -> FunctionState<'a> {
        FunctionState {
            session,
            object_id,
            row_count: Cell::new(SessionState::row_count(session)),
            fetch_status: Cell::new(session.fetch_status()),
            cursors: None,
        }
    }

    pub(crate) fn own_cursors(&mut self) -> &mut Cursors {
        self.cursors.get_or_insert_default()
    }
}

impl SessionState for FunctionState<'_> {
    fn prepared_xml(&self, handle: i32) -> Option<Arc<PreparedXml>> {
        self.session.prepared_xml(handle)
    }
    fn row_count(&self) -> i64 {
        self.row_count.get()
    }
    fn last_error(&self) -> i32 {
        0
    }
    fn scope_identity(&self) -> Value {
        Value::Null
    }
    fn procedure_id(&self) -> i32 {
        self.object_id
    }
    fn session_id(&self) -> i16 {
        self.session.session_id()
    }
    fn login_name(&self) -> &str {
        self.session.login_name()
    }
    fn user_name(&self) -> &str {
        self.session.user_name()
    }
    fn is_sysadmin(&self) -> bool {
        self.session.is_sysadmin()
    }
    fn host_name(&self) -> &str {
        self.session.host_name()
    }
    fn host_process_id(&self) -> i32 {
        self.session.host_process_id()
    }
    fn program_name(&self) -> &str {
        self.session.program_name()
    }
    fn server_name(&self) -> &str {
        self.session.server_name()
    }
    fn transaction_count(&self) -> i32 {
        self.session.transaction_count()
    }
    fn xact_state(&self) -> i16 {
        self.session.xact_state()
    }
    fn last_identity(&self) -> Value {
        self.session.last_identity()
    }
    fn commit_ticket(&self) -> Option<engine::CommitTicket> {
        self.session.commit_ticket()
    }
    fn running_triggers(&self) -> &[(i32, bool)] {
        self.session.running_triggers()
    }
    fn running_ddl_triggers(&self) -> Vec<i32> {
        self.session.running_ddl_triggers()
    }
    fn nest_level(&self) -> i32 {
        self.session.nest_level()
    }
    fn fetch_status(&self) -> i32 {
        self.fetch_status.get()
    }
    fn cursor_rows(&self) -> i32 {
        match &self.cursors {
            Some(own) => own.row_count(),
            None => self.session.cursor_rows(),
        }
    }
    fn cursors(&self) -> Vec<query::CursorRow> {
        self.session.cursors()
    }
    fn cursor_status(&self, kind: &str, name: &str) -> i16 {
        match kind.eq_ignore_ascii_case("global") {
            true => self.session.cursor_status(kind, name),
            false => self.cursors.as_ref().map_or(NO_CURSOR, |cursors| cursors.status(kind, name)),
        }
    }
    fn caught_error(&self) -> Option<&SqlError> {
        self.session.caught_error()
    }
    fn random_numbers(&self) -> Option<&RandomNumbers> {
        self.session.random_numbers()
    }
    fn context_info(&self) -> Value {
        self.session.context_info()
    }
    fn session_context(&self, key: &str) -> Value {
        SessionState::session_context(self.session, key)
    }
    fn sessions(&self) -> Vec<SessionRow> {
        self.session.sessions()
    }
    fn server_totals(&self) -> ServerTotals {
        self.session.server_totals()
    }
    fn session_waits(&self) -> Vec<(i16, Vec<os::WaitRow>)> {
        self.session.session_waits()
    }
    fn session_numbers(&self) -> Vec<(i16, u64)> {
        self.session.session_numbers()
    }
    fn cached_plans(&self) -> Vec<CachedPlan> {
        self.session.cached_plans()
    }
    fn stored_queries(&self, incarnation: u64) -> query::query_store::StoredQueries {
        self.session.stored_queries(incarnation)
    }
    fn system_procedures(&self) -> Vec<SystemProcedure> {
        self.session.system_procedures()
    }
    fn plan_document(&self, number: u64) -> Option<String> {
        self.session.plan_document(number)
    }
    fn server_start_ticks(&self) -> u64 {
        self.session.server_start_ticks()
    }
    fn connection_property(&self, name: &str) -> Value {
        self.session.connection_property(name)
    }
}
