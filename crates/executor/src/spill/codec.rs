//! Lossless encoding of values as bytes, for rows that spill to disk and return in the same statement. The format does not outlive the statement.

use plan_ir::row::Row;
use types::{
    ByteStr, Date, DateTime, DateTime2, DateTimeOffset, Decimal, SmallDateTime, SqlType, Time, Value, WideStr,
};

/// Appends the values of a row.
pub(crate) fn encode_row(row: &[Value], out: &mut Vec<u8>) {
    let before = out.len();
    row.iter().for_each(|value| encode(value, out));
    debug_assert!(out.len() - before >= row.len(), "each value has its tag");
}

/// Appends the values of [`encode_row`] to `row`.
pub(crate) fn decode_row(bytes: &[u8], row: &mut Row) {
    let mut bytes = Bytes(bytes);
    while !bytes.0.is_empty() {
        row.push(decode(&mut bytes));
    }
}

fn encode(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.push(0),
        Value::Bit(value) => out.extend_from_slice(&[1, u8::from(*value)]),
        Value::TinyInt(value) => out.extend_from_slice(&[2, *value]),
        Value::SmallInt(value) => put(3, &value.to_le_bytes(), out),
        Value::Int(value) => put(4, &value.to_le_bytes(), out),
        Value::BigInt(value) => put(5, &value.to_le_bytes(), out),
        Value::Decimal(value) => {
            put(6, &[value.precision(), value.scale()], out);
            out.extend_from_slice(&value.mantissa().to_le_bytes());
        }
        Value::Money(value) => put(7, &value.to_le_bytes(), out),
        Value::Real(value) => put(8, &value.to_le_bytes(), out),
        Value::Float(value) => put(9, &value.to_le_bytes(), out),
        Value::Char(text) => put_long(10, text.as_bytes(), out),
        Value::NChar(text) => {
            put(11, &length(text.as_units().len() * 2), out);
            text.write_le_bytes(out);
        }
        Value::Binary(bytes) => put_long(12, bytes.as_bytes(), out),
        Value::Date(value) => put(13, &value.days.to_le_bytes(), out),
        Value::Time(value) => put(14, &value.ticks.to_le_bytes(), out),
        Value::DateTime(value) => {
            put(15, &value.days.to_le_bytes(), out);
            out.extend_from_slice(&value.ticks.to_le_bytes());
        }
        Value::SmallDateTime(value) => {
            put(16, &value.days.to_le_bytes(), out);
            out.extend_from_slice(&value.minutes.to_le_bytes());
        }
        Value::DateTime2(value) => put(17, &value.ticks.to_le_bytes(), out),
        Value::DateTimeOffset(value) => {
            put(18, &value.utc.ticks.to_le_bytes(), out);
            out.extend_from_slice(&value.offset_minutes.to_le_bytes());
        }
        Value::Guid(value) => put(19, value, out),
        Value::Variant(_) => {
            let mut inner = Vec::new();
            engine::encode_variable(value, &mut inner);
            put_long(20, &inner, out);
        }
    }
}

fn put(tag: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    out.extend_from_slice(bytes);
}

fn put_long(tag: u8, bytes: &[u8], out: &mut Vec<u8>) {
    put(tag, &length(bytes.len()), out);
    out.extend_from_slice(bytes);
}

fn length(bytes: usize) -> [u8; 4] {
    u32::try_from(bytes).expect("a value has at most 2 GB").to_le_bytes()
}

/// The unread rest of a record.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        taken
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        self.take(N).try_into().expect("as many bytes as asked for")
    }

    fn long(&mut self) -> &'a [u8] {
        let count = u32::from_le_bytes(self.array()) as usize;
        self.take(count)
    }
}

