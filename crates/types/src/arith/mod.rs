//! Operators: result types ([`plan_binary`]), evaluation ([`evaluate`]), and the unification of types in CASE, COALESCE, UNION.

pub use crate::operator::{BinaryOp, UnaryOp};

use crate::sql_type::TypeFamily;
use crate::{Length, SqlError, SqlResult, SqlType};

mod evaluate;
pub mod unify;

pub use evaluate::{evaluate, evaluate_unary};
pub use unify::{comparison_type, decimal_shape, unify};

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

impl BinaryPlan {
    fn same(sql_type: SqlType) -> BinaryPlan {
        BinaryPlan { left: sql_type, right: sql_type, result: sql_type }
    }
}

/// Result type and operand conversions of `left op right`. Errors 206, 257, 402, 8117.
///
/// For a constant integer with a decimal operand, pass as many digits as it shows (`2 / 3.0` is decimal(1,0) / decimal(2,1); a column
/// or variable counts all digits of its type), as [`crate::Decimal::from_i64`] has it; an untyped NULL as the other side's type.
pub fn plan_binary(op: BinaryOp, left: &SqlType, right: &SqlType) -> SqlResult<BinaryPlan> {
    let (left, right) = (&left.base(), &right.base());
    if op.is_bitwise() {
        return plan_bitwise(op, left, right);
    }
    match (left.family(), right.family()) {
        (a, b) if is_text(a) && is_text(b) => plan_concatenation(op, left, right),
        (TypeFamily::Binary, TypeFamily::Binary) => plan_concatenation(op, left, right),
        (TypeFamily::DateTime, _) | (_, TypeFamily::DateTime) => plan_datetime(op, left, right),
        (TypeFamily::Guid | TypeFamily::Variant | TypeFamily::Xml, _) => Err(invalid_operand(left, op)),
        (_, TypeFamily::Guid | TypeFamily::Variant | TypeFamily::Xml) => Err(invalid_operand(right, op)),
        _ => plan_numeric(op, left, right),
    }
}

fn is_text(family: TypeFamily) -> bool {
    matches!(family, TypeFamily::Char | TypeFamily::NChar)
}

fn incompatible(op: BinaryOp, left: &SqlType, right: &SqlType) -> SqlError {
    SqlError::new(402, &[&left.name(), &right.name(), &op.name()])
}

fn invalid_operand(operand: &SqlType, op: BinaryOp) -> SqlError {
    SqlError::new(8117, &[&operand.name(), &op.name()])
}

/// Text with text, binary with binary: only `+`. Lengths add up to at most 8000 bytes, unless a side is max.
fn plan_concatenation(op: BinaryOp, left: &SqlType, right: &SqlType) -> SqlResult<BinaryPlan> {
    let old_large =
        |t: &SqlType| matches!(t, SqlType::Text | SqlType::NText | SqlType::Image | SqlType::RowVersion);
    if op != BinaryOp::Add {
        // Neither side determines the type of number.
        return Err(if is_text(left.family()) {
            invalid_operand(left, op)
        } else {
            incompatible(op, left, right)
        });
    }
    if old_large(left) || old_large(right) {
        return Err(incompatible(op, left, right));
    }
    let length = |t: &SqlType| match *t {
        SqlType::Char(n) | SqlType::NChar(n) | SqlType::Binary(n) => Length::N(n),
        SqlType::VarChar(length) | SqlType::NVarChar(length) | SqlType::VarBinary(length) => length,
        _ => Length::Max,
    };
    let sum = |limit: u16| match (length(left), length(right)) {
        (Length::N(a), Length::N(b)) => Length::N((a + b).min(limit)),
        _ => Length::Max,
    };
    let result = match (left.family(), right.family()) {
        (TypeFamily::Binary, _) => SqlType::VarBinary(sum(8000)),
        (TypeFamily::Char, TypeFamily::Char) => SqlType::VarChar(sum(8000)),
        _ => SqlType::NVarChar(sum(4000)),
    };
    // Each side keeps its own length; only the kind of character changes.
    let side = |t: &SqlType| match result {
        SqlType::NVarChar(_) if t.family() == TypeFamily::Char => {
            let n = length(t).limit().filter(|n| *n <= 4000);
            SqlType::NVarChar(n.map_or(Length::Max, |n| Length::N(n as u16)))
        }
        _ => *t,
    };
    Ok(BinaryPlan { left: side(left), right: side(right), result })
}

