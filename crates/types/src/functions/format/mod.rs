//! FORMAT: numbers and dates by the format strings of .NET, standard (`N2`, `D`) and custom (`#,##0.00`, `yyyy-MM-dd`).

use super::Culture;
use crate::datetime::{Moment, TICKS_PER_SECOND};
use crate::{Value, compare};

mod date;
mod number;

use number::{Digits, Kind};

/// FORMAT(value, format, culture). `None`: the format does not suit the value (SQL Server gives NULL).
pub fn format(value: &Value, format: &str, culture: &Culture) -> Option<String> {
    if let Value::Time(time) = value {
        return date::format_time(time.ticks, format);
    }
    if let Some(moment) = Moment::of(value) {
        let moment = match value {
            // As in .NET: whole milliseconds.
            Value::DateTime(old) => {
                let second = TICKS_PER_SECOND * u64::from(old.ticks / 300);
                Moment { ticks: second + u64::from(old.milliseconds() % 1000) * 10_000, ..moment }
            }
            _ => moment,
        };
        let offset = matches!(value, Value::DateTimeOffset(_)).then_some(moment.offset_minutes);
        return date::format_moment(&moment, offset, format, culture);
    }
    let kind = match value {
        Value::Float(_) => Kind::Approximate(15),
        Value::Real(_) => Kind::Approximate(7),
        _ if value.as_i64().is_some() => Kind::Integer,
        _ => Kind::Exact,
    };
    let digits = match value {
        Value::Float(float) => Digits::of_float(*float, significant_digits(format, 15, 17)),
        Value::Real(float) => {
            // The shortest text that means the real is what a double must be made of.
            let shown = format!("{float:e}").parse().ok()?;
            Digits::of_float(shown, significant_digits(format, 7, 9))
        }
        _ => Digits::of(&compare::exact(value)?),
    };
    number::format_number(&digits, kind, format, culture)
}

/// How many digits of a float are used: the reliable ones, or all when as many are requested.
fn significant_digits(format: &str, sure: usize, all: usize) -> usize {
    let asked = format.get(1..).and_then(|digits| digits.parse::<usize>().ok()).unwrap_or(0);
    let is_more = match format.bytes().next().map(|letter| letter.to_ascii_uppercase()) {
        Some(b'G') => asked > sure,
        Some(b'E') => asked >= sure,
        _ => false,
    };
    if is_more { all } else { sure }
}
