//! Operators: result types ([`plan_binary`]), evaluation ([`evaluate`]), and the unification of types in CASE, COALESCE, UNION.

use crate::{SqlResult, SqlType, Value};

pub mod unify;

pub use unify::unify;

/// The binary operators that compute (comparisons are in [`crate::compare()`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// `+`, also concatenation
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Modulo,
    /// `&`
    BitAnd,
    /// `|`
    BitOr,
    /// `^`
    BitXor,
    /// `<<`
    ShiftLeft,
    /// `>>`
    ShiftRight,
}

/// The unary operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `+`
    Plus,
    /// `-`
    Negate,
    /// `~`
    BitNot,
}

/// How a binary operator is carried out: convert both sides, then [`evaluate`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BinaryPlan {
    /// The type the left side is converted to first.
    pub left: SqlType,
    /// The type the right side is converted to first.
    pub right: SqlType,
    /// The type of the result.
    pub result: SqlType,
}

/// Result type and operand conversions of `left op right`. Errors 402, 403, 8117, 206, 257.
pub fn plan_binary(op: BinaryOp, left: &SqlType, right: &SqlType) -> SqlResult<BinaryPlan> {
    let _ = (op, left, right);
    todo!("next landing")
}

/// Computes on operands already converted as [`plan_binary`] says. NULL on either side gives NULL. Errors 8115, 8134, 517.
pub fn evaluate(op: BinaryOp, left: &Value, right: &Value, result: &SqlType) -> SqlResult<Value> {
    let _ = (op, left, right, result);
    todo!("next landing")
}

/// Result type of a unary operator. Error 8117.
pub fn plan_unary(op: UnaryOp, operand: &SqlType) -> SqlResult<SqlType> {
    let _ = (op, operand);
    todo!("next landing")
}

/// Computes a unary operator.
pub fn evaluate_unary(op: UnaryOp, operand: &Value, result: &SqlType) -> SqlResult<Value> {
    let _ = (op, operand, result);
    todo!("next landing")
}

/// The type in which two operands of a comparison meet (the one of higher precedence, widened so that nothing is lost).
/// Errors 206, 257, 402.
pub fn comparison_type(left: &SqlType, right: &SqlType) -> SqlResult<SqlType> {
    let _ = (left, right);
    todo!("next landing")
}
