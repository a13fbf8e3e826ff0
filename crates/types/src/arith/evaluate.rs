//! Evaluation of operators, on operands already converted.

use super::{BinaryOp, UnaryOp};
use crate::convert::errors::{overflow, shown};
use crate::datetime::{DATETIME_TICKS_PER_DAY, DateTime, Moment, SmallDateTime};
use crate::{ByteStr, Decimal, SqlError, SqlResult, SqlType, Value, WideStr, money};

/// Computes on operands already converted as [`super::plan_binary`] says. NULL on either side gives NULL. Errors 8115, 8134.
#[inline]
pub fn evaluate(op: BinaryOp, left: &Value, right: &Value, result: &SqlType) -> SqlResult<Value> {
    match (left, right) {
        (Value::Int(a), Value::Int(b)) => int(op, *a, *b),
        (Value::Null, _) | (_, Value::Null) => Ok(Value::Null),
        _ => evaluate_other(op, left, right, result),
    }
}

fn evaluate_other(op: BinaryOp, left: &Value, right: &Value, result: &SqlType) -> SqlResult<Value> {
    match (left, right) {
        (Value::BigInt(a), Value::BigInt(b)) => whole(op, i128::from(*a), i128::from(*b), &SqlType::BigInt),
        (Value::Decimal(a), Value::Decimal(b)) => decimal(op, a, b, result),
        (Value::Float(a), Value::Float(b)) => float(op, *a, *b, result).map(Value::Float),
        (Value::Real(a), Value::Real(b)) => {
            let number = float(op, f64::from(*a), f64::from(*b), result)? as f32;
            if number.is_finite() { Ok(Value::Real(number)) } else { Err(overflow("expression", result)) }
        }
        (Value::Money(a), Value::Money(b)) => money_op(op, *a, *b, result),
        (Value::Char(a), Value::Char(b)) => Ok(Value::Char(concatenate(a, b, result))),
        (Value::NChar(a), Value::NChar(b)) => Ok(Value::NChar(concatenate_wide(a, b, result))),
        (Value::Binary(a), Value::Binary(b)) => Ok(Value::Binary(concatenate(a, b, result))),
        (Value::DateTime(a), Value::DateTime(b)) => datetime(op, *a, *b),
        (Value::SmallDateTime(a), Value::SmallDateTime(b)) => small_datetime(op, *a, *b),
        (Value::Bit(a), Value::Bit(b)) => Ok(Value::Bit(match op {
            BinaryOp::BitAnd => a & b,
            BinaryOp::BitOr => a | b,
            _ => a ^ b,
        })),
        _ => match (left.as_i64(), right.as_i64()) {
            (Some(a), Some(b)) => whole(op, i128::from(a), i128::from(b), result),
            _ => Err(SqlError::new(
                402,
                &[&left.natural_type().name(), &right.natural_type().name(), &op.name()],
            )),
        },
    }
}

fn divide_by_zero() -> SqlError {
    SqlError::new(8134, &[])
}

#[inline]
fn int(op: BinaryOp, a: i32, b: i32) -> SqlResult<Value> {
    let result = match op {
        BinaryOp::Add => a.checked_add(b),
        BinaryOp::Subtract => a.checked_sub(b),
        BinaryOp::Multiply => a.checked_mul(b),
        BinaryOp::Divide | BinaryOp::Modulo if b == 0 => return Err(divide_by_zero()),
        BinaryOp::Divide => a.checked_div(b),
        BinaryOp::Modulo => Some(a.wrapping_rem(b)),
        BinaryOp::BitAnd => Some(a & b),
        BinaryOp::BitOr => Some(a | b),
        BinaryOp::BitXor => Some(a ^ b),
        BinaryOp::ShiftLeft | BinaryOp::ShiftRight => {
            return whole(op, i128::from(a), i128::from(b), &SqlType::Int);
        }
    };
    result.map(Value::Int).ok_or_else(|| overflow("expression", &SqlType::Int))
}

