//! The encoding of one value in a row: fixed-length types in their bytes, others at their length.

use types::{
    ByteStr, Date, DateTime, DateTime2, DateTimeOffset, Decimal, Length, SmallDateTime, SqlType, Time, Value,
    WideStr,
};

/// Bytes of a fixed-length type in a row; `None` for variable-length types.
pub fn fixed_bytes(sql_type: &SqlType) -> Option<u16> {
    Some(match *sql_type {
        SqlType::Bit | SqlType::TinyInt => 1,
        SqlType::SmallInt => 2,
        SqlType::Int | SqlType::Real | SqlType::SmallMoney | SqlType::SmallDateTime => 4,
        SqlType::BigInt | SqlType::Money | SqlType::Float | SqlType::DateTime | SqlType::RowVersion => 8,
        SqlType::Decimal { precision, .. } | SqlType::Numeric { precision, .. } => match precision {
            ..=9 => 5,
            10..=19 => 9,
            20..=28 => 13,
            _ => 17,
        },
        SqlType::Char(n) | SqlType::Binary(n) => n,
        SqlType::NChar(n) => 2 * n,
        SqlType::Date => 3,
        SqlType::Time(_) => 5,
        SqlType::DateTime2(_) => 8,
        SqlType::DateTimeOffset(_) => 10,
        SqlType::UniqueIdentifier => 16,
        _ => return None,
    })
}

/// Writes a value that is not NULL into the bytes of its fixed-length column. The engine has converted it to the column's
/// type; character values are padded here.
pub fn encode_fixed(value: &Value, sql_type: &SqlType, out: &mut [u8]) {
    debug_assert_eq!(fixed_bytes(sql_type), u16::try_from(out.len()).ok(), "the column's own bytes");
    let mut put = |bytes: &[u8]| out[..bytes.len()].copy_from_slice(bytes);
    match value {
        Value::Bit(value) => put(&[u8::from(*value)]),
        Value::TinyInt(value) => put(&[*value]),
        Value::SmallInt(value) => put(&value.to_le_bytes()),
        Value::Int(value) => put(&value.to_le_bytes()),
        Value::BigInt(value) => put(&value.to_le_bytes()),
        Value::Real(value) => put(&value.to_le_bytes()),
        Value::Float(value) => put(&value.to_le_bytes()),
        Value::Money(value) if *sql_type == SqlType::SmallMoney => put(&(*value as i32).to_le_bytes()),
        Value::Money(value) => put(&value.to_le_bytes()),
        Value::Decimal(value) => {
            let magnitude = value.mantissa().unsigned_abs().to_le_bytes();
            out[0] = u8::from(value.mantissa() >= 0);
            let digits = out.len() - 1;
            out[1..].copy_from_slice(&magnitude[..digits]);
        }
        Value::Date(value) => put(&value.days.to_le_bytes()[..3]),
        Value::Time(value) => put(&value.ticks.to_le_bytes()[..5]),
        Value::DateTime(value) => {
            put(&value.ticks.to_le_bytes());
            out[4..8].copy_from_slice(&value.days.to_le_bytes());
        }
        Value::SmallDateTime(value) => {
            put(&value.minutes.to_le_bytes());
            out[2..4].copy_from_slice(&value.days.to_le_bytes());
        }
        Value::DateTime2(value) => put(&value.ticks.to_le_bytes()),
        Value::DateTimeOffset(value) => {
            put(&value.utc.ticks.to_le_bytes());
            out[8..10].copy_from_slice(&value.offset_minutes.to_le_bytes());
        }
        Value::Guid(value) => put(value),
        Value::Char(text) => {
            out.fill(b' ');
            let bytes = &text.as_bytes()[..text.as_bytes().len().min(out.len())];
            out[..bytes.len()].copy_from_slice(bytes);
        }
        Value::NChar(text) => {
            for (index, pair) in out.chunks_exact_mut(2).enumerate() {
                let unit = text.as_units().get(index).copied().unwrap_or(u16::from(b' '));
                pair.copy_from_slice(&unit.to_le_bytes());
            }
        }
        Value::Binary(bytes) => {
            let bytes = &bytes.as_bytes()[..bytes.as_bytes().len().min(out.len())];
            out[..bytes.len()].copy_from_slice(bytes);
        }
        Value::Null | Value::Variant(_) => unreachable!("NULL has no bytes, sql_variant is variable"),
    }
}

