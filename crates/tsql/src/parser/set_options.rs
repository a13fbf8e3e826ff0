//! SET: variables, session options, isolation level.

use super::scope::ScopeKind;
use super::{Parsed, Parser};
use crate::ast::{
    Expr, ExprKind, IsolationLevel, Literal, SetStatement, SetVariable, StatementKind, SwitchOption,
    ValueOption,
};
use crate::keywords::Keyword;
use crate::lexer::TokenKind;
use crate::set_words::{STATISTICS, SWITCHES, VALUES};

impl Parser<'_> {
    pub(super) fn set_statement(&mut self) -> Parsed<StatementKind> {
        self.advance();
        if self.kind() == TokenKind::Variable {
            return self.set_variable();
        }
        Ok(StatementKind::Set(Box::new(self.set_option()?)))
    }

    fn set_variable(&mut self) -> Parsed<StatementKind> {
        let variable = self.variable()?;
        let set = if self.at_symbol(b'.') {
            self.set_member(variable)?
        } else {
            let op = self.expect_assign()?;
            if self.at(Keyword::Cursor) {
                let definition = self.cursor_definition(Vec::new())?;
                SetVariable::Cursor { variable, definition }
            } else {
                SetVariable::Assign { variable, op, value: self.value()? }
            }
        };
        Ok(StatementKind::SetVariable(Box::new(set)))
    }

    /// `.method(..)` or `.property = expr`
    fn set_member(&mut self, variable: String) -> Parsed<SetVariable> {
        self.advance();
        let member = self.ident()?;
        if self.at_symbol(b'(') {
            return Ok(SetVariable::Method { variable, method: member, args: self.call_args()? });
        }
        let op = self.expect_assign()?;
        Ok(SetVariable::Property { variable, property: member, op, value: self.value()? })
    }

    fn set_option(&mut self) -> Parsed<SetStatement> {
        match self.kind() {
            TokenKind::Keyword(Keyword::Transaction | Keyword::Tran) => self.set_isolation(),
            TokenKind::Keyword(Keyword::IdentityInsert) => {
                self.advance();
                let table = self.object_name()?;
                Ok(SetStatement::IdentityInsert { table, on: self.on_off()? })
            }
            TokenKind::Keyword(Keyword::Statistics) => {
                self.advance();
                let kinds = self.comma_list(|p| p.choice(&STATISTICS))?;
                Ok(SetStatement::Statistics { kinds, on: self.on_off()? })
            }
            TokenKind::Keyword(Keyword::Offsets) => {
                self.advance();
                let words = self.comma_list(Self::ident_or_keyword)?;
                Ok(SetStatement::Offsets { words, on: self.on_off()? })
            }
            TokenKind::Keyword(Keyword::Errlvl) => {
                self.advance();
                Ok(SetStatement::ErrorLevel(self.signed_constant()?))
            }
            TokenKind::Keyword(Keyword::Rowcount | Keyword::Textsize) | TokenKind::Word
                if VALUES.iter().any(|(word, _)| self.at_spelling(word)) =>
            {
                let option = self.choice(&VALUES)?;
                if option == ValueOption::CommitAck {
                    self.accept_symbol(b'=');
                }
                let start = self.token();
                let value = self.set_value()?;
                if takes_whole_numbers(option) && is_fraction(&value) {
                    return Err(self.error_at(102, start, self.near(start)));
                }
                Ok(SetStatement::Value { option, value })
            }
            _ => {
                let start = self.token();
                let options = self.comma_list(|p| p.choice(&SWITCHES))?;
                if options.iter().any(|option| is_showplan(*option)) {
                    self.showplan.get_or_insert(start);
                }
                let on = self.on_off()?;
                // A module keeps the setting with which it is created, whatever its own SET statements say.
                let is_batch = self.scope.kind == ScopeKind::Batch;
                if is_batch && options.contains(&SwitchOption::QuotedIdentifier) {
                    self.set_quoted_identifier(on);
                }
                Ok(SetStatement::Switches { options, on })
            }
        }
    }

    fn choice<T: Copy>(&mut self, choices: &[(&str, T)]) -> Parsed<T> {
        match choices.iter().find(|(word, _)| self.at_spelling(word)) {
            Some((_, value)) => {
                self.advance();
                Ok(*value)
            }
            None => Err(self.unexpected()),
        }
    }

    /// A constant, a variable or a bare word, which means its text.
    fn set_value(&mut self) -> Parsed<Expr> {
        let start = self.token();
        if matches!(start.kind, TokenKind::Word | TokenKind::Bracketed | TokenKind::Quoted)
            || self.at(Keyword::Off)
            || self.at(Keyword::Full)
        {
            let word = self.ident_or_keyword()?.value;
            return Ok(Expr { span: self.span_of(start), kind: ExprKind::Literal(Literal::String(word)) });
        }
        self.signed_constant()
    }

    fn set_isolation(&mut self) -> Parsed<SetStatement> {
        self.advance();
        self.expect_word("ISOLATION")?;
        self.expect_word("LEVEL")?;
        Ok(SetStatement::TransactionIsolation(self.isolation_level()?))
    }

    fn isolation_level(&mut self) -> Parsed<IsolationLevel> {
        if self.accept(Keyword::Read) {
            if self.accept_word("COMMITTED") {
                return Ok(IsolationLevel::ReadCommitted);
            }
            self.expect_word("UNCOMMITTED")?;
            return Ok(IsolationLevel::ReadUncommitted);
        }
        if self.accept_word("REPEATABLE") {
            self.expect(Keyword::Read)?;
            return Ok(IsolationLevel::RepeatableRead);
        }
        if self.accept_word("SNAPSHOT") {
            return Ok(IsolationLevel::Snapshot);
        }
        self.expect_word("SERIALIZABLE")?;
        Ok(IsolationLevel::Serializable)
    }
}

fn takes_whole_numbers(option: ValueOption) -> bool {
    use ValueOption as V;
    matches!(option, V::RowCount | V::TextSize | V::LockTimeout | V::DateFirst)
}

/// A number with a point or an exponent, with its sign.
fn is_fraction(value: &Expr) -> bool {
    match &value.kind {
        ExprKind::Unary(_, operand) => is_fraction(operand),
        ExprKind::Literal(Literal::Numeric(text)) => text.contains('.'),
        ExprKind::Literal(Literal::Float(_)) => true,
        _ => false,
    }
}

/// Options that must be alone in their batch.
fn is_showplan(option: SwitchOption) -> bool {
    matches!(option, SwitchOption::ShowplanAll | SwitchOption::ShowplanText | SwitchOption::ShowplanXml)
}
