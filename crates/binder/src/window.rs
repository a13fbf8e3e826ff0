//! Window functions: OVER with PARTITION BY, ORDER BY and frames. The windows that WINDOW names are in `named_window.rs`.

use plan_ir::bound::coercibility::check_key;
use plan_ir::bound::tree::{Expr, ExprKind, SortKey, WindowCall, WindowKind};
use plan_ir::errors;
use plan_ir::kinds::{FrameBound, WindowFrame};
use tsql::ast;
use types::{SqlError, SqlType, Value};

use super::call::aggregate_kind;
use super::{Binder, Clause, coerce, named_window};

/// The whole partition.
const WHOLE: WindowFrame =
    WindowFrame { rows: false, start: FrameBound::UnboundedPreceding, end: FrameBound::UnboundedFollowing };
/// From the start to the peers of the current row: the default with ORDER BY.
const RUNNING: WindowFrame =
    WindowFrame { rows: false, start: FrameBound::UnboundedPreceding, end: FrameBound::Current };

impl Binder<'_> {
    /// A call with OVER. Errors 102, 4106, 4108, 4112, 4193, 4194, 5308, 5309, 5364, 5366, 8730, 10752, 10753, 10756.
    pub(super) fn window_call(
        &mut self,
        name: &str,
        call: &ast::FunctionCall,
        over: &ast::Window,
    ) -> Result<Expr, SqlError> {
        if self.scopes.last().map(|scope| scope.clause) != Some(Clause::Output) {
            return Err(errors::window_misplaced());
        }
        self.clause_without_draws(Clause::Window, |binder| binder.window_inside(name, call, over))
    }

    fn window_inside(
        &mut self,
        name: &str,
        call: &ast::FunctionCall,
        over: &ast::Window,
    ) -> Result<Expr, SqlError> {
        let written = over;
        let over = self.named_window(over)?;
        let mut partition = Vec::new();
        for expr in &over.partition_by {
            let key = self.key_value(expr)?;
            check_key(&key, "PARTITION BY", partition.len() + 1)?;
            partition.push(key);
        }
        let mut order = Vec::new();
        for item in &over.order_by {
            let expr = self.key_value(&item.expr)?;
            check_key(&expr, "ORDER BY", order.len() + 1)?;
            if matches!(expr.kind, ExprKind::Constant(_)) {
                let is_ordinal = matches!(item.expr.kind, ast::ExprKind::Literal(ast::Literal::Int(_)));
                return Err(SqlError::new(if is_ordinal { 5308 } else { 5309 }, &[]));
            }
            // ORDER BY (SELECT NULL) orders nothing.
            let orders_nothing = expr.columns().is_empty() && matches!(expr.kind, ExprKind::Subquery(_));
            if !orders_nothing {
                order.push(SortKey { expr, descending: item.descending == Some(true) });
            }
        }
        let (kind, sql_type) = self.window_kind(name, call)?;
        check_order_and_frame((name, &kind), &over, written)?;
        let frame = match &over.frame {
            Some(frame) => self.frame(frame)?,
            None if over.order_by.is_empty() => WHOLE,
            None => RUNNING,
        };
        let value = match &kind {
            WindowKind::Aggregate(aggregate) => aggregate.argument.as_ref(),
            WindowKind::Shift { value, .. } | WindowKind::Edge { value, .. } => Some(value),
            _ => None,
        };
        let nullable = !matches!(
            kind,
            WindowKind::RowNumber | WindowKind::Rank | WindowKind::DenseRank | WindowKind::Tile(_)
        );
        let id = self.value_column(sql_type, nullable, value);
        self.scope().windows.push((id, WindowCall { kind, partition, order, frame }));
        Ok(self.column_expr(id))
    }

    /// A window with all parts of those that it names. Errors 4123, 5362, 5365.
    pub(super) fn named_window(&mut self, over: &ast::Window) -> Result<ast::Window, SqlError> {
        named_window::resolved(over, &self.scope().named_windows, &mut Vec::new())
    }

    fn window_kind(
        &mut self,
        name: &str,
        call: &ast::FunctionCall,
    ) -> Result<(WindowKind, SqlType), SqlError> {
        let count = call.args.len();
        let expect = |min: usize, max: usize| {
            if count < min || count > max {
                return Err(errors::argument_count(&name.to_ascii_lowercase(), min as u8, max as u8));
            }
            Ok(())
        };
        let ignores_nulls = ignores_nulls(name, call)?;
        Ok(match name {
            "ROW_NUMBER" | "RANK" | "DENSE_RANK" | "PERCENT_RANK" | "CUME_DIST" => {
                expect(0, 0)?;
                match name {
                    "ROW_NUMBER" => (WindowKind::RowNumber, SqlType::BigInt),
                    "RANK" => (WindowKind::Rank, SqlType::BigInt),
                    "DENSE_RANK" => (WindowKind::DenseRank, SqlType::BigInt),
                    "PERCENT_RANK" => (WindowKind::PercentRank, SqlType::Float),
                    _ => (WindowKind::CumeDist, SqlType::Float),
                }
            }
            "NTILE" => {
                expect(1, 1)?;
                let tiles = coerce::implicit(self.value(&call.args[0])?, &SqlType::BigInt)?;
                (WindowKind::Tile(tiles), SqlType::BigInt)
            }
            "LAG" | "LEAD" => {
                expect(1, 3)?;
                let value = self.value(&call.args[0])?;
                let sql_type = value.sql_type;
                let offset = match call.args.get(1) {
                    Some(offset) => coerce::implicit(self.value(offset)?, &SqlType::BigInt)?,
                    None => Expr::constant(Value::BigInt(1), SqlType::BigInt),
                };
                if matches!(&offset.kind, ExprKind::Constant(value) if value.as_i64().is_some_and(|n| n < 0))
                {
                    return Err(SqlError::new(8730, &[]));
                }
                let default = match call.args.get(2) {
                    Some(default) => Some(coerce::implicit(self.value(default)?, &sql_type)?),
                    None => None,
                };
                (WindowKind::Shift { value, offset, default, lead: name == "LEAD", ignores_nulls }, sql_type)
            }
            "FIRST_VALUE" | "LAST_VALUE" => {
                expect(1, 1)?;
                let value = self.value(&call.args[0])?;
                let sql_type = value.sql_type;
                (WindowKind::Edge { value, last: name == "LAST_VALUE", ignores_nulls }, sql_type)
            }
            _ => {
                if super::not_here::is_documented(name) {
                    return Err(errors::unsupported(name));
                }
                let kind = aggregate_kind(name)
                    .filter(|_| !matches!(name, "APPROX_COUNT_DISTINCT" | "STRING_AGG"))
                    .ok_or_else(|| errors::not_a_window_function(&name.to_ascii_lowercase()))?;
                if call.quantifier == Some(ast::SetQuantifier::Distinct) {
                    return Err(errors::distinct_with_over());
                }
                // The argument may hold aggregates of the query's own grouping: SUM(COUNT(*)) OVER ().
                let aggregate = self.window_aggregate(name, kind, call)?;
                let sql_type = aggregate.sql_type;
                (WindowKind::Aggregate(aggregate), sql_type)
            }
        })
    }

    fn window_aggregate(
        &mut self,
        name: &str,
        kind: plan_ir::kinds::AggregateKind,
        call: &ast::FunctionCall,
    ) -> Result<plan_ir::bound::tree::AggregateCall, SqlError> {
        let inner_is_aggregate = call.args.first().is_some_and(contains_aggregate);
        if !inner_is_aggregate {
            return self.aggregate_call(name, kind, call);
        }
        // Bind the argument as a column first, then the aggregate over it.
        let argument = self.value(&call.args[0])?;
        let mut aggregate = self.aggregate_call(
            name,
            kind,
            &ast::FunctionCall { args: vec![literal_like(&argument)], ..call.clone() },
        )?;
        aggregate.argument = Some(argument);
        Ok(aggregate)
    }

    fn frame(&mut self, frame: &ast::Frame) -> Result<WindowFrame, SqlError> {
        let mut bound = |bound: &ast::FrameBound| -> Result<FrameBound, SqlError> {
            Ok(match bound {
                ast::FrameBound::UnboundedPreceding => FrameBound::UnboundedPreceding,
                ast::FrameBound::UnboundedFollowing => FrameBound::UnboundedFollowing,
                ast::FrameBound::CurrentRow => FrameBound::Current,
                ast::FrameBound::Preceding(count) => FrameBound::Preceding(self.frame_count(count)?),
                ast::FrameBound::Following(count) => FrameBound::Following(self.frame_count(count)?),
            })
        };
        let start = bound(&frame.start)?;
        let end = match &frame.end {
            Some(end) => bound(end)?,
            None => FrameBound::Current,
        };
        if place(&frame.start) > place(frame.end.as_ref().unwrap_or(&ast::FrameBound::CurrentRow)) {
            let end = frame.end.as_ref().unwrap_or(&ast::FrameBound::CurrentRow);
            let window = format!("BETWEEN {} AND {}", shown(&frame.start), shown(end));
            return Err(SqlError::new(4193, &[&window]));
        }
        if !frame.rows
            && (matches!(start, FrameBound::Preceding(_) | FrameBound::Following(_))
                || matches!(end, FrameBound::Preceding(_) | FrameBound::Following(_)))
        {
            return Err(errors::range_with_count());
        }
        Ok(WindowFrame { rows: frame.rows, start, end })
    }

    fn frame_count(&mut self, count: &ast::Expr) -> Result<u64, SqlError> {
        match self.value(count)?.kind {
            ExprKind::Constant(value) => value
                .as_i64()
                .and_then(|count| u64::try_from(count).ok())
                .ok_or_else(errors::row_count_invalid),
            _ => Err(errors::row_count_invalid()),
        }
    }
}

