//! The statement whose commit may be left pending, and the statement whose commit is pending.

use std::sync::Arc;

use crate::batch::frame::Frame;
use crate::batch::instruction::Instruction;
use crate::sink::DoneKind;

/// A statement or request that ends with a commit: what to report if the commit fails after the statement has ended.
pub(crate) struct CommitSite {
    pub(crate) line: u32,
    pub(crate) procedure: Option<Arc<str>>,
    pub(crate) done_kind: DoneKind,
    pub(crate) changes_data: bool,
    /// CurCmd of its DONE.
    pub(crate) command: u16,
    /// The statement belongs to a batch or procedure, which an error may end; a transaction manager request does not.
    pub(crate) in_program: bool,
}

impl CommitSite {
    pub(crate) fn of(frame: &Frame, instruction: &Instruction) -> CommitSite {
        CommitSite {
            line: instruction.line,
            procedure: frame.procedure.clone(),
            done_kind: frame.done_kind,
            changes_data: instruction.kind.changes_data(),
            command: instruction.kind.done_command(),
            in_program: true,
        }
    }
}

/// A statement whose commit is pending.
pub(crate) struct PendingStatement {
    pub(crate) site: CommitSite,
    /// The user transaction's descriptor; `None` under autocommit.
    pub(crate) descriptor: Option<u64>,
    /// A remote procedure call left the commit pending, and the end of the call has been reported.
    pub(crate) in_call: bool,
}
