//! `Number`: fixed-length columns whose values compare as integers, in place: integers, decimals of up to
//! 18 digits, money, dates and times.

use std::cmp::Ordering;

use types::{Decimal, SqlType, Value};

/// How the number is read from the column's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Number {
    /// tinyint
    Byte,
    /// smallint
    Two,
    /// int
    Four,
    /// bigint
    Eight,
    /// decimal and numeric: the mantissa, no larger than declared
    Mantissa { most: u64, scale: u8 },
    /// money (`is_small`: smallmoney), in ten-thousandths
    Money { is_small: bool },
    /// date: days
    Date,
    /// time: ticks
    Time,
    /// smalldatetime: days, then minutes
    SmallDateTime,
    /// datetime: days, then ticks
    DateTime,
    /// datetime2: ticks
    DateTime2,
}

impl Number {
    /// The number kind of a type; `None`: its values have another order, or more digits.
    pub(crate) fn of(sql_type: &SqlType) -> Option<Number> {
        Some(match *sql_type {
            SqlType::TinyInt => Number::Byte,
            SqlType::SmallInt => Number::Two,
            SqlType::Int => Number::Four,
            SqlType::BigInt => Number::Eight,
            SqlType::Decimal { precision: precision @ 1..=18, scale }
            | SqlType::Numeric { precision: precision @ 1..=18, scale } => {
                Number::Mantissa { most: 10u64.pow(u32::from(precision)) - 1, scale }
            }
            SqlType::SmallMoney => Number::Money { is_small: true },
            SqlType::Money => Number::Money { is_small: false },
            SqlType::Date => Number::Date,
            SqlType::Time(_) => Number::Time,
            SqlType::SmallDateTime => Number::SmallDateTime,
            SqlType::DateTime => Number::DateTime,
            SqlType::DateTime2(_) => Number::DateTime2,
            _ => return None,
        })
    }

    /// The number in exactly the column's bytes. Any bytes give one, the same that the decoded value has.
    #[inline]
    pub(crate) fn read(self, bytes: &[u8]) -> i64 {
        match self {
            Number::Byte => i64::from(bytes[0]),
            Number::Two => i64::from(i16::from_le_bytes(first(bytes))),
            Number::Four | Number::Money { is_small: true } => i64::from(i32::from_le_bytes(first(bytes))),
            Number::Eight | Number::Money { is_small: false } | Number::DateTime2 => {
                i64::from_le_bytes(first(bytes))
            }
            Number::Mantissa { most, .. } => {
                let magnitude = match bytes.len() {
                    5 => u64::from(u32::from_le_bytes(first(&bytes[1..]))),
                    _ => u64::from_le_bytes(first(&bytes[1..])),
                };
                let magnitude = magnitude.min(most) as i64;
                if bytes[0] == 0 { -magnitude } else { magnitude }
            }
            Number::Date => i64::from(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0])),
            Number::Time => i64::from(u32::from_le_bytes(first(bytes))) | i64::from(bytes[4]) << 32,
            Number::SmallDateTime => {
                let (minutes, days) =
                    (u16::from_le_bytes(first(bytes)), u16::from_le_bytes(first(&bytes[2..])));
                of_small_moment(days, minutes)
            }
            Number::DateTime => {
                let (ticks, days) =
                    (u32::from_le_bytes(first(bytes)), i32::from_le_bytes(first(&bytes[4..])));
                of_moment(days, ticks)
            }
        }
    }

    /// The position of a value among these numbers: the greatest one not above it, and whether they are equal. `None` when the value is of another
    /// kind or beyond all of them.
    pub(crate) fn place_of(self, value: &Value) -> Option<(i64, bool)> {
        let own = match (self, value) {
            (Number::Date, Value::Date(date)) => i64::from(date.days),
            (Number::Time, Value::Time(time)) => i64::try_from(time.ticks).ok()?,
            (Number::SmallDateTime, Value::SmallDateTime(moment)) => {
                of_small_moment(moment.days, moment.minutes)
            }
            (Number::DateTime, Value::DateTime(moment)) => of_moment(moment.days, moment.ticks),
            (Number::DateTime2, Value::DateTime2(moment)) => moment.ticks,
            _ => return place_among(self.scale()?, value),
        };
        Some((own, true))
    }

    /// Do numbers of both kinds compare with each other?
    pub(crate) fn is_comparable(self, other: Number) -> bool {
        self == other || self.scale().is_some() && self.scale() == other.scale()
    }

    /// Digits after the decimal point; `None` for dates and times.
    fn scale(self) -> Option<u8> {
        match self {
            Number::Byte | Number::Two | Number::Four | Number::Eight => Some(0),
            Number::Mantissa { scale, .. } => Some(scale),
            Number::Money { .. } => Some(4),
            _ => None,
        }
    }
}

/// The position of an exact number among those with `scale` digits after the decimal point.
fn place_among(scale: u8, value: &Value) -> Option<(i64, bool)> {
    let number = match value {
        Value::Bit(_) => return None,
        Value::Decimal(number) => *number,
        Value::Money(units) => Decimal::new(i128::from(*units), 19, 4),
        other => Decimal::new(i128::from(other.as_i64()?), 19, 0),
    };
    let power = |places: u8| 10i128.checked_pow(u32::from(places));
    let (own, is_exact) = match number.scale().cmp(&scale) {
        Ordering::Equal => (number.mantissa(), true),
        Ordering::Less => (number.mantissa().checked_mul(power(scale - number.scale())?)?, true),
        Ordering::Greater => {
            let power = power(number.scale() - scale)?;
            (number.mantissa().div_euclid(power), number.mantissa().rem_euclid(power) == 0)
        }
    };
    Some((i64::try_from(own).ok()?, is_exact))
}

fn of_moment(days: i32, ticks: u32) -> i64 {
    i64::from(days) << 32 | i64::from(ticks)
}

fn of_small_moment(days: u16, minutes: u16) -> i64 {
    i64::from(days) << 16 | i64::from(minutes)
}

/// The first bytes; the column has as many.
#[inline]
fn first<const N: usize>(bytes: &[u8]) -> [u8; N] {
    *bytes.first_chunk().expect("the column's own bytes")
}
