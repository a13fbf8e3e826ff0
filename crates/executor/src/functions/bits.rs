//! Bit manipulation: LEFT_SHIFT, RIGHT_SHIFT, BIT_COUNT, GET_BIT, SET_BIT over integers and binary strings of up to 8,000 bytes. Bit 0 is the lowest
//! bit of an integer and that of the last byte of a binary string; a shift keeps the value's size and drops bits shifted out.

use plan_ir::function_def::{Argument, Call, FunctionDef, Parameter, ResultRule};
use types::{Length, SqlError, SqlType, Value};

use Parameter::{Any, BigInt, Int};
use ResultRule::Rule;

type Result<T> = std::result::Result<T, SqlError>;

pub(crate) static TABLE: &[FunctionDef] = &[
    FunctionDef::new("LEFT_SHIFT", &[Any, BigInt], Rule(|args| patterned(args, "left_shift")), |call| {
        shifted(call, call.int(1).unwrap_or(0))
    }),
    FunctionDef::new("RIGHT_SHIFT", &[Any, BigInt], Rule(|args| patterned(args, "right_shift")), |call| {
        shifted(call, call.int(1).unwrap_or(0).saturating_neg())
    }),
    FunctionDef::new(
        "BIT_COUNT",
        &[Any],
        Rule(|args| patterned(args, "bit_count").map(|_| SqlType::BigInt)),
        |call| {
            let bytes = pattern(&call.args[0]);
            Ok(Value::BigInt(bytes.iter().map(|byte| i64::from(byte.count_ones())).sum()))
        },
    ),
    FunctionDef::new(
        "GET_BIT",
        &[Any, BigInt],
        Rule(|args| patterned(args, "get_bit").map(|_| SqlType::Bit)),
        |call| {
            let bytes = pattern(&call.args[0]);
            let (at, mask) = place(&bytes, call.int(1).unwrap_or(0), call, "get_bit")?;
            Ok(Value::Bit(bytes[at] & mask != 0))
        },
    ),
    FunctionDef::new("SET_BIT", &[Any, BigInt, Int], Rule(|args| patterned(args, "set_bit")), set_bit)
        .arity(2, 3),
];

/// The type of the first argument, which must be an integer or binary string. Error 8116.
fn patterned(arguments: &[Argument<'_>], function: &str) -> Result<SqlType> {
    match arguments[0].sql_type {
        kind @ (SqlType::Bit
        | SqlType::TinyInt
        | SqlType::SmallInt
        | SqlType::Int
        | SqlType::BigInt
        | SqlType::Binary(_)
        | SqlType::VarBinary(Length::N(_))) => Ok(kind),
        other => Err(SqlError::new(8116, &[&other.name(), &1, &function])),
    }
}

/// The bits of a value, highest byte first. A bit value has one.
fn pattern(value: &Value) -> Vec<u8> {
    match value {
        Value::Bit(on) => vec![u8::from(*on)],
        Value::TinyInt(number) => vec![*number],
        Value::SmallInt(number) => number.to_be_bytes().to_vec(),
        Value::Int(number) => number.to_be_bytes().to_vec(),
        Value::BigInt(number) => number.to_be_bytes().to_vec(),
        Value::Binary(bytes) => bytes.to_vec(),
        other => unreachable!("the result rule has refused {other:?}"),
    }
}

/// The value of the type of `like` that has these bits.
fn of_pattern(bytes: &[u8], like: &Value) -> Value {
    let wide = || bytes.iter().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
    match like {
        Value::Bit(_) => Value::Bit(bytes[0] & 1 != 0),
        Value::TinyInt(_) => Value::TinyInt(bytes[0]),
        Value::SmallInt(_) => Value::SmallInt(wide() as u16 as i16),
        Value::Int(_) => Value::Int(wide() as u32 as i32),
        Value::BigInt(_) => Value::BigInt(wide() as i64),
        _ => Value::binary(bytes),
    }
}

/// The number of bits of the value.
fn width(bytes: &[u8], like: &Value) -> i64 {
    if let Value::Bit(_) = like { 1 } else { bytes.len() as i64 * 8 }
}

/// Shifts to the left by `left` bits; a negative number shifts to the right.
fn shifted(call: &Call<'_, '_>, left: i64) -> Result<Value> {
    let bytes = pattern(&call.args[0]);
    let size = width(&bytes, &call.args[0]);
    let mut moved = vec![0u8; bytes.len()];
    if left.unsigned_abs() < size as u64 {
        // Bit `from` of the value becomes bit `from + left`; the rest are 0.
        for to in 0..size {
            let from = to - left;
            if (0..size).contains(&from) && bit(&bytes, from) {
                let at = moved.len() - 1 - (to / 8) as usize;
                moved[at] |= 1 << (to % 8);
            }
        }
    }
    Ok(of_pattern(&moved, &call.args[0]))
}

fn bit(bytes: &[u8], number: i64) -> bool {
    bytes[bytes.len() - 1 - (number / 8) as usize] & (1 << (number % 8)) != 0
}

/// The byte and the mask of a bit. Error 1023 when the bit does not exist.
fn place(bytes: &[u8], number: i64, call: &Call<'_, '_>, function: &str) -> Result<(usize, u8)> {
    if !(0..width(bytes, &call.args[0])).contains(&number) {
        return Err(SqlError::new(1023, &[&2, &function]));
    }
    Ok((bytes.len() - 1 - (number / 8) as usize, 1 << (number % 8)))
}

fn set_bit(call: &Call<'_, '_>) -> Result<Value> {
    let on = match call.int(2) {
        None | Some(1) => true,
        Some(0) => false,
        Some(_) => return Err(SqlError::new(1023, &[&3, &"set_bit"])),
    };
    let mut bytes = pattern(&call.args[0]);
    let (at, mask) = place(&bytes, call.int(1).unwrap_or(0), call, "set_bit")?;
    bytes[at] = if on { bytes[at] | mask } else { bytes[at] & !mask };
    Ok(of_pattern(&bytes, &call.args[0]))
}