fn decode(bytes: &mut Bytes<'_>) -> Value {
    let [tag] = bytes.array();
    match tag {
        0 => Value::Null,
        1 => Value::Bit(bytes.array::<1>() != [0]),
        2 => Value::TinyInt(bytes.array::<1>()[0]),
        3 => Value::SmallInt(i16::from_le_bytes(bytes.array())),
        4 => Value::Int(i32::from_le_bytes(bytes.array())),
        5 => Value::BigInt(i64::from_le_bytes(bytes.array())),
        6 => {
            let [precision, scale] = bytes.array();
            Value::Decimal(Decimal::new(i128::from_le_bytes(bytes.array()), precision, scale))
        }
        7 => Value::Money(i64::from_le_bytes(bytes.array())),
        8 => Value::Real(f32::from_le_bytes(bytes.array())),
        9 => Value::Float(f64::from_le_bytes(bytes.array())),
        10 => Value::Char(ByteStr::new(bytes.long())),
        11 => Value::NChar(WideStr::from_le_bytes(bytes.long())),
        12 => Value::Binary(ByteStr::new(bytes.long())),
        13 => Value::Date(Date { days: i32::from_le_bytes(bytes.array()) }),
        14 => Value::Time(Time { ticks: u64::from_le_bytes(bytes.array()) }),
        15 => Value::DateTime(DateTime {
            days: i32::from_le_bytes(bytes.array()),
            ticks: u32::from_le_bytes(bytes.array()),
        }),
        16 => Value::SmallDateTime(SmallDateTime {
            days: u16::from_le_bytes(bytes.array()),
            minutes: u16::from_le_bytes(bytes.array()),
        }),
        17 => Value::DateTime2(DateTime2 { ticks: i64::from_le_bytes(bytes.array()) }),
        18 => Value::DateTimeOffset(DateTimeOffset {
            utc: DateTime2 { ticks: i64::from_le_bytes(bytes.array()) },
            offset_minutes: i16::from_le_bytes(bytes.array()),
        }),
        19 => Value::Guid(bytes.array()),
        20 => engine::decode_variable(&SqlType::SqlVariant, bytes.long()).expect("written by `encode`"),
        _ => unreachable!("no such tag is written"),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use types::Variant;

    use super::*;

    #[test]
    fn every_kind_of_value_comes_back_as_it_was() {
        let text = "text of more than what lies in the value itself, \u{20ac}";
        let plain = vec![
            Value::Null,
            Value::Bit(true),
            Value::Bit(false),
            Value::TinyInt(200),
            Value::SmallInt(-2),
            Value::Int(i32::MIN),
            Value::BigInt(i64::MAX),
            Value::Decimal(Decimal::new(-12_345_678_901_234_567_890, 38, 7)),
            Value::Decimal(Decimal::new(0, 1, 0)),
            Value::Money(-1),
            Value::Real(1.5),
            Value::Float(-0.0),
            Value::varchar(""),
            Value::varchar(text),
            Value::nvarchar(""),
            Value::nvarchar(text),
            Value::binary(&[0, 1, 255]),
            Value::Date(Date { days: 3_652_058 }),
            Value::Time(Time { ticks: 863_999_999_999 }),
            Value::DateTime(DateTime { days: -53_690, ticks: 25_919_999 }),
            Value::SmallDateTime(SmallDateTime { days: 65_535, minutes: 1_439 }),
            Value::DateTime2(DateTime2 { ticks: i64::MAX }),
            Value::DateTimeOffset(DateTimeOffset { utc: DateTime2 { ticks: 5 }, offset_minutes: -840 }),
            Value::Guid([7; 16]),
        ];
        let variants = plain.iter().filter(|value| !value.is_null()).map(|value| {
            Value::Variant(Arc::new(Variant { sql_type: value.natural_type(), value: value.clone() }))
        });
        let row: Row = plain.iter().cloned().chain(variants).collect();
        let (mut bytes, mut back) = (Vec::new(), Row::new());
        encode_row(&row, &mut bytes);
        decode_row(&bytes, &mut back);
        assert_eq!(back, row);
        assert_eq!(format!("{back:?}"), format!("{row:?}"), "the sign of a zero, too");
    }
}
