//! The nearest value in the type of a column: the key for an index seek with a value of another type.

use std::cmp::Ordering;

use crate::collation::KeyFit;
use crate::compare::exact;
use crate::decimal::pow10;
use crate::sql_type::TypeFamily;
use crate::{Collation, SqlType, Value, codepage};

/// Which comparisons with values of another type an index seek in a column can evaluate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeekFit {
    /// None: the orders differ, or values that compare as equal are not adjacent.
    None,
    /// Values that compare as equal are adjacent.
    Equality,
    /// The column's order is that of the comparison.
    Order,
}

/// The value that [`nearest`] finds.
#[derive(Clone, Debug, PartialEq)]
pub struct Nearest {
    /// Of the kind that the column's values have.
    pub value: Value,
    /// Its order relative to the given value. Less: no value of the column is between them. Greater: nor any below both.
    pub order: Ordering,
}

/// Can an index on a column of type `column` with this collation be used to seek values of type `value`? For comparisons under that same collation.
pub fn seek_fit(column: &SqlType, value: &SqlType, collation: Collation) -> SeekFit {
    use TypeFamily::{Approximate, Binary, Char, DateTime, Decimal, Integer, Money, NChar};
    if column == value {
        return SeekFit::Order;
    }
    match (column.family(), value.family()) {
        (Char, Char) | (NChar, NChar | Char) | (Binary, Binary) | (Approximate, Approximate) => {
            SeekFit::Order
        }
        (Integer | Decimal | Money, Integer | Decimal | Money) => SeekFit::Order,
        (Char, NChar) => match collation.key_fit() {
            KeyFit::OneOrder => SeekFit::Order,
            KeyFit::OneEquality => SeekFit::Equality,
            KeyFit::Different => SeekFit::None,
        },
        // Types of one kind differ in the fraction of a second.
        (DateTime, DateTime) if std::mem::discriminant(column) == std::mem::discriminant(value) => {
            SeekFit::Order
        }
        _ => SeekFit::None,
    }
}

/// Does each value of `from` stay what it is in `to`, so that both compare alike with any third? (It may fail to convert.)
pub fn keeps_values(from: &SqlType, to: &SqlType) -> bool {
    use TypeFamily::{Approximate, Binary, Char, DateTime, Decimal, Integer, Money, NChar};
    if from == to {
        return true;
    }
    let is_as_long = || match (length_limit(from), length_limit(to)) {
        (_, None) => true,
        (Some(own), Some(other)) => own <= other,
        (None, Some(_)) => false,
    };
    match (from.family(), to.family()) {
        // A bit is 1 for every value other than 0; the other types fail for values that do not fit.
        (Integer, Integer) => *to != SqlType::Bit,
        (Integer, Decimal | Money) => true,
        (Decimal | Money, Decimal | Money) => from.scale() <= to.scale(),
        (Approximate, Approximate) => *to == SqlType::Float,
        (Char, Char | NChar) | (NChar, NChar) | (Binary, Binary) => is_as_long(),
        (DateTime, DateTime) => {
            std::mem::discriminant(from) == std::mem::discriminant(to) && from.scale() <= to.scale()
        }
        _ => false,
    }
}

/// Bytes of a binary or characters of a text; `None`: no limit.
fn length_limit(sql_type: &SqlType) -> Option<usize> {
    match sql_type {
        SqlType::RowVersion => Some(8),
        other => crate::convert::text::character_limit(other),
    }
}

