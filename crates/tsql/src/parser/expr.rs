//! Expressions and conditions: precedence climbing over one table of levels.
//!
//! T-SQL keeps values and conditions apart. A parenthesis at the start of a condition may hold either, so there
//! the inner expression is parsed as either, and its kind determines which operators may follow.

use super::function::empty_call;
use super::{CALL, LIGHT, Parsed, Parser, QUERY};
use crate::ast::{
    Arithmetic, Between, BinaryOp, Case, ColumnRef, Comparison, ComparisonOp, Expr, ExprKind, FullText,
    Ident, In, InList, Like, Literal, MethodCall, NextValueFor, ObjectName, OdbcLiteralKind, Quantified,
    StaticCall, UnaryOp,
};
use crate::keywords::Keyword;
use crate::lexer::{Token, TokenKind};

/// Height of a tree that wrapping (joins, COLLATE, methods) may reach, beyond what nesting allows: error 191.
pub(super) const HEIGHT_MAX: u32 = 600;

/// Binding strength, weakest first. `+ - & | ^` share one level, as do unary signs with them: `-a * b` is
/// `-(a * b)` in T-SQL.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Or,
    And,
    Not,
    Predicate,
    Sum,
    Product,
    Unary,
}

impl Parser<'_> {
    /// A value.
    pub(super) fn value(&mut self) -> Parsed<Expr> {
        self.expr(Level::Sum)
    }

    /// A value inside a construct that may hold itself: one level deeper.
    pub(super) fn nested_value(&mut self) -> Parsed<Expr> {
        self.nested(LIGHT, Self::value)
    }

    /// A value or the word DEFAULT.
    pub(super) fn value_or_default(&mut self) -> Parsed<Expr> {
        if self.at(Keyword::Default) {
            let token = self.advance();
            return Ok(Expr { span: self.span_of(token), kind: ExprKind::Default });
        }
        self.value()
    }

    /// A condition; error 4145 when it is a value.
    pub(super) fn condition(&mut self) -> Parsed<Expr> {
        let expr = self.expr(Level::Or)?;
        self.require_condition(&expr)?;
        Ok(expr)
    }

    /// A condition or a value.
    pub(super) fn expression_or_condition(&mut self) -> Parsed<Expr> {
        self.expr(Level::Or)
    }

    #[inline(never)]
    fn require_condition(&self, expr: &Expr) -> Parsed<()> {
        if is_condition(expr) {
            return Ok(());
        }
        let token = match self.kind() {
            TokenKind::End => self.tokens[self.position.saturating_sub(1)],
            TokenKind::Unclosed | TokenKind::UnclosedComment => return Err(self.unexpected()),
            _ => self.token(),
        };
        Err(self.error_at(4145, token, self.near(token)))
    }

    fn expr(&mut self, min: Level) -> Parsed<Expr> {
        let start = self.token();
        let mut left = if min <= Level::Not && self.at(Keyword::Not) {
            self.negation(start)?
        } else {
            self.operand(min <= Level::Predicate)?
        };
        loop {
            let Some(level) = self.operator_level() else { return Ok(left) };
            if level < min {
                return Ok(left);
            }
            left = match level {
                Level::Product | Level::Sum if !is_condition(&left) => self.arithmetic(start, left, level)?,
                Level::Predicate if !is_condition(&left) => self.predicate(start, left)?,
                Level::And | Level::Or => self.junction(start, left, level)?,
                _ => return Ok(left),
            };
        }
    }

    /// Level of the operator at the current token.
    fn operator_level(&self) -> Option<Level> {
        let TokenKind::Symbol(symbol) = self.kind() else {
            return match self.kind() {
                TokenKind::Keyword(Keyword::Or) => Some(Level::Or),
                TokenKind::Keyword(Keyword::And) => Some(Level::And),
                TokenKind::Keyword(Keyword::Is | Keyword::Like | Keyword::In | Keyword::Between) => {
                    Some(Level::Predicate)
                }
                TokenKind::Keyword(Keyword::Not) => match self.peek_kind(1) {
                    TokenKind::Keyword(Keyword::Like | Keyword::In | Keyword::Between) => {
                        Some(Level::Predicate)
                    }
                    _ => None,
                },
                _ => None,
            };
        };
        let next = self.peek_kind(1);
        match symbol {
            b'<' | b'>' if next == TokenKind::Symbol(symbol) && self.touches_next() => Some(Level::Sum),
            b'=' | b'<' | b'>' | b'!' => Some(Level::Predicate),
            b'*' if next == TokenKind::Symbol(b'=') => Some(Level::Predicate),
            // `+=` and friends assign.
            _ if next == TokenKind::Symbol(b'=') => None,
            b'*' | b'/' | b'%' => Some(Level::Product),
            b'+' | b'-' | b'&' | b'|' | b'^' => Some(Level::Sum),
            _ => None,
        }
    }

    fn touches_next(&self) -> bool {
        self.token().end == self.peek(1).start
    }

    #[inline(never)]
    fn negation(&mut self, start: Token) -> Parsed<Expr> {
        self.advance();
        let operand = self.nested(LIGHT, |p| p.expr(Level::Not))?;
        self.require_condition(&operand)?;
        Ok(Expr { span: self.span_from(start), kind: ExprKind::Not(Box::new(operand)) })
    }

    /// A chain of operators of one level, `first` being parsed.
    #[inline(never)]
    fn arithmetic(&mut self, start: Token, first: Expr, level: Level) -> Parsed<Expr> {
        let operand_level = if level == Level::Sum { Level::Product } else { Level::Unary };
        let mut rest = Vec::with_capacity(1);
        while self.operator_level() == Some(level) {
            let op = self.binary_operator();
            rest.push((op, self.expr(operand_level)?));
        }
        let kind = ExprKind::Arithmetic(Box::new(Arithmetic { first, rest }));
        Ok(Expr { span: self.span_from(start), kind })
    }

    /// Takes the operator that `operator_level` found.
    fn binary_operator(&mut self) -> BinaryOp {
        let TokenKind::Symbol(symbol) = self.advance().kind else { return BinaryOp::Add };
        match symbol {
            b'-' => BinaryOp::Subtract,
            b'*' => BinaryOp::Multiply,
            b'/' => BinaryOp::Divide,
            b'%' => BinaryOp::Modulo,
            b'&' => BinaryOp::BitAnd,
            b'^' => BinaryOp::BitXor,
            b'|' if self.accept_symbol(b'|') => BinaryOp::Concat,
            b'|' => BinaryOp::BitOr,
            b'<' => {
                self.advance();
                BinaryOp::ShiftLeft
            }
            b'>' => {
                self.advance();
                BinaryOp::ShiftRight
            }
            _ => BinaryOp::Add,
        }
    }

    /// A chain of AND or of OR; nested chains of the same kind are merged.
    #[inline(never)]
    fn junction(&mut self, start: Token, first: Expr, level: Level) -> Parsed<Expr> {
        let keyword = if level == Level::And { Keyword::And } else { Keyword::Or };
        let operand_level = if level == Level::And { Level::Not } else { Level::And };
        let mut operands = Vec::with_capacity(2);
        self.require_condition(&first)?;
        merge(&mut operands, first, level);
        while self.accept(keyword) {
            let operand = self.expr(operand_level)?;
            self.require_condition(&operand)?;
            merge(&mut operands, operand, level);
        }
        let kind = if level == Level::And { ExprKind::And(operands) } else { ExprKind::Or(operands) };
        Ok(Expr { span: self.span_from(start), kind })
    }

    /// The rest of a condition behind its first value.
    #[inline(never)]
    fn predicate(&mut self, start: Token, operand: Expr) -> Parsed<Expr> {
        let negated = self.accept(Keyword::Not);
        let kind = match self.kind() {
            TokenKind::Keyword(Keyword::Is) => self.is_predicate(operand)?,
            TokenKind::Keyword(Keyword::Like) => {
                self.advance();
                let pattern = self.value()?;
                let escape = self.escape_opt()?;
                ExprKind::Like(Box::new(Like { operand, pattern, escape, negated }))
            }
            TokenKind::Keyword(Keyword::In) => {
                self.advance();
                ExprKind::In(Box::new(In { operand, list: self.nested(CALL, Self::in_list)?, negated }))
            }
            TokenKind::Keyword(Keyword::Between) => {
                self.advance();
                let low = self.value()?;
                self.expect(Keyword::And)?;
                let high = self.value()?;
                ExprKind::Between(Box::new(Between { operand, low, high, negated }))
            }
            _ => self.comparison(operand)?,
        };
        Ok(Expr { span: self.span_from(start), kind })
    }

    #[inline(never)]
    fn is_predicate(&mut self, operand: Expr) -> Parsed<ExprKind> {
        self.advance();
        let negated = self.accept(Keyword::Not);
        if self.accept(Keyword::Distinct) {
            self.expect(Keyword::From)?;
            let operands = Box::new((operand, self.value()?));
            return Ok(ExprKind::IsDistinct { operands, negated });
        }
        self.expect(Keyword::Null)?;
        Ok(ExprKind::IsNull { operand: Box::new(operand), negated })
    }

    #[inline(never)]
    fn escape_opt(&mut self) -> Parsed<Option<Expr>> {
        if self.accept(Keyword::Escape) {
            return Ok(Some(self.value()?));
        }
        if self.at_symbol(b'{') && self.at_ahead(1, Keyword::Escape) {
            self.advance();
            self.advance();
            let escape = self.value()?;
            self.expect_symbol(b'}')?;
            return Ok(Some(escape));
        }
        Ok(None)
    }

    #[inline(never)]
    fn in_list(&mut self) -> Parsed<InList> {
        self.expect_symbol(b'(')?;
        let is_query = self.at_symbol(b'(') && self.set_operator_behind_parenthesis();
        let list = if is_query || self.at(Keyword::Select) {
            InList::Query(self.subquery_expression()?)
        } else {
            let mut values = self.comma_list(Self::value)?;
            match (values.pop(), values.is_empty()) {
                (Some(Expr { kind: ExprKind::Subquery(query), .. }), true) => InList::Query(*query),
                (Some(value), _) => {
                    values.push(value);
                    InList::Values(values)
                }
                (None, _) => return Err(self.unexpected()),
            }
        };
        self.expect_symbol(b')')?;
        Ok(list)
    }

    #[inline(never)]
    fn comparison(&mut self, left: Expr) -> Parsed<ExprKind> {
        let op = self.comparison_operator()?;
        let all = self.at(Keyword::All);
        if (all || self.at(Keyword::Any) || self.at(Keyword::Some)) && self.symbol_ahead(1, b'(') {
            self.advance();
            self.advance();
            let query = self.nested(QUERY, Self::query)?;
            self.expect_symbol(b')')?;
            return Ok(ExprKind::Quantified(Box::new(Quantified { operand: left, op, all, query })));
        }
        let right = self.value()?;
        Ok(ExprKind::Comparison(Box::new(Comparison { op, left, right })))
    }

    /// One comparison operator; blanks may separate its characters.
    fn comparison_operator(&mut self) -> Parsed<ComparisonOp> {
        let TokenKind::Symbol(first) = self.kind() else { return Err(self.unexpected()) };
        self.advance();
        let second = match self.kind() {
            TokenKind::Symbol(symbol) => symbol,
            _ => 0,
        };
        let (op, two) = match (first, second) {
            (b'=', b'*') => (ComparisonOp::RightOuter, true),
            (b'=', _) => (ComparisonOp::Equal, false),
            (b'*', b'=') => (ComparisonOp::LeftOuter, true),
            (b'<', b'=') | (b'!', b'>') => (ComparisonOp::LessEqual, true),
            (b'>', b'=') | (b'!', b'<') => (ComparisonOp::GreaterEqual, true),
            (b'<', b'>') | (b'!', b'=') => (ComparisonOp::NotEqual, true),
            (b'<', _) => (ComparisonOp::Less, false),
            (b'>', _) => (ComparisonOp::Greater, false),
            _ => return Err(self.unexpected()),
        };
        if two {
            self.advance();
        }
        Ok(op)
    }

    /// A signed operand or one with its postfixes. `either`: a parenthesis may hold a condition.
    fn operand(&mut self, either: bool) -> Parsed<Expr> {
        let start = self.token();
        let sign = match start.kind {
            TokenKind::Symbol(b'-') => UnaryOp::Minus,
            TokenKind::Symbol(b'+') => UnaryOp::Plus,
            TokenKind::Symbol(b'~') => UnaryOp::BitNot,
            _ => return self.postfixed(either),
        };
        self.advance();
        let operand = self.nested(LIGHT, |p| match sign {
            UnaryOp::BitNot => p.operand(false),
            _ => p.expr(Level::Product),
        })?;
        Ok(Expr { span: self.span_from(start), kind: ExprKind::Unary(sign, Box::new(operand)) })
    }

    /// A primary with COLLATE, AT TIME ZONE, methods and properties.
    fn postfixed(&mut self, either: bool) -> Parsed<Expr> {
        let start = self.token();
        let outer_deepest = std::mem::replace(&mut self.deepest, self.depth);
        let mut expr = self.primary(either)?;
        loop {
            let kind = match self.kind() {
                TokenKind::Keyword(Keyword::Collate) => {
                    self.advance();
                    ExprKind::Collate(Box::new(expr), self.ident()?)
                }
                TokenKind::Symbol(b'.') if self.ident_ahead(1) => self.member(expr)?,
                TokenKind::Word if self.at_word("AT") && self.word_ahead(1, "TIME") => {
                    self.advance();
                    self.advance();
                    self.expect_word("ZONE")?;
                    let zone = self.primary(false)?;
                    ExprKind::AtTimeZone(Box::new((expr, zone)))
                }
                _ => break,
            };
            expr = Expr { span: self.span_from(start), kind };
            self.wrapped()?;
        }
        self.deepest = self.deepest.max(outer_deepest);
        Ok(expr)
    }

    /// Notes that the node just parsed was wrapped once more; error 191 when the tree grows too high.
    pub(super) fn wrapped(&mut self) -> Parsed<()> {
        self.deepest += 1;
        if self.deepest > HEIGHT_MAX {
            return Err(self.too_deep());
        }
        Ok(())
    }

    /// `.method(..)` or `.property`
    #[inline(never)]
    fn member(&mut self, target: Expr) -> Parsed<ExprKind> {
        self.advance();
        let method = self.ident()?;
        if !self.at_symbol(b'(') {
            return Ok(ExprKind::Property(Box::new(target), method));
        }
        let args = self.call_args()?;
        Ok(ExprKind::MethodCall(Box::new(MethodCall { target, method, args, is_mutator: false })))
    }

    fn primary(&mut self, either: bool) -> Parsed<Expr> {
        let start = self.token();
        let kind = match start.kind {
            TokenKind::Word | TokenKind::Bracketed | TokenKind::Quoted => self.name_or_call(either)?,
            TokenKind::Variable => ExprKind::Variable(self.variable()?),
            TokenKind::GlobalVariable => {
                self.advance();
                ExprKind::GlobalVariable(self.token_text(start).to_string())
            }
            TokenKind::Symbol(b'(') if self.at_ahead(1, Keyword::Select) => {
                return self.nested(QUERY, Self::subquery);
            }
            TokenKind::Symbol(b'(') => return self.nested(LIGHT, |p| p.parenthesized(either)),
            TokenKind::Symbol(b'{') => self.nested(CALL, Self::odbc_escape)?,
            TokenKind::Symbol(b'.') => self.name_or_call(either)?,
            TokenKind::Symbol(b':') if self.symbol_ahead(1, b':') => {
                self.advance();
                self.advance();
                self.name_or_call(either)?
            }
            TokenKind::Keyword(keyword) => self.keyword_primary(keyword, either)?,
            _ => match self.literal_opt()? {
                Some(literal) => ExprKind::Literal(literal),
                None => return Err(self.unexpected()),
            },
        };
        Ok(Expr { span: self.span_from(start), kind })
    }

    /// An expression without a row source.
    pub(super) fn value_without_rows(&mut self) -> Parsed<Expr> {
        let outer = std::mem::replace(&mut self.without_rows, true);
        let value = self.value();
        self.without_rows = outer;
        value
    }

    /// `( query )`
    #[inline(never)]
    pub(super) fn subquery(&mut self) -> Parsed<Expr> {
        let start = self.advance();
        let query = self.subquery_expression()?;
        self.expect_symbol(b')')?;
        Ok(Expr { span: self.span_from(start), kind: ExprKind::Subquery(Box::new(query)) })
    }

    /// `( value )`, `( condition )`, also `((query) UNION query)`.
    #[inline(never)]
    fn parenthesized(&mut self, either: bool) -> Parsed<Expr> {
        let start = self.advance();
        let mut inner = self.expr(if either { Level::Or } else { Level::Sum })?;
        if let ExprKind::Subquery(first) = inner.kind {
            let query = if self.at_set_operator() { self.query_after(start, *first)? } else { *first };
            inner = Expr { span: inner.span, kind: ExprKind::Subquery(Box::new(query)) };
        }
        self.expect_symbol(b')')?;
        inner.span = self.span_from(start);
        Ok(inner)
    }

    /// Expressions that start with a reserved keyword.
    #[inline(never)]
    fn keyword_primary(&mut self, keyword: Keyword, either: bool) -> Parsed<ExprKind> {
        let call_follows = self.symbol_ahead(1, b'(');
        match keyword {
            Keyword::Null => {
                self.advance();
                Ok(ExprKind::Literal(Literal::Null))
            }
            Keyword::Case => self.nested(CALL, Self::case),
            Keyword::Convert | Keyword::TryConvert if call_follows => self.nested(CALL, Self::convert_call),
            Keyword::Coalesce | Keyword::Nullif | Keyword::Left | Keyword::Right | Keyword::Tsequal
                if call_follows =>
            {
                self.keyword_call()
            }
            Keyword::CurrentTimestamp
            | Keyword::CurrentDate
            | Keyword::CurrentUser
            | Keyword::SessionUser
            | Keyword::SystemUser
            | Keyword::User => self.niladic(),
            Keyword::Identity if call_follows => self.identity_call(),
            Keyword::Identitycol | Keyword::Rowguidcol => Ok(ExprKind::Column(self.column_ref()?)),
            Keyword::Exists if either => self.nested(QUERY, Self::exists),
            Keyword::Update if either && call_follows => self.update_call(),
            Keyword::Contains | Keyword::Freetext if either && call_follows => {
                self.nested(CALL, Self::full_text)
            }
            _ => Err(self.unexpected()),
        }
    }

    #[inline(never)]
    fn exists(&mut self) -> Parsed<ExprKind> {
        self.advance();
        self.expect_symbol(b'(')?;
        let query = self.subquery_expression()?;
        self.expect_symbol(b')')?;
        Ok(ExprKind::Exists(Box::new(query)))
    }

    #[inline(never)]
    fn case(&mut self) -> Parsed<ExprKind> {
        self.advance();
        let operand = if self.at(Keyword::When) { None } else { Some(self.value()?) };
        let mut branches = Vec::with_capacity(2);
        while self.accept(Keyword::When) {
            let when = if operand.is_some() { self.value()? } else { self.condition()? };
            self.expect(Keyword::Then)?;
            branches.push((when, self.value()?));
        }
        if branches.is_empty() {
            return Err(self.unexpected());
        }
        let otherwise = if self.accept(Keyword::Else) { Some(self.value()?) } else { None };
        self.expect(Keyword::End)?;
        Ok(ExprKind::Case(Box::new(Case { operand, branches, otherwise })))
    }

    /// A column, a call, `type::member`, NEXT VALUE FOR.
    fn name_or_call(&mut self, either: bool) -> Parsed<ExprKind> {
        if self.at_word("NEXT") && self.word_ahead(1, "VALUE") && self.at_ahead(2, Keyword::For) {
            return self.next_value_for();
        }
        if either && self.at_word("MATCH") && self.symbol_ahead(1, b'(') {
            return self.graph_match();
        }
        let start = self.token();
        if !self.symbol_ahead(1, b'.') && self.at_ident() {
            if self.symbol_ahead(1, b'(') {
                return self.simple_call();
            }
            let ident = self.ident()?;
            if self.at_symbol(b':') && self.symbol_ahead(1, b':') {
                return self.static_call(vec![Some(ident)], start);
            }
            return self.column(ColumnRef { qualifier: None, name: ident }, start);
        }
        self.qualified_name_or_call()
    }

    /// A column, in a position where columns are allowed. Error 128.
    #[inline(never)]
    fn column(&mut self, column: ColumnRef, start: Token) -> Parsed<ExprKind> {
        if self.in_values && column.qualifier.is_none() && self.unit_at != Some(start.start) {
            let error = self.error_at(128, start, column.name.value.clone());
            self.misplaced.get_or_insert(error);
        }
        if self.without_rows && self.unit_at != Some(start.start) {
            let table =
                column.qualifier.as_ref().map_or_else(String::new, |table| format!("{}.", table.name.value));
            self.must_have_rows(128, start, format!("{table}{}", column.name.value));
        }
        Ok(ExprKind::Column(column))
    }

    /// Notes the first part that needs rows in an expression without a row source; it is reported after the statement was parsed without errors.
    pub(super) fn must_have_rows(&mut self, number: i32, at: Token, near: String) {
        if std::mem::replace(&mut self.without_rows, false) {
            self.misplaced = Some(self.error_at(number, at, near));
        }
    }

    /// A call by a name of one part.
    #[inline(never)]
    fn simple_call(&mut self) -> Parsed<ExprKind> {
        let start = self.token();
        let name = self.ident()?;
        let call = empty_call(ObjectName { name, span: self.span_of(start), ..ObjectName::default() });
        self.call(call)
    }

    #[inline(never)]
    fn qualified_name_or_call(&mut self) -> Parsed<ExprKind> {
        let start = self.token();
        if !self.symbol_ahead(3, b'(') && !self.symbol_ahead(3, b':') {
            if let Some((Some(table), name)) = self.short_name_opt() {
                let qualifier = Some(self.qualifier(table, start));
                return self.column(ColumnRef { qualifier, name }, start);
            }
        }
        let mut parts = self.name_parts(5)?;
        if self.at_symbol(b'(') {
            if parts.len() > 4 {
                return Err(self.error_at(117, start, self.raw_since(start)));
            }
            let call = empty_call(self.name_from_parts(parts, start)?);
            return self.call(call);
        }
        if self.at_symbol(b':') && self.symbol_ahead(1, b':') {
            return self.static_call(parts, start);
        }
        let Some(Some(name)) = parts.pop() else { return Err(self.unexpected()) };
        let qualifier = Some(Box::new(self.name_from_parts(parts, start)?));
        self.column(ColumnRef { qualifier, name }, start)
    }

    /// `type::member` or `type::member(..)`
    #[inline(never)]
    fn static_call(&mut self, parts: Vec<Option<Ident>>, start: Token) -> Parsed<ExprKind> {
        if parts.len() > 4 {
            return Err(self.error_at(117, start, self.raw_since(start)));
        }
        let type_name = self.name_from_parts(parts, start)?;
        self.advance();
        self.advance();
        let member = self.ident()?;
        let args = if self.at_symbol(b'(') { Some(self.call_args()?) } else { None };
        Ok(ExprKind::StaticCall(Box::new(StaticCall { type_name, member, args })))
    }

    #[inline(never)]
    fn next_value_for(&mut self) -> Parsed<ExprKind> {
        for _ in 0..3 {
            self.advance();
        }
        let sequence = self.object_name()?;
        // Its ORDER BY is not checked as part of the outer expression: OVER itself is refused in expressions without rows (11717).
        let without_rows = std::mem::take(&mut self.without_rows);
        let in_values = std::mem::take(&mut self.in_values);
        let over = if self.at(Keyword::Over) { Some(self.over()?) } else { None };
        self.without_rows = without_rows;
        self.in_values = in_values;
        Ok(ExprKind::NextValueFor(Box::new(NextValueFor { sequence, over })))
    }

    /// `{d '..'}`, `{t '..'}`, `{ts '..'}`, `{guid '..'}`, `{fn call}`
    #[inline(never)]
    fn odbc_escape(&mut self) -> Parsed<ExprKind> {
        self.advance();
        let word = self.token_text(self.token()).to_ascii_lowercase();
        let kind = match word.as_str() {
            "d" => OdbcLiteralKind::Date,
            "t" => OdbcLiteralKind::Time,
            "ts" => OdbcLiteralKind::Timestamp,
            "guid" => OdbcLiteralKind::Guid,
            "fn" => {
                self.advance();
                let call = self.odbc_call()?;
                self.expect_symbol(b'}')?;
                return Ok(call);
            }
            _ => return Err(self.unexpected()),
        };
        self.advance();
        let text = self.expect_string()?;
        self.expect_symbol(b'}')?;
        Ok(ExprKind::OdbcLiteral(kind, text))
    }

    /// `CONTAINS (columns, term [, LANGUAGE l])`
    #[inline(never)]
    fn full_text(&mut self) -> Parsed<ExprKind> {
        let freetext = self.at(Keyword::Freetext);
        self.advance();
        self.expect_symbol(b'(')?;
        let columns = self.full_text_columns()?;
        self.expect_symbol(b',')?;
        let term = self.value()?;
        let language = if self.accept_symbol(b',') {
            self.expect_word("LANGUAGE")?;
            Some(self.value()?)
        } else {
            None
        };
        self.expect_symbol(b')')?;
        Ok(ExprKind::FullText(Box::new(FullText { freetext, columns, term, language })))
    }

    /// `*`, `c`, `(a, b)`, `PROPERTY (c, 'p')`
    fn full_text_columns(&mut self) -> Parsed<Vec<ColumnRef>> {
        if self.accept_symbol(b'*') {
            return Ok(Vec::new());
        }
        if !self.at_symbol(b'(') {
            return Ok(vec![self.column_ref()?]);
        }
        if self.symbol_ahead(1, b'*') {
            self.advance();
            self.advance();
            self.expect_symbol(b')')?;
            return Ok(Vec::new());
        }
        self.paren_list(Self::column_ref)
    }
}

/// Adds `operand` to a chain, or its operands if it is a chain of the same kind.
fn merge(operands: &mut Vec<Expr>, operand: Expr, level: Level) {
    match operand.kind {
        ExprKind::And(inner) if level == Level::And => operands.extend(inner),
        ExprKind::Or(inner) if level == Level::Or => operands.extend(inner),
        kind => operands.push(Expr { span: operand.span, kind }),
    }
}

/// Whether the expression is a condition (has no value).
pub(super) fn is_condition(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Comparison(_)
        | ExprKind::And(_)
        | ExprKind::Or(_)
        | ExprKind::Not(_)
        | ExprKind::IsNull { .. }
        | ExprKind::IsDistinct { .. }
        | ExprKind::Between(_)
        | ExprKind::In(_)
        | ExprKind::Like(_)
        | ExprKind::Exists(_)
        | ExprKind::Quantified(_)
        | ExprKind::FullText(_) => true,
        ExprKind::Function(call) => {
            let name = &call.name;
            name.is_simple()
                && !name.name.quoted
                && (name.name.is("UPDATE") || name.name.is("REGEXP_LIKE") || name.name.is("MATCH"))
        }
        _ => false,
    }
}
