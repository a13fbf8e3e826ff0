//! Small functions over values that expressions, functions and views share.

use std::sync::Arc;

use types::{Collation, ConvertContext, DateFormat, Value, Variant};

use crate::context::SetOptions;

/// A sql_variant of a value; NULL stays NULL.
pub fn variant(value: Value) -> Value {
    match value {
        Value::Null | Value::Variant(_) => value,
        value => Value::Variant(Arc::new(Variant { sql_type: value.natural_type(), value })),
    }
}

/// Any number as a float; what is not a number is 0.
#[inline]
pub fn to_f64(value: &Value) -> f64 {
    match value {
        Value::Float(number) => *number,
        Value::Real(number) => f64::from(*number),
        Value::Money(number) => *number as f64 / 10_000.0,
        Value::Decimal(number) => number.mantissa() as f64 / 10f64.powi(i32::from(number.scale())),
        other => other.as_i64().unwrap_or(0) as f64,
    }
}

/// Conversion settings of the session.
pub fn convert_context(options: &SetOptions) -> ConvertContext {
    const FORMATS: [(&str, DateFormat); 5] = [
        ("dmy", DateFormat::Dmy),
        ("ymd", DateFormat::Ymd),
        ("ydm", DateFormat::Ydm),
        ("myd", DateFormat::Myd),
        ("dym", DateFormat::Dym),
    ];
    let named = FORMATS.iter().find(|(name, _)| options.date_format.eq_ignore_ascii_case(name));
    ConvertContext {
        date_format: named.map_or(DateFormat::Mdy, |(_, format)| *format),
        date_first: options.date_first,
        ansi_warnings: options.ansi_warnings,
        ..ConvertContext::default()
    }
}

/// One value: a byte for NULL or not, then the memcomparable form.
pub fn write_value(value: &Value, collation: Collation, key: &mut Vec<u8>) {
    match value {
        Value::Null => key.push(0),
        Value::Int(number) => {
            key.push(1);
            key.extend_from_slice(&((*number as u32) ^ 0x8000_0000).to_be_bytes());
        }
        Value::BigInt(number) => {
            key.push(1);
            key.extend_from_slice(&((*number as u64) ^ (1 << 63)).to_be_bytes());
        }
        other => {
            key.push(1);
            collation.key(other, key);
        }
    }
}
