//! Atomic blocks: the body of a natively compiled procedure takes effect as a whole or not at all.
//!
//! ```text
//!                      no transaction                           a transaction is open
//!  enter_block ──► begins one of its own (@@TRANCOUNT 1)    ──► a savepoint
//!      │ the block ends                │ an error it does not catch, an attention
//!      ▼                               ▼
//!  keep_block: commits its own;    take_back_block: rolls its own back; back to the savepoint, the transaction goes on
//!  in another's nothing is due         └─► the error is thrown again in the caller, under the caller's settings (Origin::Block)
//! ```
//! Only a block with a transaction of its own commits, so the DELAYED_DURABILITY of the outermost block counts; inside a transaction that of
//! COMMIT does (claims 60 and 61). A doomed transaction stays doomed, and lets no block begin (3931). Inside, the settings are those of
//! the block (`atomic_settings::AtomicSettings`), afterwards the caller's again.

use engine::{BlockSavepoint, CommitRequest, IsolationLevel, SnapshotState};
use types::{SqlError, SqlResult, Value};

use crate::batch::frame::Frame;
use crate::batch::instruction::{Instruction, InstructionKind};
use crate::batch::parameters::null_refused;
use crate::batch::program::Program;
use crate::errors::Origin;
use crate::interruption::{Failure, Interruption, Next, Stop};
use crate::session::Session;
use crate::sink::{NullSink, ResultSink};

/// The relation of a block to its session's transaction.
enum Block {
    /// The block has begun the transaction.
    Own,
    Inside(BlockSavepoint),
}

impl Session {
    /// Runs the block of a natively compiled procedure.
    pub(crate) fn run_atomic(
        &mut self,
        module: &Program,
        variables: Vec<Value>,
        (name, object_id): (&str, i32),
        sink: &mut dyn ResultSink,
    ) -> Result<(i32, Vec<Value>), Interruption> {
        let settings = module.atomic.as_ref().expect("called for atomic blocks only");
        let delayed = settings.delayed;
        let block = self.enter_block(sink)?;
        let outer = self.options.clone();
        self.options = settings.inside(&outer, self.reads_versions(&block));
        let outcome = self.run_scope(module, variables, Some(name), object_id, sink);
        self.options = outer;
        match outcome {
            Ok(result) => {
                self.keep_block(&block, delayed, sink)?;
                Ok(result)
            }
            Err(interruption) => {
                self.take_back_block(&block)?;
                Err(thrown(interruption))
            }
        }
    }

    /// Error 3931 in a doomed transaction.
    fn enter_block(&mut self, sink: &mut dyn ResultSink) -> SqlResult<Block> {
        if self.state.doomed {
            return Err(SqlError::new(3931, &[]));
        }
        self.begin_implicit(sink)?;
        if self.state.transaction_count > 0 {
            return Ok(Block::Inside(self.transactions.block_savepoint()));
        }
        // It is not the client's transaction, so the client is not informed.
        self.begin_transaction(None, &mut NullSink);
        self.assert_state();
        Ok(Block::Own)
    }

    /// May the block read a snapshot? In a transaction of its own: if the database keeps versions. Inside a user transaction: if that reads a
    /// snapshot already, since a transaction that began otherwise has none (3951).
    fn reads_versions(&self, block: &Block) -> bool {
        match block {
            Block::Own => self.database.snapshot_state() == SnapshotState::On,
            Block::Inside(_) => self.options.isolation == IsolationLevel::Snapshot,
        }
    }

    fn keep_block(
        &mut self,
        block: &Block,
        delayed: Option<bool>,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        self.assert_state();
        if let Block::Inside(_) = block {
            return Ok(());
        }
        assert_eq!(self.state.transaction_count, 1, "nothing in a block begins or ends a transaction");
        let request = CommitRequest { delayed, ..self.own_commit_request() };
        if self.state.doomed {
            self.rollback_everything(&mut NullSink);
            return Err(SqlError::new(3930, &[]));
        }
        self.commit_outermost(&request, None, &mut NullSink)?;
        self.note_commit(sink);
        self.assert_state();
        Ok(())
    }

    fn take_back_block(&mut self, block: &Block) -> SqlResult<()> {
        match block {
            _ if self.state.transaction_count == 0 => {}
            Block::Own => self.rollback_everything(&mut NullSink),
            Block::Inside(savepoint) => self.transactions.rollback_block(savepoint)?,
        }
        self.assert_state();
        Ok(())
    }

    /// Runs one step of a program that has NOT NULL variables.
    pub(crate) fn step_with_values(
        &mut self,
        frame: &mut Frame,
        instruction: &Instruction,
        at: usize,
        sink: &mut dyn ResultSink,
    ) -> Result<Next, Interruption> {
        let assigned = match instruction.kind {
            InstructionKind::SetVariable { slot, .. } => Some(slot),
            _ => None,
        };
        let holding = frame.holding_values(assigned);
        let next = self.step(frame, instruction, at, sink)?;
        frame.check_values(&holding)?;
        Ok(next)
    }

    fn assert_state(&self) {
        assert_eq!(self.state.transaction_count > 0, self.transactions.has_open(), "counted as it stands");
        assert!(!self.state.doomed || self.state.transaction_count > 0, "only a transaction is doomed");
    }
}

/// An error that leaves a block becomes an error of the statement that called the block.
fn thrown(interruption: Interruption) -> Interruption {
    match interruption {
        Interruption::Stopped(Stop::Raised(failure)) => {
            let Failure { error, origin } = *failure;
            let ends_batch = origin == Origin::Throw || matches!(origin, Origin::Block { ends_batch: true });
            Interruption::Failed(Failure { error, origin: Origin::Block { ends_batch } })
        }
        other => other,
    }
}

impl Frame<'_> {
    /// The NOT NULL variables that must have a value after the step: those that have one now, or that the step assigns.
    pub(crate) fn holding_values(&self, assigned: Option<usize>) -> Vec<usize> {
        let slots = self.program.never_null.iter().copied();
        slots.filter(|&slot| Some(slot) == assigned || !self.variables[slot].is_null()).collect()
    }

    /// Error 515 when a step has left such a variable without a value.
    pub(crate) fn check_values(&self, holding: &[usize]) -> SqlResult<()> {
        match holding.iter().find(|&&slot| self.variables[slot].is_null()) {
            Some(&slot) => Err(null_refused(&self.program.variables[slot].name)),
            None => Ok(()),
        }
    }
}