/// The greatest value of the kind of `to` not above `value`, or the least one when all are above. Text, binaries, decimals and points in time
/// keep their length and scale, which keys of a column do not depend on. `None`: [`seek_fit`] does not allow such a seek, or the value is NULL.
pub fn nearest(value: &Value, to: &SqlType, collation: Collation) -> Option<Nearest> {
    let same = |value: Value| Some(Nearest { value, order: Ordering::Equal });
    match (to.family(), value) {
        (_, Value::Null) => None,
        (TypeFamily::Integer, _) => {
            let (floor, order) = floor(value, 0)?;
            Some(within(floor, order, integer_range(to), |whole| match to {
                SqlType::Bit => Value::Bit(whole != 0),
                SqlType::TinyInt => Value::TinyInt(whole as u8),
                SqlType::SmallInt => Value::SmallInt(whole as i16),
                SqlType::Int => Value::Int(whole as i32),
                _ => Value::BigInt(whole as i64),
            }))
        }
        (TypeFamily::Money, _) => {
            let (floor, order) = floor(value, 4)?;
            let range = (i128::from(i64::MIN), i128::from(i64::MAX));
            Some(within(floor, order, range, |units| Value::Money(units as i64)))
        }
        (TypeFamily::Decimal, _) => same(Value::Decimal(exact(value)?)),
        (TypeFamily::Approximate, Value::Real(number)) if *to == SqlType::Float => {
            same(Value::Float(f64::from(*number)))
        }
        (TypeFamily::Approximate, Value::Float(number)) if *to == SqlType::Real => {
            Some(nearest_real(*number))
        }
        (TypeFamily::Char, Value::NChar(units)) => match collation.key_fit() {
            // Both are keyed by their characters.
            KeyFit::OneOrder => same(value.clone()),
            KeyFit::OneEquality => {
                let bytes = codepage::encode_units(units);
                let is_same = codepage::decode_units(&bytes) == units[..];
                let order = if is_same { Ordering::Equal } else { Ordering::Less };
                Some(Nearest { value: Value::Char(bytes.into()), order })
            }
            KeyFit::Different => None,
        },
        (TypeFamily::NChar, Value::Char(bytes)) => same(Value::NChar(codepage::decode_units(bytes).into())),
        (family, _) if is_of(value, family) => same(value.clone()),
        _ => None,
    }
}

/// Has a column of the family values of this kind? Where a family has several, types have been compared before.
fn is_of(value: &Value, family: TypeFamily) -> bool {
    match value {
        Value::Char(_) => family == TypeFamily::Char,
        Value::NChar(_) => matches!(family, TypeFamily::NChar | TypeFamily::Xml),
        Value::Binary(_) => family == TypeFamily::Binary,
        Value::Real(_) | Value::Float(_) => family == TypeFamily::Approximate,
        Value::Guid(_) => family == TypeFamily::Guid,
        Value::Variant(_) => family == TypeFamily::Variant,
        Value::Date(_)
        | Value::Time(_)
        | Value::DateTime(_)
        | Value::SmallDateTime(_)
        | Value::DateTime2(_)
        | Value::DateTimeOffset(_) => family == TypeFamily::DateTime,
        _ => false,
    }
}

fn integer_range(sql_type: &SqlType) -> (i128, i128) {
    match sql_type {
        SqlType::Bit => (0, 1),
        SqlType::TinyInt => (0, i128::from(u8::MAX)),
        SqlType::SmallInt => (i128::from(i16::MIN), i128::from(i16::MAX)),
        SqlType::Int => (i128::from(i32::MIN), i128::from(i32::MAX)),
        _ => (i128::from(i64::MIN), i128::from(i64::MAX)),
    }
}

/// The greatest number not above an exact one, in units of so many digits behind the point, and its order relative to it. A number beyond the range
/// gives the last one.
fn floor(value: &Value, scale: u8) -> Option<(i128, Ordering)> {
    let number = exact(value)?;
    let mantissa = number.mantissa();
    if number.scale() <= scale {
        let factor = pow10(scale - number.scale()) as i128;
        return Some(match mantissa.checked_mul(factor) {
            Some(units) => (units, Ordering::Equal),
            None if mantissa > 0 => (i128::MAX, Ordering::Less),
            None => (i128::MIN, Ordering::Greater),
        });
    }
    let divisor = pow10(number.scale() - scale) as i128;
    let is_whole = mantissa % divisor == 0;
    Some((mantissa.div_euclid(divisor), if is_whole { Ordering::Equal } else { Ordering::Less }))
}

/// The number, or the end of the range if it is beyond.
fn within(number: i128, order: Ordering, (low, high): (i128, i128), make: impl Fn(i128) -> Value) -> Nearest {
    if number < low {
        return Nearest { value: make(low), order: Ordering::Greater };
    }
    if number > high {
        return Nearest { value: make(high), order: Ordering::Less };
    }
    Nearest { value: make(number), order }
}