#[inline]
fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    if let Some(all) = bytes.first_chunk() {
        return *all;
    }
    let mut array = [0; N];
    let taken = bytes.len().min(N);
    array[..taken].copy_from_slice(&bytes[..taken]);
    array
}

/// The number in the bytes of a decimal: no more digits than declared, whatever damaged bytes say.
#[inline]
fn mantissa(bytes: &[u8], precision: u8) -> i128 {
    let most = types::decimal::pow10(precision.min(types::decimal::PRECISION_MAX)) - 1;
    let magnitude = match bytes.len() {
        5 => u128::from(u32::from_le_bytes(array(&bytes[1..]))),
        9 => u128::from(u64::from_le_bytes(array(&bytes[1..]))),
        _ => u128::from_le_bytes(array(&bytes[1..])),
    };
    let magnitude = magnitude.min(most) as i128;
    if bytes[0] == 0 { -magnitude } else { magnitude }
}

/// The value of a fixed-length column from exactly its bytes. Any bytes give a value.
#[inline]
pub fn decode_fixed(sql_type: &SqlType, bytes: &[u8]) -> Value {
    debug_assert_eq!(fixed_bytes(sql_type), u16::try_from(bytes.len()).ok(), "the column's own bytes");
    match *sql_type {
        SqlType::Bit => Value::Bit(bytes[0] != 0),
        SqlType::TinyInt => Value::TinyInt(bytes[0]),
        SqlType::SmallInt => Value::SmallInt(i16::from_le_bytes(array(bytes))),
        SqlType::Int => Value::Int(i32::from_le_bytes(array(bytes))),
        SqlType::BigInt => Value::BigInt(i64::from_le_bytes(array(bytes))),
        SqlType::Real => Value::Real(f32::from_le_bytes(array(bytes))),
        SqlType::Float => Value::Float(f64::from_le_bytes(array(bytes))),
        SqlType::SmallMoney => Value::Money(i64::from(i32::from_le_bytes(array(bytes)))),
        SqlType::Money => Value::Money(i64::from_le_bytes(array(bytes))),
        SqlType::Decimal { precision, scale } | SqlType::Numeric { precision, scale } => {
            Value::Decimal(Decimal::new(mantissa(bytes, precision), precision, scale))
        }
        SqlType::Date => Value::Date(Date { days: i32::from_le_bytes(array(&bytes[..3])) }),
        SqlType::Time(_) => Value::Time(Time { ticks: u64::from_le_bytes(array(&bytes[..5])) }),
        SqlType::DateTime => Value::DateTime(DateTime {
            ticks: u32::from_le_bytes(array(&bytes[..4])),
            days: i32::from_le_bytes(array(&bytes[4..])),
        }),
        SqlType::SmallDateTime => Value::SmallDateTime(SmallDateTime {
            minutes: u16::from_le_bytes(array(&bytes[..2])),
            days: u16::from_le_bytes(array(&bytes[2..])),
        }),
        SqlType::DateTime2(_) => Value::DateTime2(DateTime2 { ticks: i64::from_le_bytes(array(bytes)) }),
        SqlType::DateTimeOffset(_) => Value::DateTimeOffset(DateTimeOffset {
            utc: DateTime2 { ticks: i64::from_le_bytes(array(&bytes[..8])) },
            offset_minutes: i16::from_le_bytes(array(&bytes[8..])),
        }),
        SqlType::UniqueIdentifier => Value::Guid(array(bytes)),
        SqlType::Char(_) => Value::Char(ByteStr::new(bytes)),
        SqlType::NChar(_) => Value::NChar(WideStr::from_le_bytes(bytes)),
        _ => Value::Binary(ByteStr::new(bytes)),
    }
}

