//! [`Session`]: one login's conversation with the server; batches and calls come in, results go to a sink.

use std::sync::Arc;

use engine::{Database, Instance, IsolationLevel, Lookup, TransactionSet};
use os::task;
use query::{SessionRow, SetOptions};
use types::{SqlError, SqlResult, Value};

use crate::cache::{ProgramCache, ProgramConditions, ProgramKey};
use crate::compile;
use crate::facts::{Facts, LoginInfo};
use crate::names::{Ended, NameCount, Orphans, TemporaryNames};
use crate::pending::UnsettledCommit;
use crate::prepared::Prepared;
use crate::program::Program;
use crate::query_store::QueryStores;
use crate::registry::{Command, Published, SessionRegistry, SessionSlot};
use crate::run::{Frame, Interruption, Stop};
use crate::sink::{Done, DoneKind, EnvironmentChange, NullSink, ResultSink};
use crate::survey::Survey;

/// How a request ended, for whoever owns the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestEnd {
    /// All statements were run or an error ended the batch; everything has been sent to the sink.
    Finished,
    /// The client's attention (or KILL) stopped it.
    Attention,
    /// A fatal error: the connection must be closed.
    Close,
}

/// What all sessions of a server share.
#[derive(Clone)]
pub struct SessionShared {
    /// The instance.
    pub instance: Arc<Instance>,
    /// All sessions.
    pub registry: Arc<SessionRegistry>,
    pub(crate) programs: Arc<ProgramCache>,
    pub(crate) query_stores: Arc<QueryStores>,
    name_count: NameCount,
    orphans: Orphans,
}

impl SessionShared {
    /// For one server. `start_ticks`: 100 ns since 0001-01-01, for the views.
    pub fn new(instance: Arc<Instance>, server_name: &str, start_ticks: u64) -> SessionShared {
        let registry = SessionRegistry::new(server_name, start_ticks);
        let programs = Arc::new(ProgramCache::counted(instance.os().counters()));
        let orphans = Orphans::default();
        let query_stores = Arc::default();
        SessionShared {
            instance,
            registry,
            programs,
            query_stores,
            name_count: NameCount::default(),
            orphans,
        }
    }
}

/// One session. Owned by the thread that serves its connection.
pub struct Session {
    pub(crate) instance: Arc<Instance>,
    pub(crate) programs: Arc<ProgramCache>,
    pub(crate) query_stores: Arc<QueryStores>,
    pub(crate) slot: Arc<SessionSlot>,
    pub(crate) database: Arc<Database>,
    pub(crate) options: SetOptions,
    pub(crate) facts: Facts,
    pub(crate) transactions: TransactionSet,
    pub(crate) names: TemporaryNames,
    /// Global temporary objects that nobody owns any more.
    orphans: Orphans,
    pub(crate) prepared: Prepared,
    /// Name of the outermost transaction, when it has one.
    pub(crate) transaction_name: Option<String>,
    /// How many outer frames are inside a TRY block now.
    pub(crate) guards: u32,
    pub(crate) inside_insert_execute: bool,
    /// Error 266 of the procedure that has just ended: its EXECUTE tells it once the OUTPUT values are stored.
    pub(crate) unequal_count: Option<SqlError>,
    /// Whom to ring when a deferred commit is hardened; none: commits block.
    pub(crate) commit_waker: Option<std::task::Waker>,
    /// The commit that the last statement has left on its way.
    pub(crate) unsettled: Option<UnsettledCommit>,
    /// When the request began, for the statement that it begins with.
    pub(crate) request_began_ticks: Option<u64>,
    /// What is being told of statements that do not run.
    pub(crate) surveyed: Survey,
    /// The rows that the client has got of a result set whose statement has failed, and its command: for the DONE that ends it.
    pub(crate) unfinished: Option<(u64, u16)>,
}

