//! Views, procedures, functions, triggers, schemas.

use std::collections::BTreeSet;

use super::scope::ScopeKind;
use super::{Parsed, Parser, QUERY};
use crate::ast::{
    AlterSchema, CreateFunction, CreateProcedure, CreateSchema, CreateTrigger, CreateView, EnableTrigger,
    ExecuteAsClause, ForClause, FunctionBody, FunctionReturns, Ident, ModuleAction, ModuleBody, ModuleOption,
    Parameter, SelectStatement, Statement, StatementKind, TriggerScope, TriggerTiming,
};
use crate::keywords::Keyword;
use crate::lexer::{Token, TokenKind};

impl Parser<'_> {
    /// CREATE/ALTER of a view, procedure, function or trigger; `start` is CREATE or ALTER. Error 111 unless it is
    /// the first statement of the batch.
    pub(super) fn module(
        &mut self,
        start: Token,
        action: ModuleAction,
        materialized: bool,
    ) -> Parsed<StatementKind> {
        let keyword_token = self.token();
        let TokenKind::Keyword(keyword) = keyword_token.kind else { return Err(self.unexpected()) };
        if self.scope.blocks > 0 {
            return Err(self.unexpected());
        }
        if !self.is_first(start) {
            let error = self.error_at(111, start, must_be_first(action, keyword));
            self.report(error);
        }
        self.advance();
        match keyword {
            Keyword::View => self.view(action, materialized),
            Keyword::Function => self.function(action),
            Keyword::Trigger => self.trigger(action),
            _ => self.procedure(action),
        }
    }

    /// Whether only `;` are before `token` in the batch.
    pub(super) fn is_first(&self, token: Token) -> bool {
        self.tokens
            .iter()
            .take_while(|other| other.start < token.start)
            .all(|other| other.kind == TokenKind::Symbol(b';'))
    }

    /// A module is alone in its batch: anything behind it is an error.
    pub(super) fn expect_batch_end(&mut self) -> Parsed<()> {
        while self.accept_symbol(b';') {}
        if self.kind() == TokenKind::End { Ok(()) } else { Err(self.unexpected()) }
    }

    fn view(&mut self, action: ModuleAction, materialized: bool) -> Parsed<StatementKind> {
        let name = self.object_name()?;
        let columns = self.ident_list_opt()?;
        let options = self.options_once(Self::view_option)?;
        self.expect(Keyword::As)?;
        let with = if self.at(Keyword::With) { Some(self.with_clause()?) } else { None };
        let query = self.select_statement(with)?;
        self.refuse_hints(&query)?;
        if matches!(query.query.for_clause.as_deref(), Some(ForClause::Browse)) {
            return Err(self.error_at(176, self.tokens[self.position - 1], String::new()));
        }
        let check_option = self.accept_words(&["WITH", "CHECK", "OPTION"]);
        self.expect_batch_end()?;
        let view = CreateView { action, name, columns, options, query, check_option, materialized };
        Ok(StatementKind::CreateView(Box::new(view)))
    }

    fn view_option(&mut self) -> Parsed<Ident> {
        let token = self.token();
        let option = self.ident()?;
        let known = ["SCHEMABINDING", "ENCRYPTION", "VIEW_METADATA", "DISTRIBUTION"];
        if known.iter().any(|word| option.is(word)) {
            Ok(option)
        } else {
            Err(self.unknown_word(&option, token))
        }
    }

    fn procedure(&mut self, action: ModuleAction) -> Parsed<StatementKind> {
        let name = self.object_name()?;
        let number = if self.at_symbol(b';') && self.peek_kind(1) == TokenKind::Integer {
            self.advance();
            let token = self.advance();
            self.token_text(token).parse().ok()
        } else {
            None
        };
        let parenthesized = self.accept_symbol(b'(');
        let empty = parenthesized && self.at_symbol(b')');
        let parameters =
            if self.kind() == TokenKind::Variable && !empty { self.parameters()? } else { Vec::new() };
        if parenthesized {
            self.expect_symbol(b')')?;
        }
        let options = self.module_options_opt()?;
        let for_replication = self.accept_words(&["FOR", "REPLICATION"]);
        self.expect(Keyword::As)?;
        let body = self.module_body(ScopeKind::Procedure, &parameters)?;
        let procedure = CreateProcedure { action, name, number, parameters, options, for_replication, body };
        Ok(StatementKind::CreateProcedure(Box::new(procedure)))
    }

    /// Statements up to the end of the batch, or EXTERNAL NAME.
    fn module_body(&mut self, kind: ScopeKind, parameters: &[Parameter]) -> Parsed<ModuleBody> {
        if self.at(Keyword::External) && self.word_ahead(1, "NAME") {
            self.advance();
            self.advance();
            let body = ModuleBody::External(self.object_name()?);
            self.expect_batch_end()?;
            return Ok(body);
        }
        let names: Vec<String> = parameters.iter().map(|parameter| parameter.name.to_lowercase()).collect();
        let statements = self.in_scope(kind, names.into_iter(), |p| {
            let statements = p.statement_list();
            // A procedure may have no statement.
            if statements.is_empty() && p.errors.is_empty() && kind != ScopeKind::Procedure {
                return Err(p.unexpected());
            }
            Ok(statements)
        })?;
        self.expect_batch_end()?;
        Ok(ModuleBody::Statements(statements))
    }

    /// Parameters, each of another name: else 134.
    fn parameters(&mut self) -> Parsed<Vec<Parameter>> {
        let (mut all, mut names) = (Vec::new(), BTreeSet::new());
        loop {
            let token = self.token();
            let parameter = self.parameter()?;
            if !names.insert(parameter.name.to_lowercase()) {
                return Err(self.error_at(134, token, parameter.name));
            }
            all.push(parameter);
            if !self.accept_symbol(b',') {
                return Ok(all);
            }
        }
    }

    /// `@p [AS] type [VARYING] [[NOT] NULL] [= default] [OUTPUT] [READONLY]`
    fn parameter(&mut self) -> Parsed<Parameter> {
        let start = self.token();
        let name = self.variable()?;
        self.accept(Keyword::As);
        let data_type = self.data_type()?;
        let nullable = self.nullable_opt()?;
        let default = if self.accept_symbol(b'=') { Some(self.parameter_default()?) } else { None };
        let mut parameter = Parameter {
            name,
            data_type,
            nullable,
            default,
            output: false,
            read_only: false,
            span: self.span_of(start),
        };
        loop {
            if !parameter.output && (self.accept_word("OUTPUT") || self.accept_word("OUT")) {
                parameter.output = true;
            } else if !parameter.read_only && self.accept_word("READONLY") {
                parameter.read_only = true;
            } else {
                break;
            }
        }
        parameter.span = self.span_from(start);
        Ok(parameter)
    }

    /// A constant; a bare word means its text, as in EXEC.
    fn parameter_default(&mut self) -> Parsed<crate::ast::Expr> {
        if self.at_ident() {
            let token = self.token();
            let word = self.ident()?.value;
            let kind = crate::ast::ExprKind::Literal(crate::ast::Literal::String(word));
            return Ok(crate::ast::Expr { span: self.span_of(token), kind });
        }
        if self.at_symbol(b'(') && !self.at_ahead(1, Keyword::Select) {
            return self.value_without_rows();
        }
        if self.kind() == TokenKind::Variable {
            return Err(self.unexpected());
        }
        self.signed_constant()
    }

    fn module_options_opt(&mut self) -> Parsed<Vec<ModuleOption>> {
        self.options_once(Self::module_option)
    }

    /// `WITH option, ..`, if present, each option once: else 1039.
    fn options_once<T: PartialEq>(&mut self, option: fn(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut options = Vec::new();
        if !self.accept(Keyword::With) {
            return Ok(options);
        }
        loop {
            let token = self.token();
            let one = option(self)?;
            if options.contains(&one) {
                return Err(self.error_at(1039, token, self.near(token)));
            }
            options.push(one);
            if !self.accept_symbol(b',') {
                return Ok(options);
            }
        }
    }

    fn module_option(&mut self) -> Parsed<ModuleOption> {
        if self.accept(Keyword::Exec) || self.accept(Keyword::Execute) {
            self.expect(Keyword::As)?;
            return Ok(ModuleOption::ExecuteAs(self.execute_as_clause()?));
        }
        if self.accept_words(&["RETURNS", "NULL", "ON", "NULL", "INPUT"]) {
            return Ok(ModuleOption::ReturnsNullOnNullInput);
        }
        if self.accept_words(&["CALLED", "ON", "NULL", "INPUT"]) {
            return Ok(ModuleOption::CalledOnNullInput);
        }
        if self.accept_word("INLINE") {
            self.expect_symbol(b'=')?;
            return Ok(ModuleOption::Inline(self.on_off()?));
        }
        match () {
            () if self.accept_word("ENCRYPTION") => Ok(ModuleOption::Encryption),
            () if self.accept_word("RECOMPILE") => Ok(ModuleOption::Recompile),
            () if self.accept_word("SCHEMABINDING") => Ok(ModuleOption::SchemaBinding),
            () if self.accept_word("NATIVE_COMPILATION") => Ok(ModuleOption::NativeCompilation),
            () if self.accept_word("VIEW_METADATA") => Ok(ModuleOption::ViewMetadata),
            () => Err(self.unexpected()),
        }
    }

    fn execute_as_clause(&mut self) -> Parsed<ExecuteAsClause> {
        match () {
            () if self.accept_word("CALLER") => Ok(ExecuteAsClause::Caller),
            () if self.accept_word("SELF") => Ok(ExecuteAsClause::SelfUser),
            () if self.accept_word("OWNER") => Ok(ExecuteAsClause::Owner),
            () => Ok(ExecuteAsClause::User(self.expect_string()?)),
        }
    }

    fn function(&mut self, action: ModuleAction) -> Parsed<StatementKind> {
        let name = self.object_name()?;
        self.expect_symbol(b'(')?;
        let parameters = if self.at_symbol(b')') { Vec::new() } else { self.parameters()? };
        self.expect_symbol(b')')?;
        self.expect_word("RETURNS")?;
        let returns = self.function_returns()?;
        let options = self.module_options_opt()?;
        if self.accept(Keyword::Order) {
            self.index_columns()?;
        }
        self.accept(Keyword::As);
        let mut names: Vec<String> =
            parameters.iter().map(|parameter| parameter.name.to_lowercase()).collect();
        let kind = match &returns {
            FunctionReturns::Scalar(_) => ScopeKind::ScalarFunction,
            FunctionReturns::Table { variable, .. } => {
                names.push(variable.to_lowercase());
                ScopeKind::TableFunction
            }
            _ => ScopeKind::TableFunction,
        };
        let inline = returns == FunctionReturns::InlineTable;
        let body = self.in_scope(kind, names.into_iter(), |p| p.function_body(inline))?;
        self.expect_batch_end()?;
        let function = CreateFunction { action, name, parameters, returns, options, body };
        Ok(StatementKind::CreateFunction(Box::new(function)))
    }

    fn function_returns(&mut self) -> Parsed<FunctionReturns> {
        if self.kind() == TokenKind::Variable {
            let variable = self.variable()?;
            self.expect(Keyword::Table)?;
            let elements = self.nested(QUERY, Self::nameless_elements)?;
            let memory_options = self.at(Keyword::With) && self.symbol_ahead(1, b'(');
            let options = if memory_options { self.with_options_opt()? } else { Vec::new() };
            return Ok(FunctionReturns::Table { variable, elements, options });
        }
        if self.accept(Keyword::Table) {
            if self.at_symbol(b'(') {
                return Ok(FunctionReturns::ClrTable(self.nested(QUERY, Self::table_elements)?));
            }
            return Ok(FunctionReturns::InlineTable);
        }
        Ok(FunctionReturns::Scalar(self.data_type()?))
    }

    fn function_body(&mut self, inline: bool) -> Parsed<FunctionBody> {
        if self.at(Keyword::External) && self.word_ahead(1, "NAME") {
            self.advance();
            self.advance();
            return Ok(FunctionBody::External(self.object_name()?));
        }
        if inline {
            // Natively compiled or not, the body is one RETURN.
            self.expect(Keyword::Return)?;
            return self.inline_query();
        }
        self.expect(Keyword::Begin)?;
        if self.at_word("ATOMIC") {
            return Ok(FunctionBody::Atomic(Box::new(self.atomic_block()?)));
        }
        let statements = self.inner_list()?;
        self.expect(Keyword::End)?;
        Ok(FunctionBody::Block(statements))
    }

    /// `(query)` or `query`; WITH may be inside the parentheses.
    fn inline_query(&mut self) -> Parsed<FunctionBody> {
        let mut query = self.parenthesized_inline_query()?;
        query.query = self.limited(query.query)?;
        Ok(FunctionBody::Query(Box::new(query)))
    }

    /// ORDER BY may be inside the parentheses, if these hold the whole query.
    fn parenthesized_inline_query(&mut self) -> Parsed<SelectStatement> {
        if self.at_symbol(b'(') && !self.set_operator_behind_parenthesis() {
            return self.nested(QUERY, |p| {
                p.advance();
                let query = p.parenthesized_inline_query()?;
                p.expect_symbol(b')')?;
                Ok(query)
            });
        }
        let with = if self.at(Keyword::With) { Some(self.with_clause()?) } else { None };
        let query = self.select_statement(with)?;
        self.refuse_hints(&query)?;
        Ok(query)
    }

    /// The query of a view or an inline function is a part of others: OPTION belongs to a whole statement.
    fn refuse_hints(&self, query: &SelectStatement) -> Parsed<()> {
        let is_option = |at: &usize| self.tokens[*at].kind == TokenKind::Keyword(Keyword::Option);
        match (0..self.position).rev().find(is_option) {
            Some(at) if !query.options.is_empty() => Err(self.unexpected_at(at)),
            _ => Ok(()),
        }
    }

    fn trigger(&mut self, action: ModuleAction) -> Parsed<StatementKind> {
        let name = self.object_name()?;
        self.expect(Keyword::On)?;
        let on = self.trigger_scope()?;
        let options = self.module_options_opt()?;
        let timing = if self.accept(Keyword::For) {
            TriggerTiming::For
        } else if self.accept_word("AFTER") {
            TriggerTiming::After
        } else {
            self.expect_word("INSTEAD")?;
            self.expect(Keyword::Of)?;
            TriggerTiming::InsteadOf
        };
        let events = self.comma_list(Self::ident_or_keyword)?;
        let with_append = self.accept_words(&["WITH", "APPEND"]);
        let not_for_replication = self.not_for_replication_opt()?;
        self.expect(Keyword::As)?;
        let body = self.module_body(ScopeKind::Trigger, &[])?;
        let trigger = CreateTrigger {
            action,
            name,
            on,
            options,
            timing,
            events,
            with_append,
            not_for_replication,
            body,
        };
        Ok(StatementKind::CreateTrigger(Box::new(trigger)))
    }

    /// A table or view, DATABASE, or ALL SERVER.
    pub(super) fn trigger_scope(&mut self) -> Parsed<TriggerScope> {
        if self.accept(Keyword::Database) {
            return Ok(TriggerScope::Database);
        }
        if self.accept(Keyword::All) {
            self.expect_word("SERVER")?;
            return Ok(TriggerScope::AllServer);
        }
        Ok(TriggerScope::Object(self.object_name()?))
    }

    /// ENABLE|DISABLE TRIGGER a, b|ALL ON scope
    pub(super) fn enable_trigger(&mut self) -> Parsed<StatementKind> {
        let enable = self.at_word("ENABLE");
        self.advance();
        self.expect(Keyword::Trigger)?;
        let triggers =
            if self.accept(Keyword::All) { Vec::new() } else { self.comma_list(Self::object_name)? };
        self.expect(Keyword::On)?;
        let on = self.trigger_scope()?;
        Ok(StatementKind::EnableTrigger(Box::new(EnableTrigger { enable, triggers, on })))
    }

    /// The rest of CREATE SCHEMA; error 111 unless first in the batch.
    pub(super) fn create_schema(&mut self, start: Token) -> Parsed<StatementKind> {
        if self.scope.blocks > 0 {
            return Err(self.unexpected());
        }
        if !self.is_first(start) {
            let error = self.error_at(111, start, "CREATE SCHEMA".to_string());
            self.report(error);
        }
        self.advance();
        let name = if self.at(Keyword::Authorization) { None } else { Some(self.ident()?) };
        let authorization = if self.accept(Keyword::Authorization) { Some(self.principal()?) } else { None };
        if name.is_none() && authorization.is_none() {
            return Err(self.unexpected());
        }
        let mut elements = Vec::new();
        while let Some(element) = self.schema_element()? {
            elements.push(element);
        }
        Ok(StatementKind::CreateSchema(Box::new(CreateSchema { name, authorization, elements })))
    }

    /// CREATE TABLE, CREATE VIEW, GRANT, DENY or REVOKE inside CREATE SCHEMA.
    fn schema_element(&mut self) -> Parsed<Option<Statement>> {
        let start = self.token();
        let kind = match start.kind {
            TokenKind::Keyword(Keyword::Create) if self.at_ahead(1, Keyword::Table) => {
                self.advance();
                self.advance();
                self.create_table()?
            }
            TokenKind::Keyword(Keyword::Create) if self.at_ahead(1, Keyword::View) => {
                self.advance();
                self.advance();
                self.schema_view()?
            }
            TokenKind::Keyword(keyword @ (Keyword::Grant | Keyword::Deny | Keyword::Revoke)) => {
                self.permission(keyword)?
            }
            _ => return Ok(None),
        };
        Ok(Some(Statement { span: self.span_from(start), kind }))
    }

    fn schema_view(&mut self) -> Parsed<StatementKind> {
        let name = self.object_name()?;
        let columns = self.ident_list_opt()?;
        let options = self.options_once(Self::view_option)?;
        self.expect(Keyword::As)?;
        let query = self.select_statement(None)?;
        let check_option = self.accept_words(&["WITH", "CHECK", "OPTION"]);
        let action = ModuleAction::Create;
        let view = CreateView { action, name, columns, options, query, check_option, materialized: false };
        Ok(StatementKind::CreateView(Box::new(view)))
    }

    /// The rest of ALTER SCHEMA name TRANSFER [class::]object.
    pub(super) fn alter_schema(&mut self) -> Parsed<StatementKind> {
        let name = self.ident()?;
        self.expect_word("TRANSFER")?;
        let class = self.securable_class_opt()?;
        let object = self.object_name()?;
        Ok(StatementKind::AlterSchema(Box::new(AlterSchema { name, class, object })))
    }
}

/// How error 111 names the statement.
fn must_be_first(action: ModuleAction, keyword: Keyword) -> String {
    match (keyword, action) {
        (Keyword::Proc | Keyword::Procedure, _) => "CREATE/ALTER PROCEDURE".to_string(),
        (_, ModuleAction::Create) => format!("CREATE {}", keyword.spelling()),
        (_, ModuleAction::Alter) => format!("ALTER {}", keyword.spelling()),
        (_, ModuleAction::CreateOrAlter) => format!("CREATE OR ALTER {}", keyword.spelling()),
    }
}
