//! EXECUTE in all its forms: procedures, strings, ODBC calls, EXECUTE AS.

use super::{Parsed, Parser};
use crate::ast::{
    Execute, ExecuteArgument, ExecuteAs, ExecuteAsContext, ExecuteAt, ExecuteOption, ExecuteTarget, Expr,
    ExprKind, Literal, ObjectName, ResultColumn, ResultSet, RunAs, StatementKind,
};
use crate::keywords::Keyword;
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// EXEC .. or EXECUTE AS ..
    pub(super) fn execute_statement(&mut self) -> Parsed<StatementKind> {
        if self.at_ahead(1, Keyword::As) {
            return self.execute_as();
        }
        Ok(StatementKind::Execute(Box::new(self.execute()?)))
    }

    /// EXEC of a procedure, variable or string, with EXEC standing here.
    pub(super) fn execute(&mut self) -> Parsed<Execute> {
        self.advance();
        if self.at_symbol(b'(') {
            return self.execute_text();
        }
        let return_variable = if self.kind() == TokenKind::Variable && self.symbol_ahead(1, b'=') {
            let variable = self.variable()?;
            self.advance();
            Some(variable)
        } else {
            None
        };
        self.procedure_call(return_variable, false)
    }

    /// A procedure call without EXEC.
    pub(super) fn bare_call(&mut self) -> Parsed<StatementKind> {
        Ok(StatementKind::Execute(Box::new(self.procedure_call(None, true)?)))
    }

    fn procedure_call(&mut self, return_variable: Option<String>, bare: bool) -> Parsed<Execute> {
        let target = if self.kind() == TokenKind::Variable {
            let variable = self.variable()?;
            ExecuteTarget::Variable(variable, self.procedure_number_opt())
        } else {
            let name = self.object_name()?;
            ExecuteTarget::Procedure(name, self.procedure_number_opt())
        };
        let args = if self.at_argument() { self.comma_list(Self::execute_argument)? } else { Vec::new() };
        let mut execute = Execute { return_variable, target, args, options: Vec::new(), bare, odbc: false };
        // AT server for EXEC proc does not exist; AT DATA_SOURCE does only for strings.
        execute.options = self.execute_options_opt()?;
        Ok(execute)
    }

    /// `;2` behind a procedure's name.
    fn procedure_number_opt(&mut self) -> Option<i32> {
        if !self.at_symbol(b';') || self.peek_kind(1) != TokenKind::Integer {
            return None;
        }
        let number = self.token_text(self.peek(1)).parse().ok()?;
        self.advance();
        self.advance();
        Some(number)
    }

    fn at_argument(&self) -> bool {
        match self.kind() {
            TokenKind::Keyword(keyword) => {
                matches!(keyword, Keyword::Null | Keyword::Default | Keyword::On | Keyword::Off)
            }
            TokenKind::Symbol(symbol) => matches!(symbol, b'-' | b'+' | b'$' | b'{'),
            TokenKind::Word => !self.at_label(),
            TokenKind::End | TokenKind::Unclosed | TokenKind::UnclosedComment | TokenKind::Unknown => false,
            _ => true,
        }
    }

    fn execute_argument(&mut self) -> Parsed<ExecuteArgument> {
        let name = if self.kind() == TokenKind::Variable && self.symbol_ahead(1, b'=') {
            let name = self.variable()?;
            self.advance();
            Some(name)
        } else {
            None
        };
        let value = self.execute_value()?;
        let token = self.token();
        let output = self.accept_word("OUTPUT") || self.accept_word("OUT");
        if output && !matches!(value.kind, ExprKind::Variable(_)) {
            return Err(self.error_at(179, token, String::new()));
        }
        Ok(ExecuteArgument { name, value, output })
    }

    /// A constant, variable, DEFAULT or a bare word, which means its text.
    fn execute_value(&mut self) -> Parsed<Expr> {
        let start = self.token();
        let kind = match start.kind {
            TokenKind::Keyword(Keyword::Default) => {
                self.advance();
                ExprKind::Default
            }
            TokenKind::Keyword(Keyword::On | Keyword::Off) => {
                self.advance();
                ExprKind::Literal(Literal::String(self.token_text(start).to_string()))
            }
            TokenKind::Word | TokenKind::Bracketed | TokenKind::Quoted => {
                let mut text = self.ident()?.value;
                while self.at_symbol(b'.') && self.ident_ahead(1) {
                    self.advance();
                    text = format!("{text}.{}", self.ident()?.value);
                }
                ExprKind::Literal(Literal::String(text))
            }
            TokenKind::Symbol(b'{') => return self.value(),
            _ => return self.signed_constant(),
        };
        Ok(Expr { span: self.span_from(start), kind })
    }

    /// `('text' + @more [, @args]) [AS USER = 'u'] [AT server]`
    fn execute_text(&mut self) -> Parsed<Execute> {
        self.advance();
        let text = self.nested_value()?;
        let (mut args, comma) = (Vec::new(), self.position);
        while self.accept_symbol(b',') {
            args.push(self.execute_argument()?);
        }
        self.expect_symbol(b')')?;
        let run_as =
            if self.at(Keyword::As) && (self.at_ahead(1, Keyword::User) || self.word_ahead(1, "LOGIN")) {
                self.advance();
                let login = !self.at(Keyword::User);
                self.advance();
                self.expect_symbol(b'=')?;
                Some(RunAs { login, name: self.expect_string()? })
            } else {
                None
            };
        let at = if self.at_word("AT") {
            self.advance();
            let data_source = self.accept_word("DATA_SOURCE");
            Some(ExecuteAt { data_source, name: self.ident()? })
        } else {
            None
        };
        // Only another server is given arguments.
        if at.is_none() && !args.is_empty() {
            return Err(self.unexpected_at(comma));
        }
        let options = self.execute_options_opt()?;
        let target = ExecuteTarget::Text { text, run_as, at };
        Ok(Execute { return_variable: None, target, args, options, bare: false, odbc: false })
    }

    fn execute_options_opt(&mut self) -> Parsed<Vec<ExecuteOption>> {
        let follows =
            self.at(Keyword::With) && (self.word_ahead(1, "RECOMPILE") || self.word_ahead(1, "RESULT"));
        if !follows {
            return Ok(Vec::new());
        }
        self.advance();
        self.comma_list(Self::execute_option)
    }

    fn execute_option(&mut self) -> Parsed<ExecuteOption> {
        if self.accept_word("RECOMPILE") {
            return Ok(ExecuteOption::Recompile);
        }
        self.expect_word("RESULT")?;
        self.expect_word("SETS")?;
        if self.accept_word("NONE") {
            return Ok(ExecuteOption::ResultSetsNone);
        }
        if self.accept_word("UNDEFINED") {
            return Ok(ExecuteOption::ResultSetsUndefined);
        }
        Ok(ExecuteOption::ResultSets(self.paren_list(Self::result_set)?))
    }

    fn result_set(&mut self) -> Parsed<ResultSet> {
        if self.accept(Keyword::As) {
            if self.accept_words(&["FOR", "XML"]) {
                return Ok(ResultSet::AsForXml);
            }
            if self.accept_word("TYPE") {
                return Ok(ResultSet::AsType(self.object_name()?));
            }
            self.expect_word("OBJECT")?;
            return Ok(ResultSet::AsObject(self.object_name()?));
        }
        let columns = self.paren_list(|p| {
            let name = p.ident()?;
            let data_type = p.data_type()?;
            let collation = p.collation_opt()?;
            Ok(ResultColumn { name, data_type, collation, nullable: p.nullable_opt()? })
        })?;
        Ok(ResultSet::Columns(columns))
    }

    /// `{call p (args)}`, `{? = call p (args)}`
    pub(super) fn odbc_call_statement(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let mut return_variable = None;
        if self.accept_symbol(b'?') {
            self.expect_symbol(b'=')?;
            return_variable = Some("?".to_string());
        } else if self.kind() == TokenKind::Variable {
            return_variable = Some(self.variable()?);
            self.expect_symbol(b'=')?;
        }
        self.expect_word("CALL")?;
        let name: ObjectName = self.object_name()?;
        let number = self.procedure_number_opt();
        let args = match self.at_symbol(b'(') {
            true if self.symbol_ahead(1, b')') => {
                self.advance();
                self.advance();
                Vec::new()
            }
            true => self.paren_list(Self::execute_argument)?,
            false => Vec::new(),
        };
        self.expect_symbol(b'}')?;
        let target = ExecuteTarget::Procedure(name, number);
        let execute = Execute { return_variable, target, args, options: Vec::new(), bare: false, odbc: true };
        Ok(StatementKind::Execute(Box::new(execute)))
    }

    /// EXECUTE AS CALLER | LOGIN = x | USER = x [WITH NO REVERT | WITH COOKIE INTO @v]
    fn execute_as(&mut self) -> Parsed<StatementKind> {
        self.advance();
        self.advance();
        let context = if self.accept_word("CALLER") {
            ExecuteAsContext::Caller
        } else if self.accept_word("LOGIN") {
            self.expect_symbol(b'=')?;
            ExecuteAsContext::Login(self.signed_constant()?)
        } else {
            self.expect(Keyword::User)?;
            self.expect_symbol(b'=')?;
            ExecuteAsContext::User(self.signed_constant()?)
        };
        let no_revert = self.accept_words(&["WITH", "NO", "REVERT"]);
        let cookie =
            if self.accept_words(&["WITH", "COOKIE", "INTO"]) { Some(self.variable()?) } else { None };
        Ok(StatementKind::ExecuteAs(Box::new(ExecuteAs { context, no_revert, cookie })))
    }

    /// REVERT [WITH COOKIE = @v]
    pub(super) fn revert(&mut self) -> Parsed<StatementKind> {
        self.advance();
        if self.accept_words(&["WITH", "COOKIE"]) {
            self.expect_symbol(b'=')?;
            return Ok(StatementKind::Revert(Some(Box::new(self.signed_constant()?))));
        }
        Ok(StatementKind::Revert(None))
    }
}
