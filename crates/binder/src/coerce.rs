//! Implicit conversions and the typing of operators; constants are folded on the way.

use plan_ir::bound::coercibility::{check_comparable, combined, resolved};
use plan_ir::bound::tree::{Expr, ExprKind};
use plan_ir::kinds::CompareOp;
use tsql::ast;
use types::arith::{self, BinaryOp, UnaryOp};
use types::sql_type::TypeFamily;
use types::{SqlError, SqlType, Value};

pub use plan_ir::bound::convert::{convert, for_variable, implicit};

/// `left op right` with the types and conversions of SQL Server; folded when both are constants.
pub fn binary(op: BinaryOp, left: Expr, right: Expr) -> Result<Expr, SqlError> {
    plan_ir::bound::untyped::beside(&left, &right, false)?;
    let left_type = if left.is_null_literal() { right.sql_type } else { left.sql_type };
    let right_type = if right.is_null_literal() { left_type } else { right.sql_type };
    let plan = arith::plan_binary(op, &left_type, &right_type)?;
    let (collation, coercibility) = combined(op.name(), [&left, &right])?;
    let nullable = left.nullable || right.nullable;
    let left = implicit(left, &plan.left)?;
    let right = implicit(right, &plan.right)?;
    let is_text = plan.result.is_character();
    // The result of NULL concatenated with text depends on a session option: it is left to run time.
    let is_null = |expr: &Expr| matches!(expr.kind, ExprKind::Constant(Value::Null));
    let depends_on_session = is_text && (is_null(&left) || is_null(&right));
    if let (ExprKind::Constant(a), ExprKind::Constant(b)) = (&left.kind, &right.kind)
        && !depends_on_session
        && let Ok(value) = arith::evaluate(op, a, b, &plan.result)
        && !value.is_null()
    {
        return Ok(Expr {
            kind: ExprKind::Constant(value),
            sql_type: plan.result,
            nullable,
            collation,
            coercibility,
        });
    }
    Ok(Expr {
        kind: ExprKind::Binary(op, Box::new(left), Box::new(right)),
        sql_type: plan.result,
        // Arithmetic that fails is NULL under SET ARITHABORT OFF and ANSI_WARNINGS OFF.
        nullable: nullable || !is_text,
        collation,
        coercibility,
    })
}

/// The same of operands as they are written: an int literal beside a decimal counts with the digits it has (`1.0 / 3` divides by a
/// numeric(1,0)), unlike what is cast to int or computed.
pub fn written_binary(
    op: BinaryOp,
    (left, left_is_literal): (Expr, bool),
    (right, right_is_literal): (Expr, bool),
) -> Result<Expr, SqlError> {
    let is_decimal = |expr: &Expr| expr.sql_type.family() == TypeFamily::Decimal;
    let narrowed = |expr: Expr| match expr.kind {
        ExprKind::Constant(Value::Int(number)) => {
            let number = types::Decimal::from_i64(i64::from(number));
            let sql_type = SqlType::Numeric { precision: number.precision(), scale: 0 };
            Expr::constant(Value::Decimal(number), sql_type)
        }
        _ => expr,
    };
    let (left_narrows, right_narrows) =
        (left_is_literal && is_decimal(&right), right_is_literal && is_decimal(&left));
    let left = if left_narrows { narrowed(left) } else { left };
    let right = if right_narrows { narrowed(right) } else { right };
    binary(op, left, right)
}

/// Is it a number as it is written, be it with a sign?
pub fn is_number(expr: &ast::Expr) -> bool {
    match &expr.kind {
        ast::ExprKind::Literal(_) => true,
        ast::ExprKind::Unary(ast::UnaryOp::Plus | ast::UnaryOp::Minus, inner) => is_number(inner),
        _ => false,
    }
}

