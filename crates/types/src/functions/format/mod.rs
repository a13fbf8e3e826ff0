//! FORMAT: numbers and dates by the format strings of .NET, standard (`N2`, `D`) and custom (`#,##0.00`, `yyyy-MM-dd`).

use super::Culture;
use crate::datetime::Moment;
use crate::{Decimal, Value, compare};

mod date;
mod number;

/// FORMAT(value, format, culture). `None`: the format does not suit the value (SQL Server gives NULL).
pub fn format(value: &Value, format: &str, culture: &Culture) -> Option<String> {
    if let Value::Time(time) = value {
        return date::format_time(time.ticks, format);
    }
    if let Some(moment) = Moment::of(value) {
        let offset = matches!(value, Value::DateTimeOffset(_)).then_some(moment.offset_minutes);
        return date::format_moment(&moment, offset, format, culture);
    }
    let is_integer = value.as_i64().is_some();
    let exact = match value {
        Value::Float(float) => from_float(*float)?,
        Value::Real(float) => from_float(f64::from(*float))?,
        _ => compare::exact(value)?,
    };
    number::format_number(&number::Digits::of(&exact), is_integer, format, culture)
}

/// Fifteen significant digits, as .NET shows a double.
fn from_float(float: f64) -> Option<Decimal> {
    let text = format!("{float:.14e}");
    let (mantissa, exponent) = text.split_once('e')?;
    let digits: i128 = mantissa.replace('.', "").parse().ok()?;
    let scale = 14 - exponent.parse::<i32>().ok()?;
    match scale {
        0..=38 => Some(Decimal::new(digits, 38, scale as u8)),
        -22..0 => Some(Decimal::new(digits.checked_mul(10i128.pow((-scale) as u32))?, 38, 0)),
        // Below what a decimal shows: nought.
        39.. => Some(Decimal::new(0, 38, 0)),
        _ => None,
    }
}
