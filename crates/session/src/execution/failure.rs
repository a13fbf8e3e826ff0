//! Error handling of the interpreter: which TRY block catches an error, what is reported, and how far it reaches.

use types::SqlError;

use crate::batch::commit_site::CommitSite;
use crate::batch::frame::Frame;
use crate::batch::instruction::{Instruction, InstructionKind};
use crate::errors::{self, Origin, Reach};
use crate::interruption::{Failure, Interruption, Next, Stop};
use crate::session::Session;
use crate::sink::{Done, ResultSink};

impl Session {
    /// Decides what follows when an instruction has failed; see the diagram in run.rs.
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
        self.state.last_error = failure.error.number;
        self.state.row_count = 0;
        if failure.origin == Origin::Runtime && instruction.kind.is_definition() {
            failure.origin = Origin::Definition;
        }
        let catchable = errors::catchable_in_same_scope(&failure.error, failure.origin);
        if let Some(region) = frame.program.region_of(at).filter(|_| catchable) {
            self.doom_if_due(&failure);
            // In the CATCH block this error is the innermost one; errors that inner CATCH blocks were handling are dropped.
            let outer = frame.program.catch_depth(region.catch) - 1;
            self.state.caught.truncate(frame.caught_base + outer);
            self.state.caught.push(failure.error);
            self.end_caught(frame, unfinished, sink);
            return Ok(Next::Jump(region.catch));
        }
        if frame.program.atomic.is_some() && matches!(failure.error.severity, 11..20) {
            self.end_caught(frame, unfinished, sink);
            return Err(Stop::Raised(Box::new(failure)));
        }
        if failure.origin == Origin::Compilation {
            // For the caller it is an error of the procedure or text that it called.
            if self.guards > 0 {
                failure.origin = Origin::InnerText;
            }
        }
        if self.guards > 0 && failure.error.severity > 10 && failure.error.severity < 20 {
            self.end_caught(frame, unfinished, sink);
            return Err(Stop::Raised(Box::new(failure)));
        }
        frame.note_error(failure.error.severity);
        let next = self.report_failure(&CommitSite::of(frame, instruction), &failure, sink)?;
        Ok(match (next, &instruction.kind) {
            // An IF or WHILE condition that raises an error is neither true nor false: none of its branches runs.
            (Next::Step, InstructionKind::JumpUnless { behind, .. }) => Next::Jump(*behind),
            (Next::Return(_), _) => Next::Return(frame.own_status()),
            (next, _) => next,
        })
    }

    /// Ends a result set that has begun, with its number of rows, without an error message: the CATCH block sends another result set.
    fn end_caught(&self, frame: &Frame, unfinished: Option<(u64, u16)>, sink: &mut dyn ResultSink) {
        if let Some((rows, command)) = unfinished {
            let row_count = (!self.options.nocount).then_some(rows);
            sink.done(Done { kind: frame.done_kind, row_count, error: false, command });
        }
    }

    /// Reports an uncaught error and applies its reach.
    pub(crate) fn report_failure(
        &mut self,
        site: &CommitSite,
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
        // What ends a trigger ends all that it is a part of.
        let reach = match reach {
            Reach::Scope | Reach::BatchOnly if !self.state.triggers.is_empty() => Reach::Batch,
            reach => reach,
        };
        if reach == Reach::Statement
            && site.changes_data
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
        // The end of the transaction is reported before the DONE of the statement: after a DONE, drivers wait for more results.
        if matches!(reach, Reach::Batch | Reach::Connection) {
            self.rollback_everything(sink);
            self.state.cursors.forget_of_request();
        }
        if reach > Reach::Nothing {
            sink.done(Done { kind: site.done_kind, row_count: None, error: true, command: site.command });
        }
        match reach {
            Reach::Nothing | Reach::Statement => Ok(Next::Step),
            Reach::Scope => Ok(Next::Return(0)),
            Reach::BatchOnly | Reach::Batch => Err(Stop::Batch),
            Reach::Connection => Err(Stop::Connection),
        }
    }

    /// Dooms the transaction if a caught error requires it.
    fn doom_if_due(&mut self, failure: &Failure) {
        if self.state.transaction_count == 0
            || !errors::dooms_transaction(&failure.error, failure.origin, self.options.xact_abort)
        {
            return;
        }
        self.state.doomed = true;
        if failure.error.number == 1205 {
            // The victim's locks must go at once, or the other party of the deadlock would wait for the CATCH block.
            self.transactions.doom();
        }
    }
}