impl Session {
    /// A session for a login that has been let in, in the database it asked for (or master).
    ///
    /// # Errors
    /// 4060 when the database does not exist or cannot be opened.
    pub fn new(shared: &SessionShared, login: LoginInfo) -> SqlResult<Session> {
        let name = if login.database.is_empty() { "master" } else { &login.database };
        let refused = |_| SqlError::new(4060, &[&name]);
        let wanted = shared.instance.database(name).map_err(refused)?;
        let row =
            SessionRow { login_time_ticks: ticks_of(shared.instance.os()), ..published(&login, &wanted) };
        let (session_id, slot) = shared.registry.register(row);
        let mut transactions = TransactionSet::new(&shared.instance, session_id);
        let entered = transactions.enter_database(name).map_err(refused);
        let database = entered.inspect_err(|_| shared.registry.unregister(session_id))?;
        let options = options_at_login(&shared.instance, &login);
        let mut session = Session {
            instance: shared.instance.clone(),
            programs: shared.programs.clone(),
            query_stores: shared.query_stores.clone(),
            slot,
            options,
            transactions,
            database,
            facts: Facts::new(
                session_id,
                login,
                shared.registry.clone(),
                shared.programs.clone(),
                shared.query_stores.clone(),
            ),
            names: TemporaryNames::new(Arc::clone(&shared.name_count), shared.instance.tempdb()),
            orphans: shared.orphans.clone(),
            prepared: Prepared::default(),
            transaction_name: None,
            guards: 0,
            inside_insert_execute: false,
            unequal_count: None,
            commit_waker: None,
            unsettled: None,
            request_began_ticks: None,
            surveyed: Survey::default(),
            unfinished: None,
        };
        session.publish(|_| {});
        Ok(session)
    }

    /// `@@SPID`.
    pub fn id(&self) -> i16 {
        self.facts.session_id
    }

    /// The current database's name.
    pub fn database_name(&self) -> String {
        self.database.name().to_string()
    }

    /// Is a user transaction open (the INXACT bit of DONE)?
    pub fn in_transaction(&self) -> bool {
        self.facts.transaction_count > 0
    }

    /// Runs one batch of T-SQL. Nothing of it runs when it has a syntax error.
    pub fn execute_batch(&mut self, text: &str, sink: &mut dyn ResultSink) -> RequestEnd {
        self.request(sink, |session, sink| {
            let input = query::InputBuffer::of_batch(text);
            session.slot.update(|published| published.row.input = Some(input));
            let compiling = session.compiling_begins();
            let program = match session.checks_only(text) {
                Ok(true) => return Ok(()),
                Ok(false) => session.program_for(text, &[], false),
                Err(errors) => Err(errors),
            };
            let program = match program {
                Ok(program) => program,
                Err(errors) => return session.refuse_batch(&errors, sink),
            };
            session.tell_compiling(compiling, sink);
            if program.parse_only == Some(true) {
                session.options.parse_only = true;
            }
            let mut frame = Frame::new(&program, Vec::new(), 0, DoneKind::Statement);
            session.run(&mut frame, sink).map(|_| ())
        })
    }

