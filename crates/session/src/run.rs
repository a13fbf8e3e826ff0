//! Runs a program: the instruction loop, and what happens when an instruction fails.
//!
//! ```text
//!            step ok                      fail, caught here
//!   ┌────────────────────┐      ┌────────────────────────────────┐
//!   ▼                    │      ▼                                │
//!  next instruction ──► step ──► fail: region_of(pc)? ──yes──► CATCH (error pushed, transaction doomed if need be)
//!                               │ no
//!                               ├─ the frame is an atomic block: it is taken back, its caller fails (atomic.rs)
//!                               ├─ an outer frame is inside TRY: unwind to it (Stop::Raised)
//!                               └─ report it; errors::reach says: next statement · leave scope · end batch · close
//! ```

use std::sync::Arc;

use engine::Lookup;
use os::task;
use query::{BindContext, ExecContext, MemoryUse, ScalarProgram};
use types::{SqlError, SqlResult, Value};

use crate::errors::{self, Origin, Reach};
use crate::forward::{Forwarder, Gathered};
use crate::pending::CommitPlace;
use crate::program::{Cell, CellSource, Compiled, Instruction, InstructionKind, Program};
use crate::session::Session;
use crate::sink::{Done, DoneKind, ResultSink};
use crate::statistics::Tally;

/// How often a statement is compiled again because the objects that it uses keep changing.
pub(crate) const STALE_PLANS_MAX: usize = 16;

/// One running batch or procedure.
pub(crate) struct Frame<'p> {
    /// Borrowed from who has it: sessions that run the same text do not count each other's runs of it.
    pub(crate) program: &'p Program,
    pub(crate) variables: Vec<Value>,
    /// Bound cells, so that a loop does not ask the shared ones.
    pub(crate) local: Vec<Option<Arc<Compiled>>>,
    /// What is bound from here on is bound under other settings than the program was made for.
    own_settings: bool,
    pub(crate) tally: Tally,
    /// Of the statement that ran last.
    pub(crate) memory: MemoryUse,
    /// Errors that outer frames handle; this frame's come above.
    pub(crate) caught_base: usize,
    /// Name for error messages, when it is a procedure.
    pub(crate) procedure: Option<Arc<str>>,
    pub(crate) done_kind: DoneKind,
}

/// Why a frame did not run to its end.
#[derive(Debug)]
pub(crate) enum Stop {
    /// An error that a TRY block of an outer frame will catch; not yet reported.
    Raised(Box<Failure>),
    /// The batch is over; everything has been reported.
    Batch,
    /// The connection must be closed; everything has been reported.
    Connection,
    /// The client asked to stop.
    Attention,
}

/// An error and where it came from.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) error: SqlError,
    pub(crate) origin: Origin,
}

/// How an instruction ends when it does not simply succeed.
#[derive(Debug)]
pub(crate) enum Interruption {
    Failed(Failure),
    Stopped(Stop),
}

impl Interruption {
    /// What was bound has been overtaken: bind again.
    pub(crate) fn is_stale_plan(&self) -> bool {
        matches!(self, Interruption::Failed(failure) if failure.error.number == engine::STALE_PLAN)
    }
}

impl From<SqlError> for Interruption {
    fn from(error: SqlError) -> Self {
        Interruption::Failed(Failure { error, origin: Origin::Runtime })
    }
}

impl From<Stop> for Interruption {
    fn from(stop: Stop) -> Self {
        Interruption::Stopped(stop)
    }
}

/// What comes after an instruction.
pub(crate) enum Next {
    Step,
    Jump(usize),
    /// What follows is looked at, not run.
    Survey,
    Return(i32),
}

impl<'p> Frame<'p> {
    /// SET ANSI_NULLS holds from the next statement on.
    pub(crate) fn bind_anew(&mut self) {
        self.local.fill(None);
        self.own_settings = true;
    }

    pub(crate) fn new(
        program: &'p Program,
        mut variables: Vec<Value>,
        caught_base: usize,
        done_kind: DoneKind,
    ) -> Frame<'p> {
        variables.resize(program.variables.len(), Value::Null);
        let local = vec![None; program.sources.len()];
        Frame {
            program,
            variables,
            local,
            own_settings: false,
            tally: Tally::default(),
            memory: MemoryUse::default(),
            caught_base,
            procedure: None,
            done_kind,
        }
    }

    /// The cell is bound again before it is used again.
    pub(crate) fn forget(&mut self, cell: Cell) {
        self.local[cell] = None;
        self.program.forget_stale_cell(cell);
    }
}