/// Appends a value of a variable-length column; NULL appends nothing.
pub fn encode_variable(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => {}
        Value::Char(bytes) | Value::Binary(bytes) => out.extend_from_slice(bytes.as_bytes()),
        Value::NChar(text) => text.write_le_bytes(out),
        Value::Variant(variant) => {
            put_type(&variant.sql_type, out);
            match fixed_bytes(&variant.sql_type) {
                Some(bytes) => {
                    let at = out.len();
                    out.resize(at + usize::from(bytes), 0);
                    encode_fixed(&variant.value, &variant.sql_type, &mut out[at..]);
                }
                None => encode_variable(&variant.value, out),
            }
        }
        _ => unreachable!("a fixed-length value in a variable-length column"),
    }
}

/// The value of a variable-length column; `None` for a sql_variant that does not decode.
#[inline]
pub fn decode_variable(sql_type: &SqlType, bytes: &[u8]) -> Option<Value> {
    Some(match sql_type {
        SqlType::VarChar(_) | SqlType::Text => Value::Char(ByteStr::new(bytes)),
        SqlType::NVarChar(_) | SqlType::SysName | SqlType::NText | SqlType::Xml => {
            Value::NChar(WideStr::from_le_bytes(bytes))
        }
        SqlType::SqlVariant => {
            let (base, rest) = take_type(bytes)?;
            let value = match fixed_bytes(&base) {
                Some(count) => decode_fixed(&base, rest.get(..usize::from(count))?),
                None => decode_variable(&base, rest)?,
            };
            Value::Variant(std::sync::Arc::new(types::Variant { sql_type: base, value }))
        }
        _ => Value::Binary(ByteStr::new(bytes)),
    })
}

/// The base type of a sql_variant in four bytes: system type id and two arguments.
fn put_type(sql_type: &SqlType, out: &mut Vec<u8>) {
    let (one, two) = match *sql_type {
        SqlType::Decimal { precision, scale } | SqlType::Numeric { precision, scale } => {
            (u16::from(precision), scale)
        }
        SqlType::Char(n) | SqlType::NChar(n) | SqlType::Binary(n) => (n, 0),
        SqlType::VarChar(Length::N(n))
        | SqlType::NVarChar(Length::N(n))
        | SqlType::VarBinary(Length::N(n)) => (n, 0),
        SqlType::Time(scale) | SqlType::DateTime2(scale) | SqlType::DateTimeOffset(scale) => (0, scale),
        _ => (0, 0),
    };
    out.push(sql_type.system_type_id());
    out.extend_from_slice(&one.to_le_bytes());
    out.push(two);
}

fn take_type(bytes: &[u8]) -> Option<(SqlType, &[u8])> {
    let (head, rest) = bytes.split_at_checked(4)?;
    let (n, scale) = (u16::from_le_bytes([head[1], head[2]]), head[3]);
    let precision = u8::try_from(n).unwrap_or(0);
    let length = Length::N(n);
    let sql_type = match head[0] {
        36 => SqlType::UniqueIdentifier,
        40 => SqlType::Date,
        41 => SqlType::Time(scale),
        42 => SqlType::DateTime2(scale),
        43 => SqlType::DateTimeOffset(scale),
        48 => SqlType::TinyInt,
        52 => SqlType::SmallInt,
        56 => SqlType::Int,
        58 => SqlType::SmallDateTime,
        59 => SqlType::Real,
        60 => SqlType::Money,
        61 => SqlType::DateTime,
        62 => SqlType::Float,
        104 => SqlType::Bit,
        106 | 108 if (1..=38).contains(&precision) && scale <= precision => match head[0] {
            106 => SqlType::Decimal { precision, scale },
            _ => SqlType::Numeric { precision, scale },
        },
        122 => SqlType::SmallMoney,
        127 => SqlType::BigInt,
        165 => SqlType::VarBinary(length),
        167 => SqlType::VarChar(length),
        173 => SqlType::Binary(n),
        175 => SqlType::Char(n),
        231 => SqlType::NVarChar(length),
        239 if n <= 4000 => SqlType::NChar(n),
        _ => return None,
    };
    Some((sql_type, rest))
}