/// Every integer type: computed in 128 bits and checked against the result type.
fn whole(op: BinaryOp, a: i128, b: i128, result: &SqlType) -> SqlResult<Value> {
    let number = match op {
        BinaryOp::Add => a + b,
        BinaryOp::Subtract => a - b,
        BinaryOp::Multiply => a * b,
        BinaryOp::Divide | BinaryOp::Modulo if b == 0 => return Err(divide_by_zero()),
        BinaryOp::Divide => a / b,
        BinaryOp::Modulo => a % b,
        BinaryOp::BitAnd => a & b,
        BinaryOp::BitOr => a | b,
        BinaryOp::BitXor => a ^ b,
        BinaryOp::ShiftLeft | BinaryOp::ShiftRight => shift(op, a, b, result),
    };
    crate::convert::narrow_integer(number, result).ok_or_else(|| overflow("expression", result))
}

/// Bits move within the width of the type; a negative count moves the other way; bits shifted out are lost.
fn shift(op: BinaryOp, a: i128, count: i128, result: &SqlType) -> i128 {
    let width = 8 * i128::from(result.max_length());
    let mask = (1i128 << width) - 1;
    let left = (op == BinaryOp::ShiftLeft) == (count >= 0);
    let bits = a & mask;
    let moved = match count.abs() {
        count if count >= width => 0,
        count if left => (bits << count) & mask,
        count => bits >> count,
    };
    let is_signed = *result != SqlType::TinyInt && *result != SqlType::Bit;
    if is_signed && moved >> (width - 1) == 1 { moved - (1i128 << width) } else { moved }
}

fn decimal(op: BinaryOp, a: &Decimal, b: &Decimal, result: &SqlType) -> SqlResult<Value> {
    let shape = (result.precision(), result.scale());
    let computed = match op {
        BinaryOp::Add => a.add(b, shape),
        BinaryOp::Subtract => a.subtract(b, shape),
        BinaryOp::Multiply => a.multiply(b, shape),
        BinaryOp::Divide | BinaryOp::Modulo if b.mantissa() == 0 => return Err(divide_by_zero()),
        BinaryOp::Divide => a.divide(b, shape),
        _ => a.modulo(b, shape),
    };
    computed.map(Value::Decimal).map_err(|_| overflow("expression", result))
}

fn float(op: BinaryOp, a: f64, b: f64, result: &SqlType) -> SqlResult<f64> {
    let number = match op {
        BinaryOp::Add => a + b,
        BinaryOp::Subtract => a - b,
        BinaryOp::Multiply => a * b,
        _ if b == 0.0 => return Err(divide_by_zero()),
        _ => a / b,
    };
    if number.is_finite() { Ok(number) } else { Err(SqlError::new(8115, &[&"expression", &shown(result)])) }
}

fn money_op(op: BinaryOp, a: i64, b: i64, result: &SqlType) -> SqlResult<Value> {
    let units = match op {
        BinaryOp::Add => a.checked_add(b),
        BinaryOp::Subtract => a.checked_sub(b),
        BinaryOp::Multiply => money::multiply(a, b),
        _ if b == 0 => return Err(divide_by_zero()),
        BinaryOp::Divide => money::divide(a, b),
        _ => Some(a.wrapping_rem(b)),
    };
    units
        .filter(|units| *result != SqlType::SmallMoney || i32::try_from(*units).is_ok())
        .map(Value::Money)
        .ok_or_else(|| overflow("expression", result))
}

fn concatenate(a: &[u8], b: &[u8], result: &SqlType) -> ByteStr {
    let limit = crate::convert::text::character_limit(result).unwrap_or(usize::MAX);
    let mut joined = Vec::with_capacity((a.len() + b.len()).min(limit));
    joined.extend_from_slice(a);
    joined.extend_from_slice(b);
    joined.truncate(limit);
    ByteStr::from(joined)
}