impl Session {
    /// Runs a frame to its end. Gives the value of RETURN, 0 without one.
    pub(crate) fn run(&mut self, frame: &mut Frame, sink: &mut dyn ResultSink) -> Result<i32, Stop> {
        let program = frame.program;
        if program.parse_only == Some(true) {
            return Ok(0);
        }
        let outcome = self.run_instructions(frame, program, sink);
        if self.database.keeps_query_store() {
            self.note_in_query_store(frame);
        }
        program.statistics.add(std::mem::take(&mut frame.tally));
        outcome
    }

    fn run_instructions(
        &mut self,
        frame: &mut Frame,
        program: &Program,
        sink: &mut dyn ResultSink,
    ) -> Result<i32, Stop> {
        if self.options.runs()
            && let Some(value) = self.declare_tables_anyway(frame, program, sink)?
        {
            return Ok(value);
        }
        let mut at = if self.options.runs() { 0 } else { self.survey(frame, 0, sink)? };
        while let Some(instruction) = program.instructions.get(at) {
            if self.is_commit_pending() && !instruction.kind.is_only_a_way() {
                self.settle_before_more(sink)?;
                frame.tally.forget_end();
            }
            if program.never_null.is_empty()
                && let Some(next) = self.plain_step(frame, instruction)
            {
                at = match next {
                    Next::Jump(target) => {
                        self.jumps(frame, at, target)?;
                        if target <= at {
                            frame.tally.goes_round();
                        }
                        target
                    }
                    _ => at + 1,
                };
                continue;
            }
            if !matches!(instruction.kind, InstructionKind::Query { .. }) {
                frame.tally.forget_end();
            }
            // What variables and a CATCH block's surroundings keep counts, too.
            let room = os::memory::check();
            let measured = self.measuring_begins(&instruction.kind);
            let stepped = match room {
                Ok(()) if program.never_null.is_empty() => self.step(frame, instruction, at, sink),
                Ok(()) => self.step_with_values(frame, instruction, at, sink),
                Err(spent) => Err(query::errors::out_of_memory(spent).into()),
            };
            self.tell_measured(measured, instruction.line, sink);
            let next = match stepped {
                Ok(next) => next,
                Err(interruption) => self.fail(frame, instruction, at, interruption, sink)?,
            };
            match next {
                Next::Step => at += 1,
                Next::Jump(target) => {
                    self.jumps(frame, at, target)?;
                    at = target;
                }
                Next::Survey => at = self.survey(frame, at + 1, sink)?,
                Next::Return(value) => return Ok(value),
            }
        }
        Ok(0)
    }

    pub(crate) fn step(
        &mut self,
        frame: &mut Frame,
        instruction: &Instruction,
        at: usize,
        sink: &mut dyn ResultSink,
    ) -> Result<Next, Interruption> {
        match &instruction.kind {
            InstructionKind::JumpUnless(cell, target) => {
                let holds = self.predicate(frame, instruction, *cell)?;
                self.facts.last_error = 0;
                self.facts.row_count = 0;
                return Ok(if holds { Next::Step } else { Next::Jump(*target) });
            }
            InstructionKind::SetVariable { slot, cell } => {
                let value = self.value(frame, instruction, *cell)?;
                frame.variables[*slot] = value;
                self.facts.row_count = 1;
            }
            InstructionKind::Query { cell, command } => {
                self.note_command(instruction);
                self.query(frame, instruction, at, *cell, *command, sink)?
            }
            InstructionKind::LeaveCatch => {
                self.facts.caught.pop();
                return Ok(Next::Step);
            }
            InstructionKind::Set(set) => {
                self.note_command(instruction);
                let language = self.options.language.clone();
                self.set_option(frame, instruction, set)?;
                if crate::set::is_language(&set.statement) {
                    self.tell_language(&language, instruction.line, sink);
                }
                self.facts.last_error = 0;
                self.facts.row_count = 0;
                return Ok(if self.options.runs() { Next::Step } else { Next::Survey });
            }
            InstructionKind::Return(None) => return Ok(Next::Return(0)),
            InstructionKind::Return(Some(cell)) => {
                let value = self.value(frame, instruction, *cell)?;
                self.facts.row_count = 1;
                return Ok(Next::Return(self.to_int(&value)?.unwrap_or(0)));
            }
            // Both keep what the last statement inside has left in @@ROWCOUNT and @@ERROR, or set it themselves.
            InstructionKind::Execute(_)
            | InstructionKind::InsertExecute { .. }
            | InstructionKind::RaisError(_) => {
                self.note_command(instruction);
                self.statement(frame, instruction, at, sink)?;
                return Ok(Next::Step);
            }
            InstructionKind::Jump(_) => unreachable!("always plain"),
            _ => {
                self.note_command(instruction);
                self.statement(frame, instruction, at, sink)?;
                self.facts.row_count = 0;
            }
        }
        self.facts.last_error = 0;
        Ok(Next::Step)
    }