/// datetime and smalldatetime take part in + and -, numbers becoming days; the newer types in no operator.
fn plan_datetime(op: BinaryOp, left: &SqlType, right: &SqlType) -> SqlResult<BinaryPlan> {
    let winner = if left.precedence() >= right.precedence() { left } else { right };
    let other = if winner == left { right } else { left };
    if !matches!(winner, SqlType::DateTime | SqlType::SmallDateTime) {
        let same_family = other.family() == TypeFamily::DateTime || is_text(other.family());
        return Err(if same_family {
            match winner.family() {
                TypeFamily::DateTime if left.family() == right.family() => incompatible(op, left, right),
                _ => invalid_operand(winner, op),
            }
        } else {
            SqlError::new(206, &[&left.name(), &right.name()])
        });
    }
    if !matches!(op, BinaryOp::Add | BinaryOp::Subtract) {
        return Err(invalid_operand(winner, op));
    }
    if matches!(other, SqlType::Date | SqlType::Time(_)) {
        return Err(incompatible(op, left, right));
    }
    crate::convert::matrix::check(other, winner, false)?;
    Ok(BinaryPlan::same(*winner))
}

fn plan_numeric(op: BinaryOp, left: &SqlType, right: &SqlType) -> SqlResult<BinaryPlan> {
    let winner = if left.precedence() >= right.precedence() { left } else { right };
    let other = if winner == left { right } else { left };
    if *winner == SqlType::Bit {
        return Err(incompatible(op, left, right));
    }
    if !winner.is_numeric() {
        return Err(invalid_operand(winner, op));
    }
    crate::convert::matrix::check(other, winner, false)?;
    match winner.family() {
        TypeFamily::Approximate if op == BinaryOp::Modulo => Err(incompatible(op, left, right)),
        TypeFamily::Decimal => {
            // Each side keeps its digits; text and binary take the other's shape.
            let shape = |t: &SqlType| decimal_shape(t).unwrap_or((winner.precision(), winner.scale()));
            let is_numeric = |t: &SqlType| matches!(t, SqlType::Numeric { .. });
            let named_numeric = is_numeric(left) || is_numeric(right);
            let decimal = |(precision, scale)| match named_numeric {
                true => SqlType::Numeric { precision, scale },
                false => SqlType::Decimal { precision, scale },
            };
            let (a, b) = (shape(left), shape(right));
            let result = decimal(crate::decimal::rules::result_shape(op, a, b));
            let side = |t: &SqlType, shape| match t.family() {
                TypeFamily::Decimal => *t,
                _ => decimal(shape),
            };
            Ok(BinaryPlan { left: side(left, a), right: side(right, b), result })
        }
        _ => Ok(BinaryPlan::same(*winner)),
    }
}

fn plan_bitwise(op: BinaryOp, left: &SqlType, right: &SqlType) -> SqlResult<BinaryPlan> {
    use TypeFamily::{Binary, Integer};
    let is_shift = matches!(op, BinaryOp::ShiftLeft | BinaryOp::ShiftRight);
    match (left.family(), right.family()) {
        (Integer, Integer) if is_shift => {
            Ok(BinaryPlan { left: *left, right: SqlType::BigInt, result: *left })
        }
        (Integer, Integer) => {
            Ok(BinaryPlan::same(if left.precedence() >= right.precedence() { *left } else { *right }))
        }
        (Integer, Binary) if !is_shift => Ok(BinaryPlan::same(*left)),
        (Binary, Integer) if !is_shift => Ok(BinaryPlan::same(*right)),
        // Text with an integer as the other operand becomes the integer's type.
        (Integer, family) if is_text(family) => plan_bitwise(op, left, left),
        (family, Integer) if is_text(family) => plan_bitwise(op, right, right),
        _ => Err(incompatible(op, left, right)),
    }
}

/// Result type of a unary operator, to which the operand is converted first. Error 8117.
pub fn plan_unary(op: UnaryOp, operand: &SqlType) -> SqlResult<SqlType> {
    let operand = operand.base();
    let invalid = |name: &str| Err(SqlError::new(8117, &[&operand.name(), &name]));
    match op {
        UnaryOp::Plus => Ok(operand),
        UnaryOp::Negate => match operand {
            // A negated tinyint needs a sign.
            SqlType::TinyInt => Ok(SqlType::SmallInt),
            SqlType::Bit => invalid("minus"),
            _ if operand.is_numeric() => Ok(operand),
            _ => invalid("minus"),
        },
        UnaryOp::BitNot if operand.family() == TypeFamily::Integer => Ok(operand),
        UnaryOp::BitNot => invalid("'~'"),
    }
}
