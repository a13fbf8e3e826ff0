//! The instruction loop, which runs a program. See failure.rs for what follows when an instruction fails.
//!
//! ```text
//!            step ok                      fail, caught here
//!   ┌────────────────────┐      ┌────────────────────────────────┐
//!   ▼                    │      ▼                                │
//!  next instruction ──► step ──► fail: region_of(pc)? ──yes──► CATCH (error pushed, transaction doomed if need be)
//!                               │ no
//!                               ├─ the frame is an atomic block: it is rolled back, its caller fails (atomic.rs)
//!                               ├─ an outer frame is inside TRY: unwind to it (Stop::Raised)
//!                               └─ report it; errors::reach says: next statement · leave scope · end batch · close
//! ```

use crate::batch::frame::Frame;
use crate::batch::instruction::{ExecuteCells, ExecuteTarget, Instruction, InstructionKind};
use crate::batch::program::Program;
use crate::done_command;
use crate::execution::set::is_language;
use crate::interruption::{Interruption, Next, Stop};
use crate::session::Session;
use crate::sink::{Done, DoneKind, ResultSink};
use crate::values::to_int;

impl Session {
    /// Runs a frame to its end. Returns the value of RETURN, or [`Frame::own_status`] without RETURN.
    pub(crate) fn run(&mut self, frame: &mut Frame, sink: &mut dyn ResultSink) -> Result<i32, Stop> {
        let program = frame.program;
        if program.parse_only == Some(true) {
            return Ok(0);
        }
        let outcome = self.run_instructions(frame, program, sink);
        if self.database.keeps_query_store() {
            self.note_in_query_store(frame);
        }
        program.statistics.add(std::mem::take(&mut frame.statistics));
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
        let mut at = if self.options.runs() { 0 } else { self.compile_only(frame, 0, sink)? };
        while let Some(instruction) = program.instructions.get(at) {
            if self.is_commit_pending() && !instruction.kind.is_only_a_way() {
                self.settle_before_more(sink)?;
                frame.statistics.forget_end();
            }
            if program.never_null.is_empty()
                && let Some(next) = self.plain_step(frame, instruction)
            {
                at = match next {
                    Next::Jump(target) => {
                        self.jumps(frame, at, target)?;
                        if target <= at {
                            frame.statistics.goes_round();
                        }
                        target
                    }
                    _ => at + 1,
                };
                continue;
            }
            if !matches!(instruction.kind, InstructionKind::Query { .. }) {
                frame.statistics.forget_end();
            }
            // Memory for variables and for the saved state of a CATCH block counts, too.
            let room = match &instruction.kind {
                // A query may leave locks with the session, so it needs room; the end of its transaction may always run.
                InstructionKind::Query { .. } => os::memory::check_session(),
                _ => os::memory::check(),
            };
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
                Next::CompileOnly => at = self.compile_only(frame, at + 1, sink)?,
                Next::Return(value) => return Ok(value),
            }
        }
        Ok(frame.own_status())
    }

    pub(crate) fn step(
        &mut self,
        frame: &mut Frame,
        instruction: &Instruction,
        at: usize,
        sink: &mut dyn ResultSink,
    ) -> Result<Next, Interruption> {
        match &instruction.kind {
            InstructionKind::JumpUnless { cell, target, .. } => {
                let holds = self.predicate(frame, instruction, *cell)?;
                self.state.last_error = 0;
                self.state.row_count = 0;
                return Ok(if holds { Next::Step } else { Next::Jump(*target) });
            }
            InstructionKind::SetVariable { slot, cell } => {
                let value = self.value(frame, instruction, *cell)?;
                frame.variables[*slot] = value;
                self.state.row_count = 1;
            }
            InstructionKind::Query { cell, command } => {
                self.note_command(instruction);
                self.query(frame, instruction, at, *cell, *command, sink)?
            }
            InstructionKind::LeaveCatch => {
                self.state.caught.pop();
                return Ok(Next::Step);
            }
            InstructionKind::Set(set) => {
                self.note_command(instruction);
                let language = self.options.language.clone();
                self.set_option(frame, instruction, set)?;
                if is_language(&set.statement) {
                    self.tell_language(&language, instruction.line, sink);
                }
                self.state.last_error = 0;
                self.state.row_count = 0;
                return Ok(if self.options.runs() { Next::Step } else { Next::CompileOnly });
            }
            InstructionKind::Cursor(step) => self.cursor_step(frame, instruction, at, step, sink)?,
            InstructionKind::Return(None) => return Ok(Next::Return(frame.own_status())),
            InstructionKind::Return(Some(cell)) => {
                let value = self.value(frame, instruction, *cell)?;
                self.state.row_count = 1;
                return Ok(Next::Return(to_int(&value)?.unwrap_or(0)));
            }
            // Both keep @@ROWCOUNT and @@ERROR of the last inner statement, or set them themselves.
            InstructionKind::Execute(_)
            | InstructionKind::InsertExecute { .. }
            | InstructionKind::BulkInsert(_)
            | InstructionKind::RaisError(_) => {
                self.note_command(instruction);
                self.statement(frame, instruction, at, sink)?;
                return Ok(Next::Step);
            }
            InstructionKind::Jump(_) => unreachable!("always plain"),
            _ => {
                self.note_command(instruction);
                self.statement(frame, instruction, at, sink)?;
                self.state.row_count = 0;
            }
        }
        self.state.last_error = 0;
        Ok(Next::Step)
    }

    /// Publishes the running command for `sys.dm_exec_requests`.
    #[inline]
    fn note_command(&self, instruction: &Instruction) {
        if let Some(command) = instruction.kind.command() {
            self.slot.note(command, self.state.transaction_count);
        }
    }

    /// Runs an instruction that is neither control flow nor a query.
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
            InstructionKind::Save(name) => self.save_statement(frame, instruction, name, sink)?,
            InstructionKind::Execute(execute) => {
                let status = self.execute_statement(frame, instruction, at, execute, sink)?;
                self.tell_call_end(frame, execute, status, sink);
            }
            InstructionKind::InsertExecute { insert, execute } => {
                return self.insert_execute(frame, instruction, at, insert, execute, sink);
            }
            InstructionKind::Definition(statement) => {
                self.definition(frame, (instruction, at), statement, sink)?;
                self.tell_end(frame, instruction, sink);
            }
            InstructionKind::InsertBulk(insert) => {
                self.announce_bulk_load(frame, instruction, insert, sink)?
            }
            InstructionKind::BulkInsert(insert) => {
                return self.bulk_insert(frame, (instruction, at), insert, sink);
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
            | InstructionKind::JumpUnless { .. }
            | InstructionKind::LeaveCatch
            | InstructionKind::Return(_)
            | InstructionKind::Query { .. }
            | InstructionKind::Cursor(_)
            | InstructionKind::Set(_)
            | InstructionKind::SetVariable { .. } => unreachable!("handled by step"),
        }
        Ok(())
    }

    /// Sends the DONE of EXECUTE. In the batch itself it is DONEPROC: NOCOUNT does not suppress it, and the procedure's status precedes it. In
    /// a procedure it is DONEINPROC, as for any other statement (MS-TDS, DONEPROC and DONEINPROC).
    fn tell_call_end(&self, frame: &Frame, execute: &ExecuteCells, status: i32, sink: &mut dyn ResultSink) {
        let is_outermost = frame.done_kind == DoneKind::Statement;
        if !is_outermost && self.options.nocount {
            return;
        }
        if is_outermost && !matches!(execute.target, ExecuteTarget::Text(_)) {
            sink.return_status(status);
        }
        let kind = if is_outermost { DoneKind::Procedure } else { frame.done_kind };
        sink.done(Done { kind, row_count: None, error: false, command: done_command::EXECUTE });
    }

    /// Sends the DONE of a definition, a message or a transaction statement: a DONE without a row count.
    pub(crate) fn tell_end(&self, frame: &Frame, instruction: &Instruction, sink: &mut dyn ResultSink) {
        if !self.options.nocount {
            let command = instruction.kind.done_command();
            sink.done(Done { kind: frame.done_kind, row_count: None, error: false, command });
        }
    }
}