    /// Tells `sys.dm_exec_requests` what runs now.
    #[inline]
    fn note_command(&self, instruction: &Instruction) {
        if let Some(command) = instruction.kind.command() {
            self.slot.note(command, self.facts.transaction_count);
        }
    }

    /// Everything that is neither flow nor a query.
    fn statement(
        &mut self,
        frame: &mut Frame,
        instruction: &Instruction,
        at: usize,
        sink: &mut dyn ResultSink,
    ) -> Result<(), Interruption> {
        self.request_began_ticks = None;
        match &instruction.kind {
            InstructionKind::BeginTransaction(name) => {
                self.begin_statement(frame, name.as_ref(), sink)?;
                self.tell_end(frame, instruction, sink);
            }
            InstructionKind::Commit { .. } => {
                self.commit_as_asked(frame, instruction, at, sink)?;
                self.tell_end(frame, instruction, sink);
            }
            InstructionKind::Rollback(name) => {
                self.rollback_statement(frame, name.as_ref(), sink)?;
                self.tell_end(frame, instruction, sink);
            }
            InstructionKind::Save(name) => {
                self.save_statement(frame, name)?;
                self.tell_end(frame, instruction, sink);
            }
            InstructionKind::Execute(execute) => {
                let status = self.execute_statement(frame, instruction, at, execute, sink)?;
                self.tell_call_end(frame, execute, status, sink);
            }
            InstructionKind::InsertExecute { insert, execute } => {
                return self.insert_execute(frame, instruction, at, insert, execute, sink);
            }
            InstructionKind::Definition(statement) => {
                self.definition(frame, statement, sink)?;
                self.tell_end(frame, instruction, sink);
            }
            InstructionKind::DeclareTable(table) => self.declare_table(frame, instruction, table)?,
            InstructionKind::Print(cell) => self.print(frame, instruction, *cell, sink)?,
            InstructionKind::RaisError(raise) => return self.raise_error(frame, instruction, raise, sink),
            InstructionKind::Throw(parts) => return self.throw(frame, instruction, parts.as_ref()),
            InstructionKind::WaitForDelay(_)
            | InstructionKind::WaitForTime(_)
            | InstructionKind::WaitForDurable(..) => return self.wait(frame, instruction, sink),
            InstructionKind::Use(name) => self.use_database(name, instruction.line, sink)?,
            InstructionKind::CreateDatabase(_)
            | InstructionKind::AlterDatabase(_)
            | InstructionKind::DropDatabase(_) => {
                self.change_databases(&instruction.kind, sink)?;
                self.tell_end(frame, instruction, sink);
            }
            InstructionKind::Checkpoint
            | InstructionKind::Kill(_)
            | InstructionKind::Reconfigure { .. }
            | InstructionKind::ScopedConfiguration(_) => self.administer(&instruction.kind)?,
            InstructionKind::Dbcc(dbcc) => self.dbcc(dbcc, sink)?,
            InstructionKind::Refuse(refusal) => return Err(refusal.clone().into()),
            InstructionKind::Jump(_)
            | InstructionKind::JumpUnless(..)
            | InstructionKind::LeaveCatch
            | InstructionKind::Return(_)
            | InstructionKind::Query { .. }
            | InstructionKind::Set(_)
            | InstructionKind::SetVariable { .. } => unreachable!("handled by step"),
        }
        Ok(())
    }