/// Is IGNORE NULLS said? Error 102 where neither that nor RESPECT NULLS may stand.
fn ignores_nulls(name: &str, call: &ast::FunctionCall) -> Result<bool, SqlError> {
    let said = call.extra.as_ref().and_then(|extra| extra.ignore_nulls);
    if said.is_some() && !matches!(name, "LAG" | "LEAD" | "FIRST_VALUE" | "LAST_VALUE") {
        return Err(SqlError::new(102, &[&"NULLS"]));
    }
    Ok(said == Some(true))
}

/// What the function needs of its window, which is `over` with the parts of windows that `written` names. Errors 4106, 4112, 5364, 5366, 10752,
/// 10756.
fn check_order_and_frame(
    (name, kind): (&str, &WindowKind),
    over: &ast::Window,
    written: &ast::Window,
) -> Result<(), SqlError> {
    let is_named = written.name.is_some();
    let is_shift = matches!(kind, WindowKind::Shift { .. });
    let takes_frame = matches!(kind, WindowKind::Aggregate(_) | WindowKind::Edge { .. });
    if !matches!(kind, WindowKind::Aggregate(_)) && over.order_by.is_empty() {
        let state = if takes_frame || is_shift { 2 } else { 3 };
        let number = if is_named { 5366 } else { 4112 };
        let error = SqlError::new(number, &[&name.to_ascii_lowercase()]);
        return Err(if is_named { error.with_state(state) } else { error });
    }
    if over.frame.is_some() && !takes_frame {
        let (number, state) = match written.frame.is_some() {
            true => (10752, 3),
            false => (4106, 2),
        };
        let state = if is_shift { 1 } else { state };
        return Err(SqlError::new(number, &[&name.to_ascii_lowercase()]).with_state(state));
    }
    if over.frame.is_some() && over.order_by.is_empty() {
        return Err(SqlError::new(if written.frame.is_some() { 10756 } else { 5364 }, &[]));
    }
    Ok(())
}

