//! Helpers of the tests: short names for values and types, a small generator of random numbers.
#![allow(dead_code)]

use hardpan_types::{ConvertContext, DEFAULT_STYLE, SqlError, SqlType, Value, convert};

/// A varchar of natural length.
pub fn s(text: &str) -> Value {
    Value::varchar(text)
}

/// An nvarchar of natural length.
pub fn n(text: &str) -> Value {
    Value::nvarchar(text)
}

/// A decimal from its literal.
pub fn d(text: &str) -> Value {
    Value::Decimal(hardpan_types::Decimal::from_literal(text).expect("a decimal literal"))
}

/// CAST.
pub fn cast(value: &Value, to: SqlType) -> Result<Value, SqlError> {
    convert(value, &value.natural_type(), &to, DEFAULT_STYLE, &ConvertContext::default())
}

/// CAST through a declared type: `cast_via(text, datetime, varchar)`.
pub fn cast_via(text: &str, first: SqlType, to: SqlType) -> Result<Value, SqlError> {
    convert_style(&cast(&s(text), first)?, first, to, DEFAULT_STYLE)
}

/// CONVERT with a style.
pub fn convert_style(value: &Value, from: SqlType, to: SqlType, style: i32) -> Result<Value, SqlError> {
    convert(value, &from, &to, style, &ConvertContext::default())
}

/// The text of a value as CAST to nvarchar(max) shows it.
pub fn show(value: &Value, from: SqlType) -> String {
    convert_style(value, from, SqlType::NVARCHAR_MAX, DEFAULT_STYLE)
        .expect("every value shows as text")
        .as_text()
        .unwrap_or_else(|| "NULL".to_owned())
}

/// The number of the error.
pub fn number<T: std::fmt::Debug>(result: Result<T, SqlError>) -> i32 {
    result.expect_err("an error").number
}

/// xorshift64*: enough for tests, the same every time.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// A number of up to `digits` digits, any length as likely as any other.
    pub fn digits(&mut self, digits: u8) -> i128 {
        let count = self.below(u64::from(digits) + 1);
        (0..count).fold(0i128, |sum, _| sum * 10 + i128::from(self.below(10)))
    }
}
