//! Queries and data changes: one execution inside its transaction, retried when its plan has become stale; INSERT ... EXEC.

use std::sync::Arc;

use os::task;
use query::CompiledStatement;
use types::SqlError;

use crate::batch::cell::STALE_PLANS_MAX;
use crate::batch::cell::{Cell, Compiled};
use crate::batch::commit_site::CommitSite;
use crate::batch::frame::Frame;
use crate::batch::instruction::{ExecuteCells, Instruction};
use crate::batch::statement_statistics::{Execution, Taken};
use crate::execution::trigger::FiringPlace;
use crate::forward::{Forwarder, Gathered};
use crate::interruption::{Interruption, Stop};
use crate::session::Session;
use crate::sink::{Done, ResultSink};

impl Session {
    /// Runs a query or data change. If DDL of another session has made its plan stale, the plan is made again and the statement is retried.
    pub(crate) fn query(
        &mut self,
        frame: &mut Frame,
        instruction: &Instruction,
        at: usize,
        cell: Cell,
        command: u16,
        sink: &mut dyn ResultSink,
    ) -> Result<(), Interruption> {
        let clock_ns = |session: &Session| session.instance.os().clock().monotonic_ns();
        let waited_ns = task::waited_ns;
        let (began_ns, waited_before_ns) = (frame.statistics.begin_ns(|| clock_ns(self)), waited_ns());
        let pages_before = task::page_uses();
        if frame.statistics.first.is_none() {
            let began_ticks = match self.request_began_ticks.take() {
                Some(began_ticks) if at == 0 => began_ticks,
                _ => self.now_ticks(),
            };
            frame.statistics.first = Some((began_ns, began_ticks));
        }
        for _ in 0..STALE_PLANS_MAX {
            let compiled = self.take_bound(frame, instruction, cell)?;
            let Compiled::Statement(general) = compiled.as_ref() else {
                unreachable!("the cell of a query holds a statement")
            };
            let suited = self.suited(frame, instruction, cell, general);
            let statement = suited.as_deref().unwrap_or(general);
            let result = self.query_once(frame, instruction, at, statement, command, sink);
            frame.local[cell] = Some(compiled);
            match result {
                Err(interruption) if interruption.is_stale_plan() => frame.forget(cell),
                Ok(()) => {
                    let ended_ns = clock_ns(self);
                    frame.statistics.end_at(ended_ns);
                    let taken = Taken {
                        elapsed_ns: ended_ns.saturating_sub(began_ns),
                        waited_ns: waited_ns().saturating_sub(waited_before_ns),
                        rows: u64::try_from(self.state.row_count).unwrap_or(0),
                        memory: frame.memory,
                        pages: task::page_uses().since(&pages_before),
                    };
                    frame.statistics.note(Execution { cell, began_ns, taken });
                    return Ok(());
                }
                other => return other,
            }
        }
        Err(SqlError::new(2801, &[]).into())
    }

    /// The plan for the widths that the statement's ranges between variables have now; `None`: the general one.
    #[inline]
    fn suited(
        &self,
        frame: &Frame,
        instruction: &Instruction,
        cell: Cell,
        general: &CompiledStatement,
    ) -> Option<Arc<CompiledStatement>> {
        let widths = match general.suited(&frame.variables)? {
            Ok(kept) if kept.is_valid(self.name_scope()) => return Some(kept),
            Ok(_) => {
                general.forget_suited(&frame.variables);
                return self.suited(frame, instruction, cell, general);
            }
            Err(widths) => widths,
        };
        // No other session may see definitions of this transaction before it commits.
        if self.transactions.has_changed_catalog() {
            return None;
        }
        self.programs.note_bound(false);
        let held_bytes = os::memory::thread_bytes();
        let context = self.bind_context(frame.program, instruction.variables_visible);
        // What cannot be compiled now is told by the run of the general plan.
        let made = Arc::new(frame.program.bind_for(cell, &context, general, widths).ok()?);
        general.keep_suited(widths, &made);
        frame.program.note_made(held_bytes);
        Some(made)
    }

    /// One execution inside its transaction.
    pub(crate) fn query_once(
        &mut self,
        frame: &mut Frame,
        instruction: &Instruction,
        at: usize,
        statement: &CompiledStatement,
        command: u16,
        sink: &mut dyn ResultSink,
    ) -> Result<(), Interruption> {
        let writes = command != crate::done_command::SELECT;
        if writes && self.state.doomed {
            return Err(SqlError::new(3930, &[]).into());
        }
        if statement.begins_transaction() {
            self.begin_implicit(sink)?;
        }
        self.transactions.statement_begin();
        let nocount = self.options.nocount;
        let mut rows = Forwarder::new(sink, self.options.text_size);
        let result = statement.execute(&mut self.context(frame), &mut rows);
        rows.tell(instruction.line, frame.procedure.as_deref());
        let (stopped, sent) = (rows.stopped(), rows.sent());
        match result {
            Ok(mut outcome) => {
                if !outcome.fired.is_empty() {
                    self.fire_triggers(FiringPlace::of(frame, (instruction, at)), &mut outcome, sink)?;
                }
                // Inside a user transaction the statement does not commit.
                let may_pend = writes
                    && outcome.profile.is_none()
                    && self.state.transaction_count == 0
                    && command != crate::done_command::SELECT_INTO
                    && self.may_leave_pending(frame, at);
                let site = may_pend.then(|| CommitSite::of(frame, instruction));
                self.keep_statement(site, sink)?;
                if writes {
                    self.note_own_commit(sink);
                }
                if let Some(identity) = outcome.identity.take() {
                    self.state.set_identity(identity);
                }
                frame.memory = outcome.memory;
                self.state.row_count = outcome.row_count.map_or(0, |n| i64::try_from(n).unwrap_or(i64::MAX));
                let row_count = if nocount { None } else { outcome.row_count };
                // TRUNCATE has no row count.
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
                self.state.row_count = 0;
                self.unfinished = sent.map(|rows| (rows, command));
                self.end_statement(false)?;
                if task::current().is_interrupted() {
                    return Err(Stop::Attention.into());
                }
                Err(error.into())
            }
        }
    }

    /// INSERT ... EXEC: gathers the procedure's rows, then inserts them as one statement.
    pub(crate) fn insert_execute(
        &mut self,
        frame: &mut Frame,
        instruction: &Instruction,
        at: usize,
        insert: &tsql::ast::Statement,
        execute: &ExecuteCells,
        sink: &mut dyn ResultSink,
    ) -> Result<(), Interruption> {
        if self.inside_insert_execute {
            return Err(SqlError::new(8164, &[]).into());
        }
        if self.state.doomed {
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
            forward.tell(instruction.line, frame.procedure.as_deref());
            let sent = forward.sent().filter(|_| result.is_err());
            self.unfinished = sent.map(|rows| (rows, crate::done_command::INSERT));
            let mut result = result;
            if let Ok(outcome) = &mut result
                && !outcome.fired.is_empty()
            {
                self.fire_triggers(FiringPlace::of(frame, (instruction, at)), outcome, sink)?;
            }
            self.end_statement(result.is_ok())?;
            if !result.as_ref().is_err_and(|error| error.is_stale_plan()) {
                outcome = result;
                break;
            }
        }
        let outcome = outcome?;
        self.state.last_error = 0;
        self.state.row_count = outcome.row_count.map_or(0, |n| i64::try_from(n).unwrap_or(i64::MAX));
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
}
