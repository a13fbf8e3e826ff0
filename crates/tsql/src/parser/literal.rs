//! From the text of a token to the value of a constant or the name it spells.

use super::unquote::unquote;
use super::{Parsed, Parser};
use crate::ast::{Ident, Literal};
use crate::lexer::{Token, TokenKind};

/// Most digits of a decimal constant.
const DECIMAL_DIGITS_MAX: usize = 38;

impl Parser<'_> {
    /// The name that an identifier token spells.
    pub(super) fn ident_of(&self, token: Token) -> Ident {
        let text = self.token_text(token);
        match token.kind {
            TokenKind::Bracketed | TokenKind::Quoted => Ident { value: unquote(text), quoted: true },
            _ => Ident { value: text.to_string(), quoted: false },
        }
    }

    /// The constant at the current token, if it is one. NULL is not handled here.
    pub(super) fn literal_opt(&mut self) -> Parsed<Option<Literal>> {
        let token = self.token();
        let text = self.token_text(token);
        let literal = match token.kind {
            TokenKind::String => Literal::String(unquote(text)),
            TokenKind::NString => Literal::NString(unquote(text)),
            TokenKind::Integer => match text.parse::<i32>() {
                Ok(value) => Literal::Int(value),
                Err(_) => self.decimal(token, text)?,
            },
            TokenKind::Decimal => self.decimal(token, text)?,
            TokenKind::Float => self.float(token, text)?,
            TokenKind::Binary => Literal::Binary(binary(&text[2..])),
            TokenKind::Money => {
                Literal::Money(text.trim_start_matches(|c: char| !c.is_ascii_digit() && c != '.').into())
            }
            _ => return Ok(None),
        };
        self.advance();
        Ok(Some(literal))
    }

    fn decimal(&self, token: Token, text: &str) -> Parsed<Literal> {
        let digits = text.bytes().filter(u8::is_ascii_digit).skip_while(|digit| *digit == b'0').count();
        if digits > DECIMAL_DIGITS_MAX {
            return Err(self.error_at(1007, token, text.to_string()));
        }
        Ok(Literal::Numeric(text.to_string()))
    }

    fn float(&self, token: Token, text: &str) -> Parsed<Literal> {
        let number = match text.as_bytes().last() {
            Some(b'0'..=b'9') => text.parse::<f64>(),
            // `1e`, `1e+`
            _ => text.trim_end_matches(['+', '-', 'e', 'E']).parse::<f64>(),
        };
        match number {
            Ok(value) if value.is_finite() => Ok(Literal::Float(value)),
            _ => Err(self.error_at(168, token, text.to_string())),
        }
    }

    /// The contents of the string that must be here.
    pub(super) fn expect_string(&mut self) -> Parsed<String> {
        if !self.at_string() {
            return Err(self.unexpected());
        }
        let token = self.advance();
        Ok(unquote(self.token_text(token)))
    }
}

/// Bytes of hexadecimal digits; other characters (line continuations) are skipped, an odd count starts with 0.
fn binary(digits: &str) -> Vec<u8> {
    let nibbles: Vec<u8> = digits.chars().filter_map(|c| c.to_digit(16)).map(|digit| digit as u8).collect();
    let (odd, pairs) = nibbles.split_at(nibbles.len() % 2);
    odd.iter().copied().chain(pairs.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1])).collect()
}
