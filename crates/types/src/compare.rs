//! Comparison of values: SQL's three-valued [`compare()`], the total order [`sort_compare`] (NULLs first), equality and hashing that agree.

use std::cmp::Ordering;
use std::hash::Hasher;

use crate::{Collation, Decimal, Value};

pub(crate) mod key;

/// Compares two values of one type family (convert first when the families differ; numbers of different types compare as
/// numbers). `None` when either is NULL.
#[inline]
pub fn compare(left: &Value, right: &Value, collation: Collation) -> Option<Ordering> {
    match (left, right) {
        (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
        (Value::Null, _) | (_, Value::Null) => None,
        _ => Some(compare_present(left, right, collation)),
    }
}

/// [`compare()`] = equal: `None` when either is NULL.
#[inline]
pub fn is_equal(left: &Value, right: &Value, collation: Collation) -> Option<bool> {
    compare(left, right, collation).map(Ordering::is_eq)
}

/// The order of ORDER BY, DISTINCT and indexes: NULLs equal to each other and before everything.
#[inline]
pub fn sort_compare(left: &Value, right: &Value, collation: Collation) -> Ordering {
    match (left.is_null(), right.is_null()) {
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        (false, false) => compare_present(left, right, collation),
    }
}

fn compare_present(left: &Value, right: &Value, collation: Collation) -> Ordering {
    match (left, right) {
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::BigInt(a), Value::BigInt(b)) => a.cmp(b),
        (Value::Char(a), Value::Char(b)) => collation.compare_bytes(a, b),
        (Value::NChar(a), Value::NChar(b)) => collation.compare_units(a, b),
        (Value::Char(a), Value::NChar(b)) => collation.compare_units(&crate::codepage::decode_units(a), b),
        (Value::NChar(a), Value::Char(b)) => collation.compare_units(a, &crate::codepage::decode_units(b)),
        (Value::Binary(a), Value::Binary(b)) => compare_binary(a, b),
        (Value::Guid(a), Value::Guid(b)) => crate::guid::compare(a, b),
        (Value::Date(a), Value::Date(b)) => a.cmp(b),
        (Value::Time(a), Value::Time(b)) => a.cmp(b),
        (Value::DateTime(a), Value::DateTime(b)) => a.cmp(b),
        (Value::SmallDateTime(a), Value::SmallDateTime(b)) => a.cmp(b),
        (Value::DateTime2(a), Value::DateTime2(b)) => a.cmp(b),
        (Value::DateTimeOffset(a), Value::DateTimeOffset(b)) => a.utc.cmp(&b.utc),
        (Value::Variant(a), Value::Variant(b)) => compare_variants(a, b, collation),
        (Value::Variant(a), b) => compare_present(&a.value, b, collation),
        (a, Value::Variant(b)) => compare_present(a, &b.value, collation),
        _ => compare_numbers(left, right).unwrap_or_else(|| kind_rank(left).cmp(&kind_rank(right))),
    }
}

/// Numbers of any type; `None` when either is not a number.
fn compare_numbers(left: &Value, right: &Value) -> Option<Ordering> {
    if let (Some(a), Some(b)) = (left.as_i64(), right.as_i64()) {
        return Some(a.cmp(&b));
    }
    if let (Value::Money(a), Value::Money(b)) = (left, right) {
        return Some(a.cmp(b));
    }
    if is_float(left) || is_float(right) {
        let (a, b) = (to_f64(left)?, to_f64(right)?);
        return Some(a.partial_cmp(&b).unwrap_or(Ordering::Equal));
    }
    Some(exact(left)?.compare(&exact(right)?))
}

fn is_float(value: &Value) -> bool {
    matches!(value, Value::Real(_) | Value::Float(_))
}

fn to_f64(value: &Value) -> Option<f64> {
    match value {
        Value::Float(value) => Some(*value),
        Value::Real(value) => Some(f64::from(*value)),
        _ => exact(value).map(|decimal| decimal.to_f64()),
    }
}

/// Any exact number as a decimal.
pub(crate) fn exact(value: &Value) -> Option<Decimal> {
    match value {
        Value::Decimal(value) => Some(*value),
        Value::Money(value) => Some(Decimal::new(i128::from(*value), 19, 4)),
        _ => value.as_i64().map(|value| Decimal::new(i128::from(value), 19, 0)),
    }
}