    /// The end of EXECUTE. In the batch itself it is a procedure's, which NOCOUNT does not hold back, with the procedure's status before it; in
    /// a procedure it is a statement's like any other (MS-TDS, DONEPROC and DONEINPROC).
    fn tell_call_end(
        &self,
        frame: &Frame,
        execute: &crate::program::ExecuteCells,
        status: i32,
        sink: &mut dyn ResultSink,
    ) {
        let is_outermost = frame.done_kind == DoneKind::Statement;
        if !is_outermost && self.options.nocount {
            return;
        }
        if is_outermost && !matches!(execute.target, crate::program::ExecuteTarget::Text(_)) {
            sink.return_status(status);
        }
        let kind = if is_outermost { DoneKind::Procedure } else { frame.done_kind };
        sink.done(Done { kind, row_count: None, error: false, command: crate::done_command::EXECUTE });
    }

    /// The end of a definition, a message or a statement about transactions: a DONE without a count.
    pub(crate) fn tell_end(&self, frame: &Frame, instruction: &Instruction, sink: &mut dyn ResultSink) {
        if !self.options.nocount {
            let command = crate::done_command::of(&instruction.kind);
            sink.done(Done { kind: frame.done_kind, row_count: None, error: false, command });
        }
    }

    /// One run of it, with its transaction around it.
    pub(crate) fn query_once(
        &mut self,
        frame: &mut Frame,
        instruction: &Instruction,
        at: usize,
        compiled: &Compiled,
        command: u16,
        sink: &mut dyn ResultSink,
    ) -> Result<(), Interruption> {
        let Compiled::Statement(statement) = compiled else {
            unreachable!("the cell of a query holds a statement")
        };
        let writes = command != crate::done_command::SELECT;
        if writes && self.facts.doomed {
            return Err(SqlError::new(3930, &[]).into());
        }
        if statement.begins_transaction() {
            self.begin_implicit(sink)?;
        }
        self.transactions.statement_begin();
        let nocount = self.options.nocount;
        let mut rows = Forwarder::new(sink, self.options.text_size);
        let result = statement.execute(&mut self.context(frame), &mut rows);
        let (stopped, sent) = (rows.stopped(), rows.sent());
        match result {
            Ok(mut outcome) => {
                // Inside a transaction nothing is committed.
                let may_pend = writes
                    && outcome.profile.is_none()
                    && self.facts.transaction_count == 0
                    && command != crate::done_command::SELECT_INTO
                    && self.may_defer(frame, at);
                let place = may_pend.then(|| CommitPlace::of(frame, instruction));
                self.keep_statement(place, sink)?;
                if writes {
                    self.note_own_commit(sink);
                }
                if let Some(identity) = outcome.identity.take() {
                    self.facts.set_identity(identity);
                }
                frame.memory = outcome.memory;
                self.facts.row_count = outcome.row_count.map_or(0, |n| i64::try_from(n).unwrap_or(i64::MAX));
                let row_count = if nocount { None } else { outcome.row_count };
                // TRUNCATE has no rows to count.
                let is_told = !nocount && command == crate::done_command::OTHER;
                if outcome.sent_rows || row_count.is_some() || is_told {
                    sink.done(Done { kind: frame.done_kind, row_count, error: false, command });
                }
                if !stopped && outcome.profile.is_some() {
                    self.show_run(frame, instruction, statement, &outcome, sink);
                }
                if stopped { Err(Stop::Attention.into()) } else { Ok(()) }
            }
            Err(error) => {
                self.facts.row_count = 0;
                self.unfinished = sent.map(|rows| (rows, command));
                self.end_statement(false)?;
                if task::current().is_interrupted() {
                    return Err(Stop::Attention.into());
                }
                Err(error.into())
            }
        }
    }

