//! Function calls: arguments, OVER, WITHIN GROUP, and the functions with a grammar of their own.

use super::{Parsed, Parser};
use crate::ast::{
    Convert, ConvertForm, Expr, ExprKind, Frame, FrameBound, FunctionCall, FunctionExtra, Ident,
    IdentityCall, Literal, ObjectName, SetQuantifier, TrimSide, Window,
};
use crate::keywords::Keyword;
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// `(args)` of a method or plain call.
    pub(super) fn call_args(&mut self) -> Parsed<Vec<Expr>> {
        self.nested(|p| {
            p.expect_symbol(b'(')?;
            if p.accept_symbol(b')') {
                return Ok(Vec::new());
            }
            let args = p.comma_list(Self::value_or_default)?;
            p.expect_symbol(b')')?;
            Ok(args)
        })
    }

    /// A call of `name`, whose parenthesis stands here.
    pub(super) fn call(&mut self, name: ObjectName) -> Parsed<ExprKind> {
        self.nested(|p| match p.special_form(&name) {
            Some(Special::Cast(is_try)) => p.cast(ConvertForm::Cast, is_try),
            Some(Special::Parse(is_try)) => p.cast(ConvertForm::Parse, is_try),
            Some(Special::Trim) => p.trim(name),
            Some(Special::Iif) => p.iif(name),
            None => p.plain_call(name),
        })
    }

    fn special_form(&self, name: &ObjectName) -> Option<Special> {
        let word = &name.name;
        if word.quoted || !name.is_simple() {
            return None;
        }
        match word.value.len() {
            3 if word.is("IIF") => Some(Special::Iif),
            4 if word.is("CAST") => Some(Special::Cast(false)),
            4 if word.is("TRIM") => Some(Special::Trim),
            5 if word.is("PARSE") => Some(Special::Parse(false)),
            8 if word.is("TRY_CAST") => Some(Special::Cast(true)),
            9 if word.is("TRY_PARSE") => Some(Special::Parse(true)),
            _ => None,
        }
    }

    fn plain_call(&mut self, name: ObjectName) -> Parsed<ExprKind> {
        let mut call = empty_call(name);
        let mut extra = FunctionExtra::default();
        self.expect_symbol(b'(')?;
        if self.at_symbol(b'*') && self.symbol_ahead(1, b')') {
            self.advance();
            call.star = true;
        } else if !self.at_symbol(b')') {
            call.quantifier = self.quantifier_opt();
            call.args = self.comma_list(Self::argument)?;
            self.json_suffix(&mut extra)?;
        }
        self.expect_symbol(b')')?;
        self.call_suffix(&mut extra)?;
        call.extra = boxed_unless_default(extra);
        Ok(ExprKind::Function(Box::new(call)))
    }

    pub(super) fn quantifier_opt(&mut self) -> Option<SetQuantifier> {
        if self.accept(Keyword::Distinct) {
            Some(SetQuantifier::Distinct)
        } else if self.accept(Keyword::All) {
            Some(SetQuantifier::All)
        } else {
            None
        }
    }

    /// A value, DEFAULT, or `key : value` of JSON_OBJECT.
    fn argument(&mut self) -> Parsed<Expr> {
        let start = self.token();
        let value = self.value_or_default()?;
        if !self.at_symbol(b':') {
            return Ok(value);
        }
        self.advance();
        let pair = Box::new((value, self.value()?));
        Ok(Expr { span: self.span_from(start), kind: ExprKind::KeyValue(pair) })
    }

    /// `NULL ON NULL`, `ABSENT ON NULL`, `RETURNING type` before the closing parenthesis.
    fn json_suffix(&mut self, extra: &mut FunctionExtra) -> Parsed<()> {
        if self.at(Keyword::Null) && self.at_ahead(1, Keyword::On) {
            extra.null_on_null = Some(true);
        } else if self.at_word("ABSENT") && self.at_ahead(1, Keyword::On) {
            extra.null_on_null = Some(false);
        }
        if extra.null_on_null.is_some() {
            self.advance();
            self.advance();
            self.expect(Keyword::Null)?;
        }
        if self.accept_word("RETURNING") {
            extra.json_returning = Some(self.data_type()?);
        }
        Ok(())
    }

    /// What may follow the closing parenthesis.
    fn call_suffix(&mut self, extra: &mut FunctionExtra) -> Parsed<()> {
        if self.at_word("WITHIN") && self.at_ahead(1, Keyword::Group) {
            self.advance();
            self.advance();
            self.expect_symbol(b'(')?;
            extra.within_group = Some(self.order_by_opt()?);
            self.expect_symbol(b')')?;
        }
        if (self.at_word("IGNORE") || self.at_word("RESPECT")) && self.word_ahead(1, "NULLS") {
            extra.ignore_nulls = Some(self.at_word("IGNORE"));
            self.advance();
            self.advance();
        }
        if self.at(Keyword::Over) && (self.symbol_ahead(1, b'(') || self.ident_ahead(1)) {
            extra.over = Some(self.over()?);
        }
        Ok(())
    }

    /// `OVER (..)` or `OVER name`
    pub(super) fn over(&mut self) -> Parsed<Window> {
        self.expect(Keyword::Over)?;
        if let Some(name) = self.ident_opt() {
            return Ok(Window { name: Some(name), ..Window::default() });
        }
        self.window()
    }

    /// `( [name] [PARTITION BY ..] [ORDER BY ..] [frame] )`
    pub(super) fn window(&mut self) -> Parsed<Window> {
        self.nested(|p| {
            p.expect_symbol(b'(')?;
            let mut window = Window::default();
            if p.at_ident() && !(p.at_word("PARTITION") && p.at_ahead(1, Keyword::By)) && !p.at_frame() {
                window.name = Some(p.ident()?);
            }
            if p.accept_word("PARTITION") {
                p.expect(Keyword::By)?;
                window.partition_by = p.comma_list(Self::value)?;
            }
            window.order_by = p.order_by_opt()?;
            if p.at_frame() {
                window.frame = Some(p.frame()?);
            }
            p.expect_symbol(b')')?;
            Ok(window)
        })
    }

    fn at_frame(&self) -> bool {
        self.at_word("ROWS") || self.at_word("RANGE")
    }

    fn frame(&mut self) -> Parsed<Frame> {
        let rows = self.at_word("ROWS");
        self.advance();
        if self.accept(Keyword::Between) {
            let start = self.frame_bound()?;
            self.expect(Keyword::And)?;
            return Ok(Frame { rows, start, end: Some(self.frame_bound()?) });
        }
        Ok(Frame { rows, start: self.frame_bound()?, end: None })
    }

    fn frame_bound(&mut self) -> Parsed<FrameBound> {
        if self.accept(Keyword::Current) {
            self.expect_word("ROW")?;
            return Ok(FrameBound::CurrentRow);
        }
        if self.accept_word("UNBOUNDED") {
            if self.accept_word("PRECEDING") {
                return Ok(FrameBound::UnboundedPreceding);
            }
            self.expect_word("FOLLOWING")?;
            return Ok(FrameBound::UnboundedFollowing);
        }
        let amount = self.value()?;
        if self.accept_word("PRECEDING") {
            return Ok(FrameBound::Preceding(amount));
        }
        self.expect_word("FOLLOWING")?;
        Ok(FrameBound::Following(amount))
    }

    /// CAST or PARSE, plain or TRY_; the parenthesis stands here.
    fn cast(&mut self, form: ConvertForm, is_try: bool) -> Parsed<ExprKind> {
        self.expect_symbol(b'(')?;
        let operand = self.value()?;
        self.expect(Keyword::As)?;
        let target = self.data_type()?;
        let culture = form == ConvertForm::Parse && self.accept_word("USING");
        let style = if culture { Some(self.value()?) } else { None };
        self.expect_symbol(b')')?;
        Ok(ExprKind::Convert(Box::new(Convert { form, is_try, operand, target, style })))
    }

    /// CONVERT or TRY_CONVERT.
    pub(super) fn convert_call(&mut self) -> Parsed<ExprKind> {
        let is_try = self.at(Keyword::TryConvert);
        self.advance();
        self.expect_symbol(b'(')?;
        let target = self.data_type()?;
        self.expect_symbol(b',')?;
        let operand = self.value()?;
        let style = if self.accept_symbol(b',') { Some(self.value()?) } else { None };
        self.expect_symbol(b')')?;
        let form = ConvertForm::Convert;
        Ok(ExprKind::Convert(Box::new(Convert { form, is_try, operand, target, style })))
    }

    /// `TRIM (x)`, `TRIM (a FROM x)`, `TRIM (LEADING a FROM x)`
    fn trim(&mut self, name: ObjectName) -> Parsed<ExprKind> {
        let mut call = empty_call(name);
        let mut extra = FunctionExtra::default();
        self.expect_symbol(b'(')?;
        extra.trim = self.trim_side();
        if extra.trim.is_some() {
            self.advance();
        }
        call.args.push(self.value()?);
        if self.accept(Keyword::From) {
            extra.trim_from = true;
            call.args.push(self.value()?);
        }
        self.expect_symbol(b')')?;
        call.extra = boxed_unless_default(extra);
        Ok(ExprKind::Function(Box::new(call)))
    }

    fn trim_side(&self) -> Option<TrimSide> {
        // `TRIM(leading)` is a column of that name.
        if matches!(self.peek_kind(1), TokenKind::Symbol(b')' | b'.' | b'+' | b'(')) {
            return None;
        }
        match () {
            () if self.at_word("LEADING") => Some(TrimSide::Leading),
            () if self.at_word("TRAILING") => Some(TrimSide::Trailing),
            () if self.at_word("BOTH") => Some(TrimSide::Both),
            () => None,
        }
    }

    /// `IIF (condition, a, b)`
    fn iif(&mut self, name: ObjectName) -> Parsed<ExprKind> {
        let mut call = empty_call(name);
        self.expect_symbol(b'(')?;
        call.args.push(self.condition()?);
        self.expect_symbol(b',')?;
        call.args.push(self.value()?);
        self.expect_symbol(b',')?;
        call.args.push(self.value()?);
        self.expect_symbol(b')')?;
        Ok(ExprKind::Function(Box::new(call)))
    }

    /// A call whose name is a reserved keyword.
    pub(super) fn keyword_call(&mut self) -> Parsed<ExprKind> {
        let token = self.advance();
        let name = ObjectName { span: self.span_of(token), ..ObjectName::simple(self.token_text(token)) };
        self.nested(|p| p.plain_call(name))
    }

    /// CURRENT_TIMESTAMP and the like, which take no parentheses.
    pub(super) fn niladic(&mut self) -> Parsed<ExprKind> {
        let token = self.advance();
        let name = ObjectName { span: self.span_of(token), ..ObjectName::simple(self.token_text(token)) };
        Ok(ExprKind::Function(Box::new(FunctionCall { is_niladic: true, ..empty_call(name) })))
    }

    /// `IDENTITY (type, seed, increment)`
    pub(super) fn identity_call(&mut self) -> Parsed<ExprKind> {
        self.advance();
        self.expect_symbol(b'(')?;
        let data_type = self.data_type()?;
        let mut call = IdentityCall { data_type, seed: None, increment: None };
        if self.accept_symbol(b',') {
            call.seed = Some(self.value()?);
            self.expect_symbol(b',')?;
            call.increment = Some(self.value()?);
        }
        self.expect_symbol(b')')?;
        Ok(ExprKind::Identity(Box::new(call)))
    }

    /// The call inside `{fn ..}`.
    pub(super) fn odbc_call(&mut self) -> Parsed<ExprKind> {
        let start = self.token();
        let name = self.ident_or_keyword()?;
        let mut call = empty_call(ObjectName { name, span: self.span_of(start), ..ObjectName::default() });
        call.is_odbc = true;
        let mut extra = FunctionExtra::default();
        self.expect_symbol(b'(')?;
        if !self.at_symbol(b')') {
            call.args = self.comma_list(Self::value)?;
            // EXTRACT (part FROM x)
            if self.accept(Keyword::From) {
                extra.trim_from = true;
                call.args.push(self.value()?);
            }
        }
        self.expect_symbol(b')')?;
        call.extra = boxed_unless_default(extra);
        Ok(ExprKind::Function(Box::new(call)))
    }

    /// `MATCH (a-(b)->c)`: the pattern is kept as text.
    pub(super) fn graph_match(&mut self) -> Parsed<ExprKind> {
        let start = self.token();
        let name = ObjectName { span: self.span_of(start), ..ObjectName::simple("MATCH") };
        self.advance();
        let pattern_start = self.peek(1);
        self.skip_parentheses()?;
        let pattern = self.raw_since(pattern_start);
        let pattern = pattern.strip_suffix(')').unwrap_or(&pattern).trim().to_string();
        let arg =
            Expr { span: self.span_from(pattern_start), kind: ExprKind::Literal(Literal::String(pattern)) };
        Ok(ExprKind::Function(Box::new(FunctionCall { args: vec![arg], ..empty_call(name) })))
    }

    /// Skips from `(` to behind its `)`.
    pub(super) fn skip_parentheses(&mut self) -> Parsed<()> {
        self.expect_symbol(b'(')?;
        let mut depth = 1;
        while depth > 0 {
            match self.kind() {
                TokenKind::Symbol(b'(') => depth += 1,
                TokenKind::Symbol(b')') => depth -= 1,
                TokenKind::End | TokenKind::Unclosed | TokenKind::UnclosedComment => {
                    return Err(self.unexpected());
                }
                _ => {}
            }
            self.advance();
        }
        Ok(())
    }

    /// A name for a table function written with a keyword (CONTAINSTABLE and the like).
    pub(super) fn keyword_name(&mut self) -> ObjectName {
        let token = self.advance();
        let name = Ident::new(self.token_text(token));
        ObjectName { name, span: self.span_of(token), ..ObjectName::default() }
    }
}

/// Functions with a grammar of their own, and whether they are TRY_.
enum Special {
    Cast(bool),
    Parse(bool),
    Trim,
    Iif,
}

/// A call without arguments.
pub(super) fn empty_call(name: ObjectName) -> FunctionCall {
    FunctionCall {
        name,
        quantifier: None,
        star: false,
        args: Vec::new(),
        is_niladic: false,
        is_odbc: false,
        extra: None,
    }
}

fn boxed_unless_default(extra: FunctionExtra) -> Option<Box<FunctionExtra>> {
    (extra != FunctionExtra::default()).then(|| Box::new(extra))
}
