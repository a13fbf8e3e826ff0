//! To binary, varbinary, image, rowversion and to uniqueidentifier.

use super::errors::{not_allowed, unknown_style, unreadable};
use crate::datetime::{Moment, TICKS_PER_DAY, TICKS_PER_SECOND, civil};
use crate::{ByteStr, DEFAULT_STYLE, Decimal, Length, SqlError, SqlResult, SqlType, Value, guid};

pub(super) fn to_binary(value: &Value, from: &SqlType, to: &SqlType, style: i32) -> SqlResult<Value> {
    // Text fills and is cut at its end, numbers at their front.
    let (bytes, is_number) = match value {
        Value::Binary(bytes) => (bytes.to_vec(), false),
        Value::Char(text) if matches!(style, DEFAULT_STYLE | 0) => (text.to_vec(), false),
        Value::NChar(text) if matches!(style, DEFAULT_STYLE | 0) => {
            (text.iter().flat_map(|unit| unit.to_le_bytes()).collect(), false)
        }
        Value::Char(_) | Value::NChar(_) => {
            if !matches!(style, 1 | 2) {
                return Err(unknown_style(style, from, to));
            }
            let text = value.as_text().unwrap_or_default();
            (parse_hex(&text, style).ok_or_else(|| unreadable(from, to))?, false)
        }
        Value::Guid(bytes) => (bytes.to_vec(), false),
        _ => (number_bytes(value, from).ok_or_else(|| not_allowed(from, to))?, true),
    };
    Ok(Value::Binary(fit(bytes, to, is_number)))
}

fn fit(mut bytes: Vec<u8>, to: &SqlType, is_number: bool) -> ByteStr {
    let (limit, fixed) = match *to {
        SqlType::Binary(n) => (usize::from(n), true),
        SqlType::RowVersion => (8, true),
        SqlType::VarBinary(Length::N(n)) => (usize::from(n), false),
        _ => (usize::MAX, false),
    };
    if bytes.len() > limit {
        if is_number {
            bytes.drain(..bytes.len() - limit);
        } else {
            bytes.truncate(limit);
        }
    } else if fixed && bytes.len() < limit {
        if is_number {
            let mut filled = vec![0; limit - bytes.len()];
            filled.extend_from_slice(&bytes);
            bytes = filled;
        } else {
            bytes.resize(limit, 0);
        }
    }
    ByteStr::from(bytes)
}

/// Style 1: `0x` and pairs of digits; style 2: the digits alone.
pub(crate) fn parse_hex(text: &str, style: i32) -> Option<Vec<u8>> {
    let digits = match style {
        1 => text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"))?,
        2 => text,
        _ => return None,
    };
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    digits
        .as_bytes()
        .chunks(2)
        .map(|pair| {
            let digit = |byte: u8| char::from(byte).to_digit(16);
            Some((digit(pair[0])? * 16 + digit(pair[1])?) as u8)
        })
        .collect()
}

/// The bytes of a number, date or time, most significant first where SQL Server has them so.
fn number_bytes(value: &Value, from: &SqlType) -> Option<Vec<u8>> {
    Some(match value {
        Value::Bit(set) => vec![u8::from(*set)],
        Value::TinyInt(number) => vec![*number],
        Value::SmallInt(number) => number.to_be_bytes().to_vec(),
        Value::Int(number) => number.to_be_bytes().to_vec(),
        Value::BigInt(number) => number.to_be_bytes().to_vec(),
        Value::Money(units) if *from == SqlType::SmallMoney => (*units as i32).to_be_bytes().to_vec(),
        Value::Money(units) => units.to_be_bytes().to_vec(),
        Value::Real(number) => number.to_be_bytes().to_vec(),
        Value::Float(number) => number.to_be_bytes().to_vec(),
        Value::Decimal(decimal) => decimal_bytes(decimal),
        Value::DateTime(moment) => [moment.days.to_be_bytes(), moment.ticks.to_be_bytes()].concat(),
        Value::SmallDateTime(moment) => [moment.days.to_be_bytes(), moment.minutes.to_be_bytes()].concat(),
        Value::Date(date) => date.days.to_le_bytes()[..3].to_vec(),
        Value::Time(_) | Value::DateTime2(_) | Value::DateTimeOffset(_) => scaled_time_bytes(value, from)?,
        _ => return None,
    })
}