    /// INSERT ... EXEC: the procedure's rows are gathered, then inserted as one statement.
    pub(crate) fn insert_execute(
        &mut self,
        frame: &mut Frame,
        instruction: &Instruction,
        at: usize,
        insert: &tsql::ast::Statement,
        execute: &crate::program::ExecuteCells,
        sink: &mut dyn ResultSink,
    ) -> Result<(), Interruption> {
        if self.inside_insert_execute {
            return Err(SqlError::new(8164, &[]).into());
        }
        if self.facts.doomed {
            return Err(SqlError::new(3930, &[]).into());
        }
        let mut gathered = Gathered::new(sink);
        self.inside_insert_execute = true;
        let outcome = self.execute_statement(frame, instruction, at, execute, &mut gathered).map(drop);
        self.inside_insert_execute = false;
        let Gathered { columns, rows, .. } = gathered;
        outcome?;
        let types: Vec<types::SqlType> = columns.iter().map(|c| c.sql_type).collect();
        self.begin_implicit(sink)?;
        let mut outcome = Err(SqlError::new(2801, &[]));
        for _ in 0..STALE_PLANS_MAX {
            let statement = {
                let context = self.bind_context(frame.program, instruction.variables_visible);
                query::compile_insert_rows(insert, &types, &context)?
            };
            self.transactions.statement_begin();
            let mut forward = Forwarder::new(sink, self.options.text_size);
            let mut context = self.context(frame);
            let result = statement.execute(&rows, &mut context, &mut forward);
            let sent = forward.sent().filter(|_| result.is_err());
            self.unfinished = sent.map(|rows| (rows, crate::done_command::INSERT));
            self.end_statement(result.is_ok())?;
            if !result.as_ref().is_err_and(|error| error.number == engine::STALE_PLAN) {
                outcome = result;
                break;
            }
        }
        let outcome = outcome?;
        self.facts.last_error = 0;
        self.facts.row_count = outcome.row_count.map_or(0, |n| i64::try_from(n).unwrap_or(i64::MAX));
        if !self.options.nocount {
            sink.done(Done {
                kind: frame.done_kind,
                row_count: outcome.row_count,
                error: false,
                command: crate::done_command::INSERT,
            });
        }
        Ok(())
    }

    /// Decides what a failed instruction means; see the heading.
    pub(crate) fn fail(
        &mut self,
        frame: &mut Frame,
        instruction: &Instruction,
        at: usize,
        interruption: Interruption,
        sink: &mut dyn ResultSink,
    ) -> Result<Next, Stop> {
        self.settle_before_more(sink)?;
        let unfinished = self.unfinished.take();
        let mut failure = match interruption {
            Interruption::Stopped(Stop::Raised(failure)) => *failure,
            Interruption::Stopped(stop) => return Err(stop),
            Interruption::Failed(failure) => failure,
        };
        failure.error = failure.error.at_line(instruction.line).in_procedure(frame.procedure.as_deref());
        self.facts.last_error = failure.error.number;
        self.facts.row_count = 0;
        if failure.origin == Origin::Runtime && instruction.kind.is_definition() {
            failure.origin = Origin::Definition;
        }
        let catchable = errors::catchable_in_same_scope(&failure.error, failure.origin);
        if let Some(region) = frame.program.region_of(at).filter(|_| catchable) {
            self.doom_if_due(&failure);
            self.facts.caught.truncate(frame.caught_base + frame.program.catch_depth(at));
            self.facts.caught.push(failure.error);
            self.end_caught(frame, unfinished, sink);
            return Ok(Next::Jump(region.catch));
        }
        if frame.program.atomic.is_some() && matches!(failure.error.severity, 11..20) {
            self.end_caught(frame, unfinished, sink);
            return Err(Stop::Raised(Box::new(failure)));
        }
        if failure.origin == Origin::Compilation {
            // Outside, it is an error of what was called.
            if self.guards > 0 {
                failure.origin = Origin::InnerText;
            }
        }
        if self.guards > 0 && failure.error.severity > 10 && failure.error.severity < 20 {
            self.end_caught(frame, unfinished, sink);
            return Err(Stop::Raised(Box::new(failure)));
        }
        self.report_failure(&CommitPlace::of(frame, instruction), &failure, sink)
    }

    /// A result set that has begun ends, with as many rows as it got, though nobody is told why: what the CATCH block sends is another one.
    fn end_caught(&self, frame: &Frame, unfinished: Option<(u64, u16)>, sink: &mut dyn ResultSink) {
        if let Some((rows, command)) = unfinished {
            let row_count = (!self.options.nocount).then_some(rows);
            sink.done(Done { kind: frame.done_kind, row_count, error: false, command });
        }
    }

