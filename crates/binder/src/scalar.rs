//! Scalar expressions and predicates.

use plan_ir::bound::coercibility;
use plan_ir::bound::tree::{Expr, ExprKind, LikeExpr, SubqueryExpr, SubqueryKind, balanced};
use plan_ir::kinds::{Coercibility, CompareOp, Conversion, ConversionKind};
use tsql::ast::{self, Literal};
use types::arith::{BinaryOp, UnaryOp};
use types::{Collation, Decimal, SqlError, SqlType, Value};

use super::{Binder, Clause, coerce};

/// Operators in a row that count as one level of nesting: a level of anything else takes several times the stack of an operator.
const OPERATORS_A_LEVEL: u32 = 4;

impl Binder<'_> {
    /// Binds an expression that gives a value.
    pub fn value(&mut self, expr: &ast::Expr) -> Result<Expr, SqlError> {
        self.deeper(|binder| binder.value_inside(expr))
    }

    fn value_inside(&mut self, expr: &ast::Expr) -> Result<Expr, SqlError> {
        match &expr.kind {
            ast::ExprKind::Literal(literal) => literal_value(literal),
            ast::ExprKind::Variable(name) => self.variable(name, expr.span.start),
            ast::ExprKind::GlobalVariable(name) => self.global(name),
            ast::ExprKind::Column(column) => self.column(column),
            ast::ExprKind::Unary(op, operand) => {
                let operand = self.value(operand)?;
                let op = match op {
                    ast::UnaryOp::Plus => UnaryOp::Plus,
                    ast::UnaryOp::Minus => UnaryOp::Negate,
                    ast::UnaryOp::BitNot => UnaryOp::BitNot,
                };
                coerce::unary(op, operand)
            }
            ast::ExprKind::Arithmetic(chain) => self.arithmetic(chain),
            ast::ExprKind::Subquery(query) => self.scalar_subquery(query),
            ast::ExprKind::Case(case) => self.case(case),
            ast::ExprKind::Convert(convert) => self.conversion(convert),
            ast::ExprKind::Function(call) => self.call(call),
            ast::ExprKind::Collate(inner, name) => {
                let inner = self.value(inner)?;
                self.collate(inner, &name.value)
            }
            ast::ExprKind::OdbcLiteral(kind, text) => odbc_literal(*kind, text),
            ast::ExprKind::NextValueFor(next) => self.next_value(next),
            ast::ExprKind::AtTimeZone(parts) => {
                let (moment, zone) = (self.value(&parts.0)?, self.value(&parts.1)?);
                self.at_time_zone(moment, zone)
            }
            ast::ExprKind::Default => Err(plan_ir::errors::syntax_near("DEFAULT")),
            ast::ExprKind::FullText(_) => Err(plan_ir::errors::unsupported("full-text search")),
            ast::ExprKind::Identity(_) => Err(plan_ir::errors::identity_function_misplaced()),
            ast::ExprKind::MethodCall(method) => {
                let subject = self.method_subject(&method.target)?;
                match &method.target.kind {
                    ast::ExprKind::Variable(name) if method.is_mutator => {
                        self.xml_mutator((subject.value, name), &method.method.value, &method.args)
                    }
                    _ => self.xml_method(subject, &method.method.value, &method.args),
                }
            }
            ast::ExprKind::StaticCall(_) | ast::ExprKind::Property(..) => {
                Err(plan_ir::errors::unsupported("methods of CLR and xml types"))
            }
            ast::ExprKind::KeyValue(_) => Err(plan_ir::errors::syntax_near(":")),
            _ => Err(plan_ir::errors::boolean_as_value()),
        }
    }

    /// `a + b - c ...`: a tree as deep as the chain is long; literals at its beginning are folded to one.
    fn arithmetic(&mut self, chain: &ast::Arithmetic) -> Result<Expr, SqlError> {
        let is_literal = |expr: &ast::Expr| matches!(expr.kind, ast::ExprKind::Literal(_));
        let mut rest = chain.rest.as_slice();
        let mut is_first = coerce::is_number(&chain.first);
        let mut folded = if is_literal(&chain.first) { Some(self.value(&chain.first)?) } else { None };
        while let (Some(left), [(op, right), more @ ..]) = (&folded, rest)
            && matches!(left.kind, ExprKind::Constant(_))
            && is_literal(right)
        {
            let left = (folded.take().expect("matched above"), std::mem::take(&mut is_first));
            folded =
                Some(coerce::written_binary(arithmetic_operator(*op), left, (self.value(right)?, true))?);
            rest = more;
        }
        let levels = u32::try_from(rest.len()).unwrap_or(u32::MAX) / OPERATORS_A_LEVEL;
        self.deeper_by(levels, |binder| {
            let mut left = match folded {
                Some(left) => left,
                None => binder.value(&chain.first)?,
            };
            for (op, right) in rest {
                let written = (binder.value(right)?, coerce::is_number(right));
                let before = (left, std::mem::take(&mut is_first));
                left = coerce::written_binary(arithmetic_operator(*op), before, written)?;
            }
            Ok(left)
        })
    }

    /// Binds a condition.
    pub fn condition(&mut self, expr: &ast::Expr) -> Result<Expr, SqlError> {
        self.deeper(|binder| binder.condition_inside(expr))
    }

    fn condition_inside(&mut self, expr: &ast::Expr) -> Result<Expr, SqlError> {
        match &expr.kind {
            ast::ExprKind::Function(call) if call.name.is_simple() && call.name.name.is("UPDATE") => {
                self.is_column_set(call)
            }
            ast::ExprKind::Comparison(comparison) => {
                let op = comparison_operator(comparison.op)?;
                let left = self.value(&comparison.left)?;
                let right = self.value(&comparison.right)?;
                self.compare(op, left, right)
            }
            ast::ExprKind::And(list) => self.chain(list, ExprKind::And),
            ast::ExprKind::Or(list) => self.chain(list, ExprKind::Or),
            ast::ExprKind::Not(inner) => Ok(negate(self.condition(inner)?)),
            ast::ExprKind::IsNull { operand, negated } => {
                let operand = self.tested_column(operand)?;
                let test = Expr { nullable: false, ..Expr::predicate(ExprKind::IsNull(Box::new(operand))) };
                Ok(if *negated { negate(test) } else { test })
            }
            ast::ExprKind::IsDistinct { operands, negated } => {
                self.is_distinct(&operands.0, &operands.1, *negated)
            }
            ast::ExprKind::Between(between) => {
                let operand = self.value(&between.operand)?;
                let low = self.value(&between.low)?;
                let high = self.value(&between.high)?;
                let low = coerce::compare(CompareOp::GreaterOrEqual, operand.clone(), low)?;
                let high = coerce::compare(CompareOp::LessOrEqual, operand, high)?;
                let both = Expr::predicate(ExprKind::And(Box::new(low), Box::new(high)));
                Ok(if between.negated { negate(both) } else { both })
            }
            ast::ExprKind::In(list) => {
                let test = self.in_list(list)?;
                Ok(if list.negated { negate(test) } else { test })
            }
            ast::ExprKind::Like(like) => {
                let test = self.like(like)?;
                Ok(if like.negated { negate(test) } else { test })
            }
            ast::ExprKind::Exists(query) => {
                let bound = self.of_exists(|binder| binder.subquery(query))?;
                let kind = ExprKind::Subquery(Box::new(SubqueryExpr {
                    kind: SubqueryKind::Exists,
                    rel: bound.rel.existence().into(),
                    column: None,
                }));
                Ok(Expr { nullable: false, ..Expr::predicate(kind) })
            }
            ast::ExprKind::Quantified(quantified) => {
                let op = comparison_operator(quantified.op)?;
                let left = self.value(&quantified.operand)?;
                self.quantified(left, op, &quantified.query, quantified.all)
            }
            // UPDATE(column) of triggers and the like come as function calls; nothing else is a condition.
            _ => Err(plan_ir::errors::not_a_condition(expr)),
        }
    }

    fn chain(
        &mut self,
        list: &[ast::Expr],
        make: fn(Box<Expr>, Box<Expr>) -> ExprKind,
    ) -> Result<Expr, SqlError> {
        let mut bound = Vec::with_capacity(list.len());
        for item in list {
            bound.push(self.condition(item)?);
        }
        Ok(balanced(bound, make).expect("a chain has operands"))
    }

    fn compare(&mut self, op: CompareOp, left: Expr, right: Expr) -> Result<Expr, SqlError> {
        if self.ansi_nulls || !matches!(op, CompareOp::Equal | CompareOp::NotEqual) {
            return coerce::compare(op, left, right);
        }
        let is_null = |expr: &Expr| Expr::predicate(ExprKind::IsNull(Box::new(expr.clone())));
        let tested = |expr: &Expr| match op {
            CompareOp::Equal => is_null(expr),
            _ => negate(is_null(expr)),
        };
        match (left.is_null_literal(), right.is_null_literal()) {
            (true, _) => return Ok(tested(&right)),
            (_, true) => return Ok(tested(&left)),
            _ => {}
        }
        // A variable counts as NULL when it is (documentation of SET ANSI_NULLS); two columns are compared as ever.
        let both = |one, other| Expr::predicate(ExprKind::And(Box::new(one), Box::new(other)));
        let mut result = coerce::compare(op, left.clone(), right.clone())?;
        for (side, other) in [(&left, &right), (&right, &left)] {
            if matches!(side.kind, ExprKind::Variable(_)) {
                let as_null = both(is_null(side), tested(other));
                let as_value = both(negate(is_null(side)), result);
                result = Expr::predicate(ExprKind::Or(Box::new(as_null), Box::new(as_value)));
            }
        }
        Ok(result)
    }

    fn is_distinct(&mut self, left: &ast::Expr, right: &ast::Expr, negated: bool) -> Result<Expr, SqlError> {
        let (left, right) = (self.value(left)?, self.value(right)?);
        let is_null = |expr: &Expr| Expr::predicate(ExprKind::IsNull(Box::new(expr.clone())));
        let both_null = Expr::predicate(ExprKind::And(Box::new(is_null(&left)), Box::new(is_null(&right))));
        let neither = Expr::predicate(ExprKind::And(
            Box::new(negate(is_null(&left))),
            Box::new(negate(is_null(&right))),
        ));
        let equal = coerce::compare(CompareOp::Equal, left, right)?;
        let equal = Expr::predicate(ExprKind::And(Box::new(neither), Box::new(equal)));
        let same = Expr::predicate(ExprKind::Or(Box::new(both_null), Box::new(equal)));
        Ok(if negated { same } else { negate(same) })
    }

    fn in_list(&mut self, list: &ast::In) -> Result<Expr, SqlError> {
        let left = self.value(&list.operand)?;
        let items = match &list.list {
            ast::InList::Query(query) => return self.quantified(left, CompareOp::Equal, query, false),
            ast::InList::Values(items) => items,
        };
        let mut bound = Vec::with_capacity(items.len());
        for item in items {
            bound.push(self.value(item)?);
        }
        if bound.len() == 1 {
            return coerce::compare(CompareOp::Equal, left, bound.pop().expect("one item"));
        }
        if left.is_constant_null() {
            return Ok(Expr::predicate(ExprKind::Constant(types::Value::Null)));
        }
        let mut collations = Vec::with_capacity(bound.len());
        for item in &bound {
            coercibility::check_comparable(CompareOp::Equal, &left, item)?;
            collations.push(coercibility::resolved(CompareOp::Equal.name(), [&left, item])?);
        }
        let collation = collations[0];
        if collations.iter().any(|other| *other != collation) {
            let each = |item| coerce::compare(CompareOp::Equal, left.clone(), item);
            let each = bound.into_iter().map(each).collect::<Result<Vec<_>, _>>()?;
            return Ok(balanced(each, ExprKind::Or).expect("there are items"));
        }
        if let Some(typed) = bound.iter().find(|item| !item.is_null_literal()) {
            plan_ir::bound::untyped::beside(&left, typed, true)?;
        }
        let mut wanted = left.sql_type;
        for item in bound.iter().filter(|item| !item.is_null_literal()) {
            if wanted != item.sql_type {
                wanted = types::arith::comparison_type(&wanted, &item.sql_type, "equal to")?;
            }
        }
        let left = if coerce::compares_directly(&left.sql_type, &wanted) && !left.sql_type.is_numeric() {
            left
        } else {
            coerce::implicit(left, &wanted)?
        };
        let bound =
            bound.into_iter().map(|item| coerce::implicit(item, &wanted)).collect::<Result<Vec<_>, _>>()?;
        Ok(Expr { collation, ..Expr::predicate(ExprKind::InList(Box::new(left), bound)) })
    }

    fn like(&mut self, like: &ast::Like) -> Result<Expr, SqlError> {
        let text = |binder: &mut Self, expr: &ast::Expr| -> Result<Expr, SqlError> {
            let bound = binder.value(expr)?;
            if plan_ir::bound::untyped::of(&bound).is_some() {
                return Ok(bound);
            }
            if bound.sql_type.is_character() {
                Ok(bound)
            } else {
                coerce::implicit(bound, &SqlType::varchar(8000))
            }
        };
        let input = text(self, &like.operand)?;
        let pattern = text(self, &like.pattern)?;
        let escape = like.escape.as_ref().map(|escape| text(self, escape)).transpose()?;
        plan_ir::bound::untyped::beside(&input, &pattern, false)?;
        let collation = coercibility::resolved("like", [&input, &pattern])?;
        let wide = |expr: &Expr| expr.sql_type.family() == types::sql_type::TypeFamily::NChar;
        let (input, pattern) = if wide(&input) == wide(&pattern) {
            (input, pattern)
        } else {
            (
                coerce::implicit(input, &SqlType::NVARCHAR_MAX)?,
                coerce::implicit(pattern, &SqlType::NVARCHAR_MAX)?,
            )
        };
        Ok(Expr {
            collation,
            ..Expr::predicate(ExprKind::Like(Box::new(LikeExpr { input, pattern, escape })))
        })
    }

    fn quantified(
        &mut self,
        left: Expr,
        op: CompareOp,
        query: &ast::Query,
        all: bool,
    ) -> Result<Expr, SqlError> {
        let bound = self.subquery(query)?;
        if bound.columns.len() != 1 {
            return Err(plan_ir::errors::subquery_one_column());
        }
        let mut column = bound.columns[0].id;
        let mut rel = bound.rel;
        let inner = self.column_expr(column);
        coercibility::check_comparable(op, &left, &inner)?;
        let collation = coercibility::resolved(op.name(), [&left, &inner])?;
        let (mut left, mut right) = coerce::same_type(op, left, inner)?;
        // Keys of sets are compared by their bytes: both sides must be of one type.
        if left.sql_type != right.sql_type && left.sql_type.is_numeric() {
            let to = types::arith::comparison_type(&left.sql_type, &right.sql_type, "equal to")?;
            left = coerce::implicit(left, &to)?;
            right = coerce::implicit(right, &to)?;
        }
        if right.as_column().is_none() {
            column = self.column_for(&right);
            rel = plan_ir::bound::tree::Rel::Project { input: Box::new(rel), items: vec![(column, right)] };
        }
        let result = self.column_expr(column);
        let kind =
            if all { SubqueryKind::All(op, left, result) } else { SubqueryKind::Any(op, left, result) };
        let subquery = SubqueryExpr { kind, rel: rel.into(), column: Some(column) };
        Ok(Expr { collation, ..Expr::predicate(ExprKind::Subquery(Box::new(subquery))) })
    }

    fn scalar_subquery(&mut self, query: &ast::Query) -> Result<Expr, SqlError> {
        let bound = self.subquery(query)?;
        let [column] = bound.columns.as_slice() else {
            return Err(plan_ir::errors::subquery_one_column());
        };
        let info = self.column_expr(column.id);
        let subquery =
            SubqueryExpr { kind: SubqueryKind::Scalar, rel: bound.rel.into(), column: Some(column.id) };
        Ok(Expr { kind: ExprKind::Subquery(Box::new(subquery)), nullable: true, ..info })
    }

    fn subquery(&mut self, query: &ast::Query) -> Result<super::BoundQuery, SqlError> {
        if self.refuses_subqueries {
            return Err(SqlError::new(1046, &[]));
        }
        if self.scopes.last().is_some_and(|scope| scope.clause == Clause::Aggregate) {
            return Err(plan_ir::errors::aggregate_over_subquery());
        }
        self.query(query)
    }

    fn variable(&mut self, name: &str, offset: u32) -> Result<Expr, SqlError> {
        if let Some(argument) = self.arguments.iter().find(|argument| argument.0.eq_ignore_ascii_case(name)) {
            return Ok(argument.1.clone());
        }
        let found =
            self.context.variables.iter().rposition(|variable| variable.name.eq_ignore_ascii_case(name));
        if let (None, Some(undeclared)) = (found, self.context.undeclared) {
            let parameter = undeclared.meet(name, offset);
            return Ok(Expr::new(ExprKind::Undeclared(parameter), SqlType::Int, true));
        }
        let Some(slot) = found else {
            return self.unknown_name(name.as_ptr().addr(), plan_ir::errors::undeclared_variable(name));
        };
        Ok(Expr::new(ExprKind::Variable(slot), self.context.variables[slot].sql_type, true))
    }

    fn case(&mut self, case: &ast::Case) -> Result<Expr, SqlError> {
        self.refusing_next_values(super::next_values::CONDITIONAL, true, |binder| binder.case_inside(case))
    }

    fn case_inside(&mut self, case: &ast::Case) -> Result<Expr, SqlError> {
        let operand = case.operand.as_ref().map(|operand| self.value(operand)).transpose()?;
        let mut conditions = Vec::new();
        let mut values = Vec::new();
        for (when, then) in &case.branches {
            conditions.push(match &operand {
                Some(operand) => {
                    let right = self.value(when)?;
                    coerce::compare(CompareOp::Equal, operand.clone(), right)?
                }
                None => self.condition(when)?,
            });
            values.push(self.value(then)?);
        }
        if let Some(otherwise) = &case.otherwise {
            values.push(self.value(otherwise)?);
        }
        if values.iter().all(Expr::is_null_literal) {
            return Err(plan_ir::errors::all_branches_null());
        }
        self.make_case(conditions, values)
    }

    /// Searched CASE of conditions and values; one more value than conditions is the ELSE.
    pub fn make_case(&mut self, conditions: Vec<Expr>, values: Vec<Expr>) -> Result<Expr, SqlError> {
        let has_else = values.len() > conditions.len();
        let nullable = !has_else || values.iter().any(|value| value.nullable);
        let (collation, coercibility) = coercibility::combined("CASE", &values)?;
        let (mut values, sql_type) = coerce::unify(values)?;
        let otherwise = if has_else { values.pop().map(Box::new) } else { None };
        let branches = conditions.into_iter().zip(values).collect();
        Ok(Expr {
            collation,
            coercibility,
            ..Expr::new(ExprKind::Case(branches, otherwise), sql_type, nullable)
        })
    }

    fn conversion(&mut self, convert: &ast::Convert) -> Result<Expr, SqlError> {
        let to = plan_ir::data_type::cast_target(&convert.target)?;
        if convert.form == ast::ConvertForm::Parse {
            return self.parse_call(convert, to);
        }
        let operand = self.value(&convert.operand)?;
        let kind = if convert.is_try { ConversionKind::Try } else { ConversionKind::Explicit };
        let style = match &convert.style {
            Some(style) => match self.style(style, convert.is_try)? {
                Some(style) => style,
                None => return Ok(Expr::constant(Value::Null, to)),
            },
            None => types::DEFAULT_STYLE,
        };
        let converted = coerce::convert(operand, &to, Conversion { kind, style })?;
        // What is asked to be converted can be NULL, whatever it is made of: views and SELECT INTO show that.
        Ok(Expr { nullable: true, ..converted })
    }

    /// The style of a CONVERT; of NULL nothing is made. Error 8116 of what is no whole number.
    fn style(&mut self, style: &ast::Expr, is_try: bool) -> Result<Option<i32>, SqlError> {
        let style = self.value(style)?;
        if style.sql_type.family() != types::sql_type::TypeFamily::Integer {
            let function = if is_try { "try_convert" } else { "convert" };
            return Err(SqlError::new(8116, &[&style.sql_type.name(), &3, &function]));
        }
        match style.kind {
            ExprKind::Constant(value) => Ok(value.as_i64().map(|style| style as i32)),
            _ => Err(plan_ir::errors::unsupported("CONVERT with a style that is not a constant")),
        }
    }

    pub(super) fn collate(&mut self, inner: Expr, name: &str) -> Result<Expr, SqlError> {
        if !inner.sql_type.is_character() {
            return Err(plan_ir::errors::collate_not_character(inner.sql_type.name()));
        }
        let collation = if name.eq_ignore_ascii_case("database_default")
            || name.eq_ignore_ascii_case("catalog_default")
        {
            Collation::default()
        } else {
            Collation::by_name(name).ok_or_else(|| plan_ir::errors::invalid_collation(name))?
        };
        let (sql_type, nullable) = (inner.sql_type, inner.nullable);
        Ok(Expr {
            kind: ExprKind::Retype(Box::new(inner)),
            sql_type,
            nullable,
            collation,
            coercibility: Coercibility::Explicit,
        })
    }
}