    /// Everything around a request: who runs it, what happens to a doomed transaction at its end. One that leaves its commit pending
    /// goes on until `settle_commit`.
    pub(crate) fn request(
        &mut self,
        sink: &mut dyn ResultSink,
        body: impl FnOnce(&mut Session, &mut dyn ResultSink) -> Result<(), Stop>,
    ) -> RequestEnd {
        // Several calls in one message.
        if self.is_commit_pending() && self.settle_commit(sink) == RequestEnd::Close {
            return RequestEnd::Close;
        }
        if self.slot.is_killed() {
            sink.message(&SqlError::custom(596, 21, 1, KILLED.into()).at_line(1));
            return RequestEnd::Close;
        }
        let _memory = os::memory::Request::begin(&self.slot.memory);
        if !os::memory::has_room_for(0) {
            self.programs.give_way();
        }
        let (runner, began_ticks) = (task::current(), self.now_ticks());
        runner.attribute_waits(Some(self.slot.waits.clone()));
        self.slot.update(|published| {
            published.runner = Some(runner);
            published.row.last_request_start_ticks = began_ticks;
        });
        self.request_began_ticks = Some(began_ticks);
        let begun = self.slot.figures.begin(began_ticks);
        self.slot.note(Command::Other, self.facts.transaction_count);
        self.facts.is_refused_delay_told = false;
        let mut outcome = body(self, sink);
        if outcome.is_err() {
            outcome = self.settle_before_more(sink).and(outcome);
        }
        let ended = self.names.end_batch();
        if !ended.is_empty() {
            // Dropping them takes a transaction of its own.
            outcome = self.settle_before_more(sink).and(outcome);
        }
        assert_eq!(self.guards, 0, "every guarded call has ended");
        self.facts.caught.clear();
        self.slot.figures.end(&begun, self.now_ticks());
        if self.is_commit_pending() {
            assert_eq!(self.facts.transaction_count, 0, "nothing has begun after the commit");
            return RequestEnd::Finished;
        }
        let end = self.conclude(outcome, sink);
        self.drop_real_tables(&ended);
        self.request_ended();
        self.harden_answer(end, sink)
    }

    /// That the client calls a procedure, for others to see. Most clients call the same one again and again: it is written once.
    pub(crate) fn note_call(&self, name: &str) {
        self.slot.update(|published| {
            let input = &mut published.row.input;
            if !input.as_ref().is_some_and(|last| last.is_call_of(name)) {
                *input = Some(query::InputBuffer::of_call(name));
            }
        });
    }

    /// What KILL calls to end the session's connection, on the killer's thread.
    pub fn hang_up_with(&self, hang_up: crate::registry::HangUp) {
        self.slot.update(|published| published.hang_up = Some(hang_up));
    }

    /// Whose packets the session's are.
    pub fn count_packets(&self, packets: Arc<crate::PacketCounts>) {
        self.slot.update(|published| published.packets = Some(packets));
    }

    /// No request runs any more.
    pub(crate) fn request_ended(&mut self) {
        if self.facts.transaction_count == 0 {
            self.names.settle();
            if !self.orphans.is_empty() {
                let free = self.orphans.take();
                self.drop_free_tables(free);
            }
        }
        self.slot.note(Command::None, self.facts.transaction_count);
        let ended_ticks = self.now_ticks();
        self.publish(|published| {
            if let Some(runner) = published.runner.take() {
                runner.attribute_waits(None);
            }
            published.row.last_request_end_ticks = ended_ticks;
        });
    }

    /// What becomes of the transaction at the end of a request.
    pub(crate) fn conclude(&mut self, outcome: Result<(), Stop>, sink: &mut dyn ResultSink) -> RequestEnd {
        match outcome {
            Ok(()) | Err(Stop::Batch) => {
                if self.facts.transaction_count > 0 && self.facts.doomed {
                    sink.message(&SqlError::new(3998, &[]));
                    self.rollback_everything(sink);
                }
                RequestEnd::Finished
            }
            Err(Stop::Raised(failure)) => {
                // Raised to a TRY block that is no longer there: report it as uncaught.
                failure.error.told().for_each(|told| sink.message(told));
                RequestEnd::Finished
            }
            Err(Stop::Attention) => {
                if self.facts.transaction_count == 0 || self.options.xact_abort || self.facts.doomed {
                    self.rollback_everything(sink);
                } else if let Err(error) = self.transactions.statement_rollback() {
                    sink.message(&error);
                }
                RequestEnd::Attention
            }
            Err(Stop::Connection) => RequestEnd::Close,
        }
    }

    /// The moment as the views keep it: 100 ns since 0001-01-01.
    pub(crate) fn now_ticks(&self) -> u64 {
        ticks_of(self.instance.os())
    }