fn concatenate_wide(a: &[u16], b: &[u16], result: &SqlType) -> WideStr {
    let limit = crate::convert::text::character_limit(result).unwrap_or(usize::MAX);
    let mut joined = Vec::with_capacity((a.len() + b.len()).min(limit));
    joined.extend_from_slice(a);
    joined.extend_from_slice(b);
    joined.truncate(limit);
    WideStr::from(joined)
}

/// Both are counts of days since 1900.
fn datetime(op: BinaryOp, a: DateTime, b: DateTime) -> SqlResult<Value> {
    let day = i64::from(DATETIME_TICKS_PER_DAY);
    let total = |moment: DateTime| i64::from(moment.days) * day + i64::from(moment.ticks);
    let sum = if op == BinaryOp::Add { total(a) + total(b) } else { total(a) - total(b) };
    let moved = DateTime { days: sum.div_euclid(day) as i32, ticks: sum.rem_euclid(day) as u32 };
    let first = crate::datetime::civil::DAYS_TO_1753 - crate::datetime::civil::DAYS_TO_1900;
    let last = crate::datetime::civil::DAYS_MAX - crate::datetime::civil::DAYS_TO_1900;
    if (first..=last).contains(&moved.days) {
        Ok(Value::DateTime(moved))
    } else {
        Err(overflow("expression", &SqlType::DateTime))
    }
}

fn small_datetime(op: BinaryOp, a: SmallDateTime, b: SmallDateTime) -> SqlResult<Value> {
    let total = |moment: SmallDateTime| i64::from(moment.days) * 1440 + i64::from(moment.minutes);
    let sum = if op == BinaryOp::Add { total(a) + total(b) } else { total(a) - total(b) };
    let ticks_per_minute = 600_000_000;
    let base = i64::from(crate::datetime::civil::DAYS_TO_1900) * crate::datetime::TICKS_PER_DAY as i64;
    Moment::from_ticks(base + sum * ticks_per_minute)
        .filter(|_| sum >= 0)
        .and_then(|moment| moment.to_value(&SqlType::SmallDateTime))
        .ok_or_else(|| overflow("expression", &SqlType::SmallDateTime))
}

/// Computes a unary operator on an operand already converted to the result type of [`super::plan_unary`].
pub fn evaluate_unary(op: UnaryOp, operand: &Value, result: &SqlType) -> SqlResult<Value> {
    let error = || overflow("expression", result);
    Ok(match (op, operand) {
        (_, Value::Null) | (UnaryOp::Plus, _) => operand.clone(),
        (UnaryOp::Negate, Value::Int(number)) => Value::Int(number.checked_neg().ok_or_else(error)?),
        (UnaryOp::Negate, Value::SmallInt(number)) => {
            Value::SmallInt(number.checked_neg().ok_or_else(error)?)
        }
        (UnaryOp::Negate, Value::TinyInt(number)) => Value::SmallInt(-i16::from(*number)),
        (UnaryOp::Negate, Value::BigInt(number)) => Value::BigInt(number.checked_neg().ok_or_else(error)?),
        (UnaryOp::Negate, Value::Decimal(number)) => Value::Decimal(number.negate()),
        (UnaryOp::Negate, Value::Money(units)) => Value::Money(units.checked_neg().ok_or_else(error)?),
        (UnaryOp::Negate, Value::Real(number)) => Value::Real(-number),
        (UnaryOp::Negate, Value::Float(number)) => Value::Float(-number),
        (UnaryOp::BitNot, Value::Bit(set)) => Value::Bit(!set),
        (UnaryOp::BitNot, Value::TinyInt(number)) => Value::TinyInt(!number),
        (UnaryOp::BitNot, Value::SmallInt(number)) => Value::SmallInt(!number),
        (UnaryOp::BitNot, Value::Int(number)) => Value::Int(!number),
        (UnaryOp::BitNot, Value::BigInt(number)) => Value::BigInt(!number),
        (UnaryOp::Negate, _) => return Err(SqlError::new(8117, &[&operand.natural_type().name(), &"minus"])),
        (UnaryOp::BitNot, _) => return Err(SqlError::new(8117, &[&operand.natural_type().name(), &"'~'"])),
    })
}
