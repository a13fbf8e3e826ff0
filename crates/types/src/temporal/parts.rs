//! DATEPART, DATENAME and the names of date parts.

use crate::datetime::{Moment, TICKS_PER_SECOND, civil};
use crate::{SqlError, SqlResult, SqlType, Value};

/// The date parts of DATEADD, DATEDIFF, DATEPART, DATENAME, DATETRUNC.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DatePart {
    /// year, yy, yyyy
    Year,
    /// quarter, qq, q
    Quarter,
    /// month, mm, m
    Month,
    /// dayofyear, dy, y
    DayOfYear,
    /// day, dd, d
    Day,
    /// week, wk, ww
    Week,
    /// weekday, dw, w
    WeekDay,
    /// hour, hh
    Hour,
    /// minute, mi, n
    Minute,
    /// second, ss, s
    Second,
    /// millisecond, ms
    Millisecond,
    /// microsecond, mcs
    Microsecond,
    /// nanosecond, ns
    Nanosecond,
    /// tzoffset, tz
    TzOffset,
    /// iso_week, isowk, isoww
    IsoWeek,
}

const NAMES: &[(DatePart, &[&str])] = &[
    (DatePart::Year, &["year", "yy", "yyyy"]),
    (DatePart::Quarter, &["quarter", "qq", "q"]),
    (DatePart::Month, &["month", "mm", "m"]),
    (DatePart::DayOfYear, &["dayofyear", "dy", "y"]),
    (DatePart::Day, &["day", "dd", "d"]),
    (DatePart::Week, &["week", "wk", "ww"]),
    (DatePart::WeekDay, &["weekday", "dw", "w"]),
    (DatePart::Hour, &["hour", "hh"]),
    (DatePart::Minute, &["minute", "mi", "n"]),
    (DatePart::Second, &["second", "ss", "s"]),
    (DatePart::Millisecond, &["millisecond", "ms"]),
    (DatePart::Microsecond, &["microsecond", "mcs"]),
    (DatePart::Nanosecond, &["nanosecond", "ns"]),
    (DatePart::TzOffset, &["tzoffset", "tz"]),
    (DatePart::IsoWeek, &["iso_week", "isowk", "isoww"]),
];

impl DatePart {
    /// The part of a name or abbreviation in any letter case; `None`: error 155.
    pub fn by_name(name: &str) -> Option<DatePart> {
        let named = |names: &[&str]| names.iter().any(|known| known.eq_ignore_ascii_case(name));
        NAMES.iter().find(|(_, names)| named(names)).map(|(part, _)| *part)
    }

    /// The full name.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(part, _)| *part == self).map_or("", |(_, names)| names[0])
    }

    fn needs_date(self) -> bool {
        use DatePart::*;
        matches!(self, Year | Quarter | Month | DayOfYear | Day | Week | WeekDay | IsoWeek)
    }

    fn needs_time(self) -> bool {
        use DatePart::*;
        matches!(self, Hour | Minute | Second | Millisecond | Microsecond | Nanosecond)
    }
}

/// Error 9810 when a value has no such part: a date no hours, a time no years, tzoffset only where there is an offset.
pub(super) fn check_part(part: DatePart, function: &str, value: &Value) -> SqlResult<()> {
    let kind = value.natural_type();
    let missing = match kind {
        SqlType::Date => part.needs_time() || part == DatePart::TzOffset,
        SqlType::Time(_) => part.needs_date() || part == DatePart::TzOffset,
        SqlType::DateTime | SqlType::SmallDateTime => part == DatePart::TzOffset,
        _ => false,
    };
    if missing {
        return Err(SqlError::new(9810, &[&part.name(), &function, &kind.name()]));
    }
    Ok(())
}

/// DATEPART(part, value); `date_first` is 1..=7. NULL gives NULL. Errors 9810, 8116.
pub fn date_part(part: DatePart, value: &Value, date_first: u8) -> SqlResult<Value> {
    if value.is_null() {
        return Ok(Value::Null);
    }
    let Some(moment) = Moment::of(value) else {
        return Err(SqlError::new(8116, &[&value.natural_type().name(), &2, &"datepart"]));
    };
    check_part(part, "datepart", value)?;
    let number = match (part, value) {
        (DatePart::Millisecond, Value::DateTime(datetime)) => (datetime.milliseconds() % 1000) as i32,
        _ => part_of(part, &moment, date_first),
    };
    Ok(Value::Int(number))
}

/// The number of a part.
pub fn part_of(part: DatePart, moment: &Moment, date_first: u8) -> i32 {
    let date = civil::from_days(moment.days);
    let seconds = (moment.ticks / TICKS_PER_SECOND) as i32;
    let fraction = (moment.ticks % TICKS_PER_SECOND) as i32;
    let day_of_year = || civil::days_before_month(date.year, date.month) + date.day as i32;
    match part {
        DatePart::Year => date.year,
        DatePart::Quarter => (date.month as i32 + 2) / 3,
        DatePart::Month => date.month as i32,
        DatePart::DayOfYear => day_of_year(),
        DatePart::Day => date.day as i32,
        DatePart::Week => {
            // Week 1 holds 1 January; weeks begin on DATEFIRST.
            let first = weekday_number(moment.days - day_of_year() + 1, date_first);
            (day_of_year() - 1 + first - 1) / 7 + 1
        }
        DatePart::WeekDay => weekday_number(moment.days, date_first),
        DatePart::Hour => seconds / 3600,
        DatePart::Minute => seconds / 60 % 60,
        DatePart::Second => seconds % 60,
        DatePart::Millisecond => fraction / 10_000,
        DatePart::Microsecond => fraction / 10,
        DatePart::Nanosecond => fraction * 100,
        DatePart::TzOffset => i32::from(moment.offset_minutes),
        DatePart::IsoWeek => iso_week(moment.days),
    }
}

/// 1..=7 counted from `date_first` (1 = Monday, 7 = Sunday).
fn weekday_number(days: i32, date_first: u8) -> i32 {
    (civil::weekday(days) as i32 + 8 - i32::from(date_first)) % 7 + 1
}

/// ISO 8601: the week that holds the year's first Thursday is week 1.
fn iso_week(days: i32) -> i32 {
    let thursday = days - civil::weekday(days) as i32 + 3;
    if !(0..=civil::DAYS_MAX).contains(&thursday) {
        // Only the last days of 9999.
        return 52;
    }
    let date = civil::from_days(thursday);
    (civil::days_before_month(date.year, date.month) + date.day as i32 - 1) / 7 + 1
}

/// DATENAME(part, value): names of months and weekdays, other parts as digits, the offset as `+hh:mm`.
pub fn date_name(part: DatePart, value: &Value, date_first: u8) -> SqlResult<Value> {
    let number = match date_part(part, value, date_first)? {
        Value::Int(number) => number,
        _ => return Ok(Value::Null),
    };
    let days = Moment::of(value).map_or(0, |moment| moment.days);
    let name = match part {
        DatePart::Month => civil::MONTHS[number as usize - 1].to_owned(),
        DatePart::WeekDay => civil::WEEKDAYS[civil::weekday(days) as usize].to_owned(),
        DatePart::TzOffset => super::format::offset_text(number as i16),
        _ => number.to_string(),
    };
    Ok(Value::nvarchar(&name))
}