    /// Tells the views how the session stands, and what `more` adds.
    pub(crate) fn publish(&mut self, more: impl FnOnce(&mut Published)) {
        let database_id = self.database.id();
        let (facts, options) = (&self.facts, &self.options);
        self.slot.update(|published| {
            let row = &mut published.row;
            row.row_count = facts.row_count;
            row.prev_error = facts.last_error;
            row.database_id = database_id;
            row.option_bits = options.bits();
            row.lock_timeout_ms = options.lock_timeout_ms;
            row.deadlock_priority = options.deadlock_priority;
            row.text_size = options.text_size;
            row.date_first = i16::from(options.date_first);
            if row.context_info != facts.context_info {
                row.context_info = facts.context_info.clone();
            }
            for (told, set) in
                [(&mut row.language, &options.language), (&mut row.date_format, &options.date_format)]
            {
                if !Arc::ptr_eq(told, set) {
                    *told = Arc::clone(set);
                }
            }
            row.isolation = match options.isolation {
                IsolationLevel::ReadUncommitted => 1,
                IsolationLevel::ReadCommitted => 2,
                IsolationLevel::RepeatableRead => 3,
                IsolationLevel::Serializable => 4,
                IsolationLevel::Snapshot => 5,
            };
            more(published);
        });
    }