/// A unary operator.
pub fn unary(op: UnaryOp, operand: Expr) -> Result<Expr, SqlError> {
    let result = arith::plan_unary(op, &operand.sql_type)?;
    if op == UnaryOp::Plus {
        return Ok(operand);
    }
    let operand = implicit(operand, &result)?;
    if let ExprKind::Constant(value) = &operand.kind
        && let Ok(value) = arith::evaluate_unary(op, value, &result)
        && !value.is_null()
    {
        return Ok(Expr::constant(value, result));
    }
    // The least integer has no negative: NULL under SET ARITHABORT OFF and ANSI_WARNINGS OFF.
    let nullable = operand.nullable || op == UnaryOp::Negate;
    Ok(Expr::new(ExprKind::Unary(op, Box::new(operand)), result, nullable))
}

/// `left op right` as a predicate. Errors 305, 306, 402, 446, 468.
pub fn compare(op: CompareOp, left: Expr, right: Expr) -> Result<Expr, SqlError> {
    check_comparable(op, &left, &right)?;
    let collation = resolved(op.name(), [&left, &right])?;
    plan_ir::bound::untyped::beside(&left, &right, matches!(op, CompareOp::Equal | CompareOp::NotEqual))?;
    let (left, right) = same_type(op, left, right)?;
    // Nothing compares with NULL: the other side is not looked at, whatever error it has in it.
    if left.is_constant_null() || right.is_constant_null() {
        return Ok(Expr::predicate(ExprKind::Constant(Value::Null)));
    }
    if let (ExprKind::Constant(a), ExprKind::Constant(b)) = (&left.kind, &right.kind) {
        let truth = types::compare(a, b, collation).map(|ordering| op.accepts(ordering));
        return Ok(Expr::predicate(ExprKind::Constant(truth.map_or(Value::Null, Value::Bit))));
    }
    Ok(Expr { collation, ..Expr::predicate(ExprKind::Compare(op, Box::new(left), Box::new(right))) })
}

/// Brings two sides of a comparison to types whose values compare directly. Columns are left alone where possible, so that they can be
/// sought in an index.
pub fn same_type(op: CompareOp, left: Expr, right: Expr) -> Result<(Expr, Expr), SqlError> {
    if left.is_null_literal() {
        let to = right.sql_type;
        return Ok((implicit(left, &to)?, right));
    }
    if right.is_null_literal() {
        let to = left.sql_type;
        return Ok((left, implicit(right, &to)?));
    }
    if compares_directly(&left.sql_type, &right.sql_type) {
        return Ok((left, right));
    }
    let to = arith::comparison_type(&left.sql_type, &right.sql_type, op.name())?;
    let (left_family, right_family, family) = (left.sql_type.family(), right.sql_type.family(), to.family());
    let left = if left_family == family && !needs_same_scale(family) { left } else { implicit(left, &to)? };
    let right =
        if right_family == family && !needs_same_scale(family) { right } else { implicit(right, &to)? };
    Ok((left, right))
}

/// Families whose types have different representations.
fn needs_same_scale(family: TypeFamily) -> bool {
    matches!(
        family,
        TypeFamily::DateTime
            | TypeFamily::Approximate
            | TypeFamily::Decimal
            | TypeFamily::Money
            | TypeFamily::Integer
    )
}

/// Do values of the two types compare without conversion?
pub fn compares_directly(left: &SqlType, right: &SqlType) -> bool {
    use TypeFamily::{Binary, Char, Decimal, Guid, Integer, Money, NChar};
    if left == right {
        return true;
    }
    match (left.family(), right.family()) {
        (Integer | Decimal | Money, Integer | Decimal | Money) => true,
        (Char, Char) | (NChar, NChar) | (Binary, Binary) | (Guid, Guid) => true,
        _ => std::mem::discriminant(left) == std::mem::discriminant(right),
    }
}

/// One type for several branches; an untyped NULL has no say. Each branch is converted to it.
pub fn unify(branches: Vec<Expr>) -> Result<(Vec<Expr>, SqlType), SqlError> {
    let candidates: Vec<Option<SqlType>> =
        branches.iter().map(|branch| (!branch.is_null_literal()).then_some(branch.sql_type)).collect();
    let to = arith::unify(&candidates)?.unwrap_or(SqlType::Int);
    let branches = branches.into_iter().map(|branch| implicit(branch, &to)).collect::<Result<_, _>>()?;
    Ok((branches, to))
}