    /// Reports an error nobody catches and does what its reach says.
    pub(crate) fn report_failure(
        &mut self,
        place: &CommitPlace,
        failure: &Failure,
        sink: &mut dyn ResultSink,
    ) -> Result<Next, Stop> {
        let error = &failure.error;
        error.told().for_each(|told| sink.message(told));
        let reach = match failure.origin {
            // Documented for SET ARITHABORT ON with SET ANSI_WARNINGS OFF.
            Origin::Runtime
                if query::errors::is_arithmetic(error.number)
                    && self.options.arithabort
                    && !self.options.ansi_warnings =>
            {
                Reach::Batch
            }
            origin => errors::reach(error, origin, self.options.xact_abort),
        };
        if reach == Reach::Statement
            && place.changes_data
            && errors::announces_termination(error)
            && failure.origin == Origin::Runtime
        {
            let mut notice = SqlError::new(3621, &[]).at_line(error.line);
            notice.procedure = error.procedure.clone();
            sink.message(&notice);
        }
        if failure.origin == Origin::RaisError {
            sink.flush();
        }
        // The end of the transaction is told before that of the statement: behind a DONE, drivers wait for more results.
        if matches!(reach, Reach::Batch | Reach::Connection) {
            self.rollback_everything(sink);
        }
        if reach > Reach::Nothing {
            sink.done(Done { kind: place.done_kind, row_count: None, error: true, command: place.command });
        }
        match reach {
            Reach::Nothing | Reach::Statement => Ok(Next::Step),
            Reach::Scope => Ok(Next::Return(-6)),
            Reach::BatchOnly | Reach::Batch => Err(Stop::Batch),
            Reach::Connection => Err(Stop::Connection),
        }
    }

    /// A caught error may leave a transaction that can only be rolled back.
    fn doom_if_due(&mut self, failure: &Failure) {
        if self.facts.transaction_count == 0
            || !errors::dooms_transaction(&failure.error, failure.origin, self.options.xact_abort)
        {
            return;
        }
        self.facts.doomed = true;
        if failure.error.number == 1205 {
            // The victim's locks must go at once, or the other party of the deadlock would wait for the CATCH block.
            self.transactions.doom();
        }
    }

    /// The bound content of a cell: this frame's, the program's, or freshly bound.
    pub(crate) fn bound(
        &mut self,
        frame: &mut Frame,
        instruction: &Instruction,
        cell: Cell,
    ) -> Result<Arc<Compiled>, Interruption> {
        let compiled = self.take_bound(frame, instruction, cell)?;
        frame.local[cell] = Some(compiled.clone());
        Ok(compiled)
    }

    /// The same, moved out of the frame, where the caller puts it back: a loop counts no clones that others count, too.
    #[inline]
    pub(crate) fn take_bound(
        &mut self,
        frame: &mut Frame,
        instruction: &Instruction,
        cell: Cell,
    ) -> Result<Arc<Compiled>, Interruption> {
        if let Some(compiled) = frame.local[cell].take_if(|compiled| compiled.is_valid(self.standpoint())) {
            return Ok(compiled);
        }
        let kept = (!frame.own_settings).then(|| frame.program.cells[cell].lock().clone()).flatten();
        let is_again = kept.is_some() || frame.local[cell].is_some();
        if let Some(compiled) = kept.filter(|compiled| compiled.is_valid(self.standpoint())) {
            return Ok(compiled);
        }
        self.programs.note_bound(is_again);
        let held_bytes = os::memory::thread_bytes();
        let fresh = self.bind_fresh(frame.program, instruction.variables_visible, cell)?;
        // What this transaction has defined nobody else may see before it commits.
        if fresh.is_shareable() && !self.transactions.has_changed_catalog() {
            frame.program.keep(cell, &fresh);
            frame.program.note_made(held_bytes);
        }
        Ok(fresh)
    }

    /// Binds a cell; again when a definition has changed while it waited for a name.
    fn bind_fresh(
        &self,
        program: &Program,
        variables_visible: usize,
        cell: Cell,
    ) -> Result<Arc<Compiled>, Interruption> {
        let mut tries = 0;
        loop {
            tries += 1;
            match self.bind_cell(program, variables_visible, cell, Lookup::new(&self.transactions)) {
                Ok(compiled) if compiled.is_valid(self.standpoint()) || tries == STALE_PLANS_MAX => {
                    return Ok(Arc::new(compiled));
                }
                Ok(_) => {}
                Err(_) if task::current().is_interrupted() => return Err(Stop::Attention.into()),
                // The statement itself is sound: it had to wait for a name.
                Err(error) if matches!(error.number, 1205 | 1222) => return Err(error.into()),
                Err(error) => {
                    let failure = Failure { error, origin: Origin::Compilation };
                    return Err(Interruption::Failed(failure));
                }
            }
        }
    }