    /// From where the session looks names up now.
    #[inline]
    pub(crate) fn standpoint(&self) -> query::Standpoint<'_> {
        query::Standpoint { database: &self.database, names: &self.names }
    }

    /// What the meaning of a text hangs on now.
    pub(crate) fn program_conditions(&self) -> ProgramConditions {
        ProgramConditions::new(self.database.incarnation(), &self.options)
    }

    /// The program of a text, from the cache or made now. Binding of what can be bound is done at once, so that errors of the batch
    /// as a whole come before anything has run.
    pub(crate) fn program_for(
        &self,
        text: &str,
        parameters: &[query::VariableDef],
        in_procedure: bool,
    ) -> Result<Arc<Program>, Vec<SqlError>> {
        let key = ProgramCache::may_keep(text)
            .then(|| ProgramKey::new(text, self.program_conditions(), parameters));
        if let Some(program) = key.as_ref().and_then(|key| self.programs.get(key)) {
            return Ok(program);
        }
        let (era, held_bytes) = (self.programs.era(), os::memory::thread_bytes());
        let program = Arc::new(self.compiled_text(text, parameters, in_procedure)?);
        self.programs.note_compiled();
        if program.parse_only != Some(true) {
            self.bind_ahead(&program)?;
        }
        program.statistics.made(self.now_ticks());
        program.note_made(held_bytes);
        if let Some(key) = key {
            self.programs.put(key, program.clone(), era);
        }
        Ok(program)
    }

    /// Whose alias types a text names.
    pub(crate) fn types_in(&self) -> compile::TypesIn<'_> {
        (&self.database, Lookup::new(&self.transactions))
    }

    /// A text parsed and compiled, no names looked up.
    pub(crate) fn parsed_program(&self, text: &str) -> Result<Program, Vec<SqlError>> {
        self.compiled_text(text, &[], false)
    }

    fn compiled_text(
        &self,
        text: &str,
        parameters: &[query::VariableDef],
        in_procedure: bool,
    ) -> Result<Program, Vec<SqlError>> {
        let options = tsql::ParseOptions { quoted_identifier: self.options.quoted_identifier };
        let batch = tsql::parse_batch_while(text, &options, os::memory::is_spent)
            .map_err(|errors| errors.into_iter().map(crate::syntax_error).collect::<Vec<SqlError>>())?;
        let types_in = Some(self.types_in());
        compile::compile(text.into(), &batch.statements, parameters.to_vec(), in_procedure, types_in)
            .map_err(|e| vec![e])
    }

    /// Binds every cell whose objects exist. Missing objects wait for execution (deferred name resolution); other errors are the
    /// batch's. Behind a USE names mean something else: those cells wait, too.
    pub(crate) fn bind_ahead(&self, program: &Program) -> Result<(), Vec<SqlError>> {
        // For a name that another is changing the statement itself waits, under the options that are then in force.
        let lookup = Lookup::without_waiting(&self.transactions);
        let is_shared = !self.transactions.has_changed_catalog();
        for (cell, visible, line) in program.cells_before_use() {
            match self.bind_cell(program, visible, cell, lookup) {
                Ok(compiled) if is_shared && compiled.is_shareable() => {
                    program.keep(cell, &Arc::new(compiled))
                }
                Ok(_) => {}
                Err(error) if is_deferred(&error) => {}
                Err(error) => return Err(vec![error.at_line(line)]),
            }
        }
        Ok(())
    }

    pub(crate) fn refuse_batch(
        &mut self,
        errors: &[SqlError],
        sink: &mut dyn ResultSink,
    ) -> Result<(), Stop> {
        if task::current().is_interrupted() {
            return Err(Stop::Attention);
        }
        for error in errors {
            self.facts.last_error = error.number;
            sink.message(error);
        }
        if errors.iter().any(|error| crate::errors::rolls_back_uncompiled(error, self.options.xact_abort)) {
            self.rollback_everything(sink);
        }
        sink.done(Done {
            kind: DoneKind::Statement,
            row_count: None,
            error: true,
            command: crate::done_command::OTHER,
        });
        Err(Stop::Batch)
    }

    /// The session's database is one that it has entered, from now on; it leaves the one before, which is returned.
    pub(crate) fn move_to(&mut self, entered: Arc<Database>) -> Arc<Database> {
        let left = std::mem::replace(&mut self.database, entered);
        self.transactions.leave_database(&left);
        left
    }

    /// `USE`.
    pub(crate) fn use_database(
        &mut self,
        name: &str,
        line: u32,
        sink: &mut dyn ResultSink,
    ) -> Result<(), Interruption> {
        let database = self.transactions.enter_database(name).map_err(refused_entry)?;
        let left = self.move_to(database);
        let (old, new) = (left.name().to_string(), self.database.name().to_string());
        sink.environment(EnvironmentChange::Database(new.clone(), old));
        sink.message(&SqlError::new(5701, &[&new]).at_line(line));
        Ok(())
    }

    /// SET LANGUAGE has been done.
    pub(crate) fn tell_language(&self, old: &str, line: u32, sink: &mut dyn ResultSink) {
        let new = self.options.language.to_string();
        sink.environment(EnvironmentChange::Language(new.clone(), old.to_string()));
        sink.message(&SqlError::new(5703, &[&new]).at_line(line));
    }

    /// Back to the state after login: what pooled connections ask for. Cheap when there is nothing to undo.
    pub fn reset(&mut self, keep_transaction: bool, sink: &mut dyn ResultSink) {
        if self.is_commit_pending() {
            // A failure is told; that the connection should end is told again by whatever comes next.
            self.settle_commit(sink);
        }
        if !keep_transaction && self.facts.transaction_count > 0 {
            self.rollback_everything(sink);
        }
        self.slot.waits.clear();
        self.drop_temporary_tables();
        self.prepared = Prepared::default();
        self.options = options_at_login(&self.instance, &self.facts.login);
        self.tell_lock_options();
        if self.facts.transaction_count == 0 {
            self.facts.reset();
        }
        let wanted = if self.facts.login.database.is_empty() { "master" } else { &self.facts.login.database };
        if !self.database.name().eq_ignore_ascii_case(wanted) {
            if let Ok(database) = self.transactions.enter_database(wanted) {
                self.move_to(database);
            }
        }
        sink.environment(EnvironmentChange::ResetConnection);
    }

    /// Ends the session: rolls back, drops its temporary tables, leaves its database, gives its number back.
    pub fn close(mut self) {
        if self.is_commit_pending() {
            self.settle_commit(&mut NullSink);
        }
        self.rollback_everything(&mut NullSink);
        self.drop_temporary_tables();
        self.transactions.release_session_locks();
        self.facts.registry.unregister(self.facts.session_id);
    }

    fn drop_temporary_tables(&mut self) {
        let (own, global): (Vec<Ended>, Vec<Ended>) =
            self.names.clear().into_iter().partition(|ended| !ended.real_name.starts_with("##"));
        self.drop_real_tables(&own);
        self.drop_free_tables(global);
    }

    /// Drops global temporary objects that nobody uses; the others wait for the end of whoever uses them, and for no other request here.
    fn drop_free_tables(&mut self, objects: Vec<Ended>) {
        for object in objects {
            self.transactions.set_lock_timeout_ms(0);
            self.transactions.statement_begin();
            let dropped =
                crate::objects::drop_temporary_table(&self.instance, &mut self.transactions, &object);
            let ended = self.end_statement(dropped.is_ok());
            match dropped.and(ended) {
                Ok(()) => {}
                Err(error) if matches!(error.number, 1205 | 1222 | engine::STALE_PLAN) => {
                    self.orphans.add(object);
                }
                Err(error) => warn_not_dropped(&object, &error),
            }
        }
        self.tell_lock_options();
    }

    /// Drops tables of tempdb by their real names; a table that is gone already is no error.
    pub(crate) fn drop_real_tables(&mut self, tables: &[Ended]) {
        for table in tables {
            if let Err(error) =
                crate::objects::drop_temporary_table(&self.instance, &mut self.transactions, table)
            {
                warn_not_dropped(table, &error);
            }
            if self.facts.transaction_count == 0 {
                if let Err(error) = self.end_statement(true) {
                    warn_not_dropped(table, &error);
                }
            }
        }
    }

    /// A value as an int, for RETURN and options.
    pub(crate) fn to_int(&self, value: &Value) -> SqlResult<Option<i32>> {
        crate::values::to_int(value)
    }
}

