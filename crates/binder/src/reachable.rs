//! Which parts of COALESCE, ISNULL and CASE are reachable, given the constants in them: unreachable parts of a grouped query may name any column.

use plan_ir::bound::tree::{Expr, ExprKind};
use plan_ir::kinds::ConversionKind;
use types::Value;

/// Takes out what is never evaluated.
pub(super) fn only_reachable(expr: &mut Expr) {
    let only = match &mut expr.kind {
        ExprKind::Coalesce(values) => {
            values.iter_mut().for_each(only_reachable);
            let nulls = values.iter().take_while(|value| value.is_constant_null()).count();
            values.drain(..nulls.min(values.len() - 1));
            if let Some(last) = values.iter().position(is_never_null) {
                values.truncate(last + 1);
            }
            if values.len() == 1 { values.pop() } else { None }
        }
        ExprKind::Case(branches, otherwise) => {
            branches.retain(|(condition, _)| !is_never_true(condition));
            if let Some(at) = branches.iter().position(|(condition, _)| is_true(condition)) {
                *otherwise = branches.drain(at..).next().map(|(_, value)| Box::new(value));
            }
            let none = || Expr::constant(Value::Null, expr.sql_type);
            if branches.is_empty() { Some(otherwise.take().map_or_else(none, |value| *value)) } else { None }
        }
        _ => None,
    };
    if let Some(only) = only {
        expr.kind = ExprKind::Retype(Box::new(only));
    }
}

fn is_true(condition: &Expr) -> bool {
    matches!(condition.kind, ExprKind::Constant(Value::Bit(true)))
}

fn is_never_true(condition: &Expr) -> bool {
    matches!(condition.kind, ExprKind::Constant(Value::Bit(false) | Value::Null))
}

/// A constant, be it converted.
fn is_never_null(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Constant(value) => !value.is_null(),
        ExprKind::Convert(inner, conversion) => {
            conversion.kind != ConversionKind::Try && is_never_null(inner)
        }
        ExprKind::Retype(inner) => is_never_null(inner),
        _ => false,
    }
}
