//! The life of a request: batches, the common begin and end of all requests, USE, reset and close.

use os::task;
use types::SqlError;

use crate::batch::frame::Frame;
use crate::interruption::{Interruption, RequestEnd, Stop, refused_entry};
use crate::prepared_handles::Prepared;
use crate::registry::Command;
use crate::session::{Session, options_at_login};
use crate::sink::{Done, DoneKind, EnvironmentChange, NullSink, ResultSink};

/// 596: a killed session receives a further request.
const KILLED: &str = "Cannot continue the execution because the session is in the kill state.";

impl Session {
    /// Runs one batch of T-SQL. A batch with a syntax error does not run at all.
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

    /// The common begin and end of a request: its task, and the rollback of a doomed transaction at the end. A request that leaves its commit
    /// pending goes on until `settle_commit`.
    pub(crate) fn request(
        &mut self,
        sink: &mut dyn ResultSink,
        body: impl FnOnce(&mut Session, &mut dyn ResultSink) -> Result<(), Stop>,
    ) -> RequestEnd {
        // One message may hold several calls.
        if self.is_commit_pending() && self.settle_commit(sink) == RequestEnd::Close {
            return RequestEnd::Close;
        }
        if self.slot.is_killed() {
            sink.message(&SqlError::custom(596, 21, 1, KILLED.into()).at_line(1));
            return RequestEnd::Close;
        }
        self.pending_bulk_load = None;
        self.note_own_transaction();
        let _memory = os::memory::Request::begin(&self.slot.memory, self.held_bytes());
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
        self.slot.note(Command::Other, self.state.transaction_count);
        self.state.is_refused_delay_told = false;
        let mut outcome = body(self, sink);
        if outcome.is_err() {
            outcome = self.settle_before_more(sink).and(outcome);
        }
        let had_cursors = !self.state.cursors.is_empty();
        self.state.cursors.end_batch();
        if had_cursors {
            self.publish_cursors();
        }
        let ended = self.names.end_batch();
        if !ended.is_empty() {
            // The drop runs in a transaction of its own.
            outcome = self.settle_before_more(sink).and(outcome);
        }
        assert_eq!(self.guards, 0, "every guarded call has ended");
        self.state.caught.clear();
        self.slot.figures.end(&begun, self.now_ticks());
        if self.is_commit_pending() {
            assert_eq!(self.state.transaction_count, 0, "nothing has begun after the commit");
            return RequestEnd::Finished;
        }
        let end = self.conclude(outcome, sink);
        self.drop_real_tables(&ended);
        self.request_ended();
        self.harden_answer(end, sink)
    }

    /// Publishes the text of a procedure call. Most clients call one procedure again and again, so an equal text is not written again.
    pub(crate) fn note_call(&self, name: &str) {
        self.slot.update(|published| {
            let input = &mut published.row.input;
            if !input.as_ref().is_some_and(|last| last.is_call_of(name)) {
                *input = Some(query::InputBuffer::of_call(name));
            }
        });
    }

    /// Publishes that no request runs any more.
    pub(crate) fn request_ended(&mut self) {
        if self.state.transaction_count == 0 {
            self.names.settle();
            if !self.orphans.is_empty() {
                let free = self.orphans.take();
                self.drop_free_tables(free);
            }
        }
        self.slot.note(Command::None, self.state.transaction_count);
        let ended_ticks = self.now_ticks();
        self.publish(|published| {
            if let Some(runner) = published.runner.take() {
                runner.attribute_waits(None);
            }
            published.row.last_request_end_ticks = ended_ticks;
        });
    }

    /// From now on a transaction that a batch or a call begins ends with it, as for one of several sessions of a connection (MARS).
    pub fn rolls_back_batches(&mut self) {
        self.began_in = Some(0);
    }