fn warn_not_dropped(object: &Ended, error: &SqlError) {
    let name = &object.real_name;
    os::report::warn("session", &format!("temporary table {name} was not dropped: {error}"));
}

/// A database could not be entered: with an error, or because the wait for it was interrupted.
pub(crate) fn refused_entry(error: SqlError) -> Interruption {
    if task::current().is_interrupted() { Stop::Attention.into() } else { error.into() }
}

fn ticks_of(os: &os::Os) -> u64 {
    os.clock().utc_100ns().max(0).cast_unsigned()
}

/// 596, to whoever asks a killed session for something.
pub(crate) const KILLED: &str = "Cannot continue the execution because the session is in the kill state.";

/// Errors that only mean "not there yet", or "not settled yet".
fn is_deferred(error: &SqlError) -> bool {
    matches!(error.number, 208 | 315 | 1222 | 2702 | 2812 | 911 | 922 | 926 | 945 | 1087 | 4902 | 942)
}

fn options_at_login(instance: &engine::Instance, login: &LoginInfo) -> SetOptions {
    let mut options = SetOptions::default();
    crate::procs::configure::apply_user_options(instance, &mut options);
    if !login.ansi_defaults {
        options.quoted_identifier = login.client_interface_name.is_empty() || options.quoted_identifier;
    }
    if !login.language.is_empty() {
        options.language = login.language.as_str().into();
    }
    options
}

fn published(login: &LoginInfo, database: &Arc<Database>) -> SessionRow {
    SessionRow {
        host_name: login.host_name.clone(),
        program_name: login.program_name.clone(),
        host_process_id: login.host_process_id,
        client_interface_name: login.client_interface_name.clone(),
        login_name: login.login_name.clone(),
        is_user_process: true,
        database_id: database.id(),
        encrypted: login.encrypted,
        net_transport: if login.client_address.is_empty() { "Session".into() } else { "TCP".into() },
        client_net_address: login.client_address.clone(),
        client_tcp_port: i32::from(login.client_port),
        local_tcp_port: i32::from(login.server_port),
        net_packet_size: i32::try_from(login.packet_bytes).unwrap_or(i32::MAX),
        ..SessionRow::default()
    }
}
