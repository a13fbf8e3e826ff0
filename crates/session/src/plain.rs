//! Instructions that need nothing but variables: jumps, and conditions and assignments of integers. An empty loop consists of them.
//!
//! They allocate nothing, read no table, say nothing to the client and never fail, so they ask for no memory (`os::memory::check`), begin no
//! measurement (SET STATISTICS tells of statements that read tables) and look at no transaction. What turns out not to be plain is run by
//! `step` as if nothing had happened.

use os::task;

use crate::cell::Compiled;
use crate::frame::Frame;
use crate::instruction::{Instruction, InstructionKind};
use crate::interruption::{Next, Stop};
use crate::session::Session;

impl Frame<'_> {
    /// The bound expression of a cell. Whether it is still valid is not asked: what is plain names nothing that could have become another.
    #[inline]
    fn bound_scalar(&self, cell: usize) -> Option<&query::ScalarProgram> {
        match self.local[cell].as_deref()? {
            Compiled::Scalar(program) => Some(program),
            Compiled::Statement(_) => None,
        }
    }
}

impl Session {
    /// Runs the instruction if it is plain; `None`: it is not, and nothing has happened.
    #[inline]
    pub(crate) fn plain_step(&mut self, frame: &mut Frame, instruction: &Instruction) -> Option<Next> {
        match &instruction.kind {
            InstructionKind::Jump(target) => Some(Next::Jump(*target)),
            InstructionKind::JumpUnless { cell, target, .. } => {
                let holds = frame.bound_scalar(*cell)?.plain_truth(&frame.variables)?;
                self.facts.last_error = 0;
                self.facts.row_count = 0;
                Some(if holds { Next::Step } else { Next::Jump(*target) })
            }
            InstructionKind::SetVariable { slot, cell } => {
                let value = frame.bound_scalar(*cell)?.plain_value(&frame.variables)?;
                frame.variables[*slot] = value;
                self.facts.last_error = 0;
                self.facts.row_count = 1;
                Some(Next::Step)
            }
            _ => None,
        }
    }

    /// The way goes from one instruction to another: a loop looks for an attention, and who leaves a CATCH block forgets its error.
    #[inline]
    pub(crate) fn jumps(&mut self, frame: &Frame, at: usize, target: usize) -> Result<(), Stop> {
        if target <= at && task::interrupt_pending() {
            return Err(Stop::Attention);
        }
        if self.facts.caught.len() > frame.caught_base {
            self.facts.caught.truncate(frame.caught_base + frame.program.catch_depth(target));
        }
        Ok(())
    }
}
