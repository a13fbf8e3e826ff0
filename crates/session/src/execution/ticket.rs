//! Durability of a session's commits: tickets, MAX_WAIT, COMMIT_ACK, WAITFOR DURABLE; see `docs/durability.md`.
//!
//! `@@COMMIT_TICKET` belongs to the last commit: a transaction's COMMIT, or a statement outside of one that may change data. A statement
//! that only reads does not change it, so that a query can read it.

use std::sync::Arc;

use engine::{Acknowledgement, CommitRequest, CommitResult, CommitStatus, CommitTicket};
use os::task;
use types::{SqlError, SqlResult, Value};

use crate::batch::cell::Cell;
use crate::batch::commit_site::CommitSite;
use crate::batch::frame::Frame;
use crate::batch::instruction::{Instruction, InstructionKind};
use crate::interruption::RequestEnd;
use crate::interruption::{Interruption, Stop};
use crate::session::Session;
use crate::sink::ResultSink;
use crate::values::to_int;

/// INFO under SET COMMIT_TICKETS ON.
const TICKET_TOLD: i32 = 42951;
/// INFO: MAX_WAIT expired before the commit was durable.
const WAIT_OVER: i32 = 42952;
/// INFO: MAX_WAIT where every commit is fully durable.
const WAIT_REFUSED: i32 = 42953;
/// INFO: DELAYED_DURABILITY = ON has no effect, since the commit is fully durable or commits nothing.
const DELAY_REFUSED: i32 = 42957;
/// The argument is no ticket of a database that is open here.
const NO_TICKET: i32 = 42954;
/// WAITFOR DURABLE for a commit that a crash has lost.
const COMMIT_LOST: i32 = 42955;
/// A time that is negative.
const BAD_TIME: i32 = 42956;

impl Session {
    /// Which commits must be durable before the client receives their answer.
    pub fn acknowledgement(&self) -> Arc<Acknowledgement> {
        Arc::clone(self.transactions.acknowledgement())
    }

    /// The commit request of a COMMIT without options.
    pub(crate) fn own_commit_request(&self) -> CommitRequest {
        CommitRequest { is_acknowledged_later: self.options.acknowledges_batches, ..CommitRequest::default() }
    }

    /// COMMIT.
    pub(crate) fn commit_as_asked(
        &mut self,
        frame: &mut Frame,
        instruction: &Instruction,
        at: usize,
        sink: &mut dyn ResultSink,
    ) -> Result<(), Interruption> {
        let InstructionKind::Commit { delayed, max_wait } = &instruction.kind else {
            unreachable!("the caller has looked")
        };
        let request = self.commit_request(frame, instruction, *delayed, *max_wait)?;
        let site = self.may_leave_pending(frame, at).then(|| CommitSite::of(frame, instruction));
        Ok(self.commit_statement(&request, site, sink)?)
    }

    /// The options of COMMIT as a commit request.
    fn commit_request(
        &mut self,
        frame: &mut Frame,
        instruction: &Instruction,
        delayed: Option<bool>,
        max_wait: Option<Cell>,
    ) -> Result<CommitRequest, Interruption> {
        let max_wait_ms = match max_wait {
            None => None,
            Some(cell) => self.milliseconds(frame, instruction, cell, "MAX_WAIT")?,
        };
        Ok(CommitRequest { delayed, max_wait_ms, ..self.own_commit_request() })
    }

    /// A time in milliseconds; `None` for NULL.
    fn milliseconds(
        &mut self,
        frame: &mut Frame,
        instruction: &Instruction,
        cell: Cell,
        what: &str,
    ) -> Result<Option<u32>, Interruption> {
        let Some(ms) = to_int(&self.value(frame, instruction, cell)?)? else { return Ok(None) };
        let negative = |_| {
            let text = format!("{what} is {ms} milliseconds. It must not be negative.");
            Interruption::from(SqlError::custom(BAD_TIME, 16, 1, text))
        };
        u32::try_from(ms).map(Some).map_err(negative)
    }

    /// Records the autocommit of a statement that may change data.
    pub(crate) fn note_own_commit(&mut self, sink: &mut dyn ResultSink) {
        if self.state.transaction_count == 0 {
            self.note_commit(sink);
        }
    }

    /// Records the ticket of a transaction that has committed or whose commit is pending.
    pub(crate) fn note_commit(&mut self, sink: &mut dyn ResultSink) {
        let result = self.transactions.commit_result();
        self.state.commit_ticket = result.map(|result| result.ticket);
        if let Some(result) = result {
            self.tell_commit(result, sink);
        }
    }

