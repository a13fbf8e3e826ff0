//! To decimal, money, real and float.

use super::errors::{not_allowed, overflow, shown, unreadable};
use crate::datetime::{DATETIME_TICKS_PER_DAY, DateTime};
use crate::decimal::text::ParseDecimalError;
use crate::decimal::{kernel, pow10};
use crate::{Decimal, SqlError, SqlResult, SqlType, Value, compare, money};

pub(super) fn to_decimal(
    value: &Value,
    from: &SqlType,
    to: &SqlType,
    precision: u8,
    scale: u8,
) -> SqlResult<Value> {
    let converted = match value {
        Value::Char(_) | Value::NChar(_) => {
            let text = value.as_text().unwrap_or_default();
            return match Decimal::parse(&text, precision, scale) {
                Ok(decimal) => Ok(Value::Decimal(decimal)),
                Err(ParseDecimalError::Malformed) => Err(unreadable(from, to)),
                Err(ParseDecimalError::Overflow) => Err(overflow(shown(from), to)),
            };
        }
        Value::Real(number) => Decimal::from_f64(widen(*number), precision, scale),
        Value::Float(number) => Decimal::from_f64(*number, precision, scale),
        Value::DateTime(_) | Value::SmallDateTime(_) => {
            let days = days_since_1900(value).unwrap_or(0.0);
            Decimal::from_f64(days, precision, scale)
        }
        Value::Binary(bytes) => {
            let decimal = super::binary::decimal_from_binary(bytes).ok_or_else(|| unreadable(from, to))?;
            decimal.rescale(precision, scale)
        }
        _ => compare::exact(value).ok_or_else(|| not_allowed(from, to))?.rescale(precision, scale),
    };
    let source = match value {
        Value::Decimal(_) => "numeric",
        Value::Real(_) => "real",
        Value::Float(_) => "float",
        Value::Money(_) => shown(from),
        Value::Int(_) | Value::SmallInt(_) | Value::TinyInt(_) | Value::Bit(_) | Value::BigInt(_) => {
            from.name()
        }
        _ => "expression",
    };
    converted.map(Value::Decimal).map_err(|_| overflow(source, to))
}

/// A real as the shortest decimal that reads back as it, so that 0.1 becomes 0.1.
fn widen(number: f32) -> f64 {
    f64::from(number)
}

pub(super) fn to_money(value: &Value, from: &SqlType, to: &SqlType) -> SqlResult<Value> {
    let units: Option<i128> = match value {
        Value::Money(units) => Some(i128::from(*units)),
        Value::Char(_) | Value::NChar(_) => {
            let text = value.as_text().unwrap_or_default();
            Some(money::parse(&text).ok_or_else(|| {
                SqlError::new(if *to == SqlType::SmallMoney { 293 } else { 235 }, &[]).with_state(0)
            })?)
        }
        Value::Real(number) => money::from_f64(f64::from(*number)),
        Value::Float(number) => money::from_f64(*number),
        Value::DateTime(_) | Value::SmallDateTime(_) => days_since_1900(value).and_then(money::from_f64),
        Value::Binary(bytes) => {
            let width = to.max_length() as usize;
            let tail = &bytes[bytes.len().saturating_sub(width)..];
            let raw = tail.iter().fold(0u64, |sum, byte| sum << 8 | u64::from(*byte));
            Some(i128::from(if width == 4 { i64::from(raw as u32 as i32) } else { raw as i64 }))
        }
        Value::Decimal(decimal) => decimal_to_money(decimal),
        _ => Some(i128::from(value.as_i64().ok_or_else(|| not_allowed(from, to))?) * i128::from(money::UNIT)),
    };
    let range = if *to == SqlType::SmallMoney {
        i64::from(i32::MIN)..=i64::from(i32::MAX)
    } else {
        i64::MIN..=i64::MAX
    };
    units
        .and_then(|units| i64::try_from(units).ok())
        .filter(|units| range.contains(units))
        .map(Value::Money)
        .ok_or_else(|| match value {
            Value::Money(_) => SqlError::new(237, &[&to.name()]).with_state(3),
            Value::Char(_) | Value::NChar(_) => {
                SqlError::new(if *to == SqlType::SmallMoney { 294 } else { 236 }, &[]).with_state(0)
            }
            Value::Decimal(_) => overflow("numeric", to),
            _ => overflow("expression", to),
        })
}

fn decimal_to_money(decimal: &Decimal) -> Option<i128> {
    match decimal.scale() {
        scale @ ..=4 => decimal.mantissa().checked_mul(pow10(4 - scale) as i128),
        scale => Some(kernel::divide_rounding(decimal.mantissa(), scale - 4)),
    }
}

pub(super) fn to_float(value: &Value, from: &SqlType, to: &SqlType) -> SqlResult<Value> {
    let number = match value {
        Value::Float(number) => *number,
        Value::Real(number) => f64::from(*number),
        Value::Char(_) | Value::NChar(_) => {
            let text = value.as_text().unwrap_or_default();
            read_float(&text).ok_or_else(|| unreadable(from, to))?
        }
        Value::DateTime(_) | Value::SmallDateTime(_) => days_since_1900(value).unwrap_or(0.0),
        Value::Money(units) => *units as f64 / money::UNIT as f64,
        Value::Decimal(decimal) => decimal.to_f64(),
        _ => value.as_i64().ok_or_else(|| not_allowed(from, to))? as f64,
    };
    if !number.is_finite() {
        return Err(overflow("expression", to));
    }
    if *to == SqlType::Float {
        return Ok(Value::Float(number));
    }
    let real = number as f32;
    if !real.is_finite() {
        return Err(SqlError::new(232, &[&"real", &format!("{number:.6}")]));
    }
    Ok(Value::Real(real))
}

/// `[sign] digits [. digits] [e [sign] digits]` between blanks; nothing is 0.
fn read_float(text: &str) -> Option<f64> {
    let text = text.trim();
    if text.is_empty() {
        return Some(0.0);
    }
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eEdD".contains(&byte));
    let number: f64 = text.replace(['d', 'D'], "e").parse().ok().filter(|_| plain)?;
    number.is_finite().then_some(number)
}

/// The number that a datetime or smalldatetime is: days since 1900 with the time as a fraction.
pub(crate) fn days_since_1900(value: &Value) -> Option<f64> {
    match value {
        Value::DateTime(DateTime { days, ticks }) => {
            Some(f64::from(*days) + f64::from(*ticks) / f64::from(DATETIME_TICKS_PER_DAY))
        }
        Value::SmallDateTime(moment) => Some(f64::from(moment.days) + f64::from(moment.minutes) / 1440.0),
        _ => None,
    }
}