/// Scale, time in units of the scale, day, offset: little-endian.
fn scaled_time_bytes(value: &Value, from: &SqlType) -> Option<Vec<u8>> {
    let scale = from.scale().min(7);
    let moment = match value {
        Value::DateTimeOffset(moment) => moment.utc.moment(),
        other => Moment::of(other)?,
    };
    let units = moment.ticks / (TICKS_PER_SECOND / 10u64.pow(u32::from(scale)));
    let width = match scale {
        ..=2 => 3,
        3..=4 => 4,
        _ => 5,
    };
    let mut bytes = vec![scale];
    bytes.extend_from_slice(&units.to_le_bytes()[..width]);
    if !matches!(value, Value::Time(_)) {
        bytes.extend_from_slice(&moment.days.to_le_bytes()[..3]);
    }
    if let Value::DateTimeOffset(moment) = value {
        bytes.extend_from_slice(&moment.offset_minutes.to_le_bytes());
    }
    Some(bytes)
}

/// The inverse of the bytes of date, time, datetime2 and datetimeoffset; `None` when they are none.
pub(super) fn time_from_binary(bytes: &[u8], to: &SqlType) -> Option<Moment> {
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0u64, |sum, byte| sum << 8 | u64::from(*byte));
    let day = |bytes: &[u8]| i32::try_from(number(bytes)).ok().filter(|days| *days <= civil::DAYS_MAX);
    if *to == SqlType::Date {
        return Some(Moment::new(day(bytes.get(..3).filter(|_| bytes.len() == 3)?)?, 0));
    }
    let (scale, rest) = bytes.split_first()?;
    let (time_bytes, unit) = match scale {
        0..=2 => (3, 10u64.pow(7 - u32::from(*scale))),
        3..=4 => (4, 10u64.pow(7 - u32::from(*scale))),
        5..=7 => (5, 10u64.pow(7 - u32::from(*scale))),
        _ => return None,
    };
    let (time, rest) = rest.split_at_checked(time_bytes)?;
    let ticks = number(time).checked_mul(unit).filter(|ticks| *ticks < TICKS_PER_DAY)?;
    match (to, rest.len()) {
        (SqlType::Time(_), 0) => Some(Moment::new(civil::DAYS_TO_1900, ticks)),
        (SqlType::DateTime2(_), 3) => Some(Moment::new(day(rest)?, ticks)),
        (SqlType::DateTimeOffset(_), 5) => {
            let offset_minutes = i16::from_le_bytes([rest[3], rest[4]]);
            let utc = Moment::new(day(&rest[..3])?, ticks);
            let shift = i64::from(offset_minutes) * 60 * TICKS_PER_SECOND as i64;
            let local =
                Moment::from_ticks(utc.total_ticks() + shift).filter(|_| offset_minutes.abs() <= 840)?;
            Some(Moment { offset_minutes, ..local })
        }
        _ => None,
    }
}

/// Precision, scale, 0, sign (1 for zero and above), then the digits in groups of four bytes, little-endian.
fn decimal_bytes(decimal: &Decimal) -> Vec<u8> {
    let magnitude = decimal.mantissa().unsigned_abs();
    let groups = (128 - magnitude.leading_zeros()).div_ceil(32).max(1) as usize;
    let mut bytes = vec![decimal.precision(), decimal.scale(), 0, u8::from(decimal.mantissa() >= 0)];
    bytes.extend_from_slice(&magnitude.to_le_bytes()[..4 * groups]);
    bytes
}

/// The decimal of [`decimal_bytes`]; `None` when the bytes are no decimal.
pub(super) fn decimal_from_binary(bytes: &[u8]) -> Option<Decimal> {
    let (&[precision, scale, _, sign], digits) = bytes.split_first_chunk::<4>()?;
    if !(1..=38).contains(&precision) || scale > precision || digits.len() > 16 {
        return None;
    }
    let magnitude = digits.iter().rev().fold(0u128, |sum, byte| sum << 8 | u128::from(*byte));
    let mantissa = i128::try_from(magnitude).ok()?;
    Decimal::checked(if sign == 0 { -mantissa } else { mantissa }, precision, scale).ok()
}

pub(super) fn to_guid(value: &Value, from: &SqlType) -> SqlResult<Value> {
    match value {
        Value::Guid(_) => Ok(value.clone()),
        Value::Char(_) | Value::NChar(_) => {
            let text = value.as_text().unwrap_or_default();
            guid::parse(&text).map(Value::Guid).ok_or_else(|| SqlError::new(8169, &[]))
        }
        Value::Binary(bytes) => {
            let mut guid = [0u8; 16];
            let len = bytes.len().min(16);
            guid[..len].copy_from_slice(&bytes[..len]);
            Ok(Value::Guid(guid))
        }
        _ => Err(not_allowed(from, &SqlType::UniqueIdentifier)),
    }
}
