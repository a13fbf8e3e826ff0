//! INSERT, UPDATE, DELETE, MERGE, TRUNCATE, BULK INSERT, INSERT BULK.

use super::{Parsed, Parser};
use crate::ast::{
    AssignOp, BulkColumn, BulkInsert, ColumnRef, Delete, DmlFilter, DmlTarget, DmlTargetKind, Expr, Insert,
    InsertBulk, InsertSource, Merge, MergeAction, MergeClause, MergeWhen, Output, OutputInto, SelectItem,
    SetClause, Statement, StatementKind, TableSource, Truncate, Update, With,
};
use crate::keywords::Keyword;
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// INSERT, UPDATE, DELETE or MERGE as a table source.
    pub(super) fn dml_statement(&mut self) -> Parsed<Statement> {
        let start = self.token();
        let kind = match start.kind {
            TokenKind::Keyword(Keyword::Insert) => self.insert(None)?,
            TokenKind::Keyword(Keyword::Update) => self.update(None)?,
            TokenKind::Keyword(Keyword::Delete) => self.delete(None)?,
            _ => self.merge(None)?,
        };
        Ok(Statement { span: self.span_from(start), kind })
    }

    pub(super) fn insert(&mut self, with: Option<With>) -> Parsed<StatementKind> {
        self.expect(Keyword::Insert)?;
        if self.at(Keyword::Bulk) && with.is_none() {
            return self.insert_bulk();
        }
        let top = self.top_of_change_opt()?;
        self.accept(Keyword::Into);
        let target = self.dml_target()?;
        let columns = if self.at_insert_columns() { self.paren_list(Self::column_ref)? } else { Vec::new() };
        let output = self.output_clauses()?;
        let source = self.insert_source()?;
        let options = self.query_hints_opt()?;
        Ok(StatementKind::Insert(Box::new(Insert { with, top, target, columns, output, source, options })))
    }

    /// `(` that opens a column list and not a query: `INSERT t (SELECT ..)`.
    fn at_insert_columns(&self) -> bool {
        self.at_symbol(b'(') && !self.at_ahead(1, Keyword::Select) && !self.symbol_ahead(1, b'(')
    }

    fn insert_source(&mut self) -> Parsed<InsertSource> {
        match self.kind() {
            TokenKind::Keyword(Keyword::Values) => {
                self.advance();
                Ok(InsertSource::Values(self.inserted_rows()?))
            }
            TokenKind::Keyword(Keyword::Default) => {
                self.advance();
                self.expect(Keyword::Values)?;
                Ok(InsertSource::DefaultValues)
            }
            TokenKind::Keyword(Keyword::Exec | Keyword::Execute) => {
                Ok(InsertSource::Execute(self.execute()?))
            }
            TokenKind::Keyword(Keyword::With) => {
                Err(self.error_at(319, self.token(), self.near(self.token())))
            }
            TokenKind::Keyword(Keyword::Select) | TokenKind::Symbol(b'(') => {
                Ok(InsertSource::Query(self.query()?))
            }
            _ => Err(self.unexpected()),
        }
    }

    /// The rows of VALUES of an INSERT: they may contain no column (128), outside of queries.
    fn inserted_rows(&mut self) -> Parsed<Vec<Vec<Expr>>> {
        let outer = std::mem::replace(&mut self.in_values, true);
        let rows = self.value_rows();
        self.in_values = outer;
        rows
    }

    /// The table to change with its hints.
    fn dml_target(&mut self) -> Parsed<DmlTarget> {
        let kind = self.dml_target_kind()?;
        let mut hints = self.table_hints_opt()?;
        if self.at_symbol(b'(') && self.at_old_style_hint() {
            hints.extend(self.paren_hints()?);
        }
        Ok(DmlTarget { kind, hints })
    }

    fn dml_target_kind(&mut self) -> Parsed<DmlTargetKind> {
        match self.kind() {
            TokenKind::Variable => {
                let token = self.token();
                Ok(DmlTargetKind::Variable(self.variable()?, self.span_of(token)))
            }
            TokenKind::Keyword(
                keyword @ (Keyword::Openrowset | Keyword::Openquery | Keyword::Opendatasource),
            ) => Ok(DmlTargetKind::Source(Box::new(self.open_rowset(keyword)?))),
            _ => Ok(DmlTargetKind::Table(self.object_name()?)),
        }
    }

    /// Up to two OUTPUT clauses.
    fn output_clauses(&mut self) -> Parsed<Vec<Output>> {
        let mut clauses = Vec::new();
        while clauses.len() < 2 && self.accept_word("OUTPUT") {
            self.in_output = true;
            let items = self.comma_list(Self::select_item);
            self.in_output = false;
            let items: Vec<SelectItem> = items?;
            let into = if self.accept(Keyword::Into) {
                let target = self.dml_target_kind()?;
                let columns =
                    if self.at_insert_columns() { self.paren_list(Self::column_ref)? } else { Vec::new() };
                Some(OutputInto { target, columns })
            } else {
                None
            };
            clauses.push(Output { items, into });
        }
        Ok(clauses)
    }

    pub(super) fn update(&mut self, with: Option<With>) -> Parsed<StatementKind> {
        self.expect(Keyword::Update)?;
        let top = self.top_of_change_opt()?;
        let target = self.dml_target()?;
        self.expect(Keyword::Set)?;
        let set = self.comma_list(Self::set_clause)?;
        let output = self.output_clauses()?;
        let from = if self.accept(Keyword::From) { self.comma_list(Self::table_source)? } else { Vec::new() };
        let filter = self.dml_filter_opt()?;
        let options = self.query_hints_opt()?;
        let update = Update { with, top, target, set, output, from, filter, options };
        Ok(StatementKind::Update(Box::new(update)))
    }

    fn set_clause(&mut self) -> Parsed<SetClause> {
        if self.kind() == TokenKind::Variable {
            return self.set_variable_clause();
        }
        let mut column = self.column_ref()?;
        if self.at_symbol(b'(') {
            let method = column.name;
            let Some(qualifier) = column.qualifier.take() else { return Err(self.unexpected()) };
            column = split_last(*qualifier);
            let args = self.call_args()?;
            return Ok(SetClause::Method { column, method, args });
        }
        let op = self.expect_assign()?;
        Ok(SetClause::Column { column, op, value: self.set_value_of(op)? })
    }

    /// DEFAULT is allowed behind a plain `=` only.
    fn set_value_of(&mut self, op: AssignOp) -> Parsed<Expr> {
        if op == AssignOp::Set { self.value_or_default() } else { self.value() }
    }

    /// `@v = expr`, `@v = col = expr`
    fn set_variable_clause(&mut self) -> Parsed<SetClause> {
        let variable = self.variable()?;
        let op = self.expect_assign()?;
        if op == AssignOp::Set && self.at_ident() {
            let mark = self.position;
            let column = self.column_ref()?;
            if let Some(length) = self.assign_operator_at(0) {
                let op = self.assign_operator(length);
                let value = self.set_value_of(op)?;
                return Ok(SetClause::VariableAndColumn { variable, column, op, value });
            }
            self.position = mark;
        }
        Ok(SetClause::Variable { variable, op, value: self.value()? })
    }

    /// `WHERE condition` or `WHERE CURRENT OF cursor`
    fn dml_filter_opt(&mut self) -> Parsed<Option<DmlFilter>> {
        if !self.accept(Keyword::Where) {
            return Ok(None);
        }
        if self.accept(Keyword::Current) {
            self.expect(Keyword::Of)?;
            return Ok(Some(DmlFilter::CurrentOf(self.cursor_ref()?)));
        }
        Ok(Some(DmlFilter::Where(self.condition()?)))
    }

    pub(super) fn delete(&mut self, with: Option<With>) -> Parsed<StatementKind> {
        self.expect(Keyword::Delete)?;
        let top = self.top_of_change_opt()?;
        self.accept(Keyword::From);
        let target = self.dml_target()?;
        let output = self.output_clauses()?;
        let from = if self.accept(Keyword::From) { self.comma_list(Self::table_source)? } else { Vec::new() };
        let filter = self.dml_filter_opt()?;
        let options = self.query_hints_opt()?;
        Ok(StatementKind::Delete(Box::new(Delete { with, top, target, output, from, filter, options })))
    }

    pub(super) fn merge(&mut self, with: Option<With>) -> Parsed<StatementKind> {
        self.expect(Keyword::Merge)?;
        let top = self.top_of_change_opt()?;
        self.accept(Keyword::Into);
        let mut target = self.dml_target()?;
        let alias = self.table_alias_opt()?;
        target.hints.extend(self.table_hints_opt()?);
        self.expect_word("USING")?;
        let source: TableSource = self.table_source()?;
        self.expect(Keyword::On)?;
        let on = self.condition()?;
        let mut clauses = Vec::new();
        while self.at(Keyword::When) {
            clauses.push(self.merge_clause()?);
        }
        if clauses.is_empty() {
            return Err(self.unexpected());
        }
        let output = self.output_clauses()?;
        let options = self.query_hints_opt()?;
        // MERGE is the one statement that must end with a semicolon (10713), except inside parentheses.
        if !self.at_symbol(b';') && !self.at_symbol(b')') {
            let last = self.tokens[self.position.saturating_sub(1)];
            return Err(self.error_at(10713, last, String::new()));
        }
        let merge = Merge { with, top, target, alias, source, on, clauses, output, options };
        Ok(StatementKind::Merge(Box::new(merge)))
    }

    fn merge_clause(&mut self) -> Parsed<MergeClause> {
        self.expect(Keyword::When)?;
        let when = if self.accept(Keyword::Not) {
            self.expect_word("MATCHED")?;
            if self.accept(Keyword::By) {
                if self.accept_word("SOURCE") {
                    MergeWhen::NotMatchedBySource
                } else {
                    self.expect_word("TARGET")?;
                    MergeWhen::NotMatchedByTarget
                }
            } else {
                MergeWhen::NotMatchedByTarget
            }
        } else {
            self.expect_word("MATCHED")?;
            MergeWhen::Matched
        };
        let condition = if self.accept(Keyword::And) { Some(self.condition()?) } else { None };
        self.expect(Keyword::Then)?;
        Ok(MergeClause { when, condition, action: self.merge_action(when)? })
    }

    fn merge_action(&mut self, when: MergeWhen) -> Parsed<MergeAction> {
        let action = self.token();
        if when == MergeWhen::NotMatchedByTarget {
            if self.at(Keyword::Update) || self.at(Keyword::Delete) {
                let near = if self.at(Keyword::Update) { "UPDATE" } else { "DELETE" };
                return Err(self.error_at(10710, action, near.to_string()));
            }
            self.expect(Keyword::Insert)?;
            let columns = if self.at_symbol(b'(') { self.paren_list(Self::column_ref)? } else { Vec::new() };
            if self.accept(Keyword::Default) {
                self.expect(Keyword::Values)?;
                return Ok(MergeAction::Insert(columns, None));
            }
            self.expect(Keyword::Values)?;
            return Ok(MergeAction::Insert(columns, Some(self.paren_list(Self::value_or_default)?)));
        }
        if self.at(Keyword::Insert) {
            let near = if when == MergeWhen::Matched { "WHEN MATCHED" } else { "WHEN NOT MATCHED BY SOURCE" };
            return Err(self.error_at(10711, action, near.to_string()));
        }
        if self.accept(Keyword::Delete) {
            return Ok(MergeAction::Delete);
        }
        self.expect(Keyword::Update)?;
        self.expect(Keyword::Set)?;
        Ok(MergeAction::Update(self.comma_list(Self::set_clause)?))
    }

    /// TRUNCATE TABLE t [WITH (PARTITIONS (..))]
    pub(super) fn truncate(&mut self) -> Parsed<StatementKind> {
        self.expect(Keyword::Truncate)?;
        self.expect(Keyword::Table)?;
        let table = self.object_name()?;
        let mut partitions = Vec::new();
        if self.at(Keyword::With) && self.symbol_ahead(1, b'(') {
            self.advance();
            self.advance();
            self.expect_word("PARTITIONS")?;
            partitions = self.paren_list(Self::range)?;
            self.expect_symbol(b')')?;
        }
        Ok(StatementKind::Truncate(Box::new(Truncate { table, partitions })))
    }

    /// BULK INSERT t FROM 'file' [WITH (..)]
    pub(super) fn bulk_insert(&mut self) -> Parsed<StatementKind> {
        self.expect(Keyword::Bulk)?;
        self.expect(Keyword::Insert)?;
        let table = self.object_name()?;
        self.expect(Keyword::From)?;
        let file = match self.at_ident() {
            // An unquoted name is taken as text.
            true => {
                let token = self.token();
                let name = self.ident()?.value;
                let kind = crate::ast::ExprKind::Literal(crate::ast::Literal::String(name));
                crate::ast::Expr { span: self.span_of(token), kind }
            }
            false => self.signed_constant()?,
        };
        let options = self.with_options_opt()?;
        Ok(StatementKind::BulkInsert(Box::new(BulkInsert { table, file, options })))
    }

    /// INSERT BULK t (c type, ..) [WITH (..)], with BULK standing here.
    fn insert_bulk(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let table = self.object_name()?;
        let columns = if self.at_symbol(b'(') { self.paren_list(Self::bulk_column)? } else { Vec::new() };
        let options = self.with_options_opt()?;
        Ok(StatementKind::InsertBulk(Box::new(InsertBulk { table, columns, options })))
    }

    fn bulk_column(&mut self) -> Parsed<BulkColumn> {
        let name = self.ident()?;
        let data_type = self.data_type()?;
        let collation = self.collation_opt()?;
        let nullable = self.nullable_opt()?;
        Ok(BulkColumn { name, data_type, collation, nullable })
    }
}

/// The column that a dotted name in front of a method names.
fn split_last(mut name: crate::ast::ObjectName) -> ColumnRef {
    let column = std::mem::take(&mut name.name);
    let Some(table) = name.schema.take() else { return ColumnRef { qualifier: None, name: column } };
    name.name = table;
    name.schema = name.database.take();
    name.database = name.server.take();
    ColumnRef { qualifier: Some(Box::new(name)), name: column }
}
