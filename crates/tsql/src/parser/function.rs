//! Function calls: arguments, OVER, WITHIN GROUP, and the functions with a grammar of their own.

use super::{CALL, Parsed, Parser};
use crate::ast::{
    Convert, ConvertForm, Expr, ExprKind, Frame, FrameBound, FunctionCall, FunctionExtra, Ident,
    IdentityCall, Literal, ObjectName, SetQuantifier, TrimSide, Window,
};
use crate::keywords::Keyword;
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// `(args)` of a method or plain call.
    #[inline(never)]
    pub(super) fn call_args(&mut self) -> Parsed<Vec<Expr>> {
        self.nested(CALL, |p| {
            p.expect_symbol(b'(')?;
            if p.accept_symbol(b')') {
                return Ok(Vec::new());
            }
            let args = p.comma_list(Self::value_or_default)?;
            p.expect_symbol(b')')?;
            Ok(args)
        })
    }

    /// The rest of a call, from its parenthesis.
    pub(super) fn call(&mut self, mut call: Box<FunctionCall>) -> Parsed<ExprKind> {
        self.nested(CALL, |p| {
            match p.special_form(&call.name) {
                Some(Special::Cast(is_try)) => return p.cast(ConvertForm::Cast, is_try),
                Some(Special::Parse(is_try)) => return p.cast(ConvertForm::Parse, is_try),
                Some(Special::Trim) => p.trim(&mut call)?,
                Some(Special::Iif) => p.iif(&mut call)?,
                None => p.plain_call(&mut call)?,
            }
            Ok(ExprKind::Function(call))
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

    #[inline(never)]
    fn plain_call(&mut self, call: &mut FunctionCall) -> Parsed<()> {
        self.expect_symbol(b'(')?;
        if self.at_symbol(b'*') && self.symbol_ahead(1, b')') {
            self.advance();
            call.star = true;
        } else if !self.at_symbol(b')') {
            call.quantifier = self.quantifier_opt();
            if (self.without_rows || self.in_values) && crate::keywords::takes_unit(&call.name.name.value) {
                self.unit_at = Some(self.token().start);
            }
            call.args = match call.quantifier {
                // DISTINCT and ALL are of functions of one argument.
                Some(_) => vec![self.argument()?],
                None => self.comma_list(Self::argument)?,
            };
            if !self.at_symbol(b')') {
                self.json_suffix(call)?;
            }
        }
        self.expect_symbol(b')')?;
        if matches!(self.kind(), TokenKind::Keyword(Keyword::Over) | TokenKind::Word) {
            self.call_suffix(call)?;
        }
        Ok(())
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
    #[inline(never)]
    fn json_suffix(&mut self, call: &mut FunctionCall) -> Parsed<()> {
        let mut extra = FunctionExtra::default();
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
        call.extra = boxed_unless_default(extra);
        Ok(())
    }

    /// What may follow the closing parenthesis.
    #[inline(never)]
    fn call_suffix(&mut self, call: &mut FunctionCall) -> Parsed<()> {
        let mut extra = call.extra.take().unwrap_or_default();
        if self.at_word("WITHIN") && self.at_ahead(1, Keyword::Group) {
            self.advance();
            self.advance();
            self.expect_symbol(b'(')?;
            if !self.at(Keyword::Order) {
                return Err(self.unexpected());
            }
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
        call.extra = if *extra == FunctionExtra::default() { None } else { Some(extra) };
        Ok(())
    }

    /// `OVER (..)` or `OVER name`
    #[inline(never)]
    pub(super) fn over(&mut self) -> Parsed<Window> {
        self.expect(Keyword::Over)?;
        if let Some(name) = self.ident_opt() {
            return Ok(Window { name: Some(name), ..Window::default() });
        }
        self.window()
    }

    /// `( [name] [PARTITION BY ..] [ORDER BY ..] [frame] )`
    #[inline(never)]
    pub(super) fn window(&mut self) -> Parsed<Window> {
        self.nested(CALL, |p| {
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

    #[inline(never)]
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

    /// CAST or PARSE, plain or TRY_, from the parenthesis.
    #[inline(never)]
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
    #[inline(never)]
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
    #[inline(never)]
    fn trim(&mut self, call: &mut FunctionCall) -> Parsed<()> {
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
        Ok(())
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
    #[inline(never)]
    fn iif(&mut self, call: &mut FunctionCall) -> Parsed<()> {
        self.expect_symbol(b'(')?;
        call.args.push(self.condition()?);
        self.expect_symbol(b',')?;
        call.args.push(self.value()?);
        self.expect_symbol(b',')?;
        call.args.push(self.value()?);
        self.expect_symbol(b')')
    }

    /// A call whose name is a reserved keyword.
    #[inline(never)]
    pub(super) fn keyword_call(&mut self) -> Parsed<ExprKind> {
        let token = self.advance();
        let name = ObjectName { span: self.span_of(token), ..ObjectName::simple(self.token_text(token)) };
        let mut call = empty_call(name);
        self.nested(CALL, |p| p.plain_call(&mut call))?;
        Ok(ExprKind::Function(call))
    }

    /// `UPDATE(column)`, which is a name of a column, not its value.
    pub(super) fn update_call(&mut self) -> Parsed<ExprKind> {
        let without_rows = std::mem::replace(&mut self.without_rows, false);
        let call = self.keyword_call();
        self.without_rows = without_rows;
        call
    }

    /// CURRENT_TIMESTAMP and the like, which take no parentheses.
    pub(super) fn niladic(&mut self) -> Parsed<ExprKind> {
        let token = self.advance();
        let name = ObjectName { span: self.span_of(token), ..ObjectName::simple(self.token_text(token)) };
        let mut call = empty_call(name);
        call.is_niladic = true;
        Ok(ExprKind::Function(call))
    }

    /// `IDENTITY (type, seed, increment)`
    #[inline(never)]
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
    #[inline(never)]
    pub(super) fn odbc_call(&mut self) -> Parsed<ExprKind> {
        let start = self.token();
        let name = self.ident_or_keyword()?;
        let mut call = empty_call(ObjectName { name, span: self.span_of(start), ..ObjectName::default() });
        call.is_odbc = true;
        let mut extra = FunctionExtra::default();
        self.expect_symbol(b'(')?;
        if !self.at_symbol(b')') {
            if (self.without_rows || self.in_values) && crate::keywords::takes_unit(&call.name.name.value) {
                self.unit_at = Some(self.token().start);
            }
            call.args = self.comma_list(Self::value)?;
            // EXTRACT (part FROM x)
            if self.accept(Keyword::From) {
                extra.trim_from = true;
                call.args.push(self.value()?);
            }
        }
        self.expect_symbol(b')')?;
        call.extra = boxed_unless_default(extra);
        Ok(ExprKind::Function(call))
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
        let mut call = empty_call(name);
        call.args.push(arg);
        Ok(ExprKind::Function(call))
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
#[inline(never)]
pub(super) fn empty_call(name: ObjectName) -> Box<FunctionCall> {
    Box::new(FunctionCall {
        name,
        quantifier: None,
        star: false,
        args: Vec::new(),
        is_niladic: false,
        is_odbc: false,
        extra: None,
    })
}

fn boxed_unless_default(extra: FunctionExtra) -> Option<Box<FunctionExtra>> {
    (extra != FunctionExtra::default()).then(|| Box::new(extra))
}
