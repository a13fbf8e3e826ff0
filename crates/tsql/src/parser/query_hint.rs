//! OPTION behind a statement: its hints, each with its arguments.

use super::{CALL, Parsed, Parser};
use crate::ast::{Expr, Ident, QueryHint};
use crate::keywords::Keyword;
use crate::lexer::TokenKind;

/// Hints of OPTION that have a whole number behind them, and those that have `= percentage`.
const NUMBER_HINTS: [&str; 4] = ["MAXDOP", "MAXRECURSION", "FAST", "QUERYTRACEON"];
const PERCENTAGE_HINTS: [&str; 2] = ["MIN_GRANT_PERCENT", "MAX_GRANT_PERCENT"];

/// Ways to make groups, of which a query has one.
const GROUP_HINTS: [&str; 2] = ["HASH GROUP", "ORDER GROUP"];

impl Parser<'_> {
    /// `OPTION ( hint, .. )`, or nothing.
    #[inline(never)]
    pub(super) fn query_hints_opt(&mut self) -> Parsed<Vec<QueryHint>> {
        if !self.accept(Keyword::Option) {
            return Ok(Vec::new());
        }
        let hints = self.nested(CALL, |p| p.paren_list(Self::query_hint))?;
        let differ = |one: &QueryHint, other: &QueryHint| match (one, other) {
            (QueryHint::Plain(one, Some(value)), QueryHint::Plain(other, Some(second))) => {
                one.value.eq_ignore_ascii_case(&other.value) && value != second
            }
            _ => false,
        };
        // A repeated hint must have the same value: else 1042.
        for (at, hint) in hints.iter().enumerate() {
            if let QueryHint::Plain(words, _) = hint
                && hints[..at].iter().any(|other| differ(hint, other))
            {
                return Err(self.error_at(1042, self.token(), words.value.to_ascii_uppercase()));
            }
        }
        let groups = |hint: &QueryHint| match hint {
            QueryHint::Plain(words, _) => GROUP_HINTS.iter().position(|group| words.is(group)),
            _ => None,
        };
        let mut ways = hints.iter().filter_map(groups);
        let first = ways.next();
        if ways.any(|way| Some(way) != first) {
            return Err(self.error_at(1042, self.token(), "GROUP".to_string()));
        }
        Ok(hints)
    }

    #[inline(never)]
    fn query_hint(&mut self) -> Parsed<QueryHint> {
        if self.accept_words(&["USE", "HINT"]) {
            return Ok(QueryHint::UseHint(self.paren_list(Self::expect_string)?));
        }
        if self.accept_words(&["USE", "PLAN"]) {
            return Ok(QueryHint::UsePlan(self.value()?));
        }
        if self.accept_words(&["OPTIMIZE", "FOR"]) {
            if self.accept_word("UNKNOWN") {
                return Ok(QueryHint::OptimizeForUnknown);
            }
            return Ok(QueryHint::OptimizeFor(self.paren_list(Self::optimize_for)?));
        }
        if self.accept_words(&["TABLE", "HINT"]) {
            self.expect_symbol(b'(')?;
            let name = self.object_name()?;
            let mut hints = Vec::new();
            while self.accept_symbol(b',') {
                hints.push(self.table_hint()?);
            }
            self.expect_symbol(b')')?;
            return Ok(QueryHint::TableHint(name, hints));
        }
        if self.accept_words(&["FOR", "TIMESTAMP", "AS", "OF"]) {
            return Ok(QueryHint::ForTimestamp(self.value()?));
        }
        let words = self.words()?;
        let value = self.hint_value_opt(&words)?;
        Ok(QueryHint::Plain(words, value))
    }

    /// The arguments of a hint: a whole number, `= percentage`, a label, or nothing, as the hint requires. Error 1042 for an invalid
    /// percentage.
    fn hint_value_opt(&mut self, words: &Ident) -> Parsed<Option<Expr>> {
        let is_one_of = |names: &[&str]| names.iter().any(|name| words.is(name));
        let is_percentage = is_one_of(&PERCENTAGE_HINTS);
        let has_sign = self.accept_symbol(b'=');
        let fits = match self.kind() {
            TokenKind::Integer => is_one_of(&NUMBER_HINTS) || is_percentage && has_sign,
            TokenKind::Decimal | TokenKind::Float => is_percentage && has_sign,
            TokenKind::String | TokenKind::NString => words.is("LABEL") && has_sign,
            TokenKind::Symbol(b',' | b')') => {
                let needs_value = is_one_of(&NUMBER_HINTS) || is_percentage || words.is("LABEL");
                return if has_sign || needs_value { Err(self.unexpected()) } else { Ok(None) };
            }
            _ => false,
        };
        if !fits {
            return Err(self.unexpected());
        }
        let token = self.token();
        let value = self.signed_constant()?;
        let is_out_of_range = |text: &str| text.parse::<f64>().is_ok_and(|number| number > 100.0);
        if is_percentage && is_out_of_range(self.token_text(token)) {
            return Err(self.error_at(1042, token, words.value.to_ascii_uppercase()));
        }
        Ok(Some(value))
    }

    /// `@v = 1` or `@v UNKNOWN`
    fn optimize_for(&mut self) -> Parsed<(String, Option<Expr>)> {
        let variable = self.variable()?;
        if self.accept_word("UNKNOWN") {
            return Ok((variable, None));
        }
        self.expect_symbol(b'=')?;
        Ok((variable, Some(self.value()?)))
    }
}
