//! One type for several: CASE, COALESCE, IIF, UNION, VALUES lists; and the common type of the two sides of a comparison.

use crate::convert::matrix;
use crate::decimal::rules::{self, Shape};
use crate::sql_type::TypeFamily;
use crate::{Length, SqlError, SqlResult, SqlType};

/// The type of a CASE, COALESCE or UNION over these branches; `None` is an untyped NULL, which does not affect the type. `Ok(None)`: all are
/// untyped (the caller raises 8133, or takes int). Errors 206, 257.
pub fn unify(branches: &[Option<SqlType>]) -> SqlResult<Option<SqlType>> {
    let mut typed = branches.iter().flatten();
    let Some(first) = typed.next() else { return Ok(None) };
    typed.try_fold(*first, |sum, next| unify_two(&sum, next)).map(Some)
}

/// The type of higher precedence, widened so that no value of either is cut.
fn unify_two(left: &SqlType, right: &SqlType) -> SqlResult<SqlType> {
    if left == right {
        return Ok(*left);
    }
    let (left, right) = (&left.base(), &right.base());
    if left == right {
        return Ok(*left);
    }
    let winner = if left.precedence() >= right.precedence() { left } else { right };
    let loser = if winner == left { right } else { left };
    matrix::check(loser, winner, false)?;
    Ok(match (winner.family(), loser.family()) {
        (TypeFamily::Char | TypeFamily::NChar, TypeFamily::Char | TypeFamily::NChar)
        | (TypeFamily::Binary, TypeFamily::Binary) => wider_string(winner, loser),
        (TypeFamily::Decimal, _) => {
            let shape = |t: &SqlType| decimal_shape(t).unwrap_or((winner.precision(), winner.scale()));
            let (precision, scale) = rules::union_shape(shape(left), shape(right));
            match winner {
                SqlType::Numeric { .. } => SqlType::Numeric { precision, scale },
                _ => SqlType::Decimal { precision, scale },
            }
        }
        (TypeFamily::DateTime, TypeFamily::DateTime) => wider_time(winner, loser),
        _ => *winner,
    })
}

/// Precision and scale of an exact number as a decimal; `None` for other types.
pub fn decimal_shape(sql_type: &SqlType) -> Option<Shape> {
    Some(match sql_type {
        SqlType::Bit => (1, 0),
        SqlType::TinyInt => (3, 0),
        SqlType::SmallInt => (5, 0),
        SqlType::Int => (10, 0),
        SqlType::BigInt => (19, 0),
        SqlType::Money => (19, 4),
        SqlType::SmallMoney => (10, 4),
        SqlType::Decimal { precision, scale } | SqlType::Numeric { precision, scale } => (*precision, *scale),
        _ => return None,
    })
}

fn string_length(sql_type: &SqlType) -> Length {
    match *sql_type {
        SqlType::Char(n) | SqlType::NChar(n) | SqlType::Binary(n) => Length::N(n),
        SqlType::VarChar(length) | SqlType::NVarChar(length) | SqlType::VarBinary(length) => length,
        SqlType::RowVersion => Length::N(8),
        _ => Length::Max,
    }
}

fn wider_string(winner: &SqlType, loser: &SqlType) -> SqlType {
    if matches!(winner, SqlType::Text | SqlType::NText | SqlType::Image) {
        return *winner;
    }
    let limit = if winner.family() == TypeFamily::NChar { 4000 } else { 8000 };
    let length = match (string_length(winner), string_length(loser)) {
        (Length::N(a), Length::N(b)) if a.max(b) <= limit => Length::N(a.max(b)),
        (Length::N(_), Length::N(_)) => Length::N(limit),
        _ => Length::Max,
    };
    let both_fixed = |t: &SqlType| matches!(t, SqlType::Char(_) | SqlType::NChar(_) | SqlType::Binary(_));
    let fixed = both_fixed(winner) && both_fixed(loser);
    match (winner.family(), length) {
        (TypeFamily::Char, Length::N(n)) if fixed => SqlType::Char(n),
        (TypeFamily::NChar, Length::N(n)) if fixed => SqlType::NChar(n),
        (TypeFamily::Binary, Length::N(n)) if fixed => SqlType::Binary(n),
        (TypeFamily::Char, length) => SqlType::VarChar(length),
        (TypeFamily::NChar, length) => SqlType::NVarChar(length),
        (_, length) => SqlType::VarBinary(length),
    }
}

/// The winner with as many digits of a second as either has.
fn wider_time(winner: &SqlType, loser: &SqlType) -> SqlType {
    let scale = winner.scale().max(loser.scale());
    match winner {
        SqlType::Time(_) => SqlType::Time(scale),
        SqlType::DateTime2(_) => SqlType::DateTime2(scale),
        SqlType::DateTimeOffset(_) => SqlType::DateTimeOffset(scale),
        other => *other,
    }
}

/// The common type of two operands of a comparison (the one of higher precedence, widened so that nothing is lost). `operator` is
/// as messages name it: "equal to", "less than". Errors 206, 257, 402.
pub fn comparison_type(left: &SqlType, right: &SqlType, operator: &str) -> SqlResult<SqlType> {
    let incomparable =
        |t: &SqlType| matches!(t, SqlType::Text | SqlType::NText | SqlType::Image | SqlType::Xml);
    if incomparable(left) || incomparable(right) {
        return Err(SqlError::new(402, &[&left.name(), &right.name(), &operator]));
    }
    if matches!((left, right), (SqlType::Date, SqlType::Time(_)) | (SqlType::Time(_), SqlType::Date)) {
        return Err(SqlError::new(402, &[&left.name(), &right.name(), &operator]));
    }
    unify_two(left, right)
}
