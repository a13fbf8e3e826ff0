//! Cursors in the body of a function: local ones, over a copy of their rows that is made at OPEN.

use std::sync::Arc;

use query::ScalarProgram;
use types::{SqlError, SqlResult, Value};

use crate::batch::cell::{Compiled, STALE_PLANS_MAX};
use crate::batch::cursor::{CursorName, CursorPlan, CursorStep, Direction, FetchStep};
use crate::batch::frame::Frame;
use crate::batch::instruction::Instruction;
use crate::cursors::Cursor;
use crate::execution::cursor_fetch::{BEYOND, FOUND, assign_row, check_direction, go_to, target};
use crate::execution::cursors::{Collected, opened_with};
use crate::execution::function::FunctionRun;
use crate::values::to_int;

impl FunctionRun<'_> {
    /// A statement about a cursor. Errors as those of the session's cursors.
    pub(super) fn cursor_step(
        &mut self,
        frame: &mut Frame<'_>,
        instruction: &Instruction,
        step: &CursorStep,
    ) -> SqlResult<()> {
        let row_count = match step {
            CursorStep::Fetch(fetch) => {
                let fetched = self.fetch(frame, instruction, fetch);
                self.state.fetch_status.set(if matches!(fetched, Ok(true)) { FOUND } else { BEYOND });
                i64::from(fetched?)
            }
            CursorStep::Declare(plan) => {
                let cursor = self.new_cursor(frame, instruction, plan)?;
                self.state.own_cursors().declare(cursor, false)?;
                1
            }
            CursorStep::DeclareVariable(key) => {
                self.state.own_cursors().declare_variable(key);
                0
            }
            CursorStep::SetNew(key, plan) => {
                let cursor = self.new_cursor(frame, instruction, plan)?;
                self.state.own_cursors().assign_new(key, cursor);
                1
            }
            CursorStep::SetOther(key, name) => {
                self.state.own_cursors().assign_other(key, name)?;
                1
            }
            CursorStep::Open(name) => {
                self.open(name)?;
                0
            }
            CursorStep::Close(name) => {
                let cursors = self.state.own_cursors();
                let id = cursors.id_of(name)?;
                if cursors.get(id).opened.take().is_none() {
                    return Err(SqlError::new(16917, &[]));
                }
                0
            }
            CursorStep::Deallocate(name) => {
                self.state.own_cursors().deallocate(name)?;
                0
            }
            CursorStep::Current(_) => {
                return Err(query::errors::unsupported("WHERE CURRENT OF in a function"));
            }
        };
        self.state.row_count.set(row_count);
        Ok(())
    }

    fn new_cursor(
        &mut self,
        frame: &mut Frame<'_>,
        instruction: &Instruction,
        plan: &Arc<CursorPlan>,
    ) -> SqlResult<Cursor> {
        let compiled = self.bound(frame, instruction, plan.cell)?;
        let variables = frame.variables[..plan.variables.len()].to_vec();
        let place = (self.database.clone(), frame.program.schema.clone());
        // No view shows the cursors of a function, nor when they were made.
        Ok(Cursor::new(plan.clone(), compiled, variables, place, 0))
    }

    /// Copies the rows of the query, with the variables as they were at DECLARE.
    fn open(&mut self, name: &CursorName) -> SqlResult<()> {
        let cursors = self.state.own_cursors();
        let id = cursors.id_of(name)?;
        let cursor = cursors.get(id);
        if cursor.opened.is_some() {
            return Err(SqlError::new(16905, &[]));
        }
        let (plan, schema) = (cursor.plan.clone(), cursor.schema.clone());
        let (mut compiled, variables) = (cursor.compiled.clone(), cursor.variables.clone());
        for _ in 0..STALE_PLANS_MAX {
            let mut rows = Collected::default();
            let mut values = variables.clone();
            let Compiled::Statement(statement) = compiled.as_ref() else {
                unreachable!("the cell of a query holds a statement")
            };
            let ran = statement.execute(&mut self.context(&mut values), &mut rows);
            self.settle(ran.is_ok())?;
            match (ran, rows.failure.take()) {
                (Err(error), _) if error.is_stale_plan() => {
                    let context = self.bind_context(&plan.variables, schema.as_deref());
                    compiled = Arc::new(Compiled::Statement(query::compile(&plan.statement(), &context)?));
                }
                (Err(error), _) | (Ok(_), Some(error)) => return Err(error),
                (Ok(_), None) => {
                    let cursors = self.state.own_cursors();
                    cursors.note_opened(id);
                    cursors.get(id).opened = Some(Box::new(opened_with(rows, None).0));
                    return Ok(());
                }
            }
        }
        Err(SqlError::new(2801, &[]))
    }

    /// Whether a row was found.
    fn fetch(
        &mut self,
        frame: &mut Frame<'_>,
        instruction: &Instruction,
        fetch: &FetchStep,
    ) -> SqlResult<bool> {
        let number = match fetch.direction {
            Direction::Absolute(cell) | Direction::Relative(cell) => {
                let value: Value = self.scalar(frame, instruction, cell, ScalarProgram::eval)?;
                i64::from(to_int(&value)?.unwrap_or(0))
            }
            _ => 0,
        };
        let cursors = self.state.own_cursors();
        let id = cursors.id_of(&fetch.cursor)?;
        let cursor = cursors.get(id);
        let Some(opened) = cursor.opened.as_mut() else { return Err(SqlError::new(16917, &[])) };
        check_direction(fetch.direction, &cursor.plan.properties, opened)?;
        if fetch.into.len() != opened.columns.len() {
            return Err(SqlError::new(16924, &[]));
        }
        let place = target(fetch.direction, number, opened);
        opened.has_row = go_to(opened, place.position) == FOUND;
        if opened.has_row {
            assign_row(&self.options, frame, &fetch.into, &opened.columns, opened.current())?;
        }
        Ok(opened.has_row)
    }
}
