//! Memcomparable keys: byte strings whose order is the order of values.
//!
//! First byte 0 for NULL, 1 for a value; then, by kind: integers, money, dates big-endian with the sign turned; floats by their
//! bits; decimals by sign, exponent and pairs of digits, so that scales may differ; text by its collation; binary with zero bytes
//! escaped; guids in their order of comparison. Every piece delimits itself.

use super::{exact, kind_rank};
use crate::{Collation, Decimal, Value};

const NULL: u8 = 0;
const PRESENT: u8 = 1;

impl Collation {
    /// Appends the memcomparable key of `value`: byte order of keys is the order of [`crate::sort_compare`] under this
    /// collation, NULL first, and no key is a prefix of another, so that keys of several columns may be joined. All values keyed
    /// for one column must be of one [`Value`] kind (as columns are).
    pub fn key(self, value: &Value, out: &mut Vec<u8>) {
        append(value, self, out);
    }

    /// Appends the common prefix of the keys of all values that start with the text `prefix`; false, without effect, when that is not known.
    /// See [`Collation::key`].
    pub fn prefix_key(self, prefix: &Value, out: &mut Vec<u8>) -> bool {
        append_prefix(prefix, self, out)
    }
}

/// Appends the key of `value`.
pub(crate) fn append(value: &Value, collation: Collation, out: &mut Vec<u8>) {
    if value.is_null() {
        out.push(NULL);
        return;
    }
    out.push(PRESENT);
    append_present(value, collation, out);
}

/// Appends the bytes with which the key of every text begins that starts with `prefix` under `collation`: the columns of a seek for
/// `LIKE 'prefix%'`. Only the leading ASCII letters and digits of `prefix` are used, whose keys later characters do not change. False
/// when no such prefix is known (other collations, no such letter).
pub(crate) fn append_prefix(prefix: &Value, collation: Collation, out: &mut Vec<u8>) -> bool {
    let start = out.len();
    out.push(PRESENT);
    let known = match prefix {
        Value::Char(text) => {
            let end = text.iter().position(|byte| !byte.is_ascii_alphanumeric()).unwrap_or(text.len());
            end > 0 && collation.prefix_key_bytes(&text[..end], out)
        }
        Value::NChar(text) => {
            let is_plain = |unit: &u16| u8::try_from(*unit).is_ok_and(|byte| byte.is_ascii_alphanumeric());
            let end = text.iter().position(|unit| !is_plain(unit)).unwrap_or(text.len());
            end > 0 && collation.prefix_key_units(&text[..end], out)
        }
        _ => false,
    };
    if !known {
        out.truncate(start);
    }
    known
}

fn append_present(value: &Value, collation: Collation, out: &mut Vec<u8>) {
    match value {
        Value::Null => unreachable!("NULL has its own key and is never inside a variant"),
        Value::Bit(value) => out.push(u8::from(*value)),
        Value::TinyInt(value) => out.push(*value),
        Value::SmallInt(value) => out.extend_from_slice(&(*value as u16 ^ 1 << 15).to_be_bytes()),
        Value::Int(value) => out.extend_from_slice(&(*value as u32 ^ 1 << 31).to_be_bytes()),
        Value::BigInt(value) | Value::Money(value) => append_i64(*value, out),
        Value::Decimal(value) => append_decimal(value, out),
        Value::Real(value) => append_f64(f64::from(*value), out),
        Value::Float(value) => append_f64(*value, out),
        Value::Char(text) => collation.key_bytes(text, out),
        Value::NChar(text) => collation.key_units(text, out),
        Value::Binary(bytes) => append_binary(bytes, out),
        Value::Date(date) => out.extend_from_slice(&(date.days as u32 ^ 1 << 31).to_be_bytes()),
        Value::Time(time) => out.extend_from_slice(&time.ticks.to_be_bytes()),
        Value::DateTime(moment) => {
            out.extend_from_slice(&(moment.days as u32 ^ 1 << 31).to_be_bytes());
            out.extend_from_slice(&moment.ticks.to_be_bytes());
        }
        Value::SmallDateTime(moment) => {
            out.extend_from_slice(&moment.days.to_be_bytes());
            out.extend_from_slice(&moment.minutes.to_be_bytes());
        }
        Value::DateTime2(moment) => append_i64(moment.ticks, out),
        Value::DateTimeOffset(moment) => append_i64(moment.utc.ticks, out),
        Value::Guid(guid) => out.extend(crate::guid::COMPARE_ORDER.iter().map(|index| guid[*index])),
        Value::Variant(inner) => append_variant(&inner.value, collation, out),
    }
}

fn append_i64(value: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(&(value as u64 ^ 1 << 63).to_be_bytes());
}

/// IEEE bits with the sign turned (all bits turned below zero); both zeros are one.
fn append_f64(value: f64, out: &mut Vec<u8>) {
    let bits = if value == 0.0 { 0 } else { value.to_bits() };
    let ordered = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
    out.extend_from_slice(&ordered.to_be_bytes());
}

/// Sign (1 below zero, 2 zero, 3 above), place of the first digit, then digits in pairs plus one, 0 at the end; everything after the
/// sign is turned below zero.
fn append_decimal(value: &Decimal, out: &mut Vec<u8>) {
    let mantissa = value.mantissa();
    if mantissa == 0 {
        out.push(2);
        return;
    }
    let negative = mantissa < 0;
    out.push(if negative { 1 } else { 3 });
    let turn = if negative { 0xFF } else { 0 };
    let mut digits = [0u8; 40];
    let mut count = 0;
    let mut rest = mantissa.unsigned_abs();
    while rest > 0 {
        if let Ok(mut small) = u64::try_from(rest) {
            while small > 0 {
                digits[count] = (small % 10) as u8;
                small /= 10;
                count += 1;
            }
            break;
        }
        digits[count] = (rest % 10) as u8;
        rest /= 10;
        count += 1;
    }
    digits[..count].reverse();
    let exponent = 64 + count as i32 - i32::from(value.scale());
    out.push(exponent as u8 ^ turn);
    let end = digits[..count].iter().rposition(|digit| *digit != 0).map_or(0, |last| last + 1);
    for pair in digits[..end].chunks(2) {
        let number = pair[0] * 10 + pair.get(1).copied().unwrap_or(0);
        out.push((number + 1) ^ turn);
    }
    out.push(turn);
}

/// Trailing zero bytes do not count; a zero byte inside is `00 01`, the end `00 00`.
fn append_binary(bytes: &[u8], out: &mut Vec<u8>) {
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    for byte in &bytes[..end] {
        out.push(*byte);
        if *byte == 0 {
            out.push(1);
        }
    }
    out.extend_from_slice(&[0, 0]);
}

/// The family's rank, then exact numbers as decimals, text as nvarchar: kinds may differ from row to row.
fn append_variant(value: &Value, collation: Collation, out: &mut Vec<u8>) {
    out.push(kind_rank(value));
    match value {
        Value::Char(text) => collation.key_units(&crate::codepage::decode_units(text), out),
        _ => match exact(value) {
            Some(number) => append_decimal(&number, out),
            None => append_present(value, collation, out),
        },
    }
}
