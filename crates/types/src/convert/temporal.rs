//! To date, time, datetime, smalldatetime, datetime2, datetimeoffset.

use super::context::ConvertContext;
use super::errors::{not_allowed, overflow, shown, unknown_style};
use crate::datetime::parse::{ParseDateError, parse};
use crate::datetime::{DATETIME_TICKS_PER_DAY, DateFormat, DateTime, Moment, civil, hijri};
use crate::{DEFAULT_STYLE, SqlError, SqlResult, SqlType, Value, compare};

pub(super) fn to_temporal(
    value: &Value,
    from: &SqlType,
    to: &SqlType,
    style: i32,
    context: &ConvertContext,
) -> SqlResult<Value> {
    match value {
        Value::Char(_) | Value::NChar(_) => from_text(value, from, to, style, context),
        _ => match Moment::of(value) {
            Some(moment) => from_moment(value, &moment, from, to),
            None => from_number(value, from, to),
        },
    }
}

fn from_moment(value: &Value, moment: &Moment, from: &SqlType, to: &SqlType) -> SqlResult<Value> {
    if matches!((value, to), (Value::Time(_), SqlType::Date) | (Value::Date(_), SqlType::Time(_))) {
        return Err(not_allowed(from, to));
    }
    let moment = match value {
        Value::DateTimeOffset(_) => *moment,
        _ => Moment { offset_minutes: 0, ..*moment },
    };
    moment.to_value(to).ok_or_else(|| SqlError::new(242, &[&from.name(), &to.name()]))
}

/// The order of separated numbers that a style fixes; other styles leave it to DATEFORMAT.
fn style_format(style: i32) -> Option<DateFormat> {
    match style {
        1 | 10 | 22 | 101 | 110 => Some(DateFormat::Mdy),
        3 | 4 | 5 | 103 | 104 | 105 | 130 | 131 => Some(DateFormat::Dmy),
        2 | 11 | 20 | 21 | 23 | 25 | 102 | 111 | 120 | 121 | 126 | 127 => Some(DateFormat::Ymd),
        _ => None,
    }
}

/// Is it a style of dates and times at all?
fn is_style(style: i32) -> bool {
    style == DEFAULT_STYLE
        || matches!(style, 0..=14 | 20..=25 | 100..=114 | 120 | 121 | 126 | 127 | 130 | 131)
}

fn from_text(
    value: &Value,
    from: &SqlType,
    to: &SqlType,
    style: i32,
    context: &ConvertContext,
) -> SqlResult<Value> {
    if !is_style(style) {
        return Err(unknown_style(style, from, to));
    }
    let is_old_type = matches!(to, SqlType::DateTime | SqlType::SmallDateTime);
    let text = value.as_text().unwrap_or_default();
    let mut options = context.parse_options(is_old_type);
    // Text with a T between date and time is ISO 8601 whatever DATEFORMAT says.
    let is_iso = text.trim().as_bytes().get(10).is_some_and(|byte| byte.eq_ignore_ascii_case(&b'T'));
    if let Some(format) = if is_iso { Some(DateFormat::Ymd) } else { style_format(style) } {
        options.date_format = format;
    }
    let malformed = || match to {
        SqlType::SmallDateTime => SqlError::new(295, &[]),
        _ => SqlError::new(241, &[]),
    };
    let out_of_range = || match to {
        SqlType::DateTime | SqlType::SmallDateTime => SqlError::new(242, &[&shown(from), &to.name()]),
        _ => SqlError::new(241, &[]),
    };
    let parsed = match style {
        130 | 131 => parse_hijri(&text).ok_or_else(malformed)?,
        _ => match parse(&text, &options) {
            Ok(parsed) => parsed.moment,
            Err(ParseDateError::Malformed) => return Err(malformed()),
            Err(ParseDateError::OutOfRange) => return Err(out_of_range()),
        },
    };
    parsed.to_value(to).ok_or_else(out_of_range)
}

