//! One SQL value. Its type name (`int`, `varchar(20)`, `smallmoney`) is its [`SqlType`], stored separately: a value carries only
//! the data for comparisons and computations.

use std::sync::Arc;

use crate::datetime::{Date, DateTime, DateTime2, DateTimeOffset, SmallDateTime, Time};
use crate::{ByteStr, Decimal, SqlType, WideStr};

/// A SQL value, at most 32 bytes; cloning never copies long strings.
///
/// `PartialEq` is identity of representation (tests, plan keys), not SQL equality: use [`crate::compare()`] for that.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Value {
    /// NULL of any type.
    #[default]
    Null,
    /// bit
    Bit(bool),
    /// tinyint, 0..=255
    TinyInt(u8),
    /// smallint
    SmallInt(i16),
    /// int
    Int(i32),
    /// bigint
    BigInt(i64),
    /// decimal and numeric
    Decimal(Decimal),
    /// money and smallmoney, in ten-thousandths
    Money(i64),
    /// real
    Real(f32),
    /// float
    Float(f64),
    /// char, varchar, text: bytes in code page 1252
    Char(ByteStr),
    /// nchar, nvarchar, ntext, sysname, xml: UTF-16 units
    NChar(WideStr),
    /// binary, varbinary, image, rowversion
    Binary(ByteStr),
    /// date
    Date(Date),
    /// time(n)
    Time(Time),
    /// datetime
    DateTime(DateTime),
    /// smalldatetime
    SmallDateTime(SmallDateTime),
    /// datetime2(n)
    DateTime2(DateTime2),
    /// datetimeoffset(n)
    DateTimeOffset(DateTimeOffset),
    /// uniqueidentifier, in SQL Server's storage order (first three groups little-endian)
    Guid([u8; 16]),
    /// sql_variant: a value with its own type
    Variant(Arc<Variant>),
}

/// The content of a sql_variant.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// The base type.
    pub sql_type: SqlType,
    /// The base value; never NULL, never a variant.
    pub value: Value,
}

const _: () = assert!(size_of::<Value>() <= 32, "values are moved by every operator: keep them small");

impl Value {
    /// Is this NULL?
    #[inline]
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// An nvarchar value from text.
    pub fn nvarchar(text: &str) -> Value {
        Value::NChar(WideStr::from_text(text))
    }

    /// A varchar value from text, encoded in code page 1252.
    pub fn varchar(text: &str) -> Value {
        Value::Char(ByteStr::from_text(text))
    }

    /// A varbinary value.
    pub fn binary(bytes: &[u8]) -> Value {
        Value::Binary(ByteStr::new(bytes))
    }

    /// The natural type of the value: what a literal or an untyped parameter holding it has. NULL is `int`, as in SQL Server.
    pub fn natural_type(&self) -> SqlType {
        use crate::Length;
        match self {
            Value::Null | Value::Int(_) => SqlType::Int,
            Value::Bit(_) => SqlType::Bit,
            Value::TinyInt(_) => SqlType::TinyInt,
            Value::SmallInt(_) => SqlType::SmallInt,
            Value::BigInt(_) => SqlType::BigInt,
            Value::Decimal(value) => SqlType::Decimal { precision: value.precision(), scale: value.scale() },
            Value::Money(_) => SqlType::Money,
            Value::Real(_) => SqlType::Real,
            Value::Float(_) => SqlType::Float,
            Value::Char(text) => SqlType::VarChar(Length::of(text.len(), 8000)),
            Value::NChar(text) => SqlType::NVarChar(Length::of(text.len(), 4000)),
            Value::Binary(bytes) => SqlType::VarBinary(Length::of(bytes.len(), 8000)),
            Value::Date(_) => SqlType::Date,
            Value::Time(_) => SqlType::Time(7),
            Value::DateTime(_) => SqlType::DateTime,
            Value::SmallDateTime(_) => SqlType::SmallDateTime,
            Value::DateTime2(_) => SqlType::DateTime2(7),
            Value::DateTimeOffset(_) => SqlType::DateTimeOffset(7),
            Value::Guid(_) => SqlType::UniqueIdentifier,
            Value::Variant(_) => SqlType::SqlVariant,
        }
    }

    /// Bytes that a character or binary value keeps outside of itself, about; 0 for every other value.
    #[inline]
    pub fn long_bytes(&self) -> usize {
        match self {
            Value::Char(bytes) | Value::Binary(bytes) => bytes.len(),
            Value::NChar(units) => units.len() * 2,
            Value::Variant(inner) => inner.value.long_bytes(),
            _ => 0,
        }
    }

    /// The text of a character value; `None` for every other value.
    pub fn as_text(&self) -> Option<String> {
        match self {
            Value::Char(text) => Some(text.to_text()),
            Value::NChar(text) => Some(text.to_text()),
            _ => None,
        }
    }

    /// The value of a bit or integer; `None` for every other value.
    #[inline]
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Value::Bit(value) => Some(i64::from(*value)),
            Value::TinyInt(value) => Some(i64::from(*value)),
            Value::SmallInt(value) => Some(i64::from(*value)),
            Value::Int(value) => Some(i64::from(*value)),
            Value::BigInt(value) => Some(*value),
            _ => None,
        }
    }
}
