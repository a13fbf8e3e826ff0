//! To bit, tinyint, smallint, int, bigint.

use super::errors::{not_allowed, overflow, shown, unreadable};
use crate::datetime::{DATETIME_TICKS_PER_DAY, DateTime};
use crate::{SqlError, SqlResult, SqlType, Value, money};

pub(super) fn to_integer(value: &Value, from: &SqlType, to: &SqlType) -> SqlResult<Value> {
    if *to == SqlType::Bit {
        return to_bit(value, from);
    }
    let whole: i128 = match value {
        Value::Decimal(decimal) => decimal.truncate_to_i128(),
        // Money rounds, decimal cuts.
        Value::Money(units) => i128::from(money::round_to_units(*units)),
        Value::Real(number) => return from_float(f64::from(*number), to),
        Value::Float(number) => return from_float(*number, to),
        Value::Char(_) | Value::NChar(_) => return from_text(value, from, to),
        Value::Binary(bytes) => i128::from(from_binary(bytes, to)),
        Value::DateTime(moment) => i128::from(rounded_days(*moment)),
        Value::SmallDateTime(moment) => i128::from(moment.days) + i128::from(moment.minutes >= 720),
        _ => i128::from(value.as_i64().ok_or_else(|| not_allowed(from, to))?),
    };
    narrow(whole, to).ok_or_else(|| match (value, to) {
        (Value::Money(_), _) => SqlError::new(237, &[&to.name()]),
        (Value::BigInt(_), SqlType::Int) | (Value::Decimal(_), _) => overflow("expression", to),
        (_, SqlType::TinyInt) => SqlError::new(220, &[&to.name(), &whole]),
        (_, SqlType::SmallInt) => SqlError::new(220, &[&to.name(), &whole]).with_state(1),
        _ => overflow("expression", to),
    })
}

/// The value of an integer type; `None` when out of its range.
pub(crate) fn narrow(whole: i128, to: &SqlType) -> Option<Value> {
    Some(match to {
        SqlType::TinyInt => Value::TinyInt(u8::try_from(whole).ok()?),
        SqlType::SmallInt => Value::SmallInt(i16::try_from(whole).ok()?),
        SqlType::Int => Value::Int(i32::try_from(whole).ok()?),
        _ => Value::BigInt(i64::try_from(whole).ok()?),
    })
}

fn to_bit(value: &Value, from: &SqlType) -> SqlResult<Value> {
    let set = match value {
        Value::Decimal(decimal) => decimal.mantissa() != 0,
        Value::Money(units) => *units != 0,
        Value::Real(number) => *number != 0.0,
        Value::Float(number) => *number != 0.0,
        Value::Binary(bytes) => bytes.last().is_some_and(|byte| *byte != 0),
        Value::DateTime(moment) => moment.days != 0 || moment.ticks != 0,
        Value::SmallDateTime(moment) => moment.days != 0 || moment.minutes != 0,
        Value::Char(_) | Value::NChar(_) => {
            let text = value.as_text().unwrap_or_default();
            let word = text.trim();
            match read_integer(&text) {
                _ if word.eq_ignore_ascii_case("true") => true,
                _ if word.eq_ignore_ascii_case("false") => false,
                Some(number) => number != 0,
                None => return Err(SqlError::new(245, &[&shown(from), &text, &"bit"])),
            }
        }
        _ => value.as_i64().ok_or_else(|| not_allowed(from, &SqlType::Bit))? != 0,
    };
    Ok(Value::Bit(set))
}

fn from_float(number: f64, to: &SqlType) -> SqlResult<Value> {
    let cut = number.trunc();
    let whole = if cut.abs() < 1e30 { Some(cut as i128) } else { None };
    whole
        .and_then(|whole| narrow(whole, to))
        .ok_or_else(|| SqlError::new(232, &[&to.name(), &format!("{number:.6}")]))
}

fn from_text(value: &Value, from: &SqlType, to: &SqlType) -> SqlResult<Value> {
    let text = value.as_text().unwrap_or_default();
    let Some(whole) = read_integer(&text) else {
        return Err(match to {
            SqlType::BigInt => unreadable(from, to),
            _ => SqlError::new(245, &[&shown(from), &text.trim_end(), &to.name()]),
        });
    };
    narrow(whole, to).ok_or_else(|| match to {
        SqlType::TinyInt => SqlError::new(244, &[&shown(from), &text.trim(), &"INT1"]),
        SqlType::SmallInt => SqlError::new(244, &[&shown(from), &text.trim(), &"INT2"]).with_state(2),
        SqlType::Int => SqlError::new(248, &[&shown(from), &text.trim()]),
        _ => overflow("expression", to),
    })
}

/// `[sign] digits` between blanks; nothing, or a sign alone, is 0. Numbers too long for 128 bits saturate.
fn read_integer(text: &str) -> Option<i128> {
    let text = text.trim();
    let (negative, digits) = match text.as_bytes().first() {
        Some(b'-') => (true, text[1..].trim_start()),
        Some(b'+') => (false, text[1..].trim_start()),
        _ => (false, text),
    };
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let magnitude = digits
        .bytes()
        .fold(0i128, |sum, digit| sum.saturating_mul(10).saturating_add(i128::from(digit - b'0')));
    Some(if negative { -magnitude } else { magnitude })
}

/// The last bytes, most significant first.
fn from_binary(bytes: &[u8], to: &SqlType) -> i64 {
    let width = to.max_length() as usize;
    let tail = &bytes[bytes.len().saturating_sub(width)..];
    let raw = tail.iter().fold(0u64, |sum, byte| sum << 8 | u64::from(*byte));
    match width {
        1 => i64::from(raw as u8),
        2 => i64::from(raw as u16 as i16),
        4 => i64::from(raw as u32 as i32),
        _ => raw as i64,
    }
}

/// Days since 1900, an afternoon rounds up to the next day.
fn rounded_days(moment: DateTime) -> i32 {
    moment.days + i32::from(moment.ticks >= DATETIME_TICKS_PER_DAY / 2)
}