/// Binary strings compare as if the shorter were filled with zero bytes.
fn compare_binary(left: &[u8], right: &[u8]) -> Ordering {
    let trim = |bytes: &[u8]| bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    left[..trim(left)].cmp(&right[..trim(right)])
}

/// sql_variant: families rank first (date and time, approximate, exact, character, binary, guid), then values of a family compare.
fn compare_variants(left: &crate::Variant, right: &crate::Variant, collation: Collation) -> Ordering {
    match kind_rank(&left.value).cmp(&kind_rank(&right.value)) {
        Ordering::Equal => match (&left.value, &right.value) {
            // Both kinds of text compare as nvarchar, as in the key of a variant.
            (Value::Char(a), b) => {
                compare_present(&Value::NChar(crate::codepage::decode_units(a).into()), b, collation)
            }
            (a, b) => compare_present(a, b, collation),
        },
        order => order,
    }
}

/// The rank of a value's family in the order of sql_variant.
pub(crate) fn kind_rank(value: &Value) -> u8 {
    match value {
        Value::Null => 0,
        Value::Guid(_) => 1,
        Value::Binary(_) => 2,
        Value::Char(_) | Value::NChar(_) => 3,
        Value::Bit(_) | Value::TinyInt(_) | Value::SmallInt(_) | Value::Int(_) | Value::BigInt(_) => 4,
        Value::Decimal(_) | Value::Money(_) => 4,
        Value::Real(_) | Value::Float(_) => 5,
        Value::Time(_) => 6,
        Value::Date(_) => 7,
        Value::SmallDateTime(_) => 8,
        Value::DateTime(_) => 9,
        Value::DateTime2(_) => 10,
        Value::DateTimeOffset(_) => 11,
        Value::Variant(inner) => kind_rank(&inner.value),
    }
}

/// Feeds a hash so that values equal under [`sort_compare`] hash alike, numbers of different types included; a char and an nchar
/// must be converted to one type first.
pub fn hash_value<H: Hasher>(value: &Value, collation: Collation, state: &mut H) {
    match value {
        Value::Null => state.write_u8(0),
        Value::Char(text) => collation.hash_bytes(text, state),
        Value::NChar(text) => collation.hash_units(text, state),
        Value::Binary(bytes) => {
            let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            state.write(&bytes[..end]);
        }
        Value::Guid(guid) => state.write(guid),
        Value::Date(date) => state.write_i32(date.days),
        Value::Time(time) => state.write_u64(time.ticks),
        Value::DateTime(moment) => state.write_u64((moment.days as u64) << 32 | u64::from(moment.ticks)),
        Value::SmallDateTime(moment) => {
            state.write_u32(u32::from(moment.days) << 16 | u32::from(moment.minutes));
        }
        Value::DateTime2(moment) => state.write_i64(moment.ticks),
        Value::DateTimeOffset(moment) => state.write_i64(moment.utc.ticks),
        Value::Variant(inner) => hash_value(&inner.value, collation, state),
        Value::Real(value) => hash_f64(f64::from(*value), state),
        Value::Float(value) => hash_f64(*value, state),
        _ => match value.as_i64() {
            Some(whole) => state.write_i64(whole),
            None => hash_exact(exact(value).expect("every other kind is an exact number"), state),
        },
    }
}

/// A whole number hashes as an integer, so that 1, 1.0 and 1e0 hash alike.
fn hash_exact<H: Hasher>(value: Decimal, state: &mut H) {
    let (mut mantissa, mut scale) = (value.mantissa(), value.scale());
    while scale > 0 && mantissa % 10 == 0 {
        mantissa /= 10;
        scale -= 1;
    }
    match i64::try_from(mantissa) {
        Ok(whole) if scale == 0 => state.write_i64(whole),
        _ => hash_fraction(value.to_f64(), state),
    }
}

fn hash_f64<H: Hasher>(value: f64, state: &mut H) {
    if value.fract() == 0.0 && value.abs() < 9.0e18 {
        state.write_i64(value as i64);
    } else {
        hash_fraction(value, state);
    }
}

fn hash_fraction<H: Hasher>(value: f64, state: &mut H) {
    state.write_u64(value.to_bits());
}
