//! Compilation of the statements about cursors and cursor variables.

use std::sync::Arc;

use os::{Latch, LatchRank};
use tsql::ast::{self, ExprKind, StatementKind};
use types::{SqlError, SqlResult};

use crate::batch::cell::CellSource;
use crate::batch::compile::Compiler;
use crate::batch::cursor::{
    CurrentStep, CursorName, CursorPlan, CursorStep, Direction, FetchStep, select_of, select_statement,
};
use crate::batch::instruction::InstructionKind;
use crate::done_command as command;

impl Compiler<'_> {
    /// Is the statement about a cursor? UPDATE and DELETE with WHERE CURRENT OF are.
    pub(super) fn is_about_cursor(kind: &StatementKind) -> bool {
        match kind {
            StatementKind::DeclareCursor(_)
            | StatementKind::OpenCursor(_)
            | StatementKind::Fetch(_)
            | StatementKind::CloseCursor(_)
            | StatementKind::DeallocateCursor(_) => true,
            StatementKind::Update(update) => matches!(update.filter, Some(ast::DmlFilter::CurrentOf(_))),
            StatementKind::Delete(delete) => matches!(delete.filter, Some(ast::DmlFilter::CurrentOf(_))),
            _ => false,
        }
    }

    pub(super) fn cursor_statement(&mut self, statement: &ast::Statement) -> SqlResult<()> {
        let step = match &statement.kind {
            StatementKind::DeclareCursor(declared) => {
                let plan = self.cursor_plan(&declared.name.value, &declared.definition)?;
                CursorStep::Declare(plan)
            }
            StatementKind::OpenCursor(cursor) => CursorStep::Open(self.cursor_name(cursor)?),
            StatementKind::CloseCursor(cursor) => CursorStep::Close(self.cursor_name(cursor)?),
            StatementKind::DeallocateCursor(cursor) => CursorStep::Deallocate(self.cursor_name(cursor)?),
            StatementKind::Fetch(fetch) => CursorStep::Fetch(self.fetch_step(fetch)?),
            StatementKind::Update(update) => {
                self.current_step(statement, command::UPDATE, update.filter.as_ref(), &update.from)?
            }
            StatementKind::Delete(delete) => {
                self.current_step(statement, command::DELETE, delete.filter.as_ref(), &delete.from)?
            }
            _ => unreachable!("asked before"),
        };
        self.emit(InstructionKind::Cursor(Box::new(step)));
        Ok(())
    }

    fn cursor_plan(&mut self, name: &str, definition: &ast::CursorDefinition) -> SqlResult<Arc<CursorPlan>> {
        self.check_cursor_query(&definition.query)?;
        let statement = select_statement(select_of(definition), self.span);
        let cell = self.cell(CellSource::Statement(Box::new(statement)));
        Ok(Arc::new(CursorPlan::new(name, definition, self.span, (cell, &self.variables))))
    }

    /// What a query of a cursor may not have (16907).
    fn check_cursor_query(&self, query: &ast::Query) -> SqlResult<()> {
        let refused = |what: &str| Err(SqlError::new(16907, &[&what]).at_line(self.line));
        if query.for_clause.is_some() {
            return refused("The FOR clause");
        }
        let ast::QueryBody::Select(block) = &query.body else { return Ok(()) };
        if block.into.is_some() {
            return refused("INTO");
        }
        match block.items.iter().any(|item| matches!(item, ast::SelectItem::Assign { .. })) {
            true => refused("An assignment to a variable"),
            false => Ok(()),
        }
    }

    /// Errors 137 and 16948 of a cursor variable.
    fn cursor_name(&self, reference: &ast::CursorRef) -> SqlResult<CursorName> {
        if let ast::CursorRef::Variable(name) = reference {
            self.check_cursor_variable(name)?;
        }
        Ok(CursorName::of(reference))
    }

    fn check_cursor_variable(&self, name: &str) -> SqlResult<()> {
        if self.is_cursor_variable(name) {
            return Ok(());
        }
        self.known_slot(name)?;
        Err(SqlError::new(16948, &[&name]).at_line(self.line))
    }

    fn fetch_step(&mut self, fetch: &ast::Fetch) -> SqlResult<FetchStep> {
        let cursor = self.cursor_name(&fetch.cursor)?;
        let direction = match &fetch.direction {
            None | Some(ast::FetchDirection::Next) => Direction::Next,
            Some(ast::FetchDirection::Prior) => Direction::Prior,
            Some(ast::FetchDirection::First) => Direction::First,
            Some(ast::FetchDirection::Last) => Direction::Last,
            Some(ast::FetchDirection::Absolute(number)) => Direction::Absolute(self.scalar(number)),
            Some(ast::FetchDirection::Relative(number)) => Direction::Relative(self.scalar(number)),
        };
        let into = fetch.into.iter().map(|name| match self.is_cursor_variable(name) {
            true => Err(SqlError::new(16949, &[name]).at_line(self.line)),
            false => self.known_slot(name),
        });
        let into = into.collect::<SqlResult<Vec<usize>>>()?;
        Ok(FetchStep { direction, cursor, into })
    }

    fn current_step(
        &mut self,
        statement: &ast::Statement,
        command: u16,
        filter: Option<&ast::DmlFilter>,
        from: &[ast::TableSource],
    ) -> SqlResult<CursorStep> {
        let Some(ast::DmlFilter::CurrentOf(cursor)) = filter else { unreachable!("asked before") };
        if !from.is_empty() {
            return Err(query::errors::unsupported("WHERE CURRENT OF beside FROM").at_line(self.line));
        }
        let (cursor, statement) = (self.cursor_name(cursor)?, statement.clone());
        let kept = Latch::new(LatchRank::PlanCache, None);
        Ok(CursorStep::Current(Box::new(CurrentStep { cursor, statement, command, kept })))
    }

    pub(super) fn is_cursor_variable(&self, name: &str) -> bool {
        self.cursor_variables.contains(&name.to_lowercase())
    }

    /// `DECLARE @c CURSOR`; error 134 when the name is taken.
    pub(super) fn declare_cursor_variable(&mut self, name: &str) -> SqlResult<()> {
        let key = name.to_lowercase();
        if self.cursor_variables.contains(&key) {
            return Err(SqlError::new(134, &[&name]).at_line(self.line));
        }
        self.cursor_variables.push(key.clone());
        self.emit(InstructionKind::Cursor(Box::new(CursorStep::DeclareVariable(key))));
        Ok(())
    }

    /// `SET @c = CURSOR ...`
    pub(super) fn set_cursor(&mut self, variable: &str, definition: &ast::CursorDefinition) -> SqlResult<()> {
        self.check_cursor_variable(variable)?;
        let plan = self.cursor_plan("", definition)?;
        let step = CursorStep::SetNew(variable.to_lowercase(), plan);
        self.emit(InstructionKind::Cursor(Box::new(step)));
        Ok(())
    }

    /// `SET @c = name` and `SET @c = @d`.
    pub(super) fn set_cursor_again(&mut self, variable: &str, value: &ast::Expr) -> SqlResult<()> {
        let reference = match &value.kind {
            ExprKind::Variable(name) => ast::CursorRef::Variable(name.clone()),
            ExprKind::Column(ast::ColumnRef { qualifier: None, name }) => {
                ast::CursorRef::Name { name: name.clone(), global: false }
            }
            _ => return Err(SqlError::new(16949, &[&variable]).at_line(self.line)),
        };
        let step = CursorStep::SetOther(variable.to_lowercase(), self.cursor_name(&reference)?);
        self.emit(InstructionKind::Cursor(Box::new(step)));
        Ok(())
    }
}