/// Bounds of frames in the order in which they may follow each other.
fn place(bound: &ast::FrameBound) -> u8 {
    match bound {
        ast::FrameBound::UnboundedPreceding => 0,
        ast::FrameBound::Preceding(_) => 1,
        ast::FrameBound::CurrentRow => 2,
        ast::FrameBound::Following(_) => 3,
        ast::FrameBound::UnboundedFollowing => 4,
    }
}

/// A bound as messages show it.
fn shown(bound: &ast::FrameBound) -> &'static str {
    match bound {
        ast::FrameBound::UnboundedPreceding => "UNBOUNDED PRECEDING",
        ast::FrameBound::Preceding(_) => "... PRECEDING",
        ast::FrameBound::CurrentRow => "CURRENT ROW",
        ast::FrameBound::Following(_) => "... FOLLOWING",
        ast::FrameBound::UnboundedFollowing => "UNBOUNDED FOLLOWING",
    }
}

fn contains_aggregate(expr: &ast::Expr) -> bool {
    match &expr.kind {
        ast::ExprKind::Function(call) => {
            aggregate_kind(&call.name.name.value.to_ascii_uppercase()).is_some()
                || call.args.iter().any(contains_aggregate)
        }
        ast::ExprKind::Arithmetic(chain) => {
            contains_aggregate(&chain.first) || chain.rest.iter().any(|step| contains_aggregate(&step.1))
        }
        ast::ExprKind::Convert(convert) => contains_aggregate(&convert.operand),
        ast::ExprKind::Unary(_, inner) => contains_aggregate(inner),
        _ => false,
    }
}

/// A literal of the same type, to type the aggregate before its real argument is put in.
fn literal_like(argument: &Expr) -> ast::Expr {
    let literal = match argument.sql_type {
        SqlType::Float | SqlType::Real => ast::Literal::Float(0.0),
        SqlType::Money | SqlType::SmallMoney => ast::Literal::Money("0".to_string()),
        SqlType::BigInt | SqlType::Decimal { .. } | SqlType::Numeric { .. } => {
            ast::Literal::Numeric("0".to_string())
        }
        ref text if text.is_character() => ast::Literal::NString(String::new()),
        _ => ast::Literal::Int(0),
    };
    ast::Expr { span: ast::Span::default(), kind: ast::ExprKind::Literal(literal) }
}
