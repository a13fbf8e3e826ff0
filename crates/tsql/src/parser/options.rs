//! `name = value` lists of WITH clauses, in one grammar for all of them.

use super::{CALL, Parsed, Parser};
use crate::ast::{Expr, ExprKind, Ident, Literal, NamedOption, OptionValue, UnaryOp};
use crate::keywords::Keyword;
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// `( option, .. )`
    pub(super) fn option_list(&mut self) -> Parsed<Vec<NamedOption>> {
        self.nested(CALL, |p| p.paren_list(Self::named_option))
    }

    /// `WITH ( option, .. )`, if present.
    pub(super) fn with_options_opt(&mut self) -> Parsed<Vec<NamedOption>> {
        if self.at(Keyword::With) && self.symbol_ahead(1, b'(') {
            self.advance();
            return self.option_list();
        }
        Ok(Vec::new())
    }

    /// One option: words, then nothing, `= value`, a number or a list in parentheses.
    pub(super) fn named_option(&mut self) -> Parsed<NamedOption> {
        let name = self.words()?;
        let value = if self.accept_symbol(b'=') {
            Some(self.option_value()?)
        } else if self.at_symbol(b'(') {
            Some(self.option_parentheses()?)
        } else if self.at_option_constant() {
            Some(self.option_constant()?)
        } else {
            None
        };
        Ok(NamedOption { name, value })
    }

    /// One word or several, joined by blanks; a trailing ON or OFF stays for the value, WITH for a clause behind.
    pub(super) fn words(&mut self) -> Parsed<Ident> {
        let mut words = self.ident_or_keyword()?;
        while matches!(self.kind(), TokenKind::Word | TokenKind::Keyword(_))
            && !self.at(Keyword::On)
            && !self.at(Keyword::Off)
            && !self.at(Keyword::With)
        {
            let token = self.advance();
            words.value.push(' ');
            words.value.push_str(self.token_text(token));
        }
        Ok(words)
    }

    /// The value behind `=`.
    pub(super) fn option_value(&mut self) -> Parsed<OptionValue> {
        match self.kind() {
            TokenKind::Keyword(Keyword::On | Keyword::Off) => {
                let on = self.on_off()?;
                let list = if self.at_symbol(b'(') { self.option_list()? } else { Vec::new() };
                Ok(OptionValue::Switch(on, list))
            }
            TokenKind::Symbol(b'(') => self.option_parentheses(),
            TokenKind::Bracketed | TokenKind::Quoted => Ok(OptionValue::Name(self.object_name()?)),
            TokenKind::Word if self.symbol_ahead(1, b'.') => Ok(OptionValue::Name(self.object_name()?)),
            TokenKind::Word | TokenKind::Keyword(_) => self.option_words(),
            _ => self.option_constant(),
        }
    }

    /// `PAGE`, `PER PARTITION`, `ROW ON PARTITIONS (1, 3 TO 5)`
    fn option_words(&mut self) -> Parsed<OptionValue> {
        let words = self.words()?;
        if self.at(Keyword::On) && self.word_ahead(1, "PARTITIONS") {
            self.advance();
            self.advance();
            return Ok(OptionValue::OnPartitions(words, self.paren_list(Self::range)?));
        }
        Ok(OptionValue::Word(words))
    }

    /// `(a = 1, b)` or `(1, 3 TO 5)`
    fn option_parentheses(&mut self) -> Parsed<OptionValue> {
        let starts_with_word = matches!(
            self.peek_kind(1),
            TokenKind::Word | TokenKind::Keyword(_) | TokenKind::Bracketed | TokenKind::Quoted
        );
        if starts_with_word {
            return Ok(OptionValue::List(self.option_list()?));
        }
        Ok(OptionValue::Ranges(self.paren_list(Self::range)?))
    }

    /// `1` or `3 TO 5`
    pub(super) fn range(&mut self) -> Parsed<(Expr, Option<Expr>)> {
        let from = self.value()?;
        let to = if self.accept(Keyword::To) { Some(self.value()?) } else { None };
        Ok((from, to))
    }

    fn at_option_constant(&self) -> bool {
        matches!(
            self.kind(),
            TokenKind::String
                | TokenKind::NString
                | TokenKind::Integer
                | TokenKind::Decimal
                | TokenKind::Float
                | TokenKind::Binary
                | TokenKind::Variable
                | TokenKind::GlobalVariable
        )
    }

    /// A constant or variable with a unit word behind it.
    fn option_constant(&mut self) -> Parsed<OptionValue> {
        let value = self.signed_constant()?;
        let unit = match self.kind() {
            TokenKind::Word if self.at_word("AFTER") => None,
            TokenKind::Word | TokenKind::Keyword(Keyword::Percent) => Some(self.ident_or_keyword()?),
            _ => None,
        };
        Ok(OptionValue::Value(value, unit))
    }

    /// A constant with an optional sign, NULL, or a variable.
    pub(super) fn signed_constant(&mut self) -> Parsed<Expr> {
        let start = self.token();
        let sign = match start.kind {
            TokenKind::Symbol(b'-') => Some(UnaryOp::Minus),
            TokenKind::Symbol(b'+') => Some(UnaryOp::Plus),
            _ => None,
        };
        if let Some(sign) = sign {
            self.advance();
            let operand = Box::new(self.unsigned_constant()?);
            return Ok(Expr { span: self.span_from(start), kind: ExprKind::Unary(sign, operand) });
        }
        self.unsigned_constant()
    }

    fn unsigned_constant(&mut self) -> Parsed<Expr> {
        let start = self.token();
        let kind = match start.kind {
            TokenKind::Variable => ExprKind::Variable(self.variable()?),
            TokenKind::GlobalVariable => {
                self.advance();
                ExprKind::GlobalVariable(self.token_text(start).to_string())
            }
            TokenKind::Keyword(Keyword::Null) => {
                self.advance();
                ExprKind::Literal(Literal::Null)
            }
            _ => match self.literal_opt()? {
                Some(literal) => ExprKind::Literal(literal),
                None => return Err(self.unexpected()),
            },
        };
        Ok(Expr { span: self.span_from(start), kind })
    }

    /// The rest of the statement as text, without its `;`: up to what starts the next statement.
    pub(super) fn rest_as_text(&mut self) -> Parsed<String> {
        let start = self.token();
        let before = self.position;
        self.skip_statement()?;
        Ok(if self.position == before { String::new() } else { self.raw_since(start) })
    }
}