/// NOT, pushed into comparisons so that they stay usable for an index.
pub fn negate(expr: Expr) -> Expr {
    match expr.kind {
        ExprKind::Not(inner) => *inner,
        ExprKind::Compare(op, left, right) => {
            Expr { kind: ExprKind::Compare(op.negated(), left, right), ..expr }
        }
        ExprKind::Constant(Value::Bit(truth)) => {
            Expr { kind: ExprKind::Constant(Value::Bit(!truth)), ..expr }
        }
        kind => Expr::predicate(ExprKind::Not(Box::new(Expr { kind, ..expr }))),
    }
}

/// A literal with its type.
pub fn literal_value(literal: &Literal) -> Result<Expr, SqlError> {
    let value = match literal {
        Literal::Null => return Ok(Expr::null()),
        Literal::Int(number) => Value::Int(*number),
        Literal::Numeric(text) => Value::Decimal(
            Decimal::from_literal(text).ok_or_else(|| plan_ir::errors::number_too_large(text))?,
        ),
        Literal::Float(number) => Value::Float(*number),
        Literal::String(text) => Value::varchar(text),
        Literal::NString(text) => Value::nvarchar(text),
        Literal::Binary(bytes) => Value::binary(bytes),
        Literal::Money(text) => Value::Money(money_literal(text)?),
    };
    let sql_type = match value.natural_type() {
        SqlType::Decimal { precision, scale } => SqlType::Numeric { precision, scale },
        other => other,
    };
    Ok(Expr::constant(value, sql_type))
}

