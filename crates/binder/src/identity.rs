//! IDENTITY with its seed and increment, from the syntax tree.

use engine::IdentityDef;
use tsql::ast;
use types::{SqlError, SqlType};

/// IDENTITY with its seed and increment, 1 when not given. Errors 2749, 2752, 2753.
pub fn identity_definition(
    (seed, increment): (&Option<ast::Expr>, &Option<ast::Expr>),
    column: &str,
    sql_type: &SqlType,
) -> Result<IdentityDef, SqlError> {
    if !is_identity_type(sql_type) {
        return Err(plan_ir::errors::identity_type(column));
    }
    let is_wide = matches!(sql_type, SqlType::Decimal { .. } | SqlType::Numeric { .. });
    let may_be = |number: &i128| match is_wide {
        true => number.unsigned_abs() <= engine::IDENTITY_NUMBER_MAX.unsigned_abs(),
        false => i64::try_from(*number).is_ok(),
    };
    let number = |expr: &Option<ast::Expr>| match expr {
        None => Some(1),
        Some(expr) => wide_number(expr).filter(may_be),
    };
    let seed = number(seed).filter(|seed| engine::identity_value(*seed, sql_type).is_ok());
    let seed = seed.ok_or_else(|| plan_ir::errors::identity_seed(column))?;
    let increment = number(increment).filter(|increment| *increment != 0);
    let increment = increment.ok_or_else(|| plan_ir::errors::identity_increment(column))?;
    Ok(IdentityDef { seed, increment, is_not_for_replication: false })
}

/// An integer literal with its sign.
pub fn wide_number(expr: &ast::Expr) -> Option<i128> {
    match &expr.kind {
        ast::ExprKind::Literal(ast::Literal::Int(number)) => Some(i128::from(*number)),
        ast::ExprKind::Literal(ast::Literal::Numeric(text)) => text.parse().ok(),
        ast::ExprKind::Unary(ast::UnaryOp::Minus, inner) => wide_number(inner).and_then(i128::checked_neg),
        ast::ExprKind::Unary(ast::UnaryOp::Plus, inner) => wide_number(inner),
        _ => None,
    }
}

/// Is the type one that identity columns may have?
pub fn is_identity_type(sql_type: &SqlType) -> bool {
    matches!(sql_type, SqlType::TinyInt | SqlType::SmallInt | SqlType::Int | SqlType::BigInt)
        || matches!(sql_type, SqlType::Decimal { scale: 0, .. } | SqlType::Numeric { scale: 0, .. })
}