    /// Reports that DELAYED_DURABILITY = ON has no effect. SQL Server is silent about it; Hardpan reports it once per request, since a loop
    /// of such commits would repeat it each time.
    pub(crate) fn tell_refused_delay(&mut self, why: &str, sink: &mut dyn ResultSink) {
        if !std::mem::replace(&mut self.state.is_refused_delay_told, true) {
            let text = format!("DELAYED_DURABILITY = ON has no effect: {why}.");
            sink.message(&SqlError::custom(DELAY_REFUSED, 10, 1, text));
        }
    }

    fn tell_commit(&mut self, result: CommitResult, sink: &mut dyn ResultSink) {
        if result.is_refused_delay {
            let why = "the database's option is DISABLED, or several databases have been changed; the transaction is fully durable";
            self.tell_refused_delay(why, sink);
        }
        let info = |number, text: String| SqlError::custom(number, 10, 1, text);
        let ticket = || {
            self.instance.note_told(&result.ticket);
            hexadecimal(&result.ticket)
        };
        if result.is_refused_wait {
            let text = "MAX_WAIT has no effect: the transaction had to be fully durable, and it is.";
            sink.message(&info(WAIT_REFUSED, text.into()));
        } else if result.is_wait_over {
            let text = format!("The transaction is committed and not hard yet. Its ticket is {}.", ticket());
            sink.message(&info(WAIT_OVER, text));
        }
        if self.options.commit_tickets {
            sink.message(&info(TICKET_TOLD, format!("Commit ticket: {}", ticket())));
        }
    }

    /// Called before the client receives an answer: makes the commits that it reports durable, or replaces the answer by an error.
    pub(crate) fn harden_answer(&mut self, end: RequestEnd, sink: &mut dyn ResultSink) -> RequestEnd {
        match self.transactions.harden_answer() {
            Ok(()) => end,
            Err(error) => {
                sink.message(&error.at_line(1));
                RequestEnd::Close
            }
        }
    }

    /// WAITFOR in all its forms.
    pub(crate) fn wait(
        &mut self,
        frame: &mut Frame,
        instruction: &Instruction,
        sink: &mut dyn ResultSink,
    ) -> Result<(), Interruption> {
        match &instruction.kind {
            InstructionKind::WaitForDelay(cell) => self.wait_for(frame, instruction, *cell, false),
            InstructionKind::WaitForTime(cell) => self.wait_for(frame, instruction, *cell, true),
            InstructionKind::WaitForDurable(ticket, timeout) => {
                self.wait_for_durable(frame, instruction, *ticket, *timeout, sink)
            }
            _ => unreachable!("the caller has looked"),
        }
    }

    /// WAITFOR DURABLE; an attention ends it early. NULL is the ticket of a commit that changed nothing: it does not wait.
    fn wait_for_durable(
        &mut self,
        frame: &mut Frame,
        instruction: &Instruction,
        ticket: Cell,
        timeout: Option<Cell>,
        sink: &mut dyn ResultSink,
    ) -> Result<(), Interruption> {
        let value = self.value(frame, instruction, ticket)?;
        let timeout_ms = match timeout {
            None => None,
            Some(cell) => self.milliseconds(frame, instruction, cell, "TIMEOUT")?,
        };
        if matches!(value, Value::Null) {
            return Ok(());
        }
        let ticket = ticket_of(&value)?;
        let timeout_ns = timeout_ms.map(|ms| u64::from(ms) * 1_000_000);
        let waited = self.instance.wait_durable(&ticket, timeout_ns);
        if waited.is_err() && task::current().is_interrupted() {
            return Err(Stop::Attention.into());
        }
        match waited? {
            Some(CommitStatus::Hardened) => Ok(()),
            Some(CommitStatus::Pending) => {
                let text = format!("The transaction of ticket {} is not hard yet.", hexadecimal(&ticket));
                sink.message(&SqlError::custom(WAIT_OVER, 10, 2, text).at_line(instruction.line));
                Ok(())
            }
            Some(CommitStatus::Lost) => {
                let text = format!("The transaction of ticket {} was lost in a crash.", hexadecimal(&ticket));
                Err(SqlError::custom(COMMIT_LOST, 16, 1, text).into())
            }
            None => Err(no_ticket().into()),
        }
    }
}

fn ticket_of(value: &Value) -> SqlResult<CommitTicket> {
    match value {
        Value::Binary(bytes) => CommitTicket::from_bytes(bytes.as_bytes()).ok_or_else(no_ticket),
        _ => Err(no_ticket()),
    }
}

fn no_ticket() -> SqlError {
    let text = "The value is not the ticket of a commit in a database that is open here.";
    SqlError::custom(NO_TICKET, 16, 1, text.into())
}

fn hexadecimal(ticket: &CommitTicket) -> String {
    use std::fmt::Write;
    let mut text = String::from("0x");
    for byte in ticket.to_bytes() {
        let _ = write!(text, "{byte:02X}");
    }
    text
}