fn money_literal(text: &str) -> Result<i64, SqlError> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1i128, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let mut number: i128 = 0;
    for digit in whole.bytes().chain(fraction.bytes().chain(std::iter::repeat(b'0')).take(4)) {
        if !digit.is_ascii_digit() {
            continue;
        }
        number = number.saturating_mul(10).saturating_add(i128::from(digit - b'0'));
    }
    if fraction.as_bytes().get(4).is_some_and(|digit| *digit >= b'5') {
        number += 1;
    }
    i64::try_from(sign * number).map_err(|_| plan_ir::errors::overflow("money"))
}

fn odbc_literal(kind: ast::OdbcLiteralKind, text: &str) -> Result<Expr, SqlError> {
    let literal = Expr::constant(Value::varchar(text), SqlType::varchar(text.len().clamp(1, 8000) as u16));
    let to = match kind {
        ast::OdbcLiteralKind::Guid => SqlType::UniqueIdentifier,
        ast::OdbcLiteralKind::Date | ast::OdbcLiteralKind::Time | ast::OdbcLiteralKind::Timestamp => {
            SqlType::DateTime
        }
    };
    coerce::convert(literal, &to, Conversion { kind: ConversionKind::Explicit, style: types::DEFAULT_STYLE })
}

/// The operator of the types crate.
pub fn arithmetic_operator(op: ast::BinaryOp) -> BinaryOp {
    match op {
        ast::BinaryOp::Add | ast::BinaryOp::Concat => BinaryOp::Add,
        ast::BinaryOp::Subtract => BinaryOp::Subtract,
        ast::BinaryOp::Multiply => BinaryOp::Multiply,
        ast::BinaryOp::Divide => BinaryOp::Divide,
        ast::BinaryOp::Modulo => BinaryOp::Modulo,
        ast::BinaryOp::BitAnd => BinaryOp::BitAnd,
        ast::BinaryOp::BitOr => BinaryOp::BitOr,
        ast::BinaryOp::BitXor => BinaryOp::BitXor,
        ast::BinaryOp::ShiftLeft => BinaryOp::ShiftLeft,
        ast::BinaryOp::ShiftRight => BinaryOp::ShiftRight,
    }
}