    /// The open transaction, if any, is not one that the present request has begun.
    pub(crate) fn note_own_transaction(&mut self) {
        let descriptor = if self.state.transaction_count > 0 { self.transactions.descriptor() } else { 0 };
        self.began_in = self.began_in.map(|_| descriptor);
    }

    /// Error 3997: rolls back a transaction that the request has begun and not ended, where that may not be.
    fn end_own_transaction(&mut self, sink: &mut dyn ResultSink) {
        let is_own = self.began_in.is_some_and(|began_in| began_in != self.transactions.descriptor());
        if is_own && self.state.transaction_count > 0 {
            sink.message(&SqlError::new(3997, &[]).at_line(1));
            self.rollback_everything(sink);
        }
    }

    /// Handles the transaction at the end of a request.
    pub(crate) fn conclude(&mut self, outcome: Result<(), Stop>, sink: &mut dyn ResultSink) -> RequestEnd {
        let end = self.conclude_outcome(outcome, sink);
        if end != RequestEnd::Close {
            self.end_own_transaction(sink);
        }
        end
    }

    fn conclude_outcome(&mut self, outcome: Result<(), Stop>, sink: &mut dyn ResultSink) -> RequestEnd {
        match outcome {
            Ok(()) | Err(Stop::Batch) => {
                if self.state.transaction_count > 0 && self.state.doomed {
                    sink.message(&SqlError::new(3998, &[]));
                    self.rollback_everything(sink);
                }
                RequestEnd::Finished
            }
            Err(Stop::Raised(failure)) => {
                // The TRY block that should catch it has ended: report it as uncaught.
                failure.error.told().for_each(|told| sink.message(told));
                RequestEnd::Finished
            }
            Err(Stop::Attention) => {
                if self.state.transaction_count == 0 || self.options.xact_abort || self.state.doomed {
                    self.rollback_everything(sink);
                } else if let Err(error) = self.transactions.statement_rollback() {
                    sink.message(&error);
                }
                RequestEnd::Attention
            }
            Err(Stop::Connection) => RequestEnd::Close,
        }
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
            self.state.last_error = error.number;
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

    /// Executes `USE`.
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

    /// Reports a change by SET LANGUAGE to the client.
    pub(crate) fn tell_language(&self, old: &str, line: u32, sink: &mut dyn ResultSink) {
        let new = self.options.language.to_string();
        sink.environment(EnvironmentChange::Language(new.clone(), old.to_string()));
        sink.message(&SqlError::new(5703, &[&new]).at_line(line));
    }

    /// Resets the session to its state after login, as connection pools ask for. Cheap when there is nothing to undo.
    pub fn reset(&mut self, keep_transaction: bool, sink: &mut dyn ResultSink) {
        if self.is_commit_pending() {
            // A failure has been reported; the next call reports again that the connection should end.
            self.settle_commit(sink);
        }
        if !keep_transaction && self.state.transaction_count > 0 {
            self.rollback_everything(sink);
        }
        self.slot.waits.clear();
        self.drop_temporary_tables();
        self.transactions.unlock_session_applications();
        self.prepared = Prepared::default();
        self.state.cursors.close_handles();
        self.options = options_at_login(&self.instance, &self.state.login);
        self.tell_lock_options();
        if self.state.transaction_count == 0 {
            self.state.reset();
        }
        let wanted = if self.state.login.database.is_empty() { "master" } else { &self.state.login.database };
        if !self.database.name().eq_ignore_ascii_case(wanted) {
            if let Ok(database) = self.transactions.enter_database(wanted) {
                self.move_to(database);
            }
        }
        sink.environment(EnvironmentChange::ResetConnection);
    }

    /// Ends the session: rolls back, drops its temporary tables, leaves its database, frees its session number.
    pub fn close(mut self) {
        if self.is_commit_pending() {
            self.settle_commit(&mut NullSink);
        }
        self.rollback_everything(&mut NullSink);
        self.drop_temporary_tables();
        self.transactions.release_session_locks();
        self.state.registry.unregister(self.state.session_id);
    }
}