    pub(crate) fn bind_cell(
        &self,
        program: &Program,
        variables_visible: usize,
        cell: Cell,
        lookup: Lookup<'_>,
    ) -> SqlResult<Compiled> {
        let context = BindContext { lookup, ..self.bind_context(program, variables_visible) };
        Ok(match &program.sources[cell] {
            CellSource::Statement(statement) => Compiled::Statement(query::compile(statement, &context)?),
            CellSource::Scalar(expression) => {
                Compiled::Scalar(query::compile_scalar(expression, None, &context)?)
            }
            CellSource::WithoutDraws(expression, number) => {
                let program = query::compile_scalar(expression, None, &context)?;
                if program.draws() {
                    return Err(SqlError::new(*number, &[]).at_line(expression.span.line));
                }
                Compiled::Scalar(program)
            }
            CellSource::Assignment(expression, slot) => {
                let target = &program.variables[*slot].sql_type;
                Compiled::Scalar(query::compile_scalar(expression, Some(target), &context)?)
            }
            CellSource::Predicate(expression) => {
                Compiled::Scalar(query::compile_predicate(expression, &context)?)
            }
        })
    }

    pub(crate) fn bind_context<'a>(
        &'a self,
        program: &'a Program,
        variables_visible: usize,
    ) -> BindContext<'a> {
        BindContext {
            instance: &self.instance,
            database: &self.database,
            default_schema: program.schema.as_deref().unwrap_or("dbo"),
            variables: &program.variables[..variables_visible],
            options: &self.options,
            names: &self.names,
            lookup: Lookup::new(&self.transactions),
            undeclared: None,
        }
    }

    /// The value of an expression.
    pub(crate) fn value(
        &mut self,
        frame: &mut Frame,
        instruction: &Instruction,
        cell: Cell,
    ) -> Result<Value, Interruption> {
        self.evaluate(frame, instruction, cell, ScalarProgram::eval)
    }

    fn predicate(
        &mut self,
        frame: &mut Frame,
        instruction: &Instruction,
        cell: Cell,
    ) -> Result<bool, Interruption> {
        self.evaluate(frame, instruction, cell, ScalarProgram::eval_predicate)
    }

    fn evaluate<T>(
        &mut self,
        frame: &mut Frame,
        instruction: &Instruction,
        cell: Cell,
        evaluate: impl Fn(&ScalarProgram, &mut ExecContext) -> SqlResult<T>,
    ) -> Result<T, Interruption> {
        for _ in 0..STALE_PLANS_MAX {
            match self.evaluate_once(frame, instruction, cell, &evaluate) {
                Err(interruption) if interruption.is_stale_plan() => frame.forget(cell),
                other => return other,
            }
        }
        Err(SqlError::new(2801, &[]).into())
    }

    /// One evaluation, with the transaction that a subquery needs around it.
    #[inline]
    fn evaluate_once<T>(
        &mut self,
        frame: &mut Frame,
        instruction: &Instruction,
        cell: Cell,
        evaluate: &impl Fn(&ScalarProgram, &mut ExecContext) -> SqlResult<T>,
    ) -> Result<T, Interruption> {
        let compiled = self.take_bound(frame, instruction, cell)?;
        let Compiled::Scalar(program) = compiled.as_ref() else {
            unreachable!("the cell of an expression holds one")
        };
        let result = evaluate(program, &mut self.context(frame));
        frame.local[cell] = Some(compiled);
        // An expression with a subquery has read tables: its autocommit transaction ends with it.
        if self.facts.transaction_count == 0 && !self.transactions.is_idle() {
            self.end_statement(result.is_ok())?;
        } else {
            self.transactions.keep_table_variables()?;
        }
        Ok(result?)
    }
}

/// Valid T-SQL that Hardpan does not execute.
pub(crate) fn not_supported(what: &str) -> SqlError {
    SqlError::custom(40517, 16, 1, format!("{what} is not supported by this version of Hardpan."))
}