fn nearest_real(number: f64) -> Nearest {
    let mut real = (number as f32).clamp(f32::MIN, f32::MAX);
    if f64::from(real) > number {
        real = real.next_down().max(f32::MIN);
    }
    let order = f64::from(real).partial_cmp(&number).unwrap_or(Ordering::Equal);
    Nearest { value: Value::Real(real), order }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Decimal, Length, sort_compare};

    fn decimal(mantissa: i128, scale: u8) -> Value {
        Value::Decimal(Decimal::new(mantissa, 38, scale))
    }

    /// For every tried value of the column: it compares with the nearest value as with the given value.
    #[test]
    fn the_nearest_value_bounds_what_the_value_itself_does() {
        let tiny: Vec<Value> = (0..=255).map(Value::TinyInt).collect();
        let bits = vec![Value::Bit(false), Value::Bit(true)];
        let money: Vec<Value> = (-30..30).chain([i64::MIN, i64::MAX]).map(Value::Money).collect();
        let reals: Vec<Value> =
            [f32::MIN, -1.5, -0.1, 0.0, 0.1, 0.3, 1.5, f32::MAX].into_iter().map(Value::Real).collect();
        let mut numbers: Vec<Value> = (-40..40).map(|n| decimal(n, 1)).collect();
        numbers.extend((-40..40).map(|n| decimal(n, 5)));
        numbers.extend([-1, 0, 1, 2, 254, 255, 256, 999].map(Value::Int));
        numbers.extend([decimal(10i128.pow(37), 0), decimal(-10i128.pow(37), 0), decimal(2555, 1)]);
        let floats: Vec<Value> = [-1e300, -1.5, -0.1, 0.0, 0.1, f64::from(0.1f32), 0.3, 1e300]
            .into_iter()
            .map(Value::Float)
            .collect();
        let columns = [
            (SqlType::TinyInt, tiny, &numbers),
            (SqlType::Bit, bits, &numbers),
            (SqlType::Money, money, &numbers),
            (SqlType::Real, reals, &floats),
        ];
        for (sql_type, column, values) in columns {
            for value in values {
                let near = nearest(value, &sql_type, Collation::DEFAULT).unwrap();
                assert_eq!(
                    sort_compare(&near.value, value, Collation::DEFAULT),
                    near.order,
                    "{value:?} {sql_type:?}"
                );
                for own in &column {
                    let (of_value, of_near) = (
                        sort_compare(own, value, Collation::DEFAULT),
                        sort_compare(own, &near.value, Collation::DEFAULT),
                    );
                    let told = match near.order {
                        Ordering::Equal => of_near,
                        Ordering::Less if of_near.is_gt() => Ordering::Greater,
                        Ordering::Less => Ordering::Less,
                        Ordering::Greater => Ordering::Greater,
                    };
                    assert_eq!(told, of_value, "{own:?} beside {value:?}, for which {near:?} stands");
                }
            }
        }
    }

    #[test]
    fn text_is_sought_whole_and_by_the_rules_of_its_comparison() {
        let short = SqlType::VarChar(Length::N(3));
        let long = Value::varchar("abcd");
        assert_eq!(nearest(&long, &short, Collation::DEFAULT).unwrap().value, long);
        let wide = SqlType::NVarChar(Length::N(3));
        let fit = |name: &str| seek_fit(&short, &wide, Collation::by_name(name).unwrap());
        assert_eq!(fit("SQL_Latin1_General_CP1_CI_AS"), SeekFit::None);
        assert_eq!(fit("Latin1_General_CI_AS"), SeekFit::Order);
        assert_eq!(fit("Latin1_General_BIN2"), SeekFit::Equality);
        let omega = nearest(&Value::nvarchar("Ω"), &short, Collation::BIN2).unwrap();
        assert_ne!(omega.order, Ordering::Equal, "no varchar equals it");
    }

    #[test]
    fn a_conversion_keeps_values_or_it_does_not() {
        let decimal = |precision, scale| SqlType::Decimal { precision, scale };
        assert!(keeps_values(&SqlType::TinyInt, &SqlType::Int));
        assert!(!keeps_values(&SqlType::Int, &SqlType::Bit));
        assert!(!keeps_values(&decimal(38, 10), &decimal(38, 2)));
        assert!(keeps_values(&decimal(9, 2), &SqlType::Money));
        assert!(!keeps_values(&SqlType::Float, &SqlType::Real));
        assert!(!keeps_values(&SqlType::VarChar(Length::N(8000)), &SqlType::NVarChar(Length::N(4000))));
        assert!(!keeps_values(&SqlType::DateTime2(7), &SqlType::DateTime2(3)));
        assert!(!keeps_values(&SqlType::BigInt, &SqlType::Float));
    }
}
