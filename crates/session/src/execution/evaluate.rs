//! Binding and evaluation of a program's cells: they are bound at their first use, and again when they have become stale.

use std::sync::Arc;

use engine::Lookup;
use os::task;
use query::context::TriggerScope;
use query::{BindContext, ExecContext, ScalarProgram, VariableDef};
use types::{SqlError, SqlResult, Value};

use crate::batch::cell::{Cell, Compiled, STALE_PLANS_MAX};
use crate::batch::frame::Frame;
use crate::batch::instruction::Instruction;
use crate::batch::program::Program;
use crate::errors::Origin;
use crate::interruption::{Failure, Interruption, Stop};
use crate::session::Session;

impl Session {
    /// The execution context of a statement.
    pub(crate) fn context<'a>(&'a mut self, frame: &'a mut Frame) -> ExecContext<'a> {
        let Frame { variables, trigger, .. } = frame;
        ExecContext { trigger: trigger.as_deref(), ..self.context_with(variables) }
    }

    /// The execution context of a statement with these variables.
    pub(crate) fn context_with<'a>(&'a mut self, variables: &'a mut [Value]) -> ExecContext<'a> {
        ExecContext {
            instance: &self.instance,
            database: &self.database,
            variables,
            transactions: &mut self.transactions,
            state: &self.state,
            functions: &self.state,
            options: &self.options,
            names: &self.names,
            front_end: query::FRONT_END,
            trigger: None,
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

    /// Like `bind`, but moves it out of the frame, and the caller puts it back: a loop does not update shared reference counts.
    #[inline]
    pub(crate) fn take_bound(
        &mut self,
        frame: &mut Frame,
        instruction: &Instruction,
        cell: Cell,
    ) -> Result<Arc<Compiled>, Interruption> {
        if let Some(compiled) = frame.local[cell].take_if(|compiled| compiled.is_valid(self.name_scope())) {
            return Ok(compiled);
        }
        let kept = (!frame.own_settings).then(|| frame.program.cells[cell].lock().clone()).flatten();
        let is_again = kept.is_some() || frame.local[cell].is_some();
        if let Some(compiled) = kept.filter(|compiled| compiled.is_valid(self.name_scope())) {
            return Ok(compiled);
        }
        self.programs.note_bound(is_again);
        let held_bytes = os::memory::thread_bytes();
        let fresh = self.bind_fresh(frame.program, instruction.variables_visible, cell)?;
        // No other session may see definitions of this transaction before it commits.
        if fresh.is_shareable() && !self.transactions.has_changed_catalog() {
            frame.program.keep(cell, &fresh);
            frame.program.note_made(held_bytes);
        }
        Ok(fresh)
    }

    /// Binds a cell, and again when a definition has changed while it waited for a name.
    fn bind_fresh(
        &self,
        program: &Program,
        variables_visible: usize,
        cell: Cell,
    ) -> Result<Arc<Compiled>, Interruption> {
        let mut tries = 0;
        loop {
            tries += 1;
            match program.bind_cell(cell, &self.bind_context(program, variables_visible)) {
                Ok(compiled) if compiled.is_valid(self.name_scope()) || tries == STALE_PLANS_MAX => {
                    return Ok(Arc::new(compiled));
                }
                Ok(_) => {}
                Err(_) if task::current().is_interrupted() => return Err(Stop::Attention.into()),
                // The statement itself is valid: it had to wait for a name.
                Err(error) if matches!(error.number, 1205 | 1222) => return Err(error.into()),
                // TRUNCATE is a definition: its table is resolved when it runs.
                Err(error) if error.number == 4701 => return Err(error.into()),
                Err(error) => {
                    let failure = Failure { error, origin: Origin::Compilation };
                    return Err(Interruption::Failed(failure));
                }
            }
        }
    }

    pub(crate) fn bind_context<'a>(
        &'a self,
        program: &'a Program,
        variables_visible: usize,
    ) -> BindContext<'a> {
        let context =
            self.bind_context_with(&program.variables[..variables_visible], program.schema.as_deref());
        BindContext { in_function: program.is_function(), ..context }
    }

    /// The binding context of a text with these variables; names without a schema are looked for in `schema` first, or in `dbo`.
    pub(crate) fn bind_context_with<'a>(
        &'a self,
        variables: &'a [VariableDef],
        schema: Option<&'a str>,
    ) -> BindContext<'a> {
        BindContext {
            instance: &self.instance,
            database: &self.database,
            default_schema: schema.unwrap_or("dbo"),
            variables,
            options: &self.options,
            names: &self.names,
            lookup: Lookup::new(&self.transactions),
            undeclared: None,
            missing: None,
            in_function: false,
            trigger: self.trigger.as_ref().map(|module| TriggerScope { database: &self.database, module }),
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

    pub(crate) fn predicate(
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

    /// One evaluation, inside a transaction if it has a subquery.
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
        if self.state.transaction_count == 0 && !self.transactions.is_idle() {
            self.end_statement(result.is_ok())?;
        } else {
            self.transactions.keep_table_variables()?;
        }
        Ok(result?)
    }
}
