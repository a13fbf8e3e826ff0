//! Control of flow and variables: blocks, IF, WHILE, TRY, THROW, RAISERROR, WAITFOR, DECLARE.

use std::collections::BTreeSet;

use super::scope::ScopeKind;
use super::{Parsed, Parser};
use crate::ast::{
    AtomicBlock, DataType, DeclareTable, Ident, If, RaisError, StatementKind, Throw, TryCatch,
    VariableDeclaration, WaitFor, While,
};
use crate::keywords::Keyword;
use crate::lexer::TokenKind;

impl Parser<'_> {
    #[inline(never)]
    pub(super) fn if_statement(&mut self) -> Parsed<StatementKind> {
        let mut branches = Vec::with_capacity(1);
        let mut otherwise = None;
        loop {
            self.expect(Keyword::If)?;
            let condition = self.condition()?;
            branches.push((condition, self.inner_statement()?));
            if self.at_symbol(b';') && self.at_ahead(1, Keyword::Else) {
                self.advance();
            }
            if !self.accept(Keyword::Else) {
                break;
            }
            if !self.at(Keyword::If) {
                otherwise = Some(self.inner_statement()?);
                break;
            }
        }
        Ok(StatementKind::If(Box::new(If { branches, otherwise })))
    }

    #[inline(never)]
    pub(super) fn while_statement(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let condition = self.condition()?;
        self.scope.loops += 1;
        let body = self.inner_statement();
        self.scope.loops -= 1;
        Ok(StatementKind::While(Box::new(While { condition, body: body? })))
    }

    /// Everything that starts with BEGIN.
    #[inline(never)]
    pub(super) fn begin_statement(&mut self) -> Parsed<StatementKind> {
        match self.peek_kind(1) {
            TokenKind::Keyword(Keyword::Tran | Keyword::Transaction | Keyword::Distributed) => {
                return self.begin_transaction();
            }
            TokenKind::Word if self.word_ahead(1, "TRY") => return self.try_catch(),
            TokenKind::Word if self.word_ahead(1, "ATOMIC") => {
                self.advance();
                return Ok(StatementKind::AtomicBlock(Box::new(self.atomic_block()?)));
            }
            TokenKind::Word if self.word_ahead(1, "DIALOG") => return self.other("BEGIN DIALOG"),
            TokenKind::Word if self.word_ahead(1, "CONVERSATION") && self.word_ahead(2, "TIMER") => {
                return self.other("BEGIN CONVERSATION TIMER");
            }
            TokenKind::Word if self.word_ahead(1, "CATCH") => {
                self.advance();
                return Err(self.unexpected());
            }
            _ => {}
        }
        self.advance();
        let statements = self.inner_list()?;
        self.expect(Keyword::End)?;
        Ok(StatementKind::Block(statements))
    }

    /// `ATOMIC WITH (..) .. END`, behind BEGIN.
    #[inline(never)]
    pub(super) fn atomic_block(&mut self) -> Parsed<AtomicBlock> {
        self.expect_word("ATOMIC")?;
        self.expect(Keyword::With)?;
        let options = self.option_list()?;
        let body = self.inner_list()?;
        self.expect(Keyword::End)?;
        Ok(AtomicBlock { options, body })
    }

    #[inline(never)]
    fn try_catch(&mut self) -> Parsed<StatementKind> {
        self.advance();
        self.advance();
        let body = self.inner_list()?;
        self.expect(Keyword::End)?;
        self.expect_word("TRY")?;
        self.expect(Keyword::Begin)?;
        self.expect_word("CATCH")?;
        self.scope.blocks += 1;
        let catch = self.statement_list();
        self.scope.blocks -= 1;
        self.expect(Keyword::End)?;
        self.expect_word("CATCH")?;
        Ok(StatementKind::TryCatch(Box::new(TryCatch { body, catch })))
    }

    /// BREAK and CONTINUE, which need a loop around them (errors 135, 136).
    pub(super) fn loop_jump(&mut self, keyword: Keyword) -> Parsed<StatementKind> {
        let is_break = keyword == Keyword::Break;
        let token = self.advance();
        if self.scope.loops == 0 {
            let error = self.error_at(if is_break { 135 } else { 136 }, token, String::new());
            self.report(error);
        }
        Ok(if is_break { StatementKind::Break } else { StatementKind::Continue })
    }

    /// RETURN with a value is for procedures and scalar functions (error 178).
    pub(super) fn return_statement(&mut self) -> Parsed<StatementKind> {
        let token = self.advance();
        let value = if self.at_value_start() { Some(Box::new(self.value()?)) } else { None };
        let allowed = matches!(self.scope.kind, ScopeKind::Procedure | ScopeKind::ScalarFunction);
        if value.is_some() && !allowed {
            let error = self.error_at(178, token, String::new());
            self.report(error);
        }
        Ok(StatementKind::Return(value))
    }

    /// Whether the token here can begin a value that belongs to the statement before it.
    fn at_value_start(&self) -> bool {
        match self.kind() {
            TokenKind::End | TokenKind::Unclosed | TokenKind::UnclosedComment | TokenKind::Unknown => false,
            TokenKind::Symbol(symbol) => matches!(symbol, b'(' | b'-' | b'+' | b'~' | b'{' | b'.'),
            TokenKind::Keyword(keyword) => matches!(
                keyword,
                Keyword::Null
                    | Keyword::Case
                    | Keyword::Convert
                    | Keyword::TryConvert
                    | Keyword::Coalesce
                    | Keyword::Nullif
                    | Keyword::Left
                    | Keyword::Right
                    | Keyword::CurrentTimestamp
                    | Keyword::CurrentUser
                    | Keyword::SystemUser
                    | Keyword::SessionUser
                    | Keyword::User
                    | Keyword::CurrentDate
                    | Keyword::CurrentTime
            ),
            TokenKind::Word => !self.at_label() && (!self.at_word("THROW") || self.symbol_ahead(1, b'(')),
            _ => true,
        }
    }

    pub(super) fn goto_statement(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let token = self.token();
        let name = self.ident()?;
        self.note_goto(&name, token);
        Ok(StatementKind::Goto(name))
    }

    pub(super) fn throw(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let has_arguments = matches!(
            self.kind(),
            TokenKind::Integer
                | TokenKind::Variable
                | TokenKind::String
                | TokenKind::NString
                | TokenKind::Decimal
        );
        if !has_arguments {
            return Ok(StatementKind::Throw(None));
        }
        let number = self.signed_constant()?;
        self.expect_symbol(b',')?;
        let message = self.signed_constant()?;
        self.expect_symbol(b',')?;
        let state = self.signed_constant()?;
        Ok(StatementKind::Throw(Some(Box::new(Throw { number, message, state }))))
    }

    pub(super) fn raiserror(&mut self) -> Parsed<StatementKind> {
        self.advance();
        if !self.at_symbol(b'(') {
            return self.old_raiserror();
        }
        self.advance();
        let message = self.signed_constant()?;
        self.expect_symbol(b',')?;
        let severity = Some(self.signed_constant()?);
        self.expect_symbol(b',')?;
        let state = Some(self.signed_constant()?);
        let mut args = Vec::new();
        while self.accept_symbol(b',') {
            args.push(self.signed_constant()?);
        }
        self.expect_symbol(b')')?;
        let options = if self.at(Keyword::With) && self.ident_ahead(1) {
            self.advance();
            self.comma_list(Self::raiserror_option)?
        } else {
            Vec::new()
        };
        Ok(StatementKind::RaisError(Box::new(RaisError { message, severity, state, args, options })))
    }

    fn raiserror_option(&mut self) -> Parsed<Ident> {
        let token = self.token();
        let option = self.ident()?;
        let known = ["LOG", "NOWAIT", "SETERROR"].iter().any(|word| option.is(word));
        if known { Ok(option) } else { Err(self.unknown_word(&option, token)) }
    }

    /// `RAISERROR 50001 'text'`
    fn old_raiserror(&mut self) -> Parsed<StatementKind> {
        let number = self.signed_constant()?;
        let mut args = Vec::new();
        if self.at_string() || self.kind() == TokenKind::Variable {
            args.push(self.signed_constant()?);
        }
        let raise = RaisError { message: number, severity: None, state: None, args, options: Vec::new() };
        Ok(StatementKind::RaisError(Box::new(raise)))
    }

    pub(super) fn waitfor(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let wait = if self.accept_word("DELAY") {
            WaitFor::Delay(self.signed_constant()?)
        } else if self.accept_word("TIME") {
            WaitFor::Time(self.signed_constant()?)
        } else if self.accept_word("DURABLE") {
            let ticket = self.signed_constant()?;
            let timed = self.accept_symbol(b',');
            if timed {
                self.expect_word("TIMEOUT")?;
            }
            let timeout_ms = if timed { Some(self.signed_constant()?) } else { None };
            WaitFor::Durable { ticket, timeout_ms }
        } else if self.at_symbol(b'(') {
            let start = self.token();
            self.skip_parentheses()?;
            if self.accept_symbol(b',') {
                self.expect_word("TIMEOUT")?;
                self.signed_constant()?;
            }
            WaitFor::Statement(self.raw_since(start))
        } else {
            return Err(self.unexpected());
        };
        Ok(StatementKind::WaitFor(Box::new(wait)))
    }

    /// DECLARE of variables, tables and cursors.
    pub(super) fn declare(&mut self) -> Parsed<StatementKind> {
        self.advance();
        if self.kind() != TokenKind::Variable {
            return self.declare_cursor();
        }
        let table_at = if self.at_ahead(1, Keyword::As) { 2 } else { 1 };
        if self.at_ahead(table_at, Keyword::Table) {
            return self.declare_table();
        }
        let before = self.position;
        let variables = self.comma_list(Self::variable_declaration)?;
        self.check_initial_values(&variables, before)?;
        Ok(StatementKind::Declare(variables))
    }

    /// The variables of one DECLARE cannot be used in each other's values: 137.
    fn check_initial_values(&self, variables: &[VariableDeclaration], before: usize) -> Parsed<()> {
        let names: BTreeSet<String> = variables.iter().map(|variable| variable.name.to_lowercase()).collect();
        let mut initials = variables.iter().filter_map(|variable| variable.initial.as_ref()).peekable();
        for token in &self.tokens[before..self.position] {
            while initials.next_if(|initial| initial.span.end <= token.start).is_some() {}
            let is_inside = initials.peek().is_some_and(|initial| initial.span.start <= token.start);
            let name = self.token_text(*token);
            if is_inside && token.kind == TokenKind::Variable && names.contains(&name.to_lowercase()) {
                let error = self.error_at(137, *token, name.to_string());
                return Err(Box::new(error.with_state(2)));
            }
        }
        Ok(())
    }

    fn declare_table(&mut self) -> Parsed<StatementKind> {
        let token = self.token();
        let name = self.variable()?;
        self.note_variable(&name, token);
        self.accept(Keyword::As);
        self.expect(Keyword::Table)?;
        let elements = self.nameless_elements()?;
        let options = self.with_options_opt()?;
        Ok(StatementKind::DeclareTable(Box::new(DeclareTable { name, elements, options })))
    }

    fn variable_declaration(&mut self) -> Parsed<VariableDeclaration> {
        let start = self.token();
        let name = self.variable()?;
        self.note_variable(&name, start);
        self.accept(Keyword::As);
        let data_type: DataType = self.data_type()?;
        let collation = self.collation_opt()?;
        if collation.is_some() {
            return Err(self.unexpected_at(self.position - 2));
        }
        let nullable = self.nullable_opt()?;
        let initial = if self.accept_symbol(b'=') { Some(self.value()?) } else { None };
        Ok(VariableDeclaration { name, data_type, nullable, initial, span: self.span_from(start) })
    }
}
