//! The statement whose commit may be left pending, and the one whose commit is.

use std::sync::Arc;

use crate::frame::Frame;
use crate::instruction::Instruction;
use crate::sink::DoneKind;

/// A statement or request that ends with a commit: what to tell should the commit fail after the statement has ended.
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
    /// Of the user's transaction; none under autocommit.
    pub(crate) descriptor: Option<u64>,
    /// It was left by a remote procedure call, whose end has been told.
    pub(crate) in_call: bool,
}
