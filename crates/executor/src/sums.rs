//! Sums, averages and concatenated texts, for aggregates and windows.

use plan_ir::physical::plan::AggregateNode;
use types::arith::{self, BinaryOp};
use types::{ByteStr, Decimal, SqlError, SqlType, Value, WideStr};

/// Adds `value` to a running sum (NULL at first). Integers are summed in 64 bits, decimals in 38 digits.
#[inline]
pub(crate) fn accumulate(sum: &mut Value, value: &Value, node: &AggregateNode) -> Result<(), SqlError> {
    if let (Value::Decimal(before), Value::Decimal(number)) = (&mut *sum, value)
        && before.scale() == number.scale()
    {
        let total = before.mantissa().checked_add(number.mantissa());
        let total = total.and_then(|total| Decimal::checked(total, 38, number.scale()).ok());
        *before = total.ok_or_else(|| plan_ir::errors::overflow(node.sql_type.name()))?;
        return Ok(());
    }
    accumulate_other(sum, value, node)
}

fn accumulate_other(sum: &mut Value, value: &Value, node: &AggregateNode) -> Result<(), SqlError> {
    if let Some(number) = value.as_i64() {
        let before = sum.as_i64().unwrap_or(0);
        *sum = Value::BigInt(
            before.checked_add(number).ok_or_else(|| plan_ir::errors::overflow(node.sql_type.name()))?,
        );
        return Ok(());
    }
    match (&mut *sum, value) {
        (Value::Float(before), Value::Float(number)) => *before += number,
        (Value::Float(before), Value::Real(number)) => *before += f64::from(*number),
        (Value::Null, Value::Real(number)) => *sum = Value::Float(f64::from(*number)),
        (Value::Null, Value::Decimal(number)) => {
            *sum = Value::Decimal(Decimal::new(number.mantissa(), 38, number.scale()))
        }
        (Value::Null, _) => *sum = value.clone(),
        (before, _) => {
            let result = match &node.argument_type {
                SqlType::Decimal { scale, .. } | SqlType::Numeric { scale, .. } => {
                    SqlType::decimal(38, *scale)
                }
                SqlType::SmallMoney => SqlType::Money,
                other => *other,
            };
            *sum = arith::evaluate(BinaryOp::Add, before, value, &result)?;
        }
    }
    Ok(())
}

/// A sum in its result type.
pub(crate) fn finish_sum(sum: &Value, result: &SqlType) -> Result<Value, SqlError> {
    match (sum, result) {
        (Value::BigInt(number), SqlType::Int) => {
            i32::try_from(*number).map(Value::Int).map_err(|_| plan_ir::errors::overflow("int"))
        }
        _ => Ok(sum.clone()),
    }
}

/// A sum divided by its count, in the aggregate's result type.
pub(crate) fn average(sum: &Value, count: i64, node: &AggregateNode) -> Result<Value, SqlError> {
    match sum {
        Value::Null => Ok(Value::Null),
        // The sum has the type of the average: AVG of ints overflows where SUM does.
        Value::BigInt(_) => Ok(match finish_sum(sum, &node.sql_type)? {
            Value::Int(number) => Value::Int((i64::from(number) / count) as i32),
            Value::BigInt(number) => Value::BigInt(number / count),
            other => other,
        }),
        Value::Float(number) => Ok(Value::Float(number / count as f64)),
        Value::Money(number) => {
            let (quotient, rest) = (number / count, number % count);
            Ok(Value::Money(quotient + if rest.abs() * 2 >= count { rest.signum() } else { 0 }))
        }
        sum => arith::evaluate(
            BinaryOp::Divide,
            sum,
            &Value::Decimal(Decimal::new(i128::from(count), 19, 0)),
            &node.sql_type,
        ),
    }
}

/// STRING_AGG of values already in order; the type decides between bytes and UTF-16.
pub(crate) fn join_strings<'v>(
    values: impl Iterator<Item = &'v Value>,
    separator: &Value,
    result: &SqlType,
) -> Value {
    if matches!(result, SqlType::VarChar(_)) {
        let mut out: Vec<u8> = Vec::new();
        for (index, value) in values.enumerate() {
            for piece in (index > 0).then_some(separator).into_iter().chain(Some(value)) {
                match piece {
                    Value::Char(bytes) => out.extend_from_slice(bytes),
                    other => out.extend_from_slice(&ByteStr::from_text(&other.as_text().unwrap_or_default())),
                }
            }
        }
        return Value::Char(ByteStr::from(out));
    }
    let mut out: Vec<u16> = Vec::new();
    for (index, value) in values.enumerate() {
        for piece in (index > 0).then_some(separator).into_iter().chain(Some(value)) {
            match piece {
                Value::NChar(units) => out.extend_from_slice(units),
                other => out.extend_from_slice(&WideStr::from_text(&other.as_text().unwrap_or_default())),
            }
        }
    }
    Value::NChar(WideStr::from(out))
}