/// Styles 130 and 131: `dd/mm/yyyy` of the Islamic calendar, a time after it.
fn parse_hijri(text: &str) -> Option<Moment> {
    let (date, time) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
    let mut numbers = date.split('/').map(|part| part.trim().parse::<u32>().ok());
    let (day, month, year) = (numbers.next()??, numbers.next()??, numbers.next()??);
    let days = hijri::to_days(i32::try_from(year).ok()?, month, day)?;
    let options = ConvertContext::default().parse_options(true);
    let clock = parse(time, &options).ok()?.moment;
    (0..=civil::DAYS_MAX).contains(&days).then_some(Moment { days, ..clock })
}

/// Numbers are days since 1900 with the time as a fraction; only the two old types take them.
fn from_number(value: &Value, from: &SqlType, to: &SqlType) -> SqlResult<Value> {
    if !matches!(to, SqlType::DateTime | SqlType::SmallDateTime) {
        return match value {
            Value::Binary(bytes) => super::binary::time_from_binary(bytes, to)
                .and_then(|moment| moment.to_value(to))
                .ok_or_else(|| SqlError::new(9803, &[&to.name()])),
            _ => Err(not_allowed(from, to)),
        };
    }
    let error = || overflow("expression", to);
    let moment = match value {
        Value::Binary(bytes) => datetime_from_binary(bytes, to),
        Value::Real(number) => datetime_from_days(f64::from(*number)),
        Value::Float(number) => datetime_from_days(*number),
        _ => match value.as_i64() {
            Some(days) => i32::try_from(days).ok().map(|days| DateTime { days, ticks: 0 }),
            None => {
                let decimal = compare::exact(value).ok_or_else(|| not_allowed(from, to))?;
                datetime_from_days(decimal.to_f64())
            }
        },
    }
    .ok_or_else(error)?;
    let days = moment
        .days
        .checked_add(civil::DAYS_TO_1900)
        .filter(|days| *days >= civil::DAYS_TO_1753)
        .ok_or_else(error)?;
    if days > civil::DAYS_MAX {
        return Err(error());
    }
    Moment::of(&Value::DateTime(moment)).and_then(|moment| moment.to_value(to)).ok_or_else(error)
}

fn datetime_from_days(number: f64) -> Option<DateTime> {
    if number.abs() > 3_000_000.0 {
        return None;
    }
    let total = (number * f64::from(DATETIME_TICKS_PER_DAY)).round() as i64;
    let day = i64::from(DATETIME_TICKS_PER_DAY);
    Some(DateTime { days: total.div_euclid(day) as i32, ticks: total.rem_euclid(day) as u32 })
}

fn datetime_from_binary(bytes: &[u8], to: &SqlType) -> Option<DateTime> {
    let number = |bytes: &[u8]| bytes.iter().fold(0u32, |sum, byte| sum << 8 | u32::from(*byte));
    if *to == SqlType::SmallDateTime {
        let tail = &bytes[bytes.len().saturating_sub(4)..];
        let raw = number(tail);
        let minutes = raw & 0xFFFF;
        return (minutes < 1440).then_some(DateTime { days: (raw >> 16) as i32, ticks: minutes * 60 * 300 });
    }
    let tail = &bytes[bytes.len().saturating_sub(8)..];
    let (high, low) = tail.split_at(tail.len().saturating_sub(4));
    let ticks = number(low);
    (ticks < DATETIME_TICKS_PER_DAY).then_some(DateTime { days: number(high) as i32, ticks })
}

/// ISDATE: does the text convert to datetime under these settings?
pub fn is_date(value: &Value, from: &SqlType, context: &ConvertContext) -> bool {
    matches!(value, Value::Char(_) | Value::NChar(_))
        && from_text(value, from, &SqlType::DateTime, DEFAULT_STYLE, context).is_ok()
}
