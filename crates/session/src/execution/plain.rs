//! The fast path of the interpreter: jumps, and conditions and assignments of integers, which need only variables. An empty loop consists of them.
//!
//! These instructions allocate nothing, read no table, send nothing to the client and never fail. So they skip the memory check
//! (`os::memory::check`), the measurement of SET STATISTICS (which reports statements that read tables) and the transaction state. If an
//! instruction turns out not to be plain, `step` runs it from its beginning.

use os::task;

use crate::batch::cell::Compiled;
use crate::batch::frame::Frame;
use crate::batch::instruction::{Instruction, InstructionKind};
use crate::interruption::{Next, Stop};
use crate::session::Session;

impl Frame<'_> {
    /// The bound expression of a cell. It needs no validity check: a plain expression names no object that could have changed.
    #[inline]
    fn bound_scalar(&self, cell: usize) -> Option<&query::ScalarProgram> {
        match self.local[cell].as_deref()? {
            Compiled::Scalar(program) => Some(program),
            Compiled::Statement(_) => None,
        }
    }
}

impl Session {
    /// Runs the instruction if it is plain. `None`: it is not plain and had no effect.
    #[inline]
    pub(crate) fn plain_step(&mut self, frame: &mut Frame, instruction: &Instruction) -> Option<Next> {
        match &instruction.kind {
            InstructionKind::Jump(target) => Some(Next::Jump(*target)),
            InstructionKind::JumpUnless { cell, target, .. } => {
                let holds = frame.bound_scalar(*cell)?.plain_truth(&frame.variables)?;
                self.state.last_error = 0;
                self.state.row_count = 0;
                Some(if holds { Next::Step } else { Next::Jump(*target) })
            }
            InstructionKind::SetVariable { slot, cell } => {
                let value = frame.bound_scalar(*cell)?.plain_value(&frame.variables)?;
                frame.variables[*slot] = value;
                self.state.last_error = 0;
                self.state.row_count = 1;
                Some(Next::Step)
            }
            _ => None,
        }
    }

    /// Performs a jump: a backward jump checks for an attention, and a jump out of a CATCH block forgets the block's error.
    #[inline]
    pub(crate) fn jumps(&mut self, frame: &Frame, at: usize, target: usize) -> Result<(), Stop> {
        if target <= at && task::interrupt_pending() {
            return Err(Stop::Attention);
        }
        if self.state.caught.len() > frame.caught_base {
            self.state.caught.truncate(frame.caught_base + frame.program.catch_depth(target));
        }
        Ok(())
    }
}