/// The operator of a compound assignment.
pub fn assignment_operator(op: ast::AssignOp) -> Option<BinaryOp> {
    Some(match op {
        ast::AssignOp::Set => return None,
        ast::AssignOp::Add | ast::AssignOp::Concat => BinaryOp::Add,
        ast::AssignOp::Subtract => BinaryOp::Subtract,
        ast::AssignOp::Multiply => BinaryOp::Multiply,
        ast::AssignOp::Divide => BinaryOp::Divide,
        ast::AssignOp::Modulo => BinaryOp::Modulo,
        ast::AssignOp::BitAnd => BinaryOp::BitAnd,
        ast::AssignOp::BitOr => BinaryOp::BitOr,
        ast::AssignOp::BitXor => BinaryOp::BitXor,
    })
}

fn comparison_operator(op: ast::ComparisonOp) -> Result<CompareOp, SqlError> {
    Ok(match op {
        ast::ComparisonOp::Equal => CompareOp::Equal,
        ast::ComparisonOp::NotEqual => CompareOp::NotEqual,
        ast::ComparisonOp::Less => CompareOp::Less,
        ast::ComparisonOp::LessEqual => CompareOp::LessOrEqual,
        ast::ComparisonOp::Greater => CompareOp::Greater,
        ast::ComparisonOp::GreaterEqual => CompareOp::GreaterOrEqual,
        ast::ComparisonOp::LeftOuter | ast::ComparisonOp::RightOuter => {
            return Err(plan_ir::errors::old_outer_join());
        }
    })
}
